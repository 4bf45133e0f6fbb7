"""JSON as DxDispatch's parser takes it, and a place for every complaint about it.

Beyond the standard: ``//`` and ``/* */`` comments, a comma after the last entry, and whatever follows the first value
is not looked at. Numbers are 64-bit integers or doubles. A key that comes twice is an error here: that parser would
take the first one, others the last.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from minuend.errors import FileFormatError, cut, shown
from minuend.schema import Origin, Path, format_path

MAX_DEPTH = 64
"""The deepest nesting that is read; a DxDispatch model has 7 levels."""

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_NUMBERS = re.compile(r"\[[-+.0-9eE, \t\r\n]*\]")  # a plain list of numbers, read at once
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*')
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Document(Origin):
    """A JSON text and what it says.

    Attributes:
        value: the root: dicts, lists, strings, ints, floats, bools and ``None``.
        text: the text; ``None`` for a document that was built. name: the file's name, or ``""``.
    """

    says, came = "{message}, at {place}", "{value} came"

    value: Any
    text: str | None = None
    name: str = ""
    _offsets: dict[Path, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def place(self, path: Path) -> str:
        """Say where a value stands: its JSON path, the file, its line and column (both from 1)."""
        found = [] if not self.name else [self.name]
        if self.text is not None:
            found.append(line_and_column(self.text, self._offset(path)))
        return f"{_place(path)} ({', '.join(found)})" if found else _place(path)

    def shown(self, value: object) -> str:
        return describe(value)

    def _offset(self, path: Path) -> int:
        """Where a value begins. The text is read again for the first one alone, lists of numbers when they are used."""
        assert self.text is not None
        if not self._offsets:
            _Parser(self.text, self.name, self._offsets).parse()
        if path not in self._offsets:
            _Parser(self.text, self.name, self._offsets, path[:-1]).list(self._offsets[path[:-1]])
        return self._offsets[path]


def parse(text: str, name: str = "") -> Document:
    """Read a JSON text.

    Args:
        text: the text. name: the file's name, for messages.

    Raises:
        FileFormatError: it is no JSON, nests deeper than :data:`MAX_DEPTH`, or names a key twice.

    >>> parse('{"a": [1, 2.5,], /* comment */ "b": "nan"} the rest').value
    {'a': [1, 2.5], 'b': 'nan'}
    """
    return Document(_Parser(text, name).parse(), text, name)


def _place(path: Path) -> str:
    return format_path(path) or "the top"


def line_and_column(text: str, offset: int) -> str:
    """Say where an offset lies, both from 1."""
    return f"line {text.count(chr(10), 0, offset) + 1}, column {offset - text.rfind(chr(10), 0, offset)}"


def describe(value: object) -> str:
    """Name a value for a message.

    >>> describe({}), describe("x"), describe(True), describe(2.5)
    ('an object', "the string 'x'", 'true', 'the number 2.5')
    """
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return f"the string {shown(value)}"
    return json.dumps(value) if value is None or isinstance(value, bool) else f"the number {shown(value)}"


class _Parser:
    """Recursive descent over the text; offsets go in and out of every method.

    With ``offsets`` it notes where each value begins, the entries of plain lists of numbers aside; with a ``path`` too
    it reads one such list, entry by entry.
    """

    def __init__(self, text: str, name: str, offsets: dict[Path, int] | None = None, path: Path = ()) -> None:
        self.text, self.name, self.offsets = text, name, offsets
        self.path: list[str | int] = list(path)
        self.at_once = not path

    def parse(self) -> object:
        return self.value(self.gap(0))[0]

    def fail(self, offset: int, message: str) -> FileFormatError:
        where = line_and_column(self.text, offset)
        place = f"{self.name}, {where}" if self.name else where
        return FileFormatError(f"this is no JSON: {message}, at {_place(tuple(self.path))} ({place})")

    def gap(self, at: int) -> int:
        """Skip space and comments."""
        end = _GAP.match(self.text, at).end()  # type: ignore[union-attr]
        if self.text.startswith("/*", end):
            raise self.fail(end, "a comment that does not end; expected */")
        return end

    def value(self, at: int) -> tuple[object, int]:
        if self.offsets is not None:
            self.offsets[tuple(self.path)] = at
        first = self.text[at : at + 1]
        if first in ("{", "["):
            if len(self.path) >= MAX_DEPTH:
                raise self.fail(at, f"it nests deeper than {MAX_DEPTH} levels")
            return self.object(at) if first == "{" else self.list(at)
        if first == '"':
            return self.string(at)
        for word, value in _WORDS.items():
            if self.text.startswith(word, at):
                return value, at + len(word)
        return self.number(at)

    def number(self, at: int) -> tuple[int | float, int]:
        found = _NUMBER.match(self.text, at)
        if found is None:
            raise self.fail(at, f"{self.came(at)}; expected a value")
        digits = found.group()
        # What 64 bits do not hold becomes a double, as in DxDispatch; longer digits are not worth an integer.
        if not found.group(1) and len(digits) <= 20 and -(2**63) <= int(digits) < 2**64:
            return int(digits), found.end()
        value = float(digits)
        if math.isinf(value):
            raise self.fail(at, f"the number {cut(digits)} is beyond a double's range")
        return value, found.end()

    def string(self, at: int) -> tuple[str, int]:
        end = _STRING.match(self.text, at).end()  # type: ignore[union-attr]
        stop = self.text[end : end + 1]
        if stop in ("", "\\"):
            raise self.fail(at, 'a string that does not end; expected "')
        if stop != '"':
            raise self.fail(end, f"the control character U+{ord(stop):04X} in a string; write it as an escape")
        try:
            value = str(json.loads(self.text[at : end + 1]))
            value.encode()
        except UnicodeEncodeError:
            raise self.fail(at, "a string with half of a surrogate pair") from None
        except json.JSONDecodeError as error:
            raise self.fail(at + error.pos, "an escape that JSON does not have") from None
        return value, end + 1

    def list(self, at: int) -> tuple[list[object], int]:
        if self.at_once:
            found = _NUMBERS.match(self.text, at)
            if found is not None:
                try:
                    numbers = json.loads(found.group())
                    if math.inf not in numbers and -math.inf not in numbers:
                        return numbers, found.end()
                except ValueError:
                    pass  # a trailing comma, or something that the slow way names
        values: list[object] = []
        at = self.gap(at + 1)
        while self.text[at : at + 1] != "]":
            self.path.append(len(values))
            value, at = self.value(at)
            self.path.pop()
            values.append(value)
            at = self.next(at, "]")
        return values, at + 1

    def object(self, at: int) -> tuple[dict[str, object], int]:
        values: dict[str, object] = {}
        at = self.gap(at + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                raise self.fail(at, f'{self.came(at)}; expected a key in " or }}')
            key, end = self.string(at)
            if key in values:
                raise self.fail(at, f"the key {shown(key)} comes twice in one object; keep one")
            end = self.gap(end)
            if self.text[end : end + 1] != ":":
                raise self.fail(end, f"{self.came(end)}; expected : after the key {shown(key)}")
            self.path.append(key)
            values[key], at = self.value(self.gap(end + 1))
            self.path.pop()
            at = self.next(at, "}")
        return values, at + 1

    def next(self, at: int, close: str) -> int:
        """Step over a comma to the next entry, or to the closing bracket."""
        at = self.gap(at)
        first = self.text[at : at + 1]
        if first == ",":
            return self.gap(at + 1)
        if first != close:
            raise self.fail(at, f"{self.came(at)}; expected , or {close}")
        return at

    def came(self, at: int) -> str:
        return "the end of the text" if at >= len(self.text) else repr(self.text[at])
