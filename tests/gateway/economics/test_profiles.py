"""A capacity curve is read where a service level ends, and never beyond what was measured."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from math import sqrt

import pytest

from gateway.economics.profiles import Carried, Point, Profile, Slo, at


def point(
    concurrency: int,
    ttft: str | None,
    tpot: str | None,
    decode: str | None,
    prefill: str | None = "21672",
    prompt_tokens: int = 8192,
) -> Point:
    def exact(text: str | None) -> Fraction | None:
        return None if text is None else Fraction(text)

    return Point(concurrency, prompt_tokens, 1024, exact(ttft), exact(tpot), exact(prefill), exact(decode))


def profile(*points: Point) -> Profile:
    return Profile("k3", "kimi-k3", "native", "b300", 8, "sglang", points, "made up", date(2026, 9, 3), "derived")


DRAFTS = profile(
    point(1, "389", "2.84", "352"), point(16, "3942", "9.88", "2067"), point(64, "12038", "24.47", "5075.1")
)
"""8 B300, of SGLang pull request 37878."""


def kept(of: Profile, slo: Slo, most_concurrency: int | None = None) -> Carried:
    found = at(of, slo, most_concurrency)
    assert found is not None
    return found


def test_without_a_service_level_the_last_point_counts_and_says_that_more_was_not_measured() -> None:
    assert kept(DRAFTS, Slo()) == Carried(
        Fraction(21672), Fraction("5075.1"), Fraction(64), is_beyond=True, ttft_ms=Fraction(12_038)
    )


def test_a_level_that_a_point_just_keeps_gives_its_rates() -> None:
    found = kept(DRAFTS, Slo(ttft_ms=Fraction(3942)))

    assert found == Carried(Fraction(21672), Fraction(2067), Fraction(16), is_beyond=False)


def test_a_level_that_the_last_point_just_keeps_allows_no_more_than_was_measured() -> None:
    assert not kept(DRAFTS, Slo(ttft_ms=Fraction(12038))).is_beyond
    assert kept(DRAFTS, Slo(ttft_ms=Fraction(12039))).is_beyond


def test_between_points_rates_lie_on_the_line_over_the_logarithm_of_the_concurrency() -> None:
    halfway = (Fraction("9.88") + Fraction("24.47")) / 2

    found = kept(DRAFTS, Slo(tpot_ms=halfway))

    assert found.decode_tps == (2067 + Fraction("5075.1")) / 2
    assert float(found.concurrency) == pytest.approx(sqrt(16 * 64))
    assert not found.is_beyond


def test_the_tighter_limit_decides() -> None:
    both = kept(DRAFTS, Slo(ttft_ms=Fraction(6000), tpot_ms=Fraction(10)))

    assert both == kept(DRAFTS, Slo(tpot_ms=Fraction(10)))
    assert both.concurrency < kept(DRAFTS, Slo(ttft_ms=Fraction(6000))).concurrency


def test_a_time_that_does_not_rise_limits_nothing() -> None:
    steady = profile(point(1, "100", "5", "10"), point(2, "300", "5", "20"))
    falling = profile(point(1, "100", "5", "10"), point(2, "300", "4", "20"))

    for curve in (steady, falling):
        assert kept(curve, Slo(ttft_ms=Fraction(200), tpot_ms=Fraction(5))).decode_tps == 15


def test_memory_bounds_the_concurrency_as_a_service_level_does() -> None:
    found = kept(DRAFTS, Slo(), most_concurrency=32)

    assert float(found.concurrency) == pytest.approx(32)
    assert float(found.decode_tps) == pytest.approx((2067 + 5075.1) / 2)
    assert kept(DRAFTS, Slo(), most_concurrency=16).decode_tps == 2067
    assert not kept(DRAFTS, Slo(), most_concurrency=64).is_beyond
    assert kept(DRAFTS, Slo(), most_concurrency=65).is_beyond


def test_the_tighter_of_memory_and_service_level_decides() -> None:
    level = Slo(tpot_ms=Fraction(20))

    assert kept(DRAFTS, level, most_concurrency=20) == kept(DRAFTS, Slo(), most_concurrency=20)
    assert kept(DRAFTS, level, most_concurrency=60) == kept(DRAFTS, level)


def test_a_level_that_not_even_the_first_point_keeps_is_kept_nowhere() -> None:
    assert at(DRAFTS, Slo(ttft_ms=Fraction(388))) is None
    assert at(DRAFTS, Slo(), most_concurrency=0) is None
    assert at(profile(), Slo()) is None


def test_what_a_point_does_not_state_was_not_measured_there() -> None:
    partly = profile(
        point(1, "389", None, "352"), point(16, "3942", "9.88", "2067"), point(64, None, "24.47", "5075.1")
    )

    assert kept(partly, Slo()).concurrency == 64
    assert kept(partly, Slo(ttft_ms=Fraction(60_000))) == Carried(
        Fraction(21672), Fraction(2067), Fraction(16), is_beyond=True, ttft_ms=Fraction(3942)
    )
    assert at(partly, Slo(tpot_ms=Fraction(5))) is None
    assert at(profile(point(1, "1", "1", None)), Slo()) is None
    assert at(profile(point(1, "1", "1", "10", prefill=None)), Slo()) is None


def test_a_time_that_falls_again_does_not_bring_back_a_level_that_was_broken() -> None:
    uneven = profile(point(1, "100", "1", "10"), point(2, "500", "1", "20"), point(4, "200", "1", "40"))

    assert kept(uneven, Slo(ttft_ms=Fraction(300))).decode_tps == 15


def test_rates_stay_between_those_of_the_neighbours_even_where_they_fall() -> None:
    saturated = profile(point(1, "100", "1", "96"), point(5, "200", "2", "274"), point(20, "400", "4", "230"))

    found = kept(saturated, Slo(ttft_ms=Fraction(300)))

    assert found.decode_tps == (274 + 230) / Fraction(2)


def test_points_of_another_length_of_request_are_another_curve() -> None:
    ramps = profile(
        point(1, "50", "1", "80", prompt_tokens=512),
        point(1, "100", "1", "70", prompt_tokens=2048),
        point(1, "900", "1", "60", prompt_tokens=32_768),
        point(2, "150", "2", "130", prompt_tokens=2048),
        point(4, "300", "3", "240", prompt_tokens=2048),
    )

    assert kept(ramps, Slo(ttft_ms=Fraction(100))).decode_tps == 70
    assert kept(ramps, Slo()).decode_tps == 240


def test_points_may_be_told_in_any_order() -> None:
    assert kept(profile(*reversed(DRAFTS.points)), Slo(ttft_ms=Fraction(5000))) == kept(
        DRAFTS, Slo(ttft_ms=Fraction(5000))
    )
