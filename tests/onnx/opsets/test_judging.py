"""What a model that runs wrongly declares, leaves out or never reads does not keep it from being converted."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from minuend.errors import ConversionRefused
from minuend.onnx.opsets import convert_proto
from minuend.onnx.opsets.steps import ADAPTERS

ort = pytest.importorskip("onnxruntime")

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def parse(text: str) -> ModelProto:
    return onnx.parser.parse_model(text)


def answer(model: ModelProto, **more: np.ndarray) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    given = {"x": X, **more}
    return session.run(None, {one.name: given[one.name] for one in session.get_inputs()})


def same(model: ModelProto, opset: int, **more: np.ndarray) -> tuple[ModelProto, list[str]]:
    """Convert; the result gives the same in onnxruntime, and ONNX's checker has nothing against it."""
    converted, changes, losses = convert_proto(model, opset)
    for was, is_ in zip(answer(model, **more), answer(converted, **more), strict=True):
        np.testing.assert_array_equal(was, is_)
    assert losses == []
    return converted, changes


def refusal(model: ModelProto, opset: int) -> str:
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(model, opset)
    return str(caught.value)


# ---- what is declared -----------------------------------------------------------------------------------------


def test_a_declared_shape_that_the_nodes_refute_is_not_written_again():
    """As in ONNX's own example of two Transposes: refuted in the model that came as well."""
    model = parse("""<ir_version: 7, opset_import: ["" : 12]>
        g (float[2,3,4] x) => (float[3,2,4] y) <float[9] z> { z = Neg(x) y = Abs(z) }""")
    converted, changes = same(model, 13)
    assert changes[-2:] == [
        "'z' was declared (9,), and its node makes (2, 3, 4); the declaration is gone",
        "'y' was declared (3, 2, 4), and its node makes (2, 3, 4); it is declared so now",
    ]
    onnx.checker.check_model(converted, full_check=True)


def test_what_only_a_newer_opset_s_inference_refutes():
    """As in ddddocr's model: opset 12 says nothing of the Reshape, opset 14 does."""
    model = parse("""<ir_version: 7, opset_import: ["" : 12]>
        g (float[N,3,4] x) => (float[1,L] y) {
            s = Shape(x) zero = Constant <value = int64 {0}> () n = Gather <axis = 0> (s, zero)
            m = Unsqueeze <axes = [0]> (n) rest = Constant <value = int64[2] {1, 12}> ()
            t = Concat <axis = 0> (m, rest) y = Reshape(x, t) }""")
    typed = onnx.shape_inference.infer_shapes(model, data_prop=True, strict_mode=True)
    assert typed.graph.output == model.graph.output
    converted, changes = same(model, 14)
    assert changes[-1] == "'y' was declared (1, L), and its node makes (N, 1, 12); it is declared so now"
    onnx.checker.check_model(converted, full_check=True)


def test_declarations_that_contradict_each_other_where_the_nodes_say_nothing():
    """Which of the two is wrong is not known; what is no output says nothing that anybody needs."""
    model = parse("""<ir_version: 7, opset_import: ["" : 12]>
        g (float[2,3,4] x, int64[1] s) => (float[24] y) <float[77] z> { z = Reshape(x, s) y = Neg(z) }""")
    converted, changes = same(model, 13, s=np.int64([24]))
    assert changes[-1] == (
        "the shapes declared of 1 values contradict each other or the nodes, as in the model that came; they are gone"
    )
    assert not converted.graph.value_info
    onnx.checker.check_model(converted, full_check=True)


@pytest.mark.parametrize("opset", [4, 7, 10, 12, 14])
@pytest.mark.parametrize("declared", ["float[a,b] y, float[2] s", "float[3] y", "float[2,3,4,1] y"])
@pytest.mark.parametrize("last", ["Softmax<axis = -1>(y)", "Concat<axis = -1>(y, y)", "ReduceMax<axes = [-1]>(y)"])
def test_a_declared_rank_that_the_nodes_refute_counts_no_axis(opset, declared, last):
    """The axis -1 became the second of three: other numbers, and no word of it."""
    model = parse(f"""<ir_version: 7, opset_import: ["" : 13]>
        g (float[2,3,4] x) => (float[k,l,m] z) <{declared}> {{ y = Sigmoid(x) s = Sum(x, x) z = {last} }}""")
    if opset > 6:
        converted = convert_proto(model, opset)[0]
        np.testing.assert_array_equal(answer(model)[0], answer(converted)[0])
    elif "Softmax" not in last:  # onnxruntime lacks kernels, and Softmax becomes several nodes
        converted = convert_proto(model, opset)[0]
        axes = next(list(a.ints) or [a.i] for a in converted.graph.node[-1].attribute if a.name.startswith("ax"))
        assert axes == [2]


