"""DxDispatch models run: what comes out, is printed and written, what is checked before, and how they are saved."""

import contextlib
import copy
import json
import os
import pathlib
import tracemalloc

import numpy as np
import pytest

from minuend.directml import Model
from minuend.errors import DTypeError, FileFormatError, MinuendError, ResultTooLarge, ShapeError, SpecError, Unsupported

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "directml"
NAMES = ("ATensor", "BTensor", "OutputTensor")


def build(resources, tensors, *, bindings=("A", "B", "Out"), commands=(), init=None):
    """A model of one dispatch; tensors are (sizes, strides) of A, B and the output, and a data type."""
    kind, *layouts = tensors
    desc = {
        name: {"DataType": kind, "Sizes": list(sizes), **({} if strides is None else {"Strides": list(strides)})}
        for name, (sizes, strides) in zip(NAMES, layouts, strict=True)
    }
    first = {"type": "dispatch", "dispatchable": "sub", "bindings": dict(zip(NAMES, bindings, strict=True))}
    return {
        "resources": {
            name: value if isinstance(value, dict) else {"initialValuesDataType": kind, "initialValues": value}
            for name, value in resources.items()
        },
        "dispatchables": {
            "sub": {"type": "ELEMENT_WISE_SUBTRACT", "desc": desc, **({"bindings": init} if init else {})}
        },
        "commands": [first, *commands],
    }


def zeros(kind, count):
    return {"initialValuesDataType": kind, "initialValues": {"value": 0, "valueCount": count}}


PLAIN = [((3,), None)] * 3
SMALL = build({"A": [1, 2, 3], "B": [4, 4, 4], "Out": [0, 0, 0]}, ["INT32", *PLAIN])


def failure(work, kind=MinuendError):
    with pytest.raises(kind) as caught:
        work()
    assert type(caught.value) is kind
    return str(caught.value)


# ---- examples -------------------------------------------------------------------------------------------------


def test_the_example_of_repeated_means_runs():
    model = Model.read(EXAMPLES / "row_means.json")
    out = model.run()
    assert list(out) == ["centred"]
    assert out["centred"].dtype == np.float32
    assert out["centred"].tolist() == [[-3, -1, 4], [-1.25, 0.25, 1]]
    assert model.printed == ["Resource 'centred': -3, -1, 4, -1.25, 0.25, 1"]
    assert model.lowest_level() == "3.0"


def test_the_example_of_padded_and_transposed_images_runs(tmp_path):
    model = Model.read(str(EXAMPLES / "padded_image.json"))
    out = model.run(output_dir=tmp_path)["difference"]
    wanted = [[1, 1, 1, 1, 1], [252, 0, 255, 1, 255], [5, 8, 4, 2, 1]]
    assert out.tolist() == wanted
    assert np.load(tmp_path / "difference.npy").tolist() == wanted
    assert model.printed == ["Resource 'difference': 1, 1, 1, 1, 1, 252, 0, 255, 1, 255, 5, 8, 4, 2, 1"]
    assert model.lowest_level() == "5.1"


def test_the_example_in_place_runs_twice_with_the_same_result():
    model = Model.read((EXAMPLES / "countdown.json").read_bytes())
    for _ in range(2):
        assert model.run()["counters"].tolist() == [2147483634, 2147483639, 2147483644, -2147483647]
        assert model.printed == [
            (
                "Resource 'counters':\n[0] 2147483634 (0x7FFFFFF2)\n[1] 2147483639 (0x7FFFFFF7)\n"
                "[2] 2147483644 (0x7FFFFFFC)\n[3] -2147483647 (0x80000001)\n"
            )
        ]


def test_every_example_is_read_and_saved_and_runs_the_same(tmp_path):
    paths = sorted(EXAMPLES.glob("*.json"))
    assert paths
    for path in paths:
        model = Model.read(path)
        model.save(tmp_path / path.name)
        again = Model.read(tmp_path / path.name)
        assert again.document == model.document
        assert again.document == json.loads((tmp_path / path.name).read_text())
        for name, array in model.run(output_dir=tmp_path).items():
            assert again.run(output_dir=tmp_path)[name].tobytes() == array.tobytes()


