"""What a release was measured to do: one table, from a pattern with its types, shapes and setting to answers.

A node by itself is the smallest pattern. It is measured for each version of its operator, each relation of the shapes
and each choice of constants; other patterns for each setting and form.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

from minuend.core.elements import TYPES
from minuend.models.constants import Constants, positions_of
from minuend.models.matching.match import ADJACENT, THROUGH, WITHIN, Match
from minuend.models.matching.operator_groups import ARITHMETIC, COMPARISONS, LINEAR, NARROW
from minuend.models.patterns import Const, Distant, How, Op, Pattern, X, less, replaced
from minuend.operators.operator import Operator
from minuend.runtimes.answers import EVERY, Answer, worse
from minuend.runtimes.rule_witnesses import of_sum_that_is_zero
from minuend.runtimes.severity import SEVERITIES
from minuend.runtimes.witness import Witness
from minuend.standards.dialects import parse_version
from minuend.standards.version import OpVersion

_NOT_IN_NARROW = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (16, 32, 64))
"""Integers that narrow floats lack."""

STATIC, DYNAMIC = "static", "dynamic"
DEFAULTS = {STATIC: "default precision", DYNAMIC: "dynamic, default precision"}
"""Settings in which a case is measured: shapes known or not, under the precision that keeps float32; and, where a
runtime has another by default, under that."""

_MOST_FOUND = 4096
"""Matches whose answers are cached for each table."""

WIDE = "float32"
"""The type that runtimes compute narrow ones in; every adjacent operator is measured with it."""


class Key(NamedTuple):
    """What was measured.

    Attributes:
        pattern: a judged operator by itself, or with others. opversion: of a node by itself, ``"onnx:14"`` …; else
            ``""``, and so is ``relation``. dtype: the element type. constants: of a node by itself, which operands are.
        setting: :data:`STATIC`, :data:`DYNAMIC`, or one of :data:`DEFAULTS`. form: see :mod:`minuend.models.matching`.
    """

    pattern: Pattern
    opversion: str
    dtype: str
    relation: str
    constants: Constants
    setting: str
    form: str


Answers = Mapping[str, Answer]
"""By value class, or :data:`EVERY`; a class that is not named is fine."""


def node_key(op: OpVersion, dtype: str, relation: str, constants: Constants) -> Key:
    """Return the key of a node by itself."""
    return Key(_alone(op.computes), op.key, dtype, relation, constants, STATIC, ADJACENT)


def pattern_key(pattern: Pattern, dtype: str, setting: str, form: str) -> Key:
    """Return the key of a pattern of any version."""
    return Key(pattern, "", dtype, "", (), setting, form)


@functools.cache
def _alone(operator: Operator) -> Op:
    return Op(operator.onnx, (X,) * operator.arity, judged=True)


NodeRow = tuple[Iterable[str], Iterable[str], Iterable[str], Iterable[str], Answers]
"""Versions, element types, relations, constants in words, and the answers for each combination of them."""


def nodes(*rows: NodeRow) -> Table:
    """Return a table of nodes by themselves.

    >>> len(nodes((["onnx:13", "onnx:14"], ["int8"], ["same"], ["none", "A"], {})).cells)
    4
    """
    cells: dict[Key, Answers] = {}
    parsed = functools.cache(parse_version)  # each of thousands of rows names one of some versions
    for *names, answers in rows:
        for opversion, dtype, relation, word in itertools.product(*names):
            cells[node_key(parsed(opversion), dtype, relation, positions_of(word))] = answers
    return Table(cells)


@runtime_checkable
class ByPattern(Protocol):
    """Cells that are made when they are wanted: see :mod:`minuend.runtimes.cells`."""

    @property
    def nodes(self) -> Mapping[Key, Answers]:
        """The cells of nodes by themselves."""

    def with_settings(self, settings: Collection[str], name: str = "", /) -> Iterator[Key]:
        """Yield the keys of patterns that were measured in one of some settings, and with an answer of a name there."""


class Shown(Protocol):
    """Witnesses of patterns: see :mod:`minuend.runtimes.pattern_witnesses`."""

    def find(self, keys: Iterable[Key], names: Iterable[str], /) -> Witness | None:
        """Return the first witness of some cases and value classes."""


@dataclass(frozen=True)
class Table:
    """What was measured.

    Attributes:
        cells: the answers of each case. cpus: the processors on which patterns were measured, in the order of time:
            cases that a list grew by can be measured elsewhere.
        shown: the witnesses of patterns, where answers do not hold them.
    """

    cells: Mapping[Key, Answers]
    cpus: tuple[str, ...] = ()
    shown: Shown | None = None

    @functools.cached_property
    def nodes(self) -> Mapping[Key, Answers]:
        """The cells of nodes by themselves."""
        if isinstance(self.cells, ByPattern):
            return self.cells.nodes
        return {key: answers for key, answers in self.cells.items() if key.opversion}

    @functools.cached_property
    def patterns(self) -> Mapping[Key, Answers]:
        """The cells of patterns that hold for any version of an operator."""
        return {key: answers for key, answers in self.cells.items() if not key.opversion}

    @functools.cached_property
    def has_patterns(self) -> bool:
        """Whether more than nodes by themselves was measured."""
        return any(not key.opversion for key in self.cells)

    @functools.cached_property
    def has_default(self) -> bool:
        """Whether the runtime has a precision of its own by default, so that a hint changes answers."""
        if isinstance(self.cells, ByPattern):
            return any(True for _ in self.cells.with_settings(DEFAULTS.values()))
        return any(key.setting in DEFAULTS.values() for key in self.cells)

    def with_patterns(self, other: Table) -> Table:
        """Return a table with another one's patterns."""
        return Table({**self.nodes, **other.patterns}, other.cpus, other.shown)

    def covers(self, dtype: str, dynamic: bool) -> bool:
        """Whether patterns of an element type were measured; a file can leave whole types out."""
        return pattern_key(less(X, X), dtype, DYNAMIC if dynamic else STATIC, ADJACENT) in self.cells

    @functools.cached_property
    def _coarse(self) -> frozenset[str]:
        """The operators that the runtime computes in less than float32 by default, and what is adjacent to them too."""
        plain_settings = {default: setting for setting, default in DEFAULTS.items()}
        keys = self.cells.with_settings(plain_settings, EVERY) if isinstance(self.cells, ByPattern) else self.cells
        return frozenset(
            operator
            for key in keys
            if key.setting in plain_settings
            and key.dtype == WIDE
            and EVERY in self.cells[key]
            and EVERY not in self.cells.get(key._replace(setting=plain_settings[key.setting]), {})
            and (operator := _last(key.pattern))
        )

    def _of_rounded_zeros(self, match: Match, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        """What comes of zeros where a runtime leaves out the rounding that makes them: few numbers show it."""
        ordinary = (replaced(match.pattern, {Const.ZERO: kind}) for kind in (Const.SCALAR, Const.ANY, Const.ARRAY))
        known = (self._known(replace(match, pattern=one), dtype, dynamic, hint) for one in ordinary)
        found = next((one for one in known if one is not None), None)
        return {EVERY: Answer("different-numbers", severities=("sign-of-zero",))} if found else found

    def _of_zeros(self, pattern: Pattern) -> Answers:
        """What a runtime that joins sums with constants makes of x - (y + c) where y is -c, which no case has.

        -0 - 0 is -0, and x + (-y - c) is 0.
        """
        if not isinstance(pattern, Op) or pattern.operator != "Sub" or pattern.operands[:1] != (X,):
            return {}
        made = pattern.operands[1]
        if not isinstance(made, Op) or made.operator not in ("Add", "Sub"):
            return {}
        stored = any(isinstance(one, Const) for one in made.operands)
        if not stored or not self._cell(Match(_TWICE_ADDED, ADJACENT, "Add"), WIDE, STATIC):
            return {}
        name = "negative zero" if pattern.judged else "ordinary"
        return {name: Answer("different-numbers", of_sum_that_is_zero(pattern), severities=("sign-of-zero",))}

    @functools.cached_property
    def _computes_float64_in_float32(self) -> bool:
        own = self.cells.get(pattern_key(less(X, X), "float64", STATIC, ADJACENT))
        return "beyond float32" in (own or {})

    def _lowers(self, operator: str) -> bool:
        """Whether an operator can lower the precision of what it is reached from."""
        return bool(self._by_default(operator, How.FED)) or operator in self._coarse

    def _keeps(self, match: Match) -> bool:
        """Whether a result is computed in its own precision, since it leaves the graph past an operator, too."""
        if match.past is None or self._by_default(match.operator, How.PASSED) != {}:
            return False
        return all(self._by_default(operator, How.FED) == {} for operator in match.past)

    def _by_default(self, operator: str, how: How) -> Answers | None:
        """What was measured under the default precision of an operator at a distance; of all shapes, known or open."""
        pattern = Distant(operator, how, less(X, X))
        found = [self.cells.get(pattern_key(pattern, WIDE, one, ADJACENT)) for one in DEFAULTS.values()]
        known = [one for one in found if one is not None]
        return joined(*known) if len(known) == len(found) else None

    def find(self, match: Match, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        """Return what was measured of a match; ``None`` where nothing was.

        Args:
            match: the pattern in its graph. dtype: the judged operator's element type.
            dynamic: whether shapes are open. hint: the precision that the runtime is set to, or ``""`` for its default.
        """
        return self._cached_find(match, dtype, dynamic, hint)

    @functools.cached_property
    def _cached_find(self) -> Callable[[Match, str, bool, str], Answers | None]:
        """The same, cached: the nodes of a model, and of many models, have few patterns around them."""
        return functools.lru_cache(maxsize=_MOST_FOUND)(self._find_any)

    def _find_any(self, match: Match, dtype: str, dynamic: bool, hint: str) -> Answers | None:
        if match.exact and self._known(match, WIDE, dynamic, hint) == {}:
            return self._of_rounded_zeros(match, dtype, dynamic, hint) if match.zeros else {}  # nothing rounds between
        found = self._known(match, dtype, dynamic, hint)
        if found and dtype in NARROW:
            found = with_all_that_rounds(found, match.pattern)
            made = isinstance(match.pattern, Op) and match.pattern.judged and match.operator == "Sign"
            if made and match.form == WITHIN:
                # Of what is not rounded to 0 it makes 1, which the numbers of its case do not show.
                found = {name: _with_severities(one, ["numbers"]) for name, one in found.items()}
        if found is not None and dtype == "float64" and self._computes_float64_in_float32:
            # The constants of its cases are no numbers of float32, so that they show nothing of those that are.
            of_float32 = self._known(match, WIDE, dynamic, hint)
            found = None if of_float32 is None else joined(found, of_float32)
        if found is not None and match.form in (ADJACENT, THROUGH) and not TYPES[dtype].is_integer:
            found = joined(found, self._of_zeros(match.pattern))
        return None if found == {} and self.cannot_show(match.pattern, dtype) else found

    def witness(self, match: Match, dtype: str, dynamic: bool, hint: str, names: Sequence[str]) -> Witness | None:
        """Return what shows that a match differs; ``None`` where nothing does.

        Args:
            match, dtype, dynamic, hint: see :meth:`find`. names: value classes, the one that is wanted most first.
        """
        if self.shown is None:
            return None
        own, other = (DYNAMIC, STATIC) if dynamic else (STATIC, DYNAMIC)
        settings = [own, *([] if hint else [DEFAULTS[own], DEFAULTS[other]]), other]
        patterns = dict.fromkeys((match.pattern, replaced(match.pattern, _ORDINARY)))
        forms = dict.fromkeys((match.form, ADJACENT))
        keys = itertools.product(settings, patterns, forms)
        return self.shown.find((pattern_key(two, dtype, one, three) for one, two, three in keys), names)

    def cannot_show(self, pattern: Pattern, dtype: str) -> bool:
        """Whether a deviation is out of reach of the numbers that a case is measured with.

        Their inputs are no number that a constant is, and no finite one overflows with a constant. So they show neither
        the sign of a zero where a runtime negates by reversing, nor a result that is infinite between two nodes alone,
        where both operands of the second are that result. Behind an operator that jumps, few numbers show that a
        rounding is left out; other operators show whether it is.
        """
        if not isinstance(pattern, Op) or pattern.judged or TYPES[dtype].is_integer:
            return False
        if dtype in NARROW and pattern.operator in _JUMPING:
            return self._cell(Match(_ADDED, ADJACENT, "Add"), dtype, STATIC) != {}
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
        default_matters = self._in_less(dtype, hint) and not self._keeps(match)
        if match.far:
            return None if default_matters and self._lowers(match.operator) else {}
        default = next(
            (found for one in (setting, STATIC) if (found := self._default(match, dtype, one)) is not None), None
        )
        if match.later:
            if not default_matters:
                return {}
            # One more operator between the two can take the subtraction along, or an adjacent one.
            return None if self._lowers(match.operator) else default
        own = self._cell(match, dtype, setting)
        if own is None or not default_matters:
            return own
        exact = self.cells.get(pattern_key(match.pattern, dtype, setting, ADJACENT))
        if default is None or exact is None:
            return None
        lost = {name: one for name, one in default.items() if name not in exact and EVERY not in exact}
        return joined(own, lost)

    def _in_less(self, dtype: str, hint: str) -> bool:
        """Whether a type may be computed in less than its own precision, since nothing says otherwise."""
        return self.has_default and not hint and not TYPES[dtype].is_integer

    def _default(self, match: Match, dtype: str, setting: str) -> Answers | None:
        """A pattern under the default precision; where open shapes were not measured, known ones stand for them."""
        return self.cells.get(pattern_key(match.pattern, dtype, DEFAULTS[setting], ADJACENT))

    def _cell(self, match: Match, dtype: str, setting: str) -> Answers | None:
        """A case; a form that is measured for some operators alone counts as adjacent where bits can stay."""
        key = pattern_key(match.pattern, dtype, setting, match.form)
        found = self.cells.get(key)
        if dtype in NARROW and _from_wide_integers(match.pattern) and {*_ROUNDING, "ordinary"}.isdisjoint(found or ()):
            return None  # measured with small integers, and others are no numbers of the type
        if found is not None or match.form == ADJACENT:
            return found
        adjacent = self.cells.get(key._replace(form=ADJACENT))
        if match.form == THROUGH and match.operator not in LINEAR and dtype not in NARROW:
            return {}
        if dtype in NARROW and match.form == WITHIN and not adjacent and match.operator not in ("", "Cast"):
            return None  # between nodes it may be that of float32, whose result is not rounded
        return adjacent


def with_all_that_rounds(found: Answers, pattern: Pattern) -> Answers:
    """Return answers of a narrow type, where what holds for one class that rounds holds for all of them.

    What is computed in more bits lacks a rounding wherever the type has one; few numbers show it behind a comparison.
    Where it lacks one that makes a number infinite, it is finite; no finite number overflows with a constant of a case.

    >>> sorted(with_all_that_rounds({"overflows": Answer("different-numbers")}, less(X, X)))
    ['overflows', 'rounds', 'subnormal']
    """
    names = (*_ROUNDING, "ordinary") if _from_wide_integers(pattern) else _ROUNDING
    known = [found[name] for name in names if name in found and found[name].verdict == "different-numbers"]
    if not known:
        return found
    rounding = functools.reduce(worse, known)
    return {**dict.fromkeys(names, rounding), "overflows": _of_infinite(rounding, pattern), **found}


def _of_infinite(answer: Answer, pattern: Pattern) -> Answer:
    """An answer for results that are not infinite and should be, where one is known for those that are not rounded."""
    if {*answer.severities} <= _SMALL or not isinstance(pattern, Op):
        return answer
    last = pattern.operands[-1]
    divided = pattern.operator == "Div" and isinstance(last, Op) and last.judged
    zero = divided or pattern.operator in ("Reciprocal", "Pow")  # which infinity makes
    return _with_severities(answer, ["edge", *(["numbers"] if zero else [])])


def _with_severities(answer: Answer, more: Collection[str]) -> Answer:
    """An answer that can be as bad as some severities, too."""
    return replace(answer, severities=tuple(one for one in SEVERITIES if one in (*answer.severities, *more)))


_SMALL = frozenset(("sign-of-zero", "subnormal"))
"""Severities of what differs near zero alone."""

_JUMPING = (*COMPARISONS, "ThresholdedRelu")
"""Operators whose result can change by any amount where an operand changes in its last digit."""

_TWICE_ADDED = less(Op("Add", (X, Const.SCALAR)), Const.SCALAR)

_ADDED = Op("Add", (less(X, X), X))

_ORDINARY = {Const.POWER: Const.SCALAR, Const.ZERO: Const.ANY}

_ROUNDING = ("rounds", "overflows", "subnormal")
"""Value classes of floats whose exact result is no number of the type, or may be none."""

NOTHING = Table({})
"""The table of what was not measured."""


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
    """Join answers of two cases that a node is both of: a class that deviates in either does."""
    both = {name: worse(one[name], other[name]) for name in one.keys() & other.keys()}
    return {**other, **one, **both}
