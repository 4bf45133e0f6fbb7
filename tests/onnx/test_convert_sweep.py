"""Across modules: a sample of ONNX's own node tests, converted; tools/sweep_conversion.py runs them all."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import onnx


def test_a_converted_node_test_gives_the_same_results_or_is_refused():
    path = Path(__file__).parents[2] / "tools/sweep_conversion.py"
    spec = importlib.util.spec_from_file_location("sweep_conversion", path)
    tool = importlib.util.module_from_spec(spec)
    sys.modules["sweep_conversion"] = tool
    spec.loader.exec_module(tool)
    found = tool.sweep((13, 15, onnx.defs.onnx_opset_version()), every=7)
    assert found.different == []
    assert found.faults == []
    assert found.counts["equal"] > 500
