"""How a scenario is put together: prices, machines, site, people, taxes, profiles, and what is said of each."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, get_args

import pytest

from gateway.catalog.hardware import gpus
from gateway.catalog.models import models
from gateway.cli import break_even_text
from gateway.economics.profiles import Point, Profile
from gateway.economics.scenario import HOURS_A_MONTH, Capacity, Cost, LanePrice
from gateway.errors import BadRequest
from gateway.ledger.traffic import Enough, NoGrowth
from gateway.owning import words
from gateway.owning.answers import answer
from gateway.owning.fits import asking as fits
from gateway.owning.fits.places import Given
from gateway.owning.inputs.carried import carried
from gateway.owning.inputs.holding import holding
from gateway.owning.profiles import Measured
from gateway.owning.questions import Question, overrides_of
from gateway.owning.remarks.seen_words import WORDS as SEEN
from gateway.owning.scenarios import Built, built, bundled, ledger_days, ledger_models
from gateway.owning.told import Told
from gateway.settings import HOME_PACK, ROOT
from policies.load import load_pack
from policies.problems import PackError
from policies.scenario_file import read_scenarios

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from policies.pack import Pack

AT = date(2026, 12, 1)
HARDWARE = "hardware: {gpu: b300, count: 8, usd_per_gpu_hour: 7.34}\n"
HOSTED = "hosted: {currency: USD, per_million: {input: 3.00, cached: 0.30, output: 15.00}}\n"
RATE = "exchange_rates: [{currency: BRL, per_usd: 5, as_of: 2026-11-30, source: bank}]\n"


def put_together(text: str, pack: Pack | None = None, profiles: Mapping[str, Profile] | None = None) -> Built:
    file = read_scenarios("case.yaml", text.encode())
    [(name, entry)] = file.scenarios.items()
    return built(Question(entry, name, machines=file.machines), AT, pack, None, profiles or {})


def codes(found: Built) -> set[str]:
    return {note.code for note in found.told.notes}


def costs(found: Built) -> dict[str, tuple[object, str]]:
    return {cost.line: (cost.usd_per_month, cost.scope) for cost in found.scenario.owned.costs if cost.usd_per_month}


def test_a_price_without_a_cached_one_counts_input_and_says_so() -> None:
    found = put_together(HARDWARE + "hosted: {currency: USD, per_million: {input: 3.00, output: 15.00}}\n")

    assert found.scenario.hosted.price.cached == 3
    assert "no_cached_price" in codes(found)


def cached(text: str, **overrides: str) -> tuple[Fraction, str]:
    """The price of cached input, and where it comes from."""
    [(name, entry)] = read_scenarios("case.yaml", text.encode()).scenarios.items()
    found = built(Question(entry, name, overrides_of(overrides)), AT, None, None, {})
    [figure] = [figure for figure in found.told.figures if figure.name == "hosted.cached"]
    return found.scenario.hosted.price.cached, figure.origin


def test_a_cached_price_follows_input_only_where_nobody_states_it() -> None:
    unstated = HARDWARE + "hosted: {currency: USD, per_million: {input: 3, output: 15}}\n"
    stated = HARDWARE + "hosted: {currency: USD, per_million: {input: 3, cached: 3, output: 15}}\n"

    assert cached(unstated) == (Fraction(3), "default")
    assert cached(unstated, input="1") == (Fraction(1), "default")
    assert cached(stated) == (Fraction(3), "stated")
    assert cached(stated, input="1") == (Fraction(3), "stated")
    assert cached(unstated, cached="0.5") == (Fraction(1, 2), "overridden")


def test_prices_that_hang_on_the_hour_count_on_the_average_of_a_week(cluster: Pack, tmp_path: Path) -> None:
    path = tmp_path / "deployments.yaml"
    more = """
  - name: cheap-by-night
    model: kimi-k3
    engine: openai
    base_url: https://host.example/v1
    upstream_model: kimi-k3
    zone: hosted
    price:
      currency: USD
      per_million: {input: 2, output: 10}
      hours: [{from: "22:00", to: "04:00", per_million: {input: 1, output: 4}}]
      source: price page
      as_of: 2026-11-01
