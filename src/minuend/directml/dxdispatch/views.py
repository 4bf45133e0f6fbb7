"""Tensors as views: sizes and strides over a buffer, and what can be said by changing them alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from minuend.errors import listed


@dataclass(frozen=True, slots=True)
class View:
    """Sizes (none of them 0) and strides in elements, from the first element of a buffer."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def packed(cls, sizes: Sequence[int]) -> View:
        return cls(tuple(sizes), packed(sizes))

    @property
    def is_packed(self) -> bool:
        """Whether it is in row-major order without gaps; along a dim of size 1 a stride has no say."""
        whole = packed(self.sizes)
        return all(n == 1 or s == w for n, s, w in zip(self.sizes, self.strides, whole, strict=True))

    def repeated(self, sizes: tuple[int, ...], start: int) -> View:
        """Return it over larger sizes, its first dim at ``start``: other dims and its 1s repeat by a stride of 0.

        >>> View.packed((3, 1)).repeated((2, 3, 4), 1)
        View(sizes=(2, 3, 4), strides=(0, 1, 0))
        """
        strides = [0] * len(sizes)
        for i, (n, stride) in enumerate(zip(self.sizes, self.strides, strict=True), start):
            strides[i] = 0 if n == 1 else stride
        return View(sizes, tuple(strides))

    def reshaped(self, sizes: tuple[int, ...]) -> View | None:
        """Return it in other sizes with the same order of elements; ``None`` where no strides say that.

        >>> View.packed((2, 3)).reshaped((3, 2)).strides, View((2, 3), (1, 0)).reshaped((6,))
        ((2, 1), None)
        """
        left = [(n, s) for n, s in zip(self.sizes, self.strides, strict=True) if n > 1]
        strides = [0] * len(sizes)
        wanted = [i for i, n in enumerate(sizes) if n > 1]
        while wanted:
            # The fewest dims on either side that hold equally many elements.
            old, new = [left.pop()], [wanted.pop()]
            while (have := math.prod(n for n, _ in old)) != (want := math.prod(sizes[i] for i in new)):
                if have < want:
                    old.insert(0, left.pop())
                else:
                    new.insert(0, wanted.pop())
            if any(s != inner_n * inner_s for (_, s), (inner_n, inner_s) in itertools.pairwise(old)):
                return None
            stride = old[-1][1]
            for i in reversed(new):
                strides[i] = stride
                stride *= sizes[i]
        return View(sizes, tuple(strides))


def packed(sizes: Sequence[int]) -> tuple[int, ...]:
    """Strides of row-major order without gaps, in elements."""
    return tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))


def fitted(views: Sequence[View], lowest: int, highest: int | None) -> list[View] | None:
    """Bring views of one list of sizes to a rank within limits; ``None`` where it stays too high.

    A dim of size 1 is dropped, and adjacent ones become one where the strides of all views allow it, only as many as
    are needed; leading 1s are put before too few.

    >>> [view.sizes for view in fitted([View.packed((2, 1, 3, 4))], 1, 2)]
    [(2, 12)]
    """
    sizes = list(views[0].sizes)
    columns = [list(strides) for strides in zip(*(view.strides for view in views), strict=True)]
    for i in reversed(range(len(sizes))):
        if highest is not None and len(sizes) > highest and sizes[i] == 1:
            del sizes[i], columns[i]
    for i in reversed(range(len(sizes) - 1)):
        joins = all(outer == inner * sizes[i + 1] for outer, inner in zip(columns[i], columns[i + 1], strict=True))
        if highest is not None and len(sizes) > highest and joins:
            sizes[i : i + 2] = [sizes[i] * sizes[i + 1]]
            del columns[i]
    if highest is not None and len(sizes) > highest:
        return None
    missing = max(0, lowest - len(sizes))
    sizes, columns = [1] * missing + sizes, [[0] * len(views)] * missing + columns
    return [View(tuple(sizes), tuple(column[k] for column in columns)) for k in range(len(views))]


def crossings(views: Sequence[View]) -> str:
    """Name the adjacent dims that some view does not let become one, for a message."""
    sizes = views[0].sizes
    dims = [i for i, n in enumerate(sizes) if n > 1]
    broken = [
        f"{i} and {j}"
        for i, j in itertools.pairwise(dims)
        if any(view.strides[i] != view.strides[j] * sizes[j] for view in views)
    ]
    return listed(broken, "and")
