"""A subtraction in its graph: what a target does with the patterns around it, as far as that was measured."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.core.shapes import Shape
from minuend.judging.constant_operands import can_make, concerns, equal_number
from minuend.judging.operand_pools import codes_of
from minuend.judging.recipe_patterns import proven
from minuend.models.constants import Constants
from minuend.models.flow import KEEPING
from minuend.models.hazards import RELU_AS_MAX
from minuend.models.matching.match import (
    ADJACENT,
    BIAS_LAST,
    CONVERTED,
    CUT_OFF,
    DYNAMIC,
    EDGE,
    ENDS,
    FATAL,
    MISPLACED,
    NAN_ALONE,
    NEGATED,
    NO_FACTORS,
    REORDERED,
    REVERSED,
    ROUNDED_TWICE,
    SUMMED,
    UNPACKED,
    UNPACKED_LATE,
    WITHIN,
    ZEROS,
    Match,
)
from minuend.models.matching.operator_groups import FACTORS, LINEAR, NARROW
from minuend.models.occurrences import Array, Occurrence, known_of, value_classes
from minuend.models.patterns import RESULT, Const, Normalisation, Op, Pattern, Term, X, is_alone, less
from minuend.models.ranges.interval import Range
from minuend.operators import ADD, SUBTRACT
from minuend.runtimes.answers import DIFFERENT, EVERY, Answer
from minuend.runtimes.hashed_scalars import meeting
from minuend.runtimes.quirks import CONSTANTS_KEPT, LESS_ITSELF, LESS_KNOWN, MINUS_ZERO_KEPT, ROUNDED_LAST, quirks
from minuend.runtimes.reasons import (
    ConstantsNotRounded,
    DynamicShapesNotMeasured,
    Folded,
    PatternComputedOtherwise,
    PatternNotMeasured,
    PatternRefused,
    PatternsNotMeasured,
    PrecisionLower,
    Reason,
    ReleasesDiffer,
    Setting,
    ZeroNotMeasured,
)
from minuend.runtimes.rendering import english
from minuend.runtimes.rule_witnesses import of_cut_off, of_factor, of_misplaced, of_subnormal_product
from minuend.runtimes.severity import UNKNOWN, Deviation, Severity, deviation, rank, worst
from minuend.runtimes.table import STATIC, WIDE, Answers, joined, pattern_key
from minuend.runtimes.target import Target
from minuend.runtimes.values import number as number_of
from minuend.runtimes.witness import Witness
from minuend.standards.node import Node, TensorType

_TINY = np.array([2.0**-149], np.float32)
"""A constant that some runtimes take for 0."""

_VANISHES = 2.0**-126
"""Magnitudes below are zero in float32, or subnormal, which some runtimes take for zero."""


@dataclass(frozen=True, slots=True)
class PatternVerdict:
    """What the patterns around an occurrence make of it.

    Attributes:
        verdict: of them all. why: the reason. pattern: the one that decided.
        hint: the precision hint with which nothing differs; ``""`` where none helps.
        unlike: of a release that was not measured: how those around it differ.
        witness: of different numbers, what shows them. deviations: how bad they are, of every pattern that deviates.
    """

    verdict: str
    why: Reason | None = None
    pattern: Pattern | Folded | None = None
    hint: str = ""
    unlike: ReleasesDiffer | None = None
    witness: Witness | None = None
    deviations: tuple[Deviation, ...] = ()

    @property
    def severity(self) -> Severity | None:
        """How bad different numbers are; ``None`` where it is not known, or none differ."""
        return worst(one.severity for one in self.deviations) if self.verdict == "different-numbers" else None

    @property
    def reason(self) -> str:
        """Why, in an English sentence."""
        return "" if self.why is None else english([self.why])


FINE = PatternVerdict("ok")

_MOST_ELEMENTS = 1 << 20
"""Elements of a constant up to which it is read to see whether a runtime keeps it."""

_OWN_PRECISION = "own"
"""Stands for a hint that keeps float32: what is folded is computed before any precision is chosen."""


@known_of
def pattern_verdict(
    occurrence: Occurrence, node: Node, target: Target, hint: str = "", accept: Collection[str] = ()
) -> PatternVerdict:
    """Judge an occurrence by the patterns around it on a target.

    Args:
        occurrence, node: what is judged. target: the runtime. hint: the precision that is set there, or ``""``.
        accept: value classes whose other numbers are taken as they come.
    """
    known = quirks(target.runtime)
    if not known.joins or target.declared:
        return FINE
    unpacked = any(match.kernel for match in occurrence.matches) and known.crosses
    if occurrence.two_constants and not (unpacked or (node.a.dtype in NARROW and occurrence.matches)):
        return FINE
    if not target.table.covers(node.a.dtype, occurrence.dynamic):
        return _unmeasured(occurrence, node, target)
    if not node.a.element.is_integer and _may_be_left_out(occurrence, node, target):
        return PatternVerdict("unknown", ZeroNotMeasured(target.name))
    classes = set(value_classes(occurrence, node.op.computes, node.a.element))
    if node.a.dtype in NARROW and any(map(_is_zero, occurrence.operands)):
        classes |= {"rounds", "overflows"}  # what comes in more bits than its type has is rounded here
    found = list(_each(occurrence, node, target, hint, classes.difference(accept)))
    if occurrence.two_constants and not any(
        match.folded or match.kernel for match in occurrence.matches
    ):  # they come from outside a body
        found = [replace(one, verdict=_of_a_body(one.verdict)) for one in found]
    for verdict in ("not-implemented", "different-numbers"):
        if wrong := [one for one in found if one.verdict == verdict]:
            chosen = max(wrong, key=lambda one: (not one.hint, rank(one.severity)))
            return replace(chosen, deviations=tuple(each for one in found for each in one.deviations or (UNKNOWN,)))
    if proven(occurrence.matches, known.proven or {}):
        return FINE
    if unknown := tuple(dict.fromkeys(one.pattern for one in found if one.pattern is not None)):
        helps = {one.hint for one in found}
        setting = setting_of(target.runtime, *helps) if len(helps) == 1 else ()
        return PatternVerdict("unknown", PatternNotMeasured(unknown, target.name, setting), unknown[0])
    return FINE


def _of_a_body(verdict: str) -> str:
    """What is known of constants from around a body, where of values it is known to differ."""
    return "unknown" if verdict == "different-numbers" else verdict


def _unmeasured(occurrence: Occurrence, node: Node, target: Target) -> PatternVerdict:
    """What is known of a release of which nodes of known shapes were measured in isolation, or in whole recipes."""
    in_recipes = proven(occurrence.matches, quirks(target.runtime).proven or {})
    if not in_recipes and any(one.operator for one in occurrence.matches):
        return PatternVerdict("unknown", PatternsNotMeasured(target.name))
    if occurrence.dynamic:
        return PatternVerdict("unknown", DynamicShapesNotMeasured(target.name))
    if not node.a.element.is_integer and any(one.constant and _vanishes(one) for one in occurrence.operands):
        return PatternVerdict("unknown", ZeroNotMeasured(target.name))
    return FINE


def _may_be_left_out(occurrence: Occurrence, node: Node, target: Target) -> bool:
    """Whether a constant may be taken for a 0 that changes nothing, where that was not measured."""
    known = quirks(target.runtime)
    constants = [one for one in occurrence.operands if one.constant and _vanishes(one)]
    if node.a.dtype in known.takes_for_zero and not all(map(_is_zero, constants)):
        return True
    unasked = known.in_part and any(map(_is_zero, constants)) and answers_for_zero(occurrence, node, target) is None
    return unasked and not occurrence.two_constants


def _each(
    occurrence: Occurrence, node: Node, target: Target, hint: str, classes: Collection[str]
) -> Iterator[PatternVerdict]:
    """Every pattern that is not fine."""
    for match in occurrence.matches:
        if not match.operator:  # by itself it is judged by what was measured of nodes
            continue
        known = quirks(target.runtime)
        if (match.within is not None and not known.splits) or (match.kernel and not known.crosses):
            continue
        if match.converted and not known.one_float:
            continue
        if (match.kernel == SUMMED and known.sums_apart(target.release)) or (
            known.as_written and _is_written_otherwise(match)
        ):
            continue
        if match.itself and match.operator in ("Add", "Mul") and is_right(LESS_ITSELF, node, target):
            continue
        if match.folded:
            yield from _of_constants(node.a.dtype, target, match)
            continue
        if _converts_exactly(occurrence, match):
            continue
        answers = _measured(occurrence, node, target, match, hint)
        graph = match.within or match.pattern
        possible = {name: one for name, one in (answers or {}).items() if name == EVERY or name in classes}
        shortened = match.shortened and known.rescales and _holds_beyond_int32(occurrence, match)
        if shortened:
            possible |= _SHORTENED
        wrong = {name: one for name, one in possible.items() if concerns(occurrence, one)}
        otherwise = _is_otherwise(occurrence, match, target)
        negated = node.a.dtype == WIDE and _is_negated_product(occurrence, match, target)
        if answers is None or otherwise or negated:  # besides what is known to differ
            helps = "" if hint or otherwise else _helps(occurrence, node, target, match, classes)
            yield PatternVerdict("unknown", pattern=graph, hint=helps)
        if wrong:
            helps = "" if hint or shortened else _helps(occurrence, node, target, match, classes)
            shown = functools.partial(target.table.witness, match, node.a.dtype, occurrence.dynamic, hint)
            found = _deviating(target, node.a.dtype, graph, wrong, helps, shown)
            found = _with_possible_witness(found, node.a.element) if match.zeros else found
            found = _within_ranges(found, occurrence, node, target, match, hint, wrong)
            yield _with_rule_witness(found, match, occurrence)


def _holds_beyond_int32(occurrence: Occurrence, match: Match) -> bool:
    """Whether the operand that the adjacent operator makes can be a number that int32 does not have."""
    assert isinstance(match.pattern, Op)
    low, high = TYPES["int32"].limits
    made = (one for one, term in zip(occurrence.operands, match.pattern.operands, strict=True) if isinstance(term, Op))
    return any(not low <= end <= high for one in made for end in (one.lo, one.hi))


def _converts_exactly(occurrence: Occurrence, match: Match) -> bool:
    """Whether the adjacent operator makes an operand of integers, all of which float16 has."""
    pattern = match.pattern
    if match.operator != "Cast" or match.kernel or match.rescaled or match.quantised or not isinstance(pattern, Op):
        return False
    made = [
        one
        for one, term in zip(occurrence.operands, pattern.operands, strict=False)
        if isinstance(term, Op) and term.types is not None and term.types[0].lstrip("u").startswith("int")
    ]
    known = (one.dtype == "float16" and one.integral and one.lo >= -2048 and one.hi <= 2048 for one in made)
    return pattern.judged and bool(made) and all(known)


_OTHER_NUMBERS = Answer("different-numbers", severities=("numbers",))
_OTHERWISE_ROUNDED = dict.fromkeys(("rounds", "ordinary"), _OTHER_NUMBERS)
_OF_KERNELS = {
    MISPLACED: {EVERY: _OTHER_NUMBERS},
    REORDERED: _OTHERWISE_ROUNDED,
    NEGATED: {"negative zero": Answer("different-numbers", severities=("sign-of-zero",), only=(-0.0, 0.0))},
    CUT_OFF: {"rounds": Answer("different-numbers", severities=("rounding",), ulps=1)},
    UNPACKED: {EVERY: _OTHER_NUMBERS},
    UNPACKED_LATE: {EVERY: _OTHER_NUMBERS},
    REVERSED: {"ordinary": Answer("different-numbers", severities=("sign-of-zero",))},
    FATAL: {EVERY: Answer("not-implemented", message="the process dies (SIGSEGV)")},
    DYNAMIC: {EVERY: _OTHER_NUMBERS},
    SUMMED: _OTHERWISE_ROUNDED,
    BIAS_LAST: _OTHERWISE_ROUNDED,
    ROUNDED_TWICE: _OTHERWISE_ROUNDED,
}
_AS_IN_FLOAT32 = (NEGATED, UNPACKED, UNPACKED_LATE, DYNAMIC, REVERSED, FATAL)
_OTHER_ZERO = {"ordinary": Answer("different-numbers", severities=("sign-of-zero",))}
_SHORTENED = {"beyond int32": Answer("different-numbers", severities=("numbers",))}
"""What is made of a float that comes from int64 through int32."""


def _is_written_otherwise(match: Match) -> bool:
    """Whether a normalisation is written in another way than runtimes know, or has parameters of several axes."""
    pattern = match.pattern
    return match.supposed or (isinstance(pattern, Normalisation) and Const.ARRAYS in pattern.parameters)


def _is_otherwise(occurrence: Occurrence, match: Match, target: Target) -> bool:
    """Whether a target makes another operator of an adjacent one than what was measured."""
    known = quirks(target.runtime)
    if match.across and occurrence.dynamic and known.crosses:
        return True
    return (match.rescaled and known.rescales) or (match.tiny and bool(known.kept(TYPES[WIDE], _TINY)))


def _of_constants(dtype: str, target: Target, match: Match) -> Iterator[PatternVerdict]:
    """A pattern of constants of a narrow type that rounds, where that is not fine.

    What was measured of values holds for constants where the runtime is known to compute them so; elsewhere nothing
    is known but that operators which keep numbers as they are keep these.
    """
    rule = quirks(target.runtime).narrow_constants
    if rule and match.folded == CONVERTED:
        return
    if rule == ROUNDED_LAST and match.folded == EDGE:
        return
    of_values = replace(match, later=False)
    answers = target.table.find(of_values, dtype, False, _OWN_PRECISION)
    if answers == {} and match.operator in KEEPING:
        return
    pattern = Folded(match.pattern)
    if rule and answers and not match.later:
        shown = functools.partial(target.table.witness, of_values, dtype, False, _OWN_PRECISION)
        found = _deviating(target, dtype, match.pattern, answers, "", shown)
        witness = None if _divides_by_constant(match.pattern) else found.witness
        yield replace(found, why=ConstantsNotRounded(pattern, dtype), pattern=pattern, witness=witness)
        return
    yield PatternVerdict("unknown", pattern=pattern)


def _divides_by_constant(pattern: Pattern | Term) -> bool:
    """Whether a pattern has a division that is a product with the reciprocal where nothing is folded."""
    if not isinstance(pattern, Op):
        return False
    own = pattern.operator == "Div" and isinstance(pattern.operands[-1], Const)
    return own or any(map(_divides_by_constant, pattern.operands))


def _measured(occurrence: Occurrence, node: Node, target: Target, match: Match, hint: str) -> Answers | None:
    """What was measured of a match, or ``None``.

    Cases of open shapes have constants as large as a tensor. openvino fuses a product and a difference there, too, as
    with known shapes, where both constants are vectors, or where the product is quantised as well; and in attention. A
    shape that nothing is known of can be known to a runtime.
    """
    if match.kernel:
        exact = hint == next(iter(quirks(target.runtime).hints), "") or not target.table.has_default
        if match.kernel == REVERSED and equal_number(occurrence) is None:
            return {}
        in_float16 = node.a.dtype == "float16" and match.kernel not in _AS_IN_FLOAT32
        precise = {UNPACKED_LATE: exact, DYNAMIC: not exact}
        fine = precise.get(match.kernel, in_float16)  # which is computed in float32 there
        return {} if fine else _OF_KERNELS[match.kernel]
    quantised = bool(match.quantised) and quirks(target.runtime).rescales
    if match.quantised and match.operator not in LINEAR:
        return _of_quantised(occurrence, match) if quantised else {}
    found = target.table.find(match, node.a.dtype, occurrence.dynamic, hint)
    if found is not None and node.a.dtype == WIDE and {*found} == {"nan"} and _with_power(match) is not None:
        found = _of_power(occurrence, match)
    if found is not None and occurrence.made_of_open and not occurrence.dynamic:
        found = _joined(found, target.table.find(match, node.a.dtype, True, hint))
    swaps = quirks(target.runtime).swaps_zeros_of(match.operator, target.release)
    if found is not None and swaps and _shows_other_zero(occurrence, node, match):
        found = joined(found, _OTHER_ZERO)
    shifted = _scales_and_shifts(match.pattern) and _may_be_vector(node.b)
    unknown = any(one.shape is None for one in node.operands)
    attended = occurrence.in_attention and quirks(target.runtime).crosses
    if found is None or not occurrence.dynamic or not (quantised or shifted or unknown or attended):
        return found
    return _joined(found, target.table.find(match, node.a.dtype, False, hint))


def _with_power(match: Match) -> Op | None:
    """The product or quotient with powers of two that is one of the judged operator's operands."""
    pattern = match.pattern
    if match.factors is None or not isinstance(pattern, Op) or not pattern.judged or len(pattern.operands) != 2:
        return None
    made = [one for one in pattern.operands if isinstance(one, Op)]
    found = len(made) == 1 and made[0].operator in FACTORS and Const.POWER in made[0].operands
    return made[0] if found else None


