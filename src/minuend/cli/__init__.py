"""The command line: parse, call one function, print the page or the JSON that it gives.

``program`` has the entry point; ``arrays``, ``standards``, ``models`` and ``runtimes`` have the verbs of those folders,
``options`` what several verbs take, and ``pages`` what they show. It may import every folder, and no dialect. A verb
imports what it needs when it is called, so that ``--help`` waits for none of it.
"""

from __future__ import annotations

import atexit
import gc
import os
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
    atexit.register(gc.freeze)  # at its end Python would look for cycles among all that the system frees anyway
    return main()
