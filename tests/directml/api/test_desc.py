"""One tensor's description: sizes in bytes, the way to C and back, and every error in full."""

import ctypes
import dataclasses
import math
import random

import ml_dtypes
import numpy as np
import pytest

import minuend as mn
from minuend.directml import (
    DML_BUFFER_TENSOR_DESC,
    DML_TENSOR_DATA_TYPE,
    DML_TENSOR_DESC,
    DML_TENSOR_FLAGS,
    TensorDesc,
    calc_buffer_tensor_size,
)

BITS = {
    "FLOAT32": 32, "FLOAT16": 16, "UINT32": 32, "UINT16": 16, "UINT8": 8, "INT32": 32, "INT16": 16, "INT8": 8,
    "FLOAT64": 64, "UINT64": 64, "INT64": 64, "UINT4": 4, "INT4": 4,
}  # fmt: skip
NAMES = "FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, FLOAT64, UINT64, INT64, UINT4 or INT4"
TOP = 2**32 - 1


# ---- bytes ----------------------------------------------------------------------------------------------------


def bytes_needed(bits, sizes, strides):
    """From the first element to the last one's end, in whole groups of four bytes; by counting up to them."""
    if strides is None:
        strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    last = sum((n - 1) * stride for n, stride in zip(sizes, strides, strict=True))
    total = 0
    while total * 8 < (last + 1) * bits:
        total += 4
    return total


@pytest.mark.parametrize("name", BITS)
def test_a_tensor_takes_the_bytes_up_to_its_last_element_rounded_up_to_four(name):
    rng = random.Random(name)
    for _ in range(50):
        sizes = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
        strides = rng.choice([None, [rng.randint(0, 20) for _ in sizes]])
        assert calc_buffer_tensor_size(name, sizes, strides) == bytes_needed(BITS[name], sizes, strides)
        assert TensorDesc(name, sizes, strides).total_tensor_size_in_bytes == bytes_needed(BITS[name], sizes, strides)


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        (("FLOAT32", (1, 1, 2, 3)), 24),
        (("FLOAT16", (3,)), 8),
        (("UINT8", (5,)), 8),
        (("UINT8", (4, 4), (0, 0)), 4),
        (("INT8", (2, 2), (100, 1)), 104),
        (("UINT4", (9,)), 8),
        (("INT4", (8,)), 4),
        (("FLOAT32", (1, 3), (TOP, 1)), 12),  # the stride along a size of 1 has no say
        (("INT64", (TOP,)), 34359738360),
        (("UINT8", (TOP,)), 4294967296),
        (("FLOAT32", (65535, 65537)), 17179869180),
        (("INT64", (2,) * 8, (TOP,) * 8), (8 * TOP + 1) * 8),  # above 2**32 elements: 32 bits would wrap
        (("UINT16", (TOP, 1), (TOP, 0)), 36893488121649299464),  # above 2**64 bytes: 64 bits would wrap
    ],
)
def test_sizes_in_bytes_are_exact_integers(arguments, size):
    assert calc_buffer_tensor_size(*arguments) == size


def test_strides_written_out_and_the_extent():
    desc = TensorDesc("INT16", (2, 1, 3))
    assert (desc.strides, desc.element_strides, desc.extent) == (None, (3, 0, 1), 6)
    desc = TensorDesc("INT16", (2, 1, 3), (7, 99, 2))
    assert (desc.strides, desc.element_strides, desc.extent) == ((7, 99, 2), (7, 0, 2), 12)


# ---- what is taken --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BITS)
def test_a_data_type_is_read_in_every_spelling(name):
    value = DML_TENSOR_DATA_TYPE[name]
    for spelling in (name, f"DML_TENSOR_DATA_TYPE_{name}", name.lower(), value, int(value)):
        desc = TensorDesc(spelling, (1,))
        assert desc.data_type is value
        assert desc.element.name == name.lower()
        assert desc.element.bits == BITS[name]


