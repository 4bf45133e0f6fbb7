"""TIFF and GeoTIFF: bands, tiles, compressions, where pixels lie, nodata, and what is damaged."""

from __future__ import annotations

import logging
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minuend as mn
from minuend import cli
from minuend.errors import FileFormatError, MinuendError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files
from minuend.files.formats import gdal_metadata, tiff, tiff_codecs, tiff_writing
from minuend.files.tensor_pairs import Rules

tifffile = pytest.importorskip("tifffile")

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
    with tifffile.TiffFile(one) as given, tifffile.TiffFile(out) as came:
        assert np.array_equal(came.asarray(), mn.subtract(a, b))
        page, old = came.pages[0], given.pages[0]
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
    cases = {
        "transforms: (10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0) and (10.0, 0.0, 500010.0, 0.0, -10.0, 4600000.0)": [
            SCALE,
            moved,
            KEYS,
        ],
        "coordinate systems: EPSG:32633 (projected) and EPSG:32634 (projected)": [SCALE, TIES, other],
    }
    for text, tags in cases.items():
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
        "A and B are scaled in different ways: A means 0.1 × what is stored + 2.0 and B 0.1 × what is stored + 3.0; "
    )
    wrong = packed("wrong.tif", "tenth", 0)
    assert refused(wrong, tmp_path / "f.tif") == f"{wrong} band 2 states the scale_factor 'tenth'; expected a number"


# ---- where pixels lie, said in several ways -------------------------------------------------------------------


def doubles(code: int, *numbers: float) -> Any:
    return (code, 12, len(numbers), numbers, True)


def keys(*stated: tuple[int, int], text: str = "") -> list[Any]:
    """A directory of codes; a text is the last key's."""
    entries = [(key, 0, 1, value) for key, value in stated]
    if text:
        entries[-1] = (stated[-1][0], 34737, len(text), 0)
    flat = (1, 1, 0, len(entries), *(number for entry in entries for number in entry))
    return [(34735, 3, len(flat), flat, True), *([(34737, 2, 0, text, True)] if text else ())]


UTM, POINT, AREA = (3072, 32633), (1025, 2), (1025, 1)
MOVED = doubles(33922, 0, 0, 0, 500005, 4599995, 0)
OWN = (3072, 32767)
VERTICAL_GEO = [SCALE, TIES, *keys((1024, 1), AREA, UTM, (4096, 5773))]
CONTROL = [doubles(33922, 0, 0, 0, 10, 50, 0, 0, 31, 0, 10, 49.9, 0), *keys((1024, 2), AREA, (2048, 4326))]
CAMERA = [doubles(50844, *range(92))]


def ellipsoid(flattening: float) -> list[Any]:
    return [(34735, 3, 12, (1, 1, 0, 2, 2048, 0, 1, 32767, 2059, 34736, 1, 0), True), doubles(34736, flattening)]


