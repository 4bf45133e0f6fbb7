"""Valid nodes of every version of every operator of ONNX: types, attributes, optional inputs, and the values they want.

A node is plain data. Where the standard's rules for an operator's inputs are simple, they stand here as a *form*, which
draws shapes, attributes and values by the version's schema. All other operators begin with one of ONNX's own node
tests, at any opset whose checker accepts it, with some of its attributes and inputs left out or changed and with other
element types. So a draft is mostly valid; the checker and onnxruntime decide before anything is compared.
"""

from __future__ import annotations

import functools
import importlib
import random
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    helper,
)
from onnx.defs import OpSchema

from differential import contrib_forms, ml_forms, node_forms, onnx_worker  # noqa: F401 (forms are registered)
from differential.node_drafts import (
    CONTRIB,
    FORMS,
    LEGACY,
    NUMBERS,
    RANDOM,
    WORDS,
    Draft,
    Input,
    Spec,
    kind_of,
    schema_of,
    split,
    versions,
)

__all__ = ["FORMS", "LEGACY", "NUMBERS", "RANDOM", "Draft", "Spec", "build", "draw", "more", "versions"]

Array = np.ndarray[Any, Any]

FIRST: Spec = ("SequenceConstruct", (("float", (2, 2), "any"), ("float", (2, 2), "any")), (), 1)
"""A sequence of floats, that chains begin with."""
ONE: Spec = ("Identity", (("float", (2, 2), "any"),), (), 1)


def _of(value: str) -> Input:
    """What reads a value of a node before."""
    return ("", (), f"@{value}")


def _optionals(first: Spec) -> tuple[Spec, int, tuple[Spec, ...]]:
    """An optional of a value, and what is in it."""
    return first, 15, (("Optional", (_of("v0"),), (), 1), ("OptionalHasElement", (_of("v1"),), (), 1),
                       ("OptionalGetElement", (_of("v1"),), (), 1))  # fmt: skip


READERS = ("Sub", "Add", "Mul", "Max")
"""Nodes that may read what an operator of onnxruntime's own makes, whose type ONNX does not know."""
Chain = tuple[Spec, int, tuple[Spec, ...]]
CHAINS: dict[str, tuple[Chain, ...]] = {
    "SequenceAt": ((FIRST, 11, (("SequenceAt", (_of("v0"), ("int64", (), "=0")), (), 1),)),),
    "SequenceErase": (
        (FIRST, 11, (("SequenceErase", (_of("v0"),), (), 1), ("ConcatFromSequence", (_of("v1"),), (("axis", 1),), 1))),
    ),
    "SequenceInsert": ((FIRST, 11, (("SequenceInsert", (_of("v0"), ("float", (2, 2), "any")), (), 1),)),),
    "SequenceLength": ((FIRST, 11, (("SequenceLength", (_of("v0"),), (), 1),)),),
    "ConcatFromSequence": (
        (FIRST, 11, (("ConcatFromSequence", (_of("v0"),), (("axis", 0), ("new_axis", 1)), 1),)),
    ),
    "Optional": (
        _optionals(FIRST), _optionals(ONE),
        (("Optional", (), (("type", ("type", "float")),), 1), 15, (("OptionalHasElement", (_of("v0"),), (), 1),)),
        (("Optional", (), (("type", ("type", "seq(float)")),), 1), 15, (("OptionalHasElement", (_of("v0"),), (), 1),)),
    ),
}  # fmt: skip
CHAINS |= {"OptionalHasElement": CHAINS["Optional"], "OptionalGetElement": CHAINS["Optional"][:2]}
"""Of an operator: nodes that follow one node, and the first opset that has them all."""


# ---- ONNX's node tests --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Base:
    """A node test of one node: the node, the opset of its domain, and its inputs (``None`` where they are left out)."""

    name: str
    node: NodeProto
    opset: int
    inputs: tuple[Any, ...]


@functools.cache
def _modules() -> dict[str, list[str]]:
    """The modules of ONNX's node tests by operator, without importing one: each takes time."""
    import onnx.backend.test.case.node as package

    found: dict[str, list[str]] = {}
    home = Path(package.__path__[0])
    for path in sorted(home.rglob("*.py")):
        module = ".".join(path.relative_to(home).with_suffix("").parts)
        for op in set(re.findall(r'make_node\(\s*"(\w+)"', path.read_text("utf-8"))):
            found.setdefault(op, []).append(module)
    return found


