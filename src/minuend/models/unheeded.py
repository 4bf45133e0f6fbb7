"""Attributes of operators that some runtimes do not heed: adapters say which (``STRICT``)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType

_POLICY = "keep_aspect_ratio_policy"
_Stated = Set[tuple[str, int | str]]
_RECURRENT: _Stated = {("layout", 1), ("direction", "reverse")}
_REDUCED: _Stated = {("reduction", "add"), ("reduction", "mul")}
UNHEEDED: Mapping[str, _Stated] = MappingProxyType({
    "ArgMax": {("select_last_index", 1)},
    "DFT": {("onesided", 1)},
    "GRU": _RECURRENT,
    "LSTM": _RECURRENT,
    "Mod": {("fmod", 1)},
    "RNN": _RECURRENT,
    "Resize": {("antialias", 1), ("exclude_outside", 1), ("mode", "cubic"), (_POLICY, "not_larger"),
               (_POLICY, "not_smaller"), ("coordinate_transformation_mode", "half_pixel_symmetric"),
               ("nearest_mode", "ceil"), ("nearest_mode", "round_prefer_ceil")},
    "RoiAlign": {("mode", "max")},
    "ScatterElements": _REDUCED,
    "ScatterND": _REDUCED,
})  # fmt: skip
"""Operator → attributes and the value that some runtime does not heed."""

PEEPHOLES = "LSTM with peepholes"
FLATTENING = ("Hardmax", "LogSoftmax", "Softmax")
"""Operators that go over all axes from one on, below opset 13; from then on over that one alone."""


def flattened(operator: str, version: int) -> str:
    """Return the kind of an operator that goes over several axes.

    >>> flattened("Softmax", 11)
    'Softmax-11 over several axes'
    """
    return f"{operator}-{version} over several axes"


def by_default(operator: str) -> str:
    """Return the kind of the same whose node does not state the axis."""
    return f"{operator} over several axes by default"


KINDS = frozenset({
    PEEPHOLES,
    *map(by_default, FLATTENING),
    *(flattened(operator, version) for operator in FLATTENING for version in (1, 11)),
    *(f"{operator} with {name} {value}" for operator, stated in UNHEEDED.items() for name, value in stated),
})  # fmt: skip
"""Kinds, each named as a node states it: ``"GRU with layout 1"``."""
