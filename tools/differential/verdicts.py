"""Whether what `check` says of random graphs is so, on runtimes that run them; and whether commands leave models alone.

    python tools/differential.py --surface verdicts --surface unchanged --minutes 10

A false ``ok`` is a difference. A ``different-numbers`` of which nothing was seen is counted as a possible false alarm:
inputs that show it may not have been found. What every reader knows of a subtraction by itself (``cure_promises.py``)
check has to say: else one that knows nothing, or suspects everything, would pass.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import minuend as mn
from differential import cure_models
from differential.cure_promises import LEFT, REFUSED, promise
from differential.surface import Difference, Surface, running
from minuend.cli.program import main
from minuend.errors import MinuendError
from minuend.models.converting import convert

# ---- verdicts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Graph:
    """Graph ``number`` of a seed of ``tools/judge_graphs.py``, on a runtime; and a type of a subtraction by itself."""

    seed: int = 0
    number: int = 0
    runtime: str = "onnxruntime-cpu"
    dtype: str = "int32"


def _graph(source: random.Random) -> Graph:
    # openvino compiles for seconds: most graphs are onnxruntime's.
    runtime = "openvino-cpu" if source.random() < 0.1 else "onnxruntime-cpu"
    return Graph(source.randrange(2**31), source.randrange(1000), runtime, source.choice(cure_models.DTYPES))


def _alone(case: Graph) -> None:
    """Compare what check says of a subtraction by itself with what is known of it."""
    alone = cure_models.Case(dtype=case.dtype, target=case.runtime)
    wanted, why = promise(alone)
    if not wanted or not cure_models.fits(alone):
        return
    said = {one.verdict for one in mn.check(cure_models.model(alone), alone.target).findings}
    if said != {"ok"} if wanted == LEFT else bool(said & {"ok", "unknown"}):
        raise Difference(f"check says {', '.join(sorted(said))} of {case.dtype} on {case.runtime}: {why}")


def _judged(case: Graph, _: Path) -> str:
    import judge_graphs
    import random_graphs
    from truth import FINE, UNCLEAR, is_false

    _alone(case)
    drawn, kinds = random_graphs.draw(case.seed, case.number), set()
    source = np.random.default_rng([case.seed, case.number, 1])
    for hint, finding, truth in judge_graphs.judge(drawn, running(case.runtime), source):
        if finding.verdict == "ok" and is_false(finding, truth):
            where = f"{finding.target} {hint} {finding.location}"
            raise Difference(f"{where}: ok ({finding.reason}), and {truth.seen}\n{judge_graphs.text(drawn.model)}")
        if finding.verdict == "different-numbers" and truth.kind == FINE:
            kinds.add("possible false alarm")
        elif truth.kind == UNCLEAR:
            kinds.add("not judged")
    return ", ".join(sorted(kinds)) or "as it runs"


# ---- models that are not changed ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Untouched(cure_models.Case):
    """A model in files, and a command that reads it; with a ``seed``, a random graph in place of the grid's."""

    seed: int = -1
    form: str = "one file"
    command: str = "check"


FORMS = ("one file", "external data", "unsorted fields", "DxDispatch")
COMMANDS = ("check", "fix", "convert", "check --run")


def _untouched(source: random.Random) -> Untouched:
    grid = dataclasses.asdict(source.choice(cure_models.grid()))
    seed = source.randrange(2**31) if source.random() < 0.5 else -1
    return Untouched(**grid, seed=seed, form=source.choice(FORMS), command=source.choices(COMMANDS, (8, 12, 12, 1))[0])


