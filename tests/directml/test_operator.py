"""The operator on plain buffers: against a loop over ``struct``, and every rule's error in full."""

import array
import itertools
import math
import mmap
import random
import struct
import time

import ml_dtypes
import numpy as np
import pytest

import minuend as mn
from minuend.directml import DML_FEATURE_LEVEL, DML_TENSOR_FLAGS, TensorDesc, element_wise_subtract
from minuend.directml.versions import DIALECT

CODES = {
    "FLOAT32": "f", "FLOAT16": "e", "INT8": "b", "INT16": "h", "INT32": "i", "INT64": "q",
    "UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q",
}  # fmt: skip
TYPES = sorted(CODES)
OWNED = DML_TENSOR_FLAGS.OWNED_BY_DML


# ---- the oracle -----------------------------------------------------------------------------------------------


def difference(name, x, y):
    """One element's difference: integers modulo 2**n, floats rounded once by ``struct``."""
    code = f"<{CODES[name]}"
    if name.startswith("FLOAT"):
        try:
            return struct.pack(code, x - y)  # double precision is exact, or wide enough for one more rounding
        except OverflowError:
            return struct.pack(code, math.copysign(math.inf, x - y))
    bits = 8 * struct.calcsize(code)
    wrapped = (x - y) % 2**bits
    return struct.pack(code, wrapped - 2**bits if name.startswith("I") and wrapped >= 2 ** (bits - 1) else wrapped)


def expected(descs, a, b, output):
    """The output buffer after the operator: element by element, each byte between them as it was."""
    name, sizes = descs[0].data_type.name, descs[0].sizes
    code, size = f"<{CODES[name]}", struct.calcsize(CODES[name])
    strides = [desc.strides or [math.prod(desc.sizes[i + 1 :]) for i in range(len(desc.sizes))] for desc in descs]
    result, a, b = bytearray(output), bytes(a), bytes(b)
    for index in itertools.product(*map(range, sizes)):
        at = [size * sum(i * s for i, s in zip(index, steps, strict=True)) for steps in strides]
        x, y = struct.unpack_from(code, a, at[0])[0], struct.unpack_from(code, b, at[1])[0]
        result[at[2] : at[2] + size] = difference(name, x, y)
    return result


