"""A deployment measured over HTTP: through the guard, on the house's account, and only where it is the house's own."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from fastapi import FastAPI

from gateway.api import errors, measuring
from gateway.catalog.deployments import Queue
from gateway.errors import BadRequest, Conflict, Forbidden, GatewayError, NotFound, Unavailable, UpstreamError
from gateway.owning import profiles
from gateway.owning.measuring import measure
from gateway.owning.measuring.bench import Bench
from gateway.owning.measuring.measure import Known, Wish
from policies.load import load_pack
from tests.fakes import DEVICE, HOSTED, LAN
from tests.fakes import deployment as callable_deployment
from tests.gateway.house import RULES, deployment, house, served
from tests.gateway.owning.engines import Clock, HttpEngine, Rates, http_engine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from gateway.runtime import Runtime

WISH = Wish("ours", contexts=(100, 400), concurrency=(1, 2), output_tokens=8)
ALL = 1 + 2 * 3 + 2 + 3
"""Requests that it comes to."""


def own(url: str, **more: Any) -> dict[str, Any]:
    return deployment("ours", url, engine="vllm", zone="device", model="kimi-k3", upstream_model="k3", **more)


def attempts(data: Path) -> list[Mapping[str, Any]]:
    with closing(sqlite3.connect(data / "ledger.db")) as ledger:
        ledger.row_factory = sqlite3.Row
        return [dict(row) for row in ledger.execute("SELECT * FROM attempts ORDER BY ordinal")]


def ready(runtime: Runtime, wish: Wish = WISH) -> measure.Ready:
    loaded = runtime.packs.current
    return measure.ready(wish, loaded.pack, loaded.catalog.deployments, Known())


def bench_of(runtime: Runtime, clock: Clock) -> Bench:
    return Bench(runtime.upstreams, runtime.writer, runtime.now, runtime.new_id, clock)


async def events(runtime: Runtime, wish: Wish = WISH, clock: Clock | None = None) -> list[dict[str, Any]]:
    """All that a measurement tells, on the clock of its engine."""
    bench, found = bench_of(runtime, clock or Clock()), ready(runtime, wish)
    return [event async for event in measure.run(bench, found, runtime.settings.data, asyncio.Event())]


async def test_the_rates_of_an_engine_come_out_over_http(tmp_path: Path) -> None:
    rates = Rates(latency=0.25, prefill=1000.0, tpot=lambda _: 0.02)
    async with http_engine(rates) as engine, house(tmp_path, [own(engine.url)]) as running:
        *_, done = await events(running.runtime, replace(WISH, concurrency=(1,)), engine.clock)

    profile = done["profile"]
    assert profile["points"][0]["prefill_tps"] == pytest.approx(1000, rel=0.01)
    assert profile["points"][0]["decode_tps"] == pytest.approx(50, rel=0.01)
    assert profile["contexts"][0]["ttft_ms"] == pytest.approx(350, rel=0.05)
    assert (profile["model"], profile["engine"], profile["gpu"], profile["stopped"]) == (
        "kimi-k3",
        "vllm",
        "unknown",
        None,
    )


async def test_the_profile_lies_where_scenarios_find_it(tmp_path: Path) -> None:
    wish = replace(WISH, gpu="b300", gpus=8, quant="native")
    async with http_engine(Rates()) as engine, house(tmp_path, [own(engine.url)]) as running:
        *_, done = await events(running.runtime, wish, engine.clock)

    found = profiles.profiles(tmp_path)["ours"]
    today = datetime.now(UTC).date()
    assert (found.name, found.gpu, found.gpus, found.quant, found.as_of) == (done["name"], "b300", 8, "native", today)
    assert found.source == "soleira measure ours"
    assert measure.as_dict(found) == done["profile"]  # type: ignore[arg-type]  # the owner's are Measured
    assert found.points[0].concurrency == 1


async def test_every_request_is_in_the_ledger_and_nobody_is_charged(tmp_path: Path) -> None:
    async with http_engine(Rates()) as engine, house(tmp_path, [own(engine.url)]) as running:
        *_, done = await events(running.runtime, clock=engine.clock)

    rows = attempts(tmp_path)
    assert len(rows) == len(engine.bodies) == done["requests"] == ALL
    assert {(row["principal"], row["tag"], row["bearer"], row["label"]) for row in rows} == {
        ("measure", "measure", "house", "public")
    }
    assert {(row["state"], row["outcome"], row["estimated"]) for row in rows} == {("settled", "ok", 0)}
    assert {row["output"] for row in rows} == {8}
    assert [row["ordinal"] for row in rows] == list(range(1, ALL + 1))
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as ledger:
        told = ledger.execute("SELECT id, principal, deployment, status, code FROM decisions").fetchall()
    assert told == [(rows[0]["decision_id"], "measure", "ours", 200, None)]


async def test_the_engine_is_asked_as_it_takes_it_and_hears_nobodys_words(tmp_path: Path) -> None:
    rules = {"strip": ["ignore_eos"], "rename": {"max_completion_tokens": "max_tokens"}}
    async with http_engine(Rates()) as engine, house(tmp_path, [own(engine.url, parameters=rules)]) as running:
        await events(running.runtime, clock=engine.clock)

    assert {frozenset(body) for body in engine.bodies} == {
        frozenset({"model", "messages", "max_tokens", "stream", "stream_options", "cache_salt"})
    }
    assert {(body["model"], body["max_tokens"], body["stream"]) for body in engine.bodies} == {("k3", 8, True)}
    [salt] = {body["cache_salt"] for body in engine.bodies}
    assert salt.startswith("dec_")  # its prefixes are no others'


@pytest.mark.parametrize(("name", "sent"), [("vllm", True), ("llama_server", True), ("openai", False)])
async def test_engines_that_know_how_are_told_to_write_to_the_limit(tmp_path: Path, name: str, sent: bool) -> None:
    async with http_engine(Rates()) as engine:
        async with house(tmp_path, [{**own(engine.url), "engine": name}]) as running:
            await events(running.runtime, clock=engine.clock)

    assert {body.get("ignore_eos", False) for body in engine.bodies} == {sent}


async def test_more_are_asked_at_once_after_one_alone(tmp_path: Path) -> None:
    waves = (1,) * 7 + (4,) + (1,) * 3
    async with http_engine(Rates(), waves=waves) as engine, house(tmp_path, [own(engine.url)]) as running:
        told = await events(running.runtime, replace(WISH, concurrency=(1, 4)), engine.clock)

    assert engine.most_running == 4
    assert len(engine.bodies) == sum(waves)
    assert [event["stage"] for event in told[:3]] == ["warm-up", "contexts", "contexts"]
    assert told[-2]["stage"] == "cache"
    assert {event["of"] for event in told[:-1]} == {sum(waves)}


async def test_a_failure_in_the_middle_keeps_what_was_measured(tmp_path: Path) -> None:
    async with http_engine(Rates(fails_at=6)) as engine, house(tmp_path, [own(engine.url)]) as running:
        *_, done = await events(running.runtime, clock=engine.clock)

    assert done["stopped"].startswith("a request failed: deployment 'ours'")
    assert len(engine.bodies) == 6  # it was not asked again
    assert profiles.profiles(tmp_path)["ours"].points[0].decode_tps is not None
    assert [row["outcome"] for row in attempts(tmp_path)] == ["ok"] * 5 + ["failed"]


async def test_an_engine_that_does_not_answer_leaves_no_profile(tmp_path: Path) -> None:
    async with http_engine(Rates(fails_at=1)) as engine, house(tmp_path, [own(engine.url)]) as running:
        with pytest.raises(UpstreamError):
            await events(running.runtime, clock=engine.clock)

    assert "ours" not in profiles.profiles(tmp_path)
    assert [(row["state"], row["outcome"]) for row in attempts(tmp_path)] == [("settled", "failed")]


# What may be measured.


def test_what_is_somebody_elses_is_refused_with_the_reason(tmp_path: Path) -> None:
    pack = write_pack(tmp_path, [deployment("theirs", "https://api.example.com/v1")])
    theirs = callable_deployment("https://api.example.com/v1", HOSTED, name="theirs")

    with pytest.raises(Forbidden, match="outside of the house: measuring it would cost money for every token"):
        measure.ready(Wish("theirs"), pack, [theirs], Known())


def test_a_rented_machine_of_ones_own_may_be_measured(tmp_path: Path) -> None:
    machines = {"node": {"marginal": {"currency": "USD", "per_million": {"input": 0.1, "output": 0.1}, **DATED}}}
    (tmp_path / "break_even.yaml").write_text(json.dumps({"machines": machines}))
    pack = write_pack(tmp_path, [{**deployment("rented", "https://gpu.example.com/v1"), "price": {"owned": "node"}}])
    rented = callable_deployment("https://gpu.example.com/v1", HOSTED, name="rented")

    assert measure.ready(Wish("rented"), pack, [rented], Known()).plan.contexts == (512, 2048, 8192)


@pytest.mark.parametrize("zone", [DEVICE, LAN])
def test_the_houses_own_zones_may_be_measured(tmp_path: Path, zone: Any) -> None:
    pack = write_pack(tmp_path, [])

    assert (
        measure.ready(Wish("near"), pack, [callable_deployment("http://x/v1", zone)], Known()).plan.output_tokens == 128
    )


DATED = {"source": "test", "as_of": "2026-11-01"}


def write_pack(folder: Path, deployments: list[dict[str, Any]]) -> Any:
    (folder / "rules.yaml").write_text(json.dumps(RULES))
    (folder / "deployments.yaml").write_text(json.dumps({"deployments": deployments}))
    return load_pack(folder)


async def test_what_answers_without_an_engine_or_is_not_there_is_told_apart(tmp_path: Path) -> None:
    async with house(tmp_path) as running:
        with pytest.raises(BadRequest, match="there is nothing to measure"):
            ready(running.runtime, Wish("quotes"))
        with pytest.raises(BadRequest, match="there is nothing to measure"):
            ready(running.runtime, Wish("e5-small"))
        with pytest.raises(NotFound, match="'soleira models list' shows them"):
            ready(running.runtime, Wish("nobody"))


NEAR = callable_deployment("http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("known", "contexts", "concurrency", "output"),
    [
        (Known(), (512, 2048, 8192), (1, 2, 4, 8, 16, 32), 128),
        (Known(context=4096, slots=4), (512, 2048), (1, 2, 4), 128),
        (Known(context=512, slots=1), (320,), (1,), 128),
        (Known(context=256), (128,), (1, 2, 4, 8, 16, 32), 64),
    ],
)
def test_a_plan_keeps_to_what_the_deployment_takes(
    tmp_path: Path, known: Known, contexts: tuple[int, ...], concurrency: tuple[int, ...], output: int
) -> None:
    plan = measure.ready(Wish("near"), write_pack(tmp_path, []), [NEAR], known).plan

    assert (plan.contexts, plan.concurrency, plan.output_tokens) == (contexts, concurrency, output)
    assert bool(plan.left_out) == (
        known != Known() and (contexts, concurrency) != (measure.CONTEXTS, measure.CONCURRENCY)
    )


def test_an_answer_is_no_longer_than_the_deployment_gives(tmp_path: Path) -> None:
    near = replace(NEAR, max_output=32, queue=Queue(2))

    assert measure.ready(Wish("near"), write_pack(tmp_path, []), [near], Known()).plan.output_tokens == 32


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        (Wish("near", contexts=(0,)), "contexts should be whole numbers from 1 to 10000000"),
        (Wish("near", concurrency=(5000,)), "concurrency should be whole numbers from 1 to 4096"),
        (Wish("near", output_tokens=1), "output tokens should be 2 or more"),
        (Wish("near", seconds=0), "takes some time, at most a week: change the limits"),
        (Wish("near", seconds=float("inf")), "takes some time, at most a week: change the limits"),
        (Wish("near", seconds=float("nan")), "takes some time, at most a week: change the limits"),
        (Wish("near", gpu="b\n300"), "gpu: should be one line of 1 to 120 characters"),
        (Wish("near", gpus=10**9), "gpus: input should be less than or equal to 100000"),
        (Wish("near", contexts=(4000,)), "takes 4096 tokens, of which 128 are for the answer: name shorter prompts"),
        (Wish("near", output_tokens=4090), "takes 4096 tokens, of which 4090 are for the answer"),
    ],
)
def test_a_wish_that_cannot_be_says_what_to_change(tmp_path: Path, wish: Wish, problem: str) -> None:
    with pytest.raises(BadRequest, match=problem):
        measure.ready(wish, write_pack(tmp_path, []), [NEAR], Known(context=4096))


def test_what_it_may_cost_is_said_before(tmp_path: Path) -> None:
    wish = Wish("near", contexts=(100,), concurrency=(1, 2), output_tokens=10)
    found = measure.ready(wish, write_pack(tmp_path, []), [NEAR], Known())

    requests, read = 1 + 3 + 2 + 3, 3 * 100 + 3 * 100 + 2 * 100
    assert found.plan.total == requests
    assert found.plan.most_tokens == read + requests * 10
    assert found.most_nano_usd == int((Decimal(2) * read + Decimal(8) * requests * 10) * 1000)


# The admin socket.


@asynccontextmanager
async def measured(tmp_path: Path, engine: HttpEngine) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A running house whose admin application measures."""
    async with house(tmp_path, [own(engine.url), deployment("theirs", engine.url)]) as running:
        admin = FastAPI()
        admin.state.runtime = running.runtime
        errors.register(admin)
        admin.include_router(measuring.router)
        async with served(admin) as url, aiohttp.ClientSession() as session:
            yield session, f"{url}/measure"


