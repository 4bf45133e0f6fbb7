"""Globs of models: by the rules of Python's glob, and without following links in circles."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from minuend.models.searching import _expanded, search

PATTERNS = (
    "*", "**/*.onnx", "a/*", "*/*.onnx", "**/a/*.onnx", "./*.onnx", "**/**/*.onnx", ".*", "a/../*.onnx", "?.onnx",
    "[ax]/**/*.onnx", "a/1.onnx/*", "a//*.onnx", "nothing/*", "**/.h/*", "x/[!b]/*",
)  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in ("a/1.onnx", "a/b/2.onnx", "a/b/.h/3.onnx", "x/a/4.onnx", "5.onnx", ".6.onnx", "notes.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_glob_means_what_it_means_to_python(tree: Path, pattern: str) -> None:
    for one in (pattern, f"{tree}/{pattern}"):
        assert {*map(os.path.normpath, _expanded(one, []))} == {*map(os.path.normpath, glob.glob(one, recursive=True))}


def test_any_number_of_folders_is_every_folder_once(tree: Path) -> None:
    folders = {os.path.dirname(path) for path in glob.glob("**/", recursive=True)}
    assert {path for path in _expanded("**", []) if path} == folders | {"a", "a/b", "x", "x/a"}


@pytest.mark.parametrize("given", ["a", "a/b/*"])
def test_what_git_lfs_did_not_fetch_is_found_or_named(tree: Path, given: str) -> None:
    for name in ("ir.xml", "tokens.json"):
        (tree / "a/b" / name).write_text(
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 5\n"
        )
    left: list[str] = []
    assert "a/b/ir.xml" in search([given], left.append)
    assert left == ["a/b/tokens.json"]


@pytest.mark.parametrize("given", ["**/*.onnx", "a/*.onnx", "*/b/*.onnx"])
def test_a_folder_that_cannot_be_listed_is_named(tree: Path, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("scandir", "listdir"):
        listed = getattr(os, name)

        def refuse(path: str, listed: Callable[[str], object] = listed) -> object:
            if os.path.basename(path) in ("a", "b"):
                raise PermissionError(13, "Permission denied", path)
            return listed(path)

        monkeypatch.setattr(os, name, refuse)
    with pytest.raises(PermissionError):
        search([given])


def test_what_is_beside_a_folder_that_cannot_be_listed_is_found(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole search ended with the error."""
    listed = os.scandir

    def refuse(path: str) -> object:
        if os.path.basename(path) == "b":
            raise FileNotFoundError(2, "No such file or directory", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    lost: list[OSError] = []
    assert sorted(search(["."], lost=lost.append)) == [".6.onnx", "5.onnx", "a/1.onnx", "x/a/4.onnx"]
    assert search(["a/b", "x"], lost=lost.append) == ["x/a/4.onnx"]
    assert [os.path.normpath(error.filename) for error in lost] == ["a/b", "a/b"]
    with pytest.raises(FileNotFoundError):
        search(["a/b"], lost=lost.append)


def test_links_that_lead_back_are_not_followed_for_ever(tree: Path) -> None:
    for name in ("loop", "x/up", "a/b/top"):
        os.symlink(tree, tree / name)
    assert sorted(_expanded("**/" * 24 + "*.onnx", [])) == ["5.onnx", "a/1.onnx", "a/b/2.onnx", "x/a/4.onnx"]
    assert sorted(_expanded("x/up/*.onnx", [])) == ["x/up/5.onnx"]
