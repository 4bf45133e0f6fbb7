"""Where pixels lie on the ground, in one form whatever a file wrote it in, and how two places differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

_TOLERANCE = 1e-6
"""Of a pixel: what rounding may move a corner by. Files state 12 digits and more."""

_ROUNDING = 1e-10
"""Of the numbers of a coordinate system; PROJ compares them so."""

_USER_DEFINED = 32767
MODEL, RASTER, GEOGRAPHIC, DATUM, PROJECTED, VERTICAL = 1024, 1025, 2048, 2050, 3072, 4096
_STATED_BY = {
    PROJECTED: {MODEL, *range(2048, 2063), *range(3074, 3096)},
    GEOGRAPHIC: {MODEL, *range(2050, 2063)},
    DATUM: {2051, *range(2056, 2060), 2061},
    VERTICAL: {MODEL, 4098, 4099},
}
"""GeoKeys that the code in another one states already, so that a file may leave them out."""

TEXT = 0
"""No GeoKey: a coordinate system in WKT, as a file beside the image states it."""

_WORDS = {
    TEXT: "the WKT",
    GEOGRAPHIC: "the geographic system",
    DATUM: "the datum",
    2052: "the linear units",
    2054: "the angular units",
    2056: "the ellipsoid",
    2062: "the datum's shift",
    PROJECTED: "the projected system",
    3073: "the text",
    3075: "the projection",
    3076: "the linear units",
    VERTICAL: "the vertical system",
    4098: "the vertical datum",
    4099: "the vertical units",
}

Matrix = tuple[float, float, float, float, float, float]
Stated = int | float | str | tuple[float, ...]
"""What a GeoKey states."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Where pixels lie on the ground.

    Attributes:
        system: the coordinate system by GeoKeys; text that only names something is left out.
        transform: from (column, row) of a pixel's outer corner to coordinates: x = t0 column + t1 row + t2,
            y = t3 column + t4 row + t5; ``None`` where points state it, or nothing does.
        height: scale and offset of what pixels hold to heights.
        points: ground control points: column, row, x, y, z.
        rational: the numbers of a rational polynomial camera.
    """

    system: Mapping[int, Stated] = field(default_factory=lambda: MappingProxyType({}))
    transform: Matrix | None = None
    height: tuple[float, float] = (1.0, 0.0)
    points: tuple[tuple[float, ...], ...] = ()
    rational: tuple[float, ...] = ()


class Difference(NamedTuple):
    """What two places differ in, and what A and B state."""

    what: str
    a: str
    b: str


def difference(x: Grid, y: Grid, shape: Sequence[int]) -> Difference | None:
    """Return the first thing in which two places differ, ``None`` where they are one.

    Args:
        shape: rows and columns of the pixels.
    """
    if (key := _other_key(x.system, y.system)) is not None:
        return Difference("coordinate systems", *_named(x.system, y.system, key))
    if x.transform != y.transform and not _same(x.transform, y.transform, shape):
        return Difference("transforms", str(x.transform or "none"), str(y.transform or "none"))
    if x.height != y.height:
        return Difference("scales and offsets of heights", str(x.height), str(y.height))
    if x.points != y.points:
        a, b = (set(one.points) - set(other.points) for one, other in ((x, y), (y, x)))
        return Difference("ground control points", _first(x, a), _first(y, b))
    if x.rational != y.rational:
        return Difference("rational polynomial cameras", _camera(x), _camera(y))
    return None


def _other_key(x: Mapping[int, Stated], y: Mapping[int, Stated]) -> int | None:
    """The first GeoKey in which two systems differ, the codes of whole systems first."""
    known = {*_states(x), *_states(y)}
    order = sorted({*x, *y} - {MODEL}, key=lambda key: (key not in (PROJECTED, GEOGRAPHIC, VERTICAL), key))
    for key in order:
        if key in x and key in y:
            if not _equal(x[key], y[key]):
                return key
        elif key not in known:
            return key
    return None


def _equal(x: Stated | None, y: Stated | None) -> bool:
    """Whether what two keys state is one: numbers of an ellipsoid, say, that programs compute, but for rounding."""
    if isinstance(x, float) and isinstance(y, float):
        return math.isclose(x, y, rel_tol=_ROUNDING)
    return bool(x == y)


def _states(system: Mapping[int, Stated]) -> set[int]:
    """The GeoKeys that a system's codes state without writing them."""
    found: set[int] = set()
    for key, implied in _STATED_BY.items():
        if system.get(key, _USER_DEFINED) != _USER_DEFINED:
            found |= implied
    return found


def is_coded(system: Mapping[int, Stated]) -> bool:
    """Whether a code names the whole horizontal system."""
    key = PROJECTED if PROJECTED in system else GEOGRAPHIC
    return bool(system.get(key, _USER_DEFINED) != _USER_DEFINED)


def called(system: Mapping[int, Stated]) -> str:
    """Name a coordinate system."""
    for key, kind in ((PROJECTED, "projected"), (GEOGRAPHIC, "geographic")):
        if system.get(key, _USER_DEFINED) != _USER_DEFINED:
            return f"EPSG:{system[key]} ({kind})"
    return "one of its own" if system else "none"


def _named(x: Mapping[int, Stated], y: Mapping[int, Stated], key: int) -> tuple[str, str]:
    """Name two systems, with the key in which they differ where their names do not show it."""
    names = called(x), called(y)
    if names[0] != names[1]:
        return names
    word = f"{_WORDS.get(key, 'the GeoKey')} (GeoKey {key})"
    a, b = (f"{name}, {word} {one.get(key, 'none')}" for name, one in zip(names, (x, y), strict=True))
    return a, b


def _same(x: Matrix | None, y: Matrix | None, shape: Sequence[int]) -> bool:
    """Whether two transforms take all corners of the pixels to the same places, but for rounding."""
    if x is None or y is None:
        return False
    pixel = min(math.hypot(x[0], x[3]), math.hypot(x[1], x[4]))
    for row in (0, shape[0]):
        for column in (0, shape[1]):
            away = (_at(x[k : k + 3], column, row) - _at(y[k : k + 3], column, row) for k in (0, 3))
            if not math.hypot(*away) <= _TOLERANCE * pixel:
                return False
    return True


def _at(line: Sequence[float], column: int, row: int) -> float:
    return line[0] * column + line[1] * row + line[2]


def _first(grid: Grid, own: set[tuple[float, ...]]) -> str:
    """Say how many points there are, and the first one that the other file has not."""
    if not grid.points:
        return "none"
    point = next((point for point in grid.points if point in own), None)
    return f"{len(grid.points)}" if point is None else f"{len(grid.points)} with {point}"


def _camera(grid: Grid) -> str:
    return f"one at {grid.rational[2:5]}" if grid.rational else "none"
