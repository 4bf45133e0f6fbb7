"""Across modules: whatever bytes a file has, reading and running it gives a result or an error of this package."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_files import TEXT, WEIGHTS
from trials import try_each

from minuend.errors import MinuendError
from minuend.openvino import Tensor
from minuend.openvino.ir.builder import Builder
from minuend.openvino.model import read


def rich() -> tuple[bytes, bytes]:
    """A model of every layer that runs."""
    builder = Builder("rich")
    x, y = builder.parameter("x", "i16", (2, None)), builder.parameter("y", "i16", (3,))
    step = builder.subtract("s", x, y, auto_broadcast="pdpd", axis=1)
    step = builder.reshape("r", step, [0, -1], special_zero=True)
    step = builder.squeeze("q", builder.unsqueeze("u", step, [0]), [0])
    step = builder.broadcast("b", builder.clamp("c", step, -9, 9), [2, 2, 3])
    step = builder.elementwise(
        "FloorMod", "f", [builder.elementwise("Mod", "m", [step, builder.constant("k", np.int16(7))]), y]
    )
    step = builder.elementwise("BitwiseAnd", "a", [step, builder.constant("l", np.int16([1, 2, 3]))])
    builder.result(builder.convert("v", step, "f32"))
    builder.result(builder.constant("n", Tensor("nf4", np.uint8([1, 2, 3]))))
    return builder.model.to_bytes()


RICH = rich()
X, Y = np.int16([[9, 8, 7], [6, 5, 4]]), np.int16([1, 2, 3])
WORDS = re.findall(rb'"[^"]*"', RICH[0])
EDGES = [
    b'""', b'"-1"', b'"0"', b'"1"', b'"9223372036854775807"', b'"99999999999"', b'"..."', b'"?"', b'"nf4"',
    b'"boolean"', b'"string"', b'"u3"', b'"dynamic"', b'"1e400"', b'"nan"', b'"0,0,0"', b'"1' + b",1" * 80 + b'"',
]  # fmt: skip


def survive(xml: bytes, weights: bytes) -> bool:
    """Read, run, write; return whether the model was taken."""
    try:
        model = read(xml, weights)
        list(model.subtractions())
        _ = model.notes, repr(model)
        again = read(*model.to_bytes())
        inputs: dict[str, Any] = {"x": X, "y": Y}
        again.run({name: inputs.get(name, X) for name in again.inputs}, max_bytes=1 << 20)
    except (MinuendError, OSError):
        return False
    return True


def test_the_models_that_are_harmed_are_whole() -> None:
    assert survive(*RICH)
    assert survive(TEXT.encode().replace(b'name="a"', b'name="x"').replace(b"f32", b"i16"), WEIGHTS)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(RICH[0].rstrip()) - 1), st.integers(0, len(RICH[1])))  # without its last newline it is whole
def test_truncated_files(xml: int, weights: int) -> None:
    assert not survive(RICH[0][:xml], RICH[1][:weights])


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(RICH[0]) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes(changes: list[tuple[int, int]]) -> None:
    data = bytearray(RICH[0])
    for at, byte in changes:
        data[at] = byte
    survive(bytes(data), RICH[1])


def test_exchanged_words() -> None:
    """Attributes' values swapped for others of the file, or for numbers and names at the edges."""
    try_each(range(600), with_exchanged_words, lambda _, data: survive(data, RICH[1]))


def with_exchanged_words(seed: int) -> bytes:
    source = random.Random(seed)
    data = RICH[0]
    for _ in range(source.randint(1, 3)):
        start, end = source.choice([found.span() for found in re.finditer(rb'"[^"]*"', data)])
        data = data[:start] + source.choice([*WORDS, *EDGES]) + data[end:]
    return data


def test_lines_left_out_and_doubled() -> None:
    try_each(range(200), with_other_lines, lambda _, data: survive(data, RICH[1]))


def with_other_lines(seed: int) -> bytes:
    source = random.Random(seed)
    lines = RICH[0].split(b"\n")
    at = source.randrange(len(lines))
    lines[at : at + source.randint(1, 3)] = [lines[source.randrange(len(lines))]] * source.randint(0, 2)
    return b"\n".join(lines)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    survive(data, b"")
    survive(b"<net version='11'>" + data + b"</net>", data)


def test_entities_do_not_expand() -> None:
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (i, b"&l%d;" % (i - 1) * 10) for i in range(1, 20))
    assert not survive(b'<!DOCTYPE net [<!ENTITY l0 "ha">' + laughs + b"]><net>&l19;</net>", b"")


def test_many_layers_in_a_row_are_no_recursion() -> None:
    builder = Builder("deep")
    x = step = builder.parameter("x", "i16", (1,))
    for i in range(3000):
        step = builder.subtract(f"s{i}", step, x)
    builder.result(step)
    model = read(*builder.model.to_bytes())
    assert model.run({"x": np.int16([1])})["s2999"].tolist() == [1 - 3000]
