"""The PyTorch modules whose exports are the test corpus ``tests/data/models``; ``tools/export_models.py`` exports them.

A module is small, initialised at random from a fixed seed, and stands for a kind of model that people deploy. What
matters is where it subtracts: ``1 - mask``, ``position - 1``, ``x - mean``, ``x - max``, ``1 - gate``, and
``x - zero_point``.
"""

from corpus import numeric, signal, text, vision
from corpus.case import CASES, SIZES, Case, Input

__all__ = ["CASES", "SIZES", "Case", "Input", "numeric", "signal", "text", "vision"]
