"""The page "Is owning cheaper?" over HTTP: its answer, its figures with their sources, and what its address says."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

import pytest

from gateway.dashboard.cited import cited, is_named
from gateway.dashboard.owning import asking, shown, view
from gateway.dashboard.owning_words import PROFILE_NOTES
from gateway.dashboard.texts import WORDS, Texts
from gateway.db import keys
from gateway.db.keys import KeySpec
from gateway.economics.sensitivity import INPUTS
from gateway.ledger import traffic
from gateway.owning import answers, profiles, published, words
from gateway.owning import shown as numbers
from gateway.owning.answers import Reason, Verdict
from gateway.owning.figures import OF_OVERRIDE, From
from gateway.owning.questions import OVERRIDES, Question
from gateway.owning.scenarios import bundled
from gateway.settings import ROOT
from policies.scenario_file import read_scenarios
from tests.gateway.dashboard import books
from tests.gateway.dashboard.scenarios import SCENARIOS
from tests.gateway.dashboard.site import Visitor, site, visitor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.gateway.house import House

FILES = {**books.FILES, "break_even.yaml": {**books.FILES["break_even.yaml"], "scenarios": SCENARIOS}}
DOLLARS = "&currency=USD"
NARROW = "\N{NARROW NO-BREAK SPACE}"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A house whose ledger is known, with scenarios whose answers are."""
    made = site(tmp_path, books.deployments(), rules=books.ZONES, files=FILES, now=lambda: books.NOW)
    async with made as running:
        await books.enter(running.runtime)
        yield running


@dataclass(frozen=True)
class Page:
    """The page as a person and as a program read it."""

    text: str

    @property
    def verdict(self) -> str:
        return " ".join(self.words(re.search(r'<p class="verdict".*?</p>', self.text, re.DOTALL)).split())

    @property
    def answer(self) -> str:
        return " ".join(self.words(re.search(r'<section id="answer".*?</section>', self.text, re.DOTALL)).split())

    def part(self, name: str) -> str:
        found = re.search(rf'<(section|div|dl|table)\b[^>]* ?id="{name}".*?</\1>', self.text, re.DOTALL)
        assert found, f"the page has no part {name!r}"
        return found[0]

    def figures(self, part: str) -> list[float]:
        """The numbers of a part, as a program reads them."""
        return [float(value) for value in re.findall(r'<data[^>]* value="([^"]+)"', self.part(part))]

    def row(self, figure: str) -> str:
        """The line of the figure; of two in one line it begins with that one."""
        found = re.search(rf'data-figure="{re.escape(figure)}".*?</tr>', self.text, re.DOTALL)
        assert found, f"the page has no figure {figure!r}"
        return found[0]

    @staticmethod
    def words(found: re.Match[str] | None) -> str:
        assert found, "the page lacks it"
        return html.unescape(re.sub(r"<[^>]+>", "", found[0]))


async def opened(owner: Visitor, query: str = "") -> Page:
    answer = await owner.get(f"/dashboard/owning{query}")
    assert answer.status == 200, answer.text
    return Page(answer.text)


async def told(house: House, name: str, **overrides: str) -> dict[str, Any]:
    """What the command prints of a scenario in this house."""
    runtime, pack = house.runtime, house.runtime.packs.current.pack
    tried = {override: Fraction(value) for override, value in overrides.items() if override in OVERRIDES}
    question = Question(pack.scenarios[name], name, tried)
    seen = None
    if name == "ours":
        span = traffic.since("30d", books.NOW, books.SAO_PAULO)
        seen = await traffic.observed(runtime.engine, pack, span, ("kimi-k3",), books.NOW)
    today = books.NOW.astimezone(books.SAO_PAULO).date()
    known = profiles.profiles(runtime.settings.data)
    return numbers.shown(answers.answer(question, today, pack, seen, known))


async def test_the_first_view_says_not_yet_and_how_far_away_it_is(owner: Visitor) -> None:
    page = await opened(owner, "?scenario=moonshot")

    assert page.verdict == "Not yet. Machines of your own would pay at 2.3 times today's volume."
    assert "At a growth of 8% a month that is about 11 months away, in October 2027." in page.answer
    assert [round(value, 3) for value in page.figures("pays-from")] == [7144.267]
    assert "234.9" in page.part("pays-from")


