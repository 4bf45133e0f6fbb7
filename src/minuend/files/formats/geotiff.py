"""What a GeoTIFF's tags say of where its pixels lie, read as GDAL reads it.

Where a file's pixels are points (GTRasterType 2), coordinates are those of their middles: all moves by half a pixel.
Tie points beside a scale and a matrix are two ways to say the same. Tie points alone are ground control points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from minuend.errors import FileFormatError
from minuend.files.formats.georeference import (
    DATUM,
    GEOGRAPHIC,
    MODEL,
    PROJECTED,
    RASTER,
    TEXT,
    VERTICAL,
    Grid,
    Matrix,
    Stated,
    is_coded,
)
from minuend.files.formats.tiff_cameras import rounded

SCALE, TIES, MATRIX, KEYS, DOUBLES, TEXTS, RATIONAL = 33550, 33922, 34264, 34735, 34736, 34737, 50844
TAGS = (SCALE, TIES, MATRIX, KEYS, DOUBLES, TEXTS, RATIONAL)
"""Those that go from A to the difference, as they are."""

_CITATIONS = {1026: MODEL, 2049: GEOGRAPHIC, 3073: PROJECTED, 4097: VERTICAL}
"""Texts, and the key whose system each describes."""

_MATTERS = {MODEL: {PROJECTED, GEOGRAPHIC}, PROJECTED: {3074, 3075}, GEOGRAPHIC: {DATUM, 2056, 2057}, VERTICAL: {4098}}
"""Keys that describe a system without a code; where all of them are missing, only its text does."""

_POINT = 2
_USER_DEFINED = 32767
_ERRORS = 2
"""Numbers at the head of a camera that say how good it is, not where it looks."""

_UNKNOWN = -1.0
"""What the tag has for them where they are unknown."""

Tag = tuple[int, int, int, Any, bool]
"""A tag as ``tifffile`` writes it: code, type, count, value, and whether it goes to the first page alone."""

Value = Callable[[int], Any]
"""A page's tags by their code; ``None`` for one that it has not."""


def grid_of(value: Value, path: str) -> Grid | None:
    """Return where pixels lie, ``None`` where no tag says it.

    Raises:
        FileFormatError: tags that are damaged.
    """
    if all(value(code) is None for code in (SCALE, TIES, MATRIX, KEYS, RATIONAL)):
        return None
    keys = _keys(value, path)
    half = 0.5 if keys.get(RASTER) == _POINT else 0.0
    transform, height, points = _transform(value, path)
    if transform is not None and half:
        transform = _moved(transform, half)
    points = tuple(sorted((column + half, row + half, *place) for column, row, *place in points))
    stated = _numbers(value(RATIONAL), 92, path, "RPCCoefficient") if value(RATIONAL) is not None else ()
    camera = rounded(stated)
    return Grid(_system(keys), transform, height, points, (0.0,) * _ERRORS + camera[_ERRORS:] if camera else ())


def _numbers(found: object, least: int, path: str, name: str) -> tuple[float, ...]:
    """A tag's numbers, of which there have to be some."""
    numbers = tuple(found) if isinstance(found, Sequence) and not isinstance(found, str) else (found,)
    if len(numbers) < least or not all(isinstance(number, int | float) for number in numbers):
        raise FileFormatError(f"{path} is damaged: its tag {name} has {len(numbers)} numbers; expected {least}")
    return tuple(map(float, numbers))


def _transform(value: Value, path: str) -> tuple[Matrix | None, tuple[float, float], Sequence[tuple[float, ...]]]:
    """The transform as it is stated, of heights too, and the points that say more than that."""
    ties = () if value(TIES) is None else _numbers(value(TIES), 6, path, "ModelTiepoint")
    if len(ties) % 6:
        raise FileFormatError(f"{path} is damaged: its tag ModelTiepoint has {len(ties)} numbers; expected 6 a point")
    points = [ties[k : k + 6] for k in range(0, len(ties), 6)]
    if value(SCALE) is not None and points:
        x, y, z = (*_numbers(value(SCALE), 2, path, "ModelPixelScale"), 0.0)[:3]
        found = [_by_scale((x, y, z or 1.0), point) for point in points]
        own = [(c, r, *place) for (c, r, _, *place), one in zip(points, found, strict=True) if one != found[0]]
        return (*found[0], own)
    others = [(column, row, *place) for column, row, _, *place in points]
    if value(MATRIX) is not None:
        t = _numbers(value(MATRIX), 16, path, "ModelTransformation")
        return (t[0], t[1], t[3], t[4], t[5], t[7]), (t[10] or 1.0, t[11]), others
    return None, (1.0, 0.0), others


def _by_scale(scale: tuple[float, float, float], point: Sequence[float]) -> tuple[Matrix, tuple[float, float]]:
    """The transform of a scale and one tie point, and that of heights."""
    column, row, level, x, y, z = point
    return (
        (scale[0], 0.0, x - column * scale[0], 0.0, -scale[1], y + row * scale[1]),
        (scale[2], z - level * scale[2]),
    )


def _moved(t: Matrix, by: float) -> Matrix:
    """The transform of outer corners, by that of points in the middle of pixels."""
    return t[0], t[1], t[2] - by * (t[0] + t[1]), t[3], t[4], t[5] - by * (t[3] + t[4])


