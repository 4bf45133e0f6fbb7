"""Measure the highest opset and IR version that releases of a runtime load, each in an environment of its own.

    python tools/measure_limits.py [onnxruntime-cpu …] [--release 1.20.1 …] [--python PYTHON]

A model of one Sub is compiled at each opset and at each IR version. What is printed is the release's row in ``LOADED``
of the runtime's file in ``src/minuend/runtimes/adapters/``. Releases are those of ``tools/measure_releases.py``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from measure_releases import SERIES, install
from onnx import TensorProto, helper

from minuend import worker
from minuend.runtimes.registry import adapter

_BEYOND = 60
"""No release knows of such an opset or IR version; one that loads it looks at neither."""


def model(opset: int, ir_version: int) -> bytes:
    """Return a model of one Sub."""
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "abc"]
    graph = helper.make_graph([helper.make_node("Sub", ["a", "b"], ["c"])], "limits", types[:2], types[2:])
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version).SerializeToString()


def limits(runtime: str, python: str) -> tuple[int | None, int | None]:
    """Return the highest opset and the highest IR version that a release loads; ``None`` where there is no limit."""
    command = [python, "-I", worker.__file__, adapter(runtime).__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        worker.read(child.stdout)

        def loads(opset: int, ir_version: int) -> bool:
            worker.write(child.stdin, {"form": "onnx", "inputs": []}, [model(opset, ir_version), b""])
            answer = worker.read(child.stdout)
            if answer is None:
                raise SystemExit(f"{runtime} ended at opset {opset}, IR version {ir_version}")
            return answer[0].get("stage") != "build"

        # Opset 13 came with IR version 7: each is tried with a partner that every release here knows.
        opset = max((n for n in range(13, _BEYOND) if loads(n, 7)), default=0)
        ir_version = max((n for n in range(7, _BEYOND) if loads(13, n)), default=0)
        assert child.stdin is not None
        child.stdin.close()
    return _unless_beyond(opset), _unless_beyond(ir_version)


def _unless_beyond(found: int) -> int | None:
    return None if found == _BEYOND - 1 else found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [name for name in dict.fromkeys(series.runtime for series in SERIES) if hasattr(adapter(name), "LOADED")]
    parser.add_argument("runtimes", nargs="*", metavar="RUNTIME", help=f"of {', '.join(known)}; by default all")
    parser.add_argument("--release", action="append", help="only this one; can be repeated")
    parser.add_argument("--python", default=sys.executable, help="the Python of the environments")
    given = parser.parse_args()
    if unknown := set(given.runtimes) - set(known):
        parser.error(f"no limits of {', '.join(sorted(unknown))} are known; expected {', '.join(known)}")
    for series in SERIES:
        for release in series.releases:
            if series.runtime in (given.runtimes or known) and release in (given.release or (release,)):
                with tempfile.TemporaryDirectory(prefix="release-") as folder:
                    found = limits(series.runtime, install(given.python, Path(folder), series, release))
                print(f'{series.runtime}    "{release}": {found},', flush=True)


if __name__ == "__main__":
    main()
