"""Valid models to every other opset: refused with a reason, or accepted by the checker and equal on onnxruntime."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx.inliner
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from differential import onnx_worker, valid_nodes
from differential.conversion_refusals import invalid, unknown
from differential.node_drafts import CONTRIB, CONTROL, schema_of
from differential.onnx_worker import Bits, Failed
from differential.surface import Difference, Surface
from differential.valid_nodes import Built

if TYPE_CHECKING:
    from minuend.errors import ConversionRefused

PLACES = {"graph": 1, "if": 1, "loop": 1, "scan": 8, "map": 17, "function": 1, "attributes": 1, "external": 1}
"""Where nodes stand, and since which opset they can: ``map`` is the body of a SequenceMap."""
REPEATS = ("", "by condition", "by count", "state", "reversed", "axes")
"""What a Loop ends by; a state of a Scan, its directions and its axes."""


@dataclass(frozen=True)
class Case(valid_nodes.Nodes):
    """A model of some nodes, and the opset that it goes to."""

    to: int = 18


def draw(source: random.Random) -> Case:
    """Draw a case."""
    fields = valid_nodes.draw(source)
    if source.random() < 0.2:
        fields["more"] = (*fields.get("more", ()), *valid_nodes.more(source, fields["opset"]))
    return Case(
        **fields,
        constants=source.choice(["none", "initializer", "initializer", "node", "all"]),
        dims=source.choice(["static", "static", "named"]),
        place=source.choice(["graph", "graph", "graph", *places(fields)]),
        repeat=source.choice(REPEATS),
        linked=source.random() < 0.5,
        to=source.randint(1, onnx.defs.onnx_opset_version()),
        seed=source.randrange(1000),
    )


def places(fields: dict[str, Any]) -> list[str]:
    """The places where drawn nodes may stand."""
    since = PLACES
    if any(op.startswith(("Sequence", "Optional", "SplitTo")) for op in operators(fields)):
        since = {"graph": 1, "if": 16, "function": 1, "external": 1}
    elif any(op.startswith(CONTRIB) for op in operators(fields)):  # ONNX infers no types of these, which bodies need
        since = {"graph": 1, "if": 1, "function": 1, "attributes": 1, "external": 1}
    return [one for one, opset in since.items() if fields["opset"] >= opset]


# ---- models -------------------------------------------------------------------------------------------------------


def model_of(case: Any, built: Built) -> ModelProto:
    """The model of a case; outputs have no types yet."""
    nodes, outputs = built.nodes, built.made
    given = valid_nodes.types(built, case.dims)
    functions = []
    imports = built.imports()
    if case.place == "if":
        nodes, outputs = _branches(built)
        given["chosen"] = helper.make_tensor_type_proto(TensorProto.BOOL, [])
        built.feeds["chosen"] = np.array(True)
    elif case.place in _REPEATING:
        nodes, outputs = _REPEATING[case.place](built, case.repeat)
    elif case.place in ("function", "attributes"):
        names = [*given, *built.stored]
        nodes, stated = _referring(nodes) if case.place == "attributes" else (nodes, [])
        functions = [helper.make_function("local", "f", names, outputs, nodes, imports, [a.name for a in stated])]
        nodes = [helper.make_node("f", names, outputs, domain="local")]
        nodes[0].attribute.extend(stated)
        imports = [*imports, helper.make_opsetid("local", 1)]
    graph = GraphProto(name="g", node=nodes, output=[ValueInfoProto(name=name) for name in outputs])
    graph.input.extend(ValueInfoProto(name=name, type=type_) for name, type_ in given.items())
    graph.initializer.extend(valid_nodes.tensor(*row) for row in built.stored.items())
    return ModelProto(
        ir_version=valid_nodes.ir_version(case.opset), opset_import=imports, graph=graph, functions=functions
    )


def _referring(nodes: list[NodeProto]) -> tuple[list[NodeProto], list[AttributeProto]]:
    """The nodes with attributes that are a function's, and what a call states for these."""
    found, stated = [], []
    for i, node in enumerate(nodes):
        copy = NodeProto()
        copy.CopyFrom(node)
        for a in copy.attribute:
            if a.type not in (AttributeProto.TENSOR, AttributeProto.GRAPH):
                given = AttributeProto()
                given.CopyFrom(a)
                given.name = f"{a.name}_{i}"
                stated.append(given)
                a.CopyFrom(AttributeProto(name=a.name, type=a.type, ref_attr_name=given.name))
        found.append(copy)
    return found, stated


