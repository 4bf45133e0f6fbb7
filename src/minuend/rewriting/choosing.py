"""Which recipe a subtraction needs on a target, or why none does it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from minuend.core.elements import TYPES, ElementType
from minuend.core.policies import Contract
from minuend.errors import SpecError, listed
from minuend.judging.checking import with_shared_constants
from minuend.judging.node_verdicts import answers_for, judge, possible_relations
from minuend.judging.pattern_verdicts import isolated_by_max, pattern_verdict, settings
from minuend.models.occurrences import Array, Occurrence
from minuend.models.ranges.interval import Range, full, within
from minuend.operators import VALUE_CLASSES, value_classes
from minuend.operators.recipes import APART, OWN, Recipe, recipes
from minuend.operators.value_classes import reachable
from minuend.plain import grouped
from minuend.runtimes.answers import Answer
from minuend.runtimes.cases import relation_of
from minuend.runtimes.quirks import quirks
from minuend.runtimes.report import Finding
from minuend.runtimes.targets import Target
from minuend.standards.node import Node, TensorType

Writable: TypeAlias = Callable[[ElementType, Recipe], bool]
"""Whether a model can say a recipe for an element type at some place."""

SATURATE = "it may overflow, and saturation is asked for"


SPELT = "with its broadcasting spelt out"
"""What a subtraction is called that got no recipe, and is another node all the same."""

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do with one subtraction.

    Attributes:
        action: ``"leave"``, ``"write"`` a recipe, ``"fold"`` it into a constant, ``"spell"`` its broadcasting out and
            no more, or ``"refuse"``.
        reason: why, in a sentence without a full stop; of one that is left, why nobody knows what it gives.
        recipe: what to write. instead: what to do about a refusal.
        classes: the value classes that go wrong.
    """

    action: Literal["leave", "write", "fold", "spell", "refuse"]
    reason: str = ""
    recipe: Recipe | None = None
    instead: str = ""
    classes: tuple[str, ...] = ()


def choose(
    occurrence: Occurrence,
    target: Target,
    overflow: Contract,
    accept: Collection[str],
    *,
    writable: Writable,
    foldable: Callable[[], str],
    spelled: Node | None = None,
    rejected: Mapping[str, str] = _NONE,
    unread: str = "",
) -> Choice:
    """Choose for one subtraction of a model and one runtime.

    Args:
        occurrence: the subtraction. target: the runtime. overflow: the contract's policy.
        accept: value classes whose other numbers are taken as they come.
        writable: whether the model's format can say a recipe there.
        foldable: of a subtraction of two constants, why the result cannot stand in the model, or ``""``.
        spelled: the same subtraction with its broadcasting spelt out, where it is by a rule that few runtimes keep.
        rejected: recipes, and :data:`SPELT`, that :func:`doubt` found not to be right there, each with the reason.
        unread: why the target reads nothing of the model, or ``""``.
    """
    finding = judge(occurrence, target)
    node = occurrence.node
    if unread:
        return Choice("refuse", unread)
    if not isinstance(node, Node) or finding.verdict == "invalid":
        return Choice("refuse", finding.reason, instead="make the model valid and its types known first")
    element = node.a.element
    wrong = wrong_classes(occurrence, node, target, accept)
    saturates = overflow == "saturate" and "wraps" in reachable(occurrence.op.computes, element, *occurrence.operands)
    if not wrong and not saturates and finding.graph and finding.verdict in _WRONG:
        return _apart(occurrence, element, target, finding, writable, rejected)
    if not wrong and not saturates:
        narrowed = _leave_or_narrow(occurrence, element, target, overflow, writable, rejected)
        unknown = narrowed.action == "leave" and finding.verdict == "unknown"
        return replace(narrowed, reason=finding.reason) if unknown else narrowed
    after = wrong_classes(occurrence, spelled, target, accept) if spelled is not None else wrong
    reason = SATURATE if saturates else told(wrong, target)
    if spelled is not None and not after and not saturates and SPELT not in rejected:
        return Choice("spell", reason)
    if occurrence.constants == "both" and not foldable():
        return Choice("fold", reason, classes=tuple(wrong))
    chosen, nearest = _recipe(occurrence, node, spelled, target, overflow, accept, after, saturates, writable, rejected)
    if chosen is not None:
        return Choice("write", _proved(chosen, occurrence) or reason, chosen, classes=tuple(wrong))
    if saturates and after:
        reason += f", and {told(after, target)}"
    if element.is_integer and element.bits == 64 and "beyond int32" in after:
        reason += f"; A is {occurrence.a} and B is {occurrence.b}"
    why = f"{reason}; {foldable()}" if occurrence.constants == "both" else reason
    instead = _instead(element, target, after, nearest, occurrence.constants == "both")
    if rejected and target.graphs is None:
        instead = f"measure the release that is installed (minuend measure {target.runtime} -o FILE) and fix for FILE"
    return Choice("refuse", why + _doubted(rejected), instead=instead, classes=tuple(after))