def _of_power(occurrence: Occurrence, match: Match) -> Answers:
    """What differs of a product that is rounded once with the judged operator, by its factors.

    Those below 1 make subnormal numbers, which are not rounded then; those above 1 infinities, of which some are
    finite, or no NaN, together with the other operand. Nothing else differs on openvino, of 74 x 74 numbers at the ends
    of float32 with factors from 2^-8 to 2^8.
    """
    low, high = match.factors or NO_FACTORS
    if match.operator == "Div":
        low, high = 1 / high, 1 / low
    known = {"nan": math.inf, "infinite": _BESIDE_INFINITY} if high > 1 else {}
    found: dict[str, Severity] = {
        name: "edge" for name, number in known.items() if _can_meet_infinity(occurrence, match, number)
    }
    if low < 1:
        found["subnormal"] = "subnormal"
    return {name: Answer(DIFFERENT, severities=(severity,)) for name, severity in found.items()}


_BESIDE_INFINITY = 2.0**104
"""The least power of two that, less what is too large for float32, can be a number of float32."""


def _can_meet_infinity(occurrence: Occurrence, match: Match, number: float) -> bool:
    """Whether a product can be infinite beside a number, or a larger one, from which it is taken."""
    assert isinstance(match.pattern, Op)
    first, second = occurrence.op.computes.directions
    place = next(i for i, one in enumerate(match.pattern.operands) if isinstance(one, Op))
    for sign in (1, -1):
        pair = [-first * second * sign * number] * 2
        pair[place] = sign * math.inf
        if can_make(occurrence, tuple(pair)):
            return True
    return False


