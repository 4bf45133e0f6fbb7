"""Graphs as Fourth's models."""

from minuend.fourth.model import Model
from minuend.fourth.versions import DIALECT

from minuend.errors import ConversionRefused


def from_graph(graph, version=None):
    """Return a graph as a model of an edition."""
    refused = {step.where: f"Fourth has no {step.kind}" for step in graph.steps if step.kind != "subtract"}
    if refused:
        raise ConversionRefused("Fourth", refused)
    edition = DIALECT.resolve(version).version
    model = Model(edition, {name: graph.values[name].type for name in graph.inputs}, outputs=list(graph.outputs))
    model.differences = {step.output: tuple(step.inputs) for step in graph.steps}
    return model, [], []
