"""Processes that run models: what they may take, the folder that they leave nothing in, and where they find modules."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import onnx

import minuend as mn
from minuend import child, cli
from minuend.errors import LimitExceeded, Unsupported
from minuend.onnx.processes import computing_process
from minuend.openvino.ir.builder import Builder
from minuend.runtimes import running
from minuend.runtimes.running import Runtime

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is looked at in /proc")

HEAD = '<ir_version: 8, opset_import: ["" : 14]> g'
SMALL = HEAD + " (float[2] a, float[2] b) => (float[2] c) { c = Sub(a, b) }"
GROWS = (
    HEAD
    + """ (uint8[1] a) => (uint8[N] c) <int64 n = {40}, bool t = {1}> {
    x = Loop(n, t, a) <body = b (int64 i, bool p, uint8[M] y) => (bool q, uint8[K] z)
        { q = Identity(p) z = Concat<axis=0>(y, y) }>
    c = Sub(x, a) }"""
)
ENDLESS = (
    HEAD
    + """ (uint8[1] a) => (uint8[1] c) <int64 n = {9223372036854775807}, bool t = {1}> {
    x = Loop(n, t, a) <body = b (int64 i, bool p, uint8[1] y) => (bool q, uint8[1] z)
        { q = Identity(p) z = Max(y, y) }>
    c = Sub(x, a) }"""
)
ONE = {"a": np.ones(1, np.uint8)}
MEMORY = 64 << 20


@pytest.mark.parametrize(
    ("evaluator", "where"),
    [("onnxruntime", "graph.node[0].body.node[1]"), ("reference", "a node that ONNX's reference evaluator computes")],
)
@linux
def test_a_model_that_grows_is_stopped(evaluator: str, where: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        mn.run(GROWS, ONE, max_memory=MEMORY, evaluator=evaluator)
    assert str(caught.value) == (
        f"running the model's text, at {where} was stopped: it took more than 64 MiB of memory, the limit of "
        "max_memory; if it needs more, set --max-memory (in Python max_memory=), none for no limit"
    )
    assert (caught.value.limit, caught.value.value) == ("max_memory", MEMORY)
    assert mn.run(SMALL, {"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)})["c"].tolist() == [0, 0]


def test_a_model_that_does_not_end_is_stopped() -> None:
    with pytest.raises(LimitExceeded, match=r"^running the model's text, at graph.node.* took more than 0.5 s, the"):
        mn.run(ENDLESS, ONE, max_seconds=0.5)


@linux
def test_of_a_model_that_is_stopped_check_says_so_and_that_nothing_is_known() -> None:
    report = mn.check(GROWS, "onnxruntime-cpu@installed", run=True, max_memory=MEMORY)
    (trial,) = report.trials
    assert (trial.verdict, trial.ok) == ("unknown", False)
    assert "it took more than 64 MiB of memory, the limit of max_memory" in trial.unlike
    assert not report.ok


class _Impatient(child.Child):
    """Stops every model, and lets processes start."""

    def request(self, *_: object, **__: object) -> None:
        self.popen.kill()
        self.broken = "seconds"


def test_a_runtime_that_is_stopped_is_not_one_that_refuses_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "Child", _Impatient)
    (trial,) = mn.check(SMALL, "onnxruntime-cpu@installed", run=True).trials
    assert trial.verdict == "unknown"
    assert trial.unlike.startswith("a model on onnxruntime-cpu ")
    assert "was stopped: it took more than 600 s, the limit of max_seconds" in trial.unlike


def test_an_ir_is_bounded_between_its_layers() -> None:
    builder = Builder("m")
    a, b = (builder.parameter(name, "u8", (1 << 20,)) for name in ("a", "b"))
    builder.result(builder.subtract("e", builder.subtract("d", a, b), b), "y")
    given = {name: np.ones(1 << 20, np.uint8) for name in "ab"}
    (found,) = mn.run(builder.model, given).values()
    assert found.size == 1 << 20
    with pytest.raises(LimitExceeded, match=r"^running the model was stopped: it took more than 1e-09 s, the limit of"):
        mn.run(builder.model, given, max_seconds=1e-9)
    budget = child.Budget("it", 0)
    budget.check(child.MEMORY)
    with pytest.raises(
        LimitExceeded, match=r"^it was stopped: it took more than 4 GiB of memory, the limit of max_mem"
    ):
        budget.check(child.MEMORY + 1)


def test_fix_and_run_end_with_status_2_and_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.onnxtxt").write_text(ENDLESS)
    np.save("a.npy", ONE["a"])
    assert cli.main(["run", "m.onnxtxt", "--input", "a=a.npy", "-o", "out", "--max-seconds", "0.5"]) == 2
    assert "was stopped: it took more than 0.5 s, the limit of max_seconds" in capsys.readouterr().err
    pytest.importorskip("openvino")
    told = ["fix", "m.onnxtxt", "--target", "openvino-cpu@2026.4.1", "-o", "f.onnx"]
    assert cli.main([*told, "--max-seconds", "0.5"]) == 2
    assert "was stopped: it took more than 0.5 s, the limit of max_seconds" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["a.npy", "m.onnxtxt"]
    assert cli.main([*told, "--no-run"]) == 0
    assert Path("f.onnx").exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--max-seconds", "0", "'0' is no number of seconds; expected one above 0, or none"),
        ("--max-seconds", "1_0", "'1_0' is no number of seconds; expected one above 0, or none"),
        ("--max-seconds", "nan", "'nan' is no number of seconds; expected one above 0, or none"),
        ("--max-memory", "1G", "'1G' is no number of bytes; expected a whole number from 0 on"),
    ],
)
def test_a_limit_that_is_none(option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (["run", "m.onnx", "-o", "o"], ["check", "m.onnx", "--target", "ort"], ["prove", "numpy"]):
        assert cli.main([*verb, option, value]) == 2
        assert message in capsys.readouterr().err


# ---- temporary files --------------------------------------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    (tmp_path / "temporary").mkdir()
    onnx.save(onnx.parser.parse_model(SMALL), str(tmp_path / "m.onnx"))
    onnx.save(onnx.parser.parse_model(ENDLESS), str(tmp_path / "endless.onnx"))
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.ones(2, np.float32))
    np.save(tmp_path / "one.npy", ONE["a"])
    return tmp_path / "temporary"


def started(temporary: Path, *arguments: str) -> subprocess.Popen[bytes]:
    # A background job has SIGINT ignored, and what it starts inherits that.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import runpy; "
    code = f"{heard}runpy.run_module('minuend', run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=temporary.parent, env=environment, stdout=pipe, stderr=pipe)


@pytest.mark.parametrize(
    "line",
    [
        "run m.onnx --input a=a.npy --input b=b.npy -o out",
        "check m.onnx --target ort,ov --run=all",
        "fix m.onnx --target onnxruntime-cpu@installed -o f.onnx",
    ],
)
def test_no_verb_leaves_a_file_in_the_temporary_folder(temporary: Path, line: str) -> None:
    pytest.importorskip("openvino")
    process = started(temporary, *line.split())
    _, errors = process.communicate(timeout=300)
    assert process.returncode in (0, 1), errors
    assert os.listdir(temporary) == []


def in_folder(caller: int, folder: Path) -> list[int]:
    """Return the children of a process whose working directory is below a folder."""
    found = []
    for one in Path(f"/proc/{caller}/task/{caller}/children").read_text().split():
        with contextlib.suppress(OSError):  # it has ended
            if Path(os.readlink(f"/proc/{one}/cwd")).parent == folder:
                found.append(int(one))
    return found


@linux
@pytest.mark.parametrize("how", ["interrupt", "kill the child", "kill"])
def test_nor_does_one_that_is_ended(temporary: Path, how: str) -> None:
    process = started(temporary, "run", "endless.onnx", "--input", "a=one.npy", "-o", "out", "--max-seconds", "100")
    end = time.monotonic() + 60
    while not (children := in_folder(process.pid, temporary)) and time.monotonic() < end:
        time.sleep(0.05)
    assert children
    if how == "interrupt":
        process.send_signal(signal.SIGINT)
    elif how == "kill":
        os.kill(process.pid, signal.SIGTERM)
    else:
        for one in children:
            os.kill(one, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert os.listdir(temporary) == []


def computes(caller: int) -> int:
    """Return the child of a process that has taken processor time beyond what imports take."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for one in Path(f"/proc/{caller}/task/{caller}/children").read_text().split():
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 4:
                return int(one)
        time.sleep(0.05)
    raise AssertionError("no child computes")


