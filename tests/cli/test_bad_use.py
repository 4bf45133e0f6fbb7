"""Across modules: every verb with bad arguments gives one full message and a status, and writes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from minuend.cli import about, schemas, signals
from minuend.cli import program as cli
from minuend.errors import listed
from minuend.runtimes import targets
from minuend.runtimes.quirks import quirks
from minuend.runtimes.registry import adapters

EXAMPLES = Path(__file__).parents[2] / "examples"

_EVERY = list(dict.fromkeys(name.partition("@")[0] for name in targets.names()))
MODELS = listed(name for name in _EVERY if not quirks(name).arrays)
RUNTIMES = listed(_EVERY)
SUFFIXES = ".json (DirectML), .onnx (ONNX), .onnxtxt (ONNX) or .xml (OpenVINO)"
ADAPTERS = listed(sorted(adapters()))
DIALECTS = "directml, onnx or openvino"
OPSETS = "expected 1 or above (versions: 1, 6, 7, 13 and 14)"
LEVELS = "1.0, 2.0, 2.1, 3.0, 3.1, 4.0, 4.1, 5.0, 5.1, 5.2, 6.0, 6.1, 6.2, 6.3 or 6.4"
NEWEST = onnx.defs.onnx_opset_version()
LONG = "9" * 5000
CUT = f"'{'9' * 60}…'"
BYTES = (
    "Invalid value for '--max-bytes': '{}' is no number of bytes; expected a whole number from 0 on "
    "(minuend run --help shows the options)"
)
COMMAS = (
    "Invalid value: {}; expected opsets with commas between them, as 6,14 (minuend vectors --help shows the options)"
)
NO_ONNX = "models of ONNX need the package 'onnx': pip install \"minuend[onnx]\""
VERSION_1 = "OpenVINO has no operator version {} with Subtract; expected 1, the only one"
EMPTY = "the path is empty (minuend {} --help shows the options)"


def no_opset(text: str) -> str:
    return f"ONNX has no opset {text} with Sub; {OPSETS}"


def no_target(text: str, near: str = "") -> str:
    other = "; minuend measure queries another runtime through a module of yours (docs/runtimes.md)"
    return f"no target {text}{near}; expected {RUNTIMES}, each with an @release if need be{'' if near else other}"


BAD: list[tuple[list[str], str]] = [
    # convert: what to
    (["convert", "m.onnx", "--to", "onxn:13", "-o", "o.onnx"],
     f"no dialect 'onxn' (did you mean 'onnx'?); expected {DIALECTS}"),
    (["convert", "m.onnx", "--to", "13", "-o", "o.onnx"], "'13' names no dialect; did you mean 'onnx:13'?"),
    (["convert", "m.onnx", "--to", "5.1", "-o", "o.onnx"], "'5.1' names no dialect; did you mean 'directml:5.1'?"),
    (["convert", "m.onnx", "--to", "", "-o", "o.onnx"], f"no dialect ''; expected {DIALECTS}"),
    (["convert", "m.onnx", "--to", ":", "-o", "o.onnx"], f"no dialect ''; expected {DIALECTS}"),
    (["convert", "m.onnx", "--to", "onnx:", "-o", "o.onnx"], no_opset("''")),
    (["convert", "m.onnx", "--to", "onnx:0", "-o", "o.onnx"], no_opset("'0'")),
    (["convert", "m.onnx", "--to", "onnx:1_3", "-o", "o.onnx"], no_opset("'1_3'")),
    (["convert", "m.onnx", "--to", "onnx:1٣", "-o", "o.onnx"], no_opset("'1٣'")),
    (["convert", "m.onnx", "--to", "onnx: 13", "-o", "o.onnx"], no_opset("' 13'")),
    (["convert", "m.onnx", "--to", f"onnx:{LONG}", "-o", "o.onnx"], no_opset(CUT)),
    (["convert", "m.onnx", "--to", "onnx:\x1b[2J", "-o", "o.onnx"], no_opset(r"'\x1b[2J'")),
    (["convert", "m.onnx", "--to", "onnx:99", "-o", "o.onnx"], f"opset 99 is not known; expected 1 to {NEWEST}"),
    (["convert", "m.onnx", "--to", "openvino:2", "-o", "o.xml"], VERSION_1.format("'2'")),
    (["convert", "m.onnx", "--to", "directml:9", "-o", "o.json"],
     f"DirectML has no feature level '9'; expected {LEVELS}"),
    (["convert", "m.onnx", "--to", "onnx", "-o", ""],
     "Invalid value for '-o' / '--output': " + EMPTY.format("convert")),
    (["convert", "", "--to", "onnx", "-o", "o.onnx"], "Invalid value for 'MODEL': " + EMPTY.format("convert")),
    (["convert", "no.onnx", "--to", "onnx", "-o", "o.onnx"], "there is no file no.onnx"),
    (["convert", "m\0.onnx", "--to", "onnx", "-o", "o.onnx"],
     (r"Invalid value for 'MODEL': 'm\x00.onnx' holds a NUL character, which no path can "
      "(minuend convert --help shows the options)")),
    (["convert", "m\udcff.onnx", "--to", "onnx", "-o", "o.onnx"], r"there is no file m\udcff.onnx"),
    (["convert", "m\x1b[31m.onnx", "--to", "onnx", "-o", "o.onnx"], r"there is no file m\x1b[31m.onnx"),
    (["convert", f"{LONG}.onnx", "--to", "onnx", "-o", "o.onnx"], f"there is no file {'9' * 900}…{'9' * 95}.onnx"),
    # fix, check: where it is to run
    (["fix", "m.onnx", "--target", "", "-o", "o.onnx"], no_target("''")),
    (["fix", "m.onnx", "--target", "onxn:13", "-o", "o.onnx"],
     "'onxn:13' is no target of fix (did you mean 'onnx'?); expected a runtime, or onnx: and an opset"),
    (["fix", "m.onnx", "--target", "onnx:", "-o", "o.onnx"],
     "'onnx:' is no target of fix (did you mean 'onnx'?); expected a runtime, or onnx: and an opset"),
    (["fix", "m.onnx", "--target", "onnx:²", "-o", "o.onnx"], no_opset("'²'")),
    (["fix", "m.onnx", "--target", "onnx:٣", "-o", "o.onnx"], no_opset("'٣'")),
    (["fix", "m.onnx", "--target", "openvino-cpu", "-o", ""],
     "Invalid value for '-o' / '--output': " + EMPTY.format("fix")),
    (["fix", "", "--target", "openvino-cpu", "-o", "o.onnx"], "Invalid value for 'MODEL': " + EMPTY.format("fix")),
    (["check", "m.onnx", "--target", ""], f"no target is given; expected {MODELS}"),
    (["check", "m.onnx", "--target", ","], f"no target is given; expected {MODELS}"),
    (["check", "m.onnx", "--target", "opnvino-cpu"], no_target("'opnvino-cpu'", " (did you mean 'openvino-cpu'?)")),
    (["check", "m.onnx", "--target", LONG], no_target(CUT)),
    (["check", "m.onnx", "--target", "onnx:13"],
     f"'onnx:13' is a version of a standard, which fix and convert take; check takes what runs a model: {MODELS}"),
    (["check", "m.onnx", "--target", "torch-cpu@"], "no release of torch-cpu that starts with ''; there are {torch}"),
    (["check", "m.onnx", "--target", "torch-cpu@²"], "no release of torch-cpu that starts with '²'; there are {torch}"),
    (["check", "m.onnx", "--target", "torch-cpu@٢"], "no release of torch-cpu that starts with '٢'; there are {torch}"),
    (["check", "", "--target", "openvino-cpu"], "Invalid value for 'MODEL…': " + EMPTY.format("check")),
    (["check", "folder.onnx", "--target", "openvino-cpu"],
     f"folder.onnx is a folder without a model; expected {SUFFIXES}"),
    (["check", "no/*.onnx", "--target", "openvino-cpu"], f"no/*.onnx: no file matches it; expected {SUFFIXES}"),
    (["check", "*.npy", "--target", "openvino-cpu"], f"*.npy: 2 match it, and none is a model; expected {SUFFIXES}"),
    (["check", "m.onnx", "--target", "openvino-cpu", "--fail-on", "different"],
     ("no verdict 'different' (did you mean 'different-numbers'?) counts; expected different-numbers, "
      "not-implemented, invalid or unknown")),
    (["check", "m.onnx", "--target", "openvino-cpu", "--fail-on", ","],
     "no verdict is given that counts; expected different-numbers, not-implemented, invalid or unknown"),
    (["check", "m.onnx", "--target", "openvino-cpu", "--assume", "frme=0..9"],
     "something is assumed of 'frme' (did you mean 'frame'?), and no model has an input or a value of that name"),
    (["check", "m.onnx", "--target", "openvino-cpu", "--assume", "frame=9..0"],
     "'frame' is assumed to be '9..0', which is empty; expected lo..hi, an open end as 0.. or ..9, or one number"),
    (["check", "m.onnx", "--target", "openvino-cpu", "--no-config", "--write-baseline"],
     "--write-baseline and --no-config exclude each other (minuend check --help shows the options)"),
    (["check", "m.onnx", "--target", "openvino-cpu", "--no-config", "--config", "x.toml"],
     "--config and --no-config exclude each other (minuend check --help shows the options)"),
    (["check", "m.onnx", "--target", "openvino-cpu", "--config", "no.toml"], "no.toml: No such file or directory"),
    (["check", "m.onnx", "--target", "openvino-cpu", "--sarif", "o", "--junit", "./o"],
     "the outputs ./o and o are one file; nothing is written, name outputs that differ"),
    (["check", "m.onnx", "m.xml", "--target", "openvino-cpu", "--run", "--input", "frame=a.npy"],
     "--input tells what one model gets, and 2 are given; name one model"),
    (["completion", "tcsh"],
     ("Invalid value for '{bash|zsh|fish}': 'tcsh' is not one of 'bash', 'zsh', 'fish'. "
      "(minuend completion --help shows the options)")),
    (["init", "models"], "Got unexpected extra argument (models) (minuend init --help shows the options)"),
    (["schema", "chek"], "no verb 'chek' (did you mean 'check'?) reports in JSON; expected {verbs}"),
    (["check", "m.txt", "--target", "openvino-cpu"],
     f"m.txt has the suffix '.txt', which names no kind of model; expected {SUFFIXES}"),
    (["check", "m.onnx", "--target", "openvino-cpu", "--sarif", ""],
     "Invalid value for '--sarif': " + EMPTY.format("check")),
    # delta: paths, levels, and what is no verb
    (["delta", "make", "", "b", "-o", "d"], "Invalid value for 'BASE': " + EMPTY.format("delta make")),
    (["delta", "apply", "b", "", "-o", "t"], "Invalid value for 'D': " + EMPTY.format("delta apply")),
    (["delta", "apply", "b", "d", "-o", ""], "Invalid value for '-o' / '--output': " + EMPTY.format("delta apply")),
    (["delta", "verify", "b", "d", ""], "Invalid value for '[TUNED]': " + EMPTY.format("delta verify")),
    (["delta", "info", "no.safetensors"], "there is no file no.safetensors"),
    (["delta", "mend"], "No such command 'mend'. (minuend delta --help shows the options)"),
    (["delta", "make", "a", "b", "-o", "d", "--level", "23"],
     "Invalid value for '--level': 23 is not in the range 1<=x<=22. (minuend delta make --help shows the options)"),
    # sub: files and rules
    (["sub", "", "a.npy"], "Invalid value for 'A': " + EMPTY.format("sub")),
    (["sub", "a.npy", ""], "Invalid value for 'B': " + EMPTY.format("sub")),
    (["sub", "a.npy", "a.npy", "-o", ""], "Invalid value for '-o' / '--output': " + EMPTY.format("sub")),
    (["sub", "folder.npy", "a.npy"], "folder.npy is a folder; expected a file"),
    (["sub", "a.npy", "a.npy", "--as", ""], f"no dialect ''; expected {DIALECTS}"),
    (["sub", "a.npy", "a.npy", "--as", "onnx:"], no_opset("''")),
    (["sub", "a.npy", "a.npy", "--as", "onnx:6,"],
     "'' says nothing to ONNX Sub-6; expected the opset in first place or NAME=VALUE"),
    (["sub", "a.npy", "a.npy", "--as", "onnx:6,axis=1_0"],
     "attribute 'axis' of Sub-6 is '1_0'; expected a whole number (INT)"),
    (["sub", "a.npy", "a.npy", "--as", "onnx:6,axis=١"],
     "attribute 'axis' of Sub-6 is '١'; expected a whole number (INT)"),
    (["sub", "a.npy", "a.npy", "--as", "onnx:6,axis= 1"],
     "attribute 'axis' of Sub-6 is ' 1'; expected a whole number (INT)"),
    (["sub", "a.npy", "a.npy", "--as", f"onnx:6,axis={LONG}"],
     f"attribute 'axis' of Sub-6 is {CUT}; expected a whole number (INT)"),
    (["sub", "a.npy", "a.npy", "--as", "onnx:1,consumed_inputs=0/1_0"],
     "attribute 'consumed_inputs' of Sub-1 is '0/1_0'; expected whole numbers with a / between them (INTS)"),
    (["sub", "a.npy", "a.npy", "--as", "openvino:opset1_0"], VERSION_1.format("'opset1_0'")),
    (["sub", "a.npy", "a.npy", "--as", "openvino:opset"], VERSION_1.format("'opset'")),
    # demo, run, prove, vectors, spec, diff, targets
    (["demo", "-o", ""], "Invalid value for '-o' / '--output': " + EMPTY.format("demo")),
    (["demo", "-o", "folder.npy"], "folder.npy exists; name a folder that does not"),
    (["demo", "-o", "no/v"], "there is no folder no to write v to"),
    (["run", "", "-o", "o"], "Invalid value for 'MODEL': " + EMPTY.format("run")),
    (["run", "m.onnx", "-o", ""], "Invalid value for '-o' / '--output': " + EMPTY.format("run")),
    (["run", "m.onnx", "-o", "o", "--input", ""], "--input '' names no input; expected NAME=FILE"),
    (["run", "m.onnx", "-o", "o", "--max-bytes", "1_0"], BYTES.format("1_0")),
    (["run", "m.onnx", "-o", "o", "--max-bytes", "-1"], BYTES.format("-1")),
    (["prove", ""], f"no runtime ''; expected {ADAPTERS}"),
    (["prove", "numpi"], f"no runtime 'numpi' (did you mean 'numpy'?); expected {ADAPTERS}"),
    (["prove", "numpy", "--junit", ""], "Invalid value for '--junit': " + EMPTY.format("prove")),
    (["prove", "numpy", "--target", "numpi"], no_target("'numpi'", " (did you mean 'numpy'?)")),
    (["measure", "", "-o", "m.json"], f"no runtime ''; expected {ADAPTERS}"),
    (["measure", "numpy", "-o", ""], "Invalid value for '-o' / '--output': " + EMPTY.format("measure")),
    (["measure", "numpy", "-o", "m.json", "--isa", "avx2"],
     "numpy has no switch that limits its instruction sets; measure it as it is"),
    (["targets", "add", ""], "Invalid value for 'FILE': " + EMPTY.format("targets add")),
    (["targets", "remove", ""], "'' is no target that you added; there are none"),
    (["vectors", "--opset", "99", "-o", "v"], f"opset 99 is not known; expected 1 to {NEWEST}"),
    (["vectors", "--opset", "0", "-o", "v"], f"ONNX has no opset 0 with Sub; {OPSETS}"),
    (["vectors", "--opset", "", "-o", "v"], COMMAS.format("''")),
    (["vectors", "--opset", ",", "-o", "v"], COMMAS.format("','")),
    (["vectors", "--opset", "1_4", "-o", "v"], COMMAS.format("'1_4'")),
    (["vectors", "--opset", "7", "-o", ""], "Invalid value for '-o' / '--output': " + EMPTY.format("vectors")),
    (["vectors", "--opset", "7", "-o", "folder.npy"], "folder.npy exists; name a folder that does not"),
    (["vectors", "--opset", "7", "-o", "no/v"], "there is no folder no to write v to"),
    (["spec", ""], f"no dialect ''; expected {DIALECTS}"),
    (["spec", "onnx:"], no_opset("''")),
    (["spec", "onnx:1_3"], no_opset("'1_3'")),
    (["spec", f"onnx:{LONG}"], no_opset(CUT)),
    (["spec", "opnvino"], f"no dialect 'opnvino' (did you mean 'openvino'?); expected {DIALECTS}"),
    (["diff", "", ""], f"no dialect ''; expected {DIALECTS}"),
    (["diff", "onnx:1", "onnx:"], no_opset("''")),
    (["targets", "--diff", "", ""], no_target("''")),
]  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.zeros((2, 3), np.float32))
    shutil.copy(EXAMPLES / "bgsub.onnx", "m.onnx")
    for name in ("folder.npy", "folder.onnx", "folder.xml", "folder.json"):
        os.mkdir(name)
    return tmp_path


@pytest.mark.parametrize(("argv", "message"), BAD, ids=[ascii(" ".join(argv))[:70] for argv, _ in BAD])
def test_what_is_no_argument_is_told(
    here: Path, capfd: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    before = sorted(os.listdir())
    torch = listed(name.partition("@")[2] for name in targets.names() if name.startswith("torch-cpu@"))
    message = message.replace("{verbs}", listed(schemas.names()))
    wanted = message.replace("{here}", str(here)).replace("{torch}", torch)
    assert (cli.main(argv), *capfd.readouterr()) == (2, "", f"error: {wanted}\n")
    assert sorted(os.listdir()) == before


def test_every_verb_is_in_the_table() -> None:
    assert {argv[0] for argv, _ in BAD} == set(cli.minuend.commands)


# ---- what is no error of this package -----------------------------------------------------------------------------


def fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("minuend.files.policy_comparison.compare_files", fail)


def test_an_error_on_the_way_of_a_signal_is_the_signal(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A signal within ``with lock`` may leave the lock half taken: RuntimeError, release unlocked lock."""
    error = RuntimeError("release unlocked lock")
    error.__context__ = signals.Ended(15)
    fails_with(monkeypatch, error)
    assert (cli.main(["sub", "a.npy", "a b.npy"]), *capfd.readouterr()) == (
        143,
        "",
        "error: interrupted by SIGTERM; nothing was written\n",
    )


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("onxn"), "KeyError: 'onxn'"),
        (EOFError(), "EOFError"),
        (AssertionError(), "AssertionError"),
        (ValueError("x" * 5000), f"ValueError: {'x' * 288}…"),
        (
            ModuleNotFoundError("No module named 'minuend.no'", name="minuend.no"),
            "ModuleNotFoundError: No module named 'minuend.no'",
        ),
    ],
)
def test_a_defect_ends_with_3_and_asks_to_report_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: Exception, told: str
) -> None:
    monkeypatch.delenv(cli.TRACEBACK, raising=False)
    fails_with(monkeypatch, error)
    assert (cli.main(["sub", "a.npy", "a b.npy"]), *capfd.readouterr()) == (
        3,
        "",
        (
            f"error: this is a defect of {about.tool()}: {told}\n"
            "please report it, with the command: minuend sub a.npy 'a b.npy'\n"
            "MINUEND_TRACEBACK=1 shows where it happened; nothing was written\n"
        ),
    )


