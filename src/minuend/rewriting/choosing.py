"""Which recipe an occurrence needs on a target, or why none helps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeGuard

from minuend.core.elements import TYPES, ElementType
from minuend.core.policies import Contract
from minuend.core.shapes import size
from minuend.judging.node_verdicts import as_opened, judge, unfolded
from minuend.judging.pattern_verdicts import isolated_by_max, pattern_verdict, settings
from minuend.models.hazards import AXES_ATTRIBUTE, AXES_INPUT, KEEPDIMS_LEFT_OUT
from minuend.models.occurrences import Array, Occurrence
from minuend.models.operator_forms import FORMS
from minuend.models.ranges.interval import Range, full, within
from minuend.operators.recipe import Recipe
from minuend.rewriting.deviations import WRONG, in_int32, may_saturate, reached, wrong_classes
from minuend.rewriting.options import Rewriting
from minuend.rewriting.rewriter import Rewriter
from minuend.rewriting.wording import FLOATS, SATURATE, deviation, elsewhere, instead, proof, ranges, rejections
from minuend.runtimes.answers import Answer
from minuend.runtimes.finding import Finding
from minuend.runtimes.quirks import quirks
from minuend.runtimes.reasons import (
    OpenSizesMeet,
    OperatorComputedOtherwise,
    OperatorNotRead,
    Reason,
    UnsupportedForm,
    deciding,
)
from minuend.runtimes.severity import Severity
from minuend.runtimes.targets import Target
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate

_MOST_FOLDED = 64 << 20
"""Bytes of a constant that may replace an operator of constants (or as many as the largest operand has)."""

SPELT = "with its broadcasting spelt out"
"""What an occurrence is called that got no recipe, and is another node all the same."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do with one occurrence.

    Attributes:
        action: ``"leave"``, ``"write"`` a recipe, ``"fold"`` it into a constant, ``"spell"`` its broadcasting out and
            no more, or ``"refuse"``.
        reason: why, in a sentence without a full stop; of one that is left, why its result is not known.
        tolerated: the severity for which one is left; ``None`` where it is for no such reason.
        recipe: what to write. instead: what to do about a refusal.
        classes: the value classes that go wrong.
    """

    action: Literal["leave", "write", "fold", "spell", "refuse"]
    reason: str = ""
    recipe: Recipe | None = None
    instead: str = ""
    classes: tuple[str, ...] = ()
    tolerated: Severity | None = None


@dataclass(frozen=True)
class Request:
    """One occurrence, and what may replace it.

    Attributes:
        occurrence: the occurrence. options: those of fix. rewriter: what can be written there.
        rejected: recipes, and :data:`SPELT`, that :func:`minuend.rewriting.deviations.doubt` found not to be right
            there, each with the reason.
        unread: why the target reads nothing of the model, or ``""``.
    """

    occurrence: Occurrence
    options: Rewriting
    rewriter: Rewriter
    rejected: Mapping[str, str] = field(default_factory=dict)
    unread: str = ""

    @property
    def target(self) -> Target:
        """The runtime's target."""
        assert self.options.runtime is not None
        return self.options.runtime

    @cached_property
    def node(self) -> Node:
        """The node, which is valid."""
        assert isinstance(self.occurrence.node, Node)
        return self.occurrence.node

    @property
    def element(self) -> ElementType:
        """The operands' type."""
        return self.node.a.element

    @cached_property
    def saturates(self) -> bool:
        """Whether it may overflow, and has to saturate then."""
        return may_saturate(self.occurrence, self.options)

    @cached_property
    def spelled(self) -> Node | None:
        """The same node with its broadcasting spelt out, where it is by a rule that few runtimes follow."""
        return self.rewriter.spelled(self.occurrence)

    @cached_property
    def wrong(self) -> Mapping[str, Answer]:
        """The value classes that go wrong."""
        return wrong_classes(self.occurrence, self.node, self.target, self.options.accept)

    @cached_property
    def wrong_spelled(self) -> Mapping[str, Answer]:
        """Those that go wrong with its broadcasting spelt out."""
        if self.spelled is None:
            return self.wrong
        return wrong_classes(self.occurrence, self.spelled, self.target, self.options.accept)

    @cached_property
    def folded(self) -> Array | None:
        """The result of constants; ``None`` where an operand is computed, or the result is open or too large."""
        operands = self.rewriter.constants(self.occurrence)
        return None if operands is None else folded(self.node, operands, self.options.overflow)

    @cached_property
    def unfoldable(self) -> str:
        """Why the result cannot be a constant of the model; ``""`` where it can."""
        if self.folded is None:
            return "its operands are computed from constants, or the result is too large to be stored"
        return quirks(self.target.runtime).kept(self.element, self.folded)

    def recipes(self, overflow: Contract | None = None) -> Iterator[Recipe]:
        """Yield the recipes that can be written there, the best first, but for those that were rejected."""
        for recipe in self.occurrence.op.computes.recipes:
            serves = recipe.serves(self.element, overflow or self.options.overflow)
            if serves and recipe.name not in self.rejected and self.rewriter.writable(self.occurrence, recipe):
                yield recipe


