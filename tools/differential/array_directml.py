"""DirectML's operator on random buffers: strides, padding, alignment and work in place, by its documented rules."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential import array_values as values
from differential.array_values import Array, Refused
from differential.surface import Difference, Surface

LEVELS = ("1.0", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0", "5.1", "5.2", "6.0", "6.1", "6.2", "6.3", "6.4")
TYPES = {  # as the page of the operator lists them: the level from which on
    "float16": "1.0",
    "float32": "1.0",
    "int32": "2.1",
    "uint32": "2.1",
    "int64": "4.1",
    "uint64": "4.1",
    "int8": "5.1",
    "int16": "5.1",
    "uint8": "5.1",
    "uint16": "5.1",
}
NEVER = ("float64", "int4", "uint4")


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        sizes: of a, b and the output, as far as they differ. strides: in elements; ``()`` packs.
        extra: bytes beyond what a tensor needs.
        place: where the output lies: ``own``, ``a``, ``b``, ``both``, ``overlap``, ``readonly``.
        buffers: ``bytes``, ``array``, ``memoryview`` for the inputs. shift: bytes before the tensors in memory.
    """

    level: str = "6.4"
    dtype: str = "float32"
    others: tuple[str, str] = ("", "")
    sizes: tuple[int, ...] = (1, 1, 2, 3)
    b_sizes: tuple[int, ...] = ()
    out_sizes: tuple[int, ...] = ()
    strides: tuple[tuple[int, ...], ...] = ((), (), ())
    extra: tuple[int, ...] = (0, 0, 0)
    place: str = "own"
    buffers: str = "array"
    shift: int = 0
    short: int = 0
    values: str = "edges"
    isa: str = ""
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw a call, mostly one that the rules allow."""
    level = source.choice(LEVELS)
    may = [name for name, since in TYPES.items() if float(since) <= float(level)]
    dtype = source.choice(may) if source.random() < 0.9 else source.choice([*TYPES, *NEVER])
    rank = (
        source.choice([4, 4, 1, 2, 3, 5, 8])
        if float(level) >= 3
        else 4
        if source.random() < 0.9
        else source.choice([3, 5])
    )
    sizes = tuple(source.choice([1, 1, 2, 3, 4, source.randint(1, 9)]) for _ in range(rank))
    while np.prod(sizes) > 3000:
        sizes = tuple(max(1, n // 2) for n in sizes)
    if source.random() < 0.02:
        sizes = (0, *sizes[1:])
    place = source.choices(["own", "a", "b", "both", "overlap", "readonly"], (8, 3, 3, 1, 0.7, 0.3))[0]
    strides = tuple(_strides(source, sizes, i == 2) for i in range(3))
    if place in ("a", "b", "both") and source.random() < 0.85:
        one = _strides(source, sizes, True)
        strides = tuple(one if place == "both" or "abo"[i] in (place, "o") else row for i, row in enumerate(strides))
    return Case(
        level,
        dtype,
        (source.choice(["", *TYPES]), "") if source.random() < 0.03 else ("", ""),
        sizes,
        tuple(1 if source.random() < 0.5 else n for n in sizes) if source.random() < 0.03 else (),
        (*sizes, 1) if source.random() < 0.02 else (),
        strides,
        tuple(source.choice([0, 0, 0, 4, 60]) for _ in range(3)) if place in ("own", "overlap") else (0, 0, 0),
        place,
        source.choice(["array", "bytes", "memoryview"]) if place == "own" else "array",
        source.choice([0, 0, 4, 16, 1, 3]),
        source.choice([0] * 20 + [1, 5]),
        source.choice(["edges", "random", "near"]),
        source.choice(["", "baseline", "avx2", "avx512"]),
        source.randrange(2**32),
    )


def _strides(source: random.Random, sizes: tuple[int, ...], is_out: bool) -> tuple[int, ...]:
    if source.random() < 0.4:
        return ()
    found, width = [0] * len(sizes), 1
    for axis in source.sample(range(len(sizes)), len(sizes)) if source.random() < 0.5 else range(len(sizes))[::-1]:
        repeats = source.random() < (0.02 if is_out else 0.2)
        found[axis] = 0 if repeats else width * source.choice([1, 1, 1, 2, 3])
        width = width if repeats else found[axis] * max(1, sizes[axis])
    return tuple(found)


# ---- what the rules say -----------------------------------------------------------------------------------------


def packed(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a packed tensor."""
    return tuple(int(np.prod(sizes[i + 1 :])) for i in range(len(sizes)))


