"""Judge random graphs around subtractions: what `check` says, beside what the installed runtimes do.

    python tools/judge_graphs.py --minutes 10 [--seed 0] [--runtime openvino-cpu] [--save FOLDER] > table.md
    python tools/judge_graphs.py --runtime tract --python ENVIRONMENT/bin/python

Graph N of a seed is always the same (:mod:`random_graphs`). What `check` calls ``ok`` and is not, or
``different-numbers`` and nothing of it is seen, is printed as ONNX text on standard error; ``--shrink`` cuts it down to
what it needs, ``--save`` keeps it.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, helper
from random_graphs import Drawn, Value, draw
from truth import (
    ANY,
    DIFFERENT,
    EDGES,
    FEW,
    FINE,
    MASKED,
    ORDINARY,
    POSITIVE,
    SETTINGS,
    UNCLEAR,
    Tally,
    Trial,
    Truth,
    data_number,
    is_false,
    next_values,
    place_of,
    until,
    versions,
)

import minuend as mn
from minuend.runtimes.finding import Finding
from minuend.runtimes.registry import adapters
from minuend.runtimes.running import Runtime

# ---- judging ------------------------------------------------------------------------------------------------------


def judge(drawn: Drawn, runtime: Runtime, source: np.random.Generator) -> Iterator[tuple[str, Finding, Truth]]:
    """Yield hint, verdict and truth of each subtraction of a graph on a runtime."""
    exact: Trial | None = None
    sets = drawn.sets(source)
    hints = [hint for name, hint in SETTINGS if name == runtime.name] or [""]
    for hint in sorted(hints, reverse=True):
        report = mn.check(drawn.model, f"{runtime.name}@{runtime.release}", hint=hint)
        trial = Trial(runtime, drawn.model, sets, hint, exact if hint == "" else None)
        if hint:
            exact = trial
        for finding in report.findings:
            truth = trial.truth(finding)
            if finding.verdict == "different-numbers" and truth.kind == FINE:
                truth = _searched(drawn, runtime, source, hint, finding)
            yield hint, finding, truth


def _searched(drawn: Drawn, runtime: Runtime, source: np.random.Generator, hint: str, finding: Finding) -> Truth:
    """Look for a deviation that has not shown itself: on more inputs, and before later nodes hide it."""
    known = list(drawn.known)
    if finding.witness is not None:
        known += [float(x) for x in (finding.witness.a, finding.witness.b) if isinstance(x, int | float)]
    kinds = (EDGES, FEW, ORDINARY, ANY, POSITIVE, ORDINARY)
    smallest = min((math.prod(value.shape) for value in drawn.inputs), default=64)
    times = 1 if runtime.name == "openvino-cpu" else 2  # which takes its time to compile
    sets = replace(drawn, known=known).sets(source, kinds * min(8 * times, max(times, 32 * times // smallest)))[2:]
    truth = Trial(runtime, drawn.model, sets, hint).truth(finding)
    if truth.kind != FINE or place_of(drawn.model, finding.location).inside:
        return truth
    name = place_of(drawn.model, finding.location).node.output[0]
    readers = next_values(drawn.model, name)
    for watched in (name, *readers, *(two for one in readers for two in next_values(drawn.model, one))):
        part = until(drawn.model, [watched])
        place = next(i for i, node in enumerate(part.graph.node) if name in node.output)
        shown = Trial(runtime, part, sets, hint).truth(replace(finding, location=f"graph.node[{place}]"))
        if shown.kind == DIFFERENT:
            return Truth(MASKED, f"where {watched} leaves the model: {shown.seen}")
    return truth


def smaller(drawn: Drawn, runtime: Runtime, hint: str, verdict: str, tries: int = 40) -> Drawn:
    """Cut a graph down while a verdict of it stays wrong: outputs go, and nodes' results become inputs."""

    def still(one: Drawn) -> bool:
        nonlocal tries
        tries -= 1
        source = np.random.default_rng(0)
        return any(h == hint and f.verdict == verdict and is_false(f, t) for h, f, t in judge(one, runtime, source))

    def steps(one: Drawn) -> Iterator[Drawn]:
        graph = one.model.graph
        for value in graph.output:
            if len(graph.output) > 1:
                yield _with(one, until(one.model, [value.name]))
        kinds = {value.name: value for value in one.values}
        for node in reversed(graph.node):
            for name in node.output if len(node.output) == 1 else ():
                if name in kinds and next_values(one.model, name):
                    yield _with(one, given(one.model, kinds[name]), kinds[name])

    while tries > 0:
        found = next((one for one in steps(drawn) if tries > 0 and still(one)), None)
        if found is None:
            return drawn
        drawn = found
    return drawn


