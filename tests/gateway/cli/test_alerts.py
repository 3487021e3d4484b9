"""`soleira alerts test`: each place is told, and what does not arrive is said."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from gateway.cli import alerts
from tests.gateway.ledger.exports.packs import BUDGETS, write_pack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def sink(status: int = 200) -> Iterator[tuple[str, list[bytes]]]:
    taken: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", taken
        server.shutdown()


def test_each_place_gets_a_test_and_a_failure_is_said(tmp_path: Path) -> None:
    with sink() as (sound, taken), sink(404) as (broken, _):
        text = (
            f"{BUDGETS}alerts: [{{webhook: {sound}}}, {{ntfy: {broken}/topic}}, {{webhook: {{env: NO_SUCH_HOOK}}}}]\n"
        )
        pack = write_pack(tmp_path / "pack", text)

        result = CliRunner().invoke(alerts.app, ["alerts", "test", "--pack", str(pack), "--data", str(tmp_path / "d")])

    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "alerts[0] (webhook): taken",
        "alerts[1] (ntfy): 127.0.0.1 answered 404",
        "alerts[2] (webhook): needs its webhook in the environment variable NO_SUCH_HOOK, which holds nothing",
    ]
    assert json.loads(taken[0])["text"] == "This is a test: alerts arrive here."


def test_a_pack_without_alerts_says_where_they_go(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "pack")

    result = CliRunner().invoke(alerts.app, ["alerts", "test", "--pack", str(pack), "--data", str(tmp_path / "d")])

    assert result.exit_code == 0
    assert "add some to budgets.yaml" in result.output