SAME: dict[str, tuple[list[Any], list[Any]]] = {
    "points and areas of one place": (GEO, [SCALE, MOVED, *keys((1024, 1), POINT, UTM)]),
    "a matrix and a scale": (GEO, [doubles(34264, 10, 0, 0, 5e5, 0, -10, 0, 4.6e6, *(0,) * 7, 1), KEYS]),
    "another tie point": (GEO, [SCALE, doubles(33922, 5, 3, 0, 500050, 4599970, 0), KEYS]),
    "keys that a code states": (GEO, [SCALE, TIES, *keys((1024, 1), AREA, UTM, (3076, 9001), (2054, 9102))]),
    "a name": (GEO, [SCALE, TIES, *keys((1024, 1), AREA, UTM, (3073, 0), text="the system of our town|")]),
    "points in another order": (
        CONTROL,
        [doubles(33922, 0, 31, 0, 10, 49.9, 0, 0, 0, 0, 10, 50, 0), *CONTROL[1:]],
    ),
    "an ellipsoid that was computed": (
        [SCALE, TIES, *ellipsoid(298.257222101)],
        [SCALE, TIES, *ellipsoid(298.257222101004)],
    ),
    "a datum as ESRI calls it": (
        [SCALE, TIES, *keys((2048, 32767), (2050, 32767), (2049, 0), text="GCS Name = a|Datum = Ours on Bessel|")],
        [SCALE, TIES, *keys((2048, 32767), (2050, 32767), (2049, 0), text="GCS Name = b|Datum = D_Ours_on_Bessel|")],
    ),
    "a text beside a system that another text states": (
        [SCALE, TIES, *keys((1024, 32767), OWN, (3073, 0), text="ESRI PE String = one|")],
        [SCALE, TIES, *keys((1024, 32767), (1026, 32767), OWN, (3073, 0), text="ESRI PE String = one|")],
    ),
    "a camera of another quality": (CAMERA, [doubles(50844, 7, 8, *range(2, 92))]),
}
OTHER: dict[str, tuple[list[Any], list[Any], str]] = {
    "half a pixel": (GEO, [SCALE, TIES, *keys((1024, 1), POINT, UTM)],
         "transforms: (10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0) and (10.0, 0.0, 499995.0, 0.0, -10.0, 4600005.0)"),
    "heights above a geoid": (GEO, VERTICAL_GEO,
         ("coordinate systems: EPSG:32633 (projected), the vertical system (GeoKey 4096) none and EPSG:32633 "
          "(projected), the vertical system (GeoKey 4096) 5773")),
    "units": ([SCALE, TIES, *keys(UTM, (3076, 9001))], [SCALE, TIES, *keys(UTM, (3076, 9003))],
         ("coordinate systems: EPSG:32633 (projected), the linear units (GeoKey 3076) 9001 and EPSG:32633 "
          "(projected), the linear units (GeoKey 3076) 9003")),
    "what only a text states": ([SCALE, TIES, *keys(OWN, (3073, 0), text="ESRI PE String = one|")],
         [SCALE, TIES, *keys(OWN, (3073, 0), text="ESRI PE String = two|")],
         ("coordinate systems: one of its own, the text (GeoKey 3073) ESRI PE String = one and one of its own, the "
          "text (GeoKey 3073) ESRI PE String = two")),
    "ground control points": (CONTROL, [doubles(33922, 0, 0, 0, 11, 50, 0, 0, 31, 0, 10, 49.9, 0), *CONTROL[1:]],
         "ground control points: 2 with (0.0, 0.0, 10.0, 50.0, 0.0) and 2 with (0.0, 0.0, 11.0, 50.0, 0.0)"),
    "points and a transform": ([SCALE, TIES, *CONTROL[1:]], CONTROL,
         "transforms: (10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0) and none"),
    "cameras": (CAMERA, [doubles(50844, *range(3), 9, *range(4, 92))],
         "rational polynomial cameras: one at (2.0, 3.0, 4.0) and one at (2.0, 9.0, 4.0)"),
    "heights": ([SCALE, TIES], [doubles(33550, 10, 10, 2), TIES],
         "scales and offsets of heights: (1.0, 0.0) and (2.0, 0.0)"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_one_place_said_in_two_ways_is_one(tmp_path: Path, name: str) -> None:
    a, b = (save(tmp_path / f"{k}.tif", pixels(k), extratags=tags) for k, tags in enumerate(SAME[name]))
    out = str(tmp_path / "c.tif")
    subtract_files(a, b, out)
    with tifffile.TiffFile(out) as came:
        for code, *_, value, _ in SAME[name][0]:
            found = came.pages[0].tags[code].value
            assert found == value if isinstance(value, str) else tuple(found) == tuple(value)


@pytest.mark.parametrize("name", OTHER)
def test_other_places_are_refused(tmp_path: Path, name: str) -> None:
    one, other, message = OTHER[name]
    a, b = (save(tmp_path / f"{k}.tif", pixels(k), extratags=tags) for k, tags in enumerate((one, other)))
    for pair in ((a, b), (b, a)):
        text = refused(pair[0], tmp_path / "c.tif", pair[1])
        assert text.startswith("A and B have different ")
    assert refused(a, tmp_path / "c.tif", b) == (
        f"A and B have different {message}; nothing is warped, bring them to one grid (gdalwarp) first"
    )


def test_the_offset_of_heights_may_be_stated_once_more_beside_the_file(tmp_path: Path) -> None:
    """GDAL writes it into both where the compression is LERC and the profile GeoTIFF."""
    heights = [doubles(33550, 10, 10, 1), doubles(33922, 0, 0, 0, 5e5, 4.6e6, 3), *VERTICAL_GEO[2:]]
    a, b = (save(tmp_path / f"{name}.tif", pixels(1), extratags=heights) for name in "ab")
    aside = "<PAMDataset><PAMRasterBand band='1'><Offset>{}</Offset></PAMRasterBand></PAMDataset>"
    (tmp_path / "b.tif.aux.xml").write_text(aside.format(3))
    for pair in ((a, b), (b, a)):
        subtract_files(*pair, str(tmp_path / "c.tif"))
    (tmp_path / "b.tif.aux.xml").write_text(aside.format(4))
    with pytest.raises(FileFormatError, match="scaled in different ways"):
        subtract_files(a, b, str(tmp_path / "c.tif"))


def test_the_offset_of_heights_cancels(tmp_path: Path) -> None:
    """GDAL writes scale and offset of a band of heights so: 2 × what is stored − 5."""
    heights = [doubles(33550, 10, 10, 2), doubles(33922, 0, 0, 0, 5e5, 4.6e6, -5), *VERTICAL_GEO[2:]]
    matrix = [doubles(34264, 10, 0, 0, 5e5, 0, -10, 0, 4.6e6, 0, 0, 2, -5, 0, 0, 0, 1), *VERTICAL_GEO[2:]]
    a, b = (save(tmp_path / f"{k}.tif", pixels(k), extratags=tags) for k, tags in enumerate((heights, matrix)))
    for one, other in ((a, b), (b, a)):
        subtract_files(one, other, str(tmp_path / "c.tif"))
        own, found = (open_tensors(path)["1"].about.grid for path in (one, str(tmp_path / "c.tif")))
        assert found == replace(own, height=(2.0, 0.0))  # type: ignore[type-var]


def test_rounding_moves_no_pixel(tmp_path: Path) -> None:
    fine, rounded = (doubles(33550, size, size, 0) for size in (1 / 120, round(1 / 120, 12)))
    ties = doubles(33922, 0, 0, 0, -180, 90, 0)
    a, b = (save(tmp_path / f"{k}.tif", pixels(k), extratags=[tag, ties]) for k, tag in enumerate((fine, rounded)))
    subtract_files(a, b, str(tmp_path / "c.tif"))
    away = save(tmp_path / "away.tif", pixels(3), extratags=[doubles(33550, 0.00833334, 0.00833334, 0), ties])
    assert refused(a, tmp_path / "d.tif", away).startswith("A and B have different transforms: ")


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([doubles(33550, 10, 10, 0), doubles(33922, 0, 0, 0)], "its tag ModelTiepoint has 3 numbers; expected 6"),
        ([doubles(34264, 1, 2)], "its tag ModelTransformation has 2 numbers; expected 16"),
        ([(34735, 3, 4, (1, 1, 0, 2), True)], "it lists 2 GeoKeys and has 0"),
        (
            [(34735, 3, 8, (1, 1, 0, 1, 2057, 34736, 1, 9), True)],
            "its GeoKey 2057 lies beyond the tag 34736 that it names",
        ),
    ],
)
def test_damaged_places_are_refused(tmp_path: Path, tags: list[Any], message: str) -> None:
    path = save(tmp_path / "a.tif", pixels(1), extratags=tags)
    assert refused(path, tmp_path / "c.tif") == f"{path} is damaged: {message}"


def test_pages_of_one_file_lie_where_each_says(tmp_path: Path) -> None:
    path, out = str(tmp_path / "a.tif"), tmp_path / "c.tif"
    with tifffile.TiffWriter(path) as writer:
        for k, tie in enumerate((TIES, MOVED)):
            writer.write(
                pixels(k), extratags=[SCALE, tie, KEYS, nodata_tag(str(k))], metadata=None, photometric="minisblack"
            )
    found = open_tensors(path)
    assert [found[band].about.nodata for band in "12"] == [0, 1]
    assert refused(f"{path}::1", out, f"{path}::2").startswith("A and B have different transforms: ")
    assert refused(path, out) == (
        f"{out} has one nodata value for all bands; those of '1' and '2' differ: write each band to a file of its own "
        "(A.tif::1)"
    )
    with tifffile.TiffWriter(path) as writer:
        for k, tie in enumerate((TIES, MOVED)):
            writer.write(pixels(k), extratags=[SCALE, tie, KEYS], metadata=None, photometric="minisblack")
    assert " has one place on the ground for all bands; " in refused(path, out)


def aux(path: str, *inner: str) -> None:
    Path(f"{path}.aux.xml").write_text(f"<PAMDataset>{''.join(inner)}</PAMDataset>")


