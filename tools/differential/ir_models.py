"""Models of subtractions and what goes with them: to OpenVINO IR and back, beside openvino, onnxruntime and NumPy."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper
from onnx.defs import OpSchema

from differential import onnx_worker
from differential.comparable import fault
from differential.ir_harm import harmed
from differential.onnx_worker import Bits, Failed
from differential.results import bits, same, words
from differential.surface import Difference, Surface
from differential.valid_nodes import NUMBERS, ir_version, numpy_of

TYPES = ("float", "float16", "double", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
         "uint64")  # fmt: skip
EXACT_ON_CPU = frozenset({"float", "int32", "int16", "uint16"})
"""Types that openvino's CPU subtracts as the standard says; others it saturates, clamps or computes in fewer bits."""
OPSETS = (1, 5, 6, 7, 10, 12, 13, 14, 15, 18, 21, 23, 26, 28)
OTHERS = ("Relu", "Neg", "Abs", "Transpose")
"""Operators that no graph between formats has: they have to be refused."""
Step = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A chain of operators.

    Attributes:
        opset, dtype, shape: of the model and of its first input.
        steps: ``("sub", shape, "input" or "constant", first or second operand)``, ``("cast", type)``,
            ``("identity",)``, ``("reshape" / "unsqueeze" / "squeeze" / "expand", numbers)``, ``("other", operator)``.
        constants: where numbers of shapes are stored. named: whether dims are names.
        back: the opset that the IR goes back to; harm: seeds a change of the IR, 0 for none.
    """

    opset: int = 14
    dtype: str = "float"
    shape: tuple[int, ...] = (2,)
    steps: tuple[Step, ...] = (("sub", (2,), "input", 1),)
    constants: str = "initializer"
    named: bool = False
    back: int = 14
    harm: int = 0
    seed: int = 0


# ---- drawing ------------------------------------------------------------------------------------------------------


def draw_chain(source: random.Random) -> dict[str, Any]:
    """Draw the fields of a chain."""
    opset, shape = source.choice(OPSETS), tuple(source.randint(1, 4) for _ in range(source.randint(0, 4)))
    if source.random() < 0.05:
        shape = (*shape, 0)
    dtype = source.choice(TYPES) if source.random() < 0.6 else "float"
    steps: list[Step] = []
    now = shape
    for _ in range(source.randint(1, 5)):
        step, now = _step(source, opset, now)
        steps.append(step)
    if all(step[0] != "sub" for step in steps):
        steps.append(("sub", now, "input", 1))
    if source.random() < 0.9:  # else with types that a version may lack
        dtype, steps = allowed_types(source, opset, dtype, steps)
    return {"opset": opset, "dtype": dtype, "shape": shape, "steps": tuple(steps),
            "constants": source.choice(["initializer", "node"]), "named": source.random() < 0.1,
            "seed": source.randrange(1000)}  # fmt: skip


def allowed_types(
    source: random.Random, opset: int, dtype: str, steps: Sequence[Step], types: Sequence[str] = TYPES
) -> tuple[str, list[Step]]:
    """Change the types that a chain begins with and casts to, where an operator of the opset lacks them."""
    taken: list[set[str]] = [set(types)]  # before the first cast, and behind each one
    for step in steps:
        schema = schema_of(step, opset)
        taken[-1] &= {text[7:-1] for text in schema.inputs[0].types}
        if step[0] == "cast":
            taken.append(set(types) & {text[7:-1] for text in schema.outputs[0].types})
    stated = [dtype, *(str(step[1]) for step in steps if step[0] == "cast")]
    drawn = iter([one if one in may else source.choice(sorted(may)) for one, may in zip(stated, taken, strict=True)])
    return next(drawn), [("cast", next(drawn)) if step[0] == "cast" else step for step in steps]


def _step(source: random.Random, opset: int, now: tuple[int, ...]) -> tuple[Step, tuple[int, ...]]:
    """Draw a step, and the shape behind it."""
    kinds = [_sub, _sub, _sub, _cast, _identity, _reshape, _unsqueeze, _squeeze, *([_expand] if opset >= 8 else [])]
    if source.random() < 0.03:
        op = source.choice(OTHERS)
        return ("other", op), now[::-1] if op == "Transpose" else now
    return source.choice(kinds)(source, opset, now)


Drawn = tuple[Step, tuple[int, ...]]


def _sub(source: random.Random, opset: int, now: tuple[int, ...]) -> Drawn:
    other = now
    way = source.choice(["input", "constant"])
    if opset >= 7 and source.random() < 0.6:
        other = tuple(1 if source.random() < 0.4 else n for n in now)[source.randint(0, len(now)) :]
        if source.random() < 0.3:
            other = (source.randint(1, 3), *(1 if source.random() < 0.4 else n for n in now))
    elif opset < 7 and now and source.random() < 0.5:
        start = source.randrange(len(now))
        return ("sub", now[start : source.randint(start + 1, len(now))], way, 1, start), now
    first = 1 if opset < 7 else source.choice([0, 1])
    return ("sub", other, way, first), np.broadcast_shapes(now, other)


def _cast(source: random.Random, opset: int, now: tuple[int, ...]) -> Drawn:
    return ("cast", source.choice(TYPES)), now


def _identity(source: random.Random, opset: int, now: tuple[int, ...]) -> Drawn:
    return ("identity",), now


def _reshape(source: random.Random, opset: int, now: tuple[int, ...]) -> Drawn:
    target_shape = list(now)
    source.shuffle(target_shape)
    if source.random() < 0.4:
        target_shape = [math.prod(now)]
    if source.random() < 0.3:
        target_shape.insert(source.randint(0, len(target_shape)), 1)
    if 0 in target_shape and opset < 14:  # where a 0 copies a dim
        return ("identity",), now
    stated = list(target_shape)
    if stated and 0 not in stated and source.random() < 0.3:
        stated[source.randrange(len(stated))] = -1
    return ("reshape", tuple(stated)), tuple(target_shape)


def _unsqueeze(source: random.Random, opset: int, now: tuple[int, ...]) -> Drawn:
    count = source.randint(1, 2)
    axes = sorted(source.sample(range(len(now) + count), count))
    target_shape = list(now)
    for axis in axes:
        target_shape.insert(axis, 1)
    negative = opset >= 11 and source.random() < 0.3
    return ("unsqueeze", tuple(a - len(target_shape) if negative else a for a in axes)), tuple(target_shape)


def _squeeze(source: random.Random, opset: int, now: tuple[int, ...]) -> Drawn:
    ones = [i for i, n in enumerate(now) if n == 1]
    if not ones:
        return ("identity",), now
    axes = sorted(source.sample(ones, source.randint(1, len(ones))))
    return ("squeeze", tuple(axes)), tuple(n for i, n in enumerate(now) if i not in axes)


def _expand(source: random.Random, opset: int, now: tuple[int, ...]) -> Drawn:
    target_shape = [source.randint(1, 3) if n == 1 and source.random() < 0.5 else source.choice([n, 1]) for n in now]
    target_shape = ([source.randint(1, 3)] if source.random() < 0.3 else []) + target_shape
    return ("expand", tuple(target_shape)), np.broadcast_shapes(now, tuple(target_shape))


def draw(source: random.Random) -> Case:
    """Draw a case."""
    return Case(
        **draw_chain(source), back=source.choice(OPSETS), harm=source.choice([0, 0, source.randrange(1, 10**6)])
    )


# ---- the model, and what comes of it ------------------------------------------------------------------------------


@dataclass
class Chain:
    """A chain as a model, what it is given, and what NumPy makes of it."""

    model: ModelProto
    feeds: dict[str, Any]
    expected: Any
    types: set[str]
    undefined: bool = False


def chain(case: Any) -> Chain:
    """Build the model of a case.

    Raises:
        ValueError: shapes of a step do not meet, as in a case that is made smaller.
    """
    work = _Building(case)
    for i, step in enumerate(case.steps):
        work.step(step, f"v{i}")
    return work.done()


class _Building:
    """A chain while it is built: nodes, stored values, and the array that NumPy has made so far."""

    def __init__(self, case: Any) -> None:
        self.case, self.source = case, np.random.default_rng(case.seed)
        self.nodes: list[NodeProto] = []
        self.stored: list[TensorProto] = []
        self.dtype, self.now = str(case.dtype), "x"
        self.array = self.value(case.shape)
        self.feeds: dict[str, Any] = {"x": self.array}
        self.types, self.undefined = {self.dtype}, False

    def value(self, shape: tuple[int, ...]) -> Any:
        """Small whole numbers, which every type holds."""
        low = 0 if self.dtype.startswith("u") else -90
        return np.asarray(self.source.integers(low, 100, tuple(shape))).astype(numpy_of(self.dtype))

    def keep(self, name: str, array: Any) -> str:
        """Store a value, as an initializer or a Constant."""
        tensor = onnx.numpy_helper.from_array(array, name)
        if self.case.constants == "node":
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.stored.append(tensor)
        return name

    def node(self, op: str, inputs: Sequence[str], out: str, **attributes: Any) -> None:
        node = helper.make_node(op, list(inputs), [out])
        node.attribute.extend(
            AttributeProto(name=name, type=AttributeProto.INTS)
            if isinstance(value, tuple) and not value
            else helper.make_attribute(name, value)
            for name, value in attributes.items()
        )
        self.nodes.append(node)

    def listed(self, op: str, name: str, numbers: tuple[int, ...], since: int, out: str) -> None:
        """Add a node whose numbers are an input from an opset on, and an attribute before."""
        if self.case.opset < since:
            self.node(op, [self.now], out, **{name: tuple(numbers)})
            return
        extra = {"allowzero": 1} if op == "Reshape" and self.case.opset >= 14 and 0 in numbers else {}
        self.node(op, [self.now, self.keep(f"{out}_n", np.array(numbers, np.int64))], out, **extra)

    def step(self, step: Step, out: str) -> None:
        """Add a step."""
        kind, given = step[0], tuple(step[1]) if len(step) > 1 and isinstance(step[1], tuple | list) else ()
        if kind == "sub":
            self.subtract(step, out)
        elif kind == "cast":
            self.cast(str(step[1]), out)
        elif kind == "reshape":
            if self.case.opset < 14 and 0 in given and given != self.array.shape:
                raise ValueError("a 0 copies a dim before opset 14")
            self.array = self.array.reshape(given)
            self.listed("Reshape", "shape", given, 5, out)
        elif kind == "expand":
            self.array = np.array(np.broadcast_to(self.array, np.broadcast_shapes(self.array.shape, given)))
            self.listed("Expand", "shape", given, 8, out)
        elif kind in ("unsqueeze", "squeeze"):
            self.array = (np.expand_dims if kind == "unsqueeze" else np.squeeze)(self.array, given)
            self.listed(kind.capitalize(), "axes", given, 13, out)
        else:
            op = "Identity" if kind == "identity" else str(step[1])
            self.array = np.transpose(self.array) if op == "Transpose" else self.array
            self.node(op, [self.now], out)
        self.now = out

    def subtract(self, step: Step, out: str) -> None:
        other, name = self.value(step[1]), f"{out}_k"
        if step[2] == "input":
            self.feeds[name] = other
        else:
            self.keep(name, other)
        shaped, extra = other, {}
        if len(step) > 4:
            start = step[4]
            if other.shape != self.array.shape[start : start + other.ndim]:
                raise ValueError("B is no run of A's dims")
            extra = {"broadcast": 1, "axis": start}
            shaped = other.reshape((*other.shape, *(1,) * (self.array.ndim - start - other.ndim)))
        elif self.case.opset < 7 and other.shape != self.array.shape:
            raise ValueError("shapes that differ, before opset 7")
        pair = (self.array, shaped) if step[3] else (shaped, self.array)
        with np.errstate(all="ignore"):
            self.array = np.asarray(np.subtract(*pair)).astype(numpy_of(self.dtype))
        self.node("Sub", [self.now, name] if step[3] else [name, self.now], out, **extra)

    def cast(self, to: str, out: str) -> None:
        self.undefined = self.undefined or _leaves(self.array, self.dtype, to)
        with np.errstate(all="ignore"):
            self.array = np.asarray(self.array.astype(numpy_of(to)))
        self.dtype = to
        self.types.add(to)
        number = NUMBERS[to]
        self.node("Cast", [self.now], out, to=TensorProto.DataType.Name(number) if self.case.opset < 6 else number)

    def done(self) -> Chain:
        """The model with its inputs and its output."""
        named = self.case.named
        info = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(one.dtype),
                [f"{name}_{k}" if named else n for k, n in enumerate(one.shape)],
            )
            for name, one in self.feeds.items()
        ]
        dims = [None] * self.array.ndim if named else self.array.shape
        result = helper.make_tensor_value_info(self.now, NUMBERS[self.dtype], dims)
        opset = self.case.opset
        model = ModelProto(ir_version=ir_version(opset), opset_import=[helper.make_opsetid("", opset)])
        model.graph.CopyFrom(helper.make_graph(self.nodes, "g", info, [result], self.stored))
        return Chain(model, self.feeds, self.array, self.types, self.undefined)


def _leaves(array: Any, before: str, after: str) -> bool:
    """Whether a cast of floats to integers meets numbers that these do not hold: its results are not defined."""
    if "int" in before or "int" not in after or not array.size:
        return False
    limits, wide = np.iinfo(numpy_of(after)), array.astype(np.float64)
    if not np.isfinite(wide).all() or wide.min() < limits.min:
        return True
    return bool(wide.max() > limits.max or int(wide.max()) > limits.max)  # 2 ** 64 - 1 is 2 ** 64 as a float


def schema_of(step: Step, opset: int) -> OpSchema:
    """The schema of a step's operator."""
    return onnx.defs.get_schema(str(step[1]) if step[0] == "other" else str(step[0]).capitalize(), opset, "")


