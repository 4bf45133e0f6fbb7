"""Paths and addresses: what names a file of this machine, of an object store, or of a web server."""

from __future__ import annotations

import os
import posixpath

URL = "://"
"""What the address of an object store has and no path."""

CHAIN = "::"
"""What stands between the addresses of a chain: of a cache, an archive, and what lies behind it."""
_WEB = ("http", "https")
_LOCAL = ("file", "local")


def protocol(path: str) -> str:
    """Return what stands before an address, ``""`` of a path."""
    return path.partition(URL)[0].lower() if URL in path else ""


def is_web(path: str) -> bool:
    """Whether an address is a web server's."""
    return protocol(path) in _WEB


def as_local(path: str) -> str:
    """Return the path that an address of this machine's files means, anything else as it is.

    >>> as_local("file:///data/a.npy"), as_local("s3://data/a.npy")
    ('/data/a.npy', 's3://data/a.npy')
    """
    return path.partition(URL)[2] if protocol(path) in _LOCAL else path


def name_of(path: str) -> str:
    """Return the last name of a path or an address, whatever a web server is queried for beside it."""
    if is_web(path):
        return posixpath.basename(path.partition("?")[0].partition("#")[0].rstrip("/"))
    return os.path.basename(os.path.normpath(path))
