"""What is opened for reading: a file of this machine, or what lies behind an address."""

from __future__ import annotations

from typing import Protocol

from minuend.files.addresses import URL
from minuend.files.streaming.reading import Source, open_file
from minuend.files.transaction.remote import Remote


class Opened(Source, Protocol):
    """A source that is a file, or lies behind an address.

    Attributes:
        path: what messages call it.
    """

    path: str


def open_source(path: str) -> Opened:
    """Open a regular file, or what lies behind an address; raises as :func:`open_file`, and see
    :class:`~minuend.files.transaction.remote.Remote`.
    """
    if URL not in path:
        return open_file(path)
    return Remote(path)
