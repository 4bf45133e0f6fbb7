"""What stands beside the chunks of zarr arrays, as JSON: looked at before ``zarr`` gets to see it, and written.

    version 3: NAME/zarr.json          shape, data_type, chunk_grid, codecs, fill_value, attributes, dimension_names
    version 2: NAME/.zarray, .zattrs   shape, dtype, chunks, filters, compressor, fill_value, order; attributes separate

A difference has A's header: its grid, shards, codecs, fill value, attributes and dimension names, with another type
where the difference has one. Codecs that change numbers (that round or scale) are left out of it.
"""

from __future__ import annotations

import itertools
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minuend.core.elements import ElementType
from minuend.errors import FileFormatError, shown
from minuend.files.base import Result, clipped
from minuend.files.formats.missing import as_element
from minuend.files.streaming.regions import BAND_BYTES, contiguous, extent
from minuend.schema import Item, Stated, parse_json

_LONGEST = 16_000_000
_DEEPEST = 100
_ZSTD: dict[str, object] = {"name": "zstd", "configuration": {"level": 0, "checksum": False}}
_SHARDS = "sharding_indexed"


@dataclass(frozen=True, slots=True)
class Node:
    """An array or a group: its name, zarr's version, whether it is an array, its header and attributes."""

    name: str
    version: int
    is_array: bool
    header: Mapping[str, Any]
    attributes: Mapping[str, Any]


def nodes(store: object, path: str) -> dict[str, Node]:
    """Return all arrays and groups of a store by name; the one that is all of it is called ``""``."""
    from minuend.files.formats import zarr_stores

    found: dict[str, Node] = {}
    left = [""]
    while left:
        name = left.pop()
        node = _node(store, path, name)
        if node is None:
            continue
        found[name] = node
        if node.is_array:
            continue
        if name.count("/") >= _DEEPEST:
            raise FileFormatError(f"{path} nests groups deeper than {_DEEPEST}: {clipped(name)}; expected fewer")
        inner = [f"{name}/{one}".lstrip("/") for one in zarr_stores.listing(store, name) if not one.startswith(".")]
        left += reversed(inner)
    if "" not in found:
        raise FileFormatError(f"{path} holds no zarr.json, .zarray or .zgroup; expected a zarr array or group")
    return found


def _node(store: object, path: str, name: str) -> Node | None:
    prefix = f"{name}/" if name else ""
    if (header := _json(store, path, f"{prefix}zarr.json")) is not None:
        kind = header.get("node_type")
        if header.get("zarr_format") != 3 or kind not in ("array", "group"):
            raise FileFormatError(
                f"{path}/{prefix}zarr.json states the format {header.get('zarr_format')!r} and the node type {kind!r}; "
                "expected 3, and 'array' or 'group'"
            )
        attributes = _object(header.get("attributes") or {}, f"{path}/{prefix}zarr.json has attributes that are")
        return Node(name, 3, kind == "array", header, attributes)
    for key, is_array in ((".zarray", True), (".zgroup", False)):
        if (header := _json(store, path, prefix + key)) is not None:
            if header.get("zarr_format") != 2:
                raise FileFormatError(
                    f"{path}/{prefix}{key} states the format {header.get('zarr_format')!r}; expected 2"
                )
            return Node(name, 2, is_array, header, _json(store, path, f"{prefix}.zattrs") or {})
    return None


def _json(store: object, path: str, key: str) -> dict[str, object] | None:
    from minuend.files.formats import zarr_stores

    try:
        raw = zarr_stores.content(store, key, _LONGEST + 1)
    except FileFormatError:
        raise
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError) as error:
        raise FileFormatError(f"{path} member {key} cannot be unpacked ({error}); copy the archive anew") from None
    if raw is None:
        return None
    if len(raw) > _LONGEST:
        raise FileFormatError(f"{path}/{key} has more than {_LONGEST} bytes, which no header has; expected fewer")
    return _object(parse_json(raw, f"{path}/{key}", "a header of zarr", unique=False), f"{path}/{key} is")


def _object(data: object, where: str) -> dict[str, object]:
    if not isinstance(data, dict):
        raise FileFormatError(f"{where} a JSON {type(data).__name__}; expected an object")
    return data


