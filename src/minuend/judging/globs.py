"""Globs as ``minuend.toml`` has them: ``*`` within a name, ``**`` for any folders."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence


def matches(pattern: str, path: str) -> bool:
    """Whether a path with ``/`` is the pattern, or one that it means: ``*`` within a name, ``**`` for any folders.

    >>> matches("exports/*.onnx", "exports/a.onnx"), matches("*.onnx", "exports/a.onnx"), matches("**/a*", "a.onnx")
    (True, False, True)
    """
    return path == pattern or _reached(_tokens(pattern.removeprefix("./")), path)


def spelled(path: str) -> str:
    """Return a glob that means a path, in UTF-8: bytes of a name that are none stand as ``?``.

    >>> spelled("a.onnx"), spelled("\\udcff.onnx")
    ('a.onnx', '?.onnx')
    """
    return "".join("?" if "\ud800" <= one <= "\udfff" else one for one in path)


def _reached(tokens: Sequence[str], path: str) -> bool:
    """Whether tokens match a path; each token is tried once at each place, so the time is their product at most."""
    places = {0}
    for token in tokens:
        if token == "**/":
            first = min(places)
            places |= {i + 1 for i in range(first, len(path)) if path[i] == "/"}
        elif token == "**":
            places = set(range(min(places), len(path) + 1))
        elif token == "*":
            places |= _within_names(places, path)
        else:
            places = {i + 1 for i in places if i < len(path) and _is_one(path[i], token)}
        if not places:
            return False
    return len(path) in places


def _within_names(places: Iterable[int], path: str) -> set[int]:
    """Where ``*`` can end that begins at one of these places."""
    found: set[int] = set()
    for place in sorted(places):
        end = place
        while end < len(path) and path[end] != "/" and end + 1 not in found:
            end += 1
            found.add(end)
    return found


def _is_one(character: str, token: str) -> bool:
    """Whether a character is what a token of one character or a class stands for."""
    if len(token) == 1:
        return character == token or (token == "?" and character != "/")
    negated, ranges = _class(token) or (False, ())
    return character != "/" and negated != any(low <= character <= high for low, high in ranges)


@functools.lru_cache(maxsize=1024)
def _tokens(pattern: str) -> tuple[str, ...]:
    """Split a pattern into ``**/``, ``**``, ``*``, classes such as ``[a-z]``, and characters."""
    parts = re.findall(r"\*\*/|\*\*|\*|\[[^\]/]+\]|.", pattern, re.DOTALL)
    return tuple(one for part in parts for one in (part if part[0] == "[" and _class(part) is None else [part]))


@functools.lru_cache(maxsize=1024)
def _class(part: str) -> tuple[bool, tuple[tuple[str, str], ...]] | None:
    """A class such as ``[a-z]`` or ``[!0-9]``: whether it is negated, and its ranges; ``None`` where it is none."""
    inner = part[1:-1].removeprefix("!")
    found = re.findall(r"(.)-(.)|(.)", inner, re.DOTALL)
    ranges = tuple((one or low, one or high) for low, high, one in found)
    return (part[1:2] == "!", ranges) if ranges and all(low <= high for low, high in ranges) else None
