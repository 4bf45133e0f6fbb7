"""Where an operator stands in a model: each node with what its operands can hold, and which are constants of the model.

A dialect that has models has an ``occurrences.py``, with the functions of :class:`Occurring`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast

from minuend.core.elements import ElementType
from minuend.errors import SpecError, Unsupported
from minuend.files.streaming import reading
from minuend.models.constants import Constants
from minuend.models.flow import Flow
from minuend.models.folding import FOLLOWED, Made, computed, makers
from minuend.models.matching import matches
from minuend.models.matching.match import Match
from minuend.models.opening import M_contra, Model
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.models.ranges.interval import Range, full, of_array
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.operators.value_classes import reachable
from minuend.standards.abilities import Ability
from minuend.standards.node import Node
from minuend.standards.version import OpVersion

Array = reading.Array


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """One node of a judged operator in a model.

    Attributes:
        op: the version that governs it. name: the node's own, or ``""``. where: its place in its file.
        node: the node, or why there is none: a type that subtraction does not take, or one that is not known.
        operands: what each of them can hold. constants: the positions of those that are fixed in the model.
        purpose: what it is there for, in words. notes: what else a reader should know of it.
        matches: the patterns around it in the graph.
        made_of_open: whether its operands are made of values of open shapes, whatever their own shapes are.
        in_attention: whether it lies within attention, or behind it, which some runtimes compute in one kernel.
        in_body: whether it stands in the body of an If or a Loop, at whatever depth.
        zero_sign_lost: whether all that reads its result makes the same of both zeros.
        added: the stored numbers that nodes of its graph add, negated where they subtract them.
        violations: kinds of rules that its model breaks and some runtimes insist on, ways in which it stores constants
            that some do not read, and ``"two constants of uint8"``.
        foreign: the operators of its model that neither ONNX nor a function of the model defines.
        makers: the operators that make its constants, each with the type of its result, but for those that every
            runtime computes while it loads a model.
        unfolded: what it is where a runtime computes those when the model runs; ``None`` where there are none.
        fixed: the elements of each operand that is stored in the model; queried seldom, for it reads them.
        live: the node itself, as the dialect's ``fixing`` rewrites it; ``None`` where it cannot.
        known: what was found out of it, for :func:`known_of`; an occurrence that differs in anything has its own.
    """

    op: OpVersion
    name: str
    where: str
    node: Node | SpecError | Unsupported
    operands: tuple[Range, ...]
    constants: Constants
    purpose: str
    notes: tuple[str, ...] = ()
    matches: tuple[Match, ...] = ()
    made_of_open: bool = False
    in_attention: bool = False
    in_body: bool = False
    zero_sign_lost: bool = False
    added: frozenset[float] = frozenset()
    fixed: Callable[[], tuple[Array | None, ...]] = lambda: (None, None)
    violations: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    makers: frozenset[Made] = frozenset()
    unfolded: Occurrence | None = None
    live: object = None
    known: dict[Hashable, tuple[object, object]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def copy(self, *, fixed: Callable[[], tuple[Array | None, ...]], live: object) -> Occurrence:
        """Return the same occurrence in an equal model."""
        unfolded = None if self.unfolded is None else self.unfolded.copy(fixed=fixed, live=live)
        found = replace(self, fixed=fixed, live=live, unfolded=unfolded)
        object.__setattr__(found, "known", self.known)
        return found

    @property
    def a(self) -> Range:
        return self.operands[0]

    @property
    def b(self) -> Range:
        return self.operands[1]

    @property
    def two_constants(self) -> bool:
        """Whether it has two operands, both of which are constants."""
        return len(self.constants) > 1

    @functools.cached_property
    def dynamic(self) -> bool:
        """Whether shapes of its operands are known only when it runs."""
        if not isinstance(self.node, Node):
            return False
        shapes = [one.shape for one in self.node.operands]
        return any(shape is None or any(not isinstance(dim, int) for dim in shape) for shape in shapes)


P = ParamSpec("P")
T = TypeVar("T")


def known_of(function: Callable[Concatenate[Occurrence, P], T]) -> Callable[Concatenate[Occurrence, P], T]:
    """Return a function of an occurrence that computes once what it is called for again with the same objects.

    A verdict, the choice of what helps against it, and that with a hint, need the same of one occurrence.
    """

    @functools.wraps(function)
    def found(occurrence: Occurrence, /, *args: P.args, **kwargs: P.kwargs) -> T:
        given = (*args, *kwargs.values())
        key = (function, *kwargs, *(one if isinstance(one, _BY_VALUE) else id(one) for one in given))
        if key not in occurrence.known:  # beside what was given, for an object has its id while it is kept
            occurrence.known[key] = function(occurrence, *args, **kwargs), given
        return cast(T, occurrence.known[key][0])

    return found


_BY_VALUE = (str, bool, tuple, frozenset, type(None))
"""What is the same where it is equal."""


@known_of
def value_classes(occurrence: Occurrence, operator: Operator, element: ElementType) -> tuple[str, ...]:
    """Return the value classes that an occurrence's operands can reach under an operator; see :func:`reachable`."""
    return reachable(operator, element, *occurrence.operands)


