"""What runtimes insist on in a model's declarations: each kind is tried on every installed runtime, and judged."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, parser

import minuend as mn
from minuend.core.elements import TYPES
from minuend.onnx.graphs.declared import DECLARED, kinds
from minuend.runtimes import registry, targets
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Refused, Runtime

HEAD = '<ir_version: 8, opset_import: ["" : 13]> '
MODELS = {
    "": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { c = Sub(a, b) }",
    "input without shape": "g (int32[] a, int32[] b) => (int32[2,3] c) { c = Sub(a, b) }",
    "input dim without name": "g (int32[?,3] a, int32[?,3] b) => (int32[2,3] c) { c = Sub(a, b) }",
    "output without shape": "g (int32[2,3] a, int32[2,3] b) => (int32[] c) { c = Sub(a, b) }",
    "output without type": "g (int32[2,3] a, int32[2,3] b) => (c) { c = Sub(a, b) }",
    "output that is an input": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c, int32[2,3] a) { c = Sub(a, b) }",
    "local function": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { c = f.less(a, b) } "
    '<domain: "f", opset_import: ["" : 13]> less (x, y) => (z) { z = Sub(x, y) }',
}
INSTALLED = [
    name for name, adapter in registry.adapters().items()
    if "onnx" in adapter.DIALECTS and not adapter.ARRAYS and registry.release(adapter) is not None
]  # fmt: skip


def model(kind: str) -> ModelProto:
    head = HEAD.replace("13]", '13, "f" : 1]') if kind == "local function" else HEAD
    return parser.parse_model(head + MODELS[kind])


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_is_of_its_kind(kind: str) -> None:
    also = {"output without shape"} if kind == "output without type" else set()
    assert kinds(model(kind)) == ({kind} | also if kind else set())


def test_every_kind_has_a_model() -> None:
    assert {*MODELS} - {""} == {*DECLARED}


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("kind", MODELS)
def test_a_runtime_loads_what_it_is_said_to(name: str, kind: str) -> None:
    given = model(kind)
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    feeds = [(one.name, TYPES["int32"], array.view(np.uint32)) for one in given.graph.input]
    with Runtime(name) as runtime:
        found = runtime.query("onnx", given.SerializeToString(), b"", feeds, count=len(given.graph.output))
    refused = bool(kinds(given) & quirks(name).strict.keys()) or (kind == "local function" and name == "openvino-cpu")
    assert isinstance(found, Refused) == refused, found


@pytest.mark.parametrize("name", ["opencv-dnn", "tract", "iree", "tvm", "mnn", "openvino-cpu"])
@pytest.mark.parametrize("kind", MODELS)
def test_what_a_runtime_does_not_load_is_not_implemented_there(name: str, kind: str) -> None:
    target = next(one for one in reversed(targets.names(name)))
    (finding,) = mn.check(model(kind), target).findings
    if kinds(model(kind)) & quirks(name).strict.keys():
        assert finding.verdict == "not-implemented"
        assert finding.reason
