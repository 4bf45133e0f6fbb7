"""``spec``, ``diff`` and ``infer`` beside ONNX's registry and shape inference, and beside openvino's nodes.

Each inference is tried a second time on sizes: every choice of sizes that the rule joins has to lie in the inferred
shape, a refusal has to leave none, and where nothing is assumed the rule has to join all of them. ONNX has no tool for
axis and broadcast of versions 1 and 6: that rule is written here by hand.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import itertools
import json
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper

from differential.subtracting import same, weighted
from differential.surface import Difference, Surface

NAMES = {
    "onnx": {"subtract": "Sub", "add": "Add", "negative": "Neg"},
    "openvino": {"subtract": "Subtract", "add": "Add", "negative": "Negative"},
}
NEWEST = onnx.defs.onnx_opset_version()
LEGACY = 7
"""The first opset of NumPy's broadcasting."""
AXIS = "auto_broadcast.auto_broadcast_axis"
"""What openvino calls the axis."""
BOUND = 6
"""The largest size that is tried."""
TRIED = 150
"""Choices of sizes, at most."""
OWN_WORDS = ("notes", "broadcasting", "inference", "facts.constrained to")
"""What changes between two versions, in sentences of this package."""

ONNX_TYPES = {np.dtype(helper.tensor_dtype_to_np_dtype(n)).name if n != TensorProto.STRING else "string": n
              for n in TensorProto.DataType.values() if n}  # fmt: skip
OPENVINO_TYPES = {
    "uint1": "u1", "uint2": "u2", "uint4": "u4", "int4": "i4", "uint8": "u8", "int8": "i8", "uint16": "u16",
    "int16": "i16", "uint32": "u32", "int32": "i32", "uint64": "u64", "int64": "i64", "float16": "f16",
    "bfloat16": "bf16", "float32": "f32", "float64": "f64", "nf4": "nf4", "float4_e2m1fn": "f4e2m1",
    "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0",
    "boolean": "boolean", "string": "string", "u3": "u3", "u6": "u6",
}  # fmt: skip
NO_NUMBERS = ("boolean", "string", "u3", "u6")
"""Types that openvino's node takes, or whose elements no runtime subtracts: this package refuses them."""
UNSIGNED = (*(name for name in OPENVINO_TYPES if name.startswith("u")), "float8_e8m0fnu")
"""Types without a sign: a node that negates them is one, and does not compile."""
ARITY = {"subtract": 2, "add": 2, "negative": 1}


@dataclass(frozen=True)
class Case:
    """A version's row, what changed to another one, or an inference.

    Attributes:
        what: ``row``, ``diff`` or ``infer``. command: by the command line, as JSON.
        a, b: sizes, names, ``None`` or intervals; ``None`` for an unknown rank.
    """

    what: str = "infer"
    dialect: str = "onnx"
    operator: str = "subtract"
    version: Any = 1
    other: Any = 1
    command: bool = False
    types: tuple[str, str] = ("float32", "float32")
    a: Any = (2, 3)
    b: Any = (2, 3)
    attributes: tuple[tuple[str, Any], ...] = ()


# ---- drawing ------------------------------------------------------------------------------------------------------


def draw(source: random.Random) -> Case:
    """Draw a case."""
    what = weighted(source, {"infer": 20, "row": 1, "diff": 1})
    name = source.choice(tuple(NAMES))
    operator = weighted(source, {"subtract": 4, "add": 1, "negative": 1})
    version, other = (_version(source, name) for _ in range(2))
    if what != "infer":
        return Case(what, name, operator, version, other, source.random() < 0.2)
    known = tuple(ONNX_TYPES if name == "onnx" else OPENVINO_TYPES)
    a = source.choice(("float32", "float16", "float64")) if source.random() < 0.8 else source.choice(known)
    types = (a, a if source.random() < 0.95 else source.choice(known))
    shapes, attributes = _shapes(source), _attributes(source, name, version)
    return Case("infer", name, operator, version, other, False, types, *shapes, attributes)


