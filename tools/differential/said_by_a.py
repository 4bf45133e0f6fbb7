"""Files of each format that say much: each writer returns what its file says, item by item."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from differential.subtracting import Array
from differential.zarr_stores import opened

SHAPE = (3, 4)


class Said(NamedTuple):
    """What a file says: of which kind, under which name."""

    kind: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


Saying = dict[Said, Any]
ATTRIBUTES: Mapping[str, Any] = {
    "OWNER": "ours & <theirs>", "level": 4, "rate": 0.25, "list": [1, 2, 3], "empty": "", "words": ["p", "q"],
}  # fmt: skip
NODATA, SCALE, UNIT = 7, 0.5, "m"
STALE: Mapping[str, Any] = {"valid_min": 0, "valid_range": [0, 90], "flag_meanings": "a b", "flag_values": [1, 2]}
"""What is said of A's values and would be wrong of a difference's."""
PLACES = {"x": [0.0, 1, 2, 4], "y": [5.0, 6, 8], "day": [3.0, 1, 2], "wave": [1j, 2, 3]}
"""Coordinates of both axes, and others along the first one; those of complex numbers are not copied."""
SECOND = {"of another": "a second one"}
"""Attributes of a second variable, or band."""
BOUNDS = [[-1.0, 0.5], [0.5, 1.5], [1.5, 3], [3, 5]]

OF_A_GRID = (
    "attributes", "units", "long_name", "nodata", "scale", "coordinates", "others", "system", "title", "group",
    "unused", "bounds", "stale", "empty group",
    "two",
)  # fmt: skip
OF_A_RASTER = (
    "attributes", "units", "long_name", "nodata", "scale", "place", "artist", "software", "domain", "resolution",
    "stale", "two",
)  # fmt: skip
SAYS: Mapping[str, tuple[str, ...]] = {
    "netcdf": OF_A_GRID,
    "hdf5": (*OF_A_GRID, "labels", "record", "further scale", "complex"),
    "zarr 2": (*OF_A_GRID, "complex"),
    "zarr 3": (*OF_A_GRID, "nested", "complex"),
    "geotiff": OF_A_RASTER,
    "png": ("text", "size", "time"),
    "safetensors": ("metadata",),
    "npy": (),
}
SUFFIXES = {"netcdf": ".nc", "hdf5": ".h5", "zarr 2": ".zarr", "zarr 3": ".zarr", "geotiff": ".tif", "png": ".png",
            "safetensors": ".safetensors", "npy": ".npy"}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Two files of a format that say the same, and the suffix of their difference."""

    seed: int = 0
    a: str = "netcdf"
    out: str = ".npy"
    dtype: str = "uint8"
    says: tuple[str, ...] = ()


# ---- what is said of a grid ----------------------------------------------------------------------------------------


def _of_the_variable(case: Case) -> Saying:
    """The attributes of a variable."""
    found: Saying = {}
    if "attributes" in case.says:
        found |= {Said("attribute", name): value for name, value in ATTRIBUTES.items()}
    if "units" in case.says:
        found[Said("attribute", "units")] = UNIT
    if "long_name" in case.says:
        found[Said("attribute", "long_name")] = "our height"
    if "scale" in case.says:
        found[Said("scale")] = SCALE
    if "nodata" in case.says:
        found[Said("nodata")] = NODATA
    return found


def _attributes(said: Saying, case: Case) -> dict[str, Any]:
    """Attributes as a library takes them; nodata is stated by each format in its way."""
    found = {item.name: value for item, value in said.items() if item.kind == "attribute"}
    found |= STALE if "stale" in case.says else {}
    return found | ({"scale_factor": SCALE, "add_offset": 2.0} if Said("scale") in said else {})


def _coordinates(case: Case) -> Saying:
    """Which coordinates there are; those of the second axis bear its name."""
    names = {"x": "coordinates", "y": "coordinates", "day": "others", "wave": "complex"}
    return {Said("coordinates", name): PLACES[name] for name, says in names.items() if says in case.says}