def test_files_beside_an_image_say_where_its_pixels_lie(tmp_path: Path) -> None:
    tagged, bare = save(tmp_path / "a.tif", pixels(1), extratags=GEO), save(tmp_path / "b.tif", pixels(2))
    keyed = save(tmp_path / "keyed.tif", pixels(2), extratags=[KEYS])
    for path in (bare, keyed):
        Path(path).with_suffix(".tfw").write_text("10\n0\n0\n-10\n500005\n4599995\n")
    subtract_files(keyed, tagged, str(tmp_path / "c.tif"))
    assert open_tensors(str(tmp_path / "c.tif"))["1"].about.grid == open_tensors(tagged)["1"].about.grid
    assert refused(bare, tmp_path / "d.tif", tagged) == (
        "A and B have different coordinate systems: none and EPSG:32633 (projected); nothing is warped, bring them to "
        "one grid (gdalwarp) first"
    )
    transform = "<GeoTransform>500000, 10, 0, 4600000, 0, -10</GeoTransform>"
    aux(bare, '<SRS>PROJCS["x",AUTHORITY["EPSG","32633"]]</SRS>', transform)
    subtract_files(bare, tagged, str(tmp_path / "e.tif"))
    assert open_tensors(str(tmp_path / "e.tif"))["1"].about.grid == open_tensors(tagged)["1"].about.grid
    aux(bare, "<SRS>LOCAL_CS[]</SRS>", transform)
    report = subtract_files(bare, bare, str(tmp_path / "f.tif"))
    assert report.notes == (
        f"{tmp_path}/f.tif has no coordinate system: A's stands in an .aux.xml, as WKT without an EPSG code",
    )
    points = "".join(f'<GCP Id="" Pixel="{x}" Line="{y}" X="{10 + x}" Y="{50 - y}"/>' for x, y in ((0, 0), (0, 9)))
    for path in (bare, tagged):
        aux(path, f'<GCPList Projection="">{points}</GCPList>')
    subtract_files(tagged, tagged, str(tmp_path / "g.tif"))
    assert open_tensors(str(tmp_path / "g.tif"))["1"].about.grid == open_tensors(tagged)["1"].about.grid
    sources = open_tensors(bare).sources
    assert sources == (bare, f"{bare}.aux.xml", str(tmp_path / "b.tfw"))


def test_bands_are_described_beside_an_image(tmp_path: Path) -> None:
    path = save(tmp_path / "a.tif", pixels(1))
    aux(path, '<PAMRasterBand band="1"><NoDataValue>7</NoDataValue><Scale>0.5</Scale></PAMRasterBand>')
    about = open_tensors(path)["1"].about
    assert (about.nodata, about.scale, about.grid) == (7, 0.5, None)
    for content, message in (
        (
            "<PAMDataset>",
            "is no XML as GDAL writes it (no element found: line 1, column 12); repair it or take it away",
        ),
        (
            "<!DOCTYPE a><PAMDataset/>",
            "is no XML as GDAL writes it (a document type); repair it or take it away",
        ),
        (
            "<PAMDataset><GeoTransform>1, 2</GeoTransform></PAMDataset>",
            "states where pixels lie, and cannot be read (a GeoTransform of 2 numbers); repair it",
        ),
    ):
        Path(f"{path}.aux.xml").write_text(content)
        assert refused(path, tmp_path / "c.tif") == f"{path}.aux.xml {message}"
    Path(f"{path}.aux.xml").unlink()
    Path(f"{path}.msk").touch()
    world = tmp_path / "a.tfw"
    report = subtract_files(path, path, str(tmp_path / "c.tif"))
    assert report.notes == (
        f"{path} has a mask of pixels without data, which is not read: the difference has numbers there too",
    )
    world.write_text("1 2 3")
    assert refused(path, tmp_path / "d.tif") == (
        f"{world} is no world file, which has six numbers; repair it or take it away"
    )


@pytest.mark.filterwarnings("ignore")
def test_control_points_in_a_local_system_are_not_those_in_none(tmp_path: Path) -> None:
    """GDAL makes a system up for points without one, which it calls equal to every local system."""
    rasterio = pytest.importorskip("rasterio")
    from rasterio.control import GroundControlPoint
    from rasterio.crs import CRS

    control = [GroundControlPoint(row, col, 10 + col, 50 - row) for row, col in ((0, 0), (31, 0), (0, 31))]
    paths = [str(tmp_path / f"{name}.tif") for name in "ab"]
    for path, system in zip(paths, (CRS.from_user_input('LOCAL_CS["ours",UNIT["metre",1]]'), CRS()), strict=True):
        with rasterio.open(path, "w", "GTiff", width=32, height=32, count=1, dtype="uint8") as made:
            made.write(pixels(1, (1, 32, 32), "uint8"))
            made.update_tags(AREA_OR_POINT="Point")
            made.gcps = (control, system)
    with pytest.raises(FileFormatError, match="different coordinate systems: one of its own and none"):
        subtract_files(*paths, str(tmp_path / "c.tif"))