@functools.cache
def bases(op: str) -> tuple[Base, ...]:
    """The node tests of an operator that have one node and tensors alone."""
    import onnx.backend.test.case.node as package

    domain, own = split(op)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in _modules().get(own, []) if domain != CONTRIB else []:
            importlib.import_module(f"{package.__name__}.{name}")
    found = []
    for case in sorted(package._NodeTestCases, key=lambda one: one.name):
        model = case.model
        if model is None or len(model.graph.node) != 1 or not case.data_sets:
            continue
        if (model.graph.node[0].domain, model.graph.node[0].op_type) != (domain, own) or "_expanded" in case.name:
            continue  # one of a function body of another operator is there only once that operator was drawn
        given = [_array(value) for value in case.data_sets[0][0]]
        named = iter(given)
        if all(isinstance(value, np.ndarray) and value.size < 5000 for value in given):
            opset = next((row.version for row in model.opset_import if row.domain == domain), 0)
            inputs = tuple(next(named, None) if name else None for name in model.graph.node[0].input)
            if opset and not any(
                a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in model.graph.node[0].attribute
            ):
                found.append(Base(case.name, model.graph.node[0], opset, inputs))
    return tuple(found)


def _array(value: Any) -> Any:
    if isinstance(value, TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


# ---- drawing ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Nodes:
    """What :func:`draw` says of a model's nodes, and where and how they stand in it.

    The version is that of the operator's own domain, where it is not the main one.
    """

    op: str = "Identity"
    opset: int = 13
    version: int = 1
    inputs: tuple[Any, ...] = (("float", (2,), "any"),)
    attributes: tuple[tuple[str, Any], ...] = ()
    outputs: int = 1
    test: str = ""
    without: tuple[str, ...] = ()
    dtype: str = ""
    drop: int = 0
    more: tuple[Spec, ...] = ()
    constants: str = "none"
    dims: str = "static"
    place: str = "graph"
    repeat: str = ""
    linked: bool = False
    numbers: str = ""
    seed: int = 0


ARITHMETIC = ("Sub", "Sub", "Add", "Mul", "Neg", "Abs", "Identity", "Max", "Where")


def more(source: random.Random, opset: int, most: int = 3) -> tuple[Spec, ...]:
    """Some nodes more of the same opset; every other one of arithmetic on shapes that come twice."""
    rows = [row[0] for row in versions() if row[1] <= opset <= row[2] and row[0] in FORMS and not split(row[0])[0]]
    found = []
    for _ in range(source.randint(1, most)):
        plain = source.random() < 0.5
        name = source.choice([one for one in ARITHMETIC if one in rows] if plain else rows)
        draft = Draft(source, schema_of(name, opset))
        FORMS[name](draft)
        op, inputs, attributes, outputs = draft.spec()
        if plain and source.random() < 0.7 and not any(row[0] in ("broadcast", "axis") for row in attributes):
            shape = source.choice([(2, 3), (2,), (4, 1, 2)])
            inputs = tuple(("bool" if one[0] == "bool" else "float", shape, one[2]) for one in inputs)
        found.append((op, inputs, attributes, outputs))
    return tuple(found)


def _drawn_operator(source: random.Random, op: str) -> tuple[str, int, int]:
    """An operator, and the first and the last of the opsets of its domain that it is drawn at."""
    if split(op)[0] == CONTRIB:
        return op, 1, 1
    if op:
        return source.choice([row for row in versions() if row[0] == op])
    domain = source.choices(["", "other", CONTRIB], [0.8, 0.1, 0.1])[0]
    if domain == CONTRIB:
        return source.choice([name for name in FORMS if split(name)[0] == CONTRIB]), 1, 1
    return source.choice([row for row in versions() if bool(split(row[0])[0]) == (domain == "other")])


def draw(source: random.Random, op: str = "", opset: int = 0, version: int = 0) -> dict[str, Any]:
    """Draw the fields of a case that say what its nodes are.

    Args:
        op, opset, version: the operator, the main domain's opset and the operator's domain's, where they are given.
    """
    name, since, last = _drawn_operator(source, op)
    at = opset or source.choice([since, last, source.randint(since, last)])
    if split(name)[0]:
        version = version or source.randint(since, last)
        at = opset or source.randint(1, onnx.defs.onnx_opset_version())
    schema = schema_of(name, at, version)
    own: dict[str, Any] = {"op": name, "opset": at, **({"version": version} if version else {})}
    old = name in LEGACY and at < 8
    if name in FORMS and (old or source.random() < 0.75 or not bases(name)):
        draft = Draft(source, schema)
        FORMS[name](draft)
        _, inputs, attributes, outputs = draft.spec()
        reading = source.choice(["", "", *READERS]) if split(name)[0] == CONTRIB else ""
        after = {"more": ((reading, (_of("v0"), _of("v0")), (), 1),)} if reading else {}
        return {**own, "inputs": inputs, "attributes": attributes, "outputs": outputs, **after}
    tests = bases(name)
    if name in CHAINS and (at < 18 or not tests or source.random() < 0.5):
        first, opset_since, rest = source.choice(CHAINS[name])
        return {"op": first[0], "opset": max(at, opset_since), "inputs": first[1], "attributes": first[2], "more": rest}
    if not tests:
        return {**own, "inputs": (), "outputs": max(schema.min_output, 1)}
    test = source.choice(tests)
    stated = [a.name for a in test.node.attribute]
    has = {a.name: a.required for a in schema.attributes.values()}
    without = tuple(a for a in stated if a not in has or (source.random() < 0.15 and not has[a]))
    changed = [_changed(source, schema, a) for a in test.node.attribute
               if source.random() < 0.15 and a.name not in without]  # fmt: skip
    dtype = source.choice(["", *_floats(schema, test)]) if source.random() < 0.5 else ""
    most = max(len(test.inputs) - schema.min_input, 0)
    drop = source.randint(0, min(most, 2)) if source.random() < 0.3 else 0
    return {**own, "test": test.name, "without": without, "dtype": dtype, "drop": drop,
            "attributes": tuple(row for row in changed if row is not None),
            "inputs": (), "outputs": len(test.node.output)}  # fmt: skip


def _floats(schema: OpSchema, test: Base) -> list[str]:
    """The element types that all inputs of floats of a test may have instead."""
    found: set[str] | None = None
    for i, array in enumerate(test.inputs):
        if array is not None and array.dtype == np.float32 and schema.inputs:
            row = schema.inputs[min(i, len(schema.inputs) - 1)]
            may = {m[1] for text in row.types if (m := re.fullmatch(r"tensor\((\w+)\)", text))}
            found = may if found is None else found & may
    return sorted((found or set()) - {"string", "bool", "complex64", "complex128"})


_TEXTS = {
    "auto_pad": ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"], "mode": ["nearest", "linear", "cubic", "constant"],
    "direction": ["forward", "reverse", "bidirectional"], "reduction": ["none", "sum", "mean", "add", "mul", "max"],
    "padding_mode": ["zeros", "border", "reflection"], "approximate": ["none", "tanh"],
    "coordinate_transformation_mode": ["half_pixel", "output_half_pixel"],
}  # fmt: skip


def _changed(source: random.Random, schema: OpSchema, a: AttributeProto) -> tuple[str, Any] | None:
    """An attribute with a value near the one that a test states."""
    if a.type == AttributeProto.INT:
        return a.name, source.choice([0, 1, a.i + 1, a.i - 1, -a.i])
    if a.type == AttributeProto.FLOAT:
        return a.name, source.choice([0.0, 1.0, 0.5, a.f * 2])
    if a.type == AttributeProto.INTS and a.ints:
        at = source.randrange(len(a.ints))
        return a.name, tuple(n + source.choice([-1, 1]) if i == at else n for i, n in enumerate(a.ints))
    if a.type == AttributeProto.STRING and a.name in _TEXTS:
        return a.name, source.choice(_TEXTS[a.name])
    return None


# ---- values -------------------------------------------------------------------------------------------------------


def numpy_of(dtype: str) -> Any:
    """The NumPy type of an element type of ONNX."""
    return np.dtype(helper.tensor_dtype_to_np_dtype(NUMBERS[dtype])) if dtype != "string" else np.dtype(object)


def value(one: Input, source: np.random.Generator) -> Any:
    """Make the array of an input, or its map."""
    if match := re.fullmatch(r"map\((\w+),(\w+)\)", one[0]):
        keys = list(WORDS) if match[1] == "string" else range(len(WORDS))
        return {keys[i]: _value((match[2], (1,), "any"), source)[0].item() if match[2] != "string" else WORDS[-1 - i]
                for i in source.permutation(len(WORDS))[: one[1][0]]}  # fmt: skip
    return np.asarray(_value(one, source))


def _value(one: Input, source: np.random.Generator) -> Any:
    dtype, shape, fill = one
    if dtype == "string":
        words = ["1.5", "2", "-7"] if fill == "digits" else WORDS
        return np.array([words[i] for i in source.integers(0, len(words), shape).reshape(-1)], object).reshape(shape)
    to = numpy_of(dtype)
    if fill.startswith("="):
        numbers = [float(text) if "." in text or "e" in text else int(text) for text in fill[1:].split(",") if text]
        return (
            np.array(numbers, np.float64 if any(isinstance(n, float) for n in numbers) else object)
            .reshape(shape)
            .astype(to)
        )
    if match := re.fullmatch(r"(0?)<(\d+)", fill):
        size = int(match[2])
        return source.integers(0 if match[1] else -size, max(size, 1), shape).astype(to)
    whole = dtype.startswith(("int", "uint"))
    if dtype == "bool" or fill == "bool":
        return (source.random(shape) < 0.5).astype(to)
    if fill in ("few", "zeros", "bytes"):
        own = np.iinfo(to) if fill == "bytes" else None
        low, top = (own.min, own.max + 1) if own else (0, 3 if fill == "few" else 1)
        return source.integers(low, top, shape).astype(to)
    if fill == "chance":
        return source.random(shape).astype(to)
    if whole:
        bits = 8 * to.itemsize if not dtype.endswith(("2", "4")) or dtype.endswith(("32", "64")) else int(dtype[-1])
        top = min(1 << (bits - 1), 1 << 40)
        low = 1 if fill == "positive" else (0 if dtype.startswith("u") else -top)
        if source.random() < 0.7:
            top = min(top, 8)
            low = max(low, -8)
        return source.integers(low, max(top, low + 1), shape).astype(to)
    with np.errstate(all="ignore"):
        if fill == "positive":
            found = source.random(shape) * 3 + 0.1
        elif fill == "unit":
            found = source.random(shape) * 1.8 - 0.9
        else:
            found = source.standard_normal(shape) * 3
        return np.asarray(found).astype(to)


NUMBERS_OF = {"far": (1, 100), "large": (30, 0)}
"""How numbers around 0 are multiplied and moved: variances of those that are far from it cancel, exponentials of large
ones overflow."""


def _spread(array: Any, one: Input, numbers: str) -> Any:
    """The floats of an input that takes any, multiplied and moved."""
    if not numbers or one[0] not in WIDE or one[2] != "any":
        return array
    if numbers == "edge":
        edges = np.array(EDGES).astype(array.dtype)
        return np.where(np.arange(array.size).reshape(array.shape) % 2, array, np.resize(edges, array.shape))
    factor, far = NUMBERS_OF[numbers]
    return np.asarray(array * array.dtype.type(factor) + array.dtype.type(far))


EDGES = (np.nan, -0.0, np.inf, 0.0, -np.inf)
"""What every other number is where numbers are edges."""
WIDE = ("float", "double")
"""Floats whose rounding stays small where numbers are moved."""

# ---- building -----------------------------------------------------------------------------------------------------


@dataclass
class Built:
    """A graph in the making: nodes, their stored values, and what is given when it runs.

    Attributes:
        opset, version: of the main domain, and of the one other domain that there can be.
    """

    opset: int = 13
    version: int = 1
    nodes: list[NodeProto] = field(default_factory=list)
    stored: dict[str, Array] = field(default_factory=dict)
    feeds: dict[str, Any] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)

    def imports(self) -> list[OperatorSetIdProto]:
        """What a model of these nodes imports."""
        others = sorted({node.domain for node in self.nodes} - {""})
        rows = [("", self.opset), *((name, 1 if name == CONTRIB else self.version) for name in others)]
        return [helper.make_opsetid(*row) for row in rows]