def buffer_for(rng, desc):
    """Random bytes of a tensor's total, without NaN."""
    data = bytearray(rng.randbytes(desc.total_tensor_size_in_bytes))
    kind = {"FLOAT32": np.float32, "FLOAT16": np.float16}.get(desc.data_type.name)
    if kind:
        values = np.frombuffer(data, kind, len(data) // np.dtype(kind).itemsize)
        values[~np.isfinite(values)] = rng.choice([0.0, -0.0, 1.5, -2.0])
    return data


def run(descs, a, b, output, level="6.4"):
    assert element_wise_subtract(*descs, a, b, output, feature_level=level) is None


PACKED = None
LAYOUTS = {  # sizes, then the strides of A, B and the output
    "packed": ((2, 3, 4, 5), PACKED, PACKED, PACKED),
    "one element": ((1,), PACKED, PACKED, PACKED),
    "a vector": ((67,), PACKED, PACKED, PACKED),
    "packed and written out": ((3, 5), (5, 1), PACKED, (5, 1)),
    "B repeats along the rows": ((4, 6), PACKED, (0, 1), PACKED),
    "B repeats along the columns": ((4, 6), PACKED, (1, 0), PACKED),
    "B is one element": ((4, 6), PACKED, (0, 0), PACKED),
    "A and B are one element": ((4, 6), (0, 0), (0, 0), PACKED),
    "A and B repeat crosswise": ((4, 6), (1, 0), (0, 1), PACKED),
    "padded rows": ((3, 5), (8, 1), (5, 1), (7, 1)),
    "padded elements": ((3, 5), (20, 3), (30, 6), (11, 2)),
    "columns first": ((3, 5), (1, 3), PACKED, (1, 3)),
    "channels last": ((2, 3, 4, 5), (60, 1, 15, 3), PACKED, (60, 1, 15, 3)),
    "all permuted": ((2, 3, 4), (1, 2, 6), (12, 1, 3), (4, 8, 1)),
    "overlapping input": ((4, 5), (1, 1), (2, 3), PACKED),
    "woven output": ((4, 5), PACKED, PACKED, (5, 4)),
    "eight dims": ((2, 1, 3, 1, 2, 2, 1, 3), PACKED, (0, 9, 1, 0, 0, 3, 7, 0), PACKED),
    "eight dims, reversed": ((2, 2, 2, 2, 2, 2, 2, 2), PACKED, tuple(2**i for i in range(8)), PACKED),
    "any stride along a size of 1": ((1, 4, 1), (2**32 - 1, 1, 77), (0, 1, 2**31), (5, 1, 2**32 - 1)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", TYPES)
def test_every_type_in_every_layout_gives_what_a_plain_loop_gives(name, layout):
    rng = random.Random(f"{name} {layout}")
    sizes, *strides = LAYOUTS[layout]
    descs = [TensorDesc(name, sizes, step) for step in strides]
    a, b, output = (buffer_for(rng, desc) for desc in descs)
    goal = expected(descs, a, b, output)
    inputs = bytes(a), bytes(b)
    run(descs, a, b, output)
    assert output == goal
    assert (a, b) == inputs


@pytest.mark.parametrize("name", TYPES)
def test_random_layouts_give_what_a_plain_loop_gives(name):
    rng = random.Random(name)
    for _ in range(40):
        sizes = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 5)))
        strides = [tuple(rng.randint(0, 9) for _ in sizes) for _ in range(2)]
        order, step = rng.sample(range(len(sizes)), len(sizes)), rng.randint(1, 3)
        out = [0] * len(sizes)
        for axis in order:  # a permutation with gaps
            out[axis], step = step, step * sizes[axis] + rng.randint(0, 2)
        descs = [
            TensorDesc(name, sizes, strides[0]),
            TensorDesc(name, sizes, strides[1]),
            TensorDesc(name, sizes, out),
        ]
        a, b, output = (buffer_for(rng, desc) for desc in descs)
        goal = expected(descs, a, b, output)
        run(descs, a, b, output)
        assert output == goal


def test_the_oracle_would_see_a_wrong_element():
    desc = TensorDesc("INT8", (4,))
    descs = (desc, desc, desc)
    assert expected(descs, b"\x80\x01\x02\x03", b"\x01\x01\x01\x01", b"....") == b"\x7f\x00\x01\x02"
    assert difference("UINT8", 0, 1) == b"\xff"
    assert difference("FLOAT16", 65504.0, -65504.0) == struct.pack("<e", math.inf)


def test_integers_wrap_and_floats_keep_nan_infinity_and_the_zeros():
    for name, low, high in (("INT64", -(2**63), 2**63 - 1), ("INT16", -(2**15), 2**15 - 1), ("UINT32", 0, 2**32 - 1)):
        desc, output = TensorDesc(name, (1,)), bytearray(8)
        code = CODES[name]
        a, b = (struct.pack(f"<{code}", value).ljust(8, b"\0") for value in (low, 1))
        run((desc, desc, desc), a, b, output)
        assert struct.unpack_from(f"<{code}", output) == (high,)
    nan, inf = math.nan, math.inf
    cases = [(inf, inf, nan), (inf, 1.0, inf), (nan, 1.0, nan), (-0.0, 0.0, -0.0), (1.0, 1.0, 0.0), (-inf, inf, -inf)]
    for name, code in (("FLOAT32", "f"), ("FLOAT16", "e")):
        desc = TensorDesc(name, (6,))
        a, b = (struct.pack(f"<6{code}", *(case[i] for case in cases)).ljust(24, b"\0") for i in (0, 1))
        output = bytearray(24)
        run((desc, desc, desc), a, b, output)
        assert list(map(str, struct.unpack_from(f"<6{code}", output))) == [str(case[2]) for case in cases]


