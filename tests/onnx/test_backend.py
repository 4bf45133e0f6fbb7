"""ONNX's own backend test-suite, run through :class:`minuend.onnx.Backend`: every case that contains a Sub."""

from __future__ import annotations

import functools
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from minuend import onnx as mo
from minuend.errors import SpecError, Unsupported
from minuend.onnx import operator

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")

TAKES_NO_SUB = {
    # Its Sub stands in the branch of an If that align_corners=0 does not take.
    "test_affine_grid_2d_expanded",
    "test_affine_grid_3d_expanded",
}


def nodes(proto: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    for node in proto.node:
        yield node
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from nodes(body)


def model_of(case) -> onnx.ModelProto:
    if case.model is not None:
        return case.model
    root = Path(onnx.__file__).parent
    path = Path(case.model_dir, "model.onnx") if case.model_dir else root.parent / case.url
    return onnx.load(path, load_external_data=False)


def has_sub(case) -> bool:
    model = model_of(case)
    return any(node.op_type == "Sub" for part in (model.graph, *model.functions) for node in nodes(part))


@functools.cache
def load():
    """The cases with a Sub by name, and ONNX's runner's tests of them. ONNX takes seconds to make them."""
    with warnings.catch_warnings():
        for message in (
            "overflow encountered in cast",
            "invalid value encountered in divide",
            "divide by zero encountered in log",
            "divide by zero encountered in divide",
        ):  # ONNX computes what it expects of infinities while its case modules are imported
            warnings.filterwarnings("ignore", f"^{message}$", RuntimeWarning)
        cases = {case.name: case for kind in KINDS for case in load_model_tests(kind=kind) if has_sub(case)}
        runner = Runner(mo.Backend, __name__)
    for name in cases:
        runner.include(f"^{name}_cpu$")
    return cases, list(runner.test_cases.values())


@pytest.fixture(autouse=True)
def onnx_home(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))
    monkeypatch.setenv("ONNX_MODELS", str(tmp_path))


@pytest.fixture
def computed(monkeypatch):
    """How often this package computed a difference."""
    calls = []
    compute = operator.compute

    def counted(*args):
        calls.append(args[1].name)
        return compute(*args)

    monkeypatch.setattr(operator, "compute", counted)
    return calls


def run_case(name: str) -> None:
    suite = next(suite for suite in load()[1] if hasattr(suite, f"{name}_cpu"))
    suite(f"{name}_cpu").debug()


def test_onnxs_backend_cases(computed):
    of_types = set()
    differences = 0
    for name in load()[0]:
        computed.clear()
        try:
            run_case(name)
        except Exception as error:
            error.add_note(f"in the case {name}")
            raise
        assert bool(computed) is (name not in TAKES_NO_SUB), f"whether a Sub of {name} was computed here"
        differences += len(computed)
        of_types.update(computed)
    assert differences > 300
    assert {"float32", "int64", "uint8", "int8", "uint16", "int16", "uint32", "uint64"} <= of_types


@pytest.mark.skipif(not onnx.__version__.startswith("1.23."), reason="the numbers are those of onnx 1.23")
def test_onnx_1_23_has_173_cases_with_a_sub():
    assert len(load()[0]) == 173


def test_a_wrong_kernel_fails_the_suite(monkeypatch):
    compute = operator.compute
    monkeypatch.setattr(
        operator, "compute", lambda op, element, joined, a, b, out: compute(op, element, joined, b, a, out)
    )
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        run_case("test_sub")


def test_the_backend_is_for_the_cpu_alone():
    assert mo.Backend.supports_device("CPU")
    assert not mo.Backend.supports_device("CUDA")
    assert not mo.Backend.supports_device("CUDA:1")


# ---- the interface itself -------------------------------------------------------------------------------------

X, Y = np.uint8([3, 200]), np.uint8([4, 100])
WRAPPED = [255, 100]


