"""``Report``: findings about a model or a runtime; :mod:`minuend.runtimes.formats` writes JUnit and SARIF of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minuend.language import Language
from minuend.operators import SUBTRACT
from minuend.plain import as_json
from minuend.runtimes import rendering
from minuend.runtimes.actions import Action, actions
from minuend.runtimes.answers import VERDICTS, Witness
from minuend.runtimes.reasons import Reason, deciding
from minuend.runtimes.trials import Trial

if TYPE_CHECKING:
    from minuend.models.patterns import Pattern
    from minuend.models.ranges.interval import Range
    from minuend.runtimes.reasons import Folded
    from minuend.runtimes.severity import Severity

FINDINGS = frozenset(VERDICTS) - {"ok"}
"""Verdicts that count unless it is said otherwise."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One verdict, as data; :mod:`minuend.runtimes.rendering` makes a sentence of its reasons.

    Attributes:
        target: ``"openvino-cpu@2026.4.1"``.
        verdict: one of :data:`minuend.runtimes.answers.VERDICTS`.
        node: the node's name; for ``prove`` the case's sentence. location: its place, ``"graph.node[3]"``.
        dialect, operator, opversion, dtype, shape_relation, constants: what the node is; ``operator`` is the name of
            the array API standard, ``opversion`` reads ``"onnx:14"``.
        reasons: why. witness: operands that show it. severity: of a deviation, the worst that is known.
        operands: what each operand can hold.
        provenance: ``"declared"``, or the release, date and processor of the measurement; with ``"inferred"``, why that
            is taken for a release that was not measured.
        pattern: the one that decided. hint: the precision hint of the runtime with which it is fine.
        seen: what a run of the whole model showed of it.
        case: the sentence of the case (``prove``). unexpected: why a finding of ``prove`` counts; empty: it is known.
        accepted: why somebody accepts it, so that it does not count.
    """

    target: str
    verdict: str
    node: str = ""
    location: str = ""
    dialect: str = ""
    operator: str = ""
    opversion: str = ""
    dtype: str = ""
    shape_relation: str = ""
    constants: str = ""
    reasons: tuple[Reason, ...] = ()
    witness: Witness | None = None
    severity: Severity | None = None
    operands: tuple[Range, ...] = ()
    provenance: str | dict[str, str] = "declared"
    pattern: Pattern | Folded | None = None
    hint: str = ""
    seen: Reason | None = None
    case: str = ""
    value_class: str = ""
    unexpected: str = ""
    accepted: str = ""

    @property
    def code(self) -> str:
        """The code of the reason that decided; ``""`` where there is none."""
        found = deciding(self.reasons)
        return "" if found is None else found.code

    @property
    def reason(self) -> str:
        """Why, in an English sentence."""
        return rendering.english(self.reasons)

    def reason_in(self, language: Language) -> str:
        """Return why, in a sentence of a language."""
        return rendering.sentence(self.reasons, language)

    @property
    def graph(self) -> str:
        """The pattern that decided, as it is printed."""
        return "" if self.pattern is None else str(self.pattern)

    @property
    def run(self) -> str:
        """What a run of the whole model showed of it, in an English sentence."""
        return "" if self.seen is None else rendering.english([self.seen])

    @property
    def actions(self) -> tuple[Action, ...]:
        """What can be done about it."""
        operator = self.operator or SUBTRACT.name
        return actions(self.target, self.verdict, self.reasons, inferred=bool(self.inferred), operator=operator)

    @property
    def declared(self) -> bool:
        """Whether documents say so."""
        return self.provenance == "declared"

    @property
    def measured(self) -> dict[str, str] | None:
        """Release, date and processor of the measurement; ``None`` where documents say so."""
        return None if isinstance(self.provenance, str) else self.provenance

    @property
    def inferred(self) -> str:
        """Why the measurement of another release is taken; ``""`` where the release itself was measured."""
        return (self.measured or {}).get("inferred", "")

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        data: dict[str, Any] = {name: getattr(self, name) for name in _KEYS}
        data["actions"] = [one.to_json() for one in self.actions]
        data["operands"] = [_plain_range(one) for one in self.operands]
        data["witness"] = None if self.witness is None else self.witness.to_json()
        data["measured"] = self.provenance
        if self.graph:
            data |= {"graph": self.graph, "hint": self.hint}
        if self.run:
            data |= {"run": self.run}
        if self.case:
            data |= {"case": self.case, "values": self.value_class, "unexpected": self.unexpected}
        if self.accepted:
            data |= {"accepted": self.accepted}
        return data


_KEYS = (
    "target",
    "node",
    "location",
    "dialect",
    "operator",
    "opversion",
    "dtype",
    "shape_relation",
    "constants",
    "verdict",
    "severity",
    "code",
    "reason",
)
"""What of a finding is in its JSON as it is."""


def _plain_range(one: Range) -> dict[str, Any]:
    if one.dtype is None:
        return {"dtype": None, "constant": one.constant, "source": one.why}
    known = {name: getattr(one, name) for name in ("dtype", "nan", "negative_zero", "constant")}
    return {**known, "low": one.lo, "high": one.hi, "source": one.why}


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
        return tuple(one for one in self.findings if one.verdict in self.fail_on and not one.accepted)

    @property
    def failed_trials(self) -> tuple[Trial, ...]:
        """The runs that count."""
        return tuple(one for one in self.trials if one.verdict in self.fail_on and not one.accepted)

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
        from minuend.runtimes.formats import junit

        return junit(self)

    def to_sarif(self, tool_version: str, artifact: str = "") -> str:
        """Return the findings as SARIF 2.1.0; ``artifact`` is the file that was looked at, with either separator."""
        from minuend.runtimes.formats import relative_uri, sarif

        return sarif([(self, relative_uri(artifact.replace("\\", "/")) if artifact else "")], tool_version)
