"""Forms of operators that some runtimes compute otherwise, or do not run.

Adapters say which: in ``LACKED`` and ``DEVIATING``, and in ``STRICT`` where something else helps than other operators.
A form is named as a node states it, such as ``"GRU with layout 1"``. The tests run each on every runtime that is
installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType

_POLICY = "keep_aspect_ratio_policy"
_Pairs = Set[tuple[str, int | str]]
_RECURRENT: _Pairs = {("layout", 1), ("direction", "reverse")}
_REDUCED: _Pairs = {("reduction", "add"), ("reduction", "mul")}
_SAME: _Pairs = {("auto_pad", "SAME_LOWER"), ("auto_pad", "SAME_UPPER")}
ATTRIBUTES: Mapping[str, _Pairs] = MappingProxyType({
    "ArgMax": {("select_last_index", 1)},
    "AveragePool": {("auto_pad", "SAME_LOWER")},
    "Conv": {("auto_pad", "SAME_LOWER")},
    "ConvTranspose": _SAME,
    "DFT": {("onesided", 1)},
    "GRU": _RECURRENT,
    "GridSample": {("mode", "bicubic"), ("mode", "cubic")},
    "LSTM": _RECURRENT,
    "MaxPool": {("auto_pad", "SAME_LOWER")},
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

RECURRENT = ("GRU", "LSTM", "RNN")
POOLS = ("AveragePool", "MaxPool")
SCALED = ("Resize-10", "Upsample-9")
"""Operators, by version, that map positions in the one way that older runtimes have."""

ALWAYS = ("Round", "Shrink")
"""Operators that some runtime computes otherwise, whatever a node states."""

WINDOW = "Attention with a window"
PEEPHOLES = "LSTM with peepholes"
EVERY_STEP = "GRU whose every step is read"
EVEN = "LRN of an even size"
NEGATIVE = "GatherElements of negative indices"
OTHER_AXIS = "OneHot along another axis than the last"
OUTPUT_SHAPE = "ConvTranspose with output_shape"
COUNTED = "AveragePool that counts what lies behind the padding"
DESCENDING = "Resize of axes that do not ascend"
ROUNDED_LINEAR, ROUNDED_CORNERS = (f"Resize to rounded sizes with {one}" for one in ("mode linear", "align_corners"))
FLATTENING = ("Hardmax", "LogSoftmax", "Softmax")
"""Operators that go over all axes from one on, below opset 13; from then on over that one alone."""


def flattened(operator: str, version: int) -> str:
    """Return the form of an operator that goes over several axes.

    >>> flattened("Softmax", 11)
    'Softmax-11 over several axes'
    """
    return f"{operator}-{version} over several axes"


def by_default(operator: str) -> str:
    """Return the form of the same whose node does not state the axis."""
    return f"{operator} over several axes by default"


def in_padding(operator: str) -> str:
    """Return the form of a pooling that rounds up, so that its last window begins in the padding, or behind it."""
    return f"{operator} whose last window begins in the padding"


def with_dilations(operator: str) -> str:
    """Return the form of a pooling whose windows have gaps."""
    return f"{operator} with dilations"


def recurrent(operator: str, setting: str) -> str:
    """Return the form of a recurrent layer that states ``clip``, ``sequence_lens`` or some ``activations``."""
    return f"{operator} with {setting}"


def scaled(operator: str, mode: str) -> str:
    """Return the form of an operator of one version that scales, in a mode."""
    return f"{operator} with mode {mode}"


FORMS = frozenset({
    *ALWAYS, WINDOW, PEEPHOLES, EVERY_STEP, EVEN, NEGATIVE, OTHER_AXIS, OUTPUT_SHAPE, COUNTED, DESCENDING,
    ROUNDED_LINEAR, ROUNDED_CORNERS,
    *map(by_default, FLATTENING), *map(in_padding, POOLS), *map(with_dilations, POOLS),
    *(flattened(operator, version) for operator in FLATTENING for version in (1, 11)),
    *(recurrent(operator, one) for operator in RECURRENT
      for one in ("activations Relu", "clip", "other activations", "sequence_lens")),
    *(scaled(operator, mode) for operator in SCALED for mode in ("linear", "nearest")),
    *(f"{operator} with {name} {value}" for operator, stated in ATTRIBUTES.items() for name, value in stated),
})  # fmt: skip
"""All of them."""
