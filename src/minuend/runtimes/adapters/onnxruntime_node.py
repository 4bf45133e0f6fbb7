"""onnxruntime in Node, on the CPU. Stands alone: a worker loads this file where minuend is not installed.

The npm package is looked for in ``lib/node_modules`` of this Python's environment and in the folders of ``NODE_PATH``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .onnxruntime_cpu import (  # noqa: F401 - rows of this adapter as well
    AS_WRITTEN,
    BFLOAT16_OUT,
    CONTRIB,
    DEVIATING,
    LACKED,
    NARROW_CONSTANTS,
    STRICT_BEFORE,
    STRICT_SINCE,
    SWAPS_ZEROS,
    strict,
)

NAME = "onnxruntime-node"
PACKAGE = "onnxruntime-node"
INSTALL = "npm install onnxruntime-node"
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

STRICT = strict("disable optimizations")
"""As onnxruntime-cpu, whose optimizers it has: ``Relu(Min(a - b, y))`` gives the other one of two zeros, too."""

LOADED: dict[str, tuple[int | None, int | None]] = {"1.24.3": (25, 13), "1.30.0": (26, 13)}
"""Release → the highest opset and IR version that it loads; ``None``: no limit was found."""

PROVEN: dict[str, tuple[str, ...]] = {
    "through float32": ("float16",),
    "through int32, wrapped with BitwiseAnd": ("int16", "int8", "uint16", "uint8"),
    "through int32, wrapped with Mod": ("int16", "int8", "uint16", "uint8"),
    "through int64, wrapped with BitwiseAnd": ("int32", "uint32"),
    "through int64, wrapped with Mod": ("int32", "uint32"),
    "through float32, wrapped with Floor": ("int16", "int8", "uint16", "uint8"),
    "through int32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "through float32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "saturated with Max": ("uint32", "uint64"),
    "saturated with Max and Min": ("int32",),
    "saturated with Where": ("int64",),
    "narrowed to int32, within proven ranges": ("int32", "int64", "uint32", "uint64"),
    "kept apart with Max": ("float16", "float32"),
}
"""Recipe → element types with which it was run here and is right, whichever operands are constants."""

# ---- running --------------------------------------------------------------------------------------------------

SCRIPT = """
const [folder, provider] = process.argv.slice(1);
const ort = require(folder);
ort.env.logLevel = "fatal";
if (ort.env.wasm) ort.env.wasm.numThreads = 1;
const kinds = {
  uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, uint32: Uint32Array, int32: Int32Array,
  uint64: BigUint64Array, int64: BigInt64Array, float16: Uint16Array, float32: Float32Array, float64: Float64Array,
  bool: Uint8Array,
};
function tensor([, type, dims, data]) {
  if (!(type in kinds)) throw new Error(`onnxruntime has no ${type} in JavaScript`);
  const bytes = Buffer.from(data, "base64");
  return new ort.Tensor(type, new kinds[type](new Uint8Array(bytes).buffer), dims);
}
function plain(one) {
  const data = Buffer.from(one.data.buffer, one.data.byteOffset, one.data.byteLength);
  return [one.type, one.dims, data.toString("base64")];
}
let session;
async function answer({ model, inputs }) {
  if (model !== undefined) {
    if (session) await session.release();
    session = undefined;
    const options = { executionProviders: [provider], logSeverityLevel: 4, intraOpNumThreads: 1, interOpNumThreads: 1 };
    session = await ort.InferenceSession.create(Buffer.from(model, "base64"), options);
    return [];
  }
  const found = await session.run(Object.fromEntries(inputs.map((one) => [one[0], tensor(one)])));
  return session.outputNames.map((name) => plain(found[name]));
}
async function main() {
  for await (const line of require("readline").createInterface({ input: process.stdin })) {
    let reply;
    try {
      reply = { outputs: await answer(JSON.parse(line)) };
    } catch (error) {
      reply = { refused: String(error && error.message || error) };
    }
    process.stdout.write(JSON.stringify(reply) + "\\n");
  }
}
main();
"""
"""Answers a line of JSON with one."""

_STATE: dict[str, Any] = {}


def folder(package: str) -> Path | None:
    """Where an npm package is; ``None`` where it, or Node, is not."""
    import os
    import shutil
    import sys

    paths = [Path(sys.prefix, "lib", "node_modules"), *map(Path, os.environ.get("NODE_PATH", "").split(os.pathsep))]
    found = next((path / package for path in paths if (path / package / "package.json").is_file()), None)
    return found if shutil.which("node") else None


def release() -> str | None:
    """The release of the npm package."""
    return release_of(PACKAGE)


def release_of(package: str) -> str | None:
    """The release of an npm package; ``None`` where it is not installed."""
    import json

    found = folder(package)
    return None if found is None else str(json.loads((found / "package.json").read_text("utf-8"))["version"])


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Build a session from an ONNX model in Node and return what runs it."""
    return session(PACKAGE, "cpu", model)


def session(package: str, provider: str, model: bytes) -> Callable[[list[Any]], list[Any]]:
    """Build a session of a package's provider and return what runs it."""
    return running(functools.partial(_query, package, provider), model)


def running(query: Callable[[dict[str, Any]], dict[str, Any]], model: bytes) -> Callable[[list[Any]], list[Any]]:
    """Have a script build a session and return what has it run that; the script answers a request with a reply."""
    from base64 import b64decode, b64encode

    def outputs(request: dict[str, Any]) -> list[Any]:
        reply = query(request)
        if "refused" in reply:
            raise RuntimeError(reply["refused"])
        found: list[Any] = reply["outputs"]
        return found

    def run(inputs: list[Any]) -> list[Any]:
        given = [[name, dtype, list(shape), b64encode(data).decode()] for name, dtype, shape, data in inputs]
        return [(dtype, tuple(shape), b64decode(data)) for dtype, shape, data in outputs({"inputs": given})]

    outputs({"model": b64encode(model).decode()})
    return run


def _query(package: str, provider: str, request: dict[str, Any]) -> dict[str, Any]:
    """Query the process of Node, which is started where there is none."""
    import contextlib
    import json
    import subprocess

    if not _STATE:
        command = ["node", "-e", SCRIPT, str(folder(package)), provider]
        pipe = subprocess.PIPE
        _STATE["process"] = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    process = _STATE["process"]
    with contextlib.suppress(BrokenPipeError):  # it has died, which is reported below
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        _STATE.clear()
        raise RuntimeError(f"the process dies (status {process.wait()})")
    reply: dict[str, Any] = json.loads(line)
    return reply
