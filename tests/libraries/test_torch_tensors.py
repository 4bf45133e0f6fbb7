"""PyTorch's tensors in and out: every type, layout and policy as of NumPy arrays, without a copy."""

from __future__ import annotations

import threading
import time
import warnings

import numpy as np
import oracle
import pytest

import minuend as mn
from minuend import _native
from minuend.core.elements import TYPES
from minuend.errors import DTypeError, OverflowFound, ShapeError
from minuend.libraries import on_devices, torch_tensors

torch = pytest.importorskip("torch")

NAMES = [name for name in TYPES if isinstance(getattr(torch, name, None), torch.dtype) and TYPES[name].bits >= 8]


def tensor(element, codes):
    """A tensor of some codes, made without the code under test."""
    array = codes.astype(f"u{element.itemsize}")
    plain = torch.frombuffer(bytearray(array.tobytes()), dtype=torch.uint8)
    return plain.view(getattr(torch, element.name)).reshape(array.shape)


def codes_of(result):
    return np.frombuffer(result.contiguous().view(torch.uint8).numpy().tobytes(), f"u{result.element_size()}")


def lattice(element):
    edges = [int(code) for code in oracle.array(element, [0, 1, 2, 3]).view(f"u{element.itemsize}")]
    top = (1 << element.bits) - 1
    edges += [top, top // 2, top // 2 + 1, top // 3, 5, top - 1]
    codes = np.array(edges, np.uint64)
    return np.repeat(codes, len(edges)), np.tile(codes, len(edges))


@pytest.mark.parametrize("name", NAMES)
def test_every_type_gives_a_tensor_of_the_bits_that_arrays_give(name):
    element = TYPES[name]
    a, b = lattice(element)
    x, y = (one.astype(f"u{element.itemsize}").view(element.memory) for one in (a, b))
    want = mn.subtract(x, y)
    got = mn.subtract(tensor(element, a), tensor(element, b))
    assert isinstance(got, torch.Tensor)
    assert got.dtype == getattr(torch, name)
    assert np.array_equal(codes_of(got), want.view(f"u{element.itemsize}"))


@pytest.mark.parametrize("policy", ["wrap", "saturate", "widen", "error"])
@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "uint16"])
def test_policies_are_those_of_arrays(name, policy):
    a, b = torch.arange(3, 9).to(getattr(torch, name)), torch.arange(0, 6).to(getattr(torch, name))
    want = mn.subtract(a.numpy(), b.numpy(), overflow=policy)
    got = mn.subtract(a, b, overflow=policy)
    assert str(got.dtype) == f"torch.{want.dtype}"
    assert np.array_equal(got.numpy(), want)


def test_an_overflow_is_told_with_its_index():
    with pytest.raises(OverflowFound) as caught:
        mn.subtract(
            torch.tensor([[5, 1]], dtype=torch.uint8), torch.tensor([[5, 2]], dtype=torch.uint8), overflow="error"
        )
    assert (caught.value.index, caught.value.count, caught.value.a, caught.value.b) == ((0, 1), 1, 1, 2)


def test_nothing_is_copied_on_the_way_out_or_in():
    out = torch.zeros(4, 3)
    a, b = torch.rand(3, 4).t(), torch.rand(3)
    assert mn.subtract(a, b, out=out) is out
    assert torch.equal(out, a - b)
    assert mn.subtract(out, out, out=out) is out
    assert not out.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_strides_of_every_kind(dtype):
    base = torch.arange(120).to(dtype).reshape(4, 5, 6)
    views = [
        base.permute(2, 0, 1),
        base[::2, 1:4, ::3],
        base[:1].expand(4, 5, 6),
        base[..., 0],
        base[0, 0, 0],
        base[:0],
    ]
    for view in views:
        got = mn.subtract(view, view.flip(0) if view.ndim else view)
        assert torch.equal(got, view - (view.flip(0) if view.ndim else view))
        assert torch.equal(mn.subtract(view, 2), view - 2)


def test_a_negated_view_is_read_as_its_numbers():
    negated = torch._neg_view(torch.tensor([1.0, -2.0]))
    assert mn.subtract(negated, torch.zeros(2)).tolist() == [-1.0, 2.0]
    with pytest.raises(ShapeError, match="out is a negated view; pass a plain tensor"):
        mn.subtract(torch.zeros(2), torch.zeros(2), out=negated)


