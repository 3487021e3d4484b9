"""Streams of every shape, at every cut: each client understands the same text, thoughts, calls, usage and ending."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import aiohttp
import pytest

from gateway.chat import formats, relay
from gateway.chat.tap import Tap
from gateway.ledger.attempt import Attempt
from gateway.ledger.entries import Account, Hold
from gateway.upstream.clients import Outgoing
from gateway.upstream.dialects.normal import Normaliser
from gateway.upstream.opening import Opening
from gateway.wire.shapes import CHAT as CHAT_SHAPE
from policies.labels import PUBLIC
from tests.fakes import ESTIMATE, deployment
from tests.gateway.house import ADMIN_KEY
from tests.wire.endpoints import (
    CHAT,
    OWN_MESSAGES,
    Endpoint,
    Said,
    events_in,
)
from tests.wire.frames import DONE, FRAMINGS, Framing, streamed
from tests.wire.upstream import STREAM_HEAD, Script, answer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from tests.wire.endpoints import Given, Heard, Json
    from tests.wire.wall import Wall

pytestmark = pytest.mark.asyncio(loop_scope="module")

USAGE = (1000, 400, 200, 60)
TALK = Said("é 你好 👩‍👩‍👧 \u2028 \u0085 fim", "pensar 👋 alto", (), USAGE, "stop")
CALL = Said(
    "Vejo.", "qual?", (("clima", '{"cidade": "São Paulo 🌧"}'), ("hora", '{"cidade": "東京"}')), USAGE, "tool_calls"
)

EVERY_CUT = [FRAMINGS[name] for name in ("CRLF", "CR", "several data lines, CRLF")]


def understood(endpoint: Endpoint, said: Said) -> Said:
    """What there is to be understood at an endpoint, which has no place for everything."""
    if not endpoint.has_thoughts:
        said = replace(said, thoughts="")
    return said if endpoint.has_calls else replace(said, calls=())


def sayings(endpoint: Endpoint) -> list[Said]:
    return [TALK, CALL] if endpoint.has_calls else [TALK]


def with_done(endpoint: Endpoint, events: Sequence[Json]) -> list[Json | str]:
    """The events as they end at this endpoint."""
    return [*events] if endpoint is OWN_MESSAGES else [*events, DONE]


@dataclass
class Pieces:
    """A reply that comes in these pieces."""

    pieces: Sequence[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: bool = True

    async def read(self, limit: int) -> bytes:
        raise AssertionError(f"a stream is not read whole, up to {limit}")

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for piece in self.pieces:
            yield piece


FORMATS: dict[str, formats.Format] = {
    form.endpoint: form for form in (formats.COMPLETIONS, formats.RESPONSES, formats.MESSAGES)
}


async def relayed(endpoint: Endpoint, pieces: Sequence[bytes]) -> tuple[Heard, Tap]:
    """Take a stream in pieces from its opening to the client, without a network between."""
    form = FORMATS.get(endpoint.kind, formats.CHAT_COMPLETIONS)
    asked = endpoint.asking(stream=True)
    shape = form.shape if endpoint.native else CHAT_SHAPE
    names = iter(range(1000))

    def new_id(kind: str) -> str:
        return f"{kind}_{next(names)}"

    rewrite = relay.Rewrite(
        shape=shape,
        normaliser=Normaliser(new_id) if shape is CHAT_SHAPE else None,
        rendering=None if endpoint.native or form.rendering is None else form.rendering(asked, "m", 1, new_id),
    )
    hold = Hold(
        "att",
        "dec",
        "req",
        1,
        Account("ana"),
        deployment("http://127.0.0.1"),
        ESTIMATE,
        datetime(2026, 11, 1, tzinfo=UTC),
    )
    opening = Opening(
        "m", Pieces(pieces), Outgoing(b"{}", PUBLIC, stream=True, shape=shape), Attempt(hold), checks=False
    )
    tap = Tap(10)
    out: list[bytes] = []

    async def write(data: bytes) -> None:
        out.append(data)

    async with AsyncExitStack() as stack:
        await relay.streamed(await opening.stream(stack), rewrite, tap, write)
    return endpoint.read_events(list(events_in(b"".join(out) + relay.closing({}, form.done)))), tap


def in_pieces(body: bytes, size: int) -> Script:
    """The stream in packets of so many bytes."""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return Script((STREAM_HEAD, *pieces), pause=1e-6)


async def charged(standing: Wall, got: Given) -> tuple[str | None, tuple[int, int, int, int]]:
    """How the one attempt ended, and the tokens that were charged."""
    (attempt,) = await standing.attempts(got)
    completion = attempt.output + attempt.reasoning
    return attempt.outcome, (attempt.fresh + attempt.cached, attempt.cached, completion, attempt.reasoning)


def lanes(tap: Tap) -> tuple[int, int, int, int]:
    return tap.usage.prompt, tap.usage.cached, tap.usage.completion, tap.usage.reasoning


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS.keys())
async def test_a_stream_cut_at_any_byte_says_the_same(framing: Framing, endpoint: Endpoint) -> None:
    """Of a short stream: each byte by itself, each cut in two for a chat, and one in 37 elsewhere."""
    said = Said("é👋", "", (), USAGE)
    body = framing.write(with_done(endpoint, endpoint.events(said)))
    step = 1 if endpoint is CHAT and framing in EVERY_CUT else 37

    heard, tap = await relayed(endpoint, [body[at : at + 1] for at in range(len(body))])
    assert (heard.said, lanes(tap)) == (understood(endpoint, said), USAGE)
    for cut in range(1, len(body), step):
        heard, tap = await relayed(endpoint, [body[:cut], body[cut:]])
        assert (heard.said, lanes(tap)) == (understood(endpoint, said), USAGE), cut


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS.keys())
async def test_every_framing_says_the_same_through_the_whole_house(
    standing: Wall, framing: Framing, endpoint: Endpoint
) -> None:
    for said in sayings(endpoint):
        body = framing.write(with_done(endpoint, endpoint.events(said)))
        asked = endpoint.calling(stream=True) if said is CALL else endpoint.asking(stream=True)
        got = await standing.ask(endpoint, asked, in_pieces(body, 97))

        assert (got.status, endpoint.read(got).said) == (200, understood(endpoint, said))
        assert await charged(standing, got) == ("ok", USAGE)
        assert len(standing.upstream.requests) == 1


async def test_one_byte_a_packet_says_the_same_through_the_whole_house(standing: Wall, endpoint: Endpoint) -> None:
    said = Said("é 👋", "", (), USAGE)
    body = FRAMINGS["comments glued below"].write(with_done(endpoint, endpoint.events(said)))

    got = await standing.ask(endpoint, endpoint.asking(stream=True), in_pieces(body, 1))

    assert (got.status, endpoint.read(got).said) == (200, understood(endpoint, said))
    assert await charged(standing, got) == ("ok", USAGE)


async def test_a_whole_answer_says_what_the_stream_says(standing: Wall, endpoint: Endpoint) -> None:
    for said in sayings(endpoint):
        asked = endpoint.calling(stream=False) if said is CALL else endpoint.asking(stream=False)
        got = await standing.ask(endpoint, asked, answer(endpoint.whole(said)))

        assert (got.status, endpoint.read(got).said) == (200, understood(endpoint, said))
        assert await charged(standing, got) == ("ok", USAGE)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
async def test_what_comes_first_is_passed_on_while_the_upstream_is_silent(
    standing: Wall, endpoint: Endpoint, end: str
) -> None:
    """A parser that waits for its own line end would hold everything until the upstream closes."""
    events = endpoint.events(TALK)
    begun = Framing(end=end).write([event for event in events if not ends(event)])
    standing.answers(streamed(begun, ending="hang"))
    async with (
        aiohttp.ClientSession() as session,
        asyncio.timeout(20),
        session.post(
            standing.home.url + endpoint.path,
            json=endpoint.asking(stream=True),
            headers={"authorization": f"Bearer {ADMIN_KEY}"},
        ) as response,
    ):
        await response.content.readuntil(b"fim")

    async with asyncio.timeout(20):
        await standing.upstream.left.wait()
    assert len(standing.upstream.requests) == 1


def ends(event: Json) -> bool:
    """True for the events with which an answer ends."""
    closing = ("response.completed", "message_delta", "message_stop", "content_block_stop", "response.output_item.done")
    finished = any(choice.get("finish_reason") for choice in event.get("choices", ()))
    return event.get("type") in closing or finished or bool(event.get("usage"))
