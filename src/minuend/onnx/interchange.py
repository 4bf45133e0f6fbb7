"""ONNX models to and from the graph that all formats convert through."""

from minuend.onnx.lifting import to_graph
from minuend.onnx.lowering import from_graph

__all__ = ["from_graph", "to_graph"]
