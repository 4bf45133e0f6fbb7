"""What the library of each format reads of a difference: its elements, and all that it says, item by item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from differential.said_by_a import Said, Saying
from differential.subtracting import Array
from differential.zarr_stores import opened

_OWN = {"_FillValue", "coordinates", "grid_mapping", "scale_factor", "add_offset", "_ARRAY_DIMENSIONS"}


def _said_by(attributes: Mapping[str, Any]) -> Saying:
    found = {Said("attribute", name): value for name, value in attributes.items() if name not in _OWN}
    found |= {Said("scale"): attributes["scale_factor"]} if "scale_factor" in attributes else {}
    found |= {Said("offset"): attributes["add_offset"]} if "add_offset" in attributes else {}
    return found | ({Said("nodata"): attributes["_FillValue"]} if "_FillValue" in attributes else {})


def _variable(found: Mapping[str, tuple[Array, dict[str, Any]]]) -> tuple[Array, Saying]:
    """Return the variable among all that a file holds, and what the others are: coordinates, a system."""
    (name,) = (name for name in found if name.rpartition("/")[2] in ("v", "1", "difference", ""))
    array, attributes = found[name]
    said = _said_by(attributes)
    for other, (numbers, own) in found.items():
        base = other.rpartition("/")[2]
        if base in ("w", "2"):  # a second variable
            said |= {item: value for item, value in _said_by(own).items() if item.kind == "attribute"}
        elif "grid_mapping_name" in own:
            said[Said("system", base)] = own["grid_mapping_name"]
        elif other != name:
            said[Said("coordinates", base)] = numbers
    return array, said


def _read_netcdf(path: Path) -> tuple[Array, Saying]:
    import netCDF4

    found: dict[str, tuple[Array, dict[str, Any]]] = {}
    around: Saying = {}

    def read(group: Any) -> None:
        around.update(_said_by({name: group.getncattr(name) for name in group.ncattrs()}))
        for name, one in group.variables.items():
            one.set_auto_maskandscale(False)
            found[f"{group.path}/{name}"] = np.asarray(one[...]), {key: one.getncattr(key) for key in one.ncattrs()}
        for inner in group.groups.values():
            read(inner)

    with netCDF4.Dataset(path) as file:
        read(file)
    array, said = _variable(found)
    return array, around | said


def _read_hdf5(path: Path) -> tuple[Array, Saying]:
    import h5py

    found: dict[str, tuple[Array, dict[str, Any]]] = {}
    around: Saying = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Group):
            around.update(_said_by(dict(item.attrs)))
        elif not str(item.attrs.get("NAME", b"")).startswith("b'This is a netCDF dimension"):
            own = {key: one.tolist() if isinstance(one, np.void) else one for key, one in item.attrs.items()}
            found[name] = item[...], own
            around.update({Said("label", axis.label): k for k, axis in enumerate(item.dims) if axis.label})

    with h5py.File(path) as file:
        around.update(_said_by(dict(file.attrs)))
        file.visititems(visit)
        array, said = _variable(found)
    return array, around | said


def _read_zarr(path: Path) -> tuple[Array, Saying]:
    import zarr

    found: dict[str, tuple[Array, dict[str, Any]]] = {}
    around: Saying = {}

    def read(item: Any, name: str) -> None:
        if not isinstance(item, zarr.Array):
            around.update(_said_by(dict(item.attrs)))
            for inner, one in item.members():
                read(one, f"{name}/{inner}")
            return
        own = dict(item.attrs)
        if item.metadata.zarr_format == 2 and item.fill_value is not None and "_ARRAY_DIMENSIONS" in own:
            own["_FillValue"] = item.fill_value
        if own.get("_FillValue") == "AAAAAAAAHEA=":
            own["_FillValue"] = 7.0
        found[name] = np.asarray(item[...]), own

    with opened(str(path), "r") as store:
        read(zarr.open(store=store, mode="r"), "")
    array, said = _variable(found)
    return array, around | said


def _read_geotiff(path: Path) -> tuple[Array, Saying]:
    import rasterio
    import tifffile

    with rasterio.open(path) as file:
        tags = file.tags() | file.tags(1) | {key: text for ns in ("OURS",) for key, text in file.tags(1, ns=ns).items()}
        tags |= file.tags(ns="OURS")
        said: Saying = {Said("attribute", name): text for name, text in tags.items()}
        said |= {Said("attribute", "units"): file.units[0]} if file.units[0] else {}
        said |= {Said("attribute", "long_name"): file.descriptions[0]} if file.descriptions[0] else {}
        said |= {Said("nodata"): file.nodata} if file.nodata is not None else {}
        said |= {Said("scale"): file.scales[0]} if file.scales[0] != 1 else {}
        said |= {Said("offset"): file.offsets[0]} if file.offsets[0] else {}
        said |= {Said("place"): file.crs.to_epsg()} if file.crs else {}
        for k in range(2, file.count + 1):
            said |= {Said("attribute", name): text for name, text in file.tags(k).items()}
        array = file.read(1)
    with tifffile.TiffFile(path) as pages:
        tags = pages.pages.first.tags
        artist, resolution, unit = (tags.valueof(code) for code in (315, 282, 296))
    said |= {Said("tag", "Artist"): artist} if artist else {}
    return array, said | ({Said("tag", "XResolution"): resolution[0] / resolution[1]} if unit != 1 else {})


def _read_png(path: Path) -> tuple[Array, Saying]:
    from PIL import Image

    with Image.open(path) as image:
        array, info = np.asarray(image), image.info
    said: Saying = {Said("chunk", "tEXt"): info["Author"]} if "Author" in info else {}
    return array, said | ({Said("chunk", "pHYs"): round(info["dpi"][0])} if "dpi" in info else {})


def _read_safetensors(path: Path) -> tuple[Array, Saying]:
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        name = min(file.keys())
        return file.get_tensor(name), {Said("metadata", key): text for key, text in (file.metadata() or {}).items()}


def _read_numpy(path: Path) -> tuple[Array, Saying]:
    found = np.load(path)
    return (found if isinstance(found, np.ndarray) else next(iter(found.values()))), {}


READERS: Mapping[str, Callable[[Path], tuple[Array, Saying]]] = {
    ".npy": _read_numpy, ".npz": _read_numpy, ".safetensors": _read_safetensors, ".zarr": _read_zarr,
    ".zarr.zip": _read_zarr, ".tif": _read_geotiff, ".png": _read_png, ".h5": _read_hdf5, ".nc": _read_netcdf,
}  # fmt: skip
