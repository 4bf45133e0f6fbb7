"""Nodes of which some runtimes make one operator: GRU cells that are written out, layers of a perceptron, attention."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from minuend.models.flow import SHAPES, Flow

CELL = "gated cell"
"""The kind of a node that is part of such a cell.

openvino looks for ``(1 - z) * n + z * h``, where z is one half of an activation of a product of two values that are
joined, and takes whatever z is subtracted from for 1. A bias of one axis makes it refuse the model.
"""

LAYERS = "difference behind two layers"
"""The kind of a node that subtracts from what two layers with biases make; openvino ends the process there."""

BEHIND_ATTENTION = "sum behind attention"
"""The kind of a node that combines what attention makes with what an element-wise operator makes, and is read twice.

Where a difference is read, openvino has a sum, and a product with -1. It ends the process while it loads the model.
"""

_ELEMENTWISE = frozenset((
    "Abs", "Add", "Cast", "Ceil", "Clip", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
    "LeakyRelu", "Max", "Min", "Mish", "Mul", "Neg", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Sigmoid",
    "Softplus", "Sqrt", "Sub", "Sum", "Tanh", "Where",
))  # fmt: skip
_ACTIVATIONS = ("Relu", "Sigmoid", "Tanh")
_SAME = ("Identity", "Dropout")
_RESHAPING = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")


def in_cells(flow: Flow) -> frozenset[int]:
    """Return the numbers of the nodes that add, subtract or negate within a gated cell.

    >>> steps = [("Concat", ("x", "h"), ("c",)), ("MatMul", ("c", "w"), ("m",)), ("Sigmoid", ("m",), ("s",)),
    ...          ("Split", ("s",), ("r", "z")), ("Mul", ("r", "h"), ("i",)), ("Concat", ("x", "i"), ("e",)),
    ...          ("MatMul", ("e", "v"), ("o",)), ("Tanh", ("o",), ("t",)), ("Sub", ("one", "z"), ("d",)),
    ...          ("Mul", ("d", "t"), ("p",)), ("Mul", ("z", "h"), ("q",)), ("Add", ("p", "q"), ("y",))]
    >>> sorted(in_cells(Flow(steps, ("w", "v", "one"))))
    [8, 11]
    """
    found: set[int] = set()
    for i, (operator, inputs, _) in enumerate(flow.steps):
        if operator == "Add" and len(inputs) == 2:
            for one, other in (inputs, inputs[::-1]):
                within = _update(flow, one) if _made(flow, other, "Mul") is not None else None
                found.update(() if within is None else (i, *within))
    return frozenset(found)


def is_behind_layers(flow: Flow, index: int) -> bool:
    """Return whether a node subtracts a value from what two layers with biases make one after the other.

    >>> steps = [("Gemm", ("x", "w", "b"), ("m",)), ("Relu", ("m",), ("r",)), ("MatMul", ("r", "v"), ("n",)),
    ...          ("Add", ("n", "b"), ("o",)), ("Sub", ("o", "x"), ("y",)), ("Sub", ("m", "x"), ("z",))]
    >>> [is_behind_layers(Flow(steps, ("w", "v", "b")), i) for i in (4, 5)]
    [True, False]
    """
    operator, inputs, outputs = flow.steps[index]
    if operator != "Sub" or len(inputs) != 2 or inputs[1] in flow.folded or flow.has_open_dims(outputs[0]):
        return False
    name, layers, biased, seen = inputs[0], 0, False, set[int]()
    while layers < 2 and (made := flow.maker_of(name)) is not None and made not in seen:
        seen.add(made)
        operator, inputs, _ = flow.steps[made]
        given = [one for one in inputs if one and one not in flow.folded]
        if len(given) != 1:
            return False
        name = given[0]
        if operator in ("MatMul", "Gemm"):
            layers += biased or (operator == "Gemm" and len(inputs) > 2)
            biased = False
        biased = biased or operator == "Add"
    return layers == 2


def is_behind_attention(flow: Flow, index: int) -> bool:
    """Return whether a node adds or subtracts behind attention what openvino multiplies, and its result is read twice.

    >>> steps = [("MatMul", ("q", "k"), ("m",)), ("Softmax", ("m",), ("p",)), ("MatMul", ("p", "v"), ("a",)),
    ...          ("Sub", ("a", "x"), ("d",)), ("Tanh", ("d",), ("t",)), ("Mul", ("d", "t"), ("y",))]
    >>> is_behind_attention(Flow(steps, ()), 3), is_behind_attention(Flow(steps[:-1], ()), 3)
    (True, False)
    """
    operator, _, outputs = flow.steps[index]
    readers = flow.readers_of(outputs[0]) if operator in ("Neg", "Sub") and outputs else ()
    return _combines(flow, index) or any(flow.steps[i][0] == "Add" and _combines(flow, i) for i in readers)


def _combines(flow: Flow, index: int) -> bool:
    """Whether a node adds or subtracts so itself; what is negated or subtracted before may make its other operand."""
    operator, inputs, outputs = flow.steps[index]
    if operator not in ("Add", "Sub") or len(inputs) != 2 or not outputs or flow.has_open_dims(outputs[0]):
        return False
    if _uses(flow, outputs[0]) < 2:
        return False
    return any(
        (operator == "Sub" and other == inputs[1]) or _is_elementwise(flow, other)
        for name, other in (inputs, inputs[::-1])
        if other not in flow.folded and _is_attention(flow, name)
    )


def _uses(flow: Flow, name: str) -> int:
    """How often a value is read, by outputs and by nodes, of which ``x * Sigmoid(x)`` is one."""
    readers = flow.readers_of(name)
    if [flow.steps[i][0] for i in readers] == ["Neg"] and name not in flow.outputs:
        return _uses(flow, flow.steps[readers[0]][2][0])
    if sorted(flow.steps[i][0] for i in readers) == ["Mul", "Sigmoid"] and name not in flow.outputs:
        gates = {one for i in readers if flow.steps[i][0] == "Sigmoid" for one in flow.steps[i][2]}
        return 1 if any(gates & set(flow.steps[i][1]) for i in readers) else 2
    return sum(flow.steps[i][1].count(name) for i in readers) + (name in flow.outputs)


def _is_elementwise(flow: Flow, name: str) -> bool:
    made = flow.maker_of(flow.source(name, _SAME))
    return made is not None and flow.steps[made][0] in _ELEMENTWISE


def _is_attention(flow: Flow, name: str) -> bool:
    """Whether a value is the product of a Softmax of another product, element-wise operators between them aside."""
    for made in _behind(flow, name, _ELEMENTWISE):
        operator, inputs, _ = flow.steps[made]
        if operator == "Attention":
            return True
        if operator in ("MatMul", "Gemm"):
            between = {flow.steps[i][0] for one in inputs for i in _behind(flow, one, _OF_SOFTMAX)}
            if between & {"Softmax", "ReduceSum"} and between & {"MatMul", "Gemm"}:
                return True
    return False


_OF_SOFTMAX = _ELEMENTWISE | {"Softmax", "ReduceMax", "ReduceSum"}
_PRODUCTS = frozenset(("Einsum", "Gemm", "MatMul"))
_SOFTMAX = frozenset(("Softmax", "ReduceSum"))


def is_in_attention(flow: Flow, index: int) -> bool:
    """Return whether a node lies between the two products of attention, or behind them.

    openvino computes all of it in one kernel, of open shapes as of known ones, where each value is read once and the
    second product multiplies by no weights.

    >>> steps = [("MatMul", ("q", "k"), ("m",)), ("Softmax", ("m",), ("p",)), ("Sub", ("p", "x"), ("d",)),
    ...          ("MatMul", ("d", "v"), ("a",)), ("Sub", ("a", "x"), ("e",)), ("Sub", ("x", "k"), ("f",))]
    >>> [is_in_attention(Flow(steps, ()), i) for i in (2, 4, 5)], is_in_attention(Flow(steps, ("v",)), 2)
    ([True, True, False], False)
    """
    if _SOFTMAX.isdisjoint(flow.operators) or _PRODUCTS.isdisjoint(flow.operators):
        return False
    _, inputs, outputs = flow.steps[index]
    ahead = list(_read_once(flow, outputs[0])) if outputs else []
    behind = {i for name in inputs for i in _makers(flow, name, _OF_SOFTMAX)}
    kinds = {flow.steps[i][0] for i in behind}
    between = {flow.steps[i][0] for i in (*behind, *ahead)} & _SOFTMAX
    if between and kinds & _PRODUCTS and any(_multiplies(flow, i) for i in ahead):
        return True
    return any(_is_second_product(flow, i) for name in inputs for i in _makers(flow, name, _ELEMENTWISE))


def _multiplies(flow: Flow, index: int) -> bool:
    """Whether a node is a product with something else than weights behind it."""
    operator, inputs, _ = flow.steps[index]
    return operator in _PRODUCTS and flow.folded.isdisjoint(inputs[1:2])


def _is_second_product(flow: Flow, index: int) -> bool:
    """Whether a node is a product of a Softmax of another product, with something else than weights behind it."""
    if not _multiplies(flow, index):
        return False
    before = {flow.steps[i][0] for name in flow.steps[index][1] for i in _makers(flow, name, _OF_SOFTMAX)}
    return bool(before & _SOFTMAX) and bool(before & _PRODUCTS)


_OF_PARTS = ("ReduceMax", "ReduceSum")
"""Operators that read what else is read in a Softmax that is written out."""


def _is_read_once(flow: Flow, name: str) -> bool:
    readers = [i for i in flow.readers_of(name) if flow.steps[i][0] not in _OF_PARTS]
    return len(readers) + (name in flow.outputs) == 1


def _makers(flow: Flow, name: str, through: Collection[str]) -> Iterator[int]:
    """Yield the makers of a value that is read once, and of what some operators make it of, however it is moved."""
    waiting, seen = [name], {name}
    while waiting:
        one = waiting.pop()
        made = flow.maker_of(one)
        if made is None or not _is_read_once(flow, one):
            continue
        operator, inputs, _ = flow.steps[made]
        if operator not in SHAPES:
            yield made
        more = {each for each in inputs if each not in flow.folded} - seen if operator in (*through, *SHAPES) else set()
        waiting += more
        seen |= more


def _read_once(flow: Flow, name: str) -> Iterator[int]:
    """Yield what reads a value, up to a product, as long as each is read once."""
    seen: set[str] = set()
    while name not in seen and _is_read_once(flow, name):
        seen.add(name)
        index = next((i for i in flow.readers_of(name) if flow.steps[i][0] not in _OF_PARTS), None)
        if index is None:
            return
        yield index
        operator, _, outputs = flow.steps[index]
        if operator not in (*_OF_SOFTMAX, *SHAPES) or not outputs:
            return
        name = outputs[0]


def _behind(flow: Flow, name: str, through: Collection[str]) -> Iterator[int]:
    """Yield the maker of a value, and of what some operators make it of."""
    waiting, seen = [name], {name}
    while waiting:
        one = waiting.pop()
        before = flow.source(one, _RESHAPING)
        made = flow.maker_of(before if flow.shapes.get(before) == flow.shapes.get(one, ()) else one)
        if made is None:
            continue
        yield made
        operator, inputs, _ = flow.steps[made]
        more = {each for each in inputs if each not in flow.folded} - seen if operator in (*through, *_SAME) else set()
        waiting += more
        seen |= more


def _update(flow: Flow, name: str) -> list[int] | None:
    """The nodes within a cell before its last sum, from ``(1 - z) * n`` on; ``None`` where that is no such product."""
    for less, new in _pairs(flow, name, "Mul"):
        kept = _difference(flow, less)
        candidate = _activation(flow, new, "Mul")
        if kept is None or candidate is None:
            continue
        nodes, gate = kept
        direct = _gate(flow, gate)
        if direct is not None:
            return [*nodes, *candidate, *direct] if _has_rows_of_gates(flow, gate) else None
        for attention, own in _pairs(flow, gate, "Mul"):
            scaled, halves = _difference(flow, attention), _gate(flow, own)
            if scaled is not None and halves is not None:
                return [*nodes, *scaled[0], *candidate, *halves]
    return None


def _difference(flow: Flow, name: str) -> tuple[list[int], str] | None:
    """The nodes that subtract, and what: ``a - b``, or ``a + (-b)``."""
    made = _made(flow, name, "Sub")
    if made is not None:
        return [made], flow.steps[made][1][1]
    summed = _made(flow, name, "Add")
    for one in flow.steps[summed][1] if summed is not None else ():
        negated = _made(flow, one, "Neg")
        if summed is not None and negated is not None:
            return [summed, negated], flow.steps[negated][1][0]
    return None


def _gate(flow: Flow, name: str) -> list[int] | None:
    """The sum with a bias, if there is one, before a half of an activation; ``None`` where a value is no such half."""
    made = _made(flow, name, "Split")
    if made is None or len(flow.steps[made][2]) != 2:
        return None
    value, *sizes = flow.steps[made][1]
    if any(flow.sizes.get(one) != 1 for one in sizes):  # halves that are stated are another operator to openvino
        return None
    return _activation(flow, value)


def _activation(flow: Flow, name: str, joined: str = "") -> list[int] | None:
    """The sum with a bias, if there is one, before an activation of a product of joined values; ``None`` for others.

    Args:
        joined: the operator that makes the last of these values; ``""`` for any.
    """
    made = next((i for one in _ACTIVATIONS if (i := _made(flow, name, one)) is not None), None)
    if made is None:
        return None
    before = flow.steps[made][1][0]
    if _is_product(flow, before, joined):
        return []
    summed = _made(flow, before, "Add")
    if summed is not None and any(_is_product(flow, one, joined) for one in flow.steps[summed][1]):
        return [summed]
    return None


def _has_rows_of_gates(flow: Flow, gate: str) -> bool:
    """Whether the weights of a gate have a row for each of its numbers, or may have: others are no cell to openvino."""
    made = _made(flow, gate, "Split")
    waiting = [flow.steps[made][1][0]] if made is not None else []
    while waiting:
        made = flow.maker_of(waiting.pop())
        operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
        if operator in ("MatMul", "Gemm"):
            columns = [flow.shapes.get(one) for one in (inputs[0], flow.source(inputs[1], (*_SAME, "Transpose")))]
            known = [shape[1] for shape in columns if isinstance(shape, tuple) and len(shape) == 2]
            return len(known) < 2 or known[0] == known[1] or not all(isinstance(one, int) for one in known)
        waiting += inputs if operator in (*_ACTIVATIONS, *_SAME, "Add") else ()
    return True


def _is_product(flow: Flow, name: str, joined: str) -> bool:
    for operator in ("MatMul", "Gemm"):
        made = _made(flow, name, operator)
        before = None if made is None else _made(flow, flow.steps[made][1][0], "Concat")
        if before is not None:
            last = flow.steps[before][1][-1]
            return not joined or _made(flow, last, joined) is not None
    return False


def _pairs(flow: Flow, name: str, operator: str) -> Iterator[tuple[str, ...]]:
    """The two operands of what makes a value, in both orders; none where another operator does."""
    made = _made(flow, name, operator)
    if made is not None and len(flow.steps[made][1]) == 2:
        yield flow.steps[made][1]
        yield flow.steps[made][1][::-1]


def _made(flow: Flow, name: str, operator: str) -> int | None:
    """The number of the node that makes a value, if it is one of an operator."""
    made = flow.maker_of(flow.source(name, _SAME))
    return made if made is not None and flow.steps[made][0] == operator and flow.steps[made][1] else None
