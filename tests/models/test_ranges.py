"""Ranges hold every value that can occur, and leave out no value class that can be reached."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from minuend.core.elements import TYPES
from minuend.models.ranges.interval import (
    DIMS,
    Range,
    add,
    divide,
    full,
    join,
    multiply,
    negate,
    of_array,
    outward,
    subtract,
)
from minuend.onnx.model import read
from minuend.onnx.occurrences import value_ranges
from minuend.operators import SUBTRACT
from minuend.operators.value_classes import classes as value_classes
from minuend.operators.value_classes import reachable
from minuend.runtimes import values

INTS = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8, "int32": TensorProto.INT32, "int64": TensorProto.INT64}
FLOATS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "float64": TensorProto.DOUBLE}
PROTO = {**INTS, **FLOATS, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64, "bool": TensorProto.BOOL}


# ---- value classes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TYPES)
def test_a_class_that_occurs_within_two_ranges_is_reachable(name: str) -> None:
    element = TYPES[name]
    operands = values.of(
        SUBTRACT, element, full=not element.is_integer and element.format is not None and not element.format.signed
    )
    decoded = [values.of_codes.decode(element, int(code)) for code in operands.codes]
    order = value_classes(SUBTRACT, element)
    generator = np.random.default_rng(7)
    for _ in range(60):
        chosen = [generator.choice(len(decoded), size=generator.integers(1, 6), replace=True) for _ in "AB"]
        a, b = (_hull(name, [decoded[k] for k in one]) for one in chosen)
        found = {order[operands.classes[i, j]].name for i in chosen[0] for j in chosen[1]}
        assert found <= set(reachable(SUBTRACT, element, a, b)), (a, b)


def _hull(name: str, chosen: list[Any]) -> Range:
    """The narrowest range that holds some values, worked out anew."""
    if TYPES[name].is_integer:
        return Range(name, min(chosen), max(chosen))
    real = [float(v) for v in chosen if not math.isnan(v)] or [0.0]
    zeros = any(isinstance(v, float) and v == 0 and math.copysign(1, v) < 0 for v in chosen)
    whole = all(math.isinf(v) or v == math.floor(v) for v in real)
    return Range(name, min(real), max(real), any(math.isnan(v) for v in chosen), zeros, whole)


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("uint8", (128, 255), (0, 127), ("in range",)),
        ("uint8", (0, 255), (0, 0), ("in range",)),
        ("uint8", (0, 255), (1, 1), ("wraps", "in range")),
        ("int8", (0, 127), (-128, -128), ("wraps", "in range")),
        ("int8", (-128, -1), (-128, -1), ("lowest subtrahend", "in range")),
        ("int64", (0, 2**31 - 1), (0, 2**31 - 1), ("in range",)),
        ("int64", (0, 2**31), (0, 0), ("beyond int32", "in range")),
        ("uint32", (0, 2**31 - 1), (0, 0), ("in range",)),
    ],
)
def test_integers_reach_a_class_only_where_their_ends_do(
    name: str, a: tuple[int, int], b: tuple[int, int], expected: tuple[str, ...]
) -> None:
    assert reachable(SUBTRACT, TYPES[name], Range(name, *a), Range(name, *b)) == expected


def test_whole_floats_from_integers_neither_round_nor_reach_special_values():
    one = Range("float32", 1.0, 1.0)
    mask = Range("float32", 0.0, 1.0)
    assert reachable(SUBTRACT, TYPES["float32"], one, mask) == ("ordinary",)
    assert reachable(SUBTRACT, TYPES["float64"], Range("float64", 0.0, 2.0**24), Range("float64", 0.0, 0.0)) == (
        "ordinary",
    )
    assert reachable(SUBTRACT, TYPES["float64"], Range("float64", 0.0, 2.0**24 + 1), Range("float64", 0.0, 0.0)) == (
        "beyond float32",
        "ordinary",
    )


def test_a_difference_of_two_coarse_numbers_is_not_subnormal():
    image, mean = Range("float32", 0.0, 255.0), Range("float32", 103.5, 123.7, integral=False)
    assert reachable(SUBTRACT, TYPES["float32"], image, mean) == ("rounds", "ordinary")
    tiny = Range("float32", 2.0**-126, 2.0**-120, integral=False)
    assert "subnormal" in reachable(SUBTRACT, TYPES["float32"], tiny, tiny)


# ---- arithmetic -----------------------------------------------------------------------------------------------

BINARY = {"add": (add, np.add), "subtract": (subtract, np.subtract), "multiply": (multiply, np.multiply)}


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
@pytest.mark.parametrize("operation", [*BINARY, "divide"])
@given(data=st.data())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_float_arithmetic_stays_within_its_range(name: str, operation: str, data: st.DataObject) -> None:
    rule, compute = BINARY.get(operation, (divide, np.divide))
    width = {"float16": 16, "float32": 32, "float64": 64}[name]
    pool = st.floats(width=width) | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0])
    a, b = (np.array(data.draw(st.lists(pool, min_size=1, max_size=4)), name) for _ in "AB")
    found = rule(of_array(a, name), of_array(b, name))
    with np.errstate(all="ignore"):
        for value in compute(a[:, None], b[None, :]).ravel():
            assert found.holds(float(value)), (found, value)


@given(
    st.lists(st.integers(-128, 127), min_size=1, max_size=4), st.lists(st.integers(-128, 127), min_size=1, max_size=4)
)
@settings(max_examples=200, deadline=None)
def test_integer_arithmetic_stays_within_its_range(left: list[int], right: list[int]) -> None:
    a, b = np.array(left, np.int8), np.array(right, np.int8)
    with np.errstate(all="ignore"):
        for rule, compute in BINARY.values():
            found = rule(of_array(a, "int8"), of_array(b, "int8"))
            assert all(found.holds(int(v)) for v in compute(a[:, None], b[None, :]).ravel())
        assert all(negate(of_array(a, "int8")).holds(int(v)) for v in -a)


def test_a_bound_is_rounded_outwards_to_the_next_number_of_the_type():
    assert outward("float16", Fraction(1, 3), Fraction(1, 3)) == (0.333251953125, 0.33349609375)
    assert outward("float16", 70000.0, 70000.0) == (65504.0, math.inf)
    assert outward("float32", Fraction(0), Fraction(1, 10**60)) == (0.0, 2.0**-149)
    assert outward("bfloat16", 1.0, 1.001) == (1.0, 1.0078125)


def test_types_that_differ_join_to_nothing_known():
    assert join([full("int8"), full("uint8")]) == Range(None)


def test_a_mapped_constant_is_read_block_by_block(tmp_path):
    path = tmp_path / "numbers.bin"
    stored = np.memmap(path, np.int16, "w+", shape=(1 << 25,))
    stored[7], stored[-1] = -300, 5000
    stored.flush()
    assert of_array(np.memmap(path, np.int16, "r"), "int16") == Range(
        "int16", -300, 5000, constant=True, why="constant"
    )


# ---- operators ------------------------------------------------------------------------------------------------


def ranges_of(text: str, *names: str) -> list[str]:
    model = read(f'<ir_version: 10, opset_import: ["" : 18]> g {text}')
    found = value_ranges(model, names)
    return [str(found[name]) for name in names]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Cast <to = 6> (x)", "0..255 (uint8 input)"),
        ("y = Relu (f)", "0..inf (Relu)"),
        ("l = Constant <value_int = 3> ()\nh = Constant <value_int = 9> ()\ny = Clip (i, l, h)", "3..9 (Clip)"),
        ("y = Shape (x)", "3..224 (Shape)"),
        ("y = Size (x)", "150528 (Size)"),
        ("y = Shape (s)", "0..1073741823 (Shape)"),
        ("c = Cast <to = 1> (x)\ny = ReduceMean (c)", "0..517.96875 (ReduceMean)"),  # twice as much at most
        ("y = ReduceMean (f)", "-inf..inf (ReduceMean)"),
        ("c = Relu (f)\nd = Neg (c)\ny = Exp (d)", "0..1.015625 (Exp)"),
        ("c = Sigmoid (f)\ny = Exp (c)", "0.984375..2.80423069 (Exp)"),
        ("c = Sigmoid (f)\ny = Log (c)", "-inf..0.0157464407 (Log)"),
        ("k = Constant <value_int = 16> ()\ny = Mod (i, k)", "0..15 (Mod)"),
        ("k = Constant <value_int = 16> ()\ny = Mod <fmod = 1> (i, k)", "-15..15 (Mod)"),
        ("k = Constant <value_int = 255> ()\ny = BitwiseAnd (i, k)", "0..255 (BitwiseAnd)"),
        ("k = Constant <value_int = 7> ()\nc = Greater (i, k)\ny = Cast <to = 7> (c)", "0..1 (bool Greater)"),
        ("k = Constant <value_int = 7> ()\nc = Greater (i, k)\ny = Where (c, k, k)", "7 (constant)"),
        ("y = ArgMax <axis = 0> (x)", "0..2 (ArgMax)"),
        ("y = NonZero (x)", "0..223 (NonZero)"),
        ("c = Cast <to = 7> (x)\na = Constant <value_int = 0> ()\ny = CumSum (c, a)", "0..765 (CumSum)"),
        ("c = Cast <to = 7> (x)\ny = ReduceSum <keepdims = 0> (c)", "0..38384640 (ReduceSum)"),
        (("k = Constant <value_ints = [4, 7]> ()\nc = Cast <to = 7> (x)\nj = Gather <axis = 0> (k, c)\n"
         "y = Identity (j)"), "4..7 (constant)"),
        (("z = Constant <value_int = 0> ()\no = Constant <value_int = 1> ()\nn = Constant <value_int = 50> ()\n"
         "y = Range (z, n, o)"), "0..49 (Range)"),
        ("c = Cast <to = 1> (x)\nk = Constant <value_float = 0.5> ()\ny = Mul (c, k)", "0..127.5 (Mul)"),
        (("t = Constant <value_float = 0.5> ()\nz = Constant <value = uint8 {128}> ()\n"
         "y = DequantizeLinear (x, t, z)"), "-64..63.5 (DequantizeLinear)"),
        (("t = Constant <value_float = 0.5> ()\nz = Constant <value = uint8 {128}> ()\n"
         "y = QuantizeLinear (f, t, z)"), "0..255 (QuantizeLinear)"),
        ("y = Add (i, i)", "-9223372036854775808..9223372036854775807 (Add)"),
    ],
)  # fmt: skip
def test_an_operator_gives_its_range(body: str, expected: str) -> None:
    text = f"(uint8[3,224,224] x, float[4] f, int64[4] i, float[N,M] s) => (y) {{ {body} }}"
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 18]> g {text.replace("(y) {", "(int64[N] y) {")}'
    )
    del model.graph.output[:]
    model.graph.output.add(name="y")
    assert str(value_ranges(read(model), ["y"])["y"]) == expected


def test_unknown_dims_are_taken_so_that_two_fit_int32_and_that_is_said():
    model = read('<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (int64[1] y) { y = Shape (x) }')
    found = value_ranges(model, ["y"])["y"]
    assert (found.lo, found.hi, found.assumptions) == (0, 2**30 - 1, {DIMS})


def test_an_initializer_that_is_an_input_too_may_be_replaced():
    x = helper.make_tensor("k", TensorProto.UINT8, [1], [7])
    inputs = [helper.make_tensor_value_info(name, TensorProto.UINT8, [1]) for name in ("x", "k")]
    y = helper.make_tensor_value_info("y", TensorProto.UINT8, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["k"], ["y"])], "g", inputs, [y], [x])
    for ir_version, expected in ((3, "7 (constant)"), (10, "0..255 (input)")):
        model = helper.make_model(graph, ir_version=ir_version, opset_imports=[helper.make_opsetid("", 13)])
        assert str(value_ranges(read(model), ["y"])["y"]) == expected


# ---- random graphs --------------------------------------------------------------------------------------------

UNARY = ("Identity", "Abs", "Neg", "Relu", "Sign", "Transpose", "ReduceMax", "ReduceMin", "ReduceSum", "CumSum")
FLOATING = ("Floor", "Ceil", "Round", "Sqrt", "Exp", "Sigmoid", "Tanh", "Softmax", "ReduceMean")
PAIRS = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Where", "Mod", "Concat", "BitwiseAnd", "BitwiseOr", "Clip")
COUNTING = ("Shape", "Size", "ArgMax", "NonZero")


@st.composite
def graphs(draw: Any) -> onnx.ModelProto:
    """A model of a few nodes over three inputs of shape (2, 3), all of its values outputs."""
    names = draw(st.lists(st.sampled_from([*INTS, *FLOATS]), min_size=3, max_size=3))
    inputs = [helper.make_tensor_value_info(f"x{i}", PROTO[name], [2, 3]) for i, name in enumerate(names)]
    known = [(f"x{i}", name) for i, name in enumerate(names)]
    nodes, initializers = [], [numpy_helper.from_array(np.int64(0), "axis")]
    for i in range(draw(st.integers(1, 8))):
        (x, kind), y = draw(st.sampled_from(known)), f"y{i}"
        action = draw(st.sampled_from(["cast", "unary", "pair", "constant", "count"]))
        if action == "constant":
            values_ = draw(st.lists(st.integers(0 if kind[0] == "u" else -5, 100), min_size=6, max_size=6))
            initializers.append(numpy_helper.from_array(np.array(values_, kind).reshape(2, 3), y))
        elif action == "cast":
            kind = draw(st.sampled_from([*INTS, *FLOATS]))
            nodes.append(helper.make_node("Cast", [x], [y], to=PROTO[kind]))
        elif action == "count":
            op = draw(st.sampled_from(COUNTING))
            nodes.append(helper.make_node(op, [x], [f"{y}_"]))
            nodes.append(helper.make_node("ReduceMax", [f"{y}_"], [f"{y}__"], keepdims=0))
            initializers.append(numpy_helper.from_array(np.int64([2, 3]), f"{y}_shape"))
            nodes.append(helper.make_node("Expand", [f"{y}__", f"{y}_shape"], [y]))
            kind = "int64"
        elif action == "unary":
            pool = UNARY + (FLOATING if kind in FLOATS else ())
            op = draw(st.sampled_from(pool))
            _unary(op, x, y, kind, nodes, initializers)
        else:
            other = draw(st.sampled_from([name for name, t in known if t == kind]))
            op = draw(st.sampled_from([p for p in PAIRS if not (kind in FLOATS and p[:3] in ("Bit", "Mod"))]))
            _pair(op, x, other, y, kind, nodes, initializers)
        known.append((y, kind))
    made = [(name, kind) for name, kind in known if any(name in node.output for node in nodes)]
    outputs = [helper.make_tensor_value_info(name, PROTO[kind], [2, 3]) for name, kind in made]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18)])


def _unary(op: str, x: str, y: str, kind: str, nodes: list[Any], initializers: list[Any]) -> None:
    if op == "Transpose":
        nodes.append(helper.make_node(op, [x], [f"{y}_"], perm=[1, 0]))
        nodes.append(helper.make_node(op, [f"{y}_"], [y], perm=[1, 0]))
    elif op.startswith("Reduce"):
        initializers.append(numpy_helper.from_array(np.int64([2, 3]), f"{y}_shape"))
        nodes.append(helper.make_node(op, [x], [f"{y}_"], keepdims=0))
        nodes.append(helper.make_node("Expand", [f"{y}_", f"{y}_shape"], [y]))
    else:
        nodes.append(helper.make_node(op, [x, "axis"] if op == "CumSum" else [x], [y]))


def _pair(op: str, x: str, other: str, y: str, kind: str, nodes: list[Any], initializers: list[Any]) -> None:
    if op == "Where":
        nodes.append(helper.make_node("Greater", [x, other], [f"{y}_"]))
        nodes.append(helper.make_node(op, [f"{y}_", x, other], [y]))
    elif op == "Concat":
        initializers.append(numpy_helper.from_array(np.int64([1]), f"{y}_start"))
        initializers.append(numpy_helper.from_array(np.int64([3]), f"{y}_end"))
        initializers.append(numpy_helper.from_array(np.int64([0]), f"{y}_axes"))
        nodes.append(helper.make_node(op, [x, other], [f"{y}_"], axis=0))
        nodes.append(helper.make_node("Slice", [f"{y}_", f"{y}_start", f"{y}_end", f"{y}_axes"], [y]))
    elif op in ("Div", "Mod"):
        initializers.append(numpy_helper.from_array(np.array(3, kind), f"{y}_k"))
        nodes.append(helper.make_node(op, [x, f"{y}_k"], [y]))
    elif op == "Clip":
        initializers.append(numpy_helper.from_array(np.array(2, kind), f"{y}_low"))
        initializers.append(numpy_helper.from_array(np.array(90, kind), f"{y}_high"))
        nodes.append(helper.make_node(op, [x, f"{y}_low", f"{y}_high"], [y]))
    else:
        nodes.append(helper.make_node(op, [x, other], [y]))


@pytest.mark.filterwarnings("ignore")
@given(model=graphs(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_value_of_a_random_graph_lies_in_its_range(model: onnx.ModelProto, seed: int) -> None:
    names = [value.name for value in model.graph.output]
    found = value_ranges(read(model), names)
    generator = np.random.default_rng(seed)
    feeds = {value.name: _random(generator, value) for value in model.graph.input}
    with np.errstate(all="ignore"):
        results = read(model).run(feeds, evaluator="reference")  # it takes Relu of uint8, which no opset has
    for name, array in results.items():
        one = found[name]
        assert one.dtype == array.dtype.name
        assert all(one.holds(v) for v in array.ravel().tolist()), (name, one, array)


def _random(generator: np.random.Generator, value: Any) -> np.ndarray:
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
    bits = generator.integers(0, 256, 6 * dtype.itemsize, np.uint8).view(dtype).reshape(2, 3).copy()
    plain = generator.integers(0, 100, (2, 3)).astype(dtype)
    special = (
        generator.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5], (2, 3)).astype(dtype)
        if dtype.kind == "f"
        else plain
    )
    return generator.choice([bits, plain, special], axis=0)
