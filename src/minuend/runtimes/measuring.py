"""``measure``: what one release of a runtime does, as a target. Every case is queried and judged; like ones are joined.

The cases are made and judged here; the runtime may be that of another Python (:mod:`minuend.runtimes.running`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import date

from minuend.errors import SpecError
from minuend.models.constants import positions_of
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.runtimes import pattern_answers
from minuend.runtimes.answers import DIFFERENT, Answer, by_operand, joined_spans
from minuend.runtimes.processor import INSTRUCTION_SETS, extensions
from minuend.runtimes.proving import Judged, Progress, judge_all
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Runtime
from minuend.runtimes.table import NOTHING, Answers, Key, Table, node_key
from minuend.runtimes.target import Target

ALL, MISSING, NOT_SHOWN = "all", "missing", "not-shown"
"""Which graph cases are queried: each; those that a target has no answers for; those too that differ and
have no witness, which older files lack."""


def measure(
    queried: Runtime, *, alone: bool = False, operator: Operator = SUBTRACT, progress: Progress | None = None
) -> Target:
    """Query a runtime with every case of an operator.

    Args:
        queried: the runtime. alone: leave out patterns. operator: what is computed; patterns are of subtraction alone.
        progress: called with the number of cases done and of all.

    Returns:
        What it does; :func:`minuend.runtimes.targets.dump` writes it.
    """
    table = table_of(judge_all(queried, operator=operator, progress=progress))
    sets = tuple(sorted(extensions(queried.cpu), key=INSTRUCTION_SETS.index))
    today = date.today().isoformat()
    found = Target(queried.name, queried.release, table, date=today, cpu=queried.cpu, isa=sets, python=queried.python)
    return found if alone or operator is not SUBTRACT else with_graphs(queried, found, progress=progress)


def with_graphs(
    queried: Runtime,
    target: Target,
    which: str = ALL,
    types: Collection[str] = (),
    patterns: Collection[tuple[str, str]] = (),
    progress: Progress | None = None,
) -> Target:
    """Return a target with what its runtime does with a subtraction and an adjacent operator.

    Args:
        queried: the runtime. target: what is known of it. which: the queried cases, :data:`ALL`, :data:`MISSING` or
            :data:`NOT_SHOWN`. types: with :data:`ALL`: all of these element types, and of others what is missing; else
            what is missing of these alone. patterns: of these alone, see :func:`pattern_answers.measure`.
        progress: called with the number of cases done and of all.

    Raises:
        SpecError: the runtime is another than the target's.
    """
    if (queried.name, queried.release) != (target.runtime, target.release):
        raise SpecError(
            "targets", f"{queried.name}@{queried.release} is asked; expected {target.name}, as the file says"
        )
    if not quirks(queried.name).joins:
        return target
    known = target.table if which != ALL or types else NOTHING
    if which == NOT_SHOWN:
        shown = {key: one for key, one in known.cells.items() if not any(map(_lacks_a_witness, one.values()))}
        known = replace(known, cells=shown)
    if which == ALL:
        known = replace(known, cells={key: one for key, one in known.cells.items() if key.dtype not in types})
    only = () if which == ALL else types
    found = pattern_answers.measure(queried, known=known, types=only, patterns=patterns, progress=progress)
    if which == NOT_SHOWN:  # what another processor showed stays, though this one may not show it
        before = target.table.cells
        queried_now = {key: {**before.get(key, {}), **one} for key, one in found.cells.items()}
        found = Table({**before, **queried_now}, found.cpus)  # where few patterns are queried, others stay too
    return replace(target, table=target.table.with_patterns(found))


def _lacks_a_witness(answer: Answer) -> bool:
    """Whether numbers differ and nothing shows which."""
    return answer.verdict == DIFFERENT and answer.witness is None and not answer.message


# ---- nodes by themselves --------------------------------------------------------------------------------------


def table_of(judged: Iterable[Judged]) -> Table:
    """Return the answers of cases; those that were answered alike get the same, where one witness serves both.

    Cases with other constants are joined only if all is equal: a constant deviates by itself, at sizes of its own, and
    what holds for A and for B together says little of either. The spans of joined cases are those of all of them.
    """
    cells: dict[Key, Answers] = {}
    groups: dict[tuple[str, str, str], list[_Alike]] = {}
    members: list[tuple[Judged, _Alike]] = []
    for one in judged:
        known = groups.setdefault((one.case.opversion, one.case.element.name, one.case.constants), [])
        alike = next((other for other in known if other.join(one)), None)
        if alike is None:
            alike = _Alike(one)
            known.append(alike)
        members.append((one, alike))
    for one, alike in members:
        case = one.case
        answers = {name: alike.answer(name, answer) for name, answer in one.answers.items() if answer.verdict != "ok"}
        cells[node_key(case.op, case.element.name, case.relation, positions_of(case.constants))] = answers
    return Table(cells)


class _Alike:
    """Cases that were answered alike: by class, the witnesses that hold for all of them, and the spans of all."""

    def __init__(self, first: Judged) -> None:
        self.verdicts = _verdicts(first)
        self.witnesses = dict(first.witnesses)
        self.spans = {name: first.answers[name].spans for name in first.witnesses}

    def join(self, other: Judged) -> bool:
        """Take a case in, if it was answered alike."""
        if self.verdicts != _verdicts(other):
            return False
        common = {name: tuple(w for w in found if w in other.witnesses[name]) for name, found in self.witnesses.items()}
        if not all(common.values()):
            return False
        self.witnesses = common
        for name, spans in self.spans.items():
            both = itertools.zip_longest(spans, other.answers[name].spans)
            self.spans[name] = by_operand(joined_spans(*one) for one in both)
        return True

    def answer(self, name: str, own: Answer) -> Answer:
        """Return the answer of all for a class."""
        if name not in self.witnesses:
            return own
        return Answer(own.verdict, self.witnesses[name][0], own.message, self.spans[name])


def _verdicts(judged: Judged) -> dict[str, tuple[str, str]]:
    return {name: (a.verdict, a.message) for name, a in judged.answers.items() if a.verdict != "ok"}
