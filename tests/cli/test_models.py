"""``minuend run`` and ``minuend convert`` as a person calls them."""

import json
import os
import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from minuend.cli.about import tool
from minuend.cli.program import main

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save_model(path, *, opset=14, dtype=TensorProto.UINT8, op="Sub", names=("a", "b", "c")):
    a, b, c = names
    graph = helper.make_graph(
        [helper.make_node(op, [a, b], [c], "s")],
        "g",
        [helper.make_tensor_value_info(n, dtype, [2]) for n in (a, b)],
        [helper.make_tensor_value_info(c, dtype, [2])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)


def call(capsys, *argv):
    status = main(argv)
    out, err = capsys.readouterr()
    return status, out, err


def test_run_writes_each_output_to_the_folder(here, capsys):
    save_model("m.onnx")
    np.save("a.npy", np.uint8([5, 200]))
    np.savez("both.npz", x=np.uint8([10, 100]), y=np.uint8([0, 0]))
    status, out, err = call(capsys, "run", "m.onnx", "--input", "a=a.npy", "--input", "b=both.npz::x", "-o", "out")
    assert (status, out, err) == (0, "c: uint8 (2,) → out/c.npy\n", "")
    assert np.load("out/c.npy").tolist() == [251, 100]


def test_run_reports_in_json(here, capsys):
    save_model("m.onnx")
    np.save("a.npy", np.uint8([5, 200]))
    status, out, _ = call(capsys, "run", "m.onnx", "--input", "a=a.npy", "--input", "b=a.npy", "-o", "out", "--json")
    assert status == 0
    assert json.loads(out) == {
        "version": 1,
        "tool": tool(),
        "model": "m.onnx",
        "outputs": [{"name": "c", "dtype": "uint8", "shape": [2], "path": "out/c.npy"}],
        "printed": [],
    }


def test_run_takes_an_evaluator_by_name(here, capsys):
    save_model("m.onnx")
    np.save("a.npy", np.uint8([5, 200]))
    arguments = ("run", "m.onnx", "--input", "a=a.npy", "--input", "b=a.npy", "-o", "out", "--evaluator")
    for name, told in (("reference", ""), ("onnxruntime", "out/c.npy existed and was replaced\n")):
        assert call(capsys, *arguments, name)[:2] == (0, f"c: uint8 (2,) → out/c.npy\n{told}")
    assert call(capsys, *arguments, "torch") == (
        2,
        "",
        "error: no evaluator 'torch'; expected 'onnxruntime' or 'reference'\n",
    )
    example = str(EXAMPLES / "directml" / "row_means.json")
    assert call(capsys, "run", example, "-o", "out", "--evaluator", "reference") == (
        2,
        "",
        "error: --evaluator chooses what computes ONNX's other operators; DxDispatch models have none\n",
    )


def test_what_npy_cannot_hold_is_written_as_a_tensorproto(here, capsys):
    save_model("m.onnx", dtype=TensorProto.BFLOAT16)
    tensor = onnx.numpy_helper.from_array(np.array([1, 3], ml_dtypes.bfloat16))
    (here / "a.pb").write_bytes(tensor.SerializeToString())
    status, out, _ = call(capsys, "run", "m.onnx", "--input", "a=a.pb", "--input", "b=a.pb", "-o", "out")
    assert (status, out) == (0, "c: bfloat16 (2,) → out/c.pb\n")


def test_an_outputs_name_may_be_longer_than_a_files(here, capsys):
    save_model("m.onnx", names=("a", "b", "c" * 300))
    np.save("a.npy", np.uint8([5, 200]))
    status, out, _ = call(capsys, "run", "m.onnx", "--input", "a=a.npy", "--input", "b=a.npy", "-o", "out")
    assert (status, out) == (0, f"{'c' * 300}: uint8 (2,) → out/{'c' * 200}.npy\n")


def test_an_outputs_name_never_leads_out_of_the_folder(here, capsys):
    save_model("m.onnx", names=("a", "b", "../../c"))
    np.save("a.npy", np.uint8([5, 200]))
    status, out, _ = call(capsys, "run", "m.onnx", "--input", "a=a.npy", "--input", "b=a.npy", "-o", "out")
    assert (status, out) == (0, "../../c: uint8 (2,) → out/_.._c.npy\n")
    assert sorted(p.name for p in here.rglob("*")) == ["_.._c.npy", "a.npy", "m.onnx", "out"]


def test_run_prints_what_a_directml_model_prints(here, capsys):
    status, out, _ = call(capsys, "run", str(EXAMPLES / "directml" / "row_means.json"), "-o", "out")
    assert status == 0
    assert out.splitlines()[0].startswith("Resource 'centred': -3, -1, 4")
    assert np.load("out/centred.npy").shape == (2, 3)


def test_run_reads_the_openvino_examples(here, capsys):
    for name in ("spectrum", "thermometers"):
        status, _, err = call(capsys, "run", str(EXAMPLES / "openvino" / f"{name}.xml"), "-o", "out")
        assert status == 2
        assert "input" in err


def test_run_refuses_an_output_that_is_an_input(here, capsys):
    save_model("m.onnx")
    np.save("c.npy", np.uint8([5, 200]))
    before = Path("c.npy").read_bytes()
    status, _, err = call(capsys, "run", "m.onnx", "--input", "a=c.npy", "--input", "b=c.npy", "-o", ".")
    assert status == 2
    assert err == (
        "error: the output ./c.npy is also an input (the same file as c.npy); nothing is overwritten, "
        "name another output\n"
    )
    assert Path("c.npy").read_bytes() == before


def test_an_input_whose_file_scales_it_is_refused(here, capsys):
    """The model got what is stored, whatever that means."""
    h5py = pytest.importorskip("h5py")
    save_model("m.onnx")
    for name, scale in (("plain.h5", 1.0), ("scaled.h5", 0.5)):
        with h5py.File(name, "w") as file:
            file["v"] = np.uint8([5, 200])
            file["v"].attrs.update(scale_factor=scale, add_offset=0.0)
    given = {name: ["run", "m.onnx", "--input", f"a={name}", "--input", "b=plain.h5"] for name in os.listdir()}
    assert call(capsys, *given["plain.h5"], "-o", "o")[0] == 0
    status, out, err = call(capsys, *given["scaled.h5"], "-o", "p")
    assert (status, out) == (2, "")
    assert err == (
        "error: input 'a': scaled.h5 means 0.5 × what is stored, and a model would get what is stored; unpack it "
        "first, or save what is stored as .npy\n"
    )


@pytest.mark.parametrize("verb", ["run", "check"])
def test_elements_without_data_that_a_model_gets_are_said(here, capsys, verb):
    """A model takes -9999 for a number, and nothing said so."""
    pytest.importorskip("onnxruntime")
    h5py = pytest.importorskip("h5py")
    save_model("m.onnx")
    with h5py.File("a.h5", "w") as file:
        file["v"] = np.uint8([5, 200])
        file["v"].attrs["_FillValue"] = np.uint8(200)
        file["w"] = np.uint8([5, 199])
        file["w"].attrs["_FillValue"] = np.uint8(200)
    words = (
        ["run", "m.onnx", "-o", "o"] if verb == "run" else ["check", "m.onnx", "--run", "--target", "onnxruntime-cpu"]
    )
    _, out, err = call(capsys, *words, "--input", "a=a.h5::v", "--input", "b=a.h5::w")
    assert out
    assert err == (
        "note: input 'a': 1 of 2 elements of a.h5::v are the nodata value 200; to the model they are numbers like "
        "others\n"
    )


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["a.npy"], "error: --input 'a.npy' names no input; expected NAME=FILE\n"),
        (["a=a.npy", "a=a.npy"], "error: --input gives 'a' twice; give it once\n"),
        (["a=no.npy"], "error: there is no file no.npy\n"),
        (
            ["a=both.npz"],
            "error: input 'a': both.npz holds 2 tensors ('x', 'y'); select one by file::name\n",
        ),
    ],
)
def test_bad_inputs_are_named(here, capsys, inputs, message):
    save_model("m.onnx")
    np.save("a.npy", np.uint8([5, 200]))
    np.savez("both.npz", x=np.uint8([10, 100]), y=np.uint8([0, 0]))
    options = [part for text in inputs for part in ("--input", text)]
    assert call(capsys, "run", "m.onnx", *options, "-o", "out") == (2, "", message)
    assert not Path("out").exists()


