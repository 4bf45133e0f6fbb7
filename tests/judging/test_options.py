"""What models are judged on, and which releases are installed besides."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run

from minuend.judging.options import find_targets, installed_otherwise
from minuend.runtimes import registry

MODEL = '<ir_version: 10, opset_import: ["" : 14]> g (int8[2] a, int8[2] b) => (int8[2] c) { c = Sub(a, b) }'
NOTE = (
    "onnxruntime-cpu 1.31.1 is installed here, and 1.32.0 is judged; --target onnxruntime-cpu@installed judges the "
    "installed release"
)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "release", lambda adapter: "1.31.1" if adapter.NAME == "onnxruntime-cpu" else None)


@pytest.mark.parametrize(
    ("names", "notes"),
    [
        (["onnxruntime-cpu"], [NOTE]),
        (["onnxruntime-cpu@1.32.0", "openvino-cpu"], [NOTE]),
        (["onnxruntime-cpu@1.31.1"], []),
        (["onnxruntime-cpu@installed"], []),
        (["onnxruntime-cpu@1.31.1", "onnxruntime-cpu@1.32.0"], []),
        (["onnxruntime-cpu@1.30.1", "ort"], [NOTE.replace("1.32.0 is", "1.30.1 and 1.32.0 are")]),
        (["directml@5.1"], []),
    ],
)
def test_another_release_than_the_judged_one_is_said(names: list[str], notes: list[str]) -> None:
    assert list(installed_otherwise(find_targets(names))) == notes


def test_check_says_so_in_one_line_that_is_no_part_of_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    Path("m.onnxtxt").write_text(MODEL)
    status, out, err = run(capfd, "check", "m.onnxtxt", "--target", "ort")
    assert (status, err) == (0, f"note: {NOTE}\n")
    assert "1.31.1" not in out
    assert run(capfd, "check", "m.onnxtxt", "--target", "ort@installed")[2] == ""
    assert run(capfd, "check", "m.onnxtxt", "--target", "ort", "-q") == (0, "", "")
