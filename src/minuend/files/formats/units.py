"""Units and calendars as attributes state them, in one spelling: ``m/s`` and ``metres s**-1`` are the same.

Nothing is converted, and prefixes are not separated: ``km`` and ``1000 m`` are different texts. Moments are
counted from one where their units and dates are: ``days since 2000-01-01`` and ``day since 2000-1-1 00:00:00``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SPELLINGS: dict[str, tuple[str, ...]] = {
    "K": ("kelvin", "degk", "deg_k", "degree_k", "degree_kelvin"),
    "degC": ("celsiu", "degc", "deg_c", "degreec", "degree_c", "degree_celsiu", "°c", "℃"),
    "degF": ("fahrenheit", "degf", "deg_f", "degree_f", "degree_fahrenheit", "°f"),
    "m": ("metre", "meter"),
    "km": ("kilometre", "kilometer"),
    "s": ("second", "sec"),
    "min": ("minute",),
    "h": ("hour", "hr"),
    "d": ("day",),
    "g": ("gram",),
    "kg": ("kilogram",),
    "Pa": ("pascal",),
    "hPa": ("hectopascal", "millibar", "mbar"),
    "W": ("watt",),
    "J": ("joule",),
    "Hz": ("hertz",),
    "V": ("volt",),
    "mol": ("mole",),
    "%": ("percent",),
    "degree": ("deg", "°"),
    "": ("unitless", "dimensionless", "none"),
}
"""What is written of a unit, in small letters and without the ``s`` of several."""

_NAMES = {other: name for name, others in _SPELLINGS.items() for other in others}
_FACTOR = re.compile(r"\s*(?:[.*·]\s*)?(/|per\b)?\s*([A-Za-zµμ°℃%_]+|1\b)(?:(?:\s*(?:\^|\*\*)\s*)?([-+]?\d+))?")


_SINCE = re.compile(r"\s*(\S+)\s+since\s+(\S.*)", re.IGNORECASE | re.DOTALL)
_TIME = r"(?:T|\s+)(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?\s*(?:Z|UTC|GMT|[-+]?00?(?::?00?)?)?"
_DATE = re.compile(rf"(-?\d+)-(\d{{1,2}})-(\d{{1,2}})(?:{_TIME})?\s*", re.IGNORECASE)
"""Of the time of Greenwich; others are compared as texts."""

_CALENDARS = {"": "standard", "gregorian": "standard", "noleap": "365_day", "all_leap": "366_day"}
_REFORM = (1582, 10, 15)


class Since(NamedTuple):
    """What moments are counted in, and from: numbers of a date and time, or a text."""

    unit: str
    date: tuple[float, ...] | str


def since(text: str) -> Since | None:
    """Return what a unit counts moments from; ``None`` of other units.

    >>> since("days since 2000-1-1T06:00Z"), since("days")
    (Since(unit='days', date=(2000.0, 1.0, 1.0, 6.0, 0.0, 0.0)), None)
    """
    found = _SINCE.fullmatch(text)
    if found is None:
        return None
    unit, stated = found.groups()
    date = _DATE.fullmatch(stated)
    return Since(unit, tuple(float(part or 0) for part in date.groups()) if date else " ".join(stated.split()))


def calendar(stated: object) -> str:
    """Return the one name of a calendar; where none is stated it is the standard one, as of the CF conventions.

    >>> calendar(None), calendar("Gregorian"), calendar("noleap"), calendar("360_day")
    ('standard', 'standard', '365_day', '360_day')
    """
    name = str(stated or "").strip().lower()
    return _CALENDARS.get(name, name)


def counted_alike(text: str, *calendars: object) -> bool:
    """Whether moments that are not before what they are counted from have the same dates in two calendars.

    >>> counted_alike("days since 1900-01-01", "standard", "proleptic_gregorian")
    True
    """
    names = {calendar(one) for one in calendars}
    found = since(text)
    after = found is not None and not isinstance(found.date, str) and found.date >= _REFORM
    return len(names) == 1 or (after and names == {"standard", "proleptic_gregorian"})


def same(one: str, other: str) -> bool:
    """Whether two texts state the same unit, as far as spellings go.

    >>> same("m/s", "metres s**-1"), same("K", "kelvin"), same("kg m-2 s-1", "kg/m^2/s"), same("K", "degC")
    (True, True, True, False)
    """
    x, y = since(one), since(other)
    if x is not None and y is not None:
        return x.date == y.date and same(x.unit, y.unit)
    return one == other or _factors(one) == _factors(other)


def _factors(text: str) -> dict[str, int] | str:
    """Return the powers of a unit's factors; what is spelled in another way comes back as text."""
    found: dict[str, int] = {}
    at, text = 0, " ".join(text.split())
    while at < len(text):
        factor = _FACTOR.match(text, at)
        if factor is None or factor.end() == at:
            return text
        divided, name, power = factor.groups()
        name = "" if name == "1" else _named(name)
        found[name] = found.get(name, 0) + int(power or 1) * (-1 if divided else 1)
        at = factor.end()
    return {name: power for name, power in found.items() if name and power}


def _named(name: str) -> str:
    """Return the one spelling of a name; case counts for symbols, which are short."""
    small = name.lower()
    if small.endswith("s") and len(small) > 3:
        small = small[:-1]
    small = small.replace("degrees_", "degree_")
    return _NAMES.get(small, small if len(name) > 4 else name)
