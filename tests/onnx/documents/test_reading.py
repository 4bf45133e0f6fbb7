"""``read``: what is an ONNX model, and what each broken one is told."""

from __future__ import annotations

import os
import random
import time

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper

from minuend.errors import FileFormatError, MinuendError
from minuend.onnx.graphs.walk import walk
from minuend.onnx.model import Model, read

TEXT = """
<ir_version: 10, opset_import: ["" : 14]>
agraph (uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }
"""


def model(text: str = TEXT) -> ModelProto:
    return onnx.parser.parse_model(text)


def told(source, **options) -> str:
    with pytest.raises(FileFormatError) as caught:
        read(source, **options)
    assert type(caught.value) is FileFormatError
    return str(caught.value)


def broken(change, text: str = TEXT) -> str:
    """What is said of the model after a change, without the model's name."""
    proto = model(text)
    change(proto)
    return told(proto).removeprefix("the ModelProto: ")


# ---- sources --------------------------------------------------------------------------------------------------


def test_a_model_is_read_from_a_path_from_bytes_from_text_and_from_an_object(tmp_path):
    proto = model()
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    text = tmp_path / "m.onnxtxt"
    text.write_text(TEXT)
    sources = [path, str(path), proto.SerializeToString(), TEXT, proto, text]
    for source in sources:
        found = read(source)
        assert isinstance(found, Model)
        assert found.proto == proto
    assert read(proto).proto is proto
    assert read(path).folder == str(tmp_path)
    assert read(path).path == str(path)
    assert read(proto).folder is None
    assert read(proto, base_dir=tmp_path).folder == str(tmp_path)
    assert repr(read(proto)) == "<onnx.Model the ModelProto: 'agraph', 1 nodes>"


def test_what_is_no_source_or_no_file_is_told(tmp_path):
    with pytest.raises(TypeError) as caught:
        read(3)
    assert str(caught.value) == "an ONNX model is a path, bytes, text or a ModelProto; this is a int"
    with pytest.raises(FileNotFoundError) as missing:
        read(tmp_path / "m.onnx")
    assert str(missing.value) == f"there is no file {tmp_path}/m.onnx"
    with pytest.raises(IsADirectoryError) as folder:
        read(tmp_path)
    assert str(folder.value) == f"{tmp_path} is a folder; expected a file"
    fifo = tmp_path / "pipe.onnx"
    os.mkfifo(fifo)
    assert told(fifo) == f"{fifo} is no regular file"


def test_what_is_no_model_is_told(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString()[:-3])
    assert told(path) == f"{path}: it is no protobuf message, or a truncated one; expected an ONNX model"
    assert told(b"") == "the model's bytes: it is empty; expected an ONNX model"
    assert told(b"\x08\x0a") == "the model's bytes: there is no graph in it; expected an ONNX model"
    text = tmp_path / "m.onnxtxt"
    text.write_bytes(b"<ir_version: \xff>")
    assert told(text) == f"{text} is no UTF-8 text: invalid start byte at byte 13"
    assert told("<ir_version: 10") == (
        "the model's text: it is no model in ONNX's text form: [ParseError at position (line: 1 column: 16)] "
        "Error context: <ir_version: 10 Expected character > not found."
    )


def test_a_file_beyond_what_a_message_holds_is_refused_unread(tmp_path):
    path = tmp_path / "m.onnx"
    with open(path, "wb") as stream:
        stream.truncate(1 << 31)
    assert told(path) == (
        f"{path} has 2147483648 bytes; a protobuf message has 2147483647 at most, and larger models keep their "
        "tensors in files beside them"
    )


def nested(depth: int) -> bytes:
    """An If in an If in an If …, as bytes: protobuf itself refuses to make them."""

    def message(number: int, payload: bytes) -> bytes:
        length, size = len(payload), bytearray()
        while length > 0x7F:
            size.append(length & 0x7F | 0x80)
            length >>= 7
        return bytes([number << 3 | 2, *size, length]) + payload

    graph = message(2, b"g")
    for _ in range(depth):
        attribute = message(1, b"then_branch") + message(6, graph) + b"\xa0\x01\x05"
        graph = message(1, message(4, b"If") + message(5, attribute)) + message(2, b"g")
    return b"\x08\x0a" + message(7, graph) + message(8, b"\x10\x0e")