def _renamed(nodes: list[NodeProto], end: str) -> list[NodeProto]:
    made = {name for node in nodes for name in node.output}
    found = []
    for node in nodes:
        copy = NodeProto()
        copy.CopyFrom(node)
        for names in (copy.input, copy.output):
            for i, name in enumerate(names):
                if name and name in made:
                    names[i] = name + end
        found.append(copy)
    return found


def _branches(built: Built) -> tuple[list[NodeProto], list[str]]:
    bodies = [
        GraphProto(
            name=f"branch{end}",
            node=_renamed(built.nodes, end),
            output=[ValueInfoProto(name=n + end) for n in built.made],
        )
        for end in ("_t", "_e")
    ]
    outputs = [f"{name}_out" for name in built.made]
    return [helper.make_node("If", ["chosen"], outputs, then_branch=bodies[0], else_branch=bodies[1])], outputs


def _looped(built: Built, repeat: str) -> tuple[list[NodeProto], list[str]]:
    """The nodes in the body of a Loop of two turns; each output becomes one dim longer."""
    outputs = [f"{name}_out" for name in built.made]
    made = [ValueInfoProto(name=name) for name in built.made]
    inputs = [helper.make_tensor_value_info("turn", TensorProto.INT64, []),
              helper.make_tensor_value_info("going", TensorProto.BOOL, []),
              helper.make_tensor_value_info("state", TensorProto.FLOAT, [])]  # fmt: skip
    same = [helper.make_node("Identity", ["going"], ["goes_on"]), helper.make_node("Identity", ["state"], ["next"])]
    given = ["turns", "begin", "zero"]
    built.stored |= {"turns": np.array(2, np.int64), "begin": np.array(True), "zero": np.array(0, np.float32)}
    if repeat == "by condition":
        built.stored |= {"one": np.array(1, np.float32), "most": np.array(2, np.float32)}
        same = [helper.make_node("Add", ["state", "one"], ["next"]),
                helper.make_node("Less", ["next", "most"], ["goes_on"])]  # fmt: skip
        given[0] = ""
    elif repeat == "by count":
        given[1] = ""
    ends = [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, []), *made]  # fmt: skip
    body = GraphProto(name="turn", node=[*built.nodes, *same], input=inputs, output=ends)
    return [helper.make_node("Loop", given, ["last", *outputs], body=body)], ["last", *outputs]


def _scanned(built: Built, repeat: str) -> tuple[list[NodeProto], list[str]]:
    """The nodes in the body of a Scan of two turns; each output becomes one dim longer, or two with batches."""
    outputs = [f"{name}_out" for name in built.made]
    made = [ValueInfoProto(name=name) for name in built.made]
    element = helper.make_tensor_value_info("element", TensorProto.FLOAT, [])
    body = GraphProto(name="turn", node=built.nodes, input=[element], output=made)
    batched = built.opset < 9
    built.stored["elements"] = np.array([[1, 2]] if batched else [1, 2], np.float32)
    given = ["elements"]
    more: dict[str, Any] = {}
    if repeat == "state":
        built.stored["zero"] = np.array([0] if batched else 0, np.float32)
        body.node.append(helper.make_node("Add", ["state", "element"], ["next"]))
        body.input.insert(0, helper.make_tensor_value_info("state", TensorProto.FLOAT, []))
        body.output.insert(0, helper.make_tensor_value_info("next", TensorProto.FLOAT, []))
        given, outputs = ["zero", "elements"], ["last", *outputs]
    elif repeat == "reversed":
        more = {"scan_input_directions": [1], "scan_output_directions": [1] * len(outputs)}
        more = {"directions": [1]} if batched else more
    elif repeat == "axes" and not batched:
        more = {"scan_input_axes": [0], "scan_output_axes": [0] * len(outputs)}
    if batched:  # the lengths of the sequences, which may be left out
        given = ["", *given]
    return [helper.make_node("Scan", given, outputs, body=body, num_scan_inputs=1, **more)], outputs


