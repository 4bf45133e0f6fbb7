"""Reports: what counts, and the formats that programs read."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from minuend.models.ranges.interval import Range
from minuend.operators import SUBTRACT
from minuend.runtimes.finding import Finding
from minuend.runtimes.reasons import RuntimeMessage
from minuend.runtimes.report import Report
from minuend.runtimes.witness import Witness

MEASURED = {"release": "2026.4.1", "date": "2026-11-21", "cpu": "a processor"}
WRAPS = Finding(
    target="openvino-cpu@2026.4.1",
    verdict="different-numbers",
    node="diff",
    location="graph.node[0]",
    dialect="onnx",
    operator="subtract",
    opversion="onnx:14",
    dtype="uint8",
    shape_relation="same",
    constants="none",
    reasons=(RuntimeMessage("it saturates"),),
    severity="numbers",
    operands=(Range("uint8", 5, 255, why="Clip"), Range("uint8", 10, 10, constant=True, why="constant")),
    witness=Witness(SUBTRACT, (5, 10), 0, 251),
    provenance=MEASURED,
)
REFUSED = RuntimeMessage("it refuses int4")
PLAIN = {"nan": False, "negative_zero": False}
FINE = Finding(target="onnxruntime-cpu@1.31.1", verdict="ok", node="diff", location="graph.node[0]")


def test_a_report_of_a_model_counts_every_verdict_that_is_not_ok() -> None:
    report = Report(title="check", findings=(WRAPS, FINE))
    assert report.failures == (WRAPS,)
    assert not report.ok
    assert Report(title="check", findings=(FINE,)).ok
    assert list(report) == [WRAPS, FINE]
    assert len(report) == 2


def test_a_report_is_true_where_it_is_ok_however_many_findings_it_holds() -> None:
    assert not Report(title="check", findings=(WRAPS,))
    assert Report(title="check", findings=(FINE,))
    assert Report(title="check", findings=())


def test_a_strict_report_counts_only_what_is_unexpected() -> None:
    assert Report(title="prove", findings=(WRAPS,), strict=True).ok


def test_measured_and_declared_exclude_each_other() -> None:
    assert (WRAPS.declared, WRAPS.measured) == (False, MEASURED)
    assert (FINE.declared, FINE.measured) == (True, None)


def test_json_holds_every_field_of_the_contract() -> None:
    data = json.loads(Report(title="check", findings=(WRAPS, FINE)).to_json("minuend 1"))
    assert data["version"] == 1
    assert data["tool"] == "minuend 1"
    assert data["findings"][0] == {
        "target": "openvino-cpu@2026.4.1",
        "node": "diff",
        "location": "graph.node[0]",
        "dialect": "onnx",
        "operator": "subtract",
        "opversion": "onnx:14",
        "dtype": "uint8",
        "shape_relation": "same",
        "constants": "none",
        "verdict": "different-numbers",
        "severity": "numbers",
        "code": "runtime-message",
        "reason": "it saturates",
        "actions": [{"kind": "fix", "command": "minuend fix MODEL --target openvino-cpu@2026.4.1 -o OUT"}],
        "operands": [
            {"dtype": "uint8", "low": 5, "high": 255, "source": "Clip", **PLAIN, "constant": False},
            {"dtype": "uint8", "low": 10, "high": 10, "source": "constant", **PLAIN, "constant": True},
        ],
        "witness": {"operands": [5, 10], "a": 5, "b": 10, "got": 0, "expected": 251},
        "measured": MEASURED,
    }
    assert data["findings"][1]["measured"] == "declared"
    fine = data["findings"][1]
    assert (fine["witness"], fine["severity"], fine["code"], fine["actions"]) == (None, None, "", [])


def test_junit_has_a_test_for_each_finding_and_fails_those_that_count() -> None:
    suite = ElementTree.fromstring(Report(title="m.onnx", findings=(WRAPS, FINE)).to_junit())
    assert suite.attrib == {"name": "m.onnx", "tests": "2", "failures": "1", "errors": "0", "skipped": "0"}
    (failure,) = suite.iter("failure")
    assert failure.attrib["message"] == (
        "different-numbers; 5 - 10: got 0, expected 251; severity numbers; why: it saturates; "
        "do: minuend fix m.onnx --target openvino-cpu@2026.4.1 -o m.fixed.onnx"
    )
    assert failure.text == failure.attrib["message"].replace("; why", "\nwhy").replace("; do", "\ndo")


def test_junit_skips_what_is_known_and_does_not_count() -> None:
    known = Finding(target="numpy@2.4", verdict="not-implemented", case="Sub of int4", reasons=(REFUSED,))
    counted = Finding(target="numpy@2.4", verdict="not-implemented", case="Sub of int8", unexpected="not listed")
    suite = ElementTree.fromstring(Report(title="prove", findings=(known, counted), strict=True).to_junit())
    assert [suite.attrib[name] for name in ("tests", "failures", "skipped")] == ["2", "1", "1"]
    (skipped,) = suite.iter("skipped")
    assert skipped.attrib == {"message": "not-implemented; it refuses int4"}
    assert [case.attrib["name"] for case in suite if case.find("skipped") is not None] == ["Sub of int4"]


def test_junit_survives_control_characters_of_a_message() -> None:
    finding = Finding(
        target="t", verdict="not-implemented", node="n", reasons=(RuntimeMessage("bad \x00\x1b thing <&>"),)
    )
    suite = ElementTree.fromstring(Report(title="the model", findings=(finding,)).to_junit())
    assert next(suite.iter("failure")).text == (
        "not-implemented\nwhy: bad  thing <&>\ndo: minuend fix MODEL --target t -o OUT"
    )


def test_sarif_names_rule_place_and_message() -> None:
    data = json.loads(Report(title="models/m.onnx", findings=(WRAPS, FINE)).to_sarif("1.0", "models\\m.onnx"))
    (run,) = data["runs"]
    assert data["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["different-numbers"]
    (result,) = run["results"]
    assert result["message"]["text"] == (
        "diff on openvino-cpu@2026.4.1: different-numbers; 5 - 10: got 0, expected 251; severity numbers\n"
        "why: it saturates\n"
        "do: minuend fix models/m.onnx --target openvino-cpu@2026.4.1 -o m.fixed.onnx"
    )
    (place,) = result["locations"]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": "models/m.onnx"}}
    assert place["logicalLocations"] == [{"fullyQualifiedName": "graph.node[0]"}]
