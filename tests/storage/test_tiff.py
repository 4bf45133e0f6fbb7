"""TIFF and GeoTIFF: bands, tiles, compressions, where pixels lie, nodata, and what is damaged."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minuend as mn
from minuend import cli
from minuend.actions.difference import subtract_files
from minuend.actions.pairs import Rules
from minuend.errors import FileFormatError, MinuendError
from minuend.storage import open_tensors

tifffile = pytest.importorskip("tifffile")
pytest.importorskip("zarr")

SCALE = (33550, 12, 3, (10.0, 10.0, 0.0), True)
TIES = (33922, 12, 6, (0.0, 0.0, 0.0, 500000.0, 4600000.0, 0.0), True)
KEYS = (34735, 3, 16, (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633), True)
GEO = [SCALE, TIES, KEYS]


def nodata_tag(text: str) -> Any:
    return (42113, 2, 0, text, True)


def pixels(seed: int, shape: tuple[int, ...] = (300, 420), dtype: str = "uint16") -> Any:
    return np.random.default_rng(seed).integers(0, 200, shape).astype(dtype)


def save(path: Path, array: Any, **options: Any) -> str:
    tifffile.imwrite(path, array, **{"photometric": "minisblack", "metadata": None, **options})
    return str(path)


KINDS = {
    "strips": {},
    "tiles": {"tile": (64, 96)},
    "deflate": {"compression": "zlib", "tile": (64, 64)},
    "a predictor": {"compression": "zlib", "predictor": True},
    "lzw": {"compression": "lzw"},
    "zstd": {"compression": "zstd", "tile": (128, 128)},
    "big": {"bigtiff": True},
    "big-endian": {"byteorder": ">"},
}


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_a_band_is_read_and_written_with_the_tiles_and_compression_of_a(tmp_path: Path, options: Any) -> None:
    a, b = pixels(1), pixels(2)
    one, other = save(tmp_path / "a.tif", a, **options), save(tmp_path / "b.tif", b)
    out = tmp_path / "c.tif"
    subtract_files(one, other, str(out), overflow="wrap")
    with tifffile.TiffFile(one) as asked, tifffile.TiffFile(out) as came:
        assert np.array_equal(came.asarray(), mn.subtract(a, b))
        page, old = came.pages[0], asked.pages[0]
        assert page.compression == old.compression
        assert (page.tilelength, page.tilewidth) == ((old.tilelength, old.tilewidth) if old.is_tiled else (256, 256))


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32", "float64"]
)
def test_every_type(tmp_path: Path, dtype: str) -> None:
    a, b = pixels(3, (40, 30), dtype), pixels(4, (40, 30), dtype)
    out = tmp_path / "c.tif"
    subtract_files(save(tmp_path / "a.tif", a), save(tmp_path / "b.tif", b), str(out))
    assert np.array_equal(tifffile.imread(out), mn.subtract(a, b))


BANDS = {"interleaved": {"planarconfig": "contig"}, "planes": {"planarconfig": "separate"}, "pages": {}}


@pytest.mark.parametrize("kind", BANDS)
def test_bands_are_tensors_by_number(tmp_path: Path, kind: str) -> None:
    scene = pixels(5, (4, 50, 70))
    laid = np.moveaxis(scene, 0, -1) if kind == "interleaved" else scene
    path = save(tmp_path / "scene.tif", laid, **BANDS[kind])
    found = open_tensors(path)
    assert list(found) == ["1", "2", "3", "4"]
    assert all(np.array_equal(found[str(k + 1)].read(), scene[k]) for k in range(4))
    out = tmp_path / "nir-red.tif"
    subtract_files(f"{path}::4", f"{path}::3", str(out), overflow="widen")
    assert np.array_equal(tifffile.imread(out), scene[3].astype(np.int32) - scene[2])
    whole = tmp_path / "whole.tif"
    subtract_files(path, path, str(whole))
    assert np.array_equal(tifffile.imread(whole), np.zeros_like(scene))


def test_where_pixels_lie_is_kept_and_has_to_be_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a, b = save(tmp_path / "a.tif", pixels(6), extratags=GEO), save(tmp_path / "b.tif", pixels(7), extratags=GEO)
    out = tmp_path / "c.tif"
    subtract_files(a, b, str(out))
    with tifffile.TiffFile(out) as came:
        for code, _, _, value, _ in GEO:
            assert came.pages[0].tags[code].value == value
    moved = (33922, 12, 6, (0.0, 0.0, 0.0, 500010.0, 4600000.0, 0.0), True)
    other = (34735, 3, 16, (*KEYS[3][:-1], 32634), True)
    told = {
        "transforms: (10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0) and (10.0, 0.0, 500010.0, 0.0, -10.0, 4600000.0)": [
            SCALE,
            moved,
            KEYS,
        ],
        "coordinate systems: EPSG:32633 (projected) and EPSG:32634 (projected)": [SCALE, TIES, other],
    }
    for text, tags in told.items():
        wrong = save(tmp_path / "wrong.tif", pixels(8), extratags=tags)
        assert cli.main(["sub", a, wrong, "-o", str(tmp_path / "no.tif")]) == 2
        assert capfd.readouterr().err == (
            f"error: A and B have different {text}; nothing is warped, bring them to one grid (gdalwarp) first\n"
        )
        assert not (tmp_path / "no.tif").exists()


def test_one_side_that_does_not_say_where_its_pixels_lie_is_refused(tmp_path: Path) -> None:
    placed, plain = save(tmp_path / "a.tif", pixels(6), extratags=GEO), save(tmp_path / "plain.tif", pixels(9))
    out = tmp_path / "c.tif"
    for a, b in ((placed, plain), (plain, placed)):
        assert refused(a, out, b) == (
            f"{plain} has no georeference and {placed} has one: nothing says that their pixels lie in the same places; "
            f"if they do, give it that one (rio edit-info --crs like --transform like --like {placed} {plain}), or "
            "save it as .npy, which has none"
        )
    # Arrays without a word for it, numbers and single rows go with pixels that lie somewhere, which the result keeps.
    for array in (pixels(9), np.uint16([3]), np.uint16([[3]]), pixels(9, (1, 420))):
        np.save(tmp_path / "b.npy", array)
        band = f"{placed}::1"
        for a, b in ((band, str(tmp_path / "b.npy")), (str(tmp_path / "b.npy"), band)):
            subtract_files(a, b, str(out))
            with tifffile.TiffFile(out) as came:
                whole = (pixels(6), array) if a == band else (array, pixels(6))
                assert np.array_equal(came.asarray(), mn.subtract(*whole))
                assert [came.pages[0].tags[code].value for code, *_ in GEO] == [value for *_, value, _ in GEO]
    one = save(tmp_path / "one.tif", np.uint16([[3]]))
    subtract_files(band, one, str(out))


def test_bands_that_are_packed_in_different_ways_are_refused(tmp_path: Path) -> None:
    def packed(name: str, scale: object, offset: object) -> str:
        items = f'<Item name="SCALE" sample="1" role="scale">{scale}</Item>'
        items += f'<Item name="OFFSET" sample="1" role="offset">{offset}</Item><Item name="DAY">3</Item>'
        tag = (42112, 2, 0, f"<GDALMetadata>{items}</GDALMetadata>", True)
        return save(tmp_path / name, pixels(3, (2, 40, 30)), planarconfig="separate", extratags=[tag])

    a, b, c, out = packed("a.tif", 0.1, 2), packed("b.tif", 0.1, 2), packed("c.tif", 0.1, 3), tmp_path / "d.tif"
    subtract_files(a, b, str(out))
    subtract_files(f"{a}::1", f"{c}::1", str(tmp_path / "e.tif"))
    found = [open_tensors(str(out))[band].about for band in "12"]
    assert [(about.scale, about.offset) for about in found] == [(1, 0), (0.1, 0)]
    assert refused(f"{a}::2", tmp_path / "f.tif", f"{c}::2").startswith(
        "A and B are packed in different ways: A means 0.1 × what is stored + 2.0 and B 0.1 × what is stored + 3.0; "
    )
    wrong = packed("wrong.tif", "tenth", 0)
    assert refused(wrong, tmp_path / "f.tif") == f"{wrong} band 2 states the scale_factor 'tenth'; expected a number"


# ---- nodata -------------------------------------------------------------------------------------------------------


def test_nodata_on_either_side_is_nodata_and_overflows_nothing(tmp_path: Path) -> None:
    a = np.array([[5, 0, 9, 4], [7, 0, 3, 200]], np.uint8)
    b = np.array([[1, 9, 255, 4], [2, 255, 3, 100]], np.uint8)
    one = save(tmp_path / "a.tif", a, extratags=[nodata_tag("0")])
    other = save(tmp_path / "b.tif", b, extratags=[nodata_tag("255")])
    for policy in ("wrap", "saturate", "error", "widen"):
        report = subtract_files(one, other, str(tmp_path / "c.tif"), overflow=policy)  # type: ignore[arg-type]
        (told,) = report.tensors
        assert tifffile.imread(tmp_path / "c.tif").tolist() == [[4, 0, 0, 0], [5, 0, 0, 100]]
        assert (told.overflowed, told.nodata, told.low, told.high) == (0, 5, 4, 100)
        assert report.notes == (
            "2 differences are the nodata value 0 themselves and cannot be told from it, in tensor '1'",
        )
        with tifffile.TiffFile(tmp_path / "c.tif") as came:
            assert came.pages[0].tags[42113].value == "0"


def test_nan_is_nodata_where_the_file_says_so(tmp_path: Path) -> None:
    a, b = np.array([[1.5, np.nan]], np.float32), np.array([[1, 2]], np.float32)
    one, other = save(tmp_path / "a.tif", a, extratags=[nodata_tag("nan")]), save(tmp_path / "b.tif", b)
    (told,) = subtract_files(one, other, str(tmp_path / "c.tif")).tensors
    assert (told.nans, told.nodata) == (0, 1)
    assert np.array_equal(tifffile.imread(tmp_path / "c.tif"), [[0.5, np.nan]], equal_nan=True)


def test_a_value_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    one = save(tmp_path / "a.tif", pixels(1, (4, 4), "uint8"), extratags=[nodata_tag("-9999")])
    with pytest.raises(MinuendError) as caught:
        subtract_files(one, one, str(tmp_path / "c.tif"))
    assert "the nodata value -9999 does not fit uint8 (0 to 255), in tensor '1'; choose another policy" in str(
        caught.value
    )
    subtract_files(one, one, str(tmp_path / "c.tif"), overflow="widen")


# ---- bad input ----------------------------------------------------------------------------------------------------


def refused(path: Path | str, out: Path, other: Path | str | None = None) -> str:
    with pytest.raises(MinuendError) as caught:
        subtract_files(str(path), str(other or path), str(out), rules=Rules())
    assert not out.exists()
    return str(caught.value)


def test_what_is_no_tiff_or_cut_off_is_refused(tmp_path: Path) -> None:
    path, out = tmp_path / "a.tif", tmp_path / "c.tif"
    path.write_bytes(b"no image at all")
    assert (
        refused(path, out)
        == f"{path} is no TIFF, or a damaged one (not a TIFF file: header=b'no i'); expected a whole TIFF"
    )
    save(path, pixels(1), compression="zlib", tile=(64, 64))
    whole = path.read_bytes()
    for length in (6, 200, len(whole) // 2):
        path.write_bytes(whole[:length])
        assert f"{path} is" in refused(path, out)


def test_every_byte_changed_is_an_error_or_an_image(tmp_path: Path) -> None:
    path, out = tmp_path / "a.tif", tmp_path / "c.tif"
    save(path, pixels(1, (20, 30)), compression="zlib", tile=(16, 16), extratags=GEO)
    whole = path.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            subtract_files(str(path), str(path), str(out))
        except (MinuendError, MemoryError):
            assert not out.exists()
        out.unlink(missing_ok=True)


def test_what_a_tiff_cannot_hold_is_refused_before(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3, 4), np.uint8))
    text = refused(tmp_path / "a.npy", tmp_path / "c.tif")
    assert text.endswith("c.tif holds bands of rows and columns; the tensor 'difference' has shape (2, 3, 4)")


# ---- damaged files ----------------------------------------------------------------------------------------------


def directory(*tags: tuple[int, int, int, int], following: int = 0) -> bytes:
    """A classic file of one page: tags of (code, type, count, value), and where the next page is said to be."""
    body = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return struct.pack("<2sHIH", b"II", 42, 8, len(tags)) + body + struct.pack("<I", following)


PAGE = ((256, 4, 1, 4), (257, 4, 1, 2), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (278, 4, 1, 1))
STRIPS = ((273, 4, 1, 8), (279, 4, 1, 4))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            directory(*PAGE, *STRIPS, following=8),
            "is damaged: its chain of pages leads back to one of them; expected one that ends",
        ),
        (
            directory(*PAGE, *STRIPS)[:-2],
            "is cut off: it has 108 bytes, and a page is described up to 110; read a whole one",
        ),
        (
            directory(*PAGE, *STRIPS, following=10),
            "is cut off: it has 110 bytes, and a page is described up to 3088; read a whole one",
        ),
        (
            directory(*PAGE, *STRIPS),
            "is damaged: it lists 1 tiles or strips, and its image has 2; expected all of them",
        ),
        (
            directory(*PAGE, (273, 4, 1, 900), (279, 4, 1, 4)),
            "is cut off: it has 110 bytes, and its pixels end at 904; read a whole one",
        ),
    ],
    ids=["a loop", "cut off", "a page in a page", "strips missing", "pixels missing"],
)
def test_pages_that_lie_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "lies.tif"
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as error:
        open_tensors(str(path))
    assert str(error.value) == f"{path} {message}"


def test_pages_that_lie_over_one_another_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "lies.tif"
    first = directory((256, 4, 1, 4), (257, 4, 1, 2), (258, 3, 1, 8), (259, 3, 1, 1), following=22)
    second = bytearray(first)
    second[22:24] = struct.pack("<H", 2)  # a page in the midst of the first one's tags
    path.write_bytes(bytes(second))
    with pytest.raises(FileFormatError) as error:
        open_tensors(str(path))
    assert str(error.value) == f"{path} is damaged: its pages lie over one another; expected each in its own place"


def test_tags_of_the_wrong_type_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "lies.tif"
    tifffile.imwrite(path, np.zeros((4, 6), np.uint8), tile=(16, 16))
    data = bytearray(path.read_bytes())
    at = data.index(struct.pack("<HH", 324, 4))  # TileOffsets as floats
    data[at + 2 : at + 4] = struct.pack("<H", 11)
    path.write_bytes(bytes(data))
    with pytest.raises(FileFormatError, match=r"lies\.tif is no TIFF, or a damaged one"):
        open_tensors(str(path))["1"]
