"""Across modules: each row of the table in docs/arrays-of-libraries.md is tried, on both sides."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import minuend as mn

PAGE = (Path(__file__).parents[2] / "docs" / "arrays-of-libraries.md").read_text("utf-8")


def module(name: str) -> Any:
    return pytest.importorskip(name)


def series(*values: Any, **how: Any) -> Any:
    return module("pandas").Series(list(values), **how)


def frame(**columns: Any) -> Any:
    return module("pandas").DataFrame(columns)


def polars(*values: Any, **how: Any) -> Any:
    return module("polars").Series("n", list(values), **how)


def labelled(labels: list[int]) -> Any:
    return module("xarray").DataArray(np.ones(len(labels)), dims="x", coords={"x": labels})


def months() -> tuple[Any, Any]:
    array = labelled([1, 1, 2]).astype(float)
    return array.groupby("x"), array.groupby("x").mean()


def unknown() -> tuple[Any, Any]:
    a = module("dask.array").arange(6, chunks=3)
    return a[(a == 0) | (a > 2)], a[(a < 3) | (a == 5)]


def tree(*names: str) -> Any:
    xarray = module("xarray")
    return xarray.DataTree.from_dict({"/": xarray.Dataset({name: ("x", [1.0]) for name in names})})


def narrow_torch(value: int, name: str) -> Any:
    library = module("torch")
    return torch([value], "uint8").view(getattr(library, name))


def announced(stored: str, told: str) -> Any:
    import dask

    block = dask.delayed(np.ones)(2, stored)
    return module("dask.array").from_delayed(block, (2,), dtype=told)


def strict(device: str) -> Any:
    library = module("array_api_strict")
    return library.ones(1, device=library.Device(device))


def jax(values: Any, dtype: str) -> Any:
    return module("jax.numpy").asarray(values, dtype)


def torch(values: Any, dtype: str, **how: Any) -> Any:
    return module("torch").tensor(values, dtype=getattr(module("torch"), dtype), **how)


OPERANDS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "pandas: labels that differ": lambda: (series(1.0, 2.0), series(1.0, 2.0, index=[1, 0])),
    "pandas: two element types": lambda: (series(1, 2), series(1.0, 2.0)),
    "pandas: columns of several types": lambda: (frame(p=[1], q=[1.5]), frame(p=[1], q=[1.5])),
    "pandas: a type of its own (Int64, category, datetime64, …)": lambda: (series(1, 2, dtype="Int64"), 1),
    "pandas: equal labels of two types (Int64, int64)": lambda: (
        series(1, 2, index=module("pandas").Index([0, 1], dtype="Int64")),
        series(1, 2),
    ),
    "pandas: a Series beside a DataFrame": lambda: (frame(p=[1.5]), series(1.0, index=["p"])),
    "pandas: a NumPy array beside a Series": lambda: (series(1.0), np.ones(1)),
    "Polars: nulls": lambda: (polars(1, None), 1),
    "Polars: Int128, UInt128, Decimal": lambda: (
        polars(1, dtype=module("polars").Int128),
        polars(1, dtype=module("polars").Int128),
    ),
    "Polars: a Series beside a DataFrame": lambda: (polars(1.5).to_frame(), polars(1.0)),
    "Polars: columns of other names": lambda: (polars(1.5).to_frame(), polars(1.0).rename("m").to_frame()),
    "Polars: a DataFrame of several types less a number": lambda: (
        module("polars").DataFrame({"p": [1], "q": [1.5]}),
        1,
    ),
    "Polars: a NumPy array beside a Series": lambda: (polars(1.5), np.ones(1)),
    "Polars: a LazyFrame or an expression": lambda: (module("polars").col("n"), 1),
    "xarray: labels that differ": lambda: (labelled([1, 2]), labelled([2, 3])),
    "xarray: a groupby beside a DataArray": months,
    "xarray: a NumPy array beside a DataArray": lambda: (labelled([1, 2]), np.ones(2)),
    "xarray: DataTrees with other nodes or variables": lambda: (tree("p", "q"), tree("p")),
    "Dask: blocks of another type than announced": lambda: (announced("f8", "f4"), announced("f4", "f4")),
    "Dask: a masked NumPy array less a Dask array": lambda: (
        np.ma.array([1.0], mask=[1]),
        module("dask.array").ones(1),
    ),
    "Dask: sparse blocks, or such with units": lambda: (
        (module("dask.array").eye(2, chunks=2).map_blocks(module("scipy.sparse").csr_array),) * 2
    ),
    "Dask: blocks of unknown lengths that differ": unknown,
    "JAX: two element types": lambda: (jax([1], "int8"), jax([1], "float32")),
    "JAX: a weakly typed int that does not fit": lambda: (jax([5], "uint8"), module("jax.numpy").asarray(300)),
    "JAX: a Python int that does not fit": lambda: (jax([5], "uint8"), 300),
    "JAX: a NumPy array beside a jax.Array": lambda: (jax([5], "uint8"), np.uint8([5])),
    "JAX: complex, float8_e4m3fnuz": lambda: (jax([1], "complex64"), jax([1], "complex64")),
    "JAX: traced arrays": lambda: (jax([1], "float32"), jax([1], "float32")),
    "JAX: subnormals": lambda: (jax([3e-45], "float32"), jax([1e-45], "float32")),
    "PyTorch: two element types": lambda: (torch([1], "int8"), torch([1.0], "float32")),
    "PyTorch: a Python int that does not fit": lambda: (torch([5], "uint8"), 300),
    "PyTorch: a NumPy array beside a tensor": lambda: (torch([5], "uint8"), np.uint8([5])),
    "PyTorch: complex, quantised, sparse": lambda: (torch([1], "complex64"), torch([1], "complex64")),
    "PyTorch: uint16, uint32, uint64, float8": lambda: (torch([5], "uint16"), torch([5], "uint16")),
    "PyTorch: uint1, uint2, int2, uint4, int4": lambda: (narrow_torch(5, "uint4"), narrow_torch(7, "uint4")),
    "PyTorch: no elements here (meta, fake, DTensor, nested, masked)": lambda: (
        torch([1.0], "float32", device="meta"),
        torch([1.0], "float32", device="meta"),
    ),
    "PyTorch: an out of another shape": lambda: (torch([1.0], "float32"), torch([1.0], "float32")),
    "DLPack without an array API namespace (TensorFlow, pyarrow)": lambda: (Exchanged(), Exchanged()),
    "DLPack: arrays on two devices": lambda: (strict("device1"), strict("CPU_DEVICE")),
    "masked arrays: numbers below the mask": lambda: (np.ma.array([1.0, 2.0], mask=[0, 1]), 1.0),
    "masked arrays: numpy.ma.masked": lambda: (np.ma.array([1.0]), np.ma.masked),
    "masked arrays: a subclass of higher priority": lambda: (
        np.ones(2).view(High),
        np.ma.array([1.0, 2.0], mask=[0, 1]),
    ),
    "NumPy: datetime64, records, objects": lambda: (
        np.array(["2020-01-02"], "M8[D]"),
        np.array(["2020-01-01"], "M8[D]"),
    ),
    "NumPy: arrays without axes": lambda: (np.array(1.0), np.array(2.0)),
    "NumPy: bfloat16 and a Python float": lambda: (np.ones(1, ml_dtypes.bfloat16), 0.1),
    "NumPy: a Python int beyond float64": lambda: (np.ones(1), 10**400),
    "NumPy: a class with its own __array_ufunc__": lambda: (np.ones(2).view(Units), np.ones(2)),
}
"""A row's first column → two operands that it is about."""