def _shapes(source: random.Random) -> tuple[Any, Any]:
    """Two shapes, of which mostly one was made of the other: two random ones mostly do not join."""
    if source.random() < 0.2:
        return _shape(source), _shape(source)
    a = _shape(source, unknown=0)
    b = a[source.randint(0, len(a)) :] if source.random() < 0.4 else a
    b = b[: source.randint(0, len(b))] if source.random() < 0.15 else b
    b = tuple(dim if source.random() < 0.6 else _dim(source) if source.random() < 0.6 else 1 for dim in b)
    return (a, b) if source.random() < 0.75 else (b, a)


def _version(source: random.Random, name: str) -> Any:
    if name == "openvino":
        return weighted(source, {1: 6, "1": 1, f"opset{source.randint(1, 18)}": 4, 2: 1, "Subtract-1": 1})
    opset = source.choice((source.randint(-1, NEWEST + 2), source.choice((1, 6, 7, 13, 14)), 1, 6))
    return str(opset) if source.random() < 0.05 else opset


def _shape(source: random.Random, unknown: float = 0.1) -> Any:
    if source.random() < unknown:
        return None
    return tuple(_dim(source) for _ in range(weighted(source, {0: 1, 1: 3, 2: 4, 3: 3, 4: 1})))


def _dim(source: random.Random) -> Any:
    low = source.randint(0, 4)
    return weighted(source, {
        source.choice((0, 1, 2, 3, 5)): 8, 1: 2, source.choice("NM"): 3, None: 2,
        (low, source.choice((None, low + source.randint(1, 3)))): 2,
    })  # fmt: skip


def _attributes(source: random.Random, name: str, version: Any) -> tuple[tuple[str, Any], ...]:
    found: list[tuple[str, Any]] = []
    old = source.random() < (0.7 if version in range(LEGACY) else 0.05)
    if name == "openvino" and source.random() < 0.7:
        rule = ("none", "numpy", "pdpd", "pdpd", "NUMPY", "Pdpd", "explicit", "")
        found.append(("auto_broadcast", source.choice(rule) if source.random() < 0.3 else source.choice(rule[:4])))
    if (name == "openvino" or old) and source.random() < 0.6:
        found.append(("axis", source.choice((-2, -1, 0, 0, 1, 1, 2, 3))))
    if name == "onnx" and old:
        found.append(("broadcast", weighted(source, {0: 2, 1: 8, 2: 1})))
        if source.random() < 0.2:
            found.append(("consumed_inputs", (0, 0)))
    if source.random() < 0.03:
        odd = (("alpha", 1), ("axis", "1"), ("axis", 1.0), ("broadcast", "1"), ("consumed_inputs", 1),
               ("auto_broadcast", 1), ("broadcast", 0.0), ("axis", (1,)))  # fmt: skip
        chosen = source.choice(odd)
        found = [row for row in found if row[0] != chosen[0]] + [chosen]
    return tuple(found)


# ---- rows and what changed ----------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Compare a row, a change or an inference."""
    return {"row": _row, "diff": _changes, "infer": _inferred}[case.what](case)


def _of_command(*words: str) -> Any:
    """What a command prints as JSON; ``None`` where it refuses."""
    from minuend.cli import main

    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        status = main([*words, "--json"])
    if status not in (0, 2):
        raise Difference(f"minuend {' '.join(words)}: status {status}, {said.getvalue()[:200]}")
    return None if status else json.loads(out.getvalue())


def _named(case: Case, version: Any) -> str:
    return f"{case.dialect}:{NAMES[case.dialect][case.operator]}-{version}"


def _ours_row(case: Case) -> dict[str, Any] | None:
    import minuend as mn
    from minuend.errors import MinuendError
    from minuend.plain import plain
    from minuend.standards.dialects import dialect

    if case.command:
        found = _of_command("spec", _named(case, case.version))
        return found and dict(found["versions"][0])
    try:
        row = mn.spec(case.dialect, case.version, case.operator)
    except MinuendError:
        return None
    return {**plain(row), "spelled": [dialect(row.dialect).spell(one) for one in row.types]}


def _row(case: Case) -> str:
    ours = _ours_row(case)
    theirs = (_onnx_row if case.dialect == "onnx" else _openvino_row)(case.operator, case.version)
    if ours is None or theirs is None:
        same("whether there is such a version", ours is not None, theirs is not None)
        return "both refuse"
    facts = ours["facts"]
    for name, value in theirs.items():
        if name == "attributes":
            given: Any = {a["name"]: (a["type"], a["default"], a["required"]) for a in ours[name]}
        elif name in ("inputs", "outputs"):
            given = [(p["name"], p["type"]) for p in ours[name]]
        else:
            given = sorted(ours[name]) if name in ("types", "spelled") else ours[name] if name in ours else facts[name]
        same(name, given, value)
    return "equal"