def test_the_gradient_is_the_results_and_its_negative_summed_over_repeated_dims():
    a = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
    b = torch.rand(3, dtype=torch.float64, requires_grad=True)
    got = mn.subtract(a, b)
    weights = torch.rand(4, 3, dtype=torch.float64)
    (got * weights).sum().backward()
    assert torch.equal(a.grad, weights)
    assert torch.equal(b.grad, -weights.sum(0))
    assert torch.autograd.gradcheck(mn.subtract, (a, b))
    assert torch.autograd.gradgradcheck(mn.subtract, (a, b))
    with torch.no_grad():
        assert not mn.subtract(a, b).requires_grad


def pairs():
    a = torch.linspace(-1, 2, 12, dtype=torch.float64).reshape(4, 3)
    return [(a, a.flip(0)), (a, a[0]), (a[:, :1], a[0]), (a, torch.tensor(0.5, dtype=torch.float64))]


def total(minus, x, y):
    return (minus(x, y) ** 2).sum()


def loss(minus):
    return lambda x, y: total(minus, x, y)


def dual(minus, a, b):
    with torch.autograd.forward_ad.dual_level():
        found = minus(torch.autograd.forward_ad.make_dual(a, torch.ones_like(a)), b)
        return torch.autograd.forward_ad.unpack_dual(found).tangent


def same_rank(minus, a, b):
    return torch.func.vmap(minus)(a, b) if a.shape == b.shape else torch.func.vmap(minus, (0, None))(a, b)


def twice_forward(minus, a, b):
    """The second derivative along one direction, by forward mode both times."""

    def first(x):
        return torch.func.jvp(lambda y: minus(y**3, y * b), (x,), (torch.ones_like(x),))[1]

    return torch.func.jvp(first, (a,), (torch.ones_like(a),))[1]


def forward_of_tangents(minus, a, b):
    """The tangent stands for a variable of the outer function, too."""

    def first(x, y):
        return torch.func.jvp(lambda z: minus(z * y, z), (x,), (x * y.sum(),))[1]

    return torch.func.jvp(first, (a, b), (torch.ones_like(a), torch.full_like(b, 3)))[1]


def tangent_that_requires_grad(minus, a, b):
    tangent = torch.full_like(a, 2).requires_grad_()
    with torch.enable_grad(), torch.autograd.forward_ad.dual_level():
        found = torch.autograd.forward_ad.unpack_dual(minus(torch.autograd.forward_ad.make_dual(a, tangent), b))
        return torch.autograd.grad((found.tangent**2).sum(), tangent)[0]


TRANSFORMS = {
    "forward mode": dual,
    "jvp": lambda minus, a, b: torch.func.jvp(minus, (a, b), (torch.ones_like(a), torch.full_like(b, 3)))[1],
    "jvp of one": lambda minus, a, b: torch.func.jvp(lambda y: minus(a, y), (b,), (torch.ones_like(b),))[1],
    "grad": lambda minus, a, b: torch.func.grad(loss(minus), 1)(a, b),
    "vjp": lambda minus, a, b: torch.func.vjp(minus, a, b)[0],
    "vmap": same_rank,
    "vmap over the last dim": lambda minus, a, b: torch.func.vmap(lambda x: minus(x, b.sum()), -1, -1)(a),
    "vmap of grad": lambda minus, a, b: torch.func.vmap(torch.func.grad(loss(minus)), (0, None))(a, b),
    "jacrev": lambda minus, a, b: torch.func.jacrev(minus)(a, b),
    "jacfwd": lambda minus, a, b: torch.func.jacfwd(minus, 1)(a, b),
    "hessian": lambda minus, a, b: torch.func.hessian(loss(minus))(a, b),
    "jvp in jvp": twice_forward,
    "jvp in jvp, with a tangent of the outer one": forward_of_tangents,
    "jacfwd in jacfwd": lambda minus, a, b: torch.func.jacfwd(torch.func.jacfwd(lambda x: minus(x**3, b).sum()))(a),
    "jvp in grad": lambda minus, a, b: torch.func.grad(lambda x: twice_forward(minus, x, b).sum())(a),
    "a tangent that requires grad": tangent_that_requires_grad,
}


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # by PyTorch itself
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_inside_pytorchs_transforms_it_is_pytorchs_own_difference(transform):
    """A tangent was dropped without an error: the derivative was 0."""
    for a, b in pairs():
        assert torch.equal(transform(mn.subtract, a, b), transform(torch.sub, a, b))
        with torch.no_grad():
            assert torch.equal(transform(mn.subtract, a, b), transform(torch.sub, a, b))


