"""Across modules: the commands and examples of the README do what it shows."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import front_page
import pytest
from page_runner import blocks, commands, doctested, printed, text, timeless

from minuend.cli.program import main

ROOT = Path(__file__).parent.parent
README = text("README.md")
CONSOLE = blocks("README.md", "console")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the examples, as a clone has them, in which the commands run one after the other."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "examples", folder / "examples")
    with contextlib.chdir(folder):
        yield folder


@pytest.mark.usefixtures("clone")
@pytest.mark.parametrize("block", CONSOLE, ids=[block.splitlines()[0] for block in CONSOLE])
def test_a_command_prints_what_the_readme_shows(block: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert timeless(printed(block, capfd)) == timeless(block)


@pytest.mark.usefixtures("clone")
def test_the_first_command_runs_and_the_second_installs_the_tests(capfd: pytest.CaptureFixture[str]) -> None:
    first, second = blocks("README.md", "sh")
    install, *verbs = first.rstrip().split(" && ")
    assert install == 'pip install ".[onnx]"'
    assert [verb.split()[1] for verb in verbs] == ["sub", "fix", "check"]
    for command in verbs:
        assert main(command.removeprefix("minuend ").split()) == 0
    shown = capfd.readouterr().out
    assert [shown.count(policy) for policy in ("wrap ", "saturate ", "widen ")] == [1, 1, 1]
    assert "as expected on " in shown.splitlines()[-1]
    assert second == 'pip install ".[test]" && pytest\n'


@pytest.mark.usefixtures("clone")
def test_the_first_command_s_packages_are_enough_for_what_follows() -> None:
    """What check, fix and convert import for the examples is the package, what it depends on, and onnx."""
    blocked = "".join(
        f"sys.modules[{name!r}] = None; " for name in ("onnxruntime", "openvino", "torch", "h5py", "zarr")
    )
    for _, *argv in (command for block in CONSOLE for command in commands(block)):
        code = f"import sys; {blocked}from minuend.cli.program import main; sys.exit(main({argv!r}))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        assert "needs the package" not in done.stderr


def test_the_parts_from_the_data_are_those_of_today() -> None:
    assert front_page.filled(README) == README
    assert front_page.filled(README.replace("**251**", "**250**")) == README


def test_the_first_page_is_short() -> None:
    assert README.count("\n") <= 150
    assert README.index("<!-- table") < README.index("## Install") < README.index("## Check and fix") < 4000


@pytest.mark.usefixtures("clone")
def test_the_python_examples_give_what_they_show() -> None:
    (block,) = blocks("README.md", "python")
    assert doctested(block, {}, "README.md") == ""
