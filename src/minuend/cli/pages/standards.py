"""``spec`` and ``diff``: what the versions of an operator allow, and what changed between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minuend.cli.pages.layout import Page, Table
from minuend.core.elements import TYPES
from minuend.plain import plain
from minuend.standards.dialects import Dialect, dialect
from minuend.standards.version import Change, OpVersion


def matrix_page(homes: Sequence[Dialect]) -> Page:
    """Show which version takes which element type, and what else the versions differ in.

    A single dialect's types are named as it names them.
    """
    versions = [version for home in homes for version in home.versions]
    names = [name for name in TYPES if any(name in version.types for version in versions)]
    spell = homes[0].spell if len(homes) == 1 else str
    heads = tuple(f"{version.dialect}\n{version.version}" for version in versions)
    types = tuple((spell(name), *("x" if name in version.types else "" for version in versions)) for name in names)
    rows = tuple(
        (
            f"{version.dialect} {version.version}",
            ", ".join(version.attributes.names) or "none",
            version.broadcasting,
            version.inference,
            _ranks(version.ranks),
        )
        for version in versions
    )
    more = Table(("version", "attributes", "broadcasting", "inference", "ranks"), rows)
    return (Table(("type", *heads), types), more)


def spec_json(versions: Iterable[OpVersion]) -> dict[str, Any]:
    """Versions' rows as JSON; ``spelled`` gives the types of each in its dialect's own names."""
    return {"versions": [{**plain(op), "spelled": [dialect(op.dialect).spell(t) for t in op.types]} for op in versions]}


def spec_page(op: OpVersion) -> Page:
    """Show all that a version's row holds, in its dialect's spelling."""
    home = dialect(op.dialect)
    later = home.versions[home.versions.index(op) + 1 :]
    until = f", until {home.counted} {later[0].version} changes it" if later else ""
    page: list[str | Table] = [f"{home.title} {op}: since {home.counted} {op.version}{until}"]
    rows = (
        ("types", ", ".join(map(home.spell, op.types))),
        ("ranks", _ranks(op.ranks)),
        ("broadcasting", op.broadcasting),
        ("inference", op.inference),
        *(("note", note) for note in op.notes),
        *((key, _shown(value)) for key, value in op.facts.items()),
    )
    page.append(Table(("", ""), rows))
    if op.attributes:
        listed = ((a.name, a.type, "none" if a.default is None else _shown(a.default), a.doc) for a in op.attributes)
        page.append(Table(("attribute", "type", "default", "meaning"), tuple(listed)))
    for head, params in (("input", op.inputs), ("output", op.outputs)):
        page.append(Table((head, "type", "meaning"), tuple((p.name, p.type, p.doc) for p in params)))
    return page


def diff_page(old: OpVersion, new: OpVersion, changes: Iterable[Change]) -> Page:
    """Show what changed from one version to another, a line each; what is only worded anew shares one line."""
    home = dialect(old.dialect)
    rows: list[tuple[str, str]] = []
    reworded: list[str] = []
    for change in changes:
        if change.field == "notes" or change.field.endswith(".doc"):
            reworded.append(change.field.removesuffix(".doc"))
        else:
            rows.append((change.field, _changed(home, change)))
    if reworded:
        rows.append(("worded anew", ", ".join(reworded)))
    if not rows:
        return (f"{home.title} {old}: the same version, nothing changed",)
    return (f"{home.title} {old} → {new}", Table(("", ""), tuple(rows)))


def diff_json(old: OpVersion, new: OpVersion, changes: Iterable[Change]) -> dict[str, Any]:
    """What changed as JSON: ``dialect``, ``old``, ``new`` and ``changes`` of ``field``, ``added``, ``removed``."""
    return {"dialect": old.dialect, "old": old.version, "new": new.version, "changes": list(changes)}


def _changed(home: Dialect, change: Change) -> str:
    if change.field == "ranks":
        return f"{_ranks(change.removed[0])} → {_ranks(change.added[0])}"
    if (
        change.field not in ("types", "attributes", "inputs", "outputs")
        and len(change.added) == len(change.removed) == 1
    ):
        return f"{_shown(change.removed[0])} → {_shown(change.added[0])}"
    name = home.spell if change.field == "types" else _shown
    return " ".join([f"+{name(item)}" for item in change.added] + [f"−{name(item)}" for item in change.removed])


def _ranks(ranks: tuple[int, int | None]) -> str:
    low, high = ranks
    return f"{low} and above" if high is None else str(low) if low == high else f"{low} to {high}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
