"""Standard streams that are closed, full, without a reader, or of few letters."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells and devices as POSIX has them")

WRITES = "sub a.npy a.npy -o o.npy"
FULL = "error: standard output: No space left on device"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.zeros((2, 3), np.float32))


def shell(line: str, **environment: str) -> tuple[int, str, str]:
    """Run a line in which ``minuend`` stands for the program."""
    program = f'"{sys.executable}" -m minuend'
    done = subprocess.run(
        ["bash", "-c", line.replace("minuend", program)],
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("argv", ["spec", "--help", "spec --help", "--version", "targets --json", WRITES])
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-", "2>&-"])
def test_closed_streams_keep_nothing_and_change_no_status(argv: str, closed: str) -> None:
    status, _, err = shell(f"minuend {argv} {closed}")
    assert (status, err) == (0, "")
    assert os.path.exists("o.npy") is (argv == WRITES)


def test_a_message_that_nobody_gets_leaves_the_status() -> None:
    assert shell("minuend spec tosa 2>&-") == (2, "", "")
    assert shell("minuend spec tosa 2>/dev/full") == (2, "", "")


@pytest.mark.parametrize("argv", ["spec", "--help", "spec --help", "--version", "targets --json", WRITES])
def test_a_reader_that_is_gone_is_no_error_to_tell(argv: str) -> None:
    """As if SIGPIPE had ended it, which shells show as 141."""
    gone = "import os, sys; read, write = os.pipe(); os.close(read); os.dup2(write, 1); "
    gone += "os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", gone, sys.executable, "-m", "minuend", *argv.split()],
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (141, b"")
    assert os.path.exists("o.npy") is (argv == WRITES)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full, as Linux has it")
@pytest.mark.parametrize("argv", ["spec", "--help", "spec --help", "--version", "targets --json"])
def test_a_full_disk_is_an_error(argv: str) -> None:
    assert shell(f"minuend {argv} >/dev/full") == (2, "", f"{FULL}\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full, as Linux has it")
def test_a_full_disk_under_the_report_does_not_hide_what_was_written() -> None:
    assert shell(f"minuend {WRITES} >/dev/full") == (2, "", f"{FULL}; o.npy was written\n")


@pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes, as Linux has them")
def test_a_name_that_is_not_utf8_is_worked_on_and_shown_escaped() -> None:
    os.rename(b"a.npy", b"\xff\x1b[2J.npy")
    status, out, err = shell("minuend sub $'\\xff\\e[2J.npy' $'\\xff\\e[2J.npy' -o $'o\\xff.npy'")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == r"\udcff\x1b[2J.npy − \udcff\x1b[2J.npy → o\udcff.npy"
    assert b"o\xff.npy" in os.listdir(b".")


def test_letters_that_a_stream_lacks_are_escaped() -> None:
    assert shell("minuend diff onnx:7 onnx:14 | head -1", PYTHONIOENCODING="latin-1")[:2] == (
        0,
        "ONNX Sub-7 \\u2192 Sub-14\n",
    )


def test_what_libraries_log_and_warn_of_stays_off_standard_error(tmp_path: Path) -> None:
    code = (
        "import logging, sys, warnings; import minuend.cli.program as program\n"
        "def run(*_):\n    logging.getLogger('asyncio').error('a log')\n    warnings.warn('a warning')\n    return 0\n"
        "program._run = run\nsys.exit(program.main(['sub']))"
    )
    for variables, told in (({}, ""), ({"PYTHONWARNINGS": "default"}, "a warning")):
        finished = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **variables},
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )
        assert finished.returncode == 0
        assert "a log" not in finished.stderr
        assert told in finished.stderr if told else finished.stderr == ""


@pytest.mark.parametrize("into", [" > o.bin", " | cat > o.bin"])
@pytest.mark.parametrize("option", ["", " --json"])
def test_what_goes_to_standard_output_is_the_output_alone(into: str, option: str) -> None:
    """The report stood behind it, so that what was piped on was no file of its format."""
    os.symlink("/dev/stdout", "link.npy")
    status, _, _ = shell("minuend sub a.npy a.npy -o o.npy")
    assert status == 0
    status, out, err = shell(f"set -o pipefail; minuend sub a.npy a.npy -o link.npy{option}{into}")
    assert (status, out) == (0, "")
    assert Path("o.bin").read_bytes() == Path("o.npy").read_bytes()
    assert ('"tool"' if option else "a.npy − a.npy → link.npy") in err


def test_what_fix_says_before_it_writes_is_not_in_the_output_either() -> None:
    shutil.copy(Path(__file__).parents[2] / "examples" / "bgsub.onnx", "m.onnx")
    os.symlink("/dev/stdout", "link.onnx")
    words = "fix m.onnx --target openvino-cpu --no-run"
    status, _, err = shell(f"minuend {words} -o o.onnx > pages; minuend {words} -o link.onnx > o.bin")
    assert status == 0
    assert Path("o.bin").read_bytes() == Path("o.onnx").read_bytes()
    assert err == Path("pages").read_text().replace("o.onnx", "link.onnx")


def test_a_report_stays_on_standard_output_beside_another_stream() -> None:
    os.symlink("/dev/null", "n.npy")
    status, out, err = shell("minuend sub a.npy a.npy -o n.npy")
    assert (status, err) == (0, "")
    assert "a.npy − a.npy → n.npy" in out


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors", "png", "pb"])
@pytest.mark.parametrize("into", ["> o.bin", ">> o.bin"])
def test_what_goes_behind_something_in_an_open_file_is_whole(suffix: str, into: str) -> None:
    """An archive went back to its members' headers, which it put at other places of a file that is only added to."""
    np.save("a.npy", np.zeros((2, 3), np.uint8))
    os.symlink("/dev/stdout", f"link.{suffix}")
    status, _, _ = shell(
        f"minuend sub a.npy a.npy -o o.{suffix}; minuend sub a.npy a.npy -o link.{suffix} | cat > piped"
    )
    assert status == 0
    status, _, _ = shell(
        f"printf first > o.bin; (exec {into}; printf second; minuend sub a.npy a.npy -o link.{suffix})"
    )
    assert status == 0
    start = b"firstsecond" if into[:2] == ">>" else b"second"
    assert Path("o.bin").read_bytes() == start + Path("piped").read_bytes()
    if suffix == "npz":
        assert [array.tolist() for array in np.load("piped").values()] == [[[0] * 3] * 2]


