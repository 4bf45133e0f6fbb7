"""Patterns are counted by the models that hold them, whatever else lies beside the models."""

from __future__ import annotations

from pathlib import Path

import count_patterns
import onnx

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '


def test_a_pattern_counts_once_for_each_model_and_what_is_no_model_is_passed_over(tmp_path: Path) -> None:
    text = "(float[3] a, float[3] b) => (float[3] c) { t = Relu(a) d = Sub(t, b) e = Relu(b) c = Sub(e, d) }"
    for name in ("one", "two"):
        onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / f"{name}.onnx")
    (tmp_path / "none.onnx").write_bytes(b"\xff")
    found = count_patterns.counted(count_patterns.models([tmp_path], 0))
    assert found["float32", "Relu(x) - x"] == 2
    assert found["float32", "x - x"] == 2
    assert ("float32", "x - Relu(x)") not in found


def test_random_graphs_are_counted_too() -> None:
    assert len(list(count_patterns.models([], 3))) == 3
    assert count_patterns.counted(count_patterns.models([], 3))
