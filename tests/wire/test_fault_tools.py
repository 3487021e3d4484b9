"""Tool calls and thoughts as upstreams really write them, and as clients of each endpoint must get them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.wire.endpoints import CHAT, COMPLETIONS, MESSAGES, RESPONSES, TRANSLATED, Endpoint, Said, chat_chunk
from tests.wire.frames import DONE, Framing, streamed
from tests.wire.upstream import answer
from tests.wire.wall import wall

if TYPE_CHECKING:
    from pathlib import Path

    from tests.wire.endpoints import Given, Json
    from tests.wire.upstream import Script
    from tests.wire.wall import Wall

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALLING = (CHAT, RESPONSES, MESSAGES)
"""The endpoints whose answers hold calls, asked of an upstream that speaks chat."""
USAGE = (10, 0, 20, 0)
BOTH = (("clima", '{"cidade": "Paris"}'), ("hora", '{"cidade": "Lima"}'))


def chunks(*deltas: Json, finish: str = "tool_calls") -> Script:
    said = [chat_chunk(delta) for delta in deltas]
    usage = {"prompt_tokens": 10, "completion_tokens": 20}
    end = [chat_chunk({}, finish), {**chat_chunk({}), "choices": [], "usage": usage}]
    return streamed(Framing().write([chat_chunk({"role": "assistant", "content": ""}), *said, *end, DONE]))


def message(finish: str = "tool_calls", **members: Any) -> Script:
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **members}, "finish_reason": finish}
    usage = {"prompt_tokens": 10, "completion_tokens": 20}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return answer({**head, "choices": [choice], "usage": usage})


def call(name: str | None, arguments: Any, **more: Any) -> Json:
    """A call or a fragment of one; `index` and `id` only where they are given."""
    function = {} if name is None else {"name": name}
    return {"type": "function", "function": {**function, "arguments": arguments}, **more}


def apart(**first: Any) -> list[Json]:
    """Both calls, each whole in a chunk of its own."""
    second = {name: value for name, value in first.items() if name != "id"}
    named = ({"id": "a"}, {"id": "b"}) if "id" in first else ({}, {})
    pairs = zip(BOTH, (first, second), named, strict=True)
    return [{"tool_calls": [call(*said, **{**more, **name})]} for said, more, name in pairs]


STREAMED_CALLS: dict[str, list[Json]] = {
    "all with index 0": apart(index=0, id="a"),
    "without index": apart(id="a"),
    "without index or id": apart(),
    "index 0 without ids": apart(index=0),
    "both in one chunk, index 0": [
        {"tool_calls": [call(*BOTH[0], index=0, id="a"), call(*BOTH[1], index=0, id="b")]},
    ],
    "in fragments": [
        {"tool_calls": [call("clima", "", index=0, id="a")]},
        {"tool_calls": [call(None, '{"cidade":', index=0)]},
        {"tool_calls": [call(None, ' "Paris"}', index=0)]},
        {"tool_calls": [call("hora", "", index=1, id="b")]},
        {"tool_calls": [call(None, '{"cidade": "Lima"}', index=1)]},
    ],
    "interleaved": [
        {"tool_calls": [call("clima", "", index=0, id="a"), call("hora", "", index=1, id="b")]},
        {"tool_calls": [call(None, '{"cidade":', index=0), call(None, '{"cidade":', index=1)]},
        {"tool_calls": [call(None, ' "Lima"}', index=1)]},
        {"tool_calls": [call(None, ' "Paris"}', index=0)]},
    ],
    "name and id with every fragment": [
        {"tool_calls": [call("clima", '{"cidade":', index=0, id="a")]},
        {"tool_calls": [call("clima", ' "Paris"}', index=0, id="a")]},
        {"tool_calls": [call("hora", '{"cidade": "Lima"}', index=1, id="b")]},
    ],
    "indices from 1": [
        {"tool_calls": [call(*BOTH[0], index=1, id="a")]},
        {"tool_calls": [call(*BOTH[1], index=2, id="b")]},
    ],
    "arguments as objects": [
        {"tool_calls": [call("clima", {"cidade": "Paris"}, index=0, id="a")]},
        {"tool_calls": [call("hora", {"cidade": "Lima"}, index=1, id="b")]},
    ],
}


@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
@pytest.mark.parametrize("deltas", STREAMED_CALLS.values(), ids=STREAMED_CALLS.keys())
@pytest.mark.parametrize("calling", CALLING, ids=lambda endpoint: endpoint.name)
async def test_two_streamed_calls_arrive_as_two(
    standing: Wall, calling: Endpoint, deltas: list[Json], finish: str
) -> None:
    got = await standing.ask(calling, calling.calling(stream=True), chunks(*deltas, finish=finish))

    heard = calling.read(got)
    assert [name for name, _ in heard.calls] == ["clima", "hora"]
    assert [json.loads(arguments) for _, arguments in heard.calls] == [{"cidade": "Paris"}, {"cidade": "Lima"}]
    assert (heard.ending, heard.usage) == ("tool_calls", USAGE)
    assert len(set(_ids(got))) == 2


WHOLE_CALLS: dict[str, list[Json]] = {
    "in order": [call(*BOTH[0], id="a"), call(*BOTH[1], id="b")],
    "all with index 0": [call(*BOTH[0], index=0, id="a"), call(*BOTH[1], index=0, id="b")],
    "without ids": [call(*BOTH[0]), call(*BOTH[1])],
    "without types": [{"id": "a", "function": {"name": "clima", "arguments": BOTH[0][1]}}, call(*BOTH[1], id="b")],
    "arguments as objects": [call("clima", {"cidade": "Paris"}, id="a"), call("hora", {"cidade": "Lima"}, id="b")],
}


@pytest.mark.parametrize("calls", WHOLE_CALLS.values(), ids=WHOLE_CALLS.keys())
@pytest.mark.parametrize("calling", CALLING, ids=lambda endpoint: endpoint.name)
async def test_two_whole_calls_arrive_as_two(standing: Wall, calling: Endpoint, calls: list[Json]) -> None:
    got = await standing.ask(calling, calling.calling(stream=False), message(tool_calls=calls))

    heard = calling.read(got)
    assert [(name, json.loads(arguments)) for name, arguments in heard.calls] == [
        ("clima", {"cidade": "Paris"}),
        ("hora", {"cidade": "Lima"}),
    ]
    assert heard.ending == "tool_calls"
    assert len(set(_ids(got))) == 2


def _ids(got: Given) -> list[str]:
    """The ids of the calls, wherever the endpoint has them."""
    found: list[str] = []

    def look(value: object) -> None:
        if isinstance(value, list):
            for item in value:
                look(item)
        elif isinstance(value, dict):
            if value.get("type") == "function_call":
                found.append(value["call_id"])
            elif value.get("type") in ("function", "tool_use") and value.get("id"):
                found.append(value["id"])
            for item in value.values():
                look(item)

    for line in got.body.decode().split("\n"):
        text = line.removeprefix("data: ")
        if text.startswith("{"):
            look(json.loads(text))
    return found


BROKEN = {
    "cut": ('{"cidade": "Par', '{"cidade": "Par'),
    "empty": ("", ""),
    "null": (None, ""),
    "an object": ({"cidade": "Paris"}, '{"cidade":"Paris"}'),
    "no JSON": ("cidade = Paris", "cidade = Paris"),
    "a list": ('["Paris"]', '["Paris"]'),
}


@pytest.mark.parametrize(("arguments", "shown"), BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("calling", [CHAT, RESPONSES], ids=lambda endpoint: endpoint.name)
async def test_broken_arguments_are_neither_mended_nor_lost(
    standing: Wall, calling: Endpoint, stream: bool, arguments: Any, shown: str
) -> None:
    broken = call("clima", arguments, index=0, id="a")
    script = chunks({"tool_calls": [broken]}, finish="length") if stream else message("length", tool_calls=[broken])
    got = await standing.ask(calling, calling.calling(stream=stream), script)

    heard = calling.read(got)
    assert (got.status, heard.calls, heard.ending) == (200, (("clima", shown),), "length")
    assert len(standing.upstream.requests) == 1


@pytest.mark.parametrize(("arguments", "shown"), BROKEN.values(), ids=BROKEN.keys())
async def test_broken_arguments_come_back_from_messages_as_the_model_wrote_them(
    standing: Wall, arguments: Any, shown: str
) -> None:
    """A message has no place for text in a call's input; what is put there instead goes back as it was."""
    broken = call("clima", arguments, index=0, id="a")
    got = await standing.ask(MESSAGES, MESSAGES.calling(stream=False), message("length", tool_calls=[broken]))
    use = got.json["content"][0]
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": "?", "is_error": True}
    turns: list[tuple[str, Any]] = [("user", "Como está o tempo?"), ("assistant", [use]), ("user", [result])]
    messages = [{"role": role, "content": content} for role, content in turns]
    good = answer(MESSAGES.whole(Said("Ok", usage=USAGE)))
    again = await standing.ask(MESSAGES, MESSAGES.calling(stream=False) | {"messages": messages}, good)

    assert (got.json["stop_reason"], again.status) == ("max_tokens", 200)
    sent = json.loads(standing.upstream.requests[0].body)["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert sent == shown or json.loads(sent) == json.loads(shown or "{}")


@pytest.mark.parametrize(("arguments", "shown"), BROKEN.values(), ids=BROKEN.keys())
async def test_broken_arguments_stream_through_messages_as_they_are(standing: Wall, arguments: Any, shown: str) -> None:
    broken = call("clima", arguments, index=0, id="a")
    script = chunks({"tool_calls": [broken]}, finish="length")
    heard = MESSAGES.read(await standing.ask(MESSAGES, MESSAGES.calling(stream=True), script))

    assert (heard.calls, heard.ending) == ((("clima", shown),), "length")


@pytest.mark.parametrize("arguments", ['{"cidade": "Par', "", "cidade = Paris"])
@pytest.mark.parametrize("calling", [CHAT, RESPONSES], ids=lambda endpoint: endpoint.name)
async def test_a_history_with_broken_arguments_goes_on(
    standing: Wall, calling: Endpoint, stream: bool, arguments: str
) -> None:
    asked = calling.calling(stream=stream) | history(calling, arguments)
    good = Said("Sol.", "", (), USAGE)
    script = streamed(Framing().write([*calling.events(good), DONE])) if stream else answer(calling.whole(good))
    got = await standing.ask(calling, asked, script)

    sent = json.loads(standing.upstream.requests[0].body)["messages"]
    assert calling.read(got).said == good
    assert [one["tool_calls"][0]["function"]["arguments"] for one in sent if one.get("tool_calls")] == [arguments]


def history(endpoint: Endpoint, arguments: str, thoughts: str = "") -> Json:
    """A turn with a call, its result, and what the model thought before it."""
    if endpoint is RESPONSES:
        thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": thoughts}]}
        called = {"type": "function_call", "call_id": "a", "name": "clima", "arguments": arguments}
        result = {"type": "function_call_output", "call_id": "a", "output": "sol"}
        return {"input": [{"role": "user", "content": "Tempo?"}, *([thought] if thoughts else []), called, result]}
    if endpoint is MESSAGES:
        thinking = [{"type": "thinking", "thinking": thoughts, "signature": "c29sZWlyYQ=="}] if thoughts else []
        use = {"type": "tool_use", "id": "a", "name": "clima", "input": json.loads(arguments)}
        result = {"type": "tool_result", "tool_use_id": "a", "content": "sol"}
        turns = [("user", "Tempo?"), ("assistant", [*thinking, use]), ("user", [result])]
        return {"messages": [{"role": role, "content": content} for role, content in turns]}
    thought = {"reasoning_content": thoughts} if thoughts else {}
    calls = [{"id": "a", "type": "function", "function": {"name": "clima", "arguments": arguments}}]
    turn = {"role": "assistant", "content": None, **thought, "tool_calls": calls}
    return {
        "messages": [
            {"role": "user", "content": "Tempo?"},
            turn,
            {"role": "tool", "tool_call_id": "a", "content": "sol"},
        ]
    }


THOUGHTS: dict[str, Json] = {
    "reasoning_content": {"reasoning_content": "penso, "},
    "reasoning": {"reasoning": "penso, "},
    "both": {"reasoning": "penso, ", "reasoning_content": "penso, "},
    "details alone": {"reasoning_details": [{"type": "reasoning.text", "text": "penso, "}]},
    "reasoning and details": {
        "reasoning": "penso, ",
        "reasoning_details": [{"type": "reasoning.text", "text": "penso, "}],
    },
    "all three": {
        "reasoning_content": "penso, ",
        "reasoning": "penso, ",
        "reasoning_details": [{"type": "reasoning.text", "text": "penso, "}],
    },
}


@pytest.mark.parametrize("thought", THOUGHTS.values(), ids=THOUGHTS.keys())
@pytest.mark.parametrize("translated", TRANSLATED, ids=lambda endpoint: endpoint.name)
async def test_thoughts_come_once_and_never_as_text(
    standing: Wall, translated: Endpoint, stream: bool, thought: Json
) -> None:
    if stream:
        script = chunks(thought, thought, {"content": "Sol."}, finish="stop")
    else:
        script = message("stop", content="Sol.", **thought)
    got = await standing.ask(translated, translated.asking(stream=stream), script)

    assert translated.read(got).said == Said("Sol.", "penso, " * (1 + stream), (), USAGE)


@pytest.mark.parametrize("calling", CALLING, ids=lambda endpoint: endpoint.name)
async def test_thoughts_go_back_with_the_calls_they_led_to(standing: Wall, calling: Endpoint, stream: bool) -> None:
    """A thinking model refuses calls of its own that come back without what it thought."""
    asked = calling.calling(stream=stream) | history(calling, '{"cidade": "Paris"}', "Paris 👋, então clima")
    good = Said("Sol.", "", (), USAGE)
    script = streamed(Framing().write([*calling.events(good), DONE])) if stream else answer(calling.whole(good))
    got = await standing.ask(calling, asked, script)

    sent = json.loads(standing.upstream.requests[0].body)["messages"]
    (turn,) = [one for one in sent if one.get("tool_calls")]
    assert got.status == 200
    assert turn["reasoning_content"] == "Paris 👋, então clima"
    assert json.loads(turn["tool_calls"][0]["function"]["arguments"]) == {"cidade": "Paris"}


@pytest.mark.parametrize("calling", CALLING, ids=lambda endpoint: endpoint.name)
async def test_a_refusal_of_calls_without_thoughts_is_told_and_not_repeated(
    standing: Wall, calling: Endpoint, stream: bool
) -> None:
    refusal = {"error": {"message": "thinking is enabled but reasoning_content is missing in message 1", "type": "x"}}
    asked = calling.calling(stream=stream) | history(calling, '{"cidade": "Paris"}')
    got = await standing.ask(calling, asked, answer(refusal, status=400))

    assert (got.status, len(standing.upstream.requests)) == (400, 1)
    assert "reasoning_content" in got.json["error"]["message"]
    (turn,) = [one for one in json.loads(standing.upstream.requests[0].body)["messages"] if one.get("tool_calls")]
    assert "reasoning_content" not in turn


async def test_a_deployment_that_does_not_think_gets_no_thoughts(tmp_path: Path, stream: bool) -> None:
    async with wall(tmp_path, reasoning_history="drop") as standing:
        for calling in CALLING:
            asked = calling.calling(stream=stream) | history(calling, '{"cidade": "Paris"}', "penso")
            good = Said("Sol.", "", (), USAGE)
            script = streamed(Framing().write([*calling.events(good), DONE])) if stream else answer(calling.whole(good))
            got = await standing.ask(calling, asked, script)

            assert b"penso" not in standing.upstream.requests[0].body
            assert got.headers["soleira-dropped-params"] == "messages.reasoning_content"


async def test_what_a_completion_thinks_stands_beside_its_text(standing: Wall) -> None:
    got = await standing.ask(COMPLETIONS, COMPLETIONS.asking(stream=False), message("stop", content="a", reasoning="b"))

    assert (got.json["choices"][0]["text"], got.json["choices"][0]["reasoning_content"]) == ("a", "b")
