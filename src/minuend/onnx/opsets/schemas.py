"""ONNX's registry of operators: the versions of each, and whether a node is legal under one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import onnx
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto
from onnx.defs import OpSchema
from onnx.helper import get_attribute_value, make_tensor_type_proto

from minuend.errors import listed
from minuend.onnx.graphs.scope import domain_of
from minuend.plain import grouped

NAMES = {
    number: name.lower()
    for name, number in TensorProto.DataType.items()
    if name not in ("UNDEFINED", "FLOAT", "DOUBLE")
} | {TensorProto.FLOAT: "float", TensorProto.DOUBLE: "double"}
"""Element types as schemas spell them."""


CAST_BY_NUMBER = 6
"""The first opset whose Cast states its type by a number; ONNX infers nothing from a name."""

INVALID = "the model is invalid: "
"""How a reason begins that lies in the model, not in the way to the other opset."""


class Refusal(Exception):
    """One node that cannot be converted; the text says why.

    Attributes:
        expanded: the operator whose function body was tried in vain.
    """

    def __init__(self, why: str, expanded: str = "") -> None:
        super().__init__(why)
        self.expanded = expanded


@cache
def newest(domain: str = "") -> int:
    """The newest opset of a domain that the installed onnx knows; 0 of a domain that is not ONNX's."""
    if not domain:
        return int(onnx.defs.onnx_opset_version())
    return max((numbers[-1] for (of, _), numbers in _all_versions().items() if of == domain), default=0)


def knows(opset: int, domain: str) -> bool:
    """Whether the installed onnx knows an opset of a domain, so that its registry says what nodes mean there."""
    return 0 < opset <= newest(domain)


@cache
def versions(op_type: str, domain: str = "") -> tuple[int, ...]:
    """Every since_version of an operator, in order; empty for an unknown one."""
    return _all_versions().get((domain, op_type), ())


@cache
def _all_versions() -> dict[tuple[str, str], tuple[int, ...]]:
    every = onnx.defs.get_all_schemas_with_history()
    found = grouped(((schema.domain, schema.name), schema.since_version) for schema in every)
    return {name: tuple(sorted(numbers)) for name, numbers in found.items()}


@cache
def version_in(op_type: str, opset: int, domain: str = "") -> int | None:
    """The version of an operator that an opset of its domain means, or ``None`` where the opset lacks it."""
    try:  # ten times as fast as the list of all versions, which few need
        return int(onnx.defs.get_schema(op_type, opset, domain).since_version)
    except onnx.defs.SchemaError:
        return None


@cache
def schema(op_type: str, opset: int, domain: str = "") -> OpSchema:
    """The schema of an operator that is known to be in the opset of its domain."""
    return onnx.defs.get_schema(op_type, opset, domain)


def default(attribute: OpSchema.Attribute) -> Any:
    """An attribute's default as Python value; ``None`` where there is none."""
    return get_attribute_value(attribute.default_value) if attribute.default_value.type else None


def type_text(proto: TypeProto | None) -> str | None:
    """Spell a type as schemas do: ``tensor(float)``, ``seq(tensor(int64))``; ``None`` where it is unknown."""
    kind = proto.WhichOneof("value") if proto is not None else None
    if proto is None or kind is None:
        return None
    if kind in ("tensor_type", "sparse_tensor_type"):
        element = getattr(proto, kind).elem_type
        return f"{kind.removesuffix('_type')}({NAMES[element]})" if element in NAMES else None
    if kind in ("sequence_type", "optional_type"):
        inner = type_text(getattr(proto, kind).elem_type)
        return inner and f"{'seq' if kind == 'sequence_type' else 'optional'}({inner})"
    if kind == "map_type":
        inner = type_text(proto.map_type.value_type)
        return inner and f"map({NAMES.get(proto.map_type.key_type)},{inner})"
    return None


def allowed(parameter: OpSchema.FormalParameter) -> frozenset[str]:
    """The types that an input or output may have, as :func:`type_text` spells them."""
    return frozenset(parameter.types)


def parameter(formal: Sequence[OpSchema.FormalParameter], index: int) -> OpSchema.FormalParameter | None:
    """The formal parameter of a position; the last one repeats where it is variadic."""
    if index < len(formal):
        return formal[index]
    if formal and formal[-1].option == OpSchema.FormalParameterOption.Variadic:
        return formal[-1]
    return None


def illegal(
    node: NodeProto,
    opset: int,
    types: Callable[[str], TypeProto | None],
    given: Mapping[str, frozenset[str]] | None = None,
) -> str:
    """Say what makes a node illegal in an opset; ``""`` where nothing does.

    Args:
        node: a node of the main domain whose operator the opset has. opset: the opset.
        types: gives the type of a value by its name. given: for values of unknown type, the types that they can have.
    """
    op = schema(node.op_type, opset)
    if op.deprecated:
        return f"{node.op_type}-{op.since_version} is deprecated"
    return malformed(node, opset) or _mistyped(node, op, types, given or {})


