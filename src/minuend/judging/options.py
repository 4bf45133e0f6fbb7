"""What models are judged on: the options of ``check``, built once and passed on whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from minuend.child import Limits
from minuend.errors import SpecError, listed, near, shown
from minuend.models.occurrences import Array
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.runtimes.quirks import quirks
from minuend.runtimes.report import FINDINGS
from minuend.runtimes.target import Target


@dataclass(frozen=True, kw_only=True)
class Runs:
    """How models are run, unmodified, on the installed runtimes.

    Attributes:
        every: whether each occurrence is run in isolation, too; else those alone of which nothing is known.
        inputs: arrays by the model's own names; ``None``: some are made.
    """

    every: bool = False
    inputs: Mapping[str, Array] | None = None

    @classmethod
    def of(cls, run: bool | Literal["all"], inputs: Mapping[str, Array] | None) -> Runs | None:
        """Return what ``check`` takes as ``run`` and ``inputs``; ``None`` for no run.

        Raises:
            SpecError: another ``run``, or inputs without one.
        """
        if run not in (False, True, "all"):
            raise SpecError("run", f"run is {shown(run)}; expected False, True or 'all'")
        if run:
            return cls(every=run == "all", inputs=inputs)
        if inputs is not None:
            raise SpecError("inputs", "inputs are for a run; expected run=True beside them")
        return None


@dataclass(frozen=True, kw_only=True)
class Judging:
    """What models are judged on, and what counts.

    Attributes:
        targets: the targets. operators: those whose occurrences are judged.
        hint: the precision hint of runtimes; ``""`` for none. assumed: what is known of values beyond the model.
        runs: how models are run besides; ``None``: not at all. limits: what running a model once may take.
        fail_on: the verdicts that count.

    Raises:
        SpecError: a hint that no target has, or a run of other operators than subtraction.
    """

    targets: tuple[Target, ...]
    operators: tuple[Operator, ...] = (SUBTRACT,)
    hint: str = ""
    assumed: Assumptions = field(default_factory=lambda: NONE)
    runs: Runs | None = None
    limits: Limits = Limits()
    fail_on: frozenset[str] = FINDINGS

    def __post_init__(self) -> None:
        _check_hint(self.hint, self.targets)
        if self.runs is not None and set(self.operators) != {SUBTRACT}:
            raise SpecError("run", "a run compares subtraction alone; leave out the run, or the other operators")

    def hint_of(self, target: Target) -> str:
        """Return the hint that a target's runtime gets; ``""`` where it has none of this name."""
        return self.hint if self.hint in quirks(target.runtime).hints else ""


def _check_hint(hint: str, targets: Iterable[Target]) -> None:
    """Check that one of some targets at least has a hint."""
    known = {name: target.name for target in targets for name in quirks(target.runtime).hints}
    if hint and hint not in known:
        expected = f"expected {listed(known)}" if known else "these targets take none"
        raise SpecError("hint", f"no hint {shown(hint)}{near(hint, known)}; {expected}")