def _mapped(built: Built, repeat: str) -> tuple[list[NodeProto], list[str]]:
    """The nodes in the body of a SequenceMap over two elements; each output becomes a sequence."""
    outputs = [f"{name}_out" for name in (*built.made, "same")]
    made = [ValueInfoProto(name=name) for name in (*built.made, "same")]
    element = helper.make_tensor_value_info("element", TensorProto.FLOAT, [])
    nodes = [*built.nodes, helper.make_node("Identity", ["element"], ["same"])]
    body = GraphProto(name="turn", node=nodes, input=[element], output=made)
    built.stored |= {"one": np.array(1, np.float32), "two": np.array(2, np.float32)}
    return [helper.make_node("SequenceConstruct", ["one", "two"], ["elements"]),
            helper.make_node("SequenceMap", ["elements"], outputs, body=body)], outputs  # fmt: skip


_REPEATING = {"loop": _looped, "scan": _scanned, "map": _mapped}


def typed(model: ModelProto, feeds: dict[str, Any]) -> ModelProto:
    """The model with the types of its outputs: those of inference, else those of what onnxruntime computes.

    Raises:
        Failed: there is an output whose type does not follow.
    """
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    if any(dim.dim_value < 0 for one in inferred.graph.output for dim in one.type.tensor_type.shape.dim):
        raise Failed("inference gives a size below 0")
    if all(map(_is_known, inferred.graph.output)):
        return inferred
    data = model.SerializeToString()
    try:
        came = _computed(data, feeds)
    except Failed:
        if model.opset_import[0].version >= EVALUATED:
            raise
        for value in inferred.graph.output:
            if not _is_known(value):
                value.type.CopyFrom(_by_schema(model, value.name))
        return inferred
    for value, array in zip(inferred.graph.output, came, strict=True):
        if not _is_known(value):
            value.type.CopyFrom(_type_of(array, value.type.tensor_type.elem_type))
    return inferred


def _computed(data: bytes, feeds: dict[str, Any]) -> list[Any]:
    """What onnxruntime computes, or ONNX's evaluator where it lacks a kernel.

    Raises:
        Failed: neither does; or a Loop gives what the evaluator joins along the first axis, and ONNX along a new one.
    """
    try:
        return onnx_worker.run(data, feeds)
    except Failed as error:
        if not any(word in str(error) for word in ABSENT):
            raise
        if any(node.op_type == "Loop" for node in ModelProto.FromString(data).graph.node):
            raise
        return onnx_worker.evaluate(data, feeds)


EVALUATED = 7
"""The first opset of which onnxruntime or ONNX's evaluator computes nearly all operators."""
RESHAPING = CONTROL | {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "ReduceMax", "ReduceMin", "ReduceSum"}
"""Operators whose output has another rank than their first input, or may have."""
_RANKS = {"RNN": (4, 3), "GRU": (4, 3), "LSTM": (4, 3, 3)}
"""The ranks of outputs, where they are not that of the first input."""


def _by_schema(model: ModelProto, name: str) -> TypeProto:
    """The type of a node's output that its schema gives: the rank is that of the first input.

    Raises:
        Failed: no node of the main graph or of the function makes it, or its type does not follow.
    """
    known = {value.name: value.type for value in model.graph.input}
    known |= {t.name: helper.make_tensor_type_proto(t.data_type, list(t.dims)) for t in model.graph.initializer}
    nodes = [one for holder in (*model.functions, model.graph) for one in holder.node if not one.domain]
    return _made(name, nodes, known, model.opset_import[0].version)