def test_nesting_has_an_end():
    assert told(nested(60)) == "the model's bytes: its messages are nested deeper than the 100 that protobuf reads"
    assert told(nested(31)) == (
        f"the model's bytes: graphs are nested more than 30 deep, at graph{'.node[0].then_branch' * 31}"
    )
    read(nested(30))


# ---- opsets ---------------------------------------------------------------------------------------------------


def imports(*items):
    def change(proto: ModelProto) -> None:
        del proto.opset_import[:]
        proto.opset_import.extend(helper.make_opsetid(*item) for item in items)

    return change


def test_a_domain_is_imported_once_by_whatever_name():
    assert broken(imports(("", 14), ("", 13))) == (
        "the model imports the domain '' twice; expected one opset for each domain"
    )
    assert broken(imports(("", 14), ("ai.onnx", 13))) == (
        "the model imports the domain 'ai.onnx' twice (as '' before; both are ONNX's main domain); "
        "expected one opset for each domain"
    )
    assert broken(imports(("", 0))) == "the model imports the domain '' at opset 0; expected 1 or above"
    assert broken(imports(("my", 1))) == "graph.node[0] is of the domain '', which is not imported (imports: 'my')"
    assert broken(imports()) == "it imports no opset and is of IR version 10; from 3 on opsets are stated"
    text = TEXT.replace("14]", '14, "my" : 1]') + '<domain: "my", opset_import: ["" : 7]> F (x) => (z) { z = Neg(x) }'
    assert broken(lambda m: m.functions[0].opset_import.append(helper.make_opsetid("", 8)), text) == (
        "function 'F' imports the domain '' twice; expected one opset for each domain"
    )


def test_before_ir_version_3_a_model_without_imports_is_at_opset_1():
    proto = model()
    imports()(proto)
    proto.ir_version = 2
    found = read(proto)
    assert next(walk(found)).opset == 1
    proto.ClearField("ir_version")
    assert told(proto) == "the ModelProto: its ir_version is 0; expected 1 or above"


def test_the_main_domain_may_be_written_ai_onnx():
    proto = model()
    imports(("ai.onnx", 14))(proto)
    proto.graph.node[0].domain = "ai.onnx"
    (node,) = read(proto).subtractions()
    assert str(node.op) == "Sub-14"
    assert read(proto).run({"a": np.uint8([1, 2]), "b": np.uint8([2, 1])})["c"].tolist() == [255, 1]


# ---- names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.node.add(op_type="Neg", input=["a"], output=["c"], name="again"),
         "graph.node[1] 'again', output 'c' is a second value of that name; expected one for each name"),
        (lambda g: g.input.append(g.input[0]),
         "graph, input 'a' is a second value of that name; expected one for each name"),
        (lambda g: g.initializer.extend(2 * [TensorProto(name="w", data_type=1, dims=[0])]),
         "graph, initializer 'w' is a second value of that name; expected one for each name"),
        (lambda g: g.input.add(), "graph, input '' has no name"),
        (lambda g: g.node[0].input.__setitem__(0, "x"), "graph.node[0] reads 'x', which nothing before it makes"),
        (lambda g: g.node[0].input.__setitem__(0, "c"), "graph.node[0] reads 'c', which nothing before it makes"),
        (lambda g: g.output[0].ClearField("type") or setattr(g.output[0], "name", "x"),
         "graph, output 'x' is made by nothing"),
        (lambda g: g.node[0].ClearField("op_type"), "graph.node[0] has no op_type"),
    ],
)  # fmt: skip
def test_a_name_has_one_meaning_and_is_made_before_it_is_read(change, message):
    assert broken(lambda proto: change(proto.graph)) == message


