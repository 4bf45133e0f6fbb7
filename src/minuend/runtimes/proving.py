"""``prove``: query a runtime with every case, and compare its answers with the contract and the known target."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType

import numpy as np

from minuend.child import CASE_SECONDS, MEMORY, limited
from minuend.core.elements import TYPES, ElementType
from minuend.errors import SpecError
from minuend.models.matching.operator_groups import NARROW
from minuend.models.patterns import is_alone
from minuend.operators import SUBTRACT, by_name
from minuend.operators import codes as of_codes
from minuend.operators.operator import Operator
from minuend.operators.value_classes import classes
from minuend.plain import grouped
from minuend.runtimes import cases, pattern_answers, pattern_cases, targets, values
from minuend.runtimes.answers import EVERY, OK, Answer, Span, by_operand, joined_spans
from minuend.runtimes.cases import RELATIONS, Case, Operation
from minuend.runtimes.distinct_constants import unshared
from minuend.runtimes.finding import Finding
from minuend.runtimes.mixed_constants import MixedUp, mixed_up
from minuend.runtimes.pattern_cases import GraphCase
from minuend.runtimes.processor import extensions
from minuend.runtimes.quirks import quirks
from minuend.runtimes.reasons import ClassesDiffer, ConstantsMixedUpOften, RuntimeMessage
from minuend.runtimes.report import Report
from minuend.runtimes.running import Output, Refused, Runtime, model_of
from minuend.runtimes.sampling import sample, sample_graphs
from minuend.runtimes.severity import Severity, rank, worst
from minuend.runtimes.table import DEFAULTS, Answers, Key, Table, joined, with_all_that_rounds
from minuend.runtimes.targets import Target
from minuend.runtimes.unmeasured_releases import inferred
from minuend.runtimes.values import Codes
from minuend.runtimes.witness import Witness
from minuend.runtimes.workers import Steps, Workers

Progress = Callable[[int, int], None]

_TOGETHER = 16
"""Graph cases that one process is queried with in a row."""

_TIMES = 3
"""How often a model of many subtractions is queried; in a sample once."""

_KEPT = 12
"""How many witnesses of a case stay in memory, so that cases which deviate alike can name the same one."""

# ---- one case -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """A case's verdicts.

    Attributes:
        case: the case.
        answers: value class → answer; of :data:`~minuend.runtimes.answers.EVERY` where the runtime refused.
        witnesses: value class → the best witnesses of different numbers, the first being the answer's.
    """

    case: Case
    answers: Mapping[str, Answer]
    witnesses: Mapping[str, tuple[Witness, ...]]


def judge(case: Case, outputs: list[Output] | Refused) -> Judged:
    """Compare a runtime's results with the reference's, one value class at a time."""
    none: Mapping[str, tuple[Witness, ...]] = MappingProxyType({})
    if isinstance(outputs, Refused):
        return Judged(case, {EVERY: Answer("not-implemented", message=outputs.message)}, none)
    if wrong := _misshapen(case, outputs):
        return Judged(case, {EVERY: Answer("different-numbers", message=wrong)}, none)
    pairs = list(zip(case.operations, outputs, strict=True))
    bad = [values.differ(case.element, output.codes, operation.expected) for operation, output in pairs]
    answers: dict[str, Answer] = {}
    witnesses: dict[str, tuple[Witness, ...]] = {}
    order = classes(case.op.computes, case.element)
    for row in case.classes:
        answers[row.name] = OK
        if row in order and any(mask.any() for mask in bad):
            found = _witnesses(case, pairs, bad, order.index(row))
            if found:
                witnesses[row.name] = found
                answers[row.name] = Answer(
                    "different-numbers",
                    found[0],
                    "",
                    by_operand(_spans(case, bad, order.index(row), k) for k in range(case.op.computes.arity)),
                )
    return Judged(case, answers, witnesses)


def _misshapen(case: Case, outputs: list[Output]) -> str:
    """Say which result has not the type or shape that it should have."""
    if len(outputs) != len(case.operations):
        return f"{len(outputs)} results for {len(case.operations)} nodes"
    for operation, output in zip(case.operations, outputs, strict=True):
        if output.element is not case.element:
            return f"the result is of {output.element or 'an unknown element type'}, not of {case.element}"
        if output.codes.shape != operation.expected.shape:
            return f"the result has shape {output.codes.shape}, not {operation.expected.shape}"
    return ""


def _witnesses(case: Case, pairs: list[tuple[Operation, Output]], bad: list[Codes], index: int) -> tuple[Witness, ...]:
    """The best witnesses of a class, over all operations of a case."""
    found: dict[tuple[int, ...], tuple[int, int, int]] = {}
    for (operation, output), mask in zip(pairs, bad, strict=True):
        places = np.nonzero((mask & (operation.classes == index)).reshape(-1))[0]
        ranks = operation.rank.reshape(-1)[places]
        operands = [codes.reshape(-1) for codes in operation.spread]
        got, expected = output.codes.reshape(-1), operation.expected.reshape(-1)
        for place in places[np.argsort(ranks, kind="stable")[:_KEPT]]:
            key = tuple(int(codes[place]) for codes in operands)
            found.setdefault(key, (int(operation.rank.reshape(-1)[place]), int(got[place]), int(expected[place])))
    best = sorted(found.items(), key=lambda item: item[1][0])[:_KEPT]
    number = functools.partial(values.number, case.element)
    return tuple(
        Witness(case.op.computes, tuple(map(number, operands)), number(got), number(expected))
        for operands, (_, got, expected) in best
    )


def _spans(case: Case, bad: list[Codes], index: int, operand: int) -> tuple[Span, ...] | None:
    """Which magnitudes of an operand deviate in a class, over all operations of a case.

    Two scalars are queried with a few pairs: that a magnitude is fine with one partner says nothing of others.
    """
    if case.relation == "rank 0":
        return None
    queried: dict[float, bool] = {}
    for operation, mask in zip(case.operations, bad, strict=True):
        spread, chosen = operation.spread[operand], operation.classes == index
        for part, deviates in ((chosen, False), (chosen & mask, True)):
            for code in np.unique(spread[part]).tolist():
                if (size := _size(case.element, code)) is not None:
                    queried[size] = queried.get(size, False) or deviates
    return joined_spans(_runs(queried, _size_limit(case.element)))


def _runs(queried: Mapping[float, bool], limit: float) -> tuple[Span, ...]:
    """Spans between magnitudes that are fine, which they do not hold; the outermost reach to 0 and to the limit."""
    spans: list[Span] = []
    open_at: float | None = None
    low: float = 0
    for size in sorted(queried):
        if queried[size]:
            open_at = low if open_at is None else open_at
        else:
            if open_at is not None:
                spans.append((open_at, _next_to(size, -1)))
                open_at = None
            low = _next_to(size, 1)
    return (*spans, (open_at, limit)) if open_at is not None else tuple(spans)


def _next_to(size: float, step: int) -> float:
    """The next number below or above."""
    return size + step if isinstance(size, int) else math.nextafter(size, step * math.inf)


@functools.cache
def _size_limit(element: ElementType) -> float:
    """The largest magnitude of an element type."""
    sizes = (_size(element, int(code)) for code in values.of(SUBTRACT, element).codes)
    return max(size for size in sizes if size is not None)


@functools.cache
def _size(element: ElementType, code: int) -> float | None:
    """A code's magnitude, exact: what :func:`minuend.runtimes.values.number` writes shorter may differ from it."""
    value = of_codes.decode(element, code)
    if isinstance(value, int):
        return abs(value)
    return None if math.isnan(value) else abs(float(value))