def _made(name: str, nodes: list[NodeProto], known: dict[str, TypeProto], opset: int) -> TypeProto:
    """The type of what one of some nodes makes of values of known types."""
    node = next((one for one in nodes if name in one.output), None)
    at = -1 if node is None else list(node.output).index(name)
    if node is not None and node.op_type == "Loop":
        return _of_loop(node, at, known, opset)
    if node is None or node.domain or not node.input or node.input[0] not in known or node.op_type in RESHAPING:
        raise Failed("the type of an output does not follow")
    schema = schema_of(node.op_type, opset)
    formal = schema.outputs[min(at, len(schema.outputs) - 1)]
    stated = {a.name: a.s.decode() for a in node.attribute if a.name == "to"}
    number = valid_nodes.NUMBERS.get(stated.get("to", "").lower(), TensorProto.UNDEFINED)
    for row, given in zip(schema.inputs, node.input, strict=False):
        if row.type_str == formal.type_str and given in known and not number:
            number = known[given].tensor_type.elem_type
    if not number:
        raise Failed("the type of an output does not follow")
    own = len(known[node.input[0]].tensor_type.shape.dim)
    return helper.make_tensor_type_proto(number, [None] * (_RANKS[node.op_type][at] if node.op_type in _RANKS else own))


def _of_loop(node: NodeProto, at: int, known: dict[str, TypeProto], opset: int) -> TypeProto:
    """The type of a Loop's output: a state's, or that of each turn's output with one more axis."""
    (body,) = (a.g for a in node.attribute if a.name == "body")
    value, is_state = body.output[1 + at], at < len(node.input) - 2
    inner = known | {one.name: one.type for one in body.input}
    own = value.type if _is_known(value) else _made(value.name, list(body.node), inner, opset)
    if is_state:
        return own
    rank = len(own.tensor_type.shape.dim)
    return helper.make_tensor_type_proto(own.tensor_type.elem_type, [None] * (rank + 1))


def _type_of(value: Any, known: int) -> TypeProto:
    """The type of what came out, of an element type that may be known."""
    if isinstance(value, list) and value:
        return helper.make_sequence_type_proto(_type_of(value[0], known))
    if isinstance(value, dict) and value:
        return valid_nodes.map_type(value)
    if isinstance(value, Bits):
        number = valid_nodes.NUMBERS.get(value.element, TensorProto.UNDEFINED)
        return helper.make_tensor_type_proto(known or number, [None] * len(value.shape))
    if not isinstance(value, np.ndarray):
        raise Failed("the type of an output does not follow")
    number = TensorProto.STRING if value.dtype.kind in "OUT" else helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_type_proto(known or number, [None] * value.ndim)


def _is_known(value: ValueInfoProto) -> bool:
    kind = value.type.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or value.type.tensor_type.HasField("shape"))


INVALID = (Failed, RuntimeError, ValueError, TypeError, OverflowError, onnx.checker.ValidationError,
           onnx.shape_inference.InferenceError)  # fmt: skip
"""What is raised over a draft that is no valid node."""


def stored(model: ModelProto, case: Any, folder: Path) -> Any:
    """The model, or its path where its tensors are to lie in a file beside it."""
    if case.place != "external":
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    path = folder / "model.onnx"
    onnx.save_model(copy, path, save_as_external_data=True, location="model.data", size_threshold=0)
    return str(path)


# ---- comparing ----------------------------------------------------------------------------------------------------


