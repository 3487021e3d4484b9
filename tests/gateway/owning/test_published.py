"""The published profiles that come with Soleira: rates worked out of benchmarks, and none where they say too little."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from gateway.catalog.hardware import gpus
from gateway.catalog.models import find_model
from gateway.economics.profiles import Profile, Slo, at
from gateway.owning.published import profiles, read_profiles
from policies.load import PackError

SHEET = """\
sources:
  bench: {source: A benchmark, as_of: 2026-09-01}
capacities:
  one:
    model: kimi-k3
    quant: native
    gpu: b300
    gpus: 2
    engine: vllm
    said: {from: bench, note: without drafts}
    alone: {prompt: 1000, ttft_ms: 100}
    points:
      - {concurrency: 4, prompt: 1000, output: 500, tps_per_gpu: 3000}
"""


def problem(sheet: str) -> str:
    with pytest.raises(PackError) as caught:
        read_profiles("capacities.yaml", sheet.encode())
    return str(caught.value)


def decode(name: str) -> dict[int, float]:
    return {point.concurrency: float(point.decode_tps or 0) for point in profiles()[name].points}


def test_rates_are_what_a_machine_does_in_the_time_that_the_other_leaves() -> None:
    (point,) = read_profiles("capacities.yaml", SHEET.encode())["one"].points

    # Two GPUs write 2,000 and read 4,000 tokens a second; alone they read 10,000, so that it takes 0.4 of the time.
    assert point.prefill_tps == 10_000
    assert point.decode_tps == Fraction(2000) / Fraction(6, 10)


def test_kimi_k3_on_8_b300_reads_and_writes_as_published() -> None:
    with_drafts, without = decode("k3-8xb300-sglang-dspark"), decode("k3-8xb300-sglang")

    prefill = {point.prefill_tps for point in profiles()["k3-8xb300-sglang-dspark"].points}
    assert [float(rate or 0) for rate in prefill] == [pytest.approx(21_672.0, abs=0.05)]
    assert with_drafts[64] == pytest.approx(5_075.1, abs=0.05)
    assert with_drafts[16] == pytest.approx(2_067, abs=0.5)
    assert without[64] == pytest.approx(2_287, abs=0.5)


@pytest.mark.parametrize("profile", profiles().values(), ids=lambda profile: profile.name)
def test_without_a_single_request_there_are_no_rates(profile: Profile) -> None:
    rated = [point.prefill_tps is not None and point.decode_tps is not None for point in profile.points]

    assert all(rated) if profile.quality == "derived" else not any(rated)


@pytest.mark.parametrize("profile", profiles().values(), ids=lambda profile: profile.name)
def test_every_profile_is_of_known_things_and_has_a_source_and_a_day(profile: Profile) -> None:
    model = find_model(profile.model)

    assert model.quant(profile.quant)
    assert profile.gpu in gpus()
    assert profile.source
    assert profile.note
    assert date(2026, 1, 1) <= profile.as_of <= date(2026, 12, 31)


def test_the_arithmetic_reads_published_profiles_at_a_service_level() -> None:
    profile = profiles()["k3-8xb300-sglang-dspark"]

    carried = at(profile, Slo(ttft_ms=Fraction(3942)))

    assert carried is not None
    assert carried.concurrency == 16
    assert float(carried.decode_tps) == pytest.approx(2_067.1, abs=0.05)


@pytest.mark.parametrize(
    ("written", "instead", "says"),
    [
        ("tps_per_gpu: 3000", "tps_per_gpu: 3000, output_tps: 1", "should name either tps_per_gpu or output_tps"),
        (", tps_per_gpu: 3000", "", "should name either tps_per_gpu or output_tps"),
        ("tps_per_gpu: 3000", "tps_per_gpu: 9000", "reads more at 4 requests than a machine that does nothing else"),
        ("from: bench", "from: bnech", "'bnech' is no key of `sources`; did you mean 'bench'?"),
        ("ttft_ms: 100", "ttft_ms: 0", "capacities.one.alone.ttft_ms"),
    ],
)
def test_a_sheet_that_is_wrong_says_where_and_why(written: str, instead: str, says: str) -> None:
    assert says in problem(SHEET.replace(written, instead))


def test_points_are_listed_by_rising_concurrency() -> None:
    twice = SHEET + "      - {concurrency: 2, prompt: 1000, output: 500, tps_per_gpu: 100}\n"

    assert "should list its points by rising concurrency, none twice" in problem(twice)
