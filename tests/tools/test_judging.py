"""The scripts that judge `check`: they see what runtimes do, and nothing where they do nothing."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import judge_corpus
import judge_graphs
import ml_dtypes
import model_files
import numpy as np
import onnx
import pytest
import random_graphs
import random_layers
import truth
from truth import DIFFERENT, FINE, MASKED, NOT_RUN, REFUSED, UNCLEAR, Tally, Trial, Truth

import minuend as mn
from minuend.operators import BY_ONNX
from minuend.runtimes.running import Runtime
from minuend.runtimes.severity import Deviation

pytest.importorskip("onnxruntime")
pytest.importorskip("openvino")

MODELS = Path(__file__).parents[1] / "data" / "models"


@pytest.fixture(scope="module")
def runtimes():
    with Runtime("onnxruntime-cpu") as one, Runtime("openvino-cpu") as other:
        yield {one.name: one, other.name: other}


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')


def happened(runtime: Runtime, text: str, hint: str = "", **inputs) -> str:
    """What happened to the last subtraction of a model."""
    proto = model(text)
    finding = mn.check(proto, f"{runtime.name}@{runtime.release}", hint=hint).findings[-1]
    return (
        Trial(runtime, proto, [{name: np.asarray(array) for name, array in inputs.items()}], hint).truth(finding).kind
    )


X = np.array([0.1, 1e5, -7.3, 3e-7], np.float32)
ROUNDING_TRICK = "(float[4] x) => (float[4] y) <float c = {12582912}> { t = Add(x, c) y = Sub(t, c) }"


def test_a_subtraction_by_itself_is_fine(runtimes):
    text = "(float[4] x) => (float[4] y) { t = Exp(x) d = Sub(x, t) y = Abs(d) }"
    assert happened(runtimes["onnxruntime-cpu"], text, x=X / 1e5) == FINE


def test_a_constant_that_is_added_and_subtracted_is_different_where_both_are_left_out(runtimes):
    assert happened(runtimes["openvino-cpu"], ROUNDING_TRICK, "f32", x=X) == DIFFERENT
    assert happened(runtimes["onnxruntime-cpu"], ROUNDING_TRICK, x=X) == FINE


def test_a_product_that_is_not_rounded_before_it_is_subtracted_from_is_different(runtimes):
    text = "(float[4] x, float[4] z) => (float[4] y) { p = Mul(x, x) y = Sub(p, z) }"
    assert happened(runtimes["openvino-cpu"], text, "f32", x=X, z=X * X) == DIFFERENT


@pytest.mark.parametrize(("zero", "kind"), [("0", FINE), ("-0", DIFFERENT)])
def test_zero_that_is_subtracted_is_fine_where_the_model_is_the_same_without_it(zero, kind, runtimes):
    """openvino takes a convolution, a sum and what normalises that together, with such a zero between and without it.

    A value less -0 is another one where it is -0, and so it is not the same without.
    """
    source = np.random.default_rng(1)
    weights = ", ".join(map(str, np.round(source.standard_normal(144), 2)))
    scales = ", ".join(map(str, np.round(source.standard_normal(4), 2)))
    text = f"""(float[1,4,6,6] x) => (float[1,4,6,6] y)
        <float z = {{{zero}}}, float e = {{0.02}}, uint8 p = {{128}}, float[4,4,3,3] w = {{{weights}}},
         float[4] s = {{{scales}}}> {{
        q = QuantizeLinear(x, e, p) f = DequantizeLinear(q, e, p) c = Conv <pads = [1, 1, 1, 1]> (f, w)
        a = Add(f, c) d = Sub(a, z) y = InstanceNormalization(d, s, s)
    }}"""
    x = source.standard_normal((1, 4, 6, 6)).astype(np.float32)
    assert happened(runtimes["openvino-cpu"], text, "f32", x=x) == kind


def test_the_types_that_only_the_runtime_knows_are_asked_of_it(runtimes):
    """Of what an operator of onnxruntime makes, ONNX says nothing; no verdict has a type then."""
    proto = model("(float[4] x) => (float[4] y) { t = com.microsoft.Gelu(x) u = Exp(t) d = Sub(t, u) y = Abs(d) }")
    proto.opset_import.add(domain="com.microsoft", version=1)
    runtime = runtimes["onnxruntime-cpu"]
    finding = replace(mn.check(proto, f"onnxruntime-cpu@{runtime.release}").findings[0], verdict="ok", dtype="")
    assert Trial(runtime, proto, [{"x": X}]).truth(finding) == Truth(FINE)


def test_what_differs_behind_another_node_that_is_reported_is_unclear_of_one_that_is_not(runtimes):
    runtime = runtimes["openvino-cpu"]
    proto = model("(float[4] x) => (float[4] y) <float c = {12582912}> { t = Sub(x, c) y = Add(t, c) }")
    finding = mn.check(proto, f"openvino-cpu@{runtime.release}", hint="f32").findings[0]
    assert (finding.location, finding.verdict) == ("graph.node[0]", "different-numbers")
    for verdict, reported, kind in (
        ("ok", "y", UNCLEAR),
        ("ok", "t", DIFFERENT),
        ("different-numbers", "y", DIFFERENT),
    ):
        trial = Trial(runtime, proto, [{"x": X}], "f32", reported=[reported])
        assert trial.truth(replace(finding, verdict=verdict)).kind == kind


def test_what_is_wrong_by_itself_is_different_unless_no_output_shows_it(runtimes):
    five, ten = np.array([5, 200], np.uint8), np.array([10, 3], np.uint8)
    text = "(uint8[2] x, uint8[2] z) => (uint8[2] y) { y = Sub(x, z) }"
    assert happened(runtimes["openvino-cpu"], text, x=five, z=ten) == DIFFERENT
    text = "(uint8[2] x, uint8[2] z) => (uint8[2] y) { d = Sub(x, z) e = Greater(d, d) y = Where(e, d, z) }"
    assert happened(runtimes["openvino-cpu"], text, x=five, z=ten) == MASKED


def test_a_difference_of_constants_stays_a_constant_where_the_model_is_cut(runtimes):
    elements = ", ".join(str(one) for one in np.linspace(-1.7, 1.9, 16))
    stored = f"float a = {{1.3}}, float b = {{0.1}}, float[4, 4] w = {{{elements}}}"
    text = f"""(float[4, 4] x) => (float[4, 4] y) <{stored}> {{
        d = Sub(a, b) k = Div(w, d) m = MatMul(w, k) y = MatMul(x, m)
    }}"""
    x = np.linspace(-3, 5, 16, dtype=np.float32).reshape(4, 4)
    for hint in ("", "f32"):
        assert happened(runtimes["openvino-cpu"], text, hint, x=x) == FINE


def test_a_model_is_refused_for_its_subtraction_or_for_another_node(runtimes):
    small = np.array([1, 2], ml_dtypes.bfloat16)
    text = "(bfloat16[2] x, float[2] z) => (bfloat16[2] y, float[2] w) { y = Sub(x, x) w = Exp(z) }"
    assert happened(runtimes["onnxruntime-cpu"], text, x=small, z=X[:2]) == REFUSED
    text = "(float[2] x, bfloat16[2] z) => (float[2] y, bfloat16[2] w) { y = Sub(x, x) w = Exp(z) }"
    assert happened(runtimes["onnxruntime-cpu"], text, x=X[:2], z=small) == NOT_RUN


def test_a_model_is_refused_for_a_node_that_no_output_needs():
    """OpenCV computes it all the same. So in seed 9701."""
    pytest.importorskip("cv2")
    numbers = np.arange(4, dtype=np.int8)
    with Runtime("opencv-dnn") as runtime:
        for outputs in ("int8[4] y", "int8[4] y, int8[4] z"):
            text = (
                f"(int8[4] x) => ({outputs}) <int8[4] k = {{0, 3, 1, 0}}> {{ n = Neg(k) z = Sub(k, x) y = Sub(x, k) }}"
            )
            assert happened(runtime, text, x=numbers) == NOT_RUN
            assert happened(runtime, text.replace("n = Neg(k) ", ""), x=numbers) == FINE


def test_a_model_that_is_called_invalid_is_run_as_it_is(runtimes):
    text = "(float[2] x) => (float[3] y) <int64[1] s = {3}> { d = Sub(x, x) y = Expand(d, s) }"
    assert happened(runtimes["onnxruntime-cpu"], text, x=X[:2]) == NOT_RUN
    text = "(float[2] x) => (float[2] y) { d = Sub(x, x) y = Relu <alpha = 1> (d) }"
    assert happened(runtimes["onnxruntime-cpu"], text, x=X[:2]) == NOT_RUN
    assert happened(runtimes["openvino-cpu"], text, x=X[:2]) == UNCLEAR


def test_barriers_tell_of_a_body(runtimes):
    text = """(float[4] x, bool on) => (float[4] y) <float c = {12582912}> {
        y = If (on) <
            then_branch = yes () => (float[4] d) { t = Add(x, c) d = Sub(t, c) },
            else_branch = no () => (float[4] e) { e = Identity(x) }
        >
    }"""
    assert happened(runtimes["openvino-cpu"], text, "f32", x=X, on=np.array(True)) == DIFFERENT
    assert happened(runtimes["onnxruntime-cpu"], text, x=X, on=np.array(True)) == FINE


def test_a_graph_of_a_seed_is_always_the_same_and_is_valid():
    for number in range(60):
        drawn = judge_graphs.draw(0, number)
        assert drawn.model == judge_graphs.draw(0, number).model
        onnx.checker.check_model(drawn.model, full_check=True)


def test_random_graphs_are_judged_as_they_run(runtimes):
    tally = Tally()
    for name, count in (("onnxruntime-cpu", 40), ("openvino-cpu", 4)):
        for number in range(count):
            source = np.random.default_rng(number)
            for hint, finding, found in judge_graphs.judge(judge_graphs.draw(0, number), runtimes[name], source):
                tally.add(finding.target, hint, finding.verdict, found.kind)
    assert sum(tally.counts.values()) > 60
    assert tally.false_ok == 0


@pytest.mark.parametrize("operator", ["Add", "Neg"])
def test_graphs_around_another_operator_are_judged_as_they_run(operator, runtimes):
    tally, own = Tally(), BY_ONNX[operator]
    for number in range(25):
        drawn = judge_graphs.draw(3, number, operator)
        onnx.checker.check_model(drawn.model, full_check=True)
        source = np.random.default_rng(number)
        for hint, finding, found in judge_graphs.judge(drawn, runtimes["onnxruntime-cpu"], source, operator=own):
            assert finding.opversion.startswith(f"onnx:{operator}-")
            tally.add(finding.target, hint, finding.verdict, found.kind)
    assert sum(tally.counts.values()) >= 25
    assert (tally.false_ok, tally.total("ok", UNCLEAR)) == (0, 0)


def test_measured_cases_with_a_node_more_are_judged_as_they_run(runtimes):
    tally = Tally()
    for number in range(40):
        drawn = judge_graphs.extended(3, number)
        assert drawn.model == judge_graphs.extended(3, number).model
        source = np.random.default_rng(number)
        for hint, finding, found in judge_graphs.judge(drawn, runtimes["onnxruntime-cpu"], source):
            tally.add(finding.target, hint, finding.verdict, found.kind)
    assert sum(tally.counts.values()) >= 40
    assert tally.false_ok == 0


def test_operators_of_two_to_five_axes_are_judged_as_they_run(runtimes):
    tally, seen = Tally(), set()
    for number in range(60):
        drawn = judge_graphs.of_any_rank(3, number)
        assert drawn.model == judge_graphs.of_any_rank(3, number).model
        seen.add(len(drawn.inputs[0].shape))
        for name in runtimes if number < 20 else ["onnxruntime-cpu"]:
            for hint, finding, found in judge_graphs.judge(drawn, runtimes[name], np.random.default_rng(number)):
                tally.add(finding.target, hint, finding.verdict, found.kind)
    assert seen == {2, 3, 4, 5}
    assert sum(tally.counts.values()) >= 90
    assert tally.false_ok == 0


def test_networks_of_sizes_that_models_have_are_judged_as_they_run(runtimes):
    """openvino sums rows of more than 512 numbers in blocks up to AVX2: no small network showed it."""
    tally = Tally()
    for number in range(4):
        drawn = random_layers.of_layers(2, number, large=True)
        onnx.checker.check_model(drawn.model, full_check=True)
        for hint, finding, found in judge_graphs.judge(drawn, runtimes["openvino-cpu"], np.random.default_rng(number)):
            tally.add(finding.target, hint, finding.verdict, found.kind)
        assert len(judge_graphs.text(drawn.model)) < 50_000
    assert sum(tally.counts.values()) >= 4
    assert tally.false_ok == 0


def test_networks_of_layers_are_judged_as_they_run(runtimes):
    tally, seen = Tally(), set()
    for number in range(60):
        drawn = random_layers.of_layers(3, number)
        assert drawn.model == random_layers.of_layers(3, number).model
        seen |= {node.op_type for node in drawn.model.graph.node}
        quantised = judge_graphs.that_quantises(drawn, np.random.default_rng(number))
        for one in (drawn, quantised):
            onnx.checker.check_model(one.model, full_check=True)
        for name in runtimes if number < 3 else ["onnxruntime-cpu"] if number < 16 else []:
            for hint, finding, found in judge_graphs.judge(drawn, runtimes[name], np.random.default_rng(number)):
                tally.add(finding.target, hint, finding.verdict, found.kind)
    assert {"Sub", "Conv", "MatMul", "Softmax", "BatchNormalization", "QuantizeLinear"} <= seen
    assert sum(tally.counts.values()) >= 20
    assert tally.false_ok == 0


def test_inputs_of_open_shapes_change_no_result(runtimes):
    for number in range(12):
        drawn = judge_graphs.extended(3, number) if number % 2 else judge_graphs.draw(3, number)
        opened = judge_graphs.of_open_inputs(drawn)
        onnx.checker.check_model(opened.model, full_check=True)
        assert any(dim.dim_param for value in opened.model.graph.input for dim in value.type.tensor_type.shape.dim)
        (fed, *_), (again, *_) = (one.sets(np.random.default_rng(0)) for one in (drawn, opened))
        assert [array.tobytes() for array in fed.values()] == [array.tobytes() for array in again.values()]
        results = [mn.run(one.model, given) for one, given in ((drawn, fed), (opened, again))]
        assert [array.tobytes() for array in results[0].values()] == [array.tobytes() for array in results[1].values()]


def test_a_graph_that_quantises_beside_computes_the_same():
    taken = 0
    for number in range(24):
        drawn = judge_graphs.of_any_rank(3, number)
        quantised = judge_graphs.that_quantises(drawn, np.random.default_rng(number))
        onnx.checker.check_model(quantised.model, full_check=True)
        assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in quantised.model.graph.node}
        beside = len(quantised.inputs) > len(drawn.inputs)
        taken += not beside
        if not beside or drawn.inputs[0].dtype != "float32":  # of other types kernels are missing
            continue
        (fed, *_) = quantised.sets(np.random.default_rng(0))
        given = {value.name: fed[value.name] for value in drawn.inputs}
        results = [mn.run(one.model, each) for one, each in ((drawn, given), (quantised, fed))]
        assert all(array.tobytes() == results[1][name].tobytes() for name, array in results[0].items())
    assert 0 < taken < 24


def test_a_sum_and_a_negation_that_saturate_are_seen(runtimes):
    text = "(int8[4] x) => (int8[4] y, int8[4] z) { y = Add(x, x) z = Neg(x) }"
    x = np.array([-128, 127, 1, 0], np.int8)
    for name, kind in (("openvino-cpu", DIFFERENT), ("onnxruntime-cpu", FINE)):
        runtime = runtimes[name]
        findings = mn.check(model(text), f"{name}@{runtime.release}", operators=["add", "negative"]).findings
        trial = Trial(runtime, model(text), [{"x": x}])
        assert [trial.truth(one).kind for one in findings] == [kind, kind]


def test_the_verdicts_on_an_ir_are_at_the_places_of_the_model_that_it_was_saved_of(runtimes):
    source = np.random.default_rng(0)
    found = list(judge_graphs.judge(judge_graphs.draw(2, 84), runtimes["openvino-cpu"], source, ir=True))
    assert {hint for hint, _, _ in found} == {"", "f32"}
    assert all(finding.location.startswith("graph.node[") for _, finding, _ in found)
    assert {finding.dialect for _, finding, _ in found} == {"openvino"}
    assert not [one for _, one, truth in found if one.verdict == "ok" and judge_graphs.is_false(one, truth)]


def options_of(**more) -> argparse.Namespace:
    given = {
        "seed": 0,
        "first": 0,
        "graphs": 1,
        "python": None,
        "isa": "",
        "operator": "subtract",
        "cases": False,
        "open": False,
        "ranks": False,
        "layers": False,
        "large": False,
        "quantised": False,
        "ir": False,
        "save": None,
        "shrink": False,
        "severity": False,
        "limit": 30.0,
    }
    return argparse.Namespace(**{**given, **more})


def test_a_graph_without_a_result_in_time_is_not_judged(monkeypatch, capfd, tmp_path):
    """openvino never ends loading this one; the next one is judged."""
    stored = "double[2] a = {1, 2}, double s = {3}"
    slow = model(f"(double[2] x) => (double[2] y) <{stored}> {{ d = Sub(a, s) e = Sub(d, s) y = Sub(x, e) }}")
    quick = model("(float[4] x) => (float[4] y) { y = Sub(x, x) }")
    graphs = [
        judge_graphs.Drawn(one, [judge_graphs.Value("x", dtype, shape)], True, [], [])
        for one, dtype, shape in ((slow, "float64", (2,)), (quick, "float32", (4,)))
    ]
    monkeypatch.setattr(judge_graphs, "draw", lambda seed, number, operator: graphs[number])
    tally = Tally()
    counts = judge_graphs.run("openvino-cpu", options_of(graphs=2, limit=3.0, save=tmp_path), tally, 600)
    assert (counts.graphs, counts.left_out) == (1, {"no result in 3 s": 1})
    assert {verdict for _, _, verdict, _ in tally.counts} == {"ok"}
    page = judge_graphs.page(tally, {"openvino-cpu": counts})
    assert page.startswith("Random graphs: 1 on openvino-cpu, and 1 not judged: no result in 3 s; with ")
    assert "NOT-JUDGED graph 0 openvino-cpu@" in capfd.readouterr().err
    assert [path.name.partition("-openvino")[0] for path in tmp_path.iterdir()] == ["not-judged-0-0"]


def test_what_is_worse_than_a_finding_promises_is_seen(runtimes, monkeypatch):
    """(x - 30000) * 0.3 of float16 is finite where the difference is infinite; a finding said that it rounds."""
    text = (
        "(float16[64] x) => (float16[64] y) <float16 k = {30547}, float16 s = {13517}> { d = Sub(x, k) y = Mul(d, s) }"
    )
    drawn = random_graphs.Drawn(model(text), [random_graphs.Value("x", "float16", (64,))], True, [30000.0], [])
    source = np.random.default_rng

    def worse():
        return [one.seen for one in judge_graphs.worse(drawn, runtimes["onnxruntime-cpu"], source(0))]

    assert worse() == []
    check = mn.check
    rounding = (Deviation("rounding", 1), Deviation("subnormal"))

    def milder(*given, **options):
        report = check(*given, **options)
        found = [one if one.verdict == "ok" else replace(one, deviations=rounding) for one in report.findings]
        return replace(report, findings=tuple(found))

    monkeypatch.setattr(mn, "check", milder)
    (seen,) = worse()
    assert seen.startswith("['rounding', 'subnormal']; edge, ")
    assert seen.endswith("inf")


def test_a_scale_of_a_random_graph_is_positive():
    """openvino refuses another one, whatever is subtracted."""
    found = 0
    for number in range(600):
        graph = judge_graphs.draw(0, number).model.graph
        made = {node.output[0]: node.op_type for node in graph.node}
        scales = [n.input[1] for n in graph.node if n.op_type in ("QuantizeLinear", "DequantizeLinear")]
        found += len(scales)
        assert all(made.get(name, "") != "Neg" for name in scales)
    assert found


def test_a_wrong_verdict_is_cut_down_to_what_it_needs(runtimes, monkeypatch):
    monkeypatch.setattr(judge_graphs, "is_false", lambda finding, found: found.kind == DIFFERENT)
    text = """(float[4] x) => (float[4] y, float[4] z) <float c = {12582912}> {
        a = Exp(x) t = Add(a, c) d = Sub(t, c) y = Tanh(d) z = Neg(x)
    }"""
    kinds = [judge_graphs.Value(name, "float32", (4,)) for name in ("a", "t", "d")]
    inputs = [judge_graphs.Value("x", "float32", (4,))]
    drawn = judge_graphs.Drawn(model(text), inputs, True, [], kinds)
    verdict = mn.check(drawn.model, "openvino-cpu").findings[0].verdict
    found = judge_graphs.smaller(drawn, runtimes["openvino-cpu"], "f32", verdict)
    assert [node.op_type for node in found.model.graph.node] == ["Add", "Sub", "Tanh"]


def test_models_of_others_are_judged_converted_and_run(runtimes):
    results = judge_corpus.Results()
    for file in model_files.models(MODELS, "models"):
        if file.path.name in ("dequantise.torchscript-13.onnx", "background.torchscript-14.onnx"):
            judge_corpus.judge(file, runtimes, results)
    page = judge_corpus.page(results)
    assert "| models | 2 |" in page, page
    assert re.search(r"^Judged on \d{4}-\d\d-\d\d on .+, by revision .+\.$", page, re.MULTILINE)


def test_a_model_is_held_out_by_its_bytes_alone(tmp_path):
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"{name}.onnx").write_bytes(name.encode())
    files = list(model_files.models(tmp_path, "models"))
    again = model_files.File("another name", tmp_path / "a.onnx")
    assert [one.part for one in files] == ["train", "held out", "train", "held out"]  # ca…, 3e…, 2e…, 18…
    assert again.part == files[0].part


def test_a_list_of_packages_has_requirements_and_what_pip_is_given(tmp_path):
    listed = tmp_path / "list.txt"
    listed.write_text("# models\nsome==1.2\n\nother==3 --python-version=3.8  # older\n")
    assert list(model_files.requirements(listed)) == [("some==1.2", []), ("other==3", ["--python-version=3.8"])]
    known = dict(model_files.requirements(model_files.PACKAGES))
    assert known["onnx==1.8.1"] == ["--python-version=3.8", "--platform=manylinux2010_x86_64"]


def test_a_package_and_a_folder_are_judged_and_each_half_is_counted(tmp_path, monkeypatch, capsys):
    with zipfile.ZipFile(tmp_path / "of_models-1.0-py3-none-any.whl", "w") as wheel:
        wheel.write(MODELS / "background.torchscript-14.onnx", "of_models/one.onnx")
    (tmp_path / "folder").mkdir()
    for name in ("dequantise.torchscript-13.onnx", "background.torchscript-14.onnx"):  # the second one twice
        shutil.copy(MODELS / name, tmp_path / "folder")
    (tmp_path / "list").write_text("of-models==1.0\n")
    given = ["--packages", "list", "--wheels", ".", "--folder", "folder", "--raw", "raw.json"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["judge_corpus.py", *given])
    judge_corpus.main()
    page = capsys.readouterr().out
    parts = [model_files.File("", path).part for path in (tmp_path / "folder").iterdir()]
    assert f"{parts.count('held out')} model files that others wrote" in page
    assert f"## The other half\n\n{parts.count('train')} model files" in page
    assert set(json.loads(Path("raw.json").read_text())) == {"held out", "train"}


def test_counts_tell_false_verdicts_from_true_ones():
    tally = Tally()
    for verdict, kind in (("ok", FINE), ("ok", DIFFERENT), ("ok", REFUSED), ("different-numbers", DIFFERENT),
                          ("different-numbers", FINE), ("unknown", DIFFERENT)):  # fmt: skip
        tally.add("openvino-cpu@1", "f32", verdict, kind)
    assert tally.summary() == "False `ok`: 2. False `different-numbers`: 1."
    assert tally.table().splitlines()[2:] == [
        "| openvino-cpu@1, hint f32 | different-numbers | 1 | 1 |  |  |  |  |",
        "| openvino-cpu@1, hint f32 | ok | 1 | 1 |  |  | 1 |  |",
        "| openvino-cpu@1, hint f32 | unknown |  | 1 |  |  |  |  |",
    ]
    assert truth.TRUTHS[:2] == (FINE, DIFFERENT)


def test_a_subtraction_is_fine_where_only_the_cut_changes_its_operands(runtimes, monkeypatch):
    """openvino joins a product and a sum where the difference is cut off, and not in the whole model.

    It loses the sign of a zero there, which a search would show.
    """
    monkeypatch.setattr(judge_graphs, "_searched", lambda *_: Truth(FINE, ""))
    weights = ", ".join(map(str, np.round(np.random.default_rng(0).standard_normal(64), 2)))
    text = f"""(float[1,8] x0, float[1,8] x1, float[1,8] x2) => (float[1,8] v9, float[1,8] v12, float[1,8] v14)
        <float[1,1] v4 = {{1.7}}, float[8,8] v8 = {{{weights}}}, float[1,1] v10 = {{-0.349}},
         float[1,1] v13 = {{-0.849}}> {{
        v1 = Mul(x0, x1) v2 = Mul(x0, x2) v3 = Sub(v1, v2) v5 = Sub(x2, v4) v6 = Min(v2, v5) v7 = Mul(v3, x1)
        v9 = MatMul(v3, v8) v11 = Add(v7, v10) v12 = Sub(v2, v11) v14 = Add(v6, v13)
    }}"""
    inputs = [judge_graphs.Value(f"x{i}", "float32", (1, 8)) for i in range(3)]
    drawn = judge_graphs.Drawn(model(text), inputs, False, [1.7, -0.349, -0.849], [])
    source = np.random.default_rng([1995062140, 295, 1])
    judged = [
        (finding.location, truth.kind)
        for hint, finding, truth in judge_graphs.judge(drawn, runtimes["openvino-cpu"], source)
        if hint == "f32"
    ]
    assert ("graph.node[8]", FINE) in judged


def test_the_witness_of_a_pattern_has_as_many_numbers_as_the_pattern_has_inputs(runtimes):
    proto = model("(float[4] x) => (float[4] y) { t = Mul(x, x) y = Sub(t, x) }")
    (finding,) = mn.check(proto, "openvino-cpu", hint="f32").findings
    assert finding.witness is not None
    one = replace(finding, witness=replace(finding.witness, operands=(2.0,)))
    drawn = judge_graphs.Drawn(proto, [judge_graphs.Value("x", "float32", (4,))], True, [], [])
    found = judge_graphs._searched(drawn, runtimes["openvino-cpu"], np.random.default_rng(0), "f32", one)
    assert found.kind == DIFFERENT


def test_what_is_wrong_is_counted_by_its_cause():
    said = "wrong: p==1: m.onnx graph.node[{}] on openvino-cpu@2026.4.1{}: different-numbers (a sum; x: 1 is 2); fine: "
    lines = judge_corpus.causes([said.format(1, ""), said.format(2, ", hint f32"), "wrong: p by `run`: other numbers"])
    assert lines[-2:] == [
        "| wrong | openvino-cpu@2026.4.1 | different-numbers | a sum; x | 2 |",
        "| wrong |  |  | other numbers | 1 |",
    ]
    assert judge_corpus.causes([]) == []
