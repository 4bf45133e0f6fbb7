"""The action and the pre-commit hook, tried on a sample repository: their own scripts and entries are run."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("onnx")
ruamel = pytest.importorskip("ruamel.yaml")

ROOT = Path(__file__).parents[2]
ACTION, HOOKS = ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml"

pytestmark = pytest.mark.skipif(os.name != "posix" or shutil.which("git") is None, reason="bash and git are run")

WRAPS = '<ir_version: 10, opset_import: ["" : 14]> g (uint8[4] a, uint8[4] b) => (uint8[4] c) { [diff] c = Sub(a, b) }'
FINE = WRAPS.replace("uint8", "int32")


def yaml(path: Path) -> Any:
    return ruamel.YAML(typ="safe", pure=True).load(path.read_text("utf-8"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two models in the working directory, and programs of this environment on the path."""
    home = tmp_path / "sample"
    (home / "exports" / "new models").mkdir(parents=True)
    (home / "exports" / "wraps.onnxtxt").write_text(WRAPS)
    (home / "exports" / "new models" / "fine.onnxtxt").write_text(FINE)
    (home / "exports" / "notes.json").write_text("{}")
    programs = tmp_path / "bin"
    programs.mkdir()
    log = tmp_path / "installed"
    for name, script in {
        "minuend": f'exec {shlex.quote(sys.executable)} -m minuend "$@"',
        "python": f'printf "%s\\n" "$@" > {shlex.quote(str(log))}',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    monkeypatch.chdir(home)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    for command in ("init -q", "add .", "-c user.name=a -c user.email=a@example.org commit -qm models"):
        subprocess.run(["git", *command.split()], check=True, timeout=60)
    return home


# ---- the action -------------------------------------------------------------------------------------------------


def act(folder: Path, **given: str) -> tuple[int, str, dict[str, str], list[str]]:
    """Run the action's scripts as a runner does: its inputs in the environment; return status, text and outputs."""
    action = yaml(ACTION)
    inputs = {name: str(one.get("default", "")) for name, one in action["inputs"].items()} | given
    required = {name for name, one in action["inputs"].items() if one.get("required")}
    assert required <= given.keys() <= action["inputs"].keys()
    written = folder.parent / "outputs"
    written.write_text("")
    printed, status = "", 0
    for step in action["runs"]["steps"]:
        if "run" not in step:
            continue
        assert "${{" not in step["run"]  # an input in a script would be code
        values = {name: _filled(value, inputs) for name, value in step["env"].items()}
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            shell,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, **values, "GITHUB_OUTPUT": str(written)},
        )
        printed += done.stdout + done.stderr
        status = done.returncode
        if status:
            break
    rows = [line.partition("=") for line in written.read_text().splitlines()]
    return (
        status,
        printed,
        {name: value for name, _, value in rows},
        (folder.parent / "installed").read_text().split("\n"),
    )


def _filled(value: str, inputs: dict[str, str]) -> str:
    found = re.fullmatch(r"\$\{\{ (?:inputs\.([a-z-]+)|github\.action_path) \}\}", value)
    assert found is not None
    return inputs[found[1]] if found[1] else "/action"


