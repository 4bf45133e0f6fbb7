"""Exit statuses: every row of the table on the page about the gate comes about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import run

from minuend.judging.run_check import Tried
from minuend.runtimes.trials import Answered, Trial

pytest.importorskip("onnx")

ROOT = Path(__file__).parents[2]
HEAD = '<ir_version: 10, opset_import: ["" : 18, "own" : 1]> g '
MODELS = {
    "fine": "(float[2] a, float[2] b) => (float[2] c) { c = Sub(a, b) }",
    "wraps": "(uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }",
    "double": "(double[2] a, double[2] b) => (double[2] c) { c = Sub(a, b) }",
    "both": "(double[2] a, uint8[2] b) => (double[2] c, uint8[2] d) { c = Sub(a, a) d = Sub(b, b) }",
    "coarse": "(float[4,8] a, float[8,4] w, uint8[4] u) => (float[4,4] c, uint8[4] d) { c = MatMul(a,w) d = Sub(u,u) }",
    "signs": "(float[N] a, float[N] b) => (float[N] c) { c = Sub(a, b) }",
    "unknown": "(int64[4] p) => (int64[4] q) <int64 k = {1}> { s = own.F(p) q = Sub(s, k) }",
}
OPENVINO = ("--target", "openvino-cpu@2026.4.1")
FIX = ("-o", "o.onnx", *OPENVINO, "--no-run")

Patch = Callable[[pytest.MonkeyPatch], None]


def nothing(_: pytest.MonkeyPatch) -> None:
    """Change nothing."""


def outputs_differ(patch: pytest.MonkeyPatch) -> None:
    """Let the run of a fixed model show other outputs, as on a processor that computes products in bfloat16."""
    wrong = Answered("c", "float32", 16, different=16, numbers=16)
    trial = Trial(target=OPENVINO[1], runtime=OPENVINO[1], outputs=(wrong,))
    patch.setattr("minuend.rewriting.fixing.tried", lambda *_, **__: Tried(trial, {}))


def defect(patch: pytest.MonkeyPatch) -> None:
    """Let a model's search fail in a way that nobody foresaw."""

    def fail(*_: object) -> None:
        raise RuntimeError("unforeseen")

    patch.setattr("minuend.models.searching.search", fail)


def defect_of_one(patch: pytest.MonkeyPatch) -> None:
    """Let the judging of models fail in a way that nobody foresaw."""

    def fail(*_: object) -> None:
        raise RuntimeError("unforeseen")

    patch.setattr("minuend.judging.gate.examine", fail)


def interrupted(patch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C."""

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    patch.setattr("minuend.models.searching.search", fail)


@dataclass(frozen=True)
class Row:
    """A row of the table, and commands that it is about; ``written``: whether the output is there afterwards."""

    verb: str
    status: int
    when: str
    commands: Sequence[Sequence[str]]
    written: bool | None = None
    patch: Patch = nothing


ROWS = (
    Row("check", 0, "nothing counts: all is ok, tolerated, accepted, or of a verdict that `--fail-on` leaves out", (
        ("check", "fine.onnxtxt", *OPENVINO),
        ("check", "signs.onnxtxt", *OPENVINO),
        ("check", "wraps.onnxtxt", *OPENVINO, "--config", "accepts.toml"),
        ("check", "wraps.onnxtxt", *OPENVINO, "--fail-on", "unknown"),
    )),
    Row("check", 1, "a finding counts, or what a run gave", (
        ("check", "wraps.onnxtxt", *OPENVINO),
        ("check", "signs.onnxtxt", *OPENVINO, "--tolerate", "none"),
    )),
    Row("check", 2, "a model cannot be read; the others are checked all the same", (
        ("check", "broken.onnx", "wraps.onnxtxt", *OPENVINO),
        ("check", "broken.onnx", "fine.onnxtxt", *OPENVINO),
    )),
    Row("check", 3, "minuend has a defect that one model shows; the others are checked all the same", (
        ("check", "fine.onnxtxt", "wraps.onnxtxt", *OPENVINO),
        ("check", "broken.onnx", "fine.onnxtxt", *OPENVINO),
    ), patch=defect_of_one),
    Row("fix", 0, "the model is written, and what still differs is tolerated; what is unknown is named", (
        ("fix", "wraps.onnxtxt", *FIX),
        ("fix", "fine.onnxtxt", *FIX),
        ("fix", "signs.onnxtxt", *FIX),
        ("fix", "unknown.onnxtxt", "-o", "o.onnx", "--target", "onnxruntime-cpu", "--no-run"),
    ), written=True),
    Row("fix", 1, "something is refused: nothing is written without `--partial`", (
        ("fix", "double.onnxtxt", *FIX),
        ("fix", "double.onnxtxt", *FIX, "--partial"),
        ("fix", "both.onnxtxt", *FIX),
    ), written=False),
    Row("fix", 1, "the model is written, and its results still differ, as it is judged or as it ran", (
        ("fix", "both.onnxtxt", *FIX, "--partial"),
        ("fix", "coarse.onnxtxt", *FIX[:-1]),
    ), written=True, patch=outputs_differ),
    Row("init", 0, "the file is written", (("init", "-o", "new.toml"),)),
    Row("init", 2, "the file exists; it stays as it is", (("init", "-o", "accepts.toml"),)),
    Row("every verb", 2, "an option, a name or a file is wrong", (
        ("check", "fine.onnxtxt", "--target", "openvino-gpu-of-tomorrow"),
        ("check", "none.onnx", *OPENVINO),
        ("fix", "fine.onnxtxt", *FIX, "--hint", "f16"),
        ("fix", "fine.onnxtxt", "--what"),
    )),
    Row("every verb", 3, "minuend has a defect", (("check", "fine.onnxtxt", *OPENVINO),), patch=defect),
    Row("every verb", 130, "Ctrl-C ended it", (("check", "fine.onnxtxt", *OPENVINO),), patch=interrupted),
)  # fmt: skip

ACCEPTS = '[[accept]]\nverdict = "different-numbers"\nreason = "known"\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, body in MODELS.items():
        (tmp_path / f"{name}.onnxtxt").write_text(HEAD + body)
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    (tmp_path / "accepts.toml").write_text(ACCEPTS)


CASES = [pytest.param(row, words, id=f"{row.status}: {' '.join(words)}") for row in ROWS for words in row.commands]


@pytest.mark.parametrize(("row", "words"), CASES)
def test_a_command_ends_with_the_status_of_its_row(
    row: Row, words: Sequence[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row.patch(monkeypatch)
    status, out, err = run(capfd, *words)
    assert status == row.status, (out, err)
    if row.written is not None:
        assert Path("o.onnx").exists() == row.written
        assert ("where its results still differ" in " ".join(out.split())) == (row.written and row.status == 1)
    assert Path("accepts.toml").read_text() == ACCEPTS


def test_the_page_has_a_row_for_each() -> None:
    lines = (ROOT / "docs" / "gate.md").read_text("utf-8").splitlines()
    table = lines[lines.index("| verb | status | when |") + 2 :]
    shown = [line.strip("| ").split(" | ") for line in table[: table.index("")]]
    assert shown == [[one.verb if " " in one.verb else f"`{one.verb}`", str(one.status), one.when] for one in ROWS]
