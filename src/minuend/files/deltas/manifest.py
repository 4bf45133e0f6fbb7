"""The manifest of a delta: what it was made from, what it gives, and how each tensor is stored.

JSON under ``minuend.delta`` in the metadata of a safetensors file; ``docs/deltas.md`` shows the whole layout.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from minuend.errors import FileFormatError, listed, shown
from minuend.files.base import clipped
from minuend.files.formats import safetensors
from minuend.plain import plain

KEY = "minuend.delta"
"""The manifest's name in the metadata, and that of the layout's version with ``.version`` behind it."""

VERSION = "1"
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")

Stored: TypeAlias = Literal["unchanged", "difference", "whole"]


@dataclass(frozen=True, slots=True)
class File:
    """A file of a checkpoint: its name there, its bytes, those of its head, and their hash."""

    name: str
    size: int
    head: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Base:
    """A tensor of the base."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Norm:
    """How far a tensor is from the base's, over the elements whose difference is finite: in all, and at most."""

    l2: float
    max: float


@dataclass(frozen=True, slots=True)
class Record:
    """A tensor that the delta gives.

    Attributes:
        stored: how. sha256: of its bytes. base: the base's of that name, if there is one.
        changed: how many of the elements that both have differ; ``None`` where they are not compared.
        norm: of their difference as numbers; ``None`` where the type has none that are known here.
    """

    stored: Stored
    sha256: str
    base: Base | None = None
    changed: int | None = None
    norm: Norm | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that a delta says beside the packed bytes.

    Attributes:
        files: the files that it gives, the index first. base: the files that it was made from.
        tensors: by name. removed: tensors that the base alone has.
    """

    files: tuple[File, ...]
    base: tuple[File, ...]
    tensors: Mapping[str, Record]
    removed: Mapping[str, Base]

    def to_text(self) -> str:
        """Write it as JSON."""
        return json.dumps(plain(self), ensure_ascii=False, separators=(",", ":"))


def from_metadata(metadata: Mapping[str, str], path: str) -> Manifest:
    """Read the manifest from a file's metadata.

    Raises:
        FileFormatError: the file is no delta, one of a newer layout, or its manifest is not one.
    """
    version = metadata.get(f"{KEY}.version")
    if version is None or KEY not in metadata:
        raise FileFormatError(
            f"{path} is no delta: its metadata has no {KEY!r}; expected what minuend delta make writes"
        )
    if version != VERSION:
        raise FileFormatError(
            f"{path} is a delta of layout version {shown(version)}; expected {VERSION!r}, a newer minuend may read it"
        )
    try:
        data = json.loads(metadata[KEY], object_pairs_hook=safetensors.unique)
    except safetensors.DuplicateKeyError as error:
        raise FileFormatError(
            f"{path} names {clipped(error.args[0])} twice in its manifest; expected it once"
        ) from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} has a manifest that is no JSON ({error}); expected an object") from None
    return _Reader(path).manifest(data)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks what a manifest says, and says where it is wrong."""

    path: str

    def manifest(self, data: Any) -> Manifest:
        files, base, tensors, removed = self._fields(data, "the manifest", "files", "base", "tensors", "removed")
        return Manifest(
            tuple(self._file(one, f"files[{i}]") for i, one in enumerate(self._list(files, "files"))),
            tuple(self._file(one, f"base[{i}]") for i, one in enumerate(self._list(base, "base"))),
            {
                name: self._record(one, f"tensors[{clipped(name)}]")
                for name, one in self._dict(tensors, "tensors").items()
            },
            {
                name: self._base(one, f"removed[{clipped(name)}]")
                for name, one in self._dict(removed, "removed").items()
            },
        )

    def _file(self, data: Any, where: str) -> File:
        name, size, head, sha256 = self._fields(data, where, "name", "size", "head", "sha256")
        if not isinstance(name, str):
            raise self._wrong(f"{where}.name", name, "a text")
        size, head = self._count(size, f"{where}.size"), self._count(head, f"{where}.head")
        return File(name, size, head, self._sha256(sha256, where))

    def _record(self, data: Any, where: str) -> Record:
        stored, sha256, base, changed, norm = self._fields(data, where, "stored", "sha256", "base", "changed", "norm")
        if stored not in get_args(Stored):
            raise self._wrong(f"{where}.stored", stored, listed(get_args(Stored)))
        return Record(
            cast(Stored, stored),
            self._sha256(sha256, where),
            None if base is None else self._base(base, f"{where}.base"),
            None if changed is None else self._count(changed, f"{where}.changed"),
            None if norm is None else self._norm(norm, f"{where}.norm"),
        )

    def _base(self, data: Any, where: str) -> Base:
        dtype, shape, sha256 = self._fields(data, where, "dtype", "shape", "sha256")
        if not isinstance(dtype, str):
            raise self._wrong(f"{where}.dtype", dtype, "a text")
        sizes = tuple(self._count(dim, f"{where}.shape") for dim in self._list(shape, f"{where}.shape"))
        return Base(dtype, sizes, self._sha256(sha256, where))

    def _norm(self, data: Any, where: str) -> Norm:
        l2, most = self._fields(data, where, "l2", "max")
        return Norm(self._number(l2, f"{where}.l2"), self._number(most, f"{where}.max"))

    def _fields(self, data: Any, where: str, *names: str) -> list[Any]:
        if not isinstance(data, dict) or sorted(data) != sorted(names):
            raise self._wrong(where, data, f"an object of {listed(names, 'and')}")
        return [data[name] for name in names]

    def _list(self, value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._wrong(where, value, "a list")
        return value

    def _dict(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(where, value, "an object")
        return value

    def _count(self, value: Any, where: str) -> int:
        if type(value) is not int or not 0 <= value < 1 << 63:
            raise self._wrong(where, value, "a whole number from 0 on")
        return value

    def _number(self, value: Any, where: str) -> float:
        """Read a number from 0 on; infinity stands as a text, see :func:`minuend.plain.plain`."""
        if value == "inf":
            return math.inf
        if type(value) not in (int, float) or not 0 <= value < math.inf:
            raise self._wrong(where, value, "a number from 0 on")
        return float(value)

    def _sha256(self, value: Any, where: str) -> str:
        if not isinstance(value, str) or not _SHA256.match(value):
            raise self._wrong(f"{where}.sha256", value, "64 hexadecimal digits")
        return value

    def _wrong(self, where: str, came: Any, expected: str) -> FileFormatError:
        return FileFormatError(f"{self.path} has a manifest in which {where} is {shown(came)}; expected {expected}")
