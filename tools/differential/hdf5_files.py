"""HDF5 files that h5py writes, beside ours: layouts, filters, stored types, names, links, fill values, scales."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from differential import subtracting
from differential.labelled import FLOATS, INTEGERS, numbers
from differential.refusals import Reason, Why
from differential.separate import Crashed, separately
from differential.surface import Difference, Surface

Array = np.ndarray[Any, np.dtype[Any]]

SEPARATE = ("h5py",)
"""What :func:`separately` imports beforehand."""

NUMBERS = (*INTEGERS, *FLOATS)
CUSTOM = ("12 bits at 3", "24-bit float", "signed 5 bits", "big 12 bits", "wide float", "bitfield", "bfloat16")
"""Stored types for which NumPy has no word: h5py converts them."""

NO_NUMBERS = (
    "bool", "enum", "text", "fixed text", "compound", "reference", "region", "ragged", "complex64", "array", "opaque",
    "longdouble", "times",
)  # fmt: skip
LAYOUTS = (
    "contiguous",
    "compact",
    "chunked",
    "growing",
    "virtual",
    "external",
    "early",
    "large chunks",
    "small chunks",
)
FILTERS = ("gzip", "lzf", "shuffle", "fletcher32", "szip", "scaleoffset", "nbit")
NAMES = ("v", "g/v", "größe", "a b", "outer/inner/v", "v.1", "日本")
LINKS = (
    "soft", "hard", "external link", "dangling", "soft group", "null beside", "text beside", "others beside",
    "empty group", "named type", "soft selected", "hard selected",
)  # fmt: skip
EXTRAS = (
    "partly written", "fill value", "nan fill", "unwritten", "attributes", "labels", "scales", "two scales",
    "scales shifted", "bare scales", "_FillValue", "missing_value", "packed", "more names", "latest", "earliest",
    "user block", "ordered", "nodata list", "units shifted", "group attributes", "odd attributes", "committed type",
    "references", "enum attribute", "empty attribute", "compound attribute", "ragged attribute", "lost references",
    "unread attribute", "many attributes", "unfiltered chunk", "second scales shifted", "scale of another",
    "labels in another order", "scales of one name",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Two files of datasets; fields are members of the tables above."""

    seed: int = 0
    dtype: str = "float64"
    dtype_b: str = ""
    order_a: Literal["<", ">"] = "<"
    order_b: Literal["<", ">"] = "<"
    shape: tuple[int, ...] = (3,)
    shape_b: str = ""
    layout_a: str = "contiguous"
    layout_b: str = "contiguous"
    filters_a: tuple[str, ...] = ()
    filters_b: tuple[str, ...] = ()
    name: str = "v"
    links: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    overflow: Literal["wrap", "saturate", "widen", "error"] = "wrap"
    block: int = 0


# ---- writing -------------------------------------------------------------------------------------------------------


def stored_type(name: str, order: Literal["<", ">"]) -> Any:  # noqa: PLR0912 - a list
    """Return the type that h5py stores: NumPy's, or HDF5's own."""
    import h5py
    from h5py import h5t

    big = order == ">"
    match name:
        case "12 bits at 3" | "big 12 bits" | "signed 5 bits":
            base = {"12 bits at 3": h5t.STD_U16LE, "big 12 bits": h5t.STD_U16BE, "signed 5 bits": h5t.STD_I8LE}[name]
            made = base.copy()
            made.set_precision(5 if name.startswith("signed") else 12)
            made.set_offset(0 if name == "signed 5 bits" else 3)
            return made
        case "24-bit float":
            made = (h5t.IEEE_F32BE if big else h5t.IEEE_F32LE).copy()
            made.set_fields(23, 15, 8, 0, 15)
            made.set_precision(24)
            made.set_size(3)
            return made
        case "wide float":
            made = (h5t.IEEE_F64BE if big else h5t.IEEE_F64LE).copy()
            made.set_ebias(1000)
            return made
        case "bitfield":
            return h5t.STD_B16LE.copy()
        case "bool":
            return np.dtype(bool)
        case "enum":
            return h5py.enum_dtype({"low": 0, "high": 1}, "int16")
        case "text":
            return h5py.string_dtype()
        case "fixed text":
            return np.dtype("S5")
        case "compound":
            return np.dtype([("x", "f4"), ("y", "i2")])
        case "reference":
            return h5py.ref_dtype
        case "region":
            return h5py.regionref_dtype
        case "ragged":
            return h5py.vlen_dtype(np.dtype("int32"))
        case "array":
            return np.dtype(("f4", (2,)))
        case "opaque":
            return h5py.opaque_dtype(np.dtype("V4"))
        case "times":
            return h5py.opaque_dtype(np.dtype("M8[s]"))
        case "bfloat16":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name).newbyteorder(order)


