"""OpenVINO IR: models of layers, read, run and written without openvino.

The format, in a screenful. Two files of one name: ``.xml`` holds the layers and the edges between them, ``.bin`` the
bytes of the constants, one after the other::

    <net name="m" version="11">                 version 10 or 11
      <layers>
        <layer id="0" name="a" type="Parameter" version="opset1">
          <data shape="2,?" element_type="f32"/>
          <output><port id="0" precision="FP32" names="a"><dim>2</dim><dim>-1</dim></port></output>
        </layer>
        <layer id="1" name="b" type="Const" version="opset1">
          <data element_type="f32" shape="3" offset="0" size="12"/> …
        <layer id="2" name="sub" type="Subtract" version="opset1">
          <data auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="1"/>
          <input><port id="0"/><port id="1"/></input><output><port id="2" precision="FP32"/></output>
        </layer>
        <layer id="3" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer>
      </layers>
      <edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/> …</edges>
    </net>

A layer's inputs come in the order of its ports, not of the edges. What ports say of types and dims is not believed but
inferred anew from Parameters and constants. Results say what runs; what none of them needs is dropped by the runtime.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from minuend.core.limits import MAX_BYTES
from minuend.core.shapes import format_shape, may_be, size, static
from minuend.errors import FileFormatError, ResultTooLarge, SpecError, Unsupported, listed
from minuend.models.opening import Outputs
from minuend.openvino import ir_writer, ir_xml, notation, pairing
from minuend.openvino import layers as table
from minuend.openvino.inference import infer, settle
from minuend.openvino.ir import Array, Layer, Ref, Section, Type
from minuend.openvino.ir_reader import Reader
from minuend.openvino.ir_xml import Element
from minuend.openvino.layers import KINDS, kind_of, lacking
from minuend.openvino.tensor import Tensor
from minuend.standards.node import Node
from minuend.storage.base import quoted
from minuend.storage.reading import Memory, Source, open_file, read_bytes
from minuend.storage.writing import together

Value: TypeAlias = Array | Tensor

MAX_XML = 256 << 20
"""Bytes of an ``.xml``; one layer takes about 1,000."""


class Model:
    """A model as OpenVINO IR holds it.

    ``read`` makes one of files, :class:`minuend.openvino.builder.Builder` one of nothing.

    Attributes:
        name: the net's name. version: the format's, 10 or 11.
        section: the layers, each with its ports; edges are references from input ports to outputs.
        weights: the bytes of the ``.bin`` that it was read from, read when they are used.
        attributes, extra: the net's further attributes and elements (``rt_info`` among them), kept as they came.
        files: the paths that it was read from.
    """

    def __init__(self, name: str = "", version: int = 11) -> None:
        self.name = name
        self.version = version
        self.section = Section()
        self.weights: Source = Memory(np.empty(0, np.uint8))
        self.attributes: dict[str, str] = {}
        self.extra: list[Element] = []
        self.files: tuple[str, ...] = ()

    def __repr__(self) -> str:
        ends = [
            ", ".join(f"{name}: {type_.element} {format_shape(type_.shape)}" for name, type_ in side.items())
            for side in (self.inputs, self.outputs)
        ]
        return f"<minuend.openvino.Model {self.name!r}: ({ends[0]}) -> ({ends[1]}), {len(self.layers)} layers>"

    # ---- what it holds ----------------------------------------------------------------------------------------

    @property
    def layers(self) -> list[Layer]:
        """The layers, in the file's order; add to it and take from it freely, then call :meth:`infer`."""
        return self.section.layers

    @property
    def inputs(self) -> dict[str, Type]:
        """The types of the Parameters, in the file's order, by first tensor name, else by the layer's name."""
        return {_names(layer)[0]: layer.outputs[0].type for layer in self.section.of_type("Parameter")}

    @property
    def outputs(self) -> dict[str, Type]:
        """The types of the Results, in the file's order; see :meth:`run` for their names."""
        return {name: layer.sources()[0].port.type for name, layer in self._results().items()}

    @property
    def handout(self) -> Model:
        """What conversions and fixes hand out: the model itself."""
        return self

    def output_names(self) -> list[str]:
        """Return the names of :attr:`outputs`."""
        return list(self._results())

    @property
    def notes(self) -> list[str]:
        """What a reader should know, a sentence each: axes that are missing or misspelt, layers that nothing needs."""
        found = []
        for _, section in self._sections():
            for layer in section.layers:
                found += table.notes(layer) if layer.type in table.BROADCASTING else []
            needed = set(section.order())
            found += [
                f"{layer.where} ({layer.type}) leads to no result; the runtime drops it"
                for layer in section.layers
                if layer not in needed
            ]
        return found

    def subtractions(self) -> Iterator[Node]:
        """Every Subtract that a result depends on, those in bodies of other layers too, in an order that can run.

        Each is a :class:`~minuend.standards.node.Node` of Subtract-1: its types as inferred (behind a layer that this
        package does not know, as the file states them), its attributes as stated (a missing axis of pdpd as the
        runtime reads it, 0), its layer as the place.

        Raises:
            DTypeError: a Subtract whose element type is not known, or none that Subtract takes.
        """
        for within, section in self._sections():
            for layer in section.order():
                if layer.type == "Subtract":
                    yield self._node(layer, within)

    def _node(self, layer: Layer, within: str) -> Node:
        try:
            node = table.node(layer, [ref.port.type for ref in layer.sources()])
        except SpecError as error:
            raise error.at(f"{within}{layer.where}") from None
        place = f"{within}{node.where}"
        return Node(op=node.op, a=node.a, b=node.b, attributes=node.attributes, name=node.name, where=place)

    def _sections(self) -> Iterator[tuple[str, Section]]:
        """The model's own layers and those of all bodies, each with the start of its places."""
        waiting = [("", self.section)]
        while waiting:
            within, section = waiting.pop(0)
            yield within, section
            waiting += [
                (f"{within}{layer.where}, {tag}, ", body) for layer in section.layers for tag, body in layer.bodies
            ]

    def infer(self) -> None:
        """Infer all types and shapes anew, after layers were changed.

        Raises:
            SpecError: a layer whose inputs do not fit.
        """
        settle(self.section)

    # ---- running ----------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Any], *, max_bytes: int | None = MAX_BYTES) -> dict[str, Value]:
        """Compute the results.

        Args:
            inputs: an array for each Parameter, by a tensor name or the layer's name: of the Parameter's element type
                (nothing is converted) and of a shape that fits its. NumPy arrays (ml_dtypes for bfloat16 and narrow
                types, bool for boolean), or a :class:`~minuend.openvino.Tensor` for nf4 and the other narrow types.
            max_bytes: the largest tensor that may be made, in bytes; ``None`` for no limit.

        Returns:
            An array for each Result, by the name it states (``output_names``), else by the first tensor name of what
            feeds it, else by the name of the layer that feeds it. Results of one name go by their own layers' names.

        Raises:
            Unsupported: layers that this package does not run; the message lists their types.
            SpecError: inputs that are missing, too many or of another type or shape; layers that the shapes do not
                fit; a Convert that meets a float which the integer type cannot hold.
            ResultTooLarge: a tensor above ``max_bytes``.
        """
        order = self.section.order()
        if missing := sorted({lacking(layer) for layer in order if kind_of(layer) is None}):
            raise Unsupported(
                f"this package does not run layers of type {listed(missing, 'and')}; it runs {listed(KINDS, 'and')}; "
                "run the model with openvino, or take the subtraction out of it"
            )
        given = self._bind(inputs)
        types = infer(order, {layer: type_ for layer, (type_, _) in given.items()})
        for ref, type_ in types.items():
            _check_size(ref.layer, type_, max_bytes)
        found = _evaluate(order, given, max_bytes)
        protected = [array for _, array in given.values()]
        return {name: _returned(found[layer], protected) for name, layer in self._results().items()}

    def execute(
        self,
        inputs: Mapping[str, Any],
        *,
        output_dir: str | os.PathLike[str] | None = None,
        max_bytes: int | None = MAX_BYTES,
    ) -> Outputs:
        """Run the model as :meth:`run` does; models of OpenVINO write no files and print nothing."""
        return Outputs(self.run(inputs, max_bytes=max_bytes))

    def _bind(self, inputs: Mapping[str, Any]) -> dict[Layer, tuple[Type, Array]]:
        """Match arrays with Parameters."""
        parameters = list(self.section.of_type("Parameter"))
        by_name = {name: layer for layer in parameters[::-1] for name in _names(layer)[::-1]}
        bound: dict[Layer, tuple[Type, Array]] = {}
        for name, value in inputs.items():
            if name not in by_name:
                raise SpecError("inputs", "", f"there is no input {name!r}; expected {quoted(self.inputs) or 'none'}")
            layer = by_name[name]
            if layer in bound:
                raise SpecError("inputs", "", f"{name!r} is given twice; it is one input with {quoted(_names(layer))}")
            bound[layer] = _bound(name, layer, value)
        if absent := [_names(layer)[0] for layer in parameters if layer not in bound]:
            raise SpecError("inputs", "", f"no array is given for {quoted(absent)}; every input takes one")
        return bound

    def _results(self) -> dict[str, Layer]:
        """The Results by the names of their tensors."""
        found: dict[str, Layer] = {}
        for layer in self.section.of_type("Result"):
            name = _result_name(layer, self.version)
            for candidate in (name, layer.name, f"{layer.name}.{layer.id}"):
                if candidate not in found:
                    found[candidate] = layer
                    break
        return found

    # ---- writing ----------------------------------------------------------------------------------------------

    def to_bytes(self) -> tuple[bytes, bytes]:
        """Return the contents of the ``.xml`` and of the ``.bin``."""
        xml, weights = self._written()
        stream = _Bytes()
        weights.write(stream)
        return ir_xml.to_bytes(xml), b"".join(stream.parts)

    def sources(self) -> tuple[str, ...]:
        """Return the files that it was read from, and the ``.bin`` that would be read if it were there."""
        return tuple(dict.fromkeys((*self.files, *(_weights_path(path) for path in self.files[:1]))))

    def save(self, path: str | os.PathLike[str], *, inputs: Iterable[str] = ()) -> None:
        """Write the ``.xml`` and, beside it, the ``.bin``: both or neither; see :mod:`minuend.openvino.pairing`.

        All that was read is written, what this package has no use for too. Ports state the types that were inferred,
        and pdpd always states its axis.

        Args:
            path: of the ``.xml``. inputs: files that are not to be replaced, besides those that it was read from.

        Raises:
            FileFormatError: a path that does not end in ``.xml``. MinuendError: one of the files is an input.
            OSError: it cannot be written there.
        """
        path = os.fspath(path)
        with together([path, _weights_path(path)], (*self.sources(), *inputs)) as (xml_stream, bin_stream):
            xml, weights = self._written()
            hashing = pairing.Hashing(bin_stream)
            weights.write(hashing)
            for name, value in hashing.attributes().items():
                xml.set(name, value)
            xml_stream.write(ir_xml.to_bytes(xml))

    def _written(self) -> tuple[Element, ir_writer.Weights]:
        self.infer()
        return ir_writer.net(self.name, self.version, self.attributes, self.section, self.extra, self.weights)


