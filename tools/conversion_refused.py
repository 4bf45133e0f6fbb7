"""Write what conversion refuses: ``docs/conversion-refused.json``, and the table of ``docs/conversion.md``.

Some valid nodes of each version of each operator are converted to each opset, here and by ONNX's own version converter.
A result counts as valid where ONNX's full check accepts it and, where onnxruntime runs both, the outputs are equal.

    python tools/conversion_refused.py            # measures (ten minutes), writes both
    python tools/conversion_refused.py --missing  # measures the versions that have no row yet
    python tools/conversion_refused.py --table    # writes the table again from the JSON file
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from differential import conversion, node_models, onnx_worker, valid_nodes
from differential.comparable import fault, fits, is_random
from differential.conversion import Case
from differential.node_drafts import registry, split
from differential.onnx_worker import ABSENT, Failed
from differential.output_types import INVALID, typed
from differential.results import near
from differential.surface import Difference
from onnx import ModelProto

from minuend.errors import ConversionRefused
from minuend.onnx.opsets import convert_proto

DOCS = Path(__file__).parents[1] / "docs"
FACTS, PAGE = DOCS / "conversion-refused.json", DOCS / "conversion.md"
HEADING = "\n## Every operator\n"
NODES = 2
"""Valid nodes of each version."""
DRAWS = 40
"""Drafts that are drawn for them, at most."""
SHOWN = (7, 9, 11, 13, 15, 17, 18, 20, 21, 23, 28)


@dataclass
class Cell:
    """What came of the nodes of one version at one opset: outcomes by who converted, and the reasons here."""

    ours: Counter[str] = field(default_factory=Counter)
    theirs: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def row(self) -> dict[str, Any]:
        """As JSON."""
        reason = self.reasons.most_common(1)[0][0] if self.reasons else ""
        return {"ours": dict(self.ours), "onnx": dict(self.theirs), "reason": reason}


@dataclass(frozen=True)
class Sample:
    """A valid model, its inputs and what onnxruntime makes of them; ``None`` where it lacks a kernel."""

    model: ModelProto
    feeds: dict[str, Any]
    expected: list[Any] | None


PLACES = {"If": "if", "Loop": "loop", "Scan": "scan", "SequenceMap": "map"}
"""Operators that have bodies, and the place of a case whose nodes stand in one."""


def drawn(op: str, since: int, last: int, turn: int) -> Case:
    """A case with a node of a version: of another domain at any opset of the main one, or with another node inside."""
    source = random.Random(f"{op} {since} {turn}")
    if split(op)[0]:
        fields = valid_nodes.draw(source, op, source.choice(SHOWN[:-1]), since)
    else:
        fields = valid_nodes.draw(source, "Neg" if op in PLACES else op, source.randint(since, last))
    repeat = node_models.REPEATS[turn % len(node_models.REPEATS)]
    return Case(**fields, constants="initializer", seed=turn, place=PLACES.get(op, "graph"), repeat=repeat)


def samples(op: str, since: int, last: int) -> list[Sample]:
    """Valid models of one node of a version."""
    found: list[Sample] = []
    for turn in range(DRAWS):
        case = drawn(op, since, last, turn)
        try:
            built = valid_nodes.build(case)
            model = typed(node_models.model_of(case, built), built.feeds)
        except INVALID:
            continue
        if fault(model) or not fits(case):
            continue
        try:
            expected = onnx_worker.run(model.SerializeToString(), built.feeds)
        except Failed as error:
            if not any(word in str(error) for word in ABSENT):
                continue
            expected = None
        found.append(Sample(model, built.feeds, expected))
        if len(found) == NODES:
            break
    return found


def judged(sample: Sample, result: ModelProto) -> str:
    """Whether a converted model is valid, and gives what the original gives."""
    if fault(result):
        return "invalid"
    if sample.expected is None or is_random(sample.model):
        return "converted"
    try:
        came = onnx_worker.run(result.SerializeToString(), sample.feeds)
    except Failed as error:
        try:
            conversion.failed(str(error), result)
        except Difference:
            return "does not run"
        return "converted"
    return "converted" if all(map(near, sample.expected, came)) else "other results"


def measure(op: str, since: int, last: int) -> dict[int, Cell]:
    """Convert the samples of a version to the opsets on either side of it, and to those that the table shows."""
    cells: dict[int, Cell] = {}
    for sample in samples(op, since, last):
        data, own = sample.model.SerializeToString(), sample.model.opset_import[0].version
        first, end = (own, own) if split(op)[0] else (since, last)
        beside = set() if split(op)[0] else {since - 1, last + 1}
        for to in sorted({*SHOWN, *beside} & set(range(1, onnx.defs.onnx_opset_version() + 1))):
            if first <= to <= end:
                continue
            cell = cells.setdefault(to, Cell())
            try:
                cell.ours[judged(sample, convert_proto(sample.model, to)[0])] += 1
            except ConversionRefused as refusal:
                cell.ours["refused"] += 1
                cell.reasons[plain("; ".join(refusal.nodes.values()))] += 1
            try:
                theirs = ModelProto.FromString(onnx_worker.version_convert(data, to))
                cell.theirs[judged(sample, theirs)] += 1
            except Failed:
                cell.theirs["refused"] += 1
    return cells


def plain(reason: str) -> str:
    """A reason without the names of values and long bodies."""
    return re.sub(r"'[xv]\d+\w*'", "…", reason).partition("; ONNX's function body")[0][:200]


def measured() -> list[tuple[str, int, int]]:
    """The versions that are measured: those that are drawn, and those that have bodies."""
    return [row[:3] for row in registry() if not row[3] or row[0] in PLACES]


def facts(known: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Measure the versions without known rows; after each of them, all that is there: opsets alike are one row."""
    rows: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in known:
        rows.setdefault((row["operator"], row["version"]), []).append(row)
    without: dict[str, list[str]] = {}
    for op, since, _, why in registry():
        if why and op not in PLACES:
            without.setdefault(why, []).append(f"{op}-{since}")
    import onnxruntime

    head = {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__, "nodes": NODES,
            "command": "python tools/conversion_refused.py", "without": without}  # fmt: skip
    for op, since, last in measured():
        if (op, since) not in rows:
            rows[op, since] = _joined(op, since, measure(op, since, last))
            print(op, since, len(rows[op, since]), file=sys.stderr, flush=True)
        yield {**head, "rows": [row for key in sorted(rows) for row in rows[key]]}


