"""A measurement in virtual time: the rates of an engine come out, and every limit ends it where it should."""

from __future__ import annotations

import asyncio
from datetime import date
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from gateway.economics.profiles import Profile, Slo, at
from gateway.errors import UpstreamError
from gateway.owning.measuring.ramps import BROKEN_OFF, STOPPED, Plan, Ramps
from tests.gateway.owning.engines import Rates, VirtualEngine

if TYPE_CHECKING:
    from gateway.owning.measuring.ramps import Step

PLAN = Plan((512, 2048, 8192), (1, 2, 4, 8), 64, 200, 1e9)


def ramps(engine: VirtualEngine, plan: Plan = PLAN, stop: asyncio.Event | None = None, **more: Any) -> Ramps:
    return Ramps(plan, engine, Random(5), engine.clock, stop=stop or asyncio.Event(), **more)


async def measured(rates: Rates, plan: Plan = PLAN) -> Ramps:
    measuring = ramps(VirtualEngine(rates), plan)
    async for _ in measuring.run():
        pass
    return measuring


@pytest.mark.parametrize("latency", [0.0, 0.08, 2.0])
@pytest.mark.parametrize("prefill", [55.0, 2000.0, 21_672.0])
async def test_the_rate_of_reading_comes_out_apart_from_the_fixed_latency(latency: float, prefill: float) -> None:
    found = await measured(Rates(latency=latency, prefill=prefill))

    assert found.prefill_tps == pytest.approx(prefill, rel=0.01)
    assert [float(point.prefill_tps or 0) for point in found.points] == [pytest.approx(prefill, rel=0.01)] * 4
    assert found.stopped == ""


async def test_the_rate_of_writing_comes_out_for_each_number_of_requests_at_once() -> None:
    found = await measured(Rates(tpot=lambda count: 0.010 + 0.002 * count))

    rates = {point.concurrency: float(point.decode_tps or 0) for point in found.points}
    assert rates == {count: pytest.approx(count / (0.010 + 0.002 * count), rel=0.01) for count in (1, 2, 4, 8)}
    assert [float(point.tpot_ms or 0) for point in found.points] == [pytest.approx(10 + 2 * n, rel=0.01) for n in rates]


async def test_several_at_once_wait_for_each_others_prompts() -> None:
    found = await measured(Rates(latency=0.0, prefill=1000.0))

    first, *_, last = (float(point.ttft_ms or 0) for point in found.points)
    assert last == pytest.approx(8 * first, rel=0.1)


async def test_prompts_have_the_lengths_that_were_asked_for() -> None:
    found = await measured(Rates())

    assert [point.prompt_tokens for point in found.contexts] == [pytest.approx(n, rel=0.05) for n in (512, 2048, 8192)]


async def test_a_curve_is_of_one_length_so_that_it_can_be_read_between_its_points() -> None:
    found = await measured(Rates(tpot=lambda count: 0.010 + 0.002 * count))

    assert len({(point.prompt_tokens, point.output_tokens) for point in found.points}) == 1
    assert found.points[0].prompt_tokens == pytest.approx(512, rel=0.08)
    assert found.points[0].prompt_tokens == found.contexts[0].prompt_tokens
    profile = Profile("x", "m", "native", "b300", 8, "vllm", found.points, "here", date(2026, 12, 1), "measured")
    carried = at(profile, Slo(tpot_ms=Fraction(22)))  # between 4 and 8 at once: 18 and 26 ms
    assert carried is not None
    assert 4 < carried.concurrency < 8
    assert 4 / 0.018 < carried.decode_tps < 8 / 0.026


async def test_no_two_fresh_prompts_begin_alike() -> None:
    engine = VirtualEngine(Rates(holds_prefixes=True))
    found = ramps(engine, Plan((512,), (1, 2, 4), 16, 200, 1e9))
    async for _ in found.run():
        pass

    fresh = engine.prompts[: 1 + 3 + 2 + 4 + 1]
    beginnings = {tuple(text.split()[:16]) for text in fresh}  # a block of the smallest prefix caches
    assert len(beginnings) == len(fresh)


@pytest.mark.parametrize("tells", [True, False], ids=["told", "seen by its speed"])
async def test_the_rate_of_cached_input_comes_out(tells: bool) -> None:
    found = await measured(Rates(holds_prefixes=True, tells_cached=tells, cached=40_000.0))

    assert found.cached_tps == pytest.approx(40_000.0, rel=0.05)


async def test_an_engine_without_a_prefix_cache_is_said_to_have_none() -> None:
    found = await measured(Rates())

    assert found.cached_tps is None
    assert "no prefix cache was seen" in found.remarks


async def test_it_stops_where_more_at_once_is_written_no_faster() -> None:
    found = await measured(Rates(tpot=lambda count: 0.01 * max(count - 3, 1) ** 2))

    assert [point.concurrency for point in found.points] == [1, 2, 4]
    assert found.remarks[0] == "at 8 at once 32 tokens a second are written, less than 400"


async def test_it_stops_where_the_engine_takes_no_more_at_once() -> None:
    found = await measured(Rates(slots=4))

    assert [point.concurrency for point in found.points] == [1, 2, 4]
    assert found.remarks[0].startswith("of 8 requests 4 at most were written at once")