@pytest.mark.parametrize(
    ("scenario", "english", "portuguese"),
    [
        ("flatkey", "No. As things stand machines of your own never pay", "Não. Do jeito que está"),
        ("tiered", "Not at this volume. Machines of your own pay at less", "Não com este volume. Máquinas próprias"),
        ("b200", "No. Machines of this size cannot hold the model", "Não. Máquinas deste tamanho não comportam"),
        ("unasked", "That depends on the volume. Machines of your own pay from 234.9", "Depende do volume."),
        ("bought", "Yes. At today's volume machines of your own save", "Sim. Com o volume de hoje"),
        ("moonshot", "Not yet. Machines of your own would pay at 2.3 times", "Ainda não. Máquinas próprias"),
    ],
)
async def test_each_verdict_is_one_sentence_in_either_language(
    owner: Visitor, scenario: str, english: str, portuguese: str
) -> None:
    assert (await opened(owner, f"?scenario={scenario}&lang=en")).verdict.startswith(english)
    assert (await opened(owner, f"?scenario={scenario}&lang=pt")).verdict.startswith(portuguese)


async def test_between_two_volumes_at_which_owning_pays_it_says_so_and_what_a_part_would_save(owner: Visitor) -> None:
    full = await opened(owner, f"?scenario=moonshot&tokens_per_day=315000000{DOLLARS}")
    near = await opened(owner, "?scenario=moonshot&tokens_per_day=230000000")
    steady = await opened(owner, "?scenario=moonshot&growth_per_month=0")

    assert full.verdict == "Not yet. Machines of your own would pay at 1.5 times today's volume."
    assert "At less it pays as well, from 7.1 B to 9.4 B tokens a month; today's" in full.answer
    assert "At less" not in near.answer
    assert "In part it pays already: one replica of your own for > 99.9% of the tokens" in full.answer
    assert full.figures("owned") == [2 * 42865.6]
    assert "tokens, with 2 replicas" in full.part("owned")
    assert near.verdict.endswith("would pay at 1.02 times today's volume.")
    nearest = await opened(owner, "?scenario=moonshot&tokens_per_day=234879999")
    assert nearest.verdict.endswith("would pay at 1.000000004 times today's volume.")
    assert "about 1 month away" in near.answer
    assert "The volume does not grow, so that day does not come by itself." in steady.answer


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
async def test_the_page_s_numbers_are_the_command_s(house: House, owner: Visitor, scenario: str) -> None:
    page, said = await opened(owner, f"?scenario={scenario}{DOLLARS}"), await told(house, scenario)
    even = said["break_even"]

    today = said["today"]["own_usd"]
    assert page.figures("owned") == [said["monthly_usd"] if today is None else today]
    assert page.figures("hosted") == [said["today"]["hosted_usd"] or said["hosted_per_million_usd"]]
    assert page.figures("pays-from") == ([] if said["verdict"] == "never" else [even["million_tokens_per_month"]])
    assert page.figures("steps") == [
        value
        for step in said["steps"]
        for value in (
            step["monthly_usd"],
            step["needed_million_tokens_per_month"],
            step["most_million_tokens_per_month"],
        )
        if value is not None
    ]
    assert page.figures("volumes")[:2] == [0.0, 0.0]
    assert page.figures("volumes")[2 :: 5 if said["curve"][0]["hybrid_usd"] is not None else 4] == [
        point["own_usd"] for point in said["curve"]
    ]
    if said["hybrid"]:
        best = said["hybrid"]
        hosted = [best["all_hosted_usd"]] * 2 if best["all_hosted_usd"] is not None else []
        both = [best["own_usd"], best["hosted_usd"], best["usd"]]
        assert page.figures("both") == [*hosted, *[best["all_own_usd"]] * 2, *both]
    assert page.text.count('id="idle"') == (said["today"]["utilisation"] is not None)
    if said["payback"]:
        back = said["payback"]
        assert page.figures("when") == [back["usd"], back["months"], back["npv_usd"]]
    ends = ("million_tokens_per_day_at_low", "million_tokens_per_day_at_high")
    bars = [bar[end] for bar in said["tornado"] for end in ends if bar[end] is not None]
    assert (page.figures("tornado") if said["tornado"] else []) == bars
    if said["holds"] is False:
        as_if = "as if the machines could hold it" if said["tornado"] else "no price changes the answer before"
        assert as_if in page.part("matters")
    band = said["band"]
    assert page.text.count('id="band"') == (band is not None)
    if band is None:
        return
    draws = [band[f"{name}_million_tokens_per_day"] for name in ("p5", "p50", "p95")]
    draws += [band["probability_at_todays_volume"], band["never"]]
    assert page.figures("band") == pytest.approx([value for value in draws if value is not None], rel=1e-12)


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
async def test_every_figure_has_a_source_and_an_age(house: House, owner: Visitor, scenario: str) -> None:
    page, said = await opened(owner, f"?scenario={scenario}"), await told(house, scenario)

    for figure in said["figures"]:
        row = page.row(figure["name"])
        assert re.search(r'class="origin[^"]*">[^<]+<', row), figure
        age = re.search(r'class="age">(?:<time[^>]*>)?([^<]+)<', row)
        assert age, figure
        if figure["age_days"] is not None:
            assert age[1].startswith("of today" if figure["age_days"] <= 0 else str(figure["age_days"])), figure
        value = re.search(r'<data value="([^"]*)"', row)
        assert value, figure
        assert (value[1] if isinstance(figure["value"], str) else float(value[1])) == figure["value"]


