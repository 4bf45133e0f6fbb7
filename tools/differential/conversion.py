"""Valid models to every other opset: refused with a reason, or accepted by the checker and equal on onnxruntime."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx.inliner
from onnx import ModelProto, NodeProto

from differential import node_models, onnx_worker, valid_nodes
from differential.comparable import every_node, excluded, fault, fits, is_random, rounding, stashed
from differential.conversion_refusals import invalid, unknown
from differential.node_drafts import CONTRIB
from differential.onnx_worker import ABSENT, Failed
from differential.output_types import INVALID, typed
from differential.results import clamped, lowest, near, near_as_float32, overflowed, same, words
from differential.surface import Difference, Surface
from differential.valid_nodes import Built

if TYPE_CHECKING:
    from minuend.errors import ConversionRefused


@dataclass(frozen=True)
class Case(valid_nodes.Nodes):
    """A model of some nodes, the opset that it goes to, and the size that is 0 instead in all that is given to it."""

    to: int = 18
    empty: int = 0


LEGACY_OPSET = 6
"""The last opset whose operators broadcast by an attribute; nobody looks at their shapes."""
UNWRITTEN = frozenset({"DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat", "QLinearMatMul", "QGemm",
                       "ConvInteger", "QLinearConv"})  # fmt: skip
"""Operators of whose results onnxruntime writes nothing where they sum over no elements."""


def draw(source: random.Random) -> Case:
    """Draw a case."""
    fields = valid_nodes.draw(source)
    if source.random() < 0.2:
        fields["more"] = (*fields.get("more", ()), *valid_nodes.more(source, fields["opset"]))
    return Case(
        **fields,
        constants=source.choice(["none", "initializer", "initializer", "node", "all"]),
        dims=source.choice(["static", "static", "named"]),
        place=source.choice(["graph", "graph", "graph", *node_models.places(fields)]),
        repeat=source.choice(node_models.REPEATS),
        linked=source.random() < 0.5,
        to=source.randint(1, onnx.defs.onnx_opset_version()),
        seed=source.randrange(1000),
        numbers=source.choice(["", "", "far", "large", "edge"]),
        empty=source.choice([0] * 16 + [1, 2, 3, 4]) if fields["opset"] > LEGACY_OPSET else 0,
    )


def compare(case: Case, folder: Path) -> str:
    """Convert the model of a case and compare."""
    import minuend as mn
    from minuend.errors import ConversionRefused

    if case.to == case.opset:
        return "the same opset"
    try:
        built, model = _drawn(case)
    except INVALID as error:
        return f"not valid: {error}"
    try:
        expected = _before(model, built)
    except Failed as error:
        return f"not valid there: {error}"
    try:
        made = mn.convert(node_models.stored(model, case, folder), f"onnx:{case.to}")
    except ConversionRefused as error:
        return _refused(case, model, built, expected, error)
    result = made.model
    if case.place == "external":
        made.save(folder / "result.onnx")
        result = onnx.load(folder / "result.onnx")
    return _converted(case, built, model, result, expected, made.losses)


def _drawn(case: Case) -> tuple[Built, ModelProto]:
    """The nodes of a case and their model.

    Raises:
        ValueError: they are not valid.
    """
    if not fits(case):
        raise ValueError("a window does not fit")
    built = valid_nodes.build(case)
    built.feeds = {name: emptied(array, case.empty) for name, array in built.feeds.items()}
    model = typed(node_models.model_of(case, built), built.feeds)
    if case.empty and any(node.op_type in UNWRITTEN for node in built.nodes):
        raise ValueError("onnxruntime leaves the memory of a product over no elements as it is")
    if case.empty and any(node.op_type == "NonMaxSuppression" for node in built.nodes):
        raise ValueError("onnxruntime reads thresholds that have no elements")
    if case.numbers == "edge" and any(node.op_type == "MaxPool" and _by_columns(node) for node in built.nodes):
        raise ValueError("onnxruntime's MaxPool by columns is another kernel, which passes NaN by")
    if wrong := excluded(built) or fault(model):
        raise ValueError(wrong)
    return built, model


def _by_columns(node: NodeProto) -> bool:
    return any(a.name == "storage_order" and a.i for a in node.attribute)


def _before(model: ModelProto, built: Built) -> list[Any] | None:
    """What onnxruntime computes of a model that came; ``None`` where it lacks a kernel.

    Raises:
        Failed: it refuses the model, for another reason.
    """
    try:
        return onnx_worker.run(model.SerializeToString(), built.feeds)
    except Failed as error:
        if not any(word in str(error) for word in ABSENT):
            raise
    return None


def emptied(value: Any, size: int) -> Any:
    """An array without the dims of a size: they are 0."""
    if not size or not isinstance(value, np.ndarray) or size not in value.shape:
        return value
    return value[tuple(slice(0 if n == size else n) for n in value.shape)]


def _converted(
    case: Case, built: Built, model: ModelProto, result: ModelProto, expected: list[Any] | None, losses: list[str]
) -> str:
    """Whether a converted model is valid, and computes what the one before computes."""
    if wrong := fault(result):
        raise Difference(f"ours is not accepted: {wrong}")
    if why := _uncompared(case, model, losses):
        return f"converted, {why}"
    if expected is None:
        return "converted, not run before"
    try:
        came = _ran(result, built.feeds)
    except Failed as error:
        return failed(str(error), result)
    if all(map(same, expected, came)):
        return "equal"
    if reason := _close(model, result, expected, came, losses):
        return reason
    raise Difference(f"before {words(expected)}, after {words(came)}, losses {losses}")


def _close(model: ModelProto, result: ModelProto, expected: list[Any], came: list[Any], losses: list[str]) -> str:
    """What makes up for results that differ: rounding, a loss that says so, onnxruntime's own; ``""`` for nothing."""
    one_rounding = rounding(result) == rounding(model)
    if all(map(near, expected, came)):
        if losses:
            return "within rounding, and a loss says so"
        if one_rounding:
            return "within rounding, by another kernel of onnxruntime"
    if all(map(near, map(lowest, expected), came)):
        if any("-inf where a mask excludes" in loss for loss in losses):
            return "-inf where onnxruntime's Attention has the lowest number, and a loss says so"
        if "Attention" in rounding(model) and one_rounding:
            return "-inf where onnxruntime's Attention has the lowest number, without a kernel of its own here"
    return _stated(model, expected, came, losses)


