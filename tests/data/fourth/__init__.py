"""A fourth standard, made up for a test: what a dialect's folder holds, as small as it can be."""

from minuend.fourth.model import Model
from minuend.fourth.operator import minus

__all__ = ["Model", "minus"]
