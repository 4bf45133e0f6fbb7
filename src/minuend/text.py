"""Numbers in texts from outside, read as formats and command lines mean them."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")

INT64 = (-(2**63), 2**63 - 1)


def whole_number(text: str, lowest: int = INT64[0], highest: int = INT64[1]) -> int:
    """Read a whole number in ASCII digits; Python's ``int`` also takes ``1_0``, other scripts' digits and spaces.

    Raises:
        ValueError: something else, or a number outside of the limits.

    >>> whole_number("-12")
    -12
    """
    if _WHOLE.fullmatch(text) is None or not lowest <= (value := int(text)) <= highest:
        raise ValueError(f"{text[:40]!r} is no whole number from {lowest} to {highest}")
    return value
