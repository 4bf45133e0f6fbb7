"""Pages: text, Markdown, JSON."""

from __future__ import annotations

import json

import pytest

from minuend import plain
from minuend.actions.difference import Answers, CompareReport, Comparison, SubReport, Written
from minuend.cli import pages
from minuend.cli.pages import Table
from minuend.core.elements import TYPES
from minuend.standards.dialects import diff_versions, spec

INT8, UINT64, FLOAT = TYPES["int8"], TYPES["uint64"], TYPES["float32"]


def test_text_folds_words_and_never_numbers() -> None:
    page = ["A line.", Table(("name", "number"), (("a b " * 20, "1" * 60),), frozenset({1}))]
    lines = pages.text(page, 80).splitlines()
    assert lines[0] == "A line."
    assert sum("1" * 60 in line for line in lines) == 1
    assert max(map(len, lines)) <= 80
    (wide,) = (line for line in pages.text(page, 40).splitlines() if "1" * 60 in line)
    assert len(wide) > 40


def test_markup_in_names_is_shown_as_it_is() -> None:
    table = Table(("name",), (("[bold]x[/bold] :smile: *a*|`b`",),))
    assert "[bold]x[/bold] :smile: *a*|`b`" in pages.text([table])
    assert r"[bold]x[/bold] :smile: \*a\*\|\`b\`" in pages.markdown([table])


def test_markdown_aligns_numbers_right() -> None:
    assert pages.markdown(["Note.", Table(("onnx\n6", "n"), (("a", "1"),), frozenset({1}))]) == (
        "Note.\n\n| onnx 6 | n |\n|---|---:|\n| a | 1 |\n"
    )


def test_json_has_no_numbers_that_json_lacks() -> None:
    assert json.loads(plain.as_json({"a": [float("nan"), float("-inf"), 1.5], "b": (1, None)})) == {
        "a": ["nan", "-inf", 1.5],
        "b": [1, None],
    }


def test_a_version_is_told_with_its_span() -> None:
    assert pages.spec_page(spec("onnx", 6))[0] == "ONNX Sub-6: since opset 6, until opset 7 changes it"
    assert pages.spec_page(spec("onnx", 20))[0] == "ONNX Sub-14: since opset 14"


def test_a_difference_of_versions_speaks_the_dialects_words() -> None:
    old, new = spec("directml", "2.1"), spec("directml", "4.1")
    title, table = pages.diff_page(old, new, diff_versions("directml", "2.1", "4.1"))
    assert title == "DirectML ELEMENT_WISE_SUBTRACT-2.1 → ELEMENT_WISE_SUBTRACT-4.1"
    assert isinstance(table, Table)
    assert table.rows == (("types", "+INT64 +UINT64"), ("ranks", "4 → 1 to 8"))


def written(name: str, overflowed: int | None) -> Written:
    return Written(name, INT8, (2, 3), (3,), INT8, (2, 3), overflowed)


@pytest.mark.parametrize(
    ("overflowed", "line"),
    [
        (None, "overflow: wrap, not counted (--count does)"),
        (0, "overflow: wrap, every difference fits int8"),
        (1, "overflow: wrap, 1 difference (16.7 %) does not fit int8"),
        (3, "overflow: wrap, 3 differences (50 %) do not fit int8"),
    ],
)
def test_a_written_tensor_is_told_in_sentences(overflowed: int | None, line: str) -> None:
    report = SubReport("a", "b", "o", "onnx Sub-14", "wrap", (written("x", overflowed),), (), 2.0, 4_000_000_000)
    assert pages.sub_page(report) == [
        "a − b, as onnx Sub-14 → o",
        "int8 (2, 3) − (3,) = (2, 3), 6 elements",
        line,
        "1 tensor written in 2.000 s (2.00 GB/s)",
    ]


def test_several_written_tensors_are_a_table() -> None:
    tensors = tuple(written(f"t{i}", i or None) for i in range(11))
    page = pages.sub_page(SubReport("a", "b", "o", "", "wrap", tensors, ("z",), 0.5, 10**9))
    assert page[0] == "a − b → o"
    assert isinstance(page[1], Table)
    assert page[1].rows[:2] == (("t0", "int8", "(2, 3)", "6", ""), ("t1", "int8", "(2, 3)", "6", "1"))
    assert page[2:] == ["skipped, in one file alone: z", "11 tensors written in 0.500 s (2.00 GB/s)"]


def test_a_comparison_shows_what_does_not_fit_and_long_numbers_whole() -> None:
    rows = (
        Answers("wrap", UINT64, 2**64 - 2, 2**64 - 1, 2**64 - 1),
        Answers("widen", TYPES["int64"], None, None, None, 2),
    )
    tensor = Comparison("x", UINT64, (3,), (3,), (3,), rows, 1, ((0,), 3, 4))
    text = pages.text(pages.compare_page(CompareReport("a", "b", "", (tensor,), (), 1.0, 48)))
    assert text == (
        "a − b\n"
        "uint64 (3,), 3 elements\n"
        "1 difference (33.3 %) does not fit uint64\n"
        "the first is at index (0,): 3 - 4 = -1\n"
        "\n"
        "overflow  dtype                 lowest               highest        first overflow\n"
        "──────────────────────────────────────────────────────────────────────────────────\n"
        "wrap      uint64  18446744073709551614  18446744073709551615  18446744073709551615\n"
        "widen     int64           2 do not fit\n"
        "\n"
        "nothing written; -o OUT writes the difference\n"
    )


def test_floats_have_no_policies() -> None:
    tensor = Comparison("x", FLOAT, (2,), (2,), (2,), (Answers("wrap", FLOAT, -0.25, 1e30),), nans=1)
    page = pages.compare_page(CompareReport("a", "b", "", (tensor,), (), 1.0, 16))
    assert page[1:4] == [
        "float32 (2,), 2 elements",
        "1 difference is NaN",
        Table(("dtype", "lowest", "highest"), (("float32", "-0.25", "1e+30"),), frozenset({1, 2})),
    ]
