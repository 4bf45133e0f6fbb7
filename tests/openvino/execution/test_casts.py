"""Convert, against exact fractions and against the runtime's own evaluation where C++ defines the outcome."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from minuend.core.elements import TYPES, ElementType
from minuend.errors import SpecError
from minuend.openvino.execution.casts import convert
from minuend.openvino.ir.notation import NUMERIC
from minuend.operators import codes as of_codes

RNG = np.random.default_rng(3)
NAMES = list(NUMERIC)


def codes(element: ElementType) -> Any:
    """Every code of a narrow type; edges and random ones of a wide one."""
    if element.bits <= 8:
        return np.arange(1 << element.bits, dtype=np.uint8)
    unsigned = np.dtype(f"u{element.itemsize}")
    top = 1 << (element.bits - 1)
    near = [(base + step) % (2 * top) for base in (0, top) for step in (-2, -1, 0, 1, 2)]
    powers = [(1 << p) + step for p in range(element.bits - 1) for step in (-1, 0, 1)]
    # Beside the middle of two neighbours of a narrower type: what rounds twice goes wrong there.
    ties = (8, 4, 3, 2, 1)
    if element.kind == "float" and element.bits == 64:
        middles = np.array([1 + 2.0**-p + step for p in ties for step in (-(2.0**-45), 0, 2.0**-45)], np.float64)
        powers += middles.view(np.uint64).tolist() + (-3 * middles).view(np.uint64).tolist()
    if element.is_integer and element.bits == 64:
        powers += [
            (sign * (2**62 + 2 ** (62 - p) + step)) % 2**64 for p in ties for step in (-1, 0, 1) for sign in (1, -1)
        ]
        powers += [2**63 + 2 ** (63 - p) + step for p in ties for step in (-1, 0, 1)]
    bits = RNG.integers(0, 2**63, 40, dtype=np.uint64) * 2 + RNG.integers(0, 2, 40, dtype=np.uint64)
    return np.concatenate([np.array(near + powers, unsigned), (bits >> np.uint64(64 - element.bits)).astype(unsigned)])


def expected(value: Any, goal: ElementType) -> int | None:
    """The code that a value becomes, in exact arithmetic; ``None`` where it is refused."""
    special = isinstance(value, float) and not math.isfinite(value)
    if goal.is_integer:
        if special:
            return None
        low, high = goal.limits
        whole = math.trunc(value)
        if not isinstance(value, int) and not low <= whole <= high:
            return None
        return whole % (1 << goal.bits)
    if isinstance(value, float) and math.isnan(value) and (goal.format is None or goal.format.special == "finite"):
        return None
    return of_codes.encode(goal, value)


def is_nan(element: ElementType, code: int) -> bool:
    value = of_codes.decode(element, code)
    return isinstance(value, float) and math.isnan(value)


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", NAMES)
def test_every_type_converts_to_every_other_exactly(source: str, target: str) -> None:
    element, goal = NUMERIC[source], NUMERIC[target]
    all_codes = codes(element)
    values = [of_codes.decode(element, int(code)) for code in all_codes]
    wanted = [expected(value, goal) for value in values]
    good = [i for i, code in enumerate(wanted) if code is not None]
    array = all_codes[good].view(element.memory)
    result = convert(array, source, target)
    assert result.dtype == goal.memory
    got = result.view(f"u{goal.itemsize}").tolist()
    mask = (1 << goal.bits) - 1
    for i, code in zip(good, got, strict=True):
        want = wanted[i]
        assert want is not None
        same = code & mask == want or (is_nan(goal, code & mask) and is_nan(goal, want))
        assert same, (values[i], code, want)
    for i in set(range(len(wanted))) - set(good):
        with pytest.raises(SpecError):
            convert(all_codes[i : i + 1].view(element.memory), source, target)


@pytest.mark.parametrize("target", [*NAMES, "boolean"])
@pytest.mark.parametrize("source", [*NAMES, "boolean"])
def test_scalars_stay_arrays_of_rank_0(source: str, target: str) -> None:
    memory = np.dtype(bool) if source == "boolean" else NUMERIC[source].memory
    result = convert(np.array(1).astype(memory), source, target)
    assert isinstance(result, np.ndarray)
    assert result.shape == ()


@pytest.mark.parametrize("source", NAMES)
def test_boolean_is_whether_a_value_is_not_0(source: str) -> None:
    element = NUMERIC[source]
    all_codes = codes(element)
    result = convert(all_codes.view(element.memory), source, "boolean")
    assert result.tolist() == [of_codes.decode(element, int(code)) != 0 for code in all_codes]


@pytest.mark.parametrize("target", [name for name in NAMES if name != "f8e8m0"])
def test_boolean_becomes_0_or_1(target: str) -> None:
    result = convert(np.array([False, True]), "boolean", target)
    assert [Fraction(of_codes.decode(NUMERIC[target], int(c))) for c in result.view(f"u{result.itemsize}")] == [0, 1]


def test_a_float_that_the_integer_type_cannot_hold_is_refused() -> None:
    with pytest.raises(SpecError) as found:
        convert(np.float32([[1, -128.9], [128, np.nan]]), "f32", "i8")
    assert str(found.value) == (
        "Convert to i8 meets 2 of 4 floats that i8 cannot hold (-128 to 127), and runtimes differ in what they make of "
        "them; the first is 128.0 at index (1, 0); clamp the values before it"
    )
    assert convert(np.float32([-128.9, 127.9, -0.9]), "f32", "i8").tolist() == [-128, 127, 0]


DEFINED = ["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]


@pytest.mark.parametrize("target", DEFINED)
@pytest.mark.parametrize("source", DEFINED)
def test_the_runtimes_evaluation_agrees(source: str, target: str) -> None:
    ov = pytest.importorskip("openvino")
    element, goal = NUMERIC[source], NUMERIC[target]
    array = codes(element).view(element.memory)
    with np.errstate(invalid="ignore"):
        values = array.astype(np.float64)
    if not element.is_integer:
        low, high = goal.limits if goal.is_integer else (-(2.0**127), 2.0**127)
        # Above float32's integers the runtime's own kernels differ from C++, and from one machine to the next.
        array = array[np.isfinite(values) & (values >= max(low, -(2**23))) & (values <= min(high, 2**23))]
    elif target == "f16":
        array = array[abs(values) < 65520]  # above, the runtime gives 65504 for i32 and infinity for other integers
    parameter = ov.op.Parameter(getattr(ov.Type, source), ov.PartialShape([array.size]))
    node = ov.opset1.convert(parameter, target)
    out = ov.Tensor(node.get_output_element_type(0), node.get_output_shape(0))
    assert node.evaluate([out], [ov.Tensor(array)])
    assert np.array_equal(convert(array, source, target).view(np.uint8), out.data.view(np.uint8))


def test_the_exact_oracle_covers_every_type() -> None:
    assert {row.name for row in NUMERIC.values()} == set(TYPES) - {"int2"}
