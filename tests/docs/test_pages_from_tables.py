"""The pages that are made from tables hold what the tables hold, and their examples run."""

from __future__ import annotations

import functools
import itertools
import json
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sitepages import (
    broadcasting,
    differences,
    failures,
    matrix,
    operators,
    releases,
    schemas,
    spoken,
    staging,
    versions,
)
from sitepages.page import Page
from sitepages.transcripts import session

from minuend import cli
from minuend.language import Language, languages
from minuend.runtimes.matrix import matrix as cells_of
from minuend.runtimes.matrix import right
from minuend.standards.dialects import dialect, spec

pytest.importorskip("onnx")  # whose models the examples run

VERSIONS = versions.every_version()
every_version = pytest.mark.parametrize("op", VERSIONS, ids=versions.slug)


@functools.cache
def made(module: Callable[[Language], Iterator[Page]], language: str = "en") -> dict[str, str]:
    return {page.path: page.text for page in module(Language(language))}


# ---- operators ------------------------------------------------------------------------------------------------


@every_version
def test_a_version_has_a_page_in_the_order_of_the_standards(op: object) -> None:
    page = made(operators.pages)[f"operators/{versions.slug(op)}.md"]
    heads = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert heads == [
        "Version", "Summary", "Attributes", "Inputs", "Outputs", "Type constraints", "Shape inference", "Broadcasting",
        "Numerics", "Errors", *["Runtimes"] * (op.dialect != "directml"), "Examples", "Differences",
    ]  # fmt: skip
    for name in (*map(dialect(op.dialect).spell, op.types), *op.attributes.names, *op.inputs.names):
        assert f"`{name}`" in page
    assert page.count("import") < 3  # sessions begin with what matters
    assert page.count(">>>") > 8


def test_a_version_names_the_runtimes_that_are_right_on_all_of_its_types() -> None:
    page = made(operators.pages)["operators/onnx-14.md"]
    link = r'<a href="\.\./matrix\.html\?operator=onnx:14">The matrix</a>'
    (sentence,) = re.findall(rf"^Of (\d+) runtimes that read this version, .*: (.*?)\. {link}", page, re.MULTILINE)
    fine, others = right(dialect("onnx").resolve(14))
    assert sentence == (str(len(fine) + len(others)), ", ".join(f"[{name}](../matrix/{name}.md)" for name in fine))
    wrong = {cell.target.runtime for cell in cells_of() if cell.verdict != "ok"}
    assert others.keys() <= wrong
    assert "onnx-reference" in fine


def test_shapes_of_the_page_are_judged_by_the_version() -> None:
    page = made(operators.pages)["operators/onnx-6.md"]
    assert "| `(2, 3, 4, 5)` | `(3, 4)` | `axis=1, broadcast=1` | `(2, 3, 4, 5)` | `(2, 3, 4, 5)` |  |" in page
    assert "| `(2, 3, 4, 5)` | `(1, 5)` | `broadcast=1` | shapes (2, 3, 4, 5) and (1, 5) do not join" in page
    pdpd = made(operators.pages)["operators/openvino-1.md"]
    assert "| `(1, 3)` | `(0, 3)` | `auto_broadcast=pdpd, axis=-1` | `(0, 3)` |" in pdpd
    assert "(2, 3, 4, 5) − (3, 4) → (2, 3, 4, 5) (auto_broadcast=pdpd, axis=1)</figcaption>" in pdpd


@every_version
def test_every_version_shows_shapes_that_join_shapes_that_do_not_and_errors(op: object) -> None:
    answers = [broadcasting.joined(op, case) for case in broadcasting.cases(op)]
    assert {isinstance(answer, Exception) for answer in answers} == {True, False}
    conditions = {failure.condition for failure in failures.failures(op) if failures.raised(op, failure)}
    assert {"two element types", "shapes that do not join", "an attribute that the version does not take"} <= conditions


def test_a_session_is_shown_as_it_ran() -> None:
    assert session(["x = 2", "x + 1"]) == ">>> x = 2\n>>> x + 1\n3"
    assert session(["int('a')"], error=True).endswith("ValueError: invalid literal for int() with base 10: 'a'")
    with pytest.raises(AssertionError, match="was to fail"):
        session(["1"], error=True)
    with pytest.raises(ZeroDivisionError):
        session(["1 / 0", "2"])


# ---- differences ----------------------------------------------------------------------------------------------


def test_any_two_versions_have_a_page() -> None:
    pages = made(differences.pages)
    assert len(pages) == 1 + len(list(itertools.combinations(VERSIONS, 2)))
    assert "differences/onnx-14-directml-5.1.md" in pages


@pytest.mark.parametrize(
    ("pair", "lines"),
    [
        ((("onnx", 6), ("onnx", 7)), [
            "the same", "gone: `axis`, `broadcast`",
            "broadcasting: onnx\\_legacy → numpy; inference: shape of A → broadcast shape",
            "nodes that set axis or broadcast are rewritten, by minuend convert",
        ]),
        ((("onnx", 7), ("onnx", 13)), [
            "new: `tensor(bfloat16)`", "the same", "the same",
            "a node of the first is one of the second as it is, with the same meaning",
        ]),
        ((("onnx", 14), ("directml", "5.1")), [
            "gone: `float64`, `bfloat16`", "the same",
            "broadcasting: numpy → equal sizes, strides of 0 repeat; ranks: 0 and above → 1 to 8",
            "its file becomes the other standard's, by minuend convert; its types have to be among the new version's",
        ]),
    ],
    ids=["6-7", "7-13", "14-5.1"],
)  # fmt: skip
def test_a_difference_means_four_lines(pair: tuple[tuple[str, object], ...], lines: list[str]) -> None:
    old, new = (spec(*one) for one in pair)
    told = [line for _, line in differences.meaning(old, new, Language())]
    assert sorted(re.findall("`[^`]*`", told[0])) == sorted(re.findall("`[^`]*`", lines[0]))
    assert told[1:] == lines[1:]


