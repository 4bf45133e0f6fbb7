"""The benchmark tells the truth: its grid is complete, its contenders give the right answer, its report adds up.

Nothing is asserted about how long anything takes.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from instruction_sets import NEWER_THAN_AVX2

import minuend as mn
from minuend.arrays.functions import POLICIES
from minuend.core.elements import TYPES

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import (
    checks,
    layouts,
    limit,
    machine,
    measure,
    operands,
    page,
    peers,
    plot,
    policies,
    report,
    shares,
    startup,
    text,
)
from benchmarks.__main__ import main
from benchmarks.concurrency import Throughput
from benchmarks.grid import (
    ELEMENTS,
    FULL,
    FUNCTIONS,
    LAYOUTS,
    MANY,
    MEMORIES,
    QUICK,
    SHAPES,
    SIZES,
    STEPPED,
    STEPPED_TYPES,
    THREADS,
    Cell,
    grid,
    matching,
    short,
)
from benchmarks.measure import Row, Timing, Turns

AXES = {
    "dtype": ELEMENTS, "size": SIZES, "shape": SHAPES, "layout": [*LAYOUTS, *STEPPED], "memory": MEMORIES,
    "threads": THREADS, "policy": POLICIES, "function": FUNCTIONS,
}  # fmt: skip
BOTH = pytest.mark.parametrize("slices", [FULL, QUICK], ids=["full", "quick"])


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = mn.get_num_threads()
    yield
    mn.set_num_threads(before)


def cells_of(slices) -> list[Cell]:
    return [cell for own in grid(slices).values() for cell in own]


# ---- the grid -------------------------------------------------------------------------------------------------


def test_the_types_are_those_of_onnx():
    assert set(ELEMENTS) == set(mn.spec("onnx", 14).types)
    assert len(ELEMENTS) == 12


@BOTH
@pytest.mark.parametrize("axis", AXES)
def test_the_grid_covers_every_value_of_every_axis(slices, axis):
    assert {getattr(cell, axis) for cell in cells_of(slices)} == set(AXES[axis])


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_every_type_meets_every_shape_layout_memory_and_policy(dtype):
    own = [cell for cell in cells_of(FULL) if cell.dtype == dtype]
    for axis in ("shape", "memory", "threads"):
        assert {getattr(cell, axis) for cell in own} == set(AXES[axis])
    assert {cell.layout for cell in own} == {*LAYOUTS, *(STEPPED if dtype in STEPPED_TYPES else ())}
    assert {cell.policy for cell in own} == (set(POLICIES) if TYPES[dtype].is_integer else {"wrap"})


def test_elements_lie_apart_in_a_type_of_each_size():
    assert [TYPES[dtype].itemsize for dtype in STEPPED_TYPES] == [1, 2, 4, 8]
    one_dim = {steps.a[1] for steps in STEPPED.values() if steps.a == steps.b and steps.a[0] == 1}
    assert {2, 3, 5, 7, 8, 16, -1, -3} <= one_dim


@BOTH
def test_no_cell_comes_twice_and_slices_have_names_of_their_own(slices):
    cells = cells_of(slices)
    assert len(cells) == len(set(cells)) == len(set(map(str, cells)))
    assert len({part.name for part in slices}) == len({part.title for part in slices}) == len(slices)


def test_a_cell_has_about_as_many_elements_as_it_says():
    for cell in cells_of(FULL):
        result = np.broadcast_shapes(*cell.shapes)
        assert np.prod(result) == pytest.approx(cell.size, rel=0.1 if cell.size >= 64 else 0.5)
        assert cell.memory != "in-place" or result == cell.shapes[0]


def test_other_policies_and_fresh_results_have_the_cells_that_they_are_compared_with():
    cells = set(cells_of(FULL))
    for cell in cells:
        assert replace(cell, policy="wrap") in cells
        if cell.memory == "fresh" and cell.size >= 1 << 22 and cell.policy == "wrap":
            assert replace(cell, memory="out") in cells


def test_each_function_of_a_standard_is_timed_beside_subtract_and_checked_against_the_same_answer():
    cells = set(cells_of(FULL))
    own = [cell for cell in cells if cell.function != "subtract"]
    assert {(cell.function, cell.size) for cell in own} == {(name, n) for name in FUNCTIONS[1:] for n in (16, 4096)}
    for cell in own:
        assert replace(cell, function="subtract") in cells
        made = operands.make(cell)
        row = Row(cell)
        forms = measure.enter(made, [peers.Minuend(), peers.NumPy()], 1, row)
        assert (set(forms), row.refused, row.wrong) == ({"minuend", "numpy"}, {}, {})


def test_bytes_moved_count_each_operand_once():
    assert Cell("float32", 1 << 10).moved == 3 * 4096
    assert Cell("float32", 1 << 10, "scalar").moved == 2 * 4096 + 4
    assert Cell("int8", 1 << 10, "outer").moved == 1024 + 64
    assert Cell("int8", 1 << 10, policy="widen").moved == 4 * 1024


def test_sizes_are_written_as_people_write_them():
    assert [short(n) for n in (1, 256, 1 << 10, 1 << 14, 1 << 26)] == ["1", "256", "1Ki", "16Ki", "64Mi"]


def test_filters_keep_what_they_name():
    keep = matching(["dtype=int8,int16", "size=16,4Ki"])
    kept = [cell for cell in cells_of(FULL) if keep(cell)]
    assert {(cell.dtype, cell.size) for cell in kept} == {(d, n) for d in ("int8", "int16") for n in (16, 4096)}


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            "colour=red",
            (
                "'colour=red' names no axis; expected AXIS=VALUE[,VALUE] with one of "
                "dtype, size, shape, layout, memory, threads, policy, function"
            ),
        ),
        ("threads=all,2", "axis threads has no '2'; it has all, 1"),
    ],
)
def test_a_filter_that_names_nothing_is_refused(condition, message):
    with pytest.raises(ValueError, match="axis") as caught:
        matching([condition])
    assert str(caught.value) == message


# ---- the operands ---------------------------------------------------------------------------------------------


def test_layouts_are_what_they_say():
    def made(layout: str, **more: str) -> operands.Operands:
        return operands.make(Cell("float32", 1 << 12, layout=layout, **more))

    plain = made("contiguous")
    assert all(array.flags.c_contiguous and array.ctypes.data % 64 == 0 for array in (plain.a, plain.b, plain.out))
    assert made("transposed").a.strides == (256, 4)
    assert made("transposed").b.strides == (4, 256)
    assert made("transposed", shape="row").a.strides == (4, 256)
    assert made("strided").a.strides == made("strided").b.strides == (8,)
    assert (made("negative").a.strides, made("negative").b.strides) == ((-4,), (4,))
    assert made("sliced").a.strides == made("sliced").b.strides == ((64 + operands.GAP) * 4, 4)
    assert all(array.flags.f_contiguous and array.strides == (4, 256) for array in _arrays(made("fortran")))
    assert [array.strides for array in _arrays(made("mixed"))] == [(256, 4), (4, 256), (4, 256)]
    assert made("partly").a.shape == (16, 16, 16)
    assert all(array.strides == (1024, 4, 64) for array in _arrays(made("partly")))
    assert [array.strides for array in _arrays(made("fortran", shape="row"))] == [(4, 256), (4,), (4, 256)]
    assert (made("step3").a.shape, made("step3").a.strides) == ((64, 64), (64 * 12, 12))
    assert made("step3-gap").b.strides == ((3 * 64 + 32) * 4, 12)
    assert made("step-3").a.strides == (64 * 12, -12)
    assert [array.strides for array in _arrays(made("step3x5"))] == [(3 * 320 * 4, 20), (3 * 320 * 4, 20), (256, 4)]
    assert [array.strides for array in _arrays(made("step7-a"))] == [(7 * 256, 28), (256, 4), (256, 4)]
    assert [array.strides for array in _arrays(made("step3-out"))] == [(256, 4), (256, 4), (768, 12)]
    off = made("unaligned")
    assert [array.ctypes.data % 64 for array in (off.a, off.b, off.out)] == [1, 1, 1]


def _arrays(made: operands.Operands) -> list[np.ndarray]:
    return [made.a, made.b, made.out]


def test_operands_overflow_where_that_is_not_an_error_and_only_there():
    for dtype in (name for name in ELEMENTS if TYPES[name].is_integer):
        wrapping, safe = (operands.make(Cell(dtype, 1 << 10, policy=policy)) for policy in ("wrap", "error"))
        assert mn.count_overflows(wrapping.a, wrapping.b) > 100
        assert mn.count_overflows(safe.a, safe.b) == 0


def test_in_place_operands_stay_as_they_are_while_they_are_timed():
    made = operands.make(Cell("int32", 1 << 10, memory="in-place"))
    assert made.out is made.a
    made.rest()
    assert made.a.any()
    assert not made.b.any()


def test_the_expected_answer_is_the_policys_own():
    for policy, want in (("wrap", -56), ("saturate", 127), ("widen", 200)):
        cell = Cell("int8", 1, policy=policy)
        a, b = np.array([100], np.int8), np.array([-100], np.int8)
        _, got = operands.sampled(operands.Operands(cell, a, b, np.zeros(1, TYPES[cell.result_dtype].memory)))
        assert got.tolist() == [want]


def test_a_wrong_answer_is_found_and_shown():
    want = np.array([1, 2, np.nan, 0.0], np.float32)
    assert operands.wrong_at(want, np.array([1, 2, np.nan, -0.0], np.float32)) == ""
    assert operands.wrong_at(want, np.array([1, 3, 4, 0], np.float32)) == "2 of 4 sampled elements, such as 3.0 for 2.0"
    assert operands.wrong_at(want, want.astype(np.float64)) == "a result of float64, expected float32"


# ---- the contenders -------------------------------------------------------------------------------------------


def small_cells() -> list[Cell]:
    """Every combination in the grid at sizes that take no time."""
    sized = [replace(cell, size=64 if cell.size > 16 else cell.size, threads="all") for cell in cells_of(FULL)]
    return list(dict.fromkeys(sized))


def few_cells() -> list[Cell]:
    """Every value of every axis, for a peer that takes long to prepare."""
    cells = [cell for cell in small_cells() if cell.size == 64]
    plain = [cell for cell in cells if (cell.shape, cell.layout, cell.policy) == ("same", "contiguous", "wrap")]
    others = [cell for cell in cells if cell.dtype == "float32" or (cell.dtype == "int8" and cell.policy != "wrap")]
    return list(dict.fromkeys(plain + others))


def test_minuend_is_right_in_every_kind_of_cell():
    for cell in small_cells():
        row = Row(cell)
        assert set(measure.enter(operands.make(cell), [peers.Minuend()], 2, row)) == {"minuend"}
        assert (row.wrong, row.refused) == ({}, {}), cell


# OpenVINO saturates 8-bit integers and computes 64-bit types in 32 bits: it is timed there and marked.
WRONG = {"openvino": {"int8", "uint8", "int64", "uint64", "float64", *(() if NEWER_THAN_AVX2 else ("bfloat16",))}}
REFUSALS = {
    "numpy": set(),
    "torch": {"no negative strides", *(f"no arithmetic in uint{bits}" for bits in (16, 32, 64))},
    "onnxruntime": {"contiguous tensors only", "no such operator", "no kernel for bfloat16"},
    "openvino": {"contiguous tensors only", "no such operator"},
    "numexpr": {"no such operator"}
    | {
        f"no {name}: it would be computed in a wider type"
        for name in ELEMENTS
        if name not in {"float32", "float64", "int32", "int64", "uint32", "uint64"}
    },
}


@pytest.mark.parametrize("name", peers.PEERS)
@pytest.mark.filterwarnings("default")  # other libraries' own
def test_every_peer_is_right_or_marked_or_says_why_not(name):
    if not peers.installed(name):
        pytest.skip(f"{name} is not installed")
    refusals, wrong, right = set(), set(), set()
    for cell in few_cells() if name == "openvino" else small_cells():
        row = Row(cell)
        forms = measure.enter(operands.make(cell), [peers.PEERS[name]], 2, row)
        refusals |= set(row.refused.values())
        assert bool(forms) != bool(row.refused)
        (wrong if row.wrong else right).add(cell.dtype)
        assert not row.wrong or cell.dtype in WRONG.get(name, set()), (cell, row.wrong)
    assert refusals == REFUSALS[name]
    assert wrong == WRONG.get(name, set())
    assert {"float32", "int32"} <= right


def test_peers_write_to_the_operands_own_memory():
    for name in filter(peers.installed, peers.PEERS):
        made = operands.make(Cell("float32", 64))
        forms = peers.PEERS[name].forms(made, 1)
        assert isinstance(forms, list)
        for form in forms:
            made.out[...] = 0
            form.once(made)
            assert np.array_equal(made.out, made.a - made.b), name


@pytest.mark.parametrize("dtype", [name for name in ELEMENTS if TYPES[name].is_integer])
def test_what_stands_for_the_error_policy_raises_where_it_must(dtype):
    element = TYPES[dtype]
    checked = policies.function("error", element, np, None, None, None)
    low, high = (np.array([limit_], dtype) for limit_ in element.limits)
    assert checked(high, high).tolist() == [0]
    assert checked(low, low).tolist() == [0]
    with pytest.raises(OverflowError):
        checked(low, np.array([1], dtype))


def test_a_peer_that_is_wrong_is_marked_and_is_not_the_best():
    class Wrong:
        name = module = "wrong"

        def forms(self, given: operands.Operands, threads: int) -> list[peers.Form]:
            return [peers.Form("out.fill(1)", {"out": given.out})]

    row = measure.measure(Cell("int8", 256), [Wrong(), peers.NumPy()], 1, 1)
    assert set(row.times) == {"minuend", "wrong", "numpy"}
    assert list(row.wrong) == ["wrong"]
    assert row.best == "numpy"


# ---- measuring ------------------------------------------------------------------------------------------------


class Fake:
    """A contender whose calls take what they are told to."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls: list[int] = []

    def time(self, calls: int) -> float:
        self.calls.append(calls)
        return self.seconds


