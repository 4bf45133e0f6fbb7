"""Files of tensors by their suffixes: opened and written by the format that a suffix tells."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from minuend.errors import FileFormatError, listed
from minuend.files import addresses
from minuend.files.addresses import URL
from minuend.files.base import NO_TEXT, ChunkedFormat, Format, Result, TensorFile, check_shape, clipped, quoted
from minuend.files.losses import losses
from minuend.files.transaction import remote, remote_output
from minuend.files.transaction.output_paths import refuse_inputs
from minuend.files.transaction.writing import atomic, new_folder, within_folder
from minuend.standards.abilities import Ability

TENSOR_FILES = Ability[Format]("tensor_files")
CONSTANT_FILES = Ability[Format]("constant_files")

_OWN = {
    ".npy": "npy",
    ".npz": "npz",
    ".safetensors": "safetensors",
    ".zarr": "zarr",
    ".zarr.zip": "zarr_zip",
    ".zip": "zarr_zip",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".png": "png",
    ".h5": "hdf5_files",
    ".hdf5": "hdf5_files",
    ".nc": "netcdf",
    ".nc4": "netcdf",
}
"""The module of each suffix, imported when a file of it is met."""

_INDEX = ".safetensors.index.json"
"""What the index of a sharded checkpoint ends in; its folder names it too."""

SELECTOR = "::"
"""What stands between a path and the name of one tensor in it."""


def open_tensors(path: str, *, every_type: bool = False) -> TensorFile:
    """Open a file of tensors: ``.npy``, ``.npz``, ``.safetensors``, a TensorProto in ``.pb``; the constants of a model.

    Headers are checked, elements stay in the file until a tensor's ``read`` is called.

    A folder without such a suffix is a sharded checkpoint, as its ``.safetensors.index.json`` is.

    Args:
        path: a path, or ``path::name`` for one tensor of a file that holds several. A file whose own name holds
            ``::`` is taken as that file.
        every_type: whether tensors may be of types that subtraction lacks: bool, complex numbers, text.

    Returns:
        The file's tensors by name, see :class:`~minuend.files.base.TensorFile`. A selected tensor comes as a file
        of one (``named`` is false).

    Raises:
        FileNotFoundError: no such file. FileFormatError: an unknown suffix, or a file that is not what its suffix
            says. DTypeError: a tensor of an element type that is not taken; raised when it is looked at.
            Unsupported: the format needs a package that is not installed.
    """
    real, name = split(path)
    if name is not None and URL in name:
        raise FileFormatError(f"{path} is an address in another one, which is not taken; name the file itself")
    if URL not in real and not os.path.exists(real):
        raise FileNotFoundError(f"there is no file {real}")
    found = _input_format(real).open_file(real, every_type=every_type)
    if name is None:
        return found
    if not found.named:
        raise FileFormatError(f"{real} holds one tensor without a choice; leave out {SELECTOR + name!r}")
    if name not in found and name.startswith("/"):  # as netCDF and HDF5 write a path
        name = name.lstrip("/")
    if name not in found:
        raise FileFormatError(f"{real} holds no tensor {name!r}; expected one of {quoted(found) or 'none'}")
    return TensorFile(real, False, {name: lambda: found[name]}, found.metadata, found.sources)


def split(path: str) -> tuple[str, str | None]:
    """Split ``path::name``; the name is ``None`` where none is given."""
    path = addresses.as_local(path)
    host, end, rest = path.partition("]") if URL + "[" in path else ("", "", path)  # http://[::1]:80/x.npy
    real, selector, name = rest.partition(SELECTOR)
    return (path, None) if not selector or os.path.exists(path) else (host + end + real, name)


@functools.cache
def file_formats() -> Mapping[str, Callable[[], Format]]:
    """Return what finds the module of each suffix that is read and written: this folder's, and what dialects define."""

    def own(name: str) -> Callable[[], Format]:
        return lambda: cast(Format, importlib.import_module(f"minuend.files.formats.{name}"))

    return MappingProxyType({suffix: own(name) for suffix, name in _OWN.items()} | _of_dialects(TENSOR_FILES))


@functools.cache
def models() -> Mapping[str, Callable[[], Format]]:
    """Return what finds the module of each suffix of models, whose constants are read as tensors and not written."""
    return MappingProxyType(_of_dialects(CONSTANT_FILES))


def _of_dialects(files: Ability[Format]) -> dict[str, Callable[[], Format]]:
    found: dict[str, Callable[[], Format]] = {}
    for home, module in files.every():
        found |= dict.fromkeys(module.SUFFIXES, functools.partial(files.required, home))
    return found


def file_format(path: str) -> Format:
    """Return the module that writes files of a path's suffix.

    Raises:
        FileFormatError: none does.
    """
    if _suffix(path, models()):
        message = f"{path} is called as a model is, whose constants are read and not written"
        raise FileFormatError(f"{message}; write to {listed(file_formats())}")
    return _module(path, file_formats())


