"""A sleeping deployment is woken once, by a program or a knock, and told when it does not wake up."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gateway.catalog.deployments import Wake
from gateway.errors import NotLocal, UpstreamUnavailable
from gateway.upstream.guard import Guard
from gateway.upstream.waking import Waking
from tests.fakes import LAN, deployment
from tests.gateway.upstream.probes.engines import engine, listed

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.catalog.deployments import Deployment
    from tests.gateway.upstream.probes.engines import FakeEngine, Page

ASLEEP: dict[str, Page] = {"/health": (503, "")}
AWAKE: dict[str, Page] = {"/health": (200, ""), "/v1/models": listed({"id": "small"})}


def sleeping(fake: FakeEngine, wake: Wake, *, api_key: str | None = None) -> Deployment:
    return replace(deployment(fake.url, api_key=api_key), engine="vllm", wake=wake)


def command(program: str, *arguments: object, seconds: float = 20.0) -> Wake:
    return Wake((sys.executable, "-c", program, *map(str, arguments)), None, seconds)


def waking(guard: Guard, *, rest_seconds: float = 30.0) -> Waking:
    return Waking(guard, poll_seconds=0.01, rest_seconds=rest_seconds)


async def until_there(path: Path) -> str:
    while not (text := written(path)):
        await asyncio.sleep(0.01)
    return text


def written(path: Path) -> str:
    return path.read_text() if path.exists() else ""


TOUCH = "import sys; open(sys.argv[1], 'a').write('woken ')"


async def test_a_program_wakes_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with engine(ASLEEP) as fake, Guard() as guard, waking(guard) as wakes:
        waiting = asyncio.create_task(wakes.wake(sleeping(fake, command(TOUCH, mark))))
        await until_there(mark)
        fake.pages.update(AWAKE)
        await waiting

    assert mark.read_text() == "woken "


async def test_one_that_is_awake_already_is_left_alone(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with engine(AWAKE) as fake, Guard() as guard, waking(guard) as wakes:
        await wakes.wake(sleeping(fake, command(TOUCH, mark)))

    assert not mark.exists()


async def test_many_who_wait_wake_it_once(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with engine(ASLEEP) as fake, Guard() as guard, waking(guard) as wakes:
        asleep = sleeping(fake, command(TOUCH, mark))
        wakes.start(asleep)
        waiting = [asyncio.create_task(wakes.wake(asleep)) for _ in range(8)]
        await until_there(mark)
        waiting[0].cancel()  # whoever leaves does not take the wake along
        fake.pages.update(AWAKE)
        ended = await asyncio.gather(*waiting, return_exceptions=True)

    assert mark.read_text() == "woken "
    assert isinstance(ended[0], asyncio.CancelledError)
    assert ended[1:] == [None] * 7


async def test_a_knock_wakes_it_without_the_deployments_key() -> None:
    async with engine(ASLEEP) as fake, engine({"/start?box=1": (202, "")}) as door, Guard() as guard:
        url = f"http://127.0.0.1:{door.port}/start?box=1"
        async with waking(guard) as wakes:
            waiting = asyncio.create_task(wakes.wake(sleeping(fake, Wake(None, url, 20.0), api_key="sk-own")))
            while not door.asked:
                await asyncio.sleep(0.01)
            fake.pages.update(AWAKE)
            await waiting

    assert door.asked == ["/start?box=1"]
    assert door.heads[0].startswith(b"POST ")
    assert b"sk-own" not in door.heads[0]
    assert door.bodies == [b""]


async def test_a_knock_at_an_address_outside_of_the_zone_is_not_made() -> None:
    async with engine({"/start": (200, "")}) as door, Guard() as guard:
        asleep = replace(deployment("http://10.0.0.1/v1", LAN), engine="vllm")
        with pytest.raises(NotLocal):
            await guard.knock(asleep, f"http://127.0.0.1:{door.port}/start", 5.0)

    assert door.asked == []


@pytest.mark.parametrize("status", [404, 500])
async def test_a_door_that_refuses_is_told(status: int) -> None:
    async with engine(ASLEEP) as fake, engine({"/start": (status, "")}) as door, Guard() as guard:
        async with waking(guard) as wakes:
            url = f"http://127.0.0.1:{door.port}/start"
            with pytest.raises(UpstreamUnavailable, match=f"wake URL answered with status {status}"):
                await wakes.wake(sleeping(fake, Wake(None, url, 20.0)))


async def test_a_door_that_is_not_there_is_told() -> None:
    async with engine({}) as door:
        pass
    async with engine(ASLEEP) as fake, Guard() as guard, waking(guard) as wakes:
        with pytest.raises(UpstreamUnavailable, match="wake URL does not answer"):
            await wakes.wake(sleeping(fake, Wake(None, f"http://127.0.0.1:{door.port}/start", 20.0)))


async def test_a_program_that_fails_is_told_by_its_status_alone() -> None:
    async with engine(ASLEEP) as fake, Guard() as guard, waking(guard) as wakes:
        failing = command("import sys; print('canary'); sys.exit(7)")
        with pytest.raises(UpstreamUnavailable, match="ended with status 7") as caught:
            await wakes.wake(sleeping(fake, failing))

    assert "canary" not in str(caught.value)


async def test_a_program_that_is_not_there_is_named() -> None:
    async with engine(ASLEEP) as fake, Guard() as guard, waking(guard) as wakes:
        with pytest.raises(UpstreamUnavailable, match=r"'/nowhere/wake' cannot be run \(No such file"):
            await wakes.wake(sleeping(fake, Wake(("/nowhere/wake",), None, 5.0)))


async def test_one_that_does_not_wake_up_is_told_and_its_program_ended(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    async with engine(ASLEEP) as fake, Guard() as guard, waking(guard) as wakes:
        with pytest.raises(UpstreamUnavailable, match="did not wake up within"):
            await wakes.wake(sleeping(fake, command(program, mark, seconds=2.0)))
        assert not mark.exists() or not is_running(int(mark.read_text() or "0"))


async def test_a_program_that_is_the_server_runs_until_the_house_ends(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    async with engine(ASLEEP) as fake, Guard() as guard:
        async with waking(guard) as wakes:
            waiting = asyncio.create_task(wakes.wake(sleeping(fake, command(program, mark))))
            pid = int(await until_there(mark))
            fake.pages.update(AWAKE)
            await waiting
            assert is_running(pid)

        assert not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return pid > 0


async def test_a_wake_that_failed_is_not_tried_again_at_once(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with engine(ASLEEP) as fake, Guard() as guard, waking(guard) as wakes:
        asleep = sleeping(fake, command(TOUCH + "; sys.exit(3)", mark))
        for _ in range(3):
            with pytest.raises(UpstreamUnavailable, match="status 3"):
                await wakes.wake(asleep)
            wakes.start(asleep)

    assert mark.read_text() == "woken "


async def test_after_a_rest_it_is_tried_again(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with engine(ASLEEP) as fake, Guard() as guard, waking(guard, rest_seconds=0.0) as wakes:
        asleep = sleeping(fake, command(TOUCH + "; sys.exit(3)", mark))
        for _ in range(2):
            with pytest.raises(UpstreamUnavailable, match="status 3"):
                await wakes.wake(asleep)

    assert mark.read_text() == "woken woken "


async def test_a_program_sees_no_key_of_the_house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOONSHOT_API_KEY", "sk-canary")
    monkeypatch.setenv("LC_TIME", "pt_BR.UTF-8")
    mark = tmp_path / "environment"
    program = "import os, sys; open(sys.argv[1], 'w').write(repr(dict(os.environ)))"
    async with engine(ASLEEP) as fake, Guard() as guard, waking(guard) as wakes:
        waiting = asyncio.create_task(wakes.wake(sleeping(fake, command(program, mark))))
        told = await until_there(mark)
        fake.pages.update(AWAKE)
        await waiting

    assert "canary" not in told
    assert "'PATH'" in told
    assert "pt_BR.UTF-8" in told


async def test_one_that_nobody_can_wake_is_refused_at_once() -> None:
    async with Guard() as guard, waking(guard) as wakes:
        with pytest.raises(UpstreamUnavailable, match="nothing says how to wake it"):
            await wakes.wake(deployment("http://127.0.0.1:1/v1"))


async def test_leaving_ends_the_wakes_under_way(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    async with engine(ASLEEP) as fake, Guard() as guard:
        async with waking(guard) as wakes:
            wakes.start(sleeping(fake, command(program, mark)))
            pid = int(await until_there(mark))

        assert not is_running(pid)
