"""Judge models that others wrote: verdicts, conversions and runs of this package, beside what really happened.

    python tools/judge_corpus.py --raw docs/verdicts.json > docs/verdicts.md   # fetches packages with pip
    python tools/judge_corpus.py --packages LIST --wheels FOLDER               # others, and where they are kept
    python tools/judge_corpus.py --folder tests/data/models --folder exports   # models in folders; no packages

LIST has a requirement with a version in each line, as `corpus_packages.txt` beside this file does; it may stand beside
folders. With ``--minutes`` models with a subtraction alone are judged, in the order of their hashes, as many as there
is time for. Each model runs as it is on the installed runtimes, on the inputs that came with it or on made ones;
`truth.py` says how the truth of a subtraction is found. Where ordinary numbers show nothing of a deviation, edges of
the type are tried. The page shows the held-out half of the models, and counts of the other one, which is there to learn
from (`model_files.py`). Progress and every wrong verdict go to standard error.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import json
import math
import multiprocessing
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from model_files import HELD_OUT, PACKAGES, TRAIN, File, NotJudgedError, models, packaged, sets_of
from onnx import ModelProto
from truth import (
    ANY,
    EDGES,
    FEW,
    FINE,
    POSITIVE,
    SETTINGS,
    UNCLEAR,
    Array,
    Feeds,
    Tally,
    Trial,
    Truth,
    array_of,
    ask,
    is_false,
    numbers,
    reported,
    versions,
)

import minuend as mn
from minuend.core.elements import of_numpy
from minuend.errors import ConversionRefused, MinuendError
from minuend.onnx.graphs.walk import walk
from minuend.runtimes.finding import Finding
from minuend.runtimes.processor import processor, up_to_last
from minuend.runtimes.rendering import short_processor
from minuend.runtimes.running import Refused, Runtime

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from model_corpus import ROUNDING, difference, same_bits  # type: ignore[import-not-found, import-untyped, unused-ignore]

GOALS = (21, 13)
"""Opsets that models are converted to: those below the first, and those above the second."""

LARGEST = 64 << 20
"""Bytes of a model up to which it is judged."""

RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
"""Operators of which no two answers are alike."""

MOST_SUBTRACTIONS = 8
"""Subtractions of one model that are judged, spread over it: those of one model are much alike."""

# ---- one model --------------------------------------------------------------------------------------------------


@dataclass
class Results:
    """What was found of some models."""

    files: Counter[str] = field(default_factory=Counter)
    subtractions: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    tally: Tally = field(default_factory=Tally)
    wrong: list[str] = field(default_factory=list)
    conversions: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)


def judge(file: File, runtimes: Mapping[str, Runtime], results: Results) -> None:
    """Ask everything about one model."""
    title = file.name.partition(":")[0]
    if file.path.stat().st_size > LARGEST:
        results.left_out["larger than 64 MiB"] += 1
        return
    model = onnx.load(file.path)
    results.files[title] += 1
    try:
        if any(node.op_type in RANDOM for scope in walk(model) for node in scope.nodes):
            raise NotJudgedError("it draws random numbers")
        sets = sets_of(file, model, runtimes["onnxruntime-cpu"])
        answer = ask(runtimes["onnxruntime-cpu"], model, sets[0], "")
        if isinstance(answer, Refused):
            raise NotJudgedError("onnxruntime does not run it on what it came with")
    except (NotJudgedError, TypeError, ValueError, KeyError) as error:
        results.left_out[str(error) if isinstance(error, NotJudgedError) else "inputs that are no tensors"] += 1
        return
    wanted = [array_of(one) for one in answer]
    _verdicts(file, model, sets, runtimes, results)
    _conversions(file, model, sets[0], wanted, runtimes["onnxruntime-cpu"], results)
    ran, off = _run(model, sets[0], wanted)
    results.runs[ran] += 1
    if ran == "other numbers":
        results.wrong.append(f"wrong: {file.name} by `run`: other numbers, {off:.2%} of the largest off")


def _verdicts(
    file: File, model: ModelProto, sets: Sequence[Feeds], runtimes: Mapping[str, Runtime], results: Results
) -> None:
    count = sum(node.op_type == "Sub" for scope in walk(model) for node in scope.nodes)
    results.subtractions += count
    if not count:
        return
    for name in dict.fromkeys(name for name, _ in SETTINGS):
        if not _judged(file, model, sets, runtimes[name], results):
            _judged(file, _fixed(model, sets[0]), sets, runtimes[name], results, " with known shapes", last=True)


def _judged(
    file: File,
    model: ModelProto,
    sets: Sequence[Feeds],
    runtime: Runtime,
    results: Results,
    how: str = "",
    last: bool = False,
) -> bool:
    """Judge a model on a runtime; without ``last`` nothing is counted where the runtime refuses a part of it."""
    exact: Trial | None = None
    found: list[tuple[str, Finding, Truth]] = []
    for hint in sorted((hint for name, hint in SETTINGS if name == runtime.name), reverse=True):
        findings = mn.check(model, f"{runtime.name}@{runtime.release}", hint=hint).findings
        trial = Trial(runtime, model, sets, hint, exact, reported(model, findings))
        exact = exact or trial
        for finding in findings[:: -(-len(findings) // MOST_SUBTRACTIONS) or 1]:
            truth = trial.truth(finding)
            if finding.verdict == "different-numbers" and truth.kind == FINE:
                truth = Trial(runtime, model, _edges(sets[0]), hint).truth(finding)
            if truth.kind == UNCLEAR and "refused" in truth.seen and not last:
                return False
            found.append((hint, finding, truth))
    for hint, finding, truth in found:
        results.tally.add(finding.target, hint, finding.verdict, truth.kind)
        if is_false(finding, truth) or truth.kind == UNCLEAR:
            kind = "wrong" if is_false(finding, truth) else "unclear"
            place = f"{file.name} {finding.location}{how} on {finding.target}{f', hint {hint}' if hint else ''}"
            results.wrong.append(f"{kind}: {place}: {finding.verdict} ({finding.reason}); {truth.kind}: {truth.seen}")
            print(results.wrong[-1], file=sys.stderr, flush=True)
    return True


def _edges(fed: Feeds) -> Sequence[Feeds]:
    """Sets of inputs on which a deviation shows that ordinary numbers do not: floats that are edges among them."""
    source = np.random.default_rng(0)
    floats = {name: of_numpy(array.dtype) for name, array in fed.items() if array.dtype.kind in "fV" and array.size}
    one_infinite = {name: array.copy() for name, array in fed.items()}
    for name in floats:
        one_infinite[name].flat[0] = np.inf
    return [one_infinite] + [
        {
            name: array if (element := floats.get(name)) is None else numbers(element.name, array.shape, kind, source)
            for name, array in fed.items()
        }
        for kind in (EDGES, FEW, ANY, POSITIVE) * 4
    ]


def _fixed(model: ModelProto, fed: Feeds) -> ModelProto:
    """The model with the shapes of its inputs known: parts of some models with open ones end openvino's process."""
    fixed = ModelProto()
    fixed.CopyFrom(model)
    for value in fixed.graph.input:
        if value.name in fed:
            del value.type.tensor_type.shape.dim[:]
            for size in fed[value.name].shape:
                value.type.tensor_type.shape.dim.add().dim_value = size
    del fixed.graph.value_info[:]
    return fixed


