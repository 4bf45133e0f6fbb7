"""A web server on the loopback that answers ranges, or fails to in one of the ways that servers do."""

from __future__ import annotations

import contextlib
import gzip
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Occurrence:
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


def _ranged(way: str, content: bytes, start: int, stop: int, *, later: bool) -> tuple[bytes, dict[str, str]]:
    """A range of a file as a server sends it in one of its ways, and the headers."""
    if later and way == "another range":
        start = max(0, start - 1)
    piece = content[start : stop - (later and way == "short")]
    size = "*" if way == "no size" else f"{len(content)}{'0' if later and way == 'another size' else ''}"
    headers = {"Content-Range": f"bytes {start}-{stop - 1}/{size}"}
    if way in ("new tags", "kept to If-Range", "mirrors"):
        headers["ETag"] = '"2"' if later and way == "new tags" else '"1"'
    if way == "new dates":
        headers["Last-Modified"] = f"Mon, 23 Nov 2026 15:00:0{int(later)} GMT"
    if way == "no Content-Range":
        headers = {}
    if way == "packed":
        headers["Content-Encoding"], piece = "gzip", gzip.compress(piece)
    return piece, headers


@contextlib.contextmanager
def served(**files: bytes) -> Iterator[Occurrence]:
    """Serve files as ``/name`` until the block ends; ``a__npy`` is ``a.npy``."""
    occurrence = Occurrence({f"/{name.replace('__', '.')}": content for name, content in files.items()})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # no connection outlives its answer

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            content = occurrence.files.get(self.path.partition("?")[0].removeprefix("/other"))
            if occurrence.way == "forbidden" or content is None:
                self._send(403 if content else 404, b"", body)
                return
            asked = re.fullmatch(r"bytes=(\d*)-(\d+)", self.headers.get("Range", ""))
            if body:
                occurrence.asked.append((self.path, self.headers.get("Range", "")))
            if asked is None or occurrence.way == "no ranges":
                self._send(200, content, body, **({} if occurrence.way == "no ranges" else {"Accept-Ranges": "bytes"}))
                return
            first, last = asked.groups()
            start = int(first) if first else len(content) - int(last)
            stop = min(int(last) + 1, len(content)) if first else len(content)
            later = len(occurrence.asked) > 1  # the first one is the look at one byte
            if later and occurrence.way in ("whole later", "kept to If-Range"):
                changed = occurrence.way == "kept to If-Range" and self.headers.get("If-Range") == '"1"'
                self._send(200, content, body, **({"ETag": '"2"'} if changed else {}))
            elif later and occurrence.way in ("redirects", "mirrors") and not self.path.startswith("/other"):
                self._send(302, b"", body, Location=f"/other{self.path}")
            else:
                piece, headers = _ranged(occurrence.way, content, start, stop, later=later)
                self._send(206, piece, body, **headers)

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
        occurrence.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield occurrence
        finally:
            server.shutdown()
            thread.join()
