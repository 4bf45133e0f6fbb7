"""``Report``: findings about a model or a runtime, which :mod:`minuend.runtimes.junit` and ``formats`` write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minuend.plain import as_json
from minuend.runtimes import rendering
from minuend.runtimes.answers import VERDICTS
from minuend.runtimes.explaining import Command
from minuend.runtimes.finding import Finding
from minuend.runtimes.reasons import Reason

if TYPE_CHECKING:
    from minuend.runtimes.trials import Trial

FINDINGS = frozenset(VERDICTS) - {"ok"}
"""Verdicts that count unless it is said otherwise."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was found.

    Attributes:
        title: what was looked at. findings: in the order in which they were made.
        trials: what installed runtimes gave for the whole unmodified model, where they were run.
        notices: what a reader has to know first. notes: other sentences about the whole.
        processors: on which processors what is known of the targets was measured.
        assumed: what was taken for granted of values because somebody said so, a sentence each.
        strict: whether only unexpected findings count (``prove``), or verdicts (``check``). fail_on: which verdicts.
        given: what the command line was about, where it was more than the title.
    """

    title: str
    findings: tuple[Finding, ...]
    trials: tuple[Trial, ...] = ()
    notices: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    processors: tuple[Reason, ...] = ()
    assumed: tuple[str, ...] = ()
    strict: bool = False
    fail_on: frozenset[str] = FINDINGS
    facts: dict[str, Any] = field(default_factory=dict)
    given: Command | None = None

    @property
    def command(self) -> Command:
        """What its commands are about."""
        return self.given or Command(self.title)

    @property
    def head(self) -> tuple[str, ...]:
        """The notices, in English."""
        return tuple(rendering.english([one]) for one in self.notices)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The processors, in English sentences."""
        return tuple(rendering.english([one]) for one in self.processors)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that count."""
        if self.strict:
            return tuple(finding for finding in self.findings if finding.unexpected)
        return tuple(
            one for one in self.findings if one.verdict in self.fail_on and not one.accepted and one.tolerated is None
        )

    @property
    def failed_trials(self) -> tuple[Trial, ...]:
        """The runs that count."""
        return tuple(
            one for one in self.trials if one.verdict in self.fail_on and not one.accepted and not one.tolerated
        )

    @property
    def ok(self) -> bool:
        """Whether nothing counts, of the findings and of the runs."""
        return not self.failures and not self.failed_trials

    def __iter__(self) -> Any:
        return iter(self.findings)

    def __bool__(self) -> bool:
        """Whether it is fine, however many findings it holds."""
        return self.ok

    def __len__(self) -> int:
        return len(self.findings)

    def to_json(self, tool: str = "minuend") -> str:
        """Return the report as JSON text."""
        return as_json({"version": 1, "tool": tool, **self.plain()})

    def plain(self) -> dict[str, Any]:
        """Return the report as plain data."""
        data = {**self.facts, "notes": (*self.head, *self.notes)}
        data["conditions"] = self.conditions
        data["findings"] = [finding.to_json() for finding in self.findings]
        if self.trials:
            data["runs"] = [trial.to_json() for trial in self.trials]
        return data

    def to_junit(self) -> str:
        """Return the report as JUnit XML: a test case a finding; those that count have failed."""
        from minuend.runtimes.junit import junit

        return junit(self)

    def to_sarif(self, tool_version: str, artifact: str = "") -> str:
        """Return the findings as SARIF 2.1.0; ``artifact`` is the file that was looked at, with either separator."""
        from minuend.runtimes.formats import relative_uri, sarif

        return sarif([(self, relative_uri(artifact.replace("\\", "/")) if artifact else "")], tool_version)