def invalid(node: NodeProto, opset: int, types: Callable[[str], TypeProto | None]) -> str:
    """Say which rule of its own version a node breaks, before anything is made of it; ``""`` where it breaks none.

    Three things pass. A deprecated operator says what it means, and conversion is the way away from it. A value of
    unknown type may be of the right one. And Constant-1 lists floats alone, but exporters wrote shapes in it and
    onnxruntime reads them.

    Args:
        node: a node whose operator the opset of its domain has. opset: that opset.
        types: gives the type of a value by its name.
    """
    domain = domain_of(node.domain)
    if wrong := malformed(node, opset):
        return wrong + ("" if domain else _history(node, opset))
    if node.op_type == "Constant" and opset < 9:
        return ""
    stated = stated_by_name(node) if node.op_type == "Cast" and opset < CAST_BY_NUMBER else {}
    return _mistyped(node, schema(node.op_type, opset, domain), lambda name: stated.get(name) or types(name), None)


def stated_by_name(node: NodeProto) -> dict[str, TypeProto]:
    """Return the type that a Cast below opset 6 states by its name, which ONNX's inference does not read."""
    numbers = dict(TensorProto.DataType.items())
    to = next((numbers.get(a.s.decode("utf-8", "replace").upper(), 0) for a in node.attribute if a.name == "to"), 0)
    return {node.output[0]: make_tensor_type_proto(to, None)} if to and node.output else {}


def _history(node: NodeProto, opset: int) -> str:
    """Say which other versions allow what a malformed node states or leaves out; ``""`` where none does."""
    version = version_in(node.op_type, opset) or 1
    own, _, (inputs, _) = _form(node.op_type, version)
    others = {v: _form(node.op_type, v) for v in versions(node.op_type) if v != version}
    name = next((a.name for a in node.attribute if a.name not in own and not a.name.startswith("__")), "")
    if have := [f"{node.op_type}-{v}" for v, form in others.items() if name in form[0]]:
        return f" ({listed(have, 'and')} {'has' if len(have) == 1 else 'have'} it)"
    empty = next((i for i, one in enumerate(node.input) if not one and i in inputs.named), None)
    later = [v for v, form in others.items() if v > version and empty not in form[2][0].named]
    return f" (it may be left out since {node.op_type}-{later[0]})" if empty is not None and later else ""


@cache
def _types(op_type: str, version: int, role: str, domain: str = "") -> tuple[tuple[str, frozenset[str], str], ...]:
    """Of each input or output of an operator its name, the types that it may have, and the parameter that binds them.

    The parameter is ``""`` where a variadic one may mix types.
    """
    op = schema(op_type, version, domain)
    formal = op.inputs if role == "input" else op.outputs
    return tuple((row.name, allowed(row), row.type_str if row.is_homogeneous else "") for row in formal)


def _mistyped(
    node: NodeProto,
    op: OpSchema,
    types: Callable[[str], TypeProto | None],
    given: Mapping[str, frozenset[str]] | None,
) -> str:
    """Say which input or output of a well-formed node is of a type that its version does not take there."""
    title = f"{node.op_type}-{op.since_version}"
    bound: dict[str, str] = {}
    for role, names in (("input", node.input), ("output", node.output)):
        rows = _types(node.op_type, op.since_version, role, op.domain)
        for i, name in enumerate(names):
            if not name:
                continue
            formal, may, parameter_ = rows[min(i, len(rows) - 1)]
            text = type_text(types(name))
            if text is None:
                if given is not None and not given.get(name, frozenset(["?"])) <= may:
                    return f"the type of {role} {name!r} is unknown, and {title} does not take every type there"
                continue
            if text not in may:
                return f"{title} takes no {text} as {role} {i} ({formal!r})"
            if parameter_ and bound.setdefault(parameter_, text) != text:
                return f"{title} wants one type for {parameter_!r}; it gets {bound[parameter_]} and {text}"
    return ""


_CONSTANTS = {
    f"value_{kind}{many}": number
    for kind, number in (("float", TensorProto.FLOAT), ("int", TensorProto.INT64), ("string", TensorProto.STRING))
    for many in ("", "s")
}


