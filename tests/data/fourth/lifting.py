"""Fourth's models as graphs."""

from minuend.models.graph import Graph, Step, Value
from minuend.standards.validation import validate


def to_graph(model):
    """Return a model as a graph."""
    graph = Graph("fourth", inputs=list(model.inputs), outputs=list(model.outputs))
    for name, type_ in model.types().items():
        graph.add(Value(name, type_))
    for node in model.subtractions():
        pair = model.differences[node.name]
        step = Step(
            kind="subtract", inputs=pair, output=node.name, name=node.name, where=node.where, joined=validate(node)
        )
        graph.steps.append(step)
    return graph
