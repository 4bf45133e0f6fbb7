"""Across modules: a test uses every option of every verb; options that no other test uses are used here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
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


def words(node: ast.AST) -> set[str]:
    """The words of all texts in a part of a module."""
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return {word for text in texts if isinstance(text, str) for word in re.split(r"[\s=]", text)}


def used(text: str) -> Iterator[set[str]]:
    """The words of each part of a module of tests, with those of the module's names that it uses."""
    body = ast.parse(text).body
    assigned = ((target, one) for one in body if isinstance(one, ast.Assign | ast.AnnAssign)
                for target in (one.targets if isinstance(one, ast.Assign) else [one.target]))  # fmt: skip
    named = {target.id: words(one) for target, one in assigned if isinstance(target, ast.Name)}
    for one in body:
        names = {name.id for name in ast.walk(one) if isinstance(name, ast.Name)} & named.keys()
        yield words(one).union(*(named[name] for name in names))


def untried(found: Sequence[tuple[str, click.Option]], parts: Sequence[set[str]]) -> list[str]:
    """Verbs and options that no part of a test uses together."""
    return [
        f"{verb} {option.opts[-1]}"
        for verb, option in found
        if not any(verb in part and part.intersection(option.opts) for part in parts)
    ]


def test_every_option_is_used_by_a_test_of_its_verb() -> None:
    parts = [part for path in TESTS.rglob("test_*.py") for part in used(path.read_text("utf-8"))]
    found = list(options(minuend))
    common = {option.name for option in common_options()}  # test_printing.py tries them
    assert len(found) > 70
    left = [(verb, one) for verb, one in found if not one.hidden and one.name not in common]
    assert untried(left, parts) == []


def test_an_option_that_only_another_verbs_test_uses_is_found() -> None:
    option = click.Option(["--speed"])
    text = (
        'NAMES = ["run --speed"]\n\ndef test_one():\n    call("sub")\n\ndef test_other():\n    call("{verb}", NAMES)\n'
    )
    assert untried([("sub", option)], list(used(text.format(verb="run")))) == ["sub --speed"]
    assert untried([("sub", option)], list(used(text.format(verb="sub")))) == []


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
    status, out, _ = run(capfd, "check", path, "--target", "tract", "--cpu", "avx512f")
    assert status == 1
    assert "not been measured up to AVX-512; it was up to AVX2 and AVX-512 BF16" in " ".join(out.split())
    status, _, err = run(capfd, "check", path, "--target", "tract", "--cpu", "avx512")
    assert (status, err.partition("; ")[0]) == (2, "error: no instruction set 'avx512' (did you mean 'avx512f'?)")


def test_a_hint_is_the_precision_that_verdicts_are_for(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    path = str(MODELS / "gated_cell.dynamo-18.onnx")
    assert run(capfd, "check", path, "--target", "openvino-cpu@2026.4.1")[0] == 1
    assert run(capfd, "check", path, "--target", "openvino-cpu@2026.4.1", "--hint", "f32")[0] == 0
    status, _, err = run(capfd, "check", path, "--target", "openvino-cpu@2026.4.1", "--hint", "f64")
    assert (status, err) == (2, "error: no hint 'f64'; expected f32\n")


@pytest.mark.parametrize("command", ["measure numpy -o out.json", "fix model.onnx --target tract -o out.onnx"])
def test_measure_and_fix_have_limits_too(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capfd, *command.split(), "--max-memory", "1G")
    assert status == 2
    assert "'1G' is no number of bytes; expected a whole number from 0 on" in err
