"""What differs between any two versions of an operator: four lines of what it means, then both texts side by side."""

from __future__ import annotations

import difflib
import html
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

from minuend.cli.pages.standards import value_in_words
from minuend.language import Language
from minuend.operators import OPERATORS
from minuend.standards.dialects import dialect
from minuend.standards.version import OpVersion
from sitepages import markup, versions, words
from sitepages.page import Page


def pages(language: Language) -> Iterator[Page]:
    """The index, and a page for each pair, the older one (or the earlier dialect's) first."""
    yield _index(language)
    for old, new in pairs():
        yield Page(f"differences/{slug(old, new)}.md", _page(old, new, language))


def pairs() -> Iterator[tuple[OpVersion, OpVersion]]:
    """Any two versions of one operator."""
    for operator in OPERATORS:
        yield from itertools.combinations(versions.of_operator(operator), 2)


def slug(old: OpVersion, new: OpVersion) -> str:
    """The name of a pair's page: ``onnx-7-13``, ``directml-5.1-onnx-14``."""
    end = str(new.version) if old.dialect == new.dialect else versions.slug(new)
    return f"{versions.slug(old)}-{end}"


def _title(old: OpVersion, new: OpVersion) -> str:
    """A pair in words: ``ONNX Sub-7 → Sub-13``."""
    return f"{versions.title(old)} → {new if old.dialect == new.dialect else versions.title(new)}"


def section(op: OpVersion, language: Language) -> Iterator[str]:
    """The section of a version's page: a link to each difference that it is one side of."""
    tr = language.tr
    everyone = versions.of_operator(op.computes.name)
    near: list[str] = []
    far: list[str] = []
    for other in everyone:
        if other is op:
            continue
        old, new = sorted((op, other), key=everyone.index)
        link = f"[{_title(old, new)}](../differences/{slug(old, new)}.md)"
        (near if other.dialect == op.dialect else far).append(f"- {link}")
    if near:
        yield "\n".join(near)
    yield tr("Against the other standards:")
    yield "\n".join(far)


def _index(language: Language) -> Page:
    tr = language.tr
    parts = [
        f"# {tr('Differences')}",
        tr("Any two versions of an operator, in a standard and across: from the one at the left to the one above."),
    ]
    for operator in OPERATORS:
        everyone = versions.of_operator(operator)
        rows = []
        for at, old in enumerate(everyone[:-1]):
            cells = [f"[≠]({slug(old, new)}.md)" if new in everyone[at + 1 :] else "" for new in everyone[1:]]
            rows.append([f"**{versions.slug(old)}**", *cells])
        parts.append(f"## {tr(words.WORDS[operator].title)}")
        parts.append(markup.table([tr("from"), *(versions.slug(op) for op in everyone[1:])], rows))
    return Page("differences/index.md", markup.paragraphs(*parts))


def _page(old: OpVersion, new: OpVersion, language: Language) -> str:
    tr = language.tr
    return markup.paragraphs(
        "---\norphan: true\n---",  # they are found by their tables, not by the list of all pages
        f"# {_title(old, new)}",
        f"[{versions.title(old)}](../operators/{versions.slug(old)}.md){tr(', ')}"
        f"[{versions.title(new)}](../operators/{versions.slug(new)}.md)",
        f"## {tr('In four lines')}",
        "\n".join(f"- {language.labelled(f'**{head}**', line)}" for head, line in meaning(old, new, language)),
        f"## {tr('Side by side')}",
        tr("Signs at the left: ~ changed, − only in the first, + only in the second."),
        markup.raw(side_by_side(old, new, language)),
    )


# ---- four lines -----------------------------------------------------------------------------------------------


def meaning(old: OpVersion, new: OpVersion, language: Language) -> list[tuple[str, str]]:
    """What a difference means: types, attributes, shapes, and what a model has to become."""
    tr = language.tr
    return [
        (tr("Types"), _come_and_gone(_names(new, old), _names(old, new), language)),
        (tr("Attributes"), _come_and_gone(_attributes(new, old), _attributes(old, new), language)),
        (tr("Shapes"), _shapes(old, new, language)),
        (tr("Models"), _models(old, new, language)),
    ]


def _names(one: OpVersion, other: OpVersion) -> list[str]:
    """The types that one has and the other has not, as this package calls them where the dialects differ."""
    spell = dialect(one.dialect).spell if one.dialect == other.dialect else str
    return [markup.code(spell(name)) for name in one.types if name not in other.types]


def _attributes(one: OpVersion, other: OpVersion) -> list[str]:
    return [markup.code(name) for name in one.attributes.names if name not in other.attributes.names]


