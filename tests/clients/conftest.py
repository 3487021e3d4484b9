"""Where the official clients are pointed: at a provider itself, and at a gateway in front of it."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from tests.gateway.house import ADMIN_KEY, deployment, house
from tests.wire.provider import EMBEDDER, KEY, MODEL, Provider, provider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from tests.gateway.house import House

NATIVE = "native"
"""The provider's model under a name of the gateway's own, asked at the endpoint that the client asks."""
STATUSES = (400, 401, 403, 404, 409, 413, 422, 429, 500, 503)
_ALL = ["chat", "completions", "responses", "messages", "tools", "parallel_tools", "vision", "reasoning"]


@dataclass(frozen=True)
class Place:
    """Somewhere to ask, with the clients that ask there."""

    openai: AsyncOpenAI
    """Refuses every answer that is not exactly as its types have it."""
    lenient: AsyncOpenAI
    """For what does not fit the client's own types: embeddings in base64, streamed text completions."""
    anthropic: AsyncAnthropic
    model: str


@dataclass(frozen=True)
class Places:
    """The same provider asked itself, and through the gateway: at its chat endpoint alone, and at all of them."""

    direct: Place
    translated: Place
    native: Place
    provider: Provider
    house: House

    @property
    def through_the_gateway(self) -> Sequence[Place]:
        return self.translated, self.native


@asynccontextmanager
async def opened(data: Path) -> AsyncIterator[Places]:
    """Run a provider and a gateway, and open the clients."""
    async with AsyncExitStack() as stack:
        url, serving = await stack.enter_async_context(provider())
        (data / "key").write_text(KEY)
        home = await stack.enter_async_context(house(data / "house", deployments(f"{url}/v1", data / "key")))

        async def place(base: str, key: str, model: str) -> Place:
            official = AsyncOpenAI(base_url=f"{base}/v1", api_key=key, max_retries=0, _strict_response_validation=True)
            other = AsyncAnthropic(base_url=base, api_key=key, max_retries=0, _strict_response_validation=True)
            lenient = AsyncOpenAI(base_url=f"{base}/v1", api_key=key, max_retries=0)
            for client in (official, lenient, other):
                await stack.enter_async_context(client)
            return Place(official, lenient, other, model)

        yield Places(
            await place(url, KEY, MODEL),
            await place(home.url, ADMIN_KEY, MODEL),
            await place(home.url, ADMIN_KEY, NATIVE),
            serving,
            home,
        )


def deployments(url: str, key: Path) -> list[dict[str, Any]]:
    """The provider as the gateway knows it."""
    common: dict[str, Any] = {"zone": "device", "api_key": {"file": str(key)}}  # pictures are not for others
    return [
        deployment(MODEL, url, **common),
        deployment(NATIVE, url, upstream_model=MODEL, capabilities=[*_ALL, "json_schema", "logprobs"], **common),
        deployment(EMBEDDER, url, capabilities=["embeddings", "rerank"], **common),
        *(deployment(f"fails-{status}", url, **common) for status in STATUSES),
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def places(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Places]:
    async with opened(tmp_path_factory.mktemp("clients")) as found:
        yield found
