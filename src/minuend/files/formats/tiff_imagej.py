"""What ImageJ says of a TIFF's image in its description: the sizes of pixels, and what their values mean.

unit, spacing, finterval    beside the resolution: the sizes of pixels, the distances of planes and of moments
cf, c0, c1 …, vunit         the calibration: a function of what is stored, its coefficients, and the unit of its values
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from minuend.files.formats import units
from minuend.files.formats.cf_scaling import OFFSET, SCALE
from minuend.files.formats.gdal_metadata import Item

if TYPE_CHECKING:
    from tifffile import TiffPage

_STRAIGHT, _NONE = 0, 20
"""Two of ImageJ's numbers of functions."""

_NO_UNITS = {"", "pixel", "pixels", "gray value", "null"}
_RESOLUTION = {"X": 282, "Y": 283}
_CURVE = "the calibration of values"
_UNIT = Item("", "UNITTYPE", "unittype")


class Calibration(NamedTuple):
    """What values mean.

    Attributes:
        line: a scale and an offset, by the names of the CF conventions. unit: of the values, as GDAL has it.
        curve: another function, by what it settles, which every file has; "none" where there is none.
    """

    line: dict[str, object]
    unit: dict[Item, str]
    curve: dict[str, str]


def calibration_of(first: TiffPage) -> Calibration:
    """Return what the values of an image mean, of which the first page says it."""
    said = _said(first)
    function = said.get("cf", _STRAIGHT if "c0" in said else _NONE)
    numbers = [float(said[key]) for key in map("c{}".format, range(5)) if isinstance(said.get(key), int | float)]
    unit = _unit(said.get("vunit"))
    named = {_UNIT: unit} if unit.lower() not in _NO_UNITS else {}
    if function == _STRAIGHT and len(numbers) == 2:
        return Calibration({OFFSET: numbers[0], SCALE: numbers[1]}, named, {_CURVE: "none"})
    if function == _NONE or (function == _STRAIGHT and not numbers):
        return Calibration({}, named, {_CURVE: "none"})
    return Calibration({}, named, {_CURVE: f"ImageJ's function {function} of {numbers}"})


def curved(calibrated: Calibration, path: str) -> tuple[str, ...]:
    """Return what a report says of a file whose values are a function of what is stored that is no line."""
    if calibrated.curve[_CURVE] == "none":
        return ()
    curve = calibrated.curve[_CURVE]
    return (f"{path} calibrates its values by {curve}, which the difference has not: what is stored is subtracted",)


def sizes_of(first: TiffPage) -> dict[str, str]:
    """Return the sizes of a pixel and the distances between planes, to 6 digits, which ImageJ writes of resolutions."""
    said = _said(first)
    unit = _unit(said.get("unit"))
    found = {}
    if unit.lower() not in _NO_UNITS:
        sizes: dict[str, Any] = {"Z": said.get("spacing")}
        for axis, code in _RESOLUTION.items():
            value = first.tags.valueof(code)
            if isinstance(value, tuple) and len(value) == 2 and all(value):
                sizes[axis] = value[1] / value[0]
        own = {axis: units.canonical(_unit(said.get(f"{axis.lower()}unit")) or unit) for axis in "XYZ"}
        found = {
            f"ImageJ's size of a pixel along {axis}": f"{size:.6g} {own[axis]}"
            for axis, size in sizes.items()
            if isinstance(size, int | float)
        }
    if isinstance(interval := said.get("finterval"), int | float) and interval:
        unit = units.canonical(_unit(said.get("tunit")) or "s")
        found["ImageJ's time between two planes"] = f"{interval:.6g} {unit}"
    return found


def _said(first: TiffPage) -> Mapping[str, Any]:
    return (first.parent.imagej_metadata or {}) if first.parent.is_imagej else {}


def _unit(stated: object) -> str:
    """A unit, in which ImageJ writes a letter beyond ASCII as ``\\u00B5``."""
    return (
        re.sub(r"\\u([0-9A-Fa-f]{4})", lambda found: chr(int(found[1], 16)), stated) if isinstance(stated, str) else ""
    )
