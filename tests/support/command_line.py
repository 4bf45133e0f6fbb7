"""The command line, called here or in a process of its own."""

from __future__ import annotations

import sys

import pytest

from minuend.cli.program import main


def run(capfd: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Call it, and return its status, output and messages."""
    status = main(argv)
    captured = capfd.readouterr()
    return status, captured.out, captured.err


def minuend(*argv: str, code: str = "from minuend.cli.program import main; raise SystemExit(main())") -> list[str]:
    """The arguments of a process that calls it."""
    return [sys.executable, "-c", code, *argv]
