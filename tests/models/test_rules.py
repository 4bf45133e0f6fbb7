"""Each rule of a range against real runs: every number of every value lies in the range that is stated for it."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx

from minuend.models.ranges.demands import DEMANDS, VALID
from minuend.models.ranges.interval import DIMS, MOST_DIM
from minuend.onnx.model import read
from minuend.onnx.occurrences import value_ranges
from minuend.runtimes.running import Refused, Runtime

WORDS = {"bool": "bool", "float32": "float", "float16": "float16", "float64": "double", "int64": "int64",
         "int32": "int32", "int8": "int8", "uint8": "uint8", "uint32": "uint32", "uint64": "uint64"}  # fmt: skip
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 65504.0, 3e38, 1e-45]


@dataclass(frozen=True)
class Made:
    """A small model around an operator.

    Attributes:
        body: its nodes; ``x``, ``z`` are operands of the type ``T``, bounded by constants, ``i`` and ``m`` whole
            numbers and a mask, ``w`` is an input of three unknown dims. values: those that are looked at.
        dtypes: the types that ``T`` stands for. domain: what numbers ``x`` and ``z`` are taken from.
    """

    body: str
    values: tuple[str, ...] = ("y",)
    dtypes: tuple[str, ...] = ("int64", "int32")
    domain: tuple[int, int] = (-9, 9)


FLOATS = ("float32", "float64", "float16")
UNSIGNED = ("uint8", "uint32", "uint64")
NUMBERS = ("int64", "int32", "float32")
FAR = "f = Constant <value = T {100}> ()\nq = Constant <value = T {-100}> ()\nk = Constant <value = T {3}> ()\n"
AXIS = "a1 = Constant <value = int64[1] {1}> ()\n"
CASES: Mapping[str, Made] = {
    "CumSum": Made("a = Constant <value_int = 1> ()\ny = CumSum (x, a)", dtypes=("int64", "int32", "float32")),
    "CumSum of a mask": Made(
        "a = Constant <value_int = 1> ()\nc = Cast <to = 7> (m)\ny = CumSum <exclusive = 1, reverse = 1> (c, a)"
    ),
    "ReduceSum": Made(AXIS + "y = ReduceSum <keepdims = 0> (x, a1)", dtypes=("int64", "int32", *FLOATS)),
    "ReduceSum of all": Made("y = ReduceSum <keepdims = 0> (x)"),
    "ReduceSum of nothing": Made("y = ReduceSum <noop_with_empty_axes = 1> (x)"),
    "ReduceL1": Made(AXIS + "y = ReduceL1 (x, a1)", dtypes=("int64", "int32", "float32")),
    "ReduceProd": Made("s = Shape (w)\ny = ReduceProd <keepdims = 0> (s)"),
    "ReduceProd of bounded": Made("k = Shape (x)\nl = Add (k, k)\ny = ReduceProd (l)"),
    "ReduceMax": Made(AXIS + "y = ReduceMax (x, a1)", dtypes=("int64", "float32")),
    "ReduceMin": Made(AXIS + "y = ReduceMin (x, a1)", dtypes=("int64", "float32")),
    "ReduceMean": Made(
        AXIS + "y = ReduceMean (x, a1)\nv = ReduceMean (x)", ("y", "v"), ("int32", "float32", "float64")
    ),
    "ReduceMean of what is not below 0": Made("c = Abs (x)\ny = ReduceMean (c)\nv = Sub (c, y)", ("y", "v"), FLOATS),
    "Exp": Made("y = Exp (x)\nj = Neg (x)\nv = Exp (j)\nc = Abs (j)\nd = Neg (c)\nu = Exp (d)",
                ("y", "v", "u"), FLOATS),
    "Log": Made("y = Log (x)\nk = Constant <value = T {2}> ()\nc = Max (x, k)\nv = Log (c)\nd = Exp (x)\nu = Log (d)",
                ("y", "v", "u"), FLOATS),
    "Sqrt": Made("y = Sqrt (x)\nk = Constant <value = T {2}> ()\nc = Max (x, k)\nv = Sqrt (c)", ("y", "v"), FLOATS),
    "NonZero": Made("y = NonZero (x)"),
    "ArgMax": Made("y = ArgMax <axis = -1> (x)", dtypes=("float32", "int32")),
    "ArgMin": Made("y = ArgMin <axis = 0> (w)", dtypes=("float32",)),
    "Size": Made("y = Size (w)\nv = Size (x)", ("y", "v")),
    "Shape": Made("y = Shape (w)"),
    "Unique": Made("y, v, u, t = Unique (x)", ("y", "v", "u", "t"), ("int64", "float32")),
    "TopK": Made("k = Constant <value_ints = [2]> ()\ny, v = TopK (x, k)", ("y", "v"), ("float32", "int64")),
    "Range": Made(
        "s = Size (w)\no = Constant <value_int = 3> ()\nf = Constant <value_int = -4> ()\ny = Range (f, s, o)"
    ),
    "Range downwards": Made(
        "s = Size (w)\no = Constant <value_int = -3> ()\nf = Constant <value_int = -4> ()\ny = Range (s, f, o)"
    ),
    "Mod": Made("k = Constant <value = T {5}> ()\ny = Mod (x, k)\nj = Neg (k)\nv = Mod (x, j)", ("y", "v")),
    "Mod of C": Made("y = Mod <fmod = 1> (x, z)", dtypes=FLOATS),
    "Pow": Made("k = Constant <value = T {2}> ()\ny = Pow (x, k)", dtypes=("int64", "int32", "float32", "float64")),
    "Pow of roots": Made("p = Abs (x)\nk = Constant <value = T {0.5}> ()\ny = Pow (p, k)", dtypes=("float32",)),
    "BitShift": Made(
        'k = Constant <value = T {3}> ()\ny = BitShift <direction = "RIGHT"> (x, k)\n'
        'v = BitShift <direction = "LEFT"> (x, k)', ("y", "v"), UNSIGNED, (0, 90)
    ),
    "BitwiseAnd": Made("y = BitwiseAnd (x, z)", dtypes=("int64", "uint8"), domain=(0, 120)),
    "BitwiseXor": Made("y = BitwiseXor (x, z)\nv = BitwiseOr (x, z)", ("y", "v"), ("int64",)),
    "Sigmoid": Made("y = Sigmoid (x)\nv = HardSigmoid (x)", ("y", "v"), FLOATS[:1]),
    "Tanh": Made("y = Tanh (x)\nv = Erf (x)\nu = Softsign (x)\nt = Softplus (x)", ("y", "v", "u", "t"), FLOATS[:1]),
    "Sin": Made("y = Sin (x)\nv = Cos (x)", ("y", "v"), FLOATS[:1]),
    "Softmax": Made("y = Softmax (x)\nv = Hardmax (x)", ("y", "v"), FLOATS[:1]),
    "Sign": Made("y = Sign (x)\nv = Abs (x)", ("y", "v"), ("int64", "float32")),
    "Relu": Made("y = Relu (x)", dtypes=FLOATS),
    "OneHot": Made("d = Constant <value_int = 4> ()\nv = Constant <value_ints = [-3, 6]> ()\ny = OneHot (x, d, v)",
                   dtypes=("int64",)),
    "Trilu": Made("y = Trilu (x)\nv = Concat <axis = 0> (x, z)", ("y", "v")),
    "Cast": Made("y = Cast <to = 2> (x)\nv = Cast <to = 3> (x)\nu = Cast <to = 10> (x)", ("y", "v", "u")),
    "Equal to Cast": Made(
        "c = Equal (x, z)\ny = Cast <to = 7> (c)\nd = Less (x, z)\nv = Cast <to = 1> (d)", ("y", "v")
    ),
    "Where below": Made(
        FAR + "c = Less (x, k)\ny = Where (c, x, f)\nv = Where (c, f, x)\nd = Less (k, x)\nu = Where (d, f, x)\n"
        "r = Where (c, x, q)\np = Where (d, q, x)",
        ("y", "v", "u", "r", "p"), NUMBERS
    ),
    "Where at or below": Made(
        FAR + "c = LessOrEqual (x, k)\ny = Where (c, x, f)\nv = Where (c, f, x)\nd = LessOrEqual (k, x)\n"
        "u = Where (d, x, f)\nr = Where (c, x, q)\np = Where (d, q, x)", ("y", "v", "u", "r", "p"), NUMBERS
    ),
    "Where above": Made(
        FAR + "c = Greater (x, k)\ny = Where (c, x, f)\nv = Where (c, f, x)\nd = GreaterOrEqual (x, k)\n"
        "u = Where (d, x, f)\nt = Where (d, f, x)", ("y", "v", "u", "t"), NUMBERS
    ),
    "Where equal": Made(
        FAR + "c = Equal (x, k)\ny = Where (c, x, f)\nv = Where (c, f, x)\nr = Where (c, x, q)", ("y", "v", "r"),
        NUMBERS
    ),
    "Where it is no number": Made(
        FAR + "n = Add (z, k)\nc = Less (x, n)\ny = Where (c, f, x)\nv = Where (c, x, f)\nd = Not (c)\n"
        "u = Where (d, x, f)\nt = Where (d, n, f)", ("y", "v", "u", "t"), NUMBERS
    ),
    "Where wraps round": Made(
        FAR + "o = Constant <value = T {0}> ()\nc = Less (x, o)\ng = Add (x, k)\n"
        "y = Where (c, g, x)\nd = Not (c)\nv = Where (d, x, g)\nu = Where (c, g, f)\nh = Sub (k, x)\n"
        "t = Where (d, h, f)", ("y", "v", "u", "t"), NUMBERS
    ),
    "Where between": Made(
        FAR + "o = Constant <value = T {0}> ()\nn = Constant <value = T {5}> ()\nc = GreaterOrEqual (x, o)\n"
        "d = Greater (n, x)\ne = And (c, d)\ny = Where (e, x, f)\ng = Not (e)\nv = Where (g, f, x)\n"
        "r = Or (c, d)\nu = Where (r, f, x)\nt = Where (e, f, x)", ("y", "v", "u", "t"), NUMBERS
    ),
    "Max": Made("y = Max (x, z)\nv = Min (x, z)", ("y", "v"), ("int64", "float32")),
    "Sub of one value": Made("y = Sub (x, x)\nv = Sub (z, x)", ("y", "v"), ("int64", "int64")),
    "Add": Made("y = Add (x, z)\nv = Sub (x, z)\nu = Neg (x)", ("y", "v", "u"), ("int64", "int32", "float32")),
    "Sum": Made("y = Sum (x, z)", dtypes=("float32",)),
    "Range of constants": Made(
        "f = Constant <value_int = -4> ()\ns = Constant <value_int = 9> ()\no = Constant <value_int = 3> ()\n"
        "y = Range (f, s, o)"
    ),
    "ArgMin of three": Made("y = ArgMin <axis = 1> (x)"),
    "ReduceProd of positions": Made(
        "o = Constant <value_ints = [0]> ()\ne = Constant <value_ints = [1]> ()\ng = Slice (x, o, e, o)\n"
        "p = Abs (g)\ny = ReduceProd (p)", dtypes=("int64",)
    ),
    "NonMaxSuppression": Made(
        "g = Constant <value = float[1, 4, 4] {0, 0, 1, 1, 0, 2, 1, 3, 4, 0, 5, 1, 6, 6, 7, 7}> ()\n"
        "p = Constant <value = float[1, 2, 4] {0.5, 0.6, 0.7, 0.8, 0.2, 0.9, 0.1, 0.4}> ()\n"
        "n = Constant <value_int = 9> ()\ny = NonMaxSuppression (g, p, n)"
    ),
}  # fmt: skip
"""A model for each rule that positions, masks and shapes of real exports go through."""


@pytest.fixture(scope="module")
def runtime() -> Any:
    with Runtime("onnxruntime-cpu") as started:
        yield started


def _written(number: float, dtype: str) -> str:
    """A number in ONNX's text form, which has float16 as bits."""
    if dtype == "float16":
        return str(int(np.float16(number).view(np.uint16)))
    return str(float(number)) if dtype in FLOATS else str(int(number))


