"""``minuend spec`` and ``minuend diff`` as a person calls them."""

from __future__ import annotations

import json

import pytest
from command_line import run

from minuend.cli.about import tool
from minuend.core import elements
from minuend.standards import dialects


def test_spec_shows_every_type_of_every_version(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "spec", "--json")
    rows = json.loads(out)["versions"]
    versions = [version for home in dialects.dialects().values() for version in home.versions()]
    assert status == 0
    assert [(row["dialect"], row["version"], row["types"]) for row in rows] == [
        (version.dialect, version.version, list(version.types)) for version in versions
    ]
    status, out, _ = run(capfd, "spec")
    lines = {words[0]: len(words) - 1 for line in out.split("version")[0].splitlines()[3:] if (words := line.split())}
    assert lines == {
        name: count for name in elements.TYPES if (count := sum(name in version.types for version in versions))
    }
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("home", dialects.dialects().values(), ids=lambda home: home.name)
def test_spec_of_a_version_shows_all_its_row_in_the_dialects_words(
    capfd: pytest.CaptureFixture[str], home: dialects.Dialect
) -> None:
    for version in home.versions():
        status, out, _ = run(capfd, "spec", f"{home.name}:{version.version}")
        flat = " ".join(out.split())
        wanted = [home.spell(name) for name in version.types] + [*version.notes, *map(str, version.facts)]
        wanted += [row.doc for row in (*version.attributes, *version.inputs, *version.outputs) if len(row.doc) < 40]
        assert (status, [text for text in wanted if text not in flat]) == (0, [])
        status, out, _ = run(capfd, "spec", f"{home.name}:{version.version}", "--json")
        (row,) = json.loads(out)["versions"]
        assert row["spelled"] == [home.spell(name) for name in version.types]


def test_diff_takes_a_few_lines(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "diff", "onnx:6", "onnx:7") == (
        0,
        (
            "ONNX Sub-6 → Sub-7\n\n"
            "attributes           −axis −broadcast\n"
            "broadcasting         onnx_legacy → numpy\n"
            "inference            shape of A → broadcast shape\n"
            "facts.since_version  6 → 7\n"
            "worded anew          inputs.A, inputs.B, outputs.C, notes\n"
        ),
        "",
    )
    assert run(capfd, "diff", "onnx:7", "onnx:12")[1] == "ONNX Sub-7: the same version, nothing changed\n"
    assert json.loads(run(capfd, "diff", "directml:2.1", "directml:3.0", "--json")[1]) == {
        "version": 1,
        "tool": tool(),
        "dialect": "directml",
        "old": "2.1",
        "new": "3.0",
        "changes": [{"field": "ranks", "added": [[1, 8]], "removed": [[4, 4]]}],
    }


@pytest.mark.parametrize(
    "argv", [["spec", "onnx:99"], ["spec", "onnx:99", "--json"], ["diff", "onnx:13", "onnx:99"]], ids=" ".join
)
def test_of_an_opset_that_is_not_known_the_newest_is_shown_and_that_is_said(
    argv: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capfd, *argv)
    assert status == 0
    assert "Sub" in out
    assert err == (
        f"warning: opset '99' of ONNX is not known; the newest known is {dialects.dialect('onnx').newest}; "
        "this is Sub-14, the newest of those that are\n"
    )
    assert run(capfd, "spec", f"onnx:{dialects.dialect('onnx').newest}")[2] == ""


def test_the_newest_opset_is_that_of_the_newest_onnx() -> None:
    assert int(dialects.dialect("onnx").newest) >= pytest.importorskip("onnx").defs.onnx_opset_version()
