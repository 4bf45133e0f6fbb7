"""Many inputs in one test: every input is tried, and one error reports all failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

_SHOWN = 4000
"""Characters of an input that a report shows; the seed makes the whole input again."""


def try_each(seeds: Iterable[int], make: Callable[[int], bytes], use: Callable[[int, bytes], object]) -> None:
    """Make an input from each seed and use it; then raise all errors together, each with its seed and input."""
    failed: dict[int, BaseException] = {}
    for seed in seeds:
        data = make(seed)
        try:
            use(seed, data)
        except ImportError:
            raise  # no seed is the cause: conftest.py skips a test whose package is missing
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"seed {seed}, input {_shown(data)}")
            failed[seed] = error
    if failed:
        raise BaseExceptionGroup(f"these seeds fail: {', '.join(map(str, failed))}", list(failed.values()))


def _shown(data: bytes) -> str:
    text = repr(data)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(data)} bytes)"
