"""What a release does with each pattern: measured rows, and how one is found."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from minuend.core.elements import TYPES
from minuend.models.matching import ADJACENT, ARITHMETIC, LINEAR, NARROW, THROUGH, Match
from minuend.models.patterns import Const, Op, Pattern, X, judged, less, pattern_of, plain, replaced
from minuend.operators import BY_ONNX
from minuend.operators import VALUE_CLASSES as CLASSES
from minuend.plain import grouped
from minuend.runtimes.answers import ANSWER, EVERY, Answer, answer_of, plain_answer
from minuend.runtimes.merging import merge
from minuend.runtimes.schema import Below, Names, Under

_NOT_IN_NARROW = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (16, 32, 64))
"""Integers that narrow floats lack."""

STATIC, DYNAMIC = "static", "dynamic"
DEFAULTS = {STATIC: "default precision", DYNAMIC: "dynamic, default precision"}
"""Settings in which a case is asked: shapes known or not, under the precision that keeps float32; and, where a runtime
has another by default, under that."""

WIDE = "float32"
"""The type that runtimes compute narrow ones in; of it every neighbour is asked."""

Key = tuple[Pattern, str, str, str]
"""Pattern, element type, setting and form."""

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
        return (less(X, X), dtype, DYNAMIC if dynamic else STATIC, ADJACENT) in self.cells

    @functools.cached_property
    def _coarse(self) -> frozenset[str]:
        """The operators that the runtime computes in less than float32 by default, and what stands beside them too."""
        plain_settings = {default: setting for setting, default in DEFAULTS.items()}
        return frozenset(
            operator
            for (pattern, dtype, setting, form), answers in self.cells.items()
            if setting in plain_settings
            and dtype == WIDE
            and EVERY in answers
            and EVERY not in self.cells.get((pattern, dtype, plain_settings[setting], form), {})
            and (operator := _last(pattern))
        )

    def find(self, match: Match, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        """Return what was measured of a match; ``None`` where nothing was.

        Args:
            match: the pattern in its graph. dtype: the judged operator's element type.
            dynamic: whether shapes are open. hint: the precision that the runtime is set to, or ``""`` for its default.
        """
        if match.exact and self._known(match, WIDE, dynamic, hint) == {}:
            return {}  # the two are fine where nothing rounds between them
        found = self._known(match, dtype, dynamic, hint)
        return None if found == {} and self._cannot_show(match.pattern, dtype) else found

    def _cannot_show(self, pattern: Pattern, dtype: str) -> bool:
        """Whether a deviation is out of reach of the numbers that a case is measured with.

        Their inputs are no number that a constant is, and no finite one overflows with a constant. So they show neither
        the sign of a zero where a runtime negates by reversing, nor a result that is infinite between two nodes alone,
        where both operands of the second are that result.
        """
        if not isinstance(pattern, Op) or pattern.judged or TYPES[dtype].is_integer:
            return False
        own = [one for one in pattern.operands if isinstance(one, Op) and one.judged]
        if not any(isinstance(one, Const) for op in own for one in op.operands):
            return False
        reverses = self._cell(Match(less(Const.ZERO, X), ADJACENT, ""), dtype, STATIC) != {}
        return (pattern.operator == "Neg" and reverses) or (dtype in NARROW and len(own) > 1)

    def _known(self, match: Match, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        """What was measured of a match, or of the one that it counts as: other constants stand for 2^k and 0."""
        found = self._find(match, dtype, dynamic, hint)
        if found is not None:
            return found
        ordinary = Const.SCALAR if match.operator in ARITHMETIC else Const.ANY
        pattern = replaced(match.pattern, {Const.POWER: Const.SCALAR, Const.ZERO: ordinary})
        if pattern == match.pattern:
            return found
        # A runtime for which 0 - x is a subtraction like others has no other use for it.
        alone = self._cell(Match(less(Const.ZERO, X), ADJACENT, ""), dtype, STATIC)
        if alone != {} and replaced(match.pattern, {Const.ZERO: ordinary}) != match.pattern:
            return None
        return self._find(replace(match, pattern=pattern), dtype, dynamic, hint)

    def _find(self, match: Match, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        setting = DYNAMIC if dynamic else STATIC
        if match.far:
            return None if self._in_less(dtype, hint) and match.operator in self._coarse else {}
        default_matters = self._in_less(dtype, hint)
        default = next(
            (found for one in (setting, STATIC) if (found := self._default(match, dtype, one)) is not None), None
        )
        if match.later:
            if not default_matters:
                return {}
            # One more operator between the two can take the subtraction along, or an adjacent one.
            return None if match.operator in self._coarse else default
        own = self._cell(match, dtype, setting)
        if own is None or not default_matters:
            return own
        exact = self.cells.get((match.pattern, dtype, setting, ADJACENT))
        if default is None or exact is None:
            return None
        lost = {name: one for name, one in default.items() if name not in exact and EVERY not in exact}
        return joined(own, lost)

    def _in_less(self, dtype: str, hint: str) -> bool:
        """Whether a type may be computed in less than its own precision, since nothing says otherwise."""
        return self.has_default and not hint and not TYPES[dtype].is_integer

    def _default(self, match: Match, dtype: str, setting: str) -> Answers | None:
        """A pattern under the default precision; where open shapes were not measured, known ones stand for them."""
        return self.cells.get((match.pattern, dtype, DEFAULTS[setting], ADJACENT))

    def _cell(self, match: Match, dtype: str, setting: str) -> Answers | None:
        """A case; a form that is measured for some operators alone counts as adjacent where bits can be kept."""
        found = self.cells.get((match.pattern, dtype, setting, match.form))
        if dtype in NARROW and not found and _from_wide_integers(match.pattern):
            return None  # measured with small integers, and others are no numbers of the type
        if found is not None or match.form == ADJACENT:
            return found
        adjacent = self.cells.get((match.pattern, dtype, setting, ADJACENT))
        if match.form == THROUGH and match.operator not in LINEAR and dtype not in NARROW:
            return {}
        return adjacent


def _last(pattern: Pattern) -> str:
    """The operator whose call a pattern ends with; ``""`` where that is no adjacent operator."""
    if not isinstance(pattern, Op):
        return ""
    if not pattern.judged:
        return pattern.operator if pattern.types is None else ""
    end = pattern.operands[-1]
    return end.operator if isinstance(end, Op) and end.types is None else ""


def _from_wide_integers(pattern: Pattern) -> bool:
    """Whether a conversion from integers that narrow floats lack makes an operand."""
    made = pattern.operands if isinstance(pattern, Op) and pattern.judged else ()
    return any(isinstance(one, Op) and one.types is not None and one.types[0] in _NOT_IN_NARROW for one in made)


def joined(one: Answers, other: Answers) -> Answers:
    """Join answers of two cases that a subtraction is both of: a class that deviates in either does."""
    return {**other, **one}


# ---- files ------------------------------------------------------------------------------------------------------

CASES = "graph cases.json"
"""The cases that every release is measured with; the releases' files list what deviates or does not run."""

