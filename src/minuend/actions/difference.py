"""The difference of two files: which tensors go together, computed in blocks, written or summed up."""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from minuend.actions import chunks, nodata
from minuend.actions.summary import Number, Summary, summed
from minuend.core import operation, shapes
from minuend.core.arrays import compute, in_native_order
from minuend.core.elements import ElementType
from minuend.core.plan import Plan, plan
from minuend.core.policies import Overflow
from minuend.core.shapes import Broadcast, size, static
from minuend.errors import DTypeError, FileFormatError, OverflowFound, SpecError
from minuend.standards.dialects import dialect
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion
from minuend.storage import Result, Tensor, TensorFile, chunked_format, open_tensors, regions, write_tensors
from minuend.storage.base import About, Elements, Held, Stretched, quoted
from minuend.storage.pipeline import ahead, workers
from minuend.storage.reading import Array
from minuend.storage.regions import BAND_BYTES, Region, bands, extent, index, runs, stretches
from minuend.storage.turning import in_c_order

T = TypeVar("T")

SMALL = 4
"""Operands of up to so many blocks are held in memory."""

LEAST_RUN = 1 << 16
"""Bytes that lie together in a region that is read where it lies; where they are fewer, the file is turned first."""

SIDE_BY_SIDE: tuple[Overflow, ...] = ("wrap", "saturate", "widen")
"""The policies that ``compare`` shows where none is named."""

INEXACT = (
    "a difference of floats is rounded and does not give TUNED back from BASE bit by bit; "
    "minuend delta make BASE TUNED -o D does"
)

Progress = Callable[[int, int], None]
"""Is told how many bytes are read and written, and of how many."""

Observer = Callable[["Pair", Region, Array, Array, Array], None]
"""Is shown each block that is computed: whose, where, both operands' parts and the difference. Threads take turns."""

Watch = Callable[[Sequence["Pair"]], Observer]
"""Is told what will be computed, and may refuse it; gives what is shown the blocks."""


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

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to other processes by name: a version's row is in every one of them."""
        version = None if self.op is None else (self.op.dialect, self.op.version)
        return (_rules, (version, dict(self.attributes)))

    def __str__(self) -> str:
        if self.op is None:
            return ""
        stated = "".join(f", {name}={value}" for name, value in self.attributes.items())
        return f"{self.op.dialect} {self.op}{stated}"


def _rules(version: tuple[str, int | str] | None, attributes: Mapping[str, Any]) -> Rules:
    return Rules(None if version is None else dialect(version[0]).resolve(version[1]), attributes)


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

    @property
    def fortran(self) -> bool:
        """Whether the large operands lie in Fortran order, so that it is quicker to have the difference in that."""
        large = [x for x in (self.a, self.b) if size(x.shape) == size(self.shape)]
        return bool(large) and len(self.shape) > 1 and all(x.fortran for x in large)

    @property
    def about(self) -> About:
        """What is said of the difference beside its elements."""
        found = nodata.stated(self.a.about, self.b.about)
        return self.a.about if found == self.a.about.nodata else replace(self.a.about, nodata=found)

    def result_type(self, overflow: str) -> ElementType:
        """The difference's element type under a policy."""
        return self.element.widened if overflow == "widen" else self.element


# ---- reports --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """One difference that was written, and what its elements are.

    ``overflowed`` is ``None`` of floats, ``nans`` of integers, ``nodata`` where the file states no such value; ``low``
    and ``high`` are where there is no number.
    """

    name: str
    element: ElementType
    a_shape: tuple[int, ...]
    b_shape: tuple[int, ...]
    result: ElementType
    shape: tuple[int, ...]
    elements: int
    overflowed: int | None
    low: Number | None
    high: Number | None
    nans: int | None
    nodata: int | None

    @classmethod
    def of(cls, pair: Pair, result: ElementType, found: Summary) -> Written:
        """Tell of a pair's difference."""
        integer = pair.element.is_integer
        return cls(
            pair.name,
            pair.element,
            pair.a.shape,
            pair.b.shape,
            result,
            pair.shape,
            found.elements,
            overflowed=found.overflowed if integer else None,
            low=found.low,
            high=found.high,
            nans=None if integer else found.nans,
            nodata=None if pair.about.nodata is None else found.nodata,
        )


