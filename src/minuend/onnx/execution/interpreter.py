"""Models node by node: scopes, bodies and functions are followed here; an evaluator computes all but Sub.

A node sees values of its own types and nothing else: nothing is fused, folded or computed in another order. A value is
in memory until its last reader has run.
"""

from __future__ import annotations

import itertools
import math
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TensorProto, TypeProto

from minuend.errors import MinuendError, SpecError, Unsupported
from minuend.onnx import operator
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array, Attributes, Inputs
from minuend.onnx.execution import EVALUATORS, containers, control, defects, exact, sizes
from minuend.onnx.execution.kernels import OLDEST, Kernel, NoKernel, RunError, brief
from minuend.onnx.graphs.call_counts import Key
from minuend.onnx.graphs.nesting import filled_in
from minuend.onnx.graphs.scope import MAIN, Scope, read_opsets
from minuend.onnx.versions import DIALECT

_LONGEST = 500
"""Characters of another library's message that are reported."""

Bound = Mapping[str, AttributeProto]
"""The attributes of a function's call, by the function's names for them."""


class Values(ChainMap[str, Any]):
    """The values of one scope, and those of the scopes around it; what is set or removed is the scope's own."""

    def __missing__(self, name: str) -> None:
        if name:
            raise RunError(f"nothing computes the value {name!r}")


@dataclass(eq=False)
class Step:
    """A node, ready to run.

    Attributes:
        scope, index, node: the node, and where it stands. stated: its attributes' values by name; ``linked``: they
            depend on a function's caller. last: the values that no node reads after it.
        kernel: what computes it, where that is onnxruntime. exact: types for which ONNX's does.
    """

    scope: Scope
    index: int
    node: NodeProto
    linked: bool
    stated: Attributes
    last: Sequence[str]
    kernel: Kernel | None = None
    exact: set[tuple[str, ...]] = field(default_factory=set)

    @property
    def where(self) -> str:
        """The place and the name: ``"graph.node[3] 'sub_mean'"``."""
        return self.scope.place(self.index)

    @property
    def opsets(self) -> Mapping[str, int]:
        """The opsets in force."""
        return self.scope.opsets


@dataclass(eq=False)
class Plan:
    """A scope, ready to run: its steps, and its initializers as arrays."""

    scope: Scope
    steps: list[Step]
    stored: dict[str, Array]

    def __post_init__(self) -> None:
        self.inputs, self.outputs = self.scope.inputs, self.scope.outputs


