"""PyTorch's tensors. On the CPU they are seen as NumPy arrays of the same memory, and nothing is copied.

On another device PyTorch itself computes them there, see :mod:`minuend.libraries.on_devices`.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version

from minuend import _native
from minuend.arrays import functions
from minuend.arrays.functions import Array
from minuend.arrays.libraries import only_of
from minuend.core import elements
from minuend.core.policies import POLICIES, Overflow
from minuend.errors import DTypeError, ShapeError, listed
from minuend.libraries import on_devices

Operand: TypeAlias = torch.Tensor | int | float | np.generic

_CODES = {1: (torch.uint8, np.uint8), 2: (torch.int16, np.int16)}
"""Bytes of an element → types that either library has, for types of which NumPy has none of its own."""

_has_torch_function = torch.overrides.has_torch_function

_is_wrapped = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", lambda tensor: False)
"""Whether a tensor is one of ``torch.func``'s own, that stands for others; PyTorch has no public name for it."""

_transform = getattr(torch._C._functorch, "peek_interpreter_stack", lambda: True)
"""The transform of ``torch.func`` that is running, if any; PyTorch has no public name for it."""

_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
"""How many modes of ``__torch_dispatch__`` are running; PyTorch has no public name for it."""

_forward_mode = getattr(forward_ad, "_set_fwd_grad_enabled", lambda on: contextlib.nullcontext())
"""Turns forward mode on or off; PyTorch has no public name for it."""

_is_functional = getattr(torch, "_is_functional_tensor", lambda tensor: False)
"""Whether a tensor stands for another one, whose memory it has not; PyTorch has no public name for it."""


def subtract(a: Operand, b: Operand, out: torch.Tensor | None, overflow: Overflow) -> torch.Tensor:
    """Subtract tensors, or a tensor and a number; differentiable where an operand is, inside ``torch.func`` too."""
    if out is None and type(a) is torch.Tensor and type(b) is torch.Tensor:
        quick = _quick(a, b, overflow)
        if quick is not None:
            return quick
    if torch.overrides.has_torch_function((a, b, out)):  # subclasses say what becomes of a result
        found = torch.overrides.handle_torch_function(functions.subtract, (a, b, out), a, b, out, overflow=overflow)
        return found if out is None else out
    only_of("torch.Tensor", torch.Tensor, {"a": a, "b": b, "out": out}, "torch.from_numpy(x)")
    _check_recorder()
    if torch.compiler.is_compiling():
        return _uncompiled()(a, b, out, overflow)
    return _followed(a, b, out, overflow)


@functools.cache
def _uncompiled() -> Any:
    """The function that ``torch.compile`` calls between its parts: it traces no NumPy types that PyTorch lacks."""
    return torch.compiler.disable(_followed)


def _followed(a: Operand, b: Operand, out: torch.Tensor | None, overflow: Overflow) -> torch.Tensor:
    """Subtract, so that PyTorch follows what becomes of operands where it does."""
    tensors = [one for one in (a, b) if isinstance(one, torch.Tensor)]
    if not any(map(_is_followed, tensors)):
        return _computed(a, b, out, overflow)
    if out is not None:
        if any(map(_is_wrapped, tensors)):
            raise ShapeError("out", "out does not go with operands inside a transform of torch.func; leave it out")
        raise ShapeError("out", "out does not go with an operand that requires grad; leave it out, or use no_grad()")
    try:
        return _Subtract.apply(a, b, overflow)
    except RuntimeError as error:
        if "unctionalize" not in str(error):
            raise
        raise DTypeError(
            "types", "torch.func.functionalize takes no functions with a gradient of their own; call this outside of it"
        ) from None


def _check_recorder() -> None:
    """Check that nothing records what is called: it would take the result for a constant.

    Raises:
        DTypeError: ``torch.jit.trace`` or ``make_fx`` does.
    """
    recorder = "torch.jit.trace" if torch.jit.is_tracing() else "make_fx" if _is_recorded_by_make_fx() else ""
    if recorder:
        raise DTypeError(
            "types",
            f"{recorder} would record the difference as a constant; call this outside of it, or trace with "
            "torch.fx.symbolic_trace",
        )