def test_everybody_gets_as_many_readings_however_slow():
    contenders = {"fast": Fake(1e-6), "level": Fake(2e-6), "slow": Fake(1e-3), "heavy": Fake(1.0)}
    turns = Turns(contenders, False, random.Random(0))
    turns.take(7)
    assert {name: len(readings) for name, readings in turns.readings.items()} == dict.fromkeys(contenders, 7)
    assert contenders["fast"].calls[-2:] == [1000, 200]  # a millisecond that is not timed, then a reading
    assert contenders["level"].calls[-1] == 100
    assert contenders["heavy"].calls[-1] == 1


def test_cells_near_parity_get_more_rounds_on_both_sides_and_all_readings_count():
    cell = Cell("int8", 256)
    found = {t: measure.near_parity(row(cell, 1.0, numpy=t)) for t in (0.5, 0.79, 0.81, 1.0, 1.24, 1.26, 3.0)}
    assert found == {0.5: False, 0.79: False, 0.81: True, 1.0: True, 1.24: True, 1.26: False, 3.0: False}
    assert not measure.near_parity(row(cell, 1.0))  # no peer
    assert not measure.near_parity(row(cell, 1.0, wrong={"numpy": "1 of 9"}, numpy=1.0))  # none that is right


def test_readings_of_a_cell_near_parity_are_added_to_the_first(monkeypatch):
    monkeypatch.setattr(measure, "near_parity", lambda row: True)
    found = measure.measure(Cell("int8", 256), [peers.NumPy()], 1, 3)
    assert {name: timing.readings for name, timing in found.times.items()} == {"minuend": 9, "numpy": 9}
    monkeypatch.setattr(measure, "near_parity", lambda row: False)
    found = measure.measure(Cell("int8", 256), [peers.NumPy()], 1, 3)
    assert {name: timing.readings for name, timing in found.times.items()} == {"minuend": 3, "numpy": 3}


