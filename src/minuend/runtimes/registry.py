"""The runtimes that are known here: a file of ``adapters`` each, or a module of somebody else's package.

An adapter says ``NAME``, ``PACKAGE``, ``DIALECTS`` (whose models it reads; where ``ARRAYS``, whose cases it takes as
bare arrays), ``CONSTANTS`` (which operands can be constants), ``RULES`` (the broadcasting rules that it can be
queried for; ``None``: all), ``prepare(head, model, weights)`` and, where its release is not that of
``PACKAGE``, ``release()``.
``MODULE`` is the module of ``PACKAGE``, where it bears another name,
``OTHERWISE`` names packages that hold it in place of ``PACKAGE``, ``INSTALL`` is how it is installed, where not by pip,
``ALIASES`` are other names that it goes by, ``ISA`` how it is set to use no newer instruction sets: instruction set →
environment variables. What is known of the runtime beyond its measured data stands in the same file, under the names
that :mod:`minuend.runtimes.quirks` reads. It needs NumPy and the runtime alone, for a worker loads it by its path. A
new runtime is a new file.

In another package it is a module as well: an entry point of the group ``minuend.runtimes``, named as the runtime.
``MEASURED`` is then the folder of its measured files, a path or a ``Traversable``. docs/runtimes.md shows a whole one.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.machinery
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from minuend import worker
from minuend.errors import SpecError, Unsupported, cut, listed, near, shown
from minuend.runtimes import adapters as folder

if TYPE_CHECKING:
    from importlib import metadata

GROUP = "minuend.runtimes"
"""The group of entry points through which other packages add runtimes."""

_WANTED = ("NAME", "PACKAGE", "DIALECTS", "ARRAYS", "CONSTANTS", "RULES", "prepare")
"""What every adapter has."""


@functools.cache
def adapters() -> Mapping[str, Any]:
    """Every runtime's module of this package by the runtime's name."""
    found = {}
    for module in pkgutil.iter_modules(folder.__path__):
        adapter = importlib.import_module(f"{folder.__name__}.{module.name}")
        found[adapter.NAME] = adapter
    return MappingProxyType(found)


# ---- runtimes of other packages ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlugIn:
    """A runtime that another package adds.

    Attributes:
        name: its name. package: the package's name and version. module: where its adapter is.
    """

    name: str
    package: str
    module: str

    def __str__(self) -> str:
        return f"the runtime {shown(self.name)} of the package {self.package}"

    def load(self) -> Any:
        """Return the adapter.

        Raises:
            Unsupported: it does not load, or is none; the message names the package and says why.
        """
        return _loaded(self)


@functools.cache
def _loaded(one: PlugIn) -> Any:
    if ":" in one.module:
        raise Unsupported(f"{one} is {shown(one.module)}; expected the name of a module")
    try:
        with contextlib.redirect_stdout(sys.stderr):  # the output is this program's report
            found = importlib.import_module(one.module)
    except (Exception, SystemExit) as error:  # whatever somebody else's file does while it is loaded
        why = cut(f"{type(error).__name__}: {error}", 300)
        raise Unsupported(f"{one} does not load: {one.module} ends in {why}") from None
    lacking = [name for name in _WANTED if not hasattr(found, name)]
    if not getattr(found, "__file__", None):
        raise Unsupported(f"{one}: {one.module} has no file, and a worker loads it by its path")
    if lacking:
        raise Unsupported(f"{one}: {one.module} has no {listed(lacking)}; expected {listed(_WANTED, 'and')}")
    for name, (fits, wanted) in _FORMS.items():
        if not fits(getattr(found, name)):
            raise Unsupported(f"{one}: {name} of {one.module} is {shown(getattr(found, name))}; expected {wanted}")
    if one.name != found.NAME:
        raise Unsupported(f"{one} calls itself {shown(found.NAME)}; expected the name of its entry point")
    return found


def _are_names(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(name, str) for name in value)


_FORMS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "PACKAGE": (lambda value: isinstance(value, str) and bool(value), "the name of a package"),
    "DIALECTS": (_are_names, "names of dialects in a tuple"),
    "ARRAYS": (lambda value: isinstance(value, bool), "True or False"),
    "CONSTANTS": (_are_names, "names in a tuple, such as 'none'"),
    "RULES": (lambda value: value is None or _are_names(value), "None, or names of rules in a tuple"),
    "prepare": (callable, "a function"),
}
"""What an adapter's names hold."""