"""
    path.write_text(path.read_text().rstrip("\n") + more)

    found = put_together(f"{HARDWARE}hosted: {{deployment: cheap-by-night}}\n", load_pack(tmp_path))

    price = found.scenario.hosted.price
    assert (price.fresh, price.cached, price.output) == (Fraction(7, 4), Fraction(7, 4), Fraction(17, 2))
    assert {"prices_by_hour", "no_cached_price"} <= codes(found)


def test_a_host_s_price_is_in_dollars_with_the_reseller_s_share_and_taxes() -> None:
    found = put_together(
        HARDWARE
        + "hosted: {currency: BRL, multiplier: 0.60, "
        + "per_million: {input: 15, cached: 1.5, output: 75, cache_write_1h: 30}}\n"
        + "taxes: {hosted: 1.5}\n"
        + RATE
    )

    share = Fraction(3, 5) * Fraction(3, 2) / 5
    assert found.scenario.hosted.price == LanePrice(
        fresh=15 * share,
        output=75 * share,
        cached=Fraction(3, 2) * share,
        cache_write_5m=15 * share,
        cache_write_1h=30 * share,
    )


def test_a_host_may_have_tiers_a_least_bill_and_prices_that_fall() -> None:
    found = put_together(
        HARDWARE
        + "hosted: {currency: USD, per_million: {input: 3, cached: 0.3, output: 15}, decline_per_year: 30%, "
        + "tiers: [{above_million_tokens: 1000, factor: 0.8}], minimum_per_month: {amount: 500, currency: BRL}, "
        + "retry_overhead: 2%, privacy_premium: 25%}\n"
        + RATE
    )

    hosted = found.scenario.hosted
    [tier] = hosted.tiers
    assert tier.above_tokens == 10**9
    assert tier.factor == Fraction(4, 5)
    assert hosted.minimum_usd == 100
    assert hosted.decline_per_year == Fraction(3, 10)
    assert (hosted.retry_overhead, hosted.privacy_premium) == (Fraction(1, 50), Fraction(1, 4))


@pytest.fixture
def cluster(tmp_path: Path) -> Pack:
    """The bundled pack of a cluster, with a machine that says what it costs."""
    for file in HOME_PACK.with_name("k3-cluster").glob("*.yaml"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    text = (tmp_path / "break_even.yaml").read_text()
    (tmp_path / "break_even.yaml").write_text(
        text.replace(
            "# rent: {per_hour: 58.72, currency: USD, from: 2026-10-24}", "rent: {per_hour: 58.72, currency: USD}"
        )
    )
    return load_pack(tmp_path)


def test_a_deployment_s_price_is_the_pack_s(cluster: Pack) -> None:
    found = put_together(HARDWARE + "hosted: {deployment: flatkey-k3}\n", cluster)

    price = found.scenario.hosted.price
    assert (price.fresh, price.cached, price.output) == (Fraction(9, 5), Fraction(9, 50), Fraction(9))
    told = next(figure for figure in found.told.figures if figure.name == "hosted.input")
    assert (told.as_of, told.source) == (date(2026, 10, 24), "price of deployment 'flatkey-k3': router price page")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("flatkey-k", "is no deployment; did you mean 'flatkey-k3'?"),
        ("our-k3-vllm", "costs what a machine of the house does"),
    ],
)
def test_a_host_is_somebody_else(cluster: Pack, name: str, problem: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(problem)):
        put_together(f"{HARDWARE}hosted: {{deployment: {name}}}\n", cluster)


def test_without_a_pack_there_are_no_deployments() -> None:
    with pytest.raises(BadRequest, match="'x' is no deployment: name one of the pack, or state per_million"):
        put_together(HARDWARE + "hosted: {deployment: x}\n")


def test_a_machine_of_the_pack_brings_what_it_costs(cluster: Pack) -> None:
    found = put_together("hardware: {gpu: b300, count: 8, machine: k3-node}\n" + HOSTED, cluster)

    assert costs(found) == {"rent": (Fraction("58.72") * HOURS_A_MONTH, "machine")}
    assert found.scenario.owned.usd_per_gpu_hour == Fraction("7.34")


def test_a_machine_without_costs_over_time_is_refused(cluster: Pack) -> None:
    with pytest.raises(BadRequest, match="'b200-node' says nothing of what it costs over time"):
        put_together("hardware: {gpu: b200, count: 8, machine: b200-node}\n" + HOSTED, cluster)


def test_a_machine_s_purchase_counts_until_it_is_written_off() -> None:
    text = """\
machines:
  box:
    marginal: {currency: USD, per_million: {input: 1, output: 1}}
    capex: {amount: 3600, currency: USD, life_months: 36, residual: 10%, from: FROM}
    energy: {kw: 1, tariff_per_kwh: 0.10, currency: USD}
    staff: {hours_per_month: 2, rate: 50, currency: USD}
scenarios:
  one:
    model: qwen3-32b
    hardware: {gpu: h100, count: 1, machine: box}
    hosted: {currency: USD, per_million: {input: 3.00, cached: 0.30, output: 15.00}}