def _joined(one: Answers, other: Answers | None) -> Answers | None:
    """Join answers of two cases of which a node may be either; ``None`` where one was not measured."""
    return None if other is None else joined(one, other)


def _shows_other_zero(occurrence: Occurrence, node: Node, match: Match) -> bool:
    """Whether the sign of a zero that Max, Min or Relu of a narrow type gives between nodes can be seen."""
    pattern = match.pattern
    reads = isinstance(pattern, Op) and pattern.judged
    zeros = all(one.lo <= 0 <= one.hi for one in occurrence.operands)  # another number less a zero has no sign of it
    if match.operator == "Relu":  # the result of the graph is not converted before it
        return RELU_AS_MAX in occurrence.violations and zeros and (reads or match.form == WITHIN)
    return match.form == WITHIN and node.a.dtype in NARROW and not match.exact and (zeros or not reads)


def _of_quantised(occurrence: Occurrence, match: Match) -> Answers:
    """What a runtime makes of a constant that it adds while it quantises: few numbers show it, and no case has them.

    ``x - k`` is not rounded before it is, so that numbers half-way between two levels become the other one. Of open
    shapes ``k - x`` is not added; but NaN of it becomes the other end where something else reads it, or its negative is
    quantised. So it does of any shape where it is clipped before.
    """
    reverses = occurrence.op.computes is SUBTRACT and 0 in occurrence.constants
    if match.quantised == NAN_ALONE:
        changes = match.operator == "Clip" or occurrence.dynamic
        return {"nan": Answer("different-numbers", severities=("edge",))} if changes else {}
    if reverses and occurrence.dynamic:
        return {}
    return dict.fromkeys(_WITH_LEVELS, Answer("different-numbers", severities=("numbers",)))


