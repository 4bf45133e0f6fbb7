"""Graph cases: a subtraction with one adjacent operator, run as it is.

A runtime may join a subtraction with what makes its operands or reads its result, and compute both otherwise. So the
two are run together, unchanged, and the adjacent operator is run alone; what is expected is that operator's own answer
with the contract's subtraction before or behind it. Nothing inside is watched: a value that is an output is not joined.
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from minuend.arrays import functions
from minuend.core.elements import TYPES, ElementType, of_numpy
from minuend.errors import ShapeError
from minuend.models.matching import NARROW, WITHIN
from minuend.models.patterns import Pattern, can_enlarge_errors, is_alone
from minuend.operators import SUBTRACT
from minuend.operators import codes as of_codes
from minuend.operators.value_classes import largest, least_normal
from minuend.runtimes import values
from minuend.runtimes.answers import EVERY, Answer, worse
from minuend.runtimes.probing import PROBING, GraphProbing
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Output, Refused, Runtime
from minuend.runtimes.severity import ROUNDING, SEVERITIES, Severity, distance, rank, severity
from minuend.runtimes.table import DEFAULTS, DYNAMIC, NOTHING, STATIC, Answers, Key, Table, joined, pattern_key
from minuend.runtimes.values import Codes
from minuend.runtimes.witness import Witness

_CLASSIFIED, _FARTHEST = 80, 8
"""Pairs that deviate, up to which each one's value class is reported; and of the farthest results, how many more."""

_NARROW_DRAWS = 8
"""Sets of values of a narrow type: behind an operator that jumps, few of them show that a rounding is left out."""

_TRIED, _MOST_OPERANDS = 4, 64
"""How many elements are tried as witnesses; and the numbers of the inputs that one has, at most."""


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


def answer(case: GraphCase, runtime: Runtime, form: str, built: Built) -> Answers | None:
    """Query a runtime with a case.

    Returns:
        The answer for each value class that deviates; ``None`` where the runtime does not run that operator, so that
        nothing can be said of the two.
    """
    found: Answers = {}
    for again in range(_NARROW_DRAWS if case.dtype in NARROW else 1):
        answers = _answer_on(case, runtime, form, built, again)
        if answers is None:
            return None
        found = joined(found, answers)
    return found


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


def _answer_on(case: GraphCase, runtime: Runtime, form: str, built: Built, again: int) -> Answers | None:
    """The answer on one set of values."""
    fed = {name: elements(feed, name, i, again) for i, (name, feed) in enumerate(built.feeds.items())}
    ran = run_case(case, runtime, form, built, fed, again)
    if not isinstance(ran, Ran):
        return ran
    found = classified(case, built, ran)
    return {name: _with_witness(one, ran, case, runtime, form, built) for name, one in found.items()}


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
        made = _ask_again(runtime, form, built.before, fed, case.hint, inputs)
        if isinstance(made, Refused) or any(one.element is not element for one in made):
            return None
        fed |= {name: one.codes.view(element.memory) for name, one in zip(built.before.outputs, made, strict=True)}
    a, b = (np.asarray(fed[one] if isinstance(one, str) else one) for one in built.operands)
    try:
        difference = functions.subtract(a, b)
    except ShapeError:  # of shapes that the model does not have
        return None
    expected = Output(element, _bits(difference))
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


# ---- what deviates ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Deviating:
    """What deviates of one value class.

    Attributes:
        answer: with every severity that was seen. places: of elements of the result, one that shows the worst first.
    """

    answer: Answer
    places: Sequence[int]


