"""One node from one opset to another: step by step, or expanded into the nodes of its function body."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from onnx import NodeProto

from minuend.onnx.graphs.nesting import graphs
from minuend.onnx.graphs.scope import MAIN
from minuend.onnx.opsets import attention, expand, images, meanings, schemas, steps, subtraction, to_inputs  # noqa: F401 (steps)
from minuend.onnx.opsets.schemas import Refusal
from minuend.onnx.opsets.scope import Builder, Scope, learn

GRADIENT = ("ai.onnx.preview.training", "Gradient")
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


@dataclass(slots=True)
class Way:
    """From one opset to another.

    Attributes:
        before, after: the opsets. scope: what the nodes see.
        given: for values of unknown type, the types that they can have. depth: 0 for nodes of the model itself.
    """

    before: int
    after: int
    scope: Scope
    given: Mapping[str, frozenset[str]] | None = None
    depth: int = 0

    def convert(self, node: NodeProto) -> Outcome:
        """Convert a node; it is not changed.

        Raises:
            Refusal: there is no way; the text says why.
        """
        if (node.domain, node.op_type) in self.scope.functions:
            return Outcome([node])
        if (node.domain, node.op_type) == GRADIENT and self.before != self.after:
            raise Refusal("graphs for training are not converted: it names values that others may take the place of")
        if node.domain not in MAIN:
            return Outcome([node])
        was, will_be = (schemas.version_in(node.op_type, opset) for opset in (self.before, self.after))
        if was is None:
            raise Refusal(f"opset {self.before} has no {node.op_type}")
        if self.depth and (wrong := schemas.malformed(node, self.before)):
            raise Refusal(wrong, node.op_type)
        if not self.depth and (wrong := schemas.invalid(node, self.before, self.scope.type)):
            raise Refusal(f"{schemas.INVALID}{wrong}", node.op_type)
        given = possible_types(node, self.before, self.scope) if self.given is None else self.given
        deprecated = schemas.schema(node.op_type, self.before).deprecated
        if was == will_be and not deprecated:
            # a Constant is judged when all is done: by then no node may read it, or it becomes an initializer
            judged = self.depth and node.op_type != "Constant"
            if judged and (why := schemas.illegal(node, self.after, self.scope.type, given)):
                raise Refusal(why)
            return Outcome([node])
        way = self if given is self.given else replace(self, given=given)
        try:
            return way.step(node)
        except Refusal as refused:
            if refused.expanded == node.op_type:
                raise
            return way.expanded(node, type_hint(node, self.after, str(refused)))

    def step(self, node: NodeProto) -> Outcome:
        """Take a node to the next version of its operator, and go on from there."""
        numbers = schemas.versions(node.op_type)
        was = max(v for v in numbers if v <= self.before)
        if self.after < self.before:
            lower = [v for v in numbers if v < was]
            if not lower:
                raise Refusal(f"opset {self.after} has no {node.op_type}, which came with opset {was}")
            to, reached = lower[-1], was - 1
        else:
            higher = [v for v in numbers if was < v <= self.after]
            if not higher:
                of = f"{node.op_type}-{was} is deprecated in opset {self.before}"
                raise Refusal(f"{of}, and opset {self.after} has no newer one")
            to = reached = higher[0]
        new = Builder(self.scope, node)
        steps.take(copy.deepcopy(node), was, to, new)
        if len(new.nodes) > 1:
            learn(new.nodes, reached, self.scope)
        result = replace(self, before=reached).onward(new.nodes)
        result.losses[:0] = new.losses
        return result

    def onward(self, nodes: list[NodeProto]) -> Outcome:
        """Convert what took a node's place."""
        if self.depth > DEPTH:
            raise Refusal("function bodies nest too deep")
        result, way = Outcome([]), replace(self, depth=self.depth + 1)
        for node in nodes:
            part = way.convert(node)
            result.nodes += part.nodes
            result.expanded += part.expanded
            result.losses += part.losses
        return result

    def bodies(self, nodes: list[NodeProto]) -> None:
        """Convert what stands in the bodies of If, Loop and Scan nodes, in place."""
        for node in nodes:
            for _, body in graphs(node):
                inner = list(body.node)
                for x in inner:
                    (shown,) = expand.unsealed([x])
                    self.scope.define(shown, self.before if shown is x else self.after)
                self.bodies(inner)
                copies = [copy.deepcopy(x) for x in replace(self, given={}, depth=self.depth + 1).onward(inner).nodes]
                del body.node[:]
                body.node.extend(copies)
                expand.declare_ranks(body, self.scope)

    def expanded(self, node: NodeProto, why: str) -> Outcome:
        """Put a function body in a node's place that no step takes further, for a reason."""
        title = f"{node.op_type}-{schemas.version_in(node.op_type, self.before)}"
        base = node.name or next((name for name in node.output if name), node.op_type)
        trouble = ""
        expand.check(node, self.before, self.scope)
        node = expand.sealed(node)
        for function, opset, whose in expand.bodies(node, self.before, self.scope, rising=self.after > self.before):
            way = replace(self, before=opset)
            try:
                inner = expand.instantiate(function, node, self.before, self.scope, base)
                learn(inner, opset, self.scope)
                way.bodies(inner)
                result = replace(way, depth=self.depth + 1).onward(inner)
                result.nodes = expand.unsealed(result.nodes)
            except Refusal as reason:
                trouble = trouble or f"; {whose} for {title} does not help: {reason}"
                continue
            result.losses += expand.losses(node, self.before, self.scope)
            result.expanded.insert(0, (node.op_type, int(title.rpartition("-")[2]), len(result.nodes), whose))
            return result
        raise Refusal(why + trouble, node.op_type if trouble else "")


def possible_types(node: NodeProto, opset: int, scope: Scope) -> dict[str, frozenset[str]]:
    """The types that a node's values can have, by its operator's schema."""
    op = schemas.schema(node.op_type, opset)
    found = {}
    for names, formal in ((node.input, op.inputs), (node.output, op.outputs)):
        for i, name in enumerate(names):
            row = schemas.parameter(formal, i)
            if name and row is not None and schemas.type_text(scope.type(name)) is None:
                found[name] = schemas.allowed(row)
    return found


def type_hint(node: NodeProto, opset: int, why: str) -> str:
    """Add to a refusal of a Sub's type what helps."""
    lacks = f"Sub-{schemas.version_in('Sub', opset)} takes no tensor" in why
    if node.op_type == "Sub" and lacks and "minuend fix" not in why:
        return f"{why}; `minuend fix --target onnx:{opset}` puts such a Sub between casts"
    return why
