"""pandas' objects as their users have them: the difference is pandas' own where labels and types are equal."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential import array_values as values
from differential.surface import Difference, Surface

NUMPY = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
OWN = (
    "Int64",
    "UInt8",
    "Float32",
    "boolean",
    "bool",
    "string",
    "category",
    "datetime64[ns]",
    "datetime64[ns, UTC]",
    "timedelta64[s]",
    "Sparse[int64]",
    "object",
    "period[D]",
    "complex128",
    "interval",
)
LABELS = (
    "range",
    "ints",
    "strings",
    "duplicates",
    "multi",
    "dates",
    "floats",
    "nan",
    "categories",
    "zone",
    "intervals",
    "bools",
    "tuples",
)
NAMES = ("", "n", "n", "n", "n", "m", "tuple", "1", "1.0", "nan", "NA")
RELATIONS = ("same", "copy", "named", "reordered", "other", "shorter", "other type")


@dataclass(frozen=True)
class Case:
    """Two objects: what they are, their type and labels, and how those of the second differ from the first's.

    Attributes:
        a, b: ``series``, ``frame``, ``number`` (of Python), ``scalar`` (of NumPy), ``array``, ``subclass``, ``framed``
            (a subclass of DataFrame), ``none``.
        other: b's type, ``""`` for a's. labels: of the rows. columns: of a frame; "mixed" has a column of another type.
    """

    a: str = "series"
    b: str = "series"
    dtype: str = "float64"
    other: str = ""
    rows: int = 3
    labels: str = "range"
    relation: str = "same"
    columns: str = "strings"
    width: int = 2
    across: str = "same"
    names: tuple[str, str] = ("", "")
    attrs: tuple[str, str] = ("", "")
    unique: bool = False
    blocks: str = "one"
    policy: str = "wrap"
    out: bool = False
    where: bool = False
    number: int = 1
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw two objects, mostly such as can be subtracted."""
    kinds = ("series", "frame", "number", "scalar", "array", "subclass", "framed", "none")
    a = source.choices(kinds, (8, 8, 1, 1, 0.3, 1, 1, 0.1))[0]
    same = source.random() < 0.8 and a in ("series", "frame", "subclass", "framed")
    b = a if same else source.choices(kinds, (4, 4, 4, 3, 0.5, 1, 1, 0.1))[0]
    b = b if {a, b} & {"series", "frame", "subclass", "framed"} else "series"
    dtype = source.choice(NUMPY) if source.random() < 0.85 else source.choice(OWN)
    equal = source.random() < 0.65
    return Case(
        a,
        b,
        dtype,
        source.choice([*NUMPY, *OWN]) if source.random() < 0.05 else "",
        source.choice([0, 1, 2, 3, 5, 40]),
        source.choice(LABELS),
        source.choice(RELATIONS[:3]) if equal else source.choice(RELATIONS),
        source.choice([*LABELS, "strings", "strings", "mixed"]),
        source.choice([0, 1, 2, 3, 7]),
        source.choice(RELATIONS[:3]) if equal else source.choice(RELATIONS),
        (source.choice(NAMES), source.choice(NAMES)),
        (source.choice(["", "", "x", "y"]), source.choice(["", "", "x", "y"])),
        source.random() < 0.1,
        source.choice(["one", "many", "turned", "reversed"]),
        source.choice(values.POLICIES),
        source.random() < 0.03,
        source.random() < 0.03,
        source.choice([0, 1, 5, 127, 300]),
        source.randrange(2**32),
    )


# ---- objects ----------------------------------------------------------------------------------------------------


def index(kind: str, count: int, relation: str = "same") -> Any:
    """An index of labels, or one that differs from it."""
    import pandas as pd

    if relation == "shorter":
        count = max(0, count - 1)
    made = _index(kind, count)
    if relation == "other type" and kind in ("range", "ints"):
        return pd.Index(np.asarray(made), dtype="float64")
    if relation == "other type" and kind == "categories":
        return pd.Index(np.asarray(made, object))
    if relation == "reordered":
        return made[::-1]
    if relation == "other":
        return _index("floats" if kind != "floats" else "strings", count)
    if relation == "copy":
        return made.copy(deep=True)
    if relation == "named":
        return made.set_names([f"l{i}" for i in range(made.nlevels)])
    return made