def classified(case: GraphCase, built: Built, ran: Ran) -> Mapping[str, Deviating]:
    """Return what deviates, by value class; :data:`EVERY` where an element depends on several differences."""
    a, b, difference = ran.operands
    element = TYPES[case.dtype]
    got, wanted = ran.got.codes, ran.expected.codes
    wrong = np.flatnonzero(_unlike(case, built, ran))
    if not wrong.size:
        return {}
    chosen = wrong[:: max(1, len(wrong) // _CLASSIFIED)].tolist()
    farthest = _farthest(ran.got, wanted, wrong)
    groups: dict[str, list[int]] = {}
    pairs: set[tuple[int, int]] = set()
    if case.mixes or difference.shape != got.shape:
        groups[EVERY] = [*chosen, *farthest]
    else:
        x, y = (_bits(np.ascontiguousarray(np.broadcast_to(one, got.shape))) for one in (a, b))
        pairs = {(int(x.flat[i]), int(y.flat[i])) for i in wrong.tolist()}
        for i in dict.fromkeys([*chosen, *farthest]):
            name = values.class_of(SUBTRACT, element, int(x.flat[i]), int(y.flat[i]))
            groups.setdefault(name, []).append(i)
    found = {name: _deviating(built, ran, groups[name], case.pattern) for name in sorted(groups)}
    return found if EVERY in found else {name: _with_only(one, name, element, pairs) for name, one in found.items()}


def _with_only(found: Deviating, name: str, element: ElementType, pairs: Collection[tuple[int, int]]) -> Deviating:
    """What deviates of a class, with the operands that all of it had, where they were the same."""
    if len(pairs) > _CLASSIFIED:
        return found
    own = [pair for pair in pairs if values.class_of(SUBTRACT, element, *pair) == name]
    if len(own) != 1:
        return found
    only = tuple(values.number(element, code) for code in own[0])
    return replace(found, answer=replace(found.answer, only=only))


def _unlike(case: GraphCase, built: Built, ran: Ran) -> Array:
    """Where results differ; what a reader makes of a NaN is its own, unless it differs between nodes."""
    got, wanted, difference = ran.got.codes, ran.expected.codes, ran.operands[2]
    unlike: Array = got != wanted if ran.got.element is None else values.differ(ran.got.element, got, wanted)
    one_by_one = not case.mixes and difference.shape == got.shape
    if built.behind is not None and case.form != WITHIN and one_by_one and not TYPES[case.dtype].is_integer:
        unlike = unlike & ~_is_nan(difference)
    return unlike


def _farthest(got: Output, wanted: Codes, wrong: Array) -> list[int]:
    """The elements whose results are farthest from the expected ones."""
    element = got.element
    if element is None or element.format is None or not element.format.signed:
        return []
    sign = 1 << (element.bits - 1)
    places = []
    for codes in (got.codes.flat[wrong], wanted.flat[wrong]):
        sizes = (codes & np.asarray(sign - 1, codes.dtype)).astype(np.float64)
        sizes[sizes > of_codes.encode(element, largest(element))] = np.nan  # no finite number
        places.append(np.where(codes & np.asarray(sign, codes.dtype), -sizes, sizes))
    far = np.nan_to_num(np.abs(places[0] - places[1]), nan=-1.0)
    found: list[int] = wrong[np.argsort(-far, kind="stable")[:_FARTHEST]].tolist()
    return found


def _deviating(built: Built, ran: Ran, places: Sequence[int], pattern: Pattern) -> Deviating:
    """What some elements of a class show."""
    shape = ran.got.codes.shape
    terms, known = _spread(built.terms, ran.fed, shape), _spread(ran.operands, ran.fed, shape)
    seen: dict[Severity, tuple[int, int]] = {}
    for i in dict.fromkeys(places):
        operands = [_number(one, i) for one in (*terms, *known) if one is not None]
        name, ulps = _severity(ran, i, operands)
        if name not in seen or ulps > seen[name][0]:
            seen[name] = ulps, i
    worst_first = sorted(seen, key=rank, reverse=True)
    ulps = _at_most(max(ulps for ulps, _ in seen.values()))
    answer = as_can_be(Answer("different-numbers", severities=tuple(reversed(worst_first)), ulps=ulps), pattern)
    return Deviating(answer, list(dict.fromkeys([seen[worst_first[0]][1], *places])))


def as_can_be(answer: Answer, pattern: Pattern) -> Answer:
    """Return an answer with what other numbers can make of it: where errors are enlarged, no distance is a bound."""
    if not can_enlarge_errors(pattern) or not {"rounding", "numbers"} & {*answer.severities}:
        return answer
    found = {*answer.severities} - {"rounding"} | {"numbers"}
    return replace(answer, severities=tuple(one for one in SEVERITIES if one in found), ulps=0)


def _severity(ran: Ran, place: int, operands: Sequence[float]) -> tuple[Severity, int]:
    """How bad one element is, and how far from the expected one in ulps."""
    element = ran.got.element
    if element is None:  # truth values
        return "numbers", 0
    got, expected = (values.number(element, int(one.codes.flat[place])) for one in (ran.got, ran.expected))
    name = severity(element, operands, got, expected)
    if element.is_integer or name in ("sign-of-zero", "edge"):
        return name, 0
    ulps = distance(element, got, expected)
    if name == "subnormal" and got != 0 and ulps <= ROUNDING:  # in a pattern that is a rounding as any other
        name = "rounding"
    return name, 0 if name == "subnormal" else ulps


def _spread(terms: Sequence[Any], fed: Mapping[str, Array], shape: tuple[int, ...]) -> list[Array | None]:
    """Terms with an element for each of a result's; ``None`` for one that has none."""
    found: list[Array | None] = []
    for one in terms:
        array = np.asarray(fed[one] if isinstance(one, str) else one)
        try:
            found.append(np.broadcast_to(array, shape))
        except ValueError:
            found.append(None)
    return found


def _number(array: Array, place: int) -> float:
    """An element as a Python number."""
    element = of_numpy(array.dtype)
    if element is None:  # a truth value
        return int(array.flat[place])
    code = np.asarray(array.flat[place]).view(f"u{element.itemsize}")
    return values.number(element, int(code) & ((1 << element.bits) - 1))


def _with_witness(found: Deviating, ran: Ran, case: GraphCase, runtime: Runtime, form: str, built: Built) -> Answer:
    """An answer with a witness: numbers that show the deviation where each fills an input."""
    answer, only = found.answer, found.answer.only
    for place in found.places[:_TRIED]:
        fed = {
            name: ran.fed[name] if feed.values == "fixed" else _filled(ran, name, place, built.axes)
            for name, feed in built.feeds.items()
        }
        key = [array.tobytes() for array in fed.values()]
        again = run_case(case, runtime, form, built, fed, key)
        shown = _shown(case, built, again) if isinstance(again, Ran) else None
        if shown is not None:
            shown = replace(as_can_be(shown, case.pattern), only=only)  # inputs that are filled have others
            answer = worse(answer, shown) if answer.witness is not None else worse(shown, answer)
            if shown.severities[-1] == answer.severities[-1]:
                return replace(answer, witness=shown.witness)
    return answer


def _filled(ran: Ran, name: str, place: int, axes: Collection[int]) -> Array:
    """An input with what one element of the result is made of all over it; where that is not known, any element."""
    array = ran.fed[name]
    kept = _along(array, place, axes, ran.got.codes.shape)
    return np.array(np.broadcast_to(kept, array.shape))


def _along(array: Array, place: int, axes: Collection[int], shape: tuple[int, ...]) -> Array:
    """The elements of an array along axes through an element of a result, with an axis for each of the result's."""
    (spread,) = _spread([array], {}, shape)
    if spread is None:
        return np.asarray(array.reshape(-1)[place % array.size])
    index = np.unravel_index(place, shape)
    kept: Array = spread[
        tuple(slice(None) if i in axes else slice(int(one), int(one) + 1) for i, one in enumerate(index))
    ]
    return kept if axes else kept.reshape(())


def _shown(case: GraphCase, built: Built, ran: Ran) -> Answer | None:
    """What the worst element of a case shows whose inputs are filled."""
    shape, alone = ran.got.codes.shape, is_alone(case.pattern)
    wrong = np.flatnonzero(_unlike(case, built, ran))
    if not wrong.size:
        return None
    fixed = [name for name, feed in built.feeds.items() if feed.values == "fixed"]
    found: list[tuple[int, Severity, int, int, tuple[float, ...]]] = []
    for i in dict.fromkeys([*wrong[:_TRIED].tolist(), *_farthest(ran.got, ran.expected.codes, wrong)[:_TRIED]]):
        operands: list[float] = []
        for one in built.operands if alone else built.terms:
            array = np.asarray(ran.fed[one] if isinstance(one, str) else one)
            if isinstance(one, str) and one in built.feeds and one not in fixed:
                array = _along(array, i, built.axes, shape).reshape(-1)
                operands += [_number(array, k) for k in range(array.size)]
            else:
                operands += [_number(each, i) for each in _spread([array], {}, shape) if each is not None]
        known = [_number(one, i) for one in _spread(ran.operands, {}, shape) if one is not None]
        name, ulps = _severity(ran, i, [*operands, *known])
        found.append((rank(name), name, ulps, i, tuple(operands)))
    _, name, ulps, i, shown = max(found, key=lambda one: one[0])
    if len(shown) > _MOST_OPERANDS:
        return None
    got, expected = (_value(one, i) for one in (ran.got, ran.expected))
    return Answer("different-numbers", Witness(SUBTRACT, shown, got, expected), severities=(name,), ulps=_at_most(ulps))


def _at_most(ulps: int) -> int:
    """The next power of two, up to 2^62: more than that, no sample tells."""
    return min(1 << (ulps - 1).bit_length(), 1 << 62) if ulps else 0


def _value(output: Output, place: int) -> float:
    """An element of a result as a Python number."""
    code = int(output.codes.flat[place])
    return code if output.element is None else values.number(output.element, code)


# ---- values -----------------------------------------------------------------------------------------------------


def elements(feed: Feed, name: str, place: int, again: int = 0) -> Array:
    """Return the elements of an input, the same at every call.

    The first ones hold the edges of the type, so that over the first three inputs every edge meets every other; others
    are random.

    Args:
        feed: the input. name: its name, which random numbers hang on. place: its number among the inputs.
        again: 0, or another number for other elements, all of them random.
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
        bits = source.integers(0, 1 << 32, count, dtype=np.uint64)
    else:
        # Where numbers of a row are summed up, they are of one size: else the largest is all there is to the sum.
        each = count if feed.values == "any" else 1 if again else math.prod(feed.shape[:-1])
        found = source.standard_normal(count)
        found = np.abs(found) if feed.values == "positive" else found
        found *= np.repeat(np.exp2(source.integers(-6, 7, each)), count // max(1, each))
        found = found.astype(np.float32).astype(element.memory)
    if feed.values != "any":
        return found.reshape(feed.shape)
    codes = _bits(found).copy()
    if element.is_integer:
        anywhere = source.integers(0, 4, count) == 0
        codes[anywhere] = (bits[anywhere] & np.uint64((1 << element.bits) - 1)).astype(codes.dtype)
    edges = _edges(element)
    some = 0 if again else min(count, len(edges) ** 3)
    codes[:some] = edges[(np.arange(some) // len(edges) ** (place % 3)) % len(edges)]
    return codes.view(element.memory).reshape(feed.shape)


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


def _bits(array: Array) -> Codes:
    return array.view(f"u{array.dtype.itemsize}")


def _is_nan(array: Array) -> Array:
    found: Array = np.not_equal(array, array)
    return found


def _query_part(runtime: Runtime, form: str, part: Part, fed: Mapping[str, Array], hint: str) -> list[Output] | Refused:
    given = []
    for name in part.inputs:
        array = fed[name]
        element = of_numpy(array.dtype)
        given.append((name, element, array.view(np.uint8) if element is None else _bits(array)))
    return runtime.query(form, part.data, b"", given, hint, count=len(part.outputs))


# ---- all of them ------------------------------------------------------------------------------------------------


def queried(exact: str) -> Iterator[tuple[Key, GraphCase]]:
    """Yield every graph case with its key; ``exact`` is the hint that keeps float32, or ``""`` where there is none."""
    for dtype in graph_probing().GRAPH_TYPES:
        for case in graph_probing().graph_cases(dtype):
            for setting in (STATIC, DYNAMIC):
                one = replace(case, dynamic=setting == DYNAMIC)
                key = pattern_key(case.pattern, case.dtype, setting, case.form)
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


def query(
    runtime: Runtime, rows: Sequence[tuple[Key, GraphCase]], progress: Callable[[], None] | None = None
) -> dict[Key, Answers]:
    """Query a runtime with graph cases; what it cannot run is left out. ``progress`` is called after each."""
    found: dict[Key, Answers] = {}
    for key, case in rows:
        answers = answer(case, runtime, graph_probing().FORM, graph_probing().build(case))
        if answers is not None:
            found[key] = joined(found.get(key, {}), answers)
        if progress:
            progress()
    return found


def measure(
    runtime: Runtime,
    *,
    known: Table = NOTHING,
    types: Collection[str] = (),
    patterns: Collection[tuple[str, str]] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Query a runtime with graph cases; what it cannot run is left out.

    Args:
        runtime: the runtime. known: cases that are not queried again. types: only these element types; empty for all.
        patterns: only these, each an element type and what is printed of it, and operators by themselves; empty: all.
        progress: called with the number of cases done and of all.
    """
    rows = [row for row in rows_for(runtime) if row[0] not in known.cells and (not types or row[0].dtype in types)]
    if patterns:
        rows = [(key, case) for key, case in rows if is_alone(key.pattern) or (key.dtype, str(key.pattern)) in patterns]
    done = itertools.count(1)
    step = (lambda: progress(next(done), len(rows))) if progress else None
    cpus = [*known.cpus, *([runtime.cpu] if rows else [])]
    return Table({**known.patterns, **query(runtime, rows, step)}, tuple(dict.fromkeys(cpus)))


@functools.cache
def graph_probing() -> GraphProbing:
    """Return the dialect whose models query graphs."""
    return cast(GraphProbing, next(one for _, one in PROBING.every() if hasattr(one, "graph_cases")))
