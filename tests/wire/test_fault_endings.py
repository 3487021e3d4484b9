"""Answers that end too early, fail within a success or lack their closing: told for what they are, and charged once."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.db import attempts, decisions
from tests.gateway.house import ADMIN_KEY
from tests.wire.endpoints import ENDPOINTS, OWN_MESSAGES, OWN_RESPONSES, Endpoint, Said
from tests.wire.frames import DONE, Framing, streamed
from tests.wire.test_fault_streams import ends
from tests.wire.upstream import Script, answer

if TYPE_CHECKING:
    from tests.wire.endpoints import Json
    from tests.wire.wall import Wall

pytestmark = pytest.mark.asyncio(loop_scope="module")

USAGE = (100, 0, 20, 0)
SAID = Said("Vence no dia 10.", "", (), USAGE)


def before_the_end(endpoint: Endpoint) -> list[Json]:
    """All that is said, but for what ends it."""
    return [event for event in endpoint.events(SAID) if not ends(event)]


def error_event(endpoint: Endpoint, message: str = "canary boom") -> Json:
    """An error as the upstream of this endpoint puts it into a stream."""
    error: Json = {"message": message, "type": "server_error", "code": "server_error"}
    if endpoint is OWN_RESPONSES:
        return {**error, "type": "error", "sequence_number": 7}
    if endpoint is OWN_MESSAGES:
        return {"type": "error", "error": {"type": "api_error", "message": message}}
    return {"error": error}


CUTS = ("closed", "within a line", "within a character", "reset", "an error event", "an error event, then [DONE]")


def cut(endpoint: Endpoint, how: str) -> Script:
    said = Framing().write(before_the_end(endpoint))
    match how:
        case "within a line":
            return streamed(said + b'data: {"choices": [{"delta": {"content": "mais')
        case "within a character":
            return streamed(said + b'data: {"choices": [{"delta": {"content": "\xe4\xbd')
        case "reset":
            return streamed(said, ending="abort")
        case "an error event":
            return streamed(said + Framing().write([error_event(endpoint)]))
        case "an error event, then [DONE]":
            return streamed(said + Framing().write([error_event(endpoint), DONE]))
    return streamed(said)


@pytest.mark.parametrize("how", CUTS)
async def test_a_stream_that_breaks_off_never_looks_complete(standing: Wall, endpoint: Endpoint, how: str) -> None:
    got = await standing.ask(endpoint, endpoint.asking(stream=True), cut(endpoint, how))

    heard = endpoint.read(got)
    assert (got.status, heard.ending) == (200, "failed")
    # A reset may overtake what was sent before it.
    assert heard.text == SAID.text or (how == "reset" and SAID.text.startswith(heard.text))
    assert heard.error["message"]
    assert (b"[DONE]" in got.body, b"canary" in got.body) == (False, False)
    assert len(standing.upstream.requests) == 1
    (attempt,) = await standing.attempts(got)
    assert (attempt.outcome, attempt.error_code) == ("failed", "upstream_cut")
    assert attempt.estimated
    assert attempt.output > 0
    record = await decisions.find(standing.home.runtime.engine, got.headers["soleira-decision"])
    assert record is not None
    assert (record.status, record.code) == (502, "upstream_cut")


async def test_an_ended_answer_without_its_closing_is_a_success(standing: Wall, endpoint: Endpoint) -> None:
    """No `[DONE]`, no `message_stop`: what ends an answer is its finish reason."""
    events = [event for event in endpoint.events(SAID) if event.get("type") != "message_stop"]
    got = await standing.ask(endpoint, endpoint.asking(stream=True), streamed(Framing().write(events)))

    heard = endpoint.read(got)
    assert heard.text == SAID.text
    assert heard.ending == "stop"
    (attempt,) = await standing.attempts(got)
    assert (attempt.outcome, attempt.output, attempt.estimated) == ("ok", 20, False)


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.has_thoughts], ids=lambda one: one.name)
async def test_thinking_alone_is_an_answer_that_ran_out(standing: Wall, endpoint: Endpoint, stream: bool) -> None:
    said = Said("", "pensando ainda", (), (100, 0, 20, 20), "length")
    script = streamed(Framing().write(endpoint.events(said))) if stream else answer(endpoint.whole(said))
    got = await standing.ask(endpoint, endpoint.asking(stream=stream), script)

    assert (got.status, endpoint.read(got).said) == (200, said)
    (attempt,) = await standing.attempts(got)
    assert (attempt.outcome, attempt.reasoning, attempt.estimated) == ("ok", 20, False)


FIRST_ERRORS: dict[str, tuple[Any, int, str]] = {
    "of the server": ({"message": "canary", "type": "server_error"}, 502, "upstream_cut"),
    "of the context": (
        {"message": "maximum context length is 8192", "code": 400},
        400,
        "context_length_exceeded",
    ),
    "of a limit": ({"message": "canary", "code": 429, "type": "rate_limit_error"}, 429, "upstream_rate_limited"),
}


@pytest.mark.parametrize(("error", "status", "code"), FIRST_ERRORS.values(), ids=FIRST_ERRORS.keys())
async def test_an_error_in_place_of_an_answer_keeps_its_status(
    standing: Wall, endpoint: Endpoint, stream: bool, error: Json, status: int, code: str
) -> None:
    body = {"type": "error", "error": error} if endpoint is OWN_MESSAGES else {"error": error}
    script = streamed(Framing().write([body])) if stream else answer(body)
    got = await standing.ask(endpoint, endpoint.asking(stream=stream), script)

    assert (got.status, "canary" in got.body.decode()) == (status, False)
    if endpoint.kind == "messages":
        assert got.json["type"] == "error"
        assert got.json["error"]["message"]
    else:
        assert got.json["error"]["code"] == code
    assert "soleira-decision" in got.headers
    assert {attempt.error_code for attempt in await standing.attempts(got)} == {code}


@pytest.mark.parametrize("junk", [b"", b"null", b"[]", b"{}", b"<html>busy</html>", b'{"choices": null}', b"\xff\xfe"])
async def test_what_is_no_answer_is_told_as_none(standing: Wall, endpoint: Endpoint, stream: bool, junk: bytes) -> None:
    script = streamed(b"data: " + junk + b"\n\n") if stream else answer(junk)
    got = await standing.ask(endpoint, endpoint.asking(stream=stream), script)

    assert got.status == 502
    assert isinstance(got.json["error"]["message"], str)
    assert {attempt.outcome for attempt in await standing.attempts(got)} == {"failed"}


async def test_a_client_that_leaves_lets_the_upstream_go_and_pays_for_what_went_by(
    standing: Wall, endpoint: Endpoint, stream: bool
) -> None:
    begun = streamed(Framing().write(before_the_end(endpoint)), ending="hang")
    standing.answers(begun if stream else Script((), ending="hang"))
    known = await _known(standing)
    seen = await _left(standing, endpoint, stream=stream)

    async with asyncio.timeout(20):
        await standing.upstream.left.wait()
        record = await _closed(standing, known)
    assert (record.status, record.endpoint, len(standing.upstream.requests)) == (499, endpoint.kind, 1)
    assert (SAID.text.encode() in seen) == stream
    (attempt,) = await attempts.of_decision(standing.home.runtime.engine, record.id)
    assert (attempt.outcome, attempt.estimated) == ("aborted", True)
    assert (attempt.cost_nano_usd or 0) > 0


async def test_what_an_upstream_said_before_the_client_left_is_charged_as_said(standing: Wall) -> None:
    """An explicit zero stays zero; it is no reason to estimate."""
    chat = ENDPOINTS[0]
    zero = {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}
    held = Framing().write([*chat.events(Said("", "", (), None)), zero])
    said = Framing().write([{"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": None}]}])
    standing.answers(streamed(said + held, ending="hang"))
    known = await _known(standing)
    await _left(standing, chat, stream=True, until=b"stop")

    async with asyncio.timeout(20):
        record = await _closed(standing, known)
    (attempt,) = await attempts.of_decision(standing.home.runtime.engine, record.id)
    assert (attempt.estimated, attempt.cost_nano_usd) == (False, 0)


async def _left(standing: Wall, endpoint: Endpoint, *, stream: bool, until: bytes = SAID.text.encode()) -> bytes:
    """Ask, and close the connection in the middle of a stream, or while a JSON answer is waited for."""
    host, _, port = standing.home.url.removeprefix("http://").partition(":")
    content = json.dumps(endpoint.asking(stream=stream)).encode()
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST {endpoint.path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN_KEY}\r\n"
    writer.write(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
    seen = b""
    async with asyncio.timeout(20):
        await standing.upstream.asked.wait()
        while stream and not (until in seen or until in _texts(seen)):
            seen += await reader.read(4096)
    writer.close()
    await writer.wait_closed()
    return _texts(seen)


def _texts(seen: bytes) -> bytes:
    """The text that the pieces of a stream come to, whatever stands around them."""
    texts = []
    for line in seen.split(b"\n"):
        if line.startswith(b"data: {") and line.rstrip().endswith(b"}"):
            try:
                event = json.loads(line[6:])
            except ValueError:
                continue
            texts += [choice.get("text") or (choice.get("delta") or {}).get("content") or "" for choice in _list(event)]
            piece = event.get("delta") if event.get("type") == "response.output_text.delta" else None
            texts.append(piece if isinstance(piece, str) else "")
            if event.get("type") == "content_block_delta":
                texts.append(event["delta"].get("text", ""))
    return "".join(texts).encode()


def _list(event: Json) -> list[Json]:
    choices: list[Json] = event.get("choices") or []
    return choices


async def _known(standing: Wall) -> set[str]:
    return {record.id for record in await decisions.recent(standing.home.runtime.engine, 1000)}


async def _closed(standing: Wall, known: set[str]) -> decisions.DecisionRecord:
    """The decision that is new, once it is closed."""
    while True:
        recent = await decisions.recent(standing.home.runtime.engine, 5)
        closed = [record for record in recent if record.id not in known and record.status is not None]
        if closed:
            return closed[0]
        await asyncio.sleep(0.01)
