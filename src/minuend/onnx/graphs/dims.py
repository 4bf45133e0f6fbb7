"""ONNX's dims as this package's shapes."""

from __future__ import annotations

from onnx import TypeProto

from minuend.core.shapes import Dim, Shape


def shape_of(type_: TypeProto | None) -> Shape:
    """Return a tensor's shape: dims that are an int, a name or ``None``; ``None`` for an unknown rank or no tensor.

    >>> from onnx import helper
    >>> shape_of(helper.make_tensor_type_proto(1, (2, "N", None))), shape_of(helper.make_tensor_type_proto(1, None))
    ((2, 'N', None), None)
    """
    if type_ is None or not type_.HasField("tensor_type") or not type_.tensor_type.HasField("shape"):
        return None
    dims: list[Dim] = []
    for dim in type_.tensor_type.shape.dim:
        known = dim.HasField("dim_value") and dim.dim_value >= 0
        dims.append(dim.dim_value if known else dim.dim_param or None)
    return tuple(dims)


def keep_common(mine: TypeProto.Tensor, theirs: TypeProto.Tensor) -> None:
    """Leave of a tensor type's dims those that another has too: an unknown rank where ranks differ."""
    if not mine.HasField("shape"):
        return
    if not theirs.HasField("shape") or len(theirs.shape.dim) != len(mine.shape.dim):
        mine.ClearField("shape")
        return
    for own, other in zip(mine.shape.dim, theirs.shape.dim, strict=True):
        if own != other:
            own.Clear()
