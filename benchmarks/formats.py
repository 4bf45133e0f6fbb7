"""``python -m benchmarks.formats``: a difference of two files in each format, beside what else people use for it.

    python -m benchmarks.formats --mib 256 --rounds 5 --folder /tmp

Both operands hold so many MiB and lie in the page cache; each contender reads them and writes the difference as a new
file, in an order that is drawn anew each round. Shown are the medians as GB/s, counting what is read and written once
(3 times the operand), and what ``dd`` needs to copy one operand, by the same count. A library that is not installed is
named and left out.
"""

from __future__ import annotations

import importlib.util
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from minuend.files.difference import subtract_files
from minuend.files.streaming.pipeline import sole

SIDE = 4096
TILE = 512
DTYPE = np.dtype("float32")
Array = Any
Peer = Callable[[Path, Path, Path], None]


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its suffix, how an operand is made, and who else subtracts such files.

    ``needs``: modules that making one takes. Peers' modules are the words of their names up to a space.
    """

    suffix: str
    make: Callable[[Path, Array], None]
    peers: dict[str, Peer]
    needs: tuple[str, ...] = ()
    part: str = ""


# ---- everybody ------------------------------------------------------------------------------------------------


def minuend_files(part: str) -> Peer:
    """What ``minuend sub`` does."""

    def run(a: Path, b: Path, out: Path) -> None:
        with sole():
            subtract_files(f"{a}{part}", f"{b}{part}", str(out))

    return run


def numpy_maps(a: Path, b: Path, out: Path) -> None:
    """NumPy over memory maps."""
    x, y = np.load(a, mmap_mode="r"), np.load(b, mmap_mode="r")
    np.subtract(x, y, out=np.lib.format.open_memmap(out, "w+", x.dtype, x.shape))


def torch_maps(a: Path, b: Path, out: Path) -> None:
    """torch over NumPy's memory maps."""
    import torch

    x, y = (torch.from_numpy(np.load(path, mmap_mode="c")) for path in (a, b))
    torch.subtract(x, y, out=torch.from_numpy(np.lib.format.open_memmap(out, "w+", x.numpy().dtype, tuple(x.shape))))


def numpy_safetensors(a: Path, b: Path, out: Path) -> None:
    """NumPy, tensor by tensor."""
    from safetensors.numpy import load_file, save_file

    x, y = load_file(a), load_file(b)
    save_file({name: np.subtract(x[name], y[name]) for name in x}, out)


def torch_safetensors(a: Path, b: Path, out: Path) -> None:
    """torch, tensor by tensor."""
    from safetensors.torch import load_file, save_file

    x, y = load_file(a), load_file(b)
    save_file({name: x[name] - y[name] for name in x}, out)


def rasterio_calc(a: Path, b: Path, out: Path) -> None:
    """``rio calc``, in its own process as people call it."""
    options = ["--overwrite", "--dtype", "float32", "--co", "tiled=true", "--co", f"blockxsize={TILE}"]
    command = ["(- (read 1) (read 2))", str(a), str(b), str(out), *options, "--co", f"blockysize={TILE}"]
    subprocess.run([sys.executable, "-m", "rasterio.rio.main", "calc", *command], check=True, capture_output=True)


def rasterio_windows(a: Path, b: Path, out: Path) -> None:
    """rasterio and NumPy, window by window."""
    import rasterio

    with rasterio.open(a) as x, rasterio.open(b) as y, rasterio.open(out, "w", **x.profile) as z:
        for _, window in z.block_windows(1):
            z.write(x.read(1, window=window) - y.read(1, window=window), 1, window=window)


def h5py_whole(a: Path, b: Path, out: Path) -> None:
    """h5py and NumPy, all at once."""
    import h5py

    with h5py.File(a) as x, h5py.File(b) as y, h5py.File(out, "w") as z:
        z["band"] = x["band"][:] - y["band"][:]


def xarray_netcdf(a: Path, b: Path, out: Path) -> None:
    """xarray, all at once."""
    import xarray

    with xarray.open_dataset(a) as x, xarray.open_dataset(b) as y:
        (x - y).to_netcdf(out)


def xarray_zarr(a: Path, b: Path, out: Path) -> None:
    """xarray over Dask, chunk by chunk."""
    import xarray

    x, y = (xarray.open_zarr(path, consolidated=False) for path in (a, b))
    (x - y).to_zarr(out, consolidated=False)


def dd(a: Path, b: Path, out: Path) -> None:
    """``dd``: one operand copied, which is two thirds of the bytes and no arithmetic."""
    subprocess.run(["dd", f"if={a}", f"of={out}", "bs=16M"], check=True, capture_output=True)


# ---- how operands are made ------------------------------------------------------------------------------------