BODY = {"deployment": "ours", "contexts": [100, 400], "concurrency": [1, 2], "output_tokens": 8}


async def lines(response: aiohttp.ClientResponse) -> list[dict[str, Any]]:
    return [json.loads(line) async for line in response.content]


async def test_the_house_tells_each_step_and_then_the_profile(tmp_path: Path) -> None:
    async with http_engine(Rates(), pause=0.001) as engine, measured(tmp_path, engine) as (session, url):
        async with session.post(url, json=BODY) as response:
            told = await lines(response)
        async with session.post(url, json=BODY) as response:
            again = await lines(response)

    assert [event["event"] for event in told] == ["step"] * (len(told) - 1) + ["done"]
    assert [event["stage"] for event in told[:3]] == ["warm-up", "contexts", "contexts"]
    assert told[-1]["path"] == str(tmp_path / "capacity" / f"{told[-1]['name']}.yaml")
    assert again[-1]["name"] == f"{told[-1]['name']}-2"
    assert profiles.profiles(tmp_path)["ours"].name == again[-1]["name"]


async def test_a_plan_asks_nothing(tmp_path: Path) -> None:
    async with http_engine(Rates()) as engine, measured(tmp_path, engine) as (session, url):
        async with session.post(f"{url}/plan", json=BODY) as response:
            plan = await response.json()

    assert (plan["requests"], plan["contexts"], plan["zone"]) == (ALL, [100, 400], "device")
    assert engine.bodies == []


