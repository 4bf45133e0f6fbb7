"""Convert ONNX's backend node tests to other opsets and run them before and after: equal or refused, never different.

python tools/sweep_conversion.py                     # every test to 13, 15 and the newest opset
python tools/sweep_conversion.py --to 7 10 --every 10
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from differential.results import same
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator

from minuend.errors import ConversionRefused
from minuend.onnx.opsets import convert_proto


@dataclass
class Sweep:
    """What came out: counts, differences by test and opset, refusals by reason."""

    counts: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


def run(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
    """Run a model on ONNX's reference evaluator."""
    names = [i.name for i in model.graph.input]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return list(ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=False))))


def run_elsewhere(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
    """Run a model on onnxruntime, unoptimised, at an IR version that it reads."""
    import onnxruntime

    known = onnx.ModelProto()
    known.CopyFrom(model)
    known.ir_version = min(model.ir_version, 11)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(known.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in model.graph.input]
    feeds = {
        n: x if isinstance(x, list) else np.asarray(x) for n, x in zip(names, inputs, strict=False) if x is not None
    }
    return list(session.run(None, feeds))


def judged_elsewhere(case: Any, model: onnx.ModelProto) -> str:
    """Where ONNX's evaluator lacks an operator, or reads an old one as the newest, onnxruntime computes the result.

    Returns:
        What differs from the result that the test expects; ``""`` where nothing does.
    """
    expected = [_value(x) for x in case.data_sets[0][1]]
    try:
        results = run_elsewhere(model, inputs_of(case))
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    near = all(
        np.allclose(np.asarray(x), np.asarray(y), max(case.rtol, 1e-6), max(case.atol, 1e-7), equal_nan=True)
        for x, y in zip(expected, results, strict=True)
    )
    return "" if near else "onnxruntime has another result too"


def alike(x: Any, y: Any, *, exact: bool) -> bool:
    """Whether two results are the same: bit for bit, or within the rounding of their type."""
    if isinstance(x, list | tuple):
        return (
            isinstance(y, list | tuple)
            and len(x) == len(y)
            and all(alike(a, b, exact=exact) for a, b in zip(x, y, strict=True))
        )
    if x is None or y is None:
        return x is None and y is None
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind in "OUSb":
        return bool((x == y).all())
    if exact or x.dtype.kind in "iu":
        return same(x, y)
    try:
        wide, parts = (np.complex128, 2) if x.dtype.kind == "c" else (np.float64, 1)
        digits = {2: 3e-2 if x.dtype != np.float16 else 4e-3, 4: 2e-5, 8: 1e-12}.get(x.dtype.itemsize // parts, 0.2)
        return bool(np.allclose(x.astype(wide), y.astype(wide), digits, digits, equal_nan=True))
    except TypeError:
        return bool((x == y).all())


UPSTREAM = {
    "test_range_bfloat16_type_positive_delta": "ONNX's evaluator makes (n, 1) of a Loop's scalars; no other runs it",
}
"""Tests that nothing here can judge."""

RANDOM = ("bernoulli", "dropout", "training_dropout", "random", "multinomial")


def cases(every: int = 1) -> Iterator[Any]:
    """ONNX's node tests of the main domain, or one in so many."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = sorted(load_model_tests(kind="node"), key=lambda case: case.name)
    for case in tests[::every]:
        if any(row.domain in ("", "ai.onnx") for row in case.model.opset_import):
            yield case


def inputs_of(case: Any) -> Sequence[Any]:
    """The first data set's inputs as arrays, lists or None."""
    return [_value(x) for x in case.data_sets[0][0]]


def _value(x: Any) -> Any:
    if isinstance(x, onnx.TensorProto):
        return onnx.numpy_helper.to_array(x)
    if isinstance(x, onnx.SequenceProto):
        return onnx.numpy_helper.to_list(x)
    if isinstance(x, onnx.OptionalProto):
        return onnx.numpy_helper.to_optional(x)
    return x


def compare(case: Any, model: onnx.ModelProto, *, exact: bool) -> str:
    """Run a test before and after its conversion, and say how the results compare."""
    inputs = inputs_of(case)
    try:
        before = run(case.model, inputs)
    except Exception:  # the evaluator lacks it
        other = judged_elsewhere(case, model)
        return "converted, but nothing here runs it" if other else "equal on onnxruntime"
    try:
        if alike(before, run(model, inputs), exact=exact):
            return "equal"
        reason = "another result"
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    other = judged_elsewhere(case, model)
    return f"{reason}; {other}" if other else "equal on onnxruntime"


def sweep(opsets: Sequence[int], every: int = 1) -> Sweep:
    """Convert and run; see the module."""
    result = Sweep()
    for case in cases(every):
        for opset in opsets:
            key = f"{case.name} {main(case.model)} to {opset}"
            try:
                model, _, losses = convert_proto(case.model, opset)
            except ConversionRefused as refusal:
                result.counts["refused"] += 1
                result.reasons[key] = "; ".join(refusal.nodes.values())
                if "model" in refusal.nodes and "same fault" not in str(refusal):
                    result.faults.append(f"{key}: {refusal}")
                continue
            if case.name in UPSTREAM or any(part in case.name for part in RANDOM):
                result.counts["converted, not comparable"] += 1
                continue
            outcome = compare(case, model, exact=not losses)
            if outcome.startswith(("equal", "converted")):
                result.counts[outcome] += 1
            else:
                result.different.append(f"{key}: {outcome}")
    result.counts["different"] = len(result.different)
    return result


def main(model: onnx.ModelProto) -> int:
    """The opset of the main domain."""
    return int(next(row.version for row in model.opset_import if row.domain in ("", "ai.onnx")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--to", type=int, nargs="+", default=[13, 15, onnx.defs.onnx_opset_version()])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--reasons", action="store_true", help="list the refusals")
    options = parser.parse_args()
    found = sweep(options.to, options.every)
    for text in (*found.different, *found.faults):
        print(text)
    if options.reasons:
        for text, why in found.reasons.items():
            print(f"refused {text}: {why}")
    print(dict(found.counts))
    sys.exit(1 if found.different or found.faults else 0)
