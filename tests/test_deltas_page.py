"""What docs/deltas.md shows is what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("safetensors")
pytest.importorskip("zstandard")

from minuend.cli.program import main
from minuend.storage.delta_files import BLOCK_BYTES

PAGE = (Path(__file__).parent.parent / "docs" / "deltas.md").read_text(encoding="utf-8")


def without_figures(text: str) -> str:
    """A text without what another release of zstd, or another run, changes: figures, and how wide columns are."""
    return re.sub(r"[ ─]+", " ", re.sub(r"[0-9.]+", "N", text))


def test_the_commands_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (making,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (console,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    exec(making, {})
    told = ""
    for line in console.splitlines():
        if line.startswith("$ minuend "):
            assert main(line.removeprefix("$ minuend ").split()) == 0
            captured = capfd.readouterr()
            told += f"{line}\n{captured.out}{captured.err}"
    assert without_figures(told) == without_figures(console)
    assert Path("again.safetensors").read_bytes() == Path("tuned.safetensors").read_bytes()


def test_the_page_names_the_size_of_blocks() -> None:
    assert f"blocks of {BLOCK_BYTES >> 20} MiB" in PAGE
