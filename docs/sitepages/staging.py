"""The folder that Sphinx reads: pages that people wrote, with links that hold in the site, and those from tables."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from minuend.language import Language
from sitepages import differences, matrix, operators, reference, releases, schemas
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
    text = linked(path.read_text("utf-8"))
    if language.name == "en" or path.stem in TRANSLATED:
        return text
    title, rest = text.split("\n", 1)
    return f"{title}\n\n:::{{note}}\n{language.tr('This page is in English only.')}\n:::\n{rest}"


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
