"""Resources of a DxDispatch model: every form of initial values, sizes and offsets, and files within one folder."""

import json
import os
import struct

import numpy as np
import pytest

from minuend.directml import Model
from minuend.directml.dxdispatch.resources import VALUE_TYPES
from minuend.errors import FileFormatError, Unsupported

CODES = {
    "FLOAT32": "f", "FLOAT16": "e", "FLOAT64": "d", "INT8": "b", "INT16": "h", "INT32": "i", "INT64": "q",
    "UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q",
}  # fmt: skip


def model_of(resource, folder=None, text=None):
    body = json.dumps(resource) if text is None else text
    return Model.read(f'{{"resources": {{"A": {body}}}, "dispatchables": {{}}, "commands": []}}', folder=folder)


def values(resource, folder=None, text=None):
    """The bytes of a resource's initial values."""
    found = model_of(resource, folder, text).resources["A"]
    array = found.values()
    assert array.ndim == 1
    assert array.nbytes == found.nbytes
    return array.tobytes()


def test_the_types_of_values_are_all_but_those_of_4_bits():
    assert {member.name for member in VALUE_TYPES} == set(CODES)


@pytest.mark.parametrize("prefix", ["", "DML_TENSOR_DATA_TYPE_"])
@pytest.mark.parametrize("name", sorted(CODES))
def test_a_list_of_numbers_holds_the_limits_of_its_type(name, prefix):
    if name.startswith("FLOAT"):
        numbers = [0.5, -2, "NaN", "INF", "-inf", -0.0]
        raw = [float(n) for n in numbers]
    else:
        bits = int(name.lstrip("UINT"))
        low = 0 if name.startswith("U") else -(2 ** (bits - 1))
        numbers = raw = [low, 0, low + 2**bits - 1]
    wanted = struct.pack(f"<{len(raw)}{CODES[name]}", *raw)
    assert values({"initialValuesDataType": prefix + name, "initialValues": numbers}) == wanted


def test_floats_are_read_as_doubles_and_rounded_once_more():
    text = '{"initialValuesDataType": "FLOAT32", "initialValues": '
    text += "[0.1, 1e-46, 16777217, 340282346638528859811704183484516925440]}"
    wanted = struct.pack("<4f", 0.1, 0.0, 16777216.0, 3.4028234663852886e38)
    assert values(None, text=text) == wanted


@pytest.mark.parametrize(("name", "value"), [("UINT8", 255), ("FLOAT16", 0.1), ("FLOAT32", "nan"), ("INT64", -(2**63))])
def test_one_value_is_repeated(name, value):
    wanted = struct.pack(f"<{CODES[name]}", float(value) if name.startswith("F") else value) * 5
    resource = {"initialValuesDataType": name, "initialValues": {"value": value, "valueCount": 5}}
    assert values(resource) == wanted


def test_a_sequence_of_integers_wraps_in_its_own_type():
    resource = {
        "initialValuesDataType": "UINT8",
        "initialValues": {"valueStart": 250, "valueDelta": 3, "valueCount": 4},
    }
    assert list(values(resource)) == [250, 253, 0, 3]
    resource["initialValuesDataType"] = "INT8"
    resource["initialValues"].update(valueStart=120)
    assert np.frombuffer(values(resource), np.int8).tolist() == [120, 123, 126, -127]


@pytest.mark.parametrize(("name", "delta"), [("FLOAT32", 0.1), ("FLOAT16", 0.1), ("FLOAT64", 0.1), ("FLOAT16", 9000)])
def test_a_sequence_of_floats_is_rounded_at_every_step(name, delta):
    code = f"<{CODES[name]}"

    def rounded(value):
        try:
            return struct.unpack(code, struct.pack(code, value))[0]
        except OverflowError:
            return float("inf")

    at, step, wanted = rounded(1.5), rounded(delta), []
    for _ in range(50):
        wanted.append(at)
        at = rounded(at + step)
    resource = {
        "initialValuesDataType": name,
        "initialValues": {"valueStart": 1.5, "valueDelta": delta, "valueCount": 50},
    }
    assert list(struct.unpack(f"<50{CODES[name]}", values(resource))) == wanted


def test_values_of_several_types_lie_one_after_the_other():
    entries = [
        {"type": "UINT32", "value": 42, "name": "answer"},
        {"type": "FLOAT32", "value": "-inf"},
        {"type": "INT8", "value": -1},
        {"type": "DML_TENSOR_DATA_TYPE_UINT64", "value": 2**64 - 1},
    ]
    wanted = struct.pack("<IfbQ", 42, float("-inf"), -1, 2**64 - 1)
    for stated in ({}, {"initialValuesDataType": "UNKNOWN"}):
        assert values({**stated, "initialValues": entries}) == wanted
        assert model_of({**stated, "initialValues": entries}).resources["A"].size == 20


