"""The stack that signal handlers of this thread run on, which libraries replace and do not always give back.

OpenVINO's CPU plug-in sets one where the processor has AMX, in the thread that loads it. Where another thread releases
the plug-in, as garbage collection may, the stack is unmapped and stays set: the next signal that Python handles kills
the process, or overwrites what was mapped there since. See openvino's SigAltStackSetup.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator

DISABLED = 2
"""SS_DISABLE: handlers run on the thread's own stack."""


class Stack(ctypes.Structure):
    """``stack_t`` of Linux: where a stack begins, its flags, and its bytes."""

    _fields_ = (("begin", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stack) and bytes(self) == bytes(other)

    __hash__ = None  # type: ignore[assignment]


def exchange(new: Stack | None = None) -> Stack:
    """Return the signal stack of this thread, and set a new one where it is given."""
    before = Stack()
    if ctypes.CDLL(None, use_errno=True).sigaltstack(ctypes.byref(new) if new else None, ctypes.byref(before)):
        raise OSError(ctypes.get_errno(), "sigaltstack")
    return before


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Set the signal stack that this thread had before the block again after it; on Linux alone."""
    if sys.platform != "linux":
        yield
        return
    before = exchange()
    try:
        yield
    finally:
        if exchange() != before:
            exchange(before)