def _input_format(path: str) -> Format:
    """Return the module that reads what a path's suffix tells, or a folder without one."""
    known = {**file_formats(), **models()}
    if URL in path and (found := _suffix(path, models())):
        raise FileFormatError(f"{path} is a model ({found}), which is read from a file of this machine; copy it here")
    return _shards() if os.path.isdir(path) and _suffix(path, known) is None else _module(path, known)


def _output_format(path: str, results: Sequence[Result]) -> Format:
    """Return the module that writes results to a path; without a suffix it is a folder for shards, if A has such."""
    if _suffix(path, file_formats()) is None and any(result.about.shard for result in results):
        return _shards()
    return file_format(path)


def chunked_format(path: str) -> ChunkedFormat | None:
    """Return the module that writes files of a path's suffix chunk by chunk, in any order; ``None``: it does not."""
    found = _suffix(path, file_formats())
    home = None if found is None else file_formats()[found]()
    return cast(ChunkedFormat, home) if hasattr(home, "ChunkedOutput") else None


def _module(path: str, known: Mapping[str, Callable[[], Format]]) -> Format:
    if path.endswith(_INDEX):
        return _shards()
    found = _suffix(path, known)
    if found is None:
        suffix = os.path.splitext(path)[1].lower()
        came = f"the suffix {suffix!r}" if suffix else "no suffix"
        raise FileFormatError(f"{path} has {came}, which names no format; expected {listed(known)}")
    return known[found]()


def _suffix(path: str, known: Iterable[str]) -> str | None:
    """Return the longest suffix that a path ends in."""
    name = addresses.name_of(path).lower()
    return max((one for one in known if name.endswith(one) and name != one), key=len, default=None)


def _shards() -> Format:
    return cast(Format, importlib.import_module("minuend.files.formats.shards"))


def check_output(path: str, results: Sequence[Result], inputs: Iterable[str] = ()) -> None:
    """Check that results can be written to a path, before anything is computed.

    Raises:
        FileFormatError: an unknown suffix, or several tensors for a format of one. DTypeError: an element type that the
            format cannot hold. MinuendError: the path is one of ``inputs``.
    """
    home = _output_format(path, results)
    if URL in path:
        if getattr(home, "FOLDER", False) and not hasattr(home, "ChunkedOutput"):
            raise FileFormatError(f"{path} would be a folder of shards, which goes to this machine; name a file")
        remote_output.check_address(path)
    refuse_inputs([path], inputs)
    check_names(path, results)
    if not home.NAMED and len(results) != 1:
        many = [suffix for suffix, module in file_formats().items() if module().NAMED]
        raise FileFormatError(
            f"{path} holds one tensor and there are {len(results)} ({quoted(r.name for r in results)}); "
            f"write to {listed(many)}, or select one by file{SELECTOR}name"
        )
    for result in results:
        check_shape(result.shape, result.element.itemsize, f"the tensor {clipped(result.name)}, which goes to {path},")
    home.check(path, results)


def notes_of(
    path: str, results: Sequence[Result], nodata: int | float | None = None, metadata: Mapping[str, str] = NO_TEXT
) -> tuple[str, ...]:
    """Return what a report says of the file that results are written to.

    Args:
        path, results, metadata: as for :func:`write_tensors`. nodata: the value that its user has stated.
    """
    home = _output_format(path, results)
    found: tuple[str, ...] = home.notes(path, results) if hasattr(home, "notes") else ()
    return (*found, *losses(path, results, home, nodata, metadata))


def check_names(path: str, results: Sequence[Result]) -> None:
    """Check that the tensors of a file have names that differ, and that are text."""
    seen: set[str] = set()
    for result in results:
        try:
            result.name.encode()
        except UnicodeEncodeError:
            raise FileFormatError(
                f"{path}: the name {clipped(result.name)} is no text that UTF-8 holds; rename the tensor"
            ) from None
        if result.name in seen:
            raise FileFormatError(f"{path}: two tensors are called {clipped(result.name)}; give them names that differ")
        seen.add(result.name)


def write_tensors(
    path: str, results: Sequence[Result], inputs: Iterable[str] = (), *, metadata: Mapping[str, str] = NO_TEXT
) -> None:
    """Write tensors to a file or folder that appears whole or not at all.

    Args:
        path: the output. results: the tensors. inputs: files that it may not be; see :func:`check_output` for what else
            is refused.
        metadata: free text, written where the format has a place for it.
    """
    inputs = tuple(inputs)
    check_output(path, results, inputs)
    home = _output_format(path, results)
    if URL in path:
        with remote_output.output_at(path) as local:
            write_tensors(local, results, metadata=metadata)
    elif getattr(home, "FOLDER", False):
        with new_folder(path) as folder:
            home.write_path(folder, results, metadata)
            remote.check_unchanged()
    elif hasattr(home, "write_path"):
        with within_folder(path, inputs) as part:
            home.write_path(part, results, metadata)
            remote.check_unchanged()
    else:
        with atomic(path, inputs) as stream:
            home.write(stream, results, metadata)
            remote.check_unchanged()
