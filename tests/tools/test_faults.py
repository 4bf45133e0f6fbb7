"""The short form of ``tools/faults.py``: each job is killed and starved a few times; and it sees what is lost."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the scripts stand on Linux", allow_module_level=True)
pytest.importorskip("onnx")
pytest.importorskip("safetensors")
pytest.importorskip("h5py")
pytest.importorskip("zarr")
pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

import faults
import h5py
from faults import JOBS, Broken, Job, Stage

SEED = 3


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "template"
    faults.inputs(folder)
    return folder


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_job_that_is_killed_or_fails_loses_nothing(job: Job, template: Path, tmp_path: Path) -> None:
    if job.name.endswith(".h5") and "track_times" not in inspect.signature(h5py.File).parameters:
        pytest.skip("this release of h5py writes the time into every file, so that no two are the same")
    source = random.Random(f"{SEED} {job.name}")
    stage = Stage(job, template, tmp_path)
    assert any(faults.kill(stage, source) for _ in range(3))
    faults.fail(stage, source.choice(("RLIMIT_FSIZE", "RLIMIT_AS", "read error")), source)


@pytest.mark.parametrize("name", ["RLIMIT_FSIZE", "read error"])
def test_a_fault_comes_to_bear(name: str, template: Path, tmp_path: Path) -> None:
    (job,) = (job for job in JOBS if job.name == "sub -o o.npz")
    stage = Stage(job, template, tmp_path)
    assert any(faults.fail(stage, name, random.Random(seed)) for seed in range(8))


@pytest.mark.skipif(not faults.can_mount(), reason="mounting a small disk takes root")
def test_a_full_disk_loses_nothing(template: Path, tmp_path: Path) -> None:
    (job,) = (job for job in JOBS if job.name == "sub -o o.npz")
    stage = Stage(job, template, tmp_path)
    assert any(faults.fail(stage, "full disk", random.Random(seed)) for seed in range(8))


def _writes(path: str, *pieces: bytes) -> int:
    """As a program writes that knows no better."""
    with open(path, "wb") as stream:
        for piece in pieces:
            stream.write(piece)
            stream.flush()
    return 0


def _leaves() -> int:
    _writes("other", b"x")
    _writes("o", b"new")
    os.unlink("other")
    return 0


def _waits() -> int:
    return threading.Event().wait() or 0


def _changes_its_input() -> int:
    _writes("a.npy", b"new")
    return _writes("o", b"new")


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda: _writes("o", *[b"part"] * 50), "o holds neither the old file nor the new one"),
        (_leaves, "other is no goal, and was changed or left"),
        (_changes_its_input, "a.npy is no goal, and was changed or left"),
    ],
)
def test_what_is_half_written_left_or_changed_is_seen(
    work: Callable[[], int], told: str, template: Path, tmp_path: Path
) -> None:
    def find() -> None:
        stage, source = Stage(Job("careless", work, ("o",)), template, tmp_path), random.Random(SEED)
        for _ in range(200):
            faults.kill(stage, source)

    with pytest.raises(Broken, match=f"^careless: {told}"):
        find()


def test_an_error_without_words_is_seen(template: Path, tmp_path: Path) -> None:
    stage = Stage(Job("careless", lambda: _writes("o", b"new"), ("o",)), template, tmp_path)
    stage.job = dataclasses.replace(stage.job, work=lambda: 3)
    with pytest.raises(Broken, match=r"^careless under RLIMIT_FSIZE: status 3"):
        faults.fail(stage, "RLIMIT_FSIZE", random.Random(SEED))


def test_what_does_not_end_is_seen_with_the_place(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(Job("careless", lambda: _writes("o", b"new"), ("o",)), template, tmp_path)
    stage.job = dataclasses.replace(stage.job, work=_waits)
    monkeypatch.setattr(faults, "_LONGEST", 0.5)
    with pytest.raises(Broken, match=r"(?s)^careless: it does not end within 0\.5 s: .* in _waits"):
        stage.run(lambda work: work())


def test_the_page_shows_the_figures() -> None:
    docs = Path(__file__).parents[2] / "docs"
    figures = json.loads((docs / "faults.json").read_text("utf-8"))
    assert figures["kills"] >= 500
    assert figures["jobs"] == len(JOBS)
    assert faults.table(figures) in (docs / "security.md").read_text("utf-8")
