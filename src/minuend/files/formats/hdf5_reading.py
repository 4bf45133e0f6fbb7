"""HDF5 files as they are read: the library runs in a separate process (:mod:`~minuend.files.formats.hdf5_child`).

HDF5's library loops for ever or crashes on damaged files, and takes what memory they name. So no call of it reads a
file in this process. The child describes a file, and gives regions of datasets whose storage only the library knows.
Ranges, and chunks that are plain, deflated, shuffled or checked by Fletcher's sum, are read here by their addresses.
A child that exceeds its bounds, or crashes, is an error that names the file; it is stopped at an interrupt too.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import math
import os
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minuend import worker
from minuend.child import Child
from minuend.child_pool import Pool
from minuend.errors import FileFormatError
from minuend.files.base import clipped
from minuend.files.formats.hdf5_attributes import Reference, dtype_of, value_of
from minuend.files.formats.hdf5_chunks import Chunks
from minuend.files.streaming.reading import Array, Source
from minuend.files.streaming.regions import Region, extent, tiles, whole

_SECONDS, _BYTES = 3, 256 << 20
"""Processor time and memory of a request, beside what its size takes."""
_A_SECOND, _A_SECOND_OF_PARTS = 1 << 20, 1 << 22
"""Bytes of a file that are described in a second, and bytes of chunks that are unpacked: a tenth of what is usual."""
_LONGEST = 600
_MOST_LINKS = 16
"""Soft links that lead to each other, as HDF5's library follows."""

_HERE = os.path.dirname(os.path.abspath(__file__))


_PLUG_INS = "HDF5_PLUGIN_PATH"


def _plug_ins() -> str:
    """Return where installed packages have filters for HDF5's library, by which netCDF4 packs by zstd, say."""
    found = []
    for name in ("hdf5plugin", "netCDF4"):
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(name)
            found += [os.path.join(home, "plugins") for home in (spec and spec.submodule_search_locations) or ()]
    return os.pathsep.join(path for path in found if os.path.isdir(path))


class Process(Child):
    """The child process, which reads all files."""

    def __init__(self) -> None:
        paths = json.dumps([path for path in sys.path if path])
        command = [sys.executable, "-I", worker.__file__, os.path.join(_HERE, "hdf5_child.py"), paths]
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment = threads | ({} if _PLUG_INS in os.environ else {_PLUG_INS: _plug_ins()})
        super().__init__(
            "HDF5 is read in a process of its own", command, environment=environment, folder=False, greets=True
        )
        self.opened: set[int] = set()


_processes = Pool(Process, single=True)
_numbers = itertools.count()
_closed: list[int] = []
"""Files that nobody reads any more, which the child is to close at the next request."""


