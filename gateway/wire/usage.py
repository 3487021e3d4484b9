"""Reads what upstreams say of the tokens they used, each token into exactly one lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gateway.wire.lanes import Usage

Object = Mapping[str, Any]

_BYTES_PER_TOKEN = 3
PICTURE_TOKENS = 1_600
"""What vision models charge for a large picture: 1,568 (Claude, 1.15 megapixels), 1,105 (GPT-4o, 1024 x 1024 high)."""
_TIERS = frozenset({"flex", "priority", "batch", "scale", "performance"})
"""Service tiers that have prices of their own; the others are the standard one, by whatever name."""


def read_usage(payload: Object) -> Usage | None:
    """The usage that a chat answer or chunk states; None if it states none, which is not the same as zero.

    Shapes: OpenAI, vLLM, SGLang (`prompt_tokens_details`, with what was written to the cache, pictures and sound),
    Anthropic's through LiteLLM (`cache_creation_input_tokens`, by their time to live), Moonshot (`cached_tokens` at the
    top, `choices[].usage` in streams), DeepSeek (`prompt_cache_hit_tokens`), Gemini and xAI (thoughts beside the
    completion, as the total tells), llama-server (`timings`), and rerankers that count searches (`search_units`).
    """
    stated = _stated(payload)
    timings = _object(payload.get("timings"))
    if not stated and not timings:
        return None  # so it is for nearly every chunk of a stream
    searches = _count(stated, "search_units") or 0
    prompt, completion = _sums(stated, timings)
    if searches:
        prompt, completion = prompt or 0, completion or 0
    if prompt is None or completion is None:
        return None
    total = _count(stated, "total_tokens")
    usage = _input(prompt, stated, timings)
    visible, reasoning = _split(completion, _reasoning(stated), total, prompt)
    return replace(_output(usage, visible, stated), reasoning=reasoning, searches=searches)


def service_tier(payload: Object) -> str | None:
    """The tier that an answer or chunk says it was served under; None for the standard one, and for unknown words."""
    for holder in (payload, _stated(payload)):
        tier = holder.get("service_tier")
        if isinstance(tier, str) and tier in _TIERS:
            return tier
    return None


def in_lane(usage: Usage, lane: str) -> Usage:
    """The usage of an endpoint that reads texts and writes none: all of its input is of one lane."""
    if lane == "fresh":
        return usage
    prompt, other = (usage.prompt, 0) if lane == "embedding" else (0, usage.prompt)
    return Usage(embedding=prompt, rerank=other, searches=usage.searches, estimated=usage.estimated)


def estimate_tokens(text_bytes: int) -> int:
    """The tokens that so many bytes of text may be: one for every three, rounded up.

    Prose and code in English or Portuguese come to 3 to 4.5 bytes a token with the vocabularies in use, Chinese to
    about 3, so that this is at least what they take. Digits, base64 and rare scripts can take more, at most one a byte.
    """
    return -(-text_bytes // _BYTES_PER_TOKEN)


@dataclass(slots=True)
class _Rest:
    """Tokens of one sum that no lane has yet: parts are taken out of it, never more than it holds."""

    left: int

    def take(self, count: int) -> int:
        taken = min(count, self.left)
        self.left -= taken
        return taken


def _input(prompt: int, stated: Object, timings: Object) -> Usage:
    """The prompt in its lanes. What was cached or written is that, be it text or a picture: no token is in two."""
    details = _object(stated.get("prompt_tokens_details"))
    rest = _Rest(prompt)
    cached = rest.take(_cached(stated, timings))
    hours, minutes = _written(stated, details)
    written_1h, written_5m = rest.take(hours), rest.take(minutes)
    of_cached = _object(details.get("cached_tokens_details"))
    image, audio = (
        rest.take(max((_count(details, name) or 0) - (_count(of_cached, name) or 0), 0))
        for name in ("image_tokens", "audio_tokens")
    )
    return Usage(
        fresh=rest.left,
        cached=cached,
        cache_write_5m=written_5m,
        cache_write_1h=written_1h,
        image_input=image,
        audio_input=audio,
    )


def _output(usage: Usage, visible: int, stated: Object) -> Usage:
    details = _object(stated.get("completion_tokens_details"))
    rest = _Rest(visible)
    image, audio = (rest.take(_count(details, name) or 0) for name in ("image_tokens", "audio_tokens"))
    return replace(usage, output=rest.left, image_output=image, audio_output=audio)


def _written(stated: Object, details: Object) -> tuple[int, int]:
    """What was written to the cache for an hour, and for five minutes or for a time that is not said."""
    by_time = _object(stated.get("cache_creation")) or _object(details.get("cache_creation_token_details"))
    hour, minutes = (_count(by_time, f"ephemeral_{time}_input_tokens") or 0 for time in ("1h", "5m"))
    counts = (
        _count(stated, "cache_creation_input_tokens"),
        _count(details, "cache_creation_tokens"),
        _count(details, "cache_write_tokens"),
        _count(stated, "cache_write_tokens"),
    )
    total = max((count or 0 for count in counts), default=0)
    return hour, max(total - hour, minutes)


def _stated(payload: Object) -> Object:
    if isinstance(usage := payload.get("usage"), dict):
        return usage
    choices = payload.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(usage := _object(choice).get("usage"), dict):
            return usage
    return {}


def _sums(stated: Object, timings: Object) -> tuple[int | None, int | None]:
    """Prompt and completion, cached and (inside) reasoning tokens included; what is missing follows from the total."""
    prompt, completion = _count(stated, "prompt_tokens"), _count(stated, "completion_tokens")
    total = _count(stated, "total_tokens")
    if prompt is None and completion is None and not stated:
        computed, predicted = _count(timings, "prompt_n"), _count(timings, "predicted_n")
        return (None if computed is None else computed + (_count(timings, "cache_n") or 0)), predicted
    if total is not None and prompt is None and completion is not None:
        prompt = max(total - completion, 0)
    if total is not None and completion is None and prompt is not None:
        completion = max(total - prompt, 0)
    return prompt, completion


def _cached(stated: Object, timings: Object) -> int:
    counts = (
        _count(_object(stated.get("prompt_tokens_details")), "cached_tokens"),
        _count(stated, "cached_tokens"),
        _count(stated, "prompt_cache_hit_tokens"),
        _count(timings, "cache_n"),
    )
    return max(count or 0 for count in counts)


def _reasoning(stated: Object) -> int:
    details = _object(stated.get("completion_tokens_details"))
    return _count(details, "reasoning_tokens") or _count(stated, "reasoning_tokens") or 0


def _split(completion: int, reasoning: int, total: int | None, prompt: int) -> tuple[int, int]:
    """Visible and thinking tokens. Thinking stands inside the completion unless the total says that it was added."""
    if reasoning and total == prompt + completion + reasoning:
        return completion, reasoning
    if reasoning > completion and total != prompt + completion:
        return completion, reasoning
    return completion - min(reasoning, completion), min(reasoning, completion)


def _count(holder: Object, key: str) -> int | None:
    value = holder.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _object(value: object) -> Object:
    return value if isinstance(value, dict) else {}
