"""What runtimes insist on in a model's declarations: each kind is tried on every installed runtime, and judged."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from ir_files import RESULT, WEIGHTS, changed
from onnx import ModelProto, defs, parser

import minuend as mn
from minuend.cli import main
from minuend.core.elements import TYPES
from minuend.models.hazards import AXES_ATTRIBUTE, AXES_INPUT, KEEPDIMS_LEFT_OUT
from minuend.onnx.documents.document import Document
from minuend.onnx.graphs.declared import DECLARED, constant_outputs, operators
from minuend.onnx.graphs.declared import kinds as declared_kinds
from minuend.onnx.graphs.stated_sizes import FIXED, IN_VALUE_INFO, OUTPUT_SIZES, kinds_of_sizes
from minuend.runtimes import registry, targets
from minuend.runtimes.quirks import quirks
from minuend.runtimes.reasons import UnsupportedForm
from minuend.runtimes.running import Refused, Runtime

HEAD = '<ir_version: 8, opset_import: ["" : 13]> '
MODELS = {
    "": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { c = Sub(a, b) }",
    "input without shape": "g (int32[] a, int32[] b) => (int32[2,3] c) { c = Sub(a, b) }",
    "input dim without name": "g (int32[?,3] a, int32[?,3] b) => (int32[2,3] c) { c = Sub(a, b) }",
    "output without shape": "g (int32[2,3] a, int32[2,3] b) => (int32[] c) { c = Sub(a, b) }",
    "output without type": "g (int32[2,3] a, int32[2,3] b) => (c) { c = Sub(a, b) }",
    "output that is an input": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c, int32[2,3] a) { c = Sub(a, b) }",
    "output of constants": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c, int32[2] s) <int32[2] k = {1, 2}> "
    "{ c = Sub(a, b) s = Add(k, k) }",
    "unread input before another": "g (int32[2,3] z, int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { c = Sub(a, b) }",
    "local function": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { c = f.less(a, b) } "
    '<domain: "f", opset_import: ["" : 13]> less (x, y) => (z) { z = Sub(x, y) }',
    "Reshape to known sizes, of open ones": "g (int32[n,3] a, int32[n,3] b) => (int32[3,2] c) <int64[2] s = {3, 2}> "
    "{ d = Sub(a, b) c = Reshape(d, s) }",
    "control flow": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { s = ReduceMax <keepdims = 0> (a) "
    "t = Greater(s, s) c = If(t) <then_branch = yes () => (int32[2,3] d) { d = Sub(a, b) }, "
    "else_branch = no () => (int32[2,3] e) { e = Identity(a) }> }",
    "deprecated operator": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) <int64[1,1] i = {0}, int32[1,1] u = {5}> "
    "{ d = Sub(a, b) c = Scatter(d, i, u) }",
    "dequantised value": "g (int32[2,3] a, int32[2,3] b) => (float[2,3] e) <float s = {0.5}, uint8 z = {7}> { "
    "d = Sub(a, b) f = Cast <to = 1> (d) c = QuantizeLinear(f, s, z) e = DequantizeLinear(c, s, z) }",
    "dequantised below opset 19": "g (int32[2,3] a, int32[2,3] b) => (float[2,3] e) <float s = {0.5}, uint8 z = {7}> { "
    "d = Sub(a, b) f = Cast <to = 1> (d) c = QuantizeLinear(f, s, z) e = DequantizeLinear(c, s, z) }",
    "domain named in a node": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { "
    "d = ai.onnx.Identity(b) c = Sub(a, d) }",
    "domain imported by name alone": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { c = Sub(a, b) }",
    "nodes of one name": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { [n] d = Identity(a) [n] c = Sub(d, b) }",
    "no output": "g (int32[2,3] a, int32[2,3] b) => () { c = Sub(a, b) }",
    "Loop": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) <int64 n = {1}, bool yes = {1}> { c = Loop(n, yes, a) "
    "<body = round (int64 i, bool go, int32[2,3] x) => (bool on, int32[2,3] y) { on = Identity(go) y = Sub(x, b) }> }",
    "Scan": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) { d = Sub(a, b) c = Scan <num_scan_inputs = 1, "
    "body = row (int32[3] x) => (int32[3] y) { y = Identity(x) }> (d) }",
    "value_info of other sizes": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) <int32[2,4] d> "
    "{ d = Sub(a, b) c = Identity(d) }",
    "value_info of other names": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) <int32[n,3] d> "
    "{ d = Sub(a, b) c = Identity(d) }",
    "value_info that inference does not find": "g (int32[2,3] a, int32[2,3] b) => (int32[2,3] c) <int64[2,5] i> "
    "{ c = Sub(a, b) i = NonZero(a) j = Identity(i) }",
    "output of other sizes": "g (int32[2,3] a, int32[2,3] b) => (int32[2,4] c) { c = Sub(a, b) }",
    "open size stated as a number": "g (int32[n,3] a, int32[n,3] b) => (int32[5,3] c) { c = Sub(a, b) }",
}
ALSO = {
    "output without type": {"output without shape"}, "dequantised below opset 19": {"dequantised value"},
    "Loop": {"control flow"}, "Scan": {"control flow"},
}  # fmt: skip
"""Of which kinds a model is besides."""
INSTALLED = [
    name for name, adapter in registry.adapters().items()
    if "onnx" in adapter.DIALECTS and not adapter.ARRAYS and registry.release(adapter) is not None
]  # fmt: skip


def kinds(given: ModelProto) -> frozenset[str]:
    return declared_kinds(given) | kinds_of_sizes(Document(given))


def model(kind: str) -> ModelProto:
    opsets = {
        "local function": '13, "f" : 1]',
        "dequantised value": "19]",
    }  # onnx's own has older ones of few operators
    made = parser.parse_model(HEAD.replace("13]", opsets.get(kind, "13]")) + MODELS[kind])
    if kind == "domain imported by name alone":
        made.opset_import[0].domain = "ai.onnx"
    return made


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_is_of_its_kind(kind: str) -> None:
    also = ALSO.get(kind, set())
    assert kinds(model(kind)) == ({kind} | also if kind else set())


def test_every_kind_has_a_model() -> None:
    assert {*MODELS} - {""} == {*DECLARED, *IN_VALUE_INFO, OUTPUT_SIZES, FIXED}


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("kind", MODELS)
def test_a_runtime_loads_what_it_is_said_to(name: str, kind: str) -> None:
    given = model(kind)
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    feeds = [(one.name, TYPES["int32"], array.view(np.uint32)) for one in given.graph.input]
    with Runtime(name) as runtime:
        found = runtime.query("onnx", given.SerializeToString(), b"", feeds, count=len(given.graph.output))
    strict = quirks(name).strict
    if any(strict[one][0] == "unknown" for one in kinds(given) & strict.keys()):
        return  # some models of this kind are refused
    refused = any(strict[one][0] == "not-implemented" for one in kinds(given) & strict.keys())
    refused = refused or (kind == "local function" and name == "openvino-cpu")
    refused = refused or bool(quirks(name).lacks(operators(given), runtime.release))
    assert isinstance(found, Refused) == refused, found


@pytest.mark.parametrize(
    "name", ["opencv-dnn", "tract", "iree", "tvm", "mnn", "openvino-cpu", "onnxruntime-cpu", "onnxruntime-openvino"]
)
@pytest.mark.parametrize("kind", MODELS)
def test_what_a_runtime_is_not_known_to_load_is_not_ok_there(name: str, kind: str) -> None:
    target = next(one for one in reversed(targets.names(name)))
    (finding,) = mn.check(model(kind), target).findings
    wanted = {quirks(name).strict[one][0] for one in kinds(model(kind)) & quirks(name).strict.keys()}
    if wanted:
        assert finding.verdict in wanted | {"not-implemented"}  # as patterns are that were measured
        assert finding.reason
    if "not-implemented" in wanted:
        assert finding.verdict == "not-implemented"


@pytest.mark.parametrize("kind", ["deprecated operator", "nodes of one name", "no output"])
def test_a_declared_onnxruntime_takes_what_onnxruntime_takes(kind: str) -> None:
    given = model(kind)
    found = {one: mn.check(given, one).findings[0] for one in ("onnxruntime-cpu", "onnxruntime-directml")}
    assert {one.verdict for one in found.values()} == {"not-implemented"}
    assert len({one.reason for one in found.values()}) == 1


REDUCTIONS = sorted({one.name for one in defs.get_all_schemas() if not one.domain and one.name.startswith("Reduce")})


def reduction(operator: str, form: str, kept: str = "keepdims = 1") -> ModelProto:
    """A model that reduces a difference over the last of two axes."""
    node, stored = f"{operator} <{', '.join(filter(None, ('axes = [1]', kept)))}> (d)", ""
    if form == AXES_INPUT:
        node, stored = f"{operator} {f'<{kept}>' if kept else ''} (d, k)", "<int64[1] k = {1}>"
    opset = 13 if form == AXES_ATTRIBUTE or operator == "ReduceSum" else 18
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : {opset}]>
        g (float[2,3] a, float[2,3] b) => (float[2,1] c) {stored} {{ d = Sub(a, b) c = {node} }}"""
    )