def test_a_subclass_gives_what_pytorch_would_wrap_the_result_in():
    class Reading(torch.Tensor):
        pass

    class Logging(torch.Tensor):
        called = None

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            cls.called = function
            return super().__torch_function__(function, types, args, kwargs)

    plain = torch.tensor([1.5, 2.5])
    reading, logging = plain.as_subclass(Reading), plain.as_subclass(Logging)
    for a, b in ((reading, plain), (plain, reading), (2, reading), (reading, reading)):
        assert type(mn.subtract(a, b)) is Reading
    assert type(mn.subtract(logging, 1)) is Logging
    assert Logging.called is mn.subtract
    out = torch.zeros(2)
    assert mn.subtract(reading, 1, out=out) is out
    assert type(mn.subtract(torch.nn.Parameter(plain), 1)) is torch.Tensor
    with torch.device("cpu"):
        assert mn.subtract(plain, 1).tolist() == [0.5, 1.5]


REFUSED = {
    "bool": (torch.tensor([True]), torch.tensor([True])),
    "complex": (torch.zeros(1, dtype=torch.complex64),) * 2,
    "other types": (torch.zeros(1), torch.zeros(1, dtype=torch.float64)),
    "an array": (torch.zeros(1), np.zeros(1, np.float32)),
    "sparse": (torch.zeros(1).to_sparse(), torch.zeros(1)),
    "meta": (torch.zeros(1, device="meta"), torch.zeros(1)),
}


@pytest.mark.parametrize("operands", REFUSED.values(), ids=REFUSED)
def test_what_has_no_difference_here_is_refused(operands):
    with pytest.raises(DTypeError):
        mn.subtract(*operands)


@pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors:UserWarning")
def test_a_masked_tensor_is_refused_in_inference_mode_too():
    masked = torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))
    for mode in (torch.inference_mode, torch.enable_grad):
        with mode(), pytest.raises(DTypeError, match="a is a tensor whose memory cannot be read: "):
            mn.subtract(masked, 1.0)


def test_errors_say_what_to_do():
    told = {
        "b is a numpy.ndarray beside a torch.Tensor; nothing is converted, expected arrays of one kind: "
        "torch.from_numpy(x)": (torch.zeros(1), np.zeros(1, np.float32)),
        "a on meta and b on cpu: nothing is moved between devices; expected one device, pass x.to(device)": (
            torch.zeros(1, device="meta"),
            torch.zeros(1),
        ),
        "tensors on meta have no elements; expected some on the CPU or a device that computes": (
            torch.zeros(1, device="meta"),
            2,
        ),
        "a is of float32 and b of int32; nothing is promoted, convert one of them": (  # a tensor has no astype
            torch.zeros(1),
            torch.zeros(1, dtype=torch.int32),
        ),
        "a is a tensor of layout torch.sparse_coo; expected a strided tensor of plain numbers": (
            torch.zeros(1).to_sparse(),
            torch.zeros(1),
        ),
    }
    for text, operands in told.items():
        with pytest.raises(DTypeError) as caught:
            mn.subtract(*operands)
        assert str(caught.value) == text
    with pytest.raises(ShapeError) as refused:
        mn.subtract(torch.zeros(2, requires_grad=True), torch.zeros(2), out=torch.zeros(2))
    assert str(refused.value) == "out does not go with an operand that requires grad; leave it out, or use no_grad()"