async def test_every_input_can_be_tried_in_the_form_and_is_led_to_a_plain_address(house: House, owner: Visitor) -> None:
    page = await opened(owner, "?scenario=moonshot")
    asked = {view.asked_as(name) for name in OVERRIDES}
    assert asked <= set(re.findall(r'<input type="number"[^>]* name="([^"]+)"', page.text))

    form = {**dict.fromkeys(asked, ""), "scenario": "moonshot", "more": "1", "cached_share_percent": "50"}
    form |= {"tokens_per_day_millions": "400", "peak_to_mean": "1.5", "currency": ""}
    answer = await owner.get("/dashboard/owning?" + "&".join(f"{name}={value}" for name, value in form.items()))

    assert answer.status == 303
    place = answer.headers["location"]
    assert (
        place == "/dashboard/owning?scenario=moonshot&tokens_per_day=400000000&cached_share=0.5&peak_to_mean=1.5&more=1"
    )
    tried = Page((await owner.get(place)).text)
    said = await told(house, "moonshot", cached_share="0.5", tokens_per_day="400000000", peak_to_mean="1.5")
    assert tried.figures("pays-from") == [said["break_even"]["million_tokens_per_month"]]
    assert tried.verdict.startswith({"yes": "Yes.", "not_yet": "Not yet."}[said["verdict"]])
    assert re.search(r'<details id="more"[^>]* open', tried.text)
    assert 'name="cached_share_percent" value="50"' in tried.row("traffic.cached_share")
    line = "soleira break-even --scenario moonshot --set tokens_per_day=400000000 --set cached_share=0.5"
    assert line in tried.text


async def test_the_least_and_the_most_of_every_input_are_answered(owner: Visitor) -> None:
    for name, limits in OVERRIDES.items():
        for scenario in ("moonshot", "bought"):
            for end in (limits.least, limits.most):
                await opened(owner, f"?scenario={scenario}&{name}={view.plain(end)}")


async def test_half_of_what_a_replica_carries_is_refused_with_what_is_missing(owner: Visitor) -> None:
    half = await owner.get("/dashboard/owning?scenario=arithmetic&decode_tps=5000")
    await opened(owner, "?scenario=arithmetic&decode_tps=5000&prefill_tps=20000")

    assert half.status == 400
    assert "try a reading rate and a writing rate together" in half.text
    assert "a number from" not in half.text


async def test_where_everything_is_free_or_nothing_is_written_there_is_still_an_answer(owner: Visitor) -> None:
    for query in (
        "input=0&cached=0&output=0",
        "input=0&cached=0&output=0&staff_usd_per_month=0&usd_per_gpu_hour=0.0001",
        "output_share=0&cached_share=1",
        "output_share=1",
        "forced_share=1&tokens_per_day=1000000000000",
    ):
        for scenario in ("bought", "tiered", "arithmetic"):
            await opened(owner, f"?scenario={scenario}&{query}")


