"""What JSON and TOML say, read piece by piece: what is not as expected is an error that names its place.

An :class:`Item` is a value that knows its place. A form is a function that makes what is meant of an item, and
:func:`record`, :func:`many` and those beside them make forms of forms.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from minuend.errors import FileFormatError, MinuendError, SpecError, cut, listed, near, shown

T = TypeVar("T")
D = TypeVar("D")
Path: TypeAlias = tuple[str | int, ...]
Test: TypeAlias = Callable[[T], object]

_LARGEST = (1 << 63) - 1
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def format_path(path: Path, root: str = "") -> str:
    """Write a path as JavaScript does: ``resources.A.initialValues[3]``.

    >>> format_path(("resources", "in/put", 0)), format_path(("a",), "it")
    ('resources["in/put"][0]', 'it.a')
    """
    parts = []
    for key in path:
        plain = isinstance(key, str) and _PLAIN_KEY.fullmatch(key)
        short = cut(key) if isinstance(key, str) else key
        parts.append(f".{short}" if plain else f"[{json.dumps(short, ensure_ascii=False)}]")
    return root + "".join(parts) if root else "".join(parts).removeprefix(".")


class Origin:
    """Where values come from, by the name that messages call it.

    Attributes:
        says: the text of an error. came: what it says of a value. keyed: what has keys.
    """

    says, came, keyed = "{place} {message}", "is {value}", "an object"

    def __init__(self, name: str) -> None:
        self.name = name

    def place(self, path: Path) -> str:
        return format_path(path, self.name)

    def error(self, path: Path, message: str) -> str:
        """Return the text of an error about a value."""
        return self.says.format(place=self.place(path), message=message)

    def shown(self, value: object) -> str:
        return shown(value)


class Stated(Origin):
    """Something that a header states, whose errors name the last key alone."""

    came = "{value}"

    def place(self, path: Path) -> str:
        return f"{self.name} states the {path[-1]}"


@dataclass(frozen=True, slots=True)
class Item:
    """A value with its place. What expects something raises a FileFormatError where it is something else."""

    origin: Origin
    path: Path
    value: object

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return self.origin.place(self.path)

    def error(self, message: str, kind: type[MinuendError] = FileFormatError) -> MinuendError:
        """Return an error with this place."""
        return kind(self.origin.error(self.path, message))

    def wrong(self, wanted: str) -> MinuendError:
        """Return the error of a value that is something else than ``wanted``."""
        came = self.origin.came.format(value=self.origin.shown(self.value))
        return self.error(f"{came}; expected {wanted}")

    def made(self, make: Callable[[Any], T], value: object) -> T:
        """Return what a function makes of a value; its errors get this place."""
        try:
            return make(value)
        except (SpecError, TypeError) as error:
            raise self.error(str(error)) from None

    # ---- objects and lists ------------------------------------------------------------------------------------

    def __getitem__(self, key: str | int) -> Item:
        held: Any = self.value
        return Item(self.origin, (*self.path, key), held[key])

    def get(self, key: str) -> Item | None:
        """Return a member of an object, or ``None`` where it has none of that name."""
        return self[key] if key in self.object() else None

    def need(self, key: str) -> Item:
        """Return a member that has to be there."""
        found = self.get(key)
        if found is None:
            raise self.error(f"there is no {key!r}; it is required")
        return found

    def read(self, key: str, form: Form[T], default: D) -> T | D:
        """Return what a form makes of a member, or the default where there is none."""
        found = self.get(key)
        return default if found is None else form(found)

    def object(self, wanted: str = "") -> dict[str, object]:
        """Return the value, which is an object."""
        if not isinstance(self.value, dict):
            raise self.wrong(wanted or self.origin.keyed)
        return self.value

    def members(self, wanted: str = "") -> Iterator[tuple[str, Item]]:
        return ((key, self[key]) for key in self.object(wanted))

    def only(self, known: Collection[str], required: Iterable[str] = ()) -> None:
        """Check that an object has no keys but the known ones, and all that are required."""
        found = self.object()
        for key in found:
            if key not in known:
                raise FileFormatError(
                    f"{self.place} has the key {shown(key)}{near(key, known)}; expected {listed(known)}"
                )
        for key in required:
            if key not in found:
                raise FileFormatError(f"{self.place} lacks the key {key!r}; expected {listed(required, 'and')}")

    def list(self, wanted: str = "a list") -> list[Item]:
        if not isinstance(self.value, list):
            raise self.wrong(wanted)
        return [self[i] for i in range(len(self.value))]

    def sizes(self, wanted: str) -> tuple[int, ...]:
        """Return the value, which is a list of whole numbers from 0 on."""
        found = self.value
        if not isinstance(found, list) or not all(type(one) is int and one >= 0 for one in found):
            raise self.wrong(wanted)
        return tuple(found)

    # ---- values -----------------------------------------------------------------------------------------------

    def string(self, wanted: str = "a string", fits: Test[str] = lambda _: True) -> str:
        """Return the value, which is a string that fits."""
        if not isinstance(self.value, str) or not fits(self.value):
            raise self.wrong(wanted)
        return self.value

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def integer(self, lowest: int = 0, highest: int = _LARGEST, wanted: str = "") -> int:
        """Return the value, which is an integer in a range."""
        if type(self.value) is not int or not lowest <= self.value <= highest:
            raise self.wrong(wanted or f"an integer from {lowest} to {highest}")
        return self.value

    def number(self, wanted: str, fits: Test[float]) -> float:
        """Return the value, which is a number that fits."""
        found = self.value
        if not isinstance(found, int | float) or isinstance(found, bool) or not fits(found):
            raise self.wrong(wanted)
        return found


# ---- forms ------------------------------------------------------------------------------------------------------

Form: TypeAlias = Callable[[Item], T]


def record(make: Callable[..., T], **forms: Form[object]) -> Form[T]:
    """The form of an object with exactly these keys, of whose members something is made."""

    def read(item: Item) -> T:
        item.only(forms, forms)
        return make(**{key: form(item[key]) for key, form in forms.items()})

    return read


def fields(forms: Mapping[str, Form[object]]) -> Form[dict[str, object]]:
    """The form of an object with these keys, and others that nobody reads; ``"key?"`` may be left out."""

    def read(item: Item) -> dict[str, object]:
        found = item.object()
        made: dict[str, object] = {}
        for key, form in forms.items():
            name = key.removesuffix("?")
            if name in found:
                made[name] = form(item[name])
            elif name == key:
                raise item.wrong(f"an object with {name!r}")
        return made

    return read


def by_name(form: Form[T], wanted: str = "", known: frozenset[str] | None = None) -> Form[dict[str, T]]:
    """The form of an object whose members have one form, and known names where some are known."""

    def read(item: Item) -> dict[str, T]:
        if known is not None and item.object().keys() - known:
            item.only(sorted(known))
        return {key: form(one) for key, one in item.members(wanted)}

    return read


def many(form: Form[T]) -> Form[tuple[T, ...]]:
    """The form of a list of values of one form."""
    return lambda item: tuple(map(form, item.list()))


def exactly(*forms: Form[T]) -> Form[tuple[T, ...]]:
    """The form of a list of values of these forms."""

    def read(item: Item) -> tuple[T, ...]:
        wanted = f"a list of {len(forms)}"
        items = item.list(wanted)
        if len(items) != len(forms):
            raise item.wrong(wanted)
        return tuple(form(one) for form, one in zip(forms, items, strict=True))

    return read


def optional(form: Form[T]) -> Form[T | None]:
    """A form, or null."""
    return lambda item: None if item.value is None else form(item)


def one_of(known: Iterable[str]) -> Form[str]:
    """The form of a text that is one of these."""
    names = frozenset(known)
    wanted = f"one of {listed(map(repr, sorted(names)))}"
    return lambda item: item.string(wanted, names.__contains__)


def some_of(known: Iterable[str], least: int = 0) -> Form[tuple[str, ...]]:
    """The form of a list of known names, each once: no product of such lists is longer than that of all names."""
    form = many(one_of(known))

    def read(item: Item) -> tuple[str, ...]:
        names = form(item)
        if len(names) < least:
            raise item.wrong(f"a list of at least {least}")
        if len(set(names)) != len(names):
            raise item.wrong("names that differ")
        return names

    return read


def below(count: int) -> Form[int]:
    """The form of a whole number from 0 to below a count."""
    return lambda item: item.integer(0, count - 1, f"a whole number from 0 to below {count}")


_SPECIAL = frozenset(("nan", "inf", "-inf"))
_BEYOND = 1 << 66  # the contract's numbers are differences of 64-bit integers at the most; others are floats


def element(item: Item) -> object:
    """The form of a number that an element type can hold, NaN and infinities as text."""
    value = item.value
    if type(value) is float or (type(value) is int and abs(value) < _BEYOND):
        return value
    return item.string("a number, or one of '-inf', 'inf' or 'nan'", _SPECIAL.__contains__)


def check(value: object, form: Form[object], place: str) -> None:
    """Check that a value has a form.

    Raises:
        FileFormatError: it has another one, with the place in the file.

    >>> check({"a": [1, "2"]}, fields({"a": many(Item.integer), "b?": Item.string}), "it")
    Traceback (most recent call last):
    ...
    minuend.errors.FileFormatError: it.a[1] is '2'; expected an integer from 0 to 9223372036854775807
    """
    form(Item(Origin(place), (), value))


# ---- JSON -------------------------------------------------------------------------------------------------------


class _Twice(Exception):
    """A key that an object has twice."""


def parse_json(raw: bytes | str, name: str, wanted: str, part: str = "", *, unique: bool = True) -> object:
    """Read JSON.

    Args:
        raw: the text. name: what messages call the file. wanted: what it is to be. part: the part of it that this is.
        unique: whether a key that stands twice in an object is refused; else the last one counts.

    Raises:
        FileFormatError: it is none.
    """
    try:
        text = raw if isinstance(raw, str) else raw.decode()
        return json.loads(text, object_pairs_hook=_unique if unique else None)
    except _Twice as error:
        where = f" in its {part}" if part else ""
        raise FileFormatError(f"{name} names {shown(error.args[0])} twice{where}; expected names that differ") from None
    except (ValueError, RecursionError) as error:
        what = f"has a {part} that is" if part else "is"
        raise FileFormatError(f"{name} {what} no JSON ({error}); expected {wanted}") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Twice(next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1))
    return found
