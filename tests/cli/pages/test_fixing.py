"""The page of ``fix``: what was rewritten, what was refused and why, and what still differs, on one screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run
from real_exports import EXPORTS, written

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

WIDTH, HEIGHT = 80, 40
OPENVINO, ONNXRUNTIME = "openvino-cpu@2026.4.1", "onnxruntime-cpu@1.32.0"


@pytest.fixture(params=EXPORTS)
def export(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return written(request.param, tmp_path)


@pytest.mark.parametrize("options", [(OPENVINO,), (OPENVINO, "--hint", "f32"), (ONNXRUNTIME,)])
def test_what_is_fixed_of_a_real_export_fits_on_one_screen(
    export: str, options: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["fix", export, "--no-run", "-o", "fixed.onnx", "--target", *options]
    status, out, err = run(capfd, *command)
    lines = out.splitlines()
    assert (status in (0, 1), err) == (True, "")
    assert len(lines) <= HEIGHT
    assert max(map(len, lines)) <= WIDTH
    differs = [line for line in lines if " still differ" in line and "(tolerated)" not in line]
    assert bool(differs) == bool(status)
    assert Path("fixed.onnx").exists() == (f"{export} → fixed.onnx for " in out)
    for i, line in enumerate(lines):
        if line.startswith(("rewritten: ", "refused: ")):
            assert any(one.startswith("  why: ") for one in lines[i + 1 : i + 5])


def test_what_a_setting_and_a_rewrite_make_right_is_right(export: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What the page recommends first is done: fewer subtractions differ than without."""
    command = ["fix", export, "--no-run", "-o", "fixed.onnx", "--target", OPENVINO]
    _, out, _ = run(capfd, *command)
    if "recommended first: " not in out:
        return
    before, after = (_differing(out), _differing(run(capfd, *command, "--hint", "f32", "--partial")[1]))
    assert after < before


def _differing(page: str) -> int:
    counts = [line.split()[0] for line in page.splitlines() if " still differ" in line and "(tolerated)" not in line]
    return sum(int(one) for one in counts if one.isdecimal())
