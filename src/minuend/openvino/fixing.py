"""fix for OpenVINO IR: Subtracts rewritten, pdpd spelt out."""

from __future__ import annotations

from collections.abc import Hashable

from minuend.models.occurrences import Occurrence
from minuend.openvino.model import Model as OpenVinoModel
from minuend.openvino.model import read
from minuend.openvino.rewrites.rewriting import OpenVinoRewriter
from minuend.rewriting.choosing import Choice, Request
from minuend.rewriting.options import Rewriting
from minuend.rewriting.work import Work


class OpenVinoWork(Work):
    model: OpenVinoModel

    def __init__(self, model: OpenVinoModel, options: Rewriting) -> None:
        super().__init__(options)
        self._original = model
        self.undo()

    def undo(self) -> None:
        """Begin with the model as it was read."""
        xml, weights = self._original.to_bytes()
        self.model = read(xml, weights)
        self.model.files = self._original.files

    def result(self) -> OpenVinoModel:
        self.model.infer()
        return self.model

    def rewriter(self) -> OpenVinoRewriter:
        return OpenVinoRewriter(self.model)

    def key(self, occurrence: Occurrence) -> Hashable:
        return id(occurrence.live)

    def choose(self, request: Request) -> Choice:
        choice = super().choose(request)
        if choice.action in ("leave", "refuse") or request.occurrence.live is not None:
            return choice
        why = f"{choice.reason}; it is in a body of another layer, which fix does not rewrite"
        return Choice("refuse", why, instead="fix the ONNX model that the IR was made from")


work = OpenVinoWork
