"""``fix``: what was fixed, what was refused, and what the target answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minuend.cli.pages.words import counted
from minuend.plain import as_json

if TYPE_CHECKING:
    from minuend.actions.fixing import Fixed
    from minuend.actions.recipes.compare import Tally


def fix_lines(fixed: Fixed, source: str, written: str) -> list[str]:
    """Show what was fixed and what was refused, a line each; ``written`` is the file, ``""`` for none."""
    lines = [f"{source} → {written} for {fixed.target}" if written else f"{source} for {fixed.target}"]
    lines += [f"~ {change}" for change in fixed.changes]
    lines += [f"! refused: {refusal}" for refusal in fixed.refused]
    if fixed.untouched and fixed.touched:
        lines.append(
            f"{counted(fixed.untouched, 'subtraction')} left as {'it is' if fixed.untouched == 1 else 'they are'}"
        )
    if fixed.comparison is not None:
        lines.append(str(fixed.comparison))
    if not written:
        lines.append(f"nothing written{'; --partial writes what could be fixed' if fixed.touched else ''}")
    return lines


def fix_json(fixed: Fixed, source: str, written: str) -> str:
    """What was fixed as JSON."""
    c = fixed.comparison
    compared = None
    if c is not None:
        tallies = {"subtractions": _tally(c.subtractions), "outputs": _tally(c.outputs)}
        compared = {"runtime": c.runtime, **tallies, "skipped": c.skipped, "unlike": c.unlike}
    refused = [
        {
            "location": one.location,
            "node": one.node,
            "dtype": one.dtype,
            "reason": one.reason,
            "instead": one.instead,
            "others": one.others,
        }
        for one in fixed.refused
    ]
    return as_json(
        {
            "version": 1,
            "model": source,
            "target": fixed.target,
            "overflow": fixed.overflow,
            "path": written or None,
            "changes": fixed.changes,
            "refused": refused,
            "untouched": fixed.untouched,
            "comparison": compared,
        }
    )


def _tally(tally: Tally) -> dict[str, Any]:
    keys = ("place", "index", "got", "expected")
    first = None if tally.first is None else dict(zip(keys, tally.first, strict=True))
    return {"elements": tally.elements, "different": tally.different, "first": first}
