"""The user's own measured files: added after every check, in front of those of packages, and gone when removed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minuend import cli
from minuend.core.elements import TYPES
from minuend.errors import FileFormatError, SpecError
from minuend.judging.checking import check
from minuend.operators import SUBTRACT
from minuend.runtimes import targets, user_files
from minuend.runtimes.answers import EVERY, Answer
from minuend.runtimes.cases import CONSTANTS, RELATIONS
from minuend.runtimes.table import nodes
from minuend.runtimes.target import Target
from minuend.runtimes.witness import Witness

SUB = '<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }'
WRAPS = Answer("different-numbers", Witness(SUBTRACT, (5, 10), 42, 251))


def made(runtime: str = "mine", release: str = "1.0", answer: Answer = WRAPS) -> Target:
    table = nodes((("onnx:14",), ("uint8",), ("same",), ("none",), {"wraps": answer}))
    return Target(runtime, release, table, date="2026-11-23", cpu="a cpu, avx2", python="3.11.7", isa=("avx2",))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(user_files.FOLDER, str(tmp_path / "kept" / "targets"))
    return tmp_path / "kept" / "targets"


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(target: Target | None = None, name: str = "mine.json") -> Path:
        path = tmp_path / name
        path.write_text(targets.dump(target or made()), "utf-8")
        return path

    return write


def test_a_file_is_a_target_by_its_path(file: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = file()
    assert targets.find(path) == targets.find(str(path)) == made()
    for target in (path, str(path), [str(path)]):
        (finding,) = check(SUB, target)
        assert (finding.target, str(finding.witness)) == ("mine@1.0", "5 - 10: got 42, expected 251")
    model = path.with_name("m.onnxtxt")
    model.write_text(SUB)
    assert cli.main(["check", str(model), "--target", str(path)]) == 1
    assert "5 − 10 = 42" in capsys.readouterr().out
    assert cli.main(["fix", str(model), "--target", str(path), "-o", str(path.with_name("o.onnx"))]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "refused: graph.node[0] why: mine@1.0 has other numbers for values that wrap: 5 - 10 gives 42" in said
    assert cli.main(["check", str(model), "--target", str(path.with_name("no.json"))]) == 2
    assert capsys.readouterr().err.endswith("no.json: No such file or directory\n")


def test_what_is_added_is_known_until_it_is_removed(
    file: Callable[..., Path], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["targets", "add", str(file())]) == 0
    assert capsys.readouterr().out.split() == f"mine@1.0 is yours now: {folder / 'mine@1.0.json'}".split()
    assert targets.find("mine").name == "mine@1.0"
    assert cli.main(["targets", "--json"]) == 0
    rows = {row["name"]: row["yours"] for row in json.loads(capsys.readouterr().out)["targets"]}
    assert [name for name, own in rows.items() if own] == ["mine@1.0"]
    assert cli.main(["targets"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("mine ")]
    assert "yours, measured 2026-11-23 on" in " ".join(line.split())
    assert cli.main(["targets", "remove", "mine@1.0"]) == 0
    assert capsys.readouterr().out.split() == f"removed {folder / 'mine@1.0.json'}".split()
    assert list(folder.iterdir()) == []
    assert cli.main(["targets", "remove", "mine@1.0"]) == 2
    assert capsys.readouterr().err == "error: 'mine@1.0' is no target that you added; there are none\n"
    with pytest.raises(SpecError, match=r"^no target 'mine'"):
        targets.find("mine")


def test_yours_stands_before_what_is_shipped_and_is_read_again_when_it_changes(file: Callable[..., Path]) -> None:
    name = "onnxruntime-cpu@1.32.0"
    shipped = targets.find(name)
    runtime, _, release = name.partition("@")
    user_files.add(file(made(runtime, release)))
    assert targets.find(name) == made(runtime, release) != shipped
    assert targets.names().count(name) == 1
    other = made(runtime, release, Answer("not-implemented", message="gone"))
    user_files.add(file(other))
    assert targets.find("ort") == other
    user_files.remove(name)
    assert targets.find(name) == shipped


def test_a_release_that_is_yours_is_one_to_infer_from(file: Callable[..., Path]) -> None:
    assert targets.find("onnxruntime-cpu@1.33").provenance["inferred"].startswith("1.33 lies beyond 1.32.0")
    user_files.add(file(made("onnxruntime-cpu", "1.34.0")))
    assert targets.find("onnxruntime-cpu@1.33").provenance["inferred"].startswith("1.33 lies between 1.32.0 and 1.34.0")


def _changed(**changed: Any) -> str:
    return json.dumps({**json.loads(targets.dump(made())), **changed})


ROW = json.loads(targets.dump(made()))["rows"][0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is no JSON: Expecting value: line 1 column 1 (char 0); expected a file of minuend measure"),
        ("[]", " is []; expected an object"),
        ('{"format": 9}', "the file has format 9; expected 3, at {path}"),
        (
            _changed(runtime="../../x"),
            ".runtime is '../../x'; expected a name of letters, digits, '.', '_', '+' and '-'",
        ),
        (_changed(release="1@2"), ".release is '1@2'; expected a name of letters, digits, '.', '_', '+' and '-'"),
        (_changed(runtime=""), ".runtime is ''; expected a name of letters, digits, '.', '_', '+' and '-'"),
        (_changed(rows=[ROW, ROW]), " answers for onnx:14, uint8, same, none twice; expected one row for each"),
        (
            _changed(rows=[{**ROW, "answers": {EVERY: {"verdict": "fine"}}}]),
            f".rows[0].answers[\"{EVERY}\"].verdict is 'fine'",
        ),
        (_changed(isa=["mmx"]), ".isa[0] is 'mmx'; expected one of "),
        (_changed(runtime="ort"), " names its runtime 'ort'; expected onnxruntime-cpu"),
    ],
)
def test_a_file_that_is_none_is_refused_and_nothing_is_kept(
    text: str, told: str, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises((FileFormatError, SpecError)) as caught:
        user_files.add(path)
    assert told.format(path=path) in str(caught.value)
    assert not folder.exists()
    assert cli.main(["targets", "add", str(path)]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not folder.exists()


def test_rows_that_name_everything_again_and_again_are_refused_at_once() -> None:
    names = {"opversions": ["onnx:14", "onnx:13"], "dtypes": list(TYPES), "relations": list(RELATIONS)}
    row = {"patterns": [0], **names, "constants": list(CONSTANTS), "answers": {}}
    with pytest.raises(FileFormatError, match=r"^f\.json answers for onnx:14, .* twice; expected one row for each$"):
        targets.load(_changed(rows=[row] * 2000), "f.json")


def test_a_file_without_end_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.json"
    path.write_bytes(b" " * ((4 << 20) + 1))
    with pytest.raises(FileFormatError, match=r"has more than 4194304 bytes; expected a file of minuend measure$"):
        targets.read(path)
    path.write_bytes(b"\xff")
    with pytest.raises(FileFormatError, match=r"is no UTF-8: invalid start byte; expected a file of minuend measure$"):
        targets.read(path)


def test_a_kept_file_that_somebody_spoilt_is_told_and_harms_no_other(
    file: Callable[..., Path], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_files.add(file())
    (folder / "mine@1.0.json").write_text(targets.dump(replace(made(), release="9.9")))
    assert targets.find("numpy").runtime == "numpy"
    assert cli.main(["targets"]) == 0
    out, err = capsys.readouterr()
    assert "numpy" in out
    assert err == "warning: mine@1.0.json holds mine@9.9; expected what it is called\n"


def test_the_folder_is_that_of_the_users_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(user_files.FOLDER)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert user_files.folder() == tmp_path / "minuend" / "targets"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    if user_files.os.name != "nt":
        assert user_files.folder() == tmp_path / "home" / ".local" / "share" / "minuend" / "targets"


def test_instruction_sets_are_in_the_file_and_old_files_have_none() -> None:
    text = targets.dump(made())
    assert '"isa": ["avx2"],' in text
    assert targets.load(text).isa == ("avx2",)
    assert targets.load(text.replace('"isa": ["avx2"],\n', "")).isa == ()
