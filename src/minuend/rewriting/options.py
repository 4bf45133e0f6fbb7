"""What a model is rewritten for: the options of ``fix``, built once and passed on whole."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from minuend.child import Limits
from minuend.core.policies import Contract
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.runtimes.target import Target
from minuend.runtimes.tolerance import Tolerances


@dataclass(frozen=True, kw_only=True)
class Rewriting:
    """What a model is rewritten for, and what may stay as it is.

    Attributes:
        name: the target's name. runtime: the target, where it is a runtime's. version: where it is an opset.
        overflow: the policy of integers. accept: value classes whose deviations are accepted.
        assumed: what is known of values beyond the model.
        hint: the precision hint that the runtime gets; ``""`` for none. tolerate: the severities that stay as they are.
        run: whether the fixed model is run, where the runtime is installed. limits: what running it once may take.
    """

    name: str
    runtime: Target | None = None
    version: int | None = None
    overflow: Contract = "wrap"
    accept: Collection[str] = ()
    assumed: Assumptions = field(default_factory=lambda: NONE)
    hint: str = ""
    tolerate: Tolerances = Tolerances()
    run: bool = True
    limits: Limits = Limits()
