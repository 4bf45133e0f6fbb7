"""Across modules: what SECURITY.md promises of the code. Nothing that is read can run, and nothing is sent."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minuend
from minuend.runtimes.registry import adapter, adapters

ROOT = Path(minuend.__file__).parent
UNSAFE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "copyreg"}
NETWORK = {"socket", "ssl", "http", "urllib", "ftplib", "smtplib", "asyncio", "requests", "xmlrpc", "socketserver"}


def imported() -> Iterator[tuple[str, str]]:
    """Every module that a file of the package imports."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path.name, alias.name.partition(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield path.name, (node.module or "").partition(".")[0]


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Every call in the package: file, name, and the call."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield path.name, ast.unparse(node.func), node


def test_nothing_imports_what_runs_what_it_reads_or_speaks_to_the_network() -> None:
    loopback = ("onnxruntime_webgpu.py", "http")  # where its browser's page asks for what to run
    # fsspec's loop, in which what it opened for zarr is closed, and zarr's, whose codecs are coroutines
    loop = {("web.py", "asyncio"), ("zarr_bounds.py", "asyncio")}
    copies = ("forked.py", "pickle")  # what a copy of this process sends it; the one place, see SECURITY.md
    assert {found for found in imported() if found[1] in UNSAFE | NETWORK} == {loopback, copies, *loop}


def test_nothing_loads_pickles_or_evaluates_text() -> None:
    found = []
    for file, name, call in calls():
        stated = {one.arg: ast.unparse(one.value) for one in call.keywords}
        loads = name in ("np.load", "numpy.load") and stated.get("allow_pickle") != "False"
        reads = (
            name.endswith(("format.read_array", "fromfile", "memmap"))
            and stated.get("allow_pickle", "False") != "False"
        )
        if loads or reads or stated.get("allow_pickle") == "True" or name in ("eval", "exec", "os.system", "os.popen"):
            found.append((file, name))
        if stated.get("shell", "False") != "False":
            found.append((file, name))
    assert found == []


# ---- what runs --------------------------------------------------------------------------------------------------

HOOK = """
import sys
sent = []
TOLD = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request")
sys.addaudithook(lambda event, args: sent.append(f"{event} {args}") if event in TOLD else None)
"""

VERBS = """
import contextlib, io, json, numpy
from minuend.cli.program import main
numpy.save("a.npy", numpy.ones(3, numpy.uint8))
with open("m.onnxtxt", "w") as stream:
    stream.write('<ir_version: 8, opset_import: ["" : 14]> g (uint8[3] a, uint8[3] b) => (uint8[3] c) {c = Sub(a, b)}')
with contextlib.redirect_stdout(io.StringIO()):
    status = [main(line.split()) for line in (
        "sub a.npy a.npy", "sub a.npy a.npy -o o.safetensors --as onnx:14", "sub a.npy a.npy -o o.pb", "spec",
        "check m.onnxtxt --target openvino-cpu --run --sarif o.sarif", "convert m.onnxtxt --to openvino -o o.xml",
        "convert m.onnxtxt --to onnx -o o.onnx", "fix m.onnxtxt --target openvino-cpu -o f.onnx", "targets",
        "run m.onnxtxt --input a=a.npy --input b=a.npy -o out", "vectors --opset 1 -o v", "diff onnx:6 onnx:7",
    )]
print(json.dumps([status, sent]))
"""

ADAPTER = """
import json
from minuend.worker import load
adapter = load(sys.argv[1])
if not getattr(adapter, "ARRAYS", False):
    adapter.prepare({"form": "onnx", "inputs": []}, bytes.fromhex(sys.argv[2]), b"")
print(json.dumps([sent, [name for name in sys.modules if "telemetry" in name and sys.modules[name] is not None]]))
"""


def said(code: str, folder: Path, *arguments: str) -> Any:
    """What a script prints, as JSON."""
    command = [sys.executable, "-c", HOOK + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_no_verb_speaks_to_the_network(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    status, sent = said(VERBS, tmp_path)
    assert (set(status) <= {0, 1}, sent) == (True, []), status


@pytest.mark.parametrize("name", sorted(adapters()))
def test_no_runtime_speaks_to_the_network_for_us(name: str, tmp_path: Path) -> None:
    """openvino's tools send statistics of use where a package for that is installed, and nobody is asked."""
    onnx = pytest.importorskip("onnx")
    found = adapter(name)
    pytest.importorskip(found.PACKAGE)
    text = '<ir_version: 8, opset_import: ["" : 14]> g (float[3] a) => (float[3] c) { c = Sub(a, a) }'
    model = onnx.parser.parse_model(text).SerializeToString()
    sent, loaded = said(ADAPTER, tmp_path, str(found.__file__), model.hex())
    assert sent == []
    assert [one for one in loaded if one.partition(".")[0] not in ("openvino", "onnxruntime")] == []


def test_every_promise_names_its_tests() -> None:
    text = (Path(__file__).parents[1] / "SECURITY.md").read_text("utf-8")
    promises = text.partition("## What is promised")[2].partition("\n## ")[0].split("\n- **")[1:]
    assert len(promises) == 9
    for promise in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)`", promise.partition("Tests: ")[2])
        assert named, promise
        assert all((Path(__file__).parents[1] / path).exists() for path in named), named
