"""What a dialect can do: a file of its folder for each ability. What it cannot do, it lacks the file for.

Rooms ask for an ability by the file's name and never for the dialect, so that a new dialect touches its own folder
alone. The types in the table are those of the rooms that ask: :mod:`minuend.models`, :mod:`minuend.runtimes` and
:mod:`minuend.judging`.

========================  =========================================================================================
``versions.py``           ``DIALECT``: the rows of its versions, its spellings, its rules of broadcasting
``operator.py``           the operator as a function of arrays
``formats.py``            how its models look from outside; it imports nothing
``model.py``              ``read(source, **options)`` → ``Model``: :class:`minuend.models.opening.Model`
``occurrences.py``              ``occurrences(model, assumed)``: every subtraction with what its operands can hold;
                          ``names(model)``: of the values that something can be assumed of
``lifting.py``            ``to_graph(model)``: the graph that formats convert through
``lowering.py``           ``from_graph(graph, version)`` → model, changes, losses
``versioning.py``         ``convert(model, version)`` → model, changes, losses, within the dialect
``loading.py``            ``goal(target)``: the version to convert to where none is named; ``fit(model, goal)``
``fixing.py``             ``work(model, goal, overflow, accept, assumed)`` →
                          :class:`minuend.rewriting.work.Work`; a version is a goal where there is a
                          ``versioning.py`` too
``probing.py``            models for runtimes: cases, and any model as it is; see :mod:`minuend.runtimes.probing`
``declared.py``           ``targets()``: what documents say of runtimes that nobody measured
``tensor_files.py``       files of tensors that the standard defines; see :class:`minuend.files.base.Format`
``constant_files.py``     its models as files of tensors that are only read: their constants by name; ``open_file``
                          as in :class:`minuend.files.base.Format`
``vectors.py``            ``write(folder, versions)``: cases as files for other people's runners
========================  =========================================================================================
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

from minuend.errors import Unsupported
from minuend.standards.dialects import dialect, dialects


def ability(name: str, file: str) -> Any:
    """Return a dialect's module of an ability; ``None`` where the dialect lacks it.

    Raises:
        Unsupported: the dialect has it, and needs a package that is not installed.

    >>> ability("onnx", "formats").SUFFIXES, ability("directml", "fixing")
    (('.onnx', '.onnxtxt'), None)
    """
    if importlib.util.find_spec(f"minuend.{name}.{file}") is None:
        return None
    try:
        return importlib.import_module(f"minuend.{name}.{file}")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "minuend"):
            raise
        raise Unsupported(
            f'models of {dialect(name).title} need the package {package!r}: pip install "minuend[{name}]"'
        ) from None


def able(file: str) -> Iterator[str]:
    """Yield the dialects that have an ability."""
    for name in dialects():
        if importlib.util.find_spec(f"minuend.{name}.{file}") is not None:
            yield name
