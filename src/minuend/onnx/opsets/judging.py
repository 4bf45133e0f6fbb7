"""What ONNX's checker and its strict inference say of a converted model, compared with the model that came.

A result must pass both. Two things are reported and not refused, since runtimes run the model all the same and the
operators are sound: what a model leaves out that the checker wants (the shape of an input, the graph's name), and
shapes that are declared and that the operators refute. For these the types that follow from the nodes alone are
compared: where the same follows from the model that came, the declaration was wrong before; where nothing followed from
it, every node on the way must have stayed as it was. A declared shape that is wrong is not written again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import onnx
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, TypeProto

from minuend.core.shapes import format_shape
from minuend.errors import ConversionRefused
from minuend.onnx.graphs.nesting import all_inputs, holders, within
from minuend.onnx.graphs.scope import INVENTED, MAIN, shape_of
from minuend.onnx.opsets.schemas import CAST_BY_NUMBER, type_text
from minuend.onnx.opsets.scope import infer, own_types, skeleton
from minuend.onnx.processes import library_process

Types = dict[str, TypeProto]
_POOLS = ("AveragePool", "LpPool", "MaxPool")
_NO_ANSWER = (library_process.OnnxRefuses, library_process.Exceeded)
_NO_TYPE = "expected to have type but instead is null"
"""What ONNX's inference says of an operator whose input has no known type."""
_CAST_IN_A_FUNCTION = (
    f"a function has a Cast, and ONNX infers no type from the name that it states before opset {CAST_BY_NUMBER}; "
    "a graph declares its types, a function cannot"
)


def infer_refuted(model: ModelProto) -> ModelProto:
    """Infer the types of a model's values; shapes that it declares and that its nodes refute are left out.

    ONNX's inference keeps what is declared where the two differ, and runtimes keep what the nodes make. Declarations
    that contradict each other where nothing follows from the nodes are all left out.
    """
    with contextlib.suppress(*_NO_ANSWER):
        return infer(model, strict=True)
    bare = _without_shapes(model)
    less = _without_shapes(model, _by_name(infer(bare)))
    for one in (less, bare):
        with contextlib.suppress(*_NO_ANSWER):
            return infer(one, strict=True)
    return infer(less)


def judge(model: ModelProto, source: ModelProto, opset: int) -> list[str]:
    """Judge a result; wrong declarations in it are corrected in place and reported.

    Args:
        model: the result. source: what it was made of. opset: the result's.

    Raises:
        ConversionRefused: it is invalid, for a reason that is not in what is declared or left out.
    """
    try:
        return _Judge(model, source, opset).notes()
    except library_process.Exceeded as error:
        raise ConversionRefused(f"onnx:{opset}", {"model": f"the result cannot be checked: {error}"}) from None


