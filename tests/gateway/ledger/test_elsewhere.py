"""The same tokens on other deployments: estimates by the facts that are known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from gateway.catalog.deployments import Deployment, Price
from gateway.db.rollups import Summed
from gateway.db.tables import MEASURES
from gateway.ledger.elsewhere import Choice, Spent, compare, weigh
from gateway.ledger.price import charge
from gateway.ledger.ratios import Ratios
from gateway.wire.lanes import Usage
from tests.fakes import DEVICE, HOSTED, LAN, deployment

AT = datetime(2026, 11, 28, 12, tzinfo=UTC)
THINKS = frozenset({"chat", "reasoning"})


def priced(name: str, fresh: str, cached: str | None, output: str) -> Deployment:
    price = Price(
        Decimal(fresh),
        Decimal(output),
        source="price page",
        as_of=date(2026, 10, 24),
        cached=None if cached is None else Decimal(cached),
    )
    near = deployment("https://api.example/v1", HOSTED, name=name)
    return replace(near, model="kimi-k3", capabilities=THINKS, price=price)


MOONSHOT = priced("moonshot-k3", "3.00", "0.30", "15.00")
FLATKEY = priced("flatkey-k3", "1.80", "0.18", "9.00")
OUR_K3 = replace(priced("our-k3", "0.03", None, "0.12"), zone=LAN, grade=5)
SMALL = replace(priced("small", "0.01", None, "0.04"), zone=DEVICE, model="small", capabilities=frozenset({"chat"}))
AGENT = Usage(fresh=47_993, cached=2_204_160, output=45_392)
"""The agent's task of the public measurements: 1.486107 dollars at Moonshot, 0.891664 at Flatkey."""


def seen(*answers: tuple[Deployment, int, int]) -> Ratios:
    ratios = Ratios()
    for of, visible, thinking in answers:
        ratios.note(of, Usage(output=visible, reasoning=thinking))
    return ratios


def test_an_agent_s_task_costs_elsewhere_what_it_would_be_charged_there() -> None:
    costs = compare(AGENT, OUR_K3, [MOONSHOT, FLATKEY, OUR_K3], Ratios(), AT)

    assert costs == {"moonshot-k3": 1_486_107_000, "flatkey-k3": 891_664_200}


def test_a_model_that_thinks_more_is_reckoned_with_more_thoughts() -> None:
    ratios = seen((MOONSHOT, 10_000, 40_000), (OUR_K3, 10_000, 20_000))
    usage = Usage(fresh=1_000, output=500, reasoning=1_000)

    costs = compare(usage, OUR_K3, [MOONSHOT], ratios, AT)

    assert costs == {"moonshot-k3": charge(replace(usage, reasoning=2_000), MOONSHOT.price, AT).nano_usd}


def test_where_nobody_knows_how_much_a_model_thinks_the_thoughts_stay_as_they_are() -> None:
    usage = Usage(fresh=1_000, output=500, reasoning=1_000)

    costs = compare(usage, OUR_K3, [MOONSHOT], Ratios(), AT)

    assert costs == {"moonshot-k3": charge(usage, MOONSHOT.price, AT).nano_usd}


def test_a_model_that_does_not_think_is_reckoned_without_thoughts() -> None:
    usage = Usage(fresh=1_000, output=500, reasoning=1_000)

    costs = compare(usage, OUR_K3, [SMALL], Ratios(), AT)

    assert costs == {"small": charge(Usage(fresh=1_000, output=500), SMALL.price, AT).nano_usd}


def test_thoughts_are_added_to_the_answer_of_a_model_without() -> None:
    ratios = seen((MOONSHOT, 10_000, 30_000))

    costs = compare(Usage(fresh=1_000, output=500), SMALL, [MOONSHOT], ratios, AT)

    assert costs == {
        "moonshot-k3": charge(Usage(fresh=1_000, output=500, reasoning=1_500), MOONSHOT.price, AT).nano_usd
    }


def test_thoughts_that_were_not_counted_apart_are_not_counted_twice() -> None:
    ratios = seen((MOONSHOT, 10_000, 30_000))
    usage = Usage(fresh=1_000, output=2_000)

    costs = compare(usage, replace(OUR_K3, capabilities=None), [MOONSHOT], ratios, AT)

    assert costs == {"moonshot-k3": charge(usage, MOONSHOT.price, AT).nano_usd}


def test_an_answer_that_ended_within_its_thoughts_keeps_them() -> None:
    ratios = seen((MOONSHOT, 10_000, 30_000))
    usage = Usage(fresh=1_000, reasoning=9_000)

    assert compare(usage, OUR_K3, [MOONSHOT], ratios, AT) == {"moonshot-k3": charge(usage, MOONSHOT.price, AT).nano_usd}


