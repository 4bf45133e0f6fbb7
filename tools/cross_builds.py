"""Compile the module for other systems and CPUs, and run its tests under qemu where that can be.

    python tools/cross_builds.py                                      # every target whose compiler is there
    python tools/cross_builds.py x86_64-windows-gnu --quick           # at -O1, the baseline alone
    python tools/cross_builds.py aarch64-linux-gnu --pytest tests/native/test_fences.py -k widened

Needs CMake, Ninja and pip, and for most targets the package ``ziglang`` (a Clang with the headers of each system). The
other compilers are Debian's ``g++-aarch64-linux-gnu`` and ``g++-mingw-w64-x86-64-posix``; ``--pytest`` takes all that
follows, and wants ``qemu-user-static`` and Debian's apt. NumPy's headers are of its wheel for the target. Python's are
this one's, with a few lines for Windows; there is no library of Windows' Python here, so that its targets are compiled
and not linked.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
NUMPY = "2.0.2" if sys.version_info < (3, 13) else "2.1.3"  # the oldest that has wheels


@dataclass(frozen=True)
class Target:
    """A system and CPU to compile for.

    Attributes:
        name: as zig spells it. system, processor: as CMake does. wheels: the platforms of NumPy's wheels, as pip does.
        gcc: the prefix of GCC's commands, their suffix after it; or empty: zig.
    """

    name: str
    system: str
    processor: str
    wheels: tuple[str, ...]
    gcc: tuple[str, str] | None = None

    @property
    def compiler(self) -> str:
        """What to call its compiler."""
        return "zig" if self.gcc is None else f"{self.gcc[0]}g++{self.gcc[1]}"


_ARM_WHEELS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64")
TARGETS = (
    Target("aarch64-linux-gnu", "Linux", "aarch64", _ARM_WHEELS, ("aarch64-linux-gnu-", "")),
    Target("aarch64-linux-musl", "Linux", "aarch64", ("musllinux_1_2_aarch64",)),
    Target("x86_64-linux-musl", "Linux", "x86_64", ("musllinux_1_2_x86_64",)),
    Target("aarch64-macos", "Darwin", "arm64", ("macosx_11_0_arm64", "macosx_14_0_arm64")),
    Target("x86_64-macos", "Darwin", "x86_64", ("macosx_10_9_x86_64", "macosx_10_13_x86_64", "macosx_14_0_x86_64")),
    Target("x86_64-windows-gnu", "Windows", "AMD64", ("win_amd64",)),
    Target("x86_64-windows-gnu", "Windows", "AMD64", ("win_amd64",), ("x86_64-w64-mingw32-", "-posix")),
)

# What PC/pyconfig.h says otherwise than the one that configure makes.
WINDOWS_PYCONFIG = """
#define MS_WINDOWS
#define MS_WIN64
#define NT_THREADS
#undef HAVE_PTHREAD_H
#undef HAVE_SYS_SELECT_H
#undef SIZEOF_LONG
#define SIZEOF_LONG 4
#undef SIZEOF_WCHAR_T
#define SIZEOF_WCHAR_T 2
"""


def has_compiler(target: Target) -> bool:
    """Whether a target's compiler is on this machine."""
    return (
        importlib.util.find_spec("ziglang") is not None if target.gcc is None else bool(shutil.which(target.compiler))
    )


def compilers(target: Target, folder: Path) -> dict[str, str]:
    """Return commands that compile C and C++; zig's, which take arguments, become scripts."""
    if target.gcc is not None:
        prefix, suffix = target.gcc
        return {"C": f"{prefix}gcc{suffix}", "CXX": f"{prefix}g++{suffix}"}
    scripts = {"C": "cc", "CXX": "c++", "AR": "ar", "RANLIB": "ranlib"}
    for verb in scripts.values():
        where = f" -target {target.name}" if verb in ("cc", "c++") else ""
        script = folder / f"zig-{verb}"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {verb}{where} "$@"\n')
        script.chmod(0o755)
    return {language: str(folder / f"zig-{verb}") for language, verb in scripts.items()}


def unpack(packages: tuple[str, ...], target: Target, to: Path, *extra: str) -> None:
    """Unpack the wheels of packages for a target into a folder."""
    wheels = to.with_name(f"{to.name} wheels")
    platforms = [f"--platform={tag}" for tag in target.wheels]
    command = [sys.executable, "-m", "pip", "download", "-q", "-d", str(wheels), *platforms, "--only-binary=:all:"]
    subprocess.run([*command, f"--python-version={VERSION}", *extra, *packages], check=True)
    for wheel in wheels.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(to)


def python_headers(target: Target, folder: Path) -> Path:
    """Return a folder of this Python's headers, as a target needs them."""
    own = Path(sysconfig.get_path("include"))
    if target.system != "Windows":
        return own
    headers = Path(shutil.copytree(own, folder / "headers"))
    with (headers / "pyconfig.h").open("a") as file:
        file.write(WINDOWS_PYCONFIG)
    return headers


