"""``minuend spec`` and ``minuend diff`` as a person calls them."""

from __future__ import annotations

import json
import re

import pytest
from command_line import run

from minuend.cli.about import tool
from minuend.cli.verbs import completing
from minuend.core import elements
from minuend.errors import listed
from minuend.operators import OPERATORS
from minuend.standards import dialects


def test_spec_shows_every_type_of_every_version(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "spec", "--json")
    rows = json.loads(out)["versions"]
    versions = [version for home in dialects.dialects().values() for version in home.versions()]
    assert status == 0
    assert [(row["dialect"], row["operator"], row["version"], row["types"]) for row in rows] == [
        (version.dialect, version.operator, version.version, list(version.types)) for version in versions
    ]
    status, out, _ = run(capfd, "spec")
    lines = {words[0]: len(words) - 1 for line in out.split("version")[0].splitlines()[3:] if (words := line.split())}
    assert lines == {
        name: count for name in elements.TYPES if (count := sum(name in version.types for version in versions))
    }
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("operator", OPERATORS)
def test_spec_shows_every_version_of_an_operator(capfd: pytest.CaptureFixture[str], operator: str) -> None:
    versions = [row for home in dialects.dialects().values() for row in home.operators.get(operator, ())]
    status, out, _ = run(capfd, "spec", "--operator", operator, "--json")
    assert status == 0
    assert [(row["dialect"], row["operator"], row["version"]) for row in json.loads(out)["versions"]] == [
        (row.dialect, row.operator, row.version) for row in versions
    ]
    out = run(capfd, "spec", "--operator", OPERATORS[operator].onnx)[1]
    assert re.findall(r"^(\w+:\S+)", out, re.MULTILINE) == [row.key for row in versions]
    assert max(map(len, out.splitlines())) <= 80
    assert f"What is computed: {listed(OPERATORS)}." in " ".join(run(capfd, "spec", "--help")[1].split())


@pytest.mark.parametrize(
    ("argv", "title"),
    [
        (["onnx:Add-14"], "ONNX Add-14: since opset 14"),
        (["onnx:10", "--operator", "add"], "ONNX Add-7: since opset 7, until opset 13 changes it"),
        (["onnx:Neg-8", "--operator", "negative"], "ONNX Neg-6: since opset 6, until opset 13 changes it"),
        (["openvino:Negative"], "OpenVINO Negative-1: since operator version 1"),
    ],
    ids=" ".join,
)
def test_spec_takes_the_operator_before_the_version_or_as_an_option(
    capfd: pytest.CaptureFixture[str], argv: list[str], title: str
) -> None:
    status, out, err = run(capfd, "spec", *argv)
    assert (status, out.splitlines()[0], err) == (0, title, "")


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["spec", "--operator", "ad"], f"no operator 'ad' (did you mean 'add'?); expected {listed(OPERATORS)}"),
        (["spec", "directml", "--operator", "add"], "DirectML has no operator 'add' here; expected SUBTRACT"),
        (["spec", "onnx:Add-14", "--operator", "negative"],
         "onnx:Add-14 is not a version of negative; leave --operator or Add out"),
        (["spec", "onnx:Sub-14", "--operator", "add"],
         "onnx:Sub-14 is not a version of add; leave --operator or Sub out"),
        (["diff", "onnx:Add-7", "onnx:13"],
         "onnx:Add-7 and onnx:13 are of two operators, Add and Sub; expected two versions of one"),
        (["diff", "onnx:Add-7", "openvino:Add-1"],
         "onnx:Add-7 and openvino:Add-1 are of two dialects; expected two versions of one (see minuend spec)"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_operators_that_do_not_go_together_are_refused(
    capfd: pytest.CaptureFixture[str], argv: list[str], why: str
) -> None:
    assert run(capfd, *argv) == (2, "", f"error: {why}\n")


def test_versions_are_completed_with_their_operators() -> None:
    def offered(begun: str) -> list[str]:
        return [item.value for item in completing("versions")(None, None, begun)]  # type: ignore[arg-type]

    assert offered("") == list(dialects.dialects())
    assert offered("onnx:Neg") == ["onnx:Neg-1", "onnx:Neg-6", "onnx:Neg-13"]
    every = [row.key for home in dialects.dialects().values() for row in home.rows]
    assert [name for home in dialects.dialects() for name in offered(f"{home}:")] == every
    assert [dialects.parse_version(name).key for name in every] == every


@pytest.mark.parametrize("home", dialects.dialects().values(), ids=lambda home: home.name)
def test_spec_of_a_version_shows_all_its_row_in_the_dialects_words(
    capfd: pytest.CaptureFixture[str], home: dialects.Dialect
) -> None:
    for version in home.rows:
        status, out, _ = run(capfd, "spec", version.key)
        flat = " ".join(out.split())
        wanted = [home.spell(name) for name in version.types] + [*version.notes, *map(str, version.facts)]
        wanted += [row.doc for row in (*version.attributes, *version.inputs, *version.outputs) if len(row.doc) < 40]
        assert (status, [text for text in wanted if text not in flat]) == (0, [])
        status, out, _ = run(capfd, "spec", version.key, "--json")
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
    assert run(capfd, "diff", "onnx:Add-7", "onnx:Add-13")[1] == (
        "ONNX Add-7 → Add-13\n\n"
        "types                 +tensor(bfloat16)\n"
        "facts.since_version   7 → 13\n"
        "facts.differentiable  no → yes\n"
    )
    assert run(capfd, "diff", "onnx:7", "onnx:12")[1] == "ONNX Sub-7: the same version, nothing changed\n"
    assert json.loads(run(capfd, "diff", "directml:2.1", "directml:3.0", "--json")[1]) == {
        "version": 1,
        "tool": tool(),
        "dialect": "directml",
        "operator": "ELEMENT_WISE_SUBTRACT",
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
