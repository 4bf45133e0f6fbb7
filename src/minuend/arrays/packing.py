"""Elements of fewer than 8 bits, several to a byte, as files and runtimes hold them.

One-bit elements go from the highest bit of a byte down, all others from the lowest bits up; the unused bits of the last
byte are 0. Elements are in C order and rows do not start new bytes. Wider elements are their own bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minuend.core.elements import ElementType

Codes = np.ndarray[Any, np.dtype[Any]]


def pack(element: ElementType, codes: Codes) -> bytes:
    """Return the bytes of some codes (bit patterns as unsigned numbers).

    >>> from minuend.core.elements import TYPES
    >>> [pack(TYPES[name], np.array([1, 0, 1], np.uint8)).hex() for name in ("uint1", "uint4")]
    ['a0', '0101']
    """
    if element.bits >= 8:
        return codes.tobytes()
    shifts = _shifts(element.bits)
    flat = codes.reshape(-1)
    padded = np.zeros((-(-flat.size // shifts.size), shifts.size), np.uint8)
    padded.reshape(-1)[: flat.size] = flat
    joined: Codes = np.bitwise_or.reduce(padded << shifts, axis=1)
    return joined.astype(np.uint8).tobytes()


def unpack(element: ElementType, shape: tuple[int, ...], data: bytes | bytearray | memoryview) -> Codes:
    """Read what :func:`pack` wrote: the caller has checked that there are ``ceil(elements * bits / 8)`` bytes.

    >>> from minuend.core.elements import TYPES
    >>> unpack(TYPES["uint2"], (2, 2), bytes([0b00011110])).tolist()
    [[2, 3], [1, 0]]
    """
    if element.bits >= 8:
        return np.frombuffer(data, f"u{element.itemsize}").reshape(shape)
    count = int(np.prod(shape, dtype=object))
    stored = np.frombuffer(data, np.uint8)
    codes = (stored[:, None] >> _shifts(element.bits)) & np.uint8((1 << element.bits) - 1)
    found: Codes = codes.reshape(-1)[:count].reshape(shape)
    return found


def _shifts(bits: int) -> Codes:
    """How far each element of a byte lies from its lowest bit, in the order of the elements."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return shifts[::-1] if bits == 1 else shifts