def _home(case: Case) -> str:
    return "g/" if "group" in case.says else ""


def _around(case: Case) -> Saying:
    """What the file and its group say."""
    found: Saying = {Said("attribute", "title"): "our file"} if "title" in case.says else {}
    found |= {Said("group", "nothing"): 1} if "empty group" in case.says else {}
    found |= {Said("attribute", name): text for name, text in SECOND.items()} if "two" in case.says else {}
    return found | ({Said("attribute", "of group"): "a group"} if "group" in case.says else {})


def _netcdf(path: Path, values: Array, case: Case) -> Saying:
    import netCDF4

    said = _of_the_variable(case)
    with netCDF4.Dataset(path, "w") as file:
        home = file.createGroup("g") if "group" in case.says else file
        for name, size in zip("yx", SHAPE, strict=True):
            home.createDimension(name, size)
        fill = NODATA if Said("nodata") in said else None
        variable = home.createVariable("v", values.dtype, ("y", "x"), fill_value=fill)
        variable.set_auto_maskandscale(False)
        variable[...] = values
        if "two" in case.says:
            home.createVariable("w", values.dtype, ("y", "x"), fill_value=fill)[...] = 1
            home.variables["w"].setncatts(SECOND)
        own = _attributes(said, case) | _referring(case)
        for name, value in own.items():
            if name == "words":
                variable.setncattr_string(name, value)
            else:
                variable.setncattr(name, value)
        for item, numbers in _coordinates(case).items():
            axis = "x" if item.name == "x" else "y"
            one = home.createVariable(item.name, "f8", (axis,))
            one[...] = numbers
            one.setncatts(_of(item.name, case))
        if _bounds(case):
            home.createDimension("ends", 2)
            home.createVariable("x_bounds", "f8", ("x", "ends"))[...] = np.array(BOUNDS)
        if "system" in case.says:
            home.createVariable("crs", "i4", ()).grid_mapping_name = "latitude_longitude"
        if "unused" in case.says:
            home.createDimension("z", 2)
            home.createVariable("z", "f8", ("z",))[...] = [1, 2]
        if "empty group" in case.says:
            file.createGroup("nothing").setncattr("of nothing", 1)
        if "title" in case.says:
            file.title = "our file"
        if "group" in case.says:
            home.setncattr("of group", "a group")
    return said | _coordinates(case) | _bounds(case) | _system(case) | _around(case)


def _referring(case: Case) -> dict[str, str]:
    """The attributes that name what belongs to the variable."""
    names = [name for name, says in (("day", "others"), ("wave", "complex")) if says in case.says]
    found = {"coordinates": " ".join(names)} if names else {}
    return found | ({"grid_mapping": "crs"} if "system" in case.says else {})


def _of(name: str, case: Case) -> dict[str, str]:
    """The attributes of coordinates."""
    return {"units": "days"} | ({"bounds": "x_bounds"} if name == "x" and "bounds" in case.says else {})


def _bounds(case: Case) -> Saying:
    both = "bounds" in case.says and "coordinates" in case.says
    return {Said("coordinates", "x_bounds"): BOUNDS} if both else {}


def _system(case: Case) -> Saying:
    found: Saying = {Said("system", "crs"): "latitude_longitude"} if "system" in case.says else {}
    return found | ({Said("coordinates", "z"): [1.0, 2.0]} if "unused" in case.says else {})