def schema_of(operator: str, version: Any) -> Any:
    """A version in ONNX's registry; ``None`` where there is none."""
    with contextlib.suppress(onnx.defs.SchemaError):
        return onnx.defs.get_schema(NAMES["onnx"][operator], int(version), "")
    return None


def _onnx_row(operator: str, version: Any) -> dict[str, Any] | None:
    schema = schema_of(operator, version)
    if schema is None:
        return None
    (constraint,) = schema.type_constraints
    every = [*schema.inputs, *schema.outputs]
    return {
        "operator": schema.name, "version": schema.since_version, "spelled": sorted(constraint.allowed_type_strs),
        "attributes": {a.name: (a.type.name, helper.get_attribute_value(a.default_value) if a.default_value.type
                                else None, a.required) for a in schema.attributes.values()},
        "inputs": [(p.name, p.type_str) for p in schema.inputs],
        "outputs": [(p.name, p.type_str) for p in schema.outputs],
        "since_version": schema.since_version, "function": schema.has_function,
        "support_level": schema.support_level.name, "shape inference": schema.has_type_and_shape_inference_function,
        "type constraint": constraint.type_param_str, "data propagation": schema.has_data_propagation_function,
        "differentiable": any(p.differentiation_category.name == "Differentiable" for p in every),
    }  # fmt: skip


def opset_of(version: Any) -> str:
    """The opset of openvino that a version means; ``""`` where there is none with these operators."""
    _openvino()
    if version in (1, "1", "Subtract-1"):
        return "opset1"
    with contextlib.suppress(ImportError):
        if str(version).startswith("opset") and hasattr(importlib.import_module(f"openvino.{version}"), "subtract"):
            return str(version)
    return ""


@functools.cache
def _openvino_row(operator: str, version: Any) -> dict[str, Any] | None:
    ov = _openvino()

    if not (opset := opset_of(version)):
        return None
    taken, arity = [], ARITY[operator]
    for name, spelled in OPENVINO_TYPES.items():
        if name in NO_NUMBERS or (operator == "negative" and name in UNSIGNED):
            continue
        if isinstance(_node(opset, operator, [spelled] * arity, [(2,)] * arity, ()), ov.Node):
            taken.append(name)
    node = _node(opset, operator, ["f32"] * arity, [(2,)] * arity, ())
    stated = {name: ("string", default, False) for name, default in node.get_attributes().items()}
    if stated:
        stated["axis"] = ("int", -1, False)
    info = node.get_type_info()
    return {
        "operator": info.name, "versioned name": f"{info.name}-{info.version_id.removeprefix('opset')}",
        "types": sorted(taken), "attributes": stated, "version": 1,
    }  # fmt: skip


def _changes(case: Case) -> str:
    rows = [(_onnx_row if case.dialect == "onnx" else _openvino_row)(case.operator, v)
            for v in (case.version, case.other)]  # fmt: skip
    ours = _ours_changes(case)
    if ours is None or None in rows:
        same("whether there are such versions", ours is not None, None not in rows)
        return "both refuse"
    if case.dialect == "openvino":
        same("changes", ours, {})
        return "equal"
    old, new = (row for row in rows if row is not None)
    theirs: dict[str, tuple[set[Any], set[Any]]] = {}
    for key, name in (("spelled", "types"), ("attributes", "attributes")):
        theirs[name] = set(new[key]) - set(old[key]), set(old[key]) - set(new[key])
    for name in ("since_version", "function", "support_level", "shape inference", "type constraint",
                 "data propagation", "differentiable"):  # fmt: skip
        theirs[f"facts.{name}"] = ({new[name]}, {old[name]}) if new[name] != old[name] else (set(), set())
    for name in ours.keys() | theirs.keys():
        if name not in OWN_WORDS and not name.endswith(".doc"):
            same(name, ours.get(name, (set(), set())), theirs.get(name, (set(), set())))
    return "equal"