def test_the_action_checks_a_glob_and_names_what_it_wrote(repository: Path) -> None:
    status, printed, outputs, installed = act(repository, models="exports/**/*.onnxtxt\n", targets="openvino-cpu")
    assert (status, outputs) == (1, {"status": "1", "sarif": "minuend.sarif", "junit": "minuend.xml"})
    assert "2 models: 1 fine, 1 with findings\n" in printed
    assert installed[:-1] == ["-I", "-m", "pip", "install", "/action[onnx]"]
    (log,) = json.loads(Path("minuend.sarif").read_text())["runs"]
    place = log["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "exports/wraps.onnxtxt", "uriBaseId": "%SRCROOT%"}
    assert ElementTree.parse("minuend.xml").getroot().get("failures") == "1"


def test_the_action_takes_several_lines_and_every_input(repository: Path) -> None:
    Path("ours.toml").write_text('[[accept]]\nnode = "diff"\nreason = "bright frames"\n')
    status, printed, outputs, installed = act(
        repository,
        models="exports/wraps.onnxtxt\r\nexports/new models\n",
        targets="openvino-cpu,onnxruntime-cpu",
        config="ours.toml",
        sarif="",
        junit="report of models.xml",
        package="minuend[onnx]==1.0",
        **{"fail-on": "different-numbers"},
    )
    assert (status, outputs) == (0, {"status": "0", "junit": "report of models.xml"})
    assert "bright frames" in " ".join(printed.split())
    assert installed[:-1] == ["-I", "-m", "pip", "install", "minuend[onnx]==1.0"]
    assert not Path("minuend.sarif").exists()


def test_the_action_takes_what_is_tolerated_and_the_rest_from_the_file(repository: Path) -> None:
    Path("minuend.toml").write_text('targets = ["openvino-cpu"]\nmodels = ["exports/wraps.onnxtxt"]\n')
    status, printed, _, _ = act(repository)
    assert (status, "1 of 1 subtractions differs on openvino-cpu" in printed) == (1, True)
    status, printed, _, _ = act(repository, tolerate="sign-of-zero,numbers")
    assert (status, "(tolerated)" in printed) == (0, True)


@pytest.mark.parametrize("accepted", [False, True])
@pytest.mark.parametrize(("tolerate", "tolerated"), [("", False), ("numbers", True)])
@pytest.mark.parametrize(("fail_on", "named"), [("", True), ("unknown", False), ("different-numbers", True)])
def test_the_action_counts_what_check_counts(
    repository: Path, fail_on: str, named: bool, tolerate: str, tolerated: bool, accepted: bool
) -> None:
    if accepted:
        Path("minuend.toml").write_text('[[accept]]\nnode = "diff"\nreason = "bright frames"\n')
    given = {"models": "exports/wraps.onnxtxt", "targets": "openvino-cpu", "fail-on": fail_on, "tolerate": tolerate}
    status, printed, _, _ = act(repository, **given)
    assert status == int(named and not tolerated and not accepted), printed
    assert ("(accepted)" in printed, "(tolerated)" in printed) == (accepted, tolerated and not accepted)


def test_the_action_runs_no_code_from_its_inputs(repository: Path) -> None:
    before = sorted(os.listdir())
    status, printed, outputs, _ = act(repository, models="$(touch pwned)\n`touch pwned`", targets="openvino-cpu")
    assert (status, outputs) == (2, {"status": "2", "sarif": "minuend.sarif", "junit": "minuend.xml"})
    assert "$(touch pwned) cannot be read" in printed
    assert sorted(os.listdir()) == sorted([*before, "minuend.sarif", "minuend.xml"])


def test_the_action_runs_no_code_of_the_repository_that_it_checks(repository: Path) -> None:
    trap = f"open({str(repository / 'pwned')!r}, 'a').write(__name__)\n"
    for name in ("pip", "minuend", "onnx", "numpy", "click", "sitecustomize", "usercustomize", "json", "setuptools"):
        Path(f"{name}.py").write_text(trap)
    Path("setup.py").write_text(trap)
    Path("pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/\n")
    programs, real = repository.parent / "bin", shlex.quote(sys.executable)
    log = shlex.quote(str(repository.parent / "installed"))
    script = (
        f'printf "%s\\n" "$@" > {log}\ntest "$1 $2 $3 $4" = "-I -m pip install"\nexec {real} "$1" "$2" "$3" --version'
    )
    (programs / "python").write_text(f"#!/bin/sh\nset -e\n{script}\n")
    (programs / "minuend").write_text(
        f"#!{sys.executable}\nimport sys\nfrom minuend.cli import main\nsys.exit(main())\n"
    )
    status, printed, _, _ = act(repository, models="exports", targets="openvino-cpu")
    assert (status, "2 models: 1 fine, 1 with findings\n" in printed) == (1, True)
    assert "pip " in printed
    assert not Path("pwned").exists()


def test_every_input_of_the_action_is_used_and_every_output_is_written() -> None:
    text, action = ACTION.read_text("utf-8"), yaml(ACTION)
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(action["inputs"])
    assert {name: one["value"] for name, one in action["outputs"].items()} == {
        name: f"${{{{ steps.check.outputs.{name} }}}}" for name in ("sarif", "junit", "status")
    }


@pytest.mark.skipif(importlib.util.find_spec("check_jsonschema") is None, reason="check-jsonschema is not installed")
def test_the_action_is_what_its_schema_says() -> None:
    command = ["check_jsonschema", "--builtin-schema", "vendor.github-actions", str(ACTION)]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


# ---- the hook ---------------------------------------------------------------------------------------------------


def hook(*extra: str) -> tuple[int, str]:
    """Run the hook's entry on the files that git knows and that it is about, as pre-commit does."""
    (one,) = yaml(HOOKS)
    names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True, timeout=60).stdout
    files = [name for name in names.splitlines() if re.search(one["files"], name)]
    command = [*shlex.split(one["entry"]), *(extra or one["args"]), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.usefixtures("repository")
def test_the_hook_checks_the_models_of_a_commit() -> None:
    status, printed = hook()
    assert status == 1
    assert "2 models: 1 fine, 1 with findings\n" in printed
    assert hook("--target", "onnxruntime-cpu")[0] == 0
    assert hook("--target", "openvino-cpu", "--write-baseline")[0] == 0
    assert hook()[0] == 0


def test_the_hook_has_what_pre_commit_asks_of_one() -> None:
    (one,) = yaml(HOOKS)
    assert {"id", "name", "entry", "language"} <= one.keys()
    assert set(one) <= {
        "id", "name", "entry", "language", "files", "args", "description", "additional_dependencies", "require_serial",
    }  # fmt: skip
    about = re.compile(one["files"])
    assert [name for name in ("a.onnx", "b/c.onnxtxt", "d.json", "e.xml", "onnx") if about.search(name)] == [
        "a.onnx",
        "b/c.onnxtxt",
    ]
