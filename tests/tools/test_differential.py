"""The package beside the tools that its fields trust: each surface for some seconds, and the defects found before."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from differential import driver
from differential.separate import Crashed, separately
from differential.surface import Difference, Surface, from_json, to_json

SURFACES = driver.surfaces()
SECONDS = 60
"""Of all surfaces together, at most."""
CASES = 40
"""Of each surface, at most: on every machine the same ones."""


def needs(surface: Surface) -> None:
    for package in surface.missing():
        pytest.skip(f"could not import {package!r}")


@pytest.mark.parametrize("name", SURFACES)
def test_random_cases_do_not_differ(name: str) -> None:
    needs(SURFACES[name])
    run = driver.explore(SURFACES[name], seed=1, seconds=SECONDS / len(SURFACES), most=CASES)
    assert run.differences == {}
    assert run.cases


KNOWN = [(name, defect) for name in SURFACES for defect in driver.known(name)]


@pytest.mark.parametrize(("name", "defect"), KNOWN, ids=[f"{name}-{i}" for i, (name, _) in enumerate(KNOWN)])
def test_a_defect_that_was_found_does_not_come_back(name: str, defect: dict) -> None:
    needs(SURFACES[name])
    if "test" not in defect:
        pytest.skip(f"left: {defect['reason']}")
    path, _, test = defect["test"].partition("::")
    assert f"def {test.partition('[')[0]}(" in (Path(__file__).parents[2] / path).read_text("utf-8")
    if "case" in defect:
        what, why = driver.trial(SURFACES[name], from_json(SURFACES[name].kind, defect["case"]))
        assert (what, why) == (what, "")


# ---- the driver ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sum:
    """Numbers that are added."""

    numbers: tuple[int, ...] = ()
    label: str = "plain"


def add(case: Sum, folder: Path) -> str:
    assert list(folder.iterdir()) == []
    if 7 in case.numbers:
        raise Difference("7 is added as 8")
    if case.label == "broken":
        raise ValueError("no such label")
    return "equal: always"


def draw(source: random.Random) -> Sum:
    return Sum(tuple(source.choices(range(10), k=5)), source.choice(["plain", "other"]))


SUMS = Surface("sums", "sums", ("pytest", "no-such-package"), draw, add, Sum)


def test_what_differs_is_made_smaller_and_can_be_run_again() -> None:
    run = driver.explore(SUMS, seed=3, seconds=60, most=50)
    assert run.cases == 50
    assert run.counts["equal"] + run.counts["different"] == 50
    assert run.differences == {'{"numbers": [7]}': "7 is added as 8"}
    assert driver.trial(SUMS, from_json(Sum, {"numbers": [7]})) == ("different", "7 is added as 8")


def test_a_smaller_case_fails_alike() -> None:
    def two_numbers(case: Sum, _: Path) -> str:
        if case.label == "broken":
            raise ValueError("no such label")
        return f"equal: {case.numbers[1]}"  # an IndexError where there is one number

    broken = Surface("pairs", "pairs", (), lambda _: Sum((1, 2), "broken"), two_numbers, Sum)
    run = driver.explore(broken, seed=1, seconds=60, most=1)
    assert run.differences == {'{"label": "broken"}': "ValueError: no such label"}
    few = Surface("pairs", "pairs", (), lambda _: Sum((1,)), two_numbers, Sum)
    run = driver.explore(few, seed=1, seconds=60, most=1)
    assert list(run.differences.values()) == ["IndexError: tuple index out of range"]


def test_one_seed_draws_the_same_cases() -> None:
    runs = [driver.explore(SUMS, seed=3, seconds=60, most=20).counts for _ in range(2)]
    assert runs[0] == runs[1]


def test_any_other_error_is_a_finding() -> None:
    assert driver.trial(SUMS, Sum((), "broken")) == ("raised", "ValueError: no such label")


def test_a_case_is_stored_as_the_fields_that_are_not_simplest() -> None:
    case = Sum((1, 2))
    assert to_json(case) == {"numbers": [1, 2]}
    assert from_json(Sum, to_json(case)) == case


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_crash_in_a_separate_process_is_an_error_of_its_case_alone() -> None:
    with pytest.raises(Crashed, match="ended by SIGABRT"):
        separately(os.abort)
    with pytest.raises(ValueError, match="invalid literal"):
        separately(int, "x")
    assert separately(os.getpid) != os.getpid()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_hdf5_writes_beyond_its_memory_in_a_separate_process(tmp_path: Path) -> None:
    """A chunk that gzip shortens is no whole number of elements, and HDF5's szip writes beyond its buffer.

    The process crashes, or the file is whole or damaged: which one is chance.
    """
    needs(SURFACES["hdf5"])
    from differential import hdf5_files

    case = hdf5_files.Case(dtype="uint16", shape=(7, 4), layout_a="chunked", filters_a=("gzip", "szip", "shuffle"))
    here: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hdf5_files, "write", lambda _case, side, _path: here.append(side))
        came = hdf5_files.compare(case, tmp_path)
    assert came.partition(":")[0] in ("equal", "h5py crashes", "h5py does not read it")
    assert here == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_gdal_writes_in_a_separate_process(tmp_path: Path) -> None:
    """It ends the process where a block of LERC is longer than it expects."""
    needs(SURFACES["geotiff"])
    from differential import rasters

    here: list[Path] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rasters, "write", lambda path, *_: here.append(path))
        assert rasters.compare(rasters.Case(compress="lerc"), tmp_path) == "equal"
    assert here == []


def test_arrays_are_not_drawn_that_fill_the_memory() -> None:
    """This draw once broadcast to 1.5e9 elements, of which the comparison made Python's integers."""
    from differential import arrays

    case = arrays.draw(random.Random("4001 18357"))
    assert 0 < math.prod(np.broadcast_shapes(case.a, case.b)) <= arrays.MOST
    shape, steps = (134083, 1, 1, 2, 1, 1, 1), (12, 8, 3, 1, 8, 3, 8)  # steps of dims of 1 once spread it over 4.9 GB
    memory = arrays.Memory(arrays.Case(steps=(steps,)), [shape], [np.dtype("float32")])
    assert memory.block.nbytes < arrays.LARGEST + 1000


