"""The elements of constants that nodes make of stored ones, where it is known to the bit what runtimes make of them.

Runtimes compute such nodes while they load a model. Of float16 and bfloat16 that is known where nothing is rounded,
since they may keep more bits from one node to the next; of float32, where each node rounds once. Numbers that are
subnormal, infinite or none are not followed, nor is -0: runtimes differ in these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from minuend.core.elements import TYPES, of_numpy
from minuend.core.shapes import size, static
from minuend.models.flow import Array, Flow

FOLLOWED = ("float32", "float16", "bfloat16")
"""The types of such constants."""

_MOST = 16
"""Constant nodes in a row that are computed."""

_RESHAPING = ("Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Dropout")

_COMPUTED: Mapping[str, np.ufunc] = MappingProxyType(
    {"Neg": np.negative, "Abs": np.absolute, "Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
)
_ROUNDED: Mapping[str, np.ufunc] = MappingProxyType({**_COMPUTED, "Div": np.divide, "Sqrt": np.sqrt})
"""Those that runtimes compute as the contract says, and those that they do where rounding once is all they can do."""

Made = tuple[str, str]
"""An operator, and the element type of its result."""

_FOLDED = frozenset((
    "Cast", "CastLike", "Concat", "ConstantOfShape", "DepthToSpace", "Expand", "EyeLike", "Flatten", "Gather",
    "Identity", "Pad", "Range", "Reshape", "Shape", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose",
    "Trilu", "Unsqueeze", "Where",
))  # fmt: skip
"""Operators that move or convert: runtimes compute them of constants of any type while they load a model."""

_SMALLEST = 2.0**-126
"""Numbers below are subnormal in float32, which some runtimes take for 0."""


def makers(flow: Flow, names: Iterable[str]) -> dict[str, Made]:
    """Return what makes constants of stored ones, by the values' names, but for what every runtime folds.

    >>> steps = [("Abs", ("k",), ("a",)), ("Reshape", ("a", "s"), ("r",)), ("Add", ("x", "r"), ("y",))]
    >>> flow = Flow(steps, ("k", "s"), {"a": "int8"})
    >>> makers(flow, ("r",)), makers(flow, ("k", "y"))
    ({'a': ('Abs', 'int8')}, {})
    """
    waiting, found, seen = [name for name in names if name in flow.folded], dict[str, Made](), set[str]()
    while waiting:
        name = waiting.pop()
        made = flow.maker_of(name) if name not in flow.constants and name not in seen else None
        seen.add(name)
        if made is not None:
            operator, inputs, _ = flow.steps[made]
            waiting += inputs
            found.update({name: (operator, flow.dtypes.get(name, ""))} if operator not in _FOLDED else {})
    return found


def computed(flow: Flow, name: str, left: int = _MOST) -> Array | None:
    """Return the elements of a constant; ``None`` where they are not known to the bit.

    >>> stored = {"k": np.float32([0.1])}
    >>> steps = [("Add", ("k", "k"), ("twice",)), ("Exp", ("k",), ("power",))]
    >>> names = ("k", "twice", "power")
    >>> flow = Flow(steps, stored, dict.fromkeys(names, "float32"), (), dict.fromkeys(names, (1,)), elements=stored.get)
    >>> computed(flow, "twice"), computed(flow, "power")
    (array([0.2], dtype=float32), None)
    """
    shape, dtype = flow.shapes.get(name), flow.dtypes.get(name)
    if not isinstance(shape, tuple) or not all(isinstance(dim, int) for dim in shape) or dtype not in TYPES or not left:
        return None
    if name in flow.constants:
        found = flow.elements(name)
        return None if found is None or of_numpy(found.dtype) is None else found.reshape(shape)
    made = flow.maker_of(name)
    operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    given = [computed(flow, one, left - 1) for one in (inputs[:1] if operator in _RESHAPING else inputs)]
    if not given or any(one is None for one in given):
        return None
    arrays = [one for one in given if one is not None]
    if operator in _RESHAPING:
        return arrays[0].reshape(shape) if arrays[0].size == size(static(shape)) else None
    return _unrounded(operator, arrays, np.dtype(TYPES[dtype].memory)) if dtype in FOLLOWED else None


def _joined_by_any_rule(a: Array, b: Array) -> bool:
    """Whether two arrays have one alignment, NumPy's: B's axes may begin at another of A's by the rules of old."""
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    if a.ndim == b.ndim or 1 in (a.size, b.size):
        return True
    few, more = sorted((a.shape, b.shape), key=len)
    behind = len(more) - len(few)
    return not any(all(x in (1, y) for x, y in zip(few, more[at:], strict=False)) for at in range(behind))


def _unrounded(operator: str, given: list[Array], dtype: np.dtype[Any]) -> Array | None:
    """What an operator gives in float32, where that has the type's own numbers alone."""
    if operator != "Cast" and any(one.dtype != dtype for one in given):
        return None
    known = _ROUNDED if dtype == np.float32 else _COMPUTED
    with np.errstate(all="ignore"):
        if any(np.signbit(one[one == 0]).any() for one in given if one.dtype.kind in "fV"):
            return None  # runtimes lose the sign of some zeros
        if operator == "Cast":
            found = given[0].astype(np.float64)
        elif operator in known and len(given) == known[operator].nin:
            if len(given) == 2 and not _joined_by_any_rule(*given):
                return None
            found = known[operator](*(one.astype(np.float32) for one in given))
        else:
            return None
        rounded = found.astype(dtype)
        magnitudes = np.abs(found[found != 0])
        normal = np.isfinite(found).all() and (magnitudes >= _SMALLEST).all()
        exact = normal and (rounded.astype(found.dtype) == found).all()
    return rounded if exact else None