def given(model: ModelProto, value: Value) -> ModelProto:
    """A model in which a value that it made is an input."""
    copy = ModelProto()
    copy.CopyFrom(model)
    keep = [node for node in copy.graph.node if value.name not in node.output]
    del copy.graph.node[:]
    copy.graph.node.extend(keep)
    copy.graph.input.append(helper.make_tensor_value_info(value.name, data_number(value.dtype), list(value.shape)))
    return until(copy, [one.name for one in copy.graph.output if one.name != value.name])


def _with(drawn: Drawn, model: ModelProto, *more: Value) -> Drawn:
    names = {value.name for value in model.graph.input}
    return replace(drawn, model=model, inputs=[v for v in (*drawn.inputs, *more) if v.name in names])


def text(model: ModelProto) -> str:
    """A model as ONNX text."""
    return str(onnx.printer.to_text(model))


def main() -> int:
    """Judge graphs for some minutes and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first graph")
    parser.add_argument("--graphs", type=int, default=10**9, help="how many graphs at most, for each runtime")
    readers = sorted(name for name, one in adapters().items() if "onnx" in one.DIALECTS and not one.ARRAYS)
    parser.add_argument("--runtime", action="append", choices=readers, help="by default those of truth.SETTINGS")
    parser.add_argument("--python", help="the Python of the environment that holds the runtime; by default this one")
    parser.add_argument("--save", type=Path, help="a folder for the graphs of wrong verdicts")
    parser.add_argument("--shrink", action="store_true", help="cut the graphs of wrong verdicts down")
    options = parser.parse_args()
    names = options.runtime or sorted({name for name, _ in SETTINGS})
    tally = Tally()
    counts = {name: run(name, options, tally, options.minutes * 60 / len(names)) for name in names}
    print(page(tally, counts))
    return 1 if tally.false_ok + tally.false_alarms else 0


def run(name: str, options: argparse.Namespace, tally: Tally, seconds: float) -> int:
    """Judge graphs on one runtime until the time is over; return how many."""
    end = time.monotonic() + seconds
    number: int = options.first
    with Runtime(name, options.python) as runtime:
        while time.monotonic() < end and number < options.first + options.graphs:
            drawn = draw(options.seed, number)
            source = np.random.default_rng([options.seed, number, 1])
            for hint, finding, truth in judge(drawn, runtime, source):
                tally.add(finding.target, hint, finding.verdict, truth.kind)
                if is_false(finding, truth):
                    cut_down: bool = options.shrink and finding.verdict == "ok"
                    shown = smaller(drawn, runtime, hint, finding.verdict) if cut_down else drawn
                    tell(options, number, hint, finding, truth, shown.model)
                elif truth.kind == UNCLEAR:
                    tell(options, number, hint, finding, truth, drawn.model)
            number += 1
    return number - options.first  # type: ignore[no-any-return]


def tell(
    options: argparse.Namespace, number: int, hint: str, finding: Finding, truth: Truth, model: ModelProto
) -> None:
    """Print a wrong verdict and its graph, and save it where asked."""
    kind = "FALSE" if is_false(finding, truth) else "UNCLEAR"
    head = f"{kind} graph {number} {finding.target} hint={hint!r} {finding.location}: {finding.verdict}"
    told = f"\n{head} ({finding.reason}); {truth.kind}: {truth.seen}\n{text(model)}"
    print(told, file=sys.stderr, flush=True)
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        onnx.save(model, options.save / f"{kind.lower()}-{options.seed}-{number}-{finding.target}.onnx")


def page(tally: Tally, counts: dict[str, int]) -> str:
    """The counts as Markdown."""
    graphs = ", ".join(f"{count} on {name}" for name, count in counts.items())
    return f"Random graphs: {graphs}; with {versions()}.\n\n{tally.table()}\n\n{tally.summary()}"


if __name__ == "__main__":
    sys.exit(main())