def must_be_refused(case: Any, made: Chain) -> str:
    """Why a chain has to be refused by every format; ``""`` where it has not."""
    if others := [step[1] for step in case.steps if step[0] == "other"]:
        return f"{others[0]} is no operator of every format"
    for step, before, after in _typed(case):
        schema = schema_of(step, case.opset)
        # The types of steps inside a chain are not stated, and ONNX's check does not find them wrong.
        for dtype, slot in ((before, schema.inputs[0]), (after, schema.outputs[0])):
            if f"tensor({dtype})" not in slot.types:
                return f"{schema.name}-{schema.since_version} takes no {dtype}"
    wrong = fault(made.model)
    return "" if any(text in wrong for text in NO_FAULT) else wrong


def _typed(case: Any) -> Iterator[tuple[Step, str, str]]:
    """Each step with the element types of its input and of its output."""
    dtype = str(case.dtype)
    for step in case.steps:
        before, dtype = dtype, str(step[1]) if step[0] == "cast" else dtype
        yield step, before, dtype


def refused_rightly(case: Any, wrong: str) -> str:
    """What is counted of a chain that has to be refused."""
    if " takes no " in wrong:
        return f"refused as it has to be, a type that a version lacks: {wrong}"
    if any(step[0] == "other" for step in case.steps):
        return f"refused as it has to be, an operator that the format lacks: {wrong}"
    return f"refused as it has to be, for another reason: {wrong}"


