"""Tables are read piece by piece: every error names the place, what came and what was expected."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from minuend.errors import FileFormatError, SpecError
from minuend.schema import (
    Form,
    Item,
    Origin,
    Stated,
    below,
    by_name,
    check,
    element,
    exactly,
    fields,
    many,
    one_of,
    optional,
    parse_json,
    record,
    some_of,
)


@dataclass
class Point:
    x: int
    names: tuple[str, ...]


POINT = record(Point, x=Item.integer, names=many(Item.string))
POINTS = by_name(optional(POINT))


def item(value: object) -> Item:
    return Item(Origin("f"), (), value)


def test_a_record_is_made_of_what_its_forms_make() -> None:
    found = POINTS(item({"a": {"x": 3, "names": ["b", "c"]}, "d": None}))
    assert found == {"a": Point(3, ("b", "c")), "d": None}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "f is 3; expected an object"),
        ({"a b": 3}, 'f["a b"] is 3; expected an object'),
        ({"a": {"x": 3}}, "f.a lacks the key 'names'; expected x and names"),
        ({"a": {"x": 3, "name": []}}, "f.a has the key 'name' (did you mean 'names'?); expected x or names"),
        ({"a": {"x": True, "names": []}}, f"f.a.x is True; expected an integer from 0 to {2**63 - 1}"),
        ({"a": {"x": 3, "names": ["b", 4]}}, "f.a.names[1] is 4; expected a string"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(value: object, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        POINTS(item(value))
    assert str(caught.value) == message


def test_a_header_names_the_last_key_alone() -> None:
    with pytest.raises(FileFormatError) as caught:
        Item(Stated("x.zarr"), (), {"shape": 3})["shape"].sizes("sizes")
    assert str(caught.value) == "x.zarr states the shape 3; expected sizes"


def test_errors_of_what_is_made_of_a_value_get_its_place() -> None:
    def refuse(_: object) -> int:
        raise SpecError("rule", "no")

    with pytest.raises(FileFormatError, match=r"^f no$"):
        item(3).made(refuse, 3)


def test_members_have_defaults_or_are_required() -> None:
    assert item({"a": 3}).read("a", Item.integer, "none") == 3
    assert item({}).read("a", Item.integer, "none") == "none"
    with pytest.raises(FileFormatError, match=r"^f there is no 'a'; it is required$"):
        item({}).need("a")


def test_values_have_types_and_ranges() -> None:
    assert one_of(["a", "b"])(item("b")) == "b"
    assert item(1.5).number("a number", lambda value: value < 2) == 1.5
    for value in (True, "1", 2):
        with pytest.raises(FileFormatError, match=r"; expected a number$"):
            item(value).number("a number", lambda value: value < 2)


def test_keys_of_a_checked_object_are_among_the_known_ones() -> None:
    form = by_name(Item.integer, known=frozenset(("zero", "nan")))
    check({"nan": 3}, form, "f")
    with pytest.raises(FileFormatError) as caught:
        check({"zeros": 3}, form, "f")
    assert str(caught.value) == "f has the key 'zeros' (did you mean 'zero'?); expected nan or zero"


@pytest.mark.parametrize(
    ("form", "value", "message"),
    [
        (exactly(Item.string, Item.integer), ["a"], "f is ['a']; expected a list of 2"),
        (exactly(Item.string, Item.integer), ["a", "b"], "f[1] is 'b'; expected an integer from 0 to "),
        (fields({"a": Item.string, "b?": Item.string}), {"b": "c"}, "f is {'b': 'c'}; expected an object with 'a'"),
        (fields({"a": Item.string, "b?": Item.string}), {"a": "c", "b": 3}, "f.b is 3; expected a string"),
        (some_of(["a", "b"]), ["a", "c"], "f[1] is 'c'; expected one of 'a' or 'b'"),
        (some_of(["a", "b"]), ["a", "a"], "f is ['a', 'a']; expected names that differ"),
        (below(3), 3, "f is 3; expected a whole number from 0 to below 3"),
        (element, "infinity", "f is 'infinity'; expected a number, or one of '-inf', 'inf' or 'nan'"),
        (element, 1 << 66, "; expected a number, or one of '-inf', 'inf' or 'nan'"),
    ],
)
def test_forms_are_made_of_forms(form: Form[object], value: object, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        check(value, form, "f")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"a": [{"b": 1, "c": 2, "b": 1}]}', "f names 'b' twice in its head; expected names that differ"),
        (b"{", "f has a head that is no JSON (Expecting property name"),
        (b"\xff", "f has a head that is no JSON ('utf-8' codec can't decode"),
        ("[" * 100_000, "f has a head that is no JSON (maximum recursion depth"),
    ],
)
def test_json_is_refused_with_a_reason(raw: bytes | str, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse_json(raw, "f", "an object", "head")
    assert str(caught.value).startswith(message)
