"""PyTorch's tensors as their users have them: views, gradients, transforms, subclasses, narrow and strange types."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential import array_values as values
from differential.surface import Difference, Surface

NUMBERS = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e8m0fnu",
)
NARROW = ("uint1", "uint2", "int2", "uint4", "int4")
"""Integers of less than a byte: PyTorch makes and copies none, and hands their memory on as bytes."""
GRADIENTS = ("float16", "bfloat16", "float32", "float64")
OTHERS = (
    "uint3",
    "uint7",
    "int1",
    "int6",
    "bool",
    "complex64",
    "complex128",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "quint8",
    "qint8",
    "qint32",
    "quantised by channel",
    "conjugated",
    "sparse",
    "csr",
    "csc",
    "bsr",
    "meta",
    "nested",
    "mkldnn",
    "fake",
    "masked",
)
VIEWS = (
    "plain", "transposed", "strided", "expanded", "negated", "of a conjugate", "channels last", "offset", "inner",
    "permuted",
)  # fmt: skip
TRANSFORMS = (
    "",
    "",
    "",
    "",
    "grad",
    "jvp",
    "vmap",
    "vjp",
    "jacrev",
    "jacfwd",
    "hessian",
    "dual",
    "double",
    "checkpoint",
    "functional call",
    "vmap grad",
    "vmap of one",
    "vmap in vmap",
    "jvp in jvp",
    "jacfwd in jacfwd",
    "jvp in grad",
)
RECORDERS = ("jit.trace", "make_fx", "functionalize")
VMAPS = ("vmap", "vmap of one", "vmap in vmap")


@dataclass(frozen=True)
class Case:
    """Two tensors, and where the call stands.

    Attributes:
        a, b: ``tensor``, ``number`` or ``float`` (of Python), ``scalar`` (of NumPy), ``array``, ``parameter``,
            ``subclass``.
        transform: the function of PyTorch inside which the call stands.
    """

    a: str = "tensor"
    b: str = "tensor"
    dtype: str = "float32"
    other: str = ""
    shape: tuple[int, ...] = (3,)
    second: tuple[int, ...] = (3,)
    views: tuple[str, str] = ("plain", "plain")
    grads: tuple[bool, bool] = (False, False)
    mode: str = ""
    transform: str = ""
    out: str = ""
    policy: str = "wrap"
    number: float = 1
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw two tensors, mostly such as can be subtracted."""
    kinds = ("tensor", "number", "scalar", "array", "parameter", "subclass", "float")
    a = source.choices(kinds, (20, 1, 1, 0.3, 1, 1, 0.5))[0]
    b = source.choices(kinds, (16, 2, 1, 0.3, 1, 1, 0.5))[0]
    if not {a, b} & {"tensor", "parameter", "subclass"}:
        a = "tensor"
    dtype = source.choice(NUMBERS) if source.random() < 0.9 else source.choice([*NARROW, *OTHERS])
    grads = source.random() < 0.4
    if grads or "parameter" in (a, b):
        dtype = source.choice(GRADIENTS)
    shape = tuple(source.choice([0, 1, 1, 2, 3, 4, 5]) for _ in range(source.choice([0, 1, 2, 2, 3, 4, 5])))
    shape = (1,) * 65 if source.random() < 0.004 else shape
    second = tuple(1 if source.random() < 0.2 else n for n in shape)
    second = second[source.randrange(len(second) + 1) :] if source.random() < 0.2 else second
    if source.random() < 0.05:
        second = (7,)
    return Case(
        a,
        b,
        dtype,
        source.choice([*NUMBERS, *NARROW, *OTHERS]) if source.random() < 0.04 else "",
        shape,
        second,
        (source.choice(VIEWS), source.choice(VIEWS)),
        (grads and source.random() < 0.7, grads and source.random() < 0.7),
        source.choice(["", "", "", "", "no_grad", "inference", "made in inference", "deterministic"]),
        source.choice(TRANSFORMS) if grads else source.choices(["", *VMAPS, *RECORDERS], (40, 8, 4, 4, 1, 1, 1))[0],
        source.choice(["", "", "", "out", "out", "a", "b", "other shape", "needs grad", "other type"])
        if not grads or source.random() < 0.1
        else "",
        source.choice(values.POLICIES),
        source.choice([0, 1, 5, 127, 300, 0.5, -1]),
        source.randrange(2**32),
    )


