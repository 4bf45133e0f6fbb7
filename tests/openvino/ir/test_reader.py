"""Every way in which an IR can be malformed, and the whole message of each. ``ir_files`` has the lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from ir_files import EDGE_A, EDGE_B, EDGE_R, SUB_OUT, TEXT, WEIGHTS, A, changed

from minuend.errors import DTypeError, FileFormatError, MinuendError, ShapeError
from minuend.openvino.model import read

MALFORMED = [
    ("tags that do not match", changed("</layers>", "</layer>"), FileFormatError,
     "the IR, line 10, column 3 (byte 790): this is no XML: mismatched tag"),
    ("nothing at all", b"", FileFormatError, "the IR is empty; expected the XML of a model"),
    ("another root",
     changed('<net name="m" version="11">', '<nett name="m" version="11">').replace(b"</net>", b"</nett>"),
     FileFormatError, "the IR, line 1: the root: is <nett>; expected <net>"),
    ("no version", changed(' version="11"', ""), FileFormatError,
     "the IR, line 1: the root: <net> has no attribute 'version', which is mandatory"),
    ("version 9", changed('version="11"', 'version="9"'), FileFormatError,
     "the IR, line 1: the root: the format's version is 9; expected 10 or 11 (export the model again)"),
    ("version x", changed('version="11"', 'version="x"'), FileFormatError,
     "the IR, line 1: the root: attribute 'version' of <net> is 'x'; expected a whole number from 0 on"),
    ("version 11.0", changed('version="11"', 'version="11.0"'), FileFormatError,
     "the IR, line 1: the root: attribute 'version' of <net> is '11.0'; expected a whole number from 0 on"),
    ("doctype", b'<!DOCTYPE net [<!ENTITY a "b">]>\n' + TEXT.encode(), FileFormatError,
     ("the IR, line 1: the file has a document type (<!DOCTYPE …>), which can define entities that "
      "expand without end; a model needs none, remove it")),
    ("two layers elements", changed("<layers>", "<layers/><layers>"), FileFormatError,
     "the IR, line 1: the model: there are 2 <layers>; expected one"),
    ("no id", changed('id="2" name="sub"', 'name="sub"'), FileFormatError,
     "the IR, line 6: layer ? 'sub': <layer> has no attribute 'id', which is mandatory"),
    ("id", changed('id="2" name="sub"', 'id="-2" name="sub"'), FileFormatError,
     "the IR, line 6: layer -2 'sub': attribute 'id' of <layer> is '-2'; expected a whole number from 0 on"),
    ("no name", changed('name="sub" ', ""), FileFormatError,
     "the IR, line 6: layer 2 '?': <layer> has no attribute 'name', which is mandatory"),
    ("no type", changed('type="Subtract" ', ""), FileFormatError,
     "the IR, line 6: layer 2 'sub': <layer> has no attribute 'type', which is mandatory"),
    ("no opset", changed('type="Subtract" version="opset1"', 'type="Subtract"'), FileFormatError,
     "the IR, line 6: layer 2 'sub': <layer> has no attribute 'version', which is mandatory"),
    ("dup layer", changed('id="2" name="sub"', 'id="1" name="sub"'), FileFormatError,
     "the IR, line 6: layer 1 'sub': id 1 is taken by 'b' (line 4)"),
    ("opset17", changed('type="Subtract" version="opset1"', 'type="Subtract" version="opset17"'), FileFormatError,
     "the IR, line 6: layer 2 'sub': Subtract of version 'opset17'; expected opset1 to opset16"),
    ("opset99", changed('type="Subtract" version="opset1"', 'type="Subtract" version="opset99"'), FileFormatError,
     "the IR, line 6: layer 2 'sub': Subtract of version 'opset99'; expected opset1 to opset16"),
    ("extension", changed('type="Subtract" version="opset1"', 'type="Subtract" version="extension"'), FileFormatError,
     "the IR, line 6: layer 2 'sub': Subtract of version 'extension'; expected opset1 to opset16"),
    ("Sub", changed('type="Subtract"', 'type="Sub"'), FileFormatError,
     "the IR, line 6: layer 2 'sub': no opset has a type 'Sub'; expected 'Subtract'"),
    ("Constant", changed('type="Const"', 'type="Constant"'), FileFormatError,
     "the IR, line 4: layer 1 'b': no opset has a type 'Constant'; expected 'Const'"),
    ("const", changed('type="Const"', 'type="const"'), FileFormatError,
     "the IR, line 4: layer 1 'b': type 'const' is not what the runtime takes for one; write 'Const'"),
    ("result", changed('type="Result"', 'type="result"'), FileFormatError,
     "the IR, line 9: layer 3 'r': type 'result' is not what the runtime takes for one; write 'Result'"),
    ("input port id", changed('<port id="1"><dim>3', "<port><dim>3"), FileFormatError,
     "the IR, line 7: layer 2 'sub', an input port: <port> has no attribute 'id', which is mandatory"),
    ("output port id", changed('<port id="2" precision', "<port precision"), FileFormatError,
     "the IR, line 8: layer 2 'sub', an output port: <port> has no attribute 'id', which is mandatory"),
    ("port id x", changed('<port id="2" precision', '<port id="x" precision'), FileFormatError,
     ("the IR, line 8: layer 2 'sub', an output port: attribute 'id' of <port> is 'x'; expected a "
      "whole number from 0 on")),
    ("ports one id", changed('<port id="1"><dim>3', '<port id="0"><dim>3'), FileFormatError,
     "the IR, line 6: layer 2 'sub': two input ports have the id 0"),
    ("no precision", changed('id="2" precision="FP32"', 'id="2"'), FileFormatError,
     "the IR, line 8: layer 2 'sub', output port 2: <port> has no attribute 'precision', which is mandatory"),
    ("precision", changed('id="2" precision="FP32"', 'id="2" precision="xyz"'), FileFormatError,
     ("the IR, line 8: layer 2 'sub', output port 2: attribute 'precision' of <port> is 'xyz'; "
      "expected FP16, BF16, FP32, FP64, I8, I16, I32, I64, U8, U16, U32, U64, BIN, U2, U4, I4, NF4, "
      "F4E2M1, F8E4M3, F8E5M2, F8E8M0, BOOL, STRING, U3, U6 or UNSPECIFIED")),
    ("dim -5", changed('<dim>2</dim><dim>3</dim></port><port id="1">', '<dim>2</dim><dim>-5</dim></port><port id="1">'),
     FileFormatError, "the IR, line 7: layer 2 'sub', input port 0: dim 1 is '-5'; expected a whole number from -1 on"),
    ("dim x", changed('names="y,y2"><dim>2</dim>', 'names="y,y2"><dim>x</dim>'), FileFormatError,
     "the IR, line 8: layer 2 'sub', output port 2: dim 0 is 'x'; expected a whole number from -1 on"),
    ("rule foo", changed('auto_broadcast="numpy"', 'auto_broadcast="foo"'), FileFormatError,
     "the IR, line 6: layer 2 'sub': attribute 'auto_broadcast' is 'foo'; expected none, numpy or pdpd"),
    ("rule empty", changed('auto_broadcast="numpy"', 'auto_broadcast=""'), FileFormatError,
     "the IR, line 6: layer 2 'sub': attribute 'auto_broadcast' is ''; expected none, numpy or pdpd"),
    ("axis", changed('auto_broadcast="numpy"', 'auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="1.5"'),
     FileFormatError,
     "the IR, line 6: layer 2 'sub': attribute 'auto_broadcast.auto_broadcast_axis' is '1.5'; expected a whole number"),
    ("param no data", changed('<data shape="2,3" element_type="f32"/>', ""), FileFormatError,
     "the IR, line 2: layer 0 'a': the parameter has no <data>; expected shape and element_type"),
    ("param FP32", changed('element_type="f32"/><output>', 'element_type="FP32"/><output>'), FileFormatError,
     "the IR, line 2: layer 0 'a': attribute 'element_type' is 'FP32'; expected 'f32'"),
    ("param type", changed('element_type="f32"/><output>', 'element_type="foo"/><output>'), FileFormatError,
     ("the IR, line 2: layer 0 'a': attribute 'element_type' is 'foo'; expected f16, bf16, f32, f64, "
      "i8, i16, i32, i64, u8, u16, u32, u64, u1, u2, u4, i4, nf4, f4e2m1, f8e4m3, f8e5m2, f8e8m0, "
      "boolean, string, u3, u6 or dynamic")),
    ("shape 2,,3", changed('shape="2,3"', 'shape="2,,3"'), FileFormatError,
     ("the IR, line 2: layer 0 'a': attribute 'shape' is '2,,3', whose dim 1 is ''; expected a size, "
      "? or -1 for an unknown one, or an interval such as 1..4")),
    ("shape a", changed('shape="2,3"', 'shape="a"'), FileFormatError,
     ("the IR, line 2: layer 0 'a': attribute 'shape' is 'a', whose dim 0 is 'a'; expected a size, ? "
      "or -1 for an unknown one, or an interval such as 1..4")),
    ("shape 4..1", changed('shape="2,3"', 'shape="2,4..1"'), FileFormatError,
     "the IR, line 2: layer 0 'a': attribute 'shape' is '2,4..1', whose dim 1 is the empty interval 4..1"),
    ("const no data", changed('<data element_type="f32" shape="3" offset="4" size="12"/>', ""), FileFormatError,
     "the IR, line 4: layer 1 'b': the constant has no <data>; expected element_type, shape, offset and size"),
    ("const no type", changed('<data element_type="f32" ', "<data "), FileFormatError,
     "the IR, line 4: layer 1 'b': <data> has no attribute 'element_type', which is mandatory"),
    ("const no shape", changed('shape="3" ', ""), FileFormatError,
     "the IR, line 4: layer 1 'b': <data> has no attribute 'shape', which is mandatory"),
    ("const no offset", changed('offset="4" ', ""), FileFormatError,
     "the IR, line 4: layer 1 'b': <data> has no attribute 'offset', which is mandatory"),
    ("const no size", changed(' size="12"', ""), FileFormatError,
     "the IR, line 4: layer 1 'b': <data> has no attribute 'size', which is mandatory"),
    ("const shape", changed('shape="3"', 'shape="?,3"'), FileFormatError,
     ("the IR, line 4: layer 1 'b': attribute 'shape' of <data> is '?,3', whose dim 0 is '?'; "
      "expected sizes, such as 2,3")),
    ("const beyond", changed('offset="4"', 'offset="9"'), FileFormatError,
     "the IR, line 4: layer 1 'b': the constant's 12 bytes from offset 9 on end beyond the 20 of the weights"),
    ("const huge offset", changed('offset="4"', 'offset="9999999999999999999999"'), FileFormatError,
     ("the IR, line 4: layer 1 'b': attribute 'offset' of <data> is '9999999999999999999999'; "
      "expected a whole number from 0 on")),
    ("const small", changed('size="12"', 'size="8"'), FileFormatError,
     "the IR, line 4: layer 1 'b': the constant has 8 bytes; f32 of shape (3,) takes 12"),
    ("const overflow", changed('shape="3"', 'shape="4294967296,4294967296"'), FileFormatError,
     ("the IR, line 4: layer 1 'b': the constant has 12 bytes; f32 of shape (4294967296, 4294967296) "
      "takes 73786976294838206464")),
    ("no edge", changed(EDGE_B, ""), FileFormatError,
     "the IR, line 6: layer 2 'sub', input port 1: no edge ends here; expected one"),
    ("edge bad port", changed(EDGE_B, EDGE_B.replace('to-port="1"', 'to-port="5"')), FileFormatError,
     "the IR, line 12: layer 2 'sub': an edge names input port 5; it has 0 and 1"),
    ("edge bad from", changed(EDGE_B, EDGE_B.replace('from-port="0"', 'from-port="7"')), FileFormatError,
     "the IR, line 12: layer 1 'b': an edge names output port 7; it has 0"),
    ("edge no port", changed(EDGE_B, EDGE_B.replace(' to-port="1"', "")), FileFormatError,
     "the IR, line 12: an edge: <edge> has no attribute 'to-port', which is mandatory"),
    ("edge twice", changed(EDGE_B, EDGE_B.replace('to-port="1"', 'to-port="0"')), FileFormatError,
     ("the IR, line 12: layer 2 'sub', input port 0: two edges end here, from layer 0 'a' and from "
      "layer 1 'b'; expected one")),
    ("edge unknown layer", changed(EDGE_B, EDGE_B.replace('from-layer="1"', 'from-layer="8"')), FileFormatError,
     "the IR, line 12: an edge: from-layer is 8, and no layer has that id"),
    ("edge into parameter", changed(EDGE_B, EDGE_B.replace('to-layer="2"', 'to-layer="0"')), FileFormatError,
     "the IR, line 12: layer 0 'a': an edge names input port 1; it has no input ports"),
    ("cycle", changed(EDGE_A, EDGE_A.replace('from-layer="0" from-port="0"', 'from-layer="2" from-port="2"')),
     FileFormatError, "the IR, line 6: layer 2 'sub': edges go round: layer 2 'sub' to layer 2 'sub'"),
    ("one input", changed('<port id="1"><dim>3</dim></port>', "").replace(EDGE_B.encode(), b""), FileFormatError,
     "the IR, line 6: layer 2 'sub': Subtract has 1 input ports; expected 2"),
    ("three inputs",
     changed("</input><output>", '<port id="9"/></input><output>').replace(
         EDGE_R.encode(), EDGE_R.encode() + b'<edge from-layer="0" from-port="0" to-layer="2" to-port="9"/>'
     ),
     FileFormatError, "the IR, line 6: layer 2 'sub': Subtract has 3 input ports; expected 2"),
    ("two outputs", changed(SUB_OUT, SUB_OUT.replace("</output>", '<port id="5" precision="FP32"/></output>')),
     FileFormatError, "the IR, line 6: layer 2 'sub': Subtract has 2 output ports; expected 1"),
    ("types", changed('element_type="f32"/><output>', 'element_type="i32"/><output>'), DTypeError,
     ("Subtract-1 takes two operands of one element type; A is i32 and B is f32; convert one of them "
      "first, at layer 2 'sub' of the IR")),
    ("boolean",
     changed('element_type="f32"/><output>', 'element_type="boolean"/><output>').replace(
         b'<data element_type="f32" shape="3"', b'<data element_type="boolean" shape="3"'
     ),
     DTypeError,
     ("element type 'boolean': Subtract takes numbers only; use LogicalXor or convert to u8 first, at "
      "layer 2 'sub' of the IR")),
    ("string",
     changed('element_type="f32"/><output>', 'element_type="string"/><output>').replace(
         b'<data element_type="f32" shape="3"', b'<data element_type="string" shape="3"'
     ),
     DTypeError, "element type 'string': subtraction is not defined for strings, at layer 2 'sub' of the IR"),
    ("shapes", changed('shape="2,3"', 'shape="2,4"'), ShapeError,
     ("shapes (2, 4) and (3,) do not broadcast: axis 1 of the result has 4 and 3; they must be equal, "
      "or one of them 1, at layer 2 'sub' of the IR")),
    ("pdpd axis", changed('auto_broadcast="numpy"', 'auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="-2"'),
     ShapeError, "axis -2 is out of range: expected -1 (B is A's suffix) or above, at layer 2 'sub' of the IR"),
    ("pdpd no axis", changed('auto_broadcast="numpy"', 'auto_broadcast="pdpd"'), ShapeError,
     ("shapes (2, 3) and (3,) do not join under pdpd from axis 0: axis 0 of A is 2 and axis 0 of B is "
      "3; B's dim must be A's, or a 1 that is not above it; the layer states no "
      "auto_broadcast.auto_broadcast_axis, which the runtime reads as 0, at layer 2 'sub' of the IR")),
    ("encoding", b'<?xml version="1.0" encoding="klingon"?>' + TEXT.encode(), FileFormatError,
     "the IR, line 1: this XML cannot be decoded: unknown encoding: klingon; expected UTF-8"),
    ("deep", b"<net version='11'>" + b"<a>" * 300 + b"</a>" * 300 + b"</net>", FileFormatError,
     "the IR, line 1: elements nest deeper than 200 levels; no model needs that"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "error", "message"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED]
)
def test_a_malformed_model_is_refused_with_its_place(data: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as found:
        read(data, WEIGHTS)
    assert str(found.value) == message
    assert isinstance(found.value, MinuendError)


LENIENT = {
    "doctype": "the runtime skips document types; they are refused here as a way to exhaust memory",
    "Constant": "the runtime makes a constant without elements, and fails when it compiles",
    "result": "the runtime makes a model without results",
    "axis": "the runtime reads 1.5 as 1",
    "two layers elements": "the runtime reads the first",
    "deep": "the runtime has no limit",
    "encoding": "the runtime takes every text for UTF-8",
}
"""What is refused here and taken by openvino, with the reason."""


@pytest.fixture(scope="module")
def core() -> Any:
    return pytest.importorskip("openvino").Core()


@pytest.mark.parametrize(("name", "data"), [row[:2] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_openvino_refuses_the_same_models(core: Any, name: str, data: bytes) -> None:
    try:
        core.read_model(data, WEIGHTS)
    except RuntimeError:
        assert name not in LENIENT
    else:
        assert name in LENIENT


def test_a_model_without_its_weights_says_where_they_should_be(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(TEXT)
    with pytest.raises(FileFormatError) as found:
        read(path).save(tmp_path / "n.xml")
    assert str(found.value) == (
        f"{path}, line 4: layer 1 'b': the constant lies in {tmp_path / 'm.bin'}, which is not there; "
        "put it beside the .xml"
    )
    with pytest.raises(FileFormatError) as found:
        read(TEXT.encode()).run({})
    assert str(found.value) == (
        "the IR, line 4: layer 1 'b': the constant lies in the weights, which is not there; put it beside the .xml"
    )


def test_a_model_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "m.xml")


def test_a_suffix_other_than_xml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as found:
        read(tmp_path / "m.onnx")
    assert str(found.value) == (
        f"{tmp_path / 'm.onnx'} does not end in .xml, by which the .bin beside it is found; rename it"
    )


def test_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    folder, pipe = tmp_path / "folder.xml", tmp_path / "pipe.xml"
    folder.mkdir()
    os.mkfifo(pipe)
    for path, kind in ((folder, "a folder"), (pipe, "no plain file")):
        with pytest.raises(FileFormatError) as found:
            read(path)
        assert str(found.value) == f"{path} is {kind}; expected an OpenVINO IR of two plain files"


def test_weights_outside_the_models_folder_are_refused(tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    (home / "m.xml").write_text(TEXT)
    (away / "m.bin").write_bytes(WEIGHTS)
    (home / "m.bin").symlink_to(away / "m.bin")
    with pytest.raises(FileFormatError) as found:
        read(home / "m.xml")
    assert str(found.value) == (
        f"{home / 'm.bin'} is a link to {away / 'm.bin'}, outside the model's folder; copy the file there"
    )


def test_a_store_that_links_to_both_files_is_read(tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "snapshot", tmp_path / "blobs"
    snapshot.mkdir()
    blobs.mkdir()
    (blobs / "1").write_text(TEXT)
    (blobs / "2").write_bytes(WEIGHTS)
    (snapshot / "m.xml").symlink_to(blobs / "1")
    (snapshot / "m.bin").symlink_to(blobs / "2")
    assert read(snapshot / "m.xml").name == "m"


def test_a_model_is_a_path_or_bytes_or_an_openvino_model() -> None:
    with pytest.raises(TypeError) as found:
        read(3)
    assert str(found.value) == "a model is a path, the bytes or text of an .xml, or an openvino.Model; this is a int"
    with pytest.raises(TypeError) as found:
        read("m.xml", b"")
    assert str(found.value) == "weights go with the bytes of an .xml; a str brings its own"


def test_layers_that_feed_each_other_are_named_in_the_order_of_the_flow() -> None:
    middle = '<layer id="4" name="c" type="Convert" version="opset1"><data destination_type="f32"/>'
    ports = '<input><port id="0"/></input><output><port id="1" precision="FP32"/></output></layer>'
    text = TEXT.replace(A, f"{middle}{ports}{A}").replace(
        EDGE_A,
        '<edge from-layer="4" from-port="1" to-layer="2" to-port="0"/>'
        '<edge from-layer="2" from-port="2" to-layer="4" to-port="0"/>',
    )
    with pytest.raises(FileFormatError) as found:
        read(text.encode(), WEIGHTS)
    assert str(found.value) == (
        "the IR, line 6: layer 2 'sub': edges go round: layer 2 'sub' to layer 4 'c' to layer 2 'sub'"
    )


def test_a_pdpd_axis_that_was_left_out_is_named_where_the_shapes_do_not_fit() -> None:
    with pytest.raises(ShapeError) as found:
        read(changed('"numpy"', '"pdpd"'), WEIGHTS)
    assert str(found.value).startswith("shapes (2, 3) and (3,) do not join under pdpd from axis 0")
    assert str(found.value).endswith(
        "; the layer states no auto_broadcast.auto_broadcast_axis, which the runtime reads as 0, at "
        "layer 2 'sub' of the IR"
    )
