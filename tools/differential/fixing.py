"""Whether ``check`` calls ok what ``fix`` wrote, on the same target, and whether it is right there.

    python tools/differential.py --surface cures [--minutes 5] [--seed 1]

Models are drawn from a grid: dialect and opset, element type, which operands are constants, how their shapes relate,
what stands around the subtraction, overflow policy, target; half of them from what a recipe is for. Each is fixed,
checked and fixed again; where the target's runtime is installed the fixed model is run and compared with exact integers
and fractions. What was written and is not ok, or is wrong, is a difference; another node that was touched is one too.
So is what was refused, left or rewritten where ``cure_promises.py`` says otherwise. Cases are counted by recipe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx

import minuend as mn
from differential.cure_models import Array, Case, broadcast, draw, model, operands
from differential.cure_promises import LEFT, REFUSED, REWRITTEN, promise
from differential.surface import Difference, Surface, running
from minuend.core.elements import TYPES, ElementType
from minuend.core.policies import Contract
from minuend.errors import MinuendError
from minuend.models.opening import open_model
from minuend.operators import ADD, SUBTRACT, reference
from minuend.operators.operator import Operator
from minuend.rewriting.fixing import Fixed
from minuend.runtimes import values
from minuend.runtimes.model_runs import query_model
from minuend.runtimes.running import Runtime

INSTALLED = ("onnxruntime-cpu", "openvino-cpu")
"""Targets whose runtime runs what was fixed for them."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Attributes:
        kind: ``"no model"``, ``"left"``, or that with the words that its result is not known, ``"ok"``, ``"refused"``,
            or ``"failed"``. why: of the last two.
        cures: what was written.
    """

    kind: str
    why: str = ""
    cures: tuple[str, ...] = ()


def outcome(case: Case, runtimes: Mapping[str, Runtime | None]) -> Outcome:
    """Fix the model of a case and try what came of it; then compare with what fix has to do."""
    made = model(case)
    if made is None:
        return Outcome("no model")
    fixed = mn.fix(made, case.target, overflow=cast(Contract, case.overflow), run=False)
    found = _tried(case, made, fixed, runtimes)
    wanted, why = promise(case)
    if found.kind == "failed" or not wanted or set(_KINDS[found.kind]) <= set(wanted):
        return found
    reasons = found.why or "; ".join((*fixed.changes, *fixed.notes))
    said = f"it is {_KINDS[found.kind][0]} ({reasons}), and has to be {' or '.join(wanted)}"
    return Outcome("failed", f"{said}: {why}")


_UNKNOWN = "left, not known to be right"
_KINDS = {"ok": REWRITTEN, _UNKNOWN: LEFT, "left": LEFT, "refused": REFUSED}


def _tried(case: Case, made: Any, fixed: Fixed, runtimes: Mapping[str, Runtime | None]) -> Outcome:
    """Check a fixed model, fix it again, and run it where a runtime is at hand."""
    if fixed.refused:
        return Outcome("refused", fixed.refused[0].reason)
    if isinstance(made, onnx.ModelProto) and (why := touched(made, fixed)):
        return Outcome("failed", why)
    again = mn.fix(fixed.model, case.target, overflow="wrap", run=False)
    if fixed.touched and again.touched:
        return Outcome("failed", f"a second fix changes it again: {again.changes[-1]}")
    if any("not known to be right" in note for note in fixed.notes):
        return Outcome(_UNKNOWN)
    checked = () if ":" in case.target else mn.check(fixed.model, case.target).findings
    wrong = [one for one in checked if one.verdict != "ok" and one.tolerated is None]
    if wrong:
        return Outcome("failed", f"check: {wrong[0].verdict}, {wrong[0].reason}")
    runtime = runtimes.get(runs_on(case))
    why = "" if runtime is None else ran(case, fixed, runtime)
    if why:
        return Outcome("failed", why)
    return Outcome("ok", cures=cures(fixed)) if fixed.touched else Outcome("left")


def runs_on(case: Case) -> str:
    """Return the target whose runtime runs what is fixed; onnxruntime computes integers as every opset does."""
    return INSTALLED[0] if ":" in case.target and TYPES[case.dtype].is_integer else case.target


def cures(fixed: Fixed) -> tuple[str, ...]:
    """Return what was done, by the recipes' names and the like."""
    texts = {f"({one.name})": one.name for one in SUBTRACT.recipes} | dict(OTHERS)
    return tuple(name for text, name in texts.items() if any(text in change for change in fixed.changes))


OTHERS: Mapping[str, str] = {
    "became a ": "a constant",
    "broadcasting spelt out": "broadcasting spelt out",
    "opset 6": "a later opset",
}


