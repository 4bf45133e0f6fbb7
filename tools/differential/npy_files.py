"""NumPy's files beside NumPy: .npy of all versions, orders and types, and .npz, written and read by NumPy."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from differential.refusals import Reason, Why
from differential.subtracting import (
    BLOCKS,
    FLOATS,
    INTEGERS,
    POLICIES,
    STYLES,
    Array,
    Operand,
    difference,
    drawn,
    elements,
    fits,
    number,
    ours,
    same,
    same_elements,
    same_report,
    settled,
    weighted,
)
from differential.surface import Surface

Order = Literal["=", "<", ">"]
NUMBERS = (*INTEGERS, *FLOATS)
LACKED = ("bool", "complex64", "complex128", "S3", "U2", "datetime64[s]", "timedelta64[ms]", "V3", "longdouble",
          "object", "record", "subarray", "bfloat16", "void of bytes")  # fmt: skip
NAMES = ("x", "weight", "Größe", "a/b", "a.b", "arr_0", "with space", "x.npy", "0", "a::b", "-o", "日", "x\ny")
OPERANDS = ("same", "number", "one", "row", "column", "longer", "other size", "other rank")


@dataclass(frozen=True)
class Case:
    """Two files of arrays; fields that end in ``_b`` are of the second, which is an archive of none where ``bare``."""

    seed: int = 0
    dtype: str = "int32"
    dtype_b: str = ""
    shape: tuple[int, ...] = (3, 4)
    joined: str = "same"
    style: str = "small"
    style_b: str = "small"
    order: Order = "="
    order_b: Order = "="
    layout: str = "C"
    layout_b: str = "C"
    version: int = 1
    version_b: int = 1
    how: str = "npy"
    how_b: str = "npy"
    out: str = "npy"
    overflow: str = "wrap"
    block: int = 0
    nodata: str = ""
    names: tuple[str, ...] = ("x",)
    names_b: tuple[str, ...] = ("x",)
    select: bool = False
    common: bool = False
    broken: str = ""
    bare: bool = False


def draw(source: random.Random) -> Case:
    """Draw a case."""
    dtype = source.choice(NUMBERS) if source.random() < 0.93 else source.choice(LACKED)
    kinds = ("npy", "memmap", "npz", "npz compressed")
    names = tuple(source.sample(NAMES, source.choice((1, 1, 2, 3))))
    how, how_b = source.choice(kinds), source.choice(kinds)
    if source.random() < 0.85:
        how_b = how
    return Case(
        seed=source.randrange(1 << 16),
        dtype=dtype,
        dtype_b=source.choice(NUMBERS) if source.random() < 0.03 else "",
        shape=tuple(source.choice((0, 1, 2, 3, 5, 17, 60)) for _ in range(source.choice((0, 1, 2, 2, 3, 4)))),
        joined=weighted(source, {"same": 14} | dict.fromkeys(OPERANDS[1:], 1)),
        how=how,
        how_b=how_b,
        out=weighted(source, {"npz" if "npz" in (how[:3], how_b[:3]) else "npy": 8} | {"npy": 1, "npz": 1}),
        nodata=weighted(source, {"": 9, "0": 1, "7": 1, "-9999": 1, "nan": 1, "0.5": 0.3, "1e300": 0.3}),
        names=names,
        names_b=names if source.random() < 0.8 else tuple(source.sample(NAMES, source.choice((1, 2)))),
        broken=weighted(source, {"": 80, "cut": 1, "longer": 1, "empty": 1, "magic": 1}),
        common="npz" in how and "npz" in how_b and source.random() < 0.4,
        bare="npz" in how and "npz" in how_b and source.random() < 0.03,
        **drawn(
            source,
            style=STYLES,
            style_b=STYLES,
            order=("=", "<", ">"),
            order_b=("=", "<", ">"),
            layout=("C", "F"),
            layout_b=("C", "F"),
            version=(1, 2, 3),
            version_b=(1, 2, 3),
            overflow=POLICIES,
            block=BLOCKS,
            select=(True, False),
        ),
    )


def compare(case: Case, folder: Path) -> str:
    """Write both files by NumPy, subtract them, and read the difference by NumPy."""
    names, names_b = case.names or ("x",), case.names_b or ("x",)
    a = arrays(case, case.dtype, case.shape, names, case.style, case.order, case.layout, 1)
    b = arrays(case, case.dtype_b or case.dtype, shape_b(case), names_b, case.style_b, case.order_b, case.layout_b, 2)
    b = {} if case.bare and case.how_b[:3] == "npz" else b
    one = write(folder / f"a.{case.how[:3] if case.how != 'memmap' else 'npy'}", a, case.how, case.version)
    other = write(folder / f"b.{case.how_b[:3] if case.how_b != 'memmap' else 'npy'}", b, case.how_b, case.version_b)
    damage(one, case.broken, case.seed)
    out = folder / f"c.{case.out}"
    x, y = ({"": next(iter(s.values()))} if h in ("npy", "memmap") else s for s, h in ((a, case.how), (b, case.how_b)))
    named = [str(one), str(other)]
    if case.select and not case.bare:
        if "" not in x:
            named[0] += f"::{names[0]}"
            x = {"": x[names[0]]}
        if "" not in y:
            named[1] += f"::{names_b[0]}"
            y = {"": y[names_b[0]]}
    nodata = number(case.nodata)
    pairs, refused = paired(x, y, case)
    found = {}
    for name, (p, q) in pairs.items():
        if own := refusal(p, q, nodata):
            refused += own
            continue
        whole = np.broadcast_shapes(p.shape, q.shape)
        single = [o.size == 1 and int(np.prod(whole)) != 1 for o in (p, q)]
        first, second = (Operand(o, None if s else nodata) for o, s in zip((p, q), single, strict=True))
        found[name] = difference(first, second, case.overflow)
        refused += found[name].refused
    if case.out == "npy" and len(pairs) > 1:
        refused += (Reason.SEVERAL_FOR_ONE(len(pairs)),)
    if case.out == "npz" and any(f"{name}.npy" in pairs for name in pairs):
        refused += (Reason.MEMBER_NAME(),)
    if case.broken and not (case.broken == "longer" and case.how[:3] == "npz"):
        refused += (Reason.DAMAGED(one),)
    came = ours(named, str(out), overflow=case.overflow, nodata=nodata, common=case.common, block=case.block)
    if (what := settled(came, refused, out)) is not None:
        return what
    read = np.load(out)
    arrays_c = dict(read) if case.out == "npz" else {"": read}
    if len(pairs) == 1 and (case.out == "npy") != ("" in pairs):  # a name that a file adds or takes
        arrays_c = dict(zip(pairs, arrays_c.values(), strict=True))
    same("names", list(arrays_c), list(pairs))
    for told, (name, (p, q)) in zip(came.tensors, pairs.items(), strict=True):
        same_elements(name or "the array", arrays_c[name], found[name].array)
        same_report(told, found[name])
        large = [o for o in (p, q) if o.size == found[name].array.size]
        fortran = bool(large) and all(o.flags.f_contiguous and not o.flags.c_contiguous for o in large)
        if found[name].array.size > 1 and min(found[name].array.shape, default=1) > 1:
            same("Fortran order", bool(arrays_c[name].flags.fnc), fortran)
    return "equal"


def arrays(
    case: Case,
    dtype: str,
    shape: tuple[int, ...],
    names: tuple[str, ...],
    style: str,
    order: Order,
    layout: str,
    k: int,
) -> dict[str, Array]:
    """The arrays of a file by name."""
    return {
        name: made(case.seed * 10 + 5 * k + i, dtype, shape, style, order, layout, case.nodata)
        for i, name in enumerate(names)
    }


def made(seed: int, dtype: str, shape: tuple[int, ...], style: str, order: Order, layout: str, nodata: str) -> Array:
    """One array."""
    found: Array
    if dtype == "object":
        found = np.full(shape, None, object)
    elif dtype == "record":
        found = np.zeros(shape, [("é" if seed % 2 else "x", "<f4"), ("y", ">i2", (2,))])
    elif dtype == "subarray":
        found = np.zeros(shape, np.dtype([("y", ">i2", (2,))]))
    elif dtype == "bfloat16":
        import ml_dtypes

        found = np.zeros(shape, ml_dtypes.bfloat16)
    elif dtype == "void of bytes":
        found = np.zeros(shape, "V2")
    elif dtype in LACKED and np.dtype(dtype).kind not in "bc":
        found = np.zeros(shape, dtype)
    else:
        own = np.dtype(dtype)
        number = float(nodata) if nodata else None
        spice = number if number is not None and own.kind not in "bc" and fits(own, number) else None
        found = elements(seed, own, shape, style, spice)
        found = found.astype(own.newbyteorder(order))
    return np.asarray(found, order="F" if layout == "F" else "C")


def shape_b(case: Case) -> tuple[int, ...]:
    """B's shape."""
    shape = case.shape
    return {
        "same": shape,
        "number": (),
        "one": (1,) * len(shape),
        "row": shape[-1:],
        "column": (*shape[:-1], 1) if shape else (),
        "longer": (2, *shape),
        "other size": (*shape[:-1], shape[-1] + 1) if shape else (7,),
        "other rank": shape[1:],
    }[case.joined]


