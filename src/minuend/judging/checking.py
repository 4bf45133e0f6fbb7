"""A model against targets: will each subtraction give the contract's numbers there?

Nothing is run. A target's answers were measured for every value class (:mod:`minuend.runtimes.targets`); what a node's
operands can hold, worked out from the model, says which classes occur (:mod:`minuend.models.ranges`). A node is judged
on operands that the contract gives: what a runtime makes wrong before it is that node's finding.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from minuend.child import MEMORY, SECONDS, limited
from minuend.core.elements import ElementType
from minuend.errors import ShapeError, SpecError, Unsupported, listed, near, shown
from minuend.judging.constant_operands import SYSTEMATIC, can_make, in_float64, on_their_numbers
from minuend.judging.pattern_verdicts import beside_zero, joined, keeps_constant, settings, twins, with_open_shapes
from minuend.models.converting import advice
from minuend.models.occurrences import Array, Occurrence, occurrences, value_names
from minuend.models.opening import Model, dialect_of, open_model
from minuend.models.purpose import PLAIN
from minuend.models.ranges.assumed import NONE, Assumptions, assumptions, missing
from minuend.models.ranges.interval import Range
from minuend.operators import VALUE_CLASSES
from minuend.operators.value_classes import NO_VALUES, classes, reachable
from minuend.plain import grouped
from minuend.runtimes import targets
from minuend.runtimes.answers import EVERY, OK, WORST, Answer, Witness
from minuend.runtimes.cases import CONSTANTS, RELATIONS, relation_of
from minuend.runtimes.quirks import quirks
from minuend.runtimes.report import Finding, Report
from minuend.runtimes.target import SILENT, Target, Unfit
from minuend.standards.abilities import ability
from minuend.standards.dialects import dialects
from minuend.standards.node import Node
from minuend.standards.validation import validate

Named: TypeAlias = str | os.PathLike[str] | Target
"""A target, its name, or the path of its file."""

AS_CONTRACTED = "the contract's numbers"
"""The reason of an ok that needs no other."""


def check(
    model: Any,
    target: Named | Iterable[Named],
    *,
    hint: str = "",
    run: bool | Literal["all"] = False,
    inputs: Mapping[str, Any] | None = None,
    exact: bool = False,
    strict: bool = False,
    assume: Mapping[str, Any] | None = None,
    max_memory: int | None = MEMORY,
    max_seconds: float | None = SECONDS,
    **options: Any,
) -> Report:
    """Judge every subtraction of a model on one or more targets.

    Args:
        model: a path, bytes or text of a model in ONNX, OpenVINO IR or DxDispatch JSON, an ``onnx.ModelProto``, an
            ``ov.Model``, or a Model of this package.
        target: ``"openvino-cpu"`` (the newest release that was measured), ``"onnxruntime-cpu@1.31.1"``,
            ``"directml@5.1"``, ``"openvino-cpu@installed"``, the path of a measured file, or several of them; a
            :class:`~minuend.runtimes.targets.Target` is taken as it is. A release that nobody measured is answered by
            those around it, and a sentence in ``.head`` says so.
        hint: the precision that runtimes are told: ``"f32"`` stands for OpenVINO's ``INFERENCE_PRECISION_HINT=f32``.
        run: whether to run the model, as it is, on the runtimes of the targets in the releases that are installed, and
            to compare every output with the contract's own evaluation; see :mod:`minuend.judging.run_check`.
            Subtractions of which nothing is known are run by themselves, with ``"all"`` every one.
        inputs: arrays for a run by the model's own names; by default some are made.
        exact: whether releases that nobody measured are refused. strict: whether what a target's documents are silent
            about (NaN, subnormal numbers, …) makes a subtraction unknown.
        assume: what is known of inputs and other values beyond the model, by their names: ``(0, 131071)``,
            ``(0, None)`` or ``"0..131071"``. No element is then anything else, and none is NaN.
        max_memory, max_seconds: what running the model once may take, as in :func:`minuend.models.opening.run`. A
            model that is stopped is no error: its trial says so, and is unknown.
        options: what the dialect's own ``read`` takes besides.

    Returns:
        A finding for each node and target: ``.verdict`` is ``"ok"``, ``"different-numbers"`` (with a ``.witness``),
        ``"not-implemented"``, ``"invalid"`` or ``"unknown"``; ``.reason`` says why. ``.trials`` holds what the runs
        gave.

    Raises:
        SpecError: no such target, a hint that none of them knows, a target that cannot be run, inputs that do not fit,
            or something assumed of a value that the model lacks. Unsupported: a runtime that is to be run and is not
            installed. FileNotFoundError, FileFormatError, TypeError: see :func:`minuend.models.opening.open_model`.

    >>> text = '<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }'
    >>> [(finding.verdict, str(finding.witness)) for finding in check(text, "openvino-cpu@2026.4.1")]
    [('different-numbers', '5 - 10: got 0, expected 251')]
    >>> check(text, "openvino-cpu@2026.4.1", assume={"a": "10..", "b": (0, 9)}).ok
    True
    """
    if run not in (False, True, "all"):
        raise SpecError("run", f"run is {shown(run)}; expected False, True or 'all'")
    chosen = find_targets(target, exact=exact, strict=strict)
    check_hint(hint, chosen)
    opened = open_model(model, **options)
    assumed = assumed_of(opened, assume)
    with limited(max_memory, max_seconds):
        return examine(opened, chosen, title=_title(model), hint=hint, run=run, inputs=inputs, assumed=assumed)


def assumed_of(model: Model, given: Mapping[str, Any] | None) -> Assumptions:
    """Read what is assumed of values, and check that a model has them.

    Raises:
        SpecError: a range that is none, or a name that the model lacks.
    """
    assumed = assumptions(given)
    known = value_names(model) if assumed else ()
    if absent := [name for name in assumed if name not in known]:
        raise missing(absent, known)
    return assumed


def examine(
    opened: Model,
    chosen: Sequence[Target],
    *,
    title: str,
    hint: str = "",
    run: bool | Literal["all"] = False,
    inputs: Mapping[str, Any] | None = None,
    assumed: Assumptions = NONE,
) -> Report:
    """Judge every subtraction of an open model: see :func:`check`, whose arguments are read here already."""
    found = list(occurrences(opened, assumed))
    unread = {one.name: reads_none(opened, one) for one in chosen} if found else {}
    shared = {one.name: twins(found, one) for one in chosen}
    findings = tuple(
        beside_twins(judge(occurrence, one, unread[one.name], hint), shared[one.name])
        for occurrence in found
        for one in chosen
    )
    notes = tuple(dict.fromkeys(note for occurrence in found for note in occurrence.notes))
    granted = tuple(one.sentence for one in assumed.values())
    head = (*(one.warning for one in chosen if one.warning), *_hints(findings))
    told = tuple(conditions(findings, chosen))
    report = Report(title=title, findings=findings, head=head, notes=notes, conditions=told, assumed=granted)
    if not run:
        if inputs is not None:
            raise SpecError("inputs", "inputs are for a run; expected run=True beside them")
        return report
    from minuend.judging.run_check import with_runs

    _check_inputs(inputs or {}, assumed)
    return with_runs(report, opened, chosen, found, inputs, hint, assumed, every=run == "all")


def _check_inputs(inputs: Mapping[str, Any], assumed: Assumptions) -> None:
    for name in assumed.keys() & inputs.keys():
        array = np.asarray(inputs[name])
        if (assumed[name].fit(array) != array).any():
            raise SpecError(
                "inputs", f"the input {shown(name)} holds elements that are not {assumed[name]}, as is assumed"
            )


def beside_twins(finding: Finding, shared: Collection[str]) -> Finding:
    """Return a finding as it is beside others: what is fine by itself can be mixed up with another.

    Args:
        finding: of the subtraction by itself.
        shared: the places that :func:`minuend.judging.pattern_verdicts.twins` found.
    """
    if finding.verdict != "ok" or finding.location not in shared:
        return finding
    reason = (
        f"another subtraction of this shape has another {finding.dtype} constant, and {finding.target} can compute one "
        "with the constant of the other; it does so for few pairs of constants, which nobody has listed"
    )
    return replace(finding, verdict="unknown", reason=reason, witness=None)


def check_hint(hint: str, chosen: Iterable[Target]) -> None:
    """Check that one of some targets at least can be told a hint.

    Raises:
        SpecError: none of them.
    """
    known = {name: target.name for target in chosen for name in quirks(target.runtime).hints}
    if hint and hint not in known:
        expected = f"expected {listed(known)}" if known else "these targets take none"
        raise SpecError("hint", f"no hint {shown(hint)}{near(hint, known)}; {expected}")


def _hints(findings: Iterable[Finding]) -> Iterator[str]:
    """What holds only where a runtime is told to keep a precision, once for each runtime."""
    counts = Counter((finding.target, finding.hint) for finding in findings if finding.hint)
    for (name, hint), count in counts.items():
        said = settings(name.partition("@")[0], hint)
        subtractions = "1 subtraction is" if count == 1 else f"{count} subtractions are"
        yield (
            f"on {name} {subtractions} right only with {said}, which is not its default on processors with bfloat16 "
            f'instructions; set it where the model is compiled, compile_model(model, "CPU", '
            f"{dict(quirks(name.partition('@')[0]).hints[hint])}), and judge with it: --hint {hint}"
        )


def conditions(findings: Iterable[Finding], chosen: Iterable[Target]) -> Iterator[str]:
    """On which processors the targets of findings were measured, and what another one would do otherwise."""
    kinds: dict[str, set[tuple[str, str]]] = {}
    for finding in findings:
        if finding.measured is not None:
            kinds.setdefault(finding.target, set()).add((finding.dtype, finding.constants))
    measured = [known for one in chosen if one.name in kinds for known in one.behind]
    for where, names in grouped((one.conditions, one.name) for one in measured).items():
        yield f"measured {where}: {listed(names, 'and')}"
    for runtime, found in grouped((name.partition("@")[0], kind) for name in kinds for kind in kinds[name]).items():
        for types, constants, words in quirks(runtime).by_isa:
            if any(dtype in types and which in constants for dtype, which in found):
                yield f"{runtime} {words}"


def _title(model: Any) -> str:
    short = isinstance(model, os.PathLike) or (isinstance(model, str) and "\n" not in model and model[:1] not in "<{")
    return os.fspath(model) if short else "the model"


def find_targets(target: Named | Iterable[Named], *, exact: bool = False, strict: bool = False) -> tuple[Target, ...]:
    """Return targets by their names or by the paths of their files, each once.

    Args:
        target, exact, strict: see :func:`check`.

    Raises:
        SpecError: none at all, no such target, one that reads no models, or a version of a standard.
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
                f"{shown(name)} is a version of a standard, a goal of fix and convert; check takes what runs a model: "
                f"{listed(_runtimes())}",
            )
    find = functools.partial(targets.find, exact=True) if exact else targets.find
    every = (one if isinstance(one, Target) else find(one) for one in wanted)
    found = {one.name: targets.for_models(one) for one in every}
    return tuple(replace(one, silent=frozenset()) if strict else one for one in found.values())