def implied(node: NodeProto, opset: int, types: Callable[[str], TypeProto | None]) -> dict[str, TypeProto]:
    """Return the types that the schema alone gives to outputs of a well-formed node, where nothing else is known.

    ONNX's inference has no rules for some operators of opset 10 and below: their outputs have the type of the input
    that shares their parameter, and shapes that are not known. Nor has it one
    for a Constant whose attribute is a function's: the attribute's name says the type.
    """
    missing = [i for i, name in enumerate(node.output) if name and type_text(types(name)) is None]
    if not missing:
        return {}
    stated = next((a.name for a in node.attribute if node.op_type == "Constant" and a.name in _CONSTANTS), "")
    if stated:
        return {node.output[0]: make_tensor_type_proto(_CONSTANTS[stated], [None] if stated.endswith("s") else [])}
    version = version_in(node.op_type, opset) or 1
    inputs, outputs = (_types(node.op_type, version, role) for role in ("input", "output"))
    bound: dict[str, TypeProto] = {}
    for i, name in enumerate(node.input):
        found = types(name) if name else None
        if found is not None and found.WhichOneof("value") and (parameter_ := inputs[min(i, len(inputs) - 1)][2]):
            bound.setdefault(parameter_, found)
    known = {node.output[i]: bound.get(outputs[min(i, len(outputs) - 1)][2]) for i in missing}
    return {name: _unshaped(found) for name, found in known.items() if found is not None}


_SAME = (
    "BiasGelu ConvTransposeWithDynamicPads DynamicQuantizeMatMul ExpandDims FastGelu FusedConv FusedGemm FusedMatMul "
    "GatherND Gelu GroupNorm GroupQueryAttention Inverse MatMulBnb4 MatMulNBits NhwcConv NhwcMaxPool Pad QLinearAdd "
    "QLinearAveragePool QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearSoftmax QuickGelu "
    "Range RotaryEmbedding TransposeMatMul Trilu Unique"
)
CONTRIBUTED: Mapping[str, tuple[int, tuple[int, ...]]] = {
    name: (read, made)
    for names, read, made in (
        (_SAME, 0, (0,)),
        ("Attention", 0, (0, 1)),
        ("MultiHeadAttention", 0, (0, 1, 2)),
        ("SkipLayerNormalization SkipSimplifiedLayerNormalization", 0, (0, 3)),
        ("DequantizeLinear QLinearConcat QLinearWhere", 1, (0,)),
        ("EmbedLayerNormalization MatMulIntegerToFloat QAttention QuantizeLinear", 2, (0,)),
        ("QLinearConv", 7, (0,)),
    )
    for name in names.split()
}
"""Of operators of onnxruntime's own, which exporters and optimizers write: the input whose type some outputs have."""


EARLY = frozenset({"LayerNormalization", "MeanVarianceNormalization", "SimplifiedLayerNormalization"})
"""Operators that onnxruntime has in ONNX's domain before ONNX has them, or without it; its optimisers write them."""

_BLOCKED = "com.microsoft.nchwc"
"""onnxruntime's domain of operators on blocks of channels; each has its first input's type."""


def is_contributed(node: NodeProto, opset: int) -> bool:
    """Whether a node is of onnxruntime's own domains, or of an operator that it has in ONNX's and the opset has not."""
    early = not node.domain and node.op_type in EARLY and version_in(node.op_type, opset) is None
    return early or node.domain in ("com.microsoft", _BLOCKED)


def contributed(node: NodeProto, types: Callable[[str], TypeProto | None]) -> dict[str, TypeProto]:
    """Return the types that outputs of a node of onnxruntime's own have; ONNX has no schema for it."""
    first = node.domain == _BLOCKED or node.op_type in EARLY
    read, made = (0, (0,)) if first else CONTRIBUTED.get(node.op_type, (0, ()))
    found = types(node.input[read]) if len(node.input) > read else None
    if found is None or type_text(found) is None:
        return {}
    names = [node.output[i] for i in made if i < len(node.output) and node.output[i]]
    return {name: _unshaped(found) for name in names if type_text(types(name)) is None}


def _unshaped(found: TypeProto) -> TypeProto:
    copy = TypeProto()
    copy.CopyFrom(found)
    if copy.HasField("tensor_type"):
        copy.tensor_type.ClearField("shape")
    return copy


class _Side(NamedTuple):
    """The inputs or the outputs of an operator: the least and greatest number, and those that must have a name.

    Those from ``alike`` on must have one too: one variadic input of Sum cannot be left out.
    """

    role: str
    least: int
    most: int
    named: frozenset[int]
    alike: int


_UNCHECKED = frozenset({"LayerNormalization"})
"""Operators whose schema lets any attribute pass, which says nothing then; the package ``onnx`` does not tell which."""