@pytest.mark.parametrize("name", INSTALLED)
def test_a_runtime_reduces_over_the_axes_that_are_stated_or_is_said_not_to(name: str) -> None:
    """openvino 2026.4 and MNN reduced over all of them, and the verdicts were ok."""
    some = ("ReduceL1", "ReduceMean") if name in ("iree", "tvm") else REDUCTIONS  # which take a second for each
    with Runtime(name) as runtime:
        strict = quirks(name).strict_of(runtime.release)
        for operator, form, kept in itertools.product(some, (AXES_ATTRIBUTE, AXES_INPUT), ("", "keepdims = 1")):
            if operator == "ReduceSum" and form == AXES_ATTRIBUTE:
                continue
            given = reduction(operator, form, kept)
            own = {operator + form} | (set() if kept else {operator + KEEPDIMS_LEFT_OUT})
            assert kinds(given) == own
            array = np.array([[4, 5, 7], [2, 9, 3]], np.float32)
            feeds = [("a", TYPES["float32"], array.view(np.uint32)), ("b", TYPES["float32"], np.zeros((2, 3), "u4"))]
            (found,) = runtime.query("onnx", given.SerializeToString(), b"", feeds)
            assert not isinstance(found, Refused)
            assert (found.codes.shape == (2, 1)) == own.isdisjoint(strict), (operator, form, kept)


