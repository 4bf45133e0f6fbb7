"""Run random nodes of every ONNX operator on a runtime, and print what differs from onnxruntime and has no verdict.

    python tools/draw_operators.py openvino-cpu [--minutes 5] [--seed 7] [--only RoiAlign …] [--number 118]

Nodes are drawn as the surface ``run`` of ``tools/differential.py`` draws them, with inputs given and stored.
onnxruntime computes each without optimisations. What a runtime refuses or computes otherwise, by more than rounding,
although its adapter says nothing of the node, is printed by operator: its form is missing in
``src/minuend/models/operator_forms.py``. With 64-bit integers beyond 32 bits nodes are left out.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from differential import node_models, onnx_worker, valid_nodes
from differential.comparable import fits, is_random
from differential.output_types import INVALID, typed
from differential.running import Case, plain
from onnx import ModelProto, printer
from truth import Feeds, array_of, ask

from minuend.errors import LimitExceeded
from minuend.onnx.graphs.declared import kinds, operators
from minuend.onnx.graphs.operator_forms import forms_of
from minuend.onnx.graphs.walk import walk
from minuend.runtimes.quirks import Quirks, quirks
from minuend.runtimes.running import Refused, Runtime

NEWEST = 24
"""The newest opset that is drawn: most runtimes load none above."""
TRIES = 3
"""Values that are tried, so that no NaN and no infinity hides a difference."""
NEAR, NEAR_HALF = 1e-3, 1e-2
"""The distance, by the largest element, up to which results are alike; that of types of 16 bits and fewer."""

Drawn = tuple[Case, ModelProto, Feeds, list[Any]]


def drawn(source: random.Random, only: list[str]) -> Drawn | None:
    """Return a case, its model, what it is given, and what onnxruntime gives; ``None`` for one that is left out.

    Raises:
        Failed: onnxruntime does not run it. INVALID: it is not valid.
    """
    fields = valid_nodes.draw(source, source.choice(only) if only else "")
    if fields["opset"] > NEWEST or fields.get("more") or "version" in fields:
        return None
    case = Case(**fields, constants=source.choice(["none", "initializer", "initializer"]), seed=source.randrange(1000))
    for turn in range(TRIES if fits(case) else 0):
        built = valid_nodes.build(replace(case, seed=case.seed + 1000 * turn))
        model = typed(node_models.model_of(case, built), built.feeds)
        if is_random(model):
            return None
        wanted = onnx_worker.run(model.SerializeToString(), built.feeds)
        values = [*built.feeds.values(), *built.stored.values(), *wanted]
        if all(map(is_compared, values)) and all(map(plain, wanted)):
            return case, model, built.feeds, wanted
    return None


def is_compared(value: Any) -> bool:
    """Whether a value is an array of numbers that every runtime holds."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OUS" or not value.size:
        return False
    wide = value.dtype.kind in "iu" and value.dtype.itemsize == 8
    return not wide or max(abs(int(value.max())), abs(int(value.min()))) < 1 << 31


def is_said(model: ModelProto, known: Quirks, release: str) -> bool:
    """Whether an adapter says something of a node of the model."""
    own = forms_of(walk(model)) | operators(model) | kinds(model)
    return not own.isdisjoint(known.strict_of(release)) or bool(
        known.lacks(own, release) or known.differs(own, release)
    )


def difference(answer: list[Any] | Refused, wanted: list[Any]) -> str:
    """Say what is wrong with a runtime's results; ``""`` where nothing is."""
    if isinstance(answer, Refused):
        return f"refused: {' '.join(answer.message.split())[-100:]}"
    for one, other in zip(map(array_of, answer), wanted, strict=True):
        if one.shape != other.shape:
            return f"shape {one.shape} for {other.shape}"
        if one.dtype != other.dtype and not (one.dtype.kind in "iu" and other.dtype.kind in "iu"):
            return f"{one.dtype} for {other.dtype}"
        if not are_near(one, other):
            return "numbers"
    return ""


def are_near(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether two results are alike: integers are equal."""
    if other.dtype.kind in "iub":
        return np.array_equal(one, other)
    near, a, b = NEAR if other.dtype.itemsize > 2 else NEAR_HALF, one.astype(np.float64), other.astype(np.float64)
    return np.allclose(a, b, near, near * max(near, float(np.abs(b).max(initial=0))), equal_nan=True)


def cases(seed: int, number: int, minutes: float, only: list[str]) -> Iterator[tuple[int, Drawn]]:
    """Yield cases with their numbers until the time is over; the one of a number alone, where it is given."""
    end = time.monotonic() + 60 * minutes
    i = number or 1
    while time.monotonic() < end:
        try:
            found = drawn(random.Random(f"{seed} {i}"), only)
        except (onnx_worker.Failed, *INVALID):
            found = None
        if found is not None:
            yield i, found
        if number:
            return
        i += 1


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime")
    parser.add_argument("--python", default="", help="the interpreter of an environment with another release")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=[], metavar="OPERATOR")
    parser.add_argument("--number", type=int, default=0, help="one case again, with its model")
    options = parser.parse_args()
    known, hint = quirks(options.runtime), "f32" if "f32" in quirks(options.runtime).hints else ""
    fine: Counter[str] = Counter()
    wrong: defaultdict[str, list[str]] = defaultdict(list)
    with Runtime(options.runtime, **({"python": options.python} if options.python else {})) as runtime:
        for i, (case, model, feeds, wanted) in cases(options.seed, options.number, options.minutes, options.only):
            if is_said(model, known, runtime.release):
                continue
            try:
                found = difference(ask(runtime, model, feeds, hint), wanted)
            except LimitExceeded as error:
                found = str(error)
            if options.number:
                print(printer.to_text(model), feeds, wanted, sep="\n")
            if found:
                wrong[case.op].append(f"{i}: {found}; opset {case.opset} {case.test or dict(case.attributes)}")
            else:
                fine[case.op] += 1
    print(f"{options.runtime} {runtime.release}, seed {options.seed}: {fine.total()} nodes as expected")
    for operator, found_of in sorted(wrong.items()):
        print(f"{operator}: {len(found_of)} of {len(found_of) + fine[operator]}", *found_of[:4], sep="\n  ")


if __name__ == "__main__":
    main()
