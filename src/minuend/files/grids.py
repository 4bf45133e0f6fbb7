"""Where pixels lie: two operands that are subtracted pixel by pixel have to lie in the same places, as far as is known.

Nothing is warped. A file that could say where its pixels lie and does not is refused beside one that does: nothing says
whether they are the same places. A format without a word for it (``.npy``) is taken pixel by pixel, as arrays are.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from minuend.core.shapes import Broadcast, size, static
from minuend.errors import FileFormatError
from minuend.files.base import Tensor, quoted
from minuend.files.formats import units
from minuend.files.formats.conventions import TERMS, roles, without_names
from minuend.files.formats.coordinates import Attributes, Axis, Companion, Coordinates, Part
from minuend.files.formats.georeference import Grid, difference
from minuend.files.formats.hdf5_layout import Layout
from minuend.files.formats.missing import flat
from minuend.files.stored_elements import Elements
from minuend.files.streaming.regions import contiguous, index


def check(a: Tensor, b: Tensor, joined: Broadcast, paths: tuple[str, str]) -> None:
    """Check that elements of two tensors lie in the same places.

    Args:
        a, b: the operands. joined: how they join. paths: their files.

    Raises:
        FileFormatError: they do not, or one file does not say where they lie.
    """
    x, y = a.about.grid, b.about.grid
    if isinstance(x, Coordinates) and isinstance(y, Coordinates):
        _check_coordinates(x, y, joined, paths)
    elif isinstance(x, Grid) and isinstance(y, Grid):
        _check_grids(x, y, joined)
    elif x is not None and y is not None:
        if not _repeats(a, joined) and not _repeats(b, joined):
            raise FileFormatError(
                f"{paths[0]} and {paths[1]} say in different ways where their elements lie, which are not compared; "
                "bring them to one format first"
            )
    elif x is not None or y is not None:
        _check_single_place(a, b, joined, paths)
    _check_axis_labels(a, b, paths)


def _check_axis_labels(a: Tensor, b: Tensor, paths: Sequence[str]) -> None:
    """Check that axes of HDF5 do not bear the same labels in another order."""
    x, y = (one.about.layout.labels if isinstance(one.about.layout, Layout) else () for one in (a, b))
    if x == y or sorted(x) != sorted(y):
        return
    k = next(k for k, (one, other) in enumerate(zip(x, y, strict=True)) if one != other)
    raise FileFormatError(
        f"axis {k} is {x[k]!r} in {paths[0]} and {y[k]!r} in {paths[1]}; nothing is transposed, bring them to one "
        "order, or label them alike"
    )


def _check_grids(x: Grid, y: Grid, joined: Broadcast) -> None:
    found = difference(x, y, static(joined.shape or ())[-2:])
    if found is not None:
        raise FileFormatError(
            f"A and B have different {found.what}: {found.a} and {found.b}; nothing is warped, bring them to one grid "
            "(gdalwarp) first"
        )


def _check_single_place(a: Tensor, b: Tensor, joined: Broadcast, paths: tuple[str, str]) -> None:
    for one, path, other in ((a, paths[0], paths[1]), (b, paths[1], paths[0])):
        if one.about.grid is None and one.about.placeable and not _repeats(one, joined):
            raise FileFormatError(
                f"{path} has no georeference and {other} has one: nothing says that their pixels lie in the same "
                f"places; if they do, give it that one (rio edit-info --crs like --transform like --like {other} "
                f"{path}), or save it as .npy, which has none"
            )


def _check_coordinates(x: Coordinates, y: Coordinates, joined: Broadcast, paths: tuple[str, str]) -> None:
    """Check the axes that lie along each other, and all coordinates that both sides have."""
    shape = static(joined.shape or ())
    for k in range(len(shape)):
        pair = [
            grid.axes[k - start] if 0 <= k - start < len(grid.axes) else None
            for grid, start in ((x, joined.a_start), (y, joined.b_start))
        ]
        _check_axis(pair, (x, y), paths, k)
    for label in x.labels.values():
        other = _counterpart(label, x, y, joined)
        if other is not None and label.axes and other.axes:
            _check_labels(label, other, x, y)
    if _lengths(x, y):
        for what, part in x.parts.items():
            if part.settles and not part.label and what in y.parts:
                _check_part(what, part, y.parts[what])
    for systems in itertools.zip_longest(_systems(x), _systems(y)):
        differing = _differing(*systems, _TEXTS if x.labels.keys() & y.labels.keys() else _TEXTS - {"GeoTransform"})
        if not differing:
            continue
        described = [f"{path} {_system(one, systems, differing[0])}" for path, one in zip(paths, systems, strict=True)]
        raise FileFormatError(
            f"A and B have different coordinate systems: {described[0]} and {described[1]}; nothing is warped, bring "
            "them to one first"
        )


def _counterpart(label: Companion, x: Coordinates, y: Coordinates, joined: Broadcast) -> Companion | None:
    """Find B's coordinates of the name of A's; where several bear it, those along the same axes of the result."""
    alike = [[one for one in grid.labels.values() if one.name == label.name] for grid in (x, y)]
    if len(alike[0]) == len(alike[1]) == 1:
        return alike[1][0]
    own = _along(label, x, joined.a_start)
    return next((one for one in alike[1] if _along(one, y, joined.b_start) == own), None)


def _along(label: Companion, grid: Coordinates, start: int) -> list[int]:
    """Return the axes of the result that coordinates lie along."""
    places = {axis.path: start + k for k, axis in enumerate(grid.axes)}
    return [places.get(axis.path, -1) for axis in label.axes]


def _lengths(x: Coordinates, y: Coordinates) -> bool:
    """Whether axes of one name have one length: neither operand is repeated along them."""
    sizes = {axis.name: axis.size for axis in x.axes}
    return all(sizes.get(axis.name, axis.size) == axis.size for axis in y.axes)


def _check_part(what: str, one: Part, other: Part) -> None:
    """Check that what defines places is the same on both sides; of a container its attributes alone count."""
    a, b = one.companion.elements(), other.companion.elements()
    _check_meaning(what, (one.meaning, other.meaning), a)
    if one.attribute not in ("geometry", "mesh"):
        hint = f"bring them to one first, or take them away (ncatted -a {one.attribute},{one.owner},d,,)"
        _check_numbers(what, (a, b), hint)


def _check_axis(pair: list[Axis | None], grids: tuple[Coordinates, Coordinates], paths: Sequence[str], k: int) -> None:
    a, b = pair
    if a is None or b is None or not a.path or not b.path:
        return
    names = [{axis.name for axis in grid.axes} for grid in grids]
    swapped = a.name != b.name and (a.name in names[1] or b.name in names[0])  # an axis of one is not repeated then
    if a.size != b.size and not swapped:
        return
    if a.name != b.name:
        raise FileFormatError(
            f"axis {k} is {a.name!r} in {paths[0]} and {b.name!r} in {paths[1]}; nothing is transposed, bring them to "
            f"one order (ncpdq), or rename one of them (ncrename -d {b.name},{a.name})"
        )
    known = [a.name in grid.labels for grid in grids]
    if known[0] != known[1] and a.size > 1:
        has, lacks = paths if known[0] else reversed(paths)
        raise FileFormatError(
            f"{lacks} has no coordinates for {a.name!r} and {has} has some: nothing says that they are the same; copy "
            f"them (ncks -A -v {a.name}), or save it as .npy, which has none"
        )


def _check_labels(one: Companion, other: Companion, x: Coordinates, y: Coordinates) -> None:
    """Check that coordinates are the same numbers, along the same axes, in the same units, of the same cells."""
    axes = [[axis.name for axis in label.axes] for label in (one, other)]
    a, b = one.elements(), other.elements()
    if len(axes[0]) != len(axes[1]) or (
        a.shape == b.shape and any(p and q and p != q for p, q in zip(*axes, strict=True))
    ):
        raise FileFormatError(
            f"A and B have coordinates {one.name!r} along different axes: {quoted(axes[0])} and {quoted(axes[1])}; "
            "nothing is transposed or repeated, bring them to the same axes first"
        )
    what = f"coordinates {one.name!r}"
    _check_meaning(what, (one.attributes, other.attributes), a)
    if any(p != q and 1 not in (p, q) for p, q in zip(a.shape, b.shape, strict=True)):
        _check_numbers(what, (a, b), "take the coordinates of one of them to the other's")
    if a.shape != b.shape:
        return  # repeated
    hint = f"take {one.name!r} away (ncwa -a, for an axis of one)"
    _check_numbers(what, (a, b), f"bring them to one grid first (cdo, xarray's reindex), or {hint}")
    of_each = [{role for role, _ in roles(label.attributes.get(TERMS))} for label in (one, other)]
    if all(of_each) and of_each[0] != of_each[1]:
        described = [quoted(sorted(terms)) for terms in of_each]
        raise FileFormatError(
            f"A and B have coordinates {one.name!r} of different formula_terms: {described[0]} and {described[1]}; "
            f"bring them to one formula first, or take it away (ncatted -a formula_terms,{one.name},d,,)"
        )
    for what, part in x.parts.items():
        if part.settles and part.label == one.path and what in y.parts:
            _check_part(what, part, y.parts[what])


def _check_meaning(what: str, attributes: tuple[Attributes, Attributes], values: Elements) -> None:
    for key in _OF_NUMBERS:
        came = [one.get(key) for one in attributes]
        if not _same(key, *came) and not (key == "calendar" and _counted_alike(*attributes, values)):
            plain = [value.item() if isinstance(value, np.generic) else value for value in came]
            described = ["none" if value is None else repr(value) for value in plain]
            raise FileFormatError(
                f"A and B have {what} of different {key}: {described[0]} and {described[1]}; bring them to one first"
            )


def _counted_alike(one: Attributes, other: Attributes, values: Elements) -> bool:
    """Whether moments, whose numbers and units are the same, are so in two calendars."""
    if not units.counted_alike(str(one.get("units")), one.get("calendar"), other.get("calendar")):
        return False
    return not any((values.part(region) < 0).any() for region in contiguous(values.shape, values.dtype.itemsize))


def _check_numbers(what: str, pair: tuple[Elements, Elements], hint: str) -> None:
    a, b = pair
    if a.shape != b.shape:
        raise FileFormatError(f"A and B have different {what}: of the shapes {a.shape} and {b.shape}; {hint}")
    for region in contiguous(a.shape, max(a.dtype.itemsize, b.dtype.itemsize)):
        x, y = a.part(region), b.part(region)
        equal = x == y
        if x.dtype.kind == y.dtype.kind == "f":
            equal |= np.isnan(x) & np.isnan(y)
        if not equal.all():
            at = tuple(int(i) for i in np.argwhere(~equal)[0])
            where = ", ".join(map(str, index(region, at)))
            raise FileFormatError(
                f"A and B have different {what}: at {where} A has {x[at]} and B {y[at]}; nothing is aligned or "
                f"interpolated, {hint}"
            )


_OF_NUMBERS = ("units", "calendar", "scale_factor", "add_offset", "positive")
"""Attributes without which the same numbers do not mean the same."""


def _same(key: str, one: object, other: object) -> bool:
    """Whether an attribute of two variables means the same: some may be spelled in two ways, or left out."""
    if key == "calendar":
        return units.calendar(one) == units.calendar(other)
    if key == "positive":
        return one is None or other is None or str(one).lower() == str(other).lower()
    if key == "units" and isinstance(one, str | None) and isinstance(other, str | None):
        return units.same((one or "").strip(), (other or "").strip())  # without units it is dimensionless
    return bool(_plain(one) == _plain(other))


def _systems(grid: Coordinates) -> list[dict[str, object]]:
    """Return what describes the coordinate systems of a variable, those of one kind beside each other."""
    return sorted(map(_described, grid.systems), key=lambda one: str(one.get("grid_mapping_name")))


_TEXTS = {
    "crs_wkt",
    "spatial_ref",
    "proj4",
    "proj4_params",
    "proj4text",
    "esri_pe_string",
    "epsg_code",
    "GeoTransform",
}
"""Attributes that say in other words what the others do; programs leave them out."""


def _described(system: Companion) -> dict[str, object]:
    found = {name: _plain(value) for name, value in system.attributes.items() if name not in ("long_name", "comment")}
    with contextlib.suppress(KeyError, ValueError):
        found["GeoTransform"] = list(map(float, str(found["GeoTransform"]).split()))
    return found


def _differing(one: dict[str, object] | None, other: dict[str, object] | None, restated: Collection[str]) -> list[str]:
    """Return the attributes in which two systems differ, but for a text that one lacks and whose numbers both state."""
    if one is None or other is None:
        return ["grid_mapping_name"]
    named = "grid_mapping_name" in one and "grid_mapping_name" in other
    return [
        name
        for name in dict.fromkeys((*one, *other))
        if one.get(name) != other.get(name) and not (named and name in restated and not (name in one and name in other))
    ]


def _plain(value: object) -> object:
    """A text, or numbers as a list, in which NaN is equal to itself."""
    if value is None or isinstance(value, str):
        return value
    return [str(one) if one != one else getattr(one, "item", lambda one=one: one)() for one in flat(value)]  # noqa: PLR0124


def without_contradictions(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return operands without what they have and the difference has not, since it is not the same on both sides.

    That is a single coordinate (a date, a level), and what belongs to a variable and defines no places, of which a
    note is made.
    """
    x, y = a.about.grid, b.about.grid
    if not isinstance(x, Coordinates) or not isinstance(y, Coordinates):
        return a, b
    lost = {what for what in x.parts.keys() & y.parts.keys() if not _is_one(x.parts[what], y.parts[what])}
    gone = {name for grid in (x, y) for name, label in grid.labels.items() if not label.axes and not _agree(name, x, y)}
    return _without(a, x, gone, lost), _without(b, y, gone, lost)