class Reader:
    """A file, as the child reads it; several threads may ask, one after the other."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._number = next(_numbers)
        weakref.finalize(self, _closed.append, self._number)

    def request(
        self, where: str, work: str, *, memory: int, unpacked: int = 0, **arguments: Any
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Return the answer to a request.

        Args:
            where: what errors call what is read. work: see the child. memory: what the answer takes, at the most.
            unpacked: bytes of the chunks that are touched, 0 where the file is described.

        Raises:
            FileFormatError: the library exceeds its bounds or crashes. OSError: it refuses.
        """
        size = self.source.size
        seconds = min(_LONGEST, _SECONDS + (unpacked // _A_SECOND_OF_PARTS if unpacked else size // _A_SECOND))
        bounds = {"file": self._number, "size": size, "seconds": seconds, "bytes": _BYTES + memory}
        with _processes.process() as process:
            if self._number not in process.opened and work != "open":  # the one before was stopped over a request
                process.request({"work": "open", **bounds}, source=self._bytes)
            process.opened.add(self._number)
            done = [_closed.pop() for _ in range(len(_closed))]
            answer = process.request({"work": work, "done": done, **bounds, **arguments}, source=self._bytes)
            if answer is None or "exceeded" in answer[0]:
                process.idle = False
        if answer is None or "exceeded" in answer[0]:
            raise FileFormatError(
                f"{where} is damaged: HDF5's library takes more than {seconds} s or {bounds['bytes'] >> 20} MiB, or "
                "crashes over it; expected a whole file"
            )
        if "refused" in answer[0]:
            raise OSError(answer[0]["refused"])
        return answer

    def _bytes(self, offset: int, size: int) -> memoryview:
        return self.source.read(offset, size).data


class Dataset:
    """A dataset, by what the child says of it; names are those of ``h5py.Dataset``."""

    compression = compression_opts = shuffle = fletcher32 = None
    filter_names: tuple[str, ...] = ()
    other: str = ""

    def __init__(self, file: File, stated: Mapping[str, Any], parts: Sequence[bytes]) -> None:
        self._error: str = stated.get("error", "")
        self.file = file
        if self._error:
            return
        self.name: str = stated["name"]
        self.shape = _shape(stated["shape"])
        self.maxshape = _shape(stated["maxshape"])
        self.chunks = _shape(stated["chunks"])
        self.dtype = dtype_of(stated["dtype"])
        if isinstance(stated["dtype"], dict):  # what HDF5 calls a type that is none of numbers
            self.other = stated["dtype"].get("other", "string" if self.dtype.hasobject else "")
        self.is_enum: bool = stated["is_enum"]
        self.is_virtual: bool = stated["is_virtual"]
        self.external: bool = stated["external"]
        self.offset: int | None = stated["offset"]
        self.attrs = _attributes(stated["attrs"], parts)
        for name, value in stated.get("filters", {}).items():
            setattr(self, name, tuple(value) if isinstance(value, list) else value)
        self.filter_names = tuple(stated.get("filter_names", ()))
        self._filters: list[list[int]] | None = stated.get("direct")
        self.fill = value_of(stated["fill"], parts) if "fill" in stated else None
        self._chunks: Chunks | None = None
        self._turn = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        raise OSError(self.__dict__.get("_error") or f"a dataset has no {name}")

    def part(self, where: str, region: Region) -> Array:
        """Return a region."""
        if self._filters is not None:
            return self._table(where, self._filters).part(region)
        found = np.empty(extent(region), self.dtype)
        for piece in tiles(found.shape, self.dtype.itemsize, self.chunks):  # whole chunks, which are unpacked once
            own = tuple(slice(a.start + b.start, a.start + b.stop) for a, b in zip(region, piece, strict=True))
            came = self._requested(where, own)
            found[piece] = came if piece else came[()]  # else a text alone would be an array of one
        return found

    def read(self, where: str) -> Array:
        """Return all of it."""
        return self.part(where, whole(self.shape or ()))

    def _requested(self, where: str, region: Region) -> Array:
        """Have the child read a region."""
        sizes, itemsize = extent(region), self.dtype.itemsize
        touched = self._touched(region) * itemsize
        chunk = math.prod(self.chunks or ()) * itemsize if self.chunks else 0
        own = math.prod(sizes) * itemsize
        _, parts = self.file.reader.request(
            where, "part", memory=4 * own + 4 * chunk, unpacked=max(1, touched), name=self.name,
            region=[[axis.start, axis.stop] for axis in region],
        )  # fmt: skip
        if not self.dtype.hasobject:
            if len(parts[0]) != own:
                raise OSError(f"{len(parts[0])} bytes came of {own}")
            return np.frombuffer(parts[0], self.dtype).reshape(sizes)
        found = np.empty(math.prod(sizes), object)
        at = 0
        for k, length in enumerate(np.frombuffer(parts[0], np.int64)):
            found[k] = parts[1][at : at + int(length)]
            at += int(length)
        return found.reshape(sizes)

    def _touched(self, region: Region) -> int:
        """Return how many elements the chunks have that a region lies in."""
        if not self.chunks:
            return math.prod(extent(region))
        steps = zip(region, self.chunks, strict=True)
        return math.prod((-(-axis.stop // step) - axis.start // step) * step for axis, step in steps)

    def _table(self, where: str, filters: Sequence[Sequence[int]]) -> Chunks:
        with self._turn:
            if self._chunks is None:
                _, parts = self.file.reader.request(
                    where, "chunks", memory=8 * self.file.reader.source.size, name=self.name
                )
                assert self.shape is not None
                assert self.chunks is not None
                self._chunks = Chunks(
                    self.file.reader.source, self.shape, self.chunks, self.dtype, filters, self.fill,
                    np.frombuffer(parts[0], np.int64),
                )  # fmt: skip
            return self._chunks


class File:
    """What a file holds, by what the child says of it; names are those of ``h5py.File``."""

    def __init__(self, path: str, source: Source) -> None:
        self.reader = Reader(source)
        stated, parts = self.reader.request(path, "open", memory=8 * source.size)
        self.attrs = _attributes(stated["groups"][""], parts)
        self.groups = {name: _attributes(value, parts) for name, value in stated["groups"].items()}
        self.datasets: dict[str, Dataset] = {}
        for name, described in stated["datasets"]:
            if described is None:
                raise FileFormatError(f"{path} names {clipped(name)}, which is no UTF-8; expected text")
            self.datasets[name] = Dataset(self, described, parts)
        ends = {name: self._end(name, path, stated["links"]) for name, path in stated["links"].items()}
        self.links = {name: end for name, end in ends.items() if end in self.datasets}
        self.inner = tuple(name for name, end in ends.items() if end)
        self.outside = (*stated["outside"], *(name for name, end in ends.items() if not end))

    def _end(self, name: str, path: str, links: Mapping[str, str]) -> str:
        """Return what a soft link leads to by names alone: a dataset or a group; ``""`` where it leads elsewhere."""
        for _ in range(_MOST_LINKS):
            around = "" if path.startswith("/") else name.rpartition("/")[0]
            name = "/".join(part for part in f"{around}/{path}".split("/") if part not in ("", "."))
            if name in self.datasets or name in self.groups:
                return name
            if name not in links:
                return ""
            path = links[name]
        return ""

    def __getitem__(self, key: str | Reference | Any) -> Any:
        if isinstance(key, str):
            return self.datasets[key] if key in self.datasets else Group(self.groups[key])
        if not isinstance(key, Reference) or key.described is None:
            raise OSError("a reference leads to nothing")
        return Referred(*key.described)


class Group:
    """A group of a file."""

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        self.attrs = attrs


class Referred:
    """What a reference leads to."""

    def __init__(self, name: str | None, maxshape: Sequence[int | None] | None) -> None:
        self.name, self.maxshape = name, maxshape or (0,)


def _shape(stated: Sequence[int] | None) -> Any:
    return None if stated is None else tuple(stated)


def _attributes(stated: Sequence[Any], parts: Sequence[bytes]) -> dict[str, Any]:
    return {name: value_of(value, parts) for name, value in stated}