def _runtimes() -> list[str]:
    every = dict.fromkeys(name.partition("@")[0] for name in targets.names())
    return [name for name in every if not quirks(name).arrays]


# ---- one node on one target -----------------------------------------------------------------------------------


def reads_none(model: Model, target: Target) -> str:
    """Why a target does not read a model at all, with what can be done; ``""`` where it does."""
    name = dialect_of(model)
    if target.translate is not None:
        return ""
    if name in target.dialects:
        loading = ability(name, "loading")
        told: str = "" if loading is None else loading.refused(model, target.runtime, target.release)
        return told
    return f"{target.reads_none(name)}{advice(model, next(iter(target.dialects)))}"


def judge(occurrence: Occurrence, target: Target, unread: str = "", hint: str = "") -> Finding:
    """Judge one subtraction on one target.

    Args:
        occurrence: the subtraction. target: what is to run it. unread: see :func:`reads_none`. hint: see :func:`check`.
    """
    if not isinstance(occurrence.node, Node):
        verdict = "unknown" if isinstance(occurrence.node, Unsupported) else "invalid"
        return _finding(occurrence, target, verdict, _told(occurrence.node))
    try:
        validate(occurrence.node)
    except SpecError as error:
        anyway = (
            quirks(target.runtime).takes_anyway.get(occurrence.op.broadcasting)
            if isinstance(error, ShapeError)
            else None
        )
        return _finding(occurrence, target, "invalid", error.message, *([anyway] if anyway else []))
    if target.translate is not None:
        return _translated(occurrence, occurrence.node, target.translate, target)
    if occurrence.op.dialect not in target.dialects:
        return _finding(occurrence, target, "not-implemented", unread or target.reads_none(occurrence.op.dialect))
    if unread:
        return _finding(occurrence, target, "not-implemented", unread)
    for kind, (verdict, why) in quirks(target.runtime).strict.items():
        if kind in occurrence.departures:
            return _finding(occurrence, target, verdict, why)
    relation = relation_of(occurrence.node)
    known = [relation] if relation is not None else possible_relations(occurrence.node)
    alone = min(
        (_measured(occurrence, occurrence.node, target, one, relation is None) for one in known),
        key=lambda finding: WORST.index(finding.verdict),
    )
    if relation == "zero-size" or alone.verdict in WORST[:2]:  # it is wrong by itself
        return alone
    around = joined(occurrence, occurrence.node, target, hint)
    if WORST.index(alone.verdict) <= WORST.index(around.verdict):
        return alone
    told = _finding(occurrence, target, around.verdict, around.reason, around.unlike, relation=alone.shape_relation)
    return replace(_with_unlike(told, around.unlike), graph=around.pattern, hint=around.hint)