def subtracts(file: File) -> bool:
    """Whether a model has a subtraction."""
    return any(node.op_type == "Sub" for scope in walk(onnx.load(file.path)) for node in scope.nodes)


# ---- conversions and runs ---------------------------------------------------------------------------------------


def _conversions(
    file: File, model: ModelProto, fed: Feeds, wanted: list[Array], runtime: Runtime, results: Results
) -> None:
    own = next((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), None)
    for goal, asked in zip(
        GOALS, (own is not None and own < GOALS[0], own is not None and own > GOALS[1]), strict=True
    ):
        if not asked:
            continue
        kinds = {}
        for by, convert in (("minuend", _own), ("version_converter", _theirs)):
            converted = convert(model, goal)
            kinds[by] = "refused" if converted is None else _same(runtime, converted, fed, wanted)
            results.conversions[goal, by, kinds[by]] += 1
        behind = kinds["version_converter"] in KINDS[:2] and kinds["minuend"] not in KINDS[:2]
        if behind or kinds["minuend"] in ("other numbers", "not run"):
            results.wrong.append(f"wrong: {file.name} converted to opset {goal}: {kinds}")


def _own(model: ModelProto, goal: int) -> ModelProto | None:
    try:
        return mn.convert(model, f"onnx:{goal}").model  # type: ignore[no-any-return]
    except (ConversionRefused, MinuendError):
        return None


def _theirs(model: ModelProto, goal: int) -> ModelProto | None:
    """ONNX's converter, in a process of its own: it ends the process on some models."""
    ours, other = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=_convert, args=(other, model.SerializeToString(), goal))
    process.start()
    other.close()
    try:
        data = ours.recv_bytes() if ours.poll(60) else b""
    except EOFError:
        data = b""
    process.kill()
    process.join()
    return ModelProto.FromString(data) if data else None


