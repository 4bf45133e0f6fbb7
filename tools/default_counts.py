"""Count how many of the models of ``tests/data/models`` are red by default on each runtime, and how bad it is.

    python tools/default_counts.py            # print the table
    python tools/default_counts.py --write    # put it into docs/gate.md

A model is red on a target where something of it counts: a deviation that is not tolerated, a refusal, or what was not
measured. The first count is that without ``tolerate``, as if every deviation counted.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import minuend as mn
from minuend.judging.checking import tolerating
from minuend.runtimes import targets
from minuend.runtimes.finding import Finding
from minuend.runtimes.severity import SEVERITIES, rank
from minuend.runtimes.tolerance import Tolerances

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "tests" / "data" / "models"
PAGE = ROOT / "docs" / "gate.md"
BEGIN, END = "<!-- default counts, by tools/default_counts.py -->", "<!-- end -->"

HINTS = ("", "f32")
NO_DEVIATION = ("not-implemented", "invalid", "unknown")
"""Verdicts without numbers, the one that counts first."""


def runtimes() -> list[tuple[str, str]]:
    """Return the newest measured release of each runtime that reads ONNX, with each hint that it has."""
    newest = {name.partition("@")[0]: name for name in targets.names()}
    found = []
    for name in newest.values():
        target = targets.find(name)
        if "onnx" in target.dialects and target.translate is None and not target.declared:
            found += [(name, hint) for hint in HINTS if not hint or target.table.has_default]
    return found


def kind(findings: Iterable[Finding]) -> str:
    """Return what counts first of a model's findings: the worst severity, else a verdict without numbers."""
    counting = [one for one in findings if one.verdict != "ok" and not one.accepted and one.tolerated is None]
    different = [one for one in counting if one.verdict == "different-numbers"]
    if different:
        return max((one.severity for one in different), key=rank) or "not known"
    return next((verdict for verdict in NO_DEVIATION if any(one.verdict == verdict for one in counting)), "")


def judged(path: Path) -> list[tuple[str, str, str]]:
    """Return for each target what counts first of a model, before and after what is tolerated by default."""
    found = []
    for hint in HINTS:
        names = [name for name, own in runtimes() if own == hint]
        report = mn.check(str(path), names, hint=hint, tolerate=())
        usual = tolerating(report, Tolerances())
        for name in names:
            before, now = ([one for one in each.findings if one.target == name] for each in (report, usual))
            found.append((f"{name}{f', {hint}' if hint else ''}", kind(before), kind(now)))
    return found


def table(models: list[Path]) -> Iterator[str]:
    """Yield the lines of the table."""
    before: dict[str, int] = defaultdict(int)
    now: dict[str, Counter[str]] = defaultdict(Counter)
    with multiprocessing.Pool() as pool:
        for rows in pool.imap_unordered(judged, models, chunksize=4):
            for name, first, usual in rows:
                before[name] += first != ""
                now[name][usual] += 1
    severities = [*reversed(SEVERITIES), "not known"]
    columns = ["target", "red before", "red now", *severities, "not run", "unknown"]
    yield f"Of {len(models)} models, by the worst that counts:"
    yield ""
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for name, counts in now.items():
        shown = [counts[one] for one in severities]
        refused = counts["not-implemented"] + counts["invalid"]
        numbers = [before[name], len(models) - counts[""], *shown, refused, counts["unknown"]]
        yield f"| `{name}` | {' | '.join(map(str, numbers))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=MODELS, help="the models")
    parser.add_argument("--write", action="store_true", help="put the table into docs/gate.md")
    given = parser.parse_args()
    text = "\n".join(table(sorted(given.folder.rglob("*.onnx"))))
    print(text)
    if given.write:
        head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
