"""What models look up in measured tables, most often first: where time is short, a release is measured with that.

Some answers are taken for others: of a constant for its special values, of adjacent operators for those behind a
Reshape, of one setting for another. Cases between which that happens are a group, which is measured whole or not at
all. What is measured before any group is what verdicts need of every model.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import minuend as mn
from minuend.errors import MinuendError
from minuend.models.matching.match import Match
from minuend.models.patterns import Const, Op, Pattern, X, is_alone, replaced
from minuend.runtimes import targets
from minuend.runtimes.answers import EVERY
from minuend.runtimes.pattern_cases import GraphCase
from minuend.runtimes.table import DEFAULTS, STATIC, WIDE, Answers, Key, Table

MODELS = Path(__file__).resolve().parents[1] / "tests" / "data" / "models"
"""Exports of the modules of ``tools/corpus``."""

Group = tuple[Pattern, str]
"""A pattern with an ordinary constant in the place of special ones, and an element type."""

Row = tuple[Key, GraphCase]


@dataclass(frozen=True)
class _Watched(Table):
    """A table that notes which groups are looked up in it."""

    seen: set[Group] = field(default_factory=set)

    def find(self, match: Match, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        """Return what was measured of a match; see :meth:`Table.find`."""
        self.seen.update((_ordinary(match.pattern), one) for one in {dtype, *([WIDE] if match.exact else [])})
        return super().find(match, dtype, dynamic, hint)


def counted(runtime: str, folders: Iterable[Path]) -> Counter[Group]:
    """Return in how many models of some folders each group is looked up on a runtime's newest release.

    On a runtime of which no pattern is known, nothing is looked up: what is on onnxruntime stands for it.
    """
    known = targets.find(runtime)
    if not known.table.has_patterns:
        known = targets.find("onnxruntime-cpu")
    found: Counter[Group] = Counter()
    for path in sorted(one for folder in folders for one in folder.rglob("*.onnx")):
        table = _Watched(known.table.cells, known.table.cpus)
        try:
            mn.check(str(path), replace(known, table=table))
        except MinuendError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
        found.update(table.seen)
    return found


def ranked(rows: Sequence[Row], counts: Mapping[Group, int], newest: Table) -> Iterator[list[Row]]:
    """Yield cases that are measured together: first what verdicts need of every model, then what most models look up.

    Before the patterns of an element type come those that have no adjacent operator: what is unknown of these is taken
    for fine where shapes are open.

    Args:
        rows: every case of a runtime. counts: in how many models a group is looked up. newest: what is known of
            another release of it.
    """
    most = {dtype: max(n for (_, one), n in counts.items() if one == dtype) for _, dtype in counts}
    groups: dict[tuple[int, bool, object], list[Row]] = {}
    for key, case in rows:
        if key.dtype not in most:
            continue
        if is_alone(key.pattern) or _is_coarse(key, case, newest):
            groups.setdefault((_FIRST if key.dtype == WIDE else most[key.dtype], False, key.dtype), []).append(
                (key, case)
            )
        group = _ordinary(key.pattern), key.dtype
        if group in counts:
            groups.setdefault((counts[group], True, group), []).append((key, case))
    yield from (groups[place] for place in sorted(groups, key=lambda place: (-place[0], place[1])))


_FIRST = 1 << 31
"""Models more than there are."""


def _is_coarse(key: Key, case: GraphCase, newest: Table) -> bool:
    """Whether a case can show that an operator anywhere in a graph is computed in less than float32 by default."""
    if key.dtype != WIDE or key.setting not in (STATIC, DEFAULTS[STATIC]) or not _has_holes_alone(key.pattern):
        return False
    return case.mixes or EVERY in newest.cells.get(key, {})


def _has_holes_alone(pattern: Pattern) -> bool:
    """Whether a pattern is of operators and holes, without constants."""
    if not isinstance(pattern, Op):
        return False
    return all(one in (X, None) or (isinstance(one, Op) and _has_holes_alone(one)) for one in pattern.operands)


_SPECIAL = {Const.POWER: Const.SCALAR, Const.ZERO: Const.SCALAR, Const.ANY: Const.SCALAR}
"""For which constants another is taken."""


def _ordinary(pattern: Pattern) -> Pattern:
    return replaced(pattern, _SPECIAL)
