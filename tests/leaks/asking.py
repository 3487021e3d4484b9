"""Asks any endpoint of a house, in the least words that it takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aiohttp

from tests.gateway.chat.conftest import Answer
from tests.gateway.house import ADMIN_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.gateway.house import House

EVERYTHING = (
    "chat", "tools", "parallel_tools", "vision", "audio", "video", "reasoning", "json_schema", "logprobs",
    "responses", "messages", "completions", "embeddings", "rerank",
)  # fmt: skip
CHAT_ONLY = tuple(name for name in EVERYTHING if name not in ("responses", "messages", "completions"))
"""What a deployment states that is asked for a chat wherever there is one."""

LEAST: Mapping[str, dict[str, Any]] = {
    "chat/completions": {"messages": [{"role": "user", "content": "oi"}]},
    "responses": {"input": "oi"},
    "messages": {"max_tokens": 9, "messages": [{"role": "user", "content": "oi"}]},
    "completions": {"prompt": "oi"},
    "embeddings": {"input": "oi"},
    "rerank": {"query": "oi", "documents": ["olá"]},
}
"""For each endpoint a request that says nothing."""


async def post(
    home: House, endpoint: str, model: str, extra: Mapping[str, Any] | None = None, *, label: str | None = None
) -> Answer:
    """Post the least request with some members more, or others."""
    return await send(home, endpoint, json.dumps({"model": model, **LEAST[endpoint], **(extra or {})}), label)


async def send(home: House, endpoint: str, body: str, label: str | None = None) -> Answer:
    """Post a body as it is."""
    headers = {"authorization": f"Bearer {ADMIN_KEY}", "content-type": "application/json"}
    if label is not None:
        headers["soleira-label"] = label
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{home.url}/v1/{endpoint}", data=body.encode(), headers=headers) as response,
    ):
        return Answer(response.status, response.headers, await response.read())
