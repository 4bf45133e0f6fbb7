"""Models that break one rule of an operator's version: what ONNX's checker refuses, conversion refuses.

The models follow from ONNX's registry. Each version of each operator gives one valid node; a *break* makes it invalid:
an attribute that another version has, one of another type, a required one that is missing, too few or too many inputs
or outputs, an empty name, a type that only another version takes, operands of two types. It stands in the graph, in
a body or in a local function. Then it is converted upwards and downwards, and to other formats.

Three rules are compared. What the checker refuses, :func:`minuend.onnx.opsets.convert_proto` refuses; what the checker
accepts is never refused as invalid; and a model with such a node beside a subtraction is invalid to ``check``, one that
the checker accepts is not.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper
from onnx.defs import OpSchema

from differential import valid_nodes
from differential.node_drafts import qualified, split
from differential.surface import Difference, Surface
from minuend.errors import ConversionRefused, MinuendError
from minuend.models.converting import convert
from minuend.onnx.graphs import faults
from minuend.onnx.graphs.walk import walk
from minuend.onnx.model import read
from minuend.onnx.opsets import convert_proto
from minuend.onnx.opsets.schemas import INVALID, newest
from minuend.onnx.processes import library_process

PLACES = ("graph", "body", "function")
FORMATS = ("openvino", "directml")
_NUMBERS = {f"tensor({name.lower()})": number for name, number in TensorProto.DataType.items()} | {
    "tensor(float)": TensorProto.FLOAT,
    "tensor(double)": TensorProto.DOUBLE,
}
_PREFERRED = ("tensor(float)", "tensor(int64)", "tensor(bool)", "tensor(uint8)", "tensor(string)")
_BODIES = {
    "If": "b () => (float o) { o = Constant <value = float {1.0}> () }",
    "Loop": "b (int64 i, bool c, float v) => (bool d, float w) { d = Identity(c) w = Identity(v) }",
    "Scan": "b (float e) => (float o) { o = Identity(e) }",
    "SequenceMap": "b (float e) => (float o) { o = Identity(e) }",
}
"""What stands in a node's bodies."""
_SPECIAL = {"to": TensorProto.FLOAT, "mode": b"linear", "equation": b"...->...", "direction": b"forward"}
"""Attributes whose value decides whether a node is valid."""


@dataclass(frozen=True)
class Case:
    """A model with one node that breaks a rule.

    Attributes:
        op, version: the operator and its version. what: the rule, in the words of :func:`breaks`.
        place: where the node stands. to: an opset, or a format.
    """

    op: str = "Squeeze"
    version: int = 13
    what: str = "nothing"
    place: str = "graph"
    to: str = "6"


# ---- one valid node of each version ----------------------------------------------------------------------------


@functools.cache
def schemas_with_opsets() -> list[tuple[OpSchema, int]]:
    """Each version of each operator of ONNX's registry, and the newest opset of its domain that it is of."""
    found = []
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.deprecated:
            later = [v for v in since(qualified(schema)) if v > schema.since_version]
            last = newest() if schema.domain == "" else schema.since_version
            found.append((schema, min(later) - 1 if later else last))
    return sorted(found, key=lambda one: (qualified(one[0]), one[0].since_version))


@functools.cache
def since(op: str) -> tuple[int, ...]:
    """Every version of an operator."""
    every = onnx.defs.get_all_schemas_with_history()
    return tuple(sorted(schema.since_version for schema in every if qualified(schema) == op))


def schema_at(op: str, version: int) -> OpSchema:
    """The schema of a version of an operator."""
    domain, name = split(op)
    return onnx.defs.get_schema(name, version, domain)


def kind(attribute: OpSchema.Attribute) -> int:
    """An attribute's type as ``AttributeProto`` numbers it."""
    return int(cast(Any, attribute.type).value)


