"""Across modules: openvino reads and runs what this package writes; this package reads what openvino writes."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.errors import DTypeError, FileFormatError, ShapeError
from minuend.judging.checking import check
from minuend.openvino import Tensor
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.notation import ELEMENT_TYPES, NUMERIC
from minuend.openvino.ir.sections import Ref, Type
from minuend.openvino.model import Model, read
from minuend.openvino.occurrences import occurrences
from minuend.openvino.versions import SPELLINGS

ov = pytest.importorskip("openvino")

ON_CPU = ("f32", "f16", "i32", "i16", "u16")
"""Types that the CPU runtime subtracts as the standard says; others it saturates, clamps or computes in fewer bits."""

BY_CORE = ("f32", "f16", "i8", "i32", "i64", "u8", "u32", "u64")
"""Types that the runtime's own slow evaluation subtracts; bfloat16 it rounds wrongly."""

SHAPES = [
    ("none", (2, 3), (2, 3), -1),
    ("numpy", (2, 3), (3,), -1),
    ("numpy", (3,), (2, 3), -1),
    ("numpy", (8, 1, 6, 1), (7, 1, 5), -1),
    ("numpy", (), (2, 2), -1),
    ("numpy", (0, 3), (1,), -1),
    ("pdpd", (2, 3, 4, 5), (3, 4), 1),
    ("pdpd", (2, 3), (2, 1), 0),
    ("pdpd", (3, 3), (3,), 0),
    ("pdpd", (2, 3, 4), (4,), -1),
]


@pytest.fixture(scope="module")
def core() -> Any:
    return ov.Core()


def peer(core: Any, model: Model) -> Any:
    return core.read_model(*model.to_bytes())


def values(name: str, shape: tuple[int, ...], seed: int) -> Any:
    """Random elements: any bits of an integer, moderate floats."""
    element, rng = NUMERIC[name], np.random.default_rng(seed)
    if element.is_integer:
        return rng.integers(0, 256, (*shape, element.itemsize), np.uint8).view(element.memory)[..., 0]
    return (1000 * rng.standard_normal(shape)).astype(element.memory)


def subtraction(name: str, rule: str, a: tuple[int, ...], b: tuple[int, ...], axis: int) -> Model:
    builder = Builder("one")
    x, y = builder.parameter("a", name, a), builder.parameter("b", name, b)
    builder.result(builder.subtract("y", x, y, auto_broadcast=rule, axis=axis if rule == "pdpd" else None))
    return builder.model


def same(x: Any, y: Any) -> bool:
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.mark.parametrize("case", SHAPES[:5], ids=str)
@pytest.mark.parametrize("name", ON_CPU)
def test_the_cpu_runtime_answers_as_this_package_does(core: Any, name: str, case: Any) -> None:
    rule, a, b, axis = case
    model = subtraction(name, rule, a, b, axis)
    x, y = values(name, a, 1), values(name, b, 2)
    compiled = core.compile_model(peer(core, model), "CPU")
    assert same(compiled({"a": x, "b": y})["y"], model.run({"a": x, "b": y})["y"])


@pytest.mark.parametrize("case", SHAPES, ids=str)
@pytest.mark.parametrize("name", BY_CORE)
def test_the_runtimes_evaluation_answers_as_this_package_does(core: Any, name: str, case: Any) -> None:
    rule, a, b, axis = case
    model = subtraction(name, rule, a, b, axis)
    x, y = values(name, a, 3), values(name, b, 4)
    theirs = peer(core, model)
    node = next(op for op in theirs.get_ordered_ops() if op.get_type_name() == "Subtract")
    out = ov.Tensor(node.get_output_element_type(0), node.get_output_shape(0))
    assert node.evaluate([out], [ov.Tensor(np.ascontiguousarray(x)), ov.Tensor(np.ascontiguousarray(y))])
    assert same(out.data, model.run({"a": x, "b": y})["y"])