def _index(kind: str, count: int) -> Any:
    import pandas as pd

    numbers = np.arange(count)
    plain = {
        "range": lambda: pd.RangeIndex(count),
        "ints": lambda: pd.Index(numbers * 7 % 11 - 3),
        "strings": lambda: pd.Index([f"r{i}" for i in numbers], dtype="str"),
        "mixed": lambda: pd.Index([f"r{i}" for i in numbers], dtype="str"),
        "duplicates": lambda: pd.Index([f"r{i // 2}" for i in numbers], dtype="str"),
        "multi": lambda: pd.MultiIndex.from_arrays([numbers // 2, [f"x{i % 2}" for i in numbers]]),
        "dates": lambda: pd.date_range("2020-01-31", periods=count, freq="D"),
        "zone": lambda: pd.date_range("2020-03-28", periods=count, freq="h", tz="Europe/Berlin"),
        "floats": lambda: pd.Index(numbers / 4),
        "nan": lambda: pd.Index(np.where(numbers % 3 == 1, np.nan, numbers)),
        "categories": lambda: pd.CategoricalIndex([f"c{i % 2}" for i in numbers], ["c1", "c0"]),
        "intervals": lambda: pd.interval_range(0, count) if count else pd.Index([]),
        "bools": lambda: pd.Index(numbers % 2 == 0),
        "tuples": lambda: pd.Index([(i, "t") for i in numbers.tolist()], tupleize_cols=False),
    }
    return plain[kind]()


def column(dtype: str, count: int, seed: int) -> Any:
    """Elements of a type."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    if dtype in NUMPY:
        return values.numbers(dtype, count, rng, "edges")
    numbers = rng.integers(0, 2, count)
    if dtype == "interval":
        return pd.arrays.IntervalArray.from_tuples([(int(i), int(i) + 1) for i in numbers], dtype="interval[int64]")
    if dtype in ("category", "string", "object"):
        return pd.Series([("x", "y")[i] for i in numbers], dtype=dtype)
    if dtype == "period[D]":
        return pd.period_range("2020-01-01", periods=count)
    made = pd.Series(numbers)
    if dtype == "datetime64[ns, UTC]":
        return made.astype("datetime64[ns]").dt.tz_localize("UTC")
    return made.astype(dtype)


def operand(case: Case, which: int) -> Any:
    """The first or the second object."""
    import pandas as pd

    kind = (case.a, case.b)[which]
    dtype = case.other or case.dtype if which else case.dtype
    seed = case.seed + which
    if kind == "number":
        return case.number
    if kind == "none":
        return None
    scalar = dtype if dtype in NUMPY else "float64"
    if kind == "scalar":
        return np.dtype(scalar).type(case.number % 100)
    if kind == "array":
        return np.ones(case.rows, scalar)
    labels = index(case.labels, case.rows, case.relation if which else "same")
    if kind in ("series", "subclass"):
        names = {"": None, "tuple": ("a", 1), "1": 1, "1.0": 1.0, "nan": float("nan"), "NA": pd.NA}
        name = names.get(case.names[which], case.names[which])
        made = pd.Series(column(dtype, len(labels), seed))
        if case.blocks == "reversed":
            made = made.iloc[::-1]
        made.index, made.name = labels, name
        made = _subseries()(made) if kind == "subclass" else made
    else:
        across = index(case.columns, case.width, case.across if which else "same")
        made = _frame(case, dtype, len(labels), len(across), seed)
        made.index, made.columns = labels, across
        made = _subframe()(made) if kind == "framed" else made
    for field in getattr(made, "_metadata", ()):
        if field == "sensor":
            made.sensor = (None, "s1", "s2")[(seed >> 3) % 3]
    if case.attrs[which]:
        made.attrs["unit"] = case.attrs[which]
    if case.unique and labels.is_unique and made.axes[-1].is_unique:
        made = made.set_flags(allows_duplicate_labels=False)
    return made


def _frame(case: Case, dtype: str, rows: int, width: int, seed: int) -> Any:
    import pandas as pd

    columns = [column(dtype, rows, seed + 2 * i) for i in range(width)]
    if case.columns == "mixed" and width > 1:
        columns[1] = column("int32" if dtype != "int32" else "int64", rows, seed)
    if case.blocks == "one" and width and dtype in NUMPY and case.columns != "mixed":
        return pd.DataFrame(np.stack(columns, 1))
    if case.blocks == "turned" and width and dtype in NUMPY and case.columns != "mixed":
        return pd.DataFrame(np.stack(columns, 0)).T
    made = pd.DataFrame(dict(enumerate(columns)), index=range(rows))
    return made.iloc[::-1] if case.blocks == "reversed" else made


def _subseries() -> Any:
    import pandas as pd

    class Readings(pd.Series):  # type: ignore[misc]
        _metadata = ("sensor",)
        sensor = None

        @property
        def _constructor(self) -> Any:
            return type(self)

    return Readings


def _subframe() -> Any:
    import pandas as pd

    class Table(pd.DataFrame):  # type: ignore[misc]
        _metadata = ("sensor",)
        sensor = None

        @property
        def _constructor(self) -> Any:
            return type(self)

    return Table


# ---- comparing --------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Subtract, and compare with what pandas makes of it, or with the rule that refuses it."""
    import minuend as mn

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        a, b = operand(case, 0), operand(case, 1)
        befores = [_frozen(one) for one in (a, b)]
        reason = refusal(case, a, b)
        more: dict[str, Any] = {"out": a} if case.out else {}
        if case.where:
            more["where"] = np.ones(1, bool)
        try:
            found = values.ours(a, b, overflow=case.policy, **more)
        except mn.OverflowFound:
            return _overflow(case, a, b)
        except mn.MinuendError as error:
            if reason:
                return f"refused: {reason}"
            raise Difference(f"ours refuses: {error}") from None
        if reason:
            raise Difference(f"ours {_shown(found)}; expected a refusal: {reason}")
        if befores != [_frozen(one) for one in (a, b)]:
            raise Difference("an operand was changed")
        same(case, found, a - b)
    return "equal"


def _frozen(one: Any) -> Any:
    return (one.to_numpy().tobytes(), repr(one.axes)) if hasattr(one, "axes") else repr(one)


def _shown(found: Any) -> str:
    return f"{type(found).__name__} {str(found)[:80]!r}"


def refusal(case: Case, a: Any, b: Any) -> str:
    """Why a call has to be refused; nothing where it has not."""
    kinds = {"subclass": "series", "framed": "frame"}
    pair = [kinds.get(one, one) for one in (case.a, case.b)]
    labelled = [one for one in pair if one in ("series", "frame")]
    if case.out or case.where:
        return "out or where"
    if {"none", "array"} & set(pair):
        return "another kind of object beside pandas'"
    if len(set(labelled)) > 1:
        return "a Series beside a DataFrame"
    types = {dtype for one in (a, b) if hasattr(one, "axes") for dtype in _types(one)}
    if any(str(dtype) not in NUMPY for dtype in types):
        return "a type of pandas' own, or one without a difference"
    if len(types) != 1:
        return "several types, or none"
    (dtype,) = types
    for one in (a, b):
        if isinstance(one, np.generic) and one.dtype != dtype:
            return "a scalar of another type"
        if type(one) is int and dtype.kind in "iu" and not np.iinfo(dtype).min <= one <= np.iinfo(dtype).max:
            return "a number outside the type"
    if len(labelled) == 2:
        for x, y in zip(a.axes, b.axes, strict=True):
            if len(x) != len(y) or not x.equals(y):
                return "labels that differ"
    return ""


def _types(one: Any) -> list[Any]:
    return [one.dtype] if one.ndim == 1 else list(one.dtypes)


def _overflow(case: Case, a: Any, b: Any) -> str:
    dtype = next(str(_types(one)[0]) for one in (a, b) if hasattr(one, "axes"))
    x, y = (_array(one, dtype) for one in (a, b))
    if not values.overflowing(dtype, (x, y), case.policy).any():
        raise Difference("ours overflows; nothing does")
    return "overflow"


def _array(one: Any, dtype: str) -> Any:
    return one.to_numpy() if hasattr(one, "axes") else np.asarray(one, dtype)


def same(case: Case, found: Any, theirs: Any) -> None:
    """Compare a result with pandas' own: class, labels, names, attributes, flags and elements.

    Raises:
        Difference: something differs.
    """
    if type(found).__name__ != type(theirs).__name__:
        raise Difference(f"ours is a {type(found).__name__}, theirs a {type(theirs).__name__}")
    a, b = operand(case, 0), operand(case, 1)
    dtype = next(str(_types(one)[0]) for one in (a, b) if hasattr(one, "axes"))
    x, y = (_array(one, dtype) for one in (a, b))
    want = values.difference(dtype, (x, y), case.policy)
    if (
        case.policy in ("error", "widen")
        and dtype in values.INTEGERS
        and values.overflowing(dtype, (x, y), case.policy).any()
    ):
        raise Difference("ours gives an answer; differences overflow")
    got = found.to_numpy()
    if got.dtype != want.dtype or (found.ndim == 2 and {str(one) for one in found.dtypes} != {str(want.dtype)}):
        raise Difference(f"ours is of {got.dtype}, theirs of {want.dtype}")
    if got.shape != want.shape or not np.array_equal(
        values.compared(str(want.dtype), got), values.compared(str(want.dtype), want)
    ):
        raise Difference(f"ours {got!r:.200}, theirs {want!r:.200}")
    for mine, own in zip(found.axes, theirs.axes, strict=True):
        if not mine.identical(own) or getattr(mine, "freq", None) != getattr(own, "freq", None):
            raise Difference(f"ours has labels {mine!r:.200}, theirs {own!r:.200}")
    if found.attrs != theirs.attrs:
        raise Difference(f"ours has attrs {found.attrs}, theirs {theirs.attrs}")
    if getattr(found, "sensor", None) != getattr(theirs, "sensor", None):
        raise Difference(f"ours has metadata {found.sensor}, theirs {theirs.sensor}")
    if found.flags != theirs.flags:
        raise Difference(f"ours has flags {found.flags}, theirs {theirs.flags}")
    if found.ndim == 1 and (repr(found.name), type(found.name)) != (repr(theirs.name), type(theirs.name)):
        raise Difference(f"ours is named {found.name!r}, theirs {theirs.name!r}")


SURFACES = (Surface("pandas", "Series and DataFrames", ("pandas",), draw, compare, Case),)
