"""Across modules: mutated models give a result or an error of this package that says what is wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from mutated_onnx import CORPUS, mutated, some_inputs

import minuend as mn

SEED, MODELS = 20260731, 60


def refusal(work: Callable[[], Any]) -> str:
    """What an error of this package says; others are the test's failure."""
    try:
        work()
    except (mn.MinuendError, OSError) as error:
        str(error).encode()  # no half of a surrogate pair, which no terminal shows
        return str(error)
    return ""


@pytest.mark.parametrize("part", range(6))
def test_mutated_models_meet_no_traceback(part):
    source = random.Random(SEED + part)
    for _ in range(MODELS // 6):
        model, raw = mutated(source)
        refusal(lambda raw=raw: mn.check(raw, ["openvino-cpu", "onnxruntime-cpu"]))
        for goal in source.sample(["onnx:21", "onnx:15", "onnx:13", "onnx:9", "onnx:6", "openvino", "directml:6.4"], 3):
            refusal(lambda raw=raw, goal=goal: mn.convert(raw, goal))
        refusal(lambda raw=raw, model=model: mn.run(raw, some_inputs(model), max_bytes=1 << 20))


def test_the_corpus_is_there():
    assert len(CORPUS) > 40


HEAD = '<ir_version: 10, opset_import: ["" : %d]> g (%s) => (%s) { %s }'


def told(body: str, opset: int = 14, given: str = "uint8[2] a", result: str = "uint8[2] c", to: str = "onnx:13") -> str:
    return refusal(lambda: mn.convert(HEAD % (opset, given, result, body), to))


@pytest.mark.parametrize("body", ["c, d = Sub(a, a)", "c = Sub(a)", "c = Sub(a, a, a)"])
@pytest.mark.parametrize("verb", ["check", "run", "fix", "fix to an opset", "convert", "convert down", "to openvino"])
def test_a_sub_of_another_form_is_refused_by_every_verb(body, verb):
    text = HEAD % (14, "uint8[2] a", "uint8[2] c", body)
    work = {
        "check": lambda: mn.check(text, "openvino-cpu"),
        "run": lambda: mn.run(text, {"a": np.zeros(2, np.uint8)}),
        "fix": lambda: mn.fix(text, "openvino-cpu"),
        "fix to an opset": lambda: mn.fix(text, "onnx:13"),
        "convert": lambda: mn.convert(text, "onnx:18"),
        "convert down": lambda: mn.convert(text, "onnx:13"),
        "to openvino": lambda: mn.convert(text, "openvino"),
    }[verb]
    said = refusal(work)
    count = body.count("a"), body.partition("=")[0].count(",") + 1
    forms = (
        f"the node has {count[0]} and {count[1]}, at graph.node[0]",
        "Sub-14 has 2 inputs;",
        "Sub-14 has 1 output;",
    )
    assert any(form in said for form in forms)


def test_a_sub_without_names_is_refused():
    model = onnx.parser.parse_model(HEAD % (14, "uint8[2] a", "uint8[2] c", "c = Sub(a, a)"))
    model.graph.node[0].input[1] = ""
    wanted = "Sub-14 needs a name for each of its inputs and outputs; one is empty, at graph.node[0]"
    for work in (lambda: mn.check(model, "openvino-cpu"), lambda: mn.run(model, {"a": np.zeros(2, np.uint8)})):
        assert refusal(work) == wanted


def test_a_sub_with_an_attribute_that_it_lacks_is_not_rewritten():
    fixed = mn.fix(HEAD % (14, "uint8[2] a", "uint8[2] c", "c = Sub <axis = 1> (a, a)"), "onnx:13")
    assert [one.reason for one in fixed.refused] == [
        "Sub-14 takes no attribute 'axis' (removed in version 7); it takes none"
    ]


@pytest.mark.parametrize(
    ("body", "opset", "to", "reason"),
    [
        ("c = Constant()", 14, "onnx:11", "One and only one of the attributes"),
        ("c = Concat <axis = \"x\"> (a, a)", 14, "onnx:10", "attribute 'axis' of Concat-13 has another type"),
        ("c = Reshape(a)", 14, "onnx:13", "Reshape-14 has 2 inputs; the node has 1"),
        ("c = Cast(a)", 14, "onnx:9", "Cast-13 needs the attribute 'to'"),
        ("c = Cast(a)", 14, "openvino", "Cast-13 needs the attribute 'to'"),
        ("c = Squeeze <axes = [7]> (a)", 11, "openvino", "its axes (7,) are not different axes of 1 dims"),
        ("c = Concat <axis = -3> (a, a)", 11, "onnx:9", "Concat has axis=-3, and there are 1 dims"),
    ],
)  # fmt: skip
def test_a_malformed_node_is_refused_where_it_stands(body, opset, to, reason):
    said = told(body, opset, to=to)
    assert reason in said


def test_ranks_beyond_numpys():
    for model in (
        HEAD % (14, f"float[{','.join('1' * 70)}] a", "float c", "c = Sub(a, a)"),
        HEAD % (14, "float a", f"float[{','.join('0' * 65)}] c", "c = Sub(a, a)"),
    ):
        assert "dims; arrays have 64 at most" in refusal(lambda model=model: mn.check(model, "openvino-cpu"))


@pytest.mark.parametrize("opset", [0, -1, 2**31, 2**62])
def test_opsets_that_are_none(opset):
    text = (HEAD % (14, "float a", "float c", "c = Sub(a, a)")).replace(": 14", f": {opset}")
    assert f"at opset {opset}; expected" in refusal(lambda: mn.check(text, "openvino-cpu"))


@pytest.mark.parametrize("number", ["9223372036854775808", "99999999999999999999999", "-9223372036854775809"])
def test_whole_numbers_beyond_the_texts(number):
    text = HEAD % (14, "float a", "float c", f"c = Concat <axis = {number}> (a)")
    assert refusal(lambda: mn.check(text, "openvino-cpu")) == (
        "the model's text: it is no model in ONNX's text form: a whole number in it does not fit 64 bits"
    )


def test_a_text_that_is_nested_without_end(tmp_path):
    body = "c = If (b) <then_branch = t () => (float c) { " * 20_000
    assert refusal(lambda: mn.check(HEAD % (14, "bool b", "float c", body), "openvino-cpu")).startswith(
        "the model's text: it is no model in ONNX's text form"
    )


def test_a_constant_of_no_elements_is_judged():
    body = "s = Constant <value_ints = [0, 3]> () a = ConstantOfShape <value = int32[1] {1}> (s) c = Sub(a, a)"
    (finding,) = mn.check(HEAD % (14, "", "int32[0,3] c", body), "openvino-cpu@2026.4.1").findings
    assert finding.verdict == "different-numbers"


def test_a_bool_input_and_output(tmp_path, capsys):
    from minuend.cli.program import main

    body = (
        "r = If (c) <then_branch = t () => (uint8[2] x) { x = Sub(z, a) }, else_branch = e () => (uint8[2] y) "
        "{ y = Identity(a) }> n = Not(c)"
    )
    model = tmp_path / "model.onnxtxt"
    model.write_text(HEAD % (14, "bool c, uint8[2] a, uint8[2] z", "uint8[2] r, bool n", body))
    np.save(tmp_path / "yes.npy", np.array(True))
    np.savez(tmp_path / "yes.npz", c=np.array(True))
    (tmp_path / "yes.pb").write_bytes(onnx.numpy_helper.from_array(np.array(True)).SerializeToString())
    np.save(tmp_path / "a.npy", np.uint8([3, 4]))
    np.save(tmp_path / "z.npy", np.uint8([0, 9]))
    for name in ("yes.npy", "yes.npz", "yes.npz::c", "yes.pb"):
        out = tmp_path / f"out_{name.replace(':', '_')}"
        given = [
            part
            for key, file in (("c", name), ("a", "a.npy"), ("z", "z.npy"))
            for part in ("--input", f"{key}={tmp_path / file}")
        ]
        assert main(["run", str(model), *given, "-o", str(out)]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == f"n: bool () → {out / 'n.npy'}"
        np.testing.assert_array_equal(np.load(out / "r.npy"), np.uint8([253, 5]))
        assert np.load(out / "n.npy") == np.array(False)


def test_an_input_of_another_type_than_the_model_wants_is_told(tmp_path, capsys):
    from minuend.cli.program import main

    model = tmp_path / "model.onnxtxt"
    model.write_text(HEAD % (14, "uint8[2] a", "uint8[2] c", "c = Sub(a, a)"))
    np.save(tmp_path / "a.npy", np.array([True, False]))
    assert main(["run", str(model), "--input", f"a={tmp_path / 'a.npy'}", "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == ("error: an array of bool came; expected uint8 (UINT8), at input 'a'\n")
    assert not Path(tmp_path / "out").exists()
