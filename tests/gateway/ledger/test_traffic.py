"""The house's own traffic, in both databases: every figure worked out by hand, and nothing made up where none is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from gateway.catalog.deployments import Price
from gateway.errors import BadRequest
from gateway.ledger.entries import Account, Hold, Settlement
from gateway.ledger.own_zones import own_deployments, own_zones
from gateway.ledger.traffic import observed, since
from gateway.ledger.usage import Span
from gateway.wire.lanes import Usage
from policies.budgets import MEASURING
from policies.load import load_pack
from policies.zones import Addresses
from tests.gateway.ledger import made_up
from tests.gateway.ledger.made_up import CLUSTER, DEVICE
from tests.gateway.ledger.samples import BOOT, HOSTED, deployment

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.catalog.deployments import Deployment
    from policies.pack import Pack
    from tests.db.stores import Store

RULES = """\
default_label: internal
zones:
  device: {clearance: secret, addresses: loopback}
  cluster: {clearance: private, addresses: [10.20.0.0/16]}
  rented: {clearance: private, addresses: [203.0.113.0/24]}
  hosted: {clearance: internal, addresses: public}
rules: [{name: anywhere, route: {zones: [device, cluster, rented, hosted]}}]
"""
DEPLOYMENTS = """\
deployments:
  - {name: small-here, model: qwen, engine: vllm, base_url: "http://127.0.0.1:9/v1", zone: device, price: {owned: node}}
  - {name: our-k3, model: kimi-k3, engine: vllm, base_url: "http://10.20.0.5:8000/v1", zone: cluster, price: {owned: node}}
  - {name: rented-k3, model: kimi-k3, engine: vllm, base_url: "http://203.0.113.5/v1", zone: rented, price: {owned: node}}
  - name: moonshot-k3
    model: kimi-k3
    aliases: [k3]
    engine: moonshot
    base_url: https://api.moonshot.ai/v1
    zone: hosted
    price: {currency: USD, per_million: {input: 3.00, cached: 0.30, output: 15.00}, source: page, as_of: 2026-10-24}
