"""Counts the tokens of a prompt exactly, by the deployment that would answer it, where its engine counts.

The text goes to that deployment alone, and only where it is one's own: no hosted API is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import msgspec
import structlog

from gateway.errors import UpstreamContextExceeded, UpstreamError
from gateway.upstream.probes.prober import is_own
from gateway.wire.messages import MESSAGES
from gateway.wire.shapes import CHAT

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment
    from gateway.upstream.clients import Outgoing
    from gateway.upstream.guard import Guard

log = structlog.get_logger()

Said = TypeVar("Said")

_SECONDS = 5.0
_LEAST_OUTPUT = 1
"""Engines refuse a prompt that leaves no room for a single token."""


async def check(guard: Guard, deployment: Deployment, outgoing: Outgoing, context: int | None) -> None:
    """UpstreamContextExceeded if the deployment counts more than it takes; what nobody knows is for it to decide.

    It is asked only where the bound leaves that open. A prompt that is surely too long does not come this far.
    """
    if context is None or outgoing.bound is None or outgoing.bound <= context:
        return
    tokens = await count(guard, deployment, outgoing)
    if tokens is None or tokens + _LEAST_OUTPUT <= context:
        return
    log.info("prompt_too_long", deployment=deployment.name, tokens=tokens, context=context)
    error = UpstreamContextExceeded(
        f"the request has {tokens} tokens, {deployment.model!r} takes {context} with its answer: "
        "shorten it or choose a model with a longer context",
        status=HTTPStatus.BAD_REQUEST,
    )
    error.param = "messages"
    raise error


async def count(guard: Guard, deployment: Deployment, outgoing: Outgoing) -> int | None:
    """The tokens of the prompt; None if the deployment cannot count it, or does not say in time.

    LabelExceedsClearance where the text may not enter the deployment's zone.
    """
    counter = _counter(deployment, outgoing)
    if counter is None:
        return None
    guard.check(deployment, outgoing.label)
    try:
        async with asyncio.timeout(_SECONDS):
            return await counter(_Engine(guard, deployment, outgoing))
    except (UpstreamError, TimeoutError):
        return None


def counts(deployment: Deployment, outgoing: Outgoing) -> bool:
    """True if the deployment's engine can be asked to count this prompt."""
    return _counter(deployment, outgoing) is not None


@dataclass(frozen=True, slots=True)
class _Engine:
    """Where a count is asked, of what."""

    guard: Guard
    deployment: Deployment
    outgoing: Outgoing

    async def ask(self, path: str, body: bytes, kind: type[Said]) -> Said | None:
        """Its answer; None if it has no such endpoint, or says something else."""
        heard = await self.guard.ask(self.deployment, path, body, self.outgoing.label)
        if heard.status != HTTPStatus.OK:
            return None
        try:
            return msgspec.json.decode(heard.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


Counter = Callable[[_Engine], Awaitable[int | None]]


class _InputTokens(msgspec.Struct):
    """What llama-server, and all that count for the Messages endpoint, say."""

    input_tokens: int


class _Counted(msgspec.Struct):
    """What vLLM and SGLang say; the tokens themselves, which they say too, are not read."""

    count: int


class _Prompt(msgspec.Struct):
    prompt: str


class _Tokens(msgspec.Struct):
    tokens: list[int]


async def _messages(engine: _Engine) -> int | None:
    """Anthropic's own count, which engines have beside the endpoint; older ones do not."""
    said = await engine.ask("/v1/messages/count_tokens", engine.outgoing.body, _InputTokens)
    return None if said is None else said.input_tokens


async def _llama_server(engine: _Engine) -> int | None:
    """By the very path that a chat takes; older servers have its two steps."""
    body = engine.outgoing.body
    said = await engine.ask("/v1/chat/completions/input_tokens", body, _InputTokens)
    if said is not None:
        return said.input_tokens
    shown = await engine.ask("/apply-template", body, _Prompt)
    if shown is None:
        return None
    content = msgspec.json.encode({"content": shown.prompt, "add_special": True})
    split = await engine.ask("/tokenize", content, _Tokens)
    return None if split is None else len(split.tokens)


async def _vllm(engine: _Engine) -> int | None:
    said = await engine.ask("/tokenize", _for_vllm(engine.outgoing.body), _Counted)
    return None if said is None else said.count


async def _sglang(engine: _Engine) -> int | None:
    """Newer servers take a chat here; older ones take nothing but a `prompt`, and refuse it."""
    said = await engine.ask("/v1/tokenize", engine.outgoing.body, _Counted)
    return None if said is None else said.count


_CHAT_COUNTERS: dict[str, Counter] = {"llama_server": _llama_server, "vllm": _vllm, "sglang": _sglang}


def _counter(deployment: Deployment, outgoing: Outgoing) -> Counter | None:
    """How it counts. A prompt without a bound holds more than text, which engines count wrongly or not at all."""
    if outgoing.bound is None or not is_own(deployment):
        return None
    by_chat = _CHAT_COUNTERS.get(deployment.engine)
    if by_chat is None or outgoing.shape not in (CHAT, MESSAGES):
        return None
    return by_chat if outgoing.shape is CHAT else _messages


_TEMPLATED = (
    "model",
    "messages",
    "tools",
    "add_generation_prompt",
    "add_special_tokens",
    "chat_template",
    "chat_template_kwargs",
    "continue_final_message",
)
"""What vLLM's count takes of a chat."""
_INTO_TEMPLATE = ("documents", "reasoning_effort")
"""What its chat hands on to the template by itself."""


def _for_vllm(chat: bytes) -> bytes:
    """The members of a chat that its prompt is made of, byte for byte."""
    asked = msgspec.json.decode(chat, type=dict[str, msgspec.Raw])
    taken = {name: asked[name] for name in _TEMPLATED if name in asked}
    more = {name: asked[name] for name in _INTO_TEMPLATE if name in asked}
    if more:
        given = msgspec.json.decode(taken.get("chat_template_kwargs", b"{}"), type=dict[str, msgspec.Raw] | None)
        taken["chat_template_kwargs"] = msgspec.Raw(msgspec.json.encode({**(given or {}), **more}))
    return msgspec.json.encode(taken)
