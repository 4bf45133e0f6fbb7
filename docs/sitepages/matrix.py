"""The matrix: element type by version of each standard, and by release of each runtime; a witness behind each cell.

The filter of its page (``_static/matrix.js``) finds its choices in the cells' own data: another operator, version or
severity in the cells is another choice.
"""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import minuend
from minuend.cli.pages.matrix import MEANING, SIGNS
from minuend.core.elements import TYPES
from minuend.language import Language
from minuend.operators import SUBTRACT
from minuend.plain import grouped, plain
from minuend.runtimes.matrix import Cell, matrix
from minuend.runtimes.processor import up_to_last
from minuend.runtimes.severity import SEVERITIES, Severity
from minuend.runtimes.target import Target
from minuend.standards.dialects import dialect
from minuend.standards.version import OpVersion
from sitepages import markup, versions
from sitepages.page import Page

KINDS = {"ok": "ok", "different-numbers": "different", "not-implemented": "no", "unknown": "unknown"}
"""A verdict's class in the style sheet, where no severity says more."""

GRADES: Mapping[Severity, str] = {"sign-of-zero": "±0", "rounding": "≈", "subnormal": "→0", "edge": "∞", "numbers": "≠"}
"""What stands in a cell for a severity, which is its class in the style sheet, too."""

OPERATOR = SUBTRACT.name
"""The operator that the matrix is of: of this one most releases were measured."""

NO_EXAMPLE = "no example"
"""Stands for the severity of results that differ where no witness was measured."""

SCOPE = (
    "Each cell is the worst verdict over all values of two inputs of one shape, in the newest version of the operator "
    "that has the type; its colour is the severity. Select a cell for its witness, its older releases and the command "
    "that shows it again. DirectML was not measured: its documents are shown."
)


def pages(language: Language) -> Iterator[Page]:
    """The matrix, a page of witnesses for each runtime, and all of it as data."""
    by_runtime = grouped((cell.target.runtime, cell) for cell in matrix())
    yield Page("matrix.md", _matrix(by_runtime, language))
    for runtime, cells in by_runtime.items():
        yield Page(f"matrix/{runtime}.md", _witnesses(runtime, cells, language))
    yield Page("_extra/matrix.json", json.dumps(as_data(by_runtime), indent=1, ensure_ascii=False) + "\n")


# ---- the matrix -----------------------------------------------------------------------------------------------


def _matrix(by_runtime: dict[str, list[Cell]], language: Language) -> str:
    tr = language.tr
    remedy = "minuend check model.onnx --target openvino-cpu"
    return markup.paragraphs(
        f"# {tr('The matrix')}",
        tr("Which runtimes subtract each element type as the standards define it, and how far off the others are."),
        markup.raw(_filter(language)),
        f"## {tr('Every runtime, newest release')}",
        markup.raw(_legend(language, explained=False)),
        markup.raw(_newest_table(by_runtime, language)),
        markup.text(tr(SCOPE)),
        markup.raw(_legend(language, explained=True)),
        tr("To see which subtractions of a model a runtime computes otherwise:"),
        markup.fence("sh", remedy),
        f"## {tr('Element type by version')}",
        markup.text(tr("x: the version takes the type. Each leads to the version's page.")),
        markup.raw(_versions_table(language)),
        f"## {tr('Element type by release')}",
        tr("The same as data: {link}.", link='<a href="matrix.json">matrix.json</a>'),
        *(_runtime(runtime, cells, language) for runtime, cells in by_runtime.items()),
        markup.fence("{toctree}", ":hidden:\n\n" + "\n".join(f"matrix/{runtime}" for runtime in by_runtime)),
    )