def release(adapter: Any) -> str | None:
    """Return the release of a runtime that is installed; ``None`` where it is not.

    Raises:
        Unsupported: the adapter, another package's, does not say it.
    """
    try:
        found = worker.release(adapter)
    except (Exception, SystemExit) as error:
        raise Unsupported(
            f"the adapter of {adapter.NAME} does not say its release: it ends in "
            + cut(f"{type(error).__name__}: {error}", 300)
        ) from None
    if found is not None and not (
        isinstance(found, str) and 0 < len(found) <= _LONGEST_RELEASE and found.isprintable()
    ):
        raise Unsupported(f"the adapter of {adapter.NAME} gives {shown(found)} as its release; expected a short text")
    return found


_LONGEST_RELEASE = 100


@functools.cache
def _added() -> tuple[Mapping[str, PlugIn], tuple[str, ...]]:
    """Runtimes of other packages by name, and those that are left out since their name is taken, in sentences."""
    found: dict[str, PlugIn] = {}
    refused = []
    for entry in sorted(_entry_points(), key=lambda one: (_package(one), one.name)):
        one = PlugIn(entry.name, _package(entry), entry.value)
        taken = "minuend itself" if one.name in taken_names() else found[one.name].package if one.name in found else ""
        if taken and found.get(one.name) != one:
            refused.append(f"{one} is left out: that name is taken by {taken}")
        elif not taken:
            found[one.name] = one
    return MappingProxyType(found), tuple(refused)


def _entry_points() -> Iterable[metadata.EntryPoint]:
    if not _has_entry_points():
        return ()
    from importlib import metadata  # slow, as is reading what all packages say

    return metadata.entry_points(group=GROUP)


def _has_entry_points() -> bool:
    """Whether a package here may have entry points of the group: its file names it, or is not in a plain folder."""
    if any(hasattr(one, "find_distributions") and one is not importlib.machinery.PathFinder for one in sys.meta_path):
        return True
    for place in sys.path:
        try:
            names = os.listdir(place or os.curdir)
        except NotADirectoryError:  # an archive
            return True
        except OSError:  # none, or nothing that can be read
            continue
        for name in names:
            if name.lower().endswith((".dist-info", ".egg-info")) or name.lower() == "egg-info":
                with contextlib.suppress(OSError), open(os.path.join(place, name, "entry_points.txt"), "rb") as stream:
                    if GROUP.encode() in stream.read():
                        return True
    return False


def _package(entry: metadata.EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown package"


def plug_ins() -> Mapping[str, PlugIn]:
    """The runtimes that other packages add, by name; none of them is loaded by that."""
    return _added()[0]


def warnings() -> Iterator[str]:
    """Yield what is wrong with runtimes of other packages, a sentence for each; this loads all of them."""
    yield from _added()[1]
    for one in plug_ins().values():
        try:
            one.load()
        except Unsupported as error:
            yield str(error)


# ---- by name ----------------------------------------------------------------------------------------------------


def taken_names() -> Mapping[str, str]:
    """The names and aliases of this package's own runtimes, each with the runtime's name."""
    own = {name: name for name in adapters()}
    return MappingProxyType({**{a: name for name, one in adapters().items() for a in _aliases(one)}, **own})


def _aliases(adapter: Any) -> tuple[str, ...]:
    return tuple(getattr(adapter, "ALIASES", ()))


def proper(name: str) -> str:
    """Return the name of a runtime that an alias stands for; another text as it is.

    >>> proper("ort"), proper("onnxruntime-cpu"), proper("tvm")
    ('onnxruntime-cpu', 'onnxruntime-cpu', 'tvm')
    """
    if name in taken_names() or name in plug_ins():
        return taken_names().get(name, name)
    for one in plug_ins().values():
        try:
            if name in _aliases(one.load()):
                return one.name
        except Unsupported:  # a caller who needs it gets the message
            continue
    return name


def known(name: str) -> Any:
    """Return a runtime's module; ``None`` where there is none of that name.

    Raises:
        Unsupported: it is somebody else's and does not load.
    """
    if name in adapters():
        return adapters()[name]
    return plug_ins()[name].load() if name in plug_ins() else None


def installing(adapter: Any) -> str:
    """Return the command that installs a runtime."""
    return str(getattr(adapter, "INSTALL", f"pip install {adapter.PACKAGE}"))


def adapter(name: str) -> Any:
    """Return a runtime's module by its name or an alias, or say which there are.

    Raises:
        SpecError: no such runtime. Unsupported: it is somebody else's and does not load.
    """
    if isinstance(name, str) and (found := known(proper(name))) is not None:
        return found
    every = sorted((*adapters(), *plug_ins()))
    meant = near(name, [*every, *taken_names()]) if isinstance(name, str) else ""
    raise SpecError("runtime", f"no runtime {shown(name)}{meant}; expected {listed(every)}")
