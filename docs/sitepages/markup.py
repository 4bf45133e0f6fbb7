"""Markdown and HTML that pages are made of."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "|*_`<>[]$"})


def text(words: object) -> str:
    """Plain words in Markdown: nothing in them is markup."""
    return str(words).translate(_SPECIAL)


def code(words: object) -> str:
    """Words as code."""
    return f"`{words}`"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; cells are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace(chr(10), ' ') for cell in line)} |\n" for line in lines)


def fence(kind: str, body: str) -> str:
    """A block of code, or a directive's raw body."""
    return f"```{kind}\n{body.rstrip(chr(10))}\n```\n"


def raw(body: str) -> str:
    """HTML, as it is."""
    return fence("{raw} html", body)


def scrolling(label: str, inner: str) -> str:
    """What is wider than a phone, in a box that scrolls by finger and by keyboard."""
    return f'<div class="scrolling" role="region" tabindex="0" aria-label="{html.escape(label)}">{inner}</div>'


def paragraphs(*parts: str) -> str:
    """Parts of a page, an empty line between them; empty parts leave none."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
