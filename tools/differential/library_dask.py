"""Dask's arrays as their users have them: any chunks, lengths that are not known, masked and sparse blocks."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from differential import array_values as values
from differential import subtracting
from differential.refusals import Reason, Why
from differential.surface import Difference, Surface

NUMBERS = (*values.INTEGERS, *values.FLOATS)
OTHERS = ("bool", "complex64", "datetime64[s]", "object", "S3")
KINDS = ("dask", "numpy", "number", "float", "scalar", "masked numpy", "bag", "list")


@dataclass(frozen=True)
class Case:
    """Two arrays.

    Attributes:
        a, b: of :data:`KINDS`. chunks: sizes that are cut from each dim, for a and for b.
        unknown: how many of the first dims' elements are chosen by a mask, so that lengths are not known.
        blocks: ``plain``, ``masked``, ``announced`` (masked, and the array does not say so), ``sparse``, ``pint``.
    """

    a: str = "dask"
    b: str = "dask"
    dtype: str = "float32"
    other: str = ""
    shape: tuple[int, ...] = (4,)
    second: tuple[int, ...] = (4,)
    chunks: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    unknown: bool = False
    blocks: tuple[str, str] = ("plain", "plain")
    views: tuple[str, str] = ("", "")
    policy: str = "wrap"
    out: bool = False
    number: int = 1
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw two arrays, mostly such as can be subtracted."""
    a = source.choices(KINDS, (20, 2, 1, 1, 1, 1, 0.1, 0.1))[0]
    b = source.choices(KINDS, (14, 3, 2, 1, 1, 1, 0.1, 0.1))[0]
    a = a if "dask" in (a, b) else "dask"
    shape = tuple(
        source.choice([0 if source.random() < 0.3 else 7, 1, 2, 3, 4, 6])
        for _ in range(source.choice([0, 1, 1, 2, 2, 3, 4]))
    )
    second = tuple(1 if source.random() < 0.2 else n for n in shape)
    if source.random() < 0.2:
        second = second[source.randrange(len(second) + 1) :]
    if source.random() < 0.2:
        shape = tuple(1 if source.random() < 0.3 else n for n in shape)
    if source.random() < 0.04:
        second = (5,)
    if source.random() < 0.3:
        shape, second = second, shape
    blocks = source.choice(["plain", "plain", "plain", "masked", "announced", "sparse", "pint"])
    return Case(
        a,
        b,
        source.choice(NUMBERS) if source.random() < 0.95 else source.choice(OTHERS),
        source.choice([*NUMBERS, *OTHERS]) if source.random() < 0.04 else "",
        shape,
        second,
        (tuple(source.randint(1, 5) for _ in shape), tuple(source.randint(1, 5) for _ in second)),
        source.random() < 0.1,
        (blocks if source.random() < 0.7 else "plain", blocks if source.random() < 0.5 else "plain"),
        (source.choice(["", "", "T", "reversed"]), ""),
        source.choice(values.POLICIES),
        source.random() < 0.02,
        source.choice([0, 1, 5, 127, 300]),
        source.randrange(2**32),
    )


_UNITS: list[Any] = []


def concrete(case: Case, which: int) -> Any:
    """An operand as NumPy has it: what the Dask array gives."""
    kind, dtype = (case.a, case.b)[which], case.other or case.dtype if which else case.dtype
    shape = (case.shape, case.second)[which]
    if kind in ("number", "float"):
        return case.number + (0.5 if kind == "float" else 0)
    if kind == "list":
        return [1, 2]
    count = int(np.prod(shape, dtype=int))
    rng = np.random.default_rng(case.seed + which)
    if dtype in OTHERS:
        return np.zeros((), dtype)[()] if kind == "scalar" else np.zeros(shape, dtype)
    made = values.numbers(dtype, max(1, count), rng, "clean")
    if kind == "scalar":
        return made[0]
    made = made[:count].reshape(shape)
    if kind == "masked numpy" or (kind == "dask" and case.blocks[which] in ("masked", "announced")):
        return np.ma.array(made, mask=rng.random(shape) < 0.3)
    return made


