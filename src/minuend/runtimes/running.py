"""Runtimes: can it build this node, and what does it answer.

Runtimes run in a child process (:mod:`minuend.worker`), under this Python or one that holds another release.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any

import numpy as np

from minuend import child, worker
from minuend.arrays.packing import pack, unpack
from minuend.child import Child, Limits
from minuend.core.elements import ElementType
from minuend.core.shapes import MAX_RANK
from minuend.errors import DTypeError, LimitExceeded, MinuendError, SpecError, Unsupported, cut, listed, near, shown
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.runtimes import registry
from minuend.runtimes.cases import CONSTANTS, RELATIONS, Case, cases
from minuend.runtimes.probing import PROBING, is_constant, operands
from minuend.runtimes.processor import extensions, processor
from minuend.runtimes.quirks import quirks
from minuend.runtimes.registry import adapter
from minuend.runtimes.values import Codes
from minuend.standards import spelling
from minuend.standards.dialects import dialect

_START_SECONDS, _END_SECONDS = 120, 10
"""How long a process may take to start, and to end when it is requested to."""

_MOST_STOPPED = 3
"""Models in a row that are stopped at a limit, after which a runtime is queried no more."""


class MalformedAnswer(MinuendError, ValueError):
    """A runtime's adapter gives what is no answer: another form, another number of bytes than the shape says."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A runtime did not build or did not run a model: its message, and the ``stage``, ``"build"`` or ``"run"``.

    ``limit`` is the error of a model that was stopped, since it took more than it may: then nothing is known of it.
    """

    message: str
    stage: str
    limit: LimitExceeded | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Output:
    """One result: its element type (``None``: one that this package lacks), and codes in their shape."""

    element: ElementType | None
    codes: Codes


class Runtime:
    """A runtime in a child process.

    Args:
        name: its name or an alias, such as ``"onnxruntime-cpu"``. python: the Python whose release is queried; by
            default this one. isa: the newest instruction set that it may use; ``""`` for all that the processor has.

    Attributes:
        name: its name. release: the release that answers. python: its Python's version. isa: as given. cpu: what it
            runs on, as :func:`minuend.runtimes.processor.processor` writes it.

    Raises:
        SpecError: no such runtime, or none that can be limited to these instruction sets. Unsupported: it is not
            installed there.
    """

    def __init__(self, name: str, python: str | None = None, isa: str = "") -> None:
        self.adapter = adapter(name)
        self.name: str = self.adapter.NAME
        self._environment = _limit(self.name, isa)
        self.isa, self.cpu = isa, processor(isa)
        self._python = python
        self._given = (name, python, isa)
        self._ended = False
        self._stopped = 0
        if python is None and registry.release(self.adapter) is None:
            raise Unsupported(f"{name} needs the package {self.adapter.PACKAGE}, which is not installed")
        self._child: Child | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            about = self._start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        if about["release"] is None:
            self.close()
            raise Unsupported(f"{name} needs the package {self.adapter.PACKAGE}, which {self._command} does not have")
        self.release: str = about["release"]
        self.python: str = about["python"]
        if python is None and self.release != (here := registry.release(self.adapter)):
            self.close()
            raise Unsupported(f"{self._command} loads {name} {self.release}, and this process sees {here}")

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if error is not None and self._child is not None:
            self._child.popen.kill()  # no caller waits for its answer any more
        self.close()

    def close(self) -> None:
        """Stop the child process."""
        self.restart()
        self._errors.close()

    def another(self) -> Runtime:
        """Return the same release in a child process of its own."""
        return Runtime(*self._given)

    def end(self) -> None:
        """Kill the child process; another thread that queries it gets an error."""
        self._ended = True
        if (running := self._child) is not None:
            running.popen.kill()

    def restart(self) -> int:
        """Stop the child process and return its status; the next case starts a new one."""
        process, self._child = self._child, None
        return 0 if process is None else process.end(_END_SECONDS)

    def cases(self, *, full: bool = True, operator: Operator = SUBTRACT) -> Iterator[Case]:
        """Yield the cases of an operator that this runtime can be queried with."""
        allowed = tuple(which for which in CONSTANTS if which in self.adapter.CONSTANTS)
        for dialect_name in self.adapter.DIALECTS:
            for case in cases(dialect_name, full=full, constants=allowed, operator=operator.name):
                if self.adapter.RULES is None or case.attributes.get("auto_broadcast", "numpy") in self.adapter.RULES:
                    yield case

    def run(self, case: Case) -> list[Output] | Refused:
        """Build a case's model and run it once."""
        return self._run([case])

    def run_all(
        self, queried: Iterable[Case], alone: Callable[[Case], bool] | None = None
    ) -> Iterator[tuple[Case, list[Output] | Refused]]:
        """Run cases and yield each with its answer; those that can share a model do.

        Where a shared model is refused, each case of it is run in a model of its own. So are from the start those that
        are likely to be refused: ``alone`` says which, by default :attr:`~minuend.runtimes.cases.Relation.alone`.
        """

        def shared(case: Case) -> tuple[Any, ...]:
            return *model_of(case), RELATIONS[case.relation].alone if alone is None else alone(case)

        for (*_, separate), group in itertools.groupby(queried, key=shared):
            together = list(group)
            answer = Refused("", "") if separate or len(together) == 1 else self._run(together)
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
            probing = PROBING.required(dialect(first.op.dialect))
            form = probing.FORM
            model, weights = probing.case_model(together)
        fed = [(name, first.element, codes) for name, side, codes in operands(together) if not is_constant(first, side)]
        return self.query(form, model, weights, fed)

    def query(
        self,
        form: str,
        model: bytes,
        weights: bytes,
        fed: Iterable[tuple[str, ElementType | None, Codes]],
        hint: str = "",
        count: int | None = None,
    ) -> list[Output] | Refused:
        """Run a model as it is.

        Args:
            form: what the adapter calls its format. model, weights: its bytes.
            fed: name, element type (``None`` for bool) and codes of each input.
            hint: the precision that the runtime is set to, one of its adapter's ``HINTS``.
            count: how many outputs the model has, where that is to be checked.

        Raises:
            MalformedAnswer: what its adapter gives is no answer. LimitExceeded: one model after the other was stopped.
        """
        given = list(fed)
        details = [
            [name, "bool" if element is None else element.name, list(codes.shape)] for name, element, codes in given
        ]
        parts = [
            codes.tobytes() if element is None or self.adapter.ARRAYS else pack(element, codes)
            for _, element, codes in given
        ]
        answer = self._query({"form": form, "inputs": details, "hint": hint}, [model, weights, *parts])
        if isinstance(answer, Refused):
            return answer
        self.check_count(answer, count)
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

    def _query(self, head: Mapping[str, Any], parts: list[bytes]) -> list[tuple[Any, bytes]] | Refused:
        if self._child is None:
            self._start()
        running = self._child
        assert running is not None
        answer = running.request(head, parts, child.current(), sum(map(len, parts)))
        if answer is None:
            return self._gone(self.restart(), running.broken)
        self._stopped = 0
        return self.taken(*answer)

    def taken(self, details: Mapping[str, Any], data: Sequence[bytes]) -> list[tuple[Any, bytes]] | Refused:
        """Check an answer of the process, and return it.

        Raises:
            MalformedAnswer: it is none.
        """
        if "malformed" in details:
            raise self._malformed(details["malformed"])
        if "refused" in details:
            return Refused(_short(details["refused"]), details["stage"])
        for k, ((dtype, shape), part) in enumerate(zip(details["outputs"], data, strict=True)):
            self._check(k, dtype, tuple(shape), part)
        return list(zip(details["outputs"], data, strict=True))

    def _gone(self, status: int, broken: str) -> Refused:
        """What comes of a process that ended before it answered.

        Raises:
            LimitExceeded: one model after the other was stopped.
        """
        if not broken:
            self._stopped = 0
            return Refused(_death(status), "run")
        self._stopped += 1
        limits = child.current()
        limit = child.exceeded(f"a model on {self.title}", broken, limits)
        if self._stopped >= _MOST_STOPPED:
            raise limit
        if broken == "seconds":
            return Refused(f"the process hangs for {limits.seconds:g} s", "run", limit)
        return Refused(f"the process takes more than {child.shown_bytes(limits.memory or 0)}", "run", limit)

    @property
    def title(self) -> str:
        """Its name and release; and the package that adds it, where another one does."""
        added = registry.plug_ins().get(self.name)
        return f"{self.name} {getattr(self, 'release', '')}".strip() + (f" ({added})" if added is not None else "")

    def _check(self, number: int, dtype: str, shape: tuple[int, ...], data: bytes) -> None:
        """Check that an output has as many bytes as its type and shape say."""
        count = math.prod(shape)
        if count >= 1 << 60:
            raise self._malformed(f"output {number} has {shown(count)} elements")
        bits = _bits(dtype, memory=self.adapter.ARRAYS)
        expected = (count * bits + 7) // 8
        if bits and len(data) != expected:
            raise self._malformed(
                f"output {number} is {dtype} of shape {shown(list(shape))} in {len(data)} bytes; expected {expected}"
            )
        if len(shape) > MAX_RANK:
            raise self._malformed(f"output {number} has rank {len(shape)}; NumPy's arrays end at {MAX_RANK}")

    def check_count(self, answer: Sequence[object], count: int | None) -> None:
        """Check how many outputs came.

        Raises:
            MalformedAnswer: more or less.
        """
        if count is not None and len(answer) != count:
            raise self._malformed(f"{len(answer)} outputs came of a model with {count}")

    def _malformed(self, why: str) -> MalformedAnswer:
        return MalformedAnswer(f"the adapter of {self.title} gives no answer: {cut(why, 500)}")

    @property
    def _command(self) -> str:
        return child.python(self._python)[0]

    def _start(self) -> Mapping[str, Any]:
        if self._ended:
            raise Unsupported(f"{self.name} was ended while it was asked")
        # -I: the worker's folder must not be where it finds modules, for adjacent files bear runtimes' names.
        command = [*child.python(self._python), worker.__file__, os.path.abspath(self.adapter.__file__)]
        if self._python is None:
            command.append(child.import_path())
        self._child = Child(f"{self.name} runs in a process of its own", command, self._errors, self._environment)
        about = self._child.greeting(Limits(None, _START_SECONDS))
        if about is None:
            self._errors.seek(0)
            self.restart()
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            why = cut(lines[-1], 300) if lines else "it says nothing"
            raise Unsupported(f"{self.title} does not start under {command[0]}: {why}")
        return about


