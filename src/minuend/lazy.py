"""Names of a package that are imported when they are first used, so that a caller waits for what it needs alone."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


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
