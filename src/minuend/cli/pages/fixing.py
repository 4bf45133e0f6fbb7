"""``fix``: what was fixed, what was refused, and what the target answered."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minuend.cli.pages.runs import run_lines
from minuend.cli.words import counted
from minuend.judging.contract import Tally

if TYPE_CHECKING:
    from minuend.rewriting.fixing import Fixed
    from minuend.rewriting.verification import Comparison
    from minuend.runtimes.finding import Finding
    from minuend.runtimes.trials import Trial


def first_lines(fixed: Fixed, source: str, out: str, given: Sequence[str] = ()) -> Iterator[str]:
    """Show what to know before anything is written: settings that help more, and what still differs.

    Args:
        fixed: what was done. source, out: the paths of the model and of the output. given: other options.
    """
    for one in fixed.settings:
        yield (
            f'recommended first: compile_model(model, "CPU", {json.dumps(dict(one.setting))}), with which {one.helped} '
            f"of {counted(one.wrong, 'wrong subtraction')} {'is' if one.helped == 1 else 'are'} right without a rewrite"
        )
        if one.helped < one.wrong:
            partly = ["--partial"] if one.partly and "--partial" not in given else []
            options = ["--target", fixed.target, *given, *partly, "--hint", one.hint, "-o", out]
            yield f"to fix what is left then: {shlex.join(['minuend', 'fix', source, *options])}"
    wrong = [one for one in fixed.remaining if one.verdict != "unknown"]
    for tolerated in (False, True):
        found = [one for one in wrong if (one.tolerated is not None) == tolerated]
        kinds = Counter(
            one.severity or "severity unknown" if one.verdict == "different-numbers" else one.verdict for one in found
        )
        kind = ", ".join(f"{count} {name}" for name, count in kinds.items())
        yield from _left(found, f"not right on {fixed.target}{' and tolerated' if tolerated else ''}: {kind}")
    unknown = [one for one in fixed.remaining if one.verdict == "unknown"]
    yield from _left(unknown, f"not known to be right on {fixed.target}")


def _left(found: Sequence[Finding], what: str) -> Iterator[str]:
    """What is said of the subtractions that are left, where there are some."""
    if found:
        yield f"after the fix {counted(len(found), 'subtraction')} {'is' if len(found) == 1 else 'are'} {what}"


def _compared(comparison: Comparison, whole: Trial | None) -> Iterator[str]:
    """What came of the rewritten subtractions, and of the outputs where the run of the whole model says no more."""
    if whole is None or whole.refused or whole.unlike or (whole.ok and not comparison.outputs.different):
        yield str(comparison)
    elif comparison.subtractions.elements:
        yield str(replace(comparison, outputs=Tally()))


def fix_lines(fixed: Fixed, source: str, written: str) -> list[str]:
    """Show what was fixed and what was refused, a line each; ``written`` is the file, ``""`` for none."""
    lines = [f"{source} → {written} for {fixed.target}" if written else f"{source} for {fixed.target}"]
    lines[0] += ", where its results still differ" if fixed.differs else ""
    lines += [fixed.warning] if fixed.warning else []
    lines += [f"~ {change}" for change in (*fixed.changes, *fixed.notes)]
    lines += [f"! refused: {refusal}" for refusal in fixed.refused]
    if fixed.untouched and fixed.touched:
        lines.append(
            f"{counted(fixed.untouched, 'subtraction')} left as {'it is' if fixed.untouched == 1 else 'they are'}"
        )
    if fixed.comparison is not None:
        lines += _compared(fixed.comparison, fixed.whole)
    if fixed.whole is not None:
        whole = list(run_lines(fixed.whole, "the fixed model"))
        if fixed.whole.ok:
            whole = [f"{whole[0]} {'; '.join(line.removeprefix('~ ') for line in whole[1:])}"]
        lines += whole
    if not written:
        lines.append(f"nothing written{'; --partial writes what could be fixed' if fixed.touched else ''}")
    return lines


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
            {"hint": one.hint, "setting": dict(one.setting), "helped": one.helped, "wrong": one.wrong}
            for one in fixed.settings
        ],
        "comparison": fixed.comparison,
        "whole": None if fixed.whole is None else fixed.whole.to_json(),
    }
