"""Across modules: in pandas, Polars and xarray labels must be equal, and no type changes."""

from __future__ import annotations

import itertools

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


def test_attributes_flags_and_classes_are_those_of_pandas_own_difference(pd):
    class Readings(pd.Series):
        _metadata = ("sensor",)

        @property
        def _constructor(self):
            return Readings

    class Table(pd.DataFrame):
        @property
        def _constructor(self):
            return Table

    a, b = (pd.Series([1.5, 2.5], index=["x", "y"]) for _ in range(2))
    a.attrs["unit"], b.attrs["unit"] = "m", "km"
    own = Readings([1.5, 2.5], index=["x", "y"])
    own.sensor = "s1"
    alone = a.set_flags(allows_duplicate_labels=False)
    for x, y in itertools.product((a, b, own, alone, 1.0), repeat=2):
        if x is y is not a:
            continue
        got, want = mn.subtract(x, y), x - y
        assert type(got) is type(want)
        assert (got.attrs, got.flags) == (want.attrs, want.flags)
        assert getattr(got, "sensor", None) == getattr(want, "sensor", None)
        pd.testing.assert_series_equal(got, want)
    frame = Table({"p": [1.5]})
    frame.attrs["unit"] = "m"
    got = mn.subtract(frame, pd.DataFrame({"p": [1.0]}))
    assert type(got) is Table
    assert got.attrs == {"unit": "m"}
    assert type(mn.subtract(1.0, frame)) is Table


@pytest.mark.parametrize("names", [(1, 1.0), (float("nan"), np.float64("nan")), ("n", ("n", 1)), (None, "n")])
def test_a_common_name_is_what_pandas_takes_for_one(pd, names):
    a, b = (pd.Series([1.5], name=name) for name in names)
    assert repr(mn.subtract(a, b).name) == repr((a - b).name)
    a, b = pd.Series([1.5], name=pd.NA), pd.Series([1.5], name="n")
    assert mn.subtract(a, a).name is pd.NA
    assert mn.subtract(a, b).name is None


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


@pytest.mark.parametrize(
    ("dtype", "plain"), [("UInt8", "uint8"), ("Float32", "float32"), ("Sparse[float64]", "float64"), ("category", "")]
)
def test_the_type_that_is_advised_holds_the_same_numbers(pd, dtype, plain):
    """Floats were advised to become int64."""
    with pytest.raises(DTypeError) as caught:
        mn.subtract(pd.Series([1, 2]).astype(dtype), 1)
    assert str(caught.value).endswith(f"as a.astype({plain!r}) gives" if plain else "expected one of NumPy's")


def test_labels_of_two_types_are_refused_with_both(pd):
    a, b = (pd.Series([1, 2], index=pd.Index([0, 1], dtype=dtype)) for dtype in ("Int64", "int64"))
    with pytest.raises(ShapeError, match=r"the index of a and b differ \(Int64 and int64\); expected equal labels"):
        mn.subtract(a, b)


def test_an_array_without_axes_is_a_number_beside_labels(pd):
    a = pd.Series([5, 200], dtype="uint8", name="n")
    pd.testing.assert_series_equal(mn.subtract(a, np.array(10, np.uint8)), a - np.array(10, np.uint8))
    pd.testing.assert_series_equal(mn.subtract(np.array(10, np.uint8), a), np.array(10, np.uint8) - a)
    with pytest.raises(DTypeError, match="a is of uint8 and b of int64"):
        mn.subtract(a, np.array(10))
    with pytest.raises(DTypeError, match=r"b is a numpy\.ndarray beside a pandas"):
        mn.subtract(a, np.array(10, object))  # which gives a Python number


def test_what_is_no_array_of_its_library_is_not_beside_one(pd):
    with pytest.raises(DTypeError) as caught:
        mn.subtract(pd.Index([1]), pd.Index([2]))
    assert str(caught.value) == "a is a pandas.Index; expected a pandas Series or DataFrame: pandas.Series(x)"


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
    for other in (pl.Series(["x"]), pl.Series([1], dtype=pl.Int128), pl.Series([1], dtype=pl.Decimal(10, 2))):
        with pytest.raises(DTypeError) as caught:
            mn.subtract(other, 1)
        assert str(caught.value) == (
            f"a is of Polars' type {other.dtype}; expected one of its integers and floats of up to 64 bits"
        )
    with pytest.raises(ShapeError, match="a has 2 elements and b 3; expected equal lengths, or 1"):
        mn.subtract(pl.Series([1, 2]), pl.Series([1, 2, 3]))
    with pytest.raises(ShapeError, match="a and b have other columns or lengths"):
        mn.subtract(pl.DataFrame({"p": [1]}), pl.DataFrame({"q": [1]}))


def test_a_polars_series_of_one_element_goes_with_any_length(pl):
    a, one = pl.Series("n", [5, 200], dtype=pl.UInt8), pl.Series("m", [10], dtype=pl.UInt8)
    for x, y in ((a, one), (one, a)):
        assert mn.subtract(x, y).equals(x - y, check_names=True)


def test_a_class_of_polars_gives_itself(pl):
    """A subclass was refused as a Series beside a DataFrame."""

    class Readings(pl.Series):
        pass

    class Table(pl.DataFrame):
        pass

    plain = pl.Series("n", [5, 7])
    own, table = Readings("n", [5, 7]), Table({"n": [5, 7]})
    for a, b in (
        (own, plain),
        (plain, own),
        (own, 1),
        (table, plain.to_frame()),
        (plain.to_frame(), table),
        (table, 1),
    ):
        found, want = mn.subtract(a, b), a - b
        assert type(found) is type(want)
        assert found.equals(want)


