"""Graph cases: what is asked, how answers are judged, and that the measured files answer for all of it."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from minuend.core.elements import TYPES
from minuend.models.matching.match import ADJACENT, THROUGH, Match
from minuend.models.occurrences import occurrences
from minuend.models.opening import open_model
from minuend.models.patterns import Op, X, less, pattern_of, plain
from minuend.runtimes import case_list, pattern_answers, pattern_cases, targets
from minuend.runtimes.answers import EVERY, Answer
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Output, Refused
from minuend.runtimes.table import DEFAULTS, DYNAMIC, STATIC, Table, node_key, pattern_key
from minuend.standards.dialects import parse_version

MEASURED = [name for name in targets.names() if targets.find(name).table.has_patterns]
MEASURED_FILES = Path(targets.__file__).parent / "measured"
CASES = {}
for _, one in pattern_cases.queried(""):
    CASES.setdefault((str(one.pattern), one.dtype, one.form), one)


class Evaluated:
    """A runtime that computes exactly, node by node, and may join nodes in its own way."""

    name = "onnxruntime-cpu"

    def __init__(self, join=None):
        self.join = join

    def query(self, form, model, weights, fed, hint="", count=None):
        proto = onnx.load_from_string(model)
        feeds = {name: codes.view(element.memory) for name, element, codes in fed}
        kinds = [node.op_type for node in proto.graph.node]
        if self.join is not None and (found := self.join(kinds, feeds)) is not None:
            return found if isinstance(found, Refused) else [Output(TYPES["float32"], found.view(np.uint32))]
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(proto).run(None, feeds)
        return [Output(TYPES["float32"], np.ascontiguousarray(one).view(np.uint32)) for one in results]


def answer(expression, runtime, form=""):
    case = CASES[expression, "float32", form]
    return pattern_answers.answer(case, runtime, "onnx", pattern_cases.graph_probing().build(case))


@pytest.mark.parametrize(
    "expression", ["x - x", "Mul(x, x) - x", "Add(x - scalar, scalar)", "Relu(x - k)", "x - Exp(x)"]
)
def test_a_runtime_that_runs_node_by_node_deviates_nowhere(expression):
    assert answer(expression, Evaluated()) == {}


def test_an_adjacent_operator_of_another_type_than_the_model_says_is_not_measured():
    class Narrow(Evaluated):
        def query(self, form, model, weights, fed, hint="", count=None):
            found = super().query(form, model, weights, fed, hint, count)
            kinds = [node.op_type for node in onnx.load_from_string(model).graph.node]
            return [Output(TYPES["int32"], one.codes) for one in found] if kinds == ["Relu"] else found

    assert answer("x - Relu(x)", Narrow()) is None
    assert answer("x - Exp(x)", Narrow()) == {}


def test_an_adjacent_operator_of_another_shape_than_the_model_says_is_not_measured():
    class Wide(Evaluated):
        def query(self, form, model, weights, fed, hint="", count=None):
            found = super().query(form, model, weights, fed, hint, count)
            kinds = [node.op_type for node in onnx.load_from_string(model).graph.node]
            return [Output(one.element, one.codes[..., :5]) for one in found] if kinds == ["Relu"] else found

    assert answer("x - Relu(x)", Wide()) is None


def test_a_runtime_that_wants_shapes_of_outputs_is_given_them():
    for name, wanted in (("opencv-dnn", True), ("tract", False)):
        runtime = Evaluated()
        runtime.name = name
        case = next(case for _, case in pattern_cases.rows_for(runtime) if str(case.pattern) == "Relu(x - x)")
        built = pattern_cases.graph_probing().build(case)
        for part in (built.whole, built.behind):
            (output,) = onnx.load_from_string(part.data).graph.output
            assert output.type.tensor_type.HasField("shape") == wanted


def test_a_fused_multiply_add_is_seen():
    def fma(kinds, feeds):
        if kinds != ["Mul", "Sub"]:
            return None
        x, z, w = (array.astype(np.float64) for array in feeds.values())
        with np.errstate(all="ignore"):
            return (x * z - w).astype(np.float32)

    found = answer("Mul(x, x) - x", Evaluated(fma))
    assert {name: one.verdict for name, one in found.items()}.keys() >= {"ordinary", "rounds"}


def test_a_witness_shows_the_worst_where_each_of_its_numbers_fills_an_input():
    def reciprocal(kinds, feeds):
        if kinds != ["Sub", "Div"]:
            return None
        a, b, c = feeds.values()
        with np.errstate(all="ignore"):
            return (a - b) * (np.float32(1) / c)

    found = answer("Div(x - x, x)", Evaluated(reciprocal))["ordinary"]
    assert (found.severities[-1], found.ulps) == ("edge", 1)
    a, b, c = map(np.float32, found.witness.operands)
    with np.errstate(all="ignore"):
        shown = [str(float((a - b) * (np.float32(1) / c))), str(float((a - b) / c))]
    assert shown == [str(found.witness.got), str(found.witness.expected)]


def test_a_witness_of_a_reduction_has_the_row_that_it_reduces():
    """Equal numbers are summed without a rounding, so that a number that fills an input shows nothing."""

    def exact(kinds, feeds):
        if kinds != ["ReduceSum", "Sub"]:
            return None
        x, b = (feeds[name].astype(np.float64) for name in ("t_in0", "b"))
        with np.errstate(all="ignore"):
            return (x.sum(axis=-1, keepdims=True) - b).astype(np.float32)

    found = answer("ReduceSum(x) - x", Evaluated(exact))[EVERY]
    *row, b = map(np.float32, found.witness.operands)
    assert len(row) == 16
    assert found.witness.got == np.float32(np.sum(row, dtype=np.float64) - np.float64(b))
    assert found.witness.expected != found.witness.got
    assert abs(found.witness.expected - found.witness.got) < 1e-6


@pytest.mark.parametrize("expression", ["Transpose(x - x)", "Slice(x) - x"])
def test_a_witness_of_what_is_moved_has_the_number_that_was_moved(expression):
    """One difference in a hundred deviates, and stands elsewhere than its operands."""

    def rare(kinds, feeds):
        if sorted(one for one in kinds if one != "Constant") not in (["Sub", "Transpose"], ["Slice", "Sub"]):
            return None
        with np.errstate(all="ignore"):
            (found,) = ReferenceEvaluator(whole).run(None, feeds)
        return np.where(is_rare(found), np.float32(7), found)

    def is_rare(array):
        return (array.view(np.uint32) // 3 % 100 == 42) & np.isfinite(array)

    built = pattern_cases.graph_probing().build(CASES[expression, "float32", ""])
    whole = onnx.load_from_string(built.whole.data)
    found = answer(expression, Evaluated(rare))
    shown = [one.witness for one in found.values()]
    assert shown
    assert None not in shown
    for one in shown:
        a, b = map(np.float32, one.operands)
        with np.errstate(all="ignore"):
            assert is_rare(np.array([a - b])).all()
        assert one.got == 7.0


def test_a_rounding_trick_that_is_folded_away_is_seen():
    def folded(kinds, feeds):
        return next(iter(feeds.values())) if kinds == ["Add", "Sub"] else None

    assert answer("Add(x, scalar) - scalar", Evaluated(folded))


def test_a_lost_sign_of_zero_is_told_by_its_class():
    def unsigned(kinds, feeds):
        if kinds != ["Sub"]:
            return None
        a, b = next(iter(feeds.values())), list(feeds.values())[-1]
        with np.errstate(all="ignore"):
            return a - b + np.float32(0)

    assert list(answer("x - x", Evaluated(unsigned))) == ["negative zero"]


def test_a_neighbour_that_mixes_elements_deviates_as_a_whole():
    def other(kinds, feeds):
        return np.zeros((2, 4, 16, 16), np.float32) if kinds == ["Sub", "MatMul"] else None

    (found,) = answer("MatMul(x - x, array)", Evaluated(other)).items()
    assert (found[0], found[1].verdict, found[1].severities) == (EVERY, "different-numbers", ("numbers",))


def test_nothing_is_said_where_the_neighbour_alone_is_refused():
    refused = Evaluated(lambda kinds, feeds: Refused("no such operator", "build") if kinds == ["Exp"] else None)
    assert answer("Exp(x) - x", refused) is None


def test_over_two_operands_every_edge_meets_every_other():
    feed = pattern_cases.Feed("float32", (1, 8, 16, 16))
    a, b = (pattern_cases.elements(feed, name, i).reshape(-1)[:1000].view(np.uint32) for i, name in enumerate("ab"))
    assert len(set(zip(a.tolist(), b.tolist(), strict=True))) == 121


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_case_is_looked_up_by_the_name_that_it_was_measured_by(dtype):
    first = {}
    for (expression, kind, form), case in CASES.items():
        way, *how = case.how
        if kind == dtype and form == ADJACENT and way in ("maker", "reader", "cast", "cast_to"):
            operator = how[-1] if isinstance(how[-1], str) else how[-1].name
            if operator != "Sum":  # of one, which is an Identity in a graph; those of several are sums of two
                first.setdefault((way, operator, how[-2]), (expression, case))
    assert len(first) > 50
    for expression, case in first.values():
        found = occurrences(open_model(pattern_cases.graph_probing().build(case).whole.data))
        assert expression in {str(one.pattern) for occurrence in found for one in occurrence.matches}


def test_a_file_that_was_written_against_another_list_says_nothing_of_adjacent_operators():
    known = targets.find("onnxruntime-cpu@1.31.1")
    text = targets.dump(known)
    assert targets.load(text).table.has_patterns
    digest = json.loads(text)["cases"]
    other = targets.load(text.replace(digest, "0123456789abcdef")).table
    assert (other.has_patterns, other.cpus, other.nodes) == (False, (), known.table.nodes)


def test_a_file_that_was_written_against_an_earlier_list_stays_valid():
    """The list grows at its end: of what came later such a file says nothing."""
    earlier, count = next(iter(json.loads((MEASURED_FILES / case_list.CASES).read_text("utf-8"))["earlier"].items()))
    rows = case_list.rows_of_list(earlier)
    assert len(rows.rows) == count
    assert case_list.digest_of(rows.keys()) == earlier
    table = targets.load((MEASURED_FILES / "onnxruntime-cpu@1.31.1.json").read_text("utf-8")).table
    assert table.has_patterns
    if f'"cases": "{earlier}"' in (MEASURED_FILES / "onnxruntime-cpu@1.31.1.json").read_text("utf-8"):
        assert not set(table.patterns) - set(rows.keys())


def test_new_cases_are_written_behind_those_of_the_list():
    more = pattern_key(less(Op("NewOperator", (X,)), X), "float32", STATIC, "")
    text = case_list.dump([*case_list.measured(), more])
    data, known = json.loads(text), json.loads((MEASURED_FILES / case_list.CASES).read_text("utf-8"))
    assert data["patterns"][: len(known["patterns"])] == known["patterns"]
    assert data["rows"][: len(known["rows"])] == known["rows"]
    assert data["earlier"] == {**known["earlier"], known["digest"]: len(known["rows"])}
    assert set(case_list.listed_in(text).keys()) == {*case_list.measured(), more}
    fewer = json.loads(case_list.dump([more]))
    assert (fewer["earlier"], len(fewer["rows"])) == ({}, 1)


def test_what_makes_an_operand_is_queried_again_with_other_values():
    """Two cases can have one model before the subtraction, and other numbers for its inputs."""
    case = CASES["Softmax(x) - x", "float32", ""]
    built = pattern_cases.graph_probing().build(case)
    runtime = Evaluated()
    first = pattern_answers.answer(case, runtime, "onnx", built)
    feeds = {name: replace(feed, values="positive") for name, feed in built.feeds.items()}
    assert first == pattern_answers.answer(case, runtime, "onnx", replace(built, feeds=feeds)) == {}


def test_an_infinite_number_that_changes_a_row_is_a_class_of_its_own():
    def infinite(kinds, feeds):
        if kinds == ["Softmax", "Sub"] and any(np.isinf(one).any() for one in feeds.values()):
            return np.zeros((1, 8, 16, 16), np.float32)
        return None

    assert list(answer("Softmax(x) - k", Evaluated(infinite))) == ["infinite"]


def test_integers_that_are_fine_in_range_differ_for_others_alone():
    case = CASES["Reshape(x - k)", "uint8", ""]

    class Saturating(Evaluated):
        def query(self, form, model, weights, fed, hint="", count=None):
            proto = onnx.load_from_string(model)
            found = ReferenceEvaluator(proto).run(None, {name: codes.view(one.memory) for name, one, codes in fed})
            if [node.op_type for node in proto.graph.node] == ["Sub", "Reshape"]:
                k = onnx.numpy_helper.to_array(proto.graph.initializer[0])
                x = next(codes for _, _, codes in fed).astype(np.int64)
                found = [np.maximum(x - k.astype(np.int64), 0).astype(np.uint8).reshape(-1)]
            return [Output(TYPES["uint8"], np.ascontiguousarray(one)) for one in found]

    built = pattern_cases.graph_probing().build(case)
    assert list(pattern_answers.answer(case, Saturating(), "onnx", built)) == ["wraps"]


def test_cases_that_are_measured_elsewhere_keep_both_processors():
    class Elsewhere(Evaluated):
        cpu = "another CPU, avx2"

    known = Table({key: {} for key, _ in pattern_cases.queried("")}, ("AMD EPYC, avx2",))
    assert pattern_answers.measure(Elsewhere(), known=known).cpus == ("AMD EPYC, avx2",)
    fewer = Table({key: one for key, one in known.cells.items() if key.pattern != less(X, X)}, known.cpus)
    found = pattern_answers.measure(Elsewhere(), known=fewer, types=("float32",))
    assert found.cpus == ("AMD EPYC, avx2", "another CPU, avx2")
    assert (found.covers("float32", False), found.covers("int32", False)) == (True, False)


def test_the_list_of_cases_is_what_the_grammar_asks():
    assert case_list.measured() == {key for key, _ in pattern_cases.queried("f32")}
    assert case_list.digest() == case_list.digest_of(case_list.measured())


def test_files_write_a_pattern_in_the_form_that_it_is_found_by():
    every = [path for path in MEASURED_FILES.rglob("*.json") if path.parent.name != "witnesses"]
    texts = {str(one) for path in every for one in json.loads(path.read_text("utf-8"))["patterns"]}
    assert len(texts) > 3000
    assert all(str(plain(pattern_of(ast.literal_eval(text)))) == text for text in texts)


@pytest.mark.parametrize("name", ["openvino-cpu@2026.4.1", "onnxruntime-cpu@1.32.0"])
def test_cells_that_are_looked_up_one_by_one_are_those_that_are_listed(name):
    table = targets.load(targets.dump(targets.find(name))).table
    assert not table.cells.keys() - case_list.measured() - table.nodes.keys()
    assert len(list(table.cells)) == len(table.cells) == len({**table.nodes, **table.patterns})
    for key in case_list.measured():
        assert table.cells.get(key) == table.patterns.get(key)
    assert table.has_default == any(key.setting in DEFAULTS.values() for key in table.cells)


def test_a_pattern_that_a_file_spells_otherwise_is_found():
    text = targets.dump(targets.find("openvino-cpu@2026.4.1"))
    spelled = re.sub(r'^  (\["\w+", .*\])(,?)$', r'  {"place": 0, "call": \1}\2', text, flags=re.MULTILINE)
    assert spelled != text
    assert targets.dump(targets.load(spelled)) == targets.dump(targets.load(text))


# ---- look-up ----------------------------------------------------------------------------------------------------

WRONG = {"rounds": Answer("different-numbers")}
LOST = {"rounds": Answer("different-numbers"), "ordinary": Answer("different-numbers")}
ADJACENT_MUL = Match(less(Op("Mul", (X, X)), X), ADJACENT, "Mul")


def cell(**cells):
    names = {"static": STATIC, "dynamic": DYNAMIC, "default": DEFAULTS[DYNAMIC]}
    return Table({pattern_key(ADJACENT_MUL.pattern, "float32", names[name], ""): one for name, one in cells.items()})


def test_what_was_not_measured_is_not_known():
    assert cell(static={}).find(ADJACENT_MUL, "float32", False, "") == {}
    assert cell(static={}).find(ADJACENT_MUL, "float32", True, "") is None
    assert cell(static={}).find(ADJACENT_MUL, "float16", False, "") is None


def test_a_default_precision_adds_what_it_loses():
    known = cell(static={}, dynamic={}, default=WRONG)
    assert (known.find(ADJACENT_MUL, "float32", True, ""), known.find(ADJACENT_MUL, "float32", True, "f32")) == (
        WRONG,
        {},
    )
    fused = cell(dynamic=WRONG, default=LOST)
    assert fused.find(ADJACENT_MUL, "float32", True, "").keys() == {"rounds", "ordinary"}
    assert fused.find(ADJACENT_MUL, "float32", True, "f32").keys() == {"rounds"}


def test_what_is_kept_in_more_bits_counts_from_afar():
    pattern = less(Op("Sin", (X,)), X)
    known = Table({pattern_key(pattern, dtype, STATIC, ""): WRONG for dtype in ("float16", "float32")})
    afar = Match(pattern, THROUGH, "Sin")
    unrounded = dict.fromkeys(("rounds", "overflows", "subnormal"), WRONG["rounds"])
    assert (known.find(afar, "float16", False, ""), known.find(afar, "float32", False, "")) == (unrounded, {})


@pytest.mark.parametrize("name", MEASURED)
def test_a_measured_release_reads_back_as_it_was_written(name):
    found = targets.find(name)
    text = resources.files("minuend.runtimes").joinpath("measured").joinpath(f"{name}.json").read_text("utf-8")
    again = targets.load(text)  # with all checks; that a dump of it is the file, test_targets says
    assert list(again.table.patterns) == list(found.table.patterns)
    pairs = zip(again.table.patterns.values(), found.table.patterns.values(), strict=True)
    several = {(id(one), id(other)): (one, other) for one, other in pairs}  # many are one object
    assert all(repr(one) == repr(other) for one, other in several.values())  # no NaN is equal to another
    assert found.table.has_default == bool(quirks(found.runtime).hints)
    alone = found.table.cells[node_key(parse_version("onnx:14"), "float32", "same", ())]
    assert found.table.cells[pattern_key(less(X, X), "float32", STATIC, "")].keys() == alone.keys()
