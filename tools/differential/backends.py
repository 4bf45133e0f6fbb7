"""ONNX's backend interface beside ONNX's own evaluator, and beside onnxruntime where that one cannot compute.

Models and single nodes of all operators are prepared and run, every other one with subtractions. What is given in
another way than a model declares (too few values, another type or shape, an option or a device that there is not) has
to be refused.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto

from differential import node_models, onnx_worker, valid_nodes
from differential.comparable import every_node, fault, fits, is_random
from differential.node_drafts import CONTRIB, schema_of, split
from differential.onnx_worker import Bits, Failed
from differential.output_types import INVALID, typed
from differential.results import bits, near, same, words
from differential.subtracting import weighted
from differential.surface import Difference, Surface
from differential.valid_nodes import Built

NUMPYS = 7
"""The first opset in which operators of two operands broadcast as NumPy's, and as ONNX's evaluator has them."""
ALIGNED = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
WRONG_THERE = frozenset({
    "BatchNormalization", "Softmax", "LogSoftmax", "Hardmax", "MaxPool", "AveragePool", "LpPool", "ConvTranspose",
    "GlobalMaxPool", "LRN", "LpNormalization", "PRelu", "ReduceSumSquare", "RoiAlign", "RNN", "GRU", "LSTM", "Resize",
    "Unique", "Dropout", "GridSample", "RotaryEmbedding",
})  # fmt: skip
"""Operators of which ONNX's evaluator (1.23) computes some wrongly: tests/onnx/execution/test_defects.py shows them."""
DEVICES = ("CPU", "CPU:0", "CUDA", "CUDA:1", "cpu", "GPU", "")
WRONG = ("too few", "too many", "another name", "a text", "another type", "another shape", "an option", "outputs")
"""What has to be refused: what is given, an option, or the types that the caller of a node says its results have."""


@dataclass(frozen=True)
class Case(valid_nodes.Nodes):
    """A model of some nodes, or one node.

    Attributes:
        way: ``prepare``, ``run_model`` or ``run_node``. given: in order, by name, or what is wrong with it.
        runner: whether tolerances are stated, as ONNX's test runner does.
    """

    way: str = "prepare"
    given: str = "in order"
    device: str = "CPU"
    runner: bool = False


def draw(source: random.Random) -> Case:
    """Draw a case."""
    if source.random() < 0.06:
        fields = valid_nodes.draw(source, source.choice(ALIGNED), source.randint(1, NUMPYS - 1))
    else:
        fields = valid_nodes.draw(source, "Sub" if source.random() < 0.4 else "")
    while split(fields["op"])[0] == CONTRIB:
        fields = valid_nodes.draw(source)
    way = weighted(source, {"prepare": 5, "run_model": 1, "run_node": 3})
    if way != "run_node" and fields["opset"] >= NUMPYS and source.random() < 0.5:
        fields["more"] = (*fields.get("more", ()), *valid_nodes.more(source, fields["opset"], 4))
    simple = way == "run_node" or fields["opset"] < NUMPYS
    return Case(
        **fields,
        constants="none" if simple else source.choice(["none", "initializer", "node", "all"]),
        place="graph" if simple else source.choice(["graph", "graph", *node_models.places(fields)]),
        dims=source.choice(["static", "named"]),
        repeat=source.choice(node_models.REPEATS),
        linked=not simple and source.random() < 0.8,
        seed=source.randrange(1000),
        numbers=source.choice(["", "", "far", "large", "edge"]),
        way=way,
        given=weighted(source, {"in order": 10, "by name": 5, **dict.fromkeys(WRONG, 0.6)}),
        device=source.choice(DEVICES) if source.random() < 0.1 else "CPU",
        runner=source.random() < 0.2,
    )


def compare(case: Case, folder: Path) -> str:
    """Run a case by the backend, and compare."""
    if not fits(case):
        return "not valid: a window does not fit"
    try:
        built = valid_nodes.build(case)
        model = typed(node_models.model_of(case, built), built.feeds)
    except INVALID as error:
        return f"not valid: {error}"
    if wrong := fault(model):
        return f"not valid: {wrong}"
    if case.way == "run_node" and (len(built.nodes) > 1 or built.stored or case.more or _is_old(case)):
        return "not one node, or one of an old version of another domain"
    if case.way == "run_node" and case.given in ("another type", "another shape"):
        return "a node declares no types"
    if case.place == "external":
        model = onnx.load(node_models.stored(model, case, folder))
    expected = _theirs(case, built, model)
    reason = _reason(case, built, model)
    try:
        came = list(_ours(case, built, model, expected))
    except _refusals() as error:
        if reason:
            return f"refused: {reason}"
        if isinstance(expected, str):
            return "both refuse"
        if known := _known(case, model, str(error)):
            return f"refused: {known}"
        raise Difference(f"refused, and ONNX's evaluator gives {words(expected)}: {error}") from None
    if reason:
        raise Difference(f"ours computes {words(came)}, expected a refusal: {reason}")
    if is_random(model):
        return "random"
    return _against(case, model, built, expected, came)


