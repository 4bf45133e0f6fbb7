"""Attributes of operators that some runtimes do not heed: adapters say which (``STRICT``)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType

_POLICY = "keep_aspect_ratio_policy"
_LAYOUT = {("layout", 1)}
UNHEEDED: Mapping[str, Set[tuple[str, int | str]]] = MappingProxyType({
    "DFT": {("onesided", 1)},
    "GRU": _LAYOUT,
    "LSTM": _LAYOUT,
    "RNN": _LAYOUT,
    "Resize": {("antialias", 1), ("exclude_outside", 1), ("mode", "cubic"), (_POLICY, "not_larger"),
               (_POLICY, "not_smaller")},
    "RoiAlign": {("mode", "max")},
})  # fmt: skip
"""Operator → attributes and the value that some runtime does not heed."""

PEEPHOLES = "LSTM with peepholes"
KINDS = frozenset({
    PEEPHOLES,
    *(f"{operator} with {name} {value}" for operator, stated in UNHEEDED.items() for name, value in stated),
})  # fmt: skip
"""Kinds, each named as a node states it: ``"GRU with layout 1"``."""
