"""`soleira measure`: alone it opens the ledger itself, beside a running house it has that measure."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from fastapi import FastAPI
from typer.testing import CliRunner

from gateway.api import errors, measuring
from gateway.cli import app
from gateway.errors import Forbidden, GatewayError, NotFound
from gateway.owning import profiles
from gateway.settings import gateway_environment
from gateway.supervisor import prepare
from tests.gateway.house import RULES, deployment, house
from tests.gateway.owning.engines import HttpEngine, Rates, http_engine
from tests.loops import elsewhere

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from typer.testing import Result

    from gateway.runtime import Runtime

SHORT = ("--contexts", "100,400", "--concurrency", "1,2", "--output-tokens", "8")
ALL = 1 + 2 * 3 + 2 + 3


def running(rates: Rates, pause: float = 0.001) -> AbstractContextManager[HttpEngine]:
    """An engine in a loop of its own: a command has one too."""
    return elsewhere(lambda: http_engine(rates, pause=pause))


def own(url: str) -> dict[str, Any]:
    return deployment("ours", url, engine="vllm", zone="device", model="kimi-k3")


def data_of(tmp_path: Path, *deployments: dict[str, Any]) -> Path:
    pack = tmp_path / "data" / "pack"
    pack.mkdir(parents=True)
    (pack / "rules.yaml").write_text(json.dumps(RULES))
    (pack / "deployments.yaml").write_text(json.dumps({"deployments": deployments}))
    return tmp_path / "data"


def soleira(data: Path, *arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, ["measure", *arguments, "--data", str(data)], input=answer)


def rows(data: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(data / "ledger.db")) as ledger:
        return ledger.execute("SELECT principal, tag, bearer, state, outcome FROM attempts").fetchall()


def test_alone_it_measures_and_keeps_ledger_and_profile(tmp_path: Path) -> None:
    with running(Rates()) as engine:
        data = data_of(tmp_path, own(engine.url), deployment("theirs", engine.url, api_key={"env": "NOT_SET_HERE"}))
        result = soleira(data, "ours", *SHORT, "--gpu", "b300", "--count", "8", "--quant", "native", "--json")

    assert result.exit_code == 0, result.output
    done = json.loads(result.stdout)
    found = profiles.profiles(data)["ours"]
    assert (found.name, found.gpu, found.gpus, found.quant) == (done["name"], "b300", 8, "native")
    assert done["profile"]["points"][0]["concurrency"] == 1
    assert rows(data) == [("measure", "measure", "house", "settled", "ok")] * ALL


def test_people_read_what_will_be_asked_and_what_came_out(tmp_path: Path) -> None:
    with running(Rates()) as engine:
        data = data_of(tmp_path, own(engine.url))
        result = soleira(data, "ours", *SHORT, answer="y\n")

    assert result.exit_code == 0, result.output
    assert f"ours (kimi-k3, zone device) is asked about {ALL} times, at most 200, within 600 seconds:" in result.output
    assert "prompts of 100, 400 tokens, each length three times, alone" in result.output
    assert "at once  first token  per token" in result.output
    assert "What it ran on is not stated: --gpu b300 --count 8" in result.output
    assert "in a scenario: capacity: {profile: ours}" in result.output


def test_who_says_no_asks_nothing(tmp_path: Path) -> None:
    with running(Rates()) as engine:
        data = data_of(tmp_path, own(engine.url))
        result = soleira(data, "ours", *SHORT, answer="n\n")

    assert result.exit_code != 0
    assert engine.bodies == []


def test_a_dry_run_asks_nothing(tmp_path: Path) -> None:
    with running(Rates()) as engine:
        data = data_of(tmp_path, own(engine.url))
        shown = soleira(data, "ours", *SHORT, "--dry-run")
        told = json.loads(soleira(data, "ours", *SHORT, "--dry-run", "--json").stdout)

    assert shown.exit_code == 0, shown.output
    assert "then 2 at once, with prompts of 100 tokens" in shown.output
    assert (told["requests"], told["most_requests"]) == (ALL, 200)
    assert engine.bodies == []
    assert not (data / "capacity").exists()


def test_a_hosted_deployment_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with running(Rates()) as engine:
        data = data_of(tmp_path, deployment("theirs", engine.url))
        result = soleira(data, "theirs", "--yes")

    assert isinstance(result.exception, Forbidden)
    assert "measuring it would cost money" in str(result.exception)
    assert engine.bodies == []


def test_the_demonstration_model_needs_a_running_house(tmp_path: Path) -> None:
    result = soleira(data_of(tmp_path), "demonstration", "--yes")

    assert isinstance(result.exception, NotFound)
    assert "start 'soleira up' first" in str(result.exception)


def test_numbers_that_are_none_are_a_usage_error(tmp_path: Path) -> None:
    for numbers in ("512,lots", "0", "-5", "1.5", ","):
        result = soleira(data_of(tmp_path / numbers), "ours", "--contexts", numbers)
        assert result.exit_code == 2
        assert "are no whole numbers from 1 with commas between them" in result.output


@pytest.mark.parametrize("seconds", ["inf", "nan", "0", "1e9"])
def test_a_time_that_is_none_is_a_usage_error(tmp_path: Path, seconds: str) -> None:
    result = soleira(data_of(tmp_path), "ours", "--seconds", seconds, "--dry-run")

    assert result.exit_code == 2
    assert "--seconds" in result.output


def test_an_engine_that_is_away_is_an_error_that_says_so(tmp_path: Path) -> None:
    result = soleira(data_of(tmp_path, own("http://127.0.0.1:1/v1")), "ours", "--yes")

    assert isinstance(result.exception, GatewayError)
    assert str(result.exception) == "deployment 'ours' cannot be reached: is it running?"


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    with running(Rates(), pause=0.03) as engine:
        data = data_of(tmp_path, own(engine.url))
        command = [sys.executable, "-P", "-m", "gateway.cli", "measure", "ours", "--json", "--data", str(data)]
        command += ["--contexts", "100,200,400,800,1600,3200", "--output-tokens", "8"]
        with subprocess.Popen(command, env=gateway_environment(), stdout=-1, stderr=-1, text=True) as measuring_it:
            _wait_for(lambda: len(engine.bodies) >= 6)
            os.kill(measuring_it.pid, signal.SIGINT)
            told, said = measuring_it.communicate(timeout=60)

    done = json.loads(told)
    assert measuring_it.returncode == 0, said
    assert done["stopped"] == "it was stopped"
    assert "Stopping; what was measured is kept." in said
    assert profiles.profiles(data)["ours"].name == done["name"]
    assert {row[3] for row in rows(data)} == {"settled"}


async def test_beside_a_running_house_that_measures(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    async with http_engine(Rates(), pause=0.001) as engine, house(data, [own(engine.url)]) as at, _admin(at.runtime):
        result = await asyncio.to_thread(soleira, data, "ours", *SHORT, "--json")
        refused = await asyncio.to_thread(soleira, data, "nobody", "--yes")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["name"] == profiles.profiles(data)["ours"].name
    assert len(rows(data)) == ALL
    assert "there is no deployment 'nobody'" in str(refused.exception)


async def test_a_house_whose_engine_fails_says_why(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    async with http_engine(Rates(fails_at=1)) as engine, house(data, [own(engine.url)]) as at, _admin(at.runtime):
        result = await asyncio.to_thread(soleira, data, "ours", *SHORT, "--yes")

    assert isinstance(result.exception, GatewayError)
    assert "deployment 'ours'" in str(result.exception)


@asynccontextmanager
async def _admin(runtime: Runtime) -> AsyncIterator[None]:
    """The admin socket of a running house, with what this command needs of it."""
    prepare.directories(runtime.settings)
    admin = FastAPI()
    admin.state.runtime = runtime
    errors.register(admin)
    admin.include_router(measuring.router)
    config = uvicorn.Config(admin, uds=str(runtime.settings.admin_socket), lifespan="off", log_level="warning")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve())
    try:
        async with asyncio.timeout(30):
            while not server.started:
                await asyncio.sleep(0.01)
        yield
    finally:
        server.should_exit = True
        await serving


def _wait_for(condition: Any) -> None:
    until = time.monotonic() + 90
    while not condition():
        if time.monotonic() > until:
            pytest.fail("it did not come to that")
        time.sleep(0.01)


def test_a_measurement_that_no_scenario_is_told_of_says_by_which_name_it_is_had(tmp_path: Path) -> None:
    with running(Rates()) as engine:
        data = data_of(tmp_path, own(engine.url))
        whole = soleira(data, "ours", *SHORT, "--yes")
        begun = soleira(data, "ours", *SHORT, "--requests", "5", "--yes")

    [first, second] = sorted((data / "capacity").iterdir(), key=lambda path: (len(path.name), path.name))
    assert "capacity: {profile: ours}" in whole.output
    assert "It ended early: the limit of 5 requests is reached." in begun.output
    assert f"capacity: {{profile: {second.stem}}}" in begun.output
    assert "'ours' alone is an earlier one, which went to its end." in begun.output
    assert profiles.profiles(data)["ours"].name == first.stem


def test_figures_that_cannot_be_kept_are_shown_and_said_to_be_lost(tmp_path: Path) -> None:
    with running(Rates(), pause=0.03) as engine:
        data = data_of(tmp_path, own(engine.url))
        command = [sys.executable, "-P", "-m", "gateway.cli", "measure", "ours", *SHORT, "--yes", "--data", str(data)]
        with subprocess.Popen(command, env=gateway_environment(), stdout=-1, stderr=-1, text=True) as measuring_it:
            _wait_for(lambda: len(engine.bodies) >= 2)
            (data / "capacity").rmdir()
            (data / "capacity").write_text("in its place")
            told, said = measuring_it.communicate(timeout=60)

    assert measuring_it.returncode == 1
    assert "ours: reads " in told
    assert f"NOT kept: {data / 'capacity'} cannot be written" in said