def _refusals() -> tuple[type[Exception], ...]:
    from minuend.errors import MinuendError

    return MinuendError, onnx.checker.ValidationError, TypeError


def _is_old(case: Case) -> bool:
    """Whether an operator of another domain is not the newest version, which ``run_node`` takes."""
    domain, name = split(case.op)
    newest = onnx.defs.get_schema(name, domain=domain).since_version
    return bool(domain) and schema_of(case.op, case.opset, case.version).since_version != newest


def _known(case: Case, model: ModelProto, why: str) -> str:
    """Which known fault of ONNX's evaluator a refusal names; nothing where the model has none of its operators."""
    names = {node.op_type for node in every_node(model)}
    if "evaluator is wrong for this" in why and names & WRONG_THERE:
        return "a defect of ONNX's evaluator"
    if "evaluator ignores the axis of" in why and case.opset < NUMPYS and "axis" in dict(case.attributes):
        return "the axis of an old version"
    return ""


def _against(case: Case, model: ModelProto, built: Built, expected: list[Any] | str, came: list[Any]) -> str:
    """Compare with what ONNX's evaluator gives, of the nodes alone where it lacks their place, or with onnxruntime."""
    if not isinstance(expected, str) and len(came) == len(expected) and all(map(_same, expected, came)):
        return "equal"
    if case.place != "graph":  # it joins the turns of a Loop along the first axis, and lacks some of other places
        alone = _alone(replace(case, place="graph"))
        own = came if isinstance(alone, str) else _trimmed(case, came, len(alone))
        if not isinstance(alone, str) and len(own) == len(alone) and all(map(_repeats, alone, own)):
            return "equal to the nodes alone, turn by turn"
    try:
        others = onnx_worker.run(model.SerializeToString(), built.feeds)
    except Failed as error:
        if isinstance(expected, str):
            return "computed here alone"
        raise Difference(f"ours {words(came)}, theirs {words(expected)} (onnxruntime: {str(error)[:80]})") from None
    own = [bits(y) if isinstance(x, Bits) else y for x, y in zip(others, came, strict=True)]
    if all(map(near, others, own)):
        return "equal to onnxruntime's, where ONNX's evaluator differs or fails"
    raise Difference(f"ours {words(own)}, ONNX's evaluator {words([expected])}, onnxruntime {words(others)}")


def _same(x: Any, y: Any) -> bool:
    """Whether two results are the same, whatever NumPy's type of their texts is."""
    return same(*map(_plain, (x, y)))


def _plain(value: Any) -> Any:
    is_text = isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "UT"
    return np.asarray(value, object) if is_text else value


def _trimmed(case: Case, came: list[Any], count: int) -> list[Any]:
    """The results that are of the drawn nodes: a state is before them, and what a SequenceMap passes on behind them."""
    return came[:count] if case.place == "map" else came[len(came) - count :]


def _repeats(once: Any, came: Any) -> bool:
    """Whether a result is what the nodes give once, or that some times along new axes, or in a sequence."""
    longer = isinstance(came, np.ndarray) and came.ndim > np.ndim(once)
    if longer or (isinstance(came, list) and not isinstance(once, list)):
        return all(_repeats(once, one) for one in came)
    return _same(once, came)


def _theirs(case: Case, built: Built, model: ModelProto) -> list[Any] | str:
    """What ONNX's evaluator gives, or why it gives nothing.

    It takes each operator for its newest version; below opset 7 the second operand is put where the axis says.
    """
    feeds = dict(built.feeds)
    if case.opset < NUMPYS and case.op in ALIGNED:
        if case.op != "Sub" and isinstance(as_it_is := _evaluated(model, feeds), str):
            return as_it_is  # of some it takes no such attribute
        copy = ModelProto()
        copy.CopyFrom(model)
        (node,) = copy.graph.node
        stated = {a.name: a.i for a in node.attribute}
        del node.attribute[:]
        model = copy
        a, b = (feeds[name] for name in node.input)
        if stated.get("broadcast") and b.size > 1:
            feeds[node.input[1]] = b.reshape(b.shape + (1,) * (a.ndim - b.ndim - stated.get("axis", a.ndim - b.ndim)))
    return _evaluated(model, feeds)


