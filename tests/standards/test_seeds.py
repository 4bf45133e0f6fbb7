"""Across modules: every fact that the operator's source pages state is in the row of its version.

``tests/data/seed_facts.json`` holds the facts; ``tools/seed_facts.py`` makes it from the pages, and compares the two.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from minuend.onnx import sub
from minuend.standards import spelling
from minuend.standards.dialects import dialect, diff_versions, spec
from minuend.standards.node import TensorType
from minuend.standards.validation import infer

ROOT = Path(__file__).parents[2]
FACTS = json.loads((ROOT / "tests" / "data" / "seed_facts.json").read_text(encoding="utf-8"))

ONNX = [(page, int(version)) for page in ("000", "001", "002") for version in FACTS[page]["versions"]]
on_each_onnx_section = pytest.mark.parametrize(("page", "version"), ONNX)


def names(dialect_name: str, spelled) -> set[str]:
    """This package's names for types in a dialect's spelling, checked to be that dialect's."""
    found = {spelling.find(text).name for text in spelled}
    own = {text for name in found for text in dialect(dialect_name).spellings[name]}
    assert set(spelled) <= own
    return found


def params(rows):
    return [{"name": row.name, "type": row.type} for row in rows]


def test_every_page_and_every_version_is_in_the_data_file():
    assert list(FACTS) == ["000", "001", "002", "003", "004"]
    for page in ("000", "001"):
        assert list(FACTS[page]["versions"]) == ["14", "13", "7", "6", "1"]
    assert list(FACTS["002"]["versions"]) == ["14", "13", "7", "6", "1"]
    assert list(FACTS["004"]["levels"]) == ["5.1", "4.1", "3.0", "2.1", "1.0"]


# ---- ONNX -----------------------------------------------------------------------------------------------------


@on_each_onnx_section
@pytest.mark.parametrize(
    "fact", ["name", "domain", "since_version", "function", "support_level", "shape inference", "type constraint"]
)
def test_a_plain_fact_is_in_the_row(page, version, fact):
    row = spec("onnx", version)
    stated = FACTS[page]["versions"][str(version)][fact]
    assert row.facts[fact] == stated
    assert type(row.facts[fact]) is type(stated)
    assert row.version == version


@on_each_onnx_section
def test_types_and_what_they_are_called_are_in_the_row(page, version):
    row, stated = spec("onnx", version), FACTS[page]["versions"][str(version)]
    assert set(row.types) == names("onnx", stated["types"])
    kind = stated["constrained to"].replace("float", "floating-point")
    assert row.facts["constrained to"] == f"{kind} tensors"


@on_each_onnx_section
def test_attributes_inputs_and_outputs_are_in_the_row(page, version):
    row, stated = spec("onnx", version), FACTS[page]["versions"][str(version)]
    assert list(row.attributes.names) == [attribute["name"] for attribute in stated["attributes"]]
    for attribute in stated["attributes"]:
        for part, value in attribute.items():
            assert getattr(row.attributes[attribute["name"]], part) == value
    assert params(row.inputs) == stated["inputs"]
    assert params(row.outputs) == stated["outputs"]


def test_between_them_the_pages_state_every_attribute_s_type_and_the_one_default():
    stated = [a for page in ("000", "001", "002") for v in FACTS[page]["versions"].values() for a in v["attributes"]]
    assert {(a["name"], a["type"]) for a in stated if "type" in a} == {
        ("axis", "INT"),
        ("broadcast", "INT"),
        ("consumed_inputs", "INTS"),
    }
    assert {(a["name"], a["default"]) for a in stated if "default" in a} == {("broadcast", 0)}


@on_each_onnx_section
def test_the_shapes_that_a_page_lists_join_as_it_says(page, version):
    joined = FACTS[page]["versions"][str(version)]["shapes joined"]
    assert len(joined) == (6 if version < 7 else 0)
    for case in joined:
        a, b = np.zeros(case["a"], np.float32), np.ones(case["b"], np.float32)
        assert sub(a, b, opset=version, axis=case["axis"], broadcast=1).shape == a.shape


def operand(stated):
    if "values" in stated:
        return np.array(stated["values"]).astype(stated["dtype"])
    rng = np.random.RandomState(0)
    if "limits" in stated:
        return rng.randint(*stated["limits"], size=stated["shape"], dtype=stated["dtype"])
    return rng.randn(*stated["shape"]).astype(stated["dtype"])


