"""Measure which of ONNX's operators a runtime loads and runs, by ONNX's own node tests.

    python tools/measure_operators.py opencv-dnn [--only GRU …] [-v]

Each node test of one node is tried at its own opset, then at older ones, with inputs given and stored, with results as
outputs and read by another node. An operator is lacked where the runtime refuses every one of these models, and not
measured where no test of it has tensors alone, or where all are of a domain of previews. What is printed is ``LACKED``
of the runtime's file in ``src/minuend/runtimes/adapters/``.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.backend.test import loader
from truth import Feeds, ask

from minuend.core.elements import TYPES
from minuend.errors import LimitExceeded
from minuend.onnx.opsets.schemas import version_in
from minuend.runtimes.running import Refused, Runtime

OPSETS = (22, 19, 17, 14, 11, 9)
"""Opsets that are tried below a test's own: a runtime may lack an operator's newest version alone."""

DOMAINS = ("", "ai.onnx.ml")


def node_tests(only: frozenset[str] = frozenset()) -> Iterator[tuple[str, ModelProto, Feeds]]:
    """Yield the operator, the model and the inputs of ONNX's node tests of one node, tensors alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of ONNX's own tests overflow on purpose
        tests = loader.load_model_tests(kind="node")
    for test in tests:
        nodes = test.model.graph.node
        if (
            len(nodes) != 1
            or nodes[0].domain not in DOMAINS
            or (only and _name(nodes[0]) not in only)
            or not _of_tensors(test.model)
        ):
            continue
        given, _ = test.data_sets[0]
        feeds = {one.name: np.asarray(array) for one, array in zip(test.model.graph.input, given, strict=True)}
        if all(array.dtype == bool or array.dtype.name in TYPES for array in feeds.values()):
            yield _name(nodes[0]), test.model, feeds


def _name(node: NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _of_tensors(model: ModelProto) -> bool:
    return all(one.type.HasField("tensor_type") for one in (*model.graph.input, *model.graph.output))


def forms(model: ModelProto, feeds: Feeds) -> Iterator[tuple[ModelProto, Feeds]]:
    """Yield a test at its opset and at older ones, in each form that a runtime may need.

    All inputs are given, or the first alone, or none; and each result is an output, or another node reads it: a runtime
    may need constants, or give no integers of its own out.
    """
    node = model.graph.node[0]
    opset = max(one.version for one in model.opset_import if one.domain == node.domain)
    for older in (opset, *(one for one in OPSETS if one < opset and not node.domain)):
        if version_in(node.op_type, older, node.domain) is None:
            continue
        moved = ModelProto()
        moved.CopyFrom(model)
        if older != opset:
            del moved.opset_import[:]
            moved.opset_import.append(helper.make_opsetid("", older))
            moved.ir_version = min(model.ir_version, 8)
            if not _is_valid(moved):
                continue
        given = [(moved, feeds), *(_stored(moved, feeds, kept) for kept in (1, 0) if kept < len(feeds))]
        yield from given
        for one, fed_ in given:
            yield _read_on(one), fed_


def _is_valid(model: ModelProto) -> bool:
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def _stored(model: ModelProto, feeds: Feeds, kept: int) -> tuple[ModelProto, Feeds]:
    """Store all inputs but the first ones; where none is kept, the model has an input and an output besides."""
    stored = ModelProto()
    stored.CopyFrom(model)
    names = [one.name for one in stored.graph.input]
    del stored.graph.input[kept:]
    stored.graph.initializer.extend(numpy_helper.from_array(feeds[name], name) for name in names[kept:])
    if kept:
        return stored, {name: feeds[name] for name in names[:kept]}
    beside = helper.make_tensor_value_info("beside", TensorProto.FLOAT, [2])
    stored.graph.input.append(beside)
    stored.graph.output.append(helper.make_tensor_value_info("beside_out", TensorProto.FLOAT, [2]))
    stored.graph.node.append(helper.make_node("Neg", ["beside"], ["beside_out"]))
    if not any(one.domain == "" for one in stored.opset_import):
        stored.opset_import.append(helper.make_opsetid("", 17))
    return stored, {"beside": np.ones(2, np.float32)}


def _read_on(model: ModelProto) -> ModelProto:
    """Let a node read each result: a Neg of a float, a Cast to one of anything else."""
    read = ModelProto()
    read.CopyFrom(model)
    for one in read.graph.output:
        kind, name = one.type.tensor_type.elem_type, one.name
        one.name = f"{name}_read"
        if kind == TensorProto.FLOAT:
            read.graph.node.append(helper.make_node("Neg", [name], [one.name]))
        else:
            read.graph.node.append(helper.make_node("Cast", [name], [one.name], to=TensorProto.FLOAT))
            one.type.tensor_type.elem_type = TensorProto.FLOAT
    if not any(one.domain == "" for one in read.opset_import):
        read.opset_import.append(helper.make_opsetid("", 17))
    return read


def refusal(runtime: Runtime, model: ModelProto, feeds: Feeds) -> str:
    """Return what a runtime says against a test in each form, the first message; ``""`` where one form runs."""
    said = ""
    for form, given in forms(model, feeds):
        try:
            answer = ask(runtime, form, given, "")
        except LimitExceeded as error:
            said = said or str(error)
            continue
        if not isinstance(answer, Refused):
            return ""
        said = said or answer.message
    return said or "it was given nothing"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime")
    parser.add_argument("--only", nargs="*", default=(), help="these operators alone")
    parser.add_argument("--python", help="the Python whose release is queried; by default this one")
    parser.add_argument("--most", type=int, default=100, help="of each operator, so many tests at most are refused")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the first message about each operator")
    given = parser.parse_args()
    refused: dict[str, list[str]] = defaultdict(list)
    ran: set[str] = set()
    with Runtime(given.runtime, given.python) as runtime:
        for operator, model, feeds in node_tests(frozenset(given.only)):
            if operator in ran or len(refused[operator]) == given.most:
                continue
            if said := refusal(runtime, model, feeds):
                refused[operator].append(said)
            else:
                ran.add(operator)
        print(f"{runtime.name} {runtime.release}: {len(ran)} operators run")
    lacked = sorted({name for name, said in refused.items() if said} - ran)
    if given.verbose:
        for operator in lacked:
            print(f"  {operator} ({len(refused[operator])}): {refused[operator][0].splitlines()[0][:120]}")
    print(f"LACKED = frozenset({lacked!r})")


if __name__ == "__main__":
    main()