def fault(model: ModelProto) -> str:
    """What ONNX's full check finds wrong."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        return " ".join(str(error).split())[:300]
    return ""


def words(results: list[Any]) -> str:
    """Results for people."""
    return str([one if isinstance(one, Bits) else np.asarray(one).tolist() if not isinstance(one, list) else one
                for one in results])[:300]  # fmt: skip


def same(x: Any, y: Any) -> bool:
    """Whether two results are the same bit for bit; a NaN equals a NaN."""
    if isinstance(x, list) or isinstance(y, list):
        return isinstance(x, list) and isinstance(y, list) and len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, dict) or isinstance(y, dict):
        return type(x) is type(y) and x.keys() == y.keys() and all(same(x[key], y[key]) for key in x)
    if any(one is None or isinstance(one, Bits) for one in (x, y)):
        return type(x) is type(y) and bool(x == y)
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind in "OUT":
        return bool((x == y).all())
    if x.dtype.kind == "f":
        nan = np.isnan(x) & np.isnan(y)
        code = f"u{x.dtype.itemsize}"
        one, other = (np.ascontiguousarray(array).reshape(-1).view(code) for array in (x, y))
        return bool((nan.reshape(-1) | (one == other)).all())
    return bool(x.tobytes() == y.tobytes())


def bits(value: Any) -> Any:
    """An array of a type that NumPy lacks in the form in which onnxruntime hands it out."""
    if not isinstance(value, np.ndarray):
        return value
    name = TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(value.dtype)).lower()
    return Bits(name, value.shape, bytes(onnx.numpy_helper.from_array(value).raw_data))


def near(x: Any, y: Any) -> bool:
    """Whether two results are equal within the rounding of their type."""
    if same(x, y):
        return True
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(near, x, y))
    if isinstance(x, Bits) and isinstance(y, Bits):
        return _adjacent(x, y)
    if any(one is None or isinstance(one, list | dict | Bits) for one in (x, y)):
        return False
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape or x.dtype.kind not in "fciu":
        return False
    if x.dtype.kind in "iu":  # the logarithm of integers, which is cut off at the end, or in between
        return bool((_distance(x, y) <= 1).all())
    digits = {2: 4e-3, 4: 3e-5}.get(x.dtype.itemsize, 1e-6)  # normalisation goes through float32 in double as well
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return bool(np.allclose(x.astype(wide), y.astype(wide), digits, digits * 10, equal_nan=True))


def _distance(x: Any, y: Any) -> Any:
    """How far integers of one type are from each other: without sign, since the type itself may be too narrow."""
    high, low = (each(np.atleast_1d(x), y).astype(f"u{x.dtype.itemsize}") for each in (np.maximum, np.minimum))
    return high - low


def _adjacent(x: Bits, y: Bits) -> bool:
    """Whether floats of 8 bits are the same, or next to each other: their codes of one sign are in order."""
    if (x.element, x.shape) != (y.element, y.shape) or not x.element.startswith("float8"):
        return False
    codes = [np.frombuffer(one.data, np.uint8) for one in (x, y)]
    signs, sizes = [one >> 7 for one in codes], [(one & 127).astype(int) for one in codes]
    return bool(((signs[0] == signs[1]) & (abs(sizes[0] - sizes[1]) <= 1)).all())


def lowest(value: Any) -> Any:
    """A result with -inf for its type's lowest number."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return np.where(value == np.finfo(value.dtype).min, value.dtype.type(-np.inf), value)


