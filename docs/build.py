"""Build the site: ``pip install ".[docs]" && python docs/build.py``.

HTML goes to ``docs/_build/en`` and ``docs/_build/zh_TW``. Warnings are errors, and so is a sentence of the translated
pages that a catalogue lacks. Where minuend is installed in this environment the site is copied beside it, so that
``minuend spec --html`` finds it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

from sitepages import catalogues, spoken, staging  # noqa: E402  (the pages lie beside this script)
from sphinx.cmd.build import build_main  # noqa: E402

from minuend.cli.site import installed  # noqa: E402
from minuend.language import ENGLISH, Language, languages  # noqa: E402

START = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>minuend</title>'
    '<meta http-equiv="refresh" content="0; url=en/index.html"><a href="en/index.html">minuend</a></html>\n'
)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the site.")
    parser.add_argument("--out", type=Path, default=DOCS / "_build", help="where HTML goes, a folder a language")
    parser.add_argument("--language", action="append", choices=languages(), help="only this one; may be repeated")
    parser.add_argument("--catalogues", action="store_true", help="bring the catalogues up to date, and build nothing")
    parser.add_argument("--keep", action="store_true", help="do not copy the site into this environment")
    stated = parser.parse_args(argv)
    if stated.catalogues:
        return update_catalogues(stated.out)
    shutil.rmtree(work(stated.out), ignore_errors=True)
    for name in stated.language or languages():
        status = build(stated.out, name)
        if status:
            return status
    (stated.out / "index.html").write_text(START, encoding="utf-8")
    if not stated.keep and not stated.language:
        install(stated.out)
    return 0


def build(out: Path, name: str) -> int:
    """Build the site in one language."""
    language = Language(name)
    source = work(out) / "source" / name
    shutil.rmtree(out / name, ignore_errors=True)
    staging.stage(source, language)
    missing = language.missing()
    if name != ENGLISH and not missing:
        missing = catalogues.untranslated(name, written_sentences(out))
    if missing:
        listed = "\n".join(f"  {text}" for text in missing)
        print(
            f"{name} lacks {len(missing)} translations; run python docs/build.py --catalogues, and fill in:\n{listed}"
        )
        return 1
    return sphinx("html", source, out / name, name)


def work(out: Path) -> Path:
    """Where sources and what Sphinx remembers of them lie: hidden, for it is not the site."""
    return out / ".work"


def sphinx(builder: str, source: Path, out: Path, name: str) -> int:
    """Run Sphinx with warnings as errors."""
    os.environ["MINUEND_SITE_LANGUAGE"] = name
    os.environ["MINUEND_SITE_LOCALES"] = str(catalogues.FOLDER)
    trees = source.parent.parent / "trees" / f"{builder}-{name}"
    return int(build_main(["-q", "-W", "--keep-going", "-b", builder, "-d", str(trees), str(source), str(out)]))


def written_sentences(out: Path) -> list[str]:
    """Every sentence of the pages that people wrote and that are translated, and the titles of the others."""
    source, folder = work(out) / "source" / ENGLISH, work(out) / "gettext"
    if not source.exists():
        staging.stage(source, Language())
    if not (folder / "minuend.pot").exists() and sphinx("gettext", source, folder, ENGLISH):
        raise SystemExit("Sphinx could not gather the sentences of the pages")
    sentences = catalogues.of_template(folder / "minuend.pot", staging.TRANSLATED)
    return [*sentences, *staging.english_only().values()]


def update_catalogues(out: Path) -> int:
    """Bring every catalogue to what is said today, and make what programs read of it."""
    shutil.rmtree(work(out), ignore_errors=True)
    texts = [*spoken.texts(), *written_sentences(out)]
    for name in {path.parts[-2] for path in catalogues.FOLDER.glob("*/LC_MESSAGES")}:
        catalogues.update(name, dict.fromkeys(texts))
        catalogues.path(name).with_suffix(".mo").write_bytes(catalogues.compiled(name))
        print(f"{name}: {len(catalogues.untranslated(name, texts))} of {len(texts)} not translated")
    return 0


def install(out: Path) -> None:
    """Copy the site to where ``minuend spec --html`` looks."""
    goal = installed()
    shutil.rmtree(goal, ignore_errors=True)
    for name in languages():
        shutil.copytree(out / name, goal / name)
    print(f"the site is in {out}, and copied to {goal}")


if __name__ == "__main__":
    sys.exit(main())
