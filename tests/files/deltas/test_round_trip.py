"""Across modules: a base and a delta give the tuned files back byte by byte, whatever the files hold."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from checkpoints import INDEX, ONE, TWO, sharded
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("safetensors")
pytest.importorskip("zstandard")

from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from minuend.files.deltas import ApplyReport, apply_delta, delta_files, delta_info, make_delta, verify_delta
from minuend.files.formats.safetensors import WORDS

WIDTHS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "C64": 64} | {
    word: 8 if word.startswith("F8") else int(word.lstrip("BFIU")) for word in WORDS.values()
}
"""Bits of an element of each type that the format has."""

BITS = np.random.default_rng(19)


def write(path: Path, tensors: dict[str, tuple[str, tuple[int, ...], bytes]], text: Any = None, pad: int = 0) -> Path:
    """Write a file as bytes, with a header that is padded as somebody likes."""
    header: dict[str, Any] = {} if text is None else {"__metadata__": text}
    end = 0
    for name, (word, shape, raw) in tensors.items():
        begin, end = end, end + len(raw)
        header[name] = {"shape": list(shape), "data_offsets": [begin, end], "dtype": word}
    head = json.dumps(header, ensure_ascii=False, indent=pad or None).encode()
    head += b" " * (-len(head) % 8 + 8 * pad)
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(raw for _, _, raw in tensors.values()))
    return path


def round_trip(base: Path, tuned: Path) -> ApplyReport:
    """Make, verify and apply a delta, and compare all bytes."""
    with tempfile.TemporaryDirectory() as folder:
        delta, out = os.path.join(folder, "d.safetensors"), os.path.join(folder, "out.safetensors")
        make_delta(str(base), str(tuned), delta)
        with safe_open(delta, framework="numpy"):
            pass
        assert verify_delta(str(base), delta, str(tuned)).findings == ()
        report = apply_delta(str(base), delta, out)
        if tuned.is_dir():
            assert sorted(os.listdir(out)) == sorted(os.listdir(tuned))
            for name in os.listdir(tuned):
                assert Path(out, name).read_bytes() == (tuned / name).read_bytes()
        else:
            assert Path(out).read_bytes() == tuned.read_bytes()
    return report


shapes = st.lists(st.integers(0, 5), max_size=3).map(tuple)


@st.composite
def tensors(draw: st.DrawFn) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Tensors of any type and shape, of any bits."""
    found = {}
    for name in draw(st.lists(st.sampled_from(["a", "b", "ü", "", "x\0y", "../z", "file/"]), unique=True)):
        word, shape = draw(st.sampled_from(sorted(WIDTHS))), draw(shapes)
        bits = WIDTHS[word] * int(np.prod(shape, dtype=int))
        if bits % 8:
            word, bits = "U8", 8 * int(np.prod(shape, dtype=int))
        found[name] = (word, shape, draw(st.binary(min_size=bits // 8, max_size=bits // 8)))
    return found


@settings(max_examples=60, deadline=None)
@given(tensors(), tensors(), st.integers(0, 2), st.sampled_from([None, {}, {"note": "é\n"}]))
def test_any_two_files(base: Any, tuned: Any, pad: int, text: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "base.safetensors"), Path(folder, "tuned.safetensors")
        round_trip(write(old, base), write(new, tuned, text, pad))


@pytest.mark.parametrize("word", sorted(WIDTHS))
def test_every_type_over_several_blocks(tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_files, "BLOCK_BYTES", 1 << 10)
    nbytes = 40 * WIDTHS[word] * 13
    base = BITS.integers(0, 256, nbytes, np.uint8)
    tuned = base.copy()
    tuned[::7] = BITS.integers(0, 256, tuned[::7].size)
    shape = (40, 8, 13)
    old = write(tmp_path / "base.safetensors", {"x": (word, shape, base.tobytes())})
    new = write(tmp_path / "tuned.safetensors", {"x": (word, shape, tuned.tobytes())})
    round_trip(old, new)


@pytest.fixture
def weights() -> dict[str, np.ndarray]:
    """A small model's weights."""
    values = (BITS.standard_normal((300, 40)) * 0.02).astype(np.float32)
    return {
        "embed": values.astype(ml_dtypes.bfloat16),
        "frozen": values,
        "head": values.astype(np.float16),
        "old": np.arange(7),
        "type": values[:3],
        "shape": values[:4],
        "shrunk": values[:6],
    }


@pytest.fixture
def tuned_weights(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What training made of them."""
    step = 1 + 1e-3 * BITS.standard_normal((300, 40)).astype(np.float32)
    return {
        "embed": np.concatenate([weights["embed"] * step.astype(ml_dtypes.bfloat16), weights["embed"][:5]]),
        "frozen": weights["frozen"],
        "head": (weights["head"] * step).astype(np.float16),
        "new": np.array([3], np.int8),
        "type": weights["type"].astype(np.float64),
        "shape": weights["shape"].reshape(8, 20),
        "shrunk": weights["shrunk"][:2],
    }


HOW = {
    "embed": ("difference", (300, 40)),
    "frozen": ("unchanged", (300, 40)),
    "head": ("difference", (300, 40)),
    "new": ("whole", None),
    "type": ("whole", (3, 40)),
    "shape": ("whole", (4, 40)),
    "shrunk": ("whole", (6, 40)),
}


def test_how_tensors_are_stored(
    tmp_path: Path, weights: dict[str, np.ndarray], tuned_weights: dict[str, np.ndarray]
) -> None:
    save_file(weights, tmp_path / "base.safetensors")
    save_file(tuned_weights, tmp_path / "tuned.safetensors", metadata={"epoch": "3"})
    base, tuned, delta = (str(tmp_path / f"{name}.safetensors") for name in ("base", "tuned", "delta"))
    report = make_delta(base, tuned, delta)
    assert (report.unchanged, report.difference, report.whole, report.removed) == (1, 2, 4, 1)
    assert (report.nbytes, report.packed) == (os.path.getsize(tuned), os.path.getsize(delta))
    found = delta_info(delta)
    assert {one.name: (one.stored, one.base_shape) for one in found.tensors} == HOW
    assert found.removed == ("old",)
    entries = {name: array.nbytes for name, array in load_file(delta).items()}
    assert "tensor/frozen" not in entries
    assert {one.name: one.packed for one in found.tensors if one.packed} == {
        name.removeprefix("tensor/"): size for name, size in entries.items() if name != "file/"
    }
    tensors = {one.name: one for one in found.tensors}
    assert tensors["frozen"].changed == 0
    a, b = weights["head"], tuned_weights["head"]
    assert tensors["head"].changed == np.mean(a.view(np.uint16) != b.view(np.uint16))
    difference = b.astype(np.float64) - a.astype(np.float64)
    norm = tensors["head"].norm
    assert norm is not None
    assert norm.l2 == pytest.approx(np.linalg.norm(difference), rel=1e-5)
    assert norm.max == pytest.approx(np.abs(difference).max(), rel=1e-5)
    assert tensors["type"].norm is None
    round_trip(tmp_path / "base.safetensors", tmp_path / "tuned.safetensors")


@pytest.mark.parametrize(("old", "new"), [(0, 3), (0, 0), (2, 0), (2, 5)], ids=str)
@pytest.mark.parametrize("named", ["folder", "index"])
def test_shards_come_back_however_the_base_is_cut(
    tmp_path: Path, weights: Any, tuned_weights: Any, old: int, new: int, named: str
) -> None:
    base, tuned = tmp_path / "base.safetensors", tmp_path / "tuned.safetensors"
    if old:
        base = sharded(tmp_path / "base", weights, old)
    else:
        save_file(weights, base)
    if new:
        tuned = sharded(tmp_path / "tuned", tuned_weights, new)
    else:
        save_file(tuned_weights, tuned)
    report = round_trip(base / INDEX if old and named == "index" else base, tuned)
    assert report.files == (3 if new else 1)
    assert report.nbytes == sum(path.stat().st_size for path in ([tuned] if not new else tuned.iterdir()))


def test_the_manifest_tells_the_hashes_of_all_files_and_tensors(
    tmp_path: Path, weights: Any, tuned_weights: Any
) -> None:
    base, tuned = sharded(tmp_path / "base", weights, 2), sharded(tmp_path / "tuned", tuned_weights, 3)
    delta = tmp_path / "d.safetensors"
    make_delta(str(base), str(tuned), str(delta))
    with safe_open(delta, framework="numpy") as found:
        manifest = json.loads(found.metadata()["minuend.delta"])

    def sha256(raw: bytes) -> str:
        return hashlib.sha256(raw).hexdigest()

    for key, folder in (("files", tuned), ("base", base)):
        assert {one["name"]: one["sha256"] for one in manifest[key]} == {
            name: sha256((folder / name).read_bytes()) for name in (INDEX, ONE, TWO)
        }
    assert {name: one["sha256"] for name, one in manifest["tensors"].items()} == {
        name: sha256(array.tobytes()) for name, array in tuned_weights.items()
    }
    known = {name: one["base"] for name, one in manifest["tensors"].items() if one["base"]} | manifest["removed"]
    assert {name: one["sha256"] for name, one in known.items()} == {
        name: sha256(array.tobytes()) for name, array in weights.items()
    }


def test_the_same_files_give_the_same_bytes(tmp_path: Path, weights: Any, tuned_weights: Any) -> None:
    save_file(weights, tmp_path / "base.safetensors")
    save_file(tuned_weights, tmp_path / "tuned.safetensors")
    os.link(tmp_path / "tuned.safetensors", tmp_path / "other.safetensors")
    found = set()
    for tuned in ("tuned", "tuned", "other"):
        make_delta(str(tmp_path / "base.safetensors"), str(tmp_path / f"{tuned}.safetensors"), str(tmp_path / "d"))
        found.add((tmp_path / "d").read_bytes())
    assert len(found) == 1


def test_a_float_difference_does_not_give_bits_back() -> None:
    """Why a delta is one of bits: the difference of floats is rounded, and adding it to BASE does not undo that."""
    base, tuned = (np.array([bits], np.uint16).view(ml_dtypes.bfloat16) for bits in (0x4080, 0x3B81))
    assert (base[0], tuned[0]) == (4, 0.003936767578125)
    back = base + (tuned - base)
    assert back[0] != tuned[0]
    bits = base.view(np.uint16) - (base.view(np.uint16) - tuned.view(np.uint16))
    assert bits == tuned.view(np.uint16)
    nan = np.array([0x7F81], np.uint16).view(ml_dtypes.bfloat16)  # a signalling one, which addition makes quiet
    with np.errstate(invalid="ignore"):
        assert (base + (nan - base)).view(np.uint16) != nan.view(np.uint16)
