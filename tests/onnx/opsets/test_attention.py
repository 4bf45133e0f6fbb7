"""Attention from one opset to another: what its text says of shapes, and masks of fewer columns than there are keys."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from minuend.errors import ConversionRefused
from minuend.onnx.opsets import convert_proto

SEED = np.random.default_rng(7)
TYPES = {"float": np.float32, "double": np.float64, "bfloat16": ml_dtypes.bfloat16, "bool": np.bool_}
Q, K, V = (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6)


def attention(
    opset: int, shapes: dict[str, tuple[int, ...]], call: str, *, named: bool = False, mask: str = "float"
) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """A model of one Attention whose inputs have these shapes, and numbers for them."""
    types = {name: {"m": mask, "n": "int64"}.get(name, "float") for name in shapes}
    given = {name: SEED.random(shape) for name, shape in shapes.items()}
    for name, array in given.items():
        fewer = name == "m" and mask == "bool"
        given[name] = array < 0.6 if fewer else (array * 3 + 2).astype(TYPES.get(types[name], types[name]))
    dims = {name: ",".join(f"{name}{i}" if named else str(n) for i, n in enumerate(s)) for name, s in shapes.items()}
    signature = ", ".join(f"{types[name]}[{dims[name]}] {name}" for name in shapes)
    outputs = call.partition(" = ")[0].split(", ")
    declared = ", ".join(f"float[{','.join(f'{name}_{i}' for i in range(4))}] {name}" for name in outputs)
    text = f'<ir_version: 10, opset_import: ["" : {opset}]> g ({signature}) => ({declared}) {{ {call} }}'
    return onnx.parser.parse_model(text), given


def assert_converts(model: ModelProto, given: dict[str, np.ndarray], to: int) -> ModelProto:
    """Convert, and compare what ONNX's evaluator computes of both; the result is returned."""
    made, _, _ = convert_proto(model, to)
    onnx.checker.check_model(made, full_check=True)
    for expected, came in zip(*(ReferenceEvaluator(one).run(None, given) for one in (model, made)), strict=True):
        assert came.shape == expected.shape
        np.testing.assert_allclose(came, expected, 1e-5, 1e-6)
    return made


def on_onnxruntime(model: ModelProto, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    return runtime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, given)


# ---- masks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("mask", ["float", "bool"])
@pytest.mark.parametrize("columns", [1, 4])
@pytest.mark.parametrize("to", [23, 18])
def test_a_mask_of_fewer_columns_than_keys_is_padded_below_opset_24(to, columns, mask, named):
    """Version 24 pads it with -inf; version 23 does not take it, or repeats its one column."""
    shapes = {"q": Q, "k": K, "v": V, "m": (3, columns)}
    model, given = attention(24, shapes, "y = Attention(q, k, v, m)", named=named, mask=mask)
    if mask == "bool":
        given["m"][:, 0] = True
    made = assert_converts(model, given, to)
    (expected,), (came,) = ReferenceEvaluator(model).run(None, given), on_onnxruntime(made, given)
    np.testing.assert_allclose(came, expected, 1e-5, 1e-6)
    assert ("Attention" in {node.op_type for node in made.graph.node}) == (to == 23)


@pytest.mark.parametrize("named", [False, True])
def test_a_mask_is_padded_for_the_keys_of_the_past_too(named):
    shapes = {"q": Q, "k": K, "v": V, "m": (3, 6), "p": (1, 2, 7, 4), "r": (1, 2, 7, 6)}
    call = "y, a, b = Attention(q, k, v, m, p, r)"
    model, given = attention(24, shapes, call, named=named)
    made = assert_converts(model, given, 23)
    expected, came = ReferenceEvaluator(model).run(None, given), on_onnxruntime(made, given)
    np.testing.assert_allclose(came[0], expected[0], 1e-5, 1e-6)