@dataclass(frozen=True, slots=True)
class SubReport:
    """What ``subtract_files`` did.

    Attributes:
        nbytes: what was read and written. skipped: the names of unpaired tensors.
        notes: what somebody should know who uses what was written.
    """

    a: str
    b: str
    out: str
    rules: str
    overflow: str
    tensors: tuple[Written, ...]
    skipped: tuple[str, ...]
    seconds: float
    nbytes: int
    notes: tuple[str, ...] = ()


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
    first: First | None = None
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
    common: bool = False,
    progress: Progress | None = None,
    watch: Watch | None = None,
    resume: bool = False,
    scheduler: str | None = None,
) -> SubReport:
    """Subtract the tensors of one file from another's and write the differences.

    Args:
        a, b: the operands: ``path`` or ``path::name``. out: the file to write; its suffix tells the format.
        rules: whose rules check and join them. overflow: the policy for integers, as in ``minuend.subtract``.
        common: subtract the tensors that both files name, and skip the others.
        progress: told of every block. watch: told of the pairs before anything is computed, and shown every block.
        resume: go on where an interrupted run on the same goal has stopped; for goals that are written in chunks.
        scheduler: address of the Dask cluster that computes such a goal, or a file that states it.

    Raises:
        FileFormatError, DTypeError, ShapeError, SpecError, OSError: the operands cannot be read or do not go together,
            or the output cannot hold the differences. OverflowFound: as in ``minuend.subtract``. Whatever is raised,
            no output file appears or changes.
    """
    start = time.perf_counter()
    minuend, subtrahend = open_tensors(a), open_tensors(b)
    pairs, skipped = pair_up(minuend, subtrahend, rules, common)
    if watch is not None:
        chunks.refuse_watch(resume=resume, scheduler=scheduler)
    shown = [watch(pairs)] if watch is not None else []
    meter = _Meter(progress, pairs, overflow)
    with Work(overflow, shown=[meter.block, *shown]) as work:
        results = [work.result(pair) for pair in pairs]
        sources = (minuend.sources, subtrahend.sources)
        if chunked_format(out):
            job = chunks.Job.of(a, b, rules, overflow, common)
            chunks.write(job, out, work, pairs, meter.add, sources, resume=resume, scheduler=scheduler)
        else:
            chunks.refuse(resume=resume, scheduler=scheduler)
            try:
                write_tensors(out, results, [*minuend.sources, *subtrahend.sources], metadata=minuend.metadata)
            except OverflowFound:
                raise work.whole_overflow() from None
    written = tuple(
        Written.of(pair, result.element, work.summaries[pair.name]) for pair, result in zip(pairs, results, strict=True)
    )
    seconds = time.perf_counter() - start
    return SubReport(
        a, b, out, str(rules), overflow, written, skipped, seconds, meter.nbytes, _notes(out, pairs, work.summaries)
    )


def _notes(out: str, pairs: Sequence[Pair], summaries: Mapping[str, Summary]) -> tuple[str, ...]:
    """What to say of a difference of weights, and of one that has the nodata value where there is data."""
    hits = tuple(
        f"{summaries[pair.name].hit} differences are the nodata value {pair.about.nodata} themselves and cannot be "
        f"told from it{pair.where}"
        for pair in pairs
        if summaries[pair.name].hit
    )
    weights = out.lower().endswith(".safetensors") or any(pair.a.about.shard for pair in pairs)
    return (*hits, INEXACT) if weights and any(not pair.element.is_integer for pair in pairs) else hits


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
    meter = _Meter(progress, pairs)
    found = tuple(_compare(pair, SIDE_BY_SIDE if overflow is None else (overflow,), meter) for pair in pairs)
    seconds = time.perf_counter() - start
    return CompareReport(a, b, str(rules), found, skipped, seconds, meter.nbytes)


