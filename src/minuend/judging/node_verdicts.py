"""One node on one target: the verdict and its reasons, by what was measured of nodes and of patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from minuend.core.elements import ElementType
from minuend.core.shapes import ONE_OPERAND, bounds, numpy
from minuend.errors import ShapeError, SpecError, Unsupported
from minuend.judging.constant_operands import BY_DIGITS, SYSTEMATIC, can_make, concerns, in_float64, on_their_numbers
from minuend.judging.pattern_verdicts import (
    PatternVerdict,
    answers_for_zero,
    keeps_constants,
    keeps_ends,
    pattern_verdict,
    with_open_shapes,
)
from minuend.models.constants import WORDS, Constants, word_of
from minuend.models.occurrences import Array, Occurrence, known_of, value_classes
from minuend.models.patterns import SMALL, ZERO_SIGN
from minuend.models.purpose import PLAIN
from minuend.models.ranges.interval import Range
from minuend.operators.value_classes import NO_VALUES, classes, least_normal
from minuend.runtimes import targets
from minuend.runtimes.answers import EVERY, OK, WORST, Answer
from minuend.runtimes.cases import relation_of
from minuend.runtimes.finding import Finding
from minuend.runtimes.quirks import quirks, strict_of
from minuend.runtimes.reasons import (
    AsContracted,
    Concerns,
    DialectNotRead,
    DocumentsSilent,
    FoldingDiffers,
    MadeLarger,
    NothingStated,
    NotInStandard,
    NotMeasured,
    NotUnderstood,
    OnProcessor,
    OpenSizesMeet,
    OperatorComputedOtherwise,
    OperatorNotRead,
    OtherOperandsDiffer,
    OtherPairsDiffer,
    OutOfReach,
    Purpose,
    Reason,
    ReleasesDiffer,
    ResultDiffers,
    RuleBroken,
    RuntimeMessage,
    ShapesAtRunTime,
    SizesAssumed,
    TakenAnyway,
    Undocumented,
    UnsupportedForm,
    ValuesDiffer,
    ZeroSignNotRead,
)
from minuend.runtimes.rendering import english
from minuend.runtimes.severity import UNKNOWN, Deviation, Severity, deviation, rank, worst
from minuend.runtimes.target import SILENT, Target, Unfit
from minuend.runtimes.witness import Witness
from minuend.standards.dialects import dialect
from minuend.standards.node import Node
from minuend.standards.validation import validate


def judge(occurrence: Occurrence, target: Target, unread: Reason | None = None, hint: str = "") -> Finding:
    """Judge one occurrence of an operator on one target.

    Args:
        occurrence: what is judged. target: what is to run it. unread: why the target does not read the model at all.
        hint: see :func:`minuend.judging.checking.check`.
    """
    found = _judged(occurrence, target, unread, hint)
    if found.verdict not in ("ok", "different-numbers") or found.dtype not in quirks(target.runtime).older_differ:
        return found
    from minuend.runtimes.other_processors import for_type  # slow, and few findings need it

    every = [found]
    for one in for_type(target, found.dtype)[1:]:
        if (other := _judged(occurrence, one, unread, hint)).verdict == "different-numbers":
            every.append(replace(other, reasons=(*other.reasons, OnProcessor(one.only_up_to))))
    if len(every) == 1:
        return found
    worst_of_all = max(every, key=lambda one: (one.verdict != "ok", one.severity is None, rank(one.severity)))
    return replace(worst_of_all, deviations=tuple(dict.fromkeys(_of_all(every))))


def _judged(occurrence: Occurrence, target: Target, unread: Reason | None, hint: str) -> Finding:
    node = occurrence.node
    if isinstance(node, SpecError):
        return _finding(occurrence, target, "invalid", RuleBroken(node.rule, node.message))
    if isinstance(node, Unsupported):
        return _finding(occurrence, target, "unknown", NotUnderstood(str(node)))
    if (error := _violation(occurrence, node)) is not None:
        return _finding(occurrence, target, "invalid", *_broken(error, occurrence, target))
    measured = targets.of(target, occurrence.op.computes)
    if measured is None:
        return _finding(occurrence, target, "unknown", NotMeasured(target.name))
    if target.translate is not None:
        return _translated(occurrence, node, target.translate, target)
    if unread is None and occurrence.op.dialect not in target.dialects:
        unread = DialectNotRead(target.runtime, dialect(occurrence.op.dialect).title)
    if unread is not None:
        return _finding(occurrence, target, "not-implemented", unread)
    if (not_taken := _not_taken(occurrence, target)) is not None:
        return not_taken
    return _with_others(_of_node(occurrence, node, target, measured, hint), occurrence, target)


def _of_node(occurrence: Occurrence, node: Node, target: Target, measured: Target, hint: str) -> Finding:
    """Return the finding of a node by itself and by what is adjacent to it."""
    if (statement := quirks(target.runtime).open_dims) and _has_sizes_that_may_differ(node):
        return _beyond_measured(occurrence, target, "different-numbers", OpenSizesMeet(statement))
    occurrence = as_opened(occurrence, target)
    found = _as_read(_by_measurement(occurrence, node, measured, hint), occurrence, target)
    if (later := unfolded(occurrence, target)) is None:
        return found
    again = _as_read(_by_measurement(later, node, measured, hint), later, target)
    worse = min(found, again, key=lambda one: WORST.index(one.verdict))
    return replace(worse, deviations=tuple(dict.fromkeys((*found.deviations, *again.deviations))))


def _not_taken(occurrence: Occurrence, target: Target) -> Finding | None:
    """Return the finding where a runtime does not take what the model holds besides the node."""
    for form, (verdict, statement, *to) in strict_of(target).items():
        if form in occurrence.violations:
            return _beyond_measured(occurrence, target, verdict, UnsupportedForm(form, statement, *to))
    known = quirks(target.runtime)
    if form := known.lacks(occurrence.violations, target.release):
        return _finding(occurrence, target, "not-implemented", OperatorNotRead(target.runtime, form))
    return None


def _with_others(found: Finding, occurrence: Occurrence, target: Target) -> Finding:
    """Return the finding where a runtime computes another operator of the model otherwise; a node's own has numbers."""
    form = quirks(target.runtime).differs(occurrence.violations, target.release)
    if not form:
        return found
    differs = OperatorComputedOtherwise(target.runtime, form)
    if (found.verdict, found.severity) == ("different-numbers", "numbers"):
        return replace(found, reasons=(*found.reasons, differs))
    return _beyond_measured(occurrence, target, "different-numbers", differs)


