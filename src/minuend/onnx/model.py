"""ONNX models: read, run, saved; every Sub at its own opset, by this package.

    .onnx      a ModelProto: IR version, opset imports, a graph (inputs, initializers, nodes, outputs), functions
    .onnxtxt   the same in ONNX's text form

A protobuf message ends at 2 GiB: larger models keep tensors in files beside them (:mod:`minuend.onnx.external`).
Those stay references: a tensor's data is read when something asks for it.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped,unused-ignore]
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto
from onnx.helper import get_attribute_value
from onnx.reference.op_run import OpRun

from minuend.core.limits import MAX_BYTES
from minuend.core.shapes import Dim, format_dim, format_shape
from minuend.errors import FileFormatError, MinuendError, ResultTooLarge, SpecError, Unsupported, listed
from minuend.models.opening import Outputs
from minuend.onnx import confined, external, inference, sizes, structure, tensors, walk
from minuend.onnx.calls import Calls
from minuend.onnx.evaluator import Evaluator
from minuend.onnx.external import DataFiles
from minuend.onnx.formats import SUFFIXES
from minuend.onnx.nesting import bodies
from minuend.onnx.tensors import Array
from minuend.onnx.versions import DIALECT
from minuend.standards.node import Node
from minuend.storage.goals import check
from minuend.storage.reading import read_bytes
from minuend.storage.writing import together

_MOST_BYTES = (1 << 31) - 1
_LARGE_TENSOR = 1024
_MOST_NODES = 1 << 18
"""Nodes, the calls of functions followed, up to which a model with functions is run; some seconds."""


class RunError(MinuendError, RuntimeError):
    """ONNX's reference evaluator, which runs all operators but Sub, failed."""


def read(source: Any, *, base_dir: str | os.PathLike[str] | None = None) -> Model:
    """Read an ONNX model and check its structure.

    Args:
        source: a path (``.onnx``, or ``.onnxtxt`` for the text form), the bytes of a model, its text form as a ``str``
            (which begins with ``<``), or a ``ModelProto``, which is taken as it is, not copied.
        base_dir: the folder of its external data; that of the path if it is not given.

    Raises:
        FileNotFoundError: no such file. FileFormatError: no ONNX model, a truncated one, or one that breaks a rule.

    >>> model = read('<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a) => (uint8[2] c) { c = Sub(a, a) }')
    >>> [str(node.op) for node in model.subtractions()]
    ['Sub-14']
    """
    confined.start()
    folder = None if base_dir is None else os.fspath(base_dir)
    path: str | None = None
    if isinstance(source, ModelProto):
        proto, name = source, "the ModelProto"
    elif isinstance(source, bytes | bytearray | memoryview):
        proto, name = _parse(bytes(source), "the model's bytes"), "the model's bytes"
    elif isinstance(source, str) and source.lstrip().startswith("<"):
        proto, name = _parse_text(source, "the model's text"), "the model's text"
    elif isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if not isinstance(path, str):
            path = os.fsdecode(path)
        proto, name = _read_file(path), path
        folder = folder if folder is not None else os.path.dirname(os.path.abspath(path))
    else:
        raise TypeError(f"an ONNX model is a path, bytes, text or a ModelProto; this is a {type(source).__name__}")
    try:
        structure.check_model(proto)
    except FileFormatError as error:
        raise FileFormatError(f"{name}: {error}") from None
    return Model(proto, folder=folder, path=path, name=name)


def _read_file(path: str) -> ModelProto:
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}")
    if not os.path.isfile(path) and not os.path.isdir(path):
        raise FileFormatError(f"{path} is no regular file")
    nbytes = 0 if os.path.isdir(path) else os.path.getsize(path)
    if nbytes > _MOST_BYTES:
        raise FileFormatError(
            f"{path} has {nbytes} bytes; a protobuf message has {_MOST_BYTES} at most, and larger models keep "
            "their tensors in files beside them"
        )
    raw = read_bytes(path)
    if path.lower().endswith(".onnxtxt"):
        try:
            return _parse_text(raw.decode(), path)
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{path} is no UTF-8 text: {error.reason} at byte {error.start}") from None
    return _parse(raw, path)


