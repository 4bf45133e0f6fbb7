"""How the windows of a pooling or a convolution go along one axis."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows along one axis.

    Attributes:
        axis: of the input. stride: how far they are apart. reach: the length of one, gaps included.
        before, after: the padding. size: that of the input; ``None`` where it is not known.
    """

    axis: int
    stride: int
    reach: int
    before: int
    after: int
    size: int | None

    @property
    def rounded_up(self) -> int:
        """Their number with ceil_mode=1, by the formula of the text alone; the size has to be known.

        >>> Windows(axis=2, stride=4, reach=3, before=1, after=2, size=6).rounded_up
        3
        """
        assert self.size is not None
        return -(-(self.size + self.before + self.after - self.reach) // self.stride) + 1

    @property
    def last(self) -> int:
        """Where the last of these starts, counted from the padding before; the size has to be known."""
        return (self.rounded_up - 1) * self.stride

    @property
    def even(self) -> bool:
        """Whether rounding up or down gives the same number of windows, as far as is known."""
        if self.size is None:
            return self.stride == 1
        return (self.size + self.before + self.after - self.reach) % self.stride == 0

    @property
    def may_start_in_padding(self) -> bool:
        """Whether the last one, rounded up, starts behind the input, or some size makes it."""
        if self.stride + self.after <= self.reach:
            return False
        return self.size is None or self.last >= self.before + self.size

    @property
    def may_end_behind_padding(self) -> bool:
        """Whether the last one that starts in the input ends behind the padding, or some size makes it.

        >>> [Windows(2, 2, 3, 1, 1, size).may_end_behind_padding for size in (4, 5, None)]
        [True, False, True]
        """
        if self.size is None:
            return self.stride > 1
        last = self.last - self.stride * (self.last >= self.before + self.size)
        return last + self.reach > self.size + self.before + self.after

    @property
    def may_pad_unevenly(self) -> bool:
        """Whether a window for each stride of the input needs an odd number of elements of padding, or may.

        >>> [Windows(2, 2, 3, 0, 0, size).may_pad_unevenly for size in (6, 7)]
        [True, False]
        """
        if self.size is None:
            return self.stride > 1 or self.reach % 2 == 0
        return max((-(-self.size // self.stride) - 1) * self.stride + self.reach - self.size, 0) % 2 == 1
