"""Which operands of a node are constants of the model: their positions, and the words that reports have for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Constants = tuple[int, ...]
"""The positions of operands, ascending."""

WORDS: Mapping[str, Constants] = MappingProxyType({"none": (), "A": (0,), "B": (1,), "both": (0, 1)})
"""What reports and files call them."""

_BY_POSITIONS = {positions: word for word, positions in WORDS.items()}


def positions_of(constants: str | Constants) -> Constants:
    """Return the positions that a word stands for; positions are returned as they are.

    Raises:
        KeyError: no such word.

    >>> positions_of("B"), positions_of("none"), positions_of((0, 1))
    ((1,), (), (0, 1))
    """
    return WORDS[constants] if isinstance(constants, str) else constants


def word_of(constants: Constants) -> str:
    """Return the word for positions.

    >>> word_of((0, 1))
    'both'
    """
    return _BY_POSITIONS[constants]
