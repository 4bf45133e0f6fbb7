"""Across modules: every file that a model names is an input, and no verb's output ever replaces an input."""

from __future__ import annotations

import importlib
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import minuend as mn
from minuend import cli
from minuend.errors import MinuendError
from minuend.models.opening import open_model
from minuend.openvino.ir.builder import Builder

W = np.float32([1, 2, 3, 4])


def onnx_model(location: str = "c.npy", name: str = "m6.onnx", *, opset: int = 14) -> None:
    """A model c = a - w whose weights lie in a file of any name."""
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value=location)
    sides = [helper.make_tensor_value_info(side, TensorProto.FLOAT, [4]) for side in "ac"]
    nodes = [helper.make_node("Sub", ["a", "w"], ["c"])]
    graph = helper.make_graph(nodes, "g", sides[:1], sides[1:], [weights])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])
    Path(name).write_bytes(model.SerializeToString())


def ir_model(name: str = "m.xml") -> None:
    builder = Builder("m")
    a = builder.parameter("a", "f32", (4,))
    builder.result(builder.subtract("c", a, builder.constant("w", W)))
    builder.model.save(name)


def directml_model(source: str, *targets: str, name: str = "m.json") -> None:
    desc = {"DataType": "FLOAT32", "Sizes": [4]}
    document: dict[str, Any] = {
        "resources": {
            "a": {"initialValuesDataType": "FLOAT32", "initialValues": [9, 8, 7, 6]},
            "w": {"initialValues": {"sourcePath": source}},
            "c": {"initialValuesDataType": "FLOAT32", "initialValues": {"value": 0, "valueCount": 4}},
        },
        "dispatchables": {
            "sub": {
                "type": "DML_OPERATOR_ELEMENT_WISE_SUBTRACT",
                "desc": {"ATensor": desc, "BTensor": desc, "OutputTensor": desc},
            }
        },
        "commands": [
            {
                "type": "dispatch",
                "dispatchable": "sub",
                "bindings": {"ATensor": "a", "BTensor": "w", "OutputTensor": "c"},
            },
            *({"type": "writeFile", "resource": "c", "targetPath": target} for target in targets),
        ],
    }
    Path(name).write_text(json.dumps(document))


def contents() -> dict[str, bytes]:
    return {path.as_posix(): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.float32([9, 8, 7, 6]))


