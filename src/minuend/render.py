"""Reports, specs and differences of versions as text, Markdown and JSON: pure functions that return strings.

Everything shown is a *page*: sentences and tables, one behind the other. A page is built once and laid out as
terminal text (:func:`text`) or Markdown (:func:`markdown`); JSON is made from the objects themselves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from minuend.dialects import Dialect, dialect
from minuend.dtypes import TYPES
from minuend.shapes import format_shape
from minuend.spec import Change, OpVersion

if TYPE_CHECKING:
    from minuend.storage.difference import CompareReport, Comparison, SubReport, Written

WIDTH = 80
"""Columns of text where nothing else is known."""


@dataclass(frozen=True)
class Table:
    """Rows of strings under a header; columns in ``right`` hold numbers.

    A header of empty strings is not shown in text. Neighbours whose headers share a first line show it once there.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


_MEASURING = 1_000_000  # columns; rich never finds a table wider than its console

Page: TypeAlias = Sequence[str | Table]


# ---- layouts --------------------------------------------------------------------------------------------------


def text(page: Page, width: int = WIDTH) -> str:
    """Lay a page out for a terminal of ``width`` columns; no colours, no trailing spaces, one newline at the end.

    Words fold at the width; numbers never do, a table of long ones is wider.

    >>> print(text(["Two types:", Table(("type", "bits"), (("int8", "8"), ("float16", "16")), frozenset({1}))]), end="")
    Two types:
    <BLANKLINE>
    type     bits
    ─────────────
    int8        8
    float16    16
    """
    import io

    from rich.console import Console
    from rich.measure import Measurement
    from rich.text import Text

    stream = io.StringIO()
    console = Console(file=stream, color_system=None, force_terminal=False, legacy_windows=False)
    for i, part in enumerate(page):
        if i and (isinstance(part, Table) or isinstance(page[i - 1], Table)):
            stream.write("\n")
        shown = Text(part) if isinstance(part, str) else _grid(part)
        console.width = _MEASURING
        console.width = max(width, Measurement.get(console, console.options, shown).minimum)
        console.print(shown)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


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
            no_wrap=bool(split) or i in table.right,
        )
    for row in table.rows:
        grid.add_row(*map(Text, row))
    return grid


def markdown(page: Page) -> str:
    """Lay a page out as Markdown.

    >>> print(markdown(["Two types:", Table(("type", "bits"), (("int8", "8"),), frozenset({1}))]), end="")
    Two types:
    <BLANKLINE>
    | type | bits |
    |---|---:|
    | int8 | 8 |
    """
    parts = [_escaped(part) if isinstance(part, str) else _pipes(part) for part in page]
    return "\n\n".join(parts) + "\n"


def _pipes(table: Table) -> str:
    rule = "".join("---:|" if i in table.right else "---|" for i in range(len(table.header)))
    rows = (f"| {' | '.join(map(_escaped, row))} |" for row in table.rows)
    return "\n".join((f"| {' | '.join(map(_escaped, table.header))} |", f"|{rule}", *rows))


def _escaped(cell: str) -> str:
    for mark in "\\|*_<`":
        cell = cell.replace(mark, f"\\{mark}")
    return cell.replace("\n", " ")


def as_json(data: Any) -> str:
    """Write plain data as JSON, one newline at the end; numbers that JSON lacks (NaN, infinities) become strings."""
    return json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(data: Any) -> Any:
    if is_dataclass(data) and not isinstance(data, type):
        return {f.name: _plain(getattr(data, f.name)) for f in fields(data)}
    if isinstance(data, Mapping):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(item) for item in data]
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    return data


# ---- the spec -------------------------------------------------------------------------------------------------


def matrix_page(homes: Sequence[Dialect]) -> Page:
    """Show which version takes which element type, and what else the versions differ in.

    A single dialect's types are named as it names them.
    """
    versions = [version for home in homes for version in home.versions]
    names = [name for name in TYPES if any(name in version.types for version in versions)]
    spell = homes[0].spell if len(homes) == 1 else str
    heads = tuple(f"{version.dialect}\n{version.version}" for version in versions)
    types = tuple((spell(name), *("x" if name in version.types else "" for version in versions)) for name in names)
    rows = tuple(
        (
            f"{version.dialect} {version.version}",
            ", ".join(version.attributes.names) or "none",
            version.broadcasting,
            version.inference,
            _ranks(version.ranks),
        )
        for version in versions
    )
    more = Table(("version", "attributes", "broadcasting", "inference", "ranks"), rows)
    return (Table(("type", *heads), types), more)