def model_of(made: Made, dtype: str, bounds: tuple[int, int]) -> onnx.ModelProto:
    word = WORDS[dtype]
    low, high = (f"{{{_written(one, dtype)}}}" for one in bounds)
    kind = f"{word}[2, 3]"
    inputs = f"{kind} xi, {kind} zi, bool[N, 3] m, float[N, M, 2] w"
    clip = f"lo = Constant <value = {word} {low}> ()\nhi = Constant <value = {word} {high}> ()\n"
    clip += "x = Clip (xi, lo, hi)\nz = Clip (zi, lo, hi)\n"
    if dtype in ("uint32",):  # no Clip of it on every runtime
        clip = clip.replace("x = Clip (xi, lo, hi)", "xm = Max (xi, lo)\nx = Min (xm, hi)")
        clip = clip.replace("z = Clip (zi, lo, hi)", "zm = Max (zi, lo)\nz = Min (zm, hi)")
    body = re.sub(r"= T \{(.*?)\}", lambda found: f"= {word} {{{_written(float(found[1]), dtype)}}}", made.body)
    text = f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => () {{\n{clip}{body}\n}}'
    model = onnx.parser.parse_model(text)
    for name in ("x", "z", *made.values):
        model.graph.output.add(name=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onnx.shape_inference.infer_shapes(model)


def feeds(dtype: str, rng: np.random.Generator, sizes: tuple[int, int], spread: int) -> dict[str, Any]:
    n, m = sizes
    found: dict[str, Any] = {}
    for name in ("xi", "zi"):
        if dtype in FLOATS:
            plain = rng.integers(-spread, spread + 1, (2, 3)) / rng.choice([1, 2, 3], (2, 3))
            with np.errstate(all="ignore"):
                found[name] = rng.choice([plain, plain, rng.choice(SPECIAL, (2, 3))]).astype(dtype)
        else:
            info = np.iinfo(dtype)
            edges = rng.choice(np.array([info.min, info.max, 0, 1], dtype), (2, 3))
            plain = rng.integers(max(info.min, -spread), min(info.max, spread) + 1, (2, 3)).astype(dtype)
            found[name] = rng.choice([plain, plain, edges])
    found["m"] = rng.integers(0, 2, (n, 3)).astype(np.bool_)
    found["w"] = rng.standard_normal((n, m, 2)).astype(np.float32)
    return found


def answers(runtime: Runtime, model: onnx.ModelProto, given: Mapping[str, Any]) -> list[Any] | None:
    from minuend.core.elements import of_numpy

    fed = [
        (name, of_numpy(v.dtype), v if v.dtype == np.bool_ else v.view(f"u{v.itemsize}")) for name, v in given.items()
    ]
    found = runtime.query("onnx", model.SerializeToString(), b"", fed)
    if isinstance(found, Refused):
        assert "NOT_IMPLEMENTED" in found.message or "not implemented" in found.message.lower(), found.message
        return None
    assert all(one.element is not None for one in found)
    return [one.codes.view(one.element.memory) for one in found if one.element is not None]


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name, one in CASES.items() for dtype in one.dtypes])
def test_what_a_runtime_gives_lies_in_the_stated_range(runtime: Runtime, name: str, dtype: str) -> None:
    made = CASES[name]
    rng = np.random.default_rng(sum(map(ord, name + dtype)))
    asked = 0
    for turn in range(10):
        low, high = sorted(rng.integers(made.domain[0], made.domain[1] + 1, 2).tolist())
        model = model_of(made, dtype, (low, high) if turn else made.domain)
        model = onnx.ModelProto.FromString(model.SerializeToString())
        names = [value.name for value in model.graph.output]
        found = value_ranges(read(model), names)
        for sizes in ((2, 3), (1, 1), (4, 37)) if turn else ((2, 3), (0, 3), (5, 2)):
            if "Arg" in name and 0 in sizes:  # of nothing there is no largest
                continue
            results = answers(runtime, model, feeds(dtype, rng, sizes, 12))
            if results is None:
                break
            asked += 1
            for value, array in zip(names, results, strict=True):
                outside = [one for one in array.ravel().tolist() if not found[value].holds(one)]
                assert not outside, (value, str(found[value]), found[value], outside[:3], sizes)
    assert asked


