"""Money is conserved: what the ledger says was spent is what the tokens cost, to the nano-dollar."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.catalog.deployments import Price
from gateway.catalog.prices import ExchangeRate, Surcharge
from gateway.catalog.rates import Change, Hours, Rates, ServiceTier, Tier
from gateway.db.engine import open_engine
from gateway.errors import UpstreamCut, UpstreamUnavailable
from gateway.ledger.attempt import attempt
from gateway.ledger.price import as_usd, charge, estimate, most_nano_usd, nano_usd
from gateway.ledger.spend import Spend, spend
from gateway.ledger.writer import open_writer
from gateway.wire.lanes import LANES, Usage
from tests.gateway.ledger.samples import BOOT, a_hold, deployment, fresh_ledger, rows, url_of

tokens = st.integers(0, 2_000_000)
usages = st.builds(Usage, fresh=tokens, cached=tokens, output=tokens, reasoning=tokens)
amounts = st.decimals(0, 1000, places=6, allow_nan=False, allow_infinity=False)
prices = st.builds(
    Price,
    input=amounts,
    output=amounts,
    source=st.just("made up"),
    as_of=st.just(date(2026, 1, 1)),
    cached=st.none() | amounts,
    reasoning=st.none() | amounts,
)


def by_hand(usage: Usage, price: Price) -> Fraction:
    """The exact cost in nano-dollars, in rational arithmetic."""
    cached = price.input if price.cached is None else price.cached
    reasoning = price.output if price.reasoning is None else price.reasoning
    lanes = [
        (usage.fresh, price.input),
        (usage.cached, cached),
        (usage.output, price.output),
        (usage.reasoning, reasoning),
    ]
    return sum((count * Fraction(per_million) * 1000 for count, per_million in lanes), Fraction(0))


@given(usages, prices)
def test_a_cost_is_the_exact_sum_of_its_lanes_rounded_once_half_even(usage: Usage, price: Price) -> None:
    cost = nano_usd(usage, price)

    assert type(cost) is int
    assert cost == round(by_hand(usage, price))


@given(tokens, tokens, prices, st.data())
def test_no_division_into_lanes_costs_more_than_the_estimate(
    prompt: int, completion: int, price: Price, data: st.DataObject
) -> None:
    cached = data.draw(st.integers(0, prompt))
    thinking = data.draw(st.integers(0, completion))
    usage = Usage(prompt - cached, cached, completion - thinking, thinking)

    held = nano_usd(estimate(prompt, completion, price), price)

    if price.cached is None or price.cached <= price.input:
        assert nano_usd(usage, price) <= held


LANES_OF_PRICES = [
    "cached", "cache_write_5m", "cache_write_1h", "image_input", "image_output", "audio_input", "audio_output",
    "reasoning", "embedding", "rerank",
]  # fmt: skip
INSTEAD: dict[str, tuple[str, ...]] = {
    "cache_write_1h": ("cache_write_5m", "input"),
    **dict.fromkeys(["image_output", "audio_output", "reasoning"], ("output",)),
}
"""Whose price a lane takes that has none; the others take `input`."""
some_lanes = st.dictionaries(st.sampled_from(LANES_OF_PRICES), amounts)
rates = st.builds(lambda i, o, more: Rates(i, o, searches=Decimal(2000), **more), amounts, amounts, some_lanes)
factors = st.decimals(Decimal("0.01"), 9, places=2)
changes = st.builds(Change, rates=rates) | st.builds(Change, factor=factors)
tiers = st.lists(st.builds(Tier, st.integers(1, 400_000), changes), max_size=3, unique_by=lambda tier: tier.above).map(
    lambda found: tuple(sorted(found, key=lambda tier: tier.above))
)
services = st.lists(
    st.builds(ServiceTier, st.sampled_from(["flex", "priority", "batch"]), changes, st.none() | tiers),
    max_size=3,
    unique_by=lambda service: service.name,
).map(tuple)
zones = st.sampled_from(["UTC", "America/Sao_Paulo", "America/Noronha", "Europe/Berlin", "Asia/Tokyo"]).map(ZoneInfo)
hours = st.lists(
    st.builds(Hours, zones, st.times(), st.times(), changes, st.frozensets(st.integers(0, 6))), max_size=2
).map(tuple)
surcharges = st.lists(
    st.builds(Surcharge, st.just("tax"), st.decimals(0, 50, places=2), st.sampled_from(["price", "total"])), max_size=3
).map(tuple)
exchange = st.builds(ExchangeRate, st.decimals(Decimal("0.5"), 9, places=4), st.just(date(2026, 11, 28)))
service_names = st.sampled_from([None, "default", "flex", "priority", "batch", "unheard-of"])
moments = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 # bounds are naive
wide_usages = st.builds(Usage, **{lane: st.just(0) | st.integers(0, 300_000) for lane in LANES})


@st.composite
def wide_prices(draw: st.DrawFn) -> Price:
    """A price with everything that it may have."""
    usual = draw(rates)
    rate = draw(st.none() | exchange)
    return Price(
        **usual.amounts,  # type: ignore[arg-type]  # the names of lanes, which are Decimals
        source="made up",
        as_of=date(2026, 1, 1),
        currency="USD" if rate is None else "BRL",
        tiers=draw(tiers),
        service_tiers=draw(services),
        hours=draw(hours),
        multiplier=draw(factors),
        surcharges=draw(surcharges),
        exchange_rate=rate,
    )


def exact(usage: Usage, price: Price, at: datetime, service_tier: str | None) -> tuple[Fraction, Fraction]:
    """What a usage costs and what of it the provider takes, looked up step by step in rational arithmetic."""
    found, factor, sizes = price.rates, Fraction(price.multiplier), price.tiers
    stretch = next((each for each in price.hours if within(each, at)), None)
    service = next((each for each in price.service_tiers if each.name == service_tier), None)
    for part in (stretch, service):
        if part is not None:
            own = part.tiers if isinstance(part, ServiceTier) else None
            sizes = own if own is not None else () if part.change.rates else sizes
            found, factor = part.change.rates or found, factor * Fraction(part.change.factor)
    size = [tier for tier in sizes if usage.prompt > tier.above]
    if size:
        found, factor = size[-1].change.rates or found, factor * Fraction(size[-1].change.factor)
    dollars = factor / (Fraction(price.exchange_rate.per_usd) if price.exchange_rate else 1)
    provider = dollars * sum(count * Fraction(named(found, lane)) for lane, count in usage.lanes.items()) * 1000
    return provider * on_top(price), provider


def within(stretch: Hours, at: datetime) -> bool:
    local = at.astimezone(stretch.zone)
    minute = local.timetz().replace(tzinfo=None)
    before, after = minute < stretch.end, minute >= stretch.start
    inside = before and after if stretch.start < stretch.end else before or after
    return inside and local.weekday() in stretch.weekdays


def named(found: Rates, lane: str) -> Decimal:
    names = ["input" if lane == "fresh" else lane, *INSTEAD.get(lane, ("input",))]
    return next(found.amounts[name] for name in names if name in found.amounts)


def on_top(price: Price) -> Fraction:
    total = Fraction(1)
    for surcharge in price.surcharges:
        base = total if surcharge.on == "total" else Fraction(1)
        total += base * Fraction(surcharge.percent) / 100
    return total


@given(wide_usages, wide_prices(), moments, service_names)
def test_a_charge_is_exact_in_every_lane_tier_hour_service_and_currency(
    usage: Usage, price: Price, at: datetime, service_tier: str | None
) -> None:
    whole, provider = exact(usage, price, at, service_tier)

    found = charge(usage, price, at, service_tier)

    assert found.nano_usd == round(whole)
    assert found.nano_usd - found.surcharge_nano_usd == round(provider)
    fresh = exact(replace(usage, fresh=usage.fresh + usage.cached, cached=0), price, at, service_tier)[0]
    assert found.saved_nano_usd == round(fresh - whole)


@given(wide_usages, wide_prices(), moments, service_names, st.sampled_from(LANES), st.integers(1, 100_000))
def test_more_tokens_never_cost_less_at_the_same_rates(
    usage: Usage, price: Price, at: datetime, service_tier: str | None, lane: str, more: int
) -> None:
    flat = replace(
        price,
        tiers=(),
        service_tiers=tuple(replace(service, tiers=()) for service in price.service_tiers),
    )

    larger = replace(usage, **{lane: getattr(usage, lane) + more})

    assert charge(larger, flat, at, service_tier).nano_usd >= charge(usage, flat, at, service_tier).nano_usd


@given(wide_usages, wide_prices(), moments, service_names, st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_a_usage_in_parts_costs_what_the_whole_does_but_for_the_roundings(
    usage: Usage, price: Price, at: datetime, service_tier: str | None, weights: list[int]
) -> None:
    flat = replace(price, tiers=(), service_tiers=())
    parts = [times(usage, weight) for weight in weights]
    whole = times(usage, sum(weights))

    apart = sum(charge(part, flat, at, service_tier).nano_usd for part in parts)

    assert abs(apart - charge(whole, flat, at, service_tier).nano_usd) <= len(parts) / 2 + 0.5


def times(usage: Usage, weight: int) -> Usage:
    return Usage(**{lane: count * weight for lane, count in usage.lanes.items()}, estimated=False)


@given(wide_prices(), moments, service_names, st.data())
def test_no_use_of_so_many_tokens_costs_more_than_was_held(
    price: Price, at: datetime, service_tier: str | None, data: st.DataObject
) -> None:
    usage = data.draw(st.builds(replace, wide_usages, searches=st.just(0)))
    more = data.draw(st.integers(0, 100_000))

    held = most_nano_usd(estimate(usage.prompt + more, usage.completion + more, price), price)

    assert charge(usage, price, at, service_tier).nano_usd <= held


@given(usages, prices, exchange)
def test_dollars_reckoned_to_reais_and_back_cost_the_same(usage: Usage, price: Price, rate: ExchangeRate) -> None:
    lanes = {lane: amount * rate.per_usd for lane, amount in price.rates.amounts.items()}
    in_reais = replace(price, currency="BRL", exchange_rate=rate, **lanes)  # type: ignore[arg-type]  # lanes alone

    assert nano_usd(usage, in_reais) == nano_usd(usage, price)


@given(st.integers(-(10**15), 10**15))
def test_shown_dollars_are_the_stored_ones(nano: int) -> None:
    assert Decimal(as_usd(nano)) * 10**9 == nano


@dataclass(frozen=True)
class Call:
    """One attempt: what it costs, and how it ends."""

    usage: Usage | None
    price: Price
    end: str
    zone: int


calls = st.builds(
    Call,
    usage=st.none() | usages,
    price=prices,
    end=st.sampled_from(["ok", "cut", "unavailable", "bug", "gone"]),
    zone=st.integers(0, 2),
)
_ENDS: dict[str, BaseException] = {
    "cut": UpstreamCut("the answer ended early"),
    "unavailable": UpstreamUnavailable("no connection"),
    "bug": RuntimeError("a mistake of ours"),
    "gone": asyncio.CancelledError(),
}


@settings(max_examples=30, deadline=None)
@given(st.lists(calls, max_size=12))
def test_the_ledger_neither_makes_nor_loses_money(made: list[Call]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = fresh_ledger(Path(folder))
        total = asyncio.run(_make(path, made))

        stored = rows(path)

    expected = sum(round(by_hand(_charged(call), call.price)) for call in made)
    assert total.total_nano_usd == expected == sum(row["cost_nano_usd"] for row in stored)
    assert total.held_nano_usd == 0
    assert {type(row[name]) for row in stored for name in ("cost_nano_usd", "held_nano_usd", "fresh")} <= {int}
    for lines in (total.by_model, total.by_zone, total.by_deployment, total.by_principal):
        assert sum(line.nano_usd for line in lines) == expected
        assert sum(line.output for line in lines) == sum(_charged(call).output for call in made)


def _charged(call: Call) -> Usage:
    """The rule: known usage; else nothing where nothing was taken; else the estimate."""
    if call.usage is not None:
        return call.usage
    return Usage() if call.end == "unavailable" else estimate(1000, 500, call.price)


async def _make(path: Path, made: list[Call]) -> Spend:
    async with open_writer(path, BOOT) as writer:

        async def one(number: int, call: Call) -> None:
            where = deployment(f"d{number % 3}", call.price, model=f"m{call.zone}")
            hold = a_hold(f"att-{number}", where, estimate(1000, 500, call.price))
            async with attempt(writer, hold) as record:
                record.usage = call.usage
                if call.end != "ok":
                    raise _ENDS[call.end]

        await asyncio.gather(*(one(*numbered) for numbered in enumerate(made)), return_exceptions=True)
    engine = open_engine(url_of(path))
    try:
        return await spend(engine)
    finally:
        await engine.dispose()
