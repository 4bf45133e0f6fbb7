"""Graph cases: a subtraction with one adjacent operator, run as it is; :mod:`.pattern_answers` says what that shows.

A runtime may join a subtraction with what makes its operands or reads its result, and compute both otherwise. So the
two are run together, unchanged, and the adjacent operator is run alone; what is expected is that operator's own answer
with the contract's subtraction before or behind it. Nothing inside is watched: a value that is an output is not joined.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from minuend.arrays import functions
from minuend.core.elements import TYPES, ElementType, of_numpy
from minuend.errors import ShapeError
from minuend.models.patterns import Pattern
from minuend.operators import codes as of_codes
from minuend.operators.value_classes import largest, least_normal
from minuend.runtimes.answers import EVERY, Answer
from minuend.runtimes.probing import PROBING, GraphProbing
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Output, Refused, Runtime
from minuend.runtimes.table import DEFAULTS, DYNAMIC, STATIC, Answers, Key, pattern_key
from minuend.runtimes.values import Codes


@dataclass(frozen=True, slots=True)
class Feed:
    """An input of a case: element type (or ``"bool"``), shape, and which values it is given.

    ``values`` is ``"any"``, ``"finite"``, ``"positive"``, or ``"fixed"`` for ``elements``.
    """

    dtype: str
    shape: tuple[int, ...]
    values: str = "any"
    elements: Any = None


@dataclass(frozen=True, slots=True)
class GraphCase:
    """One subtraction with one adjacent operator.

    Attributes:
        pattern: what is run. form: see :mod:`minuend.models.matching`. dtype: the subtraction's element type.
        how: what the dialect builds it from. mixes: whether an element of the result depends on several differences.
        channels: whether a constant has a number for each channel rather than for each of the last axis.
        dynamic: whether shapes are left open. hint: the precision that the runtime is set to, or ``""``.
        power: the number of a constant that is a power of two.
        declared: whether the model says the shapes of its outputs, on which some runtimes insist.
        by_default: whether it is of runtimes alone that have a precision of their own by default, in which it is run.
    """

    pattern: Pattern
    dtype: str
    how: tuple[Any, ...]
    form: str = ""
    mixes: bool = False
    channels: bool = False
    dynamic: bool = False
    hint: str = ""
    power: float | None = None
    declared: bool = False
    by_default: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A model: its bytes, and the names of its inputs and outputs."""

    data: bytes
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """A case as models.

    Attributes:
        whole: all of it. before, behind: what makes operands, and what reads the difference, which is its input
            :data:`DIFFERENCE`; ``None`` where there is nothing.
        feeds: the inputs by name. operands: A and B: a name, or a constant's elements.
        terms: the same of every hole and constant of the pattern, in its order.
        axes: along which an element of the result depends on several of its inputs.
    """

    whole: Part
    before: Part | None
    behind: Part | None
    feeds: Mapping[str, Feed]
    operands: tuple[Any, ...]
    terms: tuple[Any, ...]
    axes: tuple[int, ...] = ()


DIFFERENCE = "d"
"""What the subtraction's result is called."""

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Ran:
    """A case on some inputs.

    Attributes:
        fed: the inputs. operands: A, B and their difference. got, expected: the result.
    """

    fed: Mapping[str, Array]
    operands: tuple[Array, Array, Array]
    got: Output
    expected: Output


def run_case(
    case: GraphCase, runtime: Runtime, form: str, built: Built, fed: dict[str, Array], inputs: Any
) -> Ran | Answers | None:
    """Run a case on inputs, which a key stands for.

    Returns:
        What came; the answer, where that can be compared with nothing; ``None`` where the runtime does not run the
        adjacent operator, or gives another type or shape than the model says.
    """
    element = TYPES[case.dtype]
    if built.before is not None:
        key = inputs, [feed.values for feed in built.feeds.values()]
        made = _ask_again(runtime, form, built.before, fed, case.hint, key)
        if isinstance(made, Refused) or any(one.element is not element for one in made):
            return None
        fed |= {name: one.codes.view(element.memory) for name, one in zip(built.before.outputs, made, strict=True)}
    a, b = (np.asarray(fed[one] if isinstance(one, str) else one) for one in built.operands)
    try:
        difference = functions.subtract(a, b)
    except ShapeError:  # of shapes that the model does not have
        return None
    expected = Output(element, bits(difference))
    whole = _query_part(runtime, form, built.whole, fed, case.hint)
    if built.behind is not None:
        behind = _query_part(runtime, form, built.behind, {**fed, DIFFERENCE: difference}, case.hint)
        if isinstance(behind, Refused):
            return None
        expected = behind[0]
    if isinstance(whole, Refused):
        return {EVERY: Answer("not-implemented", message=whole.message)} if case.how[0] == "inside" else None
    got = whole[0].codes
    if whole[0].element is not expected.element:
        message = f"the result is {whole[0].element}, not {expected.element}"
        return {EVERY: Answer("different-numbers", message=message)}
    if got.shape != expected.codes.shape:
        message = f"the result has shape {got.shape}, not {expected.codes.shape}"
        return {EVERY: Answer("different-numbers", message=message)}
    return Ran(fed, (a, b, difference), whole[0], expected)


class _Latest(threading.local):
    """What adjacent operators answered alone, of one thread."""

    def __init__(self) -> None:
        self.known: dict[Any, list[Output] | Refused] = {}


_LATEST = _Latest()


