"""The parts of an IR in memory: layers, their ports, and what flows between them.

An input port holds a reference to the output that feeds it; edges exist in files only. What a file says that this
package has no use for (unknown attributes, ``rt_info``, bodies of loops) stays with the part that it belongs to, and is
written back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from minuend.core.shapes import Shape
from minuend.errors import FileFormatError, shown
from minuend.files.streaming.reading import Array, ByteRange
from minuend.openvino.ir.xml import Element


class Missing:
    """The bytes of a ``.bin`` that is not there: of any size, and not to be read.

    Args:
        message: of the error of whoever reads them.
    """

    size = 1 << 63

    def __init__(self, message: str) -> None:
        self.message = message

    def read(self, offset: int, size: int) -> Array:
        raise FileFormatError(self.message)

    def read_into(self, offset: int, buffer: Array) -> None:
        raise FileFormatError(self.message)


@dataclass(frozen=True, slots=True)
class Type:
    """What is known of a tensor: OpenVINO's name of its element type (``dynamic``: none yet), and its shape."""

    element: str
    shape: Shape


class Ref(NamedTuple):
    """One output of a layer."""

    layer: Layer
    output: int

    @property
    def port(self) -> Output:
        return self.layer.outputs[self.output]


@dataclass(eq=False, slots=True, kw_only=True)
class Output:
    """An output port: its number, its type, and the tensor names of what leaves it."""

    id: int
    type: Type
    names: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)
    extra: list[Element] = field(default_factory=list)


@dataclass(eq=False, slots=True, kw_only=True)
class Input:
    """An input port: its number and what feeds it."""

    id: int
    source: Ref | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    extra: list[Element] = field(default_factory=list)
    edge: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False, slots=True, kw_only=True)
class Layer:
    """A layer.

    Attributes:
        id, name, type, opset: as the file has them (``version`` is the opset).
        data: the attributes of ``<data>``, as texts.
        inputs, outputs: its ports, in order.
        attributes, extra: further attributes and child elements.
        bodies: the sections inside it (of If, Loop, TensorIterator), for reading; ``extra`` holds their elements.
        content: of a Const, its bytes as a file holds them, as a flat uint8 array, or where in the ``.bin`` they lie;
            ``None`` elsewhere.
        fresh: whether ``content`` is not in the model's weights yet.
        line: where the file has it; 0 if it came from no file.
    """

    id: int
    name: str
    type: str
    opset: str
    data: dict[str, str] = field(default_factory=dict)
    inputs: list[Input] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    extra: list[Element] = field(default_factory=list)
    bodies: list[tuple[str, Section]] = field(default_factory=list)
    content: Array | ByteRange | None = None
    fresh: bool = False
    line: int = 0

    @property
    def where(self) -> str:
        """The layer's place in messages."""
        return f"layer {self.id} {shown(self.name, 200)}"

    @property
    def is_missing(self) -> bool:
        """Whether it is a Const whose ``.bin`` is not there."""
        return isinstance(self.content, ByteRange) and isinstance(self.content.source, Missing)

    def stored(self) -> Array:
        """Return the bytes of a Const, read-only; refused where its ``.bin`` is another, is gone or became shorter."""
        assert self.content is not None
        return self.content.read() if isinstance(self.content, ByteRange) else self.content

    @property
    def refs(self) -> tuple[Ref, ...]:
        """Its outputs."""
        return tuple(Ref(self, i) for i in range(len(self.outputs)))

    def sources(self) -> list[Ref]:
        """What feeds each input; inputs without an edge are left out."""
        return [port.source for port in self.inputs if port.source is not None]


@dataclass(eq=False, slots=True, kw_only=True)
class Section:
    """Layers that feed each other: a model's, or those of a body."""

    layers: list[Layer] = field(default_factory=list)

    def order(self) -> list[Layer]:
        """The layers that results depend on, and all Parameters, each after what feeds it.

        The file has been checked: nothing feeds itself.
        """
        done = dict.fromkeys(layer for layer in self.of_type("Parameter") if not layer.inputs)
        for root in self.layers:
            if root.type not in ROOTS:
                continue
            stack: list[tuple[Layer, Iterator[Ref]]] = [(root, iter(root.sources()))]
            while stack:
                _, sources = stack[-1]
                below = next((ref.layer for ref in sources if ref.layer not in done), None)
                if below is not None:
                    stack.append((below, iter(below.sources())))
                else:
                    done[stack.pop()[0]] = None
        return list(done)

    def of_type(self, name: str) -> Iterator[Layer]:
        """The layers of one type, in the file's order."""
        return (layer for layer in self.layers if layer.type == name)


ROOTS = ("Result", "Assign")
"""Types of layers for whose sake a model runs; what none of them depends on is dropped by the runtime."""


def circle(layers: Sequence[Layer]) -> list[Layer]:
    """Return layers that feed each other in a circle, first to last; none where there is no such circle."""
    try:
        TopologicalSorter({layer: [ref.layer for ref in layer.sources()] for layer in layers}).prepare()
    except CycleError as error:
        return list(error.args[1][1:])
    return []
