"""What ``sub`` shows."""

from __future__ import annotations

from typing import Any

import pytest

from minuend.cli.pages.difference import compare_page, sub_page
from minuend.cli.pages.layout import Table, text
from minuend.core.elements import TYPES
from minuend.files.difference import SubReport, Written
from minuend.files.policy_comparison import Answers, CompareReport, Comparison

INT8, UINT64, FLOAT = TYPES["int8"], TYPES["uint64"], TYPES["float32"]


def written(name: str, **found: Any) -> Written:
    nothing = {"overflowed": None, "low": None, "high": None, "nans": None, "nodata": None}
    return Written(name, INT8, (2, 3), (3,), INT8, (2, 3), 6, **(nothing | found))


@pytest.mark.parametrize(
    ("overflowed", "line"),
    [
        (0, "overflow: wrap, every difference fits int8"),
        (1, "overflow: wrap, 1 difference (16.7 %) does not fit int8"),
        (3, "overflow: wrap, 3 differences (50 %) do not fit int8"),
    ],
)
def test_a_written_tensor_is_told_in_sentences(overflowed: int, line: str) -> None:
    tensor = written("x", overflowed=overflowed, low=-3, high=100)
    report = SubReport("a", "b", "o", "onnx Sub-14", "wrap", (tensor,), (), 2.0, 4_000_000_000)
    assert sub_page(report) == [
        "a − b, as onnx Sub-14 → o",
        "int8 (2, 3) − (3,) = (2, 3), 6 elements",
        line,
        "lowest -3, highest 100",
        "1 tensor written in 2.000 s (2.00 GB/s)",
    ]
    assert sub_page(report, "p.png")[-1] == "drawn in p.png"


@pytest.mark.parametrize(
    ("found", "line"),
    [
        ({"low": -0.5, "high": 1e30, "nans": 0}, "lowest -0.5, highest 1e+30, 0 NaN"),
        ({"nans": 6}, "6 NaN"),
        ({"low": 1.0, "high": 2.0, "nans": 1, "nodata": 3}, "lowest 1, highest 2, 1 NaN, 3 nodata"),
        ({"low": 1, "high": 2, "nodata": 0}, "lowest 1, highest 2, 0 nodata"),
        ({}, "1 tensor written in 2.000 s (2.00 GB/s)"),  # empty
    ],
)
def test_what_the_elements_are_is_a_line(found: dict[str, Any], line: str) -> None:
    report = SubReport("a", "b", "o", "", "wrap", (written("x", **found),), (), 2.0, 4_000_000_000)
    assert sub_page(report)[2] == line


def test_several_written_tensors_are_a_table() -> None:
    tensors = tuple(written(f"t{i}", overflowed=i or None, low=-1, high=i / 2) for i in range(11))
    page = sub_page(SubReport("a", "b", "o", "", "wrap", tensors, ("z",), 0.5, 10**9))
    assert page[0] == "a − b → o"
    assert isinstance(page[1], Table)
    assert page[1].header == ("tensor", "dtype", "shape", "elements", "overflowed", "lowest", "highest")
    assert page[1].rows[0] == ("t0", "int8", "(2, 3)", "6", "", "-1", "0")
    assert page[1].rows[1] == ("t1", "int8", "(2, 3)", "6", "1", "-1", "0.5")
    assert page[2:] == ["skipped, in one file only: z", "11 tensors written in 0.500 s (2.00 GB/s)"]


def test_columns_of_nan_and_nodata_are_there_where_a_tensor_may_have_them() -> None:
    page = sub_page(SubReport("a", "b", "o", "", "wrap", (written("i"), written("f", nans=2)), (), 0.5, 10**9))
    assert isinstance(page[1], Table)
    assert (page[1].header[7:], [row[7:] for row in page[1].rows]) == (("NaN",), [("",), ("2",)])


def test_a_comparison_shows_what_does_not_fit_and_long_numbers_whole() -> None:
    rows = (
        Answers("wrap", UINT64, 2**64 - 2, 2**64 - 1, 2**64 - 1),
        Answers("widen", TYPES["int64"], None, None, None, 2),
    )
    tensor = Comparison("x", UINT64, (3,), (3,), (3,), rows, 1, ((0,), 3, 4))
    shown = text(compare_page(CompareReport("a", "b", "", (tensor,), (), 1.0, 48)))
    assert shown == (
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
    page = compare_page(CompareReport("a", "b", "", (tensor,), (), 1.0, 16))
    assert page[1:4] == [
        "float32 (2,), 2 elements",
        "1 difference is NaN",
        Table(("dtype", "lowest", "highest"), (("float32", "-0.25", "1e+30"),), frozenset({1, 2})),
    ]
