"""Measure the releases of runtimes that are newer than the newest measured one, and write all that names them.

    python tools/new_releases.py [--runtime onnxruntime-cpu …] [--dry-run] [--python PYTHON] [--summary FILE]

The package index is queried by pip, npm's by npm: whatever they are configured to use. Each new release is installed in
a virtual environment that is deleted afterwards and measured. Then these are written:

1. its file in ``src/minuend/runtimes/measured/``;
2. its row in ``LOADED`` of the runtime's adapter, where it has one;
3. its number in ``SERIES`` of ``tools/measure_releases.py``;
4. the release that the extra ``test`` of ``pyproject.toml`` pins, where it pins one;
5. a line at the head of the unreleased part of ``CHANGELOG.md``.

What changed from the release before is printed, and written to ``--summary`` as Markdown. Runtimes are those of
``SERIES``. A release that cannot be installed or measured is reported, and the exit status is 1; the others are
written. ``--dry-run`` lists the new releases. Where README.md and docs/tutorial.md show other output than before, their
tests then fail, and a person changes them.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from measure_limits import limits
from measure_releases import SERIES, Series, install
from measure_target import measure

from minuend.cli.pages.layout import text
from minuend.cli.pages.targets import targets_diff_page
from minuend.errors import MinuendError
from minuend.runtimes import targets
from minuend.runtimes.registry import adapter
from minuend.runtimes.releases import parts

ROOT = Path(__file__).resolve().parent.parent
MEASURED, ADAPTERS = Path("src/minuend/runtimes/measured"), Path("src/minuend/runtimes/adapters")
LISTED, CHANGES, PROJECT = Path("tools/measure_releases.py"), Path("CHANGELOG.md"), Path("pyproject.toml")

_FINAL = re.compile(r"\d+(\.\d+)*(\.post\d+)?")
"""A release that is no preview."""


# ---- what there is ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class New:
    """A release that is not measured: of which runtime, what it is, and the newest measured one before it."""

    runtime: str
    release: str
    before: str


def published(runtime: str, python: str) -> list[str]:
    """Return the releases of a runtime's package, as pip or npm lists them for this Python.

    Raises:
        CalledProcessError: it did not answer.
    """
    package = adapter(runtime).PACKAGE
    if _from_npm(runtime):
        found = json.loads(_output(["npm", "view", package, "versions", "--json"]))
        names = [found] if isinstance(found, str) else found
    else:
        told = _output([python, "-m", "pip", "--disable-pip-version-check", "index", "versions", package])
        line = re.search(r"^Available versions: (.*)$", told, re.MULTILINE)
        names = line[1].split(", ") if line else []
    return [name for name in names if _FINAL.fullmatch(name)]


def _from_npm(runtime: str) -> bool:
    return getattr(adapter(runtime), "INSTALL", "").startswith("npm ")


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measured(runtime: str, root: Path) -> list[str]:
    """Return the measured releases of a runtime, from old to new."""
    names = [path.stem.partition("@")[2] for path in (root / MEASURED).glob(f"{runtime}@*.json")]
    return sorted(names, key=parts)


def new_releases(runtime: str, root: Path, python: str) -> list[New]:
    """Return the releases of a runtime that are newer than the newest measured one, from old to new."""
    *_, newest = measured(runtime, root)
    found = sorted({one for one in published(runtime, python) if parts(one) > parts(newest)}, key=parts)
    return [New(runtime, one, before) for one, before in zip(found, [newest, *found], strict=False)]


# ---- one release ------------------------------------------------------------------------------------------------


def series_of(new: New) -> Series:
    """Return how a new release installs: as the newest one that is listed, requirements of its own number included."""
    last = [series for series in SERIES if series.runtime == new.runtime][-1]
    *_, listed = last.releases
    needs = tuple(need.replace(f"=={listed}", f"=={new.release}") for need in last.needs)
    return replace(last, releases=(new.release,), needs=needs)


def take(new: New, root: Path, python: str) -> str:
    """Install and measure a release, write all that names it, and return what changed, as Markdown.

    Raises:
        CalledProcessError: it does not install. MinuendError: it does not start.
    """
    series = series_of(new)
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        inside = install(python, Path(folder), series, new.release)
        loads = limits(new.runtime, inside) if hasattr(adapter(new.runtime), "LOADED") else None
        measure(new.runtime, inside, root / MEASURED, "none" if series.alone else "")
    page, changed = difference(new, root)
    if loads is not None:
        edit(root / ADAPTERS / Path(adapter(new.runtime).__file__).name, lambda old: with_row(old, new.release, loads))
    edit(root / LISTED, lambda old: with_release(old, new))
    edit(root / PROJECT, lambda old: with_pin(old, new))
    line = sentence(new, changed, loads)
    edit(root / CHANGES, lambda old: with_line(old, line))
    return f"## {new.runtime} {new.release}\n\n{line}\n\n```text\n{page}```\n"


def difference(new: New, root: Path) -> tuple[str, int]:
    """Return what ``minuend targets --diff`` shows between a release and the one before, and how many lines it has.

    A release before that could not be measured is passed over.
    """
    before = [one for one in measured(new.runtime, root) if parts(one) < parts(new.release)][-1]
    old, now = (_load(new.runtime, one, root) for one in (before, new.release))
    changes = targets.diff(old, now)
    return text(targets_diff_page(old, now, changes)), len(changes)


def _load(runtime: str, release: str, root: Path) -> targets.Target:
    path = root / MEASURED / f"{runtime}@{release}.json"
    return targets.load(path.read_text("utf-8"), path.name)


def sentence(new: New, changed: int, loads: tuple[int | None, int | None] | None) -> str:
    """Return the changelog's line."""
    what = f"{changed} answers differ from {new.before}" if changed else f"nothing changed since {new.before}"
    opset, ir_version = loads or (None, None)
    reads = f" It loads opsets up to {opset} and IR versions up to {ir_version}." if opset and ir_version else ""
    return f"- {new.runtime} {new.release} is measured: {what}.{reads}"


