"""``ELEMENT_WISE_SUBTRACT`` on plain buffers, with every rule that DirectML documents checked first.

DirectML's own runtime answers a broken rule with a bare ``E_INVALIDARG``, or with a removed device; here each
rule is numbered where it is enforced and the message names the field.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from minuend.arrays.overlap import null_step
from minuend.arrays.plan import Plan, plan
from minuend.core.shapes import Broadcast
from minuend.directml.api.desc import TensorDesc
from minuend.directml.api.enums import DML_TENSOR_FLAGS
from minuend.errors import DTypeError, ShapeError, SpecError, listed
from minuend.standards.dialects import dialect, spec
from minuend.standards.validation import check_types
from minuend.standards.version import OpVersion

Memory: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
Descs: TypeAlias = Mapping[str, TensorDesc]


def element_wise_subtract(
    a_desc: TensorDesc,
    b_desc: TensorDesc,
    output_desc: TensorDesc,
    a: Any,
    b: Any,
    output: Any,
    *,
    feature_level: object = "6.4",
) -> None:
    """Subtract as DirectML does: ``output = a - b``, each laid out as its description says.

    Integers wrap; floats give the exact difference, rounded once to nearest even. Nothing broadcasts by size: a stride
    of 0 repeats an input. ``output`` may be exactly ``a``'s or ``b``'s range, or both, with the same strides; inputs
    may overlap each other freely. Rely on nothing about the bytes between and after the output's elements.

    Args:
        a_desc, b_desc, output_desc: the tensors; one data type, one list of sizes.
        a, b: ``bytes``, a ``bytearray``, a ``memoryview`` or a C-contiguous NumPy array of any dtype, whose first
            TotalTensorSizeInBytes bytes are the tensor, in the machine's byte order. Tensors that are OWNED_BY_DML are
            passed like the others.
        output: likewise, and writable.
        feature_level: the level whose types and ranks apply, such as ``"4.1"``.

    Raises:
        SpecError, DTypeError, ShapeError: a rule is broken; nothing has been written then.

    >>> packed = TensorDesc("UINT8", (2, 3))
    >>> row = TensorDesc("UINT8", (2, 3), (0, 1))
    >>> a, b, out = bytes([1, 2, 3, 4, 5, 6, 0, 0]), bytes([1, 2, 5, 0]), bytearray(8)
    >>> element_wise_subtract(packed, row, packed, a, b, out)
    >>> list(out[:6])
    [0, 0, 254, 3, 3, 1]
    """
    work = _work_of(feature_level, a_desc, b_desc, output_desc)
    x, y, target = (_plain(a, work.totals[0]), _plain(b, work.totals[1]), _plain(output, work.totals[2]))
    if (
        x is None or y is None or target is None or not target.flags.writeable
        or not ((a is output and work.in_place[0]) or not np.may_share_memory(x, target))
        or not ((b is output and work.in_place[1]) or not np.may_share_memory(y, target))
    ):  # fmt: skip
        op = work.op
        names = (*op.inputs.names, *op.outputs.names)
        descs = dict(zip(names, (a_desc, b_desc, output_desc), strict=True))
        memory = {name: _memory(name, descs[name], buffer) for name, buffer in zip(names, (a, b, output), strict=True)}
        _check_ranges(op, descs, memory)
        x, y, target = memory.values()
    work.plan.run(x, y, target, work.output_strides, "wrap")


@dataclass(frozen=True, slots=True)
class _Work:
    """What a feature level and three descriptions decide together; they violate no rule.

    Attributes:
        op: the level's row. plan: both inputs. output_strides: in bytes. totals: bytes of the three tensors.
        in_place: whether the output may have A's range, and B's.
    """

    op: OpVersion
    plan: Plan
    output_strides: tuple[int, ...]
    totals: tuple[int, int, int]
    in_place: tuple[bool, bool]


_WORKS: dict[tuple[object, ...], _Work] = {}
_MOST_WORKS = 1024


def _work_of(feature_level: object, a: TensorDesc, b: TensorDesc, output: TensorDesc) -> _Work:
    """Return what was decided of descriptions like these, or decide it."""
    if not (type(a) is type(b) is type(output) is TensorDesc and type(feature_level) is str):
        return _decide(feature_level, a, b, output)
    key = feature_level, a.key, b.key, output.key
    work = _WORKS.get(key)
    if work is None:
        work = _decide(feature_level, a, b, output)
        if len(_WORKS) >= _MOST_WORKS:
            _WORKS.clear()
        _WORKS[key] = work
    return work


def _decide(feature_level: object, a: TensorDesc, b: TensorDesc, output: TensorDesc) -> _Work:
    op = spec("directml", feature_level)
    descs = (a, b, output)
    check_descs(op, dict(zip((*op.inputs.names, *op.outputs.names), descs, strict=True)))
    size = a.element.itemsize
    a_strides, b_strides, output_strides = (tuple(step * size for step in desc.element_strides) for desc in descs)
    totals = a.total_tensor_size_in_bytes, b.total_tensor_size_in_bytes, output.total_tensor_size_in_bytes
    return _Work(
        op,
        plan(op.computes, a.element, Broadcast(a.sizes), (a.sizes, a_strides), (a.sizes, b_strides)),
        output_strides,
        totals,
        ((totals[0], a_strides) == (totals[2], output_strides), (totals[1], b_strides) == (totals[2], output_strides)),
    )


# ---- the rules of three descriptions --------------------------------------------------------------------------


def check_descs(op: OpVersion, descs: Descs) -> None:
    """Check the three tensors of one subtraction against a feature level's row, and against each other.

    Args:
        op: the row. descs: the tensors by name: the row's inputs, then its output.

    Raises:
        DTypeError: data types. ShapeError: dimension counts, sizes or strides. SpecError: flags.
    """
    for name, desc in descs.items():
        if not isinstance(desc, TensorDesc):
            wanted = "expected a minuend.directml.TensorDesc"
            raise SpecError("tensors", f"{desc!r} is no description; {wanted}", where=name)
    _check_types(op, descs)
    _check_ranks(op, descs)
    # 5. The three have the same Sizes; a size of 1 does not broadcast.
    hint = "a size of 1 does not broadcast, give the full size and a stride of 0"
    _same("Sizes", "sizes", {name: desc.sizes for name, desc in descs.items()}, hint)
    _check_output(op.outputs.names[0], descs)


def _check_types(op: OpVersion, descs: Descs) -> None:
    # 1. The three have one DataType.
    _same("DataType", "types", {name: desc.data_type.name for name, desc in descs.items()})
    # 2. It is one that the feature level's row lists.
    for name, desc in descs.items():
        try:
            check_types(op, desc.element.name, desc.element.name)
        except DTypeError as error:
            raise error.at(f"{name}.DataType") from None


def _check_ranks(op: OpVersion, descs: Descs) -> None:
    lo, hi = op.ranks
    for name, desc in descs.items():
        rank = len(desc.sizes)
        # 3. DimensionCount lies within the feature level's limits.
        if hi is not None and not lo <= rank <= hi:
            wanted = f"{op} takes {lo if lo == hi else f'{lo} to {hi}'}{_more(op, rank)}"
            raise ShapeError("ranks", f"DimensionCount is {rank}; {wanted}", where=f"{name}.DimensionCount")
    # 4. The three have one DimensionCount.
    _same("DimensionCount", "ranks", {name: len(desc.sizes) for name, desc in descs.items()})


def _more(op: OpVersion, rank: int) -> str:
    if rank < op.ranks[0]:
        return ", put 1s before the sizes"
    later = [v for v in dialect(op.dialect).versions() if v.ranks[1] is not None and rank <= v.ranks[1]]
    return f", more come with feature level {later[0].version}" if later else ""


def _same(field: str, rule: str, values: Mapping[str, object], hint: str = "") -> None:
    first, *others = values
    for name in others:
        if values[name] != values[first]:
            kind = DTypeError if rule == "types" else ShapeError
            message = f"{field} is {values[name]} and {first}'s is {values[first]}; expected one {field} in all three"
            raise kind(rule, f"{message} ({hint})" if hint else message, where=f"{name}.{field}")


def _check_output(name: str, descs: Descs) -> None:
    output = descs[name]
    # 6. OWNED_BY_DML is for inputs alone.
    if output.flags & DML_TENSOR_FLAGS.OWNED_BY_DML:
        raise SpecError("flags", "Flags is OWNED_BY_DML, which is for inputs alone; expected 0", where=f"{name}.Flags")
    # 7. No two elements of the output share an address.
    step = null_step(output.sizes, output.element_strides)
    if step is not None:
        raise ShapeError("strides", _sharing(output, step), where=f"{name}.Strides")


def _sharing(output: TensorDesc, step: tuple[int, ...]) -> str:
    """Name the dims, and two elements that share an address."""
    dims = [i for i, d in enumerate(step) if d]
    strides = output.element_strides
    one, other = (tuple(max(sign * d, 0) for d in step) for sign in (1, -1))
    offset = sum(i * stride for i, stride in zip(one, strides, strict=True))
    named = listed((f"Strides[{i}] = {strides[i]} (of Sizes[{i}] = {output.sizes[i]})" for i in dims), "and")
    verb = "lets" if len(dims) == 1 else "let"
    return (
        f"{named} {verb} elements {one} and {other} share one address, {offset} elements from the start; "
        "each output element needs its own"
    )


# ---- the rules of three buffers -------------------------------------------------------------------------------


def _plain(buffer: Any, total: int) -> np.ndarray[Any, Any] | None:
    """Return an array that begins where a buffer does; ``None`` where the rules below have to look at the buffer."""
    kind = type(buffer)
    if kind is bytes or kind is bytearray:
        return np.frombuffer(buffer, np.uint8) if len(buffer) >= total else None
    if kind is memoryview and buffer.format == "B" and buffer.c_contiguous and buffer.nbytes >= total:
        return np.frombuffer(buffer, np.uint8)
    if kind is np.ndarray and buffer.nbytes >= total and buffer.flags.c_contiguous and _is_numbers(buffer.dtype):
        return buffer  # type: ignore[no-any-return]
    return None


def _is_numbers(dtype: np.dtype[Any]) -> bool:
    """Whether an array of a dtype is bytes that a tensor may take: no objects, and in this machine's byte order."""
    return not dtype.hasobject and dtype.itemsize > 0 and dtype.isnative


