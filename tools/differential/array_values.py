"""What a difference of arrays has to be, said with NumPy, ml_dtypes and Python integers alone.

Nothing of the package is used here, its tables neither. Integers are subtracted as Python or 64-bit integers. Floats of
at most 16 bits are subtracted as float64 and rounded by ml_dtypes: 53 bits are more than twice theirs and two, so the
second rounding loses nothing. NumPy has the others.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from differential.surface import Difference

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

INTEGERS = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint1",
    "uint2",
    "int2",
    "uint4",
    "int4",
)
FLOATS = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float4_e2m1fn",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e8m0fnu",
)
REFUSED = (
    "bool",
    "complex64",
    "longdouble",
    "datetime64[s]",
    "timedelta64[s]",
    "object",
    "S3",
    "U2",
    "V4",
    "int1",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e4m3b11fnuz",
    "float8_e3m4",
    "float8_e4m3",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "complex128",
)
IEEE = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52, "float8_e5m2": 2}
"""Types that have infinities and quiet NaNs → bits of their mantissa."""
POLICIES = ("wrap", "saturate", "widen", "error")


class Refused(Exception):
    """The call has to be refused; the text says why."""


@functools.cache
def dtype_of(name: str) -> np.dtype[Any]:
    """Return the dtype of a name of NumPy's or of ml_dtypes'."""
    own = getattr(ml_dtypes, name, None) if name[:3] in ("flo", "bfl", "int", "uin") else None
    return np.dtype(own if own is not None else name)


def bits(name: str) -> int:
    """Return the bits of a type by its name: ``float8_e5m2`` 8, ``uint4`` 4."""
    return 16 if name == "bfloat16" else int("".join(itertools.takewhile(str.isdigit, name.lstrip("abcdefilnotu"))))


def limits(name: str) -> tuple[int, int]:
    """Return the lowest and the highest value of an integer type."""
    n = bits(name)
    return (0, 2**n - 1) if name.startswith("u") else (-(2 ** (n - 1)), 2 ** (n - 1) - 1)


def wide(name: str) -> str:
    """Return the signed type of twice the width; of 64 bits, int64."""
    return f"int{min(64, 2 * bits(name))}"


def codes(array: Array) -> Array:
    """Return the elements' bits as unsigned numbers, in C order."""
    native = array.astype(array.dtype.newbyteorder("=")) if array.dtype.kind in "iuf" else array
    return np.frombuffer(native.tobytes(), f"u{array.dtype.itemsize}").reshape(array.shape)


def compared(name: str, array: Array) -> Array:
    """Return codes in which all quiet NaNs are one; a signalling NaN keeps its code."""
    found = codes(array)
    with np.errstate(invalid="ignore"):
        nan = np.zeros(found.shape, bool) if name in INTEGERS else np.isnan(array.astype(np.float64))
    if name in IEEE:
        nan &= (found >> np.array(IEEE[name] - 1, found.dtype)) & 1 == 1
    return np.where(nan, np.array((1 << bits(name)) - 1, found.dtype), found)


def ours(a: Any, b: Any, out: Any = None, **more: Any) -> Any:
    """Call the package's function with objects of any kind."""
    import minuend as mn

    call: Any = mn.subtract
    return call(a, b, out, **more)


def outcome(call: Callable[[], Any], reason: str, lost: Callable[[], bool]) -> tuple[str, Any]:
    """Return what came of a call in words, or nothing and the result that is to be compared.

    Args:
        call: gives the package's result. reason: why it has to refuse; nothing where it has not. lost: whether a
            difference may overflow, which the policy refuses.

    Raises:
        Difference: it refuses for nothing, or does not refuse.
    """
    import minuend as mn

    try:
        found = call()
    except mn.OverflowFound:
        if not lost():
            raise Difference("ours overflows; nothing does") from None
        return "overflow", None
    except mn.MinuendError as error:
        if reason:
            return f"refused: {reason}", None
        raise Difference(f"ours refuses: {error}") from None
    if reason:
        raise Difference(f"ours {found!r:.150}; expected a refusal: {reason}")
    if lost():
        raise Difference("ours gives an answer; differences overflow")
    return "", found


# ---- operands ---------------------------------------------------------------------------------------------------


