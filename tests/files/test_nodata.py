"""Elements that hold no data, where nothing but the call says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minuend as mn
from minuend.core.elements import TYPES
from minuend.files import TensorFile
from minuend.files.base import About, Tensor
from minuend.files.difference import subtract_files
from minuend.files.formats.missing import exact
from minuend.files.nodata import check
from minuend.files.policy_comparison import compare_files
from minuend.files.stored_elements import InMemory
from minuend.files.tensor_pairs import NUMPYS, pair_up


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.uint8([[5, 0, 9], [200, 7, 0]]))
    np.save("b.npy", np.uint8([[1, 9, 0], [255, 7, 3]]))
    np.save("one.npy", np.uint8([0]))
    np.save("f.npy", np.float32([1.5, np.nan, -9999]))
    np.save("g.npy", np.float32([1, 2, 3]))


@pytest.mark.usefixtures("files")
def test_a_given_value_is_nodata_on_either_side_and_overflows_nothing() -> None:
    for policy, corner in (("wrap", 201), ("saturate", 0), ("widen", -55)):
        report = subtract_files("a.npy", "b.npy", "c.npy", overflow=policy, nodata=0)  # type: ignore[arg-type]
        assert np.load("c.npy").tolist() == [[4, 0, 0], [corner, 0, 0]]
        (tensor,) = report.tensors
        assert (report.nodata, tensor.nodata, tensor.overflowed) == (0, 5 if policy == "saturate" else 4, 1)
    (tensor,) = compare_files("a.npy", "b.npy", nodata=0).tensors
    assert (tensor.overflowed, tensor.first, tensor.answers[1].high) == (1, ((1, 0), 200, 255), 4)


@pytest.mark.usefixtures("files")
def test_nan_may_be_given() -> None:
    (tensor,) = subtract_files("f.npy", "g.npy", "c.npy", nodata=float("nan")).tensors
    assert (tensor.nans, tensor.nodata, tensor.low) == (0, 1, -10002.0)
    (tensor,) = subtract_files("f.npy", "g.npy", "c.npy", nodata=-9999).tensors
    assert (tensor.nans, tensor.nodata, tensor.low) == (1, 1, 0.5)
    assert np.array_equal(np.load("c.npy"), np.float32([0.5, np.nan, -9999]), equal_nan=True)


@pytest.mark.usefixtures("files")
def test_one_element_that_goes_with_more_is_a_number_and_has_data() -> None:
    subtract_files("a.npy", "one.npy", "c.npy", nodata=0)
    assert np.load("c.npy").tolist() == np.load("a.npy").tolist()
    np.save("two.npy", np.uint8([[0], [1]]))
    subtract_files("a.npy", "two.npy", "c.npy", nodata=0)
    assert np.load("c.npy").tolist() == [[0, 0, 0], [199, 6, 0]]
    (tensor,) = subtract_files("one.npy", "one.npy", "c.npy", nodata=0).tensors
    assert tensor.nodata == 1


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("file", "value", "text"),
    [
        ("a.npy", 256, "--nodata 256 does not fit uint8 (0 to 255); name a value of that type"),
        ("a.npy", -1, "--nodata -1 does not fit uint8 (0 to 255); name a value of that type"),
        ("a.npy", 0.5, "--nodata 0.5 does not fit uint8 (0 to 255); name a value of that type"),
        ("a.npy", float("nan"), "--nodata nan does not fit uint8 (0 to 255); name a value of that type"),
        ("f.npy", 1e300, "--nodata 1e+300 does not fit float32; name a value of that type"),
        ("f.npy", 10**400, f"--nodata {10**400} does not fit float32; name a value of that type"),
    ],
    ids=["above", "below", "a fraction", "NaN", "a large float", "a huge whole number"],
)
def test_a_value_that_the_type_does_not_hold_is_refused(file: str, value: Any, text: str) -> None:
    with pytest.raises(mn.errors.DTypeError) as caught:
        subtract_files(file, file, "c.npy", nodata=value)
    assert caught.value.args[0].partition("; see ")[0].endswith(text)
    assert not Path("c.npy").exists()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9007199254740993", 2**53 + 1),
        ("9007199254740993.0", 2**53 + 1),
        ("9.007199254740993e15", 2**53 + 1),
        ("18446744073709551615", 2**64 - 1),
        ("-9.2233720368547758e+18", -(2**63)),
        ("1e3", 1000),
        (" 0.5 ", 0.5),
        ("-inf", -np.inf),
    ],
)
def test_a_number_is_read_to_its_last_digit(text: str, value: Any) -> None:
    assert (exact(text), type(exact(text))) == (value, type(value))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("dtype", "value"), [("int64", 2**53 + 1), ("uint64", 2**64 - 1), ("uint64", 2**53 + 1)])
def test_wide_integers_are_nodata_to_their_last_digit(dtype: str, value: int) -> None:
    np.save("x.npy", np.array([value, value - 1, 5], dtype))
    np.save("y.npy", np.array([0, 0, value], dtype))
    (tensor,) = subtract_files("x.npy", "y.npy", "c.npy", nodata=value).tensors
    assert (np.load("c.npy").tolist(), tensor.nodata) == ([value, value - 1, value], 2)


def operand(path: str, nodata: int | float | None, dtype: str = "int16") -> TensorFile:
    element = TYPES[dtype]
    held = InMemory(np.array([1, 2, 3], element.memory))
    tensor = Tensor("1", element, (3,), lambda: held, About(nodata=nodata))
    return TensorFile(path, True, {"1": lambda: tensor})


def test_what_a_file_states_is_not_contradicted() -> None:
    silent, stating = operand("silent.tif", None), operand("stating.tif", -9999)
    for a, b in ((silent, stating), (stating, silent)):
        with pytest.raises(mn.errors.FileFormatError) as caught:
            pair_up(a, b, NUMPYS, False, 0)
        assert str(caught.value) == (
            "stating.tif states the nodata value -9999, and --nodata says 0, in tensor '1'; leave --nodata out, it is "
            "for files that state none"
        )
        (found,), _ = pair_up(a, b, NUMPYS, False, -9999)
        assert (found.a.about.nodata, found.b.about.nodata, found.about.nodata) == (-9999,) * 3
    both = operand("nan.tif", float("nan"), "float32")
    pair_up(both, both, NUMPYS, False, float("nan"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("bfloat16", 10**40, "bfloat16"),
        ("float8_e4m3fn", 1000, "float8_e4m3fn"),
        ("float16", 1e-9, "float16"),
        ("int4", 8, "int4 (-8 to 7)"),
    ],
)
def test_a_value_fits_a_type_that_has_one_near_it(name: str, value: Any, message: str) -> None:
    hint = "choose another policy" if name == "int4" else "state one that does first"
    check(3, TYPES[name], "")
    with pytest.raises(mn.errors.DTypeError) as caught:
        check(value, TYPES[name], ", in x")
    assert f"the nodata value {value} does not fit {message}, in x; {hint}" in str(caught.value)
