"""Across modules: models that PyTorch exported at opsets 13 to 20 run and convert, with the same results."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import model_corpus as corpus
import numpy as np
import onnx
import pytest
from model_corpus import FOLDER, INDEX

from minuend.onnx.execution.interpreter import Interpreter

pytest.importorskip("onnxruntime")

RUNNABLE = (13, 15, corpus.newest_runnable())
NEWEST = onnx.defs.onnx_opset_version()

on_each_file = pytest.mark.parametrize("file", INDEX)
REFUSED = (
    ("flow_warp.*", (13, 15), "GridSample: opset {0} has no GridSample, which came with opset 16"),
    ("spectrum.*", (13, 15), "STFT: opset {0} has no STFT, which came with opset 17"),
    (
        "edge_convolution.*",
        (13, 15),
        "ScatterElements: ScatterElements-13 has no attribute 'reduction'; the node states 'add'",
    ),
    (
        "background.*",
        (13,),
        "Sub: Sub-13 takes no tensor(uint8) as input 0; `minuend fix --target onnx:13` puts such a Sub between casts",
    ),
)
"""Every conversion that is refused, with its reason. One that is refused and not here fails, and so does one that is
here and succeeds."""

EVALUATOR_LACKS = (
    ("BatchNormalization", 1, 13, "mixes mean and variance of the batch in, as in training"),
    ("GridSample", 16, 19, "does not know the mode 'bilinear', which became 'linear' in 20"),
    ("DequantizeLinear", 1, 18, "has DequantizeLinear from 19 on"),
)
"""What ONNX's own evaluator cannot do, or does wrong: an operator and its opsets, first and last."""

EVALUATOR_FAILS_ON = {
    "contrastive_loss.torchscript-*": "insists on a scalar axis of CumSum; the exporter writes a list of one",
    "spectrum.torchscript-*": "finds no frames in a batch of signals without the last dim of 1",
}

OTHER_KERNELS = (("AveragePool", 19),)
"""Operators that onnxruntime computes by another kernel from an opset on, which rounds otherwise."""


def refusals(file: str, opset: int) -> set[str]:
    """The reasons for which a conversion is listed as refused; upward none is."""
    if INDEX[file]["opset"] <= opset:
        return set()
    return {why.format(opset) for pattern, goals, why in REFUSED if opset in goals and fnmatch(file, pattern)}


CONVERSIONS = [(file, opset) for file in INDEX for opset in sorted({*RUNNABLE, NEWEST})]
on_each_conversion = pytest.mark.parametrize(("file", "opset"), CONVERSIONS)
on_each_converted = pytest.mark.parametrize(("file", "opset"), [c for c in CONVERSIONS if not refusals(*c)])
on_each_runnable = pytest.mark.parametrize(
    ("file", "opset"), [(file, opset) for file, opset in CONVERSIONS if opset in RUNNABLE and not refusals(file, opset)]
)


def operators(model: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in every_node(model)}


def every_node(model):
    stack = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while stack:
        node = stack.pop()
        yield node
        stack += [inner for a in node.attribute for graph in (a.g, *a.graphs) for inner in graph.node]


def stated(values) -> list[tuple[str, str, tuple[int | str, ...]]]:
    return [
        (
            value.name,
            onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type).name,
            tuple(dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim),
        )
        for value in values
    ]


def opset(model: onnx.ModelProto) -> int:
    return next(item.version for item in model.opset_import if item.domain == "")


# ---- the files ------------------------------------------------------------------------------------------------


def test_the_index_lists_every_file_and_no_other():
    assert set(INDEX) == {path.name for path in FOLDER.glob("*.onnx")}


def test_the_corpus_has_30_models_both_exporters_and_every_opset_from_13_to_20():
    assert len({row["module"] for row in INDEX.values()}) >= 30
    assert {row["opset"] for row in INDEX.values()} == set(range(13, 21))
    assert {row["opset"] for row in INDEX.values() if row["exporter"] == "torchscript"} == set(range(13, 21))
    assert {row["opset"] for row in INDEX.values() if row["exporter"] == "dynamo"} == {18, 19, 20}
    families = {row["family"] for row in INDEX.values()}
    assert {"transformer encoder", "transformer decoder", "vision", "state space", "speech"} <= families


def test_the_corpus_subtracts_six_types_of_element_some_in_bodies():
    found, inside = set(), Counter()
    for file in INDEX:
        inferred = onnx.shape_inference.infer_shapes(corpus.load(file))
        values = [*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output]
        types = {value.name: value.type.tensor_type.elem_type for value in values}
        for node in inferred.graph.node:
            if node.op_type == "Sub" and node.output[0] in types:
                found.add(onnx.helper.tensor_dtype_to_np_dtype(types[node.output[0]]).name)
            for attribute in node.attribute:
                inside[node.op_type] += sum(inner.op_type == "Sub" for inner in attribute.g.node)
    assert found == {"float16", "float32", "float64", "int32", "int64", "uint8"}
    assert {name for name, count in inside.items() if count} == {"If", "Loop", "Scan"}


def test_the_corpus_is_small():
    sizes = [path.stat().st_size for path in FOLDER.glob("*.onnx")]
    assert max(sizes) < 64 * 1024
    assert sum(sizes) < 3 * 1024 * 1024