def clamped(x: Any, y: Any) -> bool:
    """Whether two results are equal but where the first is its type's largest number, or within float64's rounding.

    A root that is cut off may differ by one.
    """
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.dtype.kind in "iu"):
        return near(x, y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    close = np.isclose(x.astype(np.float64), y.astype(np.float64), 1e-15, 1)
    return bool(((x == np.iinfo(x.dtype).max) | close).all())


def is_random(model: ModelProto) -> bool:
    """Whether a node draws numbers: one that does always, or a Dropout that may train and states no seed."""
    return any(
        node.op_type in valid_nodes.RANDOM
        or (node.op_type == "Dropout" and len(node.input) > 2 and all(a.name != "seed" for a in node.attribute))
        or _writes_nothing(node)
        for node in every_node(model)
    )


def _writes_nothing(node: NodeProto) -> bool:
    """Whether onnxruntime leaves the result of a Cast as it lies in memory, or of a call that states what a Cast reads.

    That is so where saturate is neither 0 nor 1 and the type no 8-bit float.
    """
    stated = {a.name.partition("_")[0]: a.i for a in node.attribute if not a.ref_attr_name}
    narrow = TensorProto.DataType.Name(stated.get("to", TensorProto.FLOAT)).startswith("FLOAT8")
    return node.op_type in ("Cast", "CastLike", "f") and stated.get("saturate", 1) not in (0, 1) and not narrow


def every_node(model: ModelProto) -> Iterator[NodeProto]:
    """Return all nodes of a model, those of functions and bodies too."""
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [inner for a in node.attribute if a.type == AttributeProto.GRAPH for inner in a.g.node]


MOVING = frozenset({"Constant", "Flatten", "Gather", "Identity", "Loop", "Reshape", "SequenceAt", "SequenceEmpty",
                    "SequenceInsert", "SequenceLength", "SequenceMap", "Shape", "Squeeze", "Transpose",
                    "Unsqueeze"})  # fmt: skip
"""Operators that round nothing: they pass elements on, count them, or repeat what is in their bodies."""


def _nodes(model: ModelProto) -> list[str]:
    """The operators of a model that may round, in any order: where all stay, runtimes may have other kernels."""
    return sorted(node.op_type for node in every_node(model) if node.op_type not in MOVING)


def fits(case: Any) -> bool:
    """Whether each window of a pool lies within its input; neither the checker nor onnxruntime looks at that."""
    for op, inputs, attributes, _ in ((case.op, case.inputs, case.attributes, 1), *case.more):
        stated = dict(attributes)
        if op.endswith("Pool") and "kernel_shape" in stated and inputs and not case.test:
            sizes = inputs[0][1][1:-1] if "Nhwc" in op else inputs[0][1][2:]
            dilations = stated.get("dilations", (1,) * len(sizes))
            if any((k - 1) * d >= n for k, d, n in zip(stated["kernel_shape"], dilations, sizes, strict=True)):
                return False
    return not (case.test and case.op.endswith("Pool") and set(case.without) & {"pads", "ceil_mode"})


def excluded(built: Built) -> str:
    """A negative axis where the version's text excludes it; ONNX's check lets it pass, and infers another rank."""
    for node in built.nodes:
        rows = {} if node.domain else schema_of(node.op_type, built.opset).attributes
        for a in node.attribute:
            if a.name in rows and "of non-negative" in rows[a.name].description and min(a.ints, default=0) < 0:
                return f"{node.op_type} takes no negative axis"
    return ""


def operators(case: Any) -> set[str]:
    """The operators of a case, or of its fields."""
    fields = case if isinstance(case, dict) else vars(case)
    return {fields["op"], *(spec[0] for spec in fields.get("more", ()))}


def compare(case: Case, folder: Path) -> str:
    """Convert the model of a case and compare."""
    import minuend as mn
    from minuend.errors import ConversionRefused

    if case.to == case.opset:
        return "the same opset"
    if not fits(case):
        return "not valid: a window does not fit"
    try:
        built = valid_nodes.build(case)
        model = typed(model_of(case, built), built.feeds)
    except INVALID as error:
        return f"not valid: {error}"
    if wrong := excluded(built) or fault(model):
        return f"not valid: {wrong}"
    data = model.SerializeToString()
    try:
        expected = onnx_worker.run(data, built.feeds)
    except Failed as error:
        expected = None
        if not any(word in str(error) for word in ABSENT):
            return f"not valid there: {error}"
    try:
        made = mn.convert(stored(model, case, folder), f"onnx:{case.to}")
    except ConversionRefused as error:
        return _refused(case, model, built, expected, error)
    result = made.model
    if case.place == "external":
        made.save(folder / "result.onnx")
        result = onnx.load(folder / "result.onnx")
    return _converted(case, built, model, result, expected, made.losses)


def _converted(
    case: Case, built: Built, model: ModelProto, result: ModelProto, expected: list[Any] | None, losses: list[str]
) -> str:
    """Whether a converted model is valid, and computes what the one before computes."""
    if wrong := fault(result):
        raise Difference(f"ours is not accepted: {wrong}")
    if expected is None:
        return "converted, not run before"
    if is_random(model):
        return "converted, random"
    try:
        came = _ran(result, built.feeds)
    except Failed as error:
        return failed(str(error), result)
    if all(map(same, expected, came)):
        return "equal"
    if all(map(near, expected, came)) and losses:
        return "within rounding, and a loss says so"
    if any("-inf where a mask excludes" in loss for loss in losses) and all(map(near, map(lowest, expected), came)):
        return "-inf where onnxruntime's Attention has the lowest number, and a loss says so"
    if all(map(near, expected, came)) and _nodes(result) == _nodes(model):
        return "within rounding, by another kernel of onnxruntime"
    if any("clamps them" in loss for loss in losses) and all(map(clamped, expected, came)):
        return "integers that do not fit, which onnxruntime clamps, and a loss says so"
    raise Difference(f"before {words(expected)}, after {words(came)}, losses {losses}")


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


ABSENT = ("NOT_IMPLEMENTED", "is under development", "ORT only *guarantees* support", "InsertedPrecisionFreeCast",
           "is not currently registered or supported", "type inference failed, inferred types",
           "is not a registered function/op")  # fmt: skip
"""What onnxruntime says of operators, types and opsets that it lacks; below opset 6 it makes Casts that are none."""


NOT_RUN = {
    "Subgraph must have the shape set for all outputs": "it infers no shapes in the body of a Scan",
    "inconsistent total_sequence_length (between attn_mask": "its Attention-24 does not pad a mask that is too short",
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
    "Resize-10 does not say",
    "since runtimes and ONNX's text take others differently",
    "expected an even number, for pairs",
    "the scales ('",
    "has no coordinate_transformation_mode='tf_half_pixel_for_nn'",
    "has no coordinate_transformation_mode='half_pixel_symmetric'",
)
"""Resize-10 where it shrinks, or may; flags that are neither 0 nor 1; odd pairs; a mode that the other version has not,
which onnx's converter leaves standing."""


TYPED = 6
"""The first opset of which ONNX infers a type for nearly every operator."""
UNTYPED = "(op_type:Identity): [TypeInferenceError] Input 0 expected to have type but instead is null"
"""What ONNX's check says of an Identity behind an operator whose type it does not infer."""


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
    if "the model is invalid" in why:
        raise Difference(f"refused as invalid, and the checker and onnxruntime accept it: {why}")
    try:
        theirs = ModelProto.FromString(onnx_worker.version_convert(model.SerializeToString(), case.to))
    except Failed:
        theirs = None
    if theirs is not None and why.startswith(CHECKER) and fault(theirs) == why.removeprefix(CHECKER):
        return "refused, and their result has the same fault, which ONNX's check finds in the other opset alone"
    if case.to < TYPED and why.endswith(UNTYPED):
        return "refused, since ONNX infers too few types below opset 6 for its check of Identity"
    if part := next((part for one in error.nodes.values() if (part := unknown(one, model, case.place))), ""):
        raise Difference(f"refused for an unknown reason: {part}")
    if theirs is None:
        return "both refuse"
    if reason := _wanting(theirs, model, built, expected):
        return f"refused, and their result {reason}"
    if any(text in why for text in SILENT):
        return "refused, where an old version does not say what it computes"
    if case.dims == "named" and any(text in why for text in UNPROVEN):
        return "refused, where no name says that dims are equal, and their converter does not look at them"
    raise Difference(f"refused, and onnx's converter makes a model of the same results: {why}")


def _wanting(theirs: ModelProto, model: ModelProto, built: Built, expected: list[Any] | None) -> str:
    """What is wrong with the model that onnx's converter makes; ``""`` where it has the same results."""
    if _nodes(theirs).count("Cast") > _nodes(model).count("Cast"):
        return "casts to another type and back"
    if fault(theirs) or expected is None:
        return "is invalid"
    try:
        came = onnx_worker.run(theirs.SerializeToString(), built.feeds)
    except Failed:
        return "does not run"
    return "" if all(map(same, expected, came)) else "differs"


SURFACES = (Surface("convert", "models to other opsets", ("onnx", "onnxruntime"), draw, compare, Case),)
