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
    numerics,
    operators,
    releases,
    runtimes,
    schemas,
    spoken,
    staging,
    versions,
    words,
)
from sitepages.page import Page
from sitepages.transcripts import session

from minuend import cli
from minuend.errors import ConversionRefused
from minuend.language import Language, languages
from minuend.models.converting import convert
from minuend.operators import ADD, BY_ONNX, NEGATIVE, OPERATORS, SUBTRACT
from minuend.runtimes import targets
from minuend.runtimes.matrix import matrix as cells_of
from minuend.runtimes.matrix import right
from minuend.standards.dialects import dialect, parse_version, spec

onnx = pytest.importorskip("onnx")  # whose models the examples run

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
    (tensors,) = re.findall(r"^(.*) have one element type", page, re.MULTILINE)
    assert tensors == {1: "X and Y", 2: "A, B and C"}[op.computes.arity]
    assert page.count("import") < 3  # sessions begin with what matters
    assert page.count(">>>") > 8


def test_a_version_names_the_runtimes_that_are_right_on_all_of_its_types() -> None:
    page = made(operators.pages)["operators/onnx-14.md"]
    assert '<a href="../matrix.html?operator=onnx:14">The matrix</a> shows the others by type.' in page
    (sentence,) = re.findall(r"^Of (\d+) runtimes that read this version, .*: (.*?)\.$", page, re.MULTILINE)
    fine, others = right(dialect("onnx").resolve(14))
    assert sentence == (str(len(fine) + len(others)), ", ".join(f"[{name}](../matrix/{name}.md)" for name in fine))
    wrong = {cell.target.runtime for cell in cells_of() if cell.verdict != "ok"}
    assert others.keys() <= wrong
    assert "onnx-reference" in fine


@pytest.mark.parametrize("key", ["onnx:Add-14", "openvino:Add-1", "onnx:Neg-13", "openvino:Negative-1"])
def test_an_operator_that_the_matrix_lacks_has_its_deviations_on_the_page(key: str) -> None:
    op = parse_version(key)
    page = "\n".join(runtimes.section(op, Language()))
    assert "The matrix" not in page
    shown = [row.split(" | ") for row in re.findall(r"^\| (\w+-cpu@.*) \|$", page.replace("\\", ""), re.MULTILINE)]
    measured = targets.of(targets.find("openvino-cpu"), op.computes)
    for dtype in op.types:
        for name, answer in measured.judged(op, dtype, "same", "none").items():
            rows = [
                row
                for row in shown
                if row[:2] == [measured.name, dtype] and {name, "all values"} & {*row[2].split(", ")}
            ]
            assert [row[3] for row in rows] == ([answer.verdict] if answer.verdict != "ok" else [])
            if answer.witness is not None:
                got, expected = answer.witness.got, answer.witness.expected
                assert rows[0][4] == f"{answer.witness.written} gives {got}, expected {expected}"


def test_the_sum_that_wraps_and_the_refused_type_are_shown_with_their_witness() -> None:
    page = made(operators.pages)["operators/onnx-add-14.md"]
    assert "| openvino-cpu@2026.4.1 | int8 | wraps | different-numbers | 1 + 127 gives 127, expected -128 |" in page
    assert "| onnxruntime-cpu@1.32.0 | bfloat16 | all values | not-implemented | " in page


WRAP = "wrap modulo 2ⁿ, unless an overflow policy says otherwise: in int8, "


@pytest.mark.parametrize(
    ("key", "rules"),
    [
        ("onnx:14", {
            "the difference itself": "the exact difference, made to fit the element type by the lines below",
            "integers that do not fit": WRAP + "−128 − 1 = 127",
            "zeros": "as IEEE 754 has them: "
            "+0 − (+0) = +0, +0 − (−0) = +0, −0 − (+0) = −0, −0 − (−0) = +0, 1 − 1 = +0",
        }),
        ("onnx:Add-14", {
            "the sum itself": "the exact sum, made to fit the element type by the lines below",
            "integers that do not fit": WRAP + "127 + 1 = −128",
            "zeros": "as IEEE 754 has them: "
            "+0 + (+0) = +0, +0 + (−0) = +0, −0 + (+0) = +0, −0 + (−0) = −0, 1 + (−1) = +0",
            "infinities": "as IEEE 754 has them: "
            "+∞ + (+∞) = +∞, +∞ + (−∞) = NaN, −∞ + (+∞) = NaN, −∞ + (−∞) = −∞",
        }),
        ("openvino:Negative-1", {
            "element types of X and Y": "one for all of them; nothing is promoted, and another type is an error",
            "integers that do not fit": WRAP + "−(−128) = −128",
            "zeros": "as IEEE 754 has them: −(+0) = −0, −(−0) = +0",
            "float types of 8 bits or fewer": "nf4 takes the nearest level, the one nearer to 0 where two are",
        }),
    ],
)  # fmt: skip
def test_the_contract_of_an_operator_is_computed_by_the_reference(key: str, rules: dict[str, str]) -> None:
    lines = {subject: rule for subject, _, rule in numerics._lines(parse_version(key), Language())}
    assert {subject: lines[subject] for subject in rules} == rules


