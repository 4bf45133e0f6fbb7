"""Across modules: a bad version, dim, target or output gives a message and an error of a documented kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minuend as mn
from minuend import errors
from minuend.onnx import vectors
from minuend.text import whole_number

T = mn.TensorType("float32", (2, 3))
ROW = mn.TensorType("float32", (3,))
MODEL = str(Path(__file__).parent.parent / "examples/bgsub.onnx")
ONES = np.ones(2, np.float32)

BAD: list[Any] = [
    None, "", b"x", -1, 10**5000, -(10**5000), "9" * 5000, 1.5, float("nan"), [], {}, [1], ("x",), object(),
    np.array([1, 2]), "1_3", "١٣", " 13", "13\n", "\ud800", "\0", True, "onnx:", "onnx:\ud800", ":", "@",
    "torch-cpu@", "torch-cpu@²", {"a": 1}, len, 2**63, 2**64, "\x1b[2J", "x" * 5000,
]  # fmt: skip
"""Values that are nothing anywhere, and some that are something in one place."""

CALLS: dict[str, Callable[[Any], Any]] = {
    "spec, dialect": mn.spec,
    "spec, opset": lambda x: mn.spec("onnx", x),
    "spec, version": lambda x: mn.spec("openvino", x),
    "spec, level": lambda x: mn.spec("directml", x),
    "diff, dialect": lambda x: mn.diff(x, 1, 7),
    "diff, old": lambda x: mn.diff("onnx", x, 7),
    "diff, new": lambda x: mn.diff("directml", "1.0", x),
    "infer, dialect": lambda x: mn.infer(x, 13, T, T),
    "infer, version": lambda x: mn.infer("onnx", x, T, T),
    "infer, a": lambda x: mn.infer("onnx", 13, x, T),
    "infer, b": lambda x: mn.infer("directml", "5.1", T, x),
    "infer, axis": lambda x: mn.infer("onnx", 6, T, ROW, axis=x, broadcast=1),
    "infer, broadcast": lambda x: mn.infer("onnx", 6, T, T, broadcast=x),
    "infer, consumed_inputs": lambda x: mn.infer("onnx", 1, T, T, consumed_inputs=x),
    "infer, auto_broadcast": lambda x: mn.infer("openvino", 1, T, T, auto_broadcast=x),
    "infer, pdpd's axis": lambda x: mn.infer("openvino", 1, T, T, auto_broadcast="pdpd", axis=x),
    "type, dtype": mn.TensorType,
    "type, shape": lambda x: repr(mn.TensorType("float32", x)),
    "type, dim": lambda x: repr(mn.TensorType("float32", (x,))),
    "type, interval": lambda x: repr(mn.TensorType("float32", ((1, x),))),
    "convert, to": lambda x: mn.convert(MODEL, x),
    "convert, model": lambda x: mn.convert(x, "onnx"),
    "check, target": lambda x: mn.check(MODEL, x),
    "check, model": lambda x: mn.check(x, "openvino-cpu"),
    "fix, target": lambda x: mn.fix(MODEL, x, run=False),
    "fix, overflow": lambda x: mn.fix(MODEL, "openvino-cpu", overflow=x, run=False),
    "fix, accept": lambda x: mn.fix(MODEL, "openvino-cpu", accept=x, run=False),
    "vectors, opset": lambda x: next(vectors.vectors([x])),
    "prove, runtime": mn.prove,
    "onnx.sub, axis": lambda x: mn.onnx.sub(ONES, ONES, opset=6, axis=x, broadcast=1),
    "onnx.sub, opset": lambda x: mn.onnx.sub(ONES, ONES, opset=x),
    "openvino.subtract, axis": lambda x: mn.openvino.subtract(ONES, ONES, auto_broadcast="pdpd", axis=x),
    "TensorDesc, type": lambda x: mn.directml.TensorDesc(x, (2,)),
    "TensorDesc, sizes": lambda x: mn.directml.TensorDesc("FLOAT32", x),
    "TensorDesc, size": lambda x: mn.directml.TensorDesc("FLOAT32", (x,)),
    "TensorDesc, stride": lambda x: mn.directml.TensorDesc("FLOAT32", (2,), (x,)),
    "TensorDesc, total": lambda x: mn.directml.TensorDesc("FLOAT32", (2,), total_tensor_size_in_bytes=x),
    "TensorDesc, flags": lambda x: mn.directml.TensorDesc("FLOAT32", (2,), flags=x),
    "TensorDesc, alignment": lambda x: mn.directml.TensorDesc("FLOAT32", (2,), guaranteed_base_offset_alignment=x),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_is_nothing_there_is_refused_in_words(call: str) -> None:
    for value in BAD:
        caught = None
        try:
            CALLS[call](value)
        except (errors.MinuendError, TypeError, OSError) as error:
            caught = error
        if caught is not None:
            told, who = str(caught), (call, errors.shown(value))
            assert isinstance(caught, errors.MinuendError | OSError) or "expected" in told, who
            assert told.replace("\n", "").isprintable() or isinstance(caught, OSError), who
            assert len(told) < 6000, who


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mn.spec("onnx", 10**5000), "ONNX has no opset a number of 16610 bits with Sub; "),
        (lambda: mn.spec("onnx", 2**63), "ONNX has no opset 9223372036854775808 with Sub; "),
        (lambda: mn.spec("onnx", "1_3"), "ONNX has no opset '1_3' with Sub; "),
        (lambda: mn.spec("onnx", "١٣"), "ONNX has no opset '١٣' with Sub; "),
        (lambda: mn.spec("onnx", " 13"), "ONNX has no opset ' 13' with Sub; "),
        (lambda: mn.spec("openvino", "opset1_0"), "OpenVINO has no operator version 'opset1_0' with Subtract; "),
        (lambda: mn.spec("opnvino"), "no dialect 'opnvino' (did you mean 'openvino'?); expected "),
        (lambda: mn.infer("onnx", 13, None, T), "a is a NoneType; expected a TensorType"),
        (lambda: mn.infer("onnx", 6, T, ROW, axis=2**63, broadcast=1),
         "attribute 'axis' of Sub-6 is 9223372036854775808; "),
        (lambda: mn.TensorType("float32", (2**63,)), "a size cannot be 9223372036854775808; every standard holds"),
        (lambda: mn.TensorType("float32", (10**5000,)),
         "a size cannot be a number of 16610 bits; every standard holds"),
        (lambda: mn.TensorType("float32", ((0, 2**63),)),
         "(0, 9223372036854775808) is no dim; expected a size, a name, None or"),
        (lambda: mn.convert(MODEL, None), "a NoneType is no version to convert to; expected a text such as 'onnx:13'"),
        (lambda: mn.check(MODEL, 5), "a int is no target; expected a name such as 'openvino-cpu', or several"),
        (lambda: mn.fix(MODEL, None), "a NoneType is no target; expected a name such as 'openvino-cpu@2026.4'"),
        (lambda: mn.directml.TensorDesc("FLOAT32", (2**70,)),
         "Sizes[0] is 1180591620717411303424; expected an integer of at most 64 bits"),
    ],
)  # fmt: skip
def test_messages_say_what_came(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((errors.MinuendError, TypeError)) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_ranks_above_numpys_and_huge_empty_shapes_are_inferred() -> None:
    high = mn.TensorType("float32", (0,) * 100 + (2**62, 2**62))
    assert mn.infer("onnx", 13, high, mn.TensorType("float32", (1,) * 102)).shape == high.shape
    assert mn.infer("openvino", 1, high, mn.TensorType("float32", (1,))).shape == high.shape


@pytest.mark.parametrize(
    "text", ["1_0", "١", " 1", "1 ", "1\n", "", "+", "1.0", "1e3", "0x1", "9" * 20, "9" * 5000, "²"]
)
def test_a_number_is_in_ascii_digits(text: str) -> None:
    with pytest.raises(ValueError, match="is no whole number from -9223372036854775808 to 9223372036854775807"):
        whole_number(text)


def test_messages_are_cut_in_every_error_of_the_package() -> None:
    error = errors.SpecError("names", f"{'x' * 5000} is long", where="layer\x1b[2J")
    assert str(error) == f"{'x' * 900}…{'x' * 100} is long, at layer\\x1b[2J"
    assert (error.message, error.where) == (f"{'x' * 900}…{'x' * 100} is long", "layer\\x1b[2J")
    assert len(str(errors.FileFormatError("a " * 5000))) == 2001
