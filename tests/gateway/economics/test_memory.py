"""What a model's layers keep, each of its kind: latents repeated, heads divided, windows that end, fixed states."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.economics.memory import (
    ANY_LENGTH,
    Division,
    Kept,
    attention_bytes,
    cache_bytes,
    most_requests,
    most_tokens,
    recurrent_bytes,
    state_bytes,
)

MILLION_TOKENS = 1_048_576
LATENT = 512 + 64
"""kv_lora_rank and rope."""
STATE, CONVOLUTION = 96 * 128 * 128, 3 * 3 * 96 * 128

K3 = Kept(attention_bytes(24, LATENT, 1), per_request=recurrent_bytes(69, STATE, CONVOLUTION, 4))
"""Kimi K3 with its cache in FP8 and its states in FP32."""
GROUPED = Kept(attention_bytes(64, 2 * 8 * 128, 2), attention_bytes(64, 2 * 8 * 128, 2), kv_heads=8)
"""64 layers of 8 key-value heads, as Qwen3 32B has them."""
FREE = 60 * 10**9
TP8, TP8_DCP8 = Division(tensor=8), Division(tensor=8, context=8)

divisions = st.builds(
    Division,
    tensor=st.sampled_from([1, 2, 4, 8, 16, 32]),
    context=st.sampled_from([1, 2, 8]),
    pipeline=st.sampled_from([1, 2]),
    state_slots=st.integers(0, 13),
)


@st.composite
def models(draw: st.DrawFn) -> Kept:
    repeated, divided = draw(st.integers(1, 10**6)), draw(st.integers(0, 10**6))
    windows = draw(st.lists(st.tuples(st.integers(1, 10**5), st.integers(1, 10**5)), max_size=3))
    heads = draw(st.none() | st.sampled_from([1, 4, 8, 96]))
    return Kept(repeated + divided, divided, draw(st.integers(0, 10**9)), tuple(windows), heads)


@pytest.mark.parametrize(("value_bytes", "per_token"), [(2, 27_648), (1, 13_824)])
def test_k3_keeps_a_latent_in_its_24_attention_layers(value_bytes: int, per_token: int) -> None:
    assert attention_bytes(24, LATENT, value_bytes) == per_token


@pytest.mark.parametrize(("value_bytes", "per_request"), [(4, 449_372_160), (2, 232_316_928)])
def test_k3_keeps_a_state_in_its_69_linear_layers(value_bytes: int, per_request: int) -> None:
    assert recurrent_bytes(69, STATE, CONVOLUTION, value_bytes) == per_request


def test_a_million_tokens_of_k3_are_thirteen_and_a_half_gibibytes() -> None:
    taken = cache_bytes(K3, MILLION_TOKENS, TP8)

    assert taken == 14_495_514_624 == Fraction("13.5") * 2**30


def test_k2_keeps_a_latent_in_each_of_its_61_layers() -> None:
    assert attention_bytes(61, LATENT, 2) == 70_272


def test_a_formula_over_all_layers_and_heads_is_not_used() -> None:
    generic = 2 * 93 * 96 * 128 * 2

    taken = cache_bytes(Kept(attention_bytes(24, LATENT, 2)), MILLION_TOKENS, TP8)

    assert round(generic * MILLION_TOKENS / taken, 1) == Fraction("165.3")


@pytest.mark.parametrize(
    ("tokens", "alone", "shared"),
    [(9_216, 146, 202), (32_768, 81, 177), (131_072, 28, 118), (MILLION_TOKENS, 4, 28)],
)
def test_requests_of_k3_that_sixty_gigabytes_hold(tokens: int, alone: int, shared: int) -> None:
    assert most_requests(FREE, K3, tokens, TP8) == alone
    assert most_requests(FREE, K3, tokens, TP8_DCP8) == shared


def test_one_state_takes_as_much_as_thirty_two_thousand_tokens() -> None:
    one = state_bytes(K3, Division(state_slots=1))

    assert round(one / cache_bytes(K3, 1, Division())) == 32_507


def test_states_are_divided_among_ranks_and_latents_are_not() -> None:
    assert state_bytes(K3, Division(tensor=8, state_slots=1)) == 56_171_520
    assert cache_bytes(K3, 1, TP8) == cache_bytes(K3, 1, Division()) == 13_824


def test_heads_are_divided_until_each_rank_has_one_and_are_repeated_beyond() -> None:
    taken = [cache_bytes(GROUPED, 1, Division(tensor=ranks)) for ranks in (1, 2, 4, 8, 16, 32)]

    assert taken == [262_144, 131_072, 65_536, 32_768, 32_768, 32_768]


def test_ranks_that_do_not_divide_the_heads_hold_whole_ones() -> None:
    six = Kept(6, 6, kv_heads=6)

    assert cache_bytes(six, 1, Division(tensor=4)) == 2


def test_a_stage_of_a_pipeline_keeps_its_part_of_the_layers() -> None:
    assert cache_bytes(K3, 1000, Division(pipeline=2)) * 2 == cache_bytes(K3, 1000, Division())
    assert state_bytes(K3, Division(pipeline=2)) * 2 == state_bytes(K3, Division())


def test_a_sliding_window_stops_growing() -> None:
    half_windowed = Kept(100, 100, windowed=((100, 4096),), kv_heads=8)

    taken = [cache_bytes(half_windowed, tokens, Division()) for tokens in (4096, 8192)]

    assert taken == [2 * 100 * 4096, 100 * 4096 + 100 * 8192]


def test_windows_are_divided_as_heads_are() -> None:
    windows = Kept(0, windowed=((800, 100),), kv_heads=8)

    assert cache_bytes(windows, 1000, TP8) == 100 * 100


def test_without_layers_that_grow_any_length_fits() -> None:
    assert most_tokens(10**9, Kept(0, per_request=10**6), 1, Division()) == ANY_LENGTH
    assert most_tokens(10**9, Kept(0, windowed=((100, 1000),)), 1, Division()) == ANY_LENGTH


@pytest.mark.parametrize("free", [-1, 0, 10**6])
def test_what_is_not_free_holds_nothing(free: int) -> None:
    assert most_requests(free, K3, 32_768, TP8) == 0
    assert most_tokens(free, K3, 1, TP8) == 0


def test_a_model_of_which_nothing_is_stated_has_no_bound_to_tell() -> None:
    with pytest.raises(ValueError, match="state what the layers keep"):
        most_requests(FREE, Kept(0), 32_768, TP8)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Kept(1, 2),
        lambda: Kept(1, per_request=-1),
        lambda: Kept(1, windowed=((1, -1),)),
        lambda: Kept(1, 1, kv_heads=0),
        lambda: Division(tensor=0),
        lambda: Division(state_slots=-1),
        lambda: most_tokens(FREE, K3, 0, TP8),
    ],
)
def test_figures_that_cannot_be_are_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ValueError, match=r"part|nothing|at least one|below 0"):
        wrong()


@given(models(), divisions, st.integers(1, 300), st.integers(1, 10**12))
def test_the_longest_requests_fit_and_one_token_more_does_not(
    kept: Kept, division: Division, requests: int, free: int
) -> None:
    tokens = most_tokens(free, kept, requests, division)

    state = state_bytes(kept, division)
    assert not tokens or requests * (cache_bytes(kept, tokens, division) + state) <= free
    assert requests * (cache_bytes(kept, tokens + 1, division) + state) > free


@given(models(), divisions, st.integers(1, 10**7), st.integers(1, 10**12))
def test_the_most_requests_fit_and_one_more_does_not(kept: Kept, division: Division, tokens: int, free: int) -> None:
    requests = most_requests(free, kept, tokens, division)

    each = cache_bytes(kept, tokens, division) + state_bytes(kept, division)
    assert requests * each <= free < (requests + 1) * each


@given(models(), divisions, st.integers(1, 10**7))
def test_more_ranks_never_keep_more_on_one_of_them(kept: Kept, division: Division, tokens: int) -> None:
    doubled = Division(division.tensor * 2, division.context, division.pipeline, division.state_slots)

    assert cache_bytes(kept, tokens, doubled) <= cache_bytes(kept, tokens, division)
    assert state_bytes(kept, doubled) <= state_bytes(kept, division)
