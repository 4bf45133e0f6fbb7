"""``check --run``: subtractions by themselves on the installed runtimes, on operands from their ranges."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("openvino")

import onnx

from minuend import cli
from minuend.core.elements import TYPES
from minuend.errors import SpecError
from minuend.judging import probe_node, run_check
from minuend.judging.checking import check
from minuend.judging.probe_node import Probed, probe
from minuend.models.occurrences import occurrences
from minuend.onnx.model import read
from minuend.openvino.ir.builder import Builder
from minuend.operators import SUBTRACT
from minuend.runtimes.finding import Finding
from minuend.runtimes.reasons import (
    NothingStated,
    PatternsNotMeasured,
    ProbeAgrees,
    ProbeDiffers,
    ProbeRefused,
    RunDiffers,
)
from minuend.runtimes.running import Runtime
from minuend.runtimes.severity import Deviation
from minuend.runtimes.witness import Witness

OPENVINO, ONNXRUNTIME = "openvino-cpu@2026.4.1", "onnxruntime-cpu@1.32.0"


def text(body: str, inputs: str, outputs: str, opset: int = 18) -> str:
    return f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs}) {{ {body} }}'


@pytest.fixture(scope="module")
def openvino() -> Any:
    with Runtime("openvino-cpu") as runtime:
        yield runtime


@pytest.fixture(scope="module")
def onnxruntime() -> Any:
    with Runtime("onnxruntime-cpu") as runtime:
        yield runtime


def probed(runtime: Runtime, body: str, inputs: str, outputs: str, **options: Any) -> Probed | None:
    (occurrence,) = occurrences(read(text(body, inputs, outputs, **options)))
    return probe(occurrence, runtime)


# ---- one subtraction --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("uint8", (True, False)), ("int8", (True, False)), ("int64", (True, False)), ("int32", (False, False))],
)
def test_free_operands_show_what_a_runtime_does(
    openvino: Runtime, onnxruntime: Runtime, dtype: str, expected: tuple[bool, bool]
) -> None:
    signature = f"{dtype}[3, 5] a, {dtype}[3, 5] b", f"{dtype}[3, 5] c"
    for runtime, differs in zip((openvino, onnxruntime), expected, strict=True):
        found = probed(runtime, "c = Sub (a, b)", *signature)
        assert found is not None
        assert not found.refused
        assert found.pairs >= 2048
        assert bool(found.different) == differs, str(found)
        assert (found.witness is not None) == differs


def test_operands_stay_within_their_ranges(openvino: Runtime) -> None:
    bounds = "l = Constant <value = uint8 {128}> ()\nh = Constant <value = uint8 {127}> ()\n"
    bounds += "z = Constant <value = uint8 {0}> ()\n"
    body = bounds + "a = Max (x, l)\nb = Min (y, h)\nc = Sub (a, b)"
    found = probed(openvino, body, "uint8[4] x, uint8[4] y", "uint8[4] c")
    assert found is not None
    assert (found.different, found.pairs) == (0, 1024)
    wraps = bounds + "b = Max (y, l)\nc = Sub (z, b)"
    found = probed(openvino, wraps, "uint8[4] y", "uint8[4] c")
    assert found is not None
    assert found.different == found.pairs > 0
    assert found.witness is not None
    assert (found.witness.a, found.witness.got) == (0, 0)
    assert found.witness.b >= 128


@pytest.mark.parametrize("which", ["A", "B", "both"])
def test_a_stored_operand_is_taken_as_it_is(openvino: Runtime, which: str) -> None:
    stored = {"a": "int64[2] {3, 3000000000}", "b": "int64[2] {-2147483647, 1}"}
    names = "ab" if which == "both" else which.lower()
    body = "".join(f"{name} = Constant <value = {stored[name]}> ()\n" for name in names) + "c = Sub (a, b)"
    inputs = ", ".join(f"int64[2] {name}" for name in "ab" if name not in names)
    found = probed(openvino, body, inputs, "int64[2] c")
    assert found is not None
    assert found.witness is not None
    allowed = {"a": (3, 3000000000), "b": (-2147483647, 1)}
    for name in names:
        assert getattr(found.witness, name) in allowed[name]
    if which == "both":
        assert (found.pairs, found.witness.a, found.witness.b) == (2, 3, -2147483647)


@pytest.mark.parametrize(
    ("inputs", "output"),
    [
        ("float a, float b", "float c"),
        ("float[4, 3] a, float[3] b", "float[4, 3] c"),
        ("float[1] a, float[2, 3] b", "float[2, 3] c"),
        ("float[4, 1] a, float[3] b", "float[4, 3] c"),
        ("float[N, 3] a, float[N, 3] b", "float[N, 3] c"),
        ("float[N, 3] a, float[M, 3] b", "float[N, 3] c"),
        ("float16[7] a, float16[7] b", "float16[7] c"),
        ("double[7] a, double[7] b", "double[7] c"),
    ],
)
def test_shapes_are_those_of_the_model(openvino: Runtime, onnxruntime: Runtime, inputs: str, output: str) -> None:
    found = probed(onnxruntime, "c = Sub (a, b)", inputs, output)
    assert found is not None
    assert (found.refused, found.odd, found.different) == ("", "", 0)
    assert found.pairs >= 256
    assert found.whole == ("M" not in inputs)
    there = probed(openvino, "c = Sub (a, b)", inputs, output)
    assert there is not None
    assert (there.refused, there.odd) == ("", "")


def test_an_ir_and_the_oldest_version_are_asked_too(openvino: Runtime, onnxruntime: Runtime) -> None:
    builder = Builder("m")
    a, b = (builder.parameter(name, "u8", (2, 3)) for name in ("a", "b"))
    builder.result(builder.subtract("d", a, b), "y")
    (occurrence,) = occurrences(builder.model)
    found = probe(occurrence, openvino)
    assert found is not None
    assert found.witness is not None
    assert (found.witness.got, found.witness.a < found.witness.b) == (0, True)
    old = probed(onnxruntime, "c = Sub <broadcast = 1> (a, b)", "float[4, 3] a, float[3] b", "float[4, 3] c", opset=6)
    assert old is not None
    assert old.refused or not old.different


def test_what_has_no_rank_or_no_elements_is_not_asked(openvino: Runtime) -> None:
    assert probed(openvino, "c = Sub (a, b)", "float[0, 3] a, float[0, 3] b", "float[0, 3] c") is None
    assert probed(openvino, "c = Sub (a, b)", "float[2000, 2000] a, float[2000, 2000] b", "float[2000, 2000] c") is None


@pytest.mark.parametrize("dtype", ["u4", "i4", "f8e4m3", "f8e5m2", "bf16", "f16", "u64", "i16"])
def test_every_type_of_an_ir_is_asked(openvino: Runtime, dtype: str) -> None:
    builder = Builder("m")
    a, b = (builder.parameter(name, dtype, (2, 3)) for name in ("a", "b"))
    builder.result(builder.subtract("d", a, b), "y")
    (occurrence,) = occurrences(builder.model)
    found = probe(occurrence, openvino)
    assert found is not None
    assert found.refused or found.pairs >= 256
    if found.different and not found.odd:
        assert found.witness is not None


def test_operands_that_another_rule_joins_are_not_read_along_numpy_s():
    element = TYPES["uint8"]
    a, b = np.uint8([[5, 5], [5, 5]]), np.uint8([1, 9])
    expected = np.uint8([[4, 4], [252, 252]])  # B along the first axis
    got = np.uint8([[4, 4], [0, 0]])
    assert probe_node.pair_at(element, (1, 0), (a, b, got, expected)) is None
    assert probe_node.pair_at(element, (1, 1), (a, b, got, expected)) == Witness(SUBTRACT, (5, 9), 0, 252)
    assert probe_node.pair_at(element, (1, 1), (a, np.uint8([1, 9, 3]), got, expected)) is None


# ---- in a report ------------------------------------------------------------------------------------------------

NOBODY, AROUND = NothingStated(OPENVINO), PatternsNotMeasured(OPENVINO)
UNKNOWN = Finding(target=OPENVINO, verdict="unknown", reasons=(NOBODY,))
FINE, WRONG = Probed(40), Probed(40, 2, Witness(SUBTRACT, (5, 10), 0, 251))


def test_an_unknown_becomes_what_was_seen():
    answered = run_check.with_answer(UNKNOWN, FINE, None)
    assert (answered.verdict, answered.reasons) == ("ok", (ProbeAgrees(40), NOBODY))
    answered = run_check.with_answer(UNKNOWN, WRONG, None)
    assert (answered.verdict, answered.witness) == ("different-numbers", WRONG.witness)
    assert answered.reasons == (ProbeDiffers(2, 40, WRONG.witness),)
    answered = run_check.with_answer(UNKNOWN, Probed(refused="no kernel"), None)
    assert (answered.verdict, answered.reasons) == ("not-implemented", (ProbeRefused("no kernel"),))
    assert run_check.with_answer(UNKNOWN, None, None) is UNKNOWN


def test_a_deviation_that_is_seen_adds_to_one_that_is_known_and_the_worse_severity_counts():
    known, seen = Witness(SUBTRACT, (-0.0, 0.0), 0.0, -0.0), Witness(SUBTRACT, (5.0, 1.0), 2.0, 4.0)
    finding = replace(UNKNOWN, verdict="different-numbers", dtype="float32", witness=known, severity="sign-of-zero")
    answered = run_check.with_answer(finding, Probed(40, 2, seen), None)
    assert answered.reasons == (NOBODY, ProbeDiffers(2, 40, seen))
    assert (answered.witness, answered.severity) == (known, "numbers")


def test_what_a_run_shows_of_a_node_of_which_nothing_was_known_is_not_all_that_can_deviate():
    seen = Witness(SUBTRACT, (-0.0, 0.0), 0.0, -0.0)
    sign, open_ = Deviation("sign-of-zero"), Deviation()
    known = replace(UNKNOWN, verdict="different-numbers", dtype="float32", severity="sign-of-zero", deviations=(sign,))
    unknown = replace(UNKNOWN, dtype="float32")
    for finding, deviations in ((known, (sign, sign)), (unknown, (open_,)), (replace(unknown, verdict="ok"), (open_,))):
        assert run_check.with_answer(finding, Probed(40, 2, seen), None).deviations == deviations


def test_a_subtraction_that_is_right_by_itself_says_nothing_of_its_neighbours():
    answered = run_check.with_answer(UNKNOWN, FINE, AROUND)
    assert (answered.verdict, answered.reasons) == ("unknown", (NOBODY, AROUND, ProbeAgrees(40, "patterns")))
    again = run_check.with_answer(answered, FINE, AROUND)
    assert again.reasons.count(AROUND) == 1
    some = run_check.with_answer(UNKNOWN, Probed(40, whole=False), None)
    assert (some.verdict, some.reasons) == ("unknown", (NOBODY, ProbeAgrees(40, "shapes")))


def test_an_unknown_neighbour_stays_unknown_where_the_whole_cannot_be_looked_at(monkeypatch):
    model = text("s = Det (x)\ny = Sub (s, b)", "float[2,2] x, float b", "float y")
    monkeypatch.setattr(run_check, "_judge", lambda cuts, found, tallies, shown, pairs: None)
    (finding,) = check(model, ONNXRUNTIME, run=True).findings
    assert (finding.verdict, finding.code, finding.graph) == ("unknown", "pattern-not-measured", "Det(x) - x")
    assert isinstance(finding.reasons[-1], ProbeAgrees)
    assert finding.reasons[-1].limit == "patterns"


def test_with_all_each_subtraction_is_asked_and_a_witness_is_found():
    body = "k = Constant <value = uint8[2] {4, 3}> ()\nd = Sub (k, x)\ny = Max (d, x)"
    plain, known = (
        check(text(body, "uint8[2] x", "uint8[2] y"), OPENVINO, run=run).findings[0] for run in (True, "all")
    )
    assert not {"probe-differs", "probe-agrees"} & {one.code for one in plain.reasons}
    assert known.verdict == "different-numbers"
    assert "probe-differs" in {one.code for one in known.reasons}
    assert known.witness is not None
    assert known.witness.a in (3, 4)
    fine = text("y = Sub (a, b)", "int32[2] a, int32[2] b", "int32[2] y")
    (finding,) = check(fine, OPENVINO, run="all").findings
    assert (finding.verdict, [one.code for one in finding.reasons]) == ("ok", ["as-contracted"])


def test_run_takes_nothing_else():
    with pytest.raises(SpecError) as told:
        check(text("y = Sub (a, b)", "int32[2] a, int32[2] b", "int32[2] y"), OPENVINO, run="each")  # type: ignore[arg-type]
    assert str(told.value) == "run is 'each'; expected False, True or 'all'"


def test_another_release_is_not_asked_for():
    model = text("y = Sub (a, b)", "uint8[2] a, uint8[2] b", "uint8[2] y")
    (finding,) = check(model, "onnxruntime-cpu@1.23.2", run="all").findings
    assert finding.seen is None


# ---- the first that leaves --------------------------------------------------------------------------------------


def test_the_first_subtraction_that_leaves_is_named_with_index_and_operands():
    body = "d = Sub (a, b)\ne = Max (d, a)\nf = Sub (e, b)\ng = Sub (b, e)\ny = Max (f, e)\nz = Identity (g)"
    inputs = {"a": np.uint8([[9, 7], [8, 6]]), "b": np.uint8([[1, 7], [3, 5]])}
    model = text(body, "uint8[2, 2] a, uint8[2, 2] b", "uint8[2, 2] y, uint8[2, 2] z")
    report = check(model, OPENVINO, run=True, inputs=inputs)
    (trial,) = report.trials
    assert trial.notes == (
        "the first subtraction with another result is graph.node[3], at [0, 0]: 1 - 9 gives 0, expected 248",
    )
    assert [str(one.witness) for one in report.findings] == [
        "5 - 10: got 0, expected 251", "5 - 10: got 0, expected 251", "1 - 9: got 0, expected 248"
    ]  # fmt: skip
    last = report.findings[-1]
    assert last.reasons[-1] == RunDiffers(3, 4, (0, 0), last.witness)
    assert last.seen == RunDiffers(3, 4)


def test_operands_are_named_where_they_are_broadcast_and_of_64_bits():
    model = text("d = Sub (a, b)\ny = Identity (d)", "int64[2, 3] a, int64[3] b", "int64[2, 3] y")
    inputs = {"a": np.int64([[0, 0, 0], [0, 0, 2**40]]), "b": np.int64([1, 2, 5])}
    (trial,) = check(model, OPENVINO, run=True, inputs=inputs).trials
    (note,) = trial.notes
    assert note.startswith(
        "the first subtraction with another result is graph.node[0], at [1, 2]: 1099511627776 - 5 gives "
    )
    assert note.endswith(", expected 1099511627771")


def test_of_numbers_that_are_right_nothing_is_named():
    model = text("y = Sub (a, b)", "uint8[2] a, uint8[2] b", "uint8[2] y")
    (trial,) = check(model, OPENVINO, run=True, inputs={"a": np.uint8([5, 6]), "b": np.uint8([5, 1])}).trials
    assert (trial.ok, trial.notes) == (True, ())


BRANCHES = """
p = Sub (a, b)
y = If (c) <
    then_branch = g () => (uint8[2] t) { d = Sub (a, b) e = Sub (b, d) t = Max (d, e) },
    else_branch = h () => (uint8[2] f) { f = Max (a, b) }
