"""A difference in another format than A: all that A says is read there by the format's own library, or is reported.

Each writer returns what it has said, item by item. What a reader does not find has to be named in a note, and what it
finds has the same value and is named in none.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from differential import subtracting
from differential.said_by_a import NODATA, SAYS, SHAPE, SUFFIXES, WRITERS, Case, Said, Saying
from differential.said_by_output import READERS
from differential.subtracting import Operand, same_elements
from differential.surface import Difference, Surface

DTYPES = ("uint8", "int16", "float32")
OUT = (".npy", ".npz", ".safetensors", ".zarr", ".zarr.zip", ".tif", ".png", ".h5", ".nc")


def draw(source: random.Random) -> Case:
    """Draw a case."""
    a = source.choice([one for one in SAYS if SAYS[one]])
    out = source.choice(OUT)
    return Case(
        seed=source.randrange(1 << 16),
        a=a,
        out=out,
        dtype="uint8" if "png" in (a, out[1:]) else source.choice(DTYPES),
        says=tuple(one for one in SAYS[a] if source.random() < 0.4 and (one != "two" or out not in (".npy", ".png"))),
    )


def compare(case: Case, folder: Path) -> str:
    """Compare a case."""
    paths = [folder / f"{side}{SUFFIXES[case.a]}" for side in "ab"]
    out = folder / f"c{case.out}"
    values = [subtracting.elements(case.seed * 2 + k, case.dtype, SHAPE, "small", NODATA) for k in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said, _ = (WRITERS[case.a](path, one, case) for path, one in zip(paths, values, strict=True))
        came = subtracting.ours([str(path) for path in paths], str(out))
        if isinstance(came, Exception):
            raise Difference(f"ours refuses ({came}), theirs computes")
        array, found = READERS[case.out](out)
    nodata = said.get(Said("nodata"))
    x, y = (Operand(one, nodata) for one in values)
    expected = subtracting.difference(x, y, "wrap")
    same_elements("elements", array.reshape(SHAPE), expected.array)
    subtracting.same_report(came.tensors[0], expected)
    check(said, found, came.notes)
    return "equal"


def check(said: Saying, found: Saying, notes: Sequence[str]) -> None:
    """Check that each item is there with its value, or else named."""
    for item, value in said.items():
        named = any(_names(note, item) for note in notes)
        if item in found and not _same(value, found[item]):
            raise Difference(f"{item}: ours {found[item]!r}, theirs {value!r}")
        if item in found and named and item.kind != "tag":  # of which other files have some
            raise Difference(f"{item} is there, and notes are {notes}")
        if item not in found and not named:
            raise Difference(f"{item} is not there, and notes are {notes}; there is {sorted(map(str, found))}")
    for item in found:
        if item not in said and not _OF_THE_FORMAT.fullmatch(item.name):
            raise Difference(f"{item} is there: {found[item]!r}, and A does not say it of a difference")


_OF_THE_FORMAT = re.compile(r"AREA_OR_POINT|TIFFTAG_\w+|CLASS|NAME|REFERENCE_LIST|DIMENSION_L\w+|_N\w+|format")
_WORDS = {"nodata": "the nodata value ", "scale": "the scale ", "place": "the georeference"}
_LOST = re.compile(r"(is|are) left out| has no place for |are written, without their names")


def _names(note: str, item: Said) -> bool:
    """Whether a note says that an item is lost."""
    if not _LOST.search(note):
        return False
    if item.kind in _WORDS:
        return _WORDS[item.kind] in note
    if item.kind in ("tag", "chunk") and f"the {item.kind}s of " in note:
        return True
    return repr(item.name) in note or f"/{item.name}'" in note  # by its path


def _same(theirs: Any, ours: Any) -> bool:
    x, y = _plain(theirs), _plain(ours)
    if isinstance(y, str) and not isinstance(x, str):  # GDAL's metadata are texts
        return str(theirs) == y
    if isinstance(x, float) and isinstance(y, float):
        return math.isclose(x, y, rel_tol=1e-12)
    return bool(x == y)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        plain = [_plain(one) for one in value]
        return plain[0] if len(plain) == 1 else plain
    return float(value) if isinstance(value, int) else value


SURFACES = (
    Surface(
        "formats",
        "what A says, in a difference of another format",
        ("netCDF4", "h5py", "zarr", "rasterio", "tifffile", "Pillow", "safetensors"),
        draw,
        compare,
        Case,
    ),
)
