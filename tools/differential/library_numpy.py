"""NumPy's own objects other than plain arrays: subclasses, masked arrays, records, memory maps, ``__array_ufunc__``."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential import array_values as values
from differential.surface import Difference, Surface

NUMBERS = (*values.INTEGERS, *values.FLOATS)
KINDS = (
    "array",
    "masked",
    "plain subclass",
    "tagged",
    "matrix",
    "recarray",
    "memmap",
    "high",
    "low",
    "masked subclass",
    "wrapping",
    "structured field",
    "read-only",
    "0-d",
    "scalar",
    "number",
    "buffer",
)
REFUSED = (
    "quantity",
    "astropy",
    "opaque",
    "structured",
    "datetime",
    "timedelta",
    "object",
    "string",
    "list",
    "masked constant",
    "mrecords",
    "duck",
    "array-like",
    "longdouble",
    "char",
)
NO_MATRIX = "a shape that no matrix has"
MASKS = ("none", "some", "all", "no elements", "hard", "scalar", "shared")


@dataclass(frozen=True)
class Case:
    """Two objects of :data:`KINDS` or :data:`REFUSED`, their masks, and the call's other arguments."""

    a: str = "array"
    b: str = "array"
    dtype: str = "float32"
    other: str = ""
    shape: tuple[int, ...] = (4,)
    second: tuple[int, ...] = (4,)
    masks: tuple[str, str] = ("some", "some")
    fills: tuple[bool, bool] = (False, False)
    out: str = ""
    where: str = ""
    policy: str = "wrap"
    number: int = 1
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw two objects, mostly such as can be subtracted."""
    a = source.choice([*KINDS, "masked", "masked", "masked"]) if source.random() < 0.92 else source.choice(REFUSED)
    b = source.choice([*KINDS, "masked", "masked", "array"]) if source.random() < 0.92 else source.choice(REFUSED)
    if {a, b} <= {"number", "scalar", "0-d"}:
        a = "masked"
    shape = tuple(
        source.choice([0 if source.random() < 0.3 else 5, 1, 2, 3, 4]) for _ in range(source.choice([0, 1, 1, 2, 2, 3]))
    )
    second = tuple(1 if source.random() < 0.2 else n for n in shape)
    if source.random() < 0.15:
        second = second[source.randrange(len(second) + 1) :]
    if source.random() < 0.04:
        second = (7,)
    return Case(
        a,
        b,
        source.choice(NUMBERS),
        source.choice(NUMBERS) if source.random() < 0.04 else "",
        shape,
        second,
        (source.choice(MASKS), source.choice(MASKS)),
        (source.random() < 0.3, source.random() < 0.3),
        source.choice(["", "", "", "", "plain", "masked", "masked", "hard", "subclass", "a", "b"]),
        source.choice(["", "", "", "", "", "mask"]),
        source.choice(values.POLICIES),
        source.choice([0, 1, 5, 127]),
        source.randrange(2**32),
    )


# ---- objects ----------------------------------------------------------------------------------------------------


class Plain(np.ndarray):
    """A subclass with nothing of its own."""


class Tagged(np.ndarray):
    """A subclass that hands an attribute on."""

    tag: Any = None

    def __array_finalize__(self, source: Any) -> None:
        self.tag = getattr(source, "tag", None)


class High(np.ndarray):
    __array_priority__ = 15.0


class Low(np.ndarray):
    __array_priority__ = -5.0


class Wrapping(np.ndarray):
    """A subclass that wraps results itself."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        found = np.asarray(array).view(Wrapping)
        return found if context is None or context[0] is np.subtract else array


class Opaque(np.ndarray):
    __array_ufunc__ = None  # type: ignore[assignment]


class Readings(np.ma.MaskedArray):
    """A masked array of another class."""


class Duck:
    """What is no array and has ``__array_ufunc__``."""

    def __array_ufunc__(self, *operands: Any, **more: Any) -> Any:
        return NotImplemented


