"""Reasons: why a verdict is what it is, as data. :mod:`minuend.runtimes.rendering` makes sentences of them.

The family is closed: a class for each kind of reason, with a code of its own. Facts of one kind have one name in all
classes, by which they are rendered: ``values`` are names of value classes, ``operands`` ranges, ``message`` is what a
runtime or a rule says itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias, dataclass_transform

if TYPE_CHECKING:
    from minuend.models.patterns import Pattern
    from minuend.models.ranges.interval import Range
    from minuend.runtimes.witness import Witness

Setting: TypeAlias = "tuple[tuple[str, str], ...]"
"""Names of a runtime's settings, each with its value."""

Example: TypeAlias = "tuple[str, Witness | None]"
"""A value class, and operands that are known to deviate."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A pattern of constants, which the runtime folds.

    >>> from minuend.models.patterns import X, Const, less
    >>> str(Folded(less(X, Const.ARRAY)))
    'x - array of constants'
    """

    pattern: Pattern

    def __str__(self) -> str:
        return f"{self.pattern} of constants"


@dataclass_transform(frozen_default=True)
class Reason:
    """A reason. Each kind is a frozen dataclass, which Python makes when the first one is needed: 56 take 20 ms.

    Attributes:
        code: names the kind of reason; stable from release to release.
        decides: whether a verdict can rest on it; others say more about what was decided.
    """

    code: ClassVar[str] = ""
    decides: ClassVar[bool] = True

    def __new__(cls, *_: object, **__: object) -> Self:
        _complete(cls)
        return super().__new__(cls)

    @classmethod
    def facts(cls) -> tuple[str, ...]:
        """Return the names of what a reason of this kind holds."""
        _complete(cls)
        return tuple(one.name for one in fields(cls))  # type: ignore[arg-type]


_COMPLETE: set[type[Reason]] = set()
_COMPLETING = threading.Lock()
"""Of several threads one makes a kind a dataclass; the others wait until it has all its methods."""


def _complete(kind: type[Reason]) -> None:
    if kind in _COMPLETE:
        return
    with _COMPLETING:
        if kind not in _COMPLETE:
            dataclass(frozen=True)(kind)
            _COMPLETE.add(kind)


def deciding(reasons: Iterable[Reason]) -> Reason | None:
    """Return the reason that decided a verdict, the first one that can.

    >>> deciding((Purpose("mean subtraction"), AsContracted())).code
    'as-contracted'
    """
    return next((one for one in reasons if one.decides), None)


# ---- the node and its model ----------------------------------------------------------------------------------


class Purpose(Reason):
    """What the operator is there for, by a name of :mod:`minuend.models.purpose`."""

    code = "purpose"
    decides = False
    purpose: str


class RuleBroken(Reason):
    """The node breaks a rule of its standard."""

    code = "rule-broken"
    rule: str
    message: str


class NotUnderstood(Reason):
    """This package cannot say what the node computes."""

    code = "not-understood"
    message: str


class TakenAnyway(Reason):
    """The runtime does not insist on the rule that is broken."""

    code = "taken-anyway"
    decides = False
    statement: str


class UnsupportedForm(Reason):
    """The runtime does not read how the model is written; ``form`` is a violation or a way to store constants.

    ``to`` is a version that the model can be converted to, where that helps.
    """

    code = "unsupported-form"
    form: str
    statement: str
    to: str = ""


class OperatorNotRead(Reason):
    """The runtime lacks an operator that the model has, or a form of one, wherever that stands."""

    code = "operator-not-read"
    runtime: str
    form: str


class OperatorNotMeasured(Reason):
    """Whether the runtime has an operator of the model that is not ONNX's was not measured."""

    code = "operator-not-measured"
    runtime: str
    form: str


class OperatorComputedOtherwise(Reason):
    """The runtime gives other numbers for a form of an operator that the model has, wherever that stands."""

    code = "operator-computed-otherwise"
    runtime: str
    form: str


class OpenSizesMeet(Reason):
    """The runtime takes two open sizes for equal, where the node repeats one that is 1."""

    code = "open-sizes-meet"
    statement: str


class DialectNotRead(Reason):
    """The runtime reads other formats; ``to`` is what the model can be converted to, else ``refusal`` says why not."""

    code = "dialect-not-read"
    runtime: str
    dialect: str
    to: str = ""
    refusal: str = ""


class VersionNotLoaded(Reason):
    """The release does not load the model's version."""

    code = "version-not-loaded"
    message: str


class NotInStandard(Reason):
    """The target is a standard that does not have the node."""

    code = "not-in-standard"
    message: str


class SizesAssumed(Reason):
    """The verdict holds for some sizes of open shapes."""

    code = "sizes-assumed"
    decides = False
    message: str