def _told(error: SpecError | Unsupported) -> str:
    return error.message if isinstance(error, SpecError) else str(error)


def possible_relations(node: Node) -> list[str]:
    """The relations that shapes which are not fixed can turn out to have; of empty tensors nothing can be wrong."""
    rule = node.attribute("auto_broadcast") if "auto_broadcast" in node.op.attributes.names else node.op.broadcasting
    if rule == "none" or (rule == "onnx_legacy" and not node.attribute("broadcast")):
        return ["same"]
    if rule == "pdpd":
        return ["pdpd", "pdpd alone"]
    if rule == "onnx_legacy":
        return ["scalar", "one-sided", *(["legacy axis", "legacy axis alone"] if "axis" in node.attributes else [])]
    ranks = (node.a.rank, node.b.rank)
    return [
        *(["rank 0"] if ranks in ((None, None), (0, None), (None, 0)) else []),
        "same",
        "scalar",
        "one-sided",
        "two-sided",
    ]


def answers_for(
    occurrence: Occurrence, node: Node, target: Target, relation: str, constants: str = ""
) -> dict[str, Answer]:
    """Return a target's answers for the value classes that a node's operands can reach.

    Args:
        occurrence: gives what the operands can hold. node: what is asked for, the occurrence's own or one in its place.
        relation: of its shapes. constants: those of the occurrence by default.
    """
    element = node.a.element
    everything = target.judged(node.op, element, relation, constants or occurrence.constants)
    empty = relation == "zero-size"
    classes = (NO_VALUES.name,) if empty else reachable(node.op.computes, element, *occurrence.operands)
    if not constants and not empty and (known := beside_zero(occurrence, node, target)) is not None:
        return {name: known.get(EVERY) or known.get(name, OK) for name in classes}
    if not constants and not empty and keeps_constant(occurrence, node, target):
        everything = target.judged(node.op, element, relation, "none")
    if not constants and not empty and (exact := on_their_numbers(occurrence, element, everything)) is not None:
        return exact
    opened = with_open_shapes(occurrence, node, target)
    return {
        name: opened[name]
        if name in opened and everything[name].verdict == "ok"
        else _of_these(name, everything[name], occurrence)
        for name in classes
    }


