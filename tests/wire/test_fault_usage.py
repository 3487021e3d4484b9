"""Usage wherever it stands: shown once and last, charged once, and the sums of the upstream are the ledger's."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from gateway.ledger.spend import spend
from tests.wire.endpoints import (
    CHAT,
    COMPLETIONS,
    ENDPOINTS,
    OWN_COMPLETIONS,
    OWN_MESSAGES,
    OWN_RESPONSES,
    TRANSLATED,
    Endpoint,
    Said,
    chat_usage,
    events_in,
    message_usage,
    response_usage,
)
from tests.wire.frames import DONE, Framing, streamed
from tests.wire.upstream import answer
from tests.wire.wall import wall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gateway.db.attempts import AttemptRow
    from tests.wire.endpoints import Given, Json
    from tests.wire.upstream import Script
    from tests.wire.wall import Wall

pytestmark = pytest.mark.asyncio(loop_scope="module")

USAGE = (1000, 400, 200, 60)
SAID = Said("Vence no dia 10 de cada mês.", "", (), USAGE)
EARLIER = (1000, 400, 1, 0)


def said(events: list[Json], *, done: bool = True) -> Script:
    return streamed(Framing().write([*events, DONE] if done else events))


def tokens(attempt: AttemptRow) -> tuple[int, int, int, int]:
    completion = attempt.output + attempt.reasoning
    return attempt.fresh + attempt.cached, attempt.cached, completion, attempt.reasoning


def beside(chunk: Json, usage: tuple[int, int, int, int]) -> Json:
    return {**chunk, "usage": chat_usage(usage)}


def alone(chunk: Json, usage: tuple[int, int, int, int]) -> Json:
    return {**chunk, "choices": [], "usage": chat_usage(usage)}


def in_choice(chunk: Json, usage: tuple[int, int, int, int]) -> Json:
    return {**chunk, "choices": [{**choice, "usage": chat_usage(usage)} for choice in chunk["choices"]]}


PLACES: dict[str, Callable[[list[Json]], list[Json]]] = {
    "last": lambda chunks: [*chunks, alone(chunks[0], USAGE)],
    "first": lambda chunks: [alone(chunks[0], USAGE), *chunks],
    "in the middle": lambda chunks: [*chunks[:2], alone(chunks[0], USAGE), *chunks[2:]],
    "before the end": lambda chunks: [*chunks[:-1], alone(chunks[0], USAGE), chunks[-1]],
    "twice": lambda chunks: [*chunks, alone(chunks[0], USAGE), alone(chunks[0], USAGE)],
    "first and last": lambda chunks: [alone(chunks[0], EARLIER), *chunks, alone(chunks[0], USAGE)],
    "beside the end": lambda chunks: [*chunks[:-1], beside(chunks[-1], USAGE)],
    "beside everything": lambda chunks: [*(beside(chunk, EARLIER) for chunk in chunks), alone(chunks[0], USAGE)],
    "beside the end and alone": lambda chunks: [
        *chunks[:-1], beside(chunks[-1], USAGE), alone(chunks[0], USAGE),
    ],
    "in the choice that ends": lambda chunks: [*chunks[:-1], in_choice(chunks[-1], USAGE)],
}  # fmt: skip
CHUNKED = (*TRANSLATED, OWN_COMPLETIONS)
"""Those whose upstream streams chunks with choices."""


@pytest.mark.parametrize("done", [True, False], ids=["done", "no done"])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("chunked", CHUNKED, ids=lambda endpoint: endpoint.name)
async def test_usage_is_shown_once_and_last_wherever_it_stood(
    standing: Wall, chunked: Endpoint, place: Callable[[list[Json]], list[Json]], done: bool
) -> None:
    chunks = chunked.events(Said(SAID.text, "", (), None))
    got = await standing.ask(chunked, chunked.asking(stream=True), said(place(chunks), done=done))

    assert chunked.read(got).said == SAID
    (attempt,) = await standing.attempts(got)
    assert (tokens(attempt), attempt.estimated) == (USAGE, False)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("chunked", [CHAT, COMPLETIONS, OWN_COMPLETIONS], ids=lambda endpoint: endpoint.name)
async def test_usage_that_was_not_asked_for_is_charged_and_not_shown(
    standing: Wall, chunked: Endpoint, place: Callable[[list[Json]], list[Json]]
) -> None:
    chunks = chunked.events(Said(SAID.text, "", (), None))
    asked = chunked.asking(stream=True)
    del asked["stream_options"]
    got = await standing.ask(chunked, asked, said(place(chunks)))

    heard = chunked.read(got)
    assert (heard.text, heard.usage, heard.ending) == (SAID.text, None, "stop")
    assert b'"usage"' not in got.body
    (attempt,) = await standing.attempts(got)
    assert tokens(attempt) == USAGE


async def test_a_client_that_wants_usage_with_every_chunk_gets_it(standing: Wall) -> None:
    chunks = PLACES["beside everything"](CHAT.events(Said(SAID.text, "", (), None)))
    options = {"include_usage": True, "continuous_usage_stats": True}
    got = await standing.ask(CHAT, CHAT.asking(stream=True, stream_options=options), said(chunks))

    assert got.body.count(b'"usage"') == len(chunks)


async def test_an_answer_as_openai_writes_it_is_not_touched(standing: Wall) -> None:
    chunks = [{**chunk, "usage": None} for chunk in CHAT.events(Said(SAID.text, "", (), None))]
    script = said([*chunks, alone(chunks[0], USAGE)])
    got = await standing.ask(CHAT, CHAT.asking(stream=True), script)

    before_closing = got.body.split(b": soleira-decision")[0]
    assert before_closing == script.pieces[1].removesuffix(b"data: [DONE]\n\n")


PRICES = (Decimal("3.00"), Decimal("0.30"), Decimal("15.00"))
"""Of a million tokens: fresh, cached, written."""


@dataclass(frozen=True)
class Stated:
    """A usage as an upstream states it, and what it comes to: fresh, cached, visible, thinking."""

    usage: Json
    lanes: tuple[int, int, int, int]
    more: Json | None = None

    @property
    def nano_usd(self) -> int:
        fresh, cached, output, reasoning = self.lanes
        counts = (fresh, cached, output + reasoning)
        dollars = sum((count * price for count, price in zip(counts, PRICES, strict=True)), Decimal(0)) / 1_000_000
        return int(dollars * 1_000_000_000)


def chat_counts(prompt: int, completion: int, **more: Any) -> Json:
    return {"prompt_tokens": prompt, "completion_tokens": completion, **more}


STATED = {
    "cached within the prompt": Stated(
        chat_counts(262_960, 1_944, prompt_tokens_details={"cached_tokens": 257_955}), (5_005, 257_955, 1_944, 0)
    ),
    "cached at the top": Stated(chat_counts(262_960, 10, cached_tokens=257_955), (5_005, 257_955, 10, 0)),
    "cached in both places": Stated(
        chat_counts(1_000, 10, cached_tokens=400, prompt_tokens_details={"cached_tokens": 400}), (600, 400, 10, 0)
    ),
    "hits and misses": Stated(
        chat_counts(1_000, 10, prompt_cache_hit_tokens=400, prompt_cache_miss_tokens=600), (600, 400, 10, 0)
    ),
    "more cached than there was": Stated(chat_counts(1_000, 10, cached_tokens=4_000), (0, 1_000, 10, 0)),
    "thoughts within": Stated(
        chat_counts(10, 1_944, total_tokens=1_954, completion_tokens_details={"reasoning_tokens": 1_360}),
        (10, 0, 584, 1_360),
    ),
    "thoughts beside": Stated(
        chat_counts(10, 584, total_tokens=1_954, completion_tokens_details={"reasoning_tokens": 1_360}),
        (10, 0, 584, 1_360),
    ),
    "thoughts beside that nobody names": Stated(chat_counts(9, 1, total_tokens=103), (9, 0, 1, 93)),
    "more thoughts than all that was written": Stated(
        chat_counts(33, 11_395, total_tokens=11_428, reasoning_tokens=193_947), (33, 0, 11_395, 193_947)
    ),
    "nothing": Stated(chat_counts(0, 0, total_tokens=0), (0, 0, 0, 0)),
    "timings alone": Stated({}, (90, 10, 20, 0), {"timings": {"prompt_n": 90, "cache_n": 10, "predicted_n": 20}}),
    "counts as fractions": Stated(chat_counts(10, 5) | {"prompt_tokens": 10.0}, (10, 0, 5, 0)),
}


@pytest.mark.parametrize("stated", STATED.values(), ids=STATED.keys())
@pytest.mark.parametrize("translated", TRANSLATED, ids=lambda endpoint: endpoint.name)
async def test_each_token_is_charged_once_and_shown_as_charged(
    standing: Wall, translated: Endpoint, stated: Stated, stream: bool
) -> None:
    bare = Said("10", "", (), None)
    usage = {**({"usage": stated.usage} if stated.usage else {}), **(stated.more or {})}
    chunks = translated.events(bare)
    script = (
        said([*chunks, {**chunks[0], "choices": [], **usage}]) if stream else answer(translated.whole(bare) | usage)
    )
    got = await standing.ask(translated, translated.asking(stream=stream), script)

    (attempt,) = await standing.attempts(got)
    assert (attempt.fresh, attempt.cached, attempt.output, attempt.reasoning) == stated.lanes
    assert (attempt.cost_nano_usd, attempt.estimated) == (stated.nano_usd, False)
    if translated is not CHAT:  # a chat shows what the upstream said
        fresh, cached, output, reasoning = stated.lanes
        assert translated.read(got).usage == (fresh + cached, cached, output + reasoning, reasoning)


OWN_STATED = {
    "responses": (OWN_RESPONSES, response_usage(Said(usage=(262_960, 257_955, 1_944, 1_360)))),
    "messages": (OWN_MESSAGES, message_usage(Said(usage=(262_960, 257_955, 1_944, 1_360)))),
    "completions": (OWN_COMPLETIONS, chat_usage((262_960, 257_955, 1_944, 1_360))),
}


@pytest.mark.parametrize(("own", "usage"), OWN_STATED.values(), ids=OWN_STATED.keys())
async def test_usage_in_an_endpoints_own_form_is_charged_once(
    standing: Wall, own: Endpoint, usage: Json, stream: bool
) -> None:
    whole = Said("10", "", (), (262_960, 257_955, 1_944, 1_360))
    script = said([*own.events(whole)], done=own is not OWN_MESSAGES) if stream else answer(own.whole(whole))
    got = await standing.ask(own, own.asking(stream=stream), script)

    (attempt,) = await standing.attempts(got)
    assert (attempt.fresh, attempt.cached, attempt.output, attempt.reasoning) == (5_005, 257_955, 584, 1_360)
    assert attempt.cost_nano_usd == 5_005 * 3_000 + 257_955 * 300 + 1_944 * 15_000
    assert usage.items() <= _stated_in(got, stream=stream).items()


def _stated_in(got: Given, *, stream: bool) -> Json:
    """The last usage that the client was shown, as it stands there."""
    if not stream:
        return dict(got.json["usage"])
    payloads = [json.loads(data) for _, data in events_in(got.body) if data != DONE]
    holders = [holder for event in payloads for holder in (event, event.get("response") or {}) if holder.get("usage")]
    return dict(holders[-1]["usage"])


async def test_the_sums_of_the_upstream_are_the_ledgers(tmp_path: Path) -> None:
    """A mixed run over all endpoints: good answers, refusals, retries, thoughts, calls and cached prompts."""
    dice = random.Random(20261101)
    sums = [0, 0, 0, 0]
    asked = failed = 0
    async with wall(tmp_path) as standing:
        for endpoint in ENDPOINTS * 4:
            stream = dice.random() < 0.5
            prompt, completion = dice.randrange(1, 5_000), dice.randrange(20, 3_000)
            usage = (prompt, dice.randrange(prompt + 1), completion, dice.randrange(completion + 1))
            sums = [one + other for one, other in zip(sums, usage, strict=True)]
            good = Said("Vence no dia 10.", "hm" if endpoint.has_thoughts else "", (), usage)
            if stream:
                script = said(endpoint.events(good), done=endpoint is not OWN_MESSAGES)
            else:
                script = answer(endpoint.whole(good))
            before = dice.choice([(), (answer({}, status=503),)])
            got = await standing.ask(endpoint, endpoint.asking(stream=stream), *before, script)

            assert (got.status, endpoint.read(got).said) == (200, good)
            asked += 1
            failed += len(before)
            assert len(standing.upstream.requests) == 1 + len(before)
        spent = await spend(standing.home.runtime.engine)

    lanes = [[line.fresh, line.cached, line.output, line.reasoning] for line in spent.by_deployment]
    fresh, cached, output, reasoning = (sum(column) for column in zip(*lanes, strict=True))
    assert [fresh + cached, cached, output + reasoning, reasoning] == sums
    assert (spent.attempts, spent.estimated, spent.held_nano_usd) == (asked + failed, 0, 0)
    assert spent.total_nano_usd == fresh * 3_000 + cached * 300 + (output + reasoning) * 15_000
