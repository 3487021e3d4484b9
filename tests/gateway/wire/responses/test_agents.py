"""What agents offer reaches a deployment that has only a chat; calls come back as the official client has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

from tests.gateway.house import ADMIN_KEY, deployment, house
from tests.wire.provider import KEY, MODEL, provider

if TYPE_CHECKING:
    from pathlib import Path

    from openai.types.responses import Response

TOOLS: Any = [
    {
        "type": "namespace",
        "name": "crm",
        "description": "Customers.",
        "tools": [{"type": "function", "name": "find", "parameters": {"type": "object", "properties": {}}}],
    },
    {
        "type": "custom",
        "name": "patch",
        "description": "Edits files.",
        "format": {"type": "grammar", "syntax": "regex", "definition": ".+"},
    },
]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_agents_tools_are_called_and_answered_over_a_chat(tmp_path: Path, stream: bool) -> None:
    (tmp_path / "key").write_text(KEY)
    async with (
        provider() as (url, upstream),
        house(tmp_path / "house", [deployment(MODEL, f"{url}/v1", api_key={"file": str(tmp_path / "key")})]) as home,
        openai.AsyncOpenAI(
            base_url=f"{home.url}/v1", api_key=ADMIN_KEY, max_retries=0, _strict_response_validation=True
        ) as client,
    ):
        asked: list[Any] = [{"role": "user", "content": "Fix it."}]
        called, dropped = await _answer(client, asked, stream)
        calls = [item.model_dump(exclude_unset=True) for item in called.output]
        results = [
            {"type": f"{call['type']}_output", "call_id": call["call_id"], "output": f"{call['name']} is done"}
            for call in calls
        ]
        answered, _ = await _answer(client, [*asked, *calls, *results], stream)

    assert [(call["type"], call.get("namespace"), call["name"]) for call in calls] == [
        ("function_call", "crm", "find"),
        ("custom_tool_call", None, "patch"),
    ]
    assert calls[1]["input"] == "São Luís"
    assert dropped == "tools[1].format"
    assert answered.output_text == "The tools said: find is done; patch is done"
    assert [path for path, _ in upstream.requests] == ["/v1/chat/completions"] * 2
    assert [tool["function"]["name"] for tool in upstream.requests[0][1]["tools"]] == ["crm__find", "patch"]


async def _answer(client: openai.AsyncOpenAI, items: list[Any], stream: bool) -> tuple[Response, str | None]:
    if not stream:
        raw = await client.responses.with_raw_response.create(model=MODEL, input=items, tools=TOOLS)
        return raw.parse(), raw.headers.get("soleira-dropped-params")
    async with client.responses.with_streaming_response.create(
        model=MODEL, input=items, tools=TOOLS, stream=True
    ) as raw_stream:
        events = [event async for event in await raw_stream.parse()]
    last = events[-1]
    assert last.type == "response.completed"
    return last.response, raw_stream.headers.get("soleira-dropped-params")
