"""Across modules: a witness is a pair that the model can make; two constants are judged on those numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import helper, numpy_helper

from minuend import check, fix, run, subtract
from minuend.core.elements import TYPES as ELEMENTS
from minuend.core.elements import of_numpy
from minuend.judging.derived_witnesses import derived
from minuend.models.occurrences import occurrences
from minuend.onnx.model import read
from minuend.operators import SUBTRACT
from minuend.runtimes import values
from minuend.runtimes.answers import Answer
from minuend.runtimes.finding import Finding
from minuend.runtimes.quirks import quirks
from minuend.runtimes.reasons import FoldingDiffers, OtherPairsDiffer, ResultDiffers, ValuesDiffer
from minuend.runtimes.running import Refused, Runtime
from minuend.runtimes.witness import Witness

OPENVINO, ONNXRUNTIME = "openvino-cpu@2026.4.1", "onnxruntime-cpu@1.32.0"
TYPES = ("float32", "float16", "float64", "int64", "int32", "uint8", "int8")


def subtraction(dtype: str, a: Any, b: Any) -> onnx.ModelProto:
    """Sub of two operands, each stored (an array), an input (``None``), or an input in bounds (a pair)."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs, nodes, stored = [], [], []
    for name, one in (("a", a), ("b", b)):
        if isinstance(one, np.ndarray):
            stored.append(numpy_helper.from_array(one, name))
            continue
        given = name if one is None else f"{name}_"
        inputs.append(helper.make_tensor_value_info(given, kind, [3]))
        if one is not None:
            stored += [numpy_helper.from_array(np.array(k, dtype), f"{name}{i}") for i, k in enumerate(one)]
            nodes.append(helper.make_node("Clip", [given, f"{name}0", f"{name}1"], [name]))
    nodes.append(helper.make_node("Sub", ["a", "b"], ["c"]))
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("c", kind, [3])], stored)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 14)])


def test_two_constants_are_decided_on_those_very_numbers():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 14]> g () => (float[2] c) {'
        "a = Constant <value = float[2] {1.5, 3.0}> () b = Constant <value = float[2] {0.25, -1.0}> () c = Sub (a, b) }"
    )
    for target in (OPENVINO, ONNXRUNTIME):
        (finding,) = check(model, target).findings
        assert (finding.verdict, finding.witness) == ("ok", None), finding.reason


MADE = {
    "Max(w, v)": "different-numbers",
    "BitwiseAnd(w, v)": "different-numbers",
    "GatherElements(w, i)": "different-numbers",
    "Reshape(m, s) m = Max(w, v)": "different-numbers",
    "Add(w, v)": "ok",
    "Where(t, w, v)": "ok",
    "Compress(w, t)": "ok",
    "Mod(w, v)": "ok",
}
"""What makes a constant of uint8 that is smaller than what is subtracted from it, and the verdict on openvino."""


def of_made_constants(made: str) -> str:
    call, *before = reversed(made.split(" m = ")) if " m = " in made else (made,)
    nodes = f"m = {call} c = {before[0]}" if before else f"c = {call}"
    stored = "uint8[2] w = {1, 2}, uint8[2] v = {5, 5}, uint8[2] k = {9, 9}, int64[2] i = {0, 1}, int64[1] s = {2}"
    return (
        '<ir_version: 8, opset_import: ["" : 18]> g (uint8[2] x) => (uint8[2] y) '
        f"<{stored}, bool[2] t = {{1, 1}}> {{ {nodes} d = Sub (c, k) y = Add (d, x) }}"
    )


@pytest.mark.parametrize("made", MADE)
def test_openvino_computes_some_constants_when_it_runs_and_saturates_then(made, tmp_path):
    openvino = pytest.importorskip("openvino")
    text = of_made_constants(made)
    (finding,) = check(text, OPENVINO).findings
    assert finding.verdict == MADE[made], finding.reason
    assert check(text, ONNXRUNTIME).ok
    core, zeros = openvino.Core(), np.zeros(2, np.uint8)
    proto = onnx.parser.parse_model(text)
    loaded = core.read_model(proto.SerializeToString())
    (got,) = core.compile_model(loaded, "CPU")([zeros]).values()
    assert (got.tolist() == run(text, {"x": zeros})["y"].tolist()) == (finding.verdict == "ok")
    openvino.save_model(loaded, tmp_path / "m.xml", compress_to_fp16=False)
    (of_ir,) = check(tmp_path / "m.xml", OPENVINO).findings
    assert of_ir.verdict == finding.verdict, of_ir.reason


