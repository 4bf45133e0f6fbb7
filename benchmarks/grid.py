"""The cells of the benchmark, as data.

A cell is one subtraction: an element type, a size, how the two shapes relate, how the operands lie in memory, where
the result goes, how many threads may work, and what overflow does. The full product of these axes has more than
500,000 cells; the grid is a list of slices through it, each of which asks one question. Together they cover every
value of every axis (a test proves it), in the full grid and in the quick one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from minuend.core.elements import TYPES
from minuend.core.policies import POLICIES

Shape = tuple[int, ...]

ELEMENTS: tuple[str, ...] = tuple(name for name, row in TYPES.items() if row.kernel != "table")
"""The types that every standard has; those of a few bits are looked up in tables and are not timed."""

SIZES: tuple[int, ...] = tuple(1 << k for k in range(0, 27, 2))
"""Elements of the result, 1 to 2**26."""

MEMORIES: tuple[str, ...] = ("fresh", "out", "in-place")
"""Where the result goes: a new array, an array given as ``out``, or A itself."""

FUNCTIONS: tuple[str, ...] = ("subtract", "onnx.sub", "openvino.subtract", "directml.element_wise_subtract")
"""The functions that subtract arrays: minuend's own, and those of the standards."""

THREADS: tuple[str, ...] = ("all", "1")
"""All: every CPU that the process may use."""

MANY = 1 << 14
"""From so many elements on the number of threads is worth a cell of its own: below, no library starts any."""


def _square(n: int) -> Shape:
    rows = 1 << (n.bit_length() - 1) // 2
    return rows, n // rows


