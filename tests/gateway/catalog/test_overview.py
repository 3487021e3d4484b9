"""What people are shown of a deployment: the pack's words, what was seen, and what to mend."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from gateway.catalog.deployments import Price, Queue, Wake
from gateway.catalog.observed import Observation, Observed
from gateway.catalog.overview import row, rows
from gateway.catalog.prices import ExchangeRate, Surcharge
from gateway.catalog.rates import Change, Hours, Rates, ServiceTier, Tier
from policies.schema import DeploymentSpec
from tests.fakes import deployment

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
TODAY = AT.date()
NEAR = deployment("http://127.0.0.1:8000/v1")


def observed(seen: Observation | None = None) -> Observed:
    known = Observed(lambda: AT)
    if seen is not None:
        known.note(NEAR.name, seen)
    return known


def shown(at: Deployment, seen: Observation | None = None, spec: DeploymentSpec | None = None) -> dict[str, Any]:
    return row(at, spec, observed(seen), TODAY)


def spec(**more: Any) -> DeploymentSpec:
    price = {"currency": "USD", "per_million": {"input": "2", "output": "8"}}
    whole = {"name": "near", "model": "small", "engine": "vllm", "base_url": NEAR.base_url, "zone": "device"}
    return DeploymentSpec.model_validate({**whole, "price": price, **more})


def test_what_nobody_has_seen_is_unknown() -> None:
    found = shown(NEAR)

    assert (found["state"], found["up"], found["context"], found["vision"]) == ("unknown", None, None, None)
    assert (found["seen_at"], found["models"], found["warnings"]) == (None, [], [])


def test_what_was_seen_stands_beside_what_the_pack_states() -> None:
    at = replace(NEAR, context=8000, queue=Queue(slots=4))
    seen = Observation(AT, up=True, models=("small",), context=32000, vision=True, slots=2, running=3, waiting=1)

    found = shown(at, seen, spec(weights="org/small", as_of="2026-11-01"))

    assert (found["state"], found["context"], found["vision"], found["slots"]) == ("up", 8000, True, 4)
    assert (found["running"], found["waiting"], found["models"]) == (3, 1, ["small"])
    assert (found["weights"], found["as_of"], found["seen_at"]) == ("org/small", "2026-11-01", AT.isoformat())
    assert found["warnings"] == []


def test_a_price_is_told_to_its_last_digit() -> None:
    price = Price(Decimal("0.000000000001"), Decimal("15.00"), "page", date(2026, 10, 1), cached=Decimal("0.30"))

    found = shown(replace(NEAR, price=price))["price"]

    assert (found["input"], found["cached"], found["output"]) == ("0.000000000001", "0.30", "15.00")
    assert (found["source"], found["as_of"], found["currency"]) == ("page", "2026-10-01", "USD")


@pytest.mark.parametrize(
    ("at", "seen", "state"),
    [
        (NEAR, Observation(AT, up=False), "down"),
        (replace(NEAR, wake=Wake(("true",), None, 1.0)), Observation(AT, up=False), "asleep"),
        (NEAR, Observation(AT, up=False, local=False), "not local"),
    ],
)
def test_each_state_has_its_word(at: Deployment, seen: Observation, state: str) -> None:
    assert shown(at, seen)["state"] == state


@pytest.mark.parametrize(
    ("retires_on", "told"),
    [("2026-12-31", "takes the model away on 2026-12-31"), ("2026-11-30", "took the model away"), ("2027-06-01", "")],
)
def test_a_model_that_will_be_gone_is_told_in_time(retires_on: str, told: str) -> None:
    warnings = shown(NEAR, None, spec(retires_on=retires_on))["warnings"]

    assert told in "".join(warnings)
    assert bool(warnings) is bool(told)


def test_an_old_price_is_to_be_looked_up_again_unless_it_is_zero() -> None:
    old = Price(Decimal(2), Decimal(8), "page", date(2026, 1, 1))
    own = Price(Decimal(0), Decimal(0), "our own electricity", date(2026, 1, 1))

    assert "look again" in shown(replace(NEAR, price=old))["warnings"][0]
    assert shown(replace(NEAR, price=own))["warnings"] == []


PAGE = Price(Decimal(2), Decimal(8), "page", date(2026, 11, 1))


@pytest.mark.parametrize(
    ("price", "told"),
    [
        (replace(PAGE, lapsed=True, ends_on=date(2026, 10, 31)), "ended on 2026-10-31"),
        (replace(PAGE, lapsed=True), "no price holds today"),
        (
            replace(PAGE, currency="BRL", exchange_rate=ExchangeRate(Decimal("5.5"), date(2026, 9, 1))),
            "the exchange rate of BRL is of 2026-09-01",
        ),
        (replace(PAGE, retires_on=date(2026, 12, 24)), "takes the model away on 2026-12-24"),
    ],
)
def test_what_is_to_be_mended_about_a_price_is_told(price: Price, told: str) -> None:
    (warning,) = shown(replace(NEAR, price=price))["warnings"]

    assert told in warning


def test_a_price_that_ends_is_told_unless_another_one_follows() -> None:
    ends = replace(PAGE, ends_on=date(2026, 12, 31))
    beyond = replace(PAGE, starts_on=date(2027, 1, 1))

    alone = replace(ends, dated=(ends, replace(beyond, lapsed=True)))
    followed = replace(ends, dated=(ends, beyond))

    assert "holds until 2026-12-31" in shown(replace(NEAR, price=alone))["warnings"][0]
    assert shown(replace(NEAR, price=followed))["warnings"] == []


def test_who_charges_for_what_is_kept_in_a_cache_should_have_a_price_for_it() -> None:
    at = replace(NEAR, engine="anthropic", price=PAGE)

    assert "cache_write_5m" in shown(at)["warnings"][0]
    assert shown(replace(at, price=replace(PAGE, cache_write_5m=Decimal(3))))["warnings"] == []


def test_a_price_is_told_with_everything_that_changes_it_as_it_is_paid_today() -> None:
    long = Tier(200_000, Change(Rates(Decimal(4), Decimal(16))))
    price = Price(
        Decimal(2),
        Decimal(8),
        "page",
        date(2026, 11, 1),
        tiers=(long,),
        service_tiers=(ServiceTier("flex", Change(factor=Decimal("0.5")), (long,)),),
        hours=(Hours(ZoneInfo("Asia/Tokyo"), time(1, 30), time(6), Change(factor=Decimal("0.75")), frozenset({5})),),
        multiplier=Decimal("0.6"),
        surcharges=(Surcharge("IOF", Decimal("3.5")),),
        origin="map",
    )
    dearer = replace(price, input=Decimal(9), starts_on=date(2026, 12, 1))

    found = shown(replace(NEAR, price=replace(price, dated=(price, dearer))))["price"]

    assert (found["input"], found["output"], found["multiplier"], found["origin"]) == ("1.2", "4.8", "0.6", "map")
    tier = {"above": 200_000, "input": "2.4", "output": "9.6"}
    assert found["tiers"] == [tier]
    assert found["service_tiers"] == {"flex": {"factor": "0.5", "tiers": [tier]}}
    assert found["hours"] == [
        {"from": "01:30", "to": "06:00", "time_zone": "Asia/Tokyo", "weekdays": ["saturday"], "factor": "0.75"}
    ]
    assert found["surcharges"] == [{"name": "IOF", "percent": "3.5", "on": "price"}]


def test_what_the_pack_promises_and_the_server_does_not_keep_is_told() -> None:
    at = replace(NEAR, context=8000, capabilities=frozenset({"chat", "vision"}))

    found = shown(at, Observation(AT, up=True, context=4096, vision=False))

    assert (found["context"], found["vision"]) == (4096, False)
    assert len(found["warnings"]) == 2
    assert "takes 4096" in found["warnings"][0]
    assert "does not see" in found["warnings"][1]


def test_what_has_no_address_is_no_row() -> None:
    assert [found["name"] for found in rows([NEAR, deployment("", name="quotes")], [], observed(), TODAY)] == ["near"]