def test_a_buffer_may_be_longer_than_its_tensor_and_keeps_its_rest():
    desc = TensorDesc("UINT16", (3,), total_tensor_size_in_bytes=11)
    a, b = np.arange(8, dtype=np.uint16), np.ones(8, np.uint16)
    output = bytearray(b"\xee" * 16)
    run((desc, desc, desc), a, b, output)
    assert output == struct.pack("<3H", 65535, 0, 1) + b"\xee" * 10


def test_a_large_tensor_in_place():
    n = 1_000_003
    a, b = np.arange(n, dtype=np.int32), np.full(1, 7, np.int32)
    goal = a.copy() - 7
    run((TensorDesc("INT32", (n,)), TensorDesc("INT32", (n,), (0,)), TensorDesc("INT32", (n,))), a, b, a)
    assert np.array_equal(a, goal)


# ---- buffers of every kind ------------------------------------------------------------------------------------

FOUR = struct.pack("<4i", 5, -6, 7, 2**31 - 1)
ONES = struct.pack("<4i", 1, 1, 1, -1)
GOAL = struct.pack("<4i", 4, -7, 6, -(2**31))


def mapped(data):
    memory = mmap.mmap(-1, len(data))
    memory[:] = data
    return memory


READABLE = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "a memoryview of floats": lambda data: memoryview(data).cast("f"),
    "a memoryview of two dims": lambda data: memoryview(data).cast("h", (4, 2)),
    "array.array": lambda data: array.array("i", data),
    "mmap": mapped,
    "a NumPy array of its type": lambda data: np.frombuffer(data, np.int32),
    "a NumPy array of another type": lambda data: np.frombuffer(data, np.float64),
    "a NumPy array of two dims": lambda data: np.frombuffer(data, np.int16).reshape(2, 4),
    "a NumPy array of bfloat16": lambda data: np.frombuffer(data, ml_dtypes.bfloat16),
    "a NumPy array of records": lambda data: np.frombuffer(data, np.dtype([("x", "<i4"), ("y", "<f4")])),
    "a NumPy array of no dims": lambda data: np.frombuffer(data, np.complex128).reshape(()),
    "unaligned memory": lambda data: np.frombuffer(b"." + data, np.uint8)[1:],
}


@pytest.mark.parametrize("kind", READABLE)
def test_an_input_is_any_contiguous_buffer(kind):
    desc, output = TensorDesc("INT32", (4,)), bytearray(16)
    run((desc, desc, desc), READABLE[kind](FOUR), READABLE[kind](ONES), output)
    assert output == GOAL


WRITABLE = {
    "bytearray": bytearray,
    "memoryview": lambda data: memoryview(bytearray(data)),
    "array.array": lambda data: array.array("i", data),
    "mmap": mapped,
    "a NumPy array of another type": lambda data: np.frombuffer(data, np.complex128).copy(),
    "unaligned memory": lambda data: np.frombuffer(bytearray(b"." + data), np.uint8)[1:],
}


@pytest.mark.parametrize("kind", WRITABLE)
def test_an_output_is_any_contiguous_buffer_that_can_be_written(kind):
    desc, output = TensorDesc("INT32", (4,)), WRITABLE[kind](bytes(16))
    run((desc, desc, desc), FOUR, ONES, output)
    assert bytes(output) == GOAL


# ---- in place -------------------------------------------------------------------------------------------------

IN_PLACE = {
    "packed": ((3, 5), PACKED),
    "padded": ((3, 5), (8, 1)),
    "columns first": ((3, 5), (1, 3)),
    "with gaps": ((2, 3, 4), (30, 2, 7)),
    "woven": ((4, 5), (5, 4)),
}


