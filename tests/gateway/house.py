"""A gateway in the test's own loop: real ledger, guard, client and HTTP server; retrieval is a fake one."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import openai
import uvicorn

from gateway.api.app import create_app
from gateway.main import open_runtime
from gateway.settings import Settings
from migrations import upgrade
from policies.labels import PRIVATE, Label
from retrieval.client import Anchor, CollectionInfo, Passage, RetrievalClient, Scope, Sentence

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from gateway.runtime import Runtime

ADMIN_KEY = "sk-test-admin-key"

RULES: dict[str, Any] = {
    "default_label": "internal",
    "unscannable": "private",
    "zones": {
        "device": {"clearance": "secret", "addresses": "loopback"},
        # The hosts of a test stand on loopback, also those that stand for hosted ones.
        "hosted": {"clearance": "internal", "addresses": "any"},
    },
    "detectors": {"cpf": "private", "email": "internal", "secret_key": "secret"},
    "rules": [
        {
            "name": "family papers are answered in the house",
            "when": {"label": {"at_least": "private"}},
            "route": {"zones": ["device"]},
        },
        {"name": "all else is cheap", "route": {"prefer": "cheapest"}},
    ],
}


def deployment(name: str, url: str, **more: Any) -> dict[str, Any]:
    """A hosted deployment as a pack declares it: 3 dollars in, 0.30 cached, 15 out, per million tokens."""
    price = {"input": 3.00, "cached": 0.30, "output": 15.00}
    return {
        "name": name,
        "model": name,
        "engine": "openai",
        "base_url": url,
        "zone": "hosted",
        "price": {"currency": "USD", "per_million": price, "source": "test", "as_of": "2026-11-01"},
        **more,
    }


def passage(text: str, *, label: Label = PRIVATE, file: str = "contrato.md", collection: str = "papers") -> Passage:
    """A passage of a document."""
    anchor = Anchor(page=None, line=12, heading="Aluguel")
    return Passage("doc-1", file, collection, f"chunk-{text[:8]}", text, label, anchor, 0.9, "pt")


@dataclass
class FakeRetriever(RetrievalClient):
    """Answers every search with the passages it was given, within the scope, and remembers the scopes."""

    passages: list[Passage] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)

    async def ready(self) -> bool:
        return True

    async def search(self, query: str, scope: Scope, top: int) -> list[Passage]:
        self.scopes.append(scope)
        return [found for found in self.passages if found.collection in (scope.collections or ())][:top]

    async def sentences(self, question: str, passages: Sequence[Passage], top: int) -> list[Sentence]:
        return [Sentence(found.text, index, found.score) for index, found in enumerate(passages)][:top]

    async def collections(self, scope: Scope) -> list[CollectionInfo]:
        names = dict.fromkeys(found.collection for found in self.passages)
        return [CollectionInfo(name, 1, 1) for name in names]

    async def close(self) -> None:
        pass


@dataclass
class House:
    """A running gateway."""

    url: str
    runtime: Runtime
    retriever: FakeRetriever

    def client(self, key: str = ADMIN_KEY) -> openai.AsyncOpenAI:
        """The official client, without retries of its own."""
        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0)


@asynccontextmanager
async def house(
    data: Path,
    deployments: Sequence[Mapping[str, Any]] = (),
    *,
    rules: Mapping[str, Any] = RULES,
    passages: Sequence[Passage] = (),
    budgets: Mapping[str, Any] | None = None,
    store: str | None = None,
) -> AsyncIterator[House]:
    """Run a gateway on a free loopback port; `budgets` is its budgets.yaml, `store` the URL of a Valkey."""
    settings = make_settings(data, rules, deployments).model_copy(update={"redis_url": store})
    if budgets is not None:
        (settings.pack / "budgets.yaml").write_text(json.dumps(budgets))
    retriever = FakeRetriever(list(passages))
    async with open_runtime(settings, retriever, loopback_only=True) as runtime, served(create_app(runtime)) as url:
        yield House(url, runtime, retriever)


def make_settings(data: Path, rules: Mapping[str, Any], deployments: Sequence[Mapping[str, Any]]) -> Settings:
    """Write a pack (JSON is YAML) and a migrated ledger; the admin key's digest lies where `up` puts it."""
    settings = Settings.from_environment(data, None, {})
    settings.pack.mkdir(parents=True, exist_ok=True)
    (settings.pack / "rules.yaml").write_text(json.dumps(rules))
    (settings.pack / "deployments.yaml").write_text(json.dumps({"deployments": list(deployments)}))
    (settings.pack / "collections.yaml").write_text(json.dumps({"collections": {"papers": {"label": "private"}}}))
    settings.secret.write_bytes(b"s" * 32)
    settings.admin_digest_path.write_text(hashlib.sha256(ADMIN_KEY.encode()).hexdigest())
    upgrade("ledger", settings.ledger_url)
    return settings


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """Serve an application on a free loopback port; yield its base URL."""
    config = uvicorn.Config(app, lifespan="off", log_level="warning", access_log=False, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the servers that the gateway opens have it
    serving = asyncio.create_task(server._serve([listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
