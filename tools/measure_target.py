"""Measure what one release of a runtime does, and write it beside the others of this checkout.

    python tools/measure_target.py openvino-cpu [--python OTHER_PYTHON] [--graphs all] [--isa avx2] [-o FOLDER]
    python tools/measure_target.py openvino-cpu --python OTHER_PYTHON --graphs looked-up [--minutes 9] [--models FOLDER]
    python tools/measure_target.py openvino-cpu --isa avx2 --graphs none     # then with --graphs looked-up, too

``minuend measure`` does the same for anybody; here the list of graph cases is kept, too. ``--python`` names the Python
of an environment that holds the release; NumPy and the runtime are all that it needs. ``--graphs looked-up`` measures
what models look up, most often first, until the time is over: what is then not measured stays unknown, and so the file
says. ``--graphs doubtful`` queries again, with more numbers, what is fine as measured and deviates on another release:
few numbers show some deviations. With ``--types`` it queries what is fine of these types, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from looked_up import MODELS, counted, ranked

from minuend.files.transaction.writing import atomic
from minuend.runtimes import case_list, pattern_answers, pattern_cases, targets
from minuend.runtimes.answers import DIFFERENT, Answer
from minuend.runtimes.measuring import ALL, MISSING, NOT_SHOWN, with_graphs
from minuend.runtimes.measuring import measure as measure_all
from minuend.runtimes.pattern_witnesses import WITNESSES, PatternWitnesses, with_witnesses, without_witnesses
from minuend.runtimes.quirks import quirks
from minuend.runtimes.registry import adapters
from minuend.runtimes.running import Runtime
from minuend.runtimes.table import Answers, Key, Table
from minuend.runtimes.target import Target

NONE, LOOKED_UP, DOUBTFUL = "none", "looked-up", "doubtful"
"""Nodes alone are measured; what models look up, most often first; and what deviates on another release alone."""

_DRAWS = 24
"""Sets of values with which what is doubtful is queried."""

_BETWEEN_WRITES = 180
"""Seconds after which what was measured is written."""

TARGETS = Path(__file__).resolve().parent.parent / "src" / "minuend" / "runtimes" / "measured"


def measure(
    runtime: str,
    python: str | None,
    folder: Path,
    graphs_of: str = "",
    types: Collection[str] = (),
    isa: str = "",
    patterns: Collection[tuple[str, str]] = (),
) -> Path:
    """Measure a runtime and return the file written.

    ``graphs_of`` says which graph cases are queried: ``"all"``, ``"missing"``, or ``"not-shown"``, those too that
    differ and have no severity. Where ``types`` are named: all of those and of the others what is missing, or what is
    missing of those alone. The rows of nodes are then left as the file has them. With ``"none"`` nodes alone are
    measured: what the runtime makes of patterns stays unknown. ``patterns`` are queried alone, where there are any.
    """
    start = time.perf_counter()
    progress = _progress if sys.stderr.isatty() else None
    with Runtime(runtime, python, isa) as queried:
        path = folder / f"{queried.name}@{queried.release}.json"
        again = graphs_of not in ("", NONE)
        target = _load(path) if again else measure_all(queried, alone=True, progress=progress)
        if quirks(queried.name).joins and graphs_of != NONE:
            _write_cases()
            target = with_graphs(queried, target, graphs_of or ALL, types, patterns, progress)
    _write(target, path)
    seconds = time.perf_counter() - start
    print(f"{target.name}: {len(target.table.cells):,} cases in {seconds:.0f} s → {path.name}", flush=True)
    return path


@dataclass(frozen=True)
class Chosen:
    """What is measured of patterns where time is short.

    Attributes:
        models: the folders of models that look it up. minutes: after which no more is begun.
        isa: the newest instruction set that the runtime may use; ``""``: all.
    """

    models: Sequence[Path]
    minutes: float
    isa: str = ""


def measure_chosen(runtime: str, python: str | None, folder: Path, chosen: Chosen) -> Path:
    """Measure what models look up and a release's file lacks, or has no severity of; return the file written.

    It is written every few minutes, too: what is there when the tool is ended is good.
    """
    start = written = time.monotonic()
    _write_cases()
    with Runtime(runtime, python, chosen.isa) as queried:
        path = folder / f"{queried.name}@{queried.release}.json"
        target = _load(path)
        newest = targets.find(queried.name).table
        groups = list(ranked(pattern_cases.rows_for(queried), counted(queried.name, chosen.models), newest))
        done = queries = 0
        for group in groups:
            if done and time.monotonic() - start > 60 * chosen.minutes:
                break
            lacking = [row for row in group if _is_lacking(target.table.cells.get(row[0]))]
            target = _with_cells(target, queried, pattern_answers.query(queried, lacking))
            done, queries = done + 1, queries + len(lacking)
            if time.monotonic() - written > _BETWEEN_WRITES:
                _write(target, path)
                written = time.monotonic()
    _write(target, path)
    seconds = time.monotonic() - start
    groups_done = f"{done} of {len(groups)} groups"
    print(f"{target.name}: {groups_done}, {queries:,} cases in {seconds:.0f} s → {path.name}", flush=True)
    return path


def measure_doubtful(runtime: str, python: str | None, folder: Path, types: Collection[str] = ()) -> Path:
    """Query a release again with what is fine as measured and deviates on another release, or has one of some types.

    Returns:
        The file written.
    """
    start = time.monotonic()
    with Runtime(runtime, python) as queried:
        path = folder / f"{queried.name}@{queried.release}.json"
        target = _load(path)
        others = [one for one in sorted(folder.glob(f"{runtime}@*.json")) if one != path]
        deviating = {key for one in others for key, answers in _load(one).table.cells.items() if _deviates(answers)}
        rows = [
            (key, case)
            for key, case in pattern_cases.rows_for(queried)
            if key in target.table.cells
            and not _deviates(target.table.cells[key])
            and (key in deviating or key.dtype in types)
        ]
        found = pattern_answers.query(queried, rows, draws=_DRAWS)
    _write(_with_cells(target, queried, found), path)
    changed = sum(map(_deviates, found.values()))
    seconds = time.monotonic() - start
    print(f"{target.name}: {changed:,} of {len(rows):,} cases deviate, in {seconds:.0f} s → {path.name}", flush=True)
    return path


def _deviates(answers: Answers) -> bool:
    return any(one.verdict == DIFFERENT for one in answers.values())


def _is_lacking(answers: Answers | None) -> bool:
    """Whether a case is not known, or differs and nothing says how badly."""
    return answers is None or any(map(_has_no_severity, answers.values()))


def _has_no_severity(answer: Answer) -> bool:
    shown = answer.witness is not None or answer.severities or answer.message
    return answer.verdict == DIFFERENT and not shown


def _with_cells(target: Target, queried: Runtime, found: Mapping[Key, Answers]) -> Target:
    """Return a target with more cells of patterns; what another processor alone showed stays."""
    if not found:
        return target
    cells = dict(target.table.cells)
    cells |= {key: {**cells.get(key, {}), **one} for key, one in found.items()}
    return replace(target, table=Table(cells, tuple(dict.fromkeys((*target.table.cpus, queried.cpu)))))


def _write_cases() -> None:
    """Write the list of graph cases where the grammar has changed, and the files that are not valid with it.

    What is new is unknown of every release until that is queried with it.
    """
    if case_list.measured() == frozenset(key for key, _ in pattern_cases.queried("f32")):
        return
    paths = [path for path in TARGETS.glob("*@*.json") if _has_graphs(path.read_text("utf-8"))]
    known = {path: _load(path) for path in paths}
    write_list(TARGETS)
    for path, target in known.items():
        if not targets.load(path.read_text("utf-8")).table.has_patterns:
            _write(target, path)


def write_list(folder: Path) -> None:
    """Write the list of graph cases that the grammar gives."""
    with atomic(str(folder / case_list.CASES)) as stream:
        stream.write(case_list.dump([key for key, _ in pattern_cases.queried("f32")]).encode())
    case_list.forget()


def _write(target: Target, path: Path) -> None:
    """Write a measured file, and the witnesses of its patterns into one beside it."""
    table, witnesses = without_witnesses(target.table)
    beside = path.parent / WITNESSES / path.name
    beside.parent.mkdir(exist_ok=True)
    for file, text in ((path, targets.dump(replace(target, table=table))), (beside, witnesses)):
        with atomic(str(file)) as stream:
            stream.write(text.encode())


def _has_graphs(text: str) -> bool:
    return '"cases": "' in text


def _load(path: Path) -> Target:
    """Read a file that is written again: nothing that it holds may be lost."""
    text = path.read_text("utf-8")
    found = targets.load(text, path.name)
    if not found.table.has_patterns and _has_graphs(text):
        raise SystemExit(f"{path.name} was written against another list of graph cases: see tools/merge_measured.py")
    beside = path.parent / WITNESSES / path.name
    if not beside.exists():
        return found
    shown = PatternWitnesses(lambda: beside.read_text("utf-8"))
    return replace(found, table=with_witnesses(replace(found.table, shown=shown)))


def _progress(done: int, total: int) -> None:
    print(f"\r{done}/{total}", end="" if done < total else "\n", file=sys.stderr, flush=True)


# ---- the command line -----------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", choices=sorted(adapters()))
    parser.add_argument("--python", help="the Python of the environment that holds the release")
    parser.add_argument("-o", "--output", type=Path, default=TARGETS, help="the folder to write to")
    parser.add_argument(
        "--graphs",
        choices=(ALL, MISSING, NOT_SHOWN, LOOKED_UP, DOUBTFUL, NONE),
        default="",
        help="leave nodes as the file has them, or leave graphs out",
    )
    parser.add_argument("--types", nargs="+", default=(), metavar="TYPE", help="with --graphs: of these types alone")
    parser.add_argument("--models", type=Path, nargs="+", default=[MODELS], help="with --graphs looked-up: folders")
    parser.add_argument("--minutes", type=float, default=20, help="with --graphs looked-up: how long")
    parser.add_argument(
        "--patterns", type=Path, help="these alone: lines of a type, a tab and a pattern as it is printed"
    )
    parser.add_argument("--isa", default="", help="let it use no newer ones than this; written beside the others")
    given = parser.parse_args()
    if given.isa and given.output == TARGETS:
        given.output = TARGETS / given.isa
        given.output.mkdir(exist_ok=True)
    if given.graphs == LOOKED_UP:
        measure_chosen(given.runtime, given.python, given.output, Chosen(given.models, given.minutes, given.isa))
        return
    if given.graphs == DOUBTFUL:
        measure_doubtful(given.runtime, given.python, given.output, given.types)
        return
    lines = given.patterns.read_text("utf-8").splitlines() if given.patterns else ()
    patterns = {(dtype, pattern) for dtype, pattern, *_ in (line.split("\t") for line in lines)}
    measure(given.runtime, given.python, given.output, given.graphs, given.types, given.isa, patterns)


if __name__ == "__main__":
    main()
