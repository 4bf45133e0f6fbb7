"""Outputs at addresses: written on this machine until they are whole, then copied there."""

from __future__ import annotations

import contextlib
import os
import posixpath
import secrets
from collections.abc import Iterator

from minuend.errors import FileFormatError
from minuend.files.addresses import is_web, name_of, protocol
from minuend.files.transaction.remote import errors_naming, identity, system_of
from minuend.files.transaction.writing import temporary_folder
from minuend.written import note_replaced

_AT_ONCE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "memory"}
"""Those that show an object when all of it has come."""


def check_address(path: str) -> None:
    """Refuse an address that nothing can be written to, before anything is computed."""
    if is_web(path):
        raise FileFormatError(f"{path} is on the web, which is only read; write to a file or to an object store")
    identity(path)


@contextlib.contextmanager
def output_at(path: str) -> Iterator[str]:
    """Yield a path of this machine; what lies there when the block ends well goes to an address.

    Raises:
        FileFormatError, Unsupported: see :func:`check_address`. OSError: it cannot be written; nothing appears there.
    """
    check_address(path)
    system, root = system_of(path)
    name = name_of(path)
    with temporary_folder(f"minuend-{name}") as folder:
        local = os.path.join(folder, name)
        yield local
        with errors_naming(path, written=True):
            if system.exists(root):
                note_replaced(path)
            if protocol(path) in _AT_ONCE:
                system.put_file(local, root)
                return
            place, name = posixpath.split(root)
            part = posixpath.join(place, f".{name}.{secrets.token_hex(4)}.part")
            try:
                system.put_file(local, part)
                system.mv(part, root)
            except BaseException:
                with contextlib.suppress(Exception):
                    system.rm_file(part)
                raise
