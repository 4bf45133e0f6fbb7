"""What check says that helps: fix where it does, and what would have to be assumed of values."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run

import minuend as mn
from minuend.judging.checking import examine
from minuend.judging.options import Judging, find_targets
from minuend.models.opening import open_model
from minuend.rewriting import advising
from minuend.rewriting.advising import advised
from minuend.runtimes.report import Report
from minuend.runtimes.tolerance import Tolerance, Tolerances

pytest.importorskip("onnx")

OPENVINO = "openvino-cpu@2026.4.1"
MODELS = Path(__file__).parents[1] / "data" / "models"


def model(dtype: str, body: str = "c = Sub(a, b)") -> str:
    return f'<ir_version: 10, opset_import: ["" : 18]> g ({dtype}[4] a, {dtype}[4] b) => ({dtype}[4] c) {{ {body} }}'


def report(source: str, target: str = OPENVINO, tolerate: str = "none") -> Report:
    judging = Judging(targets=find_targets(target), tolerate=Tolerances(Tolerance.of(tolerate)))
    opened = open_model(source)
    return advised(examine(opened, judging, "m.onnx"), opened, judging)


def commands(found: Report) -> list[list[str]]:
    return [[one.command for one in finding.actions] for finding in found]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (model("uint8"), ["minuend fix MODEL --target openvino-cpu@2026.4.1 -o OUT"]),
        (model("double"), []),
        (
            model("int64"),
            [f"minuend check MODEL --target {OPENVINO} --assume a=0..2147483647 --assume b=0..2147483647"],
        ),
        (
            model("int64", "[sub] d = Sub(a, b) c = Identity(d)"),
            [f"minuend check MODEL --target {OPENVINO} --assume a=0..2147483647 --assume b=0..2147483647"],
        ),
    ],
)
def test_only_what_helps_is_offered(source: str, expected: list[str]) -> None:
    assert commands(report(source)) == [expected]


def test_what_is_assumed_as_offered_leaves_nothing() -> None:
    (finding,) = report(model("int64"))
    assert finding.fixable is False
    assumed = {name: (lo, hi) for name, lo, hi in finding.assumable}
    assert mn.check(model("int64"), OPENVINO, assume=assumed).ok


def test_what_fix_repairs_is_what_is_offered() -> None:
    for path in ("encoder.torchscript-13.onnx", "quantise_back.torchscript-14.onnx", "background.torchscript-14.onnx"):
        for target in (OPENVINO, "onnxruntime-cpu@1.32.0"):
            source = str(MODELS / path)
            refusals = mn.fix(source, target, tolerate="none", run=False).refused
            refused = {place for one in refusals for place in (one.location, *one.others)}
            for finding in report(source, target):
                if finding.verdict == "different-numbers":
                    assert finding.fixable == (finding.location not in refused), (path, target, finding.location)


MASKED = """<ir_version: 8, opset_import: ["" : 17]> g (int64[6,4] mask) => (float[6,4] y)
    <float one = {1}, float low = {-10000}> { m = Cast<to=1>(mask) d = Sub(one, m) y = Mul(d, low) }"""


def test_a_mask_is_assumed_to_hold_zeros_and_ones_where_only_signs_of_zero_differ_then() -> None:
    (finding,) = report(MASKED, tolerate="sign-of-zero")
    assert (finding.severity, finding.assumable) == ("numbers", (("m", 0, 1),))
    assert mn.check(MASKED, OPENVINO, assume={"m": "0..1"}).ok
    assert not mn.check(MASKED, OPENVINO).ok
    (strict,) = report(MASKED)
    assert strict.assumable == ()  # the sign counts


SCALED = """<ir_version: 8, opset_import: ["" : 17]> g (float[1,3,8,8] x) => (float[1,3,6,6] y, float[1,3,8,8] z)
    <float[1,3,1,1] m = {0.5, 0.4, 0.3}, float[1,3,1,1] s = {0.2, 0.25, 0.3}, float[3,3,3,3] w = {WEIGHTS}>
    { d = Sub(x, m) z = Div(d, s) y = Conv(z, w) }""".replace("WEIGHTS", ", ".join(["0.1"] * 81))


def test_a_hint_with_which_fix_helps_is_offered_with_the_rewrite() -> None:
    (finding,) = report(SCALED)
    assert (finding.fixable, finding.fix_hint) == (False, "f32")
    (action,) = finding.actions
    assert (action.kind, action.setting) == ("fix", (("INFERENCE_PRECISION_HINT", "f32"),))
    assert action.command == f"minuend fix MODEL --target {OPENVINO} --hint f32 -o OUT"
    assert mn.fix(SCALED, OPENVINO, hint="f32", run=False).model is not None
    (refused,) = mn.fix(SCALED, OPENVINO, run=False).refused
    assert refused.instead == (
        "fix it with --hint f32, with which these were measured, and run it with INFERENCE_PRECISION_HINT=f32; "
        f"or run the model on another runtime than {OPENVINO}"
    )


def test_a_hint_that_is_enough_is_offered_without_a_rewrite() -> None:
    source = open_model(MODELS / "quantise_back.torchscript-14.onnx")
    judging = Judging(targets=find_targets(OPENVINO), tolerate=Tolerances(Tolerance.of("sign-of-zero")))
    first, *others = advised(examine(source, judging, "m.onnx"), source, judging)
    assert [one.tolerated for one in (first, *others)] == [None, "sign-of-zero", "sign-of-zero"]
    (action,) = first.actions
    assert (action.kind, action.setting) == ("set", (("INFERENCE_PRECISION_HINT", "f32"),))
    assert action.command == f"minuend check MODEL --target {OPENVINO} --hint f32"
    assert mn.check(MODELS / "quantise_back.torchscript-14.onnx", OPENVINO, hint="f32").ok


HALF = '<ir_version: 10, opset_import: ["" : 18]> g (uint8[4] a, uint8[4] b, double[4] x) => (uint8[4] c, double[4] y) '
HALF += "{ c = Sub(a, b) y = Sub(x, x) }"


def test_a_rewrite_beside_a_refusal_is_offered_in_part(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = report(HALF)
    assert [(one.fixable, one.partly) for one in found] == [(True, True), (False, True)]
    assert commands(found) == [[f"minuend fix MODEL --target {OPENVINO} --partial -o OUT"], []]
    source, out = tmp_path / "half.onnxtxt", tmp_path / "half.onnx"
    source.write_text(HALF)
    (command,), _ = commands(found)
    words = [{"MODEL": str(source), "OUT": str(out)}.get(word, word) for word in command.split()]
    assert run(capfd, *words[1:], "--no-run")[0] == 1
    assert out.exists()


def test_with_a_hint_too_a_rewrite_beside_a_refusal_is_offered_in_part() -> None:
    source = SCALED.replace("float[1,3,8,8] x)", "float[1,3,8,8] x, int64[4] p, int64[4] q)")
    source = source.replace("8] z)", "8] z, int64[4] r)").replace("y = Conv", "r = Sub(p, q) y = Conv")
    first, second = report(source)
    assert (first.fix_hint, first.partly, second.fixable) == ("f32", True, False)
    (action,) = first.actions
    assert action.command == f"minuend fix MODEL --target {OPENVINO} --hint f32 --partial -o OUT"


def test_what_does_not_count_stays_as_it_is() -> None:
    (finding,) = report(model("uint8"), tolerate="numbers")
    assert (finding.tolerated, finding.fixable, finding.assumable) == ("numbers", None, ())
    (fine,) = report(model("uint8"), "onnxruntime-cpu@1.32.0")
    assert (fine.verdict, fine.fixable) == ("ok", None)


def test_a_model_that_fix_does_not_read_is_left_alone() -> None:
    path = Path(__file__).parents[2] / "examples" / "directml" / "row_means.json"
    (finding,) = report(str(path))
    assert (finding.verdict, finding.fixable) == ("not-implemented", None)
    assert [one.kind for one in finding.actions] in (["convert"], [])


def test_a_large_file_is_not_copied_to_try_a_rewrite(monkeypatch: pytest.MonkeyPatch) -> None:
    path = MODELS / "background.torchscript-14.onnx"
    judging = Judging(targets=find_targets(OPENVINO))
    opened = open_model(path)
    found = examine(opened, judging, str(path))
    assert [one.fixable for one in advised(found, opened, judging) if one.verdict != "ok"]
    monkeypatch.setattr(advising, "_LARGEST", path.stat().st_size - 1)
    assert advised(found, opened, judging) == found
