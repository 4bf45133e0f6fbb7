"""Findings where GitHub Actions shows them: annotations of the checked files, and the job's summary."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from minuend.cli.words import counted
from minuend.errors import escaped
from minuend.language import Language
from minuend.runtimes.explaining import explained, lines

if TYPE_CHECKING:
    from minuend.judging.gate import Gate
    from minuend.runtimes.finding import Finding
    from minuend.runtimes.report import Report

MOST = 50
"""Annotations, as many as a job can have; the summary has all findings."""


def annotate(gate: Gate) -> None:
    """Write annotations to standard error, and a table to the file that ``GITHUB_STEP_SUMMARY`` names.

    Outside of GitHub Actions (``GITHUB_ACTIONS`` is not ``true``) nothing is written.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    for line in list(_annotations(gate))[:MOST]:
        click.echo(line, err=True)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(_summary(gate))


def _shown(gate: Gate) -> Iterator[tuple[Report, Finding]]:
    """The findings that are not fine and not accepted."""
    for report in gate.reports:
        yield from ((report, one) for one in report.findings if one.verdict != "ok" and not one.accepted)


def _annotations(gate: Gate) -> Iterator[str]:
    for unread in gate.unread:
        yield _command("error", unread.model, unread.what, unread.message)
    for report, one in _shown(gate):
        level = "error" if one.verdict in report.fail_on and one.tolerated is None else "warning"
        yield _command(
            level,
            report.title,
            f"{one.verdict} on {one.target}",
            f"{one.location}: {lines(one, report.command)}",
        )


def _command(level: str, path: str, title: str, message: str) -> str:
    """A workflow command, which reads ``%``, line ends, and in properties commas and colons as signs of its own."""

    def data(text: str) -> str:
        return escaped(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def stated(text: str) -> str:
        return data(text).replace(":", "%3A").replace(",", "%2C")

    return f"::{level} file={stated(path)},title={stated(title)}::{data(message)}"


def _summary(gate: Gate) -> str:
    """The findings as a Markdown table."""

    def cell(text: str) -> str:
        return escaped(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")

    rows = [
        (report.title, one.location, one.target, one.verdict, said.what, said.why, "; ".join(said.todo))
        for report, one in _shown(gate)
        for said in [explained([one], Language(), report.command)]
    ]
    rows += [(one.model, "", "", one.what, one.message, "", "") for one in gate.unread]
    lines = [f"### minuend check: {counted(len(gate.models), 'model')} on {', '.join(gate.targets)}", ""]
    if rows:
        lines += ["| model | place | target | verdict | what | why | what to do |", "|---|---|---|---|---|---|---|"]
        lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    else:
        lines.append("Every subtraction is right.")
    return "\n".join(lines) + "\n\n"
