"""What the contract gives for an occurrence's operands, and arrays compared with that bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from minuend.arrays.functions import compute
from minuend.core.elements import of_numpy
from minuend.runtimes import values
from minuend.runtimes.model_runs import Array
from minuend.runtimes.probing import Skip
from minuend.runtimes.trials import Different
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate


def contracted(node: Node, a: Array, b: Array, overflow: str = "wrap") -> Array:
    """Return what the contract gives for a subtraction's operands."""
    x, y = (TensorType(type_.dtype, array.shape) for type_, array in ((node.a, a), (node.b, b)))
    joined = validate(replace(node, operands=(x, y)))
    found: Array = compute(node.op.computes, x.element, joined, a, b, None, overflow)
    return found


@dataclass
class Tally:
    """Elements that were compared: how many, how many of them differ, and the first that does."""

    elements: int = 0
    different: int = 0
    first: Different | None = None

    def add(self, name: str, got: Array, want: Array) -> None:
        """Compare two arrays bit for bit, any NaN being like any other."""
        if got.shape != want.shape or got.dtype != want.dtype:
            raise Skip(f"{name} is {got.dtype} {got.shape}; expected {want.dtype} {want.shape}")
        unlike = differing(got, want)
        self.elements += want.size
        self.different += int(unlike.sum())
        if self.first is None and unlike.any():
            at = tuple(int(n) for n in np.argwhere(unlike)[0])
            self.first = Different(name, at, str(got[at]), str(want[at]))

    def __str__(self) -> str:
        if self.first is None:
            return f"all {self.elements} elements are as expected"
        one = self.first
        message = (
            f"{self.different} of {self.elements} elements differ, the first at {one.place}, index {list(one.index)}"
        )
        return f"{message}: got {one.got}, expected {one.expected}"


def differing(x: Array, y: Array) -> Array:
    """Which elements are not the same bits, any NaN being like any other."""
    row = of_numpy(x.dtype)
    if row is None:
        return np.asarray(x != y)
    codes = (np.ascontiguousarray(one).view(f"u{x.dtype.itemsize}").reshape(one.shape) for one in (x, y))
    return values.differ(row, *codes)
