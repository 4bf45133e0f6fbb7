"""ONNX's backend interface, so that ONNX's own tests, and tools made for it, can run this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto
from onnx.backend import base

from minuend.errors import SpecError, Unsupported
from minuend.onnx.execution.interpreter import Interpreter
from minuend.onnx.execution.running import check_axes, check_inputs
from minuend.onnx.graphs.scope import MAIN

RUNNER_OPTIONS = ("rtol", "atol")
"""Options that ONNX's test runner addresses to itself and hands to ``prepare`` as well."""


class BackendRep(base.BackendRep):  # type: ignore[misc,unused-ignore]
    """A prepared model."""

    def __init__(self, model: ModelProto) -> None:
        check_axes(model)
        self._graph = model.graph
        self._interpreter = Interpreter(model, None, evaluator="reference")
        preset = {init.name for init in model.graph.initializer}
        preset.update(init.values.name for init in model.graph.sparse_initializer)
        self.inputs = [i.name for i in model.graph.input]
        self.required = [name for name in self.inputs if name not in preset]

    def run(self, inputs: object, **kwargs: object) -> tuple[Any, ...]:
        """Run the model.

        Args:
            inputs: a sequence in the order of the graph's inputs (initializers among them may be left out at the
                end, or altogether), or a mapping by name.

        Returns:
            The graph's outputs, in order.

        Raises:
            SpecError: inputs missing or too many, or not as the graph declares them; a Sub node that breaks a rule of
                its version. Unsupported: a node that ONNX's evaluator is known to compute wrongly.
        """
        _no_options(kwargs)
        found = self._interpreter.run(check_inputs(self._graph, self._feeds(inputs)))
        return tuple(found[value.name] for value in self._graph.output)

    def _feeds(self, inputs: object) -> Mapping[str, object]:
        if isinstance(inputs, Mapping):
            return inputs
        inputs = _listed(inputs, "a list or a dict of arrays", "graph")
        names = self.required if len(inputs) == len(self.required) else self.inputs
        if len(inputs) > len(names):
            raise SpecError("inputs", f"{len(inputs)} inputs for a graph that has {len(self.inputs)}", where="graph")
        return dict(zip(names, inputs, strict=False))


class Backend(base.Backend):  # type: ignore[misc,unused-ignore]
    """Runs ONNX models on the CPU: every Sub by this package, all else by ONNX's reference evaluator.

    What that evaluator is known to compute wrongly is refused, and so is what is not of its declared type or shape.

    >>> import numpy as np
    >>> node = onnx.helper.make_node("Sub", ["x", "y"], ["z"])
    >>> Backend.run_node(node, [np.uint8([3]), np.uint8([4])])
    (array([255], dtype=uint8),)
    """

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is the CPU."""
        return device.partition(":")[0] == "CPU"

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: object) -> BackendRep:
        """Check a model with ONNX's checker and make it ready to run.

        Args:
            model: the model. device: ``"CPU"``. kwargs: none, but for the tolerances of ONNX's test runner.

        Raises:
            onnx.checker.ValidationError: the model is invalid.
            Unsupported: another device, or an axis of opset 6 or below of another operator than Sub.
        """
        _no_options(kwargs)
        cls._check_device(device)
        onnx.checker.check_model(model)
        return BackendRep(model)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Sequence[object],
        device: str = "CPU",
        outputs_info: Iterable[tuple[npt.DTypeLike, Iterable[int]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Check and run one node.

        Args:
            node: the node. inputs: arrays, in the order of its inputs. device: ``"CPU"``.
            outputs_info: a dtype and a shape for each output, which the results must have; or ``None``.
            kwargs: ``opset_version``, the opset of ONNX's main domain; the newest if it is not given.

        Raises:
            onnx.checker.ValidationError: the node is invalid. Unsupported: another device.
            SpecError: inputs missing or too many, results that are not as ``outputs_info`` says, or a rule of Sub.
        """
        newest = onnx.defs.C.schema_version_map()
        opsets = {"": kwargs.pop("opset_version", newest[""][1])}
        if node.domain not in MAIN and node.domain in newest:
            opsets[node.domain] = newest[node.domain][1]
        _no_options(kwargs)
        cls._check_device(device)
        context = onnx.checker.C.CheckerContext()
        context.ir_version = onnx.IR_VERSION
        context.opset_imports = opsets
        onnx.checker.check_node(node, context)
        names = [name for name in dict.fromkeys(node.input) if name]
        graph = onnx.GraphProto(node=[node], input=[onnx.ValueInfoProto(name=name) for name in names])
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
        given = [name for name in node.input if name]
        inputs = _listed(inputs, "a list of arrays", "node")
        if len(inputs) != len(given):
            raise SpecError("inputs", f"{len(inputs)} inputs for a node that has {len(given)}", where="node")
        imports = [onnx.helper.make_opsetid(*row) for row in opsets.items()]
        model = ModelProto(ir_version=onnx.IR_VERSION, graph=graph, opset_import=imports)
        results = BackendRep(model).run(dict(zip(given, inputs, strict=True)))
        if outputs_info is not None:
            _check_outputs(results, list(outputs_info))
        return results

    @classmethod
    def _check_device(cls, device: str) -> None:
        if not cls.supports_device(device):
            raise Unsupported(f"minuend runs models on the CPU; no device {device!r}")


def _listed(inputs: object, wanted: str, where: str) -> Sequence[object]:
    """Return inputs that are a sequence; a text is none of arrays.

    Raises:
        SpecError: they are anything else.
    """
    if not isinstance(inputs, Sequence) or isinstance(inputs, str | bytes):
        raise SpecError("inputs", f"inputs are a {type(inputs).__name__}; expected {wanted}", where=where)
    return inputs


def _no_options(options: Mapping[str, object]) -> None:
    for name in options:
        if name not in RUNNER_OPTIONS:
            raise TypeError(f"minuend's backend has no option {name!r}")


def _check_outputs(results: Sequence[Any], said: Sequence[tuple[npt.DTypeLike, Iterable[int]]]) -> None:
    """Compare results with the dtypes and shapes that the caller says they have."""
    if len(results) != len(said):
        raise SpecError("outputs", f"{len(results)} outputs; outputs_info says {len(said)}", where="node")
    for i, (result, (dtype, shape)) in enumerate(zip(results, said, strict=True)):
        wanted = np.dtype(dtype), tuple(map(int, shape))
        if not hasattr(result, "dtype") or (result.dtype, result.shape) != wanted:
            came = f"{result.dtype} {result.shape}" if hasattr(result, "dtype") else f"a {type(result).__name__}"
            raise SpecError("outputs", f"output {i} is {came}; outputs_info says {wanted[0]} {wanted[1]}", where="node")