_WITH_LEVELS = ("beyond float32", "rounds", "ordinary")
"""Value classes of numbers that can lie half-way between two levels of a quantisation."""


def _scales_and_shifts(pattern: Pattern) -> bool:
    """Whether a pattern is a tensor times one array less another, or times several constants, which are joined."""
    if not isinstance(pattern, Op) or not pattern.judged or pattern.operands[1:] not in ((Const.ARRAY,), (Const.ANY,)):
        return False
    made = pattern.operands[0]
    if not isinstance(made, Op) or made.operator not in FACTORS:
        return False
    inner = [one for one in made.operands if isinstance(one, Op)]
    return made.operands == (X, Const.ARRAY) or any(one.operator in FACTORS for one in inner)


def _may_be_vector(operand: TensorType) -> bool:
    """Whether all of an operand's dims but one can be 1, and that one cannot."""
    return operand.shape is None or sum(dim != 1 for dim in operand.shape) == 1


def _is_negated_product(occurrence: Occurrence, match: Match, target: Target) -> bool:
    """Whether a negation or a sum makes an operand, of what may be a product that a runtime joins with both.

    Cases negate and add inputs. A runtime that fuses products and differences makes one product of a negation and a
    product, and adds the terms of a sum one by one. A conversion of quantised numbers is such a product; of open
    shapes a constant shows that it is.
    """
    pattern = match.pattern
    if not isinstance(pattern, Op) or not pattern.judged or not _MADE_OF_TERMS & {*pattern.operands}:
        return False
    fused = target.table.cells.get(pattern_key(_FUSED, WIDE, STATIC, ADJACENT))
    far = {one.operator for one in occurrence.matches if one.far}
    constant = occurrence.dynamic and any(isinstance(one, Const) for one in pattern.operands)
    return bool(fused) and not far.isdisjoint((*FACTORS, "DequantizeLinear") if constant else FACTORS)