class _Judge:
    def __init__(self, model: ModelProto, source: ModelProto, opset: int) -> None:
        self.model, self.source, self.opset = model, source, opset

    def notes(self) -> list[str]:
        """What was corrected, and what the checker still misses."""
        reason = library_process.fault(_lean(self.model))
        if not reason:
            return []
        if why := _unsound(self.model):
            if self.opset < CAST_BY_NUMBER and _NO_TYPE in why and any(map(_casts, self.model.functions)):
                raise ConversionRefused(f"onnx:{self.opset}", {"model": _CAST_IN_A_FUNCTION})
            raise self.refusal(why, _unsound(self.source))
        found = self.correct(reason)
        if _declares_wrongly(self.model) and _declares_wrongly(self.source):
            found += self.forget()
        lean = _lean(self.model)
        if left := library_process.fault(lean):
            if library_process.fault(lean, _complete(lean)):
                raise self.refusal(left, library_process.fault(_lean(self.source)))
            found.append(f"ONNX's checker misses something, as in the model that came: {left}")
        return found

    def refusal(self, reason: str, own: str) -> ConversionRefused:
        advice = "the model that came has no fault: please report this"
        if own:
            advice = "the model that came has " + ("the same fault" if own == reason else f"a fault already: {own}")
        return ConversionRefused(
            f"onnx:{self.opset}", {"model": f"ONNX's checker refuses the result: {reason}"}, advice
        )

    # ---- declarations -----------------------------------------------------------------------------------------

    def correct(self, reason: str) -> list[str]:
        """Take out what is declared and refuted, or raise where it cannot be the model's that came."""
        now, before = _followed(self.model), _followed(self.source)
        sound = _Sound(self.model, self.source, now, before)
        found = []
        for holder in holders(self.model):
            outputs = [] if isinstance(holder, FunctionProto) else holder.output
            for rows in (holder.value_info, outputs):
                for i in reversed(range(len(rows))):
                    value = rows[i]
                    follows = now.get(value.name)
                    if follows is None or not _clash(value.type, follows):
                        continue
                    if not sound.is_sound(value.name):
                        raise self.refusal(reason, library_process.fault(_lean(self.source)))
                    message = f"{value.name!r} was declared {_shown(value.type)}, and its node makes {_shown(follows)}"
                    if rows is holder.value_info:
                        del rows[i]
                        found.append(f"{message}; the declaration is gone")
                    else:
                        value.type.CopyFrom(_open(follows))
                        found.append(f"{message}; it is declared so now")
        return found

    def forget(self) -> list[str]:
        """Take out all that is declared in addition to the outputs, where declarations contradict each other."""
        count = sum(len(holder.value_info) for holder in holders(self.model))
        for holder in holders(self.model):
            del holder.value_info[:]
        several = f"{count} values contradict each other or the nodes, as in the model that came"
        return [f"the shapes declared of {several}; they are gone"] if count else []


class _Sound:
    """Whether what follows for a value in the result is what the model that came makes."""

    def __init__(self, model: ModelProto, source: ModelProto, now: Types, before: Types) -> None:
        self.now, self.before = now, before
        self.functions = {(function.domain, function.name): function for function in model.functions}
        # Values of functions can have the names of others.
        self.makers = {name: node for one in within(model.graph) for node in one.node for name in node.output if name}
        self.unchanged = {node.SerializeToString(deterministic=True) for node in _nodes(source)}

    def is_sound(self, name: str) -> bool:
        if self._shaped(name) and not self._refuted(name):
            return True
        waiting, seen = [name], {name}
        while waiting:
            current = waiting.pop()
            node = self.makers.get(current)
            if node is None:  # an input of the graph, of a body or of a function
                continue
            if node.SerializeToString(deterministic=True) not in self.unchanged:
                return False
            if self._rounds_up(node):
                continue
            others = [other for other in set(all_inputs(node)) - {""} if not self._as_before(other)]
            if not others and self._refuted(current):
                return False
            waiting += [other for other in others if other not in seen]
            seen.update(others)
        return True

    def _shaped(self, name: str) -> bool:
        """Whether a shape followed for a value before."""
        return shape_of(self.before.get(name)) is not None

    def _refuted(self, name: str) -> bool:
        """Whether another shape follows for a value than before."""
        return self._shaped(name) and name in self.now and _clash(self.before[name], self.now[name])

    def _rounds_up(self, node: NodeProto) -> bool:
        """Whether a node is a pool that may have a window in the padding, or calls a function with one.

        ONNX's inference counts such a window until opset 21; runtimes never compute it.
        """
        if node.op_type in _POOLS and node.domain in MAIN:
            return any(a.name == "ceil_mode" and (a.i or a.ref_attr_name) for a in node.attribute)
        function = self.functions.get((node.domain, node.op_type))
        return function is not None and any(self._rounds_up(n) for one in within(function) for n in one.node)

    def _as_before(self, name: str) -> bool:
        """Whether the shape of a value is known, and the same, in both."""
        was, is_ = shape_of(self.before.get(name)), shape_of(self.now.get(name))
        return was is not None and is_ is not None and _sizes(was) == _sizes(is_)


def _casts(function: FunctionProto) -> bool:
    """Whether there is a Cast in a function or its bodies."""
    return any(n.op_type == "Cast" and n.domain in MAIN for holder in within(function) for n in holder.node)


