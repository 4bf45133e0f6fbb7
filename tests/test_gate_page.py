"""Across modules: what docs/gate.md shows is what its commands print, and its files are read."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from page_runner import blocks, printed

pytest.importorskip("onnx")

from minuend.judging.configuration import Usual, parse
from minuend.runtimes.tolerance import Tolerance

ROOT = Path(__file__).parent.parent
CONSOLE = blocks("gate.md", "console")


def timeless(text: str) -> str:
    """A text without the date of a baseline, which folds lines elsewhere when it does not change its width."""
    return re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "2026-11-23", text)


@pytest.mark.parametrize("block", CONSOLE, ids=[block.splitlines()[0] for block in CONSOLE])
def test_the_commands_print_what_the_page_shows(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    assert timeless(printed(block, capfd)) == timeless(block)


def test_the_file_of_the_page_is_read() -> None:
    (shown,) = blocks("gate.md", "toml")
    config = parse("minuend.toml", shown)
    assert [rule.path for rule in config.rules] == ["", "exports/bert*.onnx"]
    assert [entry.verdict for entry in config.accepts] == ["different-numbers"]
    assert config.usual == Usual(
        ("exports", "ir"),
        ("onnxruntime-cpu", "openvino-cpu"),
        frozenset({"different-numbers", "not-implemented"}),
        "f32",
        "avx2",
    )
    assert config.tolerances_of("exports/bert-1.onnx").of("openvino-cpu@2026.4.1") == Tolerance.of(
        "sign-of-zero,rounding=8"
    )
    assert config.tolerances_of("m.onnx").of("openvino-cpu@2026.4.1") == Tolerance.of("subnormal")


def test_the_action_and_the_hook_are_named_as_they_are() -> None:
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe", pure=True)
    workflow, hooks = (yaml.load(block) for block in blocks("gate.md", "yaml"))
    action = yaml.load((ROOT / "action.yml").read_text("utf-8"))
    (used,) = [step for step in workflow if step.get("id") == "minuend"]
    assert used["with"].keys() <= action["inputs"].keys()
    assert all(name in used["with"] for name, one in action["inputs"].items() if one.get("required"))
    (known,) = yaml.load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for repo in hooks["repos"] for hook in repo["hooks"]] == [known["id"]]