def _stated(model: ModelProto, expected: list[Any], came: list[Any], losses: list[str]) -> str:
    """What a loss says of results that differ by more than rounding; ``""`` where none does."""
    if any("overflows" in loss for loss in losses) and all(map(overflowed, expected, came)):
        return "a logarithm of integers that ONNX's body overflows for, and a loss says so"
    if any("clamps them" in loss for loss in losses) and all(map(clamped, expected, came)):
        return "integers that do not fit, which onnxruntime clamps, and a loss says so"
    if any("normalizes in float32" in loss for loss in losses) and _within_stash(model, expected, came):
        return "normalized in float32, the type of computation, and a loss says so"
    if any("may round differently" in loss for loss in losses) and _within_stash(model, expected, came):
        return "normalized numbers far from 0, which lose digits in float32, and a loss says so"
    return ""


def _uncompared(case: Case, model: ModelProto, losses: list[str]) -> str:
    """Why results cannot be compared: they are random, or a loss says that shapes differ; ``""`` where they can."""
    if case.empty and any("allowzero=1 is gone" in loss for loss in losses):
        return "and a loss says that Reshape states no dim of 0"
    return "random" if is_random(model) else ""


def _within_stash(model: ModelProto, expected: list[Any], came: list[Any]) -> bool:
    """Whether results are near, those behind an operator with a stash_type by the rounding of float32."""
    narrow = stashed(model)
    rows = zip(model.graph.output, expected, came, strict=True)
    return all((near_as_float32 if one.name in narrow else near)(x, y) for one, x, y in rows)


