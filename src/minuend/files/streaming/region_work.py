"""Differences that are computed region by region, summed up and shown on the way."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence

import numpy as np

from minuend.core.policies import Overflow
from minuend.core.shapes import size
from minuend.errors import OverflowFound
from minuend.files import Result, nodata
from minuend.files.streaming.operand_blocks import Block, Operands
from minuend.files.streaming.pipeline import workers
from minuend.files.streaming.reading import Array
from minuend.files.streaming.regions import Region, extent
from minuend.files.streaming.summary import Summary, summed
from minuend.files.tensor_pairs import Pair

Progress = Callable[[int, int], None]
"""Is called with how many bytes are read and written, and of how many."""

Observer = Callable[[Pair, Region, Array, Array, Array], None]
"""Is shown each block that is computed: whose, where, both operands' parts and the difference. Threads take turns."""


class Meter:
    """Reports the progress; ``nbytes``: of all operands, and of the differences if they are written."""

    def __init__(self, progress: Progress | None, pairs: Sequence[Pair], written: Overflow | None = None) -> None:
        self._progress, self._done = progress, 0
        self._elements = sum(size(pair.shape) for pair in pairs)
        self.nbytes = sum(size(x.shape) * x.element.itemsize for pair in pairs for x in (pair.a, pair.b))
        if written is not None:
            self.nbytes += sum(size(pair.shape) * pair.result_type(written).itemsize for pair in pairs)

    def block(self, _: Pair, region: Region, *__: Array) -> None:
        """See :data:`Observer`."""
        self.add(size(extent(region)))

    def add(self, elements: int) -> None:
        self._done += elements
        if self._progress is not None and self._elements:
            self._progress(self._done * self.nbytes // self._elements, self.nbytes)


class Work:
    """Differences that are computed region by region, in any order and by several threads.

    Args:
        overflow: the policy. shown: what is shown each block.

    Attributes:
        summaries: by name, what the elements are that were computed so far.
    """

    def __init__(self, overflow: Overflow, *, shown: Sequence[Observer] = ()) -> None:
        self.overflow, self._shown = overflow, shown
        self.summaries: dict[str, Summary] = {}
        self._overflowing: Pair | None = None
        self._turn = threading.Lock()
        self._opened: dict[str, Operands] = {}
        self._opening = threading.Lock()

    def __enter__(self) -> Work:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.clear()

    def result(self, pair: Pair) -> Result:
        """Return what can be written of a pair."""
        nodata.check(pair.about.nodata, pair.result_type(self.overflow), pair.where)
        self.summaries[pair.name] = Summary()
        return Result(
            pair.name,
            pair.result_type(self.overflow),
            pair.shape,
            functools.partial(self.part, pair),
            chunks=pair.chunks,
            about=pair.about,
            fortran=pair.fortran,
        )

    def part(self, pair: Pair, region: Region) -> Array:
        return self.block(pair, region)[0]

    def add(self, pair: Pair, part: Summary) -> None:
        """Take in what was computed elsewhere."""
        with self._turn:
            self.summaries[pair.name].add(part)

    def block(self, pair: Pair, region: Region) -> tuple[Array, Summary]:
        """Compute a region of a pair's difference, and sum it up."""
        block = self._operands(pair).block(region)
        try:
            found, count = self._computed(pair, block)
        except OverflowFound:
            self._overflowing = pair
            raise
        hit = 0
        if pair.about.nodata is not None:
            hit = self._without_data(pair, block, found)
        part = summed(pair.result_type(self.overflow), found, pair.about.nodata)
        part.overflowed, part.hit = count, hit
        with self._turn:
            self.summaries[pair.name].add(part)
            for observer in self._shown:
                observer(pair, region, block.a, block.b, found)
        return found, part

    def _without_data(self, pair: Pair, block: Block, found: Array) -> int:
        """Put nodata where an operand has none; return how many real differences are that number themselves."""
        same = nodata.missing(found, pair.about.nodata)
        hit = 0 if same is None else int(np.count_nonzero(same))
        if block.missing is not None:
            hit -= 0 if same is None else int(np.count_nonzero(same & block.missing))
            found[block.missing] = pair.about.nodata
        return hit

    def _computed(self, pair: Pair, block: Block) -> tuple[Array, int]:
        """Compute a block, and count what overflows.

        Where nothing does, wrapping and clamping give the answers of ``"error"``, which looks for overflow while it
        subtracts; so counting costs a pass of its own only in a difference that is known to overflow.
        """
        first = not self.summaries[pair.name].overflowed
        if first and pair.element.is_integer and self.overflow in ("wrap", "saturate"):
            try:
                return block.compute("error"), 0
            except OverflowFound as error:
                return block.compute(self.overflow), error.count
        return block.compute(self.overflow), block.count() if self.overflow != "error" else 0

    def whole_overflow(self) -> OverflowFound:
        """Return what tells of the whole difference in one of whose regions something overflowed."""
        assert self._overflowing is not None
        return self._operands(self._overflowing).overflow(self.overflow)

    def _operands(self, pair: Pair) -> Operands:
        """Open a pair's operands; those of the last pairs stay open, as threads work on one pair after another."""
        with self._opening:
            found = self._opened.get(pair.name)
            if found is None:
                while len(self._opened) > workers():
                    del self._opened[next(iter(self._opened))]
                found = self._opened[pair.name] = Operands(pair)
            return found
