"""Models from one version to another, and from one format to another."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import Any, Protocol, cast

from minuend.errors import SpecError
from minuend.models.graph import Graph
from minuend.models.opening import Model, dialect_of, open_model
from minuend.standards.dialects import dialect


class Interchange(Protocol):
    """A dialect's ``interchange.py``: its models as graphs and back.

    It may also have ``convert(model, version)``, from one of its versions to another within the dialect, which keeps
    what no graph can hold.
    """

    def to_graph(self, model: Any) -> Graph:
        """Turn a model into a graph."""

    def from_graph(self, graph: Graph, version: object = None) -> tuple[Any, list[str], list[str]]:
        """Turn a graph into a model of a version; return what was changed and what was lost besides."""


@dataclass(frozen=True)
class Converted:
    """A converted model.

    Attributes:
        model: an ``onnx.ModelProto``, :class:`minuend.openvino.Model` or :class:`minuend.directml.Model`.
        changes: what was done to it, a sentence each. losses: what the goal cannot say and the result lacks.
        sources: the files that the original model names, which :meth:`save` does not replace.
    """

    model: Any
    changes: list[str]
    losses: list[str]
    opened: Model
    sources: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, whole or not at all, over none of the original's files."""
        self.opened.save(path, inputs=self.sources)


def convert(model: Any, to: str) -> Converted:
    """Convert a model to another version of its dialect, or to another dialect.

    Args:
        model: a path, bytes, ``onnx.ModelProto``, ``openvino.Model`` or a model of this package; it is not changed.
        to: ``"onnx:13"``, ``"onnx"`` (the newest opset), ``"openvino"``, ``"directml:5.1"``.

    Returns:
        The converted model with the lists of what changed and what was lost.

    Raises:
        ConversionRefused: nodes stand in the way; ``.nodes`` says which and why. SpecError: no such dialect or version,
            or nothing to convert. FileFormatError, FileNotFoundError: no model, or a broken one.

    >>> import onnx.parser
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 10, opset_import: ["" : 6]>
    ...     g (float[2,3] a, float[2] b) => (float[2,3] c) { c = Sub <axis: int = 0, broadcast: int = 1> (a, b) }''')
    >>> [node.op_type for node in convert(model, "onnx:13").model.graph.node]
    ['Constant', 'Unsqueeze', 'Sub']
    """
    name, colon, version = to.partition(":")
    goal = dialect(name)
    if colon:
        goal.resolve(version)
    opened = open_model(model)
    source = dialect_of(opened)
    if source == name and hasattr(_interchange(name), "convert"):
        result, changes, losses = cast(Any, _interchange(name)).convert(opened, version or None)
    elif source == name and len(goal.versions) == 1:
        raise SpecError("to", "", f"the model is {goal.title}'s already, which has one version; nothing to convert")
    else:
        graph = _interchange(source).to_graph(opened)
        result, changes, losses = _interchange(name).from_graph(graph, version or None)
    return Converted(getattr(result, "proto", result), changes, losses, result, opened.sources())


def _interchange(name: str) -> Interchange:
    return cast(Interchange, importlib.import_module(f"minuend.{name}.interchange"))