def test_run_asks_before_it_makes_a_giant_result(here, capsys):
    graph = helper.make_graph(
        [helper.make_node("Sub", ["a", "b"], ["c"], "s")],
        "g",
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, [1_000_000, 1]),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, [1, 1_000_000]),
        ],
        [helper.make_tensor_value_info("c", TensorProto.FLOAT, [1_000_000, 1_000_000])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), "bomb.onnx")
    np.save("a.npy", np.zeros((1_000_000, 1), np.float32))
    np.save("b.npy", np.zeros((1, 1_000_000), np.float32))
    status, out, err = call(capsys, "run", "bomb.onnx", "--input", "a=a.npy", "--input", "b=b.npy", "-o", "out")
    assert (status, out) == (2, "")
    assert "takes 4000000000000 bytes, more than the limit of 4294967296" in err
    assert not Path("out").exists()


def test_convert_writes_the_model_and_lists_what_it_did(here, capsys):
    save_model("m.onnx", opset=6, dtype=TensorProto.FLOAT)
    status, out, err = call(capsys, "convert", "m.onnx", "--to", "onnx:13", "-o", "new.onnx")
    size = Path("new.onnx").stat().st_size
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == f"m.onnx → new.onnx (onnx:13, {size:,} bytes)"
    assert out.splitlines()[1] == "~ changed: opset 6 became 13"
    assert onnx.load("new.onnx").opset_import[0].version == 13


