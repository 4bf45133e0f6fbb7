"""What the surfaces of files compare beyond values: why two files are refused, and what a refusal names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from differential import driver, subtracting
from differential.refusals import Reason, Why, unique
from differential.surface import Difference, from_json

from minuend import errors
from minuend.errors import DTypeError, FileFormatError, OverflowFound

SURFACES = driver.surfaces()
UNITS = FileFormatError("A and B have different units: 'K' and 'degC'; nothing is converted")


def test_a_refusal_for_another_reason_is_a_difference() -> None:
    assert subtracting.settled(UNITS, [Reason.SHAPES(), Reason.UNITS("'K' and 'degC'")], "none") == "refused: units"
    with pytest.raises(Difference, match=r"^ours refuses for another reason .*, expected scale; shapes \('v',\)$"):
        subtracting.settled(UNITS, [Reason.SCALE(), Reason.SHAPES("v")], "none")
    with pytest.raises(Difference, match="for another reason"):
        subtracting.settled(UNITS, [Reason.UNITS("'K' and 'm'")], "none")
    with pytest.raises(Difference, match="for another reason"):  # the words of it, and another class of errors
        subtracting.settled(DTypeError("types", str(UNITS)), [Reason.UNITS()], "none")
    with pytest.raises(Difference, match="theirs computes"):
        subtracting.settled(UNITS, (), "none")
    with pytest.raises(Difference, match="expected a refusal: units"):
        subtracting.settled("a report", [Reason.UNITS()], "none")
    assert unique([Reason.UNITS(), Reason.UNITS()]) == (Why(Reason.UNITS),)


def test_an_overflow_names_how_many_differences_and_the_first_one() -> None:
    lost = np.array([[False, False], [True, True]])
    reason = subtracting.overflowing(lost, np.dtype("int8"))
    text = "{} of 4 differences do not fit int8 (-128 to 127); the first is at index (1, 0): 100 - -100 = 200"
    for count, fits in ((2, True), (3, False)):
        error = OverflowFound(text.format(count), count=count, index=(1, 0), a=100, b=-100)
        assert reason.fits(error) is fits


def test_each_rule_has_an_error_of_the_package_and_words_of_its_own() -> None:
    words = [words for _, words in (one.value for one in Reason)]
    assert len(set(words)) == len(words) == len(Reason.__members__)
    for one in Reason:
        assert issubclass(getattr(errors, one.value[0]), errors.MinuendError)
        assert re.compile(one.value[1]).search("a text of no rule") is None


REFUSED: dict[str, dict[str, Any]] = {
    "npy": {"dtype": "record"},
    "safetensors": {"missing": 2},
    "png": {"mode": "P"},
    "tiff": {"form": "two axes", "flavor": "shaped"},
    "geotiff": {"dtype": "uint8", "dtype_b": "int8"},
    "hdf5": {"dtype": "reference"},
    "netcdf": {"index": ["float64"], "b_is": "shifted"},
    "zarr": {"index": ["float64"], "b_is": "shifted"},
    "zarr_arrays": {"dtype_b": "int8"},
    "dask": {"other": "int8"},
}
"""A case of each surface that is refused, and not for its units."""


@pytest.mark.parametrize("name", REFUSED)
def test_each_surface_reports_a_refusal_for_another_reason(name: str) -> None:
    surface = SURFACES[name]
    for package in surface.missing():
        pytest.skip(f"could not import {package!r}")
    case = from_json(surface.kind, REFUSED[name])
    what, why = driver.trial(surface, case)
    assert (what.partition(":")[0], why) == ("refused", "")

    def refuses(*_: Any, **__: Any) -> None:
        raise UNITS

    where = "minuend.subtract" if name == "dask" else "minuend.files.difference.subtract_files"
    with mock.patch(where, refuses):
        what, why = driver.trial(surface, case)
    assert what == "different"
    assert "for another reason" in why


def test_it_is_known_where_each_case_is_refused(tmp_path: Path) -> None:
    """A rule that is broken beside another one counts too: the package checks them in its own order."""
    case = from_json(SURFACES["netcdf"].kind, {"index": ["float64"], "b_is": "shifted", "packing_b": "scale"})
    for package in SURFACES["netcdf"].missing():
        pytest.skip(f"could not import {package!r}")
    assert SURFACES["netcdf"].compare(case, tmp_path) in ("refused: scale", "refused: coordinates")
