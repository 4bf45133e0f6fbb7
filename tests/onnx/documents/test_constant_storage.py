"""How constants are stored: what a runtime does not read of it is never ok, and fix stores it otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from minuend import check, fix
from minuend.core.elements import TYPES
from minuend.errors import FileFormatError
from minuend.models import hazards
from minuend.models.sums import SUMS_OF_FLOAT64
from minuend.onnx.documents import constant_storage, tensors
from minuend.onnx.graphs import declared
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
    assert not fixed.failed
    (k,) = fixed.model.graph.initializer
    assert k == raw("bfloat16")
    assert check(fixed.model, "openvino-cpu@2026.4.1").findings[0].verdict != "different-numbers"
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


def test_every_way_of_an_adapter_is_one() -> None:
    broken = {"twice", "unimported", "unsorted", "captured", "unknown", "shadowed"}
    kinds = [found for i in TensorProto.DataType.values() if (found := tensors.data_type(i)) is not None and found.name]
    forms = [(f"{one.name} in {one.field}", f"no {one.name}", f"two constants of {one.name}") for one in kinds]
    squares = {hazards.SQUARE + one.name for one in kinds}
    ways = {way for form in forms for way in form} | set(tensors.CONSTANTS)
    known = ways | broken | declared.DECLARED.keys() | squares | {declared.MAY_DIFFER, declared.NOT_KNOWN}
    known |= {SUMS_OF_FLOAT64, *hazards.KINDS}
    for name in adapters():
        assert {way.removeprefix(constant_storage.OPERAND) for way in quirks(name).strict} <= known
