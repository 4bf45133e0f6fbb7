"""``fix``: what was fixed, what was refused, and what the target answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minuend.cli.pages.runs import run_lines
from minuend.cli.words import counted

if TYPE_CHECKING:
    from minuend.rewriting.fixing import Fixed


def fix_lines(fixed: Fixed, source: str, written: str) -> list[str]:
    """Show what was fixed and what was refused, a line each; ``written`` is the file, ``""`` for none."""
    lines = [f"{source} → {written} for {fixed.target}" if written else f"{source} for {fixed.target}"]
    lines += [fixed.warning] if fixed.warning else []
    lines += [f"~ {change}" for change in (*fixed.changes, *fixed.notes)]
    lines += [f"! refused: {refusal}" for refusal in fixed.refused]
    if fixed.untouched and fixed.touched:
        lines.append(
            f"{counted(fixed.untouched, 'subtraction')} left as {'it is' if fixed.untouched == 1 else 'they are'}"
        )
    if fixed.comparison is not None:
        lines.append(str(fixed.comparison))
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
        "warning": fixed.warning,
        "overflow": fixed.overflow,
        "path": written or None,
        "changes": fixed.changes,
        "notes": fixed.notes,
        "refused": fixed.refused,
        "untouched": fixed.untouched,
        "comparison": fixed.comparison,
        "whole": None if fixed.whole is None else fixed.whole.to_json(),
    }
