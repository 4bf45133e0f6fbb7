"""``Report``: findings about a model or a runtime, and the formats that programs read: JSON, JUnit, SARIF."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minuend.plain import as_json
from minuend.runtimes.answers import Witness
from minuend.runtimes.trials import Trial


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One verdict.

    Attributes:
        target: ``"openvino-cpu@2026.4.1"``.
        verdict: one of :data:`minuend.runtimes.answers.VERDICTS`.
        node: the node's name; for ``prove`` the case's sentence. location: its place, ``"graph.node[3]"``.
        dialect, opversion, dtype, shape_relation, constants: what the node is; ``opversion`` reads ``"onnx:14"``.
        reason: why, in a sentence. witness: a pair that shows it.
        provenance: ``"declared"``, or the release, date and processor of the measurement.
        graph: the neighbour that decided, as an expression. hint: what the runtime can be told so that it is fine.
        run: what a run of the whole model showed of it.
        case: the sentence of the case (``prove``). unexpected: why a finding of ``prove`` counts; empty: it is known.
    """

    target: str
    verdict: str
    node: str = ""
    location: str = ""
    dialect: str = ""
    opversion: str = ""
    dtype: str = ""
    shape_relation: str = ""
    constants: str = ""
    reason: str = ""
    witness: Witness | None = None
    provenance: str | dict[str, str] = "declared"
    graph: str = ""
    hint: str = ""
    run: str = ""
    case: str = ""
    value_class: str = ""
    unexpected: str = ""

    @property
    def declared(self) -> bool:
        """Whether documents say so."""
        return self.provenance == "declared"

    @property
    def measured(self) -> dict[str, str] | None:
        """Release, date and processor of the measurement; ``None`` where documents say so."""
        return None if isinstance(self.provenance, str) else self.provenance

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        names = ("target", "node", "location", "dialect", "opversion", "dtype", "shape_relation", "constants")
        data: dict[str, Any] = {name: getattr(self, name) for name in (*names, "verdict", "reason")}
        w = self.witness
        data["witness"] = None if w is None else {"a": w.a, "b": w.b, "got": w.got, "expected": w.expected}
        data["measured"] = self.provenance
        if self.graph:
            data |= {"graph": self.graph, "hint": self.hint}
        if self.run:
            data |= {"run": self.run}
        if self.case:
            data |= {"case": self.case, "values": self.value_class, "unexpected": self.unexpected}
        return data


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was found.

    Attributes:
        title: what was looked at. findings: in the order in which they were made.
        trials: what installed runtimes gave for the whole model as it is, where they were asked.
        head, notes: sentences about the whole; those that come first, and the others.
        strict: whether only unexpected findings count (``prove``), or every verdict that is not ok (``check``).
    """

    title: str
    findings: tuple[Finding, ...]
    trials: tuple[Trial, ...] = ()
    head: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    strict: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that count."""
        if self.strict:
            return tuple(finding for finding in self.findings if finding.unexpected)
        return tuple(finding for finding in self.findings if finding.verdict != "ok")

    @property
    def ok(self) -> bool:
        """Whether nothing counts, and every run gave the contract's numbers."""
        return not self.failures and all(trial.ok for trial in self.trials)

    def __iter__(self) -> Any:
        return iter(self.findings)

    def __bool__(self) -> bool:
        """Whether it is fine, however many findings it holds."""
        return self.ok

    def __len__(self) -> int:
        return len(self.findings)

    def to_json(self, tool: str = "minuend") -> str:
        """Return the report as JSON text."""
        data = {"version": 1, "tool": tool, **self.facts, "notes": (*self.head, *self.notes)}
        data["findings"] = [finding.to_json() for finding in self.findings]
        if self.trials:
            data["runs"] = [trial.to_json() for trial in self.trials]
        return as_json(data)

    def to_junit(self) -> str:
        """Return the report as JUnit XML: a test case a finding; those that count have failed."""
        from xml.etree import ElementTree

        failures = {id(finding) for finding in self.failures}
        suite = ElementTree.Element(
            "testsuite",
            name=self.title,
            tests=str(len(self.findings)),
            failures=str(len(failures)),
            errors="0",
            skipped=str(sum(finding.verdict != "ok" and id(finding) not in failures for finding in self.findings)),
        )
        for finding in self.findings:
            name = finding.case or f"{finding.node or finding.location} on {finding.target}"
            case = ElementTree.SubElement(suite, "testcase", classname=finding.target, name=name)
            if id(finding) in failures:
                told = ElementTree.SubElement(case, "failure", type=finding.verdict, message=_sentence(finding))
                told.text = finding.reason
            elif finding.verdict != "ok":
                ElementTree.SubElement(case, "skipped", message=_sentence(finding))
        ElementTree.indent(suite)
        # XML 1.0 has no control characters; a runtime's message may.
        body = "".join(c for c in ElementTree.tostring(suite, encoding="unicode") if c in "\t\n\r" or ord(c) >= 32)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'

    def to_sarif(self, tool_version: str, artifact: str = "") -> str:
        """Return the findings that count as SARIF 2.1.0; ``artifact`` is the file that was looked at."""
        rules = dict.fromkeys(finding.verdict for finding in self.failures)
        driver = {
            "name": "minuend",
            "version": tool_version,
            "rules": [{"id": rule, "shortDescription": {"text": _RULES[rule]}} for rule in rules],
        }
        results = [_sarif(finding, artifact) for finding in self.failures]
        return as_json(
            {
                "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
                "version": "2.1.0",
                "runs": [{"tool": {"driver": driver}, "results": results}],
            }
        )


_RULES = {
    "ok": "A deviation that is listed for this release is gone",
    "different-numbers": "The runtime computes other numbers than the operator's contract",
    "not-implemented": "The runtime does not run this subtraction",
    "invalid": "The node breaks a rule of its standard",
    "unknown": "Nobody measured what the runtime does here",
}


def _sentence(finding: Finding) -> str:
    parts: Iterable[str] = (finding.unexpected, finding.verdict, str(finding.witness or ""), finding.reason)
    return "; ".join(part for part in parts if part)


def _sarif(finding: Finding, artifact: str) -> dict[str, Any]:
    place: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": finding.location or finding.node}]}
    if artifact:
        place["physicalLocation"] = {"artifactLocation": {"uri": artifact.replace("\\", "/")}}
    return {
        "ruleId": finding.verdict,
        "level": "warning" if finding.verdict == "unknown" else "error",
        "message": {"text": f"{finding.node or finding.location} on {finding.target}: {_sentence(finding)}"},
        "locations": [place],
    }
