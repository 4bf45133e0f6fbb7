"""The native bridge; see ``native/python/module.cc``."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
Array = np.ndarray[Any, Any]

def execute(
    kernel: str,
    policy: str,
    sizes: Sequence[int],
    a: Array,
    a_strides: Sequence[int],
    b: Array,
    b_strides: Sequence[int],
    table: bytes | None,
    out: Array,
    out_strides: Sequence[int],
    /,
) -> int: ...
def first_overflow(
    kernel: str,
    policy: str,
    sizes: Sequence[int],
    a: Array,
    a_strides: Sequence[int],
    b: Array,
    b_strides: Sequence[int],
    table: bytes | None,
    /,
) -> int: ...
def instruction_sets() -> tuple[str, ...]: ...
def get_instruction_set() -> str: ...
def set_instruction_set(name: str, /) -> None: ...
def get_num_threads() -> int: ...
def set_num_threads(n: int, /) -> None: ...
def learn(dtype: np.dtype[Any], kernel: str, kind: str, widened: np.dtype[Any], /) -> None: ...
def with_fast_path(general: F, /) -> F: ...
def result(
    dtype: np.dtype[Any], sizes: Sequence[int], a_strides: Sequence[int], b_strides: Sequence[int], /
) -> Array: ...
def cache_limit() -> int: ...
def cached_bytes() -> int: ...
def clear_cache() -> int: ...
def set_cache_limit(n: int, /) -> None: ...