def choose(request: Request) -> Choice:
    """Choose for one occurrence of a model and one runtime."""
    request = replace(request, occurrence=as_opened(request.occurrence, request.target))
    finding = judge(request.occurrence, request.target, hint=request.options.hint)
    later = unfolded(request.occurrence, request.target)
    if later is not None and judge(later, request.target, hint=request.options.hint).verdict == finding.verdict:
        request = replace(request, occurrence=later)
    if request.unread:
        return Choice("refuse", request.unread)
    if not isinstance(request.occurrence.node, Node) or finding.verdict == "invalid":
        return Choice("refuse", finding.reason, instead="make the model valid and its types known first")
    rule = deciding(finding.reasons)
    if isinstance(rule, UnsupportedForm) and rule.to and finding.verdict != "unknown":
        return Choice("refuse", rule.statement, instead=f"minuend convert MODEL --to {rule.to} -o OUT")
    if isinstance(rule, UnsupportedForm | OperatorNotRead) and finding.verdict == "not-implemented":
        return Choice("refuse", finding.reason, instead=elsewhere(request.target))
    if isinstance(rule, OperatorComputedOtherwise):
        cause, _, advice = finding.reason.partition("; ")
        return Choice("refuse", cause, instead=advice)
    if isinstance(rule, OpenSizesMeet) or _is_of_another_node(rule):
        cause, _, advice = rule.statement.partition("; ")
        return Choice("refuse", finding.reason.replace(rule.statement, cause), instead=advice)
    tolerated = request.options.tolerate.of(finding.target).covers(finding)
    if tolerated is not None and not request.saturates:
        return Choice("leave", tolerated=tolerated)
    if request.wrong or request.saturates:
        return _replaced(request)
    joined = isinstance(deciding(finding.reasons), UnsupportedForm)
    if (finding.graph or joined) and finding.verdict in WRONG:
        return _isolated(request, finding)
    chosen = _left_or_narrowed(request)
    unknown = chosen.action == "leave" and finding.verdict == "unknown"
    return replace(chosen, reason=finding.reason) if unknown else chosen


def _is_of_another_node(rule: Reason | None) -> TypeGuard[UnsupportedForm]:
    """Whether a runtime does not heed what another node states, such as axes, which no node between changes."""
    if not isinstance(rule, UnsupportedForm):
        return False
    return rule.form in FORMS or rule.form.endswith((AXES_ATTRIBUTE, AXES_INPUT, KEEPDIMS_LEFT_OUT))


def _replaced(request: Request) -> Choice:
    """Replace an occurrence that is wrong, or has to saturate."""
    occurrence, target, wrong = request.occurrence, request.target, request.wrong_spelled
    reason = SATURATE if request.saturates else deviation(request.wrong, target)
    if request.spelled is not None and not wrong and not request.saturates and SPELT not in request.rejected:
        return Choice("spell", reason)
    constant = occurrence.two_constants
    if constant and not request.unfoldable:
        return Choice("fold", reason, classes=tuple(request.wrong))
    chosen, nearest = _recipe(request)
    if chosen is not None:
        return Choice("write", proof(chosen, occurrence) or reason, chosen, classes=tuple(request.wrong))
    if request.saturates and wrong:
        reason += f", and {deviation(wrong, target)}"
    if request.element.is_integer and request.element.bits == 64 and "beyond int32" in wrong:
        reason += f"; {ranges(occurrence)}"
    if constant:
        reason += f"; {request.unfoldable}"
    advice = instead(request.element, target, wrong, nearest, constant)
    if request.rejected and not target.table.has_patterns:
        advice = f"measure the release that is installed (minuend measure {target.runtime} -o FILE) and fix for FILE"
    return Choice("refuse", reason + rejections(request.rejected), instead=advice, classes=tuple(wrong))


def _recipe(request: Request) -> tuple[Recipe | None, Set[str] | None]:
    """Return the first recipe that leaves nothing wrong; where none does, the least that one of floats leaves wrong."""
    element, operator, target = request.element, request.occurrence.op.computes, request.target
    nearest: Set[str] | None = None
    fused = not element.is_integer and _around(request) in WRONG
    for recipe in request.recipes() if _has_type(request) else ():
        # What computes in its own type is still fused with adjacent operators.
        if (request.saturates and recipe.overflow is None and not recipe.proof) or (fused and recipe.wide is None):
            continue
        operators = (step.op for step in recipe.traced(operator, element).steps)
        if not quirks(target.runtime).reads(operators, target.release):
            continue
        left = _left(recipe, request)
        if not left:
            return recipe, None
        if left <= set(FLOATS) and (nearest is None or len(left) < len(nearest)):
            nearest = left
    return None, nearest


