"""Nothing leaves for a place that the label, the zone or the address forbids."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from gateway.errors import LabelExceedsClearance, NotLocal, UpstreamError
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.guard import Guard
from policies.labels import INTERNAL, PRIVATE, PUBLIC, Label, Level
from tests.fakes import DEVICE, HOSTED, LAN, NEAR_HOSTED, Names, deployment
from tests.wire.serving import serving
from tests.wire.sink import recording_sink
from tests.wire.upstream import Upstream, answer, completion, fake_upstream, stream

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.catalog.deployments import Deployment
    from policies.zones import Zone


async def ask(guard: Guard, at: Deployment, label: Label = PUBLIC) -> bytes:
    async with HttpClient(guard).send(at, Outgoing(b'{"secret": 1}', label, stream=False)) as reply:
        return await reply.read(1_000_000)


@pytest.mark.parametrize("label", [PRIVATE, Label.of(Level.SECRET), Label.of(Level.PRIVATE, "health")])
async def test_a_zone_below_the_label_is_never_connected_to(label: Label) -> None:
    async with recording_sink() as sink, Guard() as guard:
        with pytest.raises(LabelExceedsClearance, match="hosted"):
            await ask(guard, deployment(sink.url, NEAR_HOSTED), label)

    assert sink.connections == 0


async def test_a_zone_that_covers_the_label_is_reached() -> None:
    async with fake_upstream(answer(completion("Olá"))) as upstream, Guard() as guard:
        assert "Ol" in (await ask(guard, deployment(upstream.url, NEAR_HOSTED), INTERNAL)).decode()

    assert upstream.requests[0].body == b'{"secret": 1}'


@pytest.mark.parametrize("zone", [HOSTED, LAN])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "house.example", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f000001"]
)
async def test_an_address_outside_of_the_zone_is_never_connected_to(zone: Zone, host: str) -> None:
    names = Names({"house.example": [["127.0.0.1"]], "0x7f000001": [["127.0.0.1"]]})
    async with recording_sink() as sink, Guard(names) as guard:
        with pytest.raises(UpstreamError):
            await ask(guard, deployment(f"http://{host}:{sink.port}/v1", zone))

    assert sink.connections == 0


@pytest.mark.parametrize(
    "addresses",
    [
        ["93.184.216.34"],
        ["127.0.0.1", "93.184.216.34"],
        ["127.0.0.1", "10.0.0.1"],
        ["127.0.0.1", "::ffff:93.184.216.34"],
        ["127.0.0.1", "64:ff9b::5db8:d822"],
        ["127.0.0.1", "0.0.0.0"],
        ["127.0.0.1", "sink.example"],
        [],
    ],
)
async def test_one_address_outside_of_the_zone_refuses_all(addresses: list[str]) -> None:
    async with recording_sink() as sink, Guard(Names({"house.example": [addresses]})) as guard:
        with pytest.raises(NotLocal, match="outside of its zone 'device'"):
            await ask(guard, deployment(f"http://house.example:{sink.port}/v1", DEVICE))

    assert sink.connections == 0


async def test_a_name_that_turns_after_the_check_is_refused_at_the_dial() -> None:
    names = Names({"nas.example": [["10.0.0.5"], ["127.0.0.1"]]})
    async with recording_sink() as sink, Guard(names) as guard:
        at = deployment(f"http://nas.example:{sink.port}/v1", LAN)
        await guard.prove([at])
        with pytest.raises(NotLocal):
            await ask(guard, at)

    assert sink.connections == 0


async def test_a_name_that_turns_between_two_connections_is_refused() -> None:
    names = Names({"house.example": [["127.0.0.1"], ["93.184.216.34"]]})
    closing = answer(completion(), headers={"Connection": "close"})
    async with fake_upstream(closing) as upstream, Guard(names) as guard:
        at = deployment(f"http://house.example:{upstream.port}/v1")
        await ask(guard, at)
        with pytest.raises(NotLocal):
            await ask(guard, at)

    assert len(upstream.requests) == 1


async def test_a_name_is_resolved_once_a_connection() -> None:
    names = Names({"house.example": [["127.0.0.1"]]})
    async with fake_upstream(answer(completion(), ending="keep")) as upstream, Guard(names) as guard:
        at = deployment(f"http://house.example:{upstream.port}/v1")
        await ask(guard, at)
        await ask(guard, at)

    assert (names.asked, upstream.connections) == (["house.example"], 1)
    assert upstream.requests[0].headers["host"] == f"house.example:{upstream.port}"


async def test_a_pooled_connection_does_not_outlive_its_zone() -> None:
    async with fake_upstream(answer(completion(), ending="keep")) as upstream, Guard() as guard:
        await ask(guard, deployment(upstream.url, DEVICE))
        with pytest.raises(NotLocal):
            await ask(guard, deployment(upstream.url, LAN))

    assert len(upstream.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    async with recording_sink() as sink:
        elsewhere = answer(b"", status=status, headers={"Location": sink.url})
        async with fake_upstream(elsewhere) as upstream, Guard() as guard:
            with pytest.raises(UpstreamError, match="redirects are not followed"):
                await ask(guard, deployment(upstream.url))

    assert (sink.connections, len(upstream.requests)) == (0, 1)


async def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password canary\n")
    keylog = tmp_path / "keys.log"
    async with recording_sink() as sink, fake_upstream(answer(completion())) as upstream:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{sink.port}")
        monkeypatch.setenv("NETRC", str(netrc))
        monkeypatch.setenv("SSLKEYLOGFILE", str(keylog))
        async with Guard() as guard:
            await ask(guard, deployment(upstream.url))

    assert sink.connections == 0
    assert "authorization" not in upstream.requests[0].headers
    assert not keylog.exists()


async def test_only_the_deployments_own_key_and_no_cookie_goes_along() -> None:
    first = answer(completion(), headers={"Set-Cookie": "id=canary; Path=/"}, ending="keep")
    async with fake_upstream(first) as upstream, Guard() as guard:
        at = deployment(upstream.url, api_key="sk-own")
        await ask(guard, at)
        await ask(guard, at)

    for request in upstream.requests:
        assert set(request.headers) == {
            "host", "accept", "accept-encoding", "authorization", "content-length", "content-type", "user-agent",
        }  # fmt: skip
        assert (request.headers["authorization"], request.headers["user-agent"]) == ("Bearer sk-own", "soleira")
        assert request.path == "/v1/chat/completions"


async def test_an_answer_that_is_left_half_read_hangs_up() -> None:
    async with fake_upstream(stream(b": a\n\n", ending="hang")) as upstream, Guard() as guard:
        async with HttpClient(guard).send(deployment(upstream.url), Outgoing(b"{}", PUBLIC, stream=True)) as reply:
            await anext(reply.chunks())

        await asyncio.wait_for(upstream.left.wait(), 2)


async def test_a_unix_socket_belongs_to_this_machine(tmp_path: Path) -> None:
    upstream = Upstream((answer(completion("do soquete")),))
    url = f"unix:{tmp_path}/e.sock:/v1"
    async with serving(upstream.handle, tmp_path / "e.sock"), Guard() as guard:
        with pytest.raises(NotLocal):
            await ask(guard, deployment(url, LAN))
        content = await ask(guard, deployment(url, DEVICE))

    assert b"do soquete" in content
    assert [request.path for request in upstream.requests] == ["/v1/chat/completions"]


async def test_a_deployment_without_an_address_is_refused() -> None:
    async with Guard() as guard:
        with pytest.raises(NotLocal, match="no address"):
            await ask(guard, deployment(""))


@pytest.mark.parametrize(("zone", "address"), [(DEVICE, "93.184.216.34"), (DEVICE, "10.0.0.2"), (LAN, "93.184.216.34")])
async def test_a_local_deployment_that_leads_elsewhere_is_refused_at_start(zone: Zone, address: str) -> None:
    async with Guard(Names({"house.example": [[address]]})) as guard:
        with pytest.raises(NotLocal):
            await guard.prove([deployment("http://house.example/v1", zone)])


async def test_hosted_names_are_not_looked_up_at_start() -> None:
    names = Names({})
    async with Guard(names) as guard:
        await guard.prove([deployment("https://api.example/v1", HOSTED), deployment("unix:/x:/v1"), deployment("")])

    assert names.asked == []


async def test_a_machine_that_is_off_at_start_is_no_reason_to_refuse() -> None:
    async def unknown(host: str, _port: int) -> list[str]:
        raise OSError(host)

    async with Guard(unknown) as guard:
        await guard.prove([deployment("http://nas.example/v1", LAN)])
