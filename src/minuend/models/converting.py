"""Models from one version to another, and from one format to another."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from minuend.errors import ConversionRefused, MinuendError, SpecError, listed, shown
from minuend.models.opening import M_contra, Model, open_model
from minuend.standards.abilities import Ability
from minuend.standards.dialects import Dialect, dialect, dialects

if TYPE_CHECKING:
    from minuend.models.graph import Graph

Moved: TypeAlias = tuple[Model, list[str], list[str]]
"""A model that was made of another one, with what changed and what was lost, a sentence each."""


class Lifting(Protocol[M_contra]):
    """A dialect's ``lifting.py``."""

    def to_graph(self, model: M_contra, /) -> Graph:
        """Return a model as the graph that formats convert through; refuse what no graph can say."""


class Lowering(Protocol):
    """A dialect's ``lowering.py``."""

    def from_graph(self, graph: Graph, version: str | None, /) -> Moved:
        """Return a graph as a model of a version; refuse what the dialect cannot say."""


class Versioning(Protocol[M_contra]):
    """A dialect's ``versioning.py``."""

    def convert(self, model: M_contra, version: str | None, /) -> Moved:
        """Return a model at another version of its dialect; ``None`` is the newest."""


class Newest(Protocol):
    """The newest version that some runtime loads.

    Attributes:
        version: the version. message: which runtime ends there; empty where none does.
    """

    @property
    def version(self) -> int: ...

    @property
    def message(self) -> str: ...


N = TypeVar("N", bound=Newest)


class Loading(Protocol[M_contra, N]):
    """A dialect's ``loading.py``."""

    def newest_version(self, target: str | None, /) -> N:
        """Return the newest version that a target loads, or that every installed runtime does."""

    def fit(self, model: M_contra, to: N, /) -> list[str]:
        """Make a model in place so that what loads a version loads it; return what was changed."""

    def refused(self, model: M_contra, runtime: str, release: str, /) -> str:
        """Say why a release does not load a model; ``""`` where it does."""


LIFTING = Ability[Lifting[Model]]("lifting", "models of {} are not converted to other formats")
LOWERING = Ability[Lowering]("lowering", "models of {} are not converted from other formats")
VERSIONING = Ability[Versioning[Model]]("versioning")
LOADING = Ability[Loading[Model, Newest]]("loading")


@dataclass(frozen=True)
class Converted:
    """A converted model.

    Attributes:
        model: an ``onnx.ModelProto``, :class:`minuend.openvino.Model` or :class:`minuend.directml.Model`.
        changes: what was done to it, a sentence each. losses: what the other format cannot say and the result lacks.
        original: the model as it came, whose files :meth:`save` does not replace.
    """

    model: Any
    changes: list[str]
    losses: list[str]
    opened: Model
    original: Model = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, whole or not at all, over none of the original's files; an equal one is a copy."""
        from minuend.models import saving  # slow, and check saves nothing

        saving.save(self.opened, self.original, path)


def convert(model: object, to: str, *, target: str | None = None) -> Converted:
    """Convert a model to another version of its dialect, or to another dialect.

    Args:
        model: a path, bytes, ``onnx.ModelProto``, ``openvino.Model`` or a model of this package; it is not changed.
        to: ``"onnx:13"``, ``"onnx"`` (the newest opset that a runtime loads), ``"openvino"``, ``"directml:5.1"``.
        target: where ``to`` names no opset, the runtime that has to load it, such as ``"onnxruntime-cpu@1.20"``; by
            default those that are installed.

    Returns:
        The converted model with the lists of what changed and what was lost.

    Raises:
        ConversionRefused: nodes stand in the way; ``.nodes`` says which and why. SpecError: no such dialect, version or
            target, a target that decides nothing, or nothing to convert. FileFormatError, FileNotFoundError: no model,
            or a broken one.

    >>> import onnx.parser
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 10, opset_import: ["" : 6]>
    ...     g (float[2,3] a, float[2] b) => (float[2,3] c) { c = Sub <axis: int = 0, broadcast: int = 1> (a, b) }''')
    >>> [node.op_type for node in convert(model, "onnx:13").model.graph.node]
    ['Constant', 'Unsqueeze', 'Sub']
    """
    home, version = version_of(to)
    opened = open_model(model)
    versioning, loading = VERSIONING.of(home), LOADING.of(home)
    if target is not None and (version is not None or loading is None):
        raise SpecError(
            "target", f"{to!r} says what to convert to; a target decides where the version is open, as in 'onnx'"
        )
    limit = loading.newest_version(target) if loading is not None and version is None else None
    version = version if limit is None else str(limit.version)
    if opened.dialect is home and versioning is not None:
        result, changes, losses = versioning.convert(opened, version)
    elif opened.dialect is home and len(home.versions()) == 1:
        raise SpecError("to", f"the model is {home.title}'s already, which has one version; nothing to convert")
    else:
        graph = LIFTING.required(opened.dialect).to_graph(opened)
        result, changes, losses = LOWERING.required(home).from_graph(graph, version)
    if loading is not None and limit is not None:
        changes = [*([limit.message] if limit.message else []), *changes, *loading.fit(result, limit)]
    return Converted(result.handout, changes, losses, result, opened)


def advice(model: Model, to: str, words: str = "convert it first") -> str:
    """What is said of converting a model where something wants it in another format.

    Nothing is advised that would be refused: the model is converted, and the result thrown away.

    Returns:
        ``"; convert it first: …"`` in the given words, or ``", and …"`` with the reason why it stays as it is.
    """
    try:
        convert(model, to)
    except ConversionRefused as refused:
        (place, reason), *others = refused.nodes.items()
        more = f" (and {len(others)} more)" if others else ""
        return f", and minuend convert --to {to} refuses this one: {place}: {reason}{more}"
    except (MinuendError, OSError) as error:
        return f", and minuend convert --to {to} refuses this one: {error}"
    return f"; {words}: minuend convert --to {to}"


def version_of(to: str) -> tuple[Dialect, str | None]:
    """Read what a model is to be converted to: a dialect, and a version of it where one is named.

    Raises:
        SpecError: no such dialect or version. TypeError: no text.

    >>> [(home.name, version) for home, version in map(version_of, ("onnx:13", "openvino"))]
    [('onnx', '13'), ('openvino', None)]
    """
    if not isinstance(to, str):
        raise TypeError(f"a {type(to).__name__} is no version to convert to; expected a text such as 'onnx:13'")
    name, colon, version = to.partition(":")
    if not colon and name not in dialects() and (meant := [f"{one}:{to}" for one in dialects() if _has(one, to)]):
        raise SpecError("to", f"{shown(to)} names no dialect; did you mean {listed(map(repr, meant))}?")
    home = dialect(name)
    home.resolve(version if colon else None)
    return home, version if colon else None


def _has(name: str, version: str) -> bool:
    try:
        dialect(name).resolve(version)
    except SpecError:
        return False
    return True
