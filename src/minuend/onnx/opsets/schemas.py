"""ONNX's registry of operators: the versions of each, and whether a node is legal under one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import onnx
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto
from onnx.defs import OpSchema
from onnx.helper import get_attribute_value

from minuend.plain import grouped

MAIN = ("", "ai.onnx")
"""The two spellings of ONNX's main domain."""

NAMES = {
    number: name.lower()
    for name, number in TensorProto.DataType.items()
    if name not in ("UNDEFINED", "FLOAT", "DOUBLE")
} | {TensorProto.FLOAT: "float", TensorProto.DOUBLE: "double"}
"""Element types as schemas spell them."""


class Refusal(Exception):
    """One node that cannot be converted; the text says why.

    Attributes:
        expanded: the operator whose function body was tried in vain.
    """

    def __init__(self, why: str, expanded: str = "") -> None:
        super().__init__(why)
        self.expanded = expanded


@cache
def newest() -> int:
    """The newest opset of the main domain that the installed onnx knows."""
    return int(onnx.defs.onnx_opset_version())


@cache
def versions(op_type: str) -> tuple[int, ...]:
    """Every since_version of an operator of the main domain, in order; empty for an unknown one."""
    return _all_versions().get(op_type, ())


@cache
def _all_versions() -> dict[str, tuple[int, ...]]:
    every = onnx.defs.get_all_schemas_with_history()
    found = grouped((schema.name, schema.since_version) for schema in every if schema.domain == "")
    return {name: tuple(sorted(numbers)) for name, numbers in found.items()}


def version_in(op_type: str, opset: int) -> int | None:
    """The version of an operator that an opset means, or ``None`` where the opset lacks it."""
    return max((v for v in versions(op_type) if v <= opset), default=None)


@cache
def schema(op_type: str, opset: int) -> OpSchema:
    """The schema of an operator that is known to be in the opset."""
    return onnx.defs.get_schema(op_type, opset, "")


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


def allowed(op: OpSchema, parameter: OpSchema.FormalParameter) -> frozenset[str]:
    """The types that an input or output may have."""
    for constraint in op.type_constraints:
        if constraint.type_param_str == parameter.type_str:
            return frozenset(constraint.allowed_type_strs)
    return frozenset([parameter.type_str])


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
    title = f"{node.op_type}-{op.since_version}"
    if op.deprecated:
        return f"{title} is deprecated"
    return _illegal_attributes(node, op, title) or _illegal_values(node, op, title, types, given or {})


_UNORDERED = ("tensor(string)", "tensor(complex64)", "tensor(complex128)")


def mistyped(node: NodeProto, opset: int, types: Callable[[str], TypeProto | None]) -> str:
    """Say which input of a node is of text or complex where its operator takes real numbers; ``""`` where none is.

    Real numbers of other types than an old schema lists are what runtimes take.
    """
    op = schema(node.op_type, opset)
    for i, name in enumerate(node.input):
        row, text = parameter(op.inputs, i), type_text(types(name))
        if row is not None and text in _UNORDERED and text not in allowed(op, row):
            return f"{node.op_type}-{op.since_version} takes no {text} as input {i} ({row.name!r})"
    return ""


def _illegal_attributes(node: NodeProto, op: OpSchema, title: str) -> str:
    for attribute in node.attribute:
        if attribute.name not in op.attributes:
            if not attribute.name.startswith("__"):
                return f"{title} has no attribute {attribute.name!r}"
        elif int(cast(Any, op.attributes[attribute.name].type).value) != attribute.type:
            return f"attribute {attribute.name!r} of {title} has another type"
    stated = {attribute.name for attribute in node.attribute}
    for name, row in op.attributes.items():
        if row.required and name not in stated:
            return f"{title} needs the attribute {name!r}"
    return ""


def _illegal_values(
    node: NodeProto,
    op: OpSchema,
    title: str,
    types: Callable[[str], TypeProto | None],
    given: Mapping[str, frozenset[str]],
) -> str:
    bound: dict[str, str] = {}
    for role, names, formal, least in (
        ("input", node.input, op.inputs, op.min_input),
        ("output", node.output, op.outputs, op.min_output),
    ):
        if len(names) < least:
            return f"{title} needs {least} {role}s; the node has {len(names)}"
        for i, name in enumerate(names):
            row = parameter(formal, i)
            if row is None:
                return f"{title} has no {role} {i}; the node has {len(names)}"
            if not name:
                if row.option == OpSchema.FormalParameterOption.Single:
                    return f"{title} needs its {role} {i} ({row.name!r})"
                continue
            may = allowed(op, row)
            text = type_text(types(name))
            if text is None:
                if not given.get(name, frozenset(["?"])) <= may:
                    return f"the type of {role} {name!r} is unknown, and {title} does not take every type there"
                continue
            if text not in may:
                return f"{title} takes no {text} as {role} {i} ({row.name!r})"
            if row.is_homogeneous and bound.setdefault(row.type_str, text) != text:
                return f"{title} wants one type for {row.type_str!r}; it gets {bound[row.type_str]} and {text}"
    return ""


@cache
def _form(op_type: str, version: int) -> tuple[dict[str, int], frozenset[str], tuple[tuple[str, int, int, int], ...]]:
    """An operator's form in plain values: attributes' types, the required ones, and of inputs and outputs the name,
    the least and greatest number, and how many of the first must have names."""
    op = schema(op_type, version)
    types = {name: int(cast(Any, row.type).value) for name, row in op.attributes.items()}
    required = frozenset(name for name, row in op.attributes.items() if row.required)
    sides = []
    for role, formal, least, most in (
        ("input", op.inputs, op.min_input, op.max_input),
        ("output", op.outputs, op.min_output, op.max_output),
    ):
        single = [row.option == OpSchema.FormalParameterOption.Single for row in formal]
        sides.append((role, least, most, single.index(False) if False in single else len(single)))
    return types, required, tuple(sides)


def malformed(node: NodeProto, opset: int) -> str:
    """Say what breaks the form of a node's operator, whatever the types are; ``""`` where nothing does.

    An attribute of the wrong kind or one that is missing, too few or too many inputs and outputs, and empty names where
    names are needed. Attributes that the operator does not have are the checker's to find.
    """
    version = version_in(node.op_type, opset)
    if version is None:
        return f"opset {opset} has no {node.op_type}"
    types, required, sides = _form(node.op_type, version)
    title = f"{node.op_type}-{version}"
    stated = set()
    for a in node.attribute:
        if a.type != types.get(a.name, a.type) and not (a.ref_attr_name and a.type == AttributeProto.UNDEFINED):
            return f"attribute {a.name!r} of {title} has another type"
        stated.add(a.name)
    if missing := sorted(required - stated):
        return f"{title} needs the attribute {missing[0]!r}"
    if len(stated) != len(node.attribute):
        return f"{title} has an attribute twice"
    for (role, least, most, named), names in zip(sides, (node.input, node.output), strict=True):
        if not least <= len(names) <= most:
            wanted = str(least) if least == most else f"{least} or more" if most > 1000 else f"{least} to {most}"
            return f"{title} has {wanted} {role}{'' if wanted == '1' else 's'}; the node has {len(names)}"
        for i, name in enumerate(names[:named]):
            if not name:
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
