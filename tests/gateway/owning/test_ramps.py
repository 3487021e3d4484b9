"""A measurement in virtual time: the rates of an engine come out, and every limit ends it where it should."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from gateway.economics.profiles import Profile, Slo, at
from gateway.errors import UpstreamContextExceeded, UpstreamError
from gateway.owning.measuring.ramps import BROKEN_OFF, STOPPED, Plan, Ramps
from gateway.wire.lanes import Usage
from tests.gateway.owning.engines import Rates, VirtualEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.owning.measuring.ramps import Step
    from gateway.owning.measuring.rates import Heard

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


async def asked(ask: Any, plan: Plan, **more: Any) -> Ramps:
    found = Ramps(plan, ask, Random(5), more.pop("clock", lambda: 0.0), stop=asyncio.Event(), **more)
    async for _ in found.run():
        pass
    return found


async def told_otherwise(change: Callable[[Heard], Heard], rates: Rates | None = None) -> Ramps:
    """A measurement of an engine whose answers tell something else than was so."""
    engine = VirtualEngine(rates or Rates())

    async def ask(prompt: Any, output_tokens: int) -> Heard:
        return change(await engine(prompt, output_tokens))

    return await asked(ask, Plan((100, 400), (1, 2), 16, 200, 1e9), clock=engine.clock)


async def test_prompts_that_are_too_long_only_together_end_it_with_what_was_measured() -> None:
    engine = VirtualEngine(Rates())

    async def ask(prompt: Any, output_tokens: int) -> Any:
        if len(engine.prompts) >= 1 + 2 * 3 + 2:
            raise UpstreamContextExceeded("the cache of all requests is full", status=400)
        return await engine(prompt, output_tokens)

    found = await asked(ask, Plan((100, 400), (1, 2, 4), 16, 200, 1e9), clock=engine.clock)

    assert found.stopped == "a request failed: the cache of all requests is full"
    assert [point.concurrency for point in found.points] == [1, 2]


async def test_an_engine_that_takes_no_prompt_of_the_plan_leaves_nothing() -> None:
    found = await measured(Rates(context=200), Plan((300, 600), (1,), 16, 200, 1e9))

    assert found.points == ()
    assert "300 tokens are more than the engine takes" in found.remarks


async def test_requests_of_others_that_come_and_go_within_a_wave_are_told_too() -> None:
    engine, plan = VirtualEngine(Rates()), Plan((100,), (1,), 16, 200, 1e9)
    came: list[str] = []

    async def ask(prompt: Any, output_tokens: int) -> Any:
        if len(engine.prompts) == plan.total - 1:  # the last request: nothing looks before another one
            came.append("somebody")
        return await engine(prompt, output_tokens)

    found = await asked(ask, plan, clock=engine.clock, others=lambda: len(came))

    assert "the engine answered others meanwhile, which makes it look slower" in found.remarks


NO_READING = "the rate of reading is unknown: the engine's count of fresh input cannot be right"
NO_WRITING = "the rate of writing is unknown: the engine's count of output cannot be right"


@pytest.mark.parametrize(
    ("usage", "remarks"),
    [
        (Usage(cached=100, output=16), {NO_READING}),
        (Usage(), {NO_READING, NO_WRITING}),
        (Usage(fresh=10**15, output=10**15), {NO_READING, NO_WRITING}),
    ],
    ids=["all of it cached", "nothing", "more than there can be"],
)
async def test_counts_that_cannot_be_right_leave_a_rate_unknown_and_say_so(usage: Usage, remarks: set[str]) -> None:
    found = await told_otherwise(lambda heard: replace(heard, usage=usage))

    assert remarks <= set(found.remarks)
    assert {point.prefill_tps for point in found.points} == {None}
    if NO_WRITING in remarks:
        assert {(point.decode_tps, point.tpot_ms) for point in found.points} == {(None, None)}


@pytest.mark.parametrize(("written", "told"), [(5, True), (12, False), (20, False), (64, True)])
async def test_answers_of_another_length_than_was_asked_for_are_told_of(written: int, told: bool) -> None:
    found = await told_otherwise(lambda heard: replace(heard, usage=replace(heard.usage, output=written)))

    said = f"answers had about {written} tokens where 16 were asked for: the engine went its own way"
    assert (said in found.remarks) == told


async def test_answers_in_one_piece_blame_nobody_for_taking_no_more_at_once() -> None:
    found = await told_otherwise(lambda heard: replace(heard, pieces=(heard.last,)))

    assert "the rate of writing is unknown: answers came in one piece" in found.remarks
    assert not any("the engine takes no more" in remark for remark in found.remarks)


async def test_a_cache_that_is_faster_than_chance_can_tell_is_no_rate() -> None:
    found = await measured(Rates(holds_prefixes=True, cached=1e9))

    assert found.cached_tps is None
    assert "cached input passes at once" in found.remarks


async def test_a_rate_of_reading_that_chance_made_is_said_not_to_be_sure() -> None:
    chance = Random(3)

    def held_up(heard: Heard) -> Heard:
        late = chance.uniform(0.0, 0.2)
        return replace(heard, pieces=tuple(at + late for at in heard.pieces))

    found = await told_otherwise(held_up, Rates(prefill=2000.0))
    steady = await told_otherwise(lambda heard: heard, Rates(prefill=2000.0))

    assert any(
        remark.startswith("the rate of reading is not sure: half of the prompts say") for remark in found.remarks
    )
    assert not any("not sure" in remark for remark in steady.remarks)
