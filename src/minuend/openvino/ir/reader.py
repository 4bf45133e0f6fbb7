"""XML → layers: everything that a malformed file can get wrong is found here, with its line, layer and port."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from minuend.errors import FileFormatError, SpecError, cut, listed, shown
from minuend.files.streaming.reading import ByteRange, Source
from minuend.openvino.execution import layers as table
from minuend.openvino.execution.layers import KINDS, MISNAMED, canonical, kind_of
from minuend.openvino.ir import notation
from minuend.openvino.ir.sections import Input, Layer, Missing, Output, Ref, Section, Type, circle
from minuend.openvino.ir.xml import Element
from minuend.openvino.versions import OPSETS

T = TypeVar("T")

IR_VERSIONS = (10, 11)
"""The versions of the format that are read and written."""


@dataclass
class _Part:
    """An element of a file, what messages call its place, and the attributes that are not read yet (``rest``)."""

    source: str
    element: Element
    place: str

    def __post_init__(self) -> None:
        self.rest = dict(self.element.attrib)

    def fail(self, message: str, place: str = "") -> FileFormatError:
        return FileFormatError(f"{self.source}, line {self.element.line}: {place or self.place}: {message}")

    def take(self, name: str, reader: Callable[[str], T]) -> T:
        """Read a mandatory attribute, and take it out of what is left."""
        text = self.rest.pop(name, None)
        if text is None:
            raise self.fail(f"<{self.element.tag}> has no attribute {name!r}, which is mandatory")
        try:
            return reader(text)
        except ValueError as error:
            raise self.fail(f"attribute {name!r} of <{self.element.tag}> {error}") from None

    def at(self, element: object, place: str = "") -> _Part:
        """Return another element, by default of the same place."""
        return _Part(self.source, _element(element), place or self.place)

    def only(self, tag: str) -> _Part | None:
        """Return the one child of a name, or none."""
        found = list(_children(self, tag))
        if len(found) > 1:
            raise found[1].fail(f"there are {len(found)} <{tag}>; expected one")
        return found[0] if found else None


def _children(part: _Part | None, tag: str) -> Iterator[_Part]:
    return iter(()) if part is None else (part.at(child) for child in part.element if child.tag == tag)


class Reader:
    """Reads the sections of one file.

    Args:
        source: what messages call the file. weights: the bytes of its ``.bin``; ``None`` where there is none: then its
            constants cannot be read.
        weights_name: what messages call those.
    """

    def __init__(self, source: str, weights: Source | None, weights_name: str) -> None:
        self.source = source
        self.weights = weights
        self.weights_name = weights_name
        self._ports: dict[tuple[Layer, str], dict[int, int]] = {}  # where each port's id stands, as edges refer to it

    def net(self, root: Element) -> tuple[str, int, dict[str, str], Section]:
        part = _Part(self.source, root, "the root")
        if root.tag.lower() != "net":
            raise part.fail(f"is <{cut(root.tag)}>; expected <net>")
        version = part.take("version", notation.natural)
        if version not in IR_VERSIONS:
            known = listed(IR_VERSIONS)
            raise part.fail(f"the format's version is {version}; expected {known} (export the model again)")
        return part.rest.pop("name", ""), version, part.rest, self.section(part.at(root, "the model"), "")

    def section(self, parent: _Part, within: str) -> Section:
        """Read the layers and edges of a model, or of a body inside a layer."""
        holder, edges = parent.only("layers"), parent.only("edges")
        by_id: dict[int, Layer] = {}
        parts: dict[Layer, _Part] = {}
        for part in _children(holder, "layer"):
            layer = self.layer(part, within)
            if layer.id in by_id:
                first = by_id[layer.id]
                raise part.fail(f"id {layer.id} is taken by {shown(first.name)} (line {first.line})")
            by_id[layer.id] = layer
            parts[layer] = part
        for part in _children(edges, "edge"):
            self.edge(part, by_id, within)
        for layer, part in parts.items():
            _check(layer, part)
        if round_trip := circle(list(by_id.values())):
            names = " to ".join(layer.where for layer in [*round_trip, round_trip[0]])
            raise parts[round_trip[0]].fail(f"edges go round: {names}")
        return Section(layers=list(by_id.values()))

    def layer(self, part: _Part, within: str) -> Layer:
        rest = part.rest
        part.place = _inside(within, f"layer {cut(rest.get('id', '?'), 20)} {shown(rest.get('name', '?'), 200)}")
        number = part.take("id", notation.natural)
        name, kind, opset = (part.take(key, str) for key in ("name", "type", "version"))
        kind = _type_name(part, kind)
        layer = Layer(id=number, name=name, type=kind, opset=opset, attributes=rest, line=part.element.line)
        data = part.only("data")
        layer.data = {} if data is None else dict(data.rest)
        _check_opset(layer, part)
        layer.inputs = [_input(child) for child in _children(part.only("input"), "port")]
        layer.outputs = [_output(child) for child in _children(part.only("output"), "port")]
        _check_ids(layer, part)
        layer.extra = _but(part, "data", "input", "output")
        if data is not None and len(data.element):  # children of <data>: no layer that runs has any, keep them
            layer.extra.insert(0, data.element)
        for child in layer.extra:
            if child.find("layers") is not None:
                inner = f"{part.place}, {child.tag}"
                layer.bodies.append((child.tag, self.section(part.at(child, inner), inner)))
        if layer.type == "Const":
            layer.content = self.constant(part, data)
        part.place = _inside(within, layer.where)
        return layer

    def constant(self, part: _Part, data: _Part | None) -> ByteRange:
        """Return where a constant's bytes lie, after all that can be wrong with them has been checked."""
        if data is None:
            raise part.fail("the constant has no <data>; expected element_type, shape, offset and size")
        name = data.take("element_type", notation.constant_type)
        shape = data.take("shape", notation.static_shape)
        offset, size = (data.take(key, notation.natural) for key in ("offset", "size"))
        weights = self.weights
        if weights is None:
            message = f"the constant lies in {self.weights_name}, which is not there; put it beside the .xml"
            weights = Missing(str(data.fail(message)))
        if offset + size > weights.size:
            raise data.fail(
                f"the constant's {size} bytes from offset {offset} on end beyond the {weights.size} of "
                f"{self.weights_name}"
            )
        wanted = notation.nbytes(name, math.prod(shape))
        if wanted is not None and size < wanted:
            raise data.fail(f"the constant has {size} bytes; {name} of shape {shape} takes {wanted}")
        return ByteRange(weights, offset, size)

    def edge(self, part: _Part, by_id: dict[int, Layer], within: str) -> None:
        part.place = _inside(within, "an edge")
        keys = ("from-layer", "from-port", "to-layer", "to-port")
        ends = {key: part.take(key, notation.natural) for key in keys}
        for key in ("from-layer", "to-layer"):
            if ends[key] not in by_id:
                raise part.fail(f"{key} is {ends[key]}, and no layer has that id")
        source, target = by_id[ends["from-layer"]], by_id[ends["to-layer"]]
        index = self.port(part, source, "output", ends["from-port"], within)
        port = target.inputs[self.port(part, target, "input", ends["to-port"], within)]
        if port.source is not None:
            both = f"{port.source.layer.where} and from {source.where}"
            place = _inside(within, f"{target.where}, input port {port.id}")
            raise part.fail(f"two edges end here, from {both}; expected one", place)
        port.source, port.edge = Ref(source, index), part.rest

    def port(self, part: _Part, layer: Layer, side: Literal["input", "output"], number: int, within: str) -> int:
        """Return where a port of this number stands among a layer's."""
        ids = self._ports.get((layer, side))
        if ids is None:
            ids = self._ports[layer, side] = {number: i for i, number in enumerate(_ids(layer, side))}
        if number in ids:
            return ids[number]
        few = listed(ids, "and") if len(ids) < 20 else f"{', '.join(map(str, list(ids)[:20]))} and {len(ids) - 20} more"
        has = f"it has {few}" if ids else f"it has no {side} ports"
        raise part.fail(f"an edge names {side} port {number}; {has}", _inside(within, layer.where))


