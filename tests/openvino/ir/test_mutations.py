"""Across modules: IR with changed elements, attributes or bytes gives a result or an error of this package."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutated_documents import harmed_xml, in_words
from trials import try_each

from minuend.errors import FileFormatError, MinuendError
from minuend.judging.checking import check
from minuend.models.converting import convert
from minuend.openvino.execution import layers
from minuend.openvino.ir.sections import Type
from minuend.openvino.model import Model, read
from minuend.rewriting.fixing import fix

EXAMPLES = Path(__file__).parents[3] / "examples/openvino"

BODY = b"""<net name="m" version="11"><layers>
<layer id="0" name="a" type="Parameter" version="opset1"><data shape="2,3" element_type="u8"/>
<output><port id="0" precision="U8" names="a"><dim>2</dim><dim>3</dim></port></output></layer>
<layer id="1" name="k" type="Clamp" version="opset1"><data min="0" max="9"/><input><port id="0"/></input>
<output><port id="1" precision="U8"/></output></layer>
<layer id="2" name="if" type="If" version="opset8"><input><port id="0"/><port id="1"/></input>
<output><port id="2" precision="U8"><dim>2</dim><dim>3</dim></port></output>
<then_port_map><input external_port_id="1" internal_layer_id="0"/></then_port_map>
<then_body><layers>
<layer id="0" name="b" type="Parameter" version="opset1"><data shape="2,3" element_type="u8"/>
<output><port id="0" precision="U8"/></output></layer>
<layer id="1" name="s" type="Subtract" version="opset1"><data auto_broadcast="numpy"/>
<input><port id="0"/><port id="1"/></input><output><port id="2" precision="U8"/></output></layer>
<layer id="2" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>
<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/></edges></then_body></layer>
<layer id="3" name="t" type="Subtract" version="opset1">
<data auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="0"/>
<input><port id="0"/><port id="1"/></input><output><port id="2" precision="U8"/></output></layer>
<layer id="4" name="q" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="3" to-port="1"/>
<edge from-layer="3" from-port="2" to-layer="4" to-port="0"/></edges></net>"""
"""A Subtract in a body of an If, and one behind it."""

MODELS = [(path.read_bytes(), path.with_suffix(".bin").read_bytes()) for path in sorted(EXAMPLES.glob("*.xml"))]
MODELS.append((BODY, b""))


def inputs(model: Model) -> dict[str, Any]:
    """An array of small dims for each input, as far as there can be one."""
    return {name: _ones(type_) for name, type_ in model.inputs.items() if type_.element in layers.NUMERIC}


def _ones(type_: Type) -> Any:
    dims = [dim if isinstance(dim, int) and dim < 100 else 2 for dim in type_.shape or ()][:64]
    return np.ones(dims if np.prod(dims, dtype=float) < 1e6 else (), _memory(type_.element))


def _memory(element: str) -> np.dtype[Any]:
    return np.dtype(bool) if element == "boolean" else layers.NUMERIC[element].memory


def mutated(seed: int) -> bytes:
    return harmed_xml(random.Random(seed), MODELS[seed % len(MODELS)][0])


def test_a_mutated_model_works_or_is_refused_with_a_message() -> None:
    try_each(range(500), mutated, lambda seed, data: use(data, MODELS[seed % len(MODELS)][1]))


def use(xml: bytes, weights: bytes) -> None:
    """Read a model and do with it whatever there is to do."""
    model = None
    with in_words():
        model = read(xml, weights)
    if model is None:
        return
    for act in (
        lambda: model.run(inputs(model), max_bytes=1 << 24),
        lambda: (list(model.subtractions()), model.notes, repr(model)),
        lambda: check(model, ["openvino-cpu", "directml@5.1"]).to_json("test"),
        lambda: read(*model.to_bytes()),
        lambda: convert(model, "directml:5.1"),
        lambda: fix(model, "openvino-cpu", run=False),
    ):
        with in_words():
            act()


def test_an_id_of_many_digits_is_cut() -> None:
    with pytest.raises(FileFormatError) as caught:
        read(BODY.replace(b'id="2" name="if"', b'id="%s" name="if"' % (b"9" * 5000)))
    assert str(caught.value) == (
        f"the IR, line 6: layer {'9' * 20}… 'if': attribute 'id' of <layer> is '{'9' * 60}…'; "
        "expected a whole number from 0 on"
    )


@pytest.mark.parametrize("number", ["1_0", "١", "0x1", "1e999_", "nan", "1,5", "", " ", "--1", "infin"])
def test_a_bound_that_is_no_number_is_refused(number: str) -> None:
    with pytest.raises(MinuendError) as caught:
        read(BODY.replace(b'max="9"', f'max="{number}"'.encode()))
    assert str(caught.value) == f"attribute 'max' is {number!r}; expected a number, at layer 1 'k' of the IR"


def test_many_ports_take_no_longer_each() -> None:
    """Edges find their ports by number; 30,000 on one layer once took minutes."""
    count = 30_000
    ports = b"".join(b'<port id="%d"/>' % i for i in range(count))
    edges = b"".join(b'<edge from-layer="0" from-port="0" to-layer="9" to-port="%d"/>' % i for i in range(count))
    many = b'<layer id="9" name="c" type="Concat" version="opset1"><input>%s</input></layer></layers>\n<edges>' % ports
    head, _, tail = BODY.rpartition(b"</layers>\n<edges>")
    text = head + many + edges + tail
    start = time.process_time()
    assert len(read(text).layers) == 6
    with pytest.raises(FileFormatError, match="two input ports have the id 29998"):
        read(text.replace(b'<port id="29999"/>', b'<port id="29998"/>'))
    with pytest.raises(FileFormatError, match=r"input port 40000; it has 0, 1, 2, .*, 19 and 29980 more$"):
        read(text.replace(b'to-port="29999"', b'to-port="40000"'))
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    ("shape", "skipped"),
    [
        (",".join(["1"] * 65), "the input 'a' has rank 65, and NumPy's arrays end at 64"),
        ("1099511627776", "its inputs take more than 268435456 bytes"),
        ("0,9223372036854775807,9223372036854775807", None),
    ],
)
def test_shapes_that_no_array_has_are_judged_and_fixed_but_not_run(shape: str, skipped: str | None) -> None:
    head, _, tail = BODY.partition(b'<layer id="2" name="if"')
    _, _, tail = tail.partition(b'<layer id="3"')
    body = head + b'<layer id="3"' + tail
    for ends in (
        b'from-layer="0" from-port="0" to-layer="2" to-port="0"',
        b'from-layer="1" from-port="1" to-layer="2" to-port="1"',
    ):
        gone = b"<edge %s/>\n" % ends
        assert gone in body
        body = body.replace(gone, b"")
    body = body.replace(b'from-layer="2" from-port="2" to-layer="3"', b'from-layer="0" from-port="0" to-layer="3"')
    body = body.replace(b'<data shape="2,3"', b'<data shape="%s"' % shape.encode()).replace(b'max="9"', b'max="255"')
    body = body.replace(b"<dim>2</dim><dim>3</dim>", b"")
    model = read(body)
    assert [finding.verdict for finding in check(model, "openvino-cpu@2026.4.1")]
    comparison = fix(model, "openvino-cpu").comparison
    assert (None if comparison is None else comparison.skipped) == skipped
    with pytest.raises(MinuendError, match="input 'a' has shape"):
        model.run({"a": np.zeros((2, 2, 2, 2), np.uint8)})
