"""How far long work has come."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from minuend.cli.printing import SETTINGS

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """A progress bar on standard error, to a terminal alone, and only once the work has taken a second.

    Args:
        doing: what. nbytes: whether bytes are counted, of which a rate is shown.
    """

    def __init__(self, doing: str = "subtracting", *, nbytes: bool = False) -> None:
        self._doing = doing
        self._nbytes = nbytes
        self._start = time.perf_counter()
        self._shown = sys.stderr.isatty() and not SETTINGS.get("quiet")
        self._bar: Progress | None = None

    def __call__(self, done: int, total: int) -> None:
        if not self._shown or (self._bar is None and time.perf_counter() - self._start < 1):
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress, TransferSpeedColumn

            rate = [TransferSpeedColumn()] if self._nbytes else []
            columns = (*Progress.get_default_columns(), *rate)
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._doing, total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
