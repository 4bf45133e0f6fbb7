"""One operator at a time on onnxruntime: a model of a single node, so that nothing is fused, folded or reordered.

A node runs at its own opset. Where that is older or newer than what the installed release computes, the node is
converted, its shapes being known, as ``convert`` converts a model.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np
import onnx
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from minuend.errors import ConversionRefused, DTypeError, MinuendError, SpecError
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array, DataType, Inputs
from minuend.onnx.graphs.scope import domain_of
from minuend.onnx.opsets import convert_proto, schemas
from minuend.onnx.processes import library_process
from minuend.runtimes.registry import adapter
from minuend.runtimes.registry import release as release_of

NAME = "onnxruntime"
OLDEST = 7
"""The first opset that onnxruntime computes all of: the operators of older ones broadcast by other rules."""

_MOST_GIVEN = 4096  # bytes of an input that an older operator may want as an attribute


class RunError(MinuendError, RuntimeError):
    """What computes the operators other than Sub failed, or lacks one."""


class NoKernel(RunError):
    """onnxruntime has no kernel of an operator for these types; the caller reports the place and the way out."""


def brief(reason: str) -> str:
    """As much of another library's message as is reported."""
    return reason if len(reason) <= 500 else f"{reason[:500]} …"


class Kernel:
    """A node that onnxruntime computes.

    Args:
        node: the node. opsets: what its graph or function imports, the main domain as ``""``. where: its place.
    """

    def __init__(self, node: NodeProto, opsets: Mapping[str, int], where: str) -> None:
        self.node, self.where = node, where
        self.main = opsets.get("", newest_opset())
        self.domain = domain_of(node.domain)
        self.opset = opsets.get(self.domain, 1)
        self._sessions: dict[str, Any] = {}
        self._shaped = False  # whether sessions are made for shapes: a conversion looks at them
        self._strings = False  # whether strings stand in the model: no OrtValue is made of them

    def run(self, inputs: Inputs, attributes: Iterable[AttributeProto]) -> list[object]:
        """Compute the node.

        Args:
            inputs: a value for each input, ``None`` where the node leaves it out.
            attributes: those of the node, a function's references to its caller's filled in.

        Returns:
            A value for each output, ``None`` where the node does not request it.

        Raises:
            RunError: onnxruntime lacks the operator for these types, or refuses the inputs.
        """
        node = renamed(self.node, inputs, attributes)
        try:
            found = iter(self._computed(node, inputs))
        except MinuendError:
            raise
        except Exception as error:
            raise self._failed(error, inputs) from error
        return [next(found) if name else None for name in node.output]

    def _computed(self, node: NodeProto, inputs: Inputs) -> list[object]:
        """Run a session of the node; once more where shapes are known, which bodies of functions can need."""
        while True:
            session = self._session(node, inputs)
            if not self._strings and _lacks_strings(session, inputs):
                self._strings = True
                continue
            try:
                return _outputs(session, {one.name: inputs[int(one.name[1:])] for one in session.get_inputs()})
            except Exception:
                if self._shaped or not self._has_body():
                    raise
                self._shaped = True

    def _session(self, node: NodeProto, inputs: Inputs) -> Any:
        sealed = [_content(value) if self._is_sealed(value) else None for value in inputs]
        shapes = [_given(value) for value in inputs] if self._shaped else None
        types = [None if value is None else type_of(value).SerializeToString() for value in inputs]
        key = repr((types, shapes, sealed, [a.SerializeToString(deterministic=True) for a in node.attribute]))
        if key not in self._sessions:
            self._sessions[key] = self._built(node, inputs)
        return self._sessions[key]

    def _built(self, node: NodeProto, inputs: Inputs) -> Any:
        """A session of the node at its own opset, or converted to one for which onnxruntime has a kernel."""
        target_opset = self._ported() if self.domain == "" else 0
        self._shaped = self._shaped or target_opset > 0
        try:
            return _session_of(self._own(node, inputs, target_opset).SerializeToString())
        except Exception as error:
            if self.domain or "NOT_IMPLEMENTED" not in str(error):
                raise self._failed(error, inputs) from error
            lacks = error
        first, self._shaped = not self._shaped, True
        if first and self._has_body():
            with contextlib.suppress(Exception):  # which can need the shapes
                return _session_of(self._own(node, inputs, target_opset).SerializeToString())
        for other in self._others(target_opset or _clamped(self.main)):
            with contextlib.suppress(Exception):  # what is reported is why its own version does not run
                return _session_of(self._converted(node, inputs, other).SerializeToString())
        raise self._failed(lacks, inputs) from lacks

    def _has_body(self) -> bool:
        """Whether ONNX states the operator as a function, whose body onnxruntime takes where it has no kernel."""
        if self.domain or schemas.version_in(self.node.op_type, self.opset) is None:
            return False
        schema = schemas.schema(self.node.op_type, self.opset)
        # onnx's stubs lack both
        return any(getattr(schema, name) for name in ("has_function", "has_context_dependent_function"))

    def _own(self, node: NodeProto, inputs: Inputs, target_opset: int) -> ModelProto:
        """The node at its own opset, or converted to another one."""
        if target_opset:
            return self._converted(node, inputs, target_opset)
        return self._model(node, inputs, _clamped(self.main), shaped=self._shaped)

    def _others(self, opset: int) -> list[int]:
        """Opsets with other versions of the operator, the nearest first."""
        name = self.node.op_type
        known = {_clamped(version) for version in schemas.versions(name)}
        own = schemas.version_in(name, opset)
        return sorted((k for k in known if schemas.version_in(name, k) != own), key=lambda k: abs(k - opset))

    def _ported(self) -> int:
        """The opset that the node is converted to; 0 where its operator is the same in one that onnxruntime has."""
        target_opset = _clamped(self.opset)
        name = self.node.op_type
        return 0 if schemas.version_in(name, self.opset) == schemas.version_in(name, target_opset) else target_opset

    def _model(self, node: NodeProto, inputs: Inputs, main: int, *, shaped: bool = False) -> ModelProto:
        """The node as a model: its inputs are the graph's, but for what has to be given as initializers."""
        imports = {"": main, **({self.domain: self.opset} if self.domain else {})}
        model = ModelProto(ir_version=newest_ir(), opset_import=[helper.make_opsetid(*row) for row in imports.items()])
        model.graph.MergeFrom(GraphProto(name="node", node=[node]))
        for name, value in zip(node.input, inputs, strict=True):
            if not name:
                continue
            if self._is_sealed(value) or (isinstance(value, np.ndarray) and shaped and _given(value)[1]):
                plain = value.astype(object) if _is_string(value) else value
                model.graph.initializer.append(numpy_helper.from_array(plain, name))
            else:
                model.graph.input.add(name=name).type.CopyFrom(type_of(value, shaped=shaped))
        model.graph.output.extend(ValueInfoProto(name=name) for name in node.output if name)
        return model

    def _is_sealed(self, value: object) -> TypeGuard[Array]:
        """Whether onnxruntime takes a value from a model alone, here."""
        return _sealed(value) or (self._strings and _is_string(value))

    def _converted(self, node: NodeProto, inputs: Inputs, target_opset: int) -> ModelProto:
        model = self._model(node, inputs, self.opset, shaped=True)
        try:
            # A converter looks at the types of what comes out
            model = library_process.infer_shapes(model, data_prop=True)
            return convert_proto(model, target_opset)[0]
        except (library_process.OnnxRefuses, library_process.Exceeded) as error:
            reason = " ".join(str(error).split())
        except ConversionRefused as refused:
            reason = next(iter(refused.nodes.values()))
        except SpecError as error:
            reason = error.message
        raise NoKernel(
            f"onnxruntime {release()} computes the opsets {OLDEST} to {newest_opset()}, and this node of opset "
            f"{self.opset} cannot be brought there: {reason}"
        )

    def _failed(self, error: Exception, inputs: Inputs) -> RunError:
        reason = " ".join(str(error).split()).replace("[ONNXRuntimeError] : ", "")
        if "NOT_IMPLEMENTED" in reason:
            types = ", ".join(dict.fromkeys(_word(value) for value in inputs if value is not None))
            return NoKernel(
                f"onnxruntime {release()} has no {self.node.op_type} of opset {self.opset} for {types or 'no inputs'}"
            )
        return RunError(f"onnxruntime {release()} failed: {brief(reason)}, at {self.where}")


