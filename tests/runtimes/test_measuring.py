"""measure: an installed runtime becomes a file that everything else takes, whole or not at all."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from minuend import cli, spec
from minuend.core.elements import TYPES
from minuend.errors import SpecError
from minuend.models.patterns import Op, X, less
from minuend.operators import NEGATIVE, OPERATORS, SUBTRACT
from minuend.operators.operator import Operator
from minuend.runtimes import measuring, pattern_answers, pattern_cases, proving, running, targets
from minuend.runtimes.cases import Case
from minuend.runtimes.processor import extensions, processor, up_to
from minuend.runtimes.proving import prove
from minuend.runtimes.running import Runtime
from minuend.runtimes.table import NOTHING, Table, pattern_key

QUERIED = pattern_cases.queried
ORT = pytest.importorskip("onnxruntime")


def few(self: Runtime, *, full: bool, operator: Operator = SUBTRACT) -> Iterator[Case]:
    for dtype in ("uint8", "float32") if operator is not NEGATIVE else ("int8",):
        yield Case(spec("onnx", 14, operator.name), TYPES[dtype], "same", "none")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few cases, and of those with neighbours none but what the list has anyway."""
    monkeypatch.setattr(Runtime, "cases", few)
    monkeypatch.setattr(pattern_cases, "queried", lambda exact: iter(()))


def test_what_is_measured_is_a_target_for_every_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "ort.json"
    assert cli.main(["measure", "ort", "-o", str(out), "--alone"]) == 0
    release = ORT.__version__
    assert capsys.readouterr().out.split() == (f"onnxruntime-cpu@{release} on {processor()}: 2 cases → {out}".split())
    found = targets.read(out)
    assert (found.name, found.cpu, set(found.isa)) == (
        f"onnxruntime-cpu@{release}",
        processor(),
        extensions(processor()),
    )
    assert not found.table.has_patterns
    assert cli.main(["prove", "ort", "--quick", "--target", str(out)]) == 0
    assert f"known deviations: onnxruntime-cpu@{release}" in capsys.readouterr().out


def test_a_file_is_replaced_as_a_whole_and_stays_where_measuring_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ort.json"
    out.write_text("old")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(measuring, "judge_all", interrupted)
        assert cli.main(["measure", "ort", "-o", str(out), "--alone"]) == 130
    assert capsys.readouterr().err == "error: interrupted; nothing was written\n"
    assert [path.name for path in tmp_path.iterdir()] == ["ort.json"]
    assert out.read_text() == "old"
    assert cli.main(["measure", "ort", "-o", str(out), "--alone"]) == 0
    assert targets.read(out).runtime == "onnxruntime-cpu"


def test_patterns_are_measured_besides_and_the_nodes_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pattern_cases, "queried", lambda exact: itertools.islice(QUERIED(exact), 2))
    out = tmp_path / "ort.json"
    assert cli.main(["measure", "ort", "-o", str(out)]) == 0
    found = targets.read(out)
    assert found.table.has_patterns
    assert cli.main(["measure", "ort", "-o", str(out), "--graphs", "missing"]) == 0
    assert targets.read(out).table.nodes == found.table.nodes
    assert cli.main(["measure", "onnx", "-o", str(out), "--graphs", "all"]) == 2
    assert f"is asked; expected {found.name}, as the file says" in capsys.readouterr().err
    assert cli.main(["measure", "ort", "-o", str(out), "--graphs", "all", "--alone"]) == 2
    assert cli.main(["measure", "ort", "-o", str(tmp_path / "none.json"), "--graphs", "all"]) == 2
    assert cli.main(["measure", "nowhere", "-o", str(out)]) == 2


def test_patterns_that_are_named_are_measured_and_operators_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    negated = Op("Neg", (less(X, X),))
    rows = [row for row in QUERIED("") if row[0].dtype == "float32" and row[0].pattern in (negated, less(X, X))]
    more = [row for row in QUERIED("") if row[0].dtype == "int8" and row[0].pattern == negated]
    monkeypatch.setattr(pattern_cases, "queried", lambda exact: iter((*rows, *more)))
    with Runtime("ort") as queried:
        found = pattern_answers.measure(queried, patterns={("float32", "Neg(x - x)"), ("int8", "Abs(x - x)")})
    assert {(key.dtype, key.pattern) for key in found.cells} == {("float32", negated), ("float32", less(X, X))}


