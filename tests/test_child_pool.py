"""Processes that wait for the next request: which one gets it, and when one is ended."""

from __future__ import annotations

import os
import sys
import threading
import time

import pytest

from minuend import child
from minuend.child import Child, Limits
from minuend.child_pool import Pool
from minuend.errors import Unsupported

SERVER = """
import json, os, sys, time
sys.path[:] = json.loads(sys.argv[1])
from minuend import worker

def work(head, parts):
    if "sleep" in head:
        time.sleep(head["sleep"])
    if "exit" in head:
        os._exit(head["exit"])
    if "large" in head:
        return {}, [bytes(head["large"])]
    if "want" in head:
        server.write({"read": head["want"]})
        return {}, [server.read()[1][0]]
    return {"process": os.getpid()}, parts

with worker.Server() as server:
    server.write({})
    server.serve(work, 256 << 20) if len(sys.argv) > 2 else server.serve(work)
"""


def started(*arguments: str) -> Child:
    command = [*child.python(), "-c", SERVER, child.import_path(), *arguments]
    return Child("a test runs in a separate process", command, folder=False, greets=True)


@pytest.fixture
def pool() -> Pool[Child]:
    found = Pool(started)
    yield found
    found.stop()


def test_a_process_answers_one_request_after_the_other(pool: Pool[Child]) -> None:
    for part in (b"one", b"", b"three"):
        with pool.process() as process:
            answer = process.request({}, [part])
        assert answer == ({"process": process.popen.pid}, [part])
    assert pool.idle == [process]


def test_what_the_process_wants_is_read_from_a_source(pool: Pool[Child]) -> None:
    with pool.process() as process:
        assert process.request({"want": [2, 3]}, source=lambda at, size: b"abcdefg"[at : at + size]) == ({}, [b"cde"])


def test_a_process_that_dies_is_ended_and_the_next_request_starts_another(pool: Pool[Child]) -> None:
    with pool.process() as first:
        assert first.request({"exit": 3}) is None
        assert (first.broken, first.idle) == ("", False)
    assert (pool.idle, first.popen.returncode) == ([], 3)
    with pool.process() as second:
        assert second.request({}) == ({"process": second.popen.pid}, [])


@pytest.mark.parametrize("limits", [Limits(None, 0.5), Limits(1 << 30, 0.5)])
def test_a_request_that_takes_too_long_is_ended(pool: Pool[Child], limits: Limits) -> None:
    with pool.process() as process:
        process.request({})
        begin = time.monotonic()
        assert process.request({"sleep": 60}, limits=limits) is None
        assert process.broken == "seconds"
    assert time.monotonic() - begin < 30
    assert pool.idle == []


def test_an_error_within_a_request_ends_the_process(pool: Pool[Child]) -> None:
    def fails(*_: int) -> bytes:
        raise Unsupported("no bytes")

    with pytest.raises(Unsupported), pool.process() as process:
        process.request({"want": [0, 1]}, source=fails)
    assert process.popen.returncode is not None
    with pytest.raises(Unsupported), pool.process() as process:
        raise Unsupported("between requests")
    assert pool.idle == [process]
    with pytest.raises(KeyboardInterrupt), pool.process() as process:
        raise KeyboardInterrupt
    assert pool.idle == []


def test_threads_have_a_process_each_or_share_one() -> None:
    for single, count in ((False, 3), (True, 1)):
        pool = Pool(started, single=single)
        found: set[int] = set()
        barrier = threading.Barrier(3)

        def request(pool: Pool[Child] = pool, found: set[int] = found, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            with pool.process() as process:
                answer = process.request({"sleep": 1.0})
            assert answer is not None
            found.add(answer[0]["process"])

        threads = [threading.Thread(target=request) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(found), len(pool.idle)) == (count, 1)
        pool.stop()


def test_a_process_that_does_not_get_ready_is_reported_with_its_command() -> None:
    command = [*child.python(), "-c", "raise SystemExit(7)", "[]"]
    pool = Pool(lambda: Child("a test runs in a separate process", command, folder=False, greets=True))
    with pytest.raises(Unsupported) as caught, pool.process() as process:
        process.request({})
    assert str(caught.value) == (
        f"a test runs in a separate process, which does not start: {' '.join(command[:-1])} ended with status 7"
    )
    assert pool.idle == []


@pytest.mark.skipif(sys.platform != "linux", reason="bounds are those of Linux")
def test_bounds_hold_for_one_request_alone() -> None:
    pool = Pool(lambda: started("bounded"))
    small = {"seconds": 1, "bytes": 1 << 20}
    with pool.process() as process:
        assert process.request({**small, "large": 1 << 30}) == ({"exceeded": True}, [])
        assert process.request({**small, "nothing": 0}, [b"x"]) == ({"process": process.popen.pid}, [b"x"])
        assert process.request({"seconds": 9, "bytes": 1 << 30}, [bytes(400 << 20)]) is not None  # read without bounds
    pool.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_closes_the_pipes_of_idle_processes_and_ends_none(pool: Pool[Child]) -> None:
    for request in ({}, {"sleep": 2}):  # idle, and at a request whose pipes another thread reads from
        with pool.process() as process:
            process.request({})
        thread = threading.Thread(target=lambda given=request: _requested(pool, given))
        thread.start()
        time.sleep(0.5)
        if (forked := os.fork()) == 0:
            os._exit(len(pool.idle))
        assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
        thread.join()
        assert pool.idle == [process]


def _requested(pool: Pool[Child], head: dict[str, float]) -> None:
    with pool.process() as process:
        assert process.request(head) is not None
