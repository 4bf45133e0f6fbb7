"""A model's external data: what a tensor's reference says, whether it may be followed, and its bytes as an array.

    location   a path relative to the model's folder, beneath it
    offset     bytes from the start of that file (0 where it is left out)
    length     bytes of the tensor (as many as its type and dims need, where it is left out)
    checksum   SHA-1 of the whole file, in hex digits (checked where it is stated)

A model comes from anyone, so nothing but a regular file beneath the model's own folder is opened. Bytes are read when
they are used, a tensor at a time.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from google.protobuf.message import Message  # type: ignore[import-untyped,unused-ignore]
from onnx import ModelProto, TensorProto

from minuend.errors import FileFormatError, shown
from minuend.files.streaming.reading import File, blocks, fetched, open_file
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array

if TYPE_CHECKING:
    from minuend.files.stored_elements import Elements

_NUMBER = re.compile(r"[0-9]{1,19}\Z")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Reference:
    """What a tensor says of its data; ``length`` is what its type and dims need."""

    location: str
    offset: int
    length: int
    checksum: str | None


def reference(tensor: TensorProto, where: str) -> Reference:
    """Read and check a tensor's reference by every rule that needs no look at a file.

    Raises:
        FileFormatError: a location that is absolute, empty or leads out, an offset, length or checksum that is none,
            or a length that differs from what the tensor's type and dims need.
    """
    stated: dict[str, str] = {}
    for entry in tensor.external_data:
        if entry.key in stated:
            raise FileFormatError(f"{where} states the key {entry.key!r} of its external data twice; state it once")
        stated[entry.key] = entry.value
    if "location" not in stated:
        raise FileFormatError(f"{where} has external data without a location; expected a path beneath the model")
    location = stated["location"]
    _check_location(location, where)
    kind = tensors.check(tensor, where)
    needed = kind.nbytes(tensors.elements(tensor.dims, where))
    offset = _number(stated, "offset", 0, where)
    length = _number(stated, "length", needed, where)
    if length != needed:
        raise FileFormatError(
            f"{where} has external data of {length} bytes in {location!r}; expected {needed} "
            f"({kind.word} of dims {tuple(tensor.dims)})"
        )
    checksum = stated.get("checksum")
    if checksum is not None and not re.fullmatch("[0-9a-fA-F]{40}", checksum):
        raise FileFormatError(f"{where} has the checksum {checksum!r}; expected the 40 hex digits of a SHA-1")
    return Reference(location, offset, length, checksum)


def _check_location(location: str, where: str) -> None:
    parts = re.split(r"[/\\]", location)
    rule = ""
    if "\0" in location or (set(parts) <= {"", "."} and not location.startswith(("/", "\\"))):
        rule = "it names no file"
    elif parts[0] == "" or _DRIVE.match(location):
        rule = "it is absolute"
    elif ".." in parts:
        rule = "it leads upwards"
    if rule:
        raise FileFormatError(
            f"{where} has its data at {location!r}: {rule}; expected a path relative to the model's folder, beneath it"
        )


def _number(stated: Mapping[str, str], key: str, default: int, where: str) -> int:
    if key not in stated:
        return default
    if not _NUMBER.match(stated[key]):
        raise FileFormatError(
            f"{where} has the {key} {shown(stated[key])} of its external data; expected a number of bytes"
        )
    return int(stated[key])


class DataFiles:
    """The files of external data beneath one folder, each opened while something is read from it.

    Args:
        folder: the model's folder; ``None`` where the model came without one.
        name: what to call the model in messages.
    """

    def __init__(self, folder: str | None, name: str) -> None:
        self.folder = folder
        self.name = name
        self._sums: dict[tuple[str, int, int], str] = {}
        self._read: weakref.WeakValueDictionary[tuple[str, int, int, int], Array] = weakref.WeakValueDictionary()

    def path(self, location: str, where: str) -> str:
        """Return the real path of a location that may be read.

        Raises:
            FileFormatError: the model has no folder; the file is not beneath it, not a regular file, or has hard links.
            FileNotFoundError: there is no such file.
        """
        if self.folder is None:
            raise FileFormatError(
                f"{where} has its data in the file {location!r} and the model came without a folder; "
                "read it from its path, or give base_dir"
            )
        root = os.path.realpath(self.folder)
        real = os.path.realpath(os.path.join(root, location))
        if real == root or os.path.commonpath([root, real]) != root:
            raise FileFormatError(
                f"{where} has its data at {location!r}: a symbolic link leads to {real}, out of the model's folder "
                f"{root}; copy the file beside the model"
            )
        try:
            found = os.lstat(real)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG):
                raise
            raise FileNotFoundError(
                f"{where} has its data in {location!r}, and there is no file {real}; put it beside the model"
            ) from None
        _check_status(found, location, where)
        return real

    def check(self, tensor: TensorProto, where: str) -> None:
        """Check all that can be known of a tensor's data without reading it, and the checksum where one is stated.

        Raises:
            FileFormatError, FileNotFoundError: see :meth:`bytes`.
        """
        with self._opened(reference(tensor, where), where):
            pass

    def bytes(self, tensor: TensorProto, where: str) -> Array:
        """Return the bytes of a tensor, read-only; the same array while it is in use.

        Raises:
            FileFormatError: see :func:`reference` and :meth:`path`; or the file is too short, or not the one whose
                checksum is stated. FileNotFoundError: no such file.
        """
        ref = reference(tensor, where)
        with self._opened(ref, where) as (file, version):
            key = (file.path, version, ref.offset, ref.length)
            if (data := self._read.get(key)) is None:
                data = self._read[key] = file.read(ref.offset, ref.length)
            return data

    @contextlib.contextmanager
    def _opened(self, ref: Reference, where: str) -> Iterator[tuple[File, int]]:
        """Open the file of a reference that fits it; yield it and when it was last changed."""
        file = _open(self.path(ref.location, where), ref.location, where)
        try:
            if ref.offset + ref.length > file.size:
                raise FileFormatError(
                    f"{where} has its data at bytes {ref.offset} to {ref.offset + ref.length} of {ref.location!r}; "
                    f"the file has {file.size}"
                )
            version = file.changed
            if ref.checksum is not None:
                key = (file.path, version, file.size)
                if key not in self._sums:
                    self._sums[key] = _sha1(file)
                if self._sums[key] != ref.checksum.lower():
                    raise FileFormatError(
                        f"{where} states the SHA-1 {ref.checksum} of {ref.location!r}; the file has "
                        f"{self._sums[key]}: it is not the file that the model was saved with"
                    )
            yield file, version
        finally:
            file.close()

    def array(self, tensor: TensorProto, where: str) -> Array:
        """Return a tensor's elements, read-only, wherever they are."""
        kind = tensors.check(tensor, where)
        if not tensors.is_external(tensor):
            return tensors.to_array(tensor)
        data = self.bytes(tensor, where)
        if kind.packed:
            return tensors.to_array(inline(tensor, data))
        return data.view(_stored(kind)).reshape(tuple(tensor.dims))

    def elements(self, tensor: TensorProto, where: str) -> Elements:
        """Return a tensor's elements, which are read where they lie if they lie as memory has them."""
        from minuend.files.stored_elements import Contiguous, InMemory  # slow, and only whole files need it

        kind = tensors.check(tensor, where)
        if kind.packed or not tensors.is_external(tensor):
            return InMemory(self.array(tensor, where))
        ref = reference(tensor, where)
        with self._opened(ref, where) as (file, _):
            return Contiguous(file.again(), ref.offset, _stored(kind), tuple(tensor.dims))

    def blocks(self, tensor: TensorProto, where: str) -> tuple[np.dtype[Any], Iterator[Array]]:
        """Return the type of a tensor's elements in memory, and an iterator over them, a few megabytes at a time."""
        kind = tensors.check(tensor, where)
        if kind.packed or not tensors.is_external(tensor):
            return kind.dtype, iter([self.array(tensor, where)])
        return kind.dtype, self._blocks(reference(tensor, where), _stored(kind), where)

    def _blocks(self, ref: Reference, dtype: np.dtype[Any], where: str) -> Iterator[Array]:
        with self._opened(ref, where) as (file, _):
            for block in blocks(file, ref.offset, ref.length):
                yield block.view(dtype)


