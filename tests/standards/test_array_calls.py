"""What the standards' functions cache changes no answer: results and errors equal those without it.

Tests :mod:`minuend.standards.array_calls` and the operators of ONNX, OpenVINO and DirectML that cache their decisions.
"""

from __future__ import annotations

import random
import re
import warnings

import ml_dtypes
import numpy as np
import pytest

import minuend as mn
from minuend.directml import TensorDesc
from minuend.directml import operator as directml
from minuend.onnx import operator as onnx
from minuend.openvino import operator as openvino

COMMON = [np.dtype(name) for name in ("f4", "f8", "f2", "f4", "f8")]
DTYPES = [*map(np.dtype, ["i4", "u1", "i8", "q", ">f4", ">i2", "i2", "?", "c8"]),
          np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e5m2), np.dtype([("x", "f4")]),
          np.dtypes.StringDType(na_object=[])]  # fmt: skip


class Named(np.ndarray):
    """A subclass that wraps its results."""


def array_of(rng: random.Random, dtype: np.dtype, shape: tuple[int, ...], memory: np.ndarray | None = None):
    """An array in one of many layouts; over the given memory in some cases."""
    count = int(np.prod(shape))
    if isinstance(dtype, np.dtypes.StringDType):  # which cannot be hashed
        return np.zeros(shape, dtype)
    bytes_of = np.frombuffer(rng.randbytes(3 * count * dtype.itemsize + 8), np.uint8).copy()
    if memory is not None and rng.random() < 0.5 and memory.dtype == dtype and memory.size >= count:
        flat = memory.reshape(-1)[:count].view()  # a copy of what lies with gaps, else the same memory
        return flat.reshape(shape)
    flat = bytes_of[rng.choice([0, 0, 1]) :][: 3 * count * dtype.itemsize].view(dtype)
    layout = rng.choice(["plain"] * 4 + ["strided", "negative", "fortran", "repeated", "read-only", "subclass"])
    if layout == "strided":
        return (
            flat[: 2 * count : 2].reshape(-1)[:count].reshape(shape)[...] if len(shape) != 1 else flat[: 2 * count : 2]
        )
    plain = flat[:count].reshape(shape)
    if layout == "negative" and shape:
        return plain[::-1]
    if layout == "fortran":
        return np.asfortranarray(plain)
    if layout == "repeated" and shape and shape[0]:
        return np.ndarray(shape, dtype, plain, 0, (0, *plain.strides[1:]))
    if layout == "read-only":
        plain.flags.writeable = False
    return plain.view(Named) if layout == "subclass" else plain


def operands_of(rng: random.Random) -> list:
    """A, B and an ``out`` that fits in most cases."""
    shape = tuple(rng.choice([0, 1, 2, 3, 4]) for _ in range(rng.randrange(4)))
    start = rng.randrange(len(shape) + 1)
    end = rng.choice([len(shape), rng.randint(start, len(shape))])
    other = tuple(n if rng.random() < 0.8 else 1 for n in shape[start:end])
    if rng.random() < 0.1:
        other = tuple(rng.choice([1, 2, 5]) for _ in range(rng.randrange(3)))
    if rng.random() < 0.3:
        other = shape
    if rng.random() < 0.2:
        shape, other = other, shape
    dtype = rng.choice(COMMON if rng.random() < 0.7 else DTYPES)
    a = array_of(rng, dtype, shape)
    b = array_of(rng, dtype if rng.random() < 0.9 else rng.choice(DTYPES), other, a)
    if rng.random() < 0.1:
        b = rng.choice([1, 1.5, True, 300, b[()] if b.ndim == 0 else 2, [1, 2], None, np.float32(1)])
    out = None
    if rng.random() < 0.5:
        joined = shape
        if rng.random() < 0.8 and isinstance(b, np.ndarray):
            try:
                joined = np.broadcast_shapes(shape, other)
            except ValueError:
                joined = shape
        out_dtype = dtype if rng.random() < 0.9 else rng.choice(DTYPES)
        out = rng.choice(
            [a, b, 3, array_of(rng, out_dtype, joined, a), *(array_of(rng, out_dtype, joined) for _ in "123456")]
        )
    return [a, b, out]


def found(function, seed: int, attributes: dict) -> tuple:
    """All that a call shows: its result and what operands hold after it, or its error."""
    a, b, out = operands_of(random.Random(seed))
    memory = [a, b, out]
    try:
        result = function(a, b, out=out, **attributes)
    except Exception as error:
        return type(error), str(error), [one.tobytes() for one in memory[:2] if isinstance(one, np.ndarray)]
    shown = result.tobytes(), result.dtype, result.dtype.byteorder, result.shape, result.strides, type(result)
    same = [result is one for one in memory]
    return *shown, same, [one.tobytes() for one in memory if isinstance(one, np.ndarray)]


