"""``check``: a model's subtractions on targets, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minuend.actions.checking import AS_CONTRACTED
from minuend.cli.pages.layout import Page, Table
from minuend.cli.pages.runs import outcome, run_lines
from minuend.cli.pages.words import counted
from minuend.plain import grouped
from minuend.standards.dialects import dialect

if TYPE_CHECKING:
    from minuend.runtimes.report import Finding, Report


def check_page(report: Report) -> Page:
    """Show what was found, node by node; nodes that are plainly fine on every target share one line."""
    nodes = grouped(((finding.location, finding.opversion), finding) for finding in report.findings)
    page: list[str | Table] = [*report.head]
    for found in nodes.values():
        if all(finding.verdict == "ok" and finding.reason.endswith(AS_CONTRACTED) for finding in found):
            continue
        page.append(_node_line(found[0]))
        page.append(Table(("", "", ""), tuple((f.target, f.verdict, _reason(f)) for f in found)))
    page += [*report.notes, *report.conditions]
    page += [part for trial in report.trials for part in run_lines(trial)]
    return [*page, *_check_summary(report, nodes)]


def _reason(finding: Finding) -> str:
    return f"inferred: {finding.reason}" if finding.inferred else finding.reason


def _node_line(finding: Finding) -> str:
    dialect_name, _, version = finding.opversion.partition(":")
    parts = [f"{dialect(dialect_name).resolve(version)}"]
    parts += [finding.dtype] if finding.dtype else []
    parts += [f"{finding.shape_relation} shapes" if finding.shape_relation == "same" else finding.shape_relation]
    parts += [f"constants: {finding.constants}"] if finding.constants != "none" else []
    return f"{finding.location}: {', '.join(parts)}"


def _check_summary(report: Report, nodes: Mapping[Any, Sequence[Finding]]) -> list[str]:
    ran = [f"as it is on {one.runtime}: {AS_CONTRACTED if one.ok else outcome(one)}" for one in report.trials]
    if not nodes:
        return [f"{report.title} has no subtraction", *ran]
    targets = list(dict.fromkeys(finding.target for finding in report.findings))
    fine = sum(all(finding.verdict == "ok" for finding in found) for found in nodes.values())
    counts = Counter(finding.verdict for finding in report.failures)
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    lines = [f"{report.title}: {counted(len(nodes), 'subtraction')} on {', '.join(targets)}"]
    return [*lines, f"{fine} fine everywhere" + (f"; findings: {told}" if told else ""), *ran]