def _filter(language: Language) -> str:
    """Where the script puts the filter, with the words that it needs; its choices come from the cells."""
    tr = language.tr
    words = {
        "operator": tr("operator"), "type": tr("element type"), "table": tr("standard or runtime"),
        "verdict": tr("verdict"), "severity": tr("severity"), "all": tr("all"), "clear": tr("clear"),
        "none": tr("No cell is left by this choice."), "filter": tr("Show"),
        "left": tr("cells: {count}", count="{count}"),
    }  # fmt: skip
    names = {name: tr(name) for name in (*SIGNS, *GRADES, NO_EXAMPLE)}
    names |= {op.key: versions.title(op) for op in versions.of_operator(OPERATOR)}
    words["names"] = json.dumps(names, ensure_ascii=False)
    words["order"] = json.dumps([*GRADES, NO_EXAMPLE])
    data = "".join(f' data-{name}="{html.escape(word)}"' for name, word in words.items())
    return f'<div id="matrix-filter"{data}></div>'


def _signs(language: Language) -> list[tuple[str, str, str, str]]:
    """Each sign's class in the style sheet, the sign, its name and its meaning, mildest first."""
    tr = language.tr
    return [
        ("ok", SIGNS["ok"], tr("ok"), tr("every result is as expected")),
        *((name, sign, tr(name), tr(SEVERITIES[name])) for name, sign in GRADES.items()),
        ("different", "≠?", tr("different-numbers"), tr("results differ, and no example was measured")),
        ("no", SIGNS["not-implemented"], tr("not-implemented"), tr("it does not run")),
        ("unknown", SIGNS["unknown"], tr("unknown"), tr("not measured, and not documented")),
        ("none", "", tr("empty"), tr("the runtime reads no such type")),
    ]


def _legend(language: Language, *, explained: bool) -> str:
    """The signs with their names in a line, or with their meanings in a list."""
    rows = []
    for kind, sign, name, meaning in _signs(language):
        whole = language.labelled(f"<b>{html.escape(name)}</b>", html.escape(meaning))
        words = f"<span>{whole}</span>" if explained else html.escape(name)
        rows.append(f'<li><span class="sign v-{kind}" aria-hidden="true">{sign}</span> {words}</li>')
    return f'<ul class="legend {"explained" if explained else "short"}">{"".join(rows)}</ul>'


def _newest_table(by_runtime: dict[str, list[Cell]], language: Language) -> str:
    """One grid: runtimes down, element types across, in the newest version of the operator that each reads."""
    newest = {
        runtime: [cell for cell in cells if cell.target == cells[-1].target] for runtime, cells in by_runtime.items()
    }
    types = _types(cell.dtype for cells in newest.values() for cell in cells)
    heads = "".join(f'<th scope="col" data-type="{dtype}"><span>{dtype}</span></th>' for dtype in types)
    rows = []
    for runtime, cells in newest.items():
        found = {cell.dtype: cell for cell in cells}
        versions_read = ", ".join(dict.fromkeys(cell.opversion for cell in cells))
        row = "".join(_cell(found.get(dtype), dtype, language) for dtype in types)
        name = (
            f'<a href="#{runtime}">{runtime}</a> <span class="release">{html.escape(cells[-1].target.release)}</span>'
        )
        rows.append(f'<tr data-runtime="{runtime}" title="{versions_read}"><th scope="row">{name}</th>{row}</tr>')
    label = language.tr("Every runtime, newest release")
    return _table(label, "newest", f'<th scope="col">{language.tr("runtime")}</th>{heads}', rows, "matrix newest")


def _versions_table(language: Language) -> str:
    known = versions.of_operator(OPERATOR)
    heads = "".join(
        f'<th scope="col" data-table="{op.dialect}"><a href="operators/{versions.slug(op)}.html">'
        f"{html.escape(dialect(op.dialect).title)} {op.version}</a></th>"
        for op in known
    )
    rows = []
    for name in _types(name for op in known for name in op.types):
        cells = "".join(_version_cell(name in op.types, op) for op in known)
        rows.append(f'<tr data-type="{name}"><th scope="row">{name}</th>{cells}</tr>')
    label = language.tr("Element type by version")
    return _table(label, "standards", f'<th scope="col">{language.tr("type")}</th>{heads}', rows)


