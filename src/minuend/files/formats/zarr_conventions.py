"""How zarr spells the CF conventions, as xarray does: names of axes, the value of no data, what belongs to an array.

    version 3   dimension_names in zarr.json; the attribute _FillValue, of a float as the base64 of its 8 bytes
    version 2   the attribute _ARRAY_DIMENSIONS; fill_value in .zarray is _FillValue then, or null

What belongs to an array is written beside it, packed by zlib (version 2) or gzip, texts as ``vlen-utf8``.
"""

from __future__ import annotations

import base64
import functools
import gzip
import json
import struct
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minuend.errors import FileFormatError
from minuend.files.base import Result, clipped
from minuend.files.formats import conventions, zarr_headers
from minuend.files.formats.conventions import FILL
from minuend.files.formats.coordinates import Axis, Companion
from minuend.files.formats.missing import as_element
from minuend.files.formats.zarr_headers import Node
from minuend.files.stored_elements import Elements
from minuend.files.streaming.regions import Region, boxes

_DIMENSIONS = "_ARRAY_DIMENSIONS"
_NUMBERS = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
_TEXT = "vlen-utf8"


# ---- reading -------------------------------------------------------------------------------------------------------


def _names(node: Node) -> list[str] | None:
    """Name an array's axes, ``""`` where one has no name; ``None`` where the array names none."""
    found = node.header.get("dimension_names") if node.version == 3 else node.attributes.get(_DIMENSIONS)
    shape = node.header.get("shape")
    if not isinstance(found, list) or not isinstance(shape, list) or len(found) != len(shape):
        return None
    names = [name if isinstance(name, str) and _is_name(name) else "" for name in found]
    return names if any(names) or not names else None


def _is_name(name: str) -> bool:
    return conventions.is_text(name) and "/" not in name and "\0" not in name and name not in (".", "..")


def coordinates_among(nodes: Mapping[str, Node]) -> set[str]:
    """Return the paths of the arrays that hold the coordinates of the axis of their name."""
    return {path for path, one in nodes.items() if one.is_array and _names(one) == [path.rpartition("/")[2]]}


def axes_of(node: Node, known: Collection[str]) -> tuple[Axis, ...]:
    """Return an array's axes: those of a name belong to the nearest group around it that has coordinates for them."""
    names, shape = _names(node), node.header.get("shape")
    if not isinstance(shape, list) or not all(isinstance(dim, int) for dim in shape):
        return ()  # zarr says what is wrong when it opens it
    return tuple(
        _axis(name, size, node.name, known) for name, size in zip(names or [""] * len(shape), shape, strict=True)
    )


def _axis(name: str, size: int, near: str, known: Collection[str]) -> Axis:
    own = f"{near.rpartition('/')[0]}/{name}".lstrip("/")
    return Axis("", size) if not name else Axis(conventions.resolve(name, near, known) or own, size)


def attributes_of(node: Node) -> dict[str, object]:
    """Return an array's attributes as the conventions have them.

    Those of version 2 that begin with ``_nc`` are netCDF's own.
    """
    found = dict(node.attributes)
    if node.version == 2:
        found.pop(_DIMENSIONS, None)
        found = {name: value for name, value in found.items() if not name.lower().startswith("_nc")}
        if is_named(node) and node.header.get("fill_value") is not None:
            found[FILL] = node.header["fill_value"]
    fill = _number(found.pop(FILL, None))
    return found if fill is None else found | {FILL: fill}


def _number(stated: object) -> object:
    """Return the number that a fill value states; what states none comes back as it is."""
    if not isinstance(stated, str) or stated in _NUMBERS:
        return _NUMBERS[stated] if isinstance(stated, str) else stated
    try:
        return struct.unpack("<d", base64.standard_b64decode(stated))[0]
    except (ValueError, struct.error):
        return stated


def is_text(node: Node) -> bool:
    """Whether an array holds texts of any length, and not objects of another kind."""
    if node.version == 3:
        return node.header.get("data_type") == "string"
    filters = node.header.get("filters")
    return (
        node.header.get("dtype") == "|O"
        and isinstance(filters, list)
        and [one.get("id") if isinstance(one, dict) else None for one in filters] == [_TEXT]
    )


