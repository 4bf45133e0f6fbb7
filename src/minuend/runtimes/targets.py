"""Targets: what each release of a runtime does with a subtraction, as data.

A *measured* target is a file: of this package (in this folder), of a package that adds a runtime, or of the user;
``minuend measure`` writes them, which queries and judges one case after the other by the reference. A *declared* one
is what a standard's or a runtime's documents say; it says which types are taken, not what the numbers are where the
documents are silent. A release that is neither is inferred from those around it
(:mod:`minuend.runtimes.unmeasured_releases`).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from minuend.errors import FileFormatError, SpecError, Unsupported, listed, near, shown
from minuend.models.constants import word_of
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.runtimes import registry, user_files
from minuend.runtimes.answers import Answer
from minuend.runtimes.merging import merge
from minuend.runtimes.pattern_witnesses import WITNESSES, PatternWitnesses
from minuend.runtimes.quirks import quirks
from minuend.runtimes.releases import RELEASE, parts
from minuend.runtimes.target import Target, Unfit
from minuend.runtimes.target_files import FORMAT, dump, is_file, load, read, target_of
from minuend.standards.abilities import Ability

__all__ = [
    "FORMAT", "INSTALLED", "Target", "TargetChange", "Unfit", "diff", "dump", "find", "for_models", "is_file", "load",
    "names", "nearest", "of", "read",
]  # fmt: skip

_MEASURED = Path(__file__).with_name("measured")

INSTALLED = "installed"
"""Behind ``@``: the release that is installed here."""


# ---- where they are -------------------------------------------------------------------------------------------


def _in(folder: Any) -> Mapping[str, Any]:
    """The measured targets' files of a folder by the targets' names."""
    found = {path.name: path for path in folder.iterdir()}
    return {name.removesuffix(".json"): found[name] for name in sorted(found) if name.endswith(".json") and "@" in name}


@functools.cache
def _packaged(folder: str = "") -> Mapping[str, Path]:
    """The files of subtraction, or those in a folder of another operator or of an instruction set."""
    place = _MEASURED / folder
    return _in(place) if place.is_dir() else {}


class Declared(Protocol):
    """A dialect's ``declared.py``."""

    def targets(self) -> Mapping[str, Callable[[], Target]]:
        """Return what makes a target of what documents say of a runtime that is not measured, by the target's name."""


_DECLARED = Ability[Declared]("declared")


@functools.cache
def _declared() -> Mapping[str, Callable[[], Target]]:
    return {name: functools.cache(made) for _, one in _DECLARED.every() for name, made in one.targets().items()}


def _added(runtime: str) -> Mapping[str, Any]:
    """What the package that adds a runtime has measured of it.

    Raises:
        Unsupported: it does not load, or what it calls its measured files is no folder.
    """
    one = registry.plug_ins()[runtime]
    folder = getattr(one.load(), "MEASURED", None)
    if folder is None:
        return {}
    try:
        found = _in(Path(folder) if isinstance(folder, str) else folder)
    except (OSError, AttributeError) as error:
        raise Unsupported(f"{one}: MEASURED is {shown(folder)}, which is no folder ({error})") from None
    return {name: path for name, path in found.items() if name.partition("@")[0] == runtime}


def _files(runtime: str = "") -> Mapping[str, Any]:
    """Measured files by the targets' names, of one runtime or of all; the user's own stand before others.

    A package that does not load is passed over where all are wanted: a caller who needs its runtime gets the message.
    """
    found = dict(_packaged())
    for name in [runtime] if runtime in registry.plug_ins() else [] if runtime else registry.plug_ins():
        try:
            found |= _added(name)
        except Unsupported:
            if runtime:
                raise
    found.update(user_files.files())
    return {name: path for name, path in found.items() if not runtime or _runtime(name) == runtime}


def names(runtime: str = "") -> tuple[str, ...]:
    """Return every target's name, the runtimes in alphabetical order, each one's releases from old to new.

    Args:
        runtime: of this one alone.

    Raises:
        Unsupported: the runtime is somebody else's and does not load.
    """
    every = (*_files(runtime), *(name for name in _declared() if not runtime or _runtime(name) == runtime))
    return tuple(sorted(every, key=lambda name: (_runtime(name), parts(_release(name)))))


def _runtime(name: str) -> str:
    return name.partition("@")[0]


def _release(name: str) -> str:
    return name.partition("@")[2]


# ---- one of them ----------------------------------------------------------------------------------------------


