"""Models in a separate process: a kernel that crashes on a malformed node ends no other process.

A process (:mod:`computing_child`) is started when a model is first run, answers one request after the other, and ends
with this one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import IO, Any

from minuend import child
from minuend.child import Child
from minuend.child_pool import Pool
from minuend.errors import MinuendError
from minuend.onnx.documents.document import Document
from minuend.onnx.execution.kernels import RunError
from minuend.onnx.processes.values import pack, unpack

PLACE = 1000
"""Bytes of the note that the process leaves of the node that it runs."""

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from minuend.onnx.processes import computing_child as c; c.serve()"
)


class Process(Child):
    """A process that runs models."""

    def __init__(self) -> None:
        self._note: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            command = [*child.python(), "-c", _START, child.import_path()]
            super().__init__("models run in a process of their own", command, self._note)
        except BaseException:
            self._note.close()
            raise

    def run(
        self, work: str, model: Document, feeds: Mapping[str, object], limit: int | None, **more: object
    ) -> dict[str, Any]:
        """Do one of :data:`minuend.onnx.processes.computing_child.WORK` with a model.

        Args:
            work: its name. model, feeds: what is run. limit: bytes of a result. more: what else the work takes.
        """
        folder = None if model.folder is None else os.path.abspath(model.folder)  # the process is in another one
        tree, parts = pack(dict(feeds))
        request = {"work": work, "feeds": tree, "limit": limit, "folder": folder, "name": model.name, "more": more}
        given = [*parts, model.proto.SerializeToString()]
        stored = (os.path.getsize(path) for path in model.sources() if os.path.isfile(path))
        size = sum(len(part) for part in given) + sum(stored)
        answer = self.request(request, given, child.current(), size)
        if answer is None:
            raise self._died(model)
        done = unpack(answer[0]["done"], [bytearray(part) for part in answer[1]])
        if isinstance(done, BaseException):
            raise done
        found: dict[str, Any] = done
        return found

    def _died(self, model: Document) -> MinuendError:
        """Say how a process ended that should have answered."""
        status = self.popen.wait()
        self._note.seek(0)
        note = self._note.read(PLACE).rstrip(b" \n").decode(errors="replace")
        where = f", at {note.removeprefix(MARK)}" if note.startswith(MARK) else ""
        if self.broken:
            return child.exceeded(f"running {model.name}{where}", self.broken, child.current())
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        if not where:
            return RunError(f"the process that runs models does not start: it ended {how} ({note[-PLACE:]})")
        return RunError(f"onnxruntime crashed: its process ended {how}{where}")

    def end(self, patience: float = 0.0) -> int:
        """End the process, and wait until it is gone."""
        try:
            return super().end(patience)
        finally:
            self._note.close()

    def abandon(self) -> None:
        """See :class:`~minuend.child.Child`."""
        super().abandon()
        self._note.close()


MARK = "node: "
"""How the note of a node begins."""

PROCESSES = Pool(Process)
"""Where threads run models at once, each has a process while it runs."""
