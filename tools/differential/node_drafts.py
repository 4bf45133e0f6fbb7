"""A node of one version of an operator while it is drawn: what its schema allows, and what was chosen."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import onnx
from onnx import TensorProto
from onnx.defs import OpSchema

Input = tuple[str, tuple[int, ...], str]
"""Element type, shape and how it is filled: ``any``, ``positive``, ``unit``, ``bool``, ``<N`` (indices), ``=1,2``
(these values), ``@V`` (the value of that name); an empty element type leaves the input out."""
Spec = tuple[str, tuple[Input, ...], tuple[tuple[str, Any], ...], int]
"""Operator, inputs, attributes, number of outputs. One of another domain has it before its name."""

NOTHING: Input = ("", (), "")
NUMBERS = {name.lower(): number for name, number in TensorProto.DataType.items() if number}
WORDS = ("", "a", "b c", "été", "minuend", "1.5")
CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""What has bodies: places for nodes, and not drawn as nodes."""
CONTRIB = "com.microsoft"
"""The domain of onnxruntime's own operators, whose schemas onnxruntime has."""
LEGACY = frozenset({"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less", "PRelu", "Sum",
                    "Max", "Min", "Mean", "Gemm"})  # fmt: skip
"""Operators that broadcast by other rules before opset 8; the checker and onnxruntime do not look at the shapes."""
RANDOM = frozenset({"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
                    "RandomUniformLike"})  # fmt: skip


def qualified(schema: OpSchema) -> str:
    """The name of an operator as a case has it: ``Sub``, ``ai.onnx.ml.Scaler``."""
    return f"{schema.domain}.{schema.name}" if schema.domain else str(schema.name)


def split(op: str) -> tuple[str, str]:
    """The domain and the name of an operator that :func:`qualified` names."""
    domain, _, name = op.rpartition(".")
    return domain, name


def undrawn(schema: OpSchema) -> str:
    """Why no node is drawn of a version that ONNX's registry has; ``""`` where one is."""
    if schema.deprecated:
        return "deprecated: the checker accepts no node of it"
    if schema.domain == "" and schema.name in CONTROL:
        return "has bodies: a place where the nodes of other operators stand"
    if schema.name == "Gradient":
        return "a part of training, which conversion refuses: it means what the graph around it computes"
    return ""


