"""What fix leaves: settings that it recommends first, what still differs, and what is tolerated."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run

import minuend as mn
from minuend.cli.pages.fixing import fix_lines
from minuend.errors import SpecError
from minuend.judging.contract import Tally
from minuend.rewriting.verification import Comparison
from minuend.runtimes.tolerance import Tolerance, Tolerances
from minuend.runtimes.trials import Answered, Different, Trial

pytest.importorskip("onnx")

OPENVINO = "openvino-cpu@2026.4.1"
IREE = "iree@3.13.0"
HEAD = '<ir_version: 10, opset_import: ["" : 18]> g '
FLOAT = HEAD + "(float[2] a, float[2] b) => (float[2] c) { c = Sub(a, b) }"
COARSE = (
    HEAD + "(float[4,8] a, float[8,4] w, float[4,4] b, uint8[4] u, uint8[4] v) => (float[4,4] c, uint8[4] d) "
    "{ m = MatMul(a, w) c = Sub(m, b) d = Sub(u, v) }"
)
COARSE_ALONE = HEAD + "(float[4,8] a, float[8,4] w, float[4,4] b) => (float[4,4] c) { m = MatMul(a, w) c = Sub(m, b) }"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("float", FLOAT), ("coarse", COARSE), ("alone", COARSE_ALONE)):
        (tmp_path / f"{name}.onnxtxt").write_text(text)
    return tmp_path


def test_a_setting_that_spares_a_rewrite_is_recommended() -> None:
    fixed = mn.fix(COARSE, OPENVINO, run=False)
    (setting,) = fixed.settings
    assert (setting.hint, setting.helped, setting.wrong) == ("f32", 1, 2)
    assert dict(setting.setting) == {"INFERENCE_PRECISION_HINT": "f32"}
    assert [(one.location, one.hint) for one in fixed.remaining] == [("graph.node[1]", "f32")]
    assert (fixed.failed, fixed.differs) == (True, True)


def test_with_the_hint_what_it_makes_right_is_not_refused() -> None:
    fixed = mn.fix(COARSE, OPENVINO, hint="f32", run=False)
    assert (fixed.hint, fixed.settings, fixed.refused, fixed.remaining) == ("f32", (), (), ())
    assert [change.partition(": ")[0] for change in fixed.changes] == ["graph.node[2]"]
    assert (fixed.failed, fixed.differs) == (False, False)


def test_a_hint_that_the_target_has_not_is_refused() -> None:
    for target, expected in ((OPENVINO, "expected f32"), (IREE, "these targets take none"), ("onnx:13", "these tar")):
        with pytest.raises(SpecError, match=f"no hint 'f16'.*; {expected}"):
            mn.fix(FLOAT, target, hint="f16", run=False)


@pytest.mark.usefixtures("here")
def test_the_setting_is_said_first_and_the_fixed_part_does_not_read_as_success(
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = ["fix", "coarse.onnxtxt", "--target", OPENVINO, "-o", "o.onnx", "--no-run"]
    status, out, _ = run(capfd, *command)
    first, then, left, title, *_, last = out.splitlines()
    assert status == 1
    assert first == (
        'recommended first: compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}), with which 1 of 2 wrong '
        "subtractions is right without a rewrite"
    )
    assert then == f"to fix what is left then: minuend fix coarse.onnxtxt --target {OPENVINO} --hint f32 -o o.onnx"
    assert left.startswith(f"after the fix 1 subtraction is not right on {OPENVINO}: 1 ")
    assert title == f"coarse.onnxtxt for {OPENVINO}, where its results still differ"
    assert last == "nothing written; --partial writes what could be fixed"
    status, out, _ = run(capfd, *command, "--partial")
    assert status == 1
    assert f"coarse.onnxtxt → o.onnx for {OPENVINO}, where its results still differ" in out.splitlines()
    status, out, _ = run(capfd, *command, "--hint", "f32")
    assert (status, out.splitlines()[0]) == (0, f"coarse.onnxtxt → o.onnx for {OPENVINO}")


@pytest.mark.usefixtures("here")
def test_the_command_for_what_is_left_writes_a_file(capfd: pytest.CaptureFixture[str]) -> None:
    Path("wide.onnxtxt").write_text(COARSE.replace("[4] v)", "[4] v, double[4] x)").replace(
        "[4] d)", "[4] d, double[4] y)").replace("d = Sub", "y = Sub(x, x) d = Sub"))  # fmt: skip
    command = ["fix", "wide.onnxtxt", "--target", OPENVINO, "-o", "my output.onnx", "--no-run", "--tolerate", "edge"]
    _, out, _ = run(capfd, *command)
    start = "to fix what is left then: minuend "
    (line,) = (line for line in out.splitlines() if line.startswith(start))
    words = shlex.split(line.removeprefix(start))
    assert words[4:] == ["--tolerate", "edge", "--partial", "--hint", "f32", "-o", "my output.onnx"]
    status, _, _ = run(capfd, *words, "--no-run")
    assert (status, Path("my output.onnx").exists()) == (1, True)


@pytest.mark.usefixtures("here")
def test_no_command_is_named_where_a_setting_leaves_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capfd, "fix", "alone.onnxtxt", "--target", OPENVINO, "-o", "o.onnx", "--no-run")
    assert out.startswith("recommended first: ")
    assert "to fix what is left then" not in out


@pytest.mark.usefixtures("here")
def test_what_is_unknown_is_not_called_wrong(capfd: pytest.CaptureFixture[str]) -> None:
    Path("u.onnxtxt").write_text(HEAD + "(int64[4] p, int64 axis) => (int64[4] q) <int64 k = {1}> "
                                 "{ s = CumSum(p, axis) q = Sub(s, k) }")  # fmt: skip
    target = "onnxruntime-cpu@1.22.1"
    status, out, _ = run(capfd, "fix", "u.onnxtxt", "--target", target, "-o", "u.onnx", "--no-run")
    assert (status, out.splitlines()[0]) == (0, f"after the fix 1 subtraction is not known to be right on {target}")


def test_what_a_run_shows_of_outputs_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = mn.fix(COARSE, OPENVINO, run=False)
    tally = Tally(elements=8, different=8, first=Different("'c'", (0,), "1", "2"))
    comparison = Comparison(OPENVINO, Tally(elements=4), tally)
    right = Trial(target=OPENVINO, runtime=OPENVINO, outputs=(Answered("c", "float32", 8),))
    wrong = replace(right, outputs=(replace(right.outputs[0], different=8),))
    line = f"run on {OPENVINO}: of the rewritten subtractions all 4 elements are as expected"
    for trial, agreed in ((right, False), (wrong, False), (wrong, True)):
        outputs = Tally(elements=8) if agreed else tally
        shown = replace(fixed, comparison=replace(comparison, outputs=outputs), whole=trial)
        assert line in fix_lines(shown, "m.onnx", "")
    for trial, agreed in ((right, True), (None, False), (replace(right, refused="no"), False)):
        outputs = Tally(elements=8) if agreed else tally
        shown = replace(fixed, comparison=replace(comparison, outputs=outputs), whole=trial)
        assert any(one.startswith(f"{line}; of the outputs ") for one in fix_lines(shown, "m.onnx", ""))


def test_a_run_that_differs_in_what_is_tolerated_does_not_count() -> None:
    fixed = mn.fix(COARSE, OPENVINO, hint="f32", run=False)
    wrong = Answered("c", "float32", 8, different=1)
    trial = Trial(target=OPENVINO, runtime=OPENVINO, outputs=(wrong,))
    assert trial.severity == "sign-of-zero"
    for tolerate, differs in (("sign-of-zero", False), ("none", True), ("rounding", True)):
        marked = Tolerances(Tolerance.of(tolerate)).marked(trial)
        assert replace(fixed, whole=marked).differs == differs
    assert replace(fixed, whole=replace(trial, outputs=(replace(wrong, numbers=1),))).differs


@pytest.mark.usefixtures("here")
def test_json_says_what_remains_and_which_setting_helps(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capfd, "fix", "coarse.onnxtxt", "--target", OPENVINO, "-o", "o.onnx", "--no-run", "--json")
    data = json.loads(out)
    assert (data["differs"], data["hint"], data["path"]) == (True, "", None)
    assert [(one["location"], one["verdict"]) for one in data["remaining"]] == [("graph.node[1]", "different-numbers")]
    assert data["settings"] == [
        {"hint": "f32", "setting": {"INFERENCE_PRECISION_HINT": "f32"}, "helped": 1, "wrong": 2}
    ]


@pytest.mark.usefixtures("here")
def test_what_is_tolerated_is_not_rewritten_or_refused(capfd: pytest.CaptureFixture[str]) -> None:
    command = ["fix", "float.onnxtxt", "--target", IREE, "-o", "o.onnx", "--no-run"]
    status, out, _ = run(capfd, *command)
    assert (status, "! refused: graph.node[0]" in out) == (1, True)
    done = (
        0,
        (
            f"after the fix 1 subtraction is not right on {IREE} and tolerated: 1 subnormal\n"
            f"float.onnxtxt → o.onnx for {IREE}\n"
            f"~ nothing to fix for {IREE}: its subtraction differs, which is tolerated (subnormal)\n"
        ),
        "",
    )
    assert run(capfd, *command, "--tolerate", "subnormal") == done
    Path("o.onnx").unlink()
    Path("minuend.toml").write_text('[target.iree]\ntolerate = ["subnormal"]\n')
    assert run(capfd, *command) == done
    assert run(capfd, *command, "--tolerate", "none")[0] == 1
    assert run(capfd, *command, "--no-config")[0] == 1


@pytest.mark.usefixtures("here")
def test_the_hint_of_the_file_is_taken_where_the_target_has_it(capfd: pytest.CaptureFixture[str]) -> None:
    Path("minuend.toml").write_text('targets = ["openvino-cpu"]\nhint = "f32"\n')
    assert run(capfd, "fix", "coarse.onnxtxt", "--target", OPENVINO, "-o", "o.onnx", "--no-run")[0] == 0
    assert run(capfd, "fix", "coarse.onnxtxt", "--target", "onnxruntime-cpu", "-o", "p.onnx", "--no-run")[0] == 0
    assert run(capfd, "fix", "coarse.onnxtxt", "--target", OPENVINO, "-o", "q.onnx", "--no-run", "--hint", "")[0] == 1


def test_in_python_it_is_the_same() -> None:
    assert mn.fix(FLOAT, IREE, run=False).refused
    fixed = mn.fix(FLOAT, IREE, tolerate=("subnormal", "edge"), run=False)
    assert (fixed.changes, fixed.refused, fixed.differs) == ((), (), False)
    assert [one.tolerated for one in fixed.remaining] == ["subnormal"]


def test_saturation_is_written_whatever_is_tolerated() -> None:
    integers = HEAD + "(uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }"
    assert mn.fix(integers, OPENVINO, tolerate="numbers", run=False).changes == ()
    assert mn.fix(integers, OPENVINO, tolerate="numbers", overflow="saturate", run=False).changes


def test_whole_models_are_run_with_the_hint() -> None:
    pytest.importorskip("openvino")
    for hint in ("", "f32"):
        fixed = mn.fix(COARSE, "openvino-cpu@installed", hint=hint)
        assert fixed.whole is not None
        assert fixed.whole.hint == hint
        if hint:
            assert (fixed.whole.verdict, fixed.differs) == ("ok", False)
    assert mn.fix(COARSE_ALONE, "openvino-cpu@installed").differs


def test_outputs_that_differ_in_the_run_count_although_every_subtraction_is_right() -> None:
    """A product in bfloat16 by default, on processors that have it, beside a subtraction that is fixed."""
    pytest.importorskip("openvino")
    beside = (
        HEAD + "(float[16,64] x, float[64,16] w, uint8[4] u, uint8[4] v) => (float[16,16] c, uint8[4] d) "
        "{ c = MatMul(x, w) d = Sub(u, v) }"
    )
    fixed = mn.fix(beside, "openvino-cpu@installed")
    assert (fixed.refused, fixed.remaining, fixed.failed) == ((), (), False)
    assert fixed.whole is not None
    assert fixed.differs == (not fixed.whole.ok)
    assert not mn.fix(beside, "openvino-cpu@installed", hint="f32").differs
