"""What is printed."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from command_line import minuend as process
from command_line import run

from minuend.cli.program import minuend
from minuend.cli.verbs import Verb


def test_what_is_piped_has_no_colour_codes() -> None:
    out = subprocess.run(process("spec"), capture_output=True, text=True, check=True, timeout=60).stdout
    assert "\x1b" not in out


# ---- how much is printed, and how ---------------------------------------------------------------------------------

MODEL = Path(__file__).parents[2] / "examples" / "bgsub.onnx"
CHECK = ("check", str(MODEL), "--target", "onnxruntime-cpu@1.32.0,openvino-cpu@2026.4.1")


def test_quiet_prints_errors_and_json_alone(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    assert run(capfd, *CHECK, "-q") == (1, "", "")
    status, out, err = run(capfd, *CHECK, "--quiet", "--json")
    assert (status, json.loads(out)["models"][0]["ok"], err) == (1, False, "")
    assert run(capfd, "spec", "onnx:14", "--quiet") == (0, "", "")
    assert run(capfd, "spec", "onnx:99", "-q") == (0, "", "")
    assert run(capfd, "spec", "onyx", "-q")[2].startswith("error: no dialect")
    assert run(capfd, "spec", "onnx:14")[1]  # it holds for one command


def test_verbose_shows_what_is_right_too(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    argv = ("check", str(MODEL), "--target", "onnxruntime-cpu@1.32.0")
    _, plain, _ = run(capfd, *argv)
    _, whole, _ = run(capfd, *argv, "-v")
    assert "subtract_background" not in plain
    assert "graph.node[0] 'subtract_background': Sub-14, uint8, same shapes" in whole
    _, whole, _ = run(capfd, *argv, str(MODEL.parent / "legacy_axis.onnxtxt"), "--verbose")
    assert "results as expected" in whole


@pytest.mark.parametrize(
    ("options", "environment", "coloured"),
    [
        ([], {}, False), (["--color", "always"], {}, True), (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True), ([], {"FORCE_COLOR": "0"}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False), (["--color=auto"], {"FORCE_COLOR": "1"}, True),
    ],
)  # fmt: skip
def test_colours_are_by_option_then_environment(
    options: list[str], environment: dict[str, str], coloured: bool, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    pytest.importorskip("onnx")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[31m" in run(capfd, *CHECK, *options)[1]) == coloured
    assert ("\x1b[31m" in run(capfd, "spec", "onyx", *options)[2]) == coloured


def test_columns_say_how_wide_a_page_is_in_a_pipe_too(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx")
    narrow = max(map(len, run(capfd, *CHECK)[1].splitlines()))
    monkeypatch.setenv("COLUMNS", "150")
    assert narrow <= 80 < max(map(len, run(capfd, *CHECK)[1].splitlines())) <= 150


def test_every_verb_s_help_opens_with_two_examples_and_names_its_page(capfd: pytest.CaptureFixture[str]) -> None:
    verbs = {name: one for name, one in minuend.commands.items() if isinstance(one, Verb)}
    verbs |= {f"delta {name}": one for name, one in minuend.commands["delta"].commands.items()}
    assert len(verbs) >= 19
    for name, verb in verbs.items():
        _, out, _ = run(capfd, *name.split(), "--help")
        examples = out.partition("Examples:\n")[2].split("\n")[:2]
        assert len(verb.examples) == 2, name
        assert [line.strip() for line in examples] == [f"minuend {one}" for one in verb.examples]
        for example in verb.examples:
            verb.make_context(name, shlex.split(example.removesuffix(" | source"))[len(name.split()) :])
        assert f"More: {verb.page}." in out
        assert (Path(__file__).parents[2] / verb.page).exists()
        assert len(out.partition("\nOptions:\n")[2].splitlines()) <= 30, name


def test_a_release_is_never_folded_over_two_lines(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx")
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = run(capfd, *CHECK)
    assert ["openvino-cpu@2026.4.1", "different-numbers"] in [line.split()[:2] for line in out.splitlines()]


# ---- GitHub Actions ------------------------------------------------------------------------------------------------


def test_findings_are_annotations_and_a_summary_in_github_actions(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert run(capfd, *CHECK)[2] == ""
    assert not (tmp_path / "summary.md").exists()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tmp_path / "broken,1.onnx").write_bytes(b"no model")
    status, out, err = run(capfd, *CHECK, str(tmp_path / "broken,1.onnx"), "--json")
    assert status == 2
    json.loads(out)
    broken, found = err.splitlines()
    assert broken.startswith(f"::error file={tmp_path}/broken%2C1.onnx,title=cannot be read::")
    assert found == (
        f"::error file={MODEL},title=different-numbers on openvino-cpu@2026.4.1::"
        "graph.node[0] 'subtract_background': numbers in uint8: 5 − 10 = 0, expected 251"
        "%0Awhy: saturates instead of wrapping"
        f"%0Ado: minuend fix {MODEL} --target openvino-cpu@2026.4.1 -o bgsub.fixed.onnx"
    )
    assert run(capfd, *CHECK, "--fail-on", "unknown")[2].startswith("::warning file=")
    text = (tmp_path / "summary.md").read_text("utf-8")
    assert "### minuend check: 2 models on onnxruntime-cpu@1.32.0, openvino-cpu@2026.4.1\n" in text
    assert "| model | place | target | verdict | what | why | what to do |\n" in text
    assert (
        text.count(f"| {MODEL} | graph.node[0] 'subtract_background' | openvino-cpu@2026.4.1 | different-numbers |")
        == 2
    )
    run(capfd, *CHECK[:3], "onnxruntime-cpu@1.32.0")
    assert "### minuend check: 1 model on onnxruntime-cpu@1.32.0\n" in (tmp_path / "summary.md").read_text("utf-8")
    assert (tmp_path / "summary.md").read_text("utf-8").endswith("Every subtraction is right.\n\n")
