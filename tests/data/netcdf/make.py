"""Make the classic netCDF files here, with the library of the format's own authors: ``pip install netCDF4``."""

from pathlib import Path

import netCDF4
import numpy as np

FORMATS = {"cdf1": "NETCDF3_CLASSIC", "cdf2": "NETCDF3_64BIT_OFFSET", "cdf5": "NETCDF3_64BIT_DATA"}


def make(path: Path, kind: str, *, single: bool = False) -> None:
    """Make one: numbers count up in each variable."""
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.title = "counted"
        for name, size in (("t", None), ("y", 3), ("x", 5)):
            file.createDimension(name, size)
        shapes = {"a": ("i1", ("t", "x"))} if single else {
            "a": ("i2", ("t", "x")),  # a record of 10 bytes, which 2 follow
            "b": ("f4", ("t", "y", "x")),
            "y": ("f8", ("y",)),
            "n": ("i1", ("x",)),
            "text": ("S1", ("x",)),
            "scalar": ("i4", ()),
        }  # fmt: skip
        if kind == FORMATS["cdf5"]:
            shapes |= {name: (name, ("y", "x")) for name in ("u1", "u2", "u4", "u8", "i8")}
        for name, (dtype, dims) in shapes.items():
            variable = file.createVariable(name, dtype, dims, fill_value=-9 if name == "a" else None)
            variable.units = f"units of {name}"
            shape = [{"t": 4, "y": 3, "x": 5}[dim] for dim in dims]
            count = np.arange(int(np.prod(shape))).reshape(shape)
            variable[...] = np.array(list("words"), "S1") if name == "text" else count.astype(dtype)


if __name__ == "__main__":
    here = Path(__file__).parent
    for name, kind in FORMATS.items():
        make(here / f"{name}.nc", kind)
    make(here / "single.nc", FORMATS["cdf1"], single=True)