def numbers(name: str, count: int, rng: np.random.Generator, how: str) -> Array:
    """Return elements of a type: ``edges`` of it, ``near`` each other, ``random`` bits, or ``clean``.

    Of integers of fewer than 8 bits, the bytes' upper bits are random too, but for ``clean`` ones.
    """
    n, word = bits(name), f"u{dtype_of(name).itemsize}"
    top = (1 << n) - 1
    most = 255 if name in INTEGERS and n < 8 and how != "clean" else top
    found = rng.integers(0, most, count, word, endpoint=True)
    if how == "edges":
        row = {0, 1, 2, 3, top, top - 1, top // 2, top // 2 + 1, top // 2 - 1, top // 2 + 2, top // 3}
        if m := IEEE.get(name):
            inf, one = ((1 << (n - 1 - m)) - 1) << m, (1 << (n - 2 - m)) - 1 << m
            base = {
                inf,
                inf - 1,
                inf + (1 << m >> 1),
                inf + 1,
                1 << m,
                (1 << m) - 1,
                one,
                one + 1,
                one - 1,
                one - (m << m),
            }
            row |= base | {code | (1 << (n - 1)) for code in base}
        found = np.array(sorted({code & top for code in row}), word)[
            rng.integers(0, len({code & top for code in row}), count)
        ]
    elif how == "near":
        found = (found & np.array(min(top, 7), word)) | np.array((top >> 2) & ~7 & top, word)
    return found.view(dtype_of(name))


def rounded(name: str, value: int | float) -> Array:
    """Return a Python number as an element of a float type, rounded once."""
    if isinstance(value, float) and math.isfinite(value) is False:
        return np.asarray(np.float64(value)).astype(dtype_of(name))
    with np.errstate(over="ignore"):
        near = np.asarray(float(value)).astype(dtype_of(name))
    if (
        name == "float8_e8m0fnu" and 0 < value < 2.0**-127
    ):  # its least number, of which ml_dtypes makes NaN below 2**-150
        return np.zeros((), np.uint8).view(near.dtype)
    if not math.isfinite(float(near)):
        return near
    code = int(codes(near))
    around = [np.array(one, f"u{near.itemsize}").view(near.dtype) for one in (code - 1, code, code + 1) if one >= 0]
    whole = [one for one in around if math.isfinite(float(one))]
    return min(whole, key=lambda one: (abs(Fraction(float(one)) - Fraction(value)), int(codes(one)) & 1))


def operand(name: str, value: int | float) -> Array:
    """Return what a Python number is beside an array of a type.

    Raises:
        Refused: a float beside integers, or an int that the type does not hold.
    """
    if name not in INTEGERS:
        if name == "float4_e2m1fn" and math.isnan(value):
            raise Refused("a NaN beside a type without one")
        return rounded(name, value)
    if isinstance(value, float):
        raise Refused("a float beside integers")
    low, high = limits(name)
    if not low <= value <= high:
        raise Refused("a Python int outside the type")
    return np.array(value & ((1 << bits(name)) - 1), f"u{dtype_of(name).itemsize}").view(dtype_of(name))


# ---- differences ------------------------------------------------------------------------------------------------


def exact(name: str, a: Array, b: Array) -> Array:
    """Return the exact differences of integers: int64, of 64 bits Python integers."""
    kind: Any = object if bits(name) == 64 else np.int64
    x, y = a.astype(kind), b.astype(kind)
    return np.asarray(x - y, kind)


def overflowing(name: str, operands: Iterable[Array], policy: str) -> Array:
    """Return where an exact difference does not fit the result's type, as a mask."""
    low, high = limits(wide(name) if policy == "widen" else name)
    found = exact(name, *operands)
    return np.asarray((found < low) | (found > high), bool)


def difference(name: str, operands: Iterable[Array], policy: str) -> Array:
    """Return the differences of two arrays that broadcast as NumPy's; none overflows where that is an error."""
    a, b = operands
    if name in INTEGERS:
        found = exact(name, a, b)
        to = wide(name) if policy == "widen" else name
        if policy == "saturate":
            found = np.asarray(np.clip(found, *limits(name)), found.dtype)
        word = dtype_of(to)
        wrapped = np.asarray(
            found if bits(to) == 64 and found.dtype != object else found & ((1 << bits(to)) - 1)
        ).astype(np.uint64)
        return wrapped.astype(f"u{word.itemsize}").view(word)
    with np.errstate(all="ignore"):
        if name in ("float32", "float64", "float16"):
            return np.asarray(np.subtract(a, b))
        found = a.astype(np.float64) - b.astype(np.float64)
        if name == "float8_e8m0fnu":
            found = np.where(found <= 0, np.nan, found)
        return np.asarray(found).astype(dtype_of(name))


# ---- how shapes join --------------------------------------------------------------------------------------------


def by_numpy(a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """Return the result's shape, and B's with the 1s that make it NumPy's broadcasting."""
    try:
        return np.broadcast_shapes(a, b), b
    except ValueError:
        raise Refused("shapes do not broadcast") from None


def by_none(a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """Equal shapes."""
    if a != b:
        raise Refused("shapes differ")
    return a, b


def by_legacy(a: Shape, b: Shape, axis: int | None, broadcast: int) -> tuple[Shape, Shape]:
    """ONNX's limited broadcasting: A's shape always."""
    if not broadcast:
        return by_none(a, b)
    rest = len(a) - len(b)
    if rest < 0:
        raise Refused("B's rank is above A's")
    if math.prod(b) == 1:
        return a, (1,) * len(a)
    start = rest if axis is None or (axis == -1 and len(b) == 1) else axis
    if not 0 <= start <= rest:
        raise Refused("axis is out of range")
    if a[start : start + len(b)] != b:
        raise Refused("B is no run of A's dims")
    return a, (1,) * start + b + (1,) * (rest - start)


def by_pdpd(a: Shape, b: Shape, axis: int) -> tuple[Shape, Shape]:
    """OpenVINO's pdpd: B into A, whose 1 a 0 of B makes 0."""
    rest = len(a) - len(b)
    start = rest if axis == -1 else axis
    if not 0 <= start <= rest:
        raise Refused("axis is out of range")
    wider = (1,) * start + b + (1,) * (rest - start)
    for i, (m, n) in enumerate(zip(a, wider, strict=True)):
        stated = start <= i < start + len(b)
        if stated and n != m and not (n == 1 and m != 0) and not (m == 1 and n == 0):
            raise Refused("B does not fit into A")
    return np.broadcast_shapes(a, wider), wider