class _Bytes:
    """A stream that keeps what is written."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, part: Any) -> None:
        self.parts.append(bytes(part))


# ---- values in and out ----------------------------------------------------------------------------------------


def _names(layer: Layer) -> tuple[str, ...]:
    """What an input goes by: its tensor names, then its layer's name."""
    return tuple(dict.fromkeys((*layer.outputs[0].names, layer.name)))


def _result_name(layer: Layer, version: int) -> str:
    source = layer.sources()[0]
    stated = notation.names(layer.attributes.get("output_names", "")) if version > 10 else ()
    for name in (*stated, *source.port.names):
        return name
    one = len(source.layer.outputs) == 1
    return source.layer.name if one else f"{source.layer.name}.{source.output}"


def _bound(name: str, layer: Layer, value: Any) -> tuple[Type, Array]:
    """Check an array against the Parameter that it is for."""
    wanted = layer.outputs[0].type
    if isinstance(value, Tensor):
        element, array = value.element_type, value.codes.view(value.element.memory)
    elif isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        element = table.name_of(array.dtype) or ""
        if not element:
            raise SpecError("inputs", "", f"input {name!r} is of {array.dtype.name}, which OpenVINO has not")
        array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    else:
        came = type(value).__name__
        raise SpecError("inputs", "", f"input {name!r} is a {came}; expected a NumPy array of {wanted.element}")
    if wanted.element not in (element, "dynamic"):
        raise SpecError(
            "inputs", "", f"input {name!r} is of {element}; expected {wanted.element}, and nothing is converted"
        )
    fits = wanted.shape is None or (
        len(wanted.shape) == array.ndim
        and all(may_be(dim, n) for dim, n in zip(wanted.shape, array.shape, strict=True))
    )
    if not fits:
        raise SpecError(
            "inputs", "", f"input {name!r} has shape {format_shape(array.shape)}; expected {format_shape(wanted.shape)}"
        )
    return Type(element, array.shape), array


