"""The operands of a pattern in a run: which values of a model they are, and whether known numbers meet there.

That can be seen of patterns whose operators compute element by element, and stand in the model one behind the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from minuend.core.elements import of_numpy
from minuend.judging.operand_pools import codes_of
from minuend.models.matching.operator_groups import ARITHMETIC, COMPARISONS
from minuend.models.patterns import Op, Pattern
from minuend.models.ranges.assumed import Assumptions
from minuend.models.tracing import Array, Step, Trace
from minuend.operators import codes
from minuend.runtimes.witness import Witness

ELEMENT_WISE = frozenset(
    (*ARITHMETIC, *COMPARISONS, "Abs", "Cast", "Ceil", "Exp", "Floor", "Identity", "Log", "Neg", "Reciprocal", "Relu",
     "Round", "Sigmoid", "Sign", "Sqrt", "Tanh", "Where")
)  # fmt: skip
"""Operators an element of whose result depends on one element of each operand."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A pattern where it stands in a model.

    Attributes:
        terms: what names the values of its holes and constants, in its order. result: the same of its result.
    """

    terms: tuple[Hashable, ...]
    result: Hashable


def places(pattern: Pattern, where: str, trace: Trace) -> Iterator[Placed]:
    """Yield where a pattern stands in a model whose judged operator has a place."""
    judged = next((step for step in trace.steps if step.where == where), None)
    if judged is None or not isinstance(pattern, Op):
        return
    roots = [judged]
    for op in reversed(_above(pattern)):
        roots = [
            step
            for step in trace.steps
            if step.operator == op.operator and any(set(step.inputs) & set(root.outputs) for root in roots)
        ]
    makers = {key: step for step in trace.steps for key in step.outputs}
    for root in roots:
        terms = _Terms(judged, makers, trace).of(pattern, root)
        if terms is not None:
            yield Placed(terms, root.outputs[0])


def _above(op: Op) -> list[Op]:
    """The operators of a pattern on the way from its result to the judged one, without that."""
    if op.judged:
        return []
    for one in op.operands:
        if isinstance(one, Op) and _has_judged(one):
            return [op, *_above(one)]
    return []


def _has_judged(op: Op) -> bool:
    return op.judged or any(isinstance(one, Op) and _has_judged(one) for one in op.operands)


@dataclass(frozen=True, slots=True)
class _Terms:
    """What names the values of holes and constants, by the judged node, the nodes that make values, and all values."""

    judged: Step
    makers: Mapping[Hashable, Step]
    trace: Trace

    def of(self, op: Op, step: Step) -> tuple[Hashable, ...] | None:
        """The names of those of an operator at a node; ``None`` where it is another one."""
        if not self._fits(op, step):
            return None
        found: list[Hashable] = []
        for term, key in zip(op.operands, step.inputs, strict=True):
            if isinstance(term, Op):
                below = self.of(term, self.makers[key]) if key in self.makers else None
                if below is None:
                    return None
                found += below
            elif term is not None:
                found.append(key)
        return tuple(found)

    def _fits(self, op: Op, step: Step) -> bool:
        if step.operator != op.operator or op.operator not in ELEMENT_WISE or op.judged != (step is self.judged):
            return False
        if op.place or len(step.inputs) != len(op.operands):
            return False
        return op.types is None or op.types == tuple(map(self._dtype, (step.inputs[0], step.outputs[0])))

    def _dtype(self, key: Hashable) -> str:
        element = of_numpy(self.trace.values[key].dtype)
        return "" if element is None else element.name


def met(placed: Placed, trace: Trace, witness: Witness) -> bool:
    """Whether some element of a pattern's result is computed of the operands of a witness."""
    shape = np.shape(trace.values[placed.result])
    if len(placed.terms) != len(witness.operands):
        return False
    together = np.ones(shape, np.bool_)
    for key, number in zip(placed.terms, witness.operands, strict=True):
        array = trace.values.get(key)
        element = of_numpy(array.dtype) if isinstance(array, np.ndarray) else None
        if array is None or element is None:
            return False
        try:
            same = codes_of(element, array) == codes.encode(element, number)
            together &= np.broadcast_to(same.reshape(array.shape), shape)
        except ValueError:  # another type's number, or shapes that NumPy does not join
            return False
    return bool(together.any())


def with_witness(
    placed: Placed, trace: Trace, witness: Witness, inputs: Mapping[str, Array], assumed: Assumptions
) -> dict[str, Array] | None:
    """Return inputs that hold the operands of a witness, as far as a pattern reads inputs; ``None`` where it does not.

    Args:
        placed, trace: the pattern in a run on ``inputs``. witness: of the pattern. assumed: what is known of inputs.
    """
    made = dict(inputs)
    found = False
    for key, number in zip(placed.terms, witness.operands, strict=False):
        name = next((name for name, array in inputs.items() if key == name or trace.values.get(key) is array), None)
        element = None if name is None else of_numpy(inputs[name].dtype)
        if name is None or element is None:
            continue
        try:
            code = codes.encode(element, number)
        except ValueError:  # of another type
            continue
        found = True
        filled = np.full(inputs[name].shape, code, f"u{element.itemsize}").view(inputs[name].dtype)
        made[name] = assumed[name].fit(filled) if name in assumed else filled
    return made if found else None
