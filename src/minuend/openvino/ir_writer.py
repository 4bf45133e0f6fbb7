"""Layers → XML and the bytes of the ``.bin``, and the two files that appear together or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

import numpy as np

from minuend.openvino import layers as table
from minuend.openvino import notation
from minuend.openvino.ir import Array, Input, Layer, Output, Section, Type
from minuend.openvino.ir_xml import Element, element
from minuend.storage.base import atomic

ALIGNMENT = 64
"""Constants that are added to the weights start at multiples of this many bytes, a line of a processor's cache."""


class Weights:
    """The bytes of a ``.bin`` to be written: those that were read, untouched, and new constants behind them.

    What was read stays where it was, for bodies and layers that this package does not know refer to it too.
    """

    def __init__(self, read: Array) -> None:
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

    def write(self, stream: BinaryIO) -> None:
        """Write all bytes to a stream."""
        stream.write(self.read.data)
        end = self.read.size
        for offset, content in self.added:
            stream.write(bytes(offset - end))
            stream.write(content.data)
            end = offset + content.size


def net(
    name: str, version: int, attributes: Mapping[str, str], section: Section, extra: Iterable[Element], read: Array
) -> tuple[Element, Weights]:
    """Return a model's XML and weights."""
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
    if layer.fresh and layer.content is not None:
        data |= {"offset": str(weights.place(layer.content)), "size": str(layer.content.size)}
    kept = next((child for child in layer.extra if child.tag == "data"), None)
    if data or kept is not None:
        written.append(block := element("data", data))
        block.extend(kept if kept is not None else ())
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


# ---- two files, together or not at all ------------------------------------------------------------------------


@contextlib.contextmanager
def atomic_pair(first: str, second: str, inputs: Iterable[str] = ()) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open temporary files beside two paths, which take those names, the first one first, when the block ends well.

    On any error what stood at the paths stands there again.

    Raises:
        MinuendError: a path is one of ``inputs``. OSError: it cannot be written there.
    """
    inputs, goal = tuple(inputs), os.path.realpath(first)
    kept, existed, renamed = f"{goal}.{secrets.token_hex(4)}.kept", os.path.exists(goal), False
    try:
        with atomic(second, inputs) as last:
            with atomic(first, inputs) as stream:
                yield stream, last
                with contextlib.suppress(OSError):  # nothing there yet, or a file system without links
                    os.link(goal, kept)
            renamed = True
    except BaseException:
        if os.path.exists(kept):
            os.replace(kept, goal)
        elif renamed and not existed:
            os.unlink(goal)
        raise
    finally:  # renaming one of a file's two names to the other leaves both
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kept)


def no_bytes() -> Array:
    """Return the weights of a model that has none."""
    return np.empty(0, np.uint8)
