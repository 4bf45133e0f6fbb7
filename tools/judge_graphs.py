"""Judge random graphs around subtractions: what `check` says, beside what the installed runtimes do.

    python tools/judge_graphs.py --minutes 10 [--seed 0] [--runtime openvino-cpu] [--save FOLDER] > table.md
    python tools/judge_graphs.py --runtime tract --python ENVIRONMENT/bin/python
    python tools/judge_graphs.py --runtime openvino-cpu --isa avx2             # as on a processor without more
    python tools/judge_graphs.py --runtime openvino-cpu --ir                   # what openvino saves of each as an IR
    python tools/judge_graphs.py --cases                                       # measured patterns, and a node more
    python tools/judge_graphs.py --ranks                                       # a chain of two to five axes
    python tools/judge_graphs.py --layers                                      # networks of layers
    python tools/judge_graphs.py --large                                       # the same, of sizes that models have
    python tools/judge_graphs.py --open                                        # inputs of open shapes, made known
    python tools/judge_graphs.py --quantised                                   # with a quantisation, or one beside them
    python tools/judge_graphs.py --operator add                                # verdicts on another operator
    python tools/judge_graphs.py --severity                                    # what is worse than findings promise

Graph N of a seed is always the same (:mod:`random_graphs`). What `check` calls ``ok`` and is not, or
``different-numbers`` and nothing of it is seen, is printed as ONNX text on standard error; ``--shrink`` cuts it down to
what it needs, ``--save`` keeps it. A graph that a runtime has no result of within ``--limit`` seconds is not judged; it
is counted, printed and kept as well.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, helper
from random_chains import of_any_rank
from random_graphs import Drawn, Value, draw, extended, of_open_inputs, that_quantises, with_operator
from random_layers import of_layers
from range_cases import seen_of
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
    Array,
    Tally,
    Trial,
    Truth,
    data_number,
    is_false,
    next_values,
    place_of,
    reported,
    until,
    versions,
)

import minuend as mn
from minuend.child import limited
from minuend.core.elements import TYPES
from minuend.errors import LimitExceeded
from minuend.operators import OPERATORS, SUBTRACT, by_name
from minuend.operators.operator import Operator
from minuend.runtimes.finding import Finding
from minuend.runtimes.registry import adapters
from minuend.runtimes.running import Output, Refused, Runtime

SECONDS = 30.0
"""Seconds that one run of a graph may take by default."""


class Limited(Runtime):
    """A runtime that raises the error of a limit where a model is stopped, which says nothing of its nodes."""

    def query(self, *given: Any, **options: Any) -> list[Output] | Refused:
        """Run a model as it is.

        Raises:
            LimitExceeded: it was stopped.
        """
        answer = super().query(*given, **options)
        if isinstance(answer, Refused) and answer.limit is not None:
            raise answer.limit
        return answer


@dataclass
class GraphCounts:
    """How many graphs of a runtime were judged, and how many were not, by the reason."""

    graphs: int = 0
    worse: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def reported(self, name: str) -> str:
        """Return the counts in a few words.

        >>> GraphCounts(5, Counter({"no result in 30 s": 1})).reported("openvino-cpu")
        '5 on openvino-cpu, and 1 not judged: no result in 30 s'
        """
        reasons = "".join(f", and {count} not judged: {why}" for why, count in sorted(self.left_out.items()))
        return f"{self.graphs} on {name}{reasons}"


# ---- how bad it is ------------------------------------------------------------------------------------------------


def worse(
    drawn: Drawn, runtime: Runtime, source: np.random.Generator, *, operator: Operator = SUBTRACT
) -> Iterator[Worse]:
    """Yield what is worse than every finding of a graph promises, where each of them says how bad it can be.

    A node's own result is the only output, and then what reads it; what stands behind could enlarge an error.
    """
    nodes = [node.output[0] for node in drawn.model.graph.node if node.op_type == operator.onnx]
    ends = {end: name for name in nodes for end in (name, *next_values(drawn.model, name))}
    hints = [hint for name, hint in SETTINGS if name == runtime.name] or [""]
    for hint, (end, name) in itertools.product(hints, ends.items()):
        part = until(drawn.model, [end])
        found = mn.check(
            part,
            f"{runtime.name}@{runtime.release}",
            hint=hint,
            cpu=runtime.isa,
            operators=[operator.name],
            tolerate="none",
        ).findings
        promised = [each for one in found for each in one.deviations if one.verdict != "ok"]
        limited = all(each.severity is not None and (each.severity != "numbers" or each.ulps) for each in promised)
        if not promised or not limited or any(not one.deviations for one in found if one.verdict != "ok"):
            continue
        own = next((one for one in found if name in place_of(part, one.location).node.output), None)
        if own is None or place_of(part, own.location).inside:
            continue
        trial = Trial(
            runtime, part, drawn.sets(source, (FEW, ANY, ORDINARY, POSITIVE)), hint, None, reported(part, found)
        )
        for got, values in trial.deviating(replace(own, verdict="ok")):
            fitting = [one for one in values[:-1] if _spreads(one, got.shape)]
            fitting += [small for one in values[:-1] if (small := _largest_subnormal(one, got.dtype)) is not None]
            if got.dtype.name not in TYPES or got.shape != values[-1].shape:  # truth values, or nothing to compare
                continue
            seen = [one for one in seen_of([*fitting, values[-1]], got) if not any(map(one.within, promised))]
            if seen:
                yield Worse(hint, own, f"{sorted({str(one.severity) for one in promised})}; {seen[0]}", part)
                break


def _largest_subnormal(array: Array, dtype: np.dtype[Any]) -> Array | None:
    """The largest subnormal number of an array, which what reads it may have moved; ``None`` where it has none."""
    if array.dtype != dtype or dtype.kind != "f":
        return None
    sizes = np.abs(array[(array != 0) & (np.abs(array) < np.finfo(dtype).tiny)])
    return sizes.max() if sizes.size else None


def _spreads(array: Array, shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        return False


@dataclass
class Worse:
    """What is worse than promised: under which hint, of which finding, what was seen, and the model that shows it."""

    hint: str
    finding: Finding
    seen: str
    model: ModelProto


# ---- judging ------------------------------------------------------------------------------------------------------


def judge(
    drawn: Drawn, runtime: Runtime, source: np.random.Generator, *, operator: Operator = SUBTRACT, ir: bool = False
) -> Iterator[tuple[str, Finding, Truth]]:
    """Yield hint, verdict and truth of each subtraction of a graph on a runtime, or of another operator.

    Args:
        drawn, runtime, source: the graph, the runtime, and where inputs come from. operator: what is judged.
        ir: judge the IR that openvino saves of the graph.
    """
    exact: Trial | None = None
    sets = drawn.sets(source)
    hints = [hint for name, hint in SETTINGS if name == runtime.name] or [""]
    for hint in sorted(hints, reverse=True):
        judged = functools.partial(
            mn.check,
            target=f"{runtime.name}@{runtime.release}",
            hint=hint,
            cpu=runtime.isa,
            operators=[operator.name],
        )
        findings = judged(drawn.model).findings
        if ir:
            findings = tuple(_of_ir(drawn.model, findings, judged))
        known = reported(drawn.model, findings)
        trial = Trial(runtime, drawn.model, sets, hint, exact if hint == "" else None, known)
        if hint:
            exact = trial
        for finding in findings:
            truth = trial.truth(finding)
            if finding.verdict == "different-numbers" and truth.kind == FINE:
                truth = _searched(drawn, runtime, source, hint, finding)
            yield hint, finding, truth


def _of_ir(model: ModelProto, findings: Iterable[Finding], judged: Callable[[Path], mn.Report]) -> Iterator[Finding]:
    """Yield what is found in the IR that openvino saves of a model, at the places of the model's own nodes."""
    import openvino

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        try:
            openvino.save_model(openvino.Core().read_model(model.SerializeToString()), path, compress_to_fp16=False)
        except RuntimeError:  # it does not read the model
            return
        found = {one.node: one for one in judged(path).findings}
    for finding in findings:
        place = place_of(model, finding.location)
        if not place.inside and (of_ir := found.get(place.node.output[0])) is not None:
            yield replace(of_ir, location=finding.location)


