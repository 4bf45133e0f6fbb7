"""The arrays of a cell, and what their difference must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.grid import STEPPED, Cell, Shape
from minuend.core.elements import TYPES, ElementType

Array = np.ndarray[Any, np.dtype[Any]]

LINE = 64
GAP = 32  # columns by which the arrays that "sliced" cuts from are wider


@dataclass(frozen=True, slots=True)
class Operands:
    """A, B and an array for the result.

    Attributes:
        a, b: the operands, laid out as the cell says.
        out: an array of the result's type and shape; A itself in place. A cell with a fresh result has one too:
            the stream program, which measures the limit, writes to it.
    """

    cell: Cell
    a: Array
    b: Array
    out: Array

    @property
    def element(self) -> ElementType:
        return TYPES[self.cell.dtype]

    def rest(self) -> None:
        """Make ready for timing: in place B becomes 0, so that A keeps its values however often it is called."""
        if self.cell.memory == "in-place":
            self.b[...] = 0


def make(cell: Cell, seed: int = 0) -> Operands:
    """Return the arrays of a cell. Operands under ``error`` and 64-bit ``widen`` do not overflow."""
    rng = np.random.default_rng(seed)
    offset = int(cell.layout == "unaligned")
    shape_a, shape_b = cell.shapes
    flipped = cell.layout == "transposed" and len(shape_b) < 2
    a, b = (
        _laid(cell.layout, second, flipped, _Source(_values(cell, second, rng), offset), shape)
        for second, shape in ((False, shape_a), (True, shape_b))
    )
    if cell.memory == "in-place":
        return Operands(cell, a, b, a)
    shape = np.broadcast_shapes(shape_a, shape_b)
    dtype = TYPES[cell.result_dtype].memory
    steps = STEPPED.get(cell.layout)
    if steps is not None:
        out = _apart(lambda whole: _empty(int(np.prod(whole)), dtype, offset).reshape(whole), shape, steps.out)
    else:
        out = _ordered(cell.layout, True, _empty(int(np.prod(shape)), dtype, offset), shape)
    out.view(f"u{out.itemsize}")[...] = 0  # its pages exist before anything is timed
    return Operands(cell, a, b, out)


def needed(cell: Cell) -> int:
    """Return about how many bytes a cell takes: its operands, and two results besides ``out``."""
    spread = STEPPED[cell.layout].spread if cell.layout in STEPPED else 2 if cell.layout == "strided" else 1
    return cell.moved * (spread + 2)


def _empty(count: int, dtype: np.dtype[Any], offset: int) -> Array:
    """Return a 1-d array that starts on a cache line, or some bytes after one."""
    size = count * dtype.itemsize
    raw = np.empty(size + 2 * LINE, np.uint8)
    start = -raw.ctypes.data % LINE + offset
    return raw[start : start + size].view(dtype)


@dataclass(frozen=True, slots=True)
class _Source:
    """Makes row-major arrays from a block of values, repeated."""

    block: Array
    offset: int

    def array(self, shape: Shape) -> Array:
        return self.line(shape).reshape(shape)

    def line(self, shape: Shape) -> Array:
        flat = _empty(int(np.prod(shape)), self.block.dtype, self.offset)
        done = min(len(flat), len(self.block))
        flat[:done] = self.block[:done]
        while done < len(flat):
            step = min(done, len(flat) - done)
            flat[done : done + step] = flat[:step]
            done += step
        return flat


def _ordered(layout: str, second: bool, flat: Array, shape: Shape) -> Array:
    """Return a line of elements with its dims in the layout's order in memory; ``second``: for B, or the result."""
    if layout == "fortran" or (layout == "mixed" and second):
        return flat.reshape(shape[::-1]).T
    if layout == "partly" and len(shape) >= 2:
        return flat.reshape(*shape[:-2], shape[-1], shape[-2]).swapaxes(-1, -2)
    return flat.reshape(shape)


