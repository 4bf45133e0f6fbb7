"""Count the patterns that models hold, so that those that occur most are measured first.

    python tools/count_patterns.py [MODEL_OR_FOLDER …] [--random 500] > patterns.txt
    python tools/measure_target.py tract --patterns patterns.txt

A line has an element type, a pattern as it is printed, and the number of models that hold it. Models are by default
those of the tests and those of ONNX's own backend tests. Patterns that no list of cases has go to standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
from random_graphs import draw

from minuend.errors import MinuendError
from minuend.models.occurrences import occurrences
from minuend.models.opening import open_model
from minuend.runtimes import case_list
from minuend.standards.node import Node

FOLDERS = (
    Path(__file__).resolve().parent.parent / "tests" / "data" / "models",
    Path(onnx.__file__).parent / "backend" / "test" / "data" / "node",
)

_SEED = 777
"""Of random graphs: another one than those that verdicts are tried on."""


def models(paths: Sequence[Path], drawn: int) -> Iterator[Path | onnx.ModelProto]:
    """Yield the models of files and folders, and random ones."""
    for path in paths:
        yield from sorted(path.rglob("*.onnx")) if path.is_dir() else [path]
    for number in range(drawn):
        yield draw(_SEED, number).model


def patterns(model: Path | onnx.ModelProto) -> set[tuple[str, str]]:
    """Return the element types and patterns that a model holds; what rounds nothing is looked up as float32, too."""
    found = set()
    for occurrence in occurrences(open_model(model)):
        if not isinstance(occurrence.node, Node):
            continue
        for match in occurrence.matches:
            if not (match.far or match.later or match.folded):
                types = (occurrence.node.a.dtype, *(("float32",) if match.exact else ()))
                found |= {(dtype, str(match.pattern)) for dtype in types}
    return found


def counted(given: Iterator[Path | onnx.ModelProto]) -> Counter[tuple[str, str]]:
    """Count the models that hold each pattern; those that are no models are passed over."""
    counts: Counter[tuple[str, str]] = Counter()
    for model in given:
        try:
            counts.update(patterns(model))
        except (MinuendError, OSError) as error:
            print(f"{model if isinstance(model, Path) else 'a random graph'}: {error}", file=sys.stderr)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, default=FOLDERS)
    parser.add_argument("--random", type=int, default=0, metavar="N", help="and so many graphs of judge_graphs.py")
    given = parser.parse_args()
    listed = {(key.dtype, str(key.pattern)) for key in case_list.measured()}
    for (dtype, pattern), count in counted(models(given.models, given.random)).most_common():
        line = f"{dtype}\t{pattern}\t{count}"
        print(line if (dtype, pattern) in listed else f"not listed: {line}",
              file=sys.stdout if (dtype, pattern) in listed else sys.stderr)  # fmt: skip


if __name__ == "__main__":
    main()
