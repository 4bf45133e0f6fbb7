"""How constants are stored: what a runtime does not read of it is never ok, and fix stores it otherwise."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
import pytest
from instruction_sets import NEWER_THAN_AVX2
from onnx import GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, defs, helper, numpy_helper

import minuend as mn
from minuend import check, fix
from minuend.core.elements import TYPES
from minuend.errors import ConversionRefused, FileFormatError, SpecError, Unsupported
from minuend.models import hazards, operator_forms
from minuend.models.sums import SUMS_OF_FLOAT64
from minuend.onnx.documents import constant_storage, tensors
from minuend.onnx.graphs import declared
from minuend.onnx.graphs.stated_sizes import FIXED, IN_VALUE_INFO, OUTPUT_SIZES
from minuend.onnx.model import Model
from minuend.runtimes.quirks import quirks
from minuend.runtimes.registry import adapters
from minuend.runtimes.running import Refused, Runtime

RAW = "store it as raw_data, as minuend fix does"


def typed(dtype: str, values: Sequence[int] = (1, 2, 3)) -> TensorProto:
    """A tensor whose elements are in the field of its type."""
    return helper.make_tensor("k", tensors.number(dtype), [len(values)], list(values))


def raw(dtype: str, values: Sequence[int] = (1, 2, 3)) -> TensorProto:
    return numpy_helper.from_array(np.array(values, TYPES[dtype].memory), "k")


def constant(**stated: object) -> NodeProto:
    return helper.make_node("Constant", [], ["k"], **stated)


def sparse(values: Sequence[int] = (1, 2), at: Sequence[int] = (0, 2), size: int = 3) -> SparseTensorProto:
    """A tensor of 3 elements without its zeros."""
    return helper.make_sparse_tensor(
        raw("int32", values), numpy_helper.from_array(np.array(at, np.int64), "at"), [size]
    )


def model(dtype: str, k: TensorProto | NodeProto, subtracted: bool = True) -> ModelProto:
    """A model of ``c = a - k``; or of ``c = a - b``, with the constant beside it."""
    value = helper.make_tensor_value_info
    stored = [k] if isinstance(k, TensorProto) else []
    size = k.dims[0] if isinstance(k, TensorProto) else 3
    nodes = [] if isinstance(k, TensorProto) else [k]
    nodes += [helper.make_node("Sub", ["a", "k" if subtracted else "b"], ["c"])]
    kind = tensors.number(dtype)
    inputs = [value(name, kind, [size]) for name in ("a" if subtracted else "ab")]
    graph = helper.make_graph(nodes, "g", inputs, [value("c", kind, [size])], stored)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)])


# ---- ways ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "way"),
    [
        (typed("uint32"), "uint32 in uint64_data"),
        (typed("float16"), "float16 in int32_data"),
        (typed("int64", ()), "no int64"),
        (raw("uint32"), ""),
        (raw("uint32", ()), ""),
        (constant(value=typed("float64")), "float64 in double_data"),
        (constant(value=raw("float64")), ""),
        (constant(value_ints=[1, 2]), "value_ints"),
        (constant(value_float=1.5), "value_float"),
        (constant(value_strings=["a"]), ""),
        (constant(sparse_value=sparse()), "sparse_value"),
    ],
)
def test_every_way_has_its_name(k: TensorProto | NodeProto, way: str) -> None:
    assert constant_storage.ways(model("int32", k)) == ({way} if way else set())


def test_what_lies_in_another_file_is_stored_in_no_such_way() -> None:
    k = typed("float32")
    k.ClearField("float_data")
    k.data_location = TensorProto.EXTERNAL
    k.external_data.add(key="location", value="k.bin")
    assert constant_storage.ways(model("float32", k)) == set()


def test_a_body_reads_what_is_stored_around_it() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18]>
    g (bool on, double[2] a) => (double[2] c) <double[2] k = {1, 2}> {
        c = If (on) <
            then_branch = yes () => (double[2] d) { d = Sub(a, k) },
            else_branch = no () => (double[2] e) { e = Sub(a, a) }
        >
    }"""
    first, second = check(text, "opencv-dnn").findings
    assert (first.verdict, first.reason) == ("not-implemented", f"OpenCV makes float32 of double_data; {RAW}")
    assert (second.verdict, second.code) == ("unknown", "unsupported-form")  # not every engine of OpenCV has If


