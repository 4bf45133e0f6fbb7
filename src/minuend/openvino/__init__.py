"""OpenVINO: ``Subtract`` by the rules of its one version, and narrow types as OpenVINO packs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minuend.lazy import members

if TYPE_CHECKING:
    from minuend.openvino.model import Model, read
    from minuend.openvino.operator import subtract
    from minuend.openvino.tensor import Tensor

__all__ = ["Model", "Tensor", "read", "subtract"]

__getattr__ = members(
    __name__,
    {
        "Model": ".model:Model",
        "Tensor": ".tensor:Tensor",
        "read": ".model:read",
        "subtract": ".operator:subtract",
    },
)