def test_a_body_does_not_give_an_outer_name_a_second_meaning():
    text = """<ir_version: 10, opset_import: ["" : 14]> agraph (bool p, float a) => (float c) {
      c = If (p) <then_branch = t () => (float y) { y = Identity(a) }, else_branch = e () => (float n) { n = Neg(a) }>
    }"""
    read(text)
    assert told(text.replace("n = Neg(a)", "a = Neg(a) n = Neg(a)")) == (
        "the model's text: graph.node[0].else_branch.node[0], output 'a' is a second value of that name; "
        "expected one for each name"
    )
    assert told(text.replace("n = Neg(a)", "n = Neg(y)")) == (
        "the model's text: graph.node[0].else_branch.node[0] reads 'y', which nothing before it makes"
    )


def test_functions_are_defined_once_and_do_not_go_in_circles():
    head = TEXT.replace("14]", '14, "my" : 1]')
    f = '<domain: "my", opset_import: ["my" : 1, "" : 14]> {} (x) => (z) {{ z = {}(x) }}'
    twice = head + f.format("F", "Neg") + f.format("F", "Abs")
    assert told(twice) == "the model's text: function 'my.F' of the domain 'my' is defined twice"
    circle = told(head + f.format("F", "my.G") + f.format("G", "my.F"))
    start = "the model's text: functions may not call each other in a circle: "
    assert circle in (f"{start}F → G → F", f"{start}G → F → G")
    assert told(head + f.format("F", "Neg").replace("Neg(x)", "Neg(y)")) == (
        "the model's text: function 'F'.node[0] reads 'y', which nothing before it makes"
    )


# ---- attributes and types -------------------------------------------------------------------------------------


def attributed(**fields):
    def change(proto: ModelProto) -> None:
        proto.graph.node[0].attribute.append(AttributeProto(**fields))

    return change


def test_an_attribute_has_a_name_a_known_type_and_a_value_of_that_type():
    at = "graph.node[0], attribute 'axis'"
    assert broken(attributed(name="axis", i=1)) == f"{at} has no type; expected an AttributeProto.AttributeType"
    assert broken(attributed(name="axis", type=AttributeProto.INT, f=1.0)) == (
        f"{at} is of type INT and has the field 'f'; expected 'i'"
    )
    assert broken(attributed(name="axis", type=AttributeProto.TENSOR)) == (
        f"{at} is of type TENSOR and has no value; expected 't'"
    )
    assert broken(attributed(name="axis", type=AttributeProto.INT, ref_attr_name="k", i=1)) == (
        f"{at} refers to 'k' and has a value; expected one"
    )
    assert broken(attributed(type=AttributeProto.INT)) == "graph.node[0], attribute '' has no name"
    one = AttributeProto(name="axis", type=AttributeProto.INT, i=0)
    assert broken(lambda m: m.graph.node[0].attribute.extend([one, one])) == f"{at} is stated twice"
    unknown = AttributeProto.FromString(b"\x0a\x04axis\xa0\x01\x63")  # type 99
    assert broken(lambda m: m.graph.node[0].attribute.append(unknown)) == (
        f"{at} has an unknown type; expected an AttributeProto.AttributeType"
    )


def test_a_declared_type_is_known_and_can_have_a_size():
    def elem(number):
        return lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", number)

    def dim(*sizes):
        return lambda m: [m.graph.input[0].type.tensor_type.shape.dim.add(dim_value=size) for size in sizes]

    assert broken(elem(99)) == (
        "graph, value 'a' has the elem_type 99; expected a TensorProto.DataType that the package onnx knows"
    )
    assert broken(dim(-2)) == "graph, value 'a' has the dims (2, -2); expected sizes of 0 and above"
    assert broken(dim(1 << 40, 1 << 40)) == (
        "graph, value 'a' has the dims (2, 1099511627776, 1099511627776), whose product overflows 64 bits"
    )


