"""The user's own measured files: a folder of their data, which stands before the files of packages.

It is the folder that ``MINUEND_TARGETS`` names; without that, ``minuend/targets`` in ``XDG_DATA_HOME``, in
``LOCALAPPDATA`` on Windows, or in ``~/.local/share``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from minuend.errors import SpecError, listed, near, shown
from minuend.runtimes.registry import proper
from minuend.runtimes.target import Target
from minuend.runtimes.target_files import read

FOLDER = "MINUEND_TARGETS"
"""The environment variable that names the folder."""


def folder() -> Path:
    """Return the folder, which need not exist."""
    if own := os.environ.get(FOLDER):
        return Path(own)
    data = os.environ.get("XDG_DATA_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return (Path(data) if data else Path.home() / ".local" / "share") / "minuend" / "targets"


def files() -> Mapping[str, Path]:
    """Return the user's files by their targets' names."""
    try:
        found = sorted(folder().iterdir())
    except FileNotFoundError:
        return {}
    return {path.name.removesuffix(".json"): path for path in found if path.name.endswith(".json") and "@" in path.name}


def stamp(name: str) -> str:
    """Return what changes when a file does."""
    found = files()[name].stat()
    return f"{found.st_mtime_ns} {found.st_size} {found.st_ino}"


def add(path: str | os.PathLike[str]) -> Target:
    """Check a measured file in full and copy it into the folder; one of the same target is replaced.

    Args:
        path: a file of ``minuend measure``.

    Returns:
        The target that it holds.

    Raises:
        FileNotFoundError, SpecError, FileFormatError: the file is missing, of another format, or holds no target.
    """
    found = read(path)
    if (name := proper(found.runtime)) != found.runtime:
        raise SpecError("targets", f"{os.fspath(path)} names its runtime {shown(found.runtime)}; expected {name}")
    with open(path, "rb") as stream:
        data = stream.read()
    from minuend.files.transaction.writing import together  # slow, and reading needs none

    with together([str(folder() / f"{found.name}.json")], [os.fspath(path)], folders=True) as (stream,):
        stream.write(data)
    return found


def remove(name: str) -> Path:
    """Remove a file from the folder and return where it was.

    Raises:
        SpecError: there is none of that target.
    """
    known = files()
    if name not in known:
        expected = f"expected {listed(known)}" if known else "there are none"
        raise SpecError("targets", f"{shown(name)} is no target that you added{near(name, known)}; {expected}")
    known[name].unlink()
    return known[name]
