"""Every way to write a value of an IR is read where openvino reads it, and refused where it refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from ir_files import TEXT, WEIGHTS

from minuend.errors import MinuendError
from minuend.judging.checking import check
from minuend.openvino.execution.layers import KINDS, canonical
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.layer_types import NAMES, OTHERS, SAME
from minuend.openvino.ir.notation import _PRECISIONS, ELEMENT_TYPES
from minuend.openvino.ir.sections import Ref, Type
from minuend.openvino.model import read
from minuend.openvino.occurrences import occurrences

ov = pytest.importorskip("openvino")

CHAIN = """<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="3" element_type="i32"/>
<output><port id="0" precision="I32"/></output></layer>
<layer id="1" name="c" type="Convert" version="opset1"><data destination_type="f32"/>
<input><port id="0"/></input><output><port id="1" precision="FP32"/></output></layer>
<layer id="2" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers><edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>"""
CLAMP = CHAIN.replace("Convert", "Clamp").replace('destination_type="f32"', 'min="-1e308" max="1e308"')
CONSTANT = """<net name="m" version="11"><layers>
<layer id="0" name="k" type="Const" version="opset1"><data shape="2" element_type="i32" offset="0" size="20"/>
<output><port id="0" precision="I32"/></output></layer>
<layer id="1" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers><edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"""
PDPD = TEXT.replace('"numpy"', '"pdpd" auto_broadcast.auto_broadcast_axis="1"')

CASES = (str, str.upper, str.lower, str.title, str.swapcase)
TYPES = sorted(
    {case(t) for t in {*_PRECISIONS, "fp32"} for case in CASES} | {"", " i32", "i32 ", "int32", "float", "x"}
)
NO_TEXTS = [name for name in TYPES if name.lower() != "string"]
"""Element types, and those of a constant of numbers: texts are not looked at here."""
WHOLE = ("n", "+n", " n", "n ", "\tn", "\nn", "n\n", "\rn", "n\r", "0n", "-n", "0xn", "n.0", "ne0", "", "n_n", "nx",
         "n,", "\u00a0n", "\u0661", "18446744073709551616", "n n")  # fmt: skip
"""Whole numbers; ``n`` stands for one."""
SIZES = ("3", "+3", " 3", "3 ", "\t3", "3\n", "03", "3.0", "-3", "3,", ",3", "3,,1", "[3]", "[3", "3]", "3x", "3e0", "",
         " ", ",", "?", "1,3", "1, 3", "1 ,3", " 1 , 3 ", "1,3,", "[1,3]", "{3}", "1 3", "\u00a03")  # fmt: skip
DIMS = (*SIZES, "...", "[...]", " ... ", "....", "3..", "..3", "..", "3..3", "1..3", "3..1", "1 .. 3", "1.. 3", "1 ..3",
        "-1", "?..3", "-1..3", "1..-1", "1..?", "[?]", "?,...", "...,3", "+1..3", "1...3", "1....3", "[1..3]", "-2",
        "9223372036854775807", "9223372036854775808", "1..9223372036854775807", "-", "+", "[]", "[[3]]", "a", "3..a",
        "-1..", "..-1", ".. 3", "1.5")  # fmt: skip
FLOATS = ("1", "+1", " 1", "1 ", "1.", "1.5", ".5", "1e0", "1e", "1E+0", "+1e-2", "0x1", "inf", "-inf", "+inf", "Inf",
          "INF", "-INF", "infinity", "nan", "-nan", "NAN", "1e400", "-1e400", "1e-400", "1_0", "1,5", "1x", "1f", "x",
          "", " ", "-", ".", "- 1", "--1", "\u0661")  # fmt: skip
RULES = tuple(form(t) for t in ("numpy", "none", "explicit", "pdpd", "x", "") for form in (str, str.upper, str.title,
              " {}".format, "{} ".format))  # fmt: skip

PLACES: dict[str, tuple[str, str, tuple[str, ...] | list[str]]] = {
    "version": (TEXT, 'version="@11"', WHOLE),
    "id of a layer": (TEXT, 'layer id="@0"', WHOLE),
    "id of a port": (TEXT, '<port id="@0" precision', WHOLE),
    "offset": (TEXT, 'offset="@4"', WHOLE),
    "size": (TEXT, 'size="@12"', WHOLE),
    "from-layer": (TEXT, 'from-layer="@0"', WHOLE),
    "from-port": (TEXT, 'from-port="@0"', WHOLE),
    "to-layer": (TEXT, 'to-layer="@2"', WHOLE),
    "to-port": (TEXT, 'to-port="@1"', WHOLE),
    "axis": (PDPD, 'auto_broadcast_axis="@1"', WHOLE),
    "shape of a constant": (TEXT, 'shape="@3"', SIZES),
    "shape of a parameter": (CHAIN, 'shape="@3"', DIMS),
    "auto_broadcast": (TEXT, 'auto_broadcast="@numpy"', RULES),
    "min": (CLAMP, 'min="@-1e308"', FLOATS),
    "max": (CLAMP, 'max="@1e308"', FLOATS),
    "type of a parameter": (CHAIN, 'element_type="@i32"', TYPES),
    "type of a conversion": (CHAIN, 'destination_type="@f32"', TYPES),
    "type of a constant": (CONSTANT, 'element_type="@i32"', NO_TEXTS),
    "precision": (CONSTANT, 'precision="@I32"', TYPES),
}
"""Places of values: a text, what stands there (behind ``@`` the value), and how it is written."""

PREFIX = "openvino reads the number that a text begins with"
LARGEST = "openvino takes a bound that is not one, or none, for the largest or for 0"
TAKEN = {
    "axis": dict.fromkeys(["1.0", "1e0", "1_1", "1x", "1,", "1 1"], PREFIX),
    "shape of a constant": dict.fromkeys(["3.0", "3,", "3]", "3x", "3e0", "1,3,", "1 3"], PREFIX),
    "shape of a parameter": dict.fromkeys(["-3", "3..1", "-1..3", "1..-1", "-2", "9223372036854775808", "-", "..-1",
                                           "-1.."], LARGEST),
    "min": dict.fromkeys(["0x1", "1_0", "1,5", "1x", "1f"], PREFIX),
    "max": dict.fromkeys(["0x1", "1_0", "1,5", "1x", "1f"], PREFIX),
}  # fmt: skip
"""What openvino reads and this package refuses, with the reason, by place."""


def written(place: str) -> Iterator[tuple[str, bytes]]:
    """Yield each way to write a place's value, and the file."""
    text, holder, values = PLACES[place]
    start, _, plain = holder.rpartition("@")
    plain, end = plain.split('"')
    for form in values:
        value = form.replace("n", plain) if values is WHOLE else form
        now = quoteattr(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})[1:-1]
        assert f'{start}{plain}"{end}' in text
        yield value, text.replace(f'{start}{plain}"{end}', f'{start}{now}"{end}', 1).encode()