def _parse(raw: bytes, name: str) -> ModelProto:
    if not raw:
        raise FileFormatError(f"{name}: it is empty; expected an ONNX model")
    try:
        proto: ModelProto = ModelProto.FromString(raw)
    except DecodeError as error:
        if "MaxDepth" in str(error):
            raise FileFormatError(f"{name}: its messages are nested deeper than the 100 that protobuf reads") from None
        raise FileFormatError(
            f"{name}: it is no protobuf message, or a truncated one; expected an ONNX model"
        ) from None
    return proto


def _parse_text(text: str, name: str) -> ModelProto:
    try:
        return confined.parse(text)
    except (confined.OnnxRefuses, confined.Exceeded, DecodeError, UnicodeError) as error:
        reason = " ".join(str(error).split())
        if reason == "stoll":  # the name of what ONNX reads them with
            reason = "a whole number in it does not fit 64 bits"
        raise FileFormatError(f"{name}: it is no model in ONNX's text form: {reason}") from None


class Model:
    """An ONNX model and the folder of its external data.

    Attributes:
        proto: the ``ModelProto``, live: changes in it are run and saved.
        folder: where its external data is; ``None`` where it came without. path: the file that it was read from.
        name: what messages call it. files: its external data.
    """

    def __init__(
        self,
        proto: ModelProto,
        *,
        folder: str | None = None,
        path: str | None = None,
        name: str = "the ModelProto",
    ) -> None:
        self.proto = proto
        self.folder = folder
        self.path = path
        self.name = name
        self.files = DataFiles(folder, name)

    def __repr__(self) -> str:
        return f"<onnx.Model {self.name}: {self.proto.graph.name!r}, {len(self.proto.graph.node)} nodes>"

    @property
    def handout(self) -> ModelProto:
        """What conversions and fixes hand out: ``proto``."""
        return self.proto

    def output_names(self) -> list[str]:
        """Return the names of the graph's outputs, in order."""
        return [value.name for value in self.proto.graph.output]

    def walk(self) -> Iterator[walk.Scope]:
        """Yield every scope that holds nodes; see :func:`minuend.onnx.walk.walk`."""
        return walk.walk(self)

    def subtractions(self) -> Iterator[Node]:
        """Yield every Sub node, in bodies and functions too, with its version, types and place.

        Raises:
            DTypeError: an operand is bool, a string and the like. Unsupported: element types that cannot be inferred.
                SpecError: not two inputs and one output.
        """
        return (found.node() for found in walk.subtractions(self))

    def array(self, tensor: TensorProto, where: str = "") -> Array:
        """Return the elements of one of its tensors, read-only; those of external data are read now.

        Raises:
            FileFormatError, FileNotFoundError: see :class:`minuend.onnx.external.DataFiles`.
        """
        place = where or f"{self.name}: tensor {tensor.name!r}"
        if tensors.is_external(tensor):
            return self.files.array(tensor, place)
        tensors.check(tensor, place)
        return tensors.to_array(tensor)

    def blocks(self, tensor: TensorProto, where: str = "") -> tuple[np.dtype[Any], Iterator[Array]]:
        """Return the type of one of its tensors' elements, and an iterator over them; raises as :meth:`array`."""
        place = where or f"{self.name}: tensor {tensor.name!r}"
        if tensors.is_external(tensor):
            return self.files.blocks(tensor, place)
        array = self.array(tensor, place)
        return array.dtype, iter([array])

    # ---- running ----------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Any], *, max_bytes: int | None = MAX_BYTES) -> dict[str, Any]:
        """Run the model: every Sub by this package, all else by ONNX's reference evaluator.

        Args:
            inputs: an array for each input by name; those that have an initializer may be left out.
            max_bytes: the size of the largest result that may be made; ``None`` for no limit.

        Returns:
            The outputs by name.

        Raises:
            SpecError: inputs that are missing, unknown, or not of the declared types and shapes; a Sub that breaks
                a rule of its version. ResultTooLarge: a result beyond ``max_bytes``. RunError: an operator that the
                evaluator does not have or that failed. FileFormatError, FileNotFoundError: bad external data.

        >>> model = read('<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a) => (uint8[2] c) { c = Sub(a, a) }')
        >>> model.run({"a": np.uint8([1, 2])})
        {'c': array([0, 0], dtype=uint8)}
        """
        self._check_calls()
        for _ in walk.sub_nodes(self.proto):  # those in branches that are not taken, too
            pass
        self._check_legacy_axes()
        feeds = _check_inputs(self.proto.graph, inputs)
        if max_bytes is not None:
            self._check_sizes(feeds, max_bytes)
        proto, stored = self._runnable()
        with _translated():
            evaluator = limited(max_bytes)(proto)
            results = evaluator.run(None, {**stored, **feeds})
        return dict(zip(self.output_names(), results, strict=True))

    def execute(
        self,
        inputs: Mapping[str, Any],
        *,
        output_dir: str | os.PathLike[str] | None = None,
        max_bytes: int | None = MAX_BYTES,
    ) -> Outputs:
        """Run the model as :meth:`run` does; models of ONNX write no files and print nothing."""
        return Outputs(self.run(inputs, max_bytes=max_bytes))

    def _check_calls(self) -> None:
        """Refuse functions that call each other so often that no end would be seen."""
        total = Calls(self.proto).total()
        if self.proto.functions and total > _MOST_NODES:
            raise Unsupported(
                f"{self.name}: with the calls of its functions followed it has {total} nodes, more than the "
                f"{_MOST_NODES} that are run"
            )

    def _check_legacy_axes(self) -> None:
        """Refuse other operators with the ``axis`` of old opsets: the evaluator does not look at it."""
        for scope in walk.walk(self.proto):
            if scope.opset is None or DIALECT.resolve(scope.opset).broadcasting == "numpy":
                continue
            for i, node in enumerate(scope.nodes):
                stated = {attribute.name: attribute.i for attribute in node.attribute}
                if node.op_type != "Sub" and "axis" in stated and stated.get("broadcast"):
                    raise Unsupported(
                        f"ONNX's evaluator ignores the axis of {node.op_type} in opset {scope.opset}, and would align "
                        f"B at the right; convert the model to opset 7 or above first, at {scope.place(i)}"
                    )

    def _check_sizes(self, feeds: Mapping[str, Any], limit: int) -> None:
        """Refuse what inference already shows to be too large."""
        given = {
            name: onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in feeds.items()
            if isinstance(array, np.ndarray)
        }
        inferred = inference.infer_types(self, given)
        for scope in walk.walk(self.proto):
            types = inferred.types.get(scope.where, {})
            for i, node in enumerate(scope.nodes):
                for name in node.output:
                    if name in types:
                        _check_size(name, types[name], limit, scope.place(i))

    def _runnable(self) -> tuple[ModelProto, dict[str, Array]]:
        """Return the model without references to files, and the tensors that the main graph has there.

        What only Shape and Size look at is not read: zeros of the same shape, which take no memory, stand for it.
        """
        if self.proto.graph.sparse_initializer:
            name = self.proto.graph.sparse_initializer[0].values.name
            raise Unsupported(
                f"{self.name}: ONNX's evaluator takes no sparse initializer (here {name!r}); make it dense"
            )
        if not any(tensors.is_external(tensor) for tensor, _ in all_tensors(self.proto)):
            return self.proto, {}
        read, sized = _names_read(self.proto.graph), _names_read(self.proto.graph, besides=("Shape", "Size"))
        stored = {
            tensor.name: self._stored(tensor, read=tensor.name in sized)
            for tensor in self.proto.graph.initializer
            if tensors.is_external(tensor) and tensor.name in read
        }
        proto = ModelProto()
        proto.CopyFrom(self.proto)
        keep = [tensor for tensor in proto.graph.initializer if not tensors.is_external(tensor)]
        del proto.graph.initializer[:]
        proto.graph.initializer.extend(keep)
        for tensor, where in all_tensors(proto):
            if tensors.is_external(tensor):
                place = f"{self.name}: {where}"
                tensor.CopyFrom(external.inline(tensor, self.files.bytes(tensor, place)))
        return proto, stored

    def _stored(self, tensor: TensorProto, *, read: bool) -> Array:
        """An initializer of the main graph that lies in a file, or what stands for it."""
        place = f"{self.name}: graph, initializer {tensor.name!r}"
        if read:
            return self.array(tensor, place)
        self.files.check(tensor, place)
        return np.broadcast_to(np.zeros((), tensors.check(tensor, place).dtype), tuple(tensor.dims))

    def sources(self) -> tuple[str, ...]:
        """Return the files that the model names, whether they are there or not: its own, and all external data."""
        own = () if self.path is None else (self.path,)
        if self.folder is None:
            return own
        data = dict.fromkeys(external.locations(self.proto))
        return (*own, *(os.path.join(self.folder, location) for location in data))

    # ---- saving -----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, inputs: Iterable[str] = ()) -> None:
        """Write the model: whole, or not at all.

        Into another folder its files of external data are copied along, to the same places beneath it. A model too
        large for one protobuf message gets its large initializers into a file ``<name>.data`` beside it (while it is
        written, the live proto has them as references).

        Args:
            path: ``.onnx``, or ``.onnxtxt`` for the text form.
            inputs: files that are not to be replaced, besides those that the model names.

        Raises:
            FileFormatError: another suffix, bad external data, or a file in the way that holds something else.
            Unsupported: a model that the text form cannot hold. MinuendError: the path is an input.
            OSError: it cannot be written there.
        """
        goal = os.fspath(path)
        suffix = os.path.splitext(goal)[1].lower()
        if suffix not in SUFFIXES:
            raise FileFormatError(f"{goal} has the suffix {suffix!r}; an ONNX model is saved as {listed(SUFFIXES)}")
        inputs = (*self.sources(), *inputs)
        check([goal], inputs)
        if suffix == ".onnxtxt":
            with together([goal], inputs) as (stream,):
                stream.write(self._text(goal).encode())
            return
        copies, raw = self._copies(goal), _serialize(self.proto)
        beside = [] if raw is not None else [f"{goal}.data"]
        # The model comes last: until it is there, nothing refers to the others.
        goals = [*copies.values(), *beside, goal]
        with together(goals, inputs, folders=bool(copies)) as streams:
            for source, stream in zip(copies, streams, strict=False):
                external.copy(source, stream)
            if raw is None:
                raw = _serialize_split(self.proto, os.path.basename(beside[0]), streams[-2], goal)
            streams[-1].write(raw)

    def _text(self, goal: str) -> str:
        text = onnx.printer.to_text(self.proto)
        try:
            back: ModelProto | None = onnx.parser.parse_model(text)
        except onnx.parser.ParseError:
            back = None
        if back != self.proto:
            raise Unsupported(
                f"{goal}: ONNX's text form does not hold all of this model (documentation, metadata, external data, "
                "unknown fields or some types); save it as .onnx"
            )
        return text if text.endswith("\n") else f"{text}\n"

    def _copies(self, goal: str) -> dict[str, str]:
        """Return the data files to be copied, and where to; all are checked first."""
        folder = os.path.realpath(os.path.dirname(os.path.abspath(goal)))
        found: dict[str, str] = {}
        for tensor, where in all_tensors(self.proto):
            if not tensors.is_external(tensor):
                continue
            place = f"{self.name}: {where}"
            self.files.check(tensor, place)
            location = external.reference(tensor, place).location
            source, target = self.files.path(location, place), os.path.join(folder, location)
            if os.path.realpath(target) == source or source in found:
                continue
            if os.path.lexists(target):
                if os.path.isfile(target) and external.same_content(source, target):
                    continue
                raise FileFormatError(
                    f"{goal}: the model's data goes to {target}, and that file is there and holds something else; "
                    "save into another folder"
                )
            found[source] = target
        return found


