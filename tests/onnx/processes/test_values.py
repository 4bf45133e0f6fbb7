"""Values go to the process that runs a model, and come back, as they are; so do errors."""

from __future__ import annotations

import json
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from minuend.errors import OverflowFound, ResultTooLarge, SpecError, Unsupported
from minuend.onnx.execution.kernels import RunError
from minuend.onnx.processes.values import pack, unpack

ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(12, dtype=np.int16).reshape(3, 4)[::2, ::-1],
    np.broadcast_to(np.uint8(7), (2, 2)),
    np.array(5, np.uint64),
    np.empty((0, 3), np.float16),
    np.array([True, False]),
    np.complex64([1 + 2j]),
    np.array([1.5, -2], ml_dtypes.bfloat16),
    np.array([1, -2], ml_dtypes.int4),
    np.array([0.5, -0.0], ml_dtypes.float8_e4m3fn),
    np.array([["text", "\x00\u202e"]], object),
    np.array(["a", "bc"]),
    np.array(b"raw", object),
]


def carried(value: Any) -> Any:
    """Through JSON and byte strings, as a message goes."""
    tree, parts = pack(value)
    return unpack(json.loads(json.dumps(tree)), [bytearray(part) for part in parts])


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype} {array.shape}")
def test_an_array_keeps_its_type_shape_order_and_bits(array: Any) -> None:
    came = carried(array)
    assert (came.dtype, came.shape) == (array.dtype, array.shape)
    assert came.tolist() == array.tolist() if array.dtype.hasobject else came.tobytes() == array.tobytes()
    assert came.flags.writeable
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        assert came.flags.f_contiguous


def test_sequences_maps_and_plain_values_come_as_they_went() -> None:
    value = {"x": [np.float32([1, math.inf]), None], 3: {"k": (1, "\udc80", b"\0", True)}, "scalar": np.int8(-3)}
    came = carried(value)
    assert list(came) == ["x", 3, "scalar"]
    assert came["x"][0].tobytes() == value["x"][0].tobytes()
    assert came["x"][1] is None
    assert came[3] == {"k": (1, "\udc80", b"\0", True)}
    assert (type(came["scalar"]), came["scalar"]) == (np.int8, -3)


@pytest.mark.parametrize(
    "error",
    [
        SpecError("types", "no", where="graph.node[3]"),
        ResultTooLarge("too much", nbytes=9, limit=3, where="here"),
        OverflowFound("1 of 2", count=1, index=(0, 2), a=-(2**63), b=1),
        RunError("it failed"),
        FileNotFoundError(2, "No such file or directory", "/data/w.bin"),
        FileNotFoundError("there is no file w.bin"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_with_what_it_knows(error: Exception) -> None:
    came = carried(error)
    assert (type(came), str(came), came.args, came.__dict__) == (type(error), str(error), error.args, error.__dict__)
    if isinstance(error, OSError):
        assert (came.errno, came.filename) == (error.errno, error.filename)


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(Unsupported) as caught:
        pack({"x": [object()]})
    assert str(caught.value) == "a object is no value of a model; expected an array, a list or a dict of such"