@pytest.mark.parametrize("name", list(NUMERIC))
def test_every_type_is_read_with_the_shapes_that_are_inferred_here(core: Any, name: str) -> None:
    builder = Builder("types")
    x = builder.parameter("x", name, (None, (1, 4), 3))
    builder.result(builder.subtract("y", x, builder.parameter("k", name, (1, 3))))
    theirs = peer(core, builder.model)
    assert str(theirs.outputs[0].partial_shape) == "[?,1..4,3]"
    assert theirs.outputs[0].element_type.get_type_name() == name
    assert builder.model.outputs == {"y": Type(name, (None, (1, 4), 3))}


def constants() -> list[tuple[str, int]]:
    return [(name, count) for name, row in NUMERIC.items() for count in ((1, 3, 7, 8, 9) if row.bits < 8 else (3,))]


@pytest.mark.parametrize(("name", "count"), constants())
def test_constants_of_every_type_are_read_as_openvino_reads_them(core: Any, name: str, count: int) -> None:
    element = NUMERIC[name]
    codes = np.random.default_rng(count).integers(0, 1 << min(element.bits, 63), count, np.uint64)
    array = (codes & np.uint64((1 << element.bits) - 1)).astype(f"u{element.itemsize}")
    stored = Tensor(element, array) if element.kernel == "table" else array.view(element.memory)
    builder = Builder()
    builder.result(builder.constant("k", stored))
    theirs = next(op for op in peer(core, builder.model).get_ordered_ops() if op.get_type_name() == "Constant")
    assert (theirs.get_output_element_type(0).get_type_name(), list(theirs.get_output_shape(0))) == (name, [count])
    ours = read(*builder.model.to_bytes()).run({})["k"]
    assert (ours.codes if isinstance(ours, Tensor) else ours.view(array.dtype)).tolist() == array.tolist()
    # The runtime unpacks in C++: to floats where it can, else its packed bytes are compared.
    packed = stored.pack() if isinstance(stored, Tensor) else array.tobytes()
    assert theirs.data.view(np.uint8).tobytes()[: len(packed)] == packed
    if name in ("u1", "u4", "i4", "u2", "bf16", "f8e4m3", "f8e5m2"):
        with np.errstate(all="ignore"):
            unpacked = theirs.get_data(dtype=np.float32)
        exact = stored.to_float() if isinstance(stored, Tensor) else stored.astype(np.float32)
        assert np.array_equal(unpacked, exact, equal_nan=True)


def chain(name: str) -> Model:
    """Every layer that this package makes besides, without pdpd."""
    builder = Builder("chain")
    x = builder.parameter("x", name, (2, 3))
    # No difference wraps: behind a 16-bit one the CPU computes on in 32 bits.
    step = builder.subtract("s", x, builder.constant("k", np.array([1, 20, 300], NUMERIC[name].memory)))
    step = builder.unsqueeze("u", step, [0, 3])
    step = builder.squeeze("q", step, [3])
    step = builder.broadcast("b", step, [4, 2, 3])
    step = builder.broadcast("bb", step, [1, 1], mode="bidirectional")
    step = builder.reshape("r", step, [0, -1], special_zero=True)
    step = builder.clamp("c", step, -100, 100)
    step = builder.convert("v", step, "i32")
    step = builder.elementwise("FloorMod", "f", [step, builder.constant("m", np.int32(64))])
    step = builder.elementwise("Mod", "g", [step, builder.constant("n", np.int32(33))])
    step = builder.elementwise("BitwiseAnd", "w", [step, builder.constant("o", np.int32(29))])
    builder.result(builder.convert("y", step, "f32"))
    return builder.model


