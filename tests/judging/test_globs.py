"""Globs mean paths: which they match, and in a time that no pattern makes long."""

from __future__ import annotations

import pytest

from minuend.judging.globs import matches


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a.onnx", "a.onnx", True),
        ("./a.onnx", "a.onnx", True),
        ("*.onnx", "a.onnx", True),
        ("*.onnx", "deep/a.onnx", False),
        ("**/*.onnx", "a.onnx", True),
        ("**/*.onnx", "very/deep/a.onnx", True),
        ("exports/**", "exports/very/a.onnx", True),
        ("a?.onnx", "ab.onnx", True),
        ("a?.onnx", "a/.onnx", False),
        ("a[0-9].onnx", "a7.onnx", True),
        ("a[!0-9].onnx", "a7.onnx", False),
        ("m[1].onnx", "m[1].onnx", True),
        ("m[1].onnx", "m1.onnx", True),
        ("m[z-a].onnx", "m[z-a].onnx", True),
        ("a.onnx", "aXonnx", False),
        ("modèle (1).onnx", "modèle (1).onnx", True),
        ("a[!0-9].onnx", "a/.onnx", False),
        ("a[.-0]b", "a/b", False),
        ("[-a][b-]", "-b", True),
        ("a**z.onnx", "a/b/z.onnx", True),
        ("**/" * 24 + "x.onnx", "a/" * 60 + "y.onnx", False),
        ("**/" * 24 + "x.onnx", "a/" * 60 + "x.onnx", True),
        ("*a" * 40 + "b", "a" * 250, False),
    ],
)
def test_globs_mean_paths(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected
