"""``convert --to onnx``: an opset that nobody named is one that the runtime loads."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

import minuend as mn
from minuend.cli.program import main
from minuend.errors import SpecError
from minuend.onnx.loading import newest_version
from minuend.runtimes import registry
from minuend.runtimes.quirks import quirks
from minuend.runtimes.registry import adapter, adapters

TEXT = '<ir_version: %d, opset_import: ["" : 13]> g (float[2] a, float[2] b) => (float[2] c) { c = Sub(a, b) }'
NEWEST = onnx.defs.onnx_opset_version()


@pytest.fixture
def only_onnxruntime_cpu(monkeypatch):
    """No other runtime is installed."""
    for name, one in adapters().items():
        if name != "onnxruntime-cpu":
            monkeypatch.setattr(one, "release", lambda: None, raising=False)


def test_it_stops_at_what_the_named_release_loads_and_says_so():
    converted = mn.convert(TEXT % 8, "onnx", target="onnxruntime-cpu@1.20")
    assert converted.changes == [
        "opset 21 is the newest that onnxruntime-cpu@1.20.1 loads",
        "opset 13 became 21",
        "IR version 8 became 10, the first that has opset 21",
    ]
    assert converted.model.opset_import[0].version == 21


@pytest.mark.usefixtures("only_onnxruntime_cpu")
def test_it_stops_at_what_the_installed_runtimes_load():
    ort = pytest.importorskip("onnxruntime")
    converted = mn.convert(TEXT % 8, "onnx")
    name = f"onnxruntime-cpu@{registry.release(adapter('onnxruntime-cpu'))}"
    kernels = quirks("onnxruntime-cpu").kernels[ort.__version__]
    assert kernels < NEWEST <= quirks("onnxruntime-cpu").loads(ort.__version__)[0]
    assert converted.changes[0] == f"opset {kernels} is the newest that {name} has the kernels of"
    assert converted.model.opset_import[0].version == newest_version().version == kernels
    ort.InferenceSession(converted.model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_a_model_of_another_format_stops_there_too():
    ir = mn.convert(TEXT % 8, "openvino").model
    converted = mn.convert(ir, "onnx", target="onnxruntime-cpu@1.19")
    assert converted.changes[0] == "opset 21 is the newest that onnxruntime-cpu@1.19.2 loads"
    assert converted.model.opset_import[0].version == 21


def test_a_newer_model_comes_down():
    text = (TEXT % 13).replace("13]", "26]")
    converted = mn.convert(text, "onnx", target="onnxruntime-cpu@1.18")
    assert converted.changes == [
        "opset 21 is the newest that onnxruntime-cpu@1.18.1 loads",
        "opset 26 became 21",
        "IR version 13 became 10, the highest that onnxruntime-cpu@1.18.1 loads",
    ]


def test_an_ir_version_that_something_needs_stays():
    model = onnx.parser.parse_model(TEXT % 13)
    model.graph.value_info.append(helper.make_tensor_value_info("x", TensorProto.INT4, [2]))
    model.graph.node.append(helper.make_node("Cast", ["a"], ["x"], to=TensorProto.INT4))
    model.opset_import[0].version = 21
    converted = mn.convert(model, "onnx", target="onnxruntime-cpu@1.18")
    assert converted.model.ir_version == 13


@pytest.mark.parametrize("target", ["openvino-cpu", "onnx-reference"])
def test_a_runtime_without_a_limit_stops_nothing(target):
    converted = mn.convert(TEXT % 8, "onnx", target=target)
    assert converted.changes[0] == f"opset 13 became {NEWEST}"


@pytest.mark.usefixtures("only_onnxruntime_cpu")
def test_without_a_runtime_it_is_the_newest_that_onnx_knows(monkeypatch):
    monkeypatch.setattr(adapter("onnxruntime-cpu"), "release", lambda: None, raising=False)
    assert newest_version().version == NEWEST
    assert newest_version().message == ""


@pytest.mark.usefixtures("only_onnxruntime_cpu")
@pytest.mark.parametrize(("release", "opset"), [("1.18.0", 20), ("1.23.9", 23), ("1.14.0", 19), ("99.0", 27)])
def test_a_release_that_was_not_measured_loads_what_the_one_before_it_does(monkeypatch, release, opset):
    monkeypatch.setattr(adapter("onnxruntime-cpu"), "release", lambda: release, raising=False)
    assert newest_version().version == opset
    assert newest_version().runtime == f"onnxruntime-cpu@{release}"


@pytest.mark.parametrize("to", ["onnx:13", "openvino", "directml:5.1"])
def test_a_target_that_decides_nothing_is_an_error(to):
    with pytest.raises(SpecError) as caught:
        mn.convert(TEXT % 8, to, target="onnxruntime-cpu")
    assert str(caught.value) == (
        f"'{to}' says what to convert to; a target decides where the version is open, as in 'onnx'"
    )


def test_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "m.onnxtxt"
    path.write_text(TEXT % 8)
    out = tmp_path / "n.onnx"
    assert main(["convert", str(path), "--to", "onnx", "--target", "onnxruntime-cpu@1.22", "-o", str(out)]) == 0
    assert "~ changed: opset 22 is the newest that onnxruntime-cpu@1.22.1 loads" in " ".join(
        capsys.readouterr().out.split()
    )
    assert onnx.load(out).opset_import[0].version == 22
    assert main(["convert", str(path), "--to", "onnx", "--target", "nothing", "-o", str(out)]) == 2
    assert "no target 'nothing'" in capsys.readouterr().err
