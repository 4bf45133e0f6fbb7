"""Across modules: widths, colours, help and completion in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from minuend import cli
from minuend.cli.pages.layout import NARROWEST, STYLES, Table, text
from minuend.cli.program import minuend
from minuend.runtimes.answers import WORST

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def in_terminal(command: list[str], columns: int, **environment: str) -> str:
    """What a command prints in a terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    told = {**os.environ, "TERM": "xterm", **environment}
    told.pop("COLUMNS", None)
    program = "import sys; from minuend.cli import main; sys.exit(main(sys.argv[1:]))"
    whole = [sys.executable, "-c", program, *command]
    with subprocess.Popen(whole, stdin=follower, stdout=follower, stderr=follower, env=told):
        os.close(follower)
        shown = b""
        while part := _read(leader):
            shown += part
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # how Linux says that nobody writes any more
        return b""


SUB = '<ir_version: 8, opset_import: ["" : 18]> g (uint8[3] a, uint8[3] b) => (uint8[3] c) { c = Sub(a, b) }'


@pytest.fixture
def model(tmp_path: Path) -> str:
    onnx = pytest.importorskip("onnx")
    onnx.save(onnx.parser.parse_model(SUB), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def test_verdicts_are_coloured_in_a_terminal_that_nobody_asked_to_be_plain(model: str) -> None:
    check = ["check", model, "--target", "openvino-cpu@2026.4.1"]
    shown = in_terminal(check, 100)
    assert "\x1b[31mdifferent-numbers\x1b[0m" in shown
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        bare = in_terminal(check, 100, **plain)
        assert not COLOUR.search(bare)
        assert bare == COLOUR.sub("", shown.rpartition("\x1b[2K")[2])  # on a busy machine a progress bar came before


def test_errors_are_coloured_likewise() -> None:
    assert in_terminal(["spec", "onyx"], 80).startswith("\x1b[31merror:\x1b[0m ")
    assert in_terminal(["spec", "onyx"], 80, NO_COLOR="1").startswith("error: ")


PAGES = ("spec onnx:14", "spec directml:5.1", "diff onnx:13 onnx:14", "check m.onnx --target ort,ov")


@pytest.mark.parametrize("command", PAGES)
def test_pages_lay_themselves_out_from_60_columns_on(command: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(model).parent)
    lines = in_terminal(command.split(), NARROWEST, NO_COLOR="1").splitlines()
    assert len(lines) > 3
    assert [line for line in lines if len(line) > NARROWEST] == []


def test_every_verdict_has_a_colour() -> None:
    assert {*WORST, "ok", "accepted", "invalid"} == set(STYLES)
    assert "\x1b[32mok\x1b[0m" in text([Table(("", ""), (("a", "ok"),))], colour=True)
    assert "\x1b" not in text([Table(("", ""), (("a", "ok"),))])


def test_help_shows_whole_sentences(capfd: pytest.CaptureFixture[str]) -> None:
    for command in ([], *([verb] for verb in minuend.commands)):
        assert cli.main([*command, "--help"]) == 0
        out = capfd.readouterr().out
        assert "..." not in out.replace("[ARGS]...", "")
        assert max(map(len, out.splitlines())) <= 80


# ---- completion -------------------------------------------------------------------------------------------------

ASK = """{script}
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_minuend_completion minuend "${{COMP_WORDS[COMP_CWORD]}}" ""
printf "%s\\n" "${{COMPREPLY[@]}}"
case $COMP_WORDBREAKS in *[@:]*) echo breaks;; esac
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("minuend che", ["check"]),
        ("minuend check --fail", ["--fail-on"]),
        ("minuend check --target openvino-cpu@2023.", [f"openvino-cpu@2023.{i}.0" for i in range(4)]),
        ("minuend check --target ort,onnx-reference@1.14", ["ort,onnx-reference@1.14.1"]),
        ("minuend prove opencv", ["opencv-dnn"]),
        ("minuend spec dire", ["directml"]),
    ],
)
def test_bash_completes_verbs_options_and_names(words: str, found: list[str], tmp_path: Path) -> None:
    program = tmp_path / "minuend"
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom minuend.cli import main\nsys.exit(main())\n")
    program.chmod(0o755)
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = subprocess.run(["minuend", "completion", "bash"], env=path, capture_output=True, text=True, check=True)
    asked = ["bash", "--norc", "-c", ASK.format(script=script.stdout, words=words)]
    told = subprocess.run(asked, env=path, capture_output=True, text=True, check=False)
    assert told.stderr == ""
    assert told.stdout.split() == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    assert "_MINUEND_COMPLETE" in capfd.readouterr().out