def holds_texts(node: Node) -> bool:
    """Whether an array holds texts, of any length or of one."""
    stated = node.header.get("data_type" if node.version == 3 else "dtype")
    if isinstance(stated, Mapping):
        stated = stated.get("name")
    if node.version == 3:
        return stated in ("string", *_OF_ONE_LENGTH)
    return is_text(node) or (isinstance(stated, str) and stated[1:2] in ("S", "U"))


_OF_ONE_LENGTH = ("fixed_length_utf32", "null_terminated_bytes")
"""Texts in zarr 3, by their extension's names."""


def is_named(node: Node) -> bool:
    """Whether an array says how its axes are called, if it has any: then xarray reads it."""
    return _names(node) is not None


# ---- writing: results ----------------------------------------------------------------------------------------------


def _follows(result: Result) -> bool:
    """Whether a result is written so that xarray reads it."""
    axes, stored = conventions.placed(result).axes, result.about.stored
    return any(axis.path for axis in axes) or (not axes and stored is not None and stored.named)


def in_header(result: Result, version: int, header: dict[str, object]) -> dict[str, object]:
    """Return a header that names a result's axes and, in version 2, states what is no data."""
    if not _follows(result):
        return header
    if version == 2:
        return header | {"fill_value": _number_in_json(result.about.nodata)}
    return header | {"dimension_names": _called(conventions.placed(result).axes)}


def in_attributes(result: Result, version: int, where: str) -> dict[str, object]:
    """Return a result's attributes as JSON holds them.

    Raises:
        FileFormatError: one that JSON does not hold.
    """
    attributes = conventions.attributes_of(result)
    found = in_json(attributes)
    for name, value in attributes.items():
        # NumPy's are of a format that has other types.
        if name not in found and not isinstance(value, np.ndarray | np.generic):
            raise FileFormatError(
                f"{where}: the attribute {clipped(name)} is a {type(value).__name__}, which JSON does not hold; "
                "write to another format, or remove it from A"
            )
    nodata, follows = _nodata(result), _follows(result)
    if version == 2:
        found |= {_DIMENSIONS: _called(conventions.placed(result).axes)} if follows else {}
        return found if follows or nodata is None else found | {FILL: _number_in_json(nodata)}
    return found if nodata is None else found | {FILL: _coded(nodata, result.element.memory)}


def _nodata(result: Result) -> int | float | None:
    """Return a nodata value as elements have it: in float32, 0.1 is another number than in JSON."""
    nodata = result.about.nodata
    return None if nodata is None else as_element(nodata, result.element)


def in_json(attributes: Mapping[str, object]) -> dict[str, object]:
    """Return the attributes that JSON holds."""
    return {name: _plain(value) for name, value in attributes.items() if _is_json(value)}


def left_out(results: Sequence[Result], written: Collection[str]) -> tuple[str, ...]:
    """Say which attributes JSON does not hold, or not whole; ``written``: the groups that are."""
    found = []
    groups = {group: attributes for group, attributes in conventions.groups_of(results).items() if group in written}
    for owner, attributes in conventions.owners(results, conventions.companions(results), groups):
        for name, value in attributes.items():
            what = f"the attribute {clipped(name)} of {clipped(owner)}"
            if not _is_json(value):
                found.append(f"{what} is of a type that JSON lacks, and is left out")
            elif isinstance(value, np.ndarray) and "enum" in (value.dtype.metadata or {}):
                found.append(f"{what} is of an enumeration: its numbers are written, without their names")
    return tuple(found)


def _called(axes: Sequence[Axis]) -> list[str]:
    return [axis.name for axis in conventions.with_names(axes)]


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray) and value.dtype.kind == "S":  # texts of a fixed length, as HDF5 has them
        return np.char.decode(value, "utf-8", "replace").tolist()
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _number_in_json(value: object) -> object:
    """Return a number as zarr's headers have it: NaN and the infinities by name."""
    plain = _plain(value)
    names = {np.inf: "Infinity", -np.inf: "-Infinity"}
    return plain if not isinstance(plain, float) else "NaN" if np.isnan(plain) else names.get(plain, plain)


