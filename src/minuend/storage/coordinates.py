"""Where the elements of a variable lie: the names of its axes, and what numbers stand along them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minuend.storage.base import Elements

NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its name with the groups that it stands in, ``""`` where it has none, and its length.

    Attributes:
        grows: whether the file's format lets it grow.
    """

    path: str
    size: int
    grows: bool = False

    @property
    def name(self) -> str:
        """Its name alone."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Companion:
    """A variable that belongs to another one: coordinates, their bounds, the description of a coordinate system.

    Attributes:
        path: its name with the groups that it stands in. axes, attributes: its own. elements: finds its values.
    """

    path: str
    axes: tuple[Axis, ...]
    attributes: Mapping[str, Any]
    elements: Callable[[], Elements]

    @property
    def name(self) -> str:
        """Its name alone."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Where the elements of a variable lie.

    Attributes:
        axes: its axes. labels: coordinates by name: those of an axis bear its name. system: what describes the
            coordinate system, ``None`` where nothing does. bounds: of the coordinates.
    """

    axes: tuple[Axis, ...]
    labels: Mapping[str, Companion] = field(default_factory=lambda: NONE)
    system: Companion | None = None
    bounds: tuple[Companion, ...] = ()