def test_a_rank_that_declarations_contradict_is_not_known():
    model = parse("""<ir_version: 8, opset_import: ["" : 13]>
        g (float[2,3,4] x, int64[K] s) => (float[a,b] z) <float[a,b,c] y> {
            y = Reshape(x, s) z = Concat<axis = -1>(y, y) }""")
    assert "Concat: opset 10 has no negative axis, and the rank of 'y' is unknown" in refusal(model, 10)
    same(model, 12, s=np.int64([6, 4]))


def test_in_a_body_and_behind_it():
    model = parse("""<ir_version: 7, opset_import: ["" : 12]>
        g (bool b, float[2,3,4] x) => (float[2,3,4] y) {
            y = If (b) <then_branch = t () => (float[5] u) { u = Neg(x) },
                        else_branch = e () => (float[2,3,4] v) { v = Abs(x) }> }""")
    converted, changes = same(model, 13, b=np.array(True))
    assert changes[-1] == "'u' was declared (5,), and its node makes (2, 3, 4); it is declared so now"
    onnx.checker.check_model(converted, full_check=True)


def test_a_conversion_that_makes_another_shape_is_refused_whatever_is_declared(monkeypatch):
    """The declarations' other use is to find a step that is wrong: a broken one must not pass."""

    def wrong(node, new):
        new.add("Reshape", [node.input[0], new.constant("wrong", [24])], output=node.output[0])

    monkeypatch.setitem(ADAPTERS, ("Softmax", 11, 13), wrong)
    model = parse("""<ir_version: 7, opset_import: ["" : 12]>
        g (float[2,3,4] x) => (float[2,3,4] y) { z = Softmax <axis = 2> (x) y = Abs(z) }""")
    assert "differ in rank" in refusal(model, 13)
    assert refusal(model, 13).endswith("the model that came has no fault: please report this")
    undeclared = parse("""<ir_version: 7, opset_import: ["" : 12]>
        g (float[2,3,4] x, int64[R] s) => (float[2,3,4] y) {
            w = Reshape(x, s) z = Softmax <axis = 2> (w) y = Abs(z) }""")
    assert "differ in rank" in refusal(undeclared, 13)


def test_operators_that_do_not_fit_stay_refused_though_the_fault_came_with_the_model():
    model = parse("""<ir_version: 8, opset_import: ["" : 14]>
        g (float[2] x, float[3] y) => (float[7] z) <float[9] w> { w = Neg(y) z = Sub (x, w) }""")
    assert refusal(model, 13) == (
        "cannot convert to onnx:13: 1 node in the way\n  model: ONNX's checker refuses the result: "
        "[ShapeInferenceError] Inference error(s): (op_type:Sub): [ShapeInferenceError] Incompatible dimensions\n"
        "the model that came has the same fault"
    )


# ---- what is left out -----------------------------------------------------------------------------------------


def without_shapes() -> ModelProto:
    model = parse('<ir_version: 7, opset_import: ["" : 12]> g (float[2,3,4] x) => (float[2,3,4] y) { y = Neg(x) }')
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.ClearField("shape")
    return model


def without_type() -> ModelProto:
    model = parse('<ir_version: 7, opset_import: ["" : 12]> g (float[2,3,4] x) => (float[2,3,4] y) { y = Neg(x) }')
    model.graph.output[0].ClearField("type")
    return model


def without_name() -> ModelProto:
    model = parse('<ir_version: 7, opset_import: ["" : 12]> g (float[2,3,4] x) => (float[2,3,4] y) { y = Neg(x) }')
    model.graph.name = ""
    return model


@pytest.mark.parametrize("made", [without_shapes, without_type, without_name])
def test_what_the_checker_misses_in_the_model_that_came_is_told(made):
    model = made()
    with pytest.raises(onnx.checker.ValidationError) as missed:
        onnx.checker.check_model(model)
    converted, changes = same(model, 13)
    told = " ".join(str(missed.value).split())
    assert changes[-1] == f"ONNX's checker misses something, as in the model that came: {told}"
    assert (converted.graph.input, converted.graph.output) == (model.graph.input, model.graph.output)


