"""The README's commands and examples do what it shows."""

from __future__ import annotations

import contextlib
import doctest
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from told_pages import timeless

from minuend.cli.program import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ (.*)\n((?:(?!```).*\n)*)```", README)
SHELL = re.findall(r"```sh\n(.*)\n```", README)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the examples, as a clone has them, in which the commands run one after the other."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "examples", folder / "examples")
    with contextlib.chdir(folder):
        yield folder


@pytest.mark.usefixtures("clone")
@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_a_command_prints_what_the_readme_shows(command: str, shown: str, capfd: pytest.CaptureFixture[str]) -> None:
    program, *argv = command.split()
    assert program == "minuend"
    main(argv)
    captured = capfd.readouterr()
    assert timeless(captured.out + captured.err) == timeless(shown)


@pytest.mark.usefixtures("clone")
def test_the_first_command_runs_and_the_second_installs_the_tests(capfd: pytest.CaptureFixture[str]) -> None:
    first, wheel, second, site = SHELL
    install, *commands = first.split(" && ")
    assert install == "pip install ."
    assert len(commands) == 2
    for command in commands:
        assert main(command.removeprefix("minuend ").split()) == 0
    shown = capfd.readouterr().out
    assert [shown.count(policy) for policy in ("wrap ", "saturate ", "widen ")] == [2, 2, 2]
    assert wheel == "pip install dist/*.whl && minuend demo"
    assert second == 'pip install ".[test]" && pytest'
    assert site == 'pip install ".[docs]" && python docs/build.py'  # .ci/site runs it
    assert site in (ROOT / ".ci" / "site").read_text("utf-8")


@pytest.mark.usefixtures("clone")
def test_the_command_behind_a_wheel_shows_the_first_page(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    shown = capfd.readouterr().out
    first = dict(CONSOLE)["minuend sub examples/nir.npy examples/red.npy"]
    assert first.replace("examples/", "") in shown


@pytest.mark.usefixtures("clone")
def test_the_python_examples_give_what_they_show() -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    test = parser.get_doctest("".join(blocks), {}, "README.md", "README.md", 0)
    assert runner.run(test).failed == 0