def _without(tensor: Tensor, grid: Coordinates, gone: Collection[str], lost: Collection[str]) -> Tensor:
    """Return a tensor without labels and parts of those names; what named the parts no longer does."""
    names = {grid.parts[what].companion.name for what in lost}
    undefined = {part.label for what, part in grid.parts.items() if what in lost and part.attribute == TERMS}

    def changed(one: Companion) -> Companion:
        return replace(one, attributes=without_names(one.attributes, names)) if names else one

    labels = {name: changed(label) for name, label in grid.labels.items() if name not in gone}
    there = {"", *(label.path for label in labels.values())}
    parts = {
        what: replace(part, companion=changed(part.companion))
        for what, part in grid.parts.items()
        if what not in lost and part.label in there and not (part.attribute == TERMS and part.label in undefined)
    }
    notes = tensor.about.notes
    if lost:
        said = ", ".join(sorted(lost))
        notes += (f"A and B have different values of what belongs to others, which the difference lacks: {said}",)
    attributes = without_names(tensor.about.attributes, names)
    grid = replace(grid, labels=labels, parts=parts)
    return replace(tensor, about=replace(tensor.about, grid=grid, attributes=attributes, notes=notes))


def _is_one(one: Part, other: Part) -> bool:
    """Whether what belongs to a variable is the same on both sides; what defines places has been checked."""
    if one.settles and other.settles:
        return True
    try:
        _check_part("", one, other)
    except FileFormatError:
        return False
    return True


def _agree(name: str, x: Coordinates, y: Coordinates) -> bool:
    """Whether two operands have one single coordinate, as far as both have it."""
    one, other = x.labels.get(name), y.labels.get(name)
    if one is None or other is None:
        return True
    try:
        _check_labels(one, other, x, y)
    except FileFormatError:
        return False
    return True


def _system(one: dict[str, object] | None, systems: Sequence[dict[str, object] | None], name: str) -> str:
    """Say what a coordinate system is, by an attribute that differs."""
    if one is None or None in systems:
        return "states none" if one is None else f"states {one.get('grid_mapping_name', 'one')!r}"
    return f"states the {name} {one.get(name, 'none')!r}"


def of_b(a: Tensor, b: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether it is B that says where the difference lies: A does not, or is repeated over it."""
    return b.about.grid is not None and b.shape == shape and (a.about.grid is None or a.shape != shape)


def _repeats(one: Tensor, joined: Broadcast) -> bool:
    """Whether an operand is a number, or is repeated over the difference: it has no pixels of its own there."""
    return size(one.shape) == 1 or one.shape != static(joined.shape or ())
