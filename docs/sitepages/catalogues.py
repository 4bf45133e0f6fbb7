"""The catalogues of translations: what the site and the command line say, and what translators made of it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

FOLDER = Path(__file__).parents[2] / "src" / "minuend" / "locale"
"""In the clone, whatever is installed: this is what translators edit."""

_TERM = re.compile(r"\{term\}`([^`]*)`")
_CODE = re.compile(r"`[^`]*`")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_LETTER = re.compile(r"[^\W\d_]")

DATE = datetime(2026, 11, 23, tzinfo=UTC)
"""What stands for the date in catalogues: the same texts make the same bytes, whenever."""


def path(language: str) -> Path:
    """A language's catalogue, as translators edit it."""
    return FOLDER / language / "LC_MESSAGES" / "minuend.po"


def read(language: str) -> Catalog:
    """Read a catalogue; an empty one where there is none yet."""
    if not path(language).exists():
        return Catalog(language)
    with open(path(language), "rb") as file:
        return read_po(file, language)


def update(language: str, texts: Iterable[str]) -> None:
    """Bring a catalogue to the texts that are said today: new ones come in untranslated, others go."""
    old, new = read(language), Catalog(language, project="minuend", fuzzy=False)
    new.creation_date = new.revision_date = DATE
    new.header_comment = (
        f"# minuend in {language}: what spec, diff and the site say. Made by docs/build.py --catalogues."
    )
    for text in texts:
        known = old.get(text)
        new.add(text, str(known.string) if known else carried(text, old))
    path(language).parent.mkdir(parents=True, exist_ok=True)
    with open(path(language), "wb") as file:
        write_po(file, new, width=120, omit_header=False, sort_output=False)


def carried(text: str, old: Catalog) -> str:
    """Return the translation of a sentence of which figures alone have changed, with the figures of today.

    >>> catalogue = Catalog("zh_TW")
    >>> _ = catalogue.add("1.93 ms of 51.6 ms", "51.6 ms 中的 1.93 ms")
    >>> carried("2.05 ms of 60 ms", catalogue), carried("2.05 s of 60 ms", catalogue)
    ('60 ms 中的 2.05 ms', '')
    """
    for message in old:
        before = str(message.id)
        if before and _FIGURE.sub("0", before) == _FIGURE.sub("0", text):
            return _with_figures(str(message.string), _FIGURE.findall(before), _FIGURE.findall(text))
    return ""


def _with_figures(translation: str, before: list[str], now: list[str]) -> str:
    """A translation with other figures; nothing where one figure has become two."""
    pairs = set(zip(before, now, strict=True))
    known = dict(pairs)
    return "" if len(known) < len(pairs) else _FIGURE.sub(lambda found: known.get(found[0], found[0]), translation)


def compiled(language: str) -> bytes:
    """The catalogue as programs read it: the same bytes for the same translations."""
    catalogue = read(language)
    catalogue.creation_date = catalogue.revision_date = DATE
    out = io.BytesIO()
    write_mo(out, catalogue)
    return out.getvalue()


def untranslated(language: str, texts: Iterable[str]) -> list[str]:
    """Those of the texts that a catalogue lacks."""
    catalogue = read(language)
    return [text for text in texts if not ((known := catalogue.get(text)) and known.string)]


def of_template(file: Path, pages: Iterable[str]) -> list[str]:
    """The sentences of some pages, out of the template that Sphinx gathers."""
    wanted = {f"{page}.md" for page in pages}
    with open(file, "rb") as stream:
        template = read_po(stream)
    return [
        without_terms(str(message.id)) for message in template if message.id and has_words(str(message.id))
        and any(Path(where).name in wanted and "/" not in _below(where) for where, _ in message.locations)
    ]  # fmt: skip


def without_terms(text: str) -> str:
    """Return a text without links to the glossary, which is in English.

    >>> without_terms("the {term}`witness` of a {term}`verdict`, `ok`")
    'the witness of a verdict, `ok`'
    """
    return _TERM.sub(r"\1", text)


def has_words(text: str) -> bool:
    """Whether a text has words to translate; code, numbers and signs are the same in every language.

    >>> has_words("`.npy`"), has_words("1.93, 2.84 %"), has_words("−5, `int16`"), has_words("one array")
    (False, False, False, True)
    """
    return bool(_LETTER.search(_CODE.sub("", text)))


def _below(where: str) -> str:
    """A location's path below the sources' folder: ``docs/_build/source/en/index.md`` is ``index.md``."""
    parts = Path(where).parts
    return "/".join(parts[parts.index("source") + 2 :]) if "source" in parts else Path(where).name
