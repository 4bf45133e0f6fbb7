"""tools/measure_operators: it finds what a runtime lacks, and what adapters say is still so."""

from __future__ import annotations

import functools
from collections import defaultdict

import numpy as np
import pytest
from onnx import ModelProto, parser

from minuend.models.operator_forms import FORMS
from minuend.runtimes import registry
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Runtime

pytest.importorskip("onnx.reference")
import measure_operators
from measure_operators import forms, refusal
from truth import Feeds

INSTALLED = [
    name for name, adapter in registry.adapters().items()
    if "onnx" in adapter.DIALECTS and not adapter.ARRAYS and registry.release(adapter) is not None
]  # fmt: skip


@functools.cache
def node_tests() -> dict[str, list[tuple[ModelProto, Feeds]]]:
    found = defaultdict(list)
    for operator, model, feeds in measure_operators.node_tests():
        found[operator].append((model, feeds))
    return found


def test_onnx_has_tests_of_most_operators() -> None:
    assert len(node_tests()) > 150
    assert len(node_tests()["GRU"]) >= 4


def test_forms_are_valid_and_of_older_opsets_too() -> None:
    given, feeds = node_tests()["LeakyRelu"][0]
    found = list(forms(given, feeds))
    assert {one.opset_import[0].version for one, _ in found} >= {9, 16}
    assert {len(one.graph.input) for one, _ in found} == {1}
    assert {tuple(fed) for _, fed in found} == {("x",), ("beside",)}
    for model, _ in found:
        assert measure_operators._is_valid(model)


@pytest.mark.parametrize("name", INSTALLED)
def test_an_operator_that_is_said_to_be_lacked_is_refused(name: str) -> None:
    with Runtime(name) as runtime:
        known = quirks(name).lacked - FORMS
        for operator in sorted(known & node_tests().keys()):
            if quirks(name).lacks({f"operator {operator}"}, runtime.release):
                model, feeds = node_tests()[operator][0]
                assert refusal(runtime, model, feeds), operator
        assert not known - node_tests().keys() - {"GRU", "LSTM", "RNN"}


def test_what_a_runtime_runs_is_not_lacked() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
    with Runtime("onnx-reference") as runtime:
        assert not refusal(runtime, parser.parse_model(text), {"x": np.ones(2, np.float32)})
        broken = parser.parse_model(text.replace("Neg", "Nag"))
        assert refusal(runtime, broken, {"x": np.ones(2, np.float32)})