# ---- inputs ---------------------------------------------------------------------------------------------------


def _check_inputs(graph: GraphProto, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Check what is given against what the graph declares."""
    preset = {tensor.name for tensor in graph.initializer}
    declared = {value.name: value.type for value in graph.input}
    wanted = [name for name in declared if name not in preset]
    for name in inputs:
        if name not in declared:
            raise SpecError("inputs", "graph", f"there is no input {name!r}; expected {_names(declared)}")
    missing = [name for name in wanted if name not in inputs]
    if missing:
        raise SpecError("inputs", "graph", f"the input {missing[0]!r} is missing; expected {_names(wanted)}")
    sizes: dict[str, tuple[int, str]] = {}
    return {name: _check_input(name, value, declared[name], sizes) for name, value in inputs.items()}


def _names(names: Any) -> str:
    return ", ".join(repr(name) for name in names) or "no inputs"


def _check_input(name: str, value: Any, type_: TypeProto, sizes: dict[str, tuple[int, str]]) -> Any:
    if not type_.HasField("tensor_type"):
        return value  # a sequence, an optional, a map, or of no declared type: the evaluator's business
    array = np.asarray(value)
    if array.dtype.byteorder not in "=|" and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    where = f"input {name!r}"
    kind = tensors.data_type(type_.tensor_type.elem_type)
    if kind is not None and kind.bits and array.dtype != kind.dtype:
        raise SpecError("inputs", where, f"an array of {array.dtype} came; expected {kind.dtype} ({kind.word})")
    if not type_.tensor_type.HasField("shape"):
        return array
    dims = type_.tensor_type.shape.dim
    shape = tuple(_dim(dim) for dim in dims)
    wrong = len(dims) != array.ndim
    for axis, (dim, came) in enumerate(zip(shape, array.shape, strict=not wrong)):
        if isinstance(dim, str):
            known, first = sizes.setdefault(dim, (came, f"axis {axis} of {name!r}"))
            if known != came and not wrong:
                raise SpecError(
                    "inputs", where, f"axis {axis} has {came}, and {dim} is {known} by {first}; expected one size"
                )
        elif dim is not None and dim != came:
            wrong = True
    if wrong:
        raise SpecError("inputs", where, f"an array of shape {array.shape} came; expected {format_shape(shape)}")
    return array


def _dim(dim: Any) -> Dim:
    return dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None


# ---- sizes ----------------------------------------------------------------------------------------------------


def _check_size(name: str, type_: TypeProto, limit: int, where: str) -> None:
    kind = tensors.data_type(type_.tensor_type.elem_type) if type_.HasField("tensor_type") else None
    if kind is None or not type_.tensor_type.HasField("shape"):
        return
    dims = [_dim(dim) for dim in type_.tensor_type.shape.dim]
    known = [dim for dim in dims if isinstance(dim, int) and dim >= 0]
    nbytes = math.prod(known) * kind.dtype.itemsize
    if len(known) == len(dims) and nbytes > limit:
        shown = ", ".join(format_dim(dim) for dim in dims)
        raise _too_large(name, f"{kind.word.lower()} [{shown}]", nbytes, limit, where)


def _too_large(name: str, type_: str, nbytes: int, limit: int, where: str) -> ResultTooLarge:
    return ResultTooLarge(
        f"{name!r}, {type_}, takes {nbytes} bytes, more than the limit of {limit}; "
        f"allow it with max_bytes={nbytes} or, without a limit, max_bytes=None",
        nbytes=nbytes,
        limit=limit,
        where=where,
    )


def limited(max_bytes: int | None) -> type[Evaluator]:
    """Return an evaluator whose nodes refuse a result of more than ``max_bytes``, where that can be foreseen."""
    if max_bytes is None:
        return Evaluator

    limit = max_bytes

    class Limited(OpRun):  # type: ignore[misc, unused-ignore]
        where = ""

        def run(self, *inputs: Any, **options: Any) -> Any:
            node = self.onnx_node
            stated = {a.name: get_attribute_value(a) for a in node.attribute if not a.ref_attr_name}
            nbytes = sizes.result_bytes(node, inputs, stated)
            if nbytes > limit:
                raise _too_large(node.output[0], sizes.shown(node, inputs), nbytes, limit, self.where)
            return super().run(*inputs, **options)  # type: ignore[no-untyped-call, unused-ignore]

    @functools.cache
    def limits(kind: type[OpRun]) -> type[OpRun]:
        return type(kind.__name__, (Limited, kind), {"__module__": kind.__module__})

    class LimitedEvaluator(Evaluator):
        def _load_impl(self, node: NodeProto, input_types: Any = None) -> Any:
            found = super()._load_impl(node, input_types)
            return limits(found) if isinstance(found, type) and node.op_type in sizes.KNOWN else found

    return LimitedEvaluator


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Turn what ONNX's evaluator raises, which may be anything, into this package's errors."""
    try:
        yield
    except MinuendError:
        raise
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, MinuendError):
            cause = cause.__cause__
        if cause is not None:
            raise cause from None
        reason = " ".join(str(error).split())
        shown = reason if len(reason) <= 500 else f"{reason[:500]} …"
        raise RunError(f"ONNX's reference evaluator failed: {type(error).__name__}: {shown}") from error


