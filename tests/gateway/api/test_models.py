"""The list of models holds what its reader may use, in a form that clients of either API can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anthropic

from gateway.catalog.observed import Observation
from gateway.db import keys
from gateway.db.keys import KeySpec
from policies.labels import PRIVATE, Level, Sensitivity
from tests.gateway.house import ADMIN_KEY, RULES, House, deployment, house

HOSTED = deployment("gpt", "https://api.example/v1", capabilities=["tools", "vision"], context=8_000)
NEAR = deployment("near", "http://127.0.0.1:1/v1", zone="device", capabilities=["embeddings"])


async def listed(home: House, key: str = ADMIN_KEY) -> dict[str, Any]:
    async with home.client(key) as client:
        return {model.id: model for model in (await client.models.list()).data}


async def test_a_model_is_listed_with_its_places_context_and_capabilities(tmp_path: Path) -> None:
    async with house(tmp_path, [HOSTED, NEAR]) as home:
        models = await listed(home)

        assert models["gpt"].soleira == {
            "zones": ["hosted"],
            "deployments": ["gpt"],
            "context": 8_000,
            "capabilities": ["chat", "tools", "vision"],
        }
        assert models["near"].soleira["capabilities"] == ["embeddings"]
        assert {"auto", "e5-small"} <= models.keys()


async def test_a_context_that_a_deployment_says_itself_is_listed(tmp_path: Path) -> None:
    async with house(tmp_path, [HOSTED]) as home:
        home.runtime.fleet.observed.note("gpt", Observation(home.runtime.now(), up=True, context=4_000))

        assert (await listed(home))["gpt"].soleira["context"] == 4_000


async def test_a_key_whose_text_may_not_leave_is_shown_no_hosted_model(tmp_path: Path) -> None:
    async with house(tmp_path, [HOSTED, NEAR]) as home:
        spec = KeySpec("ana", (), Sensitivity(Level.PRIVATE), PRIVATE, ())
        key = await keys.create(home.runtime.engine, spec)

        models = await listed(home, key)

        assert "near" in models
        assert "gpt" not in models


async def test_a_model_that_a_rule_keeps_from_a_group_is_not_shown_to_it(tmp_path: Path) -> None:
    rule = {"name": "not for children", "when": {"groups": ["children"], "model": ["gpt"]}, "action": "deny"}
    async with house(tmp_path, [HOSTED, NEAR], rules={**RULES, "rules": [rule, *RULES["rules"]]}) as home:
        spec = KeySpec("bia", ("children",), Sensitivity(Level.PRIVATE), None, ())
        key = await keys.create(home.runtime.engine, spec)

        assert "gpt" in await listed(home)
        assert "gpt" not in await listed(home, key)


async def test_a_client_of_anthropics_reads_the_list_too(tmp_path: Path) -> None:
    async with house(tmp_path, [HOSTED]) as home:
        async with anthropic.AsyncAnthropic(base_url=home.url, api_key=ADMIN_KEY, max_retries=0) as client:
            assert "gpt" in {model.id async for model in client.models.list()}
            assert (await client.models.retrieve("gpt")).display_name == "gpt"