def operand(case: Case, which: int) -> Any:
    """An operand as it is passed."""
    import dask.array as da

    made, kind = concrete(case, which), (case.a, case.b)[which]
    if kind == "bag":
        import dask.bag

        return dask.bag.from_sequence([1, 2])
    if kind != "dask":
        return made
    cuts = [max(1, one) for one in case.chunks[which]]
    chunks = tuple(min(max(1, n), cut) for n, cut in zip(made.shape, (*cuts, *(9,) * made.ndim), strict=False))
    block = case.blocks[which]
    found = da.from_array(np.ma.getdata(made) if block == "announced" else made, chunks=chunks, asarray=False)
    if block == "announced":
        mask = da.from_array(np.ma.getmaskarray(made), chunks=chunks)
        found = da.map_blocks(_masked, found, mask, dtype=made.dtype, meta=np.empty((0,) * made.ndim, made.dtype))
    if block == "sparse":
        import scipy.sparse

        return found.map_blocks(scipy.sparse.csr_array) if found.ndim == 2 else found.map_blocks(_coo)
    if block == "pint":
        import pint

        if not _UNITS:
            _UNITS.append(pint.UnitRegistry())
        return da.from_array(np.asarray(made), chunks=chunks) * _UNITS[0].m
    if case.unknown and found.ndim:
        return found[da.from_array(_chosen(found.shape[0]), chunks=chunks[0])]
    return found


def _masked(data: Any, mask: Any) -> Any:
    return np.ma.array(data, mask=mask)


def _coo(data: Any) -> Any:
    import sparse

    return sparse.COO.from_numpy(np.asarray(data))


def _chosen(count: int) -> Any:
    return np.arange(count) % 3 != 1


# ---- comparing --------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Subtract lazily, and compare what is known before and what comes with what Dask and NumPy make of it."""
    import dask

    import minuend as mn

    with warnings.catch_warnings(), np.errstate(all="ignore"), dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("ignore")
        try:
            a, b = operand(case, 0), operand(case, 1)
        except (TypeError, ValueError, NotImplementedError) as error:
            return f"not made: {type(error).__name__}"
        x, y = _shown(case, concrete(case, 0), 0), _shown(case, concrete(case, 1), 1)
        reasons = refusal(case, a, b, x, y)
        try:
            lazy = values.ours(a, b, out=a if case.out else None, overflow=case.policy)
        except mn.MinuendError as error:
            return subtracting.settled(error, (*reasons.at_once, *reasons.later), "") or ""
        if reasons.at_once:
            subtracting.settled(lazy, reasons.at_once, "")
        return _computed(case, a, b, x, y, lazy, reasons.later)


def _shown(case: Case, one: Any, which: int) -> Any:
    """What a mask leaves of an operand."""
    if (
        (case.a, case.b)[which] == "dask"
        and case.unknown
        and np.ndim(one)
        and case.blocks[which] not in ("sparse", "pint")
    ):
        return one[_chosen(one.shape[0])]
    return one


UNSEEN = {
    "sparse": (Reason.OTHER_KIND(), Reason.NO_ARRAY(), Reason.BLOCKS(), Reason.OWN_UFUNC("sparse")),
    "pint": (Reason.OTHER_KIND("Quantity"), Reason.NO_ARRAY("Quantity"), Reason.OWN_UFUNC("Quantity")),
}
"""What is said of blocks that Dask does not announce: a quantity has Dask's array within, and not the reverse."""


class Reasons(NamedTuple):
    """Why a call has to be refused, and why a computation has to be."""

    at_once: tuple[Why, ...] = ()
    later: tuple[Why, ...] = ()


def refusal(case: Case, a: Any, b: Any, x: Any, y: Any) -> Reasons:
    """Why a call has to be refused: at once, or where only the computation can see it."""
    at_once = tuple(_of_kinds(case, a, b))
    kinds = zip((case.a, case.b), case.blocks, strict=True)
    unseen = tuple(why for kind, block in kinds if kind == "dask" for why in UNSEEN.get(block, ()))
    found = tuple(_of_values(x, y))
    if at_once or unseen or found:
        return Reasons((*at_once, *found), unseen)
    return _of_shapes(case, a, b, x, y)


