"""Example files, made on the spot and the same bytes on every run, so that a wheel holds none of them.

Two bands of a satellite scene in uint16 (reflectance times 10,000, as Sentinel-2 delivers it): farmland, where
near-infrared is above red, and a lake with a river, where it is below. Two frames of a fixed camera in uint8: an empty
room, and the room with something that moved in. And a model that subtracts one frame from the other.
"""

from __future__ import annotations

import os

import numpy as np

from minuend.core.elements import TYPES
from minuend.files import Result, write_tensors
from minuend.files.streaming.reading import Array
from minuend.files.transaction.writing import atomic

_SIDE = 256
_HEIGHT, _WIDTH = 120, 160

MODEL = f"""\
<ir_version: 8, opset_import: ["" : 14], producer_name: "minuend">
bgsub (uint8[{_HEIGHT}, {_WIDTH}, 3] frame, uint8[{_HEIGHT}, {_WIDTH}, 3] background)
  => (uint8[{_HEIGHT}, {_WIDTH}, 3] difference)
{{
  [subtract_background] difference = Sub (frame, background)
}}
"""
"""What runs behind a fixed camera, in ONNX's text form, which nothing needs to be installed for to write."""

MODEL_FILE = "bgsub.onnxtxt"


def _noise(seed: int, shape: tuple[int, ...], spread: int) -> Array:
    """Return integers from 0 to ``spread`` - 1; raw 64-bit draws, whose order NumPy promises to keep."""
    bits = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    return (bits >> np.uint64(33)).astype(np.int64).reshape(shape) % spread


def bands() -> dict[str, Array]:
    """Return near-infrared and red, 256 x 256, uint16."""
    y, x = np.mgrid[:_SIDE, :_SIDE]
    shape = (_SIDE, _SIDE)
    field = (x // 32 * 7 + y // 32 * 5) % 11  # 64 fields of 11 crops
    nir = 2400 + 160 * field + _noise(1, shape, 300)
    red = 420 + 45 * (10 - field) + _noise(2, shape, 120)
    lake = (x - 170) ** 2 + 2 * (y - 90) ** 2 < 48**2
    river = abs(x - 60 - y // 3) < 5
    water = lake | river
    nir[water] = 130 + _noise(3, shape, 60)[water]
    red[water] = 310 + _noise(4, shape, 80)[water]
    return {"nir": nir.astype(np.uint16), "red": red.astype(np.uint16)}


def frames() -> dict[str, Array]:
    """Return a frame and the background, 120 x 160 x 3, uint8."""
    y, x = np.mgrid[:_HEIGHT, :_WIDTH]
    wall = np.stack([150 + x // 8 - y // 6, 145 + x // 9 - y // 6, 130 + x // 10 - y // 6], axis=-1)
    floor = np.stack([96 + y // 5, 84 + y // 5, 70 + y // 6], axis=-1)
    room = np.where((y < 78)[..., None], wall, floor)
    background = room + _noise(5, room.shape, 5)
    frame = room + _noise(6, room.shape, 5)
    body = ((x - 84) // 2) ** 2 + ((y - 70) // 4) ** 2 < 7**2
    head = (x - 84) ** 2 + (y - 34) ** 2 < 10**2
    frame[body] = np.array([40, 52, 96]) + _noise(7, room.shape, 6)[body]
    frame[head] = np.array([198, 160, 138]) + _noise(8, room.shape, 6)[head]
    return {"frame": frame.astype(np.uint8), "background": background.astype(np.uint8)}


def write_arrays(folder: str) -> list[str]:
    """Write the four arrays as ``.npy`` into a folder that is there; return the files' names."""
    arrays = {f"{name}.npy": array for name, array in (bands() | frames()).items()}
    for name, array in arrays.items():
        result = Result.of("", TYPES[array.dtype.name], array)
        write_tensors(os.path.join(folder, name), [result])
    return list(arrays)


def write_all(folder: str) -> list[str]:
    """Write the arrays and the model into a folder that is there; return the files' names."""
    with atomic(os.path.join(folder, MODEL_FILE)) as stream:
        stream.write(MODEL.encode())
    return [*write_arrays(folder), MODEL_FILE]