def test_a_runtime_of_which_a_part_was_measured_is_proven_in_that_part(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tract")
    monkeypatch.setattr(pattern_cases, "queried", QUERIED)
    known = targets.find("tract")
    with Runtime("tract") as queried:
        every = proving._questions(queried, True, True, SUBTRACT, None).graphs
        some = proving._questions(queried, True, True, SUBTRACT, known).graphs
    assert {key for key, _ in some} == {key for key, _ in every} & known.table.patterns.keys()
    assert len(some) < len(every)


# ---- instruction sets -------------------------------------------------------------------------------------------


def test_a_limit_is_refused_where_it_limits_nothing() -> None:
    with pytest.raises(SpecError) as caught:
        Runtime("ort", isa="avx2")
    assert str(caught.value) == ("onnxruntime-cpu has no switch that limits its instruction sets; measure it as it is")
    pytest.importorskip("openvino")
    with pytest.raises(SpecError) as caught:
        Runtime("ov", isa="avx")
    assert str(caught.value) == (
        "openvino-cpu cannot be limited to 'avx' (did you mean 'avx2'?); expected avx2, avx512f or avx512_bf16"
    )


def test_a_limit_that_the_processor_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openvino")
    monkeypatch.setattr(running, "processor", lambda limit="": "a cpu, avx2")
    with pytest.raises(SpecError) as caught:
        Runtime("ov", isa="avx512f")
    assert str(caught.value) == "this processor (a cpu, avx2) has no avx512f, so openvino-cpu cannot be limited to it"


def test_openvino_on_avx2_is_another_runtime_than_with_avx512() -> None:
    """Both are seen on one processor: what holds on one does not hold on the other."""
    pytest.importorskip("openvino")
    if not {"avx2", "avx512_bf16"} <= extensions(processor()):
        pytest.skip("the processor cannot play both")
    case = Case(spec("openvino", 1), TYPES["float32"], "same", "A")
    cut = Case(spec("openvino", 1), TYPES["bfloat16"], "same", "none")
    verdicts = {}
    for isa in ("avx2", "avx512_bf16"):
        with Runtime("openvino-cpu", isa=isa) as runtime:
            assert runtime.cpu == processor(isa)
            clamped = proving.judge(case, runtime.run(case)).answers["overflows"].verdict
            verdicts[isa] = (clamped, proving.judge(cut, runtime.run(cut)).answers["rounds"].verdict)
    assert verdicts == {"avx2": ("ok", "different-numbers"), "avx512_bf16": ("different-numbers", "ok")}


def test_a_limit_is_part_of_what_the_processor_is_called() -> None:
    assert " limited to avx2" in processor("avx2").split(", ")[0]
    assert extensions(processor("avx2")) <= {"avx2"}
    assert up_to("avx512f", {"amx_tile", "avx512f", "avx2"}) == ["avx2", "avx512f"]


# ---- prove, of a release that nobody measured -------------------------------------------------------------------


def test_a_release_that_nobody_measured_is_compared_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running.registry, "release", lambda adapter: "1.30.5")
    start = Runtime._start

    def told(self: Runtime) -> dict[str, object]:
        return {**start(self), "release": "1.30.5"}

    monkeypatch.setattr(Runtime, "_start", told)
    report = prove("ort", quick=True)
    assert report.ok
    assert report.facts["compared"] == "onnxruntime-cpu@1.30.0"
    (note,) = report.notes
    assert note == (
        "onnxruntime-cpu@1.30.5 has not been measured: what counts are differences from onnxruntime-cpu@1.30.0, "
        f"measured {targets.find('onnxruntime-cpu@1.30.0').conditions}"
    )
    assert cli.main(["prove", "ort", "--quick"]) == 0
    assert "nothing differs from onnxruntime-cpu@1.30.0" in capsys.readouterr().out
    monkeypatch.setattr(running.registry, "release", lambda adapter: "1.15.2")
    monkeypatch.setattr(Runtime, "_start", lambda self: {**start(self), "release": "1.15.2"})
    report = prove("ort", quick=True)
    assert report.facts["compared"] == "onnxruntime-cpu@1.15.0"
    assert {finding.unexpected for finding in report.failures} == {"not-implemented on 1.15.0"}  # uint8, which it lacks
    assert cli.main(["prove", "ort", "--quick", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["compared"] == "onnxruntime-cpu@1.15.0"
    assert cli.main(["prove", "ort", "--quick"]) == 1
    assert " in which it differs from onnxruntime-cpu@1.15.0:" in capsys.readouterr().out.replace("\n", " ")


def test_a_known_target_of_another_runtime_is_refused() -> None:
    with pytest.raises(SpecError, match=r"^numpy@.* is compared with; expected a target of onnxruntime-cpu$"):
        prove("ort", quick=True, known_target=targets.find("numpy"))


def test_neighbours_that_the_nearest_release_was_not_asked_of_do_not_count() -> None:
    key = pattern_key(Op("Relu", (less(X, X),)), "float32", "static", "")
    wrong = {key: {"nan": targets.find("ov").answer("onnx:14", "float64", "same", "none")["nan"]}}  # fmt: skip
    known = targets.find("openvino-cpu@2026.2.1")
    for patterns, unexpected in ((NOTHING, ""), (Table({key: {}}), "on 2026.2.1 nothing different, now nan")):
        known_target = targets.Target(known.runtime, known.release, known.table.with_patterns(patterns))
        (finding,) = proving._graph_findings(Table(wrong), "openvino-cpu@2026.3.0", {}, known_target)
        assert finding.unexpected == unexpected


@pytest.mark.parametrize("name", ["add", "negative"])
def test_another_operator_is_measured_and_proved(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "ort.json"
    assert cli.main(["measure", "ort", "--operator", name, "-o", str(out)]) == 0
    found = targets.read(out)
    assert found.operators == {name}
    assert not found.table.has_patterns
    assert targets.of(found, OPERATORS[name]) is found
    assert cli.main(["prove", "ort", "--operator", name, "--target", str(out), "--json"]) == 0
    assert f'"operator": "{name}"' in capsys.readouterr().out


def test_an_operator_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["measure", "ort", "--operator", "adds", "-o", str(tmp_path / "x.json")]) == 2
    assert "no operator 'adds' (did you mean 'add'?); expected subtract, add or negative" in capsys.readouterr().err


def test_what_shows_nothing_and_is_not_queried_again_stays_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a few patterns are queried, the others that have no witness are known as they were."""
    target = targets.find("onnxruntime-cpu@1.32.0")
    monkeypatch.setattr(pattern_cases, "rows_for", lambda _: [])

    class Queried:
        name, release, cpu = target.runtime, target.release, target.cpu

    found = measuring.with_graphs(Queried(), target, measuring.NOT_SHOWN, patterns={("float16", "Softmax(x - x)")})
    assert found.table.cells.keys() == target.table.cells.keys()
    lost = [key for key, answers in target.table.cells.items() if found.table.cells[key] != answers]
    assert lost == []
