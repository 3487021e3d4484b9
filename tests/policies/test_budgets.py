"""budgets.yaml is read whole, in the owner's words, and what it leaves open is refused rather than guessed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import policies
from policies.budgets import Budget, Money, Rate, RateLimit, Subject, own_budgets, own_limits, per_of, rate_of
from policies.budgets_file import BudgetsFile
from policies.load import Pack, Problem, load_pack

Load = Callable[..., Pack]
Refused = Callable[..., list[Problem]]

RATES = """\
exchange_rates:
  - {currency: BRL, per_usd: 5.50, as_of: 2026-11-01, source: central bank}
  - {currency: BRL, per_usd: 5.00, as_of: 2026-10-01, source: central bank}
"""
BUDGETS = """\
time_zone: America/Sao_Paulo
holidays: [BR, BR-SP]
currency: BRL
tags: [school, taxes]
budgets:
  - name: the family
    of: house
    limit: {brl: 110, tokens: 5000000}
    per: monthly
  - name: each child
    of: {group: children}
    limit: {usd: 0.50}
    per: 1d
    hard: false
    warn_at: [100, 50]
limits:
  - of: {key: any}
    requests: 60/minute
    tokens: 100000/min
    concurrency: 4
cache: {seconds: 3600}
"""


def test_budgets_limits_and_the_calendar_are_read(load: Load) -> None:
    found = load(prices=RATES, budgets=BUDGETS).budgets

    assert (found.zone_name, found.holidays, found.currency) == ("America/Sao_Paulo", ("BR", "BR-SP"), "BRL")
    assert (found.tags, found.cache_seconds) == (("school", "taxes"), 3600)
    assert [(budget.name, budget.per, budget.hard, budget.warn_at) for budget in found.budgets] == [
        ("the family", "month", True, (80, 100)),
        ("each child", "day", False, (50, 100)),
    ]
    assert found.limits == (RateLimit(Subject("key"), Rate(60, 60), Rate(100_000, 60), 4),)


def test_a_limit_in_another_currency_is_dollars_by_the_rate_of_its_day(load: Load) -> None:
    money = load(prices=RATES, budgets=BUDGETS).budgets.budgets[0].money

    assert money is not None
    assert money.nano_usd(date(2026, 11, 1)) == 20_000_000_000
    assert money.nano_usd(date(2026, 10, 31)) == 22_000_000_000
    assert money.nano_usd(date(2026, 1, 1)) == 22_000_000_000


def test_a_limit_that_does_not_divide_is_never_rounded_up() -> None:
    assert Money(Decimal(1), "BRL", ((date(2026, 1, 1), Decimal(3)),)).nano_usd(date(2026, 2, 1)) == 333_333_333


def test_a_pack_without_the_file_has_no_budgets_and_keeps_to_utc(load: Load) -> None:
    found = load().budgets

    assert (found.budgets, found.limits, found.zone_name, found.currency) == ((), (), "UTC", "USD")
    assert found.cache_seconds is None


def test_a_currency_without_a_rate_is_refused_where_it_stands(refused: Refused) -> None:
    (page, limit) = refused(budgets=BUDGETS)

    assert (page.file, page.line, page.key) == ("budgets.yaml", 3, "currency")
    assert (limit.file, limit.line, limit.key) == ("budgets.yaml", 8, "budgets[0].limit.brl")
    assert "there is no rate for BRL, and none is assumed: add one to prices.yaml" in limit.message


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "message"),
    [
        ("America/Sao_Paulo", "America/Sao_Paolo", 1, "time_zone", "did you mean 'America/Sao_Paulo'?"),
        ("America/Sao_Paulo", "Asia/Kathmandu", 1, "time_zone", "'Asia/Kathmandu' is not a whole number of half"),
        ("America/Sao_Paulo", "Pacific/Chatham", 1, "time_zone", "'Pacific/Chatham' is not a whole number of half"),
        ("America/Sao_Paulo", "America", 1, "time_zone", "is no time zone"),
        ("America/Sao_Paulo", "../etc/passwd", 1, "time_zone", "is no time zone"),
        ("BR-SP]", "BR-SQ]", 2, "holidays[1]", "no holidays are known for 'BR-SQ'"),
        ("currency: BRL", "currency: GBP", 3, "currency", "'GBP' is unknown"),
        ("of: house", "of: {keys: ana}", 7, "budgets[0].of", "did you mean 'key'?"),
        ("of: house", "of: {key: ana, group: x}", 7, "budgets[0].of", "should name one thing"),
        ("of: house", "of: everybody", 7, "budgets[0].of", "should name one thing"),
        ("tags: [school, taxes]", "tags: [school, measure]", 4, "tags[1]", "'measure' is Soleira's own"),
        ("of: house", "of: {tag: scool}", 7, "budgets[0].of.tag", "is none of this file's `tags`"),
        ("of: house", "of: {zone: hostde}", 7, "budgets[0].of.zone", "is no zone of rules.yaml"),
        ("of: house", "of: {model: kimi-k2}", 7, "budgets[0].of.model", "is no model of deployments.yaml"),
        ("of: house", "of: {model: tiny}", 7, "budgets[0].of.model", "is another name of a model"),
        ("brl: 110", "brl: 110, usd: 20", 8, "budgets[0].limit", "one currency only"),
        ("{usd: 0.50}", "{}", 12, "budgets[1].limit", "should name an amount"),
        ("{usd: 0.50}", "{usd: -1}", 12, "budgets[1].limit.usd", "should be an amount"),
        ("{usd: 0.50}", "{gbp: 1}", 12, "budgets[1].limit.gbp", "is unknown"),
        ("per: monthly", "per: 1m", 9, "budgets[0].per", "use hour, day, week or month"),
        ("per: monthly", "per: 30d", 9, "budgets[0].per", "use hour, day, week or month"),
        ("hard: false", "hard: maybe", 14, "budgets[1].hard", "boolean"),
        ("[100, 50]", "[0]", 15, "budgets[1].warn_at[0]", "greater than or equal to 1"),
        ("each child", "the family", 10, "budgets[1].name", "is used twice"),
        ("60/minute", "60/fortnight", 18, "limits[0].requests", "is no time of a rate"),
        ("60/minute", "sixty", 18, "limits[0].requests", "is no rate"),
        ("60/minute", "0/minute", 18, "limits[0].requests", "at least 1"),
        ("concurrency: 4", "concurrency: 0", 20, "limits[0].concurrency", "greater than or equal to 1"),
        ("of: {key: any}", "of: {zone: hosted}", 17, "limits[0]", "chosen after requests are let in"),
        ("seconds: 3600", "seconds: 0", 21, "cache.seconds", "greater than or equal to 1"),
        ("cache:", "caches:", 21, "caches", "is unknown; did you mean 'cache'?"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(
    refused: Refused, old: str, new: str, line: int, key: str, message: str
) -> None:
    assert BUDGETS.count(old) == 1

    (problem,) = refused(prices=RATES, budgets=BUDGETS.replace(old, new))

    assert (problem.file, problem.line, problem.key) == ("budgets.yaml", line, key)
    assert message in str(problem)


@pytest.mark.parametrize(
    ("words", "per"),
    [
        (("hour", "hourly", "1h", "60m"), "hour"),
        (("day", "daily", "1d", "24h", "Daily"), "day"),
        (("week", "weekly", "1w", "7d"), "week"),
        (("month", "monthly", "1mo"), "month"),
    ],
)
def test_words_of_one_meaning_are_one_calendar_stretch(words: tuple[str, ...], per: str) -> None:
    assert {per_of(word) for word in words} == {per}


def test_a_key_s_own_budgets_and_limits_are_read_from_their_short_form() -> None:
    money, tokens = own_budgets("ana", "5.25/month", "1000000/24h")

    assert money == Budget(
        "ana: money of its own", Subject("key", "ana"), "month", money=Money(Decimal("5.25")), own=True
    )
    assert (tokens.tokens, tokens.per, tokens.own) == (1_000_000, "day", True)
    assert own_limits("ana", requests="60/m", concurrency=2) == (
        RateLimit(Subject("key", "ana"), requests=Rate(60, 60), concurrency=2),
    )
    assert (own_budgets("ana"), own_limits("ana")) == ((), ())


@pytest.mark.parametrize("text", ["5", "5/", "/month", "-5/month", "5/month/day", "1e3/month", "five/month"])
def test_a_short_form_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 5/month"):
        own_budgets("ana", usd=text)


def test_a_rate_says_its_time_in_words() -> None:
    assert [rate_of(text).per for text in ("1/s", "1/min", "1/h", "1/day")] == ["second", "minute", "hour", "day"]


def test_the_file_has_a_schema_for_editors() -> None:
    schema = BudgetsFile.model_json_schema()

    assert schema["title"] == "BudgetsFile"
    assert {"time_zone", "budgets", "limits", "cache", "alerts"} <= schema["properties"].keys()


@pytest.mark.parametrize("name", ["home", "office", "k3-cluster"])
def test_a_shipped_pack_limits_nothing_until_its_examples_are_taken_in(name: str, tmp_path: Path) -> None:
    shipped = Path(policies.__file__).parent / "packs" / name
    pack = shutil.copytree(shipped, tmp_path / name)
    found = (pack / "budgets.yaml").read_text()
    examples = re.sub(r"(?m)^# (?=budgets:|limits:|cache:| )", "", found)
    (pack / "budgets.yaml").write_text(examples)

    before, after = load_pack(shipped).budgets, load_pack(pack).budgets

    assert (before.budgets, before.limits, before.cache_seconds) == ((), (), None)
    assert len(after.budgets) >= 2
    assert after.limits
    assert after.cache_seconds == 3600
