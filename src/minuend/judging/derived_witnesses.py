"""Witnesses of operands that were not measured: what follows from those that were.

A measured case holds one pair for each value class that deviates. Where an occurrence cannot have that pair, others
show the deviation: a runtime that gives 0 for 5 - 10 of uint8 saturates, so that it gives 0 for 0 - 3. Of all ways in
which runtimes are known to compute, those count that give each measured pair of the case; a witness is shown where they
all agree on it.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.judging.constant_operands import BY_DIGITS, SYSTEMATIC
from minuend.judging.operand_pools import codes_of, pool
from minuend.models.occurrences import Array, Occurrence
from minuend.models.ranges.interval import Range
from minuend.operators import NEGATIVE, SUBTRACT, codes, reference
from minuend.operators.operator import Operator, Value
from minuend.operators.value_classes import least_normal
from minuend.runtimes import values
from minuend.runtimes.answers import DIFFERENT, Answer
from minuend.runtimes.witness import Witness

_ORDINARY = "ordinary"
"""A value class that a constant 0 deviates in alone, which runtimes leave out."""

_MOST_PAIRS = 1024
"""Operands that are looked at, the ones that read best first."""

_BY_RULE = (*SYSTEMATIC, BY_DIGITS, "subnormal", "negative zero", "overflows", "rounds")
"""Value classes whose members deviate by a rule, and not by how a runtime rounds some of them."""

_OTHER_TYPE = re.compile("the result is of ([^,]+), not of ")
"""What is said of results of another type."""

_PLAINEST = 6
"""So many numbers come before the ends of a range."""

Step: TypeAlias = Callable[[Value], Value]
Steps: TypeAlias = tuple[Step, ...]
Computation: TypeAlias = Callable[[Sequence[Value]], Value]
"""What a runtime gives for operands."""


def derived(
    occurrence: Occurrence, element: ElementType, answers: Mapping[str, Answer], name: str, *, alike: bool = False
) -> Witness | None:
    """Return a witness that an occurrence can have, as follows from the measured ones of its case.

    Args:
        occurrence, element: what is judged, and its type. answers: all those of its case. name: of the value class.
        alike: whether the same was measured of operands none of which is constant.

    Returns:
        Operands of the class with what the runtime gives for them; ``None`` where the measured ones leave it open.
    """
    if name not in _BY_RULE:
        return None
    given = _OTHER_TYPE.match(answers[name].message)
    if given is not None:
        return _of_other_type(occurrence.op.computes, element, given[1], name, _pools(element, occurrence))
    wrong = {key: one.witness for key, one in answers.items() if one.verdict == DIFFERENT and key != _ORDINARY}
    measured = tuple(one for one in wrong.values() if one is not None)
    if not measured:
        return None
    alike = alike or len(occurrence.constants) in (0, len(occurrence.operands))
    return _found(occurrence.op.computes, element, name, measured, _pools(element, occurrence), alike)


Pools: TypeAlias = tuple[tuple[int, ...], ...]
"""The codes that each operand can be, the ones that read best first; of constants those that meet, in one order."""


@dataclass(frozen=True, slots=True)
class _Operands:
    """What operands can be.

    Attributes:
        pools: the codes of each. meet: whether those at one place meet.
        alone: which of them are constants of one number.
    """

    pools: Pools
    meet: bool
    alone: tuple[bool, ...]


def _of_other_type(operator: Operator, element: ElementType, given: str, name: str, known: _Operands) -> Witness | None:
    """Return what shows that a result is of another float type: a number that is another one in the element type."""
    wide = TYPES.get(given, element)
    if element.is_integer or wide.format is None:
        return None
    for operands in _operands(known.pools, known.meet):
        expected = reference.apply(operator, element, operands)
        got = reference.apply(operator, wide, [codes.encode(wide, codes.decode(element, one)) for one in operands])
        differs = codes.decode(wide, got) != codes.decode(element, expected)
        if differs and not codes.is_nan(wide.format, got) and values.class_of(operator, element, *operands) == name:
            shown = tuple(values.number(element, code) for code in operands)
            more = max(element, wide, key=lambda one: one.bits)
            in_full = values.number(more, codes.encode(more, codes.decode(wide, got)))
            return Witness(operator, shown, in_full, values.number(element, expected))
    return None


@functools.lru_cache(1024)
def _found(
    operator: Operator,
    element: ElementType,
    name: str,
    measured: tuple[Witness, ...],
    known: _Operands,
    alike: bool,
) -> Witness | None:
    every = _consistent(operator, element, measured, alike)
    for operands in _operands(known.pools, known.meet) if every else ():
        numbers = [codes.decode(element, code) for code in operands]
        ways = (*every, *_without(operator, element, numbers, known.alone))
        got, expected = codes.encode(element, ways[0](numbers)), reference.apply(operator, element, operands)
        if _alike(element, got, expected) or values.class_of(operator, element, *operands) != name:
            continue
        if all(_alike(element, codes.encode(element, way(numbers)), got) for way in ways[1:]):
            shown = tuple(values.number(element, code) for code in operands)
            return Witness(operator, shown, values.number(element, got), values.number(element, expected))
    return None


def _pools(element: ElementType, occurrence: Occurrence) -> _Operands:
    """What operands can be."""
    stored = occurrence.fixed()
    constants = [one for one in stored if one is not None]
    with np.errstate(invalid="ignore"):  # NaNs that signal
        alone = tuple(one is not None and np.unique(one).size == 1 for one in stored)
    if len(constants) == len(stored):
        try:
            met = np.broadcast_arrays(*constants)
        except ValueError:  # joined by another rule than NumPy's
            met = ()
        return _Operands(
            tuple(tuple(codes_of(element, one).ravel()[:_MOST_PAIRS].tolist()) for one in met), True, alone
        )
    pairs = zip(occurrence.operands, stored, strict=True)
    pools = (_of_range(element, one) if known is None else _of_constant(element, one, known) for one, known in pairs)
    return _Operands(tuple(pools), False, alone)


def _of_constant(element: ElementType, range_: Range, stored: Array) -> tuple[int, ...]:
    found = pool(element, range_, stored).tolist()
    if not element.is_integer:
        found = [code for code in found if _is_common(element, code, alone=len(found) == 1)]
    if element.bits <= 8:
        found.sort(key=values.plainest(element).index)
    return tuple(found[:_MOST_PAIRS])


@functools.lru_cache(1024)
def _of_range(element: ElementType, range_: Range) -> tuple[int, ...]:
    """Codes within a range; its ends come after the first few: where both operands are small, nothing wraps."""
    found = pool(element, range_, None).tolist()
    ends = [code for code in found if codes.decode(element, code) in (range_.lo, range_.hi)]
    short = (number for number in _SHORT if element.is_integer and range_.lo <= number <= range_.hi)
    alike = (codes.encode(element, number) for number in short)
    return tuple(dict.fromkeys((*found[:_PLAINEST], *ends, *found, *alike)))[:_MOST_PAIRS]


_SHORT = (2**32 + 2**31 - 1, -(2**32) - 2**31)
"""Numbers that are the same in int32 for runtimes that take them modulo 2^32, and those that take the nearest."""


def _operands(pools: Pools, meet: bool) -> Iterator[tuple[int, ...]]:
    """Operands that an occurrence can have, the ones that read best first."""
    if meet:
        yield from zip(*pools, strict=True)
        return
    for place in itertools.islice(_diagonals([len(one) for one in pools]), _MOST_PAIRS):
        yield tuple(one[i] for one, i in zip(pools, place, strict=True))


def _diagonals(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Indices into several rows, the ones with the smallest sum first.

    >>> list(_diagonals([2, 3]))
    [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (1, 2)]
    """
    *first, last = sizes
    for total in range(sum(sizes) - len(sizes) + 1):
        for place in itertools.product(*(range(min(size, total + 1)) for size in first)):
            if 0 <= (rest := total - sum(place)) < last:
                yield (*place, rest)


