"""``sub``: what was written, or the overflow policies' answers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minuend.cli.pages.layout import Page, Table
from minuend.cli.words import counted, number
from minuend.core.shapes import format_shape
from minuend.operators import SUBTRACT
from minuend.plain import plain

if TYPE_CHECKING:
    from minuend.files.difference import SubReport, Written
    from minuend.files.policy_comparison import CompareReport, Comparison


def sub_page(report: SubReport, plot: str | None = None) -> Page:
    """Show what was subtracted and written, and where it was drawn."""
    speed = f" ({report.nbytes / report.seconds / 1e9:.2f} GB/s)" if report.seconds else ""
    page: list[str | Table] = [f"{_title(report)} → {report.out}"]
    if len(report.tensors) == 1:
        page += _written_lines(report.tensors[0], report.overflow)
    else:
        page.append(_written_table(report.tensors))
    page += [*_skipped(report.skipped), *report.notes]
    page.append(f"{counted(len(report.tensors), 'tensor')} written in {report.seconds:.3f} s{speed}")
    return page if plot is None else [*page, f"drawn in {plot}"]


def compare_page(report: CompareReport) -> Page:
    """Show the policies' answers side by side."""
    page: list[str | Table] = [_title(report)]
    for tensor in report.tensors:
        name = f"{tensor.name}: " if len(report.tensors) > 1 else ""
        page.append(f"{name}{_types(tensor)}, {counted(tensor.elements, 'element')}")
        page += _found_lines(tensor)
        page.append(_answers(tensor))
    return [*page, *_skipped(report.skipped), *report.notes, "nothing written; -o OUT writes the difference"]


def sub_json(report: SubReport | CompareReport, plot: str | None = None) -> dict[str, Any]:
    """What was subtracted as JSON: the report's fields, element types by name, and where it was drawn."""
    data: dict[str, Any] = plain(report) | ({} if plot is None else {"plot": plot})
    for tensor in data["tensors"]:
        for row in (tensor, *tensor.get("answers", ())):
            row.update({key: row[key]["name"] for key in ("element", "result") if key in row})
    return data


def _title(report: SubReport | CompareReport) -> str:
    rules = f", as {report.rules}" if report.rules else ""
    return f"{report.a} − {report.b}{rules}"


def _written_lines(tensor: Written, overflow: str) -> list[str]:
    lines = [f"{_types(tensor)}, {counted(tensor.elements, 'element')}"]
    if tensor.overflowed is not None:
        lines.append(f"overflow: {overflow}, {_fit(tensor.overflowed, tensor.elements, tensor.element.name)}")
    ends = [] if tensor.low is None else [f"lowest {number(tensor.low)}, highest {number(tensor.high)}"]
    facts = [*ends, *(f"{count} {name}" for name, count in _missing(tensor).items() if count is not None)]
    return [*lines, ", ".join(facts)] if facts else lines


def _written_table(tensors: Sequence[Written]) -> Table:
    # What no tensor of the file can have needs no column.
    columns = [name for name in _missing(tensors[0]) if any(_missing(one)[name] is not None for one in tensors)]
    head = ("tensor", "dtype", "shape", "elements", "overflowed", "lowest", "highest", *columns)
    rows = (
        (
            tensor.name,
            tensor.result.name,
            format_shape(tensor.shape),
            str(tensor.elements),
            number(tensor.overflowed),
            number(tensor.low),
            number(tensor.high),
            *(number(_missing(tensor)[name]) for name in columns),
        )
        for tensor in tensors
    )
    return Table(head, tuple(rows), frozenset(range(3, len(head))))


def _missing(tensor: Written) -> dict[str, int | None]:
    return {"NaN": tensor.nans, "nodata": tensor.nodata}


def _found_lines(tensor: Comparison) -> list[str]:
    if not tensor.element.is_integer:
        return [f"{counted(tensor.nans, 'difference')} {'is' if tensor.nans == 1 else 'are'} NaN"]
    fitting = _fit(tensor.overflowed, tensor.elements, tensor.element.name)
    if tensor.first is None:
        return [fitting]
    index, a, b = tensor.first
    return [fitting, f"the first is at index {index}: {SUBTRACT.equation(a, b)}"]


def _answers(tensor: Comparison) -> Table:
    rows = tuple(
        (
            row.policy if tensor.element.is_integer else "none (floats)",
            row.element.name,
            *((f"{row.unfit} do not fit", "") if row.unfit else (number(row.low), number(row.high))),
            number(row.first),
        )
        for row in tensor.answers
    )
    if not tensor.element.is_integer:
        return Table(("dtype", "lowest", "highest"), tuple(row[1:4] for row in rows), frozenset({1, 2}))
    return Table(("overflow", "dtype", "lowest", "highest", "first overflow"), rows, frozenset({2, 3, 4}))


def _types(tensor: Written | Comparison) -> str:
    if tensor.a_shape == tensor.b_shape == tensor.shape:
        return f"{tensor.element} {format_shape(tensor.shape)}"
    shapes = f"{format_shape(tensor.a_shape)} − {format_shape(tensor.b_shape)} = {format_shape(tensor.shape)}"
    return f"{tensor.element} {shapes}"


def _fit(overflowed: int, elements: int, element: str) -> str:
    if not overflowed:
        return f"every difference fits {element}"
    share = f" ({100 * overflowed / elements:.3g} %)"
    return f"{counted(overflowed, 'difference')}{share} {'does' if overflowed == 1 else 'do'} not fit {element}"


def _skipped(names: Sequence[str]) -> list[str]:
    return [f"skipped, in one file only: {', '.join(names)}"] if names else []