def make_safetensors(path: Path, array: Array) -> None:
    from safetensors.numpy import save_file

    save_file({f"layer.{i}": part for i, part in enumerate(np.array_split(array, 8))}, path)


def make_tiff(path: Path, array: Array) -> None:
    import tifffile

    tifffile.imwrite(path, array, tile=(TILE, TILE), bigtiff=True)


def make_hdf5(path: Path, array: Array) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["band"] = array


def make_netcdf(path: Path, array: Array) -> None:
    import xarray

    xarray.Dataset({"band": (("y", "x"), array)}).to_netcdf(path)


def make_zarr(path: Path, array: Array) -> None:
    import xarray

    chunked = xarray.Dataset({"band": (("y", "x"), array)}).chunk({"y": 1024, "x": SIDE})
    chunked.to_zarr(path, consolidated=False, encoding={"band": {"compressors": None}})


FORMATS = (
    Format(".npy", np.save, {"numpy maps": numpy_maps, "torch maps": torch_maps}),
    Format(
        ".safetensors", make_safetensors,
        {"numpy": numpy_safetensors, "torch": torch_safetensors}, needs=("safetensors",),
    ),
    Format(
        ".tif", make_tiff,
        {"rasterio calc": rasterio_calc, "rasterio windows": rasterio_windows}, needs=("tifffile",),
    ),
    Format(".h5", make_hdf5, {"h5py": h5py_whole}, needs=("h5py",), part="::band"),
    Format(".nc", make_netcdf, {"xarray": xarray_netcdf}, needs=("xarray", "netCDF4", "h5py"), part="::band"),
    Format(".zarr", make_zarr, {"xarray dask": xarray_zarr}, needs=("xarray", "zarr", "dask"), part="::band"),
)  # fmt: skip


# ---- a run ----------------------------------------------------------------------------------------------------


def lacking(modules: tuple[str, ...]) -> list[str]:
    return [name for name in modules if importlib.util.find_spec(name) is None]


def contenders(one: Format) -> Iterator[tuple[str, Peer]]:
    yield "minuend", minuend_files(one.part)
    for name, peer in one.peers.items():
        if lacking((name.split(" ")[0],)):
            click.echo(f"{one.suffix}: {name} is not installed", err=True)
        else:
            yield name, peer
    if one.suffix != ".zarr":  # a folder
        yield "dd", dd


def measure(one: Format, folder: Path, nbytes: int, rounds: int) -> dict[str, list[float]]:
    """Return each contender's seconds, round by round; a first round is not counted."""
    rng = np.random.default_rng(19)
    shape = (max(1, nbytes // (SIDE * DTYPE.itemsize)), SIDE)
    paths = [folder / f"{name}{one.suffix}" for name in ("a", "b", "out")]
    for path in paths[:2]:
        one.make(path, rng.integers(0, 100, shape, np.uint8).astype(DTYPE))
    runs = dict(contenders(one))
    readings: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name in random.sample(list(runs), len(runs)):
            remove(paths[2])
            start = time.perf_counter()
            runs[name](*paths)
            if turn:
                readings[name].append(time.perf_counter() - start)
    return readings


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def lines(one: Format, nbytes: int, seconds: dict[str, list[float]]) -> Iterator[str]:
    """The rows of the table: who, how fast, and how many times as long as minuend it took, round by round."""
    for name, times in seconds.items():
        speed = 3 * nbytes / statistics.median(times) / 1e9
        ratio = statistics.median(theirs / ours for theirs, ours in zip(times, seconds["minuend"], strict=True))
        yield f"| `{one.suffix}` | {name} | {speed:.2f} | {'' if name == 'minuend' else f'{ratio:.2f}'} |"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--mib", type=click.IntRange(1), default=256, show_default=True, help="The size of each operand.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--folder", type=click.Path(file_okay=False, exists=True), help="Where the files go: 4 times MIB.")
@click.option("--format", "chosen", multiple=True, type=click.Choice([one.suffix for one in FORMATS]))
def main(mib: int, rounds: int, folder: str | None, chosen: tuple[str, ...]) -> None:
    """Subtract files of each format, and show who moves how many bytes a second."""
    click.echo("| format | who | GB/s | time by minuend's |\n|---|---|---|---|")
    for one in FORMATS:
        if chosen and one.suffix not in chosen:
            continue
        if gone := lacking(one.needs):
            click.echo(f"{one.suffix}: needs {', '.join(gone)}", err=True)
            continue
        with tempfile.TemporaryDirectory(dir=folder) as home:
            for line in lines(one, mib << 20, measure(one, Path(home), mib << 20, rounds)):
                click.echo(line)


if __name__ == "__main__":
    main()
