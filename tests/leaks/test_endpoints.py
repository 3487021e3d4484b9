"""What is private leaves by no endpoint: asked natively or translated, in whatever member it stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.house import RULES, deployment, house, passage
from tests.leaks.asking import CHAT_ONLY, EVERYTHING, LEAST, post, send
from tests.wire.sink import recording_sink
from tests.wire.upstream import answer, completion, fake_upstream, stream

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.wire.upstream import Script

CPF = "O CPF da Ana é 529.982.247-25."
HALVES = "CPF 529.982.", "247-25"
PICTURE = "iVBORw0KGgo="
MAIL = "\r\n".join(["JVBERi0xLjQKJcOkw7zDtsOfCjIgMCBvYmoKPDwvTGVuZ3RoIDMgMCBSL0ZpbHRlci9GbGF0ZURl"] * 6)
"""A PDF as a mail carries it."""

Cases = list[tuple[str, dict[str, Any]]]


def halves(kind: str) -> list[dict[str, Any]]:
    return [{"type": kind, "text": half} for half in HALVES]


def item(**members: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": "oi"}, members]}


def said(kind: str, **members: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": [{"type": kind, **members}]}]}


def block(**members: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [members]}]}


def answered(*blocks: dict[str, Any]) -> dict[str, Any]:
    before, after = {"role": "user", "content": "oi"}, {"role": "user", "content": "e?"}
    return {"messages": [before, {"role": "assistant", "content": list(blocks)}, after]}


def source(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, **members}


RESPONSES: Cases = [
    ("instructions", {"instructions": CPF}),
    ("input", {"input": CPF}),
    ("a part", said("input_text", text=CPF)),
    ("two parts", {"input": [{"role": "user", "content": halves("input_text")}]}),
    ("a call's arguments", item(type="function_call", call_id="c", name="f", arguments=json.dumps({"a": CPF}))),
    ("a call's output", item(type="function_call_output", call_id="c", output=CPF)),
    ("a call's output in parts", item(type="function_call_output", call_id="c", output=halves("input_text"))),
    ("another tool's output", item(type="custom_tool_call_output", call_id="c", output=CPF)),
    ("the same in parts", item(type="custom_tool_call_output", call_id="c", output=halves("input_text"))),
    ("a remote tool's output", item(type="mcp_call", id="m", name="x", server_label="s", arguments="{}", output=CPF)),
    ("thoughts", item(type="reasoning", id="r", summary=[], content=[{"type": "reasoning_text", "text": CPF}])),
    ("a summary of thoughts", item(type="reasoning", id="r", summary=halves("summary_text"))),
    ("a picture that was made", item(type="image_generation_call", id="i", status="completed", result=PICTURE)),
    ("a screen", item(type="computer_call_output", call_id="c", output=source("computer_screenshot", file_id="f"))),
    (
        "what code drew",
        item(type="code_interpreter_call", id="c", code="1", outputs=[source("image", url="https://x")]),
    ),
    ("a sealed conversation", item(type="compaction", id="c", encrypted_content="gAAAA")),
    ("an unknown item", item(type="hologram", data=PICTURE)),
    ("a picture", said("input_image", image_url=f"data:image/png;base64,{PICTURE}")),
    ("a picture elsewhere", said("input_image", image_url="https://x.example/a.png")),
    ("a file", said("input_file", filename="a.pdf", file_data="AA")),
    ("a file elsewhere", said("input_file", file_id="file-1")),
    ("an unknown part", said("hologram", data="AA")),
    ("a mail with a file", item(type="function_call_output", call_id="c", output=MAIL)),
    ("metadata", {"metadata": {"note": CPF}}),
    ("a tool", {"tools": [{"type": "function", "name": "f", "description": CPF, "parameters": {}}]}),
    ("a tool elsewhere", {"tools": [source("mcp", server_label="x", server_url="https://x/?c=529.982.247-25")]}),
    ("a schema", {"text": {"format": source("json_schema", name="x", schema={"description": CPF})}}),
    ("an unknown member", {"x": {"y": [CPF]}}),
]
MESSAGES: Cases = [
    ("system", {"system": CPF}),
    ("system blocks", {"system": halves("text")}),
    ("two blocks", {"messages": [{"role": "user", "content": halves("text")}]}),
    ("a result", block(type="tool_result", tool_use_id="t", content=CPF)),
    ("a result in blocks", block(type="tool_result", tool_use_id="t", content=halves("text"))),
    (
        "a picture in a result",
        block(
            type="tool_result",
            tool_use_id="t",
            content=[{"type": "image", "source": source("base64", media_type="image/png", data="AA")}],
        ),
    ),
    ("a picture", block(type="image", source=source("base64", media_type="image/png", data="AA"))),
    ("a picture elsewhere", block(type="image", source=source("url", url="https://x.example/a.png"))),
    ("a document", block(type="document", source=source("text", media_type="text/plain", data=CPF))),
    ("a document's title", block(type="document", title=CPF, source=source("text", data="x"))),
    ("a document in blocks", block(type="document", source=source("content", content=halves("text")))),
    ("a PDF", block(type="document", source=source("base64", media_type="application/pdf", data="AA"))),
    ("a file", block(type="document", source=source("file", file_id="f"))),
    ("an upload", block(type="container_upload", file_id="f")),
    ("an unknown block", block(type="hologram", data="AA")),
    ("a citation", answered({"type": "text", "text": "x", "citations": [{"document_title": CPF}]})),
    ("thoughts", answered({"type": "thinking", "thinking": CPF, "signature": "s"}, {"type": "text", "text": "x"})),
    ("sealed thoughts", answered({"type": "redacted_thinking", "data": "AA"}, {"type": "text", "text": "x"})),
    ("a call", answered({"type": "tool_use", "id": "t", "name": "f", "input": {"a": {"b": CPF}}})),
    ("a key of a call", answered({"type": "tool_use", "id": "t", "name": "f", "input": {CPF: 1}})),
    ("the user's name", {"metadata": {"user_id": CPF}}),
    ("servers", {"mcp_servers": [source("url", name="x", url="https://x/?c=529.982.247-25")]}),
    ("a container", {"container": CPF}),
    ("a tool", {"tools": [{"name": "f", "input_schema": {"type": "object", "description": CPF}}]}),
    (
        "a tool's examples",
        {"tools": [{"name": "f", "input_schema": {"type": "object"}, "input_examples": [{"x": CPF}]}]},
    ),
    ("where to stop", {"stop_sequences": [CPF]}),
    ("an unknown member", {"x": {"y": CPF}}),
]
COMPLETIONS: Cases = [
    ("a prompt", {"prompt": CPF}),
    ("several prompts", {"prompt": ["oi", CPF]}),
    ("a suffix", {"suffix": CPF}),
    ("token ids", {"prompt": [1, 2]}),
    ("several lists of token ids", {"prompt": [[1, 2], [3]]}),
    ("texts and token ids", {"prompt": ["oi", [1]]}),
    ("vectors", {"prompt_embeds": "AAAA"}),
    ("messages beside it", {"messages": [{"role": "user", "content": CPF}]}),
    ("where to stop", {"stop": [CPF]}),
]
EMBEDDINGS: Cases = [
    ("a text", {"input": CPF}),
    ("several texts", {"input": ["oi", CPF]}),
    ("token ids", {"input": [1, 2]}),
    ("several lists of token ids", {"input": [[1]]}),
    ("an instruction", {"instruction": CPF}),
    ("pictures", {"inputs": [{"content": [{"type": "image_url", "image_url": "https://x.example/a.png"}]}]}),
    ("a user", {"user": CPF}),
]
RERANK: Cases = [
    ("a query", {"query": CPF}),
    ("a document", {"documents": ["oi", CPF]}),
    ("a document's text", {"documents": [{"text": CPF}]}),
    ("what stands beside it", {"documents": [{"text": "a", "note": CPF}]}),
    ("an instruction", {"instruction": CPF}),
]
CASES = {
    "responses": RESPONSES,
    "messages": MESSAGES,
    "completions": COMPLETIONS,
    "embeddings": EMBEDDINGS,
    "rerank": RERANK,
}
STREAMED = {"responses", "messages", "completions"}


@pytest.mark.parametrize("endpoint", CASES)
@pytest.mark.parametrize("capabilities", [EVERYTHING, CHAT_ONLY], ids=["native", "translated"])
async def test_what_is_private_leaves_by_no_member_of_an_endpoint(
    tmp_path: Path, endpoint: str, capabilities: tuple[str, ...]
) -> None:
    async with recording_sink() as hosted:
        far = deployment("far", hosted.url, capabilities=list(capabilities))
        async with house(tmp_path, [far]) as home:
            for name, extra in CASES[endpoint]:
                for streams in ({}, {"stream": True}) if endpoint in STREAMED else ({},):
                    refused = await post(home, endpoint, "far", {**extra, **streams})

                    assert (refused.status, refused.headers["soleira-label"]) == (403, "private"), name
                    assert CPF[12:] not in refused.body.decode(), name

        assert hosted.connections == 0


@pytest.mark.parametrize("endpoint", CASES)
async def test_a_request_that_says_nothing_private_does_leave(tmp_path: Path, endpoint: str) -> None:
    async with fake_upstream(answer({}, status=400)) as hosted:
        async with house(tmp_path, [deployment("far", hosted.url, capabilities=list(EVERYTHING))]) as home:
            await post(home, endpoint, "far")

        assert [request.path for request in hosted.requests] == [f"/v1/{endpoint}"]


RENT = "O aluguel é de R$ 2.450,00 por mês e vence no dia oito, com multa de dez por cento em caso de atraso."
BEGUN = {"type": "message", "id": "m", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
NATIVE: Mapping[str, dict[str, Any]] = {
    "messages": {**BEGUN, "content": [{"type": "text", "text": RENT}]},
    "messages ": {**BEGUN, "content": [{"type": "mcp_tool_result", "content": [{"type": "text", "text": RENT}]}]},
    "messages  ": {**BEGUN, "content": [{"type": "thinking", "thinking": "", "signature": RENT}]},
    "responses": {"output": [{"type": "message", "content": [{"type": "output_text", "text": RENT}]}]},
    "responses ": {"output": [{"type": "mcp_call", "output": RENT}]},
    "responses  ": {"output": [{"type": "custom_tool_call", "input": RENT}]},
    "responses   ": {"output": [{"type": "reasoning", "summary": [], "encrypted_content": RENT}]},
    "completions": {"choices": [{"index": 0, "text": RENT, "finish_reason": "stop"}]},
}
"""Answers of a deployment's own endpoints, with what they say in one place or another."""
AGAIN: list[tuple[str, dict[str, Any]]] = [
    ("chat/completions", {"messages": [{"role": "user", "content": f"Resuma: {RENT}"}]}),
    ("chat/completions", {"prediction": {"type": "content", "content": RENT}}),
    ("responses", {"input": RENT}),
    ("responses", {"instructions": RENT}),
    ("responses", item(type="function_call_output", call_id="c", output=RENT)),
    ("responses", item(type="custom_tool_call_output", call_id="c", output=RENT)),
    ("responses", item(type="mcp_call", id="m", name="x", server_label="s", arguments="{}", output=RENT)),
    ("responses", item(type="reasoning", id="r", summary=[], encrypted_content=RENT)),
    ("responses", {"metadata": {"note": RENT}}),
    ("messages", {"system": RENT}),
    ("messages", block(type="tool_result", tool_use_id="t", content=RENT)),
    ("messages", answered({"type": "thinking", "thinking": "x", "signature": RENT}, {"type": "text", "text": "x"})),
    ("completions", {"prompt": ["oi", RENT]}),
    ("completions", {"suffix": RENT}),
    ("embeddings", {"input": ["oi", RENT]}),
    ("embeddings", {"instruction": RENT}),
    ("rerank", {"documents": ["oi", RENT]}),
    ("rerank", {"query": RENT}),
]
"""Where what was said in private may come up again."""


