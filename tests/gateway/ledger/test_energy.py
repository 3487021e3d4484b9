"""Meters: what a Prometheus server says becomes readings, and nobody outside of the house is ever asked."""

from __future__ import annotations

import asyncio
import math
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from gateway.db import readings
from gateway.db.readings import MeterReading
from gateway.errors import BadRequest, NotFound
from gateway.ledger.energy import follow, integrated, read_meters, take_in
from gateway.ledger.prometheus import MeterUnread, Sample, _near_socket, samples
from policies.machines import PrometheusMeter
from tests.gateway.ledger.test_machines import pack_with as pack_with

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sqlalchemy.ext.asyncio import AsyncEngine

    from policies.load import Pack
    from tests.db.stores import Store

MINUTE = timedelta(minutes=1)
START = datetime(2026, 11, 1, tzinfo=UTC)
QUERY = 'sum(shelly_power_watts{room="rack"})'


def steady(watts: float, start: datetime, minutes: int) -> list[Sample]:
    return [Sample(start + number * MINUTE, watts) for number in range(minutes)]


@dataclass
class Prometheus:
    """A server that answers range queries as Prometheus does: each minute's watts, from `watts`."""

    watts: Callable[[datetime], float | None] = lambda moment: 600.0
    asked: list[dict[str, str]] = field(default_factory=list)
    answer: Callable[[web.Request], web.Response] | None = None
    url: str = ""

    async def query_range(self, request: web.Request) -> web.Response:
        self.asked.append(dict(request.query))
        if self.answer is not None:
            return self.answer(request)
        start, end, step = (int(request.query[name]) for name in ("start", "end", "step"))
        seen = ((second, self.watts(datetime.fromtimestamp(second, UTC))) for second in range(start, end + 1, step))
        values = [[second, str(watts)] for second, watts in seen if watts is not None]
        result = [{"metric": {"room": "rack"}, "values": values}] if values else []
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": result}})


@asynccontextmanager
async def serving(server: Prometheus) -> AsyncIterator[PrometheusMeter]:
    app = web.Application()
    app.router.add_get("/api/v1/query_range", server.query_range)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield PrometheusMeter(url=server.url, query=QUERY)
    finally:
        await runner.cleanup()


def answering(status: int, body: Any) -> Callable[[web.Request], web.Response]:
    return lambda request: web.json_response(body, status=status)


def series(*watts: list[str]) -> dict[str, Any]:
    result = [{"metric": {}, "values": [[START.timestamp(), each] for each in one]} for one in watts]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


async def test_an_hour_of_600_watts_is_600_watt_hours() -> None:
    server = Prometheus()
    async with serving(server) as meter:
        seen = await samples(meter, START, START + timedelta(hours=1))

    found = integrated("node", seen)

    assert [(row.starts_at, row.ends_at, row.milliwatt_hours) for row in found] == [
        (START, START + 30 * MINUTE, 300_000),
        (START + 30 * MINUTE, START + 60 * MINUTE, 300_000),
    ]
    assert server.asked == [{"query": QUERY, "start": "1793491200", "end": "1793494740", "step": "60"}]


def test_where_samples_are_missing_there_is_no_reading() -> None:
    seen = [*steady(60, START, 10), *steady(120, START + 12 * MINUTE, 5)]

    found = integrated("node", seen)

    assert [(row.starts_at, row.ends_at, row.milliwatt_hours) for row in found] == [
        (START, START + 10 * MINUTE, 10_000),
        (START + 12 * MINUTE, START + 17 * MINUTE, 10_000),
    ]


def test_a_power_that_changes_is_added_up() -> None:
    [found] = integrated("node", [Sample(START, 100.5), Sample(START + MINUTE, 50.25)])

    assert found.milliwatt_hours == round((100.5 + 50.25) * 1000 / 60)


async def test_what_is_no_power_is_left_out() -> None:
    server = Prometheus(answer=answering(200, series(["NaN", "+Inf", "-5", "x", "7"])))
    async with serving(server) as meter:
        seen = await samples(meter, START, START + MINUTE)

    assert [sample.watts for sample in seen] == [7]
    assert not any(math.isnan(sample.watts) for sample in seen)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (
            400,
            {"status": "error", "errorType": "bad_data", "error": "parse error"},
            "refuses the query .*: parse error",
        ),
        (200, series(["1"], ["2"]), "gives 2 series, not one"),
        (404, {"no": "matrix"}, "answers 404, and not as Prometheus does"),
        (200, {"status": "success", "data": {"resultType": "vector", "result": []}}, "not as Prometheus does"),
        (302, {}, "not as Prometheus does"),
    ],
)
async def test_a_meter_that_cannot_be_read_says_what_to_do(status: int, body: Any, said: str) -> None:
    async with serving(Prometheus(answer=answering(status, body))) as meter:
        with pytest.raises(MeterUnread, match=said):
            await samples(meter, START, START + MINUTE)


async def test_an_answer_without_end_is_not_read() -> None:
    async with serving(Prometheus(answer=lambda request: web.Response(body=bytes(9 << 20)))) as meter:
        with pytest.raises(MeterUnread, match="answers with too much"):
            await samples(meter, START, START + MINUTE)


