"""Behaviour of tests/support/trials.py, which loops over seeds inside one test."""

from __future__ import annotations

import pytest
from trials import try_each


def test_every_seed_is_tried_and_all_failures_are_reported_together() -> None:
    tried: list[int] = []

    def use(seed: int, data: bytes) -> None:
        tried.append(seed)
        assert data != b"2"
        if seed == 4:
            with pytest.raises(ValueError, match="never"):
                pass

    with pytest.raises(BaseExceptionGroup, match=r"these seeds fail: 2, 4$") as caught:
        try_each(range(6), lambda seed: b"%d" % seed, use)
    assert tried == list(range(6))
    assert [error.__notes__ for error in caught.value.exceptions] == [["seed 2, input b'2'"], ["seed 4, input b'4'"]]


def test_a_long_input_is_cut() -> None:
    def use(_: int, data: bytes) -> None:
        raise ValueError(len(data))

    with pytest.raises(ExceptionGroup) as caught:
        try_each([7], lambda _: bytes(5000), use)
    (note,) = caught.value.exceptions[0].__notes__
    assert note.startswith(r"seed 7, input b'\x00\x00")
    assert note.endswith("… (5000 bytes)")
    assert len(note) < 5000


def test_a_missing_package_ends_the_loop() -> None:
    with pytest.raises(ModuleNotFoundError):
        try_each([0], bytes, lambda *_: __import__("a_package_that_is_not_there"))
