"""Attributes of HDF5 that other formats lack: records, references, texts and numbers without elements, enumerations.

The child process describes them (:mod:`~minuend.files.formats.hdf5_child`); they go to another HDF5 file with their
types. A reference leads to the object of the same path there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from minuend.files.base import clipped
from minuend.files.streaming.reading import Array


@dataclass(frozen=True)
class Reference:
    """A reference to an object of the file: its name and how far its first axis grows; ``None`` of one to nothing.

    Attributes:
        part: whether it refers to a region of a dataset. nothing: whether it is meant to lead to nothing.
    """

    described: Any
    part: bool = False
    nothing: bool = False

    @property
    def path(self) -> str | None:
        """The path of what it leads to; ``None`` where it leads to nothing."""
        name = self.described[0] if self.described else None
        return name if name is None else str(name).lstrip("/")


class Text(str):
    """A text of a fixed length, or one that is none (``h5py.Empty``); other formats have the letters.

    Attributes:
        dtype: as ``h5py`` has it. raw: its bytes; ``None`` where there are none.
    """

    dtype: np.dtype[Any]
    raw: bytes | None

    @classmethod
    def of(cls, dtype: np.dtype[Any], raw: bytes | None) -> Text:
        """Make one."""
        made = cls((raw or b"").decode(errors="surrogateescape"))
        made.dtype, made.raw = dtype, raw
        return made


@dataclass(frozen=True)
class Own:
    """An attribute of a type that no other format has, with it: records, references, numbers without elements.

    Attributes:
        stated: by which two are equal. dtype: as ``h5py`` has it. value: an array, with :class:`Reference` for each
            reference; ``None`` where it has no elements.
    """

    stated: str
    dtype: np.dtype[Any] = field(compare=False)
    value: Array | None = field(compare=False)


# ---- reading ----------------------------------------------------------------------------------------------------


def dtype_of(stated: Any) -> np.dtype[Any]:
    """Return a type by what the child says of it; one of datasets that are not read is of bytes."""
    if isinstance(stated, str):
        with contextlib.suppress(TypeError):
            return np.dtype(stated)
        import ml_dtypes

        own: np.dtype[Any] = np.dtype(getattr(ml_dtypes, stated))
        return own
    import h5py

    found: Any = np.dtype("V1")
    if "text" in stated:
        found = h5py.string_dtype(*stated["text"])
    elif "enum" in stated:
        found = h5py.enum_dtype(stated["enum"], stated["of"])
    elif "vlen" in stated:
        found = h5py.vlen_dtype(dtype_of(stated["vlen"]))
    elif "reference" in stated:
        found = h5py.ref_dtype if stated["reference"] == "whole" else h5py.regionref_dtype
    elif "array" in stated:
        found = np.dtype((dtype_of(stated["array"]), tuple(stated["shape"])))
    elif "fields" in stated:
        names, types, offsets = zip(*stated["fields"], strict=True)
        described: Any = {"names": names, "formats": [dtype_of(one) for one in types], "offsets": offsets}
        found = np.dtype(described | {"itemsize": stated["size"]})
    return cast("np.dtype[Any]", found)


def value_of(stated: Mapping[str, Any], parts: Sequence[bytes]) -> Any:
    """Return a value of an attribute."""
    if "type" in stated:
        return _of_its_type(stated["type"], {key: one for key, one in stated.items() if key != "type"}, parts)
    if "text" in stated:
        return stated["text"]
    if "bytes" in stated:
        return parts[stated["bytes"]]
    if "reference" in stated:
        return Reference(stated["reference"], stated["part"], stated["nothing"])
    if "array" in stated:
        found = np.frombuffer(parts[stated["array"]], dtype_of(stated["dtype"])).reshape(stated["shape"])
        return found[()] if stated["alone"] else found.copy()
    if "list" in stated:
        values = np.empty(len(stated["list"]), object)
        for k, one in enumerate(stated["list"]):
            values[k] = value_of(one, parts)
        return values.reshape(stated["shape"])
    return None


def _of_its_type(described: Mapping[str, Any], stated: Mapping[str, Any], parts: Sequence[bytes]) -> Any:
    """Return a value whose type says more than NumPy's: one of an enumeration is a number of that type."""
    dtype = dtype_of(described)
    if "enum" in described and "array" in stated:
        return np.frombuffer(parts[stated["array"]], dtype).reshape(stated["shape"])
    if "bytes" in stated:
        return Text.of(dtype, parts[stated["bytes"]])
    if "empty" in stated and (dtype.kind == "S" or "text" in described):
        return Text.of(dtype, None)
    value = None if "empty" in stated else _filled(dtype, stated, parts)
    return Own(f"{described} {None if value is None else value.tolist()}", dtype, value)


def _filled(dtype: np.dtype[Any], stated: Mapping[str, Any], parts: Sequence[bytes]) -> Array:
    """Return an array of a type by what the child says of its elements, field by field."""
    if "fields" in stated:
        found = np.zeros(stated["shape"], dtype.base)
        for name, one in stated["fields"]:
            found[name] = _filled(dtype.base[name], one, parts)
        return found
    found = np.empty(stated.get("shape", ()), dtype.base)
    found[...] = value_of(stated, parts)
    return found


# ---- references -------------------------------------------------------------------------------------------------


def references(one: Own) -> list[Reference]:
    """Return the references of an attribute."""
    found: list[Reference] = []
    if one.value is not None:
        with_references(one.value, found.append)
    return found


def with_references(value: Array, change: Callable[[Reference], Any]) -> Array:
    """Return a copy of an attribute's value with other references, in records too."""
    found = value.copy()
    if value.dtype.names:
        for name in value.dtype.names:
            found[name] = with_references(value[name], change)
    elif value.dtype.hasobject:
        for at, each in np.ndenumerate(value):
            found[at] = change(each) if isinstance(each, Reference) else each
    return found


def is_lost(to: Reference, there: Container[str]) -> bool:
    """Whether a reference leads to what is not in another file, or to a part of a dataset; one to nothing does not."""
    return not to.nothing and (to.part or to.path is None or f"/{to.path}" not in there)


def called(to: Reference, path: str) -> str:
    """Say what a reference leads to that is lost in a file."""
    known = "an object without a name" if to.path is None else clipped(f"/{to.path}")
    return f"a part of {known}, which is not rewritten" if to.part else f"{known}, which is not in {path}"
