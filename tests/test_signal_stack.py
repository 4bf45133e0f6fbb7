"""Behaviour of tests/support/signal_stack.py: signals after a library has replaced Python's signal stack."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stack is looked at as Linux has it")

RELEASED_BY_ANOTHER_THREAD = """
import signal, sys, threading
import numpy, openvino
from signal_stack import exchange, preserved
import contextlib

signal.signal(signal.SIGALRM, lambda *_: None)
with preserved() if sys.argv[1] == "preserved" else contextlib.nullcontext():
    a = openvino.opset13.parameter([4], numpy.float32)
    models = [openvino.Core().compile_model(openvino.Model([openvino.opset13.subtract(a, a)], [a]), "CPU")]
thread = threading.Thread(target=models.clear)
thread.start()
thread.join()
print(exchange().flags)
signal.raise_signal(signal.SIGALRM)
"""


def released(how: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RELEASED_BY_ANOTHER_THREAD, how]
    support = str(Path(__file__).parent / "support")
    return subprocess.run(command, env={"PYTHONPATH": support}, capture_output=True, text=True, check=False)


def test_a_signal_after_openvino_was_released_by_another_thread_does_no_harm():
    """Of the test process, a signal of this kind was the end: on processors with AMX."""
    pytest.importorskip("openvino")
    done = released("preserved")
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


def test_the_stack_of_before_is_set_again():
    from signal_stack import Stack, exchange, preserved

    before, memory = exchange(), ctypes.create_string_buffer(1 << 16)
    with preserved():
        exchange(Stack(ctypes.addressof(memory), 0, len(memory)))
        assert exchange() != before
    assert exchange() == before
