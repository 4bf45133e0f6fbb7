"""A page of the site, before Sphinx."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A file of the site: ``path`` below its root, and ``text``: MyST Markdown for ``.md``, else as it is."""

    path: str
    text: str
