"""Run a model on files: inputs from tensor files, outputs into a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

import numpy as np

from minuend.child import Limits
from minuend.core import elements
from minuend.core.shapes import format_shape
from minuend.errors import SpecError, Unsupported, listed
from minuend.files import Result, check_output, file_format, open_tensors, split
from minuend.files.base import quoted
from minuend.files.formats.plain_types import plain_type
from minuend.files.nodata import missing
from minuend.files.scale_offset import meaning
from minuend.files.streaming.reading import Array
from minuend.files.transaction.remote import check_unchanged, watched
from minuend.files.transaction.writing import together
from minuend.models.opening import FORMATS, open_model

SUFFIXES = (".npy", ".pb")
"""Formats that outputs are written in: the first that holds the element type."""

_LONGEST = 200  # characters of an output's name that its file is called by; a file's name has 255 bytes


@dataclass(frozen=True, slots=True)
class Output:
    """An output that was written: its name in the model, its type in words, and its file."""

    name: str
    element: str
    shape: tuple[int, ...]
    path: str


@dataclass(frozen=True)
class Ran:
    """What a run did.

    Attributes:
        model: the model's path. outputs: what was written. printed: what the model itself printed.
        notes: what a reader of the outputs should know of the inputs.
    """

    model: str
    outputs: list[Output]
    printed: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def run_files(
    model: str,
    inputs: Sequence[str],
    folder: str,
    *,
    max_bytes: int | None,
    evaluator: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Ran:
    """Run a model and write its outputs to a folder, a file each.

    Args:
        model: the model's path.
        inputs: ``NAME=FILE`` each, where a file is one of tensors and may select one by ``file::tensor``.
        folder: where outputs are written, and files that the model itself writes; made if it is not there.
        max_bytes: the size of the largest result that may be made; ``None`` for no limit.
        evaluator: what computes the operators other than subtraction, where a dialect has several that can.
        limits: what running the model may take.

    Raises:
        SpecError: an input without a name, twice, or of several tensors; no such evaluator. Others: see
            :func:`minuend.models.opening.run`.
    """
    arrays, files, notes = read_inputs(inputs)
    opened = open_model(model)
    sources = (model, *opened.sources(), *files)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise NotADirectoryError(f"{folder} is a file; expected a folder to write outputs to")
    chosen = {} if evaluator is None else {"evaluator": evaluator}
    if chosen and not hasattr(opened, "EVALUATORS"):
        kind = FORMATS.required(opened.dialect).MODELS
        raise SpecError("evaluator", f"--evaluator chooses what computes ONNX's other operators; {kind} have none")
    with limits.applied():
        done = opened.execute(arrays, output_dir=folder, max_bytes=max_bytes, **chosen)
    writers = done.writers()
    named = {name: _results(name, value) for name, value in done.outputs.items()}
    paths = _output_paths(folder, named)
    for name, result in named.items():
        check_output(paths[name], [result])
    outputs: list[Callable[[BinaryIO], None]]
    outputs = [partial(_write, paths[name], result) for name, result in named.items()]
    with together([*paths.values(), *writers], sources, folders=True) as streams:
        for write, stream in zip([*outputs, *writers.values()], streams, strict=True):
            write(stream)
    os.makedirs(folder, exist_ok=True)  # where a model has no outputs
    written = [Output(name, str(r.element), r.shape, paths[name]) for name, r in named.items()]
    return Ran(model, written, list(done.printed), notes)


def read_inputs(inputs: Sequence[str]) -> tuple[dict[str, Array], list[str], tuple[str, ...]]:
    """Read inputs, ``NAME=FILE`` each; return the arrays by name, the files, and what to know of elements without data.

    Raises:
        SpecError: an input without a name, twice, or of several tensors. Others: see
            :func:`minuend.files.open_tensors`.
    """
    files = _read_names(inputs)
    found = {name: _read(name, path) for name, path in files.items()}
    arrays = {name: array for name, (array, _) in found.items()}
    return arrays, [split(path)[0] for path in files.values()], tuple(note for _, note in found.values() if note)


def _write(path: str, result: Result, stream: BinaryIO) -> None:
    file_format(path).write(stream, [result])


def _read_names(inputs: Sequence[str]) -> dict[str, str]:
    files: dict[str, str] = {}
    for text in inputs:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise SpecError("inputs", f"--input {text!r} names no input; expected NAME=FILE")
        if name in files:
            raise SpecError("inputs", f"--input gives {name!r} twice; give it once")
        files[name] = path
    return files


@watched()
def _read(name: str, path: str) -> tuple[Array, str]:
    """Read an input; return it, and what to know of its elements without data, or ``""``."""
    found = open_tensors(path, every_type=True)  # a model's inputs can be of other types than subtraction's: bool
    if len(found) != 1:
        raise SpecError(
            "inputs", f"input {name!r}: {path} holds {len(found)} tensors ({quoted(found)}); select one by file::name"
        )
    tensor = next(iter(found.values()))
    if (tensor.about.scale, tensor.about.offset) != (1, 0):
        raise SpecError(
            "inputs",
            f"input {name!r}: {path} means {meaning(tensor.about)}, and a model would get what is stored; unpack it "
            "first, or save what is stored as .npy",
        )
    array = tensor.read()
    check_unchanged()
    return array, _without_data(name, path, array, tensor.about.nodata)


def _without_data(name: str, path: str, array: Array, nodata: int | float | None) -> str:
    without = missing(array, nodata)
    if without is None:
        return ""
    return (
        f"input {name!r}: {int(np.count_nonzero(without)):,} of {array.size:,} elements of {path} are the nodata value "
        f"{nodata}; to the model they are numbers like others"
    )


def _results(name: str, value: object) -> Result:
    """An output as something that can be written."""
    if not isinstance(value, np.ndarray):
        raise _unwritable(name, f"is a {type(value).__name__}, which no tensor file holds")
    row = elements.of_numpy(value.dtype) or plain_type(value.dtype)
    if row is None:
        raise _unwritable(name, f"is of {value.dtype.name}, which is no type of subtraction and is not written")
    return Result.of(name, row, value)


def _unwritable(name: str, message: str) -> Unsupported:
    return Unsupported(f"output {name!r} {message}; run it from Python")


def _output_paths(folder: str, results: Mapping[str, Result]) -> dict[str, str]:
    """The file of each output: its name where that is a plain one, without what could lead out of the folder."""
    paths: dict[str, str] = {}
    for name, result in results.items():
        stem = re.sub(r"[^A-Za-z0-9_.+-]", "_", name).lstrip(".")[:_LONGEST] or "output"
        suffix = next((s for s in SUFFIXES if _holds(s, result)), None)
        if suffix is None:
            raise _unwritable(name, f"is of {result.element}, which neither of {listed(SUFFIXES, 'and')} holds")
        path = os.path.join(folder, stem + suffix)
        number = 1
        while path in paths.values():
            path = os.path.join(folder, f"{stem}_{number}{suffix}")
            number += 1
        paths[name] = path
    return paths


def _holds(suffix: str, result: Result) -> bool:
    try:
        check_output(f"x{suffix}", [result])
    except (TypeError, ValueError, Unsupported):
        return False
    return True


def described(output: Output) -> str:
    return f"{output.name}: {output.element} {format_shape(output.shape)} → {output.path}"