def attribute(schema: OpSchema, name: str, stated: Any) -> AttributeProto:
    """An attribute of a value in plain data, of the type that the schema has for it."""
    kind = kind_of(schema.attributes[name]) if name in schema.attributes else None
    if kind == AttributeProto.TENSOR:
        _, dtype, dims, numbers = stated
        array = np.array(numbers).astype(numpy_of(dtype)).reshape(dims)
        return helper.make_attribute(name, onnx.numpy_helper.from_array(array, name))
    if kind == AttributeProto.TYPE_PROTO:
        return helper.make_attribute(name, type_of(stated[1]))
    if kind == AttributeProto.GRAPH:
        _, op, number = stated
        ends = [helper.make_tensor_value_info(f"{name}_{end}", number, [None] * 4) for end in ("in", "out")]
        node = helper.make_node(op, [f"{name}_in"], [f"{name}_out"])
        return helper.make_attribute(name, helper.make_graph([node], name, ends[:1], ends[1:]))
    made = AttributeProto(name=name)
    if kind in (AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS) and not isinstance(stated, tuple):
        stated = (stated,)
    if isinstance(stated, tuple) and not stated:
        made.type = AttributeProto.AttributeType.Name(kind or AttributeProto.INTS)
        return made
    if kind == AttributeProto.FLOAT:
        stated = float(stated)
    if kind == AttributeProto.FLOATS:
        stated = tuple(map(float, stated))
    return helper.make_attribute(name, stated)


