"""PyTorch's tensors on the CPU, seen as NumPy arrays of the same memory: nothing is copied, neither in nor out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from minuend.core import arrays, elements
from minuend.core.libraries import only_of
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, ShapeError, listed

_CODES = {1: (torch.uint8, np.uint8), 2: (torch.int16, np.int16)}
"""Bytes of an element → types that either library has, for types of which NumPy has none of its own."""


def subtract(a: Any, b: Any, out: Any, overflow: Overflow) -> Any:
    """Subtract tensors, or a tensor and a number; differentiable where an operand is."""
    only_of("torch.Tensor", torch.Tensor, {"a": a, "b": b, "out": out}, "torch.from_numpy(x)")
    operands = [one for one in (a, b) if isinstance(one, torch.Tensor)]
    if torch.is_grad_enabled() and any(one.requires_grad for one in operands):
        if out is not None:
            raise ShapeError(
                "out", "out does not go with an operand that requires grad; leave it out, or use no_grad()"
            )
        return _Subtract.apply(a, b, overflow)
    return _computed(a, b, out, overflow)


def _computed(a: Any, b: Any, out: Any, overflow: Overflow) -> Any:
    x, y = _seen(a, "a"), _seen(b, "b")
    if out is None:
        return _tensor(np.asarray(arrays.subtract(x, y, overflow=overflow)))
    if out.requires_grad and torch.is_grad_enabled():
        raise ShapeError("out", "out requires grad, and what is written to it has none; pass out.detach()")
    if out.is_neg():
        raise ShapeError("out", "out is a negated view; pass a plain tensor")
    arrays.subtract(x, y, _seen(out, "out"), overflow=overflow)
    return out


class _Subtract(torch.autograd.Function):  # type: ignore[misc]
    """The gradient of a is the result's, that of b its negative; both are summed over dims that were repeated."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, overflow: Overflow) -> Any:
        ctx.shapes = [one.shape if isinstance(one, torch.Tensor) else None for one in (a, b)]
        return _computed(a, b, None, overflow)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        a, b = ctx.shapes
        return (
            gradient.sum_to_size(a) if ctx.needs_input_grad[0] else None,
            (-gradient).sum_to_size(b) if ctx.needs_input_grad[1] else None,
            None,
        )


def _seen(operand: Any, name: str) -> Any:
    """A tensor as an array of the same memory; numbers as they are."""
    if not isinstance(operand, torch.Tensor):
        return operand
    if operand.device.type != "cpu":
        raise DTypeError("types", f"{name} lies on {operand.device}; expected a tensor on the CPU, pass {name}.cpu()")
    if operand.layout != torch.strided or operand.is_quantized:
        kind = "a quantized tensor" if operand.is_quantized else f"a tensor of layout {operand.layout}"
        raise DTypeError("types", f"{name} is {kind}; expected a strided tensor of plain numbers")
    dtype = str(operand.dtype).removeprefix("torch.")
    element = elements.TYPES.get(dtype)
    if element is None:
        raise DTypeError("types", f"{name}: {elements.refusal(dtype)}; expected {listed(elements.TYPES)}")
    plain = operand.detach().resolve_neg()
    try:
        if element.kernel != "table" and element.name != "bfloat16":
            return plain.numpy()
        return plain.view(_CODES[element.itemsize][0]).numpy().view(element.memory)
    except (RuntimeError, TypeError, KeyError) as error:
        raise DTypeError("types", f"{name} is a tensor whose memory cannot be read: {error}") from None


def _tensor(array: Any) -> Any:
    """An array as a tensor of the same memory."""
    element = elements.of_numpy(array.dtype)
    assert element is not None
    if element.kernel != "table" and element.name != "bfloat16":
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(_CODES[element.itemsize][1])).view(getattr(torch, element.name))