@pytest.mark.parametrize("name", ON_CPU)
def test_every_layer_that_this_package_makes_runs_on_the_cpu(core: Any, name: str) -> None:
    model = chain(name)
    x = np.array([[301, 320, 300], [999, 20, 333]], NUMERIC[name].memory)
    compiled = core.compile_model(peer(core, model), "CPU")
    assert same(compiled({"x": x})["y"], model.run({"x": x})["y"])


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[3] / "examples" / "openvino").glob("*.xml")), ids=str)
def test_the_examples_run_on_the_cpu(core: Any, path: Path) -> None:
    model = read(path)
    inputs = {
        name: values(type_.element, tuple(int(str(n)) for n in type_.shape or ()), 7)
        for name, type_ in model.inputs.items()
    }
    compiled = core.compile_model(core.read_model(path), "CPU")
    ours = model.run(inputs)
    for i, name in enumerate(ours):
        assert same(compiled(inputs)[i], ours[name])


def test_versions_10_and_11_and_names_are_understood_alike(core: Any) -> None:
    for version in (10, 11):
        builder = Builder("names", version=version)
        x = builder.parameter("x", "f32", (2,), names=["p,q", "r"])
        builder.result(builder.subtract("s", x, x, names=["t", "u"]))
        theirs = peer(core, builder.model)
        added = ({"x"}, {"s"}) if version == 10 else (set(), set())
        assert set(theirs.inputs[0].names) == {"p,q", "r"} | added[0]
        assert set(theirs.outputs[0].names) == {"t", "u"} | added[1]


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("second_result", ["another", "input", "same"])
def test_names_of_layers_are_names_of_tensors_in_version_10(core: Any, version: int, second_result: str) -> None:
    outcomes: Counter[bool] = Counter()
    for a, b, first, second, sub, out in itertools.product(
        "ab", "ab", ("", "a", "b"), ("", "a", "b"), "as", ("", *"ay")
    ):
        builder = Builder("names", version=version)
        x, y = (
            builder.parameter(name, "f32", (2,), names=filter(None, [tensor]))
            for name, tensor in ((a, first), (b, second))
        )
        y = builder.subtract(sub, x, y, names=filter(None, [out]))
        builder.result(y, "r")
        last = {"another": builder.subtract("t", x, x, names=["t"]), "input": x, "same": y}
        builder.result(last[second_result], "q")
        xml = builder.model.to_bytes()
        theirs = _refusal(core.read_model, *xml)
        ours = _refusal(read, *xml)
        assert ("names have collisions" in theirs) == (": in version 10 of the format " in ours), (theirs, ours)
        outcomes[bool(ours)] += 1
    assert outcomes[False]
    assert bool(outcomes[True]) == (version == 10)


