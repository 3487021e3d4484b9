"""Answers against the exact values that the arithmetic of Kimi K3's costs has, and what an answer says of itself."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, get_args

import pytest

from gateway.cli import break_even_text
from gateway.economics.break_even import is_cheaper
from gateway.economics.profiles import Point, Profile
from gateway.economics.scenario import DAYS_A_MONTH, MILLION, Mix
from gateway.errors import BadRequest
from gateway.ledger.traffic import Observed
from gateway.owning import words, written
from gateway.owning.answers import Answer, Note, Reason, Verdict, answer
from gateway.owning.figures import OF_OVERRIDE
from gateway.owning.questions import OVERRIDES, Override, Question, overrides_of
from gateway.owning.scenarios import bundled
from gateway.owning.shown import shown
from gateway.settings import ROOT
from policies.scenario_file import read_scenarios

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policies.scenarios import ScenarioEntry

AT = date(2026, 12, 1)
MOONSHOT = "{currency: USD, per_million: {input: 3.00, cached: 0.30, output: 15.00}}"
FLATKEY = "{currency: USD, per_million: {input: 1.80, cached: 0.18, output: 9.00}}"
K31_PRO = "{currency: USD, per_million: {input: 2.00, cached: 0.20, output: 10.00}}"
FLAT = "{mix: {input: 3, output: 1}, cached_share: 0, peak_to_mean: 1}"
BUSY = FLAT.replace("peak_to_mean: 1", "peak_to_mean: 2.5")
DSPARK = "{prefill_tps: 21672.0, decode_tps: 5075.1, utilisation: 0.75}"
NO_SPEC = "{prefill_tps: 21672.0, decode_tps: 2287, utilisation: 0.75}"


def scenario(
    gpu: str, count: int, rent: str, hosted: str, traffic: str = FLAT, capacity: str = "none", more: str = ""
) -> str:
    return (
        f"hardware: {{gpu: {gpu}, count: {count}, {rent}}}\nhosted: {hosted}\ntraffic: {traffic}\n"
        f"capacity: {capacity}\n{more}"
    )


def ask(
    text: str,
    overrides: Mapping[str, str] | None = None,
    traffic: Observed | None = None,
    profiles: Mapping[str, Profile] | None = None,
    ledger_leads: bool = False,
) -> Answer:
    [(name, entry)] = read_scenarios("case.yaml", text.encode()).scenarios.items()
    question = Question(entry, name, overrides_of(overrides or {}), ledger_leads)
    return answer(question, AT, None, traffic, profiles or {})


@pytest.fixture
def profiles() -> Mapping[str, Profile]:
    """One that takes a second to the first token."""
    point = Point(1, 8192, 1024, Fraction(1000), Fraction(10), Fraction(20_000), Fraction(300))
    slow = Profile("slow", "kimi-k3", "native", "b200", 8, "sglang", (point,), "test", AT, "measured")
    return {"slow": slow}


def daily(found: Answer) -> float:
    assert found.result.tokens_per_month is not None
    return float(found.result.tokens_per_month / MILLION / DAYS_A_MONTH)


def test_eight_b200_against_a_reseller() -> None:
    found = shown(ask(scenario("b200", 8, "usd_per_gpu_hour: 7.49", FLATKEY, more="monthly_extra_usd: 0\n")))

    assert found["hourly_usd"] == pytest.approx(59.92, abs=1e-9)
    assert found["monthly_usd"] == pytest.approx(43_741.60, abs=1e-9)
    assert found["hosted_per_million_usd"] == pytest.approx(3.60, abs=1e-12)
    assert round(found["break_even"]["million_tokens_per_month"], 3) == 12_150.444
    assert round(found["break_even"]["million_tokens_per_day"], 3) == 399.467
    assert found["break_even"]["valid"] is True
    assert found["peak_to_mean_max"] is None


def test_arithmetic_of_machines_that_cannot_hold_the_model_says_so_and_what_can() -> None:
    found = ask(scenario("b200", 8, "usd_per_gpu_hour: 7.49", FLATKEY))

    assert (found.verdict, found.reason) == ("never", "arithmetic_cannot_hold")
    assert "its weights take 1,560\N{NO-BREAK SPACE}GB" in words.reason(found)
    assert "report 1,440\N{NO-BREAK SPACE}GB" in words.reason(found)
    assert "What holds it: 16 × B200, 8 × B300" in words.reason(found)
    assert words.verdict(found, "pt") == "Nunca: 8 × B200 não comportam Kimi K3 (native)."


def test_with_capacity_machines_that_cannot_hold_the_model_are_no_answer() -> None:
    found = ask(scenario("b200", 8, "usd_per_gpu_hour: 7.49", FLATKEY, capacity=DSPARK))

    assert (found.verdict, found.reason, found.result.valid) == ("never", "does_not_hold", False)
    assert found.hybrid is None
    assert found.used == ()


@pytest.mark.parametrize(
    ("gpu", "count", "rent", "hosted", "hourly", "monthly", "days"),
    [
        ("b200", 8, "7.49", MOONSHOT, 59.92, 43_741.60, 239.680),
        ("b200", 8, "7.49", K31_PRO, 59.92, 43_741.60, 359.520),
        ("b300", 8, "7.34", FLATKEY, 58.72, 42_865.60, 391.467),
        ("b300", 8, "7.34", MOONSHOT, 58.72, 42_865.60, 234.880),
        ("b200", 16, "7.49", FLATKEY, 119.84, 87_483.20, 798.933),
        ("b200", 16, "7.49", MOONSHOT, 119.84, 87_483.20, 479.360),
        ("h200", 16, "3.60", FLATKEY, 57.60, 42_048.00, 384.000),
        ("h100", 32, "2.48", FLATKEY, 79.36, 57_932.80, 529.067),
    ],
)
def test_rents_against_prices(
    gpu: str, count: int, rent: str, hosted: str, hourly: float, monthly: float, days: float
) -> None:
    found = ask(scenario(gpu, count, f"usd_per_gpu_hour: {rent}", hosted))

    assert float(found.result.hourly_usd) == pytest.approx(hourly, abs=1e-9)
    assert float(found.result.monthly_usd) == pytest.approx(monthly, abs=1e-9)
    assert daily(found) == pytest.approx(days, abs=5e-4)


@pytest.mark.parametrize(
    ("cached", "hosted", "price", "days"),
    [
        ("50%", FLATKEY, 2.9925, 480.561),
        ("50%", MOONSHOT, 4.9875, 288.337),
        ("80%", FLATKEY, 2.628, 547.215),
        ("80%", MOONSHOT, 4.380, 328.329),
    ],
)
def test_cached_input_moves_the_break_even_away(cached: str, hosted: str, price: float, days: float) -> None:
    found = ask(scenario("b200", 8, "usd_per_gpu_hour: 7.49", hosted), {"cached_share": cached})

    assert float(found.result.hosted_per_million_usd) == pytest.approx(price, abs=1e-9)
    assert daily(found) == pytest.approx(days, abs=5e-4)


@pytest.mark.parametrize(
    ("into", "out", "hosted", "price"),
    [
        (8, 1, FLATKEY, 2.60),
        (1, 1, FLATKEY, 5.40),
        (1, 3, FLATKEY, 7.20),
        (8, 1, MOONSHOT, 4.3333),
        (1, 1, MOONSHOT, 9.00),
        (1, 3, MOONSHOT, 12.00),
    ],
)
def test_the_mix_makes_the_price(into: int, out: int, hosted: str, price: float) -> None:
    traffic = f"{{mix: {{input: {into}, output: {out}}}, cached_share: 0, peak_to_mean: 1}}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", hosted, traffic))

    assert float(found.result.hosted_per_million_usd) == pytest.approx(price, abs=5e-5)


@pytest.mark.parametrize(
    ("per_hour", "monthly", "hosted", "days"),
    [
        (30, 21_900, MOONSHOT, 120.0),
        (50, 36_500, MOONSHOT, 200.0),
        (30, 21_900, FLATKEY, 200.0),
        (50, 36_500, FLATKEY, 333.3),
    ],
)
def test_a_node_rented_whole(per_hour: int, monthly: int, hosted: str, days: float) -> None:
    found = ask(scenario("b300", 8, f"rent: {{per_hour: {per_hour}, currency: USD}}", hosted))

    assert found.result.monthly_usd == monthly
    assert daily(found) == pytest.approx(days, abs=0.05)


@pytest.mark.parametrize(("hosted", "days"), [(FLATKEY, 464.526), (MOONSHOT, 278.716)])
def test_people_and_other_costs_count(hosted: str, days: float) -> None:
    more = "staff: {hours_per_month: 80, rate: 93.75, currency: USD}\nmonthly_extra_usd: 500\n"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", hosted, more=more))

    assert float(found.result.monthly_usd) == pytest.approx(50_865.60, abs=1e-9)
    assert daily(found) == pytest.approx(days, abs=5e-4)


def test_one_node_is_full_before_it_is_paid_at_a_reseller_s_price() -> None:
    traffic = "{mix: {input: 3, output: 1}, cached_share: 0, peak_to_mean: 2.5, tokens_per_month: 12150444444}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", FLATKEY, traffic, DSPARK))

    [first, second, *_] = found.result.steps
    assert first.most_tokens is not None
    assert float(first.most_tokens / MILLION) == pytest.approx(9_400.6, abs=0.05)
    assert not first.is_valid
    assert not second.is_valid
    assert (found.verdict, found.result.valid) == ("never", False)
    assert round(float(found.result.peak_to_mean_max or 0), 3) == 1.974
    assert "cost US$ 33,842 at the host; 8 × B300 cost US$ 42,866 a month" in words.reason(found)
    assert "at most 1.97 times the average" in words.reason(found)
    assert found.own_usd == 2 * found.result.monthly_usd


def test_the_same_node_pays_against_the_maker_s_price() -> None:
    traffic = "{mix: {input: 3, output: 1}, cached_share: 0, peak_to_mean: 2.5, tokens_per_day: 300000000}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, traffic, DSPARK))

    assert (found.verdict, found.reason) == ("yes", "cheaper")
    assert float((found.needed_tokens or 0) / MILLION) == pytest.approx(7_144.267, abs=5e-4)
    assert round(float(found.result.peak_to_mean_max or 0), 3) == 3.290
    assert found.months_until == 0
    assert found.on == AT


@pytest.mark.parametrize(("hosted", "peak"), [(FLATKEY, 1.150), (MOONSHOT, 1.917)])
def test_without_drafts_less_is_carried(hosted: str, peak: float) -> None:
    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", hosted, capacity=NO_SPEC))

    assert round(float(found.result.peak_to_mean_max or 0), 3) == peak


@pytest.mark.parametrize(
    ("hosted", "blended", "days"), [(FLATKEY, 0.388094, 3_631.282), (MOONSHOT, 0.646824, 2_178.769)]
)
def test_agents_are_cheap_at_a_host(hosted: str, blended: float, days: float) -> None:
    traffic = "{mix: {input: 2252153, output: 45392}, cached_share: 0.978690168918, peak_to_mean: 1}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", hosted, traffic))

    assert float(found.result.hosted_per_million_usd) == pytest.approx(blended, abs=5e-7)
    assert daily(found) == pytest.approx(days, abs=5e-4)


def test_growth_brings_the_day() -> None:
    traffic = f"{FLAT[:-1]}, tokens_per_day: 100000000, growth_per_month: 8%}}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", FLATKEY, traffic))

    assert found.verdict == "not_yet"
    assert round(found.months_until or 0, 3) == 17.733
    assert found.on == AT + timedelta(days=float(Fraction(found.months_until or 0) * DAYS_A_MONTH))
    assert float(found.times_today or 0) == pytest.approx(3.91467, abs=5e-6)


def test_without_growth_there_is_no_day() -> None:
    traffic = "{mix: {input: 3, output: 1}, cached_share: 0, peak_to_mean: 1, tokens_per_day: 100000000}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", FLATKEY, traffic))

    assert (found.verdict, found.months_until, found.on) == ("not_yet", None, None)


def test_the_owner_s_currency_is_beside_dollars() -> None:
    more = "exchange_rates: [{currency: BRL, per_usd: 5.50, as_of: 2026-11-30, source: bank}]\n"

    found = shown(ask(scenario("b200", 8, "usd_per_gpu_hour: 7.49", FLATKEY, more=more)))

    assert found["brl"]["monthly"] == pytest.approx(240_578.80, abs=1e-9)
    assert found["brl"]["hosted_per_million"] == pytest.approx(19.80, abs=1e-12)


def test_amounts_in_another_currency_change_no_volume() -> None:
    rate = "exchange_rates: [{currency: BRL, per_usd: 5.50, as_of: 2026-11-30, source: bank}]\n"
    reais = "{currency: BRL, per_million: {input: 9.90, cached: 0.99, output: 49.50}}"

    in_dollars = ask(scenario("b200", 16, "usd_per_gpu_hour: 7.49", FLATKEY))
    in_reais = ask(scenario("b200", 16, "rent: {per_gpu_hour: 41.195, currency: BRL}", reais, more=rate))

    assert in_reais.result.tokens_per_month == in_dollars.result.tokens_per_month


def test_what_is_bought_is_paid_back() -> None:
    text = scenario(
        "h100",
        64,
        "capex: {amount: 2400000, currency: USD, life_months: 36, residual: 20%}",
        MOONSHOT,
        "{mix: {input: 3, output: 1}, cached_share: 0, peak_to_mean: 1, tokens_per_month: 20000000000}",
        more="discount_per_year: 12%\n",
    )

    found = ask(text)

    assert float(found.result.monthly_usd) == pytest.approx(53_333.33, abs=0.005)
    assert found.payback is not None
    assert found.payback.usd == 2_400_000
    assert (found.payback.months, found.payback.discounted_months) == (20, 23)
    assert found.payback.npv_usd == pytest.approx(1_586_625.01, abs=0.01)


def test_energy_is_power_times_pue_times_the_month() -> None:
    site = "site: {kw: 44.8, pue: 1.4, tariff_per_kwh: 0.12, currency: USD}\n"

    found = ask(scenario("h100", 64, "rent: {per_month: 1, currency: USD}", MOONSHOT, more=site))

    energy = found.figure("costs.energy")
    assert energy is not None
    assert isinstance(energy.value, Fraction)
    assert float(energy.value) == pytest.approx(5_494.27, abs=0.005)


def test_without_a_volume_nothing_is_said_of_today() -> None:
    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT))

    assert found.verdict == "unknown"
    assert (found.times_today, found.own_usd, found.hosted_usd, found.hybrid, found.implied_premium) == (None,) * 5
    assert found.band is not None
    assert found.band.probability is None
    assert "no_volume" in {note.code for note in found.notes}


@pytest.mark.parametrize("name", OVERRIDES)
def test_every_input_can_be_changed_for_one_look(name: Override) -> None:
    text = scenario(
        "b300",
        8,
        "usd_per_gpu_hour: 7.34",
        MOONSHOT,
        "{mix: {input: 3, output: 1}, cached_share: 0.2, peak_to_mean: 2, tokens_per_day: 100000000, "
        "growth_per_month: 3%, forced_share: 10%}",
        DSPARK,
        "staff: {hours_per_month: 10, rate: 90, currency: USD}\n",
    )
    value = {"replicas": "3", "tokens_per_day": "5000000", "peak_to_mean": "4"}.get(name, "0.5")

    before, after = ask(text), ask(text, {name: value})

    assert after.scenario != before.scenario
    figure = after.figure(OF_OVERRIDE[name])
    assert figure is not None
    assert figure.origin == "overridden"
    assert {f.name for f in after.figures if f.origin == "overridden"} == {OF_OVERRIDE[name]}
    assert not [f for f in before.figures if f.origin == "overridden"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("peak_to_mena", "2", "did you mean 'peak_to_mean'?"),
        ("peak_to_mean", "0.5", "peak_to_mean should be from 1 to 1,000"),
        ("peak_to_mean", "two", "should be a number such as 2.5"),
        ("replicas", "1.5", "replicas should be a whole number"),
        ("cached_share", "120%", "cached_share should be from 0 to 1"),
    ],
)
def test_a_change_that_cannot_be_is_refused(name: str, text: str, problem: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(problem)) as caught:
        overrides_of({name: text})

    assert caught.value.param == name


def test_a_change_of_nothing_is_none() -> None:
    assert overrides_of({"peak_to_mean": " ", "cached_share": "8%"}) == {"cached_share": Fraction(2, 25)}


def test_the_overrides_are_the_closed_set() -> None:
    assert tuple(OVERRIDES) == get_args(Override)
    assert set(OF_OVERRIDE) == set(OVERRIDES)


OBSERVED = Observed(
    start=datetime(2026, 11, 1, tzinfo=UTC),
    end=datetime(2026, 12, 1, tzinfo=UTC),
    zone=UTC,
    tokens=30 * 50_000_000,
    requests=90_000,
    mix=Mix.of(Fraction(9), Fraction(1), Fraction(3, 5)),
    peak_to_mean=Fraction(3),
    shape=(Fraction(1, 2), Fraction(3, 2)),
    growth=None,
    growth_weeks=4,
    no_growth="gaps",
    forced_share=Fraction(1, 10),
    unlabelled_share=Fraction(0),
    estimated_share=Fraction(0),
)


def test_the_ledger_fills_what_is_not_stated() -> None:
    found = ask(
        scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, "{peak_to_mean: 2, from_ledger: 30d}"), traffic=OBSERVED
    )

    traffic = found.scenario.traffic
    assert traffic.tokens_per_month == 50_000_000 * DAYS_A_MONTH
    assert (traffic.mix, traffic.forced_share) == (OBSERVED.mix, Fraction(1, 10))
    assert traffic.peak_to_mean == 2
    assert traffic.shape == ()
    volume = found.figure("traffic.tokens_per_month")
    assert volume is not None
    assert (volume.origin, volume.as_of) == ("ledger", date(2026, 11, 30))
    assert "no_growth_gaps" in {note.code for note in found.notes}


def test_where_it_is_asked_for_the_ledger_goes_before_what_is_stated() -> None:
    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT), traffic=OBSERVED, ledger_leads=True)

    assert found.scenario.traffic.mix == OBSERVED.mix
    assert found.scenario.traffic.peak_to_mean == 3
    assert found.scenario.traffic.shape == OBSERVED.shape


def test_an_empty_ledger_is_no_volume_of_zero() -> None:
    empty = Observed(start=OBSERVED.start, end=OBSERVED.end, zone=UTC)

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, "ledger"), traffic=empty)

    assert found.scenario.traffic.tokens_per_month is None
    assert {"ledger_nothing", "no_volume_seen", "default_mix", "default_peak"} <= {note.code for note in found.notes}


def test_traffic_of_the_running_hour_alone_is_told_apart_from_none() -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    seen = Observed(now, now, UTC, running_tokens=500)
    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT), None, seen)

    told = [words.note(note) for note in found.notes]
    assert any(text.startswith("All that the ledger saw of these models, 500 tokens, is of the hour") for text in told)
    assert not any("--from-ledger" in text for text in told)


def test_the_verdict_is_what_the_intervals_say() -> None:
    text = scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, BUSY, DSPARK)

    for millions in (50, 240, 310, 320, 470, 600, 700, 1500):
        found = ask(text, {"tokens_per_day": f"{millions}000000"})
        volume = found.scenario.traffic.tokens_per_month
        assert volume is not None
        assert (found.verdict == "yes") is is_cheaper(found.scenario, volume)
        assert (found.verdict == "yes") is any(volume in interval for interval in found.result.intervals)


def test_between_two_intervals_the_next_one_is_ahead() -> None:
    traffic = f"{BUSY[:-1]}, tokens_per_day: 350000000, growth_per_month: 5%}}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, traffic, DSPARK))

    assert found.verdict == "not_yet"
    assert float(found.times_today or 0) == pytest.approx(469.76 / 350, abs=1e-5)
    assert found.months_until is not None
    assert 6 < found.months_until <= 7


def test_every_figure_has_a_source_and_numbers_are_numbers() -> None:
    found = shown(ask(scenario("b300", 8, "rent_from: flatkey", MOONSHOT, capacity=DSPARK)))

    assert all(figure["source"] for figure in found["figures"])
    assert all(figure["as_of"] for figure in found["figures"] if figure["origin"] == "bundled")
    rent = next(figure for figure in found["figures"] if figure["name"] == "hardware.usd_per_gpu_hour")
    assert (rent["value"], rent["as_of"], rent["age_days"]) == (7.34, "2026-10-24", 38)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_each_verdict_and_reason_has_words_in_both_languages() -> None:
    assert set(get_args(Verdict)) <= set(words.VERDICTS)
    assert {"cheaper", "arithmetic", "never", "slo"} <= set(words.REASONS)
    assert set(get_args(Reason)) - set(words.REASONS) == {"arithmetic_cannot_hold", "does_not_hold"}
    for pairs in (words.VERDICTS, words.REASONS, words.NOTES):
        for english, portuguese in pairs.values():
            assert set(re.findall(r"{(\w+)}", english)) == set(re.findall(r"{(\w+)}", portuguese))


def test_every_figure_has_a_name_in_words() -> None:
    text = scenario("b300", 8, "rent_from: flatkey, spares: 1", MOONSHOT, "ledger", DSPARK)

    found = ask(text, traffic=OBSERVED)

    for figure in found.figures:
        for language in ("en", "pt"):
            assert words.figure(figure.name, "pt" if language == "pt" else "en") != figure.name


def test_notes_are_sentences() -> None:
    note = Note("not_extrapolated", {"concurrency": 64, "profile": "p"})

    assert "more than 64 requests at once, beyond what profile p measured" in words.note(note)
    assert words.note(replace(note, code="derived_profile"), "pt").startswith("As taxas do perfil p")


def test_how_sure_it_is_follows_the_stated_ranges() -> None:
    ranges = (
        "ranges:\n  usd_per_gpu_hour: [3.48, 7.34, 14.04]\n  price_factor: [0.6, 1, 1]\n"
        "  output_share: [10%, 25%, 50%]\n  cached_share: [0, 50%, 95%]\n  staff_usd_per_month: [0, 7500, 20000]\n"
    )

    found = shown(ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, more=ranges)))["band"]

    assert found["p5_million_tokens_per_day"] == pytest.approx(227.79, rel=0.02)
    assert found["p50_million_tokens_per_day"] == pytest.approx(400.59, rel=0.02)
    assert found["p95_million_tokens_per_day"] == pytest.approx(700.51, rel=0.02)
    assert found["draws"] == 20_000


TODAY = "{mix: {input: 3, output: 1}, cached_share: 0, peak_to_mean: 2.5, tokens_per_day: 399467000}"
BOUGHT = "capex: {amount: 2400000, currency: USD, life_months: 600}"


def codes(found: Answer) -> set[str]:
    return {note.code for note in found.notes}


@pytest.mark.parametrize("capacity", ["none", DSPARK])
def test_of_machines_that_cannot_hold_the_model_nothing_is_compared_with_today(capacity: str) -> None:
    found = ask(scenario("b200", 8, "usd_per_gpu_hour: 0.50", MOONSHOT, TODAY, capacity))
    told = shown(found)

    assert (found.verdict, found.holding.holds) == ("never", False)
    assert (told["band"], told["hybrid"], told["payback"], told["break_even"]["times_today"]) == (None,) * 4
    assert told["today"] == {
        **dict.fromkeys(("own_usd", "utilisation", "idle_usd", "implied_premium")),
        "million_tokens_per_month": pytest.approx(399.467 * 730 / 24),
        "million_tokens_per_day": pytest.approx(399.467),
        "hosted_usd": pytest.approx(float(found.hosted_usd or 0)),
    }
    page = break_even_text.page(found)
    assert "times what it takes" not in page
    assert "owning is cheaper in" not in page
    assert "    own " not in page


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        *((name, entry) for name, entry in bundled().items()),
        *(
            (path.stem, entry)
            for path in sorted((ROOT / "docs" / "examples").glob("*.yaml"))
            for entry in read_scenarios(path.name, path.read_bytes()).scenarios.values()
        ),
    ],
)
def test_the_answer_lies_among_the_draws_around_it(name: str, entry: ScenarioEntry) -> None:
    found = answer(Question(entry, name), AT, None, None, {})

    if found.band is None:
        assert found.holding.holds is False
        return
    needed = float(found.result.tokens_per_month or 0)
    low, high = (inf if end is None else end for end in (found.band.p5, found.band.p95))
    assert low <= needed <= high


def test_stated_shares_are_drawn_near_themselves() -> None:
    stated = ask(scenario("b300", 8, "rent_from: flatkey", FLATKEY, "{mix: {input: 4, output: 1}, cached_share: 90%}"))
    assumed = ask(scenario("b300", 8, "rent_from: flatkey", FLATKEY, "{peak_to_mean: 1}"))

    drawn = {name: (float(each.low), float(each.high)) for name, each in stated.scenario.ranges}
    assert drawn["output_share"] == (0.1, 0.3)
    assert drawn["cached_share"] == (0.85, 0.95)
    assert dict(assumed.scenario.ranges)["cached_share"].high == Fraction(19, 20)


@pytest.mark.parametrize(
    ("hosted", "least"),
    [
        (MOONSHOT, 0.6),
        (FLATKEY, 0.8),
        (MOONSHOT.replace("currency", "multiplier: 0.6, currency"), 0.8),
        (MOONSHOT.replace("15.00", "14.00"), 0.8),
    ],
)
def test_only_a_maker_s_list_price_is_taken_for_one_that_resellers_undercut(hosted: str, least: float) -> None:
    found = ask(scenario("b300", 8, "rent_from: flatkey", hosted))

    assert float(dict(found.scenario.ranges)["price_factor"].low) == least


def test_where_most_draws_say_something_else_the_answer_says_so() -> None:
    ranges = "ranges: {usd_per_gpu_hour: [7, 7.34, 90]}\n"
    sure = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, FLAT[:-1] + ", tokens_per_day: 300000000}"))
    unsure = ask(
        scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, FLAT[:-1] + ", tokens_per_day: 300000000}", more=ranges)
    )

    assert (sure.verdict, unsure.verdict) == ("yes", "yes")
    assert not {"draws_say_no", "draws_say_yes"} & codes(sure)
    assert "draws_say_no" in codes(unsure)


def test_none_of_the_tokens_on_own_machines_is_no_mixture() -> None:
    found = ask(
        scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, BUSY[:-1] + ", tokens_per_day: 1000000}", DSPARK)
    )

    assert found.hybrid is not None
    assert found.hybrid.replicas == 0
    assert "both" not in break_even_text.page(found)


def test_what_cannot_hold_the_model_is_said_before_the_service_level(profiles: Mapping[str, Profile]) -> None:
    text = scenario("b200", 8, "usd_per_gpu_hour: 7", MOONSHOT, TODAY, "{profile: slow}", "slo: {ttft_ms: 1}\n")

    found = ask(text, profiles=profiles)

    assert found.reason == "does_not_hold"
    assert "cannot hold Kimi K3 (native)" in words.reason(found)
    assert "does not hold the model" in break_even_text.page(found)
    assert "is full before it pays" not in break_even_text.page(found)


def test_several_replicas_and_spares_are_named_with_what_they_carry_and_cost() -> None:
    hardware = "usd_per_gpu_hour: 7.34, replicas: 3, spares: 1"

    found = ask(scenario("b300", 8, hardware, FLATKEY, BUSY, DSPARK))

    assert found.verdict == "never"
    said = words.reason(found)
    assert "4 × (8 × B300) (1 of them spare) carry 28,202 million tokens a month" in said
    assert "they cost US$ 171,462 a month" in said
    assert "4 × (8 × B300) would pay with busiest hours of at most 1.48 times the average" in said
    assert "4 × (8 × B300) (1 de reserva) aguentam 28.202 milhões" in words.reason(found, "pt")


def test_what_privacy_keeps_home_has_no_host_to_be_cheaper() -> None:
    traffic = f"{TODAY[:-1]}, forced_share: 100%}}".replace("399467000", "5000000")

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", FLATKEY, traffic, DSPARK))

    assert words.verdict(found) == (
        "Never for its price, as things stand; but 100 % of the tokens must stay in the house at any price."
    )
    assert words.cheapest(found) == (
        "Cheapest today of what privacy allows: 8 × B300 of one's own, and none of the tokens at the host: "
        "US$ 42,866 a month."
    )
    assert "nenhum dos tokens no provedor" in words.cheapest(found, "pt")


def test_spares_are_among_the_machines_that_privacy_takes() -> None:
    traffic = f"{TODAY[:-1]}, forced_share: 10%}}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34, spares: 2", FLATKEY, traffic, DSPARK))

    assert found.hybrid is not None
    assert found.hybrid.replicas == 1
    assert "3 × (8 × B300) of one's own" in words.cheapest(found)


@pytest.mark.parametrize(("more", "months"), [("", 36), (", committed_months: 12", 12)])
def test_setting_up_what_is_rented_must_come_back_as_well(more: str, months: int) -> None:
    traffic = "{mix: {input: 3, output: 1}, cached_share: 0, peak_to_mean: 1, tokens_per_month: 15000000000}"
    hardware = f"usd_per_gpu_hour: 7.34{more}"

    found = ask(scenario("b300", 8, hardware, FLATKEY, traffic, DSPARK, "setup: 100000\n"))

    saved = 15_000 * 3.60 - 42_865.60
    assert found.payback is not None
    assert found.payback.usd == 100_000
    assert (found.payback.months, found.payback.over_months) == (9, months)
    assert found.payback.npv_usd == pytest.approx(saved * months - 100_000)
    assert ("setup_over" in codes(found)) is (not more)


def test_rent_that_is_committed_says_what_it_saves_until_it_ends() -> None:
    traffic = "{mix: {input: 3, output: 1}, cached_share: 0, peak_to_mean: 1, tokens_per_month: 15000000000}"
    hardware = "usd_per_gpu_hour: 7.34, committed_months: 12"

    found = ask(scenario("b300", 8, hardware, FLATKEY, traffic, DSPARK))

    assert found.payback is not None
    assert found.payback.npv_usd == pytest.approx(12 * (15_000 * 3.60 - 42_865.60))
    page = break_even_text.page(found)
    assert "Rented for 12 months\n  present value of what they save against the host US$ 133,613" in page


def test_without_a_term_and_a_price_at_once_there_is_nothing_to_pay_back() -> None:
    assert ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", FLATKEY, TODAY, DSPARK)).payback is None


def test_growth_without_end_is_still_a_number() -> None:
    traffic = "{peak_to_mean: 1, tokens_per_month: 999999999999999, growth_per_month: 1000%}"

    found = ask(scenario("b300", 8, BOUGHT, MOONSHOT, traffic, DSPARK))

    assert json.loads(json.dumps(shown(found), allow_nan=False))["payback"]["npv_usd"] != 0
    assert break_even_text.page(found)


def test_the_worth_of_privacy_is_told_from_the_host_s_bill() -> None:
    hosted = FLATKEY[:-1] + ", privacy_premium: 50%}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", hosted, TODAY, DSPARK))

    [note] = [note for note in found.notes if note.code == "premium_counted_today"]
    assert found.hosted_usd == Fraction(note.facts["billed_usd"]) * Fraction(3, 2)
    assert "counts 50 % on top" in words.note(note)
    assert "is US$ 43,742 a month" in words.note(note)
    assert "premium_counted" in codes(ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", hosted)))


def test_machines_that_wait_are_paid_for() -> None:
    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34, spares: 1", MOONSHOT, TODAY, DSPARK))

    busy = 399_467_000 * 730 / 24 / (730 * 3600) * (0.75 / 21_672 + 0.25 / 5_075.1) / 3
    today = shown(found)["today"]
    assert today["utilisation"] == pytest.approx(busy)
    assert today["idle_usd"] == pytest.approx(3 * 42_865.60 * (1 - busy))
    assert shown(ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, TODAY)))["today"]["idle_usd"] is None


def test_the_money_of_the_break_even_is_that_of_its_machines() -> None:
    hardware = "usd_per_gpu_hour: 7.34"
    staff = "staff: {hours_per_month: 100, rate: 150, currency: USD}\n"

    found = shown(ask(scenario("b300", 8, hardware, MOONSHOT, BUSY, DSPARK, staff)))

    price, tokens = found["hosted_per_million_usd"], found["break_even"]["million_tokens_per_month"]
    assert found["break_even"]["usd_per_month"] == pytest.approx(price * tokens)


@pytest.mark.parametrize(
    ("amount", "english", "portuguese"),
    [
        ("0.0000023", "US$ 0.0000023", "US$ 0,0000023"),
        ("0.0058", "US$ 0.0058", "US$ 0,0058"),
        ("0", "US$ 0.00", "US$ 0,00"),
        ("0.39", "US$ 0.39", "US$ 0,39"),
        ("-0.004", "US$ -0.004", "US$ -0,004"),
        ("42865.60", "US$ 42,866", "US$ 42.866"),
    ],
)
def test_what_is_not_nothing_never_looks_like_nothing(amount: str, english: str, portuguese: str) -> None:
    assert written.usd(Fraction(amount)) == english
    assert written.usd(Fraction(amount), "pt") == portuguese


def test_the_volume_of_a_household_is_not_written_as_none() -> None:
    traffic = "{peak_to_mean: 1, tokens_per_day: 1500}"

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 0.0001", MOONSHOT, traffic, DSPARK))

    assert "0.0015 of" in break_even_text.page(found)


def test_hardly_more_than_today_is_more_than_today() -> None:
    needed = 42_865.60 / 3.60 * 24 / 730
    traffic = (
        f"{{mix: {{input: 3, output: 1}}, cached_share: 0, peak_to_mean: 1, tokens_per_day: {needed * 0.999e6:.0f}}}"
    )

    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", FLATKEY, traffic, DSPARK))

    assert found.verdict == "not_yet"
    assert "1.001 times today's volume" in words.verdict(found)
    assert "1,001 vezes o volume de hoje" in words.verdict(found, "pt")


def test_a_change_that_changes_nothing_is_said_to() -> None:
    text = scenario("b300", 8, "usd_per_gpu_hour: 7.34", FLATKEY)

    found = ask(text, {"utilisation": "0.5", "peak_to_mean": "3"})

    [note] = [note for note in found.notes if note.code == "set_without_effect"]
    assert note.facts["names"] == "utilisation, peak_to_mean"
    assert "set_without_effect" not in codes(ask(text.replace("none", DSPARK), {"utilisation": "0.5"}))


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("input", "50%", "input is no share: '50%' should be a number such as 2.5"),
        ("peak_to_mean", "NaN", "peak_to_mean should be a number such as 2.5: digits, at most one point: 'NaN'"),
        ("input", "1e3", "should be a number such as 2.5"),
        ("cached_share", "x", "cached_share should be a number such as 0.08, or a percentage such as 8%: 'x'"),
    ],
)
def test_a_change_is_written_as_its_unit_is(name: str, text: str, problem: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(problem)):
        overrides_of({name: text})


def test_draws_without_a_break_even_are_told_once() -> None:
    page = break_even_text.page(ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, BUSY, DSPARK)))

    assert re.search(r"[\d.]+ % of the draws never pay", page)
    assert not re.search(r"95 % never|half never", page)


def test_sentences_end_where_the_terminal_does() -> None:
    found = ask(scenario("b300", 8, "usd_per_gpu_hour: 7.34", MOONSHOT, TODAY, DSPARK))

    assert max(map(len, break_even_text.page(found, 80).splitlines())) <= 80
    assert " ".join(break_even_text.page(found, 80).split()) == " ".join(break_even_text.page(found).split())
