"""The order of a runtime's releases."""

from __future__ import annotations

import functools
import re

RELEASE = re.compile(r"[0-9]{1,9}([.+-][0-9A-Za-z]{1,60}){0,8}")
"""What a release looks like that has a place among others."""

_NUMBER = re.compile("[0-9]{1,9}")
"""A part of a release that is compared as a number."""


@functools.lru_cache(maxsize=256)
def parts(release: str) -> tuple[tuple[int, str], ...]:
    """Return a release as what releases are ordered by; what is no number comes before numbers."""
    found = release.replace("+", ".").split(".")
    return tuple((int(part), "") if _NUMBER.fullmatch(part) else (-1, part) for part in found)