def _measured(occurrence: Occurrence, node: Node, target: Target, relation: str, guessed: bool) -> Finding:
    """Look the answers up, keep those for classes that can occur, and put them into words."""
    everything = target.judged(node.op, node.a.element, relation, occurrence.constants)
    answers = answers_for(occurrence, node, target, relation)
    verdict = min((one.verdict for one in answers.values()), key=WORST.index, default="ok")
    shown = "" if guessed else relation
    if verdict == "ok":
        reasons = [_why_ok(occurrence, everything, answers), *_silence(answers)]
        witness = None
    elif verdict == "different-numbers":
        name, witness = _choose(node.a.element, answers, occurrence)
        reasons = [_why_different(occurrence, name, witness, answers)]
        witness = witness if _can_occur(witness, occurrence) else None
    else:
        witness = None
        telling = {one.message for one in answers.values() if one.verdict == verdict and one.message}
        reasons = [*sorted(telling)] or [f"{target.name} says nothing of it"]
        if verdict == "unknown":
            names = [name for name, one in answers.items() if one.verdict == "unknown"]
            reasons.append(f"this concerns {listed([_example(name, everything[name]) for name in names], 'and')}")
    if guessed and verdict != "ok":
        reasons.append(f"the shapes are known when it runs; this holds for {RELATIONS[relation].words}")
    folding = _folding(occurrence, node, target, relation) if verdict != "ok" or occurrence.constants == "both" else ""
    unlike = next((one.unlike for one in answers.values() if one.unlike and one.verdict == verdict), "")
    found = _finding(
        occurrence, target, verdict, *reasons, unlike, folding, relation=shown or "unknown", witness=witness
    )
    return _with_unlike(found, unlike)