async def test_the_house_refuses_what_is_not_its_own_and_what_it_does_not_understand(tmp_path: Path) -> None:
    async with http_engine(Rates()) as engine, measured(tmp_path, engine) as (session, url):
        answers = []
        for change in ({"deployment": "theirs"}, {"deployment": "nobody"}, {"requests": 0}, {"gpus": "many"}):
            async with session.post(url, json={**BODY, **change}) as response:
                answers.append((response.status, (await response.json())["error"]["code"]))

    assert answers == [
        (Forbidden.status, "forbidden"),
        (NotFound.status, "not_found"),
        (400, "invalid_request"),
        (400, "invalid_request"),
    ]
    assert engine.bodies == []


async def test_two_measurements_would_slow_each_other_down(tmp_path: Path) -> None:
    async with http_engine(Rates(), pause=0.02) as engine, measured(tmp_path, engine) as (session, url):
        async with session.post(url, json=BODY) as first:
            await first.content.readline()
            async with session.post(url, json=BODY) as second:
                refused = second.status, (await second.json())["error"]["message"]
            told = await lines(first)
        async with session.post(f"{url}/stop") as response:
            nothing = await response.json()

    assert refused[0] == Conflict.status
    assert refused[1].startswith("deployment 'ours' is being measured")
    assert told[-1]["event"] == "done"
    assert nothing == {"deployment": None}


