"""JAX's arrays as their users have them: weakly typed, sharded, on devices, traced, of narrow and strange types."""

from __future__ import annotations

import functools
import itertools
import operator
import os
import random
import warnings
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
    "uint8",
    "uint16",
    "uint32",
    "float16",
    "bfloat16",
    "float32",
    "int4",
    "uint4",
    "int2",
    "uint2",
    "float8_e4m3fn",
    "float8_e5m2",
    "float4_e2m1fn",
    "float8_e8m0fnu",
)
WIDE = ("int64", "uint64", "float64")
OTHERS = ("bool", "complex64", "key", "float8_e4m3fnuz", "float8_e3m4", "float0")
PLACES = ("", "", "", "", "1", "2", "rows", "columns", "grid", "replicated")
INSIDE = ("jit", "grad", "vmap", "jvp", "scan", "eval_shape", "make_jaxpr", "vjp", "cond", "shard_map", "checkpoint")
DEVICES = 4
MOST_DIMS = 64
"""Of an array of NumPy's."""
CLEARED = 200
"""Cases after which JAX forgets what it compiled: an hour of cases takes gigabytes otherwise."""

_CASES = itertools.count(1)


@dataclass(frozen=True)
class Case:
    """Two arrays, where they lie, and what stands around the call.

    Attributes:
        a, b: ``array``, ``number`` or ``float`` (of Python), ``scalar`` (of NumPy), ``numpy``, ``struct``, ``bool``.
        weak: which are weakly typed. places: devices, or how it is sharded over four.
        x64: ``made`` with 64 bits, or ``on``.
    """

    a: str = "array"
    b: str = "array"
    dtype: str = "float32"
    other: str = ""
    shape: tuple[int, ...] = (4, 4)
    second: tuple[int, ...] = (4, 4)
    weak: tuple[bool, bool] = (False, False)
    places: tuple[str, str] = ("", "")
    x64: str = ""
    inside: str = ""
    deleted: bool = False
    out: bool = False
    policy: str = "wrap"
    number: int = 1
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw two arrays, mostly such as can be subtracted."""
    kinds = ("array", "number", "float", "scalar", "numpy", "struct", "bool")
    a = source.choices(kinds, (20, 1, 1, 1, 0.3, 0.1, 0.1))[0]
    b = source.choices(kinds, (16, 2, 1, 1, 0.3, 0.1, 0.1))[0]
    a = a if "array" in (a, b) else "array"
    weak = source.choices([(False, False), (True, False), (False, True), (True, True)], (10, 1, 1.5, 1))[0]
    dtype = source.choice(NUMBERS) if source.random() < 0.85 else source.choice([*WIDE, *WIDE, *OTHERS])
    shape = tuple(source.choice([1, 2, 4, 4, 4, 8, 0]) for _ in range(source.choice([0, 1, 2, 2, 2, 3])))
    shape = (1,) * 65 if source.random() < 0.02 else shape
    second = tuple(1 if source.random() < 0.15 else n for n in shape)
    if source.random() < 0.15:
        second = second[source.randrange(len(second) + 1) :]
    if source.random() < 0.04:
        second = (7,)
    place = source.choice(PLACES)
    inside = source.choice(INSIDE) if source.random() < 0.08 else ""
    if inside:  # arrays that can be traced
        a = b = "array"
        dtype, weak, shape = "float32", (False, False), shape or (4,)
        second = shape
    return Case(
        a,
        b,
        dtype,
        source.choice([*NUMBERS, *WIDE]) if source.random() < 0.05 and not inside else "",
        shape,
        second,
        weak,
        (place, place if source.random() < 0.6 else source.choice(PLACES)),
        "made" if dtype in WIDE else source.choice(["", "", "", "on"]),
        inside,
        source.random() < 0.01,
        source.random() < 0.02,
        source.choice(values.POLICIES),
        source.choice([0, 1, 5, 127, 300, -1]),
        source.randrange(2**32),
    )


@functools.cache
def jax_of_four() -> Any:
    """JAX, with four devices on the CPU where it was not imported before."""
    os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={DEVICES}")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    return jax


def array(case: Case, which: int) -> Any:
    """The first or the second operand."""
    jax = jax_of_four()
    kind = (case.a, case.b)[which]
    shape = (case.shape, case.second)[which]
    dtype = case.other or case.dtype if which else case.dtype
    if kind in ("number", "float", "bool"):
        return {"number": case.number, "float": case.number + 0.5, "bool": True}[kind]
    plain = dtype if dtype in (*NUMBERS, *WIDE) else "float32"
    if kind == "scalar":
        return values.numbers(plain, 1, np.random.default_rng(case.seed), "clean")[0]
    if kind == "numpy":
        return np.ones(shape[:MOST_DIMS], values.dtype_of(plain))
    if kind == "struct":
        return jax.ShapeDtypeStruct(shape, "float32")
    if case.weak[which]:
        return jax.numpy.full(
            shape, case.number if values.bits(plain) % 2 == 0 and plain in values.INTEGERS else case.number + 0.5
        )
    if dtype in OTHERS:
        return _other(dtype, shape)
    found = values.numbers(dtype, max(1, int(np.prod(shape))), np.random.default_rng(case.seed + which), "clean")
    found = found[: int(np.prod(shape))]
    with jax.enable_x64(case.x64 in ("on", "made")):
        if len(shape) > MOST_DIMS:
            return jax.numpy.asarray(found).reshape(shape)
        return jax.device_put(found.reshape(shape), place(case.places[which], shape))


def place(where: str, shape: tuple[int, ...]) -> Any:
    """A device, or how an array is sharded over four."""
    jax = jax_of_four()
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    if not where or len(jax.devices()) < DEVICES:
        return None
    if where in ("1", "2"):
        return jax.devices()[int(where)]
    mesh = Mesh(np.array(jax.devices()[:DEVICES]).reshape(2, 2), ("p", "q"))
    wanted = {"rows": ("p",), "columns": (None, "q"), "grid": ("p", "q"), "replicated": ()}[where]
    if len(wanted) > len(shape) or any(name and n % 2 for name, n in zip(wanted, shape, strict=False)):
        wanted = ()
    return NamedSharding(mesh, PartitionSpec(*wanted))


def _other(dtype: str, shape: tuple[int, ...]) -> Any:
    jax = jax_of_four()
    if dtype == "key":
        return jax.random.split(jax.random.key(1), shape)
    if dtype == "float0":
        return jax.numpy.zeros(shape, bool)
    if dtype.startswith("float8"):
        return jax.device_put(np.zeros(shape, values.dtype_of(dtype)))
    return jax.numpy.zeros(shape, dtype)


# ---- comparing --------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Subtract, and compare with the exact difference, and with where and how JAX's own lies."""
    jax = jax_of_four()

    if next(_CASES) % CLEARED == 0:
        jax.clear_caches()
    with warnings.catch_warnings(), jax.enable_x64(case.x64 == "on"):
        warnings.simplefilter("ignore")
        a, b = array(case, 0), array(case, 1)
        passed = a, b
        a, b = (one[()] if isinstance(one, np.ndarray) and not one.ndim else one for one in passed)
        reason = refusal(case, a, b)
        if case.inside:
            return _inside(case, a, b)
        both = [one for one in (a, b) if isinstance(one, jax.Array)]
        name = next((str(one.dtype) for one in both if not getattr(one, "weak_type", False)), str(both[0].dtype))
        what, found = values.outcome(
            lambda: values.ours(*passed, out=a if case.out else None, overflow=case.policy),
            reason,
            lambda: not reason and _lost(case, name, a, b),
        )
        if what:
            return what
        _same(case, name, a, b, found)
    return "equal"