async def test_a_private_answer_is_known_again_at_every_endpoint(tmp_path: Path) -> None:
    async with fake_upstream(answer(completion(RENT))) as near, recording_sink() as hosted:
        pair = [
            deployment("near", near.url, zone="device"),
            deployment("far", hosted.url, capabilities=list(EVERYTHING)),
        ]
        async with house(tmp_path, pair) as home:
            given = await post(home, "messages", "near", label="private")
            assert (given.status, RENT in given.json["content"][0]["text"]) == (200, True)

            for endpoint, extra in AGAIN:
                refused = await post(home, endpoint, "far", extra)
                assert (refused.status, refused.headers["soleira-label"]) == (403, "private"), (endpoint, extra)

        assert hosted.connections == 0


@pytest.mark.parametrize("kind", NATIVE)
async def test_what_an_own_endpoint_said_in_private_is_known_again(tmp_path: Path, kind: str) -> None:
    endpoint = kind.strip()
    async with fake_upstream(answer(NATIVE[kind])) as near, recording_sink() as hosted:
        pair = [
            deployment("near", near.url, zone="device", capabilities=list(EVERYTHING)),
            deployment("far", hosted.url, capabilities=list(EVERYTHING)),
        ]
        async with house(tmp_path, pair) as home:
            given = await post(home, endpoint, "near", label="private")
            refused = await post(home, "responses", "far", {"input": RENT})

        assert (given.status, near.requests[0].path) == (200, f"/v1/{endpoint}")
        assert (refused.status, refused.headers["soleira-label"]) == (403, "private")
        assert hosted.connections == 0