def _memory(name: str, desc: TensorDesc, buffer: Any) -> Memory:
    """Return the bytes of a tensor's range, in place."""
    flat = _bytes(name, buffer)
    total = desc.total_tensor_size_in_bytes
    # 8. A buffer holds TotalTensorSizeInBytes bytes; its range is the first so many.
    if flat.size < total:
        wanted = f"expected at least {total}, the tensor's TotalTensorSizeInBytes"
        raise _unfit(name, f"holds {flat.size} bytes; {wanted}")
    return flat[:total]


def _unfit(name: str, message: str) -> SpecError:
    return SpecError("buffers", f"the buffer {message}", where=name)


def _bytes(name: str, buffer: Any) -> Memory:
    """Return a whole buffer as bytes, without a copy."""
    foreign = ">" if sys.byteorder == "little" else "<"
    if isinstance(buffer, np.ndarray):  # not through memoryview, which knows no bfloat16
        if buffer.dtype.hasobject or not buffer.dtype.itemsize:
            raise _unfit(name, f"is an array of {buffer.dtype}, which are no bytes; pass an array of numbers")
        contiguous, swapped = buffer.flags.c_contiguous, not buffer.dtype.isnative
    else:
        try:
            view = memoryview(buffer)
        except TypeError:
            wanted = "expected bytes, a bytearray, a memoryview or a NumPy array"
            raise _unfit(name, f"is a {type(buffer).__name__}; {wanted}") from None
        contiguous, swapped = view.c_contiguous, view.format.startswith((foreign, "!"))
    if not contiguous:
        hint = "pass the memory that it is a view of, and Strides that say how it lies"
        raise _unfit(name, f"is not C-contiguous; {hint}")
    if swapped:
        raise _unfit(name, f"is not {sys.byteorder}-endian as this machine is; convert it")
    if isinstance(buffer, np.ndarray):
        return np.asarray(buffer).reshape(-1).view(np.uint8)
    return np.frombuffer(view, np.uint8)


