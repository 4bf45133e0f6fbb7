"""Every error of the package: each says the rule, the place, what came, what was expected and what to do.

All derive from :class:`MinuendError`, and from ``ValueError``, ``TypeError`` or ``OverflowError`` where
Python users expect those, so that ``except ValueError`` keeps working.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class MinuendError(Exception):
    """The base of every error that this package raises on purpose."""


class SpecError(MinuendError, ValueError):
    """A rule of a standard is broken.

    Attributes:
        rule: the rule's short name, such as ``"attributes"``, ``"types"`` or ``"broadcasting"``.
        where: the place, such as ``"graph.node[3] 'sub_mean'"``; empty for a plain call.
        message: what the rule wants, what came, and what to do.
    """

    def __init__(self, rule: str, where: str, message: str) -> None:
        self.rule = rule
        self.where = where
        self.message = message
        super().__init__(f"{message}, at {where}" if where else message)

    def at(self, where: str) -> SpecError:
        """Return the same error told one level further out: ``where`` is put before the place so far."""
        place = ".".join(part for part in (where, self.where) if part)
        return type(self)(self.rule, place, self.message)


class DTypeError(SpecError, TypeError):
    """An element type that the operator, or this version of it, does not take."""


class ShapeError(SpecError):
    """Shapes that the broadcasting rule in force does not join."""


class OverflowFound(MinuendError, OverflowError):
    """Exact differences that the result type cannot hold, under ``overflow="error"`` or a 64-bit ``"widen"``.

    Attributes:
        count: how many elements overflow.
        index: the first one's index in the result, in C order.
        a, b: its operands, as Python ints.
    """

    def __init__(self, message: str, *, count: int, index: tuple[int, ...], a: int, b: int) -> None:
        self.count = count
        self.index = index
        self.a = a
        self.b = b
        super().__init__(message)


class ScalarRangeError(MinuendError, OverflowError):
    """A Python int that the array's element type cannot hold."""


class FileFormatError(MinuendError, ValueError):
    """A file that is not what its name or header says: truncated, inconsistent or of an unknown kind."""


class Unsupported(MinuendError, NotImplementedError):
    """Something valid that this package does not do; the message says what it does instead."""


class ConversionRefused(MinuendError):
    """A model that cannot be converted whole; nothing of it is written.

    Attributes:
        nodes: what stands in the way, by place: ``{"graph.node[3] 'conv'": "DirectML has no …"}``.
    """

    def __init__(self, goal: str, nodes: Mapping[str, str], advice: str = "") -> None:
        self.nodes = dict(nodes)
        reasons = "".join(f"\n  {place}: {reason}" for place, reason in nodes.items())
        count = f"{len(nodes)} node{'s' if len(nodes) != 1 else ''}"
        super().__init__(f"cannot convert to {goal}: {count} in the way{reasons}{advice and chr(10) + advice}")


def listed(items: Any, last: str = "or") -> str:
    """Join names for a sentence: ``listed(["a", "b", "c"])`` is ``"a, b or c"``."""
    names = [str(item) for item in items]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"