# ---- a whole runtime ------------------------------------------------------------------------------------------


Expected = Callable[[Case], Mapping[str, Answer]]


def judge_all(
    runtime: Runtime, *, full: bool = True, operator: Operator = SUBTRACT, progress: Progress | None = None
) -> list[Judged]:
    """Query a runtime with every case of an operator that it takes.

    Args:
        runtime: the runtime. full: all pairs of 8-bit types; otherwise their edges. operator: what is computed.
        progress: called with the number of cases done and of all.
    """
    queried = list(runtime.cases(full=full, operator=operator))
    return judge_cases(Workers(runtime, 1), queried, step=Steps(progress, len(queried)))


def judge_cases(
    workers: Workers, queried: Sequence[Case], *, expected: Expected | None = None, step: Callable[[], None]
) -> list[Judged]:
    """Query a runtime with cases.

    Numbers that are not as expected are computed once more, in a new process: some runtimes mix up the constants of
    models that lived in one process before, so what does not repeat is not taken for a fact. Some mix up the scalar
    constants of one model, too; see :mod:`minuend.runtimes.distinct_constants`.

    Args:
        workers: the runtime. queried: the cases.
        expected: a case → the answers that are no surprise, by value class; a class that is left out is ok.
        step: called after each case.
    """
    known = expected or (lambda case: {})
    judged = _judged(workers, queried, known, step)
    doubted = [i for i, one in enumerate(judged) if EVERY not in one.answers and _surprises(one, known(one.case))]
    workers.restart()
    again = _judged(workers, [queried[i] for i in doubted], known, lambda: None, again=True)
    for i, second in zip(doubted, again, strict=True):
        judged[i] = _settle(judged[i], second, known(second.case))
    return judged