def test_sizes_are_rounded_up_to_4_bytes_unless_they_are_stated():
    resource = {"initialValuesDataType": "UINT8", "initialValues": [1, 2, 3, 4, 5]}
    assert model_of(resource).resources["A"].size == 8
    assert model_of({**resource, "sizeInBytes": 5}).resources["A"].size == 5
    shifted = model_of({**resource, "sizeInBytes": 23, "initialValuesOffsetInBytes": 16}).resources["A"]
    assert (shifted.size, shifted.offset, shifted.count) == (23, 16, 5)


def test_a_deferred_resource_has_no_size_yet():
    found = model_of({"initialValues": "deferred"}).resources["A"]
    assert (found.form, found.element, found.size) == ("deferred", None, 0)


# ---- files ----------------------------------------------------------------------------------------------------


def from_file(name, folder, kind=None):
    stated = {} if kind is None else {"initialValuesDataType": kind}
    return values({**stated, "initialValues": {"sourcePath": name}}, folder)


def message(name, folder, kind=None, error=FileFormatError):
    with pytest.raises(error) as caught:
        from_file(name, folder, kind)
    text, _, place = str(caught.value).rpartition(", at ")
    assert place.startswith("resources.A.initialValues.sourcePath (line 1, column ")
    return text


def test_a_npy_gives_its_elements_in_row_major_order_and_its_type(tmp_path):
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "c.npy", array)
    np.save(tmp_path / "f.npy", np.asfortranarray(array))
    np.save(tmp_path / "b.NPY.npy", array.astype(">i2"))
    for name in ("in/c.npy", "in\\c.npy", "f.npy", "b.NPY.npy", "in/../f.npy"):
        assert from_file(name, tmp_path) == array.tobytes()
        assert from_file(name, tmp_path, "INT16") == array.tobytes()


def test_other_files_are_raw_bytes_of_the_stated_type(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(range(8)))
    assert from_file("a.bin", tmp_path, "UINT32") == bytes(range(8))
    assert message("a.bin", tmp_path) == "raw bytes need a type; state initialValuesDataType"
    (tmp_path / "b.bin").write_bytes(bytes(7))
    (tmp_path / "c.bin").write_bytes(b"")
    assert message("b.bin", tmp_path, "INT32") == (
        "the file has 7 bytes; expected a multiple of 4, the size of INT32, above 0"
    )
    assert (
        message("c.bin", tmp_path, "INT8")
        == "the file has 0 bytes; expected a multiple of 1, the size of INT8, above 0"
    )


def test_images_are_refused(tmp_path):
    for name in ("a.jpg", "b.PNG", "c.jpeg"):
        (tmp_path / name).write_bytes(b"x")
        wanted = "images are not read; give the pixels as .npy or as raw bytes"
        assert message(name, tmp_path, "FLOAT32", Unsupported) == wanted


def test_a_npy_of_another_type_or_without_elements_is_refused(tmp_path):
    path = os.path.realpath(tmp_path / "a.npy")
    np.save(path, np.zeros(2, np.int16))
    assert message("a.npy", tmp_path, "UINT16") == (
        f"{path} holds int16 and initialValuesDataType is UINT16; expected one type"
    )
    np.save(path, np.zeros(0, np.int16))
    assert message("a.npy", tmp_path) == f"{path} holds no elements; a resource holds at least one"
    np.save(path, np.array(["x"]))
    assert message("a.npy", tmp_path).startswith("element type 'str32' is not one that subtraction is defined for")
    with open(path, "wb") as stream:
        stream.write(b"\x93NUMPY\x01\x00")
    assert message("a.npy", tmp_path) == (
        f"{path} has a damaged .npy header; expected version 1.0 to 3.0 and a dict of descr, fortran_order and shape"
    )


def test_nothing_outside_the_folder_is_read(tmp_path):
    inner, outside = tmp_path / "model", tmp_path / "secret.bin"
    inner.mkdir()
    (tmp_path / "model2").mkdir()
    outside.write_bytes(bytes(4))
    (tmp_path / "model2" / "s.bin").write_bytes(bytes(4))
    (inner / "link.bin").symlink_to(outside)
    (inner / "out").symlink_to(tmp_path)
    for name in ("../secret.bin", str(outside), "link.bin", "out/secret.bin", "../model2/s.bin", "", ".", "a\0b"):
        assert message(name, inner, "INT32") == (
            f"{name!r} leads out of the model's folder; files are read from within it alone"
        )


def test_only_plain_files_are_read(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        assert message(name, tmp_path, "INT32") == f"{os.path.realpath(tmp_path / name)} is no plain file"


def test_a_link_within_the_folder_is_followed(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"abcd")
    (tmp_path / "b.bin").symlink_to(tmp_path / "a.bin")
    assert from_file("b.bin", tmp_path, "UINT8") == b"abcd"


def test_a_missing_file_is_a_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        from_file("none.npy", tmp_path)
    assert str(caught.value) == (
        f"there is no file {os.path.realpath(tmp_path / 'none.npy')}, "
        "at resources.A.initialValues.sourcePath (line 1, column 54)"
    )
