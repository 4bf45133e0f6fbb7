"""The highest opset and IR version that releases load: a row for each release, and the installed one's is true."""

from __future__ import annotations

import warnings

import pytest
from onnx import TensorProto, helper

from minuend import worker
from minuend.runtimes import targets
from minuend.runtimes.quirks import quirks
from minuend.runtimes.registry import adapter, adapters

RUNTIMES = tuple(name for name in adapters() if quirks(name).loaded)


def model(opset: int, ir_version: int) -> bytes:
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "abc"]
    graph = helper.make_graph([helper.make_node("Sub", ["a", "b"], ["c"])], "limits", types[:2], types[2:])
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version).SerializeToString()


def test_what_reads_onnx_has_its_limits_and_what_reads_none_has_not():
    reads = {name for name, one in adapters().items() if "onnx" in one.DIALECTS} - {"onnx-reference"}
    assert set(RUNTIMES) == reads


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_every_measured_release_has_its_row(runtime):
    releases = {release for name in targets.names() for one, _, release in [name.partition("@")] if one == runtime}
    assert releases == set(quirks(runtime).loaded)
    assert quirks(runtime).loads("0.1") is None


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_installed_release_loads_so_much_and_no_more(runtime):
    if worker.release(adapter(runtime)) is None:
        pytest.skip(f"{runtime} is not installed")
    known = quirks(runtime).loads(worker.release(adapter(runtime)))
    if known is None:
        pytest.skip("this release was not measured")

    def loads(opset: int, ir_version: int) -> bool:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # tvm loads what its checker does not know, and says so
                adapter(runtime).prepare({"form": "onnx", "inputs": []}, model(opset, ir_version), b"")
        except Exception:  # what a runtime raises is its own
            return False
        return True

    opset, ir_version = known
    assert loads(opset or 59, 7)
    assert loads(13, ir_version or 59)
    if opset is not None:
        assert not loads(opset + 1, 7)
    if ir_version is not None:
        assert not loads(13, ir_version + 1)
