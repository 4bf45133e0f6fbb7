"""What a dialect can do: a file of its folder for each ability. What it cannot do, it lacks the file for.

Folders ask for an ability and never for a dialect, so that a new dialect touches its own folder alone. Each ability is
declared where it is used, with the protocol of its file:

========================  =========================================================================================
``versions.py``           ``DIALECT``: the rows of its versions, its spellings, its rules of broadcasting
``operator.py``           the operator as a function of arrays
``formats.py``            :class:`minuend.models.opening.Formats`: how its models look from outside; it imports nothing
``model.py``              :class:`minuend.models.opening.Reader`: reads models
``occurrences.py``        :class:`minuend.models.occurrences.Occurring`: every judged operator of a model
``lifting.py``            :class:`minuend.models.converting.Lifting`: a model as the graph that formats convert through
``lowering.py``           :class:`minuend.models.converting.Lowering`: such a graph as a model
``versioning.py``         :class:`minuend.models.converting.Versioning`: a model at another version of the dialect
``loading.py``            :class:`minuend.models.converting.Loading`: the newest version that runtimes load
``tracing.py``            :class:`minuend.models.tracing.Tracing`: a model run value by value
``fixing.py``             :class:`minuend.rewriting.work.Fixing`: rewrites models; fix takes a version for a target
                          where there is a ``versioning.py`` too
``probing.py``            :class:`minuend.runtimes.probing.Probing`: models for runtimes
``declared.py``           :class:`minuend.runtimes.targets.Declared`: what documents say of unmeasured runtimes
``tensor_files.py``       :class:`minuend.files.base.Format`: files of tensors that the standard defines
``constant_files.py``     the same for its models, whose constants are read as tensors by name
``vectors.py``            :class:`minuend.cli.runtimes.Vectors`: cases as files for other people's runners
========================  =========================================================================================
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from minuend.errors import Unsupported
from minuend.standards.dialects import Dialect, dialects

P = TypeVar("P")


@dataclass(frozen=True)
class Ability(Generic[P]):
    """A file that a dialect's folder may have; ``P`` is the protocol of what is in it.

    Attributes:
        file: its name. lacking: the sentence about a dialect without it; ``{}`` stands for the dialect's title.
    """

    file: str
    lacking: str = ""

    def of(self, home: Dialect) -> P | None:
        """Return a dialect's module of this ability; ``None`` where the dialect lacks it.

        Raises:
            Unsupported: the dialect has it, and needs a package that is not installed.

        >>> Ability("fixing").of(dialects()["directml"]) is None
        True
        """
        if not self._is_in(home):
            return None
        try:
            return cast(P, importlib.import_module(f"minuend.{home.name}.{self.file}"))
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package in ("", "minuend"):
                raise
            raise Unsupported(
                f'models of {home.title} need the package {package!r}: pip install "minuend[{home.name}]"'
            ) from None

    def required(self, home: Dialect) -> P:
        """Return a dialect's module of this ability.

        Raises:
            Unsupported: the dialect lacks it, or needs a package that is not installed.
        """
        found = self.of(home)
        if found is None:
            raise Unsupported(self.lacking.format(home.title))
        return found

    def homes(self) -> Iterator[Dialect]:
        """Yield the dialects that have this ability."""
        return (home for home in dialects().values() if self._is_in(home))

    def every(self) -> Iterator[tuple[Dialect, P]]:
        """Yield the dialects that have this ability, each with its module."""
        return ((home, self.required(home)) for home in self.homes())

    def _is_in(self, home: Dialect) -> bool:
        return importlib.util.find_spec(f"minuend.{home.name}.{self.file}") is not None