@pytest.mark.filterwarnings("ignore")
def test_a_raster_type_alone_is_no_place(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    paths = [str(tmp_path / f"{name}.tif") for name in "ab"]
    for path, point in zip(paths, (False, True), strict=True):
        with rasterio.open(path, "w", "GTiff", width=32, height=32, count=1, dtype="uint8") as made:
            made.write(pixels(1, (1, 32, 32), "uint8"))
            if point:
                made.update_tags(AREA_OR_POINT="Point")
    for a, b in (paths, paths[::-1]):
        subtract_files(a, b, str(tmp_path / "c.tif"))
        with rasterio.open(a) as one, rasterio.open(tmp_path / "c.tif") as c:
            assert not c.read().any()
            assert c.tags().get("AREA_OR_POINT") == one.tags().get("AREA_OR_POINT")


@pytest.mark.filterwarnings("ignore")
def test_places_are_those_that_gdal_reads(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    from rasterio.control import GroundControlPoint
    from rasterio.transform import Affine, from_origin

    here = from_origin(5e5, 4.6e6, 10, 10)
    middle = here * Affine.translation(0.5, 0.5)
    point, laea = {"AREA_OR_POINT": "Point"}, "+proj=laea +lat_0=10 +lon_0=20 +ellps="
    options: list[dict[str, Any]] = [
        *({"crs": crs} for crs in ("EPSG:32633", "EPSG:32633+5773", "EPSG:4326", "EPSG:2263", "ESRI:102008")),
        *({"crs": laea + name} for name in ("bessel", "WGS84")),
        *({"crs": "EPSG:32633", "transform": place, "tags": point} for place in (here, middle)),
        {"crs": "EPSG:32633", "transform": middle},
        {"crs": "EPSG:32633", "transform": here * Affine.rotation(10), "tags": point},
        *({"crs": "EPSG:32633", **own} for own in ({"GEOTIFF_VERSION": "1.1"}, {"GEOTIFF_KEYS_FLAVOR": "ESRI_PE"})),
        *({"crs": crs, "profile": "BASELINE"} for crs in ("EPSG:32633", "EPSG:4326")),
        *(
            {"crs": "EPSG:4326", "points": [(0, 0, x), (31, 0, x + 1), (0, 31, x)], "tags": t}
            for x in (1, 2)
            for t in (point, {})
        ),
    ]
    found = []
    for k, option in enumerate(options):
        own = {"transform": here, "tags": {}, **option}
        points, tags = own.pop("points", None), own.pop("tags")
        if points:
            del own["transform"]
        path = str(tmp_path / f"{k}.tif")
        with rasterio.open(path, "w", "GTiff", width=32, height=32, count=1, dtype="uint8", **own) as made:
            made.write(pixels(k, (1, 32, 32), "uint8"))
            made.update_tags(**tags)
            if points:
                control = [GroundControlPoint(row, col, x, 50 - row) for row, col, x in points]
                made.gcps = (control, own["crs"])
        found.append(path)

    def place(path: str) -> tuple[Any, ...]:
        with rasterio.open(path) as read:
            return read.crs, read.transform, *([(p.row, p.col, p.x, p.y) for p in read.gcps[0]], read.gcps[1])

    out = str(tmp_path / "out.tif")
    places = {path: place(path) for path in found}
    for a in found:
        for b in found:
            try:
                subtract_files(a, b, out)
                came = True
            except FileFormatError:
                came = False
            assert came == (places[a] == places[b]), (places[a], places[b])
        subtract_files(a, a, out)
        assert place(out) == places[a]


# ---- nodata -------------------------------------------------------------------------------------------------------


def test_nodata_on_either_side_is_nodata_and_overflows_nothing(tmp_path: Path) -> None:
    a = np.array([[5, 0, 9, 4], [7, 0, 3, 200]], np.uint8)
    b = np.array([[1, 9, 255, 4], [2, 255, 3, 100]], np.uint8)
    one = save(tmp_path / "a.tif", a, extratags=[nodata_tag("0")])
    other = save(tmp_path / "b.tif", b, extratags=[nodata_tag("255")])
    for policy in ("wrap", "saturate", "error", "widen"):
        report = subtract_files(one, other, str(tmp_path / "c.tif"), overflow=policy)  # type: ignore[arg-type]
        (tensor,) = report.tensors
        assert tifffile.imread(tmp_path / "c.tif").tolist() == [[4, 0, 0, 0], [5, 0, 0, 100]]
        assert (tensor.overflowed, tensor.nodata, tensor.low, tensor.high) == (0, 5, 4, 100)
        assert report.notes == (
            "2 differences are the nodata value 0 themselves and cannot be distinguished from it, in tensor '1'",
        )
        with tifffile.TiffFile(tmp_path / "c.tif") as came:
            assert came.pages[0].tags[42113].value == "0"


def test_nan_is_nodata_where_the_file_says_so(tmp_path: Path) -> None:
    a, b = np.array([[1.5, np.nan]], np.float32), np.array([[1, 2]], np.float32)
    one, other = save(tmp_path / "a.tif", a, extratags=[nodata_tag("nan")]), save(tmp_path / "b.tif", b)
    (tensor,) = subtract_files(one, other, str(tmp_path / "c.tif")).tensors
    assert (tensor.nans, tensor.nodata) == (0, 1)
    assert np.array_equal(tifffile.imread(tmp_path / "c.tif"), [[0.5, np.nan]], equal_nan=True)


@pytest.mark.parametrize("stated", ["-9999", "nan", "0.5", "256", "1e400"])
def test_a_value_that_no_pixel_can_have_marks_none_as_gdal_has_it(tmp_path: Path, stated: str) -> None:
    a = pixels(1, (4, 4), "uint8")
    one = save(tmp_path / "a.tif", a, extratags=[nodata_tag(stated)])
    two = save(tmp_path / "b.tif", a // 2, extratags=[nodata_tag("7")])
    for x, y, nodata in ((one, one, None), (one, two, 7)):
        subtract_files(x, y, str(tmp_path / "c.tif"))
        with tifffile.TiffFile(tmp_path / "c.tif") as file:
            assert (file.pages[0].nodata, 42113 in file.pages[0].tags) == (nodata or 0, nodata is not None)
    report = subtract_files(one, one, str(tmp_path / "c.tif"), overflow="widen", nodata=3)
    assert report.tensors[0].nodata == np.count_nonzero(a == 3)


@pytest.mark.parametrize(("dtype", "value"), [("int64", 2**53 + 1), ("int64", -(2**63)), ("uint64", 2**64 - 1)])
def test_a_whole_number_is_nodata_to_its_last_digit(tmp_path: Path, dtype: str, value: int) -> None:
    near = value + 1 if value < 0 else value - 1
    a, b = np.array([[value, near, 5]], dtype), np.array([[0, 0, value]], dtype)
    one, two = (
        save(tmp_path / name, x, extratags=[nodata_tag(str(value))]) for name, x in (("a.tif", a), ("b.tif", b))
    )
    subtract_files(one, two, str(tmp_path / "c.tif"))
    assert tifffile.imread(tmp_path / "c.tif").tolist() == [[value, near, value]]
    assert open_tensors(str(tmp_path / "c.tif"))["1"].about.nodata == value


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


@pytest.mark.parametrize(
    ("dtype", "nodata"),
    [("int8", 7), ("int16", 300), ("int16", -9), ("int32", 2**31 - 1), ("uint8", 9), ("float32", 0.5)],
)
def test_tiles_that_a_file_leaves_out_hold_no_data(tmp_path: Path, dtype: str, nodata: float) -> None:
    """tifffile fills them with 0 where the value is not the smallest type's that holds it."""
    path = tmp_path / "a.tif"
    save(path, np.ones((32, 48), dtype), tile=(16, 16), compression="zlib", extratags=[nodata_tag(str(nodata))])
    with tifffile.TiffFile(path, mode="r+") as file:
        tags = file.pages[0].tags
        for code in (324, 325):
            values = tags[code].value
            tags[code].overwrite((*values[:2], 0, *values[3:]))
    found = open_tensors(str(path))["1"].read()
    wanted = np.ones((32, 48), dtype)
    wanted[:16, 32:] = nodata
    assert np.array_equal(found, wanted)
    (tensor,) = subtract_files(str(path), str(path), str(tmp_path / "c.tif")).tensors
    assert tensor.nodata == 256


@pytest.mark.parametrize(
    ("dtype", "nodata", "filled"),
    [
        ("uint8", "65535", 255),
        ("uint8", "-9999", 0),
        ("uint8", "nan", 0),
        ("int16", "-1.5", -2),
        ("uint8", "1e300", 255),
        ("float32", "-3.4028234663852886e+38", np.finfo(np.float32).min),
        ("float64", "1e+300", 1e300),
    ],
)
def test_tiles_that_a_file_leaves_out_are_what_gdal_reads(
    tmp_path: Path, dtype: str, nodata: str, filled: float
) -> None:
    """It converts any nodata value to the type; a value of floats that is a long integer failed."""
    path = tmp_path / "a.tif"
    save(path, np.ones((16, 32), dtype), tile=(16, 16), compression="zlib", extratags=[nodata_tag(nodata)])
    with tifffile.TiffFile(path, mode="r+") as file:
        for code in (324, 325):
            tag = file.pages[0].tags[code]
            tag.overwrite((0, *tag.value[1:]))
    found = open_tensors(str(path))["1"].read()
    assert found[0].tolist() == [filled] * 16 + [1] * 16
    subtract_files(str(path), str(path), str(tmp_path / "c.tif"))
    with tifffile.TiffFile(tmp_path / "c.tif") as came:
        tag = came.pages[0].tags.get(42113)
        assert (tag and tag.value) == (nodata if dtype.startswith("float") else None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gdal_masks_what_has_no_data_in_a_difference(tmp_path: Path, dtype: str) -> None:
    """It reads float16 as float32, and compares that with the nodata value that the tag states."""
    rasterio = pytest.importorskip("rasterio")
    array = np.array([[0.1, 2, 3]], dtype)
    path = save(tmp_path / "a.tif", array, extratags=[nodata_tag("0.1")])
    subtract_files(path, path, str(tmp_path / "c.tif"))
    with rasterio.open(tmp_path / "c.tif") as file:
        assert file.read_masks(1).tolist() == [[0, 255, 255]]


def test_nodata_beside_an_image_fills_what_it_leaves_out(tmp_path: Path) -> None:
    path = save(tmp_path / "a.tif", np.ones((16, 32), np.uint8), tile=(16, 16), compression="zlib")
    with tifffile.TiffFile(path, mode="r+") as file:
        for code in (324, 325):
            tag = file.pages[0].tags[code]
            tag.overwrite((0, *tag.value[1:]))
    aux(path, '<PAMRasterBand band="1"><NoDataValue>7</NoDataValue></PAMRasterBand>')
    assert open_tensors(path)["1"].read()[0].tolist() == [7] * 16 + [1] * 16


@pytest.mark.parametrize("options", [{"ome": True}, {"imagej": True}], ids=["OME", "ImageJ"])
def test_planes_of_microscopes_are_bands(tmp_path: Path, options: Any) -> None:
    """The package has frames for them, which do not know what a page is to others."""
    stack, path = pixels(1, (3, 20, 30)), tmp_path / "a.tif"
    tifffile.imwrite(path, stack, photometric="minisblack", **options)
    subtract_files(str(path), save(tmp_path / "b.tif", stack[::-1]), str(tmp_path / "c.tif"))
    assert np.array_equal(tifffile.imread(tmp_path / "c.tif"), stack - stack[::-1])


def test_one_plane_is_one_band_where_an_axis_more_is_stated(tmp_path: Path) -> None:
    """The package's own view of a series of the shape 1 x 70 x 1 does not find its tiles."""
    row, path = pixels(1, (1, 70, 1)).astype(np.uint8), tmp_path / "a.tif"
    tifffile.imwrite(path, row, photometric="minisblack", tile=(16, 48), compression="packbits")
    subtract_files(str(path), save(tmp_path / "b.tif", row[..., 0] + np.uint8(3)), str(tmp_path / "c.tif"))
    assert np.array_equal(tifffile.imread(tmp_path / "c.tif"), np.full((1, 70), 253, np.uint8))


@pytest.mark.parametrize("options", [{}, {"imagej": True}], ids=["shaped", "ImageJ"])
def test_planes_behind_one_page_are_bands(tmp_path: Path, options: Any) -> None:
    """Long stacks have one page, and the others' pixels behind its own."""
    stack, path = pixels(1, (3, 20, 30)), tmp_path / "a.tif"
    tifffile.imwrite(path, stack, photometric="minisblack", truncate=True, **options)
    subtract_files(str(path), save(tmp_path / "b.tif", stack[::-1]), str(tmp_path / "c.tif"))
    assert np.array_equal(tifffile.imread(tmp_path / "c.tif"), stack - stack[::-1])


@pytest.mark.parametrize(
    "options",
    [
        {"imagej": True, "metadata": {"axes": "ZYX"}},
        {"ome": True, "metadata": {"axes": "ZYX"}, "tile": (16, 16), "compression": "zlib"},
        {"metadata": {"axes": "ZYX"}, "truncate": True},
        {"volumetric": True, "tile": (2, 16, 16)},
        {"volumetric": True, "tile": (16, 16, 16), "compression": "zlib"},
        {"volumetric": True, "tile": (16, 16, 16), "compression": "lerc"},
    ],
    ids=["ImageJ", "OME", "shaped", "deep tiles", "one deep tile", "a deep tile of LERC"],
)
def test_the_planes_of_a_volume_are_bands(tmp_path: Path, options: dict[str, Any]) -> None:
    stack, path = pixels(1, (3, 20, 30)), tmp_path / "a.tif"
    tifffile.imwrite(path, stack, photometric="minisblack", **options)
    subtract_files(str(path), save(tmp_path / "b.tif", stack[::-1]), str(tmp_path / "c.tif"))
    assert np.array_equal(tifffile.imread(tmp_path / "c.tif"), stack - stack[::-1])


def test_images_of_other_sizes_of_pixels_are_refused(tmp_path: Path) -> None:
    """Of two magnifications, as a microscope's OME-XML states them."""
    sizes = {"a": (0.65, None), "b": (0.325, None), "c": (0.65, "µm"), "d": (0.65, "nm")}
    for name, (size, unit) in sizes.items():
        stated = {"PhysicalSizeX": size, "PhysicalSizeY": size} | ({"PhysicalSizeXUnit": unit} if unit else {})
        tifffile.imwrite(tmp_path / f"{name}.tif", pixels(1), ome=True, metadata={"axes": "YX", **stated})
    a, b, c, d = (str(tmp_path / f"{name}.tif") for name in sizes)
    subtract_files(a, c, str(tmp_path / "e.tif"))
    for other, said in ((b, "0.65 um in A and 0.325 um in B"), (d, "0.65 um in A and 0.65 nm in B")):
        with pytest.raises(FileFormatError, match=f"the size of a pixel along X is {said}"):
            subtract_files(a, other, str(tmp_path / "f.tif"))


@pytest.mark.parametrize("ome", [True, False])
def test_bands_of_the_same_names_in_another_order_are_refused(tmp_path: Path, ome: bool) -> None:
    """Channels of OME-XML, and bands as GDAL calls them: one was subtracted from another."""

    def save_named(name: str, *names: str) -> str:
        path = str(tmp_path / f"{name}.tif")
        if ome:
            stated = {"axes": "CYX", "Channel": {"Name": list(names)}}
            tifffile.imwrite(path, pixels(1, (len(names), 5, 7)), ome=True, metadata=stated)
        else:
            items = "".join(
                f'<Item name="DESCRIPTION" sample="{k}" role="description">{one}</Item>' for k, one in enumerate(names)
            )
            tag = (42112, 2, 0, f"<GDALMetadata>{items}</GDALMetadata>", True)
            save(Path(path), pixels(1, (len(names), 5, 7)), planarconfig="separate", extratags=[tag])
        return path

    a, b, c = save_named("a", "red", "nir"), save_named("b", "nir", "red"), save_named("c", "red", "nir")
    d, out = save_named("d", "red 2020", "nir 2020"), str(tmp_path / "o.tif")
    with pytest.raises(FileFormatError, match="band 1 of 'nir', 'red' is 'red' in A and 'nir' in B"):
        subtract_files(a, b, out)
    for one, other in ((a, c), (a, d), (f"{a}::1", f"{b}::2"), (f"{a}::1", f"{a}::2")):
        subtract_files(one, other, out)


def imagej(path: Path, seed: int = 1, **stated: Any) -> str:
    resolution = stated.pop("resolution", (10, 10))
    array = pixels(seed, (3, 5, 7) if "spacing" in stated or "finterval" in stated else (5, 7))
    axes = "TYX" if "finterval" in stated else "ZYX" if "spacing" in stated else "YX"
    tifffile.imwrite(path, array, imagej=True, resolution=resolution, metadata={"axes": axes, **stated})
    return str(path)


LINE = {"cf": 0, "c0": 10.0, "c1": 0.5, "vunit": "mmol"}
MICROSCOPE = {"unit": "um"}


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (LINE, {**LINE, "c1": 0.25}, r"A means 0.5 × what is stored \+ 10.0 and B 0.25 × what is stored \+ 10.0"),
        (LINE, {}, r"A means 0.5 × what is stored \+ 10.0 and B what is stored"),
        (LINE, {**LINE, "vunit": "mol"}, "different units: 'mmol' and 'mol'"),
        (
            {"cf": 7, "c0": 1.0, "c1": 2.0},
            {"cf": 7, "c0": 1.0, "c1": 3.0},
            "the calibration of values is ImageJ's func",
        ),
        ({"cf": 7, "c0": 1.0, "c1": 2.0}, {}, r"the calibration of values is ImageJ's function 7 of \[1.0, 2.0\] in A"),
        (MICROSCOPE, {"unit": "nm"}, "ImageJ's size of a pixel along X is 0.1 um in A and 0.1 nm in B"),
        (MICROSCOPE, {**MICROSCOPE, "resolution": (10, 5)}, "pixel along Y is 0.1 um in A and 0.2 um in B"),
        ({**MICROSCOPE, "spacing": 1.0}, {**MICROSCOPE, "spacing": 2.0}, "pixel along Z is 1 um in A and 2 um in B"),
        ({"finterval": 1.0}, {"finterval": 0.5}, "ImageJ's time between two planes is 1 s in A and 0.5 s in B"),
    ],
)
def test_images_that_imagej_calibrates_in_different_ways_are_refused(tmp_path: Path, a: Any, b: Any, said: str) -> None:
    """What is stored was subtracted, whatever it means."""
    one, other = imagej(tmp_path / "a.tif", **a), imagej(tmp_path / "b.tif", 2, **b)
    with pytest.raises(FileFormatError, match=said):
        subtract_files(one, other, str(tmp_path / "c.tif"))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (MICROSCOPE, {"unit": "micron"}),
        (MICROSCOPE, {"unit": "\\u00B5m"}),
        ({"unit": "pixel"}, {"unit": "um"}),
        ({"cf": 20}, {}),
        ({"cf": 7, "c0": 1.0, "c1": 2.0}, {"cf": 7, "c0": 1.0, "c1": 2.0}),
    ],
)
def test_images_that_imagej_calibrates_alike_are_subtracted(tmp_path: Path, a: Any, b: Any) -> None:
    one, other = imagej(tmp_path / "a.tif", **a), imagej(tmp_path / "b.tif", 2, **b)
    found = subtract_files(one, other, str(tmp_path / "c.tif"))
    assert np.array_equal(tifffile.imread(tmp_path / "c.tif"), mn.subtract(pixels(1, (5, 7)), pixels(2, (5, 7))))
    assert any("calibrates its values by ImageJ's function 7" in note for note in found.notes) == ("c0" in a)


