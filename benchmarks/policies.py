"""How users of NumPy and torch write the overflow policies: several operations, for neither library has them as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minuend.core.elements import ElementType

Function = Callable[[Any, Any], Any]


def function(
    policy: str,
    element: ElementType,
    xp: Any,
    difference_in: Callable[[Any, Any, Any], Any],
    wide: Any,
    narrow: Callable[[Any], Any],
) -> Function:
    """Return ``f(a, b)``, which answers under a policy in the best form known.

    Args:
        xp: ``numpy`` or ``torch``.
        difference_in: ``a - b``, computed in the dtype given. wide: the library's dtype of twice the width.
        narrow: brings an array of it back to the element type.
    """
    low, high = element.limits
    signed = element.kind == "signed"

    def overflows(a: Any, b: Any, difference: Any) -> Any:
        # The sign of a difference is wrong exactly where the operands' signs differ and A's is not the result's.
        return ((a ^ b) & (a ^ difference)) < 0 if signed else a < b

    def checked(a: Any, b: Any) -> Any:
        difference = a - b
        if overflows(a, b, difference).any():
            raise OverflowError
        return difference

    def saturated(a: Any, b: Any) -> Any:
        if not signed:
            return xp.maximum(a, b) - b
        if element.bits < 64:
            return narrow(xp.clip(difference_in(a, b, wide), low, high))
        difference = a - b
        return xp.where(overflows(a, b, difference), xp.where(a < 0, low, high), difference)

    def widened(a: Any, b: Any) -> Any:
        if element.bits < 64:
            return difference_in(a, b, wide)
        if signed:
            return checked(a, b)
        difference = (a - b).view(wide)
        if ((a < b) != (difference < 0)).any():
            raise OverflowError
        return difference

    return {"error": checked, "saturate": saturated, "widen": widened}[policy]