@pytest.mark.parametrize(
    ("target", "form", "wrong"),
    [
        ("openvino-cpu@2026.4.1", AXES_ATTRIBUTE, {"ReduceL1", "ReduceLogSum", "ReduceLogSumExp"}),
        ("openvino-cpu@2026.2.1", AXES_ATTRIBUTE, {"ReduceL1"}),
        ("openvino-cpu@2025.0.0", AXES_ATTRIBUTE, set()),
        ("openvino-cpu@2024.6.0", AXES_INPUT, set()),
        ("openvino-cpu@2024.3.0", AXES_INPUT, {"ReduceL1", "ReduceLogSumExp", "ReduceProd"}),
        ("openvino-cpu@2024.0.0", AXES_INPUT, {*REDUCTIONS} - {"ReduceSum"}),
        ("onnxruntime-openvino", AXES_ATTRIBUTE, {"ReduceL1"}),
        ("mnn", AXES_INPUT, {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}),
    ],
)
def test_reductions_over_other_axes_are_different_numbers(target: str, form: str, wrong: set[str]) -> None:
    found = {one: mn.check(reduction(one, form), target).findings[0] for one in REDUCTIONS}
    severities = {one: found[one].severity for one in wrong}
    assert {one for one, finding in found.items() if "over all axes" in finding.reason} == wrong
    assert severities == dict.fromkeys(wrong, "numbers")


