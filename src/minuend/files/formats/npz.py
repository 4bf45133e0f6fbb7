"""NumPy's ``.npz``: a zip archive of ``.npy`` members, ``name.npy`` for the array ``name``.

Members that are only stored (``numpy.savez``) are read where they lie, after their checksum is right. Compressed ones
(``numpy.savez_compressed``) are unpacked one at a time into an unnamed temporary file, and read there. Sizes are
checked against each other and against what deflate can pack at all, before a byte is unpacked.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minuend.errors import FileFormatError, MinuendError
from minuend.files import sources
from minuend.files.base import NO_TEXT, Result, Tensor, TensorFile, clipped
from minuend.files.formats import npy
from minuend.files.sources import Opened
from minuend.files.stored_elements import Contiguous
from minuend.files.streaming import reading
from minuend.files.streaming.reading import File, Source, Stream, blocks

SUFFIXES = (".npz",)
NAMED = True
_STEP = 1 << 20
_DEFLATE_LIMIT = 1032  # deflate packs at most 258 bytes into 2 bits
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_ENCRYPTED = 0x1
_OUTWARD = re.compile(r"[/\\]|[A-Za-z]:[/\\]|(.*[/\\])?\.\.[/\\]", re.DOTALL)
_EPOCH = (1980, 1, 1, 0, 0, 0)
_LONGEST_NAME = (1 << 16) - 1


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Read an archive's directory; members are looked at when they are requested."""
    source = sources.open_source(path)
    members: dict[str, zipfile.ZipInfo] = {}
    for info in _directory(source):
        name = info.filename.removesuffix(".npy")
        if "\0" in info.orig_filename:
            raise FileFormatError(
                f"{path} holds {clipped(info.orig_filename)}, a name with NUL, at which readers of zip end it; "
                "expected names without"
            )
        if name == info.filename:
            raise FileFormatError(f"{path} holds {clipped(info.filename)}; expected .npy members alone")
        if name in members:
            raise FileFormatError(f"{path} holds two members {clipped(info.filename)}; expected names that differ")
        members[name] = info
    opener = functools.partial(_tensor, source, every_type=every_type)
    return TensorFile(path, NAMED, {name: functools.partial(opener, name, info) for name, info in members.items()})


def _directory(source: Opened) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(Stream(source)) as archive:
            return archive.infolist()
    except FileFormatError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        if isinstance(error.__context__, OSError):  # what zipfile takes for a bad file is a disk that fails
            raise error.__context__ from None
        raise FileFormatError(f"{source.path} is no zip archive, or a damaged one ({error}); expected a .npz") from None


def _tensor(source: Opened, name: str, info: zipfile.ZipInfo, *, every_type: bool) -> Tensor:
    """Check a member's sizes and read its header."""
    where = f"{source.path} member {clipped(info.filename)}"
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
    with _errors_naming(where), zipfile.ZipFile(Stream(source)) as archive, archive.open(info) as stream:
        header = npy.read_header(stream.read(npy.LONGEST_HEADER), where, every_type=every_type)
    npy.check_length(header, info.file_size - header.length, where)
    opener = functools.partial(_elements, source, info, where, every_type)
    return Tensor(name, header.element, header.shape, opener, fortran=header.fortran)


def _elements(source: Opened, info: zipfile.ZipInfo, where: str, every_type: bool) -> Contiguous:
    with _errors_naming(where):
        home, start = (_unpacked(source, info), 0) if info.compress_type else (source, _stored(source, info, where))
    return npy.elements_of(home, start, info.file_size, where, every_type=every_type)[1]


def _stored(source: Source, info: zipfile.ZipInfo, where: str) -> int:
    """Return where a member lies that is not compressed, its checksum checked."""
    head = source.read(info.header_offset, min(_LOCAL_HEADER.size, source.size - info.header_offset)).tobytes()
    signature, *_, name_length, extra_length = _LOCAL_HEADER.unpack(head.ljust(_LOCAL_HEADER.size, b"\0"))
    start: int = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
    checksum, end = 0, min(source.size, start + info.file_size)
    for block in blocks(source, start, max(0, end - start)):
        checksum = zlib.crc32(block.data, checksum)
    if signature != b"PK\x03\x04" or end - start != info.file_size or checksum != info.CRC:
        raise FileFormatError(f"{where} is damaged: its checksum is {checksum:08x}; expected {info.CRC:08x}")
    return start


def _unpacked(source: Opened, info: zipfile.ZipInfo) -> File:
    """Unpack a member into a temporary file that goes with what is read of it; ``zipfile`` checks the checksum."""
    with (
        reading.unnamed() as spool,
        zipfile.ZipFile(Stream(source)) as archive,
        archive.open(info) as stream,
    ):
        while piece := stream.read(_STEP):
            spool.write(piece)
        spool.flush()
        return File(source.path, os.dup(spool.fileno()))


@contextlib.contextmanager
def _errors_naming(where: str) -> Iterator[None]:
    """Say it of the member where ``zipfile`` finds it damaged, or of a kind that it does not read."""
    try:
        yield
    except MinuendError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError) as error:
        raise FileFormatError(f"{where} is damaged ({error}); expected a whole member") from None


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse what ``.npy`` cannot hold, and names that a zip archive cannot."""
    npy.check(path, results)
    members = {f"{result.name}.npy" for result in results}
    for result in results:
        name = f"{result.name}.npy"
        if result.name in members:
            raise FileFormatError(
                f"{path}: NumPy takes {clipped(result.name)} for the member of {clipped(result.name[:-4])}; "
                "write .safetensors, or rename the tensor"
            )
        if _OUTWARD.match(name):
            raise FileFormatError(
                f"{path}: the name {clipped(result.name)} leads out of an archive that is unpacked; "
                "write .safetensors, or rename the tensor"
            )
        if len(name.encode()) > _LONGEST_NAME:
            raise FileFormatError(
                f"{path}: the name {clipped(result.name)} has {len(result.name.encode())} bytes; a zip archive holds "
                f"{_LONGEST_NAME - len('.npy')} at most; write .safetensors, or rename the tensor"
            )
        if zipfile.ZipInfo(name).filename != name:
            raise FileFormatError(
                f"{path}: a zip archive does not keep the name {clipped(result.name)}; write .safetensors, or rename "
                "the tensor"
            )


def write(stream: Any, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write an archive of stored members, as ``numpy.savez`` does, with a fixed date: equal arrays, equal bytes."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for result in results:
            info = zipfile.ZipInfo(f"{result.name}.npy", _EPOCH)
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write(member, [result])
