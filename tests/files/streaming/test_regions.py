"""Regions: however a tensor is cut, read, transposed and written, it is the same tensor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minuend.core.elements import TYPES
from minuend.files import Result, open_tensors, write_tensors
from minuend.files.stored_elements import Contiguous
from minuend.files.streaming import regions, transposing
from minuend.files.streaming.reading import Memory
from minuend.files.streaming.regions import Region

SHAPES = st.lists(st.integers(1, 6), max_size=4).map(tuple)


def array_of(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)


def region_in(data: Any, shape: tuple[int, ...]) -> Region:
    starts = [data.draw(st.integers(0, dim)) for dim in shape]
    return tuple(slice(at, data.draw(st.integers(at, dim))) for at, dim in zip(starts, shape, strict=True))


@pytest.mark.parametrize("fortran", [False, True])
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_part_of_a_stretch_is_what_numpy_slices(fortran: bool, data: Any) -> None:
    shape = data.draw(SHAPES)
    array = array_of(shape)
    raw = np.frombuffer(b"12345678" + array.tobytes("F" if fortran else "C"), np.uint8)
    elements = Contiguous(Memory(raw), 8, array.dtype, shape, fortran)
    region = region_in(data, shape)
    part = elements.part(region)
    assert not part.flags.writeable or part.size == 0
    assert np.array_equal(part, array[(*region, ...)])
    assert np.array_equal(elements.read(), array)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_every_way_of_cutting_covers_a_tensor_once(data: Any) -> None:
    shape = data.draw(SHAPES)
    chunks = tuple(data.draw(st.integers(1, dim + 1)) for dim in shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "BLOCK_BYTES", data.draw(st.integers(1, 200)))
        patch.setattr(regions, "BAND_BYTES", data.draw(st.integers(1, 200)))
        cuts = {
            "contiguous": list(regions.contiguous(shape, 4)),
            "boxes": list(regions.boxes(shape, chunks)),
            "bands": list(regions.bands(shape, 4, chunks)),
            "tiles": list(regions.tiles(shape, 4, chunks)),
        }
    for name, cut in cuts.items():
        seen = np.zeros(shape, int)
        for region in cut:
            seen[(*region, ...)] += 1
        assert (seen == 1).all(), name
        if name in ("contiguous", "bands"):  # C order: each goes on where the one before ended
            flat = np.concatenate([array_of(shape)[(*region, ...)].reshape(-1) for region in cut])
            assert flat.tolist() == list(range(flat.size)), name


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_runs_are_where_a_region_lies(data: Any) -> None:
    shape = data.draw(SHAPES)
    region = tuple(
        slice(at, data.draw(st.integers(at + 1, dim)))
        for dim, at in ((dim, data.draw(st.integers(0, dim - 1))) for dim in shape)
    )
    length, starts = regions.runs(region, shape)
    found = np.concatenate([np.arange(start, start + length) for start in starts])
    assert found.tolist() == array_of(shape)[(*region, ...)].reshape(-1).tolist()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_result_of_any_grid_is_written_whole(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    shape = data.draw(SHAPES)
    array = array_of(shape)
    chunks = data.draw(st.none() | st.tuples(*(st.integers(1, dim + 1) for dim in shape)))
    result = Result(
        "x", TYPES["int32"], shape, lambda region: array[(*region, ...)], chunks, fortran=data.draw(st.booleans())
    )
    path = str(tmp_path_factory.mktemp("grid") / f"x.{data.draw(st.sampled_from(['npy', 'npz']))}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "BLOCK_BYTES", data.draw(st.integers(1, 200)))
        patch.setattr(regions, "BAND_BYTES", data.draw(st.integers(1, 200)))
        write_tensors(path, [result])
    (tensor,) = open_tensors(path).values()
    assert np.array_equal(tensor.read(), array)


@settings(max_examples=60, deadline=None)
@given(SHAPES.filter(bool), st.integers(1, 400))
def test_what_is_turned_is_the_same_tensor(shape: tuple[int, ...], tile: int) -> None:
    array = array_of(shape)
    raw = np.frombuffer(array.tobytes("F"), np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transposing, "TILE_BYTES", tile)
        transposed = transposing.in_c_order(Contiguous(Memory(raw), 0, array.dtype, shape, True))
    assert not transposed.fortran
    assert np.array_equal(transposed.read(), array)


def test_files_in_fortran_order_give_one_in_fortran_order(tmp_path: Path) -> None:
    from minuend.files.difference import subtract_files

    a, b, out = (str(tmp_path / f"{name}.npy") for name in "abo")
    x = array_of((5, 6, 7))
    np.save(a, np.asfortranarray(2 * x))
    for other, fortran in ((np.asfortranarray(x), True), (np.asfortranarray(x[:1]), True), (x, False)):
        np.save(b, other)
        subtract_files(a, b, out)
        found = np.load(out)
        assert np.array_equal(found, 2 * x - other)
        assert found.flags.f_contiguous == fortran
