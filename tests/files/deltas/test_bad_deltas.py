"""Across modules: damaged deltas, other bases and interrupted work give a clear error, and nothing is written."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import INDEX, ONE, TWO, Edit, rewritten, sharded
from command_line import run

pytest.importorskip("safetensors")
pytest.importorskip("zstandard")
import zstandard
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from minuend.errors import FileFormatError, MinuendError
from minuend.files.deltas import apply_delta, delta_info, make_delta, verify_delta
from minuend.files.deltas.hashing import Hashing

BITS = np.random.default_rng(5)
BASE = {"grown": np.arange(6, dtype=np.int16).reshape(2, 3), "kept": np.ones(4, np.float32), "x": np.arange(20)}
TUNED = {"grown": np.arange(9, dtype=np.int16).reshape(3, 3) + 1, "kept": BASE["kept"], "x": np.arange(20) * 3}
SHA = "0" * 64


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which commands run: base, tuned and the delta d."""
    monkeypatch.chdir(tmp_path)
    save_file(BASE, "base.safetensors")
    save_file(TUNED, "tuned.safetensors", metadata={"note": "ours"})
    make_delta("base.safetensors", "tuned.safetensors", "d.safetensors")
    return tmp_path


def manifest_with(path: str, value: Any) -> Edit:
    """Change one thing in the manifest: its place with dots between names."""

    def edit(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
        *way, last = path.split(".")
        at: Any = manifest
        for name in way:
            at = at[int(name)] if isinstance(at, list) else at[name]
        if isinstance(at, list):
            at[int(last)] = value
        else:
            at[last] = value

    return edit


def entry_with(name: str, change: Any) -> Edit:
    """Change the bytes of an entry."""

    def edit(_: dict[str, Any], entries: dict[str, bytes]) -> None:
        entries[name] = change(entries[name])

    return edit


def without(name: str) -> Edit:
    def edit(manifest: dict[str, Any], entries: dict[str, bytes]) -> None:
        entries.pop(name, None) or manifest["tensors"].pop(name)

    return edit


def bomb(_: bytes) -> bytes:
    """Eight planes, the first of which would unpack to 64 MiB."""
    plane = zstandard.ZstdCompressor().compress(bytes(64 << 20))[:12]
    return struct.pack("<B8I", 0, len(plane), *[0] * 7) + plane


HEAD = 224  # of tuned.safetensors
FILE = "d.safetensors file ''"
X, GROWN = "d.safetensors tensor 'tensor/x'", "d.safetensors tensor 'tensor/grown'"
DAMAGED = "; the delta is damaged"
WRONG: dict[str, tuple[Edit, str]] = {
    "no object": (manifest_with("base", 3), "d.safetensors has a manifest in which base is 3; expected a list"),
    "a field too many": (manifest_with("tensors.x.sha", 1),
         ("d.safetensors has a manifest in which tensors.x has the key 'sha' (did you mean 'sha256'?); "
          "expected stored, sha256, base, changed or norm")),
    "stored in no known way": (manifest_with("tensors.x.stored", "xor"),
         ("d.safetensors has a manifest in which tensors.x.stored is 'xor'; "
          "expected one of 'difference', 'unchanged' or 'whole'")),
    "no hash": (manifest_with("tensors.x.sha256", "12"),
         "d.safetensors has a manifest in which tensors.x.sha256 is '12'; expected 64 hexadecimal digits"),
    "a size below 0": (manifest_with("files.0.size", -1),
         "d.safetensors has a manifest in which files[0].size is -1; expected a whole number from 0 on"),
    "a size that is true": (manifest_with("tensors.x.base.shape", [True]),
         "d.safetensors has a manifest in which tensors.x.base.shape[0] is True; expected a whole number from 0 on"),
    "a norm below 0": (manifest_with("tensors.x.norm.l2", -1.0),
         "d.safetensors has a manifest in which tensors.x.norm.l2 is -1.0; expected a number from 0 on"),
    "a name that is none": (manifest_with("files.0.name", 7),
         "d.safetensors has a manifest in which files[0].name is 7; expected a text"),
    "no files": (manifest_with("files", []),
         "d.safetensors gives the files none; expected one, or an index and its shards"),
    "a head of more than the file": (manifest_with("files.0.size", 100),
         f"d.safetensors promises a head of {HEAD} bytes in a file of 100; expected 100 at most"),
    "a head of more than any": (lambda manifest, _: manifest["files"][0].update(size=1 << 40, head=1 << 39),
         f"d.safetensors has heads of {1 << 39} bytes together; a delta takes 100000008 at most"),
    "a file of another size": (manifest_with("files.0.size", HEAD + 200),
         f"{FILE} has 200 bytes of elements; expected 194, as its header says"),
    "a name that leaves the folder": (manifest_with("files.0.name", "../x.safetensors"),
         ("d.safetensors gives a file '../x.safetensors', which is a path; "
          "expected the name of a file beside the index")),
    "an absolute name": (manifest_with("files.0.name", "/tmp/x.safetensors"),
         ("d.safetensors gives a file '/tmp/x.safetensors', which is a path; "
          "expected the name of a file beside the index")),
    "a name with NUL": (manifest_with("files.0.name", "x\0.safetensors"),
         "d.safetensors gives a file 'x\\x00.safetensors', which is no name of a safetensors file; expected one"),
    "one file with a name": (manifest_with("files.0.name", "x.safetensors"),
         "d.safetensors gives the files 'x.safetensors'; expected one, or an index and its shards"),
    "no head": (without("file/"), f"{FILE} has no head; expected a tensor 'file/'"),
    "no entry": (without("tensor/x"), "d.safetensors holds other tensors than its manifest tells of: 'tensor/x'"),
    "an entry too many": (lambda _, entries: entries.update({"tensor/kept": b"1"}),
         "d.safetensors holds other tensors than its manifest tells of: 'tensor/kept'"),
    "no record": (without("x"), "d.safetensors has a manifest and heads that do not name the same tensors: 'x'"),
    "unchanged from another shape": (manifest_with("tensors.kept.base.shape", [3]),
         "d.safetensors tensor 'kept' is unchanged from a base of another type or shape" + DAMAGED),
    "a difference from nothing": (manifest_with("tensors.x.base", None),
         "d.safetensors tensor 'x' is a difference from a base that it does not fit" + DAMAGED),
    "cut in a head": (entry_with("tensor/x", lambda raw: raw[:5]), f"{X} ends in the midst of a block{DAMAGED}"),
    "cut in a plane": (entry_with("tensor/x", lambda raw: raw[:-1]), f"{X} ends in the midst of a block{DAMAGED}"),
    "more behind it": (entry_with("tensor/x", lambda raw: raw + b"xy"),
         f"{X} has 2 bytes beyond its last block{DAMAGED}"),
    "a kind of block": (entry_with("tensor/x", lambda raw: b"\2" + raw[1:]),
         f"{X} has a block of kind 2; expected 0 or 1"),
    "a plane of too many bytes": (entry_with("tensor/x", lambda raw: raw[:1] + b"\x15\0\0\0" + raw[5:]),
         f"{X} has a plane of 21 bytes for 20 elements; expected 20 at most"),
    "a bomb": (entry_with("tensor/x", bomb), f"{X} has a plane that states {64 << 20} bytes; expected 20"),
    "a difference in new rows": (entry_with("tensor/grown", lambda raw: raw[:-12] + b"\0" + raw[-11:]),
         f"{GROWN} has a difference where there is no base{DAMAGED}"),
    "the hash of a tensor": (manifest_with("tensors.x.sha256", SHA),
         "d.safetensors tensor 'x' comes out with another sha256 than promised" + DAMAGED),
    "the hash of a file": (manifest_with("files.0.sha256", SHA),
         f"{FILE} comes out with another sha256 than promised{DAMAGED}"),
    "the hash of the base": (manifest_with("tensors.kept.base.sha256", SHA),
         ("base.safetensors tensor 'kept' holds other elements than the base that d.safetensors was made from "
          "(their sha256 differs); name that base")),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_delta_that_lies_is_refused(here: Path, capfd: pytest.CaptureFixture[str], wrong: str) -> None:
    edit, message = WRONG[wrong]
    rewritten(here / "d.safetensors", edit)
    before = sorted(os.listdir())
    status, out, err = run(capfd, "delta", "apply", "base.safetensors", "d.safetensors", "-o", "out.safetensors")
    assert (status, out, err) == (2, "", f"error: {message}\n")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "d.safetensors is no delta: its metadata has no 'minuend.delta'; expected what minuend delta make writes"),
        (
            {"minuend.delta.version": "2", "minuend.delta": "{}"},
            "d.safetensors is a delta of layout version '2'; expected '1', a newer minuend may read it",
        ),
        (
            {"minuend.delta.version": "1", "minuend.delta": '{"a": 1, "a": 1}'},
            "d.safetensors names 'a' twice in its manifest; expected names that differ",
        ),
    ],
    ids=["no delta", "newer", "a name twice"],
)
def test_what_is_no_delta_is_refused(here: Path, metadata: dict[str, str], message: str) -> None:
    save_file({"x": np.ones(1)}, here / "d.safetensors", metadata=metadata)
    for work in (
        lambda: delta_info("d.safetensors"),
        lambda: apply_delta("base.safetensors", "d.safetensors", "out.safetensors"),
        lambda: verify_delta("base.safetensors", "d.safetensors"),
    ):
        with pytest.raises(FileFormatError) as caught:
            work()
        assert str(caught.value) == message
    assert not os.path.exists("out.safetensors")


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "é"])
def test_a_manifest_that_is_no_json_is_refused(here: Path, text: str) -> None:
    metadata = {"minuend.delta.version": "1", "minuend.delta": text}
    save_file({"x": np.ones(1)}, here / "d.safetensors", metadata=metadata)
    with pytest.raises(
        FileFormatError, match=r"\Ad.safetensors has a manifest that is no JSON \(.*\); expected an object"
    ):
        delta_info("d.safetensors")