_MADE_OF_TERMS = {Op("Neg", (X,)), Op("Add", (X, X))}
_FUSED = less(Op("Mul", (X, Const.ARRAY)), Const.ARRAY)


def _unlike(answers: Mapping[str, Answer]) -> ReleasesDiffer | None:
    return next((one.unlike for one in answers.values() if one.unlike), None)


def _helps(occurrence: Occurrence, node: Node, target: Target, match: Match, classes: Collection[str]) -> str:
    """The hint under which a pattern is fine."""
    for hint in quirks(target.runtime).hints:
        answers = _measured(occurrence, node, target, match, hint)
        if answers is not None and not any(name == EVERY or name in classes for name in answers):
            return hint
    return ""


def severities(dtype: str, wrong: Mapping[str, Answer]) -> list[Severity | None]:
    """Return how bad answers of an element type can be; ``None`` where it is not known."""
    return [one.severity for one in _deviations(dtype, wrong)]


def _within_ranges(
    found: PatternVerdict,
    occurrence: Occurrence,
    node: Node,
    target: Target,
    match: Match,
    hint: str,
    wrong: Answers,
) -> PatternVerdict:
    """A verdict on different numbers with deviations as bad as the operands' ranges let them be."""
    if found.verdict != "different-numbers" or node.a.element.is_integer:
        return found
    from minuend.judging.cancellation import enlarged, within_ranges  # slow, and most findings do not need it

    if not enlarged(match.pattern, wrong, node.a.dtype):
        return found
    ranges = occurrence if _in_own_precision(occurrence, node, target, match, hint, wrong) else None
    deviations = tuple(
        each
        for name, one in wrong.items()
        for each in within_ranges(_deviations(node.a.dtype, {name: one}), name, match, ranges, node.a.element)
    )
    return _with_possible_witness(replace(found, deviations=tuple(dict.fromkeys(deviations))), node.a.element)


def _in_own_precision(
    occurrence: Occurrence, node: Node, target: Target, match: Match, hint: str, wrong: Answers
) -> bool:
    """Whether a pattern deviates as it does where a runtime keeps the precision of its type."""
    if hint or not target.table.has_default:
        return True
    exact = next(iter(quirks(target.runtime).hints))
    known = _measured(occurrence, node, target, match, exact) or {}
    return all(known.get(name) == one for name, one in wrong.items())