# ---- layers and ports -----------------------------------------------------------------------------------------


def _type_name(part: _Part, name: str) -> str:
    found = canonical(name)
    if right := MISNAMED.get(name.lower()):
        raise part.fail(f"no opset has a type {shown(name)}; expected {right!r}")
    if found in ("Const", "Result") and name != found:
        raise part.fail(f"type {name!r} is not what the runtime takes for one; write {found!r}")
    return found


def _check_opset(layer: Layer, part: _Part) -> None:
    known = [f"opset{n}" for n in KINDS[layer.type].opsets] if layer.type in KINDS else [layer.opset]
    if layer.opset not in known:
        wanted = f"{known[0]} to opset{OPSETS[-1]}"
        raise part.fail(f"{layer.type} of version {shown(layer.opset)}; expected {wanted}")


def _port_id(part: _Part, side: str) -> int:
    place = part.place
    part.place = f"{place}, an {side} port"
    number = part.take("id", notation.natural)
    part.place = f"{place}, {side} port {number}"
    return number


def _input(part: _Part) -> Input:
    """Read an input port; what it says of types and shapes is not read by the runtime either."""
    number = _port_id(part, "input")
    part.rest.pop("precision", None)
    _dims(part)
    return Input(id=number, attributes=part.rest, extra=_but(part, "dim"))


