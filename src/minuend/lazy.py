"""Names that are imported when they are first used, so that a caller waits for what it needs alone."""

from __future__ import annotations

import importlib
import sys
from collections import UserDict
from collections.abc import Callable, Mapping
from typing import Any


class Imported(UserDict[str, Any]):
    """Values by name, each given as ``module:member`` and imported when it is looked up.

    >>> found = Imported({"spec": "minuend.standards.dialects:spec"})
    >>> list(found), found["spec"].__module__
    (['spec'], 'minuend.standards.dialects')
    """

    def __getitem__(self, name: str) -> Any:
        if isinstance(super().__getitem__(name), str):
            module, _, member = self.data[name].partition(":")
            self.data[name] = getattr(importlib.import_module(module), member)
        return self.data[name]


def members(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Args:
        package: its ``__name__``. places: where each name is, as ``module`` or ``.module.of.it:member``.

    >>> find = members("minuend", {"spec": "minuend.standards.dialects:spec"})
    >>> find("spec").__module__
    'minuend.standards.dialects'
    """

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, member = places[name].partition(":")
        value: Any = importlib.import_module(module, package)
        if member:
            value = getattr(value, member)
        setattr(sys.modules[package], name, value)
        return value

    return find
