"""Where pixels lie: two operands that are subtracted pixel by pixel have to lie in the same places, as far as is known.

Nothing is warped. A file that could say where its pixels lie and does not is refused beside one that does: nobody knows
whether they are the same places. A format without a word for it (``.npy``) is taken pixel by pixel, as arrays are.
"""

from __future__ import annotations

from minuend.core.shapes import size
from minuend.errors import FileFormatError
from minuend.storage.base import Tensor


def check(a: Tensor, b: Tensor, shape: tuple[int, ...], paths: tuple[str, str]) -> None:
    """Check that pixels of two tensors lie in the same places.

    Args:
        a, b: the operands. shape: the difference's. paths: the operands' files.

    Raises:
        FileFormatError: they do not, or one file does not say where they lie.
    """
    x, y = a.about.grid, b.about.grid
    if x is not None and y is not None:
        if x != y:
            what = "coordinate systems" if x.crs != y.crs else "transforms"
            came, other = (x.crs or "none", y.crs or "none") if x.crs != y.crs else (x.transform, y.transform)
            raise FileFormatError(
                f"A and B have different {what}: {came} and {other}; nothing is warped, bring them to one grid "
                "(gdalwarp) first"
            )
        return
    for one, path, other in ((a, paths[0], paths[1]), (b, paths[1], paths[0])):
        if one.about.grid is None and one.about.placeable and (x or y) and not _repeats(one, shape):
            raise FileFormatError(
                f"{path} has no georeference and {other} has one: nothing says that their pixels lie in the same "
                f"places; if they do, give it that one (rio edit-info --crs like --transform like --like {other} "
                f"{path}), or save it as .npy, which has none"
            )


def of_b(a: Tensor, b: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether it is B alone that says where the difference lies."""
    return a.about.grid is None and b.about.grid is not None and b.shape == shape


def _repeats(one: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether an operand is a number, or is repeated over the difference: it has no pixels of its own there."""
    return size(one.shape) == 1 or one.shape != shape
