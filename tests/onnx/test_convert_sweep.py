"""Across modules: a sample of ONNX's own node tests, converted; tools/sweep_conversion.py runs them all."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest


@pytest.fixture(scope="module")
def tool():
    path = Path(__file__).parents[2] / "tools/sweep_conversion.py"
    spec = importlib.util.spec_from_file_location("sweep_conversion", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["sweep_conversion"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_results_are_compared_in_both_parts(tool, name):
    one, other, close = (np.array([1 + part * 1j], name) for part in (2, 5, 2 + 1e-13))
    assert not tool.alike(one, other, exact=False)
    assert not tool.alike(one, np.array([2 + 2j], name), exact=False)
    assert tool.alike(one, close, exact=False)
    assert not tool.alike(one, other, exact=True)


def test_zeros_of_two_signs_are_not_the_same_bits(tool):
    zeros = np.array([0.0], np.float32), np.array([-0.0], np.float32)
    assert not tool.alike(*zeros, exact=True)
    assert tool.alike(*zeros, exact=False)
    nans = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
    assert tool.alike(nans[:1], nans[1:], exact=True)


def test_a_converted_node_test_gives_the_same_results_or_is_refused(tool):
    found = tool.sweep((13, 15, onnx.defs.onnx_opset_version()), every=7)
    assert found.different == []
    assert found.faults == []
    assert found.counts["equal"] > 500
