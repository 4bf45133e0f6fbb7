"""What a release does with a subtraction and a neighbour together: measured rows, and how one is found."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from minuend.core.elements import TYPES
from minuend.models.surroundings import (
    ADJACENT,
    APART,
    ARITHMETIC,
    LINEAR,
    MINUEND_ZERO,
    NARROW,
    POWER,
    Surrounding,
    bare,
)
from minuend.runtimes.answers import ANSWER, EVERY, Answer, answer_of, plain_answer
from minuend.runtimes.forms import Names, Under
from minuend.runtimes.merging import merge
from minuend.runtimes.values import CLASSES

_CONVERSION = re.compile(r"Cast from u?int(16|32|64) to|\S+ - Cast from u?int(16|32|64) to")
"""A conversion from integers that narrow floats lack."""

_ZERO = re.compile(rf"(?<![\w.]){re.escape(MINUEND_ZERO)}(?![\w.])")

STATIC, DYNAMIC = "static", "dynamic"
DEFAULTS = {STATIC: "default precision", DYNAMIC: "dynamic, default precision"}
"""Settings in which a case is asked: shapes known or not, under the precision that keeps float32; and, where a runtime
has another by default, under that."""

WIDE = "float32"
"""The type that runtimes compute narrow ones in; of it every neighbour is asked."""

Key = tuple[str, str, str, str]
"""Expression, element type, setting and form."""

Answers = Mapping[str, Answer]


@dataclass(frozen=True)
class GraphAnswers:
    """Every graph case that was asked; a value class that is not named is fine.

    Attributes:
        cells: the answers of each case. cpus: on which processors they were measured, in the order of time: cases that
            a list grew by can be measured elsewhere.
    """

    cells: Mapping[Key, Answers]
    cpus: tuple[str, ...] = ()

    @functools.cached_property
    def has_default(self) -> bool:
        """Whether the runtime has a precision of its own by default, so that a hint changes answers."""
        return any(key[2] in DEFAULTS.values() for key in self.cells)

    def covers(self, dtype: str, dynamic: bool) -> bool:
        """Whether cases of an element type were measured; a file can leave whole types out."""
        return (bare("x", "x"), dtype, DYNAMIC if dynamic else STATIC, ADJACENT) in self.cells

    @functools.cached_property
    def _coarse(self) -> frozenset[str]:
        """The operators that the runtime computes in less than float32 by default, and what stands beside them too."""
        plain = {default: setting for setting, default in DEFAULTS.items()}
        return frozenset(
            expression.partition("(")[0].rpartition(" ")[2]
            for (expression, dtype, setting, form), answers in self.cells.items()
            if setting in plain
            and dtype == WIDE
            and EVERY in answers
            and EVERY not in self.cells.get((expression, dtype, plain[setting], form), {})
            and expression.endswith(")")
            and "… " not in expression
        )

    def find(self, around: Surrounding, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        """Return what was measured of a neighbour; ``None`` where nothing was.

        Args:
            around: the neighbour. dtype: the subtraction's element type. dynamic: whether shapes are open.
            hint: the precision that the runtime is told, or ``""`` for its default.
        """
        if around.exact and self._told(around, WIDE, dynamic, hint) == {}:
            return {}  # the two are fine where nothing rounds between them
        return self._told(around, dtype, dynamic, hint)

    def _told(self, around: Surrounding, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        """What was measured of a neighbour, or of the one that it counts as: other constants stand for 2^k and 0."""
        found = self._find(around, dtype, dynamic, hint)
        other = "scalar" if around.operator in ARITHMETIC else "k"
        text = _ZERO.sub(other, around.expression.replace(POWER, "scalar"))
        if found is not None or text == around.expression:
            return found
        # A runtime for which 0 - x is a subtraction like others has no other use for it.
        alone = self._cell(Surrounding(bare(MINUEND_ZERO, "x"), ADJACENT, ""), dtype, STATIC)
        if _ZERO.search(around.expression) and alone != {}:
            return None
        return self._find(replace(around, expression=text), dtype, dynamic, hint)

    def _find(self, around: Surrounding, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        plain = DYNAMIC if dynamic else STATIC
        if around.far:
            return None if self._in_less(dtype, hint) and around.operator in self._coarse else {}
        default_matters = self._in_less(dtype, hint)
        beside = (around.expression, dtype)
        default = next((found for one in (plain, STATIC) if (found := self._default(beside, one)) is not None), None)
        if around.later:
            if not default_matters:
                return {}
            # One more operator between the two can take the subtraction along, or another beside them; one was asked.
            return None if around.operator in self._coarse else default
        own = self._cell(around, dtype, plain)
        if own is None or not default_matters:
            return own
        exact = self.cells.get((*beside, plain, ADJACENT))
        if default is None or exact is None:
            return None
        lost = {name: one for name, one in default.items() if name not in exact and EVERY not in exact}
        return joined(own, lost)

    def _in_less(self, dtype: str, hint: str) -> bool:
        """Whether a type may be computed in less than its own precision, since nothing says otherwise."""
        return self.has_default and not hint and not TYPES[dtype].is_integer

    def _default(self, beside: tuple[str, str], setting: str) -> Answers | None:
        """A neighbour under the default precision; where open shapes were not asked, known ones stand for them."""
        return self.cells.get((*beside, DEFAULTS[setting], ADJACENT))

    def _cell(self, around: Surrounding, dtype: str, setting: str) -> Answers | None:
        """A case; one that is asked apart for some operators alone counts as its neighbour where bits can be kept."""
        found = self.cells.get((around.expression, dtype, setting, around.form))
        if dtype in NARROW and not found and _CONVERSION.match(around.expression):
            return None  # asked with small integers, and others are no numbers of the type
        if found is not None or around.form == ADJACENT:
            return found
        beside = self.cells.get((around.expression, dtype, setting, ADJACENT))
        if around.form == APART and around.operator not in LINEAR and dtype not in NARROW:
            return {}
        return beside


def joined(one: Answers, other: Answers) -> Answers:
    """Join answers of two cases that a subtraction is both of: a class that deviates in either does."""
    return {**other, **one}


# ---- files ------------------------------------------------------------------------------------------------------

ASKED = "graph cases.json"
"""The cases that every release is asked, beside the releases' files: those list what deviates or does not run."""

