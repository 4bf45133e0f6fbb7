"""Which runtimes compute a version as the contract says, and what the others do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from minuend.language import Language
from minuend.plain import grouped
from minuend.runtimes.answers import Answer
from minuend.runtimes.matrix import Cell, right
from minuend.runtimes.target import Target
from minuend.standards.version import OpVersion
from sitepages import markup, matrix


def section(op: OpVersion, language: Language) -> Iterator[str]:
    """The section of a version's page; none where no runtime was measured for the version."""
    tr = language.tr
    fine, others = right(op)
    if not fine and not others:
        return
    yield f"## {tr('Runtimes')}"
    in_matrix = op.computes.name == matrix.OPERATOR
    names = [f"[{name}](../matrix/{name}.md)" if in_matrix else name for name in fine]
    yield tr(
        "Of {count} runtimes that read this version, the newest releases of these compute every type right: {named}.",
        count=len(fine) + len(others),
        named=tr(", ").join(names) or tr("none"),
    )
    if in_matrix:
        link = f'<a href="../matrix.html?operator={op.key}">{tr("The matrix")}</a>'
        yield tr("{matrix} shows the others by type.", matrix=link)
    elif others:
        yield tr("What the others compute otherwise, where no operand is a constant:")
        heads = ("runtime", "type", "values", "verdict", "what shows it")
        rows = [row for target in others.values() for row in _rows(op, target, language)]
        yield markup.table([tr(head) for head in heads], rows)


def _rows(op: OpVersion, target: Target, language: Language) -> Iterator[list[str]]:
    """What a runtime does otherwise than the contract: a row for each type and whatever it does with some values."""
    tr = language.tr
    for dtype in op.types:
        answers = target.judged(op, dtype, "same", "none")
        for names in _alike(answers):
            cell = Cell(target, dtype, op.key, answers[names[0]].verdict, names[0], answers[names[0]])
            values = tr("all values") if len(names) == len(answers) else tr(", ").join(map(tr, names))
            shown = (target.name, dtype, values, tr(cell.verdict), matrix.in_words(cell, language))
            yield [markup.text(text) for text in shown]


def _alike(answers: Mapping[str, Answer]) -> list[list[str]]:
    """The classes of values that are not computed right; those with one answer together."""
    wrong = {name: answer for name, answer in answers.items() if answer.verdict != "ok"}
    return list(grouped(((one.verdict, one.message, str(one.witness)), name) for name, one in wrong.items()).values())