def renamed(node: NodeProto, inputs: Inputs, attributes: Iterable[AttributeProto]) -> NodeProto:
    """Return a node with attributes that are filled in, whose inputs are ``i0``, ``i1``, … and outputs ``o0``, …"""
    copy = NodeProto(op_type=node.op_type, domain=domain_of(node.domain), name=node.name)
    copy.input.extend("" if value is None else f"i{i}" for i, value in enumerate(inputs))
    copy.output.extend(f"o{i}" if name else "" for i, name in enumerate(node.output))
    copy.attribute.extend(attributes)
    return copy


def _clamped(opset: int) -> int:
    return min(max(opset, OLDEST), newest_opset())


# ---- the installed release --------------------------------------------------------------------------------------


def release() -> str | None:
    """The installed release of onnxruntime; ``None`` where it is not installed."""
    return release_of(adapter("onnxruntime-cpu"))


@functools.cache
def newest_opset() -> int:
    """The newest opset of the main domain that the installed onnxruntime loads."""
    return _newest(onnx.defs.onnx_opset_version(), lambda number: (number, 8))


@functools.cache
def newest_ir() -> int:
    """The newest IR version that the installed onnxruntime loads."""
    return _newest(onnx.IR_VERSION, lambda number: (OLDEST, number))


def _newest(start: int, versions: Callable[[int], tuple[int, int]]) -> int:
    for number in range(start, 0, -1):
        opset, ir = versions(number)
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "probe", [x], [y])
        model = ModelProto(ir_version=ir, opset_import=[helper.make_opsetid("", opset)], graph=graph)
        try:
            _session_of(model.SerializeToString())
        except Exception:  # a release's own classes, which say no more than that it does not load this
            continue
        return number
    raise RunError(f"onnxruntime {release()} loads no model of onnx {onnx.__version__}")


