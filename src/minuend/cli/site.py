"""Where the built site lies, and how one of its pages is opened."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from minuend.errors import Unsupported
from minuend.language import ENGLISH
from minuend.standards.version import OpVersion


def installed() -> Path:
    """Where ``docs/build.py`` puts a copy for this environment."""
    return Path(sys.prefix) / "share" / "minuend" / "site"


def _places() -> Iterator[Path]:
    """Where a built site may be: in a clone that this package runs from, or in the environment."""
    clone = Path(__file__).parents[3]
    if (clone / "docs" / "build.py").exists():
        yield clone / "docs" / "_build"
    yield installed()


def slug(op: OpVersion) -> str:
    """Return the name of a version's page: what people call the version, with ``-`` for the other signs.

    >>> from minuend.standards.dialects import spec
    >>> slug(spec("onnx", 10)), slug(spec("openvino", operator="Negative"))
    ('onnx-7', 'openvino-negative-1')
    """
    return op.key.replace(":", "-").replace("@", "-").lower()


def page(name: str, language: str) -> Path:
    """Find a page of the built site.

    Args:
        name: the page's path without suffix, such as ``"operators/onnx-14"``. language: English where it was not built.

    Raises:
        Unsupported: the site has not been built here.
    """
    for place in _places():
        for folder in (language, ENGLISH):
            found = place / folder / f"{name}.html"
            if found.exists():
                return found
    raise Unsupported(
        f"the site has not been built here: no {name}.html in {installed()}; in a clone of the repository run "
        'pip install ".[docs]" && python docs/build.py'
    )


def show(path: Path) -> bool:
    """Open a page in the browser; tell whether there was one."""
    try:
        return webbrowser.open(path.as_uri())
    except webbrowser.Error:
        return False