def _written(case: Untouched, folder: Path) -> Path | None:
    """Write the model of a case; ``None`` where the grid has none there."""
    import random_graphs

    made: Any = random_graphs.draw(case.seed, 0).model if case.seed >= 0 else cure_models.model(case)
    if made is None:
        return None
    if case.form == "DxDispatch":
        path = folder / "m.json"
        try:
            convert(made, "directml:6.4").save(path)
        except MinuendError:  # most graphs have no form there
            return None
        return path
    if not isinstance(made, onnx.ModelProto):
        path = folder / "m.xml"
        made.save(path)
        return path
    path = folder / "m.onnx"
    if case.form == "external data":
        onnx.save(made, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    else:
        data = made.SerializeToString()
        # A field that the schema lacks, and fields out of their order: what is read and written again loses both.
        path.write_bytes(b"\xfa\x3e\x02ab" + data if case.form == "unsorted fields" else data)
    return path


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _left_alone(case: Untouched, folder: Path) -> str:
    path = _written(case, folder)
    if path is None:
        return "no such model"
    before, out = _contents(folder), folder / f"out{path.suffix}"
    target = case.target if ":" not in case.target else "onnxruntime-cpu"
    argv = {
        "check": ["check", str(path), "--target", target],
        "check --run": ["check", str(path), "--target", "onnxruntime-cpu", "--run"],
        "fix": ["fix", str(path), "--target", target, "-o", str(out), "--json", "--no-run"],
        "convert": ["convert", str(path), "--to", _own_format(path), "-o", str(out), "--json"],
    }[case.command]
    text, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(said):
        status = main(argv)
    after = _contents(folder)
    if changed := [name for name, data in before.items() if after.get(name) != data]:
        raise Difference(f"{' '.join(argv)} changed its input: {changed}")
    if case.command in ("check", "check --run") and after.keys() != before.keys():
        raise Difference(f"check left files: {sorted(after.keys() - before.keys())}")
    if status == 3 or (status and _has_to_succeed(case, target)):
        raise Difference(f"status {status}: {said.getvalue()[:300]}")
    if status or case.command.startswith("check") or not _says_unchanged(json.loads(text.getvalue())):
        return f"{case.command}, status {status}"
    return f"{case.command}, {_copied(before, after, path.name, out.name)}"


def _has_to_succeed(case: Untouched, target: str) -> bool:
    """Whether a command has to end with status 0: a valid model is of its own format, and what is known is fixed."""
    if case.seed >= 0:
        return False
    if case.form == "DxDispatch":  # it was written by a conversion
        return case.command == "convert"
    wanted, _ = promise(replace(case, target=target, overflow="wrap"))
    if case.command == "convert":  # OpenVINO has one version; bfloat16 is no type of If and Loop in old opsets
        return case.dialect != "openvino" and wanted != REFUSED and case.dtype != "bfloat16"
    return bool(wanted) and not set(REFUSED) <= set(wanted) and case.command == "fix"


def _own_format(path: Path) -> str:
    if path.suffix == ".xml":
        return "openvino"
    if path.suffix == ".json":
        return "directml:6.4"
    return (
        f"onnx:{next(one.version for one in onnx.load(path, load_external_data=False).opset_import if not one.domain)}"
    )


def _says_unchanged(report: dict[str, Any]) -> bool:
    return all(change.startswith("nothing") for change in report["changes"])


def _copied(before: dict[str, bytes], after: dict[str, bytes], name: str, out: str) -> str:
    if after[out] != before[name]:
        raise Difference(f"nothing was changed, and {out} differs from {name}: {_first(before[name], after[out])}")
    for beside in before.keys() - {
        name
    }:  # external data is read where it lies, an IR's weights have a name of their own
        copy = Path(out).stem + Path(beside).suffix
        if Path(name).suffix == ".xml" and after.get(copy) != before[beside]:
            raise Difference(f"nothing was changed, and {copy} differs from {beside}")
    return "unchanged and identical"


def _first(one: bytes, other: bytes) -> str:
    at = next((i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other)))
    return f"{len(one)} and {len(other)} bytes, from byte {at}: {one[at : at + 20]!r}, {other[at : at + 20]!r}"


RUNTIMES = ("onnxruntime", "openvino")
SURFACES = (
    Surface("verdicts", "check beside what runtimes do with whole graphs", RUNTIMES, _graph, _judged, Graph),
    Surface("unchanged", "files after commands that change nothing", ("onnx",), _untouched, _left_alone, Untouched),
)
