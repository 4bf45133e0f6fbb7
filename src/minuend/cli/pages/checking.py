"""``check``: the subtractions of models on targets, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minuend.cli.pages.layout import Page, Table
from minuend.cli.pages.runs import outcome, run_lines
from minuend.cli.words import counted
from minuend.errors import listed
from minuend.plain import grouped
from minuend.runtimes.answers import VERDICTS
from minuend.runtimes.formats import Unread
from minuend.runtimes.reasons import AsContracted
from minuend.standards.dialects import dialect

if TYPE_CHECKING:
    from minuend.judging.gate import Gate, Looked
    from minuend.runtimes.report import Finding, Report
    from minuend.runtimes.trials import Trial


_NAMES = frozenset({0, 1})
"""The columns of a target's name and of its verdict: a release folded over two lines reads as another."""

_MOST = 3
"""Nodes that are named of those of which the same was found."""


def gate_page(gate: Gate, *, whole: bool = False) -> Page:
    """Show what was found in models: a single one's page, or a section for each and a summary of all.

    Args:
        gate: what was found. whole: show the subtractions that are right, too.
    """
    if len(gate.models) == 1 and gate.reports:
        return [*check_page(gate.reports[0], whole=whole), *gate.notes]
    shared = Counter(note for report in gate.reports for note in (*report.head, *report.notes))
    common = [note for note, count in shared.items() if count > 1]
    page: list[str | Table] = []
    long = False
    for one in gate.models:
        section = list(_section(one, common, whole=whole))
        page += _apart(page) if long or len(section) > 1 else []
        long = len(section) > 1
        page += section
    conditions = dict.fromkeys(told for report in gate.reports for told in report.conditions)
    return [*page, *_apart(page), *common, *gate.notes, *conditions, *_total(gate)]


def _apart(page: Sequence[str | Table]) -> list[str]:
    """An empty line, where none comes by itself: tables have them around them."""
    return [""] if page and isinstance(page[-1], str) else []


def _section(looked: Looked, common: Sequence[str], *, whole: bool) -> Iterator[str | Table]:
    """What was found in one of several models; a line where there is nothing to show."""
    if isinstance(looked, Unread):
        message = looked.message.removeprefix(f"{looked.model}: ")
        yield f"{looked.model} cannot be read: {message}"
        return
    yield f"{looked.title}{_counts(looked)}"
    yield from _alike(looked, whole=whole)
    yield from (note for note in (*looked.head, *looked.notes) if note not in common)
    yield from _runs(looked)


def _alike(report: Report, *, whole: bool) -> Iterator[str | Table]:
    """The nodes that are not fine, or all, those together of which the same was found."""
    nodes = grouped(((finding.location, finding.opversion), finding) for finding in report.findings)
    wrong = (found for found in nodes.values() if whole or any(finding.verdict != "ok" for finding in found))
    groups = grouped(
        ((_kind_of(found[0]), tuple(_row(one) for one in found if whole or one.verdict != "ok")), found[0].location)
        for found in wrong
    )
    for (kind, rows), places in groups.items():
        more = [f"{len(places) - _MOST} more"] if len(places) > _MOST else []
        yield f"{listed([*places[:_MOST], *more], 'and')}: {kind}"
        yield Table(("", "", ""), rows, whole=_NAMES)


def _counts(report: Report) -> str:
    nodes = {(finding.location, finding.opversion) for finding in report.findings}
    if not nodes:
        return " has no subtraction"
    fine = all(finding.verdict == "ok" for finding in report.findings)
    where = f", where {listed(report.assumed, 'and')}" if report.assumed and fine else ""
    return f": {counted(len(nodes), 'subtraction')}, {'fine everywhere' if fine else _told(report)}{where}"


