"""Measures an engine by asking it: longer prompts, then more at once, then the same prompt again; one thing at a time.

It begins small and ends at the limits of requests and time, at what the deployment takes, at the first failure, or
where more at once is written no faster. Whatever was measured by then stands.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, Protocol

from gateway.economics.profiles import Point
from gateway.errors import GatewayError, UpstreamContextExceeded
from gateway.owning.measuring.prompts import Prompts
from gateway.owning.measuring.rates import Line, line, most_at_once, slowest, together

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
    from random import Random

    from gateway.owning.measuring.prompts import Prompt
    from gateway.owning.measuring.rates import Heard

Stage = Literal["warm-up", "contexts", "concurrency", "cache"]

REPEATS = 3
"""How often a single request is made: one answer alone may have been held up by anything."""
STOPPED = "it was stopped"
BROKEN_OFF = "it was broken off"

_ONE_LENGTH = "the rate of reading holds the fixed latency: prompts of two lengths would set it apart"
_TOOK_NO_LONGER = "longer prompts took no longer: the rate of reading is this at least"
_FALLEN = 0.95
"""Of the best rate so far: below it more at once is no gain."""
_TELLS = 0.1
"""Of the time of a repeated prompt, the part that must be due to what was held of it: less is what chance does."""
_SHORT, _LONG = 0.5, 2.0
"""Of the limit of answers: below the one and above the other the engine went its own way."""
_MOST = 10**9
"""Of tokens a second, and of milliseconds: no engine is as fast or slow, a wrong count of tokens makes it so."""
_LEAST = 1e-6
_SEEN_AGAIN = 0.5
"""Of the time that a fresh prompt takes: one that begins twice as soon was held by a cache that is not told of."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be asked."""

    contexts: tuple[int, ...]
    """Tokens of prompts, rising; at least one."""
    concurrency: tuple[int, ...]
    """Requests at once, rising."""
    output_tokens: int
    requests: int
    """The most that are made."""
    seconds: float
    """The most that it takes."""
    left_out: tuple[str, ...] = ()
    """What was asked for and is more than the deployment takes."""

    @property
    def total(self) -> int:
        """The requests that it comes to if nothing ends it before."""
        waves = sum(count for count in self.concurrency if count > 1)
        return min(1 + REPEATS * len(self.contexts) + waves + REPEATS, self.requests)

    @property
    def most_tokens(self) -> int:
        """About what they read and write together."""
        read = REPEATS * (sum(self.contexts) + self.contexts[-1])
        waves = sum(count for count in self.concurrency if count > 1)
        return read + waves * self.contexts[0] + self.total * self.output_tokens