class Occurring(Protocol[M_contra]):
    """A dialect's ``occurrences.py``; one that has ``state``, as :func:`state_of`, has equal models judged once."""

    def occurrences(
        self, model: M_contra, assumed: Assumptions, operators: Collection[Operator], /
    ) -> Iterator[Occurrence]:
        """Yield every node of some operators; a dialect that converts no other yields subtractions alone."""

    def names(self, model: M_contra, /) -> Collection[str]:
        """Return the names of the inputs and values that something can be assumed of."""


OCCURRENCES = Ability[Occurring[Model]]("occurrences")


def constants_of(*operands: Range) -> Constants:
    """Return the positions of operands that are constants."""
    return tuple(i for i, one in enumerate(operands) if one.constant)


def as_computed(flow: Flow, name: str, operand: Range) -> Range:
    """Return what a constant holds that nodes make of stored ones; of any other operand what is known of it."""
    if operand.dtype not in FOLLOWED or not operand.constant or name in flow.constants:
        return operand
    found = computed(flow, name)
    if found is None:
        return operand
    return replace(of_array(found, operand.dtype, operand.why), assumptions=operand.assumptions)


def with_unfolded(occurrence: Occurrence, flow: Flow, index: int) -> Occurrence:
    """Return an occurrence with what it is where its constants are made while the model runs.

    Args:
        occurrence: it. flow: its scope. index: the number of its node there.
    """
    inputs = flow.steps[index][1]
    known = {i: makers(flow, inputs[i : i + 1]) for i in occurrence.constants if i < len(inputs)}
    made = {name: maker for one in known.values() for name, maker in one.items()}
    if not made:
        return occurrence
    later = replace(flow, made_later=frozenset(made))
    operands = tuple(
        replace(one, constant=one.constant and not known.get(i)) for i, one in enumerate(occurrence.operands)
    )
    unfolded = replace(occurrence, operands=operands, constants=constants_of(*operands), matches=matches(later, index))
    return replace(occurrence, makers=frozenset(made.values()), unfolded=unfolded)


def typed(range_: Range, dtype: str | None, why: str = "input") -> Range:
    """Return a range of a type that is known elsewhere: all of its values where the range knows none."""
    return range_ if range_.dtype == dtype or dtype is None else full(dtype, why)


def occurrences(
    model: Model, assumed: Assumptions = NONE, operators: Collection[Operator] = (SUBTRACT,)
) -> Iterator[Occurrence]:
    """Yield every node of some operators of a model of any dialect.

    Args:
        model: the model. assumed: what is known of values; of names that it lacks nothing is. operators: those that
            are judged; a dialect that converts no other yields subtractions alone.
    """
    return OCCURRENCES.required(model.dialect).occurrences(model, assumed, operators)


def state_of(model: Model, assumed: Assumptions, operators: Collection[Operator]) -> Hashable | None:
    """Return what models have alike whose occurrences are equal; ``None`` where that is not known."""
    state = getattr(OCCURRENCES.required(model.dialect), "state", None)
    found: Hashable | None = None if state is None else state(model, assumed, operators)
    return found


def value_names(model: Model) -> Collection[str]:
    """Return the names of the inputs and values of a model that something can be assumed of."""
    return OCCURRENCES.required(model.dialect).names(model)
