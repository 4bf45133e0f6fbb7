"""Rows, ``OpVersion``, ``evolve``, and ``diff`` between any two versions of every dialect."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

import minuend as mn
from minuend.core.elements import TYPES
from minuend.errors import SpecError
from minuend.operators import SUBTRACT
from minuend.standards.dialects import dialects
from minuend.standards.version import Attr, Change, OpVersion, Param, Rows, diff

PAIRS = [(old, new) for home in dialects().values() for old, new in itertools.product(home.versions(), repeat=2)]

FIRST = OpVersion(
    dialect="test",
    operator="Op",
    computes=SUBTRACT,
    version=1,
    types=("float32",),
    attributes=Rows([Attr("axis", "INT"), Attr("mode", "string", "a", values=("a", "b"))]),
    inputs=Rows([Param("A", "T", "first"), Param("B", "T")]),
    outputs=Rows([Param("C", "T")]),
    broadcasting="none",
    inference="broadcast shape",
    notes=("one",),
    facts={"domain": "main", "old": True},
)


# ---- rows -----------------------------------------------------------------------------------------------------


def test_rows_are_a_tuple_that_is_looked_up_by_name_too():
    rows = Rows([Param("A", "T"), Param("B", "U")])
    assert rows == (Param("A", "T"), Param("B", "U"))
    assert rows.names == ("A", "B")
    assert rows["B"] is rows[1]
    assert rows[:1] == (rows["A"],)
    assert "A" in rows.names
    assert rows["A"] in rows
    with pytest.raises(KeyError) as caught:
        rows["C"]
    assert caught.value.args == ("C",)


@pytest.mark.parametrize("row", [FIRST, FIRST.attributes[0], FIRST.inputs[0], Change("types", (), ())], ids=str)
def test_a_row_is_frozen(row):
    name = dataclasses.fields(row)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(row, name, "other")


def test_the_facts_of_a_row_are_frozen_and_no_one_else_s_dictionary():
    facts = {"domain": "main"}
    row = dataclasses.replace(FIRST, facts=facts)
    facts["domain"] = "other"
    assert row.facts["domain"] == "main"
    with pytest.raises(TypeError):
        row.facts["domain"] = "other"


# ---- evolve ---------------------------------------------------------------------------------------------------


def test_a_version_is_stated_as_what_changed():
    new = FIRST.evolve(
        2, add_types=["uint8", "float16"], remove_attributes=["axis"], broadcasting="numpy", facts={"old": False}
    )
    assert str(FIRST), str(new) == ("Op-1", "Op-2")
    assert new.types == ("float16", "float32", "uint8")  # in the order of the type table
    assert new.attributes == (FIRST.attributes["mode"],)
    assert (new.broadcasting, dict(new.facts)) == ("numpy", {"domain": "main", "old": False})
    unchanged = {f.name for f in dataclasses.fields(OpVersion)} - {
        "version", "types", "attributes", "broadcasting", "facts",
    }  # fmt: skip
    assert all(getattr(new, name) == getattr(FIRST, name) for name in unchanged)
    assert FIRST.types == ("float32",)


def test_what_is_not_there_cannot_be_removed_and_what_is_no_field_cannot_change():
    with pytest.raises(KeyError) as caught:
        FIRST.evolve(2, remove_attributes=["axis", "nought"])
    assert caught.value.args == ("Op-1 has no attribute ['nought']",)
    with pytest.raises(TypeError, match="unexpected keyword argument 'typo'"):
        FIRST.evolve(2, typo=1)


# ---- diff -----------------------------------------------------------------------------------------------------


def apply(old: OpVersion, changes: list[Change], goal: OpVersion) -> OpVersion:
    """Rebuild a version from an older one and the changes; of the goal only the rows that a change names are read."""
    new = {f.name: getattr(old, f.name) for f in dataclasses.fields(OpVersion)} | {"version": goal.version}
    new["facts"] = dict(old.facts)
    for change in changes:
        name, *path = change.field.split(".", 2)
        if not path and name in ("types", "notes", "attributes", "inputs", "outputs"):
            items = [i for i in new[name] if getattr(i, "name", i) not in change.removed]
            rows = getattr(goal, name) if isinstance(new[name], Rows) else None
            items += [i if rows is None else rows[i] for i in change.added]
            if name == "types":
                items.sort(key=list(TYPES).index)
            elif rows is not None:
                items = [item for row in rows.names for item in items if item.name == row]
            new[name] = tuple(items) if rows is None else Rows(items)
        elif name == "facts":
            (key,) = path
            new["facts"].pop(key, None)
            if change.added:
                new["facts"][key] = change.added[0]
        elif path:
            row_name, part = path
            new[name] = Rows(
                dataclasses.replace(row, **{part: change.added[0]}) if row.name == row_name else row
                for row in new[name]
            )
        else:
            assert change.removed == (new[name],)
            (new[name],) = change.added
    return OpVersion(**new)


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda v: f"{v.dialect}:{v.version}")
def test_a_version_and_the_changes_give_the_other_version(old, new):
    changes = diff(old, new)
    assert apply(old, changes, new) == new
    assert (changes == []) is (old is new)
    assert len({change.field for change in changes}) == len(changes)
    assert mn.diff(old.dialect, old.version, new.version) == changes


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda v: f"{v.dialect}:{v.version}")
def test_the_way_back_lists_the_same_changes_turned_round(old, new):
    there = {(c.field, frozenset(c.added), frozenset(c.removed)) for c in diff(old, new)}
    back = {(c.field, frozenset(c.removed), frozenset(c.added)) for c in diff(new, old)}
    assert there == back


def test_a_change_of_any_kind_is_listed():
    new = dataclasses.replace(
        FIRST,
        version=2,
        attributes=Rows([Attr("mode", "string", "b", values=("a", "b")), Attr("flag", "INT", 0)]),
        inputs=Rows([Param("A", "U", "first"), Param("B", "T")]),
        notes=("two",),
        ranks=(1, 8),
        facts={"domain": "main", "new": 1},
    )
    assert [str(change) for change in diff(FIRST, new)] == [
        "attributes: +flag -axis",
        "attributes.mode.default: +b -a",
        "inputs.A.type: +U -T",
        "ranks: +(1, 8) -(0, None)",
        "notes: +two -one",
        "facts.old: -True",
        "facts.new: +1",
    ]


def test_what_the_page_shows_in_65_kilobytes_a_diff_says_in_a_few_lines():
    assert [str(change) for change in mn.diff("onnx", 13, 14)] == [
        "types: +int8 +int16 +uint8 +uint16",
        "facts.since_version: +14 -13",
        "facts.constrained to: +all numeric tensors -high-precision numeric tensors",
        "facts.data propagation: +True -False",
    ]
    assert str(mn.diff("onnx", 7, 13)[0]) == "types: +bfloat16"
    assert [str(c) for c in mn.diff("onnx", 1, 6)][:2] == [
        "types: +int32 +int64 +uint32 +uint64",
        "attributes: -consumed_inputs",
    ]
    assert [str(c) for c in mn.diff("directml", "2.1", "4.1")] == ["types: +int64 +uint64", "ranks: +(1, 8) -(4, 4)"]


def test_two_numbers_of_one_version_differ_in_nothing():
    assert mn.diff("onnx", 7, 12) == mn.diff("onnx", 14, 9999) == mn.diff("openvino", 1, 1) == []


# ---- looking up -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "version", "message"),
    [
        ("tensorrt", None, "no dialect 'tensorrt'; expected directml, onnx or openvino"),
        ("onnx", 0, "ONNX has no opset 0 with Sub; expected 1 or above (versions: 1, 6, 7, 13 and 14)"),
        ("openvino", 2, "OpenVINO has no operator version 2 with Subtract; expected 1, the only one"),
        (
            "directml",
            "0.9",
            (
                "DirectML has no feature level '0.9'; "
                "expected 1.0, 2.0, 2.1, 3.0, 3.1, 4.0, 4.1, 5.0, 5.1, 5.2, 6.0, 6.1, 6.2, 6.3 or 6.4"
            ),
        ),
    ],
)
def test_what_there_is_not_is_said_with_what_there_is(dialect, version, message):
    with pytest.raises(SpecError) as caught:
        mn.spec(dialect, version)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("dialect", "version", "operator"),
    [
        ("onnx", 10, "Sub-7"),
        ("onnx", "13", "Sub-13"),
        ("onnx", None, "Sub-14"),
        ("openvino", "1", "Subtract-1"),
        ("directml", "DML_FEATURE_LEVEL_4_0", "ELEMENT_WISE_SUBTRACT-3.0"),
        ("directml", "6.4", "ELEMENT_WISE_SUBTRACT-5.1"),
    ],
)
def test_a_number_means_the_version_in_force_at_it(dialect, version, operator):
    assert str(mn.spec(dialect, version)) == operator
