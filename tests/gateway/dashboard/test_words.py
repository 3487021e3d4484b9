"""The page's words and figures, in both languages."""

from __future__ import annotations

import re
import string
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from gateway import errors
from gateway.dashboard import figures, pages
from gateway.dashboard.costs.coin import DOLLARS
from gateway.dashboard.costs.shown import LOOKED_AT
from gateway.dashboard.costs.view import BYS, FLAGS, RANGES, Step
from gateway.dashboard.costs.written import Written
from gateway.dashboard.language import preferred
from gateway.dashboard.texts import LANGUAGES, WORDS, Texts
from gateway.economics.workdays import Kind
from gateway.ledger.entries import Bearer, Outcome
from gateway.settings import ROOT
from gateway.wire.lanes import LANES
from policies.load import load_pack
from policies.prices import Origin

TEMPLATES = Path(pages.__file__).parent / "templates"


def test_a_text_takes_the_same_values_in_every_language() -> None:
    def values(text: str) -> set[str | None]:
        return {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}

    assert {name for name, (en, pt) in WORDS.items() if values(en) != values(pt)} == set()
    assert all(len(translations) == len(LANGUAGES) and all(translations) for translations in WORDS.values())


def test_every_text_that_a_template_asks_for_exists() -> None:
    asked = {
        name
        for template in TEMPLATES.rglob("*.html")
        for name in re.findall(r"""\bt\(["']([^"']+)["']\s*[,)]""", template.read_text(encoding="utf-8"))
    }

    assert len(asked) > 30
    assert asked <= WORDS.keys()


def test_every_text_that_a_name_of_the_ledger_leads_to_exists() -> None:
    led_to = {
        *(f"by.{by}" for by in BYS),
        *(f"range.{name}" for name in RANGES),
        *(f"flag.{flag}" for flag in FLAGS),
        *(f"by {step} title" for step in get_args(Step)),
        *(f"outcome.{outcome}" for outcome in (*get_args(Outcome), "held")),
        *(f"lane.{lane}" for lane in LANES),
        *(f"borne.{bearer}" for bearer in get_args(Bearer)),
        *(f"origin.{origin}" for origin in get_args(Origin)),
        *(f"forecast.{kind}" for kind in get_args(Kind)),
        *(f"look.{flag}{one}" for flag in LOOKED_AT for one in ("", ".one")),
    }

    assert led_to <= WORDS.keys()


def test_every_refusal_says_what_to_do() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.GatewayError)]

    for language in LANGUAGES:
        assert all(Texts(language).refusal(kind.code) and Texts(language).remedy(kind.code) for kind in kinds)
    assert Texts("en").refusal("upstream_timeout") == "The model did not answer"
    assert Texts("pt").refusal("label_exceeds_clearance") == "Isto não pode ir para lá"


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("en-US,en;q=0.9,pt;q=0.8", "en"),
        ("de-DE,de;q=0.9,pt;q=0.3,en;q=0.2", "pt"),
        ("fr", "en"),
        ("en;q=nonsense,pt;q=0.1", "pt"),
        ("PT", "pt"),
    ],
)
def test_the_browser_s_best_known_language_is_taken(header: str, language: str) -> None:
    assert preferred(header) == language


@pytest.mark.parametrize(
    ("nano", "english", "portuguese"),
    [
        (0, "$0", "US$\u00a00"),
        (1, "$0.000000001", "US$\u00a00,000000001"),
        (3_892_200, "$0.0038922", "US$\u00a00,0038922"),
        (1_234_567_000_000_001, "$1,234,567.000000001", "US$\u00a01.234.567,000000001"),
    ],
)
def test_money_keeps_every_digit_in_either_language(nano: int, english: str, portuguese: str) -> None:
    assert figures.dollars(nano, "en") == english
    assert figures.dollars(nano, "pt") == portuguese


def test_counts_and_moments_are_written_as_the_language_does() -> None:
    at = datetime(2026, 12, 1, 9, 5, tzinfo=UTC)

    assert (figures.count(1234567, "en"), figures.count(1234567, "pt")) == ("1,234,567", "1.234.567")
    assert figures.moment(at, "en") == "2026-12-01 09:05 UTC"
    assert figures.moment(at, "pt") == "01/12/2026 09:05 UTC"


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 0, "–"), (0, 9, "0%"), (1, 10_000, "<1%"), (1, 2, "50%"), (9_999, 10_000, ">99%"), (9, 9, "100%")],
)
def test_a_share_is_neither_falsely_nothing_nor_falsely_all(part: int, whole: int, text: str) -> None:
    written = Written(Texts("en"), load_pack(ROOT / "policies" / "packs" / "home"), DOLLARS)

    assert written.percent(part, whole).replace("\u202f", "") == text
    assert [written.headed(words) for words in ("how May will end", "até")] == ["How May will end", "Até"]
