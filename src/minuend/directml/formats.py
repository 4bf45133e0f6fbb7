"""Which files and objects are DirectML's, found without reading them whole."""

from __future__ import annotations

from typing import Final

SUFFIXES: Final = (".json",)
MODELS: Final = "DxDispatch models"
"""What sentences call them."""

OBJECTS: Final = ()


def looks_like(head: bytes) -> bool:
    """Whether a file's first bytes can begin a DxDispatch model: an object, or a comment before one."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"//", b"/*"))


def is_model(path: str) -> bool:
    """Whether a JSON file is a DxDispatch model: whether it names dispatchables and commands."""
    with open(path, "rb") as stream:
        data = stream.read()
    return b'"dispatchables"' in data and b'"commands"' in data


def files(path: str) -> tuple[str, ...]:
    return (path,)
