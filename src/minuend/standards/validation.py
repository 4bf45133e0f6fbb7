"""Check a node against its version, and infer its result. The rules are numbered where they are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minuend.core.shapes import Broadcast, Shape
from minuend.errors import DTypeError, ShapeError, SpecError, listed, shown
from minuend.standards.dialects import dialect
from minuend.standards.node import Node, TensorType
from minuend.standards.version import Attr, OpVersion
from minuend.text import INT64


def validate(node: Node) -> Broadcast:
    """Check every rule that the node's version states, and return how its shapes join.

    Raises:
        SpecError: an attribute that the version does not take. DTypeError: an element type outside the version's,
            or two different ones. ShapeError: a rank outside the version's, or shapes that do not join.
    """
    home = dialect(node.op.dialect)
    try:
        check_attributes(node.op, node.attributes)
        check_types(node.op, *(one.dtype for one in node.operands))
        check_ranks(node.op, tuple(one.shape for one in node.operands))
        if node.op.computes.arity == 1:
            return Broadcast(node.a.shape)
        return home.broadcast(node.op, node.a.shape, node.b.shape, node.attributes)
    except SpecError as error:
        raise error.at(node.where) from None


def infer(dialect_name: str, version: object, a: TensorType, b: TensorType, **attrs: object) -> TensorType:
    """Infer the type of A - B as a standard's own shape inference does.

    Args:
        dialect_name: ``"onnx"``, ``"openvino"`` or ``"directml"``.
        version: what the dialect counts in: an ONNX opset number, OpenVINO's 1, a DirectML feature level.
        a, b: the operands' types.
        attrs: the node's attributes, by the standard's names.

    Returns:
        The result's type. ``.assumptions`` tells, a sentence each, what symbolic dims had to be for it to hold, and
        where the version is newer than those that are known, which one was taken.

    Raises:
        TypeError: operands that are no TensorType.
        SpecError: no such version, or an attribute that it does not take. DTypeError: an element type that it does
            not take, or two different ones. ShapeError: shapes that cannot join, whatever the unknown dims are.

    >>> infer("onnx", 14, TensorType("float32", ("N", 3)), TensorType("float32", (3,)))
    TensorType(float32 (N, 3))
    >>> infer("onnx", 14, TensorType("int8", ("N",)), TensorType("int8", (3,))).assumptions
    ('axis 0: N of A is 1 or 3',)
    """
    for name, type_ in (("a", a), ("b", b)):
        if not isinstance(type_, TensorType):
            raise TypeError(f"{name} is a {type(type_).__name__}; expected a TensorType")
    home = dialect(dialect_name)
    op = home.resolve(version)
    found = infer_node(Node(op=op, operands=(a, b), attributes=attrs))
    if not (why := home.beyond(version)):
        return found
    return TensorType(found.dtype, found.shape, (*found.assumptions, f"{why}; {op} is the newest of those that are"))


def infer_node(node: Node) -> TensorType:
    """Infer a node's result; see :func:`infer`."""
    joined = validate(node)
    answer = {
        "element type only": Broadcast(None),
        "shape of A": Broadcast(node.a.shape, assumptions=joined.assumptions),
        "shape of X": joined,
        "broadcast shape": joined,
    }[node.op.inference]
    return TensorType(node.a.dtype, answer.shape, answer.assumptions)


# ---- the rules ------------------------------------------------------------------------------------------------


def check_attributes(op: OpVersion, attributes: Mapping[str, object]) -> None:
    """Check names and values of the attributes that a node states."""
    for name, value in attributes.items():
        # 1. A version takes the attributes that its row lists, and no other.
        if name not in op.attributes.names:
            takes = f"takes {listed(op.attributes.names, 'and')}" if op.attributes else "takes none"
            raise SpecError("attributes", f"{op} takes no attribute {shown(name)}{_history(op, name)}; it {takes}")
        _check_value(op, op.attributes[name], value)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and INT64[0] <= value <= INT64[1]


_IS_OF_TYPE: Mapping[str, Callable[[object], bool]] = {
    "int": _is_int,
    "ints": lambda value: isinstance(value, list | tuple) and all(map(_is_int, value)),
    "float": lambda value: isinstance(value, float) or _is_int(value),
    "string": lambda value: isinstance(value, str),
}
"""What an attribute of each type may hold; standards spell the types in their own case."""


def _check_value(op: OpVersion, attr: Attr, value: object) -> None:
    # 2. An attribute's value has the attribute's type, and one of the values that the standard fixes.
    fits = _IS_OF_TYPE[attr.type.lower()](value)
    if value is None and not attr.required and attr.default is None:
        return
    known = value.lower() if isinstance(value, str) else value
    if not fits or (attr.values and known not in attr.values):
        wanted = listed(attr.values) if fits else f"type {attr.type}"
        raise SpecError("attributes", f"attribute {attr.name!r} of {op} is {shown(value)}; expected {wanted}")


def _history(op: OpVersion, name: str) -> str:
    """Say in which version an attribute came or went."""
    versions = dialect(op.dialect).versions(op.operator)
    having = [i for i, version in enumerate(versions) if name in version.attributes.names]
    if not having:
        return ""
    if versions.index(op) > having[-1]:
        return f" (removed in version {versions[having[-1] + 1].version})"
    return f" (it came in version {versions[having[0]].version})"


def check_types(op: OpVersion, a: str, b: str = "") -> None:
    home = dialect(op.dialect)
    # 3. A and B have one element type; nothing is promoted.
    if b and a != b:
        came = f"A is {home.spell(a)} and B is {home.spell(b)}; convert one of them first"
        raise DTypeError("types", f"{op} takes two operands of one element type; {came}")
    # 4. The element type is one that the version's row lists.
    if a not in op.types:
        later = [version for version in home.versions(op.operator) if a in version.types]
        came = f" (it came with {home.counted} {later[0].version})" if later else ""
        allowed = listed(home.spell(t) for t in op.types)
        raise DTypeError("types", f"{op} takes no element type {home.spell(a)}{came}; expected {allowed}")


def check_ranks(op: OpVersion, shapes: tuple[Shape, ...]) -> None:
    """Check the operands' ranks, where they are known."""
    lo, hi = op.ranks
    for param, shape in zip(op.inputs, shapes, strict=True):
        # 5. A rank lies within the version's limits.
        if shape is not None and not (lo <= len(shape) and (hi is None or len(shape) <= hi)):
            wanted = str(lo) if lo == hi else f"{lo} to {hi}"
            raise ShapeError("ranks", f"{param.name} of {op} has rank {len(shape)}; expected {wanted}")
