"""Asks one deployment for a measurement: through the guard, and with every request in the ledger, on the house."""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from gateway.db.decisions import DecisionRecord
from gateway.errors import GatewayError, UpstreamCut, UpstreamError, UpstreamTimeout, UpstreamUnreachable
from gateway.ledger.attempt import attempt
from gateway.ledger.entries import Account, Hold
from gateway.owning.measuring.rates import Heard
from gateway.upstream import dispatch
from gateway.upstream.clients import Outgoing
from gateway.upstream.cooldown import Cooldown
from gateway.upstream.dialects import parameters
from gateway.upstream.dispatch import Patience
from gateway.wire import spans
from gateway.wire.lanes import Usage
from gateway.wire.shapes import CHAT, choices_of, error_in, object_of
from gateway.wire.usage import estimate_tokens, joined, read_usage, told_of_usage
from policies.budgets import MEASURING
from policies.labels import PUBLIC

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from datetime import datetime

    from gateway.catalog.deployments import Deployment
    from gateway.ledger.attempt import Attempt
    from gateway.ledger.entries import Settlement
    from gateway.ledger.writer import Writer
    from gateway.owning.measuring.prompts import Prompt
    from gateway.upstream.dispatch import Answer, Upstreams
    from gateway.wire.sse import Event
    from policies.labels import Label

_TAKES_NO_END = frozenset({"vllm", "sglang", "llama_server"})
"""Engines that write on to the limit if they are told to (`ignore_eos`)."""
_TOO_MANY = 4
"""Times the limit of an answer: who writes more pieces than that does not end it."""
_SOME = 256
"""More pieces, for what is so short that its form counts."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What of a house a measurement needs, whether that runs or not."""

    upstreams: Upstreams
    writer: Writer
    now: Callable[[], datetime]
    new_id: Callable[[str], str]
    clock: Callable[[], float] = monotonic


@asynccontextmanager
async def asking(bench: Bench, deployment: Deployment, policy: str) -> AsyncGenerator[Asker, None]:
    """Something that asks the deployment; all of it is one decision, which stands in the books with how it ended."""
    record = DecisionRecord(
        id=bench.new_id("dec"),
        at=bench.now(),
        request_id=bench.new_id("req"),
        principal=MEASURING,
        asked_model=deployment.model,
        collections=(),
        label=str(PUBLIC),
        raised_by=(),
        rule=None,
        action="route",
        zones=(deployment.zone.name,),
        policy_version=policy,
        stream=True,
        zone=deployment.zone.name,
        deployment=deployment.name,
    )
    await bench.writer.record(record)
    ended: tuple[int, str | None] = HTTPStatus.OK, None
    try:
        yield Asker(bench, deployment, record)
    except GatewayError as error:
        ended = error.status, error.code
        raise
    finally:
        await bench.writer.record(replace(record, status=ended[0], code=ended[1]))


class Asker:
    """Asks one deployment, each time once: what fails is not tried again."""

    def __init__(self, bench: Bench, deployment: Deployment, record: DecisionRecord) -> None:
        # What fails under a measurement's load is no reason to keep people's requests away.
        self._upstreams = replace(bench.upstreams, patience=Patience(attempts=1, pause=0.0), cooldown=Cooldown())
        self._writer = _OnTheHouse(bench.writer)
        self._bench = bench
        self.deployment = deployment
        self._record = record
        self.asked = 0
        """How many requests went out."""

    async def __call__(self, prompt: Prompt, output_tokens: int) -> Heard:
        """The moments of one answer, from when the request went out; GatewayError where there is none.

        A deployment that sleeps is woken by the first.
        """
        try:
            return await self._answer(prompt, output_tokens)
        except UpstreamError as error:
            waking = self._upstreams.waking
            if self.asked > 1 or self.deployment.wake is None or waking is None or not _was_not_reached(error):
                raise
            await waking.wake(self.deployment)
        return await self._answer(prompt, output_tokens)

    async def _answer(self, prompt: Prompt, output_tokens: int) -> Heard:
        body = _body(self.deployment, prompt.text, output_tokens, salt=self._record.id)
        outgoing = Outgoing(body, PUBLIC, stream=True)
        estimate = Usage(fresh=estimate_tokens(len(prompt.text.encode())), output=output_tokens, estimated=True)
        went_out: list[float] = []

        @asynccontextmanager
        async def entered(deployment: Deployment, _ordinal: int) -> AsyncGenerator[Attempt, None]:
            async with attempt(self._writer, self._hold(deployment, estimate)) as record:
                went_out.append(self._bench.clock())  # what the ledger takes is no time of the engine's
                yield record

        call = dispatch.Call((self.deployment,), lambda _: outgoing, entered)
        async with dispatch.answer(self._upstreams, call) as given:
            tap = _Tap(given.deployment.name, estimate.fresh, most=_TOO_MANY * output_tokens + _SOME)
            return await _heard(given, went_out[-1], tap, self._bench.clock)

    def _hold(self, deployment: Deployment, estimate: Usage) -> Hold:
        self.asked += 1
        return Hold(
            id=self._bench.new_id("att"),
            decision_id=self._record.id,
            request_id=self._record.request_id,
            ordinal=self.asked,
            account=Account(MEASURING, tag=MEASURING, label=str(PUBLIC)),
            deployment=deployment,
            estimate=estimate,
            started_at=self._bench.now(),
        )


