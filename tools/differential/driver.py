"""Runs surfaces, makes what fails smaller, and writes the figures that ``docs/verification.md`` is made of."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import json
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from differential.surface import Difference, Surface, from_json, release, smaller, to_json

HOME = Path(__file__).parent
FOUND = HOME / "found"
"""One JSON file a surface: the defects that it found, each with its smallest case; tests run them again."""

SHRINK_SECONDS = 20.0
_NAMES = re.compile(r"[\"'`(\[{].*?[\"'`)\]}]|\S*\d\S*")


def surfaces() -> dict[str, Surface[Any]]:
    """Return all surfaces by their names: the ``SURFACES`` of the modules beside this one."""
    modules = (importlib.import_module(f"differential.{path.stem}") for path in sorted(HOME.glob("[a-z]*.py")))
    return {surface.name: surface for module in modules for surface in getattr(module, "SURFACES", ())}


def trial(surface: Surface[Any], case: Any) -> tuple[str, str]:
    """Return what came of a case, and the difference where there is one; any other error is one too."""
    with tempfile.TemporaryDirectory(prefix="differential-") as folder:
        try:
            return surface.compare(case, Path(folder)), ""
        except Difference as error:
            return "different", str(error)
        except Exception as error:  # whatever else is raised, by us or by the comparison, is to be looked at
            return "raised", f"{type(error).__name__}: {error}"


@dataclass
class Run:
    """What a run has found: counts of what came of the cases, and the smallest case of each difference."""

    surface: Surface[Any]
    counts: Counter[str] = field(default_factory=Counter)
    differences: dict[str, Any] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def one(self, case: Any) -> None:
        """Compare a case; make it smaller where it fails."""
        what, why = trial(self.surface, case)
        self.counts[what.partition(":")[0]] += 1
        # What differs in the same words but for names and numbers is one difference, and shrunk once.
        if not why or (kind := _NAMES.sub("", why)[:200]) in self.seen:
            return
        self.seen.add(kind)
        until = time.monotonic() + SHRINK_SECONDS

        def fails(each: Any) -> bool:
            """Whether a smaller case fails alike: with a difference, or with an error of the same class."""
            if time.monotonic() > until:
                return False
            outcome, text = trial(self.surface, each)
            return outcome == what and (what == "different" or text.partition(":")[0] == why.partition(":")[0])

        small = smaller(case, fails)
        text = trial(self.surface, small)[1] or why
        self.differences.setdefault(json.dumps(to_json(small), sort_keys=True), text)

    @property
    def cases(self) -> int:
        """How many cases were tried."""
        return self.counts.total()


def explore(surface: Surface[Any], seed: int, seconds: float, most: int | None = None) -> Run:
    """Compare random cases for so long; at most so many."""
    run, end = Run(surface), time.monotonic() + seconds
    while time.monotonic() < end and (most is None or run.cases < most):
        # Each case has a seed of its own: it is found again without those before it.
        run.one(surface.draw(random.Random(f"{seed} {run.cases}")))
    return run


def known(name: str) -> list[dict[str, Any]]:
    """Return the defects that a surface has found: ``case``, ``was``, ``test`` or ``reason``, ``date``."""
    path = FOUND / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def record(path: Path, run: Run, seed: int, minutes: float, processor: float) -> None:
    """Add a run to a file of figures: cases, minutes and outcomes since the file began, the releases of now.

    Args:
        minutes: how long it took. processor: minutes of processor time in it (:func:`processor_seconds`), which are few
            beside other work.
    """
    figures = json.loads(path.read_text("utf-8")) if path.exists() else {}
    row = figures.setdefault(run.surface.name, {"cases": 0, "minutes": 0.0, "outcomes": {}, "runs": []})
    row["title"] = run.surface.title
    row["counterparts"] = {name: release(name) for name in run.surface.counterparts}
    row["cases"] += run.cases
    row["minutes"] = round(row["minutes"] + minutes, 1)
    row["outcomes"] = dict(sorted((Counter(row["outcomes"]) + run.counts).items()))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    last = {
        "seed": seed,
        "minutes": round(minutes, 1),
        "processor": round(processor, 1),
        "cases": run.cases,
        "differences": len(run.differences),
        "date": today,
    }
    row["runs"] = [*row["runs"], last]
    path.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")


SHOWN = 4
"""Runs of each surface, the last ones."""
_HEAD = ("surface", "counterpart", "cases", "minutes", "of the processor", "defects found", "left",
         "last runs: seed, differences")  # fmt: skip


def page(figures: dict[str, Any]) -> str:
    """Return the tables of ``docs/verification.md``."""
    rows, defects = [], []
    for name, row in sorted(figures.items()):
        found = known(name)
        others = ", ".join(f"{other} {version}" for other, version in row["counterparts"].items())
        left = sum("test" not in one for one in found)
        counts = [f"{row['cases']:,}", f"{row['minutes']:g}", _processor(row["runs"]), str(len(found)), str(left)]
        rows.append([f"`{name}`: {row['title']}", others, *counts, "; ".join(map(_last, row["runs"][-SHOWN:]))])
        defects += [[f"`{name}`", one["was"], _shown(one)] for one in found]
    return _table(_HEAD, rows) + "\n" + _table(("surface", "what was wrong", "test, or why it stands"), defects)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _processor(runs: Sequence[dict[str, Any]]) -> str:
    """The processor's minutes of all runs that say them, and the minutes of these."""
    known = [run for run in runs if "processor" in run]
    sums = (sum(run[name] for run in known) for name in ("processor", "minutes"))
    return "{:.1f} in {:.1f}".format(*sums) if known else "not known"