def _hdf5(path: Path, values: Array, case: Case) -> Saying:
    import h5py

    said = _of_the_variable(case)
    with h5py.File(path, "w") as file:
        home = file.create_group("g") if "group" in case.says else file
        variable = home.create_dataset("v", data=values)
        variable.attrs.update(_attributes(said, case) | _referring(case))
        if Said("nodata") in said:
            variable.attrs["_FillValue"] = values.dtype.type(NODATA)
        if "two" in case.says:
            home["w"] = np.ones_like(values)
            home["w"].attrs.update(
                SECOND | {name: variable.attrs[name] for name in variable.attrs if name == "_FillValue"}
            )
        for item, numbers in _coordinates(case).items():
            home[item.name] = np.array(numbers)
            home[item.name].attrs.update(_of(item.name, case))
            if item.name in "xy":
                home[item.name].make_scale(item.name)
                variable.dims["yx".index(item.name)].attach_scale(home[item.name])
        if _bounds(case):
            home["x_bounds"] = np.array(BOUNDS)
        if "system" in case.says:
            home["crs"] = np.int32(0)
            home["crs"].attrs["grid_mapping_name"] = "latitude_longitude"
        if "unused" in case.says:
            home["z"] = [1.0, 2.0]
            home["z"].make_scale("z")
        said |= _of_hdf5(home, variable, case)
        if "empty group" in case.says:
            file.create_group("nothing").attrs["of nothing"] = 1
        if "title" in case.says:
            file.attrs["title"] = "our file"
        if "group" in case.says:
            home.attrs["of group"] = "a group"
    return said | _coordinates(case) | _bounds(case) | _system(case) | _around(case)


def _of_hdf5(home: Any, variable: Any, case: Case) -> Saying:
    """What only HDF5 says."""
    found: Saying = {}
    if "labels" in case.says:
        variable.dims[0].label = "our rows"
        found[Said("label", "our rows")] = 0
    if "record" in case.says:
        variable.attrs["record"] = np.array((1, 2.0), [("k", "i4"), ("w", "f8")])
        found[Said("attribute", "record")] = [1, 2.0]
    if "further scale" in case.says and "coordinates" in case.says:
        home["second"] = PLACES["x"]
        home["second"].make_scale("second")
        variable.dims[1].attach_scale(home["second"])
        found[Said("coordinates", "second")] = PLACES["x"]
    return found


def _zarr(path: Path, values: Array, case: Case, version: int) -> Saying:
    import zarr

    said = _of_the_variable(case)
    with opened(str(path), "w") as store:
        root = zarr.create_group(store=store, zarr_format=version)
        home = root.create_group("g") if "group" in case.says else root

        def array(name: str, data: Array, axes: Sequence[str], attributes: Mapping[str, Any], fill: Any = None) -> None:
            names = {"dimension_names": list(axes)} if version == 3 else {}
            own = dict(attributes) | ({"_ARRAY_DIMENSIONS": list(axes)} if version == 2 else {})
            made = home.create_array(name, shape=data.shape, dtype=data.dtype, attributes=own, fill_value=fill, **names)
            made[...] = data

        own = _attributes(said, case) | _referring(case)
        if Said("nodata") in said and version == 3:
            own["_FillValue"] = NODATA if values.dtype.kind in "iu" else "AAAAAAAAHEA="  # 7.0, as xarray has it
        if "nested" in case.says:
            own["nested"] = {"a": [None, True]}
            said[Said("attribute", "nested")] = own["nested"]
        fill = NODATA if Said("nodata") in said and version == 2 else None
        array("v", values, "yx", own, fill)
        if "two" in case.says:
            array(
                "w", np.ones_like(values), "yx", SECOND | {k: one for k, one in own.items() if k == "_FillValue"}, fill
            )
        for item, numbers in _coordinates(case).items():
            array(item.name, np.array(numbers), "x" if item.name == "x" else "y", _of(item.name, case))
        if _bounds(case):
            array("x_bounds", np.array(BOUNDS), ("x", "ends"), {})
        if "system" in case.says:
            array("crs", np.array(0, "i4"), "", {"grid_mapping_name": "latitude_longitude"})
        if "unused" in case.says:
            array("z", np.array([1.0, 2.0]), "z", {})
        if "empty group" in case.says:
            root.create_group("nothing").attrs["of nothing"] = 1
        if "title" in case.says:
            root.attrs["title"] = "our file"
        if "group" in case.says:
            home.attrs["of group"] = "a group"
    return said | _coordinates(case) | _bounds(case) | _system(case) | _around(case)


