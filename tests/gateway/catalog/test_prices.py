"""Prices as they come out of a pack: by their days, with rates of exchange and surcharges; and `soleira prices`."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from gateway.catalog import build_price_map
from gateway.catalog.build_price_map import rows
from gateway.catalog.load import load
from gateway.cli.prices import prices as command
from gateway.errors import BadRequest
from gateway.ledger.price import charge
from gateway.wire.lanes import Usage
from policies.load import PackError, load_pack
from policies.price_map import FILE, bundled
from tests.gateway.house import RULES

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

    from gateway.catalog.prices import Price

TODAY = date(2026, 12, 1)
ONE = Usage(fresh=1_000_000)
K3 = "{engine: moonshot, model: kimi-k3, currency: %s, per_million: {input: %s, output: 15}, source: s%s}"
RATES = """\
exchange_rates:
  - {currency: BRL, per_usd: 5.00, as_of: 2026-10-01, source: central bank}
  - {currency: BRL, per_usd: 5.50, as_of: 2026-11-01, source: central bank}
"""


def written(tmp_path: Path, prices: str = "", *, own: str = "", url: str = "https://reseller.example/v1") -> Path:
    """A pack with one deployment of Kimi K3."""
    price = f", price: {own}" if own else ""
    entry = f"{{name: k3, model: kimi-k3, engine: moonshot, base_url: '{url}', zone: hosted{price}}}"
    (tmp_path / "rules.yaml").write_text(json.dumps(RULES))
    (tmp_path / "deployments.yaml").write_text(f"deployments:\n  - {entry}\n")
    (tmp_path / "prices.yaml").write_text(prices)
    return tmp_path


def listed(*rows: str, more: str = "") -> str:
    return "prices:\n" + "".join(f"  - {row}\n" for row in rows) + more


def price(tmp_path: Path, prices: str, **more: str) -> Price:
    catalog = load(load_pack(written(tmp_path, prices, **more)), {}, None, today=TODAY)
    return catalog.deployments[0].price


def on(day: str, of: Price) -> tuple[int, bool]:
    """What a million tokens cost at the beginning of a day, and whether that is assumed."""
    found = charge(ONE, of, datetime.fromisoformat(f"{day}T00:00:00+00:00"))
    return found.nano_usd // 1_000_000, found.assumed


def test_prices_follow_each_other_and_a_gap_is_charged_at_the_last_one_and_flagged(tmp_path: Path) -> None:
    found = price(
        tmp_path,
        listed(
            K3 % ("USD", 1, ", from: 2026-06-01, until: 2026-09-15"),
            K3 % ("USD", 2, ", from: 2026-09-01, until: 2026-09-30"),
            K3 % ("USD", 3, ", from: 2026-12-01"),
        ),
    )

    days = ["2026-01-01", "2026-06-01", "2026-08-31", "2026-09-30", "2026-10-01", "2026-11-30", "2026-12-01"]
    assert [on(day, found) for day in days] == [
        (1000, True),
        (1000, False),
        (1000, False),
        (2000, False),
        (2000, True),
        (2000, True),
        (3000, False),
    ]
    assert found.input == 3


def test_after_a_price_of_some_days_the_one_without_an_end_holds_again(tmp_path: Path) -> None:
    promotion = K3 % ("USD", 1, ", from: 2026-11-20, until: 2026-11-30")

    found = price(tmp_path, listed(promotion, K3 % ("USD", 3, "")))

    days = ["2026-11-19", "2026-11-20", "2026-11-30", "2026-12-01"]
    assert [on(day, found) for day in days] == [(3000, False), (1000, False), (1000, False), (3000, False)]


def test_a_gap_is_filled_from_the_map_where_the_model_is_in_it(tmp_path: Path) -> None:
    rows = listed(K3 % ("USD", 1, ", from: 2026-09-01, until: 2026-09-30"))

    found = price(tmp_path, rows, url="https://api.moonshot.ai/v1")

    assert [on(day, found) for day in ("2026-08-31", "2026-09-01", "2026-10-01")] == [
        (3000, False),
        (1000, False),
        (3000, False),
    ]
    assert [each.origin for each in found.dated] == ["map", "prices", "map"]


def test_each_day_has_the_rate_that_the_owner_gave_for_it(tmp_path: Path) -> None:
    found = price(tmp_path, listed(K3 % ("BRL", 11, "")) + RATES)

    days = ["2026-01-01", "2026-10-31", "2026-11-01", "2027-06-01"]
    assert [on(day, found)[0] for day in days] == [2200, 2200, 2000, 2000]
    at = found.at(datetime(2026, 12, 1, tzinfo=UTC))
    assert at.exchange_rate is not None
    assert (at.exchange_rate.per_usd, at.exchange_rate.as_of) == (Decimal("5.50"), date(2026, 11, 1))


def test_a_surcharge_is_paid_on_its_days_by_those_whom_it_concerns(tmp_path: Path) -> None:
    taxes = """\