def test_a_line_that_imagej_calibrates_by_is_a_scale_and_a_unit(tmp_path: Path) -> None:
    one, other = imagej(tmp_path / "a.tif", **LINE), imagej(tmp_path / "b.tif", 2, **LINE)
    subtract_files(one, other, str(tmp_path / "c.tif"))
    about = open_tensors(str(tmp_path / "c.tif"))["1"].about
    assert (about.scale, about.offset, dict(about.attributes)) == (0.5, 0.0, {"units": "mmol"})


def test_a_volume_of_one_plane_in_deep_tiles_is_one_band(tmp_path: Path) -> None:
    volume, path = pixels(1, (1, 5, 7)), tmp_path / "a.tif"
    tifffile.imwrite(path, volume, tile=(16, 16, 16), volumetric=True, photometric="minisblack")
    subtract_files(str(path), save(tmp_path / "b.tif", volume[0][::-1]), str(tmp_path / "c.tif"))
    assert np.array_equal(tifffile.imread(tmp_path / "c.tif"), volume[0] - volume[0][::-1])


def test_volumes_in_one_tile_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    save(path, pixels(1, (1, 5, 7)), tile=(16, 16, 16), volumetric=True, compression="zlib")
    assert refused(path, tmp_path / "c.tif") == f"{path} has tiles of 16 planes, and one plane; write tiles of one"