def onnx_attributes(rng: random.Random) -> dict:
    """Attributes of ONNX, mostly those that their version takes."""
    legacy = rng.random() < 0.5
    found: dict = {"opset": rng.choice([1, 5, 6, 6, 6] if legacy else [None, 7, 12, 13, 14, 14, 28, 40])}
    if legacy or rng.random() < 0.05:
        found["axis"] = rng.choice([None, None, 0, 0, 1, 1, 2, -1, 5])
        found["broadcast"] = rng.choice([0, 1, 1, 1])
    if rng.random() < 0.05:
        found["consumed_inputs"] = rng.choice([[0, 1], (0,), None, 1, ["a"]])
    odd = {"opset": [True, 14.0, "13", "6", 0, [14], np.int64(6)], "axis": [True, 1.0, [1], "1", np.int64(1)],
           "broadcast": [True, False, 1.0, [1], None, "1", 2]}  # fmt: skip
    for name, values in odd.items():
        if rng.random() < 0.08:
            found[name] = rng.choice(values)
    return found


def openvino_attributes(rng: random.Random) -> dict:
    """Attributes of OpenVINO, mostly those that it takes."""
    found: dict = {}
    if rng.random() < 0.8:
        found["auto_broadcast"] = rng.choice(["numpy", "none", "pdpd", "pdpd", "pdpd", "PDPD"])
    if rng.random() < 0.7:
        found["axis"] = rng.choice([-1, -1, 0, 0, 1, 1, 2, 5, -2])
    odd = {"auto_broadcast": ["other", "", None, 1, ["pdpd"]], "axis": [True, 1.0, None, [1], "1", np.int64(1)]}
    for name, values in odd.items():
        if rng.random() < 0.08:
            found[name] = rng.choice(values)
    return found


@pytest.mark.parametrize(
    ("module", "function", "attributes_of"),
    [(onnx, mn.onnx.sub, onnx_attributes), (openvino, mn.openvino.subtract, openvino_attributes)],
    ids=["onnx", "openvino"],
)
def test_no_answer_and_no_error_depends_on_the_cache(module, function, attributes_of, monkeypatch):
    warnings.simplefilter("ignore")
    module._shape_by_numpy.cache_clear()
    calls = {seed: attributes_of(random.Random(-seed)) for seed in range(1, 3001)}
    cached = {seed: [found(function, seed, one) for _ in ("cold", "warm")] for seed, one in calls.items()}
    assert module._shape_by_numpy.cache_info().hits > 1000
    monkeypatch.setattr(module, "_shape_by_numpy", lambda *_: None)
    uncached = {seed: found(function, seed, one) for seed, one in calls.items()}
    for seed, one in calls.items():
        assert cached[seed] == [uncached[seed]] * 2, (seed, one)
    errors = sum(isinstance(shown[0], type) for shown in uncached.values())
    assert 500 < errors < len(calls) - 500


# ---- DirectML --------------------------------------------------------------------------------------------------


class Described(TensorDesc):
    """A description of another class."""


def description(rng: random.Random, kind: str, sizes: tuple[int, ...]) -> object:
    """A description that mostly fits others of its type and sizes."""
    if rng.random() < 0.03:
        return rng.choice([None, [], "FLOAT32", ("FLOAT32", sizes)])
    dims = (*sizes[:-1], sizes[-1] + 1) if rng.random() < 0.03 else sizes
    packed = TensorDesc(kind, dims)
    strides = rng.choice([None, None, packed.element_strides, tuple(2 * step for step in packed.element_strides),
                          (0, *packed.element_strides[1:])])  # fmt: skip
    least = TensorDesc(kind, dims, strides).total_tensor_size_in_bytes
    made = rng.choice([TensorDesc, TensorDesc, TensorDesc, Described])
    flags, total = int(rng.random() < 0.1), rng.choice([None, None, least + 4])
    return made(kind, dims, strides, flags=flags, total_tensor_size_in_bytes=total)


