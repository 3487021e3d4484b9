"""Every endpoint takes the one path: translated where a deployment has only a chat, untouched where it has the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.db import attempts, decisions
from tests.gateway.chat.conftest import Answer, asking, post
from tests.gateway.house import RULES, deployment, house, passage
from tests.wire.upstream import DONE, Script, answer, completion, delta, fake_upstream, finish
from tests.wire.upstream import stream as streamed

QUESTION = "Quando vence o aluguel?"
CHAT, COMPLETIONS, RESPONSES, MESSAGES = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
)
USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}}


def request(path: str, model: str = "gpt", *, stream: bool = False, **more: Any) -> dict[str, Any]:
    """The same question at each endpoint."""
    said: dict[str, dict[str, Any]] = {
        CHAT: {"messages": [{"role": "user", "content": QUESTION}]},
        COMPLETIONS: {"prompt": QUESTION},
        RESPONSES: {"input": QUESTION},
        MESSAGES: {"max_tokens": 50, "messages": [{"role": "user", "content": QUESTION}]},
    }
    return {"model": model, "stream": stream, **said[path], **more}


def text_of(path: str, given: Answer, *, stream: bool) -> str:
    """What a client of the endpoint reads."""
    if path == CHAT:
        return given.text
    if path == COMPLETIONS:
        whole = given.events if stream else [given.json]
        return "".join(choice["text"] for event in whole for choice in event["choices"])
    if path == MESSAGES:
        if stream:
            return "".join(event["delta"].get("text", "") for event in given.events if "delta" in event)
        return "".join(block.get("text", "") for block in given.json["content"])
    if stream:
        return "".join(e["delta"] for e in given.events if e["type"] == "response.output_text.delta")
    parts = (part for item in given.json["output"] for part in item.get("content", ()))
    return "".join(part.get("text", "") for part in parts)


def told(text: str, *, stream: bool) -> Script:
    if not stream:
        return answer(completion(text, usage=USAGE), ending="keep")
    return streamed(delta(text[:3]), delta(text[3:]), finish(usage=USAGE), DONE)


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS, RESPONSES, MESSAGES])
async def test_one_question_has_one_answer_and_one_price_at_every_endpoint(
    tmp_path: Path, path: str, stream: bool
) -> None:
    async with (
        fake_upstream(told("Dia 10.", stream=stream)) as up,
        house(tmp_path, [deployment("gpt", up.url)]) as home,
    ):
        given = await post(home, request(path, stream=stream), path=path)

        assert (given.status, text_of(path, given, stream=stream)) == (200, "Dia 10.")
        sent = json.loads(up.requests[0].body)
        assert up.requests[0].path == "/v1/chat/completions"
        assert [message["content"] for message in sent["messages"]] == [QUESTION]
        (attempt,) = await attempts.of_decision(home.runtime.engine, given.headers["soleira-decision"])
        assert (attempt.fresh, attempt.cached, attempt.output, attempt.outcome) == (7, 2, 4, "ok")
        assert attempt.cost_nano_usd == 7 * 3000 + 2 * 300 + 4 * 15000
        record = await decisions.find(home.runtime.engine, given.headers["soleira-decision"])
        assert record is not None
        assert CAPABILITY[path] == record.endpoint


CAPABILITY = {CHAT: "chat", COMPLETIONS: "completions", RESPONSES: "responses", MESSAGES: "messages"}

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "model": "vendor/gpt",
    "status": "completed",
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Dia 10."}]}],
    "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 2}, "output_tokens": 4, "total_tokens": 13},
    "vendor": {"kept": 1},
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "vendor/gpt",
    "content": [{"type": "text", "text": "Dia 10."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 7, "cache_read_input_tokens": 2, "output_tokens": 4},
    "vendor": {"kept": 1},
}
TEXT = {
    "id": "cmpl-1",
    "object": "text_completion",
    "model": "vendor/gpt",
    "choices": [{"index": 0, "text": "Dia 10.", "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}},
    "vendor": {"kept": 1},
}
OWN: dict[str, dict[str, Any]] = {COMPLETIONS: TEXT, RESPONSES: RESPONSE, MESSAGES: MESSAGE}
STREAMS: dict[str, list[dict[str, Any]]] = {
    COMPLETIONS: [
        {"model": "vendor/gpt", "choices": [{"index": 0, "text": "Dia 10.", "finish_reason": None}]},
        {"model": "vendor/gpt", "choices": [{"index": 0, "text": "", "finish_reason": "stop"}]},
        {"model": "vendor/gpt", "choices": [], "usage": TEXT["usage"]},
    ],
    RESPONSES: [
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "usage": None, "output": []}},
        {"type": "response.output_text.delta", "delta": "Dia 10.", "output_index": 0, "item_id": "i"},
        {"type": "response.completed", "response": RESPONSE},
    ],
    MESSAGES: [
        {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Dia 10."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": MESSAGE["usage"]},
        {"type": "message_stop"},
    ],
}


def own(path: str, *, stream: bool) -> Script:
    if not stream:
        return answer(OWN[path], ending="keep")
    return streamed(*(named(event) for event in STREAMS[path]), *([] if path == MESSAGES else [DONE]))


def named(event: dict[str, Any]) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


@pytest.mark.parametrize("path", [COMPLETIONS, RESPONSES, MESSAGES])
async def test_a_deployment_with_the_endpoint_itself_gets_the_clients_own_bytes(
    tmp_path: Path, path: str, stream: bool
) -> None:
    has_it = deployment("gpt", "", upstream_model="vendor/gpt", capabilities=[CAPABILITY[path]])
    async with fake_upstream(own(path, stream=stream)) as up, house(tmp_path, [{**has_it, "base_url": up.url}]) as home:
        given = await post(home, request(path, stream=stream, odd={"kept": [1.50]}), path=path)

        assert (given.status, text_of(path, given, stream=stream)) == (200, "Dia 10.")
        assert up.requests[0].path == path
        assert b'"odd": {"kept": [1.5]}' in up.requests[0].body
        assert json.loads(up.requests[0].body)["model"] == "vendor/gpt"
        assert b"vendor/gpt" not in given.body
        assert b'"vendor"' in given.body or stream
        (attempt,) = await attempts.of_decision(home.runtime.engine, given.headers["soleira-decision"])
        assert (attempt.fresh, attempt.cached, attempt.output, attempt.estimated) == (7, 2, 4, False)
        assert attempt.answered_model is None


async def test_a_response_is_stored_nowhere_even_where_an_upstream_would(tmp_path: Path) -> None:
    has_it = deployment("gpt", "", capabilities=["responses"])
    async with (
        fake_upstream(own(RESPONSES, stream=False)) as up,
        house(tmp_path, [{**has_it, "base_url": up.url}]) as home,
    ):
        await post(home, request(RESPONSES, store=True), path=RESPONSES)

        assert json.loads(up.requests[0].body)["store"] is False


@pytest.mark.parametrize("path", [RESPONSES, MESSAGES])
async def test_a_tool_that_a_chat_cannot_carry_is_refused_by_name_or_goes_where_it_is_known(
    tmp_path: Path, path: str, stream: bool
) -> None:
    tool = {"type": "web_search_20250305", "name": "web_search"} if path == MESSAGES else {"type": "web_search"}
    asked = request(path, stream=stream, tools=[tool])
    async with fake_upstream(own(path, stream=stream)) as up:
        plain, able = deployment("gpt", up.url), deployment("able", up.url, capabilities=[CAPABILITY[path], "tools"])
        async with house(tmp_path, [plain, able]) as home:
            refused = await post(home, asked, path=path)
            taken = await post(home, {**asked, "model": "able"}, path=path)

            assert refused.status == 400
            assert "tools[0]" in refused.json["error"]["message"]
            assert taken.status == 200
            assert [sent.path for sent in up.requests] == [path]


@pytest.mark.parametrize("path", [RESPONSES, MESSAGES, COMPLETIONS])
async def test_documents_are_asked_at_every_endpoint(tmp_path: Path, path: str, stream: bool) -> None:
    near = deployment("gpt", "", zone="device", capabilities=[CAPABILITY[path], "chat"])
    async with fake_upstream(told("Dia 10 [1].", stream=stream)) as up:
        found = [passage("Vence dia 10.")]
        async with house(tmp_path, [{**near, "base_url": up.url}], passages=found) as home:
            given = await post(home, request(path, "gpt@papers", stream=stream), path=path)

            assert text_of(path, given, stream=stream) == "Dia 10 [1]."
            assert up.requests[0].path == "/v1/chat/completions"
            assert "Vence dia 10." in json.loads(up.requests[0].body)["messages"][-1]["content"]
            assert b"contrato.md" in given.body


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS, RESPONSES, MESSAGES])
async def test_a_stream_that_breaks_off_says_so_in_its_endpoints_own_form(tmp_path: Path, path: str) -> None:
    broken = streamed(delta("Dia"), ending="close")
    async with fake_upstream(broken) as up, house(tmp_path, [deployment("gpt", up.url)]) as home:
        given = await post(home, request(path, stream=True), path=path)

        assert given.status == 200
        assert b"[DONE]" not in given.body
        last = given.events[-1]
        if path == MESSAGES:
            assert (last["type"], last["error"]["type"]) == ("error", "api_error")
        elif path == RESPONSES:
            assert last["type"] == "response.failed"
        else:
            assert last["error"]["code"] == "upstream_cut"


@pytest.mark.parametrize("path", [RESPONSES, MESSAGES])
async def test_refusals_keep_their_status_and_take_the_form_of_their_endpoint(
    tmp_path: Path, path: str, stream: bool
) -> None:
    async with fake_upstream(told("x", stream=stream)) as up, house(tmp_path, [deployment("gpt", up.url)]) as home:
        private = await post(home, request(path, stream=stream), path=path, headers={"soleira-label": "private"})
        unknown = await post(home, request(path, "nobody", stream=stream), path=path)
        stranger = await post(home, request(path, stream=stream), path=path, key="sk-wrong")

        assert [given.status for given in (private, unknown, stranger)] == [403, 404, 401]
        assert up.requests == []
        if path == MESSAGES:
            kinds = [given.json["error"]["type"] for given in (private, unknown, stranger)]
            assert kinds == ["permission_error", "not_found_error", "authentication_error"]
            assert stranger.headers["request-id"] == stranger.json["request_id"]
        else:
            assert private.code == "label_exceeds_clearance"


async def test_what_a_deployment_is_not_sent_is_told(tmp_path: Path, stream: bool) -> None:
    hosted = deployment("kimi-k3", "", engine="moonshot", dialect="kimi_k3")
    async with (
        fake_upstream(told("Sim.", stream=stream)) as up,
        house(tmp_path, [{**hosted, "base_url": up.url}]) as home,
    ):
        given = await post(home, asking("kimi-k3", temperature=0.2, seed=1, max_tokens=70, stream=stream))

        sent = json.loads(up.requests[0].body)
        assert "temperature" not in sent
        assert (sent["seed"], sent["max_completion_tokens"]) == (1, 70)
        assert given.headers["soleira-dropped-params"] == "temperature"


async def test_thoughts_and_calls_come_where_clients_look(tmp_path: Path, stream: bool) -> None:
    calls = [{"id": f"c{n}", "index": 0, "function": {"name": f"f{n}", "arguments": "{}"}} for n in (1, 2)]
    part = {"role": "assistant", "reasoning": "hm", "tool_calls": calls}
    choice = {"index": 0, "delta" if stream else "message": part, "finish_reason": "tool_calls"}
    said = completion(choices=[choice])
    script = streamed(said, DONE) if stream else answer(said)
    async with fake_upstream(script) as up, house(tmp_path, [deployment("gpt", up.url)]) as home:
        given = await post(home, asking("gpt", stream=stream))

        told_parts = (
            [c["delta"] for e in given.events for c in e["choices"]]
            if stream
            else [given.json["choices"][0]["message"]]
        )
        (heard,) = [found for found in told_parts if "tool_calls" in found]
        assert (heard["reasoning_content"], "reasoning" in heard) == ("hm", False)
        assert [call["index"] for call in heard["tool_calls"] if "index" in call] == [0, 1]
        assert [call["function"]["name"] for call in heard["tool_calls"]] == ["f1", "f2"]


async def test_another_models_answer_is_flagged_and_has_the_price_that_the_pack_says(
    tmp_path: Path, stream: bool
) -> None:
    price = {"currency": "USD", "per_million": {"input": 100, "output": 200}, "source": "t", "as_of": "2026-11-01"}
    replies = {"accept": ["gpt-turbo"], "price": price}
    async with fake_upstream(
        *(
            streamed(delta("Oi", model=name), finish(model=name, usage=USAGE), DONE)
            if stream
            else answer(completion(usage=USAGE, model=name), ending="keep")
            for name in ("gpt-2026-10-01", "gpt-turbo", "small-one")
        )
    ) as up:
        async with house(tmp_path, [deployment("gpt", up.url, aliases=["asked"], replies=replies)]) as home:
            rows: list[attempts.AttemptRow] = []
            for _ in range(3):
                given = await post(home, asking("asked", stream=stream))
                assert (b"small-one" in given.body) == (len(rows) == 2)
                rows += await attempts.of_decision(home.runtime.engine, given.headers["soleira-decision"])

            own_price = 7 * 3000 + 2 * 300 + 4 * 15000
            assert [(row.answered_model, row.cost_nano_usd) for row in rows] == [
                (None, own_price),
                (None, own_price),
                ("small-one", 9 * 100_000 + 4 * 200_000),
            ]


async def test_a_silent_upstream_is_waited_for_with_comments_and_may_still_be_replaced(tmp_path: Path) -> None:
    slow = Script((streamed(finish()).pieces[0],), pause=0.4, ending="close")  # a head, and then nothing
    async with fake_upstream(slow) as silent, fake_upstream(told("Dia 10.", stream=True)) as up:
        first, second = deployment("gpt", silent.url), deployment("spare", up.url, model="gpt")
        async with house(tmp_path, [first, second], rules={**RULES, "keep_alive": 0.05}) as home:
            given = await post(home, asking("gpt", stream=True))

            assert given.status == 200
            assert given.body.startswith(b": keep-alive\n\n")
            assert given.text == "Dia 10."
            assert given.body.rstrip().endswith(b"data: [DONE]")
            assert b"soleira-deployment=spare" in given.body


SEAL = "Rm9yZXZlciBhbmQgYSBkYXkg" * 40
"""As long as Anthropic's signatures are, and OpenAI's encrypted thoughts."""
SEALED: dict[str, tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {
    MESSAGES: (
        {**MESSAGE, "content": [{"type": "thinking", "thinking": "Hm.", "signature": SEAL}, *MESSAGE["content"]]},
        [
            {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": SEAL}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": MESSAGE["usage"]},
            {"type": "message_stop"},
        ],
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": SEAL}]},
    ),
    RESPONSES: (
        {**RESPONSE, "output": [{"type": "reasoning", "id": "r", "encrypted_content": SEAL}, *RESPONSE["output"]]},
        [
            {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "output": []}},
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": SEAL},
            },
            {"type": "response.completed", "response": RESPONSE},
        ],
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": SEAL},
    ),
}


@pytest.mark.parametrize("path", [MESSAGES, RESPONSES])
async def test_sealed_thoughts_go_back_to_where_they_came_from_and_made_up_ones_do_not(
    tmp_path: Path, path: str, stream: bool
) -> None:
    whole, events, item = SEALED[path]
    script = streamed(*(named(event) for event in events)) if stream else answer(whole, ending="keep")
    able = deployment("gpt", "", capabilities=[CAPABILITY[path], "reasoning"])
    async with fake_upstream(script) as up, house(tmp_path, [{**able, "base_url": up.url}]) as home:
        said = {"role": "user", "content": QUESTION}
        key = "messages" if path == MESSAGES else "input"
        again = request(path, stream=stream) | {key: [said, item, said]}

        before = await post(home, again, path=path)
        await post(home, request(path, stream=stream), path=path)
        after = await post(home, again, path=path)

        assert (before.status, after.status) == (403, 200)
        assert after.headers["soleira-label"] == "internal"
        assert SEAL.encode() in up.requests[-1].body