def _apart(make_whole: Callable[[Shape], Array], shape: Shape, steps: tuple[int, int], gap: int = 0) -> Array:
    """Return a matrix whose elements lie so far apart in a whole one, which has a gap behind each row."""
    whole = make_whole((shape[0] * abs(steps[0]), shape[1] * abs(steps[1]) + gap))
    return whole[:, : whole.shape[1] - gap][:: steps[0], :: steps[1]]


def _laid(layout: str, second: bool, flipped: bool, source: _Source, shape: Shape) -> Array:
    if steps := STEPPED.get(layout):
        return _apart(source.array, shape, steps.b if second else steps.a, steps.gap)
    if layout == "strided" and shape:
        return source.array((*shape[:-1], 2 * shape[-1]))[..., ::2]
    if layout == "negative" and shape and not second:
        return source.array(shape)[..., ::-1]
    if layout == "transposed" and len(shape) >= 2 and second != flipped:
        return source.array(shape[::-1]).T
    if layout == "sliced" and len(shape) >= 2:
        wide = source.array((*shape[:-1], shape[-1] + GAP))
        return wide[..., GAP:] if second else wide[..., : shape[-1]]
    return _ordered(layout, second, source.line(shape), shape)


def _values(cell: Cell, second: bool, rng: np.random.Generator) -> Array:
    """A block of random values whose length is odd, so that no two rows are alike."""
    element = TYPES[cell.dtype]
    count = min(2 * cell.size + GAP + 1, 65_537)
    if not element.is_integer:
        return rng.standard_normal(count).astype(element.memory)
    low, high = element.limits
    if cell.policy == "error":
        if element.kind == "signed":
            low, high = low // 2, high // 2
        else:
            low, high = (low, high // 2) if second else (high // 2, high)
    elif cell.policy == "widen" and element.bits == 64:
        low, high = low // 2, high // 2
    return rng.integers(low, high, count, element.memory, endpoint=True)


def sampled(operands: Operands, count: int = 256) -> tuple[tuple[Array, ...], Array]:
    """Return the indices of some elements, ends included, and what the result must hold there.

    Integers are computed by Python's own, floats in float64 and rounded once, which is exact for the narrower types.
    """
    shape = np.broadcast_shapes(operands.a.shape, operands.b.shape)
    size = int(np.prod(shape))
    ends = [np.arange(min(size, count)), size - 1 - np.arange(min(size, count))]
    flat = np.unique(np.concatenate([*ends, np.random.default_rng(1).integers(0, size, count)]))
    index = np.unravel_index(flat, shape) if shape else ()
    x, y = (np.broadcast_to(v, shape)[index] for v in (operands.a, operands.b))
    return index, _difference(operands, np.atleast_1d(x), np.atleast_1d(y))


def _difference(operands: Operands, x: Array, y: Array) -> Array:
    element, result = operands.element, TYPES[operands.cell.result_dtype]
    if not element.is_integer:
        return (x.astype(np.float64) - y.astype(np.float64)).astype(element.memory)
    exact = [int(i) - int(j) for i, j in zip(x, y, strict=True)]
    low, high = result.limits
    if operands.cell.policy == "saturate":
        exact = [min(max(value, low), high) for value in exact]
    return np.array([(value - low) % (high - low + 1) + low for value in exact], result.memory)


def wrong_at(want: Array, got: Array) -> str:
    """Say where a sample differs from what it must be; empty where it does not. Zeros are equal whatever their sign."""
    if got.dtype != want.dtype:
        return f"a result of {got.dtype.name}, expected {want.dtype.name}"
    differs = ~((got == want) | ((got != got) & (want != want)))  # noqa: PLR0124 - NaN, in any float type
    if not differs.any():
        return ""
    first = int(np.argmax(differs))
    return f"{int(differs.sum())} of {len(want)} sampled elements, such as {got[first]} for {want[first]}"
