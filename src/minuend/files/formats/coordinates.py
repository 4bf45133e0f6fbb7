"""Where the elements of a variable lie: the names of its axes, and what numbers stand along them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from minuend.files.stored_elements import Elements, InParts
from minuend.files.streaming.reading import Array
from minuend.files.streaming.regions import Region

Attributes: TypeAlias = Mapping[str, object]
"""What a file says of a variable, by name."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its name with the groups that it stands in, ``""`` where it has none, and its length.

    Attributes:
        grows: whether the file's format lets it grow. scales: paths of further coordinates along it, as HDF5 attaches
            them.
    """

    path: str
    size: int
    grows: bool = False
    scales: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Companion:
    """A variable that belongs to another one: coordinates, their bounds, the description of a coordinate system.

    Attributes:
        path: its name with the groups that it stands in. axes, attributes: its own. elements: finds its values.
    """

    path: str
    axes: tuple[Axis, ...]
    attributes: Attributes
    elements: Callable[[], Elements]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Part:
    """A variable that another one names for what it says of it, besides coordinates: bounds, formula terms, areas.

    Attributes:
        companion: it. owner: the path of the variable that names it. attribute: the one that does.
        label: the coordinates that it goes with, by name; ``""`` where it goes with the variable itself.
        meaning: its attributes with those that it has from its owner.
        settles: whether it says where elements lie, so that two that differ are of two places.
    """

    companion: Companion
    owner: str
    attribute: str
    label: str
    meaning: Attributes
    settles: bool


@dataclass(frozen=True, slots=True)
class Texts(InParts):
    """Texts of any length as Python has them: :class:`~minuend.files.stored_elements.Elements` of any format."""

    stored: Elements
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(object))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stored.shape

    def part(self, region: Region) -> Array:
        found = np.asarray(self.stored.part(region), object)
        texts = [one.decode(errors="replace") if isinstance(one, bytes) else str(one) for one in found.flat]
        return np.array([*texts, None], object)[:-1].reshape(found.shape)


@dataclass(frozen=True, slots=True)
class Letters(InParts):
    """Texts along whose last axis letters lie, as in netCDF; see :class:`~minuend.files.stored_elements.Elements`."""

    stored: Elements

    @property
    def dtype(self) -> np.dtype[Any]:
        """Texts of one length, filled with zeros."""
        return np.dtype(f"S{max(1, self.stored.shape[-1])}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stored.shape[:-1]

    def part(self, region: Region) -> Array:
        letters = self.stored.part((*region, slice(0, self.stored.shape[-1])))
        if not letters.size:
            return np.zeros(letters.shape[:-1], self.dtype)
        return np.ascontiguousarray(letters).view(self.dtype)[..., 0]


def text_of_letters(one: Companion) -> Companion:
    """Return a variable of letters as one of texts: its last axis is the length of a text."""
    attributes = {name: value for name, value in one.attributes.items() if name != "_Encoding"}  # UTF-8 from here on
    return replace(one, axes=one.axes[:-1], attributes=attributes, elements=lambda: Texts(Letters(one.elements())))


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Where the elements of a variable lie.

    Attributes:
        axes: its axes. labels: coordinates by name, or by path where others have the name: those of an axis bear its
            name. systems: what describes the coordinate systems. mapping: the text that names them.
        parts: what else belongs to the variable, by what it is of which other. left_out: names of what the variable
            refers to and is not copied.
    """

    axes: tuple[Axis, ...]
    labels: Mapping[str, Companion] = field(default_factory=lambda: MappingProxyType({}))
    systems: tuple[Companion, ...] = ()
    mapping: str = ""
    parts: Mapping[str, Part] = field(default_factory=lambda: MappingProxyType({}))
    left_out: tuple[str, ...] = ()

    @property
    def companions(self) -> tuple[Companion, ...]:
        """All that belongs to the variable."""
        parts = (one.companion for one in self.parts.values())
        return (*self.labels.values(), *parts, *self.systems)