@pytest.fixture(scope="module")
def core() -> Any:
    return ov.Core()


def by_openvino(core: Any, data: bytes) -> Any:
    """What openvino reads: the results' types and shapes, and the bounds of a Clamp; ``None`` where it refuses."""
    try:
        model = core.read_model(data, WEIGHTS)
    except RuntimeError:
        return None
    bounds = [op.get_attributes() for op in model.get_ordered_ops() if op.get_type_name() == "Clamp"]
    return [(one.element_type.get_type_name(), str(one.partial_shape)) for one in model.outputs], bounds


def by_this_package(data: bytes) -> Any:
    try:
        model = read(data, WEIGHTS)
    except MinuendError:
        return None
    clamps = [layer.data for layer in model.layers if layer.type == "Clamp"]
    bounds = [{name: float(one[name]) for name in ("max", "min")} for one in clamps]
    shapes = [(one.element, "[...]" if one.shape is None else shown(one.shape)) for one in model.outputs.values()]
    return shapes, bounds


def shown(shape: Any) -> str:
    """A shape as openvino writes it."""
    ends = [(dim, dim) if isinstance(dim, int) else (0, None) if dim is None else dim for dim in shape]
    return "[" + ",".join(map(_dim, ends)) + "]"


def _dim(ends: tuple[int, int | None]) -> str:
    low, high = (0, None) if ends == (2**63 - 1,) * 2 else ends  # the largest size is shown as an unknown one
    if high is None:
        return f"{low}.." if low else "?"
    return str(low) if low == high else f"{low or ''}..{high}"


