"""Where a deployment's price is found, on which days it holds, and what is refused for want of one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest

from policies.load import Pack, Problem
from policies.price_map import HOSTS, bundled
from policies.prices import ExchangeRate, rate_on

Load = Callable[..., Pack]
Refused = Callable[..., list[Problem]]

K3 = "{engine: moonshot, model: kimi-k3, currency: USD, per_million: {input: 3, cached: 0.3, output: 15}%s}"


def deployment(price: str = "", name: str = "one", **changes: str) -> str:
    """One deployment in a line of YAML, as a list of one."""
    lines = {
        "model": "kimi-k3",
        "engine": "moonshot",
        "base_url": "https://api.moonshot.ai/v1",
        "zone": "hosted",
        **changes,
    }
    written = ", ".join(f"{key}: {value}" for key, value in lines.items())
    return f"deployments:\n  - {{name: {name}, {written}{price and f', price: {price}'}}}\n"


def prices(*rows: str, more: str = "") -> str:
    return "prices:\n" + "".join(f"  - {row}\n" for row in rows) + more


def test_a_price_is_looked_for_at_the_deployment_then_in_prices_yaml_then_in_the_map(load: Load) -> None:
    own = "{currency: USD, per_million: {input: 1, output: 1}}"
    listed = prices(K3 % "")

    found = [
        load(deployments=deployment(own), prices=listed),
        load(deployments=deployment(), prices=listed),
        load(deployments=deployment(), prices=prices()[:0]),
    ]

    rows = [pack.priced["one"].rows for pack in found]
    assert [[row.origin for row in each] for each in rows] == [["deployment"], ["prices"], ["map"]]
    assert rows[2][0].price.as_of == bundled().as_of
    assert rows[2][0].price.per_million.cached == Decimal("0.3")


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "https://reseller.example/v1"},
        {"base_url": "https://api.moonshot.ai.example/v1"},
        {"base_url": "http://127.0.0.1:8000/v1", "zone": "device", "engine": "openai"},
        {"model": "kimi-k99"},
        {"engine": "litellm", "model": "openai/gpt-5"},
    ],
)
def test_the_map_holds_only_at_the_address_of_who_sells_at_those_prices(
    refused: Refused, changes: dict[str, str]
) -> None:
    (problem,) = refused(deployments=deployment(**changes))

    assert "unknown is never free" in problem.message
    assert problem.line == 2


@pytest.mark.parametrize(
    ("changes", "input_price"),
    [
        ({"engine": "openai", "base_url": "https://api.deepseek.com/v1", "model": "deepseek-chat"}, "0.28"),
        (
            {
                "engine": "litellm",
                "base_url": "https://generativelanguage.googleapis.com",
                "model": "gem",
                "upstream_model": "gemini/gemini-2.5-flash",
            },
            "0.3",
        ),
    ],
)
def test_the_map_knows_providers_by_their_address(load: Load, changes: dict[str, str], input_price: str) -> None:
    (spec,) = load(deployments=deployment(**changes)).deployments

    assert spec.price.per_million.input == Decimal(input_price)


def test_prices_follow_each_other_by_their_days(load: Load) -> None:
    rows = prices(K3 % ", from: 2027-01-01", K3 % ", until: 2026-11-30, retires_on: 2027-06-30")

    found = load(deployments=deployment(), prices=rows).priced["one"]

    assert [(row.starts_on, row.ends_on) for row in found.rows] == [
        (None, date(2026, 11, 30)),
        (date(2027, 1, 1), None),
    ]
    assert found.rows[0].retires_on == date(2027, 6, 30)
    assert found.otherwise is not None
    assert found.otherwise.origin == "map"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (K3 % "", "is a second price of 'kimi-k3' at 'moonshot' without `from`"),
        (K3 % ", from: 2027-01-01, until: 2026-12-31", "before it begins"),
        (K3 % ", tiers: [{above: 10, factor: 2, per_million: {input: 1, output: 1}}]", "either per_million or factor"),
        (K3 % ", tiers: [{above: 10, factor: 2}, {above: 5, factor: 3}]", "rising order"),
        (K3 % ", hours: [{from: '16:30', to: '25:00', factor: 0.5}]", "a time such as 16:30"),
        (K3 % ", hours: [{from: '1:00', to: '2:00', factor: 0.5, time_zone: america/sao_paolo}]", "America/Sao_Paulo"),
        (K3 % ", hours: [{from: '1:00', to: '2:00', factor: 0}]", "more than 0"),
        (K3 % ", multiplier: 0", "what is free says so"),
        (K3 % ", service_tiers: {flex: {factor: 0.5, per_thousand_searches: 1}}", "beside per_million"),
        ("{engine: openai, model: m, like: {engine: moonshot, model: kimi-k33}, multiplier: 2}", "is written out in"),
        ("{engine: openai, model: m, currency: GBP, per_million: {input: 1, output: 1}}", "'GBP' is unknown"),
    ],
)
def test_a_price_that_cannot_be_is_refused(refused: Refused, row: str, message: str) -> None:
    problems = refused(deployments=deployment(), prices=prices(K3 % "", row))

    assert [problem.line for problem in problems] == [3]
    assert message in problems[0].message


def test_a_mistyped_model_of_a_reseller_is_told_what_was_meant(refused: Refused) -> None:
    (problem,) = refused(
        prices=prices(K3 % "", "{engine: openai, model: m, like: {engine: moonshot, model: kimi-k33}, multiplier: 2}")
    )

    assert problem.suggestion == "kimi-k3"


@pytest.mark.parametrize("currency", ["BRL", "EUR", "CNY"])
def test_a_price_in_another_currency_needs_a_rate_wherever_it_stands(refused: Refused, currency: str) -> None:
    own = f"{{currency: {currency}, per_million: {{input: 1, output: 1}}}}"
    row = f"{{engine: openai, model: m, currency: {currency}, per_million: {{input: 1, output: 1}}}}"
    machine = f"machines: {{node: {{marginal: {own}}}}}\n"
    other = f"replies: {{price: {own}}}"

    problems = refused(deployments=deployment(own, zone=f"hosted, {other}"), prices=prices(row), break_even=machine)

    assert {(problem.file, problem.key) for problem in problems} == {
        ("deployments.yaml", "deployments[0].price.currency"),
        ("deployments.yaml", "deployments[0].replies.price.currency"),
        ("prices.yaml", "prices[0].currency"),
        ("break_even.yaml", "machines.node.marginal.currency"),
    }
    assert all(f"currency: {currency}, per_usd: …" in problem.message for problem in problems)


def test_with_a_rate_the_same_prices_load(load: Load) -> None:
    own = "{currency: BRL, per_million: {input: 5.50, output: 11}}"
    rates = "exchange_rates: [{currency: BRL, per_usd: 5.50, as_of: 2026-11-28, source: central bank}]\n"

    pack = load(deployments=deployment(own), prices=rates)

    assert pack.deployments[0].price.currency == "BRL"
    assert pack.exchange_rates[0].per_usd == Decimal("5.50")


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ("{currency: USD, per_usd: 1, as_of: 2026-11-28, source: s}", "a dollar is a dollar"),
        ("{currency: BRL, per_usd: 0, as_of: 2026-11-28, source: s}", "more than 0"),
        ("{currency: BRL, per_usd: 5.5, source: s}", "is missing"),
        ("{currency: BRL, per_usd: 5.5, as_of: 2026-11-28}", "is missing"),
    ],
)
def test_a_rate_says_what_it_is_of_and_whence(refused: Refused, rate: str, message: str) -> None:
    (problem,) = refused(prices=f"exchange_rates:\n  - {rate}\n")

    assert message in problem.message


def test_a_day_has_one_rate(refused: Refused) -> None:
    rate = "  - {currency: BRL, per_usd: 5.5, as_of: 2026-11-28, source: s}\n"

    (problem,) = refused(prices=f"exchange_rates:\n{rate}{rate}")

    assert (problem.line, problem.message) == (3, "is a second rate of BRL as of 2026-11-28")


def test_the_newest_rate_until_a_day_holds_on_it() -> None:
    first, second = (
        ExchangeRate(currency="BRL", per_usd=Decimal(amount), as_of=date(2026, month, 1), source="s")
        for amount, month in (("5.4", 10), ("5.5", 11))
    )

    days = [date(2026, 9, 1), date(2026, 10, 31), date(2026, 11, 1), date(2027, 1, 1)]
    assert [rate_on((second, first), "BRL", day) for day in days] == [first, first, second, second]
    assert rate_on((first,), "EUR", days[0]) is None


@pytest.mark.parametrize(
    ("surcharge", "message"),
    [
        ("{name: IOF, percent: 3.5}", "whose price it is paid on"),
        ("{name: IOF, percent: 3.5, zones: hostde}", "'hostde' is no zone"),
        ("{name: IOF, percent: 3.5, deployments: [onee]}", "'onee' is no deployment"),
        ("{name: IOF, percent: 3.5, engines: moonshoot}", "'moonshoot' is unknown"),
        ("{name: IOF, percent: 0, zones: hosted}", "more than 0"),
        ("{name: IOF, percent: -3, zones: hosted}", "no sign"),
    ],
)
def test_a_surcharge_says_on_whose_price_it_is_paid(refused: Refused, surcharge: str, message: str) -> None:
    (problem,) = refused(deployments=deployment(), prices=f"surcharges:\n  - {surcharge}\n")

    assert message in problem.message
    assert problem.line == 2


def test_a_reseller_takes_a_share_of_every_row_of_what_it_sells(load: Load) -> None:
    resold = "{like: {engine: moonshot, model: kimi-k3}, multiplier: 0.60, source: Flatkey, as_of: 2026-10-24}"
    rows = prices(K3 % ", until: 2026-12-31, source: list, as_of: 2026-10-01", K3 % ", from: 2027-01-01")

    found = load(deployments=deployment(resold), prices=rows).priced["one"].rows

    assert [(row.multiplier, row.origin, row.starts_on) for row in found] == [
        (Decimal("0.60"), "deployment", None),
        (Decimal("0.60"), "deployment", date(2027, 1, 1)),
    ]
    # as old as the older of the two was looked up
    assert (found[0].price.source, found[0].price.as_of) == ("Flatkey of list", date(2026, 10, 1))


def test_a_reseller_in_prices_yaml_may_go_by_the_bundled_map_for_some_days(load: Load) -> None:
    resold = "{engine: flatkey, model: k3, from: 2026-10-24, like: {engine: moonshot, model: kimi-k3}, multiplier: 0.6}"

    found = load(deployments=deployment(engine="flatkey", model="k3"), prices=prices(resold)).priced["one"].rows

    assert [(row.origin, row.starts_on, row.price.per_million.input) for row in found] == [
        ("prices", date(2026, 10, 24), Decimal(3))
    ]


def test_a_reranker_that_counts_searches_needs_the_price_of_one(load: Load, refused: Refused) -> None:
    place = {"engine": "openai", "base_url": "https://api.cohere.com/v1", "capabilities": "[rerank]"}
    tokens = "{currency: USD, per_million: {input: 1, output: 0}%s}"

    (problem,) = refused(deployments=deployment(tokens % "", model="mine", **place))

    assert "per_thousand_searches" in problem.message
    assert load(deployments=deployment(tokens % ", per_thousand_searches: 2", model="mine", **place))
    assert load(deployments=deployment(model="rerank-v3.5", **place)).deployments[0].price.per_thousand_searches == 2


def test_every_row_of_the_map_can_be_read_and_none_is_free() -> None:
    listed = bundled()
    rows = [listed.row(key) for key in listed.rows]

    assert len(rows) > 1000
    assert all(row is not None and not row.price.is_free for row in rows)
    assert {key.partition("/")[0] for key in listed.rows} <= frozenset[str]().union(*HOSTS.values())