def test_a_small_call_takes_the_short_way_and_any_other_all_checks(monkeypatch):
    def no(*_):
        raise AssertionError("the checks were run")

    a, b = torch.arange(6).reshape(2, 3), torch.arange(3)
    with monkeypatch.context() as patched:
        patched.setattr(torch_tensors, "_computed", no)
        assert mn.subtract(a, b).tolist() == [[0, 0, 0], [3, 3, 3]]
        assert mn.subtract(a.t(), a.t()[:, :1], overflow="widen").dtype == torch.int64
        for one, other in ((a, 1), (a.to(torch.bfloat16), a.to(torch.bfloat16)), (a, torch._neg_view(b.float()))):
            with pytest.raises(AssertionError, match="the checks were run"):
                mn.subtract(one, other)
    followed = torch.ones(3, requires_grad=True)
    assert mn.subtract(followed, torch.ones(3)).requires_grad
    assert mn.subtract(torch.ones(3), followed).requires_grad
    with pytest.raises(DTypeError, match="functionalize takes no functions with a gradient of their own"):
        torch.func.functionalize(mn.subtract)(a, b)


def laid_out(one):
    return [step for step, n in zip(one.stride(), one.shape, strict=True) if n > 1]


LAST = torch.arange(120.0).reshape(2, 3, 4, 5)
LAYOUTS = {
    "channels last": (LAST.contiguous(memory_format=torch.channels_last), LAST),
    "channels last of b": (LAST, LAST.contiguous(memory_format=torch.channels_last)),
    "channels last of a volume": (LAST[None].contiguous(memory_format=torch.channels_last_3d), LAST[None]),
    "a bias": (LAST.contiguous(memory_format=torch.channels_last), torch.ones(3, 1, 1)),
    "transposed": (LAST[0, 0].t(), LAST[0, 0].t().contiguous()),
    "two orders": (LAST[0].permute(2, 0, 1), LAST[0].permute(1, 0, 2).contiguous().permute(2, 1, 0).reshape(5, 3, 4)),
    "gaps": (LAST[..., ::2].permute(3, 0, 1, 2), LAST[..., ::2].contiguous().permute(3, 0, 1, 2)),
}


@pytest.mark.parametrize("operands", LAYOUTS.values(), ids=LAYOUTS)
def test_dims_lie_in_memory_as_in_pytorchs_own_difference(operands):
    """channels_last less a contiguous tensor was contiguous: what follows is slower, or is refused."""
    for dtype in (torch.float32, torch.bfloat16, torch.int16):
        a, b = (one.to(dtype, memory_format=torch.preserve_format) for one in operands)
        found, own = mn.subtract(a, b), a - b
        assert laid_out(found) == laid_out(own)
        assert torch.equal(found, own)
        assert laid_out(mn.subtract(a, b, overflow="widen")) == laid_out(own)
    followed = operands[0].clone().requires_grad_()
    assert laid_out(mn.subtract(followed, operands[1])) == laid_out(followed - operands[1])


def test_shapes_that_do_not_broadcast_are_refused_in_any_layout():
    with pytest.raises(ShapeError, match="do not broadcast"):
        mn.subtract(LAYOUTS["channels last"][0], torch.ones(7))


def test_pytorch_knows_that_an_out_was_written():
    """A gradient that needs the earlier elements of out was wrong without an error."""
    weight, out = torch.ones(2, requires_grad=True), torch.ones(2)
    loss = (weight * out).sum()
    mn.subtract(torch.ones(2), torch.ones(2), out=out)
    assert out._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with pytest.raises(OverflowFound):
        mn.subtract(torch.tensor([0, 3], dtype=torch.uint8), 1, out=(written := torch.zeros(2, dtype=torch.uint8)),
                    overflow="error")  # fmt: skip
    assert written._version == 1  # some of its elements may have been
    with torch.inference_mode():
        made = torch.zeros(2)
    assert mn.subtract(torch.ones(2), 1, out=made) is made


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_what_would_record_the_difference_as_a_constant_is_refused():
    """A traced function gave the difference of the tensors that it was traced with, for any other ones."""
    from torch.fx.experimental.proxy_tensor import make_fx

    a = torch.tensor([1.0, 2.0])

    def one(x, y):
        return mn.subtract(x, y)

    def other(x, y):
        return mn.subtract(x.to(torch.bfloat16), 1)

    for trace, name in (
        (torch.jit.trace, "torch.jit.trace"),
        (lambda call, tensors: make_fx(call)(*tensors), "make_fx"),
    ):
        for call in (one, other):
            with pytest.raises(DTypeError, match=f"{name} would record the difference as a constant"):
                trace(call, (a, a))
    traced = torch.fx.symbolic_trace(one)
    assert traced(a, 3 * a).tolist() == [-2.0, -4.0]


