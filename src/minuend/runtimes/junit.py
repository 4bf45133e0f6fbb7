"""Reports as JUnit XML, which shows them among the results of tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from minuend.runtimes.finding import Finding
from minuend.runtimes.formats import Reported, Unread, sentence

if TYPE_CHECKING:
    from minuend.runtimes.trials import Trial


def junit(report: Reported) -> str:
    """One report as a test suite: a test case a finding; those that count have failed, known ones are skipped."""
    return _xml(_suite(report))


def junit_of_all(models: Iterable[Reported | Unread]) -> str:
    """Many models as test suites, one each; a model that could not be looked at is an error."""
    suites = [_broken(one) if isinstance(one, Unread) else _suite(one) for one in models]
    root = ElementTree.Element("testsuites", name="minuend check")
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    root.extend(suites)
    return _xml(root)


def _suite(report: Reported) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=report.title)
    counted = {id(one) for one in (*report.failures, *report.failed_trials)}
    for finding in report.findings:
        name = finding.case or f"{finding.node or finding.location} on {finding.target}"
        case = ElementTree.SubElement(suite, "testcase", classname=finding.target, name=name)
        said = sentence(finding, report.command)
        message, text = said.replace("\n", "; "), finding.reason if finding.case else said
        _result(case, finding.verdict, message, text, _why_skipped(finding), id(finding) in counted)
    for trial in report.trials:
        case = ElementTree.SubElement(suite, "testcase", classname=trial.target, name=f"unmodified on {trial.runtime}")
        message = f"{trial.verdict}; {trial.told}"
        _result(case, trial.verdict, message, trial.told, _why_skipped(trial), id(trial) in counted)
    tags = Counter(result.tag for case in suite for result in case)
    totals = {"tests": len(suite), "failures": tags["failure"], "errors": 0, "skipped": tags["skipped"]}
    suite.attrib.update({name: str(count) for name, count in totals.items()})
    return suite


def _result(case: ElementTree.Element, verdict: str, message: str, reason: str, skipped: str, counts: bool) -> None:
    """Put into a test case what came of it: a failure where it counts, and else why it is skipped."""
    if counts:
        ElementTree.SubElement(case, "failure", type=verdict, message=message).text = reason
    elif verdict != "ok":
        ElementTree.SubElement(case, "skipped", message=f"{skipped}; {message}" if skipped else message)


def _why_skipped(found: Finding | Trial) -> str:
    """Return why a finding or a run does not count; ``""`` where its verdict says so."""
    if found.accepted:
        return f"accepted: {found.accepted}"
    return "" if found.tolerated is None else f"tolerated: {found.tolerated}"


def _broken(model: Unread) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=model.model, tests="1", failures="0", errors="1", skipped="0")
    name = f"{'judge' if model.defect else 'read'} {model.model}"
    case = ElementTree.SubElement(suite, "testcase", classname="minuend", name=name)
    ElementTree.SubElement(case, "error", type=model.kind, message=model.message)
    return suite


def _xml(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    # XML 1.0 has no control characters, and UTF-8 no halves of surrogate pairs; a runtime's message and a path may.
    body = "".join(c for c in ElementTree.tostring(root, encoding="unicode") if c in "\t\n\r" or _in_xml(ord(c)))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _in_xml(code: int) -> bool:
    return 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code >= 0x10000
