"""What a target gets wrong of an occurrence: the value classes, and whether a rewritten occurrence is right."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

from minuend.core.elements import ElementType
from minuend.errors import SpecError
from minuend.judging.checking import with_shared_constants
from minuend.judging.node_verdicts import answers_for, judge, possible_relations, shape_relation
from minuend.judging.pattern_verdicts import pattern_verdict
from minuend.models.occurrences import Occurrence, value_classes
from minuend.rewriting.options import Rewriting
from minuend.runtimes.answers import Answer
from minuend.runtimes.other_processors import for_type
from minuend.runtimes.quirks import strict_of
from minuend.runtimes.reasons import OpenSizesMeet, OperatorComputedOtherwise, OperatorNotRead, deciding
from minuend.runtimes.targets import Target
from minuend.standards.node import Node

WRONG = ("different-numbers", "not-implemented")
"""Verdicts on patterns that a rewriting may help against."""

_ACCEPTABLE = ("different-numbers", "unknown")


def reached(occurrence: Occurrence, element: ElementType) -> Collection[str]:
    """Return the value classes that an occurrence's operands can reach."""
    return value_classes(occurrence, occurrence.op.computes, element)


def in_int32(occurrence: Occurrence, element: ElementType) -> bool:
    """Return whether operands and results are proven to stay in int32."""
    return not {"beyond int32", "wraps"} & set(reached(occurrence, element))


def may_saturate(occurrence: Occurrence, options: Rewriting) -> bool:
    """Return whether an occurrence may overflow, and has to saturate then."""
    if options.overflow != "saturate" or not isinstance(occurrence.node, Node):
        return False
    return "wraps" in reached(occurrence, occurrence.node.a.element)


def acceptable(wrong: Mapping[str, Answer]) -> bool:
    """Return whether a user may accept all of some deviations."""
    return all(one.verdict in _ACCEPTABLE for one in wrong.values())


def wrong_classes(
    occurrence: Occurrence, node: Node, target: Target, accept: Collection[str] = ()
) -> dict[str, Answer]:
    """Return the value classes that the operands can reach and that go wrong, with the target's answers."""
    try:
        relation = shape_relation(occurrence, node)
    except SpecError:
        return {}
    found: dict[str, Answer] = {}
    relations = [relation] if relation is not None else possible_relations(node)
    for one, on in itertools.product(relations, for_type(target, node.a.dtype)):
        for name, answer in answers_for(occurrence, node, on, one).items():
            if answer.verdict != "ok" and not (name in accept and answer.verdict in _ACCEPTABLE):
                found.setdefault(name, answer)
    return found


def doubt(occurrence: Occurrence, options: Rewriting, shared: Collection[str] = ()) -> str:
    """Return why an occurrence that was rewritten is not known to be right on its target, or ``""`` where it is.

    Args:
        occurrence: one in the rewritten model. options: those of fix. shared: see :func:`with_shared_constants`.
    """
    target, accept = options.runtime, options.accept
    assert target is not None
    finding = with_shared_constants(judge(occurrence, target, hint=options.hint), shared)
    if finding.verdict == "ok" or options.tolerate.of(finding.target).covers(finding) is not None:
        return ""
    node = occurrence.node
    broken = occurrence.violations & strict_of(target).keys()
    met = isinstance(deciding(finding.reasons), OpenSizesMeet | OperatorNotRead | OperatorComputedOtherwise)
    excusable = accept and finding.verdict in _ACCEPTABLE and not (broken or met)
    if excusable and isinstance(node, Node) and not wrong_classes(occurrence, node, target, accept):
        return pattern_verdict(occurrence, node, target, options.hint, accept).reason
    return finding.reason