def _joined(op: str, since: int, cells: dict[int, Cell]) -> list[dict[str, Any]]:
    """A row for each outcome: opsets in a row with the same one are together."""
    rows: list[dict[str, Any]] = []
    for to, cell in sorted(cells.items()):
        row = {"operator": op, "version": since, **cell.row()}
        if rows and rows[-1] == {**row, "to": rows[-1]["to"]}:
            rows[-1]["to"].append(to)
        else:
            rows.append({**row, "to": [to]})
    return rows


# ---- the table ----------------------------------------------------------------------------------------------------


def section(found: dict[str, Any]) -> str:
    """The section of the page."""
    lines = [
        HEADING,
        f"\nUp to {found['nodes']} valid nodes of each version of each operator in ONNX's registry, to the opsets on",
        f"either side of the version and to those below: `{found['command']}` writes this table and",
        "[conversion-refused.json](conversion-refused.json), which has each version, opset and reason. *Converted*:",
        f"the result passes ONNX's full check and, where onnxruntime {found['onnxruntime']} runs both models, gives",
        "equal outputs (within rounding where an operator is expanded). Beside it: the version converter of onnx",
        f"{found['onnx']}, judged alike. Nodes of other domains (ai.onnx.ml and the previews) stay as they are while",
        "the main domain's opset changes.",
        "\n| to opset | nodes | converted | refused | by onnx's converter: converted | refused | invalid or wrong |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for to in SHOWN:
        rows = [row for row in found["rows"] if to in row["to"]]
        ours, theirs = (sum((Counter(row[who]) for row in rows), Counter()) for who in ("ours", "onnx"))
        bad = theirs.total() - theirs["converted"] - theirs["refused"]
        lines.append(f"| {to} | {ours.total()} | {ours['converted']} | {ours['refused']} | {theirs['converted']} "
                     f"| {theirs['refused']} | {bad} |")  # fmt: skip
    only = sorted({(row["operator"], row["version"], tuple(row["to"]), row["reason"]) for row in found["rows"]
                   if row["onnx"].get("converted", 0) and not row["ours"].get("converted", 0)})  # fmt: skip
    lines += ["\nWhat is refused here of which onnx's converter makes a valid model of some node:\n",
              "| version | to opset | reason |", "|---|---|---|"]  # fmt: skip
    for op, version, opsets, reason in only:
        lines.append(f"| {op}-{version} | {', '.join(map(str, opsets))} | {reason.replace('|', chr(92) + '|')} |")
    lines += ["\nWhat has no row, and why:\n", "| reason | versions |", "|---|---|"]
    lines += [f"| {why} | {', '.join(names)} |" for why, names in sorted(found["without"].items())]
    return "\n".join(lines) + "\n"


def written(page: str, found: dict[str, Any]) -> str:
    """The page with the section in the place of the one that it had."""
    return page.partition(HEADING)[0].rstrip("\n") + "\n" + section(found)


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--table", action="store_true", help="write the table from the JSON file that is there")
    parser.add_argument("--missing", action="store_true", help="measure the versions alone that have no row yet")
    given = parser.parse_args()
    if not given.table:
        for found in facts(json.loads(FACTS.read_text("utf-8"))["rows"] if given.missing else []):
            FACTS.write_text(_lines(found), "utf-8")
    PAGE.write_text(written(PAGE.read_text("utf-8"), json.loads(FACTS.read_text("utf-8"))), "utf-8")
    return 0


def _lines(found: dict[str, Any]) -> str:
    """JSON with a row to a line."""
    rows = ",\n".join(f"  {json.dumps(row, sort_keys=True)}" for row in found.pop("rows"))
    head = json.dumps(found, indent=1)[:-2]
    return f'{head},\n "rows": [\n{rows}\n ]\n}}\n'


if __name__ == "__main__":
    sys.exit(main())
