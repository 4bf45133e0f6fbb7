"""Models that this package runs, beside onnxruntime on the whole model without optimisations."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper

from differential import node_models, onnx_worker, valid_nodes
from differential.comparable import every_node, fault, fits, is_random
from differential.onnx_worker import ABSENT, Bits, Failed
from differential.output_types import INVALID, typed
from differential.results import bits, near, same, words
from differential.surface import Difference, Surface

NEWEST = 27
"""The newest opset that onnxruntime has kernels for."""
TRIES = 4
"""Values that are tried, so that no NaN and no infinity hides a difference."""


@dataclass(frozen=True)
class Case(valid_nodes.Nodes):
    """A model of some nodes that is run."""


def draw(source: random.Random) -> Case:
    """Draw a case."""
    fields = valid_nodes.draw(source)
    while fields["opset"] > NEWEST:
        fields = valid_nodes.draw(source)
    if source.random() < 0.5:
        fields["more"] = (*fields.get("more", ()), *valid_nodes.more(source, fields["opset"], 5))
    return Case(
        **fields,
        constants=source.choice(["none", "initializer", "node", "all"]),
        dims=source.choice(["static", "static", "named"]),
        place=source.choice(["graph", "graph", "graph", *node_models.places(fields)]),
        repeat=source.choice(node_models.REPEATS),
        linked=source.random() < 0.8,
        seed=source.randrange(1000),
    )


def plain(value: Any) -> bool:
    """Whether a result has no NaN and no infinity."""
    if isinstance(value, list):
        return all(map(plain, value))
    return not isinstance(value, np.ndarray) or value.dtype.kind != "f" or bool(np.isfinite(value).all())


def compare(case: Case, folder: Path) -> str:
    """Run the model of a case on both."""
    if not fits(case):
        return "not valid: a window does not fit"
    expected: list[Any] | str = ""
    for turn in range(TRIES):
        try:
            built = valid_nodes.build(replace(case, seed=case.seed + 1000 * turn))
            model = typed(node_models.model_of(case, built), built.feeds)
        except INVALID as error:
            return f"not valid: {error}"
        try:
            expected = onnx_worker.run(model.SerializeToString(), built.feeds)
        except Failed as error:
            expected = str(error)
        if isinstance(expected, str) or all(map(plain, expected)):
            break
    if wrong := fault(model):
        return f"not valid: {wrong}"
    return against(case, model, built.feeds, expected, folder)


def against(case: Case, model: ModelProto, feeds: dict[str, Any], expected: list[Any] | str, folder: Path) -> str:
    """Run a model here, and compare with what onnxruntime says."""
    import minuend as mn
    from minuend.errors import MinuendError

    try:
        came = list(mn.run(node_models.stored(model, case, folder), feeds).values())
    except MinuendError as error:
        return _refused(model, feeds, expected, str(error))
    if isinstance(expected, str):
        lacks = any(word in expected for word in ABSENT)
        return "run here alone" if lacks else f"run here, and onnxruntime fails: {expected}"
    if is_random(model):
        return "random"
    if case.place in ("loop", "scan") and any(
        isinstance(one, np.ndarray) and one.dtype.kind in "OUT" for one in expected
    ):
        return "strings in a loop, which onnxruntime loses after the first turn"
    if case.place in ("loop", "scan", "map") and any(map(trains, every_node(model))):
        return "statistics in a loop, which onnxruntime updates in the memory of the input"
    came = [bits(y) if isinstance(x, Bits) else y for x, y in zip(expected, came, strict=True)]
    if all(map(same, expected, came)):
        return "equal"
    if case.place in ("loop", "scan") and all(map(near, expected, came)):
        return "within rounding in a loop, where onnxruntime rounds by the address of what a turn makes"
    if case.more and any(map(is_half, expected)) and all(map(near, expected, came)):
        return "within rounding, where onnxruntime leaves float16 in float32 from node to node"
    if case.constants != "none" and all(map(near, expected, came)):
        return "within rounding, where onnxruntime packs constant operands beforehand"
    raise Difference(f"ours {words(came)}, theirs {words(expected)}")


def trains(node: NodeProto) -> bool:
    """Whether a node updates statistics: its outputs share the memory of its inputs in onnxruntime."""
    return node.op_type == "BatchNormalization" and len(node.output) > 1


def is_half(value: Any) -> bool:
    """Whether a value is of a float of 16 bits, for which onnxruntime has few kernels: it puts casts around others."""
    return isinstance(value, Bits) or (isinstance(value, np.ndarray) and value.dtype == np.float16)


class Node:
    """A node of a model that is run: what it states, and the shape of its first input where that is given."""

    def __init__(self, node: NodeProto, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.inputs, self.outputs = list(node.input), list(node.output)
        self.stated = {a.name: None if a.ref_attr_name else helper.get_attribute_value(a) for a in node.attribute}
        self.shape = shapes.get(node.input[0]) if node.input else None

    def states(self, name: str, holds: Callable[[Any], bool]) -> bool:
        """Whether an attribute is stated for which something holds; of a function's, only its callers know that."""
        return name in self.stated and (self.stated[name] is None or holds(self.stated[name]))

    def has(self, names: list[str], k: int) -> bool:
        """Whether an input or output is there."""
        return len(names) > k and bool(names[k])