def _elements(case: Case, side: str, shape: Sequence[int], dtype: Any, source: np.random.Generator) -> Array | None:
    """Return what is written; ``None`` where nothing is."""
    kind = _kind(case, side)
    if kind in ("12 bits at 3", "big 12 bits", "bitfield"):
        return source.integers(0, 1 << 12, shape).astype("uint16")
    if kind == "signed 5 bits":
        return source.integers(-16, 16, shape).astype("int8")
    if kind in ("24-bit float", "wide float", "bfloat16"):
        return source.integers(-50, 50, shape).astype("float32") / 4
    if kind in NO_NUMBERS:
        return np.ones(shape, dtype) if kind in ("bool", "complex64", "longdouble") else None
    return numbers(np.dtype(dtype).newbyteorder("=").name, shape, source).astype(dtype)


def _kind(case: Case, side: str) -> str:
    return case.dtype_b or case.dtype if side == "b" else case.dtype


def _creation(case: Case, layout: str, filters: Sequence[str], shape: Sequence[int], dtype: Any) -> Any:
    """Return a list of properties: the layout and the filters in the order in which they are named."""
    import h5py

    made: Any = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    grid = {
        "chunked": tuple(max(1, (dim + 1) // 2) for dim in shape),
        "growing": tuple(max(1, (dim + 1) // 2) for dim in shape),
        "small chunks": (1,) * len(shape),
        "large chunks": tuple(max(1, dim) for dim in shape),
    }.get(layout)
    if layout == "compact":
        made.set_layout(h5py.h5d.COMPACT)
    elif layout == "early":
        made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    elif grid and shape:
        made.set_chunk(grid)
        filters = [one for one in filters if one != "nbit" or "scaleoffset" not in filters]
        plain = isinstance(dtype, np.dtype) and dtype.kind in "iuf" and dtype.itemsize <= 8
        first = {"scaleoffset": 0, "nbit": 1}  # behind others, these two crash the library
        for one in sorted(filters, key=lambda name: first.get(name, 2)):
            if one != "szip" or (plain and not {"scaleoffset", "nbit"} & {*filters}):  # else the library crashes
                _filter(made, one, dtype, int(np.prod(grid)))
    return made


def _filter(made: Any, name: str, dtype: Any, count: int) -> None:
    import h5py

    integer = isinstance(dtype, np.dtype) and dtype.kind in "iu"
    match name:
        case "gzip":
            made.set_deflate(3)
        case "lzf":
            made.set_filter(h5py.h5z.FILTER_LZF, h5py.h5z.FLAG_OPTIONAL)
        case "shuffle":
            made.set_shuffle()
        case "fletcher32":
            made.set_fletcher32()
        case "szip":
            if count >= 2:
                made.set_szip(h5py.h5z.SZIP_NN_OPTION_MASK, min(8, count // 2 * 2))
        case "scaleoffset":
            if integer or (isinstance(dtype, np.dtype) and dtype in ("float32", "float64")):
                made.set_scaleoffset(h5py.h5z.SO_INT if integer else h5py.h5z.SO_FLOAT_DSCALE, 0 if integer else 3)
        case "nbit":
            made.set_filter(h5py.h5z.FILTER_NBIT)


def write(case: Case, side: str, path: str) -> None:
    """Write a file."""
    import h5py

    libver = "latest" if "latest" in case.extras else ("earliest", "v110") if "earliest" in case.extras else None
    options: dict[str, Any] = {"libver": libver} if libver else {}
    if "user block" in case.extras:
        options["userblock_size"] = 512
    with h5py.File(path, "w", track_order="ordered" in case.extras, **options) as file:
        if "group attributes" in case.extras:
            file.attrs["title"] = "the file"
        names = [case.name, f"{case.name}_2"] if "more names" in case.extras else [case.name]
        for k, name in enumerate(names):
            _dataset(case, side, file, name, k, path)
        _links(case, side, file, path)


def _shape(case: Case, side: str) -> tuple[int, ...]:
    shape = case.shape
    if side == "b" and case.shape_b == "longer":
        return (*shape[:-1], shape[-1] + 1) if shape else (2,)
    if side == "b" and case.shape_b == "without first":
        return shape[1:]
    return () if side == "b" and case.shape_b == "number" else shape


def _dataset(case: Case, side: str, file: Any, name: str, k: int, path: str) -> None:
    import h5py

    source = np.random.default_rng([case.seed, side == "b", k])
    shape = _shape(case, side)
    order, layout = (case.order_a, case.layout_a) if side == "a" else (case.order_b, case.layout_b)
    filters = case.filters_a if side == "a" else case.filters_b
    kind = stored_type(_kind(case, side), order)
    values = _elements(case, side, shape, kind, source)
    if layout == "virtual":
        own = h5py.VirtualLayout(shape, kind)
        with h5py.File(f"{path}.{k}.part.h5", "w") as other:
            other["x"] = np.zeros(shape, kind)
        if shape:
            own[...] = h5py.VirtualSource(f"{path}.{k}.part.h5", "x", shape)
        file.create_virtual_dataset(name, own)
        return
    if layout == "external":
        file.create_dataset(name, shape, kind, external=[(f"{path}.{k}.raw", 0, h5py.h5f.UNLIMITED)], data=values)
        return
    made = _creation(case, layout, filters, shape, kind)
    tid = kind if isinstance(kind, h5py.h5t.TypeID) else h5py.h5t.py_create(kind, logical=True)
    if "committed type" in case.extras:
        tid = tid.copy()
        tid.commit(file.id, f"type {k}".encode())
    if {"fill value", "nan fill"} & {*case.extras} and values is not None:
        fill = np.zeros((), values.dtype)
        fill[...] = np.nan if "nan fill" in case.extras and values.dtype.kind == "f" else 7
        made.set_fill_value(fill)
    most = (h5py.h5s.UNLIMITED,) * len(shape) if layout == "growing" else shape
    space = h5py.h5s.create_simple(shape, most) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    links.set_char_encoding(h5py.h5t.CSET_UTF8)
    dataset = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), tid, space, made, links))
    if values is not None and "unwritten" not in case.extras:
        if "partly written" in case.extras and shape and shape[0] > 1:
            dataset[: shape[0] // 2] = values[: shape[0] // 2]
        elif 0 not in shape:
            dataset[...] = values
            if "unfiltered chunk" in case.extras:
                _leave_unfiltered(dataset, values)
    _describe(case, side, file, dataset, values)


def _leave_unfiltered(dataset: Any, values: Array) -> None:
    """Write the first chunk again without its filters, as HDF5's mask of a chunk says."""
    filters = dataset.id.get_create_plist()
    codes = {filters.get_filter(k)[0] for k in range(filters.get_nfilters())}
    if not dataset.chunks or not codes or codes - {1, 2, 3, 32000} or values.dtype.kind not in "iuf":
        return
    if values.dtype != dataset.dtype:  # h5py converts what is written
        return
    first = np.zeros(dataset.chunks, values.dtype)
    part = values[tuple(slice(0, step) for step in dataset.chunks)]
    first[tuple(slice(0, dim) for dim in part.shape)] = part
    dataset.id.write_direct_chunk((0,) * values.ndim, first.tobytes(), (1 << len(codes)) - 1)


def _describe(case: Case, side: str, file: Any, dataset: Any, values: Array | None) -> None:
    """Give attributes and scales to a dataset."""
    extras = case.extras
    if "attributes" in extras:
        dataset.attrs["units"] = "m"
        dataset.attrs["level"] = np.int16(4)
        dataset.attrs["rates"] = np.array([0.5, np.nan, 2])
        dataset.attrs["names"] = ["é", "b"]
    if "odd attributes" in extras:
        dataset.attrs["flag"] = np.bool_(True)
        dataset.attrs["big"] = np.array([1, 2], ">i4")
        dataset.attrs["short"] = np.bytes_(b"abc")
        dataset.attrs["grid"] = np.arange(6).reshape(2, 3)
        dataset.attrs["one"] = np.array([4.0])
    _describe_oddly(extras, dataset)
    if values is not None and values.dtype.kind in "iuf":
        if "_FillValue" in extras:
            dataset.attrs["_FillValue"] = values.dtype.newbyteorder("=").type(7)
        if "missing_value" in extras:
            dataset.attrs["missing_value"] = np.float64(7)
        if "nodata list" in extras:
            dataset.attrs["missing_value"] = np.array([7, 7], values.dtype.newbyteorder("="))
        if "packed" in extras:
            dataset.attrs["scale_factor"] = 0.5
    turned = "labels in another order" in extras and side == "b"
    for k, size in enumerate(dataset.shape):
        if "labels" in extras:
            dataset.dims[k].label = f"x{len(dataset.shape) - 1 - k if turned else k}"
        for scale in ("one", "two") if "two scales" in extras else ("one",) if "scales" in extras else ():
            place = f"{len(dataset.shape) - k}_{size}"
            path = f"{place}/{scale}" if "scales of one name" in extras else f"{scale}{place}"
            if path not in file:
                shifts = {"scales shifted"} | ({"second scales shifted"} if scale == "two" else set())
                moved = bool(shifts & {*extras}) and side == "b"
                file[path] = np.arange(size) * 0.5 + moved
                file[path].make_scale("" if "bare scales" in extras else path)
                file[path].attrs["units"] = "km" if "units shifted" in extras and side == "b" else "m"
            dataset.dims[k].attach_scale(file[path])
            if scale == "two" and "scale of another" in extras and f"of {path}" not in file:
                file[f"of {path}"] = np.zeros(size)
                file[f"of {path}"].dims[0].attach_scale(file[path])


def _describe_oddly(extras: Sequence[str], dataset: Any) -> None:
    """Give attributes to a dataset that are no numbers and no text."""
    import h5py

    home = dataset.file
    if "references" in extras:
        dataset.attrs["of"] = dataset.ref
        dataset.attrs["home"] = dataset.parent.ref
        dataset.attrs["all"] = np.array([dataset.ref, home.ref], h5py.ref_dtype)
        dataset.attrs.create("none", h5py.h5r.Reference(), dtype=h5py.ref_dtype)
        dataset.attrs["record of"] = np.array([(dataset.ref, 1)], [("to", h5py.ref_dtype), ("n", "i4")])
        home.attrs["first"] = dataset.ref
    if "lost references" in extras:
        dataset.attrs["part"] = dataset.regionref[...]
        dataset.attrs["beside"] = home.require_group("beside").ref
        dataset.attrs["both"] = np.array([dataset.ref, home["beside"].ref], h5py.ref_dtype)
        dataset.attrs["record beside"] = np.array((home["beside"].ref, 1), [("to", h5py.ref_dtype), ("n", "i4")])
    if "enum attribute" in extras:
        dataset.attrs.create("state", 1, dtype=h5py.enum_dtype({"off": 0, "on": 1}, "i1"))
        dataset.attrs.create("states", [1, 0], dtype=h5py.enum_dtype({"off": 0, "on": 1}, ">i2"))
    if "empty attribute" in extras:
        dataset.attrs["nothing"] = h5py.Empty("f4")
        dataset.attrs["no text"] = h5py.Empty(h5py.string_dtype())
        home.attrs["no letters"] = h5py.Empty("S3")
    if "compound attribute" in extras:
        pair = np.array((1, 2.5), [("x", "i4"), ("y", ">f8")])
        dataset.attrs["pair"] = home.attrs["pair"] = pair
        words = [("x", "u1", (2,)), ("t", h5py.string_dtype()), ("in", [("k", "?"), ("c", "c8"), ("s", "S4")])]
        dataset.attrs["records"] = np.array([([1, 2], "é", (True, 2j, b"ab"))] * 2, words)
    if "ragged attribute" in extras:
        rows = np.empty(2, object)
        rows[:] = [np.arange(3, dtype="i4"), np.zeros(0, "i4")]
        dataset.attrs.create("rows", rows, dtype=h5py.vlen_dtype("i4"))
    if "many attributes" in extras:  # which HDF5 stores in another way than some
        for k in range(12):
            dataset.attrs[f"number {k}"] = np.arange(k)
    if "unread attribute" in extras:  # of a type that h5py lacks
        h5py.h5a.create(dataset.id, b"when", h5py.h5t.UNIX_D32LE, h5py.h5s.create(h5py.h5s.SCALAR))


def _links(case: Case, side: str, file: Any, path: str) -> None:
    import h5py

    for one in case.links:
        match one:
            case "soft" | "soft selected":
                file["a soft link"] = h5py.SoftLink(f"/{case.name}")
            case "hard" | "hard selected":
                file["a second name"] = file[case.name]
            case "external link":
                file["elsewhere"] = h5py.ExternalLink(f"{path}.other.h5", "/x")
            case "dangling":
                file["nowhere"] = h5py.SoftLink("/nothing")
            case "soft group":
                file.create_group("a group")
                file["another group"] = h5py.SoftLink("/a group")
            case "null beside":
                file["null"] = h5py.Empty("f4")
            case "text beside":
                file["words"] = "some words"
            case "others beside":  # which must not keep anybody from reading the one that is selected
                file["opaque"] = np.zeros(2, "V4")
                for other in ("array", "reference", "ragged", "compound", "enum"):
                    file.create_dataset(other, (2,), stored_type(other, "<"))
            case "empty group":
                file.create_group("nothing in it")
            case "named type":
                file["a type"] = np.dtype("f4")


# ---- what must be refused ------------------------------------------------------------------------------------------


def why_refused(case: Case, a: Any, b: Any, selected: bool) -> tuple[Why, ...]:
    """Return the rules by which two files must be refused."""
    names = [set(_datasets(one)) for one in (a, b)]
    chosen = [*_picked(case)] if selected else sorted(names[0] & names[1])
    of_pairs = tuple(reason for name in chosen for reason in _why_pair(case, name, a[name], b[name]))
    if not selected and names[0] != names[1]:
        others = sorted(names[0] ^ names[1])
        texts = [name for name in others if any(name in one and _holds_texts(one[name]) for one in (a, b))]
        reasons = (Reason.TYPE("'string'", repr(name)) for name in texts)
        return (Reason.NAMES(*map(repr, others)), *reasons, *of_pairs)
    return of_pairs


def _datasets(file: Any) -> list[str]:
    """Return the names of the datasets that belong to no axis, by h5py's walk over the file; texts only if all are."""
    import h5py

    found: list[str] = []

    def visit(name: str, link: Any) -> None:
        if isinstance(link, h5py.HardLink) and isinstance(file[name], h5py.Dataset) and not file[name].is_scale:
            found.append(name)

    file.visititems_links(visit)
    return [name for name in found if not _holds_texts(file[name])] or found


def _holds_texts(dataset: Any) -> bool:
    import h5py

    return dataset.dtype.kind == "S" or h5py.check_string_dtype(dataset.dtype) is not None


def _why_pair(case: Case, name: str, x: Any, y: Any) -> Iterator[Why]:
    own = [reason for one in (x, y) for reason in _why_one("" if _picked(case) else name, one)]
    if own:
        yield from own
        return
    if x.dtype.newbyteorder("=") != y.dtype.newbyteorder("="):
        yield Reason.TYPES(f"A is of {x.dtype.name} and B of {y.dtype.name};")
        return
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        yield Reason.SHAPES()
        return
    if x.attrs.get("scale_factor", 1) != y.attrs.get("scale_factor", 1):
        yield Reason.SCALE()
    yield from _why_scales(x, y)
    if case.overflow in ("error", "widen") and x.dtype.kind in "iu":
        exact = _exact(x[...]) - _exact(y[...])
        out = np.dtype(
            x.dtype.newbyteorder("=") if case.overflow == "error" else f"int{min(64, 16 * x.dtype.itemsize)}"
        )
        lost = np.asarray((exact < np.iinfo(out).min) | (exact > np.iinfo(out).max), bool)
        lost &= ~np.broadcast_to(_marked(x) | _marked(y), lost.shape)
        if lost.any():
            yield subtracting.overflowing(lost, out)


def _why_scales(x: Any, y: Any) -> Iterator[Why]:
    """Say in what the scales of two datasets differ, and the labels of their axes."""
    for p, q in zip(reversed(list(x.dims)), reversed(list(y.dims)), strict=False):
        for one, other in zip(p.values(), q.values(), strict=False):
            if one.shape != other.shape or (one != p[0] and _is_first(one)):
                continue
            label = repr(one.name.rpartition("/")[2])
            if one.attrs["units"] != other.attrs["units"]:
                yield Reason.COORDINATE_MEANING(label, "different units: ")
            if not np.array_equal(one[...], other[...]):
                yield Reason.COORDINATES(label)
    labels = [[axis.label for axis in one.dims] for one in (x, y)]
    if labels[0] != labels[1] and sorted(labels[0]) == sorted(labels[1]):
        yield Reason.AXIS_NAMES()


def _is_first(scale: Any) -> bool:
    """Whether a scale is the first one of an axis: then it is not known along which one it lies as another's second."""
    return f"of {scale.name[1:]}" in scale.file


def _why_one(name: str, one: Any) -> Iterator[Why]:
    """Say why a dataset is not subtracted, whatever the other one is."""
    import h5py

    kind = one.dtype
    if one.is_virtual or one.external:
        yield Reason.ELSEWHERE(name, "virtual" if one.is_virtual else "external")
    if one.shape is None:
        yield Reason.NO_ELEMENTS(name)
    elif kind.kind not in "iuf" or kind.metadata or kind.itemsize > 8 or kind.shape:
        yield Reason.TYPE(name, "'string'" if kind.hasobject and h5py.check_string_dtype(kind) else "")


def _exact(values: Array) -> Any:
    found = np.empty(np.shape(values), object)
    found[...] = np.asarray(values).astype(object)
    return found


# ---- comparing -----------------------------------------------------------------------------------------------------


def _nodata(dataset: Any) -> Any:
    for key in ("_FillValue", "missing_value"):
        if key in dataset.attrs:
            return np.ravel(dataset.attrs[key])[0]
    return None


def _marked(dataset: Any) -> Array:
    value = _nodata(dataset)
    values = np.asarray(dataset[...])
    return (
        np.zeros(values.shape, bool) if value is None else np.asarray(values == np.asarray(value).astype(values.dtype))
    )


def expected(x: Any, y: Any, overflow: str) -> Array:
    """Return the difference of two datasets as h5py reads them, computed by NumPy."""
    p, q = (np.asarray(one[...]).astype(one.dtype.newbyteorder("=")) for one in (x, y))
    with np.errstate(all="ignore"):
        if p.dtype.kind == "f" or overflow in ("wrap", "error"):
            found = np.asarray(p - q)
        else:
            exact, wide = _exact(p) - _exact(q), np.dtype(f"int{min(64, 16 * p.dtype.itemsize)}")
            exact = np.asarray(exact, object)
            if overflow == "saturate":
                info = np.iinfo(p.dtype)
                found = np.asarray(np.clip(exact, info.min, info.max), object).astype(p.dtype)
            else:
                found = (
                    np.asarray(exact & ((1 << 8 * wide.itemsize) - 1), object).astype(f"u{wide.itemsize}").view(wide)
                )
    value = _nodata(x) if _nodata(x) is not None else _nodata(y)
    if value is not None:
        found = np.where(_marked(x) | _marked(y), np.asarray(value).astype(found.dtype), found)
    return found


def compare(case: Case, folder: Path) -> str:
    """Compare a case; h5py works in separate processes, since HDF5's szip writes beyond its memory."""
    paths = [f"{folder}/{side}.h5" for side in "ab"]
    out = f"{folder}/c.h5"
    try:
        if failure := separately(_written, case, paths):
            return failure
        reason = separately(_refusal, case, paths)
    except Crashed as crash:
        return f"h5py crashes: {crash}"
    if reason is None:
        return "h5py does not read it"
    pick = "".join(f"::{name}" for name in _picked(case))
    came = subtracting.ours([path + pick for path in paths], out, case.block, overflow=case.overflow)
    if outcome := subtracting.settled(came, reason, out):
        return outcome
    separately(_check_file, case, paths, out, {one.name: one for one in came.tensors}, came.notes)
    return "equal"


def _written(case: Case, paths: Sequence[str]) -> str:
    """Write both files; return why h5py does not."""
    for side, path in zip("ab", paths, strict=True):
        try:
            write(case, side, path)
        except (ValueError, TypeError, OSError, RuntimeError, NotImplementedError, AttributeError) as error:
            return f"h5py does not write it: {type(error).__name__}"
    return ""


def _refusal(case: Case, paths: Sequence[str]) -> tuple[Why, ...] | None:
    """Return why two files must be refused, if so; ``None`` where h5py does not read them."""
    import h5py

    with h5py.File(paths[0]) as a, h5py.File(paths[1]) as b:
        try:
            for one in (file[name] for file in (a, b) for name in _datasets(file)):
                _ = one[()] if not one.is_virtual and not one.external else None
            return why_refused(case, a, b, bool(_picked(case)))
        except OSError:
            return None


def _check_file(case: Case, paths: Sequence[str], out: str, reported: Mapping[str, Any], notes: Sequence[str]) -> None:
    import h5py

    with h5py.File(paths[0]) as a, h5py.File(paths[1]) as b, h5py.File(out) as c:
        _check(case, a, b, c, reported, notes)


def _picked(case: Case) -> tuple[str, ...]:
    """Return the name of the one dataset that is selected, if one is."""
    selected = {
        "soft selected": "a soft link",
        "hard selected": "a second name",
        "null beside": case.name,
        "others beside": case.name,
    }
    return tuple(selected[one] for one in case.links if one in selected)[:1]


def _check(case: Case, a: Any, b: Any, c: Any, reported: Mapping[str, Any], notes: Sequence[str]) -> None:
    names = {*_picked(case)} or set(_datasets(a))
    owners = []
    if set(_datasets(c)) != names:
        raise Difference(f"ours has the datasets {sorted(_datasets(c))}, theirs {sorted(names)}")
    for name in sorted(names):
        x, y, z = a[name], b[name], c[name]
        values, came = expected(x, y, case.overflow), np.asarray(z[...])
        if came.dtype.newbyteorder("=") != values.dtype or came.shape != values.shape:
            raise Difference(f"{name}: ours {came.dtype} {came.shape}, theirs {values.dtype} {values.shape}")
        p, q = _bits(came), _bits(values)
        if not np.array_equal(p, q):
            at = int(np.argmax(p != q))
            raise Difference(f"{name} at {at}: ours {came.reshape(-1)[at]}, theirs {values.reshape(-1)[at]}")
        _check_report(reported[name], x, y, came)
        owner = y if x.shape != z.shape and y.shape == z.shape and any(map(len, y.dims)) else x
        owners.append(owner)
        _check_attributes(name, owner, z, notes)
        _check_nodata(name, owner, z)
        if owner.shape == z.shape:
            _check_scales(name, owner, z, notes)
            _check_storage(name, x, z, notes)
    _check_attributes("/", owners[0].file, c, notes)


def _check_report(reported: Any, x: Any, y: Any, came: Array) -> None:
    p, q = (np.asarray(one[...]).astype(one.dtype.newbyteorder("=")) for one in (x, y))
    value = _nodata(x) if _nodata(x) is not None else _nodata(y)
    beyond = subtracting.beyond(p, q, np.broadcast_to(_marked(x) | _marked(y), came.shape))
    subtracting.same_report(reported, subtracting.Expected(came, None if value is None else value.item(), beyond))


def _bits(values: Array) -> Array:
    plain = np.array(values.astype(values.dtype.newbyteorder("=")))
    if plain.dtype.kind == "f":
        plain[np.isnan(plain)] = np.nan
    return plain.reshape(-1).view(f"u{plain.dtype.itemsize}")


_OWN = {
    "when",
    "DIMENSION_LIST",
    "DIMENSION_LABELS",
    "_FillValue",
    "missing_value",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
}
"""Attributes that a difference has by rules of its own."""


def _check_attributes(where: str, x: Any, z: Any, reported: Sequence[str]) -> None:
    """Compare attributes with h5py's, their types and shapes too; what is lost has to be reported."""
    theirs, came = ({key: one.attrs.get_id(key) for key in one.attrs if key not in _OWN} for one in (x, z))
    lost = {key for key in theirs if _is_lost(x, z, key)}
    for key in lost:
        if not any(note.startswith(f"the attribute {key!r} of {where!r} refers to ") for note in reported):
            raise Difference(f"{where}: the attribute {key} is lost, and no note says so")
    if set(came) != set(theirs) - lost:
        raise Difference(f"{where}: ours has the attributes {sorted(came)}, theirs {sorted(set(theirs) - lost)}")
    for key, ours in came.items():
        value, own = x.attrs[key], z.attrs[key]
        alone = theirs[key].shape == (1,)  # which other formats have as a number or a text, and so has ours
        if _shown(value, x, alone=alone) != _shown(own, z, alone=alone):
            raise Difference(f"{where}: the attribute {key} is {own!r}, theirs {value!r}")
        if not ours.get_type().equal(theirs[key].get_type()):
            raise Difference(f"{where}: the attribute {key} is of {ours.dtype}, theirs of {theirs[key].dtype}")
        if ours.shape != theirs[key].shape and not (alone and ours.shape == ()):
            raise Difference(f"{where}: the attribute {key} is of the shape {ours.shape}, theirs {theirs[key].shape}")


def _is_lost(x: Any, z: Any, key: str) -> bool:
    """Whether an attribute refers to what ours has not, or to a part of a dataset."""
    import h5py

    value = x.attrs[key]
    record = isinstance(value, np.ndarray | np.void) and "to" in (value.dtype.names or ())
    for one in np.ravel(value["to"] if record else value):
        if isinstance(one, h5py.RegionReference):
            return bool(one)
        if isinstance(one, h5py.Reference) and one and x.file[one].name not in z.file:
            return True
    return False


def _shown(value: Any, of: Any, *, alone: bool) -> Any:
    """An attribute's value as text; a reference as the name of what it leads to."""
    import h5py

    if isinstance(value, h5py.Empty):
        return f"nothing of {value.dtype}"
    if isinstance(value, h5py.Reference):
        return of.file[value].name if value else "to nothing"
    if isinstance(value, np.ndarray | np.void) and value.dtype.names:
        return [_shown(np.asarray(value)[name], of, alone=alone) for name in value.dtype.names]
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        found = [_shown(one, of, alone=False) for one in value.flat]
        return found[0] if alone else found
    return repr(np.ravel(value)[0] if alone else value)


def _check_nodata(name: str, x: Any, z: Any) -> None:
    value = _nodata(x)
    if value is not None and (_nodata(z) is None or float(_nodata(z)) != float(value)):
        raise Difference(f"{name}: ours states the nodata {_nodata(z)}, theirs {value}")


def _check_scales(name: str, x: Any, z: Any, notes: Sequence[str]) -> None:
    """Compare all scales of axes, and labels; what is lost has to be reported."""
    for k, (theirs, ours) in enumerate(zip(x.dims, z.dims, strict=True)):
        wanted = {one.name: one for one in theirs.values()}
        if lost := [path for path in list(wanted)[1:] if path not in z.file]:
            said = any(note.startswith("the dimension scales ") and repr(lost[0][1:]) in note for note in notes)
            if not said or not all(_is_first(wanted[path]) for path in lost):
                raise Difference(f"{name}: axis {k} of ours lacks the scales {lost}, and notes are {notes}")
        wanted = {path: one for path, one in wanted.items() if path not in lost}
        if [one.name for one in ours.values()] != list(wanted):
            raise Difference(f"{name}: axis {k} of ours has the scales {list(ours.values())}, theirs {list(wanted)}")
        for one, own in zip(wanted.values(), ours.values(), strict=True):
            if not np.array_equal(one[...], own[...]) or one.attrs["units"] != own.attrs["units"]:
                raise Difference(f"{name}: the scale {one.name} of ours is another one")
        if theirs.label != ours.label:
            raise Difference(f"{name}: axis {k} of ours is labelled {ours.label!r}, theirs {theirs.label!r}")


def _check_storage(name: str, x: Any, z: Any, notes: Sequence[str]) -> None:
    """Compare chunks and lossless filters; one that is not there has to be reported."""
    if x.chunks is None or 0 in x.shape or x.shape != z.shape:
        return
    rows: Mapping[str, tuple[Any, Any]] = {
        key: (getattr(z, key), getattr(x, key))
        for key in ("chunks", "compression", "compression_opts", "shuffle", "fletcher32")
    }
    unnamed = _has_unnamed_filter(x)
    for key, (ours, theirs) in rows.items():
        if unnamed and key == "compression" and ours == "gzip":
            continue  # of a plug-in, or nbit: any lossless one in its place
        if ours != theirs and not (key == "compression_opts" and (unnamed or x.compression == "szip")):
            raise Difference(f"{name}: ours is stored with {key} {ours}, theirs {theirs}")

    lost = {_CODES.get(code, "") for code in _codes(x)} - {_CODES.get(code, "") for code in _codes(z)}
    named = next((note for note in notes if note.startswith("the filters ") and f" of {name!r} " in note), "")
    if {one for one in _CODES.values() if repr(one) in named} != lost:
        raise Difference(f"{name}: ours lacks the filters {sorted(lost)}, and notes are {notes}")


_CODES = {1: "gzip", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset", 32000: "lzf"}


def _codes(x: Any) -> list[int]:
    filters = x.id.get_create_plist()
    return [filters.get_filter(i)[0] for i in range(filters.get_nfilters())]


_NAMED = {1, 2, 3, 4, 6, 32000}
"""HDF5's numbers of the filters that h5py has a name for: deflate, shuffle, Fletcher-32, szip, scale-offset, LZF."""


def _has_unnamed_filter(x: Any) -> bool:
    return any(code not in _NAMED for code in _codes(x))  # h5py before 3.15 says None of them, "unknown" from then on


# ---- drawing -------------------------------------------------------------------------------------------------------


def draw(source: random.Random) -> Case:
    """Draw a case."""

    def few(options: Sequence[str], most: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source.choices(options, k=source.randint(0, most))))

    def filters() -> tuple[str, ...]:
        # behind one that changes the length, szip reads and writes beyond its memory
        return tuple(sorted(few(FILTERS, 3), key=lambda name: name != "szip"))

    orders: tuple[Literal["<", ">"], ...] = ("<", "<", ">")
    chunked = ("chunked", "growing", "large chunks", "small chunks")

    def layout() -> str:
        return source.choice(chunked) if source.random() < 0.6 else source.choice(LAYOUTS)

    dtype = source.choice(NUMBERS) if source.random() < 0.7 else source.choice((*CUSTOM, *CUSTOM, *NO_NUMBERS))
    return Case(
        seed=source.randrange(1 << 30),
        dtype=dtype,
        dtype_b=source.choice((*NUMBERS, *CUSTOM, *NO_NUMBERS)) if source.random() < 0.05 else "",
        order_a=source.choice(orders),
        order_b=source.choice(orders),
        shape=tuple(source.choice((1, 2, 3, 4, 7, 0)) for _ in range(source.choice((0, 1, 1, 2, 2, 3, 4)))),
        shape_b=source.choice(("", "", "", "", "", "longer", "without first", "number")),
        layout_a=layout(),
        layout_b=layout(),
        filters_a=filters(),
        filters_b=filters(),
        name=source.choice(NAMES),
        links=few(LINKS, 2) if source.random() < 0.4 else (),
        extras=few(EXTRAS, 5),
        overflow=source.choice(("wrap", "wrap", "saturate", "widen", "error")),
        block=source.choice(subtracting.BLOCKS),
    )


SURFACES = (Surface("hdf5", "HDF5 files, by h5py", ("h5py",), draw, compare, Case),)
