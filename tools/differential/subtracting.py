"""What the surfaces of files share: random elements, our difference of two files, and the exact one.

The expected difference is computed from integers and from NumPy's floats alone;
nothing here reads this package's tables.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from differential.refusals import Reason, Why
from differential.surface import Difference

Array = np.ndarray[Any, np.dtype[Any]]

POLICIES = ("wrap", "saturate", "error", "widen")
INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
FLOATS = ("float16", "float32", "float64")
BLOCKS = (0, 0, 16, 200)
STYLES = ("small", "bits", "edges")
_WIDER = {"uint8": "int16", "int8": "int16", "uint16": "int32", "int16": "int32", "uint32": "int64", "int32": "int64"}
_WIDER |= {"uint64": "int64"}


@dataclass(frozen=True)
class Operand:
    """Elements, and the number that stands for those without data; ``None`` where none does."""

    array: Array
    nodata: int | float | None = None

    @property
    def missing(self) -> Array:
        """Which elements have no data."""
        if self.nodata is None:
            return np.zeros(self.array.shape, bool)
        if math.isnan(self.nodata):
            return np.isnan(self.array)
        found: Array = self.array == _as(self.array.dtype, self.nodata)
        return found


def _as(dtype: np.dtype[Any], number: int | float) -> Any:
    with np.errstate(over="ignore"):
        return dtype.type(number)


def fits(dtype: np.dtype[Any], number: int | float) -> bool:
    """Whether an element of a type can hold a number; a float does where its rounding is no infinity."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return math.isfinite(number) and number == math.floor(number) and info.min <= number <= info.max
    return not math.isfinite(number) or bool(np.isfinite(_as(dtype, number)))


