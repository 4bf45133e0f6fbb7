"""A bounded number of blocks is under way, in order or not, and threads end with their work."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from minuend import _native
from minuend.files.streaming import pipeline
from minuend.files.streaming.pipeline import ahead, each, outside_signals, sole, workers
from minuend.files.streaming.regions import Region, boxes

REGIONS = list(boxes((40,), (1,)))


class Counter:
    """Work that counts how much of it goes on at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = 0
        self.done: list[int] = []

    def __call__(self, region: Region) -> int:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        at = int(region[0].start)
        with self.lock:
            self.now -= 1
            self.done.append(at)
        return at


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("minuend")]


def test_what_is_computed_ahead_comes_in_order() -> None:
    assert list(ahead(Counter(), REGIONS, 1)) == list(range(40))
    assert threads() == []


def test_each_region_is_worked_on_once() -> None:
    work = Counter()
    each(work, REGIONS, 1)
    assert sorted(work.done) == list(range(40))
    assert threads() == []


def test_large_blocks_are_worked_on_one_at_a_time() -> None:
    for run in (lambda work: list(ahead(work, REGIONS, pipeline.BUDGET)), lambda w: each(w, REGIONS, pipeline.BUDGET)):
        work = Counter()
        run(work)
        assert work.most == 1


def test_not_much_is_computed_before_somebody_takes_it() -> None:
    work = Counter()
    found = ahead(work, REGIONS, 1)
    assert next(found) == 0
    found.close()  # type: ignore[attr-defined]
    assert len(work.done) <= workers() + 1
    assert threads() == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_ends_the_work(error: type[BaseException]) -> None:
    work = Counter()

    def failing(region: Region) -> int:
        if region[0].start == 3:
            raise error
        return work(region)

    with pytest.raises(error):
        list(ahead(failing, REGIONS, 1))
    with pytest.raises(error):
        each(failing, REGIONS, 1)
    assert threads() == []


def test_who_works_alone_gives_back_what_it_took() -> None:
    threads, limit = _native.get_num_threads(), _native.cache_limit()
    before = workers()
    with sole(), sole():
        assert (_native.get_num_threads(), workers()) == (1, before)
        assert _native.cache_limit() <= pipeline.BUDGET
    assert (_native.get_num_threads(), _native.cache_limit(), workers()) == (threads, limit, before)


@contextlib.contextmanager
def interrupted(begun: threading.Event, *, main: bool) -> Iterator[None]:
    """Send SIGINT to the main thread, or to another one as the system may do, once work has begun."""
    thread = threading.main_thread().ident
    assert thread is not None

    def interrupt() -> None:
        begun.wait()
        signal.pthread_kill(thread if main else threading.get_ident(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has it ignored
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="signals go to threads as POSIX has it")
@pytest.mark.parametrize("main", [True, False], ids=["to the main thread", "to another thread"])
def test_an_interrupt_stops_the_work_at_its_next_check_and_waits_for_its_end(main: bool) -> None:
    begun, ended, steps = threading.Event(), threading.Event(), 0

    def work(check: Callable[[], None]) -> None:
        nonlocal steps
        assert threading.current_thread() is not threading.main_thread()
        begun.set()
        try:
            while steps < 20_000:  # it ends, even where nobody is interrupted
                steps += 1
                time.sleep(0.001)
                check()
        finally:
            ended.set()

    with interrupted(begun, main=main):
        outside_signals(work)
    assert ended.is_set()
    assert 0 < steps < 20_000


@pytest.mark.skipif(sys.platform == "win32", reason="signals go to threads as POSIX has it")
@pytest.mark.parametrize("run", [each, lambda *given: list(ahead(*given))], ids=["each", "ahead"])
def test_an_interrupt_of_another_thread_stops_work_on_regions(run: Callable[..., object]) -> None:
    begun, steps = threading.Event(), 0

    def work(region: Region) -> None:
        nonlocal steps
        begun.set()
        steps += 1
        time.sleep(0.5)

    with interrupted(begun, main=False):
        run(work, REGIONS, 1)
    assert steps < len(REGIONS)
    assert threads() == []


def test_what_comes_of_work_outside_of_signals_is_returned_or_raised() -> None:
    assert outside_signals(lambda check: [check(), 7]) == [None, 7]
    with pytest.raises(ZeroDivisionError):
        outside_signals(lambda check: 1 // 0)
