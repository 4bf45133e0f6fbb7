"""What conversion between opsets may refuse: each reason, and ONNX's registry where it shows the reason to be right.

A reason is one sentence for the node, and one for each function body that was tried in its place. All have to be known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import onnx
from onnx import AttributeProto, ModelProto
from onnx.defs import OpSchema

from differential.node_drafts import schema_of

_BODY = re.compile(r"; (?:ONNX's function body|what ONNX says of it) for [\w-]+ does not help: ")
_HINT = re.compile(r"; `minuend fix --target onnx:\d+` puts such a \w+ between casts")

# ---- what the registry shows -------------------------------------------------------------------------------------


def _schema(op: str, version: int) -> OpSchema | None:
    """The schema of a version of an operator; ``None`` where there is none."""
    found = [one for one in onnx.defs.get_all_schemas_with_history() if not one.domain and one.name == op]
    return next((one for one in found if one.since_version == version), None)


def _came_later(opset: str, op: str, since: str) -> bool:
    later = schema_of(op, int(since))
    return later.since_version == int(since) > int(opset) and _schema_at(op, int(opset)) is None


def _schema_at(op: str, opset: int) -> OpSchema | None:
    try:
        return schema_of(op, opset)
    except onnx.defs.SchemaError:
        return None


def _lacks_type(op: str, version: str, type_: str, side: str, number: str) -> bool:
    schema = _schema(op, int(version))
    slots = () if schema is None else schema.inputs if side == "input" else schema.outputs
    return bool(slots) and type_ not in slots[min(int(number), len(slots) - 1)].types


def _lacks_attribute(op: str, version: str, name: str) -> bool:
    schema = _schema(op, int(version))
    return schema is not None and name not in schema.attributes


def _lacks_input(op: str, version: str, number: str) -> bool:
    schema = _schema(op, int(version))
    return schema is not None and int(number) >= schema.max_input


def _has_inputs(op: str, version: str, count: str) -> bool:
    """Whether a version has to have exactly so many inputs."""
    schema = _schema(op, int(version))
    return schema is not None and schema.min_input == schema.max_input == int(count)


def _one_type(op: str, version: str, letter: str) -> bool:
    """Whether a version wants one type for several inputs."""
    schema = _schema(op, int(version))
    slots = [] if schema is None else [one for one in schema.inputs if one.type_str == letter]
    return len(slots) > 1 or any(one.option == OpSchema.FormalParameterOption.Variadic for one in slots)


SHOWN: Mapping[str, Callable[..., bool]] = {
    r"opset (\d+) has no (\w+), which came with opset (\d+)": _came_later,
    r"(\w+)-(\d+) takes no (.+) as (input|output) (\d+) \('[^']*'\)": _lacks_type,
    r"(\w+)-(\d+) has no attribute '(\w+)'; the node states .+": _lacks_attribute,
    r"(\w+)-(\d+) has no input (\d+); the node gives '[^']*'": _lacks_input,
    r"(\w+)-(\d+) has (\d+) inputs?; the node has \d+": _has_inputs,
    r"(\w+)-(\d+) wants one type for '(\w+)'; it gets .+": _one_type,
}
"""Reasons that the registry shows to be right, each with how."""

# ---- what a person has to know ------------------------------------------------------------------------------------

NO_RULE = {
    ("GRU", 1, 3): "the gate that linear_before_reset is of came with 3",
    ("GRU", 3, 7): "an output of all steps was left out by an attribute",
    ("GlobalLpPool", 1, 2): "p was a float",
    ("GroupNormalization", 18, 21): "scale and bias were of groups",
    ("LSTM", 1, 7): "an output of all steps was left out by an attribute",
    ("LpPool", 1, 2): "p was a float",
    ("PRelu", 6, 7): "the slope had the first dims of X",
    ("Pad", 1, 2): "pads were called paddings",
    ("RNN", 1, 7): "an output of all steps was left out by an attribute",
    ("Resize", 10, 11): "coordinates were transformed in another way",
    ("Scan", 8, 9): "inputs had batches",
    ("Split", 1, 2): "the sizes of parts were an input or an attribute",
    ("Tile", 1, 6): "one axis was repeated, by two inputs",
}
"""Steps between versions without a rule, in one direction or both: operator, versions, and what is in the way."""

_ELEMENTWISE = "Add|Sub|Mul|Div|Less|Greater|Equal|And|Or|Xor|Pow"
KNOWN = (
    rf"({_ELEMENTWISE}) of opset [1-6] gives A's shape, and (B has the higher rank|A would grow in its axis \d+): .+",
    rf"({_ELEMENTWISE}) of opset [1-6] gives A's shape, and axis \d+ is not proven to be equal in A and B: .+",
    rf"({_ELEMENTWISE}) of opset [1-6] gives A's shape, and the rank of [AB] is unknown",
    rf"({_ELEMENTWISE}) of opset [1-6] does not expand a 1 between other dims of B: .+",
    r"(Max|Min|Mean|Sum)-6 does not broadcast, and its inputs are not proven to have one shape",
    r"\w+ has \w+=-?\d+; expected 0 or 1, since runtimes and ONNX's text take others differently",
    r"\w+ (has rotary_embedding_dim=|rotates heads of ).+expected an even number, for pairs",
    r"Attention-23 takes no mask of fewer columns than there are keys",
    r"Attention-25 takes no nonpad_kv_seqlen where present_key or present_value is an output",
    r"AveragePool-11 has no dilations",
    r"(AveragePool|LpPool|MaxPool) with ceil_mode=1 makes \d+ windows along axis \d+ until opset 21 .+",
    r"BatchNormalization-9 has no (spatial=0|training_mode)",
    r"(BatchNormalization|Dropout)-6 without is_test=1 trains, and \1-7 does not",
    r"Dropout-10 does not train",
    r"(DequantizeLinear|QuantizeLinear)-10 takes one scale for the whole tensor, a scalar",
    r"QuantizeLinear-19 has no output_dtype, and a zero point needs the scale's shape",
    r"(Gather|Scatter|OneHot|\w+Elements) of opset 10 takes no negative index",
    r"(Trilu|Clip-11|Pad-11) needs the element type of '[^']*', which is unknown",
    r"Pad with mode='wrap' does not say what it repeats (where it adds and removes )?along axis \d+(, which .+)?",
    rf"({_ELEMENTWISE})-[1-6] has axis=-?\d+, and the rank of .+ is unknown; state the shape of .+ in the model",
    r"Gemm-9 needs its input C",
    r"Gemm-6 takes a C of the result's shape, or of one row",
    r"GridSample-16 takes images alone, inputs of rank 4",
    r"LayerNormalization has stash_type=-?\d+; expected 1 \(float32\) or 16 \(bfloat16\)",
    r"Mod-13 wants fmod=1 for floats",
    r"OptionalHasElement-15 needs a name for its input 0",
    r"Reshape-13 has no allowzero, and its new shape \('[^']*'\) may hold a 0",
    r"Resize-10 does not say which element is nearest where it shrinks",
    r"Resize-\d+ has no coordinate_transformation_mode='\w+'(, nor another form of it with mode='(linear|cubic)')?",
    r"Resize-13 has no \w+='tf_half_pixel_for_nn', nor .+ with mode='nearest' and nearest_mode='(\w+_ceil|ceil)'",
    r"Resize-13 takes a region of interest over every axis alone",
    r"Upsample-1 scales height and width of four dims alone",
    r"Upsample-\d has no mode='\w+'",
    r"(RoiAlign|GridSample|Pad|DepthToSpace|SpaceToDepth)-\d+ has no \w+='\w+'",
    r"Scatter(Elements|ND)-\d+ has no reduction='\w+'",
    r"Slice-10 does not say that a negative step goes backwards",
    r"Slice-1 has no steps",
    r"Split-13 needs the size of axis -?\d+ of '[^']*', which is unknown",
    r"Split-18 has \d+ outputs and num_outputs=\d+; expected one number",
    r"Clip-[16] without (min|max) clips .+",
    r"Clip-6 has no min=.+ above max=.+, for which onnxruntime does not load it",
    r"output \d+ of (Dropout|MaxPool|BatchNormalization) \('[^']*'\) is another one in the other version",
    r"\w+ over no axes \(noop_with_empty_axes=1\) has no older form",
    r".+ as float32, which cannot hold .+",
    r".+ needs the rank of '[^']*', which is unknown",
    r"a function has a Cast, and ONNX infers no type from the name that it states before opset 6; .+",
    r"opset 10 has no negative \w+, and the rank of '[^']*' is unknown",
)
"""Reasons that the registry does not show: they are of the text of a version, by operator."""


def unknown(reason: str, model: ModelProto, place: str) -> str:
    """The part of a reason that is none of those known, or that the registry or the model refutes; ``""`` if none."""
    text = _HINT.sub("", re.sub(r"^[\w.]+: ", "", reason))
    return next((part for part in _BODY.split(text) if not _is_known(part, model, place)), "")


def invalid(reason: str) -> bool:
    """Whether a reason calls a node of bodies invalid for the type of an output, and ONNX's registry shows it."""
    found = re.fullmatch(r"\w+: the model is invalid: ((?:If|Loop|Scan)-\d+ takes no .+ as output \d+ .+)", reason)
    return found is not None and any(
        shown(*row.groups()) for text, shown in SHOWN.items() if (row := re.fullmatch(text, found[1]))
    )


