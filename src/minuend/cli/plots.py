"""A difference as a picture that shows what stands out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np

from minuend.cli.words import number
from minuend.core.policies import Overflow
from minuend.core.shapes import format_shape
from minuend.errors import FileFormatError, MinuendError
from minuend.files import SELECTOR, split
from minuend.files.difference import Watch
from minuend.files.packages import need
from minuend.files.picture import Picture
from minuend.files.streaming.reading import Array
from minuend.files.streaming.region_work import Observer
from minuend.files.streaming.regions import Region
from minuend.files.tensor_pairs import Pair
from minuend.files.transaction.output_paths import refuse_inputs
from minuend.files.transaction.writing import atomic

BELOW, ABOVE = "#2166ac", "#b2182b"
COLOURS = (BELOW, "#92c5de", "#f7f7f7", "#f4a582", ABOVE)
"""From the lowest over 0 to the highest: blue and red, which are distinct without red and green too."""
OVERFLOW = "#ffd400"
NOTHING = "#8a8a8a"

DPI = 150
WIDTH, WIDTH_OF_CHANNEL, HIGHEST = 7.5, 4.5, 11
"""Inches. An axis of a picture has at most 512 pixels and is drawn on more than that, so that none of them is lost."""

LONGEST_TITLE = 90

SHOWN = 99.5
"""Per cent of the pixels that are not 0 have a colour of their own; those much farther out have the last one."""

CHANNELS = {3: ("red", "green", "blue"), 4: ("red", "green", "blue", "alpha")}


@contextlib.contextmanager
def plotted(path: str, a: str, b: str, out: str, overflow: Overflow) -> Iterator[Watch]:
    """Draw a difference while it is written. The file appears when the block ends well.

    It is drawn when the last block has been computed, before the difference appears: where that fails, neither does.

    Args:
        path: the picture. a, b, out: the operands and where the difference goes. overflow: the policy.

    Raises:
        FileFormatError: no .png; the difference is of several tensors. ShapeError: it is not one that is drawn.
        MinuendError, OSError: the picture cannot be written. Unsupported: matplotlib is not installed.
    """
    if not path.lower().endswith(".png"):
        raise FileFormatError(f"{path} is drawn as PNG; expected a name that ends in .png")
    if os.path.realpath(path) == os.path.realpath(out):
        raise MinuendError(f"the outputs {out} and {path} are one file; nothing is written, name outputs that differ")
    drawing(path)

    def watch(pairs: Sequence[Pair], sources: Sequence[str]) -> Observer:
        refuse_inputs([path], sources)
        if len(pairs) != 1:
            raise FileFormatError(f"{path} shows one tensor and there are {len(pairs)}; select one by file::name")
        (pair,) = pairs
        element = pair.result_type(overflow)
        picture = Picture(element, pair.shape, pair.joined, overflow, pair.about.nodata)

        def see(_: Pair, region: Region, x: Array, y: Array, difference: Array) -> None:
            picture.add(region, x, y, difference)
            if not picture.missing:
                draw(picture, f"{_name(a)} − {_name(b)}", stream, path)
                stream.flush()

        return see

    with atomic(path, (split(a)[0], split(b)[0])) as stream:
        yield watch


def draw(picture: Picture, title: str, stream: BinaryIO, path: str) -> None:
    """Write a picture as PNG.

    Args:
        picture: the pixels. title: what stands above. stream: where to. path: the file, for messages.

    Raises:
        Unsupported: matplotlib is not installed.
    """
    figures, colours = drawing(path)
    values = picture.values()
    panels = len(values)
    figure = figures.Figure(figsize=_size(picture, panels), dpi=DPI, layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False, sharex=True, sharey=True)[0]
    limit = _limit(values)
    if picture.axes.row is None:
        _line(axes[0], picture)
    else:
        names = CHANNELS.get(panels, range(panels)) if panels > 1 else ("",)
        for panel, name, shown, marked in zip(axes, names, values, picture.overflowed, strict=True):
            drawn = _panel(panel, picture, shown, marked, limit, colours)
            panel.set_title(name, fontsize=9)
        beyond = "both" if np.nanmax(np.abs(values), initial=0) > limit else "neither"
        figure.colorbar(drawn, ax=list(axes), extend=beyond, shrink=0.85)
    title_text = f"{_writable(title, path)}\n{picture.element} {format_shape(picture.shape)}"
    figure.suptitle(title_text, fontsize=10, parse_math=False)
    figure.supxlabel(caption(picture), fontsize=8)
    figure.savefig(stream, format="png")


def drawing(path: str) -> tuple[ModuleType, ModuleType]:
    """Return matplotlib's modules of figures and colours; without its state that a whole process shares.

    Raises:
        Unsupported: matplotlib is not installed.
    """
    return need("matplotlib.figure", "plot", path), need("matplotlib.colors", "plot", path)


def _name(operand: str) -> str:
    """An operand without its folder."""
    path, name = split(operand)
    return os.path.basename(os.path.normpath(path)) + ("" if name is None else f"{SELECTOR}{name}")


def _writable(text: str, path: str) -> str:
    """A text in the characters that matplotlib's own font has; of a long one the end."""
    fonts = need("matplotlib.font_manager", "plot", path)
    font = fonts.get_font(fonts.findfont("DejaVu Sans"))
    known = "".join(c if c.isprintable() and font.get_char_index(ord(c)) else "?" for c in text)
    return known if len(known) <= LONGEST_TITLE else f"…{known[-LONGEST_TITLE:]}"


