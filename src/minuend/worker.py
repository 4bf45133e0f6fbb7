"""Answers models in a process of its own, so that a runtime that crashes takes nobody with it.

Runs as a script under any Python from 3.10 on that has NumPy and the runtime, this package not needed:
``python -I worker.py ADAPTER.py``. ADAPTER is a file of ``adapters``; see :mod:`minuend.runtimes.running`.

A message on standard input or output is a line of JSON that ends in the sizes of the byte strings behind it:
``{"head": {…}, "sizes": [12, 4]}``. A request's head is a model (``form``, ``inputs``: [name, dtype, shape]…); its
byte strings are the model, its weights, and one for each input. An answer's head is ``{"outputs": [[dtype, shape]…]}``
with a byte string each, or ``{"refused": message, "stage": "build" or "run"}``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any


def read(stream: Any) -> tuple[dict[str, Any], list[bytes]] | None:
    """Read one message; ``None`` at the end of the stream."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    message = json.loads(line)
    parts = []
    for size in message["sizes"]:
        part = stream.read(size)
        if len(part) != size:
            return None
        parts.append(part)
    return message["head"], parts


def write(stream: Any, head: Mapping[str, Any], parts: Sequence[bytes | bytearray | memoryview] = ()) -> None:
    """Write one message."""
    line = json.dumps({"head": head, "sizes": [len(part) for part in parts]})
    stream.write(line.encode() + b"\n")
    for part in parts:
        stream.write(part)
    stream.flush()


def release(adapter: Any) -> str | None:
    """The release of a runtime: what its adapter says, else that of its package; ``None`` where it is not installed."""
    if hasattr(adapter, "release"):
        return adapter.release()  # type: ignore[no-any-return]
    for package in (adapter.PACKAGE, *getattr(adapter, "OTHERWISE", ())):
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(package)
    return None


def answer(adapter: Any, head: Mapping[str, Any], parts: Sequence[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """Build and run one model."""
    stage = "build"
    try:
        run = adapter.prepare(head, parts[0], parts[1])
        stage = "run"
        outputs = run([(*told, data) for told, data in zip(head["inputs"], parts[2:], strict=True)])
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}", "stage": stage}, []
    return {"outputs": [[dtype, list(shape)] for dtype, shape, _ in outputs]}, [data for _, _, data in outputs]


def main(path: str) -> None:
    """Answer requests until there are no more."""
    spec = importlib.util.spec_from_file_location("adapter", path)
    assert spec is not None
    assert spec.loader is not None
    adapter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapter)
    # What a runtime prints must not run into the answers.
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    about = {"release": release(adapter), "python": ".".join(map(str, sys.version_info[:3]))}
    write(private, about)
    while True:
        request = read(sys.stdin.buffer)
        if request is None:
            return
        head, parts = answer(adapter, *request)
        write(private, head, parts)


if __name__ == "__main__":
    main(sys.argv[1])