def _total(gate: Gate) -> Iterator[str]:
    """A line on all models, and one for each target, with what was found on it."""
    wrong = sum(not report.ok for report in gate.reports)
    parts = [f"{len(gate.reports) - wrong} fine"] + ([f"{wrong} with findings"] if wrong else [])
    parts += [f"{len(gate.unread)} not read"] if gate.unread else []
    yield f"{counted(len(gate.models), 'model')}: {', '.join(parts)}"
    for target in gate.targets:
        found = [one for report in gate.reports for one in report.findings if one.target == target]
        runs = [one for report in gate.reports for one in report.trials if one.target == target]
        ran = f"; as they are: {_verdicts(runs)}" if runs else ""
        yield f"{target}: {_verdicts(found) or 'no subtraction'}{ran}"


def _verdicts(found: Iterable[Finding | Trial]) -> str:
    counts = Counter("accepted" if one.accepted else one.verdict for one in found)
    return ", ".join(f"{counts[name]} {name}" for name in (*VERDICTS, "accepted") if counts[name])


def check_page(report: Report, *, whole: bool = False) -> Page:
    """Show what was found, node by node; unless ``whole``, nodes that are plainly fine everywhere share one line."""
    nodes = grouped(((finding.location, finding.opversion), finding) for finding in report.findings)
    page: list[str | Table] = [*report.head]
    for found in nodes.values():
        if not whole and all(_is_plain(one) for one in found):
            continue
        page.append(f"{found[0].location}: {_kind_of(found[0])}")
        page.append(Table(("", "", ""), tuple(map(_row, found)), whole=_NAMES))
    return [*page, *report.notes, *report.conditions, *_runs(report), *_check_summary(report, nodes)]


def _is_plain(finding: Finding) -> bool:
    """Whether there is nothing to say of a node but that it is fine."""
    return finding.verdict == "ok" and any(isinstance(one, AsContracted) for one in finding.reasons[-1:])


def _row(finding: Finding) -> tuple[str, str, str]:
    if finding.accepted:
        return finding.target, "accepted", f"{finding.verdict}: {finding.accepted}"
    return finding.target, finding.verdict, f"inferred: {finding.reason}" if finding.inferred else finding.reason


def _runs(report: Report) -> Iterator[str]:
    for trial in report.trials:
        if trial.accepted:
            yield f"as it is on {trial.runtime}: {trial.verdict}, accepted: {trial.accepted}"
        else:
            yield from run_lines(trial)


def _kind_of(finding: Finding) -> str:
    dialect_name, _, version = finding.opversion.partition(":")
    parts = [f"{dialect(dialect_name).resolve(version)}"]
    parts += [finding.dtype] if finding.dtype else []
    parts += [f"{finding.shape_relation} shapes" if finding.shape_relation == "same" else finding.shape_relation]
    parts += [f"constants: {finding.constants}"] if finding.constants != "none" else []
    return ", ".join(parts)


def _check_summary(report: Report, nodes: Mapping[Any, Sequence[Finding]]) -> list[str]:
    ran = [
        f"as it is on {one.runtime}: {one.told if one.ok else outcome(one)}"
        for one in report.trials
        if not one.accepted
    ]
    if not nodes:
        return [f"{report.title} has no subtraction", *ran]
    targets = list(dict.fromkeys(finding.target for finding in report.findings))
    fine = sum(all(finding.verdict == "ok" for finding in found) for found in nodes.values())
    told = _told(report)
    lines = [f"{report.title}: {counted(len(nodes), 'subtraction')} on {', '.join(targets)}"]
    return [*lines, f"{fine} fine everywhere" + (f"; {told}" if told else ""), *ran]


def _told(report: Report) -> str:
    """How many findings count, by verdict; how many are accepted, and how many do not count."""
    counts = Counter(finding.verdict for finding in report.failures)
    known = sum(bool(finding.accepted) for finding in report.findings)
    left = Counter(
        f.verdict for f in report.findings if f.verdict != "ok" and not f.accepted and f.verdict not in report.fail_on
    )
    parts = [f"findings: {_listed(counts)}"] if counts else []
    parts += [f"{known} accepted"] if known else []
    return "; ".join([*parts, *([f"not counted: {_listed(left)}"] if left else [])])


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