def _with_unlike(finding: Finding, unlike: str) -> Finding:
    """A finding of a release between two, where these do not agree."""
    if not unlike or isinstance(finding.provenance, str):
        return finding
    return replace(finding, provenance={**finding.provenance, "inferred": unlike})


def _silence(answers: Mapping[str, Answer]) -> Iterator[str]:
    """Of which of these values the documents say nothing."""
    if silent := [VALUE_CLASSES[name].words for name, one in answers.items() if one.message == SILENT]:
        yield f"as far as documented: the documents say nothing of {listed(silent, 'and')}"


def _of_these(name: str, answer: Answer, occurrence: Occurrence) -> Answer:
    """An answer for a class as it holds for these operands.

    Where the measurement tells of which sizes operands were that deviate, others do not. Where all that it tells is one
    pair, and the operands cannot make it, it says something of its class only if that class goes wrong as a whole.
    """
    if answer.witness is None or _can_occur(answer.witness, occurrence):
        return answer
    spans = zip(answer.spans, occurrence.operands, occurrence.fixed(), strict=False)
    if name != "nan" and any(
        known and not any(_has_sizes(operand, stored, span) for span in known) for known, operand, stored in spans
    ):
        return OK
    if name in SYSTEMATIC or any(answer.spans):
        return answer
    return Answer("unknown", message="other operands than these are known to differ")


def _has_sizes(operand: Range, stored: Array | None, sizes: tuple[float, float]) -> bool:
    """Whether an operand can have a magnitude between two; a stored one has those of its elements."""
    if stored is not None:
        magnitudes = np.abs(in_float64(stored))
        return bool(((magnitudes >= sizes[0]) & (magnitudes <= sizes[1])).any())
    low = 0 if operand.lo <= 0 <= operand.hi else min(abs(operand.lo), abs(operand.hi))
    return low <= sizes[1] and max(abs(operand.lo), abs(operand.hi)) >= sizes[0]


def _choose(element: ElementType, answers: Mapping[str, Answer], occurrence: Occurrence) -> tuple[str, Witness | None]:
    """The class and the witness that show a deviation best: one that these operands can make, of plain numbers."""
    order = [row.name for row in (*classes(occurrence.op.computes, element), NO_VALUES)]
    wrong = [(name, one.witness) for name, one in answers.items() if one.verdict == "different-numbers"]
    return min(wrong, key=lambda item: (not _can_occur(item[1], occurrence), -order.index(item[0])))


def _can_occur(witness: Witness | None, occurrence: Occurrence) -> bool:
    return witness is not None and can_make(occurrence, witness)


# ---- in words -------------------------------------------------------------------------------------------------


def _why_ok(occurrence: Occurrence, everything: Mapping[str, Answer], answers: Mapping[str, Answer]) -> str:
    wrong = {name: one for name, one in everything.items() if one.verdict != "ok"}
    reasons = []
    if beyond := [VALUE_CLASSES[name].words for name in wrong if name not in answers]:
        reasons.append(f"{listed(beyond, 'and')} cannot occur")
    if elsewhere := [_example(name, wrong[name]) for name in wrong if name in answers]:
        reasons.append(f"other operands than these alone make {listed(elsewhere, 'and')}")
    return f"{'; '.join(reasons)}: {_operands(occurrence)}" if reasons else AS_CONTRACTED