# ---- tensors ----------------------------------------------------------------------------------------------------


def tensor(case: Case, which: int) -> Any:
    """The first or the second operand."""
    import torch

    kind = (case.a, case.b)[which]
    dtype = case.other or case.dtype if which else case.dtype
    if kind in ("number", "float"):
        return int(case.number) if kind == "number" else case.number + 0.5
    plain = dtype if dtype in NUMBERS and dtype[:3] != "bfl" and "8_" not in dtype else "float32"
    if kind == "scalar":
        return np.dtype(plain).type(abs(int(case.number)) % 100)
    shape = (case.shape, case.second)[which]
    if kind == "array":
        return np.ones(shape, plain)
    if dtype in OTHERS:
        return _other(dtype, shape)
    rng = np.random.default_rng(case.seed + which)
    if dtype in NARROW:
        made = _viewed(case.views[which], _elements("uint8", shape, rng), "uint8", rng).view(getattr(torch, dtype))
    else:
        made = _viewed(case.views[which], _elements(dtype, shape, rng), dtype, rng)
    if kind == "subclass":
        made = made.as_subclass(_reading())
    if kind == "parameter":
        return torch.nn.Parameter(made)
    if case.grads[which] and made.is_floating_point():
        made = made.detach().requires_grad_()
    return made


