"""What a release does with a subtraction and a neighbour together: measured rows, and how one is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from minuend.models.surroundings import ADJACENT, Surrounding
from minuend.runtimes.answers import Answer

STATIC, DYNAMIC, DEFAULT = "static", "dynamic", "default precision"
"""Settings in which a case is asked: shapes known or not, under the precision that keeps float32; and, where a runtime
has another by default, under that."""

Key = tuple[str, str, str, str]
"""Expression, element type, setting and form."""

Answers = Mapping[str, Answer]


@dataclass(frozen=True)
class GraphAnswers:
    """Every graph case that was asked; a value class that is not named is fine.

    Attributes:
        cells: the answers of each case.
    """

    cells: Mapping[Key, Answers] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def has_default(self) -> bool:
        """Whether the runtime has a precision of its own by default, so that a hint changes answers."""
        return any(key[2] == DEFAULT for key in self.cells)

    def find(self, around: Surrounding, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        """Return what was measured of a neighbour; ``None`` where nothing was.

        Args:
            around: the neighbour. dtype: the subtraction's element type. dynamic: whether shapes are open.
            hint: the precision that the runtime is told, or ``""`` for its default.
        """
        plain = DYNAMIC if dynamic else STATIC
        if around.later:
            if hint or not self.has_default:
                return {}
            return self.cells.get((around.expression, dtype, DEFAULT, ADJACENT))
        own = self._cell(around, dtype, plain)
        if own is None or hint or not self.has_default:
            return own
        default = self._cell(around, dtype, DEFAULT)
        return None if default is None else joined(own, default)

    def _cell(self, around: Surrounding, dtype: str, setting: str) -> Answers | None:
        for form in (around.form, ADJACENT):
            if (found := self.cells.get((around.expression, dtype, setting, form))) is not None:
                return found
        return None


def joined(one: Answers, other: Answers) -> Answers:
    """Join answers of two cases that a subtraction is both of: a class that deviates in either does."""
    return {**other, **one}
