"""Every error of the package: each says the rule, the place, what came, what was expected and what to do.

All derive from :class:`MinuendError`, and from ``ValueError``, ``TypeError`` or ``OverflowError`` where
Python users expect those, so that ``except ValueError`` keeps working.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

# ---- values in messages ---------------------------------------------------------------------------------------

_LONGEST_WORD, _LONGEST_LINE = 1000, 2000
"""Characters of a message: what is longer is no name, path or list that anybody reads, but a file's filling."""


def shown(value: object, most: int = 60) -> str:
    """Quote a value for a message: cut where it is long, with everything that a terminal would obey escaped.

    >>> shown("axis"), shown("\x1b[2J"), len(shown("9" * 5000)), shown(10**5000)
    ("'axis'", "'\\\\x1b[2J'", 63, 'a number of 16610 bits')
    """
    if isinstance(value, str):
        return repr(cut(value, most))
    try:
        return cut(repr(value), most)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return f"a number of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"


def cut(text: str, most: int = 60) -> str:
    """Cut a text off where it is long.

    >>> cut("minuend", 3), cut("minuend", 7)
    ('min…', 'minuend')
    """
    return text if len(text) <= most else f"{text[:most]}…"


def escaped(text: str) -> str:
    r"""Escape what is not printed, line ends aside: a name in a file may hold what a terminal obeys.

    >>> escaped("a\x1b[31m\nb\u202e")
    'a\\x1b[31m\nb\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def readable(text: str) -> str:
    """Make a text fit for a message: escaped, and endless words and lines cut.

    >>> len(readable("x" * 5000))
    1001
    """
    text = escaped(text)
    if len(text) <= _LONGEST_WORD:
        return text
    text = re.sub(rf"\S{{{_LONGEST_WORD},}}", _middle_out, text)
    return "\n".join(cut(line, _LONGEST_LINE) for line in text.split("\n"))


def _middle_out(word: re.Match[str]) -> str:
    return f"{word[0][: _LONGEST_WORD - 100]}…{word[0][-100:]}" if len(word[0]) > _LONGEST_WORD else word[0]


def near(word: str, known: Iterable[object], cutoff: float = 0.6) -> str:
    """Ask whether something near was meant: the middle of a sentence, or nothing.

    Args:
        word: what came. known: what it could be. cutoff: how alike both have to be, from 0 to 1.

    >>> near("onxn", ["directml", "onnx"]), near("tosa", ["directml", "onnx"])
    (" (did you mean 'onnx'?)", '')
    """
    import difflib  # slow, and most runs end without an error

    found = difflib.get_close_matches(word[:100], [str(one) for one in known], n=1, cutoff=cutoff)
    return f" (did you mean {found[0]!r}?)" if found else ""


# ---- the errors -----------------------------------------------------------------------------------------------


class MinuendError(Exception):
    """The base of every error that this package raises on purpose.

    Whatever a message quotes from a file, it stays short and harmless: see :func:`readable`.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(readable(one) if isinstance(one, str) else one for one in arguments))

    def __reduce__(self) -> tuple[Callable[..., MinuendError], tuple[object, ...]]:
        """Errors go from one process to another, as in a pool of processes or on a cluster, with all that they say."""
        return _as_before, (type(self), self.args, self.__dict__)


def _as_before(
    kind: type[MinuendError], arguments: tuple[object, ...], attributes: Mapping[str, object]
) -> MinuendError:
    """Return an error that another process raised, without its message being made again."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class SpecError(MinuendError, ValueError):
    """A rule of a standard is broken.

    Attributes:
        rule: the rule's short name, such as ``"attributes"``, ``"types"`` or ``"broadcasting"``.
        where: the place, such as ``"graph.node[3] 'sub_mean'"``; empty for a plain call.
        message: what the rule wants, what came, and what to do.
    """

    def __init__(self, rule: str, message: str, *, where: str = "") -> None:
        self.rule = rule
        self.where = where = readable(where)
        self.message = message = readable(message)
        super().__init__(f"{message}, at {where}" if where else message)

    def at(self, where: str) -> SpecError:
        """Return the same error reported one level further out: ``where`` is put before the place so far."""
        place = ".".join(part for part in (where, self.where) if part)
        return type(self)(self.rule, self.message, where=place)


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


class ResultTooLarge(MinuendError, ValueError):
    """A result of more bytes than the caller allowed with ``max_bytes``.

    Attributes:
        nbytes: its size. limit: what was allowed. where: what makes it; empty where all results are counted together.
    """

    def __init__(self, message: str, *, nbytes: int, limit: int, where: str = "") -> None:
        self.nbytes = nbytes
        self.limit = limit
        self.where = where = readable(where)
        super().__init__(f"{message}, at {where}" if where else message)


class LimitExceeded(MinuendError, RuntimeError):
    """A model whose run was stopped, since it took more memory or time than it may.

    Attributes:
        limit: the argument that sets the limit, ``"max_memory"`` or ``"max_seconds"``. value: what was allowed.
    """

    def __init__(self, message: str, *, limit: str, value: float) -> None:
        self.limit = limit
        self.value = value
        super().__init__(message)


class Unsupported(MinuendError, NotImplementedError):
    """Something valid that this package does not do; the message says what it does instead."""


class ConversionRefused(MinuendError):
    """A model that cannot be converted whole; nothing of it is written.

    Attributes:
        nodes: what stands in the way, by place: ``{"graph.node[3] 'conv'": "DirectML has no …"}``.
    """

    def __init__(self, target: str, nodes: Mapping[str, str], advice: str = "") -> None:
        self.nodes = dict(nodes)
        reasons = "".join(f"\n  {place}: {reason}" for place, reason in nodes.items())
        count = f"{len(nodes)} node{'s' if len(nodes) != 1 else ''}"
        super().__init__(f"cannot convert to {target}: {count} in the way{reasons}{advice and chr(10) + advice}")


def listed(items: Any, last: str = "or") -> str:
    """Join names for a sentence: ``listed(["a", "b", "c"])`` is ``"a, b or c"``."""
    names = [str(item) for item in items]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"