async def test_what_is_tried_can_be_taken_back_one_by_one_or_all_at_once(owner: Visitor) -> None:
    page = await opened(owner, "?scenario=moonshot&cached_share=0.5&peak_to_mean=1.5")
    chips = re.search(r'<ul class="chips".*?</ul>', page.text, re.DOTALL)
    assert chips

    assert [html.unescape(link) for link in re.findall(r'href="([^"]+)"', chips[0])] == [
        "/dashboard/owning?scenario=moonshot&peak_to_mean=1.5",
        "/dashboard/owning?scenario=moonshot&cached_share=0.5",
        "/dashboard/owning?scenario=moonshot",
    ]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("scenario=moonshto", "did you mean &#39;moonshot&#39;?"),
        ("cached_share=1.5", "cached_share"),
        ("cached_share_percent=150", "cached_share"),
        ("cached_share_percent=half", "cached_share_percent"),
        ("peak_to_mean=0.5", "peak_to_mean"),
        ("replicas=1.5", "whole number"),
        ("usd_per_gpu_hour=cheap", "usd_per_gpu_hour"),
        ("ledger=31d", "7d, 30d, 90d"),
    ],
)
async def test_an_address_that_makes_no_sense_is_refused_with_what_to_do(owner: Visitor, query: str, why: str) -> None:
    answer = await owner.get(f"/dashboard/owning?{query}")

    assert answer.status == 400
    assert why in answer.text
    assert 'aria-current="page">Is owning cheaper?' in answer.text


async def test_a_figure_that_makes_no_sense_is_explained_in_the_reader_s_language_with_a_way_back(
    owner: Visitor,
) -> None:
    share = await owner.get("/dashboard/owning?scenario=moonshot&cached_share_percent=150&lang=pt")
    volume = await owner.get("/dashboard/owning?scenario=moonshot&tokens_per_day=many")
    nowhere = await owner.get("/dashboard/owning?scenario=moonshto")

    assert "Isso não pode ser respondido." in share.text
    assert "Parte da entrada que vem do cache: um número de 0 a 100 %." in share.text
    assert "Tokens por mês: um número de 0,000001 a" in volume.text
    assert 'href="/dashboard/owning?scenario=moonshot">Voltar ao que está informado' in share.text
    assert 'class="button" href="/dashboard/owning"' in nowhere.text


async def test_no_growth_is_told_to_lose_against_falling_prices_that_do_not_fall(owner: Visitor) -> None:
    far = await opened(owner, "?scenario=moonshot&tokens_per_day=500000&growth_per_month=0.01")
    falling = await opened(owner, "?scenario=moonshot&growth_per_month=0.01&decline_per_year=0.5")

    assert "At a growth of 1% a month that day is further away than the ten years that are looked ahead." in far.answer
    assert "At a growth of 1% a month that day does not come: prices at the host fall as fast." in falling.answer


async def test_what_may_not_leave_is_told_to_take_own_machines_at_any_price(owner: Visitor) -> None:
    page = await opened(owner, f"?scenario=moonshot&forced_share=0.3{DOLLARS}")

    assert page.verdict == "Not yet. By price alone machines of your own would pay at 2.3 times today's volume."
    assert "30% of the tokens may not leave the house, so that it takes machines of your own at any price." in page.text
    assert "Cheapest is then all of it on one replica: $42,865.60 a month." in page.answer
    assert page.text.count("may not leave the house") == 1


async def test_where_owning_pays_a_mixture_that_pays_more_is_told(owner: Visitor) -> None:
    page = await opened(owner, f"?scenario=moonshot&tokens_per_day=500000000{DOLLARS}")

    assert page.verdict.startswith("Yes. At today's volume machines of your own save $")
    assert "Both together are cheaper still: one replica of your own for" in page.answer


async def test_why_owning_never_pays_is_told_in_the_page_s_own_currency(owner: Visitor) -> None:
    page = await opened(owner, "?scenario=flatkey")

    assert "One replica (8 × B300) carries 9.4 B tokens a month through the busiest hours, 2.5" in page.answer
    assert "The host takes R$182,747.68 for that, the machines cost R$231,474.24." in page.answer
    assert "They would pay if the busiest hours had at most 1.97 times the average." in page.answer
    assert "US$" not in page.answer