def test_fix_takes_such_constants_for_what_they_are():
    openvino = pytest.importorskip("openvino")
    text = of_made_constants("GatherElements(w, i)")
    fixed = fix(text, OPENVINO, run=False)
    assert fixed.changes
    assert not fixed.refused
    assert check(fixed.model, OPENVINO).ok
    core, zeros = openvino.Core(), np.zeros(2, np.uint8)
    compiled = core.compile_model(core.read_model(fixed.model.SerializeToString()), "CPU")
    assert next(iter(compiled([zeros]).values())).tolist() == run(text, {"x": zeros})["y"].tolist()


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([-0.0, 3], [0.0, -1], "-0.0 - 0.0: got 0.0, expected -0.0"),
        ([3, 0.0], [-1, -0.0], None),
    ],
)
def test_a_witness_of_two_constants_is_one_of_their_pairs(a: list[float], b: list[float], expected: Any) -> None:
    (finding,) = check(subtraction("float32", np.float32(a), np.float32(b)), OPENVINO).findings
    assert (finding.witness and str(finding.witness)) == expected


def test_a_pair_that_a_constant_does_not_hold_is_not_shown():
    (finding,) = check(subtraction("uint8", np.uint8([4, 3, 3]), None), OPENVINO).findings
    assert (finding.verdict, str(finding.witness)) == ("different-numbers", "3 - 4: got 0, expected 255")
    assert finding.reasons == (
        OtherPairsDiffer(("wraps",), (), finding.operands, finding.witness),
        FoldingDiffers((("both", "ok"),)),
    )
    (finding,) = check(subtraction("int64", None, np.int64([1, 1, 1])), OPENVINO).findings
    assert list(_witnesses(finding)) == [finding.witness]


@pytest.mark.parametrize(
    ("dtype", "a", "b", "expected"),
    [
        ("int8", None, np.int8([3]), "-128 - 3: got -128, expected 125"),
        ("int8", (-100, 20), (50, 100), "-100 - 50: got -128, expected 106"),
        ("uint8", (0, 4), np.uint8([9]), "0 - 9: got 0, expected 247"),
        ("int64", None, np.int64([3]), "-2147483647 - 3: got 2147483646, expected -2147483650"),
        ("int64", (0, 2**61), np.int64([4]), "6442450943 - 4: got 2147483643, expected 6442450939"),
        ("int64", (-(2**61), 0), np.int64([4]), "-2147483647 - 4: got 2147483645, expected -2147483651"),
        ("float64", None, np.float64([0.7]), "0.0 - 0.7: got -0.699999988079071, expected -0.7"),
    ],
)
def test_what_was_measured_of_other_operands_gives_a_witness(dtype: str, a: Any, b: Any, expected: str) -> None:
    (finding,) = check(subtraction(dtype, a, b), OPENVINO).findings
    assert str(finding.witness) == expected


def _openvino_gives(model: onnx.ModelProto, operand: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    openvino = pytest.importorskip("openvino")
    core = openvino.Core()
    given: np.ndarray[Any, Any] = core.compile_model(core.read_model(model.SerializeToString()), "CPU")([operand])[0]
    return given


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "float64"])
def test_openvino_gives_what_follows_from_other_operands(dtype: str) -> None:
    rng = np.random.default_rng(sum(map(ord, dtype)))
    edges = np.array(values.plainest(ELEMENTS[dtype]), f"u{ELEMENTS[dtype].itemsize}").view(dtype)
    shown = 0
    for turn in range(40):
        constant = np.repeat(rng.choice(edges), 3) if turn % 2 else rng.choice(edges, 3)
        first = turn % 4 < 2
        model = subtraction(dtype, *((constant, None) if first else (None, constant)))
        (finding,) = check(model, OPENVINO).findings
        if finding.witness is None or not any(isinstance(one, OtherPairsDiffer) for one in finding.reasons):
            continue
        stored, given = finding.witness.operands if first else finding.witness.operands[::-1]
        got = _openvino_gives(model, np.full(3, given, dtype))[constant == np.array(stored, dtype)]
        assert set(map(repr, got.tolist())) == {repr(np.array(finding.witness.got, dtype).tolist())}, finding.witness
        shown += 1
    assert shown > (0 if dtype == "float32" else 5)


