"""Counts and numbers in words."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A number of things: ``"1 tensor"``, ``"2 tensors"``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def number(value: float | None) -> str:
    """A number as tables show it: whole ones in full, others in nine digits, none as nothing."""
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


def short_number(value: float) -> str:
    """A number; large whole ones next to a power of two by that power: ``"-2^63"``, ``"2^32-1"``."""
    if isinstance(value, float) or abs(value) < 2**24:
        return number(value)
    power = (abs(value) + 8).bit_length() - 1
    rest = abs(value) - 2**power
    if abs(rest) > 8:
        return str(value)
    shown = f"2^{power}" + (f"{rest:+}" if rest else "")
    return shown if value > 0 else f"-({shown})" if rest else f"-{shown}"
