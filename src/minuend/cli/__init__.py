"""The command line: parse, call one function, print the page or the JSON that it gives.

``program`` has the entry point; ``arrays``, ``standards``, ``models`` and ``runtimes`` have the verbs of those folders,
``options`` what several verbs take, and ``pages`` what they show. It may import every folder, and no dialect. A verb
imports what it needs when it is called, so that ``--help`` waits for none of it.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Sequence

__all__ = ["main", "run_process"]

_OBJECTS = 200_000
"""Objects that are made before Python looks for cycles among them: those of a short run are all in use."""

_OPENBLAS_WAIT = "OPENBLAS_THREAD_TIMEOUT"
"""For how many cycles, as a power of two, the threads that NumPy's OpenBLAS starts wait busily for work.

That is 2^26 by default: as they start, each of them takes some 30 ms of processor time, and few commands have work for
them.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: :func:`minuend.cli.program.main`."""
    from minuend.cli.program import main as run

    return run(argv)


def run_process() -> int:
    """Run the command line as all that this process does, and return the exit status."""
    os.environ.setdefault(_OPENBLAS_WAIT, "4")
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    statuses: list[int] = []
    if _none_registered():
        atexit.register(_leave, statuses)  # the first that is registered is called last
    atexit.register(gc.freeze)  # at its end Python would look for cycles among all that the system frees anyway
    statuses.append(main())
    return statuses[-1]


def _none_registered() -> bool:
    """Whether nothing is to be called at the end of this process so far, as coverage has it."""
    count: int = getattr(atexit, "_ncallbacks", lambda: 1)()
    return count == 0


def _leave(statuses: Sequence[int]) -> None:
    """End this process with its status, all threads and whatever else was registered having ended.

    Python would take apart every module and object, which takes 16 ms, and the system frees their memory anyway. Where
    a stream cannot be written to, Python ends the process and reports that.
    """
    if statuses:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(statuses[-1])
