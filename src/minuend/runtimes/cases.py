"""Cases: the queries of a runtime. Version × element type × relation of the shapes × which operands are constants.

Cases come from the rows of the versions; answers come from the reference, never from a runtime. A case holds every
pair of :mod:`minuend.runtimes.values` that its relation can hold and is judged one value class at a time.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.core.shapes import ONE_OPERAND, Broadcast, Shape, numpy
from minuend.errors import SpecError
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator, ValueClass
from minuend.operators.value_classes import NO_VALUES, classes, words
from minuend.runtimes import values
from minuend.runtimes.values import Codes, Operands
from minuend.standards.dialects import dialect
from minuend.standards.node import Node
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion

CONSTANTS: Mapping[str, str] = MappingProxyType(
    {
        "none": "no constants",
        "A": "A constant",
        "B": "B constant",
        "both": "both constant",
    }
)
"""Which operands are constants of the model, and how a sentence says it."""

_OF_ONE = ("none", "A")
"""Which operands are constants where there is one."""

_SCALARS = 16
"""How many values a scalar takes; each needs a node of its own."""

_PAIRS = (3, 5)
"""How many pairs of each class two scalars take: of the best ones, and of all others."""


# ---- operands of one node -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """One node of a case.

    Attributes:
        operands: codes of each, in its shape. spread: the same over the answer's elements.
        expected: codes of the answer, in its shape.
        classes: of each element, the index of its class in :func:`~minuend.operators.value_classes.classes`.
        rank: of each element, how good a witness it makes; lower is better.
    """

    operands: tuple[Codes, ...]
    expected: Codes
    classes: Codes
    rank: Codes
    spread: tuple[Codes, ...]

    @property
    def a(self) -> Codes:
        """The first operand's codes."""
        return self.operands[0]

    @property
    def b(self) -> Codes:
        """The second operand's codes."""
        return self.operands[1]


Layout = Callable[[Operands], list[Operation]]


def _over(operands: Operands, *chosen: Codes, b_start: int | None = None) -> Operation:
    """The operation whose operands are ``codes[i]`` for each ``i``; B starts at an axis of A, or both at the end."""
    aligned = list(chosen)
    if b_start is not None:
        i, j = chosen
        aligned[1] = j.reshape(j.shape + (1,) * (i.ndim - j.ndim - b_start))
    spread = np.broadcast_arrays(*aligned)
    tables = (operands.expected, operands.classes, operands.rank)
    expected, classes, rank = (np.asarray(table[tuple(spread)]) for table in tables)
    of = operands.codes
    return Operation(
        tuple(np.asarray(of[i]) for i in chosen), expected, classes, rank, tuple(np.asarray(of[i]) for i in spread)
    )


def _all(operands: Operands) -> Codes:
    return np.arange(len(operands.codes))


def _same(operands: Operands) -> list[Operation]:
    n = len(operands.codes)
    every = np.indices((n,) * operands.operator.arity)
    grid = _over(operands, *(axis.reshape(-1) for axis in every))
    codes = tuple(np.concatenate(parts) for parts in zip(grid.operands, operands.more, strict=True))
    later = np.arange(len(operands.more_expected)) + 4 * n
    pairs = ((grid.expected, operands.more_expected), (grid.classes, operands.more_classes), (grid.rank, later))
    expected, classes, rank = map(np.concatenate, pairs)
    return [Operation(codes, expected, classes, rank, codes)]


def _scalar_b(operands: Operands) -> list[Operation]:
    chosen = list(dict.fromkeys(j for _, j in operands.telling(*_PAIRS)))[:_SCALARS]
    return [_over(operands, _all(operands), np.array(j)) for j in chosen]


def _scalar_a(operands: Operands) -> list[Operation]:
    chosen = list(dict.fromkeys(i for i, _ in operands.telling(*_PAIRS)))[:_SCALARS]
    return [_over(operands, np.array(i), _all(operands)) for i in chosen]


def _table(a: Callable[[Codes], Codes], b: Callable[[Codes], Codes], b_start: int | None = None) -> Layout:
    """The layout of one operation: A and B, each made of the numbers of all operands."""
    return lambda operands: [_over(operands, a(_all(operands)), b(_all(operands)), b_start=b_start)]


def _rows(every: Codes) -> Codes:
    return np.repeat(every[:, None], every.size, axis=1)


def _columns(every: Codes) -> Codes:
    return np.repeat(every[None, :], every.size, axis=0)