def _is_common(element: ElementType, code: int, *, alone: bool) -> bool:
    """Whether a constant number is not left out, and not taken for another one; some are where they are small."""
    size = abs(float(codes.decode(element, code)))
    return size <= 2.0**120 and (size > 0 or not alone)


def _without(
    operator: Operator, element: ElementType, numbers: Sequence[Value], alone: Sequence[bool]
) -> Iterator[Computation]:
    """What operands give for runtimes that leave out a constant which they take for 0."""
    if element.is_integer or len(numbers) != len("ab"):
        return
    for place, (number, one) in enumerate(zip(numbers, alone, strict=True)):
        if one and abs(float(number)) < 2.0**-126:
            yield functools.partial(_other, operator, element, 1 - place)


def _other(operator: Operator, element: ElementType, place: int, numbers: Sequence[Value]) -> Value:
    """One operand, or its negative."""
    number = numbers[place]
    return number if operator.directions[place] > 0 else reference.of_values(NEGATIVE, element, [number])


def _alike(element: ElementType, one: int, other: int) -> bool:
    return one == other or (element.format is not None and all(codes.is_nan(element.format, c) for c in (one, other)))


# ---- ways to compute --------------------------------------------------------------------------------------------


@functools.lru_cache(1024)
def _consistent(
    operator: Operator, element: ElementType, shown: tuple[Witness, ...], alike: bool
) -> tuple[Computation, ...]:
    """The ways to compute that give all measured results; rare ones only where no other does.

    ``alike``: whether both operands are values, or constants. A runtime converts these in one way.
    """
    known = [([_value(element, one) for one in each.operands], _code(element, each.got)) for each in shown]

    def gives_all(way: Computation) -> bool:
        return all(_alike(element, codes.encode(element, way(operands)), got) for operands, got in known)

    levels = (
        [(alike, False), (False, False), (alike, True), (False, True)] if alike else [(False, False), (False, True)]
    )
    every = (tuple(filter(gives_all, _ways(operator, element, alike=one, rare=rare))) for one, rare in levels)
    return next(filter(None, every), ())


