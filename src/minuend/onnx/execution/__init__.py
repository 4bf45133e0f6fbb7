"""ONNX models that are run: scopes, kernels, control flow, and what evaluators are known to get wrong."""

EVALUATORS = ("onnxruntime", "reference")
"""What can compute the operators other than Sub and those that have bodies."""