def test_a_delta_that_is_cut_is_refused(here: Path) -> None:
    size = os.path.getsize("d.safetensors")
    os.truncate("d.safetensors", size - 3)
    with pytest.raises(FileFormatError, match=r"d.safetensors has [0-9]+ bytes of elements; expected [0-9]+, as its"):
        apply_delta("base.safetensors", "d.safetensors", "out.safetensors")


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (
            BASE | {"x": np.arange(20) + 1},
            (
                "other.safetensors tensor 'x' holds other elements than the base that d.safetensors was made from "
                "(their sha256 differs); name that base"
            ),
        ),
        (
            BASE | {"x": np.arange(8)},
            (
                "other.safetensors tensor 'x' is I64 of shape (8,); expected I64 of shape (20,), "
                "as in the base of d.safetensors"
            ),
        ),
        (
            {name: array for name, array in BASE.items() if name != "kept"},
            "other.safetensors has no tensor 'kept'; expected F32 of shape (4,), as in the base of d.safetensors",
        ),
    ],
    ids=["elements", "shape", "missing"],
)
def test_another_base_is_refused_by_the_tensor(here: Path, base: dict[str, np.ndarray], message: str) -> None:
    save_file(base, here / "other.safetensors")
    before = sorted(os.listdir())
    with pytest.raises(FileFormatError) as caught:
        apply_delta("other.safetensors", "d.safetensors", "out.safetensors")
    assert str(caught.value) == message
    assert sorted(os.listdir()) == before
    assert message in verify_delta("other.safetensors", "d.safetensors").findings


