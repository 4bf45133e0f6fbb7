"""``walk`` and ``subtractions``: every scope, every Sub, with the opset and the types in force there."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from minuend.errors import DTypeError, SpecError, Unsupported
from minuend.onnx.graphs import walk
from minuend.onnx.model import read
from minuend.standards.node import TensorType

TEXT = """
<ir_version: 10, opset_import: ["" : 13, "my" : 1]>
g (float[N,3] a, float[3] b, bool p) => (x, sum) {
  x = If (p) <
    then_branch = yes () => (y) { [inner] y = Sub(a, b) },
    else_branch = no () => (z) { z = my.F <k = 1> (a, b) }>
  n = Constant <value = int64 {3}> ()
  sum = Loop (n, p, a) <body = step (int64 i, bool on, float[N,3] s) => (bool still, next) {
    still = Identity(on)
    next = If (on) <then_branch = t () => (u) { u = Sub(s, b) }, else_branch = e () => (v) { v = Identity(s) }>
  }>
}
<domain: "my", opset_import: ["" : 6]>
F <k> (l, r) => (d) { d = Sub <axis: int = @k, broadcast = 1> (l, r) }
"""


def test_every_scope_comes_with_its_place_and_its_opset():
    scopes = list(walk.walk(read(TEXT)))
    assert [(scope.where, scope.opset, isinstance(scope.proto, onnx.FunctionProto)) for scope in scopes] == [
        ("graph", 13, False),
        ("graph.node[0].then_branch", 13, False),
        ("graph.node[0].else_branch", 13, False),
        ("graph.node[2].body", 13, False),
        ("graph.node[2].body.node[1].then_branch", 13, False),
        ("graph.node[2].body.node[1].else_branch", 13, False),
        ("function 'F'", 6, True),
    ]
    assert scopes[1].place(0) == "graph.node[0].then_branch.node[0] 'inner'"
    assert scopes[4].parent is scopes[3]
    assert scopes[6].parent is None
    assert scopes[0].opsets == {"": 13, "my": 1}


def test_types_are_inferred_in_bodies_and_functions_and_include_those_around():
    scopes = {scope.where: scope for scope in walk.walk(read(TEXT))}
    assert scopes["graph.node[0].then_branch"].types["y"] == TensorType("float32", ("N", 3))
    assert scopes["graph.node[0].then_branch"].types["b"] == TensorType("float32", (3,))
    assert scopes["graph.node[2].body.node[1].then_branch"].types["u"] == TensorType("float32", ("N", 3))
    assert scopes["function 'F'"].types["d"] == TensorType("float32", ("N", 3))
    assert "p" not in scopes["graph"].types
    assert scopes["graph"].protos["p"].tensor_type.elem_type == onnx.TensorProto.BOOL


def test_the_protos_are_live():
    model = read(TEXT)
    for scope in walk.walk(model):
        for node in scope.nodes:
            node.doc_string = "seen"
    assert str(model.proto).count('doc_string: "seen"') == 10


def test_every_sub_comes_as_a_node():
    nodes = list(read(TEXT).subtractions())
    assert [(str(n.op), n.where, n.name, str(n.a), str(n.b), dict(n.attributes)) for n in nodes] == [
        ("Sub-13", "graph.node[0].then_branch.node[0] 'inner'", "inner", "float32 (N, 3)", "float32 (3,)", {}),
        ("Sub-13", "graph.node[2].body.node[1].then_branch.node[0]", "", "float32 (N, 3)", "float32 (3,)", {}),
        ("Sub-6", "function 'F'.node[0]", "", "float32 (N, 3)", "float32 (3,)", {"axis": 1, "broadcast": 1}),
    ]


@pytest.mark.parametrize("opset", [1, 5, 6])
def test_a_limited_sub_has_a_s_shape_through_a_chain(opset):
    text = f"""<ir_version: 3, opset_import: ["" : {opset}]> g (float[2,N,4] a, float[N] b) => (d) {{
      c = Sub <axis = 1, broadcast = 1> (a, b)
      d = Sub <broadcast = 1, axis = 1> (c, b)
    }}"""
    (scope,) = walk.walk(read(text))
    assert scope.types["c"] == scope.types["d"] == TensorType("float32", (2, "N", 4))


def test_a_function_s_types_are_what_its_calls_agree_on():
    text = """<ir_version: 10, opset_import: ["" : 14, "my" : 1]>
    g (float[2,3] a, float[2,5] b, float[N] v, float[M] w, int8[2] i) => (c, d, e, h) {
      c = my.F(a, v)  d = my.F(b, w)  e = my.G(a)  h = my.G(i)
    }
    <domain: "my", opset_import: ["" : 14]> F (x, y) => (z) { z = Identity(x) k = Identity(y) }
    <domain: "my", opset_import: ["" : 14]> G (x) => (z) { z = Identity(x) }
    <domain: "my", opset_import: ["" : 14]> Unused (x) => (z) { z = Sub(x, x) }"""
    scopes = {scope.where: scope for scope in walk.walk(read(text))}
    assert scopes["function 'F'"].types == {
        "x": TensorType("float32", (2, None)),
        "z": TensorType("float32", (2, "F__unk__0")),
        "y": TensorType("float32", (None,)),
        "k": TensorType("float32", ("F__unk__1",)),
    }
    assert scopes["function 'G'"].types == {}
    assert scopes["function 'Unused'"].types == {}


def test_a_sub_whose_callers_differ_comes_once_for_each_way():
    text = """<ir_version: 10, opset_import: ["" : 14, "my" : 1]>
    g (float[3,3] a, float[3] b) => (c, d, e, f) {
      c = my.F <k = 0> (a, b)  d = my.F <k = 1> (a, b)  e = my.F <k = 0> (a, b)  f = my.F (a, b)
    }
    <domain: "my", opset_import: ["" : 14, "my" : 1]> F <k: int = 1> (x, y) => (z) { z = my.H <k: int = @k> (x, y) }
    <domain: "my", opset_import: ["" : 6]> H <k> (x, y) => (z) { z = Sub <axis: int = @k, broadcast = 1> (x, y) }"""
    found = [dict(node.attributes) for node in read(text).subtractions()]
    assert found == [{"axis": 0, "broadcast": 1}, {"axis": 1, "broadcast": 1}]


def test_a_sub_with_one_known_operand_has_its_type_for_both():
    text = """<ir_version: 10, opset_import: ["" : 14, "com" : 1]> g (float[2] a) => (c) {
      x = com.Strange(a)  c = Sub(x, a) }"""
    (node,) = read(text).subtractions()
    assert (str(node.a), str(node.b)) == ("float32 (...)", "float32 (2,)")


def test_a_sub_without_known_or_possible_types_is_told():
    head = '<ir_version: 10, opset_import: ["" : 14, "com" : 1]>'
    with pytest.raises(Unsupported) as unknown:
        list(read(head + " g (float[2] a) => (c) { x = com.Strange(a)  [odd] c = Sub(x, x) }").subtractions())
    assert str(unknown.value) == (
        "the element type of 'x' and 'x' cannot be inferred; state one of them in value_info, at graph.node[1] 'odd'"
    )
    with pytest.raises(DTypeError) as bad:
        list(read(head + " g (bool[2] a) => (bool[2] c) { c = Sub(a, a) }").subtractions())
    assert str(bad.value) == "Sub-14 takes no tensor(bool) ('a'), at graph.node[0]"
    with pytest.raises(DTypeError) as sequence:
        list(read(head + " g (seq(float[2]) a) => (c) { c = Sub(a, a) }").subtractions())
    assert str(sequence.value) == "Sub-14 takes no sequence ('a'), at graph.node[0]"
    with pytest.raises(SpecError) as many:
        list(read(head + " g (float[2] a) => (c) { c = Sub(a, a, a) }").subtractions())
    assert str(many.value) == "Sub-14 takes 2 inputs and has 1 output; the node has 3 and 1, at graph.node[0]"


def test_large_data_does_not_go_through_inference_and_small_shapes_do():
    proto = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 14]> g (float[6] a) => (c) { r = Reshape(a, s) c = Sub(r, w) }'
    )
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.int64([2, 3]), "s"))
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((4000, 2, 3), np.float32), "w"))
    (node,) = read(proto).subtractions()
    assert (str(node.a), str(node.b)) == ("float32 (2, 3)", "float32 (4000, 2, 3)")
    (found,) = walk.subtractions(proto)
    assert found.proto is proto.graph.node[1]


@pytest.mark.parametrize("declared", ["double[2] y", "bool[2] y"])
def test_a_result_that_is_declared_of_another_type_breaks_the_version(declared: str) -> None:
    text = f'<ir_version: 8, opset_import: ["" : 14]> g (float[2] a, float[2] b) => ({declared}) {{ y = Sub(a, b) }}'
    (found,) = walk.subtractions(read(text))
    with pytest.raises(DTypeError) as caught:
        found.node()
    kind = declared.partition("[")[0]
    assert str(caught.value) == (
        f"Sub-14 of tensor(float) gives tensor(float); 'y' is declared tensor({kind}), at graph.node[0]"
    )