def _ours_changes(case: Case) -> dict[str, tuple[set[Any], set[Any]]] | None:
    import minuend as mn
    from minuend.errors import MinuendError
    from minuend.plain import plain
    from minuend.standards.dialects import dialect

    if case.command:
        found = _of_command("diff", _named(case, case.version), _named(case, case.other))
        rows = found and found["changes"]
    else:
        try:
            rows = plain(mn.diff(case.dialect, case.version, case.other, case.operator))
        except MinuendError:
            rows = None
    spell: Any = dialect(case.dialect).spell
    return None if rows is None else {
        row["field"]: (_parts(row, "added", spell), _parts(row, "removed", spell)) for row in rows
    }  # fmt: skip


def _parts(change: dict[str, Any], side: str, spell: Any) -> set[Any]:
    """What came or went; types as the dialect spells them."""
    return set(map(spell, change[side]) if change["field"] == "types" else change[side])


# ---- inference ----------------------------------------------------------------------------------------------------


def _inferred(case: Case) -> str:
    ours, why = _ours(case)
    theirs: Any = None
    if case.dialect == "openvino" or not any(isinstance(dim, tuple) for one in (case.a, case.b) for dim in one or ()):
        theirs = (_by_onnx if case.dialect == "onnx" else _by_openvino)(case)
        if ours and isinstance(theirs, str):
            raise Difference(f"ours {ours}, theirs refuse: {theirs}")
        if ours:
            same("element type", ours.dtype, case.types[0])
            same("shape", _without_names(ours.shape) if case.dialect == "openvino" else ours.shape, theirs[0])
    elif rule := _broken(case):
        same("whether it is refused", bool(ours), False)
        return f"both refuse: {rule}"
    tried = _on_sizes(case, ours, why) if not isinstance(theirs, str) else ""
    if ours:
        return "equal" if theirs else f"of intervals{tried}"
    if isinstance(theirs, tuple) and not tried:
        raise Difference(f"ours refuses ({why}), theirs infer {theirs[0]}")
    return "both refuse" if theirs is None or isinstance(theirs, str) else f"refused{tried}"


def _ours(case: Case) -> tuple[Any, str]:
    """What this package infers, or why it does not."""
    import minuend as mn
    from minuend.errors import MinuendError
    from minuend.standards.dialects import dialect
    from minuend.standards.node import Node
    from minuend.standards.validation import infer_node

    try:
        operands = tuple(mn.TensorType(*one) for one in _operands(case))
        stated = dict(case.attributes)
        if case.operator == "subtract":
            return mn.infer(case.dialect, case.version, *operands, **stated), ""
        row = dialect(case.dialect).resolve(case.version, case.operator)
        return infer_node(Node(op=row, operands=operands, attributes=stated)), ""
    except MinuendError as error:
        return None, str(error)


def _operands(case: Case) -> list[tuple[str, Any]]:
    """Types and shapes of the operands that there are."""
    return list(zip(case.types, (case.a, case.b), strict=True))[: ARITY[case.operator]]


def _without_names(shape: Any) -> Any:
    return shape and tuple(None if isinstance(dim, str) else dim for dim in shape)


def _broken(case: Case) -> str:
    """The rule of ONNX's registry and checker that a node breaks, shapes aside."""
    schema = schema_of(case.operator, case.version)
    if schema is None:
        return "no such version"
    kinds = {kind for kind, _ in _operands(case)}
    if len(kinds) > 1 or _spelled(*kinds) not in schema.type_constraints[0].allowed_type_strs:
        return "types"
    context = onnx.checker.C.CheckerContext()
    context.ir_version, context.opset_imports = onnx.IR_VERSION, {"": min(int(case.version), NEWEST)}
    try:
        onnx.checker.check_node(_onnx_node(case), context)
    except onnx.checker.ValidationError as error:
        return str(error)
    if dict(case.attributes).get("broadcast", 0) not in (0, 1):
        return "broadcast is a flag"
    return ""


def _spelled(name: str) -> str:
    return f"tensor({TensorProto.DataType.Name(ONNX_TYPES[name]).lower()})"


def _onnx_node(case: Case) -> NodeProto:
    names = ["a", "b"][: ARITY[case.operator]]
    return helper.make_node(NAMES["onnx"][case.operator], names, ["c"], **dict(case.attributes))