# ---- results --------------------------------------------------------------------------------------------------


def test_a_strided_output_comes_back_in_its_sizes():
    tensors = ["INT16", ((2, 3), None), ((2, 3), (0, 0)), ((2, 3), (1, 4))]
    document = build({"A": [1, 2, 3, 4, 5, 6], "B": [1], "Out": zeros("INT16", 12)}, tensors)
    out = Model(document).run()["Out"]
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert out.flags.c_contiguous
    assert out.flags.writeable


def test_a_result_has_the_type_of_its_resource_where_widths_agree():
    document = build(
        {"A": zeros("FLOAT32", 2), "B": zeros("UINT32", 2), "Out": zeros("FLOAT32", 2)}, ["UINT32"] + [((2,), None)] * 3
    )
    payload = np.array([0x7F812345, 0x80000000], np.uint32).view(np.float32)
    out = Model(document).run({"A": payload})["Out"]
    assert out.dtype == np.float32
    assert out.view(np.uint32).tolist() == [0x7F812345, 0x80000000]
    document["resources"]["Out"] = zeros("UINT8", 8)
    assert Model(document).run({"A": payload})["Out"].dtype == np.uint32


def test_offsets_are_in_elements_of_the_stated_or_the_resources_size():
    document = build({"A": list(range(12)), "B": list(range(12)), "Out": zeros("INT32", 8)}, ["INT32", *PLAIN])
    document["commands"][0]["bindings"] = {
        "ATensor": [{"name": "A", "elementOffset": 8, "elementCount": 3, "shape": [3]}],
        "BTensor": {"name": "B", "elementOffset": 2, "elementSizeInBytes": 16},
        "OutputTensor": {"name": "Out", "elementOffset": 4},
    }
    assert Model(document).run()["Out"].tolist() == [0, 0, 0]
    document["commands"][0]["bindings"]["BTensor"]["elementOffset"] = 1
    assert Model(document).run()["Out"].tolist() == [4, 4, 4]


def test_inputs_replace_initial_values_and_keep_their_offset():
    document = copy.deepcopy(SMALL)
    document["resources"]["A"].update(sizeInBytes=32, initialValuesOffsetInBytes=16)
    document["commands"][0]["bindings"]["ATensor"] = {"name": "A", "elementOffset": 4}
    model = Model(document)
    assert model.run()["Out"].tolist() == [-3, -2, -1]
    assert model.run({"A": np.array([[9], [8], [7]], np.int32)})["Out"].tolist() == [5, 4, 3]
    assert model.run({"A": np.array([9, 8, 7], ">i4")})["Out"].tolist() == [5, 4, 3]
    assert model.run({"A": np.arange(6, dtype=np.int32)[::-2]})["Out"].tolist() == [1, -1, -3]
    assert model.run()["Out"].tolist() == [-3, -2, -1]


def test_what_is_owned_is_taken_before_the_first_command():
    document = build(
        {"A": [10, 10, 10], "B": [1, 2, 3]},
        ["INT32", *PLAIN],
        bindings=("A", "B", "B"),
        commands=[{"type": "dispatch", "dispatchable": "sub", "bindings": {"ATensor": "A", "OutputTensor": "B"}}],
        init={"BTensor": "B"},
    )
    document["dispatchables"]["sub"]["desc"]["BTensor"]["Flags"] = ["DML_TENSOR_FLAG_OWNED_BY_DML"]
    del document["commands"][0]["bindings"]["BTensor"]
    assert Model(document).run()["B"].tolist() == [9, 8, 7]


