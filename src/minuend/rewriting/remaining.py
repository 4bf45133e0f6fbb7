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
    """A setting of the target's runtime with which subtractions are right, or can be rewritten, that are not without.

    Attributes:
        hint: the precision hint that stands for it. setting: its names and values.
        helped: how many subtractions it makes right. wrong: how many are wrong without it, and not tolerated.
        rewritten: how many of the others a rewriting with it repairs. partly: whether that refuses some.
    """

    hint: str
    setting: Setting
    helped: int
    wrong: int
    rewritten: int = 0
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


def recommended(model: Model, options: Rewriting, refused: int) -> Iterator[Recommended]:
    """Yield the settings with which subtractions of a model are right, or fewer are refused; each with how many.

    Args:
        model: as it was read. options: those of fix. refused: how many subtractions are refused without a setting.
    """
    target = options.runtime
    if target is None or options.hint:
        return
    found = list(occurrences(model, options.assumed))
    wrong = [one for one in found if _counts(judge(one, target), options)]
    for hint in quirks(target.runtime).hints if wrong else ():
        left = [one for one in wrong if not _right(judge(one, target, hint=hint), options)]
        helped, rewritten, partly = len(wrong) - len(left), 0, False
        if left:
            work = FIXING.required(model.dialect).work(model, replace(options, hint=hint))
            work.run()
            rewritten, partly = len(work.rewritten), bool(work.refused)
            if not helped and len(work.places_refused) >= refused:
                continue
        yield Recommended(hint, setting_of(target.runtime, hint), helped, len(wrong), rewritten, partly)


def _counts(finding: Finding, options: Rewriting) -> bool:
    """Whether numbers differ that are not tolerated."""
    return finding.verdict == "different-numbers" and not _right(finding, options)


def _right(finding: Finding, options: Rewriting) -> bool:
    return finding.verdict == "ok" or options.tolerate.of(finding.target).covers(finding) is not None