def stated(name: str, type_: int) -> AttributeProto | None:
    """An attribute of a type with a plausible value; ``None`` for one that only a real model has."""
    made = AttributeProto(name=name, type=AttributeProto.AttributeType.Name(type_))
    if type_ == AttributeProto.INT:
        value = _SPECIAL.get(name, 1)
        made.i = value if isinstance(value, int) else 1
    elif type_ == AttributeProto.INTS:
        made.ints.extend([0] if name in ("axes", "perm") else [1, 1])
    elif type_ == AttributeProto.FLOAT:
        made.f = 1.0
    elif type_ == AttributeProto.FLOATS:
        made.floats.extend([1.0, 1.0])
    elif type_ == AttributeProto.STRING:
        value = _SPECIAL.get(name, b"FLOAT")
        made.s = value if isinstance(value, bytes) else b"FLOAT"
    elif type_ == AttributeProto.STRINGS:
        made.strings.append(b"a")
    elif type_ == AttributeProto.TENSOR:
        made.t.CopyFrom(helper.make_tensor(name, TensorProto.FLOAT, [1], [1.0]))
    else:
        return None
    return made


def _type(text: str) -> TypeProto:
    """The type that a schema writes so, of unknown rank."""
    if text.startswith("seq("):
        return helper.make_sequence_type_proto(_type(text[4:-1]))
    if text.startswith("optional("):
        return helper.make_optional_type_proto(_type(text[9:-1]))
    if match := re.fullmatch(r"map\((\w+), ?(\w+)\)", text):
        return helper.make_map_type_proto(_NUMBERS[f"tensor({match[1]})"], _type(f"tensor({match[2]})"))
    return helper.make_tensor_type_proto(_NUMBERS[text], None)


def types_of(schema: OpSchema, parameter: OpSchema.FormalParameter) -> list[str]:
    """The types that an input may have, the plainest first."""
    rows = [c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == parameter.type_str]
    allowed = rows[0] if rows else [parameter.type_str]
    inner = {text: text.replace("seq(", "").replace("optional(", "").rstrip(")") + ")" for text in allowed}
    known = [text for text in allowed if inner[text] in _NUMBERS or inner[text].startswith("map(")]
    return sorted(known, key=lambda text: _PREFERRED.index(text) if text in _PREFERRED else len(_PREFERRED))


def body(operator: str, name: str) -> AttributeProto | None:
    """The body of a node; its values bear the attribute's name, for a name has one meaning."""
    if operator not in _BODIES:
        return None
    text = _BODIES[operator].replace("o)", f"{name})").replace("o =", f"{name} =")
    return helper.make_attribute(name, onnx.parser.parse_graph(text))


def valid(schema: OpSchema) -> tuple[NodeProto, dict[str, TypeProto]] | None:
    """A node of a version and the types of its inputs; ``None`` where sequences or bodies are wanted."""
    if schema.domain and qualified(schema) in valid_nodes.FORMS:
        return _drafted(schema)
    node = NodeProto(op_type=schema.name, domain=schema.domain, name="it")
    types: dict[str, TypeProto] = {}
    bound: dict[str, str] = {}
    count = (
        3
        if schema.name == "Loop"
        else max(schema.min_input, sum(p.option == OpSchema.FormalParameterOption.Single for p in schema.inputs))
    )
    for i in range(count):
        row = schema.inputs[min(i, len(schema.inputs) - 1)]
        texts = types_of(schema, row)
        if not texts:
            return None
        text = bound.setdefault(row.type_str, texts[0])
        node.input.append(f"x{i}")
        types[f"x{i}"] = _type(text)
    node.output.extend(f"y{i}" for i in range(max(schema.min_output, 1)))
    for name, row_ in schema.attributes.items():
        if row_.required:
            made = stated(name, kind(row_)) or body(schema.name, name)
            if made is None:
                return None
            node.attribute.append(made)
    if schema.name == "Constant":
        node.attribute.extend(filter(None, [stated("value", AttributeProto.TENSOR)] if not node.attribute else []))
    return node, types


def _drafted(schema: OpSchema) -> tuple[NodeProto, dict[str, TypeProto]]:
    """A node that its form draws, where attributes decide together whether a node is valid; ranks are unknown."""
    draft = valid_nodes.Draft(random.Random(1), schema)
    valid_nodes.FORMS[qualified(schema)](draft)
    _, inputs, attributes, outputs = draft.spec()
    types = {f"x{i}": _type(one[0] if one[0].startswith("map(") else f"tensor({one[0]})")
             for i, one in enumerate(inputs)}  # fmt: skip
    node = helper.make_node(schema.name, list(types), [f"y{i}" for i in range(outputs)], "it", domain=schema.domain)
    node.attribute.extend(valid_nodes.attribute(schema, *row) for row in attributes)
    return node, types