def _is_known(part: str, model: ModelProto, place: str) -> bool:
    for text, shown in SHOWN.items():
        if found := re.fullmatch(text, part):
            return shown(*found.groups())
    if found := re.fullmatch(r"(\w+)-(\d+) and \1-(\d+) differ, and no rule is known for the step", part):
        return (found[1], *sorted((int(found[2]), int(found[3])))) in NO_RULE
    if found := re.fullmatch(r"[\w ]+ \('([^']*)'\) must be constant for this step, and it is computed or .+", part):
        # what a function is called with is known to its callers alone
        return place in ("function", "attributes") or found[1] not in set(_constants(model))
    if re.fullmatch(
        r"the value of attribute '\w+' is the function's attribute '\w+', which only its callers know", part
    ):
        return place == "attributes"
    if found := re.fullmatch(r"the type of (in|out)put '([^']*)' is unknown, and \w+-\d+ does not take .+", part):
        return found[2] in set(_foreign(model))
    return any(re.fullmatch(text, part) for text in KNOWN)


def _foreign(model: ModelProto) -> Iterator[str]:
    """The names of what nodes of other domains make: ONNX infers no types of onnxruntime's own operators."""
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while waiting:
        node = waiting.pop()
        yield from node.output if node.domain else ()
        waiting += [inner for a in node.attribute if a.type == AttributeProto.GRAPH for inner in a.g.node]


def _constants(model: ModelProto) -> Iterator[str]:
    """The names of stored values of a model's graph."""
    yield from (one.name for one in model.graph.initializer)
    yield from (name for node in model.graph.node if node.op_type == "Constant" for name in node.output)