def _is_recorded_by_make_fx() -> bool:
    if not _modes():
        return False
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    return get_proxy_mode() is not None


_EXCHANGE = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
"""What C code reads and makes tensors by; ``None`` before PyTorch 2.10. ``numpy()`` takes ten times as long."""

_is_traced = getattr(torch._C, "_is_tracing", torch.jit.is_tracing)
"""The same as ``torch.jit.is_tracing``, without what that asks of TorchScript."""

_PLAIN = frozenset(
    getattr(torch, name)
    for name, element in elements.TYPES.items()
    if element.kernel != "table" and element.name != "bfloat16" and hasattr(torch, name)
)
"""The types that NumPy has, too."""


def _quick(a: torch.Tensor, b: torch.Tensor, overflow: Overflow) -> torch.Tensor | None:
    """Subtract two plain tensors, in a quarter of the time that all checks take; ``None`` where those are needed."""
    if a.requires_grad or b.requires_grad or a.is_neg() or b.is_neg() or _has_torch_function((a,)):
        return None
    if _transform() is not None or forward_ad._current_level >= 0:  # tangents would be dropped
        return None
    if _modes() or _is_traced():
        return None
    if a.dtype not in _PLAIN or b.dtype not in _PLAIN:  # PyTorch hands integers of less than a byte on as bytes
        return None
    if _EXCHANGE is not None and overflow in POLICIES:
        found: torch.Tensor | None = _native.exchanged("subtract", _EXCHANGE, a, b, None, overflow)
        if found is not None:
            return found
        alike = a.is_cpu and a.dtype is b.dtype and a.layout is b.layout is torch.strided
        alike = alike and not a.is_nested and not b.is_nested
        own = _laid_out(a, b, overflow) if alike else None
        if own is not None and _native.exchanged("subtract", _EXCHANGE, a, b, own, overflow) is not None:
            return own
    if _is_functional(a) or _is_functional(b):
        return None
    try:  # numpy() refuses what holds no strided memory of the CPU
        x, y = a.numpy(), b.numpy()
    except (RuntimeError, TypeError, ValueError):
        return None
    return torch.from_numpy(functions.subtract(x, y, overflow=overflow)) if _has_one_layout(a, b) else None


def _is_followed(tensor: torch.Tensor) -> bool:
    """Whether PyTorch follows what becomes of a tensor: for gradients, tangents, or a transform of ``torch.func``."""
    if tensor.requires_grad and torch.is_grad_enabled():
        return True
    return _is_wrapped(tensor) or forward_ad.unpack_dual(tensor).tangent is not None


def _computed(a: Operand, b: Operand, out: torch.Tensor | None, overflow: Overflow) -> torch.Tensor:
    operands = {name: one for name, one in (("a", a), ("b", b), ("out", out)) if isinstance(one, torch.Tensor)}
    if any(one.device.type != "cpu" for one in operands.values()):
        return _on_device(operands, a, b, out, overflow)
    x, y = _seen(a, "a"), _seen(b, "b")
    if out is None:
        out = _laid_out(a, b, overflow)
        if out is None:
            return _tensor(np.asarray(functions.subtract(x, y, overflow=overflow)))
    _check_out(out)
    target = _seen(out, "out")
    if not out.is_inference():
        increment_version(out)  # or a gradient that needs its earlier elements would be wrong without an error
    functions.subtract(x, y, target, overflow=overflow)
    return out


def _has_one_layout(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether the order of dims in memory is the same for NumPy and PyTorch: they differ where operands' orders do."""
    return bool((a.is_contiguous() and b.is_contiguous()) or a.stride() == b.stride())


def _laid_out(a: Operand, b: Operand, overflow: Overflow) -> torch.Tensor | None:
    """An empty result as PyTorch lays it out; ``None`` where NumPy's order is the same, or there is no result."""
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor) or _has_one_layout(a, b):
        return None
    own = _layout(a.shape, a.stride(), b.shape, b.stride())
    if own is None:
        return None
    return torch.empty_strided(*own, dtype=_result_type(a.dtype, overflow))