def _with_possible_witness(found: PatternVerdict, element: ElementType) -> PatternVerdict:
    """A verdict without a witness that is worse than what the operands can show; a milder one shows the deviation."""
    one = found.witness
    if one is None or rank(deviation(element, one).severity) <= rank(found.severity):
        return found
    return replace(found, witness=None)


def _with_rule_witness(found: PatternVerdict, match: Match, occurrence: Occurrence) -> PatternVerdict:
    """A verdict with what shows it where the rule alone tells that."""
    if found.witness is not None or found.verdict != "different-numbers":
        return found
    if match.kernel == REVERSED and (number := equal_number(occurrence)) is not None:
        return replace(found, witness=Witness(occurrence.op.computes, (number, number), -0.0, 0.0))
    if match.kernel == NEGATED:
        return replace(found, witness=Witness(occurrence.op.computes, (-0.0, 0.0), 0.0, -0.0))
    if match.kernel == CUT_OFF:
        return replace(found, witness=of_cut_off(match.pattern, _numbers(occurrence)))
    if match.kernel == MISPLACED:
        number = 0.0 if all(one.constant or one.holds(0.0) for one in occurrence.operands) else math.inf
        return replace(found, witness=of_misplaced(match.pattern, number, _numbers(occurrence)))
    if found.severity == "subnormal" and match.factors is not None and _with_power(match) is not None:
        return replace(found, witness=of_subnormal_product(match.pattern, match.factors[match.operator == "Div"]))
    return replace(found, witness=of_factor(match.pattern)) if found.severity == "sign-of-zero" else found


def _numbers(occurrence: Occurrence) -> list[float]:
    """The numbers of a constant operand, in their order."""
    assert isinstance(occurrence.node, Node)
    element = occurrence.node.a.element
    stored = next((one for one in occurrence.fixed() if one is not None), None)
    found = [] if stored is None else codes_of(element, stored).reshape(-1)[:_MOST_NUMBERS].tolist()
    return [number_of(element, code) for code in found]


_MOST_NUMBERS = 1024
"""Numbers of a constant that are looked at for a witness."""

_BOUNDED = ("rounds", "ordinary")
"""Value classes of numbers that a runtime rounds in fewer places, or in others, which bounds how far they are off."""


def _deviations(dtype: str, wrong: Mapping[str, Answer]) -> tuple[Deviation, ...]:
    """How bad answers are: what was measured; of a subnormal number the least one can be all that there is."""
    found = []
    for name, answer in wrong.items():
        for one in answer.deviations(TYPES[dtype]):
            small = name == "subnormal" and one.severity in ("sign-of-zero", "rounding")
            far = one.severity == "numbers" and name not in _BOUNDED
            found.append(Deviation("subnormal" if small else one.severity) if small or far else one)
    return tuple(found)


def _deviating(
    target: Target,
    dtype: str,
    pattern: Pattern,
    wrong: Mapping[str, Answer],
    hint: str,
    shown: Callable[[Sequence[str]], Witness | None],
) -> PatternVerdict:
    refused = next((one for one in wrong.values() if one.verdict == "not-implemented"), None)
    if refused is not None:
        reason = PatternRefused(pattern, refused.message)
        return PatternVerdict("not-implemented", reason, pattern, unlike=_unlike(wrong))
    values = () if EVERY in wrong else tuple(wrong)
    setting = setting_of(target.runtime, hint)
    why = PrecisionLower(pattern, setting, values) if setting else PatternComputedOtherwise(pattern, values)
    ranks = {name: max(rank(one.severity) for one in wrong[name].deviations(TYPES[dtype])) for name in wrong}
    worst_first = sorted(wrong, key=ranks.__getitem__, reverse=True)
    witness = next((wrong[name].witness for name in worst_first if wrong[name].witness is not None), None)
    witness = witness or shown(worst_first)
    if witness is not None and not is_alone(pattern):
        witness = replace(witness, pattern=pattern)
    deviating = _deviations(dtype, wrong)
    return PatternVerdict("different-numbers", why, pattern, hint, _unlike(wrong), witness, deviating)


def sharing_constants(found: Sequence[Occurrence], target: Target) -> Collection[str]:
    """Return the places of occurrences that a target may compute with the constant of another node.

    It has one kernel for ``x - k`` and ``x + -k``, in which the constant is -k. On processors that compute float16 it
    can have that type there.
    """
    shares = quirks(target.runtime).shares
    kinds: dict[tuple[str, Constants, str], dict[float, list[str]]] = {}
    for occurrence in found:
        pair = len(occurrence.operands) == 2
        scalars = [one for one in occurrence.operands if pair and one.constant and one.lo == one.hi]
        if not isinstance(occurrence.node, Node) or occurrence.node.a.dtype not in shares or len(scalars) != 1:
            continue
        operator = occurrence.op.computes
        sums = operator is ADD or (operator is SUBTRACT and occurrence.constants == (1,))
        dtype = occurrence.node.a.dtype
        numbers = kinds.setdefault((operator.name, () if sums else occurrence.constants, dtype), {})
        number = float(scalars[0].lo)
        numbers.setdefault(-number if sums and operator is SUBTRACT else number, []).append(occurrence.where)
        for other in occurrence.added if sums else ():
            numbers.setdefault(other, [])
    met: set[str] = set()
    for (_, _, dtype), numbers in kinds.items():
        either = meeting(numbers) | (meeting(numbers, "<f2") if dtype == "float16" else frozenset())
        met.update(where for one in either for where in numbers[one])
    return met


