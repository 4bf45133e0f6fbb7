"""Layers → XML and the bytes of the ``.bin``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from minuend.files.streaming.reading import Array, Source, blocks
from minuend.openvino.execution import layers as table
from minuend.openvino.ir import notation
from minuend.openvino.ir.pairing import Stream
from minuend.openvino.ir.sections import Input, Layer, Output, Section, Type
from minuend.openvino.ir.xml import Element, element

ALIGNMENT = 64
"""Constants that are added to the weights start at multiples of this many bytes, a line of a processor's cache."""


class Weights:
    """The bytes of a ``.bin`` to be written: those that were read, untouched, and new constants behind them.

    What was read stays where it was, for bodies and layers that this package does not know refer to it too.
    """

    def __init__(self, read: Source) -> None:
        self.read = read
        self.size = read.size
        self.added: list[tuple[int, Array]] = []
        self._placed: dict[int, int] = {}

    def place(self, content: Array) -> int:
        """Return the offset at which new bytes will lie; the same array lies there once."""
        if id(content) not in self._placed:
            offset = -(-self.size // ALIGNMENT) * ALIGNMENT
            self._placed[id(content)] = offset
            self.added.append((offset, content))
            self.size = offset + content.size
        return self._placed[id(content)]

    def write(self, stream: Stream) -> None:
        for block in blocks(self.read):
            stream.write(block.data)
        end = self.read.size
        for offset, content in self.added:
            stream.write(bytes(offset - end))
            stream.write(content.data)
            end = offset + content.size


def net(
    name: str, version: int, attributes: Mapping[str, str], section: Section, extra: Iterable[Element], read: Source
) -> tuple[Element, Weights]:
    root = element("net", {"name": name, "version": str(version), **attributes})
    weights = Weights(read)
    root.append(layers := element("layers", {}))
    root.append(edges := element("edges", {}))
    for layer in section.layers:
        layers.append(_layer(layer, weights))
        edges.extend(_edges(layer))
    root.extend(extra)
    return root, weights


def _layer(layer: Layer, weights: Weights) -> Element:
    head = {"id": str(layer.id), "name": layer.name, "type": layer.type, "version": layer.opset}
    written = element("layer", {**head, **layer.attributes})
    data = dict(layer.data)
    if layer.type in table.BROADCASTING and table.rule(layer) == "pdpd":
        data.setdefault(table.AXIS, str(table.AXIS_AS_READ))
    if layer.fresh and isinstance(layer.content, np.ndarray):
        data |= {"offset": str(weights.place(layer.content)), "size": str(layer.content.size)}
    block_read = next((child for child in layer.extra if child.tag == "data"), None)
    if data or block_read is not None:
        written.append(block := element("data", data))
        block.extend(block_read if block_read is not None else ())
    if layer.inputs:
        written.append(block := element("input", {}))
        block.extend(_input(port) for port in layer.inputs)
    if layer.outputs:
        written.append(block := element("output", {}))
        block.extend(_output(port) for port in layer.outputs)
    written.extend(child for child in layer.extra if child.tag != "data")
    return written


def _input(port: Input) -> Element:
    written = element("port", {"id": str(port.id), **port.attributes})
    if port.source is not None:
        type_ = port.source.port.type
        written.set("precision", notation.precision_text(type_.element))
        written.extend(_dims(type_))
    written.extend(port.extra)
    return written


def _output(port: Output) -> Element:
    head = {"id": str(port.id), "precision": notation.precision_text(port.type.element)}
    if port.names:
        head["names"] = notation.names_text(port.names)
    written = element("port", {**head, **port.attributes})
    written.extend(_dims(port.type))
    written.extend(port.extra)
    return written


def _dims(type_: Type) -> Iterator[Element]:
    for dim in type_.shape or ():
        written = element("dim", {})
        written.text = str(dim) if isinstance(dim, int) else "-1"
        yield written


def _edges(layer: Layer) -> Iterator[Element]:
    for port in layer.inputs:
        if port.source is not None:
            ends = {
                "from-layer": str(port.source.layer.id),
                "from-port": str(port.source.port.id),
                "to-layer": str(layer.id),
                "to-port": str(port.id),
            }
            yield element("edge", {**ends, **port.edge})
