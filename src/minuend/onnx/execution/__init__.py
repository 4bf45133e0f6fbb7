"""ONNX models that are run: scopes, kernels, control flow, and what evaluators are known to get wrong."""