def is_consolidated(store: object, root: Node) -> bool:
    """Whether the outermost group lists the headers of all that lies in it, which spares readers to look for them."""
    from minuend.files.formats import zarr_stores

    if root.is_array:
        return False
    return bool(root.header.get("consolidated_metadata") if root.version == 3 else zarr_stores.content(store, _LIST))


def consolidated(headers: Mapping[str, Mapping[str, object]], version: int) -> dict[str, Mapping[str, object]]:
    """Return headers by key with such a list."""
    if version == 2:
        return {**headers, _LIST: {"metadata": headers, "zarr_consolidated_format": 1}}
    inner = {key.removesuffix("/zarr.json"): one for key, one in headers.items() if key != "zarr.json"}
    listed = {"kind": "inline", "must_understand": False, "metadata": inner}
    return {**headers, "zarr.json": {**headers["zarr.json"], "consolidated_metadata": listed}}


_LIST = ".zmetadata"


# ---- what is not read ----------------------------------------------------------------------------------------------


def check(node: Node, where: str) -> None:
    """Refuse an array of Python objects, which would be unpickled, before anything of it is opened."""
    codecs = [node.header.get(key) for key in ("codecs", "filters", "compressor")]
    pickled = any(name.lower().rpartition(".")[2] == "pickle" for name in _names(codecs))
    dtype = node.header.get("dtype")
    if pickled or (isinstance(dtype, str) and dtype.lstrip("|<>=") == "O"):
        raise FileFormatError(f"{where} holds Python objects, which are pickles and can run code; expected numbers")


def check_form(node: Node, where: str) -> None:
    """Check an array's header for what ``zarr`` takes for granted, and for a grid that divides the array.

    Raises:
        FileFormatError: a field that is missing, or is none of what the format knows.
    """

    def stated(name: str, value: object) -> Item:
        return Item(Stated(where), (name,), value)

    header = node.header
    shape = _dims(stated("shape", header.get("shape")), 0)
    if node.version == 2:
        grid = stated("chunks", header.get("chunks"))
    else:
        grid = stated("chunk shape", _configured(stated("chunk_grid", header.get("chunk_grid")), "chunk_shape"))
        _check_codecs(stated("codecs", header.get("codecs")))
    chunks = _dims(grid, 1, shape)
    if len(chunks) != len(shape):
        raise grid.error(f"{chunks} of an array of shape {shape}; expected one for each axis")


def _dims(item: Item, least: int, beside: Sequence[int] = ()) -> tuple[int, ...]:
    """Return sizes; of a chunk, 0 is one where the array's is 0 too, as some writers have it."""
    sizes = item.value if isinstance(item.value, list) and len(item.value) <= _DEEPEST else [None]
    if not all(
        type(one) is int and one < 1 << 63 and (one >= least or other == 0)
        for one, other in itertools.zip_longest(sizes, beside[: len(sizes)])
    ):
        raise item.wrong(f"a list of whole numbers from {least} on, one for each axis")
    return tuple(sizes)


def _configured(item: Item, key: str) -> object:
    """Return what a named object of version 3 has in its configuration."""
    settings = item.value.get("configuration") if isinstance(item.value, dict) else None
    if not isinstance(settings, dict) or key not in settings:
        raise item.wrong(f"an object with a name and a configuration that has {key!r}")
    return settings[key]


def _check_codecs(item: Item, depth: int = 0) -> None:
    """Check that codecs are named, and those in a shard too; its index has a size of its own, so it is not packed."""
    codecs = item.value
    if not isinstance(codecs, list) or not codecs:
        raise item.wrong("a list of at least one")
    for one in codecs:
        name = one.get("name") if isinstance(one, dict) else one
        settings = one.get("configuration", {}) if isinstance(one, dict) else {}
        if not isinstance(name, str) or not isinstance(settings, dict):
            raise replace(item, path=("codec",), value=one).wrong("an object with a name")
        if name != _SHARDS:
            continue
        _dims(replace(item, path=("chunk shape of its shards",), value=settings.get("chunk_shape")), 1)
        if depth == _DEEPEST_SHARDS:
            raise FileFormatError(f"{item.origin.name} nests shards deeper than {depth}; expected fewer")
        _check_codecs(replace(item, value=settings.get("codecs")), depth + 1)
        index = settings.get("index_codecs", _INDEX)
        if any(word not in _INDEX for word in _names(index)):
            raise item.error(f"{shown(index)} of the index of its shards; expected bytes and crc32c")


