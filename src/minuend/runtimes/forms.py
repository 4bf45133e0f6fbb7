"""The form that JSON must have before it is taken apart: said as data, checked in one place.

str, int …            a value of that type
NUMBER                a number that an element type can hold, NaN and infinities as text
[form]                a list of such values
(form, form)          a list of exactly these
{"key": form, …}      an object with these keys, and others that nobody reads; ``"key?"`` may be left out
Names({…})            a list of known names, each once
Under({…}, form)      an object whose keys are known names
{…}, a set            one of these texts
a function            the form that it gives for the value
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from minuend.errors import FileFormatError, listed, shown


@dataclass(frozen=True, slots=True)
class Names:
    """A list of known names, each once: so that no product of such lists is longer than that of all names."""

    known: Collection[str]


@dataclass(frozen=True, slots=True)
class Under:
    """An object whose keys are known names, each with a value of one form."""

    known: Collection[str]
    form: Any


class _Number:
    pass


NUMBER = _Number()
_SPECIAL = ("nan", "inf", "-inf")
_BEYOND = 1 << 66  # the contract's numbers are differences of 64-bit integers at the most; others are floats


def check(value: Any, form: Any, place: str) -> None:
    """Check that a value has a form.

    Raises:
        FileFormatError: it has another one, with the place in the file.

    >>> check({"a": [1, 2]}, {"a": [int], "b?": str}, "it")
    >>> check({"a": [1, "2"]}, {"a": [int]}, "it")
    Traceback (most recent call last):
    ...
    minuend.errors.FileFormatError: it.a[1] is '2'; expected int
    """
    match form:
        case type():
            _expect(type(value) is form, value, form.__name__, place)
        case _Number():
            number = type(value) is float or (type(value) is int and abs(value) < _BEYOND)
            _expect(
                number or (isinstance(value, str) and value in _SPECIAL),
                value,
                f"a number, or one of {_quoted(_SPECIAL)}",
                place,
            )
        case [inner]:
            _expect(isinstance(value, list), value, "a list", place)
            for i, item in enumerate(value):
                check(item, inner, f"{place}[{i}]")
        case tuple():
            _expect(isinstance(value, list) and len(value) == len(form), value, f"a list of {len(form)}", place)
            for i, (item, inner) in enumerate(zip(value, form, strict=True)):
                check(item, inner, f"{place}[{i}]")
        case Names(known):
            check(value, [frozenset(known)], place)
            _expect(len(set(value)) == len(value), value, "names that differ", place)
        case Under(known, inner):
            _expect(isinstance(value, dict), value, "an object", place)
            for key, item in value.items():
                _expect(key in known, key, f"one of {_quoted(known)}", f"a key of {place}")
                check(item, inner, f"{place}.{key}")
        case dict():
            _expect(isinstance(value, dict), value, "an object", place)
            for key, inner in form.items():
                name = key.removesuffix("?")
                _expect(name in value or name != key, value, f"an object with {name!r}", place)
                if name in value:
                    check(value[name], inner, f"{place}.{name}")
        case set() | frozenset():
            _expect(isinstance(value, str) and value in form, value, f"one of {_quoted(form)}", place)
        case _:
            check(value, form(value), place)


def _expect(good: bool, value: Any, wanted: str, place: str) -> None:
    if not good:
        raise FileFormatError(f"{place} is {shown(value)}; expected {wanted}")


def _quoted(names: Collection[str]) -> str:
    return listed(map(repr, sorted(names)))