def configure(target: Target, folder: Path, *, quick: bool) -> Path:
    """Run CMake for a target; return the build's folder."""
    build, site = folder / "build", folder / "site"
    unpack((f"numpy=={NUMPY}",), target, site, "--no-deps")
    found = compilers(target, folder)
    settings = {
        "CMAKE_SYSTEM_NAME": target.system,
        "MINUEND_DEVELOP": "ON" if quick else "OFF",
        "CMAKE_SYSTEM_PROCESSOR": target.processor,
        **{f"CMAKE_{name}{'' if name in ('AR', 'RANLIB') else '_COMPILER'}": path for name, path in found.items()},
        "CMAKE_INSTALL_NAME_TOOL": "true",  # macOS has one, and nothing is installed here
        "Python_EXECUTABLE": sys.executable,
        "Python_INCLUDE_DIR": str(python_headers(target, folder)),
        "Python_LIBRARY": str(folder / "no library"),
        "Python_NumPy_INCLUDE_DIR": str(site / "numpy" / "_core" / "include"),
    }
    (folder / "no library").touch()
    command = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(build), *(f"-D{k}={v}" for k, v in settings.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{target.name}: CMake does not configure:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return build


def compile_all(target: Target, build: Path) -> str:
    """Compile each file for a target, and link where that can be; return a row of the table."""
    begin = time.monotonic()
    listed = subprocess.run(
        ["ninja", "-C", str(build), "-t", "targets", "all"], capture_output=True, text=True, check=True
    )
    objects = [
        line.partition(":")[0] for line in listed.stdout.splitlines() if "CXX_COMPILER" in line or "C_COMPILER" in line
    ]
    links = target.system == "Linux"  # zig has no Python library for Windows, and its linker no bundles for macOS
    goals = ["all"] if links else objects
    done = subprocess.run(["ninja", "-C", str(build), "-k", "0", *goals], capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if "warning:" in line or "error:" in line]
    for line in found:
        print(line)
    sets = ", ".join(
        sorted(path.name.removeprefix("kernel_").removesuffix(".dir") for path in build.glob("CMakeFiles/kernel_*.dir"))
    )
    if done.returncode != 0:
        print(done.stdout[-4000:])
        outcome = "**failed**"
    else:
        outcome = f"{len(objects)} files{', linked' if links else ''}"
    return (
        f"| {target.name} | {target.compiler} | {sets} | {outcome} | {sum('warning:' in line for line in found)} "
        f"| {time.monotonic() - begin:.0f} |"
    )


def debian_root(architecture: str, folder: Path) -> Path:
    """Unpack Debian's Python of an architecture, and all that it stands on, into a folder of its own."""
    lists, debs, root = (folder / name for name in ("lists", "debs", "root"))
    for path in (lists / "partial", debs / "partial", root):
        path.mkdir(parents=True)
    (folder / "status").touch()
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "Dir::State::lists": lists,
        "Dir::State::status": folder / "status",
        "Dir::Cache::archives": debs,
    }
    apt = ["apt-get", "-qq", *(part for name, value in options.items() for part in ("-o", f"{name}={value}"))]
    subprocess.run([*apt, "update"], check=True)
    install = [
        "install",
        "-y",
        "--no-install-recommends",
        "--download-only",
        f"python{VERSION}",
        "libstdc++6",
        "libgomp1",
    ]
    subprocess.run([*apt, *install], stdout=subprocess.DEVNULL, check=True)
    for package in debs.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)
    return root


def run_tests(target: Target, build: Path, folder: Path, arguments: list[str]) -> int:
    """Run tests of this repository with a target's Python under qemu-user; return pytest's status."""
    site, package = folder / "tests site", folder / "package"
    unpack(("numpy", "ml_dtypes", "click", "rich", "pytest", "hypothesis"), target, site)
    shutil.copytree(ROOT / "src", package, ignore=shutil.ignore_patterns("*.so"))
    shutil.copy(next(build.glob("_native*.so")), package / "minuend" / "_native.so")
    root = debian_root("arm64", folder / "debian")
    environment = {
        **os.environ,
        "QEMU_LD_PREFIX": str(root),
        "PYTHONPATH": os.pathsep.join(map(str, (package, site))),
    }
    emulator = [f"qemu-{target.processor}-static", str(root / "usr" / "bin" / f"python{VERSION}")]
    command = [*emulator, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def rows(targets: list[Target], tests: list[str] | None, *, quick: bool) -> Iterator[str]:
    """Compile for targets; yield a row for each."""
    for target in targets:
        with tempfile.TemporaryDirectory(prefix="cross-") as name:
            folder = Path(name)
            build = configure(target, folder, quick=quick)
            row = compile_all(target, build)
            yield row
            if "failed" in row or (tests and run_tests(target, build, folder, tests) != 0):
                raise SystemExit(1)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="TARGET", help=", ".join(dict.fromkeys(t.name for t in TARGETS)))
    parser.add_argument("--quick", action="store_true", help="build the baseline alone, at -O1")
    parser.add_argument(
        "--pytest", nargs=argparse.REMAINDER, help="pytest's arguments, for aarch64-linux-gnu under qemu"
    )
    options = parser.parse_args()
    chosen = [target for target in TARGETS if not options.names or target.name in options.names]
    if options.pytest and options.names != ["aarch64-linux-gnu"]:
        parser.error("--pytest is for aarch64-linux-gnu, alone")
    print("| target | compiler | instruction sets | compiled | warnings | seconds |\n|---|---|---|---|---:|---:|")
    for target in chosen:
        if not has_compiler(target):
            print(f"| {target.name} | {target.compiler} | | not there | | |")
    for row in rows([target for target in chosen if has_compiler(target)], options.pytest, quick=options.quick):
        print(row, flush=True)


if __name__ == "__main__":
    main()
