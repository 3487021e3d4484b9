"""`soleira models`: alone it reads the pack and asks its deployments itself, beside a running house it asks that."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from structlog.testing import capture_logs
from typer.testing import CliRunner

from gateway.api.admin import create_admin
from gateway.cli import app
from gateway.errors import GatewayError
from gateway.supervisor import prepare
from tests.gateway.house import RULES, deployment, house
from tests.gateway.upstream.probes.engines import LLAMA_SERVER, OLLAMA, VLLM, FakeEngine, engine
from tests.loops import elsewhere

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from typer.testing import Result

    from gateway.runtime import Runtime
    from tests.gateway.upstream.probes.engines import Page


def running(pages: dict[str, Page]) -> AbstractContextManager[FakeEngine]:
    """A fake engine in a loop of its own: a command has one too."""
    return elsewhere(lambda: engine(pages))


def soleira(tmp_path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["models", *arguments, "--data", str(tmp_path / "no"), "--pack", str(tmp_path)])


def pack(tmp_path: Path, *deployments: dict[str, Any]) -> None:
    (tmp_path / "rules.yaml").write_text(json.dumps(RULES))
    (tmp_path / "deployments.yaml").write_text(json.dumps({"deployments": deployments}))


def read(result: Result) -> dict[str, Any]:
    return {row["name"]: row for row in json.loads(result.stdout)}


def test_list_asks_the_houses_own_and_nobody_outside(tmp_path: Path) -> None:
    with running(VLLM) as own, running(VLLM) as hosted:
        pack(
            tmp_path,
            deployment("ours", own.url, engine="vllm", zone="device", upstream_model="small"),
            deployment("theirs", hosted.url, api_key={"env": "NOT_SET_HERE"}),
        )
        shown = read(soleira(tmp_path, "list", "--json"))
        table = soleira(tmp_path, "list")

    assert (shown["ours"]["state"], shown["ours"]["context"], shown["ours"]["waiting"]) == ("up", 32768, 7)
    assert (shown["theirs"]["state"], shown["theirs"]["price"]["output"]) == ("unknown", "15.0")
    assert hosted.asked == []
    assert not (tmp_path / "no").exists()
    header, ours, theirs = table.stdout.splitlines()
    assert header.split() == [
        "NAME", "MODEL", "ENGINE", "ZONE", "STATE", "CONTEXT", "VISION", "LOAD", "SLOTS", "USD/M", "IN", "OUT",
    ]  # fmt: skip
    assert ours.split() == ["ours", "ours", "vllm", "device", "up", "32768", "-", "5", "+", "7", "-", "3.0", "15.0"]
    assert theirs.split()[4:] == ["unknown", "-", "-", "-", "-", "3.0", "15.0"]


def test_probe_asks_hosted_ones_too(tmp_path: Path) -> None:
    with running(VLLM) as hosted:
        pack(tmp_path, deployment("theirs", hosted.url))
        probed = soleira(tmp_path, "probe", "theirs", "--json")

    assert probed.exit_code == 0
    assert read(probed)["theirs"]["up"] is True
    assert hosted.asked == ["/v1/models"]


def test_probe_fails_if_one_is_not_up_and_says_why(tmp_path: Path) -> None:
    with running(LLAMA_SERVER) as up:
        pack(
            tmp_path,
            deployment("up", up.url, engine="llama_server", zone="device"),
            deployment("down", "http://127.0.0.1:1/v1", zone="device"),
        )
        every = soleira(tmp_path, "probe")
        one = soleira(tmp_path, "probe", "up")

    assert (every.exit_code, one.exit_code) == (1, 0)
    assert "down: it does not answer: is it running?" in every.stdout


def test_an_ollama_model_in_a_cloud_is_shown_as_not_local(tmp_path: Path) -> None:
    pages = {**OLLAMA, "/api/show": (200, {"remote_host": "https://ollama.com"})}
    with running(pages) as fake:
        pack(tmp_path, deployment("near", fake.url, engine="ollama", zone="device", upstream_model="small"))
        listed = soleira(tmp_path, "list", "--json")

    assert read(listed)["near"]["state"] == "not local"
    assert "in a cloud" in read(listed)["near"]["note"]
    assert "deployment_not_local" in listed.stderr


def test_a_missing_key_is_named_where_it_is_needed(tmp_path: Path) -> None:
    pack(tmp_path, deployment("theirs", "http://127.0.0.1:1/v1", api_key={"env": "NOT_SET_HERE"}))

    probed = soleira(tmp_path, "probe", "theirs")

    assert isinstance(probed.exception, GatewayError)
    assert "NOT_SET_HERE" in str(probed.exception)


def test_an_unknown_deployment_is_refused_by_name(tmp_path: Path) -> None:
    pack(tmp_path)

    probed = soleira(tmp_path, "probe", "nobody")

    assert isinstance(probed.exception, GatewayError)
    assert "'nobody'" in str(probed.exception)


@pytest.mark.parametrize("arguments", [("list",), ("probe",)])
def test_a_pack_without_deployments_says_what_to_do(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    pack(tmp_path)

    assert "deployments.yaml" in soleira(tmp_path, *arguments).stdout


@asynccontextmanager
async def admin(runtime: Runtime) -> AsyncIterator[None]:
    """Serve the admin socket where commands look for it."""
    prepare.directories(runtime.settings)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(runtime.settings.admin_socket))
    server = uvicorn.Server(uvicorn.Config(create_admin(runtime), lifespan="off", log_level="warning"))
    serving = asyncio.create_task(server._serve([listener]))
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield
    finally:
        server.should_exit = True
        await serving


async def test_beside_a_running_house_that_house_is_asked(tmp_path: Path) -> None:
    async with engine(VLLM) as hosted, house(tmp_path, [deployment("theirs", hosted.url)]) as home, admin(home.runtime):

        async def run(*arguments: str) -> Result:
            command = ["models", *arguments, "--data", str(tmp_path)]
            return await asyncio.to_thread(CliRunner().invoke, app, command)

        with capture_logs():  # the house of this test logs to the stdout that it shares with the command
            before = read(await run("list", "--json"))
            probed = read(await run("probe", "theirs", "--json"))
            after = read(await run("list", "--json"))
            unknown = await run("probe", "nobody")

    assert before["theirs"]["state"] == "unknown"
    assert probed["theirs"]["context"] == 32768
    assert after["theirs"] == probed["theirs"]
    assert isinstance(unknown.exception, GatewayError)
    assert "'nobody'" in str(unknown.exception)
