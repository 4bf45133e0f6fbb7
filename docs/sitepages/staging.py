"""The folder that Sphinx reads: pages that people wrote, with links that hold in the site, and those from tables."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from minuend.language import Language
from sitepages import differences, front, markup, matrix, operators, reference, releases, schemas
from sitepages.page import Page

DOCS = Path(__file__).parent.parent
REPOSITORY = "https://github.com/minuend/minuend"
MADE: tuple[Callable[[Language], Iterator[Page]], ...] = tuple(
    module.pages for module in (operators, differences, matrix, releases, schemas, reference)
)
TRANSLATED = ("index", "tutorial")
"""Pages that people wrote and that are translated whole; the build fails where a sentence of theirs is not."""

_LINK = re.compile(r"(?<=\]\()\.\./([^)#\s]+)")


def stage(folder: Path, language: Language) -> None:
    """Fill a folder with the sources of the site in one language; what it held before goes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted(DOCS.iterdir()):
        if path.suffix == ".md":
            _write(folder, Page(path.name, _written(path, language)))
        elif path.suffix in (".png", ".svg", ".json") or path.name == "conf.py":
            shutil.copy(path, folder)
        elif path.name in ("_static", "_templates"):
            shutil.copytree(path, folder / path.name)
    _write(folder, Page("changelog.md", linked((DOCS.parent / "CHANGELOG.md").read_text("utf-8"))))
    for pages in MADE:
        for page in pages(language):
            _write(folder, page)


def _write(folder: Path, page: Page) -> None:
    path = folder / page.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.text, encoding="utf-8")


def _written(path: Path, language: Language) -> str:
    """A page that somebody wrote; where it is not translated, it says so under its title."""
    text = linked(path.read_text("utf-8")).replace("<!-- picture -->", markup.raw(front.picture(language)))
    if path.stem not in (*TRANSLATED, "glossary"):
        text = explained(text, glossary())
    if language.name == "en" or path.stem in TRANSLATED:
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
