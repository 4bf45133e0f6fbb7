"""Cameras (RPC) in files beside a TIFF: they are compared, and go to the difference as a tag."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minuend.errors import FileFormatError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files

tifffile = pytest.importorskip("tifffile")

WORDS = ("line", "samp", "lat", "long", "height")
NUMBERS = [k + 0.25 for k in range(90)]
OFFSETS = [f"{word}{kind}" for kind in ("Offset", "Scale") for word in WORDS]
LISTS = [f"{word}{kind}Coef" for word in WORDS[:2] for kind in ("Num", "Den")]
TAG = (50844, 12, 92, (-1.0, -1.0, *NUMBERS), True)


def terms(k: int) -> list[float]:
    return NUMBERS[10 + 20 * k : 30 + 20 * k]


def rpb() -> str:
    single = [f"\t{name} = {number};" for name, number in zip(OFFSETS, NUMBERS, strict=False)]
    lists = [f"\t{name} = (\n{','.join(map(str, terms(k)))});" for k, name in enumerate(LISTS)]
    return "\n".join(
        ['satId = "QB02";', "BEGIN_GROUP = IMAGE", "\terrBias = 1.5;", *single, *lists, "END_GROUP = IMAGE"]
    )


def name_of(own: str) -> str:
    for end, word in (("Offset", "OFF"), ("Scale", "SCALE"), ("NumCoef", "NUM_COEFF"), ("DenCoef", "DEN_COEFF")):
        if own.endswith(end):
            return f"{own.removesuffix(end).upper()}_{word}"
    raise KeyError(own)


def text() -> str:
    single = [f"{name_of(name)}: +{number} pixels" for name, number in zip(OFFSETS, NUMBERS, strict=False)]
    lists = [f"{name_of(name)}_{i + 1}: {number}" for k, name in enumerate(LISTS) for i, number in enumerate(terms(k))]
    return "\n".join([*single, *lists])


def aux() -> str:
    items = {name_of(name): str(number) for name, number in zip(OFFSETS, NUMBERS, strict=False)}
    items |= {name_of(name): " ".join(map(str, terms(k))) for k, name in enumerate(LISTS)}
    inner = "".join(f'<MDI key="{key}">{value}</MDI>' for key, value in items.items())
    return f'<PAMDataset><Metadata domain="RPC">{inner}</Metadata></PAMDataset>'


BESIDE = {"a.RPB": rpb(), "a.rpb": rpb(), "a_RPC.TXT": text(), "a_rpc.txt": text(), "a.tif.aux.xml": aux()}


def save(path: Path, *tags: object) -> str:
    tifffile.imwrite(path, np.ones((3, 4), np.uint8), extratags=tags, metadata=None, photometric="minisblack")
    return str(path)


@pytest.mark.parametrize("name", BESIDE)
def test_a_camera_beside_an_image_is_compared_and_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(BESIDE[name])
    a, tagged = save(tmp_path / "a.tif"), save(tmp_path / "tagged.tif", TAG)
    found = open_tensors(a)
    assert found.sources == (a, str(tmp_path / name))
    assert found["1"].about.grid == open_tensors(tagged)["1"].about.grid
    out = tmp_path / "c.tif"
    subtract_files(a, tagged, str(out))
    with tifffile.TiffFile(out) as came:
        assert came.pages[0].tags[50844].value == TAG[3]
    other = save(tmp_path / "other.tif", (*TAG[:3], (-1.0, -1.0, 7.0, *NUMBERS[1:]), True))
    with pytest.raises(FileFormatError, match="A and B have different rational polynomial cameras: one at "):
        subtract_files(a, other, str(out))


def test_files_of_cameras_count_before_the_tag_and_that_before_gdals(tmp_path: Path) -> None:
    """As GDAL has it: .RPB, _RPC.TXT, the tag, .aux.xml."""
    path = save(tmp_path / "a.tif", (*TAG[:3], (0.0, 0.0, 7.0, *NUMBERS[1:]), True))
    for name, first in (("a.tif.aux.xml", 7.0), ("a_RPC.TXT", 0.5), ("a.RPB", 0.25)):
        (tmp_path / name).write_text(BESIDE[name].replace("+0.25 pixels", "0.5"))
        grid = open_tensors(path)["1"].about.grid
        assert grid.rational[2] == first  # type: ignore[union-attr]


def test_a_camera_that_lacks_a_number_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "a.tif")
    for content, message in (
        (rpb().replace("lineOffset", "nothing"), "''"),
        (rpb().replace("lineOffset = 0.25", "lineOffset = a quarter"), "'a quarter'"),
    ):
        (tmp_path / "a.RPB").write_text(content)
        with pytest.raises(FileFormatError) as caught:
            open_tensors(path)
        assert str(caught.value) == (
            f"{tmp_path}/a.RPB states {message} for LINE_OFF of its camera; expected 1 numbers, repair it "
            "or take it away"
        )
    (tmp_path / "a.RPB").write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(FileFormatError, match=r"a\.RPB has 1048577 bytes; expected 1048576 at most"):
        open_tensors(path)


def test_a_tags_numbers_are_those_that_gdal_shows(tmp_path: Path) -> None:
    """GDAL copies a camera by its text, of 15 digits."""
    exact, shown = (
        save(tmp_path / f"{k}.tif", (*TAG[:3], (-1.0, -1.0, number, *NUMBERS[1:]), True))
        for k, number in enumerate((1 / 7, float(f"{1 / 7:.15g}")))
    )
    subtract_files(exact, shown, str(tmp_path / "c.tif"))
