"""Build the module with sanitizers in a temporary folder and run the kernel's tests under them.

    python tools/sanitize.py                      # both builds, the long selection of tests
    python tools/sanitize.py thread --short       # one of them, in about a minute
    python tools/sanitize.py --keep build         # what is built stays in this folder, and is not built again
    python tools/sanitize.py --keep build --build # build alone
    python tools/sanitize.py --prove              # broken copies of the code: each must be reported

Needs Linux, GCC, pip and the packages of ``pip install ".[test]"``. The build is MINUEND_DEVELOP's: -O1, one
instruction set. Ends with 1 where a sanitizer reports something or a test fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "native", "pyproject.toml", "src")


@dataclass(frozen=True)
class Break:
    """A defect that a sanitizer must see: in ``file``, ``old`` becomes ``new``; ``tests`` run over it."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Sanitizer:
    """One build and what runs under it.

    Attributes:
        flag: as ``-fsanitize`` takes it. library: what is loaded before Python. variables: the environment that sets
            its options. options: those options. short, long: pytest's arguments. broken: what it must see.
    """

    flag: str
    library: str
    variables: tuple[str, ...]
    options: tuple[str, ...]
    short: tuple[str, ...]
    long: tuple[str, ...]
    broken: tuple[Break, ...] = field(repr=False)


SANITIZERS = {
    "address": Sanitizer(
        "address,undefined",
        "libasan.so",
        ("ASAN_OPTIONS", "UBSAN_OPTIONS"),
        # Python keeps what it has to its end, and the tests ask for more memory than there is.
        ("detect_leaks=0", "allocator_may_return_null=1", "print_stacktrace=1"),
        (
            *(f"tests/native/test_{name}.py" for name in ("fences", "memory", "container")),
            *("-k", "not malloc_gives_nothing and not little_memory"),
        ),
        # A bound on memory leaves no room for shadows.
        ("tests/native", "-k", "not malloc_gives_nothing and not little_memory"),
        (
            Break(
                "a write behind the result",
                "native/kernel/gather.h",
                "for (; i < n; ++i, from += stride, to += step) put<T>",
                "for (; i <= n; ++i, from += stride, to += step) put<T>",
                ("tests/native/test_fences.py", "-k", "every_count"),
            ),
        ),
    ),
    "thread": Sanitizer(
        "thread",
        "libtsan.so",
        ("TSAN_OPTIONS",),
        ("die_after_fork=0", "allocator_may_return_null=1"),
        ("tests/native/test_threads.py", "-k", "at_once or (forked and alone) or meanwhile"),
        (
            "tests/native/test_threads.py",
            "tests/native/test_memory.py",
            "-k",  # it follows no child that starts threads
            "not malloc_gives_nothing and not little_memory and (not forked or alone)",
        ),
        (
            Break(
                "a data race",
                "native/plan/execute.cc",
                "std::atomic<size_t> count{0};",
                "size_t count = 0;",
                ("tests/native/test_threads.py", "-k", "counts_every_overflow"),
            ),
        ),
    ),
}


def build(sanitizer: Sanitizer, source: Path, to: Path) -> None:
    """Install the module, built from ``source`` with a sanitizer, into the folder ``to``, unless that is there."""
    if to.exists():
        return
    settings = (f"-Ccmake.define.MINUEND_SANITIZE={sanitizer.flag}", "-Ccmake.define.MINUEND_DEVELOP=ON")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(to), *settings, str(source)]
    subprocess.run(command, env={**os.environ, "CC": "gcc", "CXX": "g++"}, check=True)


def library(name: str) -> str:
    """Return where GCC keeps a library."""
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout
    return str(Path(found.strip()).resolve())


