"""Random arrays through every public function that subtracts them, compared with NumPy, ml_dtypes and exact integers.

All operands, ``out`` too, lie in one block of memory of random bytes, at any offset, with any strides, over each other
where the case says so. After a call the whole block is compared: nothing but ``out``'s elements may have changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential import array_values as values
from differential.array_values import Array, Refused, Shape
from differential.surface import Difference, Surface

FUNCTIONS = ("subtract", "onnx", "openvino", "tensor", "count")
GAP = 64
"""Bytes between the operands, which nothing may change."""
LARGEST = 1 << 23
"""Bytes that steps may spread an operand over, unless its elements take more."""
MOST = 1 << 19
"""Elements of a result, of which the comparison makes Python's integers."""


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        a, b: shapes; ``None`` cannot be stated, a number is ``a_number``. orders, steps: of a, b and out: the dims'
            places in memory, and elements between two of a dim, 0 where it repeats. offsets: bytes before each; gaps:
            bytes between its elements, as in records.
        shared: which of a, b and out begin at one place. swapped: which are in the other byte order.
        number: a Python number that stands for ``a`` or ``b``: ``b 5``, ``a 2.5``, ``b scalar`` for a NumPy scalar.
    """

    function: str = "subtract"
    dtype: str = "float32"
    other: str = ""
    a: Shape = (3,)
    b: Shape = (3,)
    orders: tuple[tuple[int, ...], ...] = ()
    steps: tuple[tuple[int, ...], ...] = ()
    offsets: tuple[int, ...] = ()
    gaps: tuple[int, ...] = ()
    shared: str = ""
    swapped: str = ""
    number: str = ""
    out: str = ""
    policy: str = "wrap"
    where: str = ""
    opset: int = 14
    axis: int | None = None
    broadcast: int = 0
    consumed: bool = False
    rule: str = "numpy"
    values: str = "edges"
    isa: str = ""
    threads: int = 1
    seed: int = 0


# ---- drawing ----------------------------------------------------------------------------------------------------


def draw(source: random.Random) -> Case:
    """Draw a call: mostly one that has an answer."""
    function = source.choices(FUNCTIONS, (8, 4, 4, 1, 1))[0]
    dtype = _dtype(source, function)
    result = _shape(source)
    a, b = _operands(source, result)
    more: dict[str, Any] = {}
    if function == "onnx":
        more["opset"] = source.choice(
            [1, 1, 1, 5, 6, 6, 6, *range(1, 16), 20, 28, 28] if source.random() < 0.97 else [0, -1]
        )
        if more["opset"] < 7 or source.random() < 0.05:
            more["broadcast"] = source.choice([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2])
            more["axis"] = source.choice([None, None, None, None, 0, -1, -2, 5])
            if more["broadcast"] == 1 and source.random() < 0.8:
                a, b, more["axis"] = _run(source, result, more["axis"], ones=False)
            elif source.random() < 0.7:
                a = b = result
        more["consumed"] = source.random() < 0.1
        if source.random() < 0.95:
            dtype = source.choice(_ONNX[max(one for one in _ONNX if one <= max(1, more["opset"]))])
    elif function in ("openvino", "tensor"):
        more["rule"] = source.choices(_RULES, (3, 1, 2, 3, 1, 0.2))[0]
        more["axis"] = source.choices([None, -1, 0, -2, 7], (4, 3, 1, 0.3, 0.3))[0]
        if more["rule"].lower() == "pdpd" and source.random() < 0.8:
            a, b, more["axis"] = _run(source, result, more["axis"], ones=True)
        elif more["rule"] == "none" and source.random() < 0.7:
            a = b = result
    if source.random() < 0.06 and _elements(a, other := _shape(source)) <= MOST:
        b = other
    plain = source.random() < 0.25
    ranks = (len(a), len(b), len(result))
    out = source.choices(["", "out", "read-only", "other type", "other shape", "list"], (8, 12, *(0.3,) * 4))[0]
    return Case(
        function,
        dtype,
        _dtype(source, function) if source.random() < 0.03 else "",
        a,
        b,
        () if plain else tuple(_order(source, rank) for rank in ranks),
        () if plain else tuple(_steps(source, rank, i == 2) for i, rank in enumerate(ranks)),
        ()
        if plain
        else tuple(source.choice([0, 0, 1, 3, source.randrange(64), 4 * source.randrange(16)]) for _ in ranks),
        () if plain or source.random() < 0.7 else tuple(source.choice([0, 1, 2, 4, 8, 16]) for _ in ranks),
        source.choice(["", "", "", "ab", "ao", "bo", "abo"]),
        source.choice(["", "", "", "a", "b", "o", "ab", "abo"]),
        _number(source, dtype) if source.random() < 0.12 else "",
        out,
        source.choice(values.POLICIES) if function in ("subtract", "count") else "wrap",
        source.choices(_MASKS, (8, 6, 1, 1, 0.3, 0.3))[0]
        if function == "subtract" and (out or source.random() < 0.04)
        else "",
        values=source.choice(["edges", "random", "near"]),
        isa=source.choice(["", "", "baseline", "avx2", "avx512"]),
        threads=source.choice([1, 1, 2, 3]),
        seed=source.randrange(2**32),
        **more,
    )


_ONNX = {
    1: ("float16", "float32", "float64"),
    6: ("float16", "float32", "float64", "int32", "int64", "uint32", "uint64"),
    13: ("float16", "float32", "float64", "int32", "int64", "uint32", "uint64", "bfloat16"),
    14: (
        "float16",
        "float32",
        "float64",
        "int32",
        "int64",
        "uint32",
        "uint64",
        "bfloat16",
        "int8",
        "int16",
        "uint8",
        "uint16",
    ),
}
"""Opset from which on → types to draw; which of them a version takes, ONNX's schemas say."""