def _searched(drawn: Drawn, runtime: Runtime, source: np.random.Generator, hint: str, finding: Finding) -> Truth:
    """Look for a deviation that has not shown itself: on more inputs, and before later nodes hide it."""
    known = list(drawn.known)
    if finding.witness is not None:
        known += [float(x) for x in finding.witness.operands if isinstance(x, int | float)]
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


def smaller(
    drawn: Drawn, runtime: Runtime, hint: str, verdict: str, tries: int = 40, operator: Operator = SUBTRACT
) -> Drawn:
    """Cut a graph down while a verdict of it stays wrong: outputs go, and nodes' results become inputs."""

    def still(one: Drawn) -> bool:
        nonlocal tries
        tries -= 1
        source = np.random.default_rng(0)
        try:
            found = judge(one, runtime, source, operator=operator)
            return any(h == hint and f.verdict == verdict and is_false(f, t) for h, f, t in found)
        except LimitExceeded:
            return False

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


_MOST_SHOWN = 1000
"""The most elements of a constant that are printed."""


def text(model: ModelProto) -> str:
    """A model as ONNX text, without the elements of large constants: its seed and number draw it again."""
    shown = ModelProto()
    shown.CopyFrom(model)
    large = [one for one in shown.graph.initializer if math.prod(one.dims) > _MOST_SHOWN]
    for one in large:
        shown.graph.initializer.remove(one)
    listed = "".join(f"// {one.name}: {list(one.dims)}\n" for one in large)
    return listed + str(onnx.printer.to_text(shown))


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
    parser.add_argument(
        "--isa", default="", help="the newest instruction set that the runtime may use, and is judged on"
    )
    parser.add_argument("--ir", action="store_true", help="judge what the openvino of this Python saves of each graph")
    parser.add_argument("--cases", action="store_true", help="judge what releases are measured with, and a node more")
    parser.add_argument("--ranks", action="store_true", help="judge one or two operators of two to five axes")
    parser.add_argument("--layers", action="store_true", help="judge networks of layers, as exporters write them")
    parser.add_argument("--large", action="store_true", help="judge networks of layers, of sizes that models have")
    parser.add_argument("--open", action="store_true", help="open the shapes of inputs; a Reshape makes them known")
    parser.add_argument("--quantised", action="store_true", help="quantise inputs of graphs, or something beside them")
    parser.add_argument("--severity", action="store_true", help="judge how bad findings say that it is")
    parser.add_argument("--operator", choices=list(OPERATORS), default=SUBTRACT.name)
    parser.add_argument("--limit", type=float, default=SECONDS, help="seconds that one run of a graph may take")
    parser.add_argument("--save", type=Path, help="a folder for the graphs of wrong verdicts")
    parser.add_argument("--shrink", action="store_true", help="cut the graphs of wrong verdicts down")
    options = parser.parse_args()
    names = options.runtime or sorted({name for name, _ in SETTINGS})
    tally = Tally()
    counts = {name: run(name, options, tally, options.minutes * 60 / len(names)) for name in names}
    far = sum(one.worse for one in counts.values())
    graphs = "; ".join(one.reported(name) for name, one in counts.items())
    print(f"Worse than promised: {far}, in random graphs: {graphs}." if options.severity else page(tally, counts))
    return 1 if tally.false_ok + tally.false_alarms + far else 0