def _beyond_measured(occurrence: Occurrence, target: Target, verdict: str, reason: Reason) -> Finding:
    """Return what is known of a runtime beyond its measured data: numbers that differ can be any."""
    if verdict != "different-numbers":
        return _finding(occurrence, target, verdict, reason)
    found = _finding(occurrence, target, verdict, reason, severity="numbers")
    return replace(found, deviations=(Deviation("numbers"),))


def _has_sizes_that_may_differ(node: Node) -> bool:
    """Whether two open sizes meet, of which one may be 1 where the other is not."""
    a, *others = (one.shape for one in node.operands)
    if a is None or len(others) != 1 or others[0] is None or node.op.broadcasting != "numpy":
        return False
    met = zip(a[::-1], others[0][::-1], strict=False)
    return any(
        not (isinstance(x, int) or isinstance(y, int) or (isinstance(x, str) and x == y))
        and min(bounds(x)[0], bounds(y)[0]) <= 1
        for x, y in met
    )


_ENLARGED: Mapping[str, tuple[Severity, Severity]] = {
    SMALL: ("subnormal", "numbers"),
    ZERO_SIGN: ("sign-of-zero", "edge"),
}
"""Of differences that what reads them enlarges: the severity that they have, and the one that comes of it."""


def _as_read(found: Finding, occurrence: Occurrence, target: Target) -> Finding:
    """A finding as bad as what reads the result makes it: none, where nothing reads what differs."""
    if found.verdict != "different-numbers":
        return found
    own = {one.severity for one in found.deviations}
    if occurrence.zero_sign_lost and {found.severity, *own} == {"sign-of-zero"}:
        return _finding(occurrence, target, "ok", ZeroSignNotRead(), relation=found.shape_relation)
    makers = {kind: match.operator for match in occurrence.matches for kind in match.enlarges}
    more = {kind: after for kind, (before, after) in _ENLARGED.items() if kind in makers and before in own}
    if not more or "numbers" in own:
        return found
    return replace(
        found,
        severity=worst((found.severity, *more.values())),
        deviations=(*found.deviations, *map(Deviation, more.values())),
        reasons=(*found.reasons, MadeLarger(next(makers[kind] for kind in more))),
    )


