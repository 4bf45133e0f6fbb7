"""What computes the other operators: onnxruntime a node at a time, or ONNX's reference evaluator."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from minuend.errors import ShapeError
from minuend.onnx import apart
from minuend.onnx.model import RunError, read
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


def test_a_kernel_that_crashes_takes_nobody_with_it():
    text = (
        HEAD.replace("14", "24")
        + """g (float[2,4,24] q, float[2,4,8] k, float[2,4,8] v) => (float[A,B,C] y) {
        [heads] y = Attention <q_num_heads = 0, kv_num_heads = 3> (q, k, v)
    }"""
    )
    feeds = {name: np.zeros((2, 4, 24), np.float32) for name in "qkv"}
    model = read(text.replace("[2,4,8]", "[2,4,24]"))
    with pytest.raises(RunError) as caught:
        model.run(feeds)
    assert str(caught.value) == "onnxruntime crashed: its process ended by signal 8, at graph.node[0] 'heads'"
    assert read(HEAD + "g (float[2] a) => (float[2] c) { c = Neg(a) }").run({"a": np.float32([1, 2])})["c"][0] == -1


def test_threads_run_models_at_once_and_an_error_ends_no_process():
    model = read(HEAD + "g (float[N] a, float[M] b) => (float[K] c) { d = Exp(a) c = Sub(d, b) }")
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda n: model.run({"a": np.zeros(n, np.float32), "b": np.zeros(1, np.float32)}), range(9))
        )
    assert [len(one["c"]) for one in found] == list(range(9))
    (kept,) = apart._idle
    with pytest.raises(ShapeError) as caught:
        model.run({"a": np.zeros(2, np.float32), "b": np.zeros(3, np.float32)})
    assert caught.value.where == "graph.node[1]"
    assert apart._idle == [kept]