def _check_size(layer: Layer, type_: Type, max_bytes: int | None) -> None:
    if max_bytes is None or type_.shape is None or not all(isinstance(dim, int) for dim in type_.shape):
        return
    needed = notation.nbytes(type_.element, size(static(type_.shape))) or 0
    if needed > max_bytes:
        raise ResultTooLarge(
            f"a tensor of {type_.element} {format_shape(type_.shape)} takes {needed:,} bytes, above max_bytes "
            f"{max_bytes:,}; pass a larger max_bytes, or None for no limit",
            nbytes=needed,
            limit=max_bytes,
            where=layer.where,
        )


def _evaluate(
    order: list[Layer], given: Mapping[Layer, tuple[Type, Array]], max_bytes: int | None
) -> dict[Layer, tuple[str, Array]]:
    """Compute layer after layer; return what reaches each Result. Tensors are let go after their last use."""
    uses: dict[Layer, int] = {}
    for layer in order:
        for ref in layer.sources():
            uses[ref.layer] = uses.get(ref.layer, 0) + 1
    held: dict[Layer, tuple[str, Array]] = {layer: (type_.element, array) for layer, (type_, array) in given.items()}
    for layer in order:
        if layer in given:
            continue
        operands = [held[ref.layer] for ref in layer.sources()]
        held[layer] = _computed(layer, operands, max_bytes)
        for ref in layer.sources():
            uses[ref.layer] -= 1
            if not uses[ref.layer]:
                del held[ref.layer]
    return {layer: held[layer] for layer in order if layer.type == "Result"}


