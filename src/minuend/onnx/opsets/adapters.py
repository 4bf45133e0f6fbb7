"""The steps between operator versions that take more than a look at types.

Each adapter takes a copy of a node over one step and adds what replaces it to a builder. A value that a step needs
must be constant in the model; where it is not, the step is refused with the reason. Importing this module registers
all of them.
"""

from __future__ import annotations

from minuend.onnx.opsets import images, meanings, to_inputs
from minuend.onnx.opsets import subtraction as sub
from minuend.onnx.opsets.steps import ADAPTERS

__all__ = ["ADAPTERS", "images", "meanings", "sub", "to_inputs"]