# ---- tensors --------------------------------------------------------------------------------------------------


def all_tensors(model: ModelProto) -> Iterator[tuple[TensorProto, str]]:
    """Yield every tensor of a model, live, with its place: initializers and attributes, in bodies and functions."""
    for scope in walk.walk(model):
        if isinstance(scope.proto, GraphProto):
            for tensor in scope.proto.initializer:
                yield tensor, f"{scope.where}, initializer {tensor.name!r}"
            for sparse in scope.proto.sparse_initializer:
                yield sparse.values, f"{scope.where}, sparse initializer {sparse.values.name!r}, values"
                yield sparse.indices, f"{scope.where}, sparse initializer {sparse.values.name!r}, indices"
        for i, node in enumerate(scope.nodes):
            for attribute in node.attribute:
                where = f"{scope.place(i)}, attribute {attribute.name!r}"
                if attribute.HasField("t"):
                    yield attribute.t, where
                yield from ((tensor, where) for tensor in attribute.tensors)
                sparse_tensors = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
                for sparse in (*sparse_tensors, *attribute.sparse_tensors):
                    yield sparse.values, f"{where}, values"
                    yield sparse.indices, f"{where}, indices"


def _names_read(graph: GraphProto, besides: Container[str] = ()) -> set[str]:
    """The names that a graph's nodes, but for those of some operators, its bodies and its outputs read."""
    names = {value.name for value in graph.output}
    for node in graph.node:
        if node.domain not in ("", "ai.onnx") or node.op_type not in besides:
            names.update(node.input)
    for body, _ in bodies(graph.node, ""):
        names |= _names_read(body, besides)
    return names