def _code(element: ElementType, number: float) -> int:
    plain = isinstance(number, int) or not math.isfinite(number) or number == 0
    return codes.encode(element, number if plain else Fraction(number))


def _value(element: ElementType, number: float) -> Value:
    """The exact value of a number that a witness shows."""
    return codes.decode(element, _code(element, number))


def _ways(operator: Operator, element: ElementType, *, alike: bool, rare: bool) -> Iterator[Computation]:
    """The ways in which runtimes are known to compute: each operand is converted, then the result is.

    ``alike``: all operands are converted in one way, but for ways that are of what is subtracted alone.

    Rare are those of integers through float32, and of floats as the negative of the reversed difference.
    """

    def way(type_: ElementType, into: Sequence[Steps], back: Steps, operands: Sequence[Value]) -> Value:
        converted = [_through(*one) for one in zip(into, operands, strict=True)]
        if element.is_integer:
            return _through(back, operator.compute(*converted))
        return _through(back, reference.of_values(operator, type_, converted))

    def negated(type_: ElementType, into: Sequence[Steps], back: Steps, operands: Sequence[Value]) -> Value:
        return reference.of_values(NEGATIVE, element, [way(type_, into, back, operands[::-1])])

    if rare and not element.is_integer and operator is not SUBTRACT:
        return
    before, less, after = _of_integers(element) if element.is_integer else _of_floats(element)
    operands = [[*before, *less] if direction < 0 else before for direction in operator.directions]
    computed: list[tuple[ElementType, Sequence[Steps]]] = [(element, after)]
    if element.name == "float64":
        computed.append((TYPES["float32"], after))
    if element.name == "bfloat16":
        computed.append((TYPES["float32"], [(_cut_off,), (_cut_off, _without_sign)]))
    for type_, ends in computed:
        for *into, back in itertools.product(*operands, ends):
            if alike and len({one for one in into if one in before}) > 1:
                continue
            if not element.is_integer:
                yield functools.partial(negated if rare else way, type_, into, back)
            elif rare == any(_in_float32 in steps for steps in (*into, back)):
                yield functools.partial(way, type_, into, back)


def _through(steps: Steps, value: Value) -> Value:
    for step in steps:
        value = step(value)
    return value


Conversions: TypeAlias = tuple[Sequence[Steps], Sequence[Steps], Sequence[Steps]]
"""How operands are converted, how else those that are subtracted are, and how the result is."""


def _of_integers(element: ElementType) -> Conversions:
    """Integers are converted into 32 bits and back, or not at all.

    Some runtimes add the negative of what is subtracted, which the lowest number does not have.
    """
    own = _conversions(element)
    last = [(one,) for one in own[:-1]]
    if element.bits <= 16:
        return [()], [(own[-1],)], last
    int32 = _conversions(TYPES["int32"])
    short = [(), *((one,) for one in (*int32[:-1], _in_float32))]
    less: list[Steps] = [(int32[-1],), (own[-1],), (lambda value: -int32[1](own[0](-value)),)]
    return short, less, [(*first, one) for first in (*short, (own[0], int32[1])) for (one,) in last]


def _conversions(element: ElementType) -> tuple[Step, Step, Step]:
    """Ways into an integer type: modulo, to the nearest number, and to the nearest one that has a negative."""
    low, high = element.limits
    return (
        lambda value: (math.trunc(value) - low) % (high - low + 1) + low,
        lambda value: min(max(math.trunc(value), low), high),
        lambda value: min(max(math.trunc(value), -high if low else 0), high),
    )


def _of_floats(element: ElementType) -> Conversions:
    """Subnormal floats become 0, and large ones the largest of a type."""
    least = dict.fromkeys((2.0**-126, float(least_normal(element))))
    flushes: list[Steps] = [(), *((functools.partial(_flushed, one),) for one in least)]
    wide = ("bfloat16", "float32") if element.name == "float64" else ("bfloat16",)
    limits: list[Steps] = [(), *((functools.partial(_limited, TYPES[name]),) for name in wide)]
    steps = [(*flush, *limit) for flush in flushes for limit in limits]
    return steps, (), [*steps, *((*flush, _without_sign) for flush in flushes)]


def _in_float32(value: Value) -> Value:
    float32 = TYPES["float32"]
    return math.trunc(codes.decode(float32, codes.encode(float32, value)))


def _cut_off(value: Value) -> Value:
    """A number of float32 without the bits that bfloat16 does not have."""
    return codes.decode(TYPES["bfloat16"], codes.encode(TYPES["float32"], value) >> TYPES["bfloat16"].bits)


def _flushed(least: float, value: Value) -> Value:
    if not 0 < abs(float(value)) < least:
        return value
    return Fraction(0) if value > 0 else -0.0


def _limited(element: ElementType, value: Value) -> Value:
    """A number, or the largest of a type where it is larger."""
    assert element.format is not None
    largest = float(codes.decode(element, codes.largest(element.format)))
    if not abs(float(value)) > largest:
        return value
    return Fraction(math.copysign(largest, value))


def _without_sign(value: Value) -> Value:
    return Fraction(0) if value == 0 else value
