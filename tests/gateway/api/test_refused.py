"""What Soleira does not offer is refused by name, so that nobody looks for a typing error."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from tests.gateway.house import ADMIN_KEY, house


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("POST", "/v1/images/generations", "images"),
        ("POST", "/v1/audio/speech", "audio"),
        ("POST", "/v1/audio/transcriptions", "audio"),
        ("GET", "/v1/files", "files"),
        ("POST", "/v1/batches", "batches"),
        ("POST", "/v1/messages/batches", "batches"),
        ("POST", "/v1/moderations", "moderation"),
        ("GET", "/v1/responses/resp_1", "responses"),
        ("POST", "/v1/responses/resp_1/cancel", "responses"),
        ("DELETE", "/v1/chat/completions/chatcmpl-1", "chats"),
    ],
)
async def test_an_endpoint_that_is_not_there_is_named(tmp_path: Path, method: str, path: str, named: str) -> None:
    async with house(tmp_path) as home, aiohttp.ClientSession() as session:
        headers = {"authorization": f"Bearer {ADMIN_KEY}"}
        async with session.request(method, home.url + path, json={}, headers=headers) as response:
            answer = await response.json()

            assert response.status == 404
            assert named in answer["error"]["message"]
            if path.startswith("/v1/messages"):
                assert (answer["type"], answer["error"]["type"]) == ("error", "not_found_error")
            else:
                assert answer["error"]["code"] == "endpoint_not_offered"


async def test_an_endpoint_asked_by_the_wrong_method_is_no_unknown_one(tmp_path: Path) -> None:
    async with house(tmp_path) as home, aiohttp.ClientSession() as session:
        async with session.get(f"{home.url}/v1/responses") as response:
            assert response.status == 405
