"""What SECURITY.md promises of the code itself: nothing that is read can run, and nothing is sent anywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import minuend

ROOT = Path(minuend.__file__).parent
UNSAFE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "copyreg"}
NETWORK = {"socket", "ssl", "http", "urllib", "ftplib", "smtplib", "asyncio", "requests", "xmlrpc", "socketserver"}


def imported() -> Iterator[tuple[str, str]]:
    """Every module that a file of the package imports."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path.name, alias.name.partition(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield path.name, (node.module or "").partition(".")[0]


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Every call in the package: file, name, and the call."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield path.name, ast.unparse(node.func), node


def test_nothing_imports_what_runs_what_it_reads_or_speaks_to_the_network() -> None:
    assert [found for found in imported() if found[1] in UNSAFE | NETWORK] == []


def test_nothing_loads_pickles_or_evaluates_text() -> None:
    found = []
    for file, name, call in calls():
        stated = {one.arg: ast.unparse(one.value) for one in call.keywords}
        loads = name in ("np.load", "numpy.load") and stated.get("allow_pickle") != "False"
        reads = (
            name.endswith(("format.read_array", "fromfile", "memmap"))
            and stated.get("allow_pickle", "False") != "False"
        )
        if loads or reads or stated.get("allow_pickle") == "True" or name in ("eval", "exec", "os.system", "os.popen"):
            found.append((file, name))
        if stated.get("shell", "False") != "False":
            found.append((file, name))
    assert found == []
