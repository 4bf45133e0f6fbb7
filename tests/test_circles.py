"""No modules import each other in a circle, neither when the program runs nor for the names of types alone."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import minuend

ROOT = Path(minuend.__file__).parent

RUNTIME = [{"minuend.onnx.graphs.inference", "minuend.onnx.graphs.walk"}]
"""Circles of imports that run, which may only shrink."""

TYPING_FOLDERS = {"", "directml", "judging", "models", "onnx", "openvino", "rewriting", "runtimes", "standards"}
"""Folders that take part in circles when imports for typing count as well; ``""`` is the package itself."""

TYPING_MODULES = 84
"""How many modules those circles have together; the number may only become smaller."""


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = ["minuend", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in ROOT.rglob("*.py")}
KERNEL = "minuend._native"


def imports(node: ast.AST, *, typing: bool) -> Iterator[str]:
    """Yield the modules of this package that a syntax tree imports, for typing too where that is wanted."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test) and not typing:
            for other in child.orelse:
                yield from imports(other, typing=typing)
            continue
        if isinstance(child, ast.Import):
            yield from (one.name for one in child.names if one.name in MODULES)
        elif isinstance(child, ast.ImportFrom) and child.level == 0 and child.module in MODULES:
            names = (f"{child.module}.{one.name}" for one in child.names)
            yield from (name if name in MODULES else child.module for name in names if name != KERNEL)
        yield from imports(child, typing=typing)


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return all modules that one leads to, itself only where it is in a circle."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += graph[one]
    return found


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules each of which leads to all others of its set."""
    leads = {name: reachable(graph, name) for name in graph}
    found: list[set[str]] = []
    for name in sorted(graph):
        if name in leads[name] and not any(name in one for one in found):
            found.append({other for other in leads[name] if name in leads[other]})
    return found


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of all modules."""
    return {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}


def graph_of_package(*, typing: bool) -> dict[str, set[str]]:
    """Return what each module imports."""
    return {name: set(imports(tree, typing=typing)) - {name} for name, tree in trees().items()}


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [{"b", "c"}]


def test_imports_that_run_have_no_circles_but_the_known_ones() -> None:
    assert [one for one in circles(graph_of_package(typing=False)) if not any(one <= known for known in RUNTIME)] == []


def test_imports_for_typing_have_no_more_circles_than_are_known() -> None:
    modules = [name for one in circles(graph_of_package(typing=True)) for name in one]
    assert {f"{name}.".split(".")[1] for name in modules} <= TYPING_FOLDERS
    assert len(modules) <= TYPING_MODULES