# ---- the values ------------------------------------------------------------------------------------------------


class AsContracted(Reason):
    """The runtime gives what the contract defines."""

    code = "as-contracted"


class OutOfReach(Reason):
    """What deviates is out of the operands' reach: whole value classes, and operands of others."""

    code = "out-of-reach"
    values: tuple[str, ...]
    examples: tuple[Example, ...]
    operands: tuple[Range, ...]


class ValuesDiffer(Reason):
    """Value classes that the operands reach differ: the one that shows it best, and others.

    Attributes:
        dynamic: whether they do so only where shapes are dynamic.
    """

    code = "values-differ"
    values: tuple[str, ...]
    witness: Witness | None = None
    others: tuple[str, ...] = ()
    operands: tuple[Range, ...] = ()
    dynamic: bool = False


class OtherPairsDiffer(Reason):
    """A value class that the operands reach differs; the operands that were measured are none of theirs.

    Attributes:
        witness: what follows from those for operands that can occur; ``None`` where they leave it open.
    """

    code = "other-pairs-differ"
    values: tuple[str, ...]
    others: tuple[str, ...] = ()
    operands: tuple[Range, ...] = ()
    witness: Witness | None = None


class ResultDiffers(Reason):
    """The result has another type or shape."""

    code = "result-differs"
    message: str
    others: tuple[str, ...] = ()
    operands: tuple[Range, ...] = ()


class RuntimeMessage(Reason):
    """What the runtime says, or what was found when it was measured."""

    code = "runtime-message"
    message: str


class NotMeasured(Reason):
    """The target has no answer for nodes of this kind."""

    code = "not-measured"
    target: str


class ProcessorNotMeasured(Reason):
    """The target was not measured with an instruction set as the newest; those with which it was."""

    code = "processor-not-measured"
    target: str
    cpu: str
    cpus: tuple[str, ...]


class NotDeclared(Reason):
    """The target's documents have no answer for nodes of this kind."""

    code = "not-declared"
    target: str


class OtherOperandsDiffer(Reason):
    """Operands that the node cannot have are known to differ."""

    code = "other-operands-differ"


class PairsLikeItDiffer(Reason):
    """Operands similar to the constants are known to differ."""

    code = "pairs-like-it-differ"
    operation: str


class Undocumented(Reason):
    """The target's documents do not say what the results are."""

    code = "undocumented"


class NothingStated(Reason):
    """The target says nothing at all."""

    code = "nothing-stated"
    target: str


class Concerns(Reason):
    """Which value classes a verdict is about."""

    code = "concerns"
    decides = False
    examples: tuple[Example, ...]


class MadeLarger(Reason):
    """What reads the result makes a large difference of a small one, or of the sign of a zero."""

    code = "made-larger"
    decides = False
    operator: str


class ZeroSignNotRead(Reason):
    """Only the sign of a zero differs, and what reads the result makes the same of both zeros."""

    code = "zero-sign-not-read"


class DocumentsSilent(Reason):
    """The verdict takes for right what the target's documents leave open."""

    code = "documents-silent"
    decides = False
    values: tuple[str, ...]


class ShapesAtRunTime(Reason):
    """The shapes are open; the verdict holds for one relation between them."""

    code = "shapes-at-run-time"
    decides = False
    relation: str


class FoldingDiffers(Reason):
    """The answer depends on which operands are constants; each alternative with a witness or its verdict."""

    code = "folding-differs"
    decides = False
    answers: tuple[tuple[str, Witness | str], ...]


@dataclass(frozen=True, slots=True)
class Stated:
    """What a measured release says: its verdict, and a witness where it deviates."""

    release: str
    verdict: str
    witness: Witness | None


class ReleasesDiffer(Reason):
    """The measured releases around one that was not measured differ.

    Attributes:
        taken: the release whose answer is taken; ``""`` for that of the worse answer.
    """

    code = "releases-differ"
    decides = False
    release: str
    older: Stated
    newer: Stated
    taken: str


# ---- patterns and other nodes ----------------------------------------------------------------------------------


class PatternNotMeasured(Reason):
    """Patterns of the graph were not measured; with a setting they were, where it is named."""

    code = "pattern-not-measured"
    patterns: tuple[Pattern | Folded, ...]
    target: str
    setting: Setting = ()


class PatternsNotMeasured(Reason):
    """No pattern was measured on the target."""

    code = "patterns-not-measured"
    target: str


class DynamicShapesNotMeasured(Reason):
    """No open shapes were measured on the target."""

    code = "dynamic-shapes-not-measured"
    target: str


class ZeroNotMeasured(Reason):
    """No constant 0 was measured on the target."""

    code = "zero-not-measured"
    target: str


