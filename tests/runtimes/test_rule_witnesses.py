"""Witnesses that a rule tells: openvino gives what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("openvino")
pytest.importorskip("ml_dtypes")

import ml_dtypes
import onnx
import openvino
from instruction_sets import needs_avx512

from minuend import check

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g'
F32 = {"INFERENCE_PRECISION_HINT": "f32"}


def gives(model: onnx.ModelProto, *given: Any) -> Any:
    core = openvino.Core()
    return core.compile_model(core.read_model(model.SerializeToString()), "CPU", F32)(list(given))[0]


@pytest.mark.parametrize("inner", ["Sub(y, k)", "Sub(k, y)", "Add(y, k)", "Add(k, y)"])
@pytest.mark.parametrize("constant", ["float k = {1.7}", "float[2] k = {1.7, 1.7}"])
def test_less_a_sum_that_is_zero(inner: str, constant: str) -> None:
    text = f"{HEAD} (float[2] x, float[2] y) => (float[2] z) <{constant}> {{ t = {inner} z = Sub(x, t) }}"
    witness = check(text, "openvino-cpu", hint="f32").findings[-1].witness
    assert witness is not None
    assert (str(witness.got), str(witness.expected)) == ("0.0", "-0.0")
    x, *others = witness.operands
    y = others["(k" in inner]
    assert str(gives(onnx.parser.parse_model(text), *(np.full(2, one, np.float32) for one in (x, y)))[0]) == "0.0"


@pytest.mark.parametrize("body", ["d = Sub(c, x) z = Mul(d, k)", "d = Sub(x, c) z = Mul(k, d)"])
def test_a_mask_of_zeros_and_ones_less_one_times_a_number_below_0(body: str) -> None:
    text = f"{HEAD} (bool[2] m) => (float[2] z) <float c = {{1}}, float k = {{-1.7}}> {{ x = Cast<to=1>(m) {body} }}"
    (finding,) = check(text, "openvino-cpu", hint="f32").findings
    assert finding.witness is not None
    assert finding.severity == "sign-of-zero"
    assert (str(finding.witness.got), str(finding.witness.expected)) == ("0.0", "-0.0")
    assert sorted(finding.witness.operands) == [-1.7, 1.0, 1.0]
    assert [str(one) for one in gives(onnx.parser.parse_model(text), np.array([True, True]))] == ["0.0", "0.0"]


@needs_avx512
@pytest.mark.parametrize("reduced", ["ReduceMax<axes=[2]>(x)", "ReduceMean<axes=[2]>(x)", "GlobalAveragePool(x)"])
@pytest.mark.parametrize("subtraction", ["Sub(r, k)", "Sub(k, r)"])
def test_what_was_reduced_less_a_constant_is_cut_off(reduced: str, subtraction: str) -> None:
    bfloat16 = ml_dtypes.bfloat16
    body = f"(bfloat16[2,3,4] x, bfloat16[1] k) => (bfloat16[2,3,1] z) {{ r = {reduced} z = {subtraction} }}"
    model = onnx.parser.parse_model(f"{HEAD} {body}".replace("13", "22" if "Pool" in reduced else "13"))
    stored = np.array([0.0015], bfloat16).tobytes()
    model.graph.initializer.append(onnx.helper.make_tensor("k", onnx.TensorProto.BFLOAT16, [1], stored, raw=True))
    del model.graph.input[1:]
    (finding,) = check(model, "openvino-cpu", hint="f32").findings
    assert finding.witness is not None
    assert abs(finding.witness.expected) == 1
    x = openvino.Tensor(np.full((2, 3, 4), 1, bfloat16).view(np.uint16), [2, 3, 4], openvino.Type.bf16)
    got = np.asarray(gives(model, x)).view(np.uint16).view(bfloat16).astype(np.float64)
    assert set(got.ravel()) == {float(bfloat16(finding.witness.got))}


@pytest.mark.parametrize("subtraction", ["Sub(r, k)", "Sub(k, r)"])
@pytest.mark.parametrize("pooled", ["GlobalAveragePool(x)", "AveragePool<kernel_shape=[2,2], strides=[2,2]>(x)"])
def test_an_average_of_float16_less_a_constant_is_shown_with_a_row_of_numbers(pooled: str, subtraction: str) -> None:
    many = "8,8" if pooled.startswith("Average") else "1,1"
    body = (
        f"(float16[1,8,16,16] x) => (float16[1,8,{many}] z) <float16[1] k = {{1}}> {{ r = {pooled} z = {subtraction} }}"
    )
    model = onnx.parser.parse_model(f"{HEAD} {body}".replace("13", "22"))
    (finding,) = check(model, "openvino-cpu", hint="f32").findings
    assert finding.witness is not None
    *row, constant = finding.witness.operands if subtraction == "Sub(r, k)" else finding.witness.operands[::-1]
    row = row if subtraction == "Sub(r, k)" else row[::-1]
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array([constant], np.float16), "k"))
    got = gives(model, np.broadcast_to(np.array(row, np.float16), (1, 8, 16, 16)))
    assert np.float16(finding.witness.got) in got
    assert finding.witness.got != finding.witness.expected


REDUCED = ["ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMin"]


@needs_avx512
@pytest.mark.parametrize("number", [0.0015, -3.0, 2.5, 40.0])
@pytest.mark.parametrize("subtraction", ["Sub(r, k)", "Sub(k, r)"])
@pytest.mark.parametrize("reduced", REDUCED)
def test_what_is_cut_off_is_shown_with_the_constant_of_the_model(reduced: str, subtraction: str, number: float) -> None:
    bfloat16 = ml_dtypes.bfloat16
    operator = f"{reduced}(x, axes)"
    body = f"(bfloat16[2,3,4] x) => (bfloat16[2,3,1] z) <int64[1] axes = {{2}}> {{ r = {operator} z = {subtraction} }}"
    model = onnx.parser.parse_model(f"{HEAD} {body}".replace("13", "18"))  # before, openvino reads no axes of ReduceL1
    stored = np.array([number], bfloat16).tobytes()
    model.graph.initializer.append(onnx.helper.make_tensor("k", onnx.TensorProto.BFLOAT16, [1], stored, raw=True))
    (finding,) = check(model, "openvino-cpu", hint="f32").findings
    witness = finding.witness
    if witness is None:
        assert number < 0
        assert reduced in ("ReduceL1", "ReduceL2", "ReduceSumSquare")
        return
    large, constant = witness.operands if subtraction == "Sub(r, k)" else witness.operands[::-1]
    assert bfloat16(constant) == bfloat16(number)
    neutral = {"ReduceProd": 1.0, "ReduceMin": large}.get(reduced, 0.0)
    row = np.array([large**0.5 if reduced == "ReduceSumSquare" else large, *[neutral] * 3], bfloat16)
    x = openvino.Tensor(
        np.ascontiguousarray(np.broadcast_to(row, (2, 3, 4))).view(np.uint16), [2, 3, 4], openvino.Type.bf16
    )
    got = np.asarray(gives(model, x)).view(np.uint16).view(bfloat16).astype(np.float64)
    assert set(got.ravel()) == {float(bfloat16(witness.got))}
    assert bfloat16(witness.got) != bfloat16(witness.expected)


@pytest.mark.parametrize("subtraction", ["Sub(r, k)", "Sub(k, r)"])
@pytest.mark.parametrize("reduced", ["ReduceMax", "ReduceMean", "ReduceSum", "ReduceL2", "ReduceProd"])
@pytest.mark.parametrize("axis", [0, 2])
def test_a_constant_along_another_axis_is_shown_with_its_numbers(reduced: str, subtraction: str, axis: int) -> None:
    dims = "1,4,5" if axis == 0 else "3,4,1"
    operator = f"{reduced}(x, axes)" if reduced == "ReduceSum" else f"{reduced}<axes=[{axis}]>(x)"
    stored = f"float[4,1] k = {{1.5, 1.5, 3.25, 4}}, int64[1] axes = {{{axis}}}"
    body = f"(float[3,4,5] x) => (float[{dims}] z) <{stored}> {{ r = {operator} z = {subtraction} }}"
    model = onnx.parser.parse_model(f"{HEAD} {body}")
    (finding,) = check(model, "openvino-cpu", hint="f32").findings
    assert finding.witness is not None
    number, constant = finding.witness.operands if subtraction == "Sub(r, k)" else finding.witness.operands[::-1]
    assert (number, constant) == (0.0, 3.25)
    got = gives(model, np.zeros((3, 4, 5), np.float32))
    assert got[0, 2, 0] == finding.witness.got == (-1.5 if subtraction == "Sub(r, k)" else 1.5)
    assert abs(finding.witness.expected) == 3.25
