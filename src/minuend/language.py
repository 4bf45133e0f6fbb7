"""The languages of ``spec``, ``diff`` and the site: English as it is written, and one catalogue for each other.

A catalogue is gettext's: ``locale/LANGUAGE/LC_MESSAGES/minuend.po`` for people who translate, ``minuend.mo`` beside it
for programs. ``python docs/build.py --catalogues`` makes the second from the first, after what is new has been added
to it.
"""

from __future__ import annotations

import functools
import gettext
from collections.abc import Mapping
from pathlib import Path

from minuend.errors import SpecError, listed, shown

FOLDER = Path(__file__).parent / "locale"
ENGLISH = "en"


class Language:
    """A language that texts are looked up in.

    Args:
        name: ``"en"``, or the name of a catalogue, such as ``"zh_TW"``.

    Raises:
        SpecError: no such language.

    >>> Language("en").tr("{count} axes", count=2)
    '2 axes'
    >>> Language("zh_TW").tr("Inputs")
    '輸入'
    """

    def __init__(self, name: str = ENGLISH) -> None:
        if name not in languages():
            raise SpecError("language", f"no language {shown(name)}; expected {listed(languages())}")
        self.name = name
        self.asked: set[str] = set()
        self._catalogue = gettext.NullTranslations() if name == ENGLISH else _catalogue(name)

    def tr(self, text: str, **values: object) -> str:
        """Translate a text, and put values into its ``{places}``; what no catalogue has stays English."""
        self.asked.add(text)
        said = self._catalogue.gettext(text) if text else text
        return said.format(**values) if values else said

    def labelled(self, label: str, text: str = "") -> str:
        """Return a label, and the text behind its colon, with this language's colon.

        >>> Language("en").labelled("Inputs", "A"), Language("zh_TW").labelled("輸入", "A"), Language().labelled("A")
        ('Inputs: A', '輸入：A', 'A:')
        """
        return self.tr("{label}: {value}", label=label, value=text) if text else self.tr("{label}:", label=label)

    def missing(self) -> list[str]:
        """What has been asked for so far and the catalogue lacks, sorted."""
        known = getattr(self._catalogue, "_catalog", {})
        return [] if self.name == ENGLISH else sorted(text for text in self.asked - {""} if not known.get(text))


def _catalogue(name: str) -> gettext.GNUTranslations:
    return gettext.translation("minuend", FOLDER, [name])


@functools.cache
def languages() -> tuple[str, ...]:
    """The names of the languages: English, and those that have a catalogue."""
    return (ENGLISH, *sorted(path.parts[-3] for path in FOLDER.glob("*/LC_MESSAGES/minuend.mo")))


def chosen(environ: Mapping[str, str]) -> str:
    """Return the language that an environment asks for, as gettext reads it; English where there is no catalogue.

    >>> chosen({"LANG": "zh_TW.UTF-8"}), chosen({"LC_ALL": "C", "LANG": "zh_TW.UTF-8"})
    ('zh_TW', 'en')
    """
    locale = next((environ[key] for key in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(key)), "")
    wanted = [locale] if locale.partition(".")[0] in ("", "C", "POSIX") else [*_priorities(environ), locale]
    names = (entry.partition(".")[0].partition("@")[0] for entry in wanted)
    return next((name for name in names if name in languages()), ENGLISH)


def _priorities(environ: Mapping[str, str]) -> list[str]:
    """``LANGUAGE`` lists languages in the order in which they are wanted; a locale of ``C`` puts it out of force."""
    return [name for name in environ.get("LANGUAGE", "").split(":") if name]