def _of_values(x: Any, y: Any) -> Iterator[Why]:
    """Element types and numbers that are not subtracted, whatever holds them."""
    types = list(dict.fromkeys(one.dtype.name for one in (x, y) if hasattr(one, "dtype")))
    if lacked := [name for name in types if name not in NUMBERS]:
        # Texts are named by their lengths, which an element does not share with its array.
        yield from (Reason.TYPE(repr(name).rstrip("0123456789'")) for name in lacked)
        return
    if len(types) > 1:
        yield Reason.TYPES(f"a is of {types[0]} and b of {types[1]};")
        return
    number = next((one for one in (x, y) if type(one) in (int, float)), None)
    if number is not None and types[0] in values.INTEGERS:
        if isinstance(number, float):
            yield Reason.FLOAT(number, types[0])
            return
        low, high = values.limits(types[0])
        if not low <= number <= high:
            yield Reason.INT(number, types[0])
    elif number is not None:
        try:
            values.operand(types[0], number)
        except values.Refused:
            yield Reason.NUMBER(number)


def _of_kinds(case: Case, a: Any, b: Any) -> Iterator[Why]:
    """Objects that are not subtracted, whatever is in them."""
    if case.out:
        yield Reason.OUT("Dask arrays")
        if "masked numpy" in (case.a, case.b):
            yield Reason.OUT_MASK()
    if {"bag", "list"} & {case.a, case.b}:
        yield Reason.OTHER_KIND()
    for one, kind, block in zip((a, b), (case.a, case.b), case.blocks, strict=True):
        if kind == "dask" and block in ("sparse", "pint"):
            module = type(one._meta).__module__.partition(".")[0]
            if module in ("sparse", "scipy", "pint"):
                yield Reason.BLOCKS(module)


def _of_shapes(case: Case, a: Any, b: Any, x: Any, y: Any) -> Reasons:
    """Lengths that are not known have to be in the same blocks: Dask broadcasts those one by one."""
    import dask.array as da

    found = [one if isinstance(one, da.Array) else da.asarray(np.ma.getdata(one)) for one in (a, b) if np.ndim(one)]
    if len(found) == 2 and any(np.isnan(one.shape[0]) for one in found):
        for axis in range(-1, -min(one.ndim for one in found) - 1, -1):
            unknown = [np.isnan(one.shape[axis]) for one in found]
            if any(unknown) and not any(one.shape[axis] == 1 for one in found):
                if found[0].numblocks[axis] != found[1].numblocks[axis] or not all(unknown):
                    return Reasons((Reason.UNKNOWN_LENGTHS(f"axis {axis}"), *_known_shapes(found)))
                if _lengths(case, 0, axis, x) != _lengths(case, 1, axis, y):
                    return Reasons(later=(Reason.BLOCK_LENGTHS(), Reason.SHAPES(), *_known_shapes(found)))
    try:
        np.broadcast_shapes(np.shape(x), np.shape(y))
    except ValueError:
        known = all(not any(np.isnan(n) for n in getattr(one, "shape", ())) for one in (a, b))
        return Reasons((Reason.SHAPES(),)) if known else Reasons(later=(Reason.BLOCK_LENGTHS(), Reason.SHAPES()))
    return Reasons()


def _known_shapes(found: list[Any]) -> Iterator[Why]:
    """Lengths that are known may not broadcast beside those that are not."""
    for p, q in zip(found[0].shape[::-1], found[1].shape[::-1], strict=False):
        if not np.isnan(p) and not np.isnan(q) and p != q and 1 not in (p, q):
            yield Reason.SHAPES()


def _lengths(case: Case, which: int, axis: int, shown: Any) -> list[int]:
    """The lengths of the blocks along an axis, after the mask."""
    cuts, n = case.chunks[which], (case.shape, case.second)[which][axis]
    cut = max(1, cuts[axis] if len(cuts) >= -axis else 9)
    if (case.a, case.b)[which] != "dask":
        return [n]
    whole = np.split(_chosen(n) if np.ndim(shown) == -axis else np.ones(n, bool), range(cut, n, cut))
    return [int(part.sum()) for part in whole]


