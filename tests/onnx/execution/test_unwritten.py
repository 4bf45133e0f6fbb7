"""Results that onnxruntime leaves as they lie in memory: sums over no elements. They depend on what memory holds."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, parser

pytest.importorskip("onnxruntime")

from minuend.errors import Unsupported
from minuend.onnx.model import read

COLUMNS, ELEMENTS = "of matrices without columns", "of weights without elements"
STEPS = "of a sequence without elements"
SCALE, ZERO = {"s": np.array(1, np.float32)}, {"z": np.array(3, np.uint8)}


def u8(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.uint8)


def f4(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


PRODUCT = "uint8[A,B] x, uint8[C,D] w"
CASES: list[tuple[str, str, dict[str, Any], str, Any]] = [
    (f"({PRODUCT}) => (int32[I,J] y)", "y = MatMulInteger (x, w)", {"x": u8(3, 0), "w": u8(0, 4)}, COLUMNS, 0),
    ("(uint8[Z,A,B] x, uint8[C,D] w) => (int32[Y,I,J] y)", "y = MatMulInteger (x, w)",
     {"x": u8(2, 3, 0), "w": u8(0, 4)}, COLUMNS, 0),
    (f"({PRODUCT}, float s, uint8 z) => (uint8[I,J] y)", "y = QLinearMatMul (x, s, z, w, s, z, s, z)",
     {"x": u8(3, 0), "w": u8(0, 4), **SCALE, **ZERO}, COLUMNS, 3),
    (f"({PRODUCT}, float s) => (float[I,J] y)", "y = com.microsoft.MatMulIntegerToFloat (x, w, s, s)",
     {"x": u8(3, 0), "w": u8(0, 4), **SCALE}, COLUMNS, None),
    ("(float[A,B] x, uint8[C,D] w, float s) => (float[I,J] y)", "y = com.microsoft.DynamicQuantizeMatMul (x, w, s)",
     {"x": f4(3, 0), "w": u8(0, 4), **SCALE}, COLUMNS, None),
    (f"({PRODUCT}, float s, uint8 z) => (float[I,J] y)",
     "y = com.microsoft.QGemm <transA = 1, transB = 1> (x, s, z, w, s, z)",
     {"x": u8(0, 3), "w": u8(4, 0), **SCALE, **ZERO}, COLUMNS, None),
    ("(uint8[A,B,C,D] x, uint8[E,F,G,H] w) => (int32[I,J,K,L] y)", "y = ConvInteger (x, w)",
     {"x": u8(1, 0, 4, 4), "w": u8(2, 0, 3, 3)}, ELEMENTS, None),
    ("(uint8[A,B,C,D] x, uint8[E,F,G,H] w, float s, uint8 z) => (uint8[I,J,K,L] y)",
     "y = QLinearConv (x, s, z, w, s, z, s, z)", {"x": u8(1, 0, 4, 4), "w": u8(2, 0, 3, 3), **SCALE, **ZERO}, ELEMENTS,
     None),
    ("(float[A,B,C] x, float[1,8,3] w, float[1,8,2] r) => (float[K,L,M] y)",
     "a, b, y = LSTM <hidden_size = 2> (x, w, r)", {"x": f4(0, 2, 3), "w": f4(1, 8, 3), "r": f4(1, 8, 2)}, STEPS, None),
]  # fmt: skip
"""What goes in and comes out, the node, its inputs, what onnxruntime does not write, and what the evaluator gives."""
IDS = [node.partition("= ")[2].partition(" ")[0] for _, node, *_ in CASES]


def model(ends: str, node: str) -> ModelProto:
    return parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 21, "com.microsoft" : 1]> g {ends} {{ [here] {node} }}'
    )


RUN = """
import pickle, sys, onnxruntime
options = onnxruntime.SessionOptions()
options.enable_cpu_mem_arena, options.log_severity_level = False, 4
for model, given in pickle.load(sys.stdin.buffer):
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    print(session.run(["y"], given)[0].tobytes().hex())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc fills memory on request")
def test_onnxruntime_leaves_what_memory_holds() -> None:
    cases = pickle.dumps([(model(ends, node).SerializeToString(), given) for ends, node, given, *_ in CASES])
    one, other = (
        subprocess.run([sys.executable, "-c", RUN], input=cases, stdout=subprocess.PIPE, check=True,
                       env={**os.environ, "MALLOC_PERTURB_": byte}).stdout.split()
        for byte in ("85", "170")
    )  # fmt: skip
    assert len(one) == len(other) == len(CASES)
    assert [name for name, x, y in zip(IDS, one, other, strict=True) if x == y] == []


@pytest.mark.parametrize(("ends", "node", "given", "what", "right"), CASES, ids=IDS)
def test_what_nothing_wrote_is_not_a_result(ends: str, node: str, given: Any, what: str, right: Any) -> None:
    with pytest.raises(Unsupported) as caught:
        read(model(ends, node)).run(given)
    assert f": {what} its result is memory that nothing wrote; " in str(caught.value)
    assert str(caught.value).endswith(", at graph.node[0] 'here'")
    if right is not None:
        came = read(model(ends, node)).run(given, evaluator="reference")["y"]
        assert came.size
        assert (came == right).all()


@pytest.mark.parametrize(("ends", "node", "given"), [
    (*CASES[0][:2], {"x": u8(0, 0), "w": u8(0, 4)}), (*CASES[0][:2], {"x": u8(3, 0), "w": u8(0, 0)}),
    (*CASES[0][:2], {"x": u8(3, 2), "w": u8(2, 4)}), (*CASES[1][:2], {"x": u8(0, 3, 0), "w": u8(0, 4)}),
    (*CASES[6][:2], {"x": u8(0, 0, 4, 4), "w": u8(2, 0, 3, 3)}), (*CASES[8][:2], CASES[8][2] | {"x": f4(1, 2, 3)}),
])  # fmt: skip
def test_results_that_are_empty_or_sums_of_elements_are_given(ends: str, node: str, given: Any) -> None:
    assert read(model(ends, node)).run(given)["y"].dtype in (np.int32, np.float32)
