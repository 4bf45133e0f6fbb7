"""Results of a case without the constants of other operations in them.

A runtime may compute an operation with the scalar constant of another operation of the same model (``SHARES`` in its
adapter; :mod:`minuend.runtimes.mixed_constants` measures how often), or take 0 and -0 for one (``STRICT``). That says
nothing of a case, whose operations share a model only to save time. So such an operation is run again in a model of its
own, and that result counts.

No other deviation is hidden: a wrong result counts as computed with another constant only where the runtime, given that
constant in a model of one operation, returns the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from minuend.core.elements import ElementType
from minuend.models.hazards import SIGNS_MIXED
from minuend.operators import reference
from minuend.runtimes import values
from minuend.runtimes.cases import Case, Operation
from minuend.runtimes.given_cases import Chosen
from minuend.runtimes.probing import SIDES
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Output, Refused, Runtime
from minuend.runtimes.values import Codes


def unshared(runtime: Runtime, case: Case, outputs: Sequence[Output], together: Sequence[Case]) -> list[Output]:
    """Return the results of a case; those computed with another constant are replaced by those of a model of its own.

    Args:
        runtime: the runtime. case, outputs: a case and its results. together: the cases that shared its model.
    """
    found = list(outputs)
    single = case.op.computes.arity == 1  # its constant is folded: no value meets it
    if single or case.constants not in ("A", "B") or not _may_share(runtime.name, case.element):
        return found
    constants = _constants(together, case.constants)
    for i, (operation, output) in enumerate(zip(case.operations, outputs, strict=True)):
        if _constant(operation, case.constants) is None:
            continue
        wrong = values.differ(case.element, output.codes, operation.expected)
        if not wrong.any():
            continue
        for other in _explaining(case, operation, output.codes, wrong, constants):
            if _same(case, output, _alone(runtime, case, _with(operation, case.constants, other))):
                found[i] = _alone(runtime, case, operation) or output
                break
    return found


def _may_share(runtime: str, element: ElementType) -> bool:
    known = quirks(runtime)
    return element.name in known.shares or (SIGNS_MIXED in known.strict and not element.is_integer)


def _constant(operation: Operation, side: str) -> int | None:
    """The constant on a side of an operation, where it is a scalar."""
    codes = operation.operands[SIDES.index(side)]
    return int(codes.reshape(-1)[0]) if codes.size == 1 else None


def _constants(together: Sequence[Case], side: str) -> list[int]:
    """The scalar constants of a model, each once."""
    every = (_constant(operation, side) for case in together for operation in case.operations)
    return list(dict.fromkeys(code for code in every if code is not None))


def _explaining(case: Case, operation: Operation, got: Codes, wrong: Codes, constants: Sequence[int]) -> Iterator[int]:
    """Yield the constants with which most of the wrong elements would be right, the others being known deviations."""
    a, b = (codes[wrong].tolist() for codes in operation.spread)
    for other in constants:
        pairs = [(other, y) for y in b] if case.constants == "A" else [(x, other) for x in a]
        expected = np.array([reference.apply(case.op.computes, case.element, pair) for pair in pairs], got.dtype)
        if 2 * np.count_nonzero(values.differ(case.element, got[wrong], expected)) < len(pairs):
            yield other


def _with(operation: Operation, side: str, code: int) -> Operation:
    """The operation with another constant; what is expected of it keeps its shape alone."""
    operands = list(operation.operands)
    operands[SIDES.index(side)] = np.full_like(operands[SIDES.index(side)], code)
    return replace(operation, operands=tuple(operands))


def _alone(runtime: Runtime, case: Case, operation: Operation) -> Output | None:
    """The result of one operation in a model of its own; ``None`` where the runtime refuses it."""
    alone = runtime.run(
        Chosen(
            op=case.op,
            element=case.element,
            relation=case.relation,
            constants=case.constants,
            triples=[(*operation.operands, operation.expected)],
            stated=case.attributes,
        )
    )
    return None if isinstance(alone, Refused) else alone[0]


def _same(case: Case, one: Output, other: Output | None) -> bool:
    if other is None or other.element is not case.element or other.codes.shape != one.codes.shape:
        return False
    return not values.differ(case.element, one.codes, other.codes).any()
