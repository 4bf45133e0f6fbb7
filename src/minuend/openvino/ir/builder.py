"""Models made from nothing, or added to: by ``fix``, by conversion from other formats, and in tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from minuend.core import elements
from minuend.core.shapes import Shape
from minuend.errors import DTypeError, listed
from minuend.files.streaming.reading import Array
from minuend.openvino.execution import layers as table
from minuend.openvino.execution.inference import infer_layer
from minuend.openvino.ir import notation
from minuend.openvino.ir.sections import Input, Layer, Output, Ref, Type
from minuend.openvino.model import Model
from minuend.openvino.tensor import NARROW, Tensor
from minuend.openvino.versions import SPELLINGS

UNKNOWN = Type("dynamic", None)


class Builder:
    """Adds layers to a model; each call returns the output that the layer has, to be fed to others.

    Args:
        name, version: of a new model. model: one to add to instead; its layers keep their ids.

    >>> builder = Builder("bias")
    >>> x = builder.parameter("x", "f32", (None, 3))
    >>> mean = builder.constant("mean", np.float32([0.5, 0.25, 0.125]))
    >>> _ = builder.result(builder.subtract("centred", x, mean))
    >>> builder.model
    <minuend.openvino.Model 'bias': (x: f32 (?, 3)) -> (centred: f32 (?, 3)), 4 layers>
    """

    def __init__(self, name: str = "model", *, version: int = 11, model: Model | None = None) -> None:
        self.model = Model(name, version) if model is None else model
        self._next = 1 + max((layer.id for layer in self.model.layers), default=-1)

    def layer(
        self,
        kind: str,
        name: str,
        inputs: Sequence[Ref] = (),
        data: dict[str, str] | None = None,
        *,
        opset: str | None = None,
        names: Iterable[str] | None = None,
        outputs: Sequence[Type] = (UNKNOWN,),
        content: Array | None = None,
    ) -> Layer:
        """Add any layer.

        Args:
            kind: its type. name: its name. inputs: what feeds its input ports.
            data: the attributes of ``<data>``. opset: its ``version``; by default the first that holds the type.
            names: tensor names of its first output; by default the layer's name.
            outputs: the types of its outputs; of a layer that this package knows they are inferred.
            content: of a Const, its bytes as a file holds them.

        Raises:
            SpecError: a layer that its inputs do not fit.
        """
        row = table.KINDS.get(kind)
        made = Layer(
            id=self._next,
            name=name,
            type=kind,
            opset=opset or f"opset{row.opsets[0] if row else 1}",
            data=dict(data or {}),
            inputs=[Input(id=i, source=ref) for i, ref in enumerate(inputs)],
            content=content,
            fresh=content is not None,
        )
        if table.kind_of(made) is not None:
            inferred = infer_layer(made, [ref.port.type for ref in inputs])
            outputs = () if kind == "Result" else (inferred,)
        for i, type_ in enumerate(outputs):
            own = () if i else (name,) if names is None else tuple(names)
            made.outputs.append(Output(id=len(inputs) + i, type=type_, names=own))
        self.model.layers.append(made)
        self._next += 1
        return made

    def parameter(self, name: str, element_type: str, shape: Shape, *, names: Iterable[str] | None = None) -> Ref:
        """Add an input of OpenVINO's element type and of a shape (``None``: unknown rank)."""
        data = {"shape": notation.shape_text(shape), "element_type": element_type}
        return Ref(self.layer("Parameter", name, data=data, names=names), 0)

    def constant(self, name: str, value: object, *, names: Iterable[str] = ()) -> Ref:
        """Add a constant: a NumPy array, or a Tensor of a narrow type; it has no tensor name unless one is given.

        Raises:
            DTypeError: an element type that OpenVINO has not.
        """
        element, shape, content = _stored(value)
        data = {"element_type": element, "shape": ",".join(map(str, shape))}
        return Ref(self.layer("Const", name, data=data, names=names, content=content), 0)

    def result(self, source: Ref, name: str | None = None, *, output_names: Iterable[str] = ()) -> Layer:
        """Add a result; ``output_names`` replace the tensor names of what feeds it."""
        made = self.layer("Result", f"{source.layer.name}/result" if name is None else name, [source])
        if stated := notation.names_text(output_names):
            made.attributes["output_names"] = stated
        return made

    def subtract(
        self,
        name: str,
        a: Ref,
        b: Ref,
        *,
        auto_broadcast: str = "numpy",
        axis: int | None = None,
        names: Iterable[str] | None = None,
    ) -> Ref:
        """Add ``a - b``; see :meth:`elementwise`."""
        return self.elementwise("Subtract", name, [a, b], auto_broadcast=auto_broadcast, axis=axis, names=names)

    def elementwise(
        self,
        kind: str,
        name: str,
        operands: Sequence[Ref],
        *,
        auto_broadcast: str = "numpy",
        axis: int | None = None,
        names: Iterable[str] | None = None,
    ) -> Ref:
        """Add an element-wise operator.

        The axis is that of pdpd; -1 is its default by the standard's text, and written. One operand has neither.
        """
        data: dict[str, str] = {}
        if len(operands) > 1:
            data["auto_broadcast"] = auto_broadcast
            if auto_broadcast.lower() == "pdpd" or axis is not None:
                data[table.AXIS] = str(-1 if axis is None else axis)
        return Ref(self.layer(kind, name, [*operands], data, names=names), 0)

    def convert(self, name: str, x: Ref, element_type: str, *, names: Iterable[str] | None = None) -> Ref:
        return Ref(self.layer("Convert", name, [x], {"destination_type": element_type}, names=names), 0)

    def clamp(self, name: str, x: Ref, low: float, high: float) -> Ref:
        """Add a clamp to two bounds, which are both allowed."""
        return Ref(self.layer("Clamp", name, [x], {"min": repr(low), "max": repr(high)}), 0)

    def reshape(
        self, name: str, x: Ref, shape: Sequence[int], *, special_zero: bool = False, names: Iterable[str] | None = None
    ) -> Ref:
        """Add a reshape to constant dims; -1 takes what is left, 0 with ``special_zero`` what the input has there."""
        data = {"special_zero": str(special_zero).lower()}
        return Ref(self.layer("Reshape", name, [x, self._indices(name, "shape", shape)], data, names=names), 0)

    def unsqueeze(self, name: str, x: Ref, axes: Sequence[int], *, names: Iterable[str] | None = None) -> Ref:
        """Add dims of 1 at axes of the result."""
        return Ref(self.layer("Unsqueeze", name, [x, self._indices(name, "axes", axes)], names=names), 0)

    def squeeze(self, name: str, x: Ref, axes: Sequence[int], *, names: Iterable[str] | None = None) -> Ref:
        """Take dims of 1 away at axes of the input."""
        return Ref(self.layer("Squeeze", name, [x, self._indices(name, "axes", axes)], names=names), 0)

    def broadcast(
        self, name: str, x: Ref, shape: Sequence[int], *, mode: str = "numpy", names: Iterable[str] | None = None
    ) -> Ref:
        """Add a broadcast to constant dims: ``numpy`` into them, ``bidirectional`` both ways."""
        target = self._indices(name, "shape", shape)
        return Ref(self.layer("Broadcast", name, [x, target], {"mode": mode}, opset="opset3", names=names), 0)

    def _indices(self, name: str, what: str, numbers: Sequence[int]) -> Ref:
        return self.constant(f"{name}/{what}", np.array(numbers, np.int64))


def _stored(value: object) -> tuple[str, tuple[int, ...], Array]:
    if isinstance(value, Tensor):
        packed = value.pack() if value.element.bits < 8 else value.codes.tobytes()
        return value.element_type, value.shape, np.frombuffer(packed, np.uint8)
    array = np.asarray(value)
    name = table.name_of(array.dtype)
    if name is None:
        expected = listed(names[0] for names in SPELLINGS.values())
        raise DTypeError("types", f"{elements.refusal(array.dtype.name)}; expected {expected} or boolean")
    row = notation.NUMERIC.get(name)
    if row in NARROW:
        codes = np.ascontiguousarray(array).view(np.uint8).reshape(array.shape)
        return _stored(Tensor(row, np.asarray(codes & np.uint8((1 << row.bits) - 1))))
    little = array if row is None else array.astype(table.in_files(row))
    return name, array.shape, np.frombuffer(little.tobytes(), np.uint8)