def _bits(dtype: str, *, memory: bool) -> int:
    """How many bits an element takes, in ``memory`` or packed; 0 for a type of which nothing is known."""
    try:
        element = spelling.find(dtype)
    except DTypeError:
        return 8 if dtype in ("bool", "boolean") else 0
    return 8 * element.itemsize if memory or element.bits >= 8 else element.bits


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


def model_of(case: Case) -> tuple[Any, ...]:
    """What cases that share a model have in common."""
    return case.opversion, case.element.name, case.constants


_NOISE = (
    (r"Exception from \S+:\d+:?|Check '[^']*' failed at \S+:|\S*src/\S+:\d+:?", ""),  # places in a runtime's source
    (r"\[\w+\] END: node: .*? CALLBACK HAS THROWN:?", ""),  # the graph around the node, types and shapes included
    (r"While validating node '.*?' with friendly_name '.*?':", ""),
    (r"0x[0-9a-f]{6,}", "0x…"),
    (r"\[\d+(, ?\d+)*\]|\{\d+(, ?\d+)*\}|\(\d+(, ?\d+)+,?\)", "[…]"),  # shapes
    (r"ortshared_\w+", "a0"),
    (r"(?<![A-Za-z0-9])([abc]|sub|add|neg)\d+(?!\w)", r"\g<1>0"),  # the nodes of a case say the same
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