def _ask_again(
    runtime: Runtime, form: str, part: Part, fed: Mapping[str, Array], hint: str, inputs: Any
) -> list[Output] | Refused:
    """What the adjacent operator answers alone; the cases of one follow each other and share it."""
    key = (id(runtime), part.data, hint, str(inputs))
    known = _LATEST.known
    if key not in known:
        while len(known) >= 32:
            del known[next(iter(known))]
        known[key] = _query_part(runtime, form, part, fed, hint)
    return known[key]


# ---- values -----------------------------------------------------------------------------------------------------


def elements(feed: Feed, name: str, place: int, again: int = 0, edge: float | None = None) -> Array:
    """Return the elements of an input, the same at every call.

    The first ones hold the edges of the type, so that over the first three inputs every edge meets every other; others
    are random.

    Args:
        feed: the input. name: its name, which random numbers hang on. place: its number among the inputs.
        again: 0, or another number for other elements, all of them random.
        edge: a number that is none, or infinite, for one element in some rows of those that are finite else.
    """
    source = np.random.default_rng([*f"{name} {feed.dtype}".encode(), *([again] if again else [])])
    count = math.prod(feed.shape)
    if feed.values == "fixed":
        memory = np.bool_ if feed.dtype == "bool" else TYPES[feed.dtype].memory
        return np.asarray(feed.elements, memory).reshape(feed.shape)
    if feed.dtype == "bool":
        return source.integers(0, 2, feed.shape).astype(np.bool_)
    element = TYPES[feed.dtype]
    if element.is_integer:
        found = source.integers(0, 20, count).astype(element.memory)
        anything = source.integers(0, 1 << 32, count, dtype=np.uint64)
    else:
        # Where numbers of a row are summed up, they are of one size: else the largest is all there is to the sum.
        each = count if feed.values == "any" else 1 if again else math.prod(feed.shape[:-1])
        found = source.standard_normal(count)
        found = np.abs(found) if feed.values == "positive" else found
        found *= np.repeat(np.exp2(source.integers(-6, 7, each)), count // max(1, each))
        found = found.astype(np.float32).astype(element.memory)
    if feed.values != "any":
        if edge is not None:
            found[::_EDGE_EVERY] = edge
        return found.reshape(feed.shape)
    codes = bits(found).copy()
    if element.is_integer:
        anywhere = source.integers(0, 4, count) == 0
        codes[anywhere] = (anything[anywhere] & np.uint64((1 << element.bits) - 1)).astype(codes.dtype)
    edges = _edges(element)
    some = 0 if again else min(count, len(edges) ** 3)
    codes[:some] = edges[(np.arange(some) // len(edges) ** (place % 3)) % len(edges)]
    return codes.view(element.memory).reshape(feed.shape)


_EDGE_EVERY = 53
"""Every n-th element is an edge; n is prime, so that one stands at each place of a row."""


@functools.cache
def _edges(element: ElementType) -> Codes:
    """Ten codes of an element type or eleven, at and next to what arithmetic ends at."""
    if element.is_integer:
        low, high = element.limits
        numbers: list[Any] = [0, 1, 2, low, low + 1, high, high - 1, high // 2, high // 3, 3]
    else:
        least, one = least_normal(element), Fraction(1)
        most = largest(element)
        numbers = [0.0, -0.0, math.inf, -math.inf, math.nan, most, -most, least / 4, -least, one, -one / 3]
    return np.array([of_codes.encode(element, number) for number in numbers], f"u{element.itemsize}")


def bits(array: Array) -> Codes:
    """Return an array's elements as codes."""
    return array.view(f"u{array.dtype.itemsize}")


def _is_nan(array: Array) -> Array:
    found: Array = np.not_equal(array, array)
    return found


def _query_part(runtime: Runtime, form: str, part: Part, fed: Mapping[str, Array], hint: str) -> list[Output] | Refused:
    given = []
    for name in part.inputs:
        array = fed[name]
        element = of_numpy(array.dtype)
        given.append((name, element, array.view(np.uint8) if element is None else bits(array)))
    return runtime.query(form, part.data, b"", given, hint, count=len(part.outputs))


# ---- all of them ------------------------------------------------------------------------------------------------


def queried(exact: str) -> Iterator[tuple[Key, GraphCase]]:
    """Yield every graph case with its key; ``exact`` is the hint that keeps float32, or ``""`` where there is none."""
    for dtype in graph_probing().GRAPH_TYPES:
        for case in graph_probing().graph_cases(dtype):
            for setting in (STATIC, DYNAMIC):
                one = replace(case, dynamic=setting == DYNAMIC)
                key = pattern_key(case.pattern, case.dtype, setting, case.form)
                if not case.by_default:
                    yield key, replace(one, hint=exact)
                if exact and not case.form and not TYPES[dtype].is_integer:
                    yield key._replace(setting=DEFAULTS[setting]), one


def rows_for(runtime: Runtime) -> list[tuple[Key, GraphCase]]:
    """Return every graph case that a runtime is queried with, and its key."""
    known = quirks(runtime.name)
    rows = queried(next(iter(known.hints), ""))
    if "output without shape" not in known.strict:
        return list(rows)
    return [(key, replace(case, declared=True)) for key, case in rows]


@functools.cache
def graph_probing() -> GraphProbing:
    """Return the dialect whose models query graphs."""
    return cast(GraphProbing, next(one for _, one in PROBING.every() if hasattr(one, "graph_cases")))
