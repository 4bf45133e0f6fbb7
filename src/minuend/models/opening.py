"""Models of any dialect: opened, and run.

A dialect that has model files has a ``formats.py`` (``SUFFIXES``, ``OBJECTS``, ``looks_like``), which imports nothing,
and a ``model.py`` (``read``, ``Model``). Nothing here lists the dialects.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO, Protocol, TypeGuard, TypeVar, cast

from minuend.child import MEMORY, SECONDS, Limits
from minuend.core.limits import MAX_BYTES
from minuend.errors import FileFormatError, listed
from minuend.standards.abilities import Ability
from minuend.standards.dialects import Dialect, dialect
from minuend.standards.node import Node

_HEAD = 256


class Formats(Protocol):
    """A dialect's ``formats.py``.

    Attributes:
        SUFFIXES: what the names of its files end in. MODELS: what sentences call them.
        OBJECTS: classes that are its models, as ``package.Class``.
    """

    @property
    def SUFFIXES(self) -> tuple[str, ...]: ...  # noqa: N802

    @property
    def MODELS(self) -> str: ...  # noqa: N802

    @property
    def OBJECTS(self) -> tuple[str, ...]: ...  # noqa: N802

    def looks_like(self, head: bytes) -> bool:
        """Whether these first bytes can be those of a model."""

    def is_model(self, path: str) -> bool:
        """Whether a file of such a name, found in a folder, is a model and not of another kind with that suffix."""

    def files(self, path: str) -> tuple[str, ...]:
        """The files that a model takes that is saved to a path."""


class Execution(Protocol):
    """What a run came to, before any file is written.

    Attributes:
        outputs: the outputs by name. printed: what the model itself printed, an entry each.
    """

    @property
    def outputs(self) -> Mapping[str, object]: ...

    @property
    def printed(self) -> Sequence[str]: ...

    def writers(self) -> Mapping[str, Callable[[BinaryIO], None]]:
        """Return the files that the model itself writes, by their paths: what writes each to a stream."""


@dataclass(frozen=True)
class Outputs:
    """The :class:`Execution` of a model that neither prints nor writes files."""

    outputs: Mapping[str, object]
    printed: Sequence[str] = ()

    def writers(self) -> Mapping[str, Callable[[BinaryIO], None]]:
        """None."""
        return {}


class Model(Protocol):
    """A model of some dialect; a dialect's own may derive from it for what most do alike."""

    @property
    def dialect(self) -> Dialect:
        """The dialect that it is of, which was found when it was opened."""

    @property
    def handout(self) -> Any:
        """What conversions and fixes hand out: the object that users of the format know, or the model itself."""
        return self

    def output_names(self) -> Sequence[str]:
        """Return the names of what a run returns, in order."""

    def execute(
        self,
        inputs: Mapping[str, object],
        *,
        output_dir: str | os.PathLike[str] | None = None,
        max_bytes: int | None = MAX_BYTES,
    ) -> Execution:
        """Run it and write nothing; files that the model itself writes will lie in ``output_dir``.

        By default it writes none and prints nothing.
        """
        return Outputs(self.run(inputs, max_bytes=max_bytes))

    def run(self, inputs: Mapping[str, object], *, max_bytes: int | None = MAX_BYTES) -> dict[str, Any]:
        """Run it; a result of more than ``max_bytes`` is refused (``None``: no limit)."""

    def sources(self) -> tuple[str, ...]:
        """Return all files that it names, whether they are there or not: they are inputs, and none is ever replaced."""

    def save(self, path: str | os.PathLike[str], *, inputs: Iterable[str] = ()) -> None:
        """Write it, whole or not at all, over none of ``inputs``."""

    def copies(self, original: Model, path: str) -> Mapping[str, str]:
        """Return the files of ``original`` and where to copy them, where it is saved to ``path`` and equals that one.

        None where it differs, where the original was not read from files, or where files cannot be copied one by one.
        """
        return {}

    def subtractions(self) -> Iterator[Node]:
        """Walk its subtractions."""


M_contra = TypeVar("M_contra", contravariant=True)
"""A dialect's own model, in the protocols of abilities that take one."""


class Reader(Protocol):
    """A dialect's ``model.py``."""

    def read(self, source: Any, *args: Any, **options: Any) -> Model:
        """Read a model from a path, bytes, text, or an object of one of the classes in ``formats.py``.

        Raises:
            FileNotFoundError: no such file. FileFormatError: no model, or a broken one.
        """


FORMATS = Ability[Formats]("formats")
READING = Ability[Reader]("model")


@functools.cache
def formats() -> Mapping[str, Formats]:
    """The dialects that have model files, by name."""
    return MappingProxyType({home.name: known for home, known in FORMATS.every()})


