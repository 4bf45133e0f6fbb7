"""Const layers of OpenVINO models as files of tensors."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from minuend.errors import DTypeError, FileFormatError, MinuendError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files
from minuend.files.stored_elements import Contiguous, InMemory
from minuend.openvino.ir.builder import Builder

W = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A model of two large constants, and one of four bits."""
    build = Builder()
    values = {
        "W": W,
        "b": np.arange(3).astype(ml_dtypes.bfloat16),
        "narrow": np.arange(1, 4).astype(ml_dtypes.uint4),
        "flags": np.array([True, False]),
    }
    for name, value in values.items():
        build.result(build.constant(name, value))
    build.model.save(tmp_path / "m.xml")
    return str(tmp_path / "m.xml")


def test_constants_are_tensors_by_name(path: str) -> None:
    found = open_tensors(path, every_type=True)
    assert {name: (str(t.element), t.shape, t.read().tolist()) for name, t in found.items()} == {
        "W": ("float32", (2, 3), W.tolist()),
        "b": ("bfloat16", (3,), [0, 1, 2]),
        "narrow": ("uint4", (3,), [1, 2, 3]),
        "flags": ("bool", (2,), [True, False]),
    }
    assert isinstance(found["W"].elements(), Contiguous)
    assert isinstance(found["narrow"].elements(), InMemory)
    assert found["W"].elements().part((slice(1, 2), slice(1, 3))).tolist() == [[4, 5]]


def test_a_constant_is_subtracted(tmp_path: Path, path: str) -> None:
    np.save(tmp_path / "b.npy", np.ones(3, np.float32))
    subtract_files(f"{path}::W", str(tmp_path / "b.npy"), str(tmp_path / "o.npy"))
    assert np.load(tmp_path / "o.npy").tolist() == (W - 1).tolist()


def test_what_arrays_do_not_hold_as_numbers_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(DTypeError, match=r"element type 'boolean'; expected f16, .* at .* constant 'flags'"):
        open_tensors(path)["flags"]
    text = (tmp_path / "m.xml").read_text()
    (tmp_path / "m.xml").write_text(text.replace('"u4"', '"nf4"').replace('"U4"', '"NF4"'))
    with pytest.raises(DTypeError, match="element type 'nf4'; expected "):
        open_tensors(path)["narrow"]


def test_a_bin_that_is_missing_or_short_is_told(tmp_path: Path, path: str) -> None:
    (tmp_path / "m.bin").write_bytes(b"")
    with pytest.raises(FileFormatError):
        open_tensors(path)
    (tmp_path / "m.bin").unlink()
    with pytest.raises(FileFormatError, match=r"m\.bin"):
        open_tensors(path)["W"].read()


def test_no_output_replaces_the_bin(tmp_path: Path, path: str) -> None:
    (tmp_path / "o.npy").symlink_to(tmp_path / "m.bin")
    with pytest.raises(MinuendError, match="is also an input"):
        subtract_files(f"{path}::W", f"{path}::W", str(tmp_path / "o.npy"))