class Like:
    """What is no array and makes one."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(3)


VIEWS = {
    "plain subclass": Plain,
    "tagged": Tagged,
    "matrix": np.matrix,
    "recarray": np.recarray,
    "high": High,
    "low": Low,
    "wrapping": Wrapping,
    "opaque": Opaque,
}


def operand(case: Case, which: int, folder: Path) -> Any:
    """The first or the second object."""
    kind, dtype = (case.a, case.b)[which], case.other or case.dtype if which else case.dtype
    shape = () if kind in ("0-d", "scalar") else (case.shape, case.second)[which]
    if kind == "number":
        return case.number
    count = int(np.prod(shape, dtype=int))
    rng = np.random.default_rng(case.seed + which)
    made = values.numbers(dtype, max(1, count), rng, "clean")[:count].reshape(shape)
    if kind == "scalar":
        return made[()]
    if kind in REFUSED:
        return _refused(kind, made)
    if kind in ("masked", "masked subclass"):
        return masked(case, which, made, rng, Readings if kind == "masked subclass" else np.ma.MaskedArray)
    if kind == "memmap" and count and dtype != "nf4":
        mapped = np.memmap(folder / f"m{which}", np.uint8, "w+", shape=(made.nbytes,)).view(made.dtype).reshape(shape)
        mapped[...] = made
        return mapped
    if kind == "structured field":
        records = np.zeros(shape, [("x", "u1"), ("v", made.dtype)])
        records["v"] = made
        return records["v"]
    if kind in VIEWS and not (kind == "matrix" and made.ndim != 2):
        view: Any = made.view(VIEWS[kind])
        if kind == "tagged":
            view.tag = "ab"[which]
        return view
    if kind == "read-only":
        made.flags.writeable = False
    return made


def masked(case: Case, which: int, made: Any, rng: np.random.Generator, cls: Any) -> Any:
    """A masked array; with a fill value of its own where the case says so."""
    how = case.masks[which]
    fill = made.reshape(-1)[0] if case.fills[which] and made.size else None
    mask: Any = {
        "none": np.ma.nomask,
        "all": np.ones(made.shape, bool),
        "no elements": np.zeros(made.shape, bool),
        "scalar": True,
    }.get(how, rng.random(made.shape) < 0.3)
    found = cls(made, mask=mask, fill_value=fill, hard_mask=how == "hard")
    return found.view() if how == "shared" else found


def _refused(kind: str, made: Any) -> Any:
    if kind == "quantity":
        import pint

        return _units(pint).Quantity(made, "m")
    if kind == "astropy":
        import astropy.units

        return np.ones(3) * astropy.units.m
    plain = {
        "structured": np.zeros(3, [("x", "i4"), ("y", "f4")]),
        "datetime": np.zeros(3, "M8[s]"),
        "timedelta": np.zeros(3, "m8[D]"),
        "object": np.array([1, 2, 3], object),
        "string": np.array(["x"]),
        "list": [1, 2, 3],
        "masked constant": np.ma.masked,
        "duck": Duck(),
        "array-like": Like(),
        "longdouble": np.zeros(3, np.longdouble),
        "mrecords": np.ma.array([(1, 2.0)], dtype=[("x", "i4"), ("y", "f4")]),
        "char": np.char.array(["x"]) if hasattr(np.char, "array") else "x",
        "opaque": np.ones(3, np.float32).view(Opaque),
    }
    return plain[kind]


_UNITS: list[Any] = []


def _units(pint: Any) -> Any:
    if not _UNITS:
        _UNITS.append(pint.UnitRegistry())
    return _UNITS[0]


# ---- comparing --------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Subtract, and compare class, mask, fill value and elements with NumPy's, or with the rule that refuses it."""
    import minuend as mn

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        a, b = operand(case, 0, folder), operand(case, 1, folder)
        out, where = _out(case, a, b), None
        if case.where:
            where = np.random.default_rng(case.seed).random(() if out is None else out.shape) < 0.5
        reason = refusal(case, a, b, out)
        before = _bytes(a, b, out)
        copies: list[Any] = [one.copy() if isinstance(one, np.ndarray) else one for one in (a, b)]
        earlier = None if out is None else out.copy()
        more = {} if where is None else {"where": where}
        try:
            found = values.ours(a, b, out, overflow=case.policy, **more)
        except mn.OverflowFound:
            # Elements are computed before a matrix takes them.
            if reason not in ("", NO_MATRIX) or not _lost(case, copies[0], copies[1], where):
                raise Difference("ours overflows; nothing does") from None
            return "overflow"
        except mn.MinuendError as error:
            if _bytes(a, b, out) != before:
                raise Difference(f"an operand or out was changed by a refusal: {error}") from None
            if reason:
                return f"refused: {reason}"
            raise Difference(f"ours refuses: {error}") from None
        if reason:
            raise Difference(f"ours {found!r:.120}; expected a refusal: {reason}")
        if _lost(case, copies[0], copies[1], where):
            raise Difference("ours gives an answer; differences overflow")
        _same(case, copies, out, earlier, where, found)
    return "equal"


