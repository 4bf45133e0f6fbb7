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

import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from minuend.core.limits import MAX_BYTES
from minuend.core.shapes import format_shape
from minuend.errors import FileFormatError, SpecError, shown
from minuend.files.streaming.reading import Memory, Source, open_file, read_bytes
from minuend.files.transaction.writing import together
from minuend.models import opening
from minuend.openvino.execution import layers as table
from minuend.openvino.execution import running
from minuend.openvino.execution.inference import settle
from minuend.openvino.execution.running import Value
from minuend.openvino.ir import notation, pairing, writer
from minuend.openvino.ir import xml as ir_xml
from minuend.openvino.ir.reader import Reader
from minuend.openvino.ir.sections import Layer, Ref, Section, Type
from minuend.openvino.ir.xml import Element
from minuend.openvino.versions import DIALECT
from minuend.standards.node import Node

MAX_XML = 256 << 20
"""Bytes of an ``.xml``; one layer takes about 1,000."""


_INPUTS_OF_10 = {"f16": "f32"}
_RESULTS_OF_10 = dict.fromkeys(("i32", "u32", "i64", "u64"), "i32")
"""Types that the runtime puts in the place of others where the format's version is 10; all other results are f32."""


class Model(opening.Model):
    """A model as OpenVINO IR holds it.

    ``read`` makes one of files, :class:`minuend.openvino.ir.builder.Builder` one of nothing.

    Attributes:
        name: the net's name. version: the format's, 10 or 11.
        section: the layers, each with its ports; edges are references from input ports to outputs.
        weights: the bytes of the ``.bin`` that it was read from, read when they are used.
        attributes, extra: the net's further attributes and elements (``rt_info`` among them), as they came.
        files: the paths that it was read from.
    """

    dialect = DIALECT

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
        """The types of the Parameters, in the file's order, by first tensor name, else by the layer's name.

        Tensors of one name have numbers behind it, from the second one on.
        """
        return {names[0]: layer.outputs[0].type for layer, names in running.input_names(self.section).items()}

    @property
    def outputs(self) -> dict[str, Type]:
        """The types of the Results, in the file's order; see :meth:`run` for their names."""
        return {name: layer.sources()[0].port.type for name, layer in self._results().items()}

    def output_names(self) -> list[str]:
        return list(self._results())

    @property
    def replaced(self) -> list[str]:
        """What the runtime makes of inputs and results of another type than the model states, a sentence each.

        In version 10 an input of f16 is f32, and results are f32 or, of 32 and 64-bit integers, i32.
        """
        if self.version > 10:
            return []
        inputs = [("input", name, type_, _INPUTS_OF_10.get(type_.element)) for name, type_ in self.inputs.items()]
        results = [("result", name, type_, _RESULTS_OF_10.get(type_.element, "f32")) for name, type_ in
                   self.outputs.items()]  # fmt: skip
        return [
            f"in version {self.version} of the format the runtime has the {side} {shown(name)} as {other} instead of "
            f"{type_.element}; write the model in version 11"
            for side, name, type_, other in inputs + results
            if other not in (None, type_.element)
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader should know, a sentence each.

        Types that the runtime replaces, axes that are missing or misspelt, layers that nothing needs.
        """
        found = self.replaced
        for _, section in self._sections():
            found += [note for one in section.layers if one.type in table.BROADCASTING for note in table.notes(one)]
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
        return replace(node, where=f"{within}{node.where}")

    def _sections(self) -> Iterator[tuple[str, Section]]:
        """The model's own layers and those of all bodies, each with the start of its places."""
        waiting = [("", self.section)]
        while waiting:
            within, section = waiting.pop(0)
            yield within, section
            waiting += [
                (f"{within}{layer.where}, {tag}, ", body) for layer in section.layers for tag, body in layer.bodies
            ]

    @property
    def missing(self) -> Layer | None:
        """The first constant whose ``.bin`` is not there: such a model can be checked, not run or written."""
        return next((layer for _, section in self._sections() for layer in section.layers if layer.is_missing), None)

    def _check_whole(self) -> None:
        if self.missing is not None:
            self.missing.stored()  # its error says what is missing where

    def infer(self) -> None:
        """Infer all types and shapes anew, after layers were changed.

        Raises:
            SpecError: a layer whose inputs do not fit.
        """
        settle(self.section)

    # ---- running ----------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, object], *, max_bytes: int | None = MAX_BYTES) -> dict[str, Value]:
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
            ResultTooLarge: a tensor above ``max_bytes``. FileFormatError: constants that are not there.
        """
        self._check_whole()
        return running.run(self.section, inputs, self._results(), max_bytes)

    def _results(self) -> dict[str, Layer]:
        found: dict[str, Layer] = {}
        for layer in self.section.of_type("Result"):
            name = _result_name(layer, self.version)
            candidates = (name, layer.name, f"{layer.name}.{layer.id}")
            found.setdefault(next((one for one in candidates if one not in found), name), layer)
        return found

    # ---- writing ----------------------------------------------------------------------------------------------

    def to_bytes(self) -> tuple[bytes, bytes]:
        """Return the contents of the ``.xml`` and of the ``.bin``."""
        xml, weights = self._written()
        stream = io.BytesIO()
        weights.write(stream)
        return ir_xml.to_bytes(xml), stream.getvalue()

    def sources(self) -> tuple[str, ...]:
        """Return the files that it was read from, and the ``.bin`` that would be read if it were there."""
        return tuple(dict.fromkeys((*self.files, *(_weights_path(path) for path in self.files[:1]))))

    def copies(self, original: object, path: str) -> dict[str, str]:
        """Return the files to copy where this model is the one that was read; see :mod:`minuend.models.opening`."""
        suffix = os.path.splitext(path)[1].lower()
        if not isinstance(original, Model) or len(original.files) != 2 or suffix != ".xml":
            return {}
        same = self.to_bytes() == original.to_bytes()
        return dict(zip(original.files, (path, _weights_path(path)), strict=True)) if same else {}

    def save(self, path: str | os.PathLike[str], *, inputs: Iterable[str] = ()) -> None:
        """Write the ``.xml`` and the ``.bin`` in its folder: both or neither; see :mod:`minuend.openvino.ir.pairing`.

        All that was read is written, what this package has no use for too. Ports state the types that were inferred,
        and pdpd always states its axis.

        Args:
            path: of the ``.xml``. inputs: files not to be replaced, in addition to those that it was read from.

        Raises:
            FileFormatError: a path that does not end in ``.xml``, or constants that are not there. MinuendError: one of
                the files is an input.
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

    def _written(self) -> tuple[Element, writer.Weights]:
        self._check_whole()
        self.infer()
        return writer.net(self.name, self.version, self.attributes, self.section, self.extra, self.weights)


# ---- values in and out ----------------------------------------------------------------------------------------


def _result_name(layer: Layer, version: int) -> str:
    source = layer.sources()[0]
    stated = notation.names(layer.attributes.get("output_names", "")) if version > 10 else ()
    if names := (*stated, *source.port.names):
        return names[0]
    return source.layer.name if len(source.layer.outputs) == 1 else f"{source.layer.name}.{source.output}"


# ---- reading --------------------------------------------------------------------------------------------------


def read(source: object, weights: bytes | bytearray | memoryview | None = None) -> Model:
    """Read a model.

    Args:
        source: the path of an ``.xml`` (its ``.bin`` is in the same folder and is read where it is used), the bytes or
            the text of one, or an ``openvino.Model`` (which openvino writes to a temporary folder).
        weights: with bytes: those of the ``.bin``, where the model has constants.

    Without a ``.bin`` the constants of a model are unknown: it can be checked; running and writing it is refused.

    Raises:
        FileNotFoundError: no such file. FileFormatError: a file that is not what it should be, with line, layer and
            port. SpecError: a layer whose inputs do not fit.
    """
    if opening.is_text(source):
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


def _read_object(openvino: ModuleType, source: Any) -> Model:
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
        _check_same_folder(path, weights_path)
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


def _check_same_folder(path: str, weights_path: str) -> None:
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
    if version == 10:
        _check_names(section, source)
    try:
        model.infer()
    except SpecError as error:
        raise type(error)(error.rule, error.message, where=f"{error.where} of {source}") from None
    return model


def _check_names(section: Section, source: str) -> None:
    """Check that no input or result has a name of another one, as the runtime insists where the version is 10.

    Each has the names of its tensor there, and that of the layer that makes it.
    """
    inputs = [(layer, Ref(layer, 0)) for layer in section.of_type("Parameter")]
    results = [(layer, layer.sources()[0]) for layer in section.of_type("Result")]
    first: dict[Ref, Layer] = {}
    taken: dict[str, Layer] = {}
    own: dict[Ref, set[str]] = {}
    for end, ref in inputs + results:
        if ref.port.names and (other := first.setdefault(ref, end)) is not end:
            raise _shared(ref.port.names[0], end, other, source)
        # A second tensor of a name gets a number.
        own[ref] = {name for name in ref.port.names if taken.setdefault(name, end) is end}
    for end, ref in results + inputs:
        name = ref.layer.name if len(ref.layer.outputs) == 1 else f"{ref.layer.name}.{ref.output}"
        if (other := taken.setdefault(name, end)) is not end and name not in own[ref]:
            raise _shared(name, end, other, source)
        own[ref].add(name)


def _shared(name: str, end: Layer, other: Layer, source: str) -> FileFormatError:
    return FileFormatError(
        f"{source}, line {end.line}: {end.where}: in version 10 of the format its tensor is called {shown(name)}, and "
        f"so is that of {other.where}; rename one of the two"
    )