def test_the_index_has_each_version_below_its_operator_and_its_standard() -> None:
    page = made(operators.pages)["operators/index.md"]
    heads = re.findall(r"^##+ (.*)$", page, re.MULTILINE)
    wanted = []
    for operator in OPERATORS:
        named = [
            f"{home.title}: {home.versions(operator)[0].operator}"
            for home in versions.homes()
            if operator in home.operators
        ]
        wanted += [words.WORDS[operator].title, *named]
    assert heads == wanted
    assert heads[:5] == [
        "Subtraction",
        "ONNX: Sub",
        "OpenVINO: Subtract",
        "DirectML: ELEMENT_WISE_SUBTRACT",
        "Addition",
    ]
    assert [page.count(f"]({versions.slug(op)}.md)") for op in VERSIONS] == [1] * len(VERSIONS)


def test_every_operator_has_words_and_no_shared_sentence_names_one() -> None:
    assert words.WORDS.keys() == OPERATORS.keys()
    named = re.compile(
        r"\b(subtract|subtrac\w+|differences?|add|adds|addition|sums?|negat\w+|minuend|subtrahend)\b", re.I
    )
    for module in (broadcasting, failures, numerics, runtimes):
        text = Path(module.__file__).read_text("utf-8").replace("from minuend", "").replace("minuend.", "")
        assert named.findall(re.sub(r"negative (?:one|zero)", "", text, flags=re.I)) == [], module.__name__


@pytest.mark.parametrize("name", BY_ONNX)
def test_the_words_say_which_operators_cross_to_another_standard(name: str) -> None:
    operator = BY_ONNX[name]
    inputs = ["a", "b"][: operator.arity]
    graph = f"example ({', '.join(f'float[2] {one}' for one in inputs)}) => (float[2] c)"
    node = f"c = {name}({', '.join(inputs)})"
    model = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["" : 14]>\n{graph} {{ {node} }}')
    try:
        crosses = bool(convert(model, "openvino"))
    except ConversionRefused:
        crosses = False
    assert words.WORDS[operator.name].crosses == crosses


def test_an_operator_is_written_with_its_operands() -> None:
    assert words.written(SUBTRACT, "A", "B") == "A − B"
    assert words.written(ADD, "-1", "-0") == "−1 + (−0)"
    assert words.written(NEGATIVE, "+0") == "−(+0)"


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
    conditions = {failure.condition for failure in failures.failures(op) if failures.raised(op, failure)}
    assert "an attribute that the version does not take" in conditions
    every = {name for other in VERSIONS for name in other.types}
    assert ("an element type that the version does not take" in conditions) == (set(op.types) < every)
    if op.computes.arity > 1:
        assert {isinstance(answer, Exception) for answer in answers} == {True, False}
        assert {"two element types", "shapes that do not join"} <= conditions
    else:
        assert answers == []
        assert (
            "There is nothing to join: Y has X's shape." in made(operators.pages)[f"operators/{versions.slug(op)}.md"]
        )


def test_a_session_is_shown_as_it_ran() -> None:
    assert session(["x = 2", "x + 1"]) == ">>> x = 2\n>>> x + 1\n3"
    assert session(["int('a')"], error=True).endswith("ValueError: invalid literal for int() with base 10: 'a'")
    with pytest.raises(AssertionError, match="was to fail"):
        session(["1"], error=True)
    with pytest.raises(ZeroDivisionError):
        session(["1 / 0", "2"])


# ---- differences ----------------------------------------------------------------------------------------------


def test_any_two_versions_of_an_operator_have_a_page() -> None:
    pages = made(differences.pages)
    pairs = [pair for pair in itertools.combinations(VERSIONS, 2) if pair[0].computes is pair[1].computes]
    assert len(pages) == 1 + len(pairs)
    assert {
        f"differences/{name}.md"
        for name in ("onnx-14-directml-5.1", "onnx-add-7-13", "onnx-neg-13-openvino-negative-1")
    } <= set(pages)
    assert "onnx-add" not in made(operators.pages)["operators/onnx-14.md"]


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
        ((("onnx", 6, "Neg"), ("onnx", 13, "Neg")), [
            "new: `tensor(bfloat16)`", "the same", "the same",
            "a node of the first is one of the second as it is, with the same meaning",
        ]),
        ((("onnx", 14, "Add"), ("openvino", 1, "Add")), [
            ("new: `float4_e2m1fn`, `float8_e4m3fn`, `float8_e5m2`, `float8_e8m0fnu`, `int4`, `nf4`, `uint1`, `uint2`, "
             "`uint4`"),
            "new: `auto_broadcast`, `axis`",
            "broadcasting: numpy → none, numpy or pdpd, as auto\\_broadcast says",
            "minuend convert does not move the operator to another standard",
        ]),
        ((("onnx", 14), ("directml", "5.1")), [
            "gone: `float64`, `bfloat16`", "the same",
            "broadcasting: numpy → equal sizes, strides of 0 repeat; ranks: 0 and above → 1 to 8",
            "its file becomes the other standard's, by minuend convert; its types have to be among the new version's",
        ]),
    ],
    ids=["6-7", "7-13", "Neg-6-13", "Add-14-1", "14-5.1"],
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


def test_pages_from_tables_link_terms_in_english_and_have_no_english_glossary_in_chinese(tmp_path: Path) -> None:
    for language in languages():
        staging.stage(tmp_path / language, Language(language))
    for name in ("matrix", "matrix/openvino-cpu"):
        found = re.findall(r"\{term\}`(\w+)`", (tmp_path / f"en/{name}.md").read_text("utf-8"))
        assert {"verdict", "severity", "witness"} <= set(found)
        assert len(found) == len(set(found))
        assert "{term}" not in (tmp_path / f"zh_TW/{name}.md").read_text("utf-8")