def run(sanitizer: Sanitizer, package: Path, arguments: tuple[str, ...], logs: Path) -> tuple[int, list[str]]:
    """Run tests over a build; return pytest's status and what the sanitizer reported, one text a process."""
    options = ":".join((*sanitizer.options, f"log_path={logs}/report"))
    environment = {
        **os.environ,
        **dict.fromkeys(sanitizer.variables, options),
        "LD_PRELOAD": f"{library(sanitizer.library)} {library('libstdc++.so')}",
        "PYTHONPATH": os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]),
        "PYTHONMALLOC": "malloc",  # Python's own allocator would hide where blocks end
        "OPENBLAS_NUM_THREADS": "1",
        "MINUEND_TEST_PATIENCE": "20",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:faulthandler",
        *arguments,
    ]
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    reports = [path.read_text(errors="replace") for path in sorted(logs.glob("report*"))]
    return status, [report for report in reports if any(map(is_finding, report.splitlines()))]  # others are warnings


def is_finding(line: str) -> bool:
    """Whether a line says what was found, and where."""
    return line.startswith("SUMMARY: ") or ": runtime error: " in line


def findings(reports: list[str]) -> list[str]:
    """Return the lines that say what was found, each once."""
    return list(dict.fromkeys(line for report in reports for line in report.splitlines() if is_finding(line)))


def cpu_seconds() -> float:
    """Return the CPU's seconds of all processes that were started and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def examine(name: str, *, short: bool, keep: Path | None) -> bool:
    """Build, run, print; return whether all is well."""
    sanitizer = SANITIZERS[name]
    with tempfile.TemporaryDirectory(prefix="sanitize-") as folder:
        package, logs = (keep or Path(folder)) / name, Path(folder)
        begin = cpu_seconds()
        build(sanitizer, ROOT, package)
        built = cpu_seconds()
        status, reports = run(sanitizer, package, sanitizer.short if short else sanitizer.long, logs)
        seconds = f"{built - begin:.0f} CPU seconds to build, {cpu_seconds() - built:.0f} of tests"
    for line in findings(reports):
        print(line)
    print(f"{sanitizer.flag}: {seconds}, {len(reports)} reports{'' if status == 0 else ', tests failed'}", flush=True)
    return status == 0 and not reports


def prove(name: str, broken: Break) -> bool:
    """Break a copy of the code; return whether the sanitizer reports it."""
    sanitizer = SANITIZERS[name]
    with tempfile.TemporaryDirectory(prefix="sanitize-") as folder:
        copy = Path(folder) / "source"
        for part in SOURCES:
            whole = ROOT / part
            if whole.is_dir():
                shutil.copytree(whole, copy / part, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
            else:
                copy.mkdir(exist_ok=True)
                shutil.copy(whole, copy / part)
        file = copy / broken.file
        text = file.read_text()
        if text.count(broken.old) != 1:
            raise SystemExit(
                f"{broken.file} has no longer one place that reads {broken.old!r}: SANITIZERS needs another"
            )
        file.write_text(text.replace(broken.old, broken.new))
        build(sanitizer, copy, Path(folder) / "package")
        _, reports = run(sanitizer, Path(folder) / "package", broken.tests, Path(folder))
    found = findings(reports)
    print(f"{broken.what}: {'reported: ' + found[0] if found else 'NOT reported'}", flush=True)
    return bool(found)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SANITIZER", help=f"{' or '.join(SANITIZERS)}; all by default")
    parser.add_argument("--short", action="store_true", help="the tests that CI runs")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where builds stay")
    parser.add_argument("--build", action="store_true", help="build, and run no tests; needs --keep")
    parser.add_argument("--prove", action="store_true", help="break copies of the code instead, which must be reported")
    options = parser.parse_args()
    names = options.names or list(SANITIZERS)
    if unknown := set(names) - set(SANITIZERS):
        parser.error(f"no sanitizer {', '.join(sorted(unknown))}; there are {', '.join(SANITIZERS)}")
    if options.build:
        if options.keep is None:
            parser.error("--build needs --keep FOLDER, where the builds stay")
        for name in names:
            build(SANITIZERS[name], ROOT, options.keep / name)
        return 0
    if options.prove:
        proved = [prove(name, broken) for name in names for broken in SANITIZERS[name].broken]
        return 0 if all(proved) else 1
    sound = [examine(name, short=options.short, keep=options.keep) for name in names]
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