def rows(case: Case) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Type, sizes and strides of the three tensors."""
    sizes = (case.sizes, case.b_sizes or case.sizes, case.out_sizes or case.sizes)
    types = (case.dtype, case.others[0] or case.dtype, case.others[1] or case.dtype)
    strides = [
        row[: len(n)] if len(row) >= len(n) and row else packed(n)
        for row, n in zip((*case.strides, (), (), ())[:3], sizes, strict=True)
    ]
    return list(zip(types, sizes, strides, strict=True))


def least(dtype: str, sizes: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """DMLCalcBufferTensorSize."""
    last = sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    return -(-(last + 1) * values.dtype_of(dtype).itemsize // 4) * 4


def check(case: Case) -> None:
    """The documented rules.

    Raises:
        Refused: one is broken.
    """
    (a, n, a_steps), (b, m, b_steps), (c, k, c_steps) = rows(case)
    if any(0 in one for one in (n, m, k)):
        raise Refused("a size of 0")
    if len({a, b, c}) > 1:
        raise Refused("data types that differ")
    if a not in TYPES or float(TYPES[a]) > float(case.level):
        raise Refused("a data type that the level does not have")
    low, high = (1, 8) if float(case.level) >= 3 else (4, 4)
    if not all(low <= len(one) <= high for one in (n, m, k)):
        raise Refused("a number of dims that the level does not have")
    if not n == m == k:
        raise Refused("sizes that differ")
    places = _addresses(n, c_steps)
    if len(np.unique(places)) < places.size:
        raise Refused("output elements that share an address")
    if case.short or case.place == "readonly":
        raise Refused("a buffer too short, or one to read only")
    ends = [
        least(a, n, steps) + more
        for steps, more in zip((a_steps, b_steps, c_steps), (*case.extra, 0, 0, 0), strict=False)
    ]
    if case.place == "overlap" and ends[0] > 4:  # the output begins 4 bytes behind a
        raise Refused("ranges that overlap in part")
    for name, steps, end in (("a", a_steps, ends[0]), ("b", b_steps, ends[1])):
        if case.place in (name, "both"):
            if end != ends[2]:
                raise Refused("in place with another total size")
            if any(x != y for x, y, size in zip(steps, c_steps, n, strict=True) if size > 1):
                raise Refused("in place with other strides")


def _addresses(sizes: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    places = np.zeros(1, np.int64)
    for n, step in zip(sizes, strides, strict=True):
        places = np.add.outer(places, np.arange(n, dtype=np.int64) * step).ravel()
    return places


# ---- comparing --------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Fill the buffers, compute, and compare the output's elements and everything outside its range."""
    import minuend as mn
    from minuend import _native

    before = _native.get_instruction_set()
    if case.isa in _native.instruction_sets():
        _native.set_instruction_set(case.isa)
    try:
        reason = ""
        try:
            check(case)
        except Refused as why:
            reason = str(why)
        try:
            return _computed(case, reason)
        except mn.MinuendError as error:
            if reason:
                return f"refused: {reason}"
            raise Difference(f"ours refuses: {error}") from None
    finally:
        _native.set_instruction_set(before)


def _computed(case: Case, reason: str) -> str:
    import minuend as mn

    described = rows(case)
    stated = (*case.strides, (), (), ())
    extra = (*case.extra, 0, 0, 0)
    descs = [
        mn.directml.TensorDesc(
            dtype.upper(),
            sizes,
            strides if stated[i] else None,
            total_tensor_size_in_bytes=least(dtype, sizes, strides) + extra[i] if extra[i] else None,
        )
        for i, (dtype, sizes, strides) in enumerate(described)
    ]
    rng = np.random.default_rng(case.seed)
    memory = []
    for i, (dtype, _, _) in enumerate(described):
        size = descs[i].total_tensor_size_in_bytes
        item = values.dtype_of(dtype).itemsize
        block = np.zeros(size + case.shift + 64, np.uint8)
        found = values.numbers(dtype, size // item, rng, case.values).view(np.uint8)
        block[case.shift : case.shift + found.size] = found
        block[case.shift + found.size :] = 0xA5
        memory.append(block)
    views = [block[case.shift : max(case.shift, len(block) - 64 - case.short)] for block in memory]
    output, where = views[2], memory[2]
    if case.place in ("a", "both"):
        output, where = views[0], memory[0]
    if case.place == "b":
        output, where = views[1], memory[1]
    if case.place == "both":
        views[1] = views[0]
    if case.place == "overlap":
        longest = max(map(len, views)) + 8
        where = np.zeros(3 * longest, np.uint8)
        views[0], output = where[longest : longest + len(views[0])], where[longest + 4 : longest + 4 + len(views[2])]
    if case.place == "readonly":
        output.flags.writeable = False
    inputs = [_buffer(case, view) for view in views[:2]]
    frozen = [view.copy() for view in views[:2]]
    kept = where.copy()
    call: Any = mn.directml.element_wise_subtract
    call(*descs, *inputs, output, feature_level=case.level)
    if reason:
        raise Difference(f"ours computes; expected a refusal: {reason}")
    want = values.difference(case.dtype, (_gathered(case, i, view) for i, view in enumerate(frozen)), "wrap")
    got = _gathered(case, 2, output)
    one, other = (values.compared(case.dtype, each) for each in (got, want))
    if not np.array_equal(one, other):
        at = int(np.flatnonzero(one != other)[0])
        raise Difference(f"ours {one[at]:#x}, theirs {other[at]:#x} at element {at}")
    if case.place == "overlap":  # which did not overlap: a is 4 bytes long
        return "equal: beside a"
    end = case.shift + descs[2].total_tensor_size_in_bytes
    if not np.array_equal(where[: case.shift], kept[: case.shift]) or not np.array_equal(where[end:], kept[end:]):
        raise Difference("bytes outside the output's range changed")
    for view, earlier in zip(views[:2], frozen, strict=True):
        if not np.shares_memory(view, output) and not np.array_equal(view, earlier):
            raise Difference("an input changed")
    return f"equal: {case.place}"


def _buffer(case: Case, view: Any) -> Any:
    if case.buffers == "bytes":
        return view.tobytes()
    return memoryview(view) if case.buffers == "memoryview" else view


def _gathered(case: Case, i: int, view: Array) -> Array:
    """A tensor's elements in C order."""
    dtype, sizes, strides = rows(case)[i]
    item = values.dtype_of(dtype).itemsize
    bytes_at = _addresses(sizes, strides)[:, None] * item + np.arange(item)
    return np.frombuffer(view[bytes_at].tobytes(), values.dtype_of(dtype))


SURFACES = (Surface("directml-buffers", "DirectML's operator on buffers", ("numpy",), draw, compare, Case),)
