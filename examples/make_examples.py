"""Make the example files, the same bytes on every run: integers alone, and a generator that NumPy keeps stable.

Two bands of a satellite scene in uint16 (reflectance times 10,000, as Sentinel-2 delivers it): farmland, where
near-infrared is above red, and a lake with a river, where it is below. Two frames of a fixed camera in uint8: an empty
room, and the room with something that moved in.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SIDE = 256
HEIGHT, WIDTH = 120, 160


def noise(seed: int, shape: tuple[int, ...], spread: int) -> np.ndarray:
    """Return integers from 0 to ``spread`` - 1; raw 64-bit draws, whose order NumPy promises to keep."""
    bits = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    return (bits >> np.uint64(33)).astype(np.int64).reshape(shape) % spread


def bands() -> tuple[np.ndarray, np.ndarray]:
    """Return near-infrared and red, 256 x 256, uint16."""
    y, x = np.mgrid[:SIDE, :SIDE]
    field = (x // 32 * 7 + y // 32 * 5) % 11  # 64 fields of 11 crops
    nir = 2400 + 160 * field + noise(1, (SIDE, SIDE), 300)
    red = 420 + 45 * (10 - field) + noise(2, (SIDE, SIDE), 120)
    lake = (x - 170) ** 2 + 2 * (y - 90) ** 2 < 48**2
    river = abs(x - 60 - y // 3) < 5
    water = lake | river
    nir[water] = 130 + noise(3, (SIDE, SIDE), 60)[water]
    red[water] = 310 + noise(4, (SIDE, SIDE), 80)[water]
    return nir.astype(np.uint16), red.astype(np.uint16)


def frames() -> tuple[np.ndarray, np.ndarray]:
    """Return a frame and the background, 120 x 160 x 3, uint8."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    wall = np.stack([150 + x // 8 - y // 6, 145 + x // 9 - y // 6, 130 + x // 10 - y // 6], axis=-1)
    floor = np.stack([96 + y // 5, 84 + y // 5, 70 + y // 6], axis=-1)
    room = np.where((y < 78)[..., None], wall, floor)
    background = room + noise(5, room.shape, 5)
    frame = room + noise(6, room.shape, 5)
    body = ((x - 84) // 2) ** 2 + ((y - 70) // 4) ** 2 < 7**2
    head = (x - 84) ** 2 + (y - 34) ** 2 < 10**2
    frame[body] = np.array([40, 52, 96]) + noise(7, room.shape, 6)[body]
    frame[head] = np.array([198, 160, 138]) + noise(8, room.shape, 6)[head]
    return frame.astype(np.uint8), background.astype(np.uint8)


def main(folder: Path) -> None:
    """Write the four files into a folder."""
    nir, red = bands()
    frame, background = frames()
    for name, array in (("nir", nir), ("red", red), ("frame", frame), ("background", background)):
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