def as_opened(occurrence: Occurrence, target: Target) -> Occurrence:
    """Return an occurrence with the shapes that its target knows in a body."""
    opened = occurrence.in_body and quirks(target.runtime).opens_bodies
    return replace(occurrence, made_of_open=True) if opened and not occurrence.made_of_open else occurrence


def unfolded(occurrence: Occurrence, target: Target) -> Occurrence | None:
    """Return what an occurrence is on a target that makes some of its constants while the model runs; else ``None``."""
    folds = quirks(target.runtime).folds
    return None if all(folds(*made) for made in occurrence.makers) else occurrence.unfolded


@known_of
def _violation(occurrence: Occurrence, node: Node) -> SpecError | None:
    """Which rule of its version a node breaks."""
    try:
        validate(node)
    except SpecError as error:
        return error
    return None


@known_of
def shape_relation(occurrence: Occurrence, node: Node) -> str | None:
    """Return the relation of the shapes of an occurrence's node, or of one in its place; see :func:`relation_of`."""
    return relation_of(node)


def _broken(error: SpecError, occurrence: Occurrence, target: Target) -> Iterator[Reason]:
    yield RuleBroken(error.rule, error.message)
    anyway = quirks(target.runtime).takes_anyway.get(occurrence.op.broadcasting)
    if anyway and isinstance(error, ShapeError):
        yield TakenAnyway(anyway)


def _by_measurement(occurrence: Occurrence, node: Node, target: Target, hint: str) -> Finding:
    """Judge a node by what was measured of nodes, and of the patterns around it."""
    fixed = shape_relation(occurrence, node)
    known = [fixed] if fixed is not None else possible_relations(node)
    found_alone = [_measured(occurrence, node, target, one, fixed is None) for one in known]
    # Of shapes that can occur, those that give wrong numbers are worse than those that are refused.
    alone = min(found_alone, key=lambda finding: (finding.verdict != "different-numbers", WORST.index(finding.verdict)))
    if fixed == "zero-size" or alone.verdict == "not-implemented":
        return alone
    # Wrong in isolation: the patterns around it only matter for how bad it is, and integers have one severity.
    if alone.verdict == "different-numbers" and (alone.severity is None or node.a.element.is_integer):
        return replace(alone, deviations=_of_all(found_alone))
    around = pattern_verdict(occurrence, node, target, hint)
    if alone.verdict == "different-numbers":
        alone = replace(alone, deviations=_of_all(found_alone))
        worse = around.verdict == "different-numbers" and rank(around.severity) > rank(alone.severity)
        besides = () if around.verdict == "ok" else around.deviations or (UNKNOWN,)
        found = _around(occurrence, target, alone, around, *alone.reasons) if worse else alone
        # No hint or rewrite of the pattern makes a node right that is wrong in isolation.
        return replace(found, deviations=(*alone.deviations, *besides), pattern=None, hint="")
    if WORST.index(alone.verdict) <= WORST.index(around.verdict):
        return alone
    return _around(occurrence, target, alone, around)


def _around(occurrence: Occurrence, target: Target, alone: Finding, around: PatternVerdict, *more: Reason) -> Finding:
    """The finding of a node for which the patterns around it decide."""
    found = _finding(
        occurrence,
        target,
        around.verdict,
        around.why,
        around.unlike,
        *more,
        relation=alone.shape_relation,
        witness=around.witness,
        severity=around.severity,
    )
    open_ = (UNKNOWN,) if alone.verdict == "unknown" else ()
    deviations = (*around.deviations, *open_) if around.verdict == "different-numbers" else ()
    return replace(_with_unlike(found, around.unlike), pattern=around.pattern, hint=around.hint, deviations=deviations)


