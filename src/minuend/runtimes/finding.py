"""``Finding``: one verdict, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minuend.language import Language
from minuend.operators import SUBTRACT
from minuend.runtimes import rendering
from minuend.runtimes.actions import Action, Assumable, actions
from minuend.runtimes.reasons import Reason, deciding
from minuend.runtimes.severity import most_ulps
from minuend.runtimes.witness import Witness

if TYPE_CHECKING:
    from minuend.models.patterns import Pattern
    from minuend.models.ranges.interval import Range
    from minuend.runtimes.reasons import Folded
    from minuend.runtimes.severity import Deviation, Severity


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One verdict, as data; :mod:`minuend.runtimes.rendering` makes a sentence of its reasons.

    Attributes:
        target: ``"openvino-cpu@2026.4.1"``.
        verdict: one of :data:`minuend.runtimes.answers.VERDICTS`.
        node: the node's name; for ``prove`` the case's sentence. location: its place, ``"graph.node[3]"``.
        dialect, operator, opversion, dtype, shape_relation, constants: what the node is; ``operator`` is the name of
            the array API standard, ``opversion`` reads ``"onnx:14"``.
        reasons: why. witness: operands that show it. severity: of a deviation, the worst that is known.
        deviations: how bad each value class is that can occur and is not known to be fine; empty where nothing is known
            of the classes.
        operands: what each operand can hold.
        provenance: ``"declared"``, or the release, date and processor of the measurement; with ``"inferred"``, why that
            is taken for a release that was not measured.
        pattern: the one that decided. hint: the precision hint of the runtime with which it is fine.
        seen: what a run of the whole model showed of it.
        case: the sentence of the case (``prove``). unexpected: why a finding of ``prove`` counts; empty: it is known.
        accepted: why somebody accepts it, so that it does not count.
        tolerated: the severity for which it does not count; ``None`` where it is not tolerated.
        fixable: whether fix repairs it; ``None`` where that was not tried. fix_hint: the precision hint with which it
            does, where it does not without one. hint_alone: whether nothing needs to be fixed with that.
        partly: whether fix refuses other nodes of the model, so that it writes with ``--partial`` alone.
        assumable: what has to be assumed of values so that it is none.
        ran: whether the model was run on the very release that was judged.
    """

    target: str
    verdict: str
    node: str = ""
    location: str = ""
    dialect: str = ""
    operator: str = ""
    opversion: str = ""
    dtype: str = ""
    shape_relation: str = ""
    constants: str = ""
    reasons: tuple[Reason, ...] = ()
    witness: Witness | None = None
    severity: Severity | None = None
    deviations: tuple[Deviation, ...] = ()
    operands: tuple[Range, ...] = ()
    provenance: str | dict[str, str] = "declared"
    pattern: Pattern | Folded | None = None
    hint: str = ""
    seen: Reason | None = None
    case: str = ""
    value_class: str = ""
    unexpected: str = ""
    accepted: str = ""
    tolerated: Severity | None = None
    fixable: bool | None = None
    fix_hint: str = ""
    hint_alone: bool = False
    partly: bool = False
    ran: bool = False
    assumable: tuple[Assumable, ...] = ()

    @property
    def code(self) -> str:
        """The code of the reason that decided; ``""`` where there is none."""
        found = deciding(self.reasons)
        return "" if found is None else found.code

    @property
    def reason(self) -> str:
        """Why, in an English sentence."""
        return rendering.english(self.reasons)

    def reason_in(self, language: Language) -> str:
        """Return why, in a sentence of a language."""
        return rendering.sentence(self.reasons, language)

    @property
    def graph(self) -> str:
        """The pattern that decided, as it is printed."""
        return "" if self.pattern is None else str(self.pattern)

    @property
    def run(self) -> str:
        """What a run of the whole model showed of it, in an English sentence."""
        return "" if self.seen is None else rendering.english([self.seen])

    @property
    def actions(self) -> tuple[Action, ...]:
        """What can be done about it."""
        return actions(
            self.target,
            self.verdict,
            self.reasons,
            inferred=bool(self.inferred),
            operator=self.operator or SUBTRACT.name,
            fixable=self.fixable is not False,
            fix_hint=self.fix_hint,
            hint_alone=self.hint_alone,
            partly=self.partly,
            ran=self.ran,
            assumable=self.assumable,
            roundings=most_ulps(self.deviations) if self.verdict == "different-numbers" else 0,
        )

    @property
    def declared(self) -> bool:
        """Whether documents say so."""
        return self.provenance == "declared"

    @property
    def measured(self) -> dict[str, str] | None:
        """Release, date and processor of the measurement; ``None`` where documents say so."""
        return None if isinstance(self.provenance, str) else self.provenance

    @property
    def inferred(self) -> str:
        """Why the measurement of another release is taken; ``""`` where the release itself was measured."""
        return (self.measured or {}).get("inferred", "")

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        data: dict[str, Any] = {name: getattr(self, name) for name in _KEYS}
        data["actions"] = [one.to_json() for one in self.actions]
        data["operands"] = [_plain_range(one) for one in self.operands]
        data["witness"] = None if self.witness is None else self.witness.to_json()
        data["measured"] = self.provenance
        if self.graph:
            data |= {"graph": self.graph, "hint": self.hint}
        if self.run:
            data |= {"run": self.run}
        if self.case:
            data |= {"case": self.case, "values": self.value_class, "unexpected": self.unexpected}
        if self.accepted:
            data |= {"accepted": self.accepted}
        if self.tolerated is not None:
            data |= {"tolerated": self.tolerated}
        return data


_KEYS = (
    "target",
    "node",
    "location",
    "dialect",
    "operator",
    "opversion",
    "dtype",
    "shape_relation",
    "constants",
    "verdict",
    "severity",
    "code",
    "reason",
)
"""What of a finding is in its JSON as it is."""


def _plain_range(one: Range) -> dict[str, Any]:
    if one.dtype is None:
        return {"dtype": None, "constant": one.constant, "source": one.why}
    known = {name: getattr(one, name) for name in ("dtype", "nan", "negative_zero", "constant")}
    return {**known, "low": one.lo, "high": one.hi, "source": one.why}