def test_side_by_side_marks_what_differs() -> None:
    table = differences.side_by_side(spec("onnx", 7), spec("onnx", 13), Language())
    rows = re.findall(r'<tr class="(\w+)">', table)
    assert (rows.count("insert"), rows.count("delete"), rows.count("replace")) == (1, 0, 2)
    assert '<td></td><td><span class="indent-1">tensor(bfloat16)</span></td>' in table
    assert "since_version: <mark>13</mark>" in table


def test_side_by_side_marks_the_same_words_in_chinese() -> None:
    pytest.importorskip("babel")
    table = differences.side_by_side(spec("onnx", 7), spec("onnx", 13), Language("zh_TW"))
    assert "since_version：<mark>13</mark>" in table
    assert "可微分：<mark>是</mark>" in table


@pytest.mark.parametrize("module", [differences.pages, operators.pages, matrix.pages])
def test_a_label_in_chinese_has_a_full_width_colon(module: Callable[[Language], Iterator[Page]]) -> None:
    pages = {path: text for path, text in made(module, "zh_TW").items() if path.endswith(".md")}
    assert [path for path, text in pages.items() if re.search("[\u3400-\u9fff](?:\\*\\*|</b>)?[:;] ", text)] == []


# ---- the matrix -----------------------------------------------------------------------------------------------


def test_every_cell_leads_to_its_witness() -> None:
    pages = made(matrix.pages)
    data = json.loads(pages["_extra/matrix.json"])
    cells = cells_of()
    assert len(data["cells"]) == len(cells)
    for cell, plain in zip(cells, data["cells"], strict=True):
        page, place = plain["page"].split("#")
        assert (plain["target"], plain["dtype"], plain["verdict"]) == (cell.target.name, cell.dtype, cell.verdict)
        assert pages[page.replace(".html", ".md")].count(f'id="{place}"') == 1
        assert f'href="{plain["page"]}"' in pages["matrix.md"]


def test_the_command_of_a_cell_shows_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell for cell in json.loads(made(matrix.pages)["_extra/matrix.json"])["cells"] if cell["witness"]]
    for cell in cells[:: len(cells) // 8]:
        assert cli.main(cell["command"].removeprefix("minuend ").split()) == 0
        (again,) = json.loads(capsys.readouterr().out)["cells"]
        assert {name: cell[name] for name in again} == again


def test_a_release_that_changed_nothing_says_so_and_others_say_what() -> None:
    page = made(releases.pages)["releases/openvino-cpu.md"]
    steps = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    assert steps[0].splitlines()[0] == "2026.2.1 → 2026.4.1"
    assert "Nothing changed" in steps[0]
    assert all("<table" in step or "Nothing changed" in step for step in steps)


def test_every_field_of_a_schema_is_told_once() -> None:
    fields = list(
        schemas.fields({"properties": {"a": {"type": "array", "items": {"properties": {"b": {"const": 1}}}}}})
    )
    assert fields == [("a", "array", ""), ("a[].b", "1", "")]
    assert "`findings[].verdict`" in made(schemas.pages)["schemas/check.md"]


# ---- languages ------------------------------------------------------------------------------------------------


@functools.cache
def texts() -> list[str]:
    return spoken.texts()


@pytest.mark.parametrize("name", [name for name in languages() if name != "en"])
def test_all_that_is_said_is_translated_and_keeps_its_places(name: str) -> None:
    language = Language(name)
    for text in texts():
        said = language.tr(text)
        assert places(said) == places(text), text
    assert language.missing() == []


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_programs_read_what_translators_wrote() -> None:
    pytest.importorskip("babel")
    from sitepages import catalogues

    for name in languages()[1:]:
        assert catalogues.path(name).with_suffix(".mo").read_bytes() == catalogues.compiled(name)


def test_terms_lead_to_the_glossary_where_a_page_has_them_first():
    text = "# A recipe\n| recipe |\n`recipe` [recipe](x.md) a recipe, a recipe\n```\nverdict\n```\n"
    assert staging.explained(text, staging.glossary()) == text.replace(" a recipe,", " a {term}`recipe`,")
    assert len(staging.glossary()) > 10


@pytest.mark.parametrize("name", ["matrix", "matrix/openvino-cpu"])
def test_pages_from_tables_link_terms_in_english_and_have_no_english_glossary_in_chinese(
    name: str, tmp_path: Path
) -> None:
    for language in languages():
        staging.stage(tmp_path / language, Language(language))
    found = re.findall(r"\{term\}`(\w+)`", (tmp_path / f"en/{name}.md").read_text("utf-8"))
    assert {"verdict", "severity", "witness"} <= set(found)
    assert len(found) == len(set(found))
    assert "{term}" not in (tmp_path / f"zh_TW/{name}.md").read_text("utf-8")
