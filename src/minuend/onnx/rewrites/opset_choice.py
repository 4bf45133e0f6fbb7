"""The opset that fix converts an ONNX model to, and what a Sub needs there."""

from __future__ import annotations

from collections.abc import Iterable

from minuend.core.elements import ElementType
from minuend.errors import SpecError
from minuend.judging.node_verdicts import judge
from minuend.models.occurrences import Occurrence
from minuend.onnx.opsets.schemas import newest
from minuend.onnx.rewrites.emitter import legal
from minuend.onnx.rewrites.rewriting import parts
from minuend.onnx.versions import DIALECT
from minuend.operators.recipe import Recipe
from minuend.rewriting.choosing import Choice, Request
from minuend.rewriting.deviations import in_int32, may_saturate, wrong_classes
from minuend.rewriting.options import Rewriting
from minuend.rewriting.wording import SATURATE
from minuend.runtimes.targets import Target
from minuend.standards.node import Node
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion


def needs_modern(occurrence: Occurrence, target: Target, options: Rewriting) -> bool:
    """Return whether a Sub that broadcasts by the old rule cannot stay as it is on a target."""
    if not isinstance(occurrence.node, Node) or occurrence.op.broadcasting != "onnx_legacy":
        return False
    if judge(occurrence, target).verdict == "invalid":
        return False
    wrong = wrong_classes(occurrence, occurrence.node, target, options.accept)
    return may_saturate(occurrence, options) or bool(wrong)


def lowest_opset(found: Iterable[Occurrence], target: Target) -> int:
    """Return the lowest opset with NumPy's broadcasting at which the target runs the most of some subtractions."""
    dtypes = {occurrence.node.a.dtype for occurrence in found if isinstance(occurrence.node, Node)}
    modern = [op for op in DIALECT.versions() if op.broadcasting == "numpy"]

    def run(op: OpVersion) -> int:
        answers = [target.answer(op, dtype, "same", "none") for dtype in dtypes if dtype in op.types]
        return sum(any(one.verdict != "not-implemented" for one in answer.values()) for answer in answers)

    return int(max(modern, key=lambda op: (run(op), -int(op.version))).version)


def saturating_opset(request: Request) -> int | None:
    """Return the lowest later opset at which a Sub can be written to saturate; ``None`` where more is missing."""
    subtraction, node = parts(request.occurrence)
    own, operator, element = subtraction.scope.opset or 0, request.occurrence.op.computes, node.a.element
    recipes = [recipe for recipe in operator.recipes if recipe.overflow and recipe.serves(element, "saturate")]
    for opset in range(own, newest() + 1):
        if any(legal(recipe, operator, element, opset) for recipe in recipes):
            return None if request.wrong_spelled or opset == own else opset
    return None


# ---- opsets as targets ------------------------------------------------------------------------------------------


def choose_for_opset(request: Request, opset: int) -> Choice:
    """Choose for one Sub of a model that is converted to another opset."""
    occurrence, node = request.occurrence, request.occurrence.node
    if not isinstance(node, Node):
        return Choice("refuse", str(node), instead="make the model valid and its types known first")
    try:
        validate(node)
    except SpecError as error:
        return Choice("refuse", error.message, instead="make the model valid first")
    element, op = node.a.element, DIALECT.resolve(opset)
    lacks = element.name not in op.types
    if not lacks and not request.saturates:
        return Choice("leave")
    reason = f"{op} takes no {element}" if lacks else SATURATE
    for recipe in request.recipes():
        helps = _helps(recipe, occurrence, element, lacks, request.saturates)
        if helps and legal(recipe, op.computes, element, opset):
            return Choice("write", reason, recipe)
    least = next((v.version for v in DIALECT.versions() if int(v.version) > opset and element.name in v.types), None)
    instead = f"take opset {least} or above" if least else "take a later opset"
    return Choice("refuse", f"{reason}, and opset {opset} has not the operators to compute it", instead=instead)


def _helps(recipe: Recipe, occurrence: Occurrence, element: ElementType, lacks: bool, saturates: bool) -> bool:
    """Whether a recipe helps where an opset lacks the type, or where it has to saturate."""
    if recipe.proof:
        return in_int32(occurrence, element)
    if recipe.wide is None and (lacks or recipe.overflow is None):
        return False
    return not saturates or recipe.overflow is not None
