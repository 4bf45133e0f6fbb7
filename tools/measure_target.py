"""Measure what one release of a runtime does, and write it as a target's file.

    python tools/measure_target.py openvino-cpu [--python OTHER_PYTHON] [-o src/minuend/runtimes/measured]

The cases are made and judged here. ``--python`` names the Python of an environment that holds the release; NumPy and
the runtime are all that it needs. Without it the release of this environment is measured.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from minuend.runtimes import targets
from minuend.runtimes.adapting import adapters
from minuend.runtimes.proving import measure as measure_runtime
from minuend.runtimes.running import Runtime
from minuend.storage.writing import atomic

TARGETS = Path(__file__).resolve().parent.parent / "src" / "minuend" / "runtimes" / "measured"


def measure(runtime: str, python: str | None, folder: Path) -> Path:
    """Measure a runtime and return the file written."""
    start = time.perf_counter()
    with Runtime(runtime, python) as asked:
        target = measure_runtime(asked, progress=_progress if sys.stderr.isatty() else None)
    path = folder / f"{target.name}.json"
    with atomic(str(path)) as stream:
        stream.write(targets.dump(target).encode())
    print(f"{target.name}: {len(target.rows)} rows in {time.perf_counter() - start:.0f} s → {path.name}", flush=True)
    return path


def _progress(done: int, total: int) -> None:
    print(f"\r{done}/{total}", end="" if done < total else "\n", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", choices=sorted(adapters()))
    parser.add_argument("--python", help="the Python of the environment that holds the release")
    parser.add_argument("-o", "--output", type=Path, default=TARGETS, help="the folder to write to")
    given = parser.parse_args()
    measure(given.runtime, given.python, given.output)


if __name__ == "__main__":
    main()
