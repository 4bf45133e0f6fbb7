"""netCDF files, classic and 4, by each of xarray's engines, beside ours."""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

from differential import labelled
from differential.labelled import CLASSIC, INTEGERS, Case, File
from differential.surface import Surface

STORAGE = (
    "chunks", "large chunks", "gzip", "shuffle", "fletcher32", "contiguous", "big-endian", "bitround", "bitgroom",
    "granular", "zstd", "bzip2", "szip",
)  # fmt: skip
PLUG_INS = ("zstd", "bzip2", "szip")
"""Codecs that netCDF4 brings along as plug-ins of HDF5's library, and szip; the difference has Deflate, or szip.

Not Blosc: its plug-in writes no chunk that does not become smaller.
"""


def encoding_of(found: Any, name: str, storage: tuple[str, ...], engine: str, grows: bool) -> dict[str, Any]:
    """Return how a variable is stored, in the words of an engine."""
    shape = found[name].shape
    made: dict[str, Any] = {}
    if not shape or 0 in shape:
        return made
    if "chunks" in storage:
        made["chunksizes"] = tuple(max(1, (dim + 1) // 2) for dim in shape)
    if "large chunks" in storage:
        made["chunksizes"] = shape
    if "contiguous" in storage and not made and engine == "netcdf4" and not grows:
        made["contiguous"] = True
    elif "gzip" in storage:
        made |= {"zlib": True, "complevel": 2}
    if "shuffle" in storage and "contiguous" not in made:
        made["shuffle"] = True
    if "fletcher32" in storage and "contiguous" not in made:
        made["fletcher32"] = True
    for word, mode in (("bitround", "BitRound"), ("bitgroom", "BitGroom"), ("granular", "GranularBitRound")):
        if word in storage and engine == "netcdf4" and found[name].dtype in ("float32", "float64") and "zlib" in made:
            made |= {"significant_digits": 5, "quantize_mode": mode}
    # For a block of szip; netCDF's library counts none along a dimension that grows.
    few = math.prod(made.get("chunksizes", (1,) if grows else shape)) < 16 or (grows and math.prod(shape[1:]) < 8)
    packed = [word for word in PLUG_INS if word in storage and not (word == "szip" and few)]
    if packed and engine == "netcdf4" and not {"zlib", "contiguous", "shuffle", "fletcher32"} & made.keys():
        made |= {"compression": packed[0]}
    return made


def _writer(engine: str, form: str) -> Any:
    def write(found: Any, path: str, encoding: dict[str, Any], case: Case, storage: tuple[str, ...]) -> None:
        hdf5 = form in ("NETCDF4", "NETCDF4_CLASSIC")
        first = found[case.names[0]].dims[:1]
        inner = {dim for one in found.variables.values() for dim in one.dims[1:]}  # which grow in netCDF-4 alone
        if engine == "scipy" and any(
            one.dtype.kind in "OSU" or one.dtype.itemsize < 4 for one in found.variables.values()
        ):
            inner |= {*first}  # scipy does not fill such records up to four bytes where there are several
        grows = list(first) if "unlimited" in case.extras and (hdf5 or not inner & {*first}) else []
        for name in encoding:
            encoding[name] |= encoding_of(found, name, storage, engine, bool(grows)) if hdf5 else {}
            if "big-endian" in storage and engine == "h5netcdf":
                found[name] = found[name].astype(found[name].dtype.newbyteorder(">"))
        options: dict[str, Any] = {"group": case.group} if case.group and form == "NETCDF4" else {}
        if path.endswith(".h5"):
            options["invalid_netcdf"] = True
        found.to_netcdf(path, engine=engine, format=form, encoding=encoding, unlimited_dims=grows, **options)
        # In .h5, a dataset has its own length, as h5py has it; netCDF's rule is for .nc. By h5netcdf, xarray does not
        # read texts that are shorter than their dimension.
        is_netcdf4 = form == "NETCDF4" and not case.group and path.endswith(".nc")
        readable = not (engine == "h5netcdf" and any(one.dtype.kind in "OSU" for one in found.variables.values()))
        if "grown" in case.extras and grows and is_netcdf4 and readable:
            _grow(path, str(grows[0]), case.names[0])

    return write


def _grow(path: str, dim: str, name: str) -> None:
    """Write one element more along a dimension, of a coordinate or one variable alone: others are shorter then."""
    import netCDF4

    with netCDF4.Dataset(path, "a") as file:
        longer = file.variables[dim if dim in file.variables else name]
        longer.set_auto_maskandscale(False)
        if longer.dtype != str and longer.dimensions[0] == dim:
            longer[len(file.dimensions[dim])] = 99


def _reader(engine: str) -> Any:
    return lambda path, group: labelled.stored(path, group, engine)


def _alike(x: Any, z: Any, a: str, c: str, case: Case, name: str) -> str:
    """Say in what a variable of netCDF-4 is stored otherwise than A's."""
    if case.a not in ("netcdf4", "netcdf4 classic"):
        return ""
    for key in ("chunksizes", "zlib", "complevel", "shuffle", "fletcher32", "contiguous"):
        came, expected = z.encoding.get(key), x.encoding.get(key)
        if key in ("zlib", "complevel") and any(x.encoding.get(word) for word in PLUG_INS):
            continue
        if came != expected and not (0 in x.shape or not x.shape):
            return f"ours is stored with {key} {came}, theirs {expected}"
    grows = [{str(one) for one in of.encoding.get("unlimited_dims", ())} for of in (x, z)]
    return "" if grows[0] == grows[1] else f"ours grows along {grows[1]}, theirs {grows[0]}"


_ALL = (*INTEGERS, "float32", "float64")
FILES = {
    "netcdf4": File(".nc", _ALL, _writer("netcdf4", "NETCDF4"), _reader("netcdf4"), _alike),
    "netcdf4 classic": File(".nc", CLASSIC, _writer("netcdf4", "NETCDF4_CLASSIC"), _reader("netcdf4"), _alike),
    "h5netcdf": File(".nc", _ALL, _writer("h5netcdf", "NETCDF4"), _reader("h5netcdf"), _alike),
    "h5netcdf .h5": File(".h5", (*_ALL, "float16"), _writer("h5netcdf", "NETCDF4"), _reader("h5netcdf"), _alike),
    "classic": File(".nc", CLASSIC, _writer("netcdf4", "NETCDF3_CLASSIC"), _reader("netcdf4"), _alike),
    "64-bit offset": File(".nc", CLASSIC, _writer("netcdf4", "NETCDF3_64BIT"), _reader("netcdf4"), _alike),
    "64-bit data": File(".nc", CLASSIC, _writer("netcdf4", "NETCDF3_64BIT_DATA"), _reader("netcdf4"), _alike),
    "scipy": File(".nc", CLASSIC, _writer("scipy", "NETCDF3_64BIT"), _reader("scipy"), _alike),
    "scipy classic": File(".nc", CLASSIC, _writer("scipy", "NETCDF3_CLASSIC"), _reader("scipy"), _alike),
}
GROUPS = ("netcdf4", "h5netcdf", "h5netcdf .h5")


def fitting(case: Case, groups: Collection[str] = GROUPS) -> Case:
    """Return a case without what one of its files has no word for: groups, dimensions of no length."""
    if case.group and not {case.a, case.b} <= {*groups}:
        case = labelled.with_fields(case, group="")
    if 0 in case.sizes and not {case.a, case.b} <= {*groups}:
        case = labelled.with_fields(case, sizes=tuple(max(1, dim) for dim in case.sizes))
    if any(one.startswith("scipy") for one in (case.a, case.b)) and not "".join(case.names).isascii():
        case = labelled.with_fields(case, names=("v", "w"))  # scipy writes Latin-1, where the format has UTF-8
    return case


def draw(source: random.Random) -> Case:
    """Draw a case."""
    return fitting(labelled.draw(source, FILES, list(FILES), STORAGE))


def compare(case: Case, folder: Path) -> str:
    """Compare a case."""
    return labelled.compare(case, folder, FILES)


SURFACES = (
    Surface(
        "netcdf",
        "netCDF classic and 4, by xarray's engines",
        ("xarray", "netCDF4", "h5netcdf", "scipy"),
        draw,
        compare,
        Case,
    ),
)
