"""``targets``: the runtimes whose behaviour is known, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from minuend.cli.pages.layout import Page, Table
from minuend.cli.pages.summaries import by_type, constants, operators, some, types
from minuend.cli.words import short_number
from minuend.errors import listed
from minuend.plain import grouped
from minuend.runtimes.rendering import short_processor

if TYPE_CHECKING:
    from minuend.runtimes.answers import Answer
    from minuend.runtimes.targets import Target, TargetChange


def targets_page(targets: Sequence[Target], yours: Container[str] = ()) -> Page:
    """Show every target: what it is, and where its facts are from; ``yours``: those that the user added."""
    groups = grouped(
        ((one.runtime, f"{'yours, ' if one.name in yours else ''}{_facts(one)}"), one.release) for one in targets
    )
    rows = tuple((runtime, ", ".join(releases), how) for (runtime, how), releases in groups.items())
    return (Table(("runtime", "releases", "facts"), rows),)


def _facts(target: Target) -> str:
    if target.declared:
        return f"declared: {target.source}"
    cpu, others = target.processors
    patterns = f"; patterns on {listed(list(map(short_processor, others)), 'and')}" if others else ""
    return f"measured {target.date} on {short_processor(cpu)}{patterns}"


def targets_diff_page(old: Target, new: Target, changes: Sequence[TargetChange]) -> Page:
    """Show in what two targets differ, a line for each element type and value class."""
    head = f"{old.name} → {new.name}"
    if not changes:
        return (f"{head}: no change in what was measured of both",)
    groups: dict[tuple[str, str, str, str], list[tuple[str, TargetChange]]] = {}
    for change in changes:
        for dtype in change.dtypes:
            shown = "" if change.old.witness is None and change.new.witness is None else dtype
            key = (shown, change.value_class, change.old.verdict, change.new.verdict)
            groups.setdefault(key, []).append((dtype, change))
    rows = []
    for (dtype, values, *_), group in sorted(groups.items(), key=by_type):
        dtypes, found = {name for name, _ in group}, [change for _, change in group]
        rows.append(
            (
                dtype or types(dtypes),
                values,
                operators((version for change in found for version in change.opversions), dtypes),
                constants(name for change in found for name in change.constants),
                some((name for change in found for name in change.relations), 2),
                min((f"{_shown(change.old)} → {_shown(change.new)}" for change in found), key=len),
            )
        )
    return (head, Table(("type", "values", "operator", "constants", "shapes", "first change"), tuple(rows)))


def _shown(answer: Answer) -> str:
    if answer.witness is None:
        return answer.verdict
    w = answer.witness
    return f"{w.operator.written(*map(short_number, w.operands))} = {short_number(w.got)}"


def targets_json(targets: Sequence[Target], yours: Container[str], warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Every target's name and provenance as JSON, and what is wrong with others."""
    rows = [
        {
            "name": t.name,
            "runtime": t.runtime,
            "release": t.release,
            "measured": t.provenance,
            "source": t.source,
            "yours": t.name in yours,
        }
        for t in targets
    ]
    return {"targets": rows, "warnings": warnings}


def targets_diff_json(old: Target, new: Target, changes: Sequence[TargetChange]) -> dict[str, Any]:
    """In what two targets differ as JSON."""
    return {"old": old.name, "new": new.name, "changes": list(changes)}