class Interpreter:
    """Runs one model.

    Args:
        model: the model, without references to files. limit: bytes that a result may take; ``None`` for no limit.
        note: receives the place of each node that onnxruntime is given, before it is.
        evaluator: one of :data:`EVALUATORS`. refuses: whether nodes are refused that it is known to compute wrongly.
    """

    def __init__(
        self,
        model: ModelProto,
        limit: int | None,
        note: Callable[[str], None] = lambda _: None,
        *,
        evaluator: str = EVALUATORS[0],
        refuses: bool = True,
    ) -> None:
        self.model, self.limit, self.note = model, limit, note
        self.evaluator, self.refuses = evaluator, refuses
        self.functions: dict[Key, FunctionProto] = {(f.domain, f.name, f.overload): f for f in model.functions}
        self._plans: dict[int, Plan] = {}

    def run(self, feeds: Mapping[str, object], *, keep: bool = False) -> dict[str, object]:
        """Run the main graph.

        Args:
            feeds: the values of its inputs by name. keep: whether all values of the main graph are returned.

        Returns:
            The outputs by name, in order; with ``keep`` whatever the main graph holds or computes.

        Raises:
            RunError: a node that the evaluator lacks or cannot compute. ResultTooLarge: a result beyond the limit.
            SpecError: a Sub that breaks a rule of its version.
        """
        plan = self._plan(next(Scope.of(self.model)), keep=keep)
        maps = {value.name: _of_its_map(feeds[value.name], value.type) for value in self.model.graph.input
                if value.name in feeds}  # fmt: skip
        values = Values({**plan.stored, **feeds, **maps})
        self._run(plan, values, {})
        return dict(values) if keep else {name: values[name] for name in plan.outputs}

    def _plan(self, scope: Scope, *, keep: bool = False) -> Plan:
        """Make a list of nodes ready, once."""
        if id(scope.proto) in self._plans:  # the plan holds the proto, so that no other one gets its number
            return self._plans[id(scope.proto)]
        steps = []
        last: Iterable[Sequence[str]] = itertools.repeat(()) if keep else scope.last_reads()
        for i, (node, names) in enumerate(zip(scope.nodes, last, strict=False)):
            linked = any(attribute.ref_attr_name for attribute in node.attribute)
            stated = {} if linked else tensors.values_of(node.attribute)
            steps.append(Step(scope, i, node, linked, stated, names))
        plan = Plan(scope, steps, self._stored(scope))
        self._plans[id(scope.proto)] = plan
        return plan

    def _stored(self, scope: Scope) -> dict[str, Array]:
        if isinstance(scope.proto, FunctionProto):
            return {}
        found = {name: tensors.to_array(tensor) for name, tensor in scope.initializers().items()}
        for sparse in scope.proto.sparse_initializer:
            name = sparse.values.name
            kind = tensors.data_type(sparse.values.data_type)
            self._hold(name, math.prod(sparse.dims) * (kind.dtype.itemsize if kind else 0), scope.where)
            found[name] = tensors.dense(sparse, f"{scope.where}, sparse initializer {name!r}")
        return found

    # ---- running ----------------------------------------------------------------------------------------------

    def _run(self, plan: Plan, values: Values, bound: Bound) -> None:
        for step in plan.steps:
            inputs = [values[name] for name in step.node.input]
            try:
                results = self._results(step, inputs, values, bound)
            except SpecError as error:
                raise (error if error.where else error.at(step.where)) from None
            except MinuendError:
                raise
            except Exception as error:
                reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST]
                raise RunError(f"{step.node.op_type} failed: {reason}, at {step.where}") from error
            for name, value in zip(step.node.output, results, strict=False):
                if name:
                    values[name] = value
            for name in step.last:
                values.maps[0].pop(name, None)

    def _results(self, step: Step, inputs: Inputs, values: Values, bound: Bound) -> Sequence[object]:
        node = step.node
        attributes = filled_in(node, bound) if step.linked else node.attribute
        stated = tensors.values_of(attributes) if step.linked else step.stated
        function = self.functions.get((node.domain, node.op_type, node.overload))
        if function is not None:
            return self._call(function, inputs, {a.name: a for a in attributes})
        case = defects.Case(step.opsets.get("", 1) if node.domain in MAIN else 0, inputs, stated, node.output)
        if node.domain in MAIN:
            sizes.check(node, inputs, stated, self.limit, step.where)
            if node.op_type == "Sub":
                return [_difference(step, inputs, stated)]
            if node.op_type in control.RULES:
                return control.RULES[node.op_type](self._frame(step, inputs, stated, values, bound))
            if (self.evaluator == "onnxruntime" or "sparse_value" in stated) and node.op_type in containers.RULES:
                return [containers.RULES[node.op_type](inputs, stated)]
        name = node.op_type if node.domain in MAIN else f"{node.domain}.{node.op_type}"
        if self.refuses and (refused := defects.refusal(self.evaluator, name, case)):
            raise Unsupported(f"{refused}, at {step.where}")
        compute = self._by_onnxruntime if self.evaluator == "onnxruntime" else _by_reference
        return compute(step, inputs, attributes, case)

    def _by_onnxruntime(
        self, step: Step, inputs: Inputs, attributes: Iterable[AttributeProto], case: defects.Case
    ) -> Sequence[object]:
        """What onnxruntime gives, or, where it has no kernel, ONNX's evaluator if that is exact."""
        types = tuple(str(getattr(value, "dtype", "")) for value in inputs)
        if types in step.exact:
            return exact.compute(step.node, step.opsets, inputs, attributes)
        try:
            return self._kernel(step).run(inputs, attributes)
        except NoKernel as error:
            op = step.node.op_type
            if step.node.domain not in MAIN:
                raise RunError(f"{error}, at {step.where}") from error
            if case.opset < OLDEST or not exact.able(op, inputs):
                raise RunError(f"{error}; {defects.way_out('reference', op, case)}, at {step.where}") from error
        step.exact.add(types)
        return exact.compute(step.node, step.opsets, inputs, attributes)

    def _kernel(self, step: Step) -> Kernel:
        self.note(step.where)
        if step.kernel is None:
            step.kernel = Kernel(step.node, step.opsets, step.where)
        return step.kernel

    def _call(self, function: FunctionProto, inputs: Inputs, stated: Bound) -> list[object]:
        plan = self._plan(Scope(function, f"function {function.name!r}", read_opsets(function.opset_import)))
        values = Values({**dict.fromkeys(plan.inputs), **dict(zip(plan.inputs, inputs, strict=False))})
        defaults = {a.name: a for a in function.attribute_proto}
        self._run(plan, values, {**defaults, **stated})
        return [values[name] for name in plan.outputs]

    def _frame(self, step: Step, inputs: Inputs, stated: Attributes, values: Values, bound: Bound) -> control.Frame:
        def run(name: str, given: Sequence[object]) -> list[object]:
            plan = self._plan(step.scope.inner(stated[name], step.index, name))
            inner = values.new_child({**plan.stored, **dict(zip(plan.inputs, given, strict=False))})
            self._run(plan, inner, bound)
            return [inner[name] for name in plan.outputs]

        def hold(nbytes: int) -> None:
            self._hold(step.node.output[0], nbytes, step.where, step.node.op_type)

        return control.Frame(step.node.op_type, step.opsets.get("", 1), inputs, stated, run, hold)

    def _hold(self, name: str, nbytes: int, where: str, op: str = "a sparse initializer") -> None:
        if self.limit is not None and nbytes > self.limit:
            raise sizes.too_large(name, f"the result of {op}", nbytes, self.limit, where)


def _difference(step: Step, inputs: Inputs, stated: Attributes) -> Array:
    """What a Sub gives at the version that the opset of its scope means."""
    op = DIALECT.resolve(step.opsets[""])
    if len(inputs) != 2:
        raise SpecError("inputs", f"{op} takes 2 inputs; the node has {len(inputs)}")
    a, b = inputs
    return operator.run(op, a, b, stated, name=step.node.name, where=step.where)


def _by_reference(
    step: Step, inputs: Inputs, attributes: Iterable[AttributeProto], _: defects.Case
) -> Sequence[object]:
    """What ONNX's reference evaluator gives, which may raise anything."""
    try:
        return exact.compute(step.node, step.opsets, inputs, attributes)
    except Exception as error:
        reason = brief(" ".join(str(error).split()))
        raise RunError(f"ONNX's reference evaluator failed: {type(error).__name__}: {reason}") from error


def _of_its_map(value: Any, type_: TypeProto) -> Any:
    """A value for an input; the floats of a map are of the element type that the input declares."""
    number = type_.map_type.value_type.tensor_type.elem_type
    if not isinstance(value, dict) or number not in (TensorProto.FLOAT, TensorProto.DOUBLE):
        return value
    make = float if number == TensorProto.FLOAT else np.float64
    return {key: make(item) for key, item in value.items()}
