"""The contract of Kimi K3, as Moonshot's API has it and as the same weights want it on one's own engines."""

from __future__ import annotations

from dataclasses import replace

from gateway.upstream.dialects.rules import Rules

OWN_ENGINES = frozenset({"vllm", "sglang", "tokenspeed", "llama_server", "ollama"})

# K3 has three efforts and always thinks. Moonshot's own surfaces run `medium` as `high` and `xhigh` as `max`; what asks
# for less than `low` gets `low`, for no effort at all would mean `max`.
_EFFORT = {
    "none": "low", "minimal": "low", "low": "low",
    "medium": "high", "high": "high",
    "xhigh": "max", "max": "max",
}  # fmt: skip

# `thinking` belongs to K2. Absent or empty `reasoning_content` beside tool calls is a 400 of the upstream's, which is
# passed on: thoughts that nobody had are not invented.
_COMMON = Rules(
    strip=frozenset({"thinking"}),
    effort=_EFFORT,
    unthinking="low",
    thoughts=frozenset({"reasoning_content"}),
    check_tool_arguments=True,
)

HOSTED = replace(
    _COMMON,
    # Moonshot's parameter reference ("cannot be modified"); any other value is answered with 400.
    fixed={"temperature": 1.0, "top_p": 0.95, "n": 1, "presence_penalty": 0, "frequency_penalty": 0},
    rename={"max_tokens": "max_completion_tokens"},
)

SELF_HOSTED = replace(
    _COMMON,
    # Moonshot's advice for the weights; agents that want a top_p of 1.0 say so, or their pack does.
    defaults={"temperature": 1.0, "top_p": 0.95},
)


def rules(engine: str) -> Rules:
    """What K3 wants on an engine. One that is not known as somebody's own is taken for a host that fixes sampling."""
    return SELF_HOSTED if engine in OWN_ENGINES else HOSTED