def test_text_is_text():
    raw = model().SerializeToString().replace(b"agraph", b"\xffgraph")
    assert told(raw) == "the model's bytes: graph.name is b'\\xffgraph'; expected text in UTF-8"
    raw = model().SerializeToString().replace(b"\x0a\x01a\x0a\x01b", b"\x0a\x01\xff\x0a\x01b")
    assert told(raw) == "the model's bytes: graph.node[0].input[0] is b'\\xff'; expected text in UTF-8"


# ---- tensors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ({"data_type": 99, "raw_data": b""},
         "has the data_type 99; expected a TensorProto.DataType that the package onnx knows"),
        ({"raw_data": b""}, "has no data_type; expected a TensorProto.DataType that the package onnx knows"),
        ({"data_type": 1, "dims": [-1]}, "has the dims (-1,); expected sizes of 0 and above"),
        ({"data_type": 1, "dims": [0, 1 << 62, 1 << 62]},
         "has the dims (0, 4611686018427387904, 4611686018427387904), whose product overflows 64 bits"),
        ({"data_type": 16, "dims": [0, (1 << 63) - 1], "raw_data": b""},
         "has the dims (0, 9223372036854775807), whose bytes overflow 64 bits"),
        ({"data_type": 1, "dims": [1], "raw_data": b"12345"},
         "has 5 bytes of raw_data; expected 4 (FLOAT of dims (1,))"),
        ({"data_type": 1, "dims": [2], "float_data": [1, 2, 3]},
         "has 3 entries in float_data; expected 2 (FLOAT of dims (2,))"),
        ({"data_type": 1, "dims": [1]}, "has 0 entries in float_data; expected 1 (FLOAT of dims (1,))"),
        ({"data_type": 14, "dims": [1], "float_data": [1]},
         "has 1 entries in float_data; expected 2 (COMPLEX64 of dims (1,))"),
        ({"data_type": 22, "dims": [3], "raw_data": b"1"}, "has 1 bytes of raw_data; expected 2 (INT4 of dims (3,))"),
        ({"data_type": 1, "dims": [1], "int32_data": [1]}, "has int32_data for FLOAT; expected float_data or raw_data"),
        ({"data_type": 1, "dims": [1], "float_data": [1], "raw_data": b"1234"},
         "has both raw_data and float_data; expected one of them"),
        ({"data_type": 8, "dims": [1], "raw_data": b"1"}, "has raw_data for STRING; expected string_data"),
        ({"data_type": 2, "dims": [2], "int32_data": [0, 300]}, "has 300 at int32_data[1]; expected 0 to 255 (UINT8)"),
        ({"data_type": 3, "dims": [1], "int32_data": [-200]}, "has -200 at int32_data[0]; expected -128 to 127 (INT8)"),
        ({"data_type": 9, "dims": [1], "int32_data": [2]}, "has 2 at int32_data[0]; expected 0 to 1 (BOOL)"),
        ({"data_type": 10, "dims": [1], "int32_data": [0x13C00]},
         "has 80896 at int32_data[0]; expected 0 to 65535 (FLOAT16, as a bit pattern)"),
        ({"data_type": 22, "dims": [1], "int32_data": [256]},
         "has 256 at int32_data[0]; expected 0 to 255 (INT4 of packed elements)"),
        ({"data_type": 12, "dims": [1], "uint64_data": [(1 << 32) + 5]},
         "has 4294967301 at uint64_data[0]; expected 0 to 4294967295 (UINT32)"),
        ({"data_type": 1, "dims": [0], "segment": TensorProto.Segment(begin=0, end=1)},
         "is one segment of a tensor; expected a whole one"),
    ],
)  # fmt: skip
def test_a_tensor_s_data_is_what_its_type_and_dims_say(tensor, message):
    bad = TensorProto(name="w", **tensor)
    assert broken(lambda m: m.graph.initializer.append(bad)) == f"graph, initializer 'w' {message}"
    constant = helper.make_node("Constant", [], ["k"], value=bad)
    assert broken(lambda m: m.graph.node.append(constant)) == f"graph.node[1], attribute 'value' {message}"


