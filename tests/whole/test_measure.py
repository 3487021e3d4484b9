"""`soleira measure` on a real engine: the demonstration model of a house as people start it."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from gateway.economics.profiles import Slo, at
from gateway.owning.profiles import profiles
from gateway.settings import gateway_environment
from gateway.supervisor import parts
from tests.running import RunningHouse, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.whole,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not parts.engine_runs_here(), reason="llama.cpp's wheel needs AVX2"),
]

SHORT = ("--contexts", "64,512", "--output-tokens", "16")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHouse]:
    with running(tmp_path_factory.mktemp("house")) as opened:
        yield opened


def attempts(data: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(data / "ledger.db")) as ledger:
        query = "SELECT state, outcome, bearer, estimated, output FROM attempts WHERE tag = 'measure'"
        return ledger.execute(query).fetchall()


def test_the_demonstration_model_is_measured_and_its_profile_can_be_planned_with(house: RunningHouse) -> None:
    ran = house.soleira("measure", "demonstration", *SHORT, "--gpu", "cpu", "--quant", "Q4_K_M", "--json")

    assert ran.returncode == 0, ran.stderr
    done = json.loads(ran.stdout)
    assert done["stopped"] is None
    found = profiles(house.data)["demonstration"]
    assert found.name == done["name"]
    assert (found.model, found.gpu, found.quant) == ("smollm2-135m", "cpu", "Q4_K_M")
    assert found.engine.startswith("llama_server")
    carried = at(found, Slo())
    assert carried is not None
    assert carried.prefill_tps > 0
    assert carried.decode_tps > 0
    assert attempts(house.data) == [("settled", "ok", "house", 0, 16)] * done["requests"]


@pytest.mark.slow
def test_ctrl_c_in_a_running_house_keeps_what_was_measured(house: RunningHouse) -> None:
    before = len(attempts(house.data))
    command = [sys.executable, "-P", "-m", "gateway.cli", "measure", "demonstration", "--contexts", "64,1024,2048"]
    command += ["--output-tokens", "256", "--json", "--data", str(house.data)]
    with subprocess.Popen(command, env=gateway_environment(), stdout=-1, stderr=-1, text=True) as measuring:
        until = time.monotonic() + 120
        while len(attempts(house.data)) < before + 3 and time.monotonic() < until:
            time.sleep(0.02)
        measuring.send_signal(signal.SIGINT)
        told, said = measuring.communicate(timeout=60)

    assert measuring.returncode == 0, said
    done = json.loads(told)
    assert done["stopped"] == "it was stopped"
    assert profiles(house.data)[done["name"]].points
    assert {row[0] for row in attempts(house.data)} == {"settled"}


def test_quotes_have_no_engine_to_measure(house: RunningHouse) -> None:
    ran = house.soleira("measure", "quotes", "--yes")

    assert ran.returncode == 1
    assert "there is nothing to measure" in ran.stderr