def _judged(
    workers: Workers, queried: Sequence[Case], known: Expected, step: Callable[[], None], *, again: bool = False
) -> list[Judged]:
    """Judge cases once. An element type's are run by one process, one after the other.

    ``again``: these are cases whose numbers were a surprise; see :mod:`minuend.runtimes.distinct_constants`.
    """
    together = grouped((model_of(case), case) for case in queried) if again else {}

    def alone(case: Case) -> bool:
        verdicts = {answer.verdict for answer in known(case).values()}
        refused = "not-implemented" in verdicts
        return refused or (RELATIONS[case.relation].alone and (again or not verdicts))

    def work(runtime: Runtime, chosen: list[int]) -> list[tuple[int, Judged]]:
        found = []
        for i, (case, outputs) in zip(chosen, runtime.run_all((queried[i] for i in chosen), alone), strict=True):
            one = judge(case, outputs)
            if again and isinstance(outputs, list) and EVERY not in one.answers and _surprises(one, known(case)):
                one = judge(case, unshared(runtime, case, outputs, together[model_of(case)]))
            found.append((i, one))
            step()
        return found

    shares = list(grouped((case.element, i) for i, case in enumerate(queried)).values())
    found = dict(one for share in workers.map(work, shares) for one in share)
    return [found[i] for i in range(len(queried))]


def _surprises(judged: Judged, known: Mapping[str, Answer]) -> bool:
    return any(answer.verdict != known.get(name, OK).verdict for name, answer in judged.answers.items())


def _settle(first: Judged, second: Judged, known: Mapping[str, Answer]) -> Judged:
    """Of two answers to one case, class by class: what both say, or else what is no surprise."""
    if EVERY in second.answers:
        return second
    answers = dict(first.answers)
    for name, answer in second.answers.items():
        if answer.verdict == known.get(name, OK).verdict:
            answers[name] = answer
    witnesses: dict[str, tuple[Witness, ...]] = {}
    for name, answer in answers.items():
        if answer.verdict == "different-numbers":
            here, there = (judged.witnesses.get(name, ()) for judged in (first, second))
            witnesses[name] = tuple(w for w in here if w in there) or here or there
            deviating = [one.answers[name] for one in (first, second) if one.answers.get(name, OK).verdict != "ok"]
            spans = by_operand(map(_common, itertools.zip_longest(*(one.spans for one in deviating))))
            answers[name] = Answer(answer.verdict, witnesses[name][0], "", spans)
    return Judged(first.case, answers, witnesses)


def _common(known: Sequence[tuple[Span, ...] | None]) -> tuple[Span, ...] | None:
    """What the spans of one or two answers to one case have in common; where that is nothing, all of them."""
    first, last = (spans or () for spans in (known[0], known[-1]))
    common = tuple((max(a, c), min(b, d)) for a, b in first for c, d in last if max(a, c) <= min(b, d))
    return joined_spans(common or (*first, *last))


# ---- the report -----------------------------------------------------------------------------------------------