# ---- what a value is used for -----------------------------------------------------------------------------------

ROWS = "t = Constant <value = float[4, 3] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}> ()\n"
ONE = "k = Constant <value_int = 3> ()\n"
DEMANDING: Mapping[str, tuple[str, str, str]] = {
    "Gather": ("int64[2] i", ROWS + ONE + "d = Sub (i, k)\ny = Gather (t, d)", "-1..6"),
    "Gather of an axis": ("int64[2] i", ROWS + ONE + "d = Sub (k, i)\ny = Gather <axis = 1> (t, d)", "1..6"),
    "Gather far away": ("int64[1, 2] i", ROWS + ONE + "d = Add (i, k)\na = Constant <value_ints = [0]> ()\n"
                        "q = Squeeze (d, a)\nr = Neg (q)\nc = Concat <axis = 0> (r, q)\ny = Gather (t, c)", "-6..0"),
    "Gather of int32": ("int32[2] i", ROWS + "d = Cast <to = 7> (i)\ny = Gather (t, d)", "-4..3"),
    "GatherElements": ("int64[2, 3] i", ROWS + ONE + "d = Sub (i, k)\ny = GatherElements <axis = 0> (t, d)", "-1..6"),
    "GatherND": ("int64[2, 1] i", ROWS + "y = GatherND (t, i)", "-4..3"),
    "ScatterElements": ("int64[1, 3] i", ROWS + "u = Constant <value = float[1, 3] {1, 1, 1}> ()\n"
                        "y = ScatterElements <axis = 0> (t, i, u)", "-4..3"),
    "ScatterND": ("int64[1, 1] i", ROWS + "u = Constant <value = float[1, 3] {1, 1, 1}> ()\ny = ScatterND (t, i, u)",
                  "-4..3"),
    "Reshape": ("int64[2] i", ROWS + "y = Reshape (t, i)", f"-1..{MOST_DIM}"),
    "Expand": ("int64[1] i", ROWS + "b = Constant <value_ints = [1]> ()\ny = Expand (b, i)", f"-1..{MOST_DIM}"),
    "ConstantOfShape": ("int64[1] i", ONE + "d = Sub (i, k)\ny = ConstantOfShape (d)", f"3..{MOST_DIM + 3}"),
    "Split": ("int64[2] i", ROWS + "y, z = Split <axis = 0> (t, i)", f"0..{MOST_DIM}"),
}  # fmt: skip
"""An input, the nodes behind it, and what it has to lie in if they run."""