@known_of
def answers_for_zero(occurrence: Occurrence, node: Node, target: Target) -> Answers | None:
    """Return what a target makes of an operator with a constant 0 of its identities, which it may leave out.

    ``None`` where no operand is one, or where it was not measured.
    """
    operator = occurrence.op.computes
    zeros = [i for i in occurrence.constants if _is_zero(occurrence.operands[i])]
    place = next((one.place for one in reversed(operator.identities) if one.constant == 0 and one.place in zeros), None)
    if place is None or occurrence.two_constants or not target.table.has_patterns:
        return None
    range_, operand = occurrence.operands[place], node.operands[place]
    sizes = [size for size, one in (("one", True), ("array", False)) if _has_one_element(operand) in (one, None)]
    alone = [] if quirks(target.runtime).keeps_zeros else [one for one in occurrence.matches if not one.operator]
    form = alone[0].form if alone else ADJACENT
    signs = _signs(range_, occurrence.fixed()[place])
    found: Answers = {}
    ends = form == ENDS and place == 1 and is_right(MINUS_ZERO_KEPT, node, target)
    as_known = not ends and _leaves_shape(node, place)
    for size, sign in ((size, sign) for size in sizes for sign in signs):
        if ends and sign and not (occurrence.dynamic or occurrence.made_of_open):
            continue
        zero = ZEROS[size][sign]
        terms: tuple[Term, ...] = (*(X,) * place, zero, *(X,) * (operator.arity - place - 1))
        match = Match(Op(operator.onnx, terms, judged=True), form, "")
        open_ = {occurrence.dynamic, occurrence.dynamic and not (as_known and size == "array")}
        if node.a.dtype == "float64":  # few of its numbers were tried that a runtime can make others in float32
            open_.add(False)
        for dynamic in open_ | ({True} if occurrence.made_of_open else set()):
            answers = target.table.find(match, node.a.dtype, dynamic, "")
            if answers is None:
                return None
            found = joined(found, answers)
    return found


def _leaves_shape(node: Node, place: int) -> bool:
    """Whether an operand of a known shape leaves that of the other one as it is, whatever is open there.

    openvino leaves out such an array as it does where all shapes are known.
    """
    dims, others = node.operands[place].shape, node.operands[1 - place].shape
    if place == 0 and node.op.computes is SUBTRACT:  # a negation
        return False
    if dims is None or others is None or len(dims) > len(others):
        return False
    return all(dim in (1, other) and isinstance(dim, int) for dim, other in zip(dims[::-1], others[::-1], strict=False))


def is_right(what: str, node: Node, target: Target) -> bool:
    """Whether a narrow case was measured to be right on a target."""
    known = node.op.computes is SUBTRACT and node.a.dtype == "float32"
    return known and target.release in quirks(target.runtime).right.get(what, ())


@known_of
def keeps_constants(occurrence: Occurrence, node: Node, target: Target) -> bool:
    """Whether a target computes with stored operands as with any other values: it keeps each of their elements.

    Of two constants it keeps the difference, and has to keep its elements, too.
    """
    if not occurrence.constants or not is_right(CONSTANTS_KEPT, node, target):
        return False
    dims = [node.operands[place].shape for place in occurrence.constants]
    if any(_count(one) is None for one in dims):
        return False
    fixed = occurrence.fixed()
    stored = [one for one in (fixed[place] for place in occurrence.constants) if one is not None]
    if len(stored) < len(occurrence.constants) or (len(stored) == 1 and stored[0].size < 2):
        return False
    if len(stored) == 2:
        stored.append(_difference(node, *stored))
    return all(_keeps(one, node.a.element, target) for one in stored)


@known_of
def keeps_ends(occurrence: Occurrence, node: Node, target: Target) -> bool:
    """Whether a target keeps all that two constants can be, subnormal numbers aside, so that it rounds as it should."""
    if not occurrence.two_constants or not is_right(CONSTANTS_KEPT, node, target):
        return False
    ends = np.array([(one.lo, one.hi) for one in occurrence.operands], np.float32)
    known = not any(one.nan for one in occurrence.operands)
    return known and bool(np.isfinite(ends).all()) and not quirks(target.runtime).kept(node.a.element, ends)


def _count(dims: Shape) -> int | None:
    """How many elements a shape has, where that is known and they are few enough to look at."""
    known = [dim for dim in dims if isinstance(dim, int)] if dims is not None else []
    few = dims is not None and len(known) == len(dims) and math.prod(known) <= _MOST_ELEMENTS
    return math.prod(known) if few else None