class PatternRefused(Reason):
    """The runtime refuses a pattern."""

    code = "pattern-refused"
    pattern: Pattern
    message: str


class PatternComputedOtherwise(Reason):
    """The runtime computes a pattern otherwise than its operators; without ``values`` all of them may differ."""

    code = "pattern-computed-otherwise"
    pattern: Pattern
    values: tuple[str, ...] = ()


class PrecisionLower(Reason):
    """The runtime computes a pattern in less than its own precision, unless it has a setting."""

    code = "precision-lower"
    pattern: Pattern
    setting: Setting
    values: tuple[str, ...] = ()


class ConstantsNotRounded(Reason):
    """The runtime folds constants of a narrow type in float32, without rounding between operators."""

    code = "constants-not-rounded"
    pattern: Folded
    dtype: str


class ConstantsMixedUp(Reason):
    """The runtime can compute the node with the constant of another node."""

    code = "constants-mixed-up"
    dtype: str
    target: str


class AnotherConstant(Reason):
    """Another node of this shape has another constant, so that a node in isolation says nothing."""

    code = "another-constant"
    decides = False


# ---- runs ------------------------------------------------------------------------------------------------------


class ProbeRefused(Reason):
    """The installed runtime refuses the node in isolation."""

    code = "probe-refused"
    message: str


class ProbeResultDiffers(Reason):
    """The installed runtime gives the node in isolation another type or shape."""

    code = "probe-result-differs"
    message: str


class ProbeDiffers(Reason):
    """The installed runtime gives other numbers for the node in isolation."""

    code = "probe-differs"
    different: int
    pairs: int
    witness: Witness | None = None


class ProbeAgrees(Reason):
    """The installed runtime gives the expected numbers for the node in isolation.

    Attributes:
        limit: what this says nothing of: the patterns of the model, or other shapes that it can have.
    """

    code = "probe-agrees"
    pairs: int
    limit: Literal["", "patterns", "shapes"] = ""


class RunAgrees(Reason):
    """In a run of the model all results of the node were expected."""

    code = "run-agrees"
    elements: int


class RunContradicts(Reason):
    """In a run all results of the node were expected, though operands that were measured to differ were among them."""

    code = "run-contradicts"
    elements: int


class RunAloneAgrees(Reason):
    """A run is all that is known, and in it all results of the node were expected."""

    code = "run-alone-agrees"
    elements: int


class RunDiffers(Reason):
    """In a run of the model some results of the node differed: the first with its operands, if they are known."""

    code = "run-differs"
    different: int
    elements: int
    index: tuple[int, ...] | None = None
    witness: Witness | None = None
    got: str = ""
    expected: str = ""


class RunTogetherDiffers(Reason):
    """In a run of the model the node was computed together with others, and the result differed."""

    code = "run-together-differs"
    nodes: tuple[str, ...]
    index: tuple[int, ...] | None = None
    got: str = ""
    expected: str = ""


# ---- proofs ----------------------------------------------------------------------------------------------------


class ClassesDiffer(Reason):
    """Value classes that differ on a runtime that is proven."""

    code = "classes-differ"
    classes: tuple[str, ...]


class ConstantsMixedUpOften(Reason):
    """How many nodes a runtime computed with the constant of another node."""

    code = "constants-mixed-up-often"
    wrong: int
    nodes_tried: int


# ---- a report --------------------------------------------------------------------------------------------------


class ReleaseBetween(Reason):
    """The target's release was not measured; those before and after it were."""

    code = "release-between"
    decides = False
    target: str
    before: str
    after: str


class ReleaseTooNew(Reason):
    """The target's release is newer than the newest that was measured."""

    code = "release-too-new"
    decides = False
    target: str
    release: str


class ReleaseTooOld(Reason):
    """The target's release is older than the oldest that was measured."""

    code = "release-too-old"
    decides = False
    target: str
    release: str


class SettingNeeded(Reason):
    """How many verdicts hold only with a setting of the runtime."""

    code = "setting-needed"
    decides = False
    target: str
    count: int
    setting: Setting
    hint: str


class MeasuredOn(Reason):
    """The processor on which targets were measured, and those on which their patterns were."""

    code = "measured-on"
    decides = False
    cpu: str
    pattern_cpus: tuple[str, ...]
    targets: tuple[str, ...]


class ProcessorMatters(Reason):
    """What the runtime does on some processors alone."""

    code = "processor-matters"
    decides = False
    runtime: str
    statement: str


class OnProcessor(Reason):
    """Which processor a finding is about, where those of other instruction sets are fine, or less wrong."""

    code = "on-processor"
    decides = False
    cpu: str


REASONS: tuple[type[Reason], ...] = tuple(Reason.__subclasses__())
"""Every kind of reason."""
