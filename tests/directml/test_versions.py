"""The feature-level rows: types, ranks, facts; how levels are read; the rule for two shapes."""

import itertools

import pytest

import minuend as mn
from minuend.directml.api.enums import DML_FEATURE_LEVEL
from minuend.directml.versions import DIALECT, LEVELS, number

FLOATS = {"float32", "float16"}
ROWS = {  # level: dimension counts, data types
    "1.0": ((4, 4), FLOATS),
    "2.1": ((4, 4), FLOATS | {"int32", "uint32"}),
    "3.0": ((1, 8), FLOATS | {"int32", "uint32"}),
    "4.1": ((1, 8), FLOATS | {"int64", "int32", "uint64", "uint32"}),
    "5.1": ((1, 8), FLOATS | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}),
}
EFFECTIVE = {
    **dict.fromkeys(("1.0", "2.0"), "1.0"),
    "2.1": "2.1",
    **dict.fromkeys(("3.0", "3.1", "4.0"), "3.0"),
    **dict.fromkeys(("4.1", "5.0"), "4.1"),
    **dict.fromkeys(("5.1", "5.2", "6.0", "6.1", "6.2", "6.3", "6.4"), "5.1"),
}
ALL_LEVELS = "1.0, 2.0, 2.1, 3.0, 3.1, 4.0, 4.1, 5.0, 5.1, 5.2, 6.0, 6.1, 6.2, 6.3 or 6.4"


def test_there_is_one_row_for_each_level_that_changed_something():
    assert [row.version for row in DIALECT.versions()] == list(ROWS)


@pytest.mark.parametrize("level", ROWS)
def test_a_row_lists_the_ranks_and_types_of_its_level(level):
    row = mn.spec("directml", level)
    assert (row.ranks, set(row.types)) == ROWS[level]
    assert len(row.types) == len(set(row.types))


def test_there_are_fifteen_levels():
    assert list(LEVELS) == list(EFFECTIVE)
    assert len(LEVELS) == 15


@pytest.mark.parametrize("level", EFFECTIVE)
def test_every_level_has_the_highest_row_that_is_not_above_it(level):
    assert mn.spec("directml", level).version == EFFECTIVE[level]


@pytest.mark.parametrize("level", EFFECTIVE)
def test_a_level_is_read_in_each_of_its_spellings(level):
    under = level.replace(".", "_")
    value = DML_FEATURE_LEVEL[f"LEVEL_{under}"]
    spellings = (level, under, f"DML_FEATURE_LEVEL_{under}", float(level), int(value), value)
    assert {number(spelling) for spelling in spellings} == {int(value)}


def test_levels_sort_by_age():
    numbers = [number(level) for level in LEVELS]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("level", ["2.2", "7.0", "0.9", "5", 5, 6.5, True, 0x4200, "1.0.0", "", b"5.1", "latest"])
def test_a_level_that_does_not_exist_is_an_error_that_lists_those_that_do(level):
    with pytest.raises(mn.SpecError) as caught:
        mn.spec("directml", level)
    assert str(caught.value) == f"DirectML has no feature level {level!r}; expected {ALL_LEVELS}"
    assert caught.value.rule == "version"


def test_no_level_means_the_newest():
    assert mn.spec("directml").version == "5.1"


def test_every_row_states_what_holds_at_all_levels():
    for row in DIALECT.versions():
        assert (row.dialect, row.operator) == ("directml", "ELEMENT_WISE_SUBTRACT")
        assert row.inputs.names == ("ATensor", "BTensor")
        assert row.outputs.names == ("OutputTensor",)
        assert {param.type for param in (*row.inputs, *row.outputs)} == {"const DML_TENSOR_DESC*"}
        assert not row.attributes
        assert (row.broadcasting, row.inference) == ("none", "broadcast shape")
        assert row.facts["name"] == "DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC"
        assert row.facts["header"] == "directml.h"
        assert row.facts["introduced in"] == "DML_FEATURE_LEVEL_1_0"
        assert row.facts["function"] == "f(a, b) = a - b"
        assert row.facts["in-place execution"] is True
        assert row.facts["same in all tensors"] == ("DataType", "DimensionCount", "Sizes")