def test_axes_that_mnn_drops_are_different_numbers() -> None:
    (finding,) = mn.check(reduction("ReduceL2", AXES_ATTRIBUTE, ""), "mnn").findings
    assert (finding.verdict, finding.severity) == ("different-numbers", "numbers")
    assert "keepdims" in finding.reason


def test_what_reduces_over_other_axes_is_refused_by_fix_with_what_helps() -> None:
    fixed = mn.fix(reduction("ReduceL1", AXES_ATTRIBUTE), "openvino-cpu@2026.4.1", run=False)
    assert [one.instead for one in fixed.refused] == ["minuend convert MODEL --to onnx:18 -o OUT"]
    converted = mn.convert(reduction("ReduceL1", AXES_ATTRIBUTE), "onnx:18").model
    assert "over all axes" not in mn.check(converted, "openvino-cpu@2026.4.1").findings[0].reason


CONSTANT = {
    "b = Neg(a) c = Shape(a)": {"c"},
    "b = Neg(a) d = Shape(a) c = Identity(d)": {"c"},
    "b = Neg(a) c = Shape(n)": set(),
    "b = Neg(a) d = Neg(n) c = Shape(d)": set(),
    "b = Neg(a) d = Sub(n, v) c = Shape(d)": {"c"},
    "b = Neg(a) d = Expand(a, k) c = Shape(d)": {"c"},
    "b = Neg(a) d = Cast <to = 7> (a) c = Add(d, k)": set(),
    "b = Neg(a) c = If(y) <then_branch = yes () => (int64[1] d) { d = Shape(b) }, "
    "else_branch = no () => (int64[1] e) { e = Identity(k) }>": set(),
}
"""Nodes of a model, and the outputs that are constants in it."""


@pytest.mark.parametrize("nodes", CONSTANT)
def test_outputs_of_constants_and_known_shapes_are_told_from_others(nodes: str) -> None:
    stored = "int64[1] k = {1}, float[3] v = {1, 2, 3}"
    text = f"g (float[1] a, float[N] n, bool y) => (float[1] b, int64[1] c) <{stored}> {{ {nodes} }}"
    assert constant_outputs(parser.parse_model(HEAD + text)) == CONSTANT[nodes]


UNREAD = {
    ("2", "c = Neg(a)"): True,
    ("2", "c = Neg(z)"): False,
    ("2", "d = Identity(z) c = Neg(a)"): True,
    ("2", "d = Identity(z) e = Neg(d) c = Neg(a)"): False,
    ("2", "s = Shape(z) c = Expand(a, s)"): True,
    ("N", "s = Shape(z) c = Expand(a, s)"): False,
    ("2", ("c = If(y) <then_branch = yes () => (float d) { d = Neg(a) }, else_branch = no () => (float e) "
    "{ e = Identity(z) }>")): False,
}  # fmt: skip
"""The size of an input z and a model's nodes, and whether no node reads z, but an input after it."""


@pytest.mark.parametrize(("size", "nodes"), UNREAD)
def test_an_input_that_nothing_reads_before_another_is_told(size: str, nodes: str) -> None:
    text = f"g (float[{size}] z, float[2] a, bool y) => (float[2] c) {{ {nodes} }}"
    found = kinds(parser.parse_model(HEAD + text))
    assert ("unread input before another" in found) == UNREAD[size, nodes]


DEQUANTISED = {
    ("2,3", "c = QuantizeLinear(x, s, z) y = DequantizeLinear(c, s, z)"): True,
    ("2,3", "c = QuantizeLinear(x, s, z) e = DequantizeLinear(c, s, z) f = Relu(e) y = Neg(f)"): True,
    ("2,3", "e = DequantizeLinear(k, s, z) y = Sub(x, e)"): False,
    ("2,3", "c = QuantizeLinear(x, s, z) e = DequantizeLinear(c, s, z) y = Sub(e, x)"): False,
    ("2,3", "c = QuantizeLinear(x, s, z) e = DequantizeLinear(c, s, z) f = Sub(e, x) y = Relu(f)"): False,
    ("2,3", "e = DequantizeLinear(q, s, z) y = Sub(x, e)"): True,
    ("2,3", "i = Identity(q) e = DequantizeLinear(i, s, z) y = Sub(x, e)"): True,
    ("n,3", "e = DequantizeLinear(q, s, z) y = Sub(x, e)"): True,
}
"""Dims of the inputs and the nodes of a model, and whether MNN is not known to load it."""


