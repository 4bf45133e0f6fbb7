"""What changed from release to release, a page for each runtime of which several releases are known."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator

from minuend.cli.pages.layout import Table
from minuend.cli.pages.targets import targets_diff_page
from minuend.language import Language
from minuend.plain import grouped
from minuend.runtimes import targets
from minuend.runtimes.target import Target
from sitepages import markup
from sitepages.matrix import source
from sitepages.page import Page


def pages(language: Language) -> Iterator[Page]:
    """The index, and a page for each runtime."""
    by_runtime = grouped((name.partition("@")[0], name) for name in targets.names())
    yield _index(by_runtime, language)
    for runtime, names in by_runtime.items():
        yield Page(f"releases/{runtime}.md", _page(runtime, names, language))


def _index(by_runtime: dict[str, list[str]], language: Language) -> Page:
    tr = language.tr
    rows = []
    for runtime, names in by_runtime.items():
        newest = targets.find(names[-1], exact=True)
        releases = ", ".join(name.partition("@")[2] for name in names)
        rows.append(
            (f"[{runtime}](releases/{runtime}.md)", markup.text(releases), markup.text(source(newest, language)))
        )
    return Page(
        "releases.md",
        markup.paragraphs(
            f"# {tr('From release to release')}",
            tr("What each release of each runtime was measured to do, and what the next one does otherwise."),
            markup.table([tr("runtime"), tr("releases"), tr("facts")], rows),
            markup.fence("{toctree}", ":hidden:\n\n" + "\n".join(f"releases/{runtime}" for runtime in by_runtime)),
        ),
    )


def _page(runtime: str, names: list[str], language: Language) -> str:
    tr = language.tr
    parts = [f"# {tr('{runtime}, release by release', runtime=runtime)}"]
    parts.append(f"[{tr('What the newest does, and its witnesses')}](../matrix/{runtime}.md)")
    pairs = list(itertools.pairwise(names))
    if not pairs:
        parts.append(tr("One release is known: {release}.", release=names[0].partition("@")[2]))
    for old, new in reversed(pairs):
        parts += _step(targets.find(old, exact=True), targets.find(new, exact=True), language)
    return markup.paragraphs(*parts)


def _step(old: Target, new: Target, language: Language) -> Iterator[str]:
    """What one release does otherwise than the one before it."""
    tr = language.tr
    yield f"## {old.release} → {new.release}"
    table = next(
        (part for part in targets_diff_page(old, new, targets.diff(old, new)) if isinstance(part, Table)), None
    )
    if table is None:
        yield tr("Nothing changed in what both were asked.")
        return
    yield markup.raw(_table(table, f"{old.name} → {new.name}", language))
    yield f"`minuend targets --diff {old.name} {new.name}`"


def _table(table: Table, label: str, language: Language) -> str:
    heads = "".join(f'<th scope="col">{language.tr(head)}</th>' for head in table.header)
    rows = []
    for first, values, *rest in table.rows:
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in (language.tr(values), *rest))
        rows.append(f'<tr><th scope="row">{html.escape(first)}</th>{cells}</tr>')
    inner = f"<caption>{html.escape(label)}</caption><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return markup.scrolling(label, f'<table class="changes">{inner}</table>')