@pytest.mark.parametrize("which", ["A", "B", "both"])
@pytest.mark.parametrize("layout", IN_PLACE)
@pytest.mark.parametrize("name", TYPES)
def test_the_output_may_be_exactly_an_input_or_both(name, layout, which):
    rng = random.Random(f"{name} {layout} {which}")
    sizes, strides = IN_PLACE[layout]
    desc, other = TensorDesc(name, sizes, strides), TensorDesc(name, sizes)
    shared, apart = buffer_for(rng, desc), buffer_for(rng, other)
    descs, inputs = {
        "A": ((desc, other, desc), (shared, apart)),
        "B": ((other, desc, desc), (apart, shared)),
        "both": ((desc, desc, desc), (shared, shared)),
    }[which]
    goal = expected(descs, *inputs, shared)
    run(descs, *inputs, shared)
    assert shared == goal


def test_in_place_strides_are_compared_where_they_have_a_say():
    a = np.arange(6, dtype=np.uint8)
    memory = np.concatenate([a, a[:2]])
    one, other = TensorDesc("UINT8", (2, 1, 3)), TensorDesc("UINT8", (2, 1, 3), (3, 17, 1))
    run((one, TensorDesc("UINT8", (2, 1, 3), (0, 0, 0)), other), memory, bytes([1, 0, 0, 0]), memory)
    assert memory.tolist() == [255, 0, 1, 2, 3, 4, 0, 1]


def test_inputs_may_overlap_each_other():
    memory, output = np.arange(8, dtype=np.int32), bytearray(24)
    desc = TensorDesc("INT32", (6,))
    run((desc, desc, desc), memory[2:], memory[1:7], output)
    assert output == struct.pack("<6i", *[1] * 6)


def test_ranges_side_by_side_do_not_overlap():
    memory = np.array([9, 8, 7, 1, 2, 3, 0, 0, 0], np.int32)
    desc = TensorDesc("INT32", (3,))
    run((desc, desc, desc), memory[6:], memory[:3], memory[3:6])
    assert memory.tolist() == [9, 8, 7, -9, -8, -7, 0, 0, 0]


# ---- feature levels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [level.name.removeprefix("LEVEL_").replace("_", ".") for level in DML_FEATURE_LEVEL])
@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_taken_from_its_level_on(name, level):
    since = {"FLOAT": 1.0, "32": 2.1, "64": 4.1, "16": 5.1, "8": 5.1}
    first = next(value for part, value in since.items() if part in name)
    desc, output = TensorDesc(name, (1, 1, 1, 1)), bytearray(8)
    if float(level) >= first:
        run((desc, desc, desc), bytes(8), bytes(8), output, level)
        return
    with pytest.raises(mn.DTypeError) as caught:
        run((desc, desc, desc), bytes(8), bytes(8), output, level)
    row = mn.spec("directml", level)
    allowed = [DIALECT.spell(t) for t in row.types]
    assert str(caught.value) == (
        f"ELEMENT_WISE_SUBTRACT-{row.version} takes no element type {name} (it came with feature level {first}); "
        f"expected {', '.join(allowed[:-1])} or {allowed[-1]}, at ATensor.DataType"
    )