@functools.cache
def registry() -> tuple[tuple[str, int, int, str], ...]:
    """Of each version in ONNX's registry the operator, itself, the last opset with it, and why it is not drawn."""
    by_name: dict[str, list[OpSchema]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        by_name.setdefault(qualified(schema), []).append(schema)
    newest = {domain: max(one.since_version for rows in by_name.values() for one in rows if one.domain == domain)
              for domain in {rows[0].domain for rows in by_name.values()}}  # fmt: skip
    newest[""] = onnx.defs.onnx_opset_version()
    found = []
    for name, schemas in sorted(by_name.items()):
        since = sorted(schema.since_version for schema in schemas)
        for schema in schemas:
            later = [v for v in since if v > schema.since_version]
            last = min(later) - 1 if later else newest[schema.domain]
            found.append((name, schema.since_version, last, undrawn(schema)))
    return tuple(sorted(found))


@functools.cache
def versions() -> tuple[tuple[str, int, int], ...]:
    """Every version that is drawn, of every operator, with the last opset of its domain that has it."""
    return tuple(row[:3] for row in registry() if not row[3])


@functools.cache
def schema_of(op: str, opset: int, version: int = 1) -> OpSchema:
    """The schema of an operator at an opset of the main domain, or at a version of its own domain."""
    domain, name = split(op)
    if domain == CONTRIB:
        return _contrib()[name]
    return onnx.defs.get_schema(name, version if domain else opset, domain)


@functools.cache
def _contrib() -> dict[str, OpSchema]:
    """onnxruntime's schemas of its own operators, as ONNX's; they are registered nowhere."""
    import onnxruntime.capi.onnxruntime_pybind11_state as state

    return {row.name: _as_onnx(row) for row in state.get_all_operator_schema() if row.domain == CONTRIB}


def _as_onnx(row: Any) -> OpSchema:
    def parameter(one: Any) -> OpSchema.FormalParameter:
        option = getattr(OpSchema.FormalParameterOption, str(one.option).rpartition(".")[2])
        return OpSchema.FormalParameter(one.name, one.typeStr, "", param_option=option)

    def attribute(one: Any) -> OpSchema.Attribute:
        kind = getattr(OpSchema.AttrType, str(one.type).rpartition(".")[2])
        return OpSchema.Attribute(one.name, kind, "", required=one.required)

    return OpSchema(
        row.name, row.domain, row.since_version, "",
        inputs=[parameter(one) for one in row.inputs], outputs=[parameter(one) for one in row.outputs],
        type_constraints=[(c.type_param_str, list(c.allowed_type_strs), "") for c in row.type_constraints],
        attributes=[attribute(one) for one in row.attributes.values()],
    )  # fmt: skip


def kind_of(attribute: OpSchema.Attribute) -> int:
    """An attribute's type as ``AttributeProto`` numbers it."""
    return int(cast(Any, attribute.type).value)


# ---- drafts -------------------------------------------------------------------------------------------------------


class Draft:
    """A node while it is drawn."""

    def __init__(self, source: random.Random, schema: OpSchema) -> None:
        self.source, self.schema = source, schema
        self.inputs: list[Input] = []
        self.attributes: list[tuple[str, Any]] = []
        self.outputs = max(schema.min_output, 1)
        self.bound: dict[str, str] = {}

    # ---- choices ----

    def pick(self, options: Sequence[Any]) -> Any:
        return self.source.choice(options)

    def chance(self, share: float) -> bool:
        return self.source.random() < share

    def dims(self, least: int = 0, most: int = 4, size: int = 1) -> tuple[int, ...]:
        return tuple(self.source.randint(size, 4) for _ in range(self.source.randint(least, most)))

    def axis(self, rank: int) -> int:
        """An axis; a negative one from opset 11 on."""
        at = self.source.randrange(max(rank, 1))
        return at - rank if self.schema.since_version >= 11 and rank and self.chance(0.4) else at

    def axes(self, rank: int, least: int = 0) -> tuple[int, ...]:
        some = self.source.sample(range(rank), self.source.randint(min(least, rank), rank))
        return tuple(at - rank if self.schema.since_version >= 11 and self.chance(0.3) else at for at in sorted(some))

    def type(self, index: int = 0) -> str:
        """An element type that an input may have, the same for inputs that share a parameter."""
        row = self.schema.inputs[min(index, len(self.schema.inputs) - 1)]
        if row.type_str not in self.bound:
            allowed = next((c.allowed_type_strs for c in self.schema.type_constraints
                            if c.type_param_str == row.type_str), [row.type_str])  # fmt: skip
            tensors = sorted(m[1] for text in allowed if (m := re.fullmatch(r"tensor\((\w+)\)", text)))
            plain = [text for text in ("float", "int64", "bool") if text in tensors]
            share = 0.8 if self.schema.domain == CONTRIB else 0.4  # which has few kernels
            self.bound[row.type_str] = self.pick(plain[:1] if plain and self.chance(share) else tensors)
        return self.bound[row.type_str]

    # ---- parts ----

    def has(self, name: str) -> bool:
        return name in self.schema.attributes

    def state(self, name: str, value: Any, share: float = 0.7) -> bool:
        """State an attribute where the version has it; always one that it requires."""
        if self.has(name) and (self.schema.attributes[name].required or self.chance(share)):
            self.attributes.append((name, value))
            return True
        return False

    def give(self, shape: Sequence[int] = (), fill: str = "any", dtype: str = "") -> None:
        """Add an input, by default of a type that the version takes there."""
        self.inputs.append((dtype or self.type(len(self.inputs)), tuple(shape), fill))

    def skip(self) -> None:
        self.inputs.append(NOTHING)

    def either(self, name: str, values: Sequence[int] | None, *, scalar: bool = False, dtype: str = "int64") -> None:
        """State numbers as the attribute of a name where the version has it, else as the next input."""
        if self.has(name):
            if values is not None:
                self.attributes.append((name, values[0] if scalar else tuple(values)))
        elif values is None:
            self.skip()
        else:
            self.give(() if scalar else (len(values),), listed(values), dtype)

    def spec(self) -> Spec:
        while self.inputs and not self.inputs[-1][0]:
            self.inputs.pop()
        return qualified(self.schema), tuple(self.inputs), tuple(self.attributes), self.outputs


def listed(values: Sequence[float]) -> str:
    """Return the fill that means these values."""
    return "=" + ",".join(map(repr, values))


Form = Callable[[Draft], None]
FORMS: dict[str, Form] = {}


def form(names: str, domain: str = "") -> Callable[[Form], Form]:
    def register(make: Form) -> Form:
        FORMS.update({f"{domain}.{name}".lstrip("."): make for name in names.split()})
        return make

    return register
