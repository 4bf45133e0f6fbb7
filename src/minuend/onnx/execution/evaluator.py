"""Run whole ONNX models, with every ``Sub`` computed by this package.

ONNX's own reference evaluator runs all other operators. It makes an evaluator of its own class for each If, Loop
and Scan body and each function, so a subclass that decides what a Sub node becomes decides it everywhere. An
operator that ONNX computes in NumPy as a whole (Softmax) is no Sub node and stays ONNX's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import onnx
from onnx import FunctionProto, ModelProto, NodeProto, OperatorSetIdProto
from onnx.helper import get_attribute_value
from onnx.model_container import ModelContainer
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun, RefAttrName

from minuend.errors import MinuendError, SpecError, Unsupported
from minuend.onnx import operator
from minuend.onnx.graphs.call_counts import called
from minuend.onnx.graphs.nesting import place as place_of
from minuend.onnx.graphs.scope import MAIN
from minuend.onnx.versions import DIALECT


class Evaluator(ReferenceEvaluator):
    """Run an ONNX model; its Sub nodes follow the opset that their own graph or function imports.

    Beyond ONNX's evaluator, local functions may be listed in any order, their attributes may have defaults, the main
    domain may be written ``ai.onnx``, and a model of IR version 1 or 2 may leave its opset out (it is 1).

    Args:
        proto: a ``ModelProto``, ``GraphProto``, ``FunctionProto``, ``NodeProto``, a path or bytes.
        options: those of :class:`onnx.reference.ReferenceEvaluator`.

    Raises:
        SpecError: a domain imported twice, or functions that call each other in a circle.
        Unsupported: a local function with overloads.

    >>> import numpy as np
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 10, opset_import: ["" : 14]>
    ...     agraph (uint8[3] a, uint8[3] b) => (uint8[3] c) { c = Sub(a, b) }''')
    >>> Evaluator(model).run(None, {"a": np.uint8([1, 2, 3]), "b": np.uint8([3, 2, 1])})
    [array([254,   0,   2], dtype=uint8)]
    """

    def __init__(self, proto: Any, *args: Any, **options: Any) -> None:
        if isinstance(proto, str | os.PathLike):
            proto = onnx.load(proto)
        elif isinstance(proto, bytes):
            proto = onnx.load_from_string(proto)
        if isinstance(proto, ModelProto):
            proto = _callees_first(proto)
        elif isinstance(proto, ModelContainer):
            proto.model_proto = _callees_first(proto.model_proto)
        self._defaults: dict[str, Any] = {}
        if isinstance(proto, FunctionProto):
            _check_imports(proto.opset_import, f"function {proto.name!r}")
            self._defaults = {a.name: get_attribute_value(a) for a in proto.attribute_proto}
        super().__init__(proto, *args, **options)
        self._place(f"function {proto.name!r}" if isinstance(proto, FunctionProto) else "graph")

    @property
    def opsets(self) -> dict[str, int]:
        """The opset that each domain is imported at, the main domain under both of its names."""
        opsets = dict(self.opsets_)
        if isinstance(self.proto_, ModelProto) and not opsets and self.proto_.ir_version < 3:
            opsets[""] = 1
        main = next((opsets[domain] for domain in MAIN if domain in opsets), None)
        return opsets if main is None else {**opsets, **dict.fromkeys(MAIN, main)}

    def run(
        self,
        output_names: Any,
        feed_inputs: dict[str, Any],
        attributes: dict[str, Any] | None = None,
        *args: Any,
        **options: Any,
    ) -> Any:
        """Run the model; see :meth:`onnx.reference.ReferenceEvaluator.run`.

        Raises:
            SpecError: a Sub node breaks a rule of its version; ``.where`` names the node.
        """
        if isinstance(self.proto_, FunctionProto):
            attributes = {**self._defaults, **(attributes or {})}
        try:
            return super().run(output_names, feed_inputs, attributes, *args, **options)
        except TypeError as error:  # OpRun wraps every TypeError, this package's DTypeError among them
            if isinstance(error.__cause__, MinuendError):
                raise error.__cause__ from None
            raise

    def _load_impl(self, node: NodeProto, input_types: Any = None) -> Any:
        if node.domain not in MAIN:
            return super()._load_impl(node, input_types)
        if node.op_type == "Sub":
            return SubNode
        if node.domain:
            plain = NodeProto()
            plain.CopyFrom(node)
            plain.domain = ""
            node = plain
        return super()._load_impl(node, input_types)

    def _place(self, where: str) -> None:
        """Tell each Sub node, and others that want to know, where it stands, bodies of If, Loop and Scan included."""
        for i, node in enumerate(self.rt_nodes_):
            if hasattr(node, "where"):
                node.where = place_of(where, i, node.onnx_node)
            for attribute in node.onnx_node.attribute:
                body = getattr(node, attribute.name, None)
                if isinstance(body, Evaluator):
                    body._place(f"{where}.node[{i}].{attribute.name}")


class SubNode(OpRun):
    """A Sub node at the version that the opset of its graph or function means."""

    where = ""

    def __init__(self, onnx_node: NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        super().__init__(onnx_node, run_params, schema)
        self.version = DIALECT.resolve(run_params["opsets"][""])

    def _load_attributes(self) -> None:
        """Keep the attributes as the node states them; the version's row decides which of them it may have."""
        self.stated = {
            a.name: RefAttrName(a.ref_attr_name) if a.ref_attr_name else get_attribute_value(a)
            for a in self.onnx_node.attribute
        }
        self.has_linked_attribute = any(isinstance(value, RefAttrName) for value in self.stated.values())
        self.attributes_names_: set[str] = set()

    def run(self, *inputs: Any, linked_attributes: Mapping[str, Any] | None = None, **_: Any) -> tuple[Any, ...]:
        """Compute the node; an attribute that a function's caller leaves out is left out here too."""
        linked = linked_attributes or {}
        attributes = {
            name: linked[value.name] if isinstance(value, RefAttrName) else value
            for name, value in self.stated.items()
            if not isinstance(value, RefAttrName) or value.name in linked
        }
        return self._run(*inputs, **attributes)

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        if len(inputs) != 2:
            raise SpecError("inputs", f"{self.version} takes 2 inputs; the node has {len(inputs)}", where=self.where)
        a, b = inputs
        return (operator.run(self.version, a, b, attributes, name=self.onnx_node.name, where=self.where),)


def _callees_first(model: ModelProto) -> ModelProto:
    """Return the model with each function after those that it calls; the model itself is not changed.

    ONNX's evaluator builds functions in the order of the file and does not find a later one.
    """
    _check_imports(model.opset_import, "model")
    by_key: dict[tuple[str, str], FunctionProto] = {}
    for i, function in enumerate(model.functions):
        if (function.domain, function.name) in by_key:
            raise Unsupported(
                f"functions[{i}] {function.name!r} is a second overload of one function; expected one form of each: "
                "inline the functions first, with onnx.inliner.inline_local_functions"
            )
        by_key[function.domain, function.name] = function
    calls = {key: by_key.keys() & {call[:2] for call in called(f.node)} for key, f in by_key.items()}
    try:
        order = list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        circle = " → ".join(name for _, name in error.args[1])
        raise SpecError(
            "functions", f"functions may not call each other in a circle: {circle}", where="model"
        ) from None
    number = {key: i for i, key in enumerate(by_key)}
    if all(number[callee] < number[key] for key in by_key for callee in calls[key]):
        return model
    ordered = ModelProto()
    ordered.CopyFrom(model)
    del ordered.functions[:]
    ordered.functions.extend(by_key[key] for key in order)
    return ordered


def _check_imports(imports: Iterable[OperatorSetIdProto], where: str) -> None:
    seen: set[str] = set()
    for item in imports:
        domain = "" if item.domain in MAIN else item.domain
        if domain in seen:
            raise SpecError(
                "opset",
                f"the domain {item.domain!r} is imported twice; expected one opset for each domain",
                where=where,
            )
        seen.add(domain)
