"""PNG: grey and colours of 8 and 16 bits, and what is none of these."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import minuend as mn
from minuend.actions.difference import subtract_files
from minuend.errors import MinuendError

codecs = pytest.importorskip("imagecodecs")


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (4, 3, 2), (6, 5, 3), (5, 6, 4)])
def test_images_come_back_exact(tmp_path: Path, shape: tuple[int, ...], dtype: str) -> None:
    random = np.random.default_rng(sum(shape))
    a, b = (random.integers(0, np.iinfo(dtype).max, shape, dtype) for _ in "ab")
    for name, array in (("a.png", a), ("b.png", b)):
        (tmp_path / name).write_bytes(codecs.png_encode(array))
    subtract_files(str(tmp_path / "a.png"), str(tmp_path / "b.png"), str(tmp_path / "c.png"), overflow="saturate")
    found = codecs.png_decode((tmp_path / "c.png").read_bytes())
    assert found.dtype == dtype
    assert np.array_equal(found, mn.subtract(a, b, overflow="saturate"))


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(columns: int, rows: int, bits: int, colours: int, pixels: bytes = b"") -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, bits, colours, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


WRONG = {
    "no PNG": (b"GIF89a", "does not start as a PNG does; expected b'\\x89PNG\\r\\n\\x1a\\n' and a header"),
    "a palette": (png(1, 1, 8, 3), "has a palette: its pixels are places in it, no numbers; convert it to RGB first"),
    "1 bit": (
        png(1, 1, 1, 0),
        "has pixels of 1 bits and colour type 0; expected 8 or 16 bits of grey or RGB, with or without alpha",
    ),
    "a bomb": (
        png(60000, 60000, 16, 6),
        "unpacks to 28800000000 bytes (60000 x 60000 pixels); expected 268435456 at most: write .tif",
    ),
    "no pixels": (png(0, 4, 8, 0), "states 4 x 0 pixels; expected some"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_image_of_numbers_is_refused(tmp_path: Path, kind: str) -> None:
    content, told = WRONG[kind]
    path, out = tmp_path / "a.png", tmp_path / "c.png"
    path.write_bytes(content)
    with pytest.raises(MinuendError) as caught:
        subtract_files(str(path), str(path), str(out))
    assert str(caught.value) == f"{path} {told}"
    assert not out.exists()


def test_every_byte_changed_or_missing_is_an_error_or_an_image(tmp_path: Path) -> None:
    path, out = tmp_path / "a.png", tmp_path / "c.png"
    whole = codecs.png_encode(np.arange(60, dtype=np.uint8).reshape(5, 12))
    cut = [whole[:k] for k in range(0, len(whole), 5)]
    for content in (*cut, *(whole[:k] + bytes([whole[k] ^ 255]) + whole[k + 1 :] for k in range(len(whole)))):
        path.write_bytes(content)
        try:
            subtract_files(str(path), str(path), str(out))
        except MinuendError:
            assert not out.exists()
        out.unlink(missing_ok=True)


def test_what_a_png_cannot_hold_is_refused_before(tmp_path: Path) -> None:
    out = tmp_path / "c.png"
    for shape, dtype, told in (
        ((4,), "uint8", "holds (rows, columns) or (rows, columns, 2 to 4 channels); the difference has shape (4,)"),
        ((4, 4), "int16", "PNG holds uint8 and uint16, not int16; write .tif"),
    ):
        np.save(tmp_path / "a.npy", np.zeros(shape, dtype))
        with pytest.raises(MinuendError) as caught:
            subtract_files(str(tmp_path / "a.npy"), str(tmp_path / "a.npy"), str(out))
        assert told in str(caught.value)
