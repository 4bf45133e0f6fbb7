"""Measure what one release of a runtime does, and write it as a target's file.

    python tools/measure_target.py openvino-cpu [--python OTHER_PYTHON] [--graphs all] [-o FOLDER]

The cases are made and judged here. ``--python`` names the Python of an environment that holds the release; NumPy and
the runtime are all that it needs. Without it the release of this environment is measured.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from minuend.runtimes import graph_answers, graphs, targets
from minuend.runtimes.adapting import adapters
from minuend.runtimes.answers import Answer, joined_spans
from minuend.runtimes.machine import processor
from minuend.runtimes.merging import merge
from minuend.runtimes.proving import Judged, judge_all
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Runtime
from minuend.runtimes.targets import Row, Target
from minuend.storage.writing import atomic

TARGETS = Path(__file__).resolve().parent.parent / "src" / "minuend" / "runtimes" / "measured"


def measure(runtime: str, python: str | None, folder: Path, graphs_of: str = "", types: Collection[str] = ()) -> Path:
    """Measure a runtime and return the file written.

    ``graphs_of``, ``"all"`` or ``"missing"``, says which graph cases are asked; where ``types`` are named, all of those
    and of the others what is missing. The rows of nodes are then left as the file has them. With ``"none"`` nodes alone
    are measured: what the runtime makes of neighbours stays unknown.
    """
    start = time.perf_counter()
    progress = _progress if sys.stderr.isatty() else None
    with Runtime(runtime, python) as asked:
        path = folder / f"{asked.name}@{asked.release}.json"
        today = date.today().isoformat()
        if graphs_of not in ("", "none"):
            target = targets.load(path.read_text("utf-8"), path.name)
        else:
            rows = rows_of(judge_all(asked, progress=progress))
            target = Target(asked.name, asked.release, rows, date=today, cpu=processor(), python=asked.python)
        if quirks(runtime).joins and graphs_of != "none":
            known = target.graphs if graphs_of == "missing" or types else None
            if known is not None and graphs_of == "all":
                known = replace(known, cells={key: one for key, one in known.cells.items() if key[1] not in types})
            _write_cases()
            target = replace(target, graphs=graphs.measure(asked, known=known, progress=progress))
    with atomic(str(path)) as stream:
        stream.write(targets.dump(target).encode())
    print(f"{target.name}: {len(target.rows)} rows in {time.perf_counter() - start:.0f} s → {path.name}", flush=True)
    return path


def _write_cases() -> None:
    """Write the list of graph cases where the grammar has changed, and the files that refer to it.

    A file says what of the list a release was not asked: so what is new is unknown of every release until it is asked.
    """
    keys = [key for key, _ in graphs.asked("f32")]
    if graph_answers.asked() == frozenset(keys):
        return
    paths = [path for path in TARGETS.glob("*@*.json") if '"graphs": [' in path.read_text("utf-8")]
    known = {path: targets.load(path.read_text("utf-8"), path.name) for path in paths}
    with atomic(str(TARGETS / graph_answers.ASKED)) as stream:
        stream.write(graph_answers.dump_asked(keys).encode())
    graph_answers.asked.cache_clear()
    for path, target in known.items():
        with atomic(str(path)) as stream:
            stream.write(targets.dump(target).encode())


def _progress(done: int, total: int) -> None:
    print(f"\r{done}/{total}", end="" if done < total else "\n", file=sys.stderr, flush=True)


# ---- rows -----------------------------------------------------------------------------------------------------


def rows_of(judged: Iterable[Judged]) -> tuple[Row, ...]:
    """Join cases that were answered alike; different numbers are alike where one witness serves both.

    Cases with other constants are joined only if all is equal: a constant deviates by itself, at sizes of its own, and
    what holds for A and for B together says little of either. The spans of joined cases are those of all of them.
    """
    cells: dict[tuple[str, str, str, str], Mapping[str, Answer]] = {}
    groups: dict[tuple[str, str, str], list[_Alike]] = {}
    members: list[tuple[Judged, _Alike]] = []
    for one in judged:
        known = groups.setdefault((one.case.opversion, one.case.element.name, one.case.constants), [])
        alike = next((other for other in known if other.join(one)), None)
        if alike is None:
            alike = _Alike(one)
            known.append(alike)
        members.append((one, alike))
    for one, alike in members:
        case = one.case
        answers = {name: alike.answer(name, answer) for name, answer in one.answers.items() if answer.verdict != "ok"}
        cells[case.opversion, case.element.name, case.relation, case.constants] = answers
    return tuple(Row(*names_of, content) for names_of, content in merge(cells))


class _Alike:
    """Cases that were answered alike: by class, the witnesses that hold for all of them, and the spans of all."""

    def __init__(self, first: Judged) -> None:
        self.verdicts = _verdicts(first)
        self.witnesses = dict(first.witnesses)
        self.spans = {name: (first.answers[name].a_spans, first.answers[name].b_spans) for name in first.witnesses}

    def join(self, other: Judged) -> bool:
        """Take a case in, if it was answered alike."""
        if self.verdicts != _verdicts(other):
            return False
        kept = {name: tuple(w for w in found if w in other.witnesses[name]) for name, found in self.witnesses.items()}
        if not all(kept.values()):
            return False
        self.witnesses = kept
        for name, (a, b) in self.spans.items():
            more = other.answers[name]
            self.spans[name] = joined_spans(a, more.a_spans), joined_spans(b, more.b_spans)
        return True

    def answer(self, name: str, own: Answer) -> Answer:
        """Return the answer of all for a class."""
        if name not in self.witnesses:
            return own
        return Answer(own.verdict, self.witnesses[name][0], own.message, *self.spans[name])


def _verdicts(judged: Judged) -> dict[str, tuple[str, str]]:
    return {name: (a.verdict, a.message) for name, a in judged.answers.items() if a.verdict != "ok"}


# ---- the command line -----------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", choices=sorted(adapters()))
    parser.add_argument("--python", help="the Python of the environment that holds the release")
    parser.add_argument("-o", "--output", type=Path, default=TARGETS, help="the folder to write to")
    parser.add_argument(
        "--graphs", choices=("all", "missing", "none"), default="", help="leave nodes as the file has them"
    )
    parser.add_argument("--types", nargs="+", default=(), metavar="TYPE", help="with --graphs all: all of these alone")
    given = parser.parse_args()
    measure(given.runtime, given.python, given.output, given.graphs, given.types)


if __name__ == "__main__":
    main()
