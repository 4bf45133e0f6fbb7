"""Running any model on a runtime: inputs of edges and random bits, outputs as arrays, values inside watched too."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minuend.core.elements import TYPES, ElementType, find, of_numpy
from minuend.errors import DTypeError, MinuendError
from minuend.models.opening import Model, dialect_of
from minuend.runtimes import case_models as models
from minuend.runtimes import values
from minuend.runtimes.running import Refused, Runtime

Array = np.ndarray[Any, np.dtype[Any]]

DIMS = (37, 5, 1)
"""What unknown dims are taken for: no power of two, more than a vector register; less than one; what joins anything."""

_MOST_BYTES = 256 << 20
"""Bytes of inputs, and of constants, up to which a model is run."""

_MOST_NODES = 20_000
"""Nodes, the calls of local functions followed, up to which a model is run where functions multiply them."""


class Skip(MinuendError):
    """A model that is not run here; the message says why."""


# ---- inputs -----------------------------------------------------------------------------------------------------


def make_inputs(model: Model, touched: Collection[str], turn: int, dim: int) -> dict[str, np.ndarray[Any, Any]]:
    """Make an array for every input that has to be given."""
    names: dict[str, int] = {}
    made: dict[str, np.ndarray[Any, Any]] = {}
    source = random.Random(f"minuend fix {turn}")
    total = 0
    for name, dtype, dims in _declared(model):
        if dims is None:
            raise Skip(f"the rank of the input {name!r} is not known")
        shape = tuple(_dim(own, names, dim) for own in dims)
        element = None if dtype == "bool" else TYPES[dtype]
        count = math.prod(shape)
        total += count * (1 if element is None else element.itemsize)
        if total > _MOST_BYTES:
            raise Skip(f"its inputs take more than {_MOST_BYTES} bytes")
        made[name] = _elements(element, count, dtype in touched, source).reshape(shape)
    return made


def _dim(own: Any, names: dict[str, int], unknown: int) -> int:
    if isinstance(own, int):
        return own
    if isinstance(own, tuple):
        low, high = own
        return int(max(low, unknown if high is None else min(unknown, high)))
    return names.setdefault(own, unknown) if own is not None else unknown


def _elements(element: ElementType | None, count: int, wild: bool, source: random.Random) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(source.getrandbits(64))
    if element is None:
        return rng.integers(0, 2, count).astype(np.bool_)
    if not wild:
        high = min(element.limits[1], 3) if element.is_integer else 8
        small = rng.integers(0, high + 1, count)
        return (small if element.is_integer else small / 4).astype(element.memory)
    codes = values.of(element, full=False).codes
    pairs = rng.integers(0, 1 << element.bits, count, dtype=np.uint64).astype(codes.dtype)
    edges = codes[rng.integers(0, len(codes), count)]
    chosen = np.where(rng.integers(0, 2, count).astype(bool), pairs, edges)
    return chosen.view(element.memory)


def _declared(model: Model) -> Iterator[tuple[str, str, tuple[Any, ...] | None]]:
    """Yield name, element type and dims of every input that has to be given."""
    if dialect_of(model) == "onnx":
        yield from _declared_onnx(model)
        return
    from minuend.openvino.notation import NUMERIC

    for name, type_ in model.inputs.items():  # type: ignore[attr-defined]
        if type_.element != "boolean" and type_.element not in NUMERIC:
            raise Skip(f"the input {name!r} is of {type_.element}")
        yield name, "bool" if type_.element == "boolean" else NUMERIC[type_.element].name, type_.shape


def _declared_onnx(model: Any) -> Iterator[tuple[str, str, tuple[Any, ...] | None]]:
    from minuend.onnx import tensors

    stored = {tensor.name for tensor in model.proto.graph.initializer}
    for value in model.proto.graph.input:
        if value.name in stored:
            continue
        kind = tensors.data_type(value.type.tensor_type.elem_type) if value.type.HasField("tensor_type") else None
        if kind is None or (kind.element is None and kind.word != "BOOL"):
            raise Skip(f"the input {value.name!r} is no tensor of numbers")
        dims: tuple[Any, ...] | None = None
        if value.type.tensor_type.HasField("shape"):
            dims = tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
                for dim in value.type.tensor_type.shape.dim
            )
        yield value.name, "bool" if kind.element is None else kind.element.name, dims


def check_size(model: Any) -> None:
    """Check that a model is not too large to be run in passing.

    Raises:
        Skip: it is.
    """
    if dialect_of(model) == "onnx":
        from minuend.onnx import tensors
        from minuend.onnx.calls import Calls
        from minuend.onnx.model import all_tensors

        nodes = Calls(model.proto).total()
        if model.proto.functions and nodes > _MOST_NODES:
            raise Skip(f"with the calls of its functions followed it has {nodes} nodes, more than {_MOST_NODES}")
        kinds = ((tensors.data_type(tensor.data_type), tensor) for tensor, _ in all_tensors(model.proto))
        nbytes = sum(kind.nbytes(math.prod(tensor.dims)) for kind, tensor in kinds if kind is not None)
    else:
        nbytes = model.weights.size
    if nbytes > _MOST_BYTES:
        raise Skip(f"its constants take {nbytes} bytes, more than {_MOST_BYTES}")


# ---- the runtime ------------------------------------------------------------------------------------------------


def asked(
    model: Model, inputs: Mapping[str, Array], outputs: Sequence[str], watched: Sequence[Any], runtime: Runtime
) -> tuple[dict[str, Array], list[Array]]:
    """Run a model and return its outputs by name, and the watched values (names in ONNX, references in IR).

    Raises:
        Skip: the runtime refuses the model, or it is too large.
    """
    if dialect_of(model) == "onnx":
        form, weights = "onnx", b""
        data, wide = _onnx_bytes(model, watched, runtime.name)
    else:
        form, wide = "ir", frozenset[int]()
        data, weights = _ir_bytes(model, watched)
    head = {"form": form, "inputs": [[name, _dtype(array), list(array.shape)] for name, array in inputs.items()]}
    answer = runtime._ask(head, [data, weights, *map(_bytes, inputs.values())])
    if isinstance(answer, Refused):
        raise Skip(f"it refuses the model: {answer.message}")
    found = [_read(dtype, tuple(shape), raw) for (dtype, shape), raw in answer]
    for i in wide:
        found[i] = found[i].astype(TYPES["bfloat16"].memory)
    return dict(zip(outputs, found, strict=False)), found[len(outputs) :]


def _dtype(array: Array) -> str:
    row = of_numpy(array.dtype)
    return str(array.dtype.name) if row is None else row.name


def _bytes(array: Array) -> bytes:
    row = of_numpy(array.dtype)
    if row is None or row.bits >= 8:
        return array.tobytes()
    return models.pack(row, array.view(np.uint8) & np.uint8((1 << row.bits) - 1))


def _read(dtype: str, shape: tuple[int, ...], raw: bytes) -> Array:
    if dtype in ("bool", "boolean"):
        return np.frombuffer(raw, np.bool_).reshape(shape)
    try:
        row = find(dtype)
    except DTypeError:
        return np.frombuffer(raw, np.dtype(dtype)).reshape(shape)
    if row.bits >= 8:
        return np.frombuffer(raw, row.memory).reshape(shape)
    return models.unpack(row, shape, raw).view(row.memory)


_NO_BFLOAT16 = ("onnxruntime-cpu",)
"""Runtimes that hand no bfloat16 out; others may leave a conversion out that is undone behind it."""


def _onnx_bytes(model: Any, watched: Sequence[str], runtime: str) -> tuple[bytes, frozenset[int]]:
    """A model in one piece with more outputs, and the numbers of those that leave it as float32 for bfloat16."""
    from onnx import ModelProto, TensorProto, ValueInfoProto, helper

    from minuend.onnx import external
    from minuend.onnx.inference import infer_types
    from minuend.onnx.model import all_tensors
    from minuend.onnx.tensors import is_external

    proto = ModelProto()
    proto.CopyFrom(model.proto)
    for tensor, where in all_tensors(proto):
        if is_external(tensor):
            tensor.CopyFrom(external.inline(tensor, model.files.bytes(tensor, f"{model.name}: {where}")))
    if watched:
        types = infer_types(model).types["graph"]
        proto.graph.output.extend(ValueInfoProto(name=name, type=types.get(name)) for name in watched)
    if runtime not in _NO_BFLOAT16:
        return proto.SerializeToString(), frozenset()
    used = {name for node in proto.graph.node for name in (*node.input, *node.output)}
    wide: dict[int, str] = {}
    for i, value in enumerate(proto.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.BFLOAT16:
            name = next(n for k in range(len(used) + 1) if (n := f"{value.name}_as_float32_{k}") not in used)
            proto.graph.node.append(helper.make_node("Cast", [value.name], [name], to=TensorProto.FLOAT))
            value.name, wide[i] = name, name
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    return proto.SerializeToString(), frozenset(wide)


def _ir_bytes(model: Any, watched: Sequence[Any]) -> tuple[bytes, bytes]:
    """A model's files with more results; the model is afterwards as it was."""
    from minuend.openvino.builder import Builder

    before = list(model.layers)
    builder = Builder(model=model)
    for i, ref in enumerate(watched):
        builder.result(ref, f"watched/{i}")
    try:
        found: tuple[bytes, bytes] = model.to_bytes()
    finally:
        model.layers[:] = before
    return found
