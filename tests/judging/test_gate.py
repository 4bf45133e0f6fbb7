"""``check`` as a gate: many models, what counts, what is accepted, and the files that it writes."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from command_line import run

pytest.importorskip("onnx")

import minuend as mn
from minuend.cli import program, progress
from minuend.cli.signals import Ended
from minuend.forked import CAN_FORK
from minuend.judging import gate
from minuend.judging.checking import examine
from minuend.judging.options import Judging
from minuend.models.searching import search
from minuend.runtimes import registry
from minuend.runtimes.finding import Finding
from minuend.runtimes.formats import sarif
from minuend.runtimes.report import Report

SUFFIXES = ".json (DirectML), .onnx (ONNX), .onnxtxt (ONNX) or .xml (OpenVINO)"


def text(body: str = "[diff] c = Sub(a, b)", dtype: str = "uint8", names: str = "a b") -> str:
    a, b = names.split()
    return (
        f'<ir_version: 10, opset_import: ["" : 14]> g ({dtype}[4] {a}, {dtype}[4] {b}) => ({dtype}[4] c) {{ {body} }}'
    )


WRAPS, FLOAT, NONE = text(), text(dtype="float"), text("c = Add(a, b)")
POSITIONS = text("[shift] c = Sub(positions, b)", "int64", "positions b")
IR = '<?xml version="1.0"?>\n<!-- an IR -->\n<net name="m" version="11"><layers/><edges/></net>\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with three models, a folder with one more, and files that are no models."""
    monkeypatch.chdir(tmp_path)
    for path, content in {
        "wraps.onnxtxt": WRAPS,
        "none.onnxtxt": NONE,
        "exports/deep/positions.onnxtxt": POSITIONS,
        "exports/notes.json": "{}",
        "exports/pom.xml": "<project/>",
        "exports/ir.xml": IR,
        "exports/.cache/old.onnxtxt": WRAPS,
        "README.md": "# models",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    return tmp_path


def check(capfd: pytest.CaptureFixture[str], command: str) -> tuple[int, str, str]:
    return run(capfd, "check", *command.split())


def without_processors(out: str) -> str:
    """A page without the sentence on which processors the targets were measured, which changes with the data."""
    return re.sub(r"measured on [^:]*:\s[^\n]*\n", "", out)


def report(capfd: pytest.CaptureFixture[str], command: str) -> tuple[int, dict[str, Any]]:
    status, out, _ = check(capfd, f"{command} --json")
    return status, json.loads(out)


def verdicts(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["model"], one["target"].partition("@")[0], one["verdict"]) for one in data["findings"]]


# ---- which models -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_folders_are_searched_for_what_a_dialect_reads() -> None:
    assert search(["."]) == [
        "none.onnxtxt",
        "wraps.onnxtxt",
        os.path.join("exports", "ir.xml"),
        os.path.join("exports", "deep", "positions.onnxtxt"),
    ]


def without_the_folder_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.scandir

    def refuse(path: str) -> object:
        if os.path.basename(path) == "deep":
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)