def write(path: Path, held: dict[str, Array], how: str, version: int) -> Path:
    """Write arrays as NumPy does."""
    if how.startswith("npz"):
        (np.savez_compressed if how == "npz compressed" else np.savez)(path, **held)  # type: ignore[arg-type]
        return path
    array = next(iter(held.values()))
    stated = (version, 0)
    if array.dtype.names and version == 1:
        stated = (3, 0)
    if how == "memmap" and array.size and not array.dtype.hasobject:
        fortran = bool(array.flags.fnc)
        mapped = np.lib.format.open_memmap(path, "w+", array.dtype, array.shape, fortran_order=fortran, version=stated)
        mapped[...] = array
        mapped.flush()
        del mapped
        return path
    with open(path, "wb") as stream:
        np.lib.format.write_array(stream, array, stated, allow_pickle=array.dtype.hasobject)
    return path


def damage(path: Path, broken: str, seed: int) -> None:
    """Break a file."""
    raw = path.read_bytes()
    if broken == "cut":
        path.write_bytes(raw[: seed % len(raw)])
    elif broken == "longer":
        path.write_bytes(raw + b"\0")
    elif broken == "empty":
        path.write_bytes(b"")
    elif broken == "magic":
        path.write_bytes(b"\x92" + raw[1:])


