"""Sharded checkpoints: a folder and its index are one file of tensors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from minuend.errors import FileFormatError, MinuendError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files

pytest.importorskip("safetensors")
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

TEXT = {"format": "pt", "note": "ours"}
ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"
TENSORS = {
    "embed": np.arange(12, dtype=np.float32).reshape(4, 3),
    "head": np.arange(6, dtype=np.float32).astype(ml_dtypes.bfloat16).reshape(2, 3),
    "steps": np.array([3], np.int64),
}
PLACES = {"embed": ONE, "head": TWO, "steps": ONE}


def checkpoint(folder: Path, times: float = 1, places: Mapping[str, str] = PLACES) -> str:
    """Write a checkpoint whose tensors are some times :data:`TENSORS`."""
    folder.mkdir()
    for shard in dict.fromkeys(places.values()):
        own = {name: (times * TENSORS[name]).astype(TENSORS[name].dtype) for name in places if places[name] == shard}
        save_file(own, folder / shard, metadata=TEXT | {"shard": shard})
    write_index(folder, {"metadata": {"total_size": 68}, "weight_map": dict(places)})
    return str(folder)


def write_index(folder: Path, data: Any) -> None:
    (folder / INDEX).write_text(data if isinstance(data, str) else json.dumps(data))


def refused(path: str, kind: type[Exception] = FileFormatError) -> str:
    with pytest.raises(kind) as caught:
        open_tensors(path)
    return str(caught.value)


@pytest.mark.parametrize("named", ["the folder", "the folder with a slash", "the index"])
def test_a_folder_or_its_index_is_one_file_of_tensors(tmp_path: Path, named: str) -> None:
    folder = checkpoint(tmp_path / "ckpt")
    path = {"the folder": folder, "the folder with a slash": f"{folder}/", "the index": f"{folder}/{INDEX}"}[named]
    found = open_tensors(path)
    assert list(found) == list(PLACES)
    assert {name: tensor.read().tobytes() for name, tensor in found.items()} == {
        name: array.tobytes() for name, array in TENSORS.items()
    }
    (one,) = open_tensors(f"{path}::head").values()
    assert one.shape == (2, 3)


@pytest.mark.parametrize("slash", ["", "/"])
def test_shards_in_shards_out_with_their_text(tmp_path: Path, slash: str) -> None:
    tuned, base = checkpoint(tmp_path / "tuned", 3), checkpoint(tmp_path / "base")
    report = subtract_files(tuned, base, str(tmp_path / "out") + slash)
    assert sorted(os.listdir(tmp_path / "out")) == [ONE, TWO, INDEX]
    assert json.loads((tmp_path / "out" / INDEX).read_text()) == {
        "metadata": {"total_size": 12 * 4 + 6 * 2 + 8},
        "weight_map": PLACES,
    }
    for shard in (ONE, TWO):
        with safe_open(tmp_path / "out" / shard, framework="numpy") as found:
            assert found.metadata() == TEXT | {"shard": shard}
        assert {name: array.tolist() for name, array in load_file(tmp_path / "out" / shard).items()} == {
            name: (2 * TENSORS[name]).tolist() for name in PLACES if PLACES[name] == shard
        }
    assert report.notes == (
        (
            "a difference of floats is rounded and does not give TUNED back from BASE bit by bit; "
            "minuend delta make BASE TUNED -o D does"
        ),
    )
    assert list(open_tensors(str(tmp_path / "out"))) == list(PLACES)
    assert sorted(os.listdir(tmp_path)) == ["base", "out", "tuned"]


def test_an_output_file_holds_all_and_the_text_of_a(tmp_path: Path) -> None:
    tuned, base, out = checkpoint(tmp_path / "tuned", 3), checkpoint(tmp_path / "base"), tmp_path / "out.safetensors"
    subtract_files(tuned, base, str(out))
    assert {name: array.tolist() for name, array in load_file(out).items()} == {
        name: (2 * array).tolist() for name, array in TENSORS.items()
    }
    with safe_open(out, framework="numpy") as found:
        assert found.metadata() == TEXT | {"shard": ONE}  # where shards differ, the first one's
    subtract_files(str(out), base, str(tmp_path / "again.safetensors"))
    with safe_open(tmp_path / "again.safetensors", framework="numpy") as found:
        assert found.metadata() == TEXT | {"shard": ONE}


def test_what_an_index_says_besides_is_named(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "ckpt")
    plain = subtract_files(folder, folder, f"{tmp_path}/c").notes
    said = {"total_size": 68, "total_parameters": 21, "by": "ours"}
    write_index(tmp_path / "ckpt", {"metadata": said, "weight_map": PLACES})
    lost = f"{folder}/{INDEX} has the metadata 'by', which are left out"
    assert subtract_files(folder, folder, f"{tmp_path}/d").notes == (lost, *plain)


def test_what_one_side_lacks_is_listed_wherever_it_lies(tmp_path: Path) -> None:
    a = checkpoint(tmp_path / "a")
    b = checkpoint(tmp_path / "b", places={"embed": TWO, "head": ONE})
    with pytest.raises(FileFormatError) as caught:
        subtract_files(a, b, str(tmp_path / "out"))
    assert str(caught.value) == (
        f"{a} and {b} do not hold the same tensors: only {a} has 'steps'; --common subtracts the 2 that both have"
    )
    report = subtract_files(a, b, str(tmp_path / "out"), common=True)
    assert (report.skipped, list(open_tensors(str(tmp_path / "out")))) == (("steps",), ["embed", "head"])


def test_integers_alone_need_no_note(tmp_path: Path) -> None:
    a = checkpoint(tmp_path / "a", places={"steps": ONE})
    assert subtract_files(a, a, str(tmp_path / "out")).notes == ()


def test_shards_behind_links_are_read(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "ckpt")
    (tmp_path / "blobs").mkdir()
    for name in (ONE, TWO):
        os.rename(f"{folder}/{name}", tmp_path / "blobs" / name)
        os.symlink(tmp_path / "blobs" / name, f"{folder}/{name}")
    assert len(open_tensors(folder)) == 3


# ---- what is wrong --------------------------------------------------------------------------------------------

TORN = "index and shards are of different checkpoints"


def dropped(folder: Path) -> None:
    os.unlink(folder / TWO)


def lost(folder: Path) -> None:
    write_index(folder, {"weight_map": PLACES | {"norm": TWO, "embed": TWO}})


def unnamed(folder: Path) -> None:
    write_index(folder, {"weight_map": {"embed": ONE, "head": TWO}})


def twice(folder: Path) -> None:
    save_file({"head": TENSORS["head"], "embed": TENSORS["embed"]}, folder / TWO)


def indexed(data: Any) -> Callable[[Path], None]:
    return lambda folder: write_index(folder, data)


def placed(name: str) -> Callable[[Path], None]:
    return indexed({"weight_map": {"embed": name}})


WRONG: dict[str, tuple[Callable[[Path], None], str]] = {
    "a shard is missing": (dropped, f"{{index}} names '{TWO}', which is not there; fetch all shards"),
    "a tensor is in none": (lost,
         f"{{index}} promises 'embed' in '{TWO}' and 'norm' in '{TWO}', which are not there; {TORN}"),
    "a tensor is not named": (unnamed, f"{{index}} does not name 'steps', which its shards hold; {TORN}"),
    "a tensor is in two": (twice, f"{{index}}: 'embed' is in '{ONE}' and in '{TWO}'; expected it once"),
    "a name leads upwards": (placed("../x.safetensors"),
         ("{index} has 'embed' in '../x.safetensors', which is a path; "
          "expected the name of a file beside the index")),
    "a name leads into a folder": (placed("w/x.safetensors"),
         ("{index} has 'embed' in 'w/x.safetensors', which is a path; "
          "expected the name of a file beside the index")),
    "a name is absolute": (placed("/x.safetensors"),
         ("{index} has 'embed' in '/x.safetensors', which is a path; "
          "expected the name of a file beside the index")),
    "a name is one of Windows": (placed("c:x.safetensors"),
         ("{index} has 'embed' in 'c:x.safetensors', which is a path; "
          "expected the name of a file beside the index")),
    "a name holds NUL": (placed("x\0.safetensors"),
         "{index} has 'embed' in 'x\\x00.safetensors', which is no name of a safetensors file; expected one"),
    "a name is of another format": (placed("x.bin"),
         "{index} has 'embed' in 'x.bin', which is no name of a safetensors file; expected one"),
    "no map": (indexed({"metadata": {}}),
         "{index} has no 'weight_map' of names of tensors and of their files; expected an index"),
    "an empty map": (indexed({"weight_map": {}}),
         "{index} has no 'weight_map' of names of tensors and of their files; expected an index"),
    "numbers for names": (indexed({"weight_map": {"embed": 3}}),
         "{index} has no 'weight_map' of names of tensors and of their files; expected an index"),
    "a name twice": (indexed('{"weight_map": {"embed": "a.safetensors", "embed": "b.safetensors"}}'),
         "{index} names 'embed' twice; expected names that differ"),
    "no JSON": (indexed("{"),
         ("{index} is no JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)); "
          "expected an index of safetensors files")),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_an_index_that_does_not_fit_is_refused(tmp_path: Path, case: str) -> None:
    folder = checkpoint(tmp_path / "ckpt")
    spoil, message = WRONG[case]
    spoil(tmp_path / "ckpt")
    index = f"{folder}/{INDEX}"
    assert refused(folder) == refused(index) == message.format(index=index)


def test_a_truncated_shard_is_named(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "ckpt")
    os.truncate(f"{folder}/{TWO}", os.path.getsize(f"{folder}/{TWO}") - 2)
    assert refused(folder) == f"{folder}/{TWO} has 10 bytes of elements; expected 12, as its header says"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "holds no *.safetensors.index.json; expected a sharded checkpoint"),
        ([ONE], f"holds no *.safetensors.index.json; name a file in it: '{ONE}'"),
        (
            ["a.safetensors.index.json", "b.safetensors.index.json"],
            "holds 2 indexes ('a.safetensors.index.json', 'b.safetensors.index.json'); name one of them",
        ),
    ],
)
def test_a_folder_without_one_index_is_refused(tmp_path: Path, files: list[str], message: str) -> None:
    for name in files:
        (tmp_path / name).touch()
    assert refused(str(tmp_path)) == f"{tmp_path} is a folder that {message}"


def test_outputs_that_would_spoil_something_are_refused(tmp_path: Path) -> None:
    a = checkpoint(tmp_path / "a")
    for out, message in {
        a: f"the output {a} is also an input; nothing is overwritten, name another output",
        f"{a}/{ONE}": f"the output {a}/{ONE} is also an input; nothing is overwritten, name another output",
        f"{a}/{INDEX}": f"the output {a}/{INDEX} is also an input; nothing is overwritten, name another output",
        str(tmp_path): f"{tmp_path} exists; name a folder that does not",
        f"{tmp_path}/{INDEX}": f"{tmp_path}/{INDEX} is the name of an index; name a folder for it and its shards, "
        "or a .safetensors file for all tensors",
    }.items():
        with pytest.raises(MinuendError) as caught:
            subtract_files(a, a, out)
        assert str(caught.value) == message
    assert sorted(os.listdir(a)) == [ONE, TWO, INDEX]
