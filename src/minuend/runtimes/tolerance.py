"""Which severities are shown and do not count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from minuend.errors import SpecError, listed, near, shown
from minuend.runtimes.severity import ROUNDING, SEVERITIES, Deviation, Severity, worst
from minuend.text import whole_number

if TYPE_CHECKING:
    from minuend.runtimes.finding import Finding
    from minuend.runtimes.trials import Trial

NOTHING = "none"
"""Stands for no severity at all."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Severities that are tolerated.

    Attributes:
        severities: which. ulps: how far from the expected one a finite result can be and still be ``rounding``.
    """

    severities: frozenset[Severity] = frozenset()
    ulps: int = ROUNDING

    @classmethod
    def of(cls, names: str | Iterable[str]) -> Tolerance:
        """Read severities: one or several, each as ``"rounding"``, ``"rounding=8"`` or several with commas.

        Raises:
            SpecError: no such severity, no number of ulps, or ``"none"`` beside others. TypeError: no texts.

        >>> sorted(Tolerance.of("sign-of-zero,rounding=8").severities), Tolerance.of("rounding=8").ulps
        (['rounding', 'sign-of-zero'], 8)
        >>> Tolerance.of("none") == Tolerance.of(()) == Tolerance()
        True
        """
        parts = [names] if isinstance(names, str) else list(names)
        for part in parts:
            if not isinstance(part, str):
                raise TypeError(f"a {type(part).__name__} is no severity; expected {listed(_KNOWN)}")
        given = [name.strip() for part in parts for name in part.split(",")]
        if NOTHING in given:
            if len(given) > 1:
                raise SpecError("tolerate", f"'{NOTHING}' stands alone; expected no severity beside it")
            return cls()
        found = [_read(name) for name in given]
        farthest = max((ulps for name, ulps in found if name == "rounding"), default=ROUNDING)
        return cls(frozenset(name for name, _ in found), farthest)

    def covers(self, finding: Finding) -> Severity | None:
        """Return the severity for which a finding is tolerated; ``None`` where it is not.

        One that is accepted is not tolerated besides. Every deviation that its operands can reach has to be known.
        """
        if finding.verdict != "different-numbers" or finding.severity is None or finding.accepted:
            return None
        if finding.severity == "numbers" and "numbers" in self.severities:  # none is worse
            return "numbers"
        found = [self._of(one) for one in finding.deviations]
        most = None if None in found else worst(found)
        return most if most in self.severities else None

    def _of(self, deviation: Deviation) -> Severity | None:
        """Return the severity of one deviation, with these ulps of ``rounding``."""
        if deviation.severity in ("rounding", "numbers") and deviation.ulps:
            return "rounding" if deviation.ulps <= self.ulps else "numbers"
        return deviation.severity


_KNOWN = (*SEVERITIES, "rounding=N", NOTHING)


def _read(name: str) -> tuple[Severity, int]:
    known, split, ulps = name.partition("=")
    for one in SEVERITIES:
        if one == known and not split:
            return one, ROUNDING
    if known != "rounding" or not split:
        names = [*SEVERITIES, NOTHING]
        raise SpecError("tolerate", f"no severity {shown(name)}{near(known, names)}; expected {listed(_KNOWN)}")
    try:
        return "rounding", whole_number(ulps, lowest=1)
    except ValueError:
        raise SpecError("tolerate", f"{shown(name)}: expected ulps from 1 on, as rounding=4") from None


USUAL = Tolerance.of("sign-of-zero")
"""What is tolerated unless it is said otherwise."""


@dataclass(frozen=True, slots=True)
class Tolerances:
    """What is tolerated on each target.

    Attributes:
        every: on targets of which nothing else is said.
        targets: by the names of targets, with a release, the line of one, or without.
    """

    every: Tolerance = USUAL
    targets: Mapping[str, Tolerance] = field(default_factory=dict)

    def marked(self, trial: Trial) -> Trial:
        """Return a run with the severity for which it is tolerated, or with none."""
        severities = self.of(trial.target).severities
        return replace(trial, tolerated=trial.severity if trial.severity in severities else None)

    def of(self, target: str) -> Tolerance:
        """Return what is tolerated on a target; the longest name that means it counts."""
        meant = [name for name in self.targets if names_target(name, target)]
        return self.targets[max(meant, key=len)] if meant else self.every


def names_target(name: str, target: str) -> bool:
    """Whether a name means a target: it is its runtime, its release, or the line of that.

    >>> [names_target(name, "ov@2026.4.1") for name in ("ov", "ov@2026.4", "ov@2026.4.1", "ov@2026.40")]
    [True, True, True, False]
    """
    return name in (target, target.partition("@")[0]) or target.startswith(f"{name}.")