def test_an_unknown_place_of_data_is_refused():
    raw = TensorProto(name="w", data_type=1, dims=[0]).SerializeToString() + b"\x70\x09"  # data_location 9
    assert broken(lambda m: m.graph.initializer.append(TensorProto.FromString(raw))) == (
        "graph, initializer 'w' has an unknown data_location; expected DEFAULT or EXTERNAL"
    )


@pytest.mark.parametrize("word", sorted(set(TensorProto.DataType.keys()) - {"UNDEFINED"}))
def test_every_data_type_is_read_as_onnx_writes_it(word):
    number = TensorProto.DataType.Value(word)
    dtype = helper.tensor_dtype_to_np_dtype(number)
    values = np.array(["a", "b", "c"], object) if word == "STRING" else np.array([1, 1, 2]).astype(dtype)
    typed = helper.make_tensor("w", number, [3], values.astype(object if word == "STRING" else dtype).tolist())
    for tensor in (typed, onnx.numpy_helper.from_array(values, "w")):
        proto = model()
        proto.graph.initializer.append(tensor)
        found = read(proto)
        got = found.array(found.proto.graph.initializer[0])
        assert got.dtype == values.dtype
        assert np.array_equal(got, values)
        assert not got.flags.writeable


# ---- hostile bytes --------------------------------------------------------------------------------------------

RICH = """
<ir_version: 10, opset_import: ["" : 13, "my" : 1]>
agraph (float[N] a, float[2] b, bool c) => (float[2] z, float[2] sum)
<float[2] w = {1.0, 2.0}>
{
  z = If (c) <
    then_branch = yes () => (float[2] y) { q = Sub(a, b) y = Add(q, w) },
    else_branch = no () => (float[2] n) { n = Sub(b, a) }>
  trips = Constant <value = int64 {3}> ()
  go = Constant <value = bool {1}> ()
  sum = Loop (trips, go, a) <body = step (int64 i, bool on, float[2] s) => (bool still, float[2] next) {
    still = Identity(on)
    next = my.F <axis = 0> (s, b)
  }>
}
<domain: "my", opset_import: ["" : 6]> F <axis> (x, y) => (z) { z = Sub <axis: int = @axis, broadcast = 1> (x, y) }
"""


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_bytes_that_are_changed_or_cut_off_give_an_answer_or_an_error_of_ours():
    raw = model(RICH).SerializeToString()
    feeds = {"a": np.float32([10, 20]), "b": np.float32([1, 2]), "c": np.array(True)}
    rng = random.Random(20261121)
    ran = refused = 0
    end = time.perf_counter() + 4
    for _ in range(3000):
        data = bytearray(raw)
        for _ in range(rng.randrange(1, 4)):
            kind = rng.random()
            at = rng.randrange(len(data) or 1)
            if kind < 0.6 and data:
                data[at] = rng.randrange(256)
            elif kind < 0.8:
                del data[at : at + rng.randrange(1, 9)]
            else:
                del data[at:]
        try:
            found = read(bytes(data))
            list(found.subtractions())
            found.run(feeds)
            ran += 1
        except (MinuendError, OSError):
            refused += 1
        if time.perf_counter() > end:
            break
    assert ran > 5
    assert refused > 50


def test_a_chain_of_twenty_thousand_nodes_is_read_without_recursion():
    proto = model(TEXT.replace("c = Sub(a, b)", "c0 = Sub(a, b)").replace("=> (uint8[2] c)", "=> (uint8[2] c20000)"))
    for i in range(20000):
        proto.graph.node.add(op_type="Sub", input=[f"c{i}", "b"], output=[f"c{i + 1}"])
    start = time.process_time()
    found = read(proto)
    assert sum(1 for _ in found.subtractions()) == 20001
    assert time.process_time() - start < 5
    assert found.run({"a": np.uint8([1, 2]), "b": np.uint8([1, 1])})["c20000"].tolist() == [
        (1 - 20001) % 256,
        (2 - 20001) % 256,
    ]
