"""Python sessions that are run when the site is built, and shown with what they printed."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

NO_FILES: Mapping[str, str] = MappingProxyType({})
IMPORTS = ("import numpy as np", "import minuend as mn")


def session(statements: Sequence[str], *, error: bool = False, files: Mapping[str, str] = NO_FILES) -> str:
    """Run statements one after the other, and return them as the interpreter shows them.

    Args:
        statements: what is typed, :data:`IMPORTS` left out, which always come first.
        error: whether the last one has to fail; its traceback is shown as doctest writes it.
        files: names and texts of files that lie in the folder where they run.

    Raises:
        AssertionError: the last statement was to fail and did not. Any other statement's own error, as it is.

    >>> print(session(["a = np.uint8(3)", "mn.subtract(a, np.uint8(5))"]))
    >>> a = np.uint8(3)
    >>> mn.subtract(a, np.uint8(5))
    np.uint8(254)
    """
    names: dict[str, Any] = {}
    for statement in IMPORTS:
        _run(statement, names)
    shown = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in files.items():
            Path(name).write_text(text, encoding="utf-8")
        for at, statement in enumerate(statements):
            failing = error and at == len(statements) - 1
            shown += [_typed(statement), _failed(statement, names) if failing else _run(statement, names)]
    return "\n".join(part.rstrip("\n") for part in shown if part)


def _typed(statement: str) -> str:
    first, *more = statement.split("\n")
    return "\n".join([f">>> {first}", *(f"... {line}" for line in more)])


def _run(statement: str, names: Mapping[str, Any]) -> str:
    out = io.StringIO()
    tree = ast.parse(statement)
    with contextlib.redirect_stdout(out):
        if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
            value = eval(compile(ast.Expression(tree.body[0].value), "<example>", "eval"), dict(names))
            if value is not None:
                print(repr(value))
        else:
            exec(compile(tree, "<example>", "exec"), names)  # type: ignore[arg-type]
    return out.getvalue()


def _failed(statement: str, names: Mapping[str, Any]) -> str:
    try:
        _run(statement, names)
    except Exception:
        kind, value, _ = sys.exc_info()
        return "Traceback (most recent call last):\n    ...\n" + "".join(traceback.format_exception_only(kind, value))
    raise AssertionError(f"{statement} was to fail")
