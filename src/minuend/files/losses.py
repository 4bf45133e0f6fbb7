"""What is said of a difference that its file's format has no place for: a report names it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from minuend.errors import listed
from minuend.files.base import Format, Result, clipped, quoted
from minuend.files.formats import conventions
from minuend.files.formats.cf_scaling import SCALE
from minuend.files.formats.coordinates import Coordinates
from minuend.files.formats.georeference import Grid


def losses(
    path: str, results: Sequence[Result], home: Format, given: int | float | None, metadata: Mapping[str, str]
) -> tuple[str, ...]:
    """Return sentences on what a file will not say.

    Args:
        path: the file. results: what is written. home: its format. given: the nodata value that its user has stated.
        metadata: A's free text.
    """
    holds: frozenset[str] = getattr(home, "HOLDS", frozenset())
    found: dict[str, list[str]] = {}
    for result in results:
        for text in _of_one(path, result, home, holds, given):
            found.setdefault(text, []).append(result.name)
    said = (text if len(results) == 1 else f"{text} (of {quoted(names)})" for text, names in found.items())
    lacks = bool(metadata) and "metadata" not in holds
    free = (f"{path} has no place for the metadata {quoted(metadata)}",) if lacks else ()
    return (*free, *_of_groups(path, results, home), *said)


def _of_groups(path: str, results: Sequence[Result], home: Format) -> Iterator[str]:
    written = home.groups_written(results) if hasattr(home, "groups_written") else ()
    for group, attributes in conventions.groups_of(results).items():
        if group not in written and attributes:
            yield f"{path} has no place for the attributes {quoted(attributes)} of {clipped(f'/{group}')}"


def _of_one(path: str, result: Result, home: Format, holds: frozenset[str], given: int | float | None) -> Iterator[str]:
    about = result.about
    if lost := listed(_lost(result, home, holds, given), "and"):
        yield f"{path} has no place for {lost}"
    if about.scale != 1 and "scale" not in holds:
        yield f"{path} has no place for the scale {about.scale}: a difference is so many times its number"
    if isinstance(about.grid, Coordinates) and about.grid.left_out:
        names = quoted(about.grid.left_out)
        yield f"the coordinates {names} are of a type or shape that is not copied, and are left out"


def _lost(result: Result, home: Format, holds: frozenset[str], given: int | float | None) -> Iterator[str]:
    about, grid = result.about, result.about.grid
    if about.nodata is not None and "nodata" not in holds and about.nodata != given and not math.isnan(about.nodata):
        yield f"the nodata value {about.nodata}"
    if isinstance(grid, Grid) and "georeference" not in holds:
        yield "the georeference"
    if isinstance(grid, Coordinates) and "coordinates" not in holds and (names := _places(grid)):
        yield f"the coordinates {quoted(names)}"
    if "attributes" not in holds and (names := [name for name in about.attributes if name != SCALE]):
        yield f"the attributes {quoted(names)}"
    if about.layout is not None and not isinstance(about.layout, getattr(home, "Layout", ())):
        yield from about.layout.names


def _places(grid: Coordinates) -> list[str]:
    """The names of coordinates, their bounds and the coordinate system; axes without coordinates say nothing."""
    return [*grid.labels, *(one.name for one in grid.companions[len(grid.labels) :])]
