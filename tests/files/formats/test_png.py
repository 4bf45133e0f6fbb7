"""PNG: grey and colours of 8 and 16 bits, and what is none of these."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import minuend as mn
from minuend.errors import FileFormatError, MinuendError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files

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


def test_a_header_is_believed_when_it_is_whole(tmp_path: Path) -> None:
    whole = codecs.png_encode(np.arange(60, dtype=np.uint8).reshape(5, 12))
    path = tmp_path / "a.png"
    for content, message in (
        (whole[:24], "is cut off: it has 24 bytes, and its chunks go on; read a whole one"),
        (
            whole[:20] + bytes([whole[20] ^ 128]) + whole[21:],
            "is a damaged PNG (b'IHDR' has a wrong checksum); expected a whole one",
        ),
    ):
        path.write_bytes(content)
        with pytest.raises(FileFormatError) as error:
            open_tensors(str(path))
        assert str(error.value) == f"{path} {message}"


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_image_of_numbers_is_refused(tmp_path: Path, kind: str) -> None:
    content, message = WRONG[kind]
    path, out = tmp_path / "a.png", tmp_path / "c.png"
    path.write_bytes(content)
    with pytest.raises(MinuendError) as caught:
        subtract_files(str(path), str(path), str(out))
    assert str(caught.value) == f"{path} {message}"
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
    for shape, dtype, message in (
        ((4,), "uint8", "holds (rows, columns) or (rows, columns, 2 to 4 channels); the difference has shape (4,)"),
        ((4, 4), "int16", "PNG holds uint8 and uint16, not int16; write .tif"),
    ):
        np.save(tmp_path / "a.npy", np.zeros(shape, dtype))
        with pytest.raises(MinuendError) as caught:
            subtract_files(str(tmp_path / "a.npy"), str(tmp_path / "a.npy"), str(out))
        assert message in str(caught.value)


HEAD = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0))
PIXELS = zlib.compress(bytes([0, 1, 2, 0, 3, 4]))
END = chunk(b"IEND", b"")
DAMAGED = {
    "a wrong checksum": (HEAD + chunk(b"IDAT", PIXELS)[:-1] + b"?" + END,
         "is a damaged PNG (b'IDAT' has a wrong checksum); expected a whole one"),
    "cut off": (HEAD + chunk(b"IDAT", PIXELS)[:-3],
         "is cut off: it has 56 bytes, and its chunks go on; read a whole one"),
    "too few pixels": (HEAD + chunk(b"IDAT", zlib.compress(bytes(5))) + END,
         "is a damaged PNG (its pixels are 5 bytes, and its header states 6); expected a whole one"),
    "too many pixels": (HEAD + chunk(b"IDAT", zlib.compress(bytes(7))) + END,
         "is a damaged PNG (its pixels are 7 bytes, and its header states 6); expected a whole one"),
    "an unknown filter": (HEAD + chunk(b"IDAT", zlib.compress(bytes([0, 1, 2, 9, 3, 4]))) + END,
         "is a damaged PNG (an unknown filter); expected a whole one"),
    "no stream": (HEAD + chunk(b"IDAT", b"none") + END,
         "is a damaged PNG (Error -3 while decompressing data: incorrect header check); expected a whole one"),
    "transparency": (HEAD + chunk(b"tRNS", b"\0\1") + chunk(b"IDAT", PIXELS) + END,
         "has a colour that stands for transparency, which is not taken"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_file_never_reaches_the_decoder(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content, message = DAMAGED[kind]
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)
    monkeypatch.setattr(codecs, "png_decode", None)
    with pytest.raises(FileFormatError) as error:
        open_tensors(str(path))[""].elements()
    assert str(error.value) == f"{path} {message}"


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 9), (8, 8), (9, 5)])
def test_images_in_seven_passes_are_taken(tmp_path: Path, shape: tuple[int, int]) -> None:
    image = np.random.default_rng(5).integers(0, 256, shape, np.uint8)
    passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
    parts = (image[y::down, x::across] for x, y, across, down in passes)
    raw = b"".join(b"\0" + row.tobytes() for part in parts if part.size for row in part)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", shape[1], shape[0], 8, 0, 0, 0, 1))
    content = head + chunk(b"gAMA", bytes(4)) + chunk(b"IDAT", zlib.compress(raw)) + END
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)
    assert np.array_equal(open_tensors(str(path))[""].elements().read(), image)


def test_what_a_png_says_beside_its_pixels_goes_to_the_difference_or_is_named(tmp_path: Path) -> None:
    raw = codecs.png_encode(np.ones((3, 4, 4), "uint8"))
    said = [(b"gAMA", struct.pack(">I", 45455)), (b"tEXt", b"Title\0ours"), (b"pHYs", bytes(9))]
    own = [(b"tIME", bytes(7)), (b"zzZz", b"1")]
    path, out = tmp_path / "a.png", tmp_path / "c.png"
    path.write_bytes(raw[:33] + b"".join(chunk(*one) for one in [*said, *own]) + raw[33:])
    alpha = f"{path} has alpha, which is subtracted like a colour: transparent pixels count as data"
    report = subtract_files(str(path), str(path), str(out))
    assert report.notes == (alpha, f"the chunks 'tIME', 'zzZz' of {path} are left out")
    assert out.read_bytes()[33:].startswith(b"".join(chunk(*one) for one in said))
    assert not codecs.png_decode(out.read_bytes()).any()
    report = subtract_files(str(path), str(path), str(tmp_path / "c.npy"))
    assert report.notes == (alpha, f"{tmp_path}/c.npy has no place for the chunks of {path}")
    grey = tmp_path / "b.png"
    grey.write_bytes(codecs.png_encode(np.ones((4, 4), "uint8")))
    report = subtract_files(str(path), str(grey), str(out))
    assert report.notes == (alpha, f"the chunks 'tIME', 'zzZz' of {path} are left out")


@pytest.mark.parametrize(
    ("chunks", "what"),
    [
        (
            ((b"eXIf", b"MM\0*" + struct.pack(">IHHHIHH", 8, 1, 274, 3, 1, 6, 0)), ()),
            "Orientation is 6 in A and 1 in B",
        ),
        (
            ((b"eXIf", b"II*\0" + struct.pack("<IHHHIHH", 8, 1, 274, 3, 1, 3, 0)), ()),
            "Orientation is 3 in A and 1 in B",
        ),
        (
            ((b"gAMA", struct.pack(">I", 45455)), (b"gAMA", struct.pack(">I", 100000))),
            "gAMA is 45455 in A and 100000 in B",
        ),
        (((b"gAMA", struct.pack(">I", 45455)), ()), ""),
        (((b"eXIf", b"MM\0*" + struct.pack(">IH", 8, 900)), (b"eXIf", b"MM")), ""),
    ],
)
def test_pictures_that_are_read_in_two_ways_are_refused(
    tmp_path: Path, chunks: tuple[tuple[bytes, bytes], ...], what: str
) -> None:
    raw = codecs.png_encode(np.ones((2, 2), "uint8"))
    paths = [tmp_path / "a.png", tmp_path / "b.png"]
    for path, one in zip(paths, chunks, strict=True):
        path.write_bytes(raw[:33] + (chunk(*one) if one else b"") + raw[33:])
    out = tmp_path / "c.png"
    if what:
        with pytest.raises(FileFormatError) as caught:
            subtract_files(*map(str, paths), str(out))
        assert str(caught.value) == f"A and B are not read alike: {what}; bring one of them to the other's first"
    else:
        subtract_files(*map(str, paths), str(out))
    assert out.exists() is not bool(what)


def test_white_of_a_tiff_is_no_black_of_a_png(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    image = np.ones((2, 2), "uint8")
    tifffile.imwrite(tmp_path / "a.tif", image, photometric="miniswhite", metadata=None)
    (tmp_path / "b.png").write_bytes(codecs.png_encode(image))
    with pytest.raises(FileFormatError, match="A and B are not read alike: 0 is white in A and black in B"):
        subtract_files(str(tmp_path / "a.tif"), str(tmp_path / "b.png"), str(tmp_path / "c.png"))