@pytest.mark.parametrize("name", ["FLOAT64", "UINT4", "INT4"])
def test_no_level_takes_a_type_that_no_row_lists(name):
    desc = TensorDesc(name, (1,))
    with pytest.raises(mn.DTypeError) as caught:
        run((desc, desc, desc), bytes(8), bytes(8), bytearray(8))
    assert str(caught.value) == (
        f"ELEMENT_WISE_SUBTRACT-5.1 takes no element type {name}; expected FLOAT16, FLOAT32, INT8, INT16, INT32, "
        "INT64, UINT8, UINT16, UINT32 or UINT64, at ATensor.DataType"
    )


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank_is_taken_from_level_3_0_on_and_4_alone_below(rank):
    desc, output = TensorDesc("FLOAT32", (1,) * rank), bytearray(4)
    two = struct.pack("<f", 2.0)
    run((desc, desc, desc), two, struct.pack("<f", 0.5), output, "3.0")
    assert struct.unpack("<f", output) == (1.5,)
    if rank == 4:
        run((desc, desc, desc), two, two, output, DML_FEATURE_LEVEL.LEVEL_1_0)
        assert output == bytes(4)
        return
    hint = "put 1s before the sizes" if rank < 4 else "more come with feature level 3.0"
    with pytest.raises(mn.ShapeError) as caught:
        run((desc, desc, desc), two, two, output, 2.1)
    assert str(caught.value) == (
        f"DimensionCount is {rank}; ELEMENT_WISE_SUBTRACT-2.1 takes 4, {hint}, at ATensor.DimensionCount"
    )


def test_a_level_that_does_not_exist_is_an_error():
    desc = TensorDesc("INT8", (4,))
    with pytest.raises(mn.SpecError) as caught:
        run((desc, desc, desc), bytes(4), bytes(4), bytearray(4), "5.3")
    assert str(caught.value) == (
        "DirectML has no feature level '5.3'; "
        "expected 1.0, 2.0, 2.1, 3.0, 3.1, 4.0, 4.1, 5.0, 5.1, 5.2, 6.0, 6.1, 6.2, 6.3 or 6.4"
    )


# ---- the rules of three descriptions --------------------------------------------------------------------------

