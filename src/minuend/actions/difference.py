"""The difference of two files: which tensors go together, computed in blocks, written or summed up."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from minuend.core import operation, shapes
from minuend.core.arrays import compute, in_native_order, operands
from minuend.core.elements import ElementType
from minuend.core.plan import Plan, plan
from minuend.core.policies import Overflow
from minuend.core.shapes import Broadcast, size, static
from minuend.errors import DTypeError, FileFormatError, OverflowFound, SpecError
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion
from minuend.storage import Result, Tensor, TensorFile, open_tensors, split, write_tensors
from minuend.storage.base import Elements, quoted
from minuend.storage.reading import Array, spooled

BLOCK_BYTES = 1 << 23
"""About how many bytes of a result are in memory at a time: what was read is still in the caches when it is used."""

SIDE_BY_SIDE: tuple[Overflow, ...] = ("wrap", "saturate", "widen")
"""The policies that ``compare`` shows where none is named."""

Progress = Callable[[int, int], None]
"""Is told how many elements are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Whose rules check and join the operands: a version's with a node's attributes, or ``minuend.subtract``'s."""

    op: OpVersion | None = None
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def join(self, a: Tensor, b: Tensor) -> Broadcast:
        """Check two tensors and return how their shapes join."""
        if self.op is not None:
            x, y = (TensorType(tensor.element, tensor.shape) for tensor in (a, b))
            return validate(Node(op=self.op, a=x, b=y, attributes=self.attributes))
        if a.element is not b.element:
            raise DTypeError(
                "types", f"A is of {a.element} and B of {b.element}; nothing is promoted, convert one of them first"
            )
        return shapes.numpy(a.shape, b.shape)

    def __str__(self) -> str:
        if self.op is None:
            return ""
        stated = "".join(f", {name}={value}" for name, value in self.attributes.items())
        return f"{self.op.dialect} {self.op}{stated}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tensors that go together, and how their shapes join; ``where`` names them in messages, if need be."""

    name: str
    a: Tensor
    b: Tensor
    joined: Broadcast
    where: str = ""

    @property
    def element(self) -> ElementType:
        """The operands' element type."""
        return self.a.element

    @property
    def shape(self) -> tuple[int, ...]:
        """The difference's shape."""
        return static(self.joined.shape or ())

    def result_type(self, overflow: str) -> ElementType:
        """The difference's element type under a policy."""
        return self.element.widened if overflow == "widen" else self.element


# ---- reports --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """One difference that was written; ``overflowed`` is ``None`` where nobody counted."""

    name: str
    element: ElementType
    a_shape: tuple[int, ...]
    b_shape: tuple[int, ...]
    result: ElementType
    shape: tuple[int, ...]
    overflowed: int | None

    @property
    def elements(self) -> int:
        """How many elements the difference has."""
        return size(self.shape)


@dataclass(frozen=True, slots=True)
class SubReport:
    """What ``subtract_files`` did. ``nbytes`` counts what was read and written; ``skipped`` names unpaired tensors."""

    a: str
    b: str
    out: str
    rules: str
    overflow: str
    tensors: tuple[Written, ...]
    skipped: tuple[str, ...]
    seconds: float
    nbytes: int


@dataclass(slots=True)
class Answers:
    """What one policy gives: its element type, lowest and highest difference, and the answer at the first overflow.

    ``low`` and ``high`` are ``None`` where there is no number, ``first`` where nothing overflows. ``unfit`` counts the
    differences that even this policy's type does not hold (64-bit ``widen``); then there is no ``low`` and ``high``.
    """

    policy: str
    element: ElementType
    low: int | float | None = None
    high: int | float | None = None
    first: int | None = None
    unfit: int = 0


@dataclass(slots=True)
class Comparison:
    """The policies' answers for one pair of tensors, side by side; ``nans`` counts the NaNs of floats."""

    name: str
    element: ElementType
    a_shape: tuple[int, ...]
    b_shape: tuple[int, ...]
    shape: tuple[int, ...]
    answers: tuple[Answers, ...]
    overflowed: int = 0
    first: tuple[tuple[int, ...], int, int] | None = None
    nans: int = 0

    @property
    def elements(self) -> int:
        """How many elements the difference has."""
        return size(self.shape)


@dataclass(frozen=True, slots=True)
class CompareReport:
    """What ``compare_files`` found; nothing was written."""

    a: str
    b: str
    rules: str
    tensors: tuple[Comparison, ...]
    skipped: tuple[str, ...]
    seconds: float
    nbytes: int


