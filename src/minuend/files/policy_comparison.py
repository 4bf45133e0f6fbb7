"""Two files subtracted under every policy, side by side; nothing is written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from minuend.arrays.functions import First
from minuend.core.elements import ElementType
from minuend.core.policies import Overflow
from minuend.core.shapes import size
from minuend.errors import OverflowFound
from minuend.files import open_tensors
from minuend.files.streaming.operand_blocks import Block, Operands
from minuend.files.streaming.region_work import Meter, Progress
from minuend.files.streaming.regions import Region, extent
from minuend.files.streaming.summary import Number, Summary, summed
from minuend.files.tensor_pairs import NUMPYS, Pair, Rules, notes_on, pair_up
from minuend.files.transaction.remote import check_unchanged, watched

SIDE_BY_SIDE: tuple[Overflow, ...] = ("wrap", "saturate", "widen")
"""The policies that are shown where none is named."""


@dataclass(slots=True)
class Answers:
    """What one policy gives: its element type, lowest and highest difference, and the answer at the first overflow.

    ``low`` and ``high`` are ``None`` where there is no number, ``first`` where nothing overflows. ``unfit`` counts the
    differences that even this policy's type does not hold (64-bit ``widen``); then there is no ``low`` and ``high``.
    """

    policy: str
    element: ElementType
    low: int | float | None = None
    high: int | float | None = None
    first: int | None = None
    unfit: int = 0


@dataclass(slots=True)
class Comparison:
    """The policies' answers for one pair of tensors, side by side; ``nans`` counts the NaNs of floats."""

    name: str
    element: ElementType
    a_shape: tuple[int, ...]
    b_shape: tuple[int, ...]
    shape: tuple[int, ...]
    answers: tuple[Answers, ...]
    overflowed: int = 0
    first: First | None = None
    nans: int = 0

    @property
    def elements(self) -> int:
        return size(self.shape)


@dataclass(frozen=True, slots=True)
class CompareReport:
    """What ``compare_files`` found; nothing was written. ``notes`` are of the operands' files."""

    a: str
    b: str
    rules: str
    tensors: tuple[Comparison, ...]
    skipped: tuple[str, ...]
    seconds: float
    nbytes: int
    nodata: Number | None = None
    notes: tuple[str, ...] = ()


@watched()
def compare_files(
    a: str,
    b: str,
    *,
    rules: Rules = NUMPYS,
    overflow: Overflow | None = None,
    common: bool = False,
    nodata: Number | None = None,
    progress: Progress | None = None,
) -> CompareReport:
    """Subtract the tensors of one file from another's under every policy, write nothing, and sum up the answers.

    Args:
        overflow: the one policy to show; without it those of :data:`SIDE_BY_SIDE`. Floats have one row in any case.
        a, b, rules, common, nodata, progress: as in :func:`subtract_files`, which also tells what is raised.
    """
    start = time.perf_counter()
    pairs, skipped = pair_up(open_tensors(a), open_tensors(b), rules, common, nodata)
    meter = Meter(progress, pairs)
    found = tuple(_compare(pair, SIDE_BY_SIDE if overflow is None else (overflow,), meter) for pair in pairs)
    check_unchanged()
    seconds = time.perf_counter() - start
    return CompareReport(a, b, str(rules), found, skipped, seconds, meter.nbytes, nodata, notes_on(pairs))


def _compare(pair: Pair, policies: Sequence[Overflow], meter: Meter) -> Comparison:
    answers = tuple(
        Answers(policy, pair.result_type(policy)) for policy in (policies if pair.element.is_integer else policies[:1])
    )
    found = Comparison(pair.name, pair.element, pair.a.shape, pair.b.shape, pair.shape, answers)
    operands, sums = Operands(pair), [Summary() for _ in answers]

    def seen(region: Region) -> tuple[Region, First | None, int, list[tuple[Summary, int | None, int]]]:
        block = operands.block(region)
        overflowed = block.count()
        at = block.first_overflow() if overflowed else None
        first = None if at is None else block.element_at(at)
        return region, first, overflowed, [_answer(row, block, at) for row in answers]

    try:
        for region, first, overflowed, parts in operands.blocks(seen):
            earlier = first is not None and (found.first is None or first < found.first)
            found.first = first if earlier else found.first
            found.overflowed += overflowed
            for row, total, (part, value, unfit) in zip(answers, sums, parts, strict=True):
                total.add(part)
                row.first = value if earlier else row.first
                row.unfit += unfit
            meter.add(size(extent(region)))
    except OverflowFound as error:
        raise operands.overflow(answers[0].policy) from error
    for row, total in zip(answers, sums, strict=True):
        row.low, row.high, found.nans = total.low, total.high, total.nans
    return found


def _answer(row: Answers, block: Block, at: tuple[int, ...] | None) -> tuple[Summary, int | None, int]:
    """Return what one policy answers on a block, at an element of it, and how many of it no type holds."""
    try:
        answer = block.compute(row.policy)
    except OverflowFound as error:
        if row.policy != "widen":
            raise
        return Summary(), None, error.count
    part = summed(row.element, answer if block.missing is None else answer[~block.missing])
    return part, None if at is None else int(answer[at]), 0