def demanding(inputs: str, body: str) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => () {{ {body} }}')
    model.graph.output.add(name="y")
    return onnx.ModelProto.FromString(onnx.shape_inference.infer_shapes(model).SerializeToString())


@pytest.mark.parametrize("name", DEMANDING)
def test_an_input_with_which_a_model_runs_lies_in_what_its_uses_demand(runtime: Runtime, name: str) -> None:
    inputs, body, expected = DEMANDING[name]
    model = demanding(inputs, body)
    found = value_ranges(read(model), ["i"])["i"]
    assert str(found).partition(" ")[0] == expected
    assert VALID in found.assumptions
    assert (DIMS in found.assumptions) == (str(MOST_DIM)[:5] in expected)
    (value,) = model.graph.input
    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    rng, ran, ends = np.random.default_rng(5), 0, set()
    for number in range(-9, 10):
        for fill in (np.full(shape, number), rng.integers(-7, 8, shape)):
            given = fill.astype(dtype)
            results = runtime.query("onnx", model.SerializeToString(), b"", [("i", _element(given), given)])
            if not isinstance(results, Refused):
                ran += 1
                ends.update(given.ravel().tolist())
                assert all(found.holds(one) for one in given.ravel().tolist()), given
    assert ran
    if not found.assumptions & {DIMS}:  # and no other range would do
        assert {found.lo, found.hi} <= ends


