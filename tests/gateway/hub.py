"""A small hub on loopback: one repository's files with their checksums, ranges, interruptions and refusals."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REPOSITORY = "somebody/Small-GGUF"
COMMIT = "c" * 40


@dataclass
class Hub:
    """What the hub has, how it misbehaves, and what it was asked."""

    files: Mapping[str, bytes]
    url: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    """What it claims in place of the true sizes."""
    broken: set[str] = field(default_factory=set)
    """Files that it sends with another content than it states."""
    in_git: set[str] = field(default_factory=set)
    """Files that are too small for large-file storage."""
    gated: bool = False
    cut_after: int | None = None
    """The bytes of a file after which it hangs up, each time."""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Paths with the ranges that were wanted of them."""
    headers: list[Mapping[str, str]] = field(default_factory=list)

    def fetched(self) -> list[tuple[str, str | None]]:
        """The files that were asked for, each with the range."""
        return [(path.rpartition("/")[2], wanted) for path, wanted in self.asked if "/resolve/" in path]

    def info(self) -> dict[str, Any]:
        siblings = [self._sibling(name, content) for name, content in self.files.items()]
        return {"id": REPOSITORY, "sha": COMMIT, "private": False, "tags": [], "downloads": 0, "siblings": siblings}

    def _sibling(self, name: str, content: bytes) -> dict[str, Any]:
        size = self.sizes.get(name, len(content))
        of_git = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
        facts = {"rfilename": name, "size": size, "blobId": of_git}
        if name in self.in_git:
            return facts
        return {**facts, "lfs": {"sha256": hashlib.sha256(content).hexdigest(), "size": size, "pointerSize": 134}}


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve the hub on a free loopback port."""

    class Handler(_Handler):
        served = hub

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    served: Hub

    def do_GET(self) -> None:
        path, wanted = unquote(urlsplit(self.path).path), self.headers.get("Range")
        self.served.asked.append((path, wanted))
        self.served.headers.append(dict(self.headers))
        if path == f"/api/models/{REPOSITORY}/revision/main":
            return self._answer(200, json.dumps(self.served.info()).encode())
        name = path.removeprefix(f"/{REPOSITORY}/resolve/{COMMIT}/")
        if self.served.gated:
            return self._refuse(403, "GatedRepo")
        if name in self.served.files:
            return self._give(name, wanted)
        if path.startswith(f"/api/models/{REPOSITORY}/"):
            return self._refuse(404, "RevisionNotFound")
        self._refuse(401, "RepoNotFound")

    def _give(self, name: str, wanted: str | None) -> None:
        content = self.served.files[name]
        if name in self.served.broken:
            content = bytes(len(content))
        found = re.fullmatch(r"bytes=(\d+)-", wanted or "")
        begin = int(found[1]) if found else 0
        self.send_response(206 if found else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        if found:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        end = len(content) if self.served.cut_after is None else begin + self.served.cut_after
        self.wfile.write(content[begin:end])

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""