def test_two_axes_of_columns_are_refused(tmp_path: Path) -> None:
    """The package calls the axes of a volume of one pixel so."""
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels(1, (1, 1, 1)), volumetric=True, photometric="minisblack", compression="zstd")
    assert refused(path, tmp_path / "c.tif") == (
        f"{path} holds an image of the axes 'XYX'; expected rows, columns and at most bands"
    )


@pytest.mark.parametrize(
    ("of_b", "what"),
    [
        ({"photometric": "miniswhite"}, "0 is black in A and white in B"),
        ({"extratags": [(274, 3, 1, 6, True)]}, "Orientation is 1 in A and 6 in B"),
    ],
)
def test_pictures_that_are_read_in_two_ways_are_not_subtracted(tmp_path: Path, of_b: dict[str, Any], what: str) -> None:
    a, b, out = (str(tmp_path / f"{name}.tif") for name in "abc")
    save(tmp_path / "a.tif", pixels(1, dtype="uint8"))
    save(tmp_path / "b.tif", pixels(2, dtype="uint8"), **of_b)
    with pytest.raises(FileFormatError) as caught:
        subtract_files(a, b, out)
    assert str(caught.value) == f"A and B are not read alike: {what}; bring one of them to the other's first"
    assert not Path(out).exists()
    save(tmp_path / "a.tif", pixels(1, dtype="uint8"), **of_b)
    subtract_files(a, b, out)


def test_a_palette_is_a_note(tmp_path: Path) -> None:
    """GDAL and tifffile give the numbers too; a PNG's are refused."""
    path = save(
        tmp_path / "a.tif", pixels(1, dtype="uint8"), photometric="palette", colormap=np.zeros((3, 256), np.uint16)
    )
    report = subtract_files(path, path, str(tmp_path / "c.tif"))
    assert report.notes == (
        f"{path} has a palette, which the difference has not: its numbers are subtracted, not its colours",
    )


def test_overviews_of_the_same_size_are_no_bands(tmp_path: Path) -> None:
    """An overview of one pixel is one pixel; the package takes both pages for one image."""
    path = tmp_path / "a.tif"
    for pages, bands in (((0, 1), ["1"]), ((0, 0, 1, 1), ["1", "2"]), ((1, 1), ["1", "2"])):
        with tifffile.TiffWriter(path) as writer:
            for k, kind in enumerate(pages):
                one = np.full((1, 1), 5 + k, np.uint8)
                writer.write(one, subfiletype=kind, metadata=None, photometric="minisblack")
        found = open_tensors(str(path))
        assert {band: tensor.read().tolist() for band, tensor in found.items()} == {
            band: [[4 + int(band)]] for band in bands
        }
    subtract_files(f"{path}::1", f"{path}::2", str(tmp_path / "c.tif"))


