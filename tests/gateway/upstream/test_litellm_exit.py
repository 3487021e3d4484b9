"""The exit lets one request out for each call, to the deployment's own origin; the walls leave no other way."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from gateway.errors import UpstreamCut
from gateway.settings import ROOT
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.exit import Exit
from gateway.upstream.guard import Guard
from gateway.upstream.tickets import PLACEHOLDER, TARGET, TICKET, Tickets
from policies.labels import PRIVATE
from tests.fakes import deployment
from tests.wire.upstream import answer, completion, fake_upstream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.clients import Outgoing, Reply

KEY = "sk /+&real"
AT = deployment("https://api.example:443/v1", api_key=KEY)


@dataclass
class FakeReply:
    """Answers with the pieces it was given, and then breaks off if it was told to."""

    pieces: tuple[bytes, ...]
    cut: bool = False
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    stream: bool = True

    async def read(self, limit: int) -> bytes:
        raise NotImplementedError(limit)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for piece in self.pieces:
            yield piece
        if self.cut:
            raise UpstreamCut("cut")


@dataclass
class FakeClient:
    """Remembers what went out."""

    reply: FakeReply = field(default_factory=lambda: FakeReply((b"one", b"two")))
    sent: list[tuple[Deployment, Outgoing]] = field(default_factory=list)

    @asynccontextmanager
    async def send(self, deployment: Deployment, outgoing: Outgoing) -> AsyncIterator[Reply]:
        self.sent.append((deployment, outgoing))
        yield self.reply


async def ask(exit_: Exit, ticket: str, target: str, *, method: str = "POST", **headers: str) -> tuple[int, bytes]:
    """Call the application; its status and body."""
    said: list[Any] = []
    named = {TICKET: ticket, TARGET: target, **headers}
    scope = {"type": "http", "method": method, "headers": [(n.encode(), v.encode()) for n, v in named.items()]}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'{"a": 1}', "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    await exit_(scope, receive, send)
    return said[0]["status"], b"".join(message.get("body", b"") for message in said)


async def test_a_request_with_a_ticket_goes_out_under_its_label() -> None:
    client = FakeClient()
    tickets = Tickets()
    exit_ = Exit(client, tickets)
    with tickets.issue(AT, PRIVATE) as ticket:
        answered = await ask(exit_, ticket.number, "https://API.example/v1/messages?beta=true")

    [(at, outgoing)] = client.sent
    assert answered == (200, b"onetwo")
    assert (at.base_url + outgoing.shape.path, outgoing.body) == (
        "https://api.example:443/v1/messages?beta=true",
        b'{"a": 1}',
    )
    assert (at.name, at.zone, outgoing.label) == (AT.name, AT.zone, PRIVATE)


async def test_the_key_is_put_into_the_query_and_left_to_the_guard_in_headers() -> None:
    client = FakeClient()
    tickets = Tickets()
    exit_ = Exit(client, tickets)
    with tickets.issue(AT, PRIVATE) as ticket:
        headers = {"x-goog-api-key": PLACEHOLDER, "authorization": f"Bearer {PLACEHOLDER}", "anthropic-beta": "b"}
        await ask(exit_, ticket.number, f"https://api.example/v1?key={PLACEHOLDER}&alt=sse", **headers)

    [(at, outgoing)] = client.sent
    assert outgoing.shape.path == "/v1?key=sk%20%2F%2B%26real&alt=sse"
    assert outgoing.headers == headers
    assert (at.engine, at.api_key) == ("litellm", KEY)


async def test_without_a_key_none_is_pretended() -> None:
    client = FakeClient()
    tickets = Tickets()
    exit_ = Exit(client, tickets)
    with tickets.issue(replace(AT, api_key=None), PRIVATE) as ticket:
        await ask(exit_, ticket.number, "https://api.example/v1", authorization=f"Bearer {PLACEHOLDER}")

    assert client.sent[0][1].headers == {}


@pytest.mark.parametrize(
    "header", ["cookie", "host", "user-agent", "x-stainless-os", "x-forwarded-for", "soleira-x", "transfer-encoding"]
)
async def test_headers_that_are_the_connections_or_this_machines_stay(header: str) -> None:
    client = FakeClient()
    tickets = Tickets()
    exit_ = Exit(client, tickets)
    with tickets.issue(AT, PRIVATE) as ticket:
        await ask(exit_, ticket.number, "https://api.example/v1", **{header: "canary"})

    assert client.sent[0][1].headers == {}


@pytest.mark.parametrize(
    "target",
    [
        "https://elsewhere.example/v1",
        "http://api.example/v1",
        "https://api.example:8443/v1",
        "https://api.example.elsewhere.example/v1",
        "https://api.example@elsewhere.example/v1",
        "https://user@api.example/v1",
        "https://elsewhere.example#@api.example/v1",
        "https://[::1/v1",
        "https://api.example:x/v1",
        "//api.example/v1",
        "/v1",
        "",
    ],
)
async def test_only_the_deployments_own_origin_is_reached(target: str) -> None:
    client = FakeClient()
    tickets = Tickets()
    exit_ = Exit(client, tickets)
    with tickets.issue(AT, PRIVATE) as ticket:
        status, _ = await ask(exit_, ticket.number, target)

    assert (status, client.sent, ticket.asked) == (403, [], False)


async def test_without_a_valid_ticket_nothing_goes_out() -> None:
    client = FakeClient()
    tickets = Tickets()
    exit_ = Exit(client, tickets)
    with tickets.issue(AT, PRIVATE) as ticket:
        pass

    for number in ("", "made-up", ticket.number):
        assert (await ask(exit_, number, "https://api.example/v1"))[0] == 403
    assert client.sent == []


async def test_a_call_makes_one_request() -> None:
    client = FakeClient()
    tickets = Tickets()
    exit_ = Exit(client, tickets)
    with tickets.issue(AT, PRIVATE) as ticket:
        statuses = [
            (await ask(exit_, ticket.number, "https://api.example/v1", method=method))[0]
            for method in ("GET", "POST", "POST")
        ]

    assert (statuses, len(client.sent)) == ([403, 200, 403], 1)


async def test_a_cut_answer_is_not_ended() -> None:
    client = FakeClient(FakeReply((b"one",), cut=True))
    tickets = Tickets()
    exit_ = Exit(client, tickets)
    with tickets.issue(AT, PRIVATE) as ticket:
        with pytest.raises(UpstreamCut):  # the server hangs up
            await ask(exit_, ticket.number, "https://api.example/v1")

    assert isinstance(ticket.failure, UpstreamCut)


async def test_the_end_of_a_call_ends_its_request() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    class Slow(FakeClient):
        @asynccontextmanager
        async def send(self, deployment: Deployment, outgoing: Outgoing) -> AsyncIterator[Reply]:
            begun.set()
            try:
                await asyncio.Event().wait()
                yield self.reply
            finally:
                ended.set()

    tickets = Tickets()
    exit_ = Exit(Slow(), tickets)
    with tickets.issue(AT, PRIVATE) as ticket:
        asking = asyncio.create_task(ask(exit_, ticket.number, "https://api.example/v1"))
        await begun.wait()

    await asyncio.gather(asking, return_exceptions=True)
    assert ended.is_set()


_WALLED = """
import ctypes, os, socket, subprocess, sys, threading
from gateway.upstream import walls

