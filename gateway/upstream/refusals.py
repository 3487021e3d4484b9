"""Says what an upstream's refusal means, without its words: they can quote the prompt or a key."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from gateway.errors import (
    UpstreamContextExceeded,
    UpstreamCut,
    UpstreamError,
    UpstreamRateLimited,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)

# OpenAI, vLLM, SGLang, llama-server, Ollama, Moonshot and DeepSeek, each in its own words.
_CONTEXT = re.compile(
    rb"context[ _](?:length|size|window)|model token limit|prompt (?:is )?too long|input (?:is )?too long",
    re.IGNORECASE,
)
_ABOUT_THE_DEPLOYMENT = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
)
_CLOUDFLARE_TIMEOUT = 524
_TIMEOUTS = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT, _CLOUDFLARE_TIMEOUT)


def refusal(deployment: str, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """The error for an answer that is no success."""
    retry_after = _retry_after(headers)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return UpstreamRateLimited(f"deployment {deployment!r} is at its rate limit", retry_after=retry_after)
    if status in _TIMEOUTS:
        return UpstreamTimeout(f"deployment {deployment!r} ran into a time limit of its own (status {status})")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return UpstreamUnavailable(f"deployment {deployment!r} failed (status {status})", retry_after=retry_after)
    if status < HTTPStatus.BAD_REQUEST:
        return UpstreamError(
            f"deployment {deployment!r} answered with status {status}: redirects are not followed; correct its base_url"
        )
    return _client_error(deployment, status, body)


def error_in(deployment: str, payload: Mapping[str, Any]) -> UpstreamError | None:
    """The error that stands inside a success, as a stream's event or a whole answer; None if there is none."""
    error = payload.get("error")
    if not error or payload.get("choices"):
        return None
    if _CONTEXT.search(msgspec.json.encode(error)):
        return _context_refused(deployment, HTTPStatus.BAD_REQUEST)
    return UpstreamCut(f"deployment {deployment!r} reported an error inside its answer")


def _client_error(deployment: str, status: int, body: bytes) -> UpstreamRefused:
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE) and _CONTEXT.search(body):
        return _context_refused(deployment, status)
    if status in _ABOUT_THE_DEPLOYMENT:
        error = UpstreamRefused(
            f"deployment {deployment!r} refused its key or its model name (status {status}): "
            "correct api_key or upstream_model in deployments.yaml",
            status=status,
        )
        # Nothing is wrong with the request: the next deployment has its own key and name.
        error.may_fall_back = True
        return error
    return UpstreamRefused(
        f"deployment {deployment!r} refused the request (status {status}); "
        "its words are withheld, for they can quote the prompt",
        status=status,
    )


def _context_refused(deployment: str, status: int) -> UpstreamContextExceeded:
    return UpstreamContextExceeded(
        f"the request is longer than the context of deployment {deployment!r}: shorten it, or ask for less output",
        status=status,
    )


def _retry_after(headers: Mapping[str, str]) -> str | None:
    if (value := headers.get("Retry-After")) is not None:
        return value
    try:
        return str(math.ceil(float(headers["retry-after-ms"]) / 1000))
    except (KeyError, ValueError, OverflowError):
        return None
