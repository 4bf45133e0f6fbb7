"""OpenVINO: ``Subtract`` by the rules of its one version, and narrow types as OpenVINO packs them."""

from minuend.openvino.operator import subtract
from minuend.openvino.tensor import Tensor

__all__ = ["Tensor", "subtract"]