"""  # noqa: E501
MACHINES = "machines: {node: {marginal: {currency: USD, per_million: {input: 0.03, output: 0.12}}}}\n"

FREE = Price(Decimal(0), Decimal(0), "own", None)
K3 = Price(Decimal("3.00"), Decimal("15.00"), "page", date(2026, 10, 24), cached=Decimal("0.30"))
HERE = deployment("small-here", FREE, DEVICE, "qwen")
CLUSTERED = deployment("our-k3", FREE, replace(CLUSTER, addresses=Addresses()))
AWAY = deployment("moonshot-k3", K3, HOSTED)
QUOTED = deployment("quotes", FREE, DEVICE, "quotes")

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
BERLIN = ZoneInfo("Europe/Berlin")
KOLKATA = ZoneInfo("Asia/Kolkata")
ZONES = [SAO_PAULO, BERLIN, KOLKATA, ZoneInfo("Australia/Lord_Howe"), UTC]
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Made:
    """One call that a test wants to have been made."""

    at: datetime
    usage: Usage
    on: Deployment = AWAY
    label: str = "internal"
    tag: str | None = None
    cost_nano_usd: int = 0
    total_ms: int = 0
    from_cache: bool = False


def at(text: str, zone: ZoneInfo = SAO_PAULO) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


def span(start: str, end: str, zone: ZoneInfo = SAO_PAULO) -> Span:
    return Span(at(start, zone), at(end, zone), zone)


async def write(store: Store, made: list[Made]) -> None:
    """Write them as a gateway does."""
    async with store.writer(BOOT) as writer:
        holds = [_hold(number, call) for number, call in enumerate(made)]
        await asyncio.gather(*(writer.hold(hold) for hold in holds))
        await asyncio.gather(*(writer.settle(_settled(hold, call)) for hold, call in zip(holds, made, strict=True)))


def _hold(number: int, call: Made) -> Hold:
    account = Account("ana", label=call.label, tag=call.tag)
    estimate = Usage(fresh=1, output=1, estimated=True)
    return Hold(f"att-{number}", f"dec-{number}", f"req-{number}", 1, account, call.on, estimate, call.at)


def _settled(hold: Hold, call: Made) -> Settlement:
    ended = call.at + timedelta(milliseconds=call.total_ms)
    return Settlement(
        attempt_id=hold.id,
        usage=call.usage,
        cost_nano_usd=call.cost_nano_usd,
        outcome="ok",
        error_code=None,
        first_byte_ms=1,
        total_ms=call.total_ms,
        settled_at=ended,
        bytes_out=1,
        from_cache=call.from_cache,
    )


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    folder: Path = tmp_path_factory.mktemp("pack")
    files = {"rules": RULES, "deployments": DEPLOYMENTS, "break_even": MACHINES}
    for name, content in files.items():
        (folder / f"{name}.yaml").write_text(content)
    return load_pack(folder)


async def test_each_figure_of_two_days_is_what_a_person_works_out(
    store: Store, opened: AsyncEngine, pack: Pack
) -> None:
    await write(
        store,
        [
            # The day on which somebody began to ask is left out.
            Made(at("2026-11-01T08:00"), Usage(fresh=10**9)),
            # 1,000 tokens at a host: 2,100 + 60 + 1,500 + 1,500 micro-dollars and a tenth on top of all that.
            Made(
                at("2026-11-02T09:10"),
                Usage(fresh=600, cached=200, output=100, reasoning=100),
                cost_nano_usd=5_346_000,
                total_ms=4_000,
            ),
            # 3,000 on the owner's cluster, of which one that only own machines may have.
            Made(at("2026-11-02T09:40"), Usage(fresh=900, image_input=100), CLUSTERED, "private", total_ms=20_000),
            Made(at("2026-11-03T15:00"), Usage(fresh=1000, output=1000), CLUSTERED, total_ms=50_000),
            # 1,000 at home; nobody knows of what label.
            Made(at("2026-11-03T15:59:59"), Usage(cache_write_5m=500, output=500), HERE, "", total_ms=10_000),
            # What is no chat, what was measured, quoted, or answered out of the cache.
            Made(at("2026-11-03T16:00"), Usage(embedding=777, rerank=3, searches=2), HERE),
            Made(at("2026-11-03T16:00"), Usage(fresh=10**6, output=10**6), CLUSTERED, tag=MEASURING),
            Made(at("2026-11-03T16:00"), Usage(fresh=10**6), QUOTED),
            Made(at("2026-11-03T16:00"), Usage(), AWAY, from_cache=True),
            # After the last whole hour.
            Made(at("2026-11-04T00:10"), Usage(fresh=10**9), AWAY),
        ],
    )

    found = await observed(opened, pack, span("2026-11-01", "2026-11-04T00:50"))

    assert (found.start, found.end) == (at("2026-11-02"), at("2026-11-04"))
    assert (found.days, found.as_of) == (Fraction(2), date(2026, 11, 3))
    assert (found.tokens, found.requests, found.other_tokens, found.searches) == (5000, 4, 780, 2)
    assert found.tokens_per_month == Fraction(5000 * 730, 48)
    assert found.mix is not None
    assert (found.mix.fresh, found.mix.cached, found.mix.output) == (
        Fraction(26, 50),
        Fraction(2, 50),
        Fraction(17, 50),
    )
    assert (found.mix.cache_write_5m, found.mix.cache_write_1h) == (Fraction(5, 50), Fraction(0))
    assert (found.cached_share, found.output_share) == (Fraction(2, 33), Fraction(17, 50))
    assert (found.forced_share, found.unlabelled_share) == (Fraction(1, 5), Fraction(1, 5))
    assert (found.home_share, found.own_share) == (Fraction(1, 5), Fraction(4, 5))
    assert found.estimated_share == 0
    assert (found.peak_to_mean, found.busiest_to_mean, found.busiest_at) == (
        Fraction(3000 * 48, 5000),
        Fraction(3000 * 48, 5000),
        at("2026-11-03T15:00"),
    )
    assert len(found.shape) == 48
    assert {hour: load for hour, load in enumerate(found.shape) if load} == {
        9: Fraction(2000 * 48, 5000),
        39: Fraction(3000 * 48, 5000),
    }
    assert {hour: share for hour, share in enumerate(found.hours) if share} == {9: Fraction(2, 5), 15: Fraction(3, 5)}
    assert (found.growth, found.growth_per_month, found.growth_weeks, found.no_growth) == (None, None, 0, "short")
    assert (found.enough, found.is_enough) == ("short", False)


@pytest.mark.parametrize("day", ["2026-10-30", "2026-08-01"])
async def test_who_asked_long_before_did_not_begin_on_a_day_of_the_span(
    store: Store, opened: AsyncEngine, pack: Pack, day: str
) -> None:
    await write(store, [Made(at(f"{day}T08:00"), Usage(fresh=1)), Made(at("2026-11-02T09:10"), Usage(fresh=600))])

    found = await observed(opened, pack, span("2026-11-01", "2026-11-04"))

    assert (found.start, found.tokens) == (at("2026-11-01"), 600)


async def test_what_hosts_were_paid_is_divided_as_their_prices_divide_it(
    store: Store, opened: AsyncEngine, pack: Pack
) -> None:
    """At 3.00, 0.30 and 15.00 the tokens come to 1,800 + 60 + 3,000 micro-dollars; a tenth more was paid."""
    gone = deployment("gone-k3", K3, HOSTED, "gone")
    await write(
        store,
        [
            Made(
                at("2026-11-02T00:00"), Usage(fresh=600, cached=200, output=100, reasoning=100), cost_nano_usd=5_346_000
            ),
            Made(at("2026-11-02T01:00"), Usage(fresh=1000), gone, cost_nano_usd=7_000_000),
            Made(at("2026-11-02T01:00"), Usage(fresh=1000), CLUSTERED, cost_nano_usd=30_000),
        ],
    )

    found = await observed(opened, pack, span("2026-11-02", "2026-11-03"))

    assert (found.paid.tokens, found.paid.usd) == (2000, Fraction("0.012346"))
    assert found.paid.usd_per_million == Fraction("6.173")
    assert found.paid.mix is not None
    assert (found.paid.mix.fresh, found.paid.mix.cached, found.paid.mix.output) == (
        Fraction(8, 10),
        Fraction(1, 10),
        Fraction(1, 10),
    )
    assert found.paid.by_lane == {"fresh": Fraction("3.30"), "cached": Fraction("0.33"), "output": Fraction("16.50")}
    assert found.paid.undivided_tokens == 1000
    assert list(found.by_model) == ["kimi-k3", "gone"]
    k3 = found.by_model["kimi-k3"]
    assert (k3.tokens, k3.requests, k3.paid.tokens, k3.cached_share) == (2000, 2, 1000, Fraction(1, 9))
    assert k3.paid.usd_per_million == Fraction("5.346")


async def test_embeddings_of_a_deployment_that_also_chats_are_not_paid_for_chats(
    store: Store, opened: AsyncEngine, pack: Pack
) -> None:
    """133 written at 15.00 cost what 665 embedded at 3.00 do."""
    await write(store, [Made(at("2026-11-02T00:00"), Usage(output=133, embedding=665), cost_nano_usd=3_990_000)])

    found = await observed(opened, pack, span("2026-11-02", "2026-11-03"))

    assert (found.tokens, found.other_tokens) == (133, 665)
    assert found.paid.usd == Fraction("0.001995")
    assert found.paid.by_lane == {"output": 15}


async def test_an_empty_ledger_says_nothing(opened: AsyncEngine, pack: Pack) -> None:
    for asked in (span("2026-11-01", "2026-12-01"), Span.open(zone=SAO_PAULO)):
        found = await observed(opened, pack, asked)

        assert (found.enough, found.tokens, found.requests) == ("nothing", 0, 0)
        nothing = (found.mix, found.cached_share, found.output_share, found.peak_to_mean, found.growth_per_month)
        shares = (found.forced_share, found.home_share, found.own_share, found.estimated_share)
        assert {*nothing, *shares, found.paid.usd_per_million} == {None}
        assert (found.shape, found.hours, found.own, dict(found.by_model)) == ((), (), (), {})


async def test_as_json_every_figure_is_a_number_or_null(store: Store, opened: AsyncEngine, pack: Pack) -> None:
    nothing = await observed(opened, pack, span("2026-11-02", "2026-11-03"))
    await write(store, [Made(at("2026-11-02T00:00"), Usage(fresh=60, output=40), CLUSTERED, total_ms=2_000)])
    something = await observed(opened, pack, span("2026-11-02", "2026-11-03"))

    empty, full = json.loads(json.dumps(nothing.as_dict())), json.loads(json.dumps(something.as_dict()))

    assert (empty["tokens"], empty["mix"], empty["peak_to_mean"], empty["paid"]["usd_per_million"]) == (
        0,
        None,
        None,
        None,
    )
    assert full["from"] == "2026-11-02T00:00:00-03:00"
    assert (full["days"], full["tokens_per_month"], full["output_share"], full["own_share"]) == (
        1,
        100 * 730 / 24,
        0.4,
        1,
    )
    assert (full["mix"]["fresh"], full["mix"]["cached"]) == (0.6, 0)
    assert full["own"][0]["output_tps_of_one_request"] == 20
    assert full["models"]["kimi-k3"]["tokens"] == 100


async def test_an_open_span_of_an_empty_ledger_has_no_volume(opened: AsyncEngine, pack: Pack) -> None:
    found = await observed(opened, pack, Span.open(zone=SAO_PAULO), now=at("2026-11-04T12:34"))

    assert (found.days, found.tokens_per_month) == (Fraction(0), None)


@pytest.mark.parametrize("now", ["2026-11-01T00:00", "2026-11-02T10:59", "2026-11-02T23:00"])
async def test_less_than_an_hour_has_no_volume(store: Store, opened: AsyncEngine, pack: Pack, now: str) -> None:
    await write(store, [Made(at("2026-11-02T10:20"), Usage(fresh=90, output=10))])

    found = await observed(opened, pack, span("2026-11-02T10:10", "2026-11-02T11:50"), now=at(now))

    assert (found.tokens, found.tokens_per_month, found.enough) == (0, None, "nothing")


@pytest.mark.parametrize(("now", "running"), [("2026-11-02T10:59", 100), ("2026-11-02T11:00", 0)])
async def test_what_only_the_running_hour_has_is_told_apart(
    store: Store, opened: AsyncEngine, pack: Pack, now: str, running: int
) -> None:
    await write(store, [Made(at("2026-11-02T10:20"), Usage(fresh=90, output=10))])

    found = await observed(opened, pack, since("30d", at(now), SAO_PAULO), now=at(now))

    assert (found.tokens, found.running_tokens) == (100 - running, running)
    assert found.as_dict()["running_tokens"] == running


async def test_one_call_counts_from_its_hour_on(store: Store, opened: AsyncEngine, pack: Pack) -> None:
    await write(store, [Made(at("2026-11-02T09:40"), Usage(fresh=90, output=10))])

    found = await observed(opened, pack, span("2026-11-01", "2026-12-01"), now=at("2026-11-02T19:59"))

    assert (found.start, found.end) == (at("2026-11-02T09:00"), at("2026-11-02T19:00"))
    assert (found.tokens, found.requests, found.enough) == (100, 1, "short")
    assert (found.tokens_per_month, found.peak_to_mean) == (Fraction(7300), Fraction(10))
    assert found.hours == ()


async def test_one_call_long_ago_is_not_forgotten(store: Store, opened: AsyncEngine, pack: Pack) -> None:
    await write(store, [Made(at("2026-11-02T09:40"), Usage(fresh=90, output=10))])

    found = await observed(opened, pack, span("2026-11-01", "2026-11-22"))

    assert (found.start, found.tokens, found.enough) == (at("2026-11-02T09:00"), 100, "few")


async def test_a_span_without_ends_is_all_that_the_ledger_has(store: Store, opened: AsyncEngine, pack: Pack) -> None:
    made = [Made(at(f"2026-11-0{day}T10:00"), Usage(fresh=day)) for day in (2, 3, 5)]
    await write(store, made)

    found = await observed(opened, pack, Span.open(zone=SAO_PAULO))

    # The last half hour of the ledger ends at half past ten.
    assert (found.start, found.end, found.tokens) == (at("2026-11-03"), at("2026-11-05T10:00"), 3)


async def test_a_day_without_calls_counts_where_there_were_some_before(
    store: Store, opened: AsyncEngine, pack: Pack
) -> None:
    await write(store, [Made(at("2026-10-01T10:00"), Usage(fresh=1)), Made(at("2026-11-03T10:00"), Usage(fresh=96))])

    found = await observed(opened, pack, span("2026-11-01", "2026-11-05"))

    assert (found.start, found.days, found.tokens_per_month) == (at("2026-11-01"), Fraction(4), Fraction(730))


async def test_models_are_told_apart_by_their_names_and_aliases(store: Store, opened: AsyncEngine, pack: Pack) -> None:
    made = [Made(at("2026-11-02T00:00"), Usage(fresh=7)), Made(at("2026-11-02T00:00"), Usage(fresh=5), HERE)]
    await write(store, made)
    asked = span("2026-11-02", "2026-11-03")

    counted = {name: (await observed(opened, pack, asked, [name])).tokens for name in ("k3", "kimi-k3", "qwen", "m")}

    assert counted == {"k3": 7, "kimi-k3": 7, "qwen": 5, "m": 0}
    assert (await observed(opened, pack, asked)).tokens == 12
    assert (await observed(opened, pack, asked, [])).tokens == 0


async def test_own_deployments_are_seen_at_their_busiest(store: Store, opened: AsyncEngine, pack: Pack) -> None:
    await write(
        store,
        [
            Made(at("2026-11-02T00:00"), Usage(fresh=900_000, output=90_000), CLUSTERED, total_ms=900_000),
            Made(at("2026-11-02T00:29"), Usage(cached=90_000), CLUSTERED, total_ms=1_800_000),
            Made(at("2026-11-02T00:30"), Usage(output=9_000), CLUSTERED, total_ms=300_000),
            Made(at("2026-11-02T01:00"), Usage(fresh=5), AWAY),
        ],
    )

    [busy] = (await observed(opened, pack, span("2026-11-02", "2026-11-03"))).own

    assert (busy.deployment, busy.model, busy.requests) == ("our-k3", "kimi-k3", 3)
    assert (busy.tokens, busy.output, busy.fresh) == (1_089_000, 99_000, 900_000)
    assert busy.output_tps == 33  # 99,000 in 3,000 seconds
    assert (busy.most_tps, busy.most_at, busy.at_once) == (Fraction(600), at("2026-11-02T00:00"), Fraction(3, 2))
    assert (busy.most.fresh, busy.most.cached, busy.most.output) == (Fraction(10, 12), Fraction(1, 12), Fraction(1, 12))


@pytest.mark.parametrize("zone", ZONES, ids=str)
async def test_days_begin_at_the_owners_midnight_and_none_is_lost(
    store: Store, opened: AsyncEngine, pack: Pack, zone: ZoneInfo
) -> None:
    """A token each half hour, over the day on which clocks are changed in Berlin and on Lord Howe."""
    first = datetime(2026, 10, 1, 12, tzinfo=UTC)
    halves = [first + number * HOUR / 2 for number in range(48 * 29)]
    await write(store, [Made(moment, Usage(fresh=1)) for moment in halves])
    now = first + 28 * DAY + 0.75 * HOUR

    found = await observed(opened, pack, since("30d", now, zone), now=now)

    inside = [moment for moment in halves if found.start <= moment < found.end]
    assert found.tokens == len(inside) == (found.end - found.start) // (HOUR / 2)
    assert timedelta() <= now - found.end < 2 * HOUR
    assert found.start.astimezone(zone).hour == 0
    assert timedelta() < found.start - first <= DAY
    assert (found.peak_to_mean, found.busiest_to_mean) == (Fraction(1), Fraction(1))
    assert found.tokens_per_month == 1460
    assert found.hours == (Fraction(1, 24),) * 24
    assert (found.growth_weeks, found.no_growth) == (3, "short")
    assert found.enough == "yes"


@pytest.mark.parametrize("empty_week", [None, 2])
async def test_growth_is_of_whole_weeks(store: Store, opened: AsyncEngine, pack: Pack, empty_week: int | None) -> None:
    """Each week a tenth more than the one before; the half week before them does not count."""
    days = [at("2026-10-02T10:00") + day * DAY for day in range(31)]
    weeks = {day: (number - 3) // 7 for number, day in enumerate(days)}
    asked = [Made(day, Usage(fresh=10_000 * 11 ** (week + 1) // 10 ** (week + 1))) for day, week in weeks.items()]
    before = Made(at("2026-08-01"), Usage(fresh=1))
    await write(store, [before, *(call for call in asked if weeks[call.at] != empty_week)])

    found = await observed(opened, pack, span("2026-10-02", "2026-11-02T09:00"))

    assert (found.growth_weeks, found.no_growth) == (4, "gaps" if empty_week else None)
    if empty_week is None:
        assert found.growth_per_month == Fraction(str(round(1.1 ** (730 / 168) - 1, 6)))


def test_spans_reach_back_whole_days_from_the_owners_today() -> None:
    now = at("2026-03-31T14:25")

    assert since("30d", now, SAO_PAULO) == span("2026-03-01", "2026-03-31T14:00")
    assert since(" 2w ", now, SAO_PAULO) == span("2026-03-17", "2026-03-31T14:00")
    assert since("1m", now, SAO_PAULO) == span("2026-02-28", "2026-03-31T14:00")
    assert since("3m", now, SAO_PAULO) == span("2025-12-31", "2026-03-31T14:00")
    assert since("1d", at("2026-03-31T14:45", KOLKATA), KOLKATA) == span("2026-03-30", "2026-03-31T14:00", KOLKATA)


@pytest.mark.parametrize("text", ["", "30", "0d", "d", "30 days", "-3d", "9999d", "9999m", "9999w"])
def test_a_span_that_is_none_says_how_to_write_one(text: str) -> None:
    with pytest.raises(BadRequest, match="write 30d, 8w or 3m"):
        since(text, at("2026-03-31T14:25"), SAO_PAULO)


def test_zones_are_the_owners_by_their_networks_or_by_whose_machines_they_are(pack: Pack) -> None:
    assert own_zones(pack) == {"device", "cluster", "rented"}
    assert own_deployments(pack) == {"small-here", "our-k3", "rented-k3"}


@pytest.mark.parametrize("models", [None, ["kimi-k3"]])
async def test_tokens_equal_the_sum_of_their_rows(
    store: Store, opened: AsyncEngine, pack: Pack, models: list[str] | None
) -> None:
    await made_up.write(store, made_up.calls(5, 250))

    found = await observed(opened, pack, span("2026-10-25T10:15", "2026-10-31T19:20", BERLIN), models)

    of = "" if models is None else "AND model = 'kimi-k3'"
    lanes = "fresh + cached + cache_write_5m + cache_write_1h + output + reasoning"
    pictures = "image_input + image_output + audio_input + audio_output"
    bounds = f"started_at >= {_us(found.start)} AND started_at < {_us(found.end)} AND state = 'settled' {of}"
    row = store.row(f"SELECT sum({lanes} + {pictures}) AS tokens, sum(cached) AS cached FROM attempts WHERE {bounds}")
    assert (found.start, found.end) == (at("2026-10-25T11:00", BERLIN), at("2026-10-31T19:00", BERLIN))
    assert found.tokens == row["tokens"]
    assert found.mix is not None
    assert found.mix.cached * found.tokens == row["cached"]
    assert found.mix.prompt + found.mix.output == 1
    assert sum(found.shape) == len(found.shape) == found.days * 24
    assert sum(each.tokens for each in found.by_model.values()) == found.tokens


def _us(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
