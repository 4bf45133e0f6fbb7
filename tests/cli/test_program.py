"""The entry point: statuses, messages, signals, and what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import child
from command_line import minuend, run

import minuend as mn
from minuend import _native
from minuend.cli import progress


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("argv", "status", "message"),
    [
        ("bogus", 2, "No such command 'bogus'. (minuend --help shows the options)"),
        ("sub a.npy", 2, "Missing argument 'B'. (minuend sub --help shows the options)"),
        ("sub a.npy b.npy --overflow clamp", 2,
         ("Invalid value for '--overflow': 'clamp' is not one of 'wrap', 'saturate', 'widen', 'error'. "
          "(minuend sub --help shows the options)")),
        ("sub a.npy no.npy", 2, "there is no file no.npy"),
        ("sub a.npy f.npy", 2, "A is of uint8 and B of float32; nothing is promoted, convert one of them first"),
        ("sub a.npy b.npy -o a.npy", 2,
         "the output a.npy is also an input; nothing is overwritten, name another output"),
        ("sub a.npy b.npy -o no/o.npy", 2, "there is no folder no to write o.npy to"),
        ("sub a.npy b.npy -o o.npy --overflow error", 1,
         ("1 of 3 differences do not fit uint8 (0 to 255); the first is at index (0,): 5 - 10 = -5; "
          "--overflow wrap, saturate or widen gives an answer")),
        ("sub a.npy b.npy --common", 2, "--common needs two files of named tensors; leave it out for single ones"),
        ("sub a.npy b.npy --as onnx:7", 2,
         ("Sub-7 takes no element type tensor(uint8) (it came with opset 14); expected tensor(float16), "
          "tensor(float), tensor(double), tensor(int32), tensor(int64), tensor(uint32) or tensor(uint64)")),
        ("sub f.npy f.npy --as onnx:7,axis=1", 2,
         "Sub-7 takes no attribute 'axis' (removed in version 7); it takes none"),
        ("sub f.npy f.npy --as directml:1.0", 2, "ATensor of ELEMENT_WISE_SUBTRACT-1.0 has rank 2; expected 4"),
        ("spec tosa", 2, "no dialect 'tosa'; expected directml, onnx or openvino"),
        ("diff onnx:6 directml:1.0", 2,
         "onnx:6 and directml:1.0 are of two dialects; expected two versions of one (see minuend spec)"),
        ("diff onnx:0 onnx:7", 2, "ONNX has no opset '0' with Sub; expected 1 or above (versions: 1, 6, 7, 13 and 14)"),
    ],
)  # fmt: skip
def test_bad_use_and_bad_input_end_in_one_message(
    capfd: pytest.CaptureFixture[str], argv: str, status: int, message: str
) -> None:
    before = sorted(os.listdir())
    assert run(capfd, *argv.split()) == (status, "", f"error: {message}\n")
    assert sorted(os.listdir()) == before


@pytest.mark.usefixtures("files")
def test_a_system_error_names_the_file(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device", "o.npy")

    monkeypatch.setattr(os, "replace", full)
    assert run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy") == (2, "", "error: o.npy: No space left on device\n")
    assert sorted(os.listdir()) == ["a.npy", "b.npy", "f.npy"]


@pytest.mark.usefixtures("files")
def test_ctrl_c_ends_with_130_and_leaves_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(progress.Bar, "__call__", interrupt)
    status, out, err = run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy")
    assert (status, out, err.strip()) == (130, "", "error: interrupted; nothing was written")
    assert sorted(os.listdir()) == ["a.npy", "b.npy", "f.npy"]


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.usefixtures("files")
def test_a_real_ctrl_c_leaves_nothing() -> None:
    np.save("big.npy", np.zeros((2000, 2000), np.int32))
    slow = (
        # In the background SIGINT comes ignored, and a child inherits that.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "import time; from minuend.files.streaming import regions; regions.BLOCK_BYTES = 1000; "
        "from minuend.cli import program, progress; progress.Bar.__call__ = lambda *_: time.sleep(0.01); "
        "raise SystemExit(program.main())"
    )
    with child(minuend("sub", "big.npy", "big.npy", "-o", "o.npy", code=slow)) as work:
        deadline = time.monotonic() + 20
        while not any(name.endswith(".part") for name in os.listdir()) and time.monotonic() < deadline:
            time.sleep(0.01)
        work.send_signal(signal.SIGINT)
        _, err = work.communicate(timeout=20)
    assert (work.returncode, err.decode().strip()) == (130, "error: interrupted; nothing was written")
    assert sorted(os.listdir()) == ["a.npy", "b.npy", "big.npy", "f.npy"]


def imported_by(*arguments: str, prints: str) -> set[str]:
    """The modules that a command line imports in its own process, whose output begins so."""
    code = (
        "import json, sys; from minuend.cli.program import main; status = main(); "
        "json.dump(sorted(sys.modules), sys.stderr); raise SystemExit(status)"
    )
    work = subprocess.run(minuend(*arguments, code=code), check=True, capture_output=True, text=True, timeout=60)
    assert work.stdout.startswith(prints)
    return set(json.loads(work.stderr))


def test_help_is_quick_it_imports_nothing_that_it_does_not_show() -> None:
    imported = imported_by("--help", prints="Usage: minuend ")
    assert "minuend.cli.program" in imported
    slow = {"numpy", "ml_dtypes", "rich", "onnx", "safetensors", "minuend.files", "minuend.cli.pages", "tomllib"}
    assert imported & slow == set()


def test_version_imports_the_kernel_and_nothing_else_that_is_slow() -> None:
    imported = imported_by("--version", prints="minuend ")
    assert "minuend._native" in imported
    assert not {"rich", "onnx", "minuend.files", "minuend.standards", "minuend.operators", "tomllib"} & imported


NOT_FOR_CHECK = {
    *("torch", "pandas", "onnxruntime", "openvino", "onnx.reference", "rich", "tomllib"),
    *("minuend.arrays.functions", "minuend.files.base", "minuend.files.transaction.writing", "minuend.models.running"),
    *("minuend.judging.contract", "minuend.judging.run_check", "minuend.rewriting.work", "minuend.runtimes.running"),
    *("minuend.directml.model", "minuend.openvino.model", "minuend.onnx.documents.saving"),
    *("minuend.onnx.execution.running", "minuend.onnx.opsets.model", "minuend.runtimes.junit", "xml.etree.ElementTree"),
    *("minuend.cli.arrays", "minuend.cli.deltas", "minuend.cli.models", "minuend.cli.runtimes"),
}
"""What a check of a small model that is fine has no use for; each takes milliseconds."""


def test_check_imports_what_it_needs_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    form = '<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }'
    Path("m.onnxtxt").write_text(form)
    imported = imported_by("check", "m.onnxtxt", "--target", "onnxruntime-cpu@1.32.0", prints="m.onnxtxt: 1 subtr")
    assert {"onnx", "minuend.onnx.model", "minuend.judging.checking"} <= imported
    assert imported & NOT_FOR_CHECK == set()


def test_check_shows_a_finding_without_what_lays_tables_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    form = '<ir_version: 10, opset_import: ["" : 14]> g (float[N] a, float[N] b) => (float[N] c) { c = Sub(a, b) }'
    Path("m.onnxtxt").write_text(form)
    imported = imported_by("check", "m.onnxtxt", "--target", "openvino-cpu@2026.4.1", prints="openvino-cpu@2026.4.1")
    assert "minuend.cli.pages.layout" in imported
    assert imported & {"rich", "rich.console", "minuend.runtimes.unmeasured_releases"} == set()


def test_the_process_that_is_the_command_ends_with_its_status_and_all_that_was_written() -> None:
    code = (
        "import atexit, threading\n"
        "from minuend.cli import run_process\n"
        "def late():\n    threading.main_thread().join()\n    print('thread')\n"
        "threading.Thread(target=late).start()\n"
        "status = run_process()\n"
        "atexit.register(print, 'registered')\n"
        "raise SystemExit(status)"
    )
    for argv, status in (("--version", 0), ("bogus", 2)):
        work = subprocess.run(minuend(argv, code=code), check=False, capture_output=True, text=True)
        assert work.returncode == status
        assert work.stdout.splitlines()[-2:] == ["thread", "registered"]


def test_what_was_registered_before_the_command_is_called_too() -> None:
    code = "import atexit; atexit.register(print, 'first'); from minuend.cli import run_process; run_process()"
    work = subprocess.run(minuend("--version", code=code), check=True, capture_output=True, text=True)
    assert work.stdout.splitlines()[-1] == "first"


def test_the_process_that_is_the_command_keeps_the_threads_of_openblas_from_waiting_busily() -> None:
    code = "import os; from minuend.cli import run_process; run_process(); print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    for environment, wanted in (({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")):
        work = subprocess.run(
            minuend("--version", code=code),
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )
        assert work.stdout.splitlines()[-1] == wanted


def test_version_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "--version")
    assert (status, out.split()[0]) == (0, "minuend")
    built = ", ".join(_native.built_instruction_sets())
    assert out.splitlines() == [f"minuend {mn.__version__}", f"kernel: {_native.get_instruction_set()}, of {built}"]