def add(built: Built, spec: Spec, source: np.random.Generator, constants: str, numbers: str = "") -> None:
    """Add a node to a graph, with its inputs."""
    op, inputs, attributes, outputs = spec
    names = []
    for one in inputs:
        if one[2].startswith("@"):
            names.append(one[2][1:])
        elif not one[0]:
            names.append("")
        else:
            array = _spread(value(one, source), one, numbers)
            names.append(_given(built, array, fixed=one[2].startswith("="), constants=constants))
    schema = schema_of(op, built.opset, built.version)
    _node(built, op, names, [attribute(schema, *row) for row in attributes], outputs)


def _given(built: Built, array: Any, *, fixed: bool, constants: str) -> str:
    name = f"x{len(built.feeds) + len(built.stored) + len(built.nodes)}"
    if isinstance(array, dict):
        built.feeds[name] = array
        return name
    narrow = array.dtype.name in ("int4", "uint4", "int2", "uint2", "float4_e2m1fn")
    if narrow or (constants == "all") or (fixed and constants in ("initializer", "node")):
        if constants == "node" and not narrow:
            tensor = onnx.numpy_helper.from_array(array, name)
            built.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            built.stored[name] = array
    else:
        built.feeds[name] = array
    return name


def _node(built: Built, op: str, inputs: list[str], attributes: list[AttributeProto], outputs: int) -> None:
    names = [f"v{len(built.made) + i}" for i in range(outputs)]
    built.made += names
    domain, own = split(op)
    node = helper.make_node(own, inputs, names, domain=domain)
    node.attribute.extend(attributes)
    built.nodes.append(node)


