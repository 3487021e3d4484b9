"""What would have a deployment reach out by itself is found, wherever it stands in a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.privacy.outreach import found_in
from tests.gateway.chat.conftest import asking, post
from tests.gateway.house import deployment, house
from tests.wire.upstream import answer, completion, fake_upstream

INLINE = "data:image/png;base64,iVBORw0KGgo="
REMOTE = "https://pictures.example/rent.png"


def picture(url: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


@pytest.mark.parametrize(
    ("tree", "place"),
    [
        ({"messages": [{"role": "user", "content": REMOTE}]}, None),
        ({"messages": [picture(INLINE)]}, None),
        ({"messages": [picture(REMOTE)]}, "messages[0]"),
        ({"messages": [picture(" HTTP://pictures.example")]}, "messages[0]"),
        ({"input": ["a", {"role": "user", "content": [{"type": "input_image", "image_url": REMOTE}]}]}, "input[1]"),
        ({"input": [{"output": [{"type": "input_file", "file_url": REMOTE}]}]}, "input[0]"),
        ({"messages": [{"content": [{"type": "image", "source": {"type": "url", "url": REMOTE}}]}]}, "messages[0]"),
        ({"messages": [{"role": "assistant", "annotations": [{"type": "url_citation", "url": REMOTE}]}]}, None),
        ({"tools": [{"type": "function", "function": {"name": "f"}}, {"name": "g", "input_schema": {}}]}, None),
        ({"tools": [{"type": "function"}, {"type": "web_search"}]}, "tools[1]"),
        ({"tools": [{"type": "mcp", "server_url": REMOTE}]}, "tools[0]"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0]"),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}, {"type": "custom", "name": "c"}]}, None),
        ({"mcp_servers": [{"url": REMOTE}]}, "mcp_servers"),
        ({"web_search_options": {"user_location": None}}, "web_search_options"),
    ],
)  # fmt: skip
def test_tools_that_a_deployment_runs_and_addresses_that_it_fetches(tree: dict[str, Any], place: str | None) -> None:
    assert found_in(tree) == place


@pytest.mark.parametrize("stream", [False, True])
async def test_a_private_request_has_no_deployment_fetch_anything(tmp_path: Path, stream: bool) -> None:
    near = deployment("near", "", zone="device", capabilities=["vision"])
    async with fake_upstream(answer(completion(), ending="keep")) as up:
        async with house(tmp_path, [{**near, "base_url": up.url}]) as home:
            refused = await post(home, {**asking("near", stream=stream), "messages": [picture(REMOTE)]})
            inline = await post(home, {**asking("near"), "messages": [picture(INLINE)]})

            assert (refused.status, refused.code) == (403, "label_exceeds_clearance")
            assert REMOTE.encode() not in refused.body
            assert inline.status == 200
            assert len(up.requests) == 1
