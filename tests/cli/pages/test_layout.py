"""Pages as text."""

from __future__ import annotations

from minuend.cli.pages.layout import Table, text


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