def prove(
    runtime: str,
    *,
    all: bool = False,  # noqa: A002 - as on the command line
    quick: bool = False,
    operator: str = SUBTRACT.name,
    known_target: Target | None = None,
    max_memory: int | None = MEMORY,
    max_seconds: float | None = CASE_SECONDS,
    progress: Progress | None = None,
) -> Report:
    """Query an installed runtime with cases of each kind, and report where it deviates from the contract.

    Args:
        runtime: ``"onnx-reference"``, ``"onnxruntime-cpu"``, ``"openvino-cpu"``, ``"numpy"``, ``"torch-cpu"`` …, or an
            alias.
        all: query every case and every graph; otherwise a sample of each kind, the same one every time.
        quick: take the edges of 8-bit types in place of all 65,536 pairs.
        operator: ``"subtract"``, ``"add"`` or ``"negative"``. Patterns are queried for subtraction alone.
        known_target: the known deviations; by default the measured target of the same release, and where that is not
            measured, the nearest release's: then what differs from it is what is reported.
        max_memory, max_seconds: what one case may take, as in :func:`minuend.models.opening.run`; one that is stopped
            is a refusal, and three in a row end it.
        progress: called with the number of cases done and of all.

    Returns:
        A report with a finding for each case, or for each value class of a case that deviates. A deviation that the
        known target does not list is unexpected, and so is a listed one that is gone; ``.ok`` says whether any is.

    Raises:
        SpecError: no such runtime or operator, or a known target of another runtime. Unsupported: it is not installed.
    """
    start = time.perf_counter()
    computed = by_name(operator)
    with limited(max_memory, max_seconds), Runtime(runtime) as queried, Workers(queried) as workers:
        name = f"{queried.name}@{queried.release}"
        if known_target is None:
            known_target = _nearest(queried.name, queried.release)
            known_target = None if known_target is None else targets.of(known_target, computed)
        elif known_target.runtime != queried.name:
            raise SpecError("targets", f"{known_target.name} is compared with; expected a target of {queried.name}")
        questions = _questions(queried, all, quick, computed, known_target)
        step = Steps(progress, len(questions))
        judged = judge_cases(workers, questions.cases, expected=lambda case: _listed(case, known_target), step=step)
        joined = _ask_graphs(workers, questions.graphs, step) if questions.graphs else None
        shared = _ask_many(workers, questions, step)
    provenance = {"release": queried.release, "date": date.today().isoformat(), "cpu": queried.cpu}
    findings = [finding for one in judged for finding in _findings(one, name, provenance, known_target)]
    if joined is not None:
        findings += _graph_findings(joined, name, provenance, known_target)
    findings += _mixed_up_findings(shared, name, provenance)
    return Report(
        title=f"prove {name}",
        findings=tuple(findings),
        notes=(*questions.notes(queried.name), _known_target_note(name, known_target)),
        strict=True,
        facts={
            "runtime": queried.name,
            "release": queried.release,
            "compared": None if known_target is None else known_target.name,
            "cases": len(judged),
            "graphs": 0 if joined is None else len(joined.cells),
            "pairs": sum(cases.count(one.case) for one in judged),
            "seconds": round(time.perf_counter() - start, 1),
            "operator": computed.name,
            "all": all,
            "quick": quick,
        },
    )


@dataclass(frozen=True)
class _Questions:
    """What a proof queries: cases, graphs, and models of many subtractions of each type, so many times.

    ``left`` is how many more cases and graphs there are.
    """

    cases: Sequence[Case]
    graphs: Sequence[tuple[Key, GraphCase]]
    types: Sequence[str]
    times: int
    left: tuple[int, int]

    def __len__(self) -> int:
        return len(self.cases) + len(self.graphs) + len(self.types)

    def notes(self, runtime: str) -> tuple[str, ...]:
        """Say what a sample leaves out, and what queries the rest."""
        if not any(self.left):
            return ()
        cases_left, graphs_left = self.left
        graphs_too = f" and {graphs_left:,} graphs" if graphs_left else ""
        text = f"a sample of each kind: {cases_left:,} cases{graphs_too} are left out"
        return (f"{text}; to run them too: minuend prove {runtime} --all",)


