"""What computes the other operators: onnxruntime a node at a time, or ONNX's reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from minuend.onnx.model import read
from minuend.onnx.running import EVALUATORS, values

HEAD = '<ir_version: 10, opset_import: ["" : 14]>'


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_values_are_all_that_the_main_graph_computes(evaluator):
    model = read(
        HEAD
        + """g (float[2] a, bool p) => (float[2] d) {
        b = Sub(a, a)
        c = If (p) <then_branch = t () => (float[2] x) { y = Neg(b) x = Exp(y) }, else_branch = e () => (float[2] z)
          { z = Neg(a) }>
        d = Add(c, a)
    }"""
    )
    found = values(model, {"a": np.float32([1, 2]), "p": np.array(True)}, evaluator=evaluator)
    assert {name: array.tolist() for name, array in found.items()} == {"b": [0, 0], "c": [1, 1], "d": [2, 3]}