def _inside(case: Case, a: Any, b: Any) -> str:
    """Inside a transform, elements are not there yet: it has to be refused, with what to do."""
    import minuend as mn

    jax = jax_of_four()
    if (
        not all(isinstance(one, jax.Array) for one in (a, b))
        or not a.ndim
        or a.shape != b.shape
        or a.dtype != "float32"
    ):
        return "refused: not drawn"
    calls = {
        "jit": lambda: jax.jit(mn.subtract)(a, b),
        "grad": lambda: jax.grad(lambda x: mn.subtract(x, b).sum())(a),
        "vmap": lambda: jax.vmap(mn.subtract)(a, b),
        "jvp": lambda: jax.jvp(mn.subtract, (a, b), (a, b)),
        "scan": lambda: jax.lax.scan(lambda c, x: (c, mn.subtract(x, x)), 0, a),
        "eval_shape": lambda: jax.eval_shape(mn.subtract, a, b),
        "make_jaxpr": lambda: jax.make_jaxpr(mn.subtract)(a, b),
        "vjp": lambda: jax.vjp(mn.subtract, a, b),
        "cond": lambda: jax.lax.cond(True, mn.subtract, mn.subtract, a, b),
        "shard_map": lambda: _sharded(jax, a, b),
        "checkpoint": lambda: jax.grad(jax.checkpoint(lambda x: mn.subtract(x, b).sum()))(a),
    }
    try:
        calls[case.inside]()
    except mn.DTypeError as error:
        if "is traced" in str(error):
            return f"refused: traced by {case.inside}"
        raise
    raise Difference(f"ours gives an answer inside {case.inside}")


