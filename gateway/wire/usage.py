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
_TIERS = frozenset({"flex", "priority", "fast", "ultrafast", "batch", "scale", "performance"})
"""Service tiers that have prices of their own; the others are the standard one, by whatever name."""
_TIMES = ("ephemeral_1h_input_tokens", "ephemeral_5m_input_tokens")
_WRITES = ("cache_creation_input_tokens", "cache_creation_tokens", "cache_write_tokens")
"""What is called what was written to the cache: by Anthropic and Qwen, LiteLLM, OpenAI and OpenRouter."""
_WRITES_BY_TIME = ("cache_creation", "cache_creation_token_details")


def read_usage(payload: Object) -> Usage | None:
    """The usage that a chat answer or chunk states; None if it states none, which is not the same as zero.

    Shapes: OpenAI, vLLM, SGLang (`prompt_tokens_details`, with what was written to the cache, pictures and sound),
    Anthropic's through LiteLLM and Qwen's (`cache_creation_input_tokens`, by their time to live), Moonshot
    (`cached_tokens` at the top, `choices[].usage` in streams), DeepSeek (`prompt_cache_hit_tokens`), Gemini and xAI
    (thoughts beside the completion, as the total tells), Perplexity (more thoughts than completion), llama-server
    (`timings`), and rerankers that count searches (`search_units`).
    """
    told = told_of_usage(payload)
    if not told:
        return None  # so it is for nearly every chunk of a stream
    stated, timings = _object(told.get("usage")), _object(told.get("timings"))
    searches = count_in(stated, "search_units") or 0
    prompt, completion = _sums(stated, timings)
    if searches:
        prompt, completion = prompt or 0, completion or 0
    if prompt is None or completion is None:
        return None
    kept = _cached(stated, timings) + sum(_written(stated))
    more, beside = _beside(stated, prompt, completion, kept)
    visible, reasoning = _split(completion, _reasoning(stated), beside)
    usage = _input(prompt + more, stated, timings)
    return replace(_output(usage, visible, stated), reasoning=reasoning, searches=searches)


def told_of_usage(payload: Object) -> Object:
    """The members of a chat answer or chunk that tell of its usage, `usage` and `timings`; empty if none does."""
    told = {"usage": _stated(payload), "timings": _object(payload.get("timings"))}
    return {name: members for name, members in told.items() if members}


def joined(earlier: Object, later: Object) -> Object:
    """What a stream has told by now: the later word counts, but for what it leaves out or has at nothing.

    Anthropic tells at the start alone for how long was written to the cache, and repeats the sum at the end; gateways
    before it put zeros in either place.
    """
    if not any(map(_counts_something, later.values())):
        return earlier or later
    told = dict(earlier)
    for name, value in later.items():
        before = told.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            told[name] = joined(before, value)
        elif value or before is None:
            told[name] = value
    if earlier.get("total_tokens") and not later.get("total_tokens"):
        del told["total_tokens"]  # it was the sum of other counts
    return told


def _counts_something(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_counts_something, value.values()))
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def service_tier(payload: Object) -> str | None:
    """The tier that an answer or chunk says it was served under; None for the standard one, and for unknown words.

    Anthropic's fast mode is no tier by name, but has prices of its own like one: it stands in `speed`.
    """
    stated = _stated(payload)
    for word in (payload.get("service_tier"), stated.get("service_tier"), stated.get("speed")):
        if isinstance(word, str) and word in _TIERS:
            return word
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
    hours, minutes = _written(stated)
    written_1h, written_5m = rest.take(hours), rest.take(minutes)
    of_cached = _object(details.get("cached_tokens_details"))
    image, audio = (
        rest.take(max((count_in(details, name) or 0) - (count_in(of_cached, name) or 0), 0))
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
    image, audio = (rest.take(count_in(details, name) or 0) for name in ("image_tokens", "audio_tokens"))
    return replace(usage, output=rest.left, image_output=image, audio_output=audio)


def _written(stated: Object) -> tuple[int, int]:
    """What was written to the cache for an hour, and for five minutes or for a time that is not said."""
    holders = (stated, _object(stated.get("prompt_tokens_details")))
    by_time = [_object(holder.get(name)) for holder in holders for name in _WRITES_BY_TIME]
    hour, minutes = (max(count_in(times, name) or 0 for times in by_time) for name in _TIMES)
    total = max(count_in(holder, name) or 0 for holder in holders for name in _WRITES)
    return hour, max(total - hour, minutes)


def _stated(payload: Object) -> Object:
    if isinstance(usage := payload.get("usage"), dict):
        return usage
    choices = payload.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(usage := _object(choice).get("usage"), dict):
            return usage
    return {}


def _beside(stated: Object, prompt: int, completion: int, kept: int) -> tuple[int, int]:
    """The tokens of the total that neither sum has: those that belong to the prompt, and those that were written.

    A prompt that is less than what of it was `kept` (read from a cache, or written to one) leaves that out. What tools
    of Gemini's read is no output, and LiteLLM has it in the prompt where it is billed. All else are thoughts that
    nobody names: Google's own endpoint says `completion_tokens: 1, prompt_tokens: 9, total_tokens: 103`.
    """
    beside = max((count_in(stated, "total_tokens") or 0) - prompt - completion, 0)
    if beside and beside == kept:
        if kept > prompt:
            return kept, 0
        if beside != _reasoning(stated):  # xAI names as many thoughts as stand beside: those it is then
            return 0, 0
    read_by_tools = count_in(_object(stated.get("prompt_tokens_details")), "tool_use_tokens") or 0
    return 0, max(beside - read_by_tools, 0)


def _sums(stated: Object, timings: Object) -> tuple[int | None, int | None]:
    """Prompt and completion, cached and (inside) reasoning tokens included; what is missing follows from the total."""
    prompt, completion = count_in(stated, "prompt_tokens"), count_in(stated, "completion_tokens")
    total = count_in(stated, "total_tokens")
    if prompt is None and completion is None and not stated:
        computed, predicted = count_in(timings, "prompt_n"), count_in(timings, "predicted_n")
        return (None if computed is None else computed + (count_in(timings, "cache_n") or 0)), predicted
    if total is not None and prompt is None and completion is not None:
        prompt = max(total - completion, 0)
    if total is not None and completion is None and prompt is not None:
        completion = max(total - prompt, 0)
    return prompt, completion


def _cached(stated: Object, timings: Object) -> int:
    counts = (
        count_in(_object(stated.get("prompt_tokens_details")), "cached_tokens"),
        count_in(stated, "cached_tokens"),
        count_in(stated, "prompt_cache_hit_tokens"),
        count_in(timings, "cache_n"),
    )
    return max(count or 0 for count in counts)


def _reasoning(stated: Object) -> int:
    details = _object(stated.get("completion_tokens_details"))
    return count_in(details, "reasoning_tokens") or count_in(stated, "reasoning_tokens") or 0


def _split(completion: int, reasoning: int, beside: int) -> tuple[int, int]:
    """Visible and thinking tokens. Thinking stands inside the completion, unless it is more than that or beside it."""
    written = completion + beside
    if reasoning > written or beside >= reasoning:
        return completion, max(reasoning, beside)
    return written - reasoning, reasoning


def count_in(holder: Object, key: str) -> int | None:
    """The count that stands there, also as a number with a point (Cohere's are); None if there is none."""
    value = holder.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _object(value: object) -> Object:
    return value if isinstance(value, dict) else {}