libc = ctypes.CDLL(None)
begin, early = threading.Event(), []
thread = threading.Thread(target=lambda: (begin.wait(), early.append(libc.socket(socket.AF_INET, 1, 0))))
thread.start()
outer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
outer.close()
by_kernel = walls.close_in(sys.argv[2])
begin.set()
thread.join()

def refused(act):
    try:
        act()
    except PermissionError:
        return True
    return False

print(all([
    refused(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])))),
    refused(lambda: socket.getaddrinfo("localhost", 80)),
    refused(lambda: subprocess.run(["true"])),
    refused(lambda: os.system("true")),
    not by_kernel or early == [-1],
    not by_kernel or libc.socket(socket.AF_INET6, 1, 0) == -1,
    libc.socket(socket.AF_UNIX, 1, 0) > 0,
    refused(lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[3])),
    not refused(lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[2])),
    by_kernel or sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"),
]))
"""


async def test_a_walled_process_reaches_its_way_out_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("s")
    paths = str(folder / "exit"), str(folder / "other")
    unix = [await asyncio.start_unix_server(lambda _, writer: writer.close(), path) for path in paths]
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server, unix[0], unix[1]:
        port = str(server.sockets[0].getsockname()[1])
        command = [sys.executable, "-c", _WALLED, port, *paths]
        shown = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (shown.stdout.strip(), shown.stderr) == ("True", "")


@pytest.mark.parametrize("key", [KEY.replace(" ", ""), None])
@pytest.mark.parametrize("name", ["authorization", "x-api-key", "api-key", "x-goog-api-key"])
async def test_the_guard_puts_the_key_where_the_placeholder_stands_and_nowhere_else(name: str, key: str | None) -> None:
    async with fake_upstream(answer(completion())) as upstream, Guard() as guard:
        tickets = Tickets()
        exit_ = Exit(HttpClient(guard), tickets)
        with tickets.issue(deployment(upstream.url, api_key=key), PRIVATE) as ticket:
            await ask(exit_, ticket.number, f"{upstream.url}/chat", **{name: f"K {PLACEHOLDER}"})

    found = {
        header: value for header, value in upstream.requests[0].headers.items() if value.startswith(("K ", "Bear"))
    }
    assert found == ({} if key is None else {name: f"K {key}"})
