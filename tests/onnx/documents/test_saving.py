"""``Model.save``: byte for byte what was read, whole or not at all."""

from __future__ import annotations

import os
from types import SimpleNamespace

import onnx
import pytest
from google.protobuf.message import EncodeError
from onnx import ModelProto

from minuend.errors import FileFormatError, MinuendError, Unsupported
from minuend.onnx.documents import saving
from minuend.onnx.graphs.walk import walk
from minuend.onnx.model import read

TEXT = """
<ir_version: 10, opset_import: ["" : 14, "my" : 1], producer_name: "p", model_version: 3, doc_string: "d">
g (float[N,3] a, float[3] b) => (float[N,3] c) { c = my.F(a, b) }
<domain: "my", opset_import: ["" : 6]> F (x, y) => (z) { z = Sub <broadcast = 1> (x, y) }
"""


def rich() -> ModelProto:
    proto = onnx.parser.parse_model(TEXT)
    proto.metadata_props.add(key="author", value="me")
    proto.graph.node[0].doc_string = "why"
    proto.graph.node[0].metadata_props.add(key="k", value="v")
    return proto


UNKNOWN = b"\xc2\x3e\x03new"  # field 1000, bytes


def with_unknown_fields() -> bytes:
    """A model of a later ONNX: fields that this one does not know, in the model and in a node."""
    proto = rich()
    raw = proto.graph.node[0].SerializeToString() + UNKNOWN
    proto.graph.node[0].ParseFromString(raw)
    return proto.SerializeToString() + UNKNOWN


def test_a_model_that_is_read_and_saved_is_the_same_byte_for_byte(tmp_path):
    raw = with_unknown_fields()
    assert raw.count(UNKNOWN) == 2
    (tmp_path / "m.onnx").write_bytes(raw)
    read(tmp_path / "m.onnx").save(tmp_path / "n.onnx")
    assert (tmp_path / "n.onnx").read_bytes() == raw
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "n.onnx"]


def test_a_change_in_the_proto_is_saved_and_the_rest_stays(tmp_path):
    model = read(with_unknown_fields())
    for scope in walk(model):
        for node in scope.nodes:
            node.name = "named"
    model.save(tmp_path / "n.onnx")
    found = read(tmp_path / "n.onnx").proto
    assert found.functions[0].node[0].name == "named"
    assert (tmp_path / "n.onnx").read_bytes().count(UNKNOWN) == 2
    assert (found.producer_name, found.model_version, found.doc_string) == ("p", 3, "d")
    assert found.metadata_props[0].value == "me"


def test_the_text_form_is_written_where_it_holds_everything(tmp_path):
    text = TEXT.replace(', doc_string: "d"', "")
    read(text).save(tmp_path / "m.onnxtxt")
    assert read(tmp_path / "m.onnxtxt").proto == onnx.parser.parse_model(text)
    goal = tmp_path / "n.onnxtxt"
    with pytest.raises(Unsupported) as caught:
        read(rich()).save(goal)
    assert str(caught.value) == (
        f"{goal}: ONNX's text form does not hold all of this model (documentation, metadata, external data, unknown "
        "fields or some types); save it as .onnx"
    )
    assert sorted(os.listdir(tmp_path)) == ["m.onnxtxt"]


def test_the_file_that_was_read_is_not_overwritten(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(rich().SerializeToString())
    with pytest.raises(MinuendError) as caught:
        read(path).save(path)
    assert str(caught.value) == f"the output {path} is also an input; nothing is overwritten, name another output"


def test_another_file_is_replaced_and_another_suffix_is_refused(tmp_path):
    (tmp_path / "n.onnx").write_bytes(b"old")
    read(rich()).save(tmp_path / "n.onnx")
    assert read(tmp_path / "n.onnx").proto == rich()
    with pytest.raises(FileFormatError) as caught:
        read(rich()).save(tmp_path / "n.pb")
    assert str(caught.value) == f"{tmp_path}/n.pb has the suffix '.pb'; an ONNX model is saved as .onnx or .onnxtxt"


def test_a_failure_leaves_nothing(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(rich()).save(tmp_path / "no" / "n.onnx")
    proto = rich()
    model = read(proto)
    model.proto.graph.node[0].name = "x"
    (tmp_path / "n.onnx").mkdir()
    with pytest.raises(IsADirectoryError):
        model.save(tmp_path / "n.onnx")
    assert os.listdir(tmp_path) == ["n.onnx"]


@pytest.mark.parametrize(("size", "large"), [(9, False), (1 << 30, True)])
def test_a_model_for_which_there_is_no_memory_is_not_taken_for_one_that_is_too_large(size, large):
    """protobuf raises one error for both; a model that is split when memory ends would be written another way."""

    def refuse():
        raise EncodeError("Failed to serialize proto")

    tensor = SimpleNamespace(raw_data=range(size))  # what has a length, and takes no memory
    proto = SimpleNamespace(graph=SimpleNamespace(initializer=[tensor]), SerializeToString=refuse)
    if large:
        assert saving._serialize(proto) is None
    else:
        with pytest.raises(MemoryError, match=r"^protobuf has no memory for a model of some 9 bytes$"):
            saving._serialize(proto)