def touched(before: onnx.ModelProto, fixed: Fixed) -> str:
    """Return which node was changed that is no subtraction; the reasons of the changes name functions put in place."""
    if not fixed.changes:
        return "" if fixed.model == before else "nothing is reported and the model is another one"
    if any("became the nodes of the functions" in change for change in fixed.changes) or any(
        "opset" in change for change in fixed.changes
    ):
        return ""
    now = Counter(_others(fixed.model))
    lost = Counter(_others(before)) - now
    return f"another node was touched: {next(iter(lost))!r}" if lost else ""


def _others(proto: onnx.ModelProto) -> Iterator[bytes]:
    """Every node that is no Sub and holds no body, serialised."""
    waiting = [proto.graph.node, *(function.node for function in proto.functions)]
    while waiting:
        for node in waiting.pop():
            bodies = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
            waiting += [body.node for body in bodies]
            if not bodies and node.op_type != "Sub":
                yield node.SerializeToString(deterministic=True)


def ran(case: Case, fixed: Fixed, runtime: Runtime) -> str:
    """Run a fixed model; return what differs from exact numbers, or ``""``."""
    opened = open_model(fixed.model)
    names = list(opened.output_names())
    for inputs, wanted in _runs(case):
        try:
            got, _ = query_model(opened, inputs, names, (), runtime)
        except MinuendError as error:
            return f"it does not run: {error}"
        for name, want in zip(names, wanted, strict=False):  # what stands behind it is another operator's
            if why := _unlike(TYPES[case.dtype], got[name], want):
                return f"{name}: {why}"
    return ""


def _runs(case: Case) -> Iterator[tuple[dict[str, Array], list[Array]]]:
    """The inputs of each run, and the first outputs."""
    given, element = operands(case), TYPES[case.dtype]
    inputs = {
        name: one for side, (name, one) in zip("AB", given.items(), strict=True) if case.constants not in (side, "both")
    }
    if case.around == "from uint8":
        inputs = {f"{name} as uint8": one.astype(np.uint8) for name, one in inputs.items()}
    if case.around == "with Conv":
        inputs["image"] = np.ones((1, 1, 8, 18), np.float32)
    a, b = broadcast(case)
    if case.around == "behind Add":
        a = exact(element, a, b, "wrap", ADD)
    wanted = exact(element, a, b, case.overflow)
    if case.around == "in If":
        yield inputs | {"yes": np.array(True)}, [wanted]
        yield inputs | {"yes": np.array(False)}, [exact(element, b, a, case.overflow)]
    elif case.around == "two in a row":
        yield inputs, [wanted, exact(element, wanted, b, case.overflow)]
    else:
        yield inputs, [wanted, wanted] if case.around == "read twice" else [wanted]


def _unlike(element: ElementType, found: Array, want: Array) -> str:
    found = found.reshape(want.shape)
    if found.dtype != element.memory:  # onnxruntime hands bfloat16 out as float32
        found = found.astype(element.memory)
    bits = f"u{element.itemsize}"
    unlike = values.differ(element, np.ascontiguousarray(found).view(bits), want.view(bits))
    if not unlike.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(unlike)[0])
    return f"it computes {found[at]} at {at}, expected {want[at]}"


def exact(element: ElementType, a: Array, b: Array, overflow: str, operator: Operator = SUBTRACT) -> Array:
    """Return A less B, or their sum, by Python's integers, or by the reference's fractions."""
    x, y = np.broadcast_arrays(a, b)
    bits = f"u{element.itemsize}"
    if element.is_integer:
        low, high = element.limits
        span, sign = 1 << element.bits, -1 if operator is SUBTRACT else 1
        each = (int(left) + sign * int(right) for left, right in zip(x.flat, y.flat, strict=True))
        done = [min(max(n, low), high) if overflow == "saturate" else (n - low) % span + low for n in each]
        return np.array(done, object).reshape(x.shape).astype(element.memory)
    pairs = zip(np.ascontiguousarray(x).view(bits).flat, np.ascontiguousarray(y).view(bits).flat, strict=True)
    codes = [reference.apply(operator, element, (int(left), int(right))) for left, right in pairs]
    return np.array(codes, bits).reshape(x.shape).view(element.memory)


def _compare(case: Case, _: Path) -> str:
    runtimes = {name: running(name) if runs_on(case) == name else None for name in INSTALLED}
    found = outcome(case, runtimes)
    if found.kind == "failed":
        raise Difference(found.why)
    return ", ".join(found.cures) if found.cures else f"{found.kind}: {found.why}" if found.why else found.kind


SURFACES = (
    Surface(
        "cures", "fix, check, fix again and run, for every recipe", ("onnxruntime", "openvino"), draw, _compare, Case,
    ),
)  # fmt: skip
