"""Test vectors beside the onnx package: each model is valid, and each answer is NumPy's and ONNX's evaluator's.

What the vectors promise to cover is looked for with NumPy: every type of the version, differences that wrap, NaN,
infinities, signed zero, subnormal numbers, empty tensors, rank 0, and the shapes that the version joins.
"""

from __future__ import annotations

import contextlib
import functools
import io
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from differential.subtracting import Array, same, same_elements, weighted
from differential.surface import Difference, Surface

NEWEST = onnx.defs.onnx_opset_version()
NUMPYS = 7
"""The first opset in which both operands may be repeated."""
WRONG = ("", "0", "-1", str(NEWEST + 1), "six", "7,", "7.0")
"""What is no list of opsets."""


@dataclass(frozen=True)
class Case:
    """The opsets of some vectors.

    Attributes:
        wrong: a text in place of the opsets. there: whether the folder is there before.
    """

    seed: int = 0
    opsets: tuple[int, ...] = (14,)
    command: bool = False
    wrong: str = ""
    there: bool = False


def draw(source: random.Random) -> Case:
    """Draw a case."""
    return Case(
        seed=source.randrange(1 << 16),
        opsets=tuple(source.sample(range(1, NEWEST + 1), weighted(source, {1: 5, 2: 1}))),
        command=source.random() < 0.3,
        wrong=weighted(source, {"": 20, source.choice(WRONG[1:]): 1}),
        there=source.random() < 0.04,
    )


@dataclass(frozen=True)
class Test:
    """A test as onnx reads it."""

    name: str
    model: ModelProto
    a: Array
    b: Array
    answer: Array

    @property
    def opset(self) -> int:
        """The opset that the model imports."""
        (row,) = self.model.opset_import
        return int(row.version)

    @property
    def stated(self) -> dict[str, int]:
        """What its node states."""
        (node,) = self.model.graph.node
        return {a.name: a.i for a in node.attribute}


def tests(folder: Path) -> Iterator[Test]:
    """Read the tests of a folder, whose names are those of its folders."""
    for home in sorted(folder.iterdir()):
        files = sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
        data = [f"test_data_set_0/{name}.pb" for name in ("input_0", "input_1", "output_0")]
        same(f"files of {home.name}", files, ["model.onnx", *data])
        model = onnx.load(home / "model.onnx")
        arrays = [numpy_helper.to_array(onnx.load_tensor(home / name)) for name in data]
        yield Test(home.name, model, *arrays)


# ---- comparing ----------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Write vectors, and check each of them."""
    out = folder / "vectors"
    if case.there:
        out.mkdir()
    came = _ours(case, out)
    if case.there or case.wrong:
        same("whether they are written", came is not None, False)
        same("what is left", [str(path) for path in folder.rglob("*")], [str(out)] if case.there else [])
        return "refused"
    if came is None:
        raise Difference(f"ours refuses the opsets {case.opsets}")
    read = list(tests(out / "sub"))
    same("names", sorted(came), [one.name for one in read])
    same("opsets", sorted({one.opset for one in read}), sorted(case.opsets))
    for i, one in enumerate(read):
        _valid(one)
        same_elements(one.name, one.answer, _answer(one))
        if one.opset >= NUMPYS and (i + case.seed) % 10 == 0:
            same_elements(one.name, one.answer, _evaluated(one))
    for opset in case.opsets:
        _covered(opset, [one for one in read if one.opset == opset])
    return "equal"


def _ours(case: Case, out: Path) -> list[str] | None:
    """The names of the tests that are written; ``None`` where there are none."""
    from minuend.cli import main
    from minuend.errors import MinuendError
    from minuend.onnx.vectors import write

    if not case.command and not case.wrong:
        try:
            return write(str(out), case.opsets)
        except MinuendError:
            return None
    reported, messages = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(reported), contextlib.redirect_stderr(messages):
        words = case.wrong or ",".join(map(str, case.opsets))
        status = main(["vectors", f"--opset={words}", "-o", str(out)])
    if status not in (0, 2):
        raise Difference(f"minuend vectors --opset={words}: status {status}, {messages.getvalue()[:300]}")
    return None if status else sorted(path.name for path in (out / "sub").iterdir())


