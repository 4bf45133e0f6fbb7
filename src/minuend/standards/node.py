"""``Node``: what an operator of every dialect becomes before anything is checked or computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from minuend.core import elements
from minuend.core.elements import ElementType
from minuend.core.shapes import Shape, check_dim, format_shape
from minuend.errors import ShapeError, shown
from minuend.standards import spelling
from minuend.standards.version import OpVersion


@dataclass(frozen=True, init=False)
class TensorType:
    """An element type and a shape, and what had to be assumed to know them.

    Args:
        dtype: an element type in any spelling (see :func:`minuend.standards.spelling.find`).
        shape: dims that are an ``int``, a name, ``None`` (unknown) or an interval ``(lo, hi)`` (``hi`` ``None``:
            open); ``None`` for an unknown rank.
        assumptions: sentences; inference fills them.

    Attributes:
        dtype: the element type's name. shape: a tuple of dims, or ``None``. assumptions: a tuple of sentences.

    Raises:
        DTypeError: an unknown element type. ShapeError: something that is no shape.

    >>> TensorType("tensor(float)", (2, "N", None, (1, 4)))
    TensorType(float32 (2, N, ?, 1..4))
    """

    dtype: str
    shape: Shape
    assumptions: tuple[str, ...]

    def __init__(self, dtype: object, shape: Iterable[object] | None = None, assumptions: Iterable[str] = ()) -> None:
        if shape is not None:
            if isinstance(shape, str) or not isinstance(shape, Iterable):
                raise ShapeError("shape", f"{shown(shape)} is no shape; expected a tuple of dims, or None")
            shape = tuple(check_dim(dim) for dim in shape)
        object.__setattr__(self, "dtype", spelling.find(dtype).name)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "assumptions", tuple(assumptions))

    @property
    def element(self) -> ElementType:
        return elements.TYPES[self.dtype]

    @property
    def rank(self) -> int | None:
        """Number of dims; ``None`` where it is unknown."""
        return None if self.shape is None else len(self.shape)

    def __repr__(self) -> str:
        return f"TensorType({self.dtype} {format_shape(self.shape)})"

    def __str__(self) -> str:
        return f"{self.dtype} {format_shape(self.shape)}"


@dataclass(frozen=True, kw_only=True)
class Node:
    """One operator on tensors, of some version of some dialect.

    Attributes:
        op: the version that governs it.
        operands: their types.
        attributes: what the node states, by name; defaults are not filled in.
        name: the node's own name, or ``""``. where: its place in its file, for messages.
    """

    op: OpVersion
    operands: tuple[TensorType, ...]
    attributes: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    name: str = ""
    where: str = ""

    @property
    def a(self) -> TensorType:
        return self.operands[0]

    @property
    def b(self) -> TensorType:
        return self.operands[1]

    def attribute(self, name: str) -> object:
        """What the node states of an attribute, or the version's default."""
        return self.attributes.get(name, self.op.attributes[name].default)