def _computed(layer: Layer, operands: list[tuple[str, Array]], max_bytes: int | None) -> tuple[str, Array]:
    kind = KINDS[layer.type]
    arrays = [array for _, array in operands]
    types = [Type(element, array.shape) for element, array in operands]
    try:
        result = kind.infer(layer, types, lambda index: arrays[index])
        _check_size(layer, result, max_bytes)
        _check_promise(layer, result)
        table.check_rank(result.shape or ())
        return result.element, kind.compute(layer, arrays, types)
    except SpecError as error:
        raise (error if error.where else error.at(layer.where)) from None
    except Unsupported as error:
        raise Unsupported(f"{layer.where}: {error}") from None


def _check_promise(layer: Layer, result: Type) -> None:
    """Check that a result has the rank that was inferred, as the runtime insists: a squeezed dim turned out to be 1."""
    promised = layer.outputs[0].type.shape if layer.outputs else None
    if promised is not None and result.shape is not None and len(promised) != len(result.shape):
        raise SpecError(
            "shape",
            "",
            f"{layer.type} gives shape {format_shape(result.shape)}, and the model's shapes promise "
            f"{format_shape(promised)}; pass inputs that fit",
        )


def _returned(value: tuple[str, Array], protected: list[Array]) -> Value:
    """A result for the caller: memory of its own, never the caller's input, the model's constants or a repeated row."""
    element, array = value
    own = array.flags.owndata or (array.flags.writeable and not any(np.may_share_memory(array, p) for p in protected))
    if not own or not array.flags.writeable or any(array is p for p in protected):
        array = np.array(array, order="C")
    row = notation.NUMERIC.get(element)
    if row is not None and row.numpy is None:
        return Tensor(row, array.view(np.uint8))
    return array


