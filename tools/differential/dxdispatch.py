"""DxDispatch JSON: the documented rules of DirectML once more, and element by element what a dispatch computes."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential.ir_models import Step, allowed_types, chain, draw_chain, must_be_refused, refused_rightly
from differential.results import words
from differential.surface import Difference, Surface

SINCE = {"FLOAT32": "1.0", "FLOAT16": "1.0", "INT32": "2.1", "UINT32": "2.1", "INT64": "4.1", "UINT64": "4.1",
         "INT8": "5.1", "INT16": "5.1", "UINT8": "5.1", "UINT16": "5.1"}  # fmt: skip
"""The feature level at which subtraction got a type; the others it has at none."""
TYPED = {{"FLOAT32": "float"}.get(name, name.lower()): since for name, since in SINCE.items()}
"""The same by ONNX's names of the types."""
TYPES = (*SINCE, "FLOAT64", "UINT4", "UNKNOWN")
LEVELS = ("1.0", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0", "5.1", "5.2", "6.0", "6.4")
TENSORS = ("ATensor", "BTensor", "OutputTensor")
Three = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Case:
    """One dispatch of a subtraction, or a chain of ONNX's operators that becomes DxDispatch JSON.

    Attributes:
        level: the feature level. types, sizes, strides: of A, B and the output; a stride of ``None`` is not stated.
        totals: bytes beyond the least that are stated; ``None`` for nothing stated. alignments: that are stated.
        owned: which tensors are OWNED_BY_DML. init: which tensors are bound when the dispatchable is initialised.
        bound: which are bound in the dispatch. buffers: the resource of each tensor. offsets: in elements.
        spare: bytes that each resource has beyond the least. fill: how initial values are written.
        opset, dtype, shape, steps: of a chain; no steps for JSON that is drawn.
    """

    level: str = "6.4"
    types: Three = ("FLOAT32", "FLOAT32", "FLOAT32")
    sizes: Three = ((2,), (2,), (2,))
    strides: Three = (None, None, None)
    totals: Three = (None, None, None)
    alignments: Three = (0, 0, 0)
    owned: Three = (False, False, False)
    init: Three = (False, False, False)
    bound: Three = (True, True, True)
    buffers: Three = ("a", "b", "out")
    offsets: Three = (0, 0, 0)
    spare: Three = (0, 0, 0)
    fill: str = "list"
    opset: int = 14
    dtype: str = "float"
    shape: tuple[int, ...] = (2,)
    steps: tuple[Step, ...] = ()
    constants: str = "initializer"
    named: bool = False
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw a case: mostly a valid dispatch with one or two fields at an edge."""
    if source.random() < 0.3:
        return _drawn_chain(source)
    level = source.choice(LEVELS)
    rank = 4 if level < "3" and source.random() < 0.9 else source.randint(1, 5)
    sizes = tuple(source.randint(1, 3) for _ in range(rank))
    may = [name for name, since in SINCE.items() if since <= level]
    kind = source.choice(may) if source.random() < 0.9 else source.choice(TYPES)
    fields: dict[str, Any] = {
        "types": [kind] * 3, "sizes": [sizes] * 3, "strides": [_strides(source, sizes, i) for i in range(3)],
        "totals": [source.choice([None, None, 0, 4, 100]) for _ in range(3)],
        "alignments": [source.choice([0, 0, 16, 8, 32]) for _ in range(3)],
        "buffers": ["a", "b", "out"], "offsets": [0, 0, 0],
        "spare": [source.choice([0, 0, 16, 64]) for _ in range(3)],
    }  # fmt: skip
    owned = [source.random() < 0.1, source.random() < 0.1, False]
    fields |= {"owned": owned, "init": list(owned), "bound": [not one for one in owned]}
    if source.random() < 0.25:  # in place, or partly
        fields["buffers"][2] = source.choice("ab")
        if source.random() < 0.7:
            at = "ab".index(fields["buffers"][2])
            for name in ("strides", "totals", "alignments"):
                fields[name][2] = fields[name][at]
    for _ in range(source.choice([0, 0, 1, 1, 2])):
        _edge(source, fields, rank, sizes)
    rows_: dict[str, Any] = {name: tuple(rows) for name, rows in fields.items()}
    return Case(level=level, fill=source.choice(["list", "value", "sequence", "deferred", "mixed"]),
                seed=source.randrange(1000), **rows_)  # fmt: skip


def _drawn_chain(source: random.Random) -> Case:
    """A chain; mostly of what DirectML has at the level: subtractions of its types, and no casts."""
    level, fields = source.choice(LEVELS), draw_chain(source)
    if source.random() < 0.75:
        steps = [step for step in fields["steps"] if step[0] != "cast"]
        if not any(step[0] == "other" for step in steps) and not any(0 in step[1] for step in steps if len(step) > 1):
            may = [name for name, since in TYPED.items() if since <= level]
            dtype, steps = allowed_types(source, fields["opset"], fields["dtype"], steps, may)
            fields |= {"steps": tuple(steps), "dtype": dtype}
    return Case(level=level, **fields)


def _strides(source: random.Random, sizes: tuple[int, ...], at: int) -> tuple[int, ...] | None:
    """Strides: none, packed in some order, with gaps, of 0 for an input, or whatever."""
    way = source.choice(["none", "none", "packed", "gaps", "zeros", "any"])
    if way == "none":
        return None
    if way == "any":
        return tuple(source.randint(0, 6) for _ in sizes)
    order = source.sample(range(len(sizes)), len(sizes)) if source.random() < 0.4 else range(len(sizes))
    found, step = [0] * len(sizes), 1
    for axis in reversed(order):
        found[axis] = step
        step *= sizes[axis] + (source.randint(0, 1) if way == "gaps" else 0)
    if way == "zeros" and at < 2:
        found = [0 if source.random() < 0.5 else one for one in found]
    return tuple(found)


def _edge(source: random.Random, fields: dict[str, Any], rank: int, sizes: tuple[int, ...]) -> None:
    """Set one field of one tensor to something at an edge."""
    at = source.randrange(3)
    name = source.choice(["types", "sizes", "strides", "totals", "alignments", "owned", "init", "bound", "buffers",
                          "offsets", "offsets", "spare"])  # fmt: skip
    other = list(sizes)
    other[source.randrange(rank)] = source.choice([0, 1, 2, 5])
    options: dict[str, list[Any]] = {
        "types": list(TYPES), "sizes": [tuple(other), sizes[1:], (1, *sizes), (*sizes, *[1] * 5)],
        "strides": [(1,) * (rank + 1), (2**32 - 1,) * rank, (0,) * rank, (1,) * rank],
        "totals": [-4, -1, 1, 3, 2**40, 2**34], "alignments": [1, 2, 3, 4, 256, 2**31, 24],
        "owned": [True, False], "init": [True, False], "bound": [True, False], "buffers": ["a", "b", "out"],
        "offsets": [1, 2, 4, 8, 16, 64], "spare": [-4, -1, -16, 4, 1],
    }  # fmt: skip
    fields[name][at] = source.choice(options[name])


# ---- the document -------------------------------------------------------------------------------------------------

BITS = {"FLOAT32": 32, "FLOAT16": 16, "FLOAT64": 64, "UINT4": 4, "UNKNOWN": 8} | {
    f"{sign}INT{bits}": bits for sign in ("", "U") for bits in (8, 16, 32, 64)}  # fmt: skip


def reach(sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
    """Elements from the first address to the last."""
    return sum((n - 1) * s for n, s in zip(sizes, packed(sizes) if strides is None else strides, strict=False)) + 1


def packed(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of row-major order."""
    return tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))