@pytest.mark.parametrize(
    ("usage", "other"),
    [
        (Usage(), MOONSHOT),
        (Usage(fresh=900, output=200), replace(MOONSHOT, context=1_000)),
        (Usage(embedding=10), MOONSHOT),
        (Usage(rerank=10), MOONSHOT),
        (Usage(searches=1), replace(MOONSHOT, capabilities=frozenset({"rerank"}))),
        (Usage(image_input=10, output=1), MOONSHOT),
        (Usage(fresh=1), replace(MOONSHOT, builtin=True)),
        (Usage(fresh=1), OUR_K3),
    ],
    ids=["nothing", "too long", "embedding", "rerank", "unpriced searches", "picture", "of this house", "itself"],
)
def test_what_could_not_have_been_there_has_no_cost_there(usage: Usage, other: Deployment) -> None:
    assert compare(usage, OUR_K3, [other], Ratios(), AT) == {}


def test_embeddings_are_compared_with_embeddings() -> None:
    embedder = replace(MOONSHOT, name="embedder", capabilities=frozenset({"embeddings"}))

    assert compare(Usage(embedding=1_000_000), OUR_K3, [embedder, MOONSHOT], Ratios(), AT) == {
        "embedder": 3_000_000_000
    }


def test_a_ratio_of_little_traffic_is_not_known() -> None:
    assert seen((MOONSHOT, 999, 5_000)).of(MOONSHOT) is None
    assert seen((MOONSHOT, 1_000, 5_000)).of(MOONSHOT) == 5


def test_a_ratio_is_known_of_a_model_that_ran_elsewhere() -> None:
    assert seen((MOONSHOT, 10_000, 25_000)).of(FLATKEY) == Fraction(5, 2)


def test_estimated_usage_says_nothing_of_thoughts() -> None:
    ratios = Ratios()

    ratios.note(MOONSHOT, Usage(output=10_000, reasoning=10_000, estimated=True))

    assert ratios.of(MOONSHOT) is None


def test_recent_traffic_outweighs_what_was_long_ago() -> None:
    ratios = seen(*[(MOONSHOT, 1_000_000, 4_000_000)] * 4, *[(MOONSHOT, 1_000_000, 1_000_000)] * 12)

    ratio = ratios.of(MOONSHOT)

    assert ratio is not None
    assert 1 <= ratio < Fraction(11, 10)


def test_a_ratio_begins_with_what_the_ledger_sums() -> None:
    names = {"deployment": "moonshot-k3", "model": "kimi-k3"}
    summed = Summed(names, None, {**dict.fromkeys(MEASURES, 0), "output": 2_000, "reasoning": 5_000})
    ratios = Ratios()

    ratios.seed([summed])

    assert ratios.of(MOONSHOT) == Fraction(5, 2)


def spent(where: Deployment, usage: Usage = AGENT) -> Spent:
    return Spent(where, usage, charge(usage, where.price, AT).nano_usd, AT)


def test_privacy_costs_what_the_cheapest_forbidden_deployment_would_have_saved() -> None:
    choice = Choice(all=(MOONSHOT, FLATKEY), route=(MOONSHOT,), withheld=(FLATKEY,))

    weighed = weigh(spent(MOONSHOT), choice, Ratios())

    assert weighed.privacy_nano_usd == 1_486_107_000 - 891_664_200
    assert weighed.elsewhere == {"flatkey-k3": 891_664_200}


def test_privacy_that_was_cheaper_cost_nothing() -> None:
    choice = Choice(all=(MOONSHOT, OUR_K3), route=(OUR_K3,), withheld=(MOONSHOT,))

    assert weigh(spent(OUR_K3), choice, Ratios()).privacy_nano_usd == 0


def test_a_dear_choice_that_privacy_did_not_ask_for_is_no_price_of_privacy() -> None:
    choice = Choice(all=(MOONSHOT, FLATKEY, SMALL), route=(MOONSHOT, SMALL), withheld=(FLATKEY,))

    assert weigh(spent(MOONSHOT), choice, Ratios()).privacy_nano_usd == 0


def test_routing_saved_what_the_best_of_the_route_would_have_cost_more() -> None:
    best = replace(MOONSHOT, grade=5)
    choice = Choice(all=(best, SMALL), route=(SMALL, best))

    weighed = weigh(spent(SMALL), choice, Ratios())

    assert weighed.routing_nano_usd == 1_486_107_000 - spent(SMALL).nano_usd > 0


def test_of_several_that_are_best_the_cheapest_counts() -> None:
    choice = Choice(all=(MOONSHOT, FLATKEY), route=(FLATKEY, MOONSHOT))

    assert weigh(spent(FLATKEY), choice, Ratios()).routing_nano_usd == 0
    assert weigh(spent(MOONSHOT), choice, Ratios()).routing_nano_usd == 891_664_200 - 1_486_107_000


def test_an_attempt_that_used_nothing_is_weighed_against_nothing() -> None:
    choice = Choice(all=(MOONSHOT, FLATKEY), route=(MOONSHOT,), withheld=(FLATKEY,))

    weighed = weigh(Spent(MOONSHOT, Usage(), 0, AT), choice, Ratios())

    assert (weighed.elsewhere, weighed.privacy_nano_usd, weighed.routing_nano_usd) == ({}, 0, 0)