def test_a_timing_is_a_median_with_its_quartiles():
    assert Timing.of([5.0, 1.0, 3.0, 2.0, 4.0]) == Timing(3.0, 1.0, 2.0, 4.0, 5)
    assert Timing.of([2.0]) == Timing(2.0, 2.0, 2.0, 2.0, 1)
    assert Timing.of([5.0, 1.0, 3.0, 2.0, 4.0]).spread == pytest.approx(2 / 3)


def lines_of(array: np.ndarray) -> int:
    """The cache lines that an array's elements lie in, one by one."""
    starts = array.ctypes.data + sum(
        np.arange(n).reshape([-1 if i == axis else 1 for i in range(array.ndim)]) * array.strides[axis]
        for axis, n in enumerate(array.shape)
    )
    return len({int(at) // 64 for start in np.ravel(starts) for at in (start, start + array.itemsize - 1)})


@pytest.mark.parametrize("dtype", ["int8", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", ["same", "row", "outer", "channel", "narrow-row", "narrow-column"])
def test_the_limit_counts_the_cache_lines_that_are_touched(dtype, layout, shape):
    made = operands.make(Cell(dtype, 1 << 14, shape, layout))
    for array in (made.a, made.b, made.out):
        assert limit.touched(array) == lines_of(array)


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
@pytest.mark.parametrize("layout", STEPPED)
def test_the_limit_counts_the_lines_of_elements_that_lie_apart(dtype, layout):
    made = operands.make(Cell(dtype, 1 << 14, layout=layout))
    for array in (made.a, made.b, made.out):
        assert limit.touched(array) == lines_of(array)


def test_rows_that_lie_apart_take_the_lines_that_they_lie_in():
    wide = np.zeros((100, 3, 40), np.int16)
    for array in (wide[:, :, ::35], wide[:, ::2, 3:9], wide[::-1, 1], wide[::7, :, :20], wide[:, :, None, :1]):
        assert limit.touched(array) == lines_of(array)
    overlapping = np.lib.stride_tricks.sliding_window_view(wide[:, 0, 0], 5)
    assert limit.touched(overlapping) == lines_of(overlapping)


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_the_stream_program_writes_the_whole_result_and_nothing_beside_it():
    assert limit.available() == ""
    cell = Cell("float32", 1 << 18)
    made = operands.make(cell)
    fence = np.full(made.out.nbytes + 256, 7, np.uint8)
    start = -fence.ctypes.data % 64 + 64
    out = fence[start : start + made.out.nbytes].view(np.float32)
    for past_cache in (False, True):
        for threads in (1, 2):
            out[...] = -1
            found = limit.stream(replace(made, out=out), threads)
            assert found is not None
            assert found.scale == pytest.approx(1)
            assert found.time(past_cache) > 0
            xor = made.a.view(np.uint32) ^ made.b.view(np.uint32)
            assert np.array_equal(out.view(np.uint32), xor)
            assert (fence[:start] == 7).all()
            assert (fence[start + out.nbytes :] == 7).all()


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("apart", [1, 2.5])
@pytest.mark.parametrize(("lines", "pattern"), [((9, 300, 400), (1, 1, 1)), ((400, 0, 5), (2, 0, 1))])
def test_the_stream_program_moves_what_its_pattern_leaves_over(lines, pattern, apart):
    arrays = [np.full(64 * 1000 + 64, 7, np.uint8) for _ in range(3)]
    arrays = [array[-array.ctypes.data % 64 :] for array in arrays]
    index = limit._patterns().index(pattern)
    for past_cache in (False, True):
        for threads in (1, 2):
            arrays[2][:] = 7
            places = [array.ctypes.data for array in arrays]
            moved = limit.Stream(places, list(lines), [1, 1, apart], index, threads, 1.0)
            assert moved.time(past_cache) > 0
            written = np.zeros(1000, bool)
            written[(np.arange(lines[2]) * apart).astype(int)] = True
            assert np.array_equal((arrays[2][:64_000].reshape(1000, 64) == 0).all(1), written)
            assert np.array_equal((arrays[2][:64_000].reshape(1000, 64) == 7).all(1), ~written)


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_the_stream_program_repeats_each_cells_shares():
    def pattern(cell: Cell) -> tuple[int, int, int]:
        found = limit.stream(operands.make(cell), 1)
        assert found is not None
        assert found.scale == pytest.approx(1, rel=0.15)
        return limit._patterns()[found.pattern]

    size = 1 << 20
    assert pattern(Cell("float32", size, "scalar")) == (1, 0, 1)
    assert pattern(Cell("float32", size, "outer")) == (0, 0, 1)
    assert pattern(Cell("float32", size, layout="strided")) == (2, 2, 1)
    assert pattern(Cell("float32", size, layout="transposed")) == (1, 1, 1)
    assert pattern(Cell("float32", size, "narrow-column")) == (3, 1, 3)
    assert pattern(Cell("int8", size, policy="widen")) == (1, 1, 2)
    assert pattern(Cell("float32", size, "channel", "sliced")) == (1, 0, 1)
    assert limit.stream(operands.make(Cell("float32", 1 << 14)), 1) is None


# ---- the report -----------------------------------------------------------------------------------------------


def timing(seconds: float) -> Timing:
    return Timing(seconds, seconds * 0.9, seconds * 0.98, seconds * 1.02, 9)


def row(cell: Cell, own: float, limit_: float | None = None, wrong: dict[str, str] | None = None, **by: float) -> Row:
    times = {"minuend": timing(own)} | {name: timing(seconds) for name, seconds in by.items()}
    return Row(cell, times, limit_, {"onnxruntime": "contiguous tensors only"}, wrong or {})


def a_report() -> report.Report:
    same = [
        row(Cell("float32", 16), 50e-9, None, numpy=250e-9, torch=1.2e-6),
        row(Cell("float32", 1 << 24), 4e-3, 3.9e-3, numpy=12e-3, torch=6e-3),
        row(Cell("int8", 1 << 24), 2e-3, 1e-3, {"torch": "1 of 9"}, numpy=1.8e-3, torch=1e-3),
    ]
    policies = [row(Cell("int8", 1 << 24, policy="saturate"), 3e-3, 1e-3, numpy=30e-3)]
    return report.Report(
        {"processor": "a processor", "date": "2026-11-21"},
        {"minuend": "1.0", "numpy": "2.4", "torch": "2.13"},
        {"Every type": same, "Policies": policies},
        left_out={"float64 64Mi same contiguous out all wrap": "too little free memory"},
        absent=["numexpr"],
        starts={"python": 0.02, "import numpy": 0.12, "import minuend": 0.14, "minuend --help": 0.15},
        throughput=[Throughput("minuend", 4096, 2, 1000.0, 900.0)],
        doubts=["others use 12% of the CPUs"],
        rounds=5,
    )


def test_the_terminal_shows_a_table_that_fits():
    lines = text.to_text(a_report()).splitlines()
    assert max(map(len, lines)) <= 100
    start = lines.index("Every type – out=, all threads")
    assert lines[start + 1 : start + 8] == [
        "type     size  minuend      best peer     ×  NumPy ×  limit",
        "float32  16    50.0 ns   numpy 250 ns  5.00     5.00      –",
        "float32  16Mi  4.00 ms  torch 6.00 ms  1.50     3.00    98%",
        "int8     16Mi  2.00 ms  numpy 1.80 ms  0.90     0.90    50%",
        "",
        "Policies – 16Mi, out=, all threads, saturate",
        "type  minuend      best peer     ×  NumPy ×  limit",
    ]
    assert lines[0] == "NOT FIT TO PUBLISH: others use 12% of the CPUs"


def test_the_summary_says_where_minuend_stands():
    assert report.summary(a_report()) == [
        "4 cells. Against the best peer of each: ahead in 3 of 4 (75.0%), level within 5% in 0, behind in 1.",
        "Worst cell: int8 16Mi same contiguous out all wrap: numpy takes 0.90 of minuend's time.",
        (
            "Geometric mean, peer's time by minuend's: all cells 2.87 against the best peer, 3.41 against NumPy; "
            "wrap alone 1.89 against the best peer, 2.38 against NumPy."
        ),
        "Share of the limit, geometric mean over 3 cells: 0.55.",
        "Share of the limit by group: contiguous 0.70 (2 cells), policies 0.33 (1 cells), small 1.00 (1 cells).",
    ]


def test_every_cell_is_of_one_group_and_every_group_has_cells():
    cells = cells_of(FULL)
    assert {shares.group_of(cell) for cell in cells} == set(shares.GROUPS)
    names = {
        Cell("int8", 16, "row"): "small", Cell("int8", MANY, "row", policy="error"): "policies",
        Cell("int8", MANY, layout="mixed"): "transposed", Cell("int8", MANY, "row", "strided"): "strided",
        Cell("int8", MANY, layout="step3"): "strided", Cell("int8", MANY, "row"): "broadcast",
        Cell("int8", MANY): "contiguous",
    }  # fmt: skip
    assert {cell: shares.group_of(cell).name for cell in names} == names


def test_a_small_cells_limit_is_the_quickest_call_with_such_a_result():
    rows = [row(Cell("int8", 1, memory=memory), own) for memory, own in (("out", 50e-9), ("fresh", 100e-9))]
    rows += [row(Cell("int8", 16, "row", memory=memory), own) for memory, own in (("out", 200e-9), ("fresh", 100e-9))]
    (found,) = shares.by_group(rows)
    assert (found.group.name, found.cells, found.least) == ("small", 4, pytest.approx(0.25))
    assert found.mean == pytest.approx(0.25**0.25)


def test_a_processor_on_which_nothing_was_tuned_is_warned_of():
    assert machine.untuned("AuthenticAMD", "25", "17") == machine.untuned("GenuineIntel", "6", "143") == ""
    assert machine.untuned("AuthenticAMD", "26", "2") == (
        "the kernel's thresholds were measured on Sapphire and Emerald Rapids (Xeon) and Zen 4 (EPYC), "
        "and not on this processor (AuthenticAMD, family 26, model 2)"
    )
    assert machine.untuned("", "", "").endswith("(an unknown maker, family ?, model ?)")


def test_promises_are_held_against_the_cells():
    found = {check.promise: check for check in a_report().checks()}
    shown = {promise: (c.target, c.measured, c.passed) for promise, c in found.items() if c.passed is not None}
    assert shown == {
        "16 elements or fewer, by NumPy's time": ("≤ 0.45", "0.20 at worst; 1 of 1 cells hold", True),
        "contiguous, 64 MiB or more: share of the limit": ("≥ 0.95", "0.97 at worst; 1 of 1 cells hold", True),
        "saturate and widen, speed per byte by wrap's": ("≥ 0.8", "0.67 at worst; 0 of 1 cells hold", False),
        "every cell, best peer's time by minuend's": ("≥ 0.95", "0.90 at worst; 3 of 4 cells hold", False),
        "geometric mean against the best peer": ("≥ 1.5", "2.87 over 4 cells", True),
        "geometric mean against NumPy": ("≥ 5", "3.41 over 4 cells", False),
        "import minuend by import numpy": ("≤ 1.3", "1.20", True),
        "minuend --help beyond Python's start": ("≤ 150 ms", "130 ms", True),
        "2 Python threads at once, throughput by one's": ("≥ 0.95", "0.90", False),
    }
    assert found["every cell, best peer's time by minuend's"].where == "int8 16Mi same contiguous out all wrap"


def test_the_worst_cell_decides_a_promise():
    rows = [row(Cell("int8", 16), 1.0, numpy=4.0), row(Cell("int16", 16), 1.0, numpy=2.0)]

    def share(of: Row) -> float:
        return 1 / (of.against("numpy") or 1)

    shown = "0.50 at worst; 1 of 2 cells hold"
    where = "int16 16 same contiguous out all wrap"
    assert checks.most("p", 0.45, rows, share) == checks.Check("p", "≤ 0.45", shown, False, where)
    assert checks.most("p", 0.5, rows, share).passed
    assert checks.least("p", 3, rows, lambda r: r.against("numpy")).passed is False
    assert checks.least("p", 3, [], share) == checks.Check("p", "≥ 3", "no cell", None)


def test_a_policy_is_held_against_a_pass_of_wrap_or_what_the_machine_moves():
    cell = Cell("int8", 1 << 24)
    slow = row(replace(cell, policy="error"), 2e-3, 1e-3)
    at_the_limit = row(replace(cell, policy="saturate"), 2e-3, 1.9e-3)

    def measured(wrap: Row) -> list[str]:
        found = {check.promise: check.measured for check in checks.cell_checks([wrap, slow, at_the_limit])}
        promises = ("error, speed by that of one pass of wrap", "saturate and widen, speed per byte by wrap's")
        return [found[promise].split(";")[0] for promise in promises]

    assert measured(row(cell, 1e-3, 1e-3)) == ["0.50 at worst", "0.95 at worst"]
    assert measured(row(cell, 1e-3, 2e-3)) == ["0.50 at worst", "0.95 at worst"]  # wrap is beyond the limit
    assert measured(row(cell, 1e-3, 8e-4)) == ["0.62 at worst", "1.19 at worst"]  # nor does wrap reach it
    assert measured(row(cell, 1e-3)) == ["0.50 at worst", "0.50 at worst"]


def test_every_promise_about_cells_finds_cells_in_the_full_grid():
    rows = [row(cell, 1e-7, 1e-7, numpy=1e-6, torch=1e-6) for cell in cells_of(FULL)]
    found = checks.cell_checks(rows)
    assert [check.promise for check in found if not check.passed] == [
        "saturate and widen, speed per byte by wrap's"
    ] * 0
    assert len(found) == 15


def test_the_page_holds_every_time_the_machine_and_what_was_wrong():
    shown = page.to_markdown(a_report(), "benchmarks.svg")
    for line in (
        "| processor | a processor |",
        "Not installed: numexpr.",
        "![Every cell's time by minuend's, and the share of the limit](benchmarks.svg)",
        "| type | size | minuend | numpy | torch | limit | × best | × NumPy | of limit |",
        "| int8 | 16Mi | **2.00 ms** ±2% | 1.80 ms ±2% | 1.00 ms† ±2% | 1.00 ms | 0.90 | 0.90 | 50% |",
        "**Not fit to publish: others use 12% of the CPUs.**",
        "† torch, int8: 1 of 9.",
        "- float64 64Mi same contiguous out all wrap: too little free memory",
        "| minuend | 4Ki | 2 | 1,000 | 900 | 0.90 |",
    ):
        assert line in shown.splitlines(), line


def test_json_comes_back_as_the_same_run():
    before = a_report()
    after = report.Report.from_json(before.to_json())
    assert after == before
    assert json.loads(before.to_json())["version"] == 3
    with pytest.raises(ValueError, match="result") as caught:
        report.Report.from_json("{}")
    assert str(caught.value) == ("this is no result of these benchmarks (version 3); expected a file that -o wrote")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (72.13e-9, "72.1 ns"),
        (6.9e-3, "6.90 ms"),
        (999.9e-9, "1.00 µs"),
        (0.118, "118 ms"),
        (2.5, "2.50 s"),
        (None, "–"),
    ],
)
def test_times_are_shown_in_three_digits(seconds, shown):
    assert report.time_of(seconds) == shown


@pytest.mark.filterwarnings("default")  # matplotlib's own
def test_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    png, svg = plot.draw(a_report(), tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in svg.read_text("utf-8")


def test_imports_are_compared_without_the_interpreters_own_start():
    seconds = a_report().starts
    assert startup.import_ratio(seconds) == pytest.approx(1.2)
    assert startup.help_seconds(seconds) == pytest.approx(0.13)


def test_the_machine_is_described_without_its_names_and_folders():
    facts = machine.describe("a machine")
    assert facts["machine"] == "a machine"
    assert {"processor", "CPUs in use", "system", "Python", "date"} <= set(facts)
    assert not any(str(Path.home()) in value for value in facts.values())


# ---- the command ----------------------------------------------------------------------------------------------


def run(*arguments: str):
    return CliRunner().invoke(main, arguments)


def test_the_command_measures_what_it_is_asked_for():
    options = ["--slice", "sizes", "--filter", "size=16", "--peer", "numpy", "--rounds", "1", "--json"]
    done = run("--quick", *options)
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["groups"]["From one element to the largest"]
    assert [(r["cell"]["dtype"], r["cell"]["size"], sorted(r["times"])) for r in rows] == [
        ("float32", 16, ["minuend", "numpy"])
    ]


def test_a_run_on_a_busy_machine_or_a_changed_tree_does_not_become_the_page(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    small = ["--quick", "--slice", "sizes", "--filter", "size=16", "--peer", "numpy", "--rounds", "1"]
    monkeypatch.setattr(machine, "changed_tree", lambda: True)
    monkeypatch.setattr(machine.Others, "share", lambda self: 0.0)
    done = run(*small, "-o", str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == (
        "Error: -o writes the page of a run that can be trusted; no commit holds the tree that is measured; "
        "commit the changes or measure a clean clone"
    )
    monkeypatch.setattr(machine, "changed_tree", lambda: False)
    shares = iter([0.0, 0.12])  # quiet before, busy during the run
    monkeypatch.setattr(machine.Others, "share", lambda self: next(shares))
    done = run(*small, "-o", str(tmp_path))
    busy = "others use 12% of the CPUs, more than 3%; end them and measure again"
    assert done.exit_code == 1
    assert done.stdout.splitlines()[0] == f"NOT FIT TO PUBLISH: {busy}"
    assert done.stderr.splitlines()[-1] == f"Error: nothing written to {tmp_path}: {busy}"
    assert not list(tmp_path.iterdir())


def test_the_share_of_others_leaves_out_what_this_process_uses():
    others = machine.Others()
    if others.share() is None:
        pytest.skip("the system does not say")
    sum(range(3_000_000))
    assert 0 <= others.share() <= 1


def test_the_command_shows_a_run_again(tmp_path):
    kept = tmp_path / "run.json"
    kept.write_text(a_report().to_json(), "utf-8")
    done = run("--from", str(kept))
    assert (done.exit_code, done.output) == (0, text.to_text(a_report()) + "\n")
    assert run("--from", str(kept), "--check").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slice", "none", "--quick"], "no slice 'none'; there are " + ", ".join(part.name for part in QUICK)),
        (["--filter", "dtype=int8", "--filter", "policy=widen", "--filter", "memory=in-place"],
         "no cell of the grid has all these values; --list shows them"),
        (["--filter", "size=17"], "axis size has no '17'; it has " + ", ".join(map(short, SIZES))),
    ],
)  # fmt: skip
def test_bad_use_is_refused(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == f"Error: {message}"


def test_the_list_names_every_cell():
    listed = run("--list").output.splitlines()
    assert [line.strip() for line in listed if line.startswith("  ")] == [str(cell) for cell in cells_of(FULL)]


# ---- random layouts --------------------------------------------------------------------------------------------


def test_a_layout_lies_in_memory_as_its_dims_say():
    dims = (layouts.Dim(1, step=-2), layouts.Dim(0, gap=3), layouts.Dim(2, repeats=True))
    made = layouts.Layout("float32", (5, 6, 7), dims, (layouts.Dim(0), layouts.Dim(1), layouts.Dim(2))).operands()
    assert (made.a.shape, made.a.strides) == ((5, 6, 1), (-8, 40, 4))
    assert (made.b.shape, made.b.strides) == ((5, 6, 7), (168, 28, 4))
    assert made.out.shape == (5, 6, 7)


def test_a_seed_gives_the_same_layouts_again_and_all_of_them_subtract():
    drawn = [layouts.draw(random.Random(seed), 500) for seed in range(200)]
    assert drawn == [layouts.draw(random.Random(seed), 500) for seed in range(200)]
    assert {len(layout.shape) for layout in drawn} == {1, 2, 3, 4}
    assert {layout.dtype for layout in drawn} == set(ELEMENTS)
    for layout in drawn:
        made = layout.operands()
        assert np.prod(layout.shape) <= 600
        assert not mn.subtract(made.a, made.b, out=made.out).any()


def test_random_layouts_as_a_command():
    result = CliRunner().invoke(layouts.main, ["--count", "3", "--rounds", "1", "--most", "50", "--show", "2"])
    assert result.exit_code == 0, result.output
    first, second, *absent, last = result.output.splitlines()
    told = [] if peers.installed("torch") else ["torch is not installed and took no part; pip install '.[bench]'"]
    assert absent == told
    for shown in (first, second):
        assert re.fullmatch(r" *[\d.]+  \w+ +[\d.]+ \w+  \w+ \(.*\) \(.*\) − \(.*\) \(.*\)", shown), shown
    assert re.fullmatch(r"3 layouts, \d behind", last)
