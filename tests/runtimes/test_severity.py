"""Severity: each rule beside an independent definition over every code of an 8-bit float."""

from __future__ import annotations

import math
import random

import ml_dtypes
import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.operators import SUBTRACT, reference
from minuend.runtimes.severity import SEVERITIES, Severity, rank, severity, worst

E5M2 = TYPES["float8_e5m2"]
FLOATS = [float(one) for one in np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2)]
ORDER = {value: i for i, value in enumerate(sorted({one for one in FLOATS if math.isfinite(one)}))}
LARGEST, LEAST_NORMAL = 57344.0, 2.0**-14


def slow(operands: tuple[float, ...], got: float, expected: float) -> Severity:
    """The same rules in float64, which holds every number, product and sum here exactly."""
    if got == expected or (math.isnan(got) and math.isnan(expected)):
        return "sign-of-zero"
    if any(not abs(one) < LARGEST for one in (got, expected)):
        return "edge"
    tiny = [abs(one) for one in operands if 0 < abs(one) < LEAST_NORMAL]
    others = [abs(one) for one in operands if 1 < abs(one) < math.inf]
    if got == 0 and (abs(expected) < LEAST_NORMAL or (tiny and abs(expected) <= 2 * sum(tiny) * max([1, *others]))):
        return "subnormal"
    if abs(got - expected) <= 2 * sum(tiny):
        return "subnormal"
    return "rounding" if abs(ORDER[got] - ORDER[expected]) <= 4 else "numbers"


def same(one: float, other: float) -> bool:
    """Whether two results are one: of NaN the payload is not seen in a value."""
    return one == other and math.copysign(1, one) == math.copysign(1, other)


def test_every_wrong_result_of_one_operand() -> None:
    for x in range(256):
        expected = -FLOATS[x]
        for got in FLOATS:
            if not same(got, expected):
                assert severity(E5M2, (FLOATS[x],), got, expected) == slow((FLOATS[x],), got, expected)


def test_a_wrong_result_of_every_pair_of_operands() -> None:
    source = random.Random("severity")
    for a in range(256):
        for b in range(256):
            pair, expected = (FLOATS[a], FLOATS[b]), FLOATS[reference.apply(SUBTRACT, E5M2, (a, b))]
            got = source.choice(FLOATS)
            if not same(got, expected):
                assert severity(E5M2, pair, got, expected) == slow(pair, got, expected)


def flushed(code: int) -> int:
    return code & 0x80 if 0 < code & 0x7F < 4 else code


def test_what_flushing_gives_is_never_worse_than_it() -> None:
    """A runtime that flushes operands, results or both, in a difference of any two operands."""
    found = set()
    for a in range(256):
        for b in range(256):
            expected = FLOATS[reference.apply(SUBTRACT, E5M2, (a, b))]
            operands_lost = reference.apply(SUBTRACT, E5M2, (flushed(a), flushed(b)))
            for code in (operands_lost, flushed(operands_lost), flushed(reference.apply(SUBTRACT, E5M2, (a, b)))):
                got = FLOATS[code]
                if not same(got, expected) and LARGEST not in (abs(got), abs(expected)):
                    found.add(severity(E5M2, (FLOATS[a], FLOATS[b]), got, expected))
    assert found == {"sign-of-zero", "subnormal"}


@pytest.mark.parametrize(
    ("dtype", "operands", "got", "expected", "found"),
    [
        ("uint8", (5, 10), 0, 251, "numbers"),  # saturated
        ("int64", (0, -(2**63)), -(2**31), -(2**63), "numbers"),
        ("float32", (-0.0, 0.0), 0.0, -0.0, "sign-of-zero"),
        ("float32", (math.nan, 0.0), math.nan, math.nan, "sign-of-zero"),
        ("float32", (math.inf, math.inf), 0.0, math.nan, "edge"),
        ("float32", (1e38, -3e38), 3.4028235e38, math.inf, "edge"),
        ("float32", (math.inf, 0.0), -math.inf, math.inf, "edge"),
        ("float8_e4m3fn", (448.0, -448.0), 448.0, math.nan, "edge"),
        ("float4_e2m1fn", (6.0, -6.0), 4.0, 6.0, "edge"),
        ("float32", (1e-40, 0.0), 0.0, 1e-40, "subnormal"),
        ("float32", (1e-40, -1e-38), 1e-38, 1.01e-38, "subnormal"),
        ("float32", (2e-38, 1.5e-38), 0.0, 0.5e-38, "subnormal"),
        ("float32", (1e-40, 1e10), 0.0, 1e-30, "subnormal"),  # a product
        ("float32", (1e-40, 5.0), 0.0, -5.0, "numbers"),  # a difference
        ("float32", (1e-40, 5.0), -4.9999995, -5.0, "rounding"),
        ("float32", (1.0, 3.0), 0.3333333, 0.33333334, "rounding"),
        ("float32", (0.1, 0.5), -0.39999986, -0.4, "numbers"),  # 5 ulps
        ("float64", (0.0, 0.1), -0.10000000149011612, -0.1, "numbers"),
        ("float64", (5.0, 10.0), 0.0, -5.0, "numbers"),
        ("nf4", (0.0, 0.5626170039176941), 0.0, -0.5250730514526367, "numbers"),
        ("float8_e8m0fnu", (4.0, 2.0), 4.0, 2.0, "rounding"),  # one step of a type without a mantissa
    ],
)
def test_each_rule(dtype: str, operands: tuple[float, ...], got: float, expected: float, found: Severity) -> None:
    assert severity(TYPES[dtype], operands, got, expected) == found


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_a_right_result_has_no_severity(dtype: str) -> None:
    with pytest.raises(ValueError, match=rf"^3 is the expected result of {dtype}$"):
        severity(TYPES[dtype], (5, 2), 3, 3)


def test_the_order() -> None:
    assert list(SEVERITIES) == ["sign-of-zero", "rounding", "subnormal", "edge", "numbers"]
    assert [rank(one) for one in SEVERITIES] == [0, 1, 2, 3, 4]
    assert worst(["sign-of-zero", "subnormal", "rounding"]) == "subnormal"
    assert worst([]) is None


def test_an_operand_beyond_the_results_type_counts_as_infinite():
    assert severity(TYPES["float16"], (1e30, 1.0), 2.0, 1.0) == "numbers"
