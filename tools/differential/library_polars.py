"""Polars' objects as their users have them: the difference is Polars' own where types and labels are equal."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential import array_values as values
from differential.surface import Difference, Surface

NUMBERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float16", "Float32", "Float64")
OTHERS = (
    "Int128",
    "UInt128",
    "Decimal",
    "String",
    "Boolean",
    "Date",
    "Duration",
    "Categorical",
    "Null",
    "Binary",
    "List",
    "Struct",
    "Object",
    "Enum",
)


@dataclass(frozen=True)
class Case:
    """Two objects: ``series``, ``frame``, ``number``, ``scalar`` (of NumPy), ``array``, ``lazy``, ``expression``.

    Attributes:
        classes: whether either is of a subclass of Polars' own.
    """

    a: str = "series"
    b: str = "series"
    dtypes: tuple[str, ...] = ("Float64",)
    others: tuple[str, ...] = ()
    rows: int = 3
    length: int = -1
    names: tuple[str, str] = ("n", "n")
    columns: str = ""
    nulls: str = ""
    chunks: int = 1
    slices: bool = False
    policy: str = "wrap"
    out: bool = False
    classes: tuple[bool, bool] = (False, False)
    number: int = 1
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw two objects, mostly such as can be subtracted."""
    kinds = ("series", "frame", "number", "scalar", "array", "lazy", "expression")
    a = source.choices(kinds[:4], (8, 8, 1, 1))[0]
    b = a if a in kinds[:2] and source.random() < 0.75 else source.choices(kinds, (4, 4, 3, 2, 0.3, 0.2, 0.2))[0]
    b = b if {a, b} - {"number", "scalar", "array"} else "series"
    dtypes = tuple(source.choice(NUMBERS) for _ in range(source.choice([0, 1, 1, 2, 3]) if "frame" in (a, b) else 1))
    if source.random() < 0.1:
        dtypes = (*dtypes[1:], source.choice(OTHERS))
    return Case(
        a,
        b,
        dtypes,
        tuple(source.choice([*NUMBERS, *OTHERS]) for _ in dtypes) if source.random() < 0.06 else (),
        source.choice([0, 1, 2, 3, 5, 70]),
        source.choice([-1, -1, -1, -1, -1, 1, 1, 0, 2]),
        (source.choice(["n", "", "m"]), source.choice(["n", "", "m"])),
        source.choice(["", "", "", "", "", "", "", "order", "names"]),
        source.choice(["", "", "", "", "", "a", "b"]),
        source.choice([1, 1, 2, 3]),
        source.random() < 0.3,
        source.choice(values.POLICIES),
        source.random() < 0.02,
        (source.random() < 0.1, source.random() < 0.1),
        source.choice([0, 1, 5, 127, 300]),
        source.randrange(2**32),
    )


# ---- objects ----------------------------------------------------------------------------------------------------


def series(name: str, dtype: str, count: int, case: Case, seed: int, nulls: bool) -> Any:
    """A Series of a type, in as many chunks as the case says."""
    import polars as pl

    rng = np.random.default_rng(seed)
    parts: list[Any] = []
    for _ in range(case.chunks):
        part = count // case.chunks if len(parts) + 1 < case.chunks else count - sum(len(one) for one in parts)
        parts.append(_plain(name, dtype, part, rng))
    made = pl.concat(parts, rechunk=False) if len(parts) > 1 else parts[0]
    if nulls and count:
        made = pl.concat([made[:-1], pl.Series(name, [None], dtype=made.dtype)], rechunk=False)
    return made


def _plain(name: str, dtype: str, count: int, rng: np.random.Generator) -> Any:
    import polars as pl

    if dtype in NUMBERS:
        found = values.numbers(dtype.lower(), 2 * count, rng, "edges")
        if dtype == "Float16":
            return pl.Series(name, found[:count])
        return pl.Series(name, found, dtype=getattr(pl, dtype))[::2][:count]
    one: Any = {
        "String": "x",
        "Boolean": True,
        "Date": None,
        "Duration": None,
        "Null": None,
        "Binary": b"x",
        "List": [1],
        "Struct": {"p": 1},
        "Object": object(),
        "Categorical": "x",
        "Enum": "x",
    }.get(dtype, 3)
    kind: Any = {
        "List": pl.List(pl.Int64),
        "Struct": pl.Struct({"p": pl.Int64}),
        "Enum": pl.Enum(["x"]),
        "Decimal": pl.Decimal(10, 2),
    }
    return pl.Series(name, [one] * count, dtype=kind.get(dtype, getattr(pl, dtype)), strict=False)


def operand(case: Case, which: int) -> Any:
    """The first or the second object."""
    import polars as pl

    kind, seed = (case.a, case.b)[which], case.seed + 100 * which
    dtypes = case.others if which and case.others else case.dtypes
    if kind == "number":
        return case.number
    scalar = case.dtypes[0].lower() if case.dtypes and case.dtypes[0] in NUMBERS else "float64"
    if kind == "scalar":
        return np.dtype(scalar).type(case.number % 100)
    if kind == "array":
        return np.ones(case.rows, scalar)
    if kind == "expression":
        return pl.lit(1)
    rows = case.length if which and case.length >= 0 else case.rows
    nulls = case.nulls == "ab"[which]
    if kind == "series":
        one = series(case.names[which], dtypes[0] if dtypes else "Float64", rows, case, seed, nulls)
        return _classes()[0](one.name, one) if case.classes[which] else one
    columns = [series(f"c{i}", dtype, rows, case, seed + i, nulls) for i, dtype in enumerate(dtypes)]
    if which and case.columns == "order":
        columns = columns[::-1]
    if which and case.columns == "names":
        columns = [one.alias(f"d{i}") for i, one in enumerate(columns)]
    made = pl.DataFrame(columns) if columns else pl.DataFrame({"dropped": [0] * rows}).drop("dropped")
    if kind == "lazy":
        return made.lazy()
    return _classes()[1](made) if case.classes[which] else made