def _of_all(found: Sequence[Finding]) -> tuple[Deviation, ...]:
    """Return the deviations of all shapes that can occur."""
    unknown = (UNKNOWN,) * any(one.verdict not in ("ok", "different-numbers") for one in found)
    return (*(each for one in found for each in one.deviations), *unknown)


def possible_relations(node: Node) -> list[str]:
    """The relations that shapes which are not fixed can turn out to have; of empty tensors nothing can be wrong."""
    rule = node.attribute("auto_broadcast") if "auto_broadcast" in node.op.attributes.names else node.op.broadcasting
    if rule == ONE_OPERAND:
        return ["same", "rank 0"]
    if rule == "none" or (rule == "onnx_legacy" and not node.attribute("broadcast")):
        return ["same"]
    if rule in ("pdpd", "onnx_legacy"):
        if _sits_at_the_end(node):
            return ["same"] * (rule == "pdpd") + ["scalar", "one-sided"]
        name = {"pdpd": "pdpd", "onnx_legacy": "legacy axis"}[rule]
        return ["scalar", *[name] * _may_join(node), f"{name} alone"]
    ranks = (node.a.rank, node.b.rank)
    return [
        *(["rank 0"] if ranks in ((None, None), (0, None), (None, 0)) else []),
        "same",
        "scalar",
        "one-sided",
        "two-sided",
    ]


def _sits_at_the_end(node: Node) -> bool:
    """Whether B is known to repeat along A's first dims alone, as by NumPy's rule; one element repeats along all."""
    a, b = node.a.shape, node.b.shape
    if a is None or b is None:
        return node.op.broadcasting == "onnx_legacy" and "axis" not in node.attributes
    return all(dim == 1 for dim in b) or validate(node).b_start == len(a) - len(b)


def _may_join(node: Node) -> bool:
    """Whether NumPy's rule may join the operands' shapes too."""
    try:
        numpy(node.a.shape, node.b.shape)
    except ShapeError:
        return False
    return True


@known_of
def answers_for(
    occurrence: Occurrence, node: Node, target: Target, relation: str, constants: Constants | None = None
) -> dict[str, Answer]:
    """Return a target's answers for the value classes that a node's operands can reach.

    Args:
        occurrence: gives what the operands can hold. node: what is judged, the occurrence's own or one in its place.
        relation: of its shapes. constants: those of the occurrence by default.
    """
    element = node.a.element
    everything = target.judged(node.op, element, relation, occurrence.constants if constants is None else constants)
    empty = relation == "zero-size"
    classes = (NO_VALUES.name,) if empty else value_classes(occurrence, node.op.computes, element)
    if constants is None and not empty and (known := answers_for_zero(occurrence, node, target)) is not None:
        own = {name: one for name, one in known.items() if concerns(occurrence, one)}
        return {name: own.get(EVERY) or own.get(name, OK) for name in classes}
    if constants is None and not empty and keeps_constants(occurrence, node, target):
        if occurrence.two_constants:
            return dict.fromkeys(classes, OK)
        everything = target.judged(node.op, element, relation, "none")
    elif constants is None and not empty and keeps_ends(occurrence, node, target):
        everything = {**everything, "rounds": OK}
    if constants is None and not empty and (exact := on_their_numbers(occurrence, element, everything)) is not None:
        return exact
    opened = {
        name: one for name, one in with_open_shapes(occurrence, node, target).items() if concerns(occurrence, one)
    }
    return {
        name: opened[name]
        if name in opened and everything[name].verdict == "ok"
        else _of_these(name, everything[name], occurrence, element)
        for name in classes
    }