_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["onnx.version_converter"])


def _convert(pipe: Any, data: bytes, goal: int) -> None:
    from onnx import version_converter

    try:
        pipe.send_bytes(version_converter.convert_version(ModelProto.FromString(data), goal).SerializeToString())
    except Exception:
        pipe.send_bytes(b"")


def _same(runtime: Runtime, model: ModelProto, fed: Feeds, wanted: list[Array]) -> str:
    answer = ask(runtime, model, fed, "")
    if isinstance(answer, Refused):
        return "not run"
    return _compared([array_of(one) for one in answer], wanted, fed)


def _compared(got: list[Array], wanted: list[Array], fed: Feeds) -> str:
    got, wanted = list(map(_plain, got)), list(map(_plain, wanted))
    if same_bits(wanted, got):
        return "same bits"
    floats = [one for one in (*wanted, *fed.values()) if one.dtype.kind == "f"]
    largest = max((float(np.abs(one[np.isfinite(one)]).max(initial=0)) for one in floats), default=0.0)
    near = len(got) == len(wanted) and all(_near(x, y, largest) for x, y in zip(got, wanted, strict=True))
    return "within rounding" if near else "other numbers"


def _plain(array: Array) -> Array:
    """Bits of the types that onnxruntime hands out as such."""
    return array if array.dtype.kind in "fiub" else array.view(f"u{array.dtype.itemsize}")


def _near(x: Array, y: Array, largest: float) -> bool:
    """Whether two outputs are equal but for rounding, of which the largest number in sight is the measure."""
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return False
    if x.dtype.kind != "f":
        return np.array_equal(x, y)
    room = ROUNDING.get(x.dtype.name, 0) * largest
    return np.allclose(x.astype(np.float64), y.astype(np.float64), rtol=0, atol=room, equal_nan=True)


def _run(model: ModelProto, fed: Feeds, wanted: list[Array]) -> tuple[str, float]:
    """What `run` gives beside onnxruntime, and by what share of the largest number it is off."""
    try:
        outputs = mn.run(model, fed)
    except (MinuendError, ValueError, TypeError, RuntimeError) as error:
        return f"refused: {type(error).__name__}", 0.0
    got = [np.asarray(outputs[value.name]) for value in model.graph.output]
    if any(one.dtype.hasobject for one in got):  # a sequence, or text
        return "an output is no tensor of numbers", 0.0
    return _compared(got, wanted, fed), max(map(difference, map(_plain, wanted), map(_plain, got)), default=0.0)


# ---- the page ---------------------------------------------------------------------------------------------------

KINDS = ("same bits", "within rounding", "other numbers", "not run", "refused")


def page(results: Results, train: Results | None = None) -> str:
    """Return what was found as Markdown; of models to learn from, the verdicts alone."""
    files = sum(results.files.values())
    lines = [
        "# Verdicts beside what happened",
        "",
        f"{files} model files that others wrote, with {results.subtractions} subtractions; with {versions()}.",
        f"Judged on {date.today()} on {short_processor(up_to_last(processor()))}, by revision {revision()}.",
        "`tools/judge_corpus.py` fetches the packages, runs the models and writes this page.",
        *(
            ["They are the half of all models that is held out: wrong verdicts are mended on the other half alone."]
            if train
            else []
        ),
        "",
        "| package | models |",
        "|---|---:|",
        *(f"| {name} | {count} |" for name, count in results.files.items()),
        "",
        "Left out, because they could not be run: "
        + (", ".join(f"{count} ({why})" for why, count in results.left_out.most_common()) or "none")
        + ".",
        "",
        "## `check`: the verdict beside what the runtime did",
        "",
        results.tally.table(),
        "",
        results.tally.summary(),
        "",
        "## `convert`: to another opset, beside ONNX's version_converter",
        "",
        "Run by onnxruntime before and after.",
        "",
        "| to opset | by | " + " | ".join(KINDS) + " |",
        "|---:|---|" + "---:|" * len(KINDS),
    ]
    for goal in GOALS:
        for by in ("minuend", "version_converter"):
            counts = [str(results.conversions[goal, by, kind]) for kind in KINDS]
            lines.append(f"| {goal} | {by} | {' | '.join(counts)} |")
    lines += ["", "## `run`: beside onnxruntime", "", "| outcome | models |", "|---|---:|"]
    lines += [f"| {kind} | {count} |" for kind, count in results.runs.most_common()]
    return "\n".join([*lines, *causes(results.wrong), *(learnt(train) if train else [])])