def _cube(n: int) -> Shape:
    planes = 1 << (n.bit_length() - 1) // 3
    return (planes, *_square(n // planes))


def _channel(n: int) -> tuple[Shape, Shape]:
    if n >= 1 << 18:
        return (max(1, round(n / (64 * 56 * 56))), 64, 56, 56), (64, 1, 1)
    channels = min(4, n)
    side = math.isqrt(n // channels)
    return (1, channels, side, side), (channels, 1, 1)


def _row(n: int) -> tuple[Shape, Shape]:
    width = 64 if n >= 1 << 12 else _square(n)[1]
    return (n // width, width), (width,)


SHAPES: dict[str, Callable[[int], tuple[Shape, Shape]]] = {
    "same": lambda n: ((n,), (n,)),
    "scalar": lambda n: ((n,), ()),
    "row": _row,
    "column": lambda n: (_square(n), (_square(n)[0], 1)),
    "channel": _channel,
    "outer": lambda n: ((_square(n)[0], 1), (1, _square(n)[1])),
    "narrow-row": lambda n: ((n // 3, 3), (3,)),
    "narrow-column": lambda n: ((n // 3, 3), (n // 3, 1)),
}
"""How the shapes of A and B relate, for about ``n`` elements of result."""

LAYOUTS: dict[str, str] = {
    "contiguous": "row-major arrays that start on a cache line",
    "transposed": "B (or A, where B has no two dims) is the transpose of a row-major array",
    "strided": "every second element along the last dim of both operands",
    "negative": "A runs backwards along its last dim",
    "sliced": "both operands are columns cut out of wider arrays",
    "fortran": "operands and result are column-major",
    "partly": "the last two dims of operands and result lie in memory the other way round",
    "mixed": "A is row-major, B and the result are column-major",
    "unaligned": "operands and result start one byte after a cache line",
}


@dataclass(frozen=True, slots=True)
class Steps:
    """Elements from one to the next of each array, down the dim before the last one and along the last.

    Attributes:
        a, b, out: of A, B and the result; a negative step runs backwards. gap: elements behind each row of A and B.
    """

    a: tuple[int, int]
    b: tuple[int, int]
    out: tuple[int, int] = (1, 1)
    gap: int = 0

    @property
    def spread(self) -> int:
        """By how much the widest of the arrays is larger than its elements."""
        return max(abs(down * along) for down, along in (self.a, self.b, self.out))


def _both(down: int, along: int, gap: int = 0) -> Steps:
    return Steps((down, along), (down, along), gap=gap)


STEPPED: dict[str, Steps] = {
    **{f"step{n}": _both(1, n) for n in (3, 4, 5, 6, 7, 8, 9, 12, 16)},
    "step-1": _both(1, -1),
    "step-3": _both(1, -3),
    "step2-gap": _both(1, 2, gap=32),
    "step3-gap": _both(1, 3, gap=32),
    "step2x2": _both(2, 2),
    "step3x5": _both(3, 5),
    "step3-a": Steps((1, 3), (1, 1)),
    "step7-a": Steps((1, 7), (1, 1)),
    "step5-b": Steps((1, 1), (1, 5)),
    "step3-out": Steps((1, 1), (1, 1), (1, 3)),
}
"""Views whose elements lie so far apart, in matrices. Their cells are of one type of each size."""

TWO_DIMS = {"transposed", "sliced", "fortran", "mixed", *STEPPED}
"""Layouts that need two dims."""

ORDERED = {"fortran", "partly", "mixed"}
"""Layouts that are an order of dims in memory; partly needs three."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One subtraction to time; the fields are the axes."""

    dtype: str
    size: int
    shape: str = "same"
    layout: str = "contiguous"
    memory: str = "out"
    threads: str = "all"
    policy: str = "wrap"
    function: str = "subtract"

    @property
    def shapes(self) -> tuple[Shape, Shape]:
        """The shapes of A and B."""
        if self.shape == "same" and self.layout in TWO_DIMS:
            return _square(self.size), _square(self.size)
        if self.shape == "same" and self.layout == "partly":
            return _cube(self.size), _cube(self.size)
        return SHAPES[self.shape](self.size)

    @property
    def result_dtype(self) -> str:
        """The element type of the result."""
        return TYPES[self.dtype].widened.name if self.policy == "widen" else self.dtype

    @property
    def moved(self) -> int:
        """Bytes of A, B and the result, each element once: what a perfect program reads and writes."""
        a, b = self.shapes
        result = math.prod(max(pair) for pair in itertools.zip_longest(reversed(a), reversed(b), fillvalue=1))
        own, wide = TYPES[self.dtype].itemsize, TYPES[self.result_dtype].itemsize
        return (math.prod(a) + math.prod(b)) * own + result * wide

    @property
    def exists(self) -> bool:
        """Whether the combination means anything, and is not another cell under a second name."""
        if self.policy != "wrap" and not TYPES[self.dtype].is_integer:
            return False
        if self.function.startswith("directml") and (self.memory == "fresh" or self.shape != "same"):
            return False  # it writes to a buffer, and repeats by strides alone
        if self.memory == "in-place" and (self.policy == "widen" or self.shape == "outer"):
            return False
        if self.layout in ORDERED and max(map(len, self.shapes)) < (3 if self.layout == "partly" else 2):
            return False  # the row-major cell once more
        if self.threads == "1" and self.size < MANY:
            return False
        return self.size >= 3 or not self.shape.startswith("narrow")

    def __str__(self) -> str:
        axes = f"{self.dtype} {short(self.size)} {self.shape} {self.layout} {self.memory} {self.threads} {self.policy}"
        return axes if self.function == "subtract" else f"{axes} {self.function}"


def short(n: int) -> str:
    """Return a power of two as people write it: 16, 4Ki, 64Mi."""
    for unit, name in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        if n >= unit:
            return f"{n // unit}{name}"
    return str(n)


@dataclass(frozen=True, slots=True)
class Slice:
    """A product of some values of each axis: one question, one table of the report.

    Attributes:
        name: for ``--filter``. title: for the report.
    """

    name: str
    title: str
    dtypes: tuple[str, ...] = ("float32",)
    sizes: tuple[int, ...] = SIZES
    shapes: tuple[str, ...] = ("same",)
    layouts: tuple[str, ...] = ("contiguous",)
    memories: tuple[str, ...] = ("out",)
    threads: tuple[str, ...] = ("all",)
    policies: tuple[str, ...] = ("wrap",)
    functions: tuple[str, ...] = ("subtract",)

    def cells(self) -> Iterator[Cell]:
        axes = (
            self.dtypes, self.sizes, self.shapes, self.layouts, self.memories, self.threads, self.policies,
            self.functions,
        )  # fmt: skip
        return (cell for cell in itertools.starmap(Cell, itertools.product(*axes)) if cell.exists)


INTEGERS = tuple(name for name in ELEMENTS if TYPES[name].is_integer)
STEPPED_TYPES = ("uint8", "int16", "float32", "float64")
BROADCASTS = tuple(name for name in SHAPES if name != "same")
VIEWS = tuple(name for name in LAYOUTS if name != "contiguous")
OVERFLOWS = tuple(name for name in POLICIES if name != "wrap")
SMALL, PAGE, MIDDLE, LARGE, LARGEST = 1 << 4, 1 << 12, 1 << 20, 1 << 24, 1 << 26

FULL: tuple[Slice, ...] = (
    Slice("sizes", "From one element to the largest", ("float32", "int8"), memories=("fresh", "out"), threads=THREADS),
    Slice("types", "Every type", ELEMENTS, (SMALL, PAGE, MIDDLE, LARGE), memories=MEMORIES),
    Slice("one-thread", "Every type on one thread", ELEMENTS, (LARGE, LARGEST), threads=("1",)),
    Slice("largest", "Every type beyond every cache", ELEMENTS, (LARGEST,), memories=("fresh", "out")),
    Slice(
        "small-broadcast",
        "Broadcasting a few elements",
        ("float32", "bfloat16", "int8", "int64"),
        (SMALL,),
        BROADCASTS,
        memories=("fresh", "out"),
    ),
    Slice("broadcast", "Broadcasting, every type", ELEMENTS, (1 << 14, LARGE), BROADCASTS),
    Slice(
        "broadcast-memory",
        "Broadcasting into new arrays, into given ones, in place",
        sizes=(1 << 22,),
        shapes=BROADCASTS,
        memories=MEMORIES,
        threads=THREADS,
    ),
    Slice("layouts", "Views, every type", ELEMENTS, (1 << 14, LARGE), layouts=VIEWS),
    Slice(
        "layouts-memory",
        "Views into new arrays, and on one thread",
        sizes=(1 << 22,),
        layouts=VIEWS,
        memories=("fresh", "out"),
        threads=THREADS,
    ),
    Slice(
        "layouts-broadcast",
        "Broadcast views",
        ("float32", "bfloat16", "int8"),
        (MIDDLE,),
        ("scalar", "row", "column", "channel"),
        VIEWS,
    ),
    Slice(
        "layouts-narrow",
        "Views of three columns, and outer differences",
        ("float32", "int8"),
        (MIDDLE,),
        ("outer", "narrow-row", "narrow-column"),
        VIEWS,
    ),
    Slice("steps", "Elements that lie apart", STEPPED_TYPES, (1 << 16, MIDDLE), layouts=tuple(STEPPED)),
    Slice(
        "policies", "Overflow policies, every integer type", INTEGERS, (PAGE, LARGE), memories=MEMORIES,
        policies=OVERFLOWS,
    ),
    Slice(
        "policies-views",
        "Overflow policies over views",
        ("int8", "int32"),
        (MIDDLE,),
        ("same", "row"),
        ("strided", "transposed"),
        policies=POLICIES,
    ),
    Slice(
        "functions", "The standards' own functions", sizes=(SMALL, PAGE), shapes=("same", "row"),
        memories=("fresh", "out"), functions=FUNCTIONS,
    ),
)  # fmt: skip
"""The whole benchmark."""

QUICK: tuple[Slice, ...] = (
    Slice("sizes", "From one element to the largest", sizes=SIZES),
    Slice("fresh", "Into new arrays", sizes=(SMALL, MIDDLE, LARGE), memories=("fresh",)),
    Slice("types", "Every type", ELEMENTS, (SMALL, MIDDLE)),
    Slice("large", "Beyond the cache", ("float16", "bfloat16", "float32", "int8"), (LARGE,)),
    Slice("one-thread", "On one thread, and in place", sizes=(MIDDLE,), memories=("out", "in-place"), threads=("1",)),
    Slice("broadcast", "Broadcasting", ("float32", "int8"), (SMALL, MIDDLE), BROADCASTS),
    Slice("layouts", "Views", ("float32", "int8"), (MIDDLE,), layouts=VIEWS),
    Slice("steps", "Elements that lie apart", sizes=(MIDDLE,), layouts=tuple(STEPPED)),
    Slice("policies", "Overflow policies", ("int8", "int32"), (MIDDLE,), policies=OVERFLOWS),
    Slice("functions", "The standards' own functions", sizes=(SMALL,), functions=FUNCTIONS),
)
"""A look in about two minutes on two cores."""


def grid(slices: Iterable[Slice], keep: Callable[[Cell], bool] = lambda _: True) -> dict[Slice, list[Cell]]:
    """Return each slice with its cells, in order; a cell that two slices share stays in the first."""
    seen: set[Cell] = set()
    found: dict[Slice, list[Cell]] = {}
    for part in slices:
        cells = [cell for cell in part.cells() if cell not in seen and keep(cell)]
        seen.update(cells)
        if cells:
            found[part] = cells
    return found


def matching(conditions: Iterable[str]) -> Callable[[Cell], bool]:
    """Return a test for cells from conditions such as ``dtype=float32,int8`` and ``size=16,4Ki,64Mi``.

    Raises:
        ValueError: an axis or a value that the grid does not have.
    """
    axes: dict[str, Iterable[Any]] = {
        "dtype": ELEMENTS, "size": [short(n) for n in SIZES], "shape": SHAPES, "layout": [*LAYOUTS, *STEPPED],
        "memory": MEMORIES, "threads": THREADS, "policy": POLICIES,
        "function": FUNCTIONS,
    }  # fmt: skip
    wanted: dict[str, set[str]] = {}
    for condition in conditions:
        axis, _, values = condition.partition("=")
        if axis not in axes:
            raise ValueError(f"{condition!r} names no axis; expected AXIS=VALUE[,VALUE] with one of {', '.join(axes)}")
        names = set(values.split(","))
        if unknown := sorted(names - set(axes[axis])):
            raise ValueError(f"axis {axis} has no {unknown[0]!r}; it has {', '.join(axes[axis])}")
        wanted[axis] = wanted.get(axis, set()) | names

    def matches(cell: Cell) -> bool:
        fields = {**asdict(cell), "size": short(cell.size)}
        return all(fields[axis] in names for axis, names in wanted.items())

    return matches
