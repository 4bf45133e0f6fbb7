"""onnxruntime in a browser, on WebGPU: a headless Chromium, whose page requests from this process models and operands.

Stands alone: a worker loads this file where minuend is not installed. Without a GPU the browser's own SwiftShader, in
software, stands for one: what a device of yours does with subnormals may be another thing.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .onnxruntime_cpu import CONTRIB, OF_EVERY_PROVIDER, STRICT_SINCE, optimised  # noqa: F401 - rows of this one
from .onnxruntime_node import folder, release_of, running

NAME = "onnxruntime-webgpu"
PACKAGE = "onnxruntime-web"
INSTALL = "npm install onnxruntime-web"
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

STRICT = {**OF_EVERY_PROVIDER, **optimised("disable optimizations")}
"""What it does not take of a model: the verdict, and why."""

BFLOAT16_OUT = False

LOADED: dict[str, tuple[int | None, int | None]] = {"1.30.0": (26, 13)}
"""Release → the highest opset and IR version that it loads."""

PROVEN: dict[str, tuple[str, ...]] = {}
"""Recipe → element types with which it was run here and is right: none was run."""

# ---- running --------------------------------------------------------------------------------------------------

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--use-vulkan=swiftshader",
    "--enable-features=Vulkan",
    "--disable-vulkan-surface",
    "--no-first-run",
)

_SHELL = """folder=$(mktemp -d); "$@" --user-data-dir="$folder" >/dev/null 2>&1 & browser=$!
read -r _; kill $browser; wait $browser; rm -rf "$folder" """
"""Ends the browser with the process that reads this one's input, however that ends."""

PAGE = """<!doctype html><link rel="icon" href="data:,"><script type="module">
import * as ort from "/ort/ort.webgpu.bundle.min.mjs";
ort.env.logLevel = "fatal";
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = "/ort/";
const kinds = {
  uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, uint32: Uint32Array, int32: Int32Array,
  uint64: BigUint64Array, int64: BigInt64Array, float16: Uint16Array, float32: Float32Array, float64: Float64Array,
};
const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const text = (data) => {
  const all = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return btoa(Array.from(all, (one) => String.fromCharCode(one)).join(""));
};
function tensor([, type, dims, data]) {
  if (!(type in kinds)) throw new Error(`onnxruntime has no ${type} in JavaScript`);
  return new ort.Tensor(type, new kinds[type](bytes(data).buffer), dims);
}
let session;
async function answer({ model, inputs }) {
  if (model !== undefined) {
    if (session) await session.release();
    session = undefined;
    const options = { executionProviders: ["webgpu"], logSeverityLevel: 4 };
    session = await ort.InferenceSession.create(bytes(model), options);
    return [];
  }
  const found = await session.run(Object.fromEntries(inputs.map((one) => [one[0], tensor(one)])));
  return session.outputNames.map((name) => [found[name].type, found[name].dims, text(found[name].data)]);
}
for (;;) {
  const request = await (await fetch("/next")).json();
  let reply;
  try {
    reply = { outputs: await answer(request) };
  } catch (error) {
    reply = { refused: String(error && error.message || error) };
  }
  await fetch("/answer", { method: "POST", body: JSON.stringify(reply) });
}
</script>"""
"""Fetches requests and answers each."""


def _browser() -> str | None:
    import shutil

    return next(filter(None, map(shutil.which, BROWSERS)), None)


def release() -> str | None:
    """The release of the npm package; ``None`` where there is no browser."""
    return release_of(PACKAGE) if _browser() else None


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Build a session from an ONNX model in the browser and return what runs it."""
    return running(_page().query, model)


@functools.cache
def _page() -> Any:
    return _Page()


class _Page:
    """A browser with one page, and the server on loopback that it queries."""

    def __init__(self) -> None:
        import http.server
        import queue
        import subprocess
        import threading

        self.requests: Any = queue.Queue()
        self.answers: Any = queue.Queue()
        handler = _handler(self, Path(str(folder(PACKAGE)), "dist"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        command = ["sh", "-c", _SHELL, "sh", str(_browser()), *_OPTIONS, url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE)

    def query(self, request: dict[str, Any]) -> dict[str, Any]:
        """Have the page answer a request."""
        import queue

        self.requests.put(request)
        while True:
            try:
                reply: dict[str, Any] = self.answers.get(timeout=1)
                return reply
            except queue.Empty:
                if self.process.poll() is not None:
                    _page.cache_clear()
                    raise RuntimeError(f"the process dies (status {self.process.returncode})") from None


def _handler(page: _Page, folder: Path) -> Any:
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/next":
                self._send("application/json", json.dumps(page.requests.get()).encode())
            elif self.path.startswith("/ort/") and (file := folder / Path(self.path).name).is_file():
                kind = "application/wasm" if file.suffix == ".wasm" else "text/javascript"
                self._send(kind, file.read_bytes())
            else:
                self._send("text/html", PAGE.encode())

        def do_POST(self) -> None:
            page.answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._send("application/json", b"{}")

        def _send(self, kind: str, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler
