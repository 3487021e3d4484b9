"""The response cache as clients and owners see it: the same bytes, marked, for nothing, and booked as a saving."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateway.db import attempts, keys
from gateway.db.keys import KeySpec
from gateway.settings import Settings
from tests.gateway.chat.conftest import asking, post
from tests.gateway.chat.test_answers import COST, told
from tests.gateway.house import deployment, house, passage
from tests.wire.upstream import fake_upstream
from tests.wire.valkey import valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from gateway.db.attempts import AttemptRow
    from tests.gateway.house import House
    from tests.wire.upstream import Upstream

DAY = timedelta(days=1)


@asynccontextmanager
async def a_house(
    data: Path, *, stream: bool, cache: bool = True, **more: Any
) -> AsyncIterator[tuple[House, Upstream]]:
    """A house with a store and one deployment; it keeps answers for a minute, if it keeps any."""
    settings = Settings.from_environment(data, None, {})
    settings.pack.mkdir(parents=True)
    (settings.pack / "budgets.yaml").write_text(json.dumps({"cache": {"seconds": "60"}} if cache else {}))
    settings.valkey_socket.parent.mkdir(parents=True, exist_ok=True)
    async with (
        valkey(settings.valkey_socket),
        fake_upstream(told(stream=stream)) as up,
        house(data, [deployment("gpt", up.url)], **more) as home,
    ):
        yield home, up


async def rows(home: House) -> list[AttemptRow]:
    """The settled attempts, in the order they were made."""
    now = home.runtime.now()
    newest_first, _ = await attempts.page(home.runtime.engine, now - DAY, now + DAY)
    return newest_first[::-1]


def said(body: bytes) -> bytes:
    """A body without the comments of a stream, which are of each answer's own."""
    return b"\n".join(line for line in body.split(b"\n") if not line.startswith(b":")).rstrip(b"\n")


async def test_the_same_request_is_answered_with_the_same_bytes_and_nobody_is_asked(
    tmp_path: Path, stream: bool
) -> None:
    async with a_house(tmp_path, stream=stream) as (home, up):
        first = await post(home, asking("gpt", stream=stream))
        again = await post(home, asking("gpt", stream=stream))

        assert said(again.body) == said(first.body)
        assert len(up.requests) == 1
    assert (first.headers.get("soleira-cache"), again.headers["soleira-cache"]) == (None, "hit")
    assert again.headers["soleira-deployment"] == "gpt"
    assert again.headers["soleira-decision"] != first.headers["soleira-decision"]
    assert again.headers["content-type"] == first.headers["content-type"]


async def test_a_hit_costs_nothing_and_is_booked_as_a_saving(tmp_path: Path, stream: bool) -> None:
    async with a_house(tmp_path, stream=stream) as (home, _):
        await post(home, asking("gpt", stream=stream))
        await post(home, asking("gpt", stream=stream))

        paid, free = await rows(home)

    assert (paid.cost_nano_usd, paid.from_cache) == (COST, False)
    assert (free.cost_nano_usd, free.from_cache, free.saved_nano_usd) == (0, True, COST)
    assert (free.outcome, free.state, free.elsewhere in (None, "{}")) == ("ok", "settled", True)


async def test_another_question_and_another_caller_ask_anew(tmp_path: Path, stream: bool) -> None:
    async with a_house(tmp_path, stream=stream) as (home, up):
        ana, bia = [await keys.create(home.runtime.engine, KeySpec(name)) for name in ("ana", "bia")]
        for key, question in ((ana, "oi"), (bia, "oi"), (ana, "olá"), (ana, "oi")):
            await post(home, asking("gpt", question, stream=stream), key=key)

        assert len(up.requests) == 3


async def test_a_client_may_decline_the_cache(tmp_path: Path, stream: bool) -> None:
    async with a_house(tmp_path, stream=stream) as (home, up):
        await post(home, asking("gpt", stream=stream))
        fresh = await post(home, asking("gpt", stream=stream), headers={"cache-control": "no-cache"})

        assert len(up.requests) == 2
    assert "soleira-cache" not in fresh.headers


async def test_without_a_word_in_the_pack_every_request_is_asked(tmp_path: Path, stream: bool) -> None:
    async with a_house(tmp_path, stream=stream, cache=False) as (home, up):
        for _ in range(2):
            await post(home, asking("gpt", stream=stream))

        assert len(up.requests) == 2


async def test_an_answer_out_of_a_document_is_not_given_again_once_the_document_is_gone(
    tmp_path: Path, stream: bool
) -> None:
    found = passage("Vence no dia 5.")
    async with a_house(tmp_path, stream=stream, passages=[found]) as (home, _):
        asked = asking("quotes@papers", stream=stream)
        first = await post(home, asked)
        again = await post(home, asked)
        home.retriever.passages.clear()
        gone = await post(home, asked)

    assert "Vence no dia 5" in first.text
    assert said(again.body) == said(first.body)
    assert "Vence no dia 5" not in gone.text
    assert "soleira-cache" not in gone.headers