def test_a_deferred_resource_is_an_input_or_made_by_a_dispatch():
    document = build(
        {"A": {"initialValues": "deferred"}, "B": [1, 2, 3], "Out": {"initialValues": "deferred"}},
        ["INT16", *PLAIN],
        commands=[{"type": "PRINT", "resource": "Out"}],
    )
    model = Model(document)
    assert model.run({"A": np.array([5, 5, 5], np.int16)})["Out"].tolist() == [4, 3, 2]
    assert model.printed == ["Resource 'Out': 4, 3, 2, 0"]
    assert failure(lambda: model.run({"A": np.array([5], np.int16)}), SpecError) == (
        "'A' has 4 bytes for ATensor from byte 0 on; expected at least 8, its TotalTensorSizeInBytes, "
        "at commands[0].bindings.ATensor"
    )


def test_floats_are_printed_with_6_digits():
    document = build(
        {"A": [1 / 3, 1e10, "nan", "inf", -0.0], "B": [0] * 5, "Out": [0] * 5}, ["FLOAT32"] + [((5,), None)] * 3
    )
    document["commands"] = [{"type": "print", "resource": "A"}, {"type": "print", "resource": "A", "verbose": True}]
    model = Model(document)
    assert model.run() == {}
    assert model.printed == [
        "Resource 'A': 0.333333, 1e+10, nan, inf, -0",
        (
            "Resource 'A':\n[0] 0.333333 (0x3EAAAAAB)\n[1] 1e+10 (0x501502F9)\n[2] nan (0x7FC00000)\n"
            "[3] inf (0x7F800000)\n[4] -0 (0x80000000)\n"
        ),
    ]


# ---- levels and nodes -----------------------------------------------------------------------------------------


def test_subtractions_are_nodes_under_the_lowest_level_that_will_do():
    rows = [("FLOAT32", (1, 1, 2, 3), "1.0"), ("INT32", (1, 1, 2, 3), "2.1"), ("UINT32", (2, 3), "3.0")]
    rows += [("INT64", (2, 3), "4.1"), ("INT8", (1, 1, 2, 3), "5.1"), ("FLOAT64", (2, 3), "5.1")]
    for kind, sizes, level in rows:
        model = Model(build({"A": [0] * 6, "B": [0] * 6, "Out": [0] * 6}, [kind] + [(sizes, None)] * 3))
        (node,) = model.subtractions()
        assert (node.op.version, node.name, node.where) == (level, "sub", "dispatchables.sub")
        assert (node.a.dtype, node.b.shape) == (kind.lower(), sizes)
        if kind != "FLOAT64":
            assert model.lowest_level() == level


def test_a_type_that_no_level_subtracts_has_no_lowest_level():
    model = Model(build({"A": [0] * 3, "B": [0] * 3, "Out": [0] * 3}, ["FLOAT64", *PLAIN]))
    wanted = (
        "ELEMENT_WISE_SUBTRACT-5.1 takes no element type FLOAT64; expected FLOAT16, FLOAT32, INT8, INT16, INT32, "
        "INT64, UINT8, UINT16, UINT32 or UINT64, at ATensor.DataType of dispatchables.sub"
    )
    assert failure(model.lowest_level, DTypeError) == wanted
    assert failure(model.run, DTypeError) == wanted


def test_a_model_runs_at_the_feature_level_that_is_asked_for():
    model = Model(SMALL)
    assert model.run(feature_level="3.0")["Out"].tolist() == [-3, -2, -1]
    assert failure(lambda: model.run(feature_level="2.1"), ShapeError) == (
        "DimensionCount is 1; ELEMENT_WISE_SUBTRACT-2.1 takes 4, put 1s before the sizes, "
        "at ATensor.DimensionCount of dispatchables.sub"
    )


def test_other_operators_are_read_and_all_listed_when_it_runs():
    document = copy.deepcopy(SMALL)
    document["dispatchables"].update(add={"type": "ELEMENT_WISE_ADD"}, net={"type": "onnx", "sourcePath": "x.onnx"})
    model = Model(document)
    assert [node.name for node in model.subtractions()] == ["sub"]
    assert failure(model.run, Unsupported) == (
        "these dispatchables are no ELEMENT_WISE_SUBTRACT, the one operator that runs here:\n"
        "  'add': ELEMENT_WISE_ADD, at dispatchables.add\n  'net': onnx, at dispatchables.net"
    )
    document["dispatchables"].update({f"x{i}": {"type": "hlsl"} for i in range(30)})
    assert failure(Model(document).run, Unsupported).endswith("\n  and 12 more")