def _serialize(proto: ModelProto) -> bytes | None:
    """Return a model's bytes, or ``None`` where it is too large for one message."""
    inline = sum(len(tensor.raw_data) for tensor in proto.graph.initializer)
    if inline > _MOST_BYTES:
        return None
    try:
        raw: bytes = proto.SerializeToString()
    except (EncodeError, ValueError):
        return None
    return raw if len(raw) <= _MOST_BYTES else None


def _serialize_split(proto: ModelProto, data: str, stream: Any, goal: str) -> bytes:
    """Write the large initializers to a stream, and return the bytes of the model that refers to them.

    The live proto is changed while this runs and is afterwards as it was: a copy would need its memory twice.
    """
    taken: list[tuple[TensorProto, bytes]] = []
    at = 0
    try:
        for tensor in proto.graph.initializer:
            raw = tensor.raw_data
            if len(raw) < _LARGE_TENSOR:
                continue
            taken.append((tensor, raw))
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", data), ("offset", at), ("length", len(raw))):
                tensor.external_data.add(key=key, value=str(value))
            stream.write(raw)
            at += len(raw)
        whole = _serialize(proto)
    finally:
        for tensor, raw in taken:
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.raw_data = raw
    if whole is None:
        raise FileFormatError(
            f"{goal}: the model is more than {_MOST_BYTES} bytes without its large initializers, and a protobuf "
            "message holds no more; move the data of its other tensors into external files"
        )
    return whole