# ---- verdicts ------------------------------------------------------------------------------------------------------

REFUSED = [
    ("tract", "uint32", typed("uint32"), "tract reads no uint64_data"),
    ("tract", "uint64", typed("uint64"), "tract reads no uint64_data"),
    ("opencv-dnn", "uint32", typed("uint32"), "OpenCV reads no uint64_data"),
    ("opencv-dnn", "float64", typed("float64"), "OpenCV makes float32 of double_data"),
    ("opencv-dnn", "int64", constant(value_ints=[1, 2, 3]), "OpenCV makes int32 of value_ints"),
    ("iree", "float16", typed("float16"), "IREE's importer reads float16 from raw_data alone"),
    ("iree", "float16", typed("float16", ()), "IREE's importer reads float16 from raw_data alone"),
    ("iree", "float32", constant(value_floats=[1.5, 2, 3]), "IREE does not compile value_floats"),
    ("tvm", "int64", constant(value_ints=[1, 2, 3]), "TVM's frontend reads no value_ints"),
]
BITS = "openvino takes the bits of bfloat16 in int32_data for whole numbers, so that 1 is 16256"
MISREAD = [
    ("openvino-cpu", "bfloat16", typed("bfloat16"), BITS),
    ("openvino-cpu", "uint32", typed("uint32"), "some releases of openvino read uint32 in uint64_data wrong"),
    ("onnxruntime-openvino", "uint32", typed("uint32"), "the provider takes some uint32 in uint64_data for 0"),
]


@pytest.mark.parametrize(("runtime", "dtype", "k", "why"), [*REFUSED, *MISREAD])
def test_what_a_runtime_does_not_read_is_said_and_stored_otherwise(
    runtime: str, dtype: str, k: TensorProto | NodeProto, why: str
) -> None:
    verdict = "not-implemented" if (runtime, dtype, k, why) in REFUSED else "unknown"
    finding = check(model(dtype, k), runtime).findings[0]
    assert (finding.verdict, finding.reason) == ("different-numbers" if why == BITS else verdict, f"{why}; {RAW}")
    assert constant_storage.ways(fix(model(dtype, k), runtime, run=False).model) == set()


def test_beside_a_subtraction_it_counts_where_the_model_is_not_read() -> None:
    for runtime, verdict in (("tract", "not-implemented"), ("onnxruntime-node", "ok")):
        assert check(model("int32", typed("uint32"), subtracted=False), runtime).findings[0].verdict == verdict
    assert check(model("int32", typed("float64"), subtracted=False), "opencv-dnn").findings[0].verdict == "ok"


@pytest.mark.parametrize("dtype", ["bfloat16", "uint32"])
def test_openvino_reads_them_so(dtype: str) -> None:
    """A release that reads them better is noticed here."""
    pytest.importorskip("openvino")
    element = TYPES[dtype]
    a = np.array([9, 9, 9], element.memory)
    with Runtime("openvino-cpu") as runtime:
        got = [
            runtime.query("onnx", model(dtype, k).SerializeToString(), b"", [("a", element, a.view(f"u{a.itemsize}"))])
            for k in (raw(dtype), typed(dtype))
        ]
    numbers = [one if isinstance(one, Refused) else one[0].codes.view(element.memory).tolist() for one in got]
    wrong = {"bfloat16": [-16256, -16384, -16384], "uint32": [8, 9, 7]}
    assert numbers == [[8, 7, 6], wrong[dtype]]


# ---- fixing --------------------------------------------------------------------------------------------------------


def test_fix_stores_what_a_target_does_not_read_and_says_so() -> None:
    fixed = fix(model("bfloat16", typed("bfloat16")), "openvino-cpu@2026.4.1")
    assert fixed.changes == ("1 constant of bfloat16 in int32_data became raw_data, which openvino-cpu@2026.4.1 reads",)
    assert not fixed.failed or not NEWER_THAN_AVX2
    (k,) = fixed.model.graph.initializer
    assert k == raw("bfloat16")
    assert check(fixed.model, "openvino-cpu@2026.4.1", cpu="avx512f").findings[0].verdict != "different-numbers"
    assert fix(model("bfloat16", typed("bfloat16")), "onnx-reference").changes == ()


