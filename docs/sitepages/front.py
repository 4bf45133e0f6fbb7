"""The picture of the first page: what the measured runtimes compute for 5 - 10."""

from __future__ import annotations

import html

from minuend.language import Language
from minuend.runtimes.matrix import NOT_RUN, five_minus_ten

_ROW, _CHIP, _GAP = 28, 170, 8
_LAYOUTS = {"wide": 4, "narrow": 2}
"""Runtimes in a row, on a screen and on a phone: letters have one size on both; the style sheet shows one of them."""


def picture(language: Language) -> str:
    """An SVG for each width: a row of runtimes for each result. It takes the page's own colours."""
    label = language.tr("What the newest measured releases compute for 5 − 10 of uint8")
    drawn = "".join(_drawn(kind, columns, label, language) for kind, columns in _LAYOUTS.items())
    return f'<figure class="answers">{drawn}<figcaption>{html.escape(label)}</figcaption></figure>'


def _drawn(kind: str, columns: int, label: str, language: Language) -> str:
    parts, y = [], 4
    for result, targets in five_minus_ten().items():
        shown = language.tr(result) if result == NOT_RUN else f"5 − 10 = {result}"
        parts.append(f'<text class="result" x="1" y="{y + 16}">{html.escape(shown)}</text>')
        y += _ROW
        for at, target in enumerate(targets):
            x, top = 1 + (at % columns) * (_CHIP + _GAP), y + at // columns * _ROW
            colour = {"251": "ok", NOT_RUN: "no"}.get(result, "different")
            parts.append(f'<rect class="{colour}" x="{x}" y="{top}" width="{_CHIP}" height="22" rx="4"/>')
            parts.append(f'<text x="{x + 8}" y="{top + 15}">{html.escape(target.runtime)}</text>')
        y += _ROW * ((len(targets) + columns - 1) // columns) + 12
    width = columns * (_CHIP + _GAP) - _GAP + 2
    return (
        f'<svg class="{kind}" role="img" viewBox="0 0 {width} {y - 10}" width="{width}" height="{y - 10}" '
        f'aria-label="{html.escape(label)}">{"".join(parts)}</svg>'
    )