def _output(part: _Part) -> Output:
    number, precision, dims = _port_id(part, "output"), part.take("precision", notation.precision), _dims(part)
    # Without dims it is a scalar, or of unknown rank: what fits both.
    declared = Type(precision, tuple(None if n == -1 else n for n in dims) if dims else None)
    names = notation.names(part.rest.pop("names", ""))
    return Output(id=number, type=declared, names=names, attributes=part.rest, extra=_but(part, "dim"))


def _dims(part: _Part) -> list[int]:
    """Read a port's dims; -1 is an unknown one."""
    found: list[int] = []
    for child in _children(part, "dim"):
        try:
            found.append(notation.integer(child.element.text or "", least=-1))
        except ValueError as error:
            raise child.fail(f"dim {len(found)} {error}") from None
    return found


def _ids(layer: Layer, side: Literal["input", "output"]) -> list[int]:
    return [port.id for port in (layer.inputs if side == "input" else layer.outputs)]


def _check_ids(layer: Layer, part: _Part) -> None:
    for side in ("input", "output"):
        twice = [n for n, count in Counter(_ids(layer, side)).items() if count > 1]
        if twice:
            raise part.fail(f"two {side} ports have the id {twice[0]}")


def _check(layer: Layer, part: _Part) -> None:
    """Check that a layer that runs has the ports it takes, each with its edge."""
    kind = KINDS.get(layer.type)
    if kind is None:
        _check_data(layer, part)
        return
    least, most = kind.inputs
    try:
        foreign = kind_of(layer) is None
    except SpecError as error:
        raise part.fail(error.message) from None
    if not foreign and not least <= len(layer.inputs) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise part.fail(f"{layer.type} has {len(layer.inputs)} input ports; expected {wanted}")
    if len(layer.outputs) != kind.outputs and not (layer.type == "Result" and len(layer.outputs) == 1):
        raise part.fail(f"{layer.type} has {len(layer.outputs)} output ports; expected {kind.outputs}")
    for port in layer.inputs:
        if port.source is None:
            raise part.fail("no edge ends here; expected one", f"{part.place}, input port {port.id}")
    if layer.type == "Parameter" and part.only("data") is None:
        raise part.fail("the parameter has no <data>; expected shape and element_type")
    _check_data(layer, part)


def _check_data(layer: Layer, part: _Part) -> None:
    """Check what a layer's ``<data>`` says, as far as that needs no input."""
    try:
        if layer.type == "Parameter":
            table.element_type(layer, default="dynamic")
            table.parameter_shape(layer)
        elif layer.type == "Convert":
            table.element_type(layer, "destination_type")
        elif layer.type == "TopK":
            table.axis(layer)
        elif layer.type in table.BROADCASTING:
            table.broadcasting(layer)
    except SpecError as error:
        raise part.fail(error.message) from None


def _inside(within: str, place: str) -> str:
    return f"{within}, {place}" if within else place


def _element(element: object) -> Element:
    assert isinstance(element, Element)
    return element


def _but(part: _Part, *tags: str) -> list[Element]:
    """The children of other names."""
    return [_element(child) for child in part.element if child.tag not in tags]