def test_verify_names_all_that_differs(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = BASE | {"x": np.arange(20) + 1, "more": np.ones(1)}
    save_file(other, "other.safetensors")
    save_file(TUNED | {"x": TUNED["x"] + 1}, "wrong.safetensors", metadata={"note": "ours"})
    found = verify_delta("other.safetensors", "d.safetensors", "wrong.safetensors")
    assert found.findings == (
        (
            "other.safetensors tensor 'x' holds other elements than the base that d.safetensors was made from "
            "(their sha256 differs); name that base"
        ),
        "other.safetensors has a tensor 'more', which the base of d.safetensors had not",
        "wrong.safetensors tensor 'x' holds other elements than d.safetensors gives",
        "wrong.safetensors is not, byte by byte, what d.safetensors gives",
    )
    assert run(capfd, "delta", "verify", "other.safetensors", "d.safetensors")[0] == 1
    save_file(TUNED, "text.safetensors")
    assert verify_delta("base.safetensors", "d.safetensors", "text.safetensors").findings == (
        "text.safetensors is not, byte by byte, what d.safetensors gives",
    )
    assert sorted(os.listdir()) == sorted(
        f"{name}.safetensors" for name in ("base", "d", "other", "text", "tuned", "wrong")
    )


def test_the_base_of_what_is_stored_whole_is_verified_too(here: Path) -> None:
    save_file({"x": np.arange(4, dtype=np.int32), "gone": np.ones(2, np.float32)}, "base.safetensors")
    save_file({"x": np.zeros((3, 3), np.int32)}, "tuned.safetensors")
    other = {"x": np.arange(4, dtype=np.uint32), "gone": np.ones(2, np.float32).view(np.int32)}
    save_file(other, "other.safetensors")
    make_delta("base.safetensors", "tuned.safetensors", "whole.safetensors")
    rewritten(here / "whole.safetensors", manifest_with("tensors.x.sha256", SHA))
    expected = "as in the base of whole.safetensors"
    assert verify_delta("other.safetensors", "whole.safetensors").findings == (
        f"other.safetensors tensor 'x' is U32 of shape (4,); expected I32 of shape (4,), {expected}",
        f"other.safetensors tensor 'gone' is I32 of shape (2,); expected F32 of shape (2,), {expected}",
        "whole.safetensors tensor 'x' comes out with another sha256 than promised; the delta is damaged",
    )


def test_elements_that_are_damaged_are_found_by_verify(here: Path) -> None:
    rewritten(here / "d.safetensors", manifest_with("tensors.x.sha256", SHA))
    assert verify_delta("base.safetensors", "d.safetensors").findings == (
        "d.safetensors tensor 'x' comes out with another sha256 than promised; the delta is damaged",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("base.safetensors a.npy",
         "a.npy is no checkpoint; expected a .safetensors file, or the folder of a sharded one"),
        ("base.safetensors no.safetensors", "there is no file no.safetensors"),
        ("base.safetensors folder", ("folder is a folder that holds no *.safetensors.index.json; "
                                    "expected a sharded checkpoint")),
    ],
)  # fmt: skip
def test_what_is_no_checkpoint_is_refused(
    here: Path, capfd: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    np.save("a.npy", np.ones(2))
    os.mkdir("folder")
    assert run(capfd, "delta", "make", *arguments.split(), "-o", "o.safetensors") == (2, "", f"error: {message}\n")
    assert not os.path.exists("o.safetensors")


@pytest.mark.parametrize("out", ["base.safetensors", "tuned.safetensors", "d.safetensors"])
def test_no_input_is_replaced(here: Path, out: str) -> None:
    before = Path(out).read_bytes()
    work, second = (apply_delta, "d") if out == "d.safetensors" else (make_delta, "tuned")
    with pytest.raises(MinuendError, match="is also an input"):
        work("base.safetensors", f"{second}.safetensors", out)
    assert Path(out).read_bytes() == before


def test_a_level_that_zstd_lacks_is_refused(here: Path) -> None:
    with pytest.raises(MinuendError) as caught:
        make_delta("base.safetensors", "tuned.safetensors", "o.safetensors", level=23)
    assert str(caught.value) == "level 23 is none of zstd's; expected 1 to 22"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes by name here")
def test_a_delta_does_not_go_into_a_pipe(here: Path) -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(MinuendError) as caught:
            make_delta("base.safetensors", "tuned.safetensors", "pipe")
    finally:
        os.close(reader)
    assert str(caught.value) == "pipe gets its header last, which a pipe or an open file does not take; name a file"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")], ids=repr)
@pytest.mark.parametrize("verb", ["make", "apply"])
@pytest.mark.parametrize("into", ["a file", "a folder"])
@pytest.mark.parametrize("calls", [1, 3])
def test_work_that_is_broken_off_leaves_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, verb: str, into: str, calls: int
) -> None:
    tuned = "tuned.safetensors" if into == "a file" else str(sharded(here / "tuned", TUNED, 1))
    make_delta("base.safetensors", tuned, "d.safetensors")
    Path("old.safetensors").write_bytes(b"what was there")
    before = sorted(os.listdir())
    feed, left = Hashing.feed, iter(range(calls))

    def breaks(self: Hashing, *streams: Any) -> None:
        if next(left, None) is None:
            raise error
        feed(self, *streams)

    monkeypatch.setattr(Hashing, "feed", breaks)
    out = "new" if (verb, into) == ("apply", "a folder") else "old.safetensors"
    work = make_delta if verb == "make" else apply_delta
    with pytest.raises(type(error)):
        work("base.safetensors", tuned if verb == "make" else "d.safetensors", out)
    assert sorted(os.listdir()) == before
    assert Path("old.safetensors").read_bytes() == b"what was there"
    assert not [one for one in threading.enumerate() if one.name.startswith("minuend")]


