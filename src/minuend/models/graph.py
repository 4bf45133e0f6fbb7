"""The waist between formats: a graph of the few operators that every dialect can say.

A dialect's ``lifting.py`` turns its model into a :class:`Graph`, its ``lowering.py`` a graph into its model. What a
format can say beyond these operators is not converted: it is refused, each node with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from minuend.core.shapes import Broadcast, Dim
from minuend.errors import SpecError
from minuend.files.streaming.reading import Array
from minuend.names import unused
from minuend.standards.node import TensorType

Kind: TypeAlias = Literal["subtract", "cast", "identity", "reshape", "unsqueeze", "squeeze", "expand"]


class Refused(Exception):
    """What a graph, or a format, cannot say; the message is the reason."""


@dataclass(kw_only=True)
class Attempts:
    """A model that is lifted or lowered piece by piece, so that all that stands in the way is reported.

    Attributes:
        nodes: the reasons of what is refused, by place.
    """

    nodes: dict[str, str] = field(default_factory=dict)

    def attempt(self, place: str, work: Callable[..., None], *given: object) -> bool:
        """Do one piece; whether it is not refused."""
        try:
            work(*given)
        except Refused as error:
            self.nodes[place] = str(error)
        except SpecError as error:
            self.nodes[place] = error.message
        return place not in self.nodes


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the graph: its type, and its elements where it is constant (unpacked, in native byte order)."""

    name: str
    type: TensorType
    constant: Array | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One operator.

    Attributes:
        kind: what it does. ``cast`` goes to the type of its output.
        inputs: names of values: A and B of a subtraction, else one. output: the name of the value that it makes.
        name: the node's own name in its file, or ``""``. where: its place there.
        joined: of a subtraction, how the shapes join (any of the four rules: ``b_start`` says where B sits in A).
        shape: of ``reshape`` the new dims, at most one -1; of ``expand`` the dims that it broadcasts to, both ways.
        axes: of ``unsqueeze`` and ``squeeze``, not negative, in the output's and the input's dims.
    """

    kind: Kind
    inputs: tuple[str, ...]
    output: str
    name: str = ""
    where: str = ""
    joined: Broadcast | None = None
    shape: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()


@dataclass
class Graph:
    """Steps in an order in which each can run, over values by name.

    Attributes:
        name: the graph's name. inputs, outputs: names of values, in order. values: every value by name.
        losses: what the model said that a graph cannot hold (documentation, metadata, …), a sentence each.
    """

    name: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)

    def add(self, value: Value) -> Value:
        """Add a value; names are unique."""
        if value.name in self.values:
            raise ValueError(f"the graph has two values {value.name!r}")
        self.values[value.name] = value
        return value

    def dims(self, name: str) -> tuple[Dim, ...]:
        """Return a value's shape; refused where not even its rank is known."""
        shape = self.values[name].type.shape
        if shape is None:
            raise Refused(f"the rank of {name!r} is not known")
        return shape

    def constants(self) -> Iterator[Value]:
        return (value for value in self.values.values() if value.constant is not None)

    def fresh(self, base: str) -> str:
        """Return a name that no value has yet."""
        return unused(base, self.values)