def _rotates_odd(node: Node) -> bool:
    """Whether pairs are made of an odd number of elements; where the shape is not given, nothing is known."""
    if node.stated.get("rotary_embedding_dim", 0) is None or node.shape is None:
        return True
    heads = (node.stated.get("num_heads") or 1) if len(node.shape) == 3 else 1
    return ((node.stated.get("rotary_embedding_dim") or 0) or node.shape[-1] // heads) % 2 == 1


WRONG: tuple[tuple[frozenset[str], Callable[[Node], bool], str], ...] = (
    (frozenset({"MaxPool", "AveragePool", "LpPool"}),
     lambda node: node.states("auto_pad", lambda pad: pad.startswith(b"SAME"))
     and node.states("dilations", lambda steps: max(steps) > 1), "auto_pad leaves out the dilations"),
    (frozenset({"MaxUnpool"}), lambda node: node.has(node.inputs, 2), "it takes the indices as those of output_shape"),
    (frozenset({"Attention"}), lambda node: node.has(node.outputs, 3) and node.states("is_causal", bool),
     "its qk_matmul_output lacks the causal mask"),
    (frozenset({"RotaryEmbedding"}), _rotates_odd,
     "the last of an odd number of elements is memory that nothing wrote"),
    (frozenset({"Cast", "CastLike"}), lambda node: node.states("saturate", lambda flag: flag not in (0, 1)),
     "of a saturate that is neither 0 nor 1 its result is memory that nothing wrote"),
)  # fmt: skip
"""What onnxruntime 1.32 computes wrongly, in every type: operators, when, and what a refusal says of it.

tests/onnx/execution/test_defects.py shows each of them.
"""


def is_wrong(model: ModelProto, feeds: Mapping[str, Any], why: str) -> bool:
    """Whether a model has a node that onnxruntime is known to compute wrongly, and a refusal says that."""
    shapes = {name: np.shape(value) for name, value in feeds.items() if isinstance(value, np.ndarray)}
    shapes |= {one.name: tuple(one.dims) for one in model.graph.initializer}
    shapes |= {one.output[0]: tuple(a.t.dims) for one in model.graph.node for a in one.attribute if a.name == "value"}
    return "onnxruntime is wrong for this" in why and any(
        node.op_type in operators and text in why and holds(Node(node, shapes))
        for operators, holds, text in WRONG
        for node in every_node(model)
    )


def _refused(model: ModelProto, feeds: dict[str, Any], expected: list[Any] | str, why: str) -> str:
    if isinstance(expected, str):
        return "both refuse"
    if is_wrong(model, feeds, why):
        return f"refused, a known defect: {why}"
    raise Difference(f"refused, and onnxruntime gives {words(expected)}: {why}")


SURFACES = (Surface("run", "models that are run", ("onnx", "onnxruntime"), draw, compare, Case),)
