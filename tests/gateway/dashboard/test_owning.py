"""The page "Is owning cheaper?" over HTTP: its answer, its figures with their sources, and what its address says."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

import pytest

from gateway.dashboard.owning import asking, shown, view
from gateway.dashboard.texts import WORDS, Texts
from gateway.db import keys
from gateway.db.keys import KeySpec
from gateway.economics.sensitivity import INPUTS
from gateway.ledger import traffic
from gateway.owning import answers, profiles, words
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
        ("flatkey", "No. At these prices machines of your own never pay", "Não. Com estes preços"),
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
    assert "Today's volume lies outside of where machines of your own pay: from 7.1" in full.answer
    assert "Today's volume lies outside" not in near.answer
    assert "In part it pays already: one replica of your own for" in full.answer
    assert near.verdict.endswith("would pay at 1.02 times today's volume.")
    assert "about 1 month away" in near.answer
    assert "The volume does not grow, so that day does not come by itself." in steady.answer


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
async def test_the_page_s_numbers_are_the_command_s(house: House, owner: Visitor, scenario: str) -> None:
    page, said = await opened(owner, f"?scenario={scenario}{DOLLARS}"), await told(house, scenario)
    even = said["break_even"]

    assert page.figures("owned") == [said["monthly_usd"]]
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
    if said["payback"]:
        back = said["payback"]
        assert page.figures("when") == [back["usd"], back["months"], back["npv_usd"]]
    ends = ("million_tokens_per_day_at_low", "million_tokens_per_day_at_high")
    bars = [bar[end] for bar in said["tornado"] for end in ends if bar[end] is not None]
    assert (page.figures("tornado") if said["tornado"] else []) == bars
    band = said["band"]
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
