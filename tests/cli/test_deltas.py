"""``minuend delta``: its four verbs on a terminal."""

from __future__ import annotations

import os
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from command_line import run

pytest.importorskip("safetensors")
pytest.importorskip("zstandard")
from safetensors.numpy import save_file


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A folder with a base, what was made of it, and the delta of both."""
    monkeypatch.chdir(tmp_path)
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    save_file({"embed": rows[:3], "norm": np.ones(3, np.float16), "old": np.zeros(2)}, "base.safetensors")
    save_file(
        {"embed": rows * np.float32(2), "norm": np.ones(3, np.float16), "lora": np.ones(5, ml_dtypes.bfloat16)},
        "tuned.safetensors",
    )
    assert run(capfd, "delta", "make", "base.safetensors", "tuned.safetensors", "-o", "d.safetensors")[0] == 0


def timeless(out: str) -> str:
    return re.sub(r"[0-9.]+ s \([0-9.]+ GB/s\)", "TIME", out)


def test_make(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capfd, "delta", "make", "base.safetensors", "tuned.safetensors", "-o", "e.safetensors")
    nbytes, packed = os.path.getsize("tuned.safetensors"), os.path.getsize("e.safetensors")
    assert (status, err) == (0, "")
    assert timeless(out) == (
        "base.safetensors, tuned.safetensors → e.safetensors\n"
        "tensors: 1 unchanged, 1 as a difference, 1 whole, 1 removed\n"
        f"{nbytes} bytes as {packed} ({100 * packed / nbytes:.3g} %)\n"
        "made in TIME\n"
    )
    assert Path("d.safetensors").read_bytes() == Path("e.safetensors").read_bytes()


def test_apply(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capfd, "delta", "apply", "base.safetensors", "d.safetensors", "-o", "again.safetensors")
    assert (status, err) == (0, "")
    assert timeless(out) == (
        "base.safetensors, d.safetensors → again.safetensors\n"
        f"1 file of 3 tensors, {os.path.getsize('tuned.safetensors')} bytes, every sha256 as promised\n"
        "written in TIME\n"
    )
    assert Path("again.safetensors").read_bytes() == Path("tuned.safetensors").read_bytes()


def test_verify(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "delta", "verify", "base.safetensors", "d.safetensors", "tuned.safetensors") == (
        0,
        "base.safetensors and tuned.safetensors: every sha256 is as d.safetensors says (3\ntensors in 1 file)\n",
        "",
    )
    assert run(capfd, "delta", "verify", "base.safetensors", "d.safetensors", "base.safetensors") == (
        1,
        (
            "base.safetensors tensor 'embed' holds other elements than d.safetensors gives\n"
            "base.safetensors has no tensor 'lora', which d.safetensors gives\n"
            "base.safetensors has a tensor 'old', which d.safetensors does not give\n"
            "base.safetensors is not, byte by byte, what d.safetensors gives\n"
            "4 findings\n"
        ),
        "",
    )


def test_info(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capfd, "delta", "info", "d.safetensors")
    nbytes, packed = os.path.getsize("tuned.safetensors"), os.path.getsize("d.safetensors")
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["tensor", "type", "stored", "changed", "L2", "max", "packed", "ratio"]
    assert sorted(line[:-2] for line in lines[2:5]) == [
        ["embed", "F32", "(4,", "3)", "grown", "88.9", "%", "14.3", "8"],
        ["lora", "BF16", "(5,)", "whole"],
        ["norm", "F16", "(3,)", "unchanged", "0", "%", "0"],
    ]
    assert out.splitlines()[-2:] == [
        "removed: old",
        f"3 tensors in 1 file: {nbytes} bytes as {packed} ({100 * packed / nbytes:.3g} %)",
    ]


@pytest.mark.parametrize("verb", [["make", "base.safetensors", "tuned.safetensors"], ["apply", "a", "b"]])
def test_a_goal_has_to_be_named(capfd: pytest.CaptureFixture[str], verb: list[str]) -> None:
    status, out, err = run(capfd, "delta", *verb)
    assert (status, out) == (2, "")
    assert err == f"error: Missing option '-o' / '--output'. (minuend delta {verb[0]} --help shows the options)\n"