# ---- what run refuses -----------------------------------------------------------------------------------------


def test_inputs_that_do_not_fit_are_refused():
    model = Model(SMALL)
    assert failure(lambda: model.run({"X": np.zeros(3, np.int32)})) == (
        "there is no resource 'X' to pass a value for; the model has 'A', 'B' and 'Out'"
    )
    assert failure(lambda: model.run({"A": np.zeros(2, np.int32)})) == (
        "the input 'A' has 2 elements; expected 3, as many as its initial values"
    )
    assert (
        failure(lambda: model.run({"A": np.zeros(3, np.int64)}), DTypeError) == "the input 'A' is int64; expected INT32"
    )
    assert failure(lambda: model.run({"A": np.array(["x"] * 3)}), DTypeError) == "the input 'A' is <U1; expected INT32"
    mixed = copy.deepcopy(SMALL)
    mixed["resources"]["A"] = {"initialValues": [{"type": "INT32", "value": i} for i in (7, 8, 9)]}
    assert failure(lambda: Model(mixed).run({"A": np.zeros(3, np.int32)})) == (
        "resource 'A' holds values of several types; no array can replace them"
    )
    assert Model(mixed).run()["Out"].tolist() == [3, 4, 5]


def test_work_in_place_with_other_strides_is_refused_with_its_command():
    tensors = ["INT32", ((2, 2), None), ((2, 2), (0, 0)), ((2, 2), (1, 2))]
    document = build({"A": [1, 2, 3, 4], "B": [1]}, tensors, bindings=("A", "B", "A"))
    with pytest.raises(SpecError) as caught:
        Model(document).run()
    assert str(caught.value) == (
        "the buffer is ATensor's and the strides are (1, 2); expected ATensor's, (2, 1), for work in place, "
        "at OutputTensor.Strides of commands[0]"
    )


def test_a_type_is_needed_to_print_or_to_write_an_array(tmp_path):
    document = copy.deepcopy(SMALL)
    document["resources"]["A"] = {"initialValues": [{"type": "INT32", "value": i} for i in (7, 8, 9)]}
    document["commands"] = [{"type": "print", "resource": "A"}]
    assert failure(Model(document).run, FileFormatError) == (
        "'A' holds values of several types; there is no one type to print it in, at commands[0]"
    )
    document["commands"] = [{"type": "writeFile", "resource": "A", "targetPath": "a.npy"}]
    assert failure(lambda: Model(document).run(output_dir=tmp_path), FileFormatError) == (
        "'A' holds values of several types; there is no one type to write it in, at commands[0]"
    )
    document["commands"][0]["targetPath"] = "a.bin"
    Model(document).run(output_dir=tmp_path)
    assert np.fromfile(tmp_path / "a.bin", np.int32).tolist() == [7, 8, 9]


# ---- files ----------------------------------------------------------------------------------------------------


def writing(*targets, **fields):
    commands = [{"type": "writeFile", "resource": "Out", "targetPath": t, **fields} for t in targets]
    return {**copy.deepcopy(SMALL), "commands": [*SMALL["commands"], *commands]}


def test_buffers_are_written_whole_as_npy_or_raw(tmp_path):
    Model(writing("a.npy", "deep/er\\b.npy", "c.dat", "none")).run(output_dir=tmp_path / "new")
    for name in ("a.npy", "deep/er/b.npy"):
        assert np.load(tmp_path / "new" / name).tolist() == [-3, -2, -1]
    for name in ("c.dat", "none"):
        assert np.fromfile(tmp_path / "new" / name, np.int32).tolist() == [-3, -2, -1]
    Model(writing("d.npy", dimensions=[3, 1])).run(output_dir=tmp_path)
    assert np.load(tmp_path / "d.npy").shape == (3, 1)


