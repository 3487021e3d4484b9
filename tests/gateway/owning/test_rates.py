"""Rates out of moments: what belongs together, and what chance does is left aside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.owning.measuring.rates import Heard, line, most_at_once, slowest, together
from gateway.wire.lanes import Usage


def heard(first: float, tpot: float, pieces: int, *, asked: float = 0.0, tokens: int | None = None) -> Heard:
    """An answer whose pieces come evenly."""
    return Heard(asked, tuple(first + tpot * n for n in range(pieces)), Usage(fresh=100, output=tokens or pieces))


def test_the_time_of_a_token_counts_all_tokens_of_a_piece() -> None:
    one_by_one, by_fours = heard(1.0, 0.01, 64), heard(1.0, 0.04, 16, tokens=64)

    assert one_by_one.tpot == pytest.approx(0.01)
    assert by_fours.tpot == pytest.approx(0.01)


def test_an_answer_in_one_piece_has_no_time_of_a_token() -> None:
    assert heard(1.0, 0.01, 1, tokens=64).tpot is None
    assert Heard(0.0, (1.0, 1.0), Usage(output=64)).tpot is None


@given(
    st.floats(0, 10),
    st.floats(1e-5, 0.1),
    st.lists(st.integers(50, 100_000), min_size=2, max_size=12),
)
def test_a_straight_line_is_found(latency: float, slope: float, lengths: list[int]) -> None:
    found = line([(length, latency + slope * length) for length in lengths])

    apart = max(lengths) - min(lengths) >= 0.25 * max(lengths)
    tells = slope * max(lengths) >= 0.11 * (latency + slope * max(lengths))
    if found is None:
        assert not apart or not tells
        return
    assert found.seconds_a_token == pytest.approx(slope, rel=1e-3)
    assert found.latency == pytest.approx(latency, rel=1e-3, abs=1e-3 * slope * max(lengths))


def test_reading_that_slows_down_is_never_told_slower_than_it_was_seen() -> None:
    samples = [(500, 3.3), (1000, 9.0), (2000, 36.0), (4000, 150.0)]

    found = line(samples)

    assert found is not None
    assert found.latency == 0
    assert min(tokens / seconds for tokens, seconds in samples) <= found.rate <= 500 / 3.3
    assert not found.is_sure


def test_one_answer_that_was_held_up_does_not_bend_the_line() -> None:
    samples = [(length, 0.1 + 0.001 * length) for length in (500, 500, 500, 2000, 2000, 2000, 8000, 8000, 8000)]
    samples[4] = (2000, 30.0)
    found = line(samples)

    assert found is not None
    assert found.rate == pytest.approx(1000, rel=0.01)
    assert found.latency == pytest.approx(0.1, rel=0.01)


def test_lengths_that_are_nearly_alike_tell_nothing() -> None:
    assert line([(500, 1.0), (510, 3.0), (505, 2.0)]) is None
    assert line([]) is None


def test_what_is_written_together_counts_while_all_are_at_it() -> None:
    early, late = heard(0.0, 0.1, 101), heard(5.0, 0.1, 101)

    assert together([early, late]) == pytest.approx(20, rel=0.03)
    assert together([early]) == pytest.approx(10, rel=0.01)


def test_answers_that_hardly_overlap_are_not_together() -> None:
    assert together([heard(0.0, 0.1, 101), heard(9.0, 0.1, 101)]) is None
    assert together([heard(0.0, 0.1, 101), heard(11.0, 0.1, 101)]) is None


def test_how_many_were_written_at_once_is_counted_by_moments() -> None:
    assert most_at_once([heard(0.0, 0.1, 11), heard(0.5, 0.1, 11), heard(0.9, 0.1, 11), heard(2.0, 0.1, 11)]) == 3


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=100))
def test_the_slowest_is_one_that_was_seen_and_few_are_slower(values: list[float]) -> None:
    found = slowest(values)

    assert found in values
    assert sum(value > found for value in values) <= 0.05 * len(values)


@pytest.mark.parametrize("gathered", [10, 50, 64])
def test_an_engine_that_gathers_what_it_sends_looks_no_slower(gathered: int) -> None:
    """SGLang and vLLM send the first token alone, then as many at once as `--stream-interval` says."""
    sizes = [1, *(min(gathered, 127 - sent) for sent in range(0, 127, gathered))]
    pieces = [1.0 + 0.02 * (sum(sizes[: n + 1]) - 1) for n in range(len(sizes))]
    answer = Heard(0.0, tuple(pieces), Usage(fresh=100, output=128), tuple(5 * size for size in sizes))

    assert answer.tpot == pytest.approx(0.02)
    assert together([answer]) == pytest.approx(50)


def test_tokens_that_come_one_by_one_are_one_each_however_long() -> None:
    answer = Heard(0.0, (1.0, 1.1, 1.2, 1.3), Usage(fresh=100, output=4), (40, 1, 1, 1))

    assert answer.tpot == pytest.approx(0.1)


def test_a_rate_that_two_lengths_say_otherwise_than_two_others_is_not_sure() -> None:
    even = line([(length, 0.1 + 0.001 * length) for length in (500, 2000, 8000)])
    jittery = line([(100, 0.02), (100, 0.09), (100, 0.05), (400, 0.06), (400, 0.15), (400, 0.08)])

    assert even is not None
    assert even.is_sure
    assert jittery is not None
    assert not jittery.is_sure
    assert jittery.between[0] <= jittery.seconds_a_token <= jittery.between[1]
