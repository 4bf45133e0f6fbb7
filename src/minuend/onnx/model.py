"""ONNX models: read, run, saved; every Sub at its own opset, by this package.

    .onnx      a ModelProto: IR version, opset imports, a graph (inputs, initializers, nodes, outputs), functions
    .onnxtxt   the same in ONNX's text form

A protobuf message ends at 2 GiB: larger models keep tensors in separate files
(:mod:`minuend.onnx.documents.external`). Those stay references: a tensor's data is read when something requests it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onnx import ModelProto

from minuend.core.limits import MAX_BYTES
from minuend.models.opening import Outputs
from minuend.onnx.documents.document import Document
from minuend.onnx.documents.reading import parsed
from minuend.onnx.execution import EVALUATORS
from minuend.onnx.graphs import walk
from minuend.onnx.versions import DIALECT
from minuend.standards.node import Node


def read(source: object, *, base_dir: str | os.PathLike[str] | None = None) -> Model:
    """Read an ONNX model and check its structure.

    Args:
        source: a path (``.onnx``, or ``.onnxtxt`` for the text form), the bytes of a model, its text form as a ``str``
            (which begins with ``<``), or a ``ModelProto``, which is taken as it is, not copied, unless something in it
            has to be normalised (:mod:`minuend.onnx.graphs.normalising`).
        base_dir: the folder of its external data; that of the path if it is not given.

    Raises:
        FileNotFoundError: no such file. FileFormatError: no ONNX model, a truncated one, or one that breaks a rule.

    >>> model = read('<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a) => (uint8[2] c) { c = Sub(a, a) }')
    >>> [str(node.op) for node in model.subtractions()]
    ['Sub-14']
    """
    proto, violations, path, name = parsed(source)
    folder = None if base_dir is None else os.fspath(base_dir)
    if folder is None and path is not None:
        folder = os.path.dirname(os.path.abspath(path))
    return Model(proto, folder=folder, path=path, name=name, violations=violations)


class Model(Document):
    """An ONNX model that can be run and saved; its attributes are those of :class:`Document`."""

    dialect = DIALECT

    def __repr__(self) -> str:
        return f"<onnx.Model {self.name}: {self.proto.graph.name!r}, {len(self.proto.graph.node)} nodes>"

    @property
    def handout(self) -> ModelProto:
        """What conversions and fixes hand out: ``proto``."""
        return self.proto

    def subtractions(self) -> Iterator[Node]:
        """Yield every Sub node, in bodies and functions too, with its version, types and place.

        Raises:
            DTypeError: an operand is bool, a string and the like. Unsupported: element types that cannot be inferred.
                SpecError: not two inputs and one output.
        """
        return (found.node() for found in walk.subtractions(self))

    # ---- running ----------------------------------------------------------------------------------------------

    EVALUATORS = EVALUATORS

    def run(
        self, inputs: Mapping[str, Any], *, max_bytes: int | None = MAX_BYTES, evaluator: str | None = None
    ) -> dict[str, Any]:
        """Run the model: every Sub by this package, all other operators by onnxruntime, one at a time.

        Args:
            inputs: an array for each input by name; those that have an initializer may be left out.
            max_bytes: the size of the largest result that may be made; ``None`` for no limit.
            evaluator: what computes the other operators: ``"onnxruntime"``, or ``"reference"`` for ONNX's reference
                evaluator. By default onnxruntime where it is installed.

        Returns:
            The outputs by name.

        Raises:
            SpecError: inputs that are missing, unknown, or not of the declared types and shapes; a Sub that breaks
                a rule of its version; no such evaluator. ResultTooLarge: a result beyond ``max_bytes``. RunError: an
                operator that the evaluator does not have or that failed. Unsupported: an evaluator that is not
                installed, or an operator that it is known to compute wrongly. FileFormatError, FileNotFoundError: bad
                external data.

        >>> import numpy as np
        >>> model = read('<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a) => (uint8[2] c) { c = Sub(a, a) }')
        >>> model.run({"a": np.uint8([1, 2])})
        {'c': array([0, 0], dtype=uint8)}
        """
        from minuend.onnx.execution import running  # slow, and few who read a model run it

        return running.run(self, inputs, max_bytes, evaluator)

    def execute(
        self,
        inputs: Mapping[str, Any],
        *,
        output_dir: str | os.PathLike[str] | None = None,
        max_bytes: int | None = MAX_BYTES,
        evaluator: str | None = None,
    ) -> Outputs:
        """Run the model as :meth:`run` does; models of ONNX write no files and print nothing."""
        return Outputs(self.run(inputs, max_bytes=max_bytes, evaluator=evaluator))

    # ---- saving -----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, inputs: Iterable[str] = ()) -> None:
        """Write the model: whole, or not at all.

        Into another folder its files of external data are copied along, to the same places beneath it. A model too
        large for one protobuf message gets its large initializers into a file ``<name>.data`` in the same folder (while
        it is written, the live proto has them as references).

        Args:
            path: ``.onnx``, or ``.onnxtxt`` for the text form.
            inputs: files that are not to be replaced, in addition to those that the model names.

        Raises:
            FileFormatError: another suffix, bad external data, or a file in the way that holds something else.
            Unsupported: a model that the text form cannot hold. MinuendError: the path is an input.
            OSError: it cannot be written there.
        """
        from minuend.onnx.documents import saving  # as above

        saving.save(self, os.fspath(path), inputs)

    def copies(self, original: object, path: str) -> dict[str, str]:
        """Return the file to copy where this model is the one that was read; see :mod:`minuend.models.opening`."""
        if not isinstance(original, Model) or original.path is None or original.notes or self.proto != original.proto:
            return {}
        suffixes = {os.path.splitext(one)[1].lower() for one in (original.path, path)}
        # External data is named from the model's folder: in another one the files would have to come along.
        folders = {os.path.realpath(os.path.dirname(one) or ".") for one in (original.path, path)}
        stays = len(suffixes) == 1 and (len(original.sources()) == 1 or len(folders) == 1)
        return {original.path: path} if stays else {}


__all__ = ["Model", "read"]