def _version_cell(taken: bool, op: OpVersion) -> str:
    if not taken:
        return '<td class="v-none"></td>'
    data = f'data-verdict="ok" data-operator="{op.computes.name}" data-version="{op.key}"'
    return f'<td class="v-ok" {data}><a href="operators/{versions.slug(op)}.html">x</a></td>'


def _runtime(runtime: str, cells: Sequence[Cell], language: Language) -> str:
    """A heading and a table: types down, releases across, oldest first."""
    releases = list(dict.fromkeys(cell.target.release for cell in cells))
    found = {(cell.dtype, cell.target.release): cell for cell in cells}
    heads = "".join(f'<th scope="col">{html.escape(release)}</th>' for release in releases)
    rows = []
    for dtype in _types(cell.dtype for cell in cells):
        row = "".join(_cell(found.get((dtype, release)), dtype, language) for release in releases)
        rows.append(f'<tr data-type="{dtype}"><th scope="row">{dtype}</th>{row}</tr>')
    table = _table(runtime, runtime, f'<th scope="col">{language.tr("type")}</th>{heads}', rows)
    return markup.paragraphs(f"### {runtime}", markup.raw(table))


def _cell(cell: Cell | None, dtype: str, language: Language) -> str:
    if cell is None:
        return f'<td class="v-none" data-type="{dtype}"></td>'
    graded = _severity(cell)
    words = [language.tr(word) for word in (cell.verdict, graded) if word]
    label = f"{cell.target.runtime} {cell.target.release}, {cell.dtype}: {language.tr(', ').join(words)}"
    data = {
        "verdict": cell.verdict, "type": dtype, "operator": cell.operator, "version": " ".join(cell.opversions),
        "severity": graded,
    }  # fmt: skip
    shown = "".join(f' data-{name}="{html.escape(value)}"' for name, value in data.items() if value)
    return (
        f'<td class="v-{cell.severity or KINDS[cell.verdict]}"{shown}>'
        f'<a href="matrix/{cell.target.runtime}.html#{anchor(cell)}" aria-label="{html.escape(label)}"'
        f' title="{html.escape(in_words(cell, language))}">{_sign(cell)}</a></td>'
    )


def _severity(cell: Cell) -> str:
    """The severity that the filter knows a cell by; empty where its numbers do not differ."""
    return cell.severity or (NO_EXAMPLE if cell.verdict == "different-numbers" else "")


def _sign(cell: Cell) -> str:
    if cell.severity is None and cell.verdict == "different-numbers":
        return "≠?"
    return GRADES[cell.severity] if cell.severity else SIGNS[cell.verdict]


