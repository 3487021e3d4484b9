"""The admin socket tells what is known of the deployments, and has them looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp

from gateway.api.admin import create_admin
from gateway.errors import UpstreamUnavailable
from tests.gateway.chat.conftest import asking, post
from tests.gateway.house import deployment, house, served
from tests.gateway.upstream.probes.engines import VLLM, engine
from tests.wire.upstream import answer, completion, fake_upstream

if TYPE_CHECKING:
    from pathlib import Path


async def rows(session: aiohttp.ClientSession) -> dict[str, Any]:
    async with session.get("/models") as listed:
        return {row["name"]: row for row in await listed.json()}


async def test_a_hosted_deployment_is_known_by_its_answers_and_asked_by_command_alone(tmp_path: Path) -> None:
    async with engine(VLLM) as hosted, house(tmp_path, [deployment("small", hosted.url)]) as home:
        async with served(create_admin(home.runtime)) as admin, aiohttp.ClientSession(admin) as session:
            before = await rows(session)
            asked_before = list(hosted.asked)
            async with session.post("/models/probe", json={"name": "small"}) as probed:
                (seen,) = await probed.json()
            after = await rows(session)

    assert (before["small"]["state"], asked_before) == ("unknown", [])
    assert (seen["up"], seen["context"], seen["models"]) == (True, 32768, ["small"])
    assert after["small"] == seen
    assert "quotes" not in after


async def test_one_that_rests_after_failures_is_said_to(tmp_path: Path) -> None:
    async with engine(VLLM) as fake, house(tmp_path, [deployment("small", fake.url)]) as home:
        async with served(create_admin(home.runtime)) as admin, aiohttp.ClientSession(admin) as session:
            for _ in range(3):
                await home.runtime.fleet.cooldown.failed("small", UpstreamUnavailable("it hung up"))
            rests = await rows(session)
            await home.runtime.fleet.cooldown.succeeded("small")
            answers = await rows(session)

    assert (rests["small"]["state"], answers["small"]["state"]) == ("resting", "unknown")


async def test_the_pack_in_force_and_why_another_is_not_are_told(tmp_path: Path) -> None:
    async with house(tmp_path, []) as home, served(create_admin(home.runtime)) as admin:
        async with aiohttp.ClientSession(admin) as session:
            (home.runtime.settings.pack / "rules.yaml").write_text("oops: [")
            async with session.post("/reload") as refused:
                assert refused.status == 400
            async with session.get("/policy") as told:
                policy = await told.json()

    assert policy["version"] == home.runtime.packs.current.pack.version
    assert "rules.yaml" in policy["refused"]


async def test_all_are_looked_at_where_none_is_named(tmp_path: Path) -> None:
    async with engine(VLLM) as one, engine(VLLM) as other:
        deployments = [deployment("one", one.url), deployment("other", other.url)]
        async with house(tmp_path, deployments) as home, served(create_admin(home.runtime)) as admin:
            async with aiohttp.ClientSession(admin) as session, session.post("/models/probe", json={}) as probed:
                seen = {row["name"]: row["up"] for row in await probed.json()}

    assert (seen["one"], seen["other"]) == (True, True)
    assert one.asked
    assert other.asked


async def test_an_unknown_deployment_is_refused_by_name(tmp_path: Path) -> None:
    async with house(tmp_path) as home, served(create_admin(home.runtime)) as admin:
        async with aiohttp.ClientSession(admin) as session:
            async with session.post("/models/probe", json={"name": "nobody"}) as refused:
                told = await refused.json()
            async with session.post("/models/probe", json={"nme": "x"}) as wrong:
                pass

    assert (refused.status, wrong.status) == (404, 400)
    assert "'nobody'" in told["error"]["message"]


async def test_an_answer_tells_that_a_hosted_deployment_is_up(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    async with (
        fake_upstream(answer(completion(usage=usage))) as up,
        house(tmp_path, [deployment("gpt", up.url)]) as home,
    ):
        async with served(create_admin(home.runtime)) as admin, aiohttp.ClientSession(admin) as session:
            await post(home, asking("gpt", "Olá"))
            known = (await rows(session))["gpt"]

    assert (known["state"], known["reports_cached"]) == ("up", True)
