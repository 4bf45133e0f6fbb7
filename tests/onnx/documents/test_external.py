"""External data: followed beneath the model's folder and nowhere else, read when it is used, copied when it must be."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto
from peak_memory import forget_peak, peak

from minuend.errors import FileFormatError, MinuendError
from minuend.onnx.model import Model, read

TEXT = '<ir_version: 10, opset_import: ["" : 14]> g (float[4] a) => (float[4] c) { c = Sub(a, w) }'
W = np.float32([1, 2, 3, 4])
PLACE = "{}: graph, initializer 'w'"


def entry(location: str = "w.bin", **stated) -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **stated}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def write(folder, tensor: TensorProto, data: bytes | None = W.tobytes(), name: str = "w.bin", text: str = TEXT) -> str:
    proto = ModelProto()
    proto.CopyFrom(onnx.parser.parse_model(text.replace("(a, w)", "(a, a)")))
    proto.graph.node[0].input[1] = "w"
    proto.graph.initializer.append(tensor)
    path = str(folder / "m.onnx")
    with open(path, "wb") as stream:
        stream.write(proto.SerializeToString())
    if data is not None:
        (folder / name).write_bytes(data)
    return path


def run(path: str) -> list[float]:
    return read(path).run({"a": np.float32([10, 10, 10, 10])})["c"].tolist()


def told(path: str, kind: type[Exception] = FileFormatError, use=run) -> str:
    with pytest.raises(kind) as caught:
        use(path)
    assert type(caught.value) is kind
    return str(caught.value)


def test_what_git_lfs_left_in_the_place_of_data_is_no_data(tmp_path):
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 16\n"
    path = write(tmp_path, entry(length=16), pointer.encode())
    assert told(path) == (
        f"{tmp_path / 'w.bin'} is a pointer of Git LFS; expected the file itself, which git lfs pull fetches"
    )


# ---- what is followed -----------------------------------------------------------------------------------------


def test_data_is_found_at_its_offset_in_a_folder_beneath(tmp_path):
    (tmp_path / "data").mkdir()
    path = write(tmp_path, entry("data/w.bin", offset=3, length=16), b"xxx" + W.tobytes() + b"yy", "data/w.bin")
    assert run(path) == [9, 8, 7, 6]


def test_offset_length_and_checksum_may_be_left_out_and_a_checksum_is_verified(tmp_path):
    assert run(write(tmp_path, entry())) == [9, 8, 7, 6]
    good = hashlib.sha1(W.tobytes()).hexdigest()
    assert run(write(tmp_path, entry(checksum=good.upper()))) == [9, 8, 7, 6]
    path = write(tmp_path, entry(checksum="0" * 40))
    assert told(path) == (
        f"{PLACE.format(path)} states the SHA-1 {'0' * 40} of 'w.bin'; the file has {good}: it is not the file that "
        "the model was saved with"
    )


def test_a_symbolic_link_that_stays_beneath_the_folder_is_followed(tmp_path):
    path = write(tmp_path, entry("link.bin"))
    (tmp_path / "link.bin").symlink_to("w.bin")
    assert run(path) == [9, 8, 7, 6]


def test_a_model_reached_through_a_link_has_its_data_beside_the_link(tmp_path):
    (tmp_path / "real").mkdir()
    write(tmp_path / "real", entry())
    (tmp_path / "alias").symlink_to("real")
    assert run(str(tmp_path / "alias" / "m.onnx")) == [9, 8, 7, 6]


def test_data_in_bodies_and_attributes_is_followed_too(tmp_path):
    text = """<ir_version: 10, opset_import: ["" : 14]> g (float[4] a, bool p) => (float[4] c) {
      c = If (p) <then_branch = t () => (float[4] y) { k = Constant <value = float[4] {0,0,0,0}> () y = Sub(a, k) },
                  else_branch = e () => (float[4] n) { n = Sub(a, w) }> }"""
    proto = onnx.parser.parse_model(text.replace("(a, w)", "(a, a)"))
    then, other = (attribute.g for attribute in proto.graph.node[0].attribute)
    then.node[0].attribute[0].t.CopyFrom(entry())
    other.node[0].input[1] = "w"
    other.initializer.append(entry(offset=16))
    (tmp_path / "w.bin").write_bytes(W.tobytes() + (2 * W).tobytes())
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    model = read(tmp_path / "m.onnx")
    for p, want in ((True, [9, 8, 7, 6]), (False, [8, 6, 4, 2])):
        assert model.run({"a": np.float32([10] * 4), "p": np.array(p)})["c"].tolist() == want
    assert len(model.proto.graph.node[0].attribute[0].g.node[0].attribute[0].t.external_data) == 1


def test_a_packed_type_is_unpacked(tmp_path):
    text = (
        '<ir_version: 10, opset_import: ["" : 21]> g (float[3] a) => (float[3] c) { c = Sub(a, a) d = Cast <to=1> (w) }'
    )
    proto = onnx.parser.parse_model(text.replace("Cast <to=1> (w)", "Cast <to=1> (a)"))
    proto.graph.node[1].input[0] = "w"
    tensor = entry(length=2)
    tensor.data_type, tensor.dims[0] = TensorProto.INT4, 3
    proto.graph.initializer.append(tensor)
    (tmp_path / "w.bin").write_bytes(b"\x21\x0f")
    model = read(proto, base_dir=tmp_path)
    assert model.array(proto.graph.initializer[0]).astype(int).tolist() == [1, 2, -1]


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8])
@pytest.mark.parametrize("word", ["FLOAT6E2M3", "FLOAT6E3M2"])
def test_four_floats_of_6_bits_share_three_bytes(tmp_path, word, count):
    """In raw data and in a file; in int32_data each one has an entry, of 6 bits."""
    if word not in dict(TensorProto.DataType.items()):
        pytest.skip(f"onnx {onnx.__version__} has no {word}")
    number = TensorProto.DataType.Value(word)
    array = np.arange(1, count + 1).astype(onnx.helper.tensor_dtype_to_np_dtype(number))
    raw = onnx.numpy_helper.from_array(array, "w")
    assert len(raw.raw_data) == -(-6 * count // 8)
    typed = TensorProto(name="w", data_type=number, dims=[count], int32_data=array.view(np.uint8))
    outside = entry(length=len(raw.raw_data))
    outside.data_type, outside.dims[0] = number, count
    (tmp_path / "w.bin").write_bytes(raw.raw_data)
    for tensor in (raw, typed, outside):
        model = read(proto_with(tensor), base_dir=tmp_path)
        assert model.array(model.proto.graph.initializer[0]).astype(float).tolist() == array.astype(float).tolist()
    typed.int32_data[0] = 64
    with pytest.raises(
        FileFormatError, match=rf"has 64 at int32_data\[0\]; expected 0 to 63 \({word}, as a bit pattern\)"
    ):
        read(proto_with(typed))
    raw.raw_data += b"\0"
    with pytest.raises(FileFormatError, match=f"bytes of raw_data; expected {-(-6 * count // 8)} "):
        read(proto_with(raw))


def proto_with(tensor):
    text = '<ir_version: 14, opset_import: ["" : 28]> g (float[1] a) => (float[1] c) { c = Abs(a) }'
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.append(tensor)
    return proto


# ---- what is not ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        ("", "it names no file"),
        ("./.", "it names no file"),
        ("/etc/passwd", "it is absolute"),
        ("\\\\host\\share", "it is absolute"),
        ("C:\\w.bin", "it is absolute"),
        ("../w.bin", "it leads upwards"),
        ("a/../../w.bin", "it leads upwards"),
        ("a\\..\\w.bin", "it leads upwards"),
        ("w\0.bin", "it names no file"),
    ],
)
def test_a_location_is_relative_and_leads_nowhere_else(tmp_path, location, rule):
    path = write(tmp_path, entry(location))
    assert told(path, use=read) == (
        f"{PLACE.format(path)} has its data at {location!r}: {rule}; expected a path relative to the model's folder, "
        "beneath it"
    )


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"offset": "-1"}, "has the offset '-1' of its external data; expected a number of bytes"),
        ({"offset": "1e3"}, "has the offset '1e3' of its external data; expected a number of bytes"),
        ({"offset": "9" * 5000}, f"has the offset '{'9' * 60}…' of its external data; expected a number of bytes"),
        ({"length": "12"}, "has external data of 12 bytes in 'w.bin'; expected 16 (FLOAT of dims (4,))"),
        ({"length": "20"}, "has external data of 20 bytes in 'w.bin'; expected 16 (FLOAT of dims (4,))"),
        ({"checksum": "abc"}, "has the checksum 'abc'; expected the 40 hex digits of a SHA-1"),
    ],
)
def test_offset_length_and_checksum_are_what_they_must_be(tmp_path, stated, message):
    path = write(tmp_path, entry(**stated))
    assert told(path, use=read) == f"{PLACE.format(path)} {message}"


def test_a_reference_is_whole_and_says_everything_once(tmp_path):
    tensor = entry()
    tensor.external_data.add(key="location", value="x.bin")
    path = write(tmp_path, tensor)
    at = PLACE.format(path)
    assert told(path, use=read) == f"{at} states the key 'location' of its external data twice; state it once"
    tensor = entry()
    del tensor.external_data[:]
    path = write(tmp_path, tensor)
    assert told(path, use=read) == f"{at} has external data without a location; expected a path beneath the model"
    tensor = entry()
    tensor.raw_data = W.tobytes()
    path = write(tmp_path, tensor)
    assert told(path, use=read) == f"{at} has external data and raw_data; expected one of them"
    tensor = entry()
    tensor.data_type = TensorProto.STRING
    path = write(tmp_path, tensor)
    assert told(path, use=read) == f"{at} has external data for STRING; expected string_data"
    tensor = entry()
    tensor.dims[:] = [1 << 40, 1 << 40]
    path = write(tmp_path, tensor)
    assert told(path, use=read) == f"{at} has the dims (1099511627776, 1099511627776), whose product overflows 64 bits"


def test_a_file_that_is_too_short_or_missing_is_told(tmp_path):
    path = write(tmp_path, entry(offset=4))
    at = PLACE.format(path)
    assert told(path) == f"{at} has its data at bytes 4 to 20 of 'w.bin'; the file has 16"
    path = write(tmp_path, entry(offset=10**18))
    assert told(path) == f"{at} has its data at bytes {10**18} to {10**18 + 16} of 'w.bin'; the file has 16"
    (tmp_path / "w.bin").unlink()
    assert told(path, FileNotFoundError) == (
        f"{at} has its data in 'w.bin', and there is no file {tmp_path}/w.bin; put it beside the model"
    )
    path = write(tmp_path, entry("w" * 300), None)
    assert "put it beside the model" in told(path, FileNotFoundError)


def test_links_that_lead_out_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "w.bin").write_bytes(W.tobytes())
    inside = tmp_path / "inside"
    inside.mkdir()
    path = write(inside, entry(), None)
    (inside / "w.bin").symlink_to(outside / "w.bin")
    message = (
        f"{PLACE.format(path)} has its data at {{!r}}: a symbolic link leads to {outside}/w.bin, out of the model's "
        f"folder {inside}; copy the file beside the model"
    )
    assert told(path) == message.format("w.bin")
    path = write(inside, entry("d/w.bin"), None)
    (inside / "d").symlink_to(outside)
    assert told(path) == message.format("d/w.bin")
    (inside / "w.bin").unlink()
    os.link(outside / "w.bin", inside / "w.bin")
    path = write(inside, entry(), None)
    assert told(path) == (
        f"{PLACE.format(path)} has its data at 'w.bin', which has 2 hard links and may be a file from elsewhere; "
        "copy it"
    )


def test_only_a_regular_file_is_opened(tmp_path):
    path = write(tmp_path, entry(), None)
    os.mkfifo(tmp_path / "w.bin")
    assert told(path) == f"{PLACE.format(path)} has its data at 'w.bin', which is no regular file"
    (tmp_path / "d").mkdir()
    path = write(tmp_path, entry("d"), None)
    assert told(path) == f"{PLACE.format(path)} has its data at 'd', which is no regular file"


def test_a_model_without_a_folder_says_so(tmp_path):
    raw = Path(write(tmp_path, entry())).read_bytes()
    with pytest.raises(FileFormatError) as caught:
        read(raw).run({"a": W})
    assert str(caught.value) == (
        "the model's bytes: graph, initializer 'w' has its data in the file 'w.bin' and the model came without a "
        "folder; read it from its path, or give base_dir"
    )
    assert read(raw, base_dir=tmp_path).run({"a": W})["c"].tolist() == [0, 0, 0, 0]


def test_reading_looks_at_no_file_of_data(tmp_path):
    (node,) = read(write(tmp_path, entry(), None)).subtractions()
    assert str(node.b) == "float32 (4,)"


# ---- large ----------------------------------------------------------------------------------------------------


def test_of_three_gigabytes_only_what_is_used_is_read(tmp_path):
    path = write(tmp_path, entry("big.bin", offset=3 << 30, length=16), None)
    with open(tmp_path / "big.bin", "wb") as stream:
        stream.truncate(3 << 30)
        stream.seek(3 << 30)
        stream.write(W.tobytes())
    proto = ModelProto.FromString(Path(path).read_bytes())
    big = entry("big.bin", offset=0, length=3 << 30)
    big.name = "big"
    big.dims[:] = [3 << 28]
    proto.graph.initializer.append(big)
    proto.graph.node.add(op_type="Shape", input=["big"], output=["shape"])
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    forget_peak()
    before = peak()
    start = time.process_time()
    assert run(path) == [9, 8, 7, 6]
    assert time.process_time() - start < 5
    assert peak() - before < 200_000  # kB
    model = read(path)
    model.save(tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "m.onnx").read_bytes()


# ---- saving ---------------------------------------------------------------------------------------------------


def test_saved_into_another_folder_the_data_goes_along(tmp_path):
    (tmp_path / "data").mkdir()
    path = write(tmp_path, entry("data/w.bin"), name="data/w.bin")
    goal = tmp_path / "new"
    goal.mkdir()
    read(path).save(goal / "m.onnx")
    assert run(str(goal / "m.onnx")) == [9, 8, 7, 6]
    assert (goal / "data" / "w.bin").read_bytes() == W.tobytes()
    assert sorted(p.name for p in goal.rglob("*")) == ["data", "m.onnx", "w.bin"]
    read(path).save(goal / "m.onnx")  # the data that is there is the same


def test_another_model_s_data_is_not_overwritten(tmp_path):
    path = write(tmp_path, entry())
    goal = tmp_path / "new"
    goal.mkdir()
    (goal / "w.bin").write_bytes(b"precious")
    with pytest.raises(FileFormatError) as caught:
        read(path).save(goal / "m.onnx")
    assert str(caught.value) == (
        f"{goal}/m.onnx: the model's data goes to {goal}/w.bin, and that file is there and holds something else; "
        "save into another folder"
    )
    assert (goal / "w.bin").read_bytes() == b"precious"
    assert [p.name for p in goal.iterdir()] == ["w.bin"]


def test_nothing_is_written_where_data_is_bad(tmp_path):
    path = write(tmp_path, entry(checksum="0" * 40))
    goal = tmp_path / "new"
    goal.mkdir()
    with pytest.raises(FileFormatError):
        read(path).save(goal / "m.onnx")
    assert list(goal.iterdir()) == []


def test_a_model_too_large_for_one_message_is_split_on_saving(tmp_path, monkeypatch):
    monkeypatch.setattr("minuend.onnx.documents.saving._MOST_BYTES", 10_000)
    proto = onnx.parser.parse_model(TEXT.replace("(a, w)", "(a, a)"))
    big = np.arange(4000, dtype=np.float32)
    proto.graph.initializer.extend([onnx.numpy_helper.from_array(big, "big"), onnx.numpy_helper.from_array(W, "w")])
    proto.graph.node[0].input[1] = "w"
    before = proto.SerializeToString()
    goal = tmp_path / "m.onnx"
    read(proto).save(goal)
    assert proto.SerializeToString() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    model = read(goal)
    stored = {tensor.name: tensor for tensor in model.proto.graph.initializer}
    assert np.array_equal(model.array(stored["big"]), big)
    assert stored["w"].raw_data == W.tobytes()
    assert model.run({"a": np.float32([10] * 4)})["c"].tolist() == [9, 8, 7, 6]
    monkeypatch.setattr("minuend.onnx.documents.saving._MOST_BYTES", 10)
    with pytest.raises(FileFormatError) as caught:
        read(proto).save(tmp_path / "n.onnx")
    assert str(caught.value) == (
        f"{tmp_path}/n.onnx: the model is more than 10 bytes without its large initializers, and a protobuf message "
        "holds no more; move the data of its other tensors into external files"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    assert proto.SerializeToString() == before


def test_a_mapped_array_is_read_only(tmp_path):
    model = read(write(tmp_path, entry()))
    array = model.array(model.proto.graph.initializer[0])
    assert not array.flags.writeable
    assert isinstance(array.base, np.ndarray)
    assert isinstance(model, Model)
    with pytest.raises(MinuendError):
        model.array(entry(length=3))