@cache
def _form(op_type: str, version: int, domain: str = "") -> tuple[dict[str, int], frozenset[str], tuple[_Side, ...]]:
    """An operator's form in plain values: attributes' types, the required ones, its inputs and its outputs."""
    op = schema(op_type, version, domain)
    types = {name: int(cast(Any, row.type).value) for name, row in op.attributes.items()}
    required = frozenset(name for name, row in op.attributes.items() if row.required)
    sides = []
    for role, formal, least, most in (
        ("input", op.inputs, op.min_input, op.max_input),
        ("output", op.outputs, op.min_output, op.max_output),
    ):
        named = frozenset(i for i, row in enumerate(formal) if row.option == OpSchema.FormalParameterOption.Single)
        last = formal[-1] if formal and role == "input" else None
        alike = last is not None and last.option == OpSchema.FormalParameterOption.Variadic and last.is_homogeneous
        sides.append(_Side(role, least, most, named, len(formal) - 1 if alike else most))
    return types, required, tuple(sides)


def malformed(node: NodeProto, opset: int) -> str:
    """Say what breaks the form of a node's operator, whatever the types are; ``""`` where nothing does.

    An attribute that the version does not have or of the wrong kind, one that is missing, too few or too many inputs
    and outputs, and empty names where names are needed. Attributes whose names begin with ``__`` are nobody's, as in
    ONNX's checker.
    """
    domain = domain_of(node.domain)
    version = version_in(node.op_type, opset, domain)
    if version is None:
        return f"opset {opset}{domain and f' of {domain}'} has no {node.op_type}"
    types, required, sides = _form(node.op_type, version, domain)
    title = f"{node.op_type}-{version}"
    stated = set()
    for a in node.attribute:
        if a.name not in types and not a.name.startswith("__") and node.op_type not in _UNCHECKED:
            return f"{title} has no attribute {a.name!r}"
        if a.type != types.get(a.name, a.type) and not (a.ref_attr_name and a.type == AttributeProto.UNDEFINED):
            return f"attribute {a.name!r} of {title} has another type"
        stated.add(a.name)
    if missing := sorted(required - stated):
        return f"{title} needs the attribute {missing[0]!r}"
    if len(stated) != len(node.attribute):
        return f"{title} has an attribute twice"
    for (role, least, most, named, alike), names in zip(sides, (node.input, node.output), strict=True):
        if not least <= len(names) <= most:
            wanted = str(least) if least == most else f"{least} or more" if most > 1000 else f"{least} to {most}"
            return f"{title} has {wanted} {role}{'' if wanted == '1' else 's'}; the node has {len(names)}"
        for i, name in enumerate(names):
            if not name and (i in named or i >= alike):
                return f"{title} needs a name for its {role} {i}"
    return ""


def attribute(node: NodeProto, name: str, fallback: Any = None) -> Any:
    """What a node states of an attribute, or ``fallback``.

    Raises:
        Refusal: the value is that of an attribute of the function around, so it is not known here.
    """
    for a in node.attribute:
        if a.name == name:
            if a.ref_attr_name:
                raise Refusal(
                    f"the value of attribute {name!r} is the function's attribute {a.ref_attr_name!r}, "
                    "which only its callers know"
                )
            return get_attribute_value(a)
    return fallback


FLAGS = frozenset(
    {
        "align_corners",
        "interleaved",
        "is_causal",
        "is_test",
        "keepdims",
        "noop_with_empty_axes",
        "periodic",
        "saturate",
        "upper",
    }
)
"""Attributes that steps and function bodies read as true or false."""


def flag(node: NodeProto, name: str) -> bool:
    """Return what a node states of a flag; one that is not stated is false.

    Raises:
        Refusal: it is neither 0 nor 1. onnxruntime takes such a one for false where ONNX's bodies take it for true.
    """
    return flag_of(node, name, attribute(node, name, 0))


def flag_of(node: NodeProto, name: str, value: int) -> bool:
    """Return what a value of a node's flag says.

    Raises:
        Refusal: it is neither 0 nor 1.
    """
    if value not in (0, 1):
        others = "since runtimes and ONNX's text take others differently"
        raise Refusal(f"{node.op_type} has {name}={value}; expected 0 or 1, {others}")
    return bool(value)


def refers(node: NodeProto) -> bool:
    """Whether some attribute of a node is one of the function around, so that its value is not known here."""
    return any(a.ref_attr_name for a in node.attribute)


def has_attribute(node: NodeProto, name: str) -> bool:
    """Whether a node states an attribute."""
    return any(a.name == name for a in node.attribute)


def drop_attribute(node: NodeProto, *names: str) -> None:
    """Remove attributes from a node, in place."""
    for i in reversed(range(len(node.attribute))):
        if node.attribute[i].name in names:
            del node.attribute[i]


def set_attribute(node: NodeProto, name: str, value: Any) -> None:
    """Set an attribute of a node, in place."""
    drop_attribute(node, name)
    if isinstance(value, list) and not value:  # all lists that steps write are of whole numbers
        value = AttributeProto(name=name, type=AttributeProto.INTS)
    node.attribute.append(value if isinstance(value, AttributeProto) else onnx.helper.make_attribute(name, value))
