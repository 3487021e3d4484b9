"""A route holds the deployments that may and can answer, best first; an empty one is told as what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from gateway.errors import (
    BadRequest,
    ContextLengthExceeded,
    GatewayError,
    ModelNotFound,
    NoDeployment,
    UnsupportedParameter,
)
from gateway.routing.demand import Demand
from gateway.routing.plan import plan
from policies.decide import Decision
from tests.fakes import DEVICE, HOSTED, LAN, deployment

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment

NEAR = replace(deployment("http://127.0.0.1:1/v1", DEVICE, name="near"), model="small", grade=2)
FAR = replace(deployment("https://far.example/v1", HOSTED, name="far"), model="large", grade=5, aliases=("big",))
CHEAP = replace(FAR, name="cheap", aliases=(), price=replace(FAR.price, output=Decimal(1)), grade=4)
QUOTES = replace(NEAR, name="quotes", model="quotes", engine="quotes", automatic=False, builtin=True)
DEMO = replace(NEAR, name="demo", model="demo", automatic=False)
HOUSE = [QUOTES, NEAR, FAR, CHEAP, DEMO]

ANYWHERE = Decision("route", "rule", ("device", "lan", "hosted"), ("device", "lan", "hosted"), "")


def asked(
    model: str = "auto", *, needs: frozenset[str] = frozenset(), size: int = 10, documents: bool = False
) -> Demand:
    return Demand(model, size, None, needs, has_collections=documents)


@dataclass
class FakeFleet:
    """What a test says of the deployments; all others are up and idle."""

    down: set[str] = field(default_factory=set)
    queue: dict[str, int] = field(default_factory=dict)
    contexts: dict[str, int] = field(default_factory=dict)
    blind: set[str] = field(default_factory=set)

    def is_up(self, deployment: Deployment) -> bool:
        return deployment.name not in self.down

    def waiting(self, deployment: Deployment) -> int:
        return self.queue.get(deployment.name, 0)

    def context(self, deployment: Deployment) -> int | None:
        return self.contexts.get(deployment.name, deployment.context)

    def is_blind(self, deployment: Deployment) -> bool:
        return deployment.name in self.blind


IDLE = FakeFleet()


def names(decision: Decision, demand: Demand, fleet: FakeFleet = IDLE) -> list[str]:
    return [found.name for found in plan(HOUSE, decision, demand, fleet)]


def test_auto_takes_the_cheapest_first_and_never_the_demonstration() -> None:
    assert names(ANYWHERE, asked()) == ["cheap", "near", "far"]


def test_quotes_come_last_and_only_for_documents() -> None:
    assert names(ANYWHERE, asked(documents=True)) == ["cheap", "near", "far", "quotes"]
    assert names(replace(ANYWHERE, zones=("lan", "device")), asked("quotes", documents=True)) == ["quotes"]
    with pytest.raises(BadRequest, match="quotes@papers"):
        names(ANYWHERE, asked("quotes"))


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
        plan(limited, ANYWHERE, demand, IDLE)

    assert demand.model in str(refused.value) or "vision" in str(refused.value)


def test_an_empty_house_says_how_to_connect_a_model() -> None:
    with pytest.raises(NoDeployment, match="add a deployment"):
        plan([QUOTES, DEMO], ANYWHERE, asked(), IDLE)


def test_what_nobody_stated_is_not_held_against_a_deployment() -> None:
    unknown = replace(FAR, capabilities=None, context=None)

    assert plan([unknown], ANYWHERE, asked("large", needs=frozenset({"vision"}), size=10**9), IDLE) == (unknown,)


def test_a_deployment_that_cannot_gives_way_to_one_that_can() -> None:
    blind = replace(CHEAP, capabilities=frozenset({"chat"}))
    seeing = replace(FAR, zone=LAN, capabilities=frozenset({"chat", "vision"}))

    assert plan([blind, seeing], ANYWHERE, asked("large", needs=frozenset({"vision"})), IDLE) == (seeing,)


def test_what_is_down_or_full_beyond_the_rules_patience_is_tried_last() -> None:
    assert names(ANYWHERE, asked(), FakeFleet(down={"cheap"})) == ["near", "far", "cheap"]
    spilling = replace(ANYWHERE, spill_above=2)
    assert names(spilling, asked(), FakeFleet(queue={"cheap": 3, "near": 2})) == ["near", "far", "cheap"]
    assert names(ANYWHERE, asked(), FakeFleet(queue={"cheap": 3})) == ["cheap", "near", "far"]


def nodes(demand: Demand, fleet: FakeFleet = IDLE) -> list[str]:
    able = [replace(FAR, name=f"node-{number}") for number in range(4)]
    return [found.name for found in plan(able, ANYWHERE, demand, fleet)]


def test_a_conversation_stays_with_its_machine_and_conversations_spread() -> None:
    firsts = {nodes(replace(asked("large"), affinity=bytes([number])))[0] for number in range(64)}

    assert firsts == {f"node-{number}" for number in range(4)}
    assert nodes(replace(asked("large"), affinity=b"a")) == nodes(replace(asked("large"), affinity=b"a"))


def test_a_machine_with_a_queue_gives_way_to_one_without() -> None:
    mine = replace(asked("large"), affinity=b"a")
    home, *_ = nodes(mine)

    assert nodes(mine, FakeFleet(queue={home: 4}))[-1] == home


def test_a_machine_that_is_gone_moves_only_its_own_conversations() -> None:
    def first(number: int, able: list[Deployment]) -> str:
        return plan(able, ANYWHERE, replace(asked("large"), affinity=bytes([number])), IDLE)[0].name

    able = [replace(FAR, name=f"node-{number}") for number in range(4)]
    moved = [number for number in range(64) if first(number, able) != first(number, able[1:])]

    assert all(first(number, able) == "node-0" for number in moved)


@pytest.mark.parametrize(
    ("fleet", "error"),
    [(FakeFleet(contexts={"far": 1_000}), ContextLengthExceeded), (FakeFleet(blind={"far"}), UnsupportedParameter)],
)
def test_what_a_deployment_says_of_itself_counts(fleet: FakeFleet, error: type[GatewayError]) -> None:
    demand = asked("large", needs=frozenset({"vision"}), size=5_000)

    with pytest.raises(error):
        plan([FAR], ANYWHERE, demand, fleet)


@pytest.mark.parametrize(
    ("capabilities", "native_only", "named"),
    [
        (frozenset({"chat"}), "tools[0]: 'web_search'", "web_search"),
        (frozenset({"embeddings"}), None, "chat"),
    ],
)
def test_an_endpoint_is_translated_or_taken_natively_or_refused_by_name(
    capabilities: frozenset[str], native_only: str | None, named: str
) -> None:
    demand = replace(asked("large"), endpoint="responses", native_only=native_only)
    unable = replace(FAR, capabilities=capabilities)
    able = replace(CHEAP, capabilities=frozenset({"responses"}))

    assert plan([unable, able], ANYWHERE, demand, IDLE) == (able,)
    with pytest.raises(UnsupportedParameter, match=named):
        plan([unable], ANYWHERE, demand, IDLE)


def test_the_embedder_of_the_house_comes_behind_all_that_are_connected() -> None:
    able = frozenset({"rerank"})
    own = replace(NEAR, name="own", model="own", capabilities=able, automatic=False, builtin=True)
    demand = replace(asked(), endpoint="rerank", has_chat=False)

    assert [at.name for at in plan([own, replace(FAR, capabilities=able)], ANYWHERE, demand, IDLE)] == ["far", "own"]
    assert plan([own, FAR], ANYWHERE, demand, IDLE) == (own,)


def test_auto_embeds_nothing_for_an_index_holds_the_vectors_of_one_model() -> None:
    large, small = (replace(FAR, name=name, model=name, capabilities=frozenset({"embeddings"})) for name in "ls")

    with pytest.raises(UnsupportedParameter, match="name a model"):
        plan([large, small], ANYWHERE, replace(asked(), endpoint="embeddings", has_chat=False), IDLE)


def test_embeddings_are_asked_only_of_who_states_them() -> None:
    demand = replace(asked("large"), endpoint="embeddings", has_chat=False)

    with pytest.raises(UnsupportedParameter, match="embeddings"):
        plan([replace(FAR, capabilities=None)], ANYWHERE, demand, IDLE)