def test_numbers_of_a_constant_become_a_tensor() -> None:
    fixed = fix(model("int64", constant(value_ints=[1, 2, 3])), "tvm")
    (attribute,) = fixed.model.graph.node[0].attribute
    assert (attribute.name, numpy_helper.to_array(attribute.t).tolist()) == ("value", [1, 2, 3])


def test_a_tensor_that_lacks_elements_is_refused() -> None:
    k = typed("uint64")
    k.dims[0] = 4
    with pytest.raises(FileFormatError, match="3 entries in uint64_data; expected 4"):
        constant_storage.store_raw(Model(model("uint64", k)), ["uint64 in uint64_data"])


def test_a_constant_without_an_output_is_passed_over() -> None:
    broken = model("float32", typed("float32"))
    broken.graph.node.insert(0, constant(value_ints=[1, 2, 3]))
    del broken.graph.node[0].output[:]
    (one,) = check(broken, "onnxruntime-cpu").findings
    assert one.location == "graph.node[1]"


# ---- sparse constants ---------------------------------------------------------------------------------------------


def with_sparse(where: str, one: SparseTensorProto) -> ModelProto:
    """A model of ``c = a - k`` whose k is sparse, in its graph, in a body of each kind or in a Constant."""
    if where == "Constant":
        return model("int32", constant(sparse_value=one))
    inner = model("int32", raw("int32")).graph
    inner.ClearField("initializer")
    inner.sparse_initializer.append(one)
    made = model("int32", raw("int32"))
    graph, value = made.graph, helper.make_tensor_value_info
    if where == "graph":
        graph.CopyFrom(inner)
        return made
    del graph.node[:], graph.initializer[:]
    if where == "If":
        inner.ClearField("input")
        other = GraphProto()
        other.CopyFrom(inner)
        graph.input.append(value("w", TensorProto.BOOL, []))
        graph.node.append(helper.make_node("If", ["w"], ["c"], then_branch=inner, else_branch=other))
        return made
    inner.input[0].name, inner.node[0].input[0] = "s", "s"
    if where == "Scan":
        inner.input[0].CopyFrom(value("s", TensorProto.INT32, [3]))
        graph.input[0].CopyFrom(value("a", TensorProto.INT32, [1, 3]))
        graph.output[0].CopyFrom(value("c", TensorProto.INT32, [1, 3]))
        graph.node.append(helper.make_node("Scan", ["a"], ["c"], body=inner, num_scan_inputs=1))
        return made
    for one_value in (value("w", TensorProto.BOOL, []), value("i", TensorProto.INT64, [])):
        inner.input.insert(0, one_value)
    inner.node.append(helper.make_node("Identity", ["w"], ["v"]))
    inner.output.insert(0, value("v", TensorProto.BOOL, []))
    graph.initializer.append(numpy_helper.from_array(np.array(1), "n"))
    graph.node.append(helper.make_node("Loop", ["n", "", "a"], ["c"], body=inner))
    return made


PLACES = ("graph", "If", "Loop", "Scan", "Constant")


def fed(where: str) -> dict[str, object]:
    a = np.int32([10, 20, 30])
    return {"a": a[None] if where == "Scan" else a, **({"w": np.array(True)} if where == "If" else {})}


@pytest.mark.parametrize("where", PLACES)
def test_sparse_constants_are_run_and_converted_wherever_they_stand(where: str) -> None:
    """The types of those in bodies were unknown, so that no version was converted to another."""
    came = with_sparse(where, sparse())
    for opset in (13, 20):
        made = mn.convert(came, f"onnx:{opset}").model
        for one in (came, made):
            (c,) = mn.run(one, fed(where)).values()
            assert c.reshape(-1).tolist() == [9, 20, 28]
        session = pytest.importorskip("onnxruntime").InferenceSession(made.SerializeToString())
        assert session.run(None, fed(where))[0].reshape(-1).tolist() == [9, 20, 28]


