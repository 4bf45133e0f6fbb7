"""Pages that people wrote show what their commands print."""

from __future__ import annotations

import shutil
from pathlib import Path

import page_runner
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("openvino")


@pytest.mark.parametrize("page", ["tutorial.md", "policies.md", "vectors.md", "arrays.md", "models.md", "standards.md"])
@pytest.mark.filterwarnings("default")  # of the runtimes' own packages
def test_what_a_page_shows_is_what_comes(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(Path(__file__).parents[2] / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for shown, came in page_runner.run(page, capfd):
        assert came == shown