def test_modes_that_only_look_on_change_nothing():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Looks(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    with Looks():
        assert mn.subtract(torch.ones(2), torch.zeros(2)).tolist() == [1.0, 1.0]


def test_a_functional_tensor_has_no_memory():
    """Its numbers were those of memory that nothing wrote."""
    plain = torch.ones(2)
    functional = torch._to_functional_tensor(plain)
    for operands in ((functional, plain), (plain, functional), (functional, 1)):
        with pytest.raises(DTypeError, match="is a functional tensor, which has no memory"):
            mn.subtract(*operands)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_nested_tensors_are_refused_as_such():
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with pytest.raises(DTypeError, match="a is a nested tensor; expected a strided tensor"):
        mn.subtract(nested, nested)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_a_nested_tensor_beside_another_layout_is_refused_as_such():
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    turned = torch.ones(2, 3).t()
    for operands, name in (((turned, nested), "b"), ((nested, turned), "a")):
        with pytest.raises(DTypeError, match=f"{name} is a nested tensor; expected a strided tensor"):
            mn.subtract(*operands)


def test_more_dims_than_numpy_takes_are_refused():
    many = torch.ones((1,) * 65)
    for operands in ((many, many), (many, 1.0), (many.bfloat16(), many.bfloat16())):
        with pytest.raises(DTypeError, match=r"a is a tensor whose memory cannot be read: .*dim"):
            mn.subtract(*operands)


NARROW = [f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8) if hasattr(torch, f"{sign}int{bits}")]


def narrow(name, values):
    return torch.tensor(values, dtype=torch.uint8).view(getattr(torch, name))


@pytest.mark.parametrize("name", NARROW)
def test_integers_of_less_than_a_byte_wrap_in_their_own_type_or_are_refused(name):
    """PyTorch hands their memory on as bytes; the difference was one of bytes."""
    a, b = narrow(name, [3, 0, 1]), narrow(name, [5, 1, 1])
    if name not in TYPES:
        for operands in ((a, b), (a, 1), (a, narrow("uint8", [5, 1, 1]))):
            with pytest.raises(DTypeError, match=f"element type '{name}' is not one that subtraction is defined for"):
                mn.subtract(*operands)
        return
    found = mn.subtract(a, b)
    assert found.dtype == getattr(torch, name)
    mask = (1 << TYPES[name].bits) - 1
    assert [int(one) & mask for one in found.view(torch.uint8)] == [-2 & mask, -1 & mask, 0]
    with pytest.raises(DTypeError, match="nothing is promoted"):
        mn.subtract(a, torch.ones(3, dtype=torch.uint8))


def test_an_out_inside_a_transform_is_refused_for_that():
    with pytest.raises(ShapeError, match=r"out does not go with operands inside a transform of torch\.func"):
        torch.func.vmap(lambda x: mn.subtract(x, x, out=torch.zeros(2)))(torch.ones(3, 2))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.uint16])