def _table(label: str, name: str, heads: str, rows: Iterable[str], kind: str = "matrix") -> str:
    inner = (
        f'<table class="{kind}" data-table="{name}"><caption>{html.escape(label)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    return markup.scrolling(label, inner)


def _types(having: Iterable[str]) -> list[str]:
    """Element types, each once, in the order of the type table."""
    return sorted(set(having), key=list(TYPES).index)


# ---- witnesses ------------------------------------------------------------------------------------------------


def anchor(cell: Cell) -> str:
    """The place of a cell on its runtime's page."""
    return f"{cell.dtype}-{cell.target.release}".replace("+", "-")


def _witnesses(runtime: str, cells: Sequence[Cell], language: Language) -> str:
    tr = language.tr
    newest = cells[-1].target
    parts = [f"# {runtime}", markup.text(source(newest, language))]
    if not newest.declared:
        parts.append(tr("With a release installed, this runs every case on it again:"))
        parts.append(markup.fence("sh", f"minuend prove {runtime}"))
    parts.append(
        f"[{tr('The matrix')}](../matrix.md), [{tr('what changed from release to release')}](../releases/{runtime}.md)"
    )
    parts.append(tr("For each element type: the verdict of each release, its severity and its witness."))
    for dtype in _types(cell.dtype for cell in cells):
        of_type = [cell for cell in cells if cell.dtype == dtype]
        parts += [f"## {dtype}", markup.raw(_witness_table(runtime, dtype, of_type, language))]
    return markup.paragraphs(*parts)


def source(target: Target, language: Language) -> str:
    """Where a target's facts are from, in words."""
    tr = language.tr
    if target.declared:
        return tr("Not measured; its documents say this: {source}.", source=target.source)
    conditions = tr("Measured {date} on {cpu}.", date=target.date, cpu=up_to_last(target.cpu))
    others = [up_to_last(one) for one in target.table.cpus if one != target.cpu]
    patterns = tr("Patterns of operators were measured on {cpu}.", cpu=", ".join(others))
    return f"{conditions} {patterns}" if others else conditions


def _witness_table(runtime: str, dtype: str, cells: Sequence[Cell], language: Language) -> str:
    tr = language.tr
    words = ("releases", "verdict", "severity", "what shows it", "values", "operator")
    heads = "".join(f'<th scope="col">{tr(word)}</th>' for word in (*words, "the command that shows it again"))
    rows = [_witness_row(list(alike), language) for _, alike in itertools.groupby(cells, key=_alike)]
    return _table(f"{runtime}, {dtype}", runtime, heads, rows, "witnesses")


def _alike(cell: Cell) -> tuple[str, ...]:
    """What neighbouring releases share a row by."""
    return (
        cell.opversion,
        cell.verdict,
        "" if cell.verdict == "ok" else cell.value_class,
        str(cell.answer.witness),
        cell.answer.message,
    )


def _witness_row(cells: list[Cell], language: Language) -> str:
    tr, cell = language.tr, cells[0]
    releases = ", ".join(f'<span id="{anchor(one)}">{html.escape(one.target.release)}</span>' for one in cells)
    shown = (
        " ".join(dict.fromkeys((_sign(cell), tr(cell.verdict)))),
        tr(_severity(cell)),
        in_words(cell, language),
        tr("all values") if cell.verdict == "ok" else tr(cell.value_class),
        cell.opversion,
    )
    columns = "".join(f"<td>{html.escape(text)}</td>" for text in shown)
    words = " ".join(f"<span>{html.escape(word)}</span>" for word in command(cells[-1]).split())
    return f'<tr><th scope="row">{releases}</th>{columns}<td><code>{words}</code></td></tr>'


def in_words(cell: Cell, language: Language) -> str:
    """What shows a cell's verdict: a pair of numbers, an error, or why nothing is known."""
    answer = cell.answer
    if answer.witness is None:
        return "" if cell.verdict == "ok" else language.tr(answer.message) if cell.target.declared else answer.message
    pair = answer.witness.written
    return language.tr(
        "{pair} gives {got}, expected {expected}", pair=pair, got=answer.witness.got, expected=answer.witness.expected
    )


def command(cell: Cell) -> str:
    """The command that shows a cell again."""
    return f"minuend targets --matrix --target {cell.target.name} --dtype {cell.dtype} --json"


# ---- as data --------------------------------------------------------------------------------------------------


def as_data(by_runtime: dict[str, list[Cell]]) -> dict[str, Any]:
    """Both parts of the matrix as plain data."""
    cells = [(runtime, cell) for runtime, some in by_runtime.items() for cell in some]
    return {
        "version": 1,
        "tool": f"minuend {minuend.__version__}",
        "meaning": MEANING,
        "versions": [_version(op) for op in versions.of_operator(OPERATOR)],
        "cells": [
            {**plain(cell.to_json()), "page": f"matrix/{runtime}.html#{anchor(cell)}", "command": command(cell)}
            for runtime, cell in cells
        ],
    }


def _version(op: OpVersion) -> dict[str, Any]:
    page = f"operators/{versions.slug(op)}.html"
    return {"dialect": op.dialect, "version": op.version, "types": list(op.types), "page": page}