def elements(seed: int, dtype: np.dtype[Any] | str, shape: tuple[int, ...], style: str, spice: Any = None) -> Array:
    """Return random elements: small numbers, random bits, or the ends of the type; some are ``spice``."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    count = math.prod(shape)
    if dtype.kind == "c":
        part = dtype.type().real.dtype
        return elements(seed, part, (*shape, 2), style).view(dtype).reshape(shape)
    if style == "bits":
        raw = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)
    elif style == "edges":
        raw = rng.choice(_edges(dtype), count)
    elif dtype.kind == "f":
        raw = rng.normal(0, 100, count).astype(dtype)
    else:
        raw = rng.integers(0, 2 if dtype.kind == "b" else 100, count).astype(dtype)
    if spice is not None and count:
        raw = raw.copy()
        raw[rng.integers(0, 4, count) == 0] = spice
    return raw.reshape(shape)


def _edges(dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        info = np.finfo(dtype)
        some = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, info.smallest_subnormal]
        return np.array(some, dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    ends = np.iinfo(dtype)
    return np.array([ends.min, ends.min + 1, 0, 1, 2, ends.max // 2, ends.max - 1, ends.max], dtype)


@dataclass(frozen=True)
class Expected:
    """The exact difference; ``refused`` says why there is none."""

    array: Array
    nodata: int | float | None = None
    overflowed: int = 0
    refused: tuple[Why, ...] = ()


def difference(a: Operand, b: Operand, overflow: str) -> Expected:
    """Return what two operands of one type give under a policy."""
    dtype = a.array.dtype.newbyteorder("=")
    nodata = a.nodata if a.nodata is not None else b.nodata
    out = result_type(dtype, overflow)
    shape = np.broadcast_shapes(a.array.shape, b.array.shape)
    if nodata is not None and not fits(out, nodata):
        return Expected(np.empty(0, out), refused=(Reason.NODATA_STATED(nodata, out.name),))
    missing = np.broadcast_to(a.missing, shape) | np.broadcast_to(b.missing, shape)
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            found, lost = a.array.astype(dtype) - b.array.astype(dtype), np.zeros(shape, bool)
        beyond = lost
    else:
        wide = object if out.itemsize == 8 else np.int64
        exact = np.asarray(np.asarray(a.array, wide) - np.asarray(b.array, wide), wide)
        low, high = _ends(dtype)
        beyond = np.asarray((exact < low) | (exact > high), bool) & ~missing
        low, high = _ends(out)
        lost = np.asarray((exact < low) | (exact > high), bool) & ~missing
        if overflow == "saturate":
            found = np.asarray(np.clip(exact, low, high), wide).astype(out)
        else:
            found = np.asarray((exact - low) % (high - low + 1) + low, wide).astype(out)
    found = np.array(np.broadcast_to(found, shape))
    if nodata is not None:
        found[missing] = _as(out, nodata)
    if overflow in ("error", "widen") and lost.any():
        return Expected(found, nodata, refused=(overflowing(lost, out),))
    return Expected(found, nodata, int(beyond.sum()))


def beyond(a: Array, b: Array, missing: Array) -> int:
    """Return how many differences of integers with data do not fit their type; 0 of floats."""
    if a.dtype.kind == "f":
        return 0
    low, high = _ends(a.dtype)
    exact = np.asarray(a.astype(object) - b.astype(object), object)
    return int((np.asarray((exact < low) | (exact > high), bool) & ~missing).sum())


def result_type(dtype: np.dtype[Any], overflow: str) -> np.dtype[Any]:
    """Return the type of a difference under a policy."""
    return np.dtype(_WIDER.get(dtype.name, dtype.name)) if overflow == "widen" else dtype.newbyteorder("=")


def overflowing(lost: Array, out: np.dtype[Any]) -> Why:
    """Return what is said of differences that a type does not hold: how many there are, and the first one's index.

    Args:
        lost: which ones. out: the type.
    """
    first = tuple(int(i) for i in np.argwhere(lost)[0])
    return Reason.OVERFLOW(f"{int(lost.sum())} of {lost.size} differences do not fit {out}", f"is at index {first}: ")


def _ends(dtype: np.dtype[Any]) -> tuple[int, int]:
    ends = np.iinfo(dtype)
    return int(ends.min), int(ends.max)


MOST_BLOCKS = 2000


def ours(files: Sequence[str], out: str, block: int = 0, **options: Any) -> Any:
    """Return our report of a difference that was written, or the error that refused it; any other one is raised.

    Args:
        files, out, options: as for the package's function. block: bytes of a block, so that small files are read and
            written in parts, as large ones are; 0: as always. A file has at most :data:`MOST_BLOCKS` of them: one of
            11 MB in blocks of 16 bytes took half an hour.
    """
    import os

    from minuend.errors import MinuendError
    from minuend.files.difference import subtract_files
    from minuend.files.streaming import regions

    before = regions.BLOCK_BYTES
    try:
        sizes = (os.path.getsize(one) for one in (name.partition("::")[0] for name in files) if os.path.isfile(one))
        regions.BLOCK_BYTES = max(block, max(sizes, default=0) // MOST_BLOCKS) if block else before
        return subtract_files(files[0], files[1], out, **options)
    except MinuendError as error:
        return error
    finally:
        regions.BLOCK_BYTES = before


def settled(came: Any, refused: Collection[Why], out: Any) -> str | None:
    """Return what came of a case that one side refuses; ``None`` where both compute.

    Args:
        came: what :func:`ours` gave. refused: the rules that the pair breaks; ours has to name one of them. out: our
            output.
    """
    import os

    if isinstance(came, Exception):
        said = f"({type(came).__name__}: {came})"
        if os.path.lexists(out):
            raise Difference(f"ours refuses {said} and leaves {out}")
        if not refused:
            raise Difference(f"ours refuses {said}, theirs computes")
        named = [one for one in refused if one.fits(came)]
        if not named:
            raise Difference(f"ours refuses for another reason {said}, expected {'; '.join(map(str, refused))}")
        return f"refused: {named[0].word}"
    if refused:
        raise Difference(f"ours computes, expected a refusal: {'; '.join(map(str, refused))}")
    return None


def same(name: str, ours: Any, theirs: Any) -> None:
    """Check that two values are equal; NaN is equal to itself."""
    if ours != theirs and not (_is_nan(ours) and _is_nan(theirs)):
        raise Difference(f"{name}: ours {ours!r}, theirs {theirs!r}")


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def same_elements(name: str, ours: Array, theirs: Array) -> None:
    """Check that arrays have one type and shape, and the same bits; all NaNs are one."""
    same(f"{name}: type", str(ours.dtype), str(theirs.dtype))
    same(f"{name}: shape", ours.shape, theirs.shape)
    x, y = (np.ascontiguousarray(one) for one in (ours, theirs))
    other = x.view(f"V{x.itemsize}") != y.view(f"V{y.itemsize}") if x.size else np.zeros(x.shape, bool)
    if x.dtype.kind == "f" or x.dtype.name.startswith(("bfloat", "float8")):
        other &= ~(np.isnan(x.astype(np.float64)) & np.isnan(y.astype(np.float64)))
    if other.any():
        at = tuple(map(int, np.argwhere(other)[0]))
        raise Difference(f"{name} at {at}: ours {x[at]!r}, theirs {y[at]!r} ({int(other.sum())} of {x.size} differ)")


def same_report(told: Any, expected: Expected) -> None:
    """Check a tensor of our report: counts, and the least and the greatest number."""
    found = expected.array
    same("elements", told.elements, found.size)
    has = ~Operand(found, expected.nodata).missing
    if expected.nodata is not None:
        same("count of nodata", told.nodata, int((~has).sum()))
    if found.dtype.kind == "f":
        same("count of NaN", told.nans, int((np.isnan(found) & has).sum()))
        has &= ~np.isnan(found)
    else:
        same("count of overflows", told.overflowed, expected.overflowed)
    if has.any():
        same("low", float(told.low), float(found[has].min()))
        same("high", float(told.high), float(found[has].max()))


def drawn(source: random.Random, **choices: Sequence[Any]) -> dict[str, Any]:
    """Draw each field from its choices."""
    return {name: source.choice(some) for name, some in choices.items()}


def weighted(source: random.Random, choices: Mapping[Any, float]) -> Any:
    """Draw a key by the weight that it has."""
    return source.choices(list(choices), list(choices.values()))[0]


def number(text: str) -> int | float | None:
    """The number that a text states."""
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)