def test_behind_what_is_missed_the_checker_still_looks(monkeypatch):
    def wrong(node, new):
        new.add("Softmax", [node.input[0]], output=node.output[0], nonsense=1)

    monkeypatch.setitem(ADAPTERS, ("Softmax", 11, 13), wrong)
    model = without_shapes()
    model.graph.node[0].CopyFrom(helper.make_node("Softmax", ["x"], ["y"], axis=2))
    assert "nonsense" in refusal(model, 13)


def test_an_initializer_that_is_no_input_in_an_old_file():
    model = parse("""<ir_version: 3, opset_import: ["" : 7]>
        g (float[2,3,4] x) => (float[2,3,4] y) <float[1] w = {2.0}> { y = Mul(x, w) }""")
    del model.graph.input[1:]
    assert same(model, 8)[0].ir_version == 3


# ---- Dropout and normalisation: what nobody reads -------------------------------------------------------------


@pytest.mark.parametrize(
    ("opset", "goal"), [(7, 10), (9, 12), (9, 13), (9, 21), (10, 7), (12, 7), (12, 13), (13, 12), (13, 9), (7, 21)]
)
def test_a_dropout_whose_mask_nobody_reads(opset, goal):
    node = helper.make_node("Dropout", ["x"], ["y", "mask"])
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3, 4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
    converted, _ = same(model, goal)
    onnx.checker.check_model(converted, full_check=True)


@pytest.mark.parametrize(("opset", "goal"), [(6, 7), (6, 21), (1, 13), (7, 6), (13, 6)])
def test_a_dropout_of_an_old_opset_whose_mask_nobody_reads(opset, goal):
    """onnxruntime has no Dropout of these; what does not train is the identity."""
    state = {"is_test": 1} if opset < 7 else {}
    node = helper.make_node("Dropout", ["x"], ["y", "mask"], **state)
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph([node], "g", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
    converted, _, _ = convert_proto(model, goal)
    onnx.checker.check_model(converted, full_check=True)
    assert [row.op_type for row in converted.graph.node][-1] == "Dropout"


@pytest.mark.parametrize("reader", ["the graph", "a node", "a body"])
def test_a_mask_that_is_read_is_refused_as_before(reader):
    body = "t () => (float[2] u) { u = Identity(m) }"
    reads = {
        "the graph": ("float[2] y, float[2] m", ""),
        "a node": ("float[2] y, float[2] z", "z = Neg(m)"),
        "a body": (
            "float[2] y, float[2] z",
            f"z = If (b) <then_branch = {body}, else_branch = {body.replace('u', 'v')}>",
        ),
    }[reader]
    model = parse(
        f'<ir_version: 7, opset_import: ["" : 9]> g (bool b, float[2] x) => ({reads[0]}) '
        f"{{ y, m = Dropout(x) {reads[1]} }}"
    )
    assert "Dropout: output 1 of Dropout ('m') is another one in the other version" in refusal(model, 21)


@pytest.mark.parametrize(("opset", "goal"), [(10, 12), (11, 21), (12, 10), (13, 11)])
def test_a_mask_that_does_not_train_is_all_ones_from_opset_12_on_and_before_it_is_not_said(opset, goal):
    model = parse(
        f'<ir_version: 7, opset_import: ["" : {opset}]> g (float[2] x) => (float[2] y, bool[2] m) '
        "{ y, m = Dropout(x) }"
    )
    assert "Dropout: output 1 of Dropout ('m') is another one in the other version" in refusal(model, goal)


def test_a_normalisation_whose_statistics_nobody_reads():
    text = """<ir_version: 7, opset_import: ["" : 9]> g (float[2,3,4] x, float[3] s) => (float[2,3,4] y) {
        y, a, b, c, d = BatchNormalization(x, s, s, s, s) }"""
    given = np.float32([1, 2, 3])
    model = parse(text.replace("y, a, b, c, d", "y"))
    converted, _, _ = convert_proto(parse(text), 15)
    np.testing.assert_array_equal(answer(converted, s=given)[0], answer(model, s=given)[0])


# ---- functions called from bodies -----------------------------------------------------------------------------


def test_a_function_called_from_a_body_knows_the_shapes_around_it():
    """Softmax-11 flattens, so that what it becomes depends on a rank that the call alone knows."""
    model = parse("""<ir_version: 8, opset_import: ["" : 12, "own" : 1]>
        g (bool b, float[2,3,4] x) => (float[2,3,4] y) {
            y = If (b) <then_branch = t () => (float[2,3,4] u) { u = own.f(x) },
                        else_branch = e () => (float[2,3,4] v) { v = Identity(x) }> }
        <domain: "own", opset_import: ["" : 12]> f (a) => (r) { h = Hardmax <axis = 2> (a) r = Sub(h, a) }""")
    converted, _ = same(model, 13, b=np.array(True))
    assert [node.op_type for node in converted.functions[0].node] == ["Hardmax", "Sub"]
    down = parse("""<ir_version: 8, opset_import: ["" : 13, "own" : 1]>
        g (bool b, float[2,3,4] x) => (float[2,3,4] y) {
            y = If (b) <then_branch = t () => (float[2,3,4] u) { u = own.f(x) },
                        else_branch = e () => (float[2,3,4] v) { v = Identity(x) }> }
        <domain: "own", opset_import: ["" : 13]> f (a) => (r) { h = Hardmax <axis = 1> (a) r = Sub(h, a) }""")
    same(down, 12, b=np.array(True))


# ---- what an operator itself says ------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 2.0, 1.5])
@pytest.mark.parametrize("goal", [10, 11, 13, 21])
def test_an_upsample_takes_no_scales_below_1_computed_ones_neither(goal, scale):
    model = parse("""<ir_version: 7, opset_import: ["" : 9]>
        g (float[1,1,2,3] i, float[4] s) => (float[a,b,c,d] y) { y = Upsample <mode = "nearest"> (i, s) }""")
    given = {"i": np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3), "s": np.float32([1, 1, scale, scale])}
    converted, _ = same(model, goal, **given)
    assert [node.op_type for node in converted.graph.node][-1] == "Resize"


