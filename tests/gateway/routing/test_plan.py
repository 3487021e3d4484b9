"""A route holds the deployments that may and can answer, best first; an empty one is told as what is missing."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from gateway.errors import ContextLengthExceeded, GatewayError, ModelNotFound, NoDeployment, UnsupportedParameter
from gateway.routing.demand import Demand
from gateway.routing.plan import plan
from policies.decide import Decision
from tests.fakes import DEVICE, HOSTED, LAN, deployment

NEAR = replace(deployment("http://127.0.0.1:1/v1", DEVICE, name="near"), model="small", grade=2)
FAR = replace(deployment("https://far.example/v1", HOSTED, name="far"), model="large", grade=5, aliases=("big",))
CHEAP = replace(FAR, name="cheap", aliases=(), price=replace(FAR.price, output=Decimal(1)), grade=4)
QUOTES = replace(NEAR, name="quotes", model="quotes", engine="quotes", automatic=False)
DEMO = replace(NEAR, name="demo", model="demo", automatic=False)
HOUSE = [QUOTES, NEAR, FAR, CHEAP, DEMO]

ANYWHERE = Decision("route", "rule", ("device", "lan", "hosted"), ("device", "lan", "hosted"), "")


def asked(
    model: str = "auto", *, needs: frozenset[str] = frozenset(), size: int = 10, documents: bool = False
) -> Demand:
    return Demand(model, size, None, needs, documents)


def names(decision: Decision, demand: Demand) -> list[str]:
    return [found.name for found in plan(HOUSE, decision, demand)]


def test_auto_takes_the_cheapest_first_and_never_the_demonstration() -> None:
    assert names(ANYWHERE, asked()) == ["cheap", "near", "far"]


def test_quotes_come_last_and_only_for_documents() -> None:
    assert names(ANYWHERE, asked(documents=True)) == ["cheap", "near", "far", "quotes"]
    assert names(replace(ANYWHERE, zones=("lan", "device")), asked("quotes")) == ["quotes"]


def test_best_goes_by_grade() -> None:
    assert names(replace(ANYWHERE, prefer="best"), asked()) == ["far", "cheap", "near"]


@pytest.mark.parametrize("prefer", ["fastest", "steady"])
def test_what_was_never_measured_keeps_the_order_of_the_pack(prefer: str) -> None:
    assert names(replace(ANYWHERE, prefer=prefer), asked()) == ["near", "far", "cheap"]  # type: ignore[arg-type]


def test_zones_bind_a_model_asked_by_name_and_preferences_do_not() -> None:
    steered = replace(ANYWHERE, models=("small",), at_least=5)

    assert names(steered, asked("big")) == ["far"]
    assert names(steered, asked("demo")) == ["demo"]
    with pytest.raises(NoDeployment):
        names(replace(steered, zones=("device",)), asked("big"))


def test_a_rule_steers_auto() -> None:
    assert names(replace(ANYWHERE, at_least=5), asked()) == ["far"]
    assert names(replace(ANYWHERE, models=("big", "small")), asked()) == ["near", "far"]


@pytest.mark.parametrize(
    ("demand", "error"),
    [
        (asked("nobody"), ModelNotFound),
        (asked("large", needs=frozenset({"vision"})), UnsupportedParameter),
        (asked("large", size=10_000), ContextLengthExceeded),
    ],
)
def test_what_is_missing_is_named(demand: Demand, error: type[GatewayError]) -> None:
    limited = [replace(FAR, capabilities=frozenset({"chat"}), context=4_000)]

    with pytest.raises(error) as refused:
        plan(limited, ANYWHERE, demand)

    assert demand.model in str(refused.value) or "vision" in str(refused.value)


def test_an_empty_house_says_how_to_connect_a_model() -> None:
    with pytest.raises(NoDeployment, match="add a deployment"):
        plan([QUOTES, DEMO], ANYWHERE, asked())


def test_what_nobody_stated_is_not_held_against_a_deployment() -> None:
    unknown = replace(FAR, capabilities=None, context=None)

    assert plan([unknown], ANYWHERE, asked("large", needs=frozenset({"vision"}), size=10**9)) == (unknown,)


def test_a_deployment_that_cannot_gives_way_to_one_that_can() -> None:
    blind = replace(CHEAP, capabilities=frozenset({"chat"}))
    seeing = replace(FAR, zone=LAN, capabilities=frozenset({"chat", "vision"}))

    assert plan([blind, seeing], ANYWHERE, asked("large", needs=frozenset({"vision"}))) == (seeing,)
