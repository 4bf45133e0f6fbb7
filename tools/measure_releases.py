"""Measure releases of runtimes, one after the other, each in a virtual environment that is deleted afterwards.

    python tools/measure_releases.py [onnxruntime-cpu …] [--release 1.20.1 …] [--python PYTHON] [--again]
        [--graphs missing|all [--types float32 …]]

A release that has its file already is left out unless ``--again`` is given; ``--graphs`` asks those that have theirs
for graph cases, ``all`` or what is ``missing``. One that does not install or does not
start is told, and the next one's turn comes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from measure_target import TARGETS, measure

from minuend.errors import MinuendError
from minuend.runtimes.registry import adapter


@dataclass(frozen=True)
class Series:
    """Releases that install alike.

    Attributes:
        runtime: its name. releases: from old to new. needs: what to install besides; the release itself is installed
            without what its makers ask for. alone: whether nodes alone are measured, and no graph cases.
    """

    runtime: str
    releases: tuple[str, ...]
    needs: tuple[str, ...]
    alone: bool = False


_ORT = ("coloredlogs", "flatbuffers", "packaging", "protobuf", "sympy")
SERIES = (
    Series("onnxruntime-cpu", ("1.15.0", "1.16.0", "1.16.3", "1.17.0", "1.17.3", "1.18.1"), ("numpy<2", *_ORT)),
    Series(
        "onnxruntime-cpu",
        ("1.19.2", "1.20.1", "1.21.1", "1.22.1", "1.23.2", "1.24.4", "1.26.0", "1.28.0", "1.30.0", "1.31.1", "1.32.0"),
        ("numpy>=2", "ml_dtypes", *_ORT),
    ),
    Series(
        "openvino-cpu",
        ("2023.0.0", "2023.1.0", "2023.2.0", "2023.3.0", "2024.0.0", "2024.3.0"),
        ("numpy<2", "openvino-telemetry", "packaging"),
    ),
    Series(
        "openvino-cpu",
        ("2024.6.0", "2025.0.0", "2025.2.0", "2025.4.1", "2026.0.0", "2026.2.1", "2026.3.1", "2026.4.0", "2026.4.1"),
        ("numpy>=2", "openvino-telemetry", "packaging"),
    ),
    Series("onnx-reference", ("1.14.1", "1.15.0", "1.16.2"), ("numpy<2", "protobuf<5")),
    Series("onnx-reference", ("1.17.0", "1.18.0"), ("numpy>=2", "protobuf<6", "ml_dtypes", "typing_extensions")),
    Series(
        "onnx-reference",
        ("1.19.1", "1.20.1", "1.21.0", "1.22.0", "1.23.2"),
        ("numpy>=2", "protobuf>=6.31", "ml_dtypes", "typing_extensions"),
    ),
    Series("onnxruntime-openvino", ("1.24.1",), ("numpy>=2", *_ORT), alone=True),
    Series("onnxruntime-node", ("1.24.3", "1.30.0"), ("numpy>=2",), alone=True),
    Series("onnxruntime-web", ("1.24.3", "1.30.0"), ("numpy>=2",), alone=True),
    Series("onnxruntime-webgpu", ("1.30.0",), ("numpy>=2",), alone=True),
    Series("litert", ("2.1.6", "2.3.0"), ("ai-edge-litert",), alone=True),
    Series("litert-kernels", ("2.3.0",), ("ai-edge-litert",), alone=True),
    Series("litert-quantised", ("2.3.0",), ("ai-edge-litert",), alone=True),
    Series("opencv-dnn", ("5.0.0.93",), ("numpy>=2",), alone=True),
    Series("tract", ("0.23.9",), ("numpy>=2",), alone=True),
    Series("tvm", ("0.27.0.post1",), ("apache-tvm", "ml_dtypes", "onnx"), alone=True),
    Series("iree", ("3.13.0",), ("iree-base-runtime==3.13.0", "ml_dtypes", "onnx"), alone=True),
    Series("mnn", ("3.6.1",), ("numpy>=2", "ml_dtypes", "onnx"), alone=True),
    Series("jax-cpu", ("0.8.3",), ("jax==0.8.3",), alone=True),
    Series("jax-cpu", ("0.10.2",), ("jax==0.10.2",), alone=True),
    Series("tensorflow-cpu", ("2.20.0", "2.21.0"), ("tensorflow-cpu",), alone=True),
)


def install(python: str, folder: Path, series: Series, release: str) -> str:
    """Make an environment that holds a release and return its Python."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True, capture_output=True)
    inside = str(folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    package = adapter(series.runtime).PACKAGE
    subprocess.run([*pip, *series.needs], check=True, capture_output=True, text=True)
    if getattr(adapter(series.runtime), "INSTALL", "").startswith("npm "):
        npm = ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(folder / "lib")]
        subprocess.run([*npm, f"{package}@{release}"], check=True, capture_output=True, text=True)
        return inside
    subprocess.run([*pip, "--no-deps", f"{package}=={release}"], check=True, capture_output=True, text=True)
    return inside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = list(dict.fromkeys(series.runtime for series in SERIES))
    parser.add_argument("runtimes", nargs="*", metavar="RUNTIME", help=f"of {', '.join(known)}; by default all")
    parser.add_argument("--release", action="append", help="only this one; can be repeated")
    parser.add_argument("--python", default=sys.executable, help="the Python of the environments")
    parser.add_argument("--again", action="store_true", help="measure releases whose files exist, too")
    parser.add_argument("--graphs", choices=("all", "missing", "none"), default="", help="ask for graph cases alone")
    parser.add_argument("--types", nargs="+", default=(), metavar="TYPE", help="with --graphs: of these types alone")
    parser.add_argument("-o", "--output", type=Path, default=TARGETS, help="the folder to write to")
    given = parser.parse_args()
    if unknown := set(given.runtimes) - set(known):
        parser.error(f"no releases of {', '.join(sorted(unknown))} are listed; expected {', '.join(known)}")
    for series in SERIES:
        for release in series.releases:
            path = given.output / f"{series.runtime}@{release}.json"
            chosen = not given.runtimes or series.runtime in given.runtimes
            wanted = path.exists() if given.graphs else given.again or not path.exists()
            if not chosen or (given.release and release not in given.release) or not wanted:
                continue
            _one(series, release, given)


def _one(series: Series, release: str, given: argparse.Namespace) -> None:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        try:
            inside = install(given.python, Path(folder), series, release)
            measure(series.runtime, inside, given.output, given.graphs or ("none" if series.alone else ""), given.types)
        except subprocess.CalledProcessError as error:
            lines = [line for line in (error.stderr or "").splitlines() if line.strip()]
            print(f"{series.runtime}@{release} does not install: {lines[-1] if lines else error}", flush=True)
        except MinuendError as error:
            print(f"{series.runtime}@{release}: {error}", flush=True)
        else:
            print(f"  {time.perf_counter() - start:.0f} s with its environment", flush=True)


if __name__ == "__main__":
    main()
