"""The share of the limit that minuend reaches, by groups of cells, and what each group lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.checks import TINY
from benchmarks.grid import ORDERED, STEPPED, Cell
from benchmarks.measure import Row, geometric_mean


@dataclass(frozen=True, slots=True)
class Group:
    """Cells of one kind.

    Attributes:
        holds: whether a cell is of the group; the first group that holds it has it.
        physical: what the machine needs beyond the stream program. ours: what a better kernel could still gain.
    """

    name: str
    holds: Callable[[Cell], bool]
    physical: str
    ours: str


GROUPS: tuple[Group, ...] = (
    Group(
        "small",
        lambda cell: cell.size <= TINY,
        "Python's call and the search of arguments: its limit is the quickest call of the run with such a result",
        "the plan of other layouts and shapes",
    ),
    Group(
        "policies",
        lambda cell: cell.policy != "wrap",
        "the instructions that find overflow, where the operands are in the caches",
        "what is gathered goes through a buffer",
    ),
    Group(
        "transposed",
        lambda cell: cell.layout in {"transposed", *ORDERED},
        "a page for every column, and shuffles of whole tiles",
        "tiles go through a buffer; rows that are shorter than a tile",
    ),
    Group(
        "strided",
        lambda cell: cell.layout in {"strided", "negative", "sliced", "unaligned", *STEPPED},
        "a load for each element, one store a cycle; lines that lie apart are not prefetched across pages",
        "small elements go through a buffer",
    ),
    Group(
        "broadcast",
        lambda cell: cell.shape != "same",
        "a result near the size of a cache lies there or not from run to run, for the stream program too",
        "rows of a few elements are repeated into a buffer; how the work is shared among threads",
    ),
    Group(
        "contiguous",
        lambda cell: True,
        "nothing: it is the stream program's own traffic",
        "waking threads, which the stream program's are not; a new result's pages",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Share:
    """A group's geometric mean over so many cells, and the cell that has the least."""

    group: Group
    cells: int
    mean: float
    least: float
    where: Cell


def group_of(cell: Cell) -> Group:
    """Return the group that a cell is of."""
    return next(group for group in GROUPS if group.holds(cell))


def by_group(rows: Sequence[Row]) -> list[Share]:
    """Return the shares of the groups that have any, the simplest group first.

    Below 1 MiB the stream program measures no limit; only the small cells have another one, the quickest call.
    """
    found: dict[Group, list[tuple[float, Cell]]] = {}
    quickest = _quickest_calls(rows)
    for row in rows:
        group, share = group_of(row.cell), row.of_limit
        if group.name == "small" and row.seconds:
            share = quickest[row.cell.memory, row.cell.function] / row.seconds
        if share is not None:
            found.setdefault(group, []).append((share, row.cell))
    return [_share(group, found[group]) for group in reversed(GROUPS) if group in found]


def _quickest_calls(rows: Iterable[Row]) -> dict[tuple[str, str], float]:
    """Return the seconds of the quickest call, by where its result goes and by function."""
    found: dict[tuple[str, str], float] = {}
    for row in rows:
        if row.seconds:
            key = row.cell.memory, row.cell.function
            found[key] = min(found.get(key, row.seconds), row.seconds)
    return found


def _share(group: Group, values: list[tuple[float, Cell]]) -> Share:
    mean = geometric_mean(value for value, _ in values)
    assert mean is not None
    least, where = min(values, key=lambda pair: pair[0])
    return Share(group, len(values), mean, least, where)
