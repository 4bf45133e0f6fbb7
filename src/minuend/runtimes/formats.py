"""Reports as SARIF 2.1.0, which code scanning reads, and what :mod:`minuend.runtimes.junit` shares with it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from minuend.plain import as_json
from minuend.runtimes.explaining import Command, reason_and_remedy
from minuend.runtimes.finding import Finding

if TYPE_CHECKING:
    from minuend.runtimes.trials import Trial

RULES = {
    "ok": "A deviation that is listed for this release is gone",
    "different-numbers": "The runtime gives other results than expected",
    "not-implemented": "The runtime does not run this node",
    "invalid": "The node breaks a rule of its standard",
    "unknown": "What the runtime does here has not been measured",
}

ROOT = "%SRCROOT%"


class Reported(Protocol):
    """What is written of a report; see :class:`minuend.runtimes.report.Report`."""

    @property
    def title(self) -> str: ...
    @property
    def command(self) -> Command: ...
    @property
    def findings(self) -> tuple[Finding, ...]: ...
    @property
    def trials(self) -> tuple[Trial, ...]: ...
    @property
    def failures(self) -> tuple[Finding, ...]: ...
    @property
    def failed_trials(self) -> tuple[Trial, ...]: ...


@dataclass(frozen=True, slots=True)
class Unread:
    """A model that could not be looked at: its path, what kind of error it is, and the error's message."""

    model: str
    kind: str
    message: str

    @property
    def defect(self) -> bool:
        """Whether this program failed, and not what it was given."""
        return self.kind == "defect"

    @property
    def what(self) -> str:
        """What became of the model, in two or three words."""
        return "not judged" if self.defect else "cannot be read"


def sentence(finding: Finding, command: Command) -> str:
    """Say what was found of a model: the verdict with an example and the severity, why, and what to do, in lines.

    Of a case (``prove``): why it counts, the verdict, the example and the reason, in one line.
    """
    if finding.case or finding.verdict == "ok":
        parts: Iterable[str] = (finding.unexpected, finding.verdict, str(finding.witness or ""), finding.reason)
        return "; ".join(part for part in parts if part)
    what = finding.verdict
    if what == "different-numbers":
        what = f"{what}; {finding.witness or 'no example known'}; severity {finding.severity or 'unknown'}"
    return "\n".join((what, *reason_and_remedy(finding, command)))


def sarif(models: Iterable[tuple[Reported | Unread, str]], tool_version: str, root: str = "") -> str:
    """Return what was found as one SARIF run.

    Args:
        models: each with the URI of its file, relative to the root or absolute; ``""`` for none.
        tool_version: this program's. root: the URI of the folder that relative ones begin at, ending with a ``/``.

    Findings that count are errors (unknown ones warnings), those that do not count are notes, and accepted ones are
    suppressed; tolerated ones are not. A result's fingerprint tells it by its file, target and node, and by no number
    of a place.
    """
    results: list[dict[str, Any]] = []
    problems: list[dict[str, Any]] = []
    every = list(models)
    targets = {f.target for one, _ in every if not isinstance(one, Unread) for f in one.findings}
    releases = Counter(name.partition("@")[0] for name in targets)
    for one, uri in every:
        if isinstance(one, Unread):
            problems.append({"level": "error", "message": {"text": one.message}, "locations": [_place(uri, root)]})
            continue
        seen: Counter[str] = Counter()
        for found in _results(one):
            target = found.target if releases[found.runtime] > 1 else found.runtime
            key = "\0".join((uri, target, *found.identity))
            seen[key] += 1
            mark = hashlib.sha256(f"{key}\0{seen[key]}".encode(errors="backslashreplace")).hexdigest()[:32]
            # Code scanning on GitHub takes the first of these names alone.
            marks = {"primaryLocationLineHash": f"{mark}:1", "minuendSubtraction/v1": mark}
            results.append({**found.result(uri, root), "partialFingerprints": marks})
    rules = dict.fromkeys(result["ruleId"] for result in results)
    driver = {
        "name": "minuend",
        "version": tool_version,
        "rules": [{"id": rule, "shortDescription": {"text": RULES[rule]}} for rule in rules],
    }
    run: dict[str, Any] = {"tool": {"driver": driver}}
    if root:
        run["originalUriBaseIds"] = {ROOT: {"uri": root}}
        run["columnKind"] = "unicodeCodePoints"
        run["invocations"] = [{"executionSuccessful": not problems, "toolExecutionNotifications": problems}]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return as_json({"$schema": schema, "version": "2.1.0", "runs": [{**run, "results": results}]})


