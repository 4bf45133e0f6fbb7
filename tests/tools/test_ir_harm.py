"""What openvino and this package make of IRs that were changed: which differences the surface of IRs finds."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")
pytest.importorskip("openvino")

from differential import ir_harm, ir_models
from differential.surface import Difference
from ir_files import EDGE_B, EDGE_R, RESULT, TEXT, WEIGHTS
from mutated_documents import every_change

from minuend.errors import FileFormatError
from minuend.openvino import model
from minuend.openvino.ir.sections import Type

LATE = '<layer id="4" name="d" type="Clamp" version="opset1"><data min="0" max="1"/><input><port id="0"/></input>'
LATE += '<output><port id="1" precision="FP32"/></output></layer>'
TO_LATE = '<edge from-layer="2" from-port="2" to-layer="4" to-port="0"/>'
UNUSED = TEXT.replace(RESULT, f"{RESULT}{LATE}").replace(EDGE_R, f"{EDGE_R}{TO_LATE}")
"""A Clamp that no Result needs."""


def judged(text: str) -> str:
    return ir_harm.judged(text.encode(), WEIGHTS)


def test_every_change_of_an_ir_is_judged_as_openvino_judges_it_or_for_a_reason_that_is_stated() -> None:
    outcomes = Counter(ir_harm.judged(data, WEIGHTS) for _, data in every_change(TEXT.encode()))
    assert set(outcomes) == {
        "both refuse",
        "both read, and gives the same numbers",
        "both read, refused when it runs, as stated",
        "refused here alone, as stated",
        "a layer that this package does not know",
    }
    assert outcomes["both read, and gives the same numbers"] > 300
    assert outcomes["refused here alone, as stated"] < 100


def test_a_layer_that_no_result_needs_is_refused_where_openvino_would_refuse_it() -> None:
    assert judged(UNUSED) == "both read, and gives the same numbers"
    for text in (
        UNUSED.replace(TO_LATE, ""),
        UNUSED.replace('<data min="0" max="1"/><input><port id="0"/></input>', '<data min="0" max="1"/>'),
        TEXT.replace(EDGE_B, "").replace(RESULT, "").replace(EDGE_R, ""),
    ):
        assert judged(text) == "refused here alone, as stated"


def test_a_layer_that_no_result_needs_is_no_excuse_for_a_fault_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    read = model.read

    def strict(xml: bytes, weights: bytes) -> Any:
        if b'name="sub"' in xml:
            raise FileFormatError("layer 2 'sub' is refused")
        return read(xml, weights)

    monkeypatch.setattr(model, "read", strict)
    for text in (TEXT, UNUSED, UNUSED.replace(TO_LATE, "")):
        with pytest.raises(Difference, match=r"^refused here alone, for a reason that is not stated \(read\): layer 2"):
            judged(text)


@pytest.mark.parametrize(("change", "message"), [
    (lambda x: {"y": x["y"] + 1}, r"^'y' is .*, and openvino computes "),
    (lambda x: {"y": x["y"].T}, r"^'y' is .*, and openvino computes "),
])  # fmt: skip
def test_other_numbers_are_a_difference(monkeypatch: pytest.MonkeyPatch, change: Any, message: str) -> None:
    run = model.Model.run
    monkeypatch.setattr(model.Model, "run", lambda *given, **words: change(run(*given, **words)))
    with pytest.raises(Difference, match=message):
        judged(TEXT)


@pytest.mark.parametrize(("name", "type_", "message"), [
    ("y", Type("f32", (2, 4)), "^the results are "), ("y", Type("f16", (2, 3)), "^the results are "),
    ("y", Type("f32", (None, 3)), "^the results are "), ("z", Type("f32", (2, 3)), "^a result is called 'z', and "),
])  # fmt: skip
def test_other_results_are_a_difference(monkeypatch: pytest.MonkeyPatch, name: str, type_: Type, message: str) -> None:
    monkeypatch.setattr(model.Model, "outputs", property(lambda _: {name: type_}))
    with pytest.raises(Difference, match=message):
        judged(TEXT)


def test_what_this_package_reads_alone_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    read = model.read
    whole = TEXT.replace('size="12"', 'size="x"')
    monkeypatch.setattr(model, "read", lambda xml, weights: read(xml.replace(b'"x"', b'"12"'), weights))
    with pytest.raises(Difference, match=r"^read and run, and openvino refuses it: "):
        judged(whole)


@pytest.mark.parametrize("drawn", [7766, 10229, 13113, 13298, 13322, 14654])
def test_what_a_run_left_is_read_or_refused_for_a_stated_reason(tmp_path: Path, drawn: int) -> None:
    case = ir_models.draw(random.Random(f"7954 {drawn}"))
    assert ir_models.compare(case, tmp_path) in (
        "harmed: both read, and gives the same numbers",
        "harmed: both read, not evaluated by openvino",
        "harmed: refused here alone, as stated",
    )