@pytest.mark.usefixtures("here")
def test_a_folder_that_cannot_be_listed_is_reported_beside_the_others(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was judged because of it."""
    _, whole = report(capfd, ". --target openvino-cpu")
    without_the_folder_deep(monkeypatch)
    status, found = report(capfd, ". --target openvino-cpu")
    deep = os.path.join(".", "exports", "deep")
    (unread,) = [one for one in found["models"] if one.get("error")]
    assert (status, unread["path"], unread["error"]["message"]) == (2, deep, f"{deep}: Permission denied")
    there = [one for one in verdicts(whole) if "deep" not in one[0]]
    assert verdicts(found) == there != []
    status, _, error = run(capfd, "check", "exports/deep", "--target", "openvino-cpu")
    assert (status, error) == (2, "error: exports/deep: Permission denied\n")


@pytest.mark.usefixtures("here")
def test_a_baseline_that_cannot_be_written_is_refused_before_anything_is_judged(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(place: Any, made: bool) -> None:
        raise PermissionError(13, "Permission denied", place.path)

    monkeypatch.setattr("minuend.files.transaction.output_paths.check_folder", refuse)
    monkeypatch.setattr("minuend.judging.gate.check_models", None)
    status, _, error = run(capfd, "check", ".", "--target", "openvino-cpu", "--write-baseline")
    assert status == 2
    assert error.endswith("minuend.toml: Permission denied\n")


@pytest.mark.usefixtures("here")
def test_a_model_that_is_named_twice_is_looked_at_once() -> None:
    os.symlink("wraps.onnxtxt", "link.onnxtxt")
    assert search(["wraps.onnxtxt", "*.onnxtxt", "./wraps.onnxtxt", "."])[:2] == ["wraps.onnxtxt", "none.onnxtxt"]


def test_a_link_to_nothing_and_what_cannot_be_looked_into_are_models(here: Path) -> None:
    os.symlink("gone.onnx", here / "exports" / "dangling.onnx")
    assert os.path.join("exports", "dangling.onnx") in search(["exports"])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "name", ["a b.onnxtxt", "modèle ü.onnxtxt", "[1].onnxtxt", "-x.onnxtxt", "100%.onnxtxt", "a'b.onnxtxt"]
)
def test_names_with_odd_characters_are_names(capfd: pytest.CaptureFixture[str], name: str) -> None:
    os.mkdir("odd")
    os.rename("wraps.onnxtxt", os.path.join("odd", name))
    for given in (["odd"], [os.path.join("odd", name)], ["odd/*"]):
        status, out, _ = run(capfd, "check", "--target", "openvino-cpu", "--json", "--sarif", "o.sarif", "--", *given)
        assert (status, [one["path"] for one in json.loads(out)["models"]]) == (1, [os.path.join("odd", name)])
        (result,) = json.loads(Path("o.sarif").read_text("utf-8"))["runs"][0]["results"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.isascii()
        assert not set(uri) & set(" []'")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["-x", "two\nlines", "{a}", "<a>", "a\x1b[31m'b", "\udcff", "\udcff [1]"])
def test_printed_commands_are_read_by_a_shell_and_by_fix(capfd: pytest.CaptureFixture[str], name: str) -> None:
    os.rename("wraps.onnxtxt", f"{name}.onnxtxt")
    status, out, _ = run(capfd, "check", "--target", "openvino-cpu", "--", f"{name}.onnxtxt")
    assert status == 1
    command = out.split("do:  minuend ")[1].split("\n\n")[0]
    shown = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True).stdout
    arguments = [os.fsdecode(word) for word in shown.split(b"\0")[:-1]]
    assert run(capfd, *arguments, "--no-run")[0] == 0
    assert os.path.exists(f"{name}.fixed.onnx")


@pytest.mark.usefixtures("here")
def test_models_of_one_name_are_written_to_files_of_two(capfd: pytest.CaptureFixture[str]) -> None:
    for path in ("exports/positions.onnxtxt", "exports/deep/positions.onnxtxt"):
        Path(path).write_text(WRAPS)
    command = "exports --target openvino-cpu --hint f32 --sarif o.sarif --junit o.xml"
    for name in ("exports/positions", "exports/deep/positions"):
        expected = f"minuend fix {name}.onnxtxt --target openvino-cpu@2026.4.1 --hint f32 -o {name}.fixed.onnx"
        out = check(capfd, command)[1]
        for text in (
            " ".join(out.replace("\\\n", " ").split()),
            Path("o.sarif").read_text(),
            Path("o.xml").read_text(),
        ):
            assert expected in text


@pytest.mark.usefixtures("here")
def test_a_name_that_is_no_utf8_has_a_baseline(capfd: pytest.CaptureFixture[str]) -> None:
    os.rename("wraps.onnxtxt", "\udcff.onnxtxt")
    assert run(capfd, "init")[0] == 0
    assert check(capfd, "--target openvino-cpu --write-baseline")[0] == 0
    assert 'model = "?.onnxtxt"' in Path("minuend.toml").read_text("utf-8")
    assert check(capfd, "--target openvino-cpu")[0] == 0
    Path("minuend.toml").unlink()
    os.mkdir("\udcfe")
    for number in range(9):
        os.mkdir(f"\udcfe/{number}")
        os.link("\udcff.onnxtxt", f"\udcfe/{number}/a.onnxtxt")
    assert run(capfd, "init")[0] == 0
    assert tomllib.loads(Path("minuend.toml").read_text("utf-8"))["models"] == [
        "none.onnxtxt",
        "?.onnxtxt",
        "exports",
        "?",
    ]


@pytest.mark.usefixtures("here")
def test_many_models_have_one_summary_and_fine_ones_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    Path("minuend.toml").write_text('[[model]]\npath = "exports/**"\nassume = {positions = "0..131071", b = "0..3"}\n')
    status, out, err = check(capfd, "none.onnxtxt wraps.onnxtxt exports/deep --target openvino-cpu,onnxruntime-cpu")
    assert (status, err) == (1, "")
    assert max(map(len, out.splitlines())) <= 80
    assert without_processors(out) == (
        "none.onnxtxt has no subtraction\n"
        "\n"
        "wraps.onnxtxt: 1 subtraction, findings: 1 different-numbers\n"
        "openvino-cpu@2026.4.1  different-numbers\n"
        "graph.node[0] 'diff': numbers in uint8: 5 − 10 = 0, expected 251\n"
        "  why: saturates instead of wrapping\n"
        "  do:  minuend fix wraps.onnxtxt --target openvino-cpu@2026.4.1 \\\n"
        "         -o wraps.fixed.onnx\n"
        "\n"
        "exports/deep/positions.onnxtxt: 1 subtraction, all as expected, where positions\n"
        "is 0..131071 (assumed) and b is 0..3 (assumed)\n"
        "\n"
        "3 models: 2 fine, 1 with findings\n"
        "openvino-cpu@2026.4.1: 1 ok, 1 different-numbers\n"
        "onnxruntime-cpu@1.32.0: 2 ok\n"
    )


@pytest.mark.usefixtures("here")
def test_a_model_that_cannot_be_read_is_an_error_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    Path("broken.onnx").write_bytes(b"\x00")
    status, data = report(capfd, "broken.onnx wraps.onnxtxt README.md no.onnx --target onnxruntime-cpu --junit j.xml")
    assert status == 2
    assert verdicts(data) == [("wraps.onnxtxt", "onnxruntime-cpu", "ok")]
    assert [(one["path"], one["ok"], one.get("error", {}).get("message", "")) for one in data["models"]][1:] == [
        ("wraps.onnxtxt", True, ""),
        ("README.md", False, f"README.md has the suffix '.md', which names no kind of model; expected {SUFFIXES}"),
        ("no.onnx", False, "there is no file no.onnx"),
    ]
    suites = ElementTree.parse("j.xml").getroot()
    assert {name: suites.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "0",
        "errors": "3",
        "skipped": "0",
    }
    status, out, _ = check(capfd, "no.onnx wraps.onnxtxt --target onnxruntime-cpu")
    assert without_processors(out) == (
        "no.onnx cannot be read: there is no file no.onnx\n"
        "wraps.onnxtxt: 1 subtraction, all as expected\n"
        "\n"
        "2 models: 1 fine, 1 not read\n"
        "onnxruntime-cpu@1.32.0: 1 ok\n"
    )


@pytest.mark.usefixtures("here")
def test_what_the_system_refuses_is_an_error_of_its_model(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> Any:
        raise PermissionError(13, "Permission denied", path) if path == "wraps.onnxtxt" else MemoryError

    monkeypatch.setattr("minuend.judging.gate.open_model", refuse)
    status, data = report(capfd, "wraps.onnxtxt none.onnxtxt --target onnxruntime-cpu")
    assert (status, [one["error"] for one in data["models"]]) == (
        2,
        [
            {"kind": "system", "message": "wraps.onnxtxt: Permission denied"},
            {"kind": "system", "message": "there is not enough memory for this"},
        ],
    )


@pytest.mark.usefixtures("here")
def test_two_hundred_models_show_a_bar_to_a_terminal_alone(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkdir("many")
    for i in range(200):
        Path("many", f"{i:03}.onnxtxt").write_text(NONE)
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(progress.Bar, "__call__", lambda _, done, total: calls.append((done, total)))
    status, out, err = check(capfd, "many --target onnxruntime-cpu")
    assert (status, len(out.splitlines()), err) == (0, 203, "")
    assert calls[0] == (0, 200)
    assert calls[-1] == (200, 200)
    assert calls == sorted(calls)


@pytest.mark.skipif(not CAN_FORK, reason="processes are not copied here")
def test_many_models_are_judged_in_several_processes_with_the_same_results(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "many").mkdir()
    bodies = (WRAPS, FLOAT, NONE, POSITIONS, "no model", text("d = Neg(b) c = Sub(a, d)", "float"))
    for i in range(200):
        (here / "many" / f"{i:03}.onnxtxt").write_text(bodies[i * i % len(bodies)])
    (here / "minuend.toml").write_text(
        '[assume]\npositions = "0..9"\nnowhere = "1"\n[[model]]\npath = "many/01?.onnxtxt"\ntolerate = []\n'
        '[[accept]]\nmodel = "many/*"\ntarget = "openvino-cpu"\nnode = "diff"\nreason = "known"\n'
    )
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("minuend._native.get_num_threads", lambda threads=threads: threads)
        command = "many . --target openvino-cpu,onnxruntime-cpu --sarif o.sarif --junit j.xml"
        found.append((check(capfd, command), report(capfd, f"{command} --tolerate none"), files("o.sarif", "j.xml")))
        for one in ("o.sarif", "j.xml"):
            os.remove(one)
    assert found[0] == found[1]
    (status, out, _), (_, data), _ = found[0]
    assert status == 2
    assert "no model that was checked has an input or a value\n'nowhere'" in out
    assert len(data["models"]) == 204


def test_large_models_are_not_judged_beside_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minuend._native.get_num_threads", lambda: 4)
    paths = [str(tmp_path / f"{i}.onnx") for i in range(200)]
    judging = Judging(targets=())
    assert gate._processes(paths, judging) == 3
    with open(paths[150], "wb") as stream:
        stream.truncate((64 << 20) + 1)
    assert gate._processes(paths, judging) == 1
    assert gate._processes(paths[:100], judging) == 1


def files(*paths: str) -> list[bytes]:
    return [Path(path).read_bytes() for path in paths]


@pytest.mark.usefixtures("here")
def test_ctrl_c_in_the_middle_writes_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: Any, done: int, __: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.Bar, "__call__", interrupt)
    before = sorted(os.listdir())
    status, out, err = check(capfd, ". --target openvino-cpu --sarif o.sarif --write-baseline")
    assert (status, out, err.strip()) == (130, "", "error: interrupted; nothing was written")
    assert sorted(os.listdir()) == before


# ---- what counts ------------------------------------------------------------------------------------------------


def test_copies_of_a_model_are_judged_once_and_each_by_its_own_settings(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "copies").mkdir()
    for name in ("a.onnxtxt", "b.onnxtxt", "c.onnxtxt"):
        (here / "copies" / name).write_text(text())
    (here / "minuend.toml").write_text('[[model]]\npath = "copies/c.onnxtxt"\nassume = { a = "10..", b = "0..9" }\n')
    judged: list[str] = []
    monkeypatch.setattr(gate, "examine", lambda *given: (judged.append(given[2]), examine(*given))[1])
    status, data = report(capfd, "copies --target openvino-cpu@2026.4.1")
    assert (status, judged) == (1, [f"copies/{name}.onnxtxt" for name in "ac"])
    assert [(one["model"], one["verdict"]) for one in data["findings"]] == [
        ("copies/a.onnxtxt", "different-numbers"),
        ("copies/b.onnxtxt", "different-numbers"),
        ("copies/c.onnxtxt", "ok"),
    ]


@pytest.mark.usefixtures("here")
def test_fail_on_names_the_verdicts_that_count(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = check(capfd, "wraps.onnxtxt --target openvino-cpu --fail-on unknown,invalid --sarif o.sarif")
    assert status == 0
    assert out.splitlines()[-1] == "1 of 1 subtractions differs on openvino-cpu@2026.4.1 (not counted)"
    (result,) = json.loads(Path("o.sarif").read_text())["runs"][0]["results"]
    assert result["level"] == "note"
    assert check(capfd, "wraps.onnxtxt --target openvino-cpu --fail-on unknown --fail-on different-numbers")[0] == 1


@pytest.mark.usefixtures("here")
def test_runs_that_differ_count_as_different_numbers(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    for given, status in (("different-numbers", 1), ("unknown", 0)):
        Path("none.onnxtxt").write_text(text("c = Add(a, b)", "float"))
        command = f"wraps.onnxtxt none.onnxtxt --target openvino-cpu --run --fail-on {given} --sarif o.sarif"
        got, data = report(capfd, command)
        assert (got, [(one["model"], one["ok"]) for one in data["runs"]]) == (
            status,
            [("wraps.onnxtxt", False), ("none.onnxtxt", True)],
        )
        results = json.loads(Path("o.sarif").read_text())["runs"][0]["results"]
        assert [(one["ruleId"], one["level"]) for one in results] == 2 * [
            ("different-numbers", "error" if status else "note")
        ]


@pytest.mark.usefixtures("here")
def test_inputs_are_for_one_model(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = check(capfd, "wraps.onnxtxt none.onnxtxt --target openvino-cpu --inputs a=a.npy")
    assert (status, out) == (2, "")
    assert err == "error: --input is for --run; expected --run beside it (minuend check --help shows the options)\n"


# ---- what is assumed --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_what_is_assumed_is_said_and_the_command_line_counts_first(capfd: pytest.CaptureFixture[str]) -> None:
    model = "exports/deep/positions.onnxtxt"
    assert check(capfd, f"{model} --target openvino-cpu")[0] == 1
    Path("minuend.toml").write_text(
        '[assume]\npositions = "0.."\n[[model]]\npath = "exports/**"\nassume = {positions = "0..9", b = 3}\n'
    )
    status, data = report(capfd, f"{model} --target openvino-cpu")
    assert (status, data["models"][0]["assumed"]) == (0, ["positions is 0..9 (assumed)", "b is 3 (assumed)"])
    known = "A is 0..9 (input), B is 3 (input), where b is 3 (assumed) and positions is 0..9 (assumed), so "
    assert known in data["findings"][0]["reason"]
    status, data = report(capfd, f"{model} --target openvino-cpu --assume b=0..7")
    assert (status, data["models"][0]["assumed"]) == (0, ["positions is 0..9 (assumed)", "b is 0..7 (assumed)"])
    assert check(capfd, f"{model} --target openvino-cpu --no-config")[0] == 1


@pytest.mark.usefixtures("here")
def test_a_name_that_no_model_has_is_an_error_and_one_that_another_model_may_have_is_said(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Path("minuend.toml").write_text('[assume]\npositons = "0..9"\n')
    status, out, err = check(capfd, ". --target onnxruntime-cpu --fail-on invalid")
    assert status == 2  # the IR is broken, and may have the name
    os.remove("exports/ir.xml")
    assert check(capfd, ". --target onnxruntime-cpu") == (
        2,
        "",
        (
            "error: minuend.toml: [assume]: something is assumed of 'positons' (did you mean 'positions'?), and no "
            "model has an input or a value of that name\n"
        ),
    )
    status, out, err = check(capfd, "wraps.onnxtxt --target onnxruntime-cpu")
    assert (status, err) == (0, "")
    assert "minuend.toml: [assume]: no model that was checked has an input or a value\n'positons'\n" in out
    Path("minuend.toml").write_text('[[model]]\npath = "wraps.*"\nassume = {positons = "0..9"}\n')
    status, out, err = check(capfd, "wraps.onnxtxt --target onnxruntime-cpu")
    assert (status, out) == (2, "")
    assert err.startswith("error: minuend.toml: [[model]] number 1: something is assumed of 'positons', and no model")


@pytest.mark.usefixtures("here")
def test_python_assumes_too() -> None:
    assert not mn.check(POSITIONS, "openvino-cpu")
    assert mn.check(POSITIONS, "openvino-cpu", assume={"positions": (0, 131071), "b": "0..3"})
    with pytest.raises(mn.SpecError) as told:
        mn.check(POSITIONS, "openvino-cpu", assume={"position": (0, 9)})
    assert str(told.value).startswith("something is assumed of 'position' (did you mean 'positions'?), and no model")


def test_values_of_an_ir_are_assumed_of_by_their_names_and_their_layers(here: Path) -> None:
    mn.convert(POSITIONS, "openvino").save(here / "m.xml")
    fine = {"positions": (0, 9), "b": (0, 9)}
    assert not mn.check(here / "m.xml", "openvino-cpu")
    assert mn.check(here / "m.xml", "openvino-cpu", assume=fine)
    with pytest.raises(mn.SpecError, match="'nothing'"):
        mn.check(here / "m.xml", "openvino-cpu", assume={"nothing": 1})


@pytest.mark.usefixtures("here")
def test_runs_keep_to_what_is_assumed() -> None:
    pytest.importorskip("openvino")
    import numpy as np

    fine = {"positions": (10, 131071), "b": (0, 9)}
    found = mn.check(POSITIONS, "openvino-cpu", assume=fine, run=True)
    assert (found.ok, [trial.ok for trial in found.trials]) == (True, [True])
    arrays = {"positions": np.full(4, 5, np.int64), "b": np.zeros(4, np.int64)}
    with pytest.raises(mn.SpecError) as told:
        mn.check(POSITIONS, "openvino-cpu", assume=fine, run=True, inputs=arrays)
    assert str(told.value) == "the input 'positions' holds elements that are not 10..131071, as is assumed"


def test_runs_do_not_keep_to_what_is_assumed_of_values_between_and_say_so() -> None:
    pytest.importorskip("openvino")
    model = text("s = Add(positions, b)\n[shift] c = Sub(s, b)", "int64", "positions b")
    found = mn.check(model, "openvino-cpu", assume={"s": (0, 9), "b": (0, 9)}, run=True)
    assert found.findings[0].code.startswith("run-") or found.findings[0].verdict == "ok"
    (trial,) = found.trials
    assert trial.notes == ("made inputs do not keep to what is assumed of 's'",)
    fixed = mn.fix(model, "openvino-cpu", assume={"s": (0, 9), "b": (0, 9)})
    assert fixed.comparison.skipped == "made inputs do not keep to what is assumed of 's'"
    assert (fixed.failed, fixed.whole) == (False, None)


@pytest.mark.usefixtures("here")
def test_fix_assumes_the_same_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    Path("minuend.toml").write_text('[assume]\npositions = "0..131071"\nb = "0..9"\nother = 1\n')
    model = "exports/deep/positions.onnxtxt"
    status, out, err = run(capfd, "fix", model, "--target", "openvino-cpu", "-o", "o.onnx")
    assert (status, err) == (0, "")
    assert "this holds where positions is 0..131071 (assumed) and b is 0..9 (assumed)" in out
    assert "minuend.toml: [assume]: no model that was checked has an input or a value 'other'" in " ".join(out.split())
    assert run(capfd, "fix", model, "--target", "openvino-cpu", "-o", "o.onnx", "--no-config")[0] == 1
    status, out, _ = run(capfd, "fix", model, "--target", "openvino-cpu", "-o", "o.onnx", "--assume", "nothing=1")
    assert (status, out) == (2, "")
    before = Path("minuend.toml").read_bytes()
    assert run(capfd, "fix", model, "--target", "openvino-cpu", "-o", "minuend.toml")[0] == 2
    assert Path("minuend.toml").read_bytes() == before


# ---- what is accepted -------------------------------------------------------------------------------------------

ACCEPT = '[[accept]]\nmodel = "*.onnxtxt"\nnode = "diff"\ntarget = "openvino-cpu"\nreason = "frames are brighter"\n'


@pytest.mark.usefixtures("here")
def test_an_accepted_finding_is_shown_and_does_not_count(capfd: pytest.CaptureFixture[str]) -> None:
    Path("minuend.toml").write_text(ACCEPT)
    status, out, _ = check(capfd, "wraps.onnxtxt --target openvino-cpu --junit j.xml --sarif o.sarif")
    assert status == 0
    assert without_processors(out) == (
        "openvino-cpu@2026.4.1  different-numbers  accepted\n"
        "graph.node[0] 'diff': numbers in uint8: 5 − 10 = 0, expected 251\n"
        "  why: saturates instead of wrapping\n"
        "  do:  nothing; it is accepted: frames are brighter\n"
        "\n"
        "wraps.onnxtxt: 1 subtraction\n"
        "1 of 1 subtractions differs on openvino-cpu@2026.4.1 (accepted)\n"
    )
    (result,) = json.loads(Path("o.sarif").read_text())["runs"][0]["results"]
    assert (result["level"], result["suppressions"]) == (
        "error",
        [{"kind": "external", "status": "accepted", "justification": "frames are brighter"}],
    )
    (skipped,) = ElementTree.parse("j.xml").getroot().iter("skipped")
    assert skipped.attrib["message"].startswith("accepted: frames are brighter; different-numbers; ")
    status, data = report(capfd, "wraps.onnxtxt --target openvino-cpu,onnxruntime-cpu")
    assert [one.get("accepted") for one in data["findings"]] == ["frames are brighter", None]
    assert data["models"][0]["accepted"] == 1


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("entry", "status"),
    [
        ('node = "graph.node[0]"', 0),
        ("node = \"graph.node[0] 'diff'\"", 0),
        ('node = "graph.node[1]"', 1),
        ('verdict = "different-numbers"', 0),
        ('verdict = "unknown"', 1),
        ('target = "openvino-cpu@2026.4"', 0),
        ('target = "openvino-cpu@2026.3"', 1),
        ('model = "exports/*"', 1),
        ('model = "wraps.onnxtxt"', 0),
    ],
)
def test_an_entry_is_about_what_it_names(capfd: pytest.CaptureFixture[str], entry: str, status: int) -> None:
    Path("minuend.toml").write_text(f'[[accept]]\n{entry}\nreason = "known"\n')
    assert check(capfd, "wraps.onnxtxt --target openvino-cpu")[0] == status


@pytest.mark.usefixtures("here")
def test_an_entry_whose_finding_is_gone_is_said_and_fails_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    Path("minuend.toml").write_text(ACCEPT + ACCEPT.replace("openvino-cpu", "onnxruntime-cpu"))
    told = "minuend.toml: [[accept]] number 2 (*.onnxtxt, diff, onnxruntime-cpu): no longer found, it can go"
    status, data = report(capfd, "wraps.onnxtxt --target openvino-cpu,onnxruntime-cpu")
    assert (status, data["notes"]) == (0, [told])
    # Neither a target nor a model that was not looked at says that a finding is gone.
    assert report(capfd, "wraps.onnxtxt --target openvino-cpu")[1]["notes"] == []
    Path("minuend.toml").write_text(ACCEPT.replace("*.onnxtxt", "exports/*"))
    assert report(capfd, "wraps.onnxtxt --target openvino-cpu")[1]["notes"] == []


@pytest.mark.usefixtures("here")
def test_a_baseline_accepts_what_is_found_today_and_nothing_later(capfd: pytest.CaptureFixture[str]) -> None:
    os.remove("exports/ir.xml")
    kept = "# ours\n[assume]\nb = '0..9'\n"
    Path("minuend.toml").write_text(kept)
    status, out, err = check(capfd, ". --target openvino-cpu --write-baseline --sarif o.sarif")
    assert (status, err) == (0, "")
    assert "minuend.toml: 2 [[accept]] entries written\n" in out
    assert out.endswith("3 models: 3 fine\nopenvino-cpu@2026.4.1: 2 accepted\n")
    written = Path("minuend.toml").read_text()
    reason = f"baseline of {datetime.date.today().isoformat()}: known, not looked at yet"
    assert written.startswith(kept)
    assert tomllib.loads(written)["accept"] == [
        {
            "model": model,
            "node": node,
            "target": "openvino-cpu",
            "verdict": "different-numbers",
            "reason": reason,
        }
        for model, node in (("wraps.onnxtxt", "diff"), ("exports/deep/positions.onnxtxt", "shift"))
    ]
    assert all("suppressions" in one for one in json.loads(Path("o.sarif").read_text())["runs"][0]["results"])
    assert check(capfd, ". --target openvino-cpu")[0] == 0
    status, out, _ = check(capfd, ". --target openvino-cpu --write-baseline")
    assert (status, Path("minuend.toml").read_text()) == (0, written)
    assert "no entries are written: nothing counts that is not accepted\n" in out
    Path("wraps.onnxtxt").write_text(text("[other] c = Sub(a, b)"))
    assert check(capfd, ". --target openvino-cpu")[0] == 1


def test_baselines_that_are_written_at_once_are_all_there(here: Path) -> None:
    for i in range(6):
        (here / f"m{i}.onnxtxt").write_text(WRAPS)
    command = [sys.executable, "-m", "minuend", "check", "--target", "openvino-cpu", "--write-baseline"]
    running = [subprocess.Popen([*command, f"m{i}.onnxtxt"], stdout=subprocess.DEVNULL) for i in range(6)]
    assert [one.wait() for one in running] == [0] * 6
    entries = tomllib.loads(Path("minuend.toml").read_text())["accept"]
    assert sorted(entry["model"] for entry in entries) == [f"m{i}.onnxtxt" for i in range(6)]
    assert not [name for name in os.listdir() if name.startswith(".")]


@pytest.mark.usefixtures("here")
def test_a_baseline_takes_what_another_process_accepted_meanwhile(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = '[[accept]]\nmodel = "wraps.onnxtxt"\nnode = "diff"\nverdict = "different-numbers"\nreason = "theirs"\n'

    @contextlib.contextmanager
    def late(path: str) -> Iterator[None]:
        Path(path).write_text(theirs)
        yield

    monkeypatch.setattr("minuend.files.transaction.file_lock.exclusive", late)
    assert check(capfd, "wraps.onnxtxt --target openvino-cpu --write-baseline")[0] == 0
    assert Path("minuend.toml").read_text() == theirs


@pytest.mark.usefixtures("here")
def test_a_first_baseline_makes_the_file_at_the_top_of_the_project(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = check(capfd, "wraps.onnxtxt exports/deep --target openvino-cpu --write-baseline")
    assert (status, out.splitlines()[-1]) == (0, "openvino-cpu@2026.4.1: 2 accepted")
    assert len(tomllib.loads(Path("minuend.toml").read_text())["accept"]) == 2
    assert check(capfd, "wraps.onnxtxt exports/deep --target openvino-cpu")[0] == 0


@pytest.mark.usefixtures("here")
def test_a_baseline_that_cannot_be_written_leaves_the_file_as_it_was(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("minuend.toml").write_text("# ours\n")
    before = sorted(os.listdir())

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device", "minuend.toml")

    monkeypatch.setattr(os, "replace", full)
    status, out, err = check(capfd, "wraps.onnxtxt --target openvino-cpu --write-baseline")
    assert (status, out, err) == (2, "", "error: minuend.toml: No space left on device\n")
    assert (Path("minuend.toml").read_text(), sorted(os.listdir())) == ("# ours\n", before)


@pytest.mark.usefixtures("here")
def test_a_baseline_accepts_runs_too(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    assert check(capfd, "wraps.onnxtxt --target openvino-cpu --run --write-baseline --config new.toml")[0] == 0
    nodes = [entry["node"] for entry in tomllib.loads(Path("new.toml").read_text())["accept"]]
    assert nodes == ["diff", "the whole model"]
    status, out, _ = check(capfd, "wraps.onnxtxt --target openvino-cpu --run --config new.toml")
    assert status == 0
    assert "unmodified on openvino-cpu@2026.4.1: different-numbers, accepted: baseline of" in out


@pytest.mark.usefixtures("here")
def test_outputs_replace_neither_models_nor_what_was_read(capfd: pytest.CaptureFixture[str]) -> None:
    Path("minuend.toml").write_text(ACCEPT)
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    for option in ("--junit", "--sarif"):
        for out in ("wraps.onnxtxt", "./none.onnxtxt", "minuend.toml"):
            status, shown, err = check(capfd, f"*.onnxtxt --target openvino-cpu {option} {out}")
            assert (status, shown) == (2, "")
            assert "is also an input" in err
    status, _, err = check(capfd, "*.onnxtxt --target openvino-cpu --write-baseline --junit minuend.toml")
    assert status == 2
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


# ---- SARIF ------------------------------------------------------------------------------------------------------


def fingerprints(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(folder)
    check(capfd, "exports wraps.onnxtxt --target openvino-cpu --sarif o.sarif")
    (log,) = json.loads(Path("o.sarif").read_text())["runs"]
    assert log["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"{folder.as_uri()}/"}}
    found = {}
    for result in log["results"]:
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place["uriBaseId"] == "%SRCROOT%"
        found[place["uri"]] = result["partialFingerprints"]["minuendSubtraction/v1"]
    return found


def test_fingerprints_survive_other_nodes_and_folders(
    here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    before = fingerprints(here, capfd, monkeypatch)
    assert list(before) == ["exports/deep/positions.onnxtxt", "wraps.onnxtxt"]
    assert len(set(before.values())) == 2
    (here / "wraps.onnxtxt").write_text(text("t = Add(a, b)\nu = Mul(t, b)\n[diff] c = Sub(u, b)"))
    moved = tmp_path_factory.mktemp("elsewhere") / "clone"
    os.rename(here, moved)
    assert fingerprints(moved, capfd, monkeypatch) == before


def test_nodes_without_names_have_fingerprints_that_differ() -> None:
    found = tuple(
        Finding(target=target, verdict="unknown", location=f"graph.node[{i}]", opversion="onnx:14")
        for i in range(3)
        for target in ("a@1", "a@2")
    )
    log = json.loads(sarif([(Report(title="m", findings=found), "m.onnx")], "1"))
    marks = [result["partialFingerprints"]["minuendSubtraction/v1"] for result in log["runs"][0]["results"]]
    assert len(set(marks)) == 6


@pytest.mark.usefixtures("here")
def test_models_outside_of_the_project_have_whole_uris_and_errors_are_notified(
    tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path_factory.mktemp("other") / "m.onnxtxt"
    other.write_text(WRAPS)
    status, _, _ = run(capfd, "check", str(other), "no.onnx", "--target", "openvino-cpu", "--sarif", "o.sarif")
    (log,) = json.loads(Path("o.sarif").read_text())["runs"]
    assert (status, log["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]) == (
        2,
        {"uri": other.as_uri()},
    )
    assert log["invocations"] == [
        {
            "executionSuccessful": False,
            "toolExecutionNotifications": [
                {
                    "level": "error",
                    "message": {"text": "there is no file no.onnx"},
                    "locations": [
                        {"physicalLocation": {"artifactLocation": {"uri": "no.onnx", "uriBaseId": "%SRCROOT%"}}}
                    ],
                }
            ],
        }
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.usefixtures("here")
def test_a_name_that_is_no_text_is_written_as_bytes(capfd: pytest.CaptureFixture[str]) -> None:
    os.rename("wraps.onnxtxt", b"w\xff.onnxtxt")
    status = program.main(["check", "w\udcff.onnxtxt", "--target", "openvino-cpu", "--sarif", "o", "--junit", "j"])
    assert (status, capfd.readouterr().err) == (1, "")
    (result,) = json.loads(Path("o").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "w%FF.onnxtxt"
    ElementTree.parse("j")


# ---- what is tolerated ------------------------------------------------------------------------------------------


TOLERATE = {
    "by default": ("", "", False),
    "command": ("", "--tolerate edge --tolerate rounding=9,subnormal", True),
    "file": ('tolerate = ["subnormal"]', "", True),
    "model": ('tolerate = []\n[[model]]\npath = "f*"\ntolerate = ["subnormal"]', "", True),
    "target": ('tolerate = []\n[target.iree]\ntolerate = ["subnormal"]', "", True),
    "another model": ('[[model]]\npath = "g*"\ntolerate = ["subnormal"]', "", False),
    "another target": ('[target.tract]\ntolerate = ["subnormal"]', "", False),
    "model before target": (
        '[[model]]\npath = "f*"\ntolerate = []\n[target."iree@3.13"]\ntolerate = ["subnormal"]',
        "",
        False,
    ),
    "command before file": ('tolerate = ["subnormal"]', "--tolerate none", False),
    "command before model": ('[[model]]\npath = "f*"\ntolerate = []', "--tolerate subnormal", True),
}
"""What a file and a command line say of severities, and whether a subnormal deviation is tolerated."""

ACCEPTED = {
    "nothing": ("", False),
    "the node": ('[[accept]]\nnode = "diff"\nreason = "known"', True),
    "another verdict": ('[[accept]]\nnode = "diff"\nverdict = "unknown"\nreason = "known"', False),
    "another target": ('[[accept]]\nnode = "diff"\ntarget = "tract"\nreason = "known"', False),
}
"""What a file accepts, and whether it is the deviation."""

FAIL_ON = {
    "all": ("", "", True),
    "the verdict": ("", "--fail-on unknown,different-numbers", True),
    "another verdict": ("", "--fail-on unknown", False),
    "the file's": ('fail-on = ["different-numbers"]', "", True),
    "the file's other": ('fail-on = ["unknown"]', "", False),
    "command before file": ('fail-on = ["unknown"]', "--fail-on different-numbers", True),
}
"""What a file and a command line say of verdicts, and whether different numbers count."""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("tolerate", TOLERATE)
@pytest.mark.parametrize("accept", ACCEPTED)
def test_severities_accepted_findings_and_verdicts_together_say_what_counts(
    tolerate: str, accept: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("float.onnxtxt").write_text(FLOAT)
    severities, given, tolerated = TOLERATE[tolerate]
    entry, accepted = ACCEPTED[accept]
    for name, (verdicts_said, verdicts_given, counts) in FAIL_ON.items():
        Path("minuend.toml").write_text("\n".join((verdicts_said, severities, entry)))
        status, data = report(capfd, f"float.onnxtxt --target iree {given} {verdicts_given}")
        (finding,), (model,) = data["findings"], data["models"]
        assert (finding["verdict"], finding["severity"]) == ("different-numbers", "subnormal")
        assert finding.get("tolerated") == ("subnormal" if tolerated and not accepted else None), name
        assert finding.get("accepted") == ("known" if accepted else None), name
        assert status == int(counts and not tolerated and not accepted), name
        assert (model["ok"], model["counted"], model["tolerated"], model["accepted"]) == (
            status == 0,
            status,
            int(tolerated and not accepted),
            int(accepted),
        ), name


@pytest.mark.usefixtures("here")
def test_what_is_not_known_counts_whatever_is_tolerated(capfd: pytest.CaptureFixture[str]) -> None:
    Path("float.onnxtxt").write_text(text("d = Selu(a) [diff] c = Sub(d, b)", "float"))
    every = "sign-of-zero,rounding,subnormal,edge,numbers"
    accepts = {"": False, '[[accept]]\nnode = "diff"\nreason = "known"': True}
    for entry, accepted in accepts.items():
        Path("minuend.toml").write_text(entry)
        for given, counts in (("", True), ("--fail-on unknown", True), ("--fail-on different-numbers", False)):
            status, data = report(capfd, f"float.onnxtxt --target tvm --tolerate {every} {given}")
            (finding,) = data["findings"]
            assert (finding["verdict"], "tolerated" in finding) == ("unknown", False)
            assert status == int(counts and not accepted), (entry, given)


@pytest.mark.usefixtures("here")
def test_a_tolerated_finding_stays_on_the_page_and_in_the_files(capfd: pytest.CaptureFixture[str]) -> None:
    Path("float.onnxtxt").write_text(FLOAT)
    command = "--target iree@3.13.0 --tolerate subnormal --sarif o.sarif --junit o.xml"
    status, out, _ = check(capfd, f"float.onnxtxt {command}")
    assert status == 0
    assert out.splitlines()[:4] == [
        "iree@3.13.0  different-numbers  tolerated",
        "graph.node[0] 'diff': subnormal in float32: 0.0 − 1e-45 = 0.0, expected −1e-45",
        "  why: subnormal numbers differ",
        "  do:  nothing; it is tolerated (--tolerate none counts it)",
    ]
    assert out.splitlines()[-1] == "1 of 1 subtractions differs on iree@3.13.0 (tolerated)"
    (result,) = json.loads(Path("o.sarif").read_text())["runs"][0]["results"]
    assert (result["level"], "suppressions" in result) == ("note", False)
    assert 'skipped message="tolerated: subnormal; different-numbers' in Path("o.xml").read_text()
    status, out, _ = check(capfd, f"float.onnxtxt none.onnxtxt {command}")
    assert (status, "float.onnxtxt: 1 subtraction, 1 tolerated" in out) == (0, True)


@pytest.mark.usefixtures("here")
def test_a_baseline_has_no_entry_for_what_is_tolerated(capfd: pytest.CaptureFixture[str]) -> None:
    Path("float.onnxtxt").write_text(FLOAT)
    command = "float.onnxtxt --target iree --write-baseline --tolerate"
    out = check(capfd, f"{command} subnormal")[1]
    assert "no entries are written: nothing counts that is not accepted" in out
    assert "minuend.toml: 1 [[accept]] entry written" in check(capfd, f"{command} none")[1]


@pytest.mark.usefixtures("here")
def test_an_unknown_severity_is_bad_use(capfd: pytest.CaptureFixture[str]) -> None:
    for given, message in (
        ("subnormals", "no severity 'subnormals' (did you mean 'subnormal'?); expected sign-of-zero, "),
        ("rounding=x", "'rounding=x': expected ulps from 1 on, as rounding=4"),
    ):
        status, out, err = check(capfd, f"wraps.onnxtxt --target iree --tolerate {given}")
        assert (status, out) == (2, "")
        assert err.startswith(f"error: {message}")


def test_severities_are_tolerated_in_python() -> None:
    for given, counts in ((("sign-of-zero",), 1), ("subnormal", 0), (["edge", "subnormal"], 0), ("none", 1), ((), 1)):
        found = mn.check(FLOAT, "iree", tolerate=given)
        assert (len(found.failures), len(found)) == (counts, 1)
        for verdicts_named, named in ((("different-numbers",), True), (("unknown",), False)):
            narrowed = replace(found, fail_on=frozenset(verdicts_named))
            assert narrowed.ok is not bool(counts and named)
            (finding,) = found
            accepted = replace(narrowed, findings=(replace(finding, accepted="known"),))
            assert accepted.ok


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("said", "given", "counts"),
    [
        ("", "", 1),
        ('tolerate = ["subnormal"]', "", 0),
        ('tolerate = ["subnormal"]', "--tolerate none", 1),
        ('tolerate = ["subnormal"]\n[target.iree]\ntolerate = []', "", 1),
        ('[target."iree@3.13"]\ntolerate = ["subnormal"]', "", 0),
        ('[target.numpy]\ntolerate = ["subnormal"]', "", 1),
        ('[[model]]\npath = "f*"\ntolerate = ["subnormal"]\n[target.iree]\ntolerate = []', "", 0),
        ('[[model]]\npath = "g*"\ntolerate = ["subnormal"]', "", 1),
        ('[[model]]\npath = "f*"\ntolerate = []', "--tolerate subnormal", 0),
    ],
)
def test_a_file_says_what_is_tolerated_and_the_command_line_counts_before_it(
    said: str, given: str, counts: int, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("float.onnxtxt").write_text(FLOAT)
    Path("minuend.toml").write_text(said)
    assert report(capfd, f"float.onnxtxt --target iree {given}")[0] == counts


@pytest.mark.parametrize("body", ["s = Sub(a, b) c = Atan(s)", "s = Atan(a) c = Sub(s, b)"])
def test_what_is_around_a_node_and_not_known_to_be_fine_is_not_tolerated(body: str) -> None:
    (alone,) = mn.check(text("c = Sub(a, b)", "float"), "iree", tolerate="subnormal")
    (inside,) = mn.check(text(body, "float"), "iree", tolerate="subnormal")
    assert (alone.severity, alone.tolerated) == ("subnormal", "subnormal")
    assert (inside.severity, inside.tolerated) == ("subnormal", None)


# ---- what is checked --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_a_file_says_what_is_checked_and_the_command_line_counts_before_it(capfd: pytest.CaptureFixture[str]) -> None:
    Path("minuend.toml").write_text(
        'models = ["w*", "exports/deep"]\ntargets = ["openvino-cpu"]\nfail-on = ["unknown"]'
    )
    status, data = report(capfd, "")
    assert status == 0
    assert verdicts(data) == [
        ("wraps.onnxtxt", "openvino-cpu", "different-numbers"),
        (os.path.join("exports", "deep", "positions.onnxtxt"), "openvino-cpu", "different-numbers"),
    ]
    assert report(capfd, "--fail-on different-numbers")[0] == 1
    assert verdicts(report(capfd, "wraps.onnxtxt --target onnxruntime-cpu")[1]) == [
        ("wraps.onnxtxt", "onnxruntime-cpu", "ok")
    ]


@pytest.mark.usefixtures("here")
def test_without_models_those_below_the_file_are_checked(capfd: pytest.CaptureFixture[str]) -> None:
    Path("exports/m.toml").write_text('targets = ["openvino-cpu"]')
    Path("exports/ir.xml").unlink()
    found = verdicts(report(capfd, "--config exports/m.toml")[1])
    assert found == [(os.path.join("exports", "deep", "positions.onnxtxt"), "openvino-cpu", "different-numbers")]


@pytest.mark.usefixtures("here")
def test_a_hint_of_the_file_is_for_its_targets(capfd: pytest.CaptureFixture[str]) -> None:
    Path("minuend.toml").write_text('models = ["wraps.onnxtxt"]\ntargets = ["openvino-cpu"]\nhint = "f32"')
    assert report(capfd, "")[0] == 1
    assert report(capfd, "--target onnxruntime-cpu")[0] == 0
    status, out, err = check(capfd, "--hint f31")
    assert (status, out) == (2, "")
    assert err.startswith("error: no hint 'f31' (did you mean 'f32'?)")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("said", "given", "message"),
    [
        (None, "", "no MODEL is given, and there is no minuend.toml here; expected a file, a folder or a glob"),
        (None, "wraps.onnxtxt", "no --target is given, and no targets in a minuend.toml here; expected one or several"),
        ("", "", "no --target is given, and no targets in a minuend.toml here; expected one or several"),
        ('targets = ["opnvino-cpu"]', "", "minuend.toml: key 'targets': no target 'opnvino-cpu'"),
        ('targets = ["iree"]\ncpu = "avx"', "", "minuend.toml: key 'cpu': no instruction set 'avx'"),
        ('targets = ["opnvino-cpu"]', "--cpu avx", "minuend.toml: key 'targets': no target 'opnvino-cpu'"),
        ('targets = ["iree"]', "--cpu avx", "no instruction set 'avx' (did you mean 'avx2'?)"),
        ('targets = ["iree"]\nmodels = ["no*"]', "--no-config", "no MODEL is given, and there is no minuend.toml here"),
        ('targets = ["iree"]\nmodels = ["gone*"]', "", "gone*: no file matches it"),
    ],
)
def test_what_neither_names_is_bad_use(
    said: str | None, given: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if said is not None:
        Path("minuend.toml").write_text(said)
    status, out, err = check(capfd, given)
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {message}")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("names", [("onnxruntime-cpu", "openvino-cpu"), ("tract",), ()])
def test_a_check_without_a_target_names_the_runtimes_that_are_installed(
    names: tuple[str, ...], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"numpy", "onnx-reference", *names}  # which nobody deploys to
    monkeypatch.setattr(registry, "release", lambda adapter: "1.0" if found.intersection([adapter.NAME]) else None)
    _, _, err = check(capfd, "wraps.onnxtxt")
    example = f", such as --target {','.join(names)} (installed here)" if names else ""
    message = (
        f"error: no --target is given, and no targets in a minuend.toml here; expected one or several{example}; "
        "minuend targets lists all"
    )
    assert err.startswith(message)


@pytest.mark.usefixtures("here")
def test_a_file_of_some_models_alone_says_nothing_of_the_whole_check(capfd: pytest.CaptureFixture[str]) -> None:
    Path("exports/deep/minuend.toml").write_text('targets = ["iree"]')
    data = report(capfd, "exports/deep --target openvino-cpu")[1]
    assert [one["target"].partition("@")[0] for one in data["findings"]] == ["openvino-cpu"]
    (note,) = data["notes"]
    where = os.path.join("exports", "deep", "minuend.toml")
    assert note == f"{where}: models, targets, hint and fail-on count where `minuend check` is run in its folder"


# ---- defects of this program ------------------------------------------------------------------------------------

DEFECT = f"this is a defect of minuend {mn.__version__}: "


def fail_on(monkeypatch: pytest.MonkeyPatch, name: str, fail: Callable[[], object]) -> None:
    """Let judging fail for the models of a name."""
    examined = examine

    def examine_or_fail(model: Any, judging: Judging, path: str) -> Report:
        if os.path.basename(path) == name:
            fail()
        return examined(model, judging, path)

    monkeypatch.setattr(gate, "examine", examine_or_fail)


def unforeseen() -> None:
    raise KeyError("onxn")


def test_a_defect_while_one_model_is_judged_leaves_the_others_judged(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    fail_on(monkeypatch, "none.onnxtxt", unforeseen)
    command = "none.onnxtxt wraps.onnxtxt --target openvino-cpu --sarif o.sarif --junit j.xml"
    status, out, err = check(capfd, command)
    assert status == 3
    assert f"none.onnxtxt is not judged: {DEFECT}KeyError: 'onxn', in test_gate.py line" in " ".join(out.split())
    assert "wraps.onnxtxt: 1 subtraction, findings: 1 different-numbers" in out
    assert "2 models: 0 fine, 1 with findings, 1 not judged" in out
    assert f"::error file=none.onnxtxt,title=not judged::{DEFECT}" in err
    assert f"| none.onnxtxt |  |  | not judged | {DEFECT}" in (here / "summary.md").read_text()
    (problem,) = json.loads((here / "o.sarif").read_text())["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert problem["message"]["text"].startswith(DEFECT)
    (error,) = ElementTree.parse(here / "j.xml").iterfind(".//error")
    assert (error.attrib["type"], error.attrib["message"][: len(DEFECT)]) == ("defect", DEFECT)
    status, data = report(capfd, "none.onnxtxt wraps.onnxtxt --target openvino-cpu")
    assert (status, [one["ok"] for one in data["models"]]) == (3, [False, False])
    assert data["models"][0]["error"]["kind"] == "defect"
    assert [one["model"] for one in data["findings"]] == ["wraps.onnxtxt"]
    status, out, _ = check(capfd, ". --target openvino-cpu --write-baseline")
    assert (status, (here / "minuend.toml").exists()) == (3, True)


def test_pointers_of_git_lfs_are_named(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (here / "lfs").mkdir()
    (here / "lfs/a.json").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 5\n")
    said = "lfs/a.json is a pointer of Git LFS and not judged; where it is a model, git lfs pull fetches it"
    status, _, err = check(capfd, "lfs --target openvino-cpu")
    assert (status, said in err) == (2, True)
    (here / "lfs/a.xml").write_bytes((here / "lfs/a.json").read_bytes())
    status, out, err = check(capfd, "lfs wraps.onnxtxt --target openvino-cpu")
    assert (status, said in err) == (2, True)
    assert "lfs/a.xml cannot be read: lfs/a.xml is a pointer of Git LFS" in " ".join(out.split())


@pytest.mark.usefixtures("here")
def test_a_package_that_is_missing_for_one_model_leaves_the_others_judged(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise ModuleNotFoundError("No module named 'x'", name="x.y")

    fail_on(monkeypatch, "none.onnxtxt", missing)
    status, data = report(capfd, "none.onnxtxt wraps.onnxtxt --target openvino-cpu")
    assert status == 2
    message = "this needs the package 'x', which is not installed"
    assert data["models"][0]["error"] == {"kind": "missing-package", "message": message}


@pytest.mark.usefixtures("here")
def test_a_signal_behind_a_defect_ends_the_check(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        try:
            raise Ended(signal.SIGTERM)
        finally:
            raise RuntimeError("release unlocked lock")

    fail_on(monkeypatch, "none.onnxtxt", interrupted)
    status, out, _ = check(capfd, "none.onnxtxt wraps.onnxtxt --target openvino-cpu")
    assert (status, out) == (143, "")


@pytest.mark.skipif(not CAN_FORK, reason="processes are not copied here")
def test_a_process_that_dies_of_one_model_leaves_the_others_judged(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "many").mkdir()
    for i in range(140):
        (here / "many" / f"{i:03}.onnxtxt").write_text((WRAPS, FLOAT, NONE)[i % 3])
    (here / "many" / "031.onnxtxt").write_text(text("d = Sub(a, b) c = Sub(d, b)"))  # copies are judged once
    fail_on(monkeypatch, "031.onnxtxt", lambda: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.setattr("minuend._native.get_num_threads", lambda: 2)
    status, data = report(capfd, "many --target openvino-cpu")
    assert status == 3
    errors = {os.path.basename(one["path"]): one["error"] for one in data["models"] if "error" in one}
    assert list(errors) == ["031.onnxtxt"]
    assert errors["031.onnxtxt"]["message"].startswith(f"{DEFECT}the process that judged it ended early")
    assert [os.path.basename(one["path"]) for one in data["models"]] == [f"{i:03}.onnxtxt" for i in range(140)]