def test_a_file_holds_the_buffer_as_it_was_at_the_command(tmp_path):
    document = writing("before.npy", "after.npy")
    first, write, again = document["commands"]
    document["commands"] = [write, first, again]
    Model(document).run(output_dir=tmp_path)
    assert np.load(tmp_path / "before.npy").tolist() == [0, 0, 0]
    assert np.load(tmp_path / "after.npy").tolist() == [-3, -2, -1]


def test_nothing_is_written_outside_the_output_folder(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    (folder / "taken").mkdir()
    for target in ("../a.npy", str(tmp_path / "a.npy"), "link/a.npy", "..\\a.npy", ""):
        assert failure(lambda t=target: Model(writing(t)).run(output_dir=folder), FileFormatError) == (
            f"{target!r} leads out of the output folder; files are written within it alone, at commands[1]"
        )
    assert failure(lambda: Model(writing("taken")).run(output_dir=folder), FileFormatError) == (
        f"{os.path.realpath(folder / 'taken')} is a folder; expected a file name, at commands[1]"
    )
    assert failure(lambda: Model(writing("a.png")).run(output_dir=folder), Unsupported) == (
        "images are not written; name a .npy, or another suffix for raw bytes, at commands[1]"
    )
    assert failure(lambda: Model(writing("a.npy", dimensions=[4])).run(output_dir=folder), FileFormatError) == (
        "dimensions (4,) are 4 elements; the resource holds 3, at commands[1]"
    )
    assert sorted(p.name for p in folder.iterdir()) == ["link", "taken"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]


def test_a_model_overwrites_neither_itself_nor_what_it_reads(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1, 2, 3], np.int32))
    for target in ("a.npy", "model.json"):
        document = writing("first.npy", target)
        document["resources"]["A"]["initialValues"] = {"sourcePath": "a.npy"}
        (tmp_path / "model.json").write_text(json.dumps(document))
        before = (tmp_path / target).read_bytes()
        text = failure(lambda: Model.read(tmp_path / "model.json").run(output_dir=tmp_path))
        assert text.startswith(f"the output {os.path.realpath(tmp_path / target)} is also an input")
        assert (tmp_path / target).read_bytes() == before
        assert not (tmp_path / "first.npy").exists()


# ---- hostile models -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [{"value": 1}, {"valueStart": 1, "valueDelta": 1}])
def test_more_memory_than_the_limit_is_refused_before_it_is_allocated(form):
    document = copy.deepcopy(SMALL)
    document["resources"]["A"]["initialValues"] = {**form, "valueCount": 2**32 - 1}
    tracemalloc.start()
    try:
        text = failure(Model(document).run, ResultTooLarge)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert text == (
        "running this takes 17179869216 bytes (buffers 17179869204, results 12, text 0, files 0), above the limit of "
        "4294967296; allow it with max_bytes=17179869216"
    )
    assert peak < 1_000_000


def test_the_limit_counts_text_files_and_sizes_and_can_be_moved(tmp_path):
    document = writing("a.npy")
    document["commands"].append({"type": "print", "resource": "Out"})
    model = Model(document)
    assert failure(lambda: model.run(output_dir=tmp_path, max_bytes=359), ResultTooLarge) == (
        "running this takes 360 bytes (buffers 36, results 12, text 300, files 12), above the limit of 359; "
        "allow it with max_bytes=360"
    )
    assert model.run(output_dir=tmp_path, max_bytes=360)
    assert model.run(output_dir=tmp_path, max_bytes=None)
    document["resources"]["A"]["sizeInBytes"] = 2**64 - 1
    assert "running this takes 18446744073709551963 bytes" in failure(
        lambda: Model(document).run(output_dir=tmp_path), ResultTooLarge
    )