def spec_page(op: OpVersion) -> Page:
    """Show all that a version's row holds, in its dialect's spelling."""
    home = dialect(op.dialect)
    later = home.versions[home.versions.index(op) + 1 :]
    until = f", until {home.counted} {later[0].version} changes it" if later else ""
    page: list[str | Table] = [f"{home.title} {op}: since {home.counted} {op.version}{until}"]
    rows = (
        ("types", ", ".join(map(home.spell, op.types))),
        ("ranks", _ranks(op.ranks)),
        ("broadcasting", op.broadcasting),
        ("inference", op.inference),
        *(("note", note) for note in op.notes),
        *((key, _shown(value)) for key, value in op.facts.items()),
    )
    page.append(Table(("", ""), rows))
    if op.attributes:
        listed = ((a.name, a.type, "none" if a.default is None else _shown(a.default), a.doc) for a in op.attributes)
        page.append(Table(("attribute", "type", "default", "meaning"), tuple(listed)))
    for head, params in (("input", op.inputs), ("output", op.outputs)):
        page.append(Table((head, "type", "meaning"), tuple((p.name, p.type, p.doc) for p in params)))
    return page


def _ranks(ranks: tuple[int, int | None]) -> str:
    low, high = ranks
    return f"{low} and above" if high is None else str(low) if low == high else f"{low} to {high}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def diff_page(old: OpVersion, new: OpVersion, changes: Iterable[Change]) -> Page:
    """Show what changed from one version to another, a line each; what is only worded anew shares one line."""
    home = dialect(old.dialect)
    rows: list[tuple[str, str]] = []
    reworded: list[str] = []
    for change in changes:
        if change.field == "notes" or change.field.endswith(".doc"):
            reworded.append(change.field.removesuffix(".doc"))
        else:
            rows.append((change.field, _changed(home, change)))
    if reworded:
        rows.append(("worded anew", ", ".join(reworded)))
    if not rows:
        return (f"{home.title} {old}: the same version, nothing changed",)
    return (f"{home.title} {old} → {new}", Table(("", ""), tuple(rows)))


def _changed(home: Dialect, change: Change) -> str:
    if change.field == "ranks":
        return f"{_ranks(change.removed[0])} → {_ranks(change.added[0])}"
    if (
        change.field not in ("types", "attributes", "inputs", "outputs")
        and len(change.added) == len(change.removed) == 1
    ):
        return f"{_shown(change.removed[0])} → {_shown(change.added[0])}"
    name = home.spell if change.field == "types" else _shown
    return " ".join([f"+{name(item)}" for item in change.added] + [f"−{name(item)}" for item in change.removed])


def spec_json(op: OpVersion) -> str:
    """A version's row as JSON; ``spelled`` gives its types in the dialect's own names."""
    return as_json({**_plain(op), "spelled": [dialect(op.dialect).spell(name) for name in op.types]})


def matrix_json(homes: Sequence[Dialect]) -> str:
    """Every version's row as JSON, a list."""
    return as_json([version for home in homes for version in home.versions])


def diff_json(old: OpVersion, new: OpVersion, changes: Iterable[Change]) -> str:
    """What changed as JSON: ``dialect``, ``old``, ``new`` and ``changes`` of ``field``, ``added``, ``removed``."""
    return as_json({"dialect": old.dialect, "old": old.version, "new": new.version, "changes": list(changes)})


# ---- subtraction of files -------------------------------------------------------------------------------------


def sub_page(report: SubReport) -> Page:
    """Show what was subtracted and written."""
    speed = f" ({report.nbytes / report.seconds / 1e9:.2f} GB/s)" if report.seconds else ""
    page: list[str | Table] = [f"{_title(report)} → {report.out}"]
    if len(report.tensors) == 1:
        page += _written_lines(report.tensors[0], report.overflow)
    else:
        page.append(_written_table(report.tensors))
    page += _skipped(report.skipped)
    return [*page, f"{_number(len(report.tensors), 'tensor')} written in {report.seconds:.3f} s{speed}"]


