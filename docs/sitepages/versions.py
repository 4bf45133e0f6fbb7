"""A version's row in words: what its page, the differences and their lines are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minuend.cli.pages.standards import ranks_in_words, value_in_words
from minuend.cli.site import slug
from minuend.core.shapes import ONE_OPERAND
from minuend.language import Language
from minuend.operators import OPERATORS
from minuend.standards.dialects import Dialect, dialect, dialects
from minuend.standards.version import OpVersion
from sitepages import words

__all__ = [
    "default", "every_version", "force", "homes", "lines", "of_operator", "ranks", "siblings", "slug", "summary",
    "title", "types",
]  # fmt: skip

_SUMMARIES = {
    "onnx_legacy": "Computes {formula} element by element. B may repeat into A's shape where broadcast is 1 (limited "
    "broadcasting); C always has A's shape.",
    "numpy": "Computes {formula} element by element, with NumPy's broadcasting: either operand may repeat.",
    "openvino": "Computes {formula} element by element, after joining the shapes of the inputs as auto_broadcast says.",
    "directml": "Computes {formula} element by element and writes OutputTensor. The tensors have equal sizes; strides "
    "of 0 repeat an input.",
    ONE_OPERAND: "Computes {formula} element by element; the result has the shape of the operand.",
}
"""By the rule of broadcasting, or by the dialect that has a rule of its own."""


_FIRST = ("onnx", "openvino")  # the order in which people know them; others follow


def homes() -> list[Dialect]:
    """Every dialect, in the order in which the site shows them."""
    return sorted(dialects().values(), key=lambda home: (*(home.name != name for name in _FIRST), home.name))


def of_operator(operator: str) -> list[OpVersion]:
    """An operator's versions, dialect by dialect, oldest first."""
    return [version for home in homes() for version in home.operators.get(operator, ())]


def every_version() -> list[OpVersion]:
    """All versions, operator by operator."""
    return [version for operator in OPERATORS for version in of_operator(operator)]


def siblings(op: OpVersion) -> tuple[OpVersion, ...]:
    """The versions of an operator in its dialect, oldest first."""
    return dialect(op.dialect).operators[op.computes.name]


def title(op: OpVersion) -> str:
    """A version's full name: ``ONNX Sub-14``."""
    return f"{dialect(op.dialect).title} {op}"


def force(op: OpVersion, language: Language) -> str:
    """From when to when a version is in force."""
    counted = language.tr(dialect(op.dialect).counted)
    later = siblings(op)[siblings(op).index(op) + 1 :]
    if later:
        sentence = "In force from {counted} {version} on, until {counted} {next} changes it."
        return language.tr(sentence, counted=counted, version=op.version, next=later[0].version)
    return language.tr("In force from {counted} {version} on.", counted=counted, version=op.version)


def summary(op: OpVersion, language: Language) -> str:
    """What a version does, in a sentence or two."""
    key = op.broadcasting if op.broadcasting in _SUMMARIES else op.dialect
    return language.tr(_SUMMARIES[key], formula=words.formula(op))


def ranks(op: OpVersion, language: Language) -> str:
    """The ranks that a version takes."""
    return ranks_in_words(op.ranks, language)


def types(op: OpVersion) -> list[str]:
    """A version's element types, in the standard's spelling."""
    home = dialect(op.dialect)
    return [home.spell(name) for name in op.types]


def lines(op: OpVersion, language: Language) -> Iterator[str]:
    """All that a version states, line by line, as differences set side by side."""
    tr, labelled = language.tr, language.labelled
    yield summary(op, language)
    yield labelled(tr("Version"))
    yield from (f"    {labelled(tr(key), value_in_words(fact, language))}" for key, fact in op.facts.items())
    yield labelled(tr("Attributes"), "" if op.attributes else tr("none"))
    for attribute in op.attributes:
        stated = f"{attribute.name} ({attribute.type}, {default(attribute.default, language)})"
        yield f"    {labelled(stated, tr(attribute.doc))}"
    for head, rows in (("Inputs", op.inputs), ("Outputs", op.outputs)):
        yield labelled(tr(head))
        yield from (f"    {labelled(f'{row.name} ({row.type})', tr(row.doc))}" for row in rows)
    yield labelled(tr("Type constraints"))
    yield from (f"    {name}" for name in types(op))
    yield labelled(tr("Shapes"))
    yield f"    {labelled(tr('broadcasting'), value_in_words(op.broadcasting, language))}"
    yield f"    {labelled(tr('inference'), tr(op.inference))}"
    yield f"    {labelled(tr('ranks'), ranks(op, language))}"
    yield from (f"    {tr(note)}" for note in op.notes)


def default(shown: Any, language: Language) -> str:
    """An attribute's default in words."""
    return language.tr("no default") if shown is None else language.tr("default {value}", value=shown)