async def test_stop_ends_it_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    async with http_engine(Rates(), pause=0.02) as engine, measured(tmp_path, engine) as (session, url):
        async with session.post(url, json=BODY) as running:
            for _ in range(2):  # the warm-up, and the first length
                await running.content.readline()
            async with session.post(f"{url}/stop") as response:
                stopped = await response.json()
            done = (await lines(running))[-1]

    assert stopped == {"deployment": "ours"}
    assert done["stopped"] == "it was stopped"
    assert done["profile"]["contexts"]
    assert profiles.profiles(tmp_path)["ours"].name == done["name"]
    assert {row["state"] for row in attempts(tmp_path)} == {"settled"}


async def test_whoever_hangs_up_has_it_stopped_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    async with http_engine(Rates(), pause=0.02) as engine, measured(tmp_path, engine) as (session, url):
        async with session.post(url, json={**BODY, "contexts": [100, 200, 400, 800]}) as running:
            for _ in range(2):
                await running.content.readline()
            running.close()
        async with asyncio.timeout(20):
            while "ours" not in profiles.profiles(tmp_path):
                await asyncio.sleep(0.02)
        asked = len(engine.bodies)
        await asyncio.sleep(0.2)

    assert asked == len(engine.bodies)
    assert profiles.profiles(tmp_path)["ours"].points