STREAMS: Mapping[str, Script] = {
    "messages": stream(
        {"type": "message_start", "message": {**BEGUN, "content": [], "stop_reason": None}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "web_search_tool_result", "content": RENT},
        },
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ),
    "responses": stream(
        {"type": "response.created", "response": {"output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "mcp_call", "output": RENT}},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ),
}


@pytest.mark.parametrize("endpoint", STREAMS)
async def test_what_an_own_endpoint_streamed_in_private_is_known_again(tmp_path: Path, endpoint: str) -> None:
    async with fake_upstream(STREAMS[endpoint]) as near, recording_sink() as hosted:
        pair = [
            deployment("near", near.url, zone="device", capabilities=list(EVERYTHING)),
            deployment("far", hosted.url, capabilities=list(EVERYTHING)),
        ]
        async with house(tmp_path, pair) as home:
            given = await post(home, endpoint, "near", {"stream": True}, label="private")
            refused = await post(home, "embeddings", "far", {"input": RENT})

        assert RENT.encode() in given.body
        assert (refused.status, refused.headers["soleira-label"]) == (403, "private")
        assert hosted.connections == 0


async def test_what_was_labelled_by_hand_keeps_it_where_only_an_own_endpoint_reads_it(tmp_path: Path) -> None:
    async with recording_sink() as hosted:
        async with house(tmp_path, [deployment("far", hosted.url, capabilities=list(EVERYTHING))]) as home:
            told = item(type="mcp_call", id="m", name="x", server_label="s", arguments="{}", output=RENT)
            await post(home, "responses", "far", told, label="private")

            refused = await post(home, "responses", "far", told)

            assert (refused.status, refused.headers["soleira-label"]) == (403, "private")
        assert hosted.connections == 0


@pytest.mark.parametrize("endpoint", ["chat/completions", "responses", "messages", "completions"])
async def test_passages_of_a_collection_leave_by_no_endpoint(tmp_path: Path, endpoint: str) -> None:
    async with recording_sink() as hosted:
        far = deployment("far", hosted.url, capabilities=list(EVERYTHING))
        async with house(tmp_path, [far], passages=[passage(RENT)]) as home:
            for streams in ({}, {"stream": True}):
                refused = await post(home, endpoint, "far@papers", streams)
                told = await post(home, endpoint, "auto@papers", streams)

                assert (refused.status, refused.headers["soleira-label"]) == (403, "private")
                assert (told.status, told.headers["soleira-zone"]) == (200, "device")
                assert b"aluguel" in told.body

        assert hosted.connections == 0


@pytest.mark.parametrize("endpoint", ["embeddings", "rerank"])
async def test_what_searches_no_collection_says_so(tmp_path: Path, endpoint: str) -> None:
    async with recording_sink() as hosted:
        async with house(tmp_path, [deployment("far", hosted.url)], passages=[passage(RENT)]) as home:
            refused = await post(home, endpoint, "far@papers")

            assert (refused.status, refused.json["error"]["param"]) == (400, "model")
            assert home.retriever.scopes == []
        assert hosted.connections == 0


NATIVE_ONLY = {
    "responses": item(type="mcp_call", id="m", name="x", server_label="s", arguments="{}", output="oi"),
    "completions": {"suffix": "oi"},
    "messages": answered({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
}


@pytest.mark.parametrize("endpoint", NATIVE_ONLY)
async def test_with_passages_nothing_that_a_chat_cannot_carry_is_left_out_in_silence(
    tmp_path: Path, endpoint: str
) -> None:
    async with fake_upstream(answer(completion())) as near:
        own = deployment("near", near.url, zone="device", capabilities=list(EVERYTHING))
        async with house(tmp_path, [own], passages=[passage(RENT)]) as home:
            refused = await post(home, endpoint, "near@papers", NATIVE_ONLY[endpoint])

        assert refused.status == 400
        assert near.connections == 0


@pytest.mark.parametrize("endpoint", LEAST)
async def test_a_fallback_at_any_endpoint_stays_where_the_label_may_go(tmp_path: Path, endpoint: str) -> None:
    broken = answer({"error": {"message": "x"}}, status=503)
    async with fake_upstream(broken) as near, recording_sink() as hosted:
        both = {"model": "both", "capabilities": list(EVERYTHING)}
        pair = [deployment("near", near.url, zone="device", **both), deployment("far", hosted.url, **both)]
        async with house(tmp_path, pair) as home:
            failed = await post(home, endpoint, "both", label="private")

        assert failed.status >= 500
        assert near.requests
        assert hosted.connections == 0


async def test_an_unfit_call_is_asked_for_again_only_where_the_label_may_go(tmp_path: Path) -> None:
    function = {"name": "f", "arguments": "{"}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    unfit = {**completion(), "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    tools = {"tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}]}
    async with fake_upstream(answer(unfit), answer({}, status=503)) as near, recording_sink() as hosted:
        checked = {"model": "both", "check_tool_arguments": True}
        pair = [deployment("near", near.url, zone="device", **checked), deployment("far", hosted.url, **checked)]
        async with house(tmp_path, pair) as home:
            await post(home, "responses", "both", tools, label="private")

        assert len(near.requests) > 1
        assert hosted.connections == 0


@pytest.mark.parametrize("endpoint", LEAST)
async def test_what_readers_differ_on_is_refused(tmp_path: Path, endpoint: str) -> None:
    body = json.dumps({"model": "far", **LEAST[endpoint], "x": 0})
    odd = ("1e999", "-1e999", "NaN", "Infinity", '{"a": 1, "A": 2}', '"\\ud800"', "[" * 70 + "]" * 70, "1" * 5000)
    async with recording_sink() as hosted:
        async with house(tmp_path, [deployment("far", hosted.url)]) as home:
            refused = [await send(home, endpoint, body.replace('"x": 0', f'"x": {value}')) for value in odd]

        assert [given.status for given in refused] == [400] * len(odd)
        assert hosted.connections == 0


async def test_no_endpoint_answers_below_the_rule_that_binds_it(tmp_path: Path) -> None:
    rules = {**RULES, "rules": [{"name": "all stays", "route": {"zones": ["device"]}}]}
    async with recording_sink() as hosted:
        far = deployment("far", hosted.url, capabilities=list(EVERYTHING))
        async with house(tmp_path, [far], rules=rules) as home:
            codes = {endpoint: (await post(home, endpoint, "far")).status for endpoint in LEAST}

        assert set(codes.values()) == {403}
        assert hosted.connections == 0
