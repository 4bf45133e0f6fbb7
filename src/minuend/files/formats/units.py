"""Units and calendars as attributes state them, in one spelling: ``m/s`` and ``metres s**-1`` are the same.

Nothing is converted: ``km`` and ``1000 m`` are different. Moments are
counted from one where their units and dates are: ``days since 2000-01-01`` and ``day since 2000-1-1 00:00:00``.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_SPELLINGS: dict[str, tuple[str, ...]] = {
    "K": ("degk", "deg_k", "degreek", "degree_k", "degree_kelvin", "°k"),
    "degC": ("celsius", "degc", "deg_c", "degreec", "degree_c", "degree_celsius", "°c"),
    "degF": ("fahrenheit", "degf", "deg_f", "degreef", "degree_f", "degree_fahrenheit", "°f"),
    "um": ("micron", "umicron"),
    "min": ("minute",),
    "h": ("hour", "hr"),
    "d": ("day",),
    "yr": ("year",),
    "hPa": ("millibar",),
    "ft": ("foot", "feet", "ft"),
    "in": ("inch", "inche", "in"),
    "angstrom": ("å",),
    "%": ("percent",),
    "degree": (
        "deg", "°", "arc_degree", "arcdeg", "degree_true", "degree_north", "degree_n", "degreen", "degree_east",
        "degree_e", "degreee",
    ),
    "": ("unitless", "dimensionless", "none"),
}  # fmt: skip
"""What is written of a unit, in small letters and without the ``s`` of several. To udunits, angles to the north and the
east are degrees; those to the south and the west are not."""

_PREFIXED: dict[str, tuple[str, ...]] = {
    "m": ("metre", "meter"), "s": ("second", "sec"), "g": ("gram",), "K": ("kelvin",), "A": ("ampere", "amp"),
    "mol": ("mole",), "Pa": ("pascal",), "W": ("watt",), "J": ("joule",), "N": ("newton",), "Hz": ("hertz",),
    "V": ("volt",), "T": ("tesla",), "eV": ("electronvolt", "electron_volt"), "rad": ("radian",), "sr": ("steradian",),
    "L": ("litre", "liter"),
}  # fmt: skip
"""Units before whose names those of prefixes stand."""

_PREFIXES = {
    "": "", "nano": "n", "micro": "u", "milli": "m", "centi": "c", "deci": "d", "hecto": "h", "kilo": "k", "mega": "M",
    "giga": "G", "tera": "T", "pico": "p", "femto": "f",
}  # fmt: skip

_NAMES = {other: name for name, others in _SPELLINGS.items() for other in others} | {
    word + other: symbol + name
    for name, others in _PREFIXED.items()
    for other in others
    for word, symbol in _PREFIXES.items()
}
_SYMBOLS = {
    "mbar": "hPa", "msec": "ms", "usec": "us", "nsec": "ns", "mins": "min", "yrs": "yr", "l": "L",
    **{f"{prefix}l": f"{prefix}L" for prefix in "numcd"},
}  # fmt: skip
"""Short ones, of which the case counts: ``Mbar`` is another."""

_FACTOR = re.compile(
    r"\s*(?:[.*·⋅]\s*)?(/|per\b)?\s*([A-Za-zμÅ°%_]+|1(?:\.0+)?\b)(?:(?:\s*(?:\^|\*\*)\s*)?([-+]?\d+))?"
)
_IN_BRACKETS = re.compile(r"/\s*\(([^()]*)\)")


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


def canonical(text: str) -> str:
    """Return the one spelling of a unit.

    >>> canonical("micron"), canonical("meters per second"), canonical("widgets of two")
    ('um', 'm s-1', 'widget of two')
    """
    found = _factors(text)
    if isinstance(found, str):
        return found
    return " ".join(name if power == 1 else f"{name}{power}" for name, power in found.items())


def _factors(text: str) -> dict[str, int] | str:
    """Return the powers of a unit's factors; what is spelled in another way comes back as text."""
    text = " ".join(unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-").split())
    found: dict[str, int] = {}
    divisors = _IN_BRACKETS.findall(text)
    for part, sign in ((_IN_BRACKETS.sub(" ", text), 1), *((one, -1) for one in divisors)):
        at = 0
        while at < len(part.rstrip()):
            factor = _FACTOR.match(part, at)
            if factor is None or factor.end() == at:
                return {} if text == "-" else text
            divided, name, power = factor.groups()
            name = "" if name.startswith("1") else _named(name)
            found[name] = found.get(name, 0) + sign * int(power or 1) * (-1 if divided else 1)
            at = factor.end()
    return {name: power for name, power in found.items() if name and power}


def _named(name: str) -> str:
    """Return the one spelling of a name; case counts for symbols, which are short."""
    small = name.lower().replace("degrees", "degree")
    one = small[:-1] if small.endswith("s") and len(small) > 3 else small
    if (found := _NAMES.get(small, _NAMES.get(small.removesuffix("s")))) is not None:
        return found
    name = name.replace("μ", "u")
    return one if len(name) > 4 else _SYMBOLS.get(name, name)
