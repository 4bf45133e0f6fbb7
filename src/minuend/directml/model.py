"""DirectML models as JSON, as DxDispatch reads them: the one public text form of DirectML operators.

    { "resources":     { NAME: { "initialValuesDataType": "FLOAT32", "initialValues": …, "sizeInBytes": … }, … },
      "dispatchables": { NAME: { "type": "ELEMENT_WISE_SUBTRACT", "desc": { "ATensor": TENSOR, … } }, … },
      "commands":      [ { "type": "dispatch", "dispatchable": NAME, "bindings": { "ATensor": NAME, … } },
                         { "type": "print", "resource": NAME }, … ] }

Resources are buffers (:mod:`~minuend.directml.dxdispatch.resources`), dispatchables are operators and commands run
them in order (:mod:`~minuend.directml.dxdispatch.dispatch`). What is not known stays and is written back; comments are
not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from minuend.core.limits import MAX_BYTES
from minuend.directml.dxdispatch.dispatch import (
    OUTPUT,
    Command,
    Dispatch,
    Dispatchable,
    read_command,
    read_dispatchable,
)
from minuend.directml.dxdispatch.execution import Execution
from minuend.directml.dxdispatch.fields import placed
from minuend.directml.dxdispatch.json_reader import Document, parse
from minuend.directml.dxdispatch.resources import Resource, read_resource
from minuend.directml.operator import check_descs
from minuend.directml.versions import DIALECT
from minuend.errors import FileFormatError, MinuendError, SpecError
from minuend.files.streaming.reading import Array, read_bytes
from minuend.files.transaction.writing import atomic
from minuend.models import opening
from minuend.schema import Item, format_path
from minuend.standards.node import Node, TensorType
from minuend.standards.version import OpVersion


class Model(opening.Model):
    """A DxDispatch model.

    Args:
        document: what the JSON says: a dict with ``resources``, ``dispatchables`` and ``commands``, or a
            :class:`~minuend.directml.dxdispatch.json_reader.Document`.
        folder: the folder that a resource's ``sourcePath`` is read from; ``None``: such a resource is refused.

    Attributes:
        resources, dispatchables, commands: what it holds, by name and in order.
        printed: what the ``print`` commands of the last :meth:`run` wrote, an entry each.

    Raises:
        FileFormatError: something is missing, of another kind, or names what does not exist. DTypeError, ShapeError,
            SpecError: a tensor that no :class:`TensorDesc` describes. Unsupported: an image. Each with its JSON path,
            line and column.
    """

    dialect = DIALECT
    resources: dict[str, Resource]
    dispatchables: dict[str, Dispatchable]
    commands: list[Command]
    printed: list[str]

    def __init__(self, document: Document | dict[str, object], folder: str | None = None) -> None:
        self._document = document if isinstance(document, Document) else Document(document)
        self._folder = folder
        self.printed = []
        root = Item(self._document, (), self._document.value)
        root.object("a DxDispatch model: an object")
        self.resources = {
            name: read_resource(name, item, folder)
            for name, item in root.need("resources").members("an object of resources")
        }
        self.dispatchables = {
            name: read_dispatchable(name, item, self.resources)
            for name, item in root.need("dispatchables").members("an object of dispatchables")
        }
        self.commands = [
            read_command(item, self.resources, self.dispatchables)
            for item in root.need("commands").list("a list of commands")
        ]

    @classmethod
    def read(cls, source: str | os.PathLike[str] | bytes, *, folder: str | os.PathLike[str] | None = None) -> Model:
        """Read a model.

        Args:
            source: a path, or the JSON itself as bytes or as text (a text that is no path).
            folder: where files named in ``sourcePath`` lie; by default the folder of the path.

        Raises:
            FileNotFoundError: no such file. Others: see :class:`Model`.

        >>> Model.read('{"resources": {}, "dispatchables": {}, "commands": []}').run()
        {}
        """
        given_folder = None if folder is None else os.fspath(folder)
        if isinstance(source, bytes):
            return cls(parse(_decoded(source, "the model")), given_folder)
        if opening.is_text(source):
            return cls(parse(source), given_folder)
        path = os.fspath(source)
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path} is a folder; expected a DxDispatch model in JSON")
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no file {path}")
        text = _decoded(read_bytes(path), path)
        return cls(parse(text, path), os.path.dirname(os.path.abspath(path)) if given_folder is None else given_folder)

    @property
    def path(self) -> str:
        """The file that it was read from, or ``""``."""
        return self._document.name

    @property
    def document(self) -> dict[str, Any]:
        """The JSON as dicts and lists; change nothing in it, make a new :class:`Model` from a changed copy."""
        return dict(self._document.value)

    def output_names(self) -> list[str]:
        dispatches = (command for command in self.commands if isinstance(command, Dispatch))
        bound = (one.bindings[OUTPUT].resource for one in dispatches if OUTPUT in one.bindings)
        return list(dict.fromkeys(bound))

    def run(
        self,
        inputs: Mapping[str, object] | None = None,
        *,
        output_dir: str | os.PathLike[str] | None = None,
        feature_level: object = "6.4",
        max_bytes: int | None = MAX_BYTES,
    ) -> dict[str, Array]:
        """Run the commands in order.

        What ``print`` commands write is in :attr:`printed` afterwards, in the words of the C++ tool (floats with 6
        digits; 8-bit integers as numbers, where the tool prints characters).

        Args:
            inputs: arrays by the name of a resource, instead of its initial values: the same element type and as many
                elements, in the order in which they lie in the buffer. A deferred resource that is read needs one.
            output_dir: the folder that ``writeFile`` commands write within; without one, such commands are refused.
                Files are written when all commands have run, each whole or not at all.
            feature_level: the level whose types and ranks apply.
            max_bytes: the most memory that buffers, results and text may take; ``None`` for no limit.

        Returns:
            Every resource that is bound to ``OutputTensor``, by name: its elements through the strides of the last such
            tensor, in that tensor's sizes, of the resource's own element type where it has one of that width.

        Raises:
            SpecError, DTypeError, ShapeError: a rule of DirectML is broken. Unsupported: an operator other than
            subtraction. MinuendError: inputs or files that do not fit. ResultTooLarge: more memory than the limit.
            Nothing has been computed or written then.
        """
        execution = self.execute(inputs, output_dir=output_dir, feature_level=feature_level, max_bytes=max_bytes)
        execution.write()
        return execution.outputs

    def execute(
        self,
        inputs: Mapping[str, object] | None = None,
        *,
        output_dir: str | os.PathLike[str] | None = None,
        feature_level: object = "6.4",
        max_bytes: int | None = MAX_BYTES,
    ) -> Execution:
        """Run the commands as :meth:`run` does, and write no file: the execution returned has what there is to write.

        Its ``outputs`` are what :meth:`run` returns, its ``writers`` write the files of ``writeFile`` commands.
        """
        execution = Execution(
            self.resources,
            self.dispatchables,
            self.commands,
            dict(inputs or {}),
            DIALECT.resolve(feature_level),
            None if output_dir is None else os.fspath(output_dir),
            protected=self.sources(),
        )
        execution.check(max_bytes)
        execution.run()
        self.printed = execution.printed
        return execution

    def sources(self) -> tuple[str, ...]:
        """Return the files that the model names: its own, and those of its resources."""
        named = (resource.source for resource in self.resources.values())
        return tuple(path for path in (self.path, *named) if path)

    def subtractions(self) -> Iterator[Node]:
        """Walk the subtractions: each dispatchable that is one, under the lowest feature level that will do.

        Where none will, the node has the newest, and its validation says what is wrong.
        """
        for name, one in self.dispatchables.items():
            if one.subtracts:
                a, b, _ = (TensorType(desc.element, desc.sizes) for desc in one.descs.values())
                yield Node(op=level(one)[0], operands=(a, b), name=name, where=format_path(one.item.path))

    def lowest_level(self) -> str:
        """Return the lowest feature level that all subtractions run at.

        Raises:
            SpecError, DTypeError, ShapeError: one of them runs at none.
        """
        rows = [DIALECT.versions()[0]]
        for one in self.dispatchables.values():
            if one.subtracts:
                row, refused = level(one)
                if refused is not None:
                    raise refused
                rows.append(row)
        return str(max(rows, key=DIALECT.versions().index).version)

    def save(self, path: str | os.PathLike[str], *, inputs: Iterable[str] = ()) -> None:
        """Write the model as JSON, whole or not at all.

        Unknown keys stay, comments do not. The file that it was read from may be replaced.

        Args:
            path: of the file. inputs: files that are not to be replaced, in addition to those of the model's resources.

        Raises:
            MinuendError: the path is an input, or a resource's file would not be found from there.
            OSError: it cannot be written.
        """
        out = os.fspath(path)
        folder = os.path.dirname(os.path.realpath(out))
        for resource in self.resources.values():
            if resource.source is not None and folder != os.path.realpath(self._folder or ""):
                raise MinuendError(
                    f"resource {resource.name!r} is read from {resource.source}, which a model in {folder} would not "
                    f"find; save the model to {os.path.realpath(self._folder or '')}"
                )
        sources = [r.source for r in self.resources.values() if r.source is not None]
        with atomic(out, (*sources, *inputs)) as stream:
            stream.write(dumps(self._document.value).encode() + b"\n")


read = Model.read
"""See :meth:`Model.read`."""


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{name} is no JSON: byte {error.start} is not UTF-8") from None


def level(one: Dispatchable) -> tuple[OpVersion, SpecError | None]:
    """Return the lowest feature level that takes a subtraction; the newest with what it refuses, where none does."""
    refused = None
    for row in DIALECT.versions():
        try:
            check_descs(row, one.descs)
        except SpecError as error:
            refused = placed(error, one.item)
        else:
            return row, None
    return DIALECT.versions()[-1], refused


def dumps(value: object, indent: str = "") -> str:
    """Write JSON: an entry to a line, but lists of plain values on one.

    >>> print(dumps({"a": [1, 2], "b": {}}))
    {
      "a": [1, 2],
      "b": {}
    }
    """
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        rows = [f"{deeper}{json.dumps(key, ensure_ascii=False)}: {dumps(v, deeper)}" for key, v in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        return "[\n" + ",\n".join(deeper + dumps(entry, deeper) for entry in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