def run(name: str, options: argparse.Namespace, tally: Tally, seconds: float) -> GraphCounts:
    """Judge graphs on one runtime until the time is over."""
    end = time.monotonic() + seconds
    counts, operator = GraphCounts(), by_name(options.operator)
    with Limited(name, options.python, options.isa) as runtime, limited(max_seconds=options.limit):
        for number in range(options.first, options.first + options.graphs):
            if time.monotonic() >= end:
                break
            drawn = drawn_of(options, number, operator)
            drawn = of_open_inputs(drawn) if options.open else drawn
            if options.quantised:
                drawn = that_quantises(drawn, np.random.default_rng([options.seed, number, 2]))
            try:
                source = np.random.default_rng([options.seed, number, 1])
                if options.severity:
                    for one in worse(drawn, runtime, source, operator=operator):
                        counts.worse += 1
                        what = f"hint={one.hint!r} {one.finding.location}: {one.seen}"
                        show(options, number, "WORSE", one.finding.target, what, one.model)
                    counts.graphs += 1
                    continue
                found = list(judge(drawn, runtime, source, operator=operator, ir=options.ir))
            except LimitExceeded as error:
                why = reason(error)
                counts.left_out[why] += 1
                show(options, number, "NOT-JUDGED", f"{name}@{runtime.release}", why, drawn.model)
                continue
            counts.graphs += 1
            count(found, drawn, number, runtime, options, tally)
    return counts


