"""Old prices are told of by their source and age, and those without a day as such."""

from __future__ import annotations

import re
from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from gateway.owning.figures import Figure
from gateway.owning.remarks import old_figures
from gateway.owning.remarks.seen_words import WORDS

if TYPE_CHECKING:
    from gateway.owning.figures import From

TODAY = date(2026, 12, 1)


def figure(name: str, days: int | None, unit: str = "USD/M tokens", origin: From = "stated") -> Figure:
    as_of = None if days is None else TODAY - timedelta(days=days)
    return Figure(name, Fraction(3), unit, origin, "price page", as_of)


def test_prices_of_one_source_and_day_are_one_note() -> None:
    prices = [figure("hosted.input", 91), figure("hosted.output", 91), figure("hosted.cached", 90)]

    [note] = old_figures.notes(prices, TODAY)

    assert note.code == "old_price"
    assert dict(note.facts) == {
        "names": "hosted.input, hosted.output",
        "days": 91,
        "as_of": "2026-09-01",
        "source": "price page",
    }


def test_a_price_without_a_day_is_told_as_such() -> None:
    [note] = old_figures.notes([figure("hardware.usd_per_gpu_hour", None, "USD/GPU-h")], TODAY)

    assert (note.code, note.facts["names"]) == ("price_without_day", "hardware.usd_per_gpu_hour")


def test_a_day_that_has_not_come_yet_is_no_age() -> None:
    notes = old_figures.notes([figure("hosted.input", -1), figure("exchange.BRL", -1, "BRL/USD")], TODAY)

    assert [note.code for note in notes] == ["price_of_tomorrow", "rate_of_tomorrow"]


def test_a_month_s_rent_is_a_price() -> None:
    [note] = old_figures.notes([figure("costs.rent", 91, "USD/month")], TODAY)

    assert note.code == "old_price"


@pytest.mark.parametrize(("days", "codes"), [(45, []), (46, ["old_rate"]), (None, ["rate_without_day"])])
def test_rates_of_exchange_are_old_sooner(days: int | None, codes: list[str]) -> None:
    notes = old_figures.notes([figure("exchange.BRL", days, "BRL/USD")], TODAY)

    assert [note.code for note in notes] == codes


def test_what_no_price_list_says_has_no_age_to_tell_of() -> None:
    figures = [
        figure("hosted.input", None, origin="overridden"),
        figure("ranges.usd_per_gpu_hour.low", 400, "USD/GPU-h"),
        figure("traffic.peak_to_mean", 400, "x", "ledger"),
        figure("capacity.decode_tps", 400, "tokens/s", "published"),
    ]

    assert old_figures.notes(figures, TODAY) == []


def test_every_note_has_its_words_in_both_languages() -> None:
    figures = [figure("hosted.input", 91), figure("hosted.output", None)]
    rates = [figure("exchange.BRL", 91, "BRL/USD"), figure("exchange.EUR", None, "EUR/USD")]

    notes = old_figures.notes([*figures, *rates], TODAY)

    assert len(notes) == 4
    for note in notes:
        for sentence in WORDS[note.code]:
            assert set(re.findall(r"\{(\w+)\}", sentence)) <= set(note.facts)