def runs(process: int) -> bool:
    """Whether a process is there and no zombie."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@linux
@pytest.mark.parametrize("line", ["run endless.onnx --input a=one.npy -o out", "check endless.onnx --target ort --run"])
def test_a_process_that_computes_ends_with_its_caller(temporary: Path, line: str) -> None:
    """In ``check`` onnxruntime itself loops: no Python runs in that process until the loop ends."""
    process = started(temporary, *line.split(), "--max-seconds", "100")
    try:
        one = computes(process.pid)
        assert runs(one)
    finally:
        process.kill()
        process.communicate()
    end = time.monotonic() + 10
    while runs(one) and time.monotonic() < end:
        time.sleep(0.02)
    if left := runs(one):
        os.kill(one, signal.SIGKILL)
    assert not left


@linux
def test_a_process_outlives_the_thread_that_started_it() -> None:
    found: list[Runtime] = []
    thread = threading.Thread(target=lambda: found.append(Runtime("onnxruntime-cpu")))
    thread.start()
    thread.join()
    with found[0] as one:
        assert isinstance(one.query("onnx", b"", b"", []), running.Refused)
        assert one._child is not None
        assert one._child.popen.poll() is None


@linux
def test_a_forked_process_does_not_keep_its_parent_s_children_alive() -> None:
    one = child.Child("nothing runs", [*child.python(), "-c", "input()"])
    try:
        pipe = one.pipe
        assert pipe is not None
        if (forked := os.fork()) == 0:
            os._exit(pipe.closed)
        assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 1
        assert not pipe.closed
    finally:
        one.end()
    assert pipe.closed


def test_a_process_whose_caller_is_gone_removes_its_folder(temporary: Path) -> None:
    script = (
        "import os, signal, minuend as mn, numpy as np\n"
        "x = np.ones(2, np.float32)\n"
        f"mn.run({SMALL!r}, dict(a=x, b=x))\n"
        "os._exit(9)\n"  # no exit handlers
    )
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", script], env=environment, check=False, timeout=120)
    end = time.monotonic() + 60
    while os.listdir(temporary) and time.monotonic() < end:
        time.sleep(0.05)
    assert os.listdir(temporary) == []


def test_no_statistics_of_use_are_sent() -> None:
    script = "import os; print(os.environ['ORT_DISABLE_TELEMETRY'], os.listdir())"
    one = child.Child("nothing runs", [*child.python(), "-c", script])
    assert one.popen.stdout is not None
    assert one.popen.stdout.read() == b"1 []\n"
    assert one.end(10) == 0
    assert not os.path.exists(one.folder)


# ---- where modules are found ------------------------------------------------------------------------------------


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A folder with another release of onnxruntime, which refuses everything."""
    folder = tmp_path / "another"
    (folder / "onnxruntime").mkdir(parents=True)
    (folder / "onnxruntime" / "__init__.py").write_text("__version__ = '9.8.7'\nraise ImportError('the fake one')\n")
    info = folder / "onnxruntime-9.8.7.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: onnxruntime\nVersion: 9.8.7\n")
    return folder