def revision() -> str:
    """Return the commit of this checkout, with a plus sign where files differ from it; else the version."""
    command = ["git", "describe", "--always", "--abbrev=7", "--exclude=*", "--dirty=+"]
    try:
        found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return f"{mn.__version__} (no checkout)"
    return found.stdout.strip()


def learnt(train: Results) -> list[str]:
    """Return a section with the verdicts on models that wrong verdicts are mended on."""
    files = sum(train.files.values())
    return [
        "",
        "## The other half",
        "",
        f"{files} model files with {train.subtractions} subtractions, split off by the SHA-256 of their bytes.",
        "",
        train.tally.table(),
        "",
        train.tally.summary(),
    ]


_WRONG = re.compile(r"(wrong|unclear): .*? on (\S+?)(?:, hint \w+)?: ([\w-]+) \((.*)\); \w+")


def causes(wrong: Sequence[str]) -> list[str]:
    """Return a section that counts what is wrong or unclear by its cause; each by itself is in a file of data."""
    if not wrong:
        return []
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for one in wrong:
        if found := _WRONG.match(one):
            kind, target, verdict, reason = found.groups()
            cause = "; ".join(part.partition(":")[0] for part in reason.split("; ")[:2])
            counts[kind, target, verdict, cause] += 1
        else:
            counts[one.partition(":")[0], "", "", one.rpartition(": ")[2]] += 1
    rows = [
        f"| {kind} | {target} | {verdict} | {cause.replace('|', chr(92) + '|')} | {count} |"
        for (kind, target, verdict, cause), count in sorted(counts.items(), key=lambda one: (one[0][0], -one[1]))
    ]
    head = ["| | runtime | verdict | reason | subtractions |", "|---|---|---|---|---:|"]
    counted = "Counted with and without the hint; `docs/verdicts.json` has each by itself."
    return ["", "## What is wrong or unclear, by its cause", "", counted, "", *head, *rows]


def main() -> int:
    """Judge models and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, action="append", help="a list of packages; may be given again")
    parser.add_argument("--wheels", type=Path, help="the folder of the packages; by default one that is removed")
    parser.add_argument(
        "--folder", type=Path, action="append", default=[], help="models in a folder; may be given again"
    )
    parser.add_argument("--only", default="*", help="a pattern of names, such as '*: *rec*'")
    parser.add_argument("--every", type=int, default=1, help="judge every Nth model")
    parser.add_argument("--minutes", type=float, help="how long models with a subtraction are judged")
    parser.add_argument("--raw", type=Path, help="a JSON file for what is wrong or unclear, each by itself")
    options = parser.parse_args()
    lists = options.packages or ([] if options.folder else [PACKAGES])
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        (place / "wheels").mkdir()
        wheels = options.wheels or place / "wheels"
        found = [*(models(one, one.name) for one in options.folder), *(packaged(one, wheels, place) for one in lists)]
        files = [one for one in itertools.chain(*found) if fnmatch.fnmatch(one.name, options.only)]
        parts = judged(files[:: options.every], options.minutes)
    if options.raw:
        wrong = {name: results.wrong for name, results in parts.items()}
        options.raw.write_text(json.dumps(wrong, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(page(parts[HELD_OUT], parts[TRAIN]))
    return 1 if any(one.tally.false_ok + one.tally.false_alarms for one in parts.values()) else 0


def judged(files: Sequence[File], minutes: float | None = None) -> Mapping[str, Results]:
    """Judge models, each once; return what was found of each part.

    Args:
        files: the models. minutes: how long; those without a subtraction are left out then. ``None``: all of them.
    """
    parts = {HELD_OUT: Results(), TRAIN: Results()}
    ends = math.inf if minutes is None else time.monotonic() + 60 * minutes
    files = files if minutes is None else sorted(files, key=lambda file: file.digest)
    known: set[str] = set()
    runtimes = {name: Runtime(name) for name in dict.fromkeys(name for name, _ in SETTINGS)}
    try:
        for file in files:
            if file.digest in known or (minutes is not None and not subtracts(file)):
                continue
            if time.monotonic() > ends:
                break
            known.add(file.digest)
            start = time.monotonic()
            judge(file, runtimes, parts[file.part])
            if (seconds := time.monotonic() - start) > 5:
                print(f"{file.name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    finally:
        for runtime in runtimes.values():
            runtime.close()
    return parts


if __name__ == "__main__":
    sys.exit(main())