_INDEX = ("bytes", "endian", "crc32c")
_DEEPEST_SHARDS = 4


def _names(codecs: object) -> list[str]:
    """Return what all codecs are called, those within others too."""
    if isinstance(codecs, str):
        return [codecs]
    if isinstance(codecs, Mapping):
        own = [str(codecs[key]) for key in ("name", "id") if key in codecs]
        return own + [name for one in codecs.values() if not isinstance(one, str) for name in _names(one)]
    if isinstance(codecs, Sequence):
        return [name for one in codecs for name in _names(one)]
    return []


# ---- what is written -----------------------------------------------------------------------------------------------


def version_of(results: Sequence[Result]) -> int:
    """Return the version of zarr that results are written in, all of them: what lies in a group of another is not seen.

    It is that of the first one whose A, or B where the result has its place, was a zarr array.
    """
    return next((one.about.stored.version for one in results if one.about.stored is not None), 3)


def header_of(result: Result, version: int) -> dict[str, object]:
    """Return the header of an array of a version that holds a result; version 2 has no attributes in it."""
    stored, dtype = result.about.stored, result.element.memory
    if (kept := _kept(result, version)) is None:
        fill = _fill_of(stored.header, result.element) if stored is not None else None
        if version == 2 and isinstance(fill, str) and fill.startswith("0x"):  # bits, which version 3 alone has
            fill = None
        return _plain_header(result, version) | ({} if fill is None else {"fill_value": fill})
    header = dict(kept)
    header["fill_value"] = _fill_of(header, result.element)
    if version == 2:
        order = np.dtype(header["dtype"]).byteorder
        filters = [one for one in header.get("filters") or () if _is_exact_filter(one, dtype, result.element)]
        compressor = {} if (header.get("compressor") or {}).get("id") not in _ROUNDING else {"compressor": _ZLIB}
        own = {"dtype": dtype.newbyteorder(">" if order == ">" else "<").str, "filters": filters or None}
        return header | compressor | own
    return header | {"data_type": dtype.name, "codecs": _exact_codecs(header["codecs"], dtype), "attributes": {}}


def _kept(result: Result, version: int) -> Mapping[str, Any] | None:
    """Return A's header where a result is stored as A was: it has A's shape, and A was of the version written."""
    stored = result.about.stored
    return stored.header if stored is not None and result.chunks is not None and stored.version == version else None


def codecs_left_out(result: Result, version: int) -> tuple[str, ...]:
    """Return the names of A's codecs that are not written: they round, or are of A's type."""
    if (kept := _kept(result, version)) is None:
        return ()
    written = set(_codec_names(header_of(result, version)))
    return tuple(name for name in dict.fromkeys(_codec_names(kept)) if name not in written)


def _codec_names(header: Mapping[str, Any]) -> Iterator[str]:
    """The names of all codecs of a header, and of those within shards."""
    for one in (*(header.get("codecs") or ()), *(header.get("filters") or ()), header.get("compressor")):
        if isinstance(one, str):
            yield one
        elif one:
            yield str(one.get("name", one.get("id")))
            yield from _codec_names(one.get("configuration") or {})


def _fill_of(header: Mapping[str, Any], element: ElementType) -> object:
    """Return what A's header states of chunks that are not there; 0 where the difference's type does not have it."""
    fill = header.get("fill_value")
    return 0 if isinstance(fill, int) and as_element(fill, element) is None else fill


_ROUNDING = {"zfpy", "pcodec"}
_ZLIB = {"id": "zlib", "level": 1}