def caption(picture: Picture) -> str:
    """Say what a pixel is, and what the colours beside the scale mean."""
    rows, columns = picture.cell
    low, high = (_extreme(picture, best) for best in (np.fmin, np.fmax))
    said = [f"from {number(low)} to {number(high)}"] if not np.isnan(low) else []
    if rows * columns > 1 and picture.axes.row is None:
        said.append(f"lowest and highest of every {columns} elements")
    elif rows * columns > 1:
        said.append(f"each pixel is the difference farthest from 0 of {rows} × {columns} elements")
    if picture.overflowed.any():
        some = " some of its elements" if rows * columns > 1 else ""
        said.append(f"yellow:{some or ' elements'} do not fit {picture.element}")
    if (np.isnan(picture.low) & ~picture.overflowed).any():
        said.append("grey: no number")
    return "; ".join(said)


def _extreme(picture: Picture, best: np.ufunc) -> float:
    return float(best.reduce(picture.low if best is np.fmin else picture.high, axis=None))


def _size(picture: Picture, panels: int) -> tuple[float, float]:
    """Inches: as the image is, within bounds, and what stands around it."""
    width = WIDTH if panels == 1 else WIDTH_OF_CHANNEL * panels
    tall = 0.45 if picture.axes.row is None else picture.proportion if picture.is_in_proportion else 1.0
    return width, min(max(0.82 * width / panels * tall, 1.5), HIGHEST) + 1.1


def _limit(values: Array) -> float:
    """The number that has the last colour: the one farthest from 0, or most where few are much farther."""
    found = np.abs(values[np.isfinite(values) & (values != 0)])
    if not found.size:
        return 1.0
    most, farthest = float(np.percentile(found, SHOWN)), float(found.max())
    return farthest if farthest < 2 * most else most


def _within(values: Array, bound: float) -> Array:
    """Infinities as numbers, which matplotlib draws."""
    return np.nan_to_num(values, nan=np.nan, posinf=bound, neginf=-bound)


def _panel(axes: Any, picture: Picture, values: Array, marked: Array, limit: float, colours: ModuleType) -> Any:
    """One image: differences, then what is marked above them."""
    scale = colours.LinearSegmentedColormap.from_list("difference", COLOURS).with_extremes(bad=NOTHING)
    rows, columns = (pixels * step for pixels, step in zip(values.shape, picture.cell, strict=True))
    place = {
        "extent": (-0.5, columns - 0.5, rows - 0.5, -0.5),
        "aspect": "equal" if picture.is_in_proportion else "auto",
        "interpolation": "nearest",
    }
    drawn = axes.imshow(_within(values, 2 * limit), cmap=scale, vmin=-limit, vmax=limit, **place)
    if marked.any():
        axes.imshow(np.where(marked, 1.0, np.nan), cmap=colours.ListedColormap([OVERFLOW]), **place)
    axes.tick_params(labelsize=7)
    return drawn


def _line(axes: Any, picture: Picture) -> None:
    """A line, as wide as its elements reach within a pixel; what is marked has a bar above it."""
    beyond = 2 * np.max(np.abs(picture.values()), initial=1.0, where=np.isfinite(picture.values()))
    low, high = (_within(values[0, 0], beyond) for values in (picture.low, picture.high))
    marked = picture.overflowed[0, 0]
    at = np.arange(low.size) * picture.cell[1]
    for where, colour in ((np.isnan(low) & ~marked, NOTHING), (marked, OVERFLOW)):
        axes.bar(at[where], 0.04, picture.cell[1], 0.96, color=colour, transform=axes.get_xaxis_transform())
    axes.axhline(0, color="#444444", linewidth=0.6)
    axes.fill_between(at, low, high, step="mid", color=BELOW, linewidth=0.8)
    axes.margins(x=0.01, y=0.1)
    axes.tick_params(labelsize=7)