def _evaluated(model: ModelProto, feeds: dict[str, Any]) -> list[Any] | str:
    try:
        return onnx_worker.evaluate(model.SerializeToString(), feeds)
    except Failed as error:
        return str(error)


def _alone(case: Case) -> list[Any] | str:
    """What the nodes of a Loop's body give once."""
    built = valid_nodes.build(case)
    try:
        return _theirs(case, built, typed(node_models.model_of(case, built), built.feeds))
    except INVALID as error:
        return str(error)


# ---- calling ------------------------------------------------------------------------------------------------------


def _given(case: Case, built: Built, names: list[str]) -> Any:
    """What is given for the inputs of some names; with what is wrong about it."""
    found = {name: built.feeds[name] for name in names}
    if case.given == "a text":
        return "x" * len(names)
    if names and isinstance(first := found[names[0]], np.ndarray):
        if case.given == "another type":
            found[names[0]] = np.zeros(first.shape, np.float32 if first.dtype != np.float32 else np.float64)
        if case.given == "another shape":
            found[names[0]] = np.zeros((7, 3, 1, 1, 1, 1, 1, 2), first.dtype)
    if case.given == "another name":
        return {**found, "no such input": np.zeros(1, np.float32)}
    if case.given == "by name":
        return found
    values = [found[name] for name in names]
    return values[:-1] if case.given == "too few" else [*values, values[0] if values else 1] if (
        case.given == "too many") else values  # fmt: skip


def _ours(case: Case, built: Built, model: ModelProto, expected: list[Any] | str) -> Any:
    import minuend as mn

    backend: Any = mn.onnx.Backend
    more: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-5} if case.runner else {}
    if case.given == "an option":
        more["threads"] = 2
    if case.way == "run_node":
        (node,) = built.nodes
        given = _given(case, built, list(dict.fromkeys(name for name in node.input if name)))
        if isinstance(given, dict):
            given = list(given.values())
        version = {} if split(case.op)[0] else {"opset_version": case.opset}
        return backend.run_node(node, given, case.device, _outputs(case, model, expected), **version, **more)
    given = _given(case, built, [value.name for value in model.graph.input if value.name in built.feeds])
    if case.way == "run_model":
        return backend.run_model(model, given, case.device, **more)
    prepared = backend.prepare(model, case.device, **more)
    prepared.run(given)  # which leaves nothing that the next run would see
    return prepared.run(given)


def _outputs(case: Case, model: ModelProto, expected: list[Any] | str) -> Any:
    """Types and shapes that a node's results are said to have: theirs, wrong ones, one too few, or none."""
    if case.given == "outputs":
        wrong = [(np.float16, (9, 9, 9)) for _ in model.graph.output]
        return wrong if case.seed % 2 else wrong[1:]
    if case.runner and not isinstance(expected, str) and all(isinstance(one, np.ndarray) for one in expected):
        return [(one.dtype, one.shape) for one in expected]
    return None


def _reason(case: Case, built: Built, model: ModelProto) -> str:
    """Why a call has to be refused; nothing where it has not."""
    import minuend as mn

    is_known = case.device.partition(":")[0] == "CPU"
    if bool(mn.onnx.Backend.supports_device(case.device)) != is_known:
        raise Difference(f"supports_device({case.device!r}) is {not is_known}")
    if not is_known:
        return "a device"
    if case.given == "an option":
        return "an option"
    if case.given == "outputs" and case.way == "run_node" and model.graph.output:
        return "the results' types"
    if case.given in ("too many", "another name", "a text") or (case.given == "too few" and built.feeds):
        return case.given
    first = next((one for one in model.graph.input if one.name in built.feeds), None)
    if case.given not in ("another type", "another shape") or first is None or case.way == "run_node":
        return ""
    if not first.type.HasField("tensor_type"):
        return ""
    return case.given


SURFACES = (Surface("backend", "ONNX's backend interface", ("onnx", "onnxruntime"), draw, compare, Case),)
