"""zarr: what is read, what is refused, what is written."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend import errors
from minuend.core.elements import TYPES
from minuend.files import Result, open_tensors, write_tensors
from minuend.files.base import About
from minuend.files.difference import subtract_files
from minuend.files.formats.zarr_headers import _exact_codecs

zarr = pytest.importorskip("zarr")

GRIDS: dict[str, dict[str, Any]] = {
    "v3": {"chunks": (3, 5)},
    "v3, shards": {"chunks": (2, 5), "shards": (4, 10), "dimension_names": ["y", "x"]},
    "v3, not packed": {"chunks": (7, 20), "compressors": None},
    "v2": {"chunks": (3, 5), "zarr_format": 2},
    "v2, Fortran order": {"chunks": (20, 3), "zarr_format": 2, "order": "F", "chunk_key_encoding": "/"},
}
SHAPE = (11, 13)


def made(path: Path, array: np.ndarray, **settings: Any) -> Any:
    if settings.get("chunk_key_encoding") == "/":
        settings["chunk_key_encoding"] = {"name": "v2", "separator": "/"}
    found = zarr.create_array(path, shape=array.shape, dtype=array.dtype, **settings)
    found[...] = array
    return found


def numbers(dtype: str = "int16", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-100, 100, SHAPE).astype(dtype)


def elements_of(path: Path) -> np.ndarray:
    return np.asarray(zarr.open_array(path, mode="r")[...])


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def the_error(path: Path) -> str:
    with pytest.raises(errors.MinuendError) as caught:
        [tensor.read() for tensor in open_tensors(str(path)).values()]
    return str(caught.value).replace(str(path), "x.zarr")


@pytest.mark.parametrize("dtype", ["uint8", "int16", ">i4", "float16", ">f8", "int64"])
@pytest.mark.parametrize("grid", GRIDS)
def test_an_array_is_read_and_written_with_its_own_grid_and_type(tmp_path: Path, grid: str, dtype: str) -> None:
    a, b = numbers(dtype), numbers(dtype, 1)
    if ">" in dtype and "v3" in grid:
        a, b = a.astype(dtype[1:]), b.astype(dtype[1:])
    of_a = made(tmp_path / "a.zarr", a, **GRIDS[grid], fill_value=7, attributes={"unit": "m"})
    made(tmp_path / "b.zarr", b, chunks=(4, 4))
    (tensor,) = open_tensors(str(tmp_path / "a.zarr")).values()
    assert (tensor.name, tensor.shape, tensor.chunks) == ("", SHAPE, of_a.shards or of_a.chunks)
    assert tensor.read().tobytes() == a.tobytes()
    assert not tensor.read().flags.writeable
    subtract_files(*(str(tmp_path / f"{name}.zarr") for name in "abc"))
    assert elements_of(tmp_path / "c.zarr").tobytes() == (a - b).astype(a.dtype).tobytes()
    mine, its = (zarr.open_array(tmp_path / f"{name}.zarr", mode="r") for name in "ca")
    assert mine.metadata == its.metadata
    assert os.listdir(tmp_path).count("c.zarr") == 1
    assert len(os.listdir(tmp_path)) == 3


def test_the_type_of_a_wider_difference_is_that_of_the_codecs_too(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 1)):
        codec = zarr.codecs.BloscCodec(typesize=1, shuffle="shuffle")
        made(tmp_path / f"{name}.zarr", numbers("int8", seed), chunks=(4, 4), shards=(8, 8), compressors=codec)
    subtract_files(*(str(tmp_path / f"{name}.zarr") for name in "abc"), overflow="widen")
    found = zarr.open_array(tmp_path / "c.zarr", mode="r")
    assert (found.dtype, found.chunks, found.shards) == (np.int16, (4, 4), (8, 8))
    assert (found[...] == numbers("int16") - numbers("int16", 1)).all()


def test_codecs_that_round_are_read_and_not_written(tmp_path: Path) -> None:
    import numcodecs

    values = numbers("float32") / 8
    made(
        tmp_path / "a.zarr",
        values,
        zarr_format=2,
        filters=[numcodecs.FixedScaleOffset(0, 1, "<f4", "<i2"), numcodecs.Shuffle(2)],
        fill_value=0,
    )
    made(tmp_path / "b.zarr", np.full(SHAPE, 0.125, "float32"))
    subtract_files(*(str(tmp_path / f"{name}.zarr") for name in "abc"))
    header = json.loads((tmp_path / "c.zarr" / ".zarray").read_text())
    assert [one["id"] for one in header["filters"]] == ["shuffle"]
    assert (elements_of(tmp_path / "c.zarr") == elements_of(tmp_path / "a.zarr") - np.float32(0.125)).all()


def test_codecs_of_version_3_that_round_are_not_written() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numcodecs' are not in the standard
        codecs = [
            {"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": 0, "scale": 1}},
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "numcodecs.zfpy", "configuration": {}},
            {"name": "numcodecs.zlib", "configuration": {"level": 1}},
        ]
        exact = _exact_codecs(codecs, np.dtype("float32"))
    assert [one["name"] for one in exact] == ["transpose", "bytes", "numcodecs.zlib"]
    assert exact[1]["configuration"] == {"endian": "little"}


@pytest.mark.parametrize("version", [2, 3])
def test_groups_go_together_by_name(tmp_path: Path, version: int) -> None:
    for name, seed in (("a", 0), ("b", 1)):
        group = zarr.open_group(tmp_path / f"{name}.zarr", mode="w", zarr_format=version, attributes={"by": name})
        inner = group.create_group("bands", attributes={"depth": 1})
        for k, band in enumerate(("nir", "red")):
            inner.create_array(band, shape=SHAPE, chunks=(5, 5), dtype="int16")[...] = numbers(seed=seed + k)
    found = open_tensors(str(tmp_path / "a.zarr"))
    assert list(found) == ["bands/nir", "bands/red"]
    subtract_files(*(str(tmp_path / f"{name}.zarr") for name in "abc"))
    c = zarr.open_group(tmp_path / "c.zarr", mode="r")
    assert (dict(c.attrs), dict(c["bands"].attrs)) == ({"by": "a"}, {"depth": 1})
    assert (c["bands/red"][...] == numbers(seed=1) - numbers(seed=2)).all()
    path = tmp_path / "a.zarr"
    subtract_files(f"{path}::bands/nir", f"{path}::bands/red", str(tmp_path / "d.zarr"))
    d = zarr.open_group(tmp_path / "d.zarr", mode="r")
    assert (d["bands/nir"][...] == numbers(seed=0) - numbers(seed=1)).all()


def test_other_formats_go_to_zarr_and_back(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", numbers())
    made(tmp_path / "b.zarr", numbers(seed=1), chunks=(2, 2))
    subtract_files(str(tmp_path / "a.npy"), str(tmp_path / "b.zarr"), str(tmp_path / "c.zarr"))
    subtract_files(str(tmp_path / "b.zarr"), str(tmp_path / "a.npy"), str(tmp_path / "c.npy"))
    assert (elements_of(tmp_path / "c.zarr") == numbers() - numbers(seed=1)).all()
    assert (np.load(tmp_path / "c.npy") == numbers(seed=1) - numbers()).all()


def test_broadcasting_against_a_row(tmp_path: Path) -> None:
    made(tmp_path / "a.zarr", numbers()[:1], chunks=(1, 4), fill_value=3, attributes={"unit": "m"})
    made(tmp_path / "b.zarr", numbers(seed=1), chunks=(2, 2))
    subtract_files(*(str(tmp_path / f"{name}.zarr") for name in "abc"))
    found = zarr.open_array(tmp_path / "c.zarr", mode="r")
    assert (found[...] == numbers()[:1] - numbers(seed=1)).all()
    assert (found.fill_value, dict(found.attrs)) == (3, {"unit": "m"})


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_arrays_of_no_axes_and_of_no_elements(tmp_path: Path, shape: tuple[int, ...]) -> None:
    made(tmp_path / "a.zarr", np.full(shape, 5, "int8"))
    made(tmp_path / "b.zarr", np.full(shape, 7, "int8"))
    subtract_files(*(str(tmp_path / f"{name}.zarr") for name in "abc"))
    assert elements_of(tmp_path / "c.zarr").tobytes() == np.full(shape, -2, "int8").tobytes()


def test_a_chunk_that_is_missing_holds_the_fill_value(tmp_path: Path) -> None:
    made(tmp_path / "a.zarr", numbers(), chunks=(4, 4), fill_value=9)
    os.unlink(tmp_path / "a.zarr" / "c" / "1" / "1")
    (tensor,) = open_tensors(str(tmp_path / "a.zarr")).values()
    expected = numbers()
    expected[4:8, 4:8] = 9
    assert (tensor.read() == expected).all()


DAMAGED = {
    "v3": ("c/2/1", "Zstd decompression error: invalid input data"),
    "v3, shards": ("c/1/0", None),
    "v3, not packed": ("c/0/0", None),
    "v2": ("2.1", "Zstd decompression error: invalid input data"),
}


@pytest.mark.parametrize("grid", DAMAGED)
def test_a_chunk_that_is_cut_off_is_named(tmp_path: Path, grid: str) -> None:
    key, reason = DAMAGED[grid]
    made(tmp_path / "x.zarr", numbers(), **GRIDS[grid])
    path = tmp_path / "x.zarr" / key
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    message = the_error(tmp_path / "x.zarr")
    assert message.startswith(f"x.zarr: the chunk {key} cannot be unpacked (")
    assert message.endswith("); it is cut off or damaged, copy the array anew")
    assert reason is None or reason in message


def header(tmp_path: Path, **changes: Any) -> Path:
    """An array of version 3 whose header says something else."""
    made(tmp_path / "x.zarr", numbers(), chunks=(4, 4))
    file = tmp_path / "x.zarr" / "zarr.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    return tmp_path / "x.zarr"


OBJECTS = "x.zarr holds Python objects, which are pickles and can run code; expected numbers"


@pytest.mark.parametrize(
    "settings",
    [{"dtype": "|O", "filters": [{"id": "pickle"}]}, {"filters": [{"id": "pickle"}]}, {"compressor": {"id": "pickle"}}],
    ids=str,
)
def test_objects_are_refused_and_never_unpickled(tmp_path: Path, settings: dict[str, Any]) -> None:
    made(tmp_path / "x.zarr", numbers(), zarr_format=2, chunks=(4, 4))
    file = tmp_path / "x.zarr" / ".zarray"
    file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))
    assert the_error(tmp_path / "x.zarr") == OBJECTS


@pytest.mark.parametrize("version", [2, 3])
def test_texts_are_refused_as_such(tmp_path: Path, version: int) -> None:
    path, out = str(tmp_path / "x.zarr"), str(tmp_path / "c.zarr")
    words = pytest.importorskip("xarray").Dataset({"words": ("x", np.array(["a", "bc"], object))})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words.to_zarr(path, zarr_format=version)
    reason = "element type 'string': subtraction is not defined for strings; expected numbers"
    with pytest.raises(errors.DTypeError, match=f"^{reason}, at .*x.zarr array 'words'$"):
        subtract_files(path, path, out)


def test_pickles_within_shards_are_refused(tmp_path: Path) -> None:
    inner = {"name": "numcodecs.pickle", "configuration": {}}
    shards = {"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 2], "codecs": [inner]}}
    assert the_error(header(tmp_path, codecs=[shards])) == OBJECTS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"zarr_format": 4},
         "x.zarr/zarr.json states the format 4 and the node type 'array'; expected 3, and 'array' or 'group'"),
        ({"attributes": [1]}, "x.zarr/zarr.json has attributes that are a JSON list; expected an object"),
        ({"data_type": "complex64", "fill_value": [0, 0]}, "complex64"),
        ({"data_type": "nonsense"}, "x.zarr is no array that zarr "),
        ({"codecs": []}, "x.zarr states the codecs []; expected a list of at least one"),
        ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 4]}}},
         "x.zarr states the chunk shape [0, 4]; expected a list of whole numbers from 1 on, one for each axis"),
        ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}},
         "x.zarr states the chunk shape (4,) of an array of shape (11, 13); expected one for each axis"),
        ({"shape": [9, 13.0]}, "x.zarr states the shape [9, 13.0]; expected a list of whole numbers from 0 on"),
        ({"chunk_grid": {"name": "regular"}},
         "x.zarr states the chunk_grid {'name': 'regular'}; expected an object with a name and a configuration"),
        ({"codecs": [7]}, "x.zarr states the codec 7; expected an object with a name"),
        ({"codecs": [{"name": "sharding_indexed",
                      "configuration": {"chunk_shape": [2, 2], "codecs": ["bytes"],
                                        "index_codecs": ["bytes", "gzip"]}}]},
         "x.zarr states the codecs ['bytes', 'gzip'] of the index of its shards; expected bytes and crc32c"),
        ({"shape": [2**70, 1]}, "x.zarr "),
        ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 20, 1 << 20]}}},
         "x.zarr has chunks of the shape (1048576, 1048576), 2199023255552 bytes each, and is itself"),
    ],
    ids=lambda one: str(one)[:30],
)  # fmt: skip
def test_headers_that_lie_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    assert message in the_error(header(tmp_path, **changes))


def test_what_is_no_zarr_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zarr").mkdir()
    assert (
        the_error(tmp_path / "x.zarr")
        == "x.zarr holds no zarr.json, .zarray or .zgroup; expected a zarr array or group"
    )
    (tmp_path / "x.zarr" / "zarr.json").write_text("{")
    assert the_error(tmp_path / "x.zarr").startswith("x.zarr/zarr.json is no JSON (")
    (tmp_path / "y.zarr").write_text("")
    assert the_error(tmp_path / "y.zarr") == "x.zarr is no folder; expected the folder of a zarr array or group"


@pytest.mark.parametrize("what", ["c/0/0", "zarr.json", "c"])
def test_links_that_leave_the_folder_are_refused(tmp_path: Path, what: str) -> None:
    made(tmp_path / "x.zarr", numbers(), chunks=(4, 4))
    (tmp_path / "x.zarr" / what).rename(tmp_path / "away")
    (tmp_path / "x.zarr" / what).symlink_to(tmp_path / "away")
    message = the_error(tmp_path / "x.zarr")
    place = {"c": "c/0/0"}.get(what, what)
    real = tmp_path / ("away/0/0" if what == "c" else "away")
    assert message == (
        f"x.zarr/{place} leads to {real}, out of x.zarr; an array is read inside of its own folder alone, copy what "
        "is meant there"
    )


def test_a_group_behind_a_link_is_refused_and_an_array_is_not(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    group.create_group("g").create_array("u", data=numbers())
    (tmp_path / "x.zarr" / "v").symlink_to("g/u")
    assert set(open_tensors(str(tmp_path / "x.zarr"))) == {"g/u", "v"}
    (tmp_path / "x.zarr" / "g" / "loop").symlink_to(".")
    assert (
        the_error(tmp_path / "x.zarr")
        == "x.zarr/g/loop is a group behind a link; expected groups in folders of their own"
    )


def test_a_pipe_in_a_chunks_place_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "x.zarr", numbers(), chunks=(20, 20))
    os.unlink(tmp_path / "x.zarr" / "c" / "0" / "0")
    os.mkfifo(tmp_path / "x.zarr" / "c" / "0" / "0")
    assert the_error(tmp_path / "x.zarr") == (
        "x.zarr/c/0/0 is a pipe; expected a regular file, copy its content to one"
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["../a", "b"], "c.zarr: the name '../a' is none that zarr has; rename the tensor"),
        (["a//b", "b"], "c.zarr: the name 'a//b' is none that zarr has; rename the tensor"),
        (["a\0", "b"], "c.zarr: the name 'a\\x00' is none that zarr has; rename the tensor"),
        (["a", "zarr.json"], "c.zarr: the name 'zarr.json' is none that zarr has; rename the tensor"),
        (["a", "a/b"], "c.zarr: 'a/b' would lie within the array 'a'; rename one of them"),
    ],
)
def test_names_that_are_no_folders_are_refused(tmp_path: Path, names: list[str], message: str) -> None:
    results = [Result.of(name, TYPES["int16"], numbers()) for name in names]
    with pytest.raises(errors.FileFormatError) as caught:
        write_tensors(str(tmp_path / "c.zarr"), results)
    assert str(caught.value) == f"{tmp_path}/{message}"
    assert not os.listdir(tmp_path)


def test_types_and_attributes_that_zarr_lacks_are_refused(tmp_path: Path) -> None:
    import ml_dtypes

    out = str(tmp_path / "c.zarr")
    with pytest.raises(errors.DTypeError) as caught:
        write_tensors(out, [Result.of("x", TYPES["bfloat16"], np.zeros(3, ml_dtypes.bfloat16))])
    assert str(caught.value) == f"zarr has no bfloat16; write to .safetensors or .pb, at {out}"
    about = About(attributes={"z": 1j, "n": np.float32(1)})
    with pytest.raises(errors.FileFormatError) as caught_too:
        write_tensors(out, [Result.of("x", TYPES["int16"], numbers(), about)])
    assert str(caught_too.value) == (
        f"{out}: the attribute 'z' is a complex, which JSON does not hold; write to another format, or remove it from A"
    )


def test_several_arrays_are_written_at_once(tmp_path: Path) -> None:
    names = ["a", "b/c"]
    about = About(attributes={"n": np.arange(2)})
    write_tensors(
        str(tmp_path / "c.zarr"),
        [Result.of(name, TYPES["int16"], numbers(seed=k), about) for k, name in enumerate(names)],
    )
    group = zarr.open_group(tmp_path / "c.zarr", mode="r")
    assert (group["b/c"][...] == numbers(seed=1)).all()
    assert dict(group["a"].attrs) == {"n": [0, 1]}
    assert sorted(os.listdir(tmp_path / "c.zarr")) == ["a", "b", "zarr.json"]


def test_an_object_store_is_read(tmp_path: Path) -> None:
    made(tmp_path / "a.zarr", numbers(), chunks=(4, 4))
    url = f"file://{tmp_path}/a.zarr"
    subtract_files(url, str(tmp_path / "a.zarr"), str(tmp_path / "c.zarr"))
    assert not elements_of(tmp_path / "c.zarr").any()


def test_numbers_that_are_packed_in_different_ways_are_refused(tmp_path: Path) -> None:
    for name, offset in (("a", 2.0), ("b", 2.0), ("c", 3.0)):
        made = zarr.create_array(tmp_path / f"{name}.zarr", shape=(4,), chunks=(2,), dtype="int16")
        made.attrs.update({"scale_factor": 0.5, "add_offset": offset, "units": "K"})
    a, b, c, out = (str(tmp_path / f"{name}.zarr") for name in "abcd")
    subtract_files(a, b, out)
    assert dict(zarr.open_array(out, mode="r").attrs) == {"scale_factor": 0.5, "units": "K"}
    with pytest.raises(errors.MinuendError) as caught:
        subtract_files(a, c, out)
    assert str(caught.value).startswith(
        "A and B are scaled in different ways: A means 0.5 × what is stored + 2.0 and B 0.5 × what is stored + 3.0; "
    )


@pytest.mark.parametrize("version", [2, 3])
def test_where_a_codec_has_no_memory_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Zstandard's raises a RuntimeError: that was a defect in writing, and a damaged chunk in reading."""
    zstd = pytest.importorskip("numcodecs.zstd")

    def fails(*_: object) -> None:
        raise RuntimeError("Zstd compression error: b'Allocation error : not enough memory'")

    codecs = {"compressors": [zstd.Zstd()]} if version == 2 else {}
    for seed, name in enumerate("ab"):
        made(tmp_path / f"{name}.zarr", numbers(seed=seed), chunks=(3, 5), zarr_format=version, **codecs)
    for output in ("c.zarr", "c.zarr.zip"):
        with monkeypatch.context() as patch:
            patch.setattr(zstd.Zstd, "encode", fails)
            with pytest.raises(MemoryError, match="not enough memory"):
                subtract_files(str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr"), str(tmp_path / output))
        assert not (tmp_path / output).exists()
    monkeypatch.setattr(zstd, "decompress", fails)
    with pytest.raises(MemoryError, match="not enough memory"):
        subtract_files(str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr"), str(tmp_path / "c.npy"))


def test_codecs_that_are_not_written_are_named(tmp_path: Path) -> None:
    numcodecs = pytest.importorskip("numcodecs")
    path = str(tmp_path / "a.zarr")
    filters = [numcodecs.Quantize(digits=1, dtype="f8"), numcodecs.Shuffle(8)]
    made = zarr.create_array(path, shape=(4,), dtype="f8", filters=filters, zarr_format=2)
    made[:] = np.arange(4.0)
    report = subtract_files(path, path, str(tmp_path / "c.zarr"))
    assert report.notes == ("the codecs 'quantize' of 'difference' are left out",)


@pytest.mark.parametrize("versions", [(2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("scalar", [{"a"}, {"b"}, {"a", "b"}])
def test_all_arrays_of_a_group_are_of_one_version(versions: tuple[int, int], scalar: set[str], tmp_path: Path) -> None:
    """A scalar less an array was written in version 3 in a group of version 2, where nothing finds it."""
    for side, version in zip("ab", versions, strict=True):
        group = zarr.open_group(tmp_path / f"{side}.zarr", mode="w", zarr_format=version)
        for name in ("v", "w", "x"):
            value = float("vwx".index(name) + 5 * (side == "a"))
            shape = () if name == "w" and side in scalar else (4,)
            group.create_array(name, data=np.full(shape, value), fill_value=np.nan)
    subtract_files(*(str(tmp_path / f"{name}.zarr") for name in "abc"))
    found = {name: one[...].tolist() for name, one in zarr.open_group(tmp_path / "c.zarr", mode="r").arrays()}
    assert found == {"v": [5.0] * 4, "w": 5.0 if scalar == {"a", "b"} else [5.0] * 4, "x": [5.0] * 4}
    headers = {
        path.name for path in (tmp_path / "c.zarr").rglob("*") if path.name in (".zarray", ".zgroup", "zarr.json")
    }
    assert headers == ({".zarray", ".zgroup"} if versions[0] == 2 else {"zarr.json"})


def test_a_scalar_less_an_array_of_version_2_is_of_version_2(tmp_path: Path) -> None:
    made(tmp_path / "a.zarr", np.array(7, ">i4"), chunks=(), zarr_format=2)
    made(tmp_path / "b.zarr", np.arange(3, dtype="i4"), chunks=(2,))
    subtract_files(*(str(tmp_path / f"{name}.zarr") for name in "abc"))
    found = zarr.open_array(tmp_path / "c.zarr", mode="r")
    assert (found.metadata.zarr_format, found.dtype, found[...].tolist()) == (2, np.int32, [7, 6, 5])