def _coded(value: object, dtype: np.dtype[np.generic]) -> object:
    """Return a fill value as xarray has it in attributes of version 3."""
    plain = _plain(value)
    return base64.standard_b64encode(struct.pack("<d", plain)).decode() if dtype.kind == "f" else plain


# ---- writing: what belongs to them ---------------------------------------------------------------------------------


class Written(NamedTuple):
    """An array that belongs to another one, as it is written: header, attributes, what makes its chunks, by key."""

    header: dict[str, object]
    attributes: dict[str, object]
    chunks: dict[str, Callable[[], bytes]]


def companion(one: Companion, version: int) -> Written:
    """Return how an array that belongs to another one is written."""
    values = one.elements()
    dtype, shape = values.dtype, values.shape
    chunk = zarr_headers.band(shape, max(1, dtype.itemsize))
    attributes = {name: value for name, value in in_json(one.attributes).items() if name != FILL}
    fill = conventions.fill_of(one.attributes, dtype)
    chunks: dict[str, Callable[[], bytes]] = {
        _key(region, chunk, version): functools.partial(_packed, values, region, chunk, version)
        for region in (boxes(shape, chunk) if 0 not in shape else ())
    }
    if version == 2:
        stated = None if fill is None else _number_in_json(fill)
        filters = [{"id": _TEXT}] if dtype.kind == "O" else None
        header = zarr_headers.header_2(shape, dtype, chunk, stated, filters)
        return Written(header, attributes | {_DIMENSIONS: _called(one.axes)}, chunks)
    kind, empty, codec = _of_version_3(dtype)
    codecs = [codec, {"name": "gzip", "configuration": {"level": 1}}]
    header = zarr_headers.header_3(shape, kind, chunk, empty, codecs, dimension_names=_called(one.axes))
    return Written(header, attributes | ({} if fill is None else {FILL: _coded(fill, dtype)}), chunks)


def _is_json(value: object) -> bool:
    try:
        json.dumps(_plain(value))
    except (TypeError, ValueError):
        return False
    return True


def _of_version_3(dtype: np.dtype[np.generic]) -> tuple[object, object, dict[str, object]]:
    """Return a type's name, what is empty of it, and the codec that makes bytes of it."""
    numbers = zarr_headers.bytes_codec(dtype.itemsize)
    match dtype.kind:
        case "O":
            return "string", "", {"name": _TEXT}
        case "S":
            kind = {"name": "null_terminated_bytes", "configuration": {"length_bytes": dtype.itemsize}}
            return kind, "", zarr_headers.bytes_codec(1)
        case "b":
            return "bool", False, numbers
    return dtype.name, 0.0 if dtype.kind == "f" else 0, numbers


def _key(region: Region, chunk: Sequence[int], version: int) -> str:
    at = [str(axis.start // step) for axis, step in zip(region, chunk, strict=True)]
    return "/".join(["c", *at]) if version == 3 else ".".join(at) or "0"


def _packed(values: Elements, region: Region, chunk: Sequence[int], version: int) -> bytes:
    """Return a chunk as a store holds it; beyond the array's end it is empty."""
    part, dtype = values.part(region), values.dtype
    whole = np.full(chunk, "", object) if dtype.kind == "O" else np.zeros(chunk, dtype.newbyteorder("<"))
    inner = tuple(slice(0, dim) for dim in part.shape)
    whole[inner] = part if inner else part[()]  # else a text alone would be an array of one
    if dtype.kind == "O":
        texts = [one.encode() for one in whole.flat]
        raw = struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(one)) + one for one in texts)
    else:
        raw = whole.tobytes()
    return zlib.compress(raw, 1) if version == 2 else gzip.compress(raw, 1, mtime=0)