# ---- the two jobs ---------------------------------------------------------------------------------------------


def subtract_files(
    a: str,
    b: str,
    out: str,
    *,
    rules: Rules = Rules(),
    overflow: Overflow = "wrap",
    count: bool = False,
    common: bool = False,
    progress: Progress | None = None,
) -> SubReport:
    """Subtract the tensors of one file from another's and write the differences.

    Args:
        a, b: the operands: ``path`` or ``path::name``. out: the file to write; its suffix tells the format.
        rules: whose rules check and join them. overflow: the policy for integers, as in ``minuend.subtract``.
        count: count the elements whose exact difference does not fit the operands' type; done for
            ``"saturate"`` and ``"error"`` anyway.
        common: subtract the tensors that both files name, and skip the others.
        progress: told of every block.

    Raises:
        FileFormatError, DTypeError, ShapeError, SpecError, OSError: the operands cannot be read or do not go together,
            or the output cannot hold the differences. OverflowFound: as in ``minuend.subtract``. Whatever is raised,
            no output file appears or changes.
    """
    start = time.perf_counter()
    pairs, skipped = pair_up(open_tensors(a), open_tensors(b), rules, common)
    counted = count or overflow in ("saturate", "error")
    tallies = [[0] for _ in pairs]
    meter = _Meter(progress, sum(size(pair.shape) for pair in pairs))

    def blocks(pair: Pair, tally: list[int]) -> Iterator[Array]:
        work = _Blocks(pair)
        for block in work:
            if counted and overflow != "error":
                tally[0] += block.count()
            yield work.compute(block, overflow)
            meter.add(size(static(block.joined.shape or ())))

    results = [
        Result(pair.name, pair.result_type(overflow), pair.shape, lambda p=pair, t=tally: blocks(p, t))  # type: ignore[misc]
        for pair, tally in zip(pairs, tallies, strict=True)
    ]
    write_tensors(out, results, (split(a)[0], split(b)[0]))
    written = tuple(
        Written(
            p.name,
            p.element,
            p.a.shape,
            p.b.shape,
            r.element,
            p.shape,
            t[0] if counted and p.element.is_integer else None,
        )
        for p, r, t in zip(pairs, results, tallies, strict=True)
    )
    nbytes = _operand_bytes(pairs) + sum(result.nbytes for result in results)
    return SubReport(a, b, out, str(rules), overflow, written, skipped, time.perf_counter() - start, nbytes)


def compare_files(
    a: str,
    b: str,
    *,
    rules: Rules = Rules(),
    overflow: Overflow | None = None,
    common: bool = False,
    progress: Progress | None = None,
) -> CompareReport:
    """Subtract the tensors of one file from another's under every policy, write nothing, and sum up the answers.

    Args:
        overflow: the one policy to show; without it those of :data:`SIDE_BY_SIDE`. Floats have one row in any case.
        a, b, rules, common, progress: as in :func:`subtract_files`, which also tells what is raised.
    """
    start = time.perf_counter()
    pairs, skipped = pair_up(open_tensors(a), open_tensors(b), rules, common)
    meter = _Meter(progress, sum(size(pair.shape) for pair in pairs))
    found = tuple(_compare(pair, SIDE_BY_SIDE if overflow is None else (overflow,), meter) for pair in pairs)
    seconds = time.perf_counter() - start
    return CompareReport(a, b, str(rules), found, skipped, seconds, _operand_bytes(pairs))


class _Meter:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, elements: int) -> None:
        self._done += elements
        if self._progress is not None:
            self._progress(self._done, self._total)


def _operand_bytes(pairs: Sequence[Pair]) -> int:
    return sum(size(tensor.shape) * tensor.element.itemsize for pair in pairs for tensor in (pair.a, pair.b))


def _compare(pair: Pair, policies: Sequence[Overflow], meter: _Meter) -> Comparison:
    answers = tuple(
        Answers(policy, pair.result_type(policy)) for policy in (policies if pair.element.is_integer else policies[:1])
    )
    found = Comparison(pair.name, pair.element, pair.a.shape, pair.b.shape, pair.shape, answers)
    work = _Blocks(pair)
    for block in work:
        count = block.count()
        at = block.first_overflow() if count and found.first is None else None
        if at is not None:
            found.first = (block.index(at), *block.operands_at(at))
        for row in answers:
            _sum_up(row, found, work, block, at)
        found.overflowed += count
        meter.add(size(static(block.joined.shape or ())))
    return found


