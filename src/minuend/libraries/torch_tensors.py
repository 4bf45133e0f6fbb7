"""PyTorch's tensors. On the CPU they are seen as NumPy arrays of the same memory, and nothing is copied.

On another device PyTorch itself computes them there, see :mod:`minuend.libraries.on_devices`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from minuend.core import arrays, elements
from minuend.core.libraries import only_of
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, ShapeError, listed
from minuend.libraries import on_devices

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
    operands = {name: one for name, one in (("a", a), ("b", b), ("out", out)) if isinstance(one, torch.Tensor)}
    if any(one.device.type != "cpu" for one in operands.values()):
        return _on_device(operands, a, b, out, overflow)
    x, y = _seen(a, "a"), _seen(b, "b")
    if out is None:
        return _tensor(np.asarray(arrays.subtract(x, y, overflow=overflow)))
    _check_out(out)
    arrays.subtract(x, y, _seen(out, "out"), overflow=overflow)
    return out


def _check_out(out: Any) -> None:
    if out.requires_grad and torch.is_grad_enabled():
        raise ShapeError("out", "out requires grad, and what is written to it has none; pass out.detach()")
    if out.is_neg():
        raise ShapeError("out", "out is a negated view; pass a plain tensor")


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


def _plain(operand: Any, name: str) -> Any:
    """A tensor without its history.

    Raises:
        DTypeError: it is no strided tensor of plain numbers.
    """
    if operand.layout != torch.strided or operand.is_quantized:
        kind = "a quantized tensor" if operand.is_quantized else f"a tensor of layout {operand.layout}"
        raise DTypeError("types", f"{name} is {kind}; expected a strided tensor of plain numbers")
    return operand.detach().resolve_neg()


def _seen(operand: Any, name: str) -> Any:
    """A tensor as an array of the same memory; numbers as they are."""
    if not isinstance(operand, torch.Tensor):
        return operand
    plain = _plain(operand, name)
    dtype = str(operand.dtype).removeprefix("torch.")
    element = elements.TYPES.get(dtype)
    if element is None:
        raise DTypeError("types", f"{name}: {elements.refusal(dtype)}; expected {listed(elements.TYPES)}")
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


# ---- other devices --------------------------------------------------------------------------------------------


def _on_device(operands: dict[str, Any], a: Any, b: Any, out: Any, overflow: Overflow) -> Any:
    devices = {name: one.device for name, one in operands.items()}
    if len(set(devices.values())) > 1:
        told = listed([f"{name} on {device}" for name, device in devices.items()], "and")
        raise DTypeError("types", f"{told}: nothing is moved between devices; expected one device, pass x.to(device)")
    device = next(iter(devices.values()))
    if device.type == "meta":
        raise DTypeError(
            "types", "tensors on meta have no elements; expected some on the CPU or a device that computes"
        )
    home = Home(device)
    x, y = (_plain(one, name) if isinstance(one, torch.Tensor) else one for name, one in (("a", a), ("b", b)))
    found = on_devices.subtract(home, x, y, overflow)
    if out is None:
        return found
    _check_out(out)
    plain = _plain(out, "out")
    on_devices.check_out(home, plain, found, plain.stride())
    plain.copy_(found)
    return out


@dataclass(frozen=True)
class Home:
    """A device; see :class:`minuend.libraries.on_devices.Home`."""

    device: Any

    @property
    def words(self) -> str:
        return f"a torch.Tensor on {self.device}"

    elsewhere = "pass x.cpu()"

    def name(self, array: Any) -> str:
        return str(array.dtype).removeprefix("torch.")

    def view(self, array: Any, name: str) -> Any:
        return array.view(getattr(torch, name))

    def cast(self, array: Any, name: str) -> Any:
        return array.to(getattr(torch, name))

    def put(self, array: Any) -> Any:
        return torch.from_numpy(np.array(array)).to(self.device)

    def get(self, array: Any) -> Any:
        return array.cpu().numpy()

    def minus(self, a: Any, b: Any) -> Any:
        return a - b

    def where(self, mask: Any, one: Any, other: Any) -> Any:
        return torch.where(mask, one, other)

    def first(self, mask: Any) -> int:
        return int(mask.flatten().to(torch.uint8).argmax())

    def count(self, mask: Any) -> int:
        return int(torch.count_nonzero(mask))
