"""Addresses of files that ``fsspec`` knows: which file system answers for one, and what it raises."""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterator
from typing import Any

from minuend.errors import FileFormatError, MinuendError, Unsupported
from minuend.files.packages import need

URL = "://"
"""What the address of an object store has and no path."""


_LOCAL = ("file", "local")


CHAIN = "::"
"""What stands between the addresses of a chain: of a cache, an archive, and what lies behind it."""


_WEB = ("http", "https")


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
    """Return the last name of a path or an address, whatever a web server is asked for beside it."""
    if is_web(path):
        return posixpath.basename(path.partition("?")[0].partition("#")[0].rstrip("/"))
    return os.path.basename(os.path.normpath(path))


def identity(path: str) -> tuple[str, ...]:
    """Return what tells the file behind an address from others: its file system's class, its host and its name there.

    ``s3://`` and ``s3a://`` are one file system, and so are all that name an object in another way.

    Raises:
        FileFormatError: an address in another one, or one that leads to a file of this machine. Others: see
            :func:`system_of`.
    """
    if is_web(path):
        return ("web", path)
    if CHAIN in path:
        raise FileFormatError(
            f"{path} is an address in another one, and what it leads to cannot be told; name the file itself"
        )
    system, root = system_of(path)
    inner = system
    while inner is not None:
        if "local" in _protocols(inner) or "file" in _protocols(inner):
            raise FileFormatError(f"{path} leads to a file of this machine by a detour; name its path")
        inner = getattr(inner, "fs", None) or getattr(inner, "sync_fs", None)
    options = system.storage_options
    host = (str(options.get(name, "")) for name in ("host", "port", "endpoint_url", "account_name"))
    kind = f"{type(system).__module__}.{type(system).__qualname__}"
    return (kind, *host, posixpath.normpath(f"/{root.lstrip('/')}"))


def _protocols(system: Any) -> tuple[str, ...]:
    # The latter of pyarrow's own.
    found: Any = getattr(system, "protocol", None) or getattr(system, "type_name", "")
    return (found,) if isinstance(found, str) else tuple(found)


def system_of(path: str, *, asynchronous: bool = False) -> tuple[Any, str]:
    """Return what answers for an address, and what it calls that.

    Args:
        path: the address. asynchronous: whether an event loop of the caller's own runs a web server's.

    Raises:
        Unsupported: its package is not installed. FileFormatError: no such protocol. OSError: it does not answer.
    """
    fsspec = need("fsspec", "remote", path)
    try:
        if is_web(path):
            from minuend.files.transaction.web import Web

            return Web(asynchronous=asynchronous), path
        system, root = fsspec.core.url_to_fs(path)
    except ImportError as error:
        raise Unsupported(
            f'{path} needs a package that is not installed ({error}); pip install "minuend[remote]" brings what '
            "http:// takes, s3:// takes s3fs, gs:// gcsfs, abfs:// adlfs"
        ) from None
    except ValueError as error:
        raise FileFormatError(f"{path} is no address that fsspec knows ({error}); expected s3://, https:// …") from None
    except Exception as error:
        raise _of(path, error) from None
    return system, root


@contextlib.contextmanager
def told(path: str, *, written: bool = False) -> Iterator[None]:
    """Say of which address it is what a file system raises: anything, of whatever package."""
    try:
        yield
    except (MinuendError, MemoryError):
        raise
    except Exception as error:
        found = _of(path, error)
        if written and isinstance(found, FileNotFoundError):
            raise FileNotFoundError(f"there is no bucket or folder for {path}; make it first") from None
        raise found from None


def _of(path: str, error: Exception) -> OSError:
    # fsspec's web file system says of everything that there is no such file, and why in the cause.
    cause = error.__cause__
    web = isinstance(cause, OSError) or type(cause).__module__.startswith("aiohttp")
    if isinstance(error, FileNotFoundError) and isinstance(cause, Exception) and web:
        error = cause
    came = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, FileNotFoundError) or getattr(error, "status", None) in (404, 410):
        return FileNotFoundError(f"there is no file {path}")
    if isinstance(error, IsADirectoryError):
        return IsADirectoryError(f"{path} is a folder; expected a file")
    if isinstance(error, PermissionError) or getattr(error, "status", None) in (401, 403):
        return PermissionError(f"{path} is not open to you ({came}); its file system in fsspec takes the credentials")
    return ConnectionError(f"{path} cannot be reached ({came}); try again, or copy it here")