_suffix_b, _suffix_a = _table(_rows, np.asarray), _table(np.asarray, _rows)
_two_sided = _table(lambda every: every[:, None], lambda every: every[None, :])
# B along the first axis of a square A: NumPy's rule would join them too, and read B along the last.
_prefix = _table(_columns, np.asarray, 0)
# B along the first axis of an A that is not square: NumPy's rule refuses these shapes.
_prefix_alone = _table(lambda every: _columns(np.append(every, every[:1]))[:-1], np.asarray, 0)


def _rank_0(operands: Operands) -> list[Operation]:
    return [_over(operands, *map(np.array, chosen)) for chosen in operands.telling(*_PAIRS)]


def _zero_size(operands: Operands) -> list[Operation]:
    shapes = (np.zeros((0, 3), np.intp), np.arange(3) % len(operands.codes))
    return [_over(operands, *shapes[: operands.operator.arity])]


@dataclass(frozen=True, slots=True)
class Relation:
    """How the operands' shapes relate, under the rules that know this relation.

    Attributes:
        name: short, for tables. words: for sentences.
        layouts: broadcasting rule → the operations that have this relation.
        attributes: broadcasting rule → what the node has to state.
        alone: whether its nodes are likely to be refused, and so need a model of their own.
    """

    name: str
    words: str
    layouts: Mapping[str, Layout]
    attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    alone: bool = False


def _both(first: Layout, second: Layout) -> Layout:
    return lambda operands: first(operands) + second(operands)


def _every(layout: Layout) -> Mapping[str, Layout]:
    """The layout of a relation that is alike under every rule."""
    return dict.fromkeys(("onnx_legacy", "numpy", ONE_OPERAND), layout)


_LEGACY = {"onnx_legacy": {"broadcast": 1}}
_FROM_0 = {"axis": 0}

_RELATIONS = (
    Relation("same", "same shapes", _every(_same)),
    Relation("scalar", "one a scalar", {"onnx_legacy": _scalar_b, "numpy": _both(_scalar_b, _scalar_a)}, _LEGACY),
    Relation("one-sided", "one-sided", {"onnx_legacy": _suffix_b, "numpy": _both(_suffix_b, _suffix_a)}, _LEGACY),
    Relation("two-sided", "two-sided", {"numpy": _two_sided}),
    Relation("legacy axis", "legacy axis", {"onnx_legacy": _prefix}, {"onnx_legacy": {"broadcast": 1, **_FROM_0}}),
    Relation(
        "legacy axis alone",
        "legacy axis that NumPy's rule refuses",
        {"onnx_legacy": _prefix_alone},
        {"onnx_legacy": {"broadcast": 1, **_FROM_0}},
        alone=True,
    ),
    Relation("pdpd", "pdpd", {"pdpd": _prefix}, {"pdpd": {"auto_broadcast": "pdpd", **_FROM_0}}, alone=True),
    Relation(
        "pdpd alone",
        "pdpd that NumPy's rule refuses",
        {"pdpd": _prefix_alone},
        {"pdpd": {"auto_broadcast": "pdpd", **_FROM_0}},
        alone=True,
    ),
    Relation("zero-size", "empty tensors", _every(_zero_size), _LEGACY, alone=True),
    Relation("rank 0", "two scalars", _every(_rank_0)),
)

RELATIONS: Mapping[str, Relation] = MappingProxyType({row.name: row for row in _RELATIONS})
"""Every relation by name."""


def _rule(op: OpVersion, relation: Relation) -> str | None:
    """The broadcasting rule under which a version knows a relation; ``None`` where it does not.

    OpenVINO's one version has several rules, named in its attribute; DirectML has no shapes of its own to join.
    """
    rules = [value for attr in op.attributes for value in attr.values if value in ("numpy", "pdpd")]
    return next((rule for rule in rules or [op.broadcasting] if rule in relation.layouts), None)


# ---- cases ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One model to query a runtime with.

    Attributes:
        op: the version of the operator. element: the operands' type.
        relation: a name in :data:`RELATIONS`. constants: a name in :data:`CONSTANTS`.
        full: whether it holds all pairs of a narrow type, or the edges alone.
    """

    op: OpVersion
    element: ElementType
    relation: str
    constants: str
    full: bool = True

    @property
    def opversion(self) -> str:
        """The version as targets name it: ``"onnx:14"``."""
        return self.op.key

    @property
    def id(self) -> str:
        """A sentence: ``"Sub-14 of uint8, one-sided, B constant"``."""
        return f"{self.op} of {self.element}, {RELATIONS[self.relation].words}, {CONSTANTS[self.constants]}"

    def id_of(self, value_class: str) -> str:
        """The sentence for one value class: ``"… B constant: values that wrap"``."""
        return f"{self.id}: {words(self.op.computes)[value_class]}"

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What the node states."""
        return RELATIONS[self.relation].attributes.get(self._rule, {})

    @property
    def _rule(self) -> str:
        return _rule(self.op, RELATIONS[self.relation]) or ""

    def dims(self, side: str) -> tuple[Any, ...] | None:
        """The shape of an operand, ``"A"`` or ``"B"``, as a model states it; ``None``: that of its codes."""
        return None

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The case's subtractions; a model has a node for each."""
        return _operations(self.op.computes, self.element, self.relation, self._rule, self.full)

    @property
    def classes(self) -> tuple[ValueClass, ...]:
        """The value classes that occur."""
        return _present(self.op.computes, self.element, self.relation, self._rule, self.full)