surcharges:
  - {name: IOF, percent: 3.5, zones: hosted, until: 2026-12-31}
  - {name: IOF, percent: 1.75, zones: hosted, from: 2027-01-01}
  - {name: top-up fee, percent: 10, on: total, engines: openai}
"""
    found = price(tmp_path, listed(K3 % ("USD", 1, "")) + taxes)

    assert [on(day, found)[0] for day in ("2026-12-31", "2027-01-01")] == [1035, 1017]
    assert charge(ONE, found, datetime(2027, 1, 1, tzinfo=UTC)).surcharge_nano_usd == 17_500_000


def test_everything_that_a_price_may_say_arrives_where_it_is_charged(tmp_path: Path) -> None:
    whole = (
        "{currency: USD, per_million: {input: 1, cached: 0.1, output: 4}, per_thousand_searches: 2, multiplier: 0.5, "
        "tiers: [{above: 100, factor: 2}], source: page, as_of: 2026-11-01, "
        "service_tiers: {flex: {factor: 0.5}, "
        "priority: {per_million: {input: 3, output: 9}, tiers: [{above: 7, factor: 3}]}}, "
        "hours: [{from: '16:30', to: '24:00', time_zone: Asia/Tokyo, weekdays: [monday, sunday], factor: 0.25}]}"
    )
    found = price(tmp_path, "", own=whole)
    tokyo_monday, tuesday = datetime(2026, 11, 30, 8, tzinfo=UTC), datetime(2026, 12, 1, 8, tzinfo=UTC)

    def cost(usage: Usage, at: datetime = tuesday, service_tier: str | None = None) -> int:
        return charge(usage, found, at, service_tier).nano_usd

    assert cost(Usage(fresh=100)) == 50_000
    assert cost(Usage(fresh=101)) == 101_000
    assert cost(Usage(cached=100)) == 5_000
    assert cost(Usage(searches=1)) == 1_000_000
    assert cost(Usage(fresh=100), tokyo_monday) == 12_500
    assert cost(Usage(fresh=100), service_tier="flex") == 25_000
    assert [cost(Usage(fresh=count), service_tier="priority") for count in (7, 8)] == [10_500, 36_000]


def test_a_reply_by_another_model_has_its_price_in_its_own_currency(tmp_path: Path) -> None:
    own = "{currency: USD, per_million: {input: 1, output: 1}}"
    other = "{currency: BRL, per_million: {input: 11, output: 11}}"
    folder = written(tmp_path, RATES, own=f"{own}, replies: {{price: {other}}}")

    replies = load(load_pack(folder), {}, None, today=TODAY).deployments[0].replies

    assert replies.price is not None
    assert on("2026-12-01", replies.price) == (2000, False)


def test_the_bundled_map_is_what_the_installed_litellm_makes() -> None:
    if f"litellm {version('litellm')}" != bundled().source:
        pytest.fail("the map is of another litellm: run `python -m gateway.catalog.build_price_map`")

    assert FILE.read_text(encoding="utf-8") == build_price_map.text()


def test_the_map_takes_prices_and_leaves_what_nobody_pays_or_nobody_knows() -> None:
    usual = {"mode": "chat", "litellm_provider": "openai", "input_cost_per_token": 2e-06}
    data: dict[str, dict[str, Any]] = {
        "priced": {**usual, "output_cost_per_token": 8.000000000000001e-06, "cache_read_input_token_cost": 0.0},
        "without-output": usual,
        "free": {**usual, "input_cost_per_token": 0.0, "output_cost_per_token": 0.0},
        "elsewhere": {**usual, "litellm_provider": "somebody", "output_cost_per_token": 8e-06},
        "picture": {**usual, "mode": "image_generation", "output_cost_per_token": 8e-06},
        "half-a-tier": {**usual, "output_cost_per_token": 8e-06, "input_cost_per_token_flex": 1e-06},
    }

    found = rows({name: {key: exact(value) for key, value in entry.items()} for name, entry in data.items()})

    two_and_eight = {"per_million": {"input": "2", "output": "8"}}
    assert found == {"openai/priced": two_and_eight, "openai/half-a-tier": two_and_eight}


def exact(value: object) -> object:
    return Decimal(repr(value)) if isinstance(value, float) else value


# soleira prices


def soleira(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(command, [*arguments, "--pack", str(folder)])


def test_prices_are_listed_with_where_they_come_from(tmp_path: Path) -> None:
    folder = written(tmp_path, listed(K3 % ("USD", "3.00", ", as_of: 2026-01-05")))

    (row,) = json.loads(soleira(folder, "list", "--json").stdout)
    table = soleira(folder, "list").stdout

    assert (row["name"], row["price"]["origin"], row["price"]["input"]) == ("k3", "prices", "3.00")
    assert row["price"]["as_of"] == "2026-01-05"
    assert "look again" in row["warnings"][0]
    assert table.splitlines()[0].split() == ["NAME", "MODEL", "FROM", "AS", "OF", "CURRENCY", "IN", "CACHED", "OUT"]
    assert table.splitlines()[1].split() == ["k3", "kimi-k3", "prices", "2026-01-05", "USD", "3.00", "-", "15"]


def test_a_reseller_s_price_is_listed_as_it_is_paid(tmp_path: Path) -> None:
    resold = "{like: {engine: moonshot, model: kimi-k3}, multiplier: 0.60}"
    folder = written(tmp_path, own=resold)

    (row,) = json.loads(soleira(folder, "list", "--json").stdout)

    assert (row["price"]["input"], row["price"]["cached"], row["price"]["output"]) == ("1.8", "0.18", "9")
    assert "0.60 of the listed price" in soleira(folder, "list").stdout


def test_the_map_can_be_searched(tmp_path: Path) -> None:
    found = json.loads(soleira(written(tmp_path, own=_ZERO), "list", "--bundled", "moonshot/Kimi-K3", "--json").stdout)

    assert "moonshot/kimi-k3" in [row["name"] for row in found]


_ZERO = "{currency: USD, per_million: {input: 0, output: 0}, source: gift, as_of: 2026-11-01}"


def test_a_price_that_differs_from_the_map_is_told_and_the_command_fails(tmp_path: Path) -> None:
    folder = written(tmp_path, listed(K3 % ("USD", 4, "")), url="https://api.moonshot.ai/v1")

    found = soleira(folder, "diff", "--json")

    assert found.exit_code == 1
    assert {"input": ("4", "3")}.items() <= {
        row["what"]: (row["here"], row["there"]) for row in json.loads(found.stdout)
    }.items()
    assert f"k3: input is 4 here, 3 in {bundled().source}" in soleira(folder, "diff").stdout


def test_a_price_that_is_the_map_s_does_not_differ(tmp_path: Path) -> None:
    found = soleira(written(tmp_path, url="https://api.moonshot.ai/v1"), "diff")

    assert (found.exit_code, found.stdout) == (0, "No differences.\n")


def litellm_list(tmp_path: Path) -> Path:
    file = tmp_path / "model_prices_and_context_window.json"
    entry = {"litellm_provider": "moonshot", "mode": "chat"}
    amounts = {"input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 2e-07}
    file.write_text(json.dumps({"moonshot/kimi-k3": {**entry, **amounts}}))
    return file


def test_a_newer_list_is_shown_first_and_taken_over_from_a_day_on(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    before = listed("# ours", K3 % ("USD", 3, "")).replace("- # ours", "# ours") + RATES
    folder = written(pack, before, url="https://api.moonshot.ai/v1")
    file = str(litellm_list(tmp_path))

    shown = soleira(folder, "import", file, "--from", "2027-01-01", "--as-of", "2026-12-24")
    unchanged = (folder / "prices.yaml").read_text()
    done = soleira(folder, "import", file, "--from", "2027-01-01", "--as-of", "2026-12-24", "--write")

    assert "from: 2027-01-01" in shown.stdout
    assert "per_million: {input: 2, cached: 0.2, output: 10}" in shown.stdout
    assert unchanged == before
    assert done.exit_code == 0, done.output
    after = (folder / "prices.yaml").read_text()
    assert all(line in after.splitlines() for line in before.splitlines())
    found = load(load_pack(folder), {}, None, today=TODAY).deployments[0].price
    assert [on(day, found)[0] for day in ("2026-12-31", "2027-01-01")] == [3000, 2000]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model_prices_and_context_window.json", "pack"]


@pytest.mark.parametrize("before", ["", "# nothing yet\n", RATES])
def test_a_list_is_taken_over_into_a_file_without_prices(tmp_path: Path, before: str) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    folder = written(pack, before, url="https://api.moonshot.ai/v1")

    done = soleira(folder, "import", str(litellm_list(tmp_path)), "--from", "2027-01-01", "--write")

    assert done.exit_code == 0, done.output
    assert load_pack(folder).priced["k3"].rows[0].price.per_million.input == 2
    assert (folder / "prices.yaml").read_text().startswith(before.rstrip())


def test_what_a_deployment_says_itself_is_told_and_not_overruled(tmp_path: Path) -> None:
    own = "{currency: USD, per_million: {input: 3, output: 15}}"
    folder = written(tmp_path, own=own, url="https://api.moonshot.ai/v1")

    found = soleira(folder, "import", str(litellm_list(tmp_path)), "--write")

    assert "names its price in deployments.yaml" in found.stderr
    assert (folder / "prices.yaml").read_text() == ""


def test_prices_in_brackets_are_left_to_their_author(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    before = f"prices: [{K3 % ('USD', 3, '')}]\n"
    folder = written(pack, before, url="https://api.moonshot.ai/v1")

    found = soleira(folder, "import", str(litellm_list(tmp_path)), "--write")

    assert isinstance(found.exception, BadRequest)
    assert "by hand" in str(found.exception)
    assert (folder / "prices.yaml").read_text() == before


def test_a_day_that_is_taken_leaves_the_pack_as_it_was(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    before = listed(K3 % ("USD", 3, ", from: 2027-01-01"))
    folder = written(pack, before, url="https://api.moonshot.ai/v1")

    found = soleira(folder, "import", str(litellm_list(tmp_path)), "--from", "2027-01-01", "--write")

    assert isinstance(found.exception, PackError)
    assert (folder / "prices.yaml").read_text() == before


@pytest.mark.parametrize("content", ["[]", "no json", "{}", '{"prices": {}}', '{"a": 1}'])
def test_a_file_that_is_no_price_list_is_told_so(tmp_path: Path, content: str) -> None:
    file = tmp_path / "list.json"
    file.write_text(content)

    found = soleira(written(tmp_path, own=_ZERO), "diff", str(file))

    assert isinstance(found.exception, BadRequest)
    assert "is no price list" in str(found.exception)
