"""Check that the version is one, date a release, and begin the next version; docs/releasing.md lists the steps.

    python tools/release.py                 # the package, the changelog and the pages name one version
    python tools/release.py v0.1.0          # that, and the tag may be published
    python tools/release.py --prepare       # date the newest part of the changelog, name the version in the pages
    python tools/release.py --next 0.2.0    # after a release: the next version, with an empty part of the changelog

``src/minuend/__init__.py`` holds the version. Pages name the newest release; before the first one, the version to come.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, CHANGES, PROJECT = Path("src/minuend/__init__.py"), Path("CHANGELOG.md"), Path("pyproject.toml")

VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
PARTS = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
HEADING = re.compile(r"(\d+\.\d+\.\d+) \((unreleased|\d{4}-\d\d-\d\d)\)")
NUMBERS = re.compile(r"\d+\.\d+\.\d+")

PAGES = ("*.md", "action.yml", ".pre-commit-hooks.yaml", ".github/workflows/*.yml", "docs/**/*.md", "examples/**/*")
"""Files that may name a version of the action, the hook or the package."""

NAMED = re.compile(
    r"(?P<before>\bminuend/minuend(?:\.git)?@|\brepo: \S+/minuend/minuend\n\s+rev: )(?P<tag>[^\s\"'`]+)"
    r"|(?P<package>\bminuend(?:\[[\w,]+\])?==)(?P<version>[^\s\"'`]+)"
)
"""Where a page names a version: ``uses:`` of the action, ``rev:`` of the hook, a requirement of pip."""


@dataclass(frozen=True)
class Part:
    """A version's part of the changelog: its heading, the date ("" for none) and the text."""

    heading: str
    version: str
    date: str
    text: str


def version_of(root: Path = ROOT) -> str:
    """Return the version that the package states."""
    (found,) = VERSION.findall((root / PACKAGE).read_text(encoding="utf-8"))
    return str(found)


def parts_of(root: Path = ROOT) -> list[Part]:
    """Return the parts of the changelog, newest first; a malformed heading has no version."""
    parts = []
    for heading, text in PARTS.findall((root / CHANGES).read_text(encoding="utf-8")):
        found = HEADING.fullmatch(heading)
        version, date = found.groups() if found else ("", "")
        parts.append(Part(heading, version, "" if date == "unreleased" else date, text.strip()))
    return parts


def newest_release(root: Path = ROOT) -> str:
    """Return the version that pages name: the newest dated one, or the package's before the first release."""
    return next((part.version for part in parts_of(root) if part.date), version_of(root))


# ---- checks -----------------------------------------------------------------------------------------------------


