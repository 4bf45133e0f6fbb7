"""The form that JSON must have before it is taken apart: said as data, checked in one place.

str, int …            a value of that type
NUMBER                a number that an element type can hold, NaN and infinities as text
[form]                a list of such values
(form, form)          a list of exactly these
{"key": form, …}      an object with these keys, and others that nobody reads; ``"key?"`` may be left out
frozenset             one of these texts
Names(frozenset)      a list of them, each once
Below(count)          a whole number from 0 to below a count
Under(frozenset, form)  an object whose keys are among them
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

    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class Under:
    """An object whose keys are known names, each with a value of one form."""

    known: frozenset[str]
    form: Any


@dataclass(frozen=True, slots=True)
class Below:
    """A whole number from 0 to below a count."""

    count: int


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
            _of(form, value, form.__name__, place)
        case _Number():
            if not (type(value) is float or (type(value) is int and abs(value) < _BEYOND) or _is_one(value, _SPECIAL)):
                raise _other(value, f"a number, or one of {_quoted(_SPECIAL)}", place)
        case frozenset():
            if not _is_one(value, form):
                raise _other(value, f"one of {_quoted(form)}", place)
        case Below():
            if type(value) is not int or not 0 <= value < form.count:
                raise _other(value, f"a whole number from 0 to below {form.count}", place)
        case list() | tuple() | Names():
            _check_list(value, form, place)
        case dict() | Under():
            _check_object(value, form, place)
        case _:
            check(value, form(value), place)


def _check_list(value: Any, form: Any, place: str) -> None:
    wanted = f"a list of {len(form)}" if isinstance(form, tuple) else "a list"
    items = _of(list, value, wanted, place)
    if isinstance(form, tuple) and len(items) != len(form):
        raise _other(value, wanted, place)
    inner = form if isinstance(form, tuple) else [form.known if isinstance(form, Names) else form[0]] * len(items)
    for i, (item, one) in enumerate(zip(items, inner, strict=True)):
        check(item, one, f"{place}[{i}]")
    if isinstance(form, Names) and len(set(items)) != len(items):
        raise _other(value, "names that differ", place)


def _check_object(value: Any, form: Any, place: str) -> None:
    items = _of(dict, value, "an object", place)
    if isinstance(form, Under):
        for key, item in items.items():
            if key not in form.known:
                raise _other(key, f"one of {_quoted(form.known)}", f"a key of {place}")
            check(item, form.form, f"{place}.{key}")
        return
    for key, inner in form.items():
        name = key.removesuffix("?")
        if name in items:
            check(items[name], inner, f"{place}.{name}")
        elif name == key:
            raise _other(value, f"an object with {name!r}", place)


def _is_one(value: Any, known: Collection[str]) -> bool:
    return isinstance(value, str) and value in known


def _of(kind: type, value: Any, wanted: str, place: str) -> Any:
    if type(value) is not kind:
        raise _other(value, wanted, place)
    return value


def _other(value: Any, wanted: str, place: str) -> FileFormatError:
    return FileFormatError(f"{place} is {shown(value)}; expected {wanted}")


def _quoted(names: Collection[str]) -> str:
    return listed(map(repr, sorted(names)))
