"""An ONNX model as a file of tensors: the initializers of its graph and the results of its Constant nodes, by name.

They are read only. Elements of external data are read where they lie, in the model's folder; what the model itself
holds is in memory with it. Sparse ones come with their zeros. What the bodies of nodes and functions hold is not
listed: their names may repeat.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from minuend.errors import DTypeError, Unsupported, listed
from minuend.files.base import Tensor, TensorFile, clipped
from minuend.files.formats.plain_types import plain_type
from minuend.files.packages import need
from minuend.onnx.formats import SUFFIXES
from minuend.onnx.versions import SPELLINGS

if TYPE_CHECKING:
    from onnx import NodeProto, SparseTensorProto, TensorProto

    from minuend.onnx.model import Model

__all__ = ["NAMED", "SUFFIXES", "open_file"]

NAMED = True


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Read a model; its constants are looked at when they are requested.

    Raises:
        Unsupported: onnx is not installed. Others: see :func:`minuend.onnx.model.read`.
    """
    need("onnx", "onnx", path)
    from minuend.onnx.model import read

    model = read(path)
    openers: dict[str, Callable[[], Tensor]] = {}
    opener = functools.partial(_tensor, model, every_type=every_type)
    for proto in model.proto.graph.initializer:
        openers[proto.name] = functools.partial(opener, proto.name, proto)
    for sparse in model.proto.graph.sparse_initializer:
        name = sparse.values.name
        openers[name] = functools.partial(_dense, model, name, sparse, every_type=every_type)
    for node in model.proto.graph.node:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx") and node.output:
            sparse_one = next((one.sparse_tensor for one in node.attribute if one.HasField("sparse_tensor")), None)
            name = node.output[0]
            openers[name] = (
                functools.partial(_of_node, opener, node)
                if sparse_one is None
                else functools.partial(_dense, model, name, sparse_one, every_type=every_type)
            )
    return TensorFile(path, NAMED, openers, sources=model.sources())


def _of_node(opener: Callable[[str, TensorProto], Tensor], node: NodeProto) -> Tensor:
    """Return the tensor of a Constant node."""
    from minuend.onnx.documents.tensors import constant

    name = node.output[0]
    proto = constant(node)
    if proto is None:
        stated = listed([one.name for one in node.attribute], "and") or "no attribute"
        raise Unsupported(f"the Constant {clipped(name)} has {stated}; expected a dense tensor of numbers")
    return opener(name, proto)


def _dense(model: Model, name: str, sparse: SparseTensorProto, *, every_type: bool) -> Tensor:
    """Return a sparse tensor with its zeros."""
    from minuend.onnx.documents import constant_storage

    return _tensor(model, name, constant_storage.dense(model, sparse, name), every_type=every_type)


def _tensor(model: Model, name: str, proto: TensorProto, *, every_type: bool) -> Tensor:
    from minuend.onnx.documents import tensors

    where = f"{model.name} tensor {clipped(name)}"
    kind = tensors.check(proto, where)
    element = kind.element or (plain_type(kind.dtype) if every_type else None)
    if element is None:
        words = (spellings[-1] for spellings in SPELLINGS.values())
        raise DTypeError("types", f"element type {kind.word!r}; expected {listed(words)}", where=where)
    return Tensor(name, element, tuple(proto.dims), functools.partial(model.files.elements, proto, where))
