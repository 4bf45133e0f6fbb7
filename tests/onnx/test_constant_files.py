"""Initializers and Constant nodes of ONNX models as files of tensors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from minuend.errors import DTypeError, FileFormatError, MinuendError, Unsupported  # noqa: E402
from minuend.files import open_tensors  # noqa: E402
from minuend.files.difference import subtract_files  # noqa: E402
from minuend.files.stored_elements import Contiguous  # noqa: E402

W = np.arange(6, dtype=np.float32).reshape(2, 3)
B16 = np.arange(3).astype(ml_dtypes.bfloat16)


def model(path: Path, tensors: list[Any], nodes: list[Any] = ()) -> str:
    graph = helper.make_graph(list(nodes), "g", [], [], initializer=tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    path.write_bytes(proto.SerializeToString())
    return str(path)


def external(folder: Path, name: str, array: np.ndarray, location: str = "weights.bin", offset: int = 0) -> Any:
    """An initializer whose elements are in a file, which gets them."""
    proto = numpy_helper.from_array(array, name)
    (folder / "weights.bin").write_bytes(bytes(offset) + array.tobytes())
    proto.ClearField("raw_data")
    proto.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(array.nbytes))):
        entry = proto.external_data.add()
        entry.key, entry.value = key, value
    return proto


def constant(name: str, **stated: Any) -> Any:
    return helper.make_node("Constant", [], [name], **stated)


def test_a_constant_without_an_output_is_no_tensor(tmp_path: Path) -> None:
    nameless = constant("c", value_float=2.5)
    del nameless.output[:]
    assert [*open_tensors(model(tmp_path / "m.onnx", [numpy_helper.from_array(W, "W")], [nameless]))] == ["W"]


def test_initializers_and_constants_are_tensors_by_name(tmp_path: Path) -> None:
    nodes = [
        constant("c", value=numpy_helper.from_array(W, "inner")),
        constant("float", value_float=2.5),
        constant("ints", value_ints=[3, 4]),
    ]
    initializers = [numpy_helper.from_array(W, "W"), numpy_helper.from_array(B16, "B")]
    initializers.append(helper.make_tensor("four", TensorProto.INT4, [3], [1, -2, 3]))
    found = open_tensors(model(tmp_path / "m.onnx", initializers, nodes))
    assert {name: (str(t.element), t.shape, t.read().tolist()) for name, t in found.items()} == {
        "W": ("float32", (2, 3), W.tolist()),
        "B": ("bfloat16", (3,), B16.tolist()),
        "four": ("int4", (3,), [1, -2, 3]),
        "c": ("float32", (2, 3), W.tolist()),
        "float": ("float32", (), 2.5),
        "ints": ("int64", (2,), [3, 4]),
    }


def test_sparse_constants_are_tensors_with_their_zeros(tmp_path: Path) -> None:
    """The initializer was no tensor of the file, so that a difference of two models was without it."""
    path = model(tmp_path / "m.onnx", [], [constant("c", sparse_value=sparse(""))])
    proto = onnx.load(path)
    proto.graph.sparse_initializer.append(sparse("w"))
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    found = open_tensors(path)
    for name in ("w", "c"):
        assert (str(found[name].element), found[name].read().tolist()) == ("float32", [[0, 1.5, 0], [0, 0, -2]])
    subtract_files(path, path, str(tmp_path / "d.npz"))
    assert {*np.load(tmp_path / "d.npz")} == {"w", "c"}


def sparse(name: str) -> Any:
    values = numpy_helper.from_array(np.float32([1.5, -2]), name)
    return helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([[0, 1], [1, 2]])), [2, 3])


def test_external_data_is_read_where_it_lies(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", [external(tmp_path, "W", W, offset=64)])
    found = open_tensors(path)
    elements = found["W"].elements()
    assert isinstance(elements, Contiguous)
    assert elements.part((slice(1, 2), slice(1, 3))).tolist() == [[4, 5]]
    np.save(tmp_path / "b.npy", np.ones(3, np.float32))
    subtract_files(f"{path}::W", str(tmp_path / "b.npy"), str(tmp_path / "o.npy"))
    assert np.load(tmp_path / "o.npy").tolist() == (W - 1).tolist()
    with pytest.raises(MinuendError) as caught:
        subtract_files(path, path, str(tmp_path / "weights.bin"))
    assert "names no format" in str(caught.value)
    os.link(tmp_path / "weights.bin", tmp_path / "weights.npy")
    with pytest.raises(FileFormatError, match="has 2 hard links"):
        subtract_files(path, path, str(tmp_path / "o.npy"))


def test_no_output_replaces_the_data_of_a_model(tmp_path: Path) -> None:
    proto = external(tmp_path, "W", W, location="weights.npy")
    os.rename(tmp_path / "weights.bin", tmp_path / "weights.npy")
    path = model(tmp_path / "m.onnx", [proto])
    out = str(tmp_path / "weights.npy")
    with pytest.raises(MinuendError) as caught:
        subtract_files(f"{path}::W", f"{path}::W", out)
    assert str(caught.value) == f"the output {out} is also an input; nothing is overwritten, name another output"


@pytest.mark.parametrize(
    ("location", "rule"),
    [("../x.bin", "it leads upwards"), ("/etc/x.bin", "it is absolute")],
)
def test_data_out_of_the_folder_is_refused(tmp_path: Path, location: str, rule: str) -> None:
    path = model(tmp_path / "m.onnx", [external(tmp_path, "W", W, location)])
    with pytest.raises(FileFormatError) as caught:
        open_tensors(path)
    assert str(caught.value) == (
        f"{path}: graph, initializer 'W' has its data at {location!r}: {rule}; "
        "expected a path relative to the model's folder, beneath it"
    )


def test_what_is_no_dense_tensor_of_numbers_is_told(tmp_path: Path) -> None:
    text = helper.make_tensor("s", TensorProto.STRING, [1], [b"x"])
    flags = numpy_helper.from_array(np.array([True]), "flags")
    found = open_tensors(model(tmp_path / "m.onnx", [text, flags], [constant("word", value_string="x")]))
    with pytest.raises(Unsupported) as unsupported:
        found["word"]
    assert str(unsupported.value) == "the Constant 'word' has value_string; expected a dense tensor of numbers"
    for name, word in (("s", "STRING"), ("flags", "BOOL")):
        with pytest.raises(DTypeError, match=f"element type '{word}'; expected ") as caught:
            found[name]
        assert f"m.onnx tensor '{name}'" in str(caught.value)
    every = open_tensors(str(tmp_path / "m.onnx"), every_type=True)
    assert every["flags"].read().tolist() == [True]


def test_no_model_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"")
    with pytest.raises(FileFormatError) as caught:
        open_tensors(str(path))
    assert str(caught.value) == f"{path}: it is empty; expected an ONNX model"
