"""Severities that do not count: how they are named, which findings they cover, and what is left of a report."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from minuend.core.elements import TYPES
from minuend.errors import SpecError
from minuend.judging.checking import tolerating
from minuend.operators import SUBTRACT
from minuend.runtimes.finding import Finding
from minuend.runtimes.report import FINDINGS, Report
from minuend.runtimes.severity import ROUNDING, SEVERITIES, Deviation, deviation
from minuend.runtimes.tolerance import USUAL, Tolerance, Tolerances
from minuend.runtimes.witness import Witness

SIGN = Witness(SUBTRACT, (-0.0, 0.0), 0.0, -0.0)
FLUSHED = Witness(SUBTRACT, (1e-40, 0.0), 0.0, 1e-40)
NEAR = Witness(SUBTRACT, (1.0, 0.0), 1.0 + 3 * 2.0**-23, 1.0)
FARTHER = Witness(SUBTRACT, (1.0, 0.0), 1.0 + 6 * 2.0**-23, 1.0)
LARGE = Witness(SUBTRACT, (1.0, 0.0), 2.0, 1.0)
EXPECTED = "expected sign-of-zero, rounding, subnormal, edge, numbers, rounding=N or none"


def deviating(severity: str | None, *witnesses: Witness | None, **more: object) -> Finding:
    return Finding(
        target="a@1.2.3",
        verdict="different-numbers",
        node="diff",
        dtype="float32",
        severity=severity,  # type: ignore[arg-type]
        witness=witnesses[0] if witnesses else None,
        deviations=tuple(deviation(TYPES["float32"], one) for one in witnesses),
        **more,  # type: ignore[arg-type]
    )


def bounded(*ulps: int) -> Finding:
    known = (Deviation("rounding" if one <= ROUNDING else "numbers", one) for one in ulps)
    return replace(deviating("numbers"), deviations=tuple(known))


# ---- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "names", "ulps"),
    [
        ("none", [], 4),
        ((), [], 4),
        ("sign-of-zero", ["sign-of-zero"], 4),
        (" sign-of-zero , edge", ["edge", "sign-of-zero"], 4),
        (["subnormal", "rounding,numbers"], ["numbers", "rounding", "subnormal"], 4),
        ("rounding=1", ["rounding"], 1),
        ("rounding=9", ["rounding"], 9),
        ("rounding,rounding=9", ["rounding"], 9),
        ("rounding=2,rounding", ["rounding"], 4),
        ("rounding=2,rounding=3", ["rounding"], 3),
        ("rounding=3,rounding=2", ["rounding"], 3),
    ],
)
def test_severities_are_named(given: str | list[str], names: list[str], ulps: int) -> None:
    found = Tolerance.of(given)
    assert (sorted(found.severities), found.ulps) == (names, ulps)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("sign-of-zeros", f"no severity 'sign-of-zeros' (did you mean 'sign-of-zero'?); {EXPECTED}"),
        ("roundings=3", f"no severity 'roundings=3' (did you mean 'rounding'?); {EXPECTED}"),
        ("edge=3", f"no severity 'edge=3' (did you mean 'edge'?); {EXPECTED}"),
        ("", f"no severity ''; {EXPECTED}"),
        ("edge,", f"no severity ''; {EXPECTED}"),
        ("rounding=", "'rounding=': expected ulps from 1 on, as rounding=4"),
        ("rounding=0", "'rounding=0': expected ulps from 1 on, as rounding=4"),
        ("rounding=1.5", "'rounding=1.5': expected ulps from 1 on, as rounding=4"),
        (["none", "edge"], "'none' stands alone; expected no severity beside it"),
    ],
)
def test_what_is_no_severity_is_refused(given: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        Tolerance.of(given)
    assert str(caught.value) == message


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="a int is no severity; expected sign-of-zero"):
        Tolerance.of([4])  # type: ignore[list-item]


# ---- what is covered --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "finding", "expected"),
    [
        ("sign-of-zero", deviating("sign-of-zero", SIGN), "sign-of-zero"),
        ("none", deviating("sign-of-zero", SIGN), None),
        ("edge", deviating("sign-of-zero", SIGN), None),
        ("subnormal", deviating("subnormal", SIGN, FLUSHED), "subnormal"),
        ("sign-of-zero", deviating("subnormal", SIGN, FLUSHED), None),
        ("sign-of-zero", deviating("sign-of-zero", SIGN, None), None),
        ("sign-of-zero", deviating("sign-of-zero"), None),
        ("sign-of-zero", deviating(None, SIGN), None),
        ("numbers", deviating(None, None), None),
        ("numbers", deviating("numbers", None), "numbers"),
        ("rounding", deviating("rounding", NEAR), "rounding"),
        ("rounding=3", deviating("rounding", NEAR), "rounding"),
        ("rounding=2", deviating("rounding", NEAR), None),
        ("rounding", deviating("numbers", FARTHER), None),
        ("rounding=6", bounded(3, 6), "rounding"),
        ("rounding=6", bounded(3, 7), None),
        ("rounding=6", deviating("numbers", NEAR, FARTHER), None),  # other pairs may be off by more
        ("rounding=6", deviating("numbers", NEAR, LARGE), None),
        ("rounding=6", deviating("numbers", FARTHER, None), None),
        ("sign-of-zero", replace(deviating("sign-of-zero", SIGN), verdict="unknown"), None),
        ("rounding=9", replace(deviating("numbers"), dtype="int8", deviations=(deviation(TYPES["int8"], None),)), None),
    ],
)
def test_a_finding_is_covered_where_every_deviation_of_it_is_known(
    given: str, finding: Finding, expected: str | None
) -> None:
    assert Tolerance.of(given).covers(finding) == expected


def test_the_longest_name_of_a_target_counts() -> None:
    edge, numbers = Tolerance.of("edge"), Tolerance.of("numbers")
    found = Tolerances(USUAL, {"a": edge, "a@1.2": numbers})
    assert [found.of(name) for name in ("a@1.2.3", "a@1.20", "b@1.2.3")] == [numbers, edge, USUAL]


# ---- what counts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accepted", ["", "known"])
@pytest.mark.parametrize("fail_on", [FINDINGS, frozenset({"different-numbers"}), frozenset({"unknown"})])
@pytest.mark.parametrize("given", ["none", "sign-of-zero", "edge", "sign-of-zero,edge"])
def test_a_deviation_counts_unless_it_is_tolerated_accepted_or_of_no_verdict_that_counts(
    given: str, fail_on: frozenset[str], accepted: str
) -> None:
    found = deviating("sign-of-zero", SIGN, accepted=accepted)
    report = tolerating(Report(title="check", findings=(found,), fail_on=fail_on), Tolerances(Tolerance.of(given)))
    tolerated = "sign-of-zero" in given
    assert report.ok is (tolerated or bool(accepted) or "different-numbers" not in fail_on)
    (finding,) = report.findings
    assert (finding.tolerated is not None) is (tolerated and not accepted)
    assert finding.to_json().get("tolerated") == ("sign-of-zero" if tolerated and not accepted else None)


def test_a_tolerated_finding_is_in_every_format_and_marked() -> None:
    report = tolerating(Report(title="check", findings=(deviating("sign-of-zero", SIGN),)), Tolerances())
    assert json.loads(report.to_json())["findings"][0]["tolerated"] == "sign-of-zero"
    suite = ElementTree.fromstring(report.to_junit())
    assert [suite.attrib[name] for name in ("tests", "failures", "skipped")] == ["1", "0", "1"]
    (skipped,) = suite.iter("skipped")
    assert skipped.attrib["message"].startswith("tolerated: sign-of-zero; different-numbers; -0.0 - 0.0")
    (result,) = json.loads(report.to_sarif("1.0"))["runs"][0]["results"]
    assert (result["level"], "suppressions" in result) == ("note", False)
    assert result["message"]["text"].endswith(" (tolerated: sign-of-zero)")


def test_every_severity_can_be_tolerated() -> None:
    assert Tolerance.of(",".join(SEVERITIES)).severities == frozenset(SEVERITIES)