def _load(name: str) -> Target:
    if name in user_files.files():
        return _yours(name, str(user_files.files()[name]), user_files.stamp(name))
    if name in _declared():
        return _declared()[name]()
    return _packaged_target(name) if name in _packaged() else _added_target(name)


@functools.cache  # a page or a matrix asks for all of them again and again; all together hold 90 MB
def _packaged_target(name: str, folder: str = "") -> Target:
    path = _packaged(folder)[name]
    found = target_of(json.loads(path.read_text("utf-8")))  # the tests load these with all checks
    beside = path.parent.joinpath(WITNESSES, path.name)
    if not beside.is_file():
        return found
    witnesses = PatternWitnesses(functools.partial(beside.read_text, "utf-8"))
    return replace(found, table=replace(found.table, shown=witnesses))


@functools.lru_cache(maxsize=16)
def _added_target(name: str) -> Target:
    one = registry.plug_ins()[_runtime(name)]
    text = _added(_runtime(name))[name].read_text("utf-8")
    return _named(load(text, f"{name}.json of the package {one.package}"), name)


@functools.lru_cache(maxsize=16)
def _yours(name: str, path: str, stamp: str) -> Target:
    """A file of the user's; ``stamp`` says in which state."""
    return _named(read(path), name)


def _named(found: Target, name: str) -> Target:
    if found.name != name:
        raise FileFormatError(f"{name}.json holds {found.name}; expected what it is called")
    return found


def find(name: str | os.PathLike[str], *, exact: bool = False) -> Target:
    """Return a target.

    Args:
        name: ``"openvino-cpu@2026.4.1"``; the start of a release, as ``"openvino-cpu@2026.4"``, means the newest that
            starts so, and a runtime alone its newest release; ``"openvino-cpu@installed"`` is the release that is
            installed here. ``"openvino"`` and ``"ort"`` are other names of runtimes. An unmeasured release is
            answered by those around it. A path names a file of ``minuend measure``.
        exact: refuse unmeasured releases.

    Raises:
        SpecError: no such target. Unsupported: a runtime that is not installed, or somebody else's that does not load.
        FileNotFoundError, FileFormatError: see :func:`read`.

    >>> find("openvino-cpu@2026.4").name, find("ort@1.31").name
    ('openvino-cpu@2026.4.1', 'onnxruntime-cpu@1.31.1')
    >>> find("openvino-cpu@2025.1").provenance["inferred"]
    '2025.1 lies between 2025.0.0 and 2025.2.0, which agree'
    """
    if is_file(name):
        return read(name)
    if not isinstance(name, str):
        raise TypeError(f"a {type(name).__name__} is no target; expected a name such as 'openvino-cpu@2026.4'")
    runtime, at, release = name.partition("@")
    runtime = registry.proper(runtime)
    known = names(runtime) if runtime else ()
    if not known:
        raise _no_such(name, runtime)
    if release == INSTALLED:
        release = _installed(runtime)
    wanted = parts(release) if at else ()
    fitting = [other for other in known if parts(_release(other))[: len(wanted)] == wanted]
    if fitting:
        return _load(fitting[-1])
    if not exact and RELEASE.fullmatch(release) and _files(runtime):
        from minuend.runtimes.unmeasured_releases import inferred  # slow, as below

        return inferred(release, *nearest(runtime, release))
    releases = [_release(other) for other in known]
    message = f"no release of {runtime} that starts with {shown(release)}{near(release, releases)}"
    raise SpecError("targets", f"{message}; there are {listed(releases)}")


def _no_such(name: str, runtime: str) -> SpecError:
    if registry.known(runtime) is not None:
        how = f"minuend measure {runtime} -o FILE does, and --target FILE takes what it writes"
        return SpecError("targets", f"{runtime} is known here and has not been measured; {how}")
    runtimes = list(dict.fromkeys(map(_runtime, names())))
    meant = near(runtime, [*runtimes, *registry.taken_names()], cutoff=0.8)  # tensorrt is not tensorflow
    other = "" if meant else "; minuend measure queries another runtime through a module of yours (docs/runtimes.md)"
    expected = f"expected {listed(runtimes)}, each with an @release if need be"
    return SpecError("targets", f"no target {shown(name)}{meant}; {expected}{other}")


