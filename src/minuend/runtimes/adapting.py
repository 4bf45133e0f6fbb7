"""The runtimes that are known here: a file of ``adapters`` each, which needs NumPy and the runtime alone.

An adapter says ``NAME``, ``PACKAGE``, ``DIALECTS`` (whose models it reads; where ``ARRAYS``, whose cases it is asked as
bare arrays), ``CONSTANTS`` (which operands can be constants), ``RULES`` (the broadcasting rules that it can be asked
for; ``None``: all), ``prepare(head, model, weights)`` and, where its release is not that of ``PACKAGE``, ``release()``.
``INSTALL`` is how it is installed, where that is not by pip.
What is known of the runtime beyond its measured data stands in the same file, under the names that
:mod:`minuend.runtimes.quirks` reads. A new runtime is a new file.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from minuend.errors import SpecError, listed, near, shown
from minuend.runtimes import adapters as folder


@functools.cache
def adapters() -> Mapping[str, Any]:
    """Every runtime's module by the runtime's name."""
    found = {}
    for module in pkgutil.iter_modules(folder.__path__):
        adapter = importlib.import_module(f"{folder.__name__}.{module.name}")
        found[adapter.NAME] = adapter
    return MappingProxyType(found)


def adapter(name: str) -> Any:
    """Return a runtime's module, or say which there are.

    Raises:
        SpecError: no such runtime.
    """
    if isinstance(name, str) and name in adapters():
        return adapters()[name]
    meant = near(name, adapters()) if isinstance(name, str) else ""
    raise SpecError("runtime", f"no runtime {shown(name)}{meant}; expected {listed(sorted(adapters()))}")
