"""The structure of ONNX graphs: walking, checking, normalising and inlining them, and the types of their values."""
