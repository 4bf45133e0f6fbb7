"""Chunks of zarr are unpacked to the bytes that their header gives, by every codec of either version."""

from __future__ import annotations

import bz2
import json
import lzma
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.errors import FileFormatError
from minuend.files import open_tensors

zarr = pytest.importorskip("zarr")
numcodecs = pytest.importorskip("numcodecs")

CODECS = ("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd")
NUMBERS = np.arange(600, dtype="<i4").reshape(20, 30)
TOO_LONG = "it unpacks to more than the 10 bytes that the header gives"


def version_2(folder: Path, chunk: bytes, **changes: Any) -> str:
    """An array of ten bytes in one chunk."""
    header = {
        "zarr_format": 2, "shape": [10], "chunks": [10], "dtype": "|u1", "fill_value": 0, "order": "C", "filters": None,
        "compressor": None,
    }  # fmt: skip
    (folder / "x.zarr").mkdir()
    (folder / "x.zarr" / ".zarray").write_text(json.dumps(header | changes))
    (folder / "x.zarr" / "0").write_bytes(chunk)
    return str(folder / "x.zarr")


def version_3(folder: Path, chunk: bytes, *codecs: Any) -> str:
    """The same of version 3."""
    header = {
        "zarr_format": 3, "node_type": "array", "shape": [10], "data_type": "uint8", "fill_value": 0,
        "codecs": [{"name": "bytes"}, *codecs],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    }  # fmt: skip
    (folder / "x.zarr" / "c").mkdir(parents=True)
    (folder / "x.zarr" / "zarr.json").write_text(json.dumps(header))
    (folder / "x.zarr" / "c" / "0").write_bytes(chunk)
    return str(folder / "x.zarr")


def message(path: str) -> str:
    with pytest.raises(FileFormatError) as caught:
        open_tensors(path)[""].read()
    return str(caught.value)


def packed(codec: str, content: bytes) -> bytes:
    return bytes(numcodecs.get_codec({"id": codec}).encode(content))


@pytest.mark.parametrize("codec", CODECS)
def test_a_chunk_that_holds_more_than_its_header_says_is_refused(codec: str, tmp_path: Path) -> None:
    for number, (make, settings) in enumerate(
        (
            (version_2, {"compressor": {"id": codec}}),
            (version_2, {"filters": [{"id": codec}]}),
            (version_3, {"name": f"numcodecs.{codec}", "configuration": {}}),
        )
    ):
        (tmp_path / str(number)).mkdir()
        chunk = packed(codec, bytes(1 << 20))
        place = tmp_path / str(number)
        path = version_3(place, chunk, settings) if make is version_3 else version_2(place, chunk, **settings)
        came = message(path)
        most = 65696 if number == 1 else 10
        assert came == (
            f"{path}: the chunk {'c/0' if number == 2 else 0} cannot be unpacked (it unpacks to more than the {most} "
            "bytes that the header gives); it is cut off or damaged, copy the array anew"
        )


@pytest.mark.parametrize("codec", CODECS)
def test_a_chunk_that_holds_less_or_is_cut_off_is_refused(codec: str, tmp_path: Path) -> None:
    for number, chunk in enumerate((packed(codec, bytes(9)), packed(codec, bytes(10))[:-3], b"")):
        (tmp_path / str(number)).mkdir()
        path = version_2(tmp_path / str(number), chunk, compressor={"id": codec})
        assert f"{path}: the chunk 0 cannot be unpacked" in message(path)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", [2, 3])