@pytest.fixture
def model() -> onnx.ModelProto:
    return onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 14]> agraph (uint8[2] x, uint8[2] y) => (uint8[2] z) { z = Sub(x, y) }'
    )


def test_a_model_takes_inputs_in_order_or_by_name(model):
    prepared = mo.Backend.prepare(model)
    for inputs in ([X, Y], (X, Y), {"y": Y, "x": X}):
        results = prepared.run(inputs)
        assert type(results) is tuple
        assert [r.tolist() for r in results] == [WRAPPED]
    assert mo.Backend.run_model(model, [X, Y], "CPU")[0].tolist() == WRAPPED


def test_inputs_with_an_initializer_may_be_left_out(model):
    model.graph.initializer.append(onnx.numpy_helper.from_array(Y, "y"))
    prepared = mo.Backend.prepare(model)
    assert prepared.run([X])[0].tolist() == WRAPPED
    assert prepared.run([X, X])[0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([X], "the input 'y' is missing; expected 'x', 'y', at graph"),
        ([X, Y, Y], "3 inputs for a graph that has 2, at graph"),
        ({"x": X, "q": Y}, "there is no input 'q'; expected 'x', 'y', at graph"),
        ([X, np.int16(Y)], "an array of int16 came; expected uint8 (UINT8), at input 'y'"),
        ([X, Y[:1]], "an array of shape (1,) came; expected (2,), at input 'y'"),
        (X, "inputs are a ndarray; expected a list or a dict of arrays, at graph"),
    ],
)
def test_wrong_inputs_are_named(model, inputs, message):
    with pytest.raises(SpecError) as caught:
        mo.Backend.prepare(model).run(inputs)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('6] > g (float[2,3] x, float[2] y) => (float[2,3] z) { z = Add <axis = 0, broadcast = 1> (x, y) }',
         "ONNX's evaluator ignores the axis of Add in opset 6"),
        ('6] > g (bool[2,2] x, bool[2] y) => (bool[2,2] z) { z = Or <axis = 0, broadcast = 1> (x, y) }',
         "ONNX's evaluator ignores the axis of Or in opset 6"),
        ('11] > g (float[2,1,3] x, float[2] y) => (float[2,1,3] z) { z = Softmax (x) }',
         "ONNX's reference evaluator is wrong for this Softmax: before opset 13"),
    ],
)  # fmt: skip
def test_what_onnxs_evaluator_computes_wrongly_is_refused(text, message):
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {text}')
    x, y = ((np.bool_ if "bool" in text else np.float32)(np.ones(n)) for n in ((2, 2) if "Or" in text else (2, 3), 2))
    with pytest.raises(Unsupported, match=message):
        mo.Backend.run_model(model, [x[:, None] if "Softmax" in text else x, y])


def test_texts_are_wanted_where_they_are_declared():
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 14]> g (string[2] x) => (string[2] z) { z = Identity(x) }'
    )
    with pytest.raises(SpecError) as caught:
        mo.Backend.run_model(model, [np.float32([1, 2])])
    assert str(caught.value) == "an array of float32 came; expected object (STRING), at input 'x'"
    for texts in (np.array(["a", "b"]), np.array(["a", "b"], object)):
        assert mo.Backend.run_model(model, [texts])[0].tolist() == ["a", "b"]


def test_inputs_of_another_byte_order_are_those_of_their_numbers(model):
    text = '<ir_version: 10, opset_import: ["" : 14]> g (float[2] x, float[2] y) => (float[2] z) { z = Sub(x, y) }'
    x, y = np.array([3, 1], ">f4"), np.float32([1, 3])
    assert mo.Backend.run_model(onnx.parser.parse_model(text), [x, y])[0].tolist() == [2, -2]


