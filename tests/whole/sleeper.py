"""An engine that a wake command starts: `python sleeper.py PORT STARTS` adds a line to STARTS, and serves."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_HEAD = {"id": "c", "created": 1, "model": "sleeper"}
_USAGE = {"prompt_tokens": 3, "completion_tokens": 2}


class Engine(BaseHTTPRequestHandler):
    """Answers every look and every chat."""

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": [{"id": "sleeper"}]})

    def do_POST(self) -> None:
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not wish.get("stream"):
            message = {"index": 0, "message": {"role": "assistant", "content": "Bom dia."}, "finish_reason": "stop"}
            return self._answer({**_HEAD, "object": "chat.completion", "choices": [message], "usage": _USAGE})
        delta = {"index": 0, "delta": {"role": "assistant", "content": "Bom dia."}, "finish_reason": "stop"}
        chunks = ({"choices": [delta]}, {"choices": [], "usage": _USAGE})
        self._begin("text/event-stream")
        for chunk in chunks:
            self.wfile.write(b"data: " + json.dumps({**_HEAD, "object": "chat.completion.chunk", **chunk}).encode())
            self.wfile.write(b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def _answer(self, body: object) -> None:
        self._begin("application/json")
        self.wfile.write(json.dumps(body).encode())

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()


if __name__ == "__main__":
    with Path(sys.argv[2]).open("a") as starts:
        starts.write("started\n")
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Engine).serve_forever()