def test_sparse_constants_of_one_name_and_two_shapes_are_no_one() -> None:
    """Both branches call theirs alike, as exporters do."""
    came = with_sparse("If", sparse())
    other = came.graph.node[0].attribute[1].g
    other.sparse_initializer[0].CopyFrom(sparse((4,), (0,), 1))
    for opset in (13, 6):
        with contextlib.suppress(ConversionRefused):
            made = mn.convert(came, f"onnx:{opset}").model
            for w, wanted in ((True, [9, 20, 28]), (False, [6, 16, 26])):
                (c,) = mn.run(made, {**fed("If"), "w": np.array(w)}).values()
                assert c.tolist() == wanted


@pytest.mark.parametrize("where", PLACES)
def test_sparse_constants_are_constants_to_a_verdict(where: str) -> None:
    """Their shapes and that they are constants were not known: it was that of two inputs."""
    for one in check(with_sparse(where, sparse()), "onnxruntime-cpu").findings:
        assert (one.verdict, one.shape_relation, one.constants) == ("ok", "same", "B")


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("runtime", ["onnx-reference", "openvino-cpu", "tract", "tvm", "iree", "mnn", "opencv-dnn"])
def test_sparse_constants_are_stored_dense_for_runtimes_that_read_none(runtime: str, where: str) -> None:
    """All of these loads were refused, and the verdict was of the numbers that the model would have had."""
    came = with_sparse(where, sparse())
    found = {one.verdict for one in check(came, runtime).findings}
    reads = runtime == "openvino-cpu" and where == "Constant"
    assert reads or found == {"not-implemented"}
    made = fix(came, runtime, run=False).model
    assert reads or not constant_storage.ways(made) & {"sparse initializer", "sparse_value"}
    (c,) = mn.run(made, fed(where)).values()
    assert c.reshape(-1).tolist() == [9, 20, 28]


def test_a_sparse_constant_is_not_stored_dense_beyond_a_gibibyte() -> None:
    with pytest.raises(Unsupported, match="has more than 1 GiB with its zeros"):
        constant_storage.store_raw(Model(with_sparse("graph", sparse(size=1 << 40))), ["sparse initializer"])


@pytest.mark.parametrize(
    ("values", "at", "reason"),
    [
        ((1, 2), (0, 3), "0 to 3 of 3 elements"),
        ((1, 2), (-1, 0), "-1 to 0 of 3 elements"),
        ((1,), (0, 2), r"indices of \(2,\) for values of \(1,\)"),
        ((1, 2), (1, 1), "states an element twice"),
    ],
)
def test_indices_of_a_sparse_constant_are_its_own(values: Sequence[int], at: Sequence[int], reason: str) -> None:
    """One below 0 was counted from the end, one value went to all of them, and the last of two was taken."""
    with pytest.raises(SpecError, match=reason):
        mn.run(with_sparse("graph", sparse(values, at)), fed("graph"))


REDUCED = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")


def test_every_way_of_an_adapter_is_one() -> None:
    broken = {"twice", "unimported", "unsorted", "captured", "unknown", "shadowed"}
    kinds = [found for i in TensorProto.DataType.values() if (found := tensors.data_type(i)) is not None and found.name]
    stored = [(f"{one.name} in {one.field}", f"no {one.name}", f"two constants of {one.name}") for one in kinds]
    squares = {hazards.SQUARE + one.name for one in kinds}
    ways = {way for form in stored for way in form} | {*tensors.CONSTANTS, "sparse initializer", "sparse_value"}
    known = ways | broken | declared.DECLARED.keys() | squares | {declared.MAY_DIFFER, declared.NOT_KNOWN}
    known |= {SUMS_OF_FLOAT64, *hazards.KINDS, *operator_forms.FORMS, *IN_VALUE_INFO, OUTPUT_SIZES, FIXED}
    forms = (hazards.AXES_ATTRIBUTE, hazards.AXES_INPUT, hazards.KEEPDIMS_LEFT_OUT)
    known |= {f"Reduce{one}{form}" for one in REDUCED for form in forms}
    for name in adapters():
        assert {way.removeprefix(constant_storage.OPERAND) for way in quirks(name).strict} <= known
        operators = {f"{one.domain}.{one.name}".removeprefix(".") for one in defs.get_all_schemas()}
        assert quirks(name).lacked <= operators | operator_forms.FORMS
        assert quirks(name).deviating <= operator_forms.FORMS