def _difference(node: Node, a: Array, b: Array) -> Array:
    """The difference of two constants; none where another rule than NumPy's joins them."""
    if a.shape != b.shape and node.op.broadcasting != "numpy":
        return np.empty(0, a.dtype)
    with np.errstate(all="ignore"):
        found: Array = np.subtract(a, b)
    return found


def _keeps(stored: Array, element: ElementType, target: Target) -> bool:
    """Whether a target keeps each element of a constant."""
    if not stored.size or not np.isfinite(stored).all() or ((stored == 0) & np.signbit(stored)).any():
        return False
    return not quirks(target.runtime).kept(element, stored)


def _signs(zero: Range, stored: Array | None) -> Collection[int]:
    """Which zeros a constant holds: +0 (0), -0 (1)."""
    if not zero.negative_zero:
        return (0,)
    return (0, 1) if stored is None or not np.signbit(stored).all() else (1,)


def _has_one_element(operand: TensorType) -> bool | None:
    """Whether an operand has one element; ``None`` where its shape does not say."""
    dims = operand.shape
    if dims is None or any(not isinstance(dim, int) for dim in dims):
        return None
    return all(dim == 1 for dim in dims)


@known_of
def with_open_shapes(occurrence: Occurrence, node: Node, target: Target) -> Answers:
    """What a target makes of a subtraction by itself where shapes are open; a class that is left out is fine."""
    found: Answers = {}
    open_ = occurrence.dynamic or occurrence.made_of_open
    known = occurrence.dynamic and not occurrence.constants and is_right(LESS_KNOWN, node, target) and _is_known(node.b)
    for match in occurrence.matches if open_ and target.table.has_patterns else ():
        if not match.operator:
            found = {**found, **(target.table.find(match, node.a.dtype, not known, "") or {})}
            found = {**_of_minus_zeros(occurrence, node, target, match), **found}
    return found


def _of_minus_zeros(occurrence: Occurrence, node: Node, target: Target, match: Match) -> Answers:
    """What a target makes of elements -0 of a constant from which is subtracted, where all shapes are open.

    It was measured where all elements are; those of other cases have no -0.
    """
    if occurrence.op.computes is not SUBTRACT or occurrence.constants != (0,):
        return {}
    if not occurrence.operands[0].negative_zero or node.a.element.is_integer:
        return {}
    minus = replace(match, pattern=Op(SUBTRACT.onnx, (ZEROS["array"][True], X), judged=True))
    answers = target.table.find(minus, node.a.dtype, True, "") or {}
    return {name: one for name, one in answers.items() if name == "negative zero"}


def _is_known(operand: TensorType) -> bool:
    return operand.shape is not None and all(isinstance(dim, int) for dim in operand.shape)


def _is_zero(range_: Range) -> bool:
    return range_.dtype is not None and range_.lo == range_.hi == 0 and not range_.nan


def _vanishes(range_: Range) -> bool:
    """Whether a constant holds nothing but zeros, or what some runtimes take for them: tract leaves out such a B."""
    return range_.dtype is not None and not range_.nan and max(abs(range_.lo), abs(range_.hi)) < _VANISHES


def settings(runtime: str, hint: str) -> str:
    """Return the settings of a runtime that a hint stands for, as they are written.

    >>> settings("openvino-cpu", "f32")
    'INFERENCE_PRECISION_HINT=f32'
    """
    return ", ".join(f"{name}={value}" for name, value in setting_of(runtime, hint))


def setting_of(runtime: str, hint: str) -> Setting:
    """Return the settings of a runtime that a hint stands for; none for ``""``.

    >>> setting_of("openvino-cpu", "f32"), setting_of("openvino-cpu", "")
    ((('INFERENCE_PRECISION_HINT', 'f32'),), ())
    """
    return tuple(quirks(runtime).hints[hint].items()) if hint else ()


def isolated_by_max(occurrence: Occurrence, target: Target) -> bool:
    """Whether ``Max(t, t)`` around operands and result of a subtraction was measured to isolate it.

    What a runtime computes in more bits than its type has goes through Max unchanged.
    """
    assert isinstance(occurrence.node, Node)
    if occurrence.node.a.dtype in NARROW:
        return False
    classes = value_classes(occurrence, occurrence.op.computes, occurrence.node.a.element)
    for match in occurrence.matches:
        if match.operator:
            continue
        assert isinstance(match.pattern, Op)
        operands = match.pattern.operands
        maxima = [
            replace(match.pattern, operands=(*operands[:i], Op("Max", (X, X)), *operands[i + 1 :]))
            for i, one in enumerate(operands)
            if one == X
        ]
        for pattern in (*maxima, Op("Max", (RESULT, RESULT)).with_result(match.pattern)):
            answers = target.table.find(
                Match(pattern, ADJACENT, "Max"), occurrence.node.a.dtype, occurrence.dynamic, ""
            )
            if answers is None or any(name == EVERY or name in classes for name in answers):
                return False
    return True
