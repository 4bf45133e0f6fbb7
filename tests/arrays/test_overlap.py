"""Two elements at one address: the answer against going through all elements, and its speed on hostile tensors."""

import itertools
import random
import time

import pytest

from minuend.arrays.overlap import null_step
from minuend.arrays.plan import shares_addresses


def shares(sizes, strides):
    """Whether two elements share an address: by listing every address."""
    seen = set()
    for index in itertools.product(*map(range, sizes)):
        address = sum(i * stride for i, stride in zip(index, strides, strict=True))
        if address in seen:
            return True
        seen.add(address)
    return False


@pytest.mark.parametrize("rank", range(9))
def test_a_step_is_found_exactly_where_two_elements_share_an_address(rank):
    rng = random.Random(rank)
    answers = set()
    for _ in range(600):
        sizes = [rng.randint(1, 6 if rank < 5 else 3) for _ in range(rank)]
        longest = rng.choice([3, 40, 400, 20_000])
        strides = [rng.randint(0 if rng.random() < 0.1 else 1, longest) for _ in range(rank)]
        step = null_step(sizes, strides)
        assert (step is not None) == shares(sizes, strides), (sizes, strides)
        assert (step is not None) == shares_addresses(sizes, strides), (sizes, strides)
        answers.add(step is None)
        if step is not None:
            assert any(step)
            assert all(abs(d) < n for d, n in zip(step, sizes, strict=True))
            assert sum(d * stride for d, stride in zip(step, strides, strict=True)) == 0
            assert next(d for d in step if d) > 0
    assert answers == ({True, False} if rank else {True})


@pytest.mark.parametrize(
    ("sizes", "strides", "step"),
    [
        ((2, 3), (3, 1), None),
        ((3, 2), (1, 3), None),
        ((2, 3), (2, 1), (1, -2)),
        ((2, 3), (0, 1), (1, 0)),
        ((1, 3), (0, 1), None),
        ((4, 5), (5, 4), None),  # woven together, yet apart
        ((5, 5), (5, 4), None),
        ((5, 6), (5, 4), (4, -5)),
        ((2, 2, 2), (3, 2, 1), (1, -1, -1)),
        ((2, 2, 2), (4, 2, 1), None),
        ((1, 1, 1), (0, 0, 0), None),
        ((), (), None),
    ],
)
def test_steps_that_are_known(sizes, strides, step):
    assert null_step(sizes, strides) == step


HOSTILE = [
    ((2**32 - 1,), (1,)),
    ((65535, 65537), (65536, 65535)),
    ((2**31, 2), (3, 2)),
    ((65536, 16384, 3), (65537, 16411, 5)),
    ((1625,) * 3, (997, 1000003, 1320007)),
    ((255,) * 4, (1000003, 1000033, 1000037, 1000039)),
    ((84,) * 5, tuple(10**7 + i * i * 7 for i in range(5))),
    ((40,) * 6, tuple(10**7 + i**3 * 7 + i for i in range(6))),
    ((23,) * 7, tuple(10**7 + i**4 * 7 + i for i in range(7))),
    ((15,) * 8, tuple(10**7 + i**5 * 7 + i for i in range(8))),
]


@pytest.mark.parametrize(("sizes", "strides"), HOSTILE)
def test_the_largest_tensors_take_no_long_search(sizes, strides):
    start = time.process_time()
    step = null_step(sizes, strides)
    assert time.process_time() - start < 5
    assert step is None or sum(d * stride for d, stride in zip(step, strides, strict=True)) == 0