def _element(array: Any) -> Any:
    from minuend.core.elements import of_numpy

    return of_numpy(array.dtype)


def test_every_demand_was_tried():
    assert {name.split()[0] for name in DEMANDING} | {"Scatter"} == set(DEMANDS)


@pytest.mark.parametrize(
    ("inputs", "body"),
    [
        ("int64[2] i", ROWS + "z = Gather (t, i)\ny = Identity (i)"),  # what no output needs may be left out
        ("int64[2] i", ROWS + ONE + "c = Clip (i, , k)\ny = Gather (t, c)"),
        ("int64[2] i", ROWS + "a = Constant <value_ints = [0]> ()\nb = Constant <value_ints = [1]> ()\n"
         "s = Slice (i, a, b)\ny = Gather (t, s)"),
        ("int64[1] i, int64[N] n", ROWS + "d = Sub (i, n)\ny = Gather (t, d)"),  # of N elements there may be none
        ("int64[2] i, bool c", ROWS + "y = If (c) <then_branch = g () => (float[2, 3] p) { p = Gather (t, i) },"
         " else_branch = h () => (float[2, 3] q) { z = Constant <value_ints = [0, 1]> ()\nq = Gather (t, z) }>"),
        ("int64[2] i, bool c", ROWS + "r = Gather (t, i)\ny = If (c) <then_branch = g () => (float[2, 3] p) "
         "{ p = Identity (r) }, else_branch = h () => (float[2, 3] q) "
         "{ z = Constant <value_ints = [0, 1]> ()\nq = Gather (t, z) }>"),
    ],
)  # fmt: skip
def test_a_use_that_need_not_be_or_not_of_all_elements_demands_nothing(inputs: str, body: str) -> None:
    found = value_ranges(read(demanding(inputs, body)), ["i"])["i"]
    assert found.is_full
    assert not found.assumptions


def test_what_is_taken_for_granted_of_indices_is_said():
    from minuend import check

    text = ROWS + ONE + "d = Sub (i, k)\ny = Gather (t, d)"
    (finding,) = check(demanding("int64[2] i", text), "openvino-cpu@2026.4.1").findings
    assert finding.verdict == "ok"
    operands = "A is -1..6 (an index of Gather), B is 3 (constant)"
    assert f"{operands}, where the indices and shapes that it computes are valid, so " in finding.reason


def test_tables_and_weights_are_not_read_for_what_they_demand(monkeypatch):
    from minuend import check
    from minuend.onnx.model import Model

    model = demanding("int64[2] i, int64 n, float[2, 3] w", ONE + "d = Sub (i, k)\nh = Gather (t, d)\ny = Add (h, w)")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((4, 3), np.float32), "t"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((2, 3), np.float32), "w"))
    read_ = []
    blocks = Model.blocks
    monkeypatch.setattr(
        Model, "blocks", lambda own, tensor, where: read_.append(tensor.name) or blocks(own, tensor, where)
    )
    (finding,) = check(model, "openvino-cpu@2026.4.1").findings
    assert finding.verdict == "ok"
    assert not {"t", "w"} & set(read_)
