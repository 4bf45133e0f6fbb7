"""Across modules: ranges of an IR's operands where a comparison decides; the runtime gives nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.models.occurrences import occurrences
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.sections import Ref, Type
from minuend.runtimes.running import Refused, Runtime

BOOLS, INTS = Type("boolean", (64,)), Type("i64", (64,))


def model(broadcast: str = "numpy", flip: bool = False) -> tuple[Any, Builder]:
    """``(x < 0 ? x + 9 : x) - 1`` of an x from -9 to 8, or its branches the other way round."""
    builder = Builder("m")
    x = builder.clamp("x", builder.parameter("given", "i64", (64,)), -9, 8)
    zero, nine, one = (builder.constant(name, np.int64([n])) for name, n in (("zero", 0), ("nine", 9), ("one", 1)))
    moved = Ref(builder.layer("Add", "moved", [x, nine], {"auto_broadcast": "numpy"}, outputs=[INTS]), 0)
    kind, given = ("LessEqual", [zero, x]) if flip else ("Less", [x, zero])
    below = Ref(builder.layer(kind, "below", given, {"auto_broadcast": broadcast}, outputs=[BOOLS]), 0)
    branches = [x, moved] if flip else [moved, x]
    chosen = Ref(builder.layer("Select", "chosen", [below, *branches], {"auto_broadcast": "numpy"}, outputs=[INTS]), 0)
    builder.result(builder.subtract("d", chosen, one), "y")
    builder.result(chosen, "chosen/result")
    (occurrence,) = occurrences(builder.model)
    return occurrence.a, builder


@pytest.mark.parametrize("flip", [False, True])
def test_a_select_knows_its_comparison(flip: bool) -> None:
    found, _ = model(flip=flip)
    assert (found.lo, found.hi) == (0, 8)


def test_a_comparison_that_broadcasts_otherwise_says_nothing():
    found, _ = model("pdpd")
    assert (found.lo, found.hi) == (-9, 17)


@pytest.mark.parametrize("flip", [False, True])
def test_the_runtime_gives_nothing_else(flip: bool) -> None:
    pytest.importorskip("openvino")
    found, builder = model(flip=flip)
    given = np.arange(-32, 32, dtype=np.int64)
    with Runtime("openvino-cpu") as runtime:
        answer = runtime.query("ir", *builder.model.to_bytes(), [("given", TYPES["int64"], given.view(np.uint64))])
    assert not isinstance(answer, Refused)
    chosen = answer[1].codes.view(np.int64)
    assert (int(chosen.min()), int(chosen.max())) == (found.lo, found.hi)


@pytest.mark.parametrize(
    ("opset", "indices", "least"),
    [("opset8", (0, 2), 10), ("opset8", (-3, 2), 10), ("opset8", (0, 3), 0), ("opset8", (-4, 0), 0),
     ("opset7", (0, 2), 10), ("opset7", (-1, 2), 0)],
)  # fmt: skip
def test_what_a_gather_finds_outside_its_table_is_0(opset: str, indices: tuple[int, int], least: int) -> None:
    builder = Builder("m")
    table = builder.clamp("table", builder.parameter("x", "u8", (3,)), 10, 20)
    given = builder.clamp("i", builder.parameter("given", "i32", (4,)), *indices)
    axis = builder.constant("axis", np.int64([0]))
    outputs = [Type("u8", (4,))]
    taken = Ref(builder.layer("Gather", "taken", [table, given, axis], opset=opset, outputs=outputs), 0)
    builder.result(builder.subtract("d", taken, builder.constant("ten", np.uint8([10]))), "y")
    (occurrence,) = occurrences(builder.model)
    assert (occurrence.a.lo, occurrence.a.hi) == (least, 20)
    if opset == "opset8":
        data, weights = builder.model.to_bytes()
        numbers = np.array([10, 20, 15], np.uint8), np.array([*indices, 0, 0], np.int32)
        feeds = [(name, TYPES[one.dtype.name], one) for name, one in zip(("x", "given"), numbers, strict=True)]
        with Runtime("openvino-cpu") as runtime:
            answer = runtime.query("ir", data, weights, feeds)
        assert not isinstance(answer, Refused)
        padded = {i: int(numbers[0][i]) if -3 <= i < 3 else 0 for i in numbers[1].tolist()}
        assert [max(padded[i] - 10, 0) for i in numbers[1].tolist()] == answer[0].codes.tolist()


@pytest.mark.parametrize("kind", ["BatchNormInference", "FakeQuantize", "Gather", "If", "OneHot"])
def test_layers_without_inputs_or_attributes_that_they_need_are_no_defect(kind: str) -> None:
    """The runtime refuses such a model; a subtraction in it is looked at all the same."""
    builder = Builder("m")
    x = builder.parameter("x", "f32", (2,))
    odd = Ref(builder.layer(kind, "odd", [x], opset="opset1", outputs=[Type("f32", (2,))]), 0)
    builder.result(builder.subtract("d", odd, x), "y")
    (occurrence,) = occurrences(builder.model)
    assert occurrence.name == "d"