def _questions(
    queried: Runtime, everything: bool, quick: bool, operator: Operator, known_target: Target | None
) -> _Questions:
    joins = quirks(queried.name).joins and operator is SUBTRACT
    every = list(queried.cases(full=not quick, operator=operator))
    rows = pattern_cases.rows_for(queried) if joins else []
    if quirks(queried.name).in_part and known_target is not None and known_target.table.has_patterns:
        rows = [row for row in rows if row[0] in known_target.table.cells]
    chosen, few = (every, rows) if everything else (sample(every), sample_graphs(rows))
    types = pattern_cases.graph_probing().GRAPH_TYPES if joins else ()
    left = (len(every) - len(chosen), len(rows) - len(few))
    return _Questions(chosen, few, types, _TIMES if everything else 1, left)


def _ask_graphs(workers: Workers, rows: Sequence[tuple[Key, GraphCase]], step: Callable[[], None]) -> Table:
    """Query graphs, some at a time: those of one adjacent operator follow each other and share what it answers."""

    def work(runtime: Runtime, some: Sequence[tuple[Key, GraphCase]]) -> dict[Key, Mapping[str, Answer]]:
        return pattern_answers.query(runtime, some, step)

    parts = workers.map(work, [rows[i : i + _TOGETHER] for i in range(0, len(rows), _TOGETHER)])
    cells: dict[Key, Mapping[str, Answer]] = {}
    for part in parts:
        for key, answers in part.items():
            cells[key] = joined(cells.get(key, {}), answers)
    return Table(cells, (workers.cpu,))


def _ask_many(workers: Workers, questions: _Questions, step: Callable[[], None]) -> list[MixedUp]:
    def work(runtime: Runtime, dtype: str) -> list[MixedUp]:
        found = mixed_up(runtime, dtype, questions.times)
        step()
        return found

    return [one for found in workers.map(work, questions.types) for one in found]


def _nearest(runtime: str, release: str) -> Target | None:
    """The measured target of a release, or of the one whose number is nearest; ``None`` where none was measured.

    Where that one was not queried with patterns, the nearest that was stands in for it.
    """
    older, newer = targets.nearest(runtime, release)
    if f"{runtime}@{release}" in targets.names(runtime):
        return targets.find(f"{runtime}@{release}", exact=True)
    if older is None and newer is None:
        return None
    found = inferred(release, older, newer).nearer
    if not found.table.has_patterns:
        others = [one.table for one in (older, newer) if one is not None and one.table.has_patterns]
        return replace(found, table=found.table.with_patterns(others[0])) if others else found
    return found


def _graph_findings(
    found: Table, name: str, provenance: dict[str, str], known_target: Target | None
) -> Iterator[Finding]:
    """A finding for each graph case that deviates, or that is listed otherwise.

    What a default precision makes is compared on processors of one kind alone: the first, on which most was measured.
    On another kind a case that is listed as different and is different has other value classes, too: which ones
    depends on the processor.
    """
    listed = known_target.table if known_target is not None and known_target.table.has_patterns else None
    other = _other(name, known_target)
    alike = listed is not None and [*map(extensions, listed.cpus[:1])] == [*map(extensions, found.cpus[:1])]
    for key, answers in found.cells.items():
        known = None if listed is None else listed.cells.get(key)
        as_before = known is not None and _verdicts(key, known) == _verdicts(key, answers)
        same = as_before or (not alike and (key.setting in DEFAULTS.values() or bool(known and answers)))
        unexpected = "" if same or (listed is None and other) else _unlike(known, answers, other)
        if answers or unexpected:
            verdict = min((one.verdict for one in answers.values()), default="ok")
            witness, severity = _worst(key, answers) if verdict == "different-numbers" else (None, None)
            yield Finding(
                target=name,
                verdict=verdict,
                node=str(key.pattern),
                pattern=key.pattern,
                dtype=key.dtype,
                reasons=(ClassesDiffer(tuple(answers)),) if answers else (),
                witness=witness,
                severity=severity,
                provenance=provenance,
                case=", ".join(part for part in (f"{key.pattern} of {key.dtype}", key.setting, key.form) if part),
                unexpected=unexpected,
            )


def _verdicts(key: Key, answers: Answers) -> Mapping[str, tuple[str, str]]:
    """What answers say of each value class; those that round count as one class of a narrow type."""
    every = with_all_that_rounds(answers, key.pattern) if key.dtype in NARROW else answers
    return {name: (one.verdict, one.message) for name, one in every.items()}