@pytest.mark.usefixtures("here")
def test_a_defect_shows_where_it_happened_when_asked(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(cli.TRACEBACK, "1")
    fails_with(monkeypatch, KeyError("onxn"))
    assert cli.main(["sub", "a.npy", "a.npy"]) == 3
    err = capfd.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert "\nKeyError: 'onxn'\nerror: this is a defect of minuend " in err


def noted(error: Exception) -> Exception:
    error.add_note("half of it stays in x; --resume goes on with it")
    return error


@pytest.mark.usefixtures("here")
def test_a_defect_says_what_is_left_of_the_work(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, noted(KeyError("onxn")))
    assert cli.main(["sub", "a.npy", "a.npy"]) == 3
    assert capfd.readouterr().err.endswith("; nothing was written; half of it stays in x; --resume goes on with it\n")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "there is not enough memory for this"),
        (noted(MemoryError()), "there is not enough memory for this; half of it stays in x; --resume goes on with it"),
        (RecursionError(), "the input nests deeper than this program can follow"),
        (ModuleNotFoundError("No module named 'x'", name="x.y"), "this needs the package 'x', which is not installed"),
        (OSError(5, "Input/output error", b"a\xff"), r"a\udcff: Input/output error"),
        (OSError("told in words"), "told in words"),
    ],
)
def test_what_the_system_lacks_ends_with_2(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: Exception, message: str
) -> None:
    fails_with(monkeypatch, error)
    assert (cli.main(["sub", "a.npy", "a.npy"]), *capfd.readouterr()) == (2, "", f"error: {message}\n")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "argv",
    [
        "sub a.npy a.npy -o -", "sub a.npy a.npy -o o.npy --plot -", "run m.onnx --input a=a.npy -o -",
        "fix m.onnx --target openvino-cpu -o -", "convert m.onnx --to openvino -o -", "delta make a.npy a.npy -o -",
        "delta apply a.npy d -o -", "vectors --opset 14 -o -", "measure numpy -o -", "prove numpy --junit -",
        "check m.onnx --target openvino-cpu --sarif -", "check m.onnx --target openvino-cpu --junit=-",
        "init m.onnx -o -", "demo -o -",
    ],
)  # fmt: skip
def test_a_hyphen_is_no_output(capfd: pytest.CaptureFixture[str], argv: str) -> None:
    """Half of the verbs wrote a file or a folder of that name, where the shell's user meant standard output."""
    before = sorted(os.listdir())
    assert cli.main(argv.split()) == 2
    assert "'-' is no file, and nothing is written to standard output under that name" in capfd.readouterr().err
    assert sorted(os.listdir()) == before


