"""An unmeasured release: answered by the measured ones on either side of it.

1. Between two releases that agree on what is queried, their answer is given, and marked as inferred.
2. Where they differ and one of them is right, the answer is the other's: a release in between may be wrong as well.
3. Where they differ and neither is right, the answer is that of the release whose number is nearer; the older one's
   where both are as near.
4. Beyond the newest measured release, and before the oldest, the answers are that one's, and a warning says so.
5. What is known of one of two releases alone is unknown of a release between them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from minuend.models.constants import Constants
from minuend.models.matching.match import Match
from minuend.runtimes.answers import OK, WORST, Answer, by_operand, joined_spans
from minuend.runtimes.reasons import Reason, ReleaseBetween, ReleasesDiffer, ReleaseTooNew, ReleaseTooOld, Stated
from minuend.runtimes.releases import parts
from minuend.runtimes.table import NOTHING, Answers, Table
from minuend.runtimes.target import Target
from minuend.runtimes.witness import Witness


@dataclass(frozen=True)
class Inferred(Target):
    """An unmeasured release.

    Attributes:
        older, newer: the measured releases around it; ``None`` where there is none on that side.
    """

    older: Target | None = None
    newer: Target | None = None

    @property
    def nearer(self) -> Target:
        """The measured release whose number is nearer."""
        if self.older is None or self.newer is None:
            found = self.older or self.newer
            assert found is not None
            return found
        return self.older if _distance(self.older, self.release) <= _distance(self.newer, self.release) else self.newer

    @property
    def where(self) -> str:
        """Where the release lies, in words."""
        if self.older is not None and self.newer is not None:
            return f"lies between {self.older.release} and {self.newer.release}"
        if self.older is not None:
            return f"lies beyond {self.older.release}, the newest that was measured"
        return f"lies before {self.nearer.release}, the oldest that was measured"

    @property
    def provenance(self) -> str | dict[str, str]:
        """What was measured in its place; ``"inferred"`` says why that is taken."""
        between = self.older is not None and self.newer is not None
        why = "which agree" if between else "whose answer is taken"
        measured = self.nearer.provenance
        assert isinstance(measured, dict)
        return {**measured, "inferred": f"{self.release} {self.where}, {why}"}

    @property
    def notice(self) -> Reason:
        """That it was not measured, and whose answers are given."""
        if self.older is not None and self.newer is not None:
            return ReleaseBetween(self.name, self.older.release, self.newer.release)
        kind = ReleaseTooNew if self.older is not None else ReleaseTooOld
        return kind(self.name, self.nearer.release)

    @property
    def behind(self) -> tuple[Target, ...]:
        """The measured releases around it."""
        return tuple(one for one in (self.older, self.newer) if one is not None)

    def answer(
        self, opversion: object, dtype: object, relation: str, constants: str | Constants
    ) -> Mapping[str, Answer]:
        """Return the answer for every value class, by the rules above; see :meth:`Target.answer`."""
        answers = [one.answer(opversion, dtype, relation, constants) for one in (self.older, self.newer) if one]
        if len(answers) == 1:
            return answers[0]
        older, newer = answers
        return {name: self.joined(older[name], newer[name]) for name in older}

    def joined(self, older: Answer, newer: Answer) -> Answer:
        """Return the answer for one value class, by rules 1 to 3 of what the releases on either side give."""
        assert self.older is not None
        assert self.newer is not None
        if agree(older, newer):
            spans = itertools.zip_longest(older.spans, newer.spans)
            return replace(older, spans=by_operand(_both(*one) for one in spans))
        stated = _stated(self.older, older), _stated(self.newer, newer)
        if "ok" in (older.verdict, newer.verdict):
            taken = min(older, newer, key=lambda one: WORST.index(one.verdict))
            name = ""
        else:
            taken = older if self.nearer is self.older else newer
            name = self.nearer.release
        return replace(taken, unlike=ReleasesDiffer(self.release, *stated, name))


def inferred(release: str, older: Target | None, newer: Target | None) -> Inferred:
    """Return what stands for a release between two measured ones, or beyond one."""
    made = Inferred("", release, NOTHING, older=older, newer=newer)
    near = made.nearer
    table = near.table
    if older is not None and newer is not None:
        both = older.table.has_patterns and newer.table.has_patterns
        table = _Between(table.nodes, table.cpus if both else (), of=made, older=older.table, newer=newer.table)
    known = {name: getattr(near, name) for name in ("runtime", "date", "cpu", "isa", "python")}
    return replace(made, table=table, **known)


@dataclass(frozen=True)
class _Between(Table):
    """The table of a release between two: the nodes of the nearer one, and the patterns of both."""

    of: Inferred | None = None
    older: Table = NOTHING
    newer: Table = NOTHING

    @functools.cached_property
    def has_patterns(self) -> bool:
        """Whether both were measured with patterns."""
        return self.older.has_patterns and self.newer.has_patterns

    def covers(self, dtype: str, dynamic: bool) -> bool:
        """Whether patterns of an element type were measured of both; see :meth:`Table.covers`."""
        return self.older.covers(dtype, dynamic) and self.newer.covers(dtype, dynamic)

    def find(self, match: Match, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        """Return what both give, by the rules above; see :meth:`Table.find`."""
        assert self.of is not None
        older, newer = (one.find(match, dtype, dynamic, hint) for one in (self.older, self.newer))
        if older is None or newer is None:
            return None
        names = dict.fromkeys((*older, *newer))
        return {name: self.of.joined(older.get(name, OK), newer.get(name, OK)) for name in names}

    def witness(self, match: Match, dtype: str, dynamic: bool, hint: str, names: Sequence[str]) -> Witness | None:
        """Return what shows it on either; see :meth:`Table.witness`."""
        assert self.of is not None
        tables = (self.of.nearer.table, self.older, self.newer)
        found = (one.witness(match, dtype, dynamic, hint, names) for one in tables)
        return next((one for one in found if one is not None), None)


def agree(older: Answer, newer: Answer) -> bool:
    """Whether two releases say one thing: the same verdict, and the same number where one pair shows both."""
    if older.verdict != newer.verdict or older.witness is None or newer.witness is None:
        return older.verdict == newer.verdict
    pairs = [tuple(map(str, witness.operands)) for witness in (older.witness, newer.witness)]
    return pairs[0] != pairs[1] or str(older.witness.got) == str(newer.witness.got)


def _both(older: object, newer: object) -> tuple[tuple[float, float], ...] | None:
    """Sizes that deviate in either; where one does not tell them, any may."""
    return joined_spans(older, newer) if isinstance(older, tuple) and isinstance(newer, tuple) else None


def _stated(target: Target, answer: Answer) -> Stated:
    return Stated(target.release, answer.verdict, None if answer.verdict == "ok" else answer.witness)


def _distance(one: Target, release: str) -> tuple[int, ...]:
    """The distance between two releases, number by number."""
    found, wanted = ([number for number, _ in parts(text)] for text in (one.release, release))
    longest = max(len(found), len(wanted))
    padded = [[*numbers, *[0] * (longest - len(numbers))] for numbers in (found, wanted)]
    return tuple(abs(a - b) for a, b in zip(*padded, strict=True))
