"""Whose arrays operands are: NumPy's own go to the kernel, those of others to a file of :mod:`minuend.libraries`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Protocol, TypeGuard

import numpy as np

from minuend.arrays.subclasses import check_protocol
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, ShapeError

LIBRARIES: Mapping[str, str] = MappingProxyType(
    {
        "xarray": "xarray_objects",
        "pandas": "pandas_frames",
        "polars": "polars_frames",
        "dask": "dask_arrays",
        "zarr": "zarr_arrays",
        "torch": "torch_tensors",
        "jax": "jax_arrays",
        "jaxlib": "jax_arrays",
        "cupy": "cupy_arrays",
        "numpy.ma": "masked_arrays",
    }
)
"""Where a class is from → the file that knows its arrays; what holds others' arrays comes first."""


class LibraryFunction(Protocol):
    """What a file of :mod:`minuend.libraries` has for each operator that it computes, by the operator's name."""

    def __call__(self, a: object, b: object, out: object, overflow: Overflow, /) -> object: ...


class Exchanged(Protocol):
    """An array of another library that hands its memory on, by DLPack."""

    def __dlpack__(self, *, stream: None = None) -> Any: ...


def library_of(a: object, b: object, out: object = None) -> ModuleType | None:
    """Return the module that subtracts some operands; ``None`` where NumPy's own arrays and numbers are all there are.

    >>> import numpy as np
    >>> library_of(np.ones(3), 1, None), library_of(np.ma.ones(3), 1, None).__name__
    (None, 'minuend.libraries.masked_arrays')
    """
    known = _library_of(type(a), type(b), type(out))  # type: ignore[arg-type]  # a class is hashable
    if known is not None:
        return known
    check_protocol(a=a, b=b)
    if exchanges(a) or exchanges(b):
        return importlib.import_module("minuend.libraries.exchanged_arrays")
    return None


@functools.lru_cache(maxsize=256)
def _library_of(*kinds: type) -> ModuleType | None:
    """The module of the library that some operands' classes are of; ``None`` where none is of one."""
    roots: frozenset[str] = frozenset().union(*map(_roots, kinds))
    file = next((file for root, file in LIBRARIES.items() if root in roots), None)
    return None if file is None else importlib.import_module(f"minuend.libraries.{file}")


def _roots(kind: type) -> frozenset[str]:
    """The packages that a class and those that it derives from are of."""
    modules = [base.__module__ for base in kind.__mro__]
    return frozenset("numpy.ma" if one.startswith("numpy.ma") else one.partition(".")[0] for one in modules)


def exchanges(operand: object) -> TypeGuard[Exchanged]:
    """Whether an object is another library's array that hands its memory on."""
    if isinstance(operand, np.ndarray | np.generic | int | float | type):
        return False
    return hasattr(operand, "__dlpack__")


def only_of(words: str, kinds: type | tuple[type, ...], operands: Mapping[str, object], advice: str) -> None:
    """Check that operands are all of one library, or numbers.

    Raises:
        DTypeError: one is not.
    """
    present = any(isinstance(one, kinds) for one in operands.values())
    for name, one in operands.items():
        number = isinstance(one, int | float | np.generic) and not isinstance(one, bool)
        if one is None or number or isinstance(one, kinds):
            continue
        kind = f"{name} is a {type(one).__module__}.{type(one).__qualname__}"
        if not present:  # an object of the library that is none of its arrays, such as an index or a query
            raise DTypeError("types", f"{kind}; expected a {words}: {advice}")
        raise DTypeError(
            "types", f"{kind} beside a {words}; nothing is converted, expected arrays of one kind: {advice}"
        )


def no_out(out: object, words: str, instead: str = "leave it away") -> None:
    """Check that a library whose arrays are not written to is given none.

    Raises:
        ShapeError: it is.
    """
    if out is not None:
        raise ShapeError("out", f"out does not go with {words}; {instead}")
