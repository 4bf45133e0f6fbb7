"""``delta``: what was made, applied, verified, and what is in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minuend.cli.pages.layout import Page, Table
from minuend.cli.words import counted
from minuend.core.shapes import format_shape

if TYPE_CHECKING:
    from minuend.files.deltas import ApplyReport, InfoReport, MakeReport, TensorInfo, VerifyReport


def make_page(report: MakeReport) -> Page:
    """Show how tensors are stored, and what that takes."""
    kinds = [
        f"{count} {word}"
        for count, word in (
            (report.unchanged, "unchanged"),
            (report.difference, "as a difference"),
            (report.whole, "whole"),
            (report.removed, "removed"),
        )
        if count
    ]
    return [
        f"{report.base}, {report.tuned} → {report.out}",
        f"tensors: {', '.join(kinds) or 'none'}",
        f"{report.nbytes} bytes as {report.packed} ({_share(report.packed, report.nbytes)})",
        f"made in {_speed(report.nbytes, report.seconds)}",
    ]


def apply_page(report: ApplyReport) -> Page:
    """Show what was written."""
    what = f"{counted(report.files, 'file')} of {counted(report.tensors, 'tensor')}, {report.nbytes} bytes"
    return [
        f"{report.base}, {report.delta} → {report.out}",
        f"{what}, every sha256 as promised",
        f"written in {_speed(report.nbytes, report.seconds)}",
    ]


def verify_page(report: VerifyReport) -> Page:
    """Show what is not as the delta says."""
    if report.findings:
        return [*report.findings, counted(len(report.findings), "finding")]
    given = f" and {report.tuned}" if report.tuned else ""
    what = f"{counted(report.tensors, 'tensor')} in {counted(report.files, 'file')}"
    return [f"{report.base}{given}: every sha256 is as {report.delta} says ({what})"]


def info_page(report: InfoReport) -> Page:
    """Show each tensor, and the totals."""
    header = ("tensor", "type", "stored", "changed", "L2", "max", "packed", "ratio")
    page: list[str | Table] = [Table(header, tuple(map(_row, report.tensors)), frozenset({3, 4, 5, 6, 7}))]
    if report.removed:
        page.append(f"removed: {', '.join(report.removed)}")
    total = f"{report.nbytes} bytes as {report.packed} ({_share(report.packed, report.nbytes)})"
    return [*page, f"{counted(len(report.tensors), 'tensor')} in {counted(len(report.files), 'file')}: {total}"]


def _row(tensor: TensorInfo) -> tuple[str, ...]:
    grown = tensor.stored == "difference" and tensor.base_shape != tensor.shape
    return (
        tensor.name,
        f"{tensor.dtype} {format_shape(tensor.shape)}",
        "grown" if grown else tensor.stored,
        "" if tensor.changed is None else f"{100 * tensor.changed:.3g} %",
        *(("", "") if tensor.norm is None else (f"{tensor.norm.l2:.3g}", f"{tensor.norm.max:.3g}")),
        str(tensor.packed),
        f"{tensor.nbytes / tensor.packed:.2f}" if tensor.packed else "",
    )


def _share(packed: int, nbytes: int) -> str:
    return f"{100 * packed / nbytes:.3g} %" if nbytes else "of nothing"


def _speed(nbytes: int, seconds: float) -> str:
    return f"{seconds:.3f} s" + (f" ({nbytes / seconds / 1e9:.2f} GB/s)" if seconds else "")
