"""zarr 2 and 3 beside ours: data sets that xarray writes, and plain arrays by zarr itself."""

from __future__ import annotations

import contextlib
import random
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from differential import labelled, netcdf, subtracting
from differential.labelled import FLOATS, INTEGERS, Case, File
from differential.refusals import Reason, Why
from differential.surface import Difference, Surface

STORAGE = (
    "chunks", "small chunks", "odd chunks", "shards", "gzip", "zstd", "blosc", "zlib", "no codec", "crc32c",
    "shuffle", "delta", "not consolidated", "fill_value", "big-endian", "transpose", "bz2", "lz4",
)  # fmt: skip


def chunks_of(shape: tuple[int, ...], storage: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the grid that names of it ask for."""
    if not shape:
        return None
    if "small chunks" in storage:
        return (1,) * len(shape)
    if "odd chunks" in storage:
        return tuple(dim + 2 for dim in shape)
    if "chunks" in storage or "shards" in storage:
        return tuple(max(1, (dim + 1) // 2) for dim in shape)
    return None


def codecs_of(dtype: np.dtype[Any], storage: tuple[str, ...], version: int) -> dict[str, Any]:
    """Return filters and compressors in zarr's words."""
    if version == 2:
        import numcodecs

        made: dict[str, Any] = {}
        for word, codec in (
            ("gzip", numcodecs.GZip(1)), ("zlib", numcodecs.Zlib(1)), ("zstd", numcodecs.Zstd(1)),
            ("bz2", numcodecs.BZ2(1)),
            ("blosc", numcodecs.Blosc("lz4", 3)), ("lz4", numcodecs.LZ4()), ("no codec", None),
        ):  # fmt: skip
            if word in storage:
                made["compressors"] = [codec] if codec is not None else None
        filters: list[Any] = []
        if "delta" in storage and dtype.kind in "iu":
            filters.append(numcodecs.Delta(dtype=dtype.str))
        if "shuffle" in storage:
            filters.append(numcodecs.Shuffle(dtype.itemsize))
        return made | ({"filters": filters} if filters else {})
    from zarr import codecs
    from zarr.codecs import numcodecs as others

    made = {}
    found: list[Any] = [others.Shuffle(elementsize=dtype.itemsize)] if "shuffle" in storage and dtype.itemsize else []
    named = {"zlib": others.Zlib(level=1), "bz2": others.BZ2(level=1), "lz4": others.LZ4()}
    found += [codec for word, codec in named.items() if word in storage]
    if "gzip" in storage:
        found.append(codecs.GzipCodec(level=1))
    if "zstd" in storage:
        found.append(codecs.ZstdCodec(level=1))
    if "blosc" in storage:
        found.append(codecs.BloscCodec(cname="lz4", shuffle="bitshuffle"))
    if "crc32c" in storage:
        found.append(codecs.Crc32cCodec())
    if found or "no codec" in storage:
        made["compressors"] = tuple(found)
    if "transpose" in storage:
        made["filters"] = "transpose"  # needs the rank
    if "big-endian" in storage and dtype.itemsize > 1:
        made["serializer"] = codecs.BytesCodec(endian="big")
    return made


def _filters(made: dict[str, Any], rank: int) -> dict[str, Any]:
    if made.get("filters") == "transpose":
        from zarr.codecs import TransposeCodec

        del made["filters"]
        if rank:
            made["filters"] = (TransposeCodec(order=tuple(reversed(range(rank)))),)
    return made


@contextlib.contextmanager
def opened(path: str, mode: str) -> Iterator[Any]:
    """Open a folder or an archive for zarr."""
    if not path.endswith(".zip"):
        yield path
        return
    from zarr.storage import ZipStore

    store = ZipStore(path, mode=mode)
    try:
        yield store
    finally:
        store.close()


def _writer(version: int) -> Any:
    def write(found: Any, path: str, encoding: dict[str, Any], case: Case, storage: tuple[str, ...]) -> None:
        for name, own in encoding.items():
            one: dict[str, Any] = own
            if version == 2 and one.get("_FillValue") is None:
                one.pop("_FillValue", None)
            one |= _filters(codecs_of(found[name].dtype, storage, version), found[name].ndim)
            if (grid := chunks_of(found[name].shape, storage)) is not None and 0 not in found[name].shape:
                one["chunks"] = grid
                if "shards" in storage and version == 3:
                    one["shards"] = tuple(2 * step for step in grid)
        if version == 2 and "big-endian" in storage:
            for name in case.names:
                found[name] = found[name].astype(found[name].dtype.newbyteorder(">"))
        with opened(path, "w") as store:
            found.to_zarr(
                store,
                group=case.group or None,
                encoding=encoding,
                zarr_format=version,
                consolidated="not consolidated" not in storage,
                mode="w" if isinstance(store, str) else "a",
            )

    return write


def _read(path: str, group: str) -> Any:
    """Return what xarray reads, by the consolidated metadata where there are any: without them it reads the same."""
    found, own = (_opened(path, group, consolidated) for consolidated in (None, False))
    if not found.identical(own):
        raise Difference(f"{path}: the consolidated metadata say {found}, those of the arrays {own}")
    return labelled.of_their_sign(found)


def _opened(path: str, group: str, consolidated: bool | None) -> Any:
    import xarray

    with opened(path, "r") as store, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xarray.open_zarr(
            store, group=group or None, mask_and_scale=False, decode_times=False, decode_coords="all", chunks=None,
            consolidated=consolidated,
        ) as found:  # fmt: skip
            return found.load()


def header(path: str, name: str) -> dict[str, Any]:
    """Return what zarr says of how an array is stored."""
    import zarr

    with opened(path, "r") as store, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = zarr.open_array(store=store, path=name, mode="r")
        return {
            "version": array.metadata.zarr_format,
            "chunks": array.chunks,
            "shards": array.shards,
            "compressors": [str(one) for one in array.compressors],
            "filters": [str(one) for one in array.filters],
            "order": array.order,
            "fill value": str(array.fill_value),
            "serializer": str(getattr(array, "serializer", "")),
        }


def _alike(x: Any, z: Any, a: str, c: str, case: Case, name: str) -> str:
    """Say in what an array is stored otherwise than A's."""
    path = f"{case.group}/{name}".lstrip("/")
    came, expected = header(c, path), header(a, path)
    for key, value in expected.items():
        if key == "fill value" and expected["version"] == 2:
            continue  # it is the attribute _FillValue there
        if key == "filters" and "unsigned" in case.extras:
            continue  # delta is of a type that the difference does not have
        if came[key] != value and (x.dtype == z.dtype or key in ("version", "chunks", "shards", "order")):
            return f"ours is stored with {key} {came[key]}, theirs {value}"
    return ""


_TYPES = (*INTEGERS, *FLOATS)
FILES = {
    "zarr 3": File(".zarr", _TYPES, _writer(3), _read, _alike),
    "zarr 2": File(".zarr", _TYPES, _writer(2), _read, _alike),
    "zarr 3 zip": File(".zarr.zip", _TYPES, _writer(3), _read, _alike),
    "zarr 2 zip": File(".zarr.zip", _TYPES, _writer(2), _read, _alike),
}
ALL = FILES | {name: netcdf.FILES[name] for name in ("netcdf4", "classic")}


@dataclass(frozen=True)
class Stored(Case):
    """A case whose A is a zarr store."""

    a: str = "zarr 3"
    b: str = "zarr 3"
    out: str = ".zarr"


def draw(source: random.Random) -> Stored:
    """Draw a case."""
    case = netcdf.fitting(labelled.draw(source, ALL, list(FILES), STORAGE), (*FILES, *netcdf.GROUPS))
    return Stored(**vars(case))


def compare(case: Case, folder: Path) -> str:
    """Compare a case."""
    return labelled.compare(case, folder, ALL)


# ---- arrays by zarr itself -----------------------------------------------------------------------------------------

PLAIN_TYPES = (*_TYPES, "bool", "complex64", "text")
PLAIN_STORAGE = (
    *(one for one in STORAGE if one not in ("not consolidated", "fill_value")), "order F", "fill 7", "fill most",
    "fill nan", "no fill", "lossy", "slash keys", "dot keys", "v2 keys", "shard index first", "partly written",
    "nested", "named", "some named", "attributes", "_FillValue", "rounding",
)  # fmt: skip


@dataclass(frozen=True)
class Arrays:
    """Two arrays that zarr writes; the fields are members of the tables above."""

    seed: int = 0
    version_a: int = 3
    version_b: int = 3
    kind_a: str = ".zarr"
    kind_b: str = ".zarr"
    out: str = ".zarr"
    dtype: str = "float64"
    dtype_b: str = ""
    shape: tuple[int, ...] = (3,)
    shape_b: str = ""
    storage_a: tuple[str, ...] = ()
    storage_b: tuple[str, ...] = ()
    overflow: Literal["wrap", "saturate", "widen", "error"] = "wrap"
    block: int = 0


def _side(case: Arrays, side: str) -> tuple[int, str, str, tuple[int, ...], tuple[str, ...]]:
    if side == "a":
        return case.version_a, case.kind_a, case.dtype, case.shape, case.storage_a
    shape = {"without first": case.shape[1:], "number": (), "longer": (*case.shape[:-1], sum(case.shape[-1:]) + 1)}
    own = shape.get(case.shape_b, case.shape)
    return case.version_b, case.kind_b, case.dtype_b or case.dtype, own, case.storage_b


def _creation(  # noqa: PLR0912 - a list of words
    version: int, dtype: Any, shape: tuple[int, ...], storage: tuple[str, ...]
) -> dict[str, Any]:
    """Return what `zarr.create_array` takes."""
    made = _filters(codecs_of(dtype, storage, version), len(shape))
    if "rounding" in storage and version == 3 and dtype in ("float32", "float64"):
        from zarr.codecs import numcodecs as others

        made["filters"] = (*made.get("filters", ()), others.BitRound(keepbits=10))
    grid = chunks_of(shape, storage) or tuple(max(1, dim) for dim in shape)
    made |= {"chunks": grid, "shape": shape, "dtype": dtype, "zarr_format": version}
    if version == 2:
        made["order"] = "F" if "order F" in storage else "C"
        if "lossy" in storage and dtype.kind == "f":
            import numcodecs

            made["filters"] = [numcodecs.FixedScaleOffset(offset=0, scale=10, dtype=dtype.str, astype="i4")]
        if "slash keys" in storage:
            made["chunk_key_encoding"] = {"name": "v2", "separator": "/"}
    else:
        if "shards" in storage and shape:  # zarr 3.1.6 does not write those of no axes
            made["shards"] = {
                "shape": tuple(2 * step for step in grid),
                "index_location": "start" if "shard index first" in storage else "end",
            }
        for word, name, separator in (("dot keys", "default", "."), ("v2 keys", "v2", "/")):
            if word in storage:
                made["chunk_key_encoding"] = {"name": name, "separator": separator}
        if "named" in storage:
            made["dimension_names"] = [f"d{k}" for k in range(len(shape))]
        if "some named" in storage:
            made["dimension_names"] = [None if k else "d" for k in range(len(shape))]
    if dtype.kind in "iuf":
        if "fill 7" in storage:
            made["fill_value"] = 7
        if "fill most" in storage and dtype.kind in "iu":
            made["fill_value"] = int(np.iinfo(dtype).max)
        if "fill nan" in storage and dtype.kind == "f":
            made["fill_value"] = np.nan
        if "no fill" in storage and version == 2:
            made["fill_value"] = None
    return made


def _make(case: Arrays, side: str, folder: Path) -> str:
    """Write an array, and return what is subtracted."""
    import zarr

    version, kind, name, shape, storage = _side(case, side)
    source = np.random.default_rng([case.seed, side == "b"])
    dtype = np.dtype("<U3" if name == "text" else name)
    if "big-endian" in storage and version == 2:
        dtype = dtype.newbyteorder(">")
    path, inner = f"{folder}/{side}{kind}", "g/x" if "nested" in storage else None
    made = _creation(version, dtype, shape, storage)
    attributes: dict[str, Any] = {}
    if "attributes" in storage:
        attributes |= {"units": "m", "levels": [1, 2.5], "nested": {"a": [None, True]}}
    if "_FillValue" in storage and dtype.kind in "iu":
        attributes["_FillValue"] = 7
    with opened(path, "w") as store:
        array = zarr.create_array(store=store, name=inner, attributes=attributes, **made)
        values = labelled.numbers(name, shape, source) if dtype.kind in "iuf" else np.zeros(shape, dtype)
        if "lossy" in storage:
            values = source.integers(-50, 50, shape).astype(dtype)
        if "partly written" in storage and shape and shape[0] > 1:
            array[: shape[0] // 2] = values[: shape[0] // 2]
        elif 0 not in shape:
            array[...] = values
    return path


def _array(path: str) -> tuple[Any, Any, dict[str, Any], str]:
    """Return what zarr reads of the only array of a store: elements, metadata, attributes and its name."""
    import zarr

    with opened(path, "r") as store:
        found = zarr.open(store=store, mode="r")
        name = ""
        while not isinstance(found, zarr.Array):
            ((part, found),) = found.members()
            name = f"{name}/{part}".lstrip("/")
        return np.asarray(found[...]), found.metadata, dict(found.attrs), name


def _why(case: Arrays, a: Any, b: Any) -> Iterator[Why]:
    """Return the rules by which two arrays must be refused."""
    (x, p, _, _), (y, q, _, _) = a, b
    if x.dtype.kind not in "iuf" or y.dtype.kind not in "iuf":
        yield Reason.TYPE()
        return
    if x.dtype.newbyteorder("=") != y.dtype.newbyteorder("="):
        yield Reason.TYPES(f"A is of {x.dtype.name} and B of {y.dtype.name};")
        return
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        yield Reason.SHAPES()
        return
    names = [getattr(one, "dimension_names", None) or () for one in (p, q)]
    sizes = reversed(x.shape), reversed(y.shape)
    for one, other, m, n in zip(reversed(names[0]), reversed(names[1]), *sizes, strict=False):
        # One element is repeated along an axis of any name, but for an axis that the other array has elsewhere.
        if one and other and one != other and (m == n or one in names[1] or other in names[0]):
            yield Reason.AXIS_NAMES(repr(one), repr(other))
    if case.overflow in ("error", "widen") and x.dtype.kind in "iu":
        exact = labelled.exact_difference(x, y)
        out = np.dtype(
            x.dtype.newbyteorder("=") if case.overflow == "error" else f"int{min(64, 16 * x.dtype.itemsize)}"
        )
        lost = np.asarray((exact < np.iinfo(out).min) | (exact > np.iinfo(out).max), bool)
        lost &= ~np.broadcast_to(_lacking(a) | _lacking(b), lost.shape)
        if lost.any():
            yield subtracting.overflowing(lost, out)


def _lacking(one: Any) -> Any:
    values, _, attributes, _ = one
    return values == attributes["_FillValue"] if "_FillValue" in attributes else np.zeros(values.shape, bool)


def compare_arrays(case: Arrays, folder: Path) -> str:
    """Compare a case."""
    import xarray

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            paths = [_make(case, side, folder) for side in "ab"]
            a, b = map(_array, paths)
        except (ValueError, TypeError, NotImplementedError, OverflowError) as error:
            return f"zarr does not write it: {type(error).__name__}"
        out, reason = f"{folder}/c{case.out}", tuple(_why(case, a, b))
        picked = [f"{path}::{one[3]}" if one[3] else path for path, one in zip(paths, (a, b), strict=True)]
        came = subtracting.ours(picked, out, case.block, overflow=case.overflow)
        if outcome := subtracting.settled(came, reason, out):
            return outcome
        c = _array(out)
        x, y = (xarray.Variable([f"k{k}" for k in range(one[0].ndim)], one[0]) for one in (a, b))
        expected = labelled.subtracted(x, y, case.overflow)
        fill = [one[2]["_FillValue"] for one in (a, b) if "_FillValue" in one[2]][:1]
        if fill:
            expected = np.where(_lacking(a) | _lacking(b), np.asarray(fill[0]).astype(expected.dtype), expected)
        labelled.check_elements("the array", c[0], expected)
        beyond = subtracting.beyond(a[0], b[0], np.broadcast_to(_lacking(a) | _lacking(b), c[0].shape))
        subtracting.same_report(came.tensors[0], subtracting.Expected(c[0], fill[0] if fill else None, beyond))
        named = [any(getattr(one[1], "dimension_names", None) or ()) for one in (a, b)]
        # Where B alone names the axes of the difference, this is B's in all that stands beside its elements.
        of_b = named[1] and b[0].shape == c[0].shape and not (named[0] and a[0].shape == c[0].shape)
        owner, path = (b, paths[1]) if of_b else (a, paths[0])
        if owner[0].shape == c[0].shape:
            theirs = {k: v for k, v in owner[2].items() if k != "_FillValue"} | (
                {"_FillValue": fill[0]} if fill else {}
            )
            if c[2] != theirs:
                raise Difference(f"ours has the attributes {c[2]}, theirs {theirs}")
            if a[0].shape == c[0].shape:  # what is repeated has no chunks that the difference could have
                _check_header(case, header(path, owner[3]), header(out, c[3]))
                _check_codecs(owner[1], c[1], came.notes)
            if getattr(owner[1], "dimension_names", None) and c[1].zarr_format == 3:
                _check_names(owner[1].dimension_names, c[1].dimension_names)
    return "equal"


def _check_codecs(theirs: Any, ours: Any, notes: Sequence[str]) -> None:
    """Check that the codecs that are not written are named, and no others."""
    x, z = (_codec_names(one.to_dict()) for one in (theirs, ours))
    lost = [name for name in x if name not in z]
    named = [re.findall(r"'([^']*)'", note.partition(" of ")[0]) for note in notes if note.startswith("the codecs ")]
    if named != ([lost] if lost else []):
        raise Difference(f"ours lacks the codecs {lost} of {x}, and notes name {named}")


def _codec_names(header: Mapping[str, Any]) -> list[str]:
    found = [*(header.get("codecs") or ()), *(header.get("filters") or ()), header.get("compressor")]
    names: list[str] = []
    for one in found:
        if one is not None:
            plain = one if isinstance(one, dict) else one.get_config()
            names += [plain.get("name") or plain["id"], *_codec_names(plain.get("configuration") or {})]
    return list(dict.fromkeys(names))


def _check_names(theirs: Any, ours: Any) -> None:
    if any(one != other for one, other in zip(theirs, ours or [None] * len(theirs), strict=True) if one):
        raise Difference(f"ours names the axes {ours}, theirs {theirs}")


def _check_header(case: Arrays, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Compare how arrays are stored: in one grid and by the same codecs, but for those that change numbers."""
    lossy, wide = bool({"lossy", "rounding"} & {*case.storage_a, *case.storage_b}), case.overflow == "widen"
    for key, value in theirs.items():
        if (
            key == "fill value"
            or (lossy and key == "filters")
            or (wide and key in ("compressors", "filters", "serializer"))
        ):
            continue
        if ours[key] != value:
            raise Difference(f"ours is stored with {key} {ours[key]}, theirs {value}")


def draw_arrays(source: random.Random) -> Arrays:
    """Draw a case."""

    def few(most: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source.choices(PLAIN_STORAGE, k=source.randint(0, most))))

    suffix = (".zarr", ".zarr", ".zarr", ".zarr.zip")
    return Arrays(
        seed=source.randrange(1 << 30),
        version_a=source.choice((2, 3)),
        version_b=source.choice((2, 3)),
        kind_a=source.choice(suffix),
        kind_b=source.choice(suffix),
        out=source.choice(suffix),
        dtype=source.choice(_TYPES) if source.random() < 0.93 else source.choice(PLAIN_TYPES),
        dtype_b=source.choice(PLAIN_TYPES) if source.random() < 0.05 else "",
        shape=tuple(source.choice((1, 2, 3, 4, 7, 0)) for _ in range(source.choice((0, 1, 1, 2, 2, 3)))),
        shape_b=source.choice(("", "", "", "", "", "", "longer", "without first", "number")),
        storage_a=few(5),
        storage_b=few(5),
        overflow=source.choice(("wrap", "wrap", "saturate", "widen", "error")),
        block=source.choice(subtracting.BLOCKS),
    )


SURFACES = (
    Surface("zarr", "zarr 2 and 3, by xarray", ("xarray", "zarr", "netCDF4"), draw, compare, Stored),
    Surface("zarr_arrays", "zarr arrays, by zarr", ("zarr", "numcodecs"), draw_arrays, compare_arrays, Arrays),
)