def test_convert_reports_in_json(here, capsys):
    save_model("m.onnx", opset=13, dtype=TensorProto.FLOAT)
    status, out, _ = call(capsys, "convert", "m.onnx", "--to", "onnx:14", "-o", "new.onnx", "--json")
    assert status == 0
    report = json.loads(out)
    assert report["model"] == "m.onnx"
    assert report["path"] == "new.onnx"
    assert report["changes"] == ["opset 13 became 14"]
    assert report["losses"] == []


def test_a_refused_conversion_names_each_node_ends_with_1_and_writes_nothing(here, capsys):
    save_model("m.onnx")
    status, out, err = call(capsys, "convert", "m.onnx", "--to", "onnx:13", "-o", "new.onnx")
    assert (status, out) == (1, "")
    assert err.startswith("error: cannot convert to onnx:13: 1 node in the way\n  graph.node[0] 's': ")
    assert not Path("new.onnx").exists()
    status, out, err = call(capsys, "convert", "m.onnx", "--to", "onnx:13", "-o", "new.onnx", "--json")
    assert status == 1
    assert list(json.loads(out)["refused"]) == ["graph.node[0] 's'"]


@pytest.mark.parametrize(
    ("goal", "out", "message"),
    [
        ("onnx:13", "new.xml", "error: new.xml is no name for a model of ONNX; expected .onnx or .onnxtxt\n"),
        ("openvino", "new.onnx", "error: new.onnx is no name for a model of OpenVINO; expected .xml\n"),
        (
            "onnx:13",
            "m.onnx",
            "error: the output m.onnx is also an input; nothing is overwritten, name another output\n",
        ),
    ],
)
def test_an_output_of_the_wrong_kind_is_refused(here, capsys, goal, out, message):
    save_model("m.onnx", opset=12, dtype=TensorProto.FLOAT)
    before = Path("m.onnx").read_bytes()
    assert call(capsys, "convert", "m.onnx", "--to", goal, "-o", out) == (2, "", message)
    assert Path("m.onnx").read_bytes() == before
    assert sorted(p.name for p in here.iterdir()) == ["m.onnx"]


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        ("directml/row_means.json", "onnx:13", "fix rewrites ONNX models and OpenVINO IR; convert the model first: "),
        ("openvino/spectrum.xml", "onnx:13", "onnx:13 is an opset, and the model is OpenVINO IR; convert it instead"),
        ("openvino/spectrum.xml", "onnxruntime-cpu", "onnxruntime-cpu does not read OpenVINO models; "),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_be_fixed_is_said_before_what_is_wrong_with_its_output(capsys, model, target, message):
    status, out, err = call(capsys, "fix", str(EXAMPLES / model), "--target", target, "-o", "out.onnx")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {message}")


@pytest.mark.parametrize("data", [b"", b"\x00\x01garbage", b"<net", b"{", b"<ir_version: 10"], ids=repr)
@pytest.mark.parametrize("name", ["m.onnx", "m.xml", "m.json", "m.onnxtxt"])
def test_broken_files_are_bad_input(here, capsys, name, data):
    Path(name).write_bytes(data)
    for argv in (("run", name, "-o", "out"), ("convert", name, "--to", "onnx:13", "-o", "new.onnx")):
        status, out, err = call(capsys, *argv)
        assert (status, out) == (2, "")
        assert err.startswith("error: ")
        assert err.count("\n") <= 2
    assert sorted(p.name for p in here.iterdir()) == [name]


def test_a_model_goes_round_all_formats_on_the_command_line(here, capsys):
    save_model("m.onnx", dtype=TensorProto.FLOAT)
    for source, goal, out in (
        ("m.onnx", "openvino", "m.xml"),
        ("m.xml", "directml:5.1", "m.json"),
        ("m.json", "onnx:14", "back.onnx"),
    ):
        status, _, err = call(capsys, "convert", source, "--to", goal, "-o", out)
        assert (status, err) == (0, "")
    np.save("a.npy", np.float32([5, 200]))
    np.save("b.npy", np.float32([10, 100]))
    status, _, err = call(capsys, "run", "back.onnx", "--input", "a=a.npy", "--input", "b=b.npy", "-o", "out")
    assert (status, err) == (0, "")
    assert np.load("out/c.npy").tolist() == [-5, 100]
    shutil.rmtree("out")
