"""Knows the dialects and the engines, and joins what they say with what a pack says of a deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.upstream.dialects import kimi_k3
from gateway.upstream.dialects.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.catalog.deployments import Deployment

_DIALECTS: Mapping[str, Callable[[str], Rules]] = {"kimi_k3": kimi_k3.rules}

# Ollama does not know `max_completion_tokens`, llama-server only since 2026: the limit would be lost without a word.
_LIMITS = {"ollama": "max_tokens", "llama_server": "max_tokens"}

# Ollama reads thoughts of earlier turns as `reasoning` alone, and so did vLLM for a time; clients of this gateway send
# back the `reasoning_content` that they were given.
_READ_REASONING = frozenset({"ollama", "vllm"})


def rules_of(deployment: Deployment) -> Rules:
    """What holds for a deployment: what its pack says, then its dialect, then its engine.

    A parameter that the pack renames, be it to its own name, or gives a default to is one that the deployment takes:
    `rename: {temperature: temperature}` lifts what a dialect says against it.
    """
    own, said = _dialect(deployment), deployment.parameters
    taken = {*said.rename, *said.defaults} - said.strip
    return Rules(
        strip=(own.strip - taken) | said.strip,
        fixed={name: value for name, value in own.fixed.items() if name not in taken | said.strip},
        rename={**_limit(deployment.engine), **own.rename, **said.rename},
        defaults={**own.defaults, **said.defaults},
        effort={**own.effort, **said.effort},
        unthinking=own.unthinking,
        thoughts=own.thoughts | ({"reasoning"} if deployment.engine in _READ_REASONING else frozenset()),
        check_tool_arguments=own.check_tool_arguments,
    )


def checks_tool_arguments(deployment: Deployment) -> bool:
    """True if tool arguments of its answers are held against the tools' schemas: as the pack says, else its dialect."""
    stated = deployment.check_tool_arguments
    return _dialect(deployment).check_tool_arguments if stated is None else stated


def _dialect(deployment: Deployment) -> Rules:
    return Rules() if deployment.dialect is None else _DIALECTS[deployment.dialect](deployment.engine)


def _limit(engine: str) -> dict[str, str]:
    return {"max_completion_tokens": _LIMITS[engine]} if engine in _LIMITS else {}