def test_a_mask_of_every_key_stays_as_it_is():
    shapes = {"q": Q, "k": K, "v": V, "m": (3, 5)}
    for before, after in ((24, 23), (23, 24), (25, 23)):
        model, given = attention(before, shapes, "y = Attention(q, k, v, m)")
        assert [node.op_type for node in assert_converts(model, given, after).graph.node] == ["Attention"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("to", [24, 25, 28])
def test_one_column_of_a_mask_is_repeated_for_every_key_above_opset_23(to, named):
    """Version 23 broadcasts it, as its text says; version 24 pads it. ONNX's evaluator takes 23 for 24."""
    shapes = {"q": Q, "k": K, "v": V, "m": (3, 1)}
    model, given = attention(23, shapes, "y = Attention(q, k, v, m)", named=named)
    made, _, _ = convert_proto(model, to)
    onnx.checker.check_model(made, full_check=True)
    expected = ReferenceEvaluator(model).run(None, {**given, "m": np.repeat(given["m"], 5, 1)})
    np.testing.assert_allclose(ReferenceEvaluator(made).run(None, given)[0], expected[0], 1e-5)
    (old,), _, _ = (convert_proto(model, 18)[0],), None, None  # the function body of version 23 broadcasts it
    np.testing.assert_allclose(ReferenceEvaluator(old).run(None, given)[0], expected[0], 1e-5)


# ---- what the text excludes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("opset", "shapes", "call", "why"), [
    (24, {"q": Q, "k": K, "v": V, "m": (3, 9)}, "y = Attention(q, k, v, m)",
     "Attention-24 has a mask of 9 columns, and there are 5 keys"),
    (23, {"q": Q, "k": K, "v": V, "m": (3, 4)}, "y = Attention(q, k, v, m)",
     "Attention-23 has a mask of 4 columns, and there are 5 keys"),
    (24, {"q": Q, "k": K, "v": V, "m": (2, 5)}, "y = Attention(q, k, v, m)",
     "Attention-24 has a mask of 2 rows, and there are 3 queries"),
    (24, {"q": Q, "k": K, "v": V, "m": (3, 3, 5)}, "y = Attention(q, k, v, m)",
     "Attention-24 has a mask of 3 heads, and there are 2 query heads"),
    (24, {"q": (2, 4, 72), "k": (2, 6, 24), "v": (2, 6, 24), "m": (4, 18)},
     "y = Attention <q_num_heads = 9, kv_num_heads = 3> (q, k, v, m)",
     "Attention-24 has a mask of 18 columns, and there are 6 keys"),
    (24, {"q": Q, "k": K, "v": V, "p": K}, 'y = Attention(q, k, v, "", p)',
     "Attention-24 has past_key without past_value; they are used together"),
    (23, {"q": Q, "k": K, "v": V, "p": V}, 'y = Attention(q, k, v, "", "", p)',
     "Attention-23 has past_value without past_key; they are used together"),
    (24, {"q": Q, "k": K, "v": (1, 2, 4, 6)}, "y = Attention(q, k, v)",
     "Attention-24 has 5 keys in K and 4 in V"),
    (24, {"q": Q, "k": (1, 2, 5, 3), "v": V}, "y = Attention(q, k, v)",
     "Attention-24 has a head size of 4 in Q and 3 in K"),
    (24, {"q": Q, "k": K, "v": V, "p": (1, 2, 7, 4), "r": (1, 2, 8, 6)}, 'y, a, b = Attention(q, k, v, "", p, r)',
     "Attention-24 has 7 past keys in past_key and 8 in past_value"),
    (24, {"q": Q, "k": (1, 3, 5, 4), "v": (1, 3, 5, 4)}, "y = Attention(q, k, v)",
     "Attention-24 has 2 query heads, which 3 key heads do not divide"),
    (24, {"q": Q, "k": K, "v": V}, "y = Attention <q_num_heads = 1, kv_num_heads = 1> (q, k, v)",
     "Attention-24 has q_num_heads=1 and 2 heads in Q"),
    (24, {"q": (1, 3, 8), "k": (1, 5, 8), "v": (1, 5, 8)},
     "y = Attention <q_num_heads = 3, kv_num_heads = 3> (q, k, v)",
     "Attention-24 has 8 elements for 3 heads in Q"),
    (24, {"q": (1, 3, 8), "k": (1, 5, 8), "v": (1, 5, 8)}, "y = Attention(q, k, v)",
     "Attention-24 needs q_num_heads and kv_num_heads for Q, K and V of rank 3"),
])  # fmt: skip
def test_shapes_that_do_not_belong_together_are_refused(opset, shapes, call, why):
    """ONNX's check does not look at them; it refused what was made of them, as a fault of the conversion."""
    model, _ = attention(opset, shapes, call)
    for to in (18, 25):
        with pytest.raises(ConversionRefused) as caught:
            convert_proto(model, to)
        assert caught.value.nodes == {"graph.node[0]": f"Attention: the model is invalid: {why}"}


# ---- what version 25 excludes -------------------------------------------------------------------------------------


def test_lengths_beside_keys_that_are_given_out_become_nodes_at_opset_25():
    """Version 24 says that they should not be used together, and runtimes compute it; version 25 excludes it."""
    shapes = {"q": Q, "k": K, "v": V, "n": (1,)}
    model, given = attention(24, shapes, 'y, a, b = Attention(q, k, v, "", "", "", n)')
    made = assert_converts(model, given, 25)
    for expected, came in zip(*(on_onnxruntime(one, given) for one in (model, made)), strict=True):
        np.testing.assert_allclose(came, expected, 1e-5, 1e-6)
    model, given = attention(24, shapes, 'y = Attention(q, k, v, "", "", "", n)')
    assert len(assert_converts(model, given, 25).graph.node) == 1
    model.graph.node[0].output.extend(["a", "b"])  # which nobody reads
    (node,) = assert_converts(model, given, 25).graph.node
    assert list(filter(None, node.output)) == ["y"]
    on_onnxruntime(convert_proto(model, 25)[0], given)


def test_one_output_of_the_keys_and_values_gets_its_other_at_opset_25():
    shapes = {"q": Q, "k": K, "v": V, "p": (1, 2, 7, 4), "r": (1, 2, 7, 6)}
    for call, names in (
        ('y, a = Attention(q, k, v, "", p, r)', ["y", "a", "y_present_value"]),
        ('y, "", a = Attention(q, k, v, "", p, r)', ["y", "y_present_key", "a"]),
    ):
        text = call.replace(', "", a', ", a")
        model, given = attention(24, shapes, text)
        model.graph.node[0].output[:] = call.partition(" = ")[0].replace('""', "").split(", ")
        (node,) = assert_converts(model, given, 25).graph.node
        assert list(node.output) == names


@pytest.mark.parametrize("to", [18, 25])
def test_the_heads_of_inputs_of_rank_4_are_their_own(to):
    """ONNX's body takes inputs of rank 4 for such of rank 3 where heads are stated, and gave other numbers."""
    model, given = attention(
        24, {"q": Q, "k": K, "v": V}, "y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v)"
    )
    assert_converts(model, given, to)
