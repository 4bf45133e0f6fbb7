"""The manifest of a delta: what it was made from, what it gives, and how each tensor is stored.

JSON under ``minuend.delta`` in the metadata of a safetensors file; ``docs/deltas.md`` shows the whole layout.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from minuend.errors import FileFormatError, shown
from minuend.plain import plain
from minuend.schema import Item, Origin, Path, by_name, format_path, many, one_of, optional, parse_json, record

KEY = "minuend.delta"
"""The manifest's name in the metadata, and that of the layout's version with ``.version`` behind it."""

VERSION = "1"

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
    data = parse_json(metadata[KEY], path, "an object", "manifest")
    return _MANIFEST(Item(_Said(path), (), data))


class _Said(Origin):
    """A delta whose errors are about its manifest."""

    def place(self, path: Path) -> str:
        return f"{self.name} has a manifest in which {format_path(path) or 'the manifest'}"


def _text(item: Item) -> str:
    return item.string("a text")


def _sha256(item: Item) -> str:
    return item.string("64 hexadecimal digits", re.compile(r"[0-9a-f]{64}\Z").match)


def _count(item: Item) -> int:
    return item.integer(wanted="a whole number from 0 on")


def _number(item: Item) -> float:
    """Read a number from 0 on; infinity stands as a text, see :func:`minuend.plain.plain`."""
    if item.value == "inf":
        return math.inf
    return float(item.number("a number from 0 on", lambda value: 0 <= value < math.inf))


_FILES = many(record(File, name=_text, size=_count, head=_count, sha256=_sha256))
_BASE = record(Base, dtype=_text, shape=many(_count), sha256=_sha256)
_RECORD = record(
    Record,
    stored=one_of(get_args(Stored)),
    sha256=_sha256,
    base=optional(_BASE),
    changed=optional(_count),
    norm=optional(record(Norm, l2=_number, max=_number)),
)
_MANIFEST = record(Manifest, files=_FILES, base=_FILES, tensors=by_name(_RECORD), removed=by_name(_BASE))