def dialect_of(source: object) -> str:
    """Return the name of the dialect that a model is of.

    A path tells by its suffix, bytes and text by how they begin, an object by its class.

    Raises:
        FileFormatError: a suffix or bytes of no dialect. TypeError: an object of no dialect.

    >>> dialect_of("model.onnx"), dialect_of(b"\\x08\\x0a\\x12\\x00")
    ('onnx', 'onnx')
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return _by_content(bytes(source[:_HEAD]), "these bytes")
    if is_text(source):
        return _by_content(source.lstrip()[:_HEAD].encode(errors="replace"), "this text")
    if isinstance(source, str | os.PathLike):
        return _by_suffix(os.fsdecode(source))
    for name, known in formats().items():
        if any(_is(source, kind) for kind in known.OBJECTS):
            return name
    kinds = [kind for known in formats().values() for kind in known.OBJECTS]
    raise TypeError(f"a {type(source).__name__} is no model; expected a path, bytes, text, or {listed(kinds)}")


def is_text(source: object) -> TypeGuard[str]:
    """Whether something is a model as text: no path, which a file may have whatever its name begins with.

    >>> is_text("<net/>"), is_text("<net>.xml"), is_text("two\\nlines.onnx")
    (True, False, False)
    """
    return (
        isinstance(source, str)
        and (source.lstrip().startswith(("<", "{", "/*")) or "\n" in source)
        and not _names_file(source)
    )


def _by_content(head: bytes, what: str) -> str:
    found = [name for name, known in formats().items() if known.looks_like(head)]
    if len(found) != 1:
        titles = listed(dialect(name).title for name in formats())
        raise FileFormatError(f"no model begins as {what} ({head[:16]!r} …); expected {titles}")
    return found[0]


def _by_suffix(path: str) -> str:
    suffix = os.path.splitext(path)[1].lower()
    for name, known in formats().items():
        if suffix in known.SUFFIXES:
            return name
    came = f"the suffix {suffix!r}" if suffix else "no suffix"
    raise FileFormatError(f"{path} has {came}, which names no kind of model; expected {suffixes()}")


def suffixes() -> str:
    """Return the suffixes of models, for messages."""
    return listed(f"{s} ({dialect(name).title})" for name, known in formats().items() for s in known.SUFFIXES)


def _is(source: object, kind: str) -> bool:
    """Whether an object is of a class that is named ``package.Class``."""
    *package, name = kind.split(".")
    return any(
        cls.__name__ == name and cls.__module__.split(".")[: len(package)] == package for cls in type(source).__mro__
    )


def open_model(source: object, **options: Any) -> Model:
    """Open a model of whichever dialect it is.

    Args:
        source: a path, bytes, text, a model object of another package (``onnx.ModelProto``), or a Model, which is
            returned as it is.
        options: what the dialect's own ``read`` takes in addition, such as ONNX's ``base_dir``.

    Returns:
        The dialect's model: it has ``run``, ``save`` and ``subtractions``.

    Raises:
        FileNotFoundError: no such file. FileFormatError: no model, or a broken one. TypeError: an object that is no
            model. Unsupported: the dialect needs a package that is not installed.
    """
    if isinstance(getattr(source, "dialect", None), Dialect):
        return cast(Model, source)
    name = dialect_of(source)
    if isinstance(source, str | os.PathLike) and _names_file(source) and not os.path.exists(source):
        raise FileNotFoundError(f"there is no file {os.fsdecode(source)}")
    return READING.required(dialect(name)).read(source, **options)


def _names_file(source: str | os.PathLike[str]) -> bool:
    return os.path.splitext(os.fsdecode(source))[1].lower() in {s for f in formats().values() for s in f.SUFFIXES}


def run(
    model: object,
    inputs: Mapping[str, object],
    *,
    max_bytes: int | None = MAX_BYTES,
    max_memory: int | None = MEMORY,
    max_seconds: float | None = SECONDS,
    **options: Any,
) -> dict[str, Any]:
    """Run a model of any dialect: every subtraction by the rules of its own version.

    Args:
        model: whatever :func:`open_model` takes.
        inputs: arrays by the model's own names of its inputs.
        max_bytes: the size of the largest result that may be made; ``None`` for no limit.
        max_memory, max_seconds: what the process that runs it may take: bytes in addition to six times the model
            with its inputs, and seconds; ``None`` for no limit.
        options: what the dialect's own ``run`` takes in addition.

    Returns:
        The outputs by name.

    Raises:
        SpecError: inputs that do not fit, or a subtraction that breaks a rule of its version. LimitExceeded: it was
            stopped, as it took more memory or time than it may. Others: see
            :func:`open_model` and the dialect's ``Model.run``.

    >>> import numpy as np
    >>> text = '<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }'
    >>> run(text, {"a": np.uint8([3, 2]), "b": np.uint8([1, 3])})
    {'c': array([  2, 255], dtype=uint8)}
    """
    with Limits(max_memory, max_seconds).applied():
        return open_model(model).run(inputs, max_bytes=max_bytes, **options)


def check_output_path(path: str, home: Dialect, inputs: Iterable[str]) -> None:
    """Check that a model of a dialect can be written to a path, before it is made.

    Raises:
        FileFormatError: another suffix, under which no reader would find the model. MinuendError, OSError: a file
            that it takes is an input, or cannot be written to; see :func:`minuend.files.transaction.writing.check`.
    """
    from minuend.files.transaction.output_paths import check, refuse_inputs  # slow, and opening needs none

    inputs = tuple(inputs)
    refuse_inputs([path], inputs)
    known = FORMATS.required(home)
    if os.path.splitext(path)[1].lower() not in known.SUFFIXES:
        raise FileFormatError(f"{path} is no name for a model of {home.title}; expected {listed(known.SUFFIXES)}")
    check(known.files(path), inputs)
