"""``minuend demo``: what a person sees first, with the packages that models take and without."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command_line import minuend, run

from minuend import worker
from minuend.cli import demo

ROOT = Path(__file__).parents[2]
ARRAYS = """\
Near-infrared minus red tells plants from water. Over water the difference is
negative, and uint16 has no negative numbers. Three remedies are:

$ minuend sub nir.npy red.npy
nir.npy − red.npy
uint16 (256, 256), 65536 elements
7401 differences (11.3 %) do not fit uint16
the first is at index (0, 56): 134 - 368 = -234

overflow  dtype   lowest  highest  first overflow
─────────────────────────────────────────────────
wrap      uint16    1412    65415           65302
saturate  uint16       0     3876               0
widen     int32     -259     3876            -234

nothing written; -o OUT writes the difference

"""
MODELS = """\
A model that subtracts gives other numbers on another runtime, and none of them
says so:

$ minuend check bgsub.onnxtxt --target onnxruntime-cpu --target openvino-cpu
openvino-cpu@2026.4.1  different-numbers
graph.node[0] 'subtract_background': numbers in uint8: 5 − 10 = 0, expected 251
  why: saturates instead of wrapping
  do:  minuend fix bgsub.onnxtxt --target openvino-cpu@2026.4.1 \\
         -o bgsub.fixed.onnx

bgsub.onnxtxt: 1 subtraction
1 of 1 subtractions differs on openvino-cpu@2026.4.1
as expected on onnxruntime-cpu@1.32.0

The smallest rewrite that gives the right numbers there too:

$ minuend fix bgsub.onnxtxt --target openvino-cpu -o fixed.onnx
rewritten: graph.node[0] 'subtract_background'
  as:  Sub-14 of uint8 became Cast, Cast, Sub, Mod, Cast (through int32, wrapped
       with Mod)
  why: openvino-cpu@2026.4.1 has other numbers for values that wrap: 5 - 10
       gives 0, expected 251
RUNbgsub.onnxtxt → fixed.onnx for openvino-cpu@2026.4.1

And that is right on both:

$ minuend check fixed.onnx --target onnxruntime-cpu --target openvino-cpu
fixed.onnx: 1 subtraction
as expected on onnxruntime-cpu@1.32.0 and openvino-cpu@2026.4.1

"""
RAN = """\
run on openvino-cpu@2026.4.1: of the rewritten subtractions all 57600 elements
are as expected; of the outputs all 57600 elements are as expected
the fixed model on openvino-cpu@2026.4.1, on ordinary numbers and on edges and
random bits: 1 output as expected: 115200 elements, bit-identical
"""
NOT_RUN = "not run on openvino-cpu@2026.4.1: it is not installed here\n"
NONE_INSTALLED = """\
onnx, onnxruntime and openvino are not installed; with pip install
"minuend[all]" this shows a model that is checked, fixed and run.
"""
NO_OPENVINO = """\
openvino is not installed; with pip install "minuend[all]" this shows a model
that is checked, fixed and run.
"""
KEEP = "minuend demo -o FOLDER keeps the files, to go on with.\n"
FILES = ["background.npy", "bgsub.onnxtxt", "frame.npy", "nir.npy", "red.npy"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which commands run and make their temporary folders; runtimes leave things in TMPDIR."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def without(packages: tuple[str, ...], *argv: str) -> tuple[int, str, str]:
    """Call it in a process that lacks packages."""
    code = (
        f"import sys, tempfile; tempfile.tempdir = '.'; sys.modules.update(dict.fromkeys({packages})); "
        "from minuend.cli.program import main; raise SystemExit(main())"
    )
    done = subprocess.run(minuend("demo", *argv, code=code), capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_arrays_are_subtracted_with_nothing_installed_and_nothing_stays(here: Path) -> None:
    assert without(demo.PACKAGES) == (0, ARRAYS + NONE_INSTALLED + KEEP, "")
    assert os.listdir(here) == []


def test_a_model_is_checked_and_fixed_and_run(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("openvino")
    assert run(capfd, "demo") == (0, ARRAYS + MODELS.replace("RUN", RAN) + KEEP, "")
    # A process that computes models by the contract may have begun here; its folder goes when it ends.
    assert [name for name in os.listdir(here) if not name.startswith("minuend-")] == []


def test_the_folder_holds_what_its_commands_name(here: Path) -> None:
    status, out, err = without(demo.PACKAGES, "-o", "a folder")
    assert (status, err) == (0, "")
    assert out == (
        "nir.npy, red.npy, frame.npy, background.npy and bgsub.onnxtxt were written to a folder\n"
        "\n"
        "$ cd 'a folder'\n"
        "\n" + ARRAYS + NONE_INSTALLED
    )
    assert os.listdir(here) == ["a folder"]
    assert sorted(os.listdir("a folder")) == FILES
    for name in ("nir", "red", "frame", "background"):
        kept = np.load(ROOT / "examples" / f"{name}.npy")
        np.testing.assert_array_equal(np.load(f"a folder/{name}.npy"), kept, strict=True)


def test_the_model_that_is_kept_runs(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    assert without(demo.PACKAGES, "-o", "new")[0] == 0
    inputs = ("--input", "frame=new/frame.npy", "--input", "background=new/background.npy")
    status, out, err = run(capfd, "run", "new/bgsub.onnxtxt", *inputs, "-o", "out")
    assert (status, out, err) == (0, "difference: uint8 (120, 160, 3) → out/difference.npy\n", "")
    expected = np.load("new/frame.npy") - np.load("new/background.npy")
    np.testing.assert_array_equal(np.load("out/difference.npy"), expected, strict=True)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    monkeypatch.setitem(sys.modules, "openvino", None)
    monkeypatch.setattr(worker, "release", lambda adapter: None)
    assert run(capfd, "demo") == (0, ARRAYS + MODELS.replace("RUN", NOT_RUN) + NO_OPENVINO + KEEP, "")


def test_a_step_that_ends_otherwise_ends_the_whole(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "ARRAYS", (("First:", "diff onnx:6 onnx:7", 1), ("Second:", "spec", 0)))
    monkeypatch.setattr(demo, "MODELS", ())
    monkeypatch.setattr("minuend.cli.standards.report", lambda *_: None)
    assert run(capfd, "demo") == (0, "First:\n\n$ minuend diff onnx:6 onnx:7\n", "")


def test_the_packages_are_those_of_an_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(demo.PACKAGES) <= extras.keys()
    assert all(name in extras["all"][0] for name in demo.PACKAGES)
