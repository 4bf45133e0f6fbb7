"""Check that a tag may be published: ``python tools/release.py v0.1.0``; docs/releasing.md tells the rest."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
PARTS = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)


def faults(tag: str, root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """What keeps a tag from being published, a sentence each."""
    version = VERSION.findall((root / "src/minuend/__init__.py").read_text(encoding="utf-8"))[0]
    parts = [(name, text.strip()) for name, text in PARTS.findall((root / "CHANGELOG.md").read_text(encoding="utf-8"))]
    if tag != f"v{version}":
        yield f"the tag is {tag}, and src/minuend/__init__.py says {version}; expected the tag v{version}"
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"{version} is no version of a release; expected three numbers, as 0.1.0"
    if parts[:1] != [("Unreleased", "")]:
        yield "CHANGELOG.md does not begin with an empty part 'Unreleased'; move what is released to a part of its own"
    if (
        len(parts) < 2
        or not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", parts[1][0])
        or not parts[1][1]
    ):
        yield f"CHANGELOG.md has no part '{version} (YEAR-MONTH-DAY)' below 'Unreleased' that says what is new"
    urls = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    if "GITHUB_REPOSITORY" in environment:
        here = f"{environment['GITHUB_SERVER_URL']}/{environment['GITHUB_REPOSITORY']}"
        elsewhere = [url for url in urls.values() if url != here and not url.startswith(f"{here}/")]
        yield from (f"project.urls names {url}, and this is {here}" for url in elsewhere)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("expected a tag, as v0.1.0")
    raise SystemExit("\n".join(faults(sys.argv[1])) or None)