_HOLDERS = ("TrainingInfoProto", "GraphProto", "FunctionProto", "NodeProto", "AttributeProto", "SparseTensorProto",
            "TensorProto")  # fmt: skip
"""The messages through which a tensor is reached."""


_LARGEST_WRITTEN = 1 << 20
"""Bytes of a model up to which writing it is faster than a look at each of its messages."""


def locations(model: ModelProto) -> Iterator[str]:
    """Yield the locations that the tensors of a model state, however wrong, wherever they are: in training too."""
    if model.ByteSize() > _LARGEST_WRITTEN or b"location" in model.SerializeToString():
        yield from _locations(model)


def _locations(message: Message) -> Iterator[str]:
    if isinstance(message, TensorProto):
        yield from (one.value for one in message.external_data if one.key == "location" and "\0" not in one.value)
        return
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.name in _HOLDERS:
            for one in value if field.is_repeated else [value]:
                yield from _locations(one)


def inline(tensor: TensorProto, data: Array) -> TensorProto:
    """Return a copy of a tensor that holds its bytes itself."""
    whole = TensorProto()
    whole.CopyFrom(tensor)
    whole.ClearField("external_data")
    whole.ClearField("data_location")
    whole.raw_data = data.tobytes()
    return whole


def _stored(kind: tensors.DataType) -> np.dtype[Any]:
    """The type of elements as they lie in a file: little-endian."""
    return kind.dtype.newbyteorder("<") if kind.dtype.kind in "iufc" else kind.dtype


def _check_status(found: os.stat_result, location: str, where: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise FileFormatError(f"{where} has its data at {location!r}, which is no regular file")
    if found.st_nlink > 1:
        raise FileFormatError(
            f"{where} has its data at {location!r}, which has {found.st_nlink} hard links and may be a file from "
            "elsewhere; copy it"
        )


def _open(path: str, location: str, where: str) -> File:
    """Open a file; it is checked again once it is open, since it may have been swapped in between."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        _check_status(os.fstat(descriptor), location, where)
    except BaseException:
        os.close(descriptor)
        raise
    return fetched(File(path, descriptor))


def _sha1(file: File) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    for block in blocks(file):
        digest.update(block.data)
    return digest.hexdigest()


def copy(source: str, stream: BinaryIO) -> None:
    """Copy a file to a stream, block by block."""
    with contextlib.closing(open_file(source)) as data:
        for block in blocks(data):
            stream.write(block.data)


def same_content(one: str, other: str) -> bool:
    """Whether two files hold the same bytes."""
    with contextlib.closing(open_file(one)) as first, contextlib.closing(open_file(other)) as second:
        return first.size == second.size and all(map(np.array_equal, blocks(first), blocks(second)))
