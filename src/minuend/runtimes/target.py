"""A target: what one release of a runtime does with an operator, as a table of answers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from minuend.errors import SpecError, listed
from minuend.models.constants import Constants, positions_of, word_of
from minuend.operators.value_classes import NO_VALUES, classes
from minuend.runtimes import cases
from minuend.runtimes.answers import EVERY, OK, Answer, Verdict
from minuend.runtimes.processor import up_to_last
from minuend.runtimes.reasons import MeasuredOn, NotDeclared, NotMeasured, Reason
from minuend.runtimes.rendering import english
from minuend.runtimes.table import Table, node_key
from minuend.standards.dialects import dialect, parse_version
from minuend.standards.node import Node
from minuend.standards.spelling import find as find_type
from minuend.standards.version import OpVersion

SILENT = "the documents do not say what these differences are"
"""The message of an answer that no document gives."""


class Unfit(Exception):
    """What stands in for an answer where a target cannot be queried for a node: ``verdict`` and ``reason``."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        self.verdict, self.reason = verdict, reason
        super().__init__(reason)


@dataclass(frozen=True)
class Target:
    """One release of a runtime.

    Attributes:
        runtime, release: ``"openvino-cpu"`` and ``"2026.4.1"``.
        table: what it does.
        date, cpu, python: when, on which processor and under which Python it was measured; empty where declared.
        declared: whether documents say so rather than a measurement. source: which documents.
        silent: value classes of which the documents say nothing, and whose numbers are taken to be right all the same.
        isa: the instruction sets that the runtime could use, as :mod:`minuend.runtimes.processor` names them; of a file
            that does not say it, those that ``cpu`` names.
        only_up_to: the newest instruction set of the processor that its answers are for; ``""``: of those on which it
            was measured.
        translate: of a target that is a standard: how it is queried for a node of another one, and for which sizes the
            answer holds where not for all of them; raises :class:`Unfit`.
        runs_nothing: why no model can be fixed for it, where it runs none; else ``""``.
        strict: of a declared one: kinds of models that it does not take, as
            :attr:`minuend.runtimes.quirks.Quirks.strict` has them of one that an adapter runs.
    """

    runtime: str
    release: str
    table: Table
    date: str = ""
    cpu: str = ""
    python: str = ""
    declared: bool = False
    source: str = ""
    silent: frozenset[str] = frozenset()
    isa: tuple[str, ...] = ()
    only_up_to: str = ""
    translate: Callable[[Node], tuple[Node, str]] | None = None
    runs_nothing: str = ""
    strict: Mapping[str, tuple[str, str]] = field(default_factory=dict, hash=False)

    @functools.cached_property
    def opversions(self) -> tuple[str, ...]:
        """The versions of operators of which it says anything: ``"onnx:14"`` …."""
        return tuple(dict.fromkeys(key.opversion for key in self.table.nodes))

    @functools.cached_property
    def dialects(self) -> tuple[str, ...]:
        """Whose models it reads."""
        return tuple(dict.fromkeys(version.partition(":")[0] for version in self.opversions))

    @functools.cached_property
    def operators(self) -> frozenset[str]:
        """The operators of which it says anything, by their names in the array API standard."""
        return frozenset(version_of(version).computes.name for version in self.opversions)

    def reads_none(self, dialect_name: str) -> str:
        """What is said where it does not read a dialect's models."""
        return f"{self.runtime} does not read {dialect(dialect_name).title} models"

    @property
    def name(self) -> str:
        """``"openvino-cpu@2026.4.1"``."""
        return f"{self.runtime}@{self.release}"

    @property
    def provenance(self) -> str | dict[str, str]:
        """Where the facts are from, as reports write it."""
        return "declared" if self.declared else {"release": self.release, "date": self.date, "cpu": self.cpu}

    @property
    def notice(self) -> Reason | None:
        """What a reader has to know before anything else: that this release was not measured, for one."""
        return MeasuredOn(*self.processors, (self.name,)) if self.only_up_to and self.cpu else None

    @property
    def warning(self) -> str:
        """The notice as an English sentence; ``""`` where there is none."""
        return "" if self.notice is None else english([self.notice])

    @property
    def behind(self) -> tuple[Target, ...]:
        """The measured releases whose answers it gives; none where documents say them."""
        return () if self.declared or not self.date else (self,)

    @property
    def conditions(self) -> str:
        """On which processor it was measured, in words; the last of its instruction sets stands for all."""
        cpu, patterns = self.processors
        return f"on {cpu}, patterns on {listed(patterns, 'and')}" if patterns else f"on {cpu}"

    @functools.cached_property
    def processors(self) -> tuple[str, tuple[str, ...]]:
        """The processor on which it was measured, and others on which patterns were."""
        others = (one for one in self.table.cpus if one != self.cpu)
        return up_to_last(self.cpu), tuple(map(up_to_last, others))

    def answer(
        self, opversion: object, dtype: object, relation: str, constants: str | Constants
    ) -> Mapping[str, Answer]:
        """Return the answer for every value class that the element type has.

        Args:
            opversion: an :class:`~minuend.standards.version.OpVersion`, or ``"onnx:14"``. dtype: in any spelling.
            relation: a name in :data:`minuend.runtimes.cases.RELATIONS`.
            constants: ``"none"``, ``"A"``, ``"B"`` or ``"both"``, or the positions of operands.

        Returns:
            Class name → answer; ``"unknown"`` where it was not measured and no document says it.

        Raises:
            SpecError: no such version, relation or constants. DTypeError: no such type.

        >>> from minuend.runtimes.targets import find
        >>> answers = find("openvino-cpu@2026.4.1").answer("openvino:1", "uint8", "same", "none")
        >>> answers["in range"].verdict, str(answers["wraps"].witness)
        ('ok', '5 - 10: got 0, expected 251')
        """
        element = find_type(dtype)
        word = constants if isinstance(constants, str) else word_of(constants)
        for name, known in ((relation, cases.RELATIONS), (word, cases.CONSTANTS)):
            if name not in known:
                raise SpecError("targets", f"{name!r} is none of {listed(known)}")
        op = version_of(opversion)
        found = self.table.cells.get(node_key(op, element.name, relation, positions_of(word)))
        names = [row.name for row in classes(op.computes, element)]
        if relation == "zero-size":
            names = [NO_VALUES.name]
        if found is None:
            reason = NotDeclared(self.name) if self.declared else NotMeasured(self.name)
            return dict.fromkeys(names, Answer("unknown", message=english([reason]), reason=reason))
        if EVERY in found:
            return dict.fromkeys(names, found[EVERY])
        return {name: found.get(name, OK) for name in names}

    def judged(
        self, opversion: object, dtype: object, relation: str, constants: str | Constants
    ) -> Mapping[str, Answer]:
        """Return the answers by which models are judged: :meth:`answer`, what is documented being taken at its word.

        A class in ``silent`` of which the documents say nothing is ok, with :data:`SILENT` as its message.
        """
        answers = self.answer(opversion, dtype, relation, constants)
        if not self.silent:
            return answers
        return {
            name: replace(one, verdict="ok") if name in self.silent and one.message == SILENT else one
            for name, one in answers.items()
        }


def version_of(version: object) -> OpVersion:
    """Return a version row that is given as itself, or as ``"onnx:14"``."""
    return version if isinstance(version, OpVersion) else parse_version(str(version))
