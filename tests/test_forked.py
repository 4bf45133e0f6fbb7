"""Copies of a process: the order of what they make, errors, and that none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minuend.errors import FileFormatError, MinuendError
from minuend.forked import CAN_FORK, results

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="processes are not copied here")


@pytest.fixture
def others() -> set[str]:
    """The processes that others started."""
    return children()


def slow(item: int) -> tuple[int, int]:
    time.sleep(0.02 * (item % 3))
    return item, os.getpid()


@pytest.mark.parametrize("processes", [1, 2, 5, 40])
def test_answers_come_in_the_order_of_the_items(processes: int) -> None:
    found = list(results(slow, range(12), processes))
    assert [item for item, _ in found] == list(range(12))
    used = {process for _, process in found}
    assert (used == {os.getpid()}) == (processes == 1)
    assert len(used) <= processes


def test_of_no_items_nothing_comes() -> None:
    assert list(results(slow, (), 4)) == []


def refuse(item: int) -> int:
    if item == 3:
        raise FileFormatError(f"number {item} is malformed")
    return item


def test_an_error_comes_with_its_text_and_where_it_was_raised(others: set[str]) -> None:
    with pytest.raises(FileFormatError, match="number 3 is malformed") as found:
        list(results(refuse, range(9), 3))
    assert "in refuse" in found.value.__notes__[0]
    assert children() == others


def die(item: int) -> int:
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_a_copy_that_the_system_ends_is_said_to_have_ended(others: set[str]) -> None:
    with pytest.raises(MinuendError) as found:
        list(results(die, range(9), 2))
    assert str(found.value) == (
        "a process ended early that was started for many models, at number 2; the system may have ended it for its "
        "memory; set MINUEND_NUM_THREADS=1 for one process, or name fewer models"
    )
    assert children() == others


@pytest.mark.parametrize("processes", [2, 3])
def test_an_item_whose_copy_ends_gets_what_the_caller_makes_of_it(others: set[str], processes: int) -> None:
    before = os.listdir("/proc/self/fd")
    assert list(results(die, [0, 2, 1, 2, 2, 3, 4], processes, lambda item: -item)) == [0, -2, 1, -2, -2, 3, 4]
    assert children() == others
    assert os.listdir("/proc/self/fd") == before


def test_copies_end_where_nobody_wants_more(others: set[str]) -> None:
    found = results(slow, range(40), 3)
    next(found)
    assert len(children() - others) == 3
    found.close()  # type: ignore[attr-defined]
    assert children() == others


def large(item: int) -> bytes:
    return bytes([item]) * (3 << 20)


def test_an_answer_may_be_longer_than_a_pipe_holds() -> None:
    assert [one[:1] for one in results(large, range(5), 2)] == [bytes([one]) for one in range(5)]


@pytest.mark.parametrize("possible", [0, 2])
def test_with_fewer_processes_the_same_comes(monkeypatch: pytest.MonkeyPatch, possible: int) -> None:
    """The system may have no more of them."""
    fork, made = os.fork, []

    def few() -> int:
        if len(made) == possible:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        made.append(1)
        return fork()

    monkeypatch.setattr(os, "fork", few)
    before = os.listdir("/proc/self/fd")
    assert [item for item, _ in results(slow, range(12), 5)] == list(range(12))
    assert os.listdir("/proc/self/fd") == before


FOREVER = """
import os, signal, time
from minuend.forked import results

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is given it ignored

def work(item):
    os.write(1, b'%d\\n' % os.getpid())
    time.sleep(0.05)

for _ in results(work, range(10_000), 3):
    pass
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_copies_end_with_their_caller(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", FOREVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as popen:
        assert popen.stdout is not None
        copies = {int(popen.stdout.readline()) for _ in range(12)}
        popen.send_signal(number)
        popen.wait()
    end = time.monotonic() + 20
    while any(Path(f"/proc/{one}").exists() for one in copies) and time.monotonic() < end:
        time.sleep(0.02)
    assert not [one for one in copies if Path(f"/proc/{one}").exists()]


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
