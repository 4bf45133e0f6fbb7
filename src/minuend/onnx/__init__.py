"""ONNX ``Sub``, versions 1, 6, 7, 13 and 14: on arrays (:func:`sub`) and as a backend (:class:`Backend`).

The versions are data in :mod:`minuend.onnx.versions`. Only the backend needs the ``onnx`` package; it is
imported when ``Backend`` is first requested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minuend.lazy import members

if TYPE_CHECKING:
    from minuend.onnx.backend import Backend as Backend
    from minuend.onnx.operator import sub

__all__ = ["Backend", "sub"]


_find = members(__name__, {"Backend": ".backend:Backend", "sub": ".operator:sub"})


def __getattr__(name: str) -> Any:
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ModuleNotFoundError(
            "minuend.onnx.Backend needs the package onnx; install it with: pip install 'minuend[onnx]'", name="onnx"
        ) from None