@pytest.mark.parametrize(
    ("constant", "hidden"),
    [([0.3, -2.0], True), ([2.0**-117, 1], True), ([2.0**-118, 1], False), ([0.3, 0], False)],
)
def test_a_constant_far_from_0_hides_what_is_made_of_subnormal_numbers(constant: list[float], hidden: bool) -> None:
    """openvino makes 0 of subnormal bfloat16; all numbers of the type were run with 0.3, 1, 4, 2e-100 and 1e-30."""
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    model = subtraction("bfloat16", None, np.array([*constant, 1], bfloat16))
    (finding,) = check(model, OPENVINO, cpu="amx_tile").findings  # up to AVX2 it is cut off besides
    assert (finding.verdict == "ok") is hidden


def test_measured_results_that_no_known_way_gives_leave_the_witness_open() -> None:
    (occurrence,) = occurrences(read(subtraction("uint8", None, np.uint8([3])).SerializeToString()))
    odd = {"wraps": Answer("different-numbers", Witness(SUBTRACT, (5, 10), 7, 251))}
    assert derived(occurrence, ELEMENTS["uint8"], odd, "wraps") is None


# ---- random constants and ranges --------------------------------------------------------------------------------


def _operand(rng: np.random.Generator, dtype: str, kind: str) -> Any:
    edges = values.of(SUBTRACT, ELEMENTS[dtype], full=False).codes.view(dtype)
    plain = rng.integers(0, 9, 64).astype(dtype)
    pool = np.concatenate([rng.choice(edges, 64), plain])
    if kind == "stored":
        return rng.choice(pool, 3)
    if kind == "uniform":
        return np.repeat(rng.choice(pool, 1), 3)
    if kind == "bounded":
        return tuple(sorted(rng.choice(pool[~np.isnan(pool)], 2).tolist()))
    return None


def _makes(operand: Any, dtype: str, shown: float) -> bool:
    """Whether an operand can be a number that a witness shows."""
    value = np.array(shown, dtype)
    bits = f"u{value.itemsize}"
    if isinstance(operand, np.ndarray):
        return (
            bool(np.isnan(operand).any()) if np.isnan(value) else bool((operand.view(bits) == value.view(bits)).any())
        )
    return operand is None or bool(np.isnan(value)) or operand[0] <= value <= operand[1]