@known_of
def _measured(occurrence: Occurrence, node: Node, target: Target, relation: str, guessed: bool) -> Finding:
    """Look the answers up, and keep those for value classes that can occur."""
    everything = target.judged(node.op, node.a.element, relation, occurrence.constants)
    answers = answers_for(occurrence, node, target, relation)
    verdict = min((one.verdict for one in answers.values()), key=WORST.index, default="ok")
    deciding = {name: one for name, one in answers.items() if one.verdict == verdict}
    witness, severity = None, None
    deviations: tuple[Deviation, ...] = ()
    if verdict == "ok":
        reasons = _why_ok(occurrence, everything, answers)
    elif verdict == "different-numbers":
        name, witness = _choose(node.a.element, deciding, occurrence)
        dynamic = everything[name].verdict == "ok" and name in with_open_shapes(occurrence, node, target)
        witness = witness if _can_occur(witness, occurrence) else None
        if witness is None:
            alike = _as_values(node, target, relation, everything)
            name, witness = _derived(occurrence, node.a.element, everything, name, deciding, alike=alike)
        reasons = [_why_different(occurrence, name, deciding, witness, dynamic=dynamic)]
        severity = worst(each.severity for one in deciding.values() for each in one.deviations(node.a.element))
        wrong = [one for one in answers.values() if one.verdict != "ok"]
        deviations = tuple(each for one in wrong for each in _possible(one, node.a.element, occurrence))
        if severity is None and witness is not None:
            seen = deviation(node.a.element, witness)
            severity, deviations = seen.severity, (*deviations, seen)
    else:
        stated = {_stated(one) for one in deciding.values()} - {None}
        reasons = sorted(filter(None, stated), key=str) or [NothingStated(target.name)]
        if verdict == "unknown":
            reasons.append(Concerns(tuple((name, everything[name].witness) for name in deciding)))
    if guessed and verdict != "ok":
        reasons.append(ShapesAtRunTime(relation))
    unlike = next((one.unlike for one in deciding.values() if one.unlike), None)
    folding = (
        _folding(occurrence, node, target, relation, answers) if verdict != "ok" or occurrence.two_constants else None
    )
    found = _finding(
        occurrence,
        target,
        verdict,
        *reasons,
        unlike,
        folding,
        relation="unknown" if guessed else relation,
        witness=witness,
        severity=severity,
    )
    return _with_unlike(replace(found, deviations=deviations), unlike)


def _possible(answer: Answer, element: ElementType, occurrence: Occurrence) -> tuple[Deviation, ...]:
    """Return the deviations of an answer; one witness that these operands cannot make says nothing of theirs."""
    if answer.verdict != "different-numbers":
        return (UNKNOWN,)
    if not answer.severities and answer.witness is not None and not _can_occur(answer.witness, occurrence):
        return (UNKNOWN,)
    return answer.deviations(element)


def _with_unlike(finding: Finding, unlike: ReleasesDiffer | None) -> Finding:
    """A finding of a release between two, where these do not agree."""
    if unlike is None or isinstance(finding.provenance, str):
        return finding
    return replace(finding, provenance={**finding.provenance, "inferred": english([unlike])})


def _stated(answer: Answer) -> Reason | None:
    """Why an answer is no better."""
    if answer.reason is not None:
        return answer.reason
    if answer.message == SILENT:
        return Undocumented()
    return RuntimeMessage(answer.message) if answer.message else None


def _of_these(name: str, answer: Answer, occurrence: Occurrence, element: ElementType) -> Answer:
    """An answer for a class as it holds for these operands.

    Where the measurement tells of which sizes operands were that deviate, others do not, unless it is for their digits.
    Where all that it tells is one pair, and the operands cannot make it, it says something of its class only if that
    class goes wrong as a whole.
    """
    if answer.witness is None or name == BY_DIGITS or _can_occur(answer.witness, occurrence):
        return answer
    if name in _SMALL and _hides_small_numbers(answer, occurrence, element):
        return OK
    if name == "negative zero" and _lacks_subnormals(answer, occurrence, element):
        return OK
    spans = zip(answer.spans, occurrence.operands, occurrence.fixed(), strict=False)
    if name != "nan" and any(
        known and not any(_has_sizes(operand, stored, span) for span in known) for known, operand, stored in spans
    ):
        return OK
    if name in SYSTEMATIC or any(answer.spans):
        return answer
    return Answer("unknown", reason=OtherOperandsDiffer())


_SMALL = ("subnormal", "negative zero")
"""Value classes whose members differ by what is made of numbers near 0."""