def faults(tag: str = "", root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield what is wrong with the version, and what keeps a tag from being published; a sentence each."""
    version, parts = version_of(root), parts_of(root)
    if not NUMBERS.fullmatch(version):
        yield f"{PACKAGE.as_posix()} says {version}; expected three numbers, as 0.1.0"
    yield from _faults_of_changelog(version, parts)
    yield from _faults_of_pages(root)
    if tag:
        yield from _faults_of_tag(tag, version, parts)
        yield from _faults_of_addresses(root, environment)


def _faults_of_changelog(version: str, parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        if not part.version:
            expected = "'VERSION (unreleased)' or 'VERSION (YEAR-MONTH-DAY)'"
            yield f"CHANGELOG.md has a part {part.heading!r}; expected {expected}"
        elif part.date and not _is_date(part.date):
            yield f"CHANGELOG.md dates {part.version} {part.date}, which is no date"
    yield from (f"CHANGELOG.md has {one.version} below {version} without a date" for one in parts[1:] if not one.date)
    if not parts or (parts[0].version and parts[0].version != version):
        newest = parts[0].version if parts else "nothing"
        yield f"CHANGELOG.md begins with {newest}, and {PACKAGE.as_posix()} says {version}"


def _faults_of_pages(root: Path) -> Iterator[str]:
    expected = newest_release(root)
    for path in pages(root):
        text = path.read_text(encoding="utf-8")
        for found in NAMED.finditer(text):
            named, right = (found["tag"], f"v{expected}") if found["tag"] else (found["version"], expected)
            if named != right:
                line = text.count("\n", 0, found.end()) + 1
                yield f"{path.relative_to(root).as_posix()}:{line} names {named}; expected {right}"


def _faults_of_tag(tag: str, version: str, parts: Sequence[Part]) -> Iterator[str]:
    if tag != f"v{version}":
        yield f"the tag is {tag}, and {PACKAGE.as_posix()} says {version}; expected the tag v{version}"
    if parts and parts[0].version and not parts[0].date:
        yield f"CHANGELOG.md says '{parts[0].heading}'; `python tools/release.py --prepare` dates it"
    if parts and not parts[0].text:
        yield f"CHANGELOG.md does not say what is new in {version}"


def _faults_of_addresses(root: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield addresses of the project that are not those of the repository that publishes."""
    if "GITHUB_REPOSITORY" in environment:
        urls = tomllib.loads((root / PROJECT).read_text(encoding="utf-8"))["project"]["urls"]
        here = f"{environment['GITHUB_SERVER_URL']}/{environment['GITHUB_REPOSITORY']}"
        elsewhere = [url for url in urls.values() if url != here and not url.startswith(f"{here}/")]
        yield from (f"project.urls names {url}, and this is {here}" for url in elsewhere)


def pages(root: Path = ROOT) -> list[Path]:
    """Return the text files that may name a version."""
    found = {path for pattern in PAGES for path in root.glob(pattern) if path.is_file()}
    built = root / "docs/_build"
    return sorted(one for one in found if one.name != CHANGES.name and built not in one.parents and _is_text(one))


def _is_text(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


# ---- changes ----------------------------------------------------------------------------------------------------


def prepare(today: str, root: Path = ROOT) -> None:
    """Date the newest part of the changelog and name its version in the pages."""
    changes = root / CHANGES
    text, count = re.subn(
        r"^## (\d+\.\d+\.\d+) \(unreleased\)$",
        rf"## \1 ({today})",
        changes.read_text(encoding="utf-8"),
        count=1,
        flags=re.MULTILINE,
    )
    if not count:
        raise SystemExit("CHANGELOG.md has no part 'VERSION (unreleased)'; python tools/release.py --next begins one")
    changes.write_text(text, encoding="utf-8")
    version = newest_release(root)
    for path in pages(root):
        before = path.read_text(encoding="utf-8")
        after = NAMED.sub(lambda found: _renamed(found, version), before)
        if after != before:
            path.write_text(after, encoding="utf-8")


def _renamed(found: re.Match[str], version: str) -> str:
    return f"{found['before']}v{version}" if found["before"] else f"{found['package']}{version}"


def begin(version: str, root: Path = ROOT) -> None:
    """Begin the next version: in the package, and as an empty part of the changelog."""
    newest = parts_of(root)[0]
    if not NUMBERS.fullmatch(version):
        raise SystemExit(f"{version!r} is no version; expected three numbers, as 0.2.0")
    if not newest.date:
        raise SystemExit(f"{newest.version} is not released yet; python tools/release.py --prepare dates it")
    if _numbers(version) <= _numbers(newest.version):
        raise SystemExit(f"{version} is not newer than {newest.version}")
    package, changes = root / PACKAGE, root / CHANGES
    package.write_text(VERSION.sub(f'__version__ = "{version}"', package.read_text(encoding="utf-8")), encoding="utf-8")
    head, heading, rest = changes.read_text(encoding="utf-8").partition("## ")
    changes.write_text(f"{head}## {version} (unreleased)\n\n{heading}{rest}", encoding="utf-8")


def _numbers(version: str) -> list[int]:
    return [int(one) for one in version.split(".")]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool and return its exit status: 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tag", nargs="?", default="", help="the tag that is to be published, as v0.1.0")
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--prepare", action="store_true", help="date the newest part of the changelog today")
    change.add_argument("--next", metavar="VERSION", help="begin the next version")
    given = parser.parse_args(argv)
    if given.tag and (given.prepare or given.next):
        parser.error("a tag is checked, and nothing is changed then")
    if given.prepare:
        prepare(datetime.datetime.now(datetime.UTC).date().isoformat())
    if given.next:
        begin(given.next)
    found = list(faults(given.tag))
    print("\n".join(found) or f"minuend {version_of()}: no fault", file=sys.stderr if found else sys.stdout)
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