def _sharded(jax: Any, a: Any, b: Any) -> Any:
    """The difference inside a function of each shard."""
    import minuend as mn

    specs = jax.sharding.PartitionSpec()
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("p",))
    one, other = (jax.device_put(np.asarray(each)) for each in (a, b))
    return jax.shard_map(mn.subtract, mesh=mesh, in_specs=(specs, specs), out_specs=specs)(one, other)


def refusal(case: Case, a: Any, b: Any) -> str:  # noqa: PLR0912 - a rule after the other
    """Why a call has to be refused; nothing where it has not."""
    jax = jax_of_four()
    both = [one for one in (a, b) if isinstance(one, jax.Array)]
    if case.out:
        return "out"
    arrays = any(isinstance(one, np.ndarray) and one.ndim for one in (a, b))  # one without axes is a scalar
    if arrays or {"struct", "bool"} & {case.a, case.b}:
        return "another kind of object beside JAX's"
    if any(str(one.dtype) not in (*NUMBERS, *WIDE) for one in both):
        return "a type without a difference"
    fixed = {frozenset(one.devices()) for one in both if one.committed}
    if len(fixed) > 1:
        return "arrays on different devices"
    strong = [one for one in both if not one.weak_type] or both[:1]
    if len({one.dtype for one in (strong if len(strong) > 1 or not strong[0].weak_type else both)}) > 1:
        return "two types"
    name = str(strong[0].dtype)
    for one in (a, b):
        if isinstance(one, jax.Array) and one.weak_type and one.dtype != name:
            if name in values.INTEGERS and one.dtype.kind == "f":
                return "weakly typed floats beside integers"
            if name in values.INTEGERS and one.size and not _within(name, np.asarray(one)):
                return "weakly typed integers that do not fit"
        if isinstance(one, np.generic | np.ndarray) and str(one.dtype) != name:
            return "a scalar of another type"
        if type(one) is float and name in values.INTEGERS:
            return "a float beside integers"
        if type(one) is int and name in values.INTEGERS and not _within(name, np.asarray(one)):
            return "a number outside the type"
    if any(one.ndim > MOST_DIMS for one in both):
        return "more dims than NumPy takes"
    try:
        np.broadcast_shapes(*(one.shape for one in both))
    except ValueError:
        return "shapes that do not broadcast"
    if case.policy == "widen" and values.bits(name) == 32 and name in values.INTEGERS and case.x64 != "on":
        return "no 64 bits in JAX as it is set" if not _lost(case, name, a, b) else ""
    return ""


def _within(name: str, found: Any) -> bool:
    low, high = values.limits(name)
    return bool(low <= int(found.min()) and int(found.max()) <= high)


def _elements(name: str, one: Any) -> Any:
    jax = jax_of_four()
    if isinstance(one, jax.Array):
        return np.asarray(one).astype(values.dtype_of(name))
    return np.asarray(one) if isinstance(one, np.generic) else values.operand(name, one)


def _lost(case: Case, name: str, a: Any, b: Any) -> bool:
    if name not in values.INTEGERS or case.policy not in ("error", "widen"):
        return False
    return bool(values.overflowing(name, (_elements(name, one) for one in (a, b)), case.policy).any())


def _same(case: Case, name: str, a: Any, b: Any, found: Any) -> None:
    want = values.difference(name, (_elements(name, one) for one in (a, b)), case.policy)
    if str(found.dtype) != str(want.dtype) or found.shape != want.shape:
        raise Difference(f"ours is of {found.dtype} {found.shape}, theirs of {want.dtype} {want.shape}")
    got = np.asarray(found)
    to = str(want.dtype)
    if not np.array_equal(values.compared(to, got), values.compared(to, want)):
        raise Difference(f"ours {got!r:.200}, theirs {want!r:.200}")
    try:
        theirs = operator.sub(a, b)
    except Exception:  # JAX does not have it of this type
        return
    if type(found) is not type(theirs) or found.committed != theirs.committed:
        raise Difference(
            f"ours is a {type(found).__name__}, committed: {found.committed}, "
            f"theirs a {type(theirs).__name__}, committed: {theirs.committed}"
        )
    if found.committed and found.sharding != theirs.sharding:
        raise Difference(f"ours lies as {found.sharding}, theirs as {theirs.sharding}")
    if found.dtype == theirs.dtype and found.weak_type != theirs.weak_type and case.policy != "widen":
        raise Difference(f"ours is weakly typed: {found.weak_type}, theirs: {theirs.weak_type}")


SURFACES = (Surface("jax", "JAX's arrays", ("jax",), draw, compare, Case),)