def test_compiled_code_calls_it_with_types_that_numpy_lacks(dtype):
    """torch.compile traced the call, and ended with PyTorch's error: data type 'bfloat16' not understood."""
    a, b = torch.tensor([3, 2], dtype=dtype), torch.tensor([1, 2], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of functions that it does not look into
        found = torch.compile(lambda x, y: mn.subtract(x, y).clone(), backend="eager")(a, b)
    assert found.dtype == dtype
    assert found.tolist() == [2, 0]


def test_compiled_code_calls_it_between_its_parts(monkeypatch):
    def loss(x, y):
        return mn.subtract(x * 2, y) ** 2

    monkeypatch.setattr(torch._dynamo.config, "suppress_errors", False)
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 5.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of functions that it does not look into
        found = torch.compile(loss, backend="eager")(a, b)
        found.sum().backward()
        with pytest.raises(Exception, match="does not know how to trace method"):
            torch.compile(lambda x: mn.subtract(x, b), backend="eager", fullgraph=True)(a)
    assert (found.tolist(), b.grad.tolist()) == ([2.25, 1.0], [-3.0, 2.0])


# ---- the way through PyTorch's functions for C code ------------------------------------------------------------


def layouts(name):
    """Pairs of tensors of one type: of one layout, of several, broadcast, empty, without dims."""
    base = (torch.arange(120) % 97).to(getattr(torch, name)).reshape(4, 5, 6)
    other = (torch.arange(120) % 89).to(base.dtype).reshape(4, 5, 6).flip(0)
    turned = other.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    yield from ((base, other), (base, turned), (turned, turned), (turned, base), (base[::2, 1:4], other[::2, 1:4]))
    yield from ((base.transpose(0, 2), other.transpose(0, 2)), (base, other[0]), (base[..., :1], other[0]))
    yield from ((base[:0], other[:0]), (base[0, 0, 0], other[1, 1, 1]), (base[:, :1].expand(4, 5, 6), turned))


@pytest.mark.parametrize("policy", ["wrap", "saturate", "widen"])
@pytest.mark.parametrize(
    "name", ["int8", "uint8", "int16", "int32", "uint32", "int64", "float16", "float32", "float64"]
)
def test_both_ways_give_the_same_numbers_in_pytorch_s_layout(name, policy, monkeypatch):
    for x, y in layouts(name):
        found = mn.subtract(x, y, overflow=policy)
        with monkeypatch.context() as without:
            without.setattr(torch_tensors, "_EXCHANGE", None)  # as before PyTorch 2.10
            usual = mn.subtract(x, y, overflow=policy)
        own = usual if name == "uint32" else torch.maximum(x, y)
        assert (found.dtype, found.shape) == (usual.dtype, usual.shape)
        assert found.numpy().tobytes() == usual.numpy().tobytes()
        assert found.stride() == usual.stride()
        assert found.numel() == 0 or laid_out(found) == laid_out(own)


@pytest.mark.skipif(torch_tensors._EXCHANGE is None, reason="PyTorch has no such functions")
def test_what_pytorch_s_functions_do_not_give_is_looked_at_in_python():
    def tried(x, policy="wrap"):
        return _native.exchanged("subtract", torch_tensors._EXCHANGE, x, x, None, policy)

    plain = torch.arange(6, dtype=torch.uint8)
    assert tried(plain).tolist() == [0] * 6
    others = [torch.zeros(3, device="meta"), torch.rand(3).to_sparse(), torch._to_functional_tensor(torch.rand(3))]
    others += [torch.zeros(3, dtype=torch.bool), torch.zeros(3, dtype=torch.complex64), torch._efficientzerotensor(3)]
    others += [plain.numpy(), 3, None]
    assert [tried(one) for one in others] == [None] * len(others)
    assert _native.exchanged("subtract", torch_tensors._EXCHANGE, plain, plain.int(), None, "wrap") is None
    assert _native.exchanged("subtract", torch_tensors._EXCHANGE, plain, plain + 1, None, "error") is None
    for wrong in (("add", torch_tensors._EXCHANGE, "wrap"), ("subtract", torch_tensors._EXCHANGE, "least")):
        with pytest.raises(ValueError, match="the kernel has no"):
            _native.exchanged(*wrong[:2], plain, plain, None, wrong[2])
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        _native.exchanged("subtract", object(), plain, plain, None, "wrap")


def test_a_result_s_memory_comes_back_when_the_tensor_goes_on_whichever_thread():
    x = torch.rand(1 << 20)
    mn.clear_cache()
    for drop in (lambda found: found.clear(), lambda found: threading.Thread(target=found.clear).start()):
        found = [mn.subtract(x, x)]
        before = _native.cached_bytes()
        drop(found)
        deadline = time.monotonic() + 10
        while _native.cached_bytes() == before and time.monotonic() < deadline:
            time.sleep(0.001)
        assert _native.cached_bytes() >= before + x.nbytes
        mn.clear_cache()


def test_a_result_is_a_tensor_of_the_mode_that_is_on():
    a, b = torch.rand(4), torch.rand(4)
    with torch.inference_mode():
        assert mn.subtract(a, b).is_inference()
    found = mn.subtract(a, b)
    assert not found.is_inference()
    assert found._version == 0
    (found.requires_grad_() * 2).sum().backward()
    assert found.grad.tolist() == [2.0] * 4


# ---- out on another device, with the CPU in its place ----------------------------------------------------------


def plain_codes(result):
    """Codes, of which all NaN are one: what a NaN's sign and payload are is the library's."""
    if result.is_floating_point():
        result = torch.where(result.isnan(), torch.full_like(result, torch.nan), result)
    return codes_of(result).tolist()


def on_device(a, b, out, overflow="wrap"):
    named = {name: one for name, one in (("a", a), ("b", b), ("out", out)) if isinstance(one, torch.Tensor)}
    return torch_tensors._on_device(named, a, b, out, overflow)


@pytest.mark.parametrize("name", sorted(str(one).removeprefix("torch.") for one in torch_tensors._PLAIN))
def test_a_difference_on_a_device_is_written_where_it_is_to_be(name, monkeypatch):
    element = TYPES[name]
    a, b = (tensor(element, one) for one in lattice(element))
    expected = on_device(a, b, torch.empty_like(a))
    copied = torch.empty_like(a).copy_(on_device(a, b, None))
    assert plain_codes(expected) == plain_codes(copied) == plain_codes(mn.subtract(a, b))
    monkeypatch.setattr(on_devices, "subtract", None)  # which gives a new tensor, that is copied then
    out = torch.empty_like(a)
    version = out._version
    assert on_device(a, b, out) is out
    assert out._version > version
    rows = torch.empty(3, len(b), dtype=a.dtype)
    on_device(a[:1], b.expand(3, -1), rows)
    assert plain_codes(rows[2]) == plain_codes(mn.subtract(a[:1], b))


def test_what_is_unusual_about_out_on_a_device_is_as_without_a_short_way():
    a, b = torch.arange(12, dtype=torch.uint8), torch.arange(12, dtype=torch.uint8).flip(0)
    want = mn.subtract(a[1:], b[1:]).tolist()
    shifted = a.clone()
    assert on_device(shifted[1:], b[1:], shifted[:-1]).tolist() == want  # in part the same memory
    other = b.clone()
    assert on_device(a[1:], other[1:], other[1:]).tolist() == want
    memory = a.numpy().copy()  # of two storages, which PyTorch takes for separate ones
    assert (
        on_device(torch.from_numpy(memory[:-1]), b[1:], torch.from_numpy(memory[1:])).tolist()
        == mn.subtract(a[:-1], b[1:]).tolist()
    )
    gaps = torch.zeros(22, dtype=torch.uint8)
    assert on_device(a[1:], b[1:], gaps[::2]).tolist() == want
    assert on_device(a, 3, torch.empty_like(a)).tolist() == mn.subtract(a, 3).tolist()
    for out, text in (
        (torch.empty(12, dtype=torch.int8), "out is of int8; the result is uint8, and nothing is converted"),
        (torch.empty(11, dtype=torch.uint8), "out has shape (11,); the result has shape (12,)"),
        (
            torch.empty(1, dtype=torch.uint8).expand(12),
            "two elements of out share an address (strides (0,)); pass a plain array",
        ),
    ):
        with pytest.raises((DTypeError, ShapeError)) as caught:
            on_device(a, b, out)
        assert str(caught.value) == text
    with pytest.raises(ShapeError, match="do not broadcast"):
        on_device(a, b[:5], torch.empty(12, dtype=torch.uint8))
    with pytest.raises(ShapeError, match="out requires grad"):
        on_device(torch.ones(2), torch.ones(2), torch.ones(2, requires_grad=True))


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_sparse_tensors_of_any_layout_are_refused(layout):
    """Tensors in blocks have no strides, and PyTorch raises an error of its own where they are read."""
    blocks = {"blocksize": (2, 2)} if layout in ("sparse_bsr", "sparse_bsc") else {}
    dense = torch.eye(4)
    sparse = dense.to_sparse(layout=getattr(torch, layout), **blocks)
    for a, b, name in ((sparse, sparse, "a"), (sparse, dense, "a"), (dense, sparse, "b")):
        with pytest.raises(DTypeError) as caught:
            mn.subtract(a, b)
        assert (
            str(caught.value)
            == f"{name} is a tensor of layout torch.{layout}; expected a strided tensor of plain numbers"
        )
