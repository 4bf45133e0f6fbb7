"""The folder that Sphinx reads: pages that people wrote, with links that hold in the site, and those from tables."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from minuend.language import ENGLISH, Language
from sitepages import differences, front, markup, matrix, operators, reference, releases, schemas
from sitepages.page import Page

DOCS = Path(__file__).parent.parent
REPOSITORY = "https://github.com/minuend/minuend"
MADE: tuple[Callable[[Language], Iterator[Page]], ...] = tuple(
    module.pages for module in (operators, differences, matrix, releases, schemas, reference)
)
TRANSLATED = ("index", "tutorial", "gate", "files", "deltas", "policies")
"""Pages that people wrote and that are translated whole; the build fails where a sentence of theirs is not."""

WITHOUT_TERMS = ("index", "glossary", "changelog", "deltas")
"""Pages without links to the glossary: cards, which are links; the glossary; a list of changes; patterns of bits."""

_PICTURE = "<!-- picture -->"
_LINK = re.compile(r"(?<=\]\()\.\./([^)#\s]+)")


def stage(folder: Path, language: Language) -> None:
    """Fill a folder with the sources of the site in one language; what it held before goes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, path in _pages().items():
        _write(folder, Page(f"{name}.md", _written(name, path.read_text("utf-8"), language)))
    for path in sorted(DOCS.iterdir()):
        if path.suffix in (".png", ".svg", ".json") or path.name == "conf.py":
            shutil.copy(path, folder)
        elif path.name in ("_static", "_templates", "locale"):
            shutil.copytree(path, folder / path.name)
    for pages in MADE:
        for page in pages(language):
            _write(folder, _explained(page) if language.name == ENGLISH else page)


def _explained(page: Page) -> Page:
    """A page from tables, with the terms of the glossary linked; data have no links."""
    return Page(page.path, explained(page.text, glossary())) if page.path.endswith(".md") else page


@functools.cache
def english_only() -> dict[str, str]:
    """Return the pages that people wrote and that are not translated, with their titles, which the sidebar shows."""
    others = {name: path for name, path in _pages().items() if name not in TRANSLATED}
    return {name: path.read_text("utf-8").partition("\n")[0].removeprefix("# ") for name, path in others.items()}


def _pages() -> dict[str, Path]:
    """The pages that people wrote, by their names in the site."""
    return {path.stem: path for path in sorted(DOCS.glob("*.md"))} | {"changelog": DOCS.parent / "CHANGELOG.md"}


def _write(folder: Path, page: Page) -> None:
    path = folder / page.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.text, encoding="utf-8")


def _written(name: str, text: str, language: Language) -> str:
    """A page that somebody wrote; where it is not translated, it says so under its title."""
    text = linked(text)
    if _PICTURE in text:
        text = text.replace(_PICTURE, markup.raw(front.picture(language)))
    translated = language.name != ENGLISH and name in TRANSLATED
    if name not in WITHOUT_TERMS and not translated:
        text = explained(text, glossary())
    if language.name == ENGLISH or translated:
        return text
    title, rest = text.split("\n", 1)
    return f"{title}\n\n:::{{note}}\n{language.tr('This page is in English only.')}\n:::\n{rest}"


@functools.cache
def glossary() -> tuple[str, ...]:
    """Return the terms of the glossary, the longest first: a longer one may hold a shorter."""
    body = (DOCS / "glossary.md").read_text("utf-8").partition("```{glossary}")[2]
    return tuple(sorted(re.findall(r"(?m)^(\S.*)\n {4}", body), key=lambda term: -len(term)))


_NO_PROSE = re.compile(
    r"```.*?^```|^[#|<].*?$|`[^`\n]*`|!?\[[^\]]*\](?:\([^)]*\))?|<!--.*?-->", re.DOTALL | re.MULTILINE
)
"""Code, headings, tables, links, comments: what no link is put into."""


def explained(text: str, terms: Sequence[str]) -> str:
    """Link each term to the glossary where prose has it first.

    >>> print(explained("# A target\\n`target` and a target, another target", ["target"]))
    # A target
    `target` and a {term}`target`, another target
    """
    for term in terms:
        taken = [found.span() for found in _NO_PROSE.finditer(text)]
        for found in re.finditer(rf"\b{re.escape(term)}\b", text):
            if not any(start <= found.start() < end for start, end in taken):
                text = f"{text[: found.start()]}{{term}}`{term}`{text[found.end() :]}"
                break
    return text


def linked(text: str) -> str:
    """Links that lead out of docs/, to the repository.

    >>> linked("[tools](../tools/fuzz.py)")
    '[tools](https://github.com/minuend/minuend/blob/main/tools/fuzz.py)'
    """
    return _LINK.sub(lambda found: _target(found[1]), text)


def _target(path: str) -> str:
    if path == "CHANGELOG.md":
        return "changelog.md"
    kind = "tree" if (DOCS.parent / path).is_dir() else "blob"
    return f"{REPOSITORY}/{kind}/main/{path}"