def test_a_diff_says_what_changed_and_no_more():
    steps = {
        (old, new): [str(change) for change in mn.diff("directml", old, new)]
        for old, new in itertools.pairwise(["1.0", "2.0", "2.1", "3.0", "4.1", "5.1", "6.4"])
    }
    assert steps == {
        ("1.0", "2.0"): [],
        ("2.0", "2.1"): ["types: +int32 +uint32"],
        ("2.1", "3.0"): ["ranks: +(1, 8) -(4, 4)"],
        ("3.0", "4.1"): ["types: +int64 +uint64"],
        ("4.1", "5.1"): ["types: +int8 +int16 +uint8 +uint16"],
        ("5.1", "6.4"): [],
    }


def test_types_are_shown_in_short_and_read_in_both_spellings():
    assert DIALECT.spell("float32") == "FLOAT32"
    for spelling in ("FLOAT16", "DML_TENSOR_DATA_TYPE_FLOAT16"):
        assert mn.TensorType(spelling).dtype == "float16"


@pytest.mark.parametrize("name", ["UNKNOWN", "DML_TENSOR_DATA_TYPE_UNKNOWN"])
def test_unknown_is_no_type(name):
    with pytest.raises(mn.DTypeError) as caught:
        mn.TensorType(name)
    expected = f"element type {name!r}: it stands for no type; a tensor has to say what its elements are; expected "
    assert str(caught.value).startswith(expected)


# ---- inference ------------------------------------------------------------------------------------------------


def _infer(level, a, b, dtype="float32"):
    return mn.infer("directml", level, mn.TensorType(dtype, a), mn.TensorType(dtype, b))


def test_equal_sizes_are_the_result():
    result = _infer("6.4", (2, 3), (2, 3))
    assert (result.dtype, result.shape, result.assumptions) == ("float32", (2, 3), ())


BAD_SHAPES = [
    (None, (2,), "the sizes of ATensor are unknown; DirectML fixes them beforehand"),
    ((2,), None, "the sizes of BTensor are unknown; DirectML fixes them beforehand"),
    ((2, "N"), (2, 3), "Sizes[1] of ATensor is N; DirectML fixes sizes beforehand, give a number"),
    ((2, 3), (None, 3), "Sizes[0] of BTensor is ?; DirectML fixes sizes beforehand, give a number"),
    (((1, 4),), (2,), "Sizes[0] of ATensor is 1..4; DirectML fixes sizes beforehand, give a number"),
    ((2, 0), (2, 0), "Sizes[1] of ATensor is 0; DirectML has no empty tensors, leave the operator out"),
    ((2**32,), (2**32,), "Sizes[0] of ATensor is 4294967296; expected 1 to 4294967295"),
    ((65536, 65536), (1, 1), "ATensor has 4294967296 elements; expected at most 4294967295"),
    ((2, 3), (1, 3), "shapes (2, 3) and (1, 3) must be equal (no broadcasting): axis 0 has 2 and 1"),
    ((2, 3), (3,), "shapes (2, 3) and (3,) must be equal (no broadcasting): the ranks are 2 and 1"),
    ((), (), "ATensor of ELEMENT_WISE_SUBTRACT-5.1 has rank 0; expected 1 to 8"),
    ((1,) * 9, (1,) * 9, "ATensor of ELEMENT_WISE_SUBTRACT-5.1 has rank 9; expected 1 to 8"),
]


@pytest.mark.parametrize(("a", "b", "message"), BAD_SHAPES)
def test_shapes_that_directml_does_not_join_are_an_error(a, b, message):
    with pytest.raises(mn.ShapeError) as caught:
        _infer("5.1", a, b)
    assert str(caught.value) == message


def test_below_level_3_0_the_rank_is_4():
    assert _infer("2.1", (1, 1, 2, 3), (1, 1, 2, 3)).shape == (1, 1, 2, 3)
    with pytest.raises(mn.ShapeError) as caught:
        _infer("2.1", (2, 3), (2, 3))
    assert str(caught.value) == "ATensor of ELEMENT_WISE_SUBTRACT-2.1 has rank 2; expected 4"


def test_a_type_that_comes_later_is_an_error_that_says_when():
    with pytest.raises(mn.DTypeError) as caught:
        _infer("4.0", (2,), (2,), "int8")
    assert str(caught.value) == (
        "ELEMENT_WISE_SUBTRACT-3.0 takes no element type INT8 (it came with feature level 5.1); "
        "expected FLOAT16, FLOAT32, INT32 or UINT32"
    )


def test_there_are_no_attributes():
    a = mn.TensorType("float32", (2,))
    with pytest.raises(mn.SpecError) as caught:
        mn.infer("directml", "5.1", a, a, axis=0)
    assert str(caught.value) == "ELEMENT_WISE_SUBTRACT-5.1 takes no attribute 'axis'; it takes none"