def _title(report: SubReport | CompareReport) -> str:
    rules = f", as {report.rules}" if report.rules else ""
    return f"{report.a} − {report.b}{rules}"


def _written_lines(tensor: Written, overflow: str) -> list[str]:
    lines = [f"{_types(tensor)}, {_number(tensor.elements, 'element')}"]
    if not tensor.element.is_integer:
        return lines
    if tensor.overflowed is None:
        return [*lines, f"overflow: {overflow}, not counted (--count does)"]
    return [*lines, f"overflow: {overflow}, {_fit(tensor.overflowed, tensor.elements, tensor.element.name)}"]


def _written_table(tensors: Sequence[Written]) -> Table:
    rows = (
        (
            tensor.name,
            tensor.result.name,
            format_shape(tensor.shape),
            str(tensor.elements),
            "" if tensor.overflowed is None else str(tensor.overflowed),
        )
        for tensor in tensors
    )
    return Table(("tensor", "dtype", "shape", "elements", "overflowed"), tuple(rows), frozenset({3, 4}))


def compare_page(report: CompareReport) -> Page:
    """Show the policies' answers side by side."""
    page: list[str | Table] = [_title(report)]
    for tensor in report.tensors:
        name = f"{tensor.name}: " if len(report.tensors) > 1 else ""
        page.append(f"{name}{_types(tensor)}, {_number(tensor.elements, 'element')}")
        page += _found_lines(tensor)
        page.append(_answers(tensor))
    return [*page, *_skipped(report.skipped), "nothing written; -o OUT writes the difference"]


def _found_lines(tensor: Comparison) -> list[str]:
    if not tensor.element.is_integer:
        return [f"{_number(tensor.nans, 'difference')} {'is' if tensor.nans == 1 else 'are'} NaN"]
    told = _fit(tensor.overflowed, tensor.elements, tensor.element.name)
    if tensor.first is None:
        return [told]
    index, a, b = tensor.first
    return [told, f"the first is at index {index}: {a} - {b} = {a - b}"]


def _answers(tensor: Comparison) -> Table:
    rows = tuple(
        (
            row.policy if tensor.element.is_integer else "none (floats)",
            row.element.name,
            *((f"{row.unfit} do not fit", "") if row.unfit else (_value(row.low), _value(row.high))),
            _value(row.first),
        )
        for row in tensor.answers
    )
    if not tensor.element.is_integer:
        return Table(("dtype", "lowest", "highest"), tuple(row[1:4] for row in rows), frozenset({1, 2}))
    return Table(("overflow", "dtype", "lowest", "highest", "first overflow"), rows, frozenset({2, 3, 4}))


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


def _types(tensor: Written | Comparison) -> str:
    if tensor.a_shape == tensor.b_shape == tensor.shape:
        return f"{tensor.element} {format_shape(tensor.shape)}"
    shapes = f"{format_shape(tensor.a_shape)} − {format_shape(tensor.b_shape)} = {format_shape(tensor.shape)}"
    return f"{tensor.element} {shapes}"


def _fit(overflowed: int, elements: int, element: str) -> str:
    if not overflowed:
        return f"every difference fits {element}"
    share = f" ({100 * overflowed / elements:.3g} %)"
    return f"{_number(overflowed, 'difference')}{share} {'does' if overflowed == 1 else 'do'} not fit {element}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _skipped(names: Sequence[str]) -> list[str]:
    return [f"skipped, in one file alone: {', '.join(names)}"] if names else []


def sub_json(report: SubReport | CompareReport, tool: str) -> str:
    """What was subtracted as JSON: the report's fields, element types by name, and the format's ``version``."""
    data = _plain(report)
    for tensor in data["tensors"]:
        for row in (tensor, *tensor.get("answers", ())):
            row.update({key: row[key]["name"] for key in ("element", "result") if key in row})
    return as_json({"version": 1, "tool": tool, **data})
