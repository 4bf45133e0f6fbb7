"""Convert and run the models of ``tests/data/models``; write what share converts, and why the rest does not.

python tools/corpus_report.py > docs/conversion.md
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import onnx
import onnxruntime

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import model_corpus as corpus
from conversion_refused import FACTS, written
from model_corpus import INDEX

HEAD = """\
# Converting whole models between opsets

An opset is one number for all nodes of a model, so its Sub nodes reach another version only where every other node does
too. `minuend convert MODEL --to onnx:N` moves a whole model or refuses it and names each node in the way; nothing is
converted halfway.

Before anything is rewritten, every node is validated against its own version: its attributes and their types, the
number of its inputs and outputs, its element types. What is not allowed there is refused and does not come alive in
another version. `tools/differential.py --surface convert-invalid` compares this with ONNX's checker on models that
break one rule.

What share of real models converts is measured on {files} files (`tests/data/models`): {modules} small models that
PyTorch exported, {torchscript} files by its TorchScript exporter and {dynamo} by dynamo, at opsets 13 to 20, with
{subs} Sub nodes among them. Each file is converted, checked by `onnx.checker` (full) and strict shape inference, and
run by onnxruntime before and after, without graph optimisation and on one thread.

Measured with {versions}; `tools/corpus_report.py` writes this page.
"""

COLUMNS = """\

## The share that converts

| to opset | files | convert | same bits | within rounding | largest difference | refused |
|---:|---:|---:|---:|---:|---:|---:|
"""

NOTES = """
*To opset N* counts the files that are not there yet. *Same bits*: every output is equal bit for bit. *Within rounding*:
an operator that the older opset lacks was expanded into ONNX's function body for it, or onnxruntime computes the
operator by another kernel there (AveragePool from opset 19 on); the *largest difference* is a share of the largest
magnitude in the output. {newest} is the newest opset of this onnx, which onnxruntime does not run yet: checked only.
"""


def versions() -> str:
    """The packages that the numbers depend on."""
    return f"onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__}"


def page() -> str:
    """The whole page."""
    rows = list(INDEX.values())
    head = HEAD.format(
        files=len(rows),
        modules=len({row["module"] for row in rows}),
        torchscript=sum(row["exporter"] == "torchscript" for row in rows),
        dynamo=sum(row["exporter"] == "dynamo" for row in rows),
        subs=sum(row["subs"] for row in rows),
        versions=versions(),
    )
    newest = onnx.defs.onnx_opset_version()
    goals = sorted({13, 15, corpus.newest_runnable(), newest})
    table = "".join(map(line, goals))
    notes = NOTES.format(newest=newest) if newest > corpus.newest_runnable() else NOTES.rsplit(" {newest}", 1)[0] + "\n"
    return head + COLUMNS + table + notes + refusals(goals)


def line(opset: int) -> str:
    """The line of the table for one goal."""
    files = [file for file in INDEX if INDEX[file]["opset"] != opset]
    done = [file for file in files if corpus.convert(file, opset).model is not None]
    counts = f"| {opset} | {len(files)} | {len(done)} ({len(done) / len(files):.1%})"
    refused = len(files) - len(done)
    if opset > corpus.newest_runnable():
        return f"{counts} | not run | not run | not run | {refused} |\n"
    same, worst = 0, 0.0
    for file in done:
        after = corpus.on_onnxruntime(corpus.convert(file, opset).model, corpus.inputs(file))
        if corpus.same_bits(corpus.before(file), after):
            same += 1
        else:
            worst = max(worst, *map(corpus.difference, corpus.before(file), after))
    return f"{counts} | {same} | {len(done) - same} | {worst:.0e} | {refused} |\n"


def refusals(goals: list[int]) -> str:
    """Each reason for a refusal, with the files."""
    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    for opset in goals:
        for file in INDEX:
            for reason in corpus.convert(file, opset).reasons:
                found[opset, reason].append(file.removesuffix(".onnx"))
    if not found:
        return "\n## What is refused\n\nNothing.\n"
    lines = [
        f"| {opset} | {reason.replace('|', chr(92) + '|')} | {', '.join(f'`{file}`' for file in files)} |\n"
        for (opset, reason), files in sorted(found.items())
    ]
    return "\n## What is refused\n\n| to opset | reason | files |\n|---:|---|---|\n" + "".join(lines)


if __name__ == "__main__":
    sys.stdout.write(written(page(), json.loads(FACTS.read_text("utf-8"))))
