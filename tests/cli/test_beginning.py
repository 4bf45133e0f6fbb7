"""``init``: a commented ``minuend.toml`` for the models and runtimes that are there; ``check`` then needs no more."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import run

pytest.importorskip("onnx")

from minuend.judging import beginning
from minuend.judging.configuration import parse
from minuend.runtimes import targets

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two models, one of them in a folder below it, and two installed runtimes."""
    (tmp_path / "exports").mkdir()
    shutil.copy(EXAMPLES / "bgsub.onnx", tmp_path / "exports")
    shutil.copy(EXAMPLES / "legacy_axis.onnxtxt", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(targets, "installed", lambda: ["onnxruntime-cpu", "openvino-cpu"])
    return tmp_path


def test_check_alone_works_after_init(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "init") == (
        0,
        "minuend.toml: 2 models on onnxruntime-cpu and openvino-cpu\nnext: minuend check\n",
        "",
    )
    status, out, _ = run(capfd, "check", "--json")
    data = json.loads(out)
    assert status == 1
    assert [one["path"] for one in data["models"]] == ["legacy_axis.onnxtxt", "exports/bgsub.onnx"]
    assert {one["target"].partition("@")[0] for one in data["findings"]} == {"onnxruntime-cpu", "openvino-cpu"}
    Path("minuend.toml").write_text(Path("minuend.toml").read_text().replace("*.onnxtxt", "exports"))
    assert run(capfd, "fix", "exports/bgsub.onnx", "--target", "openvino-cpu", "-o", "exports/bgsub.fixed.onnx")[0] == 0
    Path("exports/bgsub.onnx").unlink()
    assert run(capfd, "check")[0] == 0


@pytest.mark.usefixtures("here")
def test_the_file_has_every_key_with_a_comment(capfd: pytest.CaptureFixture[str]) -> None:
    run(capfd, "init", "-q")
    text = Path("minuend.toml").read_text("utf-8")
    usual = parse("minuend.toml", text).usual
    assert (usual.models, usual.targets) == (("*.onnxtxt", "exports/*.onnx"), ("onnxruntime-cpu", "openvino-cpu"))
    assert usual.fail_on == {"different-numbers", "not-implemented", "invalid", "unknown"}
    parts = text.split("\n\n")
    assert all(part.startswith("# ") for part in parts)
    assert [part.splitlines()[-1].partition(" = ")[0] for part in parts[:5]] == [
        "models", "targets", "fail-on", "tolerate", "# hint"
    ]  # fmt: skip
    text = "".join(line.removeprefix("# ") + "\n" for part in parts[4:] for line in part.splitlines()[1:])
    assert parse("minuend.toml", text).usual.hint == "f32"
    assert parse("minuend.toml", text).accepts[0].reason == "ids are below 2**31"


@pytest.mark.usefixtures("here")
def test_a_file_that_exists_is_not_replaced(capfd: pytest.CaptureFixture[str]) -> None:
    Path("minuend.toml").write_text("# mine\n")
    status, out, err = run(capfd, "init")
    message = "error: minuend.toml is there already; edit it, or name another file with -o\n"
    assert (status, out, err) == (2, "", message)
    assert Path("minuend.toml").read_text() == "# mine\n"


@pytest.mark.usefixtures("here")
def test_another_file_is_for_the_models_of_its_folder(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "init", "-o", "exports/gate.toml", "--json")
    data = json.loads(out)
    assert (status, data["path"], data["models"], data["found"]) == (
        0, "exports/gate.toml", ["*.onnx"], ["exports/bgsub.onnx"]
    )  # fmt: skip
    assert run(capfd, "check", "--config", "exports/gate.toml", "-q")[0] == 1


@pytest.mark.usefixtures("here")
def test_without_a_runtime_the_most_usual_ones_are_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "installed", list)
    assert run(capfd, "init")[1] == (
        "minuend.toml: 2 models on onnxruntime-cpu and openvino-cpu\n"
        "no runtime that runs models is installed here; the targets are the most usual ones\n"
        "next: minuend check\n"
    )


def test_a_folder_without_a_model_has_nothing_to_begin_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capfd, "init")
    assert status == 2
    assert err.startswith("error: . is a folder without a model; expected ")
    assert not Path("minuend.toml").exists()


def test_of_many_folders_those_at_the_top_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for i in range(9):
        folder = tmp_path / "nets" / f"number {i}"
        folder.mkdir(parents=True)
        shutil.copy(EXAMPLES / "bgsub.onnx", folder)
    begun = beginning.begin()
    assert (begun.models, len(begun.found)) == (("nets",), 9)


def test_installed_runtimes_are_those_that_run_models() -> None:
    pytest.importorskip("onnxruntime")
    names = targets.installed()
    assert "onnxruntime-cpu" in names
    assert not {"numpy", "onnx-reference"} & set(names)


def test_the_next_command_can_be_pasted(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (here / "exports").rename(here / "my exports")
    _, out, _ = run(capfd, "init", "-o", "my exports/gate.toml")
    assert out.splitlines()[-1] == "next: minuend check --config 'my exports/gate.toml'"
