"""Runtimes: can it build this node, and what does it answer.

Runtimes run in a child process (:mod:`minuend.worker`), under this Python or one that holds another release.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any

import numpy as np

from minuend import worker
from minuend.core.elements import ElementType
from minuend.core.packing import pack, unpack
from minuend.errors import DTypeError, SpecError, Unsupported, listed, near, shown
from minuend.runtimes.adapting import adapter
from minuend.runtimes.cases import CONSTANTS, RELATIONS, Case, cases
from minuend.runtimes.machine import extensions, processor
from minuend.runtimes.probing import is_constant, operands, probing
from minuend.runtimes.quirks import quirks
from minuend.runtimes.values import Codes
from minuend.standards import spelling

_SECONDS = 120
"""How long one model may take; a runtime that hangs is stopped."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A runtime did not build or did not run a model: its message, and the ``stage``, ``"build"`` or ``"run"``."""

    message: str
    stage: str


@dataclass(frozen=True, slots=True)
class Output:
    """One result: its element type (``None``: one that this package lacks), and codes in their shape."""

    element: ElementType | None
    codes: Codes


class Runtime:
    """A runtime in a child process.

    Args:
        name: its name or an alias, such as ``"onnxruntime-cpu"``. python: the Python whose release is asked; by default
            this one. isa: the newest instruction set that it may use; ``""`` for all that the processor has.

    Attributes:
        name: its name. release: the release that answers. python: its Python's version. cpu: what it runs on, as
            :func:`minuend.runtimes.machine.processor` writes it.

    Raises:
        SpecError: no such runtime, or none that can be limited to these instruction sets. Unsupported: it is not
            installed there.
    """

    def __init__(self, name: str, python: str | None = None, isa: str = "") -> None:
        self.adapter = adapter(name)
        self.name: str = self.adapter.NAME
        self._environment = {**os.environ, **_limit(self.name, isa)}
        self.cpu = processor(isa)
        self._python = python or sys.executable
        if python is None and worker.release(self.adapter) is None:
            raise Unsupported(f"{name} needs the package {self.adapter.PACKAGE}, which is not installed")
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            about = self._start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        if about["release"] is None:
            self.close()
            raise Unsupported(f"{name} needs the package {self.adapter.PACKAGE}, which {self._python} does not have")
        self.release: str = about["release"]
        self.python: str = about["python"]

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if error is not None and self._process is not None:
            self._process.kill()  # nobody waits for its answer any more
        self.close()

    def close(self) -> None:
        """Stop the child process."""
        self.restart()
        self._errors.close()

    def restart(self) -> int:
        """Stop the child process and return its status; the next case starts a new one."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):  # what was not sent to a process that has died
                pipe.close()
        try:
            return process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def cases(self, *, full: bool = True) -> Iterator[Case]:
        """Yield the cases that this runtime can be asked."""
        allowed = tuple(which for which in CONSTANTS if which in self.adapter.CONSTANTS)
        for dialect_name in self.adapter.DIALECTS:
            for case in cases(dialect_name, full=full, constants=allowed):
                if self.adapter.RULES is None or case.attributes.get("auto_broadcast", "numpy") in self.adapter.RULES:
                    yield case

    def run(self, case: Case) -> list[Output] | Refused:
        """Build a case's model and run it once."""
        return self._run([case])

    def run_all(self, asked: Iterable[Case]) -> Iterator[tuple[Case, list[Output] | Refused]]:
        """Run cases and yield each with its answer; those that can share a model do.

        Where a shared model is refused, each case of it is asked on its own.
        """
        for (*_, alone), group in itertools.groupby(asked, key=_model_of):
            together = list(group)
            answer = Refused("", "") if alone or len(together) == 1 else self._run(together)
            if isinstance(answer, Refused):
                yield from ((case, self._run([case])) for case in together)
                continue
            outputs = iter(answer)
            for case in together:
                yield case, list(itertools.islice(outputs, len(case.operations)))

    def _run(self, together: Sequence[Case]) -> list[Output] | Refused:
        first = together[0]
        form, model, weights = "arrays", b"", b""
        if not self.adapter.ARRAYS:
            asking = probing(first.op.dialect)
            form = asking.FORM
            model, weights = asking.case_model(together)
        fed = [(name, first.element, codes) for name, side, codes in operands(together) if not is_constant(first, side)]
        return self.ask(form, model, weights, fed)

    def ask(
        self,
        form: str,
        model: bytes,
        weights: bytes,
        fed: Iterable[tuple[str, ElementType | None, Codes]],
        hint: str = "",
    ) -> list[Output] | Refused:
        """Run a model as it is.

        Args:
            form: what the adapter calls its format. model, weights: its bytes.
            fed: name, element type (``None`` for bool) and codes of each input.
            hint: the precision that the runtime is told, one of its adapter's ``HINTS``.
        """
        given = list(fed)
        told = [
            [name, "bool" if element is None else element.name, list(codes.shape)] for name, element, codes in given
        ]
        parts = [
            codes.tobytes() if element is None or self.adapter.ARRAYS else pack(element, codes)
            for _, element, codes in given
        ]
        answer = self._ask({"form": form, "inputs": told, "hint": hint}, [model, weights, *parts])
        if isinstance(answer, Refused):
            return answer
        return [self._output(dtype, tuple(shape), data) for (dtype, shape), data in answer]

    def _output(self, dtype: str, shape: tuple[int, ...], data: bytes) -> Output:
        try:
            element = spelling.find(dtype)
        except DTypeError:
            codes = np.frombuffer(data, np.uint8)
            return Output(None, codes.reshape(shape) if codes.size == math.prod(shape) else codes)
        if self.adapter.ARRAYS:
            return Output(element, np.frombuffer(data, f"u{element.itemsize}").reshape(shape))
        return Output(element, unpack(element, shape, data))

    def _ask(self, head: Mapping[str, Any], parts: list[bytes]) -> list[tuple[Any, bytes]] | Refused:
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        hung = threading.Event()
        timer = threading.Timer(_SECONDS, _end, (process, hung))
        timer.start()
        try:
            worker.write(process.stdin, head, parts)
            answer = worker.read(process.stdout)
        except BrokenPipeError:
            answer = None
        finally:
            timer.cancel()
        if answer is None:
            status = self.restart()
            return Refused(f"the process hangs for {_SECONDS} s" if hung.is_set() else _death(status), "run")
        told, data = answer
        if "refused" in told:
            return Refused(_short(told["refused"]), told["stage"])
        return list(zip(told["outputs"], data, strict=True))

    def _start(self) -> Mapping[str, Any]:
        # -I: the worker's folder must not be where it finds modules, for its neighbours bear runtimes' names.
        self._process = subprocess.Popen(
            [self._python, "-I", worker.__file__, self.adapter.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=self._environment,
        )
        told = worker.read(self._process.stdout)
        if told is None:
            self._errors.seek(0)
            self.restart()
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            why = lines[-1] if lines else "it says nothing"
            raise Unsupported(f"{self.name} does not start under {self._python}: {why}")
        about: Mapping[str, Any] = told[0]
        return about


def _end(process: subprocess.Popen[bytes], hung: threading.Event) -> None:
    hung.set()
    process.kill()


def _death(status: int) -> str:
    """How a process ended that should have answered."""
    names = {-one.value: one.name for one in signal.Signals}
    return f"the process dies ({names.get(status, f'status {status}')})"


def _limit(name: str, isa: str) -> Mapping[str, str]:
    """The environment variables that keep a runtime to an instruction set and those before it."""
    if not isa:
        return {}
    known = quirks(name).isa
    if not known:
        raise SpecError("isa", f"{name} has no switch that limits its instruction sets; measure it as it is")
    if isa not in known:
        raise SpecError("isa", f"{name} cannot be limited to {shown(isa)}{near(isa, known)}; expected {listed(known)}")
    if isa not in extensions(here := processor()):
        raise SpecError("isa", f"this processor ({here}) has no {isa}, so {name} cannot be limited to it")
    return known[isa]


def _model_of(case: Case) -> tuple[Any, ...]:
    """What cases that share a model have in common."""
    alone = RELATIONS[case.relation].alone
    return case.opversion, case.element.name, case.constants, case.relation if alone else "", alone


_NOISE = (
    (r"Exception from \S+:\d+:?|Check '[^']*' failed at \S+:|\S*src/\S+:\d+:?", ""),  # places in a runtime's source
    (r"\[\w+\] END: node: .*? CALLBACK HAS THROWN:?", ""),  # the graph around the node, types and shapes included
    (r"While validating node '.*?' with friendly_name '.*?':", ""),
    (r"0x[0-9a-f]{6,}", "0x…"),
    (r"\[\d+(, ?\d+)*\]|\{\d+(, ?\d+)*\}|\(\d+(, ?\d+)+,?\)", "[…]"),  # shapes
    (r"ortshared_\w+", "a0"),
    (r"(?<![A-Za-z0-9])([abc]|sub)\d+(?!\w)", r"\g<1>0"),  # the nodes of a case say the same
    (r"\s+", " "),
)
"""What changes from case to case and release to release, and says nothing to a user."""

_LONGEST = 240


def _short(message: str) -> str:
    """A message without what only the runtime's makers can read, on one line."""
    kind, _, text = message.partition(": ")
    for pattern, instead in _NOISE:
        text = re.sub(pattern, instead, text, flags=re.DOTALL)
    text = text.strip() or f"{kind} without a message"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
