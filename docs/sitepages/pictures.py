"""How B lies in A, drawn: a column for each dim of the result, a row for each operand."""

from __future__ import annotations

import html

from minuend.core.shapes import Broadcast, format_shape, static
from minuend.operators.operator import Operator
from sitepages import words

_WIDTH, _HEIGHT, _LEFT, _GAP = 64, 30, 44, 8


def picture(a: tuple[int, ...], b: tuple[int, ...], joined: Broadcast, label: str) -> str:
    """An SVG of how two static shapes join; dims that repeat are dashed. It takes the page's own colours.

    Args:
        a, b: the shapes. joined: how a rule joins them. label: what it says to those who cannot see it.
    """
    shape = static(joined.shape or ())
    rows = [("A", a, joined.a_start), ("B", b, joined.b_start), ("C", shape, 0)]
    width, height = _LEFT + _WIDTH * max(len(shape), 1) + 4, len(rows) * (_HEIGHT + _GAP)
    parts = [
        (
            f'<svg class="joined" role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'aria-label="{html.escape(label)}">'
        )
    ]
    for at, (name, dims, start) in enumerate(rows):
        y = at * (_HEIGHT + _GAP) + 1
        parts.append(f'<text x="4" y="{y + 20}">{name}</text>')
        for axis, size in enumerate(shape):
            dim = dims[axis - start] if start <= axis < start + len(dims) else None
            parts.append(_box(_LEFT + axis * _WIDTH, y, dim, repeated=dim != size))
    return "".join([*parts, "</svg>"])


def _box(x: int, y: int, dim: int | None, *, repeated: bool) -> str:
    inside = "" if dim is None else f'<text x="{x + _WIDTH // 2}" y="{y + 20}" text-anchor="middle">{dim}</text>'
    kind = ' class="repeated"' if repeated else ""
    return f'<rect{kind} x="{x + 1}" y="{y}" width="{_WIDTH - 4}" height="{_HEIGHT}" rx="4"/>{inside}'


def caption(operator: Operator, a: tuple[int, ...], b: tuple[int, ...], joined: Broadcast) -> str:
    """The shapes of a picture in one line."""
    return f"{words.written(operator, format_shape(a), format_shape(b))} → {format_shape(joined.shape)}"
