"""``prove``: where a runtime deviates from the expected results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minuend.cli.pages.layout import Page, Table
from minuend.cli.pages.summaries import by_type, constants, operators, some, types
from minuend.cli.words import counted, short_number
from minuend.plain import grouped

if TYPE_CHECKING:
    from minuend.runtimes.finding import Finding
    from minuend.runtimes.report import Report
    from minuend.runtimes.witness import Witness

_SHOWN = 20
"""How many unexpected findings are shown."""

_MISREAD = ("legacy axis", "pdpd", "zero-size")
"""Relations under which a deviation is one of shapes, whatever the values are."""


def prove_page(report: Report) -> Page:
    """Show whether a runtime is as listed, then what it deviates in: a line for each element type and value class,
    with the first witness; what it refuses comes last.
    """
    page: list[str | Table] = [*_unexpected(report), _queried(report.facts), *report.notes]
    page += _table(report, "different-numbers", "Results that differ from the expected ones:", _numbers_table)
    if joined := [finding for finding in report.findings if finding.graph and finding.verdict != "ok"]:
        page += ["Patterns that differ from their operators computed one by one:", _graphs_table(joined)]
    return [*page, *_table(report, "not-implemented", "Refused by the runtime:", _refusals_table)]


def _table(report: Report, verdict: str, head: str, table: Callable[[Sequence[Finding]], Table]) -> list[str | Table]:
    found = [finding for finding in report.findings if finding.verdict == verdict and not finding.graph]
    return [head, table(found)] if found else []


def _queried(facts: Mapping[str, Any]) -> str:
    what = f"{counted(facts['cases'], 'case')}, {facts['pairs']:,} pairs of operands"
    what += f", {counted(facts['graphs'], 'pattern')}" if facts["graphs"] else ""
    edges = " (edges only)" if facts["quick"] else ""
    return f"{facts['runtime']} {facts['release']}: {what}, {facts['seconds']} s{edges}"


def _unexpected(report: Report) -> list[str | Table]:
    other = _compared(report.facts)
    if report.ok:
        fine = "as listed: no new deviation, and all listed ones are still there"
        return [f"nothing differs from {other}" if other else fine]
    shown = report.failures[:_SHOWN]
    rows = tuple((finding.unexpected, finding.case, str(finding.witness or finding.reason)) for finding in shown)
    left = len(report.failures) - len(shown)
    more = [f"and {counted(left, 'more finding')}; --json shows them all"] if left else []
    than = f"in which it differs from {other}" if other else "not in the list of known deviations"
    head = f"{counted(len(report.failures), 'finding')} {than}:"
    return [head, Table(("", "case", "witness"), rows), *more]


def _compared(facts: Mapping[str, Any]) -> str:
    """The target that findings are differences from, where it is of another release."""
    name: str = facts["compared"] or ""
    return "" if name == f"{facts['runtime']}@{facts['release']}" else name


def _numbers_table(findings: Sequence[Finding]) -> Table:
    plain = {
        (finding.dtype, finding.value_class, finding.constants)
        for finding in findings
        if finding.shape_relation not in _MISREAD
    }
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        dtype = "" if finding.witness is None else finding.dtype
        misread = finding.shape_relation in _MISREAD
        misread &= (finding.dtype, finding.value_class, finding.constants) not in plain
        values = finding.shape_relation if misread else finding.value_class
        groups.setdefault((dtype, values, finding.reason), []).append(finding)
    rows = (
        (
            dtype or _types(group),
            values,
            _operators(group),
            constants(finding.constants for finding in group),
            reason or min((_difference(finding.witness) for finding in _telling(group)), key=len),
        )
        for (dtype, values, reason), group in sorted(groups.items(), key=by_type)
    )
    return Table(("type", "values", "operator", "constants", "first witness"), tuple(rows))


def _telling(findings: Sequence[Finding]) -> Sequence[Finding]:
    """The findings in which the shapes are not to blame, where there are any."""
    return [finding for finding in findings if finding.shape_relation not in _MISREAD] or findings


def _difference(witness: Witness | None) -> str:
    """A witness in short: ``"5 - 10 = 0, not 251"``."""
    if witness is None:
        return ""
    written = witness.operator.written(*map(short_number, witness.operands))
    return f"{written} = {short_number(witness.got)}, not {short_number(witness.expected)}"


def _refusals_table(findings: Sequence[Finding]) -> Table:
    groups = grouped((finding.reason, finding) for finding in findings)
    rows = (
        (
            _types(group),
            _operators(group),
            some(finding.shape_relation for finding in group),
            message,
        )
        for message, group in groups.items()
    )
    return Table(("type", "operator", "shapes", "message"), tuple(rows))


def _graphs_table(findings: Sequence[Finding]) -> Table:
    groups = grouped(((finding.dtype, finding.reason), finding) for finding in findings)
    rows = (
        (dtype, some((finding.graph for finding in group), noun="patterns"), reason)
        for (dtype, reason), group in groups.items()
    )
    return Table(("type", "pattern", "values"), tuple(rows))


def _types(findings: Sequence[Finding]) -> str:
    return types(finding.dtype for finding in findings)


def _operators(findings: Sequence[Finding]) -> str:
    return operators((finding.opversion for finding in findings), {finding.dtype for finding in findings})
