"""Targets that documents describe and that are not measured: DirectML, and onnxruntime on DirectML.

DirectML's rows are made from its versions. Its documents list element types and ranks; of overflow, NaN, signed zero
and subnormal numbers they say nothing, so those are unknown. Of floats the silence is no reason to call each Sub
unknown: what IEEE 754 says of them is taken for granted, and reported. Integers that wrap are ordinary numbers: they
stay unknown.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

from minuend.core.elements import TYPES
from minuend.core.shapes import Shape, bounds, size
from minuend.directml.versions import DIALECT, LEVELS, MAX_ELEMENTS
from minuend.errors import SpecError, listed
from minuend.operators import SUBTRACT
from minuend.operators.value_classes import classes
from minuend.runtimes import cases
from minuend.runtimes.adapters.onnxruntime_cpu import OF_EVERY_PROVIDER
from minuend.runtimes.answers import EVERY, OK, Answer
from minuend.runtimes.table import NodeRow, nodes
from minuend.runtimes.target import SILENT, Target, Unfit
from minuend.standards.dialects import dialect
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import check_ranks, validate
from minuend.standards.version import OpVersion

_PLAIN = ("in range", "lowest subtrahend", "beyond int32", "ordinary", "rounds", "no values")
"""The classes whose answer follows from the element type alone: a type that is taken holds these differences."""

_SILENT = frozenset(row.name for row in SUBTRACT.float_classes if row.name not in _PLAIN)
"""The classes of floats of which the documents say nothing."""

_STRIDED = ("same", "scalar", "one-sided", "two-sided")
"""What strides express; DirectML has no empty tensors and no rank 0."""

_DIRECTML, _ONNXRUNTIME = "directml", "onnxruntime-directml"
"""The runtimes."""

_ONNXRUNTIME_RELEASES = ("1.24.4",)
"""Releases whose operator registration was read."""

_ONNXRUNTIME_VERSIONS = ("7", "13", "14")


def targets() -> Mapping[str, Callable[[], Target]]:
    levels = {f"{_DIRECTML}@{one}": functools.partial(_level, one) for one in LEVELS}
    releases = {f"{_ONNXRUNTIME}@{one}": functools.partial(_release, one) for one in _ONNXRUNTIME_RELEASES}
    return {**levels, **releases}


def _level(level: str) -> Target:
    return Target(
        _DIRECTML,
        level,
        nodes(*_rows(DIALECT.resolve(level), _STRIDED)),
        declared=True,
        silent=_SILENT,
        source="the page of DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC",
        translate=functools.partial(_at_level, level),
        runs_nothing="directml runs no models; fix an ONNX model for onnxruntime-directml and convert it",
    )


def _release(release: str) -> Target:
    return Target(
        _ONNXRUNTIME,
        release,
        nodes(*_onnxruntime_rows()),
        declared=True,
        silent=_SILENT,
        source="onnxruntime's registration of Sub 7, 13 and 14 for its DirectML provider",
        strict=OF_EVERY_PROVIDER,
    )


def _at_level(level: str, node: Node) -> tuple[Node, str]:
    """DirectML takes the operator at fixed sizes; strides of 0 express every broadcast, 1s before them a lower rank.

    Sizes are known when a program compiles the operator, and whatever then turns out to be 1 is repeated. So symbolic
    sizes are judged by the smallest that they can have; of the others some are those of no tensor.

    Returns:
        The node as DirectML has it, and for which sizes an ok holds where some are symbolic; else ``""``.
    """
    op = DIALECT.resolve(level)
    shape = validate(node).shape
    if node.op.dialect == DIALECT.name:
        return _of_shape(op, node, shape), ""
    if shape is None:
        rank = max((len(one.shape) for one in (node.a, node.b) if one.shape is not None), default=0)
        found = _of_shape(op, node, _padded(op, (1,) * rank))
        if node.a.dtype not in op.types:  # which is refused at every rank
            return found, ""
        lo, hi = op.ranks
        wanted = f"{lo}" if lo == hi else f"{lo} to {hi}"
        raise Unfit("unknown", f"the rank is not known, and {op} takes {wanted}; state the shapes in the model")
    if 0 in shape:
        raise Unfit("not-implemented", "DirectML has no empty tensors; leave the operator out")
    sizes = [bounds(dim) for dim in shape]
    return _of_shape(op, node, _padded(op, tuple(max(low, 1) for low, _ in sizes))), _limits(sizes)


def _padded(op: OpVersion, sizes: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * max(op.ranks[0] - len(sizes), 0) + sizes


def _of_shape(op: OpVersion, node: Node, shape: Shape) -> Node:
    try:
        check_ranks(op, (shape, shape))
        DIALECT.broadcast(op, shape, shape, {})
    except SpecError as error:
        raise Unfit("not-implemented", error.message) from None
    type_ = TensorType(node.a.dtype, shape)
    return Node(op=op, operands=(type_, type_), name=node.name, where=node.where)


def _limits(sizes: Sequence[tuple[int, int | None]]) -> str:
    """Which of the sizes between these bounds are those of a tensor of DirectML; ``""`` where all of them are."""
    limits = ["no size is 0"] if any(low == 0 for low, _ in sizes) else []
    highest = [high for _, high in sizes if high is not None]
    if len(highest) < len(sizes) or size(highest) > MAX_ELEMENTS:
        limits.append(f"there are at most {MAX_ELEMENTS} elements")
    return f"this holds where {listed(limits, 'and')}, for DirectML has no other tensors" if limits else ""


def _rows(op: OpVersion, relations: tuple[str, ...]) -> Iterator[NodeRow]:
    name = f"{op.dialect}:{op.version}"
    for dtype in TYPES:
        answers = _answers(dtype) if dtype in op.types else _refused(f"{op} lists no element type {dtype}")
        yield (name,), (dtype,), relations, ("none",), answers


def _onnxruntime_rows() -> Iterator[NodeRow]:
    taken = DIALECT.versions()[-1].types  # the provider registers what the newest DirectML takes
    constants = tuple(cases.CONSTANTS)
    for op in dialect("onnx").versions():
        name, relations = f"onnx:{op.version}", cases.relations(op)
        for dtype in op.types:
            if str(op.version) not in _ONNXRUNTIME_VERSIONS:
                answers = _refused(f"the DirectML provider registers no {op}")
            elif dtype not in taken:
                answers = _refused(f"the DirectML provider registers {op} without {dtype}")
            else:
                answers = _answers(dtype)
            yield (name,), (dtype,), relations, constants, answers


def _refused(message: str) -> dict[str, Answer]:
    return {EVERY: Answer("not-implemented", message=message)}


def _answers(dtype: str) -> dict[str, Answer]:
    silent = Answer("unknown", message=SILENT)
    names = [row.name for row in classes(SUBTRACT, TYPES[dtype])]
    return {name: silent for name in names if name not in _PLAIN} or {names[-1]: OK}