def _valid(one: Test) -> None:
    """Check a model by ONNX's checker, and what it states of its values by their files."""
    try:
        onnx.checker.check_model(one.model, full_check="axis" not in one.stated)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise Difference(f"{one.name}: {error}") from None
    graph = one.model.graph
    for value, array in zip((*graph.input, *graph.output), (one.a, one.b, one.answer), strict=True):
        stated = value.type.tensor_type
        same(f"{one.name}: {value.name}", [dim.dim_value for dim in stated.shape.dim], list(array.shape))
        same(f"{one.name}: {value.name}", helper.tensor_dtype_to_np_dtype(stated.elem_type), array.dtype)


def _answer(one: Test) -> Array:
    """NumPy's difference; below opset 7 B stands where the axis says."""
    a, b = one.a, one.b
    if one.opset < NUMPYS:
        if not one.stated.get("broadcast"):
            same(f"{one.name}: shapes without broadcast", a.shape, b.shape)
        elif b.size != 1:
            b = b.reshape(b.shape + (1,) * (a.ndim - b.ndim - one.stated.get("axis", a.ndim - b.ndim)))
    with np.errstate(all="ignore"):
        return np.asarray(a - b)


def _evaluated(one: Test) -> Array:
    from onnx.reference import ReferenceEvaluator

    with np.errstate(all="ignore"):
        found: Any = ReferenceEvaluator(one.model).run(None, {"A": one.a, "B": one.b})
        return np.asarray(found[0])


def _covered(opset: int, read: list[Test]) -> None:
    """Check that the tests of an opset hold what vectors promise."""
    schema = onnx.defs.get_schema("Sub", opset, "")
    texts = {f"tensor({onnx.TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(one.a.dtype)).lower()})": one
             for one in read}  # fmt: skip
    same("types", sorted(texts), sorted(schema.type_constraints[0].allowed_type_strs))
    for one in texts.values():
        own = [each for each in read if each.a.dtype == one.a.dtype]
        lacked = [what for what, holds in _promised(opset, one.a.dtype).items() if not any(map(holds, own))]
        same(f"what no test of opset {opset} and {one.a.dtype} holds", lacked, [])


def _promised(opset: int, dtype: Any) -> dict[str, Any]:
    """What a test of a type has to hold, in words and as a question to a test."""
    found: dict[str, Any] = {
        "an empty tensor": lambda one: one.answer.size == 0,
        "rank 0": lambda one: one.answer.ndim == 0,
        "other shapes": lambda one: one.a.shape != one.b.shape,
    }
    if opset < NUMPYS:
        found["an axis"] = lambda one: one.stated.get("axis") not in (None, one.a.ndim - one.b.ndim)
    else:
        found["both repeated"] = lambda one: one.answer.shape not in (one.a.shape, one.b.shape)
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        found["a difference that wraps"] = _wraps
        for x, y in ((low, low), (low, high), (high, low), (high, high)):
            found[f"{x} less {y}"] = functools.partial(_pair, holds=lambda a, b, x=x, y=y: (a == x) & (b == y))
        return found
    tiny = float(_finfo(dtype).smallest_normal)
    found |= {
        "NaN": functools.partial(_pair, holds=lambda a, b: np.isnan(a) ^ np.isnan(b)),
        "an infinity": functools.partial(_pair, holds=lambda a, b: np.isinf(a) & np.isfinite(b)),
        "infinity less infinity": functools.partial(_pair, holds=lambda a, b: np.isinf(a) & (a == b)),
        "-0 less +0": functools.partial(_pair, holds=lambda a, b: (a == 0) & (b == 0) & np.signbit(a) & ~np.signbit(b)),
        "a subnormal difference": functools.partial(
            _pair, holds=lambda a, b: (a != b) & (abs(a.astype(float) - b.astype(float)) < tiny)
        ),
    }
    return found


def _finfo(dtype: Any) -> Any:
    import ml_dtypes

    of: Any = ml_dtypes.finfo
    return of(dtype)


def _pair(one: Test, holds: Any) -> bool:
    """Whether something holds for two elements at one place."""
    with np.errstate(invalid="ignore"):  # a signalling NaN of float16
        return one.a.shape == one.b.shape and bool(holds(one.a, one.b).any())


def _wraps(one: Test) -> bool:
    if one.a.shape != one.b.shape:
        return False
    exact = one.a.astype(object) - one.b.astype(object)
    return bool((exact != one.answer.astype(object)).any())


SURFACES = (Surface("vectors", "test vectors for runtimes", ("onnx", "numpy"), draw, compare, Case),)