@pytest.mark.usefixtures("here")
def test_an_error_after_something_was_written_says_so(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device", "report")

    monkeypatch.setattr("minuend.cli.arrays.report", full)
    assert (cli.main(["sub", "a.npy", "a.npy", "-o", "o.npy"]), *capfd.readouterr()) == (
        2,
        "",
        "error: report: No space left on device; o.npy was written\n",
    )


# ---- packages that are not installed --------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("vectors --opset 7 -o v", "vectors needs the package 'onnx': pip install \"minuend[onnx]\""),
        ("check m.onnx --target openvino-cpu", NO_ONNX),
        ("run m.onnx -o o", NO_ONNX),
        ("fix m.onnx --target openvino-cpu -o o.onnx", NO_ONNX),
        ("convert m.onnx --to openvino -o o.xml", NO_ONNX),
        ("convert m.json --to onnx -o o.onnx", NO_ONNX),
        ("sub a.npy a.npy -o o.pb", "o.pb needs the package 'onnx': pip install \"minuend[onnx]\""),
        (
            "sub a.npy a.npy -o o.safetensors",
            "o.safetensors needs the package 'safetensors': pip install \"minuend[safetensors]\"",
        ),
    ],
)
def test_a_package_that_is_not_installed_is_named(argv: str, message: str) -> None:
    shutil.copy(EXAMPLES / "directml/row_means.json", "m.json")
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['onnx', 'safetensors', 'onnxruntime', 'openvino', 'torch'])); "
        "from minuend.cli.program import main; raise SystemExit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code, *argv.split()], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"error: {message}\n")