def _nodes(model: ModelProto) -> Iterator[NodeProto]:
    return (node for holder in holders(model) for node in holder.node)


def _sizes(shape: Any) -> list[int | None]:
    return [dim if isinstance(dim, int) else None for dim in shape]


def _clash(one: TypeProto, other: TypeProto) -> bool:
    """Whether two types cannot be those of one value."""
    texts = type_text(one), type_text(other)
    if None not in texts and texts[0] != texts[1]:
        return True
    a, b = shape_of(one), shape_of(other)
    if a is None or b is None:
        return False
    return len(a) != len(b) or any(None not in (x, y) and x != y for x, y in zip(_sizes(a), _sizes(b), strict=True))


def _shown(type_: TypeProto) -> str:
    shape = shape_of(type_)
    named = [None if isinstance(dim, str) and dim.startswith("unk__") else dim for dim in shape or ()]
    return "of an unknown rank" if shape is None else format_shape(tuple(named))


def _open(type_: TypeProto) -> TypeProto:
    """A type without the names that inference gives to dims."""
    found = TypeProto()
    found.CopyFrom(type_)
    for dim in found.tensor_type.shape.dim:
        if dim.dim_param.startswith(INVENTED):
            dim.Clear()
    return found


# ---- copies for ONNX ------------------------------------------------------------------------------------------


def _lean(model: ModelProto) -> ModelProto:
    bare = skeleton(model)
    for graph in holders(bare):  # onnx's strict inference forgets the default of this one attribute
        for node in graph.node:
            if node.op_type == "MeanVarianceNormalization" and node.domain in MAIN and not node.attribute:
                node.attribute.append(onnx.helper.make_attribute("axes", [0, 2, 3]))
    return bare


def _unsound(model: ModelProto) -> str:
    """What is wrong with a model whatever it declares and leaves out."""
    lean = _lean(model)
    form = _complete(lean)
    return library_process.fault(_undeclared(lean), form)


def _declares_wrongly(model: ModelProto) -> str:
    """What is wrong with a model that is sound, because of what it declares."""
    lean = _lean(model)
    return library_process.fault(lean, _complete(lean))


def _undeclared(lean: ModelProto) -> ModelProto:
    """A lean copy without what is declared of values that nodes make."""
    for holder in holders(lean):
        del holder.value_info[:]
        if not isinstance(holder, FunctionProto):
            for value in holder.output:
                if value.type.HasField("tensor_type"):
                    value.type.tensor_type.ClearField("shape")
    return lean


def _complete(lean: ModelProto) -> ModelProto:
    """A copy for the checker alone, with what it wants where that is left out: anything will do."""
    whole = ModelProto()
    whole.CopyFrom(lean)
    whole.graph.name = lean.graph.name or "graph"
    whole.ir_version = max(lean.ir_version, 4)  # before, initializers had to be inputs
    for value in (*whole.graph.input, *whole.graph.output):
        if value.type.WhichOneof("value") is None:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    return whole


def _without_shapes(model: ModelProto, refuted_by: Types | None = None) -> ModelProto:
    """A copy without the shapes that are declared of values that nodes make: all, or those that types refute."""
    bare = ModelProto()
    bare.CopyFrom(model)
    for holder in holders(bare):
        for value in (*holder.value_info, *(() if isinstance(holder, FunctionProto) else holder.output)):
            refuted = refuted_by is None or (value.name in refuted_by and _clash(value.type, refuted_by[value.name]))
            if refuted and value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
    return bare


def _followed(model: ModelProto) -> Types:
    """The types that follow from the nodes; of a name that several bodies give to different values, none."""
    return _by_name(infer(_undeclared(_lean(model))))


def _by_name(typed: ModelProto) -> Types:
    found: Types = {}
    twice: set[str] = set()
    for graph in within(typed.graph):
        for name, type_ in own_types(graph).items():
            if name in found and found[name] != type_:
                twice.add(name)
            found[name] = type_
    return {name: type_ for name, type_ in found.items() if name not in twice}
