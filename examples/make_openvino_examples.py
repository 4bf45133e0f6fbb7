"""Make the two OpenVINO models, the same bytes on every run.

``spectrum`` takes a measured noise floor from a spectrogram: two inputs of 256 bands by 56 frames, which have to be of
one shape. ``thermometers`` compares 8 x 6 sensors with 7 x 5 reference values, each with each: both sides repeat.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from minuend.openvino.ir.builder import Builder
from minuend.openvino.model import Model


def spectrum() -> Model:
    """Return ``cleaned = spectrum - floor``, float32, without broadcasting."""
    builder = Builder("spectrum")
    measured = builder.parameter("spectrum", "f32", (256, 56))
    floor = builder.parameter("floor", "f32", (256, 56))
    builder.result(builder.subtract("cleaned", measured, floor, auto_broadcast="none"))
    return builder.model


def thermometers() -> Model:
    """Return ``deviation = readings - references``, in hundredths of a degree, int16."""
    builder = Builder("thermometers")
    readings = builder.parameter("readings", "i16", (8, 1, 6, 1))
    references = 100 * np.arange(-10, 25, dtype=np.int16).reshape(7, 1, 5)
    builder.result(builder.subtract("deviation", readings, builder.constant("references", references)))
    return builder.model


def main(folder: Path) -> None:
    """Write both models into a folder."""
    spectrum().save(folder / "spectrum.xml")
    thermometers().save(folder / "thermometers.xml")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "openvino")
