"""The first node that its own version does not allow, of operators that are not judged themselves.

No runtime has to load such a model, and onnxruntime loads none. Forms are read from ONNX's registry, types are held
against it, and shapes that cannot be are what strict inference names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from onnx import FunctionProto, NodeProto

from minuend.errors import listed
from minuend.onnx.graphs.scope import domain_of
from minuend.onnx.graphs.walk import Scope
from minuend.onnx.opsets import schemas

_EXPERIMENTAL = (
    "ATen Affine ConstantFill Crop DynamicSlice GRUUnit GivenTensorFill ImageScaler ParametricSoftplus Scale ScaledTanh"
)
"""Operators that ONNX once had for trial: no version has them, its checker lets them pass, and onnxruntime has some."""

_CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_NODE = re.compile(r"\(op_type:(?P<op>[^,)]*)(?:, node name: (?P<name>.*?))?\): (?:\[\w+\] )?")
_DECLARED = "Inferred shape and existing shape differ"
"""What runtimes warn of: a shape that is declared otherwise than it is inferred."""
_UNKNOWN = ("has unsupported type", "should all be tensors")
"""What is said of types that inference does not know, and this module does or nobody."""


def fault(scopes: Iterable[Scope], judged: Collection[str]) -> str:
    """Say which node of a model breaks a rule of its version, with its place; ``""`` where none does.

    Nodes of domains that are not ONNX's pass, and so do those of an opset that the installed ``onnx`` does not know.

    Args:
        scopes: all scopes of the model. judged: operators whose own nodes are left out.

    >>> from minuend.onnx.graphs.walk import walk
    >>> from minuend.onnx.model import read
    >>> model = read('<ir_version: 10, opset_import: ["" : 14]> g (float[2] a) => (float[2] c) { c = Relu(a, a) }')
    >>> fault(walk(model), ["Sub"])
    'graph.node[0]: Relu-14 has 1 input; the node has 2'
    """
    every = list(scopes)
    functions = [one.proto for one in every if isinstance(one.proto, FunctionProto)]
    passed = {("", name) for name in (*_EXPERIMENTAL.split(), *judged)}
    passed |= {(domain_of(function.domain), function.name) for function in functions}
    nodes = [
        (node, i, scope)
        for scope in every
        for i, node in enumerate(scope.nodes)
        if ((domain := domain_of(node.domain)), node.op_type) not in passed
        and schemas.knows(opset := scope.opsets.get(domain, 0), domain)
        and not (not domain and node.op_type in schemas.EARLY and schemas.version_in(node.op_type, opset) is None)
    ]
    for node, i, scope in nodes:
        if why := _broken(node, scope):
            return f"{scope.place(i)}: {why}"
    refused = {text for scope in every for text in scope.inferred().refused}
    return next(filter(None, (_impossible(text, nodes) for text in sorted(refused))), "")


def _broken(node: NodeProto, scope: Scope) -> str:
    """Say what is wrong with a node's form, or with the types of what it reads and makes."""
    domain = domain_of(node.domain)
    opset = scope.opsets[domain]
    if schemas.version_in(node.op_type, opset, domain) is None:
        return schemas.malformed(node, opset)
    return schemas.invalid(node, opset, scope.protos.get)


def _reads_known(node: NodeProto, scope: Scope) -> bool:
    """Whether the types of all that a node reads are known: inference may refuse it for what it does not know."""
    return all(schemas.type_text(scope.protos.get(name)) for name in node.input if name)


def _impossible(text: str, nodes: Sequence[tuple[NodeProto, int, Scope]]) -> str:
    """Return what strict inference says of the first node that it refuses, by operator and name; ``""`` if it is none.

    What it refuses after that may follow from the first. Of types more is known here, and a function is inferred by
    itself: what is said of its calls is left out.
    """
    line = next((one for one in text.splitlines() if _DECLARED not in one), "")
    named = list(_NODE.finditer(line))
    if not named or any(one["op"] not in _CONTROL for one in named[:-1]):
        return ""
    last, why = (named[-1]["op"], named[-1]["name"] or ""), line[named[-1].end() :].strip()
    found = [(node, i, scope) for node, i, scope in nodes if (node.op_type, node.name) == last]
    if any(text in why for text in _UNKNOWN) or not all(_reads_known(node, scope) for node, _, scope in found):
        return ""
    return f"{listed([scope.place(i) for _, i, scope in found], 'or')}: {last[0]}: {why}" if found else ""
