"""What is said about a module: its inputs, and the exporters and opsets that it is exported with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from torch import nn

SIZES = {
    "batch": (2, 3),
    "seq": (6, 9),
    "past": (4, 5),
    "memory": (5, 7),
    "samples": (400, 480),
    "frames": (10, 13),
    "height": (16, 24),
    "width": (16, 20),
    "nodes": (7, 10),
    "edges": (12, 15),
    "items": (5, 8),
}
"""The sizes that named dims have: while the module is exported, and in the tests. They differ, so a size that an
exporter has written into the model by mistake is found."""


@dataclass(frozen=True)
class Input:
    """An input of a module: the parameter of ``forward`` of that name.

    Attributes:
        dtype: NumPy's name. shape: sizes, and names of dims that stay dynamic.
        low, high: values are drawn from ``low <= x < high``; floats without a range from the normal distribution.
        values: used in the place of random ones.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    low: float | None = None
    high: float | None = None
    values: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Case:
    """A module with its inputs and exports (``"torchscript:13"``).

    Attributes:
        family: the part of the field that the module stands for. scripted: compiled by ``torch.jit.script`` for the
        TorchScript exporter, so that its ``if`` and ``for`` stay control flow.
    """

    name: str
    family: str
    module: Callable[[], nn.Module]
    inputs: tuple[Input, ...]
    exports: tuple[str, ...]
    scripted: bool = False


CASES: dict[str, Case] = {}
"""Every case by name, in the order of definition."""

ModuleType = TypeVar("ModuleType", bound=type[nn.Module])


def case(
    family: str, inputs: list[Input], exports: str, *, scripted: bool = False
) -> Callable[[ModuleType], ModuleType]:
    """Enter a module into the corpus under its name in snake case."""

    def enter(module: ModuleType) -> ModuleType:
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in module.__name__).lstrip("_")
        if name in CASES:
            raise ValueError(f"two modules are named {name!r}")
        CASES[name] = Case(name, family, module, tuple(inputs), tuple(exports.split()), scripted)
        return module

    return enter
