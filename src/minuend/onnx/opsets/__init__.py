"""Convert whole ONNX models from one opset to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minuend.lazy import members

if TYPE_CHECKING:
    from minuend.onnx.opsets.model import convert_proto

__all__ = ["convert_proto"]

__getattr__ = members(__name__, {"convert_proto": ".model:convert_proto"})
