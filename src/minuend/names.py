"""Names that are not used yet, for what is added to a model."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable


def unused(base: str, taken: Container[str]) -> str:
    """Return a name that is not taken: ``base``, or with a number behind it.

    >>> unused("c", {"a"}), unused("c", {"c", "c_1"})
    ('c', 'c_2')
    """
    if base not in taken:
        return base
    return next(name for i in itertools.count(1) if (name := f"{base}_{i}") not in taken)


class Names:
    """The names of a model, each given out once.

    Attributes:
        used: those that are taken.
    """

    def __init__(self, used: Iterable[str] = ()) -> None:
        self.used = set(used)

    def fresh(self, base: str) -> str:
        """Return a name that is used nowhere, and take it."""
        name = unused(base, self.used)
        self.used.add(name)
        return name
