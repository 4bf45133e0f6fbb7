"""Build the wheel with every compiler and Python that is here, and run a sample of the tests over each.

    python tools/builds.py                                     # every GCC and Clang on the PATH, this Python
    python tools/builds.py gcc-11 --python python3.12 python3.13t --headers 2.0.2
    python tools/builds.py gcc-12 --headers newest             # headers of the newest NumPy
    python tools/builds.py --quick                             # MINUEND_DEVELOP's build: -O1, the baseline alone

The tests run with the NumPy whose headers the build took, and with the newest. Prints a table; ends with 1 where a
build or a test fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = "2.0.2"
"""The oldest NumPy whose headers will do; a Python that has no wheel of it takes the newest."""

SAMPLE = ("tests/native/test_fences.py", "tests/native/test_memory.py", "tests/native/test_kernel_edges.py")
TOOLS = ("cmake", "ninja", "scikit-build-core>=0.11")
PACKAGES = ("click", "hypothesis", "ml_dtypes", "pytest", "rich")
FACTS = """
import json, sys, numpy
from minuend import _native
gil = getattr(sys, "_is_gil_enabled", lambda: True)()
print(json.dumps({"sets": _native.built_instruction_sets(), "numpy": numpy.__version__, "gil": gil}))
"""


def compilers() -> list[str]:
    """Return the names of every GCC and Clang on the PATH whose C++ compiler is there too, each version once."""
    names = {p.name for d in os.get_exec_path() if Path(d).is_dir() for p in Path(d).iterdir()}
    found: dict[Path, str] = {}
    for name in sorted((n for n in names if re.fullmatch(r"(gcc|clang)(-\d+)?", n)), key=lambda n: (-len(n), n)):
        path = shutil.which(name)
        if path and shutil.which(cxx(name)):
            found.setdefault(Path(path).resolve(), name)
    return sorted(found.values())


def cxx(compiler: str) -> str:
    """Return the C++ compiler beside a C compiler."""
    return compiler.replace("gcc", "g++").replace("clang", "clang++")


class Environment:
    """A virtual environment of one Python, with the NumPy that builds take their headers from."""

    def __init__(self, python: str, headers: str, folder: Path) -> None:
        """Make it and install what builds and tests need."""
        self.folder = folder
        self.python = str(folder / "bin" / "python")
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        self.name = self.ask("import platform, sys; print(platform.python_version() + sys.abiflags)")
        self.install(*TOOLS, *PACKAGES)
        if headers == "newest" or not self.install(f"numpy=={headers}", optional=True):
            self.install("numpy")
        self.numpy = self.ask("import numpy; print(numpy.__version__)")

    def ask(self, script: str) -> str:
        """Return what a script prints."""
        command = [self.python, "-c", script]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def install(self, *packages: str, optional: bool = False) -> bool:
        """Install packages, without building any; return whether that was possible."""
        command = [self.python, "-m", "pip", "install", "-q", "--only-binary=:all:", *packages]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 and not optional:
            raise SystemExit(f"{self.python} cannot install {' '.join(packages)}:\n{done.stderr[-2000:]}")
        return done.returncode == 0

    def build(self, compiler: str, to: Path, *, quick: bool) -> tuple[float, str]:
        """Build the wheel into a folder; return the CPU's seconds and all that was said."""
        command = [
            self.python,
            "-m",
            "pip",
            "wheel",
            "-v",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            str(to),
            str(ROOT),
        ]
        if quick:
            command.append("-Ccmake.define.MINUEND_DEVELOP=ON")
        before = os.times()
        done = subprocess.run(
            command,
            env={
                **os.environ,
                "CC": compiler,
                "CXX": cxx(compiler),
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{compiler} does not build:\n{done.stdout[-6000:]}")
        after = os.times()
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        return seconds, done.stdout

    def test(self) -> str:
        """Run the sample; return pytest's own words for what came of it."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [self.python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *SAMPLE]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stdout[-3000:])
        return done.stdout.strip().splitlines()[-1].partition(" in ")[0]


def row(compiler: str, environment: Environment, *, quick: bool) -> str:
    """Build with a compiler, test, and return a row of the table."""
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        seconds, said = environment.build(compiler, Path(folder), quick=quick)
        environment.install(f"numpy=={environment.numpy}", "--force-reinstall", *map(str, Path(folder).glob("*.whl")))
    facts = json.loads(environment.ask(FACTS))
    tests = [f"{environment.numpy}: {environment.test()}"]
    environment.install("--upgrade", "numpy")
    if (newest := environment.ask("import numpy; print(numpy.__version__)")) != environment.numpy:
        tests.append(f"{newest}: {environment.test()}")
    version = subprocess.run([compiler, "-dumpfullversion", "-dumpversion"], capture_output=True, text=True, check=True)
    name = f"{compiler.partition('-')[0]} {version.stdout.split()[0]}"
    python = environment.name + ("" if facts["gil"] else ", no GIL")
    warnings = len(re.findall(r"warning:", said))
    cells = (
        name,
        python,
        ", ".join(facts["sets"]),
        environment.numpy,
        f"{seconds:.0f}",
        str(warnings),
        "; ".join(tests),
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compilers", nargs="*", help="such as gcc-11; every one that is here by default")
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="the Pythons to build for")
    parser.add_argument("--headers", default=OLDEST, help="NumPy's release, or newest (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="build the baseline alone, at -O1")
    options = parser.parse_args()
    print("| compiler | Python | instruction sets | headers of NumPy | CPU seconds | warnings | tests with NumPy |")
    print("|---|---|---|---|---:|---:|---|", flush=True)
    failed = False
    for python in options.python:
        for compiler in options.compilers or compilers():
            with tempfile.TemporaryDirectory(prefix="builds-") as folder:
                environment = Environment(python, options.headers, Path(folder) / "venv")
                text = row(compiler, environment, quick=options.quick)
            print(text, flush=True)
            failed |= "failed" in text or "error" in text
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
