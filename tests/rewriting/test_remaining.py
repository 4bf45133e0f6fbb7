"""What fix leaves: settings that it recommends first, what still differs, and what is tolerated."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run

import minuend as mn
from minuend.cli.pages.fixing import Command, fix_page
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


def offered(out: str) -> str:
    """The command that a page offers, in one line."""
    lines = out.replace(" \\\n", "").splitlines()
    return next(" ".join(line.split()) for line in lines if "minuend fix" in line)


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
    assert status == 1
    assert out.startswith(
        "recommended first: a setting with which 1 of 2 wrong subtractions is right\n"
        "without a rewrite; a rewrite with it repairs 1 more\n"
        '  do:  compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})\n'
        f"       minuend fix coarse.onnxtxt --target {OPENVINO} --no-run \\\n"
        "         --hint f32 -o o.onnx\n"
        "rewritten: graph.node[2]\n"
    )
    *_, left, last = out.splitlines()
    assert left.startswith(f"1 of 2 subtractions still differs on {OPENVINO}: ")
    assert last == f"nothing written for {OPENVINO}; --partial writes what could be fixed"
    status, out, _ = run(capfd, *command, "--partial")
    assert status == 1
    assert out.endswith(f"{left}\ncoarse.onnxtxt → o.onnx for {OPENVINO}, where its results still\ndiffer\n")
    status, out, _ = run(capfd, *command, "--hint", "f32")
    assert status == 0
    assert f"coarse.onnxtxt → o.onnx for {OPENVINO} with\nINFERENCE_PRECISION_HINT=f32\n" in out


@pytest.mark.usefixtures("here")
def test_what_differs_is_said_before_anything_is_written(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def save(*_: object) -> None:
        shown.append(capfd.readouterr().out)

    monkeypatch.setattr("minuend.rewriting.fixing.Fixed.save", save)
    command = ["fix", "coarse.onnxtxt", "--target", OPENVINO, "-o", "o.onnx", "--no-run", "--partial"]
    assert run(capfd, *command)[0] == 1
    (before,) = shown
    assert f"1 of 2 subtractions still differs on {OPENVINO}: " in before


@pytest.mark.usefixtures("here")
def test_the_command_for_what_is_left_writes_a_file(capfd: pytest.CaptureFixture[str]) -> None:
    Path("wide.onnxtxt").write_text(COARSE.replace("[4] v)", "[4] v, double[4] x)").replace(
        "[4] d)", "[4] d, double[4] y)").replace("d = Sub", "y = Sub(x, x) d = Sub"))  # fmt: skip
    command = ["fix", "wide.onnxtxt", "--target", OPENVINO, "-o", "my output.onnx", "--no-run", "--tolerate", "edge"]
    _, out, _ = run(capfd, *command)
    _, _, words = offered(out).partition("minuend ")
    again = shlex.split(words)
    assert shlex.join(again[4:]) == "--tolerate edge --no-run --hint f32 --partial -o 'my output.onnx'"
    status, _, _ = run(capfd, *again)
    assert (status, Path("my output.onnx").exists()) == (1, True)


@pytest.mark.usefixtures("here")
def test_no_command_is_named_where_a_setting_leaves_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capfd, "fix", "alone.onnxtxt", "--target", OPENVINO, "-o", "o.onnx", "--no-run")
    assert out.startswith("recommended first: ")
    assert "minuend fix" not in out


@pytest.mark.usefixtures("here")
def test_what_is_tolerated_is_not_among_the_wrong_that_a_setting_leaves(capfd: pytest.CaptureFixture[str]) -> None:
    signs = COARSE_ALONE.replace("[4,4] b)", "[4,4] b, float[N] x)").replace("[4,4] c)", "[4,4] c, float[N] y)")
    fixed = mn.fix(signs.replace("c = Sub", "y = Sub(x, x) c = Sub"), OPENVINO, run=False)
    (setting,) = fixed.settings
    assert (setting.helped, setting.wrong, setting.rewritten) == (1, 1, 0)
    assert [one.tolerated for one in fixed.remaining] == ["sign-of-zero", None]


def test_a_setting_with_which_a_rewrite_helps_is_recommended() -> None:
    scaled = HEAD + (
        "(float[1,3,8,8] x) => (float[1,3,6,6] y, float[1,3,8,8] z) <float[1,3,1,1] m = {0.5, 0.4, 0.3}, "
        f"float[1,3,1,1] s = {{0.2, 0.25, 0.3}}, float[3,3,3,3] w = {{{', '.join(['0.1'] * 81)}}}> "
        "{ d = Sub(x, m) z = Div(d, s) y = Conv(z, w) }"
    )
    fixed = mn.fix(scaled, OPENVINO, run=False)
    (setting,) = fixed.settings
    assert (setting.helped, setting.wrong, setting.rewritten, setting.partly) == (0, 1, 1, False)
    lines = [getattr(part, "text", part) for part in fix_page(fixed, Command("m.onnx", "o.onnx"))]
    assert lines[0] == "recommended first: a setting with which a rewrite repairs 1 of 1 wrong subtraction"
    assert lines[2] == f"minuend fix m.onnx --target {OPENVINO} --hint f32 -o o.onnx"


def test_those_that_are_rewritten_alike_stand_together() -> None:
    pairs = HEAD + (
        "(uint8[4] a, uint8[4] b) => (uint8[4] v, uint8[4] w, uint8[4] x, uint8[4] y) "
        "{ v = Sub(a, b) w = Sub(b, a) x = Sub(a, a) y = Sub(b, b) }"
    )
    fixed = mn.fix(pairs, OPENVINO, run=False)
    assert len(fixed.changes) == len(fixed.rewritten) == 4
    lines = [getattr(part, "text", part) for part in fix_page(fixed, Command("m.onnx", "o.onnx"))]
    assert lines[0] == "rewritten: 4 subtractions (graph.node[0], graph.node[1], graph.node[2] and 1 more)"
    assert len(lines) == 3


@pytest.mark.usefixtures("here")
def test_what_is_unknown_is_not_called_wrong(capfd: pytest.CaptureFixture[str]) -> None:
    # An operator of one's own, which no measurement of a runtime can contain.
    Path("u.onnxtxt").write_text(HEAD.replace("18]", '18, "own" : 1]') + "(int64[4] p) => (int64[4] q) "
                                 "<int64 k = {1}> { s = own.F(p) q = Sub(s, k) }")  # fmt: skip
    target = "onnxruntime-cpu@1.32.0"
    status, out, _ = run(capfd, "fix", "u.onnxtxt", "--target", target, "-o", "u.onnx", "--no-run")
    assert (status, out.splitlines()[-2]) == (0, f"1 of 1 subtractions is unknown on {target}")


def test_what_a_run_shows_of_outputs_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed, command = mn.fix(COARSE, OPENVINO, run=False), Command("m.onnx", "o.onnx")
    tally = Tally(elements=8, different=8, first=Different("'c'", (0,), "1", "2"))
    comparison = Comparison(OPENVINO, Tally(elements=4), tally)
    right = Trial(target=OPENVINO, runtime=OPENVINO, outputs=(Answered("c", "float32", 8),))
    wrong = replace(right, outputs=(replace(right.outputs[0], different=8),))
    line = f"run on {OPENVINO}: of the rewritten subtractions all 4 elements are as expected"
    for trial, agreed in ((right, False), (wrong, False), (wrong, True)):
        outputs = Tally(elements=8) if agreed else tally
        shown = replace(fixed, comparison=replace(comparison, outputs=outputs), whole=trial)
        assert line in fix_page(shown, command)
    for trial, agreed in ((right, True), (None, False), (replace(right, refused="no"), False)):
        outputs = Tally(elements=8) if agreed else tally
        shown = replace(fixed, comparison=replace(comparison, outputs=outputs), whole=trial)
        assert any(str(one).startswith(f"{line}; of the outputs ") for one in fix_page(shown, command))


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
        {"hint": "f32", "setting": {"INFERENCE_PRECISION_HINT": "f32"}, "helped": 1, "wrong": 2, "rewritten": 1}
    ]


@pytest.mark.usefixtures("here")
def test_what_is_tolerated_is_not_rewritten_or_refused(capfd: pytest.CaptureFixture[str]) -> None:
    command = ["fix", "float.onnxtxt", "--target", IREE, "-o", "o.onnx", "--no-run"]
    status, out, _ = run(capfd, *command)
    assert (status, "refused: graph.node[0]" in out) == (1, True)
    done = (
        0,
        (
            f"~ nothing to fix for {IREE}: its subtraction differs, which is tolerated\n(subnormal)\n"
            f"1 of 1 subtractions still differs on {IREE} (tolerated): subnormal\n"
            f"float.onnxtxt → o.onnx for {IREE}\n"
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