def _recipe(
    occurrence: Occurrence,
    node: Node,
    spelled: Node | None,
    target: Target,
    overflow: Contract,
    accept: Collection[str],
    wrong: Mapping[str, Answer],
    saturates: bool,
    writable: Writable,
    rejected: Mapping[str, str],
) -> tuple[Recipe | None, Set[str] | None]:
    """Return the first recipe that leaves nothing wrong; where none does, the least that one of floats leaves wrong."""
    element = node.a.element
    nearest: Set[str] | None = None
    beside = pattern_verdict(occurrence, node, target).verdict in _WRONG and not element.is_integer
    known = quirks(target.runtime)
    for recipe in recipes(element, overflow) if _holds(element, wrong, occurrence) else ():
        # What is subtracted in its own type is joined with its neighbours still.
        if (saturates and recipe.overflow is None and not recipe.proof) or (beside and recipe.wide == OWN):
            continue
        reads = known.reads((step.op for step in recipe.steps), target.release)
        if not reads or recipe.name in rejected or not writable(element, recipe):
            continue
        left = _left(recipe, occurrence, spelled or node, target, wrong, accept)
        if not left:
            return recipe, None
        if left <= set(FLOATS) and (nearest is None or len(left) < len(nearest)):
            nearest = left
    return None, nearest


def _holds(element: ElementType, wrong: Mapping[str, Answer], occurrence: Occurrence) -> bool:
    """Whether a target holds tensors of a type, so that a recipe can start from them.

    A runtime that lacks Sub of a narrow type lacks the type; older ones fold its constants to nonsense.
    """
    lacks = any(one.verdict == "not-implemented" for one in wrong.values())
    return element.bits >= 8 or not (lacks or occurrence.constants == "both")


def wrong_classes(
    occurrence: Occurrence, node: Node, target: Target, accept: Collection[str] = ()
) -> dict[str, Answer]:
    """Return the value classes that the operands can reach and that go wrong, with the target's answers."""
    try:
        relation = relation_of(node)
    except SpecError:
        return {}
    found: dict[str, Answer] = {}
    for one in [relation] if relation is not None else possible_relations(node):
        for name, answer in answers_for(occurrence, node, target, one).items():
            if answer.verdict != "ok" and not (name in accept and answer.verdict in _ACCEPTABLE):
                found.setdefault(name, answer)
    return found


def doubt(occurrence: Occurrence, target: Target, accept: Collection[str], shared: Collection[str] = ()) -> str:
    """Return why a subtraction that was rewritten is not known to be right on a target, or ``""`` where it is.

    Args:
        occurrence: the subtraction in the rewritten model. target: the runtime.
        accept: value classes whose other numbers are taken as they come. shared: see :func:`with_shared_constants`.
    """
    finding = with_shared_constants(judge(occurrence, target), shared)
    if finding.verdict == "ok":
        return ""
    excusable = (
        accept and finding.verdict in _ACCEPTABLE and not occurrence.violations & quirks(target.runtime).strict.keys()
    )
    if (
        excusable
        and isinstance(occurrence.node, Node)
        and not wrong_classes(occurrence, occurrence.node, target, accept)
    ):
        return pattern_verdict(occurrence, occurrence.node, target, accept=accept).reason
    return finding.reason


def _doubted(rejected: Mapping[str, str]) -> str:
    """Say of recipes why they are not written; those of one reason together."""
    alike = grouped((why, name) for name, why in rejected.items())
    told = ((listed([f"'{name}'" for name in names], "and"), why) for why, names in alike.items())
    return "".join(f"; {names} would not be known to be right: {why}" for names, why in told)


_NAMED = re.compile(r" node with name '[^']*'")
"""What a message says of the model that was measured."""

_ACCEPTABLE = ("different-numbers", "unknown")


def told(wrong: Mapping[str, Answer], target: Target) -> str:
    """Say what goes wrong on a target: the plainest class with its witness, and the others by name."""
    refused = next((one for one in wrong.values() if one.verdict == "not-implemented"), None)
    if refused is not None:
        said = _NAMED.sub("", refused.message)
        return f"{target.name} does not run it" + (f": {said}" if said else "")
    names = [name for name in VALUE_CLASSES if name in wrong]
    differ = [name for name in names if wrong[name].verdict == "different-numbers"]
    if not differ:
        words = listed([VALUE_CLASSES[name].words for name in names], "and")
        return f"nobody knows what {target.name} makes of {words}"
    plainest = ("wraps", *differ[::-1])
    name = next((one for one in plainest if one in differ and wrong[one].witness is not None), differ[0])
    w = wrong[name].witness
    text = f"{target.name} has other numbers for {VALUE_CLASSES[name].words}"
    if w is not None:
        text += f": {w.gives}, expected {w.expected}"
    others = [VALUE_CLASSES[one].words for one in names if one != name]
    return f"{text}; and for {listed(others, 'and')}" if others else text


