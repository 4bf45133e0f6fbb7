"""Rational polynomial cameras as files beside a TIFF state them: ``.RPB``, ``_RPC.TXT``, and GDAL's ``.aux.xml``.

A camera is the numbers of GeoTIFF's tag RPCCoefficient in their order. GDAL believes the first two files before the
tag.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from minuend.errors import FileFormatError
from minuend.files.streaming.reading import read_bytes

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

_WORDS = ("line", "samp", "lat", "long", "height")
_OFFSETS = {f"{word.upper()}_{kind}": f"{word}{long}" for kind, long in (("OFF", "Offset"), ("SCALE", "Scale"))
            for word in _WORDS}  # fmt: skip
_POLYNOMIALS = {f"{word.upper()}_{kind.upper()}_COEFF": f"{word}{kind}Coef" for word in _WORDS[:2]
                for kind in ("Num", "Den")}  # fmt: skip
_TERMS = 20
_DIGITS = ".15g"
"""As GDAL shows a camera's numbers, and copies them from file to file."""

_RPB = re.compile(r"(\w+)\s*=\s*(\([^)]*\)|[^;()]*);")
_LINE = re.compile(r"^\s*(\w+)\s*:\s*(\S+)", re.MULTILINE)
_LONGEST = 1 << 20

Camera = tuple[float, ...]


def rounded(numbers: Iterator[float] | Camera) -> Camera:
    """Return a camera's numbers as GDAL shows them."""
    return tuple(float(f"{number:{_DIGITS}}") for number in numbers)


def camera_beside(path: str) -> tuple[str, Camera] | None:
    """Return the file that states an image's camera, and the camera; ``None`` where there is none.

    Raises:
        FileFormatError: it lacks a number.
    """
    for name in cameras(path):
        if os.path.isfile(name):
            if (size := os.path.getsize(name)) > _LONGEST:
                raise FileFormatError(f"{name} has {size} bytes; expected {_LONGEST} at most")
            read = _of_rpb if name.lower().endswith(".rpb") else _of_text
            return name, _camera(read(read_bytes(name).decode(errors="replace")), name)
    return None


def cameras(path: str) -> list[str]:
    """Return the names of files that would state the camera of an image at a path, in the order of GDAL."""
    stem = os.path.splitext(path)[0]
    return [f"{stem}{end}" for end in (".RPB", ".rpb", "_RPC.TXT", "_rpc.txt", "_RPC.txt")]


def of_metadata(root: ET.Element, path: str) -> Camera:
    """Return the camera of an ``.aux.xml``; nothing where it has none."""
    for metadata in root.iter("Metadata"):
        if metadata.get("domain") == "RPC":
            return _camera({item.get("key", ""): item.text or "" for item in metadata.iter("MDI")}, path)
    return ()


def _of_rpb(text: str) -> Mapping[str, str]:
    names = {own: name for name, own in {**_OFFSETS, **_POLYNOMIALS}.items()}
    return {names[key]: value.strip("()").replace(",", " ") for key, value in _RPB.findall(text) if key in names}


def _of_text(text: str) -> Mapping[str, str]:
    stated = dict(_LINE.findall(text))
    lists = {name: " ".join(stated.get(f"{name}_{k + 1}", "") for k in range(_TERMS)) for name in _POLYNOMIALS}
    return stated | lists


def _camera(stated: Mapping[str, str], path: str) -> Camera:
    """The numbers in the tag's order; how good they are is left out."""
    found = [0.0, 0.0]
    for name, count in (*dict.fromkeys(_OFFSETS, 1).items(), *dict.fromkeys(_POLYNOMIALS, _TERMS).items()):
        try:
            numbers = [float(number) for number in stated.get(name, "").split()]
            if len(numbers) != count or not all(map(math.isfinite, numbers)):
                raise ValueError(name)
        except ValueError:
            raise FileFormatError(
                f"{path} states {stated.get(name, '')[:100]!r} for {name} of its camera; expected {count} numbers, "
                "repair it or take it away"
            ) from None
        found += numbers
    return rounded(tuple(found))
