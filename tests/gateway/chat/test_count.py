"""What does not fit is refused by exact figures, and a count that leaves the house is decided like a request."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.db import attempts, decisions
from tests.gateway.chat.conftest import asking, post
from tests.gateway.house import deployment, house, passage
from tests.wire.sink import recording_sink
from tests.wire.upstream import DONE, Script, answer, completion, delta, fake_upstream, finish
from tests.wire.upstream import stream as streamed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.house import House

LONG = "O aluguel vence no dia dez. " * 20
BOUND = -(-len(LONG) // 3)
COUNT = "/v1/messages/count_tokens"


def own(name: str, url: str, **more: Any) -> dict[str, Any]:
    """A deployment on this machine that counts."""
    return deployment(name, url, engine="vllm", zone="device", **{"context": 150, **more})


def counted(tokens: int) -> Script:
    return answer({"count": tokens, "max_model_len": 150, "tokens": []})


def said(*, stream: bool) -> Script:
    return streamed(delta("Dia 10."), finish(), DONE) if stream else answer(completion("Dia 10."))


async def seen(home: House, *names: str) -> None:
    """Wait until these were looked at, so that what is known of them does not change their order later."""
    while any(home.runtime.fleet.observed.of(name) is None for name in names):
        await asyncio.sleep(0.01)


def counting_request(model: str, text: str = LONG, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


async def test_a_prompt_that_does_not_fit_is_refused_by_its_exact_length(tmp_path: Path, stream: bool) -> None:
    async with fake_upstream(counted(151)) as up, house(tmp_path, [own("gpt", up.url)]) as home:
        given = await post(home, asking("gpt", LONG, stream=stream))

        assert (given.status, given.code) == (400, "context_length_exceeded")
        assert "151 tokens" in given.json["error"]["message"]
        assert "takes 150" in given.json["error"]["message"]
        assert [request.path for request in up.requests] == ["/tokenize"]
        decision = given.headers["soleira-decision"]
        assert list(await attempts.of_decision(home.runtime.engine, decision)) == []
        record = await decisions.find(home.runtime.engine, decision)
        assert record is not None
        assert (record.status, record.code) == (400, "context_length_exceeded")


async def test_one_of_the_same_name_with_more_room_answers(tmp_path: Path, stream: bool) -> None:
    async with fake_upstream(counted(151)) as small, fake_upstream(said(stream=stream)) as large:
        route = [own("small", small.url, model="gpt"), own("large", large.url, model="gpt", context=4000)]
        price = {"currency": "USD", "per_million": {"input": 9, "output": 9}, "source": "test", "as_of": "2026-11-01"}
        route[1]["price"] = {**price, "per_million": {"input": 30, "output": 90}}
        async with house(tmp_path, route) as home:
            await seen(home, "small", "large")
            given = await post(home, asking("gpt", LONG, stream=stream))

            assert (given.status, given.text, given.headers["soleira-deployment"]) == (200, "Dia 10.", "large")
            (attempt,) = await attempts.of_decision(home.runtime.engine, given.headers["soleira-decision"])
            assert (attempt.deployment, attempt.ordinal) == ("large", 1)

    assert [request.path for request in small.requests] == ["/tokenize"]


async def test_a_prompt_that_fits_after_all_is_sent_with_its_passages(tmp_path: Path, stream: bool) -> None:
    async with fake_upstream(counted(149), said(stream=stream)) as up:
        found = [passage("Aluguel: dia 10.")]
        async with house(tmp_path, [own("gpt", up.url)], passages=found) as home:
            given = await post(home, asking("gpt@papers", LONG[:400], stream=stream))

    assert given.status == 200
    asked, sent = (json.loads(request.body) for request in up.requests)
    assert asked["messages"] == sent["messages"]
    assert "Aluguel: dia 10." in sent["messages"][-1]["content"]


async def test_pictures_are_left_to_the_deployment(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [{"type": "text", "text": LONG[:400]}, picture]
    async with (
        fake_upstream(answer(completion())) as up,
        house(tmp_path, [own("gpt", up.url, context=1200)]) as home,
    ):
        given = await post(home, {"model": "gpt", "messages": [{"role": "user", "content": content}]})

    assert given.status == 200
    assert [request.path for request in up.requests] == ["/v1/chat/completions"]


async def test_tokens_are_counted_exactly_by_the_deployment_that_would_be_asked(tmp_path: Path) -> None:
    tools = [{"name": "busca", "input_schema": {"type": "object"}}]
    async with fake_upstream(counted(123)) as up, house(tmp_path, [own("gpt", up.url)]) as home:
        body = counting_request("gpt", system="Seja breve.", tools=tools)
        given = await post(home, body, path=COUNT, headers={"soleira-label": "private"})

        assert (given.status, given.json) == (200, {"input_tokens": 123})
        assert (given.headers["soleira-deployment"], given.headers["soleira-zone"]) == ("gpt", "device")
        decision = given.headers["soleira-decision"]
        record = await decisions.find(home.runtime.engine, decision)
        assert record is not None
        assert (record.endpoint, record.label, record.deployment) == ("count_tokens", "private", "gpt")
        assert (record.status, record.code) == (200, None)
        assert list(await attempts.of_decision(home.runtime.engine, decision)) == []

    (request,) = up.requests
    sent = json.loads(request.body)
    assert (request.path, [message["role"] for message in sent["messages"]]) == ("/tokenize", ["system", "user"])
    assert sent["tools"][0]["function"]["name"] == "busca"


async def test_where_nobody_counts_it_is_a_bound_and_nothing_leaves(tmp_path: Path) -> None:
    async with recording_sink() as sink, house(tmp_path, [deployment("gpt", sink.url)]) as home:
        known = await post(home, counting_request("gpt"), path=COUNT)
        unknown = await post(home, counting_request("nobody"), path=COUNT)
        unreadable = await post(home, counting_request("gpt", n=2), path=COUNT)  # refused as a message, yet countable

        for given in (known, unknown, unreadable):
            assert given.status == 200
            assert given.json["input_tokens"] >= BOUND
            assert "soleira-decision" not in given.headers
        assert list(await decisions.recent(home.runtime.engine)) == []

    assert sink.connections == 0


async def test_what_may_not_go_there_is_counted_here(tmp_path: Path) -> None:
    """The zone is as near as can be, so that its engine would be asked, but it is cleared for less."""
    rules = {
        "default_label": "internal",
        "unscannable": "private",
        "zones": {"device": {"clearance": "internal", "addresses": "loopback"}},
        "detectors": {"cpf": "private"},
        "rules": [{"name": "all", "route": {"prefer": "cheapest"}}],
    }
    async with fake_upstream(counted(1)) as up, house(tmp_path, [own("gpt", up.url)], rules=rules) as home:
        by_header = await post(home, counting_request("gpt"), path=COUNT, headers={"soleira-label": "private"})
        by_content = await post(home, counting_request("gpt", "CPF 529.982.247-25"), path=COUNT)

        assert (by_header.status, by_content.status) == (200, 200)
        assert by_header.json["input_tokens"] >= BOUND

    assert up.requests == []


@pytest.mark.parametrize("nothing", [answer({}, status=404), answer({"count": None}), Script((b"",))])
async def test_a_count_that_does_not_come_is_a_bound_and_on_record_all_the_same(
    tmp_path: Path, nothing: Script
) -> None:
    async with fake_upstream(nothing) as up, house(tmp_path, [own("gpt", up.url)]) as home:
        given = await post(home, counting_request("gpt"), path=COUNT)

        assert given.status == 200
        assert given.json["input_tokens"] >= BOUND
        (record,) = await decisions.recent(home.runtime.engine)
        assert (record.endpoint, record.deployment) == ("count_tokens", "gpt")


async def test_a_label_that_is_none_is_refused_for_a_count_too(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        given = await post(home, counting_request("gpt"), path=COUNT, headers={"soleira-label": "hush"})

    assert (given.status, given.json["error"]["type"]) == (400, "invalid_request_error")
