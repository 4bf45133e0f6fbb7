"""Several processes of one runtime: order, who works, and how an error ends them all."""

from __future__ import annotations

import threading

import pytest

from minuend import spec
from minuend.core.elements import TYPES
from minuend.errors import Unsupported
from minuend.runtimes.cases import Case
from minuend.runtimes.running import Refused, Runtime
from minuend.runtimes.workers import Steps, Workers

CASE = Case(spec("onnx", 14), TYPES["uint8"], "same", "none", full=False)


def test_results_come_in_the_order_of_the_items_from_more_processes_than_one() -> None:
    both = threading.Barrier(2, timeout=60)

    def work(runtime: Runtime, item: int) -> tuple[int, int]:
        both.wait()  # each waits for the other, so there are two
        assert not isinstance(runtime.run(CASE), Refused)
        assert runtime._child is not None
        return item, runtime._child.popen.pid

    with Runtime("numpy") as first, Workers(first, 2) as workers:
        found = workers.map(work, range(6))
        assert [item for item, _ in found] == list(range(6))
        assert len({pid for _, pid in found}) == 2
        workers.restart()
        assert first._child is None


def test_one_item_or_one_process_needs_no_other() -> None:
    with Runtime("numpy") as first:
        for most, items in ((1, range(3)), (4, range(1))):
            with Workers(first, most) as workers:
                assert all(runtime is first for runtime in workers.map(lambda runtime, _: runtime, items))


def test_an_error_ends_all_of_them() -> None:
    seen: list[Runtime] = []
    started = threading.Event()

    def work(runtime: Runtime, item: int) -> None:
        seen.append(runtime)
        if item == 0:
            assert started.wait(60)
            raise ValueError("broken")
        started.set()
        while True:
            runtime.run(CASE)

    with Runtime("numpy") as first, Workers(first, 2) as workers, pytest.raises(ValueError, match=r"^broken$"):
        workers.map(work, range(20))
    assert len(set(map(id, seen))) == 2
    assert all(runtime._child is None or runtime._child.popen.wait(60) for runtime in seen)
    with pytest.raises(Unsupported, match=r"^numpy was ended while it was asked$"):
        first.run(CASE)


def test_steps_are_counted_over_threads() -> None:
    told: list[tuple[int, int]] = []
    step = Steps(lambda done, total: told.append((done, total)), 400)
    threads = [threading.Thread(target=lambda: [step() for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [(i + 1, 400) for i in range(400)]