@dataclass(frozen=True, slots=True)
class _Result:
    """A finding or a run as SARIF has it."""

    target: str
    verdict: str
    level: str
    text: str
    where: str
    accepted: str
    identity: tuple[str, ...]

    @property
    def runtime(self) -> str:
        return self.target.partition("@")[0]

    def result(self, uri: str, root: str) -> dict[str, Any]:
        place = _place(uri, root)
        if root and uri:
            place["physicalLocation"]["region"] = {"startLine": 1}  # models have no lines; readers want one
        place["logicalLocations"] = [{"fullyQualifiedName": self.where}] if self.where else []
        data = {"ruleId": self.verdict, "level": self.level, "message": {"text": self.text}, "locations": [place]}
        if self.accepted:
            data["suppressions"] = [{"kind": "external", "status": "accepted", "justification": self.accepted}]
        return data


def _results(report: Reported) -> Iterator[_Result]:
    counted = {id(one) for one in (*report.failures, *report.failed_trials)}
    for finding in report.findings:
        if finding.verdict == "ok" and id(finding) not in counted:
            continue
        text = f"{finding.node or finding.location} on {finding.target}: {sentence(finding, report.command)}"
        text += "" if finding.tolerated is None else f" (tolerated: {finding.tolerated})"
        identity = (finding.opversion, finding.dtype, _without_numbers(finding), finding.case)
        yield _Result(
            finding.target,
            finding.verdict,
            _level(finding, id(finding) in counted),
            text,
            finding.location or finding.node,
            finding.accepted,
            (finding.verdict, *identity),
        )
    for trial in report.trials:
        if trial.verdict != "ok":
            text = f"unmodified on {trial.runtime}: {trial.told}"
            where = trial.places[0].location if trial.places else ""
            level = _level(trial, id(trial) in counted)
            yield _Result(trial.target, trial.verdict, level, text, where, trial.accepted, ("run", trial.verdict))


def _level(found: Finding | Trial, counts: bool) -> str:
    if not counts and not found.accepted:
        return "note"
    return "warning" if found.verdict == "unknown" else "error"


def _without_numbers(finding: Finding) -> str:
    """What tells a node from others when nodes before it come or go: its name, and the path to it without numbers."""
    place = re.sub(r"\[[0-9]+\]", "", finding.location)
    return f"{place} {finding.node}"


def _place(uri: str, root: str) -> dict[str, Any]:
    if not uri:
        return {}
    relative = bool(root) and ":" not in uri.partition("/")[0]
    return {"physicalLocation": {"artifactLocation": {"uri": uri, **({"uriBaseId": ROOT} if relative else {})}}}


def uri_of(path: PurePath, root: PurePath) -> str:
    """Return a file's URI: relative to a root where it lies there, and else absolute; both paths are absolute.

    >>> from pathlib import PurePosixPath, PureWindowsPath
    >>> uri_of(PurePosixPath("/w/my models/é[1].onnx"), PurePosixPath("/w"))
    'my%20models/%C3%A9%5B1%5D.onnx'
    >>> uri_of(PureWindowsPath("C:/w/a/m.onnx"), PureWindowsPath("c:/W"))
    'a/m.onnx'
    >>> uri_of(PurePosixPath("/elsewhere/m.onnx"), PurePosixPath("/w"))
    'file:///elsewhere/m.onnx'
    """
    if path.is_relative_to(root):
        return relative_uri(path.relative_to(root).as_posix())
    return path.as_uri()


def relative_uri(path: str) -> str:
    """Return a path with ``/`` between names as a reference that is relative to some URI.

    >>> relative_uri("my models/é[1].onnx")
    'my%20models/%C3%A9%5B1%5D.onnx'
    """
    whole = PurePosixPath("/", path).as_uri().removeprefix("file://")
    return whole if path.startswith("/") else whole.removeprefix("/")
