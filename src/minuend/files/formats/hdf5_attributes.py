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
from minuend.files.formats.coordinates import Attributes
from minuend.files.streaming.reading import Array

_NETCDFS = frozenset(np.dtype(code) for code in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"))
_LONGEST_NAME = 255
"""Bytes of a name in netCDF."""


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


@dataclass(frozen=True)
class Unread:
    """An attribute of a type that is not read, or whose name is no text: it goes to no other file."""


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
    return Unread()


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


# ---- writing ----------------------------------------------------------------------------------------------------


def is_name(name: str, *, netcdf: bool) -> bool:
    """Whether a file has attributes of a name."""
    raw = name.encode(errors="surrogatepass")
    is_text = bool(raw) and b"\0" not in raw and raw == name.encode(errors="replace")
    return is_text and not (netcdf and len(raw) > _LONGEST_NAME)


def as_attribute(value: Any, *, netcdf: bool) -> Any:
    """Return a value of any format as an HDF5 file has it, or one of netCDF; ``None`` where the format lacks it.

    netCDF's attributes have one axis, or none. Of its types beside numbers and texts, records of numbers and
    enumerations are written.
    """
    if isinstance(value, Own):
        return value if not netcdf or _is_netcdfs_record(value) else None
    if isinstance(value, Text) and not netcdf:
        import h5py

        return h5py.Empty(value.dtype) if value.raw is None else np.array(value.raw, value.dtype)
    if isinstance(value, str):
        text = value.encode(errors="replace").decode()
        return None if "\0" in text and not netcdf else text  # the length ends such a text in netCDF alone
    if value is None or isinstance(value, Mapping | Unread):
        return None
    try:
        found = np.asarray(value)
    except ValueError:  # lists of lists that differ in length
        return None
    if netcdf and found.ndim > 1:
        return None
    if found.size and all(isinstance(one, str) for one in found.flat):
        texts = [one.encode(errors="replace").decode() for one in found.flat]
        return None if any("\0" in one for one in texts) else np.array(texts, object).reshape(found.shape)
    if found.dtype.hasobject or found.dtype.kind == "U":
        return None
    if netcdf:
        found = found.astype(np.float32) if found.dtype == np.float16 else found
        is_plain = found.dtype.kind == "S" or found.dtype.newbyteorder("=") in _NETCDFS or is_typed(found)
    else:
        is_plain = not isinstance(value, list) or found.dtype.kind in "iufb"
    return (found[()] if np.isscalar(value) else found) if is_plain else None


def is_typed(value: Any) -> bool:
    """Whether netCDF reads a value, as :func:`as_attribute` has it, by a type that its file has under a name."""
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return False
    return dtype.kind in "bc" or (dtype.kind in "iu" and "enum" in (dtype.metadata or {}))


def _is_netcdfs_record(one: Own) -> bool:
    """Whether an attribute is numbers without elements, or records of numbers."""
    if one.value is None:
        return one.dtype.newbyteorder("=") in _NETCDFS and not one.dtype.metadata
    fields: Mapping[str, Any] = one.dtype.fields or {}
    plain = all(row[0].base.newbyteorder("=") in _NETCDFS and not row[0].base.metadata for row in fields.values())
    return bool(fields) and plain and one.value.ndim < 2


def left_out(owner: str, attributes: Attributes, *, netcdf: bool) -> list[str]:
    """Say which attributes are not written, but for those that refer to what is not in the file."""
    lacks = "netCDF" if netcdf else "HDF5"
    found = []
    for name, value in attributes.items():
        what = f"the attribute {clipped(name)} of {clipped(owner)}"
        if isinstance(value, Unread):
            found.append(f"{what} is of a type that is not read, and is left out")
        elif not is_name(name, netcdf=netcdf):
            found.append(f"{what} has a name that {lacks} lacks, and is left out")
        elif as_attribute(value, netcdf=netcdf) is None:
            found.append(f"{what} is of a type that {lacks} lacks, and is left out")
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