def _refusal(reading: Any, *files: bytes) -> str:
    try:
        reading(*files)
    except (RuntimeError, FileFormatError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("name", [name for name, row in NUMERIC.items() if row.bits >= 8 and row.kernel != "table"])
def test_types_that_openvino_replaces_in_version_10_are_named(core: Any, name: str, version: int) -> None:
    builder = Builder("old", version=version)
    x = builder.parameter("x", name, (2,))
    builder.result(builder.subtract("s", x, x))
    theirs = peer(core, builder.model)
    found = [
        f"in version 10 of the format the runtime has the {side} {called!r} as {other} instead of {name}; write the "
        "model in version 11"
        for side, called, ports in (("input", "x", theirs.inputs), ("result", "s", theirs.outputs))
        if (other := ports[0].element_type.get_type_name()) != name
    ]
    assert builder.model.replaced == builder.model.notes == found
    (occurrence,) = occurrences(builder.model)
    assert list(occurrence.notes) == found
    (trial,) = check(builder.model, "openvino-cpu@2026.4.1", run=True).trials
    assert trial.unlike == (f"there is nothing to compare with: {found[0]}" if found else "")
    assert bool(trial.outputs) != bool(found)


@pytest.mark.parametrize("tensors", [
    ("a", "a"), ("b", "a"), ("a,x,z", "z,x,q"), ("a,b", "b"), ("x", "x"), ("a,a", "a_1"), ("a_1,a", "a"),
])  # fmt: skip
def test_inputs_of_one_name_are_named_as_openvino_names_them(core: Any, tensors: tuple[str, str]) -> None:
    builder = Builder("names")
    a, b = (
        builder.parameter(name, "i32", (2,), names=stated.split(","))
        for name, stated in zip("ab", tensors, strict=True)
    )
    builder.result(builder.subtract("y", a, b))
    values = [np.int32([5, 6]), np.int32([1, 3])]
    theirs = core.compile_model(peer(core, builder.model), "CPU")
    assert all(name in one.names for name, one in zip(builder.model.inputs, theirs.inputs, strict=True))
    inputs = dict(zip(builder.model.inputs, values, strict=True))
    assert same(theirs(inputs)[0], builder.model.run(inputs)["y"])
    for i, one in enumerate(theirs.inputs):
        for name in one.names:
            again = {name if k == i else own: value for k, (own, value) in enumerate(inputs.items())}
            assert same(theirs(again)[0], builder.model.run(again)["y"])


# ---- what openvino writes -------------------------------------------------------------------------------------


def their_model() -> Any:
    x = ov.opset1.parameter([2, -1], np.float32, name="x")
    k = ov.opset1.constant(np.float32([[1, 2, 3]]))
    node = ov.opset1.subtract(x, k, name="s")
    return ov.Model([ov.opset1.result(node, name="r"), ov.opset1.result(ov.opset1.relu(node))], [x], "theirs")


def test_an_openvino_model_is_read() -> None:
    model = read(their_model())
    (node,) = model.subtractions()
    assert (model.name, node.a.shape, node.b.shape) == ("theirs", (2, None), (1, 3))
    assert model.files == ()
    assert np.array_equal(model.layers[-1].sources()[0].port.type.shape or (), (2, 3))


def test_half_precision_is_not_forced_on_an_openvino_model() -> None:
    x = ov.opset1.parameter([1], np.float32, name="x")
    k = ov.opset1.constant(np.float32([1 + 2**-20]))
    model = read(ov.Model([ov.opset1.result(ov.opset1.subtract(x, k))], [x], "m"))
    (result,) = model.run({"x": np.float32([1])}).values()
    assert result.tolist() == [-(2.0**-20)]


def test_what_openvino_wrote_is_written_so_that_it_reads_it_again(core: Any, tmp_path: Path) -> None:
    ov.serialize(their_model(), tmp_path / "theirs.xml")
    model = read(tmp_path / "theirs.xml")
    model.save(tmp_path / "ours.xml")
    before, after = (core.compile_model(tmp_path / f"{name}.xml", "CPU") for name in ("theirs", "ours"))
    x = values("f32", (2, 3), 8)
    assert all(same(before([x])[i], after([x])[i]) for i in range(2))


def test_an_empty_constant_of_openvino_is_read(tmp_path: Path) -> None:
    empty = ov.op.Constant(ov.Type.f32, ov.Shape([0, 3]), [])
    ov.serialize(ov.Model([ov.opset1.result(empty)], [], "m"), tmp_path / "m.xml")
    (array,) = read(tmp_path / "m.xml").run({}).values()
    assert array.shape == (0, 3)


def test_an_empty_constant_is_read_by_openvino(core: Any) -> None:
    builder = Builder()
    builder.result(builder.constant("k", np.zeros((0, 3), np.float32)))
    assert list(peer(core, builder.model).outputs[0].shape) == [0, 3]


# ---- every type name, and inference of every shape ------------------------------------------------------------


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_every_element_type_name_is_openvinos(core: Any, name: str) -> None:
    builder = Builder()
    x = builder.parameter("x", name, (2,))
    builder.result(x)
    assert peer(core, builder.model).inputs[0].element_type.get_type_name() == name


INFERRED = [
    ("Reshape", "2,?", [0, -1], {"special_zero": "true"}),
    ("Reshape", "?,3", [3, -1], {"special_zero": "false"}),
    ("Reshape", "2,3", [3, -1], {"special_zero": "false"}),
    ("Reshape", "0,3", [3, -1], {"special_zero": "false"}),
    ("Reshape", "2,3", [2, 0, -1], {"special_zero": "true"}),
    ("Reshape", "2,3", [4, 2], {"special_zero": "false"}),
    ("Reshape", "", [1, 1], {"special_zero": "false"}),
    ("Reshape", "?,3", [0, -1], {"special_zero": "true"}),
    ("Reshape", "?,3,4", [0, -1, 2], {"special_zero": "true"}),
    ("Reshape", "?,3,4", [0, 5, -1], {"special_zero": "true"}),
    ("Reshape", "?,?,4", [0, 0, -1], {"special_zero": "true"}),
    ("Reshape", "?,0", [0, -1], {"special_zero": "true"}),
    ("Reshape", "1..4,3", [-1, 3], {"special_zero": "false"}),
    ("Reshape", "?,3", [-1, 4], {"special_zero": "false"}),
    ("Reshape", "?,3", [3, 0], {"special_zero": "true"}),
    ("Reshape", "0,3", [0, -1], {"special_zero": "false"}),
    ("Reshape", "?,3,4", [4, -1, 0], {"special_zero": "true"}),
    ("Unsqueeze", "2,?", [0, -1], {}),
    ("Unsqueeze", "...", [0], {}),
    ("Unsqueeze", "2", [4], {}),
    ("Squeeze", "1,2,1", [0, -1], {}),
    ("Squeeze", "1..4,2", [0], {}),
    ("Squeeze", "2..4,2", [0], {}),
    ("Squeeze", "2,1", [0], {}),
    ("Broadcast", "3", [2, 3], {"mode": "numpy"}),
    ("Broadcast", "?", [2, 3], {"mode": "numpy"}),
    ("Broadcast", "2..4", [2, 1], {"mode": "numpy"}),
    ("Broadcast", "3", [2, 1], {"mode": "numpy"}),
    ("Broadcast", "3,1", [2, 1, 4], {"mode": "bidirectional"}),
    ("Broadcast", "3", [2, 4], {"mode": "bidirectional"}),
    ("Broadcast", "2,3", [3], {"mode": "numpy"}),
]


@pytest.mark.parametrize(("kind", "shape", "numbers", "data"), INFERRED, ids=str)
def test_shapes_are_inferred_as_openvino_does(core: Any, kind: str, shape: str, numbers: Any, data: Any) -> None:
    builder = Builder()
    x = builder.layer("Parameter", "x", data={"shape": shape, "element_type": "f32"})
    y = builder.constant("y", np.int64(numbers))
    opset = "opset3" if kind == "Broadcast" else None
    try:
        made = builder.layer(kind, "z", [Ref(x, 0), y], data, opset=opset)
    except ShapeError:
        # Not to be made here; the same layer by openvino's own hands.
        parameter = ov.op.Parameter(ov.Type.f32, ov.PartialShape(f"[{shape}]"))
        words = {"special_zero": data.get("special_zero") == "true"} if kind == "Reshape" else {}
        words = {"broadcast_spec": data["mode"].upper()} if kind == "Broadcast" else words
        function = getattr(ov.opset3 if kind == "Broadcast" else ov.opset1, kind.lower())
        with pytest.raises(RuntimeError):
            function(parameter, np.int64(numbers), **words)
        return
    builder.result(Ref(made, 0))
    theirs = peer(core, builder.model).outputs[0].partial_shape
    ours = builder.model.outputs["z"].shape
    assert theirs == ov.PartialShape("..." if ours is None else str(list(map(_dim, ours))).replace("'", ""))


@pytest.mark.parametrize(("kind", "shape", "number", "data"), [
    ("Squeeze", "2,1", 1, {}), ("Unsqueeze", "2", 1, {}), ("Reshape", "1", 1, {"special_zero": "false"}),
    ("Broadcast", "1", 1, {"mode": "numpy"}),
])  # fmt: skip
@pytest.mark.parametrize("name", [name for name, row in NUMERIC.items() if row.is_integer])
def test_axes_and_sizes_are_of_the_integers_that_openvino_reads(
    core: Any, kind: str, shape: str, number: int, data: dict[str, str], name: str
) -> None:
    element = NUMERIC[name]
    numbers = Tensor(name, np.array([number], np.uint8)) if element.bits < 8 else np.array([number], element.memory)
    builder = Builder()
    x = builder.layer("Parameter", "x", data={"shape": shape, "element_type": "f32"})
    given = [Ref(x, 0), builder.constant("y", numbers)]
    opset = "opset3" if kind == "Broadcast" else None
    parameter = ov.op.Parameter(ov.Type.f32, ov.PartialShape(f"[{shape}]"))
    constant = ov.op.Constant(getattr(ov.Type, name), ov.Shape([1]), [number])
    words: dict[str, Any] = {"special_zero": False} if kind == "Reshape" else {}
    try:
        getattr(ov.opset3 if opset else ov.opset1, kind.lower())(parameter, constant, **words)
    except RuntimeError:
        with pytest.raises(DTypeError) as found:
            builder.layer(kind, "z", given, data, opset=opset)
        assert str(found.value).endswith(f"(input 1) is of {name}; expected integers of 4 bits or more, at layer 2 'z'")
        return
    builder.result(Ref(builder.layer(kind, "z", given, data, opset=opset), 0))
    assert builder.model.outputs["z"].shape is not None
    peer(core, builder.model)


def _dim(dim: Any) -> Any:
    if isinstance(dim, tuple):
        return f"{dim[0]}..{'' if dim[1] is None else dim[1]}"
    return "?" if dim is None else dim


def test_the_types_of_this_package_are_all_spelled() -> None:
    assert [TYPES[name] for name in SPELLINGS] == list(NUMERIC.values())


SPREAD = """<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="{shape}" element_type="f32"/>
<output><port id="0" precision="FP32"/></output></layer>
<layer id="1" name="k" type="Parameter" version="opset1"><data shape="{count}" element_type="i64"/>
<output><port id="0" precision="I64"/></output></layer>
<layer id="2" name="b" type="Broadcast" version="{opset}"><data {mode}/><input><port id="0"/><port id="1"/></input>
<output><port id="2" precision="FP32"/></output></layer>
<layer id="3" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>"""
"""A Broadcast to a shape that is known when it runs."""


@pytest.mark.parametrize("count", ["", "1", "2", "3", "?", "1,2", "..."])
@pytest.mark.parametrize("shape", ["", "3", "1", "2,3", "1,1,3", "?", "?,3", "1..4,2", "..."])
@pytest.mark.parametrize("mode", ["", 'mode="numpy"', 'mode="BIDIRECTIONAL"'])
def test_a_broadcast_to_a_shape_of_a_known_count_has_the_dims_that_openvino_infers(
    core: Any, mode: str, shape: str, count: str
) -> None:
    xml = SPREAD.format(shape=shape, count=count, opset="opset3", mode=mode).encode()
    try:
        theirs = core.read_model(xml, b"").outputs[0].partial_shape
    except RuntimeError:
        with pytest.raises(ShapeError):
            read(xml)
        return
    (ours,) = read(xml).outputs.values()
    assert theirs == ov.PartialShape("..." if ours.shape is None else str(list(map(_dim, ours.shape))).replace("'", ""))


@pytest.mark.parametrize("opset", ["opset1", "opset2", "opset3", "opset16"])
@pytest.mark.parametrize("mode", ["numpy", "NumPy", "bidirectional", "explicit", "none", "x", ""])
def test_modes_of_broadcast_are_those_of_its_opset(core: Any, opset: str, mode: str) -> None:
    xml = SPREAD.format(shape="3", count="2", opset=opset, mode=f'mode="{mode}"').encode()
    try:
        core.read_model(xml, b"")
    except RuntimeError as error:
        if "get_input_size() == 3" in str(error):  # of a layer that this package keeps as it is
            return
        with pytest.raises(FileFormatError, match=f"attribute 'mode' is '{mode}'; expected numpy, explicit, none"):
            read(xml)
    else:
        read(xml)
