"""Across modules: DxDispatch models to and from the graph of all formats, and every refusal with its reason."""

import itertools
import math
import pathlib
import random

import numpy as np
import pytest

import minuend as mn
from minuend.core import shapes
from minuend.directml import Model
from minuend.directml.dxdispatch.views import View, fitted
from minuend.directml.lifting import to_graph
from minuend.directml.lowering import from_graph
from minuend.errors import ConversionRefused, SpecError
from minuend.models.graph import Graph, Step, Value
from minuend.standards.node import TensorType

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "directml"
TYPES = ("float16", "float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def graph_of(inputs, steps, outputs, dtype="float32", constants=()):
    """A graph: inputs and constants by name, steps as (kind, inputs, output, shape or broadcast[, type])."""
    graph = Graph("g", list(inputs), list(outputs))
    for name, shape in inputs.items():
        graph.add(Value(name, TensorType(dtype, shape)))
    for name, array in dict(constants).items():
        graph.add(Value(name, TensorType(array.dtype, array.shape), array))
    for kind, names, output, shape, *rest in steps:
        joined = shape if kind == "subtract" else None
        sizes = joined.shape if joined else shape
        graph.add(Value(output, TensorType(rest[0] if rest else dtype, sizes)))
        graph.steps.append(Step(kind=kind, inputs=names, output=output, name=output, joined=joined, shape=sizes))
    return graph


def random_array(rng, dtype, shape):
    dtype = np.dtype(dtype)
    raw = np.frombuffer(rng.randbytes(math.prod(shape) * dtype.itemsize), dtype).reshape(shape).copy()
    if dtype.kind == "f":
        raw[np.isnan(raw)] = rng.choice([0.0, -0.0, math.inf, 1.5])
    return raw


def same_bits(x, y):
    """Equal bit for bit, NaN apart from its payload."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind != "f":
        return np.array_equal(x, y)
    same = x.view(f"u{x.itemsize}") == y.view(f"u{x.itemsize}")
    return bool((same | (np.isnan(x) & np.isnan(y))).all())


def refusal(graph, version=None):
    with pytest.raises(ConversionRefused) as caught:
        from_graph(graph, version)
    return caught.value


# ---- random graphs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_broadcasting_of_every_rank_up_to_10_is_computed_as_the_array_function_does(seed):
    rng = random.Random(seed)
    for _ in range(60):
        rank = rng.randint(0, 10)
        full = [rng.choice([1, 2, 2, 3]) for _ in range(rank)]
        a, b = (tuple(1 if rng.random() < 0.3 else n for n in full[rank - rng.randint(0, rank) :]) for _ in range(2))
        dtype = rng.choice(TYPES)
        x, y = random_array(rng, dtype, a), random_array(rng, dtype, b)
        graph = graph_of({"x": a, "y": b}, [("subtract", ("x", "y"), "z", shapes.numpy(a, b))], ["z"], dtype)
        model, changes, _ = from_graph(graph)
        wanted = mn.subtract(x, y)
        found = model.run({"x": x, "y": y})["z"]
        assert same_bits(found.reshape(wanted.shape), wanted)
        assert changes[-1] == f"the lowest feature level that will do is {model.lowest_level()}"
        assert len(next(model.subtractions()).a.shape) <= 8
        # There and back and there again is the same function.
        again, _, _ = from_graph(to_graph(model))
        assert same_bits(again.run({"x": x, "y": y})["z"].reshape(wanted.shape), wanted)


@pytest.mark.parametrize("seed", range(4))
def test_chains_of_views_and_subtractions_are_exact(seed):
    rng = random.Random(100 + seed)
    for _ in range(40):
        dtype, arrays, steps = rng.choice(["float32", "float16", "int8", "uint64"]), {}, []
        shape = tuple(rng.choice([1, 2, 3]) for _ in range(rng.randint(0, 4)))
        arrays["x"] = random_array(rng, dtype, shape)
        inputs = {"x": shape}
        for i in range(rng.randint(1, 6)):
            source, name = rng.choice(list(arrays)), f"v{i}"
            array = arrays[source]
            kind = rng.choice(["subtract", "subtract", "reshape", "expand", "unsqueeze", "squeeze", "identity"])
            if kind == "subtract":
                other = rng.choice(list(arrays))
                try:
                    joined = shapes.numpy(array.shape, arrays[other].shape)
                except mn.ShapeError:
                    other, joined = source, shapes.numpy(array.shape, array.shape)
                arrays[name] = mn.subtract(array, arrays[other])
                steps.append((kind, (source, other), name, joined))
                continue
            if kind == "reshape":
                factors = [p for n in array.shape for p in ([n] if n < 4 else [2, n // 2] if n % 2 == 0 else [n])]
                rng.shuffle(factors)
                array = array.reshape(factors)
            elif kind == "unsqueeze" and array.ndim < 7:
                array = np.expand_dims(array, rng.randint(0, array.ndim))
            elif kind == "squeeze":
                array = array.squeeze()
            elif kind == "expand" and array.size < 200:
                array = np.broadcast_to(array, [2, *(3 if n == 1 else n for n in array.shape)])
            arrays[name] = array
            steps.append((kind, (source,), name, array.shape))
        outputs = rng.sample([name for name in arrays if name != "x"], rng.randint(1, len(arrays) - 1))
        graph = graph_of(inputs, steps, outputs, dtype)
        model, _, _ = from_graph(graph)
        found = model.run({"x": arrays["x"]})
        lifted, _, _ = from_graph(to_graph(model))
        again = lifted.run({"x": arrays["x"]} if "x" in lifted.resources else {})
        for name in outputs:
            assert same_bits(found[name].reshape(arrays[name].shape), np.array(arrays[name], order="C"))
            assert same_bits(again[name].reshape(arrays[name].shape), np.array(arrays[name], order="C"))


def test_legacy_and_pdpd_broadcasting_become_strides():
    x, y = np.arange(24, dtype=np.int32).reshape(2, 3, 4), np.array([100, 200, 300], np.int32)
    for joined in (
        shapes.onnx_legacy((2, 3, 4), (3,), axis=1, broadcast=1),
        shapes.pdpd((2, 3, 4), (3,), axis=1),
    ):
        graph = graph_of({"x": (2, 3, 4), "y": (3,)}, [("subtract", ("x", "y"), "z", joined)], ["z"], "int32")
        model, changes, losses = from_graph(graph)
        assert model.run({"x": x, "y": y})["z"].tolist() == (x - y[:, None]).tolist()
        assert model.document["dispatchables"]["z"]["desc"]["BTensor"] == {
            "DataType": "INT32",
            "Sizes": [2, 3, 4],
            "Strides": [0, 1, 0],
        }
        assert changes == [
            "input 'x': its resource holds zeros until values are passed",
            "input 'y': its resource holds zeros until values are passed",
            "step 0 'z': BTensor (3,) is repeated by strides (0, 1, 0)",
            "the lowest feature level that will do is 3.0",
        ]
        assert losses == ["the graph's name, 'g'"]


def test_a_graph_becomes_the_json_that_dxdispatch_reads():
    graph = graph_of(
        {"x": (2, 2)},
        [("subtract", ("x", "c"), "y", shapes.numpy((2, 2), (2,)))],
        ["y"],
        constants={"c": np.array([1.5, -math.inf], np.float32)},
    )
    assert from_graph(graph, "3.0")[0].document == {
        "resources": {
            "x": {"initialValuesDataType": "FLOAT32", "initialValues": {"value": 0, "valueCount": 4}},
            "c": {"initialValuesDataType": "FLOAT32", "initialValues": [1.5, "-inf"]},
            "y": {"initialValuesDataType": "FLOAT32", "initialValues": {"value": 0, "valueCount": 4}},
        },
        "dispatchables": {
            "y": {
                "type": "DML_OPERATOR_ELEMENT_WISE_SUBTRACT",
                "desc": {
                    "ATensor": {"DataType": "FLOAT32", "Sizes": [2, 2]},
                    "BTensor": {"DataType": "FLOAT32", "Sizes": [2, 2], "Strides": [0, 1]},
                    "OutputTensor": {"DataType": "FLOAT32", "Sizes": [2, 2]},
                },
            }
        },
        "commands": [
            {
                "type": "dispatch",
                "dispatchable": "y",
                "bindings": {"ATensor": "x", "BTensor": "c", "OutputTensor": "y"},
            },
            {"type": "print", "resource": "y"},
        ],
    }


# ---- ranks, levels, copies ------------------------------------------------------------------------------------


def test_low_ranks_are_padded_and_high_ones_collapsed_to_what_a_level_takes():
    both = {"x": (2, 1, 3, 2, 2), "y": (2, 2)}
    graph = graph_of(both, [("subtract", ("x", "y"), "z", shapes.numpy(*both.values()))], ["z"], "int32")
    model, changes, _ = from_graph(graph, "2.1")
    assert model.lowest_level() == "2.1"
    assert "step 0 'z': the sizes (2, 1, 3, 2, 2) became (2, 3, 2, 2)" in changes
    scalars = graph_of({"x": (), "y": ()}, [("subtract", ("x", "y"), "z", shapes.numpy((), ()))], ["z"])
    model, changes, _ = from_graph(scalars, "1.0")
    assert model.run({"x": np.float32(3), "y": np.float32(1)})["z"].tolist() == [[[[2]]]]
    assert changes[2:] == [
        "step 0 'z': the sizes () became (1, 1, 1, 1)",
        "output 'z': its sizes are (1, 1, 1, 1), () in the graph",
        "the lowest feature level that will do is 1.0",
    ]


@pytest.mark.parametrize(
    ("dtype", "asked", "lowest"), [("int64", "1.0", "4.1"), ("int32", "1.0", "2.1"), ("int8", "2.1", "5.1")]
)
def test_a_level_that_does_not_do_is_refused_with_the_lowest_that_does(dtype, asked, lowest):
    sizes = (1, 1, 2, 3)
    graph = graph_of(
        {"x": sizes, "y": sizes}, [("subtract", ("x", "y"), "z", shapes.numpy(sizes, sizes))], ["z"], dtype
    )
    with pytest.raises(ConversionRefused) as refused:
        from_graph(graph, asked)
    assert str(refused.value).endswith(f"\nThe lowest feature level that will do is {lowest}: --to directml:{lowest}")
    model, _, _ = from_graph(graph, lowest)
    assert model.lowest_level() == lowest


def test_a_level_is_named_only_where_one_takes_every_node():
    a, b = ((2, 1) * 5)[:9], ((1, 2) * 5)[:9]
    graph = graph_of({"x": a, "y": b}, [("subtract", ("x", "y"), "z", shapes.numpy(a, b))], ["z"])
    with pytest.raises(ConversionRefused, match="Leave these nodes out") as refused:
        from_graph(graph, "1.0")
    assert "lowest" not in str(refused.value)


def test_ranks_that_strides_keep_apart_are_refused_with_the_dims():
    a, b = ((2, 1) * 5)[:9], ((1, 2) * 5)[:9]
    graph = graph_of({"x": a, "y": b}, [("subtract", ("x", "y"), "z", shapes.numpy(a, b))], ["z"])
    assert refusal(graph).nodes == {
        "step 0 'z'": "it has rank 9, and ELEMENT_WISE_SUBTRACT-5.1 takes up to 8: the strides keep apart the dims "
        "0 and 1, 1 and 2, 2 and 3, 3 and 4, 4 and 5, 5 and 6, 6 and 7 and 7 and 8"
    }


def test_what_no_view_says_is_copied_bit_for_bit():
    steps = [("expand", ("x",), "e", (2, 3)), ("reshape", ("e",), "r", (6,)), ("identity", ("x",), "i", (3,))]
    graph = graph_of({"x": (3,)}, steps, ["r", "i", "x"])
    model, changes, _ = from_graph(graph)
    odd = np.array([0x7F812345, 0xFFC00001, 0x80000000], np.uint32).view(np.float32)
    out = model.run({"x": odd})
    for name, times in (("r", 2), ("i", 1), ("x_out", 1)):
        assert out[name].dtype == np.float32
        assert out[name].view(np.uint32).reshape(-1).tolist() == [0x7F812345, 0xFFC00001, 0x80000000] * times
    assert changes == [
        "input 'x': its resource holds zeros until values are passed",
        "step 0 'e': expand became a view of the resource 'x'",
        "step 1 'r': 'x' is copied into 'e_copy' by subtracting 0 as UINT32, bit for bit",
        "step 1 'r': reshape became a view of the resource 'e_copy'",
        "step 2 'i': identity became a view of the resource 'x'",
        "output 'x': its resource is 'x_out', since 'x' is another",
        "output 'x': 'x' is copied into 'x_out' by subtracting 0 as UINT32, bit for bit",
        "output 'r': the resource 'e_copy' is named 'r'",
        "output 'r': its sizes are (2, 3), (6,) in the graph",
        "output 'i': 'x' is copied into 'i' by subtracting 0 as UINT32, bit for bit",
        "the lowest feature level that will do is 3.0",
    ]
    lifted = to_graph(model)
    assert {step.kind for step in lifted.steps} == {"identity", "expand"}
    assert (lifted.inputs, lifted.values["x"].type.dtype) == (["x"], "float32")
    graph = graph_of({"x": (1, 1, 1, 3)}, [("identity", ("x",), "i", (1, 1, 1, 3))], ["i"])
    assert refusal(graph, "2.0").nodes == {
        "output 'i'": "it needs a copy of 'x', which is a subtraction of 0 as UINT32; that is there from feature "
        "level 2.1 on"
    }


def test_constants_keep_every_value_but_the_payload_of_nans():
    bits = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0x80000000, 1], np.uint32)
    constants = {"c": bits.view(np.float32), "z": np.zeros(5, np.float32)}
    graph = graph_of({}, [("subtract", ("c", "z"), "y", shapes.numpy((5,), (5,)))], ["y"], constants=constants)
    model, _, losses = from_graph(graph)
    assert losses == ["the graph's name, 'g'", "'c': sign and payload of 2 NaNs; JSON has one word for all of them"]
    assert model.run()["y"].view(np.uint32)[3:].tolist() == [0x80000000, 1]
    for dtype in TYPES:
        array = random_array(random.Random(3), dtype, (40,))
        graph = graph_of({}, [("identity", ("c",), "y", (40,), dtype)], ["y"], constants={"c": array})
        assert same_bits(from_graph(graph)[0].run()["y"], array)


def test_names_stay_unique():
    x = {"x": (2,)}
    steps = [("subtract", ("x", "x"), "zero", shapes.numpy((2,), (2,))), ("identity", ("x",), "y", (2,))]
    graph = graph_of(x, steps, ["zero", "y"])
    graph.steps[0] = Step(
        kind="subtract", inputs=("x", "x"), output="zero", name="copy", joined=shapes.numpy((2,), (2,))
    )
    model, _, _ = from_graph(graph)
    assert list(model.resources) == ["x", "zero", "zero_1", "y"]
    assert list(model.dispatchables) == ["copy", "copy_1"]


# ---- refusals -------------------------------------------------------------------------------------------------


def test_every_node_in_the_way_is_listed_with_its_reason():
    graph = graph_of(
        {"n": ("N", 3), "e": (0, 3), "d": (2,)},
        [
            ("subtract", ("n", "n"), "s", shapes.numpy(("N", 3), ("N", 3))),
            ("cast", ("d",), "c", (2,), "int32"),
            ("subtract", ("c", "c"), "after", shapes.numpy((2,), (2,)), "int32"),
            ("subtract", ("d", "d"), "fine", shapes.numpy((2,), (2,))),
        ],
        ["s", "after", "fine"],
    )
    error = refusal(graph, "5.1")
    assert str(error) == (
        "cannot convert to directml:5.1: 3 nodes in the way\n"
        "  input 'n': 'n' has the shape (N, 3); DirectML fixes sizes beforehand, give the model's dims numbers\n"
        "  input 'e': 'e' has the shape (0, 3); DirectML has no empty tensors\n"
        "  step 1 'c': it casts float32 to int32; that is another operator of DirectML, and the models written here "
        "hold ELEMENT_WISE_SUBTRACT alone\n"
        "Leave these nodes out, or convert the model with a tool that knows all of DirectML's operators."
    )


@pytest.mark.parametrize(
    ("dtype", "level", "place", "reason"),
    [
        (
            "int8",
            "5.0",
            "step 0 'z'",
            (
                "ELEMENT_WISE_SUBTRACT-4.1 takes no element type INT8 (it came with feature level 5.1); expected "
                "FLOAT16, FLOAT32, INT32, INT64, UINT32 or UINT64, at ATensor.DataType"
            ),
        ),
        (
            "float64",
            None,
            "step 0 'z'",
            (
                "ELEMENT_WISE_SUBTRACT-5.1 takes no element type FLOAT64; expected FLOAT16, FLOAT32, INT8, INT16, "
                "INT32, INT64, UINT8, UINT16, UINT32 or UINT64, at ATensor.DataType"
            ),
        ),
        (
            "bfloat16",
            None,
            "input 'x'",
            (
                "'x' is bfloat16; DxDispatch models hold FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, "
                "FLOAT64, UINT64 or INT64"
            ),
        ),
        (
            "uint4",
            None,
            "input 'x'",
            (
                "'x' is uint4; DxDispatch models hold FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, "
                "FLOAT64, UINT64 or INT64"
            ),
        ),
    ],
)
def test_types_that_the_level_lacks_are_refused(dtype, level, place, reason):
    graph = graph_of({"x": (2, 2)}, [("subtract", ("x", "x"), "z", shapes.numpy((2, 2), (2, 2)))], ["z"], dtype)
    assert refusal(graph, level).nodes == {place: reason}


def test_more_elements_than_directml_counts_are_refused_without_allocating():
    graph = graph_of({"x": (2**16, 2**16)}, [], [])
    assert refusal(graph).nodes == {
        "input 'x'": "Sizes[0] is 4294967296; expected 1 to 4294967295",
    }


def test_an_unknown_level_and_a_value_from_nowhere_are_errors():
    with pytest.raises(SpecError, match="DirectML has no feature level"):
        from_graph(Graph("g"), "7.0")
    graph = graph_of({"x": (2,)}, [("identity", ("q",), "y", (2,))], ["y"])
    assert refusal(graph).nodes == {"constant 'q'": "it is used by step 0 'y' and nothing makes it before"}


# ---- models to graphs -----------------------------------------------------------------------------------------


def model_of(resources, *dispatches, commands=()):
    """A model of dispatches: ((A, sizes, strides), (B, …), (Out, …)), element type."""
    names = ("ATensor", "BTensor", "OutputTensor")
    return Model(
        {
            "resources": resources,
            "dispatchables": {
                f"d{i}": {
                    "type": "ELEMENT_WISE_SUBTRACT",
                    "desc": {
                        name: {"DataType": kind, "Sizes": list(sizes), "Strides": list(strides)}
                        for name, (_, sizes, strides) in zip(names, tensors, strict=True)
                    },
                }
                for i, (tensors, kind) in enumerate(dispatches)
            },
            "commands": [
                {
                    "type": "dispatch",
                    "dispatchable": f"d{i}",
                    "bindings": {name: tensor[0] for name, tensor in zip(names, tensors, strict=True)},
                }
                for i, (tensors, _) in enumerate(dispatches)
            ]
            + list(commands),
        }
    )


def ints(*values):
    return {"initialValuesDataType": "INT32", "initialValues": list(values)}


def fill(count, kind="INT32"):
    return {"initialValuesDataType": kind, "initialValues": {"value": 0, "valueCount": count}}


def lifting_refusal(model):
    with pytest.raises(ConversionRefused) as caught:
        to_graph(model)
    return caught.value.nodes


def test_listed_values_are_constants_and_generated_ones_inputs():
    graph = to_graph(Model.read(EXAMPLES / "row_means.json"))
    assert (graph.name, graph.inputs, graph.outputs) == ("row_means", [], ["centred"])
    assert graph.values["means"].constant.tolist() == [[7], [-0.25]]
    (step,) = graph.steps
    assert (step.kind, step.inputs, step.name, step.where) == (
        "subtract",
        ("table", "means"),
        "centre",
        "commands[0] 'centre'",
    )
    assert graph.losses == ["commands[1]: print of 'centred'"]


def test_work_in_place_becomes_a_chain_of_values():
    graph = to_graph(Model.read(EXAMPLES / "countdown.json"))
    assert graph.inputs == ["counters"]
    assert graph.outputs == ["counters_2"]
    assert [step.inputs for step in graph.steps] == [("counters", "step"), ("counters_1", "step")]
    assert graph.losses == [
        "resource 'counters': its generated values; it became an input",
        "commands[2]: print of 'counters'",
        "resource 'counters': the name of its last contents, now 'counters_2'",
        "dispatchables.count: BTensor is OWNED_BY_DML",
    ]


def test_operands_that_repeat_along_different_dims_broadcast():
    model = model_of(
        {"a": ints(1, 2, 3), "b": ints(10, 20), "o": fill(6)},
        ((("a", (3, 2), (1, 0)), ("b", (3, 2), (0, 1)), ("o", (3, 2), (2, 1))), "INT32"),
    )
    graph = to_graph(model)
    assert [step.kind for step in graph.steps] == ["subtract"]
    assert (graph.values["a"].type.shape, graph.values["b"].type.shape) == ((3, 1), (2,))
    assert from_graph(graph)[0].run()["o"].tolist() == model.run()["o"].tolist() == [[-9, -19], [-8, -18], [-7, -17]]


def test_operands_that_both_repeat_are_expanded_and_other_shapes_reshaped():
    model = model_of(
        {"a": ints(1), "b": ints(10), "o": fill(6), "p": fill(6)},
        ((("a", (2, 3), (0, 0)), ("b", (2, 3), (0, 0)), ("o", (2, 3), (3, 1))), "INT32"),
        ((("o", (3, 2), (2, 1)), ("o", (3, 2), (2, 1)), ("p", (3, 2), (2, 1))), "INT32"),
    )
    graph = to_graph(model)
    assert [step.kind for step in graph.steps] == ["expand", "subtract", "reshape", "reshape", "subtract"]
    assert graph.outputs == ["p"]
    assert from_graph(graph)[0].run()["p"].tolist() == [[0, 0]] * 3


def test_deferred_resources_become_inputs():
    document = dict(
        model_of(
            {"a": fill(3), "b": ints(1, 2, 3), "o": fill(3)},
            ((("a", (3,), (1,)), ("b", (3,), (1,)), ("o", (3,), (1,))), "INT32"),
        ).document
    )
    document["resources"] = {**document["resources"], "a": {"initialValues": "deferred"}}
    graph = to_graph(Model(document))
    assert (graph.inputs, graph.values["a"].type.dtype, graph.losses) == (["a"], "int32", [])


FULL, ROW, T = ((2, 3), (3, 1)), ((2, 3), (0, 1)), ((2, 3), (1, 2))


@pytest.mark.parametrize(
    ("resources", "tensors", "kind", "reason"),
    [
        ({"a": ints(*range(6)), "b": ints(1), "o": fill(6)}, (("a", *T), ("b", (2, 3), (0, 0)), ("o", *FULL)), "INT32",
         "the strides of ATensor, (1, 2), leave gaps or another order than row-major"),
        ({"a": ints(*range(6)), "b": ints(1), "o": fill(6)}, (("a", *FULL), ("b", (2, 3), (0, 0)), ("o", *T)), "INT32",
         "the strides of OutputTensor, (1, 2), leave gaps or another order than row-major"),
        ({"a": ints(*range(8)), "b": ints(1), "o": fill(6)}, (("a", *FULL), ("b", (2, 3), (0, 0)), ("o", *FULL)),
         "INT32", "it reads 6 of the 8 elements of 'a'"),
        ({"a": ints(*range(6)), "b": ints(1, 2, 3), "o": fill(7)}, (("a", *FULL), ("b", *ROW), ("o", *FULL)), "INT32",
         "it writes 6 of the 7 elements of 'o'"),
        ({"a": fill(6, "FLOAT32"), "b": ints(1, 2, 3), "o": fill(6)}, (("a", *FULL), ("b", *ROW), ("o", *FULL)),
         "INT32", "'a' holds float32 and is read as int32"),
        ({"a": fill(6), "b": ints(1, 2, 3), "o": fill(6, "FLOAT32")}, (("a", *FULL), ("b", *ROW), ("o", *FULL)),
         "INT32", "'o' holds float32 and is written as int32"),
        ({"a": {"initialValues": [{"type": "INT32", "value": 1}] * 6}, "b": ints(1, 2, 3), "o": fill(6)},
         (("a", *FULL), ("b", *ROW), ("o", *FULL)), "INT32", "'a' holds values of several types"),
        ({"a": {**ints(*range(6)), "sizeInBytes": 28, "initialValuesOffsetInBytes": 4}, "b": ints(1), "o": fill(6)},
         (("a", *FULL), ("b", (2, 3), (0, 0)), ("o", *FULL)), "INT32", "the values of 'a' begin 4 bytes into it"),
        ({"a": ints(*range(6)), "b": ints(*range(9)), "o": fill(6)},
         (("a", *FULL), ({"name": "b", "elementOffset": 4}, (2, 3), (0, 1)), ("o", *FULL)), "INT32",
         "BTensor begins 16 bytes into 'b', not with it"),
        ({"a": ints(*range(6)), "b": ints(1), "o": fill(10)},
         (("a", *FULL), ("b", (2, 3), (0, 0)), ({"name": "o", "elementOffset": 4}, *FULL)), "INT32",
         "OutputTensor begins 16 bytes into 'o', not with it"),
    ],
)  # fmt: skip
def test_layouts_that_a_graph_does_not_have_are_refused(resources, tensors, kind, reason):
    model = model_of(resources, (tensors, kind))
    assert model.run()
    assert lifting_refusal(model) == {"commands[0] 'd0'": reason}


def test_what_follows_from_a_refused_dispatch_is_not_listed():
    packed = ("o", (2,), (1,))
    model = model_of(
        {"a": ints(1, 2, 3), "b": ints(1), "o": fill(2), "p": fill(2)},
        ((("a", (2,), (1,)), ("b", (2,), (0,)), packed), "INT32"),
        ((packed, packed, ("p", (2,), (1,))), "INT32"),
    )
    assert lifting_refusal(model) == {"commands[0] 'd0'": "it reads 2 of the 3 elements of 'a'"}


def test_a_part_of_what_a_dispatch_wrote_is_refused():
    six, three = ("o", (6,), (1,)), ("o", (3,), (1,))
    model = model_of(
        {"a": fill(6), "o": fill(6), "p": fill(3)},
        ((("a", (6,), (1,)), ("a", (6,), (1,)), six), "INT32"),
        ((three, three, ("p", (3,), (1,))), "INT32"),
    )
    assert lifting_refusal(model) == {"commands[1] 'd1'": "ATensor reads 3 of the 6 elements of 'o'"}


def test_other_operators_are_all_listed():
    document = {
        "resources": {},
        "dispatchables": {"add": {"type": "ELEMENT_WISE_ADD"}, "k": {"type": "hlsl"}},
        "commands": [],
    }
    with pytest.raises(ConversionRefused) as caught:
        to_graph(Model(document))
    assert str(caught.value) == (
        "cannot convert to a graph: 2 nodes in the way\n"
        "  dispatchables.add: ELEMENT_WISE_ADD; only ELEMENT_WISE_SUBTRACT is converted\n"
        "  dispatchables.k: hlsl; only ELEMENT_WISE_SUBTRACT is converted\n"
        "A graph has subtractions of whole tensors in row-major order; repeated operands become broadcasting."
    )


def test_a_broken_rule_is_an_error_and_no_refusal():
    model = model_of(
        {"a": ints(1), "b": ints(1), "o": fill(1)},
        ((("a", (2,), (1,)), ("b", (2,), (0,)), ("o", (2,), (1,))), "INT32"),
    )
    with pytest.raises(SpecError) as caught:
        to_graph(model)
    assert str(caught.value) == (
        "'a' has 4 bytes for ATensor from byte 0 on; expected at least 8, its TotalTensorSizeInBytes, "
        "at commands[0].bindings.ATensor"
    )


def test_what_a_graph_cannot_hold_is_listed():
    model = model_of(
        {"a": fill(2), "b": ints(1), "o": fill(2)},
        ((("a", (2,), (1,)), ("b", (2,), (0,)), ("o", (2,), (1,))), "INT32"),
        commands=[{"type": "print", "resource": "o"}, {"type": "writeFile", "resource": "o", "targetPath": "o.npy"}],
    )
    document = dict(model.document)
    document["author"] = "someone"
    one = document["dispatchables"]["d0"]
    one.update(executionFlags=["NONE", "DISABLE_META_COMMANDS"], dmlCompileType="DmlCompileGraph")
    one["desc"]["ATensor"].update(TotalTensorSizeInBytes=8, GuaranteedBaseOffsetAlignment=16)
    one["desc"]["BTensor"].update(TotalTensorSizeInBytes=4)
    document["resources"]["o"]["sizeInBytes"] = 12
    one["desc"]["OutputTensor"].update(TotalTensorSizeInBytes=12)
    document["dispatchables"]["unused"] = {**one}
    assert to_graph(Model(document)).losses == [
        "resource 'a': its generated values; it became an input",
        "commands[1]: print of 'o'",
        "commands[2]: writeFile of 'o'",
        "author: a key that DxDispatch does not know",
        "dispatchables.d0: executionFlags",
        "dispatchables.d0: dmlCompileType",
        "dispatchables.d0: GuaranteedBaseOffsetAlignment of ATensor",
        "dispatchables.d0: TotalTensorSizeInBytes of OutputTensor",
        "dispatchables.unused: it is never dispatched",
    ]


# ---- views ----------------------------------------------------------------------------------------------------


def addresses(view):
    return [
        sum(i * s for i, s in zip(index, view.strides, strict=True))
        for index in itertools.product(*map(range, view.sizes))
    ]


def test_a_reshaped_view_has_the_same_addresses_and_none_is_missed():
    rng = random.Random(11)
    found = 0
    for _ in range(2000):
        sizes = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(0, 4)))
        view = View.packed(sizes) if rng.random() < 0.4 else View(sizes, tuple(rng.choice([0, 1, 2, 6]) for _ in sizes))
        factors = [p for n in sizes for p in ([2, 2] if n == 4 and rng.random() < 0.7 else [n])]
        rng.shuffle(factors)
        new = tuple(factors)
        answer = view.reshaped(new)
        # NumPy's own answer: whether such an array is a view of the same memory.
        memory = np.lib.stride_tricks.as_strided(np.zeros(64, np.int8), view.sizes, view.strides)
        assert (answer is not None) == np.shares_memory(memory.reshape(new), memory)
        if answer is not None:
            found += 1
            assert answer.sizes == new
            assert addresses(answer) == addresses(view)
    assert 300 < found < 1900


def test_fitted_views_keep_the_order_of_addresses():
    rng = random.Random(12)
    for _ in range(500):
        sizes = tuple(rng.choice([1, 1, 2, 3]) for _ in range(rng.randint(0, 7)))
        views = [View.packed(sizes), View(sizes, tuple(rng.choice([0, s]) for s in View.packed(sizes).strides))]
        lowest = rng.randint(1, 3)
        answer = fitted(views, lowest, rng.randint(lowest, 4))
        for view, new in zip(views, answer or views, strict=True):
            assert addresses(new) == addresses(view)
        assert answer is None or len({new.sizes for new in answer}) == 1