def _computed(case: Case, a: Any, b: Any, x: Any, y: Any, lazy: Any, later: tuple[Why, ...]) -> str:
    import minuend as mn

    name = next(str(one.dtype) for one in (x, y) if hasattr(one, "dtype"))
    mask = np.ma.getmaskarray(x) | np.ma.getmaskarray(y) if not later else np.zeros((), bool)
    try:
        found = lazy.compute()
    except mn.OverflowFound as error:
        if later:  # of a block before the one that is refused
            return "refused: overflow before another reason"
        data = [np.ma.getdata(one) if hasattr(one, "dtype") else values.operand(name, one) for one in (x, y)]
        lost = name in values.INTEGERS and values.overflowing(name, data, case.policy) & ~mask
        if not np.any(lost):
            raise Difference("ours overflows; nothing does") from None
        _check_place(error, lost, data, case)
        return "overflow"
    except (ValueError, IndexError, TypeError) as error:
        if str(error).startswith(("Cannot cast data from |S3", "Cannot convert fill_value")):
            return "refused: by Dask"  # which joins no masked blocks of ml_dtypes' types
        return subtracting.settled(error, later, "") or ""
    if later:
        return (
            "refused: not seen, blocks are empty"
            if not found.size
            else _raise(f"ours {found!r:.150}; expected a refusal")
        )
    _same(case, a, b, x, y, lazy, found, name, mask)
    return "equal"


def _raise(text: str) -> str:
    raise Difference(text)


def _check_place(error: Any, lost: Any, data: list[Any], case: Case) -> None:
    """The index in the whole array, and the operands there, where lengths are known."""
    if case.unknown:
        return
    x, y = np.broadcast_arrays(*data)
    if not lost[error.index] or (int(x[error.index]), int(y[error.index])) != (error.a, error.b):
        raise Difference(f"ours says that {error.index} overflows: {error}; {np.argwhere(lost)[:3]} do")


def _same(case: Case, a: Any, b: Any, x: Any, y: Any, lazy: Any, found: Any, name: str, mask: Any) -> None:
    data = [np.ma.getdata(one) if hasattr(one, "dtype") else values.operand(name, one) for one in (x, y)]
    if name in values.INTEGERS and case.policy in ("error", "widen"):
        if np.any(values.overflowing(name, data, case.policy) & ~mask):
            raise Difference("ours gives an answer; differences overflow")
        data = [np.where(mask, np.zeros((), one.dtype), one) for one in data]
    want = values.difference(name, data, case.policy)
    if lazy.dtype != want.dtype or getattr(found, "dtype", None) != want.dtype or np.shape(found) != want.shape:
        raise Difference(
            f"ours is of {lazy.dtype}, {found.dtype}, {np.shape(found)}, theirs of {want.dtype}, {want.shape}"
        )
    if not np.array_equal(np.ma.getmaskarray(found), np.broadcast_to(mask, want.shape)):
        raise Difference(f"ours masks {np.ma.getmaskarray(found)}, theirs {mask}")
    to = str(want.dtype)
    got, expected = (np.where(mask, 0, values.compared(to, np.asarray(np.ma.getdata(one)))) for one in (found, want))
    if not np.array_equal(got, expected):
        raise Difference(f"ours {found!r:.200}, theirs {want!r:.200}")
    import dask.array as da

    try:
        theirs = da.subtract(a, b)
        there = theirs.compute()
    except Exception:  # what Dask does not have
        return
    if not _equal_chunks(lazy.chunks, theirs.chunks):
        raise Difference(f"ours has chunks {lazy.chunks}, theirs {theirs.chunks}")
    announced = type(there) is type(theirs._meta)  # else Dask's own meta is wrong
    if want.ndim and announced and (type(lazy._meta) is not type(theirs._meta) or type(found) is not type(there)):
        raise Difference(
            f"ours has {type(lazy._meta)} and {type(found)}, theirs {type(theirs._meta)} and {type(there)}"
        )
    if not want.ndim and isinstance(there, np.generic) and not isinstance(found, np.generic):
        raise Difference(f"ours is a {type(found)}, theirs a {type(there)}")
    if theirs.name == da.subtract(a, b).name and values.ours(a, b, overflow=case.policy).name != lazy.name:
        raise Difference("ours has another name each time")


def _equal_chunks(mine: Any, own: Any) -> bool:
    return len(mine) == len(own) and all(np.array_equal(x, y, equal_nan=True) for x, y in zip(mine, own, strict=True))


SURFACES = (Surface("dask", "Dask's arrays", ("dask", "sparse", "pint", "scipy"), draw, compare, Case),)
