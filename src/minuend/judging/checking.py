"""A model against targets: will each subtraction give the contract's numbers there?

Nothing is run. A target's answers were measured for every value class (:mod:`minuend.runtimes.targets`); what a node's
operands can hold, worked out from the model, says which classes occur (:mod:`minuend.models.ranges`). A node is judged
on operands that the contract gives: what a runtime makes wrong before it is that node's finding.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from minuend.child import MEMORY, SECONDS, Limits
from minuend.errors import SpecError, shown
from minuend.judging.node_verdicts import judge
from minuend.judging.options import Judging, Named, Runs, assumed_of, find_targets
from minuend.judging.pattern_verdicts import setting_of, sharing_constants
from minuend.models.converting import LOADING, advice
from minuend.models.occurrences import Occurrence, occurrences
from minuend.models.opening import Model, open_model
from minuend.models.ranges.assumed import Assumptions
from minuend.operators import SUBTRACT, by_name
from minuend.plain import grouped
from minuend.runtimes import targets
from minuend.runtimes.explaining import UNNAMED
from minuend.runtimes.finding import Finding
from minuend.runtimes.quirks import quirks
from minuend.runtimes.reasons import (
    ConstantsMixedUp,
    DialectNotRead,
    MeasuredOn,
    OperatorNotMeasured,
    ProcessorMatters,
    Reason,
    SettingNeeded,
    VersionNotLoaded,
)
from minuend.runtimes.rendering import english
from minuend.runtimes.report import Report
from minuend.runtimes.severity import UNKNOWN
from minuend.runtimes.target import Target
from minuend.runtimes.tolerance import Tolerance, Tolerances


def check(
    model: object,
    target: Named | Iterable[Named],
    *,
    hint: str = "",
    run: bool | Literal["all"] = False,
    inputs: Mapping[str, Any] | None = None,
    exact: bool = False,
    strict: bool = False,
    cpu: str = "",
    assume: Mapping[str, object] | None = None,
    operators: Iterable[str] = (SUBTRACT.name,),
    tolerate: str | Iterable[str] = ("sign-of-zero",),
    max_memory: int | None = MEMORY,
    max_seconds: float | None = SECONDS,
    **options: object,
) -> Report:
    """Judge every subtraction of a model on one or more targets.

    Args:
        model: a path, bytes or text of a model in ONNX, OpenVINO IR or DxDispatch JSON, an ``onnx.ModelProto``, an
            ``ov.Model``, or a Model of this package.
        target: ``"openvino-cpu"`` (the newest release that was measured), ``"onnxruntime-cpu@1.31.1"``,
            ``"directml@5.1"``, ``"openvino-cpu@installed"``, the path of a measured file, or several of them; a
            :class:`~minuend.runtimes.targets.Target` is taken as it is. A release that is not measured is answered by
            those around it, and a sentence in ``.head`` says so.
        hint: the precision hint of runtimes: ``"f32"`` stands for OpenVINO's ``INFERENCE_PRECISION_HINT=f32``.
        run: whether to run the model, as it is, on the runtimes of the targets in the releases that are installed, and
            to compare every output with the contract's own evaluation; see :mod:`minuend.judging.run_check`.
            Subtractions of which nothing is known are run by themselves, with ``"all"`` every one.
        inputs: arrays for a run by the model's own names; by default some are made.
        exact: whether releases that are not measured are refused. strict: whether what a target's documents are silent
            about (NaN, subnormal numbers, …) makes a subtraction unknown.
        cpu: the newest instruction set of the processor that is to run the model, as ``"avx2"``; what was not measured
            with it is unknown. By default verdicts hold for the processors on which the targets were measured.
        assume: what is known of inputs and other values beyond the model, by their names: ``(0, 131071)``,
            ``(0, None)`` or ``"0..131071"``. No element is then anything else, and none is NaN.
        operators: which are judged: ``"subtract"``, ``"add"``, ``"negative"``. A run is of subtraction alone.
        tolerate: severities of different numbers that are shown and do not count, as ``"rounding=8"``; ``"none"`` for
            none. Such a finding has one in ``.tolerated``.
        max_memory, max_seconds: what running the model once may take, as in :func:`minuend.models.opening.run`. A
            model that is stopped is no error: its trial says so, and is unknown.
        options: what the dialect's own ``read`` takes besides.

    Returns:
        A finding for each node and target: ``.verdict`` is ``"ok"``, ``"different-numbers"`` (with a ``.witness``),
        ``"not-implemented"``, ``"invalid"`` or ``"unknown"``; ``.reason`` says why, ``.code`` and ``.reasons`` are
        the same as data, ``.actions`` what can be done. ``.trials`` holds what the runs gave.

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
    judging = Judging(
        targets=find_targets(target, exact=exact, strict=strict, cpu=cpu),
        operators=tuple(dict.fromkeys(map(by_name, operators))),
        hint=hint,
        runs=Runs.of(run, inputs),
        limits=Limits(max_memory, max_seconds),
        tolerate=Tolerances(Tolerance.of(tolerate)),
    )
    opened = open_model(model, **options)
    with judging.limits.applied():
        return examine(opened, replace(judging, assumed=assumed_of(opened, assume)), _title(model))


