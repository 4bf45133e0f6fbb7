"""New releases of runtimes: a made-up index, a runtime that is not run, and every file that names a release."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import measure_releases
import new_releases
import pytest

from minuend.runtimes.registry import adapter

ROOT = Path(__file__).parents[2]
ORT = "onnxruntime-cpu"
NEWEST = new_releases.measured(ORT, ROOT)[-1]
PIP = """{package} ({newest})
Available versions: {newest}, 99.0.0, 99.1.0rc1, {before}, 0.1.0
  INSTALLED: 0.1.0
  LATEST:    {newest}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The files of a checkout that the tool reads and writes."""
    for part in (new_releases.MEASURED, new_releases.ADAPTERS):
        shutil.copytree(ROOT / part, tmp_path / part)
    for part in (new_releases.LISTED, new_releases.CHANGES, new_releases.PROJECT):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / part, tmp_path / part)
    return tmp_path


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """An index on which onnxruntime 99.0.0 and 99.1.0 are new; returns the commands that asked it."""
    commands: list[list[str]] = []

    def output(command: list[str]) -> str:
        commands.append(command)
        if command[0] == "npm":
            return '["1.24.3", "1.30.0", "99.0.0-dev.20261101", "99.0.0"]'
        return PIP.format(
            package=command[-1], newest="99.1.0", before=NEWEST if command[-1] == "onnxruntime" else "0.2.0"
        )

    monkeypatch.setattr(new_releases, "_output", output)
    return commands


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[measure_releases.Series, str]]:
    """Releases that do as the newest measured one does, without an environment; returns what was installed."""
    made: list[tuple[measure_releases.Series, str]] = []

    def install(python: str, folder: Path, series: measure_releases.Series, release: str) -> str:
        made.append((series, release))
        return "python of it"

    def measure(runtime: str, python: str, folder: Path, graphs_of: str) -> None:
        assert (python, graphs_of) == ("python of it", "none" if made[-1][0].alone else "")
        (old,) = folder.glob(f"{runtime}@{NEWEST if runtime == ORT else '0.10.2'}.json")
        text = old.read_text("utf-8").replace(
            f'"release": "{old.stem.partition("@")[2]}"', f'"release": "{made[-1][1]}"'
        )
        (folder / f"{runtime}@{made[-1][1]}.json").write_text(text, "utf-8")

    monkeypatch.setattr(new_releases, "install", install)
    monkeypatch.setattr(new_releases, "measure", measure)
    monkeypatch.setattr(new_releases, "limits", lambda runtime, python: (30, 15))
    return made


def refuse(message: str) -> Callable[..., str]:
    def fail(*_: object, **__: object) -> str:
        raise subprocess.CalledProcessError(1, "pip", stderr=f"{message}\n")

    return fail


def test_final_releases_beyond_the_newest_measured_one_are_new(root: Path, index: list[list[str]]) -> None:
    assert new_releases.new_releases(ORT, root, "python3") == [
        new_releases.New(ORT, "99.0.0", NEWEST),
        new_releases.New(ORT, "99.1.0", "99.0.0"),
    ]
    assert index == [["python3", "-m", "pip", "--disable-pip-version-check", "index", "versions", "onnxruntime"]]
    (new,) = new_releases.new_releases("onnxruntime-node", root, "python3")
    assert new == new_releases.New("onnxruntime-node", "99.0.0", "1.30.0")
    assert index[1:] == [["npm", "view", "onnxruntime-node", "versions", "--json"]]


@pytest.mark.usefixtures("index", "installed")
def test_a_dry_run_lists_what_is_new_and_writes_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert new_releases.main(["--runtime", ORT, "--dry-run"], root) == 0
    assert capsys.readouterr().out == (
        f"{ORT} 99.0.0 is new; the newest release before it is {NEWEST}\n"
        f"{ORT} 99.1.0 is new; the newest release before it is 99.0.0\n"
    )
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("index")
def test_a_new_release_is_measured_and_named_wherever_releases_are(
    root: Path, installed: list[tuple[measure_releases.Series, str]], tmp_path: Path
) -> None:
    summary = tmp_path / "summary.md"
    assert new_releases.main(["--runtime", ORT, "--summary", str(summary)], root) == 0
    assert [(series.runtime, release) for series, release in installed] == [(ORT, "99.0.0"), (ORT, "99.1.0")]
    assert new_releases.measured(ORT, root)[-2:] == ["99.0.0", "99.1.0"]
    source = (root / new_releases.ADAPTERS / "onnxruntime_cpu.py").read_text("utf-8")
    names: dict[str, dict[str, tuple[int, int]]] = {}
    exec(compile(source, "adapter", "exec"), names)
    assert list(names["LOADED"].items())[-2:] == [("99.0.0", (30, 15)), ("99.1.0", (30, 15))]
    assert names["LOADED"].items() > adapter(ORT).LOADED.items()
    assert f'"{NEWEST}", "99.0.0", "99.1.0"' in (root / new_releases.LISTED).read_text("utf-8")
    assert '"onnxruntime==99.1.0"' in (root / new_releases.PROJECT).read_text("utf-8")
    lines = [
        f"- {ORT} {release} is measured: nothing changed since {before}. "
        "It loads opsets up to 30 and IR versions up to 15."
        for release, before in (("99.0.0", NEWEST), ("99.1.0", "99.0.0"))
    ]
    head = (root / new_releases.CHANGES).read_text("utf-8").split("\n## ")[1].split("\n\n")
    assert head[0].endswith(" (unreleased)")
    assert head[1].splitlines() == lines
    assert summary.read_text("utf-8").startswith(
        f"## {ORT} 99.0.0\n\n{lines[0]}\n\n```text\n{ORT}@{NEWEST} → {ORT}@99.0.0: no change in what"
    )


@pytest.mark.usefixtures("index")
def test_a_release_whose_needs_name_its_number_is_a_series_of_its_own(
    root: Path, installed: list[tuple[measure_releases.Series, str]]
) -> None:
    assert new_releases.main(["--runtime", "jax-cpu"], root) == 0
    assert [series.needs for series, _ in installed] == [(f"jax=={one}",) for one in ("99.0.0", "99.1.0")]
    text = (root / new_releases.LISTED).read_text("utf-8")
    assert '    Series("jax-cpu", ("0.10.2",), ("jax==0.10.2",), alone=True),\n' in text
    assert '    Series("jax-cpu", ("99.1.0",), ("jax==99.1.0",), alone=True),\n' in text
    compile(text, "series", "exec")


@pytest.mark.usefixtures("index", "installed")
def test_a_release_that_does_not_install_is_reported_and_nothing_names_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    monkeypatch.setattr(new_releases, "install", refuse("ERROR: no matching distribution"))
    assert new_releases.main(["--runtime", ORT], root) == 1
    assert f"{ORT} 99.1.0 is not measured: ERROR: no matching distribution\n" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_an_index_that_does_not_answer_is_reported(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(new_releases, "_output", refuse("ERROR: no such index"))
    assert new_releases.main(["--runtime", ORT, "--dry-run"], root) == 1
    assert capsys.readouterr().out == f"{ORT}: its releases are not known: ERROR: no such index\n"


def test_a_difference_is_shown_and_counted(root: Path) -> None:
    new = new_releases.New(ORT, "1.24.4", "1.15.0")
    page, changed = new_releases.difference(new, root)
    assert page.startswith(f"{ORT}@1.23.2 → {ORT}@1.24.4")
    page, changed = new_releases.difference(new_releases.New("openvino-cpu", "2024.6.0", "2024.3.0"), root)
    assert changed > 0
    assert (
        new_releases.sentence(new, changed, None)
        == f"- {ORT} 1.24.4 is measured: {changed} answers differ from 1.15.0."
    )


def test_every_runtime_that_is_listed_has_a_row_to_extend() -> None:
    source = (ROOT / new_releases.LISTED).read_text("utf-8")
    for series in measure_releases.SERIES:
        new = new_releases.New(series.runtime, "99.0.0", "")
        compile(new_releases.with_release(source, new), "series", "exec")
        if hasattr(adapter(series.runtime), "LOADED"):
            text = Path(adapter(series.runtime).__file__).read_text("utf-8")
            assert '    "99.0.0": (None, None),\n}\n' in new_releases.with_row(text, "99.0.0", (None, None))