async def test_an_engine_that_fails_at_once_is_told_in_the_stream(tmp_path: Path) -> None:
    async with http_engine(Rates(fails_at=1)) as engine, measured(tmp_path, engine) as (session, url):
        async with session.post(url, json=BODY) as response:
            told = await lines(response)

    assert [event["event"] for event in told] == ["failed"]
    assert told[0]["error"]["code"] != GatewayError.code


# What goes wrong meanwhile.


async def test_a_device_that_soleira_does_not_know_is_said_before(tmp_path: Path) -> None:
    pack = write_pack(tmp_path, [])
    known = measure.ready(Wish("near", gpu="B300"), pack, [NEAR], Known()).as_dict()["notes"]
    [told] = measure.ready(Wish("near", gpu="b30"), pack, [NEAR], Known()).as_dict()["notes"]

    assert known == []
    assert "b300" in told
    assert told.endswith("the profile will be compared with no scenario of another name")


async def test_where_nothing_can_be_kept_nothing_is_asked(tmp_path: Path) -> None:
    (tmp_path / "capacity").write_text("in its place")
    async with http_engine(Rates()) as engine, house(tmp_path, [own(engine.url)]) as running:
        with pytest.raises(Unavailable, match="nothing was measured, for it would be lost"):
            await events(running.runtime, clock=engine.clock)

    assert engine.bodies == []