def _keys(value: Value, path: str) -> dict[int, Stated]:
    """The GeoKeys by their numbers: a code, numbers or a text each."""
    directory = value(KEYS)
    if directory is None:
        return {}
    pools = {34735: directory, DOUBLES: value(DOUBLES), TEXTS: value(TEXTS)}
    found: dict[int, Stated] = {}
    for at in range(4, 4 + 4 * directory[3], 4):
        entry = directory[at : at + 4]
        if len(entry) < 4:
            raise FileFormatError(f"{path} is damaged: it lists {directory[3]} GeoKeys and has {at // 4 - 1}")
        key, where, count, stated = entry
        if where == 0:
            found[key] = stated
            continue
        pool = pools.get(where)
        pool = (pool,) if isinstance(pool, int | float) else pool
        if pool is None or stated + count > len(pool) + isinstance(pool, str):
            raise FileFormatError(f"{path} is damaged: its GeoKey {key} lies beyond the tag {where} that it names")
        part = pool[stated : stated + count]
        found[key] = part.rstrip("|\0") if isinstance(part, str) else part[0] if len(part) == 1 else tuple(part)
    return found


def _system(keys: Mapping[int, Stated]) -> Mapping[int, Stated]:
    """What of the keys says which coordinate system it is: a key of 0 is undefined, and texts name what others say."""
    system = {key: stated for key, stated in keys.items() if stated != 0 and key not in (*_CITATIONS, RASTER)}
    for key, of in _CITATIONS.items():
        if key in keys and _is_needed(key, keys[key], of, system):
            system[key] = (key == 2049 and _datum(keys[key])) or keys[key]
    return MappingProxyType(dict(sorted(system.items())))


def _is_needed(key: int, text: Stated, of: int, system: Mapping[int, Stated]) -> bool:
    """Whether a text says what no other key does: a system without a code, or a datum without one."""
    if key == 2049 and _datum(text):
        return system.get(DATUM) == _USER_DEFINED
    if is_coded(system) and of != VERTICAL:
        return False
    own = system.get(of) == _USER_DEFINED
    return own and (str(text).startswith("ESRI PE String") or not _MATTERS.get(of, set()) & system.keys())


def _datum(text: Stated) -> str:
    """The name of the datum that GDAL and ESRI write into the text of a geographic system; "" where it has none.

    ESRI's names have ``D_`` before them and no spaces.
    """
    found = next((part for part in str(text).split("|") if part.startswith("Datum = ")), "")
    return found.replace("Datum = D_", "Datum = ").replace("_", " ")


# ---- writing ------------------------------------------------------------------------------------------------------

_DOUBLE, _SHORT = 12, 3
_MODELS = {PROJECTED: 1, GEOGRAPHIC: 2}


def tags_of(grid: Grid, own: Grid | None, tags: Sequence[Tag]) -> tuple[Tag, ...]:
    """Return the tags that state where pixels lie: a file's own, but for what files beside it say instead.

    Args:
        grid: where they lie. own: what the file's own tags say. tags: those.
    """
    own, remaining = own or Grid(), list(tags)
    if grid.system != own.system and (made := _directory(grid.system)):
        remaining = [tag for tag in remaining if tag[0] not in (KEYS, DOUBLES, TEXTS)]
        remaining.append((KEYS, _SHORT, len(made), made, True))
    if grid.rational != own.rational:
        remaining = [tag for tag in remaining if tag[0] != RATIONAL]
        numbers = (*(_UNKNOWN,) * _ERRORS, *grid.rational[_ERRORS:])
        remaining.append((RATIONAL, _DOUBLE, len(numbers), numbers, True))
    if (grid.transform, grid.points) == (own.transform, own.points):
        return tuple(remaining)
    remaining = [tag for tag in remaining if tag[0] not in (SCALE, TIES, MATRIX)]
    half = 0.5 if _is_point(remaining) else 0.0
    if grid.transform is not None:
        a, b, x, d, e, y = _moved(grid.transform, -half)
        matrix = (a, b, 0.0, x, d, e, 0.0, y, *(0.0,) * 7, 1.0)
        return (*remaining, (MATRIX, _DOUBLE, len(matrix), matrix, True))
    ties = [number for c, r, x, y, z in grid.points for number in (c - half, r - half, 0.0, x, y, z)]
    return (*remaining, (TIES, _DOUBLE, len(ties), tuple(ties), True))


def of_difference(tags: Sequence[Tag]) -> tuple[Tag, ...]:
    """Return the tags of a difference: where its operands' pixels mean heights above an offset, it has none."""
    scaled = any(tag[0] == SCALE for tag in tags)
    return tuple(_without_offset(tag) if tag[0] == MATRIX or (tag[0] == TIES and scaled) else tag for tag in tags)


def _without_offset(tag: Tag) -> Tag:
    code, kind, count, value, first = tag
    places = {11} if code == MATRIX else {at for at in range(len(value)) if at % 6 in (2, 5)}
    return code, kind, count, tuple(0.0 if at in places else number for at, number in enumerate(value)), first


def is_written(grid: Grid) -> bool:
    """Whether tags hold the coordinate system."""
    return TEXT not in grid.system


def _directory(system: Mapping[int, Stated]) -> tuple[Stated, ...]:
    """The GeoKeys of a system that a code names."""
    key = next((key for key in _MODELS if key in system), None)
    return () if key is None else (1, 1, 0, 3, MODEL, 0, 1, _MODELS[key], RASTER, 0, 1, 1, key, 0, 1, system[key])


def _is_point(tags: Sequence[Tag]) -> bool:
    """Whether a file's tags call its pixels points."""
    directory = next((value for code, _, _, value, _ in tags if code == KEYS), ())
    return any(tuple(directory[at : at + 4]) == (RASTER, 0, 1, _POINT) for at in range(4, len(directory), 4))