class _OnTheHouse:
    """A writer by whose settlements nobody is charged."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def hold(self, hold: Hold) -> None:
        await self._writer.hold(hold)

    async def settle(self, settlement: Settlement) -> None:
        await self._writer.settle(replace(settlement, bearer="house"))

    async def record(self, decision: DecisionRecord) -> None:
        await self._writer.record(decision)

    async def mark(self, digest: str, label: Label) -> None:
        await self._writer.mark(digest, label)


def _body(deployment: Deployment, text: str, output_tokens: int, salt: str) -> bytes:
    """The request as the deployment takes it. The salt parts its prefixes from those of people's requests."""
    tree: dict[str, Any] = {
        "model": deployment.upstream_model,
        "messages": [{"role": "user", "content": text}],
        "max_completion_tokens": output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if deployment.engine in _TAKES_NO_END:
        tree["ignore_eos"] = True
    fitted = parameters.prepare(deployment, tree, salt=salt)
    return spans.read(msgspec.json.encode(tree)).splice(fitted.changes, fitted.drop)


def _was_not_reached(error: UpstreamError) -> bool:
    return isinstance(error, UpstreamUnreachable) or (isinstance(error, UpstreamTimeout) and not error.billed)


async def _heard(given: Answer, asked: float, tap: _Tap, clock: Callable[[], float]) -> Heard:
    """Hear an answer to its end, and have the attempt know what it used, also where that end never comes."""
    try:
        if given.events is not None:
            async with aclosing(given.events) as batches:
                async for batch in batches:
                    tap.hear(batch, clock())
                    if tap.is_over:
                        break
    finally:
        given.attempt.usage = tap.usage
        given.attempt.answered_by(tap.model)
    if not tap.pieces or not tap.finished:
        raise UpstreamCut(f"the answer of deployment {given.deployment.name!r} ended before it was complete")
    return Heard(asked, tuple(tap.pieces), tap.usage, tuple(tap.sizes))


class _Tap:
    """Takes note of a stream: when it said something, and what it used."""

    def __init__(self, deployment: str, prompt_estimate: int, most: int) -> None:
        self.pieces: list[float] = []
        self.sizes: list[int] = []
        """Bytes of each piece."""
        self.finished = False
        self.is_over = False
        self.model: str | None = None
        self._deployment = deployment
        self._prompt_estimate = prompt_estimate
        self._most = most
        self._told: Mapping[str, Any] = {}

    @property
    def usage(self) -> Usage:
        """What the engine says, else a flagged estimate of what went by."""
        seen = Usage(fresh=self._prompt_estimate, output=estimate_tokens(sum(self.sizes)), estimated=True)
        return read_usage(self._told) or seen

    def hear(self, batch: list[Event], at: float) -> None:
        """Take in what came at one moment."""
        for event in batch:
            self.is_over = self.is_over or event.kind == "done"
            if event.kind == "data":
                self._take(object_of(event.data or b""), at)

    def _take(self, chunk: dict[str, Any] | None, at: float) -> None:
        if chunk is None or error_in(CHAT, chunk) or chunk.get("error"):
            raise UpstreamCut(f"deployment {self._deployment!r} broke off its answer with an error")
        said = sum(_bytes_said(choice) for choice in choices_of(chunk))
        if said:
            self.pieces.append(at)
            self.sizes.append(said)
        if len(self.pieces) > self._most:
            raise UpstreamCut(f"deployment {self._deployment!r} writes on and on, whatever limit an answer is given")
        self.finished = self.finished or any(choice.get("finish_reason") for choice in choices_of(chunk))
        self._told = joined(self._told, told_of_usage(chunk))
        self.model = chunk["model"] if isinstance(chunk.get("model"), str) else self.model


def _bytes_said(choice: Mapping[str, Any]) -> int:
    """Of words and thoughts in one chunk; thoughts that stand there under two names count once."""
    delta = choice.get("delta")
    said = delta if isinstance(delta, dict) else {}
    thought = said.get("reasoning_content") or said.get("reasoning")
    return sum(len(text.encode()) for text in (said.get("content"), thought) if isinstance(text, str))
