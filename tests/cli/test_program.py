"""The command line: statuses, messages, and what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import child

from minuend.actions import difference
from minuend.cli import program as cli
from minuend.core import elements
from minuend.errors import SpecError
from minuend.standards import dialects

A = np.array([5, 200, 7], np.uint8)
B = np.array([10, 100, 7], np.uint8)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a.npy, b.npy, and f.npy of floats, in which commands run."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", A)
    np.save("b.npy", B)
    np.save("f.npy", np.ones((2, 3), np.float32))
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = cli.main(argv)
    captured = capfd.readouterr()
    return status, captured.out, captured.err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("argv", "status", "message"),
    [
        ("bogus", 2, "No such command 'bogus'. (minuend --help shows the options)"),
        ("sub a.npy", 2, "Missing argument 'B'. (minuend sub --help shows the options)"),
        (
            "sub a.npy b.npy --overflow clamp",
            2,
            (
                "Invalid value for '--overflow': 'clamp' is not one of 'wrap', 'saturate', 'widen', 'error'. "
                "(minuend sub --help shows the options)"
            ),
        ),
        ("sub a.npy no.npy", 2, "there is no file no.npy"),
        ("sub a.npy f.npy", 2, "A is of uint8 and B of float32; nothing is promoted, convert one of them first"),
        (
            "sub a.npy b.npy -o a.npy",
            2,
            "the output a.npy is also an input; nothing is overwritten, name another output",
        ),
        ("sub a.npy b.npy -o no/o.npy", 2, "there is no folder no to write o.npy to"),
        (
            "sub a.npy b.npy -o o.npy --overflow error",
            1,
            (
                "1 of 3 differences do not fit uint8 (0 to 255); the first is at index (0,): 5 - 10 = -5; "
                "--overflow wrap, saturate or widen gives an answer"
            ),
        ),
        ("sub a.npy b.npy --common", 2, "--common needs two files of named tensors; leave it out for single ones"),
        (
            "sub a.npy b.npy --as onnx:7",
            2,
            (
                "Sub-7 takes no element type tensor(uint8) (it came with opset 14); expected tensor(float16), "
                "tensor(float), tensor(double), tensor(int32), tensor(int64), tensor(uint32) or tensor(uint64)"
            ),
        ),
        (
            "sub f.npy f.npy --as onnx:7,axis=1",
            2,
            "Sub-7 takes no attribute 'axis' (removed in version 7); it takes none",
        ),
        ("sub f.npy f.npy --as directml:1.0", 2, "ATensor of ELEMENT_WISE_SUBTRACT-1.0 has rank 2; expected 4"),
        ("spec tosa", 2, "no dialect 'tosa'; expected directml, onnx or openvino"),
        (
            "diff onnx:6 directml:1.0",
            2,
            "onnx:6 and directml:1.0 are of two dialects; expected two versions of one (see minuend spec)",
        ),
        ("diff onnx:0 onnx:7", 2, "ONNX has no opset '0' with Sub; expected 1 or above (versions: 1, 6, 7, 13 and 14)"),
    ],
)
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
def test_the_difference_is_written_and_reported(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy", "--overflow", "widen", "--count")
    assert (status, err, np.load("o.npy").tolist()) == (0, "", [-5, 100, 0])
    assert out.splitlines()[:3] == [
        "a.npy − b.npy → o.npy",
        "uint8 (3,), 3 elements",
        "overflow: widen, 1 difference (33.3 %) does not fit uint8",
    ]


@pytest.mark.usefixtures("files")
def test_json_reports_both_jobs(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npz", "--json")
    report = json.loads(out)
    assert (status, report["version"], report["out"], report["overflow"]) == (0, 1, "o.npz", "wrap")
    assert report["tensors"] == [
        {
            "name": "difference",
            "element": "uint8",
            "a_shape": [3],
            "b_shape": [3],
            "result": "uint8",
            "shape": [3],
            "overflowed": None,
        }
    ]
    status, out, _ = run(capfd, "sub", "a.npy", "b.npy", "--json")
    (tensor,) = json.loads(out)["tensors"]
    assert (tensor["overflowed"], tensor["first"]) == (1, [[0], 5, 10])
    assert [(row["policy"], row["element"], row["low"], row["high"]) for row in tensor["answers"]] == [
        ("wrap", "uint8", 0, 251),
        ("saturate", "uint8", 0, 100),
        ("widen", "int16", -5, 100),
    ]


@pytest.mark.usefixtures("files")
def test_rules_decide_how_shapes_join(capfd: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.zeros((2, 3), np.float32))
    np.save("y.npy", np.array([1, 2], np.float32))
    assert run(capfd, "sub", "x.npy", "y.npy")[0] == 2
    for rules in ("openvino:pdpd,axis=0", "openvino:1,auto_broadcast=PDPD,axis=0", "onnx:6,axis=0,broadcast=1"):
        assert run(capfd, "sub", "x.npy", "y.npy", "-o", "o.npy", "--as", rules)[0] == 0
        assert np.load("o.npy").tolist() == [[-1] * 3, [-2] * 3]


@pytest.mark.parametrize(
    ("text", "shown", "attributes"),
    [
        ("onnx", "Sub-14", {}),
        ("onnx:13", "Sub-13", {}),
        ("onnx:10", "Sub-7", {}),
        ("onnx:6,axis=1,broadcast=1", "Sub-6", {"axis": 1, "broadcast": 1}),
        ("onnx:1,consumed_inputs=0/1", "Sub-1", {"consumed_inputs": [0, 1]}),
        ("openvino:pdpd,axis=-1", "Subtract-1", {"auto_broadcast": "pdpd", "axis": -1}),
        ("openvino:1,NONE", "Subtract-1", {"auto_broadcast": "NONE"}),
        ("directml:DML_FEATURE_LEVEL_4_1", "ELEMENT_WISE_SUBTRACT-4.1", {}),
    ],
)
def test_rules_are_read_from_the_rows(text: str, shown: str, attributes: dict[str, Any]) -> None:
    op, stated = cli.parse_rules(text)
    assert (str(op), stated) == (shown, attributes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("onnx:6,axis=x", "attribute 'axis' of Sub-6 is 'x'; expected a whole number (INT)"),
        (
            "onnx:1,consumed_inputs=a",
            "attribute 'consumed_inputs' of Sub-1 is 'a'; expected whole numbers with a / between them (INTS)",
        ),
        ("onnx:6,axis=1,axis=2", "--as onnx:6,axis=1,axis=2 states 'axis' twice; state it once"),
        ("onnx:6,broadcast=7", "attribute 'broadcast' of Sub-6 is 7; expected 0 or 1"),
        ("onnx:6,pdpd", "'pdpd' says nothing to ONNX Sub-6; expected the opset in first place or NAME=VALUE"),
        (
            "openvino:1,foo",
            (
                "'foo' says nothing to OpenVINO Subtract-1; "
                "expected the operator version in first place, NAME=VALUE, none, numpy or pdpd"
            ),
        ),
        ("tosa:1", "no dialect 'tosa'; expected directml, onnx or openvino"),
    ],
)
def test_rules_that_say_nothing_are_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        cli.parse_rules(text)
    assert str(caught.value) == message


def test_spec_shows_every_type_of_every_version(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "spec", "--json")
    rows = json.loads(out)
    versions = [version for home in dialects.dialects().values() for version in home.versions]
    assert status == 0
    assert [(row["dialect"], row["version"], row["types"]) for row in rows] == [
        (version.dialect, version.version, list(version.types)) for version in versions
    ]
    status, out, _ = run(capfd, "spec")
    lines = {words[0]: len(words) - 1 for line in out.split("version")[0].splitlines()[3:] if (words := line.split())}
    assert lines == {
        name: count for name in elements.TYPES if (count := sum(name in version.types for version in versions))
    }
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("home", dialects.dialects().values(), ids=lambda home: home.name)
def test_spec_of_a_version_shows_all_its_row_in_the_dialects_words(
    capfd: pytest.CaptureFixture[str], home: dialects.Dialect
) -> None:
    for version in home.versions:
        status, out, _ = run(capfd, "spec", f"{home.name}:{version.version}")
        flat = " ".join(out.split())
        wanted = [home.spell(name) for name in version.types] + [*version.notes, *map(str, version.facts)]
        wanted += [row.doc for row in (*version.attributes, *version.inputs, *version.outputs) if len(row.doc) < 40]
        assert (status, [text for text in wanted if text not in flat]) == (0, [])
        status, out, _ = run(capfd, "spec", f"{home.name}:{version.version}", "--json")
        assert json.loads(out)["spelled"] == [home.spell(name) for name in version.types]


def test_diff_takes_a_few_lines(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "diff", "onnx:6", "onnx:7") == (
        0,
        (
            "ONNX Sub-6 → Sub-7\n\n"
            "attributes           −axis −broadcast\n"
            "broadcasting         onnx_legacy → numpy\n"
            "inference            shape of A → broadcast shape\n"
            "facts.since_version  6 → 7\n"
            "worded anew          inputs.A, inputs.B, outputs.C, notes\n"
        ),
        "",
    )
    assert run(capfd, "diff", "onnx:7", "onnx:12")[1] == "ONNX Sub-7: the same version, nothing changed\n"
    assert json.loads(run(capfd, "diff", "directml:2.1", "directml:3.0", "--json")[1]) == {
        "dialect": "directml",
        "old": "2.1",
        "new": "3.0",
        "changes": [{"field": "ranks", "added": [[1, 8]], "removed": [[4, 4]]}],
    }


@pytest.mark.usefixtures("files")
def test_ctrl_c_ends_with_130_and_leaves_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli._Bar, "__call__", interrupt)
    status, out, err = run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy")
    assert (status, out, err.strip()) == (130, "", "error: interrupted; nothing was written")
    assert sorted(os.listdir()) == ["a.npy", "b.npy", "f.npy"]


def minuend(*argv: str, code: str = "from minuend.cli.program import main; raise SystemExit(main())") -> list[str]:
    return [sys.executable, "-c", code, *argv]


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.usefixtures("files")
def test_a_real_ctrl_c_leaves_nothing() -> None:
    np.save("big.npy", np.zeros((2000, 2000), np.int32))
    slow = (
        # In the background SIGINT comes ignored, and a child inherits that.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "import time; from minuend.actions import difference; difference.BLOCK_BYTES = 1000; "
        "from minuend.cli import program; program._Bar.__call__ = lambda *_: time.sleep(0.01); "
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


def test_no_progress_is_shown_where_standard_error_is_no_terminal(
    files: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(difference, "BLOCK_BYTES", 1)
    monkeypatch.setattr(time, "perf_counter", iter(range(10_000)).__next__)
    assert run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy")[2] == ""
    assert (files / "o.npy").exists()


def test_progress_is_shown_on_a_terminal_once_the_work_is_long(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = cli._Bar()
    bar(1, 10)
    assert bar._bar is None
    bar._start -= 2
    with bar:
        bar(5, 10)
        assert bar._bar.tasks[0].completed == 5
    assert capfd.readouterr().out == ""


def test_help_is_quick_it_imports_nothing_that_it_does_not_show() -> None:
    work = subprocess.run(
        [sys.executable, "-X", "importtime", *minuend("--help")[1:]],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    imported = {line.rpartition("|")[2].strip() for line in work.stderr.splitlines() if "|" in line}
    assert "minuend.cli.program" in imported
    assert not {"rich", "onnx", "safetensors", "minuend.storage", "minuend.cli.pages"} & imported
    assert work.stdout.startswith("Usage: minuend ")


@pytest.mark.usefixtures("files")
def test_a_comparison_of_npy_files_imports_no_optional_package() -> None:
    code = (
        "import sys; from minuend.cli.program import main; status = main(); "
        "raise SystemExit(status or len({'onnx', 'safetensors', 'openvino', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run(minuend("sub", "a.npy", "b.npy", code=code), capture_output=True, check=False, timeout=60)
    assert done.returncode == 0


def test_what_is_piped_has_no_colour_codes() -> None:
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "200"}
    out = subprocess.run(
        minuend("spec"), capture_output=True, text=True, check=True, env=environment, timeout=60
    ).stdout
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_version_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "--version")
    assert (status, out.split()[0]) == (0, "minuend")