@functools.cache
def _options() -> Any:
    """One thread and no optimisation: the same numbers every time, each operator's own."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False  # what is freed is freed
    options.log_severity_level = 4
    return options


def _session_of(model: bytes) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(model, _options(), providers=["CPUExecutionProvider"])


# ---- values -----------------------------------------------------------------------------------------------------


def type_of(value: object, *, shaped: bool = False) -> TypeProto:
    """The ONNX type of a value: an array, a list (a sequence) or a dict (a map)."""
    type_ = TypeProto()
    if isinstance(value, np.ndarray):
        shape = value.shape if shaped else None
        type_.CopyFrom(helper.make_tensor_type_proto(_number(value), shape))
    elif isinstance(value, dict):
        key, item = next(iter(value.items()), ("", 0.0))
        type_.map_type.key_type = TensorProto.STRING if isinstance(key, str) else TensorProto.INT64
        # Python's float stands for float32, which ZipMap makes; float64 has NumPy's, and onnxruntime refuses it.
        number = TensorProto.FLOAT if type(item) is float else _number(np.asarray(item))
        type_.map_type.value_type.CopyFrom(helper.make_tensor_type_proto(number, ()))
    elif isinstance(value, list):
        type_.sequence_type.elem_type.CopyFrom(type_of(value[0] if value else np.zeros(0, np.float32)))
    else:
        raise DTypeError("inputs", f"a {type(value).__name__} is no value of ONNX")
    return type_


def _number(array: Array) -> int:
    if _is_string(array):
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def _word(value: object) -> str:
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    return "string" if _is_string(value) else value.dtype.name


def _sealed(value: object) -> TypeGuard[Array]:
    """Whether a value is of a type that onnxruntime takes from a model alone: several elements to a byte."""
    kind = tensors.data_type(_number(value)) if isinstance(value, np.ndarray) else None
    return kind is not None and kind.packed


def _is_string(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray) and value.dtype.kind in "OUT"


def _content(value: Array) -> object:
    """The shape and the elements of an array."""
    return value.shape, value.tolist() if _is_string(value) else value.tobytes()


def _lacks_strings(session: Any, inputs: Inputs) -> bool:
    """Whether a session takes or gives types that NumPy lacks beside strings, of which no OrtValue is made."""
    return any(map(_is_string, inputs)) and (
        any(_own_type(output.type) for output in session.get_outputs())
        or any(_plain(value)[1] is not None for value in inputs if value is not None)
    )


def _given(value: object) -> tuple[object, bytes]:
    """The shape of a value, and its bytes where a converter may want to look at them."""
    if not isinstance(value, np.ndarray):
        return None, b""
    small = value.dtype.kind in "iub" and value.nbytes <= _MOST_GIVEN and value.ndim <= 1
    return value.shape, value.tobytes() if small else b""


def _outputs(session: Any, feeds: Mapping[str, object]) -> list[object]:
    """Run a session; types that NumPy lacks go in and come out as their bits."""
    wanted = [_own_type(output.type) for output in session.get_outputs()]
    arrays = {name: _plain(value) for name, value in feeds.items()}
    if not any(wanted) and all(kind is None for _, kind in arrays.values()):
        found: list[object] = session.run(None, {name: value for name, (value, _) in arrays.items()})
        return found
    import onnxruntime

    make = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
    values = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(value) if kind is None else make(value, kind)
        for name, (value, kind) in arrays.items()
    }
    names = [output.name for output in session.get_outputs()]
    came = session.run_with_ort_values(names, values)
    return [value.numpy() if row is None else _bits(value, row) for value, row in zip(came, wanted, strict=True)]


def _own_type(text: str) -> DataType | None:
    """The element type of ``"tensor(bfloat16)"`` where NumPy lacks it; ``None`` for all others."""
    word = text.removeprefix("tensor(").removesuffix(")").upper()
    kind = tensors.data_type(dict(TensorProto.DataType.items()).get(word, 0))
    return kind if kind is not None and kind.bits and kind.dtype.isbuiltin != 1 else None


def _plain(value: object) -> tuple[object, int | None]:
    """A value as onnxruntime takes it, and the number of its type where its bits alone are given."""
    if not isinstance(value, np.ndarray):
        return value, None
    if _is_string(value):
        return value.astype(object), None
    if value.dtype.kind in "biufc" and value.dtype.type.__module__ == "numpy":  # little-endian ones are not "built in"
        return np.ascontiguousarray(value).reshape(value.shape), None
    return np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}").reshape(value.shape), _number(value)


def _bits(value: Any, kind: DataType) -> Array:
    shape = tuple(value.shape())
    count = math.prod(shape)
    data = ctypes.string_at(value.data_ptr(), kind.nbytes(count)) if count else b""
    return tensors.to_array(TensorProto(data_type=kind.number, dims=shape, raw_data=data)).copy()