# ---- what is said of images and of tensors ------------------------------------------------------------------------


def _geotiff(path: Path, values: Array, case: Case) -> Saying:
    import rasterio
    from rasterio.transform import from_origin

    said = _of_the_variable(case)
    for name in ("empty", "list", "words"):
        said.pop(Said("attribute", name), None)
    said |= {item: str(value) for item, value in said.items() if item.kind == "attribute"}
    place = {"crs": "EPSG:32633", "transform": from_origin(5e5, 4.6e6, 10, 10)} if "place" in case.says else {}
    nodata, count = NODATA if "nodata" in case.says else None, 1 + ("two" in case.says)
    with rasterio.open(
        path, "w", "GTiff", width=SHAPE[1], height=SHAPE[0], count=count, dtype=values.dtype, nodata=nodata, **place
    ) as file:
        file.write(values, 1)
        if count > 1:
            file.write(np.ones_like(values), 2)
            file.update_tags(2, **SECOND)
        texts = {item.name: str(value) for item, value in said.items() if item.kind == "attribute"}
        unit, title = texts.pop("units", ""), texts.pop("long_name", "")
        file.update_tags(**texts)
        if "stale" in case.says:
            file.update_tags(1, STATISTICS_MEAN="3", valid_min="0", flag_meanings="a b")
        if unit:
            file.units = [unit, ""][:count]
        if title:
            file.descriptions = [title, ""][:count]
        if "scale" in case.says:
            file.scales, file.offsets = [SCALE] * count, [2.0] * count
        for name, text, tag in (("artist", "ARTIST", "Artist"), ("software", "SOFTWARE", "Software")):
            if name in case.says:
                file.update_tags(**{f"TIFFTAG_{text}": "theirs"})
                said |= {Said("tag", tag): "theirs"} if name != "software" else {}  # which is the program of the output
        if "resolution" in case.says:
            file.update_tags(TIFFTAG_XRESOLUTION="300", TIFFTAG_YRESOLUTION="200", TIFFTAG_RESOLUTIONUNIT="2")
            said[Said("tag", "XResolution")] = 300.0
        if "domain" in case.says:
            file.update_tags(ns="OURS", deep="a text")
            said[Said("attribute", "deep")] = "a text"
    said |= {Said("attribute", name): text for name, text in SECOND.items()} if count > 1 else {}
    return said | ({Said("place"): 32633} if place else {})


def _png(path: Path, values: Array, case: Case) -> Saying:
    from PIL import Image, PngImagePlugin

    info, said = PngImagePlugin.PngInfo(), dict[Said, Any]()
    if "text" in case.says:
        info.add_text("Author", "theirs")
        said[Said("chunk", "tEXt")] = "theirs"
    if "time" in case.says:
        info.add(b"tIME", b"\x07\xe8\1\2\3\4\5")
        said[Said("chunk", "tIME")] = ""
    size: dict[str, Any] = {"dpi": (300, 300)} if "size" in case.says else {}
    Image.fromarray(values).save(path, pnginfo=info, **size)
    return said | ({Said("chunk", "pHYs"): 300} if size else {})


def _safetensors(path: Path, values: Array, case: Case) -> Saying:
    from safetensors.numpy import save_file

    metadata = {"format": "pt", "our key": "a text"} if "metadata" in case.says else None
    save_file({"v": values}, path, metadata)
    return {Said("metadata", name): text for name, text in (metadata or {}).items()}


def _npy(path: Path, values: Array, case: Case) -> Saying:
    np.save(path, values)
    return {}


WRITERS: Mapping[str, Callable[[Path, Array, Case], Saying]] = {
    "netcdf": _netcdf,
    "hdf5": _hdf5,
    "zarr 2": functools.partial(_zarr, version=2),
    "zarr 3": functools.partial(_zarr, version=3),
    "geotiff": _geotiff,
    "png": _png,
    "safetensors": _safetensors,
    "npy": _npy,
}