@pytest.mark.parametrize(("dims", "nodes"), DEQUANTISED)
def test_what_was_quantised_before_is_taken_where_an_operator_of_two_operands_reads_it(dims: str, nodes: str) -> None:
    stored = "float s = {0.5}, uint8 z = {7}, uint8[2,3] k = {1, 2, 3, 4, 5, 6}"
    given = parser.parse_model(HEAD + f"g (float[2,3] x, uint8[{dims}] q) => (float[2,3] y) <{stored}> {{ {nodes} }}")
    assert ("dequantised value" in kinds(given)) == DEQUANTISED[dims, nodes]


OPEN = {
    ("n,m", "n,m"): "",
    ("n,3", "n,3"): "",
    ("n,m", "m"): "",
    ("n,m", "n,1"): "",
    ("n,m", "k,l"): "sizes that may differ",
    ("n,m", "n,l"): "sizes that may differ",
    ("n,m", "n,3"): "sizes that may differ",
    ("2,3", "n,3"): "sizes that may differ",
    ("n,m", "3"): "sizes that may differ",
}
"""Dims of A and of B, and the kind of a node with both."""


def open_model(dims: tuple[str, str]) -> ModelProto:
    return parser.parse_model(
        HEAD + f"g (int32[{dims[0]}] a, int32[{dims[1]}] b) => (int32[n,m] c) {{ c = Sub(a, b) }}"
    )


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("dims", OPEN)
def test_open_dims_of_other_names_are_refused_where_that_is_said(name: str, dims: tuple[str, str]) -> None:
    given = open_model(dims)
    sizes = {"n": 2, "m": 3, "k": 2, "l": 3, "3": 3, "2": 2, "1": 1}
    feeds = []
    for one, text in zip(given.graph.input, dims, strict=True):
        array = np.ones([sizes[dim] for dim in text.split(",")], np.int32)
        feeds.append((one.name, TYPES["int32"], array.view(np.uint32)))
    with Runtime(name) as runtime:
        found = runtime.query("onnx", given.SerializeToString(), b"", feeds)
    assert isinstance(found, Refused) == (OPEN[dims] in quirks(name).strict), found


@pytest.mark.parametrize("dims", OPEN)
def test_a_runtime_that_refuses_open_dims_of_other_names_is_not_ok(dims: tuple[str, str]) -> None:
    (finding,) = mn.check(open_model(dims), targets.names("tvm")[-1]).findings
    assert finding.verdict == ("not-implemented" if OPEN[dims] else "ok")


