"""What a rewriting leaves: the findings of the fixed model, and the settings that make a rewriting unnecessary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from minuend.judging.checking import unread, with_shared_constants
from minuend.judging.node_verdicts import judge
from minuend.judging.pattern_verdicts import setting_of, sharing_constants
from minuend.models.occurrences import occurrences
from minuend.models.opening import Model
from minuend.rewriting.deviations import doubt
from minuend.rewriting.options import Rewriting
from minuend.rewriting.work import FIXING, Work
from minuend.runtimes.finding import Finding
from minuend.runtimes.quirks import quirks
from minuend.runtimes.reasons import Setting


@dataclass(frozen=True, slots=True)
class Recommended:
    """A setting of the target's runtime with which subtractions are right that are wrong without it.

    Attributes:
        hint: the precision hint that stands for it. setting: its names and values.
        helped: how many subtractions it makes right. wrong: how many are wrong without it.
        partly: whether a rewriting with it refuses some of the others.
    """

    hint: str
    setting: Setting
    helped: int
    wrong: int
    partly: bool = False


def remaining(work: Work) -> Iterator[Finding]:
    """Yield the findings of a fixed model that are not ok, but for those whose value classes are accepted."""
    target, options = work.options.runtime, work.options
    if target is None:
        return
    found = work.occurrences()
    shared = sharing_constants(found, target)
    why = unread(work.model, target) if found else None
    for occurrence in found:
        finding = with_shared_constants(judge(occurrence, target, why, options.hint), shared)
        finding = replace(finding, tolerated=options.tolerate.of(target.name).covers(finding))
        if finding.verdict != "ok" and (finding.tolerated is not None or doubt(occurrence, options, shared)):
            yield finding


def recommended(model: Model, options: Rewriting) -> Iterator[Recommended]:
    """Yield the settings with which subtractions of a model are right that are wrong without, each with how many."""
    target = options.runtime
    if target is None or options.hint:
        return
    for hint in quirks(target.runtime).hints:
        found = list(occurrences(model, options.assumed))
        wrong = [one for one in found if judge(one, target).verdict == "different-numbers"]
        helped = sum(judge(one, target, hint=hint).verdict == "ok" for one in wrong)
        if helped:
            partly = helped < len(wrong) and _refuses(model, replace(options, hint=hint))
            yield Recommended(hint, setting_of(target.runtime, hint), helped, len(wrong), partly)


def _refuses(model: Model, options: Rewriting) -> bool:
    work = FIXING.required(model.dialect).work(model, options)
    work.run()
    return bool(work.refused)
