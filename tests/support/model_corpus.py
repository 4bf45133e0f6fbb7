"""The models of ``tests/data/models``: their index, inputs for them, what running and converting them gives.

``tests/judging/test_corpus.py`` asserts on it and ``tools/corpus_report.py`` writes it down: one measurement.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from minuend.errors import ConversionRefused
from minuend.onnx.opsets import convert_proto

FOLDER = Path(__file__).parents[1] / "data" / "models"
INDEX: dict[str, dict[str, Any]] = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
ROUNDING = {"float16": 2.0**-9, "float32": 1e-5, "float64": 1e-13}
"""What "within float rounding" allows: a share of the largest magnitude in the output, about 2 units in the last
place for float16, 84 for float32 (a LayerNormalization body subtracts squares of means), 450 for float64."""


@cache
def load(file: str) -> onnx.ModelProto:
    return onnx.load(FOLDER / file)


def inputs(file: str) -> dict[str, np.ndarray]:
    """Random inputs from the file's row: the same every time, integers in the ranges that the model takes."""
    row = INDEX[file]
    random = np.random.default_rng(zlib.crc32(row["module"].encode()))
    return {spec["name"]: _array(spec, row["sizes"], random) for spec in row["inputs"]}


def _array(spec: dict[str, Any], sizes: dict[str, int], random: np.random.Generator) -> np.ndarray:
    shape = [sizes.get(dim, dim) for dim in spec["shape"]]
    dtype = np.dtype(spec["dtype"])
    if "values" in spec:
        return np.array(spec["values"], dtype).reshape(shape)
    if dtype.kind in "biu":
        return np.asarray(random.integers(spec.get("low", 0), spec.get("high", 2), shape)).astype(dtype)
    if "low" in spec:
        return np.asarray(random.uniform(spec["low"], spec["high"], shape)).astype(dtype)
    return np.asarray(random.standard_normal(shape)).astype(dtype)


def on_onnxruntime(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Run a model as it is written: no graph optimisation, one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@cache
def before(file: str) -> list[np.ndarray]:
    return on_onnxruntime(load(file), inputs(file))


@cache
def newest_runnable() -> int:
    """The newest opset that onnxruntime runs: it refuses drafts of the day it was built, or lacks their kernels."""
    from onnxruntime.capi.onnxruntime_pybind11_state import Fail
    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as Lacking

    for opset in range(onnx.defs.onnx_opset_version(), 13, -1):
        body = "b = Sub(a, a) c = QuantizeLinear(b, s)"
        text = f'<ir_version: 10, opset_import: ["" : {opset}]> g (float[2] a, float s) => (uint8[2] c) {{ {body} }}'
        try:
            on_onnxruntime(onnx.parser.parse_model(text), {"a": np.zeros(2, np.float32), "s": np.array(1, np.float32)})
        except (Fail, Lacking):
            continue
        return opset
    raise AssertionError("onnxruntime runs no opset above 13")


@dataclass(frozen=True)
class Outcome:
    """What came of a conversion.

    Attributes:
        model: the converted model, ``None`` where it was refused. reasons: why it was refused; names of values, which
        differ from file to file, are left out. changes, losses: as the conversion states them.
    """

    model: onnx.ModelProto | None
    reasons: frozenset[str] = frozenset()
    changes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()

    @property
    def expanded(self) -> bool:
        """Whether an operator's function body took its place: then other roundings are in play."""
        return any("expanded into" in change for change in self.changes)


@cache
def convert(file: str, opset: int) -> Outcome:
    try:
        model, changes, losses = convert_proto(load(file), opset)
    except ConversionRefused as error:
        return Outcome(None, frozenset(re.sub(r" ?\('[^']*'\)", "", reason) for reason in error.nodes.values()))
    return Outcome(model, changes=tuple(changes), losses=tuple(losses))


def same_bits(left: list[np.ndarray], right: list[np.ndarray]) -> bool:
    return [(x.dtype, x.shape, x.tobytes()) for x in left] == [(y.dtype, y.shape, y.tobytes()) for y in right]


def close(wanted: list[np.ndarray], got: list[np.ndarray]) -> bool:
    """Whether the outputs are equal within ROUNDING; integers and booleans must be equal."""
    return len(wanted) == len(got) and all(
        difference(x, y) <= ROUNDING.get(x.dtype.name, 0) for x, y in zip(wanted, got, strict=True)
    )


def difference(x: np.ndarray, y: np.ndarray) -> float:
    """The largest difference as a share of the largest magnitude in x; infinite where the kind of answer differs."""
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return float("inf")
    if x.dtype.kind != "f":
        return 0.0 if np.array_equal(x, y) else float("inf")
    finite = np.isfinite(x)
    if not np.array_equal(x[~finite], y[~finite], equal_nan=True) or not np.isfinite(y[finite]).all():
        return float("inf")
    wide, other = x[finite].astype(np.float64), y[finite].astype(np.float64)
    largest = np.abs(wide).max(initial=float(np.finfo(x.dtype).tiny))
    return float(np.abs(wide - other).max(initial=0.0) / largest)