def _sum_up(row: Answers, found: Comparison, work: _Blocks, block: Block, at: tuple[int, ...] | None) -> None:
    """Add what one policy answers on one block."""
    try:
        answer = work.compute(block, row.policy, all_blocks=row.policy != "widen")
    except OverflowFound as error:
        if row.policy != "widen":
            raise
        row.unfit += error.count
        return
    if at is not None:
        row.first = int(answer[at])
    if row.element.is_integer:
        lows, highs = answer, answer
    else:
        lows = highs = answer.astype(np.float32) if row.element.bits < 32 else answer  # exact
        missing = np.isnan(lows)
        found.nans += int(missing.sum())
        lows = highs = lows[~missing]
    if lows.size:
        low, high = lows.min().item(), highs.max().item()
        row.low = low if row.low is None else min(low, row.low)
        row.high = high if row.high is None else max(high, row.high)


# ---- which tensors go together --------------------------------------------------------------------------------


def pair_up(a: TensorFile, b: TensorFile, rules: Rules, common: bool) -> tuple[list[Pair], tuple[str, ...]]:
    """Pair the tensors of two files, by name where both files name them, and check each pair.

    Returns:
        the pairs, and the names that one file alone has (under ``common``).

    Raises:
        FileFormatError: names that one file alone has, without ``common``; or one tensor against several.
        SpecError: a pair that the rules refuse.
    """
    if a.named and b.named:
        names = [name for name in a if name in b]
        skipped = _one_sided(a, b, names, common)
        return [_pair(name, a[name], b[name], rules, f"tensor {name!r}") for name in names], skipped
    if common:
        raise FileFormatError("--common needs two files of named tensors; leave it out for single ones")
    for one, other in ((a, b), (b, a)):
        if len(one) != 1:
            raise FileFormatError(
                f"{one.path} holds {len(one)} tensors ({quoted(one) or 'none'}) and {other.path} one; "
                f"select one by {one.path}::name"
            )
    (x,), (y,) = a.values(), b.values()
    return [_pair(x.name or y.name or "difference", x, y, rules, "")], ()


def _one_sided(a: TensorFile, b: TensorFile, names: Sequence[str], common: bool) -> tuple[str, ...]:
    alone = {one.path: [name for name in one if name not in other] for one, other in ((a, b), (b, a))}
    told = "; ".join(f"only {path} has {quoted(names)}" for path, names in alone.items() if names)
    if told and not common:
        hint = f"--common subtracts the {len(names)} that both have" if names else "they have none in common"
        raise FileFormatError(f"{a.path} and {b.path} do not hold the same tensors: {told}; {hint}")
    if not names:
        raise FileFormatError(f"{a.path} and {b.path} have no tensor in common: {told or 'both are empty'}")
    return tuple(itertools.chain.from_iterable(alone.values()))


def _pair(name: str, a: Tensor, b: Tensor, rules: Rules, where: str) -> Pair:
    try:
        return Pair(name, a, b, rules.join(a, b), where and f", in {where}")
    except SpecError as error:
        raise error.at(where) from None


# ---- blocks ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a difference: one index of the leading axes, and a run along the next.

    Attributes:
        prefix, start: where it lies. a, b: the operands' parts, in native byte order. joined: how those join.
    """

    prefix: tuple[int, ...]
    start: int
    element: ElementType
    a: Array
    b: Array
    joined: Broadcast

    def plan(self) -> Plan:
        """How both parts lie over the block."""
        return plan(self.element, self.joined, (self.a.shape, self.a.strides), (self.b.shape, self.b.strides))

    def count(self) -> int:
        """How many elements overflow the operands' type."""
        return self.plan().count(self.a, self.b) if self.element.is_integer else 0

    def first_overflow(self) -> tuple[int, ...]:
        """The index within the block of the first element that overflows; there is one."""
        return self.plan().first_overflow(self.a, self.b, "saturate")

    def operands_at(self, at: tuple[int, ...]) -> tuple[int, int]:
        """Both operands of an element of the block."""
        return self.plan().operands_at(self.a, self.b, at)

    def index(self, at: tuple[int, ...]) -> tuple[int, ...]:
        """The index within the whole difference."""
        return (*self.prefix, self.start + at[0], *at[1:]) if at else at