def _bytes(*operands: Any) -> list[Any]:
    """All elements and masks, to see whether they change."""
    found = [np.asarray(np.ma.getdata(one)) for one in operands if isinstance(one, np.ndarray)]
    masks = [np.asarray(np.ma.getmask(one)) for one in operands if isinstance(one, np.ma.MaskedArray)]
    return [one.tobytes() for one in (*found, *masks)]


def _type_of(a: Any, b: Any) -> str:
    return next(str(one.dtype) for one in (a, b) if hasattr(one, "dtype"))


def _out(case: Case, a: Any, b: Any) -> Any:
    if not case.out or not any(isinstance(one, np.ndarray) for one in (a, b)):
        return None
    if case.out in "ab":
        one = a if case.out == "a" else b
        return one if isinstance(one, np.ndarray) else None
    name = case.dtype
    to = values.wide(name) if case.policy == "widen" and name in values.INTEGERS else name
    try:
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        shape = case.shape
    made = np.zeros(shape, values.dtype_of(to))
    if case.out == "masked":
        return np.ma.array(made, mask=np.random.default_rng(case.seed).random(shape) < 0.3)
    if case.out == "hard":
        return np.ma.array(made, mask=np.random.default_rng(case.seed).random(shape) < 0.3, hard_mask=True)
    return made.view(Plain) if case.out == "subclass" else made


def refusal(case: Case, a: Any, b: Any, out: Any) -> str:
    """Why a call has to be refused; nothing where it has not."""
    if {case.a, case.b} & set(REFUSED):
        return "a class or type that is not subtracted"
    if isinstance(out, Opaque):
        return "out of a class of its own"
    arrays = [one for one in (a, b) if hasattr(one, "dtype")]
    if len({one.dtype for one in arrays}) > 1:
        return "two types"
    name = str(arrays[0].dtype)
    for one in (a, b):
        if type(one) is int and name in values.INTEGERS and one > values.limits(name)[1]:
            return "a number outside the type"
    try:
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        return "shapes that do not broadcast"
    masked_ = any(isinstance(one, np.ma.MaskedArray) for one in (a, b))
    if case.where and (out is None or masked_ or isinstance(out, np.ma.MaskedArray)):
        return "where without out, or beside masks"
    if out is None:
        try:
            _shape(a, b)
        except ValueError:
            return NO_MATRIX
        return ""
    to = values.wide(name) if case.policy == "widen" and name in values.INTEGERS else name
    if masked_ and not isinstance(out, np.ma.MaskedArray):
        return "an out without a mask"
    if str(out.dtype) != to or out.shape != shape:
        return "out of another type or shape"
    if not out.flags.writeable:
        return "out is read-only"
    return ""


def _shape(a: Any, b: Any) -> values.Shape:
    """The shape of NumPy's own difference: a matrix has two dims, whatever it is broadcast to."""
    x, y = (np.zeros(np.shape(one)).view(type(np.ma.getdata(one))) for one in (a, b))
    return np.shape(np.subtract(x, y))


def _numbers(name: str, one: Any) -> Any:
    return np.ma.getdata(one) if hasattr(one, "dtype") else values.operand(name, one)


def _lost(case: Case, a: Any, b: Any, where: Any) -> bool:
    if not hasattr(a, "dtype") and not hasattr(b, "dtype"):
        return False
    name = _type_of(a, b)
    if name not in values.INTEGERS or case.policy not in ("error", "widen"):
        return False
    x, y = (np.asarray(_numbers(name, one)) for one in (a, b))
    mask = np.ma.getmaskarray(a) | np.ma.getmaskarray(b)
    lost = values.overflowing(name, (x, y), case.policy) & ~mask
    return bool(np.any(lost if where is None else lost & where))