class _Meter:
    """Tells the progress; ``nbytes``: of all operands, and of the differences if they are written."""

    def __init__(self, progress: Progress | None, pairs: Sequence[Pair], written: Overflow | None = None) -> None:
        self._progress, self._done = progress, 0
        self._elements = sum(size(pair.shape) for pair in pairs)
        self.nbytes = sum(size(x.shape) * x.element.itemsize for pair in pairs for x in (pair.a, pair.b))
        if written is not None:
            self.nbytes += sum(size(pair.shape) * pair.result_type(written).itemsize for pair in pairs)

    def block(self, _: Pair, region: Region, *__: Array) -> None:
        """See :data:`Observer`."""
        self.add(size(extent(region)))

    def add(self, elements: int) -> None:
        """Tell of elements that are done."""
        self._done += elements
        if self._progress is not None and self._elements:
            self._progress(self._done * self.nbytes // self._elements, self.nbytes)


def _compare(pair: Pair, policies: Sequence[Overflow], meter: _Meter) -> Comparison:
    answers = tuple(
        Answers(policy, pair.result_type(policy)) for policy in (policies if pair.element.is_integer else policies[:1])
    )
    found = Comparison(pair.name, pair.element, pair.a.shape, pair.b.shape, pair.shape, answers)
    operands = Operands(pair)

    def summed(region: Region) -> Comparison:
        block = operands.block(region)
        part = Comparison(pair.name, pair.element, pair.a.shape, pair.b.shape, extent(region), ())
        part.overflowed = block.count()
        at = block.first_overflow() if part.overflowed else None
        if at is not None:
            part.first = (block.index(at), *block.operands_at(at))
        rows = [Answers(row.policy, row.element) for row in answers]
        for row in rows:
            _sum_up(row, part, block, at)
        return replace(part, answers=tuple(rows))

    try:
        for part in operands.blocks(summed):
            _merge(found, part)
            meter.add(part.elements)
    except OverflowFound as error:
        raise operands.overflow(answers[0].policy) from error
    return found


def _sum_up(row: Answers, found: Comparison, block: Block, at: tuple[int, ...] | None) -> None:
    """Sum up what one policy answers on one block."""
    try:
        answer = block.compute(row.policy)
    except OverflowFound as error:
        if row.policy != "widen":
            raise
        row.unfit = error.count
        return
    if at is not None:
        row.first = int(answer[at])
    part = summed(row.element, answer if block.missing is None else answer[~block.missing])
    row.low, row.high, found.nans = part.low, part.high, part.nans


def _merge(found: Comparison, part: Comparison) -> None:
    """Add the answers on one block; the first overflow is that of the lowest index."""
    earlier = part.first is not None and (found.first is None or part.first < found.first)
    for row, new in zip(found.answers, part.answers, strict=True):
        row.low = min((x for x in (row.low, new.low) if x is not None), default=None)
        row.high = max((x for x in (row.high, new.high) if x is not None), default=None)
        row.first = new.first if earlier else row.first
        row.unfit += new.unfit
    found.first = part.first if earlier else found.first
    found.overflowed += part.overflowed
    found.nans += part.nans


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
        nodata.check_grids(a, b)
        return Pair(name, a, b, rules.join(a, b), where and f", in {where}")
    except SpecError as error:
        raise error.at(where) from None


# ---- blocks ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """A region of a difference, and the operands' parts for it, in native byte order.

    Attributes:
        joined: how those join. missing: where one of them has no data, and both are 0 here; ``None``: nowhere.
    """

    region: Region
    element: ElementType
    a: Array
    b: Array
    joined: Broadcast
    missing: Array | None = None

    def compute(self, policy: str) -> Array:
        """Subtract."""
        return compute(self.element, self.joined, self.a, self.b, None, policy)

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
        return index(self.region, at)


class Operands:
    """A pair's elements as blocks need them; several threads may ask at once."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self._a = _Operand(pair.a.elements(), pair.joined.a_start)
        self._b = _Operand(pair.b.elements(), pair.joined.b_start)

    def block(self, region: Region) -> Block:
        """Read what a region of the difference is made of."""
        a, b = (in_native_order(one.part(region)) for one in (self._a, self._b))
        shape, starts = extent(region), (self.pair.joined.a_start, self.pair.joined.b_start)
        stated = (self.pair.a.about.nodata, self.pair.b.about.nodata)
        masks = [nodata.missing(one, value) for one, value in zip((a, b), stated, strict=True)]
        if all(mask is None for mask in masks):
            return Block(region, self.pair.element, a, b, Broadcast(shape, *starts))
        known = [nodata.over(mask, start, shape) for mask, start in zip(masks, starts, strict=True) if mask is not None]
        missing = np.logical_or(known[0], known[-1])
        whole = (nodata.over(one, start, shape) for one, start in zip((a, b), starts, strict=True))
        a, b = (np.where(missing, np.zeros((), one.dtype), one) for one in whole)
        return Block(region, self.pair.element, a, b, Broadcast(shape, 0, 0), missing)

    def blocks(self, work: Callable[[Region], T]) -> Iterator[T]:
        """Work on all blocks, several at a time, in the order in which the operands lie."""
        shape, itemsize = self.pair.shape, self.pair.element.widened.itemsize
        cut = stretches(shape[::-1], itemsize) if self.pair.fortran else bands(shape, itemsize, self.pair.a.chunks)
        turned = (region[::-1] if self.pair.fortran else region for region in cut)
        return ahead(work, turned, 5 * (BAND_BYTES if self.pair.a.chunks else regions.BLOCK_BYTES))

    def overflow(self, policy: str) -> OverflowFound:
        """Go through the whole difference, in which something overflows, and return what tells of all of it."""

        def overflowing(region: Region) -> tuple[int, First | None]:
            try:
                self.block(region).compute(policy)
            except OverflowFound as error:
                return error.count, (index(region, error.index), error.a, error.b)
            return 0, None

        counts, firsts = zip(*self.blocks(overflowing), strict=True)
        return overflow_found(self.pair, policy, sum(counts), min(one for one in firsts if one is not None))


First = tuple[tuple[int, ...], int, int]
"""An element that overflows: its index in the difference, and both operands."""


def overflow_found(pair: Pair, policy: str, count: int, first: First) -> OverflowFound:
    """Return what tells of everything in a difference that overflows."""
    goal = pair.result_type(policy)
    low, high = goal.limits
    others = "wrap or saturate" if policy == "widen" else "wrap, saturate or widen"
    where, a, b = first
    return OverflowFound(
        f"{count} of {size(pair.shape)} differences do not fit {goal} ({low} to {high}){pair.where}; the "
        f"first is at index {where}: {operation.equation(a, b)}; --overflow {others} gives an answer",
        count=count,
        index=where,
        a=a,
        b=b,
    )


class _Operand:
    """An operand as blocks need it: a small one whole, of a large one the part of one block at a time."""

    def __init__(self, elements: Elements, begin: int) -> None:
        small = size(elements.shape) * elements.dtype.itemsize <= SMALL * regions.BLOCK_BYTES
        self._elements: Elements = Held(elements.read()) if small else elements
        self._begin = begin
        self._turning = threading.Lock()

    def part(self, region: Region) -> Array:
        """The part for a region of the result, in which the operand's dims sit from ``begin`` on; its 1s repeat."""
        shape = self._elements.shape
        within = region[self._begin : self._begin + len(shape)]
        own = tuple(slice(0, 1) if dim == 1 else one for dim, one in zip(shape, within, strict=True))
        if isinstance(self._elements, Stretched) and self._elements.fortran:
            self._turn(own)
        return self._elements.part(own)

    def _turn(self, region: Region) -> None:
        """Turn an operand in Fortran order, if a region that is asked for lies all over its file."""
        with self._turning:
            elements = self._elements
            if isinstance(elements, Stretched) and elements.fortran:
                length, _ = runs(region[::-1], elements.shape[::-1])
                if length < size(extent(region)) and length * elements.dtype.itemsize < LEAST_RUN:
                    self._elements = in_c_order(elements)


class Work:
    """Differences that are computed region by region, in any order and by several threads.

    Args:
        overflow: the policy. shown: what is shown each block.

    Attributes:
        summaries: by name, what the elements are that were computed so far.
    """

    def __init__(self, overflow: Overflow, *, shown: Sequence[Observer] = ()) -> None:
        self.overflow, self._shown = overflow, shown
        self.summaries: dict[str, Summary] = {}
        self._overflowing: Pair | None = None
        self._turn = threading.Lock()
        self._opened: dict[str, Operands] = {}
        self._opening = threading.Lock()

    def __enter__(self) -> Work:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.clear()

    def result(self, pair: Pair) -> Result:
        """Return what can be written of a pair."""
        nodata.check(pair.about.nodata, pair.result_type(self.overflow), pair.where)
        self.summaries[pair.name] = Summary()
        return Result(
            pair.name,
            pair.result_type(self.overflow),
            pair.shape,
            functools.partial(self.part, pair),
            chunks=pair.a.chunks if pair.a.shape == pair.shape else None,
            about=pair.about,
            fortran=pair.fortran,
        )

    def part(self, pair: Pair, region: Region) -> Array:
        """Compute a region of a pair's difference."""
        return self.block(pair, region)[0]

    def add(self, pair: Pair, part: Summary) -> None:
        """Take in what was computed elsewhere."""
        with self._turn:
            self.summaries[pair.name].add(part)

    def block(self, pair: Pair, region: Region) -> tuple[Array, Summary]:
        """Compute a region of a pair's difference, and sum it up."""
        block = self._operands(pair).block(region)
        try:
            found, count = self._computed(pair, block)
        except OverflowFound:
            self._overflowing = pair
            raise
        hit = 0
        if pair.about.nodata is not None:
            hit = self._without_data(pair, block, found)
        part = summed(pair.result_type(self.overflow), found, pair.about.nodata)
        part.overflowed, part.hit = count, hit
        with self._turn:
            self.summaries[pair.name].add(part)
            for observer in self._shown:
                observer(pair, region, block.a, block.b, found)
        return found, part

    def _without_data(self, pair: Pair, block: Block, found: Array) -> int:
        """Put nodata where an operand has none; return how many real differences are that number themselves."""
        same = nodata.missing(found, pair.about.nodata)
        hit = 0 if same is None else int(np.count_nonzero(same))
        if block.missing is not None:
            hit -= 0 if same is None else int(np.count_nonzero(same & block.missing))
            found[block.missing] = pair.about.nodata
        return hit

    def _computed(self, pair: Pair, block: Block) -> tuple[Array, int]:
        """Compute a block, and count what overflows.

        Where nothing does, wrapping and clamping give the answers of ``"error"``, which looks for overflow while it
        subtracts; so counting costs a pass of its own only in a difference that is known to overflow.
        """
        first = not self.summaries[pair.name].overflowed
        if first and pair.element.is_integer and self.overflow in ("wrap", "saturate"):
            try:
                return block.compute("error"), 0
            except OverflowFound as error:
                return block.compute(self.overflow), error.count
        return block.compute(self.overflow), block.count() if self.overflow != "error" else 0

    def whole_overflow(self) -> OverflowFound:
        """Return what tells of the whole difference in one of whose regions something overflowed."""
        assert self._overflowing is not None
        return self._operands(self._overflowing).overflow(self.overflow)

    def _operands(self, pair: Pair) -> Operands:
        """Open a pair's operands; those of the last pairs stay open, as threads work on one pair after another."""
        with self._opening:
            found = self._opened.get(pair.name)
            if found is None:
                while len(self._opened) > workers():
                    del self._opened[next(iter(self._opened))]
                found = self._opened[pair.name] = Operands(pair)
            return found