"""

    young = put_together(text.replace("FROM", "2026-01-01"))
    old = put_together(text.replace("FROM", "2022-01-01"))

    assert costs(young) == {"capital": (90, "machine"), "energy": (73, "machine"), "staff": (100, "house")}
    assert young.scenario.owned.purchase is not None
    assert set(costs(old)) == {"energy", "staff"}
    assert "written_off" in codes(old)


BOX = """\
machines:
  box:
    marginal: {{currency: USD, per_million: {{input: 1, output: 1}}}}
{costs}
scenarios:
  one:
    model: qwen3-32b
    hardware: {{gpu: h100, count: 1, machine: box}}
    hosted: {{currency: USD, per_million: {{input: 3.00, cached: 0.30, output: 15.00}}}}
{more}
"""
CAPEX = "    capex: {amount: 3600, currency: USD, life_months: 36, from: %s}\n"
METER = "    energy: {tariff_per_kwh: 0.10, currency: USD, import: true}\n"


def box(costs: str, more: str = "") -> Built:
    """A scenario of a machine with these costs."""
    return put_together(BOX.format(costs=costs, more=more))


def test_a_purchase_that_is_planned_counts_and_is_said_to_be() -> None:
    found = box(CAPEX % "2027-02-01")

    assert costs(found) == {"capital": (100, "machine")}
    assert "planned" in codes(found)


def test_a_purchase_that_is_planned_waits_while_a_rent_is_due() -> None:
    rented = "    rent: {per_month: 700, currency: USD, until: 2027-01-31}\n"

    found = box(CAPEX % "2027-02-01" + rented)

    assert costs(found) == {"rent": (700, "machine")}
    assert "planned" not in codes(found)


def test_energy_and_people_that_are_planned_count_as_well() -> None:
    later = "    energy: {kw: 1, tariff_per_kwh: 0.10, currency: USD, from: 2027-01-01}\n"
    people = "    staff: {hours_per_month: 2, rate: 50, currency: USD, from: 2027-01-01}\n"

    found = box(CAPEX % "2026-01-01" + later + people)

    assert costs(found) == {"capital": (100, "machine"), "energy": (73, "machine"), "staff": (100, "house")}
    assert [note.facts["line"] for note in found.told.notes if note.code == "planned"] == ["energy", "staff"]


def test_a_line_that_has_ended_is_missed() -> None:
    ended = "    energy: {kw: 1, tariff_per_kwh: 0.10, currency: USD, until: 2026-01-01}\n"

    found = box(CAPEX % "2026-01-01" + ended)

    assert costs(found) == {"capital": (100, "machine")}
    assert "ended" in codes(found)


@pytest.mark.parametrize(
    "costs", [METER, "    rent: {per_month: 700, currency: USD, until: 2026-01-31}\n"], ids=["meter", "ended"]
)
def test_machines_of_which_no_cost_is_known_are_refused(costs: str) -> None:
    with pytest.raises(BadRequest, match="nothing is known of what these machines cost today"):
        box(costs)


def test_energy_that_only_a_meter_knows_is_that_of_the_site_where_it_is_stated() -> None:
    found = box(METER, "    site: {currency: USD, kw: 2, tariff_per_kwh: 0.10}\n")

    assert costs(found) == {"energy": (146, "machine")}
    assert "metered_energy" not in codes(found)
    assert "no_use_cost" in codes(found)


def test_energy_is_counted_once() -> None:
    energy = "    energy: {kw: 1, tariff_per_kwh: 0.10, currency: USD}\n"

    found = box(CAPEX % "2026-01-01" + energy, "    site: {currency: USD, kw: 2, tariff_per_kwh: 0.10}\n")

    assert [cost.usd_per_month for cost in found.scenario.owned.costs if cost.line == "energy"] == [146]


def test_machines_that_are_bought_without_energy_are_said_to_lack_it() -> None:
    bought = "hardware: {gpu: b300, count: 8, capex: {amount: 9, currency: USD, life_months: 9}}\n"
    site = "site: {currency: USD, kw: 2, tariff_per_kwh: 0.10}\n"

    assert "no_energy" in codes(put_together(bought + HOSTED))
    assert "no_energy" not in codes(put_together(bought + HOSTED + site))
    assert "no_energy" not in codes(put_together(HARDWARE + HOSTED))


def test_a_part_may_be_reserved() -> None:
    found = put_together(
        "hardware: {gpu: b300, count: 8, usd_per_gpu_hour: 8, "
        + "reserved: {share: 50%, usd_per_gpu_hour: 4, months: 12}}\n"
        + HOSTED
    )

    assert found.scenario.owned.usd_per_gpu_hour == 6
    assert found.scenario.owned.committed_months == 12


def test_a_rent_of_the_catalog_has_its_source_and_day() -> None:
    found = put_together("hardware: {gpu: b300, count: 8, rent_from: flatkey}\n" + HOSTED)

    told = next(figure for figure in found.told.figures if figure.name == "hardware.usd_per_gpu_hour")
    assert (told.value, told.origin, told.as_of) == (Fraction("7.34"), "bundled", date(2026, 10, 24))
    assert "Flatkey" in told.source


def test_a_rent_that_the_catalog_has_not_is_refused() -> None:
    with pytest.raises(BadRequest, match="rent_from"):
        put_together("hardware: {gpu: b300, count: 8, rent_from: flatkeys}\n" + HOSTED)


RENTS = """\
rents:
  - {name: vizinho, gpu: b300, per_gpu_hour: 40, currency: BRL, contract: 12 months, source: offer, as_of: 2026-11-20}
  - {name: flatkey, gpu: b300, per_gpu_hour: 7, currency: USD, source: index, as_of: 2026-11-30}
  - {name: vizinho, gpu: h100, per_gpu_hour: 1, currency: USD, source: offer, as_of: 2026-11-20}
