"""Across modules: what docs/deltas.md shows is what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_runner import blocks, printed, text

pytest.importorskip("safetensors")
pytest.importorskip("zstandard")

from minuend.files.deltas.delta_files import BLOCK_BYTES


def without_figures(shown: str) -> str:
    """A text without what another release of zstd, or another run, changes: figures, and how wide columns are."""
    return re.sub(r"[ ─]+", " ", re.sub(r"[0-9.]+", "N", shown))


def test_the_commands_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (making,), (console,) = blocks("deltas.md", "python"), blocks("deltas.md", "console")
    exec(making, {})
    assert without_figures(printed(console, capfd)) == without_figures(console)
    assert Path("again.safetensors").read_bytes() == Path("tuned.safetensors").read_bytes()


def test_the_page_names_the_size_of_blocks() -> None:
    assert f"blocks of {BLOCK_BYTES >> 20} MiB" in text("deltas.md")
