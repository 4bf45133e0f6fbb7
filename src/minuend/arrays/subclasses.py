"""Subclasses of NumPy's arrays: the result is wrapped as NumPy's function wraps it, and no units are dropped."""

from __future__ import annotations

from typing import Any

import numpy as np

from minuend.errors import DTypeError, ShapeError
from minuend.operators.operator import Operator

PLAIN = (0.0, None)  # the priority of a plain array, and that it wraps nothing
NUMBER = -1_000_000.0  # a number's priority, and that of a class that states none


def check_protocol(**operands: object) -> None:
    """Check that no operand's class redefines what NumPy's functions do with it.

    Such a class computes more than numbers: astropy's Quantity and pint's convert units. Its numbers alone would be
    wrong without an error.

    Raises:
        DTypeError: one has an ``__array_ufunc__`` of its own.
    """
    for name, one in operands.items():
        kind = type(one)
        own = getattr(kind, "__array_ufunc__", np.ndarray.__array_ufunc__)
        if own is np.ndarray.__array_ufunc__:
            continue
        raise DTypeError(
            "types",
            f"{name} is a {kind.__module__}.{kind.__qualname__}, whose own __array_ufunc__ carries more than its "
            "numbers, such as units or labels, which would be lost; expected a plain array: convert both operands to "
            "one unit and pass their numbers, or .todense() of a sparse array",
        )


def wrap(operator: Operator, found: Any, a: Any, b: Any) -> Any:
    """Return a new result as the class that NumPy's function of the operator's name would return.

    The rule is NumPy's (NEP 13, ``__array_wrap__``): of the operands, the one with the highest ``__array_priority__``
    wraps; at equal priority a subclass comes before a plain array, and a before b.

    Raises:
        ShapeError: the class does not have the result's shape; ``numpy.matrix`` has two dims.

    >>> import numpy as np
    >>> from minuend.operators import SUBTRACT
    >>> wrap(SUBTRACT, np.zeros((1, 2)), np.ones((1, 2)), np.ones((1, 2)).view(np.memmap))
    array([[0., 0.]])
    """
    best, wrapper = max((_priority(one) for one in (a, b)), key=lambda ranked: (ranked[0], ranked[1] is not None))
    if wrapper is None or best == NUMBER:
        return found
    context = (getattr(np, operator.name), (a, b), 0)
    try:
        try:
            return wrapper(found, context, found.ndim == 0)
        except TypeError:  # of a class written before NumPy 2, which knows no third argument
            return wrapper(found, context)
    except ValueError as error:
        kind = type(wrapper.__self__)
        raise ShapeError(
            "class",
            f"the result of shape {found.shape} is no {kind.__module__}.{kind.__qualname__} ({error}); "
            "expected plain arrays: numpy.asarray",
        ) from error


def _priority(operand: Any) -> tuple[float, Any]:
    if type(operand) is np.ndarray:
        return PLAIN
    if not isinstance(operand, np.ndarray):
        return NUMBER, None
    return float(getattr(operand, "__array_priority__", NUMBER)), operand.__array_wrap__