@on_each_file
def test_a_file_is_valid_and_is_what_the_index_says(file):
    model, row = corpus.load(file), INDEX[file]
    onnx.checker.check_model(model, full_check=True)
    assert file == f"{row['module']}.{row['exporter']}-{row['opset']}.onnx"
    assert opset(model) == row["opset"]
    assert model.producer_name == "pytorch"
    assert row["torch"].startswith(model.producer_version)
    assert stated(model.graph.input) == [(i["name"], i["dtype"], tuple(i["shape"])) for i in row["inputs"]]
    assert sum(node.op_type == "Sub" for node in every_node(model)) == row["subs"]


@on_each_file
def test_a_file_tells_nothing_of_the_machine_that_made_it(file):
    data = (FOLDER / file).read_bytes()
    assert re.search(rb"/(work|tmp|root|home|usr|opt)\b|site-packages|\.py\b|Traceback|stack_trace", data) is None
    assert b"pkg.torch" not in data


@on_each_file
def test_onnxruntime_and_this_package_agree_on_a_file(file):
    check_evaluator(file, corpus.load(file))


def check_evaluator(file: str, model: onnx.ModelProto) -> None:
    """The evaluator gives onnxruntime's answer to the file, or stumbles where it is known to."""
    known = [
        why for name, first, last, why in EVALUATOR_LACKS if name in operators(model) and first <= opset(model) <= last
    ] + [why for pattern, why in EVALUATOR_FAILS_ON.items() if fnmatch(file, pattern)]
    try:
        evaluator = Interpreter(model, None, evaluator="reference", refuses=False)
        found = list(evaluator.run(corpus.inputs(file)).values())
    except (RuntimeError, ValueError):
        assert known
        return
    assert corpus.close(corpus.before(file), found) == (not known)


# ---- conversion -----------------------------------------------------------------------------------------------


@on_each_conversion
def test_a_model_converts_or_is_refused_for_the_listed_reason(file, opset):
    assert corpus.convert(file, opset).reasons == refusals(file, opset)


@on_each_converted
def test_a_converted_model_is_valid_and_keeps_its_face(file, opset):
    outcome, old = corpus.convert(file, opset), corpus.load(file)
    assert outcome.model is not None
    new = outcome.model
    onnx.checker.check_model(new, full_check=True)
    onnx.shape_inference.infer_shapes(new, check_type=True, strict_mode=True)
    assert [item.version for item in new.opset_import if item.domain == ""] == [opset]
    assert stated(new.graph.input) == stated(old.graph.input)
    assert stated(new.graph.output) == stated(old.graph.output)
    assert (new.producer_name, new.graph.name) == (old.producer_name, old.graph.name)
    if not outcome.expanded:
        assert sum(node.op_type == "Sub" for node in every_node(new)) == INDEX[file]["subs"]


@on_each_runnable
def test_onnxruntime_gives_the_same_answer_before_and_after(file, opset):
    """Bit for bit where no operator was expanded into its body, else within float rounding."""
    outcome = corpus.convert(file, opset)
    assert outcome.model is not None
    wanted, found = corpus.before(file), corpus.on_onnxruntime(outcome.model, corpus.inputs(file))
    assert corpus.close(wanted, found)
    assert corpus.same_bits(wanted, found) or outcome.expanded or changes_kernel(file, opset)


def changes_kernel(file: str, opset: int) -> bool:
    low, high = sorted((INDEX[file]["opset"], opset))
    return any(low < since <= high and name in operators(corpus.load(file)) for name, since in OTHER_KERNELS)


def test_onnxruntime_rounds_an_average_otherwise_from_opset_19_on():
    text = (
        '<ir_version: 8, opset_import: ["" : {}]> g (float[1,1,9,9] x) => (float[1,1,5,5] y) '
        "{{ y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x) }}"
    )
    x = np.random.default_rng(0).standard_normal((1, 1, 9, 9)).astype(np.float32)
    by_opset = {n: corpus.on_onnxruntime(onnx.parser.parse_model(text.format(n)), {"x": x}) for n in (13, 18, 19, 26)}
    assert corpus.same_bits(by_opset[13], by_opset[18])
    assert not corpus.same_bits(by_opset[18], by_opset[19])
    assert corpus.same_bits(by_opset[19], by_opset[26])


@on_each_runnable
def test_this_package_gives_onnxruntimes_answer_to_a_converted_model(file, opset):
    model = corpus.convert(file, opset).model
    assert model is not None
    check_evaluator(file, model)


@on_each_file
def test_a_model_at_its_own_opset_is_not_changed(file):
    row = INDEX[file]
    outcome = corpus.convert(file, row["opset"])
    assert outcome.changes == (f"nothing: the model is at opset {row['opset']} already",)
    assert outcome.model == corpus.load(file)


@on_each_file
def test_a_model_converted_up_and_back_gives_the_same_answer(file):
    up = corpus.convert(file, RUNNABLE[-1]).model
    assert up is not None
    down, changes, losses = corpus.convert_proto(up, INDEX[file]["opset"])
    assert losses == []
    found = corpus.on_onnxruntime(down, corpus.inputs(file))
    assert corpus.same_bits(corpus.before(file), found), changes


# ---- the page -------------------------------------------------------------------------------------------------


def test_the_documentation_states_what_is_measured_here():
    root = Path(__file__).parents[2]
    text = (root / "docs" / "conversion.md").read_text(encoding="utf-8")
    spec = importlib.util.spec_from_file_location("corpus_report", root / "tools" / "corpus_report.py")
    report = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(report)
    if report.versions() not in text:
        pytest.skip("the page was measured with other versions")
    assert text == report.page()
