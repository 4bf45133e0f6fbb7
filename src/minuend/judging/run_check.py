"""An unmodified model on installed runtimes, compared with the contract's evaluation: ``check`` with ``run=True``.

Every output is compared. Where one differs, the first place where numbers leave is looked for
(:mod:`minuend.judging.locating`), and the settings with which nothing differs. What a run shows holds for
its inputs.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.errors import LimitExceeded, MinuendError, SpecError, Unsupported, listed, shown
from minuend.judging import pattern_operands
from minuend.judging.constant_operands import can_make
from minuend.judging.contract import Tally, contracted
from minuend.judging.error_bounds import Bounds, answered
from minuend.judging.locating import Cuts, locate
from minuend.judging.operand_pools import codes_of
from minuend.judging.options import Judging
from minuend.judging.pattern_verdicts import pattern_verdict, sharing_constants
from minuend.judging.probe_node import Probed, pair_at, probe
from minuend.models.flow import DRAWN
from minuend.models.occurrences import Occurrence
from minuend.models.opening import Model
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.models.tracing import TRACING, Array, Trace
from minuend.operators import codes
from minuend.runtimes import registry
from minuend.runtimes.cases import relation_of
from minuend.runtimes.finding import Finding
from minuend.runtimes.model_runs import (
    BINARY,
    DIMS,
    ORDINARY,
    SMALL,
    WILD,
    RuntimeRefuses,
    beyond_inputs,
    check_size,
    make_inputs,
    only_nan,
    query_model,
    with_operands,
)
from minuend.runtimes.quirks import quirks
from minuend.runtimes.reasons import (
    AnotherConstant,
    ProbeAgrees,
    Reason,
    RunAgrees,
    RunAloneAgrees,
    RunContradicts,
    RunDiffers,
    RunTogetherDiffers,
)
from minuend.runtimes.report import Report
from minuend.runtimes.running import Runtime
from minuend.runtimes.severity import UNKNOWN, Severity, deviation, worst
from minuend.runtimes.targets import Target
from minuend.runtimes.trials import Answered, Place, Trial
from minuend.runtimes.witness import Witness
from minuend.standards.node import Node

GIVEN = "the given ones"
"""Which inputs were taken, where a caller gave them."""

KNOWN = "operands that were measured to differ"
"""Inputs of the numbers that witnesses have."""

_MOST_NUMBERS, _MOST_TURNS = 16, 4
"""Of witnesses' numbers, how many of a type inputs are made of; and how many times, where inputs are small."""

Inputs = Mapping[str, Array]

NOTHING: Mapping[str, Sequence[float]] = MappingProxyType({})
NO_PATTERNS: Mapping[str, Witness] = MappingProxyType({})


@dataclass(frozen=True)
class Turn:
    """Inputs, what they are, and what the contract gives for them."""

    inputs: Inputs
    words: str
    trace: Trace


@dataclass(frozen=True)
class Tried:
    """What came of a model on a runtime: the trial, and what each subtraction gave that could be looked at.

    ``shown`` has the first element of each that is another number: the operands, what came and what was expected.
    ``pairs`` has the codes of operands that known numbers made of them. ``met`` has the subtractions the witness of
    whose pattern had its operands in the run, with an output that was as expected.
    """

    trial: Trial
    subtractions: Mapping[str, Tally]
    shown: Mapping[str, Witness] = field(default_factory=dict)
    pairs: Mapping[str, Set[tuple[int, ...]]] = field(default_factory=dict)
    met: Set[str] = frozenset()


# ---- inputs -----------------------------------------------------------------------------------------------------


