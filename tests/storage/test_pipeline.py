"""A bounded number of blocks is under way, in order or not, and threads end with their work."""

from __future__ import annotations

import threading

import pytest

from minuend import _native
from minuend.storage import pipeline
from minuend.storage.pipeline import ahead, each, sole, workers
from minuend.storage.regions import Region, boxes

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