def test_open_dims_that_inference_finds_are_unknown_where_others_are_refused() -> None:
    text = "g (int32[n,3] a, int32[k,3] b) => (int32[m,3] c) { d = Concat <axis = 0> (a, b) c = Sub(d, b) }"
    (finding,) = mn.check(parser.parse_model(HEAD + text), targets.names("tvm")[-1]).findings
    assert finding.verdict == "unknown"
    assert "TVM refuses open dims that it does not find to be equal" in finding.reason


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ('data shape="2,3" element_type="f32"', 'data shape="..." element_type="f32"', "input without shape"),
        ('data shape="2,3" element_type="f32"', 'data shape="2,3"', "input without type"),
        (
            RESULT,
            (
                f'<layer id="4" name="unread" type="Parameter" version="opset1"><data shape="..." element_type="f32"/>'
                f'<output><port id="0" precision="FP32"/></output></layer>{RESULT}'
            ),
            "input without shape",
        ),
    ],
)
def test_an_ir_whose_inputs_lack_a_rank_or_a_type_does_not_run_on_openvino(
    old: str, new: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.xml"
    path.with_suffix(".bin").write_bytes(WEIGHTS)
    path.write_bytes(changed(old, new))
    (finding,) = mn.check(path, "openvino-cpu").findings
    assert (finding.verdict, finding.reasons) == (
        "not-implemented",
        (UnsupportedForm(kind, quirks("openvino-cpu").strict[kind][1]),),
    )
    if registry.release(registry.adapters()["openvino-cpu"]) is not None:
        with Runtime("openvino-cpu") as runtime:
            feed = ("a", TYPES["float32"], np.zeros((2, 3), np.uint32))
            assert isinstance(runtime.query("openvino", path.read_bytes(), WEIGHTS, [feed]), Refused)


@pytest.mark.parametrize(("kind", "name"), [("Loop", "tract"), ("Scan", "tvm"), ("input without shape", "tract")])
def test_what_no_rewrite_makes_readable_is_refused_and_check_offers_none(
    kind: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(kind).SerializeToString())
    fixed = mn.fix(path, name, run=False)
    assert [one.instead for one in fixed.refused] == [f"run the model on another runtime than {fixed.target}"]
    assert main(["check", str(path), "--target", name]) == 1
    assert "minuend fix" not in capfd.readouterr().out


@pytest.mark.parametrize("kind", sorted(IN_VALUE_INFO))
def test_fix_leaves_value_info_out_that_tract_refuses(kind: str, tmp_path: Path) -> None:
    given = model(kind)
    fixed = mn.fix(given, "tract", run=False)
    assert fixed.changes == (f"value_info of 1 value is left out: {fixed.target} insists on it",)
    assert not fixed.model.graph.value_info
    assert mn.check(fixed.model, "tract").ok
    assert given == model(kind)


# ---- versions and sizes ---------------------------------------------------------------------------------------------

BEYOND = 50
"""An opset and an IR version that nobody knows: what loads it looks at neither."""


def runs(runtime: Runtime, text: str) -> bool:
    given = parser.parse_model(text)
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    feeds = [(one.name, TYPES["float32"], array.view(np.uint32)) for one in given.graph.input]
    return not isinstance(runtime.query("onnx", given.SerializeToString(), b"", feeds, count=1), Refused)


@pytest.mark.parametrize("name", INSTALLED)
def test_a_runtime_loads_the_versions_that_it_is_said_to_and_no_newer_ones(name: str) -> None:
    body = "g (float[2,3] a, float[2,3] b) => (float[2,3] c) { c = Sub(a, b) }"
    with Runtime(name) as runtime:
        known = quirks(name).loads(runtime.release)
        if known is None:
            pytest.skip(f"{name} {runtime.release} was not queried")
        for kind, newest, partner in zip(("opset", "ir"), known, (8, 13), strict=True):
            for number, loads in ((newest or BEYOND, True), ((newest or BEYOND - 1) + 1, newest is None)):
                opset, ir_version = (number, partner) if kind == "opset" else (partner, number)
                text = f'<ir_version: {ir_version}, opset_import: ["" : {opset}]> {body}'
                assert runs(runtime, text) == loads, (kind, number)


SIZES = (
    ("[n,m]", "[n,m]", "[n,m]"),
    ("[n,3]", "[n,3]", "[n,3]"),
    ("[n,m]", "[n,m]", "[2,3]"),
    ("[2,3]", "[2,3]", "[?,?]"),
    ("[n,m]", "[k,l]", "[o,p]"),
)
"""Dims of the operands and of the result."""


@pytest.mark.parametrize("name", INSTALLED)
def test_sizes_that_are_known_when_it_runs_are_taken(name: str) -> None:
    """TVM does not join dims of two names, and is not judged on open shapes."""
    with Runtime(name) as runtime:
        for a, b, c in SIZES:
            text = f"{HEAD}g (float{a} a, float{b} b) => (float{c} c) {{ c = Sub(a, b) }}"
            assert runs(runtime, text) == (name != "tvm" or a == b), (a, b, c)
