"""One node from one opset to another: step by step, or expanded into the nodes of its function body."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

from onnx import NodeProto

from minuend.onnx.nesting import graphs
from minuend.onnx.opsets import (
    adapters,  # noqa: F401  (registers the steps)
    expand,
    schemas,
    steps,
)
from minuend.onnx.opsets.schemas import MAIN, Refusal
from minuend.onnx.opsets.scope import Builder, Scope, learn

DEPTH = 20
"""How deep bodies may expand into bodies; ONNX's own nest three deep."""


@dataclass
class Outcome:
    """What became of a node.

    Attributes:
        nodes: what takes its place. expanded: the operators whose bodies took their place, outermost first, each
            with its version, its number of nodes and whose body it is. losses: what is no longer said.
    """

    nodes: list[NodeProto]
    expanded: list[tuple[str, int, int, str]] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


def convert(
    node: NodeProto,
    before: int,
    after: int,
    scope: Scope,
    given: Mapping[str, frozenset[str]] | None = None,
    depth: int = 0,
) -> Outcome:
    """Convert a node of the main domain.

    Args:
        node: the node; it is not changed. before, after: opsets. scope: what it sees.
        given: for values of unknown type, the types that they can have. depth: 0 for a node of the model itself.

    Raises:
        Refusal: there is no way; the text says why.
    """
    if node.domain not in MAIN or (node.domain, node.op_type) in scope.functions:
        return Outcome([node])
    was, will_be = (schemas.version_in(node.op_type, opset) for opset in (before, after))
    if was is None:
        raise Refusal(f"opset {before} has no {node.op_type}")
    wrong = schemas.malformed(node, before)
    if wrong:
        raise Refusal(wrong, node.op_type)
    if given is None:
        given = possible_types(node, before, scope)
    deprecated = schemas.schema(node.op_type, before).deprecated
    if was == will_be and not deprecated:
        # a Constant is judged when all is done: by then nobody may read it, or it becomes an initializer
        why = schemas.illegal(node, after, scope.type, given) if depth and node.op_type != "Constant" else ""
        if why:
            raise Refusal(why)
        return Outcome([node])
    if not (depth or deprecated) and (wrong := schemas.mistyped(node, before, scope.type)):
        raise Refusal(f"the model is invalid: {wrong}", node.op_type)
    try:
        return _stepwise(node, before, after, scope, given, depth)
    except Refusal as why:
        if why.expanded == node.op_type:
            raise
        return _expanded(node, before, after, scope, given, depth, str(why))


def possible_types(node: NodeProto, opset: int, scope: Scope) -> dict[str, frozenset[str]]:
    """The types that a node's values can have, by its operator's schema."""
    op = schemas.schema(node.op_type, opset)
    found = {}
    for names, formal in ((node.input, op.inputs), (node.output, op.outputs)):
        for i, name in enumerate(names):
            row = schemas.parameter(formal, i)
            if name and row is not None and scope.type(name) is None:
                found[name] = schemas.allowed(op, row)
    return found


def _stepwise(
    node: NodeProto, before: int, after: int, scope: Scope, given: Mapping[str, frozenset[str]], depth: int
) -> Outcome:
    numbers = schemas.versions(node.op_type)
    was = max(v for v in numbers if v <= before)
    if after < before:
        lower = [v for v in numbers if v < was]
        if not lower:
            raise Refusal(f"opset {after} has no {node.op_type}, which came with opset {was}")
        to, reached = lower[-1], was - 1
    else:
        higher = [v for v in numbers if was < v <= after]
        if not higher:
            raise Refusal(f"{node.op_type}-{was} is deprecated in opset {before}, and opset {after} has no newer one")
        to = reached = higher[0]
    new = Builder(scope, node)
    steps.take(copy.deepcopy(node), was, to, new)
    if len(new.nodes) > 1:
        learn(new.nodes, reached, scope)
    result = onward(new.nodes, reached, after, scope, given, depth)
    result.losses[:0] = new.losses
    return result


def onward(
    nodes: list[NodeProto],
    before: int,
    after: int,
    scope: Scope,
    given: Mapping[str, frozenset[str]],
    depth: int,
) -> Outcome:
    """Convert what took a node's place."""
    if depth > DEPTH:
        raise Refusal("function bodies nest too deep")
    result = Outcome([])
    for node in nodes:
        part = convert(node, before, after, scope, given, depth + 1)
        result.nodes += part.nodes
        result.expanded += part.expanded
        result.losses += part.losses
    return result


def _with_bodies(nodes: list[NodeProto], before: int, after: int, scope: Scope, depth: int) -> None:
    """Convert what stands in the bodies of If, Loop and Scan nodes, in place."""
    for node in nodes:
        for _, body in graphs(node):
            inner = list(body.node)
            for x in inner:
                scope.define(x, before)
            _with_bodies(inner, before, after, scope, depth)
            result = onward(inner, before, after, scope, {}, depth + 1).nodes
            copies = [copy.deepcopy(x) for x in result]
            del body.node[:]
            body.node.extend(copies)


def _expanded(
    node: NodeProto,
    before: int,
    after: int,
    scope: Scope,
    given: Mapping[str, frozenset[str]],
    depth: int,
    why: str,
) -> Outcome:
    title = f"{node.op_type}-{schemas.version_in(node.op_type, before)}"
    why = type_hint(node, after, why)
    base = node.name or next((name for name in node.output if name), node.op_type)
    trouble = ""
    for function, opset, whose in expand.bodies(node, before, scope, rising=after > before):
        try:
            inner = expand.instantiate(function, node, before, scope, base)
            learn(inner, opset, scope)
            _with_bodies(inner, opset, after, scope, depth)
            result = onward(inner, opset, after, scope, given, depth + 1)
        except Refusal as reason:
            trouble = trouble or f"; {whose} for {title} does not help: {reason}"
            continue
        result.expanded.insert(0, (node.op_type, int(title.rpartition("-")[2]), len(result.nodes), whose))
        return result
    raise Refusal(why + trouble, node.op_type if trouble else "")


def type_hint(node: NodeProto, opset: int, why: str) -> str:
    """Add to a refusal of a Sub's type what helps."""
    lacks = f"Sub-{schemas.version_in('Sub', opset)} takes no tensor" in why
    if node.op_type == "Sub" and lacks and "minuend fix" not in why:
        return f"{why}; `minuend fix --target onnx:{opset}` puts such a Sub between casts"
    return why