def _operands(occurrence: Occurrence) -> str:
    assumed = listed(sorted(occurrence.a.assumptions | occurrence.b.assumptions), "and")
    return f"A is {occurrence.a}, B is {occurrence.b}" + (f", where {assumed}" if assumed else "")


def _example(name: str, answer: Answer) -> str:
    """A class in words, with the pair that is known of it."""
    words = VALUE_CLASSES[name].words
    return words if answer.witness is None else f"{words} ({_gives(answer)})"


def _why_different(occurrence: Occurrence, name: str, witness: Witness | None, answers: Mapping[str, Answer]) -> str:
    others = [key for key, one in answers.items() if one.verdict == "different-numbers" and key != name]
    text = f"{VALUE_CLASSES[name].words} differ"
    if witness is not None and _can_occur(witness, occurrence):
        text += f": {witness.gives}, expected {witness.expected}"
    elif witness is not None:
        text += ": other pairs of this kind were measured than these operands make"
    elif answers[name].message:
        text = answers[name].message
    if others:
        text += f"; so do {listed([VALUE_CLASSES[key].words for key in others], 'and')}"
    if not (occurrence.a.is_full and occurrence.b.is_full):
        text += f"; {_operands(occurrence)}"
    return text


def _folding(occurrence: Occurrence, node: Node, target: Target, relation: str) -> str:
    """Say whether the answer depends on which operands are constants: then folding them changes it.

    That of an ok node does only where both are: no runtime makes a constant of an operand that is none.
    """
    now = answers_for(occurrence, node, target, relation)
    other: dict[str, str] = {}
    for which, words in CONSTANTS.items():
        then = answers_for(occurrence, node, target, relation, which)
        changed = [
            then[name]
            for name in now
            if "unknown" not in (now[name].verdict, then[name].verdict) and _differ(now[name], then[name])
        ]
        if changed:
            shown = min(changed, key=lambda one: not _can_occur(one.witness, occurrence))
            other[words] = _gives(shown) if _can_occur(shown.witness, occurrence) else shown.verdict
    if not other:
        return ""
    told = listed([f"{words} ({gives})" for words, gives in other.items()])
    return f"constant folding changes this: other answers with {told}"


def _differ(now: Answer, then: Answer) -> bool:
    if now.verdict != then.verdict or now.witness is None or then.witness is None:
        return now.verdict != then.verdict
    same_pair = now.witness.operands == then.witness.operands
    return same_pair and str(now.witness.got) != str(then.witness.got)


def _gives(answer: Answer) -> str:
    return answer.verdict if answer.witness is None else answer.witness.gives


def _finding(
    occurrence: Occurrence,
    target: Target,
    verdict: str,
    *reasons: str,
    relation: str = "",
    witness: Witness | None = None,
) -> Finding:
    node = occurrence.node if isinstance(occurrence.node, Node) else None
    purpose = () if occurrence.purpose == PLAIN else (occurrence.purpose,)
    return Finding(
        target=target.name,
        verdict=verdict,
        node=occurrence.name,
        location=occurrence.where,
        dialect=occurrence.op.dialect,
        opversion=f"{occurrence.op.dialect}:{occurrence.op.version}",
        dtype="" if node is None else node.a.dtype,
        shape_relation=relation or (_relation(node) if node is not None else "unknown"),
        constants=occurrence.constants,
        reason="; ".join(part for part in (*purpose, *reasons) if part),
        witness=witness,
        provenance=target.provenance,
    )


def _relation(node: Node) -> str:
    try:
        return relation_of(node) or "unknown"
    except SpecError:
        return "unknown"


def _translated(
    occurrence: Occurrence, node: Node, moved: Callable[[Node], tuple[Node, str]], target: Target
) -> Finding:
    """Ask a target that is a standard of its own, whose operands are never constants of a model."""
    try:
        asked, sizes = moved(node)
    except Unfit as unfit:
        return _finding(occurrence, target, unfit.verdict, unfit.reason)
    finding = _measured(replace(occurrence, constants="none"), asked, target, "same", False)
    reason = "; ".join(filter(None, (finding.reason, sizes if finding.verdict == "ok" else "")))
    return replace(finding, reason=reason, constants=occurrence.constants, shape_relation=_relation(node))
