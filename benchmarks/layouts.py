"""Random layouts beside NumPy and torch: what no grid thinks of.

``python -m benchmarks.layouts`` draws shapes of up to four dims and gives both operands dims in any order, steps, gaps,
reversed or repeated dims. It shows those in which minuend does worst. Each of them is measured a second time, because
among hundreds some are slow by chance; both figures are shown.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass

import click
import numpy as np

from benchmarks import checks, peers
from benchmarks.grid import ELEMENTS, Cell, Shape
from benchmarks.measure import Row, measure_operands
from benchmarks.operands import Array, Operands
from benchmarks.report import ratio, time_of
from minuend.core.elements import TYPES

OTHERS = ("numpy", "torch")  # those that take any layout
FEW = (1, 2, 3, 4, 8, 16, 64)  # elements of a dim that real arrays often have


@dataclass(frozen=True, slots=True)
class Dim:
    """How one dim of an operand lies in memory.

    Attributes:
        place: among the dims, 0 for the outermost in memory. step: elements between two of its; negative where it runs
            backwards. gap: elements behind the last one. repeats: the dim has one element, which broadcasts.
    """

    place: int
    step: int = 1
    gap: int = 0
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """One subtraction: an element type, the result's shape, and how A and B lie in memory."""

    dtype: str
    shape: Shape
    a: tuple[Dim, ...]
    b: tuple[Dim, ...]

    def operands(self) -> Operands:
        """Return arrays of this layout, of ones, and a plain one for the result."""
        a, b = (self._array(dims) for dims in (self.a, self.b))
        out = np.zeros(np.broadcast_shapes(a.shape, b.shape), a.dtype)
        return Operands(Cell(self.dtype, 1), a, b, out)

    def _array(self, dims: tuple[Dim, ...]) -> Array:
        sizes = [1 if dim.repeats else n for dim, n in zip(dims, self.shape, strict=True)]
        order = sorted(range(len(dims)), key=lambda i: dims[i].place)
        room = np.ones([sizes[i] * abs(dims[i].step) + dims[i].gap for i in order], TYPES[self.dtype].memory)
        whole = room.transpose(np.argsort(order))
        used = whole[tuple(slice(n * abs(dim.step)) for dim, n in zip(dims, sizes, strict=True))]
        return used[tuple(slice(None, None, dim.step) for dim in dims)]


def draw(rng: random.Random, most: int) -> Layout:
    """Return a random layout of at most about so many elements."""
    rank = rng.choice((1, 2, 2, 3, 3, 4))
    left, shape = int(10 ** rng.uniform(1, math.log10(most))), []
    for _ in range(rank - 1):
        n = max(1, int(left ** rng.random()))
        shape.append(min(left, rng.choice((n, n, rng.choice(FEW)))))
        left = max(1, left // shape[-1])
    shape.append(left)
    rng.shuffle(shape)
    return Layout(rng.choice(ELEMENTS), tuple(shape), _dims(rng, rank), _dims(rng, rank))


def _dims(rng: random.Random, rank: int) -> tuple[Dim, ...]:
    kind = rng.choice(("plain", "plain", "turned", "gaps", "steps", "repeats", "backwards"))
    places = list(range(rank))
    if kind == "turned" or rng.random() < 0.2:
        rng.shuffle(places)
    return tuple(
        Dim(
            place,
            step={"steps": rng.choice((1, 1, 2, 3)), "backwards": rng.choice((1, -1))}.get(kind, 1),
            gap=rng.choice((0, 1, 5, 16)) if kind == "gaps" else 0,
            repeats=kind == "repeats" and rng.random() < 0.5,
        )
        for place in places
    )


def measured(layouts: Iterable[Layout], threads: int, rounds: int) -> list[Row]:
    """Measure layouts on so many threads, by the procedure of :mod:`benchmarks.measure`."""
    others = [peers.PEERS[name] for name in OTHERS if peers.installed(name)]
    return [measure_operands(layout.operands(), others, threads, rounds) for layout in layouts]


def by_best(row: Row) -> float:
    """The best peer's time by minuend's; infinite where there is no peer."""
    return row.against(row.best) or math.inf


def line(layout: Layout, row: Row) -> str:
    """Return a layout and what was measured as text."""
    made = layout.operands()
    where = " − ".join(f"{array.shape} {array.strides}" for array in (made.a, made.b))
    return f"{ratio(row.against(row.best)):>5}  {row.best:8}{time_of(row.seconds):>9}  {layout.dtype} {where}"


@click.command()
@click.option("--count", default=300, show_default=True, type=click.IntRange(1), help="How many layouts.")
@click.option("--seed", default=0, show_default=True, help="What they are drawn from.")
@click.option("--most", default=100_000, show_default=True, type=click.IntRange(10), help="Elements of the largest.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1), help="How many may work.")
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1), help="For each.")
@click.option("--show", default=20, show_default=True, type=click.IntRange(1), help="How many of the worst.")
def main(count: int, seed: int, most: int, threads: int, rounds: int, show: int) -> None:
    """Time minuend.subtract beside NumPy and torch in random layouts; show the worst.

    The figures are the best peer's time by minuend's, that peer, minuend's time, and the shapes and strides (in bytes)
    of A and B.
    """
    rng = random.Random(seed)
    layouts = [draw(rng, most) for _ in range(count)]
    rows = measured(layouts, threads, rounds)
    worst = sorted(zip(layouts, rows, strict=True), key=lambda found: by_best(found[1]))[:show]
    for layout, row in worst:
        click.echo(line(layout, row))
    for name in OTHERS:
        if not peers.installed(name):
            click.echo(f"{name} is not installed and took no part; pip install '.[bench]'")
    behind = sum(by_best(row) < 1 - checks.NOISE for row in rows)
    click.echo(f"{count} layouts, {behind} behind")


if __name__ == "__main__":
    main()
