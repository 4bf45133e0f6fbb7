"""Units as texts: what is one unit in two spellings, and what is not."""

from __future__ import annotations

import pytest

from minuend.files.formats.units import same

ALIKE = [
    ("m s-1", "m/s"), ("m s-1", "metres s**-1"), ("W m-2", "W/m^2"), ("kg m-2 s-1", "kg.m-2.s-1"), ("K", "Kelvin"),
    ("degC", "degrees_celsius"), ("degC", "°C"), ("degrees_north", "degree_north"), ("1", ""), ("kg kg-1", "1"),
    ("counts", "count"), ("hPa", "mbar"), ("mm  d-1", "mm/day"), ("days since 2000-01-01", "days since 2000-01-01"),
    ("rad", "radians"), ("um", "microns"), ("um", "\N{MICRO SIGN}m"), ("\N{GREEK SMALL LETTER MU}m", "micrometer"),
    ("mm", "millimetres"), ("cm", "centimeter"), ("nm", "nanometers"), ("kPa", "kilopascal"), ("ms", "milliseconds"),
    ("us", "microsecond"), ("ns", "nanoseconds"), ("h", "hrs"), ("mins", "minutes"), ("yr", "years"), ("K", "degreesK"),
    ("degC", "degreesC"), ("degrees_north", "degree_N"), ("degrees_north", "degrees"), ("degrees_east", "degreeE"),
    ("W/m²", "W m-2"), ("m s⁻¹", "m/s"), ("kg/(m2 s)", "kg m-2 s-1"), ("kg/(m^2*s)", "kg/m2/s"), ("1.0", "1"),
    ("-", "1"), (" 1 ", "dimensionless"), ("ft", "feet"), ("in", "inches"), ("mL", "ml"), ("L", "litres"),
    ("eV", "electron_volt"),
    ("keV", "kiloelectronvolt"), ("N", "newtons"), ("T", "tesla"), ("Å", "angstrom"), ("mg", "milligrams"),
]  # fmt: skip
DIFFERENT = [
    ("K", "degC"), ("m", "km"), ("m", "1000 m"), ("mm", "Mm"), ("K", "k"), ("m s-1", "m s-2"), ("m/s", "s/m"),
    ("%", "1"),
    ("days since 2000-01-01", "days since 2000-01-02"), ("hours", "days"), ("0.01 m", "m"), ("m2", "m 2"),
    ("hPa", "Mbar"), ("hPa", "Pa"), ("mV", "MV"), ("degree_north", "degree_south"), ("rad", "degree"), ("kN", "knot"),
    ("degC", "C"), ("kg/(m2 s)", "kg/m2 s"), ("min", "Min"), ("ms", "m s"), ("kt", "knot"), ("m", "M"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_spellings_of_one_unit(one: str, other: str) -> None:
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_units(one: str, other: str) -> None:
    assert not same(one, other)
    assert not same(other, one)
