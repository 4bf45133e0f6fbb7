"""Many cases in few words: their element types, versions, constants and relations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minuend.core.elements import TYPES
from minuend.runtimes.cases import CONSTANTS
from minuend.standards.dialects import dialect


def by_type(item: tuple[tuple[str, ...], Any]) -> int:
    """Sorts by element type, what concerns several of them last."""
    order = list(TYPES)
    return order.index(item[0][0]) if item[0][0] else len(order)


def types(names: Iterable[str]) -> str:
    """Element types, each once, in the order of the table of types."""
    return ", ".join(sorted(set(names), key=list(TYPES).index))


def constants(names: Iterable[str]) -> str:
    """Which operands are constants where something holds: ``"any"``, ``"not both"``, or their names."""
    found = set(names)
    if found == set(CONSTANTS):
        return "any"
    if found == set(CONSTANTS) - {"both"}:
        return "not both"
    if found == set(CONSTANTS) - {"none"}:
        return "some"
    return ", ".join(name for name in CONSTANTS if name in found)


def operators(names: Iterable[str], dtypes: set[str]) -> str:
    """Join versions by dialect: ``"onnx 1 6, openvino"``; a dialect alone stands for all versions that have a type.

    A finding of a whole model has no version and adds none.
    """
    versions: dict[str, set[str]] = {}
    for name in filter(None, names):
        home, _, version = name.partition(":")
        versions.setdefault(home, set()).add(version)
    return ", ".join(_span(home, known, dtypes) for home, known in sorted(versions.items()))


def _span(home: str, found: set[str], dtypes: set[str]) -> str:
    having = [str(version.version) for version in dialect(home).versions() if dtypes & set(version.types)]
    shown = [version for version in having if version in found]
    return home if shown == having else " ".join((home, *shown))


def some(names: Iterable[str], few: int = 3, noun: str = "relations") -> str:
    """A few names, or how many there are."""
    known = tuple(dict.fromkeys(names))
    return ", ".join(known) if len(known) <= few else f"{len(known)} {noun}"
