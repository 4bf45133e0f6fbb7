"""A target in a process of its own, which may crash, hang and leave memory behind; the parent counts."""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import itertools
import mmap
import os
import random
import resource
import signal
import struct
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fuzzing.mutation import LONGEST, explore
from fuzzing.targets import CORPUS, Target
from fuzzing.watch import BYTES, Failure, Folder, execute, watching

_HEAD = struct.Struct("<QI")
_HANGS = 30
"""Seconds of the processor that one input may take, before its process is killed; of the clock, ten times as many."""
_LONGEST_TRACE = 20_000
_ROOM = 4 * BYTES
"""Address space beyond that at the start: what ends a process that would take the machine's memory."""


@dataclass(frozen=True)
class Done:
    """What a process did: executions, seconds of the clock and of the processor, and how many failures were noted."""

    executions: int
    seconds: float
    failures: int


class Board:
    """Memory that a process shares with its parent: how many inputs it has run, and the one that it runs.

    Args:
        descriptor: of a file to keep it in, for a process that is not forked.
    """

    def __init__(self, descriptor: int = -1) -> None:
        if descriptor >= 0:
            os.truncate(descriptor, _HEAD.size + LONGEST)
        self._map = mmap.mmap(descriptor, _HEAD.size + LONGEST)
        self.count = 0

    def start(self, data: bytes) -> None:
        """Note the next input."""
        self.count += 1
        self._map[: _HEAD.size] = _HEAD.pack(self.count, len(data))
        self._map[_HEAD.size : _HEAD.size + len(data)] = data

    def read(self) -> tuple[int, bytes]:
        """What was noted last."""
        count, size = _HEAD.unpack(self._map[: _HEAD.size])
        return count, self._map[_HEAD.size : _HEAD.size + size]


def note(target: Target, failure: str, key: str, data: bytes, folder: Path) -> None:
    """Keep the shortest input of each cause of failure: the input, and beside it what was said."""
    name = f"{target.name}-{hashlib.sha1(key.encode()).hexdigest()[:10]}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if not path.exists() or len(data) < path.stat().st_size:
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(f"{key}\n{failure}\n", encoding="utf-8", errors="backslashreplace")


def run_apart(work: Callable[[Board], int], target: Target, failures: Path) -> Done:
    """Run ``work``, which returns how many failures it noted, in a forked process; a crash or hang is one more."""
    board = Board()
    with tempfile.TemporaryFile() as trace:
        child = os.fork()
        if not child:
            status = 99
            faulthandler.enable(trace, all_threads=True)  # where a signal ends it
            try:
                status = min(76, work(board))
            except BaseException:  # this script's own
                traceback.print_exc()
            os._exit(status)
        return wait_apart(child, board, target, failures, trace)


def wait_apart(child: int, board: Board, target: Target, failures: Path, trace: IO[bytes] | None = None) -> Done:
    """Wait for a process that runs a target; a crash or hang of it is a failure, with the ``trace`` that it left."""
    start = time.monotonic()
    status, told = _wait(child, board)
    count, data = board.read()
    if told:
        where = b"" if trace is None else os.pread(trace.fileno(), _LONGEST_TRACE, 0)
        note(target, f"{told}\n{where.decode(errors='replace')}", told, data, failures)
    return Done(count, time.monotonic() - start, 1 if told else status)


def _wait(child: int, board: Board) -> tuple[int, str]:
    """Wait for a process; return its status, or say how it came to an end of its own."""
    seen, since, used = -1, 0.0, 0.0
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return max(code, 0), "" if 0 <= code < 77 else f"crash: the process ended with status {code}"
        if (count := board.read()[0]) != seen:
            seen, since, used = count, time.monotonic(), _processor_time(child)
        if _processor_time(child) - used > _HANGS or time.monotonic() - since > 10 * _HANGS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 1, f"time: no end after {_HANGS} s"
        time.sleep(0.2)


def _processor_time(process: int) -> float:
    """Seconds of the processor that a process has had."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def explorer(
    target: Target, seed: int, runs: int | None, seconds: float | None, failures: Path
) -> Callable[[Board], int]:
    """What a process does for a target: so many executions, or for so long; then it writes what it found."""

    def work(board: Board) -> int:
        confine()
        folder, noted = Folder(dict(target.beside)), set()

        def one(data: bytes) -> str:
            board.start(data)
            try:
                return execute(target.run, data, folder)
            except Failure as failure:
                noted.add(failure.key)
                note(target, str(failure), failure.key, data, failures)
                return f"failed {failure.key}"

        try:
            end = None if seconds is None else time.monotonic() + seconds
            inputs = [*target.seeds(), *target.corpus()]
            with watching(folder):
                steps = explore(one, inputs, random.Random(seed), target.harm, target.words)
                for count, pool in enumerate(steps, 1):  # noqa: B007 - the pool at the end is kept
                    if count == runs or (end is not None and not count % 16 and time.monotonic() > end):
                        break
            _keep(target, {name: data for name, data in pool.shortest.items() if not name.startswith("failed")}, inputs)
        finally:
            folder.remove()
        return len(noted)

    return work


def confine() -> None:
    """Bound the address space of this process and of those that it starts."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + _ROOM, resource.getrlimit(resource.RLIMIT_AS)[1]))


# ---- the corpus -------------------------------------------------------------------------------------------------

FOUND = Path("build") / "fuzz"
"""Where inputs that lead somewhere new are kept; :func:`minimise` makes the committed corpus of them."""


def _keep(target: Target, shortest: dict[str, bytes], known: list[bytes]) -> None:
    home = FOUND / target.name
    home.mkdir(parents=True, exist_ok=True)
    for data in set(shortest.values()) - set(known):
        write(home, data)


def write(home: Path, data: bytes) -> None:
    """Write an input to a folder of a corpus, under a name of its content's."""
    (home / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


def minimise(target: Target, most: int) -> int:
    """Write the committed corpus: of each outcome the shortest input that is known, as many as fit.

    Args:
        target: whose. most: bytes of the file.
    """
    folder = Folder(dict(target.beside))
    shortest: dict[str, bytes] = {}
    seeds = list(target.seeds())
    found = [path.read_bytes() for path in sorted((FOUND / target.name).glob("*"))]
    with watching(folder):
        for data in itertools.chain(seeds, target.corpus(), found):
            with contextlib.suppress(Failure):
                outcome = execute(target.run, data, folder)
                if outcome not in shortest or len(data) < len(shortest[outcome]):
                    shortest[outcome] = data
    folder.remove()
    lines = [f"{data!r}\n" for data in sorted(set(shortest.values()) - set(seeds), key=lambda one: (len(one), one))]
    sizes = itertools.accumulate(map(len, lines))
    kept = [line for line, size in zip(lines, sizes, strict=True) if size <= most]
    CORPUS.mkdir(exist_ok=True)
    (CORPUS / f"{target.name}.txt").write_text("".join(kept), "ascii")
    return len(kept)
