"""Fuzz what reads files, models and arguments.

    python tools/fuzz.py --minutes 5                      all targets, each its share of the time
    python tools/fuzz.py --target npz --runs 100000       one of them, so many executions
    python tools/fuzz.py --target npz FILE…               run inputs again, with their tracebacks
    python tools/fuzz.py --minimise                       write the committed corpus of what was found
    python tools/fuzz.py --figures FILE --table           show a file of figures as docs/security.md does

``--figures FILE`` adds what was done to a file of figures. Where ``atheris`` is installed it guides those targets that
Python code reads, with ``--engine atheris``. What failed lies in ``build/fuzz/failures``, the shortest input of each
cause; the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing.running import FOUND, Done, explorer, minimise, run_apart
from fuzzing.targets import TARGETS, Target
from fuzzing.watch import Failure, Folder, execute, watching

_SLICE = 60
"""Seconds that a target has at a time where a run goes over several."""
_CORPUS_BYTES = 12_000


def main() -> int:
    """Do what the arguments say."""
    names = {target.name: target for target in TARGETS}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", choices=names, help="by default all")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--runs", type=int, help="executions of each target")
    parser.add_argument("--engine", choices=("plain", "atheris"), default="plain")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--minimise", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("file", nargs="*", type=Path)
    given = parser.parse_args()
    chosen = [names[name] for name in given.target or names]
    if given.file:
        return _again(chosen[0], given.file)
    if given.table:
        print(table(json.loads(given.figures.read_text("utf-8"))), end="")
        return 0
    if given.minimise:
        for target in chosen:
            print(f"{target.name}: {minimise(target, _CORPUS_BYTES)} inputs")
        return 0
    return _fuzz(chosen, given)


def _fuzz(chosen: list[Target], given: argparse.Namespace) -> int:
    """Go over the targets, a slice of time each, until the time is over; or once with so many executions."""
    shares = sum(target.share for target in chosen)
    minutes = None if given.runs else given.minutes or 1.0
    rounds = 1 if minutes is None else max(1, round(minutes * 60 / _SLICE / shares))
    failed = 0
    for turn in range(rounds):
        for target in chosen:
            seconds = None if minutes is None else minutes * 60 / rounds * target.share / shares
            done = _slice(target, given, given.seed + turn, seconds)
            failed += done.failures
            print(f"{target.name}: {done.executions} in {done.seconds:.0f} s, {done.failures} failures", flush=True)
            if given.figures:
                _count(given.figures, target, done.executions, done.seconds)
    return min(failed, 1)


def _slice(target: Target, given: argparse.Namespace, seed: int, seconds: float | None) -> Done:
    if given.engine == "atheris" and target.guided:
        from fuzzing.guided import run_guided

        return run_guided(target, seed, given.runs, seconds, FOUND / "failures")
    return run_apart(explorer(target, seed, given.runs, seconds, FOUND / "failures"), target, FOUND / "failures")


def _again(target: Target, files: list[Path]) -> int:
    folder = Folder(dict(target.beside))
    with watching(folder):
        for path in files:
            try:
                print(f"{path}: {execute(target.run, path.read_bytes(), folder)}")
            except Failure as failure:
                import traceback

                traceback.print_exception(failure)
    folder.remove()
    return 0


def _count(path: Path, target: Target, executions: int, seconds: float) -> None:
    """Add executions to a file of figures."""
    figures = json.loads(path.read_text("utf-8")) if path.exists() else {"targets": {}}
    row = figures["targets"].setdefault(target.name, {"reads": target.reads, "executions": 0, "seconds": 0})
    row["executions"] += executions
    row["seconds"] = round(row["seconds"] + seconds, 1)
    figures["date"] = datetime.date.today().isoformat()
    figures["executions"] = sum(one["executions"] for one in figures["targets"].values())
    figures["seconds"] = round(sum(one["seconds"] for one in figures["targets"].values()), 1)
    path.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def table(figures: dict[str, Any]) -> str:
    """Figures as a page shows them."""
    guided = {target.name: "atheris and plain" if target.guided else "plain" for target in TARGETS}
    rows = ["| target | reads | engine | executions | a second |", "|---|---|---|---:|---:|"]
    for name, row in figures["targets"].items():
        rate = round(row["executions"] / row["seconds"])
        rows.append(f"| `{name}` | {row['reads']} | {guided[name]} | {row['executions']:,} | {rate:,} |")
    rate = round(figures["executions"] / figures["seconds"])
    rows.append(f"| all | | | {figures['executions']:,} | {rate:,} |")
    return "".join(f"{row}\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
