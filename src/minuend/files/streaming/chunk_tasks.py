"""The tasks of a difference that is written chunk by chunk, as every process that works on it knows them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import minuend
from minuend.errors import OverflowFound
from minuend.files import SELECTOR, split
from minuend.files.addresses import URL
from minuend.files.base import Result
from minuend.files.streaming.regions import Region, index
from minuend.files.streaming.summary import Number, Summary

if TYPE_CHECKING:
    from minuend.arrays.functions import First
    from minuend.core.policies import Overflow
    from minuend.files.base import ChunkedFormat, ChunkedOutput
    from minuend.files.streaming.region_work import Work
    from minuend.files.tensor_pairs import Pair, Rules


@dataclass(frozen=True, slots=True)
class Job:
    """A difference of files, as another process computes it; see ``subtract_files``.

    Attributes:
        a, b: both operands.
    """

    a: str
    b: str
    rules: Rules
    overflow: Overflow
    common: bool
    nodata: Number | None = None

    @classmethod
    def of(cls, a: str, b: str, rules: Rules, overflow: Overflow, common: bool, nodata: Number | None = None) -> Job:
        """Return it for paths as they are named in this process's folder."""
        return cls(_absolute(a), _absolute(b), rules, overflow, common, nodata)

    def identity(self, sources: dict[str, str]) -> dict[str, str]:
        """Return everything that the bytes of the difference depend on."""
        return {
            "minuend": minuend.__version__,
            "A": self.a,
            "B": self.b,
            **sources,
            "--as": str(self.rules) or "none",
            "--overflow": self.overflow,
            "--common": "given" if self.common else "not given",
            "--nodata": "not given" if self.nodata is None else str(self.nodata),
        }


def _absolute(path: str) -> str:
    real, name = split(path)
    if URL not in real:
        real = os.path.abspath(real)
    return real if name is None else f"{real}{SELECTOR}{name}"


class Task(NamedTuple):
    """A cell of an output's grid: of which pair, the how manieth, and where it lies."""

    pair: int
    number: int
    region: Region


class TaskResult(NamedTuple):
    """What is known of a task that is done.

    Attributes:
        summary: what the elements are. first: the first one that overflows, where there is no answer; nothing was
            written, and the summary counts those that overflow. mark: length and checksum of what was written, if
            anything was.
    """

    summary: Summary
    first: First | None = None
    mark: tuple[int, int] | None = None


Done = Callable[[Task, TaskResult], None]
"""Is called with each task that is done; one at a time."""


def outputs_of(home: ChunkedFormat, path: str, spare: str, results: Sequence[Result], out: str) -> list[ChunkedOutput]:
    """Open the arrays that results are written to."""
    headers = home.headers_of(path, results) if URL in path else None
    return [home.ChunkedOutput(path, name, spare, out, headers) for name in home.names_of(results)]


def do(work: Work, pair: Pair, output: ChunkedOutput, region: Region) -> TaskResult:
    """Do one task: read, subtract, write."""
    try:
        found, summary = work.block(pair, region)
    except OverflowFound as error:
        return TaskResult(Summary(overflowed=error.count), (index(region, error.index), error.a, error.b))
    return TaskResult(summary, mark=output.put(region, found))