@functools.cache
def _result_type(dtype: torch.dtype, overflow: Overflow) -> torch.dtype:
    element = elements.TYPES[str(dtype).removeprefix("torch.")]
    return getattr(torch, (element.widened if overflow == "widen" else element).name)


@functools.lru_cache(maxsize=1024)
def _layout(*operands: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Shape and strides of PyTorch's own result, of both operands' shapes and strides; ``None`` where there is none."""
    try:
        own = torch.maximum(*(torch.empty_strided(*operands[at : at + 2], device="meta") for at in (0, 2)))
    except RuntimeError:  # shapes that do not broadcast
        return None
    return tuple(own.shape), own.stride()


def _check_out(out: torch.Tensor) -> None:
    if out.requires_grad and torch.is_grad_enabled():
        raise ShapeError("out", "out requires grad, and what is written to it has none; pass out.detach()")
    if out.is_neg():
        raise ShapeError("out", "out is a negated view; pass a plain tensor")


class _Subtract(torch.autograd.Function):  # type: ignore[misc]
    """The gradient of a is the result's, that of b its negative; both are summed over dims that were repeated."""

    @staticmethod
    def forward(a: Operand, b: Operand, overflow: Overflow) -> torch.Tensor:
        return _computed(a, b, None, overflow)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Operand, ...], output: torch.Tensor) -> None:
        ctx.shapes = [one.shape if isinstance(one, torch.Tensor) else None for one in inputs[:2]]
        ctx.shape = output.shape

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None, None]:
        a, b = ctx.shapes
        return (
            gradient.sum_to_size(a) if ctx.needs_input_grad[0] else None,
            (-gradient).sum_to_size(b) if ctx.needs_input_grad[1] else None,
            None,
        )

    @staticmethod
    def jvp(ctx: Any, a: Any, b: Any, _: None) -> torch.Tensor:
        with _forward_mode(True):  # which PyTorch turns off here, so that a jvp around this one would see constants
            tangent = -b if a is None else a if b is None else a - b
            return tangent.expand(ctx.shape).contiguous()

    @staticmethod
    def vmap(
        info: object, in_dims: tuple[int | None, ...], a: Operand, b: Operand, overflow: Overflow
    ) -> tuple[torch.Tensor, int]:
        x, y = (_batched(one, dim) for one, dim in zip((a, b), in_dims, strict=False))
        rank = max(one.ndim for one in (x, y) if isinstance(one, torch.Tensor))
        return _Subtract.apply(_of_rank(x, rank), _of_rank(y, rank), overflow), 0


def _batched(operand: Operand, dim: int | None) -> Operand:
    """An operand with the dim first that ``vmap`` maps over; of one element where it does not map over this operand."""
    if not isinstance(operand, torch.Tensor):
        return operand
    return operand.unsqueeze(0) if dim is None else operand.movedim(dim, 0)


def _of_rank(operand: Operand, rank: int) -> Operand:
    """An operand whose first dim stays first when its others are aligned at the right."""
    if not isinstance(operand, torch.Tensor):
        return operand
    return operand.reshape(operand.shape[0], *(1,) * (rank - operand.ndim), *operand.shape[1:])


def _plain(operand: torch.Tensor, name: str) -> torch.Tensor:
    """A tensor without its history.

    Raises:
        DTypeError: it is no strided tensor of plain numbers.
    """
    kind = (
        "a quantized tensor" if operand.is_quantized
        else f"a tensor of layout {operand.layout}" if operand.layout != torch.strided
        else "a nested tensor" if operand.is_nested
        else "a functional tensor, which has no memory" if _is_functional(operand)
        else ""
    )  # fmt: skip
    if kind:
        raise DTypeError("types", f"{name} is {kind}; expected a strided tensor of plain numbers")
    try:
        return operand.detach().resolve_neg()
    except RuntimeError as error:  # of a subclass that holds no memory of its own
        raise DTypeError("types", f"{name} is a tensor whose memory cannot be read: {error}") from None