def _come_and_gone(come: list[str], gone: list[str], language: Language) -> str:
    parts = [language.tr("new: {names}", names=language.tr(", ").join(come))] if come else []
    parts += [language.tr("gone: {names}", names=language.tr(", ").join(gone))] if gone else []
    return language.tr("; ").join(parts) or language.tr("the same")


def _shapes(old: OpVersion, new: OpVersion, language: Language) -> str:
    tr = language.tr
    parts = []
    for name, was, now in (
        ("broadcasting", value_in_words(_rule(old), language), value_in_words(_rule(new), language)),
        ("inference", tr(old.inference), tr(new.inference)),
        ("ranks", versions.ranks(old, language), versions.ranks(new, language)),
    ):
        if was != now:
            parts.append(language.labelled(tr(name), f"{markup.text(was)} → {markup.text(now)}"))
    return tr("; ").join(parts) or tr("the same")


def _rule(op: OpVersion) -> str:
    """A rule by its name; DirectML's is ``none`` too, and has strides."""
    return "equal sizes, strides of 0 repeat" if op.dialect == "directml" else op.broadcasting


def _models(old: OpVersion, new: OpVersion, language: Language) -> str:
    """What becomes of a model of the old version."""
    tr = language.tr
    losses = [tr("its types have to be among the new version's")] if set(old.types) - set(new.types) else []
    if old.dialect != new.dialect:
        crosses = words.of(old).crosses
        way = "its file becomes the other standard's, by minuend convert"
        losses.insert(0, tr(way if crosses else "minuend convert does not move the operator to another standard"))
    elif old.broadcasting != new.broadcasting:
        losses.append(tr("nodes that set axis or broadcast are rewritten, by minuend convert"))
    elif set(old.attributes.names) - set(new.attributes.names):
        losses.append(tr("its leftover attribute is dropped, and means nothing"))
    if not losses:
        return tr("a node of the first is one of the second as it is, with the same meaning")
    return tr("; ").join(losses)


# ---- side by side ---------------------------------------------------------------------------------------------


def side_by_side(old: OpVersion, new: OpVersion, language: Language) -> str:
    """A table of both versions' lines; what differs bears a sign, and a colour."""
    before, after = ([_Line(line, op) for line in versions.lines(op, language)] for op in (old, new))
    label = _title(old, new)
    head = "".join(f'<th scope="col">{html.escape(versions.title(op))}</th>' for op in (old, new))
    body = "".join(_rows(before, after))
    return markup.scrolling(
        label,
        f'<table class="sides"><caption>{html.escape(label)}</caption><thead><tr>'
        f'<th scope="col"><span class="sr-only">±</span></th>{head}</tr></thead><tbody>{body}</tbody></table>',
    )


_SIGNS = {"equal": "", "replace": "~", "delete": "−", "insert": "+"}


_WORD = re.compile(r"[^\s：]+：?")
_WIDE = "："
"""Ends a label in Chinese; no space stands behind it."""


class _Line:
    """A line of a version, and what its words mean: ``tensor(float16)``, ``f16`` and ``FLOAT16`` are one type."""

    def __init__(self, text: str, op: OpVersion) -> None:
        names = {spelled: name for name, all_ in dialect(op.dialect).spellings.items() for spelled in all_}
        self.indent = (len(text) - len(text.lstrip())) // 4
        self.words = _WORD.findall(text)
        self.meaning = [self._meaning(word, names) for word in self.words]

    @staticmethod
    def _meaning(word: str, names: Mapping[str, str]) -> str:
        bare = word.rstrip(",.;")
        return names.get(bare, bare) + word[len(bare) :]


def _rows(before: list[_Line], after: list[_Line]) -> Iterator[str]:
    first, second = ([" ".join(line.meaning) for line in side] for side in (before, after))
    for tag, i, j, k, m in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        for was, now in itertools.zip_longest(before[i:j], after[k:m]):
            kind = tag if tag != "replace" else "delete" if now is None else "insert" if was is None else tag
            yield (
                f'<tr class="{kind}"><th scope="row">{_SIGNS[kind]}</th>'
                f"<td>{_shown(was, now)}</td><td>{_shown(now, was)}</td></tr>"
            )


def _shown(line: _Line | None, other: _Line | None) -> str:
    """A line; the words whose meaning the other side has not are marked."""
    if line is None:
        return ""
    parts = []
    matcher = difflib.SequenceMatcher(None, line.meaning, (other or line).meaning, autojunk=False)
    for tag, i, j, _, _ in matcher.get_opcodes():
        if i < j:
            part = html.escape(_joined(line.words[i:j]))
            parts.append(part if tag == "equal" else f"<mark>{part}</mark>")
    return f'<span class="indent-{line.indent}">{_joined(parts)}</span>'


def _joined(words: Iterable[str]) -> str:
    return " ".join(words).replace(f"{_WIDE} ", _WIDE)