# ---- breaking it -----------------------------------------------------------------------------------------------


def breaks(schema: OpSchema) -> Iterator[tuple[str, NodeProto, dict[str, TypeProto]]]:
    """The valid node of a version, then every way to break one rule of it."""
    base = valid(schema)
    if base is None:
        return
    yield "nothing", *base
    node, types = base
    op = qualified(schema)
    others = [schema_at(op, v) for v in since(op) if v != schema.since_version]
    yield from ((what, changed, types) for what, changed in _attributes(schema, node, others))
    yield from _counts(schema, node, types)
    yield from ((what, node, changed) for what, changed in _types(schema, types, others))


def _copy(node: NodeProto) -> NodeProto:
    made = NodeProto()
    made.CopyFrom(node)
    return made


def _attributes(schema: OpSchema, node: NodeProto, others: list[OpSchema]) -> Iterator[tuple[str, NodeProto]]:
    foreign = {name: kind(row) for other in others for name, row in other.attributes.items()}
    for name, type_ in {**foreign, "nonsense": int(AttributeProto.INT)}.items():
        made = stated(name, type_)
        if name not in schema.attributes and made is not None:
            changed = _copy(node)
            changed.attribute.append(made)
            yield f"the attribute {name!r} of another version", changed
    for name, row in schema.attributes.items():
        wrong = AttributeProto.STRING if kind(row) != AttributeProto.STRING else AttributeProto.INT
        kept = [a for a in node.attribute if a.name != name]
        changed = _copy(node)
        del changed.attribute[:]
        changed.attribute.extend([*kept, *filter(None, [stated(name, int(wrong))])])
        yield f"the attribute {name!r} of another type", changed
        if row.required:
            changed = _copy(changed)
            del changed.attribute[:]
            changed.attribute.extend(kept)
            yield f"without the attribute {name!r}", changed


def _counts(
    schema: OpSchema, node: NodeProto, types: dict[str, TypeProto]
) -> Iterator[tuple[str, NodeProto, dict[str, TypeProto]]]:
    if node.input:
        changed = _copy(node)
        del changed.input[-1]
        yield "an input fewer", changed, types
        changed = _copy(node)
        changed.input[0] = ""
        yield "an empty input", changed, types
        if schema.max_input < 1000:
            changed = _copy(node)
            changed.input.extend([node.input[0]] * (schema.max_input + 1 - len(node.input)))
            yield "an input more", changed, types
    if schema.max_output < 1000:
        changed = _copy(node)
        changed.output.extend(f"z{i}" for i in range(schema.max_output + 1 - len(node.output)))
        yield "an output more", changed, types


def _types(
    schema: OpSchema, types: dict[str, TypeProto], others: list[OpSchema]
) -> Iterator[tuple[str, dict[str, TypeProto]]]:
    for i, name in enumerate(types):
        row = schema.inputs[min(i, len(schema.inputs) - 1)]
        may = types_of(schema, row)
        foreign = {
            text for other in others if i < len(other.inputs) for text in types_of(other, other.inputs[i])
        } - set(may)  # fmt: skip
        for text in [*sorted(foreign), *(["tensor(string)"] if "tensor(string)" not in may else [])]:
            yield f"input {i} of {text}", {**types, name: _type(text)}
        if i and len(may) > 1:
            yield f"input {i} of {may[1]}", {**types, name: _type(may[1])}


