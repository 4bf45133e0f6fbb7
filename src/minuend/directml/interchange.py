"""DxDispatch models to and from the graph that all formats convert through."""

from minuend.directml.lifting import to_graph
from minuend.directml.lowering import from_graph

__all__ = ["from_graph", "to_graph"]
