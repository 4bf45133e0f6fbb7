"""What every verb prints with ``--json`` is what its schema says, errors too."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run

from minuend.cli import program, schemas
from minuend.cli.about import tool

jsonschema = pytest.importorskip("jsonschema")
pytest.importorskip("onnx")
pytest.importorskip("zstandard")

EXAMPLES = Path(__file__).parents[2] / "examples"
FLOATS = '<ir_version: 10, opset_import: ["" : 14]> g (float[2] a, float[2] b) => (float[2] c) { c = Sub(a, b) }'
LEGACY = '<ir_version: 3, opset_import: ["" : 6]> g (int64[2] a, int64[2] b) => (int64[2] c) { c = Sub(a, b) }'

CASES: dict[str, tuple[str, int]] = {
    "sub a.npy b.npy": ("sub", 0),
    "sub f.npy f.npy": ("sub", 0),
    "sub f.npy f.npy -o o.npy": ("sub", 0),
    "sub a.npy b.npy -o o.npy": ("sub", 0),
    "sub a.npy b.npy -o o.npy --overflow error": ("sub", 1),
    "sub f.npy f.npy -o o.npy --nodata nan": ("sub", 0),
    "sub a.npy b.npy --nodata 300": ("sub", 2),
    "sub a.npy no.npy": ("sub", 2),
    "sub": ("sub", 2),
    "delta make base.safetensors tuned.safetensors -o made.safetensors": ("delta", 0),
    "delta make base.safetensors no.safetensors -o made.safetensors": ("delta", 2),
    "delta apply base.safetensors d.safetensors -o applied.safetensors": ("delta", 0),
    "delta apply tuned.safetensors d.safetensors -o applied.safetensors": ("delta", 2),
    "delta verify base.safetensors d.safetensors": ("delta", 0),
    "delta verify base.safetensors d.safetensors base.safetensors": ("delta", 1),
    "delta info d.safetensors": ("delta", 0),
    "delta info base.safetensors": ("delta", 2),
    "spec": ("spec", 0),
    "spec onnx:6": ("spec", 0),
    "spec tosa": ("spec", 2),
    "diff onnx:6 onnx:7": ("diff", 0),
    "diff directml:2.1 directml:3.0": ("diff", 0),
    "diff onnx:6": ("diff", 2),
    "check m.onnx --target openvino-cpu": ("check", 1),
    "check m.onnx f.onnxtxt --target openvino-cpu,directml@5.1": ("check", 1),
    "check m.onnx no.onnx --target onnxruntime-cpu": ("check", 2),
    "check f.onnxtxt --target openvino-cpu --run": ("check", 0),
    "check m.onnx --target openvino-cpu --config accept.toml": ("check", 0),
    "check no.onnx --target onnxruntime-cpu": ("check", 2),
    "check m.onnx --target onnxruntime-cpu --bogus": ("check", 2),
    "check m.onnx": ("check", 2),
    "init -o new.toml": ("init", 0),
    "init -o accept.toml": ("init", 2),
    "run f.onnxtxt --input a=x.npy --inputs b=x.npy -o out": ("run", 0),
    "run f.onnxtxt -o out": ("run", 2),
    "convert f.onnxtxt --to onnx:13 -o o.onnx": ("convert", 0),
    "convert m.onnx --to onnx:13 -o o.onnx": ("convert", 1),
    "convert f.onnxtxt --to onnx:0 -o o.onnx": ("convert", 2),
    "fix m.onnx --target openvino-cpu -o o.onnx": ("fix", 0),
    "fix m.onnx --target onnxruntime-cpu -o o.onnx": ("fix", 0),
    "fix old.onnxtxt --target openvino-cpu -o o.onnx": ("fix", 1),
    "fix m.onnx --target onnx:1": ("fix", 2),
    "prove numpy --quick": ("prove", 0),
    "prove numpi": ("prove", 2),
    "targets": ("targets", 0),
    "targets --diff openvino-cpu@2023.0 openvino-cpu@2026.4": ("targets", 0),
    "targets --diff openvino-cpu": ("targets", 2),
    "targets --matrix --dtype uint8,bfloat16": ("targets", 0),
    "check m.onnx --target openvino-cpu@2026.3.0,onnxruntime-cpu@1.40": ("check", 1),
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from safetensors.numpy import save_file

    from minuend.files.deltas import make_delta

    folder = tmp_path_factory.mktemp("schemas")
    np.save(folder / "a.npy", np.array([5, 200, 7], np.uint8))
    np.save(folder / "b.npy", np.array([10, 100, 7], np.uint8))
    np.save(folder / "f.npy", np.array([[1, np.nan, np.inf]], np.float32))
    np.save(folder / "x.npy", np.ones(2, np.float32))
    shutil.copy(EXAMPLES / "bgsub.onnx", folder / "m.onnx")
    old = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "y": np.arange(3), "z": np.zeros(1)}
    new = {"x": np.arange(9, dtype=np.float32).reshape(3, 3) * np.float32(1e20), "y": np.arange(3), "w": np.ones(2)}
    save_file(old, folder / "base.safetensors")
    save_file(new, folder / "tuned.safetensors")
    make_delta(*(str(folder / f"{name}.safetensors") for name in ("base", "tuned", "d")))
    (folder / "f.onnxtxt").write_text(FLOATS)
    (folder / "old.onnxtxt").write_text(LEGACY)
    (folder / "accept.toml").write_text('[[accept]]\nmodel = "m.onnx"\nreason = "frames are brighter"\n')
    return folder


@pytest.mark.parametrize(("command", "expected"), CASES.items(), ids=list(CASES))
def test_what_a_verb_prints_is_what_its_schema_says(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], command: str, expected: Any
) -> None:
    monkeypatch.chdir(here)
    verb, status = expected
    got, out, err = run(capfd, *command.split(), "--json")
    data = json.loads(out)
    jsonschema.Draft202012Validator(schemas.schema_of(verb)).validate(data)
    assert (got, data["version"], data["tool"]) == (status, 1, tool())
    if "error" in data:
        assert err == f"error: {data['error']['message']}\n"


def test_every_verb_with_json_has_a_schema_that_is_tested() -> None:
    reporting = {
        name
        for name, verb in program.minuend.commands.items()
        if any(
            "--json" in option.opts for one in (verb, *getattr(verb, "commands", {}).values()) for option in one.params
        )
    }
    assert set(schemas.names()) == reporting == {verb for verb, _ in CASES.values()}


@pytest.mark.parametrize("verb", schemas.names())
def test_schemas_are_schemas_and_refuse_what_is_something_else(verb: str) -> None:
    schema = schemas.schema_of(verb)
    jsonschema.Draft202012Validator.check_schema(schema)
    head = {"version": 1, "tool": "minuend 1"}
    error = {"error": {"kind": "bad-use", "message": "no"}}
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({**head, **error})
    for wrong in ({}, head, error, {**head, "version": 2, **error}, {**head, "error": {"kind": "odd", "message": ""}}):
        assert not validator.is_valid(wrong)


def test_the_verb_shows_them(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "schema") == (0, "".join(f"{name}\n" for name in schemas.names()), "")
    status, out, err = run(capfd, "schema", "check")
    assert (status, json.loads(out), err) == (0, schemas.schema_of("check"), "")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (KeyError("x"), 3, "defect"),
        (MemoryError(), 2, "system"),
        (RecursionError(), 2, "bad-input"),
        (OSError(28, "No space left on device", "o.npy"), 2, "system"),
        (ModuleNotFoundError("No module named 'onnx'", name="onnx"), 2, "missing-package"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_kind_of_error_is_json_where_json_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: BaseException, status: int, kind: str
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.delenv(program.TRACEBACK, raising=False)
    monkeypatch.setattr("minuend.files.policy_comparison.compare_files", fail)
    before = sorted(os.listdir())
    got, out, err = run(capfd, "sub", "a.npy", "b.npy", "--json")
    data = json.loads(out)
    jsonschema.validate(data, schemas.schema_of("sub"))
    assert (got, data["error"]["kind"], err.strip()) == (status, kind, f"error: {data['error']['message']}")
    assert sorted(os.listdir()) == before


@pytest.mark.usefixtures("files")
def test_an_option_of_that_name_behind_two_dashes_asks_for_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capfd, "sub", "a.npy", "--", "--json")
    assert (status, out, err) == (2, "", "error: there is no file --json\n")
