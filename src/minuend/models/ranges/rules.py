"""What an operator makes of its operands' ranges: a row for each operator, under ONNX's name of it.

Other dialects name their operators by these rows. An operator without a row, or one whose operands are of unknown
types, can give any value of its result's type.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

from minuend.core.elements import TYPES
from minuend.core.shapes import Dim, Shape, bounds
from minuend.models.flow import DRAWN
from minuend.models.ranges import interval as ranges
from minuend.models.ranges.interval import DIMS, INFINITY, MOST_DIM, Number, Range, full, join, outward, within
from minuend.operators.value_classes import least_normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operator with what is known of its operands.

    Attributes:
        kind: its name. inputs: the operands' ranges; ``None`` for one that is left out. shapes: their shapes.
        outputs: the element types of its results, ``None`` where unknown.
        attributes: by name, as Python values; a tensor as its range. opset: the dialect's number in force.
        alike: whether both operands are one value.
    """

    kind: str
    inputs: Sequence[Range | None]
    outputs: Sequence[str | None]
    shapes: Sequence[Shape] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 0
    alike: bool = False

    def given(self, index: int) -> Range | None:
        """An operand, or ``None`` where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def operand(self, index: int) -> Range:
        """An operand that must be there; one of an unknown type otherwise."""
        return self.given(index) or Range(None)

    def shape(self, index: int) -> Shape:
        return self.shapes[index] if index < len(self.shapes) else None

    def dtype(self, index: int = 0) -> str | None:
        return self.outputs[index] if index < len(self.outputs) else None


Rule: TypeAlias = Callable[[Step], "Range | Sequence[Range]"]


def result(step: Step) -> list[Range]:
    """Return the ranges of an operator's results; their types are those of the step where it states them.

    >>> x = Range("float32", -1.0, 7.0, integral=False)
    >>> [str(r) for r in result(Step(kind="Relu", inputs=[x], outputs=["float32"]))]
    ['0..7 (Relu)']
    """
    rule = RULES.get(step.kind)
    found = rule(step) if rule is not None else ()
    given = [found] if isinstance(found, Range) else list(found)
    constant = bool(step.inputs) and all(r is None or r.constant for r in step.inputs) and step.kind not in DRAWN
    if step.kind in ("Shape", "Size"):  # of a fixed shape, whatever the tensor holds
        constant = all(isinstance(dim, int) for dim in step.shape(0) or (None,))
    results = []
    for i, dtype in enumerate(step.outputs):
        one = given[i] if i < len(given) else Range(None)
        if one.dtype is None or (dtype is not None and one.dtype != dtype):
            one = full(dtype)
        why = one.why if one.why and step.kind in _TRANSPARENT else step.kind
        results.append(replace(one, constant=constant or (one.constant and not step.inputs), why=why))
    return results


# ---- values that pass through ---------------------------------------------------------------------------------


def _all(step: Step) -> Range:
    return join([r for r in step.inputs if r is not None])


def _pad(step: Step) -> Range:
    data = step.operand(0)
    if step.attributes.get("mode", "constant") != "constant":
        return data
    value = step.attributes.get("value", 0)
    added = within(data.dtype, value, value, integral=float(value).is_integer()) if step.opset < 11 else None
    return join([data, added or step.given(2) or _zero(data)])


def _zero(like: Range) -> Range:
    return within(like.dtype, 0, 0, integral=True)


def _dropout(step: Step) -> Range | Sequence[Range]:
    training = step.opset < 7 or step.given(2) is not None
    return Range(None) if training else step.operand(0)


def _scatter(step: Step) -> Range:
    if step.attributes.get("reduction", "none") != "none":
        return Range(None)
    return join([step.operand(0), step.operand(2)])


def _resize(step: Step) -> Range:
    nearest = step.attributes.get("mode", "nearest") == "nearest"
    crops = step.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    return step.operand(0) if nearest and not crops else Range(None)


# ---- shapes and positions -------------------------------------------------------------------------------------


def _sizes(dims: Iterable[Dim]) -> tuple[list[int], list[int], frozenset[str]]:
    """The least and the most that each of some dims can be, and what is assumed of them."""
    ends = [bounds(dim) for dim in dims]
    highs = [MOST_DIM if hi is None else hi for _, hi in ends]
    return [lo for lo, _ in ends], highs, frozenset({DIMS} if any(hi is None for _, hi in ends) else ())


def _counting(step: Step, index: int = 0) -> str:
    """The type of sizes and positions: int64, or int32 where a dialect has it so."""
    dtype = step.dtype(index)
    return dtype if dtype in ("int32", "int64") else "int64"


def _shape(step: Step) -> Range:
    shape = step.shape(0)
    if shape is None:
        return within(_counting(step), 0, MOST_DIM, assumptions=frozenset({DIMS}))
    lows, highs, assumed = _sizes(shape[step.attributes.get("start") : step.attributes.get("end")])
    return within(_counting(step), min(lows, default=0), max(highs, default=0), assumptions=assumed)


def _count(shape: Shape) -> int | None:
    if shape is None:
        return None
    highs = [bounds(dim)[1] for dim in shape]
    return math.prod(hi for hi in highs if hi is not None) if None not in highs else None


def _size(step: Step) -> Range:
    shape = step.shape(0)
    if shape is None:
        return full("int64")
    least, most, assumed = _product(shape)
    return within("int64", least, most, assumptions=assumed) if most < 2**63 else within("int64", least, 2**63 - 1)


def _product(dims: Iterable[Dim]) -> tuple[int, int, frozenset[str]]:
    """The least and the most elements of some dims together."""
    lows, highs, assumed = _sizes(dims)
    return math.prod(lows), math.prod(highs), assumed


def _axes(step: Step) -> Sequence[Dim] | None:
    """The dims along which an operator goes, by its attribute or a constant of equal numbers; ``None``: not known.

    All of the operand's dims where it goes along all of them, or where nothing tells along which.
    """
    shape, given = step.shape(0), step.given(1)
    if shape is None:
        return None
    stated = step.attributes.get("axes", step.attributes.get("axis"))
    if stated is None and given is not None and given.constant and given.lo == given.hi:
        stated = int(given.lo)
    axes = [stated] if isinstance(stated, int) else stated
    if not axes or any(not -len(shape) <= axis < len(shape) for axis in axes):
        return shape
    return [shape[axis] for axis in axes]


def _position(step: Step, result: int = 0, axis: int = 0) -> Range:
    return _index(_counting(step, result), step.shape(0), step.attributes.get("axis", axis))


def _index(dtype: str, shape: Shape, axis: int | None) -> Range:
    known = shape is not None and (axis is None or -len(shape) <= axis < len(shape))
    dims: Sequence[Dim] = (None,) if shape is None or not known else shape if axis is None else (shape[axis],)
    _, highs, assumed = _sizes(dims)
    return within(dtype, 0, max(max(highs, default=1) - 1, 0), assumptions=assumed)


def _unique(step: Step) -> list[Range]:
    """The different values, where each is first, which one each is, and how often it is there."""
    shape = step.shape(0)
    _, most, assumed = _product(shape) if shape is not None else (0, 2**63 - 1, frozenset())
    most = min(most, 2**63 - 1)
    place = within("int64", 0, max(most - 1, 0), assumptions=assumed)
    return [step.operand(0), place, place, within("int64", min(most, 1), max(most, 1), assumptions=assumed)]


def _suppressed(step: Step) -> Range:
    """Numbers of a batch, a class and a box."""
    shapes = [step.shape(i) for i in (0, 1)]
    return _index("int64", None if None in shapes else tuple(dim for shape in shapes for dim in shape or ()), None)


def _range(step: Step) -> Range:
    start, limit, delta = given = [step.operand(i) for i in range(3)]
    if any(r.dtype is None or (r.is_float and (not r.integral or r.nan)) for r in given):
        return Range(None)
    lo, hi = min(start.lo, limit.lo), max(start.hi, limit.hi)
    if delta.lo > 0:
        lo, hi = start.lo, max(start.hi, limit.hi - 1)
    elif delta.hi < 0:
        lo, hi = min(start.lo, limit.lo + 1), start.hi
    if start.is_float and max(abs(lo), abs(hi)) > 2**11:  # not exact in every type
        return Range(None)
    found = within(start.dtype, lo, hi, given, integral=True)
    last = max(abs(int(delta.lo)), abs(int(delta.hi))) * (MOST_DIM - 1)  # of the longest that there can be
    if start.is_float or not (start.lo - last > lo if delta.hi < 0 else start.hi + last < hi):
        return found
    lo, hi = (start.lo - last, hi) if delta.hi < 0 else (lo, start.hi + last)
    return within(start.dtype, lo, hi, given, assumptions=frozenset({DIMS}))


# ---- one operand ----------------------------------------------------------------------------------------------


def _of(count: int, *, floats: bool | None = None) -> Callable[[Callable[..., Range]], Rule]:
    """The rule of an operator that some operands of one known type decide: of floats alone, of others, or of both."""

    def decorated(function: Callable[..., Range]) -> Rule:
        def rule(step: Step) -> Range:
            operands = [step.operand(i) for i in range(count)]
            first = operands[0]
            known = first.dtype is not None and all(one.dtype == first.dtype for one in operands)
            return function(*operands) if known and floats in (None, first.is_float) else Range(None)

        return rule

    return decorated


def cast(x: Range, target_dtype: str | None) -> Range:
    """Return what a range becomes in another type; what does not fit can become anything.

    >>> str(cast(Range("uint8", 3, 200), "float32"))
    '3..200'
    """
    everything = full(target_dtype)
    if x.is_full and x.dtype != target_dtype and x.why:
        x = replace(x, why=f"{x.dtype} {x.why}")
    if x.dtype is None or everything.dtype is None or x.dtype == target_dtype:
        return x if x.dtype == target_dtype else everything
    if target_dtype == "bool":
        return everything
    if not everything.is_float:
        if x.is_float and (x.nan or not math.isfinite(x.lo) or not math.isfinite(x.hi)):
            return everything
        return within(target_dtype, math.trunc(x.lo), math.trunc(x.hi), (x,), why=x.why)
    if TYPES[str(target_dtype)].bits < 16:
        return everything
    lo, hi = outward(str(target_dtype), *(float(end) if x.is_float else Fraction(end) for end in (x.lo, x.hi)))
    zero = x.negative_zero or (x.is_float and x.lo < 0 and not x.integral)
    return within(target_dtype, lo, hi, (x,), nan=x.nan, negative_zero=zero, integral=x.integral, why=x.why)


@_of(1)
def _relu(x: Range) -> Range:
    return replace(x, lo=max(x.lo, type(x.lo)(0)), hi=max(x.hi, type(x.hi)(0)), constant=False)


def _clip(step: Step) -> Range:
    x = step.operand(0)
    if x.dtype is None:
        return x
    low, high = (_bound(step, x, name, i) for name, i in (("min", 1), ("max", 2)))
    if low is None or high is None:
        return full(x.dtype)
    lo = min(max(x.lo, low.lo), high.lo)
    hi = min(max(x.hi, low.hi), high.hi)
    nan, zero = (any(getattr(r, f) for r in (x, low, high)) for f in ("nan", "negative_zero"))
    parts = [x, *(r for r in (low, high) if math.isfinite(r.lo))]
    whole = all(r.integral for r in parts)
    return within(x.dtype, lo, hi, parts, nan=nan, negative_zero=zero, integral=whole)


def _bound(step: Step, x: Range, name: str, index: int) -> Range | None:
    """A bound of Clip as a range; one that is left out does not bind. ``None``: nothing is known of it."""
    if (step.opset and step.opset < 11) or name in step.attributes:
        value = step.attributes.get(name, -INFINITY if name == "min" else INFINITY)
        if not x.is_float:
            limits = full(x.dtype)
            value = limits.lo if value < limits.lo else limits.hi if value > limits.hi else value
            value = math.ceil(value) if name == "min" else math.floor(value)
            return Range(x.dtype, value, value)
        lo, hi = outward(str(x.dtype), float(value), float(value))
        return Range(x.dtype, lo, hi, integral=lo == hi and (math.isinf(lo) or lo.is_integer()))
    given = step.given(index)
    if given is None:
        everything = full(x.dtype)
        value = everything.lo if name == "min" else everything.hi
        return Range(x.dtype, value, value)
    return given if given.dtype == x.dtype else None


@_of(1)
def _abs(x: Range) -> Range:
    ends = (abs(x.lo), abs(x.hi))
    low = type(x.lo)(0) if x.lo <= 0 <= x.hi else min(ends)
    return within(x.dtype, low, max(ends), (x,), nan=x.nan, integral=x.integral)


@_of(1)
def _sign(x: Range) -> Range:
    low, high = ((v > 0) - (v < 0) for v in (x.lo, x.hi))
    return within(x.dtype, low, high, (x,), nan=x.nan, negative_zero=x.negative_zero, integral=True)


def _rounding(function: Callable[[float], float]) -> Rule:
    @_of(1, floats=True)
    def rule(x: Range) -> Range:
        lo, hi = (v if math.isinf(v) else float(function(v)) for v in (x.lo, x.hi))
        zero = x.negative_zero or (x.lo < 0 and not x.integral)
        return within(x.dtype, lo, hi, (x,), nan=x.nan, negative_zero=zero, integral=True)

    return rule


def _within(low: float, high: float, of_infinity: bool = False, whole: bool = False) -> Rule:
    """A float function whose values lie in an interval, whatever its operand; NaN of NaN, or of infinity too."""

    @_of(1, floats=True)
    def rule(x: Range) -> Range:
        nan = x.nan or (of_infinity and (math.isinf(x.lo) or math.isinf(x.hi)))
        return within(x.dtype, low, high, (x,), nan=nan and not whole, negative_zero=low < 0, integral=whole)

    return rule


_SLACK = 2.0**-6
"""How far off a function may be that runtimes approximate, as a share of its value; and its operand, in bfloat16."""


def _increasing(function: Callable[[float], float], start: float = -INFINITY, *, of_zero: bool = False) -> Rule:
    """A float function that increases from ``start`` on, and is NaN below it: its values at the ends are the bounds.

    ``of_zero``: whether it gives -0 of -0.
    """

    @_of(1, floats=True)
    def rule(x: Range) -> Range:
        lo, hi = (
            _further(function(max(_further(float(end), sign), start)), sign) for end, sign in ((x.lo, -1), (x.hi, 1))
        )
        if 0 < lo < least_normal(TYPES[str(x.dtype)]):
            lo = 0.0  # subnormal numbers become 0 on some processors
        lo, hi = outward(str(x.dtype), lo, hi)
        zero = lo < 0 or (of_zero and x.negative_zero)
        return within(x.dtype, lo, hi, (x,), nan=x.nan or x.lo < start, negative_zero=zero)

    return rule


def _further(value: float, sign: int) -> float:
    """A bound, and what a runtime may be off."""
    return value + sign * abs(value) * _SLACK if math.isfinite(value) else value


def _exp(value: float) -> float:
    return INFINITY if value > _MOST_EXPONENT else math.exp(value)


_MOST_EXPONENT = 709.0
"""Of e, as a float64."""


def _log(value: float) -> float:
    return -INFINITY if value <= 0 else math.log(value)


def _softplus(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


@_of(1, floats=False)
def _bitwise_not(x: Range) -> Range:
    everything = full(x.dtype)
    top = everything.lo + everything.hi  # -1, or the highest value of an unsigned type
    return within(x.dtype, top - x.hi, top - x.lo, (x,))


# ---- two operands ---------------------------------------------------------------------------------------------


def _extreme(pick: Callable[[Iterable[Number]], Number]) -> Rule:
    def rule(step: Step) -> Range:
        parts = [r for r in step.inputs if r is not None]
        whole = join(parts)
        if whole.dtype is None:
            return whole
        return replace(whole, lo=pick([r.lo for r in parts]), hi=pick([r.hi for r in parts]))

    return rule


def _sum(step: Step) -> Range:
    parts = [r for r in step.inputs if r is not None]
    if any(r.dtype is None or r.dtype != parts[0].dtype for r in parts) or not parts:
        return Range(None)
    if parts[0].is_float and len(parts) > 2:
        return Range(None)  # the order of the roundings is not fixed
    return functools.reduce(ranges.add, parts)


def _subtract(step: Step) -> Range:
    """A difference: of a value less itself 0, but of infinities and of what is no number."""
    a, b = step.operand(0), step.operand(1)
    if a.dtype is None or a.dtype != b.dtype:
        return Range(None)
    if not step.alike:
        return ranges.subtract(a, b)
    nan = a.is_float and (a.nan or math.isinf(a.lo) or math.isinf(a.hi))
    return within(a.dtype, 0, 0, (a,), nan=nan, integral=True)


def _mod(step: Step) -> Range:
    a, b = step.operand(0), step.operand(1)
    if a.dtype is None or a.dtype != b.dtype:
        return Range(None)
    if a.is_float:
        return _float_remainder(a, b) if step.attributes.get("fmod", 0) else Range(None)
    if b.lo <= 0 <= b.hi:
        return Range(None)
    most = max(abs(int(b.lo)), abs(int(b.hi))) - 1
    if step.attributes.get("fmod", 0):  # the sign is A's
        return within(a.dtype, max(-most, min(a.lo, 0)), min(most, max(a.hi, 0)), (a, b))
    if b.lo > 0:  # the sign is B's
        return within(a.dtype, 0, min(most, a.hi) if a.lo >= 0 else most, (a, b))
    return within(a.dtype, -most, 0, (a, b))


def _float_remainder(a: Range, b: Range) -> Range:
    """C's fmod: exact, of A's sign, and neither operand is nearer to 0 than it."""
    low, high = (min(max(abs(r.lo), abs(r.hi)) for r in (a, b)) * sign for sign in (-1, 1))
    nan = a.nan or b.nan or math.isinf(a.lo) or math.isinf(a.hi) or b.lo <= 0 <= b.hi
    lo, hi = (low if a.lo < 0 else 0.0), (high if a.hi > 0 else 0.0)
    whole = a.integral and b.integral
    return within(a.dtype, lo, hi, (a, b), nan=nan, negative_zero=a.negative_zero or a.lo < 0, integral=whole)


def _power(step: Step) -> Range:
    """Squares and other even powers, and powers of what is not below 0."""
    x, y = step.operand(0), step.operand(1)
    if x.dtype is None or y.dtype is None or y.nan or math.isinf(y.lo) or math.isinf(y.hi):
        return Range(None)
    even = y.lo == y.hi and y.lo > 0 and y.lo % 2 == 0
    if not x.is_float:
        if not even or y.is_float:
            return Range(None)
        ends = [abs(int(end)) ** min(int(y.lo), 64) for end in (x.lo, x.hi)]
        if max(ends) > 2**53:  # some compute it in float64
            return Range(None)
        return within(x.dtype, 0 if x.lo <= 0 <= x.hi else min(ends), max(ends), (x, y))
    if not even and (x.lo < 0 or x.negative_zero):
        return Range(None)
    return within(x.dtype, 0, INFINITY, (x, y), nan=x.nan)


def _shift(step: Step) -> Range:
    a, b = step.operand(0), step.operand(1)
    if a.element is None or a.is_float or a.dtype != b.dtype or a.lo < 0 or b.hi >= a.element.bits:
        return Range(None)
    if step.attributes.get("direction") == "RIGHT":
        return within(a.dtype, int(a.lo) >> int(b.hi), int(a.hi) >> int(b.lo), (a, b))
    return within(a.dtype, int(a.lo) << int(b.lo), int(a.hi) << int(b.hi), (a, b))


@_of(2, floats=False)
def _bitwise_and(a: Range, b: Range) -> Range:
    highs = [r.hi for r in (a, b) if r.lo >= 0]
    return within(a.dtype, 0, min(highs), (a, b)) if highs else Range(None)


@_of(2, floats=False)
def _bitwise_or(a: Range, b: Range) -> Range:
    if min(a.lo, b.lo) < 0:
        return Range(None)
    return within(a.dtype, 0, (1 << max(int(a.hi).bit_length(), int(b.hi).bit_length())) - 1, (a, b))


def _dequantize(step: Step) -> Range:
    x, scale, zero = step.operand(0), step.operand(1), step.given(2)
    exact = x.element is not None and x.element.is_integer and x.element.bits <= 16
    fits = scale.dtype in ("float32", "float16", "bfloat16") and scale.lo > 0 and scale.hi < INFINITY
    if not exact or not fits or (zero is not None and zero.dtype != x.dtype):
        return Range(None)
    lo, hi = x.lo - (zero.hi if zero else 0), x.hi - (zero.lo if zero else 0)
    # The product is rounded in float32 and then in the scale's type, or at once: both stay within the outer bounds.
    difference = Range("float32", float(lo), float(hi))
    product = ranges.multiply(difference, replace(scale, dtype="float32"))
    return cast(product, scale.dtype)


# ---- reductions -----------------------------------------------------------------------------------------------


def _reduce_extreme(end: str) -> Rule:
    def rule(step: Step) -> Range:
        x, shape = step.operand(0), step.shape(0)
        if x.dtype is None or (shape is not None and all(bounds(dim)[0] > 0 for dim in shape)):
            return x
        nothing = getattr(full(x.dtype), end)  # of no elements
        return join([x, Range(x.dtype, nothing, nothing)])

    return rule


def _reduce_sum(step: Step) -> Range:
    x = step.operand(0)
    if x.dtype is None or x.is_float:
        return _sum_of_floats(x, _axes(step)) if x.dtype else x
    axes = _axes(step)
    return Range(None) if axes is None else _sum_of(x, *_product(axes)[1:])


def _sum_of(x: Range, count: int, assumed: frozenset[str]) -> Range:
    """The sum of up to so many whole numbers, or of none."""
    return within(x.dtype, min(0, x.lo * count), max(0, x.hi * count), (x,), assumptions=assumed)


def _cumulative_sum(step: Step) -> Range:
    """Each element is the sum of at most one axis of the operand."""
    x = step.operand(0)
    if x.dtype is None or x.is_float:
        return _sum_of_floats(x, None) if x.dtype else x
    _, highs, assumed = _sizes(_axes(step) or (None,))
    return _sum_of(x, max(highs), assumed)


def _reduce_product(step: Step) -> Range:
    """Of whole numbers that are not below 0; of none it is 1."""
    x, count = step.operand(0), _count(step.shape(0))
    if x.dtype is None or x.is_float or x.lo < 0 or count is None or count > 64:
        return Range(None)
    return within(x.dtype, min(1, int(x.lo) ** count), max(1, int(x.hi) ** count), (x,))


def _magnitudes(step: Step) -> Range:
    """The sum of magnitudes; those of the lowest whole number wrap."""
    x = _abs(step)
    if not isinstance(x, Range) or x.dtype is None or x.lo < 0:
        return Range(None)
    return _reduce_sum(replace(step, inputs=[x, *step.inputs[1:]]))


_MOST_ELEMENTS = 2**46
"""More than any memory holds."""


def _sum_of_floats(x: Range, axes: Sequence[Dim] | None, *, is_mean: bool = False) -> Range:
    """A sum of floats, or their mean, in any order and any number of digits.

    To add a number moves a rounded sum by up to twice that number: the sum as it was is as near as the number is large.
    """
    dtype, largest = str(x.dtype), 2 * max(abs(x.lo), abs(x.hi))
    count = _count(None if axes is None else tuple(axes))
    most = _MOST_ELEMENTS if count is None else max(count, 1)
    bound = outward(dtype, 0.0, _further(float(largest) * most, 1))[1]
    nan = x.nan or (math.isinf(bound) and x.lo < 0 and x.hi > 0)  # of an infinity of either sign
    if is_mean and math.isfinite(bound):
        bound = outward(dtype, 0.0, _further(float(largest), 1))[1]
    lo, hi = (0.0 if x.lo >= 0 else -bound), (0.0 if x.hi <= 0 else bound)
    return within(dtype, lo, hi, (x,), nan=nan, negative_zero=x.negative_zero or x.lo < 0)


def _reduce_mean(step: Step) -> Range:
    x = step.operand(0)
    count = _count(step.shape(0))
    if x.is_float:
        found = _sum_of_floats(x, step.shape(0), is_mean=True)
        has_some = all(isinstance(dim, int) and dim > 0 for dim in step.shape(0) or (None,))
        return found if has_some else replace(found, nan=True)  # the mean of no numbers
    if x.dtype is None or count is None:
        return Range(None)
    fits = within(x.dtype, min(0, x.lo * count), max(0, x.hi * count)) != full(x.dtype)
    return join([x, Range(x.dtype)]) if fits else full(x.dtype)


def _constant(step: Step) -> Range:
    stated = map(step.attributes.get, ("value", "value_int", "value_ints", "value_float", "value_floats"))
    return next((one for one in stated if isinstance(one, Range)), Range(None, constant=True))


def _constant_of_shape(step: Step) -> Range:
    value = step.attributes.get("value")
    return value if isinstance(value, Range) else Range("float32", 0.0, 0.0)


_PASSING = (
    "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "GlobalMaxPool", "Identity",
    "Reshape", "ReverseSequence", "Slice", "SpaceToDepth", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Compress",
)  # fmt: skip
_TRANSPARENT = (
    *_PASSING, "Split", "Cast", "CastLike", "Where", "Concat", "If", "Constant", "Max", "Min", "Pad", "Trilu",
)  # fmt: skip
"""Operators of whose results the reason is the operand's."""

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(_PASSING, lambda step: step.operand(0)),
        **dict.fromkeys(("Cast", "CastLike"), lambda step: cast(step.operand(0), step.dtype())),
        "Abs": _abs,
        "Add": _of(2)(ranges.add),
        "ArgMax": _position,
        "ArgMin": _position,
        "BitwiseAnd": _bitwise_and,
        "BitwiseNot": _bitwise_not,
        "BitwiseOr": _bitwise_or,
        "BitwiseXor": _bitwise_or,
        "BitShift": _shift,
        "Ceil": _rounding(math.ceil),
        "Clip": _clip,
        "Concat": _all,
        "CumSum": _cumulative_sum,
        "Constant": _constant,
        "ConstantOfShape": _constant_of_shape,
        "Cos": _within(-1, 1, of_infinity=True),
        "DequantizeLinear": _dequantize,
        "Div": _of(2)(ranges.divide),
        "Dropout": _dropout,
        "Erf": _within(-1, 1),
        "Exp": _increasing(_exp),
        "EyeLike": lambda step: within(step.dtype() or step.operand(0).dtype, 0, 1, integral=True),
        "Floor": _rounding(math.floor),
        "HardSigmoid": _within(0, 1, of_infinity=True),
        "Hardmax": _within(0, 1, whole=True),
        "Log": _increasing(_log, start=0.0),
        "Max": _extreme(max),
        "Min": _extreme(min),
        "Mod": _mod,
        "Mul": _of(2)(ranges.multiply),
        "Neg": _of(1)(ranges.negate),
        "NonMaxSuppression": _suppressed,
        "NonZero": lambda step: _index(_counting(step), step.shape(0), None),
        "OneHot": lambda step: step.operand(2),
        "Pad": _pad,
        "Pow": _power,
        "Range": _range,
        "ReduceL1": _magnitudes,
        "ReduceL2": _within(0, INFINITY, of_infinity=True),
        "ReduceMax": _reduce_extreme("lo"),
        "ReduceMean": _reduce_mean,
        "ReduceMin": _reduce_extreme("hi"),
        "ReduceProd": _reduce_product,
        "ReduceSum": _reduce_sum,
        "ReduceSumSquare": _within(0, INFINITY, of_infinity=True),
        "Relu": _relu,
        "Resize": _resize,
        "Round": _rounding(round),
        "ScatterElements": _scatter,
        "ScatterND": _scatter,
        "Shape": _shape,
        "Sigmoid": _within(0, 1),
        "Sign": _sign,
        "Sin": _within(-1, 1, of_infinity=True),
        "Size": _size,
        "Softmax": _within(0, 1, of_infinity=True),
        "Softplus": _increasing(_softplus),
        "Softsign": _within(-1, 1, of_infinity=True),
        "Split": lambda step: [step.operand(0)] * len(step.outputs),
        "Sqrt": _increasing(math.sqrt, start=0.0, of_zero=True),
        "Sub": _subtract,
        "Sum": _sum,
        "Tanh": _within(-1, 1),
        "TopK": lambda step: [step.operand(0), _position(step, 1, -1)],
        "Trilu": lambda step: join([step.operand(0), _zero(step.operand(0))]),
        "Unique": _unique,
        "Where": lambda step: join([step.operand(1), step.operand(2)]),  # in addition to conditions.branches
    }
)
"""The operators that say more of their results than the element type does."""
