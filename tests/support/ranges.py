"""A web server on the loopback that answers ranges, or fails to in one of the ways that servers do."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Site:
    """What is served.

    Attributes:
        files: by path. way: how it is served. asked: the ranges that were asked for, of each path.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    way: str = "ranges"
    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """Bytes of all ranges that were asked for."""
        ends = (re.fullmatch(r"bytes=(\d+)-(\d+)", one) for _, one in self.asked)
        return sum(int(one[2]) + 1 - int(one[1]) for one in ends if one)


@contextlib.contextmanager
def served(**files: bytes) -> Iterator[Site]:
    """Serve files as ``/name`` until the block ends; ``a__npy`` is ``a.npy``."""
    site = Site({f"/{name.replace('__', '.')}": content for name, content in files.items()})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # no connection outlives its answer

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            content = site.files.get(self.path.partition("?")[0])
            if site.way == "forbidden" or content is None:
                self._send(403 if content else 404, b"", body)
                return
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if body:
                site.asked.append((self.path, self.headers.get("Range", "")))
            if asked is None or site.way == "no ranges":
                self._send(200, content, body, **({} if site.way == "no ranges" else {"Accept-Ranges": "bytes"}))
                return
            start, stop = int(asked[1]), min(int(asked[2]) + 1, len(content))
            piece = content[start : stop - (1 if site.way == "short" else 0)]
            self._send(206, piece, body, **{"Content-Range": f"bytes {start}-{stop - 1}/{len(content)}"})

        def _send(self, status: int, content: bytes, body: bool, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        site.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