def test_a_numpy_dtype_and_another_dialects_spelling_are_data_types():
    assert TensorDesc(np.dtype("float16"), (1,)).data_type is DML_TENSOR_DATA_TYPE.FLOAT16
    assert TensorDesc(np.int64, (1,)).data_type is DML_TENSOR_DATA_TYPE.INT64
    assert TensorDesc("tensor(float)", (1,)).data_type is DML_TENSOR_DATA_TYPE.FLOAT32


def test_a_description_is_frozen_and_equal_to_one_that_says_the_same():
    desc = TensorDesc("float32", [np.int64(2), 3], np.array([3, 1]))
    assert desc == TensorDesc(1, (2, 3), (3, 1), flags=0, total_tensor_size_in_bytes=24)
    assert hash(desc) == hash(TensorDesc(1, (2, 3), (3, 1)))
    assert desc != TensorDesc(1, (2, 3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        desc.sizes = (1,)


def test_the_total_may_be_larger_and_no_multiple_of_four():
    assert TensorDesc("UINT8", (5,), total_tensor_size_in_bytes=9).total_tensor_size_in_bytes == 9


@pytest.mark.parametrize("alignment", [0, 4, 16, 256, 2**31])
def test_an_alignment_is_nothing_or_a_power_of_two(alignment):
    desc = TensorDesc("FLOAT32", (5,), guaranteed_base_offset_alignment=alignment)
    assert desc.guaranteed_base_offset_alignment == alignment


@pytest.mark.parametrize("name", ["FLOAT32", "INT64", "UINT8", "FLOAT16", "INT4"])
def test_the_largest_tensor_has_2_to_the_32_minus_1_elements(name):
    for sizes in ((TOP,), (65535, 65537), (1,) * 7 + (TOP,)):
        assert TensorDesc(name, sizes).extent == TOP


# ---- to C and back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "desc",
    [
        TensorDesc("FLOAT32", (2, 3)),
        TensorDesc("UINT8", (1, 2, 3, 4, 5, 1, 2, 3), (0, 9, 0, 1, 0, 5, TOP // 99, 2)),
        TensorDesc(
            "INT64",
            (4,),
            (2,),
            flags=DML_TENSOR_FLAGS.OWNED_BY_DML,
            total_tensor_size_in_bytes=1001,
            guaranteed_base_offset_alignment=64,
        ),
    ],
)
def test_a_description_goes_to_c_and_comes_back(desc):
    made = desc.to_ctypes()
    assert TensorDesc.from_ctypes(made) == desc
    buffer = DML_BUFFER_TENSOR_DESC.from_address(made.Desc)
    assert (made.Type, buffer.DataType, buffer.DimensionCount) == (1, desc.data_type, len(desc.sizes))
    assert tuple(buffer.Sizes[: len(desc.sizes)]) == desc.sizes
    assert bool(buffer.Strides) == (desc.strides is not None)
    assert buffer.TotalTensorSizeInBytes == desc.total_tensor_size_in_bytes


def c_desc(**changes):
    """A C description of two INT32, with some fields changed, and what keeps it alive."""
    sizes = (ctypes.c_uint32 * 2)(1, 2)
    fields = {"DataType": 6, "DimensionCount": 2, "Sizes": sizes, "TotalTensorSizeInBytes": 8} | changes
    buffer = DML_BUFFER_TENSOR_DESC(**fields)
    desc = DML_TENSOR_DESC(1, ctypes.addressof(buffer))
    desc.keepalive = (buffer, sizes)
    return desc


def test_a_c_description_is_read():
    assert TensorDesc.from_ctypes(c_desc()) == TensorDesc("INT32", (1, 2))


BAD_C = [
    (DML_TENSOR_DESC(0, None), "Type is 0; expected 1 (BUFFER)"),
    (DML_TENSOR_DESC(1, None), "Desc is null; expected a DML_BUFFER_TENSOR_DESC"),
    (c_desc(Sizes=None), "Sizes is null; expected 2 sizes"),
    (c_desc(DimensionCount=TOP), f"DimensionCount is {TOP}; expected 1 to 8 (a scalar is (1,))"),
    (c_desc(DataType=-1), f"DataType is -1, which stands for no element type; expected {NAMES}"),
    (c_desc(Flags=4), "Flags is 4; expected 0 or 1 (OWNED_BY_DML)"),
    (
        c_desc(TotalTensorSizeInBytes=0),
        "TotalTensorSizeInBytes is 0; expected at least 8, what these Sizes and Strides reach to",
    ),
]


@pytest.mark.parametrize(("desc", "message"), BAD_C)
def test_a_c_description_that_is_wrong_is_an_error(desc, message):
    with pytest.raises(mn.SpecError) as caught:
        TensorDesc.from_ctypes(desc)
    assert str(caught.value) == message


# ---- errors ---------------------------------------------------------------------------------------------------

NO_TYPE = "it stands for no type; a tensor has to say what its elements are"
BAD_TYPES = [
    (0, f"DataType: element type 'UNKNOWN': {NO_TYPE}; expected {NAMES}"),
    (DML_TENSOR_DATA_TYPE.UNKNOWN, f"DataType: element type 'UNKNOWN': {NO_TYPE}; expected {NAMES}"),
    ("DML_TENSOR_DATA_TYPE_UNKNOWN",
     f"DataType: element type 'DML_TENSOR_DATA_TYPE_UNKNOWN': {NO_TYPE}; expected {NAMES}"),
    (14, f"DataType is 14, which stands for no element type; expected {NAMES}"),
    ("bfloat16", f"DataType: DirectML has no element type bfloat16; expected {NAMES}"),
    (np.dtype(ml_dtypes.float8_e5m2), f"DataType: DirectML has no element type float8_e5m2; expected {NAMES}"),
    ("FLOAT31", f"DataType: element type 'FLOAT31' is not one that subtraction is defined for; expected {NAMES}"),
    (np.dtype("datetime64[s]"),
     f"DataType: element type 'datetime64[s]' is not one that subtraction is defined for; expected {NAMES}"),
    (True, f"DataType: element type 'True' is not one that subtraction is defined for; expected {NAMES}"),
    (None, f"DataType: element type 'None' is not one that subtraction is defined for; expected {NAMES}"),
]  # fmt: skip


@pytest.mark.parametrize(("data_type", "message"), BAD_TYPES)
def test_a_data_type_that_directml_lacks_is_an_error(data_type, message):
    for make in (TensorDesc, calc_buffer_tensor_size):
        with pytest.raises(mn.DTypeError) as caught:
            make(data_type, (1,))
        assert str(caught.value) == message
        assert caught.value.rule == "types"


BAD_SHAPES = [
    ((), None, "DimensionCount is 0; expected 1 to 8 (a scalar is (1,))"),
    ((1,) * 9, None, "DimensionCount is 9; expected 1 to 8 (a scalar is (1,))"),
    ((2, 3, 0), None, "Sizes[2] is 0; DirectML has no empty tensors, leave the operator out"),
    ((2, -1), None, "Sizes[1] is -1; expected 1 to 4294967295"),
    ((2**32,), None, "Sizes[0] is 4294967296; expected 1 to 4294967295"),
    ((65536, 65536), None, "a tensor of Sizes (65536, 65536) has 4294967296 elements; expected at most 4294967295"),
    ((TOP, TOP), (0, 0),
     "a tensor of Sizes (4294967295, 4294967295) has 18446744065119617025 elements; expected at most 4294967295"),
    ("12", None, "Sizes is '12'; expected a sequence of integers"),
    (3, None, "Sizes is 3; expected a sequence of integers"),
    ((2, 3), (1,), "Strides has 1 entries and Sizes 2; expected one each"),
    ((2, 3), (), "Strides has 0 entries and Sizes 2; expected one each"),
    ((2, 3), (-3, 1), "Strides[0] is -3; expected 0 to 4294967295 elements"),
    ((2, 3), (1, 2**32), "Strides[1] is 4294967296; expected 0 to 4294967295 elements"),
    ((2, 3), 1, "Strides is 1; expected a sequence of integers"),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "strides", "message"), BAD_SHAPES)
def test_sizes_and_strides_that_no_tensor_has_are_an_error(sizes, strides, message):
    for make in (TensorDesc, calc_buffer_tensor_size):
        with pytest.raises(mn.ShapeError) as caught:
            make("FLOAT32", sizes, strides)
        assert str(caught.value) == message


BAD_FIELDS = [
    ({"sizes": (2.0,)}, "integers", "Sizes[0] is 2.0; expected an integer"),
    ({"sizes": (True,)}, "integers", "Sizes[0] is True; expected an integer"),
    ({"sizes": ("N",)}, "integers", "Sizes[0] is 'N'; expected an integer"),
    ({"strides": (None,)}, "integers", "Strides[0] is None; expected an integer"),
    ({"flags": 2}, "flags", "Flags is 2; expected 0 or 1 (OWNED_BY_DML)"),
    ({"flags": -1}, "flags", "Flags is -1; expected 0 or 1 (OWNED_BY_DML)"),
    ({"flags": "OWNED_BY_DML"}, "integers", "Flags is 'OWNED_BY_DML'; expected an integer"),
    ({"total_tensor_size_in_bytes": 19}, "total size",
     "TotalTensorSizeInBytes is 19; expected at least 20, what these Sizes and Strides reach to"),
    ({"total_tensor_size_in_bytes": 20.0}, "integers", "TotalTensorSizeInBytes is 20.0; expected an integer"),
    ({"total_tensor_size_in_bytes": 2**34}, "total size",
     ("TotalTensorSizeInBytes is 17179869184, which is 4294967296 elements of FLOAT32; "
      "expected at most 4294967295 elements")),
    ({"sizes": (3,), "strides": (2**31,)}, "total size",
     ("TotalTensorSizeInBytes is 17179869188, which is 4294967297 elements of FLOAT32; "
      "expected at most 4294967295 elements")),
    ({"data_type": "UINT8", "total_tensor_size_in_bytes": 2**32}, "total size",
     ("TotalTensorSizeInBytes is 4294967296, which is 4294967296 elements of UINT8; "
      "expected at most 4294967295 elements")),
    ({"guaranteed_base_offset_alignment": 2}, "alignment",
     "GuaranteedBaseOffsetAlignment is 2; expected 0 or a power of two from 4 (the size of FLOAT32) to 2147483648"),
    ({"guaranteed_base_offset_alignment": 24}, "alignment",
     "GuaranteedBaseOffsetAlignment is 24; expected 0 or a power of two from 4 (the size of FLOAT32) to 2147483648"),
    ({"data_type": "INT64", "guaranteed_base_offset_alignment": 2**32}, "alignment",
     ("GuaranteedBaseOffsetAlignment is 4294967296; "
      "expected 0 or a power of two from 8 (the size of INT64) to 2147483648")),
    ({"guaranteed_base_offset_alignment": -4}, "alignment",
     "GuaranteedBaseOffsetAlignment is -4; expected 0 or a power of two from 4 (the size of FLOAT32) to 2147483648"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "rule", "message"), BAD_FIELDS)
def test_a_field_that_is_wrong_is_an_error_that_names_it(changes, rule, message):
    with pytest.raises(mn.SpecError) as caught:
        TensorDesc(**({"data_type": "FLOAT32", "sizes": (5,)} | changes))
    assert str(caught.value) == message
    assert caught.value.rule == rule


def test_the_total_of_the_largest_tensor_is_taken_to_the_byte():
    most = TOP * 4
    assert TensorDesc("FLOAT32", (1,), total_tensor_size_in_bytes=most + 3).total_tensor_size_in_bytes == most + 3
    with pytest.raises(mn.SpecError):
        TensorDesc("FLOAT32", (1,), total_tensor_size_in_bytes=most + 4)