class _Operand:
    """An operand as blocks need it: a small one whole, of a large one the part of one block at a time.

    All parts lie in one buffer, one after the other, so a part is good until the next one is asked for.
    """

    def __init__(self, elements: Elements, begin: int) -> None:
        self._elements, self._begin = elements, begin
        self._whole: Array | None = None
        self._buffer = np.empty(0, np.uint8)
        self._held = (0, 0)
        if elements.nbytes <= BLOCK_BYTES:
            self._whole = elements.read()
        elif elements.fortran:  # a part of it lies all over the file
            self._whole = elements.laid_out(spooled(elements.source, elements.offset, elements.nbytes))

    def part(self, prefix: tuple[int, ...], start: int, stop: int) -> Array:
        """The part for a block; the operand's dims sit in the result from ``begin`` on, its 1s repeat."""
        at, shape = self._elements.offset, self._elements.shape
        key: list[int | slice] = []
        for axis, i in enumerate(prefix):
            if axis >= self._begin and len(key) < len(shape):
                key.append(i if shape[len(key)] > 1 else 0)
        if self._begin <= len(prefix) and len(key) < len(shape) and shape[len(key)] > 1:
            key.append(slice(start, stop))
        if self._whole is not None:
            return self._whole[(*key, ...)]
        rest = shape[len(key) :]
        for axis, one in enumerate(key):
            first = one.start if isinstance(one, slice) else one
            at += first * size(shape[axis + 1 :]) * self._elements.dtype.itemsize
        if key and isinstance(key[-1], slice):
            rest = (stop - start, *rest)
        return self._read(at, rest)

    def _read(self, at: int, shape: tuple[int, ...]) -> Array:
        dtype = self._elements.dtype
        nbytes = size(shape) * dtype.itemsize
        if nbytes > self._buffer.size:
            self._buffer = np.empty(nbytes, np.uint8)
            self._held = (0, 0)
        if self._held != (at, nbytes):  # a part that repeats is read once
            self._held = (0, 0)
            self._elements.source.read_into(at, self._buffer[:nbytes])
            self._held = (at, nbytes)
        return self._buffer[:nbytes].view(dtype).reshape(shape)


class _Blocks:
    """The blocks of a pair, in C order. A block takes memory, and is good until the next one is asked for."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.a = _Operand(pair.a.elements(), pair.joined.a_start)
        self.b = _Operand(pair.b.elements(), pair.joined.b_start)

    def __iter__(self) -> Iterator[Block]:
        shape = self.pair.shape
        if not shape:
            yield self._block((), 0, 1)
            return
        if size(shape) == 0:
            return
        wide = self.pair.element.widened.itemsize
        axis = next(k for k in range(len(shape)) if k == len(shape) - 1 or size(shape[k + 1 :]) * wide <= BLOCK_BYTES)
        rows = max(1, BLOCK_BYTES // (size(shape[axis + 1 :]) * wide))
        for prefix in np.ndindex(shape[:axis]):
            for start in range(0, shape[axis], rows):
                yield self._block(prefix, start, min(start + rows, shape[axis]))

    def _block(self, prefix: tuple[int, ...], start: int, stop: int) -> Block:
        joined, axis = self.pair.joined, len(prefix)
        shape = (stop - start, *self.pair.shape[axis + 1 :]) if self.pair.shape else ()
        a, b = self.a.part(prefix, start, stop), self.b.part(prefix, start, stop)
        a, b, element = operands(a, b)
        starts = (max(0, joined.a_start - axis), max(0, joined.b_start - axis))
        return Block(prefix, start, element, in_native_order(a), in_native_order(b), Broadcast(shape, *starts))

    def compute(self, block: Block, policy: str, *, all_blocks: bool = True) -> Array:
        """Compute a block; an overflow that is an error is told for the whole difference."""
        try:
            return compute(block.element, block.joined, block.a, block.b, None, policy)
        except OverflowFound as error:
            raise (self._overflow(block, error, policy) if all_blocks else error) from None

    def _overflow(self, first: Block, error: OverflowFound, policy: str) -> OverflowFound:
        where = (first.prefix, first.start)
        count = error.count
        for block in self:
            if (block.prefix, block.start) <= where:
                continue
            try:
                compute(block.element, block.joined, block.a, block.b, None, policy)
            except OverflowFound as later:
                count += later.count
        goal, index = self.pair.result_type(policy), first.index(error.index)
        low, high = goal.limits
        others = "wrap or saturate" if policy == "widen" else "wrap, saturate or widen"
        return OverflowFound(
            f"{count} of {size(self.pair.shape)} differences do not fit {goal} ({low} to {high}){self.pair.where}; the "
            f"first is at index {index}: {operation.equation(error.a, error.b)}; "
            f"--overflow {others} gives an answer",
            count=count,
            index=index,
            a=error.a,
            b=error.b,
        )
