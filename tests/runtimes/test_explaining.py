"""Three answers about a finding: what differs, why, and what to do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import pytest

from minuend.language import Language
from minuend.models.patterns import Const, Op, X, less
from minuend.operators import SUBTRACT
from minuend.runtimes import reasons as because
from minuend.runtimes.explaining import Command, cause, explained, lines
from minuend.runtimes.finding import Finding
from minuend.runtimes.severity import UNKNOWN, Deviation
from minuend.runtimes.witness import Witness

ENGLISH = Language()
F32 = (("INFERENCE_PRECISION_HINT", "f32"),)
WRAPS = Finding(
    target="openvino-cpu@2026.4.1",
    verdict="different-numbers",
    location="graph.node[0]",
    operator="subtract",
    dtype="uint8",
    constants="none",
    reasons=(because.ValuesDiffer(("wraps",), Witness(SUBTRACT, (5, 10), 0, 251)),),
    witness=Witness(SUBTRACT, (5, 10), 0, 251),
    severity="numbers",
)
TOLERATED = "--tolerate sign-of-zero,rounding=512"
FLOAT = replace(WRAPS, dtype="float32", witness=None, severity=None)


def of(finding: Finding, *reasons: because.Reason, **changes: object) -> Finding:
    return replace(finding, reasons=reasons, **changes)


@pytest.mark.parametrize(
    ("finding", "what", "why", "todo"),
    [
        (
            WRAPS,
            "numbers in uint8: 5 − 10 = 0, expected 251",
            "saturates instead of wrapping",
            ["minuend fix a.onnx --target openvino-cpu@2026.4.1 -o a.fixed.onnx"],
        ),
        (
            replace(WRAPS, constants="both"),
            "numbers in uint8: 5 − 10 = 0, expected 251",
            "saturates instead of wrapping where constants are folded",
            ["minuend fix a.onnx --target openvino-cpu@2026.4.1 -o a.fixed.onnx"],
        ),
        (
            of(FLOAT, because.ValuesDiffer(("negative zero",), dynamic=True), fixable=False),
            "severity unknown in float32, no example known",
            "negative zeros differ where shapes are dynamic",
            ["no remedy known: accept it in minuend.toml"],
        ),
        (
            of(FLOAT, because.Purpose("mean subtraction"), because.PrecisionLower(less(Op("MatMul", (X, X)), X), F32)),
            "severity unknown in float32, no example known",
            "computed in bfloat16 by default, on processors that have it",
            [
                'compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})',
                "minuend check a.onnx --target openvino-cpu@2026.4.1 --hint f32",
            ],
        ),
        (
            replace(
                of(
                    FLOAT,
                    because.ValuesDiffer(("negative zero",), dynamic=True),
                    severity="sign-of-zero",
                    fixable=False,
                ),
                deviations=(Deviation("sign-of-zero"), UNKNOWN),
            ),
            "sign-of-zero or worse in float32, no example known",
            "negative zeros differ where shapes are dynamic",
            ["no remedy known: accept it in minuend.toml"],
        ),
        (
            of(FLOAT, because.PatternComputedOtherwise(less(Op("Mul", (X, X)), Const.ARRAY)), severity="numbers"),
            "numbers in float32, no example known",
            "computed together with adjacent operators: Mul(x, x) - array",
            ["minuend fix a.onnx --target openvino-cpu@2026.4.1 -o a.fixed.onnx"],
        ),
        (
            of(WRAPS, because.OtherPairsDiffer(("beyond int32",)), fixable=False, assumable=(("ids", 0, 9),)),
            "numbers in uint8: 5 − 10 = 0, expected 251",
            "values beyond int32 differ",
            ["if its values are such: minuend check a.onnx --target openvino-cpu@2026.4.1 --assume ids=0..9"],
        ),
        (
            replace(WRAPS, provenance={"release": "2026.4.1", "date": "", "cpu": "", "inferred": "beyond"}),
            "numbers in uint8: 5 − 10 = 0, expected 251",
            "saturates instead of wrapping",
            [
                "minuend fix a.onnx --target openvino-cpu@2026.4.1 -o a.fixed.onnx",
                "to settle it: minuend measure openvino-cpu -o openvino-cpu.json",
            ],
        ),
        (
            replace(WRAPS, accepted="frames are brighter"),
            "numbers in uint8: 5 − 10 = 0, expected 251",
            "saturates instead of wrapping",
            ["nothing; it is accepted: frames are brighter"],
        ),
        (
            replace(WRAPS, tolerated="numbers"),
            "numbers in uint8: 5 − 10 = 0, expected 251",
            "saturates instead of wrapping",
            ["nothing; it is tolerated (--tolerate none counts it)"],
        ),
        (
            replace(
                of(FLOAT, because.PatternComputedOtherwise(less(Op("Mul", (X, X)), X)), severity="numbers"),
                fixable=False,
                deviations=(Deviation("sign-of-zero"), Deviation("numbers", 512), Deviation("rounding", 4)),
            ),
            "numbers in float32, no example known",
            "computed together with adjacent operators: Mul(x, x) - x",
            [f"if 512 ulps are fine: minuend check a.onnx --target {WRAPS.target} {TOLERATED}"],
        ),
        (
            replace(
                of(FLOAT, because.PatternComputedOtherwise(less(Op("Mul", (X, X)), X)), severity="numbers"),
                fixable=False,
                witness=Witness(SUBTRACT, (1.7, 1.8, 1.7), -0.17665634, -0.17665628, less(Op("Mul", (X, X)), X)),
            ),
            (
                "numbers in float32; this example shows rounding: "
                "Mul(1.7, 1.8) − 1.7 = −0.17665634, expected −0.17665628"
            ),
            "computed together with adjacent operators: Mul(x, x) - x",
            ["no remedy known: accept it in minuend.toml"],
        ),
        (
            of(WRAPS, because.DialectNotRead("openvino-cpu", "DirectML", "onnx"), verdict="not-implemented"),
            "does not run",
            "openvino-cpu does not read DirectML models",
            ["minuend convert a.onnx --to onnx -o a.converted.onnx"],
        ),
        (
            of(WRAPS, because.RuntimeMessage("no kernel for Sub(6) node with name 'sub0'\nhere"), verdict="unknown"),
            "results unknown",
            "no kernel for Sub(6) here",
            ["minuend check a.onnx --target openvino-cpu@installed --run"],
        ),
        (
            of(WRAPS, because.NotMeasured("openvino-cpu@2026.4.1"), verdict="unknown"),
            "results unknown",
            "this case has not been measured",
            ["minuend check a.onnx --target openvino-cpu@installed --run"],
        ),
        (
            of(WRAPS, because.NotMeasured("openvino-cpu@2026.4.1"), verdict="unknown", operator="add"),
            "results unknown",
            "this case has not been measured",
            ["minuend measure openvino-cpu --operator add -o openvino-cpu.json"],
        ),
        (
            of(WRAPS, because.RuleBroken("shapes", "2 against 3"), verdict="invalid"),
            "is invalid",
            "2 against 3",
            ["make the model valid"],
        ),
    ],
)
def test_a_finding_is_explained(finding: Finding, what: str, why: str, todo: list[str]) -> None:
    said = explained([finding], ENGLISH, Command("a.onnx"))
    assert (said.what, said.why, list(said.todo)) == (what, why, todo)
    expected = "\n".join((what, f"why: {why}", *(f"do: {line}" for line in todo)))
    assert lines(finding, Command("a.onnx")) == expected


def test_patterns_of_one_cause_are_named_together() -> None:
    findings = [
        of(FLOAT, because.PatternComputedOtherwise(less(Op(name, (X, X)), X)))
        for name in ("Mul", "Div", "Mul", "Add", "Pow")
    ]
    assert len({cause(one, ENGLISH) for one in findings}) == 1
    assert explained(findings, ENGLISH).why == (
        "computed together with adjacent operators: Mul(x, x) - x, Div(x, x) - x and Add(x, x) - x and 1 more"
    )
    unknown = [of(FLOAT, because.PatternNotMeasured((one,), "t@1"), verdict="unknown") for one in (X, Op("Exp", (X,)))]
    assert len({cause(one, ENGLISH) for one in unknown}) == 1
    assert explained(unknown, ENGLISH).why == "not measured: x and Exp(x)"


def test_other_severities_are_other_causes() -> None:
    assert cause(WRAPS, ENGLISH) != cause(replace(WRAPS, severity="edge"), ENGLISH)
    assert cause(WRAPS, ENGLISH) != cause(replace(WRAPS, tolerated="numbers"), ENGLISH)
    assert cause(WRAPS, ENGLISH) == cause(replace(WRAPS, location="graph.node[7]"), ENGLISH)


def test_what_was_given_is_in_the_commands_too() -> None:
    command = Command("my models/a.xml", "--assume x=0..9 --hint f32")
    (line,) = explained([WRAPS], ENGLISH, command).todo
    assert line == (
        "minuend fix 'my models/a.xml' --target openvino-cpu@2026.4.1 --assume x=0..9 --hint f32 -o a.fixed.xml"
    )


def test_what_is_tolerated_is_in_the_commands_too_but_nothing_beside_something() -> None:
    check = f"minuend check MODEL --target {WRAPS.target}"
    for given, expected in (
        ("--tolerate edge", f"{TOLERATED} --tolerate edge"),
        ("--tolerate none --hint f32", f"{TOLERATED} --hint f32"),
    ):
        assert Command("a.onnx", given).filled(f"{check} {TOLERATED}") == (
            f"minuend check a.onnx --target {WRAPS.target} {expected}"
        )


@pytest.mark.parametrize(
    ("verdict", "command"),
    [
        ("unknown", "minuend check a.onnx --target openvino-cpu@installed --run"),
        ("different-numbers", "to settle it: minuend measure openvino-cpu -o openvino-cpu.json"),
    ],
)
def test_what_has_to_be_installed_first_is_said(verdict: str, command: str) -> None:
    inferred = {"release": "2026.4.1", "date": "", "cpu": "", "inferred": "beyond"}
    finding = replace(WRAPS, verdict=verdict, provenance=inferred)
    first = explained([replace(finding, target="openvino-cpu@2099.1")], ENGLISH, Command("a.onnx")).todo
    assert first.count("where openvino-cpu 2099.1 is installed:") == 1
    assert first.index("where openvino-cpu 2099.1 is installed:") == first.index(command) - 1
    installed = explained([finding], ENGLISH, Command("a.onnx")).todo
    assert not any(line.startswith("where ") for line in installed)


def test_a_run_is_not_offered_after_it() -> None:
    finding = of(WRAPS, because.PatternsNotMeasured("openvino-cpu@2026.4.1"), verdict="unknown", ran=True)
    assert explained([finding], ENGLISH).todo == ("no remedy known: accept it in minuend.toml",)


@pytest.mark.parametrize(
    "rule", [functools.partial(because.UnsupportedForm, "nodes of one name"), because.OpenSizesMeet], ids=str
)
def test_what_a_rule_says_to_do_is_offered_where_no_command_helps(rule: Callable[[str], because.Reason]) -> None:
    finding = of(WRAPS, rule("tract takes no two nodes of one name; rename one"), verdict="not-implemented")
    alone = explained([replace(finding, fixable=False)], ENGLISH)
    assert (alone.why, alone.todo) == ("tract takes no two nodes of one name", ("rename one",))
    fixed = explained([finding], ENGLISH)
    assert fixed.why == "tract takes no two nodes of one name; rename one"
    assert all(line.startswith("minuend fix") for line in fixed.todo)
    plain = replace(of(WRAPS, rule("tract has no Loop"), verdict="not-implemented"), fixable=False)
    assert explained([plain], ENGLISH).todo == ("no remedy known: accept it in minuend.toml",)


def test_a_message_that_is_long_is_cut() -> None:
    said = explained([of(WRAPS, because.RuntimeMessage("no " * 200), verdict="not-implemented")], ENGLISH)
    assert len(said.why) == 201
    assert said.why.endswith("…")
