"""Pages as text."""

from __future__ import annotations

import shlex

import pytest

from minuend.cli.pages.layout import Labelled, Table, text


def test_text_folds_words_and_never_numbers() -> None:
    page = ["A line.", Table(("name", "number"), (("a b " * 20, "1" * 60),), frozenset({1}))]
    lines = text(page, 80).splitlines()
    assert lines[0] == "A line."
    assert sum("1" * 60 in line for line in lines) == 1
    assert max(map(len, lines)) <= 80
    (wide,) = (line for line in text(page, 40).splitlines() if "1" * 60 in line)
    assert len(wide) > 40


def test_markup_in_names_is_shown_as_it_is() -> None:
    table = Table(("name",), (("[bold]x[/bold] :smile: *a*|`b`",),))
    assert "[bold]x[/bold] :smile: *a*|`b`" in text([table])


_FOLDERS = "a folder/" * 20


@pytest.mark.parametrize("path", [f"/{_FOLDERS}model.onnx", f"/{_FOLDERS.replace('a folder', '模型')}模型 1.onnx"])
@pytest.mark.parametrize("colour", [False, True])
def test_a_command_can_be_pasted_however_long_its_words_are(path: str, colour: bool) -> None:
    words = ["minuend", "check", path, "--target", "onnxruntime-cpu"]
    shown = text([Labelled("  do:  ", shlex.join(words), command=True)], 60, colour=colour)
    assert shlex.split(shown.replace("\\\n", "").removeprefix("  do:  ")) == words
