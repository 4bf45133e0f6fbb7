"""Across modules: a test uses every option of every verb; options that no other test uses are used here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from command_line import run

from minuend.cli.program import minuend
from minuend.cli.verbs import common_options

TESTS = Path(__file__).parents[1]
MODELS = TESTS / "data" / "models"


def options(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Option]]:
    """Every verb's name and option."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from options(inner, (*path, name))
        return
    yield from ((path[-1], one) for one in command.params if isinstance(one, click.Option))


def words(path: Path) -> set[str]:
    """The words of all texts in a file of Python."""
    texts = (node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant))
    return {word for text in texts if isinstance(text, str) for word in re.split(r"[\s=]", text)}


def test_every_option_is_used_by_a_test_of_its_verb() -> None:
    used = [words(path) for path in TESTS.rglob("test_*.py")]
    found = list(options(minuend))
    common = {option.name for option in common_options()}  # test_printing.py tries them
    assert len(found) > 70
    left = [(verb, one) for verb, one in found if not one.hidden and one.name not in common]
    assert [
        f"{verb} {option.opts[-1]}"
        for verb, option in left
        if not any(verb in file and file.intersection(option.opts) for file in used)
    ] == []


def test_strict_calls_unknown_what_documents_do_not_say(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    path = str(MODELS / "gated_cell.dynamo-18.onnx")
    assert run(capfd, "check", path, "--target", "directml@5.1")[0] == 0
    status, out, _ = run(capfd, "check", path, "--target", "directml@5.1", "--strict")
    assert status == 1
    assert "the documents do not say what the results are" in " ".join(out.split())


def test_a_processor_is_what_verdicts_are_for(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    path = str(MODELS / "gated_cell.dynamo-18.onnx")
    assert run(capfd, "check", path, "--target", "tract", "--cpu", "avx512_bf16")[0] == 0
    status, out, _ = run(capfd, "check", path, "--target", "tract", "--cpu", "avx2")
    assert status == 1
    assert "tract@0.23.9 has not been measured up to AVX2; it was up to AVX-512 BF16" in " ".join(out.split())
    status, _, err = run(capfd, "check", path, "--target", "tract", "--cpu", "avx512")
    assert (status, err.partition("; ")[0]) == (2, "error: no instruction set 'avx512' (did you mean 'avx512f'?)")


def test_a_hint_is_the_precision_that_verdicts_are_for(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    path = str(MODELS / "gated_cell.dynamo-18.onnx")
    assert run(capfd, "check", path, "--target", "openvino-cpu@2026.4.1")[0] == 1
    assert run(capfd, "check", path, "--target", "openvino-cpu@2026.4.1", "--hint", "f32")[0] == 0
    status, _, err = run(capfd, "check", path, "--target", "openvino-cpu@2026.4.1", "--hint", "f64")
    assert (status, err) == (2, "error: no hint 'f64'; expected f32\n")


def test_measure_has_limits_too(capfd: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capfd, "measure", "numpy", "-o", "out.json", "--max-memory", "1G")
    assert status == 2
    assert "'1G' is no number of bytes; expected a whole number from 0 on" in err
