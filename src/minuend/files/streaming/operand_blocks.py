"""The blocks of a difference: both operands' parts of a region, wherever they lie."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from minuend.arrays import functions
from minuend.arrays.functions import First, compute, in_native_order
from minuend.arrays.plan import Plan, plan
from minuend.core.elements import ElementType
from minuend.core.shapes import Broadcast, size
from minuend.errors import OverflowFound
from minuend.files import nodata
from minuend.files.stored_elements import Contiguous, Elements, InMemory
from minuend.files.streaming import regions
from minuend.files.streaming.pipeline import ahead
from minuend.files.streaming.reading import Array
from minuend.files.streaming.regions import BAND_BYTES, Region, bands, contiguous, extent, index, runs
from minuend.files.streaming.transposing import in_c_order
from minuend.files.tensor_pairs import Pair
from minuend.operators import SUBTRACT

T = TypeVar("T")

SMALL = 4
"""Operands of up to so many blocks are in memory."""

LEAST_RUN = 1 << 16
"""Bytes that lie together in a region that is read where it lies; with fewer, the file is transposed first."""


@dataclass(frozen=True, slots=True)
class Block:
    """A region of a difference, and the operands' parts for it, in native byte order.

    Attributes:
        joined: how those join. missing: where one of them has no data, and both are 0 here; ``None``: nowhere.
    """

    region: Region
    element: ElementType
    a: Array
    b: Array
    joined: Broadcast
    missing: Array | None = None

    def compute(self, policy: str) -> Array:
        return compute(SUBTRACT, self.element, self.joined, self.a, self.b, None, policy)

    def plan(self) -> Plan:
        """How both parts lie over the block."""
        return plan(SUBTRACT, self.element, self.joined, *((x.shape, x.strides) for x in (self.a, self.b)))

    def count(self) -> int:
        """How many elements overflow the operands' type."""
        return self.plan().count(self.a, self.b) if self.element.is_integer else 0

    def first_overflow(self) -> tuple[int, ...]:
        """The index within the block of the first element that overflows; there is one."""
        return self.plan().first_overflow(self.a, self.b, "saturate")

    def element_at(self, at: tuple[int, ...]) -> First:
        """The index within the whole difference of an element of the block, and both operands."""
        return (index(self.region, at), *self.plan().operands_at(self.a, self.b, at))


class Operands:
    """A pair's elements as blocks need them; several threads may read at once."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self._a = _Operand(pair.a.elements(), pair.joined.a_start)
        self._b = _Operand(pair.b.elements(), pair.joined.b_start)

    def block(self, region: Region) -> Block:
        """Read what a region of the difference is made of."""
        a, b = (in_native_order(one.part(region)) for one in (self._a, self._b))
        shape, starts = extent(region), (self.pair.joined.a_start, self.pair.joined.b_start)
        stated = (self.pair.a.about.nodata, self.pair.b.about.nodata)
        masks = [nodata.missing(one, value) for one, value in zip((a, b), stated, strict=True)]
        if all(mask is None for mask in masks):
            return Block(region, self.pair.element, a, b, Broadcast(shape, *starts))
        known = [nodata.over(mask, start, shape) for mask, start in zip(masks, starts, strict=True) if mask is not None]
        missing = np.logical_or(known[0], known[-1])
        whole = (nodata.over(one, start, shape) for one, start in zip((a, b), starts, strict=True))
        a, b = (np.where(missing, np.zeros((), one.dtype), one) for one in whole)
        return Block(region, self.pair.element, a, b, Broadcast(shape, 0, 0), missing)

    def blocks(self, work: Callable[[Region], T]) -> Iterator[T]:
        """Work on all blocks, several at a time, in the order in which the operands lie."""
        shape, itemsize = self.pair.shape, self.pair.element.widened.itemsize
        cut = contiguous(shape[::-1], itemsize) if self.pair.fortran else bands(shape, itemsize, self.pair.chunks)
        transposed = (region[::-1] if self.pair.fortran else region for region in cut)
        return ahead(work, transposed, 5 * (BAND_BYTES if self.pair.chunks else regions.BLOCK_BYTES))

    def overflow(self, policy: str) -> OverflowFound:
        """Go through the whole difference, in which something overflows, and return what tells of all of it."""

        def overflowing(region: Region) -> tuple[int, First | None]:
            try:
                self.block(region).compute(policy)
            except OverflowFound as error:
                return error.count, (index(region, error.index), error.a, error.b)
            return 0, None

        counts, firsts = zip(*self.blocks(overflowing), strict=True)
        return overflow_found(self.pair, policy, sum(counts), min(one for one in firsts if one is not None))


def overflow_found(pair: Pair, policy: str, count: int, first: First) -> OverflowFound:
    """Return the error of everything in a difference that overflows."""
    others = "wrap or saturate" if policy == "widen" else "wrap, saturate or widen"
    hint = f"; --overflow {others} gives an answer"
    result = pair.result_type(policy)
    return functions.overflow_found(SUBTRACT, result, policy, count, size(pair.shape), first, pair.where, hint)


class _Operand:
    """An operand as blocks need it: a small one whole, of a large one the part of one block at a time."""

    def __init__(self, elements: Elements, begin: int) -> None:
        small = size(elements.shape) * elements.dtype.itemsize <= SMALL * regions.BLOCK_BYTES
        self._elements: Elements = InMemory(elements.read()) if small else elements
        self._begin = begin
        self._transposing = threading.Lock()

    def part(self, region: Region) -> Array:
        """The part for a region of the result, in which the operand's dims sit from ``begin`` on; its 1s repeat."""
        shape = self._elements.shape
        within = region[self._begin : self._begin + len(shape)]
        own = tuple(slice(0, 1) if dim == 1 else one for dim, one in zip(shape, within, strict=True))
        if isinstance(self._elements, Contiguous) and self._elements.fortran:
            self._transpose(own)
        return self._elements.part(own)

    def _transpose(self, region: Region) -> None:
        """Transpose an operand in Fortran order, if a region that is requested lies all over its file."""
        with self._transposing:
            elements = self._elements
            if isinstance(elements, Contiguous) and elements.fortran:
                length, _ = runs(region[::-1], elements.shape[::-1])
                if length < size(extent(region)) and length * elements.dtype.itemsize < LEAST_RUN:
                    self._elements = in_c_order(elements)
