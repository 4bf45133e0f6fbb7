"""Patterns as ONNX models, which runtimes are measured with."""
