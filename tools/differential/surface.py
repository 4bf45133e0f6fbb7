"""What a surface is to the driver: cases drawn from a seed, each compared with what another tool says.

A module here lists its surfaces as ``SURFACES``. Cases are frozen dataclasses of plain fields, each with a default: the
simplest value. So a case that fails is made smaller by setting field after field to its default, and is stored as JSON.
"""

from __future__ import annotations

import atexit
import dataclasses
import functools
import importlib.metadata
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from minuend.runtimes.running import Runtime

C = TypeVar("C")


class Difference(Exception):
    """This package and its counterpart disagree: the text says what each of them gave."""


@dataclass(frozen=True)
class Surface(Generic[C]):
    """One surface of the package, and the tool that it is compared with.

    Attributes:
        name: for the command line. title: for people. counterparts: distributions, whose releases the page shows.
        draw: makes a case of a random source. compare: works on a case in an empty folder, and returns what came of it
            in a few words (``equal``, ``both refuse``, ``refused: a reason``), which are counted.
    """

    name: str
    title: str
    counterparts: tuple[str, ...]
    draw: Callable[[random.Random], C]
    compare: Callable[[C, Path], str]
    kind: type[C]

    def missing(self) -> tuple[str, ...]:
        """Return the counterparts that are not installed."""
        return tuple(name for name in self.counterparts if release(name) is None)


def release(distribution: str) -> str | None:
    """Return the installed release of a distribution; ``None`` where there is none."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


@functools.cache
def running(name: str) -> Runtime:
    """Return a runtime in a child process, one of each name, which ends with this process."""
    runtime = Runtime(name)
    atexit.register(runtime.close)
    return runtime


def to_json(case: Any) -> dict[str, Any]:
    """Return the fields of a case that differ from their defaults."""
    fields = {field.name: getattr(case, field.name) for field in dataclasses.fields(case)}
    default = type(case)()
    return {name: json.loads(json.dumps(value)) for name, value in fields.items() if value != getattr(default, name)}


def from_json(kind: type[C], fields: dict[str, Any]) -> C:
    """Return the case that :func:`to_json` wrote; lists become tuples."""
    return kind(**{name: _frozen(value) for name, value in fields.items()})


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


def smaller(case: C, fails: Callable[[C], bool]) -> C:
    """Return the case with as many fields at their defaults as leave it failing, and shorter tuples."""
    default = type(case)()
    going = True
    while going:
        going = False
        for field in dataclasses.fields(case):  # type: ignore[arg-type]
            now = getattr(case, field.name)
            for simpler in _simpler(now, getattr(default, field.name)):
                changed: C = dataclasses.replace(case, **{field.name: simpler})  # type: ignore[type-var]
                if fails(changed):
                    case, going = changed, True
                    break
    return case


def _simpler(now: Any, default: Any) -> list[Any]:
    """Values to try in place of one: the default, then with one element fewer."""
    if now == default:
        return []
    shorter = [now[:i] + now[i + 1 :] for i in range(len(now))] if isinstance(now, tuple) else []
    return [default, *shorter]
