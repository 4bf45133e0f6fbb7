"""Targets: what was measured and declared, as it is shipped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

import pytest

from minuend import cli
from minuend.core.elements import TYPES
from minuend.errors import FileFormatError, SpecError, listed
from minuend.models.patterns import pattern_of
from minuend.operators import SUBTRACT, VALUE_CLASSES
from minuend.runtimes import cases, targets
from minuend.runtimes.answers import EVERY, VERDICTS, Answer, joined_spans
from minuend.runtimes.case_list import measured
from minuend.runtimes.reasons import NotMeasured
from minuend.runtimes.rows import ELSE
from minuend.runtimes.table import DEFAULTS, DYNAMIC, STATIC, nodes
from minuend.runtimes.targets import Target, TargetChange
from minuend.runtimes.witness import Witness
from minuend.standards.dialects import dialect

OPENVINO = "openvino-cpu@2026.4.1"
FILES = sorted(
    path.name for path in resources.files("minuend.runtimes").joinpath("measured").iterdir() if "@" in path.name
)


def verdicts(dtype: str, constants: str = "none", relation: str = "same", name: str = OPENVINO) -> dict[str, str]:
    """What is not ok, by value class."""
    op = "openvino:1" if name.startswith("openvino") else "onnx:14"
    answers = targets.find(name).answer(op, dtype, relation, constants)
    return {row: answer.verdict for row, answer in answers.items() if answer.verdict != "ok"}


def witness(dtype: str, row: str, constants: str = "none") -> Witness | None:
    return targets.find(OPENVINO).answer("openvino:1", dtype, "same", constants)[row].witness


# ---- openvino-cpu 2026.4.1: type by type ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "int16", "int32", "uint16", "uint32", "int4"])
def test_openvino_is_exact_on_inputs_of(dtype: str) -> None:
    assert verdicts(dtype) == {}


def test_openvino_flushes_bfloat16s_subnormals_and_rounds_folded_constants_wrongly() -> None:
    assert set(verdicts("bfloat16")) == {"subnormal", "negative zero"}
    assert "rounds" in verdicts("bfloat16", "both")


def test_openvino_runs_float64_in_float32() -> None:
    wrong = set(verdicts("float64"))
    assert {"beyond float32", "infinite", "overflows", "subnormal", "nan"} <= wrong
    assert "ordinary" not in wrong
    clamped = witness("float64", "infinite")
    assert clamped is not None
    assert abs(clamped.got) == 3.4028234663852886e38


def test_openvino_saturates_int8_and_is_off_by_one_at_its_lowest_value() -> None:
    for constants in ("none", "A", "B"):
        assert set(verdicts("int8", constants)) == {"wraps", "lowest subtrahend"}
    assert witness("int8", "lowest subtrahend") == Witness(SUBTRACT, (-1, -128), 126, 127)
    assert witness("int8", "wraps") == Witness(SUBTRACT, (100, -100), 127, -56)
    assert verdicts("int8", "both") == {}


def test_openvino_saturates_uint8_unless_both_operands_are_constants() -> None:
    for constants in ("none", "A", "B"):
        assert set(verdicts("uint8", constants)) == {"wraps"}
    assert witness("uint8", "wraps") == Witness(SUBTRACT, (5, 10), 0, 251)
    assert verdicts("uint8", "both") == {}


def test_openvino_clamps_constants_of_uint32() -> None:
    assert set(verdicts("uint32", "A")) == set(verdicts("uint32", "B")) == {"wraps", "beyond int32"}
    assert witness("uint32", "wraps", "both") == Witness(SUBTRACT, (5, 10), 2147483647, 4294967291)


def test_openvino_runs_int64_and_uint64_in_32_bits() -> None:
    assert set(verdicts("int64")) == {"lowest subtrahend", "wraps", "beyond int32"}
    assert set(verdicts("uint64")) == {"wraps", "beyond int32"}
    assert set(verdicts("int64", "both")) == {"lowest subtrahend", "wraps", "beyond int32"}
    assert witness("uint64", "wraps", "both") == Witness(SUBTRACT, (5, 10), 2147483647, 2**64 - 5)


def test_openvino_wraps_int4_and_saturates_uint4() -> None:
    assert verdicts("int4") == verdicts("int4", "both") == verdicts("uint4", "both") == {}
    assert witness("uint4", "wraps") == Witness(SUBTRACT, (5, 10), 0, 11)


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        ("uint1", "Not Implemented: CPU plugin: Input image format u1 is not supported yet..."),
        ("uint2", "unsupported src_prc: u2"),
        ("nf4", "unsupported src_prc: nf4"),
        ("float8_e4m3fn", "unsupported src_prc: f8e4m3"),
        ("float8_e5m2", "unsupported src_prc: f8e5m2"),
        ("float8_e8m0fnu", "unsupported src_prc: f8e8m0"),
        ("float4_e2m1fn", "unsupported src_prc: f4e2m1"),
    ],
)
def test_openvino_does_not_compile(dtype: str, message: str) -> None:
    answers = targets.find(OPENVINO).answer("openvino:1", dtype, "same", "none")
    assert {(answer.verdict, answer.message) for answer in answers.values()} == {("not-implemented", message)}


def test_openvino_reads_pdpd_as_numpys_rule_for_signed_types_and_not_for_unsigned_ones() -> None:
    assert set(verdicts("float32", relation="pdpd").values()) == {"different-numbers"}
    assert set(verdicts("int32", relation="pdpd").values()) == {"different-numbers"}
    assert set(verdicts("int32", relation="pdpd alone").values()) == {"not-implemented"}
    assert verdicts("uint8", relation="pdpd") == verdicts("uint8", relation="pdpd alone") == {}


# ---- the others -----------------------------------------------------------------------------------------------


def test_onnxruntime_has_no_sub_below_opset_7_and_none_of_bfloat16() -> None:
    target = targets.find("onnxruntime-cpu@1.31.1")
    for opversion, dtype in (("onnx:1", "float32"), ("onnx:6", "int64"), ("onnx:14", "bfloat16")):
        assert {a.verdict for a in target.answer(opversion, dtype, "same", "none").values()} == {"not-implemented"}
    for dtype in dialect("onnx").versions()[-1].types:
        if dtype != "bfloat16":
            assert {a.verdict for a in target.answer("onnx:14", dtype, "one-sided", "B").values()} == {"ok"}


def test_onnxs_evaluator_ignores_the_legacy_axis() -> None:
    answers = targets.find("onnx-reference").answer("onnx:6", "int32", "legacy axis", "none")
    assert {answer.verdict for answer in answers.values()} == {"different-numbers"}


def test_numpy_keeps_the_contract() -> None:
    target = targets.find("numpy")
    for dtype in ("uint8", "int8", "bfloat16", "float64", "float8_e5m2"):
        assert {a.verdict for a in target.answer("openvino:1", dtype, "same", "none").values()} == {"ok"}


def test_directml_is_declared_by_its_levels_rows() -> None:
    for level, dtype, verdict in (("1.0", "int32", "not-implemented"), ("2.1", "int32", "ok"), ("6.4", "uint8", "ok")):
        target = targets.find(f"directml@{level}")
        assert target.declared
        assert target.provenance == "declared"
        op = dialect("directml").resolve(level)
        answers = target.answer(op, dtype, "same", "none")
        assert answers["in range"].verdict == verdict
    assert answers["wraps"].verdict == "unknown"


def test_onnxruntime_directml_is_declared_for_sub_7_13_and_14() -> None:
    target = targets.find("onnxruntime-directml")
    assert target.declared
    expected = {("onnx:6", "int32"): "not-implemented", ("onnx:7", "int32"): "ok", ("onnx:14", "uint8"): "ok"}
    for (opversion, dtype), verdict in expected.items():
        assert target.answer(opversion, dtype, "same", "none")["in range"].verdict == verdict
    refused = target.answer("onnx:13", "bfloat16", "same", "none")["ordinary"]
    assert refused == Answer("not-implemented", message="the DirectML provider registers Sub-13 without bfloat16")


# ---- files ----------------------------------------------------------------------------------------------------


def test_enough_releases_are_measured() -> None:
    count = {runtime: sum(name.startswith(f"{runtime}@") for name in FILES) for runtime in ("onnxruntime-cpu", "openvino-cpu", "onnx-reference")}  # fmt: skip # noqa: E501
    assert count["onnxruntime-cpu"] >= 10
    assert count["openvino-cpu"] >= 10
    assert count["onnx-reference"] >= 5


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_when_where_and_with_what_and_reads_back(name: str) -> None:
    text = resources.files("minuend.runtimes").joinpath("measured").joinpath(name).read_text("utf-8")
    target = targets.load(text, name)
    assert f"{target.name}.json" == name
    assert target.date
    assert target.cpu
    assert target.python
    assert targets.dump(target) == text
    assert len(text) < 600_000  # read at each start; what shows the deviations lies beside it
    for key, answers in target.table.nodes.items():
        assert key.dtype in TYPES
        assert key.relation in cases.RELATIONS
        assert set(answers) <= {*VALUE_CLASSES, EVERY}
        for answer in answers.values():
            assert answer.verdict in VERDICTS
            assert answer.witness or answer.message
    assert "/tmp" not in text
    assert "/home" not in text


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(("openvino", "onnxruntime"))])
def test_a_file_answers_every_case_of_its_runtime_once(name: str) -> None:
    target = targets.load(resources.files("minuend.runtimes").joinpath("measured").joinpath(name).read_text("utf-8"))
    assert len(target.table.nodes) == (1600 if name.startswith("openvino") else 928)


def test_spans_are_written_and_files_without_them_are_read() -> None:
    spans = ((0, 0), (3.3e38, float("inf")))
    answer = Answer("different-numbers", Witness(SUBTRACT, (3.4e38, 0.0), 1.0, 3.4e38), "", (spans, None))
    table = nodes((["onnx:14"], ["float32"], ["same"], ["A"], {"ordinary": answer}))
    target = Target("some", "1", table, "d", "c", "p")
    text = targets.dump(target)
    assert '"spans": [[[0, 0], [3.3e+38, "inf"]], null]' in text
    assert targets.load(text).table == target.table
    (found,) = targets.load(text.replace(', "spans": [[[0, 0], [3.3e+38, "inf"]], null]', "")).table.cells.values()
    older = found["ordinary"]
    assert (older.witness, older.a_spans) == (answer.witness, None)


def test_of_more_spans_than_are_kept_the_closest_are_joined() -> None:
    assert joined_spans(None, None) is None
    assert joined_spans(((4, 6),), ((0, 1), (6, 9))) == ((0, 1), (4, 9))
    five = ((0, 0), (1, 1), (10, 10), (15, 20), (1000, 1000))
    assert joined_spans(five) == ((0, 0), (1, 1), (10, 20), (1000, 1000))


def test_openvinos_float32_constants_deviate_at_zero_among_subnormals_and_beyond_bfloat16_alone() -> None:
    for constants, side in (("A", "a_spans"), ("B", "b_spans")):
        for relation in ("same", "scalar", "one-sided"):
            answers = targets.find(OPENVINO).answer("onnx:14", "float32", relation, constants)
            assert {name for name, one in answers.items() if one.verdict != "ok"}
            for answer in answers.values():
                if answer.verdict != "ok":
                    for size, inside in ((2.0**-126, False), (0.5, False), (1.0, False), (1e30, False), (3.4e38, True)):
                        assert any(low <= size <= high for low, high in getattr(answer, side)) == inside


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(SpecError) as caught:
        targets.load('{"format": 9}', "some.json")
    assert str(caught.value) == "the file has format 9; expected 3, at some.json"


MEASURED = json.loads(resources.files("minuend.runtimes").joinpath("measured", "numpy@2.4.6.json").read_text("utf-8"))
WITNESS = {"operands": [5, 10], "got": 0, "expected": 251}
A_PATTERN = "expected a pattern as minuend measure writes it"
PATTERN = {"judged": ["Sub", "x", "x"]}
GRAPH = {"patterns": [0], "dtypes": ["float32"], "settings": ["static"], "forms": [""]}
NODE = ("opversions", "dtypes", "relations", "constants")


def quoted(names: Iterable[str]) -> str:
    return listed(map(repr, sorted(names)))


CLASSES = listed(sorted((*VALUE_CLASSES, EVERY)))


def _row(**changed: Any) -> dict[str, Any]:
    return {"rows": [{**MEASURED["rows"][0], **changed}]}


ROW, ANSWER = "f.json.rows[0]", f'f.json.rows[0].answers["{EVERY}"]'
OF_ROWS = [
    ({"rows": {}}, "f.json.rows is {}; expected a list"),
    ({"date": None}, "f.json.date is None; expected a string"),
    (_row(dtypes=[]), f"{ROW}.dtypes is []; expected a list of at least 1"),
    (
        {"patterns": [PATTERN, {"judged": ["Mod", "x", "x"]}]},
        f"f.json.patterns[1] is {{'judged': ['Mod', 'x', 'x']}}; {A_PATTERN}",
    ),
    (_row(dtypes=["uint8", "u8"]), f"{ROW}.dtypes[1] is 'u8'; expected one of {quoted(TYPES)}"),
    (_row(constants=["A", "A"]), f"{ROW}.constants is ['A', 'A']; expected names that differ"),
    (_row(answers={"some": {}}), f"{ROW}.answers has the key 'some'; expected {CLASSES}"),
    (_row(answers={EVERY: {"verdict": "no"}}), f"{ANSWER}.verdict is 'no'; expected one of {quoted(VERDICTS)}"),
    (
        _row(answers={EVERY: {"verdict": "ok", "witness": {**WITNESS, "got": "0"}}}),
        f"{ANSWER}.witness.got is '0'; expected a number, or one of '-inf', 'inf' or 'nan'",
    ),
    (_row(answers={EVERY: {"verdict": "ok", "spans": [[[1]]]}}), f"{ANSWER}.spans[0][0] is [1]; expected a list of 2"),
    (
        {"patterns": [PATTERN, {"judged": ["Sub", "y"]}]},
        f"f.json.patterns[1] is {{'judged': ['Sub', 'y']}}; {A_PATTERN}",
    ),
    ({"patterns": [["Abs"]]}, f"f.json.patterns[0] is ['Abs']; {A_PATTERN}"),
]
BELOW_1 = "expected a whole number from 0 to below 1"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        *OF_ROWS,
        ({"rows": [{}]}, f"{ROW} is {{}}; expected an object with 'patterns'"),
        (_row(patterns=[1]), f"{ROW}.patterns[0] is 1; {BELOW_1}"),
        (_row(patterns=[0, 0]), f"{ROW}.patterns is [0, 0]; expected a list of 1"),
        ({"unmeasured": ["x"]}, "f.json.unmeasured[0] is 'x'; expected a list of 2"),
        ({"rows": [{**GRAPH, "patterns": [-1]}]}, f"{ROW}.patterns[0] is -1; {BELOW_1}"),
        ({"rows": [{**GRAPH, "settings": "static"}]}, f"{ROW}.settings is 'static'; expected a list"),
        (
            {"rows": [{**GRAPH, "settings": ["x"]}]},
            f"{ROW}.settings[0] is 'x'; expected one of {quoted((STATIC, DYNAMIC, *DEFAULTS.values()))}",
        ),
        (
            {"rows": [GRAPH, {**GRAPH, "settings": ["dynamic", "static"]}]},
            "f.json answers for x - x, float32, static twice; expected one row for each",
        ),
    ],
)
def test_a_file_of_another_form_is_refused_where_it_differs(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        targets.load(json.dumps({**MEASURED, **changed}), "f.json")
    assert str(caught.value) == told


# ---- older formats ----------------------------------------------------------------------------------------------


def _of_format_2(data: dict[str, Any]) -> dict[str, Any]:
    """A file's data as format 2 had it: nodes and patterns are rows of two kinds."""
    complete = [{**ELSE, **row} for row in data["rows"]]
    nodes = [row for row in complete if row["opversions"] != [""]]
    patterns = [row for row in complete if row["opversions"] == [""]]
    found = {key: data[key] for key in ("runtime", "release", "date", "cpu", "python", "isa") if key in data}
    found |= {"format": 2, "rows": [{key: row[key] for key in (*NODE, "answers")} for row in nodes]}
    if "cases" in data:
        names = ("patterns", "dtypes", "settings", "forms", "answers")
        rows = [{key: row[key] for key in names if key in row} for row in patterns]
        left_out = [{"unmeasured": data["unmeasured"]}] if "unmeasured" in data else []
        found |= {"graph_cases": data["cases"], "graphs_cpu": data["patterns_cpu"]}
        found |= {"patterns": data["patterns"], "graphs": [*left_out, *rows]}
    return found


