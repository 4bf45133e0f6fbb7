"""Pages: sentences and tables, one behind the other, laid out as terminal text."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from minuend.cli.pages import plain_text
from minuend.errors import escaped

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
"""Columns of text where nothing else is known."""

NARROWEST = 60
"""Columns that a page needs; in a narrower terminal lines wrap."""

STYLES: Mapping[str, str] = MappingProxyType(
    {
        "ok": "green",
        "accepted": "cyan",
        "unknown": "yellow",
        "not-implemented": "magenta",
        "different-numbers": "red",
        "invalid": "bold red",
    }
)
"""What a cell says → its colour, where there are colours."""

_WORD = re.compile(r"""(?:--?[a-z][a-z-]* (?!-))?(?:'[^']*'|"[^"]*"|[^ '"])+""")
"""A word of a command line, an option with its value."""

_MEASURING = 1_000_000  # columns; rich never finds a table wider than its console


@dataclass(frozen=True)
class Table:
    """Rows of strings under a header; columns in ``right`` hold numbers, those in ``whole`` names that never fold.

    A header of empty strings is not shown in text. Neighbours whose headers share a first line show it once there.
    A ``tight`` table has no empty line above and below it.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()
    tight: bool = False


@dataclass(frozen=True)
class Labelled:
    """A label and text beside it, which folds at its own left edge; a command folds so that it can be copied.

    A word of a command that is longer than the page is wide stays whole: a terminal wraps it without a line break.
    """

    label: str
    text: str
    command: bool = False


Part: TypeAlias = str | Table | Labelled
Page: TypeAlias = Sequence[Part]


def text(page: Page, width: int = WIDTH, *, colour: bool = False) -> str:
    """Lay a page out for a terminal of ``width`` columns; no trailing spaces, one newline at the end.

    Words fold at the width; numbers and names never do, a table of long ones is wider.

    >>> print(text(["Two types:", Table(("type", "bits"), (("int8", "8"), ("float16", "16")), frozenset({1}))]), end="")
    Two types:
    <BLANKLINE>
    type     bits
    ─────────────
    int8        8
    float16    16
    """
    lines: list[str] = []
    rich = Rich(width, colour=colour)
    for i, part in enumerate(page):
        if i and any(isinstance(one, Table) and not one.tight for one in page[i - 1 : i + 1]):
            lines.append("")
        plain = _plain(part, width, colour=colour)
        lines += rich.lines(part) if plain is None else plain
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _plain(part: Part, width: int, *, colour: bool) -> list[str] | None:
    """The lines of a part for which rich is not needed; ``None`` for any other."""
    if isinstance(part, str):
        return plain_text.folded(part, width)
    if isinstance(part, Labelled):
        if not part.command:
            return plain_text.labelled(part.label, part.text, width)
        indent = _columns(part.label)
        return plain_text.beside(part.label, continued(escaped(part.text), width - indent).split("\n"), indent)
    if colour or part.right or any(part.header):
        return None
    return plain_text.rows(part.rows, width)


class Rich:
    """Lays parts out with rich, which is imported for the first one."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self._width, self._colour = width, colour

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        system: Any = "standard" if self._colour else None
        return Console(
            file=io.StringIO(),
            color_system=system,
            force_terminal=self._colour,
            legacy_windows=False,
            no_color=not self._colour,
        )

    def lines(self, part: Part) -> list[str]:
        """Return the lines of a part."""
        from rich.measure import Measurement

        console, shown, stream = self._console, _shown(part), io.StringIO()
        console.file = stream
        console.width = _MEASURING
        console.width = max(self._width, Measurement.get(console, console.options, shown).minimum)
        console.print(shown, crop=False)
        return stream.getvalue().splitlines()


def aligned(labels: Sequence[str]) -> list[str]:
    """Return labels of one width, with spaces behind the shorter ones.

    >>> aligned(["why: ", "do: "])
    ['why: ', 'do:  ']
    """
    sizes = [_columns(label) for label in labels]
    return [label + " " * (max(sizes) - size) for label, size in zip(labels, sizes, strict=True)]


def _columns(text: str) -> int:
    """How many columns a text takes; rich, which knows of wide characters, is not imported where there are none."""
    if plain_text.is_narrow(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _shown(part: Part) -> Any:
    from rich.table import Table as Grid
    from rich.text import Text

    if isinstance(part, Table):
        return _grid(part)
    if isinstance(part, str):
        return Text(escaped(part))
    grid = Grid.grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(escaped(part.label)), Text(escaped(part.text)))
    return grid


def continued(command: str, width: int) -> str:
    """Return a command line on as many lines as it needs, which a shell reads as one; Python needs no signs for that.

    >>> print(continued("minuend check a.onnx --assume 'x y=0..9'", 30))
    minuend check a.onnx \\
      --assume 'x y=0..9'
    """
    end = "" if command.startswith("compile_model(") else " \\"
    lines = [""]
    for word in _WORD.findall(command):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and _columns(longer) > width - len(end):
            lines.append(f"  {word}")
        else:
            lines[-1] = longer
    return f"{end}\n".join(lines)


def _grid(table: Table) -> Any:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    named = any(table.header)
    lines = box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
    grid = Grid(box=lines, show_edge=False, show_header=named, padding=(0, 1, 0, 0), pad_edge=False)
    for i, name in enumerate(table.header):
        first, split, rest = name.partition("\n")
        shared = split and i and table.header[i - 1].startswith(f"{first}\n")
        justify: Any = "right" if i in table.right else "left"
        grid.add_column(
            Text(f"\n{rest}" if shared else name),
            justify=justify,
            overflow="fold",
            no_wrap=bool(split) or i in table.right | table.whole,
            header_style="",
        )
    for row in table.rows:
        grid.add_row(*(Text(escaped(cell), STYLES.get(cell, "")) for cell in row))
    return grid