NO_FAULT = ("op_type:Constant): output has unsupported type", "to have type but instead is null")
"""Constant-1 of integers, which exporters wrote and all read, and what inference does not find in old versions."""


# ---- IR -----------------------------------------------------------------------------------------------------------

NAMES = {"float": "f32", "float16": "f16", "double": "f64", "bfloat16": "bf16", **{
    f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}}  # fmt: skip


def compare(case: Case, folder: Path) -> str:
    """Convert a chain to IR and back; or harm its IR."""
    import minuend as mn
    from minuend.errors import ConversionRefused

    try:
        made = chain(case)
    except ValueError as error:  # a shorter case whose shapes do not meet
        return f"not valid: {error}"
    wrong = must_be_refused(case, made)
    try:
        result = mn.convert(made.model, "openvino")
    except ConversionRefused as error:
        if wrong or case.named:
            return refused_rightly(case, wrong) if wrong else "refused, dims have names"
        raise Difference(f"refused: {'; '.join(error.nodes.values())}") from None
    if wrong:
        raise Difference(f"converted, and {wrong}")
    result.save(folder / "model.xml")
    xml, weights = (folder / "model.xml").read_bytes(), (folder / "model.bin").read_bytes()
    if case.harm:
        return harmed(case.harm, xml, weights)
    out = made.model.graph.output[0].name
    try:
        found = onnx_worker.openvino(xml, weights, None)
    except Failed as error:
        raise Difference(f"openvino refuses what is written: {error}") from None
    element = NAMES[next(k for k, v in NUMBERS.items() if v == made.model.graph.output[0].type.tensor_type.elem_type)]
    if out not in found[0][0] or found[0][1] != element:
        raise Difference(f"openvino reads the outputs {found}, expected {element} {out!r}")
    if not case.named and found[0][2] != (shape := str(list(made.expected.shape)).replace(" ", "")):
        raise Difference(f"openvino reads an output of the shape {found[0][2]}, expected {shape}")
    if made.undefined:
        return "converted, a cast leaves the range of its type"
    _equal("run of the IR", made, list(mn.run(str(folder / "model.xml"), made.feeds).values()))
    widened = any("uint16" == before != after for _, before, after in _typed(case))  # which openvino does not wrap
    if made.types <= EXACT_ON_CPU and made.expected.size and not widened:
        try:
            (came,) = onnx_worker.openvino(xml, weights, made.feeds)
        except Failed as error:
            if LOST_DIM in str(error):
                return "openvino does not compile what it reads, for a dim of 1 that it loses"
            raise Difference(f"openvino reads what is written, and does not run it: {error}") from None
        _equal("openvino's CPU", made, [with_lost_dims(came, made.expected.shape)])
    return _back(case, made, folder)