def _ran(model: ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """What onnxruntime computes of a converted model.

    It puts the nodes of a function into the body of a SequenceMap in a wrong order, and then refuses the model. ONNX's
    inliner makes a Loop of the SequenceMap, which it runs.

    Raises:
        Failed: it does not run it.
    """
    try:
        return onnx_worker.run(model.SerializeToString(), feeds)
    except Failed as error:
        if not re.search(r"_inlfunc_SequenceMap_.* must be topologically sorted", str(error)):
            raise
    looped = onnx.inliner.inline_selected_functions(model, [("", "SequenceMap")], inline_schema_functions=True)
    return onnx_worker.run(looped.SerializeToString(), feeds)


NOT_RUN = {
    "Subgraph must have the shape set for all outputs": "it infers no shapes in the body of a Scan",
    "Batch size must be greater than 0": "its Attention takes no empty batch",
    "inconsistent total_sequence_length (between attn_mask": "its Attention-24 does not pad a mask that is too short",
    "being null": "its Attention-24 takes no past where the present is no output",
    "padding values must be non-negative": "its older pools take no stride above the kernel with auto_pad",
}
"""What onnxruntime 1.32 says of valid models, and why it does not run them."""
_ITS_OWN = re.compile(r'"_inlfunc_(\w+?)_\w*".*No Op registered for \w+ with domain_version of')


def failed(why: str, model: ModelProto) -> str:
    """What is counted of a converted model that onnxruntime does not run.

    Raises:
        Difference: it is not known why.
    """
    if any(word in why for word in ABSENT):
        return "converted, not run after"
    if reason := next((reason for text, reason in NOT_RUN.items() if text in why), ""):
        return f"converted, and onnxruntime fails: {reason}"
    its_own = {node.op_type for node in every_node(model) if node.domain == CONTRIB}
    if (found := _ITS_OWN.search(why)) and found[1] in its_own:
        return "converted, and onnxruntime fails: the body of its own operator has nodes that the opset lacks"
    raise Difference(f"the result does not run: {why}")


SILENT = (
    "Pad with mode='wrap' does not say",
    "Resize-10 does not say",
    "since runtimes and ONNX's text take others differently",
    "expected an even number, for pairs",
    "the scales ('",
    "has no coordinate_transformation_mode='tf_half_pixel_for_nn'",
    "has no coordinate_transformation_mode='half_pixel_symmetric'",
)
"""Resize-10 where it shrinks, or may; flags that are neither 0 nor 1; odd pairs; a mode that the other version has not,
which onnx's converter leaves standing."""
UNPROVEN = ("its inputs are not proven to have one shape", "is not proven to be equal in A and B")
"""Reasons of a version that does not broadcast, where the sizes of dims are not known: each input has its own names."""
CHECKER = "ONNX's checker refuses the result: "


def _refused(case: Case, model: ModelProto, built: Built, expected: list[Any] | None, error: ConversionRefused) -> str:
    """Whether a refusal is for a known reason, and onnx's converter does not do it: a valid model, the same results."""
    why = "; ".join(error.nodes.values())
    if not why:
        raise Difference("refused without a reason")
    if all(map(invalid, error.nodes.values())):
        return "refused as invalid, as ONNX's registry shows, and neither the checker nor onnxruntime looks at outputs"
    if any(_outside_the_text(one, model, built) for one in error.nodes.values()):
        return "refused as invalid, as ONNX's evaluator shows, and neither the checker nor onnxruntime looks at shapes"
    if "the model is invalid" in why:
        raise Difference(f"refused as invalid, and the checker and onnxruntime accept it: {why}")
    try:
        theirs = ModelProto.FromString(onnx_worker.version_convert(model.SerializeToString(), case.to))
    except Failed:
        theirs = None
    if theirs is not None and why.startswith(CHECKER) and fault(theirs) == why.removeprefix(CHECKER):
        return "refused, and their result has the same fault, which ONNX's check finds in the other opset alone"
    if part := next((part for one in error.nodes.values() if (part := unknown(one, model, case.place))), ""):
        raise Difference(f"refused for an unknown reason: {part}")
    if theirs is None:
        return "both refuse"
    if reason := _wanting(theirs, model, built, expected):
        return f"refused, and their result {reason}"
    if case.empty and "output 1 of Dropout" in why:
        return "refused, and the mask of Dropout, which differs, is of an empty tensor"
    if any(text in why for text in SILENT):
        return "refused, where an old version does not say what it computes"
    if case.dims == "named" and any(text in why for text in UNPROVEN):
        return "refused, where no name says that dims are equal, and their converter does not look at them"
    raise Difference(f"refused, and onnx's converter makes a model of the same results: {why}")


def _outside_the_text(reason: str, model: ModelProto, built: Built) -> bool:
    """Whether a reason is that the shapes of an Attention do not belong together, and ONNX's evaluator refuses them."""
    if not reason.startswith("Attention: the model is invalid: "):
        return False
    try:
        onnx_worker.evaluate(model.SerializeToString(), built.feeds)
    except Failed as error:
        return str(error).startswith(("ValueError", "AssertionError"))
    return False


def _wanting(theirs: ModelProto, model: ModelProto, built: Built, expected: list[Any] | None) -> str:
    """What is wrong with the model that onnx's converter makes; ``""`` where it has the same results."""
    if rounding(theirs).count("Cast") > rounding(model).count("Cast"):
        return "casts to another type and back"
    if fault(theirs) or expected is None:
        return "is invalid"
    try:
        came = onnx_worker.run(theirs.SerializeToString(), built.feeds)
    except Failed:
        return "does not run"
    return "" if all(map(same, expected, came)) else "differs"


SURFACES = (Surface("convert", "models to other opsets", ("onnx", "onnxruntime"), draw, compare, Case),)
