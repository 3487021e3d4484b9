"""Why an answer ended, and what it used, between chat completions and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.wire.lanes import Usage

_STOPS = {"length": "max_tokens", "content_filter": "refusal"}
_FINISHES = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


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
    """The usage as a chat completion says it: the prompt with what was cached. What is not stated is left out."""
    usage: dict[str, Any] = {}
    cached, written = _count(stated, "cache_read_input_tokens"), _count(stated, "cache_creation_input_tokens")
    fresh, output = _count(stated, "input_tokens"), _count(stated, "output_tokens")
    if fresh is not None:
        usage["prompt_tokens"] = fresh + (cached or 0) + (written or 0)
        usage["prompt_tokens_details"] = {
            "cached_tokens": cached or 0,
            "cache_write_tokens": written or 0,
            "cache_creation_token_details": stated.get("cache_creation"),
        }
    if output is not None:
        usage["completion_tokens"] = output
        details = stated.get("output_tokens_details")
        thinking = _count(details, "thinking_tokens") if isinstance(details, dict) else None
        usage["completion_tokens_details"] = {"reasoning_tokens": min(thinking or 0, output)}
    if usage:
        usage["service_tier"] = stated.get("service_tier")
    return usage


def _count(stated: Mapping[str, Any], name: str) -> int | None:
    value = stated.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