def add_test(built: Built, case: Any, source: np.random.Generator) -> None:
    """Add the node of a node test, changed as the case says."""
    test = next((one for one in bases(case.op) if one.name == case.test), None)
    if test is None:
        raise ValueError(f"{case.op} has no node test {case.test}")
    names = []
    count = len(test.inputs) - case.drop
    schema = schema_of(case.op, case.opset, case.version)
    own = schema_of(case.op, test.opset, test.opset).inputs
    moved: dict[str, Any] = {}
    for i, had in enumerate(test.inputs[: max(count, 0)]):
        array = had
        name = own[min(i, len(own) - 1)].name.lower()
        if array is not None and i >= schema.max_input and name in schema.attributes:
            moved[name] = tuple(array.tolist()) if array.ndim else array.tolist()
            continue
        if array is None:
            names.append("")
            continue
        if case.dtype and array.dtype == np.float32:
            with np.errstate(all="ignore"):
                array = array.astype(numpy_of(case.dtype))
        fixed = array.dtype.kind in "iu" and array.ndim <= 1
        names.append(_given(built, array, fixed=fixed, constants=case.constants))
    changed = {**moved, **dict(case.attributes)}
    kinds = {name: kind_of(row) for name, row in schema.attributes.items()}
    kept = [a for a in test.node.attribute if a.name not in case.without and a.type == kinds.get(a.name, a.type)]
    attributes = [a for a in kept if a.name not in changed]
    attributes += [attribute(schema, name, stated) for name, stated in changed.items() if name not in case.without]
    _node(built, case.op, names, attributes, case.outputs)
    for i, name in enumerate(test.node.output):
        if not name and i < case.outputs:
            built.nodes[-1].output[i] = ""
            built.made[i - case.outputs] = ""