def _is_exact_filter(codec: Mapping[str, Any], dtype: np.dtype[np.generic], element: ElementType) -> bool:
    """Whether a filter of version 2 gives back what goes in, in the difference's type."""
    if codec.get("id") == "shuffle":
        return True
    of_type = all(np.dtype(codec.get(key, dtype)).newbyteorder("=") == dtype for key in ("dtype", "astype"))
    return codec.get("id") == "delta" and element.is_integer and of_type


def _exact_codecs(codecs: Sequence[Any], dtype: np.dtype[np.generic]) -> list[Any]:
    """Return the codecs of version 3 that give back what goes in, for the difference's type."""
    from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec
    from zarr.registry import get_codec_class

    exact: list[Any] = []
    for one in codecs:
        codec: dict[str, Any] = {"name": one} if isinstance(one, str) else dict(one)
        name, settings = codec["name"], dict(codec.get("configuration") or {})
        if name == _SHARDS:
            settings["codecs"] = _exact_codecs(settings["codecs"], dtype)
        elif name in ("bytes", "endian"):
            settings = {"endian": settings.get("endian", "little")} if dtype.itemsize > 1 else {}
        elif name == "blosc":
            settings["typesize"] = dtype.itemsize
        elif issubclass(get_codec_class(name), ArrayBytesCodec):
            name, settings = "bytes", {"endian": "little"} if dtype.itemsize > 1 else {}
        elif issubclass(get_codec_class(name), ArrayArrayCodec) and name != "transpose":
            continue
        stated = settings or ("configuration" in codec and name == codec["name"] != "bytes")
        exact.append({"name": name, **({"configuration": settings} if stated else {})})
    return exact


def _plain_header(result: Result, version: int) -> dict[str, object]:
    """Return the header of an array whose A had none, or another shape, or was of another version."""
    chunks = result.chunks or band(result.shape, result.element.itemsize)
    fill = 0 if result.element.is_integer else 0.0
    if version == 2:
        return header_2(result.shape, result.element.memory, chunks, fill)
    codecs = [bytes_codec(result.element.itemsize), _ZSTD]
    return header_3(result.shape, result.element.memory.name, chunks, fill, codecs, attributes={})


def header_2(
    shape: Sequence[int], dtype: np.dtype[Any], chunks: Sequence[int], fill: object, filters: object = None
) -> dict[str, object]:
    """Return the header of an array of version 2."""
    return {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": [max(1, dim) for dim in chunks],
        "dtype": dtype.newbyteorder("<").str,
        "fill_value": fill,
        "order": "C",
        "filters": filters,
        "compressor": _ZLIB,
    }


def header_3(
    shape: Sequence[int], kind: object, chunks: Sequence[int], fill: object, codecs: Sequence[object], **others: object
) -> dict[str, object]:
    """Return the header of an array of version 3."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [max(1, dim) for dim in chunks]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": codecs,
        **others,
        "storage_transformers": [],
    }


def bytes_codec(itemsize: int) -> dict[str, object]:
    """Return the codec of version 3 that makes bytes of numbers."""
    return {"name": "bytes"} | ({"configuration": {"endian": "little"}} if itemsize > 1 else {})


def band(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the chunk of an array that has none yet, each dim 1 at least."""
    first = next(contiguous(shape, itemsize, BAND_BYTES), tuple(slice(0, 1) for _ in shape))
    return tuple(max(1, dim) for dim in extent(first))


def grid_of(version: int, header: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the grid that one file each is written of: chunks, or the shards that hold some."""
    found = header["chunks"] if version == 2 else header["chunk_grid"]["configuration"]["chunk_shape"]
    return tuple(found)


def check_grid(shape: Sequence[int], chunks: Sequence[int], itemsize: int, where: str) -> None:
    """Refuse chunks that are larger than their array and than any codec packs: a chunk is in memory whole."""
    nbytes = math.prod(chunks) * itemsize
    if nbytes > max(_LARGEST, math.prod(shape) * itemsize):
        raise FileFormatError(
            f"{where} has chunks of the shape {tuple(chunks)}, {nbytes} bytes each, and is itself of the shape "
            f"{tuple(shape)}; a chunk is held whole, expected {_LARGEST} bytes at most"
        )


_LARGEST = (1 << 31) - 1
"""Bytes of a chunk that is larger than its array."""