def _seen(operand: Operand, name: str) -> Array | Operand:
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
            found: Array = plain.numpy()
        else:
            found = plain.view(_CODES[element.itemsize][0]).numpy().view(element.memory)
        return found
    except (RuntimeError, TypeError, KeyError, ValueError) as error:  # the last of more dims than NumPy takes
        raise DTypeError("types", f"{name} is a tensor whose memory cannot be read: {error}") from None


def _tensor(array: Array) -> torch.Tensor:
    """An array as a tensor of the same memory."""
    element = elements.of_numpy(array.dtype)
    assert element is not None
    if element.kernel != "table" and element.name != "bfloat16":
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(_CODES[element.itemsize][1])).view(getattr(torch, element.name))


# ---- other devices --------------------------------------------------------------------------------------------


def _on_device(
    operands: dict[str, torch.Tensor], a: Operand, b: Operand, out: torch.Tensor | None, overflow: Overflow
) -> torch.Tensor:
    devices = {name: one.device for name, one in operands.items()}
    if len(set(devices.values())) > 1:
        places = listed([f"{name} on {device}" for name, device in devices.items()], "and")
        raise DTypeError("types", f"{places}: nothing is moved between devices; expected one device, pass x.to(device)")
    device = next(iter(devices.values()))
    if device.type == "meta":
        raise DTypeError(
            "types", "tensors on meta have no elements; expected some on the CPU or a device that computes"
        )
    home = Home(device)
    x: Any
    y: Any
    x, y = (_plain(one, name) if isinstance(one, torch.Tensor) else one for name, one in (("a", a), ("b", b)))
    if out is not None and overflow == "wrap" and _is_usual(x, y, out):
        on_devices.check(home, x)
        signed = _SIGNED.get(out.dtype, out.dtype)
        torch.sub(x.view(signed), y.view(signed), out=_plain(out, "out").view(signed))
        return out
    found = on_devices.subtract(home, x, y, overflow)
    if out is None:
        return found
    _check_out(out)
    plain = _plain(out, "out")
    on_devices.check_out(home, plain, found, plain.stride())
    plain.copy_(found)
    return out


_SIGNED = {getattr(torch, f"uint{bits}"): getattr(torch, f"int{bits}") for bits in (8, 16, 32, 64)}


def _is_usual(x: Operand, y: Operand, out: torch.Tensor) -> bool:
    """Whether PyTorch can write a difference where it is to be: no copy is needed, and there is nothing to refuse."""
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor) or not x.dtype is y.dtype is out.dtype:
        return False
    if out.dtype not in _PLAIN or out.layout != torch.strided or out.is_neg() or not out.is_contiguous():
        return False
    if out.requires_grad and torch.is_grad_enabled():
        return False
    begin, end = _extent(out)
    if any(begin < last and first < end for first, last in map(_extent, (x, y))):
        return False  # it may overlap an operand in part
    try:
        return bool(out.shape == torch.broadcast_shapes(x.shape, y.shape))
    except RuntimeError:  # they do not broadcast
        return False


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses of a tensor's storage: where it begins and ends."""
    storage = tensor.untyped_storage()
    begin = storage.data_ptr()
    return begin, begin + storage.nbytes()


@dataclass(frozen=True)
class Home(on_devices.Home):
    """A device."""

    device: torch.device
    functions = torch
    elsewhere = "pass x.cpu()"

    @property
    def words(self) -> str:
        return f"a torch.Tensor on {self.device}"

    def name(self, array: torch.Tensor) -> str:
        return str(array.dtype).removeprefix("torch.")

    def view(self, array: torch.Tensor, name: str) -> torch.Tensor:
        return array.view(getattr(torch, name))

    def cast(self, array: torch.Tensor, name: str) -> torch.Tensor:
        return array.to(getattr(torch, name))

    def put(self, array: Array) -> torch.Tensor:
        return torch.from_numpy(np.array(array)).to(self.device)

    def get(self, array: torch.Tensor) -> Array:
        found: Array = array.cpu().numpy()
        return found

    def first(self, mask: torch.Tensor) -> int:
        return int(mask.flatten().to(torch.uint8).argmax())