def test_signed_numbers_as_colours_are_refused() -> None:
    page = SimpleNamespace(compression=7, photometric=6, dtype=np.dtype(np.int8), parent=SimpleNamespace(byteorder="<"))
    with pytest.raises(FileFormatError) as caught:
        tiff_codecs.check(page, "a.tif")
    assert str(caught.value) == (
        "a.tif has signed numbers as YCbCr colours in JPEG, which decoders turn into different numbers; unpack it "
        "first (gdal_translate -co COMPRESS=DEFLATE)"
    )
    page.dtype = np.dtype(np.uint8)
    tiff_codecs.check(page, "a.tif")


# ---- compressions -------------------------------------------------------------------------------------------------

LOSSY = {
    "JPEG": {"compression": "jpeg", "tile": (64, 64)},
    "WEBP": {"compression": "webp", "tile": (64, 64), "photometric": "rgb", "planarconfig": "contig"},
    "JPEG 2000": {"compression": "jpeg2000", "compressionargs": {"level": 30}, "tile": (64, 64)},
    "JPEG XR": {"compression": "jpegxr", "compressionargs": {"level": 0.5}, "tile": (64, 64)},
    "JPEG XL": {"compression": "jpegxl", "compressionargs": {"distance": 2, "lossless": False}, "tile": (64, 64)},
    "LERC": {"compression": "lerc", "compressionargs": {"level": 8}, "tile": (64, 64)},
}


@pytest.mark.parametrize("name", LOSSY)
def test_a_difference_is_compressed_by_what_is_exact(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    options = LOSSY[name]
    shape = (128, 192, 3) if "planarconfig" in options else (128, 192)
    paths = [tmp_path / "a.tif", tmp_path / "b.tif"]
    for seed, path in enumerate(paths):
        save(path, np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8), **options)
    a, b = (tifffile.imread(path) for path in paths)
    out = tmp_path / "c.tif"
    report = subtract_files(*map(str, paths), str(out))
    came = tifffile.imread(out)
    assert np.array_equal(np.moveaxis(came, 0, -1) if came.ndim == 3 else came, mn.subtract(a, b))
    message = "is compressed by {}, which may lose digits: the numbers that it decodes to are subtracted".format
    own = f"{out} is compressed by deflate, which is lossless; {name}, as A is, may lose digits"
    assert report.notes[:3] == (*(f"{path} {message(name)}" for path in paths), own)
    assert cli.main(["sub", *map(str, paths)]) == 0
    assert f"{paths[1]} {message(name)}" in capfd.readouterr().out.replace("\n", " ")


def test_a_compression_that_is_not_written_becomes_deflate(tmp_path: Path) -> None:
    a = save(tmp_path / "a.tif", pixels(1, (64, 64), "uint8"), compression="png", tile=(64, 64))
    report = subtract_files(a, a, str(tmp_path / "c.tif"), overflow="widen")
    assert report.notes == (
        f"{tmp_path}/c.tif is compressed by deflate, which is lossless; compression 34933, as A has it, is not written",
    )
    assert not tifffile.imread(tmp_path / "c.tif").any()


def test_what_the_package_logs_is_an_error_or_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "a.tif", tmp_path / "c.tif"
    save(path, pixels(1), compression="zlib", predictor=True)
    data = bytearray(path.read_bytes())
    at = data.index(struct.pack("<HH", 317, 3))  # without its predictor, every number but the first is another one
    data[at + 2 : at + 4] = struct.pack("<H", 99)
    path.write_bytes(data)
    other = save(tmp_path / "b.tif", pixels(2), extratags=[nodata_tag("-9999")])
    finished = subprocess.run(
        [sys.executable, "-m", "minuend", "sub", str(path), other, "-o", str(out)],
        check=False,
        capture_output=True,
        text=True,
    )
    message = f"<TiffTag.fromfile> raised TiffFileError('<tifffile.TiffTag 317 @{at}> invalid data type 99')"
    assert finished.stderr == f"error: {path} is damaged ({message}); expected a whole TIFF\n"
    assert (finished.returncode, finished.stdout) == (2, "")

    odd = save(tmp_path / "odd.tif", pixels(2))

    def odd_page(*_: Any) -> None:
        logging.getLogger("tifffile").warning("<tifffile.TiffPage 0 @8> it is odd")

    monkeypatch.setattr(tiff, "check_pages", odd_page)
    assert subtract_files(odd, odd, str(out)).notes == (f"{odd}: it is odd",)


def gdal(*items: str) -> Any:
    return (42112, 2, 0, f"<GDALMetadata>{''.join(items)}</GDALMetadata>".encode(), True)


def said(path: Path) -> tuple[dict[int, Any], dict[int, dict[Any, str]]]:
    """The tags of a file by code, and GDAL's metadata by band."""
    with tifffile.TiffFile(path) as file:
        tags = {tag.code: tag.value for tag in file.pages.first.tags}
    return tags, gdal_metadata.of_tag(tags.get(42112, ""))


def test_what_describes_an_image_goes_to_the_difference_or_is_named(tmp_path: Path) -> None:
    xmp, grey = b"<x:xmpmeta/>", bytes(16) + b"GRAY" + bytes(108)
    tags = [
        (700, 1, len(xmp), xmp, True),
        (274, 3, 1, 3, True),
        (315, 2, 0, "Ä".encode(), True),
        (306, 2, 0, "2024:01:01 00:00:00", True),
        (65000, 4, 1, 7, True),
        gdal(
            '<Item name="OWNER">a &amp;amp; b</Item>',
            '<Item name="q" domain="D">1</Item>',
            '<Item name="STATISTICS_MEAN" sample="0">3</Item>',
            '<Item name="INTERLEAVE" domain="IMAGE_STRUCTURE">TILE</Item>',
            '<Item name="UNITTYPE" sample="0" role="unittype">m</Item>',
            '<Item name="DESCRIPTION" sample="1" role="description">two</Item>',
            '<Item name="SCALE" sample="1" role="scale">0.5</Item>',
        ),
    ]
    storage: Any = {"planarconfig": "separate", "resolution": (300, 200), "resolutionunit": "INCH", "iccprofile": grey}
    path = save(tmp_path / "a.tif", pixels(1, (2, 20, 30)), description="a field", extratags=tags, **storage)
    out = tmp_path / "c.tif"
    report = subtract_files(path, path, str(out))
    assert report.notes == (f"the tags 'DateTime', '65000' of {path} are left out",)
    found, items = said(out)
    assert {code: found[code] for code in (270, 274, 282, 283, 296, 305, 315, 700, 34675)} == {
        270: "a field", 274: 3, 282: (300, 1), 283: (200, 1), 296: 2, 305: "minuend", 315: "Ä", 700: xmp, 34675: grey,
    }  # fmt: skip
    assert items == {
        gdal_metadata.WHOLE: {("", "OWNER", ""): "a & b", ("D", "q", ""): "1"},
        0: {("", "UNITTYPE", "unittype"): "m"},
        1: {("", "DESCRIPTION", "description"): "two", ("", "SCALE", "scale"): "0.5"},
    }
    subtract_files(f"{path}::2", f"{path}::2", str(out))
    assert said(out)[1][0] == {("", "DESCRIPTION", "description"): "two", ("", "SCALE", "scale"): "0.5"}


