"""Every text that the pages from tables and the verbs ``spec``, ``diff`` and ``check`` say, for the catalogues."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Iterator
from types import ModuleType

from minuend.cli.pages import checking, standards
from minuend.language import Language
from minuend.operators import OPERATORS
from minuend.runtimes import explaining, rendering, targets
from minuend.runtimes.quirks import quirks
from minuend.standards.version import diff
from sitepages import front, staging, versions


def texts() -> list[str]:
    """The texts, in the order of the alphabet; found by saying all there is to say."""
    language = Language()
    for pages in staging.MADE:
        for _ in pages(language):
            pass
    language.tr("This page is in English only.")
    front.picture(language)
    for operator in OPERATORS:
        standards.matrix_page(versions.of_operator(operator), language)
    for op in versions.every_version():
        standards.spec_page(op, language)
        standards.diff_page(op, op, [], language)
    for home in versions.homes():
        for rows in home.operators.values():
            for old, new in itertools.permutations(rows, 2):
                standards.diff_page(old, new, diff(old, new), language)
    return sorted(language.asked.union(verdicts()) - {""})


def verdicts() -> Iterator[str]:
    """What ``check`` says."""
    yield from rendering.texts()
    yield from explaining.texts()
    yield from checking.texts()
    yield from _statements()
    for module in (rendering, explaining, checking):
        yield from _literals(module)


def _statements() -> Iterator[str]:
    """What is said of each runtime besides what was measured."""
    for name in dict.fromkeys(name.partition("@")[0] for name in targets.names()):
        known = quirks(name)
        yield from known.takes_anyway.values()
        yield from (statement for _, statement, *_ in known.strict.values())
        yield from (statement for *_, statement in known.by_isa)


def _literals(module: ModuleType) -> Iterator[str]:
    """The texts that a module translates, as they stand in its source."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tr":
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value