def least(kind: str, sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
    """What DMLCalcBufferTensorSize gives, in exact integers."""
    return -(-reach(sizes, strides) * BITS[kind] // 32) * 4


def document(case: Case) -> dict[str, Any]:
    """The JSON of a case; each resource is as large as what is bound to it wants."""
    descs: dict[str, Any] = {}
    sizes: dict[str, tuple[int, str]] = {}
    for i, name in enumerate(TENSORS):
        kind, dims, strides = case.types[i], tuple(case.sizes[i]), case.strides[i]
        desc: dict[str, Any] = {"DataType": kind, "Sizes": list(dims)}
        if strides is not None:
            desc["Strides"] = list(strides)
        total = least(kind, dims, strides)
        if case.totals[i] is not None:
            total += case.totals[i]
            desc["TotalTensorSizeInBytes"] = total
        if case.alignments[i]:
            desc["GuaranteedBaseOffsetAlignment"] = case.alignments[i]
        if case.owned[i]:
            desc["Flags"] = "OWNED_BY_DML"
        descs[name] = desc
        end = case.offsets[i] * max(BITS[kind] // 8, 1) + max(total, 4) + case.spare[i]
        sizes[case.buffers[i]] = max(sizes.get(case.buffers[i], (0, kind))[0], min(end, 1 << 16)), kind
    source = random.Random(case.seed)
    resources = {name: _resource(case, source, name, *row) for name, row in sizes.items()}
    binding = {name: {"name": case.buffers[i], "elementOffset": case.offsets[i],
                      "elementSizeInBytes": max(BITS[case.types[i]] // 8, 1)} if case.offsets[i] else case.buffers[i]
               for i, name in enumerate(TENSORS)}  # fmt: skip
    one = {"type": "ELEMENT_WISE_SUBTRACT", "desc": descs}
    if any(case.init):
        one["bindings"] = {name: binding[name] for name, is_ in zip(TENSORS, case.init, strict=True) if is_}
    bound = {name: binding[name] for name, is_ in zip(TENSORS, case.bound, strict=True) if is_}
    return {"resources": resources, "dispatchables": {"s": one},
            "commands": [{"type": "dispatch", "dispatchable": "s", "bindings": bound}]}  # fmt: skip


def _resource(case: Case, source: random.Random, name: str, nbytes: int, kind: str) -> dict[str, Any]:
    kind = kind if kind in SINCE or kind == "FLOAT64" else "FLOAT32"
    count = max(nbytes * 8 // BITS[kind], 1)
    if case.fill == "deferred" and name == "out":
        return {"initialValuesDataType": kind, "initialValues": "deferred"}
    low, high = (0, 120) if kind.startswith("U") else (-100, 100)
    size = {"sizeInBytes": nbytes} if nbytes * 8 >= count * BITS[kind] else {}
    if case.fill == "value":
        return {
            "initialValuesDataType": kind,
            "initialValues": {"value": source.randint(low, high), "valueCount": count},
            **size,
        }
    if case.fill == "sequence":
        values: Any = {"valueStart": source.randint(0, 50), "valueDelta": source.randint(0, 3), "valueCount": count}
        return {"initialValuesDataType": kind, "initialValues": values, **size}
    if case.fill == "mixed" and name != "out":
        rows = [{"type": "UINT8", "value": source.randint(0, 255)} for _ in range(max(nbytes, 1))]
        return {"initialValues": rows, "sizeInBytes": max(nbytes, 1)}
    values = [source.randint(low, high) for _ in range(count)]
    return {"initialValuesDataType": kind, "initialValues": values, **size}


# ---- the rules ----------------------------------------------------------------------------------------------------


def broken(doc: dict[str, Any], level: str) -> str:
    """Which documented rule a document breaks at a feature level; ``""`` where it breaks none."""
    for one in doc["dispatchables"].values():
        descs = [one["desc"][name] for name in TENSORS]
        for name, desc in zip(TENSORS, descs, strict=True):
            if wrong := _broken_alone(desc):
                return f"{name}: {wrong}"
        kind, dims = descs[0]["DataType"], descs[0]["Sizes"]
        if any(desc["DataType"] != kind for desc in descs):
            return "data types differ"
        if kind not in SINCE or level < SINCE[kind]:
            return f"{kind} is not there at {level}"
        if level < "3" and any(len(desc["Sizes"]) != 4 for desc in descs):
            return "the rank is not 4"
        if any(desc["Sizes"] != dims for desc in descs):
            return "sizes differ"
        if "OWNED_BY_DML" in descs[2].get("Flags", ""):
            return "the output is owned"
        if len(set(addresses(descs[2]))) != math.prod(dims):
            return "elements of the output share an address"
    return next(
        filter(None, (_misbound(doc, command) for command in doc["commands"] if command["type"] == "dispatch")), ""
    )


def _broken_alone(desc: dict[str, Any]) -> str:
    kind, dims, strides = desc["DataType"], tuple(desc["Sizes"]), desc.get("Strides")
    if kind == "UNKNOWN":
        return "no type"
    if not 1 <= len(dims) <= 8:
        return "the rank"
    if min(dims) < 1 or math.prod(dims) > 2**32 - 1:
        return "a size"
    if strides and len(strides) != len(dims):
        return "the number of strides"
    wanted = least(kind, dims, tuple(strides) if strides else None)
    total = desc.get("TotalTensorSizeInBytes", 0) or wanted
    if total < wanted:
        return "the total size is too small"
    count = reach(dims, tuple(strides) if strides else None) if total == wanted else total * 8 // BITS[kind]
    if count > 2**32 - 1:
        return "the total size is too large"
    align = desc.get("GuaranteedBaseOffsetAlignment", 0)
    if align and (align & (align - 1) or align * 8 < BITS[kind]):
        return "the alignment"
    return ""


def _misbound(doc: dict[str, Any], command: dict[str, Any]) -> str:
    one = doc["dispatchables"][command["dispatchable"]]
    ranges: dict[str, tuple[str, int, int]] = {}
    for name in TENSORS:
        desc = one["desc"][name]
        is_owned = "OWNED_BY_DML" in desc.get("Flags", "")
        init, bound = one.get("bindings", {}).get(name), command["bindings"].get(name)
        if (init is not None) != is_owned or (bound is not None) == is_owned:
            return f"{name} is bound at the wrong time, or not at all"
        given = init if is_owned else bound
        resource, offset = (given, 0) if isinstance(given, str) else (
            given["name"], given["elementOffset"] * given["elementSizeInBytes"])  # fmt: skip
        if offset % max(16, desc.get("GuaranteedBaseOffsetAlignment", 0)):
            return f"{name} begins at no multiple"
        dims, strides = tuple(desc["Sizes"]), desc.get("Strides")
        total = desc.get("TotalTensorSizeInBytes", 0) or least(
            desc["DataType"], dims, tuple(strides) if strides else None
        )
        if not is_deferred(doc, resource) and offset + total > nbytes_of(doc, resource):
            return f"{name} does not fit its buffer"
        if is_deferred(doc, resource) and name != TENSORS[2]:
            return f"{name} is read from a deferred resource"
        ranges[name] = resource, offset, total
    out = ranges[TENSORS[2]]
    for name in TENSORS[:2]:
        if one.get("bindings", {}).get(name) is not None:
            continue  # what DirectML owns it has copied
        if (
            ranges[name][0] == out[0]
            and ranges[name][1] < out[1] + out[2]
            and out[1] < ranges[name][1] + ranges[name][2]
        ):
            if ranges[name][1:] != out[1:]:
                return "ranges meet and differ"
            if plain_strides(one["desc"][name]) != plain_strides(one["desc"][TENSORS[2]]):
                return "in place with other strides"
    return ""


def is_deferred(doc: dict[str, Any], name: str) -> bool:
    """Whether a resource has no values yet."""
    return bool(doc["resources"][name]["initialValues"] == "deferred")


def nbytes_of(doc: dict[str, Any], name: str) -> int:
    """Bytes of a buffer: as stated, or those of its values rounded up to 4."""
    row = doc["resources"][name]
    return int(row.get("sizeInBytes", -(-len(initial(doc, name)) // 4) * 4))


def plain_strides(desc: dict[str, Any]) -> tuple[int, ...]:
    """Strides, 0 where a dim has one element."""
    strides = desc.get("Strides") or packed(tuple(desc["Sizes"]))
    return tuple(0 if n == 1 else s for n, s in zip(desc["Sizes"], strides, strict=True))


def addresses(desc: dict[str, Any]) -> list[int]:
    """The address of each element, in the order of its indices."""
    strides = plain_strides(desc)
    return [
        sum(i * s for i, s in zip(at, strides, strict=True)) for at in itertools.product(*map(range, desc["Sizes"]))
    ]


# ---- computing ----------------------------------------------------------------------------------------------------


def dtype_of(kind: str) -> Any:
    """NumPy's type."""
    return np.dtype(kind.lower())


def initial(doc: dict[str, Any], name: str) -> bytes:
    """The initial bytes of a resource."""
    row = doc["resources"][name]
    values = row["initialValues"]
    if "initialValuesDataType" not in row:
        return b"".join(np.array([one["value"]], dtype_of(one["type"])).tobytes() for one in values)
    to = dtype_of(row["initialValuesDataType"])
    if isinstance(values, list):
        return np.array([float(one) if isinstance(one, str) else one for one in values]).astype(to).tobytes()
    if "value" in values:
        return np.full(values["valueCount"], values["value"]).astype(to).tobytes()
    found, now = [], to.type(values["valueStart"])
    with np.errstate(over="ignore"):
        for _ in range(values["valueCount"]):
            found.append(now)
            now = to.type(now + to.type(values["valueDelta"]))
    return np.array(found, to).tobytes()


def execute(doc: dict[str, Any], given: dict[str, Any] | None = None) -> dict[str, bytearray]:
    """Run the dispatches of a document, element by element; return the buffers."""
    memory: dict[str, bytearray] = {}
    for name in doc["resources"]:
        data = b"" if is_deferred(doc, name) else initial(doc, name)
        if given and name in given:
            data = np.ascontiguousarray(given[name]).tobytes()
        size = 1 << 17 if is_deferred(doc, name) else nbytes_of(doc, name)
        memory[name] = bytearray(data.ljust(size, b"\0"))
    start = {name: bytes(data) for name, data in memory.items()}
    for command in doc["commands"]:
        if command["type"] == "dispatch":
            _dispatch(doc, command, memory, start)
    return memory


def _dispatch(
    doc: dict[str, Any], command: dict[str, Any], memory: dict[str, bytearray], start: dict[str, bytes]
) -> None:
    one = doc["dispatchables"][command["dispatchable"]]
    to = dtype_of(one["desc"][TENSORS[0]]["DataType"])
    read = []
    for name in TENSORS:
        init = one.get("bindings", {}).get(name)
        given = command["bindings"].get(name, init)
        resource, offset = (given, 0) if isinstance(given, str) else (
            given["name"], given["elementOffset"] * given["elementSizeInBytes"])  # fmt: skip
        at = [offset + address * to.itemsize for address in addresses(one["desc"][name])]
        data = memory[resource] if init is None else start[resource]
        read.append((resource, at, data))
    values = [np.array([np.frombuffer(data[i : i + to.itemsize], to)[0] for i in at]) for _, at, data in read[:2]]
    with np.errstate(all="ignore"):
        result = np.subtract(*values).astype(to)
    for i, value in zip(read[2][1], result, strict=True):
        memory[read[2][0]][i : i + to.itemsize] = value.tobytes()


def taken(doc: dict[str, Any], memory: dict[str, bytearray]) -> dict[str, Any]:
    """What the last dispatch into each resource leaves there, by its tensor."""
    found = {}
    for command in doc["commands"]:
        if command["type"] != "dispatch":
            continue
        desc = doc["dispatchables"][command["dispatchable"]]["desc"][TENSORS[2]]
        given = command["bindings"][TENSORS[2]]
        name, offset = (given, 0) if isinstance(given, str) else (
            given["name"], given["elementOffset"] * given["elementSizeInBytes"])  # fmt: skip
        to = dtype_of(desc["DataType"])
        at = [offset + address * to.itemsize for address in addresses(desc)]
        row = [np.frombuffer(bytes(memory[name][i : i + to.itemsize]), to)[0] for i in at]
        found[name] = np.array(row, to).reshape(desc["Sizes"])
    return found


# ---- comparing ----------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Run a document, or convert a chain to one."""
    return _converted(case) if case.steps else _ran(case)


def _ran(case: Case) -> str:
    import minuend as mn
    from minuend.errors import MinuendError, ResultTooLarge

    try:
        doc = document(case)
    except (ValueError, TypeError, IndexError) as error:
        return f"not drawn: {error}"
    wrong = broken(doc, case.level)
    try:
        came = mn.directml.Model.read(json.dumps(doc)).run(feature_level=case.level)
    except MinuendError as error:
        if wrong:
            return f"refused as it has to be: {wrong}"
        if isinstance(error, ResultTooLarge) and max(one or 0 for one in case.totals) >= 1 << 30:
            return "refused, more memory than the limit"
        raise Difference(f"refused: {error}") from None
    if wrong:
        raise Difference(f"run, and it breaks a rule: {wrong}")
    _same(taken(doc, execute(doc)), came)
    return "equal"


def _same(expected: dict[str, Any], came: dict[str, Any]) -> None:
    if expected.keys() != came.keys():
        raise Difference(f"ours gives {list(came)}, expected {list(expected)}")
    for name, array in expected.items():
        own = np.ascontiguousarray(came[name])
        if own.shape != array.shape or not _same_bits(array, own):
            raise Difference(f"{name}: ours {words([came[name]])}, expected {words([array])}")


def _same_bits(x: Any, y: Any) -> bool:
    if x.dtype.itemsize != y.dtype.itemsize:
        return False
    y = y.reshape(-1).view(x.dtype).reshape(x.shape)
    if x.dtype.kind != "f":
        return bool((x == y).all())
    bits = f"u{x.dtype.itemsize}"
    return bool(
        ((x.reshape(-1).view(bits) == y.reshape(-1).view(bits)) | (np.isnan(x) & np.isnan(y)).reshape(-1)).all()
    )


def _converted(case: Case) -> str:
    import minuend as mn
    from minuend.errors import ConversionRefused

    try:
        made = chain(case)
    except ValueError as error:
        return f"not valid: {error}"
    wrong = must_be_refused(case, made) or _beyond(case)
    try:
        result = mn.convert(made.model, f"directml:{case.level}")
    except ConversionRefused as error:
        if wrong or case.named or len(made.expected.shape) > 4 or case.level < "3":
            return refused_rightly(case, wrong) if wrong else "refused, dims have names or the rank is not the level's"
        why = "; ".join(error.nodes.values())
        if "it needs a copy of" in why and case.level < SINCE[COPIED[case.dtype]]:
            return "refused, the level has no subtraction that copies the type bit for bit"
        raise Difference(f"refused: {why}") from None
    if wrong:
        raise Difference(f"converted, and {wrong}")
    doc = json.loads(json.dumps(result.model.document))
    level = case.level
    if rule := broken(doc, level):
        raise Difference(f"what is written breaks a rule: {rule}")
    feeds = {name: array for name, array in made.feeds.items() if name in doc["resources"]}
    out = made.model.graph.output[0].name
    printed = [command["resource"] for command in doc["commands"] if command["type"] == "print"]
    memory = execute(doc, feeds)
    name = printed[0]
    own = np.frombuffer(bytes(memory[name]), made.expected.dtype)[: made.expected.size]
    if not _same_bits(np.asarray(made.expected).reshape(-1), own):
        raise Difference(f"{out} computed by the rules is {words([own])}, expected {words([made.expected])}")
    _same(taken(doc, memory), result.model.run(feeds, feature_level=level))
    return "converted, equal"


COPIED = {"float": "UINT32", "float16": "UINT16"} | {name.lower(): name for name in SINCE if "INT" in name}
"""The type as which elements are copied by subtracting 0: of floats that would lose the payload of a NaN."""


def _beyond(case: Case) -> str:
    """What of a chain DirectML cannot say."""
    kinds = {case.dtype, *(step[1] for step in case.steps if step[0] == "cast")}
    if any(step[0] == "cast" and step[1] != case.dtype for step in case.steps):
        return "a cast is another operator"
    if 0 in case.shape or any(0 in step[1] for step in case.steps if step[0] in ("sub", "expand", "reshape")):
        return "there is an empty tensor"
    name = {"float": "FLOAT32", "double": "FLOAT64"}.get(case.dtype, case.dtype.upper())
    if len(kinds) == 1 and (name not in SINCE or case.level < SINCE[name]):
        return f"{name} is not there at {case.level}"
    return ""


SURFACES = (
    Surface("dxdispatch", "DxDispatch JSON beside the documented rules", ("numpy", "onnx"), draw, compare, Case),
)