_TENSORS = ("uint1", "uint2", "uint4", "int4", "float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")
"""Types that OpenVINO packs, and of which NumPy has arrays."""


def _dtype(source: random.Random, function: str) -> str:
    if function == "tensor":
        return source.choice(_TENSORS)
    return source.choices(
        [source.choice(values.INTEGERS), source.choice(values.FLOATS), source.choice(values.REFUSED)], (12, 12, 1)
    )[0]


def _shape(source: random.Random) -> Shape:
    """A shape of rank 0 to 8, now and then with a 0, seldom with many elements."""
    rank = source.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8])
    most = source.choices([64, 600, 6000, 300_000], (5, 8, 3, 0.15))[0]
    dims: list[int] = []
    for _ in range(rank):
        left = most // max(1, math.prod(dims))
        dims.append(source.choice([1, 2, 3, min(left, source.randint(1, max(1, left)))]) if left > 1 else 1)
    source.shuffle(dims)
    if dims and source.random() < 0.08:
        dims[source.randrange(rank)] = 0
    return tuple(dims)


def _elements(a: Shape, b: Shape) -> int:
    """How many elements two shapes broadcast to; 0 where they do not."""
    try:
        return math.prod(np.broadcast_shapes(a, b))
    except ValueError:
        return 0


def _operands(source: random.Random, shape: Shape) -> tuple[Shape, Shape]:
    """Two shapes that broadcast to one: some dims of either are 1, some of its first ones are missing."""
    if source.random() < 0.4:
        return shape, shape
    full = source.choice("ab")
    found = []
    for name in "ab":
        rare = 0.0 if name == full and source.random() < 0.6 else 0.3
        dims = tuple(1 if source.random() < rare else n for n in shape)
        found.append(dims[source.randrange(len(dims) + 1) :] if source.random() < rare else dims)
    return found[0], found[1]


def _run(source: random.Random, a: Shape, axis: int | None, ones: bool) -> tuple[Shape, Shape, int | None]:
    """A's shape, a run of its dims, and the axis where that begins."""
    start = source.randint(0, len(a))
    end = source.randint(start, len(a))
    b = tuple(1 if ones and source.random() < 0.3 else n for n in a[start:end])
    if end == len(a) and source.random() < 0.5:
        return a, b, axis
    return a, (1,) * source.randrange(3) if source.random() < 0.1 else b, start


def _order(source: random.Random, rank: int) -> tuple[int, ...]:
    return () if source.random() < 0.5 else tuple(source.sample(range(rank), rank))