def _worst(key: Key, answers: Answers) -> tuple[Witness | None, Severity | None]:
    """The worst that answers show, and how bad it is."""
    element = TYPES[key.dtype]
    found = [(one.witness, worst(each.severity for each in one.deviations(element))) for one in answers.values()]
    witness, severity = max(found, key=lambda each: (rank(each[1]), each[0] is not None))
    return witness if witness is None or is_alone(key.pattern) else replace(witness, pattern=key.pattern), severity


def _mixed_up_findings(found: Iterable[MixedUp], name: str, provenance: dict[str, str]) -> Iterator[Finding]:
    """A finding for each element type of which subtractions were computed with constants of others.

    It happens seldom: where it does not, nothing is gone.
    """
    for one in found:
        if one.wrong:
            yield Finding(
                target=name,
                verdict="different-numbers",
                dtype=one.dtype,
                reasons=(ConstantsMixedUpOften(one.wrong, one.queried),),
                provenance=provenance,
                case=f"many subtractions of {one.dtype} of one shape in a model, each with a scalar of its own",
                unexpected="" if one.dtype in quirks(name.partition("@")[0]).shares else "not listed",
            )


def _other(name: str, known_target: Target | None) -> str:
    """The release that findings are compared with, where it is another one than the runtime's."""
    return known_target.release if known_target is not None and known_target.name != name else ""


def _unlike(known: Mapping[str, Answer] | None, answers: Mapping[str, Answer], other: str) -> str:
    if known is None:
        return f"not asked of {other}" if other else "not listed"
    if other:
        return f"on {other} {', '.join(known) or 'nothing'} different, now {', '.join(answers) or 'nothing'}"
    return f"listed with {', '.join(known) or 'nothing'} different, now {', '.join(answers) or 'nothing'}"


def _known_target_note(name: str, known_target: Target | None) -> str:
    if known_target is None:
        return f"no deviations of {name} are listed, so every one counts; minuend measure makes a list"
    if known_target.name != name:
        patterns = (
            "" if known_target.table.has_patterns else "; it was not asked about neighbours, so these do not count"
        )
        text = f"{name} has not been measured: what counts are differences from {known_target.name}"
        return f"{text}, measured {known_target.conditions}{patterns}"
    return f"known deviations: {known_target.name}, measured {known_target.date} on {known_target.cpu}"


def _findings(judged: Judged, name: str, provenance: dict[str, str], known_target: Target | None) -> list[Finding]:
    case = judged.case
    listed = _listed(case, known_target)
    found = []
    for value_class in (row.name for row in case.classes):
        answer = judged.answers.get(EVERY) or judged.answers[value_class]
        known = listed.get(value_class, OK).verdict
        unexpected = ""
        gone = answer.verdict == "ok" and known != "ok"
        if answer.verdict != known and (case.full or not gone):  # the edges alone need not show every deviation
            unexpected = f"listed as {known}, but gone" if gone else "not listed"
            if other := _other(name, known_target):
                unexpected = f"{known} on {other}"
        if answer.verdict != "ok" or unexpected:
            found.append(_finding(case, name, provenance, answer, value_class, unexpected))
    if not found:
        found.append(_finding(case, name, provenance, OK, "", ""))
    return found


def _listed(case: Case, known_target: Target | None) -> Mapping[str, Answer]:
    if known_target is None:
        return {}
    answers = known_target.answer(case.opversion, case.element, case.relation, case.constants)
    return {name: answer for name, answer in answers.items() if answer.verdict != "unknown"}


def _finding(
    case: Case, name: str, provenance: dict[str, str], answer: Answer, value_class: str, unexpected: str
) -> Finding:
    return Finding(
        target=name,
        verdict=answer.verdict,
        node=f"{case.op}",
        dialect=case.op.dialect,
        operator=case.op.computes.name,
        opversion=case.opversion,
        dtype=case.element.name,
        shape_relation=case.relation,
        constants=case.constants,
        reasons=(RuntimeMessage(answer.message),) if answer.message else (),
        witness=answer.witness,
        severity=worst(one.severity for one in answer.deviations(case.element))
        if answer.verdict == "different-numbers"
        else None,
        provenance=provenance,
        case=case.id_of(value_class) if value_class else case.id,
        value_class=value_class,
        unexpected=unexpected,
    )