scenarios:
  ours:
    hardware: {gpu: b300, count: 8, rent_from: %s}
    hosted: {currency: USD, per_million: {input: 3.00, cached: 0.30, output: 15.00}}
    exchange_rates: [{currency: BRL, per_usd: 5, as_of: 2026-11-30, source: bank}]
"""


@pytest.mark.parametrize(
    ("name", "usd", "source", "as_of"),
    [
        ("vizinho", 8, "offer (12 months)", date(2026, 11, 20)),
        ("flatkey", 7, "index", date(2026, 11, 30)),
    ],
)
def test_the_owner_s_list_of_rents_goes_before_the_catalog_in_any_currency(
    name: str, usd: int, source: str, as_of: date
) -> None:
    found = from_list(RENTS % name)

    told = next(figure for figure in found.told.figures if figure.name == "hardware.usd_per_gpu_hour")
    assert told.value == usd
    assert (told.origin, told.source, told.as_of) == ("stated", source, as_of)
    assert found.scenario.owned.monthly(1) == usd * 8 * 730


def test_a_rent_of_the_owner_s_is_among_those_that_are_drawn() -> None:
    text = (RENTS % "vizinho").replace("per_gpu_hour: 40", "per_gpu_hour: 100")

    assert from_list(text).ranges["usd_per_gpu_hour"].high == 20


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("rent_from: vizinho", "rent_from: vizinha", "did you mean 'vizinho'?"),
        ("exchange_rates: [{currency: BRL, per_usd: 5, as_of: 2026-11-30, source: bank}]", "", "is in BRL"),
    ],
)
def test_a_rent_that_is_not_listed_or_has_no_rate_is_refused(old: str, new: str, problem: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(problem)):
        from_list((RENTS % "vizinho").replace(old, new))


@pytest.mark.parametrize("key", [", source: index", ", as_of: 2026-11-30", ", currency: USD"])
def test_a_rent_without_source_day_or_currency_is_refused(key: str) -> None:
    with pytest.raises(PackError, match=r"rents\[1\].*is missing"):
        from_list((RENTS % "flatkey").replace(key, "", 1))


def from_list(text: str) -> Built:
    file = read_scenarios("case.yaml", text.encode())
    return built(Question(file.scenarios["ours"], "ours", machines=file.machines, rents=file.rents), AT, None, None, {})


def test_a_site_costs_energy_by_hour_colocation_network_and_storage() -> None:
    site = (
        "site: {currency: BRL, kw: 10, pue: 1.5, tariff_per_kwh: 0.50, tax: 20%, "
        "hours: [{from: 18, until: 21, tariff_per_kwh: 1.30}], colocation_per_kw_month: 100, network_per_month: 250, "
        "storage: {tb: 4, per_tb_month: 25}}\n"
    )

    found = put_together(HARDWARE + HOSTED + site + RATE)

    per_kwh = (Fraction(1, 2) + Fraction(4, 5) * 3 / 24) * Fraction(6, 5) / 5
    assert costs(found) | {"rent": (Fraction(0), "")} == {
        "rent": (Fraction(0), ""),
        "energy": (10 * Fraction(3, 2) * HOURS_A_MONTH * per_kwh, "machine"),
        "colocation": (Fraction(200), "machine"),
        "network": (Fraction(50), "house"),
        "storage": (Fraction(20), "house"),
    }


def test_each_line_has_its_own_tax_and_nothing_is_assumed() -> None:
    staff = "staff: {hours_per_month: 10, rate: 50, currency: USD}\n"
    plain = f"{staff}software_per_month: 100\nmonthly_extra_usd: 7\nsetup: 1000\n"

    without = put_together(HARDWARE + HOSTED + plain)
    taxed = put_together(HARDWARE + HOSTED + plain + "taxes: {rent: 1.1, staff: 2, software: 1.5, setup: 1.2}\n")

    rent = Fraction("58.72") * HOURS_A_MONTH
    assert costs(without) == {
        "rent": (rent, "machine"),
        "staff": (500, "house"),
        "software": (100, "house"),
        "extra": (7, "house"),
    }
    assert costs(taxed) == {
        "rent": (rent * Fraction("1.1"), "machine"),
        "staff": (1000, "house"),
        "software": (150, "house"),
        "extra": (7, "house"),
    }
    assert without.scenario.owned.setup_usd == 1000
    assert taxed.scenario.owned.setup_usd == 1200


def test_people_who_are_not_counted_are_missed() -> None:
    assert "no_staff" in codes(put_together(HARDWARE + HOSTED))
    assert Cost("staff", Fraction(0), "house") in put_together(HARDWARE + HOSTED).scenario.owned.costs


def test_hours_of_a_day_are_a_shape_with_its_own_peak() -> None:
    hours = ", ".join(["1"] * 16 + ["4"] * 8)

    found = put_together(f"{HARDWARE}{HOSTED}traffic: {{hours: [{hours}]}}\n")

    assert found.scenario.traffic.peak_to_mean == 2
    assert sum(found.scenario.traffic.shape) == 24


def test_a_day_is_a_part_of_730_hours() -> None:
    found = put_together(f"{HARDWARE}{HOSTED}traffic: {{tokens_per_day: 24000000}}\n")

    assert found.scenario.traffic.tokens_per_month == 730_000_000


def profile(quality: str = "measured", gpus: int = 8) -> Profile:
    points = tuple(
        Point(concurrency, 8192, 1024, Fraction(ttft), Fraction(tpot), Fraction(20_000), Fraction(decode))
        for concurrency, ttft, tpot, decode in ((1, 400, 3, 300), (16, 4000, 10, 2000), (64, 12_000, 25, 5000))
    )
    return Profile(
        "ours", "kimi-k3", "native", "b300", gpus, "sglang", points, "soleira measure", date(2026, 11, 20),
        "measured" if quality == "measured" else "derived",
    )  # fmt: skip


def test_the_wait_that_is_told_is_that_of_the_rates_that_count() -> None:
    longer = Point(128, 262_144, 1024, Fraction(90_000), Fraction(40), Fraction(9_000), Fraction(900))
    two_lengths = replace(profile(), points=(*profile().points, longer))

    found = put_together(PROFILED, profiles={"ours": two_lengths})

    [note] = [note for note in found.told.notes if note.code == "saturated_profile"]
    assert (note.facts["concurrency"], note.facts["ttft_ms"]) == (64, 12_000)


PROFILED = HARDWARE + HOSTED + "capacity: {profile: ours}\n"


def test_a_profile_without_a_service_level_gives_its_last_point_and_its_wait() -> None:
    found = put_together(PROFILED, profiles={"ours": profile()})

    assert found.scenario.capacity == Capacity(Fraction(20_000), Fraction(5000))
    [note] = [note for note in found.told.notes if note.code == "saturated_profile"]
    assert "at 64 requests at once, where the first token takes 12 s" in words.note(note)
    told = next(figure for figure in found.told.figures if figure.name == "capacity.decode_tps")
    assert (told.origin, told.as_of) == ("measured", date(2026, 11, 20))


def test_a_service_level_costs_capacity() -> None:
    found = put_together(PROFILED + "slo: {ttft_ms: 4000}\n", profiles={"ours": profile()})

    assert found.scenario.capacity is not None
    assert found.scenario.capacity.decode_tps == 2000
    assert "saturated_profile" not in codes(found)


def test_beyond_what_was_measured_nothing_is_extrapolated() -> None:
    found = put_together(PROFILED + "slo: {ttft_ms: 60000}\n", profiles={"ours": profile()})

    assert found.scenario.capacity is not None
    assert found.scenario.capacity.decode_tps == 5000
    assert "not_extrapolated" in codes(found)


def test_a_service_level_that_no_point_keeps_is_never() -> None:
    found = put_together(PROFILED + "slo: {ttft_ms: 100}\n", profiles={"ours": profile()})

    assert not found.keeps_level
    assert found.scenario.holds is False


def test_a_profile_of_other_machines_says_so() -> None:
    found = put_together(PROFILED, profiles={"ours": profile("derived", gpus=16)})

    assert {"other_profile", "derived_profile"} <= codes(found)
    assert found.told.notes[0].code == "other_profile"


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(BadRequest, match=re.escape("'ours' is no profile; did you mean 'our'?")):
        put_together(PROFILED, profiles={"our": profile()})


def test_profiles_that_would_fit_are_named_where_no_capacity_is_stated() -> None:
    left_out = put_together(HARDWARE + HOSTED, profiles={"ours": profile()})
    none = put_together(HARDWARE + HOSTED + "capacity: none\n", profiles={"ours": profile()})

    assert "profiles_match" in codes(left_out)
    assert "profiles_match" not in codes(none)


def test_an_unknown_accelerator_is_taken_and_said_to_be_unknown() -> None:
    found = put_together(HARDWARE.replace("b300", "z900") + HOSTED)

    assert found.holding.holds is None
    assert "unknown_gpu" in codes(found)
    assert found.ranges["usd_per_gpu_hour"].high == Fraction("7.34") * Fraction(6, 5)


def test_a_form_that_a_model_has_not_is_refused() -> None:
    with pytest.raises(BadRequest, match="UD-IQ1_S"):
        put_together(HARDWARE + HOSTED + "quant: UD-IQ1_X\n")


def test_ranges_that_are_stated_go_before_the_assumed_ones() -> None:
    found = put_together(HARDWARE + HOSTED + "ranges: {usd_per_gpu_hour: [3.48, 7.34, 14.04]}\n")

    rent, cached = found.ranges["usd_per_gpu_hour"], found.ranges["cached_share"]
    assert (rent.low, rent.mode, rent.high) == (Fraction("3.48"), Fraction("7.34"), Fraction("14.04"))
    assert cached.low == 0
    assert cached.high == Fraction(19, 20)
    origins = {figure.name: figure.origin for figure in found.told.figures}
    assert (origins["ranges.usd_per_gpu_hour.low"], origins["ranges.cached_share.low"]) == ("stated", "default")


def test_a_rent_of_the_catalog_is_drawn_from_all_of_them_and_a_stated_one_near_itself() -> None:
    listed = put_together(HARDWARE.replace("usd_per_gpu_hour: 7.34", "rent_from: flatkey") + HOSTED)
    stated = put_together(HARDWARE + HOSTED)

    ends = [(float(each.ranges["usd_per_gpu_hour"].low), float(each.ranges["usd_per_gpu_hour"].high)) for each in
            (listed, stated)]  # fmt: skip
    assert ends == [(2.34, 14.04), (5.872, 8.808)]


@pytest.mark.parametrize("name", sorted(gpus()))
def test_what_holds_a_model_is_what_fit_says(name: str) -> None:
    wanted = {"no": False, "native_verified": True, "native_unverified": True, "quant_gpu": True}
    for model in models().values():
        for quant in model.quants:
            for count in (1, 2, 8, 16, 64):
                hardware = f"hardware: {{gpu: {name}, count: {count}, usd_per_gpu_hour: 1}}\n"
                text = f"model: {model.name}\nquant: {quant.name}\n{hardware}{HOSTED}"
                [(key, entry)] = read_scenarios("case.yaml", text.encode()).scenarios.items()
                held = holding(entry, Told(key, AT, {}))
                if not (gpus()[name].is_known or gpus()[name].kind == "nas"):
                    assert held.holds is None
                    continue
                context = min(32_768, model.max_context)
                asked = fits.Question(given=Given(gpu=name, count=count), model=model.name, quant=quant.name)
                fitted = fits.asking(replace(asked, context=context), AT, None).fitted()
                assert held.holds is wanted.get(fitted.verdict), (text, fitted.verdict)
                assert (held.holds is False) or not held.instead


def test_weights_that_go_in_without_room_beside_them_are_not_held() -> None:
    text = "model: qwen3-32b\nhardware: {gpu: rtx5090, count: 2, usd_per_gpu_hour: 1}\n" + HOSTED
    [entry] = read_scenarios("x.yaml", text.encode()).scenarios.values()

    found = answer(Question(entry, "x"), AT, None, None, {})

    assert (found.holding.holds, found.verdict) == (False, "never")
    assert found.holding.needed_bytes is not None
    assert found.holding.needed_bytes > (found.holding.there_bytes or 0)
    reason = words.reason(found).replace("\N{NO-BREAK SPACE}", " ")
    assert "have 68.4 GB; the weights of Qwen3 32B (native) take 65 GB, and with cache and workspace it is" in reason
    assert "What holds it: 3 × RTX5090. These machines hold its form 4-bit." in reason
    assert "comportam" in words.reason(found, "pt")


def test_the_example_of_a_home_is_held_by_its_machines() -> None:
    lines = (HOME_PACK / "break_even.yaml").read_text().partition("# scenarios:")[2].splitlines()
    text = "scenarios:\n" + "\n".join(line.removeprefix("# ") for line in lines)
    [(name, entry)] = read_scenarios("break_even.yaml", text.encode()).scenarios.items()

    assert (name, holding(entry, Told(name, AT, {})).holds) == ("two-cards", True)


@pytest.mark.parametrize(("seen", "limited"), [(None, False), (9_216, False), (262_144, True)])
def test_memory_ends_a_profile_where_requests_are_longer_than_measured(seen: int | None, limited: bool) -> None:
    [entry] = read_scenarios("x.yaml", PROFILED.encode()).scenarios.values()
    told = Told("x", AT, {})

    found = carried(entry, {"ours": profile()}, told, seen)

    assert found.capacity is not None
    [concurrency] = [figure.value for figure in told.figures if figure.name == "capacity.concurrency"]
    notes = {note.code: note for note in told.notes}
    assert (found.capacity.decode_tps < 5000) is limited
    assert ("memory_limits" in notes) is limited
    if limited:
        [most] = [notes["memory_limits"].facts["concurrency"]]
        assert isinstance(most, int)
        assert float(Fraction(concurrency)) == pytest.approx(most)
        assert "requests of 262,144 tokens at once on 8 × b300" in words.note(notes["memory_limits"])


def test_a_profile_that_begins_beyond_what_memory_holds_says_that_it_is_too_much() -> None:
    busy = replace(profile(), points=profile().points[2:], quality="published")
    [entry] = read_scenarios("x.yaml", PROFILED.encode()).scenarios.values()
    told = Told("x", AT, {})

    found = carried(entry, {"ours": busy}, told, 1_000_000)

    assert found.capacity is not None
    assert found.capacity.decode_tps == 5000
    assert "memory_below_profile" in {note.code for note in told.notes}


def test_cached_input_without_a_rate_is_told_to_be_no_work() -> None:
    rates = "capacity: {prefill_tps: 20000, decode_tps: 5000%s}\n"
    cached = "traffic: {cached_share: 80%}\n"
    silent = put_together(HARDWARE + HOSTED + cached + rates % "")
    stated = put_together(HARDWARE + HOSTED + cached + rates % ", cached_tps: 90000")
    without = put_together(HARDWARE + HOSTED + "traffic: {cached_share: 0}\n" + rates % "")

    figures = [
        [(each.value, each.origin) for each in found.told.figures if each.name == "capacity.cached_tps"]
        for found in (silent, stated, without)
    ]
    assert figures == [[("∞", "default")], [(90_000, "stated")], []]
    assert ["cached_is_no_work" in codes(found) for found in (silent, stated, without)] == [True, False, False]


def test_a_profile_that_somebody_stopped_says_so() -> None:
    whole = profile()
    stopped = Measured(**{name: getattr(whole, name) for name in Profile.__slots__}, stopped="it was stopped")

    found = put_together(PROFILED, profiles={"ours": stopped})

    [note] = [note for note in found.told.notes if note.code == "stopped_profile"]
    assert words.note(note) == "Profile ours ended early (it was stopped): it may carry more than it says."
    assert "stopped_profile" not in codes(put_together(PROFILED, profiles={"ours": whole}))


def test_a_profile_of_another_model_is_refused() -> None:
    other = replace(profile(), model="qwen3-32b")

    with pytest.raises(BadRequest, match=re.escape("'ours' is of Qwen3 32B, and the scenario of Kimi K3")):
        put_together(PROFILED, profiles={"ours": other})


def test_where_a_price_was_read_says_nothing_of_the_machines() -> None:
    found = put_together(HARDWARE.replace("}", ", source: price page, as_of: 2026-11-01}") + HOSTED)

    sources = {figure.name: figure.source for figure in found.told.figures}
    assert sources["hardware.usd_per_gpu_hour"] == "price page"
    assert "price page" not in (sources["hardware.gpu"], sources["hardware.count"])


def test_whose_traffic_a_scenario_is_about() -> None:
    def entry(traffic: str) -> tuple[tuple[str, ...] | None, int]:
        [found] = read_scenarios("x.yaml", f"{HARDWARE}{HOSTED}traffic: {traffic}\n".encode()).scenarios.values()
        return ledger_models(found), ledger_days(found)

    assert entry("ledger") == (("kimi-k3",), 30)
    assert entry("{from_ledger: 90d, models: all}") == (None, 90)
    assert entry("{from_ledger: 7d, models: [a, b]}") == (("a", "b"), 7)


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_example_can_be_looked_at_without_a_pack(name: str) -> None:
    entry = bundled()[name]

    found = built(Question(entry, name), AT, None, None, {})

    assert found.scenario.traffic.tokens_per_month is not None
    assert entry.title


def test_each_note_that_is_told_has_a_sentence() -> None:
    code = "".join(path.read_text() for path in (ROOT / "gateway" / "owning").rglob("*.py"))
    told = set(re.findall(r"told\.note\(\s*\"(\w+)\"", code)) | set(re.findall(r"\bNote\(\s*\"(\w+)\"", code))
    made = {f"ledger_{word}" for word in get_args(Enough) if word != "yes"} | {
        f"no_growth_{w}" for w in get_args(NoGrowth)
    }

    assert len(told) > 20
    assert sorted((told | made) - {*words.NOTES, *SEEN}) == []
    assert {"default_mix", "default_cached_share"} <= set(words.NOTES)


def test_a_service_level_that_is_not_kept_is_the_reason() -> None:
    [entry] = read_scenarios("x.yaml", f"{PROFILED}slo: {{ttft_ms: 100}}\n".encode()).scenarios.values()

    found = answer(Question(entry, "x"), AT, None, None, {"ours": profile()})

    assert (found.verdict, found.reason, found.result.valid) == ("never", "slo", False)
    assert "not even one request at a time keeps the service level on 8 × B300" in words.reason(found)


def test_what_privacy_keeps_home_is_told() -> None:
    found = put_together(f"{HARDWARE}{HOSTED}traffic: {{forced_share: 10%}}\n")

    [note] = [note for note in found.told.notes if note.code == "forced_home"]
    assert words.note(note).startswith("10 % of the tokens may not leave the house at any price")


def test_an_engine_narrows_what_is_known_to_run() -> None:
    text = "model: kimi-k3.1-pro\nhardware: {gpu: b300, count: 8, usd_per_gpu_hour: 7.34}\n" + HOSTED
    known = put_together("engine: sglang\n" + text)
    other = put_together("engine: vllm\n" + text)

    assert (known.holding.holds, other.holding.holds) == (True, True)
    assert "unverified_shape" not in codes(known)
    assert "unverified_shape" in codes(other)


def test_an_engine_that_cannot_read_the_form_is_refused() -> None:
    with pytest.raises(BadRequest, match=re.escape("llama.cpp does not read native of Kimi K3")):
        put_together("engine: llama_server\n" + HARDWARE + HOSTED)


def test_a_machine_s_purchase_is_counted_at_the_rate_of_its_day() -> None:
    text = """\