def _hides_small_numbers(answer: Answer, occurrence: Occurrence, element: ElementType) -> bool:
    """Whether an operand is so much larger than what an answer makes of numbers near 0 that no result shows it.

    No difference of it and a number of the type is subnormal, and less a subnormal number it rounds to itself.
    """
    if element.format is None or len(occurrence.operands) == 1:
        return False
    if any(one.severity not in ("sign-of-zero", "subnormal") for one in answer.deviations(element)):
        return False
    least = float(least_normal(element)) * 2.0 ** (element.format.mantissa + 2)
    sizes = (None if one is None else np.abs(in_float64(one)) for one in occurrence.fixed())
    return any(
        bool(np.all(stored >= least)) if stored is not None else range_.lo >= least or range_.hi <= -least
        for stored, range_ in zip(sizes, occurrence.operands, strict=True)
    )


def _lacks_subnormals(answer: Answer, occurrence: Occurrence, element: ElementType) -> bool:
    """Whether an answer is about subnormal operands alone, since zeros with others were fine, and none can be one."""
    if any(one.severity != "subnormal" for one in answer.deviations(element)):
        return False
    least = float(least_normal(element))
    sizes = (None if one is None else np.abs(in_float64(one)) for one in occurrence.fixed())
    return not any(
        bool(((stored > 0) & (stored < least)).any())
        if stored is not None
        else not (range_.integral or range_.lo == range_.hi == 0 or range_.lo >= least or range_.hi <= -least)
        for stored, range_ in zip(sizes, occurrence.operands, strict=True)
    )


def _has_sizes(operand: Range, stored: Array | None, sizes: tuple[float, float]) -> bool:
    """Whether an operand can have a magnitude between two; a stored one has those of its elements."""
    if stored is not None:
        magnitudes = np.abs(in_float64(stored))
        return bool(((magnitudes >= sizes[0]) & (magnitudes <= sizes[1])).any())
    low = 0 if operand.lo <= 0 <= operand.hi else min(abs(operand.lo), abs(operand.hi))
    return low <= sizes[1] and max(abs(operand.lo), abs(operand.hi)) >= sizes[0]


def _choose(element: ElementType, answers: Mapping[str, Answer], occurrence: Occurrence) -> tuple[str, Witness | None]:
    """The class and the witness that show a deviation best: one that these operands can make, of plain numbers."""
    order = [row.name for row in (*classes(occurrence.op.computes, element), NO_VALUES)]
    wrong = [(name, one.witness) for name, one in answers.items() if one.verdict == "different-numbers"]
    return min(wrong, key=lambda item: (not _can_occur(item[1], occurrence), -order.index(item[0])))


def _can_occur(witness: Witness | None, occurrence: Occurrence) -> bool:
    return witness is not None and can_make(occurrence, witness.operands)


# ---- reasons --------------------------------------------------------------------------------------------------


def _why_ok(occurrence: Occurrence, everything: Mapping[str, Answer], answers: Mapping[str, Answer]) -> list[Reason]:
    wrong = {name: one for name, one in everything.items() if one.verdict != "ok"}
    excluded = tuple(name for name in wrong if name not in answers)
    elsewhere = tuple((name, one.witness) for name, one in wrong.items() if name in answers)
    reached: Reason = OutOfReach(excluded, elsewhere, occurrence.operands) if wrong else AsContracted()
    silent = tuple(name for name, one in answers.items() if one.message == SILENT)
    return [reached, DocumentsSilent(silent)] if silent else [reached]


def _as_values(node: Node, target: Target, relation: str, everything: Mapping[str, Answer]) -> bool:
    """Whether floats were measured to be converted in one way, be they constant or not; integers seldom are."""
    if node.a.element.is_integer:
        return False
    values = target.judged(node.op, node.a.element, relation, ())
    return {name: str(one.witness) for name, one in values.items()} == {
        name: str(one.witness) for name, one in everything.items()
    }


