"""The picture of the first page: what the measured runtimes compute for 5 - 10."""

from __future__ import annotations

import html

from minuend.language import Language
from minuend.runtimes.matrix import NOT_RUN, five_minus_ten

_WIDTH, _ROW, _CHIP, _COLUMNS = 720, 28, 150, 4


def picture(language: Language) -> str:
    """An SVG: a row of runtimes for each result. It takes the page's own colours."""
    parts, y = [], 8
    for result, targets in five_minus_ten().items():
        kind = {"251": "ok", NOT_RUN: "no"}.get(result, "different")
        shown = language.tr(result) if result == NOT_RUN else f"5 − 10 = {result}"
        parts.append(f'<text class="result" x="4" y="{y + 18}">{html.escape(shown)}</text>')
        y += _ROW
        for at, target in enumerate(targets):
            x, line = 4 + (at % _COLUMNS) * (_CHIP + 28), at // _COLUMNS
            top = y + line * _ROW
            parts.append(f'<rect class="{kind}" x="{x}" y="{top}" width="{_CHIP + 20}" height="22" rx="4"/>')
            parts.append(f'<text x="{x + 8}" y="{top + 15}">{html.escape(target.runtime)}</text>')
        y += _ROW * ((len(targets) + _COLUMNS - 1) // _COLUMNS) + 10
    label = language.tr("What the newest measured releases compute for 5 − 10 of uint8")
    return (
        f'<figure class="answers"><svg role="img" viewBox="0 0 {_WIDTH} {y}" aria-label="{html.escape(label)}">'
        f"{''.join(parts)}</svg><figcaption>{html.escape(label)}</figcaption></figure>"
    )
