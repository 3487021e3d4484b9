"""Reads what upstreams say of the tokens they used, each token into exactly one lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.wire.lanes import Usage

Object = Mapping[str, Any]

_BYTES_PER_TOKEN = 3
PICTURE_TOKENS = 1_600
"""What vision models charge for a large picture: 1,568 (Claude, 1.15 megapixels), 1,105 (GPT-4o, 1024 x 1024 high)."""


def read_usage(payload: Object) -> Usage | None:
    """The usage that a chat answer or chunk states; None if it states none, which is not the same as zero.

    Shapes: OpenAI, vLLM, SGLang (`prompt_tokens_details`), Moonshot (`cached_tokens` at the top, `choices[].usage` in
    streams), DeepSeek (`prompt_cache_hit_tokens`), llama-server (`timings`).
    """
    stated = _stated(payload)
    timings = _object(payload.get("timings"))
    if not stated and not timings:
        return None  # so it is for nearly every chunk of a stream
    prompt, completion = _sums(stated, timings)
    if prompt is None or completion is None:
        return None
    cached = min(_cached(stated, timings), prompt)
    output, reasoning = _split(completion, _reasoning(stated), _count(stated, "total_tokens"), prompt)
    return Usage(fresh=prompt - cached, cached=cached, output=output, reasoning=reasoning)


def estimate_tokens(text_bytes: int) -> int:
    """The tokens that so many bytes of text may be: one for every three, rounded up.

    Prose and code in English or Portuguese come to 3 to 4.5 bytes a token with the vocabularies in use, Chinese to
    about 3, so that this is at least what they take. Digits, base64 and rare scripts can take more, at most one a byte.
    """
    return -(-text_bytes // _BYTES_PER_TOKEN)


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