def _steps(source: random.Random, rank: int, is_out: bool) -> tuple[int, ...]:
    if source.random() < 0.4:
        return ()
    repeats = 0.01 if is_out else 0.06
    return tuple(
        0 if source.random() < repeats else source.choice([1, 1, 1, -1, 2, 3, 4, 8, -2, source.randint(2, 16)])
        for _ in range(rank)
    )


_RULES = ("numpy", "NumPy", "none", "pdpd", "PDPD", "explicit")
_MASKS = ("", "mask", "true", "false", "int", "wrong")


def _number(source: random.Random, dtype: str) -> str:
    name = source.choice("ab")
    if source.random() < 0.3:
        return f"{name} scalar"
    if dtype in values.INTEGERS and source.random() < 0.9:
        low, high = values.limits(dtype)
        return f"{name} {source.choice([0, 1, low, high, low - 1, high + 1, source.randint(low, high)])}"
    whole = source.choice([0, 1, -1, 16777217, 2**70 + 2**46 + 1, -(2**53) - 1, 65520, 2049])
    return f"{name} {source.choice([whole, 0.1, -0.0, 1e-46, 1e-320, 3.4e38, 65519.99, 'inf', '-inf', 'nan', 2.5])}"


# ---- memory -----------------------------------------------------------------------------------------------------


class Memory:
    """One block of memory with views of it."""

    def __init__(self, case: Case, shapes: list[Shape], dtypes: list[np.dtype[Any]]) -> None:
        rng = np.random.default_rng(case.seed)
        rows = [
            self._strides(case, i, shape, dtype.itemsize)
            for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
        ]
        starts, end, together = [], GAP, [name in case.shared and len(case.shared) > 1 for name in "abo"]
        base, most = None, 0
        for i, (low, high, _) in enumerate(rows):
            offset = _at(case.offsets, i)
            if together[i]:
                if base is None:
                    base = end + max(rows[j][0] for j in range(3) if together[j])
                    most = max(rows[j][1] + _at(case.offsets, j) for j in range(3) if together[j])
                    end = base + most + GAP
                starts.append(base + offset)
            else:
                starts.append(end + low + offset)
                end = starts[-1] + high + GAP
        self.block = rng.integers(0, 255, end + 16, np.uint8, endpoint=True)
        self.rows = [
            (shape, dtype, start, strides)
            for shape, dtype, start, (_, _, strides) in zip(shapes, dtypes, starts, rows, strict=True)
        ]
        self.rng = rng

    @staticmethod
    def _strides(case: Case, i: int, shape: Shape, itemsize: int) -> tuple[int, int, tuple[int, ...]]:
        """Bytes before and after the first element's start, and the strides."""
        order, steps = _at(case.orders, i, ()), _at(case.steps, i, ())
        strides = [0] * len(shape)
        width, left = itemsize + _at(case.gaps, i), math.prod(max(1, n) for n in shape)
        for axis in sorted(range(len(shape)), key=lambda one: (-_at(order, one, one), -one)):
            step = _at(steps, axis, 1)
            if width * abs(step) * left > LARGEST:
                step = 1
            strides[axis], left = step * width, left // max(1, shape[axis])
            if step:
                width *= abs(step) * max(1, shape[axis])
        spans = [(n - 1) * step for n, step in zip(shape, strides, strict=True) if n > 1]
        low = -sum(span for span in spans if span < 0)
        return low, sum(span for span in spans if span > 0) + itemsize, tuple(strides)

    def view(self, i: int, block: Array | None = None) -> Array:
        """The operand of a number, in a copy of the block too."""
        shape, dtype, start, strides = self.rows[i]
        block = self.block if block is None else block
        if 0 in shape:
            start = 0
        return np.ndarray(shape, dtype, block.data, start, strides)

    def fill(self, i: int, name: str, how: str) -> None:
        """Write elements of a type to an operand."""
        view = self.view(i)
        found = values.numbers(name, max(1, view.size), self.rng, how)[: view.size].reshape(view.shape)
        view[...] = found


def _at(row: tuple[Any, ...], i: int, default: Any = 0) -> Any:
    return row[i] if i < len(row) else default


# ---- comparing --------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Make the operands, call the function, and compare the answer, the memory and the errors."""
    with settings(case.isa, case.threads):
        return _compared(case)