def _leave_or_narrow(
    occurrence: Occurrence,
    element: ElementType,
    target: Target,
    overflow: Contract,
    writable: Writable,
    rejected: Mapping[str, str],
) -> Choice:
    """A target that computes 64 bits in 32 gets what was proven written into the model."""
    assert isinstance(occurrence.node, Node)
    if element.is_integer and element.bits == 64 and in_int32(occurrence, element):
        everywhere = wrong_classes(replace(occurrence, operands=(full(element.name),) * 2), occurrence.node, target)
        if everywhere.get("beyond int32", Answer("ok")).verdict == "different-numbers":
            for recipe in recipes(element, overflow):
                known = quirks(target.runtime).left_wrong(recipe.name, element, occurrence.constants)
                fits = recipe.proof and recipe.name not in rejected and writable(element, recipe)
                if fits and not known:
                    return Choice("write", _proved(recipe, occurrence), recipe)
    return Choice("leave")


_WRONG = ("different-numbers", "not-implemented")


def _apart(
    occurrence: Occurrence,
    element: ElementType,
    target: Target,
    finding: Finding,
    writable: Writable,
    rejected: Mapping[str, str],
) -> Choice:
    """Keep a subtraction apart from its neighbours, where what does so is itself measured to be kept."""
    if finding.hint:
        setting = settings(target.runtime, finding.hint)
        return Choice("refuse", finding.reason, instead=f"run the model with {setting}; no rewriting helps")
    recipe = next((one for one in recipes(element, "wrap") if one.name == APART), None)
    if recipe is not None and not rejected and writable(element, recipe) and isolated_by_max(occurrence, target):
        return Choice("write", finding.reason, recipe)
    return Choice(
        "refuse", finding.reason + _doubted(rejected), instead=f"run the model on another runtime than {target.name}"
    )


def in_int32(occurrence: Occurrence, element: ElementType) -> bool:
    reached = reachable(occurrence.op.computes, element, *occurrence.operands)
    return "beyond int32" not in reached and "wraps" not in reached


def _proved(recipe: Recipe, occurrence: Occurrence) -> str:
    if not recipe.proof:
        return ""
    assumed = listed(sorted(occurrence.a.assumptions | occurrence.b.assumptions), "and")
    return f"A is {occurrence.a} and B is {occurrence.b}" + (f", where {assumed}" if assumed else "")


def _left(
    recipe: Recipe,
    occurrence: Occurrence,
    node: Node,
    target: Target,
    wrong: Mapping[str, Answer],
    accept: Collection[str],
) -> Set[str]:
    """The value classes that are still wrong with a recipe."""
    element = node.a.element
    if recipe.proof and not in_int32(occurrence, element):
        return {"beyond int32"}
    reached = set(reachable(occurrence.op.computes, element, *occurrence.operands))
    known = quirks(target.runtime).left_wrong(recipe.name, element, occurrence.constants)
    left = (known & reached).difference(accept)
    if recipe.wide == OWN:
        return left | {name for name in wrong if name not in recipe.cures}
    wide = TYPES[recipe.wide]
    widened = replace(
        occurrence,
        operands=tuple(_widened(one, element, wide) for one in occurrence.operands),
        fixed=lambda: (_stored(occurrence.fixed()[0], wide), _stored(occurrence.fixed()[1], wide)),
    )
    a, b = (TensorType(wide.name, type_.shape) for type_ in (node.a, node.b))
    moved = replace(node, operands=(a, b))
    return left | set(wrong_classes(widened, moved, target, accept))


def _stored(array: Array | None, wide: ElementType) -> Array | None:
    return None if array is None else array.astype(wide.memory)


def _widened(range_: Range, element: ElementType, wide: ElementType) -> Range:
    if range_.dtype is None:
        return Range(None)
    if element.is_integer:
        return within(wide.name, range_.lo, range_.hi, integral=True)
    return replace(range_, dtype=wide.name)


# ---- what else can be done ------------------------------------------------------------------------------------


def _instead(
    element: ElementType, target: Target, wrong: Mapping[str, Answer], nearest: Collection[str] | None, constant: bool
) -> str:
    """The nearest thing that can be done about a refusal; ``nearest``: what the best recipe leaves wrong."""
    if element.is_integer and element.bits == 64 and not constant:
        return (
            "bound both operands before it (Clip, or Cast from a narrower type), so that they are proven to stay in "
            f"int32, or run the model where {element} is computed in full"
        )
    if element.bits == 64:
        return f"run the model where {element} is computed in full"
    classes = set(wrong) if all(one.verdict in _ACCEPTABLE for one in wrong.values()) else None
    if nearest is not None and (classes is None or len(nearest) < len(classes)):
        classes = set(nearest)
    if classes and classes <= set(FLOATS):
        names = ",".join(name.replace(" ", "-") for name in FLOATS if name in classes)
        return f"take these numbers as they come (--accept {names}), or run the model where the contract is kept"
    return f"run the model on another runtime than {target.name}"


FLOATS = tuple(row.name for row in value_classes.FLOATS)