def paired(
    x: dict[str, Array], y: dict[str, Array], case: Case
) -> tuple[dict[str, tuple[Array, Array]], tuple[Why, ...]]:
    """Which arrays go together, and why they do not."""
    single = "" in x or "" in y
    alone = (Reason.COMMON(),) if single and case.common else ()
    if single and len(x) == len(y) == 1:
        (p,), (q,) = x.values(), y.values()
        return {"": (p, q)}, alone
    if single:
        kinds = [reason for each in (x, y) for one in each.values() if (reason := of_type(one.dtype))]
        return {}, (*alone, Reason.ONE_AND_SEVERAL(f"holds {max(len(x), len(y))} tensors"), *kinds)
    names = [name for name in x if name in y]
    if not names or (set(x) != set(y) and not case.common):
        return {}, (Reason.NAMES(*map(repr, sorted({*x} ^ {*y}))),)
    return {name: (x[name], y[name]) for name in names}, ()


def refusal(p: Array, q: Array, nodata: Any) -> tuple[Why, ...]:
    """Why two arrays are not subtracted."""
    if own := tuple(reason for o in (p, q) if (reason := of_type(o.dtype))):
        return own
    if p.dtype.newbyteorder("=") != q.dtype.newbyteorder("="):
        return (Reason.TYPES(f"A is of {p.dtype.name} and B of {q.dtype.name};"),)
    try:
        whole = np.broadcast_shapes(p.shape, q.shape)
    except ValueError:
        return (Reason.SHAPES(),)
    if nodata is not None and any(not fits(o.dtype, nodata) for o in (p, q) if o.size != 1 or int(np.prod(whole)) == 1):
        return (Reason.NODATA_GIVEN(nodata, p.dtype.name),)
    return ()


def of_type(dtype: np.dtype[Any]) -> Why | None:
    """Why elements of a type are not subtracted."""
    if dtype.name in NUMBERS:
        return None
    if dtype.hasobject:
        return Reason.OBJECTS()
    nameless = dtype.kind == "V" and dtype.names is None
    return Reason.NAMELESS(dtype.itemsize) if nameless else Reason.TYPE(repr(dtype.name))


SURFACES = (
    Surface(
        "npy", ".npy and .npz beside NumPy: versions, byte orders, layouts, types", ("numpy",), draw, compare, Case
    ),
)