def turns(
    model: Model,
    inputs: Inputs | None,
    assumed: Assumptions = NONE,
    known: Mapping[str, Sequence[float]] = NOTHING,
    patterns: Mapping[str, Witness] = NO_PATTERNS,
) -> list[Turn]:
    """Return the inputs that a model is run on: the given ones; or ordinary numbers, edges, and known numbers.

    Edges are of use where every operator on the way to some output has one right answer, and so are ``known`` numbers
    of element types, those of witnesses. So are the operands of witnesses of ``patterns``, by the places of their
    subtractions, where inputs reach them.

    Raises:
        SpecError: given inputs that do not fit. MinuendError: this package cannot run the model.
    """
    if inputs is not None:
        return [Turn(inputs, GIVEN, TRACING.required(model.dialect).trace(model, inputs))]
    check_size(model)
    first = _made(model, (ORDINARY, SMALL, BINARY), assumed)
    bounds = Bounds(first.trace)
    if not first.inputs or not any(bounds.exact(key) for key in first.trace.outputs.values()):
        return [first]
    found = [first]
    with contextlib.suppress(MinuendError):  # they are no good as indices or counts
        found.append(_made(model, (WILD,), assumed))
    with contextlib.suppress(MinuendError):
        found += _of_known(model, first, known, assumed)
    found += itertools.islice(_of_patterns(model, first, patterns, assumed), _MOST_TURNS)
    return found


def _of_patterns(model: Model, first: Turn, patterns: Mapping[str, Witness], assumed: Assumptions) -> Iterator[Turn]:
    """Inputs in which the operands of a pattern's witness meet, for each pattern where that can be."""
    for where, witness in patterns.items():
        for one in _standing(where, witness, first.trace):
            made = pattern_operands.with_witness(one, first.trace, witness, first.inputs, assumed)
            with contextlib.suppress(MinuendError):
                if made is not None:
                    trace = TRACING.required(model.dialect).trace(model, made)
                    if pattern_operands.met(one, trace, witness):
                        yield Turn(made, KNOWN, trace)
                        break


def _standing(where: str, witness: Witness, trace: Trace) -> Iterator[pattern_operands.Placed]:
    """Where the pattern of a witness stands, if its result is an output: inside, looking at it can change it."""
    outputs = set(trace.outputs.values())
    found = () if witness.pattern is None else pattern_operands.places(witness.pattern, where, trace)
    yield from (one for one in found if one.result in outputs)