def test_a_folder_that_is_there_stays_as_it_is(here: Path) -> None:
    tuned = sharded(here / "tuned", TUNED, 1)
    make_delta("base.safetensors", str(tuned), "d.safetensors")
    os.mkdir("out")
    with pytest.raises(MinuendError) as caught:
        apply_delta("base.safetensors", "d.safetensors", "out")
    assert str(caught.value) == "out exists; name a folder that does not"
    assert os.listdir("out") == []


def test_shards_that_lie_about_their_names(here: Path) -> None:
    tuned = sharded(here / "tuned", TUNED, 1)
    make_delta("base.safetensors", str(tuned), "d.safetensors")
    with safe_open("d.safetensors", framework="numpy") as found:
        assert {f"file/{name}" for name in (INDEX, ONE, TWO)} <= set(found.keys())

    def twice(manifest: dict[str, Any], entries: dict[str, bytes]) -> None:
        manifest["files"][2]["name"] = ONE

    rewritten(here / "d.safetensors", twice)
    with pytest.raises(FileFormatError) as caught:
        delta_info("d.safetensors")
    assert str(caught.value) == (
        f"d.safetensors gives two files of one name, among '{INDEX}', '{ONE}', '{ONE}'; expected names that differ"
    )
    assert "file/" not in load_file("d.safetensors")


@pytest.mark.parametrize("seed", range(4))
def test_bytes_that_change_are_an_error_of_this_package_or_do_not_matter(here: Path, seed: int) -> None:
    """Norms and blanks of the header may change; what comes out is TUNED or nothing."""
    bits = np.random.default_rng(seed)
    good, tuned = Path("d.safetensors").read_bytes(), Path("tuned.safetensors").read_bytes()
    for _ in range(50):
        raw = bytearray(good)
        for at in bits.integers(0, len(raw), bits.integers(1, 4)):
            raw[at] = bits.integers(0, 256) if bits.integers(2) else raw[at] ^ 1 << bits.integers(8)
        Path("d.safetensors").write_bytes(raw)
        with contextlib.suppress(MinuendError):
            apply_delta("base.safetensors", "d.safetensors", "out.safetensors")
            assert Path("out.safetensors").read_bytes() == tuned
            os.unlink("out.safetensors")
        assert sorted(os.listdir()) == ["base.safetensors", "d.safetensors", "tuned.safetensors"]
