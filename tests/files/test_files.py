"""Across modules: opening by suffix, selecting a tensor, and files that appear whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from minuend import errors, files
from minuend.core.elements import TYPES
from minuend.files import Result, open_tensors, write_tensors
from minuend.files.streaming import regions
from minuend.files.streaming.regions import Region

X = np.arange(6, dtype=np.int16)
FILES = [suffix for suffix in files.file_formats() if suffix not in (".zarr", ".tif", ".tiff", ".png")]
"""All formats but images (test_tiff.py), and but the one whose "files" are folders (test_zarr.py, test_chunks.py)."""
RESULT = Result.of("x", TYPES["int16"], X)


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", [*FILES, ".zarr", ".NPY", ".SafeTensors"])
def test_each_format_gives_back_what_it_was_given(tmp_path: Path, suffix: str) -> None:
    path = str(tmp_path / f"x{suffix}")
    write_tensors(path, [RESULT])
    (tensor,) = open_tensors(path).values()
    assert (tensor.element, tensor.shape, tensor.read().tolist()) == (TYPES["int16"], (6,), X.tolist())


@pytest.mark.parametrize(("name", "came"), [("x.txt", "the suffix '.txt'"), ("x", "no suffix"), (".npy", "no suffix")])
def test_a_suffix_that_names_no_format_is_refused(tmp_path: Path, name: str, came: str) -> None:
    path = tmp_path / name
    path.touch()
    message = f"{path} has {came}, which names no format; expected "
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(str(path))
    assert str(caught.value) == message + errors.listed([*files.file_formats(), ".onnx", ".onnxtxt", ".xml"])
    with pytest.raises(errors.FileFormatError) as caught:
        write_tensors(str(path), [RESULT])
    assert str(caught.value) == message + errors.listed(files.file_formats())


@pytest.mark.parametrize("suffix", files.models())
def test_models_are_not_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    with pytest.raises(errors.FileFormatError) as caught:
        write_tensors(str(path), [RESULT])
    assert str(caught.value) == (
        f"{path} is called as a model is, whose constants are read and not written; "
        f"write to {errors.listed(files.file_formats())}"
    )
    assert file_names(tmp_path) == []


@pytest.mark.parametrize("suffix", FILES)
def test_a_missing_file_and_a_folder_are_distinguished(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    with pytest.raises(FileNotFoundError) as caught:
        open_tensors(str(path))
    assert str(caught.value) == f"there is no file {path}"
    path.mkdir()
    with pytest.raises(IsADirectoryError) as found:
        open_tensors(str(path))
    assert str(found.value) == f"{path} is a folder; expected a file"
    with pytest.raises(IsADirectoryError) as found:
        write_tensors(str(path), [RESULT])
    assert str(found.value) == f"{path} is a folder; expected a file name to write to"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_tensors(str(tmp_path / "no" / "x.npy"), [RESULT])
    assert str(caught.value) == f"there is no folder {tmp_path / 'no'} to write x.npy to"


def test_a_file_whose_own_name_holds_the_selector_is_that_file(tmp_path: Path) -> None:
    path = str(tmp_path / "a::b.npy")
    write_tensors(path, [RESULT])
    assert len(open_tensors(path)) == 1


def test_a_file_of_one_tensor_has_no_choice(tmp_path: Path) -> None:
    path = str(tmp_path / "x.npy")
    write_tensors(path, [RESULT])
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(f"{path}::x")
    assert str(caught.value) == f"{path} holds one tensor without a choice; leave out '::x'"


@pytest.mark.parametrize(
    ("suffix", "module", "extra"), [(".pb", "onnx", "onnx"), (".safetensors", "safetensors", "safetensors")]
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, module: str, extra: str
) -> None:
    path = str(tmp_path / f"x{suffix}")
    write_tensors(path, [RESULT])
    monkeypatch.setitem(sys.modules, module, None)
    message = f'{path} needs the package {module!r}: pip install "minuend[{extra}]"'
    with pytest.raises(errors.Unsupported) as caught:
        open_tensors(path)
    assert str(caught.value) == message
    with pytest.raises(errors.Unsupported) as caught:
        write_tensors(path, [RESULT])
    assert str(caught.value) == message


# ---- whole or not at all --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ValueError])
def test_a_failure_midway_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, error: type[BaseException]
) -> None:
    def breaking(region: Region) -> np.ndarray:
        if region[0].start == 0 and region[0].stop < len(X):  # a chunk may be all of it
            return X[region]
        raise error

    monkeypatch.setattr(regions, "BLOCK_BYTES", 6)

    path = tmp_path / f"x{suffix}"
    with pytest.raises(error):
        write_tensors(str(path), [Result("x", TYPES["int16"], X.shape, breaking)])
    assert file_names(tmp_path) == []
    path.write_bytes(b"old")
    with pytest.raises(error):
        write_tensors(str(path), [Result("x", TYPES["int16"], X.shape, breaking)])
    assert (file_names(tmp_path), path.read_bytes()) == ([path.name], b"old")


def test_a_file_that_exists_is_replaced_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.npy", tmp_path / "link.npy"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_tensors(str(link), [RESULT])
    assert link.is_symlink()
    assert np.array_equal(np.load(real), X)
    assert file_names(tmp_path) == ["link.npy", "real.npy"]


def test_the_new_file_has_the_permissions_that_a_new_file_gets(tmp_path: Path) -> None:
    write_tensors(str(tmp_path / "x.npy"), [RESULT])
    (tmp_path / "y").touch()
    assert (tmp_path / "x.npy").stat().st_mode == (tmp_path / "y").stat().st_mode


@pytest.mark.parametrize("alias", ["same", "hard link", "symbolic link", "detour"])
def test_an_output_that_is_an_input_is_refused_by_any_name(tmp_path: Path, alias: str) -> None:
    source = tmp_path / "in.npy"
    np.save(source, X)
    before = source.read_bytes()
    out = {"same": source, "detour": tmp_path / "." / ".." / tmp_path.name / "in.npy"}.get(alias, tmp_path / "out.npy")
    if alias == "hard link":
        os.link(source, out)
    elif alias == "symbolic link":
        out.symlink_to(source)
    with pytest.raises(errors.MinuendError) as caught:
        write_tensors(str(out), [RESULT], inputs=[str(source)])
    also = "" if str(out) == str(source) else f" (the same file as {source})"
    assert str(caught.value) == (
        f"the output {out} is also an input{also}; nothing is overwritten, name another output"
    )
    assert source.read_bytes() == before


def test_several_tensors_do_not_go_into_a_format_of_one(tmp_path: Path) -> None:
    for suffix in (".npy", ".pb"):
        path = tmp_path / f"x{suffix}"
        with pytest.raises(errors.FileFormatError) as caught:
            write_tensors(str(path), [RESULT, Result.of("y", TYPES["int16"], X)])
        assert str(caught.value) == (
            f"{path} holds one tensor and there are 2 ('x', 'y'); "
            "write to .npz, .safetensors, .zarr, .zarr.zip, .zip, .tif, .tiff, .h5, .hdf5, .nc or .nc4, or select "
            "one by file::name"
        )