LOST_DIM = "[PullSqueezeThroughEltwise] END: node: "
"""Where openvino 2026.4.1 moves a squeeze before a subtraction whose operands have other ranks, and then fails."""


def _equal(what: str, made: Chain, came: list[Any]) -> None:
    expected = np.asarray(made.expected)
    if not same(bits(expected) if isinstance(came[0], Bits) else expected, came[0]):
        raise Difference(f"{what} gives {words(came)}, expected {words([made.expected])}")


def with_lost_dims(came: Any, shape: tuple[int, ...]) -> Any:
    """The array with the dims of 1 that it should have.

    Joining two subtractions around a squeeze, openvino 2026.4.1 loses one; the shape that it reads is compared before.
    """
    lost = came.ndim < len(shape) and [n for n in came.shape if n != 1] == [n for n in shape if n != 1]
    return came.reshape(shape) if lost else came


def _back(case: Case, made: Chain, folder: Path) -> str:
    import minuend as mn
    from minuend.errors import ConversionRefused

    try:
        again = mn.convert(str(folder / "model.xml"), f"onnx:{case.back}")
    except ConversionRefused as error:
        if case.back >= 14:
            raise Difference(f"not converted back to {case.back}: {'; '.join(error.nodes.values())}") from None
        return "equal, and refused by an older opset"
    if wrong := fault(again.model):
        raise Difference(f"what is converted back is not accepted: {wrong}")
    try:
        came = onnx_worker.run(again.model.SerializeToString(), made.feeds)
    except Failed:
        return "equal, and not run after its way back"
    try:
        _equal("onnxruntime on what is converted back", made, came)
    except Difference:
        if "float16" in made.types and all(
            map(same, onnx_worker.run(made.model.SerializeToString(), made.feeds), came)
        ):
            return "as onnxruntime computes the original, which leaves float16 in float32 from node to node"
        raise
    return "equal, there and back"


SURFACES = (Surface("ir", "models to OpenVINO IR and back", ("onnx", "onnxruntime", "openvino"), draw, compare, Case),)