def test_a_resize_of_opset_10_may_shrink():
    model = parse("""<ir_version: 7, opset_import: ["" : 10]>
        g (float[1,1,2,3] i, float[4] s) => (float[a,b,c,d] y) { y = Resize <mode = "nearest"> (i, s) }""")
    assert "the scales ('s') must be constant for this step" in refusal(model, 13)


def test_an_old_constant_of_more_types_than_its_schema_lists():
    """Constant-1 lists floats alone; exporters wrote shapes in it, and runtimes take them."""
    model = parse("""<ir_version: 7, opset_import: ["" : 8]>
        g (float[2,3,4] x) => (float[24] y) { s = Constant <value = int64[1] {24}> () y = Reshape(x, s) }""")
    same(model, 13)
    same(model, 21)


def test_text_where_numbers_are_due_is_refused():
    model = parse("""<ir_version: 7, opset_import: ["" : 10]>
        g (float[1,2] x) => (float[a,b] y) { s = Constant <value = string[2] {"1", "2"}> () y = Resize(x, s) }""")
    assert "Resize: the model is invalid: Resize-10 takes no tensor(string) as input 1 ('scales')" in refusal(model, 13)


def test_constants_that_wrap_are_no_fault():
    """ONNX's check follows values of shapes, and refuses a product that does not fit; runtimes compute it."""
    model = parse(
        """<ir_version: 8, opset_import: ["" : 14]> g () => (int64 y) {
        a = Constant <value_int: int = 4611686018427387904> () b = Constant <value_int: int = 4> () y = Mul(a, b) }""",
    )
    made, _, _ = convert_proto(model, 13)
    assert made.opset_import[0].version == 13


@pytest.mark.parametrize("opset", [7, 9, 12, 14, 18])
def test_a_sparse_initializer_has_a_type_and_axes(opset):
    """ONNX's inference takes it for a tensor without axes, and its check refuses the model that came."""
    model = parse("""<ir_version: 8, opset_import: ["" : 13]>
        g (float[2,3,4] x) => (float[2,3,n] y) { z = MatMul(x, w) y = Concat<axis = -1>(z, z) }""")
    values, at = (
        onnx.numpy_helper.from_array(np.float32([1, 2, 3]), "w"),
        onnx.numpy_helper.from_array(np.array([0, 5, 7])),
    )
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, at, [4, 2]))
    converted, _ = same(model, opset)
    assert converted.graph.sparse_initializer == model.graph.sparse_initializer


@pytest.mark.parametrize("opset", [13, 20])
def test_both_branches_may_read_one_vector_of_integers(opset):
    """ONNX's inference follows its elements into each branch, and says the second time that they are there already."""
    model = parse("""<ir_version: 8, opset_import: ["" : 14]> g (bool w, int32[3] a) => (int32[3] c) {
        c = If (w) <then_branch = t () => (int32[3] x) <int32[3] k = {1, 2, 3}> { x = Sub(a, k) },
                    else_branch = e () => (int32[3] y) <int32[3] l = {3, 2, 1}> { y = Sub(a, l) }> }""")
    made, _, _ = convert_proto(model, opset)
    assert made.opset_import[0].version == opset
