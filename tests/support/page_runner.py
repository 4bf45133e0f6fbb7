"""The one runner of Markdown pages: what a page shows is what its commands print.

``run`` takes a whole page: its blocks run from top to bottom, in one folder, with one Python namespace. ``console``
blocks hold commands behind ``$`` with what they print, ``python`` blocks are doctests, or files where their first line
is ``# NAME.py``. Tests of pages with other blocks run these one by one, with ``printed`` and ``doctested``.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minuend.cli.program import main

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\w+\.py)\b")


def text(page: str) -> str:
    """The text of a page of docs/, or of the README."""
    return (ROOT / page if page == "README.md" else ROOT / "docs" / page).read_text("utf-8")


def blocks(page: str, kind: str) -> list[str]:
    """The bodies of a page's blocks of a kind, such as ``console``, in order."""
    return [found[2] for found in _BLOCK.finditer(text(page)) if found[1] == kind]


def commands(block: str) -> list[list[str]]:
    """The commands of a console block: program and arguments."""
    return [shlex.split(line.removeprefix("$ ")) for line in block.splitlines() if line.startswith("$ ")]


def timeless(shown: str) -> str:
    """A text without what another run changes: how long it took."""
    return re.sub(r"in [\d.]+ s \([\d.]+ GB/s\)", "in 0.000 s (0.00 GB/s)", shown)


def run(page: str, capfd: pytest.CaptureFixture[str]) -> Iterator[tuple[str, str]]:
    """Run every block in the working directory; yield what the page shows and what came, block by block."""
    names: dict[str, Any] = {}
    for found in _BLOCK.finditer(text(page)):
        kind, body = found[1], found[2]
        if kind == "console":
            yield timeless(body), timeless(printed(body, capfd))
        elif kind == "python" and (file := _FILE.match(body)):
            Path(file[1]).write_text(body, encoding="utf-8")
        elif kind == "python" and ">>>" in body:
            yield "", doctested(body, names, page)


def printed(block: str, capfd: pytest.CaptureFixture[str]) -> str:
    """A console block as its commands print it here."""
    shown = ""
    for line in block.splitlines():
        if line.startswith("$ "):
            program, *argv = shlex.split(line.removeprefix("$ "))
            if program == "python":
                subprocess.run([sys.executable, *argv], check=True)
            else:
                assert program == "minuend", line
                main(argv)
            captured = capfd.readouterr()
            shown += f"{line}\n{captured.out}{captured.err}"
    return shown


def doctested(body: str, names: dict[str, Any], page: str) -> str:
    """What doctest reports of a block; nothing where all is as shown."""
    test = doctest.DocTestParser().get_doctest(body, names, page, None, 0)
    runner, report = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS), io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        runner.run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    return report.getvalue()
