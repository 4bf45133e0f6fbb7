"""Rewriting ONNX models: recipes in the place of nodes, and the opset that they need."""