F23 = TensorDesc("FLOAT32", (2, 3))
NO_BROADCAST = "a size of 1 does not broadcast, give the full size and a stride of 0"
BAD_DESCS = {
    "B of another type": ((F23, TensorDesc("FLOAT16", (2, 3)), F23), mn.DTypeError, "types",
         "DataType is FLOAT16 and ATensor's is FLOAT32; expected one DataType in all three, at BTensor.DataType"),
    "an output of another type": ((F23, F23, TensorDesc("INT32", (2, 3))), mn.DTypeError, "types",
         "DataType is INT32 and ATensor's is FLOAT32; expected one DataType in all three, at OutputTensor.DataType"),
    "B of another rank": ((F23, TensorDesc("FLOAT32", (3,)), F23), mn.ShapeError, "ranks",
         "DimensionCount is 1 and ATensor's is 2; expected one DimensionCount in all three, at BTensor.DimensionCount"),
    "an output of another rank": ((F23, F23, TensorDesc("FLOAT32", (1, 2, 3))), mn.ShapeError, "ranks",
         ("DimensionCount is 3 and ATensor's is 2; expected one DimensionCount in all three, "
          "at OutputTensor.DimensionCount")),
    "B of size 1": (
        (F23, TensorDesc("FLOAT32", (1, 3)), F23),
        mn.ShapeError,
        "sizes",
        f"Sizes is (1, 3) and ATensor's is (2, 3); expected one Sizes in all three ({NO_BROADCAST}), at BTensor.Sizes",
    ),
    "a larger output": ((F23, F23, TensorDesc("FLOAT32", (2, 4))), mn.ShapeError, "sizes",
         (f"Sizes is (2, 4) and ATensor's is (2, 3); expected one Sizes in all three ({NO_BROADCAST}), "
          "at OutputTensor.Sizes")),
    "an output owned by DirectML": ((F23, F23, TensorDesc("FLOAT32", (2, 3), flags=OWNED)), mn.SpecError, "flags",
         "Flags is OWNED_BY_DML, which is for inputs alone; expected 0, at OutputTensor.Flags"),
    "an output that repeats": ((F23, F23, TensorDesc("FLOAT32", (2, 3), (0, 1))), mn.ShapeError, "strides",
         ("Strides[0] = 0 (of Sizes[0] = 2) lets elements (1, 0) and (0, 0) share one address, 0 elements from the "
          "start; each output element needs its own, at OutputTensor.Strides")),
    "an output whose rows overlap": ((F23, F23, TensorDesc("FLOAT32", (2, 3), (2, 1))), mn.ShapeError, "strides",
         ("Strides[0] = 2 (of Sizes[0] = 2) and Strides[1] = 1 (of Sizes[1] = 3) let elements (1, 0) and (0, 2) "
          "share one address, 2 elements from the start; each output element needs its own, at OutputTensor.Strides")),
    "an output where three dims together overlap": ((*[TensorDesc("INT8", (2, 2, 2))] * 2,
          TensorDesc("INT8", (2, 2, 2), (3, 2, 1))),
         mn.ShapeError, "strides",
         ("Strides[0] = 3 (of Sizes[0] = 2), Strides[1] = 2 (of Sizes[1] = 2) and Strides[2] = 1 (of Sizes[2] = 2) "
          "let elements (1, 0, 0) and (0, 1, 1) share one address, 3 elements from the start; each output element "
          "needs its own, at OutputTensor.Strides")),
    "no description": ((F23, None, F23), mn.SpecError, "tensors",
         "None is no description; expected a minuend.directml.TensorDesc, at BTensor"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_DESCS)
def test_descriptions_that_break_a_rule_are_an_error_and_nothing_is_written(case):
    descs, kind, rule, message = BAD_DESCS[case]
    output = bytearray(b"\xee" * 64)
    with pytest.raises(kind) as caught:
        run(descs, bytes(64), bytes(64), output)
    assert (type(caught.value), caught.value.rule, str(caught.value)) == (kind, rule, message)
    assert output == b"\xee" * 64


def test_inputs_owned_by_directml_are_passed_like_the_others():
    owned, plain, output = TensorDesc("INT8", (4,), flags=OWNED), TensorDesc("INT8", (4,)), bytearray(4)
    run((owned, owned, plain), bytes([5, 6, 7, 8]), bytes([1, 1, 1, 1]), output)
    assert list(output) == [4, 5, 6, 7]


def test_hostile_descriptions_are_refused_quickly_and_without_memory():
    top = 2**32 - 1
    start = time.process_time()
    for sizes, strides in (((top,), (0,)), ((65535, 65537), (1, 65534)), ((2,) * 8, (top // 8,) * 8)):
        packed = TensorDesc("UINT8", sizes)
        with pytest.raises(mn.ShapeError):
            run((packed, packed, TensorDesc("UINT8", sizes, strides)), b"", b"", bytearray())
    packed = TensorDesc("FLOAT32", (top,))
    with pytest.raises(mn.SpecError) as caught:
        run((packed, packed, packed), bytes(16), bytes(16), bytearray(16))
    assert str(caught.value) == (
        "the buffer holds 16 bytes; expected at least 17179869180, the tensor's TotalTensorSizeInBytes, at ATensor"
    )
    assert time.process_time() - start < 5


# ---- the rules of three buffers -------------------------------------------------------------------------------

I4 = TensorDesc("INT32", (4,))
MEMORY = np.zeros(12, np.int32)
NO_BYTES = "expected bytes, a bytearray, a memoryview or a NumPy array"
NOT_CONTIGUOUS = (
    "the buffer is not C-contiguous; pass the memory that it is a view of, and Strides that say how it lies"
)


def short(size):
    return f"the buffer holds {size} bytes; expected at least 16, the tensor's TotalTensorSizeInBytes"


GOOD = {"a": bytes(16), "b": bytes(16), "output": bytearray(16)}
BAD_BUFFERS = {
    "a short A": ({"a": bytes(15)}, short(15), "ATensor"),
    "a short B": ({"b": np.zeros(3, np.int32)}, short(12), "BTensor"),
    "an empty B": ({"b": b""}, short(0), "BTensor"),
    "a short output": ({"output": bytearray(12)}, short(12), "OutputTensor"),
    "a list": ({"a": [1, 2, 3, 4]}, f"the buffer is a list; {NO_BYTES}", "ATensor"),
    "a text": ({"b": "0" * 16}, f"the buffer is a str; {NO_BYTES}", "BTensor"),
    "nothing": ({"output": None}, f"the buffer is a NoneType; {NO_BYTES}", "OutputTensor"),
    "objects": ({"a": np.array([1, 2, 3, 4], object)},
         "the buffer is an array of object, which are no bytes; pass an array of numbers", "ATensor"),
    "every other element": ({"a": np.zeros(8, np.int32)[::2]}, NOT_CONTIGUOUS, "ATensor"),
    "columns first": ({"a": np.zeros((2, 3), np.int32, order="F")}, NOT_CONTIGUOUS, "ATensor"),
    "backwards": ({"b": memoryview(bytes(16))[::-1]}, NOT_CONTIGUOUS, "BTensor"),
    "big-endian": ({"a": np.zeros(4, ">i4")}, "the buffer is not little-endian as this machine is; convert it",
         "ATensor"),
    "a big-endian view": ({"b": memoryview(np.zeros(4, ">i4"))},
         "the buffer is not little-endian as this machine is; convert it", "BTensor"),
    "a read-only output": ({"output": bytes(16)}, "the buffer is read-only; pass one that can be written to",
         "OutputTensor"),
    "an output inside A": ({"a": MEMORY[:4], "output": MEMORY[1:5]},
         ("the range of 16 bytes begins 4 bytes after ATensor's range of 16 bytes and overlaps it; "
          "expected the same range (in place), or none of its bytes"),
         "OutputTensor"),
    "an output before B": ({"b": MEMORY[5:9], "output": MEMORY[2:6]},
         ("the range of 16 bytes begins 12 bytes before BTensor's range of 16 bytes and overlaps it; "
          "expected the same range (in place), or none of its bytes"),
         "OutputTensor"),
    "an output that is A and overlaps B": ({"a": MEMORY[:4], "b": MEMORY[3:7], "output": MEMORY[:4]},
         ("the range of 16 bytes begins 12 bytes before BTensor's range of 16 bytes and overlaps it; "
          "expected the same range (in place), or none of its bytes"),
         "OutputTensor"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_BUFFERS)
def test_buffers_that_break_a_rule_are_an_error(case):
    changes, message, where = BAD_BUFFERS[case]
    with pytest.raises(mn.SpecError) as caught:
        run((I4, I4, I4), **(GOOD | changes))
    assert str(caught.value) == f"{message}, at {where}"
    assert caught.value.rule == ("aliasing" if "range" in message else "buffers")
    assert not MEMORY.any()


def test_one_start_with_another_total_is_a_partial_overlap():
    longer = TensorDesc("INT32", (4,), total_tensor_size_in_bytes=24)
    with pytest.raises(mn.SpecError) as caught:
        run((longer, I4, I4), MEMORY, bytes(16), MEMORY)
    assert str(caught.value) == (
        "the range of 16 bytes begins at the start of ATensor's range of 24 bytes and overlaps it; "
        "expected the same range (in place), or none of its bytes, at OutputTensor"
    )


@pytest.mark.parametrize("strides", [(0, 1), (1, 2), (3, 2)])
def test_in_place_with_other_strides_is_an_error(strides):
    total = 32
    a = TensorDesc("INT32", (2, 2), strides, total_tensor_size_in_bytes=total)
    out = TensorDesc("INT32", (2, 2), total_tensor_size_in_bytes=total)
    memory = bytearray(total)
    for descs, name in (((a, out, out), "ATensor"), ((out, a, out), "BTensor")):
        with pytest.raises(mn.ShapeError) as caught:
            run(descs, memory, memory, memory)
        assert str(caught.value) == (
            f"the buffer is {name}'s and the strides are (2, 1); expected {name}'s, {strides}, for work in place, "
            "at OutputTensor.Strides"
        )
        assert caught.value.rule == "aliasing"


def test_a_repeating_input_cannot_be_the_output():
    memory = bytearray(16)
    with pytest.raises(mn.ShapeError) as caught:
        run((I4, TensorDesc("INT32", (4,), (0,), total_tensor_size_in_bytes=16), I4), bytes(16), memory, memory)
    assert str(caught.value) == (
        "the buffer is BTensor's and the strides are (1,); expected BTensor's, (0,), for work in place, "
        "at OutputTensor.Strides"
    )


# ---- sweeps: each rule holds on both of its sides -------------------------------------------------------------


def broken_rule(*arguments):
    """The rule that a call breaks; an empty one where it runs."""
    try:
        run(*arguments)
    except mn.SpecError as error:
        return error.rule
    return ""


def test_an_output_is_taken_where_each_element_has_an_address_of_its_own_and_refused_elsewhere():
    source, seen = random.Random(9), set()
    for _ in range(1500):
        sizes = tuple(source.randint(1, 5) for _ in range(source.randint(1, 4)))
        strides = tuple(source.randint(0, 14) for _ in sizes)
        places = itertools.product(*map(range, sizes))
        addresses = [sum(i * step for i, step in zip(place, strides, strict=True)) for place in places]
        packed, output = TensorDesc("UINT8", sizes), TensorDesc("UINT8", sizes, strides)
        memory = bytearray(output.total_tensor_size_in_bytes)
        broken = broken_rule((packed, packed, output), bytes(800), bytes(800), memory)
        assert broken == ("" if len(set(addresses)) == len(addresses) else "strides"), (sizes, strides)
        seen.add(broken)
    assert seen == {"", "strides"}


@pytest.mark.parametrize("totals", [*itertools.product((12, 20), repeat=3)])
def test_ranges_are_taken_where_they_are_one_or_have_no_byte_in_common(totals):
    descs = [TensorDesc("UINT16", (2, 3), total_tensor_size_in_bytes=total) for total in totals]
    here, extent, seen = 20, totals[2], set()
    for starts in itertools.product(range(0, 44, 2), repeat=2):
        memory = np.arange(64, dtype=np.uint8)
        a, b = (memory[start : start + 12].view(np.uint16).copy() for start in starts)
        fit = all(
            start + total <= here or here + extent <= start or (start, total) == (here, extent)
            for start, total in zip(starts, totals, strict=False)
        )
        ranges = [memory[start : start + total] for start, total in zip((*starts, here), totals, strict=True)]
        broken = broken_rule(descs, *ranges)
        assert broken == ("" if fit else "aliasing"), starts
        if fit:
            assert memory[here : here + 12].view(np.uint16).tolist() == (a - b).tolist()
        else:
            assert memory.tolist() == [*range(64)]
        seen.add(broken)
    assert seen == {"", "aliasing"}


@pytest.mark.parametrize(("name", "stride"), [("INT64", 2**30), ("FLOAT32", 2**31), ("INT8", 2**32 - 10)])
def test_offsets_are_of_64_bits(name, stride):
    far, row = TensorDesc(name, (2, 4), (stride, 1)), TensorDesc(name, (2, 4), (0, 1))
    kind, total = np.dtype(CODES[name]), far.total_tensor_size_in_bytes
    try:
        a, output = (np.zeros(total // kind.itemsize, kind) for _ in range(2))  # what is not touched is not there
    except MemoryError:
        pytest.skip("the system maps no memory beyond what it has")
    a[:4], a[stride : stride + 4] = [9, 8, 7, 6], [50, 40, 30, 20]
    run((far, row, far), a.view(np.uint8), np.array([1, 2, 3, 4], kind), output.view(np.uint8))
    assert (output[:5].tolist(), output[stride : stride + 4].tolist()) == ([8, 6, 4, 2, 0], [49, 38, 27, 16])