@pytest.mark.parametrize("page", ["000", "001"])
def test_the_four_examples_run_and_give_the_numbers_stated(page):
    examples = {example["name"]: example for example in FACTS[page]["versions"]["14"]["examples"]}
    assert list(examples) == ["test_sub_example", "test_sub", "test_sub_uint8", "test_sub_bcast"]
    assert examples["test_sub_example"]["z"] == [-2.0, 0.0, 2.0]
    for example in examples.values():
        x, y = operand(example["x"]), operand(example["y"])
        z = sub(x, y)
        assert (z.shape, z.dtype) == (x.shape, x.dtype)
        if example["z"]:
            assert z.tolist() == example["z"]


@pytest.mark.parametrize("change", FACTS["001"]["changes"], ids=lambda c: f"{c['old']} to {c['new']}")
def test_what_a_page_marks_as_changed_the_diff_lists(change):
    types = [c for c in diff_versions("onnx", change["old"], change["new"]) if c.field == "types"]
    attributes = [c for c in diff_versions("onnx", change["old"], change["new"]) if c.field == "attributes"]
    for listed, field in ((types, "types"), (attributes, "attributes")):
        for sign in ("added", "removed"):
            found = {item for c in listed for item in getattr(c, sign)}
            stated = change[f"{field} {sign}"]
            assert found == (names("onnx", stated) if field == "types" else set(stated))


# ---- OpenVINO -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fact", ["name", "versioned name", "category", "type constraint", "constrained to"])
def test_openvino_s_plain_facts_are_in_the_row(fact):
    assert spec("openvino", 1).facts[fact] == FACTS["003"][fact]


def test_openvino_s_formula_attributes_inputs_and_outputs_are_in_the_row():
    row, stated = spec("openvino", 1), FACTS["003"]
    assert row.facts["formula"].replace("[i]", "_i") == stated["formula"]
    for attribute in stated["attributes"]:
        for part, value in attribute.items():
            assert getattr(row.attributes[attribute["name"]], part) == value
    assert params(row.inputs) == stated["inputs"]
    assert params(row.outputs) == stated["outputs"]


def test_openvino_s_two_examples_join_as_written():
    assert len(FACTS["003"]["examples"]) == 2
    for example in FACTS["003"]["examples"]:
        assert example["type"] == spec("openvino", 1).operator
        a, b, c = (tuple(shape) for shape in example["shapes"])
        rule = {"auto_broadcast": example["auto_broadcast"]}
        assert infer("openvino", 1, TensorType("f32", a), TensorType("f32", b), **rule).shape == c


# ---- DirectML -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fact", ["name", "introduced in", "header"])
def test_directml_s_plain_facts_are_in_every_row(fact):
    for level in FACTS["004"]["levels"]:
        assert spec("directml", level).facts[fact] == FACTS["004"][fact]


def test_directml_s_formula_members_aliasing_and_constraints_are_in_the_row():
    row, stated = spec("directml", "1.0"), FACTS["004"]
    assert row.facts["function"] == stated["formula"]
    assert params([*row.inputs, *row.outputs]) == stated["members"]
    assert row.facts["in-place execution"] is stated["may alias"] is True
    assert list(row.facts["same in all tensors"]) == stated["same in all tensors"]
    assert stated["introduced in"] == f"DML_FEATURE_LEVEL_{row.version.replace('.', '_')}"


@pytest.mark.parametrize("level", FACTS["004"]["levels"])
def test_directml_s_levels_have_their_ranks_and_types(level):
    row, stated = spec("directml", level), FACTS["004"]["levels"][level]
    assert row.version == level
    assert [p.name for p in row.inputs] == [name for name, s in stated.items() if s["kind"] == "Input"]
    assert [p.name for p in row.outputs] == [name for name, s in stated.items() if s["kind"] == "Output"]
    for tensor in stated.values():
        assert list(row.ranks) == tensor["ranks"]
        assert set(row.types) == names("directml", tensor["types"])


def test_directml_has_no_other_levels_that_change_the_operator():
    assert [row.version for row in dialect("directml").versions()] == list(FACTS["004"]["levels"])[::-1]
