"""ONNX models and tensors as files: read, checked, with external data, and saved."""
