"""What ONNX models look like from outside; reading them is in :mod:`minuend.onnx.model`."""

from __future__ import annotations

from typing import Final

SUFFIXES: Final = (".onnx", ".onnxtxt")
"""What the names of ONNX models end in: protobuf, and ONNX's text form."""

MODELS: Final = "ONNX models"
"""What sentences call them."""

OBJECTS: Final = ("onnx.ModelProto",)
"""Classes of other packages that are ONNX models."""

_TEXT = ("ir_version", "opset_import", "producer_name", "producer_version", "domain", "model_version", "doc_string")
_PROTOBUF_TAGS = frozenset(
    number << 3 | wire for number, wire in ((1, 0), (2, 2), (3, 2), (4, 2), (5, 0), (6, 2), (7, 2), (8, 2))
)
"""A ModelProto begins with one of its own fields: ``ir_version`` (1, a number) to ``opset_import`` (8, a message)."""


def looks_like(head: bytes) -> bool:
    """Whether the first bytes of something can be an ONNX model's.

    >>> looks_like(b"<ir_version: 10"), looks_like(b"\\x08\\x0a"), looks_like(b"<net name='m'>"), looks_like(b"{}")
    (True, True, False, False)
    """
    text = head.lstrip()
    if text.startswith(b"<"):
        return text[1:].lstrip().decode("utf-8", "replace").startswith(_TEXT)
    return bool(head) and head[0] in _PROTOBUF_TAGS


def is_model(_: str) -> bool:
    """Whether a file of such a name is a model: nothing else is called so, and a broken one is to be reported."""
    return True


def files(path: str) -> tuple[str, ...]:
    """The files that a model takes that is saved to a path; data of its own goes into the same folder."""
    return (path,)