class Exchanged:
    """An array of a library without a namespace of the array API."""

    array = np.ones(2)

    def __sub__(self, other: Any) -> Any:
        return self

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class High(np.ndarray):
    """A class whose ``__array_priority__`` is that of masked arrays: NumPy wraps the result in it."""

    __array_priority__ = 15.0


class Units(np.ndarray):
    """A class that says itself what NumPy's functions do with it."""

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **more: Any) -> Any:
        plain = [np.asarray(one) for one in operands]
        return getattr(function, method)(*plain, **more)


ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)[1:]  # without the head


def outcome(call: Callable[[], Any]) -> str:
    """What a call does, as the table's columns say it: computes, or refuses, here with the class of the error."""
    try:
        with np.errstate(all="ignore"):
            found = call()
            if hasattr(found, "compute"):
                found.compute(scheduler="synchronous")
    except mn.MinuendError as error:
        return f"`{type(error).__name__}`"
    except Exception:
        return "refuses"
    return "computes"


@pytest.mark.filterwarnings("ignore")  # Dask's and torch's own, of what they compute
@pytest.mark.parametrize(("what", "own", "ours"), [row[:3] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_row_is_what_happens(what: str, own: str, ours: str) -> None:
    a, b = OPERANDS[what]()
    calls: list[Callable[..., Any]] = [operator.sub, mn.subtract]
    if "out of another shape" in what:
        calls = [
            functools.partial(call, out=torch([0.0] * 3, "float32")) for call in (module("torch").sub, mn.subtract)
        ]
    if what == "JAX: traced arrays":
        calls = [module("jax").jit(call) for call in calls]
    outcomes = [outcome(functools.partial(call, a, b)) for call in calls]
    assert outcomes == [own, ours]


def test_every_row_of_the_page_is_tried() -> None:
    assert [row[0] for row in ROWS] == list(OPERANDS)
