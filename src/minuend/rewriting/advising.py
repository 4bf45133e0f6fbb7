"""What helps against the findings of a model: whether fix repairs them, and what they need to be assumed of values."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from minuend.errors import MinuendError
from minuend.judging.node_verdicts import judge
from minuend.judging.options import Judging
from minuend.models.occurrences import Occurrence, value_names
from minuend.models.opening import Model
from minuend.models.ranges.interval import within
from minuend.rewriting.deviations import WRONG
from minuend.rewriting.options import Rewriting
from minuend.rewriting.work import FIXING, Work
from minuend.runtimes.actions import Assumable
from minuend.runtimes.finding import Finding
from minuend.runtimes.quirks import quirks
from minuend.runtimes.report import Report
from minuend.runtimes.target import Target
from minuend.runtimes.tolerance import Tolerances
from minuend.standards.node import Node

MASK = "attention mask"
"""The purpose of a subtraction whose operand is 0 or 1."""

INT32 = 2**31 - 1

_LARGEST = 256 << 20
"""Bytes of a model's file up to which a rewrite is tried, for which it is copied in memory."""


@dataclass(frozen=True, slots=True)
class Help:
    """What helps against a finding; see the attributes of :class:`minuend.runtimes.finding.Finding`."""

    fixable: bool
    fix_hint: str
    hint_alone: bool
    partly: bool
    assumable: tuple[Assumable, ...]


def advised(report: Report, model: Model, judging: Judging) -> Report:
    """Return a report whose findings say whether fix repairs them, and which assumptions do.

    Args:
        report: of the model, by whose path it is called. model: the model, which is not changed.
        judging: what it was judged on.
    """
    if os.path.isfile(report.title) and os.path.getsize(report.title) > _LARGEST:
        return report
    helped: dict[tuple[str, str], Help] = {}
    for target in judging.targets:
        if any(one.target == target.name and _counts(one) for one in report.findings):
            helped |= {(target.name, place): one for place, one in _helped(model, target, judging).items()}
    findings = (_with(one, helped.get((one.target, one.location))) for one in report.findings)
    return replace(report, findings=tuple(findings))


def _counts(finding: Finding) -> bool:
    return finding.verdict in WRONG and finding.tolerated is None


def _with(finding: Finding, found: Help | None) -> Finding:
    if found is None or not _counts(finding):
        return finding
    return replace(
        finding,
        fixable=found.fixable,
        fix_hint=found.fix_hint,
        hint_alone=found.hint_alone,
        partly=found.partly,
        assumable=found.assumable,
    )


def _helped(model: Model, target: Target, judging: Judging) -> Mapping[str, Help]:
    """What helps against the findings on a target, by their places; empty for a model that fix does not read."""
    fixing = FIXING.of(model.dialect)
    options = Rewriting(
        name=target.name,
        runtime=target,
        assumed=judging.assumed,
        hint=judging.hint_of(target),
        tolerate=judging.tolerate or Tolerances(),
        run=False,
    )
    if fixing is None or model.dialect.name not in target.dialects:
        return {}
    try:
        work = fixing.work(model, options)
        occurrences = {one.where: one for one in work.occurrences()}
        assumable = {place: tuple(_assumable(one, model, work)) for place, one in occurrences.items()}
        work.run()
    except MinuendError:
        return {}
    refused = work.places_refused
    hint = "" if options.hint or not refused else next(iter(quirks(target.runtime).hints), "")
    with_hint = _refused_with(hint, fixing.work, model, options) if hint else refused
    found: dict[str, Help] = {}
    for place, own in assumable.items():
        helping = hint if place in refused and place not in with_hint else ""
        alone = bool(helping) and _is_fine_with(helping, occurrences[place], options)
        found[place] = Help(place not in refused, helping, alone, bool(with_hint if helping else refused), own)
    return found


def _is_fine_with(hint: str, occurrence: Occurrence, options: Rewriting) -> bool:
    """Whether an occurrence does not count where a hint is set."""
    assert options.runtime is not None
    found = judge(occurrence, options.runtime, hint=hint)
    return found.verdict == "ok" or options.tolerate.of(found.target).covers(found) is not None


def _refused_with(
    hint: str, working: Callable[[Model, Rewriting], Work], model: Model, options: Rewriting
) -> Collection[str]:
    """The places that fix leaves as they are with a hint."""
    work = working(model, replace(options, hint=hint))
    try:
        work.run()
    except MinuendError:
        return {one.where for one in work.occurrences()}
    return work.places_refused


def _assumable(occurrence: Occurrence, model: Model, work: Work) -> Iterator[Assumable]:
    """Yield what has to be assumed of an occurrence's operands so that it is right, where such values are usual."""
    target, node = work.options.runtime, occurrence.node
    if target is None or not isinstance(node, Node):
        return
    element = node.a.element
    if occurrence.purpose == MASK:
        most = 1
    elif element.is_integer and element.limits[0] < 0:
        most = min(element.limits[1], INT32)
    else:
        return
    names = work.rewriter().names(occurrence)
    free = [i for i, one in enumerate(occurrence.operands) if not one.constant and i < len(names)]
    known = value_names(model)
    if not free or any(names[i] not in known for i in free):
        return
    operands = tuple(
        within(element.name, 0, most, like=[one], integral=one.integral) if i in free else one
        for i, one in enumerate(occurrence.operands)
    )
    found = judge(replace(occurrence, operands=operands), target, hint=work.options.hint)
    if found.verdict == "ok" or work.options.tolerate.of(target.name).covers(found) is not None:
        yield from ((names[i], 0, most) for i in free)
