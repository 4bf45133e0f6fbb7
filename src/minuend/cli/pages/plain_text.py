"""Parts of a page that need nothing of rich: sentences and small tables of characters that take one column each.

The lines are those that rich makes of them (``tests/cli/pages/test_plain_text.py`` compares both). rich takes a
tenth of the time of checking a small model, and a millisecond for each part of a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

NARROW = re.compile("[ -~\u00a1-\u00ac\u00ae-\u00ff\u2010-\u2027\u2190-\u2193\u2200-\u22ff]*")
"""Text of characters that take one column in every terminal, of those that messages hold."""

_WORD = re.compile(r" *[^ ]+ *")

_GAP = 2
"""Columns between two cells."""


def is_narrow(text: str) -> bool:
    """Whether every character of a text takes one column.

    >>> is_narrow("−0.0 − 0.0"), is_narrow("減法")
    (True, False)
    """
    return NARROW.fullmatch(text) is not None


def folded(text: str, width: int) -> list[str] | None:
    """Return the lines of a sentence, which folds between words; ``None`` where a word does not fit or is not narrow.

    >>> folded("one two three", 8)
    ['one two', 'three']
    """
    if not is_narrow(text):
        return None
    if len(text) <= width:
        return [text.rstrip(" ")]
    lines = [""]
    for word in _WORD.findall(text):
        size = len(word.rstrip(" "))
        if size > width:
            return None
        if len(lines[-1]) + size > width:
            lines.append("")
        lines[-1] += word
    return [line.rstrip(" ") for line in lines]


def labelled(label: str, text: str, width: int) -> list[str] | None:
    """Return the lines of a sentence beside a label, folded at its own left edge; ``None`` as in :func:`folded`.

    >>> labelled("why: ", "one two three", 13)
    ['why: one two', '     three']
    """
    lines = folded(text, width - len(label)) if label and is_narrow(label) and len(label) < width else None
    return None if lines is None else beside(label, lines, len(label))


def beside(label: str, lines: Sequence[str], indent: int) -> list[str]:
    """Return lines beside a label that takes ``indent`` columns.

    >>> beside("do: ", ["minuend check", "  a.onnx"], 4)
    ['do: minuend check', '      a.onnx']
    """
    return [(" " * indent if i else label) + line for i, line in enumerate(lines)]


def rows(cells: Sequence[Sequence[str]], width: int) -> list[str] | None:
    """Return the lines of a table of left-aligned columns that need no folding; ``None`` where one would fold."""
    if not cells or not all(is_narrow(cell) for row in cells for cell in row):
        return None
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if not all(widths[:-1]) or sum(widths) + _GAP * len(widths) > width:
        return None
    return list(_rows(cells, widths))


def _rows(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for row in cells:
        yield (" " * _GAP).join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip(" ")
