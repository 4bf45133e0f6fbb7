"""What models look up is measured first; what is then left is unknown, and a file says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import looked_up
import measure_target
import onnx
import pytest

from minuend.models.matching.match import SHARED, Match
from minuend.models.patterns import Const, Op, X, less, replaced
from minuend.runtimes import case_list, pattern_cases, targets
from minuend.runtimes.pattern_witnesses import without_witnesses
from minuend.runtimes.table import DEFAULTS, STATIC, Table, pattern_key

SCALED = less(Op("Mul", (X, Const.SCALAR)), X)
DOUBLED = less(Op("Mul", (X, Const.POWER)), X)
NOTHING_LEFT = replaced(SCALED, {Const.SCALAR: Const.ZERO})
MODEL = """<ir_version: 8, opset_import: ["" : 14]>
scaled (float[3] x, float[3] y) => (float[3] c) <float k = {0.3}> { m = Mul(x, k) c = Sub(m, y) }"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one model."""
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "scaled.onnx")
    return tmp_path


def test_models_are_counted_that_look_a_group_up(folder: Path) -> None:
    found = looked_up.counted("onnxruntime-cpu", [folder])
    assert found[SCALED, "float32"] == 1
    onnx.save(onnx.parser.parse_model(MODEL.replace("Sub(m, y)", "Mul(m, y)")), folder / "without.onnx")
    assert looked_up.counted("onnxruntime-cpu", [folder]) == found


def test_what_is_taken_for_each_other_is_measured_together_and_what_all_models_need_first() -> None:
    newest = targets.find("openvino-cpu").table
    rows = list(pattern_cases.queried("f32"))
    counts = {(less(Op("Relu", (X,)), X), "float32"): 1, (SCALED, "float32"): 2, (less(X, X), "float32"): 3}
    first, *others = ({key for key, _ in group} for group in looked_up.ranked(rows, counts, newest))
    scaled = next(group for group in others if pattern_key(SCALED, "float32", STATIC, "") in group)
    assert pattern_key(DOUBLED, "float32", DEFAULTS[STATIC], "") in scaled
    assert {key.form for key in scaled} >= {"", SHARED}
    listed = {
        key for key in case_list.measured() if key.dtype == "float32" and key.pattern in (SCALED, DOUBLED, NOTHING_LEFT)
    }
    assert scaled == listed
    assert others.index(scaled) == 1  # behind x - x, which more models look up
    assert {key.dtype for key in first} == {"float32"}
    assert pattern_key(less(Const.ZERO, X), "float32", STATIC, "") in first
    assert any(key.setting == DEFAULTS[STATIC] and "MatMul" in str(key.pattern) for key in first)


def test_what_is_left_when_the_time_is_over_is_unknown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = targets.find("onnxruntime-cpu@installed")
    alone = replace(known, table=without_witnesses(Table(known.table.nodes))[0])
    path = folder / f"{known.name}.json"
    path.write_text(targets.dump(alone), "utf-8")
    rows = [row for row in pattern_cases.queried("") if row[0].pattern in (SCALED, less(X, X))]
    rows = [row for row in rows if row[0].dtype == "float32"]
    groups = [[row for row in rows if (row[0].pattern == SCALED) == second] for second in (False, True)]
    monkeypatch.setattr(measure_target, "ranked", lambda *_: iter(groups))
    chosen = measure_target.Chosen([folder], minutes=0)
    assert measure_target.measure_chosen("onnxruntime-cpu", None, folder, chosen) == path
    found = targets.read(path).table
    assert found.patterns.keys() == {key for key, _ in groups[0]}
    scaled = Match(SCALED, "", "Mul")
    assert found.covers("float32", dynamic=True)
    assert found.find(scaled, "float32", False, "") is None
    measure_target.measure_chosen("onnxruntime-cpu", None, folder, replace(chosen, minutes=1))
    found = targets.read(path).table
    assert found.find(scaled, "float32", False, "") == known.table.find(scaled, "float32", False, "") == {}


def test_what_deviates_on_another_release_is_queried_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Here a file that has lost all that deviates in float16 gets it again, as another release's file says where."""
    known = targets.find("onnxruntime-cpu@installed")
    key = pattern_key(less(Op("Exp", (X,)), X), "float16", STATIC, "")
    assert any(one.verdict == "different-numbers" for one in known.table.cells[key].values())
    fine = pattern_key(less(Op("Relu", (X,)), X), "float32", STATIC, "")
    kept = {one: known.table.cells[one] for one in (key, fine)}
    other = replace(known, release="1.0.0", table=without_witnesses(Table(kept))[0])
    lost = replace(known, table=without_witnesses(Table({**kept, key: {}}))[0])
    for one in (other, lost):
        (folder / f"{one.name}.json").write_text(targets.dump(one), "utf-8")
    path = measure_target.measure_doubtful("onnxruntime-cpu", None, folder)
    found = targets.read(path).table.cells
    assert found[key].keys() >= {"ordinary", "rounds"}
    assert found[fine] == {}
    assert ": 1 of 1 cases deviate, in " in capsys.readouterr().out
