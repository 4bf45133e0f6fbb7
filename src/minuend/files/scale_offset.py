"""Scaled numbers: what is stored means scale × stored + offset, which a file states (netCDF's ``scale_factor``).

The stored numbers are subtracted, so both sides have to be scaled alike. Then offsets cancel, and the difference means
scale × stored, exactly; it states the scale alone.
"""

from __future__ import annotations

from minuend.errors import FileFormatError
from minuend.files.base import About
from minuend.files.formats import units
from minuend.files.formats.conventions import without_origin


def check(a: About, b: About) -> None:
    """Check that two operands are scaled and read alike, of one unit, and that moments are counted from the same one.

    Raises:
        FileFormatError: they are not.
    """
    if (a.scale, a.offset) != (b.scale, b.offset):
        raise FileFormatError(
            f"A and B are scaled in different ways: A means {meaning(a)} and B {meaning(b)}; unpack them first, "
            "such as by xarray's open_dataset(…).to_netcdf(…) with encoding={}"
        )

    for what, mine in a.conventions.items():
        other = b.conventions.get(what, mine)
        if mine != other:
            raise FileFormatError(
                f"A and B are not read alike: {what} is {mine} in A and {other} in B; bring one of them to the other's "
                "first"
            )
    if a.origin and b.origin and not _counted_alike(a, b):
        raise FileFormatError(
            f"A and B are counted from different times: A in {a.origin} and B in {b.origin}; bring them to one first "
            "(cdo setreftime)"
        )
    x, y = _units(a), _units(b)
    if a.origin and not b.origin and x is not None:
        x = str(without_origin(a.attributes)["units"])  # a moment less a duration
    if x and y and not units.same(x, y):
        raise FileFormatError(
            f"A and B have different units: {x!r} and {y!r}; nothing is converted, convert one of them first, or, if "
            "both texts mean one unit, write it alike (ncatted -a units,…)"
        )


def _counted_alike(a: About, b: About) -> bool:
    one, other = (units.calendar(about.attributes.get("calendar")) for about in (a, b))
    return one == other and units.same(str(_units(a)), str(_units(b)))


def _units(about: About) -> str | None:
    stated = about.attributes.get("units")
    return stated.strip() if isinstance(stated, str) else None


def meaning(about: About) -> str:
    """Return what numbers of a file mean, in words."""
    scaled = "what is stored" if about.scale == 1 else f"{about.scale} × what is stored"
    return scaled if not about.offset else f"{scaled} {'-' if about.offset < 0 else '+'} {abs(about.offset)}"
