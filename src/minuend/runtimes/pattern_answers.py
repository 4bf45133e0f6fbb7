"""What a graph case shows: the answers of its value classes, how bad they are, and the numbers that show it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minuend.core.elements import TYPES, ElementType, of_numpy
from minuend.models.flow import SHAPES
from minuend.models.matching.match import WITHIN
from minuend.models.matching.operator_groups import NARROW
from minuend.models.patterns import Op, Pattern, can_enlarge_errors, is_alone
from minuend.operators import SUBTRACT
from minuend.operators import codes as of_codes
from minuend.operators.operator import Value
from minuend.operators.value_classes import classes, largest
from minuend.runtimes import pattern_cases, values
from minuend.runtimes.answers import EVERY, Answer, worse
from minuend.runtimes.pattern_cases import Array, Built, Feed, GraphCase, Ran, elements, graph_probing, run_case
from minuend.runtimes.running import Output, Runtime
from minuend.runtimes.severity import ROUNDING, SEVERITIES, Severity, distance, rank, severity
from minuend.runtimes.table import NOTHING, Answers, Key, Table, joined
from minuend.runtimes.values import Codes
from minuend.runtimes.witness import Witness

_CLASSIFIED, _FARTHEST = 80, 8
"""Pairs that deviate, up to which each one's value class is reported; and of the farthest results, how many more."""

_NARROW_DRAWS = 8
"""Sets of values of a narrow type: behind an operator that jumps, few of them show that a rounding is left out."""

_TRIED, _MOST_OPERANDS = 4, 64
"""How many elements are tried as witnesses; and the numbers of the inputs that one has, at most."""


def answer(case: GraphCase, runtime: Runtime, form: str, built: Built, draws: int = 1) -> Answers | None:
    """Query a runtime with a case, on several sets of values: ``draws`` of them at least.

    Returns:
        The answer for each value class that deviates; ``None`` where the runtime does not run that operator, so that
        nothing can be said of the two.
    """
    found: Answers = {}
    for again in range(max(draws, _NARROW_DRAWS if case.dtype in NARROW else 1)):
        answers = _answer_on(case, runtime, form, built, again)
        if answers is None:
            return None
        found = joined(found, answers)
    if EVERY in found and _is_fine_in_range(case, runtime, form, built):
        names = [row.name for row in classes(SUBTRACT, TYPES[case.dtype]) if row.name != _IN_RANGE]
        return dict.fromkeys(names, found[EVERY])
    for name, edge in _EDGES if EVERY not in found and _avoids_edges(case, built) else ():
        for one in (_answer_on(case, runtime, form, built, 0, edge) or {}).values():
            found = joined(found, {name: one} if one.verdict == "different-numbers" else {})
    return found


_IN_RANGE = "in range"
_ENDS = (12, 100, 30_000, 2_000_000_000)
"""Magnitudes up to which numbers are drawn whose differences are in the range of most integer types."""


def _is_fine_in_range(case: GraphCase, runtime: Runtime, form: str, built: Built) -> bool:
    """Whether a case of integers is fine where all differences are in range, so that others alone make it deviate."""
    element = TYPES[case.dtype]
    tried = False
    for fed in _in_range(element, built.feeds) if element.is_integer else ():
        ran = run_case(case, runtime, form, built, fed, [array.tobytes() for array in fed.values()])
        if not isinstance(ran, Ran):
            return False
        a, b = (pattern_cases.bits(np.ascontiguousarray(one)) for one in np.broadcast_arrays(*ran.operands[:2]))
        pairs = set(zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True))
        if {values.class_of(SUBTRACT, element, *pair) for pair in pairs} == {_IN_RANGE}:
            tried = True
            if _unlike(case, built, ran).any():
                return False
    return tried