class Ask(Protocol):
    """Asks the engine once; GatewayError where it does not answer."""

    async def __call__(self, prompt: Prompt, output_tokens: int) -> Heard: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One setting that was asked."""

    stage: Stage
    concurrency: int
    prompt_tokens: int
    requests: int
    """Made by now."""
    ttft_ms: float
    tps: float | None
    """Written, of all requests together."""


class _Enough(Exception):
    """It ends here; the text says why."""


class _TooLong(_Enough):
    """The engine does not take a prompt of this length."""


class Ramps:
    """One measurement."""

    def __init__(
        self,
        plan: Plan,
        ask: Ask,
        random: Random,
        clock: Callable[[], float],
        *,
        stop: asyncio.Event,
        others: Callable[[], int] = lambda: 0,
    ) -> None:
        """`stop` is set by whoever wants it to end.

        `others` counts requests of others' that the engine answers, or has answered since this was last asked.
        """
        self.plan = plan
        self.requests = 0
        self.stopped = ""
        """Why it ended before its plan did; empty: it did not."""
        self.notes: list[str] = list(plan.left_out)
        self._ask = ask
        self._clock = clock
        self._stop = stop
        self._others = others
        self._prompts = Prompts(random)
        self._singles: dict[int, list[Heard]] = {}
        """Fresh prompts asked alone, by their length in the plan."""
        self._waves: list[tuple[int, list[Heard], float]] = []
        """By rising concurrency: the answers, and the rate at which they were written together."""
        self._again: list[Heard] = []
        self._fresh_before: Heard | None = None
        self._deadline = 0.0

    async def run(self) -> AsyncGenerator[Step, None]:
        """Measure, step by step. GatewayError where already the first request fails: then nothing was measured."""
        self._deadline = self._clock() + self.plan.seconds
        try:
            yield await self._warm_up()
            for stage in (self._longer(), self._more(), self._repeated()):
                async with aclosing(stage) as steps:
                    async for step in steps:
                        yield step
        except _Enough as enough:
            self.stopped = str(enough)
        except (asyncio.CancelledError, GeneratorExit):
            self.stopped = BROKEN_OFF
            raise

    @property
    def contexts(self) -> tuple[Point, ...]:
        """Single requests by rising length; the rate of reading is that of the prompt alone."""
        latency = self._line.latency if self._line else 0.0
        return tuple(self._single(answers, latency) for answers in self._singles.values())

    @property
    def points(self) -> tuple[Point, ...]:
        """By rising concurrency, at the first of the plan's lengths; the rate of reading is that over all lengths."""
        if not self._singles:
            return ()
        first = next(iter(self._singles.values()))
        tpot = _median_tpot(first)
        curve = [(1, first, None if tpot is None else 1 / tpot), *self._waves]
        every = [each for _, answers, _ in curve for each in answers]
        # One curve is of requests of one length, which random words meet but about.
        length = _median(each.usage.prompt for each in every), _median(each.usage.completion for each in every)
        return tuple(self._point(count, answers, rate, length) for count, answers, rate in curve)

    @property
    def prefill_tps(self) -> float | None:
        """The rate of reading fresh input, the fixed latency apart where several lengths tell it."""
        if self._line is not None:
            return self._line.rate
        rates = [each.usage.fresh / each.ttft for each in self._fresh if each.ttft > 0 and each.usage.fresh]
        return max(rates, default=None)

    @property
    def cached_tps(self) -> float | None:
        """The rate at which input passes that the engine still holds; None: it holds none, or too fast to tell."""
        rates = [rate for rate in map(self._passed, self._again) if rate is not None]
        return median(rates) if rates else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of the figures."""
        answers = [*self._fresh, *(each for _, wave, _ in self._waves for each in wave)]
        told = list(self.notes)
        if any(each.usage.estimated for each in answers):
            told.append("the engine does not tell how many tokens it used: they are estimated")
        if answers:
            told += [*self._of_reading(), *self._of_writing(answers)]
        if self._again and self.cached_tps is None:
            told.append("no prefix cache was seen" if not self._holds_prefixes else "cached input passes at once")
        return tuple(dict.fromkeys(told))

    def _of_reading(self) -> Iterator[str]:
        found = self._line
        if exact(self.prefill_tps) is None:
            yield "the rate of reading is unknown: the engine's count of fresh input cannot be right"
        elif found is None:
            yield _TOOK_NO_LONGER if len(self._singles) > 1 else _ONE_LENGTH
        elif not found.is_sure:
            slow, fast = (_per_second(seconds) for seconds in reversed(found.between))
            yield f"the rate of reading is not sure: half of the prompts say {slow} to {fast}; longer ones tell better"

    def _of_writing(self, answers: Sequence[Heard]) -> Iterator[str]:
        written, limit = median(each.usage.completion for each in answers), self.plan.output_tokens
        if not written or written > _MOST:
            yield "the rate of writing is unknown: the engine's count of output cannot be right"
        elif _median_tpot(answers) is None:
            yield "the rate of writing is unknown: answers came in one piece"
        elif not _SHORT * limit <= written <= _LONG * limit:
            yield f"answers had about {round(written)} tokens where {limit} were asked for: the engine went its own way"

    async def _warm_up(self) -> Step:
        """Have the engine load what it loads at the first request, and learn how long words are in its tokens."""
        prompt = self._prompts.fresh(max(self.plan.contexts[0] // 2, 1))
        answers = await self._wave([prompt], refusals=True)
        return self._step("warm-up", answers, None)

    async def _longer(self) -> AsyncGenerator[Step, None]:
        for length in self.plan.contexts:
            answers: list[Heard] = []
            for _ in range(REPEATS):
                try:
                    answers += await self._wave([self._prompts.fresh(length)])
                except _TooLong:
                    self.notes.append(f"{length} tokens are more than the engine takes")
                    return
                finally:
                    if answers:
                        self._singles[length] = answers
            tpot = _median_tpot(answers)
            yield self._step("contexts", answers, None if tpot is None else 1 / tpot)

    async def _more(self) -> AsyncGenerator[Step, None]:
        length, best = self.plan.contexts[0], self._written_alone
        for count in self.plan.concurrency:
            if count == 1:
                continue  # asked already, with the contexts
            answers = await self._wave([self._prompts.fresh(length) for _ in range(count)])
            rate = together(answers)
            if rate is None:
                if _median_tpot(answers) is not None:
                    self.notes.append(
                        f"of {count} requests {most_at_once(answers)} at most were written at once: the engine takes "
                        "no more, or answers are too short beside their prompts"
                    )
                return
            yield self._step("concurrency", answers, rate, count)
            if rate < _FALLEN * best:
                self.notes.append(f"at {count} at once {rate:.5g} tokens a second are written, less than {best:.5g}")
                return
            best = max(best, rate)
            self._waves.append((count, answers, rate))

    async def _repeated(self) -> AsyncGenerator[Step, None]:
        """A long prompt, then its beginning again: what the engine still holds of it need not be computed."""
        if not self._singles:
            return
        prompt = self._prompts.fresh(list(self._singles)[-1])
        [self._fresh_before] = await self._wave([prompt])
        for _ in range(REPEATS - 1):
            self._again += await self._wave([self._prompts.again(prompt)])
        yield self._step("cache", self._again, None)

    async def _wave(self, prompts: Sequence[Prompt], *, refusals: bool = False) -> list[Heard]:
        """Ask all of them at once. _Enough where that goes beyond a limit, or one of them fails, as _TooLong is too."""
        if self._stop.is_set():
            raise _Enough(STOPPED)
        if self.requests + len(prompts) > self.plan.requests:
            raise _Enough(f"the limit of {self.plan.requests} requests is reached")
        others = self._others()
        self.requests += len(prompts)
        try:
            answers = await self._answers(prompts)
        except GatewayError as error:
            if refusals:
                raise
            failure = _TooLong if isinstance(error, UpstreamContextExceeded) else _Enough
            raise failure(f"a request failed: {error}") from error
        finally:
            if self._others() or others:
                self.notes.append("the engine answered others meanwhile, which makes it look slower")
        for prompt, answer in zip(prompts, answers, strict=True):
            self._prompts.learn(prompt, answer.usage.prompt)
        return answers

    async def _answers(self, prompts: Sequence[Prompt]) -> list[Heard]:
        """The answers to all; those under way are hung up on where time is over, or somebody says stop."""
        tasks = [asyncio.ensure_future(self._ask(prompt, self.plan.output_tokens)) for prompt in prompts]
        asked, stopped = asyncio.gather(*tasks), asyncio.ensure_future(self._stop.wait())
        first: set[asyncio.Future[Any]] = {asked, stopped}
        left = max(self._deadline - self._clock(), 0.0)
        try:
            done, _ = await asyncio.wait(first, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if asked in done:
                return asked.result()
            raise _Enough(STOPPED if done else f"the limit of {self.plan.seconds:g} seconds is reached")
        finally:
            for task in (*tasks, stopped):
                task.cancel()
            await asyncio.gather(asked, *tasks, stopped, return_exceptions=True)

    @property
    def _fresh(self) -> list[Heard]:
        return [each for answers in self._singles.values() for each in answers]

    @property
    def _line(self) -> Line | None:
        return line([(each.usage.fresh, each.ttft) for each in self._fresh])

    @property
    def _written_alone(self) -> float:
        tpot = _median_tpot(next(iter(self._singles.values()), ()))
        return 0.0 if tpot is None else 1 / tpot

    @property
    def _holds_prefixes(self) -> bool:
        return any(self._held(each) for each in self._again)

    def _held(self, answer: Heard) -> int:
        """The tokens of a repeated prompt that were not computed again: as the engine tells, else as its speed does."""
        before = self._fresh_before
        if answer.usage.cached or before is None:
            return answer.usage.cached
        return self._prompts.repeated(answer.usage.prompt) if answer.ttft < _SEEN_AGAIN * before.ttft else 0

    def _passed(self, answer: Heard) -> float | None:
        """The rate of what was held: what is left of the time after latency and fresh input."""
        held, found = self._held(answer), self._line
        if not held or found is None:
            return None
        computed = answer.usage.prompt - held
        left = answer.ttft - found.latency - computed * found.seconds_a_token
        return held / left if left > _TELLS * answer.ttft else None

    def _step(self, stage: Stage, answers: Sequence[Heard], tps: float | None, concurrency: int = 1) -> Step:
        tokens = _median(each.usage.prompt for each in answers)
        return Step(stage, concurrency, tokens, self.requests, 1000 * slowest(each.ttft for each in answers), tps)

    def _point(self, concurrency: int, answers: Sequence[Heard], rate: float | None, length: tuple[int, int]) -> Point:
        return Point(
            concurrency=concurrency,
            prompt_tokens=length[0],
            output_tokens=length[1],
            ttft_ms=exact(1000 * slowest(each.ttft for each in answers)),
            tpot_ms=exact(1000 * concurrency / rate) if rate else None,
            prefill_tps=exact(self.prefill_tps),
            decode_tps=exact(rate),
        )

    def _single(self, answers: Sequence[Heard], latency: float) -> Point:
        tpot = _median_tpot(answers)
        read = [each.usage.fresh / (each.ttft - latency) for each in answers if each.ttft > latency]
        return Point(
            concurrency=1,
            prompt_tokens=_median(each.usage.prompt for each in answers),
            output_tokens=_median(each.usage.completion for each in answers),
            ttft_ms=exact(1000 * slowest(each.ttft for each in answers)),
            tpot_ms=exact(None if tpot is None else 1000 * tpot),
            prefill_tps=exact(median(read)) if read else None,
            decode_tps=exact(None if tpot is None else 1 / tpot),
        )


def _median(counts: Iterable[int]) -> int:
    return max(round(median(counts)), 1)


def _median_tpot(answers: Sequence[Heard]) -> float | None:
    known = [each.tpot for each in answers if each.tpot is not None]
    return median(known) if known else None


def exact(value: float | None) -> Fraction | None:
    """Of a measured figure, the five digits that mean anything; None also for what is nothing at all, or no figure."""
    return Fraction(f"{value:.5g}") if value is not None and _LEAST < value < _MOST else None


def _per_second(seconds: float) -> str:
    return f"{1 / seconds:,.0f} tokens/s" if seconds > 0 else "any rate"
