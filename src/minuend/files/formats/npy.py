"""NumPy's ``.npy``: one array.

    b"\\x93NUMPY", version (2 bytes), header length (2 or 4 bytes), header, elements

The header is a Python dict in text: ``descr`` (type and byte order), ``fortran_order``, ``shape``. It is read by
NumPy's own reader. ``.npy`` has no word for bfloat16 and the narrow types.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

from minuend.core.elements import ElementType
from minuend.core.shapes import size
from minuend.errors import DTypeError, FileFormatError
from minuend.files import sources
from minuend.files.base import NO_TEXT, Result, Tensor, TensorFile, check_shape, element_of, is_numpys_own
from minuend.files.stored_elements import Contiguous
from minuend.files.streaming.reading import Source

SUFFIXES = (".npy",)
NAMED = False
_MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 16_384
"""Bytes; above what NumPy's reader takes (10,000 characters)."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a ``.npy`` header says, and how many bytes it takes."""

    element: ElementType
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    fortran: bool
    length: int

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take."""
        return size(self.shape) * self.dtype.itemsize


def read_header(head: bytes, where: str, *, every_type: bool = False) -> Header:
    """Read a header from the first bytes of a file or member.

    Raises:
        FileFormatError: it is none, or holds objects. DTypeError: an element type that is no number.
    """
    if not head.startswith(_MAGIC):
        raise FileFormatError(f"{where} does not start as a .npy does: {head[:6]!r}; expected {_MAGIC!r}")
    stream = io.BytesIO(head)
    try:
        version = np.lib.format.read_magic(stream)
        # Version 3 differs from 2 in non-ASCII field names alone, and records are refused below.
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(version)
        shape, fortran, dtype = reader(stream)
    except Exception as error:
        raise FileFormatError(
            f"{where} has a damaged .npy header; "
            "expected version 1.0 to 3.0 and a dict of descr, fortran_order and shape"
        ) from error
    if any(type(dim) is not int or dim < 0 for dim in shape):
        raise FileFormatError(f"{where} states the shape {shape}; expected sizes of 0 and above")
    check_shape(shape, dtype.itemsize, where)
    return Header(element_of(dtype, where, every_type=every_type), dtype, shape, fortran, stream.tell())


def elements_of(
    source: Source, start: int, size: int, where: str, *, every_type: bool = False
) -> tuple[Header, Contiguous]:
    """Return the header and the elements of a whole ``.npy`` that lies in a range of a file."""
    header = read_header(source.read(start, min(size, LONGEST_HEADER)).tobytes(), where, every_type=every_type)
    check_length(header, size - header.length, where)
    return header, Contiguous(source, start + header.length, header.dtype, header.shape, header.fortran)


def check_length(header: Header, came: int, where: str) -> None:
    """Check that the elements take exactly the bytes that are there."""
    if came != header.nbytes:
        raise FileFormatError(
            f"{where} has {came} bytes of elements; expected {header.nbytes} ({header.element} of shape {header.shape})"
        )


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Open a ``.npy``; its tensor has no name."""
    source = sources.open_source(path)
    header, elements = elements_of(source, 0, source.size, path, every_type=every_type)
    tensor = Tensor("", header.element, header.shape, lambda: elements, fortran=header.fortran)
    return TensorFile(path, NAMED, {"": lambda: tensor})


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse element types that NumPy would save as nameless bytes."""
    for result in results:
        if not is_numpys_own(result.element):
            raise DTypeError(
                "types", f"NumPy's files have no word for {result.element}; write .safetensors or .pb", where=path
            )


def write(stream: IO[bytes], results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write one array in native byte order, in Fortran order where its operands are, else in C order."""
    (result,) = results
    descr = np.lib.format.dtype_to_descr(result.element.memory)
    header = {"descr": descr, "fortran_order": result.fortran, "shape": result.shape}
    np.lib.format.write_array_header_1_0(stream, header)
    result.write(stream, fortran=result.fortran)
