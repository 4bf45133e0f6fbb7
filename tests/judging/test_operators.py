"""Operators other than subtraction: verdicts on nodes beside what the installed runtimes give for the model."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import oracle
import pytest

import minuend as mn
from minuend import cli
from minuend.core.elements import TYPES
from minuend.errors import SpecError
from minuend.operators import ADD, NEGATIVE, OPERATORS
from minuend.runtimes import targets, values
from minuend.runtimes.running import Runtime

onnx = pytest.importorskip("onnx")

TARGETS = ("onnxruntime-cpu@1.32.0", "openvino-cpu@2026.4.1")
HEAD = '<ir_version: 10, opset_import: ["" : 14]> g '
BOTH = HEAD + "(int8[2,3] a, int8[2,3] b) => (int8[2,3] c, int8[2,3] d) { c = Add (a, b) d = Neg (b) }"


def found(text: str, target: str, *names: str, **options: object) -> list[tuple[str, str, str]]:
    report = mn.check(text, target, operators=names, **options)
    return [(one.opversion, one.verdict, one.code) for one in report.findings]


def test_only_subtraction_is_judged_unless_others_are_named() -> None:
    assert found(BOTH, TARGETS[1], "subtract") == []
    assert mn.check(BOTH, TARGETS[1]).findings == ()
    assert [one for one, *_ in found(BOTH, TARGETS[1], "Neg", "add", "negative")] == ["onnx:Add-14", "onnx:Neg-13"]
    with pytest.raises(SpecError, match="no operator 'sum'"):
        mn.check(BOTH, TARGETS[1], operators=["sum"])
    with pytest.raises(SpecError, match="a run compares subtraction alone; leave out the run, or the other operators"):
        mn.check(BOTH, TARGETS[0], operators=["add"], run=True)


def test_a_deviation_has_its_witness_and_ranges_exclude_it() -> None:
    add, neg = mn.check(BOTH, TARGETS[1], operators=["add", "negative"]).findings
    assert (add.verdict, add.witness.operands, add.witness.got, add.witness.expected) == (
        "different-numbers", (1, 127), 127, -128,
    )  # fmt: skip
    assert (neg.verdict, neg.witness.operands, neg.witness.got, neg.witness.expected) == (
        "different-numbers", (-128,), 127, -128,
    )  # fmt: skip
    assumed = {"a": (-60, 60), "b": (-60, 60)}
    assert [one[1] for one in found(BOTH, TARGETS[1], "add", "negative", assume=assumed)] == ["ok", "ok"]


@pytest.mark.parametrize("target", ["tract", "directml@5.1", "onnxruntime-cpu@1.20.1", "openvino-cpu@2025.0.0"])
def test_what_was_not_measured_is_unknown(target: str) -> None:
    assert {one[1:] for one in found(BOTH, target, "add", "negative")} == {("unknown", "not-measured")}


@pytest.mark.parametrize(
    "text",
    [
        "(float[2] a, float[2] b) => (float[2] c) { m = Mul (a, b) c = Add (m, b) }",
        "(float[2] a) => (float[2] c) { m = Neg (a) c = Relu (m) }",
        "(float[N] a) => (float[N] c) { c = Neg (a) }",
        "(float[N] a, float[N] b) => (float[N] c) { c = Add (a, b) }",
        "(float[2] a) => (float[2] c) <float[2] k = {0.0, 1e-40}> { c = Add (a, k) }",
    ],
)
@pytest.mark.parametrize("target", TARGETS)
def test_what_stands_next_to_an_operator_and_open_shapes_are_not_measured(text: str, target: str) -> None:
    assert "ok" not in {one[1] for one in found(HEAD + text, target, "add", "negative")}


# ---- beside runtimes ---------------------------------------------------------------------------------------------


def model(name: str, dtype: str, given: list[np.ndarray], constants: tuple[bool, ...]) -> onnx.ModelProto:
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    value = onnx.helper.make_tensor_value_info
    names = "ab"[: len(given)]
    stored = [
        onnx.numpy_helper.from_array(array, one)
        for one, array, fixed in zip(names, given, constants, strict=True)
        if fixed
    ]
    inputs = [
        value(one, kind, array.shape) for one, array, fixed in zip(names, given, constants, strict=True) if not fixed
    ]
    node = onnx.helper.make_node(name, list(names), ["c"])
    graph = onnx.helper.make_graph([node], "g", inputs, [value("c", kind, None)], stored)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)], ir_version=8)


def drawn(operator: str, dtype: str, seed: int) -> list[np.ndarray]:
    """Operands of edges and random bits: of one shape, or one of a single element."""
    source = np.random.default_rng(seed)
    codes = values.of(OPERATORS[operator], TYPES[dtype], full=False).codes
    count = OPERATORS[operator].arity
    sizes = [source.integers(2, 40)] * count
    if count == 2 and seed % 3 == 0:
        sizes[seed % 2] = 1
    return [source.choice(codes, size).view(dtype) for size in sizes]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("operator", ["add", "negative"])
def test_a_node_that_is_called_ok_gives_the_exact_result_on_the_runtime(target: str, operator: str) -> None:
    known = targets.find(target)
    try:
        runtime = Runtime(known.runtime)
    except mn.Unsupported as error:
        pytest.skip(str(error))
    verdicts = set()
    with runtime:
        if runtime.release != known.release:
            pytest.skip(f"{runtime.release} is installed")
        types = (
            "int8",
            "int32",
            "int64",
            "float16",
            "float32",
            "float64",
            *(["uint8", "uint32"] if operator == "add" else []),
        )
        arity = OPERATORS[operator].arity
        for seed, (dtype, constants) in enumerate(
            itertools.product(types, itertools.product((False, True), repeat=arity))
        ):
            given = drawn(operator, dtype, seed)
            proto = model(OPERATORS[operator].onnx, dtype, given, constants)
            (finding,) = mn.check(proto, known, operators=[operator]).findings
            verdicts.add(finding.verdict)
            if finding.verdict != "ok":
                continue
            with np.errstate(all="ignore"):
                expected = getattr(np, operator)(*given)
            fed = [
                (name, TYPES[dtype], array.view(f"u{array.itemsize}"))
                for name, array, fixed in zip("ab", given, constants, strict=False)
                if not fixed
            ]
            (output,) = runtime.query("onnx", proto.SerializeToString(), b"", fed, "", count=1)
            got = output.codes.view(dtype)
            same = oracle.same_floats(got, expected) if got.dtype.kind == "f" else np.array_equal(got, expected)
            assert same, (dtype, constants, given, got, expected)
    assert "ok" in verdicts


def test_the_command_line_judges_the_operator_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.onnxtxt").write_text(BOTH)
    stated = ["check", str(tmp_path / "m.onnxtxt"), "--target", f"{TARGETS[1]},tract"]
    assert cli.main([*stated, "--operator", "negative"]) == 1
    page = " ".join(capsys.readouterr().out.split())
    assert "numbers in int8: −(−128) = 127, expected −128" in page
    assert "1 of 1 negations differs on openvino-cpu@2026.4.1" in page
    assert "amx" not in page  # it was measured on another processor than subtraction
    assert cli.main([*stated, "--operator", "add", "--json"]) == 1
    known, unknown = json.loads(capsys.readouterr().out)["findings"]
    assert (known["operator"], known["opversion"], known["actions"]) == ("add", "onnx:Add-14", [])
    assert unknown["actions"] == [{"kind": "measure", "command": "minuend measure tract --operator add -o FILE"}]
    assert cli.main([*stated]) == 0
    assert "has no subtraction" in " ".join(capsys.readouterr().out.split())


def test_both_operators_have_data_for_the_newest_releases() -> None:
    for target, operator in itertools.product(TARGETS, (ADD, NEGATIVE)):
        own = targets.of(targets.find(target), operator)
        assert own is not None
        assert own.operators == {operator.name}
        assert own.name == target
