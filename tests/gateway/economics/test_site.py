"""A place's month: what is written off, what energy costs by the hour of the day, and room."""

from __future__ import annotations

from fractions import Fraction

import pytest

from gateway.economics.scenario import ONE, Purchase
from gateway.economics.site import Band, colocation_usd, energy_kwh, energy_usd, storage_usd, tariff, written_off

FLEET = Purchase(Fraction(2_400_000), 36, Fraction(480_000))
"""64 H100 of which a fifth is left after 36 months."""
PUE, TARIFF = Fraction("1.4"), Fraction("0.12")
BOARDS = 64 * Fraction("0.7")
ALL_IN = 64 * Fraction("1.73")
"""With their share of the servers, the network and the building's cooling."""


def test_a_fleet_is_written_off_down_to_what_is_left() -> None:
    assert written_off(FLEET) == Fraction(160_000, 3)
    assert round(written_off(FLEET), 2) == Fraction("53333.33")


def test_a_month_of_boards_takes_energy_and_the_building_adds_to_it() -> None:
    assert energy_kwh(BOARDS, PUE) == Fraction("45785.6")
    assert round(energy_usd(BOARDS, PUE, TARIFF), 2) == Fraction("5494.27")


def test_all_that_is_drawn_is_nearly_twice_what_the_boards_draw() -> None:
    assert energy_kwh(ALL_IN) == Fraction("80825.6")
    assert round(energy_usd(ALL_IN, ONE, TARIFF), 2) == Fraction("9699.07")


def test_a_tariff_of_the_evening_counts_for_its_hours() -> None:
    evening = Band(Fraction(18), Fraction(21), Fraction("0.60"))

    assert tariff(Fraction("0.20"), [evening]) == (21 * Fraction("0.20") + 3 * Fraction("0.60")) / 24


def test_a_tariff_may_pass_midnight_and_begin_at_any_minute() -> None:
    night = Band(Fraction("21.5"), Fraction(6), Fraction("0.10"))

    assert tariff(Fraction("0.20"), [night]) == (Fraction("15.5") * Fraction("0.20") + Fraction("0.85")) / 24


def test_a_tariff_until_midnight_ends_there() -> None:
    late = [Band(Fraction(12), Fraction(end), Fraction(1)) for end in (0, 24)]

    assert [tariff(Fraction(0), [band]) for band in late] == [Fraction(1, 2), Fraction(1, 2)]


def test_without_bands_the_tariff_is_what_it_is() -> None:
    assert tariff(TARIFF) == TARIFF


def test_two_tariffs_of_one_hour_are_refused_with_the_hour() -> None:
    night, morning = Band(Fraction(22), Fraction("6.5"), ONE), Band(Fraction(6), Fraction(9), ONE)

    with pytest.raises(ValueError, match="claim the hours from 6:00 until 9:00"):
        tariff(TARIFF, [night, morning])


@pytest.mark.parametrize(("first", "until"), [(24, 1), (-1, 1), (1, 25), (7, 7)])
def test_hours_that_no_day_has_are_refused(first: int, until: int) -> None:
    with pytest.raises(ValueError, match="from 0 to 24"):
        tariff(TARIFF, [Band(Fraction(first), Fraction(until), ONE)])


def test_room_is_paid_by_the_kilowatt_and_disks_by_the_terabyte() -> None:
    assert colocation_usd(Fraction("14.3"), Fraction(180)) == 2574
    assert storage_usd(Fraction("1.56"), Fraction(25)) == 39