def test_a_polars_frame_without_columns_keeps_the_height_that_polars_keeps(pl):
    rows = pl.DataFrame({"a": [1, 2, 3]}).drop("a")
    assert rows.height == 3
    assert [mn.subtract(rows, 1).shape, mn.subtract(1, rows).shape] == [(rows - 1).shape] * 2 == [(3, 0)] * 2
    assert mn.subtract(rows, rows).shape == (rows - rows).shape


def test_what_polars_computes_later_is_refused_as_that(pl):
    with pytest.raises(DTypeError, match=r"a is a polars\..*; expected a Polars Series or DataFrame: x\.collect\(\)"):
        mn.subtract(pl.LazyFrame({"n": [1]}), 1)


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


def test_names_classes_and_attributes_of_coordinates_are_xarrays_own(xr):
    class Readings(xr.DataArray):
        __slots__ = ()

    def array(name, unit, kind=xr.DataArray):
        coords = {"x": ("x", [1, 2, 3], {"unit": unit}), "place": ("x", [7, 8, 9], {"of": unit}), "at": len(unit)}
        return kind(np.arange(6.0).reshape(2, 3), coords, ("y", "x"), name, {"unit": unit, "also": 1})

    one, other, third = array("n", "m"), array(None, "km"), array("n", "m", Readings)
    sets = [one.to_dataset(name="v"), other.to_dataset(name="v")]
    turned = sets[1].transpose("x", "y")
    for a, b in itertools.product((one, other, third, *sets, turned, one.variable, 2.0), repeat=2):
        if a is b is not one:
            continue
        for keep in ("default", True, False):
            with xr.set_options(keep_attrs=keep):
                got, want = mn.subtract(a, b), a - b
            assert type(got) is type(want)
            assert list(got.sizes) == list(want.sizes)
            xr.testing.assert_identical(got, want)


def test_the_option_for_joining_labels_is_not_followed(xr):
    a = xr.DataArray(np.ones(3), dims="x", coords={"x": [1, 2, 3]})
    with xr.set_options(arithmetic_join="inner"), pytest.raises(ShapeError, match="the labels of a and b differ"):
        mn.subtract(a, a[1:])


def test_what_xarray_does_not_join_is_refused_with_its_reason(xr):
    a, b = xr.Dataset({"v": ("x", [1.0, 2.0])}), xr.Dataset({"v": ("x", [1.0, 2.0]), "w": ("x", [1.0, 2.0])})
    with pytest.raises(ShapeError) as caught:
        mn.subtract(a, b)
    assert str(caught.value) == "one of a and b alone has the data variables 'w'; expected the same in both"
    with pytest.raises(ShapeError, match=r"^xarray does not join a and b: .* for dimension '?x'?: "):
        mn.subtract(xr.Variable("x", [1.0, 2.0]), xr.Variable("x", [1.0, 2.0, 3.0]))


def test_sizes_without_labels_are_not_called_labels(xr):
    """xarray.align was advised, which refuses them as well."""
    a, b = (xr.DataArray(np.ones(n), dims="x") for n in (3, 2))
    with pytest.raises(ShapeError, match=r"^xarray does not join a and b: .*conflicting dimension sizes"):
        mn.subtract(a, b)


def trees(xr):
    a = xr.Dataset({"v": ("x", [5.0, 7.0], {"unit": "m"})}, {"x": [1, 2]}, {"of": "a"})
    one = xr.DataTree.from_dict({"/": a, "/deep/er": a.assign(w=a.v)}, name="one")
    return one, one + 1


def test_trees_of_xarray_are_subtracted_node_by_node(xr):
    one, other = trees(xr)
    flat = xr.DataTree.from_dict({"/": one.dataset})
    for a, b in ((one, other), (other, one), (one, 1.0), (1.0, one), (one["deep"], one["deep"]), (flat, one.dataset)):
        xr.testing.assert_identical(mn.subtract(a, b), a - b)
    with pytest.raises(ShapeError, match="xarray does not join a and b"):
        mn.subtract(one, flat)
    with pytest.raises(ShapeError, match="one of a and b alone has the data variables 'v'"):
        mn.subtract(one, one.dataset)
    with pytest.raises(ShapeError, match="one of a and b alone has the data variables 'w'"):
        mn.subtract(one, xr.DataTree.from_dict({"/": one.dataset, "/deep/er": one.dataset}))
    with pytest.raises(ShapeError, match="the labels of a and b differ"):
        mn.subtract(one, xr.map_over_datasets(lambda node: node.isel(x=[1, 0]) if node.sizes else node, one))


def test_units_inside_xarray_are_refused_before_xarray_joins_anything(xr):
    pint = pytest.importorskip("pint")
    metres = xr.Variable("x", pint.UnitRegistry().Quantity(np.ones(2), "m"))
    for a, b in ((metres, 1.0), (xr.Dataset({"v": metres}), xr.Variable("y", np.ones(3)))):
        with pytest.raises(DTypeError, match="whose own __array_ufunc__ carries more than its numbers"):
            mn.subtract(a, b)


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
