"""``--as``: whose rules a subtraction follows."""

from __future__ import annotations

from typing import Any

import pytest

from minuend.cli.rules import parse_rules
from minuend.errors import SpecError


@pytest.mark.parametrize(
    ("text", "shown", "attributes"),
    [
        ("onnx", "Sub-14", {}),
        ("onnx:13", "Sub-13", {}),
        ("onnx:10", "Sub-7", {}),
        ("onnx:6,axis=1,broadcast=1", "Sub-6", {"axis": 1, "broadcast": 1}),
        ("onnx:1,consumed_inputs=0/1", "Sub-1", {"consumed_inputs": [0, 1]}),
        ("openvino:pdpd,axis=-1", "Subtract-1", {"auto_broadcast": "pdpd", "axis": -1}),
        ("openvino:1,NONE", "Subtract-1", {"auto_broadcast": "NONE"}),
        ("directml:DML_FEATURE_LEVEL_4_1", "ELEMENT_WISE_SUBTRACT-4.1", {}),
    ],
)
def test_rules_are_read_from_the_rows(text: str, shown: str, attributes: dict[str, Any]) -> None:
    op, stated = parse_rules(text)
    assert (str(op), stated) == (shown, attributes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("onnx:6,axis=x", "attribute 'axis' of Sub-6 is 'x'; expected a whole number (INT)"),
        (
            "onnx:1,consumed_inputs=a",
            "attribute 'consumed_inputs' of Sub-1 is 'a'; expected whole numbers with a / between them (INTS)",
        ),
        ("onnx:6,axis=1,axis=2", "--as onnx:6,axis=1,axis=2 states 'axis' twice; state it once"),
        ("onnx:6,broadcast=7", "attribute 'broadcast' of Sub-6 is 7; expected 0 or 1"),
        ("onnx:6,pdpd", "'pdpd' says nothing to ONNX Sub-6; expected the opset in first place or NAME=VALUE"),
        (
            "openvino:1,foo",
            (
                "'foo' says nothing to OpenVINO Subtract-1; "
                "expected the operator version in first place, NAME=VALUE, none, numpy or pdpd"
            ),
        ),
        ("tosa:1", "no dialect 'tosa'; expected directml, onnx or openvino"),
    ],
)
def test_rules_that_say_nothing_are_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_rules(text)
    assert str(caught.value) == message