@pytest.mark.parametrize("name", ["onnxruntime-cpu@1.31.1", "openvino-cpu@2026.4.1", "numpy@2.4.6"])
def test_a_file_of_format_2_is_read_as_it_was_meant(name: str) -> None:
    known = targets.find(name)
    data = _of_format_2(json.loads(targets.dump(known)))
    assert targets.dump(targets.load(json.dumps(data))) == targets.dump(known)
    if "graph_cases" in data:
        other = targets.load(json.dumps({**data, "graph_cases": "of another list"})).table
        assert (other.nodes.keys(), other.has_patterns) == (known.table.nodes.keys(), False)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        *OF_ROWS,
        ({"rows": [{}]}, f"{ROW} is {{}}; expected an object with 'opversions'"),
        ({"graphs": [{"unmeasured": ["x"]}]}, "f.json.graphs[0].unmeasured[0] is 'x'; expected a list of 2"),
        ({"graphs": [GRAPH]}, "f.json.graphs[0].patterns[0] is 0; expected a whole number from 0 to below 0"),
        (
            {"patterns": [PATTERN], "graphs": [{**GRAPH, "forms": ["x"]}]},
            f"f.json.graphs[0].forms[0] is 'x'; expected one of {quoted({key.form for key in measured()})}",
        ),
    ],
)
def test_a_file_of_format_2_is_refused_where_it_differs(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        targets.load(json.dumps({**_of_format_2(MEASURED), **changed}), "f.json")
    assert str(caught.value) == told


def test_rows_of_format_2_can_hold_versions_of_several_operators() -> None:
    row = dict(zip(NODE, (["onnx:14", "onnx:Neg-13", "onnx:Add-14"], ["int8"], ["same"], ["none"]), strict=True))
    found = targets.load(json.dumps({**_of_format_2(MEASURED), "rows": [{**row, "answers": {}}]}))
    assert found.operators == {"subtract", "negative", "add"}
    answers = [found.answer(name, "int8", "same", "none") for name in row["opversions"]]
    assert {one.verdict for every in answers for one in every.values()} == {"ok"}
    assert targets.load(targets.dump(found)) == found


def _of_format_1(data: dict[str, Any]) -> dict[str, Any]:
    """A file's data of format 2 as format 1 had it: patterns by what is printed of them."""
    texts = [str(pattern_of(one)) for one in data.pop("patterns")]
    rows = [
        {"unasked": row["unmeasured"]}
        if "unmeasured" in row
        else {"expressions": [texts[i] for i in row["patterns"]], **{key: row[key] for key in row if key != "patterns"}}
        for row in data["graphs"]
    ]
    found = {**data, "format": 1, "graphs": rows}
    for answer in (answer for row in (*found["rows"], *rows) for answer in row.get("answers", {}).values()):
        spans = zip(("a_spans", "b_spans"), answer.pop("spans", ()), strict=False)
        answer.update({key: one for key, one in spans if one is not None})
        if "witness" in answer:
            answer["witness"] |= dict(zip("ab", answer["witness"].pop("operands"), strict=True))
    return found


def test_a_file_of_format_1_is_read_as_it_was_meant() -> None:
    known = targets.find("onnxruntime-cpu@1.31.1")
    data = _of_format_1(_of_format_2(json.loads(targets.dump(known))))
    assert known.table.has_patterns
    assert targets.load(json.dumps(data)).table == targets.load(targets.dump(known)).table  # without witnesses' file
    other = targets.load(json.dumps({**data, "graph_cases": "of another list"})).table
    assert (other.nodes, other.has_patterns) == (known.table.nodes, False)
    data["graphs"] = [{**next(row for row in data["graphs"] if "unasked" not in row), "expressions": ["x + x"]}]
    with pytest.raises(FileFormatError, match=r"^f.json.graphs\[0\].expressions\[0\] is 'x \+ x'; expected one of "):
        targets.load(json.dumps(data), "f.json")


@pytest.mark.parametrize("text", ["", "[" * 100_000, "9" * 5000])
def test_a_file_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(FileFormatError, match=r"^the target is no JSON: .*; expected a file of minuend measure$"):
        targets.load(text)


# ---- look-up --------------------------------------------------------------------------------------------------


def test_the_start_of_a_release_means_its_newest() -> None:
    assert targets.find("openvino-cpu").name == targets.find("openvino-cpu@2026").name == OPENVINO
    assert targets.find("openvino-cpu@2026.4").name == OPENVINO
    assert targets.find("directml").name == "directml@6.4"
    assert targets.find("directml@6").name == "directml@6.4"


def test_names_run_from_old_to_new() -> None:
    names = [name for name in targets.names() if name.startswith("onnxruntime-cpu@")]
    assert names.index("onnxruntime-cpu@1.32.0") == len(names) - 1
    assert names == sorted(names, key=lambda name: [int(part) for part in name.partition("@")[2].split(".")])


def test_an_unknown_target_is_refused_with_what_there_is() -> None:
    with pytest.raises(SpecError) as caught:
        targets.find("coreml")
    known = dict.fromkeys(name.partition("@")[0] for name in targets.names())
    expected = f"expected {listed(known)}, each with an @release if need be"
    assert str(caught.value) == (
        f"no target 'coreml'; {expected}; minuend measure queries another runtime through a module of yours "
        "(docs/runtimes.md)"
    )
    with pytest.raises(SpecError, match=r"no target 'tensorrt'; expected"):
        targets.find("tensorrt")
    with pytest.raises(SpecError) as caught:
        targets.find("numpy@1", exact=True)
    assert str(caught.value).startswith("no release of numpy that starts with '1'; there are 2.")


def test_what_nobody_measured_is_unknown() -> None:
    answers = targets.find("openvino-cpu").answer("directml:5.1", "uint8", "same", "none")
    assert list(answers) == ["wraps", "in range"]
    assert {(one.verdict, one.reason) for one in answers.values()} == {("unknown", NotMeasured(OPENVINO))}


def test_wrong_names_are_refused() -> None:
    with pytest.raises(SpecError) as caught:
        targets.find("openvino-cpu").answer("onnx:14", "uint8", "sideways", "none")
    assert str(caught.value).startswith("'sideways' is none of same, scalar, one-sided")


def test_empty_tensors_have_one_class() -> None:
    answers = targets.find("onnxruntime-cpu").answer("onnx:14", "uint8", "zero-size", "none")
    assert answers == {"no values": Answer("ok")}


# ---- differences ----------------------------------------------------------------------------------------------


def test_a_target_is_no_different_from_itself() -> None:
    target = targets.find(OPENVINO)
    assert targets.diff(target, target) == []


def test_a_difference_names_where_and_both_answers() -> None:
    def one(release: str, answers: dict[str, Answer]) -> Target:
        table = nodes((["onnx:14"], ["uint8", "int8"], ["same"], ["none", "A"], answers))
        return Target("some", release, table)

    wraps = Answer("different-numbers", Witness(SUBTRACT, (5, 10), 0, 251))
    assert targets.diff(one("1", {"wraps": wraps}), one("2", {})) == [
        TargetChange(("onnx:14",), ("uint8", "int8"), ("same",), ("none", "A"), "wraps", wraps, Answer("ok"))
    ]
    other = Answer("different-numbers", Witness(SUBTRACT, (0, 1), 0, 255))
    assert targets.diff(one("1", {"wraps": wraps}), one("2", {"wraps": other})) == []  # nothing shows a change
    again = Answer("different-numbers", Witness(SUBTRACT, (5, 10), 127, 251))
    (change,) = targets.diff(one("1", {"wraps": wraps}), one("2", {"wraps": again}))
    assert (change.old, change.new) == (wraps, again)
    sized = Answer("different-numbers", Witness(SUBTRACT, (5, 10), 127, 251), "", (((0, 255),), ((0, 255),)))
    assert targets.diff(one("1", {"wraps": wraps}), one("2", {"wraps": sized})) == [change]
    assert targets.diff(one("1", {"wraps": again}), one("2", {"wraps": sized})) == []
    refused = [one(release, {EVERY: Answer("not-implemented", message=release)}) for release in "12"]
    assert targets.diff(*refused) == []


def test_the_command_lists_and_compares(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["targets", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["targets"]}
    assert list(rows) == list(targets.names())
    assert rows["directml@5.1"]["measured"] == "declared"
    assert rows[OPENVINO]["measured"]["release"] == "2026.4.1"
    assert cli.main(["targets"]) == 0
    assert "declared: " in capsys.readouterr().out
    assert cli.main(["targets", "--diff", "openvino-cpu@2023.0", "openvino-cpu@2026.4"]) == 0
    assert "openvino-cpu@2023.0.0 → openvino-cpu@2026.4.1" in capsys.readouterr().out
    assert cli.main(["targets", "--diff", "openvino-cpu@2023.0", "tensorrt"]) == 2
