"""Packed numbers: what is stored means scale × stored + offset, which a file states (netCDF's ``scale_factor``).

The stored numbers are subtracted, so both sides have to be packed alike. Then offsets cancel, and the difference means
scale × stored, exactly; it states the scale alone.
"""

from __future__ import annotations

from minuend.errors import FileFormatError
from minuend.storage.base import About


def check(a: About, b: About) -> None:
    """Check that two operands are packed alike.

    Raises:
        FileFormatError: they are not.
    """
    if (a.scale, a.offset) != (b.scale, b.offset):
        raise FileFormatError(
            f"A and B are packed in different ways: A means {_told(a)} and B {_told(b)}; unpack them first, such as "
            "by xarray's open_dataset(…).to_netcdf(…) with encoding={}"
        )


def _told(about: About) -> str:
    scaled = "what is stored" if about.scale == 1 else f"{about.scale} × what is stored"
    return scaled if not about.offset else f"{scaled} {'-' if about.offset < 0 else '+'} {abs(about.offset)}"
