"""OpenVINO: ``Subtract`` by the rules of its one version, and narrow types as OpenVINO packs them."""

from minuend.openvino.model import Model, read
from minuend.openvino.operator import subtract
from minuend.openvino.tensor import Tensor

__all__ = ["Model", "Tensor", "read", "subtract"]