@pytest.mark.parametrize("dtype", TYPES)
def test_every_pair_that_is_shown_can_be_made(dtype: str) -> None:
    rng = np.random.default_rng(sum(map(ord, dtype)))
    kinds = ("stored", "uniform", "bounded", "free")
    for turn in range(96):
        first, second = kinds[turn % 4], kinds[turn // 4 % 4]
        a, b = _operand(rng, dtype, first), _operand(rng, dtype, second)
        for finding in check(subtraction(dtype, a, b), [OPENVINO, ONNXRUNTIME]).findings:
            for x, y in (one.operands for one in _witnesses(finding)):
                assert _makes(a, dtype, x), (a, finding.reason, finding.witness)
                assert _makes(b, dtype, y), (b, finding)
                if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
                    pairs = zip(a[:, None], b[:, None], strict=True)
                    assert any(_makes(p, dtype, x) and _makes(q, dtype, y) for p, q in pairs)
            if finding.witness is not None:
                x, y = (np.array([one], dtype) for one in (finding.witness.a, finding.witness.b))
                assert str(finding.witness.expected) == str(subtract(x, y)[0])


def _witnesses(finding: Finding) -> Iterator[Witness]:
    """The pairs of a deviation: the witness, and those of its reasons."""
    if finding.verdict != "different-numbers":
        return
    if finding.witness is not None:
        yield finding.witness
    for reason in finding.reasons:
        if isinstance(reason, ValuesDiffer) and reason.witness is not None:
            yield reason.witness
        if isinstance(reason, FoldingDiffers):
            yield from (then for _, then in reason.answers if isinstance(then, Witness))


# ---- what runtimes give ---------------------------------------------------------------------------------------------

SHOWN = [
    ("opencv-dnn", "float32", "cv2"),
    ("opencv-dnn", "float16", "cv2"),
    ("opencv-dnn", "float64", "cv2"),
    ("mnn", "float16", "MNN"),
    ("mnn", "float64", "MNN"),
    ("iree", "float32", "iree.compiler"),
    ("openvino-cpu", "float32", "openvino"),
    ("openvino-cpu", "float64", "openvino"),
    ("openvino-cpu", "int64", "openvino"),
]


@pytest.mark.parametrize(("target", "dtype", "needed"), SHOWN)
def test_runtimes_give_what_follows_from_other_operands(target: str, dtype: str, needed: str) -> None:
    """Each operand is stored, an input, or one that is assumed to lie between two numbers."""
    pytest.importorskip(needed)
    rng = np.random.default_rng([*target.encode(), *dtype.encode()])
    shown = 0
    with Runtime(target) as runtime:
        for _ in range(60):
            kinds = rng.choice(["stored", "uniform", "bounded", "free"], 2)
            made = [_operand(rng, dtype, str(kind)) for kind in kinds]
            model = subtraction(dtype, *(one if isinstance(one, np.ndarray) else None for one in made))
            assumed = {name: one for name, one in zip("ab", made, strict=True) if isinstance(one, tuple)}
            (finding,) = check(model, f"{target}@{runtime.release}", hint=_exact(target), assume=assumed).findings
            witness = finding.witness
            derived = any(isinstance(one, OtherPairsDiffer | ResultDiffers) for one in finding.reasons)
            if witness is None or witness.pattern is not None or not derived:
                continue
            fed = {
                name: np.full(3, number, dtype)
                for name, one, number in zip("ab", made, witness.operands, strict=True)
                if not isinstance(one, np.ndarray)
            }
            met = [
                np.array([_makes(one[i : i + 1], dtype, number) for i in range(3)])
                for one, number in zip(made, witness.operands, strict=True)
                if isinstance(one, np.ndarray)
            ]
            given = [(name, of_numpy(one.dtype), one.view(f"u{one.itemsize}")) for name, one in fed.items()]
            answer = runtime.query("onnx", model.SerializeToString(), b"", given, _exact(target))
            assert not isinstance(answer, Refused)
            got = answer[0].codes.view(answer[0].element.memory)[np.logical_and.reduce([np.ones(3, np.bool_), *met])]
            assert {repr(one) for one in got.tolist()} == {repr(np.array(witness.got, got.dtype).tolist())}, witness
            assert str(witness.got) != str(witness.expected)
            shown += 1
    assert shown


def _exact(target: str) -> str:
    return next(iter(quirks(target).hints), "")


def test_zeros_that_were_wrong_with_subnormal_numbers_alone_are_right_where_none_occurs() -> None:
    """opencv gives -0 for -0 - 3e-45, since subnormal numbers are 0 there; -0 - 0 is right."""
    for other in ([3.0, -0.0, 2.0], [3.0, 0.0, 2.0]):
        text = '<ir_version: 8, opset_import: ["" : 14]> g (uint8[3] u) => (float[3] c)'
        stored = ", ".join(map(str, other))
        text += f" <float[3] b = {{{stored}}}> {{ a = Cast <to = 1> (u) c = Sub (a, b) }}"
        assert check(text, "opencv-dnn").ok
    (finding,) = check(text.replace("2.0", "1e-40"), "opencv-dnn").findings
    assert finding.verdict == "different-numbers"
