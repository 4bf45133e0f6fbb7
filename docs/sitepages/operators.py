"""A page for each version of each operator, in the order in which the standards' own pages have their parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from minuend.cli.pages.standards import value_in_words
from minuend.language import Language
from minuend.operators import OPERATORS
from minuend.standards.dialects import dialect
from minuend.standards.version import OpVersion, Param
from sitepages import broadcasting, differences, examples, failures, markup, numerics, runtimes, versions, words
from sitepages.page import Page

_INFERENCE = {
    "element type only": "The standard infers {result}'s element type and no shape.",
    "shape of A": "The standard infers A's shape and element type for C, and never looks at B.",
    "shape of X": "The standard infers X's shape and element type for Y.",
    "broadcast shape": "The standard infers A's element type for C, and the shape in which A and B join.",
}


def pages(language: Language) -> Iterator[Page]:
    """The index, and every version's page."""
    yield _index(language)
    for op in versions.every_version():
        yield Page(f"operators/{versions.slug(op)}.md", _page(op, language))


def _index(language: Language) -> Page:
    tr = language.tr
    parts = [f"# {tr('The operators, version by version')}"]
    parts.append(
        tr("What each version of each operator allows, in each standard, made from the tables that the code runs on.")
    )
    names: list[str] = []
    for operator in OPERATORS:
        parts.append(f"## {tr(words.WORDS[operator].title)}")
        for home in versions.homes():
            newest_first = home.operators.get(operator, ())[::-1]
            if newest_first:
                parts += [f"### {home.title}: {newest_first[0].operator}", _versions(newest_first, language)]
            names += map(_entry, newest_first)
    parts.append(markup.fence("{toctree}", ":hidden:\n\n" + "\n".join(names)))
    return Page("operators/index.md", markup.paragraphs(*parts))


def _versions(rows: Iterable[OpVersion], language: Language) -> str:
    """A table of versions, each with its page, when it is in force and what it does."""
    tr = language.tr
    cells = [
        (
            f"[{op}]({versions.slug(op)}.md)",
            markup.text(versions.force(op, language)),
            markup.text(versions.summary(op, language)),
        )
        for op in rows
    ]
    return markup.table([tr("version"), tr("in force"), tr("summary")], cells)


def _entry(op: OpVersion) -> str:
    """A version in the sidebar; an operator's name that is too long for a line there is left out."""
    short = f"{dialect(op.dialect).title} {op.version} <{versions.slug(op)}>"
    return versions.slug(op) if len(op.operator) <= 16 else short


def _page(op: OpVersion, language: Language) -> str:
    tr = language.tr
    return markup.paragraphs(
        f"# {versions.title(op)}",
        markup.text(versions.force(op, language)),
        f"## {tr('Version')}",
        _facts(op, language),
        f"## {tr('Summary')}",
        markup.text(versions.summary(op, language)),
        "\n".join(f"- {markup.text(tr(note))}" for note in op.notes),
        *_changed(op, language),
        f"## {tr('Attributes')}",
        _attributes(op, language),
        f"## {tr('Inputs')}",
        _params(op.inputs, language),
        f"## {tr('Outputs')}",
        _params(op.outputs, language),
        f"## {tr('Type constraints')}",
        _types(op, language),
        f"## {tr('Shape inference')}",
        tr(_INFERENCE[op.inference], result=words.tensors(op)[-1]),
        f"## {tr('Broadcasting')}",
        *broadcasting.section(op, language),
        f"## {tr('Numerics')}",
        *numerics.section(op, language),
        f"## {tr('Errors')}",
        *failures.section(op, language),
        *runtimes.section(op, language),
        f"## {tr('Examples')}",
        *examples.section(op, language),
        f"## {tr('Differences')}",
        *differences.section(op, language),
    )


def _changed(op: OpVersion, language: Language) -> Iterator[str]:
    """What came with this version, in four lines."""
    known = versions.siblings(op)
    at = known.index(op)
    if at:
        old = known[at - 1]
        yield language.tr("Changed from {old}:", old=old)
        yield "\n".join(f"- {language.labelled(head, line)}" for head, line in differences.meaning(old, op, language))


def _facts(op: OpVersion, language: Language) -> str:
    rows = [
        (markup.text(language.tr(key)), markup.text(value_in_words(fact, language))) for key, fact in op.facts.items()
    ]
    rows.append((language.tr("ranks"), versions.ranks(op, language)))
    return markup.table([language.tr("fact"), language.tr("value")], rows)


def _attributes(op: OpVersion, language: Language) -> str:
    tr = language.tr
    if not op.attributes:
        return tr("None.")
    rows = [
        (
            markup.code(a.name),
            markup.text(a.type),
            tr("none") if a.default is None else markup.code(a.default),
            tr(", ").join(markup.code(value) for value in a.values),
            markup.text(tr(a.doc)),
        )
        for a in op.attributes
    ]
    return markup.table([tr("attribute"), tr("type"), tr("default"), tr("allowed values"), tr("meaning")], rows)


def _params(rows: Iterable[Param], language: Language) -> str:
    tr = language.tr
    params = [(markup.code(p.name), markup.code(p.type), markup.text(tr(p.doc))) for p in rows]
    return markup.table([tr("name"), tr("type"), tr("meaning")], params)


def _types(op: OpVersion, language: Language) -> str:
    tr = language.tr
    home = dialect(op.dialect)
    names = tr(", ").join(markup.code(home.spell(name)) for name in op.types)
    here = tr(", ").join(markup.code(name) for name in op.types)
    return markup.paragraphs(
        tr(
            "{tensors} have one element type, out of these {count}:",
            tensors=words.listed(words.tensors(op), language),
            count=len(op.types),
        ),
        names,
        tr("In NumPy's and ml_dtypes' names: {names}.", names=here),
    )
