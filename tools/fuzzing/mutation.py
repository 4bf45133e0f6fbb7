"""The engine without coverage: inputs are harmed, and the shortest one of each outcome is kept and harmed further.

This package refuses what is wrong by errors, each check by one of its own. So the line that raised an error tells which
branch an input has reached, and costs nothing to collect.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Iterable, Sequence

Harm = Callable[[random.Random, bytes], bytes]

LONGEST = 1 << 16
_MOST_KEPT = 4000
_EDGES = (
    0,
    1,
    2,
    7,
    8,
    63,
    64,
    127,
    128,
    255,
    256,
    32767,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
_NUMBER = re.compile(rb"[0-9]+")


def harmed(source: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change a few places of an input: bytes, numbers in text or binary, words of its language, parts of another."""
    found = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 2, 4, 8))):
        at = source.randrange(len(found) + 1)
        end = min(len(found), at + source.choice((1, 1, 2, 4, 8, 16, 64)))
        match source.randrange(11):
            case 0 if at < len(found):
                found[at] ^= 1 << source.randrange(8)
            case 1 if at < len(found):
                found[at] = source.randrange(256)
            case 2:
                del found[at:end]
            case 3:
                found[at:at] = found[at:end] * source.choice((1, 1, 2, 9, 100))
            case 4:
                size = source.choice((1, 2, 4, 8))
                number = source.choice(_EDGES) & ((1 << 8 * size) - 1)
                found[at : at + size] = number.to_bytes(size, source.choice(("little", "big")))
            case 5 | 6 if words:
                found[at : source.choice((at, end))] = source.choice(words)
            case 7 if other:
                start = source.randrange(len(other))
                found[at:end] = other[start : start + source.choice((1, 4, 16, 64, 1000))]
            case 8 | 9 if spots := [spot.span() for spot in _NUMBER.finditer(found)]:
                start, stop = source.choice(spots)
                found[start:stop] = b"%d" % (source.choice(_EDGES) + source.choice((-1, 0, 0, 1)))
            case _:
                del found[at:]
    return bytes(found[:LONGEST])


class Pool:
    """The shortest input known of each outcome.

    Args:
        harm: what harms an input by its structure, in place of every second byte-wise change. words: of its language.
    """

    def __init__(self, source: random.Random, harm: Harm | None, words: Sequence[bytes]) -> None:
        self._source, self._harm, self._words = source, harm, words
        self.shortest: dict[str, bytes] = {}
        self._order: list[str] = []

    def add(self, outcome: str, data: bytes) -> None:
        """Take an input for the pool, if it is the first or the shortest of its outcome."""
        known = self.shortest.get(outcome)
        if known is None:
            if len(self._order) >= _MOST_KEPT:
                return
            self._order.append(outcome)
        if known is None or len(data) < len(known):
            self.shortest[outcome] = data

    def next(self) -> bytes:
        """Make an input of those in the pool."""
        data, other = (self.shortest[self._source.choice(self._order)] for _ in range(2))
        if self._harm is not None and self._source.random() < 0.5:
            with contextlib.suppress(
                ValueError, SyntaxError, LookupError, RecursionError
            ):  # it has no structure any more
                return self._harm(self._source, data)[:LONGEST]
        return harmed(self._source, data, other, self._words)


def explore(
    execute: Callable[[bytes], str],
    seeds: Iterable[bytes],
    source: random.Random,
    harm: Harm | None,
    words: Sequence[bytes],
) -> Iterable[Pool]:
    """Run the seeds, and then one harmed input after the other for as long as somebody asks; yields after each."""
    pool = Pool(source, harm, words)
    for data in seeds:
        pool.add(execute(data), data)
        yield pool
    while True:
        data = pool.next()
        pool.add(execute(data), data)
        yield pool