BETWEEN_CPUS = "; "
"""What stands between the processors of a file."""

_NAMES = ("expressions", "dtypes", "settings", "forms")


def form(row: Any) -> Any:
    """The form of a release's row (:mod:`minuend.runtimes.forms`)."""
    return _UNASKED if isinstance(row, dict) and "unasked" in row else _form()


_UNASKED = {"unasked": [(str, str)]}


@functools.cache
def _form() -> Any:
    known = (frozenset(names) for names in zip(*asked(), strict=True))
    answers = Under(frozenset((*CLASSES, EVERY)), ANSWER)
    return {name: Names(names) for name, names in zip(_NAMES, known, strict=True)} | {"answers?": answers}


def load(rows: Sequence[Mapping[str, Any]], hints: bool, cpus: str, cases: Iterable[Key] | None = None) -> GraphAnswers:
    """Read a release's rows.

    Args:
        rows: what deviates, and what was asked and does not run. hints: whether the runtime has a precision by default.
        cpus: the processors, :data:`BETWEEN_CPUS` between them. cases: the list that the rows were written against;
            by default that of this package.
    """
    cells: dict[Key, Answers] = {key: {} for key in (asked(hints) if cases is None else cases)}
    for row in rows:
        if "unasked" in row:
            unasked = set(map(tuple, row["unasked"]))
            cells = {key: found for key, found in cells.items() if (key[1], key[2]) not in unasked}
            continue
        answers = {name: answer_of(one) for name, one in row["answers"].items()} if "answers" in row else None
        for key in _keys(row):
            if answers is None:
                cells.pop(key, None)
            else:
                cells[key] = answers
    return GraphAnswers(cells, tuple(filter(None, cpus.split(BETWEEN_CPUS))))


def dump(graphs: GraphAnswers) -> list[str]:
    """Write a release's rows, a line each: what deviates, and what was asked and does not run."""
    every = asked(graphs.has_default)
    kinds = {(key[1], key[2]) for key in graphs.cells}
    found: dict[Key, Any] = {}
    for key in sorted(every):
        answers = graphs.cells.get(key)
        if (answers is None or answers) and (key[1], key[2]) in kinds:
            found[key] = answers
    unasked = sorted({(key[1], key[2]) for key in every} - kinds)
    lines = [json.dumps({"unasked": unasked})] if unasked else []
    for names, content in merge(found):
        row: dict[str, Any] = dict(zip(_NAMES, map(list, names), strict=True))
        if content is not None:
            row["answers"] = {name: plain_answer(one) for name, one in content.items()}
        lines.append(json.dumps(row, ensure_ascii=False, allow_nan=False))
    return lines


@functools.cache
def asked(hints: bool = True) -> frozenset[Key]:
    """Every case that releases are asked; those of runtimes without hints are not asked at a default precision."""
    return listed_in(resources.files("minuend.runtimes").joinpath("measured", ASKED).read_text("utf-8"), hints)


def listed_in(text: str, hints: bool) -> frozenset[Key]:
    """Read the cases that the text of an :data:`ASKED` lists."""
    return frozenset(key for row in json.loads(text) for key in _keys(row) if hints or key[2] not in DEFAULTS.values())


@functools.cache
def digest() -> str:
    """Return what tells this package's list of cases from others: a file leaves out what is fine, list by list."""
    text = "\n".join("\t".join(key) for key in sorted(asked()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def dump_asked(keys: Sequence[Key]) -> str:
    """Write the cases that releases are asked as the text of :data:`ASKED`."""
    rows = [dict(zip(_NAMES, map(list, names), strict=True)) for names, _ in merge(dict.fromkeys(keys, ""))]
    return "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n]\n"


def _keys(row: Mapping[str, Any]) -> Iterator[Key]:
    yield from itertools.product(*(row[name] for name in _NAMES))