async def test_it_stops_at_the_longest_prompt_that_the_engine_takes() -> None:
    found = await measured(Rates(context=4096))

    assert len(found.contexts) == 2
    assert "8192 tokens are more than the engine takes" in found.remarks
    assert found.points[-1].concurrency == 8
    assert found.stopped == ""


@pytest.mark.parametrize("most", range(1, 30))
async def test_it_never_makes_more_requests_than_it_may(most: int) -> None:
    plan = Plan((512, 2048), (1, 2, 4, 8), 16, most, 1e9)
    engine = VirtualEngine(Rates())
    found = ramps(engine, plan)
    steps = [step async for step in found.run()]

    assert len(engine.prompts) == found.requests <= most
    assert plan.total <= most
    whole = 1 + 2 * 3 + 14 + 3
    assert found.stopped == ("" if most >= whole else f"the limit of {most} requests is reached")
    assert steps[-1].requests <= found.requests


async def test_it_ends_when_its_time_is_over_and_keeps_what_it_has() -> None:
    found = await measured(Rates(), Plan((512, 2048, 8192), (1, 2), 64, 200, 8.0))

    assert found.stopped == "the limit of 8 seconds is reached"
    assert [point.concurrency for point in found.points] == [1]
    assert found.points[0].decode_tps is not None


async def test_a_request_that_hangs_is_hung_up_on_when_the_time_is_over() -> None:
    engine = VirtualEngine(Rates())
    left = asyncio.Event()

    async def ask(prompt: Any, output_tokens: int) -> Any:
        if len(engine.prompts) < 4:
            return await engine(prompt, output_tokens)
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    found = Ramps(Plan((512, 2048), (1,), 8, 50, 0.05), ask, Random(1), lambda: 0.0, stop=asyncio.Event())
    async for _ in found.run():
        pass

    assert left.is_set()
    assert found.stopped == "the limit of 0.05 seconds is reached"
    assert len(found.contexts) == 1


async def test_the_first_failure_ends_it_and_what_was_measured_stands() -> None:
    found = await measured(Rates(fails_at=9))

    assert found.stopped == "a request failed: it broke"
    assert found.requests == 9
    assert [point.prompt_tokens for point in found.contexts] == [pytest.approx(n, rel=0.05) for n in (512, 2048, 8192)]


async def test_an_engine_that_does_not_answer_at_all_is_an_error() -> None:
    with pytest.raises(UpstreamError, match="it broke"):
        await measured(Rates(fails_at=1))


async def test_whoever_says_stop_keeps_what_was_measured() -> None:
    stop = asyncio.Event()
    found = ramps(VirtualEngine(Rates()), stop=stop)
    steps: list[Step] = []
    async for step in found.run():
        steps.append(step)
        if step.stage == "concurrency":
            stop.set()

    assert found.stopped == STOPPED
    assert [point.concurrency for point in found.points] == [1, 2]
    assert [step.stage for step in steps] == ["warm-up", "contexts", "contexts", "contexts", "concurrency"]


async def test_stop_does_not_wait_for_an_answer_that_is_under_way() -> None:
    stop = asyncio.Event()

    async def ask(prompt: Any, output_tokens: int) -> Any:
        stop.set()
        await asyncio.Event().wait()

    found = Ramps(PLAN, ask, Random(1), lambda: 0.0, stop=stop)
    assert [step async for step in found.run()] == []
    assert found.stopped == STOPPED
    assert found.points == ()


async def test_a_reader_that_leaves_breaks_it_off() -> None:
    found = ramps(VirtualEngine(Rates()))
    running = found.run()
    await anext(running)
    await anext(running)
    await running.aclose()

    assert found.stopped == BROKEN_OFF
    assert len(found.contexts) == 1


async def test_requests_of_others_meanwhile_are_told() -> None:
    found = ramps(VirtualEngine(Rates()), others=lambda: 1)
    async for _ in found.run():
        pass

    assert found.remarks[0] == "the engine answered others meanwhile, which makes it look slower"


async def test_a_rate_of_reading_from_one_length_says_that_the_latency_is_in_it() -> None:
    found = await measured(Rates(latency=0.1), Plan((512,), (1,), 16, 50, 1e9))

    assert found.prefill_tps is not None
    assert found.prefill_tps < 2000
    assert "the rate of reading holds the fixed latency: prompts of two lengths would set it apart" in found.remarks


async def test_where_longer_prompts_take_no_longer_the_rate_is_a_least_one() -> None:
    found = await measured(Rates(latency=0.5, prefill=1e12))

    assert found.prefill_tps is not None
    assert found.prefill_tps == pytest.approx(8192 / 0.5, rel=0.05)
    assert "longer prompts took no longer: the rate of reading is this at least" in found.remarks


async def test_prompts_that_are_compared_have_the_same_number_of_words() -> None:
    engine = VirtualEngine(Rates())
    found = ramps(engine, Plan((60, 4096), (1, 2, 4), 16, 200, 1e9))
    async for _ in found.run():
        pass

    words = [len(text.split()) for text in engine.prompts]
    assert len(set(words[1:4] + words[7:13])) == 1  # the first length, alone and several at once
    assert len(set(words[4:7] + words[13:])) == 1  # the second, fresh and again
