"""A GGUF file of one's own: the house runs it, answers by it, and lives on where it cannot be run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
import pytest

from gateway.catalog import load as catalog_load
from gateway.catalog.engines import Engines, own_specs
from gateway.settings import Settings
from gateway.supervisor import banner, house, parts, prepare
from gateway.supervisor.address import Address
from gateway.supervisor.children import Child
from policies.load import load_pack
from policies.problems import PackError
from tests.gateway.house import RULES, make_settings
from tests.gateway.house import house as gateway
from tests.gguf import weights, write_small

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.supervisor.children import ChildSpec
    from tests.gateway.house import House

PRICE = {"currency": "USD", "per_million": {"input": 0, "output": 0}, "source": "ours", "as_of": "2026-11-01"}

NOT_NOW = (502, 503)

needs_avx2 = pytest.mark.skipif(not parts.engine_runs_here(), reason="llama.cpp's wheel needs AVX2")


def own(name: str = "smol", path: str | Path | None = None, **gguf: Any) -> dict[str, Any]:
    """An entry as people write it."""
    entry = {"path": str(path or weights()), "context": 1024, "threads": 2, **gguf}
    return {"name": name, "model": name, "engine": "llama_server", "gguf": entry, "zone": "device", "price": PRICE}


def engine(settings: Settings) -> ChildSpec:
    """What runs the only file of the pack, and the folders it needs."""
    prepare.directories(settings)
    (spec,) = own_specs(load_pack(settings.pack, settings.models))
    return parts.own_engine(settings, spec)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.05)


def listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


async def asked(running: House, **more: Any) -> Any:
    """Ask once: the answer, or the chunks of one."""
    question = {"model": "smol", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8, **more}
    async with running.client() as client:
        answer = await client.chat.completions.create(**question)
        return [chunk async for chunk in answer] if more.get("stream") else answer


async def answered(running: House, **more: Any) -> Any:
    """Ask once the engine listens, and until it has loaded its file."""
    (deployment, *_) = running.runtime.packs.current.catalog.deployments
    await until(lambda: listening(Path(deployment.base_url.split(":")[1])))
    for _ in range(300):
        try:
            return await asked(running, **more)
        except openai.InternalServerError as error:
            if error.status_code not in NOT_NOW:
                raise
            await asyncio.sleep(0.1)
    raise AssertionError("the engine did not become ready")


@needs_avx2
async def test_a_file_by_its_path_answers_a_chat_whole_and_as_a_stream(tmp_path: Path) -> None:
    async with gateway(tmp_path, [own(slots=2)]) as running, Child(engine(running.runtime.settings), print):
        whole = await answered(running)
        chunks = await answered(running, stream=True, stream_options={"include_usage": True})

    assert whole.choices[0].message.content.strip()
    assert (whole.model, whole.usage.prompt_tokens > 0, 0 < whole.usage.completion_tokens <= 8) == ("smol", True, True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices).strip()
    assert chunks[-1].usage.completion_tokens > 0


@needs_avx2
async def test_a_prompt_beyond_its_context_is_refused_as_that(tmp_path: Path) -> None:
    async with gateway(tmp_path, [own()]) as running, Child(engine(running.runtime.settings), print):
        await answered(running)
        with pytest.raises(openai.BadRequestError) as refused:
            await answered(running, messages=[{"role": "user", "content": "word " * 3000}])

    assert refused.value.code == "context_length_exceeded"


@needs_avx2
async def test_an_entry_that_changed_is_not_answered_by_the_engine_of_the_old_one(tmp_path: Path) -> None:
    async with gateway(tmp_path, [own()]) as running, Child(engine(running.runtime.settings), print):
        await answered(running)
        pack = running.runtime.settings.pack
        (pack / "deployments.yaml").write_text(json.dumps({"deployments": [own(context=2048)]}))
        await running.runtime.packs.reload()
        with pytest.raises(openai.InternalServerError) as refused:
            await asked(running)

    assert refused.value.status_code in NOT_NOW


@needs_avx2
async def test_an_engine_that_dies_comes_back_by_itself(tmp_path: Path) -> None:
    said: list[str] = []
    async with gateway(tmp_path, [own()]) as running, Child(engine(running.runtime.settings), said.append) as child:
        await answered(running)
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: child.pid not in {None, first})
        again = await answered(running)

    assert again.choices[0].message.content
    assert [line for line in said if "the engine of 'smol' was killed" in line]


@needs_avx2
async def test_a_file_that_llama_cpp_cannot_load_is_said_once_and_the_house_goes_on(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [own(path=write_small(tmp_path / "odd.gguf", context=4096))])
    said: list[str] = []

    async with Child(engine(settings), said.append) as child:
        await until(lambda: said)
        running = not child.kept.done()

    assert running
    assert len(said) == 1
    assert "odd.gguf cannot be loaded" in said[0]
    assert said[0].endswith("The house goes on without it.")


def test_a_deployment_has_the_context_slots_and_socket_of_its_engine(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [own("big/model:Q4", slots=3, mmproj=None)])
    pack, engines = load_pack(settings.pack, settings.models), Engines.of(settings)
    child = engine(settings)

    deployment = catalog_load.load(pack, {}, None, engines).deployments[0]

    assert (deployment.context, deployment.queue.slots, deployment.zone.name) == (1024, 3, "device")
    assert deployment.base_url == f"unix:{child.socket}:/v1"
    assert {"--context=1024", "--slots=3", "--threads=2", f"--model={weights()}", "--alias=big/model:Q4"} <= {
        *child.command
    }
    assert not [word for word in child.command if word.startswith("--mmproj")]
    assert child.log.parent == settings.logs


def test_a_relative_path_lies_below_the_data_directory(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [own(path="a/m.gguf", mmproj="a/mmproj.gguf")])
    model = write_small(settings.models / "a" / "m.gguf")
    projector = write_small(settings.models / "a" / "mmproj.gguf", "clip")

    assert {f"--model={model}", f"--mmproj={projector}"} <= {*engine(settings).command}


def test_each_change_of_an_entry_leads_to_another_socket(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [own()])
    (spec,) = own_specs(load_pack(settings.pack))
    engines = Engines(tmp_path / "models", tmp_path / "run")
    assert spec.gguf is not None

    changed = [
        spec,
        spec.model_copy(update={"name": "other"}),
        spec.model_copy(update={"upstream_model": "other"}),
        spec.model_copy(update={"gguf": spec.gguf.model_copy(update={"context": 2048})}),
    ]

    assert len({engines.socket(one) for one in changed}) == len(changed)
    assert engines.socket(spec.model_copy(update={"grade": 5})) == engines.socket(spec)


def test_a_file_of_ones_own_replaces_the_demonstration(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [own()])
    pack = load_pack(settings.pack, settings.models)

    names = [spec.name for spec in parts.specs(settings, Address("127.0.0.1", 1), engine=False, own=own_specs(pack))]

    assert parts.demonstration_left_out(pack) == "smol runs on this machine"
    assert names.index("the engine of 'smol'") < names.index("gateway")


async def test_a_missing_file_stops_the_start_with_file_line_and_key(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [own(path="away.gguf")])

    with pytest.raises(PackError, match=r"deployments\.yaml:1: deployments\[0\]\.gguf\.path.*away\.gguf is not there"):
        await house.run(settings, Address("127.0.0.1", 0), print)


def test_an_entry_that_came_while_the_house_runs_is_named(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [own("one")])
    started = load_pack(settings.pack, settings.models)
    (settings.pack / "deployments.yaml").write_text(json.dumps({"deployments": [own("one"), own("two")]}))

    (name,) = house._not_started(settings, started)

    assert banner.restart_wanted(name).startswith("two: its GGUF file is loaded when 'up' starts")
    assert house._not_started(settings, load_pack(settings.pack, settings.models)) == []


def test_where_the_processor_cannot_the_models_are_named(tmp_path: Path) -> None:
    assert banner.engines_left_out(["one", "two"]).startswith("Not started: one and two. This processor has no AVX2")


def test_without_engines_an_entry_has_no_address(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [own()])
    pack = replace(load_pack(settings.pack), tests=())

    assert catalog_load.load(pack, {}, None).deployments[0].base_url == ""
