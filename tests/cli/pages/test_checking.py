"""The page of ``check``: what differs, why, what to do, cause by cause, on one screen."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_exports import EXPORTS, MODELS, quantised, written

from minuend.cli.pages.checking import gate_page
from minuend.cli.pages.layout import text
from minuend.judging.configuration import Configs
from minuend.judging.gate import Gate, check_models
from minuend.judging.options import Judging, find_targets
from minuend.language import Language
from minuend.operators import SUBTRACT
from minuend.rewriting.advising import advised
from minuend.runtimes.witness import Witness

onnx = pytest.importorskip("onnx")

Array = np.ndarray[Any, np.dtype[Any]]
TARGETS = ("openvino-cpu@2026.4.1", "onnxruntime-cpu@1.32.0")
WIDTH, HEIGHT = 80, 40
MATMUL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[8,8] x, float[8,8] q) => (float[8,8] y, float[8,8] z) <float c = {1.5}> {
    t = MatMul(x, q)
    y = Sub(t, c)
    u = MatMul(q, x)
    z = Sub(u, c)
}"""


@pytest.fixture(params=EXPORTS)
def export(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return written(request.param, tmp_path)


def found(path: str, targets: tuple[str, ...] = TARGETS) -> Gate:
    return check_models([path], Judging(targets=find_targets(targets)), Configs(used=False), advise=advised)


@functools.cache
def of_text(model: str, path: Path) -> Gate:
    path.write_text(model)
    return found(str(path), TARGETS[:1])


def shown(gate: Gate, language: str = "en", *, whole: bool = False, width: int = WIDTH) -> list[str]:
    return text(gate_page(gate, Language(language), whole=whole), width).splitlines()


def test_a_real_export_fits_on_one_screen(export: str) -> None:
    gate = found(export)
    assert len(gate.models) == 1
    for language in ("en", "zh_TW"):
        lines = shown(gate, language)
        assert 4 < len(lines) <= HEIGHT, language
        assert max(map(len, lines)) <= WIDTH, language


def test_the_quantised_export_is_a_qdq_model_with_something_to_report(tmp_path: Path) -> None:
    path = tmp_path / "quantised.onnx"
    quantised(path)
    operators = [node.op_type for node in onnx.load(path).graph.node]
    assert min(operators.count(name) for name in ("QuantizeLinear", "DequantizeLinear")) > 10
    lines = shown(found(str(path)), width=200)
    assert len(lines) == 9
    assert lines[0] == "openvino-cpu@2026.4.1  different-numbers"
    assert lines[1].startswith("graph.node[17] '/Sub': numbers in float32: Div(")
    assert lines[2].startswith(
        "  why: computed together with adjacent operators: Div(x - array, array); openvino-cpu gives"
    )
    assert "QuantizeLinear with an odd zero point" in lines[2]
    assert lines[4] == "  do:  no remedy known: accept it in minuend.toml"


def test_every_cause_has_what_why_and_what_to_do_in_this_order(export: str) -> None:
    lines = shown(found(export))
    starts = [line[:7] for line in lines if line.startswith(("  why: ", "  do:  "))]
    assert starts
    assert starts == ["  why: ", "  do:  "] * (len(starts) // 2)
    assert not any(line.startswith("measured on") for line in lines)


def test_a_cause_of_several_nodes_is_said_once_and_first(tmp_path: Path) -> None:
    lines = shown(of_text(MATMUL, tmp_path / "m.onnxtxt"))
    assert lines[0] == "openvino-cpu@2026.4.1  different-numbers"
    assert lines[1].startswith("2 subtractions (graph.node[1] and graph.node[3]): ")
    assert "  why: computed in bfloat16 by default, on processors that have it" in lines
    i = lines.index('  do:  compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})')
    assert lines[i + 1].startswith("       minuend check ")
    assert lines[-1] == "2 of 2 subtractions differ on openvino-cpu@2026.4.1"


def test_one_cause_of_nodes_comes_before_others_of_fewer() -> None:
    (report,) = found(str(MODELS / "encoder.torchscript-13.onnx")).reports
    lines = [line for line in shown(Gate(models=(report,), targets=TARGETS)) if line.startswith(("2 sub", "graph"))]
    assert [line.split()[0] for line in lines[:3]] == ["2", "graph.node[5]", "graph.node[17]"]


def test_what_is_fine_has_one_line(tmp_path: Path) -> None:
    path = tmp_path / "fine.onnxtxt"
    path.write_text(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] a, float[2] b) => (float[2] c) { c = Sub(a, b) }'
    )
    (line,) = shown(found(str(path), TARGETS[1:]), width=200)
    assert line == f"{path}: 1 subtraction, as expected on onnxruntime-cpu@1.32.0"
    whole = shown(found(str(path), TARGETS[1:]), whole=True, width=200)
    assert whole[0] == "graph.node[0]: Sub-14, float32, same shapes"
    assert whole[2].split(maxsplit=2) == ["onnxruntime-cpu@1.32.0", "ok", "results as expected"]
    assert whole[4].startswith("measured on ")


def test_runtimes_that_do_not_read_a_model_are_named_together() -> None:
    path = str(Path(__file__).parents[3] / "examples" / "openvino" / "spectrum.xml")
    lines = shown(found(path, ("tract@0.23.9", "openvino-cpu@2026.4.1", "iree@3.13.0")), width=200)
    assert lines[:4] == [
        "tract@0.23.9, iree@3.13.0  not-implemented",
        "layer 2 'cleaned': does not run",
        "  why: they do not read OpenVINO models",
        f"  do:  minuend convert {path} --to onnx -o spectrum.onnx",
    ]
    (alone, *_) = shown(found(path, ("tract@0.23.9", "openvino-cpu@2026.4.1")), width=200)
    assert alone.split() == ["tract@0.23.9", "not-implemented"]


def test_findings_that_do_not_count_come_last_and_say_why(tmp_path: Path) -> None:
    gate = of_text(MATMUL, tmp_path / "m.onnxtxt")
    (report,) = gate.reports
    first, second = report.findings
    both = replace(report, findings=(replace(first, accepted="known"), replace(second, tolerated="rounding")))
    lines = shown(Gate(models=(both,), targets=TARGETS[:1]))
    heads = [line.split() for line in lines if line.startswith("openvino-cpu")]
    assert heads == [[TARGETS[0], "different-numbers", "tolerated"], [TARGETS[0], "different-numbers", "accepted"]]
    assert "  do:  nothing; it is tolerated (--tolerate none counts it)" in lines
    assert "  do:  nothing; it is accepted: known" in lines


def test_a_witness_of_a_pattern_shows_all_its_inputs(tmp_path: Path) -> None:
    (report,) = of_text(MATMUL, tmp_path / "m.onnxtxt").reports
    witness = Witness(SUBTRACT, (1.5, 2.0, -3.0), 4.0, 4.25)
    findings = tuple(replace(one, witness=witness, severity="numbers") for one in report.findings)
    lines = shown(Gate(models=(replace(report, findings=findings),), targets=TARGETS[:1]), width=200)
    example = "numbers in float32: inputs 1.5, 2.0, −3.0 give 4.0, expected 4.25"
    assert lines[1] == f"2 subtractions (graph.node[1] and graph.node[3]): {example}"
