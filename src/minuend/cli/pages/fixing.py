"""``fix``: what was fixed, what was refused, what still differs, and what the target answered."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from minuend.cli.pages.layout import Labelled, Page, Part, aligned
from minuend.cli.pages.runs import outcome, run_lines
from minuend.cli.words import counted
from minuend.errors import listed
from minuend.judging.contract import Tally
from minuend.plain import grouped
from minuend.runtimes import explaining
from minuend.text import shell_path, shell_words

if TYPE_CHECKING:
    from minuend.rewriting.fixing import Fixed
    from minuend.rewriting.remaining import Recommended
    from minuend.rewriting.verification import Comparison
    from minuend.runtimes.finding import Finding
    from minuend.runtimes.reasons import Setting

_MOST = 3
"""Nodes that are named of those of which the same is shown."""


@dataclass(frozen=True, slots=True)
class Command:
    """What the command line was about, for the commands of its page.

    Attributes:
        model, out: the paths of the model and of the output. options: what else was given.
    """

    model: str
    out: str
    options: Sequence[str] = ()

    def again(self, target: str, *more: str) -> str:
        """Return the command line with more options."""
        words = ["--target", target, *self.options]
        added = [word for word in more if word not in self.options]
        return f"minuend fix {shell_path(self.model)} {shell_words([*words, *added])} -o {shell_path(self.out)}"


# ---- before anything is written ----------------------------------------------------------------------------------


def fix_page(fixed: Fixed, command: Command) -> Page:
    """Show what was done, and what of the whole model still differs, before it is written."""
    page: list[Part] = [*_recommended(fixed, command), *_rewritten(fixed), *_refused(fixed, command)]
    sentences = {str(one) for one in fixed.rewritten}
    page += [f"~ {line}" for line in (*fixed.changes, *fixed.notes) if line not in sentences]
    page += [fixed.warning] if fixed.warning else []
    page += _ran(fixed)
    return [*page, *_summary(fixed)]


def _recommended(fixed: Fixed, command: Command) -> Iterator[Part]:
    """Settings that help more than a rewrite, and the rewrite of what is left with them."""
    for one in fixed.settings:
        yield f"recommended first: {_helps(one)}"
        more = ["--hint", one.hint, *(["--partial"] if one.partly else [])]
        todo = [_compiled(one.setting), *([command.again(fixed.target, *more)] if one.rewritten else [])]
        yield from _labelled("do", todo, commands=True)


def _helps(one: Recommended) -> str:
    count = f"{one.helped} of {counted(one.wrong, 'wrong subtraction')} {'is' if one.helped == 1 else 'are'}"
    if one.helped == one.wrong:
        count = "the wrong subtraction is" if one.wrong == 1 else f"all {one.wrong} wrong subtractions are"
    if one.helped:
        then = f"; a rewrite with it repairs {one.rewritten} more" if one.rewritten else ""
        return f"a setting with which {count} right without a rewrite{then}"
    return f"a setting with which a rewrite repairs {one.rewritten} of {counted(one.wrong, 'wrong subtraction')}"


def _rewritten(fixed: Fixed) -> Iterator[Part]:
    """What was rewritten, those together that became the same for one reason."""
    for (what, why), places in grouped(((one.what, one.reason), one.location) for one in fixed.rewritten).items():
        yield f"rewritten: {_places(places)}"
        yield from _labelled("as", [what])
        yield from _labelled("why", [why])


def _refused(fixed: Fixed, command: Command) -> Iterator[Part]:
    for one in fixed.refused:
        yield f"refused: {_places([one.location, *one.others])}"
        yield from _labelled("why", [one.reason])
        yield from _labelled("do", [explaining.Command(command.model).filled(one.instead)] if one.instead else [])


def _places(places: Sequence[str]) -> str:
    more = [f"{len(places) - _MOST} more"] if len(places) > _MOST else []
    named = listed([*places[:_MOST], *more], "and")
    return named if len(places) == 1 else f"{counted(len(places), 'subtraction')} ({named})"


def _labelled(word: str, lines: Iterable[str], *, commands: bool = False) -> Iterator[Labelled]:
    label, _ = aligned([f"  {word}: ", "  why: "])
    for i, line in enumerate(lines):
        yield Labelled(" " * len(label) if i else label, line, command=commands)


def _compiled(setting: Setting) -> str:
    return f'compile_model(model, "CPU", {json.dumps(dict(setting))})'


# ---- runs --------------------------------------------------------------------------------------------------------


def _ran(fixed: Fixed) -> Iterator[str]:
    """What came of the rewritten subtractions, and of the whole model."""
    whole = fixed.whole
    if fixed.comparison is not None:
        yield from _compared(fixed.comparison, fixed)
    if whole is not None:
        first, *more = run_lines(whole, "the fixed model")
        if whole.ok:
            yield f"{first} {'; '.join(line.removeprefix('~ ') for line in more)}"
        else:
            yield from (first, *more)


def _compared(comparison: Comparison, fixed: Fixed) -> Iterator[str]:
    """What came of the rewritten subtractions, and of the outputs where the run of the whole model says no more."""
    whole = fixed.whole
    if whole is None or whole.refused or whole.unlike or (whole.ok and not comparison.outputs.different):
        yield str(comparison)
    elif comparison.subtractions.elements:
        yield str(replace(comparison, outputs=Tally()))


# ---- what still differs ------------------------------------------------------------------------------------------


def _summary(fixed: Fixed) -> Iterator[str]:
    """How many subtractions still differ, as they are judged, and how many outputs, as they ran."""
    if fixed.untouched and fixed.touched:
        yield f"{counted(fixed.untouched, 'subtraction')} left as {'it is' if fixed.untouched == 1 else 'they are'}"
    wrong = [one for one in fixed.remaining if one.verdict != "unknown"]
    for tolerated in (False, True):
        found = [one for one in wrong if (one.tolerated is not None) == tolerated]
        if found:
            differ = "differs" if len(found) == 1 else "differ"
            mark = " (tolerated)" if tolerated else ""
            yield f"{len(found)} of {fixed.total} subtractions still {differ} on {fixed.target}{mark}: {_kinds(found)}"
    unknown = sum(one.verdict == "unknown" for one in fixed.remaining)
    if unknown:
        yield f"{unknown} of {fixed.total} subtractions {'is' if unknown == 1 else 'are'} unknown on {fixed.target}"
    if fixed.whole is not None and not fixed.whole.ok:
        yield f"run of the fixed model on {fixed.whole.runtime}: {outcome(fixed.whole)}"


def _kinds(found: Iterable[Finding]) -> str:
    kinds = Counter(
        one.severity or "severity unknown" if one.verdict == "different-numbers" else one.verdict for one in found
    )
    if len(kinds) == 1:
        return next(iter(kinds))
    return listed([f"{count} {name}" for name, count in kinds.items()], "and")


def written_line(fixed: Fixed, source: str, written: str) -> str:
    """Show what was written; ``written`` is the file, ``""`` for none."""
    if not written:
        partly = "; --partial writes what could be fixed" if fixed.touched else ""
        return f"nothing written for {fixed.target}{partly}"
    differs = ", where its results still differ" if fixed.differs else ""
    return f"{source} → {written} for {fixed.target}{_set(fixed)}{differs}"


def _set(fixed: Fixed) -> str:
    """The setting that the fixed model needs."""
    from minuend.runtimes.quirks import quirks

    setting = quirks(fixed.target.partition("@")[0]).hints.get(fixed.hint, {}) if fixed.hint else {}
    return "".join(f" with {name}={value}" for name, value in setting.items())


def fix_json(fixed: Fixed, source: str, written: str) -> dict[str, Any]:
    """What was fixed as JSON."""
    return {
        "model": source,
        "target": fixed.target,
        "hint": fixed.hint,
        "warning": fixed.warning,
        "overflow": fixed.overflow,
        "path": written or None,
        "changes": fixed.changes,
        "notes": fixed.notes,
        "refused": fixed.refused,
        "untouched": fixed.untouched,
        "differs": fixed.differs,
        "remaining": [one.to_json() for one in fixed.remaining],
        "settings": [
            {
                "hint": one.hint,
                "setting": dict(one.setting),
                "helped": one.helped,
                "wrong": one.wrong,
                "rewritten": one.rewritten,
            }
            for one in fixed.settings
        ],
        "comparison": fixed.comparison,
        "whole": None if fixed.whole is None else fixed.whole.to_json(),
    }
