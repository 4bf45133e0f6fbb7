"""What was measured with an instruction set as the newest is a target of its own, for which ``cpu`` asks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minuend import check
from minuend.errors import SpecError
from minuend.runtimes import explaining, other_processors, targets
from minuend.runtimes.answers import EVERY
from minuend.runtimes.processor import INSTRUCTION_SETS, newest
from minuend.runtimes.target import Target

OPENVINO = targets.find("openvino-cpu@2026.4.1")
TRACT = targets.find("tract")
MODEL = '<ir_version: 8, opset_import: ["" : 14]> g (TYPE[3] a, TYPE[3] b) => (TYPE[3] c) { c = Sub(a, b) }'
RELU = MODEL.replace("TYPE", "float").replace("(float[3] c) {", "(float[3] y) { y = Relu(c)")


def with_cpus(target: Target, cpu: str, *of_patterns: str) -> Target:
    """A target whose nodes and patterns were measured on other processors, and which no file has."""
    return replace(target, release="9.9.9", cpu=cpu, table=replace(target.table, cpus=of_patterns))


def test_what_was_measured_on_one_processor_is_known_of_that_alone() -> None:
    found = other_processors.on(TRACT, "avx512_bf16")
    assert (found.table, found.cpu, found.only_up_to) == (TRACT.table, TRACT.cpu, "avx512_bf16")
    assert other_processors.on(TRACT, "avx2").cpu == "AMD EPYC, avx2"
    for last in set(INSTRUCTION_SETS) - {"avx2", "avx512_bf16"}:
        (finding,) = check(MODEL.replace("TYPE", "float"), "tract", cpu=last).findings
        assert (finding.verdict, finding.code) == ("unknown", "processor-not-measured")
        assert finding.measured == {"release": TRACT.release, "date": "", "cpu": ""}
    assert check(MODEL.replace("TYPE", "float"), "tract", cpu="avx512_bf16").findings[0].verdict == "ok"


def test_bfloat16_is_judged_as_on_older_processors_too() -> None:
    """openvino cuts off up to AVX2, and rounds with AVX-512: a verdict for no processor by name holds for both."""
    ranges = {"a": "0..100", "b": "1..2"}
    model = MODEL.replace("TYPE", "bfloat16")
    (found,) = check(model, OPENVINO.name, assume=ranges).findings
    assert (found.verdict, found.severity) == ("different-numbers", "rounding")
    assert found.reason.endswith("; so on processors up to AVX2, and not on newer ones")
    assert found.measured == other_processors.on(OPENVINO, "avx2").provenance
    assert explaining.lines(replace(found, fixable=False)).splitlines()[1:] == [
        "why: differences that round differ, on processors up to AVX2",
        "do: where all processors are newer: name one with --cpu, or as cpu in minuend.toml",
    ]
    for last, verdict in (("avx2", "different-numbers"), ("avx512f", "ok"), ("amx_tile", "ok")):
        assert check(model, OPENVINO.name, assume=ranges, cpu=last).findings[0].verdict == verdict
    (plain,) = check(model, OPENVINO.name).findings
    assert plain.severity == "subnormal"
    assert {one.severity for one in plain.deviations} == {"subnormal", "rounding"}


def test_patterns_that_several_processors_share_are_known_of_none() -> None:
    mixed = with_cpus(TRACT, "a CPU, avx2", "a CPU, avx2", "another, avx2, avx512f")
    found = other_processors.on(mixed, "avx2")
    assert (found.table.nodes, found.table.has_patterns) == (TRACT.table.nodes, False)
    found = other_processors.on(mixed, "avx512f")
    assert {answers[EVERY].verdict for answers in found.table.nodes.values()} == {"unknown"}
    assert not found.table.has_patterns
    (finding,) = check(RELU, other_processors.on(mixed, "avx2")).findings
    assert (finding.verdict, finding.code) == ("unknown", "patterns-not-measured")


def test_patterns_are_known_without_nodes() -> None:
    found = other_processors.on(with_cpus(TRACT, "a CPU, avx2", "another, avx2, avx512f"), "avx512f")
    assert found.table.patterns == TRACT.table.patterns
    assert {answers[EVERY].verdict for answers in found.table.nodes.values()} == {"unknown"}
    assert check(RELU, found).findings[0].verdict == "unknown"


@pytest.mark.parametrize("last", INSTRUCTION_SETS)
def test_every_file_lies_in_the_folder_of_its_newest_set(last: str) -> None:
    for name in targets._packaged(last):
        found = targets.measured_up_to(last, name)
        assert found is not None
        assert (found.name, newest(found.cpu), found.isa[-1:]) == (name, last, (last,))
        assert {newest(cpu) for cpu in found.table.cpus} <= {last}
        loaded = targets.load(targets._packaged(last)[name].read_text("utf-8"))
        assert loaded.table.nodes.keys() == found.table.nodes.keys()
        assert name in targets.names()


def test_other_operators_are_unknown_on_an_asked_processor() -> None:
    text = MODEL.replace("TYPE", "float").replace("Sub", "Add")
    for last in INSTRUCTION_SETS:
        assert [one.verdict for one in check(text, "ort@1.32.0", cpu=last, operators=["add"]).findings] == ["unknown"]


def test_a_release_between_two_is_inferred_from_what_both_were_measured_with() -> None:
    found = other_processors.on(targets.find("openvino-cpu@2025.1"), "amx_tile")
    assert [one.only_up_to for one in found.behind] == ["amx_tile", "amx_tile"]
    text = MODEL.replace("TYPE", "float")
    assert [check(text, "ov@2025.1", cpu=one).findings[0].verdict for one in ("amx_tile", "avx512_fp16")] == [
        check(text, "ov@2025.1").findings[0].verdict,
        "unknown",
    ]


def test_what_documents_say_holds_on_every_processor() -> None:
    assert other_processors.on(targets.find("directml@5.1"), "avx2") is targets.find("directml@5.1")


def test_the_report_says_for_which_processor_it_holds() -> None:
    report = check(MODEL.replace("TYPE", "uint8"), "tract", cpu="avx512_bf16")
    assert report.head == ("measured on AMD EPYC (AVX-512 BF16): tract@0.23.9",)
    assert report.conditions == ()


def test_a_set_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(SpecError, match=r"no instruction set 'avx' \(did you mean 'avx2'\?\); expected avx2, avx512f"):
        check(MODEL.replace("TYPE", "uint8"), OPENVINO.name, cpu="avx")


def test_a_run_is_on_this_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minuend.judging.options.processor", lambda: "a CPU, avx2, avx512f")
    with pytest.raises(SpecError, match="a run is on this processor, not on one up to avx2; leave out the run or cpu"):
        check(MODEL.replace("TYPE", "float"), "tract", cpu="avx2", run=True)