def test_types_that_an_operator_of_an_old_version_lacks_are_to_be_refused() -> None:
    """ONNX's check does not find them, inside a chain or where its inference has no type."""
    needs(SURFACES["ir"])
    from differential.ir_models import Case, chain, must_be_refused

    def why(case: Case) -> str:
        return must_be_refused(case, chain(case))

    assert why(Case(opset=1, steps=(("cast", "bfloat16"),))) == "Cast-1 takes no bfloat16"
    assert why(Case(opset=1, dtype="int32", steps=(("reshape", (2, 1)),))) == "Reshape-1 takes no int32"
    assert why(Case(opset=1, dtype="int32", steps=(("cast", "float"), ("reshape", (2, 1))))) == ""


def test_a_loop_of_an_old_opset_carries_a_value() -> None:
    """Loop-1 has three inputs or more; onnxruntime refused the model that was fixed, and the one before."""
    needs(SURFACES["cures"])
    from differential import cure_models

    import minuend as mn

    made = cure_models.model(cure_models.Case(dialect=7, around="in Loop"))
    assert mn.convert(made, "onnx:14").model.graph.node[0].op_type == "Loop"


def test_packages_that_are_missing_are_named() -> None:
    assert SUMS.missing() == ("no-such-package",)


def test_runs_are_added_to_the_figures_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    for seed in (3, 4):
        driver.record(path, driver.explore(SUMS, seed, 60, most=50), seed, 1.5, 0.5)
    row = json.loads(path.read_text())["sums"]
    assert (row["cases"], row["minutes"], [run["seed"] for run in row["runs"]]) == (100, 3.0, [3, 4])
    row["counterparts"] = {"pytest": "9"}
    shown = "| `sums`: sums | pytest 9 | 100 | 3 | 1.0 in 3.0 | 0 | 0 | 3: 1 in 50 (1.5 min, 0.5 of the processor, "
    assert shown in driver.page({"sums": row})


def test_the_processor_is_summed_over_all_runs_that_say_it_and_the_last_four_are_shown() -> None:
    def page(*processor: float | None) -> str:
        runs: list[dict] = [
            {"seed": i, "cases": 5, "differences": 0, "minutes": 20.0, "date": "2026-11-24"}
            | ({} if minutes is None else {"processor": minutes})
            for i, minutes in enumerate(processor)
        ]
        return driver.page({"sums": {"title": "sums", "counterparts": {}, "cases": 5, "minutes": 1.0, "runs": runs}})

    assert "| 1 | not known | 0 | 0 | 0: 0 in 5 (20.0 min, 2026-11-24) |" in page(None)
    assert "| 1 | 3.5 in 60.0 | 0 | 0 | 2: 0 in 5 (" in page(1.0, None, 2.0, None, None, 0.5)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_processor_time_of_children_that_live_counts() -> None:
    busy = "import time\nwhile time.process_time() < 0.4: pass\nprint(flush=True); input()"
    before = driver.processor_seconds()
    with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        during = driver.processor_seconds()
        child.communicate(b"\n")
    assert during - before > 0.3
    assert driver.processor_seconds() >= during


def test_the_page_shows_the_figures_and_every_defect() -> None:
    docs = Path(__file__).parents[2] / "docs"
    figures = json.loads((docs / "verification.json").read_text("utf-8"))
    assert (docs / "verification.md").read_text("utf-8").endswith(driver.page(figures))
    assert {path.stem for path in driver.FOUND.glob("*.json")} <= figures.keys() == SURFACES.keys()