ASK = (
    "import json, sys\n"
    "from minuend.runtimes.running import Runtime\n"
    "from minuend import worker\n"
    "from minuend.runtimes.registry import adapter\n"
    "with Runtime('onnxruntime-cpu') as one:\n"
    "    answer = one.query('onnx', b'', b'', [])\n"
    "    print(json.dumps([one.release, worker.release(adapter('ort')), answer.message]))\n"
)


@pytest.mark.parametrize("options", [[], ["-S"]])
def test_a_release_on_the_path_is_the_one_that_is_reported_and_loaded(fake: Path, options: list[str]) -> None:
    path = os.pathsep.join([str(fake), *filter(None, sys.path)])
    command = [sys.executable, *options, "-c", ASK]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=False, timeout=120
    )
    assert json.loads(done.stdout) == ["9.8.7", "9.8.7", "the fake one"], done.stderr


def test_a_release_that_is_put_on_the_path_at_run_time(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(fake))
    with Runtime("onnxruntime-cpu") as one:
        assert one.release == "9.8.7"
        assert one.query("onnx", b"", b"", []).message == "the fake one"  # type: ignore[union-attr]


def test_the_release_is_that_of_what_is_loaded_not_of_the_first_metadata(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "first" / "onnxruntime-1.2.3.dist-info"
    first.mkdir(parents=True)
    (first / "METADATA").write_text("Metadata-Version: 2.1\nName: onnxruntime\nVersion: 1.2.3\n")
    monkeypatch.syspath_prepend(str(fake))
    monkeypatch.syspath_prepend(str(first.parent))
    with Runtime("onnxruntime-cpu") as one:
        assert one.release == "9.8.7"


def test_the_current_directory_is_no_place_for_modules_unless_the_caller_has_it(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fake)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    with Runtime("onnxruntime-cpu") as one:
        assert one.release != "9.8.7"
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with Runtime("onnxruntime-cpu") as one:
        assert one.release == "9.8.7"


def test_a_module_without_metadata_is_not_taken_for_another_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bare" / "onnxruntime"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(
        "__version__ = '9.8.7'\nclass SessionOptions: pass\n"
        "class InferenceSession:\n"
        "    def __init__(self, *a, **k): pass\n"
        "    def get_outputs(self): return []\n"
        "    def run_with_ort_values(self, *a): return []\n"
    )
    monkeypatch.syspath_prepend(str(folder.parent))
    with Runtime("onnxruntime-cpu") as one, pytest.raises(mn.MinuendError) as caught:
        one.query("onnx", b"", b"", [])
    assert str(caught.value) == (
        f"the adapter of onnxruntime-cpu {one.release} gives no answer: {folder}/__init__.py is onnxruntime 9.8.7, and "
        f"the metadata that is found says {one.release}"
    )


def test_where_no_python_starts_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {name: np.ones(2, np.float32) for name in "ab"}
    mn.run(SMALL, given)
    computing_process.PROCESSES.stop()
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(Unsupported, match="'/no/such/python' does not start: "):
        Runtime("onnxruntime-cpu")
    with pytest.raises(Unsupported, match=r"^models run in a process of their own, and '/no/such/python' does not"):
        mn.run(SMALL, given)
