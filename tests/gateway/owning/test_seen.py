"""What own engines were seen to do, held against their profiles and a scenario's replica: worked out by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest

from gateway.economics.profiles import Point, Profile
from gateway.economics.scenario import Capacity, Mix
from gateway.ledger.busy import Busy
from gateway.ledger.traffic import Observed
from gateway.owning.remarks import seen
from gateway.owning.remarks.seen_words import WORDS

START = datetime(2026, 11, 2, tzinfo=UTC)
MIX = Mix(fresh=Fraction(3, 4), output=Fraction(1, 4))
BUSY = Busy(
    deployment="our-k3",
    model="kimi-k3",
    tokens=500_000,
    output=100_000,
    requests=100,
    fresh=400_000,
    busy_ms=3_000_000,
    most=MIX,
    most_tps=Fraction(1000),
    most_at=START,
    at_once=Fraction(3, 2),
)
"""4,000 read and 1,000 written in 30 seconds: 33.3 a second."""
CAPACITY = Capacity(prefill_tps=Fraction(1000), decode_tps=Fraction(500))


def point(
    concurrency: int, tpot_ms: int | None, decode_tps: int | None = None, prefill_tps: int | None = 2000
) -> Point:
    return Point(
        concurrency=concurrency,
        prompt_tokens=1000,
        output_tokens=100,
        ttft_ms=Fraction(5000),
        tpot_ms=None if tpot_ms is None else Fraction(tpot_ms),
        prefill_tps=None if prefill_tps is None else Fraction(prefill_tps),
        decode_tps=None if decode_tps is None else Fraction(decode_tps),
    )


def profile(*points: Point) -> Profile:
    return Profile(
        "p", "kimi-k3", "native", "b300", 8, "sglang", points, "measured here", date(2026, 11, 1), "measured"
    )


def observed(busy: Busy = BUSY) -> Observed:
    return Observed(START, START, UTC, tokens=busy.tokens, own=(busy,))


def test_a_request_takes_the_time_of_reading_and_of_writing() -> None:
    """4,000 tokens are read in 2 seconds; 1,000 are written in 8, in 18, in 98."""
    points = profile(point(1, 8), point(2, 18), point(4, 98))

    assert seen.expected_tps(BUSY, points) == (Fraction(50), Fraction(100))
    assert seen.expected_tps(replace(BUSY, at_once=Fraction(3)), points) == (Fraction(10), Fraction(100))
    assert seen.expected_tps(replace(BUSY, at_once=Fraction(40)), points) == (Fraction(10), Fraction(100))


def test_a_profile_that_names_other_figures_says_as_much() -> None:
    """Two at once that write 100 a second write 50 each; without a reading rate the prompt takes what it took there."""
    assert seen.expected_tps(BUSY, profile(point(2, None, 100, None))) == (Fraction(40), Fraction(40))
    assert seen.expected_tps(BUSY, profile(point(2, None))) is None
    assert seen.expected_tps(replace(BUSY, output=0), profile(point(2, 18))) is None


@pytest.mark.parametrize(
    ("tpot_ms", "code"),
    [(8, "slower_than_measured"), (24, "as_measured"), (35, "as_measured"), (98, "faster_than_measured")],
)
def test_a_speed_is_told_beside_what_was_measured(tpot_ms: int, code: str) -> None:
    """Seen are 33.3; expected 100, 38.5, 27, 10."""
    [note] = seen.notes(observed(), {"our-k3": profile(point(8, tpot_ms))}, None)

    assert note.code == code
    assert note.facts["seen_tps"] == Fraction(100, 3)
    assert note.facts["slowest_tps"] == note.facts["fastest_tps"] == Fraction(1000, 2 + tpot_ms)


def test_between_the_slowest_and_the_fastest_point_all_is_as_measured() -> None:
    [note] = seen.notes(observed(), {"our-k3": profile(point(1, 8), point(2, 98))}, None)

    assert note.code == "as_measured"
    assert (note.facts["slowest_tps"], note.facts["fastest_tps"]) == (Fraction(10), Fraction(100))


def test_of_few_requests_no_speed_is_told() -> None:
    few = replace(BUSY, requests=19)

    assert seen.notes(observed(few), {"our-k3": profile(point(8, 8))}, None) == []


def test_a_deployment_without_a_profile_is_to_be_measured() -> None:
    [note] = seen.notes(observed(), {"other": profile(point(8, 8))}, None)

    assert (note.code, dict(note.facts)) == ("not_measured", {"deployment": "our-k3"})


def test_a_deployment_that_carried_more_than_a_replica_can_is_told() -> None:
    """1,000 a second are 0.75 + 0.5 of a replica; 800 are one."""
    profiles = {"our-k3": profile(point(2, 24))}

    assert seen.load(MIX, Fraction(1000), CAPACITY) == Fraction(5, 4)
    carried = [note for note in seen.notes(observed(), profiles, CAPACITY) if note.code == "carried_more"]
    assert [note.facts["load_share"] for note in carried] == [Fraction(5, 4)]
    less = observed(replace(BUSY, most_tps=Fraction(800)))
    assert all(note.code != "carried_more" for note in seen.notes(less, profiles, CAPACITY))


def test_cached_input_takes_what_its_rate_says_and_nothing_where_none_is_known() -> None:
    mix = Mix(fresh=Fraction(0), output=Fraction(0), cached=Fraction(1))

    assert seen.load(mix, Fraction(1000), CAPACITY) == 0
    assert seen.load(mix, Fraction(1000), replace(CAPACITY, cached_tps=Fraction(4000))) == Fraction(1, 4)


def test_every_note_has_its_words_in_both_languages() -> None:
    profiles = [{}, *({"our-k3": profile(point(8, tpot))} for tpot in (8, 24, 98))]
    notes = [note for each in profiles for note in seen.notes(observed(), each, CAPACITY)]

    assert len({note.code for note in notes}) == 5
    for note in notes:
        for sentence in WORDS[note.code]:
            assert set(re.findall(r"\{(\w+)\}", sentence)) <= set(note.facts)