@functools.lru_cache(maxsize=64)
def _operations(
    operator: Operator, element: ElementType, relation: str, rule: str, full: bool
) -> tuple[Operation, ...]:
    return tuple(RELATIONS[relation].layouts[rule](values.of(operator, element, full=full)))


@functools.cache
def _present(operator: Operator, element: ElementType, relation: str, rule: str, full: bool) -> tuple[ValueClass, ...]:
    found = {
        int(i)
        for operation in _operations(operator, element, relation, rule, full)
        for i in np.unique(operation.classes)
    }
    return tuple(row for i, row in enumerate(classes(operator, element)) if i in found) or (NO_VALUES,)


def relations(op: OpVersion) -> tuple[str, ...]:
    """Return the relations that a version knows.

    >>> from minuend import spec
    >>> relations(spec("onnx", 6))
    ('same', 'scalar', 'one-sided', 'legacy axis', 'legacy axis alone', 'zero-size', 'rank 0')
    """
    return tuple(row.name for row in _RELATIONS if _rule(op, row) is not None)


def cases(
    dialect_name: str,
    *,
    full: bool = True,
    constants: tuple[str, ...] = tuple(CONSTANTS),
    operator: str = SUBTRACT.name,
) -> Iterator[Case]:
    """Yield every case of a dialect: a version's types, in the order of its row, under each relation it knows.

    Args:
        dialect_name: ``"onnx"`` or ``"openvino"``. full: all pairs of 8-bit types; otherwise their edges.
        constants: names in :data:`CONSTANTS`. operator: its name in the array API standard.

    >>> next(iter(cases("onnx"))).id
    'Sub-1 of float16, same shapes, no constants'
    """
    for op in dialect(dialect_name).versions(operator):
        own = constants if op.computes.arity > 1 else tuple(which for which in constants if which in _OF_ONE)
        for name in op.types:
            for which in own:
                for relation in relations(op):
                    yield Case(op, TYPES[name], relation, which, full)


# ---- where a node of a model belongs --------------------------------------------------------------------------


def relation_of(node: Node) -> str | None:
    """Return the relation of a node's shapes; ``None`` where they are not known well enough to tell.

    Dims that are not known count as what they would have to be for the simplest relation only where they are the
    same symbol on both sides.

    Raises:
        SpecError: the node breaks a rule of its version.

    >>> from minuend import TensorType, spec
    >>> relation_of(Node(op=spec("onnx"), operands=(TensorType("uint8", (4, 3)), TensorType("uint8", (3,)))))
    'one-sided'
    """
    joined = validate(node)
    if node.op.computes.arity == 1:
        return _of_one(node.a.shape)
    a, b = node.a.shape, node.b.shape
    if a is None or b is None or joined.assumptions:
        return None
    if any(dim == 0 for dim in (*a, *b)):
        return "zero-size"
    if a == b:
        return "same" if a else "rank 0"
    if all(dim == 1 for dim in b) or all(dim == 1 for dim in a):
        return "scalar"
    return _separate(node, a, b, joined) or _sides(a, b, joined)


def _of_one(shape: Shape) -> str | None:
    """The relation of an operator's only operand."""
    if shape is None:
        return None
    return "zero-size" if any(dim == 0 for dim in shape) else "same" if shape else "rank 0"


def _separate(node: Node, a: tuple[Any, ...], b: tuple[Any, ...], joined: Broadcast) -> str | None:
    """The relation of a B that does not sit at A's end."""
    if joined.a_start or joined.b_start == len(a) - len(b):
        return None
    name = "legacy axis" if node.op.broadcasting == "onnx_legacy" else "pdpd"
    try:
        numpy(a, b)
    except SpecError:
        return f"{name} alone"
    return name


def _sides(a: tuple[Any, ...], b: tuple[Any, ...], joined: Broadcast) -> str:
    shape: Shape = joined.shape
    grown = [len(own) != len(shape or ()) or tuple(own) != shape for own in (a, b)]
    return "two-sided" if all(grown) else "one-sided"


def count(case: Case) -> int:
    """Return how many pairs of operands a case holds."""
    return sum(math.prod(operation.expected.shape) for operation in case.operations)