machines:
  box:
    marginal: {currency: USD, per_million: {input: 1, output: 1}}
    capex: {amount: 36000, currency: BRL, life_months: 36, from: 2026-01-10}
scenarios:
  one:
    hardware: {gpu: b300, count: 8, machine: box}
    hosted: {currency: USD, per_million: {input: 3.00, cached: 0.30, output: 15.00}}
    exchange_rates:
      - {currency: BRL, per_usd: 4, as_of: 2026-01-01, source: bank}
      - {currency: BRL, per_usd: 5, as_of: 2026-11-30, source: bank}
"""

    assert costs(put_together(text)) == {"capital": (250, "machine")}


def test_a_nas_holds_no_model_that_is_to_answer() -> None:
    assert put_together("hardware: {gpu: nas, count: 1, usd_per_gpu_hour: 1}\n" + HOSTED).holding.holds is False


def test_machines_that_cost_nothing_are_always_cheaper() -> None:
    text = (
        "hardware: {gpu: b300, count: 8, capex: {amount: 9, currency: USD, life_months: 9, residual: 100%}}\n"
        + HOSTED
        + "traffic: {tokens_per_day: 1}\n"
    )
    [entry] = read_scenarios("x.yaml", text.encode()).scenarios.values()

    found = answer(Question(entry, "x"), AT, None, None, {})

    assert found.verdict == "yes"
    assert found.times_today == 0
    assert break_even_text.page(found).startswith("8 × B300 with Kimi K3 (native)")
