"""Which opset fix takes an ONNX model to, and what a Sub needs to go there."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from minuend.core.policies import Contract
from minuend.errors import SpecError
from minuend.judging.node_verdicts import judge
from minuend.models.occurrences import Occurrence
from minuend.onnx.rewrites import recipes as builder
from minuend.onnx.versions import DIALECT
from minuend.operators.recipes import OWN, recipes
from minuend.operators.value_classes import reachable
from minuend.rewriting.choosing import SATURATE, Choice, Writable, in_int32, wrong_classes
from minuend.runtimes.targets import Target
from minuend.standards.node import Node
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion


def needs_modern(occurrence: Occurrence, target: Target, overflow: Contract, accept: Collection[str]) -> bool:
    """Whether a Sub that broadcasts by the old rule cannot stay as it is."""
    if not isinstance(occurrence.node, Node) or occurrence.op.broadcasting != "onnx_legacy":
        return False
    if judge(occurrence, target).verdict == "invalid":
        return False
    saturates = overflow == "saturate" and "wraps" in reachable(
        occurrence.op.computes, occurrence.node.a.element, *occurrence.operands
    )
    return saturates or bool(wrong_classes(occurrence, occurrence.node, target, accept))


def lowest_opset(found: Iterable[Occurrence], target: Target) -> int:
    """Return the lowest opset with NumPy's broadcasting at which the target runs the most of some subtractions."""
    dtypes = {occurrence.node.a.dtype for occurrence in found if isinstance(occurrence.node, Node)}
    modern = [op for op in DIALECT.versions if op.broadcasting == "numpy"]

    def run(op: OpVersion) -> int:
        answers = [target.answer(op, dtype, "same", "none") for dtype in dtypes if dtype in op.types]
        return sum(any(one.verdict != "not-implemented" for one in answer.values()) for answer in answers)

    return int(max(modern, key=lambda op: (run(op), -int(op.version))).version)


# ---- opsets as goals --------------------------------------------------------------------------------------------


def choose_for_opset(occurrence: Occurrence, opset: int, overflow: Contract, writable: Writable) -> Choice:
    """Choose for one Sub of a model that goes to another opset."""
    node = occurrence.node
    if not isinstance(node, Node):
        return Choice("refuse", str(node), instead="make the model valid and its types known first")
    try:
        validate(node)
    except SpecError as error:
        return Choice("refuse", error.message, instead="make the model valid first")
    element, op = node.a.element, DIALECT.resolve(opset)
    lacks = element.name not in op.types
    saturates = (
        overflow == "saturate"
        and element.is_integer
        and "wraps" in reachable(occurrence.op.computes, element, *occurrence.operands)
    )
    if not lacks and not saturates:
        return Choice("leave")
    reason = f"{op} takes no {element}" if lacks else SATURATE
    for recipe in recipes(element, overflow):
        if recipe.proof and not in_int32(occurrence, element):
            continue
        if recipe.wide == OWN and (lacks or recipe.overflow is None):
            continue
        if saturates and recipe.overflow is None and not recipe.proof:
            continue
        if writable(element, recipe) and builder.legal(recipe, element, opset):
            return Choice("write", reason, recipe)
    least = next((v.version for v in DIALECT.versions if int(v.version) > opset and element.name in v.types), None)
    instead = f"take opset {least} or above" if least else "take a later opset"
    return Choice("refuse", f"{reason}, and opset {opset} has not the operators to compute it", instead=instead)