def of(target: Target, operator: Operator) -> Target | None:
    """Return what is known of an operator on a target's release; ``None`` where nothing is.

    A file holds the rows of one operator or of several. Operators other than subtraction have files of their own here.

    >>> from minuend.operators import ADD, SUBTRACT
    >>> found = find("openvino-cpu@2026.4.1")
    >>> of(found, SUBTRACT) is found, of(found, ADD).answer("openvino:Add-1", "int8", "same", "none")["wraps"].verdict
    (True, 'different-numbers')
    """
    if operator.name in target.operators:
        return target
    folder = "" if operator is SUBTRACT else operator.name
    known = not target.only_up_to and target.name in _packaged(folder)
    return _packaged_target(target.name, folder) if known else None


def measured_up_to(newest: str, name: str) -> Target | None:
    """Return a target as it was measured with an instruction set as the newest; ``None`` where it has no such file.

    Args:
        newest: one of :data:`~minuend.runtimes.processor.INSTRUCTION_SETS`. name: of the target, with its release.
    """
    return _packaged_target(name, newest) if name in _packaged(newest) else None


def for_models(target: Target) -> Target:
    """Return a target that reads model files.

    Raises:
        SpecError: it has none, and computes arrays alone.
    """
    known = quirks(target.runtime)
    if known.arrays:
        instead = known.instead or "choose the runtime that is to run the model"
        raise SpecError(
            "targets",
            f"{target.runtime} reads no model files, so it has no verdict on any: {instead}; what it does with arrays "
            f"show minuend targets --matrix and minuend prove {target.runtime}",
        )
    return target


def nearest(runtime: str, release: str) -> tuple[Target | None, Target | None]:
    """Return the measured releases of a runtime before and behind a release; ``None`` where there is none."""
    place = parts(release)
    known = [name for name in names(runtime) if name in _files(runtime)]
    older = [other for other in known if parts(_release(other)) < place]
    newer = [other for other in known if parts(_release(other)) > place]
    return _load(older[-1]) if older else None, _load(newer[0]) if newer else None


def installed() -> list[str]:
    """Return the names of the installed runtimes that run models and were measured; nobody deploys to a reference."""
    found = []
    for name in dict.fromkeys(one.partition("@")[0] for one in names()):
        adapter = registry.known(name)
        with contextlib.suppress(Unsupported):  # an adapter of another package that does not say its release
            if adapter is None or adapter.ARRAYS or name.endswith("-reference"):
                continue
            if registry.release(adapter) is not None:
                found.append(name)
    return found


def _installed(runtime: str) -> str:
    """The release of a runtime that is installed here."""
    adapter = registry.known(runtime)
    if adapter is None:
        raise SpecError("targets", f"{runtime} is known from documents, and none is installed; name its release")
    release = registry.release(adapter)
    if release is None:
        how = registry.installing(adapter)
        raise Unsupported(f"{runtime}@{INSTALLED} needs the package {adapter.PACKAGE}, which is not installed: {how}")
    return release


# ---- differences ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TargetChange:
    """Cases in which two targets answer differently.

    Attributes:
        opversions, dtypes, relations, constants: names; the change holds for each combination.
        value_class: a value class. old, new: the answers.
    """

    opversions: tuple[str, ...]
    dtypes: tuple[str, ...]
    relations: tuple[str, ...]
    constants: tuple[str, ...]
    value_class: str
    old: Answer
    new: Answer


def diff(old: Target, new: Target) -> list[TargetChange]:
    """List what changed from one target to another, in what both know of.

    Verdicts are compared, and what a pair gives that witnesses for both; messages of refusals and the sizes of operands
    that deviate are not, and the answers listed come without spans.
    """
    from minuend.runtimes.unmeasured_releases import agree

    cells: dict[tuple[str, str, str, str], dict[str, tuple[Answer, Answer]]] = {}
    for key in old.table.nodes:
        if key not in new.table.nodes:
            continue
        node = (key.opversion, key.dtype, key.relation, word_of(key.constants))
        was, now = old.answer(*node), new.answer(*node)
        changed = {name: (_shown(was[name]), _shown(now[name])) for name in was if not agree(was[name], now[name])}
        if changed:
            cells[node] = changed
    rows = merge({node: tuple(changed.items()) for node, changed in cells.items()}, (3, 2, 0, 1))
    return [
        TargetChange(versions, dtypes, relations, constants, name, *pair)
        for (versions, dtypes, relations, constants), changed in rows
        for name, pair in changed
    ]


def _shown(answer: Answer) -> Answer:
    return replace(answer, spans=())