def _check_ranges(op: OpVersion, descs: Descs, memory: Mapping[str, Memory]) -> None:
    name = op.outputs.names[0]
    output, start = memory[name], _address(memory[name])
    # 9. The output can be written to.
    if not output.flags.writeable:
        raise _unfit(name, "is read-only; pass one that can be written to")
    for other in op.inputs.names:
        distance = _address(memory[other]) - start
        if distance >= output.size or -distance >= memory[other].size:
            continue
        # 10. Where the ranges of an input and the output meet, they are one and the same range.
        if distance or memory[other].size != output.size:
            beside = f"{abs(distance)} bytes {'before' if distance > 0 else 'after'}"
            side = beside if distance else "at the start of"
            raise SpecError(
                "aliasing",
                f"the range of {output.size} bytes begins {side} {other}'s range of {memory[other].size} bytes and "
                f"overlaps it; expected the same range (in place), or none of its bytes",
                where=name,
            )
        # 11. In place the strides are the same too, so that each element is read where its difference is written.
        if descs[other].element_strides != descs[name].element_strides:
            raise ShapeError(
                "aliasing",
                f"the buffer is {other}'s and the strides are {descs[name].element_strides}; expected {other}'s, "
                f"{descs[other].element_strides}, for work in place",
                where=f"{name}.Strides",
            )


def _address(memory: Memory) -> int:
    return int(memory.__array_interface__["data"][0])