def _by_onnx(case: Case) -> tuple[Any] | str:
    """The shape that ONNX infers, or why it refuses the node."""
    if rule := _broken(case):
        return rule
    inputs = [helper.make_tensor_value_info(name, ONNX_TYPES[kind], shape)
              for name, (kind, shape) in zip("ab", _operands(case), strict=False)]  # fmt: skip
    output = onnx.ValueInfoProto(name="c")
    graph = helper.make_graph([_onnx_node(case)], "g", inputs, [output])
    imports = [helper.make_opsetid("", min(int(case.version), NEWEST))]
    model = onnx.ModelProto(ir_version=onnx.IR_VERSION, graph=graph, opset_import=imports)
    try:
        (found,) = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True).graph.output
    except onnx.shape_inference.InferenceError as error:
        return str(error)
    if not found.type.tensor_type.HasField("shape"):
        return (None,)
    dims = [getattr(dim, dim.WhichOneof("value") or "", None) for dim in found.type.tensor_type.shape.dim]
    return (tuple(None if str(dim).startswith("unk__") else dim for dim in dims),)  # which it calls unknown ones


def _by_openvino(case: Case) -> tuple[Any] | str:
    """The shape that openvino's node has, or why there is no node."""
    if not (opset := opset_of(case.version)):
        return "no such version"
    kinds, shapes = zip(*_operands(case), strict=True)
    lacked = (*NO_NUMBERS, *UNSIGNED) if case.operator == "negative" else NO_NUMBERS
    if (rule := _odd(case)) or any(name in lacked for name in kinds):
        return rule or "a type without numbers, or without a sign where that is wanted"
    node = _node(opset, case.operator, [OPENVINO_TYPES[name] for name in kinds], shapes, case.attributes)
    return node if isinstance(node, str) else (_dims(node.get_output_partial_shape(0)),)


def _odd(case: Case) -> str:
    """An attribute that openvino's factory leaves out, or reads as another type; the reader of an IR does not."""
    kinds = {} if case.operator == "negative" else {"auto_broadcast": str, "axis": int}
    odd = [name for name, value in case.attributes if type(value) is not kinds.get(name)]
    stated = dict(case.attributes)
    if not odd and stated.get("auto_broadcast", "").lower() == "pdpd" and stated.get("axis", -1) < -1:
        odd = ["axis"]  # the page takes -1 alone below 0; where a rank is unknown, openvino does not look at it
    if stated.get("auto_broadcast") == "explicit":  # openvino's other word for none, which the page does not list
        odd = ["auto_broadcast"]
    return f"attributes {odd}" if odd else ""


def _node(opset: str, operator: str, types: Any, shapes: Any, attributes: Any) -> Any:
    """A node of openvino, or the text of its refusal; where no axis is stated it takes 0, and the page says -1."""
    ov = _openvino()

    values = [ov.opset1.parameter(_partial(shape), getattr(ov.Type, kind))
              for kind, shape in zip(types, shapes, strict=True)]  # fmt: skip
    stated = {} if operator == "negative" else {AXIS: -1}
    stated |= {AXIS if name == "axis" else name: value for name, value in attributes}
    try:
        return _factory(opset).create(NAMES["openvino"][operator], [one.output(0) for one in values], stated)
    except RuntimeError as error:
        return str(error)


