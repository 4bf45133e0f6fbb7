"""Pages whose blocks are run: what a page shows is what its commands print.

Blocks of a page run from top to bottom, in one folder, with one Python namespace: ``console`` blocks hold commands
behind ``$`` with what they print, ``python`` blocks are doctests, or files where their first line is ``# NAME.py``.
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

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\w+\.py)\b")


def blocks(page: str) -> list[tuple[str, str]]:
    """The blocks of a page of docs/ that run: kind and body, in order."""
    return [(found[1], found[2]) for found in _BLOCK.finditer((DOCS / page).read_text("utf-8"))]


def timeless(text: str) -> str:
    """A text without what another run changes: how long it took, and trailing spaces."""
    return re.sub(r"in [\d.]+ s \([\d.]+ GB/s\)", "in 0.000 s (0.00 GB/s)", text)


def run(page: str, capfd: pytest.CaptureFixture[str]) -> Iterator[tuple[str, str]]:
    """Run every block in the working directory; yield what the page shows and what came, block by block."""
    names: dict[str, Any] = {}
    for kind, body in blocks(page):
        file = _FILE.match(body)
        if kind == "console":
            yield timeless(body), timeless(told(body, capfd))
        elif file:
            Path(file[1]).write_text(body, encoding="utf-8")
        elif ">>>" in body:
            yield "", _doctested(body, names, page)


def told(block: str, capfd: pytest.CaptureFixture[str]) -> str:
    """A console block as it would be printed here."""
    said = ""
    for line in block.splitlines():
        if line.startswith("$ "):
            program, *argv = shlex.split(line.removeprefix("$ "))
            if program == "python":
                subprocess.run([sys.executable, *argv], check=True)
            else:
                assert program == "minuend", line
                main(argv)
            captured = capfd.readouterr()
            said += f"{line}\n{captured.out}{captured.err}"
    return said


def _doctested(body: str, names: dict[str, Any], page: str) -> str:
    """What doctest complains of in a block; nothing where all is as shown."""
    test = doctest.DocTestParser().get_doctest(body, names, page, None, 0)
    runner, said = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS), io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        runner.run(test, out=said.write, clear_globs=False)
    names.update(test.globs)
    return said.getvalue()
