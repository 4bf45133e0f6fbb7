"""What models are judged on: the options of ``check``, built once and passed on whole."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from minuend.child import Limits
from minuend.errors import SpecError, listed, near, shown
from minuend.models.occurrences import Array, value_names
from minuend.models.opening import Model
from minuend.models.ranges.assumed import NONE, Assumptions, assumptions, missing
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.runtimes import registry, targets
from minuend.runtimes.answers import VERDICTS
from minuend.runtimes.processor import newest, processor
from minuend.runtimes.quirks import quirks
from minuend.runtimes.report import FINDINGS
from minuend.runtimes.target import Target
from minuend.runtimes.tolerance import Tolerances
from minuend.standards.dialects import dialects

Named: TypeAlias = str | os.PathLike[str] | Target
"""A target, its name, or the path of its file."""


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
        tolerate: the severities that do not; ``None``: those that the models' files name, or the usual ones.

    Raises:
        SpecError: a hint that no target has, a run of other operators than subtraction, or one on another processor.
    """

    targets: tuple[Target, ...]
    operators: tuple[Operator, ...] = (SUBTRACT,)
    hint: str = ""
    assumed: Assumptions = field(default_factory=lambda: NONE)
    runs: Runs | None = None
    limits: Limits = Limits()
    fail_on: frozenset[str] = FINDINGS
    tolerate: Tolerances | None = None

    def __post_init__(self) -> None:
        check_hint(self.hint, self.targets)
        if self.runs is not None and set(self.operators) != {SUBTRACT}:
            raise SpecError("run", "a run compares subtraction alone; leave out the run, or the other operators")
        limits = {one.only_up_to for one in self.targets} - {""} if self.runs is not None else set()
        if others := limits and limits - {newest(processor())}:
            named = listed(sorted(others))
            raise SpecError("run", f"a run is on this processor, not on one up to {named}; leave out the run or cpu")

    def hint_of(self, target: Target) -> str:
        """Return the hint that a target's runtime gets; ``""`` where it has none of this name."""
        return self.hint if self.hint in quirks(target.runtime).hints else ""


# ---- what the options are made of -------------------------------------------------------------------------------


def find_targets(
    target: Named | Iterable[Named], *, exact: bool = False, strict: bool = False, cpu: str = ""
) -> tuple[Target, ...]:
    """Return targets by their names or by the paths of their files, each once.

    Args:
        target, exact, strict, cpu: see :func:`minuend.judging.checking.check`.

    Raises:
        SpecError: none at all, no such target, one that reads no models, a version of a standard, or no such
            instruction set.
    """
    if not isinstance(target, str | os.PathLike | Target | Iterable):
        raise TypeError(f"a {type(target).__name__} is no target; expected a name such as 'openvino-cpu', or several")
    wanted = [target] if isinstance(target, str | os.PathLike | Target) else list(target)
    if not wanted:
        raise SpecError("targets", f"no target is given; expected {listed(_runtimes())}")
    for name in wanted:
        if isinstance(name, str) and ":" in name and name.partition(":")[0] in dialects():
            raise SpecError(
                "targets",
                f"{shown(name)} is a version of a standard, which fix and convert take; check takes what runs a model: "
                f"{listed(_runtimes())}",
            )
    find = functools.partial(targets.find, exact=True) if exact else targets.find
    every = (one if isinstance(one, Target) else find(one) for one in wanted)
    found = {one.name: targets.for_models(one) for one in every}
    on_cpu = [*found.values()]
    if cpu:
        from minuend.runtimes import other_processors  # slow

        on_cpu = [other_processors.on(one, cpu) for one in on_cpu]
    return tuple(replace(one, silent=frozenset()) if strict else one for one in on_cpu)


def installed_otherwise(judged: Iterable[Target]) -> Iterator[str]:
    """Say of which runtimes another release is installed here than any that is judged."""
    releases: dict[str, list[str]] = {}
    for target in judged:
        releases.setdefault(target.runtime, []).append(target.release)
    for runtime, some in releases.items():
        adapter = registry.known(runtime)
        release = None if adapter is None or adapter.ARRAYS else registry.release(adapter)
        if release is not None and release not in some:
            yield (
                f"{runtime} {release} is installed here, and {listed(some, 'and')} {'is' if len(some) == 1 else 'are'} "
                f"judged; --target {runtime}@installed judges the installed release"
            )


def _runtimes() -> list[str]:
    every = dict.fromkeys(name.partition("@")[0] for name in targets.names())
    return [name for name in every if not quirks(name).arrays]


def assumed_of(model: Model, given: Mapping[str, object] | None) -> Assumptions:
    """Read what is assumed of values, and check that a model has them.

    Raises:
        SpecError: a range that is none, or a name that the model lacks.
    """
    assumed = assumptions(given)
    known = value_names(model) if assumed else ()
    if absent := [name for name in assumed if name not in known]:
        raise missing(absent, known)
    return assumed


def verdicts_of(names: Iterable[str]) -> frozenset[str]:
    """Read which verdicts count.

    Raises:
        SpecError: none at all, or one that there is not.

    >>> sorted(verdicts_of(["unknown", "invalid"]))
    ['invalid', 'unknown']
    """
    known = [verdict for verdict in VERDICTS if verdict in FINDINGS]
    found = frozenset(names)
    for name in found - FINDINGS:
        raise SpecError("verdicts", f"no verdict {shown(name)}{near(name, known)} counts; expected {listed(known)}")
    if not found:
        raise SpecError("verdicts", f"no verdict is given that counts; expected {listed(known)}")
    return found


def check_hint(hint: str, chosen: Iterable[Target]) -> None:
    """Check that one of some targets at least has a hint.

    Raises:
        SpecError: none has.
    """
    known = {name: target.name for target in chosen for name in quirks(target.runtime).hints}
    if hint and hint not in known:
        expected = f"expected {listed(known)}" if known else "these targets take none"
        raise SpecError("hint", f"no hint {shown(hint)}{near(hint, known)}; {expected}")