def test_options_and_devices_that_there_are_not_are_refused(model):
    with pytest.raises(TypeError) as caught:
        mo.Backend.prepare(model, threads=3)
    assert str(caught.value) == "minuend's backend has no option 'threads'"
    with pytest.raises(Unsupported) as refused:
        mo.Backend.prepare(model, "CUDA")
    assert str(refused.value) == "minuend runs models on the CPU; no device 'CUDA'"
    mo.Backend.prepare(model, "CPU:0", rtol=1e-3)  # what ONNX's runner hands on


def test_an_invalid_model_does_not_pass_the_checker(model):
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("axis", 1))
    with pytest.raises(onnx.checker.ValidationError, match="Unrecognized attribute: axis for operator Sub"):
        mo.Backend.prepare(model)


def test_a_node_runs_at_the_opset_asked_for():
    node = onnx.helper.make_node("Sub", ["x", "y"], ["z"], axis=0, broadcast=1)
    a, b = np.float32([[1, 2], [3, 4]]), np.float32([1, 2])
    (result,) = mo.Backend.run_node(node, [a, b], opset_version=6, outputs_info=[(np.float32, (2, 2))])
    assert result.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(onnx.checker.ValidationError, match="Unrecognized attribute"):
        mo.Backend.run_node(node, [a, b])


def test_a_node_may_take_one_input_twice_and_other_operators_run_too():
    assert mo.Backend.run_node(onnx.helper.make_node("Sub", ["x", "x"], ["z"]), [X, X])[0].tolist() == [0, 0]
    binarize = onnx.helper.make_node("Binarizer", ["x"], ["z"], domain="ai.onnx.ml", threshold=2.0)
    assert mo.Backend.run_node(binarize, [np.float32([1, 3])])[0].tolist() == [0, 1]


def test_run_node_names_what_does_not_fit():
    node = onnx.helper.make_node("Sub", ["x", "y"], ["z"])
    for inputs in ("xy", X):
        with pytest.raises(SpecError) as caught:
            mo.Backend.run_node(node, inputs)
        assert str(caught.value) == f"inputs are a {type(inputs).__name__}; expected a list of arrays, at node"
    with pytest.raises(SpecError) as caught:
        mo.Backend.run_node(node, [X])
    assert str(caught.value) == "1 inputs for a node that has 2, at node"
    with pytest.raises(SpecError) as caught:
        mo.Backend.run_node(node, [X, Y], outputs_info=[(np.int16, (2,))])
    assert str(caught.value) == "output 0 is uint8 (2,); outputs_info says int16 (2,), at node"
    with pytest.raises(SpecError) as caught:
        mo.Backend.run_node(onnx.helper.make_node("SequenceEmpty", [], ["z"]), [], outputs_info=[(np.int16, (2,))])
    assert str(caught.value) == "output 0 is a list; outputs_info says int16 (2,), at node"
    with pytest.raises(SpecError) as caught:
        mo.Backend.run_node(node, [X, Y], outputs_info=[])
    assert str(caught.value) == "1 outputs; outputs_info says 0, at node"


def test_the_backend_is_onnx_own_interface_and_has_no_other_lazy_names():
    assert issubclass(mo.Backend, onnx.backend.base.Backend)
    with pytest.raises(AttributeError) as caught:
        mo.Frontend  # noqa: B018
    assert str(caught.value) == "module 'minuend.onnx' has no attribute 'Frontend'"


def test_without_onnx_the_backend_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "minuend.onnx.backend")
    monkeypatch.delitem(sys.modules, "minuend.onnx.execution.interpreter")
    monkeypatch.delattr(mo, "backend")
    monkeypatch.delattr(mo, "Backend", raising=False)  # once it is found, it is the attribute
    with pytest.raises(ModuleNotFoundError) as caught:
        mo.Backend  # noqa: B018
    assert str(caught.value) == (
        "minuend.onnx.Backend needs the package onnx; install it with: pip install 'minuend[onnx]'"
    )


def test_importing_minuend_and_asking_for_sub_does_not_import_onnx():
    code = "import sys, minuend; minuend.onnx.sub; assert 'onnx' not in sys.modules; minuend.onnx.Backend"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