BETWEEN_CPUS = "; "
"""What stands between the processors of a file."""

_NAMES = ("dtypes", "settings", "forms")


def form(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The form of what a release's file has of patterns (:mod:`minuend.runtimes.schema`)."""
    listed = data.get("patterns")
    row = {
        "patterns": [Below(len(listed) if isinstance(listed, list) else 0)],
        **names_form(),
        "answers?": answers_form(),
    }
    return {
        "patterns?": [lambda one: list if isinstance(one, list) else dict],
        "graphs?": [lambda one: _UNMEASURED if isinstance(one, dict) and "unmeasured" in one else row],
        "graph_cases?": str,
        "graphs_cpu?": str,
    }


@functools.cache
def names_form() -> Mapping[str, Names]:
    """The form of the names that a row lists."""
    known = (frozenset(names) for names in zip(*(key[1:] for key in measured()), strict=True))
    return {name: Names(each) for name, each in zip(_NAMES, known, strict=True)}


def answers_form() -> Under:
    """The form of a row's answers."""
    return Under(frozenset((*CLASSES, EVERY)), ANSWER)


_UNMEASURED = {"unmeasured": [(str, str)]}


def load(data: Mapping[str, Any], hints: bool, cases: Iterable[Key] | None = None) -> GraphAnswers:
    """Read what a release's file has of patterns.

    Args:
        data: the file's. hints: whether the runtime has a precision by default. cases: the list that the rows were
            written against; by default that of this package.
    """
    cells: dict[Key, Answers] = {key: {} for key in (measured(hints) if cases is None else cases)}
    patterns = tuple(map(pattern_of, data.get("patterns", ())))
    for row in data.get("graphs", ()):
        if "unmeasured" in row:
            left_out = set(map(tuple, row["unmeasured"]))
            cells = {key: found for key, found in cells.items() if (key[1], key[2]) not in left_out}
            continue
        for operator, own in grouped((judged(patterns[i]), patterns[i]) for i in row["patterns"]).items():
            keys = itertools.product(own, *(row[name] for name in _NAMES))
            if "answers" not in row:
                for key in keys:
                    cells.pop(key, None)
                continue
            answers = {name: answer_of(one, BY_ONNX[operator]) for name, one in row["answers"].items()}
            cells |= dict.fromkeys(keys, answers)
    return GraphAnswers(cells, tuple(filter(None, data.get("graphs_cpu", "").split(BETWEEN_CPUS))))


def dump(graphs: GraphAnswers) -> tuple[list[str], list[str]]:
    """Write what a release does with patterns: the patterns, and the rows, a line each.

    Rows say what deviates, and what was tried and does not run; a case that no row names is fine.
    """
    every = measured(graphs.has_default)
    known = {(key[1], key[2]) for key in graphs.cells}
    found: dict[Key, Any] = {}
    for key in sorted(every, key=_sorted_by):
        answers = graphs.cells.get(key)
        if (answers is None or answers) and (key[1], key[2]) in known:
            found[key] = answers
    left_out = sorted({(key[1], key[2]) for key in every} - known)
    lines = [json.dumps({"unmeasured": left_out})] if left_out else []
    patterns, rows = _merged(found)
    for row, content in rows:
        if content is not None:
            row["answers"] = {name: plain_answer(one) for name, one in content.items()}
        lines.append(json.dumps(row, ensure_ascii=False, allow_nan=False))
    return patterns, lines


def _sorted_by(key: Key) -> tuple[str, ...]:
    return (str(key[0]), *key[1:])


def _merged(cells: Mapping[Key, Any]) -> tuple[list[str], list[tuple[dict[str, Any], Any]]]:
    """The patterns of cells, and rows that name them by their numbers."""
    numbers = {pattern: i for i, pattern in enumerate(dict.fromkeys(key[0] for key in cells))}
    rows: list[tuple[dict[str, Any], Any]] = []
    for (patterns, *names), content in merge(cells):
        known = dict(zip(_NAMES, map(list, names), strict=True))
        rows.append(({"patterns": [numbers[one] for one in patterns], **known}, content))
    return [json.dumps(plain(one), ensure_ascii=False) for one in numbers], rows


@functools.cache
def measured(hints: bool = True) -> frozenset[Key]:
    """Every case that releases are measured with; those without hints have none at a default precision."""
    return listed_in(resources.files("minuend.runtimes").joinpath("measured", CASES).read_text("utf-8"), hints)


def listed_in(text: str, hints: bool) -> frozenset[Key]:
    """Read the cases that the text of :data:`CASES` lists."""
    data = json.loads(text)
    patterns = tuple(map(pattern_of, data["patterns"]))
    keys = (key for row in data["rows"] for key in _keys(row, patterns))
    return frozenset(key for key in keys if hints or key[2] not in DEFAULTS.values())


@functools.cache
def by_text() -> Mapping[str, Pattern]:
    """The patterns of all cases by what is printed of them: files of format 1 have that."""
    return {str(pattern): pattern for pattern in dict.fromkeys(key[0] for key in measured())}


@functools.cache
def digest() -> str:
    """Return what tells this package's list of cases from others: a file leaves out what is fine, list by list."""
    text = "\n".join("\t".join(key) for key in sorted(map(_sorted_by, measured())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def dump_cases(keys: Sequence[Key]) -> str:
    """Write the cases that releases are measured with as the text of :data:`CASES`."""
    patterns, rows = _merged(dict.fromkeys(keys, ""))
    parts = {"patterns": patterns, "rows": [json.dumps(row) for row, _ in rows]}
    return (
        "{\n" + ",\n".join(f'"{name}": [\n  ' + ",\n  ".join(lines) + "\n]" for name, lines in parts.items()) + "\n}\n"
    )


def _keys(row: Mapping[str, Any], patterns: Sequence[Pattern]) -> Iterator[Key]:
    yield from itertools.product([patterns[i] for i in row["patterns"]], *(row[name] for name in _NAMES))