@pytest.mark.parametrize("into", ["| cat > o.bin", "> o.bin", ">> o.bin"])
def test_what_is_written_at_many_places_does_not_go_into_an_open_file(into: str) -> None:
    """A delta's header stood at the beginning of the file, or at its end, and a TIFF ended in a defect."""
    save_file({"x": np.zeros(3, np.float32)}, "b.safetensors")
    np.save("a.npy", np.zeros((2, 3), np.uint8))
    os.symlink("/dev/stdout", "link.tif")
    for verb, words in (
        ("delta make b.safetensors b.safetensors -o /dev/stdout", "/dev/stdout gets its header last"),
        ("sub a.npy a.npy -o link.tif", "a TIFF is written with its places last"),
    ):
        status, _, err = shell(f"set -o pipefail; minuend {verb} {into}")
        assert (status, err) == (2, f"error: {words}, which a pipe or an open file does not take; name a file\n")


def test_a_tiff_goes_to_no_device() -> None:
    np.save("a.npy", np.zeros((2, 3), np.uint8))
    os.symlink("/dev/null", "n.tif")
    status, _, err = shell("minuend sub a.npy a.npy -o n.tif")
    assert status == 2
    assert err.startswith("error: a TIFF is written with its places last, which a pipe or an open file does not take")
