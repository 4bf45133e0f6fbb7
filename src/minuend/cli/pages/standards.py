"""``spec`` and ``diff``: what the versions of an operator allow, and what changed between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minuend.cli.pages.layout import Page, Table
from minuend.core.elements import TYPES
from minuend.language import Language
from minuend.plain import plain
from minuend.standards.dialects import Dialect, dialect
from minuend.standards.version import Change, OpVersion


def matrix_page(versions: Sequence[OpVersion], language: Language) -> Page:
    """Show which version takes which element type, and what else the versions differ in.

    A single dialect's types are named as it names them.
    """
    tr = language.tr
    homes = {version.dialect for version in versions}
    names = [name for name in TYPES if any(name in version.types for version in versions)]
    spell = dialect(*homes).spell if len(homes) == 1 else str
    heads = tuple(f"{version.dialect}\n{version.version}" for version in versions)
    types = tuple((spell(name), *("x" if name in version.types else "" for version in versions)) for name in names)
    rows = tuple(
        (
            version.key,
            ", ".join(version.attributes.names) or tr("none"),
            value_in_words(version.broadcasting, language),
            tr(version.inference),
            ranks_in_words(version.ranks, language),
        )
        for version in versions
    )
    heading = ("version", "attributes", "broadcasting", "inference", "ranks")
    return (Table((tr("type"), *heads), types), Table(tuple(map(tr, heading)), rows, whole=frozenset({0})))


def spec_json(versions: Iterable[OpVersion]) -> dict[str, Any]:
    """Versions' rows as JSON; ``spelled`` gives the types of each in its dialect's own names."""
    return {"versions": [{**plain(op), "spelled": [dialect(op.dialect).spell(t) for t in op.types]} for op in versions]}


def spec_page(op: OpVersion, language: Language) -> Page:
    """Show all that a version's row holds, in its dialect's spelling."""
    tr = language.tr
    home = dialect(op.dialect)
    page: list[str | Table] = [_title(op, home, language)]
    rows = (
        (tr("types"), ", ".join(map(home.spell, op.types))),
        (tr("ranks"), ranks_in_words(op.ranks, language)),
        (tr("broadcasting"), value_in_words(op.broadcasting, language)),
        (tr("inference"), tr(op.inference)),
        *((tr("note"), tr(note)) for note in op.notes),
        *((tr(key), value_in_words(value, language)) for key, value in op.facts.items()),
    )
    page.append(Table(("", ""), rows))
    if op.attributes:
        listed = (
            (a.name, a.type, tr("none") if a.default is None else value_in_words(a.default, language), tr(a.doc))
            for a in op.attributes
        )
        page.append(Table(tuple(map(tr, ("attribute", "type", "default", "meaning"))), tuple(listed)))
    for head, params in (("input", op.inputs), ("output", op.outputs)):
        docs = tuple((p.name, p.type, tr(p.doc)) for p in params)
        page.append(Table(tuple(map(tr, (head, "type", "meaning"))), docs))
    return page


def _title(op: OpVersion, home: Dialect, language: Language) -> str:
    tr = language.tr
    names = {"title": home.title, "op": op, "counted": tr(home.counted), "version": op.version}
    versions = home.versions(op.operator)
    later = versions[versions.index(op) + 1 :]
    if later:
        return tr(
            "{title} {op}: since {counted} {version}, until {counted} {next} changes it", next=later[0].version, **names
        )
    return tr("{title} {op}: since {counted} {version}", **names)


def diff_page(old: OpVersion, new: OpVersion, changes: Iterable[Change], language: Language) -> Page:
    """Show what changed from one version to another, a line each; what is only worded anew shares one line."""
    tr = language.tr
    home = dialect(old.dialect)
    rows: list[tuple[str, str]] = []
    reworded: list[str] = []
    for change in changes:
        if change.field == "notes" or change.field.endswith(".doc"):
            reworded.append(change.field.removesuffix(".doc"))
        else:
            rows.append((_field(change.field, language), _changed(home, change, language)))
    if reworded:
        rows.append((tr("worded anew"), ", ".join(reworded)))
    if not rows:
        return (tr("{title} {op}: the same version, nothing changed", title=home.title, op=old),)
    return (f"{home.title} {old} → {new}", Table(("", ""), tuple(rows)))


def _field(name: str, language: Language) -> str:
    """A field's name: words are translated, the names of facts that are the standard's own are not."""
    part, dot, key = name.partition(".")
    return f"{language.tr(part)}{dot}{language.tr(key) if part == 'facts' else key}"


def diff_json(old: OpVersion, new: OpVersion, changes: Iterable[Change]) -> dict[str, Any]:
    """What changed as JSON: ``dialect``, ``operator``, ``old``, ``new`` and ``changes``, a dict for each field."""
    names = {"dialect": old.dialect, "operator": old.operator}
    return {**names, "old": old.version, "new": new.version, "changes": list(changes)}


def _changed(home: Dialect, change: Change, language: Language) -> str:
    def name(item: Any) -> str:
        return home.spell(item) if change.field == "types" else value_in_words(item, language)

    if change.field == "ranks":
        return f"{ranks_in_words(change.removed[0], language)} → {ranks_in_words(change.added[0], language)}"
    listed = change.field in ("types", "attributes", "inputs", "outputs")
    if not listed and len(change.added) == len(change.removed) == 1:
        return f"{name(change.removed[0])} → {name(change.added[0])}"
    return " ".join([f"+{name(item)}" for item in change.added] + [f"−{name(item)}" for item in change.removed])


def ranks_in_words(ranks: tuple[int, int | None], language: Language) -> str:
    """The lowest and the highest rank that a version takes."""
    low, high = ranks
    if high is None:
        return language.tr("{low} and above", low=low)
    return str(low) if low == high else language.tr("{low} to {high}", low=low, high=high)


def value_in_words(value: Any, language: Language) -> str:
    """A value in words: sentences are translated, names and numbers are not."""
    if isinstance(value, bool):
        return language.tr("yes" if value else "no")
    if isinstance(value, tuple):
        return ", ".join(value_in_words(item, language) for item in value)
    return language.tr(value) if isinstance(value, str) and " " in value else str(value)