def _last(run: dict[str, Any]) -> str:
    processor = f", {run['processor']} of the processor" if "processor" in run else ""
    return f"{run['seed']}: {run['differences']} in {run['cases']:,} ({run['minutes']} min{processor}, {run['date']})"


def _shown(defect: dict[str, Any]) -> str:
    return f"`{defect['test']}`" if "test" in defect else str(defect["reason"])


def processor_seconds() -> float:
    """Return the processor time of this process and of all that it started: runtimes live in children until the end."""
    ended, waiting, living = sum(os.times()[:4]), [os.getpid()], 0.0
    children: dict[int, list[tuple[int, float]]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):  # none but on Linux
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = path.read_text("utf-8", "replace").rpartition(")")[2].split()
            spent = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            children.setdefault(int(fields[1]), []).append((int(path.parent.name), spent))
    while waiting:
        for number, spent in children.get(waiting.pop(), ()):
            living += spent
            waiting.append(number)
    return round(ended + living, 6)  # sums of the same ticks in another order are the same number


def main() -> int:
    """Do what the arguments say."""
    chosen = surfaces()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surface", action="append", choices=chosen, help="by default all, a share of the time each")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--cases", type=int, help="of each surface, at most")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--case", help="the fields of one case as JSON, to run it again")
    parser.add_argument("--figures", type=Path, help="a JSON file that the run is added to (docs/verification.json)")
    parser.add_argument("--table", action="store_true", help="show the figures as docs/verification.md does")
    given = parser.parse_args()
    if given.table:
        print(page(json.loads(given.figures.read_text("utf-8"))), end="")
        return 0
    names = given.surface or list(chosen)
    if given.case:
        what, why = trial(chosen[names[0]], from_json(chosen[names[0]].kind, json.loads(given.case)))
        print(f"{what}: {why}" if why else what)
        return int(bool(why))
    return max(_explored(chosen[name], given, len(names)) for name in names)


def _explored(surface: Surface[Any], given: argparse.Namespace, shares: int) -> int:
    if missing := surface.missing():
        print(f"{surface.name}: skipped, {', '.join(missing)} is not installed")
        return 0
    start, before = time.monotonic(), processor_seconds()
    run = explore(surface, given.seed, given.minutes * 60 / shares, given.cases)
    minutes, processor = (time.monotonic() - start) / 60, (processor_seconds() - before) / 60
    for case, text in run.differences.items():
        print(f"{surface.name}: {text}\n    python tools/differential.py --surface {surface.name} --case '{case}'")
    print(f"{surface.name}: {run.cases} cases in {minutes:.1f} min, seed {given.seed}: {dict(run.counts)}", flush=True)
    if given.figures:
        record(given.figures, run, given.seed, minutes, processor)
    return int(bool(run.differences))


if __name__ == "__main__":
    sys.exit(main())
