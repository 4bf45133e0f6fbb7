"""The matrix: a cell is the worst of what a release does with an element type."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from minuend import cli
from minuend.cli.pages.layout import text
from minuend.cli.pages.matrix import SIGNS, matrix_page
from minuend.core.elements import TYPES
from minuend.errors import DTypeError, SpecError
from minuend.operators import SUBTRACT
from minuend.runtimes import targets
from minuend.runtimes.answers import VERDICTS, WORST, Answer
from minuend.runtimes.matrix import matrix
from minuend.runtimes.severity import severity, worst
from minuend.runtimes.witness import Witness


def test_every_release_is_in_it_with_the_types_that_it_reads() -> None:
    cells = matrix()
    assert list(dict.fromkeys(cell.target.name for cell in cells)) == list(targets.names())
    assert len({(cell.target.name, cell.dtype) for cell in cells}) == len(cells)
    assert {cell.verdict for cell in cells} <= set(SIGNS) <= set(VERDICTS)
    assert not [cell for cell in cells if cell.target.runtime == "directml" and cell.dtype == "bfloat16"]


def test_a_cell_is_the_worst_over_all_values_and_formats() -> None:
    for cell in matrix(["openvino-cpu@2026.4.1", "onnxruntime-cpu@1.31.1"]):
        home = {"openvino-cpu": ("openvino:1", "onnx:14"), "onnxruntime-cpu": ("onnx:14",)}[cell.target.runtime]
        found = []
        for version in home:
            if version == "openvino:1" or cell.dtype in ("float32", "uint8", "int64", "bfloat16"):
                found += [one.verdict for one in cell.target.answer(version, cell.dtype, "same", "none").values()]
        if cell.dtype in ("float32", "uint8", "int64", "bfloat16"):
            assert cell.verdict == min(found, key=WORST.index)
        assert (cell.answer.witness is not None or cell.answer.message != "") == (cell.verdict != "ok")


def test_a_deviation_has_the_worst_severity_of_its_witnesses() -> None:
    cells = {(cell.target.name, cell.dtype): cell for cell in matrix()}
    for cell in cells.values():
        shown = cell.verdict == "different-numbers" and cell.answer.witness is not None
        assert (cell.severity is not None) == shown
        assert cell.operator == "subtract"
    assert cells["openvino-cpu@2026.4.1", "uint8"].severity == "numbers"
    iree = cells["iree@3.13.0", "float32"]
    assert (iree.severity, iree.value_class) == ("subnormal", "negative zero")
    every = {
        severity(TYPES["bfloat16"], (one.witness.a, one.witness.b), one.witness.got, one.witness.expected)
        for one in targets.find("onnx-reference@1.14.1").answer("onnx:14", "bfloat16", "same", "none").values()
        if one.witness is not None
    }
    assert cells["onnx-reference@1.14.1", "bfloat16"].severity == worst(every) == "numbers"


def test_a_witness_that_shows_nothing_has_no_severity() -> None:
    (cell,) = matrix(["openvino-cpu@2026.4.1"], ["uint8"])
    assert replace(cell, answer=Answer("different-numbers", Witness(SUBTRACT, (5, 10), 251, 251))).severity is None
    assert replace(cell, answer=Answer("different-numbers", Witness(SUBTRACT, (5, 10), 300, 251))).severity is None
    assert replace(cell, answer=Answer("different-numbers", message="not run")).severity is None


def test_types_and_targets_are_chosen_by_any_of_their_names() -> None:
    cells = matrix(["ort", "ov@2026.4"], ["u8", "FLOAT16"])
    assert {cell.dtype for cell in cells} == {"uint8", "float16"}
    assert {cell.target.runtime for cell in cells} == {"onnxruntime-cpu", "openvino-cpu"}
    assert [cell.target.name for cell in cells if cell.target.runtime == "openvino-cpu"] == [
        "openvino-cpu@2026.4.1"
    ] * 2
    with pytest.raises(SpecError, match=r"^no target 'tvn'"):
        matrix(["tvn"])
    with pytest.raises(SpecError, match=r"^no release of openvino-cpu that starts with '2025\.1'"):
        matrix(["ov@2025.1"])  # what is inferred was not measured
    with pytest.raises(DTypeError):
        matrix(["ov"], ["uint7"])


def test_documents_are_taken_at_their_word() -> None:
    verdicts = {cell.dtype: cell.verdict for cell in matrix(["directml@6.4"])}
    assert (verdicts["float32"], verdicts["uint8"]) == ("ok", "unknown")


def test_the_page_fits_80_columns_and_shows_each_release_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["targets", "--matrix"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("ok: every result is as expected; ≠: some results differ; no: it does not run;")
    assert cli.main(["targets", "--matrix", "--target", "openvino-cpu", "--dtype", "uint8"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("uint8")]
    assert sum(len(row) - 1 for row in rows) == len(targets.names("openvino-cpu"))
    assert {sign for row in rows for sign in row[1:]} == {"≠"}


def test_in_json_each_cell_has_its_verdict_and_witness(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["targets", "--matrix", "--target", "ov@2026.4.1,torch", "--dtype", "uint8,nf4", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["version"] == 1
    assert data["meaning"].startswith("ok: every result")
    cell = next(one for one in data["cells"] if one["target"] == "openvino-cpu@2026.4.1" and one["dtype"] == "uint8")
    assert cell["witness"] == {"operands": [5, 10], "a": 5, "b": 10, "got": 0, "expected": 251}
    assert {**cell, "witness": None, "measured": None} == {
        "target": "openvino-cpu@2026.4.1",
        "runtime": "openvino-cpu",
        "release": "2026.4.1",
        "dtype": "uint8",
        "opversion": "openvino:1",
        "verdict": "different-numbers",
        "severity": "numbers",
        "values": "wraps",
        "witness": None,
        "message": "",
        "measured": None,
    }
    assert cell["measured"]["release"] == "2026.4.1"
    assert {one["target"].partition("@")[0] for one in data["cells"]} == {"openvino-cpu", "torch-cpu"}


@pytest.mark.parametrize(
    "argv",
    [
        ["--dtype", "uint8"],
        ["--target", "ov"],
        ["--matrix", "--diff", "ov@2023.0", "ov"],
        ["--diff", "ov@2025.1", "ov"],
    ],
)
def test_options_that_choose_nothing_are_refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["targets", *argv]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_release_is_one_word_of_the_head():
    lines = text(matrix_page(matrix(["onnxruntime-cpu"], ["uint8", "float32"]))).splitlines()
    shown = [word for line in lines for word in line.split() if "." in word and word[0].isdigit()]
    assert shown == [name.partition("@")[2] for name in targets.names("onnxruntime-cpu")]
    assert max(map(len, lines)) <= 80
