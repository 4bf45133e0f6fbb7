"""Models that this package runs, beside onnxruntime on the whole model without optimisations."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from differential import conversion, onnx_worker, valid_nodes
from differential.conversion import ABSENT, bits, fault, model_of, near, same, typed, words
from differential.onnx_worker import Bits, Failed
from differential.surface import Difference, Surface

NEWEST = 27
"""The newest opset that onnxruntime has kernels for."""
TRIES = 4
"""Values that are tried, so that no NaN and no infinity hides a difference."""


@dataclass(frozen=True)
class Case(valid_nodes.Nodes):
    """A model of some nodes that is run."""


def draw(source: random.Random) -> Case:
    """Draw a case."""
    fields = valid_nodes.draw(source)
    while fields["opset"] > NEWEST:
        fields = valid_nodes.draw(source)
    if source.random() < 0.5:
        fields["more"] = (*fields.get("more", ()), *valid_nodes.more(source, fields["opset"], 5))
    return Case(
        **fields,
        constants=source.choice(["none", "initializer", "node", "all"]),
        dims=source.choice(["static", "static", "named"]),
        place=source.choice(["graph", "graph", "graph", *conversion.places(fields)]),
        repeat=source.choice(conversion.REPEATS),
        linked=source.random() < 0.8,
        seed=source.randrange(1000),
    )


def plain(value: Any) -> bool:
    """Whether a result has no NaN and no infinity."""
    if isinstance(value, list):
        return all(map(plain, value))
    return not isinstance(value, np.ndarray) or value.dtype.kind != "f" or bool(np.isfinite(value).all())


def compare(case: Case, folder: Path) -> str:
    """Run the model of a case on both."""
    if not conversion.fits(case):
        return "not valid: a window does not fit"
    expected: list[Any] | str = ""
    for turn in range(TRIES):
        try:
            built = valid_nodes.build(replace(case, seed=case.seed + 1000 * turn))
            model = typed(model_of(case, built), built.feeds)
        except conversion.INVALID as error:
            return f"not valid: {error}"
        try:
            expected = onnx_worker.run(model.SerializeToString(), built.feeds)
        except Failed as error:
            expected = str(error)
        if isinstance(expected, str) or all(map(plain, expected)):
            break
    if wrong := fault(model):
        return f"not valid: {wrong}"
    return against(case, model, built.feeds, expected, folder)


def against(case: Case, model: ModelProto, feeds: dict[str, Any], expected: list[Any] | str, folder: Path) -> str:
    """Run a model here, and compare with what onnxruntime says."""
    import minuend as mn
    from minuend.errors import MinuendError

    try:
        came = list(mn.run(conversion.stored(model, case, folder), feeds).values())
    except MinuendError as error:
        return _refused(case, expected, str(error))
    if isinstance(expected, str):
        lacks = any(word in expected for word in ABSENT)
        return "run here alone" if lacks else f"run here, and onnxruntime fails: {expected}"
    if valid_nodes.RANDOM & conversion.operators(case):
        return "random"
    if case.place in ("loop", "scan") and any(
        isinstance(one, np.ndarray) and one.dtype.kind in "OUT" for one in expected
    ):
        return "strings in a loop, which onnxruntime loses after the first turn"
    if all(same(x, bits(y)) if isinstance(x, Bits) else same(x, y) for x, y in zip(expected, came, strict=True)):
        return "equal"
    if case.place in ("loop", "scan") and all(map(near, expected, came)):
        return "within rounding in a loop, where onnxruntime rounds by the address of what a turn makes"
    if case.more and any(map(is_half, expected)) and all(map(near, expected, came)):
        return "within rounding, where onnxruntime leaves float16 in float32 from node to node"
    if case.constants != "none" and all(map(near, expected, came)):
        return "within rounding, where onnxruntime packs constant operands beforehand"
    raise Difference(f"ours {words(came)}, theirs {words(expected)}")


def is_half(value: Any) -> bool:
    """Whether a value is of a float of 16 bits, for which onnxruntime has few kernels: it puts casts around others."""
    return isinstance(value, Bits) or (isinstance(value, np.ndarray) and value.dtype == np.float16)


KNOWN = ("onnxruntime is wrong for this",)
"""Nodes that onnxruntime is known to compute wrongly are refused by name, see tests/onnx/execution/test_defects.py."""


def _refused(case: Case, expected: list[Any] | str, why: str) -> str:
    if isinstance(expected, str):
        return "both refuse"
    if any(word in why for word in KNOWN):
        return f"refused, a known defect: {why}"
    raise Difference(f"refused, and onnxruntime gives {words(expected)}: {why}")


SURFACES = (Surface("run", "models that are run", ("onnx", "onnxruntime"), draw, compare, Case),)
