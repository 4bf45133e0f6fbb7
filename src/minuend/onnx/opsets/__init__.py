"""Convert whole ONNX models from one opset to another."""

from __future__ import annotations

from minuend.onnx.opsets.model import convert_proto

__all__ = ["convert_proto"]