@functools.cache
def _classes() -> tuple[Any, Any]:
    """Subclasses of Polars' Series and DataFrame."""
    import polars as pl

    class Readings(pl.Series):  # type: ignore[misc]
        pass

    class Table(pl.DataFrame):  # type: ignore[misc]
        pass

    return Readings, Table


# ---- comparing --------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Subtract, and compare with Polars' own difference, or with the rule that refuses it."""
    import polars as pl

    a, b = operand(case, 0), operand(case, 1)
    reason = refusal(case, a, b)
    what, found = values.outcome(
        lambda: values.ours(a, b, out=a if case.out else None, overflow=case.policy),
        reason,
        lambda: bool(reason) or any(_overflows(case, *pair) for _, *pair in _pairs(a, b)),
    )
    if what:
        return what
    theirs = _theirs(case, a, b)
    if type(found) is not type(theirs):
        raise Difference(f"ours is a {type(found).__name__}, theirs a {type(theirs).__name__}")
    frames = [one if isinstance(one, pl.DataFrame) else one.to_frame() for one in (found, theirs)]
    if frames[0].columns != frames[1].columns or frames[0].shape != frames[1].shape:
        raise Difference(f"ours has columns {frames[0].schema} of {frames[0].height}, theirs {frames[1].schema}")
    for (name, x, y), mine, own in zip(_pairs(a, b), frames[0], frames[1], strict=True):
        _same(case, name, x, y, mine, own)
    return "equal"


def _same(case: Case, name: str, x: Any, y: Any, mine: Any, own: Any) -> None:
    dtype = next(str(one.dtype).lower() for one in (x, y) if hasattr(one, "to_numpy"))
    want = values.difference(dtype, (_array(one, dtype) for one in (x, y)), case.policy)
    got = mine.to_numpy()
    if mine.null_count() or str(mine.dtype).lower() != str(want.dtype):
        raise Difference(f"ours has {name} of {mine.dtype} with {mine.null_count()} nulls, theirs of {want.dtype}")
    one, other = (values.compared(str(want.dtype), each) for each in (got, want))
    if not np.array_equal(one, other):
        raise Difference(f"ours {got!r:.200}, expected {want!r:.200}, in {name}")
    # Polars' frames promote what is beside a Python number, and x - 0 is x there, with a signalling NaN.
    if case.policy == "wrap" and own.dtype == mine.dtype and _polars_has(case):
        there = np.asarray(own.to_numpy())
        if not np.array_equal(got, there, equal_nan=dtype not in values.INTEGERS):
            raise Difference(f"ours {got!r:.200}, theirs {there!r:.200}, in {name}")


def _polars_has(case: Case) -> bool:
    """Whether Polars computes it: not a number that a frame is subtracted from, nor a scalar of NumPy's."""
    return case.a != "scalar" and (case.a, case.b) != ("number", "frame")


def _theirs(case: Case, a: Any, b: Any) -> Any:
    return a - b if _polars_has(case) else b - 0


def _pairs(a: Any, b: Any) -> list[tuple[str, Any, Any]]:
    import polars as pl

    frame = next((one for one in (a, b) if isinstance(one, pl.DataFrame)), None)
    if frame is None:
        return [("the Series", a, b)]
    return [(name, *(one[name] if isinstance(one, pl.DataFrame) else one for one in (a, b))) for name in frame.columns]


def _array(one: Any, dtype: str) -> Any:
    return one.to_numpy() if hasattr(one, "to_numpy") else np.asarray(one, dtype)


def _overflows(case: Case, x: Any, y: Any) -> bool:
    dtype = next(str(one.dtype).lower() for one in (x, y) if hasattr(one, "to_numpy"))
    if dtype not in values.INTEGERS or case.policy in ("wrap", "saturate"):
        return False
    return bool(values.overflowing(dtype, (_array(one, dtype) for one in (x, y)), case.policy).any())


def refusal(case: Case, a: Any, b: Any) -> str:  # noqa: PLR0912 - a rule after the other
    """Why a call has to be refused; nothing where it has not."""
    import polars as pl

    objects = [one for one in (a, b) if isinstance(one, pl.Series | pl.DataFrame)]
    if case.out:
        return "out"
    if not objects or {"lazy", "expression", "array"} & {case.a, case.b}:
        return "another kind of object beside Polars'"
    if len({isinstance(one, pl.Series) for one in objects}) > 1:
        return "a Series beside a DataFrame"
    if len(objects) == 2 and isinstance(a, pl.DataFrame) and (a.columns != b.columns or a.height != b.height):
        return "columns or heights that differ"
    if len(objects) == 2 and isinstance(a, pl.Series) and len(a) != len(b) and 1 not in (len(a), len(b)):
        return "lengths that differ"
    for _, x, y in _pairs(a, b):
        found = [one.dtype for one in (x, y) if isinstance(one, pl.Series)]
        if any(str(dtype) not in NUMBERS for dtype in found):
            return "a type without a difference"
        if len(set(found)) > 1:
            return "two types"
        dtype = str(found[0]).lower()
        for one in (x, y):
            if isinstance(one, pl.Series):
                if one.null_count():
                    return "nulls"
            elif isinstance(one, np.generic) and one.dtype != dtype:
                return "a scalar of another type"
            elif type(one) is int and dtype in values.INTEGERS and one > values.limits(dtype)[1]:
                return "a number outside the type"
    return ""


SURFACES = (Surface("polars", "Series and DataFrames of Polars", ("polars",), draw, compare, Case),)