async def test_what_can_no_longer_be_kept_is_told_all_the_same(tmp_path: Path) -> None:
    async with http_engine(Rates()) as engine, house(tmp_path, [own(engine.url)]) as running:
        bench = bench_of(running.runtime, engine.clock)
        told = []
        async for event in measure.run(bench, ready(running.runtime), tmp_path, asyncio.Event()):
            told.append(event)
            if event["event"] == "step" and event["stage"] == "warm-up":
                (tmp_path / "capacity").rmdir()
                (tmp_path / "capacity").write_text("in its place")

    done = told[-1]
    assert (done["event"], done["path"], done["leads"]) == ("done", None, False)
    assert done["not_kept"] == f"{tmp_path / 'capacity'} cannot be written: File exists"
    assert len(done["profile"]["contexts"]) == 2
    assert done["profile"]["points"][0]["decode_tps"] > 0


async def test_failures_under_load_keep_nobodys_requests_away(tmp_path: Path) -> None:
    async with http_engine(Rates(fails_at=8)) as engine, house(tmp_path, [own(engine.url)]) as running:
        engine.failure = "429 Too Many\r\nRetry-After: 60"
        *_, done = await events(running.runtime, clock=engine.clock)
        state = running.runtime.upstreams.cooldown.state("ours")

    assert done["stopped"] == "a request failed: deployment 'ours' is at its rate limit"
    assert state == "closed"


async def test_a_deployment_that_sleeps_is_woken_by_the_first_request(tmp_path: Path) -> None:
    woken: list[str] = []
    async with http_engine(Rates()) as engine:
        asleep = own("http://127.0.0.1:1/v1", wake={"command": ["true"], "seconds": 30})
        async with house(tmp_path, [asleep]) as running:
            found = ready(running.runtime)
            awake = replace(found.deployment)

            class Waking:
                async def wake(self, deployment: Any) -> None:
                    woken.append(deployment.name)
                    object.__setattr__(awake, "base_url", engine.url)

                def start(self, deployment: Any) -> None:
                    raise AssertionError("nobody waits for it")

            upstreams = replace(running.runtime.upstreams, waking=Waking())
            bench = replace(bench_of(running.runtime, engine.clock), upstreams=upstreams)
            told = [e async for e in measure.run(bench, replace(found, deployment=awake), tmp_path, asyncio.Event())]

    assert woken == ["ours"]
    assert told[-1]["stopped"] is None
    assert [row["outcome"] for row in attempts(tmp_path)] == ["failed"] + ["ok"] * ALL


async def test_one_that_sleeps_and_cannot_be_woken_is_an_error(tmp_path: Path) -> None:
    async with house(tmp_path, [own("http://127.0.0.1:1/v1")]) as running:
        with pytest.raises(UpstreamError, match=r"cannot be reached: is it running\?"):
            await events(running.runtime)


async def test_an_engine_that_never_ends_its_answer_is_hung_up_on(tmp_path: Path) -> None:
    engines = http_engine(Rates(), pause=0.0005, overlong=True)
    async with engines as engine, house(tmp_path, [own(engine.url)]) as running:
        with pytest.raises(UpstreamError, match="'ours' writes on and on, whatever limit an answer is given"):
            await events(running.runtime, clock=engine.clock)

    [row] = attempts(tmp_path)
    assert (row["state"], row["outcome"], row["estimated"]) == ("settled", "failed", 1)
    assert 4 * 8 + 256 <= row["output"] < 4 * (4 * 8 + 256)  # what went by is estimated, not forgotten


async def test_a_request_of_somebody_elses_within_a_wave_is_told_of(tmp_path: Path) -> None:
    async with http_engine(Rates()) as engine, house(tmp_path, [own(engine.url)]) as running:
        queues = running.runtime.upstreams.queues
        alone = await events(running.runtime, clock=engine.clock)
        at = ready(running.runtime).deployment
        bench = bench_of(running.runtime, engine.clock)
        told = []
        async for event in measure.run(bench, ready(running.runtime), tmp_path, asyncio.Event()):
            told.append(event)
            if len(told) == 2:
                async with queues.enter(at, None):  # comes and goes before the next wave begins
                    pass

    others = "the engine answered others meanwhile, which makes it look slower"
    assert others not in alone[-1]["notes"]
    assert others in told[-1]["notes"]