# ---- reading --------------------------------------------------------------------------------------------------


def read(source: Any, weights: bytes | bytearray | memoryview | None = None) -> Model:
    """Read a model.

    Args:
        source: the path of an ``.xml`` (its ``.bin`` lies beside it and is read where it is used), the bytes or
            the text of one, or an ``openvino.Model`` (which openvino writes to a temporary folder).
        weights: with bytes: those of the ``.bin``, where the model has constants.

    Raises:
        FileNotFoundError: no such file. FileFormatError: a file that is not what it should be, with line, layer and
            port. SpecError: a layer whose inputs do not fit.
    """
    if isinstance(source, str) and source.lstrip()[:1] == "<":
        source = source.encode()
    if isinstance(source, bytes | bytearray | memoryview):
        found = None if weights is None else Memory(np.frombuffer(weights, np.uint8))
        return _read(bytes(source), "the IR", found, "the weights")
    if weights is not None:
        raise TypeError(f"weights go with the bytes of an .xml; a {type(source).__name__} brings its own")
    if isinstance(source, str | os.PathLike):
        return _read_files(os.fspath(source))
    openvino = sys.modules.get("openvino")
    if openvino is not None and isinstance(source, openvino.Model):
        return _read_object(openvino, source)
    raise TypeError(
        f"a model is a path, the bytes or text of an .xml, or an openvino.Model; this is a {type(source).__name__}"
    )


def _read_object(openvino: Any, source: Any) -> Model:
    # The open .bin outlives its name in the folder; where a system keeps open files, it keeps that one file.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "model.xml")
        openvino.serialize(source, path)
        model = _read_files(path)
    model.files = ()
    return model


def _read_files(path: str) -> Model:
    weights_path = _weights_path(path)
    _check_regular(path)
    if (length := os.path.getsize(path)) > MAX_XML:
        raise FileFormatError(f"{path} has {length:,} bytes; an .xml of more than {MAX_XML:,} is taken for no model")
    data = read_bytes(path)
    files: tuple[str, ...] = (path,)
    weights = None
    if os.path.lexists(weights_path):
        _check_beside(path, weights_path)
        files, weights = (path, weights_path), open_file(weights_path)
    model = _read(data, path, weights, weights_path)
    model.files = files
    return model


def _weights_path(path: str) -> str:
    stem, suffix = os.path.splitext(path)
    if suffix.lower() != ".xml":
        raise FileFormatError(f"{path} does not end in .xml, by which the .bin beside it is found; rename it")
    return f"{stem}.bin"


def _check_regular(path: str) -> None:
    """Check that a path is a plain file: reading a pipe or a device may never end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        kind = "a folder" if os.path.isdir(path) else "no plain file"
        raise FileFormatError(f"{path} is {kind}; expected an OpenVINO IR of two plain files")


def _check_beside(path: str, weights_path: str) -> None:
    """Check that the ``.bin`` lies in the model's folder, by its real path.

    Stores of models keep both files elsewhere, in one folder, and link to them; that is as good.
    """
    _check_regular(weights_path)
    real = os.path.realpath(weights_path)
    homes = [os.path.realpath(os.path.dirname(path) or "."), os.path.dirname(os.path.realpath(path))]
    if not any(os.path.commonpath([home, real]) == home for home in homes):
        raise FileFormatError(f"{weights_path} is a link to {real}, outside the model's folder; copy the file there")


def _read(data: bytes, source: str, weights: Source | None, weights_name: str) -> Model:
    root = ir_xml.parse(data, source)
    weights = pairing.checked(root.attrib, weights, weights_name, source)
    name, version, attributes, section = Reader(source, weights, weights_name).net(root)
    model = Model(name, version)
    model.section, model.attributes = section, attributes
    model.extra = [child for child in root if isinstance(child, Element) and child.tag not in ("layers", "edges")]
    if weights is not None:
        model.weights = weights
    try:
        model.infer()
    except SpecError as error:
        raise type(error)(error.rule, f"{error.where} of {source}", error.message) from None
    return model


__all__ = ["Layer", "Model", "Ref", "Section", "Type", "read"]