@contextlib.contextmanager
def settings(isa: str, threads: int) -> Iterator[None]:
    """Have an instruction set in use, where the CPU runs it, and so many threads."""
    from minuend import _native

    before = _native.get_instruction_set(), _native.get_num_threads()
    if isa in _native.instruction_sets():
        _native.set_instruction_set(isa)
    _native.set_num_threads(threads)
    try:
        yield
    finally:
        _native.set_instruction_set(before[0])
        _native.set_num_threads(before[1])


def _compared(case: Case) -> str:
    if case.number and not case.number.endswith("scalar"):  # which has no type of its own
        kept = case.other if case.number[0] == "a" and case.other else case.dtype
        case = dataclasses.replace(case, dtype=kept, other="")
    if case.function == "tensor":
        number = "" if case.number.endswith("scalar") else case.number
        dtype, out = case.dtype if case.dtype in _TENSORS else "int4", case.out and "out"
        case = dataclasses.replace(case, dtype=dtype, other="", number=number, out=out)
    if case.dtype in values.REFUSED or case.other in values.REFUSED:
        return _refused_type(case)
    try:
        shape, wider = _joined(case)
    except Refused as why:
        return _must_refuse(case, str(why))
    to = values.wide(case.dtype) if case.policy == "widen" and case.dtype in values.INTEGERS else case.dtype
    dtypes = [_dtypes(case.dtype, "a" in case.swapped), _dtypes(case.other or case.dtype, "b" in case.swapped)]
    out_dtype = _dtypes(to, "o" in case.swapped)
    out_shape = shape
    if case.out == "other type":
        out_dtype = np.dtype("int32" if to != "int32" else "float32")
    if case.out == "other shape":
        out_shape = (*shape, 2)
    memory = Memory(case, [case.a, case.b, out_shape], [*dtypes, out_dtype])
    if case.function == "tensor":
        memory.fill(2, to, "clean")  # OpenVINO's tensors have no other bits
    for i, name in enumerate((case.dtype, case.other or case.dtype)):
        memory.fill(i, name, "clean" if case.function == "tensor" else case.values)
    return Call(case, memory, shape, wider, to).outcome()


def _dtypes(name: str, swapped: bool) -> np.dtype[Any]:
    dtype = values.dtype_of(name)
    return dtype.newbyteorder(">") if swapped and dtype.kind in "iuf" and dtype.itemsize > 1 else dtype


def _shapes(case: Case) -> tuple[Shape, Shape]:
    name = case.number[:1]
    return (() if name == "a" else case.a), (() if name == "b" else case.b)


def _joined(case: Case) -> tuple[Shape, Shape]:
    a, b = _shapes(case)
    if case.function == "onnx":
        _of_onnx(case)
        if case.opset < 7:
            return values.by_legacy(a, b, case.axis, case.broadcast)
    if case.function in ("openvino", "tensor"):
        axis = -1 if case.axis is None else case.axis
        rule = case.rule.lower()
        if case.dtype == "int2":
            raise Refused("a type that OpenVINO does not have")
        if rule not in ("numpy", "none", "pdpd"):
            raise Refused("no such rule")
        if rule == "none":
            return values.by_none(a, b)
        if rule == "pdpd":
            return values.by_pdpd(a, b, axis)
    return values.by_numpy(a, b)


def _of_onnx(case: Case) -> None:
    """What a version of Sub takes, as ONNX's own schemas say.

    Raises:
        Refused: it does not.
    """
    if case.opset < 1:
        raise Refused("no such opset")
    stated = {"axis": case.axis is not None, "broadcast": case.broadcast != 0, "consumed_inputs": case.consumed}
    types, attributes = _schema(case.opset)
    if any(is_stated and name not in attributes for name, is_stated in stated.items()):
        raise Refused("an attribute that the version does not have")
    if case.broadcast not in (0, 1):
        raise Refused("broadcast is 0 or 1")
    if case.dtype not in types:
        raise Refused("a type that the version does not take")


def _schema(opset: int) -> tuple[tuple[str, ...], set[str]]:
    import onnx.defs

    schema = onnx.defs.get_schema("Sub", min(opset, onnx.defs.onnx_opset_version()), "")
    words = {"float": "float32", "double": "float64"}
    stated = [text.removeprefix("tensor(").removesuffix(")") for text in schema.type_constraints[0].allowed_type_strs]
    return tuple(words.get(word, word) for word in stated), set(schema.attributes)