def buffer(rng: random.Random, size: int, like: np.ndarray | None) -> object:
    """A buffer of one of many kinds; some lie in the memory of another one."""
    memory = np.frombuffer(rng.randbytes(size + 16), np.uint8).copy()
    if like is not None and rng.random() < 0.4:
        return like[rng.choice([0, 0, 0, 4, 1]) :]
    plain = memory[: size - rng.choice([0] * 9 + [1])]
    whole = memory[: size // 4 * 4]
    return rng.choice(
        [None, b"", [1], plain, plain, whole.view("f4"), whole.view("i2"), bytearray(plain), bytearray(plain),
         memoryview(plain),
         memoryview(whole.view("f4")), bytes(plain), memory[::2], np.repeat(memory, 2)[::2], memoryview(memory)[::-1],
         whole.view(">i4"), memoryview(whole.view(">i2")), plain.view(Named), np.array([object()] * size),
         whole.reshape(-1, 4), whole.view([("x", "<i2"), ("y", ">i2")]), np.asfortranarray(whole.reshape(-1, 4)),
         whole.view(ml_dtypes.bfloat16), np.frombuffer(bytes(plain), np.uint8)]
    )  # fmt: skip


def found_of_buffers(seed: int) -> tuple:
    """What a call on buffers shows: its error, and all bytes after it."""
    rng = random.Random(seed)
    sizes = tuple(rng.choice([1, 2, 3]) for _ in range(rng.choice([4, 4, 1, 5])))
    kind = rng.choice(["FLOAT32", "FLOAT32", "INT8", "FLOAT16", "UINT64", "FLOAT64"])
    descs = [description(rng, kind if rng.random() < 0.98 else "INT32", sizes) for _ in "abo"]
    if rng.random() < 0.5:
        descs = [descs[0]] * 3
    most = max(getattr(desc, "total_tensor_size_in_bytes", 4) for desc in descs)
    memory = np.frombuffer(rng.randbytes(most + 8), np.uint8).copy()
    buffers = [buffer(rng, most, memory) for _ in "abo"]
    if rng.random() < 0.3:
        buffers[2] = buffers[rng.randrange(2)]
    if rng.random() < 0.6:
        buffers[2] = rng.choice([bytearray(most), np.zeros(most, np.uint8), memoryview(bytearray(most))])
    level = rng.choice(
        ["6.4", "6.4", "6.4", "6.4", "5.1", "2.0", 6.4, "9", None, ["6.4"], mn.directml.DML_FEATURE_LEVEL.LEVEL_6_4]
    )
    error: tuple = ()
    try:
        mn.directml.element_wise_subtract(*descs, *buffers, feature_level=level)
    except Exception as caught:
        error = type(caught), re.sub("0x[0-9a-f]+", "", str(caught))
    return error, [bytes_of(one) for one in (memory, *buffers)]


def bytes_of(one: object) -> bytes:
    if isinstance(one, np.ndarray):
        return b"" if one.dtype.hasobject else one.tobytes()
    return bytes(one) if isinstance(one, bytes | bytearray | memoryview) else b""


def test_no_answer_and_no_error_of_directml_depends_on_the_cache(monkeypatch):
    directml._WORKS.clear()
    seeds = range(1, 4001)
    cached = [[found_of_buffers(seed) for seed in seeds] for _ in ("cold", "warm")]
    monkeypatch.setattr(directml, "_work_of", directml._decide)
    monkeypatch.setattr(directml, "_plain", lambda *_: None)
    for seed, *both in zip(seeds, *cached, strict=True):
        assert both == [found_of_buffers(seed)] * 2, seed
    errors = sum(bool(error) for error, _ in cached[0])
    assert 500 < errors < len(seeds) - 500


def test_what_directml_caches_is_bounded(monkeypatch):
    monkeypatch.setattr(directml, "_MOST_WORKS", 3)
    directml._WORKS.clear()
    for n in range(1, 8):
        desc = TensorDesc("INT8", (1, 1, 1, n))
        out = bytearray(8)
        mn.directml.element_wise_subtract(desc, desc, desc, bytes([5] * 8), bytes([7] * 8), out)
        assert out[:n] == bytes([254] * n)
        assert len(directml._WORKS) <= 3


def test_descriptions_in_other_words_are_not_taken_for_each_other():
    row, column = TensorDesc("INT8", (1, 1, 2, 2), (0, 0, 0, 1)), TensorDesc("INT8", (1, 1, 2, 2), (0, 0, 1, 0))
    packed = TensorDesc("INT8", (1, 1, 2, 2))
    wanted = {row: [0, 0, 2, 2], column: [0, 1, 1, 2], packed: [0, 0, 0, 0]}
    for desc in (row, column, packed, row, column, packed):
        out = bytearray(4)
        mn.directml.element_wise_subtract(packed, desc, packed, bytes([0, 1, 2, 3]), bytes([0, 1, 2, 3]), out)
        assert list(out) == wanted[desc]
