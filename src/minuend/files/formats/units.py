"""Units as attributes state them, in one spelling: ``m/s``, ``m s-1`` and ``metres s**-1`` are the same.

Nothing is converted, and prefixes are not separated: ``km`` and ``1000 m`` are different texts.
"""

from __future__ import annotations

import re

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


def same(one: str, other: str) -> bool:
    """Whether two texts state the same unit, as far as spellings go.

    >>> same("m/s", "metres s**-1"), same("K", "kelvin"), same("kg m-2 s-1", "kg/m^2/s"), same("K", "degC")
    (True, True, True, False)
    """
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