def examine(opened: Model, judging: Judging, title: str) -> Report:
    """Judge every occurrence of some operators in an open model, which messages call by a title."""
    chosen = judging.targets
    found = list(occurrences(opened, judging.assumed, judging.operators))
    why = {one.name: unread(opened, one) for one in chosen} if found else {}
    sharing = {one.name: sharing_constants(found, one) for one in chosen}
    findings = tuple(
        _with_foreign(
            with_shared_constants(judge(occurrence, one, why[one.name], judging.hint), sharing[one.name]),
            occurrence,
            one,
        )
        for occurrence in found
        for one in chosen
    )
    report = Report(
        title=title,
        findings=findings,
        notices=(*(one.notice for one in chosen if one.notice is not None), *_settings_needed(findings)),
        notes=tuple(dict.fromkeys(note for occurrence in found for note in occurrence.notes)),
        processors=tuple(processors(findings, _measured(judging))),
        assumed=tuple(one.sentence for one in judging.assumed.values()),
        fail_on=judging.fail_on,
    )
    if judging.runs is not None:
        from minuend.judging.run_check import with_runs

        _check_inputs(judging.runs.inputs or {}, judging.assumed)
        report = with_runs(report, opened, found, judging)
    return tolerating(report, judging.tolerate or Tolerances())


def tolerating(report: Report, tolerances: Tolerances) -> Report:
    """Return a report with the findings and runs marked that are tolerated."""
    findings = (replace(one, tolerated=tolerances.of(one.target).covers(one)) for one in report.findings)
    return replace(report, findings=tuple(findings), trials=tuple(map(tolerances.marked, report.trials)))


def _check_inputs(inputs: Mapping[str, object], assumed: Assumptions) -> None:
    for name in assumed.keys() & inputs.keys():
        array = np.asarray(inputs[name])
        if (assumed[name].fit(array) != array).any():
            raise SpecError(
                "inputs", f"the input {shown(name)} holds elements that are not {assumed[name]}, as is assumed"
            )


def _with_foreign(finding: Finding, occurrence: Occurrence, target: Target) -> Finding:
    """Return a finding as it is where a model has operators of others than ONNX, which the runtime may lack."""
    if finding.verdict != "ok" or target.declared or target.translate is not None:
        return finding
    form = quirks(target.runtime).unmeasured(occurrence.foreign)
    if not form:
        return finding
    return replace(finding, verdict="unknown", reasons=(OperatorNotMeasured(target.runtime, form),), witness=None)


def with_shared_constants(finding: Finding, sharing: Collection[str]) -> Finding:
    """Return a finding as it is in its model: what is fine in isolation can be mixed up with another occurrence.

    Args:
        finding: of the occurrence in isolation.
        sharing: the places that :func:`minuend.judging.pattern_verdicts.sharing_constants` found.
    """
    if finding.location not in sharing or finding.verdict not in ("ok", "different-numbers"):
        return finding
    if finding.verdict == "different-numbers":
        return replace(finding, deviations=(*finding.deviations, UNKNOWN))
    reason = ConstantsMixedUp(finding.dtype, finding.target)
    return replace(finding, verdict="unknown", reasons=(reason,), witness=None)


def _settings_needed(findings: Iterable[Finding]) -> Iterator[Reason]:
    """What holds only with a setting of a runtime, once for each target."""
    counts = Counter((finding.target, finding.hint) for finding in findings if finding.hint)
    for (name, hint), count in counts.items():
        yield SettingNeeded(name, count, setting_of(name.partition("@")[0], hint), hint)


def _measured(judging: Judging) -> Iterator[Target]:
    """What was measured of the operators on the targets."""
    for target, operator in itertools.product(judging.targets, judging.operators):
        if (own := targets.of(target, operator)) is not None:
            yield own


def processors(findings: Iterable[Finding], chosen: Iterable[Target]) -> Iterator[Reason]:
    """Yield on which processors the targets of findings were measured, and what other ones would change.

    Targets for which one was asked say it themselves.
    """
    kinds: dict[str, set[tuple[str, str]]] = {}
    for finding in findings:
        if finding.measured is not None:
            kinds.setdefault(finding.target, set()).add((finding.dtype, finding.constants))
    measured = [known for one in chosen if one.name in kinds for known in one.behind if not known.only_up_to]
    for (cpu, patterns), names in grouped((one.processors, one.name) for one in measured).items():
        yield MeasuredOn(cpu, patterns, tuple(names))
    for runtime, found in grouped((name.partition("@")[0], kind) for name in kinds for kind in kinds[name]).items():
        for types, constants, statement in quirks(runtime).by_isa:
            if any(dtype in types and which in constants for dtype, which in found):
                yield ProcessorMatters(runtime, statement)


def _title(model: object) -> str:
    if isinstance(model, os.PathLike) or (isinstance(model, str) and "\n" not in model and model[:1] not in "<{"):
        return os.fspath(model)
    return UNNAMED


def reads_none(model: Model, target: Target) -> str:
    """Return why a target does not read a model at all, with what can be done; ``""`` where it does."""
    reason = unread(model, target)
    return "" if reason is None else english([reason])


def unread(model: Model, target: Target) -> Reason | None:
    """Return the reason for which a target does not read a model at all; ``None`` where it does."""
    if target.translate is not None:
        return None
    if model.dialect.name in target.dialects:
        loading = LOADING.of(model.dialect)
        message = "" if loading is None else loading.refused(model, target.runtime, target.release)
        return VersionNotLoaded(message) if message else None
    to = next(iter(target.dialects))
    found = advice(model, to)
    refusal = found.removeprefix(", and ")
    reason = DialectNotRead(target.runtime, model.dialect.title)
    return replace(reason, to=to) if refusal == found else replace(reason, refusal=refusal)