@functools.cache
def _openvino() -> Any:
    """The package openvino, which sends no statistics of use: it would start a process for that."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    return importlib.import_module("openvino")


@functools.cache
def _factory(opset: str) -> Any:
    from openvino.utils.node_factory import NodeFactory

    return NodeFactory(opset)


def _partial(shape: Any) -> Any:
    ov = _openvino()

    if shape is None:
        return ov.PartialShape.dynamic()
    ends = [dim if isinstance(dim, tuple) else (dim, dim) if isinstance(dim, int) else (0, None) for dim in shape]
    return ov.PartialShape([ov.Dimension(low, -1 if high is None else high) for low, high in ends])


def _dims(found: Any) -> Any:
    if found.rank.is_dynamic:
        return None
    ends = [(dim.get_min_length(), dim.get_max_length()) for dim in found]
    ends = [(low, None if high < 0 else high) for low, high in ends]
    return tuple(low if low == high else None if (low, high) == (0, None) else (low, high) for low, high in ends)


# ---- the same on sizes --------------------------------------------------------------------------------------------


def _on_sizes(case: Case, ours: Any, why: str) -> str:
    """Compare an inference with what comes of sizes; return in words how many choices there were.

    Raises:
        Difference: sizes that join and that ours excludes, or sizes that do not join where ours assumes nothing.
    """
    if None in (case.a, case.b) or case.operator == "negative":
        return ""
    joined, count = 0, 0
    for a, b in _sizes(case):
        found, count = _joined(case, a, b), count + 1
        joined += found is not None
        if found is not None and ours is None:
            raise Difference(f"ours refuses ({why}); {a} and {b} give {found}")
        if found is None and ours and ours.shape is not None and not ours.assumptions:
            raise Difference(f"ours assumes nothing; {a} and {b} do not join")
        if found is not None and ours.shape is not None and not _lies_in(found, ours.shape):
            raise Difference(f"ours infers {ours.shape}; {a} and {b} give {found}")
    known = all(isinstance(dim, int) for dim in (*case.a, *case.b))
    if known and ours and not joined:
        raise Difference(f"ours infers {ours.shape}; the shapes do not join")
    return ", some sizes join" if joined else ", no sizes join" if count else ""


def _sizes(case: Case) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Choices of sizes of all dims; those of one name are one."""
    keys = {(dim if isinstance(dim, str) else (which, i)): _range(dim)
            for which, shape in enumerate((case.a, case.b)) for i, dim in enumerate(shape)}  # fmt: skip
    every = math.prod(map(len, keys.values()))
    source = random.Random(repr(case))
    chosen = itertools.product(*keys.values()) if every <= TRIED else (
        tuple(source.choice(some) for some in keys.values()) for _ in range(TRIED))  # fmt: skip
    for sizes in chosen:
        at = dict(zip(keys, sizes, strict=True))
        a, b = (tuple(at[dim if isinstance(dim, str) else (which, i)] for i, dim in enumerate(shape))
                for which, shape in enumerate((case.a, case.b)))  # fmt: skip
        yield a, b


def _range(dim: Any) -> tuple[int, ...]:
    if isinstance(dim, int):
        return (dim,)
    low, high = dim if isinstance(dim, tuple) else (0, None)
    return tuple(range(low, min(BOUND if high is None else high, BOUND) + 1)) or (low,)


def _lies_in(sizes: tuple[int, ...], shape: Any) -> bool:
    """Whether sizes can be those of a shape; what has a name can be any."""
    if len(sizes) != len(shape):
        return False
    ends = [dim if isinstance(dim, tuple) else (dim, dim) if isinstance(dim, int) else (0, None) for dim in shape]
    return all(low <= n and (high is None or n <= high) for n, (low, high) in zip(sizes, ends, strict=True))


def _joined(case: Case, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape in which two shapes join under the rule of a case; ``None`` where they do not."""
    stated = dict(case.attributes)
    if case.dialect == "openvino":
        return _by_openvino_on_sizes(case.operator, a, b, case.attributes)
    if min(int(case.version), NEWEST) < LEGACY:
        return a if _legacy(a, b, stated.get("axis"), stated.get("broadcast", 0)) else None
    with contextlib.suppress(ValueError):
        return np.broadcast_shapes(a, b)
    return None


@functools.lru_cache(1 << 16)
def _by_openvino_on_sizes(operator: str, a: Any, b: Any, attributes: Any) -> tuple[int, ...] | None:
    node = _node("opset1", operator, ("f32", "f32"), (a, b), attributes)
    return None if isinstance(node, str) else tuple(node.get_output_shape(0))


def _legacy(a: tuple[int, ...], b: tuple[int, ...], axis: int | None, broadcast: int) -> bool:
    """Whether B goes into A as versions 1 and 6 say."""
    last = len(a) - len(b)
    if not broadcast or last < 0:
        return a == b and not broadcast
    if all(n == 1 for n in b):
        return True
    if axis is None or (axis == -1 and len(b) == 1):
        axis = last
    return 0 <= axis <= last and a[axis : axis + len(b)] == b


SURFACES = (
    Surface(
        "specs",
        "versions, what changed between them, and inferred shapes",
        ("onnx", "openvino"),
        draw,
        compare,
        Case,
    ),
)
