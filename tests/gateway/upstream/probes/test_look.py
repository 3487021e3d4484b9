"""Each engine is read in its own words, and what it does not say stays unknown."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from gateway.catalog.deployments import Wake
from gateway.errors import NotLocal
from gateway.upstream.guard import Guard
from gateway.upstream.probes.look import answers, load, look
from tests.fakes import LAN, deployment
from tests.gateway.upstream.probes.engines import LLAMA_SERVER, OLLAMA, SGLANG, VLLM, engine, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.catalog.deployments import Deployment
    from gateway.catalog.observed import Observation
    from tests.gateway.upstream.probes.engines import FakeEngine, Page

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def served_by(kind: str, fake: FakeEngine, *, api_key: str | None = None) -> Deployment:
    return replace(deployment(fake.url, api_key=api_key), engine=kind)


async def seen(kind: str, pages: Mapping[str, Page]) -> Observation:
    async with engine(pages) as fake, Guard() as guard:
        return await look(guard, served_by(kind, fake), AT)


async def test_vllm_tells_its_context_its_queue_and_its_caches() -> None:
    found = await seen("vllm", VLLM)

    assert (found.at, found.up, found.local, found.note) == (AT, True, True, None)
    assert (found.models, found.context, found.version) == (("small",), 32768, "0.32.0")
    assert (found.running, found.waiting) == (5, 7)
    assert (found.cache_use, found.prefix_hits) == (0.75, 0.4)
    assert (found.vision, found.slots) == (None, None)


async def test_vllms_older_name_of_the_cache_is_known() -> None:
    found = await seen("vllm", {**VLLM, "/metrics": (200, 'vllm:gpu_cache_usage_perc{model_name="small"} 0.5\n')})

    assert (found.cache_use, found.running, found.prefix_hits) == (0.5, None, None)


async def test_sglang_counts_ranks_that_share_a_queue_once() -> None:
    found = await seen("sglang", SGLANG)

    assert (found.context, found.vision) == (16384, True)
    assert (found.running, found.waiting, found.cache_use, found.prefix_hits) == (5, 2, 0.5, 0.125)


async def test_sglang_without_metrics_is_up_all_the_same() -> None:
    found = await seen("sglang", {path: page for path, page in SGLANG.items() if path != "/metrics"})

    assert (found.up, found.running, found.waiting) == (True, None, None)


async def test_llama_server_tells_its_slots_and_that_it_has_no_projector() -> None:
    found = await seen("llama_server", LLAMA_SERVER)

    assert (found.context, found.vision, found.slots) == (4096, False, 2)
    assert (found.running, found.waiting, found.version) == (1, None, "b9999-abcdef")
    assert found.note is None  # it answers by its one model, whatever name is asked


async def test_llama_servers_metrics_tell_who_waits() -> None:
    metrics = "llamacpp:requests_processing 2\nllamacpp:requests_deferred 5\n"

    found = await seen("llama_server", {**LLAMA_SERVER, "/slots": (501, {}), "/metrics": (200, metrics)})

    assert (found.running, found.waiting) == (2, 5)


async def test_a_server_that_loads_its_model_is_not_up() -> None:
    pages = {"/health": (503, {"error": {"message": "Loading model", "code": 503}})}

    found = await seen("llama_server", pages)

    assert not found.up
    assert "loading its model" in str(found.note)


async def test_ollama_tells_what_the_model_can() -> None:
    found = await seen("ollama", OLLAMA)

    assert (found.up, found.local, found.models, found.version) == (True, True, ("small:latest",), "0.40.12")
    assert (found.context, found.vision, found.note) == (8192, False, None)


async def test_what_ollama_has_loaded_wins_over_what_the_model_states() -> None:
    loaded = {"models": [{"name": "small:latest", "context_length": 4096}]}

    assert (await seen("ollama", {**OLLAMA, "/api/ps": (200, loaded)})).context == 4096


async def test_the_most_a_model_takes_is_not_what_ollama_gives_it() -> None:
    shown = {"model_info": {"llama.context_length": 131072}, "capabilities": ["completion", "vision"]}

    found = await seen("ollama", {**OLLAMA, "/api/show": (200, shown)})

    assert (found.context, found.vision) == (131072, True)
    assert "num_ctx" in str(found.note)


async def test_a_model_that_ollama_does_not_have_is_not_up() -> None:
    found = await seen("ollama", {path: page for path, page in OLLAMA.items() if path != "/api/show"})

    assert (found.up, found.local) == (False, True)
    assert "ollama pull small" in str(found.note)


@pytest.mark.parametrize(
    ("page", "entry"),
    [
        ("/api/show", {"remote_host": "https://ollama.com:443", "remote_model": "kimi-k3"}),
        ("/api/show", {"remote_model": "kimi-k3"}),
        ("/api/tags", {"models": [{"name": "small:latest", "size": 412, "remote_host": "https://ollama.com"}]}),
        ("/api/tags", {"models": [{"name": "small:latest", "size": 382}]}),
        ("/api/tags", {"models": [{"model": "small:latest", "size": 0}]}),
    ],
)
async def test_an_ollama_model_that_runs_in_a_cloud_is_not_local(page: str, entry: dict[str, object]) -> None:
    found = await seen("ollama", {**OLLAMA, page: (200, entry)})

    assert (found.up, found.local) == (False, False)
    assert "in a cloud" in str(found.note)


@pytest.mark.parametrize("kind", ["openai", "tokenspeed", "moonshot", "flatkey"])
async def test_any_other_server_is_read_by_its_list_of_models(kind: str) -> None:
    entry = {"id": "small", "context_length": 1048576, "supports_image_in": True}

    found = await seen(kind, {"/v1/models": listed({"id": "other"}, entry)})

    assert (found.up, found.models, found.context, found.vision) == (True, ("other", "small"), 1048576, True)


async def test_a_reseller_tells_vision_by_modalities() -> None:
    entry = {"id": "small", "architecture": {"input_modalities": ["text", "image"]}}

    assert (await seen("openai", {"/v1/models": listed(entry)})).vision is True


async def test_a_model_that_is_not_listed_is_named() -> None:
    found = await seen("openai", {"/v1/models": listed({"id": "a"}, {"id": "b", "max_model_len": 9})})

    assert (found.up, found.context) == (True, None)
    assert found.note == "it does not list 'small'"


async def test_a_server_without_a_list_may_well_answer() -> None:
    found = await seen("openai", {})

    assert (found.up, found.models, found.note) == (True, (), "it lists no models")


@pytest.mark.parametrize(("status", "told"), [(401, "refuses the key"), (403, "refuses the key"), (500, "status 500")])
async def test_a_server_that_refuses_or_fails_is_not_up(status: int, told: str) -> None:
    found = await seen("openai", {"/v1/models": (status, {"error": "sk-canary"})})

    assert not found.up
    assert told in str(found.note)
    assert "canary" not in str(found)


@pytest.mark.parametrize("kind", ["vllm", "sglang", "llama_server", "ollama", "tokenspeed"])
@pytest.mark.parametrize("status", [302, 400, 404])
async def test_what_answers_but_is_no_such_engine_is_not_up(kind: str, status: int) -> None:
    pages = dict.fromkeys(("/health", "/api/version", "/v1/models"), (status, ""))

    found = await seen(kind, pages)

    assert (found.up, found.note) == (False, f"it answers with status {status}, as no {kind} in good health does")


async def test_an_engine_behind_a_proxy_that_passes_the_api_alone_is_up() -> None:
    found = await seen("vllm", {"/v1/models": listed({"id": "small", "max_model_len": 9})})

    assert (found.up, found.context) == (True, 9)


@pytest.mark.parametrize("kind", ["openai", "vllm", "sglang", "llama_server", "ollama"])
async def test_a_server_that_is_away_is_an_observation_too(kind: str) -> None:
    async with engine({}) as fake:
        pass
    async with Guard() as guard:
        found = await look(guard, served_by(kind, fake), AT)
        ready = await answers(guard, served_by(kind, fake), AT)

    assert (found.up, found.local, ready) == (False, True, False)
    assert found.note == "it does not answer: is it running?"


async def test_one_that_can_be_woken_is_told_to_be_asleep() -> None:
    async with engine({}) as fake:
        pass
    async with Guard() as guard:
        asleep = replace(served_by("vllm", fake), wake=Wake(("true",), None, 1.0))

        assert "asleep" in str((await look(guard, asleep, AT)).note)


async def test_one_that_is_not_where_its_zone_is_is_told_and_not_asked() -> None:
    async with engine(VLLM) as fake, Guard() as guard:
        outside = replace(served_by("vllm", fake), zone=LAN)
        found = await look(guard, outside, AT)
        with pytest.raises(NotLocal):
            await answers(guard, outside, AT)

    assert (found.up, found.local, fake.asked) == (False, False, [])


@pytest.mark.parametrize(
    "junk", ["", "{", "[]", "null", "\ud7ff", '{"data": 1}', '{"data": [1, {"id": 2}]}', "[" * 9999]
)
@pytest.mark.parametrize("kind", ["openai", "vllm", "sglang", "llama_server", "ollama"])
async def test_junk_is_read_as_nothing(kind: str, junk: str) -> None:
    pages = ("/v1/models", "/props", "/slots", "/metrics", "/version", "/get_model_info", "/api/tags", "/api/ps")

    found = await seen(kind, {"/health": (200, ""), "/api/version": (200, junk), **dict.fromkeys(pages, (200, junk))})

    assert (found.context, found.slots, found.cache_use) == (None, None, None)


async def test_the_load_alone_is_read_between_two_looks() -> None:
    async with engine(VLLM) as fake, Guard() as guard:
        at = served_by("vllm", fake)
        before = await look(guard, at, AT)
        fake.pages["/metrics"] = (200, "vllm:num_requests_waiting 1\n")
        fake.asked.clear()
        after = await load(guard, at, before, datetime(2026, 12, 1, tzinfo=UTC))

    assert fake.asked == ["/metrics"]
    assert (after.context, after.waiting, after.running, after.at.month) == (32768, 1, None, 12)


async def test_a_server_that_goes_away_between_two_looks_stays_as_it_was_seen() -> None:
    async with engine(VLLM) as fake, Guard() as guard:
        before = await look(guard, served_by("vllm", fake), AT)
    async with Guard() as guard:
        assert await load(guard, served_by("vllm", fake), before, AT) is before


async def test_the_base_urls_path_is_kept_and_its_version_left_out_for_the_servers_own_pages() -> None:
    pages = {"/llm/health": (200, ""), "/llm/v1/models": listed({"id": "small"}), "/llm/metrics": (200, "")}
    async with engine(pages) as fake, Guard() as guard:
        at = replace(served_by("vllm", fake), base_url=f"http://127.0.0.1:{fake.port}/llm/v1")
        found = await look(guard, at, AT)

    assert found.models == ("small",)
    assert fake.asked == ["/llm/health", "/llm/v1/models", "/llm/version", "/llm/metrics"]


async def test_a_probe_carries_the_deployments_key_and_no_text() -> None:
    async with engine(OLLAMA) as fake, Guard() as guard:
        await look(guard, served_by("ollama", fake, api_key="sk-own"), AT)

    assert all(b"Authorization: Bearer sk-own" in head for head in fake.heads)
    assert {body for body in fake.bodies if body} == {json.dumps({"model": "small"}).encode()}


async def test_a_redirect_of_a_probe_is_not_followed() -> None:
    async with engine({"/v1/models": (302, "")}) as fake, Guard() as guard:
        found = await look(guard, served_by("openai", fake), AT)

    assert (found.up, found.note, fake.asked) == (False, "it answers with status 302", ["/v1/models"])
