"""The command line."""

from minuend.cli.program import main

__all__ = ["main"]
