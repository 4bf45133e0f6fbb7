"""NumPy's ``.npz``: a zip archive of ``.npy`` members, ``name.npy`` for the array ``name``.

Members that are only stored (``numpy.savez``) are mapped after their checksum is right. Compressed ones
(``numpy.savez_compressed``) are unpacked one at a time into an unnamed temporary file, and mapped there. Sizes are
checked against each other and against what deflate can pack at all, before a byte is unpacked.
"""

from __future__ import annotations

import functools
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from minuend.errors import FileFormatError
from minuend.storage import npy
from minuend.storage.base import Array, Result, Tensor, TensorFile, map_bytes

NAMED = True
_STEP = 1 << 20
_DEFLATE_LIMIT = 1032  # deflate packs at most 258 bytes into 2 bits
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_ENCRYPTED = 0x1
_EPOCH = (1980, 1, 1, 0, 0, 0)


def open_file(path: str) -> TensorFile:
    """Read an archive's directory; members are looked at when they are asked for."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in _directory(path):
        name = info.filename.removesuffix(".npy")
        if name == info.filename:
            raise FileFormatError(f"{path} holds {info.filename!r}; expected .npy members alone")
        if name in members:
            raise FileFormatError(f"{path} holds two members {info.filename!r}; expected names that differ")
        members[name] = info
    return TensorFile(
        path, NAMED, {name: functools.partial(_tensor, path, name, info) for name, info in members.items()}
    )


def _directory(path: str) -> list[zipfile.ZipInfo]:
    map_bytes(path)  # says it where the path is no plain file
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise FileFormatError(f"{path} is no zip archive, or a damaged one ({error}); expected a .npz") from None


def _tensor(path: str, name: str, info: zipfile.ZipInfo) -> Tensor:
    """Check a member's sizes and read its header."""
    where = f"{path} member {info.filename!r}"
    if info.flag_bits & _ENCRYPTED:
        raise FileFormatError(f"{where} is encrypted; expected a plain member")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileFormatError(f"{where} is packed by method {info.compress_type}; expected 0 (stored) or 8 (deflate)")
    most = info.compress_size * (_DEFLATE_LIMIT if info.compress_type else 1)
    if info.file_size > most:
        raise FileFormatError(
            f"{where} claims {info.file_size} bytes out of {info.compress_size} packed ones; "
            f"expected {most} at the most"
        )
    try:
        with zipfile.ZipFile(path) as archive, archive.open(info) as stream:
            header = npy.read_header(npy.head_of(stream), where)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise _damaged(where, error) from None
    npy.check_length(header, info.file_size - header.length, where)
    return Tensor(name, header.element, header.shape, lambda: _read(path, info, where))


def _read(path: str, info: zipfile.ZipInfo, where: str) -> Array:
    try:
        raw = _unpacked(path, info) if info.compress_type else _stored(path, info, where)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _damaged(where, error) from None
    return npy.array_of(raw, where)[1]


def _stored(path: str, info: zipfile.ZipInfo, where: str) -> Array:
    """Map a member that is not compressed."""
    raw = map_bytes(path)
    start = info.header_offset + _LOCAL_HEADER.size
    signature, *_, name_length, extra_length = _LOCAL_HEADER.unpack(raw[info.header_offset : start].tobytes())
    start += name_length + extra_length
    member = raw[start : start + info.file_size]
    checksum = 0
    for at in range(0, member.size, _STEP):
        checksum = zlib.crc32(member[at : at + _STEP].data, checksum)
    if signature != b"PK\x03\x04" or member.size != info.file_size or checksum != info.CRC:
        raise FileFormatError(f"{where} is damaged: its checksum is {checksum:08x}; expected {info.CRC:08x}")
    return member


def _unpacked(path: str, info: zipfile.ZipInfo) -> Array:
    """Unpack a member into a temporary file that vanishes with the array; ``zipfile`` checks the checksum."""
    with (
        tempfile.TemporaryFile() as spool,
        zipfile.ZipFile(path) as archive,
        archive.open(info) as stream,
    ):
        while piece := stream.read(_STEP):
            spool.write(piece)
        spool.flush()
        return np.asarray(np.memmap(spool, np.uint8, "r"))


def _damaged(where: str, error: Exception) -> FileFormatError:
    return FileFormatError(f"{where} is damaged ({error}); expected a whole member")


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse what ``.npy`` cannot hold."""
    npy.check(path, results)


def write(stream: Any, results: Sequence[Result]) -> None:
    """Write an archive of stored members, as ``numpy.savez`` does, with a fixed date: equal arrays, equal bytes."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for result in results:
            info = zipfile.ZipInfo(f"{result.name}.npy", _EPOCH)
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write(member, [result])
