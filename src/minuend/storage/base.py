"""What the formats share: tensors not read yet, results not computed yet, files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, BinaryIO, Protocol, TypeAlias

import numpy as np

from minuend.core import elements
from minuend.core.elements import ElementType
from minuend.core.shapes import size
from minuend.errors import DTypeError, FileFormatError, MinuendError, Unsupported, listed
from minuend.written import announce

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in a file.

    Attributes:
        name: its name there; ``""`` where the format has none.
        element: its element type. shape: its shape.
        read: gives its elements, read-only; a memory map where the format allows one.
    """

    name: str
    element: ElementType
    shape: tuple[int, ...]
    read: Callable[[], Array]


class TensorFile(Mapping[str, Tensor]):
    """The tensors of a file by name, each looked at only when it is asked for.

    Attributes:
        path: the file. named: whether the format holds several tensors by name; otherwise there is exactly one.
    """

    def __init__(self, path: str, named: bool, openers: Mapping[str, Callable[[], Tensor]]) -> None:
        self.path = path
        self.named = named
        self._openers = openers

    def __getitem__(self, name: str) -> Tensor:
        return self._openers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._openers)

    def __len__(self) -> int:
        return len(self._openers)


@dataclass(frozen=True, slots=True)
class Result:
    """A tensor to be written: what it is, and its elements in C order, block by block."""

    name: str
    element: ElementType
    shape: tuple[int, ...]
    blocks: Callable[[], Iterable[Array]]

    @property
    def nbytes(self) -> int:
        """Bytes of all its elements."""
        return size(self.shape) * self.element.itemsize

    def write(self, stream: Any) -> None:
        """Write the elements' bytes to a stream, block by block."""
        for block in self.blocks():
            # Bytes, since the buffer protocol has no word for ml_dtypes' element types.
            stream.write(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)


class Format(Protocol):
    """A module of this folder: one file format."""

    NAMED: bool

    def open_file(self, path: str) -> TensorFile:
        """Look at a file's header; its elements stay where they are."""

    def check(self, path: str, results: Sequence[Result]) -> None:
        """Refuse results that the format cannot hold, before anything is computed."""

    def write(self, stream: BinaryIO, results: Sequence[Result]) -> None:
        """Write a whole file to a stream."""


def map_bytes(path: str) -> Array:
    """Return a file as a read-only array of bytes that the system loads page by page."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder; expected a file")
    if os.path.getsize(path) == 0:
        return np.empty(0, np.uint8)
    # The plain array over the map: the memmap class costs time on every slice and says nothing more.
    return np.asarray(np.memmap(path, np.uint8, "r"))


def array_at(raw: Array, offset: int, dtype: np.dtype[Any], shape: Sequence[int], *, fortran: bool = False) -> Array:
    """Return the array that lies at an offset of a file's bytes; the caller has checked that it fits."""
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    flat = raw[offset : offset + math.prod(shape) * dtype.itemsize].view(dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def is_numpys_own(element: ElementType) -> bool:
    """Whether NumPy itself knows the type, so that its files name it; ml_dtypes' types it saves as bare bytes."""
    return element.memory.isbuiltin == 1 and element.numpy is not None


def element_of(dtype: np.dtype[Any], where: str) -> ElementType:
    """Return the row of the element type that a NumPy file states.

    Raises:
        FileFormatError: pickled objects, or raw bytes that do not say what they are. DTypeError: no numeric type.
    """
    if dtype.hasobject:
        raise FileFormatError(f"{where} holds Python objects, which are pickles and can run code; expected numbers")
    row = elements.of_numpy(dtype)
    nameless = dtype.kind == "V" and dtype.names is None
    if nameless or (row is not None and not is_numpys_own(row)):
        raise FileFormatError(
            f"{where} holds raw elements of {dtype.itemsize} bytes without a type (NumPy saves bfloat16 and the narrow "
            "types so); expected a numeric type, write such tensors as .safetensors or .pb"
        )
    if row is None:
        raise DTypeError("types", where, f"{elements.refusal(dtype.name)}; expected {listed(elements.TYPES)}")
    return row


def need(module: str, extra: str, path: str) -> ModuleType:
    """Import a package that an extra brings.

    Raises:
        Unsupported: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise Unsupported(
            f'{path} needs the package {module.partition(".")[0]!r}: pip install "minuend[{extra}]"'
        ) from None


def quoted(names: Iterable[str], *, most: int = 20) -> str:
    """List names for a message, the first ones of very many."""
    all_names = [repr(name) for name in names]
    shown = ", ".join(all_names[:most])
    return shown if len(all_names) <= most else f"{shown} and {len(all_names) - most} more"


# ---- whole or not at all --------------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic(path: str, inputs: Iterable[str] = ()) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path``, which takes that name when the block ends well.

    On any error, Ctrl-C included, the temporary file is removed and what stood at ``path`` is untouched. A symbolic
    link stays one; its target is replaced.

    Raises:
        MinuendError: ``path`` is one of ``inputs``, by whatever name. OSError: it cannot be written there.
    """
    refuse_input(path, inputs)
    goal = os.path.realpath(path)
    folder, name = os.path.split(goal)
    if os.path.isdir(goal):
        raise IsADirectoryError(f"{path} is a folder; expected a file name to write to")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {os.path.dirname(path) or folder} to write {name} to")
    part = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as stream:
            yield stream
        announce(part, path)
        os.replace(part, goal)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


def refuse_input(path: str, inputs: Iterable[str]) -> None:
    """Check that a path to write to is no input: not by name, symbolic link or hard link."""
    for source in inputs:
        if os.path.exists(path) and os.path.samefile(path, source):
            also = "" if path == source else f" (the same file as {source})"
            raise MinuendError(f"the output {path} is also an input{also}; nothing is overwritten, name another output")