def _call(case: Case, a: Any, b: Any, out: Any, where: Any = None) -> Any:
    import minuend as mn

    if case.function == "count":
        return mn.count_overflows(a, b)
    if case.function == "onnx":
        more: dict[str, Any] = {"consumed_inputs": [0, 0]} if case.consumed else {}
        return mn.onnx.sub(a, b, opset=case.opset, axis=case.axis, broadcast=case.broadcast, out=out, **more)
    if case.function in ("openvino", "tensor"):
        axis = {} if case.axis is None else {"axis": case.axis}
        if case.function == "tensor":
            a, b, out = (_tensor(case, one) for one in (a, b, out))
        return mn.openvino.subtract(a, b, auto_broadcast=case.rule, out=out, **axis)
    policy: Any = case.policy
    masked = {} if where is None else {"where": where}
    return values.ours(a, b, out, overflow=policy, **masked)


def _tensor(case: Case, array: Any) -> Any:
    import minuend as mn

    if not isinstance(array, np.ndarray):
        return array
    return mn.openvino.Tensor(case.dtype, array.view(np.uint8))


def _refused_type(case: Case) -> str:
    import minuend as mn

    if case.function == "tensor":
        return "refused: not drawn"
    made = [_made(name, shape) for name, shape in ((case.dtype, case.a), (case.other or case.dtype, case.b))]
    try:
        found = _call(case, made[0], made[1], None)
    except (mn.DTypeError, mn.SpecError) as error:
        return f"refused: {type(error).__name__}"
    raise Difference(f"ours {found!r}, theirs refuse {case.dtype} and {case.other}")


def _made(name: str, shape: Shape) -> Array:
    return (
        np.zeros(shape, values.dtype_of(name))
        if not name.startswith(("datetime", "timedelta", "S", "U", "V"))
        else np.zeros(shape, name)
    )


def _must_refuse(case: Case, why: str) -> str:
    import minuend as mn

    a, b = (
        np.zeros(shape, values.dtype_of(name))
        for name, shape in ((case.dtype, case.a), (case.other or case.dtype, case.b))
    )
    x, y = (_instead(case, name, one) for name, one in (("a", a), ("b", b)))
    try:
        found = _call(case, x, y, None)
    except mn.MinuendError as error:
        if not str(error):
            raise Difference(f"ours refuses without a word: {why}") from None
        return f"refused: {why}"
    raise Difference(f"ours {found!r:.100}; expected a refusal: {why}")


def _instead(case: Case, name: str, array: Array) -> Any:
    """The Python number or NumPy scalar in an operand's place."""
    if case.number[:1] != name:
        return array
    text = case.number[2:]
    if text == "scalar":
        return np.asarray(array).reshape(-1)[0] if array.size else np.zeros((), array.dtype)[()]
    return int(text) if text.lstrip("-").isdigit() else float(text)


