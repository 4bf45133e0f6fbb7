"""HDF5's library on a file that somebody else made, in a separate process: it loops or crashes on damaged files.

:mod:`minuend.worker` runs it: ``worker.py hdf5_child.py PATHS``, where PATHS are those of modules, as JSON. It opens no
file: the caller sends the bytes. A request's head names the work and its bounds (``"seconds"`` of processor time,
``"bytes"`` of memory). Before the answer, any number of ``{"read": [offset, size]}`` may come back, each of which is to
be answered by a message with these bytes.
"""

from __future__ import annotations

import io
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

_BLOCK, _MOST_BLOCKS = 1 << 16, 128
_FILTERS = ("compression", "compression_opts", "shuffle", "fletcher32")
_WRITTEN = ("FILTER_DEFLATE", "FILTER_SHUFFLE", "FILTER_FLETCHER32", "FILTER_LZF", "FILTER_SZIP", "FILTER_SCALEOFFSET")
"""What h5py writes by name, or leaves out without harm; older releases name no other compression at all."""

_WORDS = {"vlen": "variable-length", "reference": "reference", "fields": "compound", "array": "array"}
"""What HDF5 calls types of which NumPy's numbers and texts are not made."""

_INSTEAD = {"compression": "gzip", "compression_opts": 1}
_CALLED = {1: "gzip", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset", 32000: "lzf"}
"""What h5py calls filters, by their codes; others have names of their own."""


def serve_requests(server: Any) -> None:
    """Answer requests; ``server`` is a :class:`minuend.worker.Server`."""
    server.detach()
    works = Works(server)
    own = _address_space()
    server.write({"ready": True})
    server.serve(works.do, own)
    os._exit(0)  # the library closes what is open behind Python's end, where nothing answers its callbacks any more


def _address_space() -> int:
    """Return the bytes of addresses that this process has before any request."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 1 << 30


def offset_of(dataset: Any, package: Any) -> int | None:
    """Return where elements begin in the file, one after the other and each as in memory; ``None`` where they do not.

    The package converts what NumPy has no type for, so the type in the file is compared: size, byte order, precision,
    bit offset, padding, sign, exponent and mantissa.
    """
    plain = not dataset.chunks and dataset.id.get_type().equal(package.h5t.py_create(dataset.dtype))
    # Behind a user block, the library gives an address for elements too that were never written
    there = dataset.shape is not None and dataset.id.get_storage_size() > 0
    found: int | None = dataset.id.get_offset() if plain and there else None
    return found


def _is_sent(described: Any) -> bool:
    """Whether values of a type are described, as :meth:`Works._type` has it: those of any length are numbers."""
    if isinstance(described, str):
        return True
    if "fields" in described:
        return all(_is_utf8(name) and _is_sent(one) for name, one, _ in described["fields"])
    if "enum" in described:
        return all(map(_is_utf8, described["enum"]))
    return _is_sent(described["array"]) if "array" in described else isinstance(described.get("vlen", ""), str)


def _filter_name(one: Any) -> str:
    """What a filter is called, by its code, or as it calls itself."""
    return _CALLED.get(one[0]) or bytes(one[3]).decode(errors="replace") or str(one[0])


def _is_utf8(name: str) -> bool:
    return name == name.encode(errors="replace").decode()


def _text(path: Any) -> str:
    return path if isinstance(path, str) else bytes(path).decode(errors="surrogateescape")


class Bytes(io.RawIOBase):
    """The file, as HDF5's library reads it: metadata in many short reads, of blocks that stay in memory for a while."""

    def __init__(self, server: Any, size: int) -> None:
        self._server, self._size, self._at = server, size, 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as there are bytes: the package does not ask for the rest of a short read."""
        size = max(0, min(len(buffer), self._size - self._at))
        if size > _BLOCK:
            buffer[:size] = self._bytes_at(self._at, size)
        done = size if size > _BLOCK else 0
        while done < size:
            number, within = divmod(self._at + done, _BLOCK)
            piece = self._block(number)[within : within + size - done]
            buffer[done : done + len(piece)] = piece
            done += len(piece)
        self._at += size
        return size

    def _bytes_at(self, offset: int, size: int) -> bytes:
        """Ask the caller for bytes of the file."""
        self._server.write({"read": [offset, size]})
        found = self._server.read()
        if found is None:
            os._exit(0)
        data: bytes = found[1][0]
        return data

    def _block(self, number: int) -> bytes:
        found = self._blocks.get(number)
        if found is None:
            found = self._bytes_at(number * _BLOCK, min(_BLOCK, self._size - number * _BLOCK))
            self._blocks[number] = found
            if len(self._blocks) > _MOST_BLOCKS:
                self._blocks.popitem(last=False)
        return found


class Works:
    """What can be requested of a file."""

    def __init__(self, server: Any) -> None:
        import h5py

        self._package, self._server = h5py, server
        self._file: Any = None
        self._files: dict[int, Any] = {}
        self._parts: list[Any] = []
        self._names: dict[int, Any] = {}

    def do(self, head: Mapping[str, Any], _: list[bytes]) -> tuple[dict[str, Any], list[Any]]:
        """Answer a request."""
        self._parts = []
        for number in head.get("done", ()):
            if number in self._files:
                self._files.pop(number).close()
        self._file = self._files.get(head["file"])
        works: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "open": self._open, "part": self._part, "chunks": self._chunks,
        }  # fmt: skip
        return works[head["work"]](head), self._parts

    # ---- what a file holds ----------------------------------------------------------------------------------------

    def _open(self, head: Mapping[str, Any]) -> dict[str, Any]:
        self._file = file = self._package.File(Bytes(self._server, head["size"]), "r")
        self._files[head["file"]] = file
        self._names = {}
        datasets: list[Any] = []
        groups: dict[str, Any] = {"": self._attributes(file)}

        links: dict[str, str] = {}
        outside: list[str] = []

        def visit(name: Any, link: Any) -> None:
            if not isinstance(name, str):
                datasets.append([repr(name)[:200], None])
            elif isinstance(link, self._package.SoftLink):  # it may lead through another file: it is not followed here
                links[name] = _text(link.path)
            elif isinstance(link, self._package.ExternalLink):
                outside.append(name[:200])
            elif isinstance(link, self._package.HardLink):
                item = file[name]
                if isinstance(item, self._package.Dataset):
                    datasets.append([name, self._described(item)])
                elif isinstance(item, self._package.Group):
                    groups[name] = self._attributes(item)

        file.visititems_links(visit)  # each group once, each dataset by all its names
        return {"datasets": datasets, "groups": groups, "links": links, "outside": outside}

    def _described(self, dataset: Any) -> dict[str, Any]:
        try:
            dtype, chunks = dataset.dtype, dataset.chunks
            found: dict[str, Any] = {
                "name": dataset.name, "dtype": self._dtype(dtype), "shape": dataset.shape, "chunks": chunks,
                "maxshape": dataset.maxshape, "is_virtual": dataset.is_virtual, "external": bool(dataset.external),
                "attrs": self._attributes(dataset),
                "is_enum": self._package.check_enum_dtype(dtype) is not None,
                "offset": offset_of(dataset, self._package),
            }  # fmt: skip
            if chunks:
                filters = {name: getattr(dataset, name) for name in _FILTERS}
                known = {getattr(self._package.h5z, name) for name in _WRITTEN}
                if not known.issuperset(code for code, *_ in self._filters(dataset)):  # one of a plug-in, or N-bit
                    filters |= _INSTEAD
                found["filters"] = filters
                found["filter_names"] = list(map(_filter_name, self._filters(dataset)))
                found["direct"] = self._pipeline(dataset)
                if dtype.kind in "iuf":
                    found["fill"] = self._value(dataset.fillvalue)
        except Exception as error:
            return {"error": str(error) or type(error).__name__}
        return found

    def _filters(self, dataset: Any) -> list[Any]:
        """Return the filters of a dataset's chunks, each with its code first."""
        listed = dataset.id.get_create_plist()
        return [listed.get_filter(k) for k in range(listed.get_nfilters())]

    def _pipeline(self, dataset: Any) -> list[list[int]] | None:
        """Return the filters of chunks that need no library, each with its first parameter; ``None`` of others."""
        package, found = self._package, self._filters(dataset)
        known = (package.h5z.FILTER_DEFLATE, package.h5z.FILTER_SHUFFLE, package.h5z.FILTER_FLETCHER32)
        codes = [one[0] for one in found]
        stored = dataset.id.get_type().equal(package.h5t.py_create(dataset.dtype, logical=True))
        if dataset.dtype.kind not in "iuf" or not stored or not hasattr(dataset.id, "chunk_iter"):
            return None
        if len(set(codes)) != len(codes) or any(code not in known for code in codes):
            return None
        return [[int(one[0]), int(one[2][0]) if one[2] else 0] for one in found]

    def _attributes(self, item: Any) -> list[Any]:
        return [[name, self._attribute(item.attrs, name)] for name in item.attrs if isinstance(name, str)]

    def _attribute(self, attributes: Any, name: str) -> dict[str, Any]:
        """Return an attribute as JSON, with its type where NumPy's value does not say it."""
        if name == "REFERENCE_LIST":
            return {"unknown": name}
        try:
            value = attributes[name]
        except (
            TypeError,
            UnicodeDecodeError,
        ) as error:  # of a type that the package does not read; the dataset is read nevertheless
            return {"unknown": str(error)}
        empty = isinstance(value, self._package.Empty)
        described = self._type(value.dtype if empty else attributes.get_id(name).dtype)
        if not _is_sent(described) and name != "DIMENSION_LIST":
            return {"unknown": str(described)[:200]}
        alone = "vlen" in described and attributes.get_id(name).shape == ()  # which comes as its elements
        found: dict[str, Any] = {"list": [self._value(value)], "shape": []} if alone else self._value(value)
        plain = isinstance(described, str) or {"text", "array"} & described.keys() or name == "DIMENSION_LIST"
        return found if plain and not empty and "bytes" not in found else {**found, "type": described}

    def _dtype(self, dtype: Any) -> Any:
        """Return the element type of a dataset: NumPy's, text, or a word for another one."""
        described = self._type(dtype)
        if isinstance(described, str):
            nameless = dtype.kind == "V" and dtype.type.__module__ != "ml_dtypes"
            return {"other": "opaque"} if nameless else described
        if "enum" in described or "text" in described:
            return described.get("of", described)
        return {"other": next(word for key, word in _WORDS.items() if key in described)}

    def _type(self, dtype: Any) -> Any:
        """Return a type as JSON: NumPy's name for it, or a description."""
        package = self._package
        if (text := package.check_string_dtype(dtype)) is not None:
            return {"text": [text.encoding, text.length]}
        if (named := package.check_enum_dtype(dtype)) is not None:
            return {"enum": {name: int(value) for name, value in named.items()}, "of": dtype.str}
        if (each := package.check_vlen_dtype(dtype)) is not None:
            return {"vlen": self._type(each)}
        if (to := package.check_ref_dtype(dtype)) is not None:
            return {"reference": "part" if to is package.RegionReference else "whole"}
        if dtype.names:
            fields = [[name, self._type(dtype.fields[name][0]), dtype.fields[name][1]] for name in dtype.names]
            return {"fields": fields, "size": dtype.itemsize}
        if dtype.subdtype:
            return {"array": self._type(dtype.subdtype[0]), "shape": dtype.subdtype[1]}
        return dtype.name if dtype.type.__module__ == "ml_dtypes" else dtype.str

    def _value(self, value: Any) -> Any:
        """Return a value of an attribute as JSON; the elements of arrays go as bytes of their own."""
        import numpy as np

        if isinstance(value, str):
            return {"text": value}
        if isinstance(value, bytes):
            return {"bytes": self._put(value)}
        if isinstance(value, self._package.Empty):
            return {"empty": True}
        if isinstance(value, self._package.Reference):
            part = isinstance(value, self._package.RegionReference)
            return {"reference": self._referred(value), "part": part, "nothing": not value}
        if not isinstance(value, np.ndarray | np.generic):
            return {"unknown": type(value).__name__}
        alone, dtype = isinstance(value, np.generic), value.dtype
        if dtype.names:
            values = np.asarray(value)
            fields = [[name, self._value(values[name])] for name in dtype.names]
            return {"fields": fields, "shape": list(value.shape), "alone": alone}
        if dtype.hasobject:
            return {"list": [self._value(one) for one in value.ravel()], "shape": list(value.shape)}
        array = {"array": self._put(np.ascontiguousarray(value).tobytes()), "shape": list(value.shape)}
        own = dtype.type.__module__ == "ml_dtypes"
        return array | {"dtype": dtype.name if own else dtype.str, "alone": alone}

    def _referred(self, reference: Any) -> Any:
        """Return the name of what a reference leads to, and whether its first axis grows.

        The library searches the whole file for a name.
        """
        try:
            found = self._file[reference]
            at = self._package.h5o.get_info(found.id).addr
            if at not in self._names:
                self._names[at] = found.name
            return [self._names[at], getattr(found, "maxshape", None)]
        except (ValueError, KeyError):
            return None

    def _put(self, data: bytes) -> int:
        self._parts.append(data)
        return len(self._parts) - 1

    # ---- elements -------------------------------------------------------------------------------------------------

    def _part(self, head: Mapping[str, Any]) -> dict[str, Any]:
        import numpy as np

        dataset = self._file[head["name"]]
        try:
            found = dataset[tuple(slice(*one) for one in head["region"])]
        except OSError as error:
            lacks = [one for one in self._filters(dataset) if not self._package.h5z.filter_avail(one[0])]
            if not lacks:
                raise
            name = lacks[0][3].decode(errors="replace")
            raise OSError(
                f"its filter {lacks[0][0]}, {name!r}, is not there: pip install hdf5plugin, or h5repack the file"
            ) from error
        # An element without axes comes as one of Python or NumPy: without the byte order, or as text of a fixed width
        found = np.asarray(found, dataset.dtype)
        if not found.dtype.hasobject:
            self._put(np.ascontiguousarray(found).tobytes())
            return {}
        texts = [one if isinstance(one, bytes) else str(one).encode() for one in found.ravel()]
        self._put(np.array([len(one) for one in texts], np.int64).tobytes())
        self._put(b"".join(texts))
        return {}

    def _chunks(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Return where chunks lie: for each its first element, address, bytes, and the filters that it lacks."""
        import numpy as np

        rows: list[int] = []

        def add(one: Any) -> None:
            rows.extend((*one.chunk_offset, one.byte_offset, one.size, one.filter_mask))

        dataset = self._file[head["name"]]
        dataset.id.chunk_iter(add)
        self._put(np.array(rows, np.int64).tobytes())
        return {}