def build(case: Any) -> Built:
    """Make the nodes and values of a case with the fields that :func:`draw` gives."""
    source = np.random.default_rng(case.seed)
    built = Built(case.opset, case.version)
    if case.test:
        add_test(built, case, source)
    else:
        add(built, (case.op, case.inputs, case.attributes, case.outputs), source, case.constants, case.numbers)
    for spec in case.more:
        add(built, spec, source, case.constants, case.numbers)
    built.made = [name for name in built.made if name]
    if case.linked:
        link(built, source)
    return built


def link(built: Built, source: np.random.Generator) -> None:
    """Let nodes read what nodes before them make, where type and shape are those of what is given to them."""
    graph = GraphProto(name="g", node=built.nodes, output=[ValueInfoProto(name=name) for name in built.made])
    given = types(built)
    graph.input.extend(ValueInfoProto(name=name, type=type_) for name, type_ in given.items())
    graph.initializer.extend(tensor(*row) for row in built.stored.items())
    model = ModelProto(ir_version=ir_version(built.opset), opset_import=built.imports(), graph=graph)
    inferred = ModelProto.FromString(onnx_worker.infer_shapes(model.SerializeToString()))
    made = {one.name: one.type for one in inferred.graph.output}
    if any(node.domain == CONTRIB for node in built.nodes):  # whose types ONNX does not know
        made |= _computed_types(model, built)
    before: list[str] = []
    for node in built.nodes:
        for i, name in enumerate(node.input):
            alike = [one for one in before if name in given and made[one] == given[name]]
            if alike and source.random() < 0.8:
                node.input[i] = alike[source.integers(len(alike))]
        before += [name for name in node.output if name in made]
    read = {name for node in built.nodes for name in node.input}
    built.feeds = {name: array for name, array in built.feeds.items() if name in read}


def _computed_types(model: ModelProto, built: Built) -> dict[str, TypeProto]:
    """The types of what onnxruntime computes; none where it does not run the model."""
    try:
        came = onnx_worker.run(model.SerializeToString(), built.feeds)
    except onnx_worker.Failed:
        return {}
    return {
        one.name: helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for one, array in zip(model.graph.output, came, strict=True)
        if isinstance(array, np.ndarray) and array.dtype.kind not in "OUT"
    }


def types(built: Built, dims: str = "static") -> dict[str, TypeProto]:
    """The types of what is given; its dims stated, or named."""
    found = {}
    for name, array in built.feeds.items():
        if isinstance(array, dict):
            found[name] = map_type(array)
            continue
        number = TensorProto.STRING if array.dtype.kind in "OUT" else helper.np_dtype_to_tensor_dtype(array.dtype)
        shape = [n if dims == "static" else f"{name}_{i}" for i, n in enumerate(array.shape)]
        found[name] = helper.make_tensor_type_proto(number, shape)
    return found


def map_type(value: dict[Any, Any]) -> TypeProto:
    """The type of a map, by one of its items."""
    (key, item), *_ = value.items()
    kinds = {str: TensorProto.STRING, int: TensorProto.INT64, float: TensorProto.FLOAT}
    number = helper.make_tensor_type_proto(kinds[type(item)], [])
    return helper.make_map_type_proto(kinds[type(key)], number)


def type_of(text: str) -> TypeProto:
    """The type of a tensor or a sequence of tensors of unknown rank: ``float``, ``seq(float)``."""
    if text.startswith("seq("):
        return helper.make_sequence_type_proto(type_of(text[4:-1]))
    return helper.make_tensor_type_proto(NUMBERS[text], None)


def tensor(name: str, array: Array) -> TensorProto:
    """A stored value."""
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def ir_version(opset: int) -> int:
    """An IR version for an opset that onnxruntime reads."""
    return min(max(onnx.helper.find_min_ir_version_for([helper.make_opsetid("", opset)], ignore_unknown=True), 8), 13)


def describe(model: ModelProto) -> str:
    """A model in ONNX's text form, for people."""
    return onnx.printer.to_text(model)
