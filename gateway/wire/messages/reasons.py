"""Why an answer ended, and what it used, between chat completions and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.wire.usage import count_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.wire.lanes import Usage

_STOPS = {"length": "max_tokens", "content_filter": "refusal"}
_FINISHES = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}

_TIMES = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


def stop_reason(finish_reason: object, *, called: bool, refused: bool) -> str:
    """Why the message ended. One that ends with tool calls waits for them, even where the upstream said `stop`."""
    stop = _STOPS.get(finish_reason if isinstance(finish_reason, str) else "")
    if stop is not None:
        return stop
    if refused:
        return "refusal"
    return "tool_use" if called else "end_turn"


def finish_reason(stop: object) -> str | None:
    """The same the other way round; None while the message goes on."""
    return _FINISHES.get(stop, "stop") if isinstance(stop, str) else None


def usage_of_message(usage: Usage) -> dict[str, Any]:
    """Input apart from what was read from a cache and written to one, output with its thoughts."""
    written = usage.cache_write_5m + usage.cache_write_1h
    by_time = {
        "ephemeral_5m_input_tokens": usage.cache_write_5m,
        "ephemeral_1h_input_tokens": usage.cache_write_1h,
    }
    return {
        "input_tokens": usage.prompt - usage.cached - written,
        "cache_creation_input_tokens": written,
        **({"cache_creation": by_time} if written else {}),
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.completion,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
    }


def usage_of_chat(stated: Mapping[str, Any]) -> dict[str, Any]:
    """The usage as a chat completion says it: the prompt with what was cached. What is not stated is left out.

    A message may take several turns of the model (`iterations`): the sums at the top leave those out that compact the
    conversation, which are paid like the others.
    """
    turns = _objects(stated.get("iterations")) or [dict(stated)]
    cached, written = _sum(turns, "cache_read_input_tokens"), _sum(turns, "cache_creation_input_tokens")
    fresh, output = _sum(turns, "input_tokens"), _sum(turns, "output_tokens")
    usage: dict[str, Any] = {}
    if fresh is not None:
        usage["prompt_tokens"] = fresh + (cached or 0) + (written or 0)
    if (fresh, cached, written) != (None, None, None):
        by_time = _parts(turns, "cache_creation") or _objects([stated.get("cache_creation")])
        usage["prompt_tokens_details"] = {
            "cached_tokens": cached or 0,
            "cache_write_tokens": written or 0,
            "cache_creation_token_details": {name: _sum(by_time, name) or 0 for name in _TIMES},
        }
    if output is not None:
        thinking = _sum(_parts(turns, "output_tokens_details"), "thinking_tokens")
        usage["completion_tokens"] = output
        usage["completion_tokens_details"] = {"reasoning_tokens": min(thinking or 0, output)}
    if usage:
        usage |= {name: stated.get(name) for name in ("service_tier", "speed")}
    return usage


def _parts(turns: Sequence[Mapping[str, Any]], name: str) -> list[dict[str, Any]]:
    return _objects([turn.get(name) for turn in turns])


def _sum(parts: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """What the parts state of it together; None if none does."""
    counts = [count for part in parts if (count := count_in(part, name)) is not None]
    return sum(counts) if counts else None


def _objects(values: object) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