@pytest.mark.parametrize("place", PLACES)
def test_each_way_to_write_a_value_is_read_as_openvino_reads_it(core: Any, place: str) -> None:
    taken = TAKEN.get(place, {})
    for value, data in written(place):
        theirs, ours = by_openvino(core, data), by_this_package(data)
        assert (theirs if value not in taken else (None if theirs is not None else "refused")) == ours, (value, theirs)


def judged(kind: str, *, count: int = 2, opset: str = "opset1", outputs: int = 1, data: Any = None) -> list[str]:
    """What check says of a subtraction behind a layer."""
    builder = Builder()
    inputs = [builder.parameter(f"x{i}", "f32", (4,)) for i in range(count)]
    made = builder.layer(kind, "m", inputs, data, opset=opset, outputs=[Type("f32", (4,))] * outputs)
    builder.result(builder.subtract("s", Ref(made, 0), builder.parameter("z", "f32", (4,))))
    model = read(*builder.model.to_bytes())
    return [f"{one.verdict}: {one.reason}" for one in check(model, "openvino-cpu@2026.4.1")]


def test_a_layers_type_is_judged_alike_in_any_case(core: Any) -> None:
    (plain,) = judged("Multiply")
    assert plain.startswith("different-numbers: Mul(x, x) - x differs from ")
    assert [judged(case("Multiply")) for case in CASES] == [[plain]] * len(CASES)
    for kind in {*NAMES, *SAME, *OTHERS, *KINDS} - {"Const", "Result"}:
        assert {canonical(case(kind)) for case in CASES} == {kind}
    for kind in ("Add", "Divide", "FloorMod", "Maximum", "Minimum", "Mod", "Multiply", "Power"):
        for case in CASES:
            core.read_model(TEXT.replace('"Subtract"', f'"{case(kind)}"').encode(), WEIGHTS)


def test_pdpd_of_a_select_is_pdpd_in_any_case() -> None:
    for stated in ("pdpd", "PDPD"):
        builder = Builder()
        x, zero = builder.parameter("x", "i64", (2, 2)), builder.constant("zero", np.int64([0, 0]))
        small = builder.layer("Less", "l", [x, zero], {"auto_broadcast": stated}, outputs=[Type("boolean", (2, 2))])
        made = builder.layer("Select", "m", [Ref(small, 0), zero, x], {"auto_broadcast": stated},
                             outputs=[Type("i64", (2, 2))])  # fmt: skip
        builder.result(builder.subtract("s", Ref(made, 0), builder.constant("one", np.int64([1, 1]))))
        (found,) = occurrences(read(*builder.model.to_bytes()))
        assert found.operands[0].lo == -(2**63)


@pytest.mark.parametrize("data", [{}, {"axis": "0"}, {"axis": " 0 "}])
def test_an_axis_of_topk_that_is_not_stated_is_0(data: Any) -> None:
    stated = judged("TopK", opset="opset11", outputs=2, data={"axis": "0"})
    assert judged("TopK", opset="opset11", outputs=2, data=data) == stated


@pytest.mark.parametrize("axis", ["x", "1.5", "", "9" * 30])
def test_an_axis_of_topk_that_is_no_number_is_refused(axis: str) -> None:
    with pytest.raises(MinuendError) as found:
        judged("TopK", opset="opset11", outputs=2, data={"axis": axis})
    text = str(found.value)
    assert text.startswith("the IR, line ")
    assert text.endswith(f"layer 2 'm': attribute 'axis' is {axis!r}; expected a whole number")


def test_the_types_that_are_written_are_all_of_them() -> None:
    assert set(ELEMENT_TYPES) <= set(TYPES)
