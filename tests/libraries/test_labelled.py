"""pandas, Polars and xarray: labels have to be equal, and nothing turns into another type."""

from __future__ import annotations

import numpy as np
import pytest

import minuend as mn
from minuend.errors import DTypeError, OverflowFound, ShapeError

# ---- pandas -----------------------------------------------------------------------------------------------------


@pytest.fixture
def pd():
    return pytest.importorskip("pandas")


def test_series_keep_their_index_and_the_name_that_both_have(pd):
    a = pd.Series(np.array([5, 200], np.uint8), index=["x", "y"], name="n")
    b = pd.Series(np.array([10, 100], np.uint8), index=["x", "y"], name="n")
    got = mn.subtract(a, b)
    pd.testing.assert_series_equal(got, a - b)
    assert got.tolist() == [251, 100]
    assert mn.subtract(a, b.rename("m")).name is None
    assert mn.subtract(a, 1).name == "n"
    assert mn.subtract(a, b, overflow="widen").tolist() == [-5, 100]


def test_data_frames_keep_both_labels(pd):
    a = pd.DataFrame({"p": [1.5, 2.5], "q": [3.0, 4.0]}, index=[7, 9])
    pd.testing.assert_frame_equal(mn.subtract(a, a * 2), a - a * 2)
    pd.testing.assert_frame_equal(mn.subtract(10.0, a), 10.0 - a)


def test_labels_that_differ_are_refused(pd):
    a, b = pd.Series([1.0, 2.0], index=["x", "y"]), pd.Series([1.0, 2.0], index=["y", "x"])
    with pytest.raises(ShapeError) as caught:
        mn.subtract(a, b)
    assert str(caught.value) == (
        "the index of a and b differ; expected equal labels in one order, as a.align(b, join='inner') makes"
    )
    with pytest.raises(ShapeError, match="the columns of a and b differ"):
        mn.subtract(a.to_frame("p"), a.to_frame("q"))
    with pytest.raises(ShapeError, match="a Series and a DataFrame do not go together"):
        mn.subtract(a, a.to_frame("p"))


def test_types_of_pandas_own_and_mixed_columns_are_refused(pd):
    with pytest.raises(DTypeError) as caught:
        mn.subtract(pd.Series([1, None], dtype="Int64"), 1)
    assert str(caught.value) == ("a is of pandas' type Int64; expected one of NumPy's, as a.astype('int64') gives")
    with pytest.raises(DTypeError, match="a has columns of int64, float64; expected one type"):
        mn.subtract(pd.DataFrame({"p": [1], "q": [1.0]}), 1)
    with pytest.raises(DTypeError, match=r"b is a numpy.ndarray beside a pandas Series or DataFrame"):
        mn.subtract(pd.Series([1.0]), np.ones(1))


# ---- Polars -----------------------------------------------------------------------------------------------------


@pytest.fixture
def pl():
    return pytest.importorskip("polars")


def test_polars_series_and_frames(pl):
    a, b = pl.Series("n", [5, 200], dtype=pl.UInt8), pl.Series("m", [10, 100], dtype=pl.UInt8)
    got = mn.subtract(a, b)
    assert (got.name, got.dtype, got.to_list()) == ("n", pl.UInt8, [251, 100])
    assert mn.subtract(a, b, overflow="saturate").to_list() == [0, 100]
    frame = pl.DataFrame({"p": [1.5, 2.5], "q": [1, 2]})
    assert mn.subtract(frame, frame).to_dict(as_series=False) == {"p": [0.0, 0.0], "q": [0, 0]}


def test_polars_nulls_names_and_lengths_are_refused(pl):
    a = pl.Series("n", [5, None], dtype=pl.Int32)
    with pytest.raises(DTypeError) as caught:
        mn.subtract(a, 1)
    assert str(caught.value) == "a has 1 nulls; expected none, as .fill_null(…) leaves"
    with pytest.raises(DTypeError, match="a is of Polars' type String; expected one of its numeric types"):
        mn.subtract(pl.Series(["x"]), 1)
    with pytest.raises(ShapeError, match="a has 2 elements and b 3; expected equal lengths"):
        mn.subtract(pl.Series([1, 2]), pl.Series([1, 2, 3]))
    with pytest.raises(ShapeError, match="a and b have other columns or lengths"):
        mn.subtract(pl.DataFrame({"p": [1]}), pl.DataFrame({"q": [1]}))


# ---- xarray -----------------------------------------------------------------------------------------------------


@pytest.fixture
def xr():
    return pytest.importorskip("xarray")


def test_dims_meet_by_name_and_attributes_follow_xarrays_own_rule(xr):
    a = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("y", "x"), coords={"x": [1, 2, 3]}, attrs={"unit": "m"})
    b = xr.DataArray(np.ones(3), dims="x", coords={"x": [1, 2, 3]}, attrs={"unit": "m", "b": 1})
    for told in ("default", True, False):
        with xr.set_options(keep_attrs=told):
            xr.testing.assert_identical(mn.subtract(a, b), a - b)
            xr.testing.assert_identical(mn.subtract(b, a), b - a)
            xr.testing.assert_identical(mn.subtract(a, 1.0), a - 1.0)
    xr.testing.assert_equal(mn.subtract(a.to_dataset(name="v"), b), a.to_dataset(name="v") - b)


def test_labels_of_xarray_that_differ_are_refused(xr):
    a = xr.DataArray(np.ones(3), dims="x", coords={"x": [1, 2, 3]})
    with pytest.raises(ShapeError, match=r"the labels of a and b differ .*; xarray.align\(a, b, join='inner'\)"):
        mn.subtract(a, a.assign_coords(x=[1, 2, 4]))


def test_integers_in_xarray_wrap_or_are_told(xr):
    a = xr.DataArray(np.array([5], np.uint8), dims="x")
    assert mn.subtract(a, a + np.uint8(1)).dtype == np.uint8
    with pytest.raises(OverflowFound):
        mn.subtract(a, a + np.uint8(1), overflow="error")


def test_dask_inside_stays_lazy(xr):
    da = pytest.importorskip("dask.array")
    a = xr.DataArray(da.ones((4, 4), chunks=2, dtype=np.float32), dims=("y", "x"))
    got = mn.subtract(a, a)
    assert isinstance(got.data, da.Array)
    assert not got.compute().any()
