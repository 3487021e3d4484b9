"""Engines with known rates: one in virtual time alone, and one behind real HTTP whose clock moves as it answers."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from gateway.errors import UpstreamContextExceeded, UpstreamError
from gateway.owning.measuring.rates import Heard
from gateway.wire.lanes import Usage
from tests.wire.serving import serving
from tests.wire.upstream import DONE, STREAM_HEAD, delta, finish

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from gateway.owning.measuring.prompts import Prompt

FORM = 17
"""Tokens that the chat's form takes."""


@dataclass
class Rates:
    """What an engine does: it reads one prompt after the other, and writes all answers side by side."""

    latency: float = 0.05
    prefill: float = 2000.0
    tpot: Callable[[int], float] = lambda count: 0.010 + 0.001 * count
    """Seconds of a token while so many answers are written."""
    slots: int = 1_000_000
    context: int = 1_000_000
    holds_prefixes: bool = False
    tells_cached: bool = True
    cached: float = 50_000.0
    """Tokens a second at which a prefix passes that it holds."""
    fails_at: int | None = None
    """The ordinal of the request that fails, and of all that follow."""


@dataclass
class VirtualEngine:
    """Answers in no time, with the moments of a clock of its own."""

    rates: Rates
    now: float = 1000.0
    prompts: list[str] = field(default_factory=list)
    _arrived: list[int] = field(default_factory=list)
    _ends: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    async def __call__(self, prompt: Prompt, output_tokens: int) -> Heard:
        place = len(self._arrived)
        self._arrived.append(tokens_of(prompt.text))
        known = self._held(prompt.text)
        self.prompts.append(prompt.text)
        if self.rates.fails_at is not None and len(self.prompts) >= self.rates.fails_at:
            self._arrived.clear()
            raise UpstreamError("it broke")
        if self._arrived[place] + output_tokens > self.rates.context:
            self._arrived.clear()
            raise UpstreamContextExceeded("too long", status=400)
        await asyncio.sleep(0)  # all that are asked at once have arrived
        heard = self._answer(place, known, output_tokens)
        self._ends.append(heard.last)
        if len(self._ends) == len(self._arrived):
            self.now = max(self._ends)
            self._arrived, self._ends = [], []
        return heard

    def _answer(self, place: int, known: int, output_tokens: int) -> Heard:
        rates, count = self.rates, len(self._arrived)
        turn = place // rates.slots * 1e6  # those without a slot come when the others are long done
        read = [self.now + rates.latency + self._seconds(self._arrived[: each + 1], known) for each in range(count)]
        first = read[place] + turn
        begins, step = max(read) + turn, rates.tpot(min(count, rates.slots))
        pieces = (first, *(begins + step * (number + 1) for number in range(output_tokens - 1)))
        told = known if rates.tells_cached else 0
        usage = Usage(fresh=self._arrived[place] - told, cached=told, output=output_tokens)
        return Heard(self.now, pieces, usage)

    def _seconds(self, tokens: list[int], known: int) -> float:
        return sum((each - known) / self.rates.prefill + known / self.rates.cached for each in tokens)

    def _held(self, text: str) -> int:
        """Tokens of the longest beginning that it has read before."""
        if not self.rates.holds_prefixes:
            return 0
        words = text.split()
        return max((tokens_in(_shared(words, before.split())) for before in self.prompts), default=0)


def tokens_in(words: int) -> int:
    """Its tokenizer's count."""
    return round(words * 1.3)


def tokens_of(text: str) -> int:
    return tokens_in(len(text.split())) + FORM


def _shared(one: list[str], other: list[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


@dataclass
class Clock:
    """Moves only when it is told, and tells when it was looked at."""

    now: float = 1000.0
    looks: int = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now


@dataclass
class HttpEngine:
    """An engine behind HTTP: between two pieces its clock moves, and it waits until somebody looked at that."""

    rates: Rates
    clock: Clock
    port: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    pause: float = 0.0
    """Real seconds before each piece."""
    failure: str = "500 Broken"
    """With what it fails: a status, and headers."""
    overlong: bool = False
    """It never ends an answer."""
    waves: tuple[int, ...] = ()
    """How many requests come at once, one number after the other: none is answered before all of its wave are there."""
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET "):
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return await writer.drain()
        lines = head.lower().split(b"\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        body = json.loads(await reader.readexactly(length))
        self.bodies.append(body)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            await self._until_all_are_there(len(self.bodies))
            await self._answer(body, writer)
        finally:
            self.running -= 1

    async def _until_all_are_there(self, ordinal: int) -> None:
        last = next((end for end in accumulate(self.waves) if ordinal <= end), ordinal)
        async with self.arrived:
            self.arrived.notify_all()
            await self.arrived.wait_for(lambda: len(self.bodies) >= last)

    async def _answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if self.rates.fails_at is not None and len(self.bodies) >= self.rates.fails_at:
            writer.write(f"HTTP/1.1 {self.failure}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
            return await writer.drain()
        prompt = tokens_of(body["messages"][0]["content"])
        written = body.get("max_completion_tokens") or body["max_tokens"]
        writer.write(STREAM_HEAD)
        await self._say(writer, delta("one "), self.rates.latency + prompt / self.rates.prefill)
        while self.overlong and not writer.is_closing():
            await self._say(writer, delta("more "), self.rates.tpot(1))
        for _ in range(written - 1):
            await self._say(writer, delta("more "), self.rates.tpot(1))
        usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
        for last in (finish("length"), {"id": "c", "choices": [], "usage": usage}):
            writer.write(f"data: {json.dumps(last)}\n\n".encode())
        writer.write(DONE)
        await writer.drain()

    async def _say(self, writer: asyncio.StreamWriter, chunk: dict[str, Any], seconds: float) -> None:
        if self.pause:
            await asyncio.sleep(self.pause)
        self.clock.now += seconds
        looks = self.clock.looks
        writer.write(f"data: {json.dumps(chunk)}\n\n".encode())
        await writer.drain()
        while self.clock.looks == looks and not self.pause:
            await asyncio.sleep(0)


@asynccontextmanager
async def http_engine(
    rates: Rates,
    clock: Clock | None = None,
    pause: float = 0.0,
    waves: tuple[int, ...] = (),
    *,
    overlong: bool = False,
) -> AsyncIterator[HttpEngine]:
    """Listen on a free loopback port until the context is left."""
    engine = HttpEngine(rates, clock or Clock(), pause=pause, waves=waves, overlong=overlong)
    async with serving(engine.handle) as port:
        engine.port = port
        yield engine
