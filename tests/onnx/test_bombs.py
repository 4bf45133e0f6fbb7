"""Across modules: tiny models with huge demands take at most 1.5 GB and some seconds in a process."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import onnx
import pytest
from bombs import __file__ as bombs_file

import minuend as mn
from minuend.cli import main
from minuend.onnx.processes import library_process

ROOM = 1500 << 20
SECONDS = 30
"""Far above what any of them takes (3 s): other processes may hold the processor."""

HEAD = '<ir_version: 10, opset_import: ["" : 14]> '


@pytest.mark.skipif(sys.platform == "win32", reason="memory is not bounded there")
def test_no_verb_is_killed_by_a_bomb():
    child = subprocess.run(
        [sys.executable, bombs_file, str(SECONDS), str(ROOM)], capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in child.stdout.splitlines()]
    asked, told = lines[::2], lines[1::2]
    assert child.returncode == 0, f"it ended with {child.returncode} at {asked[-1]}: {child.stderr[-2000:]}"
    assert len(told) == len(asked) > 200
    assert [(a, t["said"]) for a, t in zip(asked, told, strict=True) if "traceback" in t["said"]] == []


def chain(length: int) -> str:
    functions = [
        f'<domain: "d", opset_import: ["" : 14, "d" : 1]> f{i} (x) => (y) {{ t = d.f{i + 1}(x) y = d.f{i + 1}(t) }}\n'
        for i in range(length)
    ]
    last = f'<domain: "d", opset_import: ["" : 14]> f{length} (x) => (y) {{ y = Sub(x, x) }}'
    head = '<ir_version: 10, opset_import: ["" : 14, "d" : 1]> g (uint8[2] a) => (uint8[2] c) { c = d.f0(a) }\n'
    return "".join([head, *functions, last])


def test_functions_that_call_the_next_one_twice():
    text = chain(60)
    (finding,) = mn.check(text, "openvino-cpu@2026.4.1").findings
    assert finding.verdict == "unknown"
    assert finding.reason == (
        "the element type of 'x' and 'x' cannot be inferred; state one of them in value_info, at function 'f60'.node[0]"
    )
    with pytest.raises(mn.MinuendError) as error:
        mn.run(text, {"a": np.zeros(2, np.uint8)})
    assert str(error.value) == (
        "the model's text: with the calls of its functions followed it has 1152921504606846977 nodes, more than the "
        "262144 that are run"
    )
    with pytest.raises(mn.MinuendError) as error:
        mn.fix(text, "openvino-cpu@2026.4.1")
    assert str(error.value) == (
        "the calls of local functions cannot become the nodes of the functions: the model of 122 nodes would have "
        "1152921504606846977, more than 11220"
    )


def test_few_calls_are_followed_as_before():
    (finding,) = mn.check(chain(8), "openvino-cpu@2026.4.1").findings
    assert (finding.verdict, finding.dtype) == ("different-numbers", "uint8")


def test_functions_that_call_each_other_too_deep():
    with pytest.raises(mn.MinuendError) as error:
        mn.check(chain(100), "openvino-cpu@2026.4.1")
    assert str(error.value) == ("the model's text: functions call each other more than 100 deep, at function 'f0'")


def test_a_reason_is_told_where_inference_takes_too_much():
    text = HEAD.replace("14", "18") + (
        'g (float[2,3] x) => (float c) { y = Einsum <equation = "....->"> (x) z = Sub(y, y) c = ReduceSum(z) }'
    )
    (finding,) = mn.check(text, "onnxruntime-cpu@1.31.1").findings
    assert finding.verdict == "unknown"
    assert "cannot be inferred (ONNX's own code takes more than 1 s or 128 MiB for this model of " in finding.reason


# ---- the process ----------------------------------------------------------------------------------------------


def some_model() -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + "g (uint8[2] a) => (uint8[2] c) { b = Sub(a, a) c = Sub(a, b) }")


NUMBERS = itertools.count()


def inferred() -> list[str]:
    """Infer a model that was not inferred before: what was is answered without the process."""
    model = some_model()
    model.graph.name = f"g{next(NUMBERS)}"
    return [value.name for value in library_process.infer_shapes(model, data_prop=True).graph.value_info]


def test_a_model_is_inferred_once(monkeypatch):
    requests: list[object] = []
    request = library_process._request
    monkeypatch.setattr(library_process, "_request", lambda *of: requests.append(of) or request(*of))
    model = some_model()
    model.graph.name = "inferred once"
    first, again = (library_process.infer_shapes(model, data_prop=True) for _ in range(2))
    assert len(requests) == 1
    assert first == again
    first.graph.Clear()  # a caller's own
    assert library_process.infer_shapes(model, data_prop=True) == again
    assert library_process.infer_shapes(model, data_prop=False) != first
    assert len(requests) == 2
    for _ in range(2 * library_process._MODELS_CACHED):
        inferred()
    assert len(library_process._inferred) == library_process._MODELS_CACHED


def test_check_infers_a_model_as_it_is_and_as_it_is_rewritten_once_each(monkeypatch, tmp_path):
    requests: list[bytes] = []
    request = library_process._request
    monkeypatch.setattr(library_process, "_request", lambda head, data: requests.append(data) or request(head, data))
    model = onnx.parser.parse_model(HEAD + "once (uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }")
    onnx.save(model, tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "m.onnx", "--target", "openvino-cpu@2026.4.1,openvino-cpu@2026.3.0"]) == 1
    assert len(requests) == len(set(requests)) == 2


def test_a_process_that_dies_is_replaced():
    assert inferred() == ["b"]
    first = library_process._processes.idle[0].popen
    first.kill()
    first.wait()
    assert inferred() == ["b"]
    assert library_process._processes.idle[0].popen.pid != first.pid
    assert first.stdin.closed
    assert first.stdout.closed


def test_threads_share_one_process():
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(inferred())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["b"]] * 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_one_of_its_own():
    text = HEAD + "g (uint8[2] a) => (uint8[2] c) { b = Sub(a, a) c = Sub(a, b) }"
    code = """
import os, sys
from minuend.onnx.processes import library_process
import onnx.parser
model = onnx.parser.parse_model(sys.argv[1])
def infer():
    model.graph.name += "_"  # another model: the answer for this one is cached
    return library_process.infer_shapes(model, data_prop=True).graph.value_info[0].name
assert infer() == "b"
idle = library_process._processes.idle
ours = idle[0].popen.pid
child = os.fork()
if not child:
    os._exit(0 if not idle and infer() == "b" and idle[0].popen.pid != ours else 1)
assert os.waitpid(child, 0)[1] == 0
assert infer() == "b" and idle[0].popen.pid == ours
print(ours)
"""
    child = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, check=True)
    with pytest.raises(ProcessLookupError):  # it ended with its parent, and nobody has to wait for it
        os.kill(int(child.stdout), 0)


def test_what_exceeds_once_is_not_asked_again():
    model = onnx.parser.parse_model(HEAD + 'g (float[2,3] x) => (float c) { c = Einsum <equation = "....->"> (x) }')
    with pytest.raises(library_process.Exceeded):
        library_process.infer_shapes(model, data_prop=True)
    start = time.monotonic()
    with pytest.raises(library_process.Exceeded) as error:
        library_process.infer_shapes(model, data_prop=True)
    assert time.monotonic() - start < 0.5
    assert str(error.value).startswith("ONNX's own code takes more than 1 s or 128 MiB for this model of ")