def placed(node: NodeProto, types: dict[str, TypeProto], opset: int, place: str) -> ModelProto:
    """A model with a node in its graph, in a branch of an If, or in a local function.

    The opset is that of the node's domain; beside another domain the main one's is the newest.
    """
    imports = [helper.make_opsetid("", newest() if node.domain else opset)]
    if node.domain:
        imports.append(helper.make_opsetid(node.domain, opset))
    outputs = [name for name in node.output if name]
    given = [onnx.ValueInfoProto(name=name, type=type_) for name, type_ in types.items()]
    functions: list[FunctionProto] = []
    nodes = [node]
    if place == "body":
        bodies = [GraphProto(name=f"b{i}", node=[node], output=[onnx.ValueInfoProto(name=n) for n in outputs])
                  for i in range(2)]  # fmt: skip
        for i, body in enumerate(bodies):
            for j, name in enumerate(outputs):
                body.output[j].name = f"{name}_{i}"
            renamed = {name: f"{name}_{i}" for name in outputs}
            for j, name in enumerate(body.node[0].output):
                body.node[0].output[j] = renamed.get(name, "")
        nodes = [helper.make_node("If", ["c"], outputs, then_branch=bodies[0], else_branch=bodies[1])]
        given.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    elif place == "function":
        functions = [helper.make_function("local", "f", list(types), outputs, [node], imports)]
        nodes = [helper.make_node("f", list(types), outputs, domain="local")]
        imports = [*imports, helper.make_opsetid("local", 1)]
    graph = GraphProto(name="g", node=nodes, input=given, output=[onnx.ValueInfoProto(name=n) for n in outputs])
    return ModelProto(ir_version=11, opset_import=imports, graph=graph, functions=functions)


# ---- comparing -------------------------------------------------------------------------------------------------


@functools.cache
def _is_base_valid(name: str, version: int, opset: int) -> bool:
    """Whether the checker accepts the node that nothing was broken of: else it says nothing about what breaks."""
    base = valid(schema_at(name, version))
    return base is not None and not checker(placed(*base, opset, "graph"))


def checker(model: ModelProto) -> str:
    """What ONNX's checker and its strict inference refuse in a model of unknown ranks; ``""`` where they do not."""
    typed = ModelProto()
    typed.CopyFrom(model)
    try:
        inferred = library_process.infer_shapes(model, data_prop=False).graph.output
    except (library_process.OnnxRefuses, library_process.Exceeded) as error:  # some malformed nodes crash it
        return str(error)
    for to, from_ in zip(typed.graph.output, inferred, strict=True):
        to.type.CopyFrom(from_.type)
        if to.type.WhichOneof("value") is None:
            to.type.tensor_type.elem_type = TensorProto.FLOAT
    form = ModelProto()
    form.CopyFrom(typed)
    for value in (*form.graph.input, *form.graph.output):  # which the checker wants stated
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    return library_process.fault(typed, form)


def compare(case: Case, folder: Path) -> str:
    """Convert a model to an opset or another format; the outcome may not contradict the checker's."""
    schema = schema_at(case.op, case.version)
    opset = {one.since_version: at for one, at in schemas_with_opsets() if qualified(one) == case.op}[case.version]
    if not _is_base_valid(case.op, case.version, opset):
        return "the checker refuses the valid node too"
    node, types = next((node, types) for what, node, types in breaks(schema) if what == case.what)
    model = placed(node, types, opset, case.place)
    fault = checker(model)
    try:
        _ = convert(model, case.to) if case.to in FORMATS else convert_proto(model, int(case.to))
        refused = ""
    except ConversionRefused as error:
        refused = "; ".join(error.nodes.values()) or str(error)
    except MinuendError as error:
        refused = str(error)
    if fault and not refused:
        raise Difference(f"converted, and the checker says: {fault[:200]}")
    judged = faults.fault(walk(read(model)), ())
    blind = "an empty input" in case.what  # of a variadic input, which inference finds, and old versions have none
    if bool(fault) != bool(judged) and not blind:
        raise Difference(f"check says {judged or 'nothing'}, and the checker: {fault[:200] or 'nothing'}")
    if not fault and INVALID in refused and not blind:
        raise Difference(f"refused, and the checker accepts it: {refused}")
    return f"checker {'refuses' if fault else 'accepts'}, convert {'refuses' if refused else 'converts'}"


@functools.cache
def _rules(name: str, version: int) -> tuple[str, ...]:
    return tuple(what for what, _, _ in breaks(schema_at(name, version)))


def draw(source: random.Random) -> Case:
    """Draw a version, a rule, a place, and where it goes."""
    while True:
        schema, _ = source.choice(schemas_with_opsets())
        op = qualified(schema)
        if rules := _rules(op, schema.since_version):
            to = source.choice([*map(str, range(1, newest() + 1)), *FORMATS])
            return Case(op, schema.since_version, source.choice(rules), source.choice(PLACES), to)


SURFACES = (
    Surface(
        "convert-invalid", "conversion of models that break a rule of their version", ("onnx",), draw, compare, Case
    ),
)
