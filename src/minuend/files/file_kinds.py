"""What a file is that is neither a regular one nor a folder."""

from __future__ import annotations

import stat

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
)


def kind(mode: int) -> str:
    """What a file is that is neither a regular one nor a folder."""
    return next((name for test, name in _KINDS if test(mode)), "no regular file")
