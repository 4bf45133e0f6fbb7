"""Across modules: each row of the table in docs/arrays-of-libraries.md is tried, on both sides."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def jax(values: Any, dtype: str) -> Any:
    return module("jax.numpy").asarray(values, dtype)


def torch(values: Any, dtype: str, **how: Any) -> Any:
    return module("torch").tensor(values, dtype=getattr(module("torch"), dtype), **how)


OPERANDS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "pandas: labels that differ": lambda: (series(1.0, 2.0), series(1.0, 2.0, index=[1, 0])),
    "pandas: two element types": lambda: (series(1, 2), series(1.0, 2.0)),
    "pandas: columns of several types": lambda: (frame(p=[1], q=[1.5]), frame(p=[1], q=[1.5])),
    "pandas: a type of its own (Int64, category, datetime64, …)": lambda: (series(1, 2, dtype="Int64"), 1),
    "pandas: a Series beside a DataFrame": lambda: (frame(p=[1.5]), series(1.0, index=["p"])),
    "pandas: a NumPy array beside a Series": lambda: (series(1.0), np.ones(1)),
    "Polars: nulls": lambda: (polars(1, None), 1),
    "Polars: Int128, UInt128, Decimal": lambda: (
        polars(1, dtype=module("polars").Int128),
        polars(1, dtype=module("polars").Int128),
    ),
    "Polars: a Series beside a DataFrame": lambda: (polars(1.5).to_frame(), polars(1.0)),
    "Polars: columns of other names": lambda: (polars(1.5).to_frame(), polars(1.0).rename("m").to_frame()),
    "xarray: labels that differ": lambda: (labelled([1, 2]), labelled([2, 3])),
    "xarray: a groupby beside a DataArray": months,
    "xarray: a NumPy array beside a DataArray": lambda: (labelled([1, 2]), np.ones(2)),
    "Dask: blocks of unknown lengths that differ": unknown,
    "JAX: two element types": lambda: (jax([1], "int8"), jax([1], "float32")),
    "JAX: a weakly typed int that does not fit": lambda: (jax([5], "uint8"), module("jax.numpy").asarray(300)),
    "JAX: subnormals": lambda: (jax([3e-45], "float32"), jax([1e-45], "float32")),
    "PyTorch: two element types": lambda: (torch([1], "int8"), torch([1.0], "float32")),
    "PyTorch: complex, quantised, sparse": lambda: (torch([1], "complex64"), torch([1], "complex64")),
    "PyTorch: an out of another shape": lambda: (torch([1.0], "float32"), torch([1.0], "float32")),
    "masked arrays: a subclass of higher priority": lambda: (
        np.ones(2).view(High),
        np.ma.array([1.0, 2.0], mask=[0, 1]),
    ),
    "NumPy: datetime64, records, objects": lambda: (
        np.array(["2020-01-02"], "M8[D]"),
        np.array(["2020-01-01"], "M8[D]"),
    ),
    "NumPy: a class with its own __array_ufunc__": lambda: (np.ones(2).view(Units), np.ones(2)),
}
"""A row's first column → two operands that it is about."""


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
    outcomes = [outcome(functools.partial(call, a, b)) for call in calls]
    assert outcomes == [own, ours]


def test_every_row_of_the_page_is_tried() -> None:
    assert [row[0] for row in ROWS] == list(OPERANDS)