def _elements(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """A tensor of random elements, by their bytes: not by the code under test."""
    import torch

    count = int(np.prod(shape, dtype=int))
    found = values.numbers(dtype, max(1, count), rng, "edges")[:count]
    if not count:
        return torch.empty(shape, dtype=getattr(torch, dtype))
    return torch.frombuffer(bytearray(found.tobytes()), dtype=torch.uint8).view(getattr(torch, dtype)).reshape(shape)


def _viewed(view: str, made: Any, dtype: str, rng: np.random.Generator) -> Any:
    """The tensor's elements, as a view of another memory."""
    import torch

    if view == "transposed" and made.ndim > 1:
        return made.transpose(0, -1).contiguous().transpose(0, -1)
    if view == "strided" and made.ndim:
        wide = _elements(dtype, (*made.shape[:-1], 2 * made.shape[-1]), rng)
        wide[..., ::2] = made
        return wide[..., ::2]
    if view == "expanded" and made.ndim and made.shape[0]:
        return made[:1].expand(made.shape)
    if view == "negated" and dtype in GRADIENTS:
        return torch._neg_view(made)
    if view == "of a conjugate" and dtype in ("float32", "float64"):  # whose imaginary part has the negative bit
        return torch.complex(torch.zeros_like(made), -made).conj().imag
    if view == "channels last" and made.ndim in (4, 5):
        form = torch.channels_last if made.ndim == 4 else torch.channels_last_3d
        return made.contiguous(memory_format=form)
    if view == "permuted" and made.ndim > 1:
        order = rng.permutation(made.ndim).tolist()
        return made.permute(order).contiguous().permute([order.index(dim) for dim in range(made.ndim)])
    if view == "inner" and made.ndim:
        wide = torch.stack([made, made], made.ndim - 1)
        return wide.select(made.ndim - 1, 0)
    if view == "offset":
        longer = torch.cat([made.reshape(-1)[:0], made.reshape(-1)]) if "float8" in dtype else made.reshape(-1)
        return torch.nn.functional.pad(longer, (3, 0))[3:].reshape(made.shape) if dtype in GRADIENTS else made
    return made


def _other(dtype: str, shape: tuple[int, ...]) -> Any:
    import torch

    if dtype == "sparse":
        return torch.ones(shape).to_sparse() if shape else torch.ones(1).to_sparse()
    if dtype == "csr":
        return torch.ones(2, 3).to_sparse_csr()
    if dtype == "meta":
        return torch.ones(shape, device="meta")
    if dtype == "csc":
        return torch.ones(2, 3).to_sparse_csc()
    if dtype == "bsr":
        return torch.ones(2, 4).to_sparse_bsr((1, 2))
    if dtype == "conjugated":
        return torch.ones(shape, dtype=torch.complex64).conj()
    if dtype == "quantised by channel":
        return torch.quantize_per_channel(
            torch.ones(2, 3), torch.ones(2), torch.zeros(2, dtype=torch.int64), 0, torch.qint8
        )
    if dtype in ("quint8", "qint8", "qint32"):
        return torch.quantize_per_tensor(torch.ones(shape), 0.5, 0, getattr(torch, dtype))
    if dtype == "nested":
        return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    if dtype == "mkldnn":
        return torch.ones(2, 3).to_mkldnn()
    if dtype == "fake":
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            return torch.ones(shape)
    if dtype == "masked":
        from torch.masked import masked_tensor

        return masked_tensor(torch.ones(3), torch.tensor([True, False, True]))
    return _zeros(shape, dtype)


def _zeros(shape: tuple[int, ...], dtype: str) -> Any:
    import torch

    if "int" in dtype and values.bits(dtype) < 8:
        return torch.zeros(shape, dtype=torch.uint8).view(getattr(torch, dtype))
    return torch.zeros(shape, dtype=getattr(torch, dtype))


def _reading() -> Any:
    import torch

    class Reading(torch.Tensor):  # type: ignore[misc]
        """A subclass without anything of its own."""

    return _CLASSES.setdefault("Reading", Reading)


_CLASSES: dict[str, Any] = {}

# ---- comparing --------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Subtract, and compare with PyTorch's own difference and its gradients, or with the rule that refuses it."""
    import torch

    import minuend as mn

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            a, b = tensor(case, 0), tensor(case, 1)
        except RuntimeError as error:  # a parameter of integers, a masked tensor in inference mode
            return f"not made: {type(error).__name__}"
        out = _out(case, a, b)
        if out is not None and not isinstance(out, torch.Tensor):
            return "refused: not drawn"
        reason = refusal(case, a, b, out)
        modes: dict[str, Callable[[], Any]] = {"no_grad": torch.no_grad, "inference": torch.inference_mode}
        with modes.get(case.mode, torch.enable_grad)():
            if reason or out is not None or not case.transform or not _traced(case, a, b):
                return _plain(case, a, b, out, reason)
            if case.transform in RECORDERS:
                return _recorded(case, a, b)
            try:
                return _transformed(case, a, b)
            except mn.MinuendError as error:
                raise Difference(f"ours refuses inside {case.transform}: {error}") from None


def _traced(case: Case, a: Any, b: Any) -> bool:
    """Whether a transform has something to do: tensors of floats, that are not empty."""
    import torch

    if case.transform in (*VMAPS, *RECORDERS):
        return all(isinstance(one, torch.Tensor) for one in (a, b))
    return all(isinstance(one, torch.Tensor) and one.dtype in (torch.float32, torch.float64) for one in (a, b))


def _out(case: Case, a: Any, b: Any) -> Any:
    import torch

    if not case.out:
        return None
    if case.out in ("a", "b"):
        return a if case.out == "a" else b
    try:
        shape = torch.broadcast_shapes(*(getattr(one, "shape", ()) for one in (a, b)))
    except RuntimeError:
        shape = case.shape
    name = case.dtype if case.dtype in NUMBERS + NARROW else "float32"
    to = values.wide(name) if case.policy == "widen" and name in values.INTEGERS else name
    if case.out == "other type":
        to = "int32" if to != "int32" else "float32"
    made = _zeros((*shape, 2) if case.out == "other shape" else tuple(shape), to)
    return torch.zeros(made.shape, requires_grad=True) if case.out == "needs grad" else made


def refusal(case: Case, a: Any, b: Any, out: Any) -> str:
    """Why a call has to be refused; nothing where it has not."""
    import torch

    tensors = [one for one in (a, b) if isinstance(one, torch.Tensor)]
    kinds = [(case.a, case.dtype), (case.b, case.other or case.dtype)]
    if any(dtype in OTHERS for kind, dtype in kinds if kind in ("tensor", "subclass", "parameter")):
        return "a type, layout or class without a difference"
    if any(isinstance(one, np.ndarray) and one.ndim for one in (a, b)):
        return "an array beside a tensor"
    if any(one.ndim > 64 for one in tensors):
        return "more dims than NumPy takes"
    dtypes = {one.dtype for one in tensors}
    if len(dtypes) > 1:
        return "two types"
    name = str(tensors[0].dtype).removeprefix("torch.")
    for one in (a, b):
        if isinstance(one, np.generic | np.ndarray) and str(one.dtype) != name:
            return "a scalar of another type"
        if type(one) is float and name in values.INTEGERS:
            return "a float beside integers"
        if type(one) is int and name in values.INTEGERS and not values.limits(name)[0] <= one <= values.limits(name)[1]:
            return "a number outside the type"
    try:
        shape = torch.broadcast_shapes(*(one.shape for one in tensors))
    except RuntimeError:
        return "shapes that do not broadcast"
    if out is None:
        return ""
    return _of_out(case, tensors, out, shape, name)


def _of_out(case: Case, tensors: list[Any], out: Any, shape: Any, name: str) -> str:

    grad = case.mode not in ("no_grad", "inference")
    if grad and any(one.requires_grad for one in (*tensors, out)):
        return "out beside gradients"
    to = values.wide(name) if case.policy == "widen" and name in values.INTEGERS else name
    if str(out.dtype) != f"torch.{to}":
        return "out of another type"
    if out.shape != shape:
        return "out of another shape"
    if out.is_neg():
        return "out is a negated view"
    if out.numel() and any(n > 1 and step == 0 for n, step in zip(out.shape, out.stride(), strict=True)):
        return "two elements of out share an address"
    return ""


def _array(one: Any, name: str) -> Any:
    """The elements of an operand, by their bytes."""
    import torch

    if not isinstance(one, torch.Tensor):
        return values.operand(name, one) if type(one) in (int, float) else np.asarray(one)
    plain = one.detach().as_subclass(torch.Tensor).resolve_neg()
    plain = plain.view(torch.uint8) if name in NARROW else plain
    plain = plain.clone(memory_format=torch.contiguous_format)
    if not plain.numel():
        return np.zeros(plain.shape, values.dtype_of(name))
    found = plain.flatten().view(torch.uint8).numpy().tobytes()
    return np.frombuffer(found, values.dtype_of(name)).reshape(plain.shape)


def _plain(case: Case, a: Any, b: Any, out: Any, reason: str) -> str:
    import torch

    import minuend as mn

    name = next(str(one.dtype).removeprefix("torch.") for one in (a, b) if isinstance(one, torch.Tensor))
    x: Any = None
    y: Any = None
    if not reason:
        x, y = np.broadcast_arrays(*(_array(one, name) for one in (a, b)))
    writes = -1 if out is None or reason or out.is_inference() else out._version
    try:
        found = values.ours(a, b, out=out, overflow=case.policy)
    except mn.OverflowFound:
        if reason or name not in values.INTEGERS or not values.overflowing(name, (x, y), case.policy).any():
            raise Difference("ours overflows; nothing does") from None
        return "overflow"
    except (mn.MinuendError, TypeError) as error:  # PyTorch's own, where two subclasses know nothing of each other
        if reason:
            return f"refused: {reason}"
        raise Difference(f"ours refuses: {error}") from None
    if reason:
        raise Difference(f"ours {type(found)} {found.dtype}; expected a refusal: {reason}")
    if out is not None and found is not out:
        raise Difference("ours returns another tensor than out")
    if out is not None and writes >= 0 and out._version == writes:
        raise Difference("ours does not count that out was written, so a gradient of its earlier elements is wrong")
    if (
        name in values.INTEGERS
        and case.policy in ("error", "widen")
        and values.overflowing(name, (x, y), case.policy).any()
    ):
        raise Difference("ours gives an answer; differences overflow")
    _same(case, name, found, values.difference(name, (x, y), case.policy))
    if out is None:
        _as_theirs(case, found, a, b, name)
    return "equal"


def _same(case: Case, name: str, found: Any, want: Any) -> None:
    to = str(want.dtype)
    if str(found.dtype) != f"torch.{to}" or tuple(found.shape) != want.shape:
        raise Difference(f"ours is of {found.dtype} and shape {tuple(found.shape)}, theirs of {to} and {want.shape}")
    got, expected = values.compared(to, _array(found, to)), values.compared(to, want)
    if not np.array_equal(got, expected):
        raise Difference(f"ours {_array(found, to)!r:.150}, theirs {want!r:.150}")


def _as_theirs(case: Case, found: Any, a: Any, b: Any, name: str) -> None:
    """The class, the strides and the gradients are PyTorch's own."""
    import torch

    if name not in (*GRADIENTS, "int8", "int16", "int32", "int64", "uint8"):
        return
    x, y = (one.item() if isinstance(one, np.generic | np.ndarray) else one for one in (a, b))
    theirs = x - y
    if type(found) is not type(theirs):
        raise Difference(f"ours is a {type(found).__name__}, theirs a {type(theirs).__name__}")
    if found.requires_grad != theirs.requires_grad or found.is_inference() != theirs.is_inference():
        raise Difference(f"ours requires grad: {found.requires_grad}, theirs: {theirs.requires_grad}")
    steps = [[step for step, n in zip(one.stride(), one.shape, strict=True) if n > 1] for one in (found, theirs)]
    if found.numel() and steps[0] != steps[1]:
        raise Difference(f"ours has strides {found.stride()}, theirs {theirs.stride()}")
    if found.requires_grad:
        leaves = [one for one in (a, b) if isinstance(one, torch.Tensor) and one.requires_grad]
        weights = torch.linspace(1, 2, max(1, theirs.numel()), dtype=torch.float64)[: theirs.numel()].to(theirs.dtype)
        weights = weights.reshape(theirs.shape)
        mine, own = (torch.autograd.grad(one, leaves, weights) for one in (found, theirs))
        _gradients(mine, own)


def _gradients(mine: Any, own: Any) -> None:
    import torch

    for one, other in zip(mine, own, strict=True):
        if type(one) is not type(other) or one.dtype != other.dtype or one.shape != other.shape:
            raise Difference(
                f"our gradient is {type(one)} {one.dtype} {one.shape}, theirs {type(other)} {other.dtype} {other.shape}"
            )
        if not torch.equal(torch.nan_to_num(one), torch.nan_to_num(other)):
            raise Difference(f"our gradient {one}, theirs {other}")


def _recorded(case: Case, a: Any, b: Any) -> str:
    """Inside what records calls, or stands for tensors without memory, the difference has to be refused."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    import minuend as mn

    def minus(x: Any, y: Any) -> Any:
        return mn.subtract(x, y)

    calls: dict[str, Callable[[], Any]] = {
        "jit.trace": lambda: torch.jit.trace(minus, (a.detach(), b.detach())),
        "make_fx": lambda: make_fx(minus)(a.detach(), b.detach()),
        "functionalize": lambda: torch.func.functionalize(minus)(a.detach(), b.detach()),
    }
    try:
        calls[case.transform]()
    except mn.DTypeError:
        return f"refused: inside {case.transform}"
    raise Difference(f"ours gives an answer inside {case.transform}")


def _transformed(case: Case, a: Any, b: Any) -> str:
    """The same function of both differences, inside one of PyTorch's transforms."""
    import operator

    import minuend as mn

    try:
        own = _inside(case, operator.sub, a.detach(), b.detach())
    except (RuntimeError, NotImplementedError) as error:
        return f"theirs refuse inside {case.transform}: {type(error).__name__}"
    mine = _inside(case, mn.subtract, a.detach(), b.detach())
    _gradients(mine, own)
    return f"equal inside {case.transform}"


def _inside(  # noqa: PLR0912 - a transform after the other
    case: Case, minus: Callable[[Any, Any], Any], a: Any, b: Any
) -> list[Any]:
    """What a transform makes of a function that subtracts."""
    import torch
    from torch.autograd import forward_ad
    from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

    def total(x: Any, y: Any) -> Any:
        return (minus(x, y) ** 2).sum()

    kind = case.transform
    if kind == "grad":
        return list(grad(total, (0, 1))(a, b))
    if kind == "vmap grad":
        if not a.ndim or a.shape != b.shape or not a.shape[0]:
            return []
        return list(vmap(grad(total, (0, 1)))(a, b))
    if kind == "jvp":
        return list(jvp(minus, (a, b), (torch.ones_like(a), torch.full_like(b, 3))))
    if kind in ("jvp in jvp", "jvp in grad"):

        def along(x: Any) -> Any:
            return jvp(lambda z: minus(z * x * z, b * z), (x,), (x * x,))[1]

        return (
            list(jvp(along, (a,), (torch.ones_like(a),)))
            if kind == "jvp in jvp"
            else [grad(lambda x: along(x).sum())(a)]
        )
    if kind == "jacfwd in jacfwd":
        return [jacfwd(jacfwd(lambda x: minus(x**3, b * x).sum()))(a)]
    if kind == "vjp":
        found, back = vjp(minus, a, b)
        return [found, *back(torch.ones_like(found))]
    if kind in ("jacrev", "jacfwd"):
        return [{"jacrev": jacrev, "jacfwd": jacfwd}[kind](minus)(a, b)]
    if kind == "hessian":
        return [hessian(total)(a, b)]
    if kind == "dual":
        with forward_ad.dual_level():
            found = minus(forward_ad.make_dual(a, torch.ones_like(a)), b)
            tangent = forward_ad.unpack_dual(found).tangent
        return [torch.zeros(()) if tangent is None else tangent]
    if kind == "vmap":
        if not a.ndim or not b.ndim or a.shape[0] != b.shape[0] or not a.shape[0]:
            return []
        return [vmap(minus)(a, b)] if a.shape == b.shape else []
    if kind == "vmap of one":  # the last axis of the first, and all of the second each time
        return [vmap(minus, (-1, None), -1)(a, b)] if a.ndim and a.shape[-1] else []
    if kind == "vmap in vmap":
        return (
            [vmap(vmap(minus, (None, 0)), (0, None))(a, b)] if a.ndim and b.ndim and 0 not in a.shape + b.shape else []
        )
    if kind == "double":
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        first = torch.autograd.grad(total(x, y), (x, y), create_graph=True)
        return list(torch.autograd.grad(sum(one.sum() for one in first), (x, y)))
    if kind == "checkpoint":
        from torch.utils.checkpoint import checkpoint

        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        return list(torch.autograd.grad(checkpoint(total, x, y, use_reentrant=False), (x, y)))
    if kind == "functional call":
        layer = _layer(minus)
        return list(grad(lambda weights: (functional_call(layer, weights, (a,)) ** 2).sum())({"weight": b}).values())
    return [minus(a, b)]


def _layer(minus: Callable[[Any, Any], Any]) -> Any:
    import torch

    class Layer(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x: Any) -> Any:
            return minus(x, self.weight)

    return Layer()


SURFACES = (Surface("torch", "PyTorch's tensors", ("torch",), draw, compare, Case),)