async def test_arithmetic_alone_is_never_a_plain_yes(owner: Visitor) -> None:
    page = await opened(owner, "?scenario=arithmetic&tokens_per_day=400000000")

    assert page.verdict.startswith("By arithmetic, yes. At today's volume")
    assert "By arithmetic alone: nobody says how much 8 × B300 carry" in page.answer


async def test_an_unknown_volume_is_asked_for_where_the_answer_stands(owner: Visitor) -> None:
    page = await opened(owner, f"?scenario=unasked&peak_to_mean=2{DOLLARS}")
    form = re.search(r'<form class="ask".*?</form>', page.text, re.DOTALL)
    assert form
    hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]+)"', form[0]))

    assert hidden == {"scenario": "unasked", "peak_to_mean": "2", "currency": "USD"}
    query = "&".join(f"{name}={value}" for name, value in {**hidden, "tokens_per_day_millions": "100"}.items())
    led = await owner.get(f"/dashboard/owning?{query}")
    assert led.headers["location"].startswith("/dashboard/owning?scenario=unasked&tokens_per_day=100000000&peak")
    assert 'class="ask"' not in (await owner.get(led.headers["location"])).text


async def test_great_and_small_volumes_are_written_as_portuguese_counts_them(owner: Visitor) -> None:
    small = await opened(owner, "?scenario=moonshot&usd_per_gpu_hour=0.001&lang=pt")
    great = await opened(owner, "?scenario=moonshot&tokens_per_day=90000000000000")
    thousand = await opened(owner, "?scenario=moonshot&tokens_per_day=999960000")

    assert "vai de 26.667 a 53.333 tokens por dia" in small.text
    assert not re.search(r"\d de tokens", small.text)
    assert f"hoje 90,0{NARROW}tri por dia" in great.text
    assert f"hoje 1,0{NARROW}bi por dia" in thousand.text
    assert "US$\u00a016,42\u00a0bi" in great.part("hosted")
    assert "R$\u00a088,70\u00a0bi" in great.part("hosted")


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
async def test_what_soleira_says_of_a_source_is_said_in_portuguese(house: House, owner: Visitor, scenario: str) -> None:
    page, said = await opened(owner, f"?scenario={scenario}&lang=pt"), await told(house, scenario)
    own = [each for each in said["figures"] if each["origin"] in ("default", "ledger")]

    assert own
    for figure in own:
        source = figure["source"]
        assert not is_named(source), source
        assert cited(source, "pt") != source
        assert html.escape(cited(source, "pt"), quote=True).replace("&#x27;", "&#39;") in page.row(figure["name"])
        assert 'lang="en"' not in page.row(figure["name"])
    assert not re.search(r"(hosted|hardware|site|staff)\.[a-z_]+", page.part("matters"))


def test_the_notes_on_public_profiles_are_there_in_portuguese() -> None:
    noted = {
        each.note
        for each in published.profiles().values()
        if each.note and any(point.decode_tps for point in each.points)
    }

    assert noted
    assert noted <= PROFILE_NOTES.keys()


async def test_the_ledger_s_traffic_takes_the_place_of_what_is_stated(house: House, owner: Visitor) -> None:
    stated, seen = await opened(owner, "?scenario=moonshot"), await opened(owner, "?scenario=moonshot&ledger=30d")
    pack = house.runtime.packs.current.pack
    span = traffic.since("30d", books.NOW, books.SAO_PAULO)
    observed = await traffic.observed(house.runtime.engine, pack, span, ("kimi-k3",), books.NOW)

    assert float(observed.tokens_per_month or 0) > 0
    assert 'value="3041666666.6' in stated.row("traffic.tokens_per_month")
    assert f'value="{float(observed.tokens_per_month or 0)!r}"' in seen.row("traffic.tokens_per_month")
    assert "the ledger" in seen.row("traffic.cached_share")
    assert "--from-ledger 30d" in seen.text