def _of_known(model: Model, first: Turn, known: Mapping[str, Sequence[float]], assumed: Assumptions) -> Iterator[Turn]:
    """Inputs of known numbers: as many as it takes that each meets each, in small inputs too."""
    sizes = [array.size for array in first.inputs.values() if str(array.dtype) in known]
    pairs = max((len(numbers) ** 2 for numbers in known.values()), default=0)
    for turn in range(min(_MOST_TURNS, -(-pairs // max(1, min(sizes)))) if sizes else 0):
        made = with_operands(model, first.inputs, known, turn, assumed)
        yield Turn(made, KNOWN, TRACING.required(model.dialect).trace(model, made))


def _made(model: Model, kinds: Iterable[str], assumed: Assumptions) -> Turn:
    """Inputs of the first kind and the first length of unknown dims with which the model runs.

    Those of which all elements of an output are NaN are taken where there are no others.
    """
    failure: MinuendError | None = None
    silent: Turn | None = None
    stopped: set[str] = set()
    for kind, dim in itertools.product(kinds, DIMS):
        if kind in stopped:
            continue
        made = make_inputs(model, tuple(TYPES) if kind == WILD else (), 0, dim, kind, assumed)
        try:
            found = Turn(made, kind, TRACING.required(model.dialect).trace(model, made, wide=kind != WILD))
        except MinuendError as error:
            failure = failure or error
            stopped |= {kind} if isinstance(error, LimitExceeded) else set()  # which takes minutes
            continue
        if kind == WILD or not _only_nan(found):
            return found
        silent, stopped = silent or found, stopped | {kind}
    if silent is not None:
        return silent
    raise Unsupported(f"{failure}; the inputs were made, and --input gives others") from failure


def _only_nan(turn: Turn) -> list[str]:
    """The outputs all elements of which are NaN."""
    return only_nan({name: turn.trace.values[key] for name, key in turn.trace.outputs.items()})


def _expecting(original: Model, turn: Turn) -> Trace:
    """What the contract gives for a rewritten model: the outputs that the original one has."""
    known = original.run(turn.inputs)
    expected = {key: getattr(known[name], "codes", known[name]) for name, key in turn.trace.outputs.items()}
    return replace(turn.trace, values={**turn.trace.values, **expected})


# ---- one runtime ------------------------------------------------------------------------------------------------


def installed(target: Target) -> str:
    """Return the release of a target's runtime that is installed.

    Raises:
        Unsupported: none is. SpecError: no runtime that could be installed.
    """
    adapter = registry.known(target.runtime)
    if adapter is None or adapter.ARRAYS:
        raise SpecError("targets", f"{target.name} cannot be run here; check without running it")
    release = registry.release(adapter)
    if release is None:
        raise Unsupported(
            f"running the model on {target.runtime} needs the package {adapter.PACKAGE}, which is not installed: "
            f"{registry.installing(adapter)}"
        )
    return str(release)


def tried(
    model: Model,
    target: Target,
    judging: Judging,
    found: Sequence[Occurrence] = (),
    original: Model | None = None,
    known: Mapping[str, Sequence[float]] = NOTHING,
    patterns: Mapping[str, Witness] = NO_PATTERNS,
) -> Tried:
    """Run a model as it is on a target's runtime, and compare.

    Args:
        model: the model. target: its runtime is run, in the release that is installed.
        judging: the hint, the inputs, and what is known of those that are made. found: the model's subtractions.
        original: the model whose outputs are expected, where ``model`` is a rewritten one.
        known: numbers of element types that were measured to differ. patterns: the witnesses of patterns, by the
            places of their subtractions.

    Raises:
        SpecError: inputs that do not fit. Unsupported: the runtime is not installed.
    """
    release = installed(target)
    inputs = None if judging.runs is None else judging.runs.inputs
    trial = Trial(target=target.name, runtime=f"{target.runtime}@{release}", hint=judging.hint_of(target))
    if release != target.release:
        note = f"{target.name} is judged, and {trial.runtime}, which is installed, is run: its numbers are its own"
        trial = replace(trial, notes=(note,))
    if inputs is None and (note := beyond_inputs(model, judging.assumed)):
        trial = replace(trial, notes=(*trial.notes, note))
    try:
        ran = turns(model, inputs, judging.assumed, known, patterns)
        if original is not None:
            ran = [replace(turn, trace=_expecting(original, turn)) for turn in ran]
    except MinuendError as error:
        if inputs is not None and isinstance(error, SpecError):
            raise
        return Tried(replace(trial, unlike=f"there is nothing to compare with: {error}"), {})
    if silent := [name for name in _only_nan(ran[0]) if all(name in _only_nan(turn) for turn in ran)]:
        names = listed(map(shown, silent), "and")
        note = f"all elements of {names} are NaN with these inputs, so that little is compared; --input gives others"
        trial = replace(trial, notes=(*trial.notes, note))
    with Runtime(target.runtime) as runtime:
        return _compared(model, runtime, ran, found, trial, patterns)


def _compared(
    model: Model,
    runtime: Runtime,
    ran: Sequence[Turn],
    found: Sequence[Occurrence],
    trial: Trial,
    patterns: Mapping[str, Witness],
) -> Tried:
    options = {"hint": trial.hint} if trial.hint else {}
    trial = replace(trial, inputs=" and on ".join(dict.fromkeys(turn.words for turn in ran)))
    outputs: dict[str, Answered] = {}
    tallies: dict[str, Tally | None] = {}
    shown: dict[str, Witness] = {}
    pairs: dict[str, set[tuple[int, ...]]] = {}
    met: set[str] = set()
    wrong: Cuts | None = None
    for turn in ran:
        try:
            got, _ = query_model(model, turn.inputs, list(model.output_names()), (), runtime, options)
        except RuntimeRefuses as refused:
            return Tried(replace(trial, refused=str(refused)), {})
        except LimitExceeded as limit:
            return Tried(replace(trial, unlike=str(limit)), {})
        cuts = Cuts(model, turn.inputs, turn.trace, runtime, options, got, _compared_outputs(turn))
        answers = _answers(cuts)
        for one in answers:
            outputs[one.name] = _added(outputs.get(one.name), one)
        _judge(cuts, found, tallies, shown, pairs if turn.words == KNOWN else None)
        met.update(_met(turn, patterns, answers))
        if wrong is None and any(one.different for one in answers):
            wrong = cuts
    trial = replace(trial, outputs=tuple(outputs.values()))
    if not any(one.elements for one in trial.outputs):
        trial = replace(trial, unlike=f"it runs, and nothing is compared: {_why_nothing(trial, ran[0])}")
    if wrong is not None:
        switches = tuple(quirks(trial.runtime.partition("@")[0]).switches)
        trial = replace(trial, places=tuple(_places(wrong)), switches=switches, gone=tuple(_gone(wrong)))
    known = {where: tally for where, tally in tallies.items() if tally is not None}
    return Tried(replace(trial, notes=(*trial.notes, *_first(known, shown))), known, shown, pairs, met)


def _met(turn: Turn, patterns: Mapping[str, Witness], answers: Iterable[Answered]) -> Iterator[str]:
    """The subtractions the witness of whose pattern had its operands in inputs, with an output that was as expected."""
    right = {turn.trace.outputs[one.name] for one in answers if not one.different}
    for where, witness in patterns.items():
        for one in _standing(where, witness, turn.trace):
            if one.result in right and pattern_operands.met(one, turn.trace, witness):
                yield where


def _first(tallies: Mapping[str, Tally], shown: Mapping[str, Witness]) -> Iterator[str]:
    """The first subtraction of the model that gave another number, with its operands."""
    for where, tally in tallies.items():
        if tally.first is not None and where in shown:
            pair = f"{shown[where].gives}, expected {shown[where].expected}"
            yield f"the first subtraction with another result is {where}, at {list(tally.first.index)}: {pair}"
            return


def _compared_outputs(turn: Turn) -> list[str]:
    """Outputs of numbers that are no other ones in every run.

    With edges those alone whose operators are exact: a bound for infinities says nothing.
    """
    bounds, values = Bounds(turn.trace), turn.trace.values
    drawn: set[Hashable] = set()
    for step in turn.trace.steps:
        drawn.update(step.outputs if step.operator in DRAWN or not drawn.isdisjoint(step.inputs) else ())
    return [
        name
        for name, key in turn.trace.outputs.items()
        if key not in drawn
        and isinstance(values[key], np.ndarray)
        and values[key].dtype.kind not in "OUT"
        and (turn.words not in (WILD, KNOWN) or bounds.exact(key))
    ]


def _why_nothing(trial: Trial, turn: Turn) -> str:
    """Why no element of an output could be compared, and what to do."""
    if trial.outputs:
        return "no output has an element with these inputs; --input gives others"
    if not turn.trace.outputs:
        return "the model has no output; make the results of its nodes outputs"
    names = listed(map(shown, turn.trace.outputs), "or")
    return f"{names} has no numbers that are the same in every run; make a value before it an output"


def _answers(cuts: Cuts) -> list[Answered]:
    """Compare the outputs."""
    bounds, found = Bounds(cuts.trace), []
    for name in cuts.outputs:
        key = cuts.trace.outputs[name]
        found.append(answered(name, cuts.got[name], cuts.trace.values[key], bounds.judge(key, cuts.got[name])))
    return found


def _added(known: Answered | None, one: Answered) -> Answered:
    """An output over several turns."""
    if known is None:
        return one
    allowed = [bound for bound in (known.allowed, one.allowed) if bound is not None]
    return replace(
        known,
        elements=known.elements + one.elements,
        different=known.different + one.different,
        first=known.first or one.first,
        allowed=max(allowed, default=None),
        farthest=max(known.farthest, one.farthest),
        unequal=known.unequal + one.unequal,
        ulps=max((count for count in (known.ulps, one.ulps) if count is not None), default=None),
        distance=max(known.distance, one.distance),
        numbers=known.numbers + one.numbers,
    )


def _places(cuts: Cuts) -> Iterable[Place]:
    """Where numbers leave on the way to each output that differs; one that an earlier place explains is left out."""
    bounds = Bounds(cuts.trace)
    seen: set[str] = set()
    for one in _answers(cuts):
        place = locate(cuts, bounds, one.name) if one.different else None
        if place is not None and place.location not in seen:
            seen.add(place.location)
            yield place


def _gone(cuts: Cuts) -> Iterable[str]:
    """The settings of the runtime, each by itself, with which no output differs."""
    for switch in quirks(cuts.runtime.name).switches:
        try:
            got, _ = query_model(
                cuts.model, cuts.inputs, list(cuts.got), (), cuts.runtime, {**cuts.settings, "switch": switch}
            )
        except (RuntimeRefuses, LimitExceeded):
            continue
        if not any(one.different for one in _answers(replace(cuts, got=got))):
            yield switch


# ---- subtractions -----------------------------------------------------------------------------------------------


def _judge(
    cuts: Cuts,
    found: Sequence[Occurrence],
    tallies: dict[str, Tally | None],
    shown: dict[str, Witness],
    pairs: dict[str, set[tuple[int, ...]]] | None,
) -> None:
    """Compare each subtraction of the main graph on the operands that the runtime itself gave it.

    ``None`` stands for one that could not be looked at: of such a one nothing is known.
    """
    steps = {step.where: step for step in cuts.trace.steps if step.operator == "Sub"}
    occurrences = [
        occurrence for occurrence in found if occurrence.where in steps and isinstance(occurrence.node, Node)
    ]
    keys = {
        occurrence.where: (*steps[occurrence.where].inputs[:2], steps[occurrence.where].outputs[0])
        for occurrence in occurrences
    }
    everything = cuts.seen([key for three in keys.values() for key in three])
    for occurrence in occurrences:
        seen = everything if everything is not None else cuts.seen(keys[occurrence.where])
        tally = tallies.setdefault(occurrence.where, Tally())
        if seen is None or keys[occurrence.where][2] not in seen or tally is None:
            tallies[occurrence.where] = None
            continue
        a, b, c = (seen[key] if key in seen else cuts.trace.values[key] for key in keys[occurrence.where])
        assert isinstance(occurrence.node, Node)
        if pairs is not None:
            pairs.setdefault(occurrence.where, set()).update(_pairs(occurrence.node.a.element, a, b))
        expected = contracted(occurrence.node, a, b)
        before = tally.first
        tally.add(occurrence.where, c, expected)
        if tally.first is not before and tally.first is not None:  # its index is one of these arrays
            element = occurrence.node.a.element
            codes = [codes_of(element, np.asarray(one)) for one in (a, b, c, expected)]
            witness = pair_at(element, tally.first.index, codes)
            shown |= {} if witness is None else {occurrence.where: witness}


def _pairs(element: ElementType, a: Array, b: Array) -> Iterator[tuple[int, ...]]:
    """The codes of the operands that meet, each pair once; nothing of shapes that NumPy does not join."""
    with contextlib.suppress(ValueError):
        both = np.broadcast_arrays(*(codes_of(element, np.asarray(one)) for one in (a, b)))
        yield from map(tuple, np.unique(np.stack([one.reshape(-1) for one in both]), axis=1).T.tolist())


def with_runs(report: Report, model: Model, found: Sequence[Occurrence], judging: Judging) -> Report:
    """Return a report with what the installed runtimes of its targets give for the model as it is.

    Args:
        report: one finding for each subtraction and target, in this order. model, found: the subtractions' model, and
            those. judging: what they were judged on.
    """
    targets = judging.targets
    for one in targets:
        installed(one)  # before a minute is spent on another
    findings = list(report.findings)
    for k, target in enumerate(targets):
        findings[k :: len(targets)] = with_answers(findings[k :: len(targets)], found, target, judging)
    known = {
        one.name: tried(model, one, judging, found, None, numbers(findings, one.name), of_patterns(findings, one.name))
        for one in targets
    }
    pairs = itertools.product(found, targets)
    seen = tuple(
        with_run(finding, occurrence, known[one.name])
        for finding, (occurrence, one) in zip(findings, pairs, strict=True)
    )
    return replace(report, findings=seen, trials=tuple(one.trial for one in known.values()))


def numbers(findings: Iterable[Finding], target: str) -> dict[str, list[float]]:
    """Return the numbers of the witnesses of a target's deviations, by element type."""
    found: dict[str, dict[float | str, float]] = {}
    for one in findings:
        if one.target == target and one.witness is not None and one.dtype in TYPES:
            found.setdefault(one.dtype, {}).update((repr(number), number) for number in one.witness.operands)
    return {dtype: list(each.values())[:_MOST_NUMBERS] for dtype, each in found.items()}


def of_patterns(findings: Iterable[Finding], target: str) -> dict[str, Witness]:
    """Return the witnesses of patterns of a target's deviations, by the places of their subtractions."""
    own = (one for one in findings if one.target == target)
    return {one.location: one.witness for one in own if one.witness is not None and one.witness.pattern is not None}


def with_answers(
    findings: Sequence[Finding], found: Sequence[Occurrence], target: Target, judging: Judging
) -> list[Finding]:
    """Return the findings of a target with what its installed runtime gives for subtractions in isolation.

    Args:
        findings: one for each subtraction. found: those. target: what is run. judging: how.
    """
    every = judging.runs is not None and judging.runs.every
    chosen = [every or finding.verdict == "unknown" for finding in findings]
    if not any(chosen) or target.translate is not None or f"{target.runtime}@{installed(target)}" != target.name:
        return list(findings)
    sharing = sharing_constants(found, target)
    results = list(findings)
    with Runtime(target.runtime) as runtime:
        for k, (finding, occurrence) in enumerate(zip(findings, found, strict=True)):
            if chosen[k] and finding.verdict not in ("invalid", "not-implemented"):
                answer = probe(occurrence, runtime, judging.hint_of(target), known_pairs(occurrence, target))
                results[k] = with_answer(finding, answer, reason_around(occurrence, target, judging.hint, sharing))
    return results


def known_pairs(occurrence: Occurrence, target: Target) -> list[Witness]:
    """Pairs that were measured to deviate on a target, of those that a subtraction's operands can make."""
    if not isinstance(occurrence.node, Node):
        return []
    relation = relation_of(occurrence.node) or "same"
    answers = target.answer(occurrence.node.op, occurrence.node.a.element, relation, occurrence.constants).values()
    return [one.witness for one in answers if one.witness is not None and can_make(occurrence, one.witness.operands)]


def reason_around(occurrence: Occurrence, target: Target, hint: str, sharing: Collection[str]) -> Reason | None:
    """Return why an occurrence in isolation does not show how it computes in its model; ``None`` where it does."""
    if occurrence.where in sharing:
        return AnotherConstant()
    if not isinstance(occurrence.node, Node):
        return None
    around = pattern_verdict(occurrence, occurrence.node, target, hint)
    return None if around.verdict == "ok" else around.why


def with_answer(finding: Finding, answer: Probed | None, around: Reason | None) -> Finding:
    """Return a finding with what a runtime gave for its occurrence in isolation.

    Args:
        around: what else decides in the model: then an occurrence that is right in isolation says nothing.
    """
    if answer is None:
        return finding
    seen = answer.reason
    finding = replace(finding, seen=seen)
    if answer.refused:
        return replace(
            finding, verdict="not-implemented", reasons=(seen,), witness=None, severity=None, pattern=None, hint=""
        )
    if answer.different:
        known = finding.witness if finding.verdict == "different-numbers" else None
        return _deviating(finding, seen, known or answer.witness, answer.witness)
    if finding.verdict == "ok":
        return finding
    if finding.verdict == "different-numbers":
        return replace(finding, reasons=(*finding.reasons, seen))
    if around is not None or not answer.whole:
        more = () if around is None or around in finding.reasons else (around,)
        limited = ProbeAgrees(answer.pairs, "shapes" if around is None else "patterns")
        return replace(finding, reasons=(*finding.reasons, *more, limited))
    return replace(finding, verdict="ok", reasons=(seen, *finding.reasons))


def with_run(finding: Finding, occurrence: Occurrence, one: Tried) -> Finding:
    """Return a finding with what a run showed of it; one of another release stays as it is."""
    tally = one.subtractions.get(occurrence.where)
    if one.trial.target != one.trial.runtime:
        return finding
    finding = replace(finding, ran=True)
    if tally is None or not tally.elements:
        return _together(finding, occurrence.where, one.trial.places)
    if tally.first is not None:
        return _corrected(finding, tally, one.shown.get(occurrence.where))
    contradicts = finding.verdict == "different-numbers" and _had_witness(finding, occurrence.where, one)
    seen = RunContradicts(tally.elements) if contradicts else RunAgrees(tally.elements)
    finding = replace(finding, seen=seen)
    if finding.verdict == "unknown":
        return replace(finding, verdict="ok", reasons=(RunAloneAgrees(tally.elements), *finding.reasons))
    if finding.verdict == "different-numbers":
        return replace(finding, reasons=(*finding.reasons, seen))
    return finding


def _had_witness(finding: Finding, where: str, one: Tried) -> bool:
    """Whether a run had the operands of a finding's witness: numbers that an input has do not meet in every node."""
    witness, element = finding.witness, TYPES.get(finding.dtype)
    if witness is None or element is None:
        return False
    if witness.pattern is not None:  # its operands are those of other nodes
        return where in one.met
    if KNOWN not in one.trial.inputs:
        return False
    return tuple(codes.encode(element, number) for number in witness.operands) in one.pairs.get(where, ())


def _together(finding: Finding, where: str, places: Iterable[Place]) -> Finding:
    """An occurrence that the runtime computes with other nodes, so that only the result of all can be seen."""
    for place in places:
        if place.location == where or any(one.startswith(f"{where} (") for one in place.together):
            others = [one for one in place.together if not one.startswith(f"{where} (")]
            others += [] if place.location == where else [f"{place.location} ({place.operator})"]
            seen = RunTogetherDiffers(tuple(others))
            finding = replace(finding, seen=seen)
            if finding.verdict == "different-numbers" or (finding.verdict == "unknown" and place.location != where):
                return replace(finding, reasons=(*finding.reasons, seen))
            verdict = "different-numbers" if place.location == where and not place.cut else "unknown"
            first = place.first
            shown = replace(seen, index=first.index, got=first.got, expected=first.expected)
            severity = _severity(finding, None) if verdict == "different-numbers" else None
            return replace(finding, verdict=verdict, reasons=(shown,), severity=severity)
    return finding


def _corrected(finding: Finding, tally: Tally, witness: Witness | None) -> Finding:
    """What a run shows is different: that is the verdict, whatever was known, and the operands that show it."""
    first = tally.first
    assert first is not None
    seen = RunDiffers(tally.different, tally.elements)
    where = replace(seen, index=first.index, witness=witness)
    if witness is None:
        where = replace(where, got=first.got, expected=first.expected)
    if finding.verdict == "different-numbers":
        return _deviating(replace(finding, seen=seen), where, witness or finding.witness, witness)
    return _deviating(replace(finding, seen=seen, pattern=None, hint=""), where, witness, witness)


def _deviating(finding: Finding, why: Reason, shown: Witness | None, found: Witness | None) -> Finding:
    """A finding of what a runtime was seen to do: it adds to a deviation that is known, and replaces what was not.

    Args:
        why: what was seen. shown: the witness that is reported. found: the one that was seen, which has a severity.
    """
    known = finding.reasons if finding.verdict == "different-numbers" else ()
    shown_now = deviation(TYPES[finding.dtype], found) if finding.dtype else UNKNOWN
    # Of what was not known, one example is not all.
    deviations = (*finding.deviations, shown_now) if known else (UNKNOWN,)
    return replace(
        finding,
        deviations=deviations,
        verdict="different-numbers",
        reasons=(*known, why),
        witness=shown,
        severity=_severity(finding, found),
    )


def _severity(finding: Finding, witness: Witness | None) -> Severity | None:
    """The worst that is known of a finding, with another deviation that was seen."""
    element = TYPES.get(finding.dtype)
    return finding.severity if element is None else worst([finding.severity, deviation(element, witness).severity])
