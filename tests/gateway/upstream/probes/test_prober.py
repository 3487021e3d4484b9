"""Own deployments are looked at by themselves, hosted ones never."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from gateway.catalog.load import Catalog
from gateway.catalog.observed import Observed
from gateway.catalog.packs import Loaded
from gateway.settings import HOME_PACK
from gateway.upstream.guard import Guard
from gateway.upstream.probes.prober import Pace, Prober, is_own, now
from policies.load import load_pack
from policies.zones import Addresses
from tests.fakes import DEVICE, HOSTED, LAN, NEAR_HOSTED, deployment
from tests.gateway.upstream.probes.engines import VLLM, engine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.catalog.deployments import Deployment
    from policies.zones import Zone


@dataclass
class Packs:
    """A pack in force that the test changes."""

    current: Loaded

    def put(self, *deployments: Deployment) -> None:
        self.current = Loaded(self.current.pack, Catalog(deployments))


def packs(*deployments: Deployment) -> Packs:
    return Packs(Loaded(load_pack(HOME_PACK), Catalog(deployments)))


def vllm(url: str, name: str = "ours") -> Deployment:
    return replace(deployment(url, name=name), engine="vllm")


def networks(*words: str) -> Addresses:
    return Addresses(frozenset(), tuple(map(ip_network, words)))


async def test_own_deployments_are_looked_at_and_hosted_ones_are_not() -> None:
    async with engine(VLLM) as own, engine(VLLM) as hosted, Guard() as guard:
        anywhere = replace(NEAR_HOSTED, addresses=Addresses(frozenset({"any"})))
        prober = Prober(guard, Observed(now), packs(vllm(own.url), replace(vllm(hosted.url, "theirs"), zone=anywhere)))
        await prober.round()

    assert prober.observed.of("ours") is not None
    assert (prober.observed.of("theirs"), hosted.asked) == (None, [])


async def test_a_hosted_one_is_looked_at_by_command() -> None:
    async with engine(VLLM) as hosted, Guard() as guard:
        theirs = replace(vllm(hosted.url, "theirs"), zone=NEAR_HOSTED)
        prober = Prober(guard, Observed(now), packs(theirs))
        seen = await prober.probe(theirs)

    assert seen.up
    assert prober.observed.of("theirs") == seen


async def test_between_two_looks_only_the_load_of_busy_ones_is_read() -> None:
    quiet = {**VLLM, "/metrics": (200, "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n")}
    async with engine(VLLM) as busy, engine(quiet) as idle, Guard() as guard:
        held = packs(vllm(busy.url, "busy"), vllm(idle.url, "idle"))
        prober = Prober(guard, Observed(now), held, busy=lambda name: name == "busy")
        await prober.round()
        busy.asked.clear()
        idle.asked.clear()
        await prober.round()

    assert (busy.asked, idle.asked) == (["/metrics"], [])


async def test_where_many_waited_the_load_is_read_again_though_nobody_is_sent_there() -> None:
    crowded = {**VLLM, "/metrics": (200, "vllm:num_requests_running 8\nvllm:num_requests_waiting 5\n")}
    async with engine(crowded) as fake, Guard() as guard:
        prober = Prober(guard, Observed(now), packs(vllm(fake.url)))
        await prober.round()
        fake.pages["/metrics"] = (200, "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n")
        await prober.round()
        fake.asked.clear()
        await prober.round()

    seen = prober.observed.of("ours")
    assert seen is not None
    assert (seen.waiting, fake.asked) == (0, [])


async def test_what_is_due_is_looked_at_whole() -> None:
    async with engine(VLLM) as fake, Guard() as guard:
        prober = Prober(guard, Observed(now), packs(vllm(fake.url)), pace=Pace(whole=0.0))
        await prober.round()
        await prober.round()

    assert fake.asked.count("/health") == 2


async def test_one_that_is_down_is_looked_at_sooner() -> None:
    async with engine({"/health": (503, "")}) as fake, Guard() as guard:
        prober = Prober(guard, Observed(now), packs(vllm(fake.url)), pace=Pace(down=0.0))
        await prober.round()
        fake.pages.update(VLLM)
        await prober.round()
        await prober.round()

    seen = prober.observed.of("ours")
    assert seen is not None
    assert seen.up
    assert fake.asked.count("/health") == 2


async def test_a_deployment_that_leads_elsewhere_is_looked_at_anew() -> None:
    async with engine(VLLM) as first, engine(VLLM) as second, Guard() as guard:
        held = packs(vllm(first.url))
        prober = Prober(guard, Observed(now), held)
        await prober.round()
        held.put(vllm(second.url))
        await prober.round()
        held.put()
        await prober.round()

    assert second.asked
    assert prober.observed.of("ours") is None


async def test_one_that_goes_and_comes_back_is_told_once_each() -> None:
    async with engine(VLLM) as fake, Guard() as guard:
        prober = Prober(guard, Observed(now), packs(vllm(fake.url)))
        with capture_logs() as logs:
            for status in (200, 500, 500, 200):
                fake.pages["/health"] = (status, "")
                await prober.probe(vllm(fake.url))

    assert [entry["up"] for entry in logs if entry["event"] == "deployment_seen"] == [True, False, True]


async def test_the_loop_looks_at_once_and_goes_on_until_it_is_cancelled() -> None:
    async with engine(VLLM) as fake, Guard() as guard:
        prober = Prober(guard, Observed(now), packs(vllm(fake.url)), pace=Pace(whole=0.0, load=0.001))
        looking = asyncio.create_task(prober.run())
        while fake.asked.count("/health") < 3:
            await asyncio.sleep(0.001)
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking


class _Broken(Guard):
    async def get(self, deployment: Deployment, path: str) -> object:  # type: ignore[override]
        if deployment.name == "odd":
            raise ZeroDivisionError(path)
        return await super().get(deployment, path)


async def test_an_unforeseen_failure_of_one_does_not_end_the_looks_at_the_others() -> None:
    async with engine(VLLM) as fake, _Broken() as guard:
        prober = Prober(guard, Observed(now), packs(vllm(fake.url, "odd"), vllm(fake.url)))
        with capture_logs() as logs:
            await prober.round()

    assert [entry["deployment"] for entry in logs if entry["event"] == "probe_failed"] == ["odd"]
    assert prober.observed.of("ours") is not None


@pytest.mark.parametrize(
    ("zone", "kind", "own"),
    [
        (DEVICE, "openai", True),
        (LAN, "tokenspeed", True),
        (HOSTED, "vllm", False),
        (replace(LAN, addresses=Addresses(frozenset({"any"}))), "ollama", False),
        (replace(LAN, addresses=Addresses(frozenset({"private", "public"}))), "vllm", False),
    ],
)
def test_what_is_own_is_told_by_the_zones_addresses(zone: Zone, kind: str, own: bool) -> None:
    assert is_own(replace(deployment("http://10.0.0.1/v1", zone), engine=kind)) is own


@pytest.mark.parametrize(
    ("words", "kind", "own"),
    [
        (["10.20.0.0/16"], "openai", True),
        (["203.0.113.7/32", "10.0.0.0/8"], "vllm", True),  # rented machines that serve our own weights
        (["8.8.8.8/32"], "moonshot", False),
    ],
)
def test_pinned_addresses_are_own_where_the_engine_is(words: Iterable[str], kind: str, own: bool) -> None:
    zone = replace(LAN, addresses=networks(*words))

    assert is_own(replace(deployment("http://10.0.0.1/v1", zone), engine=kind)) is own


def test_one_without_an_address_is_not_asked() -> None:
    assert not is_own(deployment(""))