def test_a_stride_of_0_over_2_32_elements_allocates_nothing_to_be_refused():
    sizes = [65535, 65537]
    document = build({"A": [1], "B": [1], "Out": [0]}, ["INT32", (sizes, (0, 0)), (sizes, (0, 0)), (sizes, None)])
    assert failure(Model(document).run, SpecError) == (
        "'Out' has 4 bytes for OutputTensor from byte 0 on; expected at least 17179869180, its "
        "TotalTensorSizeInBytes, at commands[0].bindings.OutputTensor"
    )


def test_truncated_and_damaged_models_are_errors_of_this_package_or_models():
    text = (EXAMPLES / "countdown.json").read_text()
    rng = np.random.default_rng(5)
    ends = text.rindex("}")
    for cut in range(0, ends, 3):
        with pytest.raises((MinuendError, FileNotFoundError)):
            Model.read(text[:cut].encode())
    raw = np.frombuffer(text.encode(), np.uint8)
    for _ in range(400):
        damaged = raw.copy()
        damaged[rng.integers(0, raw.size, 3)] = rng.integers(0, 256, 3)
        with contextlib.suppress(MinuendError):
            Model.read(damaged.tobytes()).run(max_bytes=1 << 20)


# ---- reading and saving ---------------------------------------------------------------------------------------


def test_a_model_is_read_from_a_path_bytes_or_text(tmp_path):
    text = "// c\n" + json.dumps(SMALL)
    (tmp_path / "m.json").write_bytes(b"\xef\xbb\xbf" + text.encode())
    for source in (text, text.encode(), tmp_path / "m.json", str(tmp_path / "m.json")):
        assert Model.read(source).run()["Out"].tolist() == [-3, -2, -1]


def test_what_is_no_file_of_json_is_told(tmp_path):
    assert failure(lambda: Model.read(tmp_path / "none.json"), FileNotFoundError) == (
        f"there is no file {tmp_path / 'none.json'}"
    )
    assert failure(lambda: Model.read(tmp_path), IsADirectoryError) == (
        f"{tmp_path} is a folder; expected a DxDispatch model in JSON"
    )
    assert failure(lambda: Model.read(b'{"a": "\xff"}'), FileFormatError) == "the model is no JSON: byte 7 is not UTF-8"
    assert failure(lambda: Model.read(b"[]"), FileFormatError) == (
        "a list came; expected a DxDispatch model: an object, at the top (line 1, column 1)"
    )


def test_saving_keeps_unknown_keys_and_replaces_whole_files(tmp_path):
    document = copy.deepcopy(SMALL)
    document["$schema"] = "./_schema.json"
    document["resources"]["A"]["comment"] = {"ünit": ["m", {"s": 1.5}]}
    document["dispatchables"]["sub"]["desc"]["ATensor"]["Note"] = None
    goal = tmp_path / "m.json"
    goal.write_text("old")
    Model(document).save(goal)
    assert json.loads(goal.read_text()) == document
    assert list(json.loads(goal.read_text())) == list(document)
    assert '"initialValues": [1, 2, 3]' in goal.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_a_model_with_files_is_saved_beside_them_only(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1, 2, 3], np.int32))
    document = copy.deepcopy(SMALL)
    document["resources"]["A"]["initialValues"] = {"sourcePath": "a.npy"}
    (tmp_path / "m.json").write_text(json.dumps(document))
    (tmp_path / "other").mkdir()
    model = Model.read(tmp_path / "m.json")
    real = os.path.realpath(tmp_path)
    assert failure(lambda: model.save(tmp_path / "other" / "m.json")) == (
        f"resource 'A' is read from {real}/a.npy, which a model in {real}/other would not find; "
        f"save the model to {real}"
    )
    model.save(tmp_path / "n.json")
    model.save(tmp_path / "m.json")
    assert Model.read(tmp_path / "n.json").run()["Out"].tolist() == [-3, -2, -1]
    assert "is also an input" in failure(lambda: model.save(tmp_path / "a.npy"))