def _same(case: Case, operands: list[Any], out: Any, earlier: Any, where: Any, found: Any) -> None:
    a, b = operands
    name = _type_of(a, b)
    x, y = (np.asarray(_numbers(name, one)) for one in (a, b))
    mask = np.ma.getmaskarray(a) | np.ma.getmaskarray(b)
    if name in values.INTEGERS:
        x, y = (np.where(mask, np.zeros((), one.dtype), one) for one in (x, y))
    want = np.asarray(values.difference(name, (x, y), case.policy))
    if out is not None and found is not out:
        raise Difference("ours returns another object than out")
    mask = np.broadcast_to(mask, want.shape)
    if out is None:
        want, mask = (one.reshape(_shape(a, b)) for one in (want, mask))
    if found.dtype != want.dtype or found.shape != want.shape:
        raise Difference(f"ours is of {found.dtype} {found.shape}, theirs of {want.dtype} {want.shape}")
    to = str(want.dtype)
    got = values.compared(to, np.asarray(np.ma.getdata(found)))
    expected = values.compared(to, want)
    if where is not None:
        expected = np.where(where, expected, values.compared(to, np.asarray(earlier)))
    if isinstance(out, np.ma.MaskedArray) and out.hardmask:
        mask = mask | np.ma.getmaskarray(earlier)
    if not np.array_equal(np.where(mask, 0, got), np.where(mask, 0, expected)):
        raise Difference(f"ours {found!r:.200}, theirs {want!r:.200}")
    if isinstance(found, np.ma.MaskedArray) and not np.array_equal(
        np.ma.getmaskarray(found), np.broadcast_to(mask, found.shape)
    ):
        raise Difference(f"ours masks {np.ma.getmaskarray(found)}, theirs {mask}")
    if out is None:
        _as_numpy(case, a, b, found, name)


def _as_numpy(case: Case, a: Any, b: Any, found: Any, name: str) -> None:
    """The class and what it carries are those of NumPy's own difference."""
    got: Any = found
    is_masked = any(isinstance(one, np.ma.MaskedArray) for one in (a, b))
    theirs: Any = a - b if is_masked else np.subtract(a, b)
    if not all(isinstance(one, np.ndarray) for one in (got, theirs)):
        return  # NumPy makes scalars of what has no dims
    if is_masked and (type(theirs).__mro__.count(np.ma.MaskedArray) == 0 or not theirs.ndim):
        return  # NumPy drops the mask where another class wraps the result, and makes a constant without dims
    if type(got) is not type(theirs):
        raise Difference(f"ours is a {type(got).__name__}, theirs a {type(theirs).__name__}")
    if not is_masked and getattr(got, "tag", None) != getattr(theirs, "tag", None):
        raise Difference(f"ours is tagged {getattr(got, 'tag', None)}, theirs {getattr(theirs, 'tag', None)}")
    if not is_masked:
        return
    if type(np.ma.getdata(got)) is not type(np.ma.getdata(theirs)):
        raise Difference(f"ours holds a {type(got.data).__name__}, theirs a {type(theirs.data).__name__}")
    usual = {case.a, case.b} <= {"masked", "masked subclass", "array", "number"}
    if usual and (got.mask is np.ma.nomask) != (theirs.mask is np.ma.nomask):
        raise Difference(f"ours has the mask {got.mask}, theirs {theirs.mask}")
    if got.hardmask != theirs.hardmask:
        raise Difference(f"ours has a hard mask: {got.hardmask}, theirs: {theirs.hardmask}")
    has_fill = (
        got.dtype == theirs.dtype
        and case.policy != "widen"
        and name not in ("bfloat16", *values.FLOATS[4:], *values.INTEGERS[8:])
    )
    if has_fill and not np.array_equal(got.fill_value, theirs.fill_value, equal_nan=name in values.FLOATS):
        raise Difference(f"ours fills with {got.fill_value!r}, theirs with {theirs.fill_value!r}")


SURFACES = (
    Surface(
        "numpy-objects",
        "NumPy's subclasses and masked arrays",
        ("numpy", "ml_dtypes", "pint", "astropy"),
        draw,
        compare,
        Case,
    ),
)