def _around(request: Request) -> str:
    """The verdict on the patterns around an occurrence."""
    return pattern_verdict(request.occurrence, request.node, request.target, request.options.hint).verdict


def _has_type(request: Request) -> bool:
    """Whether a target has tensors of a type, so that a recipe can start from them.

    A runtime that lacks the operator of a narrow type lacks the type; older ones fold its constants to nonsense.
    """
    lacks = any(one.verdict == "not-implemented" for one in request.wrong_spelled.values())
    return request.element.bits >= 8 or not (lacks or request.occurrence.two_constants)


def _left_or_narrowed(request: Request) -> Choice:
    """A target that computes 64 bits in 32 gets what was proven written into the model."""
    element, occurrence, target = request.element, request.occurrence, request.target
    if element.is_integer and element.bits == 64 and in_int32(occurrence, element):
        of_all = replace(occurrence, operands=tuple(full(element.name) for _ in occurrence.operands))
        anywhere = wrong_classes(of_all, request.node, target).get("beyond int32")
        if anywhere is not None and anywhere.verdict == "different-numbers":
            for recipe in request.recipes():
                wrong = quirks(target.runtime).left_wrong(recipe.name, element, occurrence.constants)
                if recipe.proof and not wrong:
                    return Choice("write", proof(recipe, occurrence), recipe)
    return Choice("leave")


def _isolated(request: Request, finding: Finding) -> Choice:
    """Separate an occurrence from adjacent operators, where the means to do so was measured to work."""
    if finding.hint:
        setting = settings(request.target.runtime, finding.hint)
        return Choice("refuse", finding.reason, instead=f"run the model with {setting}; no rewriting helps")
    recipe = next((one for one in request.recipes("wrap") if one.isolates), None)
    if recipe is not None and not request.rejected and isolated_by_max(request.occurrence, request.target):
        return Choice("write", finding.reason, recipe)
    advice = f"{_with_hint(request)}{elsewhere(request.target)}"
    return Choice("refuse", finding.reason + rejections(request.rejected), instead=advice)


def _with_hint(request: Request) -> str:
    """That a hint may help, where a rewrite was rejected because its patterns were measured with it alone."""
    runtime = request.target.runtime
    for hint in () if request.options.hint else quirks(runtime).hints:
        setting = settings(runtime, hint)
        if any(setting in why for why in request.rejected.values()):
            return f"fix it with --hint {hint}, with which these were measured, and run it with {setting}; or "
    return ""


def folded(node: Node, operands: Sequence[Array], overflow: Contract) -> Array | None:
    """Return the result of constants; ``None`` where its shape is open or it would be too large."""
    joined = validate(node)
    dims = [dim for dim in joined.shape or () if isinstance(dim, int)]
    if joined.shape is None or len(dims) < len(joined.shape):
        return None
    if size(dims) * node.a.element.itemsize > max(_MOST_FOLDED, *(x.nbytes for x in operands)):
        return None
    from minuend.arrays.functions import compute  # slow, and few rewrites fold

    return compute(node.op.computes, node.a.element, joined, operands[0], operands[1], None, overflow)


# ---- what a recipe leaves wrong -------------------------------------------------------------------------------


def _left(recipe: Recipe, request: Request) -> Set[str]:
    """The value classes that are still wrong with a recipe."""
    element, occurrence, target = request.element, request.occurrence, request.target
    if recipe.proof and not in_int32(occurrence, element):
        return {"beyond int32"}
    known = quirks(target.runtime).left_wrong(recipe.name, element, occurrence.constants)
    left = (known & set(reached(occurrence, element))).difference(request.options.accept)
    if recipe.wide is None:
        return left | set(request.wrong_spelled)
    wide = TYPES[recipe.wide]
    widened = replace(
        occurrence,
        operands=tuple(_widened(one, element, wide) for one in occurrence.operands),
        fixed=lambda: (_stored(occurrence.fixed()[0], wide), _stored(occurrence.fixed()[1], wide)),
    )
    node = request.spelled or request.node
    moved = replace(node, operands=tuple(TensorType(wide.name, one.shape) for one in node.operands))
    return left | set(wrong_classes(widened, moved, target, request.options.accept))


def _stored(array: Array | None, wide: ElementType) -> Array | None:
    return None if array is None else array.astype(wide.memory)


def _widened(range_: Range, element: ElementType, wide: ElementType) -> Range:
    if range_.dtype is None:
        return Range(None)
    if element.is_integer:
        return within(wide.name, range_.lo, range_.hi, integral=True)
    return replace(range_, dtype=wide.name)