def _in_range(element: ElementType, feeds: Mapping[str, Feed]) -> Iterator[dict[str, Array]]:
    """Yield numbers for the inputs of a case: those of one are large, and those of others small or as large as half."""
    for end, which, half in itertools.product(_ENDS, feeds, (False, True)):
        if end > element.limits[1]:
            continue
        high = end // 2 if half else 2
        least = 0 if element.limits[0] == 0 else -high
        fed = {}
        for i, (name, feed) in enumerate(feeds.items()):
            ends = (end - end // 4, end + 1) if name == which else (least, high)
            fed[name] = elements(feed, name, i) if feed.values == "fixed" else _between(feed, name, ends)
        yield fed


def _between(feed: Feed, name: str, ends: tuple[int, int]) -> Array:
    """Whole numbers from one to another, for an input."""
    source = np.random.default_rng([*name.encode()])
    memory = np.bool_ if feed.dtype == "bool" else TYPES[feed.dtype].memory
    return source.integers(*ends, feed.shape).astype(memory)


_EDGES = (("infinite", math.inf), ("infinite", -math.inf), ("nan", math.nan))
"""Numbers of which one changes a whole row, and the value class that is possible where an operand can be one."""


def _avoids_edges(case: GraphCase, built: Built) -> bool:
    """Whether a case has had finite numbers alone so far, where one that is not changes others."""
    floats = not TYPES[case.dtype].is_integer
    return floats and case.mixes and any(feed.values == "finite" for feed in built.feeds.values())


def _answer_on(
    case: GraphCase, runtime: Runtime, form: str, built: Built, again: int, edge: float | None = None
) -> Answers | None:
    """The answer on one set of values."""
    fed = {name: elements(feed, name, i, again, edge) for i, (name, feed) in enumerate(built.feeds.items())}
    ran = run_case(case, runtime, form, built, fed, (again, edge))
    if not isinstance(ran, Ran):
        return ran
    found = classified(case, built, ran)
    return {name: _with_witness(one, ran, case, runtime, form, built) for name, one in found.items()}


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
        x, y = (pattern_cases.bits(np.ascontiguousarray(np.broadcast_to(one, got.shape))) for one in (a, b))
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
        unlike = unlike & ~np.not_equal(difference, difference)
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
    terms = [one for one in _spread([*built.terms, *ran.operands], ran.fed, shape) if one is not None]
    seen: dict[Severity, tuple[int, int]] = {}
    for i in dict.fromkeys(places):
        name, ulps = _moved_severity(ran, i, pattern) or _severity(ran, i, (_exact(one, i) for one in terms))
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


_MOVING = (
    *SHAPES, "Slice", "Split", "Concat", "Gather", "GatherElements", "GatherND", "Pad", "DepthToSpace", "SpaceToDepth",
)  # fmt: skip
"""Operators whose elements are those that they read, elsewhere."""


def _moved_severity(ran: Ran, place: int, pattern: Pattern) -> tuple[Severity, int] | None:
    """The same of an element that an operator moved, by the operands where it stood; ``None`` where it was not."""
    if not isinstance(pattern, Op) or pattern.judged or pattern.operator not in _MOVING:
        return None
    difference = ran.operands[2]
    alike = np.flatnonzero(_is_expected(difference, ran, place))
    spread = _spread(ran.operands, {}, difference.shape)
    if not alike.size or any(one is None for one in spread):
        return None
    found = [_severity(ran, place, [_exact(one, i) for one in spread if one is not None]) for i in alike[:_TRIED]]
    return max(found, key=lambda one: (rank(one[0]), one[1]))


def _severity(ran: Ran, place: int, operands: Iterable[Value]) -> tuple[Severity, int]:
    """How bad one element is, and how far from the expected one in ulps."""
    element = ran.got.element
    if element is None:  # truth values
        return "numbers", 0
    got, expected = (of_codes.decode(element, int(one.codes.flat[place])) for one in (ran.got, ran.expected))
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


def _exact(array: Array, place: int) -> Value:
    """An element's value: every float type's fits a Python float."""
    value = array.flat[place]
    return int(value) if array.dtype.kind in "biu" else float(value)


def _number(array: Array, place: int) -> float:
    """An element as the shortest decimal that its type reads back."""
    element = of_numpy(array.dtype)
    if element is None:  # a truth value
        return int(array.flat[place])
    code = np.asarray(array.flat[place]).view(f"u{element.itemsize}")
    return values.number(element, int(code) & ((1 << element.bits) - 1))


def _with_witness(found: Deviating, ran: Ran, case: GraphCase, runtime: Runtime, form: str, built: Built) -> Answer:
    """An answer with a witness: numbers that show the deviation where each fills an input.

    Where none does, numbers are tried that an operator moved to where the deviation shows; then, as of a mean, those
    along the last axis, which each row has.
    """
    last = (len(ran.got.codes.shape) - 1,)
    along_last = [replace(built, axes=last)] if built.axes != last and last[0] >= 0 else []
    ways = [(_filled, built), (_filled_with_moved, built), *((_filled, one) for one in along_last)]
    answer = found.answer
    for filled, one in ways:
        answer = _shown_by_filling(replace(found, answer=answer), ran, case, runtime, form, one, filled)
        if answer.witness is not None:
            break
    return answer


_Filled = Callable[[Ran, str, int, Built], Array]


def _shown_by_filling(
    found: Deviating, ran: Ran, case: GraphCase, runtime: Runtime, form: str, built: Built, filled: _Filled
) -> Answer:
    """An answer with a witness: what elements of the result are made of all over the inputs, where that shows it."""
    answer, only = found.answer, found.answer.only
    for place in found.places[:_TRIED]:
        fed = {
            name: ran.fed[name] if feed.values == "fixed" else filled(ran, name, place, built)
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


def _filled(ran: Ran, name: str, place: int, built: Built) -> Array:
    """An input with what one element of the result is made of all over it; where that is not known, any element."""
    array = ran.fed[name]
    kept = _along(array, place, built.axes, ran.got.codes.shape)
    return np.array(np.broadcast_to(kept, array.shape))


def _filled_with_moved(ran: Ran, name: str, place: int, built: Built) -> Array:
    """An input with the number all over it that an element of the result is made of, wherever it stood before.

    The reader of a difference has moved one that has the element's bits; what makes an operand has moved one that has
    the operand's.
    """
    array, difference = ran.fed[name], ran.operands[2]
    alike = np.flatnonzero(_is_expected(difference, ran, place))
    if not alike.size:
        return _filled(ran, name, place, built)
    at = place if place in alike else int(alike[0])
    own = [i for i, one in enumerate(built.operands) if isinstance(one, str) and one == name]
    made = [i for i, one in enumerate(built.operands) if isinstance(one, str) and one not in built.feeds]
    for (spread,) in (_spread([ran.operands[i]], {}, difference.shape) for i in own or made):
        if spread is not None and spread.dtype == array.dtype:
            value = np.asarray(spread.flat[at])
            if (pattern_cases.bits(array) == pattern_cases.bits(value)).any():
                return np.full_like(array, value)
    return _filled(ran, name, place, built)


def _is_expected(difference: Array, ran: Ran, place: int) -> Array:
    """Which differences have the bits of an element that the result should have."""
    if ran.expected.element is not of_numpy(difference.dtype):
        return np.zeros(0, np.bool_)
    codes = pattern_cases.bits(np.ascontiguousarray(difference)).reshape(-1)
    return np.asarray(codes == ran.expected.codes.flat[place])


def _along(array: Array, place: int, axes: Collection[int], shape: tuple[int, ...]) -> Array:
    """The elements of an array along axes through an element of a result, with an axis for each of the result's."""
    (spread,) = _spread([array], {}, shape)
    index = np.unravel_index(place, shape)
    if spread is None:
        reduced = array.ndim == len(shape) and all(many in (n, 1) for n, many in zip(array.shape, shape, strict=True))
        if axes and reduced:
            row: Array = array[tuple(_all_or_one(int(k), many) for k, many in zip(index, shape, strict=True))]
            return row if row.size < _MOST_OPERANDS else row[(0,) * (row.ndim - 1)]
        if axes and array.ndim == len(shape) and array.shape[-1] > 1:  # of a window
            own: Array = array[tuple(min(int(k), many - 1) for k, many in zip(index[:-1], array.shape, strict=False))]
            return own
        return np.asarray(array.reshape(-1)[place % array.size])
    kept: Array = spread[
        tuple(slice(None) if i in axes else slice(int(one), int(one) + 1) for i, one in enumerate(index))
    ]
    return kept if axes else kept.reshape(())


def _all_or_one(place: int, many: int) -> slice:
    """All along an axis of which a result has one element, as behind a reduction; else the one at a place."""
    return slice(None) if many == 1 else slice(place, place + 1)


def _shown(case: GraphCase, built: Built, ran: Ran) -> Answer | None:
    """What the worst element of a case shows whose inputs are filled."""
    shape, alone = ran.got.codes.shape, is_alone(case.pattern)
    wrong = np.flatnonzero(_unlike(case, built, ran))
    if not wrong.size:
        return None
    fixed = [name for name, feed in built.feeds.items() if feed.values == "fixed"]
    worst: tuple[int, Severity, int, int, list[tuple[Array, int]]] | None = None
    for i in dict.fromkeys([*wrong[:_TRIED].tolist(), *_farthest(ran.got, ran.expected.codes, wrong)[:_TRIED]]):
        operands: list[tuple[Array, int]] = []
        for one in built.operands if alone else built.terms:
            array = np.asarray(ran.fed[one] if isinstance(one, str) else one)
            if isinstance(one, str) and one in built.feeds and one not in fixed:
                array = _along(array, i, built.axes, shape).reshape(-1)
                operands += [(array, k) for k in range(array.size)]
            else:
                operands += [(each, i) for each in _spread([array], {}, shape) if each is not None]
        known = [(one, i) for one in _spread(ran.operands, {}, shape) if one is not None]
        name, ulps = _severity(ran, i, (_exact(*one) for one in (*operands, *known)))
        if worst is None or rank(name) > worst[0]:
            worst = rank(name), name, ulps, i, operands
    assert worst is not None
    _, name, ulps, i, operands = worst
    if len(operands) > _MOST_OPERANDS:
        return None
    shown = tuple(_number(*one) for one in operands)
    got, expected = (_value(one, i) for one in (ran.got, ran.expected))
    return Answer("different-numbers", Witness(SUBTRACT, shown, got, expected), severities=(name,), ulps=_at_most(ulps))


def _at_most(ulps: int) -> int:
    """The next power of two, up to 2^62: more than that, no sample tells."""
    return min(1 << (ulps - 1).bit_length(), 1 << 62) if ulps else 0


def _value(output: Output, place: int) -> float:
    """An element of a result as a Python number."""
    code = int(output.codes.flat[place])
    return code if output.element is None else values.number(output.element, code)


# ---- all of them -------------------------------------------------------------------------------------------------


def query(
    runtime: Runtime, rows: Sequence[tuple[Key, GraphCase]], progress: Callable[[], None] | None = None, draws: int = 1
) -> dict[Key, Answers]:
    """Query a runtime with graph cases; what it cannot run is left out. ``progress`` is called after each."""
    found: dict[Key, Answers] = {}
    for key, case in rows:
        answers = answer(case, runtime, graph_probing().FORM, graph_probing().build(case), draws)
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
    rows = [
        row
        for row in pattern_cases.rows_for(runtime)
        if row[0] not in known.cells and (not types or row[0].dtype in types)
    ]
    if patterns:
        rows = [(key, case) for key, case in rows if is_alone(key.pattern) or (key.dtype, str(key.pattern)) in patterns]
    done = itertools.count(1)
    step = (lambda: progress(next(done), len(rows))) if progress else None
    cpus = [*known.cpus, *([runtime.cpu] if rows else [])]
    return Table({**known.patterns, **query(runtime, rows, step)}, tuple(dict.fromkeys(cpus)))
