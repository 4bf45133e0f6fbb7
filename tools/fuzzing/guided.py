"""A target under atheris: libFuzzer's engine, guided by what lines and branches of this package an input reaches.

atheris instruments modules while they are imported, so a target gets an interpreter of its own:
``python -m fuzzing.guided TARGET``, which :func:`run_guided` starts. What counts as a failure is said in ``watch``; it
is noted, and libFuzzer goes on.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzing.running import Done
    from fuzzing.targets import Target


def run_guided(target: Target, seed: int, runs: int | None, seconds: float | None, failures: Path) -> Done:
    """Run a target in a process with atheris; see :func:`fuzzing.running.run_apart`."""
    from fuzzing.running import Board, wait_apart

    with tempfile.TemporaryFile() as shared:
        board = Board(shared.fileno())
        told = {"target": target.name, "seed": seed, "runs": runs, "seconds": seconds, "failures": str(failures)}
        command = [sys.executable, "-m", "fuzzing.guided", json.dumps({**told, "board": shared.fileno()})]
        path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
        process = subprocess.Popen(
            command, pass_fds=[shared.fileno()], env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL
        )
        return wait_apart(process.pid, board, target, failures)


def main() -> None:
    """What runs in the process."""
    import atheris

    given = json.loads(sys.argv[1])
    with atheris.instrument_imports(include=["minuend"], enable_loader_override=False):
        from fuzzing import mutation, running, watch
        from fuzzing.targets import TARGETS

        target = next(one for one in TARGETS if one.name == given["target"])
        folder = watch.Folder(dict(target.beside))
        inputs = [*target.seeds(), *target.corpus()]
        board, failures = running.Board(given["board"]), Path(given["failures"])

        def one(data: bytes) -> None:
            board.start(data)
            try:
                watch.execute(target.run, data, folder)
            except watch.Failure as failure:
                running.note(target, str(failure), failure.key, data, failures)

        def mutate(data: bytes, size: int, seed: int) -> bytes:
            harm = target.harm
            if harm is not None and seed & 1:
                try:
                    return harm(random.Random(seed), data)[:size]
                except (ValueError, SyntaxError, LookupError, RecursionError):
                    pass
            return bytes(atheris.Mutate(data, size))

        with watch.watching(folder):
            for data in inputs:  # modules are imported by what first needs them
                one(data)
            home = running.FOUND / target.name
            home.mkdir(parents=True, exist_ok=True)
            for data in inputs:
                running.write(home, data)
            failures.mkdir(parents=True, exist_ok=True)
            flags = [f"-max_len={mutation.LONGEST}", f"-seed={given['seed']}", "-timeout=100", "-rss_limit_mb=0"]
            flags += ["-verbosity=0", f"-artifact_prefix={failures}/"]
            flags += [f"-runs={given['runs']}"] if given["runs"] else [f"-max_total_time={int(given['seconds']) or 1}"]
            if target.words:
                words = home.with_suffix(".words")
                words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words), "utf-8")
                flags.append(f"-dict={words}")
            custom = {"custom_mutator": mutate} if target.harm else {}
            running.confine()
            atheris.Setup([sys.argv[0], *flags, str(home)], one, internal_libfuzzer=True, **custom)
            atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    main()
