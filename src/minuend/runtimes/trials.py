"""What a runtime gave for a whole model, as it is, compared with the contract's own evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minuend.plain import LEFT_OUT

if TYPE_CHECKING:
    from minuend.runtimes.severity import Severity


@dataclass(frozen=True, slots=True)
class Different:
    """An element that differs: where, at which index, what came, and what was expected."""

    place: str
    index: tuple[int, ...]
    got: str
    expected: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One output.

    Attributes:
        name, dtype: the output. elements, different: how many were compared, and how many of them differ.
        first: the first that does. allowed: how far elements may be from float64's; ``None``: not a bit.
        farthest: how far the farthest was from float64's, where that is bounded.
        unequal: how many have other bits than the contract's own evaluation. ulps, distance: how far the farthest of
            those is from it; ``None`` for no ulps where they are not counted.
        numbers: how many of those that differ are another number: no zero of the other sign.
    """

    name: str
    dtype: str
    elements: int
    different: int = 0
    first: Different | None = None
    allowed: float | None = None
    farthest: float = 0.0
    unequal: int = 0
    ulps: int | None = None
    distance: float = 0.0
    numbers: int = field(default=0, metadata=LEFT_OUT)


def closeness(outputs: Sequence[Answered]) -> str:
    """Say how near outputs are of which none differs.

    >>> closeness([Answered("y", "float32", 8)])
    'bit-identical'
    >>> closeness([Answered("y", "float32", 8, allowed=1e-6, unequal=2, ulps=3, distance=2.5e-7)])
    'within rounding: 2 of 8 elements differ, by at most 3 ulps, 2.5e-07'
    """
    some = [one for one in outputs if one.unequal]
    if not some:
        return "bit-identical"
    ulps = max((one.ulps for one in some if one.ulps is not None), default=None)
    far = f"{max(one.distance for one in some):.2g}"
    far = far if ulps is None else f"{ulps:,} {'ulp' if ulps == 1 else 'ulps'}, {far}"
    total = sum(one.elements for one in outputs)
    return f"within rounding: {sum(one.unequal for one in some)} of {total} elements differ, by at most {far}"


@dataclass(frozen=True, slots=True)
class Place:
    """The first place where numbers leave the contract, on the way to an output.

    Attributes:
        location, operator: the node. output: the output that it was found from. first: an element of its result.
        elements, different: of its result. together: nodes that the runtime computes with it, so that what lies
            between cannot be seen without changing it. subtraction: whether one of all these is a subtraction.
        cut: whether it was found by making values outputs although that changes bits of the model's own outputs, which
            stay wrong; without, looking changes nothing.
    """

    location: str
    operator: str
    output: str
    first: Different
    elements: int
    different: int
    together: tuple[str, ...] = ()
    subtraction: bool = False
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What an installed runtime gave for a model.

    Attributes:
        target: the requested target. runtime: the release that ran, as ``"openvino-cpu@2026.4.1"``.
        hint: its precision setting. inputs: which inputs were taken, in words.
        outputs: each output. places: where numbers leave, one for each output that no earlier place explains.
        switches, gone: the runtime's further settings, where something differs; with which of them nothing does on
            these inputs. notes: what a reader should know.
        refused: its message, where it does not run the model. unlike: why there is nothing to compare with.
        accepted: why somebody accepts what came of it, so that it does not count.
        tolerated: the severity for which it does not count; ``None`` where it is not tolerated.
    """

    target: str
    runtime: str
    hint: str = ""
    inputs: str = ""
    outputs: tuple[Answered, ...] = ()
    places: tuple[Place, ...] = ()
    switches: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    refused: str = ""
    unlike: str = ""
    accepted: str = ""
    tolerated: Severity | None = None

    @property
    def severity(self) -> Severity | None:
        """How bad it is that outputs differ, where that is only the sign of zeros; else ``None``."""
        signs = self.verdict == "different-numbers" and not any(one.numbers for one in self.outputs)
        return "sign-of-zero" if signs else None

    @property
    def ok(self) -> bool:
        """Whether it ran and nothing differs."""
        return not (self.refused or self.unlike or any(one.different for one in self.outputs))

    @property
    def verdict(self) -> str:
        """What came of it, as findings have it: a model that does not run, numbers that differ, or nothing known."""
        if self.ok:
            return "ok"
        return "not-implemented" if self.refused else "unknown" if self.unlike else "different-numbers"

    @property
    def told(self) -> str:
        """What came of it, in words."""
        if self.refused or self.unlike or self.ok:
            return self.refused or self.unlike or closeness(self.outputs)
        wrong = [one for one in self.outputs if one.different]
        return "; ".join(f"output {one.name!r} differs: {one.different} of {one.elements} elements" for one in wrong)

    def to_json(self) -> dict[str, Any]:
        """Return the trial as plain data."""
        marks = {"accepted": self.accepted, "tolerated": self.tolerated}
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in marks}
        return data | {"ok": self.ok} | {name: one for name, one in marks.items() if one}