def test_what_programs_read_the_structure_of_a_file_from_is_named(tmp_path: Path) -> None:
    path, out = tmp_path / "a.tif", tmp_path / "c.tif"
    tifffile.imwrite(path, pixels(1, (20, 30)), extratags=[(700, 1, 2, b"<>", True)], iccprofile=bytes(128))
    report = subtract_files(str(path), str(path), str(out))
    assert report.notes == (f"the tags 'ImageDescription', 'XMP', 'InterColorProfile' of {path} are left out",)
    assert not {270, 700, 34675} & said(out)[0].keys()


def test_what_stands_beside_an_image_is_believed_first_and_named(tmp_path: Path) -> None:
    unit = '<Item name="UNITTYPE" sample="0" role="unittype">m</Item>'
    one, other = (
        save(tmp_path / name, pixels(1, (20, 30)), extratags=[gdal(unit, '<Item name="K">tag</Item>')])
        for name in ("a.tif", "b.tif")
    )
    band = '<PAMRasterBand band="1"><UnitType>ft</UnitType><CategoryNames/></PAMRasterBand>'
    metadata = '<Metadata><MDI key="K">aux</MDI></Metadata><Metadata domain="xml:E" format="xml"><x/></Metadata>'
    aux(one, metadata, band)
    out = tmp_path / "c.tif"
    assert refused(one, out, other) == (
        "A and B have different units: 'ft' and 'm'; nothing is converted, convert one of them first, or, if both "
        "texts mean one unit, write it alike (ncatted -a units,…)"
    )
    report = subtract_files(one, one, str(out))
    assert report.notes == (f"the tags 'CategoryNames', 'xml:E' of {one} are left out",)
    assert said(out)[1] == {
        gdal_metadata.WHOLE: {("", "K", ""): "aux"},
        0: {("", "UNITTYPE", "unittype"): "ft"},
    }


@pytest.mark.parametrize("name", ["c.tif.aux.xml", "c.tif.msk", "c.tif.ovr", "c.RPB", "c_RPC.TXT", "c.tfw", "c.wld"])
def test_a_file_that_is_left_beside_the_output_is_not_taken_for_its_own(tmp_path: Path, name: str) -> None:
    """GDAL believes what lies beside an image before its tags: the difference would lie where another file did."""
    path, placed = save(tmp_path / "a.tif", pixels(1)), save(tmp_path / "b.tif", pixels(2), extratags=GEO)
    (tmp_path / name).write_text("<PAMDataset/>")
    out = tmp_path / "c.tif"
    message = f"{tmp_path / name} lies beside the output {out} and would be read as its own; remove it, or name another"
    assert refused(path, out) == f"{message} output"
    if name in ("c.tfw", "c.wld"):  # which tags are believed before
        subtract_files(placed, placed, str(out))
    else:
        assert refused(placed, out).startswith(f"{tmp_path / name} lies beside the output")


@pytest.mark.parametrize(
    ("shape", "compression", "most", "big"),
    [
        ((1, 300), None, 100_000, True),  # two tiles of 65,536 bytes
        ((1, 300), None, 200_000, False),
        ((256, 256), "lzw", 70_000, True),  # of noise, LZW makes more than there was
        ((256, 256), None, 70_000, False),
    ],
)
def test_what_may_become_too_large_for_places_of_32_bits_has_wider_ones(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shape: tuple[int, int],
    compression: str | None,
    most: int,
    big: bool,
) -> None:
    """17 MB in one row are 4.3 GB in whole tiles, and the package raised struct.error at the end of them."""
    monkeypatch.setattr(tiff_writing, "_CLASSIC", most)
    path, out = tmp_path / "a.tif", tmp_path / "c.tif"
    image = np.random.default_rng(1).integers(0, 256, shape, "uint8")
    tifffile.imwrite(path, image, compression=compression, metadata=None, photometric="minisblack")
    tifffile.imwrite(tmp_path / "b.tif", image[::-1, ::-1], metadata=None, photometric="minisblack")
    subtract_files(str(path), str(tmp_path / "b.tif"), str(out))
    with tifffile.TiffFile(out) as file:
        assert file.is_bigtiff is big
        assert np.array_equal(file.asarray().reshape(shape), image - image[::-1, ::-1])


def test_white_that_is_0_stays_so(tmp_path: Path) -> None:
    path, out = tmp_path / "a.tif", tmp_path / "c.tif"
    tifffile.imwrite(path, pixels(1, (20, 30)), photometric="miniswhite", metadata=None)
    subtract_files(str(path), str(path), str(out))
    assert said(out)[0][262] == 0


def test_further_images_and_alpha_are_reported(tmp_path: Path) -> None:
    path, out = tmp_path / "a.tif", str(tmp_path / "c.tif")
    with tifffile.TiffWriter(path) as writer:
        for shape in ((20, 30), (3, 4), (5, 6)):
            writer.write(pixels(1, shape), photometric="minisblack", metadata=None)
    assert subtract_files(str(path), str(path), out).notes == (
        f"{path} holds 2 other images, which the difference has not: the first one is read",
    )
    tifffile.imwrite(path, pixels(1, (20, 30, 4), "uint8"), photometric="rgb", extrasamples=["unassalpha"])
    assert subtract_files(str(path), str(path), out).notes[0] == (
        f"{path} has alpha, which is subtracted like a colour: transparent pixels count as data"
    )


@pytest.mark.parametrize(
    ("code", "dtype"),
    [(258, "uint32"), (42113, "uint32"), (258, "complex128"), (339, "complex128")],
    ids=["bits of a pixel", "nodata", "bits of a complex pixel", "kind of a complex pixel"],
)
def test_a_tag_whose_value_is_cut_off_is_damage_whatever_comes_of_it(tmp_path: Path, code: int, dtype: str) -> None:
    path = tmp_path / "a.tif"
    nodata: Any = [(42113, 2, 0, "-9999", True)]
    tifffile.imwrite(
        path, np.ones((3, 4, 5), dtype), photometric="rgb", planarconfig="separate", metadata=None, extratags=nodata
    )
    with tifffile.TiffFile(path) as file:
        place = file.pages.first.tags[code].offset + 8
    raw = bytearray(path.read_bytes())
    raw[place : place + 4] = (len(raw) + 100).to_bytes(4, "little")
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match=r"is damaged \(.*invalid value offset"):
        subtract_files(str(path), str(path), str(tmp_path / "c.npz"))