>
z = Sub (b, a)
"""


def test_subtractions_in_bodies_are_asked_by_themselves_and_the_whole_names_the_if():
    inputs = {"a": np.uint8([9, 7]), "b": np.uint8([1, 7]), "c": np.bool_(True)}
    model = text(BRANCHES, "uint8[2] a, uint8[2] b, bool c", "uint8[2] p, uint8[2] y, uint8[2] z")
    report = check(model, OPENVINO, run="all", inputs=inputs)
    (trial,) = report.trials
    assert trial.notes == (
        "the first subtraction with another result is graph.node[2], at [0]: 1 - 9 gives 0, expected 248",
    )
    assert [(one.location, one.output) for one in trial.places] == [("graph.node[1]", "y"), ("graph.node[2]", "z")]
    inside = [one for one in report.findings if ".then_branch." in one.location]
    assert len(inside) == 2
    for finding in inside:
        assert finding.verdict == "different-numbers"
        assert "probe-differs" in {one.code for one in finding.reasons}
        assert finding.witness is not None
    (last,) = (one for one in report.findings if one.location == "graph.node[2]")
    assert str(last.witness) == "1 - 9: got 0, expected 248"


# ---- the command line -------------------------------------------------------------------------------------------


def test_run_is_a_flag_that_takes_no_argument_and_run_all_is_written_with_an_equals_sign(tmp_path, capfd):
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(text("y = Sub (a, b)", "uint8[2] a, uint8[2] b", "uint8[2] y")), path)
    found = {}
    for run in ("--run", "--run=all"):
        assert cli.main(["check", run, str(path), "--target", OPENVINO, "--json"]) == 1
        found[run] = json.loads(capfd.readouterr().out)["findings"][0]["reason"]
    assert "run here in isolation" not in found["--run"]
    assert "run here in isolation: " in found["--run=all"]
    assert cli.main(["check", "--run=each", str(path), "--target", OPENVINO]) == 2
    assert "Option '--run' does not take a value." in " ".join(capfd.readouterr().err.split())


def test_few_elements_are_asked_for_several_times_in_one_model():
    (occurrence,) = occurrences(read(text("c = Sub (a, b)", "float a, float b", "float c")))
    source = probe_node._Source(
        occurrence, occurrence.node.a.element, ((), ()), [Witness(SUBTRACT, (-0.0, 0.0), 0.0, -0.0)]
    )
    assert (source.nodes, source.rounds) == (64, 4)
    a, b, expected = source.triple(occurrence.node)
    assert (a.shape, int(a), int(b), int(expected)) == ((), 1 << 31, 0, 1 << 31)
