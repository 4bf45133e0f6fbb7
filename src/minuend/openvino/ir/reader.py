"""XML → layers: everything that a malformed file can get wrong is found here, with its line, layer and port."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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

    def fail(self, element: Element, place: str, message: str) -> FileFormatError:
        """Make the error about an element of the file."""
        return FileFormatError(f"{self.source}, line {element.line}: {place}: {message}")

    # ---- attributes -------------------------------------------------------------------------------------------

    def take(self, element: Element, place: str, name: str, reader: Callable[[str], T], rest: dict[str, str]) -> T:
        """Read a mandatory attribute, and take it out of what is left."""
        text = rest.pop(name, None)
        if text is None:
            raise self.fail(element, place, f"<{element.tag}> has no attribute {name!r}, which is mandatory")
        try:
            return reader(text)
        except ValueError as error:
            raise self.fail(element, place, f"attribute {name!r} of <{element.tag}> {error}") from None

    def only(self, parent: Element, place: str, tag: str) -> Element | None:
        """Return the one child of a name, or none."""
        found = [child for child in parent if child.tag == tag]
        if len(found) > 1:
            raise self.fail(_at(found[1]), place, f"there are {len(found)} <{tag}>; expected one")
        return _at(found[0]) if found else None

    # ---- the file ---------------------------------------------------------------------------------------------

    def net(self, root: Element) -> tuple[str, int, dict[str, str], Section]:
        """Read the whole: name, version of the format, further attributes, layers."""
        if root.tag.lower() != "net":
            raise self.fail(root, "the root", f"is <{cut(root.tag)}>; expected <net>")
        rest = dict(root.attrib)
        version = self.take(root, "the root", "version", notation.natural, rest)
        if version not in IR_VERSIONS:
            known = listed(IR_VERSIONS)
            raise self.fail(
                root, "the root", f"the format's version is {version}; expected {known} (export the model again)"
            )
        return rest.pop("name", ""), version, rest, self.section(root, "")

    def section(self, parent: Element, within: str) -> Section:
        """Read the layers and edges of a model, or of a body inside a layer."""
        place = within or "the model"
        holder, edges = self.only(parent, place, "layers"), self.only(parent, place, "edges")
        by_id: dict[int, Layer] = {}
        elements: dict[Layer, Element] = {}
        for child in _elements(holder, "layer"):
            layer = self.layer(child, within)
            if layer.id in by_id:
                first = by_id[layer.id]
                raise self.fail(
                    child,
                    _inside(within, layer.where),
                    f"id {layer.id} is taken by {shown(first.name)} (line {first.line})",
                )
            by_id[layer.id] = layer
            elements[layer] = child
        for child in _elements(edges, "edge"):
            self.edge(child, by_id, within)
        for layer, element in elements.items():
            self.check(layer, element, within)
        if round_trip := circle(list(by_id.values())):
            names = " to ".join(layer.where for layer in [*round_trip, round_trip[0]])
            raise self.fail(elements[round_trip[0]], _inside(within, round_trip[0].where), f"edges go round: {names}")
        return Section(layers=list(by_id.values()))

    # ---- layers -----------------------------------------------------------------------------------------------

    def layer(self, element: Element, within: str) -> Layer:
        """Read a layer, its ports and its data."""
        rest = dict(element.attrib)
        place = _inside(within, f"layer {cut(rest.get('id', '?'), 20)} {shown(rest.get('name', '?'), 200)}")
        number = self.take(element, place, "id", notation.natural, rest)
        name, kind, opset = (self.take(element, place, key, str, rest) for key in ("name", "type", "version"))
        layer = Layer(
            id=number,
            name=name,
            type=self.type_name(element, place, kind),
            opset=opset,
            attributes=rest,
            line=element.line,
        )
        data = self.only(element, place, "data")
        layer.data = dict(data.attrib) if data is not None else {}
        self.check_opset(layer, element, place)
        for child in _elements(self.only(element, place, "input"), "port"):
            layer.inputs.append(self.input(child, place))
        for child in _elements(self.only(element, place, "output"), "port"):
            layer.outputs.append(self.output(child, place))
        self.check_ids(element, place, layer)
        layer.extra = [_at(child) for child in element if child.tag not in ("data", "input", "output")]
        if data is not None and len(data):  # children of <data>: no layer that runs has any, keep them
            layer.extra.insert(0, data)
        for child in layer.extra:
            if child.find("layers") is not None:
                inner = f"{place}, {child.tag}"
                layer.bodies.append((child.tag, self.section(child, inner)))
        if layer.type == "Const":
            layer.content = self.constant(layer, element, place)
        return layer

    def type_name(self, element: Element, place: str, name: str) -> str:
        """Return a layer's type as the table has it."""
        found = canonical(name)
        if right := MISNAMED.get(name.lower()):
            raise self.fail(element, place, f"no opset has a type {shown(name)}; expected {right!r}")
        if found in ("Const", "Result") and name != found:
            raise self.fail(element, place, f"type {name!r} is not what the runtime takes for one; write {found!r}")
        return found

    def check_opset(self, layer: Layer, element: Element, place: str) -> None:
        """Check that a layer's opset holds the type."""
        kind = KINDS.get(layer.type)
        if kind is None:
            return
        known = [f"opset{n}" for n in kind.opsets]
        if layer.opset not in known:
            raise self.fail(
                element,
                place,
                f"{layer.type} of version {shown(layer.opset)}; expected {known[0]} to opset{OPSETS[-1]}",
            )

    def input(self, element: Element, place: str) -> Input:
        """Read an input port; what it says of types and shapes is not read by the runtime either."""
        rest = dict(element.attrib)
        number = self.take(element, f"{place}, an input port", "id", notation.natural, rest)
        rest.pop("precision", None)
        self.dims(element, f"{place}, input port {number}")
        return Input(id=number, attributes=rest, extra=_but_dims(element))

    def output(self, element: Element, place: str) -> Output:
        """Read an output port."""
        rest = dict(element.attrib)
        number = self.take(element, f"{place}, an output port", "id", notation.natural, rest)
        place = f"{place}, output port {number}"
        precision = self.take(element, place, "precision", notation.precision, rest)
        dims = self.dims(element, place)
        # Without dims it is a scalar, or of unknown rank: what fits both.
        declared = Type(precision, tuple(None if n == -1 else n for n in dims) if dims else None)
        names = notation.names(rest.pop("names", ""))
        return Output(id=number, type=declared, names=names, attributes=rest, extra=_but_dims(element))

    def dims(self, element: Element, place: str) -> list[int]:
        """Read a port's dims; -1 is an unknown one."""
        found = []
        for child in _elements(element, "dim"):
            try:
                found.append(notation.integer(child.text or "", least=-1))
            except ValueError as error:
                raise self.fail(child, place, f"dim {len(found)} {error}") from None
        return found

    def check_ids(self, element: Element, place: str, layer: Layer) -> None:
        """Check that no two ports have one number."""
        for side, ids in (("input", [p.id for p in layer.inputs]), ("output", [p.id for p in layer.outputs])):
            if len(set(ids)) < len(ids):
                twice = next(n for n, count in Counter(ids).items() if count > 1)
                raise self.fail(element, place, f"two {side} ports have the id {twice}")

    # ---- constants --------------------------------------------------------------------------------------------

    def constant(self, layer: Layer, element: Element, place: str) -> ByteRange:
        """Return where a constant's bytes lie, after all that can be wrong with them has been checked."""
        data = self.only(element, place, "data")
        if data is None:
            raise self.fail(element, place, "the constant has no <data>; expected element_type, shape, offset and size")
        rest = dict(data.attrib)
        name = self.take(data, place, "element_type", notation.element_type, rest)
        shape = self.take(data, place, "shape", notation.static_shape, rest)
        offset, size = (self.take(data, place, key, notation.natural, rest) for key in ("offset", "size"))
        weights = self.weights
        if weights is None:
            message = f"the constant lies in {self.weights_name}, which is not there; put it beside the .xml"
            weights = Missing(str(self.fail(data, place, message)))
        if offset + size > weights.size:
            raise self.fail(
                data,
                place,
                f"the constant's {size} bytes from offset {offset} on end beyond the {weights.size} of "
                f"{self.weights_name}",
            )
        wanted = notation.nbytes(name, math.prod(shape))
        if wanted is not None and size < wanted:
            raise self.fail(data, place, f"the constant has {size} bytes; {name} of shape {shape} takes {wanted}")
        return ByteRange(weights, offset, size)

    # ---- edges ------------------------------------------------------------------------------------------------

    def edge(self, element: Element, by_id: dict[int, Layer], within: str) -> None:
        """Connect an output to an input."""
        rest = dict(element.attrib)
        ends = {}
        place = _inside(within, "an edge")
        for key in ("from-layer", "from-port", "to-layer", "to-port"):
            ends[key] = self.take(element, place, key, notation.natural, rest)
        for key in ("from-layer", "to-layer"):
            if ends[key] not in by_id:
                raise self.fail(element, place, f"{key} is {ends[key]}, and no layer has that id")
        source, target = by_id[ends["from-layer"]], by_id[ends["to-layer"]]
        index = self.port(element, source, "output", ends["from-port"], within)
        port = target.inputs[self.port(element, target, "input", ends["to-port"], within)]
        if port.source is not None:
            raise self.fail(
                element,
                _inside(within, f"{target.where}, input port {port.id}"),
                f"two edges end here, from {port.source.layer.where} and from {source.where}; expected one",
            )
        port.source = Ref(source, index)
        port.edge = rest

    def port(self, element: Element, layer: Layer, side: Literal["input", "output"], number: int, within: str) -> int:
        """Return where a port of this number stands among a layer's."""
        ids = self._ports.get((layer, side))
        if ids is None:
            ports: Sequence[Input | Output] = layer.inputs if side == "input" else layer.outputs
            ids = self._ports[layer, side] = {port.id: i for i, port in enumerate(ports)}
        if number in ids:
            return ids[number]
        few = listed(ids, "and") if len(ids) < 20 else f"{', '.join(map(str, list(ids)[:20]))} and {len(ids) - 20} more"
        has = f"it has {few}" if ids else f"it has no {side} ports"
        raise self.fail(element, _inside(within, layer.where), f"an edge names {side} port {number}; {has}")

    def check(self, layer: Layer, element: Element, within: str) -> None:
        """Check that a layer that runs has the ports it takes, each with its edge."""
        kind, place = KINDS.get(layer.type), _inside(within, layer.where)
        if kind is None:
            return
        least, most = kind.inputs
        try:
            foreign = kind_of(layer) is None
        except SpecError as error:
            raise self.fail(element, place, error.message) from None
        if not foreign and not least <= len(layer.inputs) <= most:
            wanted = str(least) if least == most else f"{least} or {most}"
            raise self.fail(element, place, f"{layer.type} has {len(layer.inputs)} input ports; expected {wanted}")
        if len(layer.outputs) != kind.outputs and not (layer.type == "Result" and len(layer.outputs) == 1):
            raise self.fail(
                element, place, f"{layer.type} has {len(layer.outputs)} output ports; expected {kind.outputs}"
            )
        for port in layer.inputs:
            if port.source is None:
                raise self.fail(element, f"{place}, input port {port.id}", "no edge ends here; expected one")
        if layer.type == "Parameter" and self.only(element, place, "data") is None:
            raise self.fail(element, place, "the parameter has no <data>; expected shape and element_type")
        self.check_data(layer, element, place)

    def check_data(self, layer: Layer, element: Element, place: str) -> None:
        """Check what a layer's ``<data>`` says, as far as that needs no input."""
        try:
            if layer.type == "Parameter":
                table.element_type(layer, default="dynamic")
                table.parameter_shape(layer)
            elif layer.type == "Convert":
                table.element_type(layer, "destination_type")
            elif layer.type in table.BROADCASTING:
                table.broadcasting(layer)
        except SpecError as error:
            raise self.fail(element, place, error.message) from None


def _inside(within: str, place: str) -> str:
    return f"{within}, {place}" if within else place


def _at(element: object) -> Element:
    assert isinstance(element, Element)
    return element


def _elements(parent: Element | None, tag: str) -> Iterator[Element]:
    return (_at(child) for child in (parent if parent is not None else ()) if child.tag == tag)


def _but_dims(element: Element) -> list[Element]:
    return [_at(child) for child in element if child.tag != "dim"]