def drawn_of(options: argparse.Namespace, number: int, operator: Operator) -> Drawn:
    """The graph of a number, of the kind that the options name."""
    if options.ranks:
        return of_any_rank(options.seed, number)
    if options.layers or options.large:
        layers = of_layers(options.seed, number, large=options.large)
        source = np.random.default_rng([options.seed, number, 3])
        return layers if operator is SUBTRACT else replace(layers, model=with_operator(layers, operator.onnx, source))
    return extended(options.seed, number) if options.cases else draw(options.seed, number, operator.onnx)


def reason(error: LimitExceeded) -> str:
    """Say which limit a graph exceeded.

    >>> reason(LimitExceeded("…", limit="max_seconds", value=30.0))
    'no result in 30 s'
    """
    return (
        f"no result in {error.value:g} s" if error.limit == "max_seconds" else "no result in the memory that it may use"
    )


def count(
    found: list[tuple[str, Finding, Truth]],
    drawn: Drawn,
    number: int,
    runtime: Runtime,
    options: argparse.Namespace,
    tally: Tally,
) -> None:
    """Count the verdicts on a graph, and show those that are wrong or unclear."""
    for hint, finding, truth in found:
        tally.add(finding.target, hint, finding.verdict, truth.kind)
        if is_false(finding, truth):
            cut_down: bool = options.shrink and not options.ir and finding.verdict == "ok"
            own = by_name(options.operator)
            shown = smaller(drawn, runtime, hint, finding.verdict, operator=own) if cut_down else drawn
            tell(options, number, hint, finding, truth, shown.model)
        elif truth.kind == UNCLEAR:
            tell(options, number, hint, finding, truth, drawn.model)


def tell(
    options: argparse.Namespace, number: int, hint: str, finding: Finding, truth: Truth, model: ModelProto
) -> None:
    """Show a wrong verdict and its graph."""
    kind = "FALSE" if is_false(finding, truth) else "UNCLEAR"
    what = f"hint={hint!r} {finding.location}: {finding.verdict} ({finding.reason}); {truth.kind}: {truth.seen}"
    show(options, number, kind, finding.target, what, model)


def show(options: argparse.Namespace, number: int, kind: str, target: str, what: str, model: ModelProto) -> None:
    """Print a graph and what is said of it, and save it where that is wanted."""
    print(f"\n{kind} graph {number} {target} {what}\n{text(model)}", file=sys.stderr, flush=True)
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        onnx.save(model, options.save / f"{kind.lower()}-{options.seed}-{number}-{target}.onnx")


def page(tally: Tally, counts: dict[str, GraphCounts]) -> str:
    """The counts as Markdown."""
    graphs = "; ".join(one.reported(name) for name, one in counts.items())
    return f"Random graphs: {graphs}; with {versions()}.\n\n{tally.table()}\n\n{tally.summary()}"


if __name__ == "__main__":
    sys.exit(main())