def refusal(capfd: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run a command that is refused: status 2, and everything stays as it was."""
    before = contents()
    status = cli.main(argv)
    out, err = capfd.readouterr()
    assert (status, out) == (2, "")
    assert contents() == before
    return err.removeprefix("error: ").removesuffix("\n")


def also(output: str, source: str) -> str:
    twin = "" if output == source else f" (the same file as {source})"
    return f"the output {output} is also an input{twin}; nothing is overwritten, name another output"


# ---- what a model names ---------------------------------------------------------------------------------------


def test_an_onnx_model_names_its_data_wherever_its_tensors_are() -> None:
    def tensor(location: str) -> TensorProto:
        made = TensorProto(name=location, data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
        made.external_data.add(key="location", value=location)
        return made

    def constant(location: str) -> onnx.NodeProto:
        return helper.make_node("Constant", [], [location], value=tensor(location))

    def sparse(prefix: str) -> onnx.SparseTensorProto:
        return onnx.SparseTensorProto(values=tensor(f"{prefix}v"), indices=tensor(f"{prefix}i"), dims=[1])

    bodies = [helper.make_graph([constant(name)], name, [], []) for name in ("then", "else")]
    many = helper.make_node("Many", [], ["many"], domain="my")
    many.attribute.add(name="t", type=onnx.AttributeProto.TENSORS).tensors.append(tensor("tensors"))
    many.attribute.add(name="s", type=onnx.AttributeProto.SPARSE_TENSORS).sparse_tensors.append(sparse("s"))
    graph = helper.make_graph(
        [
            constant("attribute"),
            many,
            helper.make_node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1]),
        ],
        "g",
        [],
        [],
        [tensor("sub/initializer"), tensor("/absolute"), tensor("../up"), tensor("no\0file")],
    )
    graph.sparse_initializer.append(sparse("g"))
    function = helper.make_function("my", "F", [], ["f"], [constant("function")], [helper.make_opsetid("", 14)])
    proto = helper.make_model(graph, functions=[function])
    training = proto.training_info.add()
    training.initialization.initializer.append(tensor("training"))
    training.algorithm.node.append(constant("algorithm"))
    from minuend.onnx.model import Model

    model = Model(proto, folder="/home", path="/home/m.onnx")
    named = "sub/initializer /absolute ../up gv gi attribute tensors sv si else then function training algorithm"
    first, *others = model.sources()
    assert first == "/home/m.onnx"
    assert sorted(others) == sorted(os.path.join("/home", name) for name in named.split())
    assert Model(proto).sources() == ()


def test_an_ir_names_its_bin_and_a_directml_model_its_resources_files(tmp_path: Path) -> None:
    Path("x.xml").write_text("<net name='m' version='11'><layers/><edges/></net>")
    assert open_model("x.xml").sources() == ("x.xml", "x.bin")
    assert mn.openvino.read(Path("x.xml").read_bytes()).sources() == ()
    np.save("w.npy", W)
    directml_model("w.npy")
    assert open_model("m.json").sources() == ("m.json", str(tmp_path.resolve() / "w.npy"))


# ---- every verb -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [True, False])
def test_convert_replaces_no_weights_of_the_model(capfd: pytest.CaptureFixture[str], there: bool) -> None:
    onnx_model("m6.bin")
    if there:
        Path("m6.bin").write_bytes(W.tobytes())
    home = os.path.abspath("m6.bin")
    assert refusal(capfd, "convert", "m6.onnx", "--to", "openvino", "-o", "m6.xml") == also("m6.bin", home)
    assert refusal(capfd, "convert", "m6.onnx", "--to", "onnx:13", "-o", "m6.onnx") == also("m6.onnx", "m6.onnx")


@pytest.mark.parametrize("goal", ["weights.onnx", "./weights.onnx", "link.onnx", "hard.onnx", "folder/weights.onnx"])
@pytest.mark.parametrize("verb", [["convert", "--to", "onnx:13"], ["fix", "--target", "onnx:13"]])
def test_convert_and_fix_write_over_no_external_data(
    capfd: pytest.CaptureFixture[str], goal: str, verb: list[str]
) -> None:
    onnx_model("weights.onnx")
    Path("weights.onnx").write_bytes(W.tobytes())
    Path("link.onnx").symlink_to("weights.onnx")
    Path("folder").symlink_to(".")
    os.link("weights.onnx", "hard.onnx")
    assert refusal(capfd, *verb, "m6.onnx", "-o", goal) == also(goal, os.path.abspath("weights.onnx"))


def test_fix_writes_over_no_bin(capfd: pytest.CaptureFixture[str]) -> None:
    ir_model("m.xml")
    os.link("m.bin", "n.bin")
    said = refusal(capfd, "fix", "m.xml", "--target", "openvino-cpu", "-o", "n.xml")
    assert said == also("n.bin", "m.bin")


@pytest.mark.parametrize("goal", ["w.bin", "m6.onnx"])
def test_a_report_replaces_no_data(capfd: pytest.CaptureFixture[str], goal: str) -> None:
    onnx_model("w.bin")
    Path("w.bin").write_bytes(W.tobytes())
    said = refusal(capfd, "check", "m6.onnx", "--target", "openvino-cpu", "--sarif", goal)
    assert said == also(goal, "m6.onnx" if goal == "m6.onnx" else os.path.abspath("w.bin"))


def test_a_report_replaces_no_bin_and_no_source(capfd: pytest.CaptureFixture[str]) -> None:
    ir_model()
    assert refusal(capfd, "check", "m.xml", "--target", "openvino-cpu", "--sarif", "m.bin") == also("m.bin", "m.bin")
    np.save("w.npy", W)
    directml_model("w.npy")
    said = refusal(capfd, "check", "m.json", "--target", "directml", "--sarif", "w.npy")
    assert said == also("w.npy", os.path.abspath("w.npy"))


def test_run_replaces_no_weights_called_like_an_output(capfd: pytest.CaptureFixture[str]) -> None:
    onnx_model("c.npy")
    Path("c.npy").write_bytes(W.tobytes())
    said = refusal(capfd, "run", "m6.onnx", "--input", "a=a.npy", "-o", ".")
    assert said == also("./c.npy", os.path.abspath("c.npy"))


def test_run_replaces_no_input_of_a_selected_tensor(capfd: pytest.CaptureFixture[str]) -> None:
    onnx_model("w.bin")
    Path("w.bin").write_bytes(W.tobytes())
    np.savez("c.npz", a=np.load("a.npy"))
    os.link("c.npz", "c.npy")
    said = refusal(capfd, "run", "m6.onnx", "--input", "a=c.npz::a", "-o", ".")
    assert said == also("./c.npy", "c.npz")
    os.unlink("c.npy")
    np.save("x::c.npy", np.load("a.npy"))
    os.symlink("x::c.npy", "c.npy")
    said = refusal(capfd, "run", "m6.onnx", "--input", "a=x::c.npy", "-o", ".")
    assert said == also("./c.npy", "x::c.npy")


def test_a_directml_model_gives_one_answer_however_often_it_runs(capfd: pytest.CaptureFixture[str]) -> None:
    np.save("c.npy", W)
    directml_model("c.npy")
    for _ in range(2):
        said = refusal(capfd, "run", "m.json", "-o", ".")
        assert said == also("./c.npy", os.path.abspath("c.npy"))


def test_a_write_file_and_an_output_are_no_one_file(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save("w.npy", W)
    directml_model("w.npy", "c.npy")
    assert refusal(capfd, "run", "m.json", "-o", "out") == (
        f"the outputs out/c.npy and {tmp_path.resolve()}/out/c.npy are one file; nothing is written, "
        "name outputs that differ"
    )
    directml_model("w.npy", "c.npy/deep.npy")
    assert refusal(capfd, "run", "m.json", "-o", "out") == (
        f"the output out/c.npy would have to be a folder for the output {tmp_path.resolve()}/out/c.npy/deep.npy; "
        "nothing is written, name another output"
    )
    assert not Path("out").exists()


def test_write_files_replace_no_input_of_the_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    np.save("w.npy", W)
    directml_model("w.npy", "a.npy")
    said = refusal(capfd, "run", "m.json", "--input", "a=a.npy", "-o", ".")
    assert said == also(os.path.realpath("a.npy"), "a.npy")


def test_write_files_that_collide_leave_nothing(tmp_path: Path) -> None:
    np.save("w.npy", W)
    directml_model("w.npy", "q", "q/r")
    before = contents()
    with pytest.raises(MinuendError) as caught:
        mn.directml.Model.read("m.json").run(output_dir=".")
    home = tmp_path.resolve()
    assert str(caught.value) == (
        f"the output {home}/q would have to be a folder for the output {home}/q/r; nothing is written, name another "
        "output"
    )
    assert contents() == before


def test_what_is_converted_and_fixed_in_python_remembers_its_source() -> None:
    onnx_model("m.bin", opset=18)
    Path("m.bin").write_bytes(W.tobytes())
    saved: list[Callable[[str], None]] = [mn.convert("m6.onnx", "openvino").save, mn.convert("m6.onnx", "onnx:13").save]
    saved += [mn.fix("m6.onnx", "onnx:13").save]
    Path("link.onnx").symlink_to("m.bin")
    before = contents()
    for save, goal in zip(saved, ("m.xml", "link.onnx", "link.onnx"), strict=True):
        with pytest.raises(MinuendError) as caught:
            save(goal)
        output = "m.bin" if goal == "m.xml" else goal
        assert str(caught.value) == also(output, os.path.abspath("m.bin"))
    assert contents() == before
    ir_model("ir.xml")
    Path("n.json").symlink_to("ir.bin")
    with pytest.raises(MinuendError) as caught:
        mn.convert("ir.xml", "directml").save("n.json")
    assert str(caught.value) == also("n.json", "ir.bin")
    fixed = mn.fix("ir.xml", "openvino-cpu")
    for goal in ("ir.xml",):
        with pytest.raises(MinuendError) as caught:
            fixed.save(goal)
        assert str(caught.value) == also(goal, goal)


def test_data_that_is_copied_along_replaces_no_input() -> None:
    onnx_model("w.bin")
    Path("w.bin").write_bytes(W.tobytes())
    Path("new").mkdir()
    with pytest.raises(MinuendError) as caught:
        open_model("m6.onnx").save("new/m.onnx", inputs=["new/w.bin"])
    assert str(caught.value) == also(os.path.abspath("new/w.bin"), "new/w.bin")
    assert os.listdir("new") == []


def test_a_model_called_like_its_data_is_refused() -> None:
    onnx_model("m.onnx", "sub.onnx")
    Path("m.onnx").write_bytes(W.tobytes())
    Path("new").mkdir()
    with pytest.raises(MinuendError) as caught:
        open_model("sub.onnx").save("new/m.onnx")
    home = os.path.abspath("new/m.onnx")
    assert str(caught.value) == (
        f"the outputs {home} and new/m.onnx are one file; nothing is written, name outputs that differ"
    )
    assert os.listdir("new") == []


# ---- other names of inputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("around", ["simplecache", "filecache", "blockcache", "cached", "asyncwrapper", "dir"])
def test_an_address_in_another_one_is_no_output(capfd: pytest.CaptureFixture[str], around: str, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    goal = f"{around}::file://{tmp_path}/a.npy"
    assert refusal(capfd, "sub", "a.npy", "a.npy", "-o", goal) == (
        f"{goal} is an address in another one, and what it leads to is not known; name the file itself"
    )


def test_an_address_that_leads_to_a_file_of_this_machine_is_no_output(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.local import LocalFileSystem

    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda path, **_: (LocalFileSystem(), path.partition("://")[2]))
    goal = f"detour://{tmp_path}/a.npy"
    assert refusal(capfd, "sub", "a.npy", "a.npy", "-o", goal) == (
        f"{goal} leads to a file of this machine by a detour; name its path"
    )


@pytest.mark.parametrize(
    "goal", ["file://{}/a.npy", "FILE://{}/a.npy", "local://{}/x/../a.npy", "{}/./a.npy", "hard.npy", "link/a.npy"]
)
def test_a_file_is_an_input_by_any_of_its_names(capfd: pytest.CaptureFixture[str], goal: str, tmp_path: Path) -> None:
    os.link("a.npy", "hard.npy")
    Path("link").symlink_to(".")
    Path("x").mkdir()
    goal = goal.format(tmp_path)
    shown = goal.partition("://")[2] or goal
    assert refusal(capfd, "sub", "a.npy", "a.npy", "-o", goal) == also(shown, "a.npy")


@pytest.mark.parametrize("goal", ["memory:///d/a.npy", "memory://d/a.npy", "memory://d/x/../a.npy"])
def test_an_object_is_an_input_by_any_of_its_names(capfd: pytest.CaptureFixture[str], goal: str) -> None:
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.pipe("/d/a.npy", Path("a.npy").read_bytes())
    try:
        source = "memory://d/a.npy"
        assert refusal(capfd, "sub", source, "a.npy", "-o", goal) == also(goal, source)
        assert system.cat("/d/a.npy") == Path("a.npy").read_bytes()
    finally:
        system.store.clear()


@pytest.mark.parametrize("goal", ["a.zarr/c/o.zarr", "a.zarr/o.npy", "link.zarr/c/o.h5", "a.zarr/o.tif"])
def test_nothing_is_written_into_an_array_s_folder(capfd: pytest.CaptureFixture[str], goal: str) -> None:
    zarr = pytest.importorskip("zarr")
    for package in ("h5py", "tifffile"):
        pytest.importorskip(package)
    zarr.create_array("a.zarr", shape=(4, 4), chunks=(2, 2), dtype="int32")[:] = 1
    Path("link.zarr").symlink_to("a.zarr")
    assert refusal(capfd, "sub", "a.zarr", "a.zarr", "-o", goal) == (
        f"the output {goal} lies in the input a.zarr; nothing in it is overwritten or added, name another output"
    )


def test_nothing_is_written_into_an_array_s_folder_in_a_store(capfd: pytest.CaptureFixture[str]) -> None:
    zarr = pytest.importorskip("zarr")
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.store.clear()
    zarr.create_array("memory://d/a.zarr", shape=(4, 4), chunks=(2, 2), dtype="int32")[:] = 1
    before = dict(system.store)
    try:
        for goal in ("memory://d/a.zarr/o.npy", "memory:///d/a.zarr/c/o.zarr"):
            assert refusal(capfd, "sub", "memory://d/a.zarr", "memory://d/a.zarr", "-o", goal) == (
                f"the output {goal} lies in the input memory://d/a.zarr; nothing in it is overwritten or added, name "
                "another output"
            )
        assert dict(system.store) == before
    finally:
        system.store.clear()


def test_a_file_beside_shards_is_written(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("safetensors")
    from safetensors.numpy import save_file

    Path("m").mkdir()
    save_file({"w": W}, "m/model-00001-of-00001.safetensors")
    index = {"metadata": {}, "weight_map": {"w": "model-00001-of-00001.safetensors"}}
    Path("m/model.safetensors.index.json").write_text(json.dumps(index))
    assert refusal(capfd, "sub", "m", "m", "-o", "m/model-00001-of-00001.safetensors") == also(
        "m/model-00001-of-00001.safetensors", "m/model-00001-of-00001.safetensors"
    )
    assert cli.main(["sub", "m", "m", "-o", "m/difference.safetensors"]) == 0


def test_a_picture_replaces_nothing_that_is_read(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    onnx_model("w.png")
    Path("w.png").write_bytes(W.tobytes())
    said = refusal(capfd, "sub", "m6.onnx::w", "a.npy", "-o", "c.npy", "--plot", "w.png")
    assert said == also("w.png", os.path.abspath("w.png"))


def test_an_address_is_no_folder_of_this_machine(capfd: pytest.CaptureFixture[str]) -> None:
    onnx_model("w.bin")
    Path("w.bin").write_bytes(W.tobytes())
    for argv, named in (
        (["run", "m6.onnx", "--input", "a=a.npy", "-o", "memory://x"], "memory://x/c.npy"),
        (["vectors", "--opset", "6", "-o", "memory://x"], "memory://x"),
        (["convert", "m6.onnx", "--to", "onnx:13", "-o", "memory://m.onnx"], "memory://m.onnx"),
        (["check", "m6.onnx", "--target", "openvino-cpu", "--sarif", "memory://m.sarif"], "memory://m.sarif"),
    ):
        said = refusal(capfd, *argv)
        assert said == f"{named} is an address, and this goes to a file of this machine alone; name a path"


def test_a_target_s_file_is_an_input(capfd: pytest.CaptureFixture[str]) -> None:
    Path("t.json").write_text("{}")
    onnx_model("w.bin")
    Path("w.bin").write_bytes(W.tobytes())
    Path("t.onnx").write_text("{}")
    for argv, file in (
        (["prove", "onnx-reference", "--target", "t.json", "--junit", "t.json"], "t.json"),
        (["measure", "onnx-reference", "--python", "t.json", "-o", "t.json"], "t.json"),
        (["fix", "m6.onnx", "--target", "t.onnx", "-o", "t.onnx"], "t.onnx"),
        (["convert", "m6.onnx", "--to", "onnx:13", "--target", "t.onnx", "-o", "t.onnx"], "t.onnx"),
    ):
        assert refusal(capfd, *argv) == also(file, file)


def test_an_output_that_is_replaced_is_said_to_be(capfd: pytest.CaptureFixture[str]) -> None:
    onnx_model("w.bin")
    Path("w.bin").write_bytes(W.tobytes())
    for argv, told in (
        (["sub", "a.npy", "a.npy", "-o", "c.npy"], "c.npy existed and was replaced"),
        (["convert", "m6.onnx", "--to", "onnx:13", "-o", "n.onnx"], "n.onnx existed and was replaced"),
        (["run", "m6.onnx", "--input", "a=a.npy", "-o", "o"], "o/c.npy existed and was replaced"),
    ):
        assert cli.main(argv) == 0
        assert "replaced" not in capfd.readouterr().out
        assert cli.main(argv) == 0
        assert capfd.readouterr().out.splitlines()[-1] == told
        assert cli.main([*argv, "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["replaced"] == [told.partition(" ")[0]]


# ---- pipes and devices ----------------------------------------------------------------------------------------


def test_a_report_goes_through_a_pipe_and_into_the_null_device(capfd: pytest.CaptureFixture[str]) -> None:
    onnx_model("w.bin")
    Path("w.bin").write_bytes(W.tobytes())
    os.mkfifo("sarif")
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append(Path("sarif").read_bytes()))
    reader.start()
    assert cli.main(["check", "m6.onnx", "--target", "onnxruntime-cpu", "--sarif", "sarif"]) == 0
    reader.join(30)
    assert json.loads(came[0])["version"] == "2.1.0"
    assert stat.S_ISFIFO(os.stat("sarif").st_mode)
    os.symlink(os.devnull, "null")
    for goal in (os.devnull, "null"):
        assert cli.main(["check", "m6.onnx", "--target", "onnxruntime-cpu", "--sarif", goal]) == 0
    assert os.readlink("null") == os.devnull
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    capfd.readouterr()


def test_a_report_s_goal_is_checked_before_a_runtime_is_asked(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        importlib.import_module("minuend.runtimes.proving"), "prove", lambda *_, **__: pytest.fail("it was asked")
    )
    assert refusal(capfd, "prove", "onnx-reference", "--quick", "--junit", "none/x.xml") == (
        "there is no folder none to write x.xml to"
    )
    assert refusal(capfd, "prove", "onnx-reference", "--quick", "--junit", ".") == (
        ". is a folder; expected a file name to write to"
    )


def test_an_ir_does_not_go_into_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    onnx_model("w.bin")
    Path("w.bin").write_bytes(W.tobytes())
    os.mkfifo("p.bin")
    status = cli.main(["convert", "m6.onnx", "--to", "openvino", "-o", "p.xml"])
    assert (status, capfd.readouterr().err) == (
        2,
        "error: the output p.bin is a pipe, and 2 files are written together; name a regular file\n",
    )


# ---- what is read ---------------------------------------------------------------------------------------------

KINDS = {"pipe": "a pipe", "zero": "a character device"}


def odd(path: str, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    else:
        os.symlink("/dev/zero", path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors", ".pb"])
def test_a_tensor_file_that_never_ends_is_refused(capfd: pytest.CaptureFixture[str], suffix: str, kind: str) -> None:
    path = f"x{suffix}"
    odd(path, kind)
    for argv in (["sub", path, "a.npy"], ["sub", "a.npy", path, "-o", "o.npy"]):
        assert cli.main(argv) == 2
        assert capfd.readouterr().err == (
            f"error: {path} is {KINDS[kind]}; expected a regular file, copy its content to one\n"
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("path", "target", "message"),
    [
        ("m.onnx", "openvino-cpu", "m.onnx is no regular file"),
        ("m.onnxtxt", "openvino-cpu", "m.onnxtxt is no regular file"),
        ("m.xml", "openvino-cpu", "m.xml is no plain file; expected an OpenVINO IR of two plain files"),
        ("m.json", "directml", "m.json is {}; expected a regular file, copy its content to one"),
    ],
)
def test_a_model_that_never_ends_is_refused(
    capfd: pytest.CaptureFixture[str], path: str, target: str, message: str, kind: str
) -> None:
    odd(path, kind)
    assert cli.main(["check", path, "--target", target]) == 2
    assert capfd.readouterr().err == f"error: {message.format(KINDS[kind])}\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_s_data_that_never_ends_is_refused(capfd: pytest.CaptureFixture[str], kind: str) -> None:
    ir_model("m.xml")
    os.unlink("m.bin")
    odd("m.bin", kind)
    assert cli.main(["run", "m.xml", "--input", "a=a.npy", "-o", "out"]) == 2
    assert capfd.readouterr().err.startswith("error: m.bin is no plain file;")
    for suffix in (".npy", ".dat"):
        odd(f"w{suffix}", kind)
        directml_model(f"w{suffix}")
        assert cli.main(["run", "m.json", "-o", "out"]) == 2
        assert "plain file" in (err := capfd.readouterr().err) or "leads out" in err
    onnx_model("w.dat")
    assert cli.main(["run", "m6.onnx", "--input", "a=a.npy", "-o", "out"]) == 2
    assert "no regular file" in (err := capfd.readouterr().err) or "out of the model's folder" in err
    assert not Path("out").exists()
