"""What OpenVINO models look like from outside; reading them is in :mod:`minuend.openvino.model`."""

from __future__ import annotations

from typing import Final

from minuend.files.streaming.reading import is_pointer

SUFFIXES: Final = (".xml",)
"""What the names of OpenVINO models end in; the ``.bin`` is in the same folder."""

MODELS: Final = "OpenVINO IR"
"""What sentences call them."""

OBJECTS: Final = ("openvino.Model",)
"""Classes of other packages that are OpenVINO models."""

_STARTS = (b"<net", b"<?xml", b"<!--")
_HEAD = 1 << 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def looks_like(head: bytes) -> bool:
    """Whether the first bytes of something can be an OpenVINO model's.

    >>> looks_like(b"<?xml version='1.0'?>"), looks_like(b"<net name='m'>"), looks_like(b"<ir_version: 10")
    (True, True, False)
    """
    return head.removeprefix(_BYTE_ORDER_MARK).lstrip().lower().startswith(_STARTS)


def is_model(path: str) -> bool:
    """Whether an XML file is an IR: whether it begins with ``<net``, in any encoding; comments may stand before it."""
    with open(path, "rb") as stream:
        head = stream.read(_HEAD).replace(b"\0", b"")
    if is_pointer(head):  # XML in Git LFS is an IR in most cases, and one that was not fetched is to be reported
        return True
    while (start := head.find(b"<!--")) != -1:
        end = head.find(b"-->", start)
        head = head[:start] + (head[end + 3 :] if end != -1 else b"")
    _, _, root = head.rpartition(b"?>") if b"?>" in head else (b"", b"", head)
    return root[root.find(b"<") :].startswith((b"<net ", b"<net>", b"<net\n", b"<net\r", b"<net\t"))


def files(path: str) -> tuple[str, ...]:
    """The files that a model takes that is saved to a path: the ``.xml`` and the ``.bin``."""
    return path, f"{path[: -len(SUFFIXES[0])]}.bin"
