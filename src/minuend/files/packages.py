"""Packages that only some formats need, imported when a file of such a format is opened."""

from __future__ import annotations

import importlib
from types import ModuleType

from minuend.errors import Unsupported


def need(module: str, extra: str, path: str) -> ModuleType:
    """Import a package that an extra brings.

    Raises:
        Unsupported: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise Unsupported(
            f'{path} needs the package {module.partition(".")[0]!r}: pip install "minuend[{extra}]"'
        ) from None
