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
_REDUCED: _Pairs = {("reduction", "add"), ("reduction", "max"), ("reduction", "min"), ("reduction", "mul")}
_SAME: _Pairs = {("auto_pad", "SAME_LOWER"), ("auto_pad", "SAME_UPPER")}
ATTRIBUTES: Mapping[str, _Pairs] = MappingProxyType({
    "ArgMax": {("select_last_index", 1)},
    "AveragePool": {("auto_pad", "SAME_LOWER")},
    "Conv": {("auto_pad", "SAME_LOWER")},
    "ConvTranspose": _SAME,
    "DFT": {("onesided", 1)},
    "GRU": _RECURRENT,
    "Gelu": {("approximate", "tanh")},
    "GridSample": {("mode", "bicubic"), ("mode", "cubic")},
    "IsInf": {("detect_negative", 0), ("detect_positive", 0)},
    "LSTM": _RECURRENT,
    "MaxPool": {("auto_pad", "SAME_LOWER")},
    "Mod": {("fmod", 1)},
    "Pad": {("mode", "wrap")},
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

ALWAYS = ("BitShift", "DynamicQuantizeLinear", "QuantizeLinear", "Round", "Shrink", "Softplus")
"""Operators that some runtime computes otherwise, whatever a node states."""

WINDOW = "Attention with a window"
PEEPHOLES = "LSTM with peepholes"
EVERY_STEP = "GRU whose every step is read"
EVEN = "LRN of an even size"
NEGATIVE, NEGATIVE_ND = (f"{one} of negative indices" for one in ("GatherElements", "GatherND"))
NEGATIVE_PADS = "Pad of negative pads"
ODD, TO_16_BITS = (f"QuantizeLinear {one}" for one in ("with an odd zero point", "to 16 bits"))
TIED = "TopK whose indices are read"
OTHER_SHAPE = "GatherElements of indices of another shape"
BROADCAST = "LayerNormalization with a scale or bias that is broadcast"
NO_THRESHOLD = "NonMaxSuppression without iou_threshold"
SAMPLED, OLD_ALIGNED = "RoiAlign without sampling_ratio", "RoiAlign-10"
DEFAULT_AXIS = "DFT along the default axis"
TILED = "Tile of four axes or more by repeats that are not stored"
ALPHA = "Celu with another alpha than 1"
POWERS = "Pow to powers that are not one stored number"
OTHER_POWERS, WHOLE_POWERS = (f"Pow of {one}" for one in ("two types", "integers"))
TO_NARROW, TO_BYTES = "Cast of integers to a type that does not hold all of them", "Cast of floats to uint8"
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


REDUCTIONS = tuple(
    f"Reduce{one}" for one in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
)
"""Operators that are alike in how they take their axes."""


def computed(operator: str, name: str) -> str:
    """Return the form of an operator one of whose inputs is not stored in the model, as some runtimes want it.

    >>> computed("Pad", "pads"), computed("ReduceMean", "axes")
    ('Pad of computed pads', 'Reduction of computed axes')
    """
    return f"{'Reduction' if operator in REDUCTIONS else operator} of computed {name}"


STORED: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {
        "AffineGrid": {1: "size"},
        "BatchNormalization": {1: "scale", 2: "B", 3: "input_mean", 4: "input_var"},
        "CumSum": {1: "axis"},
        "DFT": {2: "axis"},
        "DequantizeLinear": {1: "x_scale", 2: "x_zero_point"},
        "Expand": {1: "shape"},
        "GRU": {3: "B"},
        "NonMaxSuppression": {2: "max_output_boxes_per_class"},
        "OneHot": {1: "depth", 2: "values"},
        "Pad": {1: "pads", 2: "constant_value"},
        "QuantizeLinear": {1: "y_scale", 2: "y_zero_point"},
        **{one: {1: "axes"} for one in REDUCTIONS},
        "Reshape": {1: "shape"},
        "Resize": {2: "scales", 3: "sizes"},
        "STFT": {1: "frame_step", 2: "window", 3: "frame_length"},
        "Slice": {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
        "Split": {1: "split"},
        "Squeeze": {1: "axes"},
        "Tile": {1: "repeats"},
        "TopK": {1: "K"},
        "Unsqueeze": {1: "axes"},
        "Upsample": {1: "scales"},
    }
)
"""Operator → the inputs, by number, that some runtime does not run unless they are stored."""

FORMS = frozenset({
    *ALWAYS, WINDOW, PEEPHOLES, EVERY_STEP, EVEN, NEGATIVE, OTHER_AXIS, OUTPUT_SHAPE, COUNTED, DESCENDING,
    ROUNDED_LINEAR, ROUNDED_CORNERS, NEGATIVE_ND, NEGATIVE_PADS, ODD, TO_16_BITS, TIED,
    OTHER_SHAPE, BROADCAST, NO_THRESHOLD, SAMPLED, OLD_ALIGNED, DEFAULT_AXIS, TILED, ALPHA, POWERS, OTHER_POWERS,
    WHOLE_POWERS, TO_NARROW, TO_BYTES,
    *map(by_default, FLATTENING), *map(in_padding, POOLS), *map(with_dilations, POOLS),
    *(flattened(operator, version) for operator in FLATTENING for version in (1, 11)),
    *(recurrent(operator, one) for operator in RECURRENT
      for one in ("activations Relu", "clip", "other activations", "sequence_lens")),
    *(scaled(operator, mode) for operator in SCALED for mode in ("linear", "nearest")),
    *(computed(operator, name) for operator, inputs in STORED.items() for name in inputs.values()),
    *(f"{operator} with {name} {value}" for operator, stated in ATTRIBUTES.items() for name, value in stated),
})  # fmt: skip
"""All of them."""