async def test_a_server_that_is_away_is_named() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"

        with pytest.raises(MeterUnread, match=f"Prometheus at {url} does not answer"):
            await samples(PrometheusMeter(url=url, query=QUERY), START, START + MINUTE)


async def test_a_redirect_leads_nowhere() -> None:
    elsewhere = Prometheus()
    async with serving(elsewhere):
        moved = web.Response(status=307, headers={"location": f"{elsewhere.url}/api/v1/query_range"})
        async with serving(Prometheus(answer=lambda request: moved)) as meter:
            with pytest.raises(MeterUnread):
                await samples(meter, START, START + MINUTE)

    assert elsewhere.asked == []


@pytest.mark.parametrize("address", ["8.8.8.8", "169.254.169.254", "2001:4860:4860::8888", "0.0.0.0", "::ffff:8.8.8.8"])
def test_no_socket_is_made_to_an_address_outside(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET

    with pytest.raises(OSError, match="outside of the house"):
        _near_socket((family, socket.SOCK_STREAM, 0, "", (address, 9090)))


@pytest.mark.parametrize("address", ["127.0.0.1", "192.168.1.5", "::1", "fd00::5"])
def test_a_socket_to_an_address_of_the_house_is_made(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET

    _near_socket((family, socket.SOCK_STREAM, 0, "", (address, 9090))).close()


def metered(pack_with: Callable[[str], Pack], url: str) -> Pack:
    return pack_with(f"    energy: {{tariff_per_kwh: 1, currency: USD, prometheus: {{url: {url!r}, query: power}}}}\n")


async def test_a_meter_is_read_on_from_where_it_was_read_last(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    server, now = Prometheus(), START + timedelta(hours=2, minutes=17)
    await readings.add(opened, [MeterReading("node", START, START + timedelta(hours=1), 5, "import")])
    async with serving(server):
        pack = metered(pack_with, server.url)
        first = await read_meters(opened, pack, now)
        again = await read_meters(opened, pack, now)

    [taken] = first
    assert (taken.machine, taken.readings, taken.milliwatt_hours) == ("node", 2, 600_000)
    assert (taken.starts_at, taken.ends_at) == (START + timedelta(hours=1), START + timedelta(hours=2))
    assert again == []
    assert len(server.asked) == 1


async def test_a_meter_that_was_never_read_is_read_for_a_month(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    begins = START + timedelta(days=20)
    server = Prometheus(watts=lambda moment: 60.0 if moment >= begins else None)
    async with serving(server):
        [taken] = await read_meters(opened, metered(pack_with, server.url), START + timedelta(days=30))

    rows = await readings.between(opened, "node", START, START + timedelta(days=30))
    assert (taken.starts_at, taken.readings) == (begins, 480)
    assert sum(row.milliwatt_hours for row in rows) == 10 * 24 * 60_000
    assert len(server.asked) == 5  # a week at a time


async def test_meters_are_read_after_each_half_hour_and_one_that_is_away_is_tried_again(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    server, times, waited = Prometheus(answer=answering(503, {})), [START + timedelta(minutes=20)], list[float]()

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        times.append(times[-1] + timedelta(seconds=seconds))
        if len(waited) == 2:
            server.answer = None
        if len(waited) == 3:
            raise asyncio.CancelledError

    async with serving(server):
        pack = metered(pack_with, server.url)
        with pytest.raises(asyncio.CancelledError):
            await follow(opened, lambda: pack, lambda: times[-1], wait)

    rows = await readings.between(opened, "node", START, START + timedelta(hours=2))
    assert waited == [11 * 60, 30 * 60, 30 * 60]
    assert (rows[-1].ends_at, rows[-1].milliwatt_hours) == (START + timedelta(hours=1), 300_000)


async def test_a_machine_without_a_meter_cannot_be_read(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    pack = pack_with("    energy: {tariff_per_kwh: 1, currency: USD, kw: 1}\n")

    assert await read_meters(opened, pack, START) == []
    with pytest.raises(NotFound, match="no Prometheus meter for a machine 'node'"):
        await read_meters(opened, pack, START, "node")


async def test_a_file_is_taken_in_once_however_often_it_is_brought(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    pack = pack_with("    energy: {tariff_per_kwh: 1, currency: USD, import: true}\n")
    text = "start,end,kwh\n2026-11-01,2026-11-02,24\n2026-11-02,2026-11-03,48\n"

    [taken] = await take_in(opened, pack, text, "node")
    await take_in(opened, pack, text.replace("48", "50"), "node")

    rows = await readings.between(opened, "node", START, START + timedelta(days=30))
    assert (taken.readings, taken.milliwatt_hours) == (2, 72_000_000)
    assert [row.milliwatt_hours for row in rows] == [24_000_000, 50_000_000]


async def test_of_a_file_with_a_wrong_line_nothing_is_taken(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    pack = pack_with("    energy: {tariff_per_kwh: 1, currency: USD, import: true}\n")

    with pytest.raises(BadRequest, match="line 3"):
        await take_in(opened, pack, "start,end,kwh\n2026-11-01,2026-11-02,24\n2026-11-02,2026-11-03,x\n", "node")

    assert await readings.between(opened, "node", START, START + timedelta(days=30)) == []
