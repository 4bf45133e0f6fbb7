"""Every figure of README and of the pages that people write has a source: a program, a test or a constant."""

from __future__ import annotations

import re

import figures
import numpy as np
import pytest

import minuend as mn


def test_every_figure_comes_from_a_program_a_test_or_a_constant() -> None:
    """``python tools/figures.py --write`` puts today's figures into the register; people write where they come from."""
    assert figures.faults() == []


def test_figures_are_found_in_prose_and_tables_and_not_in_code() -> None:
    text = "# A\n```\n5 MiB\n```\nIt takes `7 s`, 1.5 s of 2,048 cells.\n## B 3 s\nno. 4 and 0.5\n| 99.5 % |\n"
    assert list(figures.sections(text)) == [("A", [(5, "1.5 s"), (5, "2,048 cells")]), ("B 3 s", [(8, "99.5 %")])]


def test_figures_are_found_in_words_and_without_units_but_not_in_versions_and_arithmetic() -> None:
    text = "Six runs, six times 600; 2 of 230, level in 14, mode 0600, IEEE 754, 200 − 150, NumPy 2.4.6, at 12:30.\n"
    assert [figure for _, figure in next(figures.sections(text))[1]] == ["six times", "600", "2 of 230", "level in 14"]


def test_the_same_pairs_are_what_the_policies_give() -> None:
    page = (figures.ROOT / "docs" / "policies.md").read_text("utf-8").replace("−", "-")
    rows = re.findall(r"^\| `(\w+)` (-?\d+) - (\d+) \| (.+) \|$", page, re.MULTILINE)
    assert len(rows) == 6
    for dtype, a, b, cells in rows:
        x, y = (np.array([int(one)], dtype) for one in (a, b))
        shown = cells.split(" | ")
        assert shown[0] == shown[2] == str(np.subtract(x, y)[0]) == str(mn.subtract(x, y)[0])
        assert shown[3] == str(mn.subtract(x, y, overflow="saturate")[0])
        widened = mn.subtract(x, y, overflow="widen")
        assert shown[4] == f"{widened[0]}, `{widened.dtype}`"
        try:
            assert shown[5] == str(mn.subtract(x, y, overflow="error")[0])
        except mn.OverflowFound:
            assert shown[5] == "raised"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("tests/docs/test_figures.py", ""), ("tools/figures.py::REGISTER", ""), ("python tools/figures.py --write", ""),
        ("python -m benchmarks.deltas --mib 64", ""), ("minuend demo", ""), ("pytest tests/docs", ""),
        ("tools/figures.py::NOTHING", "no NOTHING in tools/figures.py"), ("tests/nothing.py", "no tests/nothing.py"),
        ("python -m benchmarks.nothing", "no benchmarks/nothing"), ("pytest tests/nothing", "no tests/nothing"),
    ],
)  # fmt: skip
def test_a_source_has_to_be_there(source: str, why: str) -> None:
    assert figures._missing(source) == why


def test_a_quoted_figure_stands_on_the_page() -> None:
    assert figures._has("ahead in 1004 of 1,021, 3.20 times", "1,004 cells")
    assert figures._has("ahead in 1004 of 1,021, 3.20 times", "1,021")
    assert not figures._has("ahead in 1004 of 1,021, 3.20 times", "3.2 times")
    assert not figures._has("11004", "1,004")
    assert figures._has("level within 5% in 14, behind in 3.", "level in 14")
    assert not figures._has("level within 5% in 14, behind in 3.", "behind in 14")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda row: row.update(figures=["2 s"]), "registered are ['2 s']"),
        (lambda row: row.update(sources=[]), "no source"),
        (lambda row: row.update(section="Nowhere"), "a row without figures"),
        (lambda row: row.update(sources=["docs/benchmarks.md"], figures=None), "are not on the pages that it quotes"),
        (lambda row: row.update(sources=["src/minuend/child.py::SECONDS"]), "SECONDS is 600, which is not stated"),
    ],
)
def test_what_the_register_lacks_is_found(change, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = figures.registered()
    key = ("docs/deltas.md", "Sizes and speed")
    row = dict(rows.pop(key))
    listed = row["figures"]
    change(row)
    row["figures"] = row["figures"] or listed
    monkeypatch.setattr(figures, "registered", lambda: {**rows, (row["page"], row["section"]): row})
    assert any(why in fault for fault in figures.faults())
