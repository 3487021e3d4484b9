"""The endpoints beside chat: models, health, metrics, documentation, the admin socket."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import aiohttp
from pydantic import SecretStr

from gateway.api.admin import create_admin
from gateway.api.app import create_app
from gateway.db.keys import KeySpec, create
from gateway.settings import ROOT
from tests.gateway.chat.conftest import asking, post
from tests.gateway.house import ADMIN_KEY, deployment, house, passage, served
from tests.wire.upstream import answer, completion, fake_upstream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.house import House


async def get(home: House, path: str, key: str | None = ADMIN_KEY) -> tuple[int, Any]:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession() as session, session.get(home.url + path, headers=headers) as response:
        text = await response.text()
        return response.status, await response.json() if response.content_type == "application/json" else text


async def test_models_are_listed_with_where_they_run(tmp_path: Path) -> None:
    listed = deployment("gpt", "http://127.0.0.1:1/v1", aliases=["g"], context=8000, capabilities=["tools"])
    async with house(tmp_path, [listed]) as home:
        status, models = await get(home, "/v1/models")
        refused, _ = await get(home, "/v1/models", key=None)
        one = await get(home, "/v1/models/gpt")
        unknown = await get(home, "/v1/models/vendor/nothing")

        shown = {model["id"]: model["soleira"] for model in models["data"]}
        assert (status, refused) == (200, 401)
        assert one == (200, models["data"][1])
        assert (unknown[0], unknown[1]["error"]["code"]) == (404, "model_not_found")
        assert list(shown)[:3] == ["auto", "gpt", "g"]
        assert "quotes" not in shown
        assert shown["gpt"] == {
            "zones": ["hosted"],
            "deployments": ["gpt"],
            "context": 8000,
            "capabilities": ["chat", "tools"],
        }


async def test_health_tells_what_is_there(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        version = home.runtime.packs.current.pack.version
        healthy = {"status": "ok", "policy": version, "policy_error": False}
        assert await get(home, "/healthz", key=None) == (200, healthy)
        status, ready = await get(home, "/readyz", key=None)

        assert (status, ready["status"], ready["retrieval"]) == (200, "ready", True)
        assert ready["policy"] == home.runtime.packs.current.pack.version


async def test_metrics_count_what_was_settled_and_name_no_words(tmp_path: Path) -> None:
    async with fake_upstream(answer(completion())) as up, house(tmp_path, [deployment("gpt", up.url)]) as home:
        await post(home, asking("gpt", "canario"))
        await post(home, asking("canario-model"))
        await post(home, asking("gpt", "CPF 529.982.247-25"))
        status, metrics = await get(home, "/metrics", key=None)

        assert status == 200
        assert 'soleira_tokens_total{deployment="gpt",lane="fresh"} 3.0' in metrics
        assert 'soleira_cost_nano_usd_total{deployment="gpt",zone="hosted"} 39000.0' in metrics
        assert 'soleira_requests_total{code="",endpoint="chat.completions",status="200"} 1.0' in metrics
        assert 'code="model_not_found",endpoint="chat.completions",status="404"} 1.0' in metrics
        assert 'code="label_exceeds_clearance",endpoint="chat.completions",status="403"} 1.0' in metrics
        assert "canario" not in metrics


async def test_metrics_off_loopback_need_the_admin_key_or_the_token(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        settings = home.runtime.settings.model_copy(update={"metrics_token": SecretStr("scrape-me")})
        async with served(create_app(replace(home.runtime, loopback_only=False, settings=settings))) as url:
            outside = replace(home, url=url)
            key = await create(home.runtime.engine, KeySpec("ana"))

            keys = (None, key, "scrape-me", ADMIN_KEY)
            statuses = [(await get(outside, "/metrics", with_key))[0] for with_key in keys]

        assert statuses == [401, 403, 200, 200]


async def test_the_documentation_names_the_chat_endpoint_and_its_fields(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        status, document = await get(home, "/openapi.json", key=None)

        assert status == 200
        assert "post" in document["paths"]["/v1/chat/completions"]
        assert "messages" in document["components"]["schemas"]["ChatCompletionRequest"]["properties"]
        assert not [path for path in document["paths"] if path.startswith(("/keys", "/spend", "/reload"))]


async def test_what_is_not_there_is_told_in_the_one_shape(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        missing = await get(home, "/v1/nowhere")
        wrong = await get(home, "/v1/chat/completions")

        assert (missing[0], missing[1]["error"]["code"]) == (404, "not_found")
        assert (wrong[0], wrong[1]["error"]["code"]) == (405, "invalid_request")


async def test_a_revoked_key_is_refused_from_the_moment_the_call_returns(tmp_path: Path) -> None:
    async with house(tmp_path, passages=[passage("x")]) as home, served(create_admin(home.runtime)) as admin:
        async with aiohttp.ClientSession(admin) as session:
            async with session.post(
                "/keys", json={"name": "ana", "clearance": "private+health", "label": "public"}
            ) as made:
                created = await made.json()
            before = await get(home, "/v1/models", created["key"])
            async with session.delete("/keys/ana") as revoked:
                assert revoked.status == 200
            after = await get(home, "/v1/models", created["key"])
            async with session.get("/keys") as listed:
                keys = await listed.json()

        assert (created["clearance"], created["label"]) == ("private+health", "public")
        assert (before[0], after[0]) == (200, 401)
        assert keys[0]["revoked_at"] is not None
        assert created["key"] not in str(keys)


async def test_the_admin_socket_explains_bad_input(tmp_path: Path) -> None:
    async with house(tmp_path) as home, served(create_admin(home.runtime)) as admin:
        await create(home.runtime.engine, KeySpec("ana"))
        async with aiohttp.ClientSession(admin) as session:
            for body, status, word in (
                ({"name": "ana"}, 409, "ana"),
                ({"name": "admin"}, 409, "admin"),
                ({"name": ""}, 400, "name"),
                ({"name": "a@b"}, 400, "name"),
                ({"name": "b", "clearance": "top"}, 400, "public, internal, private or secret"),
                ({"name": "b", "colour": 1}, 400, "colour"),
            ):
                async with session.post("/keys", json=body) as response:
                    answer = await response.json()
                    assert (response.status, word in answer["error"]["message"]) == (status, True), answer


async def test_a_reload_that_fails_names_file_and_line(tmp_path: Path) -> None:
    async with house(tmp_path) as home, served(create_admin(home.runtime)) as admin:
        (home.runtime.settings.pack / "rules.yaml").write_text("rules: [{nme: x}]\n")
        async with aiohttp.ClientSession(admin) as session, session.post("/reload") as response:
            message = (await response.json())["error"]["message"]

        assert response.status == 400
        assert "rules.yaml:1" in message
        assert "did you mean 'name'" in message
        assert (await get(home, "/readyz"))[1]["policy_error"] is True


async def test_every_route_is_in_the_documentation_for_people(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        _, document = await get(home, "/openapi.json", key=None)
        told = (ROOT / "docs" / "api.md").read_text()

        routes = [path.replace("decision_id", "id") for path in document["paths"]]
        assert len(routes) >= 6
        assert [route for route in routes if f"{route}`" not in told] == []