# ---- files that name releases -----------------------------------------------------------------------------------


def edit(path: Path, change: Callable[[str], str]) -> None:
    """Rewrite a file of the checkout."""
    path.write_text(change(path.read_text("utf-8")), "utf-8")


def with_row(source: str, release: str, loads: tuple[int | None, int | None]) -> str:
    """Return an adapter with one more row at the end of ``LOADED``."""
    return _replaced(r"(^LOADED\b.*= \{[^}]*?),?\s*\}", rf'\1,\n    "{release}": {loads},\n}}', source)


def with_release(source: str, new: New) -> str:
    """Return the list of series with a release behind the others of its runtime.

    Where what it needs names its number, it is a series of its own.
    """
    series, listed = series_of(new), [one for one in SERIES if one.runtime == new.runtime][-1]
    *_, last = re.finditer(rf'^    Series\(\s*"{re.escape(new.runtime)}",\s*\(([^()]*)\)', source, re.MULTILINE)
    if series.needs == listed.needs:
        return f'{source[: last.start(1)]}{last[1].rstrip(", ")}, "{new.release}"{source[last.end(1) :]}'
    end = source.index("\n", last.end()) + 1
    alone = ", alone=True" if series.alone else ""
    needs = ", ".join(json.dumps(need) for need in series.needs)
    return f'{source[:end]}    Series("{new.runtime}", ("{new.release}",), ({needs},){alone}),\n{source[end:]}'


def with_pin(source: str, new: New) -> str:
    """Return the project's table with a package's newest release in place of the one that is pinned, if any."""
    return re.sub(
        rf'"{re.escape(adapter(new.runtime).PACKAGE)}==[^"]*"',
        f'"{adapter(new.runtime).PACKAGE}=={new.release}"',
        source,
    )


def with_line(source: str, line: str) -> str:
    """Return a changelog with one more line at the head of its unreleased part."""
    return _replaced(r"(^## .+ \(unreleased\)\n\n(?:(?:- |  ).*\n)*)\n?", rf"\1{line}" + "\n\n", source)


def _replaced(pattern: str, new: str, source: str) -> str:
    found, count = re.subn(pattern, new, source, count=1, flags=re.MULTILINE)
    if not count:
        raise ValueError(f"{pattern} does not match; expected it once")
    return found


# ---- the command line -------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the tool and return its exit status: 1 where an index or a release failed."""
    known = list(dict.fromkeys(series.runtime for series in SERIES))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", action="append", choices=known, help="only this one; can be repeated")
    parser.add_argument("--dry-run", action="store_true", help="list new releases and measure none")
    parser.add_argument("--python", default=sys.executable, help="the Python of the environments")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write what changed as Markdown")
    given = parser.parse_args(argv)
    status, pages = 0, []
    for runtime in given.runtime or known:
        try:
            found = new_releases(runtime, root, given.python)
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print(f"{runtime}: its releases are not known: {_why(error)}", flush=True)
            status = 1
            continue
        for new in found:
            print(f"{new.runtime} {new.release} is new; the newest release before it is {new.before}", flush=True)
            if given.dry_run:
                continue
            try:
                pages.append(take(new, root, given.python))
            except (subprocess.CalledProcessError, FileNotFoundError, MinuendError) as error:
                print(f"{new.runtime} {new.release} is not measured: {_why(error)}", flush=True)
                status = 1
            else:
                print(pages[-1], flush=True)
    if given.summary is not None and pages:
        given.summary.write_text("\n".join(pages), "utf-8")
    return status


def _why(error: Exception) -> str:
    lines = [line for line in (getattr(error, "stderr", "") or "").splitlines() if line.strip()]
    return lines[-1] if lines else str(error)


if __name__ == "__main__":
    raise SystemExit(main())