class Call:
    """A call whose shapes join: its operands, the expected answer, and what comes."""

    def __init__(self, case: Case, memory: Memory, shape: Shape, wider: Shape, to: str) -> None:
        self.case, self.memory, self.shape, self.wider, self.to = case, memory, shape, wider, to
        self.a, self.b = (_instead(case, name, memory.view(i)) for i, name in enumerate("ab"))
        self.frozen = memory.block.copy()
        self.why = ""
        self.where: Any = None
        self.mask = np.ones(shape, bool)
        if case.where and case.function == "subtract":
            self._where()

    def _where(self) -> None:
        kind, rng = self.case.where, self.memory.rng
        dims = tuple(1 if rng.random() < 0.3 else n for n in self.shape)[int(rng.integers(0, len(self.shape) + 1)) :]
        if kind == "wrong":
            dims = (*self.shape, 7)
            if not self.shape:
                self.why = "a mask of more dims"
        made = rng.random(dims) < 0.6
        self.where = {"true": True, "false": False, "int": made.astype(np.uint8)}.get(kind, np.asarray(made))
        if kind == "wrong":
            self.why = "a mask that does not broadcast to out"
        elif kind == "int":
            self.why = "a mask that is not of bools"
        else:
            self.mask = np.broadcast_to(np.asarray(self.where), self.shape)

    def outcome(self) -> str:
        """Call, and compare."""
        import minuend as mn

        case = self.case
        out = self._out()
        try:
            want = self._expected(out)
        except Refused as why:
            try:
                found = _call(case, self.a, self.b, out, self.where)
            except mn.MinuendError as error:
                self._unchanged(self.frozen, f"a refusal ({error})")
                return f"refused: {why}"
            raise Difference(f"ours {found!r:.100}; expected a refusal: {why}") from None
        lost = self._lost()
        try:
            found = _call(case, self.a, self.b, out, self.where)
        except mn.OverflowFound as error:
            return self._overflow(error, lost)
        if case.function == "count":
            return self._counted(found, int(np.count_nonzero(self._lost("error"))))
        if lost.any():
            raise Difference(f"ours gives an answer; {np.count_nonzero(lost)} differences overflow under {case.policy}")
        return self._same(found, out, want)

    def _out(self) -> Any:
        if not self.case.out:
            return None
        out = self.memory.view(2)
        if self.case.out == "list":
            return [0] * 3
        if self.case.out == "read-only":
            out.flags.writeable = False
        return out

    def _expected(self, out: Any) -> Array:
        """The expected differences.

        Raises:
            Refused: there are none.
        """
        case = self.case
        if case.other and case.other != case.dtype:
            raise Refused("two element types")
        x, y = (self._elements(name, one) for name, one in (("a", self.a), ("b", self.b)))
        if case.function == "count":
            return np.zeros(0)
        if case.where and self.where is not True and case.where != "true" and out is None:
            raise Refused("where without out")
        if self.where is not None and self.where is not True and self.why:
            raise Refused(self.why)
        if case.out in ("read-only", "other type", "other shape", "list"):
            raise Refused(f"out is {case.out}")
        if out is not None and _shares(out):
            raise Refused("two elements of out share memory")
        self.x, self.y = np.broadcast_arrays(x, y.reshape(self.wider))
        return values.difference(case.dtype, (self.x, self.y), case.policy if case.function == "subtract" else "wrap")

    def _elements(self, name: str, operand: Any) -> Array:
        if isinstance(operand, int | float) and not isinstance(operand, np.generic):
            return values.operand(self.case.dtype, operand)
        array = np.asarray(operand)
        return np.array(array, dtype=array.dtype.newbyteorder("=") if array.dtype.kind in "iuf" else array.dtype)

    def _lost(self, policy: str = "") -> Array:
        case = self.case
        policy = policy or (case.policy if case.function == "subtract" else "wrap")
        if case.dtype not in values.INTEGERS or policy in ("wrap", "saturate"):
            return np.zeros(self.shape, bool)
        if not hasattr(self, "x"):
            x, y = (self._elements(name, one) for name, one in (("a", self.a), ("b", self.b)))
            self.x, self.y = np.broadcast_arrays(x, y.reshape(self.wider))
        return values.overflowing(case.dtype, (self.x, self.y), policy) & self.mask

    def _counted(self, found: Any, want: int) -> str:
        self._unchanged(self.frozen, "count_overflows")
        if found != want:
            raise Difference(f"ours counts {found} overflows, theirs {want}")
        return "equal: counts"

    def _overflow(self, error: Any, lost: Array) -> str:
        count = int(np.count_nonzero(lost))
        if not count:
            raise Difference(f"ours {error}; nothing overflows")
        index = tuple(int(i) for i in np.argwhere(lost)[0])
        want = (count, index, int(self.x[index]), int(self.y[index]))
        if (error.count, error.index, error.a, error.b) != want:
            raise Difference(f"ours {(error.count, error.index, error.a, error.b)}, theirs {want}: {error}")
        for i, one in enumerate((self.a, self.b)):
            if (
                isinstance(one, np.ndarray)
                and self.memory.view(i).tobytes() != self.memory.view(i, self.frozen).tobytes()
            ):
                raise Difference(f"operand {'ab'[i]} has other values after {error}")
        kept = self.memory.block.copy()
        if self.case.out:
            self.memory.view(2, kept)[...] = self.memory.view(2, self.frozen)
        if not np.array_equal(kept, self.frozen):
            raise Difference("bytes outside out changed by a call that overflows")
        return "overflow: as expected"

    def _same(self, found: Any, out: Any, want: Array) -> str:
        case = self.case
        codes_of = found
        if case.function == "tensor":
            codes_of = found.codes.view(values.dtype_of(case.dtype))
        if out is None:
            self._unchanged(self.frozen, "a call without out")
            self._new(codes_of)
            self._values(codes_of, want)
            return "equal: a new array"
        if case.function != "tensor" and found is not out:
            raise Difference(f"ours returns a {type(found).__name__} that is not out")
        self._values(self.memory.view(2), want)
        restored = self.memory.block.copy()
        self.memory.view(2, restored)[...] = self.memory.view(2, self.frozen)
        self._unchanged(restored, "elements of out written back")
        return "equal: out"

    def _values(self, found: Array, want: Array) -> None:
        case = self.case
        if found.shape != self.shape:
            raise Difference(f"ours has shape {found.shape}, theirs {self.shape}")
        got, expected = (
            values.compared(self.to, np.asarray(found)),
            values.compared(self.to, np.broadcast_to(want, self.shape)),
        )
        if case.out and not self.mask.all():
            before = values.codes(self.memory.view(2, self.frozen))
            got, expected = np.where(self.mask, got, values.codes(found)), np.where(self.mask, expected, before)
        if not np.array_equal(got, expected):
            at = tuple(int(i) for i in np.argwhere(got != expected)[0])
            pair = f"{self.x[at]!r} - {self.y[at]!r}"
            raise Difference(f"ours {int(got[at]):#x}, theirs {int(expected[at]):#x} for {pair} at {at}, {case.policy}")

    def _new(self, found: Any) -> None:
        """A new result's type, byte order and layout."""
        case = self.case
        both = not any(isinstance(one, np.ndarray) for one in (self.a, self.b))
        is_scalar = isinstance(found, np.generic)
        if case.function == "subtract" and is_scalar != both:
            raise Difference(f"ours returns a {type(found).__name__} of {type(self.a)} and {type(self.b)}")
        if found.dtype != values.dtype_of(self.to):
            raise Difference(f"ours is of {found.dtype}, theirs of {self.to}")
        if not isinstance(found, np.ndarray) or not found.size:
            return
        order = [i for i in np.argsort([-abs(step) for step in found.strides], kind="stable") if found.shape[i] > 1]
        size = found.itemsize
        for i in reversed(order):
            if found.strides[i] != size:
                raise Difference(f"ours has gaps: shape {found.shape}, strides {found.strides}")
            size *= found.shape[i]
        self._order(found)

    def _order(self, found: Array) -> None:
        """The dims lie in the order of the operands', as NumPy's ``order='K'``, where they have one."""
        big = [i for i, n in enumerate(self.shape) if n > 1]
        orders = []
        for one in (self.a, self.b):
            if not isinstance(one, np.ndarray) or (one.ndim < 2 and one.shape != self.shape):
                continue
            if one.shape != self.shape or len({abs(one.strides[i]) for i in big} - {0}) != len(big):
                return
            orders.append(sorted(big, key=lambda i: -abs(one.strides[i])))
        if not orders or any(order != orders[0] for order in orders):
            return
        if (got := sorted(big, key=lambda i: -abs(found.strides[i]))) != orders[0]:
            raise Difference(f"ours lays the dims out as {got}, theirs as {orders[0]}")

    def _unchanged(self, block: Array, when: str) -> None:
        now = self.memory.block if block is self.frozen else block
        if not np.array_equal(now, self.frozen):
            places = np.flatnonzero(now != self.frozen)
            raise Difference(f"{places.size} bytes outside out changed, the first at {places[0]}, by {when}")


def _shares(array: Array) -> bool:
    """Whether two elements share a byte, by their addresses."""
    if array.size < 2:
        return False
    if all(n == 1 or step for n, step in zip(array.shape, array.strides, strict=True)) is False:
        return True
    places = np.zeros(1, np.int64)
    for n, step in zip(array.shape, array.strides, strict=True):
        places = np.add.outer(places, np.arange(n, dtype=np.int64) * step).ravel()
    places.sort()
    return bool((np.diff(places) < array.itemsize).any())


SURFACES = (Surface("arrays", "arrays of any type and layout", ("numpy", "ml_dtypes", "onnx"), draw, compare, Case),)