def test_what_zarr_writes_is_read(codec: str, version: int, tmp_path: Path) -> None:
    compressor = numcodecs.get_codec({"id": codec})
    if version == 3:
        compressor = {"name": f"numcodecs.{codec}", "configuration": {}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = zarr.create_array(
            tmp_path / "x.zarr", shape=NUMBERS.shape, chunks=(7, 8), dtype="<i4", compressors=compressor,
            zarr_format=version,
        )  # fmt: skip
        array[...] = NUMBERS
    assert np.array_equal(open_tensors(str(tmp_path / "x.zarr"))[""].read(), NUMBERS)


def test_shards_filters_and_codecs_around_codecs_are_read(tmp_path: Path) -> None:
    gzip, crc = zarr.codecs.GzipCodec(), zarr.codecs.Crc32cCodec()
    for name, settings in {
        "shards": {"shards": (10, 15), "chunks": (5, 5), "compressors": [gzip]},
        "twice": {"chunks": (7, 8), "compressors": [gzip, gzip, crc]},
        "shards around": {"shards": (10, 15), "chunks": (1, 1), "compressors": [zarr.codecs.BloscCodec(), crc]},
        "transposed": {"chunks": (7, 8), "filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
    }.items():
        zarr.create_array(tmp_path / f"{name}.zarr", shape=NUMBERS.shape, dtype="<i4", **settings)[...] = NUMBERS
        assert np.array_equal(open_tensors(str(tmp_path / f"{name}.zarr"))[""].read(), NUMBERS), name
    filters = [numcodecs.Delta("<i4", astype="<i8"), numcodecs.Shuffle(8)]
    zarr.create_array(
        tmp_path / "two.zarr", shape=NUMBERS.shape, dtype="<i4", chunks=(7, 8), filters=filters, zarr_format=2
    )[...] = NUMBERS
    assert np.array_equal(open_tensors(str(tmp_path / "two.zarr"))[""].read(), NUMBERS)


def test_bombs_within_shards_and_around_codecs_are_refused(tmp_path: Path) -> None:
    gzip = {"name": "gzip", "configuration": {"level": 1}}
    bomb = packed("gzip", bytes(1 << 20))
    (tmp_path / "twice").mkdir()
    came = message(version_3(tmp_path / "twice", packed("gzip", packed("gzip", bytes(1 << 27))), gzip, gzip))
    assert "it unpacks to more than the 65716 bytes that the header gives" in came
    (tmp_path / "shard").mkdir()
    path = version_3(tmp_path / "shard", bomb + np.array([0, len(bomb)], "<u8").tobytes())
    header = json.loads(Path(path, "zarr.json").read_text())
    inner = {"chunk_shape": [10], "codecs": [{"name": "bytes"}, gzip], "index_location": "end"}
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    header["codecs"] = [{"name": "sharding_indexed", "configuration": inner | {"index_codecs": [little]}}]
    Path(path, "zarr.json").write_text(json.dumps(header))
    assert TOO_LONG in message(path)


def test_streams_that_follow_each_other_are_one_chunk(tmp_path: Path) -> None:
    for codec, one in (("gzip", lambda x: packed("gzip", x)), ("bz2", bz2.compress), ("lzma", lzma.compress)):
        (tmp_path / codec).mkdir()
        path = version_2(tmp_path / codec, one(bytes(range(4))) + one(bytes(range(4, 10))), compressor={"id": codec})
        assert open_tensors(path)[""].read().tolist() == list(range(10))


def test_a_zstd_frame_that_states_no_size(tmp_path: Path) -> None:
    package = pytest.importorskip("zstandard")
    for size, name in ((10, "good"), (1 << 20, "bomb")):
        stream = package.ZstdCompressor().compressobj()
        (tmp_path / name).mkdir()
        path = version_2(
            tmp_path / name, stream.compress(bytes(size)) + stream.flush(), compressor={"id": "zstd", "level": 1}
        )
        if name == "good":
            assert not open_tensors(path)[""].read().any()
        else:
            assert "the chunk 0 cannot be unpacked" in message(path)


def test_a_dictionary_of_lzma_is_bounded(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    settings = {"compressor": {"id": "lzma", "format": lzma.FORMAT_RAW, "filters": filters}}
    small = lzma.compress(bytes(10), lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    assert "its dictionary takes more than 268435456 bytes" in message(version_2(tmp_path, small, **settings))


def test_a_chunk_that_is_stored_larger_than_its_array_is_not_read(tmp_path: Path) -> None:
    path = version_2(tmp_path, b"", compressor={"id": "zlib", "level": 1})
    chunk = Path(path, "0")
    with open(chunk, "wb") as stream:
        stream.truncate(1 << 40)
    assert message(path) == f"{chunk} has 1099511627776 bytes; a chunk of its array has 65716 at most"
    chunk.write_bytes(zlib.compress(bytes(range(10))))
    assert open_tensors(path)[""].read().tolist() == list(range(10))