async def test_the_owner_s_currency_stands_beside_dollars(owner: Visitor) -> None:
    reais, dollars = await opened(owner, "?scenario=moonshot"), await opened(owner, f"?scenario=moonshot{DOLLARS}")

    assert "R$231,474.24" in reais.part("owned")
    assert "$42,865.60" in reais.part("owned")
    assert "R$" not in dollars.part("owned")
    assert reais.figures("owned") == dollars.figures("owned") == [42865.6]
    assert "BRL at 5.40 for a dollar, of 20 Nov 2026." in reais.text


async def test_a_pack_without_scenarios_says_how_to_add_one_and_offers_an_example(tmp_path: Path) -> None:
    async with (
        site(tmp_path, books.deployments(), rules=books.ZONES, files=books.FILES) as house,
        visitor(house) as owner,
    ):
        await owner.sign_in()
        page = await opened(owner)
        example = await opened(owner, "?example=1")

    assert "No scenario yet." in page.text
    assert html.unescape(page.text).count(asking.SNIPPET.strip()) == 1
    assert 'href="/dashboard/owning?example=1"' in page.text
    assert "An example that comes with Soleira, not your house" in example.text
    assert f"--scenario-file {shown.EXAMPLES}" in example.text


def test_what_the_empty_page_says_to_write_can_be_read() -> None:
    written = read_scenarios("break_even.yaml", asking.SNIPPET.encode())

    assert written.scenarios["b300"].hosted.deployment == "moonshot-k3"
    assert read_scenarios("break_even.yaml", (ROOT / shown.EXAMPLES).read_bytes()).scenarios == bundled()


async def test_readers_of_figures_see_it_and_strangers_do_not(house: House) -> None:
    key = await keys.create(house.runtime.engine, KeySpec(name="board", role="reader"))
    async with visitor(house) as reader, visitor(house) as stranger:
        await reader.sign_in(key)
        seen, refused = await reader.get("/dashboard/owning"), await stranger.get("/dashboard/owning")

    assert seen.status == 200
    assert 'href="/dashboard"' not in re.sub(r'<a class="name".*?</a>', "", seen.text)
    assert (refused.status, refused.headers["location"]) == (303, "/dashboard/login")


async def test_the_tables_are_there_as_files_with_every_digit(house: House, owner: Visitor) -> None:
    said = await told(house, "moonshot")
    volumes = (await owner.get("/dashboard/owning/volumes.csv?scenario=moonshot")).text.splitlines()
    figures = (await owner.get("/dashboard/owning/figures.csv?scenario=moonshot")).text.splitlines()

    assert volumes[0] == "Tokens a month,A day,Own machines (USD),Host (USD),Both (USD)"
    assert len(volumes) == 1 + len(said["curve"])
    assert [float(line.split(",")[2]) for line in volumes[1:]] == [point["own_usd"] for point in said["curve"]]
    assert figures[0] == "Figure,Value,Unit,Kind of source,Where it comes from,Day,Age in days"
    assert len(figures) == 1 + len(said["figures"])
    rent = next(line for line in figures if line.startswith("hardware.usd_per_gpu_hour"))
    assert rent == "hardware.usd_per_gpu_hour,7.34,USD/GPU-h,stated,Flatkey price index,2026-10-24,32"


def test_every_text_that_an_answer_leads_to_exists() -> None:
    led_to = {
        *(f"own.{verdict}" for verdict in get_args(Verdict)),
        *(f"own.never {reason}" for reason in get_args(Reason) if reason not in ("cheaper", "arithmetic")),
        *(f"own.asks {limits.unit}" for limits in OVERRIDES.values()),
        *(f"own.window.{window}" for window in view.WINDOWS),
        *(f"own.line {line}" for line in ("own", "hosted", "hybrid")),
    }

    assert led_to <= WORDS.keys()
    assert set(get_args(From)) <= words.ORIGINS.keys()
    assert set(OF_OVERRIDE.values()) <= words.FIGURES.keys()
    assert set(INPUTS) <= words.INPUTS.keys()


@pytest.mark.parametrize("language", ["en", "pt"])
def test_no_text_of_the_page_names_what_is_behind_it(language: str) -> None:
    texts = Texts("pt" if language == "pt" else "en")
    own = [WORDS[name][0 if texts.language == "en" else 1] for name in WORDS if name.startswith("own.")]

    assert not [text for text in own if re.search(r"\b(session|agent|issue)\b", text, re.IGNORECASE)]
