"""Models of drawn nodes, which stand in the graph, in a body, in a function, or read external data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from differential import valid_nodes
from differential.node_drafts import CONTRIB
from differential.valid_nodes import Built

PLACES = {"graph": 1, "if": 1, "loop": 1, "scan": 8, "map": 17, "function": 1, "attributes": 1, "external": 1}
"""Where nodes stand, and since which opset they can: ``map`` is the body of a SequenceMap."""
REPEATS = ("", "by condition", "by count", "state", "reversed", "axes")
"""What a Loop ends by; a state of a Scan, its directions and its axes."""


def operators(case: Any) -> set[str]:
    """The operators of a case, or of its fields."""
    fields = case if isinstance(case, dict) else vars(case)
    return {fields["op"], *(spec[0] for spec in fields.get("more", ()))}


def places(fields: dict[str, Any]) -> list[str]:
    """The places where drawn nodes may stand."""
    since = PLACES
    if any(op.startswith(("Sequence", "Optional", "SplitTo")) for op in operators(fields)):
        since = {"graph": 1, "if": 16, "function": 1, "external": 1}
    elif any(op.startswith(CONTRIB) for op in operators(fields)):  # ONNX infers no types of these, which bodies need
        since = {"graph": 1, "if": 1, "function": 1, "attributes": 1, "external": 1}
    return [one for one, opset in since.items() if fields["opset"] >= opset]


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


def stored(model: ModelProto, case: Any, folder: Path) -> Any:
    """The model, or its path where its tensors are to lie in a file beside it."""
    if case.place != "external":
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    path = folder / "model.onnx"
    onnx.save_model(copy, path, save_as_external_data=True, location="model.data", size_threshold=0)
    return str(path)
