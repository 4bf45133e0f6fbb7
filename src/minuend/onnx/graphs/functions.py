"""What nodes refer to outside their graph: opset imports, local functions, and attributes that callers fill in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, OperatorSetIdProto

from minuend.onnx.execution.evaluator import MAIN
from minuend.onnx.graphs.nesting import fill_in, graphs


def functions(model: ModelProto) -> Iterator[tuple[FunctionProto, str]]:
    """A model's local functions with their places: ``"function 'f'"``, or the longer name where two share that one."""
    names = Counter(function.name for function in model.functions)
    for function in model.functions:
        name = function.name
        if names[name] > 1:
            name = f"{function.domain}.{name}" + (f":{function.overload}" if function.overload else "")
        yield function, f"function {name!r}"


def read_opsets(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Return opset imports as a table, in which the main domain is ``""``."""
    return {"" if item.domain in MAIN else item.domain: item.version for item in imports}


def model_opsets(model: ModelProto) -> dict[str, int]:
    """Return a model's opsets; before IR version 3 a model without imports is at opset 1."""
    opsets = read_opsets(model.opset_import)
    return {"": 1} if not opsets and model.ir_version < 3 else opsets


def replace_references(
    nodes: Iterable[NodeProto], values: Mapping[str, AttributeProto], keep: Container[tuple[str, str, str]] = ()
) -> None:
    """Put a caller's attributes in the place of a function's references to them.

    Without a value a reference goes, but for those of ``keep``: calls, whose callees ask for it later.
    """
    for node in nodes:
        for _, body in graphs(node):
            replace_references(body.node, values, keep)
        asked = node.attribute if (node.domain, node.op_type, node.overload) in keep else ()
        fill_in(node, {**{a.ref_attr_name: a for a in asked if a.ref_attr_name}, **values})