def _derived(
    occurrence: Occurrence,
    element: ElementType,
    everything: Mapping[str, Answer],
    best: str,
    deciding: Mapping[str, Answer],
    *,
    alike: bool,
) -> tuple[str, Witness | None]:
    """A value class and its witness that follows from the measured ones, which are of other operands."""
    from minuend.judging.derived_witnesses import derived  # slow, and most findings do not need it

    for name in dict.fromkeys((best, *reversed(tuple(deciding)))):  # the plainest numbers first
        if (witness := derived(occurrence, element, everything, name, alike=alike)) is not None:
            return name, witness
    return best, None


def _why_different(
    occurrence: Occurrence, name: str, different: Mapping[str, Answer], shown: Witness | None, *, dynamic: bool
) -> Reason:
    others = tuple(key for key in different if key != name)
    operands = () if all(one.is_full for one in occurrence.operands) else occurrence.operands
    answer = different[name]
    if answer.witness is None and answer.message:
        return ResultDiffers(answer.message, others, operands)
    if answer.witness is None or _can_occur(answer.witness, occurrence):
        return ValuesDiffer((name,), answer.witness, others, operands, dynamic)
    return OtherPairsDiffer((name,), others, operands, shown)


def _folding(
    occurrence: Occurrence, node: Node, target: Target, relation: str, now: Mapping[str, Answer]
) -> FoldingDiffers | None:
    """Return how the answers of now depend on which operands are constants: then folding them changes these.

    That of an ok node does only where both are: no runtime makes a constant of an operand that is none.
    """
    other: list[tuple[str, Witness | str]] = []
    for which, constants in WORDS.items():
        then = answers_for(occurrence, node, target, relation, constants)
        changed = [
            then[name]
            for name in now
            if "unknown" not in (now[name].verdict, then[name].verdict) and _differ(now[name], then[name])
        ]
        if changed:
            shown = min(changed, key=lambda one: not _can_occur(one.witness, occurrence))
            possible = shown.witness if _can_occur(shown.witness, occurrence) else None
            other.append((which, possible or shown.verdict))
    return FoldingDiffers(tuple(other)) if other else None


def _differ(now: Answer, then: Answer) -> bool:
    if now.verdict != then.verdict or now.witness is None or then.witness is None:
        return now.verdict != then.verdict
    same_pair = now.witness.operands == then.witness.operands
    return same_pair and str(now.witness.got) != str(then.witness.got)


def _finding(
    occurrence: Occurrence,
    target: Target,
    verdict: str,
    *reasons: Reason | None,
    relation: str = "",
    witness: Witness | None = None,
    severity: Severity | None = None,
) -> Finding:
    node = occurrence.node if isinstance(occurrence.node, Node) else None
    purpose = None if occurrence.purpose == PLAIN else Purpose(occurrence.purpose)
    return Finding(
        target=target.name,
        verdict=verdict,
        node=occurrence.name,
        location=occurrence.where,
        dialect=occurrence.op.dialect,
        operator=occurrence.op.computes.name,
        opversion=occurrence.op.key,
        dtype="" if node is None else node.a.dtype,
        shape_relation=relation or (_relation(occurrence, node) if node is not None else "unknown"),
        constants=word_of(occurrence.constants),
        reasons=tuple(one for one in (purpose, *reasons) if one is not None),
        witness=witness,
        severity=severity,
        operands=() if node is None else occurrence.operands,
        provenance=target.provenance,
    )


def _relation(occurrence: Occurrence, node: Node) -> str:
    try:
        return shape_relation(occurrence, node) or "unknown"
    except SpecError:
        return "unknown"


def _translated(
    occurrence: Occurrence, node: Node, moved: Callable[[Node], tuple[Node, str]], target: Target
) -> Finding:
    """Ask a target that is a standard of its own, whose operands are never constants of a model."""
    try:
        translated, sizes = moved(node)
    except Unfit as unfit:
        return _finding(occurrence, target, unfit.verdict, NotInStandard(unfit.reason))
    finding = _measured(replace(occurrence, constants=()), translated, target, "same", False)
    reasons = (*finding.reasons, SizesAssumed(sizes)) if sizes and finding.verdict == "ok" else finding.reasons
    return replace(
        finding, reasons=reasons, constants=word_of(occurrence.constants), shape_relation=_relation(occurrence, node)
    )
